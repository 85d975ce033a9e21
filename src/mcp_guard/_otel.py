"""`otel_hook`: calls as OpenTelemetry spans and metrics, in the words of its conventions for GenAI and MCP.

Source: semantic-conventions-genai, `docs/gen-ai/mcp.md` and `gen-ai-spans.md` (execute_tool), status Development. They
would have a JSON-RPC error's code in `error.type`, its message in the status: the peer's words, which stay out.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast, final

try:
    from opentelemetry import metrics, trace
    from opentelemetry.trace import Span, SpanKind, StatusCode
except ImportError as exc:
    raise ImportError("otel_hook needs OpenTelemetry: pip install 'mcp-result-guard[otel]'") from exc

from mcp_guard import _words
from mcp_guard._version import __version__
from mcp_guard.records import CallInfo, Record

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider
    from opentelemetry.util.types import AttributeValue

Capture: TypeAlias = "Callable[[CallInfo], Mapping[str, AttributeValue]]"
"""From a call, its arguments and result included, to attributes for its span."""

_SCOPE: Final = "mcp_guard"
_EXECUTE: Final = "execute_tool"
_OPERATION: Final = "gen_ai.operation.name"
_TOOL: Final = "gen_ai.tool.name"
_METHOD: Final = "mcp.method.name"
_PROTOCOL: Final = "mcp.protocol.version"
_ERROR: Final = "error.type"
_CALL: Final = "mcp_guard.call_id"
_OTHERS: Final = (SpanKind.SERVER, SpanKind.CONSUMER)
"""Spans of a request that is served here: its tool is not the one that is called, whatever the names."""
_BOUNDARIES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
"""Seconds: what the conventions advise for `mcp.client.operation.duration`."""
_JOINTS: Final = "_-./:"
"""What stands between the name that a framework puts before a tool's name, and that."""


def otel_hook(
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    *,
    capture: Capture | None = None,
) -> OtelHook:
    """A hook that puts each call in a span, and counts it. Nothing of arguments, results or messages is in either.

    The span is ``execute_tool {tool}``, kind INTERNAL; the SDK's own client span becomes its child. Where the span
    that is current already stands for this tool's execution (a framework's), that one is given the attributes instead.

    Args:
        tracer_provider: Where spans go; OpenTelemetry's global provider unless given.
        meter_provider: Where metrics go; likewise.
        capture: Attributes of the caller's own for the span, such as ``gen_ai.tool.call.arguments``: a function of the
            call, which has its arguments and, through ``call.result()``, the raw result. Asked only where the span
            is recorded. What the function gives is written down as it is.

    Raises:
        TypeError: An argument is of the wrong type.
        ImportError: OpenTelemetry is not installed; the extra ``otel`` has it. Raised by the import of this name.
    """
    for name, given, method in (
        ("tracer_provider", tracer_provider, "get_tracer"),
        ("meter_provider", meter_provider, "get_meter"),
    ):
        if given is not None and not hasattr(given, method):
            raise TypeError(f"{name} takes an OpenTelemetry provider, not {type(given).__name__}")
    if capture is not None and not callable(capture):
        raise TypeError(f"capture takes a function of one CallInfo, not {type(capture).__name__}")
    return OtelHook(tracer_provider, meter_provider, capture)


