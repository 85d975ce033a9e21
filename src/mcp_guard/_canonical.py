"""Makes plain JSON of what was handed in, and canonical bytes (RFC 8785) of plain JSON. Iterative; raises nothing.

A schema must not change under us when the SDK's own object does, so it is copied; a copy is where anything that is no
JSON shows, and where size is counted first.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeGuard, cast

FlawCode = Literal["too_deep", "too_large", "not_finite", "surrogate", "not_json"]


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value is a JSON object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Whether a value is a JSON array."""
    return isinstance(value, list)


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a value was not copied: what is wrong with it, and where a bound was crossed, what was found."""

    code: FlawCode
    found: int = 0


@dataclass(frozen=True, slots=True)
class Plain:
    """A copy made of `dict`, `list`, `str`, `int`, `float`, `bool` and `None` alone; `size` in characters of JSON."""

    value: Any
    size: int


class _Flawed(Exception):  # noqa: N818  # a way out of the loop, not an error
    def __init__(self, code: FlawCode, found: int = 0) -> None:
        self.flaw = Flaw(code, found)


def plain(value: object, *, depth: int, size: int) -> Plain | Flaw:
    """A copy of `value` that shares nothing changeable with it, or why there is none."""
    try:
        return _copy(value, depth, size)
    except _Flawed as out:
        return out.flaw
    except Exception:  # noqa: BLE001  # a subclass of dict or str may do anything when it is read
        return Flaw("not_json")


def _copy(value: object, depth: int, size: int) -> Plain:  # noqa: C901, PLR0912  # a call for each value is what it saves
    top: list[Any] = [value]
    used = 0
    stack: list[tuple[dict[str, Any] | list[Any], int]] = [(top, 0)]
    while stack:
        target, level = stack.pop()
        items: Any
        if isinstance(target, dict):
            for key in target:
                if type(key) is not str:
                    raise _Flawed("not_json")
                used += len(key) + 3
                if not key.isascii():
                    _encodable(key)
            items = target.items()
        else:
            items = enumerate(target)
        used += len(target) + 2
        if used > size:
            raise _Flawed("too_large", used)
        for key, item in items:
            kind = type(cast("object", item))
            if kind is str:
                used += len(item) + 2
                if not item.isascii():
                    _encodable(item)
            elif kind is bool or item is None:
                used += 4
            elif kind is int:
                used += 1 if -10 < item < 10 else item.bit_length() * 3 // 10 + 1  # noqa: PLR2004  # one digit
            elif kind is float:
                if not math.isfinite(item):
                    raise _Flawed("not_finite")
                used += _FLOAT
            else:
                copied: Any = _container_or_base(item)
                target[key] = copied
                if is_object(copied) or is_array(copied):
                    if level >= depth:
                        raise _Flawed("too_deep", level + 1)
                    if used + len(copied) > size:
                        raise _Flawed("too_large", used + len(copied))
                    stack.append((copied, level + 1))
                else:
                    target[key] = _scalar(copied)
                    used += 8
        if used > size:
            raise _Flawed("too_large", used)
    return Plain(top[0], used - 3)


def _container_or_base(item: object) -> Any:
    if is_object(item):
        return dict(item)
    if isinstance(item, (list, tuple)):
        return list(cast("list[Any]", item))
    if isinstance(item, str):
        return str.__str__(item)
    if isinstance(item, int):
        return int.__int__(item)
    if isinstance(item, float):
        return float.__float__(item)
    raise _Flawed("not_json")


def _scalar(item: Any) -> Any:
    """A scalar that was a subclass's, checked like the others."""
    if isinstance(item, str):
        _encodable(item)
    elif isinstance(item, float) and not math.isfinite(item):
        raise _Flawed("not_finite")
    return item


def _encodable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Flawed("surrogate") from None


_FLOAT: Final = 20
"""Characters that a float counts for: some have 24, and each takes a microsecond or two to write."""
_EXACT: Final = 2**53
_TAG: Final = "\0"
_RAW: Final = re.compile(r'"\\u0000=([^"]*)"')
"""A number that is canonical already, on its way through the encoder."""
_PLAINLY, _LARGE = 1e-4, 1e16
"""From and to where Python writes a float without an exponent, as ECMAScript does."""
_MOST: Final = 600_000
"""Values of one canonical text: what has more, or holds itself, has none."""
_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def canonical_json(value: Any) -> bytes | None:  # noqa: C901  # a call for each value is what it saves
    """RFC 8785 bytes of a JSON value; `None` where it is none, nests too deep to be written, or holds itself.

    An integer that no double holds exactly has no form in RFC 8785; it stands as a tagged string, and so does what is
    not finite. A string that begins like such a tag is set off, so that different values never have the same bytes.
    """
    top = [value]
    stack: list[dict[str, Any] | list[Any]] = [top]
    count = 0
    while stack:
        target = stack.pop()
        count += len(target)
        if count > _MOST:
            return None
        for key, item in target.items() if isinstance(target, dict) else enumerate(target):
            if item is None or isinstance(item, bool):
                continue
            if isinstance(item, str):
                if item.startswith(_TAG):
                    target[key] = _TAG + item  # type: ignore[index]  # the keys of the very container
            elif isinstance(item, int):
                if not -_EXACT < item < _EXACT:
                    target[key] = f"{_TAG}integer {item:#x}"  # type: ignore[index]  # a dict or a list, as it came
            elif isinstance(item, float):
                target[key] = _number(item)  # type: ignore[index]  # a dict or a list, as it came
            else:
                copied = _sorted(item)
                if copied is None:
                    return None
                target[key] = copied  # type: ignore[index]  # a dict or a list, as it came
                stack.append(copied)
    try:
        text = _encode(top[0])
    except RecursionError:
        return None
    return _RAW.sub(r"\1", text).encode("utf-8", "surrogatepass")


def _number(number: float) -> str:
    number = float(number)
    if _PLAINLY <= abs(number) < _LARGE:  # both write these alike; and a schema can hold many
        return f"{_TAG}=" + repr(number).removesuffix(".0")
    from rfc8785 import dumps  # the heavy import waits

    return f"{_TAG}=" + dumps(number).decode() if math.isfinite(number) else f"{_TAG}number {number}"


def _sorted(item: Any) -> dict[str, Any] | list[Any] | None:
    """A copy of a container, its names in the order of their UTF-16 code units."""
    if isinstance(item, (list, tuple)):
        return list(cast("list[Any]", item))
    if not is_object(item):
        return None
    members = item
    try:
        names = sorted(members, key=None if all(map(str.isascii, members)) else _utf16)
    except (TypeError, AttributeError):
        return None
    return {_TAG + name if name.startswith(_TAG) else name: members[name] for name in names}


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")
