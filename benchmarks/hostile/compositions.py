"""Compositions: alternatives in alternatives, conditions, and what looks at a value once more."""

from __future__ import annotations

from functools import partial
from typing import Final

from benchmarks.hostile._case import Case, Group, Json, holding, nested, objects, whole

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
