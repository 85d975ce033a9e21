"""The tap between transport and session: what it makes of answers and listings that the SDK can't take."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import pytest

from mcp_guard import (
    ENFORCE,
    OBSERVE,
    GuardError,
    LimitExceededError,
    MalformedResultError,
    OutputValidationError,
    Policy,
    ToolProtocolError,
    ToolTimeoutError,
    UnusableContractError,
    connect,
)
from mcp_guard._frames import _id_in, request_id, understood
from mcp_guard._lines import Lines
from mcp_guard._sdk import Answer, PeerError, Unparsable
from mcp_guard._sdk.choose import sdk
from mcp_guard._wire import Reading, Tap, Writing
from mcp_guard.policy import Limits
from support import Line, RawServer, in_turn, raw_transport
from support.calls import N, SdkError, data, only_2

T: Final[dict[str, Any]] = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": N}
GOOD: Final = '{"content": [], "structuredContent": {"n": 1}}'


def deep(levels: int) -> str:
    return '{"content": [], "structuredContent": ' + '{"c": ' * levels + "1" + "}" * levels + "}"


def answer(result: str) -> str:
    return f'{{"jsonrpc": "2.0", "id": @@ID@@, "result": {result}}}'


@asynccontextmanager
async def tapped(
    line: str = "", *, modern: bool = False, patience: float | None = 5, policy: Policy = ENFORCE, **described: Any
) -> AsyncGenerator[tuple[Any, RawServer]]:
    """A connection to a server whose tool `t` answers with this line."""
    described = {"tools": [T], "results": {"t": Line(line)}} | described
    server = RawServer(modern=modern, **described)
    async with connect(raw_transport(server), timeout=patience, policy=policy) as tools:
        yield tools, server


MALFORMED: Final[dict[str, tuple[str, str]]] = {
    "without jsonrpc": (f'{{"id": @@ID@@, "result": {GOOD}}}', "not_jsonrpc"),
    "of another version": (f'{{"jsonrpc": "1.0", "id": @@ID@@, "result": {GOOD}}}', "not_jsonrpc"),
    "neither result nor error": ('{"jsonrpc": "2.0", "id": @@ID@@}', "not_jsonrpc"),
    "an error without a message": ('{"jsonrpc": "2.0", "id": @@ID@@, "error": {"code": 1}}', "not_jsonrpc"),
    "an error that is none": ('{"jsonrpc": "2.0", "id": @@ID@@, "error": "no"}', "not_jsonrpc"),
    "a result that is null": (answer("null"), "not_an_object"),
    "a result that is an array": (answer("[1]"), "not_an_object"),
    "a lone surrogate": (answer('{"content": [], "structuredContent": {"n": "\\ud800"}}'), "surrogate"),
    "a bare NaN": (answer('{"content": [], "structuredContent": {"n": NaN}}'), "not_finite"),
    "an endless integer": (answer('{"content": [], "structuredContent": {"n": %s}}' % ("9" * 5000)), "unparsable"),
    "too deep": (answer(deep(250)), "too_deep"),
    "too deep for any parser": (answer(deep(50_000)), "too_deep"),
    "the id behind what is too deep": (f'{{"jsonrpc": "2.0", "result": {deep(50_000)}, "id": @@ID@@}}', "too_deep"),
}


@pytest.mark.parametrize("line, code", MALFORMED.values(), ids=MALFORMED)
async def test_an_answer_that_does_not_parse_is_malformed_at_once(line: str, code: str, modern: bool) -> None:
    async with tapped(line, modern=modern, patience=None) as (tools, server):
        with pytest.raises(MalformedResultError) as caught:
            await tools.call("t")
        error = caught.value
        assert [p.code for p in error.problems] == [code]
        assert isinstance(error, LimitExceededError) == (code == "too_deep")
        assert error.outcome == "executed"
        assert not error.retry_safe
        assert server.counts["tools/call"] == 1


async def test_the_raw_answer_is_on_the_exception_and_nowhere_in_its_words() -> None:
    line = '{"id": @@ID@@, "result": {"content": [], "structuredContent": {"secret": "word"}}}'
    async with tapped(line) as (tools, _):
        with pytest.raises(MalformedResultError) as caught:
            await tools.call("t")
    assert caught.value.result == {"content": [], "structuredContent": {"secret": "word"}}
    assert "secret" not in str(caught.value) + repr(caught.value) + json.dumps(caught.value.to_dict())


async def test_the_session_goes_on_after_an_answer_that_did_not_parse(modern: bool) -> None:
    answers = in_turn(Line('{"id": @@ID@@}'), data({"n": 1}), Line(answer(deep(250))), data({"n": 2}))
    async with tapped(modern=modern, results={"t": answers}) as (tools, _):
        for value in (1, 2):
            with pytest.raises(MalformedResultError):
                await tools.call("t")
            assert await tools.call("t") == {"n": value}


async def test_where_only_limits_of_the_users_own_allow_it_deep_data_comes_through(modern: bool) -> None:
    policy, listed = Policy(limits=Limits(depth=400)), {**T, "outputSchema": {"type": "object"}}
    async with tapped(answer(deep(300)), modern=modern, policy=policy, tools=[listed]) as (tools, _):
        value = await tools.call("t")
        levels = 0
        while isinstance(value, dict):
            value, levels = value["c"], levels + 1
        assert levels == 300


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc": "2.0", "id": @@ID@@, "result": {"content": []',
        '{"id": 99, "result": {}}',
        '{"id": true}',
        "INFO",
        "",
    ],
    ids=["cut", "another id", "no id", "noise", "empty"],
)
async def test_what_is_no_answer_to_the_call_is_waited_out(line: str, modern: bool) -> None:
    async with tapped(line, modern=modern, patience=0.1) as (tools, _):
        with pytest.raises(ToolTimeoutError) as caught:
            await tools.call("t")
    assert caught.value.outcome == "unknown"


async def test_a_request_of_the_servers_that_does_not_parse_is_no_answer(modern: bool) -> None:
    line = '{"id": @@ID@@, "method": "ping"}\n'
    async with tapped(line, modern=modern, patience=0.1) as (tools, _):
        with pytest.raises(ToolTimeoutError):
            await tools.call("t")


async def test_an_error_that_only_the_sdks_parser_minds_is_that_error(modern: bool) -> None:
    line = '{"jsonrpc": "2.0", "id": @@ID@@, "error": {"code": -32603, "message": "no", "data": "\\ud800"}}'
    async with tapped(line, modern=modern) as (tools, _):
        with pytest.raises(ToolProtocolError) as caught:
            await tools.call("t")
    assert (caught.value.code, caught.value.data) == (-32603, "\ud800")


async def test_under_observe_what_can_be_taken_from_a_malformed_frame_is_given_and_reported(modern: bool) -> None:
    async with tapped(f'{{"id": @@ID@@, "result": {GOOD}}}', modern=modern, policy=OBSERVE) as (tools, _):
        judged = await tools.judge("t")
        assert judged.verdict.value == {"n": 1}
        assert (judged.record.error, judged.record.action) == ("malformed_result", "report")


KEPT: Final[dict[str, tuple[str, str]]] = {
    "content missing": ('{"structuredContent": {"n": 1}, "resultType": "complete"}', "content_missing"),
    "an unknown block": (
        '{"content": [{"type": "new"}], "structuredContent": {"n": 1}, "resultType": "complete"}',
        "unknown_block",
    ),
    "isError null": (
        '{"content": [], "structuredContent": {"n": 1}, "isError": null, "resultType": "complete"}',
        "",
    ),
}


@pytest.mark.parametrize("result, deviation", KEPT.values(), ids=KEPT)
async def test_data_that_the_sdks_model_can_not_hold_is_kept(result: str, deviation: str, modern: bool) -> None:
    async with tapped(answer(result), modern=modern) as (tools, server):
        assert await tools.call("t") == {"n": 1}
        judged = await tools.judge("t")
        assert judged.verdict.value == {"n": 1}
        assert [d.code for d in judged.verdict.deviations] == [deviation] * bool(deviation)
        with pytest.raises(MalformedResultError) as caught:
            await tools.call_tool("t")
        assert caught.value.outcome == "executed"
        assert caught.value.result == json.loads(result)
        assert server.counts["tools/call"] == 3


@only_2
async def test_a_result_type_that_is_missing_on_a_modern_session_costs_nothing() -> None:
    async with tapped(answer(GOOD), modern=True) as (tools, _):
        assert await tools.call("t") == {"n": 1}
        assert (await tools.judge("t")).record.deviations == ("result_type_missing",)
        assert (await tools.call_tool("t")).structured_content == {"n": 1}


async def test_an_array_on_a_legacy_session_is_kept() -> None:
    listed = {**T, "outputSchema": {"type": "array"}}
    async with tapped(answer('{"content": [], "structuredContent": [1]}'), tools=[listed]) as (tools, _):
        assert await tools.call("t") == [1]


# --- listings ---

BAD: Final[dict[str, Any]] = {
    "null": None,
    "a text": "text",
    "no name": {"inputSchema": {"type": "object"}},
    "a name that is none": {"name": 7, "inputSchema": {"type": "object"}},
    "no inputSchema": {"name": "bad"},
    "an inputSchema that is none": {"name": "bad", "inputSchema": "text"},
    "an outputSchema of true": {"name": "bad", "inputSchema": {"type": "object"}, "outputSchema": True},
    "an outputSchema of a text": {"name": "bad", "inputSchema": {"type": "object"}, "outputSchema": "text"},
    "an array's outputSchema": {"name": "bad", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}},
    "a $schema that is no text": {**T, "name": "bad", "outputSchema": {"type": "object", "$schema": 7}},
    "a description that is no text": {**T, "name": "bad", "description": 7},
    "annotations that are none": {**T, "name": "bad", "annotations": 7},
    "a lone surrogate": {**T, "name": "bad", "description": "\ud800"},
    "a schema too deep": {**T, "name": "bad", "outputSchema": json.loads('{"not": ' * 300 + "{}" + "}" * 300)},
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
async def test_a_bad_entry_spoils_only_itself(bad: Any, modern: bool) -> None:
    async with tapped(modern=modern, tools=[bad, T], results={"t": data({"n": "one"})}) as (tools, _):
        with pytest.raises(OutputValidationError):
            await tools.call("t")
        listed = await tools.list_tools()
        assert "t" in [each.name for each in listed.tools]


@pytest.mark.parametrize("schema", [{"type": "array"}, {"anyOf": [{"type": "array"}]}], ids=["array", "composed"])
async def test_a_contract_is_as_it_was_listed_though_the_sdk_does_not_take_it(schema: Any, modern: bool) -> None:
    listed = {**T, "outputSchema": schema}
    async with tapped(answer(GOOD), modern=modern, tools=[listed]) as (tools, _):
        with pytest.raises(OutputValidationError):
            await tools.call("t")
        assert tools.contracts["t"].output_schema == schema


async def test_an_unusable_schema_is_known_before_the_call(modern: bool) -> None:
    async with tapped(modern=modern, tools=[{**T, "outputSchema": True}]) as (tools, server):
        with pytest.raises(UnusableContractError) as caught:
            await tools.call("t")
        assert caught.value.outcome == "not_sent"
        assert not server.counts["tools/call"]


@only_2
@pytest.mark.parametrize(
    "page", [{}, {"ttlMs": 1.5, "cacheScope": "private"}, {"ttlMs": 0, "cacheScope": "?"}, {"ttlMs": -1}]
)
async def test_a_page_without_what_a_modern_session_asks_for_is_read(page: Any) -> None:
    async with tapped(modern=True, on={"tools/list": {"tools": [T], **page}}, results={"t": data({"n": 1})}) as (
        tools,
        _,
    ):
        assert await tools.call("t") == {"n": 1}


@only_2
async def test_what_the_sdk_leaves_out_for_its_headers_stays_out() -> None:
    wrong = {"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": "bad header"}}}
    async with tapped(modern=True, tools=[T, {**T, "name": "left out", "inputSchema": wrong}, None]) as (tools, _):
        await tools.refresh()
        assert tools.contracts.get("t") is not None
        assert tools.contracts.get("left out") is None


async def test_a_listing_that_does_not_parse_fails_at_once_and_nothing_is_sent(modern: bool) -> None:
    async with tapped(modern=modern, patience=None, on={"tools/list": Line('{"id": @@ID@@}')}) as (tools, server):
        with pytest.raises(GuardError) as caught:
            await tools.call("t")
        assert caught.value.outcome == "not_sent"
        assert not server.counts["tools/call"]


# --- what is not its own ---


async def test_an_unguarded_call_is_the_sdks_alone(modern: bool) -> None:
    async with tapped('{"jsonrpc": "2.0", "id": @@ID@@, "error": {"code": 7, "message": "own"}}', modern=modern) as (
        tools,
        _,
    ):
        with pytest.raises(SdkError, match="own"):
            await tools.target.call_tool("t", {})


async def test_answers_at_the_same_time_are_told_apart(modern: bool) -> None:
    names = [f"t{n}" for n in range(20)]
    results = {name: Line(f'{{"id": @@ID@@, "result": {{"tool": "{name}"}}}}') for name in names}
    async with tapped(modern=modern, tools=[{**T, "name": n} for n in names], results=results) as (tools, _):

        async def call(name: str) -> None:
            with pytest.raises(MalformedResultError) as caught:
                await tools.call(name)
            assert caught.value.result == {"tool": name}

        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(call, name)


def frame(**members: Any) -> Any:
    return sdk().to_message({"jsonrpc": "2.0", **members})


async def test_what_passes_is_the_very_object_in_its_order() -> None:
    tap = Tap(sdk(), Limits())
    send, receive = anyio.create_memory_object_stream[Any](10)
    items = [frame(method="notifications/x"), ValueError("no"), frame(id=1, result={}), frame(id="x", method="ping")]
    async with Writing(tap, send) as writing, Reading(tap, receive) as reading:
        await writing.send(frame(id=2, method="tools/list"))
        assert (await reading.receive()).message is not None
        for item in items:
            await send.send(item)
        assert await reading.receive() is items[0]
        await writing.aclose()
        assert [item async for item in reading] == items[1:]


async def test_the_streams_are_as_they_are_but_for_the_tap() -> None:
    tap = Tap(sdk(), Limits())
    send, receive = anyio.create_memory_object_stream[Any](0)
    writing, reading = Writing(tap, send), Reading(tap, receive)
    with anyio.move_on_after(0.01) as scope:  # nobody reads: it waits, as without a tap
        await writing.send(frame(method="notifications/x"))
    assert scope.cancelled_caught
    assert reading.statistics().tasks_waiting_receive == 0
    assert not hasattr(reading, "last_context")
    await writing.aclose()
    with pytest.raises(anyio.EndOfStream):
        await reading.receive()
    await reading.aclose()


async def test_requests_that_are_never_answered_are_forgotten_in_time() -> None:
    tap = Tap(sdk(), Limits())
    for number in range(10_050):
        tap.sent(frame(id=number, method="tools/list"))
    assert len(tap._pending) == 10_000  # noqa: SLF001  # memory has no other way to be seen
    with tap.hearing("tools/call", "t"):
        tap.sent(frame(id=99_999, method="tools/call", params={"name": "t"}))
    assert 99_999 not in tap._pending  # noqa: SLF001  # the same


@pytest.mark.parametrize(
    "value, expected",
    [(1, 1), ("7", 7), ("x", None), ("-1", None), ("9" * 40, None), (True, None), (1.0, None), (None, None)],
)
def test_an_id_is_read_as_the_sdk_does(value: Any, expected: int | None) -> None:
    assert request_id(value) == expected


def test_a_frame_is_understood_as_far_as_it_goes() -> None:
    sound = {"jsonrpc": "2.0", "id": 1}
    assert understood({**sound, "result": {}}, None) == Answer({}, {})
    assert understood({**sound, "error": {"code": 1, "message": "m"}}, None) == PeerError(1, "m", None)
    both = understood({**sound, "result": {"a": 1}, "error": {"code": 1, "message": "m"}}, None)
    assert isinstance(both, Unparsable)
    assert both.kept == Answer({"a": 1}, {"a": 1})


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_lines_are_those_that_the_transport_parses(size: int) -> None:
    text, lines = 'one\n\n{"two": 2}\r\nthree\nrest', Lines("utf-8")
    for start in range(0, len(text), size):
        lines.feed(text[start : start + size])
    assert [lines.take() for _ in range(6)] == ["one", "", '{"two": 2}\r', "three", "", ""]


def test_a_string_that_never_ends_is_read_once() -> None:
    frame = '{"jsonrpc":"2.0","id":7,"result":' + "[" * 5_000 + '"' + '\\"' * 20_000
    assert _id_in(frame) == 7
