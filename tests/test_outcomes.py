"""What became of a call that brought no result: whether it was sent, refused, or may have run."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import mcp
import pytest
from typing_extensions import Self

from mcp_guard import (
    ConnectionLostError,
    GuardError,
    OutputValidationError,
    Record,
    ToolProtocolError,
    ToolTimeoutError,
    connect,
    guard,
)
from support import HANG_UP, NOTHING, SDK_MAJOR, Connect, Error, RawServer, in_turn, raw_client, raw_transport, tool
from support.calls import N, data, every_target, guarded, only_2
from support.clock import timelessly

GOOD: Final = data({"n": 1})
BROKEN: Final = data({"n": "x"})
ASK: Final = {
    "resultType": "input_required",
    "inputRequests": {
        "a": {
            "method": "elicitation/create",
            "params": {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}},
        }
    },
}


def serving(answer: Any, **options: Any) -> dict[str, Any]:
    """A server whose tool `t` answers so."""
    return {"tools": [tool("t", N)], "results": {"t": answer}, **options}


# --- a connection that is lost, before and after


@every_target
async def test_after_the_connection_was_lost_nothing_is_sent_and_that_is_known(connect: Connect, modern: bool) -> None:
    records: list[Record] = []
    async with guarded(connect, **serving(in_turn(GOOD, HANG_UP), modern=modern), hooks=[records.append]) as (tools, _):
        await tools.call("t")
        with pytest.raises(ConnectionLostError, match="not known whether the tool ran") as during:
            await tools.call("t")
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(ConnectionLostError, match="nothing was sent") as after:
            await tools.call("t")
    assert (during.value.outcome, during.value.retry_safe, during.value.retryable) == ("unknown", False, False)
    assert (after.value.outcome, after.value.retry_safe, after.value.retryable) == ("not_sent", True, True)
    assert isinstance(after.value.sdk_error, Exception)
    assert [(r.error, r.outcome, len(r.attempts)) for r in records[1:]] == [
        ("connection_lost", "unknown", 1),
        ("connection_lost", "not_sent", 0),
    ]


async def test_the_same_through_connect(modern: bool) -> None:
    server = RawServer(**serving(in_turn(GOOD, HANG_UP), modern=modern))
    async with connect(raw_transport(server)) as tools:
        await tools.call("t")
        with pytest.raises(ConnectionLostError) as during:
            await tools.call("t")
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(ConnectionLostError) as after:
            await tools.call("t")
    assert (during.value.outcome, after.value.outcome) == ("unknown", "not_sent")


class Failing:
    """A stream to write to, which fails once it is told how."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.error: Exception | None = None
        self.calls_let_through = 0

    async def send(self, item: Any) -> None:
        """Send, or fail."""
        frame = getattr(item.message, "root", item.message)
        if self.error is not None and getattr(frame, "method", None) == "tools/call":
            if self.calls_let_through == 0:
                await anyio.lowlevel.checkpoint()
                raise self.error
            self.calls_let_through -= 1
        await self._stream.send(item)

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stream.__aexit__(*exc)

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()


@asynccontextmanager
async def over_failing(server: RawServer, **options: Any) -> AsyncGenerator[tuple[Any, Failing], None]:
    """A guarded session that writes to such a stream, its tools listed."""
    session_class: Any = mcp.ClientSession
    async with raw_transport(server) as (read, write):
        failing = Failing(write)
        async with session_class(read, failing) as session:
            await session.initialize()
            tools = guard(session, **options)
            await tools.refresh()
            yield tools, failing


SEAMS: Final[list[Any]] = ["send_request", "call_tool"] if SDK_MAJOR == 1 else ["call_tool"]


