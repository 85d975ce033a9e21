"""Contracts whose schemas refer to other documents: what is lacking, and what such a document means."""

from __future__ import annotations

import pickle
from typing import Any, Final

import pytest

from mcp_guard import Contract, _engine
from mcp_guard._dialects import URIS
from mcp_guard._schema import CompiledSchema
from mcp_guard.policy import Limits

INTEGER: Final[dict[str, Any]] = {"type": "integer"}
TEXT: Final[dict[str, Any]] = {"type": "string"}


def referring(*uris: str) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{i}": {"$ref": uri} for i, uri in enumerate(uris)}}


def test_a_contract_knows_the_documents_that_it_lacks() -> None:
    output = {
        "$id": "https://a.example/tools/t",
        "properties": {
            "a": {"$ref": "https://b.example/x.json#/$defs/y"},
            "b": {"$ref": "https://b.example/x.json#/$defs/z"},
            "c": {"$ref": "common.json"},
            "d": {"$ref": "#/properties/a"},
        },
    }
    contract = Contract("SECRET", output, input_schema={"items": {"$ref": "other.json"}})
    assert contract.unusable is not None
    assert contract.unusable.reason == "remote_ref"
    assert contract.unusable.documents == ("https://b.example/x.json", "https://a.example/tools/common.json")
    assert contract.lacking == (*contract.unusable.documents, "other.json")
    assert "example" not in repr(contract.unusable)
    assert contract.refers_elsewhere


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {}}},
        {"$ref": "https://b.example/", "properties": {"a": {"$ref": "#/nope"}}},  # documents would be of no use
        {"$ref": "https://b.example/", "properties": {"a": {"type": "strng"}, "b": 7}},
        {"$ref": "https://b.example/", "$schema": "https://b.example/dialect"},
        {"const": {"$ref": "https://b.example/"}},
    ],
)
def test_a_contract_that_documents_would_not_help_lacks_none(schema: dict[str, Any]) -> None:
    assert Contract("t", schema).lacking == ()


def test_a_contract_with_the_documents_is_the_same_contract() -> None:
    contract = Contract("t", referring("https://b.example/n"))
    whole = contract.with_resources({"https://b.example/n": INTEGER})
    assert whole == contract
    assert whole.fingerprints == contract.fingerprints
    assert whole.lacking == ()
    assert fits(whole, {"p0": 1}, {"p0": "x"}) == [True, False]
    assert contract.unusable is not None


def test_one_of_two_equal_names_lacks_nothing() -> None:
    assert Contract("t", referring("https://b.example/n")).ambiguous().lacking == ()


def test_a_contract_with_documents_pickles() -> None:
    contract = Contract("t", {"$ref": "https://b.example/n"}, resources={"https://b.example/n": INTEGER})
    assert fits(pickle.loads(pickle.dumps(contract)), 1, "x") == [True, False]  # noqa: S301  # our own


def compiled(contract: Contract) -> CompiledSchema:
    assert contract.output is not None, contract.unusable
    return contract.output


def fits(contract: Contract, *values: Any) -> list[bool]:
    """What is decided about each value; whatever does not fit has a place where it does not."""
    decided = [compiled(contract).is_valid(value) for value in values]
    for value, good in zip(values, decided, strict=True):
        assert good or compiled(contract).violations(value)[0][0].keyword
    return decided


B: Final = "https://b.example/x/"
DRAFT_7: Final = URIS["draft7"]


