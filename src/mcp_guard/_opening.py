"""How each kind of server is reached: the SDK's own transport for it, and the keywords that this takes."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, final

import anyio

from mcp_guard._lines import CODEC, LISTENING, Lines

_OF_HTTP_CLIENT: Final = frozenset({"headers", "auth", "timeout"})
_STOPS_SECONDS: Final = 2.0
"""How long a server in this process may take to end when its client has left."""


@final
@dataclass(frozen=True, slots=True)
class Way:
    """How to reach a server: what opens the transport, with keywords out of `options`."""

    open: Callable[[Mapping[str, Any]], AbstractAsyncContextManager[Any]]
    options: frozenset[str] = frozenset()
    lines: Lines | None = None
    """The text of what a server writes, where the transport has lines."""


def way_to(server: Any, *, with_lines: bool) -> Way:
    """The way to a server, by what it is. Nothing is opened yet.

    Raises:
        TypeError: It is nothing that can be connected to.
        ValueError: It is a text, and no URL.
    """
    from mcp import StdioServerParameters

    if isinstance(server, str):
        if not server.lower().startswith(("http://", "https://")):
            raise ValueError(
                "connect() takes the URL of a server, http:// or https://; for a command use StdioServerParameters"
            )
        return _to_url(server)
    if isinstance(server, StdioServerParameters):
        return _to_command(server, with_lines=with_lines)
    if (inside := _in_process(server)) is not None:
        return Way(lambda options: _run(inside, **options), frozenset({"raise_exceptions"}))
    transport: Any = server
    if hasattr(transport, "__aenter__") and hasattr(transport, "__aexit__"):
        return Way(lambda _: transport)
    raise TypeError(
        "connect() takes a URL, StdioServerParameters, a server object of this process, or a transport (an async "
        f"context manager of two streams), not {type(transport).__name__}"
    )


def _to_url(url: str) -> Way:
    from mcp.client import streamable_http

    module: Any = streamable_http
    if not hasattr(module, "streamable_http_client"):  # before mcp 1.24
        old = module.streamablehttp_client
        return Way(lambda options: old(url, **options), _parameters(old) - {"url"})

    @asynccontextmanager
    async def opened(options: Mapping[str, Any]) -> AsyncGenerator[Any]:
        of_client = {k: v for k, v in options.items() if k in _OF_HTTP_CLIENT}
        rest = {k: v for k, v in options.items() if k not in _OF_HTTP_CLIENT}
        if of_client and rest.get("http_client") is not None:
            raise TypeError(f"an http_client of your own has its own {', '.join(sorted(of_client))}")
        async with AsyncExitStack() as stack:
            if rest.get("http_client") is None:
                client = module.create_mcp_http_client(**of_client)
                rest["http_client"] = await stack.enter_async_context(client)
            yield await stack.enter_async_context(module.streamable_http_client(url, **rest))

    return Way(opened, _parameters(module.streamable_http_client) - {"url"} | _OF_HTTP_CLIENT)


def _to_command(parameters: Any, *, with_lines: bool) -> Way:
    from mcp.client.stdio import stdio_client

    options = _parameters(stdio_client) - {"server"}
    if not with_lines:
        return Way(lambda given: stdio_client(parameters, **given), options)
    lines = Lines(parameters.encoding)

    @asynccontextmanager
    async def opened(given: Mapping[str, Any]) -> AsyncGenerator[Any]:
        LISTENING.set(lines)
        async with stdio_client(parameters.model_copy(update={"encoding": CODEC}), **given) as streams:
            yield streams

    return Way(opened, options, lines)


def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


def _in_process(server: Any) -> Any:
    """The server of the SDK's lower level in an object of this process, where it is one."""
    for each in (server, getattr(server, "_mcp_server", None), getattr(server, "_lowlevel_server", None)):
        if hasattr(each, "create_initialization_options") and hasattr(each, "run"):
            return each
    return None


@asynccontextmanager
async def _run(server: Any, *, raise_exceptions: bool = False) -> AsyncGenerator[Any]:
    """Run a server of this process over streams in memory, so that its frames can be seen."""
    from mcp.shared.memory import create_client_server_memory_streams

    ended = anyio.Event()

    async def run(read: Any, write: Any) -> None:
        try:
            async with read, write:
                options = server.create_initialization_options()
                await server.run(read, write, options, raise_exceptions=raise_exceptions)
        finally:
            ended.set()

    async with create_client_server_memory_streams() as (ours, theirs), anyio.create_task_group() as tasks:
        tasks.start_soon(run, *theirs)
        try:
            yield ours
        finally:
            with anyio.move_on_after(_STOPS_SECONDS, shield=True):
                await ours[1].aclose()  # it ends by itself when its client has left
                await ended.wait()
            tasks.cancel_scope.cancel()
