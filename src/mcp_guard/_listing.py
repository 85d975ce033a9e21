"""`Listing`: reads the tools of a server, all pages, once for all who wait; knows when they are to be read again."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, final

import anyio

from mcp_guard import errors
from mcp_guard._contract import Contract
from mcp_guard._judge import Judge
from mcp_guard._remote import RemoteRefs
from mcp_guard._sdk import Fault, Lost, NotFinal, Page, PeerError, Seam, TimedOut, Unparsable
from mcp_guard._watching import Watch
from mcp_guard.policy import Limits

Doubt = Literal["unlisted", "misfit"]
_DOUBT_SECONDS: Final = 5.0
"""The least time between two listings that were only read again because something did not fit."""
_COMPLETE_SECONDS: Final = 60.0
"""For the documents of all tools of a listing."""
_ABSENT_KEPT, _ABSENT_LENGTH = 1_000, 1_000
_INVALID_PARAMS: Final = -32602


class Signal(Protocol):
    """Counts the server's words that its tools changed."""

    @property
    def changes(self) -> int:
        """How often it said so."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Read:
    """A reading of the listing: when it was begun, until when it holds, and what went wrong."""

    began: float
    changes: int
    expires: float | None
    fault: Fault | None


@final
class Listing:
    """The tools of one session's server."""

    def __init__(
        self,
        seam: Seam,
        judge: Judge,
        signal: Signal | None,
        clock: Callable[[], float],
        remote_refs: RemoteRefs | None = None,
    ) -> None:
        self._seam = seam
        self._judge = judge
        self._signal = signal
        self._clock = clock
        self._remote_refs = remote_refs
        self._lock = anyio.Lock()
        self.watch = Watch(seam, judge.voice, clock)
        """The guard's own subscription to changes of the tools."""
        self._last: Read | None = None
        self._good: Read | None = None
        self._doubted: dict[Doubt, float] = {}
        self._absent: set[str] = set()

    def is_settled(self, tool: str) -> bool:
        """Whether there is nothing to find out about a tool before it is called: `ensure` would do nothing."""
        if self._remote_refs is not None or self.watch.is_open:
            return False
        return self._judge.contract(tool) is not None and self._is_fresh()

    async def ensure(self, tool: str) -> Fault | None:
        """Make the contract of a tool known before it is called. Gives what went wrong where a reading failed."""
        fault = await self._known(tool)
        await self._complete(tool)
        return fault

    async def _known(self, tool: str) -> Fault | None:
        await self.watch.look()
        if not self._is_fresh():
            if self._good is None and self._is_given(tool):
                return None  # contracts that were given need no listing, until the server says that they changed
            if self._good is None or not self._failed_lately():
                await self._read_until_quiet()
            if self._last is not None and self._last.fault is not None:
                return self._last.fault
        if self._judge.contract(tool) is not None or tool in self._absent or not self._may_doubt("unlisted"):
            return None
        read = await self._read(self._last)
        room = len(self._absent) < _ABSENT_KEPT and len(tool) <= _ABSENT_LENGTH
        if room and read.fault is None and self._judge.contract(tool) is None:
            self._absent.add(tool)
        return None

    async def doubt(self, tool: str, before: float) -> bool:
        """Read the listing again since a tool's result did not fit, where it was read before that moment.

        Whether the listing that is known now was begun after that moment.
        """
        if self._lock.locked():
            async with self._lock:  # somebody reads it right now
                pass
        if not self._is_since(before) and self._may_doubt("misfit"):
            await self._read(self._last, before)
        await self._complete(tool)
        return self._is_since(before)

    async def refresh(self, tool: str | None = None) -> Fault | None:
        """Read the listing again now, for the sake of one tool, or of all."""
        await self.watch.look()
        fault = (await self._read(self._last, self._clock())).fault
        if tool is not None:
            await self._complete(tool)
        elif self._remote_refs is not None:
            with anyio.move_on_after(_COMPLETE_SECONDS):  # the rest is for when they are called
                for each, contract in self._judge.contracts.of(self._judge.server).items():
                    if contract.refers_elsewhere:
                        await self._complete(each)
        return fault

    async def _complete(self, tool: str) -> None:
        """Have the documents fetched that a tool's contract refers to, as far as the user allowed that."""
        contract = self._judge.contract(tool)
        if self._remote_refs is None or contract is None:
            return
        completed = await self._remote_refs.complete(contract)
        self._judge.contracts.replace(contract, completed, server=self._judge.server)

    @property
    def known(self) -> bool:
        """Whether a listing was ever read."""
        return self._good is not None

    def _changes(self) -> int:
        return self.watch.changes + (0 if self._signal is None else self._signal.changes)

    def _is_given(self, tool: str) -> bool:
        """Whether the contract of this tool was given to the guard, and may be gone by."""
        judge = self._judge
        return judge.knows(tool) and judge.contracts.holds(judge.server, self._clock()) and not self._changes()

    def _is_fresh(self) -> bool:
        good = self._good
        if good is None or good.changes != self._changes():
            return False
        return good.expires is None or self._clock() < good.expires

    def _is_since(self, moment: float) -> bool:
        return self._good is not None and self._good.began >= moment

    def _failed_lately(self) -> bool:
        last = self._last
        return last is not None and last.fault is not None and self._clock() - last.began < _DOUBT_SECONDS

    def _may_doubt(self, why: Doubt) -> bool:
        now = self._clock()
        if now - self._doubted.get(why, -math.inf) < _DOUBT_SECONDS:
            return False
        self._doubted[why] = now
        return True

    async def _read_until_quiet(self) -> None:
        """Read the listing, and once more where it changed meanwhile; a server that never rests is not waited for."""
        for _ in range(2):
            read = await self._read(self._last)
            await self.watch.look()
            if read.fault is not None or read.changes == self._changes():
                return

    async def _read(self, seen: Read | None, since: float = -math.inf) -> Read:
        """Read all pages; those who ask while somebody reads share the reading, where it was begun after `since`."""
        async with self._lock:
            last = self._last
            if last is not None and last is not seen and last.changes == self._changes() and last.began >= since:
                return last
            began, changes = self._clock(), self._changes()
            expires, fault = await self._pages()
            self._last = read = Read(began, changes, expires, fault)
            if fault is None:
                self._good = read
                self._absent.clear()
            return read

    async def _pages(self) -> tuple[float | None, Fault | None]:
        """Read the listing, and begin again, once, where a cursor is refused (specification, utilities/caching)."""
        walked = await self._walk()
        if walked.cursors and isinstance(walked.fault, PeerError) and walked.fault.code == _INVALID_PARAMS:
            walked = await self._walk()
        if walked.fault is None:
            self._learn(walked)
        return walked.expires, walked.fault

    async def _walk(self) -> Walked:
        limits = self._judge.policy.limits
        walked = Walked()
        cursor: str | None = None
        while True:
            asked, handled = self._clock(), sys.exc_info()[1]
            try:
                page = await self._seam.page(cursor)
            except Exception as exc:
                walked.fault = self._seam.fault(exc, handled)
                if walked.fault is None:
                    raise
                return walked
            if not isinstance(page, Page):
                walked.fault = page
                return walked
            if not isinstance(page.entries, list):
                walked.fault = Unparsable(("unparsable",))
                return walked
            walked.take(page.entries, limits)
            if page.ttl is not None:
                expires = asked + max(page.ttl, 0.0)
                walked.expires = expires if walked.expires is None else min(expires, walked.expires)
            cursor = page.next_cursor
            if cursor is None or walked.truncated:  # the empty string is a cursor
                return walked
            if walked.is_full(limits) or len(walked.cursors) + 1 >= limits.pages or cursor in walked.cursors:
                walked.truncated = True
                return walked
            walked.cursors.add(cursor)

    def _learn(self, walked: Walked) -> None:
        # a time to live that is over at once is no word on how long those may go by it who share these contracts
        until = walked.expires if walked.expires is not None and walked.expires > self._clock() else None
        judge, say = self._judge, self._judge.voice.say
        if walked.skipped:
            say(logging.WARNING, ("skipped",), f"{walked.skipped} entries of the tool listing are no tools")
        if walked.truncated:
            say(logging.WARNING, ("truncated",), "the tool listing was left before its end (listing_truncated)")
        judge.contracts.listing_truncated = walked.truncated
        judge.contracts.learn(walked.contracts, server=judge.server, until=until)


