"""`check`: the decision table, row by row, on raw results and on the SDK's own model; and that nothing escapes it.

The cases of data/results.json: `schema` is the outputSchema ("absent": none, "unlisted": no contract at all), `policy`
fields laid over ENFORCE; what is not named under `verdict` and after it is not judged. `strict`: what differs there.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import datetime as dt
import decimal
import enum
import gc
import importlib
import itertools
import json
import math
import uuid
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_guard import ENFORCE, OBSERVE, RELAY, STRICT, Contract, GuardError, Limits, Policy, check
from mcp_guard._verdict import Conforming, Malformed, Missing, Unchecked, Unenforceable, Verdict, Violating, as_error
from mcp_guard.policy import ACTIONS
from support import LEGACY, MODERN, SDK_MAJOR
from support.calls import N, data, said

CASES: Final[list[dict[str, Any]]] = json.loads((Path(__file__).parent / "data" / "results.json").read_text("utf-8"))
NAMES: Final = [case["case"] for case in CASES]
ANYTHING: Final = {"type": "object"}

every_case = pytest.mark.parametrize("case", CASES, ids=NAMES)


def contract(schema: Any) -> Contract | None:
    """The contract of a case."""
    if schema == "unlisted":
        return None
    tool: dict[str, Any] = {"name": "t", "inputSchema": ANYTHING}
    return Contract.from_tool(tool if schema == "absent" else {**tool, "outputSchema": schema})


def verdict_of(case: dict[str, Any], policy: Policy = ENFORCE, result: Any = None) -> Verdict:
    """The verdict on the result of a case, or on another one in its place."""
    policy = dataclasses.replace(policy, **case.get("policy", {}))
    given_result = case["result"] if result is None else result
    return check(given_result, contract(case["schema"]), protocol=case.get("protocol", LEGACY), policy=policy)


def facts(verdict: Verdict) -> dict[str, Any]:
    """What a case may say about a verdict."""
    told: dict[str, Any] = {"verdict": type(verdict).__name__, "deviations": [d.code for d in verdict.deviations]}
    told |= {name: getattr(verdict, name) for name in FIELDS if hasattr(verdict, name)}
    if isinstance(verdict, Malformed):
        told["problems"] = [problem.code for problem in verdict.problems]
    if isinstance(verdict, Violating):
        told["pointers"] = sorted({violation.pointer for violation in verdict.violations})
        told["keywords"] = sorted({violation.keyword for violation in verdict.violations})
        told["count"] = len(verdict.violations)
    return told


FIELDS: Final = ("value", "source", "reason", "result_type", "truncated")


def misses(expected: dict[str, Any], verdict: Verdict) -> list[str]:
    """Where a verdict is not what is expected."""
    told = facts(verdict)
    wrong = []
    for name, asked in expected.items():
        if name == "failure":
            wrong += [f"failure.{k} is {got!r}" for k, v in asked.items() if (got := getattr(verdict.failure, k)) != v]  # type: ignore[union-attr]  # only an Errored has one
        elif name == "value" and told["verdict"] not in {"Conforming", "Unchecked"}:
            continue
        elif name == "deviations_include":
            wrong += [f"no {code}" for code in asked if code not in told["deviations"]]
        elif asked is not None or name == "value":
            fits = (
                told[name] in asked
                if name in {"verdict", "reason"} and isinstance(asked, list)
                else told[name] == asked
            )
            wrong += [] if fits else [f"{name} is {told[name]!r}, not {asked!r}"]
    return wrong


ABOUT: Final = {"case", "schema", "result", "protocol", "policy", "strict"}


def expected_of(case: dict[str, Any]) -> dict[str, Any]:
    """What is to come out under ENFORCE."""
    return {name: asked for name, asked in case.items() if name not in ABOUT}


def validator() -> Callable[[Any], Any]:
    if SDK_MAJOR == 1:
        made: Callable[[Any], Any] = importlib.import_module("mcp.types").CallToolResult.model_validate
    else:
        model = importlib.import_module("mcp_types").CallToolResult
        made = lambda raw: model.model_validate(raw, by_name=False)  # noqa: E731  # one of two
    return made


model_of: Final = validator()


def parsed(result: Any) -> Any:
    """The SDK's model of a result, or `None` where it takes it not, or not as it is."""
    try:
        model = model_of(result)
        dumped = model.model_dump(by_alias=True, exclude_unset=True, mode="python", warnings=False)
    except (ValueError, TypeError):
        return None
    return model if json.dumps(dumped, sort_keys=True, default=str) == json.dumps(result, sort_keys=True) else None