@pytest.mark.parametrize("seam", SEAMS)
@pytest.mark.parametrize(
    "error, kind, outcome",
    [
        (anyio.BrokenResourceError(), ConnectionLostError, "not_sent"),
        (anyio.ClosedResourceError(), ConnectionLostError, "not_sent"),
        (ConnectionRefusedError(), ConnectionLostError, "not_sent"),
        (ConnectionResetError(), ConnectionLostError, "unknown"),
        (BrokenPipeError(), ConnectionLostError, "unknown"),
        (TimeoutError(), ToolTimeoutError, "unknown"),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else None,
)
async def test_a_transport_that_can_not_write_says_whether_anything_went_out(
    error: Exception, kind: type[GuardError], outcome: str, seam: Any
) -> None:
    server = RawServer(**serving(GOOD))
    async with over_failing(server, seam=seam) as (tools, failing):
        failing.error = error
        with pytest.raises(kind) as caught:
            await tools.call("t")
        assert type(caught.value) is kind
        assert (caught.value.outcome, caught.value.retry_safe) == (outcome, outcome == "not_sent")
        assert not server.counts["tools/call"]
        failing.error = None
        assert await tools.call("t") == {"n": 1}


@pytest.mark.parametrize("seam", SEAMS)
async def test_what_the_caller_is_handling_meanwhile_says_nothing_about_its_call(seam: Any) -> None:
    server = RawServer(**serving(HANG_UP))
    async with over_failing(server, seam=seam) as (tools, _):
        try:
            raise anyio.ClosedResourceError  # noqa: TRY301  # of something else
        except anyio.ClosedResourceError:
            with pytest.raises(ConnectionLostError) as caught:
                await tools.call("t")
        assert caught.value.outcome == "unknown"


async def test_an_error_of_a_patched_call_tool_is_no_proof_that_nothing_was_sent() -> None:
    for error in (anyio.ClosedResourceError(), ConnectionRefusedError()):
        server = RawServer(**serving(GOOD))
        async with over_failing(server) as (tools, _):
            own = tools.target.call_tool

            async def patched(*args: Any, own: Any = own, error: Exception = error, **options: Any) -> Any:
                await own(*args, **options)
                raise error  # from telling somebody of the call, say

            tools.target.call_tool = patched
            with pytest.raises(ConnectionLostError) as caught:
                await guard(tools.target, seam="call_tool").call("t")
            assert caught.value.outcome == "unknown"
            assert server.calls["t"] == 1


# --- rounds, on mcp 2.x


def saying_yes() -> dict[str, Any]:
    """The options of a client that says yes to whatever it is asked."""
    from mcp import types

    async def accept(_context: Any, _params: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return types.ElicitResult(action="accept", content={})

    return {"elicitation_callback": accept}


@only_2
async def test_a_connection_that_is_lost_before_a_later_round_leaves_the_outcome_unknown() -> None:
    server = RawServer(**serving(in_turn(ASK, GOOD), modern=True))
    client_class: Any = vars(mcp)["Client"]
    failing: list[Failing] = []

    @asynccontextmanager
    async def transport() -> AsyncGenerator[tuple[Any, Any], None]:
        async with raw_transport(server) as (read, write):
            failing.append(Failing(write))
            yield read, failing[0]

    async with client_class(transport(), mode="auto", **saying_yes()) as client:
        failing[0].error, failing[0].calls_let_through = anyio.BrokenResourceError(), 1
        with pytest.raises(ConnectionLostError) as caught:
            await guard(client).call("t")
    assert caught.value.outcome == "unknown"
    assert server.calls["t"] == 1


@only_2
@pytest.mark.parametrize("code", [-32602, -32600, -32601])
async def test_an_error_after_a_round_is_no_refusal_the_tool_had_begun(code: int) -> None:
    described = serving(in_turn(ASK, Error(code)), modern=True, client_options=saying_yes())
    async with guarded(raw_client, **described) as (tools, _):
        with pytest.raises(ToolProtocolError) as caught:
            await tools.call("t")
    assert (caught.value.code, caught.value.outcome) == (code, "unknown")


@every_target
async def test_before_2026_07_28_there_are_no_headers_and_nothing_is_sent_again(connect: Connect) -> None:
    async with guarded(connect, **serving(in_turn(Error(-32020), GOOD))) as (tools, server):
        with pytest.raises(ToolProtocolError) as caught:
            await tools.call("t")
        assert (caught.value.code, caught.value.outcome, server.calls["t"]) == (-32020, "unknown", 1)


@only_2
async def test_a_client_that_can_not_answer_what_it_is_asked_leaves_the_outcome_unknown() -> None:
    async with guarded(raw_client, **serving(in_turn(ASK, GOOD), modern=True)) as (tools, server):
        with pytest.raises(ToolProtocolError) as caught:
            await tools.call("t")
        assert server.calls["t"] == 1
    assert (caught.value.code, caught.value.outcome) == (-32600, "unknown")


# --- time that is up, and cancelled calls


@every_target
@timelessly
async def test_a_timeout_out_of_a_patched_call_tool_is_one_of_ours(connect: Connect) -> None:
    async with connect(**serving(NOTHING)) as (target, _):
        own = target.call_tool

        async def patched(*args: Any, **options: Any) -> Any:
            with anyio.fail_after(0.05):
                return await own(*args, **options)

        target.call_tool = patched
        with pytest.raises(ToolTimeoutError) as caught:
            await guard(target, seam="call_tool").call("t")
    assert caught.value.outcome == "unknown"


@only_2
@pytest.mark.parametrize("how", ["timeout", "cancel"])
@every_target
@timelessly
async def test_on_mcp_2_the_peer_is_told_of_a_call_that_nobody_waits_for(
    connect: Connect, modern: bool, how: str
) -> None:
    async with guarded(connect, **serving(NOTHING, modern=modern)) as (tools, server):
        await tools.refresh()
        if how == "timeout":
            with pytest.raises(ToolTimeoutError):
                await tools.call("t", timeout=0.05)
        else:
            with anyio.move_on_after(0.05):
                await tools.call("t")
        await server.arrived(lambda server: any("cancelled" in n["method"] for n in server.notifications))
        [told] = [n for n in server.notifications if n["method"] == "notifications/cancelled"]
        assert told["params"]["requestId"] == server.asked("tools/call")[0].id


@every_target
async def test_a_call_that_is_cancelled_after_its_answer_came_did_run(connect: Connect) -> None:
    records: list[Record] = []
    listing = in_turn({"tools": [tool("t", N)]}, NOTHING)
    async with guarded(connect, on={"tools/list": listing}, results={"t": BROKEN}, hooks=[records.append]) as (
        tools,
        server,
    ):
        await tools.refresh()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tools.call, "t")  # its result does not fit, and so the tools are listed again
            await server.arrived(lambda server: server.counts["tools/list"] == 2)
            tasks.cancel_scope.cancel()
    assert [(r.error, r.outcome, r.action) for r in records] == [(None, "executed", "raise")]


@every_target
@timelessly
async def test_a_deadline_that_passes_while_a_result_is_doubted_does_not_lose_it(connect: Connect) -> None:
    listing = in_turn({"tools": [tool("t", N)]}, NOTHING)
    async with guarded(connect, on={"tools/list": listing}, results={"t": BROKEN}) as (tools, _):
        await tools.refresh()
        with pytest.raises(OutputValidationError) as caught:
            await tools.call("t", timeout=0.1)
        assert caught.value.outcome == "executed"
