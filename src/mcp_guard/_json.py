"""Strict JSON (RFC 8259) out of text that a server sent, and JSON equality. Iterative and bounded; knows no schema."""

from __future__ import annotations

import json
import re
import sys
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from mcp_guard import _bounds
from mcp_guard._facts import is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_guard.policy import Limits

BOM: Final = "\ufeff"
_WHITE: Final = " \t\n\r"  # RFC 8259, section 2
_DIGITS: Final = 4300  # as many as Python itself converts unless told otherwise: more take quadratic time
_RECURSION: Final = 10_000  # a C stack holds some more levels of the parser
_STEP: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


class NotJson(Exception):  # noqa: N818  # an answer, not a fault; it never leaves the core
    """The text is no JSON document, or one beyond `Limits`."""


def parse_json(text: str, limits: Limits) -> Any:
    """The value of a JSON document (RFC 8259), integers exact. One leading BOM and white space around it are dropped.

    Raises:
        NotJson: It is none: NaN, Infinity or a number beyond a double, a key twice in one object, text after the
            value, a lone surrogate, an integer of more than 4300 digits, or anything over `limits`.
    """
    (value,) = _decoded([text], limits)
    if _bounds.scan(value, limits):
        raise NotJson
    return value


def parse_all(texts: Sequence[str], limits: Limits) -> list[Any]:
    """The values of several documents, which share what `limits` allow one; each may be as deep as one.

    Raises:
        NotJson: One of them is none, or all together are over `limits`.
    """
    values = _decoded(texts, limits)
    if _bounds.scan(values, limits, outside=1):
        raise NotJson
    return values


def _decoded(texts: Sequence[str], limits: Limits) -> list[Any]:
    if sum(map(len, texts)) > limits.text_bytes or _is_too_much(",".join(texts), limits):
        raise NotJson
    limit_of_digits = getattr(sys, "get_int_max_str_digits", int)()  # 0 where there is none
    decoder = _DECODER if 0 < limit_of_digits <= _DIGITS else _CAREFUL_DECODER
    values: list[Any] = []
    for text in texts:
        document = text.removeprefix(BOM).strip(_WHITE)
        try:
            value, end = decoder.raw_decode(document)
        except (ValueError, RecursionError):
            raise NotJson from None
        if end != len(document):
            raise NotJson
        values.append(value)
    return values


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


def _is_too_much(text: str, limits: Limits) -> bool:
    """Whether the document has too many values, or so many levels that the parser could exhaust the stack.

    Parsing first would be too late: 6 MB of ``{"":0},`` become more than 200 MB of objects. In text that is no JSON
    the count is right up to the place where the parser stops.
    """
    openers = text.count("[") + text.count("{")
    # Python stops the parser at its recursion limit; where the program has raised it, nothing else does
    is_deep = openers > limits.depth and sys.getrecursionlimit() > _RECURSION
    if openers + text.count(",") < limits.nodes and not is_deep:
        return False
    outline = text.replace("\\\\", "").replace('\\"', "")
    if outline.count('"') > 4 * limits.nodes:  # a node has at most a key and a string
        return True
    outline = "".join(outline.split('"')[::2])
    for white in _WHITE:
        outline = outline.replace(white, "")
    nodes = 1 + sum(map(outline.count, ",[{")) - outline.count("[]") - outline.count("{}")
    if nodes > limits.nodes or not is_deep:
        return nodes > limits.nodes
    steps = map(_STEP.__getitem__, re.sub(r"[^\[\]{}]+", "", outline))
    return max(accumulate(steps), default=0) > limits.depth


def same_json(a: object, b: object) -> bool:
    """Whether two JSON values are equal: ``1`` and ``1.0`` are, ``1`` and ``true`` are not; members have no order."""
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
