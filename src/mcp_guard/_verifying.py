"""`verify`: whether a hash-chained log is as it was written; where not, the first line that is not."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from mcp_guard import _logfiles
from mcp_guard._chain import START, Link, Linked, linked, unsealed
from mcp_guard._logfiles import Line

_UNREADABLE: Final = "it is no complete line"


@final
@dataclass(frozen=True, slots=True)
class Broken:
    """A line that is not what it should be: its file, its number in it from 1, and why, in our words."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.reason}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What `verify` found. ``str`` says it, and what it can't show."""

    chained: int
    """Lines of the chain that hold."""
    bad: Broken | None
    """The first line that does not; nothing behind it was looked at."""
    missing: int
    """Lines that are missing at the end, as far as is known."""
    uncovered: int
    """Lines from before the chain began: it says nothing about them."""
    cut_off: int
    """Lines that were being written when their process died. They hold no record, and the chain goes on without."""
    first: int
    """Number of the first line that is there: over 1 where older files are gone."""
    last: Link
    """The end of the chain. Keep it elsewhere, as ``str(last)``, and give it to `verify` later."""
    keyed: bool
    held_to: bool
    """Whether the end was held against something: the ``.head`` file, or the `head` that was given."""

    @property
    def ok(self) -> bool:
        """Whether there is a chain, and every line in it is as it was written."""
        return self.chained > 0 and self.bad is None and not self.missing

    def __str__(self) -> str:
        if self.bad is not None:
            return f"broken after {self.chained} lines of the chain: {self.bad}"
        if not self.chained and not self.missing:
            return "there is no chain in it"
        said = [f"{self.chained} lines hold"]
        if self.missing:
            said = [f"{self.missing} lines are missing at the end; the {self.chained} before hold"]
        if self.first > 1:
            said.append(f"the {self.first - 1} lines before them are gone, as is allowed")
        if self.uncovered:
            said.append(f"{self.uncovered} lines from before the chain began are not covered")
        if self.cut_off:
            said.append(f"{self.cut_off} lines were cut off while they were written")
        if not self.held_to:
            said.append("lines cut off the end would not show: there was nothing to hold it against")
        if not self.keyed:
            said.append("without a key, whoever can write the file can also make such a chain anew")
        return "; ".join(said)


def verify(
    path: str | os.PathLike[str], *, key: bytes | None = None, head: str | None = None, pruned: bool = False
) -> Verification:
    """Hold a log of `mcp_guard.hooks.JsonlAudit`, with the files it was rotated into, against its hash chain.

    A removed, edited, inserted or moved line is found. Whether lines were cut off the end, the chain itself can't
    show: that is found by the file ``<path>.head`` that the writers keep up to date, which with a key nobody else can
    make, though somebody may put an old one in its place; and by a `head` that you have kept elsewhere.

    Args:
        path: The log as `JsonlAudit` has it.
        key: The key of the chain, where it has one.
        head: A `Verification.last` as ``str``, kept from before: that line has to be there.
        pruned: The oldest files may be gone, as with ``JsonlAudit(keep=)``. Then lines cut off the beginning do not
            show.

    Raises:
        ValueError: The chain has a key and none is given; or `head` is no head.
        FileNotFoundError: There is no such log.
        OSError: One of its files can't be read.
    """
    log = Path(os.path.realpath(path))
    anchors = [link for link in (_kept(head), _beside(log, key)) if link is not None]
    walk = _Walk(key, anchors, pruned=pruned)
    walk.over(_logfiles.lines(log))
    return Verification(
        chained=walk.chained,
        bad=walk.bad,
        missing=0 if walk.bad else max([0, *(anchor.n - walk.last.n for anchor in anchors)]),
        uncovered=walk.uncovered,
        cut_off=walk.cut_off,
        first=walk.first,
        last=walk.last,
        keyed=key is not None,
        held_to=bool(anchors),
    )


def _kept(head: str | None) -> Link | None:
    if head is None:
        return None
    link = Link.of(head)
    if link is None:
        raise ValueError("head is a Verification.last as str: a number, a colon and 64 hexadecimal digits")
    return link


def _beside(log: Path, key: bytes | None) -> Link | None:
    """The end of the chain as its writers have kept it."""
    try:
        return unsealed(_logfiles.head_of(log).read_bytes(), key)
    except FileNotFoundError:
        return None


class _Walk:
    """Goes along the lines, and stops at the first that is not in its place."""

    def __init__(self, key: bytes | None, anchors: list[Link], *, pruned: bool) -> None:
        self._key = key
        self._pruned = pruned
        self._anchors = {link.n: link for link in anchors}
        self._unreadable: Broken | None = None
        """The first line since the last that held that can't be read: cut off, if the chain goes on behind it."""
        self.last = START
        self.first = 0
        self.chained = self.uncovered = self.cut_off = 0
        self.bad: Broken | None = None

    def over(self, lines: Iterable[Line]) -> None:
        for line in lines:
            if (reason := self._step(line)) is not None:
                self.bad = Broken(line.file.name, line.number, reason)
                if self._unreadable is not None:  # it was made unreadable: that is the first
                    self.bad = self._unreadable
                return

    def _step(self, line: Line) -> str | None:
        """Take one line; why it is not in its place, or `None`."""
        said = None if line.text is None else linked(line.text)
        if said is not None:
            return self._linked(said)
        if line.text is not None and _is_json(line.text):
            if self.chained:
                return "it is not in the chain: it was edited or inserted"
            self.uncovered += 1
        else:
            self.cut_off += 1
            if self._unreadable is None:
                self._unreadable = Broken(line.file.name, line.number, _UNREADABLE)
        return None

    def _linked(self, said: Linked) -> str | None:
        link, last = said.link, self.last
        if said.keyed and self._key is None:
            raise ValueError("the chain was made with a key: give it to verify(key=)")
        if not said.keyed and self._key is not None:
            return "it was chained without the key"
        if not said.is_true(self._key):
            return "it was edited" if self._key is None else "it was edited, or chained with another key"
        begins = self._pruned and not (self.chained or self.uncovered or self.cut_off)
        if not begins and (link.n != last.n + 1 or said.prev != last.digest):
            return _misplaced(link, last)
        if (anchor := self._anchors.get(link.n)) is not None and anchor != link:
            return "it is another line than the one that was kept as the head"
        self.first = self.first or link.n
        self.chained, self.last, self._unreadable = self.chained + 1, link, None
        return None


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _misplaced(link: Link, last: Link) -> str:
    if link.n == last.n + 1:
        return "it does not follow the line before it"
    missing = link.n - last.n - 1
    return f"{missing} lines before it are missing" if missing > 0 else "it stands in the wrong place"
