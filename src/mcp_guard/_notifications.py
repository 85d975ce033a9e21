"""`Notifications`: the message handler that tells a guard when the server says that its tools changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, final

import anyio.lowlevel

_LIST_CHANGED: Final = "notifications/tools/list_changed"


@final
class Notifications:
    """A message handler made before the session, and given to both.

    ::

        changes = Notifications()
        async with ClientSession(read, write, message_handler=changes) as session:
            tools = guard(session, notifications=changes)

    Every message goes on to `chain`, the handler that you would have given otherwise. Nothing is requested in it: the
    tools are listed again when one of them is called next.
    """

    def __init__(self, chain: Callable[[Any], Awaitable[object]] | None = None) -> None:
        if chain is not None and not callable(chain):
            raise TypeError("Notifications(chain) takes a message handler: an async function of one message")
        self._chain = chain
        self.changes: int = 0
        """How often the server said that its tools changed."""

    async def __call__(self, message: Any) -> None:
        """Take one message of the session's: a notification of either SDK major, a request, or an exception."""
        notification = getattr(message, "root", message)  # wrapped on 1.x
        if getattr(notification, "method", None) == _LIST_CHANGED:
            self.changes += 1
        if self._chain is None:
            await anyio.lowlevel.checkpoint()
        else:
            await self._chain(message)
