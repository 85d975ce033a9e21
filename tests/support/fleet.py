"""Lines as a fleet records them, for the tests that judge many of them."""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from mcp_guard.records import Place as Violated
from mcp_guard.records import Record
from mcp_guard.testing import GET_STOCK, Place
from support.calls import data

GOOD: Final = {"sku": "A-1", "quantity": 3}
BAD: Final = {"sku": "A-1", "quantity": "three"}
ROWS: Final[dict[str, Any]] = {
    "name": "list_rows",
    "inputSchema": {"type": "object"},
    "outputSchema": {
        "type": "object",
        "properties": {
            "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}
        },
        "required": ["rows"],
    },
}


def line(result: Any = None, **members: Any) -> bytes:
    """One line of a recording; without `result` of a call that had none."""
    entry: dict[str, Any] = {"server": "stock", "protocol": "2025-11-25", "tool": GET_STOCK, "arguments": {}}
    if result is not None:
        entry["result"] = result
    return json.dumps({**entry, **members}).encode() + b"\n"


def audited(**members: Any) -> bytes:
    """One line of an audit file."""
    given: dict[str, Any] = {
        "time": datetime(2026, 11, 30, 12, tzinfo=timezone.utc),
        "call_id": "18e6cbe29512ad3a",
        "server": "stock",
        "tool": "get_stock",
        "fingerprint": "0123456789abcdef" * 4,
        "policy": "ENFORCE",
        "verdict": "Violating",
        "violations": (Violated("/quantity", "type"),),
        "error": "output_violation",
        "outcome": "executed",
        "action": "raise",
        "ms_wire": 12.5,
        "result_bytes": 40,
    }
    return Record(**{**given, **members}).to_json().encode() + b"\n"


def mixed(number: int, *, of: int = 0) -> list[bytes]:
    """So many lines in which everything occurs that is counted: other ones for another `of`."""
    made: list[bytes] = []
    for n in range(of, of + number):
        time = f"2026-11-{1 + n % 28:02}T10:00:00Z"
        amounts = {"ms_wire": 3.7 * n, "result_bytes": n * n}
        made.append(
            [
                line(data({**GOOD, "quantity": n}), time=time, server=f"server-{n % 5}", **amounts),
                line(data(BAD), time=time, **amounts),
                line(data({"rows": [{"n": "x"} if i == n % 7 else {"n": i} for i in range(8)]}), tool=ROWS, time=time),
                line(error={"kind": "timeout"}, time="yesterday"),
                line({"content": [], "isError": True}, time=time),
                line(
                    {"content": [{"type": "text", "text": json.dumps(GOOD)}]}, tool={**GET_STOCK, "name": f"t{n % 9}"}
                ),
                audited(ms_wire=float(n), server=None),
                audited(verdict=None, error="timeout", violations=(), result_bytes=None),
                b'{"tool": "get_st\n',
                b"\n",
            ][n % 10]
        )
    return made


def numbered(*lines: bytes, path: str = "calls.jsonl") -> list[tuple[Place, bytes]]:
    """Lines with their places."""
    return [(Place(path, number), each) for number, each in enumerate(lines, 1)]


def write(path: Path, *lines: bytes) -> Path:
    """A file of these lines."""
    path.write_bytes(b"".join(lines))
    return path


def die(marker: str) -> int:
    """End this process at once; but not where there is a file of this name, which is made first."""
    if marker and Path(marker).exists():
        return 1
    if marker:
        Path(marker).touch()
    os._exit(1)
