"""What the hooks are told of a call, and what is logged."""

from __future__ import annotations

import functools
import json
import logging
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import Any, Final

import pytest

from mcp_guard import ENFORCE, OBSERVE, RELAY, STRICT, Contract, GuardError, OutputValidationError, Policy, Record
from support import Connect, Error, in_turn, raw_session, tool
from support.calls import N, data, every_target, guarded, said, text

GOOD: Final = data({"n": 1}, '{"n": 1}')


async def records_of(answer: Any, *arguments: Any, connect: Connect = raw_session, **options: Any) -> list[Record]:
    """The records of one call for each of the arguments."""
    records: list[Record] = []
    described = {"tools": [tool("t", N)], "results": {"t": answer}, "hooks": [records.append], **options}
    async with guarded(connect, **described) as (tools, _):
        for each in arguments or ({},):
            with suppress(GuardError):
                await tools.call("t", each)
    return records


@every_target
async def test_a_record_has_the_facts_of_its_call(connect: Connect, modern: bool) -> None:
    before = datetime.now(timezone.utc)
    [record] = await records_of(GOOD, {"a": 1}, connect=connect, modern=modern, server="shop")
    assert before - timedelta(seconds=1) <= record.time <= datetime.now(timezone.utc)
    assert record.time.tzinfo is timezone.utc
    contract = Contract.from_tool(tool("t", N))
    assert (record.v, record.tool, record.server) == (1, "t", "shop")
    assert record.output_fingerprint == contract.output_fingerprint
    assert record.fingerprint
    assert record.protocol == ("2026-07-28" if modern else "2025-11-25")
    assert (record.policy, record.verdict, record.source) == ("ENFORCE", "Conforming", "structured")
    assert (record.deviations, record.violations, record.error) == ((), (), None)
    assert (record.outcome, record.action) == ("executed", "allow")
    assert [(a.error, a.outcome, a.waited_ms) for a in record.attempts] == [(None, "executed", 0.0)]
    assert min(record.ms_queued, record.ms_wire, record.ms_check) >= 0
    assert record.blocks == (("text", 1),)
    assert record.result_bytes is not None
    assert record.result_bytes >= len('{"n": 1}')


async def test_a_record_is_json_and_says_the_same() -> None:
    [record] = await records_of(data({"n": "x"}), {"a": 1})
    told = json.loads(json.dumps(record.to_dict()))
    assert told["violations"] == [{"pointer": "/n", "keyword": "type"}]
    assert told["attempts"] == [{"error": "output_violation", "outcome": "executed", "waited_ms": 0.0}]
    assert datetime.fromisoformat(told["time"]) == record.time
    assert told.keys() == {name for name in Record.__slots__}  # noqa: C416  # a tuple of names


@pytest.mark.parametrize(
    "policy, name",
    [
        (ENFORCE, "ENFORCE"),
        (STRICT, "STRICT"),
        (OBSERVE, "OBSERVE"),
        (RELAY, "RELAY"),
        (Policy(formats="assert"), "custom"),
    ],
)
async def test_the_record_names_the_policy(policy: Policy, name: str) -> None:
    [record] = await records_of(GOOD, policy=policy)
    assert record.policy == name


async def test_the_policy_is_the_one_of_the_tool() -> None:
    [record] = await records_of(GOOD, overrides={"t": OBSERVE})
    assert record.policy == "OBSERVE"


async def test_each_call_has_an_id_of_its_own() -> None:
    records = await records_of(GOOD, {}, {}, {})
    assert len({r.call_id for r in records}) == 3


async def test_the_same_arguments_have_the_same_hash_whatever_their_order_and_others_another() -> None:
    arguments: list[Any] = [{"a": 1, "b": [1.0]}, {"b": [1], "a": 1}, {"a": 1}, None, {}]
    first, second, *others = [r.arguments_hash for r in await records_of(GOOD, *arguments, hash_key=b"k")]
    assert first == second
    assert first not in others
    assert others[1] == others[2], "no arguments are empty ones"
    assert len(first or "") == 64


async def test_the_hash_is_keyed() -> None:
    hashes = [(await records_of(GOOD, {"a": 1}, hash_key=key))[0].arguments_hash for key in (b"k", b"k", b"l", None)]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


async def test_a_record_holds_no_value_of_arguments_or_result() -> None:
    answer = data({"n": "CANARY", "CANARY": 1}, "CANARY")
    [record] = await records_of(answer, {"a": "CANARY", "CANARY": 1})
    assert "CANARY" not in repr(record)
    assert "CANARY" not in json.dumps(record.to_dict())


