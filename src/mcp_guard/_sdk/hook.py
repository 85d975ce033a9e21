"""Takes over, on one session object, how it sends and checks, while guarded calls are under way on it.

Keyed by task and tool name, not by context variable: a callback of the same call that calls another tool unguarded, in
a task of its own, is still checked by the SDK.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, final

import anyio

from mcp_guard._sdk import Gate

_SEND: Final = "send_request"
_NOT_WRITTEN: Final = (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionRefusedError)
"""What writing to a transport raises where it took nothing."""


@dataclass(slots=True)
class Seen:
    """What was seen of one guarded call: whether the SDK asked for its check; the last answer, as sent and parsed."""

    gate: Gate
    outer: Seen | None = None
    """Of a guard that this call goes through as well: there it is the same request."""
    checked: bool = False
    body: Any = None
    parsed: Any = None
    unsent: Exception | None = None
    """What the last request ended in, where it is certain that the transport was never given it."""

    def sending(self) -> None:
        """Pass the gate of the innermost guard; the others only count.

        Raises:
            Refused: It is not to be sent.
        """
        self.gate.open()
        outer = self.outer
        while outer is not None:
            outer.gate.sent += 1
            outer = outer.outer

    def heard(self, body: Any, parsed: Any) -> None:
        """Note an answer that the SDK could parse."""
        self.body, self.parsed = body, parsed
        seen: Seen | None = self
        while seen is not None:
            seen.gate.answered = True
            seen = seen.outer


class Hook:
    """Stands in place of a session's `send_request` and, where it has one, of its output check."""

    def __init__(self, session: Any, check: str) -> None:
        self._session = session
        self._check: Callable[[str, Any], Awaitable[None]] | None = getattr(session, check, None)
        self._send: Callable[..., Awaitable[Any]] = getattr(session, _SEND)
        self._active: dict[tuple[int, str], Seen] = {}
        attributes = _attributes(session)
        # what the session itself had there, and gets back
        self._own = {_SEND: attributes.get(_SEND)}
        session.send_request = self._on_send
        if self._check is not None:
            self._own[check] = attributes.get(check)
            setattr(session, check, self._on_check)

    async def _on_check(self, name: str, result: Any) -> None:
        seen = self._active.get((_here(), name))
        if seen is None:
            await self._check(name, result)  # type: ignore[misc]  # there where it is called
        else:
            seen.checked = True

    async def _on_send(self, request: Any, result_type: Any, *args: Any, **kwargs: Any) -> Any:
        # asking a model itself for what it has not takes long
        asked = getattr(request, "__dict__", {}).get("root", request)
        name = getattr(getattr(asked, "params", None), "name", None)
        seen = self._active.get((_here(), name)) if isinstance(name, str) else None
        if seen is None or asked.method != "tools/call":
            return await self._send(request, result_type, *args, **kwargs)
        seen.sending()
        seen.unsent = None
        handled, is_closed = sys.exc_info()[1], _is_closed(self._session)
        try:
            return await self._send(request, _Seeing(result_type, seen), *args, **kwargs)
        except Exception as exc:
            cause = None if exc.__context__ is handled else exc.__context__
            if is_closed or isinstance(exc, _NOT_WRITTEN) or isinstance(cause, _NOT_WRITTEN):
                seen.unsent = exc
            raise

    def passing(self, name: str, gate: Gate) -> Passing:
        """While this is open, calls of this tool in this task pass through the gate, and their results unchecked."""
        return Passing(self, (_here(), name), gate)

    def let_pass(self, key: tuple[int, str], gate: Gate) -> Seen:
        """Begin that."""
        seen = self._active[key] = Seen(gate, self._active.get(key))
        return seen

    def end(self, key: tuple[int, str]) -> None:
        """End it."""
        outer = self._active[key].outer
        if outer is None:
            del self._active[key]
        else:
            self._active[key] = outer
        if not self._active:
            self._release()

    def passes(self, name: object) -> bool:
        """Whether calls of this tool in this task pass through a gate."""
        return isinstance(name, str) and (_here(), name) in self._active

    def _release(self) -> None:
        del _HOOKS[id(self._session)]
        attributes = _attributes(self._session)
        for method, own in self._own.items():
            if getattr(attributes.get(method), "__self__", None) is not self:
                continue  # somebody put something of their own over it
            if own is None:
                delattr(self._session, method)
            else:
                setattr(self._session, method, own)


@final
class Passing:
    """A context manager of its own: one that is made of a generator takes several times as long."""

    __slots__ = ("_gate", "_hook", "_key")

    def __init__(self, hook: Hook, key: tuple[int, str], gate: Gate) -> None:
        self._hook, self._key, self._gate = hook, key, gate

    def __enter__(self) -> Seen:
        return self._hook.let_pass(self._key, self._gate)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hook.end(self._key)


def _here() -> int:
    """The identity of the task that is running."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # the event loop is another one
        task = None
    # anyio says the same of asyncio's tasks, but describes them first, which takes ten times as long
    return anyio.get_current_task().id if task is None else id(task)


class _Seeing:
    """A result type that notes the answer before it is parsed: in the place of a model class or a `TypeAdapter`."""

    def __init__(self, result_type: Any, seen: Seen) -> None:
        self._result_type = result_type
        self._seen = seen

    def model_validate(self, body: Any, **options: Any) -> Any:
        parse = getattr(self._result_type, "validate_python", None) or self._result_type.model_validate
        parsed = parse(body, **options)
        self._seen.heard(body, parsed)
        return parsed


def _is_closed(session: Any) -> bool:
    """Whether a 2.x session knows that its connection is gone: then it refuses a request before it writes it."""
    return getattr(getattr(session, "_dispatcher", None), "_closed", False) is True


def _attributes(session: object) -> dict[str, Any]:
    return session.__dict__


def is_passing(session: object, name: object) -> bool:
    """Whether this task is right now making a guarded call of this tool on this session."""
    hook = _HOOKS.get(id(session))
    return hook is not None and hook.passes(name)


_HOOKS: Final[dict[int, Hook]] = {}  # only while calls are under way, so no session is kept alive


def hook_of(session: Any, check: str) -> Hook:
    """The hook of a session: one, however many guards there are. Call `passing` on it at once."""
    if (hook := _HOOKS.get(id(session))) is None:
        hook = _HOOKS[id(session)] = Hook(session, check)
    return hook
