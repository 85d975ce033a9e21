"""Holds a value against `Limits` and against what JSON can say, before any engine sees it. Iterative; decides no more.

The walk goes level by level. Where there is much, values of one type are taken together by calls that run in C, and the
members of rows key by key. Nothing is built before it was counted, so that a value can't cost more than `Limits`.
"""

from __future__ import annotations

import math
from collections import deque
from itertools import chain, filterfalse
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mcp_guard._facts import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_guard.policy import Limits

    Leaves: TypeAlias = tuple[list[str], list[str], list[int], list[float]]
    """Strings, keys, integers, fractions."""
    Column: TypeAlias = tuple[list[Any], int]
    """Containers, all of them objects or all arrays, and how many members they have."""

_MANY = 256
"""Members of a level beyond which those that are alike are taken together."""
_SOME = 64
"""The same of a single array."""
_FEW = 16
"""So many values are taken one by one in any case."""
_PIECE = 1024
"""So many are taken together: they stay in the processor's cache from one call to the next."""
_LOAD = 8 * _PIECE
"""The same for the members of objects."""
_SHORT = 1 << 16
"""Text that is joined for a look at it, and no more."""
_DIGITS_PER_BIT = math.log10(2)
_BITS = 63
_WIDE = 1 << _BITS
_SMALL = 2.0 ** (_BITS - 1)
_NONE = type(None)
_VALUES = dict[Any, Any].values


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
    floats: bool = False
    """There are floats among them."""


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
    leaves: Leaves = ([], [], [], [])
    strings, keys, integers, floats = leaves
    problems: set[str] = set()
    crowd: _Crowd | None = None
    waiting: list[Column] = []
    level: list[Any] = [value]
    nodes, depth, odd = 1, -outside, 0
    if not isinstance(value, (dict, list)):  # as the element of an array that is neither a level nor a node
        level, nodes, depth = [[value]], 0, depth - 1
    members = len(level[0])
    while True:
        depth += 1
        nodes += members
        if depth > limits.depth or nodes > limits.nodes:
            text = sum(map(len, strings)) + (crowd.text if crowd else 0)
            if depth > limits.depth:
                return Measured((Problem("too_deep", "depth", limits.depth, depth),), text)
            return Measured((Problem("too_many_nodes", "nodes", limits.nodes, nodes),), text)
        if waiting or (members > _SOME and (members > _MANY or max(map(len, level)) > _SOME)):
            crowd = crowd or _Crowd(limits, problems, leaves, waiting)
            level, members = crowd.taken(level)
        else:
            members = 0
        below: list[Any] = []
        for container in level:
            column: Iterable[Any] = container
            if issubclass(type(container), dict):
                for key in container:
                    if type(key) is str:
                        keys.append(key)
                    else:
                        problems.add("not_json")
                        odd += 1
                column = container.values()
            for member in column:
                kind = type(member)  # pyright: ignore[reportUnknownVariableType]  # a cast would cost a call
                if kind is str:
                    strings.append(member)
                elif kind is int:
                    integers.append(member)
                elif kind is float:
                    floats.append(member)
                elif kind is dict or kind is list:
                    below.append(member)
                    members += len(member)
                elif member is None or kind is bool:
                    pass
                elif isinstance(member, (dict, list)):  # of a class of its own: it holds what it holds
                    below.append(member)
                    members += len(member)  # pyright: ignore[reportUnknownArgumentType]  # the same
                else:  # no scalar of a class of its own either: the engine takes none
                    problems.add("not_json")
        if not below and not waiting:
            return _measured(leaves, crowd, nodes, len(keys) + odd, problems, limits)
        level = below


def _measured(
    leaves: Leaves, crowd: _Crowd | None, nodes: int, named: int, problems: set[str], limits: Limits
) -> Measured:
    """What all that amounts to."""
    strings, keys, integers, floats = leaves
    strings += keys
    size = length = sum(map(len, strings))
    if crowd:
        size += crowd.text + crowd.letters
        named += crowd.named
    longest = 0
    if integers:
        # str(integer) would need quadratic time
        bits = [*map(int.bit_length, integers)]
        together = sum(bits)
        size += int(together * _DIGITS_PER_BIT) + len(bits)
        longest = together if together <= _BITS else max(bits)
    if size > limits.result_bytes:
        return Measured((Problem("too_large", "result_bytes", limits.result_bytes, size),), size)
    tame = longest <= _BITS
    if not tame and (digits := _digits(integers, longest, limits.integer_digits)):
        return Measured((Problem("too_large", "integer_digits", limits.integer_digits, digits),), size)
    if not _encodable(strings, length):
        problems.add("surrogate")
    if floats and not _small(floats):
        # the sum of finite numbers may be infinite, but that of others is never finite
        if math.isfinite(sum(floats)) or all(map(math.isfinite, floats)):
            tame = tame and max(floats) < _WIDE and min(floats) > -_WIDE
        else:
            problems.add("not_finite")
            tame = False
    told = tuple(map(Problem, sorted(problems))) if problems else ()
    return Measured._make((told, size, nodes, named, tame, bool(floats)))


