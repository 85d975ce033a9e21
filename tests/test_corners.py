"""Corners of the core that are seldom gone into: odd schemas, odd values, questions that the engine does not take."""

from __future__ import annotations

import inspect
import json
import math
from typing import Any, ClassVar

import pytest
from fuzz.targets import without_engine

from mcp_guard import STRICT, Contract, _engine, check, errors
from mcp_guard._arguments import held
from mcp_guard._drift import changes
from mcp_guard._effort import BUDGET, Effort, Estimator, TooMuch
from mcp_guard._explain import Explainer
from mcp_guard._patterns import cost_of
from mcp_guard._references import survey
from mcp_guard._verdict import Conforming, Unenforceable, Violating
from mcp_guard.policy import ENFORCE, Limits

with_engine = pytest.mark.skipif(not _engine.available(), reason="about jsonschema-rs")
LOOK_AROUND = "(?=a)a+$"


def judge(value: Any, schema: Any, **options: Any) -> Any:
    """The verdict on structured content."""
    return check({"content": [], "structuredContent": value}, Contract("tool", schema, **options))


def places(verdict: Any) -> list[tuple[str, str]]:
    assert isinstance(verdict, Violating)
    return [(each.pointer, each.keyword) for each in verdict.violations]


# --- schemas as Python has them --------------------------------------------------------------------------------------


class Number(float):
    """A number of a class of its own."""


class Whole(int):
    """An integer of a class of its own."""


class Hostile(dict[str, Any]):
    """An object that can't be read."""

    def keys(self) -> Any:
        """Fail."""
        raise OSError


def test_numbers_of_a_class_of_their_own_are_taken_as_the_numbers_they_are() -> None:
    contract = Contract("tool", {"properties": {"a": {"minimum": Number(1.5), "maximum": Whole(3)}}})
    assert contract.output_schema == {"properties": {"a": {"minimum": 1.5, "maximum": 3}}}
    limits = contract.output_schema["properties"]["a"]
    assert (type(limits["minimum"]), type(limits["maximum"])) == (float, int)
    assert contract == Contract("tool", {"properties": {"a": {"minimum": 1.5, "maximum": 3}}})


@pytest.mark.parametrize("number", [math.inf, Number("nan"), Number("-inf")])
def test_a_schema_with_a_number_that_is_not_finite_is_unusable(number: float) -> None:
    unusable = Contract("tool", {"maximum": number}).unusable
    assert unusable is not None
    assert (unusable.reason, unusable.detail) == ("invalid_schema", "it has a number that is not finite")


def test_a_schema_that_can_not_be_read_is_unusable_and_raises_nothing() -> None:
    unusable = Contract("tool", {"properties": Hostile(a=1)}).unusable
    assert unusable is not None
    assert unusable.reason == "invalid_schema"


def test_names_alone_can_make_a_schema_too_large() -> None:
    unusable = Contract("tool", {"a" * 200: 1}, limits=Limits(schema_bytes=100)).unusable
    assert unusable is not None
    assert unusable.reason == "too_complex"
    assert unusable.detail.startswith("schema_bytes: 100 are allowed")


def test_the_signature_of_a_contract_says_what_is_absent() -> None:
    assert "<absent>" in str(inspect.signature(Contract))


# --- references and dialects -----------------------------------------------------------------------------------------


def test_a_place_and_what_holds_it_may_both_be_referred_to() -> None:
    schema = {
        "kept": {"whole": {"properties": {"part": {"type": "integer"}}}},
        "properties": {"a": {"$ref": "#/kept/whole/properties/part"}, "b": {"$ref": "#/kept/whole"}},
    }
    assert isinstance(judge({"a": 1, "b": {"part": 2}}, schema), Conforming)
    assert places(judge({"a": "x", "b": {"part": "y"}}, schema)) == [("/a", "type"), ("/b/part", "type")]


def test_a_dialect_may_be_named_through_metaschemas_of_the_caller() -> None:
    draft_7 = "http://json-schema.org/draft-07/schema#"
    documents = {
        "https://x.example/m1": {"$schema": "https://x.example/m2"},
        "https://x.example/m2": {"$schema": draft_7},
    }
    contract = Contract("tool", {"$schema": "https://x.example/m1"}, resources=documents)
    assert contract.dialect == "draft7"


