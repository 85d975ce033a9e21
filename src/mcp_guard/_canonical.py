"""Makes plain JSON of what was handed in, and canonical bytes (RFC 8785) of plain JSON. Iterative; raises nothing.

A schema must not change under us when the SDK's own object does, so it is copied; a copy is where anything that is no
JSON shows, and where size is counted first.
"""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeGuard, cast

if TYPE_CHECKING:
    from mcp_guard.policy import Limits

FlawCode = Literal["too_deep", "too_large", "too_many", "not_finite", "surrogate", "not_json"]


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value is a JSON object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Whether a value is a JSON array."""
    return isinstance(value, list)


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a value was not copied: what is wrong with it, and where a bound was crossed, what was found.

    `values` were looked at until then.
    """

    code: FlawCode
    found: int = 0
    values: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Plain:
    """A copy made of `dict`, `list`, `str`, `int`, `float`, `bool` and `None` alone; `size` in characters of JSON."""

    value: Any
    size: int
    values: int = 0
    """How many there are: see `plain`."""
    simple: bool = False
    """It has no float, no integer beyond the doubles and no name that is not ASCII: `canonical_json` is quick."""


_VALUES: Final = 200_000
_CONTAINER_VALUES, _FLOAT_VALUES = 4, 10


def values_of(limits: Limits) -> int:
    """How many values one definition may have, as `plain` counts them."""
    return max(_VALUES, limits.schema_bytes * 2 // 3)


class _Flawed(Exception):  # noqa: N818  # a way out of the loop, not an error
    def __init__(self, code: FlawCode, found: int = 0) -> None:
        self.flaw = Flaw(code, found)


def plain(value: object, *, depth: int, size: int, values: int = sys.maxsize) -> Plain | Flaw:
    """A copy of `value` that shares nothing changeable with it, or why there is none.

    Of `values`, a name counts as one, a float as ten, an object or an array as four: copying and writing one takes
    about 0.3 microseconds.
    """
    seen = [0]
    try:
        return _copy(value, depth, size, values, seen)
    except _Flawed as out:
        return replace(out.flaw, values=seen[0])
    except Exception:  # noqa: BLE001  # a subclass of dict or str may do anything when it is read
        return Flaw("not_json", values=seen[0])


def _copy(value: object, depth: int, size: int, values: int, seen: list[int]) -> Plain:  # noqa: C901, PLR0912, PLR0915  # a call for each value is what it saves
    top: list[Any] = [value]
    used = count = 0
    simple = True
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
                    simple = False
            items = target.items()
            count += len(target)
        else:
            items = enumerate(target)
        used += len(target) + 2
        count += len(target)
        seen[0] = count
        if used > size:
            raise _Flawed("too_large", used)
        if count > values:
            raise _Flawed("too_many", count)
        for key, item in items:
            kind = type(item)  # pyright: ignore[reportUnknownVariableType]  # a cast would cost a call
            if kind is str:
                used += len(item) + 2
                if not item.isascii():
                    _encodable(item)
            elif kind is bool or item is None:
                used += 4
            elif kind is int:
                used += 1 if -10 < item < 10 else item.bit_length() * 3 // 10 + 1  # noqa: PLR2004  # one digit
                simple = simple and -_EXACT < item < _EXACT
            elif kind is float:
                if not math.isfinite(item):
                    raise _Flawed("not_finite")
                used += _FLOAT
                count += _FLOAT_VALUES - 1
                simple = False
            else:
                count += _CONTAINER_VALUES - 1
                seen[0] = count
                if count > values:
                    raise _Flawed("too_many", count)
                usual = kind is dict or kind is list
                copied: Any = item.copy() if usual else _container_or_base(item)
                target[key] = copied
                if usual or is_object(copied) or is_array(copied):
                    if level >= depth:
                        raise _Flawed("too_deep", level + 1)
                    if used + len(copied) > size:
                        raise _Flawed("too_large", used + len(copied))
                    stack.append((copied, level + 1))
                else:
                    target[key] = _scalar(copied)
                    used += 8
                    simple = False
        if used > size:
            raise _Flawed("too_large", used)
    return Plain(top[0], used - 3, count, simple)


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
_encoder = partial(json.JSONEncoder, ensure_ascii=False, check_circular=False, separators=(",", ":"))
_encode = _encoder().encode
_encode_sorted = _encoder(sort_keys=True).encode


def canonical_json(value: Any, *, simple: bool = False) -> bytes | None:
    """RFC 8785 bytes of a JSON value; `None` where it is none, nests too deep to be written, or holds itself.

    An integer that no double holds exactly has no form in RFC 8785; it stands as a tagged string, and so does what is
    not finite. A string that begins like such a tag is set off, so that different values never have the same bytes.
    `simple`: all of it is so as `Plain` says.
    """
    return (_written(value) if simple else None) or _canonical(value)


def _canonical(value: Any) -> bytes | None:  # noqa: C901  # a call for each value is what it saves
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


def _written(value: Any) -> bytes | None:
    """What is canonical as Python writes it, unless a string may begin like a tag."""
    try:
        text = _encode_sorted(value)
    except RecursionError:
        return None
    return None if '"\\u0000' in text else text.encode()


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
