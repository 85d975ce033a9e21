"""Structured content: deep, wide, long, of numbers and texts that are none; and faults that are hard to find."""

from __future__ import annotations

from functools import partial
from typing import Final

from benchmarks.hostile._case import Case, Group, Json, holding, lists, nested, objects, whole

VALUES: Final = Group("value")
NODE: Final = {"$ref": "#/$defs/n"}
TREE: Final = {
    **NODE,
    "$defs": {"n": {"type": ["object", "array", "integer"], "properties": {"a": NODE}, "items": NODE}},
}
ROW: Final = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["id"],
}


def rows(count: int, last: Json) -> Json:
    """So many rows, and one more."""
    return [{"id": i, "name": f"row {i}"} for i in range(count)] + [{"id": last}]


def _arrays(levels: int) -> Case:
    return holding(TREE, lists(levels - 1))


def _objects(levels: int, inner: Json) -> Case:
    return whole(TREE, objects(levels, inner))


def _unjudged(levels: int) -> Case:
    return Case({"name": "t"}, {"content": [], "structuredContent": objects(levels)})


for _levels in (199, 200, 201, 20_000, 100_000):
    VALUES.add(f"arrays, {_levels:,} levels", partial(_arrays, _levels))
    VALUES.add(f"objects, {_levels:,} levels", partial(_objects, _levels, 1))
    VALUES.add(f"objects, {_levels:,} levels, the innermost wrong", partial(_objects, _levels, "x"))
    VALUES.add(f"{_levels:,} levels, and no schema", partial(_unjudged, _levels))


def _members(count: int) -> Json:
    return {str(i): i for i in range(count)}


_INTEGERS: Final = {"additionalProperties": {"type": "integer"}}
VALUES.pairs(
    {
        "10^6 members": (lambda: _INTEGERS, lambda: _members(1_000_000)),
        "390,000 members": (lambda: _INTEGERS, lambda: _members(390_000)),
        "390,000 members, none allowed": (lambda: {"additionalProperties": False}, lambda: _members(390_000)),
        "390,000 members, the last wrong": (lambda: _INTEGERS, lambda: {**_members(390_000), "z": "x"}),
        "100,000 names": (lambda: {"propertyNames": {"maxLength": 4}}, lambda: _members(100_000)),
        "100,000 names, the last wrong": (
            lambda: {"propertyNames": {"maxLength": 9}},
            lambda: {**_members(100_000), "n" * 20: 1},
        ),
        "a name of 1 MB": (lambda: {"additionalProperties": False}, lambda: {"a" * 1_000_000: 1}),
        "a name of 1 MB, wrong below": (lambda: _INTEGERS, lambda: {"a" * 1_000_000: "x"}),
        "190 names of 40 KB in each other": (
            lambda: {**NODE, "$defs": {"n": {"type": "object", "additionalProperties": NODE}}},
            lambda: objects(190, 1, "a" * 40_000),
        ),
        "40 wrong below 190 names of 30 KB": (
            lambda: {**NODE, "$defs": {"n": {"type": "object", "additionalProperties": NODE}}},
            lambda: objects(190, {f"b{i}": 1 for i in range(40)}, "a" * 30_000),
        ),
    },
    heavy=True,
)


def _knot() -> Json:
    knot: list[Json] = []
    knot.append(knot)
    return knot


def _forests(count: int) -> Json:
    """All arrays of arrays of nothing with so many brackets: to a hash of the leaves alone, all are the same."""
    found: list[list[Json]] = [[[]]]
    for size in range(1, count + 1):
        found.append(
            [[inner, *rest] for first in range(size) for inner in found[first] for rest in found[size - 1 - first]]
        )
    return found[count]


