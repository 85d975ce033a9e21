"""docs/policies.md: what its tables say of the presets, the fields and the deviations is the case."""

from __future__ import annotations

import ast
import dataclasses
import re
from typing import Any, Final, get_args

import pytest

from mcp_guard import (
    ENFORCE,
    OBSERVE,
    RELAY,
    STRICT,
    Conforming,
    ConnectionLostError,
    Contract,
    Deviation,
    InvalidArgumentsError,
    Policy,
    Record,
    ToolProtocolError,
    ToolTimeoutError,
    Verdict,
    errors,
    guard,
    policy,
)
from mcp_guard._decision import decide
from support import HANG_UP, Error, raw_session, tool
from support.calls import data
from support.page import Page

PAGE: Final = Page("docs/policies.md")
PRESETS: Final = {"ENFORCE": ENFORCE, "STRICT": STRICT, "OBSERVE": OBSERVE, "RELAY": RELAY}
FIELDS: Final = {field.strip("`"): rest for field, *rest in PAGE.rows("field")}
CLOSENESS: Final = {field.strip("`"): cell for field, cell in PAGE.rows("how closely")}


def test_each_action_is_told() -> None:
    assert [action.strip('`"') for action, *_ in PAGE.rows("action")] == [*get_args(policy.Action)]


def test_each_field_of_the_policy_is_told() -> None:
    assert [*FIELDS, *CLOSENESS] == [field.name for field in dataclasses.fields(Policy)]
    assert {*FIELDS} == {*policy.ACTIONS, "deviations"}


@pytest.mark.parametrize("field", FIELDS)
def test_a_row_says_what_each_preset_does(field: str) -> None:
    _, *actions = FIELDS[field]
    assert actions == [getattr(preset, field) for preset in PRESETS.values()]


def test_each_verdict_has_its_field() -> None:
    told = {name for about, *_ in FIELDS.values() for name in re.findall(r"^`([A-Z]\w+)", about)}
    assert told | {"Conforming"} == {kind.__name__ for kind in get_args(Verdict)}


@pytest.mark.parametrize("field", ["fallback", "formats", "compare_text"])
def test_a_row_says_how_closely_the_policies_look(field: str) -> None:
    told = re.findall(r"(?:^|; )`(.+?)`( \(`STRICT`\))?", CLOSENESS[field])
    values = {value: ast.literal_eval(value) for value, _ in told}
    assert getattr(ENFORCE, field) == next(iter(values.values()))
    assert getattr(STRICT, field) == next((values[value] for value, strict in told if strict), getattr(ENFORCE, field))
    for value in values.values():
        dataclasses.replace(ENFORCE, **{field: value})


def test_what_no_policy_takes_is_refused_as_told() -> None:
    no_field: dict[str, Any] = {"violation": "raise"}
    no_value: dict[str, Any] = {"violating": "warn"}
    with pytest.raises(TypeError, match="violation"):
        dataclasses.replace(ENFORCE, **no_field)
    with pytest.raises(ValueError, match=r"Policy\.violating"):
        dataclasses.replace(ENFORCE, **no_value)


async def test_a_name_goes_before_a_glob_and_the_first_glob_before_later_ones() -> None:
    overrides = {"*": OBSERVE, "get_*": STRICT, "get_it": RELAY}
    answers = dict.fromkeys(("get_it", "get_all"), data({}))
    records: list[Record] = []
    async with raw_session(tools=[tool(name) for name in answers], results=answers) as (session, _):
        tools = guard(session, overrides=overrides, hooks=[records.append])
        for name in answers:
            await tools.judge(name)
    assert [record.policy for record in records] == ["RELAY", "OBSERVE"]


def test_the_exception_to_strict_that_is_shown_is_one() -> None:
    (shown,) = re.findall(r"`replace\(STRICT, deviations=(.*?)\)`", PAGE.text)
    changed = dataclasses.replace(STRICT, deviations=ast.literal_eval(shown))
    assert {code for code in policy.DEVIATIONS if changed.on_deviation(code) != "raise"} == {"unknown_block"}


DEVIATIONS: Final = {code.strip("`"): raised.strip("`") for code, _, raised in PAGE.rows("code")}


def test_each_deviation_is_told() -> None:
    assert [*DEVIATIONS] == sorted(policy.DEVIATIONS)
    assert not DEVIATIONS["listing_truncated"]


@pytest.mark.parametrize("code", sorted(DEVIATIONS.keys() - {"listing_truncated", "unknown_argument"}))
def test_a_deviation_is_raised_as_the_error_that_is_told(code: str) -> None:
    contract = Contract("t", {"type": "object"})
    verdict = Conforming(tool="t", value={}, source="structured", deviations=(Deviation(code),))
    error: Any = decide(verdict, STRICT, contract).error
    assert (type(error).__name__, error.deviation) == (DEVIATIONS[code], code)


async def test_an_unknown_argument_is_raised_before_anything_is_sent() -> None:
    described = {**tool("t", {"type": "object"}), "inputSchema": {"type": "object", "properties": {"sku": {}}}}
    async with raw_session(tools=[described], results={"t": data({})}) as (session, server):
        with pytest.raises(InvalidArgumentsError) as caught:
            await guard(session, policy=STRICT).call("t", {"other": 1})
        assert not server.calls
    assert type(caught.value).__name__ == DEVIATIONS["unknown_argument"]
    assert caught.value.outcome == "not_sent"


def test_the_codes_of_deviations_that_are_kinds_of_errors_too_are_told() -> None:
    kinds = {getattr(each, "kind", None) for each in vars(errors).values()}
    (told,) = re.findall(r"`(\w+)` and `(\w+)` are also the `kind`", PAGE.text)
    assert {*told} == policy.DEVIATIONS & kinds


async def test_a_call_without_a_result_raises_the_guard_s_error_under_observe_too() -> None:
    from mcp.shared import exceptions

    plain: Any = getattr(exceptions, "MCPError", None) or vars(exceptions)["McpError"]
    answers: dict[str, Any] = {"refused": Error(-32603, "no"), "lost": HANG_UP}
    async with raw_session(tools=[tool(name) for name in answers], results=answers) as (session, _):
        tools = guard(session, policy=OBSERVE)
        for name, kind in (("refused", ToolProtocolError), ("lost", ConnectionLostError)):
            with pytest.raises(kind) as caught:
                await tools.call_tool(name)
            assert isinstance(caught.value.sdk_error, plain)
            assert not isinstance(caught.value, plain)


async def test_what_is_counted_is_what_enforce_refuses_and_no_timeout_of_the_caller() -> None:
    records: list[Record] = []
    answers = {"good": data({}), "bad": {"content": []}}
    async with raw_session(tools=[tool(name, {"type": "object"}) for name in answers], results=answers) as (session, _):
        tools = guard(session, policy=OBSERVE, hooks=[records.append])
        for name in answers:
            await tools.call_tool(name)
        with pytest.raises(ToolTimeoutError):
            await tools.call_tool("good", read_timeout_seconds=0)
    assert [record.tool for record in records if record.action == "report" and record.error] == ["bad"]
    assert records[-1].error == "timeout"
