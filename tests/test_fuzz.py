"""`check`, held against plain `jsonschema` on schemas and values that nobody thought of; and what that once found.

In the suite these are some hundred runs, the same each time. `make fuzz` lets them run long and anew; docs/fuzzing.md.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from fuzz import seeds, targets
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from jsonschema import SchemaError, validators

from mcp_guard import Contract, _engine, check
from mcp_guard._dialects import DEFAULT, URIS, Dialect, dialect_of
from mcp_guard._verdict import Conforming, Unenforceable, Violating
from support.oracle import Fault, NoAnswerError, Oracle
from support.strategies import DIALECTS, FORMATS, changed, fitting, schemas, values

RUNS: Final = int(os.environ.get("FUZZ_RUNS", "0"))
"""How many examples of each test; 0: the few of the suite, the same each time."""

ENGINES: Final = ["jsonschema-rs", "jsonschema"] if _engine.available() else ["jsonschema"]
every_engine = pytest.mark.parametrize("engine", ENGINES)


def fuzz(runs: int) -> settings:
    """The settings of a test that takes `runs` examples in the suite."""
    return settings(
        max_examples=RUNS or runs,
        derandomize=not RUNS,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large],
    )


def judged_by(engine: str) -> Any:
    """A context in which that engine decides."""
    return targets.without_engine() if engine == "jsonschema" else nullcontext()


# --- against jsonschema ----------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """A schema, and some values for it."""

    schema: Any
    dialect: Dialect
    values: list[Any]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Schemas of every dialect, and values of which some were made to fit."""
    dialect = draw(st.sampled_from(DIALECTS))
    made = draw(schemas(dialect))
    return Case(made.schema, dialect, [draw(st.one_of(*[fitting(made)] * 4, values())) for _ in range(3)])


@every_engine
@fuzz(100)
@given(case=cases())
def test_what_fits_and_what_does_not_is_what_jsonschema_says(case: Case, engine: str) -> None:
    judge_alike(case, engine)


def judge_alike(case: Case, engine: str) -> None:
    """Each value of a case has the verdict that the oracle says."""
    with judged_by(engine):
        contract = Contract("tool", case.schema)
        assert contract.unusable is None
        for value in case.values:
            agree(contract, case, value)


def agree(contract: Contract, case: Case, value: Any, *, may_be_undecided: bool = False) -> None:
    """The verdict is what the oracle says, and so is each violation."""
    verdict = check({"content": [], "structuredContent": value, "resultType": "complete"}, contract)
    if may_be_undecided and isinstance(verdict, Unenforceable):
        assert verdict.reason == "too_complex"
        return
    try:
        expected = Oracle(case.schema, case.dialect).faults(value)
        misformed = Oracle(case.schema, case.dialect, formats=True).faults(value)
    except NoAnswerError:
        event("jsonschema fails")
        assert isinstance(verdict, (Conforming, Violating))
        return
    event("does not fit" if expected else "fits")
    if isinstance(verdict, Violating):
        found = {Fault(each.pointer, each.keyword) for each in verdict.violations}
        assert expected, f"only the guard finds {found}"
        assert unexpected(found, expected) == set()
        if not verdict.truncated:
            assert {fault.keyword for fault in expected - found} <= SAID_LESS_OFTEN
    else:
        assert isinstance(verdict, Conforming)
        assert not expected
        if FORMATS.keys() >= {*re.findall('"format": "(.*?)"', json.dumps(case.schema))}:
            assert bool(misformed) is any(deviation.code == "format" for deviation in verdict.deviations)


SAID_LESS_OFTEN: Final = {
    None,  # a false schema: see `unexpected`
    "unevaluatedProperties",  # to jsonschema, what fails additionalProperties beside it has not been evaluated either
}


def unexpected(found: set[Fault], expected: set[Fault]) -> set[Fault]:
    """What the oracle does not report. It names no `false` schema, and leaves out the last step to it."""
    refused = tuple(fault.pointer for fault in expected if fault.keyword is None)
    return {
        fault
        for fault in found - expected
        if fault.keyword != "false" or not refused or not fault.pointer.startswith(refused)
    }


