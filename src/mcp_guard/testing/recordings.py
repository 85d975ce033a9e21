"""`record`: writes what real servers answer as JSON lines, which `replay` judges again."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from io import SEEK_END, FileIO
from pathlib import Path
from typing import Any, TypeAlias, final

from mcp_guard import _words
from mcp_guard._around import copied
from mcp_guard._locks import private
from mcp_guard._session import GuardedSession
from mcp_guard.policy import OBSERVE
from mcp_guard.records import CallInfo
from mcp_guard.records import Record as CallRecord
from mcp_guard.testing.asserting import opened

Redact: TypeAlias = Callable[[dict[str, Any]], "dict[str, Any] | None"]
"""From the line that is about to be written to the one that is; `None`: none is."""


@asynccontextmanager
async def record(
    to: Any, path: str | os.PathLike[str], *, redact: Redact | None = None, **options: Any
) -> AsyncGenerator[GuardedSession[Any]]:
    """Record every call that is made through the session that this gives: one JSON line each, appended to a file.

    A line is complete in itself: the tool's definition as it was listed, the arguments, and the result, or the kind of
    the error where there was none. Arguments and results are written as they are: `redact` is where to change that.
    Nothing is judged while it is recorded: the policy is OBSERVE unless told otherwise.

    ::

        async with record(session, "calls.jsonl") as tools:
            await tools.call_tool("get_stock", {"sku": "A-1"})

    Args:
        to: An open session, or what `connect` takes.
        path: The file. A new one is readable by its owner alone.
        redact: See `Redact`.
        options: Keywords for `guard` or `connect`.

    Raises:
        OSError: The file can't be written.
    """
    with _appending(Path(path)) as file:
        hook = _Recorder(file, redact)
        options = {"policy": OBSERVE, **options, "hooks": [*options.get("hooks", ()), hook]}
        async with opened(to, **options) as tools:
            hook.tools = tools
            yield tools


@contextmanager
def _appending(path: Path) -> Generator[FileIO]:
    with open(path, "a+b", buffering=0, opener=private) as file:
        if file.seekable() and (size := file.seek(0, SEEK_END)):
            file.seek(size - 1)
            if file.read(1) != b"\n":  # whoever wrote it died in the middle of a line, and that one alone is lost
                file.write(b"\n")
        yield file


@final
class _Recorder:
    """The hook that writes."""

    def __init__(self, file: FileIO, redact: Redact | None) -> None:
        self.tools: GuardedSession[Any] | None = None
        self._file = file
        self._redact = redact
        self._under_way: dict[str, CallInfo] = {}

    @contextmanager
    def around(self, call: CallInfo) -> Generator[None]:
        """Remember the call while it is under way."""
        self._under_way[call.call_id] = call
        try:
            yield
        finally:
            del self._under_way[call.call_id]

    def __call__(self, record: CallRecord, /) -> None:
        """Write the call down."""
        call = self._under_way[record.call_id]
        line: dict[str, Any] = {
            "time": record.time.isoformat(),
            "server": record.server,
            "protocol": record.protocol,
            "tool": self._definition(record.tool),
            "arguments": copied(dict(call.arguments or {})),
            "ms_wire": record.ms_wire,
        }
        if (result := call.result()) is not None:
            line["result"] = result
            line["result_bytes"] = record.result_bytes
        else:
            line["error"] = {"kind": record.error, "outcome": record.outcome}
        kept = line if self._redact is None else self._redact(line)
        if kept is not None:
            rest = memoryview(f"{json.dumps(kept)}\n".encode())
            while rest:  # one write, so that several processes may share the file, but where the disk is full
                rest = rest[self._file.write(rest) :]

    def _definition(self, shown: str) -> dict[str, Any]:
        contracts = () if self.tools is None else self.tools.contracts
        found = next((c.definition for c in contracts if _words.name(c.name) == shown), None)
        return {"name": shown, "unlisted": True} if found is None else found
