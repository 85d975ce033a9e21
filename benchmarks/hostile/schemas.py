"""Schemas by their size, and what is no schema; and all else that a tool's definition can hold."""

from __future__ import annotations

from functools import partial
from typing import Final

from benchmarks.hostile._case import DRAFT_4, Case, Group, Json, lists, nested, objects

SIZES: Final = Group("schema size")
SIZES.schemas(
    {
        "4,900 $defs that nothing uses": lambda: {"$defs": {f"d{i}": {"type": "object"} for i in range(4_900)}},
        "100 levels of properties": lambda: nested(99, {"type": "object"}, lambda inner: {"properties": {"a": inner}}),
        "201 levels": lambda: nested(201, {"type": "object"}, lambda inner: {"not": inner}),
        "20,000 levels": lambda: nested(20_000, {}, lambda inner: {"not": inner}),
        "100,000 levels": lambda: nested(100_000, {}, lambda inner: {"properties": {"a": inner}}),
        "100,000 levels in default": lambda: {"default": lists(100_000)},
        "a name of 1 MB": lambda: {"properties": {"a" * 1_000_000: {}}},
        "a required name of 250 KB": lambda: {"required": ["a" * 250_000]},
        "a description of 10 MB": lambda: {"description": "a" * 10_000_000},
        "30,000 unknown keywords": lambda: {f"k{i}": i for i in range(30_000)},
        "30,000 unknown keywords, and a fault": lambda: {**{f"k{i}": i for i in range(20_000)}, "minProperties": 1},
        "60,000 numbers as examples": lambda: {"examples": list(range(60_000))},
        "references in examples": lambda: {"examples": [{"$ref": "http://e/a"}] * 5_000, "type": "object"},
        "10,000 types": lambda: {"type": ["object"] * 10_000},
        "an enum of 5 MB": lambda: {"enum": ["a" * 1_000_000] * 5},
        "a const of 10 MB": lambda: {"const": "a" * 10_000_000},
        "a const of 190 levels": lambda: {"const": lists(190)},
        "a const of 2 ** 60 values, by sharing": lambda: {"const": nested(60, 1, lambda inner: [inner, inner])},
        "2 ** 60 subschemas, by sharing": lambda: nested(60, {}, lambda inner: {"anyOf": [inner, inner]}),
        "14,000 fractions as an enum": lambda: {"enum": [i + 0.5 for i in range(14_000)]},
        "14,000 fractions as an example": lambda: {"examples": [i + 0.1 for i in range(14_000)]},
        "required of 20,000": lambda: {"required": [f"p{i}" for i in range(20_000)]},
        "uniqueItems, minimum and maximum on 90 levels around 20,000 values": lambda: nested(
            90,
            {"enum": list(range(20_000))},
            lambda inner: {"properties": {"a": inner}, "uniqueItems": True, "minimum": 0, "maximum": 5},
        ),
        "not, in not, around 20,000 values": lambda: nested(
            90, {"enum": list(range(20_000))}, lambda inner: {"not": inner}
        ),
    }
)
SIZES.schemas(
    {
        "200,000 properties": lambda: {"properties": {f"p{i}": {} for i in range(200_000)}},
        "200,000 properties of one object": lambda: {
            "properties": {key: {"type": "object"} for key in map(str, range(200000))}
        },
        "10^6 unknown keywords": lambda: {f"k{i}": i for i in range(1_000_000)},
    },
    heavy=True,
)
_NAMED: Final = [{"a": i} for i in range(15_000)]
SIZES.pairs(
    {
        "4,900 properties, no keyword in them": (
            lambda: {"properties": {f"p{i}": {} for i in range(4_900)}},
            lambda: {f"p{i}": i for i in range(4_900)},
        ),
        "4,900 properties, all broken": (
            lambda: {"properties": {f"p{i}": {"type": "string"} for i in range(4_900)}},
            lambda: {f"p{i}": i for i in range(4_900)},
        ),
        "4,900 properties of formats, the last broken": (
            lambda: {"properties": {f"p{i}": {"format": "date"} for i in range(4_900)}},
            lambda: {**{f"p{i}": "2026-01-01" for i in range(4_899)}, "p4899": "x"},
        ),
        "4,900 enums, the last broken": (
            lambda: {"properties": {f"p{i}": {"enum": [i, "a"]} for i in range(4_900)}},
            lambda: {**dict.fromkeys((f"p{i}" for i in range(4_899)), "a"), "p4899": 5},
        ),
        "4,000 properties at the bottom of 90 levels": (
            lambda: nested(
                90,
                {"properties": {f"p{i}": {"type": "null"} for i in range(4_000)}},
                lambda inner: {"properties": {"a": inner}},
            ),
            lambda: objects(90, {"p6": 1}),
        ),
        "4,000 properties inside 18 allOf": (
            lambda: nested(
                18, {"properties": {f"p{i}": {"type": "null"} for i in range(4_000)}}, lambda inner: {"allOf": [inner]}
            ),
            lambda: {"p6": 1},
        ),
        "a const of 15,000 objects": (
            lambda: {"properties": {"x": {"const": _NAMED}}},
            lambda: {"x": [*_NAMED[:-1], {}]},
        ),
        "a const of 15,000 objects, compared 20,000 times": (
            lambda: {"properties": {"x": {"items": {"const": _NAMED}}}},
            lambda: {"x": [[{"a": 1}]] * 20_000},
        ),
        "a const of 15,000 objects, nearly met 20 times": (
            lambda: {"properties": {"x": {"items": {"const": _NAMED}}}},
            lambda: {"x": [[*_NAMED[:-1], {}] for _ in range(13)]},
        ),
        "an enum of 15,000 objects": (
            lambda: {"properties": {"x": {"items": {"enum": _NAMED}}}},
            lambda: {"x": [{"a": -i} for i in range(1_000)]},
        ),
    },
    heavy=True,
)
SIZES.pairs(
    {
        "an enum of 30,000 at the bottom of 90 levels": (
            lambda: nested(
                90,
                {"enum": list(range(30_000)), "properties": {"z": {"type": "null"}}},
                lambda inner: {"properties": {"a": inner}},
            ),
            lambda: objects(90, {"z": 1}),
        ),
        "3,000 members below 60 names of 2.5 KB": (
            lambda: nested(
                60,
                {"properties": {f"p{i}": {"type": "null"} for i in range(3_000)}},
                lambda inner: {"properties": {"a" * 2_500: inner}},
            ),
            lambda: objects(60, {f"p{i}": 1 for i in range(3_000)}, "a" * 2_500),
        ),
        "an enum of 40,000 integers": (
            lambda: {"properties": {"x": {"items": {"enum": list(range(40_000))}}}},
            lambda: {"x": list(range(39_000, 43_000))},
        ),
        "an enum of 15,000 texts and one null": (
            lambda: {"properties": {"x": {"items": {"enum": [None, *(f"value {i}" for i in range(15_000))]}}}},
            lambda: {"x": ["value -1"] * 3_000},
        ),
        "an enum of 250 KB of one text": (
            lambda: {"properties": {"x": {"items": {"enum": ["a" * 250_000]}}}},
            lambda: {"x": ["a" * 250_000] * 30},
        ),
        "a const of 100,000 integers": (
            lambda: {"properties": {"x": {"items": {"const": [1] * 100_000}}}},
            lambda: {"x": [[1] * 299] * 1_000},
        ),
        "required of 20,000, for each of 1,000": (
            lambda: {"properties": {"x": {"items": {"required": [f"p{i}" for i in range(20_000)]}}}},
            lambda: {"x": [{"p0": 1}] * 1_000},
        ),
        "dependentRequired of each other": (
            lambda: {"dependentRequired": {f"p{i}": [f"q{j}" for j in range(200)] for i in range(150)}},
            lambda: {f"p{i}": 1 for i in range(150)},
        ),
        "20,000 unknown keywords, for each of 10,000": (
            lambda: {"properties": {"x": {"items": {**{f"k{i}": i for i in range(20_000)}, "type": "null"}}}},
            lambda: {"x": [1] * 10_000},
        ),
    }
)
SIZES.pairs(
    {
        "4,900 prefixItems": (
            lambda: {"properties": {"x": {"prefixItems": [{"type": "null"}] * 4_900}}},
            lambda: {"x": [1] * 300_000},
        ),
        "4,900 properties, 100,000 others": (
            lambda: {
                "properties": {f"p{i}": {"minimum": i} for i in range(4_900)},
                "additionalProperties": False,
            },
            lambda: {f"q{i}": i for i in range(100_000)},
        ),
        "uniqueItems on each of 90 levels": (
            lambda: {"properties": {"x": nested(90, {}, lambda inner: {"uniqueItems": True, "items": inner})}},
            lambda: {"x": lists(80, list(range(50_000)))},
        ),
    },
    heavy=True,
)


