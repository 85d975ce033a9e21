"""Schemas: references, compositions, sizes, and what is no schema at all."""

from __future__ import annotations

from typing import Final

from hostile._case import Case, Group, Json, holding, lists, nested, objects, whole

REFERENCES: Final = Group("reference")
NUMBER: Final = {"type": "number"}


def fan(levels: int, keyword: str = "allOf", width: int = 2, leaf: Json = None) -> Json:
    """`width` ** `levels` subschemas out of a few lines, by references."""
    definitions = {f"d{i}": {keyword: [{"$ref": f"#/$defs/d{i + 1}"}] * width} for i in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": leaf or {"type": "object"}}}


def anchored(levels: int) -> Json:
    """The same by anchors."""
    definitions = {f"d{i}": {"$anchor": f"a{i}", "allOf": [{"$ref": f"#a{i + 1}"}] * 2} for i in range(levels)}
    return {"$ref": "#a0", "$defs": {**definitions, "end": {"$anchor": f"a{levels}"}}}


def dynamic(levels: int) -> Json:
    """The same by dynamic anchors."""
    definitions = {
        f"d{i}": {"$dynamicAnchor": f"a{i}", "anyOf": [{"$dynamicRef": f"#a{i + 1}"}] * 2} for i in range(levels)
    }
    return {"$dynamicRef": "#a0", "$defs": {**definitions, "end": {"$dynamicAnchor": f"a{levels}"}}}


def identified(levels: int) -> Json:
    """The same by identifiers inside."""
    definitions = {
        f"d{i}": {"$id": f"http://e/d{i}", "oneOf": [{"$ref": f"d{i + 1}"}, {"$ref": f"http://e/d{i + 1}"}]}
        for i in range(levels)
    }
    return {"$id": "http://e/", "$ref": "d0", "$defs": {**definitions, "end": {"$id": f"d{levels}"}}}


def by_properties(levels: int) -> Json:
    """The same by members."""
    definitions = {
        f"d{i}": {"properties": {"a": {"$ref": f"#/definitions/d{i + 1}"}, "b": {"$ref": f"#/definitions/d{i + 1}"}}}
        for i in range(levels)
    }
    return {"$ref": "#/definitions/d0", "definitions": {**definitions, f"d{levels}": {"type": "object"}}}


def recursive(levels: int) -> Json:
    """2019-09's own way."""
    return {
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$recursiveAnchor": True,
        "properties": {"a": nested(levels, {"$recursiveRef": "#"}, lambda inner: {"anyOf": [inner, inner]})},
    }


REFERENCES.schema("2 ** 30 by pointers", lambda: fan(30))
REFERENCES.schema("2 ** 30 by pointers under anyOf", lambda: fan(30, "anyOf"))
REFERENCES.schema("3 ** 30 under oneOf", lambda: fan(30, "oneOf", 3))
REFERENCES.schema("2 ** 30 by anchors", lambda: anchored(30))
REFERENCES.schema("2 ** 30 by dynamic anchors", lambda: dynamic(30))
REFERENCES.schema("2 ** 30 by identifiers", lambda: identified(30))
REFERENCES.schema("2 ** 30 by members", lambda: by_properties(30), objects(31))
REFERENCES.schema("2 ** 10 by members", lambda: by_properties(10), objects(31))
REFERENCES.schema("2 ** 12 recursively", lambda: recursive(12), objects(100))
REFERENCES.schema("2 ** 8 recursively", lambda: recursive(8), objects(190))
REFERENCES.schema("2 ** 30 in $defs that nothing uses", lambda: {"$defs": {"unused": fan(30)}})
REFERENCES.schema("to itself", lambda: {"$ref": "#"})
REFERENCES.schema("to itself, empty", lambda: {"$ref": ""})
REFERENCES.schema("to each other", lambda: {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}})
REFERENCES.schema("not of itself", lambda: {"not": {"$ref": "#"}})
REFERENCES.schema("not of itself in a member", lambda: {"properties": {"a": {"not": {"$ref": "#"}}}}, objects(199))
REFERENCES.schema("if of itself", lambda: {"if": {"$ref": "#"}, "then": False, "else": False})
REFERENCES.schema("anyOf of itself", lambda: {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]})
REFERENCES.schema("dependentSchemas of itself", lambda: {"dependentSchemas": {"a": {"$ref": "#"}}}, {"a": 1})
REFERENCES.schema("propertyNames of itself", lambda: {"propertyNames": {"$ref": "#"}}, {"a": 1})
REFERENCES.schema("contains of itself", lambda: {"type": "object", "properties": {"a": {"contains": {"$ref": "#/properties/a"}}}}, {"a": lists(199)})
REFERENCES.schema("unevaluated of itself", lambda: {"unevaluatedProperties": {"$ref": "#"}}, objects(199))
REFERENCES.schema("a dynamic anchor to itself", lambda: {"$dynamicAnchor": "a", "$dynamicRef": "#a"})
REFERENCES.schema("an identifier that is itself", lambda: {"$id": "http://e/a", "$ref": "http://e/a"})
REFERENCES.schema("identifiers in a circle", lambda: {"$ref": "http://e/a", "$defs": {"a": {"$id": "http://e/a", "$ref": "b"}, "b": {"$id": "http://e/b", "$ref": "a"}}})
REFERENCES.schema("a recursive reference to itself", lambda: {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor": True, "$recursiveRef": "#"})
REFERENCES.schema("1,000 identifiers that are all the same", lambda: {"$defs": {f"d{i}": {"$id": "http://e/x", "type": "object"} for i in range(1_000)}, "$ref": "http://e/x"})
REFERENCES.schema("2,000 identifiers, and anchors in each", lambda: {"$defs": {f"d{i}": {"$id": f"http://e/{i}", "$anchor": "a"} for i in range(2_000)}, "allOf": [{"$ref": f"http://e/{i}#a"} for i in range(900)]})
REFERENCES.schema("190 identifiers in each other", lambda: nested(90, {"$ref": "#"}, lambda inner: {"$id": "a/", "properties": {"a": inner}}), objects(90))
REFERENCES.schema("identifiers of 3 KB in each other", lambda: nested(90, {}, lambda inner: {"$id": "a/" * 1_500, "properties": {"a": inner}}), objects(90))
REFERENCES.schema("a chain of 5,000", lambda: {"$ref": "#/$defs/d0", "$defs": {**{f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(5_000)}, "d5000": {}}})
REFERENCES.schema("a chain of 190", lambda: {"$ref": "#/$defs/d0", "$defs": {**{f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(190)}, "d190": {}}})
REFERENCES.schema("2,000 dynamic references to 2,000 anchors", lambda: {"$defs": {f"d{i}": {"$id": f"http://e/{i}", "$dynamicAnchor": "a", "properties": {"p": {"$dynamicRef": "#a"}}} for i in range(2_000)}, "$ref": "http://e/0"}, objects(100, name="p"))
REFERENCES.schema("100 dynamic references to 100 anchors", lambda: {"$defs": {f"d{i}": {"$id": f"http://e/{i}", "$dynamicAnchor": "a", "properties": {"p": {"$dynamicRef": "#a"}}} for i in range(100)}, "$ref": "http://e/0"}, objects(100, name="p"))
REFERENCES.schema("a long pointer", lambda: {"$ref": "#/" + "a/" * 100_000})
REFERENCES.schema("a pointer of escapes", lambda: {"$ref": "#/$defs/" + "~1~0%7E" * 30_000, "$defs": {"/~~" * 30_000: {}}})
REFERENCES.schema("a pointer to a deep place", lambda: {"properties": nested(90, {"type": "object"}, lambda inner: {"a": {"properties": inner}})["a"] if False else {"a": nested(90, {"type": "object"}, lambda inner: {"properties": {"a": inner}})}, "allOf": [{"$ref": "#" + "/properties/a" * 80}] * 500})
REFERENCES.schema("2,000 long pointers", lambda: {"$defs": {"a" * 1_000: {}}, "allOf": [{"$ref": "#/$defs/" + "a" * 1_000}] * 250})
REFERENCES.schema("into const", lambda: {"const": {"a": {"type": "object"}}, "allOf": [{"$ref": "#/const/a"}]}, {"a": {"type": "object"}})
REFERENCES.schema("into an enum that is a schema with a circle", lambda: {"enum": [{"$ref": "#/enum/0"}], "allOf": [{"$ref": "#/enum/0"}]})
REFERENCES.schema("to an unknown keyword", lambda: {"x": {"y": {"$ref": "#/x/y"}}, "$ref": "#/x/y"})
for _uri in ("http://169.254.169.254/latest", "file:///etc/passwd", "https://example.org/s", "//e/a", "data:application/json,{}", "urn:x:y", "\\\\server\\share", "#%zz", "#/%ff", "http://[", "\0", "a" * 250_000, "https://json-schema.org/draft/2020-12/schema#/$defs/nothing", "https://json-schema.org/draft/2020-12/nothing", "#\u202e", "é"):
    REFERENCES.schema(f"to {_uri[:40]!a}", lambda _u=_uri: {"$ref": _u})
for _kind, _thing in {"a number": 7, "an array": [], "an object": {}, "null": None, "text with a line end": "a\n", "1 MB": "a" * 200_000, "a fragment": "#a", "half a pointer": "#/a", "a bad host": "http://["}.items():
    for _keyword in ("$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$schema", "$vocabulary", "id"):
        REFERENCES.schema(f"{_kind} as {_keyword}", lambda _k=_keyword, _t=_thing: {_k: _t, "properties": {"a": {_k: _t}}, "$defs": {"b": {_k: _t}}})
for _schema in ("http://json-schema.org/draft-07/schema#/definitions/a", "http://json-schema.org/draft-05/schema", "http://json-schema.org/schema#", "file:///etc/passwd", "https://example.org/mine", "", "#", "http://json-schema.org/draft-04/schema" + "#" * 1_000, " http://json-schema.org/draft-07/schema#", "HTTP://JSON-SCHEMA.ORG/draft-07/schema#"):
    REFERENCES.schema(f"$schema {_schema[:50]!r}", lambda _s=_schema: {"$schema": _s, "type": "object"})
REFERENCES.schema("another dialect in each part", lambda: {"properties": {f"p{i}": {"$id": f"http://e/{i}", "$schema": f"http://json-schema.org/draft-0{(4, 6, 7)[i % 3]}/schema#", "type": "object"} for i in range(1_000)}}, {"p1": 1})
REFERENCES.schema("the metaschema, and a large schema", lambda: {"properties": {"x": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}}, {"x": {"properties": {f"p{i}": {"type": "strin", "pattern": "("} for i in range(20_000)}}})
REFERENCES.schema("the metaschema, and a deep schema", lambda: {"properties": {"x": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}}, {"x": nested(98, {"type": 1}, lambda inner: {"allOf": [inner]})})
REFERENCES.schema("the metaschema of 2019-09, and a deep schema", lambda: {"properties": {"x": {"$ref": "https://json-schema.org/draft/2019-09/schema"}}}, {"x": nested(190, {"type": 1}, lambda inner: {"not": inner})})
REFERENCES.schema("metaschemas of all dialects", lambda: {"anyOf": [{"$ref": f"http://json-schema.org/draft-0{i}/schema#"} for i in (4, 6, 7)] + [{"$ref": "https://json-schema.org/draft/2019-09/schema"}, {"$ref": "https://json-schema.org/draft/2020-12/schema"}]}, nested(150, {"type": 1}, lambda inner: {"not": inner}))
REFERENCES.schema("100 times the metaschema", lambda: {"allOf": [{"$ref": "https://json-schema.org/draft/2020-12/schema"}] * 100}, {"properties": {f"p{i}": {"type": "string"} for i in range(500)}})

COMPOSITIONS: Final = Group("composition")


def inline(keyword: str, levels: int, leaf: Json) -> Json:
    """A keyword in itself, so many levels, beside one alternative that fits nothing."""
    if keyword == "allOf":
        return nested(levels, leaf, lambda inner: {keyword: [inner, {"type": ["object", "string", "number"]}]})
    return nested(levels, leaf, lambda inner: {keyword: [inner, {"type": "null"}]})


def shared(keyword: str, levels: int, leaf: Json) -> Json:
    """A recursive node whose alternatives all go on: as deep as the value, two ways each level."""
    node = {
        "type": "object",
        keyword: [
            {"properties": {"child": {"$ref": "#/$defs/n"}, "leaf": leaf}},
            {"properties": {"child": {"$ref": "#/$defs/n"}, "leaf": {"type": "boolean"}}},
        ],
    }
    return {"properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": node}}


for _keyword in ("anyOf", "oneOf", "allOf"):
    for _fit, _value in (("valid", 1), ("invalid", [])):
        COMPOSITIONS.add(f"24 {_keyword} nested, {_fit}", lambda _k=_keyword, _v=_value: holding(inline(_k, 24, NUMBER), _v))
        COMPOSITIONS.add(f"95 {_keyword} nested, {_fit}", lambda _k=_keyword, _v=_value: holding(inline(_k, 95, NUMBER), _v))
        COMPOSITIONS.add(
            f"24 {_keyword} by the depth of the value, {_fit}",
            lambda _k=_keyword, _v=_value: whole(shared(_k, 24, NUMBER), {"x": objects(24, {"leaf": _v}, "child")}),
        )
        COMPOSITIONS.add(
            f"190 {_keyword} by the depth of the value, {_fit}",
            lambda _k=_keyword, _v=_value: whole(shared(_k, 190, NUMBER), {"x": objects(190, {"leaf": _v}, "child")}),
        )
        COMPOSITIONS.add(
            f"unevaluatedProperties over 24 {_keyword}, {_fit}",
            lambda _k=_keyword, _v=_value: whole(
                {**inline(_k, 24, {"properties": {"a": NUMBER}}), "unevaluatedProperties": False}, {"a": _v or "x", **({} if _v else {"b": 1})}
            ),
        )
        COMPOSITIONS.add(
            f"unevaluatedProperties on each of 24 {_keyword}, {_fit}",
            lambda _k=_keyword, _v=_value: whole(
                nested(24, {"properties": {"a": NUMBER}}, lambda inner: {_k: [inner, {"type": "null"}] if _k != "allOf" else [inner], "unevaluatedProperties": False}), {"a": _v}
            ),
        )
        COMPOSITIONS.add(
            f"unevaluatedProperties on each of 6 {_keyword}, {_fit}",
            lambda _k=_keyword, _v=_value: whole(
                nested(6, {"properties": {"a": NUMBER}}, lambda inner: {_k: [inner, {"type": "null"}] if _k != "allOf" else [inner], "unevaluatedProperties": False}), {"a": _v}
            ),
        )
        COMPOSITIONS.add(
            f"unevaluatedItems over 24 {_keyword}, {_fit}",
            lambda _k=_keyword, _v=_value: holding(
                {**inline(_k, 24, {"prefixItems": [NUMBER]}), "unevaluatedItems": False}, [_v or "x", *([] if _v else [1])]
            ),
        )
COMPOSITIONS.schema("16 anyOf of two, written out", lambda: nested(14, {"type": "object"}, lambda inner: {"anyOf": [inner, inner]}))
COMPOSITIONS.schema("9 anyOf of two, written out", lambda: nested(9, {"type": "array"}, lambda inner: {"anyOf": [inner, inner]}))
COMPOSITIONS.schema("190 not", lambda: nested(190, {"type": "object"}, lambda inner: {"not": inner}))
COMPOSITIONS.schema("90 if, then, else", lambda: nested(90, {"type": "array"}, lambda inner: {"if": {"type": "object"}, "then": inner, "else": inner} if False else {"if": {"type": "object"}, "then": inner}))
COMPOSITIONS.schema("9 if in if", lambda: nested(9, {"type": "array"}, lambda inner: {"if": inner, "then": inner, "else": {"type": "object"}}))
COMPOSITIONS.holding("900 alternatives for each of 300,000", {"items": {"anyOf": [{"const": i} for i in range(900)]}}, lambda: [-1] * 300_000)
COMPOSITIONS.holding("100 alternatives for each of 10,000, the last bad", {"items": {"anyOf": [{"type": "object", "properties": {"k": {"const": i}}} for i in range(100)]}}, lambda: [{"k": 99}] * 10_000 + [{"k": 100}])
COMPOSITIONS.holding("30 alternatives for each of 10,000, the last bad", {"items": {"oneOf": [{"required": ["k"], "properties": {"k": {"const": i}}} for i in range(30)]}}, lambda: [{"k": 29}] * 10_000 + [{"k": 100}])
COMPOSITIONS.holding("30 alternatives for each of 10,000, all bad", {"items": {"oneOf": [{"required": ["k"], "properties": {"k": {"const": i}}} for i in range(30)]}}, lambda: [{"k": 100}] * 10_000)
COMPOSITIONS.holding("not of everything", {"items": {"not": {"items": {"type": "integer"}}}}, lambda: [[i] for i in range(50_000)])
COMPOSITIONS.schema("900 conditions", lambda: {"allOf": [{"if": {"properties": {f"p{i}": {"const": i}}}, "then": {"required": [f"q{i}"]}} for i in range(300)]}, {f"p{i}": i for i in range(300)})
COMPOSITIONS.schema("900 dependentSchemas", lambda: {"dependentSchemas": {f"p{i}": {"required": [f"q{i}"]} for i in range(900)}}, {f"p{i}": i for i in range(900)})
COMPOSITIONS.schema("200 allOf under unevaluatedProperties, 100,000 members", lambda: {"allOf": [{"properties": {f"p{i}": True}} for i in range(200)], "unevaluatedProperties": False}, {f"p{i}": i for i in range(100_000)})
COMPOSITIONS.schema("400 anyOf under unevaluatedProperties, all fit", lambda: {"anyOf": [{"properties": {f"p{i}": True}} for i in range(400)], "unevaluatedProperties": False}, {f"p{i}": i for i in range(400)})
COMPOSITIONS.schema("unevaluatedProperties in each level of a recursive schema", lambda: {"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [{"properties": {"a": {"$ref": "#/$defs/n"}}}, {"properties": {"b": {"$ref": "#/$defs/n"}}}], "unevaluatedProperties": False}}}, objects(190))
COMPOSITIONS.schema("unevaluatedProperties in each level, and one too many at the bottom", lambda: {"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [{"properties": {"a": {"$ref": "#/$defs/n"}}}, {"properties": {"b": {"$ref": "#/$defs/n"}}}], "unevaluatedProperties": False}}}, objects(190, {"c": 1}))
COMPOSITIONS.holding("contains in contains", nested(90, {"type": "null"}, lambda inner: {"contains": inner}), lambda: nested(80, [1], lambda inner: [inner, inner, inner] if False else [inner, 1]))
COMPOSITIONS.holding("contains that no element meets", {"contains": {"anyOf": [{"const": f"c{i}"} for i in range(50)]}}, lambda: [f"d{i}" for i in range(20_000)])

SIZES: Final = Group("schema size")
SIZES.schema("200,000 properties", lambda: {"properties": {f"p{i}": {} for i in range(200_000)}})
SIZES.schema("200,000 properties, all the same object", lambda: {"properties": dict.fromkeys(map(str, range(200_000)), {"type": "object"})})
SIZES.schema("9,000 properties", lambda: {"properties": {f"p{i}": {} for i in range(9_000)}}, {f"p{i}": i for i in range(9_000)})
SIZES.schema("9,000 properties with a keyword each", lambda: {"properties": {f"p{i}": {"type": "string"} for i in range(9_000)}}, {f"p{i}": i for i in range(9_000)})
SIZES.schema("9,000 properties, none may be more", lambda: {"properties": {f"p{i}": {"minimum": i} for i in range(9_000)}, "additionalProperties": False}, {f"q{i}": i for i in range(100_000)})
SIZES.schema("a const of 20,000 objects", lambda: {"properties": {"x": {"const": [{"a": i} for i in range(20_000)]}}}, {"x": [{"a": i} for i in range(19_999)] + [{}]})
SIZES.schema("a const of 20,000 objects, compared 20,000 times", lambda: {"properties": {"x": {"items": {"const": [{"a": i} for i in range(20_000)]}}}}, {"x": [[{"a": 1}]] * 20_000})
SIZES.schema("a const of 100,000 integers, compared 1,000 times", lambda: {"properties": {"x": {"items": {"const": [1] * 100_000}}}}, {"x": [[1] * 299] * 1_000})
SIZES.schema("an enum of 40,000 integers", lambda: {"properties": {"x": {"items": {"enum": list(range(40_000))}}}}, {"x": list(range(39_000, 43_000))})
SIZES.schema("an enum of 20,000 objects", lambda: {"properties": {"x": {"items": {"enum": [{"a": i} for i in range(20_000)]}}}}, {"x": [{"a": -i} for i in range(1_000)]})
SIZES.schema("an enum of 15,000 texts and one null", lambda: {"properties": {"x": {"items": {"enum": [None, *(f"value {i}" for i in range(15_000))]}}}}, {"x": ["value -1"] * 3_000})
SIZES.schema("an enum of one text of 250 KB", lambda: {"properties": {"x": {"items": {"enum": ["a" * 250_000]}}}}, {"x": ["a" * 250_000] * 30})
SIZES.schema("an enum of 5 MB", lambda: {"enum": ["a" * 1_000_000] * 5})
SIZES.schema("a const of 10 MB", lambda: {"const": "a" * 10_000_000})
SIZES.schema("a const of 100 levels", lambda: {"const": lists(190)})
SIZES.schema("a const that contains itself by sharing, 2 ** 60 times", lambda: {"const": nested(60, 1, lambda inner: [inner, inner])})
SIZES.schema("a schema that contains itself by sharing, 2 ** 60 times", lambda: nested(60, {}, lambda inner: {"anyOf": [inner, inner]}))
SIZES.schema("required of 20,000", lambda: {"required": [f"p{i}" for i in range(20_000)]})
SIZES.schema("required of 20,000 for each of 1,000", lambda: {"properties": {"x": {"items": {"required": [f"p{i}" for i in range(20_000)]}}}}, {"x": [{"p0": 1}] * 1_000})
SIZES.schema("dependentRequired, each of all", lambda: {"dependentRequired": {f"p{i}": [f"q{j}" for j in range(200)] for i in range(150)}}, {f"p{i}": 1 for i in range(150)})
SIZES.schema("9,000 allOf", lambda: {"allOf": [{"type": "object"}] * 9_000})
SIZES.schema("900 allOf", lambda: {"allOf": [{"type": "array"}] * 900})
SIZES.schema("9,000 prefixItems", lambda: {"properties": {"x": {"prefixItems": [{"type": "null"}] * 9_000}}}, {"x": [1] * 300_000})
SIZES.schema("200 levels", lambda: nested(99, {"type": "object"}, lambda inner: {"properties": {"a": inner}}), objects(99))
SIZES.schema("201 levels", lambda: nested(201, {"type": "object"}, lambda inner: {"not": inner}))
SIZES.schema("20,000 levels", lambda: nested(20_000, {}, lambda inner: {"not": inner}))
SIZES.schema("100,000 levels", lambda: nested(100_000, {}, lambda inner: {"properties": {"a": inner}}))
SIZES.schema("100,000 levels in default", lambda: {"default": lists(100_000)})
SIZES.schema("a name of 1 MB", lambda: {"properties": {"a" * 1_000_000: {}}})
SIZES.schema("a required name of 250 KB", lambda: {"required": ["a" * 250_000]})
SIZES.schema("a description of 10 MB", lambda: {"description": "a" * 10_000_000})
SIZES.schema("10^6 unknown keywords", lambda: {f"k{i}": i for i in range(1_000_000)})
SIZES.schema("40,000 unknown keywords", lambda: {f"k{i}": i for i in range(30_000)}, [])
SIZES.schema("40,000 unknown keywords for each of 10,000", lambda: {"properties": {"x": {"items": {**{f"k{i}": i for i in range(30_000)}, "type": "null"}}}}, {"x": [1] * 10_000})
SIZES.schema("examples of 250 KB", lambda: {"examples": list(range(60_000))})
SIZES.schema("a reference in an example", lambda: {"examples": [{"$ref": "http://e/a"}] * 5_000, "type": "object"}, {})
SIZES.schema("10,000 $defs that are never used", lambda: {"$defs": {f"d{i}": {"type": "object"} for i in range(9_000)}})
SIZES.schema("10,000 types", lambda: {"type": ["object"] * 10_000})
SIZES.schema("uniqueItems in each of 90 levels", lambda: {"properties": {"x": nested(90, {}, lambda inner: {"uniqueItems": True, "items": inner})}}, {"x": lists(80, list(range(50_000)))})

ODD: Final = Group("no schema")
for _name, _make in {
    "a number": lambda: 7, "an array": lambda: [], "a boolean": lambda: True, "a text": lambda: "object", "null": lambda: None,
    "bytes": lambda: {"type": b"object"}, "a set": lambda: {"enum": {1}}, "a tuple": lambda: {"enum": (1, 2)}, "a key that is no text": lambda: {1: 2}, "NaN": lambda: {"minimum": float("nan")}, "1e999": lambda: {"const": float("1e999")}, "NaN in an example": lambda: {"examples": [float("nan")]}, "-Infinity as a default": lambda: {"default": [{"a": -float("inf")}]},
    "a lone surrogate as a name": lambda: {"properties": {"\ud800": {}}}, "a lone surrogate in an enum": lambda: {"enum": ["\udfff"]}, "a lone surrogate as a pattern": lambda: {"pattern": "\ud800"}, "a lone surrogate as a keyword": lambda: {"\udc00": 1}, "a lone surrogate in $id": lambda: {"$id": "http://e/\ud800"}, "a lone surrogate in $ref": lambda: {"$ref": "#/\ud800"}, "a lone surrogate in a description": lambda: {"description": "\ud800"},
    "type that is no type": lambda: {"type": "objekt"}, "type that is a number": lambda: {"type": 7}, "types that are none": lambda: {"type": [{}]}, "required that is a text": lambda: {"required": "abc"}, "required of numbers": lambda: {"required": [1]}, "properties that are an array": lambda: {"properties": []}, "a property that is a number": lambda: {"properties": {"a": 1}}, "enum that is no array": lambda: {"enum": "abc"}, "an empty enum": lambda: {"enum": []}, "an enum of the same": lambda: {"enum": [1, 1.0]},
    "items that is an array, in 2020-12": lambda: {"items": [{}]}, "anyOf of nothing": lambda: {"anyOf": []}, "allOf of numbers": lambda: {"allOf": [1]}, "a not that is a text": lambda: {"not": "a"}, "multipleOf 0": lambda: {"multipleOf": 0}, "multipleOf below zero": lambda: {"multipleOf": -1}, "multipleOf 5e-324": lambda: {"properties": {"x": {"multipleOf": 5e-324}}}, "multipleOf of 4,000 digits": lambda: {"properties": {"x": {"multipleOf": 10**4000}}}, "multipleOf of 100,000 digits": lambda: {"properties": {"x": {"multipleOf": 10**100_000}}},
    "minimum of 100,000 digits": lambda: {"properties": {"x": {"minimum": 10**100_000}}}, "minLength of 100,000 digits": lambda: {"properties": {"x": {"minLength": 10**100_000}}}, "maxItems 1e308": lambda: {"properties": {"x": {"maxItems": 1e308}}}, "minItems below zero": lambda: {"minItems": -1}, "minItems 1.5": lambda: {"minItems": 1.5}, "minContains 10^30": lambda: {"properties": {"x": {"contains": {}, "minContains": 10**30}}}, "maxContains below zero": lambda: {"contains": {}, "maxContains": -1}, "uniqueItems that is a number": lambda: {"uniqueItems": 1}, "uniqueItems that is an object": lambda: {"uniqueItems": {}},
    "pattern that is a number": lambda: {"pattern": 1}, "patternProperties that is an array": lambda: {"patternProperties": []}, "patternProperties of nonsense": lambda: {"patternProperties": {"([": {}}}, "format that is an object": lambda: {"format": {}}, "const null": lambda: {"const": None}, "dependentRequired of numbers": lambda: {"dependentRequired": {"a": 1}}, "dependencies of numbers": lambda: {"dependencies": {"a": 1}}, "exclusiveMinimum true, in 2020-12": lambda: {"exclusiveMinimum": True}, "exclusiveMinimum 1, in draft-04": lambda: {"$schema": "http://json-schema.org/draft-04/schema#", "exclusiveMinimum": 1}, "additionalItems that is a text": lambda: {"additionalItems": "a"}, "$defs that are a list": lambda: {"$defs": []}, "definitions that are a number": lambda: {"definitions": 7}, "$comment that is a number": lambda: {"$comment": 7}, "contentSchema that is a number": lambda: {"contentSchema": 7}, "propertyNames false": lambda: {"propertyNames": False}, "a wrapper that is none": lambda: {"x-fastmcp-wrap-result": True}, "a list that contains itself": lambda: _knot(),
}.items():
    ODD.schema(_name, _make, {"x": [1, "a", 1e300, 10**4000]})


def _knot() -> Json:
    knot: list[Json] = []
    knot.append(knot)
    return {"enum": knot}


DEFINITIONS: Final = Group("tool")
_RESULT: Final = {"content": [], "structuredContent": {}}
DEFINITIONS.add("a name of 1 MB", lambda: Case({"name": "t" * 1_000_000, "outputSchema": {"required": ["a"]}}, _RESULT))
DEFINITIONS.add("a name that is a lone surrogate", lambda: Case({"name": "\ud800", "outputSchema": {"required": ["a"]}}, _RESULT))
DEFINITIONS.add("a name that is no text", lambda: Case({"name": {"a": 1}, "outputSchema": {}}, _RESULT))
DEFINITIONS.add("no name", lambda: Case({"outputSchema": {}}, _RESULT))
DEFINITIONS.add("a description of 10 MB", lambda: Case({"name": "t", "description": "a" * 10_000_000, "outputSchema": {}}, _RESULT))
DEFINITIONS.add("annotations 100,000 levels deep", lambda: Case({"name": "t", "annotations": lists(100_000), "outputSchema": {}}, _RESULT))
DEFINITIONS.add("10^6 members", lambda: Case({"name": "t", **{f"m{i}": i for i in range(1_000_000)}}, _RESULT))
DEFINITIONS.add("1,000 members of 250 KB", lambda: Case({"name": "t", **{f"m{i}": ["a" * 250_000] for i in range(1_000)}}, _RESULT))
DEFINITIONS.add("NaN in its annotations", lambda: Case({"name": "t", "annotations": {"a": float("nan")}, "outputSchema": {}}, _RESULT))
DEFINITIONS.add("members that are no text", lambda: Case({"name": "t", 1: 2, None: 3, "outputSchema": {}}, _RESULT))
