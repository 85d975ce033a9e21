"""Takes the SDK's own output check over, on one session object, while guarded calls are under way on it.

Keyed by task and tool name, not by context variable: a callback of the same call that calls another tool unguarded, in
a task of its own, is still checked by the SDK.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import anyio


@dataclass(slots=True)
class Seen:
    """What was seen of one guarded call: whether the SDK asked for its check; the last answer, as sent and parsed."""

    checked: bool = False
    body: Any = None
    parsed: Any = None


class Hook:
    """Stands in place of a session's output check, and of its `send_request` where the answers are to be seen."""

    def __init__(self, session: Any, check: str, send: str | None = None) -> None:
        self._session = session
        self._check: Callable[[str, Any], Awaitable[None]] = getattr(session, check)
        self._send: Callable[..., Awaitable[Any]] | None = None if send is None else getattr(session, send)
        self._active: dict[tuple[int, str], Seen] = {}
        mine: dict[str, Any] = {check: self._on_check, **({} if send is None else {send: self._on_send})}
        # what the session itself had there, and gets back
        self._own = {method: _attributes(session).get(method) for method in mine}
        for method, replacement in mine.items():
            setattr(session, method, replacement)

    async def _on_check(self, name: str, result: Any) -> None:
        seen = self._active.get((anyio.get_current_task().id, name))
        if seen is None:
            await self._check(name, result)
        else:
            seen.checked = True

    async def _on_send(self, request: Any, result_type: Any, *args: Any, **kwargs: Any) -> Any:
        name = getattr(getattr(request, "params", None), "name", None)
        seen = self._active.get((anyio.get_current_task().id, name)) if isinstance(name, str) else None
        if seen is not None and request.method == "tools/call":
            result_type = _Seeing(result_type, seen)
        return await self._send(request, result_type, *args, **kwargs)  # type: ignore[misc]  # there where it is called

    @contextmanager
    def passing(self, name: str) -> Generator[Seen]:
        """While this is open, results of this tool in this task pass."""
        key = (anyio.get_current_task().id, name)
        outer = self._active.get(key)
        seen = self._active[key] = Seen()
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
        del _HOOKS[id(self._session)]
        for method, own in self._own.items():
            if getattr(_attributes(self._session).get(method), "__self__", None) is not self:
                continue  # somebody put something of their own over it
            if own is None:
                delattr(self._session, method)
            else:
                setattr(self._session, method, own)


class _Seeing:
    """A result type that notes the answer before it is parsed: in the place of a model class or a `TypeAdapter`."""

    def __init__(self, result_type: Any, seen: Seen) -> None:
        self._result_type = result_type
        self._seen = seen

    def model_validate(self, body: Any, **options: Any) -> Any:
        parse = getattr(self._result_type, "validate_python", None) or self._result_type.model_validate
        parsed = parse(body, **options)
        self._seen.body, self._seen.parsed = body, parsed
        return parsed


def _attributes(session: object) -> dict[str, Any]:
    return session.__dict__


_HOOKS: Final[dict[int, Hook]] = {}  # only while calls are under way, so no session is kept alive


def hook_of(session: Any, check: str, send: str | None = None) -> Hook:
    """The hook of a session: one, however many guards there are. Call `passing` on it at once."""
    if (hook := _HOOKS.get(id(session))) is None:
        hook = _HOOKS[id(session)] = Hook(session, check, send)
    return hook
