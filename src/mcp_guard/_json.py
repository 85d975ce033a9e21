"""Strict JSON (RFC 8259) out of text that a server sent, and JSON equality. Iterative and bounded; knows no schema."""

from __future__ import annotations

import json
import re
import sys
from functools import cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from mcp_guard import _bounds
from mcp_guard._facts import is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_guard.policy import Limits

BOM: Final = "\ufeff"
_WHITE: Final = " \t\n\r"  # RFC 8259, section 2
_DIGITS: Final = 4300  # as many as Python itself converts unless told otherwise: more take quadratic time
_RECURSION: Final = 10_000  # a C stack holds some more levels of the parser
_STEP: Final = {"[": 1, "{": 1, "]": -1, "}": -1}
_FIRST: Final = frozenset('{["-0123456789tfn')
_PIECE: Final = 1 << 16
_KEY, _EMPTY, _CONTAINER, _DOCUMENT = 2, 2, 3, 3
"""Weights besides that of the value, which is 1: parsing and measuring one takes about 0.15 microseconds."""
_CHARACTER: Final = 1 + _KEY + _CONTAINER
"""Weight of a character at most, that of an opening brace: a value, a key behind it and a container."""
_MANY: Final = 64
"""Keys of one object beyond which each takes longer, since none of them is met again."""
_CAREFULLY: Final = 2
"""Times that the careful parser takes longer than the quick one."""
_A_NODE: Final = 2.65
_SMALL: Final = 100_000
"""Weight that is always allowed: some 15 ms."""


class NotJson(Exception):  # noqa: N818  # an answer, not a fault; it never leaves the core
    """The text is no JSON document, or one beyond `Limits`."""


class Room:
    """What one check may still parse, all of its readings together: see `Limits.nodes`.

    `beside`: what was measured besides, which took its share of the time.
    """

    __slots__ = ("_left", "_owed", "limits")

    def __init__(self, limits: Limits, beside: _bounds.Measured | None = None) -> None:
        self.limits = limits
        self._left = max(int(limits.nodes * _A_NODE), _SMALL)
        self._owed: Callable[[], int] | None = None
        if beside is not None:
            self._left -= beside.values + _KEY * beside.keys

    @property
    def left(self) -> int:
        """How much that is."""
        if self._owed is not None:
            self._left -= self._owed()
            self._owed = None
        return self._left

    def take(self, weight: int) -> None:
        """Use up some of it.

        Raises:
            NotJson: There is not so much left.
        """
        if weight > self.left:
            raise NotJson
        self._left -= weight

    def owe(self, weight: Callable[[], int]) -> None:
        """Use up some of it, surely no more than is left. It is weighed when that is asked for: mostly never."""
        self._left = self.left
        self._owed = weight


def parse_json(text: str, limits: Limits) -> Any:
    """The value of a JSON document (RFC 8259), integers exact. One leading BOM and white space around it are dropped.

    Raises:
        NotJson: It is none: NaN, Infinity or a number beyond a double, a key twice in one object, text after the
            value, a lone surrogate, an integer of more than 4300 digits, or anything over `limits`.
    """
    return parse_measured(text, Room(limits))[0]


def parse_measured(text: str, room: Room) -> tuple[Any, _bounds.Measured]:
    """The same, and how large the value is."""
    limits = room.limits
    document = text.removeprefix(BOM).strip(_WHITE)
    if len(text) > limits.text_bytes or document[:1] not in _FIRST:
        raise NotJson
    weight = _CHARACTER * (len(document) + 1)
    # whatever it says, there is room for it, and nothing has to be counted
    is_light = weight <= room.left and len(document) < limits.nodes and sys.getrecursionlimit() <= _RECURSION
    if not is_light:
        weight = _weight(document, room)
    value = _quickly(document)
    if value is _UNREAD:
        room.take((1 + _CAREFULLY) * (_weight(document, room) if is_light else weight))
        value = _carefully(document)
        measured = _bounds.measure(value, limits)
    else:
        measured = _bounds.measure(value, limits)
        room.owe(partial(_weighed_as_read, document, measured, weight))
        if not measured.problems and not _has_each_key_once(document, measured.keys, room):
            raise NotJson
    if measured.problems:
        raise NotJson
    return value, measured


def parse_all(texts: Sequence[str], room: Room) -> list[Any]:
    """The values of several documents, which share what the limits allow one; each may be as deep as one.

    Raises:
        NotJson: One of them is none, or all together are over the limits.
    """
    limits = room.limits
    documents = [text.removeprefix(BOM).strip(_WHITE) for text in texts]
    if sum(map(len, texts)) > limits.text_bytes or not all(document[:1] in _FIRST for document in documents):
        raise NotJson
    joined = ",".join(documents)
    weight = _weight(joined, room) + _DOCUMENT * len(documents)
    room.take(weight)
    values = list(map(_quickly, documents))
    is_read = _UNREAD not in values
    if not is_read:
        room.take(_CAREFULLY * weight)
        values = list(map(_carefully, documents))
    measured = _bounds.measure(values, limits, outside=1)
    if measured.problems or (is_read and not _has_each_key_once(joined, measured.keys, room)):
        raise NotJson
    return values


_UNREAD: Final = object()


def _quickly(document: str) -> Any:
    """What pydantic's parser makes of a document: integers exact, but a key may stand twice; else `_UNREAD`."""
    try:
        return _from_json()(document, allow_inf_nan=False, cache_strings="keys")
    except (ValueError, TypeError, RecursionError):
        return _UNREAD


@cache
def _from_json() -> Callable[..., Any]:
    from pydantic_core import from_json  # the heavy import waits

    return from_json


