"""`otel_hook`, with a real OpenTelemetry SDK: the spans of a call, and what is on them and on the metrics."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Final, TypeAlias

import anyio
import mcp
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from mcp_guard import OBSERVE, RELAY, STRICT, GuardError, Record, correlation, guard
from mcp_guard._otel import otel_hook
from mcp_guard.records import CallInfo
from support import (
    LEGACY,
    NOTHING,
    SDK_MAJOR,
    Error,
    in_turn,
    raw_client,
    raw_session,
    tool,
)
from support.calls import N, data, only_2, said
from support.page import Page, follow, stock_server
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


# --- one span of ours a call, and at most one client span, however it is connected and however it ends


@asynccontextmanager
async def in_process(answer: Any) -> AsyncGenerator[Any]:
    """A 2.x `Client` whose server is an object in this process, called with no wire between them."""
    types: Any = importlib.import_module("mcp_types")
    exceptions: Any = importlib.import_module("mcp.shared.exceptions")

    async def listed(*_: object) -> Any:
        return types.ListToolsResult.model_validate({"tools": [tool("t", N)]})

    async def called(*_: object) -> Any:
        if answer is NOTHING:
            await anyio.sleep_forever()
        if isinstance(answer, Error):
            raise exceptions.MCPError(answer.code, answer.message, answer.data)
        return types.CallToolResult.model_validate(answer)

    lowlevel: Any = importlib.import_module("mcp.server.lowlevel")
    async with vars(mcp)["Client"](lowlevel.Server("raw", on_list_tools=listed, on_call_tool=called)) as client:
        yield client


PEER: Final = """
import json, sys
ANSWER, TOOL = json.loads(sys.argv[1])
INFO = {"name": "raw", "version": "1"}
for line in sys.stdin:
    message = json.loads(line)
    about = {"jsonrpc": "2.0", "id": message.get("id")}
    match message["method"]:
        case "initialize":
            about["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": INFO}
        case "tools/list":
            about["result"] = {"tools": [TOOL]}
        case "tools/call" if ANSWER is not None:
            about.update(ANSWER)
        case "server/discover":
            about["error"] = {"code": -32601, "message": "no"}
        case _:
            continue
    print(json.dumps(about), flush=True)
