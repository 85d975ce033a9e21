"""`Tally`: how many calls of which tool ENFORCE would have refused, and why."""

from __future__ import annotations

import math
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, final

from mcp_guard.records import Record

_TOOLS_KEPT: Final = 1_000
_KINDS_KEPT: Final = 100
_REST: Final = "*"


@final
@dataclass(slots=True)
class _OfTool:
    calls: int = 0
    raised: Counter[str] = field(default_factory=Counter[str])
    would_raise: Counter[str] = field(default_factory=Counter[str])
    examples: dict[str, str] = field(default_factory=dict[str, str])


@final
class Tally:
    """A hook that counts what ENFORCE would have raised, by tool and kind of error: read it before you leave OBSERVE.

    ``print(tally)`` is a table. What was raised all the same is counted apart: OBSERVE has no result to give where a
    connection is lost, a time limit of yours passes, a call is cancelled, or `call` finds no data. One tally may serve
    several guards, and threads. Given the records of a file, it counts the same::

        for record in mcp_guard.records.read("audit.jsonl"):
            tally(record)

    Args:
        timeout: Seconds that a call may take where ENFORCE is in force, as in ``guard(timeout=60)``; `None`: no limit.
            OBSERVE sets none, so that a call that took longer would not have come to its end.

    Raises:
        TypeError: `timeout` is no number.
    """

    def __init__(self, *, timeout: float | None = 60.0) -> None:
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float))):
            raise TypeError(f"timeout takes seconds or None, not {type(timeout).__name__}")
        self._most_ms = math.inf if timeout is None else timeout * 1000
        self._tools: dict[tuple[str | None, str], _OfTool] = {}
        self._lock = threading.Lock()

    def __call__(self, record: Record) -> None:
        """Count one call."""
        took = record.ms_queued + record.ms_wire + record.ms_check
        raised = record.action == "raise"
        kind = "timeout" if took > self._most_ms and not raised else record.error
        if kind is None and raised:
            kind = "left"  # cancelled, or by an error of the program's own
        with self._lock:
            of_tool = self._of(record.server, record.tool)
            of_tool.calls += 1
            if kind is not None:
                counts = of_tool.raised if raised else of_tool.would_raise
                kind = kind if kind in counts or len(counts) < _KINDS_KEPT else _REST
                counts[kind] += 1
                if not raised:
                    of_tool.examples[kind] = record.call_id

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON: `calls`, `would_raise`, and for each tool the same by kind, with the id of a call."""
        with self._lock:
            return {
                "calls": sum(of_tool.calls for of_tool in self._tools.values()),
                "would_raise": sum(of_tool.would_raise.total() for of_tool in self._tools.values()),
                "tools": [
                    {
                        "server": server,
                        "tool": tool,
                        "calls": of_tool.calls,
                        "would_raise": dict(of_tool.would_raise.most_common()),
                        "raised": dict(of_tool.raised.most_common()),
                        "examples": dict(of_tool.examples),
                    }
                    for (server, tool), of_tool in sorted(self._tools.items(), key=_order)
                ],
            }

    def __str__(self) -> str:
        counted = self.to_dict()
        rows = [("tool", "calls", "would raise", "raised", "kinds (and the last call of each)")]
        for row in counted["tools"]:
            name = row["tool"] if row["server"] is None else f"{row['server']}/{row['tool']}"
            would, raised = row["would_raise"], row["raised"]
            said = [f"{kind} {n} ({row['examples'][kind]})" for kind, n in would.items()]
            said += [f"raised: {kind} {n}" for kind, n in raised.items()]
            numbers = str(row["calls"]), str(sum(would.values())), str(sum(raised.values()))
            rows.append((name, *numbers, ", ".join(said)))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [f"ENFORCE would have raised in {counted['would_raise']} of {counted['calls']} calls."]
        for name, *numbers_of, kinds in rows if counted["tools"] else ():
            columns = [f"{number:>{width}}" for number, width in zip(numbers_of, widths[1:4], strict=True)]
            lines.append("  ".join((name.ljust(widths[0]), *columns, kinds)).rstrip())
        return "\n".join(lines)

    def __repr__(self) -> str:
        counted = self.to_dict()
        return f"<Tally of {counted['calls']} calls, {counted['would_raise']} of which ENFORCE would refuse>"

    def _of(self, server: str | None, tool: str) -> _OfTool:
        key = (server, tool)
        if key not in self._tools and len(self._tools) >= _TOOLS_KEPT:
            key = (None, _REST)
        return self._tools.setdefault(key, _OfTool())


def _order(item: tuple[tuple[str | None, str], _OfTool]) -> tuple[int, str, str]:
    """Those with the most to look at first."""
    (server, tool), of_tool = item
    return -sum(of_tool.would_raise.values()), server or "", tool