def test_metaschemas_that_name_each_other_are_no_dialect() -> None:
    documents = {f"https://x.example/m{i}": {"$schema": f"https://x.example/m{1 - i}"} for i in range(2)}
    unusable = Contract("tool", {"$schema": "https://x.example/m0"}, resources=documents).unusable
    assert unusable is not None
    assert unusable.reason == "unknown_dialect"


def test_what_is_void_beside_a_reference_has_to_be_well_formed_still() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"a": {"$ref": "#/definitions/x", "properties": 5}},
        "definitions": {"x": {}},
    }
    unusable = Contract("tool", schema).unusable
    assert unusable is not None
    assert unusable.reason == "invalid_schema"


def test_an_embedded_document_is_explained_in_its_own_dialect() -> None:
    schema = {
        "properties": {"old": {"$ref": "https://x.example/old"}},
        "$defs": {
            "old": {
                "$id": "https://x.example/old",
                "$schema": "http://json-schema.org/draft-07/schema#",
                "properties": {"pair": {"items": [{"type": "string"}], "additionalItems": False}},
            }
        },
    }
    verdict = judge({"old": {"pair": [1, 2]}}, schema)
    assert places(verdict) == [("/old/pair", "additionalItems"), ("/old/pair/0", "type")]


def test_what_is_reached_twice_counts_once() -> None:
    schema = {
        "allOf": [{"$ref": "#/$defs/a"}, {"allOf": [{"$ref": "#/$defs/a"}]}],
        "$defs": {"a": {"properties": {"a": True}}},
        "unevaluatedProperties": False,
    }
    assert isinstance(judge({"a": 1}, schema), Conforming)
    assert places(judge({"a": 1, "b": 1}, schema)) == [("", "unevaluatedProperties")]


# --- what a look costs -----------------------------------------------------------------------------------------------


def estimate(schema: dict[str, Any], value: Any) -> Effort:
    estimator = Estimator(survey(schema, Limits(), {}))
    return estimator.closely(value, estimator.size(value), formats=False, allowed=BUDGET)


@pytest.mark.parametrize("value, strings", [(["aa"], 2), (["aa", 1], 2), (["aa", 1, "b", "c"], 4), ([1, 1], 0)])
def test_each_place_of_a_tuple_is_weighed_by_its_own_schema_and_by_that_of_the_rest(value: Any, strings: int) -> None:
    schema = {"prefixItems": [{"pattern": LOOK_AROUND}, {"type": "integer"}], "items": {"pattern": "(?!z)"}}
    assert estimate(schema, value).strings == strings