def tells(result: Any) -> str:
    """The protocol that a result is taken to be of, where nobody says."""
    return MODERN if isinstance(result, dict) and "resultType" in result else LEGACY


LOSSLESS: Final = [case for case in CASES if parsed(case["result"]) is not None]
TELLING: Final = [case for case in CASES if case.get("protocol", LEGACY) == tells(case["result"])]


@every_case
def test_a_result_is_what_the_decision_table_says(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case["result"])
    assert not misses(expected_of(case), verdict_of(case))
    assert case["result"] == before  # it is never changed


@every_case
def test_strict_looks_more_closely_and_no_more(case: dict[str, Any]) -> None:
    assert not misses({**expected_of(case), **case.get("strict", {})}, verdict_of(case, STRICT))


@every_case
def test_nothing_of_what_is_to_be_done_is_read(case: dict[str, Any]) -> None:
    allowing: dict[str, Any] = {**dict.fromkeys(ACTIONS, "allow"), "deviations": {"format": "raise", "*": "allow"}}
    verdict = verdict_of(case)
    assert verdict_of(case, Policy(**allowing)) == verdict
    assert verdict_of(case, OBSERVE) == verdict
    assert verdict_of(case, RELAY) == verdict
    as_strict = dataclasses.replace(STRICT, formats="report", compare_text=False)
    assert verdict_of(case, as_strict) == verdict


@pytest.mark.parametrize("case", LOSSLESS, ids=lambda case: case["case"])
def test_the_sdks_model_of_a_result_gets_the_same_verdict(case: dict[str, Any]) -> None:
    model = parsed(case["result"])
    raw, modelled = verdict_of(case), verdict_of(case, result=model)
    assert modelled == raw
    assert modelled.result is model


@pytest.mark.parametrize("case", TELLING, ids=lambda case: case["case"])
def test_the_protocol_may_be_left_out_where_the_result_tells_it(case: dict[str, Any]) -> None:
    policy = dataclasses.replace(ENFORCE, **case.get("policy", {}))
    assert check(case["result"], contract(case["schema"]), policy=policy) == verdict_of(case)


@every_case
def test_unwrap_gives_the_value_or_a_guard_error(case: dict[str, Any]) -> None:
    verdict = verdict_of(case)
    if isinstance(verdict, (Conforming, Unchecked)):
        assert verdict.unwrap() is verdict.value
    else:
        with pytest.raises(GuardError):
            verdict.unwrap()


def test_most_cases_go_through_the_sdks_model_as_well() -> None:
    assert len(LOSSLESS) > len(CASES) * 3 / 4


def test_the_cases_have_each_verdict_and_each_name_once() -> None:
    assert {type(verdict_of(case)) for case in CASES} == set(get_args(Verdict))
    assert len(set(NAMES)) == len(NAMES)


# --- results that were made by hand, with the SDK's own classes


SDK: Final[Any] = importlib.import_module("mcp.types" if SDK_MAJOR == 1 else "mcp_types")
STRUCTURED: Final = "structuredContent" if SDK_MAJOR == 1 else "structured_content"


