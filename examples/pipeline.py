"""The way of an agent's call through a guard, told by its trace and its record, and four failures rehearsed.

It needs OpenTelemetry's SDK besides: ``pip install opentelemetry-sdk``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mcp_guard import GuardError, Record, correlation, guard
from mcp_guard.hooks import otel_hook
from mcp_guard.testing import FAULTS, Fault, FaultyServer, Good

BALANCE: dict[str, Any] = {
    "name": "get_balance",
    "description": "What is left on an account.",
    "inputSchema": {"type": "object", "properties": {"account": {"type": "string"}}, "required": ["account"]},
    "outputSchema": {
        "type": "object",
        "properties": {"cents": {"type": "integer"}, "account": {"type": "string"}},
        "required": ["cents", "account"],
    },
}
SHOWN = ("error.type", "mcp_guard.verdict", "mcp_guard.outcome", "mcp_guard.action")


def refused(good: Good) -> dict[str, Any]:
    """A tool's own word that this is not for whoever asks."""
    payload = '{"error": {"kind": "authorization_denied", "message": "not yours", "retryable": false}}'
    return good.saying(payload, isError=True)


REFUSED = Fault(name="refused", about="refuses permission", kind="error", answer=refused, works=False)
SCENES: list[tuple[str, Fault | None, dict[str, Any]]] = [
    ("it goes well", None, {"account": "A-1"}),
    ("the model's arguments are wrong", None, {"account": 1}),
    ("rehearsal 1: a required field is missing", FAULTS["missing_field"], {"account": "A-1"}),
    ("rehearsal 2: permission is refused for correct arguments", REFUSED, {"account": "A-1"}),
    ("rehearsal 3: the answer has a foreign id", FAULTS["wrong_id"], {"account": "A-1"}),
    ("rehearsal 4: the result breaks its schema", FAULTS["wrong_type"], {"account": "A-1"}),
]


def where(record: Record) -> str:
    """How a call ended, told from its record alone."""
    if record.error is None:
        return "it went well"
    if record.outcome == "not_sent":
        return "it failed before anything was sent"
    if record.verdict is None:
        return "it failed on the way: there is no result"
    if record.verdict == "Errored":
        return "it failed in the tool, which says so itself"
    places = [f"{place.pointer or 'the root'} ({place.keyword})" for place in record.violations]
    return f"it failed in the data: {', '.join(places)}"


def tree(spans: tuple[ReadableSpan, ...], parent: int | None = None, depth: int = 1) -> Iterator[str]:
    """The spans as lines, each under the one that it is a child of."""
    for span in spans:
        if (span.parent.span_id if span.parent else None) == parent and span.context:
            about = dict(span.attributes or {})
            told = ", ".join(f"{key.removeprefix('mcp_guard.')} {about[key]}" for key in SHOWN if key in about)
            yield f"{'  ' * depth}{span.name} [{span.status.status_code.name}] {told}".rstrip()
            yield from tree(spans, span.context.span_id, depth + 1)


async def main() -> None:
    """Play each scene: one step of an agent, with one call."""
    logging.getLogger("mcp_guard").setLevel(logging.CRITICAL)  # what it would say stands in the output
    spans, provider, records = InMemorySpanExporter(), TracerProvider(), list[Record]()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    tracer = provider.get_tracer("agent")
    server = FaultyServer(tools=[BALANCE], work={"get_balance": lambda _: {"cents": 500, "account": "A-1"}})
    for number, (title, fault, arguments) in enumerate(SCENES, start=1):
        print(f"== {title}")
        spans.clear()
        server.fault = fault
        async with server.session() as session:
            tools = guard(session, timeout=0.3, hooks=[otel_hook(provider), records.append])
            with tracer.start_as_current_span("agent step"), correlation(f"run-1/step-{number}"):
                try:
                    told = str(await tools.call("get_balance", arguments))
                except GuardError as error:
                    told = error.for_model()
        print("\n".join(tree(spans.get_finished_spans())))
        print(f"  the model is told: {told}")
        print(f"  the record says: {records[-1].correlation}, {where(records[-1])}")
    calls, runs = server.calls["get_balance"], server.runs["get_balance"]
    print(f"== in all: {len(records)} records, {calls} calls sent, {runs} runs of the tool")


if __name__ == "__main__":
    asyncio.run(main())
