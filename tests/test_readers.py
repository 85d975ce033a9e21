"""Readers: the user's own functions that tell a failure, by tool, also where a server dresses one as success."""

from __future__ import annotations

import dataclasses
import functools
import logging
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any, Final

import pytest

from mcp_guard import (
    OBSERVE,
    RELAY,
    Conforming,
    Errored,
    Limits,
    OutputValidationError,
    Policy,
    Record,
    ToolExecutionError,
    ToolFailure,
    ToolResult,
    UnfinishedResultError,
    attach,
    check,
    connect,
    guard,
    read_failure,
)
from support import Connect, RawServer, raw_session, raw_transport, tool
from support.calls import N, as_json, data, every_target, guarded, only_2, said

DRESSED: Final = data({"error": {"kind": "not_found"}}, '{"error": {"kind": "not_found"}}')
FAILED: Final = said("boom", isError=True)


def dressed(result: ToolResult) -> ToolFailure | None:
    """A failure where the payload has an `error`, whatever `isError` says."""
    payload = result.payload
    return read_failure(result) if isinstance(payload, dict) and "error" in payload else None


def named(kind: str) -> Any:
    """A reader that takes everything for a failure of this kind."""
    return lambda _result: ToolFailure(kind=kind)


async def kind_of(readers: Any, answer: Any = FAILED, name: str = "get_a", **options: Any) -> str | None:
    """The kind of the failure that a call ends in."""
    async with guarded(raw_session, tools=[tool(name)], results={name: answer}, readers=readers, **options) as (
        tools,
        _,
    ):
        with pytest.raises(ToolExecutionError) as caught:
            await tools.call(name)
        return caught.value.failure.kind


# --- a failure dressed as success


@pytest.mark.parametrize("output", [None, N, {"type": "object"}], ids=["no schema", "it fits not", "it fits"])
@pytest.mark.parametrize("answer", [DRESSED, said('{"error": {"kind": "not_found"}}')], ids=["structured", "text"])
@every_target
async def test_a_failure_dressed_as_success_is_one_where_a_reader_says_so(
    connect: Connect, answer: Any, output: Any, modern: bool
) -> None:
    records: list[Record] = []
    described = {"tools": [tool("t", output)], "results": {"t": answer}, "modern": modern}
    async with guarded(connect, **described, readers={"t": dressed}, hooks=[records.append]) as (tools, server):
        with pytest.raises(ToolExecutionError) as caught:
            await tools.call("t")
        assert caught.value.failure.kind == "not_found"
        assert (caught.value.outcome, caught.value.retry_safe) == ("executed", False)
        with pytest.raises(ToolExecutionError):
            await tools.call_tool("t")
        verdict = (await tools.judge("t")).verdict
        assert isinstance(verdict, Errored)
        assert verdict.deviations == ()  # it is held against no schema
        assert server.calls["t"] == 3
    assert [(r.verdict, r.error, r.outcome) for r in records] == [("Errored", "tool_error", "executed")] * 3


async def test_without_a_reader_nothing_is_taken_for_a_failure() -> None:
    async with guarded(raw_session, tools=[tool("t"), tool("u")], results={"t": DRESSED, "u": DRESSED}) as (tools, _):
        assert await tools.call("t") == {"error": {"kind": "not_found"}}
    assert not isinstance(check(DRESSED, None), Errored)


async def test_data_that_is_no_failure_is_judged_as_ever() -> None:
    described = {"tools": [tool("t", N), tool("u", N)], "results": {"t": data({"n": 1}), "u": data({"n": "x"})}}
    async with guarded(raw_session, **described, readers={"*": dressed}) as (tools, _):
        assert await tools.call("t") == {"n": 1}
        with pytest.raises(OutputValidationError):
            await tools.call("u")


@pytest.mark.parametrize("policy", [RELAY, OBSERVE], ids=["RELAY", "OBSERVE"])
async def test_a_policy_that_only_reports_hands_the_result_on_untouched(policy: Policy) -> None:
    records: list[Record] = []
    described = {"tools": [tool("t")], "results": {"t": DRESSED}, "policy": policy, "hooks": [records.append]}
    async with guarded(raw_session, **described, readers={"t": dressed}) as (tools, _):
        assert as_json(await tools.call_tool("t")) == DRESSED
    assert [(r.verdict, r.error, r.action) for r in records] == [("Errored", "tool_error", "report")]


# --- which reader


