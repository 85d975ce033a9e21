"""What is found out about a schema before any engine sees it: dialects, references, names, costs."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_guard._dialects import URIS, Dialect
from mcp_guard._facts import Unusable
from mcp_guard._references import Refused, survey
from mcp_guard._schema import CompiledSchema, compile_schema
from mcp_guard.policy import Limits

DRAFT_4, DRAFT_7, DRAFT_2019, DRAFT_2020 = (
    URIS[dialect] for dialect in ("draft4", "draft7", "draft2019-09", "draft2020-12")
)
LIMITS = Limits()


def unusable(schema: Any, limits: Limits = LIMITS, **more: Any) -> Unusable:
    found = compile_schema(schema, limits, **more)
    assert isinstance(found, Unusable), "the schema was taken"
    return found


def usable(schema: Any, limits: Limits = LIMITS, **more: Any) -> CompiledSchema:
    found = compile_schema(schema, limits, **more)
    assert isinstance(found, CompiledSchema), found
    return found


def chain(length: int, link: Any, last: Any) -> dict[str, Any]:
    """Definitions of which each leads to the next by `link`, a function of a reference."""
    definitions = {f"d{i}": link({"$ref": f"#/$defs/d{i + 1}"}) for i in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{length}": last}}


# dialects


@pytest.mark.parametrize(
    "uri, dialect",
    [
        ("http://json-schema.org/draft-04/schema#", "draft4"),
        ("http://json-schema.org/draft-06/schema", "draft6"),
        ("https://json-schema.org/draft-07/schema#", "draft7"),
        ("https://json-schema.org/draft-07/schema", "draft7"),
        ("http://json-schema.org/draft/2019-09/schema#", "draft2019-09"),
        ("https://json-schema.org/draft/2020-12/schema", "draft2020-12"),
        ("https://json-schema.org/draft/2020-12/schema#", "draft2020-12"),
    ],
)
def test_a_dialect_is_known_in_every_spelling(uri: str, dialect: Dialect) -> None:
    assert usable({"$schema": uri}).dialect == dialect


def test_without_a_dialect_it_is_2020_12() -> None:
    assert usable({}).dialect == "draft2020-12"


@pytest.mark.parametrize(
    "uri",
    [7, None, "", "draft-07", "http://json-schema.org/schema#", "http://json-schema.org/draft-03/schema#", ["x"]],
)
def test_any_other_dialect_is_unknown(uri: Any) -> None:
    assert unusable({"$schema": uri}).reason == "unknown_dialect"
    assert unusable({"properties": {"a": {"$id": "http://e/a", "$schema": uri}}}).reason == "unknown_dialect"


def test_an_embedded_resource_has_its_own_dialect_in_any_spelling() -> None:
    inner = {"$id": "http://e/a", "$schema": "https://json-schema.org/draft-07/schema", "items": [{"type": "string"}]}
    schema = usable({"properties": {"a": inner}})
    assert schema.is_valid({"a": ["x"]})
    assert not schema.is_valid({"a": [1]})
    assert schema.schema["properties"]["a"]["$schema"] == "https://json-schema.org/draft-07/schema"


def test_one_point_zero_is_an_integer_but_not_in_draft_4() -> None:
    assert usable({"type": "integer"}).is_valid(1.0)
    assert not usable({"$schema": DRAFT_4, "type": "integer"}).is_valid(1.0)


@pytest.mark.parametrize("value, fits", [(2**63, True), (10**400, True), (2**63 + 1, False), (1e300, False)])
def test_integers_are_exact_at_any_size(value: Any, fits: bool) -> None:
    assert usable({"enum": [2**63, 10**400]}).is_valid(value) is fits


# references


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/nope"},
        {"$ref": "#nope"},
        {"$ref": "#/allOf/x", "allOf": [{}]},
        {"$ref": "#/allOf/1", "allOf": [{}]},
        {"$ref": "#/title", "title": "text is no schema"},
        {"$ref": "#/required", "required": ["a"]},
        {"properties": {"never": {"not": {"$ref": "#/$defs/nope"}}}},
        {"$defs": {"unused": {"$ref": "#/$defs/nope"}}},
        {"$dynamicRef": "#nope"},
        {"$id": "http://e/x", "$ref": "x#/nope"},
        {"$schema": DRAFT_2019, "$recursiveRef": "#nope"},
        {"$schema": DRAFT_7, "dependencies": {"a": {"$ref": "#/definitions/nope"}}},
        {"$schema": DRAFT_4, "items": [{"$ref": "#/definitions/nope"}]},
    ],
)
def test_a_reference_to_nothing_is_found_when_the_schema_is_read(schema: dict[str, Any]) -> None:
    assert unusable(schema).reason == "dangling_ref"


@pytest.mark.parametrize(
    "reference", ["http://127.0.0.1:1/s.json", "other.json", "file:///etc/passwd", "urn:x:y", "//e/x", "other.json#/a"]
)
def test_a_reference_out_of_the_document_is_remote_and_never_named(reference: str) -> None:
    found = unusable({"properties": {"a": {"$ref": reference}}})
    assert found.reason == "remote_ref"
    assert found.detail.startswith("/properties/a/$ref ")
    assert reference not in found.detail
    assert found.value == reference


@pytest.mark.parametrize("reference", ["not a uri", 5, None, {}, "#/$defs/a b", "#/%zz", "##", "http://[::1", "\x00"])
def test_what_is_no_uri_reference_makes_the_schema_invalid(reference: Any) -> None:
    assert unusable({"properties": {"a": {"$ref": reference}}}).reason == "invalid_schema"
    assert unusable({"properties": {"a": {"$id": reference}}}).reason == "invalid_schema"
    assert unusable({"properties": {"a": {"$dynamicRef": ""}, "b": {"$ref": reference}}}).reason == "invalid_schema"


@pytest.mark.parametrize(
    "schema",
    [
        {"const": {"$ref": "#/nope"}},
        {"enum": [{"$ref": "http://e/"}]},
        {"default": {"$ref": "#/nope"}, "examples": [{"$ref": "#/nope"}]},
        {"properties": {"$ref": {"type": "string"}, "$schema": {}, "$id": {}}},
        {"x-vendor": {"$ref": "#/nope"}},
        {"const": {"$id": 5, "$schema": 7}},
        {"$schema": DRAFT_7, "$defs": {"unused": {"$ref": "#/nope"}}},
        {"$schema": DRAFT_7, "$ref": "#/definitions/a", "not": {"$ref": "#/nope"}, "definitions": {"a": {}}},
    ],
)
def test_what_only_looks_like_a_reference_is_data(schema: dict[str, Any]) -> None:
    usable(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}},
        {"properties": {"a": {"$ref": "#n"}}, "$defs": {"n": {"$anchor": "n", "type": "integer"}}},
        {"properties": {"a": {"$dynamicRef": "#n"}}, "$defs": {"n": {"$dynamicAnchor": "n", "type": "integer"}}},
        {
            "$id": "http://e/r",
            "properties": {"a": {"$ref": "http://e/r#/$defs/n"}},
            "$defs": {"n": {"type": "integer"}},
        },
        {"$id": "http://e/r", "properties": {"a": {"$ref": "n"}}, "$defs": {"n": {"$id": "n", "type": "integer"}}},
        {"properties": {"a": {"$ref": "#/x~1y/%25"}}, "x/y": {"%": {"type": "integer"}}},
        {"$schema": DRAFT_7, "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}},
        {
            "$schema": DRAFT_7,
            "properties": {"a": {"$ref": "#n"}},
            "definitions": {"n": {"$id": "#n", "type": "integer"}},
        },
        {"$schema": DRAFT_4, "properties": {"a": {"$ref": "n"}}, "definitions": {"n": {"id": "n", "type": "integer"}}},
        {"properties": {"a": {"$ref": "#/examples/0"}}, "examples": [{"type": "integer"}]},
    ],
)
def test_a_reference_within_the_document_is_followed(schema: dict[str, Any]) -> None:
    assert usable(schema).is_valid({"a": 1})
    assert not usable(schema).is_valid({"a": "x"})


@pytest.mark.parametrize("dialect", [DRAFT_4, DRAFT_7, DRAFT_2019, DRAFT_2020])
@pytest.mark.parametrize(
    "reference",
    [
        "#",
        "#/",
        "#/definitions/a",
        "#/definitions/%61",
        "#/definitions/x~1y~0",
        "#/definitions/none",
        "#/$defs/id",
        "#/$defs/a",
        "#/allOf",
        "#/allOf/0",
        "#/allOf/00",
        "#/allOf/-1",
        "#/allOf/x",
        "#/allOf/9",
        "#/properties/b",
        "#/additionalProperties",
        "#/dependencies/b",
        "#/dependencies/id",
        "#/x-kept/a",
        "#/x-kept/a/properties/b",
        "#/title",
        "#/title/0",
        "#/maxLength/0",
        "#a",
    ],
)
def test_a_reference_leads_to_the_same_whether_or_not_some_other_part_has_a_name(reference: str, dialect: str) -> None:
    schema: dict[str, Any] = {
        "$schema": dialect,
        "title": "a",
        "maxLength": 10,
        "properties": {"r": {"$ref": reference}, "b": {"type": "boolean"}},
        "additionalProperties": True,
        "allOf": [{"maxProperties": 2}, {"minProperties": 1}, {}],
        "dependencies": {"b": {"maxProperties": 1}, "id": ["b"]},
        "definitions": {"": {}, "a": {"type": "integer"}, "%61": {}, "x/y~": {"type": "string"}, "x~1y~0": {}},
        "$defs": {"id": {"type": "null"}, "a": {"type": "string"}},
        "x-kept": {"a": {"properties": {"b": {"$ref": "#/properties/b"}}}},
    }
    named = {"id" if dialect == DRAFT_4 else "$id": "http://e/n"}

    def outcome(other: dict[str, Any]) -> object:
        document = {**schema, "definitions": {**schema["definitions"], "other": other}}
        try:
            nodes = survey(document, LIMITS, {}).nodes
        except Refused as refused:
            return refused.unusable.reason, refused.unusable.detail
        (node,) = (node for node in nodes if node.schema is schema["properties"]["r"])
        return node.booleans, [nodes[edge.to].path for edge in node.edges]

    assert outcome({}) == outcome(named)


def test_a_reference_in_a_part_that_has_a_name_does_not_leave_it() -> None:
    part = {"$id": "http://e/n", "properties": {"a": {"$ref": "#/$defs/x"}}}
    assert unusable({"$defs": {"n": part, "x": {}}}).reason == "dangling_ref"
    usable({"$defs": {"n": {**part, "$defs": {"x": {}}}}})


@pytest.mark.parametrize("uri", list(URIS.values()))
@pytest.mark.parametrize("dialect", [DRAFT_7, DRAFT_2020])
def test_a_published_metaschema_is_local_in_every_dialect(uri: str, dialect: str) -> None:
    schema = usable({"$schema": dialect, "properties": {"s": {"$ref": uri}}})
    assert schema.is_valid({"s": {"type": "string"}})
    assert not schema.is_valid({"s": {"type": "strng"}})


def test_a_document_of_the_caller_is_local_and_in_the_dialect_that_it_names() -> None:
    resources = {
        "http://e/tuple": {"$schema": DRAFT_7, "items": [{"type": "string"}], "definitions": {"n": {"$ref": "other"}}},
        "http://e/other": {"type": "integer"},
        "http://e/unused": {"$ref": "http://nowhere/"},
    }
    schema = usable({"properties": {"a": {"$ref": "http://e/tuple"}}}, resources=resources)
    assert not schema.is_valid({"a": [1]})
    number = usable({"properties": {"a": {"$ref": "http://e/tuple#/definitions/n"}}}, resources=resources)
    assert not number.is_valid({"a": "x"})
    remote = unusable({"$ref": "http://e/unused"}, resources=resources)
    assert remote.reason == "remote_ref"
    broken = unusable({"$ref": "http://e/broken"}, resources={"http://e/broken": {"const": {1, 2}}})
    assert broken.reason == "invalid_schema"


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        *({keyword: [{}, {"$ref": "#"}]} for keyword in ("allOf", "anyOf", "oneOf")),
        *({keyword: {"$ref": "#"}} for keyword in ("not", "if", "then", "else")),
        {"dependentSchemas": {"a": {"$ref": "#"}}},
        {"$schema": DRAFT_7, "dependencies": {"a": {"$ref": "#"}}},
        {"$schema": DRAFT_2019, "$recursiveRef": "#"},
        {"$schema": DRAFT_2019, "$recursiveAnchor": True, "anyOf": [{"$recursiveRef": "#"}]},
        {"$dynamicAnchor": "n", "allOf": [{"$dynamicRef": "#n"}]},
        {"$id": "http://e/x", "allOf": [{"$ref": "x"}]},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
        {"$defs": {"unused": {"not": {"$ref": "#/$defs/unused"}}}},
    ],
)
def test_a_circle_that_never_takes_the_value_apart_is_endless(schema: dict[str, Any]) -> None:
    assert unusable(schema).reason == "endless_ref"


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"child": {"$ref": "#"}}},
        {"items": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
        {"additionalProperties": {"allOf": [{"not": {"not": {"$ref": "#"}}}]}},
        {"$dynamicAnchor": "n", "unevaluatedProperties": {"$dynamicRef": "#n"}},
        {"$schema": DRAFT_2019, "$recursiveAnchor": True, "contains": {"$recursiveRef": "#"}},
        {"propertyNames": {"$ref": "#/$defs/name"}, "$defs": {"name": {"properties": {"a": {"$ref": "#/$defs/name"}}}}},
    ],
)
def test_recursion_through_a_part_of_the_value_is_legal(schema: dict[str, Any]) -> None:
    usable(schema)


# what is no schema


@pytest.mark.parametrize(
    "schema",
    [
        True,
        False,
        [],
        "text",
        5,
        {"properties": 5},
        {"properties": {"required": ["a"]}},
        {"type": "int"},
        {"required": "a"},
        {"minimum": "3"},
        {"pattern": "("},
        {"allOf": {}},
        {"items": [{}]},
        {"$schema": DRAFT_4, "not": True},
        {"$anchor": "9 8"},
        {"const": float("nan")},
        {"minimum": float("inf")},
        {"title": "\ud800"},
        {"\udfff": 1},
        {"const": {1: 2}},
        {"enum": [{1, 2}]},
        {"default": b"bytes"},
    ],
)
def test_what_is_no_schema_is_invalid(schema: Any) -> None:
    assert unusable(schema).reason == "invalid_schema"


def test_the_words_about_a_schema_show_nothing_of_the_server_but_declared_names() -> None:
    schema = {"properties": {"known": {"$defs": {"SECRET": {"type": "SECRET"}}}}}
    assert unusable(schema).detail == "/properties/known/$defs/*/type is not what the dialect asks for"
    assert "SECRET" not in repr(unusable({"pattern": "(SECRET"}))
    assert "SECRET" not in repr(unusable({"$schema": "SECRET"}))


def test_names_are_those_declared_anywhere() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/d"}},
        "required": ["b"],
        "dependentRequired": {"c": ["d"]},
        "dependentSchemas": {"e": {}},
        "anyOf": [{"properties": {"f": True}}],
        "$defs": {"d": {"items": {"required": ["g"]}}},
        "const": {"properties": {"data": {}}},
    }
    assert usable(schema).names == frozenset("abcdefg")
    assert usable({"$schema": DRAFT_7, "dependencies": {"a": ["b"], "c": {}}}).names == frozenset("abc")


# costs


def fan(depth: int, wide: Any) -> dict[str, Any]:
    return chain(depth, wide, {"type": "string"})


def twice(keyword: str) -> Any:
    return lambda link: {keyword: [link, link]}


@pytest.mark.parametrize(
    "limit, schema",
    [
        ("schema_bytes", {"description": "d" * (LIMITS.schema_bytes + 1)}),
        ("schema_bytes", {"enum": list(range(LIMITS.schema_bytes))}),
        ("subschemas", {"properties": {f"p{i}": {} for i in range(LIMITS.subschemas + 1)}}),
        ("subschemas", fan(30, lambda link: {"properties": {"a": link, "b": link}})),
        ("subschemas", fan(30, lambda link: {"contains": link, "items": link})),
        ("subschemas", fan(40, lambda link: {"if": {"properties": {"a": link}}, "unevaluatedProperties": False})),
        ("compositions", fan(30, twice("anyOf"))),
        ("compositions", fan(30, twice("allOf"))),
        ("compositions", fan(30, lambda link: {"if": link, "else": link})),
        ("compositions", fan(20, lambda link: {"allOf": [link], "unevaluatedProperties": False})),
        ("pattern_length", {"pattern": "a" * (LIMITS.pattern_length + 1)}),
        ("pattern_length", {"pattern": "(a{1000}){1000}"}),
        ("pattern_length", {"patternProperties": {"(?:a|b{9999999999}){9999999999}": {}}}),
        ("microseconds of compiling", {"patternProperties": {f"^(?!p{i})\\w+": {} for i in range(1_000)}}),
        ("references in a chain", chain(300, lambda link: link, {})),
        ("references in a chain", chain(60, lambda link: {"allOf": [link, {}]}, {"properties": {"a": {"$ref": "#"}}})),
        ("references in a chain", chain(1_500, lambda link: {"items": link}, {})),
    ],
)
def test_a_costly_schema_is_too_complex_and_the_limit_is_named(limit: str, schema: dict[str, Any]) -> None:
    found = unusable(schema)
    assert found.reason == "too_complex"
    assert found.detail.startswith(limit)
    assert "allowed, found" in found.detail


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"items": schema}
    return schema


def test_depth_is_bounded_and_a_schema_that_holds_itself_is_too_deep() -> None:
    assert unusable(nested(LIMITS.schema_depth + 1)).detail.startswith("schema_depth: 200 are allowed")
    assert unusable(nested(5_000)).reason == "too_complex"
    itself: dict[str, Any] = {}
    itself["not"] = itself
    assert unusable(itself).reason == "too_complex"
    usable(nested(LIMITS.schema_depth - 1))


@pytest.mark.parametrize("anchor", [{"$anchor": "n"}, {"$dynamicAnchor": "n"}, {"$id": "http://e/n"}])
def test_a_shared_target_counts_each_time_however_it_is_named(anchor: dict[str, str]) -> None:
    keyword = "$dynamicRef" if "$dynamicAnchor" in anchor else "$ref"
    reference = {keyword: anchor.get("$id", "#n")}
    shared = {**anchor, "properties": {f"p{i}": {} for i in range(100)}}
    schema = {"properties": {f"s{i}": reference for i in range(20)}, "$defs": {"n": shared}}
    usable(schema, Limits(subschemas=2_500))
    assert unusable(schema, Limits(subschemas=1_900)).detail.startswith("subschemas: 1900 are allowed, found 20")


def test_a_circle_counts_once() -> None:
    usable({"properties": {f"p{i}": {"$ref": "#"} for i in range(100)}}, Limits(subschemas=210))


def test_what_a_plain_server_publishes_is_let_through() -> None:
    usable({"properties": {f"p{i}": {"type": "string", "description": "d" * 480} for i in range(500)}})
    usable({"properties": {f"p{i}": {"anyOf": [{"type": "string"}, {"type": "null"}]} for i in range(600)}})


@pytest.mark.parametrize(
    "schema",
    [
        fan(30, twice("oneOf")),
        {
            "properties": {f"p{i}": {"$dynamicRef": "#n"} for i in range(1_500)},
            "$defs": {f"d{i}": {"$id": f"http://e/{i}", "$dynamicAnchor": "n"} for i in range(500)}
            | {"n": {"$dynamicAnchor": "n"}},
        },
        {"allOf": [{"pattern": "[^" + "".join(map(chr, range(0x4E00, 0x5C00, 2))) + f"]{{20}}{i}"} for i in range(60)]},
    ],
    ids=["fan-out", "dynamic anchors", "wide classes"],
)
def test_a_hostile_schema_is_refused_without_the_work(schema: dict[str, Any]) -> None:
    # without the bounds this takes minutes, or has no end
    assert unusable(schema).reason == "too_complex"
