"""What the engine takes is known before it is asked: what it reads again and again, and what it keeps while it does."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import pytest

from mcp_guard import Conforming, Contract, Limits, Unenforceable, _engine, check
from mcp_guard._effort import BUDGET, Effort, Estimator, TooMuch
from mcp_guard._patterns import cost_of
from mcp_guard._references import survey

with_engine = pytest.mark.skipif(not _engine.available(), reason="about jsonschema-rs")
INTEGERS: Final = {"unevaluatedProperties": {"type": "integer"}}


def estimator(schema: dict[str, Any]) -> Estimator:
    return Estimator(survey(schema, Limits(), {}))


def closely(schema: dict[str, Any], value: Any, allowed: int = 1 << 60) -> Effort:
    """What one look at the value costs, however much that is."""
    weighs = estimator(schema)
    return weighs.closely(value, weighs.size(value), formats=False, allowed=allowed)


def judge(schema: dict[str, Any], value: Any) -> Any:
    return check({"content": [], "structuredContent": value}, Contract("tool", schema))


def members(count: int) -> dict[str, Any]:
    return {f"p{i}": 1 for i in range(count)}


# --- what tells which parts are evaluated ----------------------------------------------------------------------------

BRANCHES: Final[dict[str, Any]] = {
    "anyOf": [{"properties": {f"p{i}": {}}} for i in range(50)],
    "allOf": [{"properties": {f"p{i}": {}}} for i in range(50)],
    "dependentSchemas": {f"p{i}": {"properties": {f"p{i}": {}}} for i in range(50)},
    "patternProperties": {f"^p{i}$": {} for i in range(50)},
}


@pytest.mark.parametrize("keyword", BRANCHES)
def test_each_branch_that_may_evaluate_members_counts_for_each_member(keyword: str) -> None:
    schema = {keyword: BRANCHES[keyword]}
    without = closely(schema, members(1_000)).units
    # 45 ns and 31 bytes for each branch and member: the budget is that of the memory too
    assert closely({**schema, **INTEGERS}, members(1_000)).units - without >= 50 * 1_000 * 6


@pytest.mark.parametrize("keyword", ["if", "$ref"])
def test_what_is_reached_through_other_keywords_counts_as_well(keyword: str) -> None:
    branch: dict[str, Any] = {"properties": {"p0": {}}}
    inner = {"if": branch, "then": branch} if keyword == "if" else {"$ref": "#/$defs/a"}
    schema = {"allOf": [inner] * 50, "$defs": {"a": branch}}
    without = closely(schema, members(1_000)).units
    assert closely({**schema, **INTEGERS}, members(1_000)).units - without >= 50 * 1_000 * 6


@pytest.mark.parametrize("keyword", ["anyOf", "allOf", "oneOf"])
@pytest.mark.parametrize("again", ["unevaluatedProperties", "unevaluatedItems"])
def test_on_each_level_that_goes_through_the_one_below_it_is_more_than_twice_as_much(keyword: str, again: str) -> None:
    units: list[int] = []
    schema: dict[str, Any] = {"properties": {"a": {}}, "prefixItems": [{}]}
    for _ in range(6):
        schema = {keyword: [schema], again: {"type": "integer"}}
        units.append(closely(schema, members(1_000) if again.endswith("Properties") else [1] * 1_000).units)
    assert all(after > 2.4 * before for before, after in pairwise(units[2:]))


def test_what_the_size_alone_tells_is_no_less_than_what_the_value_does() -> None:
    for keyword, branches in BRANCHES.items():
        schema = {keyword: branches, **INTEGERS}
        weighs = estimator(schema)
        value = members(200)
        rough = weighs.roughly(weighs.size(value), formats=False, allowed=1 << 60)
        assert rough is not None
        assert rough.units >= 50 * 200 * 6, keyword


@with_engine
def test_one_object_of_many_members_under_many_branches_is_too_complex() -> None:
    schema = {"anyOf": [{"properties": {f"p{i}": {}}} for i in range(480)], **INTEGERS}
    verdict = judge(schema, members(100_000))
    assert isinstance(verdict, Unenforceable)
    assert verdict.reason == "too_complex"
    assert isinstance(judge(schema, members(1_000)), Conforming)


def test_places_of_tuples_are_paid_for_where_many_subschemas_have_them() -> None:
    schema: dict[str, Any] = {"items": {"anyOf": [{"prefixItems": [{}] * i} for i in range(1, 70)]}}
    few = closely({"items": {"anyOf": [{"prefixItems": [{}]}] * 69}}, [[1] * 70]).units
    assert closely(schema, [[1] * 70]).units > few + 69 * 69 * 125


# --- numbers ---------------------------------------------------------------------------------------------------------

ROW: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 0},
        "state": {"enum": ["new", "sold"]},
        "price": {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "null"}]},
    },
    "required": ["id"],
}


def roughly(schema: dict[str, Any], value: Any, allowed: int = BUDGET) -> Effort | None:
    weighs = estimator(schema)
    return weighs.roughly(weighs.size(value), formats=False, allowed=allowed)


def test_rows_of_several_megabytes_are_known_by_their_size_alone() -> None:
    rows = [{"id": i, "state": "new", "price": i / 4} for i in range(90_000)]
    effort = roughly({"items": ROW}, rows)
    assert effort is not None
    assert not effort.exact


def test_numbers_that_are_compared_exactly_cost_more_of_any_value() -> None:
    schema = {"items": {"properties": {"id": {"type": "integer", "minimum": 0}}}}
    few = [{"id": i} for i in range(100)]
    tame, exact = (roughly(schema, [*few, {"id": more}]) for more in (1, 2**64))
    assert tame is not None
    assert exact is not None
    assert exact.exact
    assert exact.units > 2 * tame.units


def test_what_a_value_costs_does_not_depend_on_what_was_weighed_before() -> None:
    weighs = estimator({"properties": {f"p{i}": ROW for i in range(100)}})
    small, large = {"p1": {"id": 1}}, {"p1": [0] * 300_000}

    def rough(value: Any) -> Effort | None:
        return weighs.roughly(weighs.size(value), formats=False, allowed=BUDGET)

    before = rough(small)
    assert before is not None
    assert rough(large) is not None
    assert rough(small) == before


INSIDE: Final = {"const": {"a": [1]}}


@pytest.mark.parametrize(
    "named, value, exact",
    [
        ({"enum": [1, 2]}, [1, 2], False),
        ({"enum": [1, 2]}, [1, 2.0], True),
        ({"enum": [1, "a"]}, ["a", 0.5], True),
        ({"const": 1}, [{"b": 0.5}], False),
        ({"const": True}, [0.5], False),
        ({"enum": ["a", None]}, [0.5], False),
        (INSIDE, [{"a": [1]}], False),
        (INSIDE, [{"a": [1.0]}], True),
        (INSIDE, [0.5], False),
        ({"not": {"anyOf": [{"const": 1}]}}, [0.5], True),
    ],
)
def test_numbers_are_exact_where_a_float_meets_an_integer_that_is_named(
    named: dict[str, Any], value: list[Any], exact: bool
) -> None:
    beside = {"properties": {"x": {"items": named}, "y": {"minimum": 0}}}
    assert closely(beside, {"x": value, "y": 1}).exact is exact
    rough = roughly(beside, {"x": value, "y": 1})
    assert rough is not None
    assert rough.exact or not exact


def test_an_integer_that_is_to_be_a_number_costs_by_the_square_of_its_digits() -> None:
    schema = {"items": {"type": "number"}}
    one, twice = (closely(schema, [10**digits] * 10) for digits in (2_000, 4_000))
    assert twice.reading > 3.5 * one.reading > 10_000
    assert twice.units > twice.reading
    assert closely({"items": {"anyOf": [{"type": ["number"]}] * 3}}, [10**2_000] * 10).reading == 3 * one.reading
    assert closely({"items": {"type": "integer"}}, [10**4_000] * 10).reading == 0
    assert closely(schema, [2**63 - 1, 1e300]).reading == 0
    assert roughly(schema, [10**2_000]) is None


# --- patterns --------------------------------------------------------------------------------------------------------

SQUARED: Final = (
    r"^(?:(?=.*$).)*$",
    r"^(?:a(?=.*$))*b$",
    r"^(?:(?=a{1000}).)*",
    r"^(?:(?=.{0,1000}).)*$",
    r"^(?:(?=a)(?:a*b|a))*$",
    r"^(?:(?=a)(?:a*b)?a)*$",
    r"^(a*)b?(?:(?=\1)a)*$",
)
"""They read up to the end at each character, with no step back."""
LINEAR: Final = (
    r"^(?!.*password).*$",
    r"^(?=.*[A-Z])(?=.*\d)(?=.*[a-z]).{8,}$",
    r"^abc(?!.*\.\.)[a-z.]+$",
    r"^(?:(?!foo).)*$",
    r"^(?!-)(?:[a-z0-9-]+\.)+[a-z]{2,}$",
    r"^(?:(?!-)[a-z0-9-]{1,63}(?<!-)\.)+[a-z]{2,}$",
)


def run(pattern: str, length: int) -> int:
    return closely({"pattern": pattern}, "a" * length).units


@pytest.mark.parametrize("pattern", SQUARED)
def test_a_look_ahead_in_a_repeat_counts_by_the_square_of_the_length(pattern: str) -> None:
    assert run(pattern, 40_000) > 3 * run(pattern, 20_000) > 20_000**2 // 7
    assert closely({"patternProperties": {pattern: {}}}, {"a" * 20_000: 1}).units > 20_000**2 // 7


def test_a_look_ahead_at_each_character_that_another_sees_counts_by_the_third_power() -> None:
    pattern = r"^(?:(?=(?:(?=.*$).)*$).)*$"
    assert run(pattern, 2_000) > 7 * run(pattern, 1_000)


@pytest.mark.parametrize("pattern", LINEAR)
def test_what_reads_a_text_a_few_times_counts_by_its_length(pattern: str) -> None:
    assert run(pattern, 20_000) < 2.1 * run(pattern, 10_000) < 10_000 * 200


@pytest.mark.parametrize("pattern", LINEAR[:3])
def test_look_aheads_at_fixed_places_take_no_steps_back(pattern: str) -> None:
    assert closely({"pattern": pattern}, "a" * 100).strings == 0


@pytest.mark.parametrize(
    "pattern",
    ["(?=a)b", "^(?=a)b|c", "^a?(?=b)c", "^(?:(?=a)b)?c", "^(?<=a)b", r"^(a)(?=b)\1", "^(?=(?=a)b)c", "^(?=a"],
)
def test_all_others_may_step_back(pattern: str) -> None:
    assert closely({"pattern": pattern}, "a" * 100).strings == 1


def test_a_repeat_in_a_look_ahead_counts_again_after_each_step_back() -> None:
    inside, outside = "^a?a?(?=(?:(?=a).)*$)b", "^a?a?(?:(?=a).)*$"
    assert closely({"pattern": inside}, "a" * 1_000).again > 10 * closely({"pattern": outside}, "a" * 1_000).again


@pytest.mark.parametrize(
    "pattern, least, most",
    [
        ("[\u0410-\u042f].{12}0", 70, 100),
        (r"\p{Lu}\p{L}{185}\d", 390, 500),
        ("a[ab]{14}c", 58, 80),
        ("^.*a[ab]{14}c", 58, 90),
        ("^(?:[ab]|a[ab]{14}c)*d", 58, 80),
        ("a[ab]{5}c", 2, 2),
        (r"^[a-zA-Z0-9_-]{1,64}$", 2, 2),
        (r"^\+?[1-9]\d{1,14}$", 2, 2),
        (r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$", 2, 2),
        ("^(a|b)[ab]{20}$", 20, 30),
        (r"^\p{L}+$", 2, 2),
        (r"^(?=\p{L}+$)\p{Lu}+", 4, 4),
        ("^a|b[ab]{20}c", 50, 90),
    ],
)
def test_a_character_costs_by_the_places_at_which_matching_may_stand(pattern: str, least: int, most: int) -> None:
    assert least <= cost_of(pattern).character <= most


def test_a_pattern_that_is_referred_to_often_counts_each_time() -> None:
    schema = {"allOf": [{"$ref": "#/$defs/a"}] * 200, "$defs": {"a": {"pattern": "x.{10}y"}}}
    weighs = estimator(schema)
    text = "x" * 100_000
    with pytest.raises(TooMuch):
        weighs.closely(text, weighs.size(text), formats=False, allowed=BUDGET)
    assert weighs.roughly(weighs.size(text), formats=False, allowed=BUDGET) is None


@with_engine
@pytest.mark.parametrize("pattern", [LINEAR[0], LINEAR[1]])
def test_many_ordinary_texts_are_held_against_look_aheads(pattern: str) -> None:
    lines = ["2024-01-01T00:00:00 Something happened here and there in the system"] * 20_000
    assert isinstance(judge({"properties": {"x": {"items": {"pattern": pattern}}}}, {"x": lines}), Conforming)
