"""References: fans, circles, chains, identifiers and dialects, and what they point to."""

from __future__ import annotations

from functools import partial
from typing import Final

from benchmarks.hostile._case import DRAFT_4, DRAFT_7, DRAFT_2019, DRAFT_2020, Group, Json, lists, nested, objects

REFERENCES: Final = Group("reference")


def fan(levels: int, keyword: str = "allOf", width: int = 2) -> Json:
    """`width` ** `levels` subschemas out of a few lines, by pointers."""
    definitions = {f"d{i}": {keyword: [{"$ref": f"#/$defs/d{i + 1}"}] * width} for i in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"type": "object"}}}


def _anchored(levels: int) -> Json:
    definitions = {f"d{i}": {"$anchor": f"a{i}", "allOf": [{"$ref": f"#a{i + 1}"}] * 2} for i in range(levels)}
    return {"$ref": "#a0", "$defs": {**definitions, "end": {"$anchor": f"a{levels}"}}}


def _dynamic(levels: int) -> Json:
    definitions = {
        f"d{i}": {"$dynamicAnchor": f"a{i}", "anyOf": [{"$dynamicRef": f"#a{i + 1}"}] * 2} for i in range(levels)
    }
    return {"$dynamicRef": "#a0", "$defs": {**definitions, "end": {"$dynamicAnchor": f"a{levels}"}}}


def _identified(levels: int) -> Json:
    definitions = {
        f"d{i}": {"$id": f"http://e/d{i}", "oneOf": [{"$ref": f"d{i + 1}"}, {"$ref": f"http://e/d{i + 1}"}]}
        for i in range(levels)
    }
    return {"$id": "http://e/", "$ref": "d0", "$defs": {**definitions, "end": {"$id": f"d{levels}"}}}


def _in_members(levels: int) -> Json:
    definitions = {
        f"d{i}": {"properties": {name: {"$ref": f"#/definitions/d{i + 1}"} for name in "ab"}} for i in range(levels)
    }
    return {"$ref": "#/definitions/d0", "definitions": {**definitions, f"d{levels}": {"type": "object"}}}


def _recursive(levels: int) -> Json:
    return {
        "$schema": DRAFT_2019,
        "$recursiveAnchor": True,
        "properties": {"a": nested(levels, {"$recursiveRef": "#"}, lambda inner: {"anyOf": [inner, inner]})},
    }


def _identifiers(count: int) -> Json:
    parts = {
        f"d{i}": {"$id": f"http://e/{i}", "$dynamicAnchor": "a", "properties": {"p": {"$dynamicRef": "#a"}}}
        for i in range(count)
    }
    return {"$defs": parts, "$ref": "http://e/0"}


def _chain(length: int) -> Json:
    links = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": {**links, f"d{length}": {}}}