async def test_block_types_that_nobody_knows_are_a_star() -> None:
    blocks = [text("a"), text("b"), {"type": "image", "data": "AA==", "mimeType": "image/png"}]
    [record] = await records_of({"content": blocks, "structuredContent": {"n": 1}})
    assert dict(record.blocks) == {"text": 2, "image": 1}


async def test_a_name_that_would_play_tricks_is_escaped_in_the_record() -> None:
    records: list[Record] = []
    name = "t\u202e\n" + "x" * 100
    async with guarded(raw_session, tools=[tool(name, N)], results={name: GOOD}, hooks=[records.append]) as (tools, _):
        await tools.call(name)
    assert records[0].tool.startswith("t\\u202e\\x0ax")
    assert len(records[0].tool) <= 64


@every_target
async def test_a_value_from_the_text_has_its_source_and_its_deviation(connect: Connect) -> None:
    [record] = await records_of(said('{"n": 1}'), connect=connect)
    assert (record.source, record.deviations, record.action) == ("text", ("structured_missing",), "report")


# --- hooks


class Failing:
    """A hook that always fails."""

    def __init__(self) -> None:
        self.told = 0

    def __call__(self, record: Record) -> None:
        """Fail."""
        self.told += 1
        raise LookupError(record.tool)


@every_target
async def test_a_failing_hook_changes_nothing_and_is_logged_once(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    failing, records = Failing(), list[Record]()
    answers = in_turn(GOOD, data({"n": "CANARY"}), GOOD)
    options = {"tools": [tool("t", N)], "results": {"t": answers}, "hooks": [failing, records.append]}
    async with guarded(connect, **options) as (tools, _):
        assert await tools.call("t") == {"n": 1}
        with pytest.raises(OutputValidationError):
            await tools.call("t")
        assert await tools.call("t") == {"n": 1}
    assert (failing.told, len(records)) == (3, 3)
    lines = [(r.levelno, r.getMessage()) for r in caplog.records if r.name == "mcp_guard"]
    assert lines == [(logging.ERROR, "the hook Failing raised LookupError; the call goes on")]


async def test_hooks_are_told_in_order() -> None:
    told: list[str] = []
    hooks = [functools.partial(lambda name, _: told.append(name), name) for name in "abc"]
    await records_of(GOOD, hooks=hooks)
    assert told == ["a", "b", "c"]


async def test_without_hooks_judge_still_gives_a_record_and_nothing_is_hashed_for_it() -> None:
    async with guarded(raw_session, tools=[tool("t", N)], results={"t": GOOD}) as (tools, _):
        record = (await tools.judge("t", {"a": 1})).record
        assert (record.verdict, record.arguments_hash) == ("Conforming", None)


@every_target
async def test_every_way_that_a_call_ends_is_told_exactly_once(connect: Connect) -> None:
    answers = in_turn(GOOD, data({}), said("no", isError=True), Error(-32603), said("x"))
    records = await records_of(answers, {}, {}, {}, {}, {}, connect=connect)
    assert [r.error for r in records] == [
        None,
        "output_violation",
        "tool_error",
        "protocol_error",
        "structured_missing",
    ]


# --- the log


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == "mcp_guard"]


async def test_what_is_reported_is_one_line_and_the_same_again_is_not_said_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "mcp_guard")
    records = await records_of(data({"n": "CANARY"}), {}, {}, {}, policy=OBSERVE)
    [line] = lines_of(caplog)
    assert line == f"t: output_violation (call {records[0].call_id})"


async def test_another_thing_is_another_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mcp_guard")
    await records_of(in_turn(data({"n": "x"}), said('{"n": 1}')), {}, {}, policy=OBSERVE)
    assert [line.partition(" (")[0] for line in lines_of(caplog)] == [
        "t: output_violation",
        "t: structured_missing",
    ]


@pytest.mark.parametrize("answer, policy", [(GOOD, ENFORCE), (data({"n": "x"}), ENFORCE)], ids=["conforming", "raised"])
async def test_what_is_fine_or_raised_is_not_logged(
    answer: Any, policy: Policy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mcp_guard")
    await records_of(answer, policy=policy)
    assert lines_of(caplog) == []


async def test_what_is_allowed_is_in_the_record_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mcp_guard")
    [record] = await records_of(data({"n": "x"}), policy=Policy(violating="allow"))
    assert (record.error, record.action) == ("output_violation", "allow")
    assert lines_of(caplog) == []