def _has_each_key_once(document: str, keys: int, room: Room) -> bool:
    """Whether no key was dropped of a document in which so many were found.

    There is a colon for each key that was written, and strings can only add to their number. Each stands behind a
    quotation mark, with no more than one space between them as a rule; and what looks alike in strings can only add to
    that number, as do keys of JSON in a string, behind a backslash. Else the colons outside of strings are counted.

    Raises:
        NotJson: There is no room for that.
    """
    if document.count(":") == keys:
        return True
    spaces = [white for white in "\t\n\r" if white in document]  # one character is found much faster than two
    ends = [":"]
    is_usual = not any(white + ":" in document for white in spaces)
    if " :" in document:
        ends.append(" :")
        is_usual = is_usual and not any(white + " :" in document for white in (*spaces, " "))
    found = sum(document.count('"' + end) for end in ends)
    if is_usual and found == keys:
        return True
    room.take(keys)
    escaped = sum(document.count('\\"' + end) for end in ends)
    # behind two of them the quotation mark may be the end of a key
    if is_usual and found - escaped == keys and not any('\\\\"' + end in document for end in ends):
        return True
    return sum(piece.count(":") for piece in _outline(document)) == keys


def _carefully(document: str) -> Any:
    limit_of_digits = getattr(sys, "get_int_max_str_digits", int)()  # 0 where there is none
    decoder = _DECODER if 0 < limit_of_digits <= _DIGITS else _CAREFUL_DECODER
    try:
        value, end = decoder.raw_decode(document)
    except (ValueError, RecursionError):
        raise NotJson from None
    if end != len(document):
        raise NotJson
    return value


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return members


def _refuse(token: str) -> Any:
    raise ValueError(token)


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError("too many digits")
    return int(digits)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_refuse)
_CAREFUL_DECODER: Final = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_refuse, parse_int=_integer)


def _weight(text: str, room: Room) -> int:
    """What parsing and measuring a document takes at most.

    Parsing first would be too late: 6 MB of ``{"":0},`` become more than 200 MB of objects. In text that is no JSON
    the count is right up to the place where the parser stops.

    Raises:
        NotJson: It has too many values, takes more than there is room for, or has so many levels that the parser could
            exhaust the stack.
    """
    openers = text.count("[") + text.count("{")
    values = 1 + openers + text.count(",")
    # Python stops the parser at its recursion limit; where the program has raised it, nothing else does
    is_deep = openers > room.limits.depth and sys.getrecursionlimit() > _RECURSION
    weight = _weighed(values, values, openers)  # a key stands after a comma or an opening brace
    if weight > room.left:
        weight = _weighed(values, min(values, text.count(":")), openers)
    if values <= room.limits.nodes and weight <= room.left and not is_deep:
        return weight
    return _exact_weight(text, room, is_deep=is_deep)


def _exact_weight(text: str, room: Room, *, is_deep: bool) -> int:
    """The same, what stands in strings left out."""
    limits = room.limits
    if text.count('"') - text.count('\\"') > 4 * limits.nodes:  # a node has at most a key and a string
        raise NotJson
    values, keys, containers, empty, level, last = 1, 0, 0, 0, 0, ""
    for piece in _outline(text):
        openers = piece.count("[") + piece.count("{")
        whole = last + piece
        closed = whole.count("[]") + whole.count("{}")
        values += openers + piece.count(",") - closed
        keys += piece.count(":")
        containers += openers - closed
        empty += closed
        if values > limits.nodes or _weighed(values, keys, containers, empty) > room.left:
            raise NotJson
        if is_deep:
            levels = list(accumulate(map(_STEP.__getitem__, re.sub(r"[^\[\]{}]+", "", piece)), initial=level))
            level = levels[-1]
            if max(levels) > limits.depth:
                raise NotJson
        last = piece[-1:] or last
    return _weighed(values, keys, containers, empty)


def _weighed_as_read(document: str, measured: _bounds.Measured, most: int) -> int:
    containers = min(document.count("[") + document.count("{"), measured.values)
    return min(_weighed(measured.values, measured.keys, containers), most)


def _weighed(values: int, keys: int, containers: int, empty: int = 0) -> int:
    many = max(keys - containers * _MANY, 0)
    return values + keys * _KEY + containers * _CONTAINER + empty * _EMPTY + many // 2 + min(many, empty) * 3 // 2


def _outline(text: str) -> Iterator[str]:
    """The document piece by piece, without white space, and with a quotation mark for each string."""
    plain = text.replace("\\\\", "").replace('\\"', "")
    inside = False
    for start in range(0, len(plain), _PIECE):
        parts = plain[start : start + _PIECE].split('"')
        piece = '"' * inside + '"'.join(parts[inside::2])
        inside ^= len(parts) % 2 == 0
        for white in _WHITE:
            piece = piece.replace(white, "")
        yield piece


def same_json(a: object, b: object) -> bool:
    """Whether two JSON values are equal: ``1`` and ``1.0`` are, ``1`` and ``true`` are not; members have no order."""
    try:
        if a != b:  # to Python, more is equal
            return False
    except RecursionError:  # the caller is deep down
        pass
    left: list[Any] = [a]
    right: list[Any] = [b]
    while left:
        ones, others = left, right
        left, right = [], []
        for one, other in zip(ones, others, strict=True):
            if is_object(one):
                if not is_object(other) or one.keys() != other.keys():
                    return False
                left += one.values()
                right += map(other.__getitem__, one)
            elif is_array(one):
                if not is_array(other) or len(one) != len(other):
                    return False
                left += one
                right += other
            elif one != other or isinstance(one, bool) is not isinstance(other, bool):
                return False
    return True
