"""What does a guarded call cost beside a plain one, and beside one that the SDK, or FastMCP, checks?

`plain`: the SDK's `call_tool` of a tool without outputSchema, so that there is no check at all. `sdk`: the same, of the
tool with one. `deadline`: the plain call within an `anyio.CancelScope` that has one, as a guarded call is, and no more.
Result, server and connection are the same for all.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from importlib.util import find_spec
from types import FrameType
from typing import Any, Final

import anyio
from benchmarks._payloads import ARGUMENTS, SIZES, result, sizes, stock
from benchmarks._peers import CONNECTIONS, DECLARED, MAJOR, UNDECLARED, fastmcp_client, server_of
from benchmarks._table import Table, held
from benchmarks._timing import Timings, Way, compared

from mcp_guard import guard

GOALS: Final = {"200 B": 1.05, "10 KB": 1.08, "1 MB": 1.3}
"""Of a guarded call, in plain ones."""
CHECKED: Final[dict[tuple[int, str], dict[str, float]]] = {
    (1, "session in memory"): {"200 B": 0.12, "10 KB": 0.08, "1 MB": 0.05},
    (2, "Client in process"): {"200 B": 0.75, "10 KB": 0.13, "1 MB": 0.12},
    (2, "session in memory"): {"200 B": 0.85, "10 KB": 0.18, "1 MB": 0.12},
}
"""Of a guarded call, in calls that the SDK checks."""
DEADLINE: Final = 60.0
"""Seconds, as `guard` has them unless told otherwise."""


async def timed(connection: str, size: str, seconds: float) -> Timings:
    """The ways of calling side by side."""
    server = server_of(result(stock(SIZES[size])))
    async with AsyncExitStack() as stack:
        session: Any = await stack.enter_async_context(CONNECTIONS[connection](server))
        has_fastmcp = find_spec("fastmcp") is not None  # it is not there on Python 3.10
        client: Any = await stack.enter_async_context(fastmcp_client(server)) if has_fastmcp else session
        tools = guard(session)
        await tools.refresh()
        await session.list_tools()  # the SDK's own check needs it
        await client.list_tools()

        async def plain() -> None:
            await session.call_tool(UNDECLARED, ARGUMENTS)

        async def deadline() -> None:
            with anyio.CancelScope(deadline=anyio.current_time() + DEADLINE):
                await session.call_tool(UNDECLARED, ARGUMENTS)

        async def sdk() -> None:
            await session.call_tool(DECLARED, ARGUMENTS)

        async def fastmcp() -> None:
            await client.call_tool(DECLARED, ARGUMENTS)

        async def call() -> None:
            await tools.call(DECLARED, ARGUMENTS)

        async def call_tool() -> None:
            await tools.call_tool(DECLARED, ARGUMENTS)

        ways: dict[str, Way] = {"plain": plain, "deadline": deadline, "sdk": sdk, "call": call, "call_tool": call_tool}
        if has_fastmcp:
            ways["fastmcp"] = fastmcp
        return await compared(ways, seconds=seconds)


async def functions(connection: str) -> list[str]:
    """How many Python functions run in one call: plain, guarded, and ours among the latter."""
    async with CONNECTIONS[connection](server_of(result(stock(200)))) as session:
        tools = guard(session)
        await tools.call(DECLARED, ARGUMENTS)
        plain = await _counted(lambda: session.call_tool(UNDECLARED, ARGUMENTS))
        guarded = await _counted(lambda: tools.call(DECLARED, ARGUMENTS))
    return [connection, str(len(plain)), str(len(guarded)), str(sum("mcp_guard" in file for file in guarded))]


async def _counted(call: Callable[[], Awaitable[object]]) -> list[str]:
    """The file of each function that runs."""
    await call()
    files: list[str] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            files.append(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        await call()
    finally:
        sys.setprofile(None)
    return files


async def answer(seconds: float, *, tiny: bool = False) -> list[Table]:
    """A table for each way to be connected, and one of how many functions run."""
    tables: list[Table] = []
    for connection in CONNECTIONS:
        head = ["result", "plain, µs", "deadline / plain", "sdk / plain", "fastmcp / plain"]
        head += ["`call` / plain", "`call_tool` / plain", "`call` / sdk", "plain / plain"]
        table = Table(f"Calls, {connection}", head)
        for size in sizes(tiny=tiny):
            found = await timed(connection, size, seconds)
            table.void = table.void or found.void
            table.rows.append(
                [
                    size,
                    f"{found.seconds('plain') * 1e6:,.0f}",
                    str(found.ratio("deadline", "plain")),
                    str(found.ratio("sdk", "plain")),
                    str(found.ratio("fastmcp", "plain")) if "fastmcp" in found.series else "",
                    held(found.ratio("call", "plain"), GOALS[size]),
                    held(found.ratio("call_tool", "plain"), GOALS[size]),
                    held(found.ratio("call", "sdk"), CHECKED[MAJOR, connection][size]),
                    str(found.null),
                ]
            )
        tables.append(table)
    counts = Table(
        "Python functions that run in a call of 200 B", ["connection", "plain", "`call`", "of those, the guard's"]
    )
    counts.rows += [await functions(connection) for connection in CONNECTIONS]
    return [*tables, counts]
