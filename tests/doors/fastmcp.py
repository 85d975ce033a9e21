"""FastMCP's client, with a `FaultyServer` at the other end."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import mcp

from doors import ARGUMENTS, Seen, patience, raised
from mcp_guard.testing import FaultyServer
from support import RawServer, raw_transport

NAME: Final = "FastMCP"
LINE: Final = "client = guarded(Client(url))"
NOTE: Final = (
    "FastMCP's client shows nothing to a model: the table says what a program gets. An `isError` stays what it is in "
    "FastMCP, a `ToolError` or with `raise_on_error=False` a result; `policy=ENFORCE` makes it a `ToolExecutionError`."
)
TESTS: Final = "test_door_fastmcp.py"
VERSIONS: Final = (
    ("fastmcp==4.2.3",),
    ("fastmcp==4.1.7",),
    ("fastmcp==4.0.11",),
    ("fastmcp==3.4.11", "mcp<2"),
    ("fastmcp==3.2.4", "mcp<2"),
    ("fastmcp==3.0.2", "mcp<2"),
)


def transport(server: Any) -> Any:
    """A transport of FastMCP's to a server with a `transport()` in memory."""
    base: Any = importlib.import_module("fastmcp.client.transports.base")
    session_class = getattr(base, "VersionAwareClientSession", mcp.ClientSession)

    class InMemory(base.ClientTransport):  # type: ignore[misc]  # what it is made of is Any
        @asynccontextmanager
        async def connect_session(self, *, transport_options: Any = None, **options: Any) -> AsyncGenerator[Any]:
            chosen = getattr(transport_options, "session_class", session_class)
            async with server.transport() as streams, chosen(*streams, **options) as session:
                yield session

    return InMemory()


class Raw:
    """A raw server for `transport`: one for each connection."""

    def __init__(self, **described: Any) -> None:
        self._described = described
        self.peers: list[RawServer] = []

    @asynccontextmanager
    async def transport(self) -> AsyncGenerator[Any]:
        """A connection in memory."""
        self.peers.append(RawServer(**self._described))
        async with raw_transport(self.peers[-1]) as streams:
            yield streams


def client(server: FaultyServer, **options: Any) -> Any:
    """A client that is not connected yet."""
    fastmcp: Any = importlib.import_module("fastmcp")
    return fastmcp.Client(transport(server), **options)


async def alone(server: FaultyServer) -> Seen:
    """What FastMCP does."""
    return await _called(server, lambda made: made)


async def guarded(server: FaultyServer) -> Seen:
    """What it does with the line added."""
    return await _called(server, importlib.import_module("mcp_guard.doors.fastmcp").guarded)


async def _called(server: FaultyServer, door: Callable[[Any], Any]) -> Seen:
    try:
        async with door(client(server, timeout=patience(server))) as connected:
            result = await connected.call_tool("get_stock", ARGUMENTS)
    except Exception as error:  # noqa: BLE001  # what it raises is what is to be told
        return Seen(server.runs["get_stock"], raised=raised(error))
    return Seen(server.runs["get_stock"], data=result.structured_content)