VALUES.members(
    {
        "10^6 elements": ({"items": {"type": "integer"}}, lambda: [1] * 1_000_000),
        "390,000 empty objects": ({"items": {"type": "object"}}, lambda: [{} for _ in range(390_000)]),
        "390,000 empty arrays, all wrong": ({"items": {"type": "object"}}, lambda: [[] for _ in range(390_000)]),
        "150,000 times one object": ({"items": ROW}, lambda: [{"id": 1}] * 150_000 + [{"id": "x"}]),
        "uniqueItems over 300,000 integers": ({"uniqueItems": True}, lambda: list(range(300_000))),
        "uniqueItems over 300,000 integers that are 600 doubles": (
            {"uniqueItems": True},
            lambda: [2**62 + i for i in range(300_000)],
        ),
        "uniqueItems over 20,000 forests": ({"uniqueItems": True}, lambda: [[each, 1] for each in _forests(10)]),
        "300,000 floats against a fraction": (
            {"items": {"minimum": 0.5}},
            lambda: [i + 0.5 for i in range(300_000)],
        ),
        "300,000 prices": ({"items": {"multipleOf": 0.01}}, lambda: [i / 100 for i in range(300_000)]),
        "text of 5 MB": ({"type": "string", "maxLength": 10}, lambda: "a" * 5_000_000),
        "text of 5 MB beyond ASCII": ({"minLength": 6_000_000}, lambda: "😀" * 5_000_000),
        "text of 50 MB": ({"type": "string"}, lambda: "a" * 50_000_000),
        "an integer of 10^7 digits": ({"type": "integer"}, lambda: 1 << 33_000_000),
    },
    heavy=True,
)
_LONG: Final = 10**4000
VALUES.members(
    {
        "an array 2 ** 60 times, by sharing": ({}, lambda: nested(60, 1, lambda inner: [inner, inner])),
        "an array that contains itself": (TREE, _knot),
        "an integer of 100,000 digits": ({"type": "integer"}, lambda: 10**100_000),
        "integers of 4,300 digits": (
            {"items": {"type": "integer", "minimum": 0, "maximum": 10**4200}},
            lambda: [10**4299] * 1_800,
        ),
        "integers of 4,300 digits against 50 fractions": (
            {"items": {"allOf": [{"minimum": i + 0.5} for i in range(50)]}},
            lambda: [10**4299 + i for i in range(1_000)],
        ),
        "integers of 4,300 digits, multiples of 7": (
            {"items": {"multipleOf": 7}},
            lambda: [10**4299 + i for i in range(1_800)],
        ),
        "integers of 4,300 digits, multiples of 0.01": (
            {"items": {"multipleOf": 0.01}},
            lambda: [10**4299 + i for i in range(1_800)],
        ),
        "integers of 4,300 digits, multiples of half as many": (
            {"items": {"multipleOf": 10**2150 + 1}},
            lambda: [(10**2150 + 1) * (10**2149 + i) for i in range(1_800)],
        ),
        "integers of 4,300 digits, a const": (
            {"items": {"const": _LONG}},
            lambda: [10**4299 + i for i in range(1_800)],
        ),
        "integers of 4,000 digits, an enum": (
            {"items": {"enum": [_LONG + i for i in range(50)]}},
            lambda: [_LONG + i for i in range(1_000)],
        ),
        "integers of 300 digits, unique": ({"uniqueItems": True}, lambda: [10**299 + i for i in range(20_000)]),
        "integers of 65 bits, unique": ({"uniqueItems": True}, lambda: [2**65 + i for i in range(30_000)]),
        "integers of 65 bits in objects, unique": (
            {"uniqueItems": True},
            lambda: [{"id": 2**65 + i} for i in range(2_000)],
        ),
        "integers that Python hashes alike, unique": (
            {"uniqueItems": True},
            lambda: [(2**61 - 1) * i for i in range(20_000)],
        ),
        "floats far from zero, multiples of 0.01": (
            {"items": {"multipleOf": 0.01}},
            lambda: [1e300 + i * 1e290 for i in range(80_000)],
        ),
        "floats far from zero, multiples of 1e-300": (
            {"items": {"multipleOf": 1e-300}},
            lambda: [1e300 + i * 1e290 for i in range(80_000)],
        ),
        "floats next to zero, against a bound": ({"items": {"maximum": 1e-300}}, lambda: [1e-301] * 100_000),
        "an enum of floats": (
            {"items": {"enum": [i + 0.5 for i in range(2_000)]}},
            lambda: [i + 0.5 for i in range(30_000)],
        ),
        "-0.0, 1e-400 and 5e-324": (
            {"items": {"multipleOf": 0.1, "exclusiveMinimum": 0}},
            lambda: [-0.0, float("1e-400"), 5e-324],
        ),
        "uniqueItems over 6,000 objects": ({"uniqueItems": True}, lambda: [{"id": i} for i in range(6_000)]),
        "uniqueItems over 20,000 objects": ({"uniqueItems": True}, lambda: [{"id": i} for i in range(20_000)]),
        "uniqueItems over 20,000 objects, one twice": (
            {"uniqueItems": True},
            lambda: [{"id": i} for i in range(20_000)] + [{"id": 19_999}],
        ),
        "uniqueItems over 20,000 arrays of this and that": (
            {"uniqueItems": True},
            lambda: [[i, str(i), {"a": [None, i]}] for i in range(20_000)],
        ),
        "uniqueItems over 2,000 texts of 3 KB": (
            {"uniqueItems": True},
            lambda: ["a" * 3_000 + str(i) for i in range(2_000)],
        ),
        "uniqueItems over arrays and what is in them": (
            {"uniqueItems": True, "items": {"uniqueItems": True}},
            lambda: [list(range(i, i + 100)) for i in range(3_000)],
        ),
    }
)
_FOREIGN: Final[dict[str, Json]] = {
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "1e999": float("1e999"),
    "a lone surrogate": "\ud800",
    "a lone surrogate after 4 MB": "é" * 4_000_000 + "\udfff",
    "bytes": b"a",
    "a set": {1},
    "a tuple": (1, 2),
    "an object of Python": object(),
    "a function": len,
    "a complex number": 1j,
}


