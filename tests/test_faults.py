"""Calls that bring no result: errors of the peer, time that is up, cancelled calls, a connection that is gone."""

from __future__ import annotations

import asyncio
import logging
import pickle
import traceback
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, Final

import anyio
import pytest

from mcp_guard import (
    OBSERVE,
    CallError,
    ConnectionLostError,
    GuardError,
    OutputValidationError,
    Record,
    ToolExecutionError,
    ToolProtocolError,
    ToolTimeoutError,
)
from support import HANG_UP, NOTHING, SDK_MAJOR, Connect, Error, Request, in_turn, raw_session, tool, when
from support.calls import N, SdkError, data, every_target, guarded, made_with, said

GOOD: Final = data({"n": 1})
WAYS: Final = ["call", "call_tool", "judge"]


@asynccontextmanager
async def ready(connect: Connect, answer: Any, **options: Any) -> AsyncGenerator[tuple[Any, Any, list[Record]], None]:
    """A guard with its listing read, a tool `t` that answers so, a good tool `u`, and the records."""
    records: list[Record] = []
    results = {"t": answer, "u": GOOD}
    tools_listed = [tool("t", N), tool("u", N)]
    options = {"ttl_ms": 60_000, "hooks": [records.append], **options}
    async with guarded(connect, tools=tools_listed, results=results, **options) as (tools, server):
        await tools.refresh()
        yield tools, server, records


# --- errors of the peer


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "code, outcome",
    [
        (-32700, "rejected"),
        (-32600, "rejected"),
        (-32601, "rejected"),
        (-32602, "rejected"),
        (-32603, "unknown"),
        (-32000, "unknown"),
        (-32001, "unknown"),
        (-32042, "unknown"),
        (408, "unknown"),
        (0, "unknown"),
        (1, "unknown"),
    ],
)
@every_target
async def test_a_json_rpc_error_keeps_its_code_and_is_never_safe_to_repeat(
    connect: Connect, code: int, outcome: str, way: str
) -> None:
    sent = {"elicitations": [1]}
    async with ready(connect, Error(code, "CANARY words", sent)) as (tools, server, records):
        with pytest.raises(ToolProtocolError) as caught:
            await getattr(tools, way)("t", {})
        error = caught.value
        assert (error.code, error.message, error.data, error.outcome) == (code, "CANARY words", sent, outcome)
        assert (error.retry_safe, error.retryable) == (False, False)
        assert isinstance(error.sdk_error, SdkError)
        assert getattr(error.sdk_error, "error").data == sent  # noqa: B009  # the two SDKs share no type
        assert server.calls["t"] == 1
        assert [(r.error, r.outcome, r.verdict, r.action) for r in records] == [
            ("protocol_error", outcome, None, "raise")
        ]


@every_target
async def test_the_peers_code_says_nothing_about_a_tool_that_is_safe(connect: Connect) -> None:
    async with ready(connect, Error(-32603), safe=["t"]) as (tools, _, _records):
        with pytest.raises(ToolProtocolError) as caught:
            await tools.call("t", {})
        assert (caught.value.retry_safe, caught.value.retryable) == (True, True)


@pytest.mark.parametrize("code", [408, -32001, -32603])
@pytest.mark.parametrize("words", ["Timed out while waiting for response to CallToolRequest. Waited 5 seconds.", "no"])
@every_target
async def test_a_peer_cannot_pass_its_error_off_as_a_timeout_of_ours(connect: Connect, code: int, words: str) -> None:
    async with ready(connect, Error(code, words)) as (tools, _, _records):
        with pytest.raises(ToolProtocolError):
            await tools.call("t", {})
        try:
            raise TimeoutError  # noqa: TRY301  # what the caller is handling is not the peer's doing
        except TimeoutError:
            with pytest.raises(ToolProtocolError):
                await tools.call("t", {})


@every_target
async def test_the_sessions_own_timeout_is_a_timeout_and_told_apart_while_one_is_handled(connect: Connect) -> None:
    own = made_with(connect, read_timeout_seconds=timedelta(seconds=0.2) if SDK_MAJOR == 1 else 0.2)
    async with ready(connect, in_turn(NOTHING, Error(-32001), NOTHING), timeout=None, **own) as (tools, _, records):
        with pytest.raises(ToolTimeoutError) as caught:
            await tools.call("t", {})
        assert (caught.value.seconds, caught.value.outcome) == (None, "unknown")
        try:
            raise TimeoutError  # noqa: TRY301  # as above
        except TimeoutError:
            with pytest.raises(ToolProtocolError):
                await tools.call("t", {})
            with pytest.raises(ToolTimeoutError):
                await tools.call("t", {})
        assert [r.error for r in records] == ["timeout", "protocol_error", "timeout"]


# --- time that is up


