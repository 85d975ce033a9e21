"""A real OpenTelemetry SDK that keeps in memory what it is told, and the ways in which a call can end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from mcp_guard import Record
from mcp_guard.hooks import otel_hook
from support.calls import N, data, said
from support.peer import NOTHING, Error, tool
from support.sessions import SDK_MAJOR, raw_session

CANARY: Final = "CANARY"
GOOD: Final = data({"n": 1})

Ending: TypeAlias = tuple[Any, dict[str, Any]]
"""What the tool answers, and what that puts on the span and the metrics."""

ENDINGS: Final[dict[str, Ending]] = {
    "success": (GOOD, {"verdict": "Conforming", "outcome": "executed", "action": "allow"}),
    "violation": (
        data({"n": CANARY, CANARY: 1}, CANARY),
        {"verdict": "Violating", "outcome": "executed", "action": "raise", "error": "output_violation"},
    ),
    "isError": (
        said(CANARY, isError=True),
        {"verdict": "Errored", "outcome": "executed", "action": "raise", "error": "tool_error"},
    ),
    "JSON-RPC error": (
        Error(-32603, CANARY, {CANARY: CANARY}),
        {"outcome": "unknown", "action": "raise", "error": "protocol_error"},
    ),
    "timeout": (NOTHING, {"outcome": "unknown", "action": "raise", "error": "timeout"}),
}
every_ending = pytest.mark.parametrize("ending", ENDINGS)


class Telemetry:
    """Providers of spans and metrics, and what came to them."""

    def __init__(self, *, delta: bool = False) -> None:
        self._exporter = InMemorySpanExporter()
        since: dict[type, AggregationTemporality] = {
            Counter: AggregationTemporality.DELTA,
            Histogram: AggregationTemporality.DELTA,
        }
        self._reader = InMemoryMetricReader(since if delta else None)
        self.tracers: Final = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.meters: Final = MeterProvider(metric_readers=[self._reader])

    def hook(self, **options: Any) -> Any:
        """The hook that is tested."""
        return otel_hook(self.tracers, self.meters, **options)

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """All spans that have ended."""
        return self._exporter.get_finished_spans()

    @property
    def ours(self) -> list[ReadableSpan]:
        """The spans of the guard."""
        return [span for span in self.spans if _scope(span) == "mcp_guard"]

    @property
    def clients(self) -> list[ReadableSpan]:
        """The client spans of tool calls, whoever made them."""
        return [s for s in self.spans if s.kind is SpanKind.CLIENT and about(s).get("mcp.method.name") == "tools/call"]

    def named(self, name: str) -> ReadableSpan:
        """The one span of this name."""
        [span] = [span for span in self.spans if span.name == name]
        return span

    def points(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        """The attributes and the data point of each series of a metric."""
        return [(dict(point.attributes), point) for metric in self._metrics(name) for point in metric.data.data_points]

    def counted(self, name: str) -> list[tuple[dict[str, Any], int]]:
        """The attributes and the value of each series of a counter."""
        return [(attributes, point.value) for attributes, point in self.points(name)]

    def _metrics(self, name: str) -> list[Any]:
        told = self._reader.get_metrics_data()
        scopes = [] if told is None else [s for r in told.resource_metrics for s in r.scope_metrics]
        return [metric for scope in scopes for metric in scope.metrics if metric.name == name]

    def clear(self) -> None:
        """Forget the spans."""
        self._exporter.clear()

    def text(self) -> str:
        """All that the guard told, as one text."""
        told = self._reader.get_metrics_data()
        return "\n".join([*(span.to_json(None) for span in self.ours), "" if told is None else told.to_json(None)])


def everywhere(monkeypatch: pytest.MonkeyPatch) -> Telemetry:
    """A telemetry of this test's own, which is the global one while it runs: the SDK's own spans go there too."""
    told = Telemetry()
    # what is set through the API stays for good, and every later test would be traced
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", told.tracers)
    if SDK_MAJOR == 2:
        monkeypatch.setattr("mcp.shared._otel._tracer", told.tracers.get_tracer("mcp-python-sdk"))
    return told


@asynccontextmanager
async def session(answer: Any) -> AsyncGenerator[Any]:
    """A `ClientSession` over streams in memory."""
    async with raw_session(tools=[tool("t", N)], results={"t": answer}) as (target, _):
        yield target


def expected(telling: Mapping[str, Any], record: Record) -> dict[str, Any]:
    """What is on the span, for a call that ended like this."""
    error = telling.get("error")
    on_span = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "t",
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": record.protocol,
        "mcp_guard.call_id": record.call_id,
        "mcp_guard.verdict": telling.get("verdict"),
        "mcp_guard.source": record.source,
        "mcp_guard.outcome": telling["outcome"],
        "mcp_guard.action": telling["action"],
        "mcp_guard.error": error,
        "mcp_guard.policy": "ENFORCE",
        "mcp_guard.attempts": 1,
        "mcp_guard.violation_count": 1 if error == "output_violation" else None,
        "mcp_guard.contract.fingerprint": record.fingerprint,
        "error.type": error,
    }
    return {key: value for key, value in on_span.items() if value is not None}


def about(span: ReadableSpan) -> dict[str, Any]:
    """The attributes of a span."""
    return dict(span.attributes or {})


def ids(span: ReadableSpan) -> tuple[str, str]:
    """Its trace and its own id, as a record has them."""
    assert span.context is not None
    return f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"


def parent(span: ReadableSpan) -> str | None:
    """The id of its parent."""
    return None if span.parent is None else f"{span.parent.span_id:016x}"


def _scope(span: ReadableSpan) -> str:
    return "" if span.instrumentation_scope is None else span.instrumentation_scope.name


class Telling:
    """A hook whose telemetry can be read call by call."""

    def __init__(self) -> None:
        self._telemetry = Telemetry(delta=True)
        self._hook = self._telemetry.hook()
        self.around: Final = self._hook.around

    def __call__(self, record: Record) -> None:
        """Tell of a call."""
        self._hook(record)

    def text(self) -> str:
        """All that was told since this was last asked."""
        told = self._telemetry.text()
        self._telemetry.clear()
        return told
