"""`JsonlAudit`: one line of JSON a call, appended to a file that many tasks, threads and processes may share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from io import SEEK_END, FileIO
from pathlib import Path
from typing import Any, Final, final

from mcp_guard import _logfiles
from mcp_guard._canonical import Flaw, plain
from mcp_guard._chain import START, Link, follow, linked, sealed, unsealed
from mcp_guard._locks import locked, private
from mcp_guard.records import CallInfo, Record

_CAPTURED_SIZE: Final = 1_000_000
_CAPTURED_DEPTH: Final = 100
_KEY_BYTES: Final = 16
_STEP: Final = 65_536
_TAIL: Final = 128
_encode: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


@final
class JsonlAudit:
    """A hook that appends each record to a file, as one line of JSON.

    Tasks, threads and processes may share a file: each line is written at once, under a lock on the file
    ``<path>.head`` beside it. Nothing is held open or in memory between two calls. A crash or a full disk costs at most
    the record that is being written; that is logged, and the call goes on. A line that was cut off that way stays, and
    the next one begins on a line of its own. The files can be read by their owner alone.

    The records hold no value of arguments or results. Who needs them says with `capture` what is to be kept.

    Args:
        path: The file. Its folder has to exist.
        max_bytes: At this size it is renamed, ``audit.jsonl`` to ``audit.000001.jsonl`` and so on, and a new one begun.
        keep: How many of the renamed files are kept; `None`: all. A chain is then verified with ``pruned=True``.
        fsync: Wait until each line is on the disk: some milliseconds, in which the event loop waits as well.
        chain: Give each line the hash of the one before it, so that `mcp_guard.records.verify` finds a line that was
            removed, edited or moved. All who share the file have to say the same.
        chain_key: The key of the chain, 16 bytes or more: without it whoever can write the file can chain it anew.
        capture: Makes what stands as `captured` in the line: a function of the `CallInfo`, called once the call has
            ended, that returns JSON, or `None` for nothing. ``info.arguments`` and ``info.result()`` are what was sent
            and what came. Leave out what must not be kept; the text of a result is a stranger's.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is too small, or the key too short; or the path is no regular file, or one whose lines are
            chained otherwise.
        OSError: The file can't be opened, or the lock not be made.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = 100_000_000,
        keep: int | None = None,
        fsync: bool = False,
        chain: bool = False,
        chain_key: bytes | None = None,
        capture: Callable[[CallInfo], Any] | None = None,
    ) -> None:
        self.path: Path = Path(os.path.realpath(path))
        """The file that is written to now."""
        self._max_bytes = _at_least_one("max_bytes", max_bytes)
        self._keep = None if keep is None else _at_least_one("keep", keep)
        self._fsync = fsync
        self._chained = chain or chain_key is not None
        self._key = None if chain_key is None else _key(chain_key)
        if capture is not None and not callable(capture):
            raise TypeError(f"capture takes a function of a CallInfo, not {type(capture).__name__}")
        self._capture = capture
        self._calls: dict[str, CallInfo] = {}
        if self.path.exists() and not self.path.is_file():
            raise ValueError("path is no regular file, and nothing else can be appended to safely")
        with locked(_logfiles.head_of(self.path)), self._opened() as file:  # what can't be written is known at once
            self._check_kind(file)

    def __call__(self, record: Record) -> None:
        """Append one record.

        Raises:
            OSError: It could not be written; or it was, and the file could not be renamed.
            ValueError: It was written, but without what `capture` gave.
        """
        line, failed = record.to_dict(), None
        try:
            captured = self._captured(record.call_id)
        except Exception as exc:  # noqa: BLE001  # whatever the user's function raises: first the record is written
            captured, failed = None, exc
        if captured is not None:
            line["captured"] = captured
        text = _encode(line).encode()
        with locked(_logfiles.head_of(self.path)) as head:
            failed = self._append(text, head) or failed
        if failed is not None:
            raise failed

    def around(self, call: CallInfo) -> AbstractContextManager[object]:
        """Remember the call for `capture` while it is under way."""
        return nullcontext() if self._capture is None else self._remembered(call)

    def __repr__(self) -> str:
        return f"JsonlAudit({str(self.path)!r})"

    @contextmanager
    def _remembered(self, call: CallInfo) -> Generator[None]:
        self._calls[call.call_id] = call
        try:
            yield
        finally:
            del self._calls[call.call_id]

    def _captured(self, call_id: str) -> Any:
        call = self._calls.get(call_id)
        if self._capture is None or call is None:
            return None
        copy = plain(self._capture(call), depth=_CAPTURED_DEPTH, size=_CAPTURED_SIZE)
        if isinstance(copy, Flaw):
            raise ValueError(f"what capture gave is not kept: {copy.code}")  # noqa: TRY004  # the code says what it is
        if len(_encode(copy.value)) > _CAPTURED_SIZE:  # an escape takes up to twelve times the room of its character
            raise ValueError("what capture gave is not kept: too_large")
        return copy.value

    def _append(self, text: bytes, head: FileIO) -> OSError | None:
        """Write one line, under the lock; give back why the file was not renamed before, where that was due."""
        file, failed = self._opened(), None
        try:
            size, tail = _end(file)
            last = self._last(head, file, tail) if self._chained else START
            if size and size + len(text) >= self._max_bytes:
                file.close()  # an open file can't be renamed on Windows
                failed = self._rotate()
                file = self._opened()
                size, tail = _end(file)
            if self._chained:
                text, last = follow(text, last, self._key)
            _write(file, (b"\n" if tail and not tail.endswith(b"\n") else b"") + text + b"\n")
            if self._fsync:
                os.fsync(file.fileno())
                if not size:
                    _sync_folder(self.path.parent)
            if self._chained:
                head.seek(0)
                _write(head, sealed(last, self._key))
                head.truncate()
        finally:
            file.close()
        return failed

    def _check_kind(self, file: FileIO) -> None:
        """Refuse to go on with a chain in another way than it was begun."""
        file.seek(max(0, file.seek(0, SEEK_END) - _STEP))
        last = next(filter(None, map(linked, reversed(file.read(_STEP).split(b"\n")))), None)
        if last is not None and (not self._chained or last.keyed is (self._key is None)):
            how = "with a key: chain_key=..." if last.keyed else "without a key: chain=True"
            raise ValueError(f"the lines of the file are chained {how}")

    def _opened(self) -> FileIO:
        return open(self.path, "a+b", buffering=0, opener=private)

    def _last(self, head: FileIO, file: FileIO, tail: bytes) -> Link:
        """What the next line follows: by the head, or where its writer died before it was kept, by the file.

        Where the file has less than the head says, lines are missing, and by the head that will show.
        """
        head.seek(0)
        kept = unsealed(head.read(_STEP), self._key)
        if kept is not None and kept.ends(tail):
            return kept
        found = _last_link(file)
        if found is None:
            for _, older in reversed(_logfiles.rotated(self.path)):
                with older.open("rb", buffering=0) as opened:
                    found = _last_link(opened)
                break
        return max((link for link in (found, kept) if link), key=lambda link: link.n, default=START)

    def _rotate(self) -> OSError | None:
        """Rename the full file, and delete those that are not to be kept; or why that was not done."""
        try:
            older = _logfiles.rotated(self.path)
            number = older[-1][0] + 1 if older else 1
            self.path.rename(_logfiles.beside(self.path, number))
            if self._keep is not None:
                for _, file in older[: max(0, len(older) + 1 - self._keep)]:
                    file.unlink(missing_ok=True)
        except OSError as exc:
            return exc
        return None


