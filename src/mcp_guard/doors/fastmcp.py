"""The door to FastMCP: a `fastmcp.Client` whose tool calls are guarded. FastMCP 4 is on mcp 2.x, FastMCP 3 on mcp 1.x.

::

    async with guarded(Client("http://127.0.0.1:8000/mcp")) as client:
        stock = (await client.call_tool("get_stock", {"sku": "A-1"})).data
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any, TypeVar

from mcp_guard._contract import Contract
from mcp_guard._facts import is_object
from mcp_guard._session import GuardedSession
from mcp_guard.contracts import Contracts
from mcp_guard.doors._shared import GuardedTransport, checked, guarding, missing
from mcp_guard.policy import RELAY

ClientT = TypeVar("ClientT")


def guarded(client: ClientT, **options: Any) -> ClientT:
    """Guard a client of FastMCP's, in place: from then on each session that it opens is.

    `data` and `raise_on_error` go on working: the default policy is `RELAY`, by which a result that says `isError` is
    FastMCP's own business (`ToolError`, or `is_error` where `raise_on_error=False`). What else goes wrong is a
    `GuardError`, whatever `raise_on_error` says. With `ENFORCE` an `isError` is a `ToolExecutionError` too.

    A call that pins another version of a tool than the one that is listed has no contract here: ``Unchecked``.

    Args:
        client: A `fastmcp.Client` that is not connected yet, or a `ClientGroup` of such (each is guarded under its
            server's name in the group).
        **options: What `guard` takes, but `notifications`. Where `timeout` is not given it is the client's own, or else
            60 seconds.

    Returns:
        The client itself.

    Raises:
        ImportError: There is no FastMCP.
        TypeError: This is no client of FastMCP's, or an option is of the wrong type.
        ValueError: The client is connected, or guarded already; or an option has a value that is not known.
    """
    try:
        fastmcp: Any = import_module("fastmcp.client.client")
    except ImportError as error:
        raise missing("fastmcp", "fastmcp") from error
    members = getattr(client, "clients", None)
    options = checked(options, "notifications", *(() if members is None else ("server",)))
    if not isinstance(client, fastmcp.Client) and members is None:
        raise TypeError(f"client takes a fastmcp.Client or a ClientGroup of them, not {type(client).__name__}")
    if members is not None:
        named = [(member, checked({**options, "server": name})) for name, member in members.items()]
        for member, its in named:
            guarded(member, **its)
        return client
    one: Any = client
    if isinstance(one.transport, GuardedTransport):
        raise ValueError("client is guarded already")  # noqa: TRY004  # its type is right
    if one.is_connected():
        raise ValueError("client is connected; guard it before: async with guarded(client)")
    wrap = functools.partial(guarding, kind=_Session)
    one.transport = GuardedTransport(one.transport, wrap, {"policy": RELAY, **options})
    return client


class _Session(GuardedSession[Any]):
    """Knows that a call may be pinned to one version of a tool, and that the listing tells of the highest alone."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._other = GuardedSession(*args, **{**options, "contracts": Contracts()})
        """For versions that are not listed: their contracts can't be known."""

    async def call_tool(self, name: str, *args: Any, **options: Any) -> Any:
        """The target's `call_tool`."""
        pinned = _version(options.get("meta"))
        if pinned is not None and pinned != await self._listed(name):
            self._other.contracts.register(Contract(name), server=self._server)
            return await self._other.call_tool(name, *args, **options)
        return await super().call_tool(name, *args, **options)

    async def _listed(self, name: str) -> str | None:
        contract = self.contracts.get(name, server=self._server)
        if contract is None:
            await self.refresh()
            contract = self.contracts.get(name, server=self._server)
        return None if contract is None else _version(contract.definition.get("_meta"))

    @property
    def _server(self) -> str:
        return self._judge.server


def _version(meta: Any) -> str | None:
    """The version of a tool that a call, or a listing, says it is about."""
    about = meta.get("fastmcp") if is_object(meta) else None
    version = about.get("version") if is_object(about) else None
    return None if version is None else str(version)