@pytest.mark.parametrize(
    "way, keyword", [("call", "timeout"), ("judge", "timeout"), ("call_tool", "read_timeout_seconds")]
)
@every_target
async def test_a_call_that_is_never_answered_times_out_with_the_outcome_unknown(
    connect: Connect, modern: bool, way: str, keyword: str
) -> None:
    async with ready(connect, NOTHING, modern=modern) as (tools, server, records):
        with pytest.raises(ToolTimeoutError, match=r"no answer came in time \(0.1 s\)") as caught:
            await getattr(tools, way)("t", {}, **{keyword: 0.1})
        assert isinstance(caught.value, TimeoutError)
        assert (caught.value.outcome, caught.value.retry_safe, caught.value.seconds) == ("unknown", False, 0.1)
        assert server.calls["t"] == 1
        assert [(r.error, r.outcome, r.action, r.verdict, len(r.attempts)) for r in records] == [
            ("timeout", "unknown", "raise", None, 1)
        ]
        assert await tools.call("u", {}) == {"n": 1}


@every_target
async def test_the_guards_own_timeout_counts_where_the_call_names_none(connect: Connect) -> None:
    async with ready(connect, NOTHING, timeout=0.05) as (tools, _, _records):
        for way in WAYS:
            with pytest.raises(ToolTimeoutError):
                await getattr(tools, way)("t", {})


async def test_under_observe_call_tool_and_judge_set_no_timeout_of_their_own_and_call_does() -> None:
    async with ready(raw_session, NOTHING, timeout=0.01, policy=OBSERVE) as (tools, _, _records):
        for way in ("call_tool", "judge"):
            with anyio.move_on_after(0.1) as scope:
                await getattr(tools, way)("t", {})
            assert scope.cancelled_caught, way
        with pytest.raises(ToolTimeoutError):
            await tools.call("t", {})


async def test_a_timeout_of_none_is_none() -> None:
    async with ready(raw_session, NOTHING, timeout=0.01) as (tools, _, _records):
        with anyio.move_on_after(0.1) as scope:
            await tools.call("t", {}, timeout=None)
        assert scope.cancelled_caught


@every_target
async def test_the_deadline_is_over_listing_and_call_together(connect: Connect) -> None:
    release = anyio.Event()
    on = {"tools/list": when(release, {"tools": [tool("t", N)]})}
    async with guarded(connect, on=on, results={"t": GOOD}) as (tools, server):
        with pytest.raises(ToolTimeoutError) as caught:
            await tools.call("t", {}, timeout=0.05)
        assert (caught.value.outcome, caught.value.retry_safe) == ("not_sent", True)
        release.set()
        assert await tools.call("t", {}) == {"n": 1}
        assert server.calls["t"] == 1


