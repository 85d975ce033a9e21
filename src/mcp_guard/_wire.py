"""`Tap`: stands between transport and session, and sees every frame as it was sent.

It keeps the answers to guarded calls and to tool listings as they were sent. Two things it does not hand on as they
came, and nothing else is changed, held back, or put in another order:

* an answer to one of these that the SDK can't parse: the SDK would drop it, and the caller wait for the timeout. The
  session is given a JSON-RPC error in its place, or the listing as far as the SDK takes it;
* a listing in which there is something that makes the SDK refuse the whole page: it is given without that.

It has no task and no stream of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Final, final

import anyio
from typing_extensions import Self

from mcp_guard import _bounds
from mcp_guard._facts import is_array, is_object
from mcp_guard._frames import Unread, frames_in, request_id, understood, with_both
from mcp_guard._lines import Lines
from mcp_guard._result import LEGACY
from mcp_guard._sdk import Answer, Fault, Unparsable
from mcp_guard.policy import Limits

CALL: Final = "tools/call"
LIST: Final = "tools/list"
_PARSE_ERROR: Final = -32700
_PENDING: Final = 10_000
"""How many requests may be under way, as far as the tap remembers: 1.x never says that one was given up."""
_LOST_BY_HTTP: Final = ("Failed to parse JSON response", "Failed to parse SSE message")
"""How the SDK's transport for HTTP begins the error that it puts in place of an answer that it could not parse."""
_PAGE_DEFAULTS: Final = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""For a page that lacks what 2026-07-28 asks for: what the specification takes it for, or the careful value."""


@final
@dataclass(slots=True)
class Heard:
    """What was heard on the wire of one request, all its rounds: of the last answer, what is known of it."""

    method: str
    ids: list[int] = field(default_factory=list[int])
    result: Any = None
    """As it was sent, where the SDK could parse it."""
    shown: Any = None
    """A listing as the session was given it."""
    instead: Answer | Fault | None = None
    """What came, where the SDK could not parse it."""


@final
class Tap:
    """Sees the frames of one connection.

    `sdk`: the module for the installed major. `lines`: the text beside each frame, where the transport has lines.
    """

    def __init__(self, sdk: Any, limits: Limits, lines: Lines | None = None) -> None:
        self.protocol: Callable[[], str] = lambda: LEGACY
        """The negotiated version."""
        self._sdk = sdk
        self._limits = limits
        self._lines = lines
        self._asking: dict[tuple[int, str, str | None], Heard] = {}
        self._pending: dict[int, Heard] = {}

    @contextmanager
    def hearing(self, method: str, name: str | None = None) -> Generator[Heard]:
        """While this is open, the answers to such a request of this task are kept.

        The SDK writes a request in the task of whoever makes it. By task, since a callback of the same call may make
        requests of its own.
        """
        key = (anyio.get_current_task().id, method, name)
        outer = self._asking.get(key)
        heard = self._asking[key] = Heard(method)
        try:
            yield heard
        finally:
            if outer is None:
                del self._asking[key]
            else:
                self._asking[key] = outer
            for each in heard.ids:
                self._pending.pop(each, None)

    def sent(self, item: Any) -> None:
        """Take note of what the session sends."""
        frame = _frame(item)
        method, number = getattr(frame, "method", None), request_id(getattr(frame, "id", None))
        if method not in {CALL, LIST} or number is None:
            return
        params = getattr(frame, "params", None)
        name = params.get("name") if method == CALL and is_object(params) else None
        heard = self._asking.get((anyio.get_current_task().id, method, name))
        if heard is None:
            if method == CALL:
                return  # an unguarded call is the SDK's alone; a listing is read by all
            heard = Heard(LIST)
        heard.ids.append(number)
        heard.result = heard.instead = None
        self._pending[number] = heard
        if len(self._pending) > _PENDING:
            del self._pending[next(iter(self._pending))]

    def received(self, item: Any) -> Any:
        """What the session is to be given for what the transport gave."""
        line = "" if self._lines is None else self._lines.take()
        if not self._pending:
            return item
        if isinstance(item, Exception):
            return self._refused(item)
        frame = _frame(item)
        number = request_id(getattr(frame, "id", None))
        if number not in self._pending or getattr(frame, "method", None) is not None:
            return item
        if (both := with_both(frame, line)) is not None:
            return self._unparsed(number, both, None)
        heard = self._pending.pop(number)
        error = getattr(frame, "error", None)
        if error is not None:
            if error.code == _PARSE_ERROR and error.message.startswith(_LOST_BY_HTTP):
                heard.instead = Unparsable((_why(error.message),))
            return item
        heard.result = heard.shown = frame.result
        if heard.method == LIST:
            heard.shown = self._presentable(frame.result)
        return item if heard.shown is frame.result else replace(item, message=self._answer(number, heard.shown).message)

    def _answer(self, number: int, result: Any) -> Any:
        return self._sdk.to_message({"jsonrpc": "2.0", "id": number, "result": result})

    def _refused(self, exc: Exception) -> Any:
        """What the session is to be given for what its transport could not parse."""
        for frame in frames_in(exc):
            if isinstance(frame, Unread):
                number = frame.id
            elif is_object(frame) and ("method" not in frame or "result" in frame or "error" in frame):
                number = request_id(frame.get("id"))
            else:
                continue
            if number in self._pending:
                return self._unparsed(number, frame, exc)
        return exc

    def _unparsed(self, number: int, frame: dict[str, Any] | Unread, cause: Exception | None) -> Any:
        heard, came = self._pending.pop(number), understood(frame, cause)
        if heard.method == LIST and isinstance(came, Answer) and is_object(came.result):
            heard.result = page = came.result
            if is_array(page.get("tools")):
                # what the SDK's parser did not take is in one of them
                page = {**page, "tools": [t for t in page["tools"] if not _bounds.scan(t, self._limits)]}
            heard.shown = self._presentable(page)
            return self._answer(number, heard.shown)
        heard.instead = came
        error = {"code": _PARSE_ERROR, "message": "the answer could not be parsed"}
        return self._sdk.to_message({"jsonrpc": "2.0", "id": number, "error": error})

    def _presentable(self, page: Any) -> Any:
        """The page as the SDK takes it: the very same object where it takes it as it is."""
        if not is_array(page.get("tools")):
            return page
        places = self._sdk.refused(page, self.protocol())
        if not places:
            return page
        rest = self._mended({**page, "tools": []})
        if rest is None:
            return page
        # an empty place: the SDK did not say which
        bad = {place[1] for place in places if place[:1] == ("tools",)} if all(places) else None
        kept: list[Any] = []
        least = {k: v for k, v in rest.items() if k in _PAGE_DEFAULTS}  # not all of the page again for each entry
        for index, entry in enumerate(page["tools"]):
            if bad is not None and index not in bad:
                kept.append(entry)
            elif is_object(entry) and (mended := self._mended({**least, "tools": [entry]})) is not None:
                kept += mended["tools"]
        return {**rest, "tools": kept}

    def _mended(self, page: dict[str, Any]) -> dict[str, Any] | None:
        """A page of at most one entry without the members that the SDK refuses; `None` where that is no help."""
        for _ in range(4):
            places = self._sdk.refused(page, self.protocol())
            if not places:
                return page
            of_entry = {member for place in places if place[:2] == ("tools", 0) for member in place[2:3]}
            of_page = {member for place in places for member in place[:1]} - {"tools"}
            if of_entry & {"name", "inputSchema"} or not of_entry | of_page:
                return None
            entries = [{k: v for k, v in entry.items() if k not in of_entry} for entry in page["tools"]]
            page = {k: v for k, v in page.items() if k not in of_page}
            page |= {k: v for k, v in _PAGE_DEFAULTS.items() if k in of_page} | {"tools": entries}
        return None


def _frame(item: Any) -> Any:
    """The JSON-RPC message in what a stream carries, on either major."""
    message = getattr(item, "message", None)
    return getattr(message, "root", message)


def _why(message: str) -> str:
    """What the SDK's parser did not like, out of what it says."""
    if "recursion limit" in message:
        return "too_deep"
    return "surrogate" if "surrogate" in message else "unparsable"


class _Tapped:
    """A stream of a transport's, as it is, with a tap on it."""

    def __init__(self, tap: Tap, stream: Any) -> None:
        self._tap = tap
        self._stream = stream

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        left: bool | None = await self._stream.__aexit__(kind, error, trace)
        return left

    def __getattr__(self, name: str) -> Any:
        if name == "_stream":
            raise AttributeError(name)
        return getattr(self._stream, name)


@final
class Reading(_Tapped):
    """The stream that the session reads."""

    async def receive(self) -> Any:
        """The next item."""
        return self._tap.received(await self._stream.receive())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return self._tap.received(await self._stream.__anext__())


@final
class Writing(_Tapped):
    """The stream that the session writes."""

    async def send(self, item: Any) -> None:
        """Send an item."""
        self._tap.sent(item)
        await self._stream.send(item)
