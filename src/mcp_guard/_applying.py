"""Which subschemas apply to a value and to its parts, and how often. Of one schema, over its graph; no values here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from mcp_guard._cost import MARKING, order_of
from mcp_guard._references import Edge, Survey
from mcp_guard._roles import HASHED, Role, Seeds, mark_of, role_of

HASHING: Final = -1
"""Stands among the nodes for: a canonical text is made of all below."""
CEILING: Final = 1 << 40
_LEVELS: Final = 200
_DIVIDED_SLOWLY: Final = 520
_KEPT, _KEPT_NODES = 2_000, 200_000

_PLACES: Final = 300
_PAIRS: Final = 60_000
"""Places of a schema, and pairs of a subschema and a part that it may apply to, that are gone through to find the
dearest place."""
_ASKED_AGAIN: Final = frozenset({"allOf", "anyOf", "oneOf", "if"})
"""Keywords whose subschemas a value is held against again, to know whether what they evaluate counts."""

State = tuple[frozenset[tuple[int, int]], dict[int, int]]
"""Nodes that apply to a value, and how many times: as a key, and to look at."""


class Applying:
    """What applies where. A node that is recursive counts once where it applies several times: engines remember.

    `unevaluatedProperties` and `unevaluatedItems` go through the subschemas beside them again, and hold the value
    against these again on the way, which may have such keywords too: 2.6 times the work on each level. Going through
    stands as a role of its own for each node, behind all others.
    """

    def __init__(self, survey: Survey) -> None:
        self._nodes = survey.nodes
        self.roles: list[Role] = [role_of(node) for node in survey.nodes]
        """Of each node; and what going through it costs, where that is ever done."""
        self._marks = any(not MARKING.isdisjoint(node.schema) for node in survey.nodes)
        if self._marks:
            self.roles += map(mark_of, survey.nodes)
        order = order_of(survey.nodes, lambda edge: edge.use != "held")
        place = [0] * len(order)
        for at, index in enumerate(order):
            place[index] = at
        self._recursive = {
            edge.to
            for index, node in enumerate(survey.nodes)
            for edge in node.edges
            if edge.use != "held" and place[edge.to] >= place[index]
        }
        self._states: dict[tuple[tuple[int, int], ...], State] = {}
        self._room = _KEPT_NODES
        self._alone: dict[int, tuple[Counter[int], frozenset[int]]] = {}
        self._marked: dict[int, tuple[Counter[int], frozenset[int]]] = {}
        for index in order_of(survey.nodes, lambda edge: edge.use == "in_place"):
            if self._marks:
                self._marked[index] = self._closure(index, marking=True)
            self._alone[index] = self._closure(index)
        self._down = [
            (
                index,
                [edge for edge in survey.nodes[index].edges if edge.use != "held" and place[edge.to] < place[index]],
            )
            for index in order
        ]

    def heaviest(self, *, exact: bool) -> int:
        """Units that one value costs at most, its text aside: all the tree of the schema applied to it.

        `exact`: numbers have to be compared by `_exact`.
        """
        # of a recursive schema, each level above may hash all below
        levels = _LEVELS if self._recursive else 1
        return self.total(lambda role: _price(role, exact=exact) + HASHED * levels * _hashings(role, exact=exact))

    def at_one_place(self, heaviest: int, *, exact: bool) -> int:
        """Units that one value costs at most, its text aside: closer than `heaviest`, if there are not too many places.

        A value is held against what applies at its own place, and its name against what its parent asks of names.
        """
        waiting: list[tuple[Seeds, int, int]] = [(((0, 1),), 0, 0)]
        seen: set[frozenset[tuple[int, int]]] = set()
        pairs, dearest = 0, 0
        while waiting:
            seeds, hashing, named = waiting.pop()
            (key, applied), _ = self.state(seeds, hashing)
            dearest = max(dearest, self._price(applied, exact=exact) + named)
            if key in seen:
                continue
            seen.add(key)
            roles = self.roles_of(applied)
            parts = sum(len(role.properties) + len(role.prefix) for role, _ in roles)
            pairs += parts * len(roles)
            if len(seen) > _PLACES or pairs > _PAIRS or dearest > heaviest:
                return heaviest
            hashing = applied.get(HASHING, 0) + sum(_hashings(role, exact=exact) * count for role, count in roles)
            (_, of_names), _ = self.state(scaled((role.names, count) for role, count in roles))
            named = self._price(of_names, exact=exact)
            named += sum((role.keys.each + role.members + role.elements) * count for role, count in roles)
            waiting += ((below, hashing, named) for below in _below(roles))
        return min(dearest, heaviest)

    def roles_of(self, applied: dict[int, int]) -> list[tuple[Role, int]]:
        """The roles of the nodes that apply somewhere, and how many times each."""
        return [(self.roles[index], count) for index, count in applied.items() if index != HASHING]

    def _price(self, applied: dict[int, int], *, exact: bool) -> int:
        roles = self.roles_of(applied)
        priced = ((_price(role, exact=exact) + HASHED * _hashings(role, exact=exact)) * count for role, count in roles)
        return 1 + HASHED * applied.get(HASHING, 0) + sum(priced)

    def state(self, seeds: Seeds, hashing: int = 0) -> tuple[State, int]:
        """All nodes that apply where `seeds` do; and how many were found only now."""
        key = (*seeds, (HASHING, hashing))
        state = self._states.get(key)
        if state is not None:
            return state, 0
        found = self._applied(seeds, hashing)
        state = (frozenset(found.items()), found)
        if len(self._states) < _KEPT and len(found) + len(key) <= self._room:
            self._states[key] = state
            self._room -= len(found) + len(key)
        return state, len(found) + len(seeds)

    def _applied(self, seeds: Seeds, hashing: int) -> dict[int, int]:
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
        if hashing:
            found[HASHING] = hashing
        return found

    def _closure(self, index: int, *, marking: bool = False) -> tuple[Counter[int], frozenset[int]]:
        """The nodes that apply in place where this one does, or is gone through; the recursive ones apart."""
        found: Counter[int] = Counter({index + marking * len(self._nodes): 1})
        again: set[int] = set()
        node = self._nodes[index]
        for edge in node.edges:
            if edge.use == "in_place" and (not marking or edge.keyword in _ASKED_AGAIN):
                if edge.to in self._recursive:
                    again.add(edge.to)
                else:
                    _add(found, again, self._alone[edge.to])
            if marking and edge.use == "in_place" and edge.keyword != "not":
                _add(found, again, self._marked[edge.to])
        if not marking and not MARKING.isdisjoint(node.schema):
            _add(found, again, self._marked[index])
        return found, frozenset(again)

    def total(self, price: Callable[[Role], int]) -> int:
        """What one value costs at most where all the tree of the schema is applied to it, each role at its price."""
        count = len(self._nodes)
        held, marked = [0] * count, [0] * count
        for index, edges in self._down:
            own = price(self.roles[index])
            if not self._marks:
                held[index] = min(own + sum([held[edge.to] for edge in edges]), CEILING)
                continue
            going = price(self.roles[count + index]) + sum([_marked(edge, held, marked) for edge in edges])
            marked[index] = min(going, CEILING)
            own += sum([held[edge.to] for edge in edges if edge.keyword not in MARKING])
            held[index] = min(own + (0 if MARKING.isdisjoint(self._nodes[index].schema) else going), CEILING)
        return min(held[0] + sum(held[index] for index in self._recursive), CEILING)


def _marked(edge: Edge, held: list[int], marked: list[int]) -> int:
    """What going through a node costs for one of its subschemas."""
    if edge.use != "in_place":
        return held[edge.to] if edge.keyword in MARKING or edge.keyword == "contains" else 0
    again = held[edge.to] if edge.keyword in _ASKED_AGAIN else 0
    return again + (0 if edge.keyword == "not" else marked[edge.to])


def _add(found: Counter[int], again: set[int], closure: tuple[Counter[int], frozenset[int]]) -> None:
    for index, count in closure[0].items():
        found[index] += count
    again |= closure[1]


def scaled(pairs: Iterable[tuple[Seeds, int]]) -> list[tuple[int, int]]:
    """The seeds of several nodes that apply at one place, as often as these do."""
    return [(index, inner * count) for seeds, count in pairs for index, inner in seeds]


def _below(roles: list[tuple[Role, int]]) -> Iterator[Seeds]:
    """What applies to the parts of a value, to one of each kind: declared members, others, elements by their place."""
    patterned = scaled((role.patterned, count) for role, count in roles)
    for name in {name for role, _ in roles for name in role.properties}:
        yield [*scaled((role.properties.get(name, role.rest), count) for role, count in roles), *patterned]
    yield [*scaled((role.rest, count) for role, count in roles), *patterned]
    items = scaled((role.items, count) for role, count in roles)
    for at in range(max((len(role.prefix) for role, _ in roles), default=0)):
        yield [*scaled((role.prefix[at : at + 1], count) for role, count in roles), *items]
    yield items


def _hashings(role: Role, *, exact: bool) -> int:
    """Times that all below a value is hashed where this applies."""
    return role.unique + role.hashed * exact


def _price(role: Role, *, exact: bool) -> int:
    """Units that one value costs at most where this applies, what is hashed aside."""
    numbers = role.numbers
    if exact:
        numbers = max(numbers, role.numbers_exactly + _DIVIDED_SLOWLY * role.divides + role.named_exactly)
    return (
        role.each
        + numbers
        + role.compound
        + role.per_object
        + role.members
        + role.elements
        + role.texts.each
        + role.formats.each
        + role.keys.each
    )