def _beside(value: Json) -> Case:
    block = {"type": "text", "text": "a", "_meta": {"b": value}}
    return Case(
        {"name": "t", "outputSchema": {}}, {"content": [block], "structuredContent": {}, "_meta": {"a": [value]}}
    )


for _name, _value in _FOREIGN.items():
    VALUES.add(f"{_name}, deep down", partial(_objects, 150, [{"b": _value}]))
    VALUES.add(f"{_name}, where no schema is about", partial(_beside, _value))
VALUES.add("a lone surrogate as a name", lambda: whole({}, {"a": [{"\ud800": 1}]}))
VALUES.add("names that are no text", lambda: whole({}, {1: 2, None: 3, ("a",): 4}))

FAULTS: Final = Group("fault")
FAULTS.members(
    {
        "the last of 60,000 rows": ({"items": ROW}, lambda: rows(60_000, "x")),
        "all of 60,000 rows": ({"items": ROW}, lambda: [{"id": "x"} for _ in range(60_000)]),
        "100,000 texts, by format, pattern and length": (
            {"items": {"type": "string", "format": "uuid", "pattern": "^[0-9a-f-]{36}$", "minLength": 36}},
            lambda: ["x" * (i % 50) for i in range(100_000)],
        ),
        "one of 100,000 that are contained": (
            {"contains": {"type": "integer"}, "unevaluatedItems": False},
            lambda: [1] * 100_000 + ["x"],
        ),
        "the last of 50,000 rows, by a condition": (
            {
                "items": {
                    "if": {"properties": {"k": {"const": 1}}},
                    "then": {"required": ["a"]},
                    "else": {"required": ["b"]},
                }
            },
            lambda: [{"k": 1, "a": 1} for _ in range(50_000)] + [{"k": 1}],
        ),
    },
    heavy=True,
)
FAULTS.members(
    {
        "the last of rows in rows": (
            {"items": {"items": {"items": {"type": "integer"}}}},
            lambda: [[[1, 2, 3]] * 100 for _ in range(200)] + [[["x"]]],
        ),
        "the last of 10,000 rows, by reference and alternative": (
            {"items": {"$ref": "#/$defs/r"}, "$defs": {"r": {"anyOf": [ROW, {"type": "null"}]}}},
            lambda: rows(10_000, "x"),
        ),
        "100,000 that are contained where 5 may be": (
            {"contains": {"type": "integer"}, "maxContains": 5},
            lambda: [1] * 100_000,
        ),
        "one twice, on the innermost of 80 levels": (
            nested(80, {}, lambda inner: {"uniqueItems": True, "items": inner}),
            lambda: lists(79, [*range(3_000), 0]),
        ),
        "1,000 times none of 2,000 objects": (
            {"items": {"enum": [{"a": i} for i in range(2_000)]}},
            lambda: [{"a": -i} for i in range(1_000)],
        ),
        "3,000 by dependentRequired": (
            {"items": {"dependentRequired": {f"p{i}": [f"q{i}"] for i in range(200)}}},
            lambda: [{f"p{i % 200}": 1} for i in range(3_000)],
        ),
        "none of 299 patterns": (
            {"allOf": [{"pattern": f"^x{{{i}}}y"} for i in range(1, 300)]},
            lambda: "x" * 100_000,
        ),
    }
)
_ALTERNATIVES: Final = {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"a": NODE}}]}
_ENUM: Final = {"enum": [*([{"a": i} for i in range(100)] + [j] for j in range(100)), None]}
FAULTS.pairs(
    {
        "one name of 10,000 that is not evaluated": (
            lambda: {"allOf": [{"patternProperties": {"^k": {}}}], "unevaluatedProperties": False},
            lambda: {**{f"k{i}": i for i in range(10_000)}, "z": 1},
        ),
        "at the bottom, and alternatives on each level": (
            lambda: {**NODE, "$defs": {"n": _ALTERNATIVES}},
            lambda: objects(190, "x"),
        ),
        "at the bottom, and as much beside each level": (
            lambda: {
                **NODE,
                "$defs": {
                    "n": {
                        "type": "object",
                        "properties": {"a": NODE, "b": {"items": {"items": {"type": "integer"}}}},
                    }
                },
            },
            lambda: nested(190, "x", lambda inner: {"b": [[1]] * 100, "a": inner}),
        ),
        "at the bottom, beside an enum that is long to compare": (
            lambda: {
                **NODE,
                "$defs": {"n": {"properties": {"a": NODE, "s": _ENUM, "z": {"type": "null"}}}},
            },
            lambda: objects(190, {"s": [*({"a": i} for i in range(100)), 99], "z": 1}),
        ),
        "1,000 patterns on 1,000 names": (
            lambda: {
                "patternProperties": {f"^p{i}_": {"type": "null"} for i in range(1_000)},
                "additionalProperties": False,
            },
            lambda: {f"p{i}_x": 1 for i in range(1_000)},
        ),
        "everything": (
            lambda: {"patternProperties": {"": False}, "additionalProperties": False, "unevaluatedProperties": False},
            lambda: {f"p{i}": i for i in range(10_000)},
        ),
    }
)
