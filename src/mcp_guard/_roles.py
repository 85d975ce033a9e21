"""What each subschema costs a value that it is held against, from its text alone. Tables for `_effort`; no values here.

The numbers were measured on jsonschema-rs 0.61, one keyword at a time, with values made to be as
slow as they can be, and rounded up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

from mcp_guard._cost import patterns_of
from mcp_guard._facts import is_array, is_object
from mcp_guard._patterns import Powers, cost_of
from mcp_guard._references import Node

Seeds = Sequence[tuple[int, int]]
"""Nodes that apply to a part of a value, and how often."""

NANOSECONDS: Final = 7
"""Of a unit."""
INT64: Final = 63
"""Bits of an integer that the engine compares as one."""
HASHED: Final = 120
"""A value of which a canonical text is made: for `uniqueItems`, and for `enum` and `const` where numbers are exact."""
_COMPARED, _COMPARED_EXACTLY = 5, 46
_DIVIDED, _DIVIDED_EXACTLY = 100, 80
_NAMED, _NAMED_TEXT = 100, 40
_MATCHED: Final = 8
_LOOKED_AHEAD: Final = 30
_KEY: Final = 3
_PARTS: Final = {
    "patternProperties": "patterned",
    "propertyNames": "names",
    "additionalProperties": "rest",
    "prefixItems": "prefix",
    "items": "items",
    "additionalItems": "items",
    "contains": "items",
}
"""Keywords with subschemas for a part of a value, and the field of a `Role`."""
_MARKED_PARTS: Final = {"unevaluatedProperties": "rest", "unevaluatedItems": "items", "contains": "items"}
"""The same for what is asked again of parts to tell which are evaluated."""
_MARKING_MEMBERS: Final = ("properties", "patternProperties", "additionalProperties", "unevaluatedProperties")
_MARKING_ELEMENTS: Final = ("prefixItems", "items", "contains", "unevaluatedItems")
_MARKED_MEMBER, _MARKED_ELEMENT = 7, 1
"""Units for each keyword that tells whether a member is evaluated: it takes 45 ns, and 31 bytes until the check ends.
So the budget of one check bounds the memory too, at 70 MiB."""
_BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_NAMING: Final = frozenset({"enum", "const"})
_NUMBER: Final = ("number", ["number"])
_NUMERIC: Final = frozenset({*_BOUNDS, "multipleOf"})
_SMALL: Final = frozenset({str, bool, type(None)})
"""Types of which no value is a number or holds others."""
_DEPENDING: Final = frozenset({"dependentRequired", "dependentSchemas", "dependencies"})
_CONTENT: Final = frozenset({"contentEncoding", "contentMediaType"})
_SPECIAL: Final = _NUMERIC | _NAMING | _DEPENDING | _CONTENT | {"uniqueItems", "pattern", "patternProperties", "format"}


@dataclass(frozen=True, slots=True)
class Text:
    """What strings cost: each, and each character; and whether a pattern has to backtrack on them.

    `first` and `again`: what one run of each such pattern takes, see `PatternCost`.
    """

    each: int = 0
    character: int = 0
    fancy: bool = False
    first: Powers = ()
    again: Powers = ()


def _texts(patterns: Sequence[str], more: int = 0) -> Text:
    """What holding strings against these patterns costs."""
    costs = list(map(cost_of, patterns))
    each = sum(_MATCHED + _LOOKED_AHEAD * (1 + cost.looks) * cost.fancy for cost in costs)
    first, again = (tuple(chain.from_iterable(runs)) for runs in ([c.first for c in costs], [c.again for c in costs]))
    return Text(each, sum(cost.character + more for cost in costs), bool(again), first, again)


_NO_TEXT: Final = Text()
_FORMAT: Final = Text(20, 1)
_FORMATS: Final = {
    "idn-hostname": Text(80, 20),
    "idn-email": Text(80, 20),
    "email": Text(40, 2),
    "regex": Text(10, 2),
}
_NO_SEEDS: Final[Seeds] = ()
_NO_PROPERTIES: Final[Mapping[str, Seeds]] = MappingProxyType({})


@dataclass(slots=True)
class Role:
    """What a node asks of a value, and which nodes apply to its parts."""

    each: int = 1
    compound: int = 0
    texts: Text = _NO_TEXT
    formats: Text = _NO_TEXT
    keys: Text = _NO_TEXT
    per_object: int = 0
    members: int = 0
    """Units for each member of an object."""
    elements: int = 0
    """Units for each element of an array."""
    numbers: int = 0
    numbers_exactly: int = 0
    divides: bool = False
    """By a fraction, or by a number that is no machine integer."""
    named_exactly: int = 0
    """Units for each value, where an `enum` or `const` is held against it exactly."""
    hashed: int = 0
    """Times that all below a value is hashed, where an `enum` or `const` names objects or arrays."""
    tame: bool = True
    """All its numbers are machine integers, which the engine compares at once."""
    naming: bool = False
    """It names an integer, in `enum` or `const`: the engine compares that with a float by fractions, in up to 40
    microseconds."""
    holding: bool = False
    """It names an object or an array with an integer in it."""
    reading: bool = False
    """It asks for a number: the engine reads all digits of an integer to tell that it is one."""
    unique: bool = False
    properties: Mapping[str, Seeds] = field(default_factory=lambda: _NO_PROPERTIES)
    patterned: Seeds = _NO_SEEDS
    rest: Seeds = _NO_SEEDS
    names: Seeds = _NO_SEEDS
    prefix: Seeds = _NO_SEEDS
    items: Seeds = _NO_SEEDS


def role_of(node: Node) -> Role:
    """Read one node. It need not be a schema that an engine takes."""
    schema = node.schema
    role = Role(1 + len(schema), reading=schema.get("type") in _NUMBER)
    if not _SPECIAL.isdisjoint(schema):
        _read(role, schema, schema.keys() & _SPECIAL)
    if node.edges:
        _lead(role, node)
    return role


def mark_of(node: Node) -> Role:
    """What it costs to find the members and elements that a node evaluates, what is beside it in the schema aside."""
    schema = node.schema
    role = Role()
    role.members = _MARKED_MEMBER * sum(keyword in schema for keyword in _MARKING_MEMBERS)
    role.elements = _MARKED_ELEMENT * any(keyword in schema for keyword in _MARKING_ELEMENTS)
    patterns: Any = schema.get("patternProperties")
    if is_object(patterns) and patterns:
        role.keys = _texts(list(patterns), _KEY)
    declared: Any = schema.get("properties")
    _put(role, node, _MARKED_PARTS)
    if role.rest and is_object(declared):
        role.properties = dict.fromkeys(declared, _NO_SEEDS)
    return role


def _read(role: Role, schema: dict[str, Any], special: set[str]) -> None:
    """The keywords that cost more than a look at the value."""
    if not special.isdisjoint(_NUMERIC):
        _weigh_numbers(role, schema)
    for keyword in special & _NAMING:
        _weigh_named(role, schema[keyword], one=keyword == "const")
    for keyword in special & _DEPENDING:
        depending: Any = schema[keyword]
        if is_object(depending):
            role.per_object += 2 * sum(1 + (len(each) if is_array(each) else 0) for each in depending.values())
    role.unique = schema.get("uniqueItems") is True
    patterns = patterns_of(schema)
    if patterns and isinstance(schema.get("pattern"), str):
        role.texts = _texts(patterns[:1])
        patterns = patterns[1:]
    if patterns:
        role.keys = _texts(patterns, _KEY)
    if isinstance(schema.get("format"), str):
        role.formats = _FORMATS.get(schema["format"], _FORMAT)
    if not special.isdisjoint(_CONTENT):
        role.texts = replace(role.texts, character=role.texts.character + 2)


def _lead(role: Role, node: Node) -> None:
    """Which nodes apply to the parts of a value."""
    properties: dict[str, Seeds] = {}
    for edge in node.edges:
        if edge.keyword == "properties":
            properties[str(edge.token)] = ((edge.to, 1),)
    if properties:
        role.properties = properties
    _put(role, node, _PARTS)


def _put(role: Role, node: Node, fields: Mapping[str, str]) -> None:
    parts: dict[str, list[tuple[int, int]]] = {}
    for edge in node.edges:
        part = fields.get(edge.keyword)
        if part is not None:
            part = "prefix" if edge.keyword == "items" and edge.token is not None else part
            parts.setdefault(part, []).append((edge.to, 1))
    for part, seeds in parts.items():
        setattr(role, part, tuple(seeds))


def is_tame(number: object) -> bool:
    """Whether this is a machine integer."""
    return type(number) is int and number.bit_length() <= INT64


def _weigh_numbers(role: Role, schema: dict[str, Any]) -> None:
    bounds = [schema[keyword] for keyword in _BOUNDS if keyword in schema]
    role.numbers = _COMPARED * len(bounds)
    role.numbers_exactly = _COMPARED_EXACTLY * len(bounds)
    role.tame = all(isinstance(bound, bool) or is_tame(bound) for bound in bounds)
    if "multipleOf" in schema:
        role.numbers += _DIVIDED
        role.numbers_exactly += _DIVIDED_EXACTLY
        role.divides = not is_tame(schema["multipleOf"])
        role.tame = role.tame and not role.divides


def _weigh_named(role: Role, asked: Any, *, one: bool) -> None:
    allowed: Any = [asked] if one else asked
    kinds: set[type] = set(map(type, allowed)) if is_array(allowed) else set()
    role.named_exactly += _NAMED_TEXT if kinds == {str} else _NAMED
    if len(kinds) > 1:
        role.each += 2 * len(allowed)  # of several types: gone through, where one type is looked up
    if not kinds or not kinds <= _SMALL:
        role.hashed += not kinds.isdisjoint((dict, list))
        role.compound += 2 * _compounds(asked)
        role.tame = role.tame and _all_tame(allowed)
        role.naming = role.naming or int in kinds
        role.holding = role.holding or (is_array(allowed) and any(map(_holds_integer, allowed)))


def _all_tame(value: Any) -> bool:
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, (dict, list)):
            todo += each.values() if isinstance(each, dict) else each
        elif isinstance(each, (int, float)) and not isinstance(each, bool) and not is_tame(each):
            return False
    return True


def _holds_integer(value: Any) -> bool:
    """Whether an integer is inside an object or an array."""
    todo = [value]
    for each in todo:  # which grows on the way
        inside: list[Any] = [*each.values()] if is_object(each) else each if is_array(each) else []
        if int in map(type, inside):
            return True
        todo += inside
    return False


def _compounds(value: Any) -> int:
    """How many values the objects and arrays among those of an `enum` or `const` hold: each may be compared."""
    count, todo = 0, [value]
    while todo:
        each = todo.pop()
        if isinstance(each, (dict, list)):
            todo += each.values() if isinstance(each, dict) else each
            count += 1
    return max(count - 1, 0)
