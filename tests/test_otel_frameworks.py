"""`otel_hook` inside the spans of others: a framework's for the same tool, a server's, FastMCP's."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import mcp
import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from mcp_guard import GuardError, Record, attach, guard
from support import NOTHING, SDK_MAJOR, RawServer, raw_transport, tool
from support.calls import N
from support.telemetry import (
    CANARY,
    ENDINGS,
    GOOD,
    Telemetry,
    about,
    every_ending,
    everywhere,
    expected,
    ids,
    parent,
    session,
)


@pytest.fixture
def telemetry(monkeypatch: pytest.MonkeyPatch) -> Telemetry:
    """Where all is told that happens in a test."""
    return everywhere(monkeypatch)


OPERATION: Final = {"gen_ai.operation.name": "execute_tool"}
OF_T: Final = {**OPERATION, "gen_ai.tool.name": "t"}
FRAMEWORKS: Final = [
    pytest.param("execute_tool t", {}, SpanKind.INTERNAL, True, id="by its name"),
    pytest.param("running tool", OF_T, SpanKind.INTERNAL, True, id="by its operation"),
    pytest.param("tools/call t", OF_T, SpanKind.CLIENT, True, id="a client's"),
    pytest.param("running tool", OPERATION, SpanKind.INTERNAL, True, id="that names no tool"),
    pytest.param("execute_tool shop_t", {}, SpanKind.INTERNAL, True, id="with the server's name before the tool's"),
    pytest.param("x", {**OF_T, "gen_ai.tool.name": "shop.t"}, SpanKind.INTERNAL, True, id="whose words for it stay"),
    pytest.param("execute_tool report", {}, SpanKind.INTERNAL, False, id="of a tool that calls ours"),
    pytest.param("x", {**OPERATION, "gen_ai.tool.name": "report"}, SpanKind.INTERNAL, False, id="of another tool"),
    pytest.param("tools/call t", OF_T, SpanKind.SERVER, False, id="served here"),
    pytest.param("execute_tool", {"gen_ai.operation.name": "chat"}, SpanKind.INTERNAL, False, id="of a chat"),
]


@pytest.mark.parametrize("name, attributes, kind, is_it", FRAMEWORKS)
async def test_a_frameworks_span_of_this_tool_is_enriched_and_none_of_ours_made(
    name: str, attributes: dict[str, Any], kind: SpanKind, is_it: bool, telemetry: Telemetry
) -> None:
    records: list[Record] = []
    async with session(ENDINGS["violation"][0]) as target:
        tools: Any = guard(target, hooks=[telemetry.hook(), records.append])
        framework = telemetry.tracers.get_tracer("framework")
        with framework.start_as_current_span(name, kind=kind, attributes=attributes), suppress(GuardError):
            await tools.call("t")
    theirs, [record] = telemetry.named(name), records
    if not is_it:
        [ours] = telemetry.ours
        assert parent(ours) == ids(theirs)[1]
        assert about(theirs) == attributes
        return
    assert telemetry.ours == []
    assert about(theirs) == {**expected(ENDINGS["violation"][1], record), **attributes}
    assert theirs.status.status_code is StatusCode.ERROR
    assert (record.trace_id, record.span_id) == ids(theirs)
    for sdks in telemetry.clients:
        assert sdks.name == name or parent(sdks) == record.span_id


async def test_a_second_call_inside_a_frameworks_span_has_its_own(telemetry: Telemetry) -> None:
    async with session(GOOD) as target:
        tools: Any = guard(target, hooks=[telemetry.hook()])
        with telemetry.tracers.get_tracer("framework").start_as_current_span("execute_tool t"):
            await tools.call("t")
            await tools.call("t")
    [ours], framework = telemetry.ours, telemetry.spans[-1]
    assert parent(ours) == ids(framework)[1]
    assert about(ours)["mcp_guard.call_id"] != about(framework)["mcp_guard.call_id"]


async def test_a_frameworks_span_that_it_ended_meanwhile_is_left_alone(
    telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    span = telemetry.tracers.get_tracer("framework").start_span("execute_tool t")

    def end(_: object) -> Any:
        span.end()
        return GOOD

    async with session(end) as target:
        with trace.use_span(span):
            await guard(target, hooks=[telemetry.hook()]).call("t")
    assert "mcp_guard.verdict" not in about(telemetry.named("execute_tool t"))
    assert not caplog.records


# --- through FastMCP


@pytest.fixture
def fastmcp() -> Any:
    """FastMCP, which has spans of its own: 3.x on mcp 1.x, 4.x on mcp 2.x."""
    return pytest.importorskip("fastmcp")


def fastmcp_client(fastmcp: Any, answer: Any) -> Any:
    """A `fastmcp.Client` of a raw server."""
    base: Any = importlib.import_module("fastmcp.client.transports.base")
    session_class = getattr(base, "VersionAwareClientSession", mcp.ClientSession)

    class Transport(base.ClientTransport):  # type: ignore[misc]  # what it is made of is Any
        @asynccontextmanager
        async def connect_session(self, *, transport_options: object = None, **options: Any) -> AsyncGenerator[Any]:
            del transport_options
            server = RawServer(tools=[tool("t", N)], results={"t": answer})
            async with raw_transport(server) as streams, session_class(*streams, **options) as made:
                yield made

    return fastmcp.Client(Transport())


only_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""A `fastmcp.Client` knows no other event loop."""