def _knot() -> Json:
    knot: list[Json] = []
    knot.append(knot)
    return {"enum": knot}


ODD: Final = Group("no schema")
_NOTHING: Final[dict[str, Json]] = {
    "a number": 7,
    "an array": [],
    "a boolean": True,
    "a text": "object",
    "null": None,
    "bytes": {"type": b"object"},
    "a set": {"enum": {1}},
    "a tuple": {"enum": (1, 2)},
    "a keyword that is no text": {1: 2},
    "NaN": {"minimum": float("nan")},
    "1e999": {"const": float("1e999")},
    "NaN in an example": {"examples": [float("nan")]},
    "-Infinity in a default": {"default": [{"a": -float("inf")}]},
    "a lone surrogate as a name": {"properties": {"\ud800": {}}},
    "a lone surrogate in an enum": {"enum": ["\udfff"]},
    "a lone surrogate as a pattern": {"pattern": "\ud800"},
    "a lone surrogate as a keyword": {"\udc00": 1},
    "a lone surrogate in $id": {"$id": "http://e/\ud800"},
    "a lone surrogate in $ref": {"$ref": "#/\ud800"},
    "a lone surrogate in a description": {"description": "\ud800"},
    "a type that is none": {"type": "objekt"},
    "a type that is a number": {"type": 7},
    "types that are objects": {"type": [{}]},
    "required that is a text": {"required": "abc"},
    "required of numbers": {"required": [1]},
    "properties that are an array": {"properties": []},
    "a property that is a number": {"properties": {"a": 1}},
    "an enum that is a text": {"enum": "abc"},
    "an empty enum": {"enum": []},
    "an enum of the same": {"enum": [1, 1.0]},
    "items that are an array, in 2020-12": {"items": [{}]},
    "anyOf of nothing": {"anyOf": []},
    "allOf of numbers": {"allOf": [1]},
    "a not that is a text": {"not": "a"},
    "multipleOf 0": {"multipleOf": 0},
    "multipleOf below zero": {"multipleOf": -1},
    "multipleOf 5e-324": {"properties": {"x": {"items": {"multipleOf": 5e-324}}}},
    "multipleOf of 4,000 digits": {"properties": {"x": {"items": {"multipleOf": 10**4000}}}},
    "multipleOf of 100,000 digits": {"properties": {"x": {"items": {"multipleOf": 10**100_000}}}},
    "minimum of 100,000 digits": {"properties": {"x": {"items": {"minimum": 10**100_000}}}},
    "minLength of 100,000 digits": {"properties": {"x": {"items": {"minLength": 10**100_000}}}},
    "maxItems 1e308": {"properties": {"x": {"maxItems": 1e308}}},
    "minItems below zero": {"minItems": -1},
    "minItems 1.5": {"minItems": 1.5},
    "minContains 10^30": {"properties": {"x": {"contains": {}, "minContains": 10**30}}},
    "maxContains below zero": {"contains": {}, "maxContains": -1},
    "uniqueItems that is a number": {"uniqueItems": 1},
    "uniqueItems that is an object": {"uniqueItems": {}},
    "a pattern that is a number": {"pattern": 1},
    "patternProperties that are an array": {"patternProperties": []},
    "patternProperties of nonsense": {"patternProperties": {"([": {}}},
    "a format that is an object": {"format": {}},
    "const null": {"const": None},
    "dependentRequired of numbers": {"dependentRequired": {"a": 1}},
    "dependencies of numbers": {"dependencies": {"a": 1}},
    "exclusiveMinimum true, in 2020-12": {"exclusiveMinimum": True},
    "exclusiveMinimum 1, in draft-04": {"$schema": DRAFT_4, "exclusiveMinimum": 1},
    "additionalItems that are a text": {"additionalItems": "a"},
    "$defs that are an array": {"$defs": []},
    "definitions that are a number": {"definitions": 7},
    "a $comment that is a number": {"$comment": 7},
    "a contentSchema that is a number": {"contentSchema": 7},
    "propertyNames false": {"propertyNames": False},
    "a wrapper round nothing": {"x-fastmcp-wrap-result": True},
    "an array that contains itself": _knot(),
}


