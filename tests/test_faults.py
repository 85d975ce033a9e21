"""Calls that bring no result: errors of the peer, time that is up, cancelled calls, a connection that is gone."""

from __future__ import annotations

import asyncio
import logging
import pickle
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
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
from support.calls import N, SdkError, data, every_target, guarded, said

GOOD: Final = data({"n": 1})
WAYS: Final = ["call", "call_tool", "judge"]


@asynccontextmanager
async def ready(connect: Connect, answer: Any, **options: Any) -> AsyncIterator[tuple[Any, Any, list[Record]]]:
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
        assert error.sdk_error.error.data == sent
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
async def test_while_a_timeout_is_handled_a_real_one_is_still_told_apart(connect: Connect) -> None:
    async with ready(connect, in_turn(NOTHING, Error(-32603), NOTHING)) as (tools, _, _records):
        with pytest.raises(ToolTimeoutError):
            await own_timeout(tools)
        try:
            raise TimeoutError  # noqa: TRY301
        except TimeoutError:
            with pytest.raises(ToolProtocolError):
                await own_timeout(tools)
            with pytest.raises(ToolTimeoutError):
                await own_timeout(tools)


async def own_timeout(tools: Any) -> Any:
    """A call that only the SDK's own timeout ends."""
    return await tools.call("t", {}, timeout=None)


@pytest.fixture(autouse=True)
def _sdk_timeout(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Let the sessions of the tests that ask for it have a short timeout of their own."""
    if "real_one" not in request.node.name and "sessions_own" not in request.node.name:
        return
    import mcp

    name = "_session_read_timeout_seconds"
    from datetime import timedelta

    own = mcp.ClientSession.__init__

    def init(self: Any, *args: Any, **options: Any) -> None:
        own(self, *args, **options)
        setattr(self, name, timedelta(seconds=0.05) if SDK_MAJOR == 1 else 0.05)

    monkeypatch.setattr(mcp.ClientSession, "__init__", init)