@final
class OtelHook:
    """Made by `otel_hook`. One may serve any number of sessions."""

    def __init__(
        self, tracer_provider: TracerProvider | None, meter_provider: MeterProvider | None, capture: Capture | None
    ) -> None:
        self._tracer = trace.get_tracer(_SCOPE, __version__, tracer_provider)
        meter = metrics.get_meter(_SCOPE, __version__, meter_provider)
        self._duration = meter.create_histogram(
            "mcp.client.operation.duration",
            unit="s",
            description="From the sending of a request until its response was received.",
            explicit_bucket_boundaries_advisory=_BOUNDARIES,
        )
        self._verdicts = meter.create_counter("mcp_guard.verdicts", "{call}", "Calls, by the verdict on their result.")
        self._deviations = meter.create_counter("mcp_guard.deviations", "{deviation}", "Deviations, by their code.")
        self._capture = capture
        self._recorded: dict[str, tuple[CallInfo, Span]] = {}

    @contextmanager
    def around(self, call: CallInfo) -> Generator[None]:
        """Be inside of the span of a call."""
        with self._span(call) as span:
            if span.is_recording():
                self._recorded[call.call_id] = call, span
            try:
                yield
            finally:
                self._recorded.pop(call.call_id, None)

    def _span(self, call: CallInfo) -> AbstractContextManager[Span]:
        about = {_OPERATION: _EXECUTE, _TOOL: call.tool, _METHOD: "tools/call", _CALL: call.call_id}
        current = trace.get_current_span()
        if not _stands_for(current, call.tool):
            return self._tracer.start_as_current_span(
                f"{_EXECUTE} {call.tool}",
                kind=SpanKind.INTERNAL,
                attributes=about,
                record_exception=False,
                set_status_on_exception=False,
            )
        known = _attributes(current)
        current.set_attributes({key: value for key, value in about.items() if key not in known})
        return nullcontext(current)

    def __call__(self, record: Record, /) -> None:
        """Take note of how a call ended."""
        failed = _failed(record)
        self._measure(record, failed)
        call, span = self._recorded.get(record.call_id, (None, trace.INVALID_SPAN))
        if call is None or not span.is_recording():  # a framework may have ended its own by now
            return
        span.set_attributes(_described(record))
        if failed is not None:
            span.set_attribute(_ERROR, failed)
            span.set_status(StatusCode.ERROR)
        if self._capture is not None:
            span.set_attributes(self._capture(call))

    def _measure(self, record: Record, failed: str | None) -> None:
        tool = {_TOOL: record.tool}
        ended = {} if failed is None else {_ERROR: failed}
        if any(attempt.outcome != "not_sent" for attempt in record.attempts):
            of_mcp = {_METHOD: "tools/call", _OPERATION: _EXECUTE, _PROTOCOL: record.protocol}
            self._duration.record(record.ms_wire / 1000, _given({**tool, **ended, **of_mcp}))
        counted = {"mcp_guard.verdict": record.verdict, "mcp_guard.outcome": record.outcome}
        self._verdicts.add(1, _given({**tool, **ended, **counted, "mcp_guard.action": record.action}))
        for code in record.deviations:
            self._deviations.add(1, {**tool, "mcp_guard.deviation": code})


def _failed(record: Record) -> str | None:
    """The `error.type` of a call; `None` where it did not fail: what is only reported was handled."""
    if record.verdict == "Errored":
        return "tool_error"  # whatever is done about it: the word of the conventions for isError
    return record.error or "_OTHER" if record.action == "raise" else None


def _described(record: Record) -> dict[str, AttributeValue]:
    """The attributes that a record makes."""
    return _given(
        {
            _PROTOCOL: record.protocol,
            "mcp_guard.verdict": record.verdict,
            "mcp_guard.source": record.source,
            "mcp_guard.outcome": record.outcome,
            "mcp_guard.action": record.action,
            "mcp_guard.policy": record.policy,
            "mcp_guard.error": record.error,
            "mcp_guard.deviations": record.deviations or None,
            "mcp_guard.violation_count": len(record.violations) or None,
            "mcp_guard.attempts": len(record.attempts),
            "mcp_guard.contract.fingerprint": record.fingerprint,
            "mcp_guard.server": record.server,
            "mcp_guard.correlation": record.correlation,
        }
    )


def _given(attributes: Mapping[str, AttributeValue | None]) -> dict[str, AttributeValue]:
    return {key: value for key, value in attributes.items() if value is not None}


def _attributes(span: Span) -> Mapping[str, Any]:
    """What a span has until now. The API has no way to read it; the spans of the SDK have."""
    attributes = getattr(span, "attributes", None)
    return cast("Mapping[str, Any]", attributes) if isinstance(attributes, Mapping) else {}


def _stands_for(span: Span, tool: str) -> bool:
    """Whether a span is already that of this tool's execution, and of no other call through a guard."""
    if not span.is_recording() or getattr(span, "kind", None) in _OTHERS:
        return False
    known = _attributes(span)
    operation, _, target = str(getattr(span, "name", "")).partition(" ")
    if known.get(_OPERATION, operation) != _EXECUTE or _CALL in known:
        return False
    named = str(known.get(_TOOL, target if operation == _EXECUTE else ""))
    # a tool of a framework's own may call several of ours, by other names; a prefix only tells its servers apart
    return not named or _words.name(named) == tool or any(named.endswith(joint + tool) for joint in _JOINTS)