# --- real tools, changed ---------------------------------------------------------------------------------------------

RECORDED: Final = Path(__file__).parent / "data" / "recordings"


@cache
def real() -> list[tuple[dict[str, Any], Any]]:
    """Schemas that servers sent, each with a value that they sent or were sent for it."""
    found: dict[str, tuple[dict[str, Any], Any]] = {}
    for path in sorted(RECORDED.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            call = json.loads(line)
            tool = call["tool"]
            for schema, value in (
                (tool.get("inputSchema"), call.get("arguments")),
                (tool.get("outputSchema"), call.get("result", {}).get("structuredContent")),
            ):
                text = json.dumps(schema)
                if schema and value is not None and len(text) + len(json.dumps(value)) < 6_000:
                    found.setdefault(text, (schema, value))
    return [*found.values()]


def dialect(schema: dict[str, Any]) -> Dialect:
    """The dialect of a real schema."""
    return dialect_of(schema.get("$schema")) or DEFAULT


@st.composite
def real_cases(draw: st.DrawFn) -> Case:
    """Real schemas, with real values that were changed."""
    schema, value = draw(st.sampled_from(real()))
    return Case(schema, dialect(schema), [draw(changed(value)) for _ in range(3)])


@every_engine
@fuzz(60)
@given(case=real_cases())
def test_a_real_value_that_was_changed_is_judged_as_jsonschema_judges_it(case: Case, engine: str) -> None:
    with judged_by(engine):
        contract = Contract("tool", case.schema)
        for value in case.values:
            agree(contract, case, value, may_be_undecided=engine == "jsonschema" and "pattern" in str(case.schema))


@st.composite
def changed_schemas(draw: st.DrawFn) -> Case:
    """Schemas, real and made, that were changed: many are what no dialect asks for."""
    if draw(st.booleans()):
        schema, value = draw(st.sampled_from(real()))
        known = dialect(schema)
    else:
        known = draw(st.sampled_from(DIALECTS))
        made = draw(schemas(known))
        schema, value = made.schema, draw(fitting(made))
    named = {word: asked for word, asked in schema.items() if word == "$schema"}  # else most were of another dialect
    spoilt = draw(changed({word: asked for word, asked in schema.items() if word not in named}, 2))
    return Case({**spoilt, **named} if isinstance(spoilt, dict) else spoilt, known, [value])


def refused_by(case: Case) -> str | None:
    """The keyword of the metaschema that a schema breaks."""
    try:
        validators.validator_for({"$schema": URIS[case.dialect]}).check_schema(case.schema)
    except SchemaError as error:
        return str(error.validator)
    return None


TAKEN_STILL: Final = {
    # without the engine, only Python knows what a pattern is, and its patterns are others: left to the verdicts
    ("jsonschema", "format"),
    # the engine has nothing against an empty enum in draft-04, nor against one with two equal values
    ("jsonschema-rs", "minItems"),
    ("jsonschema-rs", "uniqueItems"),
}
"""What jsonschema finds wrong with a schema, and the guard, by one engine or the other, does not."""


def asked_besides(contract: Contract, schema: Any) -> bool:
    """Whether a contract is refused for what `jsonschema` does not see in a metaschema.

    The form of a reference is in none of them, as `format` is not asserted; and in their patterns, as in others, `$` is
    to Python also the place before a last newline.
    """
    return contract.unusable is not None and (
        contract.unusable.detail.endswith("is no URI reference") or '\\n"' in json.dumps(schema)
    )


@every_engine
@fuzz(100)
@given(case=changed_schemas())
def test_a_schema_is_usable_where_its_metaschema_takes_it(case: Case, engine: str) -> None:
    with judged_by(engine):
        contract = Contract("tool", case.schema)
        if not isinstance(case.schema, dict) or dialect(case.schema) != case.dialect:
            event("of another dialect, or none")
            return
        reason = contract.unusable and contract.unusable.reason
        event(reason or "usable")
        keyword = refused_by(case)
        if keyword is not None:
            assert reason is not None or (engine, keyword) in TAKEN_STILL
            return
        assert reason != "invalid_schema" or asked_besides(contract, case.schema)
        if reason is None:
            for value in case.values:
                agree(contract, case, value, may_be_undecided=True)


# --- any bytes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", targets.TARGETS)
def test_no_target_fails_on_what_fuzzing_begins_with(name: str) -> None:
    known = [*seeds.of(name)]
    assert len(known) > 300
    for seed in known[:: {"schema": 16, "result": 4}.get(name, 1)]:
        targets.TARGETS[name](seed)


@pytest.mark.parametrize("name", targets.TARGETS)
def test_no_target_fails_on_any_bytes(name: str) -> None:
    @fuzz(40)
    @given(data=st.one_of(st.binary(), values().map(lambda value: json.dumps(value).encode())))
    def holds(data: bytes) -> None:
        targets.TARGETS[name](data)

    holds()


# --- what was found --------------------------------------------------------------------------------------------------

BOTH_KINDS: Final = {"a": {"$id": "https://schemas.example/a", "required": ["b"]}, "c": ["d"]}
"""`referencing` fails over the list where a schema comes first, and passes by the schema where the list does."""


@every_engine
@pytest.mark.parametrize("known", ["draft6", "draft7", "draft2019-09"])
@pytest.mark.parametrize("order", [1, -1])
def test_dependencies_of_both_kinds_are_no_reason_to_refuse_a_schema(known: Dialect, order: int, engine: str) -> None:
    schema = {
        "$schema": URIS[known],
        "dependencies": dict([*BOTH_KINDS.items()][::order]),
        "properties": {"e": {"$ref": "https://schemas.example/a"}},
    }
    with judged_by(engine):
        contract = Contract("tool", schema)
        assert contract.unusable is None
        for value, places in (
            ({"a": 1, "b": 1}, []),
            ({"c": 1, "d": 1, "e": {"b": 1}}, []),
            ({"a": 1}, [("", "required")]),
            ({"c": 1}, [("", "dependencies")]),
            ({"e": {}}, [("/e", "required")]),
        ):
            verdict = check({"content": [], "structuredContent": value}, contract)
            assert isinstance(verdict, Violating if places else Conforming)
            if isinstance(verdict, Violating):
                assert [(each.pointer, each.keyword) for each in verdict.violations] == places


@every_engine
def test_dependencies_of_both_kinds_in_draft_4_where_a_subschema_is_never_a_boolean(engine: str) -> None:
    schema = {
        "$schema": URIS["draft4"],
        "id": "https://schemas.example/root",
        "dependencies": {"a": {"required": ["b"]}, "c": ["d"]},
        "additionalProperties": False,
        "items": {"id": "#item", "type": "string"},
        "definitions": {"list": {"items": {"$ref": "#item"}}},
    }
    with judged_by(engine):
        contract = Contract("tool", schema)
        assert contract.unusable is None
        verdict = check({"content": [], "structuredContent": {"a": 1}}, contract)
        assert isinstance(verdict, Violating)
        assert {each.keyword for each in verdict.violations} == {"additionalProperties", "required"}


@pytest.mark.parametrize("known", ["draft4", "draft2019-09", "draft2020-12"])
@pytest.mark.parametrize("word", ["$anchor", "$dynamicAnchor", "$recursiveAnchor", "$id", "id", "$vocabulary", "$defs"])
def test_anything_may_stand_where_a_name_has_to_and_nothing_is_raised(known: Dialect, word: str) -> None:
    # found: `$dynamicAnchor` was read in 2019-09, which does not know it, and an object there could not be hashed
    oddities: list[Any] = [{}, [[]], 1, None, "http://["]
    for odd in oddities:
        schema = {"$schema": URIS[known], "properties": {"a": {word: odd}}}
        targets.schema(json.dumps([schema, {"a": 1}]).encode())