def _itself(schema: Json) -> Json:
    return schema


ODD.schemas({name: partial(_itself, schema) for name, schema in _NOTHING.items()}, {"x": [1, "a", 1e300, 10**4000]})

DEFINITIONS: Final = Group("tool")
_RESULT: Final[Json] = {"content": [], "structuredContent": {}}
_NAN: Final = float("nan")


def _tool(**members: Json) -> Case:
    return Case({"name": "t", "outputSchema": {"required": ["a"]}, **members}, _RESULT)


DEFINITIONS.add("a name of 1 MB", lambda: _tool(name="t" * 1_000_000))
DEFINITIONS.add("a name that is a lone surrogate", lambda: _tool(name="\ud800"))
DEFINITIONS.add("a name that is an object", lambda: _tool(name={"a": 1}))
DEFINITIONS.add("no name", lambda: Case({"outputSchema": {}}, _RESULT))
DEFINITIONS.add("a description of 10 MB", lambda: _tool(description="a" * 10_000_000))
DEFINITIONS.add("annotations of 100,000 levels", lambda: _tool(annotations=lists(100_000)))
DEFINITIONS.add("NaN in its annotations", lambda: _tool(annotations={"a": float("nan")}))
DEFINITIONS.add("14,000 fractions in its annotations", lambda: _tool(annotations=[i + 0.1 for i in range(14_000)]))
DEFINITIONS.add(
    "14,000 fractions next to zero in each of its parts",
    lambda: _tool(
        annotations=[i * 1.1e-300 for i in range(14_000)],
        inputSchema={"examples": [i * 1.1e-300 for i in range(14_000)]},
        outputSchema={"examples": [i * 1.1e-300 for i in range(14_000)], "required": ["a"]},
    ),
)


