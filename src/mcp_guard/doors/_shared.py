"""What several doors need: guards round sessions that a framework opens, and faults told in the SDK's own result."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import Any, TypeVar, cast

from mcp_guard._install import fixed
from mcp_guard._notifications import Notifications
from mcp_guard._sdk.choose import seam_of
from mcp_guard._session import GuardedSession
from mcp_guard.errors import GuardError

SessionT = TypeVar("SessionT")
Wrap = Callable[..., Any]
"""From a session, and what `guard` takes, to what stands in its place."""


def missing(package: str, extra: str) -> ImportError:
    """The sentence for a framework that is not installed."""
    return ImportError(f"this door needs {package}: pip install 'mcp-result-guard[{extra}]'", name=package)


def checked(options: dict[str, Any], *own: str) -> dict[str, Any]:
    """What `guard` is to be given, later and perhaps often: fixed now, with one `hash_key`; what is wrong is told now.

    Raises:
        TypeError: There is no such option, one is of the wrong type, or one of `own`: the door sets that itself.
        ValueError: An option has a value that is not known.
    """
    for name in own:
        if name in options:
            raise TypeError(f"{name} is set by the door itself")
    # pins are of a server: where the door sets that, they are looked at with it
    left_out = {"seam", "pins"} if "server" in own else {"seam"}
    taken = {name: fixed(value) for name, value in options.items()}
    GuardedSession(None, cast("Any", None), **{k: v for k, v in taken.items() if k not in left_out})
    if taken.get("hash_key") is None:
        taken["hash_key"] = secrets.token_bytes(32)
    return taken


def guarding(session: SessionT, *, kind: type[GuardedSession[Any]], **options: Any) -> GuardedSession[SessionT]:
    """A guard of this kind round a session."""
    return kind(session, seam_of(session, options.pop("seam", "auto")), **options)


def told(error: GuardError) -> Any:
    """An error as the SDK's own result that says `isError`, in words for the model."""
    said = {"content": [{"type": "text", "text": error.for_model()}], "isError": True}
    return import_module("mcp.types").CallToolResult.model_validate(said)


class TellingSession(GuardedSession[SessionT]):
    """A guarded session whose `call_tool` gives a result that says `isError` in place of a `GuardError`.

    That is what frameworks have a way for to tell the model. Its text is that of `for_model()`.
    """

    async def call_tool(self, name: str, *args: Any, **options: Any) -> Any:
        """The target's `call_tool`; where the guard has something against it, a result that says so."""
        try:
            return await super().call_tool(name, *args, **options)
        except GuardError as error:
            return told(error)


class GuardedTransport:
    """In the place of a transport of FastMCP's: each session that it opens is guarded; all else is its own."""

    def __init__(self, transport: Any, wrap: Wrap, options: dict[str, Any]) -> None:
        mine = {"_inner": transport, "_wrap": wrap, "_options": options, "_changes": Notifications()}
        for name, value in mine.items():
            object.__setattr__(self, name, value)

    @asynccontextmanager
    async def connect_session(self, **options: Any) -> AsyncGenerator[Any]:
        """Open a session, and guard it. The client's own timeout is the guard's, where that was given none."""
        theirs = options.get("message_handler")

        async def heard(message: Any) -> None:
            # one for all connections: a session that is kept alive tells the handler that it was made with
            await self._changes(message)
            if theirs is not None:
                await theirs(message)

        timeout = options.get("read_timeout_seconds")
        guards = {"timeout": 60.0 if timeout is None else timeout, **self._options, "notifications": self._changes}
        opening: AbstractAsyncContextManager[Any] = self._inner.connect_session(**{**options, "message_handler": heard})
        async with opening as session:
            yield self._wrap(session, **guards)

    @property  # type: ignore[misc]  # an object's own can be set, and this one not
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  # the same
        """FastMCP asks what kind of transport it has."""
        return self._inner.__class__

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":  # not made yet, or being copied
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, value)

    def __repr__(self) -> str:
        return f"<guarded {self._inner!r}>"
