"""Records made by hand, for tests of what is done with them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, Final

from mcp_guard.records import Attempt, Place, Record

PLAIN: Final = Record(
    time=datetime(2026, 11, 20, 10, 0, 0, 123456, timezone.utc),
    call_id="0123456789abcdef",
    tool="get_stock",
    policy="ENFORCE",
    verdict="Conforming",
    source="structured",
    outcome="executed",
    action="allow",
)

FULL: Final = replace(
    PLAIN,
    correlation="run-7/step-3",
    trace_id="0af7651916cd43dd8448eb211c80319c",
    span_id="b7ad6b7169203331",
    server="shop",
    fingerprint="sha256:aa",
    output_fingerprint="sha256:bb",
    protocol="2025-11-25",
    arguments_hash="cc",
    verdict="Violating",
    deviations=("structured_missing", "format"),
    violations=(Place("/n", "type"), Place("/*", "additionalProperties")),
    error="output_violation",
    action="report",
    attempts=(Attempt("timeout", "unknown", 0.5), Attempt(None, "executed")),
    ms_queued=1.5,
    ms_wire=2.0,
    ms_check=0.25,
    result_bytes=17,
    blocks=(("image", 1), ("text", 2)),
)


def record(number: int = 0, **fields: Any) -> Record:
    """One record, with this number as its call."""
    return replace(PLAIN, **{"call_id": f"{number:016x}", **fields})