@dataclass(slots=True)
class Walked:
    """The pages of one listing: of each entry only its contract is kept."""

    contracts: list[Contract] = field(default_factory=list[Contract])
    skipped: int = 0
    size: int = 0
    cursors: set[str] = field(default_factory=set[str])
    expires: float | None = None
    truncated: bool = False
    fault: Fault | None = None

    def take(self, entries: list[Any], limits: Limits) -> None:
        """Take the entries of a page, as far as `limits` allow."""
        for entry in entries:
            if self.is_full(limits):
                self.truncated = True
                return
            contract = _contract(entry, limits)
            if contract is None:
                self.skipped += 1
                continue
            self.size += contract.size
            if self.size > limits.listing_bytes:
                self.truncated = True
                return
            self.contracts.append(contract)

    def is_full(self, limits: Limits) -> bool:
        """Whether there is no room for one more entry."""
        return len(self.contracts) + self.skipped >= limits.tools


def _contract(entry: object, limits: Limits) -> Contract | None:
    """The contract of a listed entry; `None` where it is no tool. A bad entry spoils only itself."""
    try:
        contract = Contract.from_tool(entry, limits=limits, defer=True)
    except TypeError:
        return None
    return contract if contract.name else None


def unlisted(fault: Fault, about: dict[str, Any]) -> errors.GuardError:
    """The error for a listing that could not be read: nothing was sent."""
    about = {**about, "outcome": "not_sent"}
    match fault:
        case PeerError(code, message, data):
            return errors.ToolProtocolError(code=code, message=message, data=data, **about)
        case TimedOut():
            return errors.ToolTimeoutError(**about)
        case Lost():
            return errors.ConnectionLostError(**about)
        case Unparsable() | NotFinal():
            return errors.UnusableContractError(
                reason="listing_failed",
                detail="the SDK refused the whole page; connect() keeps what is good of it",
                **about,
            )
