"""Sessions of the installed SDK, connected in memory to a raw server or to an ordinary one.

Here, and nowhere else in the tests' support, the two majors of the SDK are told apart.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import Any, Final, TypeAlias

import anyio
import mcp
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.shared.message import SessionMessage
from pydantic import BaseModel

from support.peer import RawServer

SDK_MAJOR: Final = int(importlib.metadata.version("mcp").partition(".")[0])


def _parser() -> Callable[[str], Any]:
    if SDK_MAJOR == 1:
        parse: Callable[[str], Any] = importlib.import_module("mcp.types").JSONRPCMessage.model_validate_json
    else:
        parse = importlib.import_module("mcp_types").jsonrpc_message_adapter.validate_json
    return parse


_parse: Final = _parser()


def _incoming(line: str) -> SessionMessage | Exception:
    """A line as the SDK's own transports hand it to the session: a message, or the exception that it cost."""
    try:
        return SessionMessage(_parse(line))
    except ValueError as error:  # pydantic.ValidationError is one
        return error


async def _lines(messages: MemoryObjectReceiveStream[SessionMessage]) -> AsyncIterator[str]:
    """The client's messages as the lines they are on a wire."""
    async for message in messages:
        yield message.message.model_dump_json(by_alias=True, exclude_unset=True)


@asynccontextmanager
async def raw_transport(server: RawServer) -> AsyncGenerator[tuple[Any, Any], None]:
    """A transport as the SDK means it, its two streams connected to this server."""
    # without bound, so that the server never waits for a session that does not read
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage](math.inf)

    async def write(line: str) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the client has left
            await to_client.send(_incoming(line))

    async with to_client, from_server, to_server, from_client, anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve, _lines(from_client), write, to_client.aclose)
        yield from_server, to_server
        tasks.cancel_scope.cancel()


class _Body:
    """Carries what the body of a `with` raised past the task groups around it, which would wrap it in a group."""

    def __init__(self) -> None:
        self._error: Exception | None = None

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        self._error = error if isinstance(error, Exception) else None
        return self._error is not None

    def reraise(self) -> None:
        """Raise what the body raised, where it did."""
        if self._error is not None:
            raise self._error


@asynccontextmanager
async def raw_session(
    *, session_options: Mapping[str, Any] | None = None, **described: Any
) -> AsyncGenerator[tuple[Any, RawServer], None]:
    """A `ClientSession`, its handshake done, and the `RawServer(**described)` behind it."""
    server, body = RawServer(**described), _Body()
    session_class: Any = mcp.ClientSession
    async with raw_transport(server) as streams, session_class(*streams, **session_options or {}) as session:
        await (session.discover() if server.modern else session.initialize())
        with body:
            yield session, server
    body.reraise()


@asynccontextmanager
async def raw_client(
    *, client_options: Mapping[str, Any] | None = None, **described: Any
) -> AsyncGenerator[tuple[Any, RawServer], None]:
    """Only on mcp 2.x: a `Client` and the `RawServer(**described)` behind it."""
    server, body = RawServer(**described), _Body()
    client_class: Any = vars(mcp)["Client"]
    options = {"mode": "auto" if server.modern else "legacy", **(client_options or {})}
    async with client_class(raw_transport(server), **options) as client:
        with body:
            yield client, server
    body.reraise()


Connect: TypeAlias = Callable[..., AbstractAsyncContextManager[tuple[Any, RawServer]]]

SESSIONS: Final[tuple[Connect, ...]] = (raw_session,) if SDK_MAJOR == 1 else (raw_session, raw_client)
"""Every way to be connected to a raw server that the installed SDK has; all take a server's description."""


class Stock(BaseModel):
    """What `get_stock` of the ordinary server answers."""

    sku: str
    count: int


def sample_server() -> Any:
    """An ordinary server as people write them: FastMCP on 1.x, MCPServer on 2.x, with the tools get_stock and add."""
    if SDK_MAJOR == 1:
        server: Any = importlib.import_module("mcp.server.fastmcp").FastMCP("sample")
    else:
        server = importlib.import_module("mcp.server.mcpserver").MCPServer("sample")

    @server.tool()  # type: ignore[untyped-decorator]  # the server is Any
    def get_stock(sku: str) -> Stock:
        """How many there are."""
        return Stock(sku=sku, count=3)

    @server.tool()  # type: ignore[untyped-decorator]  # the server is Any
    def add(a: int, b: int) -> int:
        """The sum."""
        return a + b

    return server


@asynccontextmanager
async def sdk_session(server: Any) -> AsyncGenerator[Any, None]:
    """A `ClientSession`, its handshake done, connected to an ordinary server."""
    body = _Body()
    async with AsyncExitStack() as stack:
        if SDK_MAJOR == 1:
            connect = importlib.import_module("mcp.shared.memory").create_connected_server_and_client_session
            session: Any = await stack.enter_async_context(connect(server))
        else:
            client: Any = await stack.enter_async_context(vars(mcp)["Client"](server, mode="legacy"))
            session = client.session
        with body:
            yield session
    body.reraise()