@pytest.mark.parametrize("engine", [True, False], ids=["engine", "no engine"])
@pytest.mark.parametrize(
    "schema, documents, good, bad",
    [
        ({"$ref": f"{B}a"}, {"a": {"$ref": "b"}, "b": INTEGER}, 1, "x"),
        ({"$ref": f"{B}a#/$defs/n"}, {"a": {"$defs": {"n": INTEGER}}}, 1, "x"),
        ({"$ref": f"{B}a#n"}, {"a": {"$defs": {"m": {"$anchor": "n", **INTEGER}}}}, 1, "x"),
        ({"$ref": f"{B}a#/x/y"}, {"a": {"x": {"y": {"$ref": "b"}}}, "b": INTEGER}, 1, "x"),
        # what a document calls itself is what its references are relative to
        ({"$ref": f"{B}a"}, {"a": {"$id": "https://b.example/z/a", "$ref": "b"}, "../z/b": INTEGER, "b": TEXT}, 1, "x"),
        (
            {"$ref": f"{B}a#/$defs/n"},
            {"a": {"$id": "../z/a", "$defs": {"n": {"$ref": "b"}}}, "../z/b": INTEGER, "b": TEXT},
            1,
            "x",
        ),
        ({"$ref": f"{B}a#n"}, {"a": {"$id": "other", "$defs": {"m": {"$anchor": "n", **INTEGER}}}}, 1, "x"),
        (
            {"$ref": f"{B}a"},
            {"a": {"$id": "http://b.example/a", "type": "array", "items": {"$ref": "http://b.example/a"}}},
            [[]],
            [1],
        ),
        (
            {"$ref": f"{B}a"},
            {
                "a": {
                    "$schema": URIS["draft4"],
                    "id": "https://b.example/z/a",
                    "properties": {"n": {"$ref": "b"}},
                },
                "../z/b": INTEGER,
            },
            {"n": 1},
            {"n": "x"},
        ),
        # each document is in its own dialect, a part of it too
        ({"$ref": f"{B}a"}, {"a": {"$schema": DRAFT_7, "items": [INTEGER]}}, [1], ["x"]),
        (
            {"$ref": f"{B}a"},
            {"a": {"$schema": "https://json-schema.org/draft-07/schema", "items": [INTEGER]}},
            [1],
            ["x"],
        ),
        (
            {"$ref": f"{B}a#/definitions/n"},
            {"a": {"$schema": DRAFT_7, "definitions": {"n": {"items": [INTEGER]}}}},
            [1],
            ["x"],
        ),
        ({"$schema": DRAFT_7, "$ref": f"{B}a"}, {"a": {"items": [INTEGER]}}, [1], ["x"]),
        ({"$ref": f"{B}a#/x/y"}, {"a": {"$schema": DRAFT_7, "x": {"y": {"items": [INTEGER]}}}}, [1], ["x"]),
        # the empty reference is the document itself
        (
            {"properties": {"a": {"$ref": f"{B}a"}}},
            {"a": {"type": "object", "properties": {"c": {"$ref": ""}}}},
            {"a": {"c": {}}},
            {"a": {"c": 1}},
        ),
        # round through both, taking the value apart
        (
            {"$ref": f"{B}a"},
            {"a": {"properties": {"k": {"$ref": "b"}}}, "b": {"type": "object", "properties": {"p": {"$ref": "a"}}}},
            {"k": {"p": {}}},
            {"k": {"p": {"k": 1}}},
        ),
        # back to the schema, and to a part of it, by name
        (
            {"$id": f"{B}main", "type": "object", "properties": {"a": {"$ref": "a"}}},
            {"a": {"properties": {"again": {"$ref": "main"}}}},
            {"a": {"again": {}}},
            {"a": {"again": 1}},
        ),
        (
            {"properties": {"a": {"$ref": f"{B}a"}}, "$defs": {"n": {"$id": f"{B}part", **INTEGER}}},
            {"a": {"properties": {"n": {"$ref": "part"}}}},
            {"a": {"n": 1}},
            {"a": {"n": "x"}},
        ),
        (
            {"$id": f"{B}main", "$ref": "tree", "$defs": {"n": {"$dynamicAnchor": "node", "required": ["x"]}}},
            {"tree": {"$dynamicAnchor": "node", "properties": {"c": {"items": {"$dynamicRef": "#node"}}}}},
            {"c": []},
            {"c": [{}]},
        ),
        ({"$ref": f"{B}a"}, {"a": {"$ref": "part", "$defs": {"p": {"$id": "part", **INTEGER}}}}, 1, "x"),
        # what one document holds under a name of its own can be had by that name, in whatever order
        ({"allOf": [{"$ref": f"{B}p"}, {"$ref": f"{B}a"}]}, {"a": {"$defs": {"p": {"$id": "p", **INTEGER}}}}, 1, "x"),
    ],
)
def test_engine_and_explanation_read_documents_alike(
    monkeypatch: pytest.MonkeyPatch,
    schema: dict[str, Any],
    documents: dict[str, Any],
    good: Any,
    bad: Any,
    engine: bool,
) -> None:
    if not engine:
        monkeypatch.setattr(_engine, "available", lambda: False)
    resources = {f"{B}{name}".replace("/x/../", "/"): document for name, document in documents.items()}
    assert fits(Contract("t", schema, resources=resources), good, bad) == [True, False]