"""


@asynccontextmanager
async def over_stdio(answer: Any) -> AsyncGenerator[Any]:
    """A session, or a 2.x `Client`, whose server is a process of its own."""
    wire = None if answer is NOTHING else {"result": answer}
    if isinstance(answer, Error):
        wire = {"error": answer.to_json()}
    command = [sys.executable, "-c", PEER, json.dumps([wire, tool("t", N)])]
    stdio: Any = importlib.import_module("mcp.client.stdio")
    transport = stdio.stdio_client(mcp.StdioServerParameters(command=command[0], args=command[1:]))
    if SDK_MAJOR == 2:
        async with vars(mcp)["Client"](transport) as client:
            yield client
    else:
        async with transport as streams, mcp.ClientSession(*streams) as session:
            await session.initialize()
            yield session


@asynccontextmanager
async def client(answer: Any) -> AsyncGenerator[Any]:
    """A 2.x `Client` over streams in memory, on 2026-07-28."""
    async with raw_client(tools=[tool("t", N)], results={"t": answer}, modern=True) as (target, _):
        yield target


Way: TypeAlias = Callable[[Any], AbstractAsyncContextManager[Any]]
WAYS: Final[tuple[Way, ...]] = (session, over_stdio, *((client, in_process) if SDK_MAJOR == 2 else ()))


@every_ending
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_a_call_has_one_span_of_ours_with_the_sdks_client_span_in_it(
    way: Way, ending: str, telemetry: Telemetry
) -> None:
    answer, telling = ENDINGS[ending]
    records: list[Record] = []
    async with way(answer) as target:
        tools: Any = guard(target, hooks=[telemetry.hook(), records.append])
        await tools.refresh()  # the listing takes no part in the call's time
        with suppress(GuardError):
            await tools.call("t", timeout=0.1 if answer is NOTHING else 10)
    [ours], [record] = telemetry.ours, records
    assert (ours.name, ours.kind) == ("execute_tool t", SpanKind.INTERNAL)
    assert about(ours) == expected(telling, record)
    assert ours.status.status_code is (StatusCode.ERROR if "error" in telling else StatusCode.UNSET)
    assert ours.status.description is None
    assert not ours.events, "an exception in it would have its message"
    assert (record.trace_id, record.span_id) == ids(ours)

    assert len(telemetry.clients) == (SDK_MAJOR == 2 and way is not in_process)
    for sdks in telemetry.clients:
        assert parent(sdks) == record.span_id
        assert ids(sdks)[0] == record.trace_id
    served = [span for span in telemetry.spans if span.kind is SpanKind.SERVER and span.name == "tools/call t"]
    assert [parent(span) for span in served] == [record.span_id] * (way is in_process)


@every_ending
async def test_a_call_is_measured_and_counted(ending: str, telemetry: Telemetry) -> None:
    answer, telling = ENDINGS[ending]
    error = {"error.type": telling["error"]} if "error" in telling else {}
    async with session(answer) as target:
        tools: Any = guard(target, hooks=[telemetry.hook()])
        await tools.refresh()
        with suppress(GuardError):
            await tools.call("t", timeout=0.1 if answer is NOTHING else 10)
    [(attributes, point)] = telemetry.points("mcp.client.operation.duration")
    of_mcp = {"mcp.method.name": "tools/call", "mcp.protocol.version": LEGACY, "gen_ai.operation.name": "execute_tool"}
    assert attributes == {"gen_ai.tool.name": "t", **of_mcp, **error}
    assert point.count == 1
    assert 0 < point.sum < 10, "seconds"
    assert point.explicit_bounds == (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)

    verdict = {"mcp_guard.verdict": telling["verdict"]} if "verdict" in telling else {}
    ended = {"mcp_guard.outcome": telling["outcome"], "mcp_guard.action": telling["action"]}
    assert telemetry.counted("mcp_guard.verdicts") == [({"gen_ai.tool.name": "t", **verdict, **ended, **error}, 1)]
    assert telemetry.counted("mcp_guard.deviations") == []


async def test_a_call_that_is_not_sent_has_its_span_and_no_duration(telemetry: Telemetry) -> None:
    async with session(GOOD) as target:
        with suppress(GuardError):
            await guard(target, policy=STRICT, hooks=[telemetry.hook()]).call("other")
    [ours] = telemetry.ours
    assert about(ours)["error.type"] == "tool_unlisted"
    assert about(ours)["mcp_guard.attempts"] == 0
    assert telemetry.points("mcp.client.operation.duration") == []
    [(attributes, _)] = telemetry.counted("mcp_guard.verdicts")
    assert attributes["mcp_guard.outcome"] == "not_sent"


async def test_deviations_are_on_the_span_and_counted_by_their_code(telemetry: Telemetry) -> None:
    async with session(said('{"n": 1}')) as target:
        tools: Any = guard(target, hooks=[telemetry.hook()], server="shop")
        await tools.call("t")
        await tools.call("t")
    for ours in telemetry.ours:
        assert about(ours)["mcp_guard.deviations"] == ("structured_missing",)
        assert about(ours)["mcp_guard.source"] == "text"
        assert about(ours)["mcp_guard.server"] == "shop"
    assert telemetry.counted("mcp_guard.deviations") == [
        ({"gen_ai.tool.name": "t", "mcp_guard.deviation": "structured_missing"}, 2)
    ]


@pytest.mark.parametrize(
    "ending, policy, failed",
    [
        pytest.param("violation", OBSERVE, None, id="what is only reported is no failure of the call"),
        pytest.param("isError", OBSERVE, "tool_error", id="isError is, whatever is done about it"),
        pytest.param("isError", RELAY, "tool_error", id="isError is, also where it is passed on"),
    ],
)
async def test_the_status_is_that_of_the_call_as_its_caller_sees_it(
    ending: str, policy: Any, failed: str | None, telemetry: Telemetry
) -> None:
    async with session(ENDINGS[ending][0]) as target:
        await guard(target, hooks=[telemetry.hook()], policy=policy).call_tool("t")
    [ours] = telemetry.ours
    assert about(ours).get("error.type") == failed
    assert ours.status.status_code is (StatusCode.UNSET if failed is None else StatusCode.ERROR)
    assert about(ours).get("mcp_guard.error") == ENDINGS[ending][1]["error"]


async def test_a_cancelled_call_ends_its_span(telemetry: Telemetry) -> None:
    arrived = anyio.Event()

    def silent(_: object) -> Any:
        arrived.set()
        return NOTHING

    async with session(silent) as target, anyio.create_task_group() as tasks:
        tasks.start_soon(guard(target, hooks=[telemetry.hook()]).call, "t")
        await arrived.wait()
        tasks.cancel_scope.cancel()
    [ours] = telemetry.ours
    assert about(ours)["error.type"] == "_OTHER"
    assert about(ours)["mcp_guard.outcome"] == "unknown"


async def test_calls_at_the_same_time_have_each_their_own_span_and_client_span(telemetry: Telemetry) -> None:
    async with session(GOOD) as target:
        tools: Any = guard(target, hooks=[telemetry.hook()])
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(tools.call, "t")
    assert len(telemetry.ours) == 5
    if SDK_MAJOR == 2:
        assert sorted(parent(s) or "" for s in telemetry.clients) == sorted(ids(s)[1] for s in telemetry.ours)
    [(_, count)] = telemetry.counted("mcp_guard.verdicts")
    assert count == 5


@only_2
async def test_the_server_is_told_of_our_trace_and_the_listing_that_a_call_waits_for_is_part_of_it(
    telemetry: Telemetry,
) -> None:
    async with raw_session(tools=[tool("t", N)], results={"t": GOOD}) as (target, server):
        await guard(target, hooks=[telemetry.hook()]).call("t")
    [ours] = telemetry.ours
    [listing] = [span for span in telemetry.spans if span.name == "MCP send tools/list"]
    assert parent(listing) == ids(ours)[1]
    [request] = server.asked("tools/call")
    assert request.params["_meta"]["traceparent"].split("-")[1] == ids(ours)[0]


# --- the span that is current


async def test_without_the_hook_a_record_has_the_ids_of_the_callers_span(telemetry: Telemetry) -> None:
    records: list[Record] = []
    async with session(GOOD) as target:
        tools: Any = guard(target, hooks=[records.append])
        with telemetry.tracers.get_tracer("app").start_as_current_span("step"):
            await tools.call("t")
        await tools.call("t")
    assert (records[0].trace_id, records[0].span_id) == ids(telemetry.named("step"))
    assert (records[1].trace_id, records[1].span_id) == (None, None)


async def test_ours_is_a_child_of_the_callers_span(telemetry: Telemetry) -> None:
    async with session(GOOD) as target:
        with telemetry.tracers.get_tracer("app").start_as_current_span("invoke_agent helper"):
            await guard(target, hooks=[telemetry.hook()]).call("t")
    [ours], step = telemetry.ours, telemetry.named("invoke_agent helper")
    assert (ids(ours)[0], parent(ours)) == ids(step)
    assert not about(step)


# --- what is never told, and what is on request


@every_ending
@pytest.mark.parametrize("way", [way for way in WAYS if way is not over_stdio], ids=lambda way: way.__name__)
async def test_no_word_of_the_server_nor_of_the_arguments_is_told(way: Way, ending: str, telemetry: Telemetry) -> None:
    answer, _ = ENDINGS[ending]
    async with way(answer) as target:
        tools: Any = guard(target, hooks=[telemetry.hook()], timeout=0.1 if answer is NOTHING else 10)
        for call in (tools.call, tools.call_tool, tools.judge):
            with suppress(GuardError):
                await call("t", {CANARY: CANARY})
    told = telemetry.text()
    assert "execute_tool t" in told
    assert "mcp_guard.verdicts" in told
    assert CANARY not in told


async def test_a_listing_that_fails_tells_no_word_of_the_server(telemetry: Telemetry) -> None:
    async with raw_session(on={"tools/list": Error(-32603, CANARY, CANARY)}) as (target, _):
        with suppress(GuardError):
            await guard(target, hooks=[telemetry.hook()]).call("t")
    [ours] = telemetry.ours
    assert about(ours)["error.type"] == "protocol_error"
    assert CANARY not in telemetry.text()


async def test_a_name_is_escaped_and_cut(telemetry: Telemetry) -> None:
    name = "t\u202e\n" + "x" * 100
    async with raw_session(tools=[tool(name, N)], results={name: GOOD}) as (target, _):
        await guard(target, hooks=[telemetry.hook()]).call(name)
    [ours] = telemetry.ours
    assert ours.name.startswith("execute_tool t\\u202e\\x0ax")
    assert ours.name == f"execute_tool {about(ours)['gen_ai.tool.name']}"
    assert len(about(ours)["gen_ai.tool.name"]) <= 64


def captured(call: CallInfo) -> dict[str, Any]:
    """What this caller chose to have on the span."""
    result = call.result()
    arguments = {"gen_ai.tool.call.arguments": json.dumps(call.arguments)}
    return arguments if result is None else {**arguments, "gen_ai.tool.call.result": json.dumps(result)}


@pytest.mark.parametrize("answer", [GOOD, Error(-32603)], ids=["result", "none"])
async def test_what_the_callers_own_function_gives_is_on_the_span_and_nowhere_else(
    answer: Any, telemetry: Telemetry
) -> None:
    async with session(answer) as target:
        with suppress(GuardError):
            await guard(target, hooks=[telemetry.hook(capture=captured)]).call("t", {"key": 1})
    [ours] = telemetry.ours
    assert about(ours)["gen_ai.tool.call.arguments"] == '{"key": 1}'
    result = json.loads(about(ours).get("gen_ai.tool.call.result", "{}"))
    assert result.get("structuredContent") == ({"n": 1} if answer is GOOD else None)
    for attributes, _ in telemetry.points("mcp.client.operation.duration"):
        assert not {key for key in attributes if "call.arg" in key}


async def test_a_function_that_fails_costs_only_its_own_attributes(
    telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(call: CallInfo) -> dict[str, Any]:
        raise LookupError(call.arguments)

    async with session(GOOD) as target:
        assert await guard(target, hooks=[telemetry.hook(capture=fails)]).call("t", {CANARY: 1}) == {"n": 1}
    [ours] = telemetry.ours
    assert about(ours)["mcp_guard.verdict"] == "Conforming"
    assert telemetry.points("mcp.client.operation.duration")
    assert [r.getMessage() for r in caplog.records if r.name == "mcp_guard"] == [
        "the hook OtelHook raised LookupError; the call goes on"
    ]


# --- what fails, and what is not there


class FailingExporter(SpanExporter):
    """An exporter that can't."""

    def export(self, spans: Any) -> Any:
        """Fail."""
        raise OSError(len(spans))


