"""`record`: writes what real servers answer as JSON lines; `Recorded`: one such line, read back."""

from __future__ import annotations

import errno
import gzip
import json
import os
import zlib
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from io import SEEK_END, FileIO
from pathlib import Path
from typing import IO, Any, Final, TypeAlias, final

from mcp_guard import _words
from mcp_guard._around import copied
from mcp_guard._facts import is_object
from mcp_guard._locks import private
from mcp_guard._session import GuardedSession
from mcp_guard.policy import OBSERVE
from mcp_guard.records import CallInfo
from mcp_guard.records import Record as CallRecord
from mcp_guard.testing.asserting import opened

Redact: TypeAlias = Callable[[dict[str, Any]], "dict[str, Any] | None"]
"""From the line that is about to be written to the one that is; `None`: none is."""
LONGEST: Final = 32_000_000
"""Bytes of one line of a recording that is read."""


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
        }
        if (result := call.result()) is not None:
            line["result"] = result
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


@final
@dataclass(frozen=True, slots=True)
class Place:
    """Where a line is: the file, and its number, counted from 1."""

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

    @classmethod
    def of(cls, line: bytes | str) -> Recorded:
        """Read a line.

        Raises:
            ValueError: It is none of a recording.
        """
        try:
            entry = json.loads(line)
        except RecursionError:
            raise ValueError("it is nested too deep") from None
        if not is_object(entry):
            raise ValueError("it is no JSON object")  # of the text, not of the argument
        tool = entry.get("tool")
        tool = {"name": tool, "unlisted": True} if isinstance(tool, str) else tool
        if not is_object(tool) or not isinstance(tool.get("name"), str):
            raise ValueError("it has no tool with a name")  # the same
        if "result" not in entry and "error" not in entry:
            raise ValueError("it has neither result nor error")
        server, protocol = entry.get("server"), entry.get("protocol")
        return cls(
            server=server if isinstance(server, str) else "",
            protocol=protocol if isinstance(protocol, str) else None,
            tool=tool,
            listed=not (tool.get("unlisted") or tool.get("_unlisted")),
            result=entry.get("result"),
            has_result="result" in entry,
            day=_day(entry.get("time")),
        )


def _day(time: object) -> str:
    try:
        moment = datetime.fromisoformat(time.replace("Z", "+00:00")) if isinstance(time, str) else None
        return "" if moment is None else moment.astimezone(timezone.utc).date().isoformat()
    except (ValueError, OverflowError, OSError):  # the latter two where a time zone leads out of the years there are
        return ""


def lines_of(paths: Iterable[str | os.PathLike[str]]) -> Iterator[tuple[Place, bytes | None]]:
    """The lines of files, plain or ``.gz``, with their places; `None` for one that is over `LONGEST`. Empty ones not.

    Raises:
        OSError: A file can't be read, or is ``.gz`` by its name and damaged.
    """
    for each in paths:
        path = os.fspath(each)
        with gzip.open(path, "rb") if path.endswith(".gz") else Path(path).open("rb") as file:
            number = 0
            while line := _line_of(file, path):
                number += 1
                is_long = len(line) == LONGEST and not line.endswith(b"\n")
                while is_long and line and not line.endswith(b"\n"):
                    line = _line_of(file, path)
                if is_long or line.strip():
                    yield Place(path, number), None if is_long else line


def _line_of(file: IO[bytes] | gzip.GzipFile, path: str) -> bytes:
    try:
        return file.readline(LONGEST)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise OSError(errno.EINVAL, "it is no whole gzip file", path) from error