REFERENCES.schemas(
    {
        "2 ** 30 by pointers": lambda: fan(30),
        "2 ** 30 by pointers, under anyOf": lambda: fan(30, "anyOf"),
        "3 ** 30 by pointers, under oneOf": lambda: fan(30, "oneOf", 3),
        "2 ** 30 by anchors": lambda: _anchored(30),
        "2 ** 30 by dynamic anchors": lambda: _dynamic(30),
        "2 ** 30 by identifiers": lambda: _identified(30),
        "2 ** 30 in $defs that nothing uses": lambda: {"$defs": {"unused": fan(30)}},
        "to itself": lambda: {"$ref": "#"},
        "to itself, empty": lambda: {"$ref": ""},
        "to each other": lambda: {
            "$ref": "#/$defs/a",
            "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        },
        "not of itself": lambda: {"not": {"$ref": "#"}},
        "if of itself": lambda: {"if": {"$ref": "#"}, "then": False, "else": False},
        "anyOf of itself": lambda: {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
        "dependentSchemas of itself": lambda: {"dependentSchemas": {"a": {"$ref": "#"}}},
        "propertyNames of itself": lambda: {"propertyNames": {"$ref": "#"}},
        "a dynamic anchor to itself": lambda: {"$dynamicAnchor": "a", "$dynamicRef": "#a"},
        "an identifier to itself": lambda: {"$id": "http://e/a", "$ref": "http://e/a"},
        "identifiers in a circle": lambda: {
            "$ref": "http://e/a",
            "$defs": {"a": {"$id": "http://e/a", "$ref": "b"}, "b": {"$id": "http://e/b", "$ref": "a"}},
        },
        "a recursive one to itself": lambda: {
            "$schema": DRAFT_2019,
            "$recursiveAnchor": True,
            "$recursiveRef": "#",
        },
        "1,000 identifiers that are the same": lambda: {
            "$defs": {f"d{i}": {"$id": "http://e/x", "type": "object"} for i in range(1_000)},
            "$ref": "http://e/x",
        },
        "1,000 identifiers, an anchor in each": lambda: {
            "$defs": {f"d{i}": {"$id": f"http://e/{i}", "$anchor": "a"} for i in range(1_000)},
            "allOf": [{"$ref": f"http://e/{i}#a"} for i in range(900)],
        },
        "1,000 anchors": lambda: {
            "$defs": {f"d{i}": {"$anchor": f"a{i}"} for i in range(1_000)},
            "allOf": [{"$ref": f"#a{i}"} for i in range(900)],
        },
        "a chain of 4,000": lambda: _chain(4_000),
        "a chain of 190": lambda: _chain(190),
        "a long pointer": lambda: {"$ref": "#/" + "a/" * 100_000},
        "a pointer of escapes": lambda: {"$ref": "#/$defs/" + "~1~0%7E" * 30_000, "$defs": {"/~~" * 30_000: {}}},
        "500 pointers to a deep place": lambda: {
            "properties": {"a": nested(90, {"type": "object"}, lambda inner: {"properties": {"a": inner}})},
            "allOf": [{"$ref": "#" + "/properties/a" * 80}] * 500,
        },
        "250 long pointers": lambda: {
            "$defs": {"a" * 1_000: {}},
            "allOf": [{"$ref": "#/$defs/" + "a" * 1_000}] * 250,
        },
        "into const": lambda: {"const": {"a": {"type": "object"}}, "allOf": [{"$ref": "#/const/a"}]},
        "into an enum, in a circle": lambda: {"enum": [{"$ref": "#/enum/0"}], "allOf": [{"$ref": "#/enum/0"}]},
        "into a keyword that nobody knows": lambda: {"x": {"y": {"$ref": "#/x/y"}}, "$ref": "#/x/y"},
        "into a keyword that nobody knows, of nonsense": lambda: {
            "x": {"format": {}, "minimum": "a", "enum": 5, "dependentRequired": 7, "pattern": 1, "uniqueItems": 1},
            "$ref": "#/x",
        },
        "another dialect in each part": lambda: {
            "properties": {
                f"p{i}": {"$id": f"http://e/{i}", "$schema": (DRAFT_4, DRAFT_7)[i % 2], "type": "object"}
                for i in range(1_000)
            }
        },
        "1,000 to the metaschema": lambda: {"properties": {f"p{i}": {"$ref": DRAFT_2020} for i in range(50)}},
    }
)
REFERENCES.pairs(
    {
        "2 ** 30 in members": (lambda: _in_members(30), lambda: objects(31)),
        "2 ** 10 in members": (lambda: _in_members(10), lambda: objects(31)),
        "2 ** 12 on each level": (lambda: _recursive(12), lambda: objects(100)),
        "2 ** 8 on each level": (lambda: _recursive(8), lambda: objects(190)),
        "not of itself, in a member": (lambda: {"properties": {"a": {"not": {"$ref": "#"}}}}, lambda: objects(199)),
        "contains of itself": (
            lambda: {"properties": {"a": {"contains": {"$ref": "#/properties/a"}}}},
            lambda: {"a": lists(199)},
        ),
        "unevaluatedProperties of itself": (lambda: {"unevaluatedProperties": {"$ref": "#"}}, lambda: objects(199)),
        "90 identifiers in each other": (
            lambda: nested(90, {"$ref": "#"}, lambda inner: {"$id": "a/", "properties": {"a": inner}}),
            lambda: objects(90),
        ),
        "90 identifiers of 3 KB in each other": (
            lambda: nested(90, {}, lambda inner: {"$id": "a/" * 1_500, "properties": {"a": inner}}),
            lambda: objects(90),
        ),
        "100 dynamic ones to 100 anchors": (lambda: _identifiers(100), lambda: objects(100, name="p")),
        "900 dynamic ones to 900 anchors": (lambda: _identifiers(900), lambda: objects(100, name="p")),
        "the metaschema, and a large schema": (
            lambda: {"properties": {"x": {"$ref": DRAFT_2020}}},
            lambda: {"x": {"properties": {f"p{i}": {"type": "strin", "pattern": "("} for i in range(20_000)}}},
        ),
        "the metaschema, and a deep schema": (
            lambda: {"properties": {"x": {"$ref": DRAFT_2020}}},
            lambda: {"x": nested(98, {"type": 1}, lambda inner: {"allOf": [inner]})},
        ),
        "the metaschema of 2019-09, and a deep schema": (
            lambda: {"properties": {"x": {"$ref": DRAFT_2019}}},
            lambda: {"x": nested(190, {"type": 1}, lambda inner: {"not": inner})},
        ),
        "all metaschemas, and a deep schema": (
            lambda: {"anyOf": [{"$ref": uri} for uri in (DRAFT_4, DRAFT_7, DRAFT_2019, DRAFT_2020)]},
            lambda: nested(150, {"type": 1}, lambda inner: {"not": inner}),
        ),
        "100 times the metaschema": (
            lambda: {"allOf": [{"$ref": DRAFT_2020}] * 100},
            lambda: {"properties": {f"p{i}": {"type": "string"} for i in range(500)}},
        ),
    }
)


def _to(uri: str) -> Json:
    return {"$ref": uri}


_TARGETS: Final = {
    "a cloud's metadata": "http://169.254.169.254/latest",
    "a file": "file:///etc/passwd",
    "another host": "https://example.org/s",
    "another host, by its name alone": "//e/a",
    "data": "data:application/json,{}",
    "a name": "urn:x:y",
    "a share": "\\\\server\\share",
    "half an escape": "#%zz",
    "no UTF-8": "#/%ff",
    "half a host": "http://[",
    "NUL": "\0",
    "250 KB": "a" * 250_000,
    "nothing in the metaschema": f"{DRAFT_2020}#/$defs/nothing",
    "nothing beside the metaschema": "https://json-schema.org/draft/2020-12/nothing",
    "text that runs from right to left": "#\u202e",
    "text beyond ASCII": "é",
}
REFERENCES.schemas({f"to {name}": partial(_to, uri) for name, uri in _TARGETS.items()})

_ODD: Final[dict[str, Json]] = {
    "a number": 7,
    "an array": [],
    "an object": {},
    "null": None,
    "text with a line end": "a\n",
    "200 KB": "a" * 200_000,
    "a fragment": "#a",
    "half a pointer": "#/a",
    "half a host": "http://[",
}
_WORDS: Final = (
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveAnchor",
    "$schema",
    "$vocabulary",
    "id",
)


def _odd(word: str, thing: Json) -> Json:
    return {word: thing, "properties": {"a": {word: thing}}, "$defs": {"b": {word: thing}}}


REFERENCES.schemas({f"{name} as {word}": partial(_odd, word, thing) for name, thing in _ODD.items() for word in _WORDS})


def _in_dialect(uri: str) -> Json:
    return {"$schema": uri, "type": "object"}


_DIALECTS: Final[dict[str, str]] = {
    "a part of draft-07": "http://json-schema.org/draft-07/schema#/definitions/a",
    "draft-05": "http://json-schema.org/draft-05/schema",
    "the newest one": "http://json-schema.org/schema#",
    "a file": "file:///etc/passwd",
    "one of its own": "https://example.org/mine",
    "nothing": "",
    "itself": "#",
    "draft-04, with 1,000 fragments": DRAFT_4 + "#" * 1_000,
    "draft-07, after a blank": f" {DRAFT_7}",
    "draft-07, in capitals": DRAFT_7.upper(),
}
REFERENCES.schemas({f"$schema that names {name}": partial(_in_dialect, uri) for name, uri in _DIALECTS.items()})
