"""`Pages`: a tool's own pages as one async iterator that says how far it got."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Final, Literal, TypeAlias, final

from typing_extensions import Self

from mcp_guard import errors
from mcp_guard._budget import Budget
from mcp_guard._calling import Conclude
from mcp_guard._data import data_of
from mcp_guard._decision import Decision
from mcp_guard._into import Into
from mcp_guard._judge import Call
from mcp_guard._page import Page, PageReader, Unreadable
from mcp_guard._result import ToolResult
from mcp_guard._verdict import Verdict

StoppedBecause: TypeAlias = Literal["end", "truncated", "budget", "empty_pages", "repeated_cursor", "error", "closed"]
Fetch: TypeAlias = Callable[[dict[str, Any], Conclude[Page]], Awaitable[Page]]
"""Calls the tool with these arguments, and gives what was concluded."""

_KEPT: Final = 100_000  # marks of about 150 bytes each


def _as_it_is(value: Any) -> Any:
    return value


_JSON: Final = Into[Any](_as_it_is)
"""Where there is no structured content and no contract, the text is read as JSON if it is some."""


@final
class Pages:
    """The items of a tool's pages, one page fetched when it is needed. Made by `GuardedSession.paginate`.

    ::

        found = tools.paginate("search", {"query": "x"}, items="hits", cursor="cursor", next_cursor="next")
        async for hit in found:
            ...
        if not found.complete:
            print("there may be more:", found.stopped_because)

    For one task at a time. Nothing is held between two pages, so the loop can be left at any time.
    """

    def __init__(self, fetch: Fetch, arguments: dict[str, Any], cursor: str, reader: PageReader) -> None:
        self._fetch = fetch
        self._arguments = arguments
        self._name = cursor
        self._reader = reader
        self._ready: deque[Any] = deque()
        self._keys, self._sent = _Seen(), _Seen()
        self._then: StoppedBecause | errors.GuardError | None = None
        self._is_truncated = False
        self._empty = 0
        self._most_empty = 0
        self.cursor: Any = arguments.get(cursor)
        """The cursor of the page that comes next, to go on from another time; `None` at the beginning and the end."""
        self.stopped_because: StoppedBecause | None = None
        """Why there are no more items, `None` as long as there may be some.

        ``end``: the last page was read to its end. ``truncated``: so it was, but a page said that it was cut short.
        ``budget``: it is spent. ``empty_pages``: more pages in a row than `Limits.pages` had nothing new.
        ``repeated_cursor``, ``error``: that was raised. ``closed``: by `aclose`."""
        self.pages = 0
        """Pages that were read."""
        self.duplicates = 0
        """Items that were dropped since their key was there before."""

    @property
    def complete(self) -> bool:
        """Whether every item there is was handed out: only then does "not among them" mean "there is none"."""
        return self.stopped_because == "end"

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        """The next item, from the next page where need be.

        Raises:
            GuardError: The call of a page failed, as `GuardedSession.call` says. There are no more items then.
            OutputValidationError: With ``source="type"``: a page is not as the caller said, or its cursor was there
                before; the items of the latter were handed out.
        """
        while self.stopped_because is None:
            if self._ready:
                return self._ready.popleft()
            if isinstance(self._then, errors.GuardError):
                self.stopped_because = "repeated_cursor"
                raise self._then
            self.stopped_because = self._then
            if self._then is None:
                await self._turn()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Be done with it, for `contextlib.aclosing`. There is nothing to give back."""
        self.stopped_because = self.stopped_because or "closed"
        self._ready.clear()

    async def _turn(self) -> None:
        """Read the next page."""
        arguments = self._arguments
        if self.cursor is not None:
            arguments = {**arguments, self._name: self.cursor}
            self._sent.add(self._reader.mark(self.cursor))
        try:
            page = await self._fetch(arguments, self._concluded)
        except Exception as exc:
            self.stopped_because = "budget" if _is_spent(exc) else "error"
            if self.stopped_because == "error":
                raise
            return
        self.pages += 1
        fresh = [item for item, mark in zip(page.items, page.marks, strict=True) if self._keys.add(mark)]
        self.duplicates += len(page.items) - len(fresh)
        self._ready.extend(fresh)
        self._is_truncated = self._is_truncated or page.truncated
        self.cursor = page.cursor
        self._empty = 0 if fresh else self._empty + 1
        if page.cursor is None:
            self._then = "truncated" if self._is_truncated else "end"
        elif self._then is None and self._empty > self._most_empty:
            self._then = "empty_pages"

    def _concluded(self, call: Call, verdict: Verdict, result: ToolResult, decision: Decision) -> tuple[Decision, Any]:
        """The page that a result is; what is wrong with it is told with the record of its call."""
        self._most_empty = call.policy.limits.pages
        decision, value = data_of(call, verdict, result, decision, into=_JSON)
        if decision.action == "raise":
            return decision, None
        page = self._reader.read(value)
        if isinstance(page, Unreadable):
            about = call.context(result=result.raw, sdk_error=page.cause)
            error = errors.OutputValidationError(source="type", violations=(page.violation,), **about)
            return Decision("raise", error), None
        if page.cursor is not None and self._reader.mark(page.cursor) in self._sent:
            violations = (self._reader.repeated(page),)
            self._then = errors.OutputValidationError(
                source="type", violations=violations, **call.context(result=result.raw)
            )
            # the page itself is good: its items are handed out first
            return (Decision("report", self._then) if decision.error is None else decision), page
        return decision, page


def _is_spent(exc: Exception) -> bool:
    """Whether the ambient budget is spent: before a call, or while one was under way."""
    if isinstance(exc, errors.BudgetExhaustedError):
        return exc.limit != "repeat"  # then it is this call that is refused
    budget = Budget.current()
    return isinstance(exc, errors.ToolTimeoutError) and budget is not None and budget.lacks() == "seconds"


@final
class _Seen:
    """What was there before: the last 100,000 of it."""

    def __init__(self) -> None:
        self._marks: OrderedDict[Hashable, None] = OrderedDict()

    def __contains__(self, mark: Hashable) -> bool:
        return mark in self._marks

    def add(self, mark: Hashable | None) -> bool:
        """Take note of it, and say whether it was not there before. What has no mark is always new."""
        if mark is None:
            return True
        if mark in self._marks:
            return False
        self._marks[mark] = None
        if len(self._marks) > _KEPT:
            self._marks.popitem(last=False)
        return True
