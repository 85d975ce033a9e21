"""Makes plain JSON of what was handed in, and canonical bytes (RFC 8785) of plain JSON. Iterative; raises nothing.

A schema must not change under us when the SDK's own object does, so it is copied; a copy is where anything that is no
JSON shows, and where size is counted first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any, Final, Literal, cast

FlawCode = Literal["too_deep", "too_large", "not_finite", "surrogate", "not_json"]


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


def _copy(value: object, depth: int, size: int) -> Plain:
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
            kind = type(item)
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
                used += 8
            else:
                copied = _container_or_base(item)
                target[key] = copied
                if isinstance(copied, (dict, list)):
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
    if isinstance(item, dict):
        return dict(item)
    if isinstance(item, (list, tuple)):
        return list(item)
    for base in (str, int, float):
        if isinstance(item, base):
            return base.__new__(base, item) if base is not str else str.__str__(cast("str", item))
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


_EXACT: Final = 2**53
_TAG: Final = "\0"
_MOST: Final = 4_000_000
"""Pieces of one canonical text: what is larger, or holds itself, has none."""


class _Ready(str):
    """Text that is canonical already, among values that are not."""

    __slots__ = ()


def canonical_json(value: Any) -> bytes | None:
    """RFC 8785 bytes of a JSON value; `None` where it is none, or holds itself.

    An integer that no double holds exactly has no form in RFC 8785; it stands as a tagged string, and so does what is
    not finite. A string that begins like such a tag is set off, so that different values never have the same bytes.
    """
    from rfc8785 import dumps  # noqa: PLC0415  # the heavy import waits

    out: list[str] = []
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item if type(item) is _Ready else _string(item))
        elif isinstance(item, dict):
            members = cast("dict[Any, Any]", item)
            if not all(isinstance(name, str) for name in members):
                return None
            stack.append(_Ready("}"))
            for index, name in reversed(list(enumerate(sorted(members, key=_utf16)))):
                stack += (members[name], _Ready(("," if index else "") + _string(name) + ":"))
            stack.append(_Ready("{"))
        elif isinstance(item, (list, tuple)):
            stack.append(_Ready("]"))
            for index, element in reversed(list(enumerate(cast("list[Any]", item)))):
                stack += (element, _Ready(",")) if index else (element,)
            stack.append(_Ready("["))
        elif item is None or isinstance(item, bool):
            out.append("null" if item is None else "true" if item else "false")
        elif isinstance(item, int):
            out.append(str(int(item)) if -_EXACT < item < _EXACT else encode_basestring(f"{_TAG}integer {item:#x}"))
        elif isinstance(item, float):
            finite = math.isfinite(item)
            out.append(dumps(float(item)).decode() if finite else encode_basestring(f"{_TAG}number {float(item)}"))
        else:
            return None
        if len(out) > _MOST or len(stack) > _MOST:
            return None
    return "".join(out).encode("utf-8", "surrogatepass")


def _string(text: str) -> str:
    return encode_basestring(_TAG + text if text.startswith(_TAG) else text)


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")
