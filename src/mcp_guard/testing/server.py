"""`FaultyServer`: a server whose tools misbehave on request, in memory or over stdio."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Final, TypeAlias, final

import anyio

from mcp_guard._sdk.choose import sdk
from mcp_guard.testing.faults import Fault, Good, chosen
from mcp_guard.testing.raw import Answer, Json, Line, RawServer, Request

GET_STOCK: Final[dict[str, Json]] = {
    "name": "get_stock",
    "description": "How many pieces of an article are in a warehouse.",
    "inputSchema": {
        "type": "object",
        "properties": {"sku": {"type": "string"}, "warehouse": {"enum": ["BER", "HAM"]}},
        "required": ["sku"],
    },
    "outputSchema": {
        "type": "object",
        "properties": {"sku": {"type": "string"}, "quantity": {"type": "integer", "minimum": 0}},
        "required": ["sku", "quantity"],
        "additionalProperties": False,
    },
}
"""The tool of a `FaultyServer` that was given no others."""

Work: TypeAlias = Callable[[dict[str, Json]], Json]
"""What a tool does: from its arguments to its structured content."""


def _get_stock(arguments: dict[str, Json]) -> Json:
    return {"sku": arguments.get("sku", "A-1"), "quantity": 3}


@final
class FaultyServer:
    """A server of which every call has a fault, until `fault` is changed.

    ::

        server = FaultyServer("missing_field")
        async with server.session() as session:
            with pytest.raises(OutputValidationError):
                await guard(session).call("get_stock", {"sku": "A-1"})
        assert server.runs["get_stock"] == 1

    Args:
        fault: The name of a fault, or a `Fault`; or one for each tool, by the tool's name. `None`: none.
        tools: The definitions of the tools, as JSON; `GET_STOCK` alone where there are none.
        work: What each tool does, by its name: a function from the arguments to the structured content.
        modern: Speak protocol 2026-07-28. mcp 1.x can't.

    Raises:
        ValueError: There is no fault of this name, or not exactly one; or a tool has no `work`.
    """

    def __init__(
        self,
        fault: str | Fault | Mapping[str, str | Fault] | None = None,
        *,
        tools: Sequence[dict[str, Json]] = (GET_STOCK,),
        work: Mapping[str, Work] | None = None,
        modern: bool = False,
    ) -> None:
        self._tools = {tool["name"]: tool for tool in tools}
        self._work: Mapping[str, Work] = {"get_stock": _get_stock, **(work or {})}
        if lacking := sorted(self._tools.keys() - self._work.keys()):
            raise ValueError(f"work has no function for the tool {lacking[0]!r}")
        self._faults: dict[str, Fault] = {}
        self.fault = fault
        self._modern = modern
        self.runs: Counter[str] = Counter()
        """How often each tool did its work: a write that ran twice counts two."""
        self.calls: Counter[str] = Counter()
        """How often each tool was called."""
        self.listings = 0
        """How often the tools were listed, counted at the first page."""

    @property
    def fault(self) -> Mapping[str, Fault]:
        """The fault of each tool. It can be set to all that the constructor takes, also between two calls."""
        return self._faults

    @fault.setter
    def fault(self, fault: str | Fault | Mapping[str, str | Fault] | None) -> None:
        given = fault if isinstance(fault, Mapping) else dict.fromkeys(self._tools, fault)
        if unknown := sorted(given.keys() - self._tools.keys()):
            raise ValueError(f"there is no tool {unknown[0]!r} to have a fault; there are: {', '.join(self._tools)}")
        self._faults = {tool: _one(each) for tool, each in given.items() if each is not None}

    @property
    def modern(self) -> bool:
        """Whether protocol 2026-07-28 is spoken."""
        return self._modern or any(fault.modern for fault in self._faults.values())

    @asynccontextmanager
    async def transport(self) -> AsyncGenerator[tuple[Any, Any]]:
        """A connection in memory, as the SDK means a transport: for `ClientSession(*streams)`, `Client`, `connect`."""
        async with in_memory(self._peer()) as streams:
            yield streams

    @asynccontextmanager
    async def session(self, **options: Any) -> AsyncGenerator[Any]:
        """A real `ClientSession` of the installed SDK, its handshake done. `options` are its constructor's.

        Raises:
            RuntimeError: The SDK does not know the server's protocol.
        """
        from mcp import ClientSession

        make: Any = ClientSession
        if self.modern and not hasattr(make, "discover"):
            raise RuntimeError("mcp 1.x does not speak 2026-07-28")
        error: Exception | None = None
        async with self.transport() as streams, make(*streams, **options) as session:
            await (session.discover() if self.modern else session.initialize())
            try:
                yield session
            except Exception as exc:  # noqa: BLE001  # raised below: the task groups around would wrap it
                error = exc
        if error is not None:
            raise error

    async def serve_stdio(self) -> None:
        """Serve one client over standard input and output, until it closes them."""
        stdin, stdout = anyio.wrap_file(sys.stdin), anyio.wrap_file(sys.stdout)

        async def write(line: str) -> None:
            await stdout.write(line + "\n")
            await stdout.flush()

        await self._peer().serve(aiter(stdin), write, stdout.aclose)

    def _peer(self) -> RawServer:
        results = {name: self._answer(name) for name in self._tools}
        return RawServer(results=results, on={"tools/list": self._listed}, modern=self.modern)

    def _answer(self, name: str) -> Answer:
        def answer(request: Request) -> Answer:
            self.calls[name] += 1
            fault = self._faults.get(name)
            if fault is None or fault.works:
                self.runs[name] += 1
            tool, value = self._tools[name], self._work[name](request.arguments or {})
            good = Good(tool, request.server.stamped(Good(tool, {}).answering(value)))
            return good.result if fault is None else fault.answer(good)

        return answer

    def _listed(self, request: Request) -> Answer:
        params = request.params
        self.listings += params.get("cursor") is None
        tools = [
            tool if (fault := self._faults.get(name)) is None else fault.definition(tool, self.listings)
            for name, tool in self._tools.items()
        ]
        page: dict[str, Json] = {"tools": tools}
        if self.modern:
            page |= {"ttlMs": 0, "cacheScope": "private"}
        listing = next((fault.listing for fault in self._faults.values() if fault.listing is not None), None)
        return page if listing is None else listing(page, params)


def _one(fault: str | Fault) -> Fault:
    found = chosen(fault)
    if len(found) != 1:
        raise ValueError(f"{fault!r} stands for {len(found)} faults; a tool has one at a time")
    return found[0]


def in_memory(server: RawServer) -> AbstractAsyncContextManager[tuple[Any, Any]]:
    """A transport as the SDK means it, its two streams connected to this server."""
    return _in_memory(server, sdk())


@asynccontextmanager
async def _in_memory(server: RawServer, module: Any) -> AsyncGenerator[tuple[Any, Any]]:
    # without bound, so that the server never waits for a session that does not read
    to_client, from_server = anyio.create_memory_object_stream[Any](math.inf)
    to_server, from_client = anyio.create_memory_object_stream[Any](math.inf)

    async def write(line: str) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the client has left
            await to_client.send(module.to_item(line))

    async def lines() -> AsyncIterator[str]:
        async for item in from_client:
            yield module.to_line(item)

    async with to_client, from_server, to_server, from_client, anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve, lines(), write, to_client.aclose)
        yield from_server, to_server
        tasks.cancel_scope.cancel()


__all__ = ["GET_STOCK", "FaultyServer", "Line", "Work", "in_memory"]
