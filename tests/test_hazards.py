"""The corpus of hostile servers: every one ends in a verdict, with the engine and without, and none in a foreign error.

What it costs is what `make hazards` measures. Here it counts that all of it ends, and what comes out.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from typing import Any, Final, get_args

import pytest
from benchmarks.hostile import GROUPS, HAZARDS, Group, Hazard

from mcp_guard import (
    Contract,
    GuardError,
    Limits,
    Unenforceable,
    UnusableContractError,
    Verdict,
    Violating,
    _engine,
    check,
)
from mcp_guard._judge import Judge
from mcp_guard._log import say_once

VERDICTS = get_args(Verdict)


@pytest.fixture(params=["engine", "no engine"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """With jsonschema-rs, and as if it were not there."""
    if request.param == "no engine":
        monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    elif not _engine.available():
        pytest.skip("there is no jsonschema-rs here")
    return bool(request.param == "engine")


def at(value: Any, pointer: str) -> Any:
    """What a JSON pointer (RFC 6901) leads to."""
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def judged(hazard: Hazard) -> Verdict:
    tool, result = hazard.make()
    contract = Contract.from_tool(tool)
    assert len(contract.fingerprint) == 64
    return check(result, contract)


def hold(hazard: Hazard, verdict: Verdict) -> None:
    """What is promised of every verdict."""
    assert isinstance(verdict, VERDICTS), hazard.name
    if isinstance(verdict, Violating):
        assert 1 <= len(verdict.violations) <= Limits().violations, hazard.name
        for violation in verdict.violations:
            assert violation.keyword, hazard.name
            found = at(verdict.value, violation.pointer)
            name = violation.value if isinstance(violation.value, str) else None
            is_name = isinstance(found, dict) and name in found  # refused by propertyNames
            assert found is violation.value or is_name, hazard.name
    error = raised(verdict)
    if error is not None:
        assert len(str(error)) <= 500, hazard.name
        assert len(error.for_model()) <= 300, hazard.name
        assert json.dumps(error.to_dict()), hazard.name
        assert error.explain(values=True), hazard.name


def raised(verdict: Verdict) -> GuardError | None:
    """What a verdict raises where it has no value. Anything but a `GuardError` comes out."""
    try:
        verdict.unwrap()
    except GuardError as error:
        return error
    return None


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.title)
def test_every_hazard_ends_in_a_verdict_that_keeps_its_promises(group: Group) -> None:
    for hazard in group.hazards:
        if not hazard.heavy:
            hold(hazard, judged(hazard))


@pytest.mark.skipif(not _engine.available(), reason="only jsonschema-rs is fast enough for all of them")
@pytest.mark.parametrize("name", [hazard.name for hazard in HAZARDS.values() if hazard.wanted])
def test_what_is_large_and_means_no_harm_is_let_through(name: str) -> None:
    hazard = HAZARDS[name]
    tool, result = hazard.make()
    verdict = check(result, Contract.from_tool(tool))
    assert type(verdict).__name__ == hazard.wanted
    hold(hazard, verdict)


# --- what is said where a bound is crossed


NUMERIC: Final = {"minimum": 0, "maximum": 1, "multipleOf": 1, "uniqueItems": True}
CROSSED: Final[dict[str, tuple[Any, Any, str]]] = {
    "subschemas": (
        {"properties": {f"p{i}": {} for i in range(Limits().subschemas + 1)}},
        {},
        r"subschemas: 5000 are allowed, found more",
    ),
    "compositions": ({"allOf": [{}] * 1_001}, {}, r"compositions: 1000 are allowed, found 1001"),
    "pattern length": ({"pattern": "a" * 5_001}, {}, r"pattern_length: 5000 are allowed, found 5001"),
    "schema bytes": ({"title": "a" * 300_000}, {}, r"schema_bytes: 300000 are allowed, found \d+ or more"),
    "schema depth": (
        {"not": json.loads("[" * 250 + "]" * 250)},
        {},
        r"schema_depth: 200 are allowed, found 201 or more",
    ),
    "patterns": (
        {"patternProperties": {rf"\p{{L}}{i}": {} for i in range(250)}},
        {},
        r"microseconds of compiling patterns: 60000 are allowed, found \d+",
    ),
    "identifiers": (
        {"$id": "a/" * 60_000, "$defs": {f"d{i}": {"$id": "b"} for i in range(10)}},
        {},
        r"characters of identifiers, each in full: 1000000 are allowed, found more",
    ),
    "places": (
        {"properties": {"a" * 100_000: {"properties": {f"p{i}": {"type": "null"} for i in range(100)}}}},
        {},
        r"characters of places in the schema, each in full: 24000000 are allowed, found \d+",
    ),
    "copies": (
        {
            **NUMERIC,
            "properties": {"a": {**NUMERIC, "properties": {"b": {**NUMERIC, "enum": list(range(45_000))}}}},
        },
        {},
        r"values beside or below keywords of numbers: 400000 are allowed, found \d+",
    ),
    "work": (
        {"properties": {"x": {"items": {"anyOf": [{"const": i} for i in range(900)]}}}},
        {"x": [-1] * 20_000},
        r"units of work, of 7 ns: 16000000 are allowed in one check, found \d+ or more",
    ),
    "backtracking": (
        {"properties": {"x": {"items": {"pattern": r"^((?!b)a+)+$"}}}},
        {"x": ["a" * 50 + "!"] * 10_000},
        r"steps of backtracking on a text: 5 are allowed for so many texts, found more",
    ),
}


@pytest.mark.skipif(not _engine.available(), reason="these are the words where there is jsonschema-rs")
@pytest.mark.parametrize("what", CROSSED)
def test_too_complex_names_the_limit_what_is_allowed_and_what_was_found(what: str) -> None:
    schema, value, says = CROSSED[what]
    verdict = check({"content": [], "structuredContent": value}, Contract("t", schema))
    assert isinstance(verdict, Unenforceable)
    assert verdict.reason == "too_complex"
    assert re.fullmatch(says, verdict.detail)
    with pytest.raises(UnusableContractError, match="are allowed"):
        verdict.unwrap()


def test_without_the_engine_the_steps_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    contract = Contract("t", {"properties": {"x": {"items": {"type": "integer"}}}})
    verdict = check({"content": [], "structuredContent": {"x": [1] * 100_000}}, contract)
    assert isinstance(verdict, Unenforceable)
    assert verdict.detail == "steps without jsonschema-rs: 60000 are allowed in one check, found more"


# --- what was found by hand


@pytest.mark.skipif(not _engine.available(), reason="jsonschema-rs hashes them")
@pytest.mark.parametrize("last, expected", [([], "Conforming"), ([[0, 5]], "Violating")], ids=["unique", "twice"])
def test_values_of_one_hash_are_told_apart(last: Any, expected: str) -> None:
    one_double = [[0, 2**62 + i] for i in range(3_000)]
    brackets = [json.loads("[" * i + "]" * i) for i in range(1, 190)]
    rest = [[0, i] for i in range(10)]
    contract = Contract("t", {"properties": {"x": {"uniqueItems": True}}})
    value = {"x": [*one_double, *brackets, *rest, *last]}
    assert type(check({"content": [], "structuredContent": value}, contract)).__name__ == expected


NUMBERS: Final = [0, -0.0, 0.5, 7, 7.0, 19.99, 0.07, -3, 2**53 + 1, 2**64 + 1, 10**30, 1e300, 5e-324, 1e23, 123456.789]
BOUNDS: Final = [0, 0.5, 7, 7.0, 2**63, 10**30, 1e300, 5e-324, 19.99]
COMPARING: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
DIVISORS: Final = [1, 7, 0.01, 0.5, 1.0, 1e-10, 10**20, 0.3, 1e22, 5e-324, 2.5]


@pytest.mark.skipif(not _engine.available(), reason="compares with jsonschema-rs")
@pytest.mark.parametrize(
    "keyword", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "const"]
)
def test_numbers_that_are_handed_over_are_compared_as_the_engine_does(keyword: str) -> None:
    import jsonschema_rs

    for asked in DIVISORS if keyword == "multipleOf" else BOUNDS:
        alone = jsonschema_rs.Draft202012Validator({keyword: asked})
        exact = _engine.Decider({keyword: asked}, "draft2020-12", formats=False, exact=True)
        for number in NUMBERS:
            for each in (number, -number, [number]):
                assert exact(each) is alone.is_valid(each), (keyword, asked, each)


@pytest.mark.skipif(not _engine.available(), reason="compares with jsonschema-rs")
def test_values_that_are_handed_over_are_equal_as_the_engine_has_it() -> None:
    import jsonschema_rs

    values: list[Any] = [*NUMBERS, True, False, None, "", "1", [], {}, [1], [True], [1.0], [[]]]
    values += [{"a": 1}, {"a": 1.0}, {"a": True}]
    values += [{"a": [1, {"b": 2}]}, {"a": [1, {"b": 2.0}]}, {"b": 1, "a": 2}, {"a": 2, "b": 1}]
    for one in values:
        alone = jsonschema_rs.Draft202012Validator({"enum": [one, "x", {"y": []}]})
        exact = _engine.Decider({"enum": [one, "x", {"y": []}]}, "draft2020-12", formats=False, exact=True)
        only = _engine.Decider({"const": one}, "draft2020-12", formats=False, exact=True)
        for other in values:
            assert exact(other) is alone.is_valid(other), (one, other)
            assert only(other) is jsonschema_rs.Draft202012Validator({"const": one}).is_valid(other), (one, other)


@pytest.mark.skipif(not _engine.available(), reason="plain Python can be interrupted anywhere")
def test_an_interruption_inside_the_engine_comes_out() -> None:
    class Stops(dict[str, Any]):
        def keys(self) -> Any:
            raise KeyboardInterrupt

        __iter__ = keys

    decide = _engine.Decider({"uniqueItems": True}, "draft2020-12", formats=False)
    with pytest.raises(KeyboardInterrupt):
        decide([Stops(), Stops()])
    assert decide([1, 2])
    assert not decide([1, 1])


@pytest.mark.parametrize(
    "schema", [{"$ref": "#a", "$defs": {"a": {"$anchor": "a"}}}, {"$ref": "#/x-kept/a", "x-kept": {"a": {}}}]
)
def test_a_panic_of_the_library_that_resolves_is_a_schema_that_can_not_be_used(
    schema: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicException(BaseException):
        """What rpds raises is of this name, and no `Exception`."""

    def panic(*_: object, **__: object) -> None:
        raise PanicException

    monkeypatch.setattr("referencing.Registry.crawl", panic)
    contract = Contract("t", schema)
    assert contract.unusable is not None
    assert contract.unusable.reason == "invalid_schema"


DEEP: Final = """
import sys, threading
from mcp_guard import Contract, check
schema = {"properties": {"a": {"$ref": "#/$defs/n"}}}
for _ in range(18):
    schema = {"dependentSchemas": {"a": schema}}
value = 1
for _ in range(199):
    value = {"a": value}
def run():
    contract = Contract("t", {"$ref": "#/$defs/n", "$defs": {"n": schema}})
    print(type(check({"content": [], "structuredContent": value}, contract)).__name__)
threading.stack_size(1 << 20)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


def test_the_deepest_recursion_that_is_let_through_fits_a_stack_of_a_megabyte() -> None:
    command = [sys.executable, "-c", DEEP]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)  # noqa: S603  # our own text
    assert done.stdout.split() == ["Conforming"]


def test_once_a_process_it_is_said_that_there_is_no_engine(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    say_once.cache_clear()
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    for _ in range(3):
        Judge(clock=time.monotonic)
    assert [record.getMessage() for record in caplog.records] == [
        "jsonschema-rs is not installed: jsonschema decides, and what it can't check in bounded time is too_complex"
    ]
    say_once.cache_clear()
