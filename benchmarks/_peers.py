"""A server in this process, made with the SDK, and the sessions that lead to it. The two majors are told apart here.

The server is the SDK's low-level one, which hands on what it is given: whatever it did besides would make each way of
calling look alike. The tool `declared` has an outputSchema, `undeclared` gives the same and has none: the SDK's
`call_tool` of that is the plain call, with no check at all.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final

import anyio
from benchmarks._payloads import INPUT, SCHEMA

MAJOR: Final = int(importlib.metadata.version("mcp").partition(".")[0])
DECLARED, UNDECLARED = "declared", "undeclared"
TTL: Final = 3600
"""Seconds for which the listing of tools holds: on 2026-07-28 the SDK says 0 unless told, and then each call lists."""


def _tool(name: str, output: dict[str, Any] | None) -> dict[str, Any]:
    tool: dict[str, Any] = {"name": name, "inputSchema": INPUT}
    return tool if output is None else {**tool, "outputSchema": output}


def server_of(answer: dict[str, Any], *, tools: int = 0) -> Any:
    """A server whose tools all give this answer: the two, and so many more."""
    listed = [_tool(DECLARED, SCHEMA), _tool(UNDECLARED, None), *(_tool(f"tool_{n}", SCHEMA) for n in range(tools))]
    return (_server_1 if MAJOR == 1 else _server_2)(answer, listed)


def _server_1(answer: dict[str, Any], listed: list[dict[str, Any]]) -> Any:
    types: Any = importlib.import_module("mcp.types")
    server: Any = importlib.import_module("mcp.server.lowlevel").Server("benchmark")
    made, tools = types.CallToolResult.model_validate(answer), [types.Tool.model_validate(tool) for tool in listed]

    async def list_tools() -> Any:
        return tools

    async def call_tool(_name: str, _arguments: dict[str, Any]) -> Any:
        return made

    server.list_tools()(list_tools)
    server.call_tool(validate_input=False)(call_tool)
    return server


def _server_2(answer: dict[str, Any], listed: list[dict[str, Any]]) -> Any:
    types: Any = importlib.import_module("mcp_types")
    made = types.CallToolResult.model_validate(answer)
    page = types.ListToolsResult.model_validate({"tools": listed, "ttlMs": TTL * 1000})

    async def list_tools(_context: Any, _params: Any) -> Any:
        return page

    async def call_tool(_context: Any, _params: Any) -> Any:
        return made

    return importlib.import_module("mcp.server.lowlevel").Server(
        "benchmark", on_list_tools=list_tools, on_call_tool=call_tool
    )


@asynccontextmanager
async def _session(server: Any) -> AsyncGenerator[Any]:
    """A `ClientSession` over memory streams, its handshake done (2025-11-25)."""
    memory: Any = importlib.import_module("mcp.shared.memory")
    if MAJOR == 1:
        async with memory.create_connected_server_and_client_session(server) as session:
            yield session
        return
    session_class: Any = importlib.import_module("mcp").ClientSession
    async with AsyncExitStack() as stack:
        near, far = await stack.enter_async_context(memory.create_client_server_memory_streams())
        tasks = await stack.enter_async_context(anyio.create_task_group())
        tasks.start_soon(server.run, *far, server.create_initialization_options())
        session = await stack.enter_async_context(session_class(*near))
        await session.initialize()
        yield session
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def _client(server: Any) -> AsyncGenerator[Any]:
    """The `Client` of mcp 2.x, with the server in its own process (2026-07-28)."""
    async with importlib.import_module("mcp").Client(server) as client:
        yield client


CONNECTIONS: Final[dict[str, Callable[[Any], AbstractAsyncContextManager[Any]]]] = (
    {"session in memory": _session} if MAJOR == 1 else {"Client in process": _client, "session in memory": _session}
)
"""The ways to be connected to a server in this process."""


@asynccontextmanager
async def fastmcp_client(server: Any) -> AsyncGenerator[Any]:
    """A `fastmcp.Client`: of FastMCP 3 on mcp 1.x, of FastMCP 4 on 2.x."""
    transports: Any = importlib.import_module("fastmcp.client.transports")
    session_class: Any = importlib.import_module("mcp").ClientSession
    memory: Any = importlib.import_module("mcp.shared.memory")

    class InMemory(transports.ClientTransport):  # type: ignore[misc]  # the class is Any: there are two versions of it
        @asynccontextmanager
        async def connect_session(self, **options: Any) -> AsyncGenerator[Any]:
            options.pop("transport_options", None)
            async with AsyncExitStack() as stack:
                near, far = await stack.enter_async_context(memory.create_client_server_memory_streams())
                tasks = await stack.enter_async_context(anyio.create_task_group())
                tasks.start_soon(server.run, *far, server.create_initialization_options())
                yield await stack.enter_async_context(session_class(*near, **options))
                tasks.cancel_scope.cancel()

    async with importlib.import_module("fastmcp").Client(InMemory()) as client:
        yield client
