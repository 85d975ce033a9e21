"""`Watch`: has the server tell when its tools change, where it offers that (`subscriptions/listen`, 2026-07-28).

The stream is the SDK's and is driven by the session's own tasks; here is no task, only a look at what came whenever a
tool is about to be called. A stream has to be ended by whoever opened it, so there is one only inside a scope of ours:
`async with guard(...)` and `connect(...)`. A bare `guard(session)` has no end, and so opens none.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, final

import anyio

from mcp_guard._log import Voice
from mcp_guard._sdk import Seam

_ANSWER_SECONDS: Final = 5.0
"""How long a server that offers to tell may take to say that it will."""
_AGAIN_SECONDS: Final = 30.0
"""The least time between two tries to have it tell."""


@final
class Watch:
    """One session's subscription to changes of its tools, while a scope is open."""

    def __init__(self, seam: Seam, voice: Voice, clock: Callable[[], float]) -> None:
        self._seam = seam
        self._voice = voice
        self._clock = clock
        self._lock = anyio.Lock()
        self._open = False
        self._tried: float | None = None
        self._stream: AbstractAsyncContextManager[Any] | None = None
        self._events: AsyncIterator[object] | None = None
        self.changes: int = 0
        """How often the tools changed, or may have: a stream that was lost, or was not there for a while, counts."""

    @property
    def is_open(self) -> bool:
        """Whether there may be something to hear."""
        return self._open

    def begin(self) -> None:
        """Open the scope. Nothing is sent before a tool is called."""
        self._open, self._tried = True, None

    async def end(self) -> None:
        """Close the scope, and with it the stream."""
        self._open = False
        await self._close()

    async def look(self) -> None:
        """Take note of what the server told until now; open the stream where there should be one."""
        if not self._open:
            return
        async with self._lock:
            if self._events is not None:
                await self._heard(self._events)
            if self._events is None and self._may_try():
                await self._subscribe()

    def _may_try(self) -> bool:
        return self._open and (self._tried is None or self._clock() - self._tried >= _AGAIN_SECONDS)

    async def _heard(self, events: AsyncIterator[object]) -> None:
        ended = False
        try:
            with anyio.move_on_after(0):  # what is there already comes without waiting
                async for _ in events:
                    self.changes += 1
                ended = True
        except Exception:  # noqa: BLE001  # however a stream is lost
            ended = True
        if ended:
            self.changes += 1
            await self._close()

    async def _subscribe(self) -> None:
        is_first, self._tried = self._tried is None, self._clock()
        stream = self._seam.listening()
        if stream is None:
            self._open = False
            return
        what = "no answer"
        try:
            with anyio.move_on_after(_ANSWER_SECONDS):
                self._events = await stream.__aenter__()
                self._stream = stream
                if not is_first:
                    self.changes += 1  # of what changed while there was no stream, nobody told
                return
        except Exception as exc:  # noqa: BLE001  # a server that can't do it has its listing read as any other
            self._open, what = False, type(exc).__name__
        text = f"the server offers to tell when its tools change, and does not ({what})"
        self._voice.say(logging.INFO, ("listen",), text)

    async def _close(self) -> None:
        stream, self._stream, self._events = self._stream, None, None
        if stream is not None:
            await stream.__aexit__(None, None, None)