def _properties(count: int) -> Json:
    return {"type": "object", "properties": {f"k{i}": {"enum": ["a", str(i)]} for i in range(count)}}


def _everywhere(part: Json) -> Case:
    return _tool(outputSchema={"default": part}, inputSchema={"default": part}, annotations={"x": part})


for _count in (290_000, 100_000, 16_000):
    DEFINITIONS.add(f"{_count:,} empty objects in each of its parts", partial(_everywhere, [{}] * _count))
DEFINITIONS.add("20,000 objects in objects", lambda: _tool(outputSchema={"default": [{"a": {}}] * 20_000}, _meta=[0.5]))
DEFINITIONS.add("50,000 numbers in each of its parts", partial(_everywhere, list(range(10_000, 60_000))))
DEFINITIONS.add("20,000 names in each of its parts", partial(_everywhere, {f"k{i}": i for i in range(20_000)}))
DEFINITIONS.add("900 members that end in NaN", lambda: _tool(**{f"m{i}": [{}] * 3_000 + [_NAN] for i in range(900)}))
DEFINITIONS.add(
    "4,900 properties in both schemas",
    lambda: Case({"name": "t", "inputSchema": _properties(4_900), "outputSchema": _properties(4_900)}, _RESULT),
    heavy=True,
)
DEFINITIONS.add(
    "4,900 properties in both schemas, a description of 250 KB, annotations",
    lambda: _tool(
        inputSchema={**_properties(4_900), "default": 0.5},
        outputSchema=_properties(4_900),
        description="\u00e9" * 250_000,
        annotations={"x": [[i, "\u20ac"] for i in range(60_000)]},
    ),
    heavy=True,
)
DEFINITIONS.add("members that are no text", lambda: Case({"name": "t", 1: 2, None: 3, "outputSchema": {}}, _RESULT))
DEFINITIONS.add("10^6 members", lambda: _tool(**{f"m{i}": i for i in range(1_000_000)}), heavy=True)
DEFINITIONS.add("1,000 members of 250 KB", lambda: _tool(**{f"m{i}": ["a" * 250_000] for i in range(1_000)}))