def _write(file: FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:  # one write, but where the disk is full or a signal came in between
        rest = rest[file.write(rest) :]


def _end(file: FileIO) -> tuple[int, bytes]:
    """The size of a file, and its last bytes: as many as show which link it ends with."""
    size = file.seek(0, SEEK_END)
    file.seek(max(0, size - _TAIL))
    return size, file.read(_TAIL)


def _last_link(file: FileIO) -> Link | None:
    """The link of the last line that has one, read from the end; a line that was cut off has none."""
    start, rest = file.seek(0, SEEK_END), b""
    while start or rest:
        step = min(start, _STEP)
        start -= step
        file.seek(start)
        first, *lines = (file.read(step) + rest).split(b"\n")
        if not start:
            lines.insert(0, first)
        for line in reversed(lines):
            if (found := linked(line)) is not None:
                return found.link
        rest = first if start else b""
        if len(rest) > _logfiles.LONGEST:
            return None
    return None


def _at_least_one(what: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{what} takes a whole number, not {type(value).__name__}")
    if value < 1:
        raise ValueError(f"{what} is {value}; give at least 1")
    return value


def _key(value: bytes) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(f"chain_key takes bytes, not {type(value).__name__}")
    if len(value) < _KEY_BYTES:
        raise ValueError(f"chain_key has {len(value)} bytes; give at least {_KEY_BYTES}: secrets.token_bytes(32)")
    return value


def _sync_folder(folder: Path) -> None:
    """See to it that the name of a new file is on the disk too. Windows has no way to, and needs none."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
