"""What stands in one line: of a recording (`Recorded`) or of an audit file (`mcp_guard.records.Record`), and where."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, NamedTuple, final

from mcp_guard._facts import is_object
from mcp_guard._record import Record


class Place(NamedTuple):
    """Where a line is: the file, and its number, counted from 1. Places are in the order of both, the number as one."""

    path: str
    number: int

    def __str__(self) -> str:
        return f"{self.path}:{self.number}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One line of a recording. `tool` is the definition, or no more than the name where it was in no listing."""

    server: str
    protocol: str | None
    tool: dict[str, Any]
    listed: bool
    result: Any
    has_result: bool
    day: str
    """Of `time`, in UTC, as ``2026-11-30``; empty where the line does not say."""
    result_bytes: int | None = None
    """Characters of text in the result, where the line says."""
    ms_wire: float | None = None
    """Milliseconds between sending and the answer, where the line says."""

    @classmethod
    def of(cls, line: bytes | str) -> Recorded:
        """Read a line.

        Raises:
            ValueError: It is none of a recording.
        """
        return cls._of(_object(line))

    @classmethod
    def _of(cls, entry: dict[str, Any]) -> Recorded:
        tool = entry.get("tool")
        tool = {"name": tool, "unlisted": True} if isinstance(tool, str) else tool
        if not is_object(tool) or not isinstance(tool.get("name"), str):
            raise ValueError("it has no tool with a name")  # of the text, not of the argument
        if "result" not in entry and "error" not in entry:
            raise ValueError("it has neither result nor error")
        server, protocol = entry.get("server"), entry.get("protocol")
        size, took = entry.get("result_bytes"), entry.get("ms_wire")
        return cls(
            server=server if isinstance(server, str) else "",
            protocol=protocol if isinstance(protocol, str) else None,
            tool=tool,
            listed=not (tool.get("unlisted") or tool.get("_unlisted")),
            result=entry.get("result"),
            has_result="result" in entry,
            day=_day(entry.get("time")),
            result_bytes=size if isinstance(size, int) and _is_amount(size) else None,
            ms_wire=took if _is_amount(took) else None,
        )


def read(line: bytes | str) -> Recorded | Record:
    """What stands in a line: a recorded call, or the record of one.

    Raises:
        ValueError: Neither.
    """
    entry = _object(line)
    if "call_id" in entry and "v" in entry and "result" not in entry:
        return Record.from_dict(entry)
    return Recorded._of(entry)  # noqa: SLF001  # of the same file


def _object(line: bytes | str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not is_object(entry):
        raise ValueError("it is no JSON object")  # of the text, not of the argument
    return entry


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


def _day(time: object) -> str:
    try:
        moment = datetime.fromisoformat(time.replace("Z", "+00:00")) if isinstance(time, str) else None
        return "" if moment is None else moment.astimezone(timezone.utc).date().isoformat()
    except (ValueError, OverflowError, OSError):  # the latter two where a time zone leads out of the years there are
        return ""