NAMED_N: Final = {"$dynamicAnchor": "n", **TEXT}


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"x": {"$anchor": "n", **INTEGER}, "y": {"$anchor": "n", **TEXT}}, "$ref": "#n"},
        {"$defs": {"x": {"$id": "n", **INTEGER}, "y": {"$id": "n", **TEXT}}, "$ref": "n"},
        {"$id": f"{B}main", "$defs": {"x": {"$id": f"{B}main", **INTEGER}}},
        {"$schema": DRAFT_7, "definitions": {"x": {"$id": "#n", **INTEGER}, "y": {"$id": "#n", **TEXT}}},
        {"$schema": URIS["draft4"], "definitions": {"x": {"id": "#n", **INTEGER}, "y": {"id": "#n", **TEXT}}},
    ],
)
def test_two_parts_of_one_name_make_a_schema_invalid(schema: dict[str, Any]) -> None:
    contract = Contract("t", schema)
    assert contract.unusable is not None
    assert contract.unusable.reason == "invalid_schema"
    assert contract.unusable.detail == "two of its parts or documents go by one name"


def test_two_parts_of_one_name_that_are_equal_are_one() -> None:
    part = {"$id": f"{B}n", "$anchor": "m", **INTEGER}
    contract = Contract("t", {"properties": {"a": part, "b": dict(part), "c": {"$ref": f"{B}n#m"}}})
    assert fits(contract, {"c": 1}, {"c": "x"}) == [True, False]


@pytest.mark.parametrize(
    "schema, documents, reason",
    [
        # a part of a document that nothing uses is read as well
        ({"$ref": f"{B}a#/$defs/n"}, {"a": {"$defs": {"n": {}, "z": {"$ref": "#/nope"}}}}, "dangling_ref"),
        ({"$ref": f"{B}a#/$defs/n"}, {"a": {"$defs": {"n": {}, "z": {"$ref": "b"}}}}, "remote_ref"),
        ({"$ref": f"{B}a#/nope"}, {"a": {}}, "dangling_ref"),
        ({"$ref": f"{B}a#nope"}, {"a": {}}, "dangling_ref"),
        ({"$ref": f"{B}a"}, {"a": {"type": "strng"}}, "invalid_schema"),
        ({"$ref": f"{B}a"}, {"a": {"properties": 5}}, "invalid_schema"),
        ({"$ref": f"{B}a"}, {"a": {"$ref": "not a uri"}}, "invalid_schema"),
        ({"$ref": f"{B}a"}, {"a": {"$schema": "https://b.example/dialect"}}, "unknown_dialect"),
        ({"$ref": f"{B}a"}, {"a": {"$ref": "b"}, "b": {"$ref": "a"}}, "endless_ref"),
        ({"$id": f"{B}main", "anyOf": [{"$ref": "a"}]}, {"a": {"not": {"$ref": "main"}}}, "endless_ref"),
        # what goes by another's name
        ({"allOf": [{"$ref": f"{B}a"}, {"$ref": f"{B}b"}]}, {"a": {"$id": "b", **TEXT}, "b": {}}, "invalid_schema"),
        (
            {"allOf": [{"$ref": f"{B}a"}, {"$ref": f"{B}b"}]},
            {"a": {"$defs": {"x": {"$id": "b", **TEXT}}}, "b": {}},
            "invalid_schema",
        ),
        ({"$id": f"{B}main", "items": {"$ref": "a"}}, {"a": {"$id": "main", **TEXT}}, "invalid_schema"),
        (
            {"items": {"$ref": f"{B}a"}, "$defs": {"x": {"$id": f"{B}part"}}},
            {"a": {"$defs": {"x": {"$id": "part", **TEXT}}}},
            "invalid_schema",
        ),
        ({"items": {"$ref": f"{B}a"}}, {"a": {"$id": URIS["draft2020-12"]}}, "invalid_schema"),
        ({"items": {"$ref": f"{B}a#n"}}, {"a": {"$defs": {"x": {"$anchor": "n"}, "y": NAMED_N}}}, "invalid_schema"),
        ({"items": {"$ref": f"{B}a"}}, {"a": {"$defs": {"x": {"$id": "json-schema:///"}}}}, "invalid_schema"),
    ],
)
@pytest.mark.parametrize("engine", [True, False], ids=["engine", "no engine"])
def test_what_is_wrong_with_a_document_is_wrong_with_the_contract(
    monkeypatch: pytest.MonkeyPatch, schema: dict[str, Any], documents: dict[str, Any], reason: str, engine: bool
) -> None:
    if not engine:
        monkeypatch.setattr(_engine, "available", lambda: False)
    contract = Contract("t", schema, resources={f"{B}{name}": each for name, each in documents.items()})
    assert contract.unusable is not None
    assert contract.unusable.reason == reason


