"""Takes the SDK's own output check over, on one session object, while guarded calls are under way on it.

Keyed by task and tool name, not by context variable: a callback of the same call that calls another tool unguarded, in
a task of its own, is still checked by the SDK.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import anyio

Check = Callable[[str, Any], Awaitable[None]]


class Hook:
    """Stands in place of the check, and lets the results of guarded calls pass."""

    def __init__(self, session: Any, method: str) -> None:
        self._session = session
        self._method = method
        self._own: Check | None = vars(session).get(method)
        self._check: Check = getattr(session, method)
        self._active: dict[tuple[int, str], list[bool]] = {}

    async def __call__(self, name: str, result: Any) -> None:
        """The SDK asks whether a result keeps its schema."""
        seen = self._active.get((anyio.get_current_task().id, name))
        if seen is None:
            await self._check(name, result)
        else:
            seen[0] = True

    @contextmanager
    def passing(self, name: str) -> Iterator[list[bool]]:
        """While this is open, results of this tool in this task pass; its one element tells whether the SDK asked."""
        key = (anyio.get_current_task().id, name)
        outer = self._active.get(key)
        seen = self._active[key] = [False]
        setattr(self._session, self._method, self)
        try:
            yield seen
        finally:
            if outer is None:
                del self._active[key]
            else:
                self._active[key] = outer
            if not self._active:
                self._release()

    def _release(self) -> None:
        _HOOKS.pop(id(self._session), None)
        if vars(self._session).get(self._method) is not self:
            return  # somebody put something of their own over it
        if self._own is None:
            delattr(self._session, self._method)
        else:
            setattr(self._session, self._method, self._own)


_HOOKS: Final[dict[int, Hook]] = {}  # while calls are under way, so no session is kept alive


def hook_of(session: Any, method: str) -> Hook:
    """The hook of a session: one, however many guards there are."""
    if (hook := _HOOKS.get(id(session))) is None:
        hook = _HOOKS[id(session)] = Hook(session, method)
    return hook