@every_target
async def test_a_late_answer_is_nobodys_and_the_next_call_gets_its_own(connect: Connect, modern: bool) -> None:
    late, held = data({"n": 99}), list[Request]()

    def answer(request: Request) -> Any:
        held.append(request)
        return NOTHING if len(held) == 1 else when(sent, GOOD)

    sent = anyio.Event()
    async with ready(connect, answer, modern=modern) as (tools, server, _):
        with pytest.raises(ToolTimeoutError):
            await tools.call("t", {}, timeout=0.2)
        got: list[Any] = []

        async def again() -> None:
            got.append(await tools.call("t", {}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(again)
            await server.arrived(lambda server: server.calls["t"] == 2)
            await held[0].reply(late)
            await anyio.wait_all_tasks_blocked()
            sent.set()
        assert got == [{"n": 1}]


# --- cancelled calls


@every_target
async def test_a_cancelled_call_is_told_and_the_cancel_passes_through(connect: Connect, modern: bool) -> None:
    async with ready(connect, NOTHING, modern=modern) as (tools, server, records):
        seen: list[type[BaseException]] = []

        async def call() -> None:
            try:
                await tools.call("t", {})
            except BaseException as error:
                seen.append(type(error))
                raise

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await server.arrived(lambda server: server.calls["t"] == 1)
            tasks.cancel_scope.cancel()
        assert seen == [anyio.get_cancelled_exc_class()]
        assert [(r.error, r.outcome, r.verdict, r.action) for r in records] == [(None, "unknown", None, "raise")]
        assert await tools.call("u", {}) == {"n": 1}


@every_target
async def test_a_call_that_is_cancelled_while_listing_was_not_sent(connect: Connect) -> None:
    records: list[Record] = []
    async with guarded(connect, on={"tools/list": NOTHING}, hooks=[records.append]) as (tools, server):
        with anyio.move_on_after(0.05) as scope:
            await tools.call("t", {})
        assert scope.cancelled_caught
        assert not server.counts["tools/call"]
        assert [(r.error, r.outcome, r.attempts) for r in records] == [(None, "not_sent", ())]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@every_target
async def test_the_very_cancelled_error_of_asyncio_comes_out(connect: Connect, anyio_backend: str) -> None:
    assert anyio_backend == "asyncio"
    async with ready(connect, NOTHING) as (tools, server, _):
        task = asyncio.ensure_future(tools.call("t", {}))
        await server.arrived(lambda server: server.calls["t"] == 1)
        task.cancel("mine")
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        with pytest.raises(asyncio.TimeoutError) as caught:
            await asyncio.wait_for(tools.call("t", {}), 0.05)
        assert not isinstance(caught.value, GuardError)


# --- a connection that is gone


@pytest.mark.parametrize("way", WAYS)
@every_target
async def test_a_connection_lost_during_the_call_leaves_the_outcome_unknown(
    connect: Connect, modern: bool, way: str
) -> None:
    async with ready(connect, HANG_UP, modern=modern) as (tools, _, records):
        with pytest.raises(ConnectionLostError) as caught:
            await getattr(tools, way)("t", {})
        assert isinstance(caught.value, ConnectionError)
        assert (caught.value.outcome, caught.value.retry_safe) == ("unknown", False)
        assert [(r.error, r.outcome) for r in records] == [("connection_lost", "unknown")]


@every_target
async def test_a_call_on_a_session_that_is_closed_ends_in_an_error_of_the_call(connect: Connect) -> None:
    async with guarded(connect, tools=[tool("t", N)], results={"t": GOOD}, timeout=1) as (tools, server):
        await tools.call("t", {})
        await server.hang_up()
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(CallError) as caught:
            await tools.call("t", {}, timeout=0.05)
        assert caught.value.kind in {"connection_lost", "timeout"}


# --- what may be shown


CANARY: Final = "CANARY-secret"
SAYING: Final[dict[str, tuple[Any, type[GuardError]]]] = {
    "protocol error": (Error(-32603, CANARY, {"a": CANARY}), ToolProtocolError),
    "tool error": (data({CANARY: CANARY}, CANARY, isError=True), ToolExecutionError),
    "value": (data({"n": CANARY}), OutputValidationError),
    "undeclared name": (data({"n": 1, CANARY: [CANARY]}), OutputValidationError),
    "text": (said(CANARY), GuardError),
    "content": ({"content": CANARY, "structuredContent": {CANARY: 1}}, GuardError),
    "block": ({"content": [{"type": CANARY, "text": CANARY}]}, GuardError),
}
CLOSED: Final = {**N, "additionalProperties": False}


@pytest.mark.parametrize("way", ["call", "call_tool"])
@pytest.mark.parametrize("what", SAYING)
@every_target
async def test_nothing_that_the_peer_said_is_in_str_repr_dict_pickle_traceback_or_log(
    connect: Connect, what: str, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answer, kind = SAYING[what]
    records: list[Record] = []
    options = {"tools": [tool("t", CLOSED, description=CANARY)], "results": {"t": answer}, "hooks": [records.append]}
    async with guarded(connect, **options) as (tools, _):
        with pytest.raises(kind) as caught:
            await getattr(tools, way)("t", {"secret": CANARY})
        error = caught.value
        shown = [str(error), repr(error), str(error.to_dict()), error.explain()]
        shown += ["".join(traceback.format_exception(type(error), error, error.__traceback__))]
        shown += [repr(records), str([r.to_dict() for r in records])]
        shown += [r.getMessage() for r in caplog.records if r.name == "mcp_guard"]
        assert not [x for x in shown if CANARY in x]
        if not isinstance(error, (ToolProtocolError, ToolExecutionError, OutputValidationError)):
            assert CANARY.encode() not in pickle.dumps(error)
        assert pickle.loads(pickle.dumps(error)) == error  # noqa: S301  # our own


@every_target
async def test_what_is_reported_is_logged_without_the_peers_words(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for answer, _ in SAYING.values():
        options = {"tools": [tool("t", CLOSED)], "results": {"t": answer}, "policy": OBSERVE}
        async with guarded(connect, **options) as (tools, _server):
            with suppress(GuardError):  # where the SDK's own parser drops the answer
                await tools.judge("t", {"secret": CANARY})
    lines = [r.getMessage() for r in caplog.records if r.name == "mcp_guard"]
    assert lines
    assert not [x for x in lines if CANARY in x]


async def test_what_the_tool_and_the_peer_said_is_there_for_the_caller_and_the_model() -> None:
    async with ready(raw_session, in_turn(said("no such SKU", isError=True), Error(-32000, "busy"))) as (tools, _, _r):
        with pytest.raises(ToolExecutionError) as tool_error:
            await tools.call("t", {})
        with pytest.raises(ToolProtocolError) as protocol_error:
            await tools.call("t", {})
    assert tool_error.value.failure.text == "no such SKU"
    assert "no such SKU" in tool_error.value.for_model()
    assert protocol_error.value.message == "busy"
    assert "busy" in protocol_error.value.explain(values=True)


@every_target
async def test_what_is_not_the_peers_doing_goes_through_as_it_is(connect: Connect) -> None:
    async with ready(connect, GOOD) as (tools, server, records):
        with pytest.raises((TypeError, ValueError)):
            await tools.call("t", {}, meta={"progressToken": object()})
        assert not server.calls["t"]
        assert [(r.error, r.action) for r in records] == [(None, "raise")]