@pytest.mark.parametrize(
    "readers, kind",
    [
        ({"get_a": named("own")}, "own"),
        ({"*": named("glob"), "get_a": named("own")}, "own"),
        ({"get_*": named("first"), "*": named("second")}, "first"),
        ({"*": named("first"), "get_*": named("second")}, "first"),
        ({"get_b": named("other")}, None),
        ({}, None),
        (None, None),
    ],
)
async def test_a_name_beats_a_glob_and_the_first_glob_later_ones(readers: Any, kind: str | None) -> None:
    assert await kind_of(readers) == kind


async def test_what_a_reader_gives_stands_in_place_of_the_standard_reading() -> None:
    def own(result: ToolResult) -> ToolFailure | None:
        retryable = result.payload["again"] == "yes"
        return dataclasses.replace(read_failure(result), kind="mine", retryable=retryable, retry_after=2)

    answer = data({"error": {"kind": "not_found"}, "again": "yes"}, "words", isError=True)
    async with guarded(raw_session, tools=[tool("t")], results={"t": answer}, readers={"t": own}) as (tools, _):
        with pytest.raises(ToolExecutionError) as caught:
            await tools.call("t")
    failure = caught.value.failure
    assert (failure.kind, failure.retryable, failure.retry_after, failure.text) == ("mine", True, 2, "words")


async def test_where_a_reader_gives_none_the_standard_reading_stands() -> None:
    assert await kind_of({"*": lambda _result: None}, data({"error": "not_found"}, isError=True)) == "not_found"


@every_target
async def test_a_reader_is_given_a_view_of_the_result(connect: Connect, modern: bool) -> None:
    seen: list[ToolResult] = []
    answer = data({"n": 1}, "a", "b", isError=True, _meta={"k": 1})
    described = {"tools": [tool("t", N)], "results": {"t": answer}, "modern": modern}
    async with guarded(connect, **described, readers={"t": seen.append}) as (tools, _):
        with pytest.raises(ToolExecutionError):
            await tools.call("t")
    [result] = seen
    assert (result.is_error, result.has_structured, result.structured) == (True, True, {"n": 1})
    assert (result.texts, result.payload, result.body["_meta"]) == (["a", "b"], {"n": 1}, {"k": 1})
    assert result.protocol == ("2026-07-28" if modern else "2025-11-25")
    assert repr(result) == f"ToolResult(protocol={result.protocol!r})"
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.protocol = "x"  # type: ignore[misc]  # that is the point


async def test_the_text_that_a_reader_sees_parsed_keeps_to_the_limits() -> None:
    seen: list[Any] = []
    answer = said('{"error": "not_found"}')
    described = {"tools": [tool("t")], "results": {"t": answer}, "readers": {"t": lambda r: seen.append(r.payload)}}
    for limits in (Limits(), Limits(text_bytes=5)):
        async with guarded(raw_session, **described, policy=Policy(limits=limits)) as (tools, _):
            await tools.call("t")
    assert seen == [{"error": "not_found"}, None]


@pytest.mark.parametrize("result", [5, None, [], {"content": 5}, {}])
def test_a_view_of_what_is_no_result_shows_nothing(result: Any) -> None:
    view = ToolResult.of(result)
    assert (view.payload, view.texts, view.is_error, view.has_structured) == (None, [], False, False)
    assert read_failure(view) == ToolFailure()


@pytest.mark.parametrize("answer", [{"content": 5}, {"content": [], "isError": "yes"}])
async def test_a_malformed_result_is_told_to_no_reader(answer: Any) -> None:
    seen: list[Any] = []
    server = RawServer(tools=[tool("t")], results={"t": answer})
    async with connect(raw_transport(server), readers={"*": seen.append}, policy=OBSERVE) as tools:
        assert type((await tools.judge("t")).verdict).__name__ == "Malformed"
    assert not seen


@only_2
async def test_an_unfinished_result_is_told_to_no_reader() -> None:
    seen: list[Any] = []
    answer = {"resultType": "input_required", "inputRequests": {}, "requestState": "s"}
    described = {"tools": [tool("t")], "results": {"t": answer}, "modern": True}
    async with guarded(raw_session, **described, readers={"*": seen.append}) as (tools, _):
        with pytest.raises(UnfinishedResultError):
            await tools.call("t")
    assert not seen


