"""Compositions: alternatives in alternatives, conditions, and what looks at a value once more."""

from __future__ import annotations

from functools import partial
from typing import Final

from benchmarks.hostile._case import DRAFT_2019, Case, Group, Json, holding, nested, objects, whole

COMPOSITIONS: Final = Group("composition")
_NUMBER: Final = {"type": "number"}


def _inline(keyword: str, levels: int, leaf: Json) -> Json:
    """A keyword in itself, so many levels, on each beside one more branch."""
    other = {"type": ["object", "array", "string", "number"] if keyword == "allOf" else "null"}
    return nested(levels, leaf, lambda inner: {keyword: [inner, other]})


def _again(keyword: str, levels: int) -> Json:
    """The same with unevaluatedProperties on each level."""
    more = [] if keyword == "allOf" else [{"type": "null"}]
    leaf = {"properties": {"a": _NUMBER}}
    return nested(levels, leaf, lambda inner: {keyword: [inner, *more], "unevaluatedProperties": False})


def _by_depth(keyword: str) -> Json:
    """Two ways on each level of the value."""
    ways = [{"properties": {"child": {"$ref": "#/$defs/n"}, "leaf": leaf}} for leaf in (_NUMBER, {"type": "boolean"})]
    return {"properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "object", keyword: ways}}}


def _deep(keyword: str, levels: int, value: Json) -> Case:
    return whole(_by_depth(keyword), {"x": objects(levels, {"leaf": value}, "child")})


def _alone(keyword: str, levels: int, value: Json) -> Case:
    return holding(_inline(keyword, levels, _NUMBER), value)


def _unevaluated(keyword: str, *, valid: bool) -> Case:
    schema = {**_inline(keyword, 24, {"properties": {"a": _NUMBER}}), "unevaluatedProperties": False}
    return whole(schema, {"a": 1} if valid else {"a": 1, "b": 1})


def _unevaluated_items(keyword: str, *, valid: bool) -> Case:
    schema = {**_inline(keyword, 24, {"prefixItems": [_NUMBER]}), "unevaluatedItems": False}
    return holding(schema, [1] if valid else [1, 1])


def _unevaluated_each(keyword: str, levels: int, *, valid: bool) -> Case:
    return whole(_again(keyword, levels), {"a": 1 if valid else []})


for _keyword in ("anyOf", "oneOf", "allOf"):
    for _valid in (True, False):
        _what, _value = ("valid", 1) if _valid else ("invalid", [])
        for _levels in (24, 95):
            COMPOSITIONS.add(f"{_levels} {_keyword}, {_what}", partial(_alone, _keyword, _levels, _value))
        for _levels in (24, 190):
            COMPOSITIONS.add(
                f"{_keyword} on each of {_levels} levels of a value, {_what}", partial(_deep, _keyword, _levels, _value)
            )
        for _levels in (6, 24):
            COMPOSITIONS.add(
                f"unevaluatedProperties on each of {_levels} {_keyword}, {_what}",
                partial(_unevaluated_each, _keyword, _levels, valid=_valid),
            )
        COMPOSITIONS.add(
            f"unevaluatedProperties over 24 {_keyword}, {_what}", partial(_unevaluated, _keyword, valid=_valid)
        )
        COMPOSITIONS.add(
            f"unevaluatedItems over 24 {_keyword}, {_what}", partial(_unevaluated_items, _keyword, valid=_valid)
        )

COMPOSITIONS.schemas(
    {
        "14 anyOf of two, written out": lambda: nested(14, {"type": "object"}, lambda inner: {"anyOf": [inner, inner]}),
        "9 anyOf of two, written out": lambda: nested(9, {"type": "array"}, lambda inner: {"anyOf": [inner, inner]}),
        "190 not": lambda: nested(190, {"type": "object"}, lambda inner: {"not": inner}),
        "90 then": lambda: nested(90, {"type": "array"}, lambda inner: {"if": {"type": "object"}, "then": inner}),
        "9 if in if": lambda: nested(
            9, {"type": "array"}, lambda inner: {"if": inner, "then": inner, "else": {"type": "object"}}
        ),
        "900 allOf": lambda: {"allOf": [{"type": "array"}] * 900},
        "9,000 allOf": lambda: {"allOf": [{"type": "object"}] * 9_000},
    }
)
COMPOSITIONS.members(
    {
        "30 alternatives for each of 10,000, all bad": (
            {"items": {"oneOf": [{"required": ["k"], "properties": {"k": {"const": i}}} for i in range(30)]}},
            lambda: [{"k": 100}] * 10_000,
        ),
        "30 alternatives for each of 10,000, the last bad": (
            {"items": {"oneOf": [{"required": ["k"], "properties": {"k": {"const": i}}} for i in range(30)]}},
            lambda: [{"k": 29}] * 10_000 + [{"k": 100}],
        ),
        "100 alternatives for each of 10,000, the last bad": (
            {"items": {"anyOf": [{"properties": {"k": {"const": i}}} for i in range(100)]}},
            lambda: [{"k": 99}] * 10_000 + [{"k": 100}],
        ),
        "not of everything": ({"items": {"not": {"items": {"type": "integer"}}}}, lambda: [[i] for i in range(50_000)]),
        "contains in contains": (
            nested(90, {"type": "null"}, lambda inner: {"contains": inner}),
            lambda: nested(80, [1], lambda inner: [inner, 1]),
        ),
        "contains that no element meets": (
            {"contains": {"anyOf": [{"const": f"c{i}"} for i in range(50)]}},
            lambda: [f"d{i}" for i in range(20_000)],
        ),
    }
)
COMPOSITIONS.members(
    {
        "900 alternatives for each of 300,000": (
            {"items": {"anyOf": [{"const": i} for i in range(900)]}},
            lambda: [-1] * 300_000,
        )
    },
    heavy=True,
)
_TREE: Final = {"$ref": "#/$defs/n"}
_BRANCHES: Final = [{"properties": {name: {"$ref": "#/$defs/n"}}} for name in "ab"]
_UNEVALUATED: Final = {**_TREE, "$defs": {"n": {"anyOf": _BRANCHES, "unevaluatedProperties": False}}}
COMPOSITIONS.pairs(
    {
        "300 conditions": (
            lambda: {
                "allOf": [
                    {"if": {"properties": {f"p{i}": {"const": i}}}, "then": {"required": [f"q{i}"]}} for i in range(300)
                ]
            },
            lambda: {f"p{i}": i for i in range(300)},
        ),
        "900 dependentSchemas": (
            lambda: {"dependentSchemas": {f"p{i}": {"required": [f"q{i}"]} for i in range(900)}},
            lambda: {f"p{i}": i for i in range(900)},
        ),
        "400 anyOf under unevaluatedProperties": (
            lambda: {"anyOf": [{"properties": {f"p{i}": True}} for i in range(400)], "unevaluatedProperties": False},
            lambda: {f"p{i}": i for i in range(400)},
        ),
        "unevaluatedProperties on each level of a value": (lambda: _UNEVALUATED, lambda: objects(190)),
        "unevaluatedProperties on each level of a value, one too many": (
            lambda: _UNEVALUATED,
            lambda: objects(190, {"c": 1}),
        ),
    }
)
COMPOSITIONS.pairs(
    {
        "200 allOf under unevaluatedProperties, 100,000 members": (
            lambda: {"allOf": [{"properties": {f"p{i}": True}} for i in range(200)], "unevaluatedProperties": False},
            lambda: {f"p{i}": i for i in range(100_000)},
        )
    },
    heavy=True,
)


def _branches(count: int) -> list[Json]:
    return [{"properties": {f"p{i}": {}}} for i in range(count)]


def _members(count: int) -> Json:
    return {f"p{i}": 1 for i in range(count)}


def _evaluated(levels: int, keyword: str) -> Json:
    """Each level holds the value against the one below and goes through that again, which does the same."""
    return nested(
        levels,
        {"properties": {"p": {}}, "prefixItems": [{}]},
        lambda inner: {keyword: [inner], "unevaluatedProperties": {"type": "integer"}, "unevaluatedItems": _NUMBER},
    )


_INTEGERS: Final = {"unevaluatedProperties": {"type": "integer"}}
COMPOSITIONS.pairs(
    {
        "480 anyOf under unevaluatedProperties, 300,000 members": (
            lambda: {"anyOf": _branches(480), **_INTEGERS},
            lambda: _members(300_000),
        ),
        "300 anyOf under unevaluatedProperties of 2019-09, 300,000 members": (
            lambda: {"$schema": DRAFT_2019, "anyOf": _branches(300), **_INTEGERS},
            lambda: _members(300_000),
        ),
        "300 dependentSchemas under unevaluatedProperties, 300,000 members": (
            lambda: {"dependentSchemas": {f"p{i}": each for i, each in enumerate(_branches(300))}, **_INTEGERS},
            lambda: _members(300_000),
        ),
        "100 conditions under unevaluatedProperties, 200,000 members": (
            lambda: {"allOf": [{"if": each, "then": each} for each in _branches(100)], **_INTEGERS},
            lambda: _members(200_000),
        ),
        "100 patternProperties under unevaluatedProperties, 100,000 members": (
            lambda: {"patternProperties": {f"^z{i}": {} for i in range(100)}, **_INTEGERS},
            lambda: _members(100_000),
        ),
        "60 anyOf of references under unevaluatedProperties, 10,800 rows": (
            lambda: {
                "properties": {"x": {"items": {"anyOf": [{"$ref": f"#/$defs/b{i}"} for i in range(60)], **_INTEGERS}}},
                "$defs": {f"b{i}": each for i, each in enumerate(_branches(60))},
            },
            lambda: {"x": [_members(30) for _ in range(10_800)]},
        ),
        "20 contains under unevaluatedItems, 100,000 elements": (
            lambda: {
                "properties": {
                    "x": {"anyOf": [{"contains": {"minimum": i}} for i in range(20)], "unevaluatedItems": {}}
                }
            },
            lambda: {"x": [1] * 100_000},
        ),
        "a tuple in each of 70 branches, in arrays in arrays": (
            lambda: {
                "properties": {"x": {"$ref": "#/$defs/n"}},
                "$defs": {
                    "n": {
                        "anyOf": [
                            {"anyOf": [{"prefixItems": [{}] * i} for i in range(1, 70)], "unevaluatedItems": False},
                            {"multipleOf": 0.01},
                            {"type": "array", "items": {"$ref": "#/$defs/n"}},
                        ]
                    }
                },
            },
            lambda: {"x": nested(150, [1.5] * 20, lambda inner: [inner, *[[1] * 30] * 20])},
        ),
    },
    heavy=True,
)
for _keyword in ("anyOf", "oneOf", "allOf"):
    for _levels, _size in ((2, 150_000), (4, 80_000), (6, 25_000), (8, 5_000)):
        COMPOSITIONS.pairs(
            {
                f"unevaluatedProperties on each of {_levels} {_keyword}, {_size:,} members": (
                    partial(_evaluated, _levels, _keyword),
                    partial(_members, _size),
                )
            },
            heavy=True,
        )
