"""Records of calls: `Hook`, who is told of them; `read`, `count` and `verify`, what makes use of a file of them."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, final

from mcp_guard import _logfiles
from mcp_guard._correlation import correlation
from mcp_guard._record import VERSION, Attempt, Place, Record
from mcp_guard._verifying import Broken, Verification, verify

__all__ = [
    "VERSION",
    "Attempt",
    "Broken",
    "CallInfo",
    "Counts",
    "Hook",
    "Place",
    "Reading",
    "Record",
    "Row",
    "Verification",
    "correlation",
    "count",
    "read",
    "schema",
    "verify",
]

_BROKEN_KEPT: Final = 100
_ROWS_KEPT: Final = 10_000


def _nothing() -> None:
    """There is no result."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CallInfo:
    """One call that is about to be made: what a hook's ``around`` is given."""

    call_id: str
    """The same as in the `Record` that tells how it ended."""
    tool: str
    """Its name, escaped and cut as in the record."""
    server: str | None = None
    correlation: str | None = None
    """The caller's own mark."""
    arguments: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    """As the caller gave them: theirs to show or to hide. Nothing of them stands in a record."""
    result: Callable[[], Any] = field(default=_nothing, repr=False, compare=False)
    """Gives the raw result as JSON, once there is one, else `None`. Nothing of it stands in a record."""


class Hook(Protocol):
    """Told of every call, before anything is raised. What it raises is logged and changes nothing.

    A hook may also have a method ``around(call: CallInfo)`` that gives a context manager. It is entered before
    anything is done for the call, and left after the hooks were told its record: the listing that it waits for
    and the sending happen inside it, with the context variables that it set. Those of several hooks are left in
    reverse order. It is left with no exception in hand, whatever became of the call; the record says that. What it
    raises on the way in or out is logged and changes nothing.
    """

    def __call__(self, record: Record, /) -> None:
        """Take note of one call. It is called in the task of the call: be quick, and don't block."""
        ...


@final
class Reading(Iterator[Record]):
    """The records of a file, one after the other; what could not be read is counted and told. Made by `read`."""

    def __init__(self, lines: Iterable[_logfiles.Line]) -> None:
        self.records: int = 0
        """Records so far."""
        self.broken: int = 0
        """Lines so far that are no record."""
        self.first_broken: tuple[Broken, ...] = ()
        """Where they are and why, the first 100 of them."""
        self._lines = iter(lines)

    def __next__(self) -> Record:
        for line in self._lines:
            record = _record_of(line)
            if isinstance(record, Record):
                self.records += 1
                return record
            self.broken += 1
            if len(self.first_broken) < _BROKEN_KEPT:
                self.first_broken += (Broken(line.file.name, line.number, record),)
        raise StopIteration


def read(path: str | os.PathLike[str], *, rotated: bool = True) -> Reading:
    """The records of a file that `mcp_guard.hooks.JsonlAudit` wrote, oldest first, held in memory one at a time.

    A line that is no record (cut off, edited, of a newer format) is passed over; the `Reading` has how many there are
    and where. Whether the file is as it was written, `verify` tells, if it is chained.

    Args:
        path: The file as `JsonlAudit` has it.
        rotated: Read also the files that it was rotated into.

    Raises:
        FileNotFoundError: There is no such file: when the first record is asked for.
        OSError: It can't be read.
    """
    return Reading(_logfiles.lines(Path(os.path.realpath(path)), older=rotated))


def _record_of(line: _logfiles.Line) -> Record | str:
    """The record in a line, or why there is none."""
    if line.text is None:
        return f"the line has more than {_logfiles.LONGEST} bytes"
    try:
        return Record.from_json(line.text)
    except ValueError as error:
        return str(error) if line.ended else "the line was cut off while it was written"


class Row(NamedTuple):
    """What calls are counted by."""

    server: str | None
    tool: str
    fingerprint: str | None
    """The version of the contract."""
    verdict: str | None
    error: str | None


@final
@dataclass(frozen=True, slots=True)
class Counts:
    """How many calls there are of each `Row`."""

    rows: Mapping[Row, int]
    others: int
    """Calls of rows that came after the first 10,000 different ones."""

    @property
    def total(self) -> int:
        """All calls."""
        return sum(self.rows.values()) + self.others

    def by(self, *names: str) -> dict[tuple[str | None, ...], int]:
        """The same by some of a row's fields alone: ``by("tool", "verdict")``. The most frequent come first.

        Raises:
            ValueError: A `Row` has no such field.
        """
        if unknown := [name for name in names if name not in Row._fields]:
            raise ValueError(f"a Row has no {unknown[0]!r}; it has {', '.join(Row._fields)}")
        summed = Counter[tuple[str | None, ...]]()
        for row, number in self.rows.items():
            summed[tuple(getattr(row, name) for name in names)] += number
        return dict(summed.most_common())


def count(records: Iterable[Record]) -> Counts:
    """Count calls by server, tool, version of the contract, verdict and error, in bounded memory."""
    rows, others = dict[Row, int](), 0
    for record in records:
        row = Row(record.server, record.tool, record.fingerprint, record.verdict, record.error)
        if row in rows or len(rows) < _ROWS_KEPT:
            rows[row] = rows.get(row, 0) + 1
        else:
            others += 1
    return Counts(rows, others)


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a record as JSON: the file ``record.schema.json`` of the package."""
    described: dict[str, Any] = json.loads(Path(__file__).with_name("record.schema.json").read_text(encoding="utf-8"))
    return described