async def test_attach_and_connect_take_readers_too() -> None:
    async with raw_session(tools=[tool("t")], results={"t": DRESSED}) as (session, _):
        attach(session, readers={"t": dressed})
        with pytest.raises(ToolExecutionError):
            await session.call_tool("t", {})
    async with connect(
        raw_transport(RawServer(tools=[tool("t")], results={"t": DRESSED})), readers={"t": dressed}
    ) as tools:
        with pytest.raises(ToolExecutionError):
            await tools.call("t")


# --- dates


@pytest.mark.parametrize("form", [format_datetime, datetime.isoformat], ids=["http", "rfc3339"])
async def test_a_date_to_come_back_is_seconds_from_when_the_answer_came(form: Any) -> None:
    now = datetime.now(timezone.utc).replace(microsecond=0)
    waits = []
    for moment in (now - timedelta(days=1), now + timedelta(days=1)):
        sent = form(moment).replace("+0000", "GMT")
        answer = data({"error": {"kind": "rate_limited", "retry_after": sent}}, isError=True)
        async with guarded(raw_session, tools=[tool("t")], results={"t": answer}) as (tools, _):
            with pytest.raises(ToolExecutionError) as caught:
                await tools.call("t")
        assert caught.value.failure.retry_at == moment
        waits.append(caught.value.failure.retry_after)
    assert waits[0] == 0
    assert waits[1] is not None
    assert 86_000 < waits[1] <= 86_400


async def test_a_date_that_a_reader_gives_becomes_seconds_too() -> None:
    past = datetime(2020, 1, 1, tzinfo=timezone.utc)
    readers = {"t": lambda _result: ToolFailure(retry_at=past)}
    async with guarded(raw_session, tools=[tool("t")], results={"t": said("x")}, readers=readers) as (tools, _):
        verdict = (await tools.judge("t")).verdict
    assert isinstance(verdict, Errored)
    assert verdict.failure.retry_after == 0


# --- readers with faults


def broken(_result: ToolResult) -> ToolFailure | None:
    raise KeyError("CANARY-7f3a")


def of_another_kind(_result: ToolResult) -> Any:
    return {"kind": "CANARY-7f3a"}


def badly_made(_result: ToolResult) -> ToolFailure | None:
    return ToolFailure(retry_after=-1)


FAULTS: Final = [
    (broken, "raised KeyError"),
    (of_another_kind, "gave dict instead of a ToolFailure or None"),
    (badly_made, "raised ValueError"),
]


@pytest.mark.parametrize("reader, says", FAULTS)
async def test_a_reader_with_a_fault_costs_nothing_of_the_result(
    reader: Any, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    described = {"tools": [tool("t", N), tool("u", N)], "results": {"t": data({"n": 1}), "u": FAILED}}
    with caplog.at_level(logging.ERROR, "mcp_guard"):
        async with guarded(raw_session, **described, readers={"*": reader}) as (tools, server):
            for _ in range(3):
                assert await tools.call("t") == {"n": 1}
            assert isinstance((await tools.judge("t")).verdict, Conforming)
            with pytest.raises(ToolExecutionError) as caught:
                await tools.call("u")
            assert caught.value.failure.text == "boom"
            assert server.calls["t"] == 4
    assert [r.getMessage() for r in caplog.records] == [
        f"the reader of {name} {says}; the result is read without it" for name in ("t", "u")
    ]


async def never_awaited(_result: ToolResult) -> ToolFailure | None:
    """A reader that would never have read anything."""
    return None


class AsyncReader:
    """The same as an object."""

    async def __call__(self, result: ToolResult) -> ToolFailure | None:
        """Read nothing."""


@pytest.mark.parametrize(
    "readers, says",
    [
        ([dressed], "readers takes a dict such as"),
        (dressed, "readers takes a dict such as"),
        ({5: dressed}, "a name in readers is a str"),
        ({"t": "dressed"}, r"readers\['t'\] takes a plain function"),
        ({"t": None}, r"readers\['t'\] takes a plain function"),
        ({"t": never_awaited}, "an async one is never awaited"),
        ({"t": functools.partial(never_awaited)}, "an async one is never awaited"),
        ({"t": AsyncReader()}, "an async one is never awaited"),
    ],
    ids=range(8),
)
@pytest.mark.parametrize("wrap", [guard, attach])
async def test_readers_of_the_wrong_kind_are_refused(wrap: Any, readers: Any, says: str) -> None:
    async with raw_session() as (session, server):
        with pytest.raises(TypeError, match=says):
            wrap(session, readers=readers)
        assert not server.counts["tools/list"]
