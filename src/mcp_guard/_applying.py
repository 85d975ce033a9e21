"""Which subschemas apply to a value and to its parts, and how often. Of one schema, over its graph; no values here."""

from __future__ import annotations

from collections import Counter
from typing import Final

from mcp_guard._cost import order_of, times
from mcp_guard._references import Survey
from mcp_guard._roles import HASHED, Role, Seeds, role_of

HASHING: Final = -1
"""Stands among the nodes for: a canonical text is made of all below."""
CEILING: Final = 1 << 40
_LEVELS: Final = 200
_DIVIDED_SLOWLY: Final = 520
_KEPT, _KEPT_NODES = 2_000, 200_000

State = tuple[frozenset[tuple[int, int]], dict[int, int]]
"""Nodes that apply to a value, and how many times: as a key, and to look at."""


class Applying:
    """What applies where. A node that is recursive counts once where it applies several times: engines remember."""

    def __init__(self, survey: Survey) -> None:
        self._nodes = survey.nodes
        self.roles: list[Role] = [role_of(node) for node in survey.nodes]
        """Of each node."""
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
        for index in order_of(survey.nodes, lambda edge: edge.use == "in_place"):
            self._alone[index] = self._closure(index)
        self.heaviest: int = self._heaviest(order, place)
        """Units that one value costs at most, its text aside: all the tree of the schema applied to it."""

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

    def _heaviest(self, order: list[int], place: list[int]) -> int:
        # of a recursive schema, each level above may hash all below
        levels = _LEVELS if self._recursive else 1
        totals = [0] * len(order)
        for index in order:
            node, role = self._nodes[index], self.roles[index]
            numbers = role.numbers_exactly + _DIVIDED_SLOWLY * role.divides + role.named_exactly
            total = (
                role.each
                + max(role.numbers, numbers)
                + role.compound
                + role.per_object
                + role.texts.each
                + role.formats.each
                + role.keys.each
                + HASHED * levels * (role.unique + role.hashed)
            )
            for edge in node.edges:
                if edge.use != "held" and place[edge.to] < place[index]:
                    total += totals[edge.to] * times(node, edge)
            totals[index] = min(total, CEILING)
        return min(totals[0] + sum(totals[index] for index in self._recursive), CEILING)
