"""`TappedSeam`: a seam that takes from the wire what the SDK could not parse, or did not take."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, final

from mcp_guard._facts import is_array, is_object
from mcp_guard._sdk import Answer, Fault, Gate, Page, Seam, Unparsable
from mcp_guard._wire import CALL, LIST, Tap


@final
class TappedSeam:
    """A seam, and the tap in front of its session. What it does not say itself is as the seam says."""

    def __init__(self, seam: Seam, tap: Tap) -> None:
        self._seam = seam
        self._tap = tap
        self.call_tool: Callable[..., Awaitable[Any]] = seam.call_tool

    @property
    def protocol(self) -> str:
        """The negotiated protocol version."""
        return self._seam.protocol

    @property
    def server(self) -> str | None:
        """What the server calls itself."""
        return self._seam.server

    @property
    def resends_header_mismatch(self) -> bool:
        """Whether the target itself lists again and resends after -32020."""
        return self._seam.resends_header_mismatch

    async def call(
        self, name: str, arguments: dict[str, Any] | None, options: Mapping[str, Any], gate: Gate
    ) -> Answer | Fault:
        """Send one `tools/call`. Where the SDK can't hold the answer, it is given as it was sent."""
        handled = sys.exc_info()[1]
        with self._tap.hearing(CALL, name) as heard:
            try:
                return await self._seam.call(name, arguments, options, gate)
            except Exception as exc:
                if heard.instead is not None:
                    return heard.instead
                if heard.result is not None and isinstance(self._seam.fault(exc, handled), Unparsable):
                    return Answer(heard.result, heard.result)
                raise

    async def page(self, cursor: str | None) -> Page | Fault:
        """Read one page of `tools/list`: through the SDK, and as it was sent."""
        with self._tap.hearing(LIST) as heard:
            try:
                page = await self._seam.page(cursor)
            except Exception:
                if heard.instead is None:
                    raise
                return Unparsable(("unparsable",)) if isinstance(heard.instead, Answer) else heard.instead
        if not isinstance(page, Page) or heard.result is None or not is_array(heard.result.get("tools")):
            return page
        # what the SDK itself left out (invalid x-mcp-header, specification 2026-07-28) stays out
        left_out = {*map(_name, heard.shown["tools"])} - {*map(_name, page.entries)}
        entries = [entry for entry in heard.result["tools"] if _name(entry) not in left_out]
        return Page(entries, page.next_cursor, page.ttl)

    def listening(self) -> AbstractAsyncContextManager[AsyncIterator[object]] | None:
        """A stream of an event each time that the tools change."""
        return self._seam.listening()

    def fault(self, exc: Exception, handled: BaseException | None) -> Fault | None:
        """What this exception of the SDK means."""
        return self._seam.fault(exc, handled)

    def to_sdk(self, answer: Any) -> Any:
        """The answer as the SDK's own result.

        Raises:
            ValueError: The SDK's model can't hold it.
        """
        return self._seam.to_sdk(answer)

    def filled(self, result: Any, value: Any, meta: dict[str, Any]) -> Any:
        """A copy of a result in which `value` is the structured content.

        Raises:
            ValueError: The SDK's model can't hold it.
        """
        return self._seam.filled(result, value, meta)


def _name(entry: object) -> str | None:
    name = entry.get("name") if is_object(entry) else getattr(entry, "name", None)
    return name if isinstance(name, str) else None
