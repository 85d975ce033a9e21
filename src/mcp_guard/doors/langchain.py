"""The door to LangChain: langchain-mcp-adapters (mcp 1.x), and `langchain.mcp`, which goes through FastMCP (mcp 2.x).

::

    tools = await load_mcp_tools(guarded(session))
    tools = await guarded(MultiServerMCPClient(connections)).get_tools()
    async with guarded(MCPAdapter("http://127.0.0.1:8000/mcp")) as adapter: ...

What the guard has against a call, the model is told as LangChain tells it of a tool's own error: a `ToolMessage` with
``status="error"``, here with the text of `for_model()`. Data that keeps its contract is the message's artifact.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any, Final, TypeVar, cast, final

from mcp_guard.doors._shared import GuardedTransport, TellingSession, checked, guarding, missing, told
from mcp_guard.errors import GuardError

TargetT = TypeVar("TargetT")
_WITH_HEADERS: Final = frozenset({"sse", "http", "streamable_http", "streamable-http"})
_telling: Final = functools.partial(guarding, kind=TellingSession)


def guarded(target: TargetT, **options: Any) -> TargetT:
    """Guard what LangChain calls tools through. A session is wrapped; everything else is guarded in place.

    Args:
        target: A session, for `load_mcp_tools`; a `MultiServerMCPClient`, before its tools are loaded (each server is
            guarded under its name); an `MCPAdapter`, or a `fastmcp.Client` or `ClientGroup` for one, not connected yet.
        **options: What `guard` takes. `notifications` only with a session; `server` only where there is one server.

    Returns:
        The target, or what stands in the place of the session.

    Raises:
        ImportError: There is no langchain-mcp-adapters, and it is needed.
        TypeError: This is nothing that can be guarded, or an option is of the wrong type.
        ValueError: The target is connected, or guarded already; or an option has a value that is not known.
    """
    any_target: Any = target
    if hasattr(target, "tool_interceptors"):
        _guard_adapters(any_target, options)
        return target
    client: Any = getattr(target, "client", target)  # an adapter's
    if hasattr(client, "transport"):
        _guard_client(client, options)
    elif hasattr(client, "clients"):
        options = checked(options, "server")
        named = [(member, checked({**options, "server": name})) for name, member in client.clients.items()]
        for member, its in named:
            _guard_client(member, its)
    else:
        return cast("TargetT", _telling(any_target, **options))
    return target


def _guard_client(client: Any, options: dict[str, Any]) -> None:
    if isinstance(client.transport, GuardedTransport):
        raise ValueError("target is guarded already")  # noqa: TRY004  # its type is right
    if client.is_connected():
        raise ValueError("target is connected; guard it before: async with guarded(MCPAdapter(url))")
    client.transport = GuardedTransport(client.transport, _telling, checked(options, "notifications"))


def _guard_adapters(client: Any, options: dict[str, Any]) -> None:
    if any(isinstance(each, ToolInterceptor) for each in client.tool_interceptors):
        raise ValueError("target is guarded already")
    options = checked(options, "notifications", "server")
    interceptor = ToolInterceptor(client.connections, callbacks=client.callbacks, **options)
    client.tool_interceptors = [*client.tool_interceptors, interceptor]
    client.session = functools.partial(_session, client.session, options)


@asynccontextmanager
async def _session(
    opening: Callable[..., Any], options: dict[str, Any], server_name: str, **more: Any
) -> AsyncGenerator[Any]:
    async with opening(server_name, **more) as session:
        yield _telling(session, **options, server=server_name)


@final
class ToolInterceptor:
    """A `tool_interceptor` that guards: give it last, `tool_interceptors=[..., ToolInterceptor(connections)]`.

    The adapters' own handler would have a result checked, and dropped, by the SDK. So for a server in `connections`
    this makes the call itself, on a session of its own, as the handler does. Where the server is in none of them it
    calls the handler, and tells the model what a guard further in raises.

    Args:
        connections: By the server's name, as `MultiServerMCPClient` takes them.
        callbacks: As `MultiServerMCPClient` takes them.
        **options: What `guard` takes, but `notifications` and `server`.

    Raises:
        ImportError: There is no langchain-mcp-adapters.
        TypeError: An option is of the wrong type.
        ValueError: An option has a value that is not known.
    """

    def __init__(self, connections: Mapping[str, Any] | None = None, *, callbacks: Any = None, **options: Any) -> None:
        try:
            self._sessions: Any = import_module("langchain_mcp_adapters.sessions")
            self._callbacks: Any = import_module("langchain_mcp_adapters.callbacks")
        except ImportError as error:
            raise missing("langchain-mcp-adapters", "langchain") from error
        self._connections: Mapping[str, Any] = {} if connections is None else connections
        self._given: Any = self._callbacks.Callbacks() if callbacks is None else callbacks
        self._options = checked(options, "notifications", "server")
        for name in self._connections:
            checked({**options, "server": name})

    async def __call__(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Make one call.

        Raises:
            TypeError: There is another interceptor behind this one, which would be passed by.
        """
        name = request.server_name
        if name not in self._connections:
            try:
                return await handler(request)
            except GuardError as error:
                return told(error)
        if getattr(handler, "__name__", "") == "wrapped_handler":
            raise TypeError("ToolInterceptor makes the call itself: give it last in tool_interceptors")
        connection = dict(self._connections[name])
        if request.headers is not None and connection.get("transport") in _WITH_HEADERS:
            connection["headers"] = {**(connection.get("headers") or {}), **request.headers}
        about = self._callbacks.CallbackContext(server_name=name, tool_name=request.name)
        callbacks = self._given.to_mcp_format(context=about)
        async with self._sessions.create_session(connection, mcp_callbacks=callbacks) as session:
            await session.initialize()
            tools = _telling(session, **self._options, server=name)
            return await tools.call_tool(request.name, request.args, progress_callback=callbacks.progress_callback)
