"""What does each hook add to a guarded call? Priced one by one, beside the call that nobody is told of."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks._payloads import ARGUMENTS, result, sizes, stock
from benchmarks._peers import CONNECTIONS, DECLARED, server_of
from benchmarks._table import Table
from benchmarks._timing import compared

from mcp_guard import guard
from mcp_guard.hooks import JsonlAudit, Tally, logging_hook, otel_hook
from mcp_guard.records import Hook


def _quiet() -> None:
    """A log that writes nothing: what is priced is what is ours."""
    log = logging.getLogger("mcp_guard")
    log.addHandler(logging.NullHandler())
    log.propagate = False
    log.setLevel(logging.INFO)


def _otel_sdk() -> Hook:
    """With tracing and metrics really on, and exported to nowhere."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

    return otel_hook(tracer_provider=TracerProvider(), meter_provider=MeterProvider())


def _otel_off() -> Hook:
    from opentelemetry.metrics import NoOpMeterProvider
    from opentelemetry.trace import NoOpTracerProvider

    return otel_hook(tracer_provider=NoOpTracerProvider(), meter_provider=NoOpMeterProvider())


async def answer(seconds: float, *, tiny: bool = False) -> list[Table]:
    """One table: each hook by size."""
    _quiet()
    connection = [*CONNECTIONS][-1]
    head = ["hook", *(f"{size}: adds, µs (with it / without)" for size in sizes(tiny=tiny))]
    table = Table(f"Hooks, {connection}", head)
    rows: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        hooks: dict[str, Hook] = {
            "a function that does nothing": lambda _: None,
            "`logging_hook`": logging_hook(),
            "`Tally`": Tally(),
            "`JsonlAudit`": JsonlAudit(Path(folder) / "audit.jsonl"),
            "`otel_hook`, OpenTelemetry off": _otel_off(),
            "`otel_hook`, OpenTelemetry SDK": _otel_sdk(),
        }
        for length in sizes(tiny=tiny).values():
            async with CONNECTIONS[connection](server_of(result(stock(length)))) as session:
                guards = {
                    "none": guard(session),
                    **{name: guard(session, hooks=[each]) for name, each in hooks.items()},
                }
                for tools in guards.values():
                    await tools.refresh()
                found = await compared({name: _way(tools) for name, tools in guards.items()}, seconds=seconds)
            table.void = table.void or found.void
            for name in hooks:
                ratio = found.ratio(name, "none")
                added = (ratio.median - 1) * found.seconds("none") * 1e6
                rows.setdefault(name, [name]).append(f"{added:,.0f} ({ratio.median:.3f})")
    table.rows += rows.values()
    return [table]


def _way(tools: Any) -> Callable[[], Awaitable[object]]:
    async def call() -> None:
        await tools.call(DECLARED, ARGUMENTS)

    return call