class _Crowd:
    """Takes together what is alike."""

    def __init__(self, limits: Limits, problems: set[str], leaves: Leaves, waiting: list[Column]) -> None:
        self._limits = limits
        self._problems = problems
        self._strings, self._keys, self._integers, self._floats = leaves
        self._waiting = waiting
        self.text = self.named = self.letters = 0
        """The characters of strings; the keys, and their characters."""

    def taken(self, level: list[Any]) -> tuple[list[Any], int]:
        """Take the members of what waits, and of a level; arrays of those that are left, and how many wait below."""
        level = self._sorted(level)
        columns = self._waiting.copy()
        self._waiting.clear()
        left: list[Any] = []
        for each in level:
            kind: Any = type(each)  # pyright: ignore[reportUnknownVariableType]  # as above
            if (kind is list and len(each) > _SOME) or (kind is dict and len(each) > _MANY):
                columns.append(([each], len(each)))
            else:
                left.append(each)
        for column, total in columns:
            if type(column[0]) is dict:
                parts = self._members(column, total)
            else:
                parts = column if len(column) == 1 else (_flat(column),)
            left += filter(None, map(self._sorted, parts))
        return left, sum(map(itemgetter(1), self._waiting))

    def _members(self, rows: list[dict[Any, Any]], total: int) -> Iterable[list[Any]]:
        """Take the keys of objects with so many members; the members, key by key where most have the same keys."""
        if total > _LOAD and len(rows) > _FEW:
            pieces = _pieces(rows, max(1, len(rows) * _LOAD // total))
            return chain.from_iterable(self._members(piece, sum(map(len, piece))) for piece in pieces)
        if len(rows) > _FEW and (table := _table(rows, total)) is not None:
            self._keys += table
            self.named += total - len(table)
            self.letters += sum([len(key) * (len(column) - 1) for key, column in table.items()])
            return table.values()
        keys = [key for key in chain.from_iterable(rows) if type(key) is str]
        if len(keys) < total:
            self._problems.add("not_json")
        self.named += total
        once = keys[: len(rows[0])]
        if keys == once * len(rows):
            self.letters += self._text(once) * len(rows)
        else:
            self.letters += self._text(keys)
        return (_flat(map(_VALUES, rows)),)

    def _sorted(self, column: list[Any]) -> list[Any]:  # noqa: C901, PLR0912  # a call for each column is what it saves
        """Take values type by type, as long as most are of one; those that are left."""
        while len(column) > _FEW:
            kind: Any = type(column[0])  # pyright: ignore[reportUnknownVariableType]  # as above
            if type(column[-1]) is not kind:
                kind = type(column[len(column) // 2])  # pyright: ignore[reportUnknownVariableType]
            if len(column) > _MANY:  # to find out from all of them would cost too much
                sample = column[:: len(column) // _FEW | 1]
                if len([each for each in sample if type(each) is not kind]) * 3 > len(sample):
                    break
            if len(column) > _PIECE:
                return [each for piece in _pieces(column, _PIECE) for each in self._sorted(piece)]
            same, others = column, [each for each in column if type(each) is not kind]
            if others:
                if len(others) * 2 > len(column):
                    break
                same = [each for each in column if type(each) is kind]
            if kind is str and len(same) > _MANY:
                self.text += self._text(same)
            elif kind is str:
                self._strings += same
            elif kind is int:
                self._integers += same
            elif kind is float:
                self._floats += same
            elif kind is dict or kind is list:
                self._waiting.append((same, sum(map(len, same))))
            elif kind is not bool and kind is not _NONE:
                break
            column = others
        return column

    def _text(self, strings: list[str]) -> int:
        """How many characters they have. They are looked at, unless there are too many in any case."""
        length = sum(map(len, strings))
        if self.text + self.letters + length <= self._limits.result_bytes and not _encodable(strings, length):
            self._problems.add("surrogate")
        return length


def _table(rows: list[dict[Any, Any]], total: int) -> dict[str, list[Any]] | None:
    """What rows with so many members have, key by key; `None` where few have the same keys, or one is no string."""
    first = list(rows[0])
    if len(first) * len(rows) == total and not _odd(first):
        try:
            return {key: list(map(itemgetter(key), rows)) for key in first}
        except KeyError:
            pass
    keys = set[Any]().union(*rows)
    if len(keys) * len(rows) > 2 * total or _odd(keys):
        return None
    return {key: [row[key] for row in rows if key in row] for key in keys}


def _odd(keys: Iterable[Any]) -> list[Any]:
    return [key for key in keys if type(key) is not str]


def _flat(containers: Iterable[Iterable[Any]]) -> list[Any]:
    members: list[Any] = []
    deque(map(members.extend, containers), maxlen=0)
    return members


def _pieces(column: list[Any], size: int) -> Iterable[list[Any]]:
    return (column[start : start + size] for start in range(0, len(column), size))


def _small(floats: list[float]) -> bool:
    """Whether all are certainly finite and tame: none is larger than the root of the sum of all squares."""
    if len(floats) > _PIECE:
        return all(map(_small, _pieces(floats, _PIECE)))
    return math.hypot(*floats) < _SMALL


def _digits(integers: list[int], longest: int, allowed: int) -> int:
    """About how many digits the longest integer has, which has so many bits; 0 where no more than are allowed."""
    digits = int(longest * _DIGITS_PER_BIT) + 1
    return digits if digits > allowed and max(map(abs, integers)) >= 10**allowed else 0


def _encodable(strings: list[str], length: int) -> bool:
    """Whether none of them, so long together, holds a lone surrogate: such text never came as JSON."""
    try:
        if length <= _SHORT:
            text = "".join(strings)
            if not text.isascii():
                text.encode()
        else:
            deque(map(str.encode, filterfalse(str.isascii, strings)), maxlen=0)
    except UnicodeEncodeError:
        return False
    return True