def test_a_model_made_by_hand_is_read_by_what_was_set() -> None:
    block = SDK.TextContent(type="text", text='{"n":1}')
    held_against = Contract("t", N)
    assert facts(check(SDK.CallToolResult(content=[block]), held_against))["source"] == "text"
    with_data = SDK.CallToolResult(**{"content": [block], STRUCTURED: {"n": 2}})
    assert check(with_data, held_against).unwrap() is with_data.__dict__[STRUCTURED]
    with_null = SDK.CallToolResult(**{"content": [block], STRUCTURED: None})
    assert facts(check(with_null, held_against))["source"] == "text"
    assert facts(check(with_null, held_against, protocol=MODERN))["verdict"] == "Violating"


@pytest.mark.parametrize(
    "members, problems",
    [
        ({"content": "x"}, ["content_type"]),
        ({"content": ["x"]}, ["block_type"]),
        ({"content": [], STRUCTURED: {"n": math.nan}}, ["not_finite"]),
        ({"content": [], STRUCTURED: {"n": object()}}, ["not_json"]),
        ({}, ["content_missing"]),
    ],
    ids=lambda part: part[0] if isinstance(part, list) else "",
)
def test_a_model_that_was_never_validated_is_refused_as_its_json_would_be(members: Any, problems: list[str]) -> None:
    model = SDK.CallToolResult.model_construct(**members)
    assert facts(check(model, Contract("t", N)))["problems"] == problems


def test_a_block_that_was_never_validated_is_read_without_a_warning() -> None:
    block = SDK.TextContent.model_construct(type="text", text=5)
    verdict = check(SDK.CallToolResult.model_construct(content=[block]), Contract("t", N))
    assert facts(verdict) == {"verdict": "Missing", "reason": "no_text", "deviations": ["unknown_block"]}


@pytest.mark.parametrize("other", [None, 5, "x", [], object(), dict, SDK.CallToolResult])
def test_what_is_no_result_at_all_is_no_object(other: Any) -> None:
    assert facts(check(other, None))["problems"] == ["not_an_object"]


# --- what a file of JSON can't say


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf], ids=str)
@pytest.mark.parametrize(
    "place",
    [
        lambda x: {"content": [], "structuredContent": {"a": [x]}},
        lambda x: {"content": [], "structuredContent": x},
        lambda x: {"content": [{"type": "text", "text": "a", "_meta": {"a": x}}]},
        lambda x: {"content": [], "_meta": {"a": x}},
        lambda x: {"content": [], "isError": True, "structuredContent": x},
        lambda x: {"content": [], "resultType": "task", "own": x},
    ],
    ids=["data", "the data itself", "a block", "_meta", "an error", "an unfinished answer"],
)
def test_a_number_that_is_none_is_refused_wherever_it_stands(value: float, place: Callable[[float], Any]) -> None:
    for held_against in (None, Contract("t", ANYTHING), Contract("t", {"type": 5})):
        assert facts(check(place(value), held_against))["problems"] == ["not_finite"]


def test_all_problems_are_named_at_once_but_a_limit_stands_alone() -> None:
    several = {"content": [math.nan], "isError": "x", "_meta": {"\ud800": 1}}
    assert facts(check(several, None))["problems"] == ["block_type", "error_flag", "not_finite", "surrogate"]


class Colour(str, enum.Enum):
    """Text that is more than text."""

    RED = "red"


class Pair(NamedTuple):
    """A tuple that is more than a tuple."""

    a: int