class FailingProcessor(SpanProcessor):
    """A processor that fails at one moment."""

    def __init__(self, moment: str) -> None:
        self.moment = moment

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        """Fail, if this is the moment."""
        if self.moment == "start":
            raise OSError(span.name, parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        """Fail, if this is the moment."""
        if self.moment == "end":
            raise OSError(span.name)


@pytest.mark.parametrize(
    "processor",
    [SimpleSpanProcessor(FailingExporter()), FailingProcessor("start"), FailingProcessor("end")],
    ids=["exporter", "on start", "on end"],
)
async def test_what_fails_in_the_telemetry_changes_nothing_for_the_call(
    processor: SpanProcessor, caplog: pytest.LogCaptureFixture
) -> None:
    tracers, records = TracerProvider(), list[Record]()
    tracers.add_span_processor(processor)
    async with session(GOOD) as target:
        tools: Any = guard(target, hooks=[otel_hook(tracers), records.append])
        assert await tools.call("t") == {"n": 1}
        assert await tools.call("t") == {"n": 1}
    assert [record.verdict for record in records] == ["Conforming", "Conforming"]
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert len([r for r in caplog.records if r.name == "mcp_guard"]) <= 1


async def test_with_no_sdk_configured_the_hook_does_nothing_and_the_callers_context_stays() -> None:
    records, asked = list[Record](), list[CallInfo]()

    def ask(call: CallInfo) -> dict[str, Any]:
        asked.append(call)
        return {}

    given = trace.NonRecordingSpan(trace.SpanContext(1, 2, is_remote=True))
    async with session(GOOD) as target:
        tools: Any = guard(target, hooks=[otel_hook(capture=ask), records.append])
        await tools.call("t")
        with trace.use_span(given):
            await tools.call("t")
    assert [(r.trace_id, r.span_id) for r in records] == [(None, None), (f"{1:032x}", f"{2:016x}")]
    assert asked == []


async def test_a_record_that_no_call_stands_behind_is_only_counted(telemetry: Telemetry) -> None:
    records: list[Record] = []
    async with session(GOOD) as target:
        await guard(target, hooks=[records.append]).call("t")
    telemetry.hook()(records[0])
    assert telemetry.ours == []
    assert len(telemetry.counted("mcp_guard.verdicts")) == 1


@pytest.mark.parametrize("name", ["tracer_provider", "meter_provider", "capture"])
def test_what_is_no_provider_is_refused(name: str) -> None:
    given: dict[str, Any] = {name: "http://localhost:4317"}
    with pytest.raises(TypeError, match=f"^{name} takes .*, not str"):
        otel_hook(**given)


def test_without_opentelemetry_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "mcp_guard._otel")
    with pytest.raises(ImportError, match=r"pip install 'mcp-result-guard\[otel\]'"):
        importlib.import_module("mcp_guard._otel")


