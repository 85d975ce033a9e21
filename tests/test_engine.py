"""What jsonschema-rs is asked, and what it is not: what it would take too long for is decided here, or not at all."""

from __future__ import annotations

from typing import Any, Final

import pytest

from mcp_guard import Conforming, Contract, Unenforceable, Violating, _engine, check
from mcp_guard._dialects import URIS, Dialect
from mcp_guard._effort import BUDGET, Size
from mcp_guard._exact import KEYWORDS
from mcp_guard._look import Look, Undecided
from mcp_guard._schema import CompiledSchema

pytestmark = pytest.mark.skipif(not _engine.available(), reason="about jsonschema-rs")

LATEST: Final = URIS["draft2020-12"]
UNIQUE: Final = {"uniqueItems": True}
ONE_DOUBLE: Final = [2**62 + i for i in range(200_000)]
"""Integers of which so many are one double that the engine takes seconds to tell them apart."""


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The keywords that are handed over, for each schema that is compiled."""
    import jsonschema_rs

    seen: list[set[str]] = []

    def noting(make: Any) -> Any:
        def made(schema: Any, **options: Any) -> Any:
            assert options["keywords"] != {}
            seen.append(set(options["keywords"] or ()))
            return make(schema, **options)

        return made

    for name in ("Draft4Validator", "Draft7Validator", "Draft201909Validator", "Draft202012Validator"):
        monkeypatch.setattr(jsonschema_rs, name, noting(getattr(jsonschema_rs, name)))
    return seen


def decider(schema: dict[str, Any], dialect: Dialect = "draft2020-12", **options: Any) -> _engine.Decider:
    return _engine.Decider(schema, dialect, formats=False, **options)


def judge(schema: dict[str, Any], value: Any) -> Any:
    return check({"content": [], "structuredContent": value}, Contract("tool", schema))


# --- what is handed over


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0}}, "required": ["a"]},
        {"$schema": LATEST, "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"enum": ["x"]}}},
        {"$ref": "#a", "$defs": {"a": {"$anchor": "a"}, "b": {"$dynamicRef": "#b", "$dynamicAnchor": "b"}}},
        {"$id": "rows", "properties": {"$ref": {"type": "string"}, "id": {}}, "examples": [{"id": "A-1"}]},
    ],
)
def test_a_schema_without_the_keyword_is_left_to_the_engine(given: list[set[str]], schema: dict[str, Any]) -> None:
    decider(schema)
    assert given == [set()]


def test_where_numbers_are_exact_those_keywords_are_handed_over_that_occur(given: list[set[str]]) -> None:
    decider({"properties": {"a": {"minimum": 0}, "b": {"const": 0.5}}}, exact=True)
    decider({"type": "string"}, exact=True)
    assert given == [{"minimum", "const"}, set()]


HIDDEN: Final[dict[str, tuple[Dialect, dict[str, Any]]]] = {
    "at the root": ("draft2020-12", UNIQUE),
    "in $defs": ("draft2020-12", {"$ref": "#/$defs/a", "$defs": {"a": UNIQUE}}),
    "in an unknown keyword": ("draft2020-12", {"$ref": "#/x-kept/0/a", "x-kept": [{"a": UNIQUE}]}),
    "in a constant": ("draft2020-12", {"$ref": "#/$defs/a/const", "$defs": {"a": {"const": UNIQUE}}}),
    "in what an older dialect does not know": ("draft7", {"$ref": "#/$defs/a", "$defs": {"a": UNIQUE}}),
    "by an anchor": ("draft2020-12", {"$ref": "#a", "$defs": {"a": {"$anchor": "a", **UNIQUE}}}),
    "by a dynamic anchor": ("draft2020-12", {"$dynamicRef": "#a", "$defs": {"a": {"$dynamicAnchor": "a", **UNIQUE}}}),
    "by recursion": ("draft2019-09", {"anyOf": [{"not": {"items": {"$recursiveRef": "#"}}}, {}], **UNIQUE}),
    "by a name": ("draft2020-12", {"$id": "http://e/", "$ref": "a", "$defs": {"a": {"$id": "a", **UNIQUE}}}),
    "by an older name": ("draft4", {"allOf": [{"$ref": "#a"}], "definitions": {"a": {"id": "#a", **UNIQUE}}}),
}


@pytest.mark.parametrize("way", HIDDEN)
def test_the_keyword_is_handed_over_whatever_leads_to_it(given: list[set[str]], way: str) -> None:
    dialect, schema = HIDDEN[way]
    decide = decider(schema, dialect)
    assert given == [{"uniqueItems"}]
    assert decide(ONE_DOUBLE)
    assert not decide([*ONE_DOUBLE, ONE_DOUBLE[0]])


@pytest.mark.parametrize("way", HIDDEN)
def test_so_it_is_from_the_contract_on(given: list[set[str]], way: str) -> None:
    dialect, schema = HIDDEN[way]
    contract = Contract("tool", {"$schema": URIS[dialect], **schema})
    assert contract.unusable is None
    assert given == [{"uniqueItems"}]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": LATEST},
        {"$ref": "https://json-schema.org/draft/2020-12/meta/validation#/$defs/stringArray"},
        {"$id": "https://json-schema.org/draft/2020-12/", "$ref": "schema"},
        {"$id": "HTTPS://json-schema%2Eorg/draft/2020-12/meta/validation", "$ref": "#/x", "x": {}},
    ],
)
def test_it_is_handed_over_where_a_metaschema_may_be_in_reach(given: list[set[str]], schema: dict[str, Any]) -> None:
    decider(schema)
    decider(schema, exact=True)
    assert given == [{"uniqueItems"}, set(KEYWORDS)]


def test_it_is_handed_over_where_another_document_may_be_in_reach(given: list[set[str]]) -> None:
    documents = {"http://e/a": {"items": {"$ref": "b#/x"}}, "http://e/b": {"x": UNIQUE}}
    decide = decider({"$ref": "http://e/a"}, resources=documents)
    assert given == [{"uniqueItems"}]
    assert not decide([[*ONE_DOUBLE, ONE_DOUBLE[0]]])


def test_a_part_is_given_what_its_documents_need(given: list[set[str]]) -> None:
    def ask(document: dict[str, Any], *, exact: bool = False) -> _engine.Decider:
        known = _engine.registry({"json-schema:///a": document}, "draft2020-12")
        return decider({"$ref": "json-schema:///a#/items"}, known=known, exact=exact)

    assert not ask({"items": UNIQUE})([*ONE_DOUBLE, ONE_DOUBLE[0]])
    ask({"items": {"minimum": 1}})
    ask({"items": {"minimum": 1}}, exact=True)
    ask({"items": {"minimum": 1}, "not": {"$ref": LATEST}})
    decider({"minimum": 1}, known=_engine.registry({}, "draft2020-12"), exact=True)
    assert given == [{"uniqueItems"}, set(), {"minimum"}, {"uniqueItems"}, {"minimum"}]


# --- numbers that the engine compares slowly

TINY: Final = [5e-324 * i for i in range(1, 10_000)]
"""Each takes it 40 microseconds to compare with an integer."""


@pytest.mark.parametrize(
    "named, value",
    [
        ({"enum": [*range(2_000)]}, TINY),
        ({"enum": ["a", None, *range(200)]}, TINY),
        ({"anyOf": [{"const": i} for i in range(10)]}, TINY),
        ({"enum": [[i] for i in range(500)]}, [[each] for each in TINY]),
        ({"const": {"a": [1]}}, [{"a": [each]} for each in TINY]),
    ],
    ids=["enum", "among others", "const", "in an array", "in an object"],
)
def test_floats_where_integers_are_named_are_decided_in_time(named: dict[str, Any], value: list[Any]) -> None:
    schema = {"properties": {"x": {"items": {"anyOf": [named, {"minimum": 0}]}}}}
    assert isinstance(judge(schema, {"x": value}), Conforming)
    assert isinstance(judge({"properties": {"x": {"items": named}}}, {"x": value}), Violating)


@pytest.mark.parametrize(
    "value, fits", [(1, True), (1.0, True), (2.0, False), (1.5, False), (True, False), ([1.0], True)]
)
def test_a_float_is_the_integer_that_is_named_where_it_is_equal(value: Any, fits: bool) -> None:
    verdict = judge({"properties": {"x": {"enum": [1, [1]]}}}, {"x": value})
    assert isinstance(verdict, Conforming if fits else Violating)


def test_integers_of_many_digits_that_are_to_be_numbers_are_paid_for() -> None:
    numbers = {"properties": {"x": {"items": {"allOf": [{"type": "number"}] * 100}}}}
    long = [10**4_299 + i for i in range(1_000)]
    verdict = judge(numbers, {"x": long})
    assert isinstance(verdict, Unenforceable)
    assert verdict.reason == "too_complex"
    assert isinstance(judge(numbers, {"x": [2**70] * 10}), Conforming)
    assert isinstance(judge({"properties": {"x": {"items": {"type": "number"}}}}, {"x": long[:10]}), Conforming)


# --- the questions of one check


def compiled(schema: dict[str, Any]) -> CompiledSchema:
    made = Contract("t", schema).output
    assert made is not None
    return made


ROWS: Final[list[Any]] = [{"a": i} for i in range(1_000)]
SIZE: Final = Size(2_001, 2_000, tame=True, floats=False)


def asked(look: Look) -> int:
    """How often a look may still be asked about the rows."""
    for nth in range(BUDGET):
        try:
            look.is_valid(ROWS)
        except Undecided as undecided:  # noqa: PERF203  # the one that ends it
            assert "are allowed in one check" in str(undecided)  # noqa: PT017  # how many came before it counts too
            return nth
    pytest.fail("as often as one likes")


@pytest.mark.parametrize("size", [None, SIZE])
def test_all_questions_share_what_one_check_may_cost(size: Size | None) -> None:
    look = Look(compiled({"items": {"properties": {"a": {"type": "integer"}}}}), size)
    assert 10 < asked(look) < BUDGET // 2_001
    assert asked(look) == 0


@pytest.mark.parametrize("size", [None, SIZE])
def test_what_does_not_fit_is_explained_without_being_paid_for_twice(size: Size | None) -> None:
    schema = compiled({"items": {"properties": {"a": {"type": "string"}}}})
    alone, explained = Look(schema, size), Look(schema, size)
    assert not alone.is_valid(ROWS)
    assert not explained.is_valid(ROWS)
    assert len(explained.violations(ROWS)[0]) == 20
    assert asked(explained) == asked(alone)


@pytest.mark.parametrize("size", [None, SIZE])
def test_a_value_that_the_engine_refuses_is_undecided(size: Size | None) -> None:
    look = Look(compiled({"properties": {"a": {"type": "array"}}}), size)
    with pytest.raises(Undecided, match="gave no answer"):
        look.is_valid({"a": {1, 2}})


def test_what_is_usually_asked_stays_compiled_whatever_else_is_needed(given: list[set[str]]) -> None:
    schema = compiled({"properties": {"a": {"pattern": "(?=a)a", "format": "date"}}})
    for power in range(2, 7):
        for formats in (False, True):
            schema.is_valid({"a": "a" * 10**power}, formats=formats)
    made = len(given)
    assert made > 4
    assert schema.is_valid({"a": "a"})
    assert len(given) == made
