"""`install` and `uninstall`: guard all sessions of the process, for code that builds its sessions out of reach."""

from __future__ import annotations

import functools
import inspect
import logging
import secrets
import threading
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Final, cast, final

from mcp_guard._log import logger
from mcp_guard._sdk.choose import callers, sdk, seam_of
from mcp_guard._sdk.shape import INSTALLED_OVER
from mcp_guard._session import GuardedSession, guard
from mcp_guard.contracts import Contracts

_DEFAULTS: Final = {
    name: parameter.default for name, parameter in inspect.signature(guard).parameters.items() if name != "target"
}
_KEPT: Final = "_mcp_guard_installed"
"""The attribute of a session that its guard is kept in: a registry of ours would keep both alive for ever."""
_LOCK: Final = threading.Lock()
_off: Final[ContextVar[bool]] = ContextVar("mcp_guard.uninstalled", default=False)


def install(**same: Any) -> None:
    """Guard every session of this process, for code that builds its sessions out of reach.

    Afterwards `ClientSession.call_tool`, and on mcp 2.x `Client.call_tool`, is what `guard(...).call_tool` is: with one
    guard for each session, made when it is first called, gone with it. The SDK's own output check is taken over too.
    Calls that already go through a guard (`guard`, `attach`, `connect`) are left to that one. What is not reached: a
    subclass whose `call_tool` does not call the SDK's, a bound `call_tool` that was taken before, and calls that are
    sent with `send_request`.

    To install the same again does nothing, and a session that is open already is guarded from its next call on.

    ::

        mcp_guard.install(policy=mcp_guard.RELAY)

    Args:
        **same: What `guard` takes; it holds for all sessions. `contracts` are shared by all of them, and take the
            `server` beside them that they all are of. A `hash_key` that is not given is one for all of them.

    Raises:
        TypeError: The installed SDK is of a shape that is not known; or there is no such option, or one of the wrong
            type. Nothing is changed then.
        ValueError: An option has a value that is not known; or other options are installed already, or `contracts` have
            no `server`; or, as in `guard`, about `pins`.
        OSError: The lock file of `pins` can't be read.
    """
    with _LOCK:
        wanted = {**_DEFAULTS, **{name: fixed(value) for name, value in same.items()}}
        present = _INSTALLED[-1] if _INSTALLED else None
        if present is not None and (other := sorted(_differing(wanted, present.wanted))):
            _Installation(wanted)  # a name that is misspelt is no other option
            raise ValueError(f"mcp_guard is installed already, with another {', '.join(other)}; uninstall() it first")
        if present is not None and not present.lost():
            return
        installation = _Installation(wanted)
        _take_off()
        installation.put_on()
        _INSTALLED.append(installation)


def uninstall() -> None:
    """Undo `install`: the SDK's classes have their own `call_tool` back. Where nothing is installed, nothing is done.

    Guarded calls that are under way end as such. Where somebody has put something over what was installed, that stays,
    and what was installed passes all calls on as they are.
    """
    with _LOCK:
        for kind in _take_off():
            text = "%s.call_tool is not what install() put there: it is left as it is, and calls go unguarded"
            logger.log(logging.WARNING, text, kind.__name__)


def uninstalled() -> AbstractContextManager[None]:
    """Inside this `with` block, and in the tasks that are started in it, it is as if nothing were installed.

    Guards of one's own (`guard`, `attach`, `connect`) are so as ever.
    """
    return _uninstalled()


@contextmanager
def _uninstalled() -> Generator[None]:
    before = _off.get()
    _off.set(True)
    try:
        yield
    finally:
        _off.set(before)  # and no `reset`: an async generator may be closed in another context than it began in


@final
class _Installation:
    """What one `install` put on the SDK's classes."""

    def __init__(self, wanted: dict[str, Any]) -> None:
        self.wanted = wanted
        self._options = {name: value for name, value in wanted.items() if name != "seam"}
        GuardedSession(None, cast("Any", None), **self._options)  # what is wrong is told now
        self._seam = wanted["seam"]
        self._kinds = callers(self._seam)
        self._sdk = sdk()
        if wanted["contracts"] is not None and wanted["server"] is None:
            raise ValueError("contracts are shared by all sessions here: name the one server that they are of, server=")
        if wanted["pins"] is not None and not isinstance(wanted["pins"], Contracts):
            self._options["pins"] = Contracts.load(wanted["pins"], limits=wanted["policy"].limits)
        if wanted["hash_key"] is None:
            self._options["hash_key"] = secrets.token_bytes(32)
        self._is_on = True
        self._put: list[tuple[type, Any, Any]] = []

    def put_on(self) -> None:
        """Put it on the classes."""
        for kind in self._kinds:
            own = vars(kind)["call_tool"]
            mine = self._guarded(own)
            self._put.append((kind, own, mine))
            cast("Any", kind).call_tool = mine

    def take_off(self) -> list[type]:
        """Give the classes back what they had. Gives those where it is not ours to do."""
        self._is_on, lost = False, self.lost()
        for kind, own, _ in self._put:
            if kind not in lost:
                cast("Any", kind).call_tool = own
        return lost

    def lost(self) -> list[type]:
        """The classes on which somebody has put something over it, or taken it away."""
        return [kind for kind, _, mine in self._put if vars(kind).get("call_tool") is not mine]

    def _guarded(self, own: Any) -> Any:
        @functools.wraps(own)
        async def call_tool(target: Any, /, name: str, *args: Any, **options: Any) -> Any:
            if not self._is_on or _off.get() or self._sdk.is_under_way(target, name):
                return await own.__get__(target)(name, *args, **options)
            return await self._guard(target, own).call_tool(name, *args, **options)

        setattr(call_tool, INSTALLED_OVER, (call_tool, own))  # with itself, as functools.wraps copies it
        return call_tool

    def _guard(self, target: object, own: Any) -> GuardedSession[Any]:
        """The guard of a session, made when it is first asked for."""
        attributes = vars(target)
        kept: tuple[_Installation, GuardedSession[Any]] | None = attributes.get(_KEPT)
        if kept is not None and kept[0] is self and kept[1].target is target:  # and no copy of another
            return kept[1]
        made = GuardedSession(target, seam_of(target, self._seam, own), **self._options)
        attributes[_KEPT] = (self, made)
        return made


_INSTALLED: Final[list[_Installation]] = []
"""What is installed: nothing, or one."""


def _take_off() -> list[type]:
    """Take off what is installed. Gives the classes where it is not ours to do."""
    return _INSTALLED.pop().take_off() if _INSTALLED else []


def fixed(value: Any) -> Any:
    """An option's value, for many sessions: what can be gone through once, or could change, is taken now."""
    if isinstance(value, dict):
        return dict(cast("dict[str, Any]", value))
    if isinstance(value, list) or hasattr(value, "__next__"):
        return tuple(cast("list[Any]", value))
    return value


def _differing(wanted: dict[str, Any], present: dict[str, Any]) -> set[str]:
    return {name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name)}