# --- the page


PAGE: Final = Page("docs/telemetry.md").text


async def test_the_page_names_every_attribute_and_every_metric(telemetry: Telemetry) -> None:
    async with session(in_turn(said('{"n": 1}'), data({"n": "x"}))) as target:
        tools: Any = guard(target, hooks=[telemetry.hook()], server="shop")
        with correlation("step 1"):
            await tools.call("t")
            with suppress(GuardError):
                await tools.call("t")
    on_spans, rest = PAGE.split("## On the span")[1].split("## Metrics")
    named = set(re.findall(r"^\| `([a-z_.]+)` \|", on_spans, re.MULTILINE))
    assert named == {key for ours in telemetry.ours for key in about(ours)}
    rows = dict(re.findall(r"^\| `([a-z_.]+)` \|.*\| (.*) \|$", rest, re.MULTILINE))
    assert rows.keys() == {"mcp.client.operation.duration", "mcp_guard.verdicts", "mcp_guard.deviations"}
    for name, attributes in rows.items():
        used = {key for series, _ in telemetry.points(name) for key in series}
        assert set(re.findall(r"`([a-z_.]+)`", attributes)) == used, name


async def test_the_page_does_what_it_shows() -> None:
    async with stock_server() as names:
        assert await follow(Page("docs/telemetry.md").blocks(), names) == 3
