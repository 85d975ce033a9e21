"""Estimates how long holding one value against one schema can take at most, before the engine is asked. No engine.

The engine can't be interrupted, and a small schema and a small value can keep it for minutes: a pattern that stands at
4,000 places of a text at once, 1,000 alternatives for each of 300,000 elements. So the parts of the value are sorted by
the subschemas that apply to them, all of a kind at a time, and what each pair costs is added up.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from mcp_guard._cost import order_of, patterns_of, times
from mcp_guard._facts import is_array
from mcp_guard._patterns import cost_of
from mcp_guard._references import Node, Survey

BUDGET: Final = 20_000_000
"""Units of work, about 7 ns each: what an engine takes to hold one value against one plain keyword."""
_UNIQUE: Final = -1  # stands among the nodes for: an array above has uniqueItems, so all below is hashed
_UNIQUE_COST: Final = 3
_DIVISION: Final = 60
_WILD_DIVISION: Final = 2_500
_WILD: Final = 1e25
"""Floats beyond this, or as near to zero, are divided digit by digit."""
_INT64: Final = 63
_NANOSECONDS: Final = 100_000_000
_LARGE_PAIR, _LARGE_DIGIT = 260, 52
"""Nanoseconds to compare two integers beyond 64 bits: at least, and for each digit of long ones."""
_FLOAT_FLOAT, _INT_FLOAT, _FLOAT_INT = 210, 104, 32
"""Units to compare a number with one that an `enum` or `const` names: they are gone through one after the other."""
_WIDE: Final = 200
_WIDE_COST: Final = 3
"""Patterns with more positions than this take longer for each."""
_REGEX: Final = 8
_KEY: Final = 3
_METASCHEMA: Final = 60
_APPLYING, _OBJECT, _MEMBER = 100, 60, 25
"""Units that finding out costs here: for a subschema that applies somewhere, an object, a member."""
_KEPT, _KEPT_NODES = 2_000, 200_000
_ONE: Final = ("additionalProperties", "unevaluatedProperties")
_ITEMS: Final = ("items", "additionalItems", "unevaluatedItems", "contains")

_State = tuple[frozenset[tuple[int, int]], dict[int, int]]
"""Nodes that apply to a value, and how many times: as a key, and to look at."""
_Level = dict[frozenset[tuple[int, int]], tuple[_State, list[Any]]]


@dataclass(slots=True)
class Effort:
    """What one look costs: units of work, and the strings that patterns have to backtrack on."""

    units: int = 0
    strings: int = 0
    characters: int = 0
    longest: int = 0


class TooMuch(Exception):  # noqa: N818  # becomes a verdict
    """The value is too much work for the schema."""


@dataclass(slots=True)
class _Role:
    """What a node asks of a value, and which nodes apply to its parts."""

    each: int = 1
    compound: int = 0
    texts: int = 0
    keys: int = 0
    per_object: int = 0
    floats: int = 0
    integers: int = 0
    fancy: bool = False
    fancy_keys: bool = False
    unique: bool = False
    properties: dict[str, list[tuple[int, int]]] = field(default_factory=dict[str, list[tuple[int, int]]])
    patterned: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    rest: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    names: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    prefix: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    items: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])


class Estimator:
    """Estimates for one schema. What it learns of the schema it keeps."""

    def __init__(self, survey: Survey) -> None:
        nodes = survey.nodes
        self._nodes = nodes
        order = order_of(nodes, lambda edge: edge.use != "held")
        place = {index: at for at, index in enumerate(order)}
        self._states: dict[tuple[tuple[int, int], ...], _State] = {}
        self._room = _KEPT_NODES
        self._recursive = {
            edge.to
            for index, node in enumerate(nodes)
            for edge in node.edges
            if edge.use != "held" and place[edge.to] >= place[index]
        }
        self._roles = [_role(node) for node in nodes]
        self._alone: dict[int, tuple[Counter[int], frozenset[int]]] = {}
        for index in order_of(nodes, lambda edge: edge.use == "in_place"):
            self._alone[index] = self._closure(index)
        self._per_text = sum(role.texts + role.keys for role in self._roles)
        self._fancy = any(role.fancy or role.fancy_keys for role in self._roles)
        self._most = self._heaviest(order, place)
        self._unseen = 0 if survey.closed else _METASCHEMA
        self._unique = any(role.unique for role in self._roles)
        self._divides = sum("multipleOf" in node.schema for node in nodes)
        self._large = sum(_is_large(each) for node in nodes for each in _named(node.schema))

    def estimate(self, value: Any) -> Effort:
        """What holding `value` against the schema costs at most.

        Raises:
            TooMuch: More than `BUDGET`.
        """
        if self._unique or self._divides or self._large:
            self._weigh_numbers(value)
        values, characters, longest = _size(value)
        roughly = Effort(values * (self._most + self._unseen) + characters * self._per_text)
        if roughly.units <= BUDGET and not self._fancy:
            return roughly
        effort = Effort(values * self._unseen)
        level: _Level = {}
        _put(level, self._state([(0, 1)], effort), [value])
        while level:
            below: _Level = {}
            for state, group in level.values():
                self._hold(state, group, effort, below)
                if effort.units > BUDGET:
                    raise TooMuch
            level = below
        effort.longest = min(effort.longest, longest)
        return effort

    def _weigh_numbers(self, value: Any) -> None:
        """Numbers that are no machine words are slow to compare and to divide, and the engine hashes none of them."""
        large, digits, wild = _extremes(value)
        each = _LARGE_PAIR if digits <= _LARGE_PAIR // 6 else _LARGE_DIGIT * digits
        pairs = large * self._large + (large * large if self._unique else 0)
        if pairs * each > _NANOSECONDS or wild * self._divides * _WILD_DIVISION > BUDGET:
            raise TooMuch

    def _hold(self, state: _State, group: list[Any], effort: Effort, below: _Level) -> None:
        """Add up what one group of values costs, and sort its parts."""
        roles = [(self._roles[index], count) for index, count in state[1].items() if index != _UNIQUE]
        effort.units += len(group) * (
            sum(role.each * count for role, count in roles) + state[1].get(_UNIQUE, 0) * _UNIQUE_COST + 1
        )
        strings = [each for each in group if type(each) is str]
        if strings:
            _texts(strings, [(role.texts, role.fancy, count) for role, count in roles], effort)
        floats = sum(role.floats * count for role, count in roles)
        integers = sum(role.integers * count for role, count in roles)
        if floats or integers:
            effort.units += sum(type(each) is float for each in group) * (floats * _FLOAT_FLOAT + integers * _FLOAT_INT)
            effort.units += sum(type(each) is int for each in group) * floats * _INT_FLOAT
        objects: list[dict[str, Any]] = [each for each in group if type(each) is dict]
        arrays: list[list[Any]] = [each for each in group if type(each) is list]
        effort.units += sum(role.compound * count for role, count in roles) * (len(objects) + len(arrays))
        if objects:
            self._hold_objects(state, roles, objects, effort, below)
        if arrays:
            self._hold_arrays(state, roles, arrays, effort, below)

    def _hold_objects(
        self,
        state: _State,
        roles: list[tuple[_Role, int]],
        objects: list[dict[str, Any]],
        effort: Effort,
        below: _Level,
    ) -> None:
        members_in_all = sum(map(len, objects))
        effort.units += len(objects) * (sum(role.per_object * count for role, count in roles) + _OBJECT)
        effort.units += members_in_all * _MEMBER
        if effort.units > BUDGET:
            return
        if any(role.keys for role, _ in roles):
            _texts(list(chain.from_iterable(objects)), [(r.keys, r.fancy_keys, count) for r, count in roles], effort)
        names = _scaled((role.names, count) for role, count in roles)
        if names:
            _put(below, self._state(names, effort), list(chain.from_iterable(objects)))
        declared = {name for role, _ in roles for name in role.properties}
        members: dict[str, list[Any]] = defaultdict(list)
        others: list[Any] = []
        for each in objects:
            for name, value in each.items():
                (members[name] if name in declared else others).append(value)
        inherited = state[1].get(_UNIQUE, 0)
        patterned = _scaled((role.patterned, count) for role, count in roles)
        for name, values in members.items():
            if effort.units > BUDGET:
                return
            seeds = _scaled((role.properties.get(name, role.rest), count) for role, count in roles)
            _put(below, self._state([*seeds, *patterned], effort, inherited), values)
        if others:
            seeds = _scaled((role.rest, count) for role, count in roles)
            _put(below, self._state([*seeds, *patterned], effort, inherited), others)

    def _hold_arrays(
        self,
        state: _State,
        roles: list[tuple[_Role, int]],
        arrays: list[list[Any]],
        effort: Effort,
        below: _Level,
    ) -> None:
        unique = state[1].get(_UNIQUE, 0) + sum(count for role, count in roles if role.unique)
        first = max(len(role.prefix) for role, _ in roles) if roles else 0
        items = _scaled((role.items, count) for role, count in roles)
        longest = max(map(len, arrays))
        for at in range(min(first, longest)):
            seeds = _scaled((role.prefix[at : at + 1], count) for role, count in roles)
            _put(below, self._state([*seeds, *items], effort, unique), [each[at] for each in arrays if len(each) > at])
        if longest > first:
            rest = chain.from_iterable(each[first:] if first else each for each in arrays)
            _put(below, self._state(items, effort, unique), list(rest))

    # which subschemas apply

    def _state(self, seeds: list[tuple[int, int]], effort: Effort, unique: int = 0) -> _State:
        """All nodes that apply where `seeds` do. One that is recursive is looked at once: engines remember."""
        key = (*seeds, (_UNIQUE, unique))
        effort.units += len(key)
        state = self._states.get(key)
        if state is None:
            found = self._applied(seeds, unique)
            state = (frozenset(found.items()), found)
            effort.units += _APPLYING * (len(found) + len(seeds))
            if len(self._states) < _KEPT and len(found) + len(key) <= self._room:
                self._states[key] = state
                self._room -= len(found) + len(key)
        return state

    def _applied(self, seeds: list[tuple[int, int]], unique: int) -> dict[int, int]:
        found: Counter[int] = Counter()
        again: set[int] = set()
        for index, count in seeds:
            if index in self._recursive:
                again.add(index)
                continue
            alone, more = self._alone[index]
            for each, inner in alone.items():
                found[each] += inner * count
            again |= more
        todo = list(again)
        while todo:
            alone, more = self._alone[todo.pop()]
            found.update(alone)
            todo += more - again
            again |= more
        if unique:
            found[_UNIQUE] = unique
        return found

    def _closure(self, index: int) -> tuple[Counter[int], frozenset[int]]:
        """The nodes that apply in place where this one does, the recursive ones apart."""
        found: Counter[int] = Counter({index: 1})
        again: set[int] = set()
        node = self._nodes[index]
        for edge in node.edges:
            if edge.use != "in_place":
                continue
            if edge.to in self._recursive:
                again.add(edge.to)
                continue
            alone, more = self._alone[edge.to]
            for each, count in alone.items():
                found[each] += count * times(node, edge)
            again |= more
        return found, frozenset(again)

    def _heaviest(self, order: list[int], place: dict[int, int]) -> int:
        """What one value can cost at most, its text aside: all the tree of the schema applied to it."""
        totals = [0] * len(order)
        for index in order:
            node, role = self._nodes[index], self._roles[index]
            total = (
                role.each
                + role.floats * _FLOAT_FLOAT
                + role.integers * _FLOAT_INT
                + role.compound
                + role.per_object
                + _UNIQUE_COST * 200 * role.unique
            )
            for edge in node.edges:
                if edge.use != "held" and place[edge.to] < place[index]:
                    total += totals[edge.to] * times(node, edge)
            totals[index] = min(total, BUDGET)
        return min(totals[0] + sum(totals[index] for index in self._recursive), BUDGET)


def _role(node: Node) -> _Role:  # noqa: C901  # one branch a keyword
    schema = node.schema
    role = _Role(each=1 + len(schema))
    if "multipleOf" in schema:
        role.each += _WILD_DIVISION if _is_wild(schema["multipleOf"]) else _DIVISION
    role.floats = sum(type(each) is float for each in _named(schema))
    role.integers = len(_named(schema)) - role.floats
    enum: Any = schema.get("enum")
    if is_array(enum) and len(set(map(type, enum))) > 1:
        role.each += len(enum)  # of several types: gone through, where one type is looked up
    role.compound = sum(_compounds(schema.get(keyword)) for keyword in ("enum", "const"))
    for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
        role.per_object += len(schema.get(keyword) or ())
    role.unique = schema.get("uniqueItems") is True
    if isinstance(schema.get("pattern"), str):
        cost = cost_of(schema["pattern"])
        role.texts, role.fancy = _width(cost.width), cost.fancy
    if schema.get("format") == "regex":
        role.texts += _REGEX
    costs = [cost_of(pattern) for pattern in patterns_of(schema)][isinstance(schema.get("pattern"), str) :]
    role.keys = sum(_width(cost.width) + _KEY for cost in costs)
    role.fancy_keys = any(cost.fancy for cost in costs)
    for edge in node.edges:
        target = (edge.to, times(node, edge))
        if edge.keyword == "properties":
            role.properties.setdefault(str(edge.token), []).append(target)
        elif edge.keyword == "patternProperties":
            role.patterned.append(target)
        elif edge.keyword == "propertyNames":
            role.names.append(target)
        elif edge.keyword in _ONE:
            role.rest.append(target)
        elif edge.keyword == "prefixItems" or (edge.keyword == "items" and edge.token is not None):
            role.prefix.append(target)
        elif edge.keyword in _ITEMS:
            role.items.append(target)
    return role


def _width(width: int) -> int:
    return width * _WIDE_COST if width > _WIDE else width


def _named(schema: dict[str, Any]) -> list[float]:
    """The numbers that an `enum` or `const` names."""
    named = schema.get("enum")
    values: list[Any] = [*(named if is_array(named) else ()), schema.get("const")]
    return [each for each in values if type(each) in (int, float)]


def _is_large(number: object) -> bool:
    return type(number) is int and number.bit_length() > _INT64


def _is_wild(number: object) -> bool:
    return isinstance(number, (int, float)) and number != 0 and not 1 / _WILD < abs(number) < _WILD


def _extremes(value: Any) -> tuple[int, int, int]:
    """How many integers are beyond 64 bits, the digits of the longest, and how many numbers are wild."""
    large, longest, wild = 0, 0, 0
    level: list[Any] = [value]
    while level:
        numbers = [each for each in level if type(each) is int or type(each) is float]
        beyond = [each.bit_length() for each in numbers if type(each) is int and each.bit_length() > _INT64]
        large += len(beyond)
        longest = max(longest, max(beyond, default=0))
        wild += sum(map(_is_wild, numbers))
        objects: list[dict[str, Any]] = [each for each in level if type(each) is dict]
        arrays: list[list[Any]] = [each for each in level if type(each) is list]
        level = [*chain.from_iterable(each.values() for each in objects), *chain.from_iterable(arrays)]
    return large, longest * 3 // 10, wild


def _compounds(value: Any) -> int:
    """How many values the objects and arrays among those of an `enum` or `const` hold: each may be compared."""
    count, todo = 0, [value]
    while todo:
        each = todo.pop()
        if isinstance(each, (dict, list)):
            todo += each.values() if isinstance(each, dict) else each
            count += 1
    return max(count - 1, 0)


def _scaled(pairs: Iterable[tuple[list[tuple[int, int]], int]]) -> list[tuple[int, int]]:
    return [(index, inner * count) for seeds, count in pairs for index, inner in seeds]


def _put(level: _Level, state: _State, values: list[Any]) -> None:
    key, applied = state
    if applied:
        known = level.setdefault(key, (state, []))
        known[1].extend(values)


def _texts(strings: list[str], roles: list[tuple[int, bool, int]], effort: Effort) -> None:
    characters = sum(map(len, strings)) + len(strings)
    effort.units += characters * sum(width * count for width, _, count in roles)
    looks = sum(count for _, fancy, count in roles if fancy)
    if looks:
        effort.strings += len(strings) * looks
        effort.characters += characters * looks
        effort.longest = max(effort.longest, max(map(len, strings), default=0))


def _size(value: Any) -> tuple[int, int, int]:
    """Values, characters of text, and those of the longest string: level by level, in few calls that run in C."""
    values, characters, longest = 0, 0, 0
    level: list[Any] = [value]
    while level:
        values += len(level)
        objects: list[dict[str, Any]] = [each for each in level if type(each) is dict]
        texts = [each for each in level if type(each) is str]
        texts += chain.from_iterable(objects)
        characters += sum(map(len, texts)) + len(texts)
        longest = max(longest, max(map(len, texts), default=0))
        arrays: list[list[Any]] = [each for each in level if type(each) is list]
        level = [*chain.from_iterable(each.values() for each in objects), *chain.from_iterable(arrays)]
    return values, characters, longest