@only_asyncio
@every_ending
async def test_through_fastmcp_there_is_one_span_of_the_tool_and_no_client_span_more(
    ending: str, telemetry: Telemetry, fastmcp: Any
) -> None:
    answer, telling = ENDINGS[ending]
    records: list[Record] = []
    async with fastmcp_client(fastmcp, answer) as unguarded:
        with suppress(Exception):
            await unguarded.call_tool("t", timeout=0.1 if answer is NOTHING else 10)
    without = [span.name for span in telemetry.clients]
    async with fastmcp_client(fastmcp, answer) as caller:
        timeout = 0.1 if answer is NOTHING else 10
        attach(caller.session, hooks=[telemetry.hook(), records.append], timeout=timeout)
        with suppress(GuardError):
            await caller.call_tool("t")
    [record] = records
    [told] = [span for span in telemetry.spans if "mcp_guard.call_id" in about(span)]
    assert [span.name for span in telemetry.clients] == without * 2
    assert (record.trace_id, record.span_id) == ids(told)
    on_span = about(told)
    assert {"mcp_guard.outcome": telling["outcome"], "mcp_guard.action": telling["action"]}.items() <= on_span.items()
    assert on_span.get("mcp_guard.error") == telling.get("error")
    assert told.status.status_code is (StatusCode.ERROR if "error" in telling else StatusCode.UNSET)
    if SDK_MAJOR == 2:  # FastMCP 4 calls its span one of a tool's execution: that is the one
        assert telemetry.ours == []
        assert [parent(s) for s in telemetry.clients if s.name.startswith("MCP send")][1] == ids(told)[1]
    else:
        assert telemetry.ours == [told]
        assert parent(told) == ids(telemetry.clients[1])[1]
    assert CANARY not in telemetry.text()


@only_asyncio
async def test_the_session_inside_a_fastmcp_client_is_guarded_as_any_other(telemetry: Telemetry, fastmcp: Any) -> None:
    server = fastmcp.FastMCP("shop")

    def add(a: int, b: int) -> int:
        return a + b

    server.tool(add)
    async with fastmcp.Client(server) as caller:
        assert await guard(caller.session, hooks=[telemetry.hook()]).call("add", {"a": 1, "b": 2}) == 3
    [ours] = telemetry.ours
    assert ours.parent is None
    assert [parent(span) for span in telemetry.clients] == [ids(ours)[1]] * (SDK_MAJOR == 2)