def test_each_level_of_a_schema_that_refers_to_itself_is_weighed() -> None:
    schema = {"properties": {"v": {"pattern": LOOK_AROUND}, "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}
    value: Any = None
    for _ in range(5):
        value = {"v": "aa", "next": value}
    assert estimate(schema, value).strings == 5


def test_many_members_of_many_kinds_are_too_much() -> None:
    names = [f"n{i}" for i in range(2_000)]
    heavy = {"anyOf": [{"pattern": f"^(?=a).{{0,{200 + i}}}$"} for i in range(20)]}
    every: dict[str, Any] = {"additionalProperties": heavy}
    schema: dict[str, Any] = {"properties": dict.fromkeys(names, every)}
    with pytest.raises(TooMuch):
        estimate(schema, {name: {"a": "a" * 50, "b": "a" * 50} for name in names})


@pytest.mark.parametrize("pattern", ["a)b", "a)", "(a", "[z-a]", "a{2", "\\", "(?P<", "*", ""])
def test_what_is_no_pattern_has_a_cost_still(pattern: str) -> None:
    assert cost_of(pattern).compiling > 0


# --- what the engine is not asked ------------------------------------------------------------------------------------


def explain(schema: dict[str, Any], value: Any, *, steps: int = 20_000) -> list[tuple[str, str]]:
    found, _ = Explainer(schema, "draft2020-12", names=frozenset(), steps=steps).violations(
        value, formats=False, limit=20
    )
    return [(each.pointer, each.keyword) for each in found]


@with_engine
@pytest.mark.parametrize(
    "schema",
    [
        {"if": {"type": "integer"}, "then": {"minimum": 5}, "else": {"required": ["a"]}},
        {"$ref": "#/$defs/a", "properties": {"z": {}}, "$defs": {"a": {"items": {"required": ["a"]}, "minimum": 5}}},
        {"$dynamicRef": "#a", "properties": {"z": {}}, "$defs": {"a": {"$dynamicAnchor": "a", "minimum": 5}}},
    ],
    ids=["if", "$ref", "$dynamicRef"],
)
def test_out_of_budget_a_condition_and_a_reference_are_asked_for_as_a_whole(schema: dict[str, Any]) -> None:
    assert explain(schema, 1, steps=1) == [("", next(iter(schema)))]


def test_where_the_schema_can_not_be_read_again_one_of_its_keywords_is_named() -> None:
    assert explain({"x-more": 1, "$ref": "#/nowhere"}, 1) == [("", "$ref")]
    assert explain({"x-more": 1, "properties": {"a": {"$ref": "#/nowhere"}}}, {"a": 1}) == [("", "properties")]


def test_where_nothing_is_known_to_fail_the_place_is_named() -> None:
    assert explain({"x-more": 1}, 1) == [("", "false")]


@pytest.mark.parametrize("value", [10**4_000, -(10**4_000)], ids=["over", "under"])
def test_a_number_of_thousands_of_digits_is_told_apart(value: int) -> None:
    for schema in ({"enum": [1, 2]}, {"const": 0}, {"multipleOf": 7}):
        assert explain(schema, value) == [("", next(iter(schema)))]


def test_the_same_value_at_two_places_is_weighed_once() -> None:
    shared = {"rows": [{"id": 1}] * 300}
    schema = {"items": {"allOf": [{"properties": {"rows": {"items": {"anyOf": [{"required": ["id"]}, False]}}}}] * 6}}
    value = [shared, shared, {"rows": [{}]}]
    assert set(explain(schema, value)) == {("/2/rows/0", "anyOf")}


@with_engine
def test_a_pattern_that_is_dear_on_unevaluated_names_is_asked_about_a_few_of_them() -> None:
    schema = {"unevaluatedProperties": False, "patternProperties": {"^(a|aa)+(?=c)$": {}}}
    assert places(judge({"a" * 40 + "!" * i: 1 for i in range(3)}, schema)) == [("", "unevaluatedProperties")]
    many = judge({"a" * 40 + "!" * i: 1 for i in range(300)}, schema)
    assert isinstance(many, Unenforceable)
    assert many.detail.startswith("steps of backtracking")


@pytest.mark.parametrize("pattern", ["[z-a]", "(", "(?=a)b"])
def test_without_the_engine_a_pattern_that_python_does_not_take_is_undecided(pattern: str) -> None:
    with without_engine():
        contract = Contract("tool", {"properties": {"a": {"pattern": pattern}}})
        verdict = check({"content": [], "structuredContent": {"a": "x"}}, contract)
        assert isinstance(verdict, Unenforceable)
        assert verdict.reason == "too_complex"
        assert isinstance(check({"content": [], "structuredContent": {"a": 1}}, contract), Conforming)


# --- arguments -------------------------------------------------------------------------------------------------------


def test_arguments_that_can_not_be_judged_in_time_stop_no_call() -> None:
    schema = {"properties": {"a": {"pattern": "(?=a)b"}, "b": {"type": "null"}}}
    with without_engine():
        contract = Contract("tool", input_schema=schema)
        assert held({"a": "x"}, contract, ENFORCE).violations == ()
        assert [each.keyword for each in held({"b": 1}, contract, ENFORCE).violations] == ["type"]


@pytest.mark.parametrize("first, values", [("#/$defs/l35", True), ("#/$defs/l0", False), ("#/kept/0", False)])
def test_a_model_is_told_the_values_of_an_alternative_that_can_be_found_by_name(first: str, values: bool) -> None:
    chain: dict[str, Any] = {f"l{i}": {"$ref": f"#/$defs/l{i + 1}"} for i in range(40)}
    schema = {
        "properties": {"a": {"anyOf": [{"$ref": first}, {"type": "null"}]}},
        "$defs": {**chain, "l40": {"enum": ["blue", "green"]}},
        "kept": [{"enum": ["blue", "green"]}],
    }
    misfit = held({"a": "z"}, Contract("tool", input_schema=schema), ENFORCE)
    assert [each.keyword for each in misfit.violations] == ["anyOf"]
    error = errors.InvalidArgumentsError(violations=misfit.violations, tool="tool", outcome="not_sent")
    assert ("blue" in error.for_model()) is values


# --- contracts that differ -------------------------------------------------------------------------------------------

DIFFER: list[tuple[Any, Any, str]] = [
    ({"properties": {"a": {}}}, {"properties": {"a": False}}, "/a is not allowed any more (tightens)"),
    ({"properties": {"a": False}}, {"properties": {"a": {"type": "string"}}}, "/a is allowed now (breaks)"),
    (
        {"properties": {"a": True}},
        {"properties": {"a": {"type": "string"}}},
        "/a may not be anything any more (tightens)",
    ),
    ({"properties": {"a": {"type": "string"}}}, {"properties": {"a": {}}}, "/a may be anything now (breaks)"),
    ({"properties": {"a": 1}}, {"properties": {"a": 2}}, "/a changed"),
    ({"type": "array", "uniqueItems": False}, {"type": "array"}, "of which no more can be told"),
    ({"$ref": "#/x/0", "x": [{"type": "string"}]}, {"$ref": "#/x/0", "x": [{"type": "null"}]}, "was string, is null"),
    (
        {"$ref": "#a", "$defs": {"a": {"$anchor": "a"}, "b": {"$anchor": "b"}}},
        {"$ref": "#b", "$defs": {"a": {"$anchor": "a"}, "b": {"$anchor": "b"}}},
        "refers to something else",
    ),
    ({"enum": [1, True, 0]}, {"enum": [0, 1, True]}, "of which no more can be told"),
    ({"enum": [1]}, {"enum": [True]}, "has other allowed values"),
    (
        {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True},
        {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": False},
        "has another exclusiveMinimum",
    ),
    ({"minimum": "a"}, {"minimum": 1}, "has another minimum"),
]


@pytest.mark.parametrize("old, new, says", DIFFER, ids=range(len(DIFFER)))
def test_what_differs_is_said(old: Any, new: Any, says: str) -> None:
    told = [
        each.describe() for each in changes(Contract("tool", old), Contract("tool", new)) if each.part == "outputSchema"
    ]
    assert any(says in each for each in told), told


def test_a_tool_that_is_in_neither_listing_has_not_changed() -> None:
    assert changes(None, None) == ()


# --- results that the SDK has parsed ---------------------------------------------------------------------------------


class Field:
    """What pydantic says of a member."""

    serialization_alias = None
    alias = None


class Model:
    """What is used of a pydantic model."""

    model_fields: ClassVar[dict[str, Field]] = {"content": Field(), "inputRequests": Field(), "resultType": Field()}
    model_extra: ClassVar[dict[str, Any]] = {}

    def __init__(self, **members: Any) -> None:
        self.model_fields_set = {*members}
        vars(self).update(members)


def test_a_member_that_the_model_does_not_know_is_left_out() -> None:
    verdict = check(Model(content=[], other=1), None)
    assert type(verdict).__name__ == "Unchecked"


def test_a_model_that_can_not_be_read_is_malformed() -> None:
    broken = Model(content=[])
    del broken.content  # type: ignore[attr-defined]  # set through vars
    verdict = check(broken, None)
    assert type(verdict).__name__ == "Malformed"
    with pytest.raises(errors.MalformedResultError):
        verdict.unwrap()


def test_an_unfinished_answer_is_not_judged_by_what_it_asks_for() -> None:
    asking = Model(content=[], resultType="input_required", inputRequests=object())
    assert type(check(asking, Contract("tool", {}), policy=STRICT)).__name__ == "Unfinished"


def test_what_a_rejected_value_was_is_no_part_of_what_may_be_said() -> None:
    verdict = judge({"a": "CANARY"}, {"properties": {"a": {"type": "integer"}}})
    assert "CANARY" not in json.dumps([each.to_dict() for each in verdict.violations])
