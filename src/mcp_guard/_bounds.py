"""Holds a value against `Limits` and against what JSON can say, before any engine sees it. Iterative; decides no more.

The walk goes level by level, and each level is handled by a few calls that run in C: a walk node by node in Python
would need several times as long. Nothing is built before it was counted, so that a value can't cost more than `Limits`.
"""

from __future__ import annotations

import math
from collections import deque
from itertools import chain, filterfalse
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_guard._facts import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_guard.policy import Limits

_SCALARS = frozenset({str, bool, int, float})
_DIGITS_PER_BIT = math.log10(2)
_BITS = 63
_WIDE = 1 << _BITS


class Measured(NamedTuple):
    """What a value is made of, as far as it was walked."""

    problems: tuple[Problem, ...]
    """None, one limit, or the distinct ones sorted by code."""
    size: int = 0
    """The characters of all strings and keys and the digits of integers (for each the exact number or one more)."""
    values: int = 0
    tame: bool = True
    """All numbers are such as a machine compares at once: they need no more than 63 bits, before the point."""


def scan(value: object, limits: Limits, *, outside: int = 0) -> tuple[Problem, ...]:
    """Why `value` is no JSON value within `limits`: see `measure`."""
    return measure(value, limits, outside=outside).problems


def measure(value: object, limits: Limits, *, outside: int = 0) -> Measured:
    """Why `value` is no JSON value within `limits`, and how large it is.

    A level is an object or an array: ``1`` has none, ``{}`` and ``[1]`` have one, ``[[]]`` two; `limits.depth` of them
    are let through, one more is not. The first `outside` levels are not counted, for containers that are ours or the
    protocol's: with ``outside=1`` every member of a result may be as deep as a value alone. A node is a value, the
    outermost included. A value that contains itself has no end of levels, and ends like one that is too deep.

    The walk stops at the first limit crossed, and `found` is what was counted until then.
    """
    depth = limits.depth + outside
    problems: set[str] = set()
    nodes, size, level, tame = 1, 0, 0, True
    values: list[Any] = [value]
    while values:
        groups = _by_type(values, problems)
        strings: list[str] = groups.get(str, [])
        objects: list[dict[str, Any]] = groups.get(dict, [])
        arrays: list[list[Any]] = groups.get(list, [])
        if objects or arrays:
            level += 1
            nodes += sum(map(len, objects)) + sum(map(len, arrays))
        if level > depth:
            return Measured((Problem("too_deep", "depth", limits.depth, level - outside),), size)
        if nodes > limits.nodes:
            return Measured((Problem("too_many_nodes", "nodes", limits.nodes, nodes),), size)
        keys = _keys(objects, problems)
        integers: list[int] = groups.get(int, [])
        floats: list[float] = groups.get(float, [])
        size += sum(map(len, strings)) + sum(map(len, keys))
        # str(integer) would need quadratic time
        bits = list(map(int.bit_length, integers))
        size += int(sum(bits) * _DIGITS_PER_BIT) + len(integers)
        if size > limits.result_bytes:
            return Measured((Problem("too_large", "result_bytes", limits.result_bytes, size),), size)
        longest = max(bits, default=0)
        if digits := _digits(integers, longest, limits.integer_digits):
            return Measured((Problem("too_large", "integer_digits", limits.integer_digits, digits),), size)
        if not (_encodable(strings) and _encodable(keys)):
            problems.add("surrogate")
        if not all(map(math.isfinite, floats)):
            problems.add("not_finite")
        tame = tame and longest <= _BITS and (not floats or (max(floats) < _WIDE and min(floats) > -_WIDE))
        values = list(chain(chain.from_iterable(each.values() for each in objects), chain.from_iterable(arrays)))
    return Measured(tuple(Problem(code) for code in sorted(problems)), size, nodes, tame)


def _by_type(values: list[Any], problems: set[str]) -> dict[type, list[Any]]:
    """`values`, parted by the JSON type that their Python type stands for."""
    groups: dict[type, list[Any]] = {}
    types = set(map(type, values))
    for kind in types:
        if kind is type(None):
            continue
        # a container of a class of its own holds what it holds; the engine takes no other scalars than Python's own
        base = kind if kind in _SCALARS else next((b for b in (dict, list) if issubclass(kind, b)), None)
        if base is None:
            problems.add("not_json")
            continue
        members = values if len(types) == 1 else [v for v in values if type(v) is kind]
        groups[base] = groups[base] + members if base in groups else members
    return groups


def _digits(integers: list[int], longest: int, allowed: int) -> int:
    """About how many digits the longest integer has, which has so many bits; 0 where no more than are allowed."""
    digits = int(longest * _DIGITS_PER_BIT) + 1
    return digits if digits > allowed and max(map(abs, integers)) >= 10**allowed else 0


def _keys(objects: list[dict[str, Any]], problems: set[str]) -> list[str]:
    """The keys of all `objects` that are strings."""
    keys: list[Any] = list(chain.from_iterable(objects))
    if set(map(type, keys)) <= {str}:
        return keys
    problems.add("not_json")
    return [key for key in keys if type(key) is str]


def _encodable(strings: Iterable[str]) -> bool:
    """Whether none holds a lone surrogate: such text can't be encoded, and so never came as JSON."""
    try:
        deque(map(str.encode, filterfalse(str.isascii, strings)), maxlen=0)
    except UnicodeEncodeError:
        return False
    return True
