"""`connect`: opens transport and session itself, with a tap on the wire, and puts a guard round them."""

from __future__ import annotations

import difflib
import logging
import os
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, final

import anyio
import anyio.abc

from mcp_guard._log import logger
from mcp_guard._notifications import Notifications
from mcp_guard._opening import Way, way_to
from mcp_guard._readers import Reader
from mcp_guard._remote import RemoteRefs
from mcp_guard._retry import Retry
from mcp_guard._sdk import SeamName
from mcp_guard._sdk.choose import sdk
from mcp_guard._session import GuardedSession
from mcp_guard._tapped import TappedSeam
from mcp_guard._wire import Reading, Tap, Writing
from mcp_guard.contracts import Contracts
from mcp_guard.policy import ENFORCE, Policy
from mcp_guard.records import Hook


def connect(
    to: Any,
    /,
    *,
    client_options: Mapping[str, Any] | None = None,
    policy: Policy = ENFORCE,
    overrides: Mapping[str, Policy] | None = None,
    safe: Iterable[str] = (),
    contracts: Contracts | None = None,
    pins: str | os.PathLike[str] | Contracts | None = None,
    hooks: Iterable[Hook] = (),
    timeout: float | None = 60.0,
    retry: Retry | None = None,
    readers: Mapping[str, Reader] | None = None,
    remote_refs: RemoteRefs | None = None,
    notifications: Notifications | None = None,
    server: str | None = None,
    hash_key: bytes | None = None,
    seam: SeamName = "auto",
) -> AbstractAsyncContextManager[GuardedSession[Any]]:
    """Connect to a server, and guard the session: its handshake is done, and all is closed at the end.

    Answers and listings are seen on the wire, so that what the SDK itself would refuse or drop is judged too.

    ::

        async with connect("http://127.0.0.1:8000/mcp") as tools:
            stock = await tools.call("get_stock", {"sku": "A-1"})

    Args:
        to: A URL (streamable HTTP), `StdioServerParameters`, a server object of this process, or a transport of the
            SDK's.
        client_options: Keywords for the SDK's own client (callbacks, `message_handler`; on 2.x `mode`, `log_level`)
            and for its transport (for a URL `headers`, `auth`, `timeout` or `http_client`; for a command `errlog`).
        policy: As in `guard`, and so are all that follow. `notifications` is made here where none is given.
        overrides: See `guard`.
        safe: See `guard`.
        contracts: See `guard`.
        pins: See `guard`.
        hooks: See `guard`.
        timeout: See `guard`.
        retry: See `guard`.
        readers: See `guard`.
        remote_refs: See `guard`.
        notifications: See `guard`.
        server: See `guard`.
        hash_key: See `guard`.
        seam: See `guard`.

    Returns:
        An async context manager that gives the `GuardedSession`. Its `target` is a `Client` on mcp 2.x, and a
        `ClientSession` on 1.x. Where there is no connection to be had, it raises what the SDK raises.

    Raises:
        TypeError: This can't be connected to, or a keyword in `client_options` is unknown. Nothing was opened.
        ValueError: A text is no URL.
    """
    module = sdk()
    way = way_to(to, with_lines=module.drops_members)
    given = _known(client_options, way.options | module.SESSION_OPTIONS)
    handler = given.pop("message_handler", None)
    if notifications is None:
        notifications = Notifications(handler)
    elif handler is not None:
        raise TypeError("a message_handler beside notifications is given to those: Notifications(handler)")
    session = {k: v for k, v in given.items() if k not in way.options} | {"message_handler": notifications}
    guards: dict[str, Any] = {
        "policy": policy,
        "overrides": overrides,
        "safe": safe,
        "contracts": contracts,
        "pins": pins,
        "hooks": hooks,
        "timeout": timeout,
        "retry": retry,
        "readers": readers,
        "remote_refs": remote_refs,
        "notifications": notifications,
        "server": server,
        "hash_key": hash_key,
    }
    opening = way.open({k: v for k, v in given.items() if k in way.options})
    return _connected(_Transport(opening), way, module, session, seam, guards)


def _known(options: Mapping[str, Any] | None, known: frozenset[str]) -> dict[str, Any]:
    if not isinstance(options, (Mapping, type(None))):
        raise TypeError(f"client_options takes a dict of keywords, not {type(options).__name__}")
    given = dict(options or {})
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, 1)
            hint = f"; do you mean {near[0]!r}?" if near else f"; there are: {', '.join(sorted(known))}"
            raise TypeError(f"neither client nor transport of this SDK takes {name!r} here{hint}")
    return given


@asynccontextmanager
async def _connected(
    transport: _Transport, way: Way, module: Any, session: dict[str, Any], seam: SeamName, guards: dict[str, Any]
) -> AsyncGenerator[GuardedSession[Any]]:
    error: Exception | None = None
    of_body: Exception | None = None
    entered = False
    async with anyio.create_task_group() as tasks:
        try:
            read, write = await tasks.start(transport.hold)
            policy = guards["policy"]
            tap = Tap(module, policy.limits, way.lines)
            target = module.new_target(Reading(tap, read), Writing(tap, write), session)
            tapped = TappedSeam(module.seam_of(target, seam), tap)
            tap.protocol = lambda: tapped.protocol
            async with GuardedSession(target, tapped, **guards) as guarded:
                await module.shake_hands(target)
                entered = True
                try:
                    yield guarded
                except Exception as exc:  # noqa: BLE001  # raised below: the task groups around would wrap it
                    of_body = exc
        except Exception as exc:  # noqa: BLE001  # the same
            error = exc
        finally:
            transport.release()
    if of_body is not None:
        raise of_body
    if error is not None:
        raise _alone(error if entered or transport.failure is None else transport.failure)


@final
class _Transport:
    """Holds a transport open in a task of its own.

    A transport that fails cancels the task that opened it. That is not to be the caller's: its calls end with an error
    each, as the transport closes its streams.
    """

    def __init__(self, opening: AbstractAsyncContextManager[Any]) -> None:
        self._opening = opening
        self._done = anyio.Event()
        self.failure: Exception | None = None

    async def hold(self, *, task_status: anyio.abc.TaskStatus[tuple[Any, Any]]) -> None:
        """Open it, say so, and close it when it is released."""
        is_open = False
        try:
            async with self._opening as (read, write, *_):
                is_open = True
                task_status.started((read, write))
                await self._done.wait()
        except Exception as exc:
            if not is_open:
                raise
            self.failure = exc
            logger.log(logging.WARNING, "the connection ended with %s", type(_alone(exc)).__name__)

    def release(self) -> None:
        """Let it be closed."""
        self._done.set()


def _alone(error: Exception) -> Exception:
    """The one exception in a group of one."""
    # told by name: 3.10 has no such class of its own
    inside: Sequence[Exception] = getattr(error, "exceptions", ()) if type(error).__name__ == "ExceptionGroup" else ()
    return _alone(inside[0]) if len(inside) == 1 else error