def test_a_document_at_two_addresses_may_go_by_one_name() -> None:
    document = {"$id": f"{B}n", **INTEGER}
    contract = Contract("t", referring(f"{B}a", f"{B}b"), resources={f"{B}a": document, f"{B}b": dict(document)})
    assert fits(contract, {"p0": 1, "p1": 1}, {"p1": "x"}) == [True, False]


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"items": schema}
    return schema


def fan(name: int) -> dict[str, Any]:
    link = {"$ref": f"d{name + 1}"}
    return {"properties": {"a": link, "b": link}}


@pytest.mark.parametrize(
    "limit, documents",
    [
        ("schema_bytes", {f"d{i}": {"title": "x" * 100_000} for i in range(3)}),
        ("schema_depth", {"d0": nested(1_000), "d1": {}, "d2": {}}),
        ("subschemas", {"d0": {"properties": {f"p{i}": {} for i in range(10_001)}}, "d1": {}, "d2": {}}),
        ("subschemas", {**{f"d{i}": fan(i) for i in range(30)}, "d30": {}}),
        ("compositions", {**{f"d{i}": {"anyOf": [{"$ref": f"d{i + 1}"}] * 2} for i in range(30)}, "d30": {}}),
        ("pattern_length", {"d0": {"pattern": "a" * 5_001}, "d1": {}, "d2": {}}),
    ],
)
def test_bounds_are_counted_through_documents(limit: str, documents: dict[str, Any]) -> None:
    resources = {f"{B}{name}": document for name, document in documents.items()}
    contract = Contract("t", referring(*(f"{B}d{i}" for i in range(3))), resources=resources)
    assert contract.unusable is not None
    assert contract.unusable.reason == "too_complex"
    assert contract.unusable.detail.startswith(f"{limit}: {getattr(Limits(), limit)} are allowed")


def test_a_document_has_the_room_that_the_schema_leaves() -> None:
    schema = {"$ref": f"{B}a", "title": "x" * 200_000}
    assert Contract("t", schema, resources={f"{B}a": {"title": "x" * 90_000}}).unusable is None
    unusable = Contract("t", schema, resources={f"{B}a": {"title": "x" * 110_000}}).unusable
    assert unusable is not None
    assert unusable.detail.startswith("schema_bytes: 300000 are allowed")


def test_thousands_of_missing_documents_are_not_all_looked_for() -> None:
    contract = Contract("t", referring(*(f"{B}{i}" for i in range(4_000))))
    assert 50 < len(contract.lacking) < 500
