"""Counts what a schema costs before any engine sees it, and finds references without an end. Iterative, no engine.

Every count is of the schema as a tree in which each reference is replaced by its target. That tree can be as large as
2 ** 30 out of a few lines, so it is counted over the graph, each node once, and never built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from mcp_guard._exact import KEYWORDS
from mcp_guard._patterns import cost_of
from mcp_guard._references import Edge, Node, Refused, Survey, where

if TYPE_CHECKING:
    from mcp_guard.policy import Limits

_CEILING: Final = 1 << 40
_CHAIN: Final = 200
_CHAIN_RECURSIVE: Final = 20
"""Steps through references and compositions that one value may take. The engine recurses: 200 of them at each of 200
levels of a value were measured to overflow a stack of 8 MiB. Only a recursive schema is as deep as the value."""
_CHAIN_THROUGH: Final = 1_000
"""References one after the other, also through parts of the value: the engine compiles them recursively too."""
_PATTERNS: Final = 60_000
"""Patterns of one schema, in about a microsecond of compiling each."""
_KEPT: Final = 100_000
"""JSON values under `not`: the engine keeps a copy of all that stands there, also of each `not` in it. So many of them
were measured to take 65 MB."""
_HANDED: Final = 400_000
"""JSON values in subschemas of which the engine makes a copy, 90 ns for each value, for each keyword that it hands over
to `_exact`."""
_PLACED: Final = 24_000_000
"""Characters: 3,000 subschemas below 60 names of 2.5 KB were measured to take 1.3 GB."""
_CHARACTERS: Final = 50
"""A text of so many characters takes as much as any other value."""
_NODE, _VALUE, MICROSECOND = 180, 60, 143
"""Units to compile a subschema, each of the values in it, and a pattern."""
_APPLIED: Final = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
)
_REFERRING: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
MARKING: Final = frozenset({"unevaluatedProperties", "unevaluatedItems"})
"""Keywords that hold the value once more against the subschemas beside them."""


def weigh(survey: Survey, limits: Limits) -> list[int]:
    """Hold a schema against `Limits`; what compiling it from each of its nodes on costs at most, in units of `_roles`.

    Raises:
        Refused: A limit is crossed, or references lead round in a circle without taking a value apart.
    """
    nodes = survey.nodes
    compositions, height, done = [0] * len(nodes), [0] * len(nodes), [False] * len(nodes)
    for index in order_of(nodes, lambda edge: edge.use == "in_place"):
        node = nodes[index]
        for edge in node.edges:
            if edge.use == "in_place":
                # children stand before their parents, except where an edge closes a circle
                if not done[edge.to]:
                    at = where(nodes, index, survey.names, edge.keyword)
                    raise Refused("endless_ref", f"{at} leads back to itself and never to a part of the value")
                branch = 1 if edge.keyword in _APPLIED else 0
                compositions[index] += (branch + compositions[edge.to]) * times(node, edge)
                height[index] = max(height[index], 1 + height[edge.to])
        compositions[index] = min(compositions[index] + node.booleans, _CEILING)
        done[index] = True
    _within("compositions", limits.compositions, max(compositions))
    order = order_of(nodes, lambda edge: edge.use != "held")
    total, recursive, chain = expanded(nodes, order)
    _within("references in a chain", _CHAIN_THROUGH, chain)
    _within("references in a chain", _CHAIN_RECURSIVE if recursive else _CHAIN, max(height))
    _within("subschemas", limits.subschemas, total)
    _patterns(survey, limits)
    _within("characters of places in the schema, each in full", _PLACED, _placed(nodes))
    own = list(map(_own_values, nodes))
    if sum(own) * len(nodes) * len(KEYWORDS) > min(_KEPT, _HANDED):  # no more can be copied than that
        _copied(nodes, own)
    return _compiling(nodes, own, order)


def _copied(nodes: list[Node], own: list[int]) -> None:
    """Hold against their bounds the copies that the engine makes of parts of the schema."""
    whole, kept, handed = [0] * len(nodes), 0, 0
    for index in order_of(nodes, lambda edge: edge.keyword not in _REFERRING):
        node = nodes[index]
        inside = [edge for edge in node.edges if edge.keyword not in _REFERRING]
        whole[index] = own[index] + sum(whole[edge.to] for edge in inside)
        kept += sum(whole[edge.to] for edge in inside if edge.keyword == "not")
        handed += whole[index] * len(KEYWORDS.keys() & node.schema.keys())
    _within("values under not", _KEPT, kept)
    _within("values beside or below keywords of numbers", _HANDED, handed)


def _placed(nodes: list[Node]) -> int:
    """The characters of the pointers that the engine keeps: two for each subschema, and two for each keyword of it."""
    lengths: list[int] = []
    total = 0
    for node in nodes:  # parents stand before their children
        length = lengths[node.parent] if node.parent >= 0 else 0
        for token in node.path:
            length += len(str(token)) + 1
        lengths.append(length)
        total += length * (2 + 2 * len(node.schema))
    return total


def _own_values(node: Node) -> int:
    """The values of a schema, those of its subschemas aside."""
    inside = {edge.keyword for edge in node.edges if edge.keyword not in _REFERRING}
    values: list[Any] = [each for keyword, each in node.schema.items() if keyword not in inside]
    count = 1
    for each in values:  # what they hold is put behind them
        if isinstance(each, str):
            count += len(each) // _CHARACTERS
        elif isinstance(each, (dict, list)):
            values += each.values() if isinstance(each, dict) else each
    return count + len(values)


def _compiling(nodes: list[Node], own: list[int], order: list[int]) -> list[int]:
    units = [0] * len(nodes)  # 0 as long as it is not known: a circle is counted once
    for index in order:
        node = nodes[index]
        here = _NODE * (1 + node.booleans) + _VALUE * own[index]
        for pattern in patterns_of(node.schema):
            here += MICROSECOND * cost_of(pattern).compiling
        for edge in node.edges:
            here += units[edge.to] if edge.use != "held" else 0
        units[index] = min(here, _CEILING)
    return units


def _within(limit: str, allowed: int, found: int) -> None:
    if found > allowed:
        shown = f"{found}" if found < _CEILING else f"more than {_CEILING}"
        raise Refused("too_complex", f"{limit}: {allowed} are allowed, found {shown}")


def expanded(nodes: list[Node], order: list[int]) -> tuple[int, bool, int]:
    """The subschemas of the tree, whether it has a circle, and its most references one after the other.

    A shared target counts each time, a circle once, and once what nothing applies.
    """
    totals, chains = [0] * len(nodes), [0] * len(nodes)  # 0 as long as it is not known
    recursive = False
    for index in order:
        node = nodes[index]
        total = 0
        for edge in node.edges:
            if edge.use == "held":
                continue
            if totals[edge.to]:
                total += totals[edge.to] * times(node, edge)
                chains[index] = max(chains[index], chains[edge.to] + edge.keyword.startswith("$"))
            else:
                recursive = True
        totals[index] = min(1 + node.booleans + total, _CEILING)
    unused = order[order.index(0) + 1 :]  # what the root does not lead to
    return min(totals[0] + sum([1 + nodes[index].booleans for index in unused]), _CEILING), recursive, max(chains)


def times(node: Node, edge: Edge) -> int:
    """How often one look at a value holds it against this subschema."""
    beside = edge.use == "in_place" or edge.keyword in {"contains", "items"}
    return 2 if beside and not MARKING.isdisjoint(node.schema) else 1


def order_of(nodes: list[Node], follows: Callable[[Edge], bool]) -> list[int]:
    """All nodes, children before parents, the root's own first; only an edge that closes a circle goes forward."""
    order: list[int] = []
    seen = [False] * len(nodes)
    for start in range(len(nodes)):
        if seen[start]:
            continue
        seen[start] = True
        stack: list[tuple[int, Iterator[Edge]]] = []
        below = nodes[start].edges
        if below:
            stack.append((start, iter(below)))
        else:
            order.append(start)
        while stack:
            index, edges = stack[-1]
            for edge in edges:
                to = edge.to
                if not seen[to] and follows(edge):
                    seen[to] = True
                    below = nodes[to].edges
                    if below:
                        stack.append((to, iter(below)))
                        break
                    order.append(to)
            else:
                stack.pop()
                order.append(index)
    return order


def patterns_of(schema: dict[str, Any]) -> Sequence[str]:
    """The regular expressions of one schema, its subschemas aside."""
    if "pattern" not in schema and "patternProperties" not in schema:
        return ()
    found = [schema["pattern"]] if isinstance(schema.get("pattern"), str) else []
    if isinstance(schema.get("patternProperties"), dict):
        found += cast("dict[str, Any]", schema["patternProperties"])
    return found


def _patterns(survey: Survey, limits: Limits) -> None:
    total = 0
    for pattern in {pattern for node in survey.nodes for pattern in patterns_of(node.schema)}:
        if len(pattern) > limits.pattern_length:
            _within("pattern_length", limits.pattern_length, len(pattern))
        cost = cost_of(pattern)
        _within("pattern_length", limits.pattern_length, cost.length)
        total += cost.compiling
    _within("microseconds of compiling patterns", _PATTERNS, total)