@pytest.mark.parametrize(
    "value",
    [
        decimal.Decimal(1),
        b"x",
        (1,),
        Pair(1),
        {1, 2},
        1j,
        object(),
        dict,
        dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc),
        uuid.UUID(int=1),
        {1: 2, "a": 1},
        iter([]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_python_value_that_is_no_json_is_refused(value: Any) -> None:
    for sent in (value, {"n": value}, {"n": [[value]]}):
        assert facts(check(data(sent), Contract("t", {})))["problems"] == ["not_json"]


@pytest.mark.parametrize("value", [collections.OrderedDict(n=1), collections.defaultdict(int, n=1)])
def test_other_kinds_of_dict_are_objects(value: Any) -> None:
    assert check(data(value), Contract("t", N)).unwrap() is value


def nested(levels: int, leaf: Any = 1) -> Any:
    """`leaf` in so many objects."""
    for _ in range(levels):
        leaf = {"child": leaf}
    return leaf


@pytest.mark.parametrize("place", ["structuredContent", "_meta"])
def test_depth_is_let_through_to_the_limit(place: str) -> None:
    assert isinstance(check({"content": [], place: nested(200)}, None), Unchecked)
    verdict = check({"content": [], place: nested(201)}, None)
    assert isinstance(verdict, Malformed)
    assert verdict.problems[0].code == "too_deep"
    assert (verdict.problems[0].limit, verdict.problems[0].allowed) == ("depth", 200)


@pytest.mark.parametrize(
    "limits, code",
    [
        (Limits(depth=2), "too_deep"),
        (Limits(nodes=5), "too_many_nodes"),
        (Limits(result_bytes=10), "too_large"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_limits_are_read_from_the_policy(limits: Limits, code: str) -> None:
    result = data({"a": [{"b": 1}, 2, 3]})
    assert isinstance(check(result, Contract("t", ANYTHING)), Conforming)
    verdict = check(result, Contract("t", ANYTHING), policy=Policy(limits=limits))
    assert facts(verdict)["problems"] == [code]


def test_the_text_limit_and_the_number_of_violations_are_read_from_the_policy() -> None:
    short = Policy(limits=Limits(text_bytes=5))
    assert facts(check(said('{"n":1}'), Contract("t", N), policy=short))["reason"] == "text_too_large"
    three = Policy(limits=Limits(violations=3))
    wrong = check(data(["x"] * 9), Contract("t", {"items": {"type": "integer"}}), policy=three)
    assert isinstance(wrong, Violating)
    assert (len(wrong.violations), wrong.truncated) == (3, True)


@pytest.mark.parametrize("fallback, verdict", [("off", "Missing"), ("json", "Missing"), ("readings", "Conforming")])
def test_how_much_of_the_text_is_read_is_the_policys(fallback: Any, verdict: str) -> None:
    one = {"type": "object", "properties": {"r": {"type": "string"}}, "required": ["r"]}
    assert facts(check(said("prose"), Contract("t", one), policy=Policy(fallback=fallback)))["verdict"] == verdict


FORMATS: Final = [("ignore", "Conforming", []), ("report", "Conforming", ["format"]), ("assert", "Violating", [])]


@pytest.mark.parametrize("formats, verdict, deviations", FORMATS)
def test_what_a_format_is_worth_is_the_policys(formats: Any, verdict: str, deviations: list[str]) -> None:
    day = Contract("t", {"properties": {"d": {"format": "date"}}})
    told = facts(check(data({"d": "2026-02-30"}), day, policy=Policy(formats=formats)))
    assert (told["verdict"], told["deviations"]) == (verdict, deviations)


@pytest.mark.parametrize("protocol", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_all_versions_before_2026_07_28_have_the_old_rules(protocol: str) -> None:
    result = data(None, '{"n":1}', resultType="task")
    verdict = check(result, Contract("t", N), protocol=protocol)
    assert facts(verdict)["source"] == "text"
    assert facts(check(data([1]), Contract("t", {}), protocol=protocol))["deviations"] == ["structured_not_object"]


def test_later_versions_have_the_new_rules() -> None:
    for protocol in (MODERN, "2027-01-01"):
        assert facts(check(data(None, resultType="task"), None, protocol=protocol))["result_type"] == "task"


@pytest.mark.parametrize(
    "wrong",
    [
        {"contract": {"name": "t"}},
        {"contract": N},
        {"protocol": 20261128},
        {"policy": "ENFORCE"},
        {"policy": None},
    ],
    ids=str,
)
def test_only_the_callers_own_mistakes_raise(wrong: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"result": {"content": []}, "contract": None, **wrong}
    with pytest.raises(TypeError):
        check(**arguments)


# --- servers that mean harm: each ends in a verdict


def doubling(levels: int) -> dict[str, Any]:
    """A schema that is a little longer, and twice as much work, with every level."""
    twice = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i - 1}"}] * 2} for i in range(1, levels + 1)}
    return {"properties": {"a": {"$ref": f"#/$defs/d{levels}"}}, "$defs": {"d0": {"type": "integer"}, **twice}}


HOSTILE: Final[dict[str, tuple[Any, Any, str]]] = {
    "a reference that doubles 30 times": (doubling(30), {"a": "x"}, "Unenforceable too_complex"),
    "a very long pattern": ({"properties": {"a": {"pattern": "a" * 200_000}}}, {}, "Unenforceable too_complex"),
    "an enum of 5,000 objects": ({"enum": [{"i": i} for i in range(5_000)]}, {"i": -1}, "Violating  enum"),
    "the last of 60,000 rows": (
        {"properties": {"rows": {"items": {"oneOf": [{"type": "integer"}, {"type": "null"}]}}}},
        {"rows": [*range(60_000), "x"]},
        "Violating /rows/60000 oneOf",
    ),
    "two equal ones of 10,000": ({"uniqueItems": True}, [[i % 9_999] for i in range(10_000)], "Violating  uniqueItems"),
    "a pattern that hangs, on 50 texts": (
        {"contains": {"pattern": "(x+x+)+y"}},
        ["x" * 3_000] * 50,
        "Violating  contains",
    ),
    "a pattern that hangs, on a name": ({"propertyNames": {"pattern": "(x+x+)+y"}}, {"x" * 3_000: 1}, "Violating"),
    "alternatives that are the same": ({"pattern": "^(a|a)*$"}, "a" * 5_000 + "b", "Violating  pattern"),
    "a constant 150 levels deep": ({"const": nested(150)}, nested(150), "Conforming"),
    "another one than the constant": ({"const": nested(150)}, nested(150, "x"), "Violating  const"),
    "5 MB of text": ({"properties": {"a": {"maxLength": 5_000_000}}}, {"a": "x" * 5_000_000}, "Conforming"),
    "a string 2,000 levels deep": ({}, nested(2_000), "Malformed too_deep"),
    "300,000 values": ({"items": {"type": "integer"}}, [0] * 300_000, "Conforming"),
    "a million values": ({"items": {"type": "integer"}}, [0] * 1_000_000, "Malformed too_many_nodes"),
    "9 MB of text": ({}, ["x" * 1_000_000] * 9, "Malformed too_large"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_data_ends_in_a_verdict(name: str) -> None:
    schema, value, expected = HOSTILE[name]
    verdict = check(data(value, resultType="complete"), Contract("t", schema))
    told = type(verdict).__name__
    if isinstance(verdict, Violating):
        told += f" {verdict.violations[0].pointer} {verdict.violations[0].keyword}"
    elif isinstance(verdict, Malformed):
        told += f" {verdict.problems[0].code}"
    elif isinstance(verdict, Unenforceable):
        told += f" {verdict.reason}"
    assert told.startswith(expected)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[[]" * 100_000,
        '{"a":' * 100_000,
        "9" * 3_000_000,
        '{"n":' + "9" * 3_000_000 + "}",
        "{}," * 1_000_000,
        "```\n" * 100_000,
        '"' + "\\" * 1_000_001,
    ],
    ids=lambda text: text[:8],
)
def test_hostile_text_is_no_json(text: str) -> None:
    assert check(said(text), Contract("t", N)) == Missing("text_not_json", tool="t")


def test_an_integer_is_exact_at_any_size() -> None:
    digits = "9" * 4_000
    assert check(said(f'{{"n":{digits}}}'), Contract("t", N)).unwrap() == {"n": int(digits)}
    for n in (2**53 + 1, 10**400, -(10**4_000)):
        assert check(data({"n": n}), Contract("t", N)).unwrap() == {"n": n}


# --- the official suite, through `check`


SUITE: Final = Path(__file__).parent / "data" / "json-schema-test-suite" / "tests"
DRAFTS: Final = {"draft4": "draft-04/schema#", "draft7": "draft-07/schema#", "draft2020-12": "draft/2020-12/schema"}
SUITE_FILES: Final = [path for draft in DRAFTS for path in sorted((SUITE / draft).glob("*.json"))]


def groups(path: Path) -> Iterator[tuple[Contract, list[dict[str, Any]]]]:
    """The contracts of one file of the suite, and the cases of each."""
    for group in json.loads(path.read_text("utf-8")):
        schema = group["schema"] if isinstance(group["schema"], dict) else {"allOf": [group["schema"]]}
        schema = {"$schema": f"https://json-schema.org/{DRAFTS[path.parent.name]}", **schema}
        yield Contract("t", schema), group["tests"]


@pytest.mark.parametrize("path", SUITE_FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_official_suite_gets_the_verdicts_it_asks_for(path: Path) -> None:
    for held_against, cases in groups(path):
        if held_against.unusable is not None:
            assert held_against.unusable.reason in {"remote_ref", "unknown_dialect"}  # documents elsewhere
            continue
        for case in cases:
            verdict = check(data(case["data"], resultType="complete"), held_against)
            assert isinstance(verdict, Conforming if case["valid"] else Violating), case["description"]
            assert case["valid"] or (isinstance(verdict, Violating) and verdict.violations)
            words = check(said(json.dumps(case["data"])), held_against)
            if case["valid"]:
                assert words.unwrap() == case["data"]
                assert facts(words)["source"] == "text"


def test_the_official_suite_is_there() -> None:
    assert len(SUITE_FILES) > 110


# --- anything at all


JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
PYTHON: Final = st.sampled_from(
    [b"", (), {1}, 1j, object(), decimal.Decimal(1), Colour.RED, {1: 2}, range(3), "\ud800", 10**4_000]
)
VALUES: Final = st.one_of(JSON, JSON, PYTHON, st.dictionaries(st.text(max_size=2), PYTHON, max_size=2))
BLOCKS: Final = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "text", "image", "own"])},
    optional={"text": VALUES | JSON.map(json.dumps), "resource": VALUES},
)  # fmt: skip
RESULTS: Final = st.one_of(
    VALUES,
    st.fixed_dictionaries(
        {},
        optional={
            "content": st.lists(BLOCKS | VALUES, max_size=3) | VALUES,
            "structuredContent": VALUES,
            "isError": st.sampled_from([True, False, None, "true", 1]),
            "resultType": st.sampled_from(["complete", "task", "", None, 5]),
            "_meta": VALUES | st.just({"fastmcp": {"wrap_result": True}}),
        },
    ),
)
KEYWORDS: Final = {
    "type": st.sampled_from(["object", "array", "string", "integer", "number", "null", "int", ["string", "null"]]),
    "required": st.lists(st.sampled_from("abr"), max_size=2, unique=True),
    "minimum": st.integers() | st.floats(),
    "multipleOf": st.sampled_from([0, 0.1, 2, 1e-300, 10**400]),
    "maxLength": st.integers(-1, 5),
    "pattern": st.sampled_from(["^a", "(", "(a+)+$", r"\p{L}", "[^]"]) | st.text(max_size=4),
    "format": st.sampled_from(["date", "uri", "regex", "own"]),
    "enum": st.lists(JSON, max_size=3),
    "const": VALUES,
    "uniqueItems": st.booleans(),
    "$ref": st.sampled_from(["#", "#/$defs/a", "#/$defs/none", "http://example.org/", "%", "#a"]),
    "$schema": st.sampled_from(["http://json-schema.org/draft-07/schema#", "own", "http://json-schema.org/draft-04/schema"]),
    "$id": st.sampled_from(["http://example.org/", "x", "#a", "%"]),
    "x-fastmcp-wrap-result": st.booleans(),
}  # fmt: skip


def with_subschemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas made of other schemas."""
    named = st.dictionaries(st.sampled_from("abr"), inner, max_size=2)
    several = st.lists(inner, max_size=2)
    each = {"properties": named, "$defs": named, "patternProperties": named, "anyOf": several, "prefixItems": several}
    each |= dict.fromkeys(("items", "not", "if", "then", "additionalProperties", "unevaluatedProperties"), inner)
    return st.fixed_dictionaries({}, optional={**KEYWORDS, **each})


SCHEMAS: Final = st.recursive(
    st.one_of(st.fixed_dictionaries({}, optional=KEYWORDS), st.booleans(), JSON), with_subschemas, max_leaves=6
)


within_reason = settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


@within_reason
@given(result=RESULTS, schema=SCHEMAS, protocol=st.sampled_from([None, LEGACY, MODERN, ""]), strict=st.booleans())
def test_whatever_comes_ends_in_a_verdict(result: Any, schema: Any, protocol: str | None, strict: bool) -> None:
    held_against = Contract("t", schema)
    policy = STRICT if strict else ENFORCE
    verdict = check(result, held_against, protocol=protocol, policy=policy)
    assert isinstance(verdict, get_args(Verdict))
    if isinstance(verdict, Violating):
        assert verdict.violations
        assert all(violation.says for violation in verdict.violations)
    error = as_error(verdict)
    if error is not None:
        assert len(str(error)) <= 500
        assert len(error.for_model()) <= 300
        assert error.explain(values=True)
        assert json.dumps(error.to_dict(), allow_nan=False)


@within_reason
@given(value=JSON, text=JSON, schema=SCHEMAS)
def test_a_value_that_conforms_came_with_the_result(value: Any, text: Any, schema: Any) -> None:
    words = json.dumps(text)
    verdict = check(data(value, words, resultType="complete"), Contract("t", schema))
    if isinstance(verdict, Conforming):
        assert verdict.value is value
        assert verdict.source == "structured"
    from_text = check(said(words), Contract("t", schema))
    if isinstance(from_text, Conforming):
        assert from_text.source == "text"
        assert "structured_missing" in [d.code for d in from_text.deviations]


def test_a_format_that_can_not_be_told_in_time_takes_nothing_from_data_that_fits() -> None:
    row = {
        "type": "object",
        "properties": {f"p{i}": {"anyOf": [{"format": "uri"}, {"type": "null"}]} for i in range(20)},
    }
    rows = [{f"p{i}": "https://example.org/1?a=b" for i in range(20)} for _ in range(10_000)]
    verdict = check(data({"rows": rows}), Contract("t", {"properties": {"rows": {"items": row}}}))
    assert isinstance(verdict, Conforming)
    assert verdict.deviations == ()


def test_a_schema_without_format_is_compiled_once_for_all_policies() -> None:
    contract = Contract("t", {"properties": {"a": {"type": "string"}}})
    for policy in (ENFORCE, STRICT, OBSERVE):
        assert isinstance(check(data({"a": "b"}), contract, policy=policy), Conforming)
    assert contract.output is not None
    assert len(contract.output._deciders) <= 1  # noqa: SLF001  # none without jsonschema-rs


def test_an_error_that_is_caught_and_dropped_lets_go_of_the_result() -> None:
    class Large(dict[str, Any]):
        """As a dict is, but one that can be referred to weakly."""

    def dropped() -> weakref.ref[Large]:
        value = Large(a="b")
        verdict = check(data(value), Contract("t", {"required": ["c"]}))
        with contextlib.suppress(GuardError):
            verdict.unwrap()
        return weakref.ref(value)

    gc.disable()
    try:
        assert dropped()() is None
    finally:
        gc.enable()


def test_a_second_look_sees_the_same() -> None:
    for case, policy in itertools.product(CASES[::7], (ENFORCE, STRICT)):
        assert verdict_of(case, policy) == verdict_of(case, policy)
