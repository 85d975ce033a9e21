"""Holds a value against `Limits` and against what JSON can say, before any engine sees it. Iterative; decides no more.

The walk goes level by level. It only sorts what it finds by type, and each type is then handled by a few calls that run
in C. Nothing is built before it was counted, so that a value can't cost more than `Limits`.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from itertools import chain, filterfalse
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_guard._facts import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_guard.policy import Limits

_STRING = frozenset({str})
_FEW = 16
"""Objects that are so many, or fewer, have their keys looked at one by one."""
_DIGITS_PER_BIT = math.log10(2)
_BITS = 63
_WIDE = 1 << _BITS


class Measured(NamedTuple):
    """What a value is made of, as far as it was walked."""

    problems: tuple[Problem, ...]
    """None, one limit, or the distinct ones sorted by code."""
    size: int = 0
    """The characters of all strings and keys and the digits of integers (for each the exact number or one more).

    Of what is too deep, or has too many nodes, those of the strings that were come by.
    """
    values: int = 0
    keys: int = 0
    """Members of all objects."""
    tame: bool = True
    """All numbers are such as a machine compares at once: they need no more than 63 bits, before the point."""


def scan(value: object, limits: Limits, *, outside: int = 0) -> tuple[Problem, ...]:
    """Why `value` is no JSON value within `limits`: see `measure`."""
    return measure(value, limits, outside=outside).problems


def measure(value: object, limits: Limits, *, outside: int = 0) -> Measured:  # noqa: C901, PLR0912  # a call for each level is what it saves
    """Why `value` is no JSON value within `limits`, and how large it is.

    A level is an object or an array: ``1`` has none, ``{}`` and ``[1]`` have one, ``[[]]`` two; `limits.depth` of them
    are let through, one more is not. The first `outside` levels are not counted, for containers that are ours or the
    protocol's: with ``outside=1`` every member of a result may be as deep as a value alone. A node is a value, the
    outermost included. A value that contains itself has no end of levels, and ends like one that is too deep.

    The walk stops at the first limit crossed, and `found` is what was counted until then.
    """
    objects: list[dict[str, Any]] = []
    strings: list[str] = []
    integers: list[int] = []
    floats: list[float] = []
    problems: set[str] = set()
    level: list[Any] = [(value,)]
    nodes, depth = 1, -outside
    while True:
        below: list[Any] = []
        for container in level:
            members: Iterable[Any] = container
            if issubclass(type(container), dict):
                objects.append(container)
                members = container.values()
            for member in members:
                kind = type(member)  # pyright: ignore[reportUnknownVariableType]  # a cast would cost a call
                if kind is str:
                    strings.append(member)
                elif kind is int:
                    integers.append(member)
                elif kind is float:
                    floats.append(member)
                elif kind is dict or kind is list:
                    below.append(member)
                elif member is None or kind is bool:
                    pass
                elif isinstance(member, (dict, list)):  # of a class of its own: it holds what it holds
                    below.append(member)
                else:  # no scalar of a class of its own either: the engine takes none
                    problems.add("not_json")
        if not below:
            return _measured(_Leaves(objects, strings, integers, floats), nodes, problems, limits)
        depth += 1
        nodes += sum(map(len, below))
        if depth > limits.depth:
            return Measured((Problem("too_deep", "depth", limits.depth, depth),), sum(map(len, strings)))
        if nodes > limits.nodes:
            return Measured((Problem("too_many_nodes", "nodes", limits.nodes, nodes),), sum(map(len, strings)))
        level = below


class _Leaves(NamedTuple):
    """What a walk has come by: the objects, for their keys, and all that is no container."""

    objects: list[dict[str, Any]]
    strings: list[str]
    integers: list[int]
    floats: list[float]


def _measured(leaves: _Leaves, nodes: int, problems: set[str], limits: Limits) -> Measured:
    """What all that amounts to: each kind in a few calls that run in C."""
    objects, strings, integers, floats = leaves
    size, longest, tame = sum(map(len, strings)), 0, True
    if objects:
        size += _keys(objects, problems)
    if integers:
        # str(integer) would need quadratic time
        bits = list(map(int.bit_length, integers))
        size += int(sum(bits) * _DIGITS_PER_BIT) + len(bits)
        longest = max(bits)
        tame = longest <= _BITS
    if size > limits.result_bytes:
        return Measured((Problem("too_large", "result_bytes", limits.result_bytes, size),), size)
    if not tame and (digits := _digits(integers, longest, limits.integer_digits)):
        return Measured((Problem("too_large", "integer_digits", limits.integer_digits, digits),), size)
    if not all(map(str.isascii, strings)) and not _encodable(strings):
        problems.add("surrogate")
    if floats:
        # the sum of finite numbers may be infinite, but that of others is never finite
        if not math.isfinite(sum(floats)) and not all(map(math.isfinite, floats)):
            problems.add("not_finite")
        tame = tame and max(floats) < _WIDE and min(floats) > -_WIDE
    keys = sum(map(len, objects))
    return Measured(tuple(map(Problem, sorted(problems))), size, nodes, keys, tame)


def _digits(integers: list[int], longest: int, allowed: int) -> int:
    """About how many digits the longest integer has, which has so many bits; 0 where no more than are allowed."""
    digits = int(longest * _DIGITS_PER_BIT) + 1
    return digits if digits > allowed and max(map(abs, integers)) >= 10**allowed else 0


def _keys(objects: list[dict[str, Any]], problems: set[str]) -> int:
    """The characters of the keys of all objects. Many rows have few sets of keys, and each set is looked at once."""
    shapes = Counter(map(tuple, objects)) if len(objects) > _FEW else None
    if shapes is None or len(shapes) > len(objects) >> 3:
        return _texts(list(chain.from_iterable(objects)), problems)
    return sum(_texts(list(keys), problems) * count for keys, count in shapes.items())


def _texts(keys: list[Any], problems: set[str]) -> int:
    """The characters of those keys that are strings."""
    if not set(map(type, keys)) <= _STRING:
        problems.add("not_json")
        keys = [key for key in keys if type(key) is str]
    if not all(map(str.isascii, keys)) and not _encodable(keys):
        problems.add("surrogate")
    return sum(map(len, keys))


def _encodable(strings: list[str]) -> bool:
    """Whether none holds a lone surrogate: such text can't be encoded, and so never came as JSON."""
    try:
        deque(map(str.encode, filterfalse(str.isascii, strings)), maxlen=0)
    except UnicodeEncodeError:
        return False
    return True
