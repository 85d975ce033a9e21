"""How long does a large result keep the event loop: plain, guarded, and guarded on a loop of its own in a thread?

A task looks at the clock each time that the loop lets it. What is told is the longest time that it was kept waiting
during one call: the median over several calls, and the longest of all. Wall-clock time: what else the machine does is
in it.
"""

from __future__ import annotations

import functools
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from statistics import median
from typing import Any, Final

import anyio
from anyio import to_thread
from anyio.from_thread import BlockingPortal, start_blocking_portal
from benchmarks._payloads import ARGUMENTS, SCHEMA, bare, stock
from benchmarks._peers import CONNECTIONS, DECLARED, UNDECLARED, server_of
from benchmarks._table import Table

from mcp_guard import Contract, check, guard

SIZE: Final = 5_000_000
CALLS: Final = 7


async def longest(way: Callable[[], Awaitable[object]]) -> float:
    """Milliseconds that the loop was kept at most while this ran."""
    most, last, done = 0.0, time.perf_counter(), False

    async def watch() -> None:
        nonlocal most, last
        while not done:
            now = time.perf_counter()
            most, last = max(most, now - last), now
            await anyio.sleep(0.0005)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await anyio.sleep(0.005)
        most = 0.0
        await way()
        await anyio.sleep(0.001)
        done = True
    return most * 1000


@asynccontextmanager
async def _opened(answered: dict[str, Any]) -> AsyncGenerator[tuple[Any, Any]]:
    """A session and a guard round it, on whatever loop this is entered."""
    async with [*CONNECTIONS.values()][-1](server_of(answered)) as session:
        tools = guard(session)
        await tools.refresh()
        yield session, tools


async def answer(_seconds: float, *, tiny: bool = False) -> list[Table]:
    """One table."""
    size, calls = (200, 1) if tiny else (SIZE, CALLS)
    answered, contract = bare(stock(size)), Contract("stock", SCHEMA)
    table = Table(
        f"The longest stall of the event loop, a result of {size / 1e6:g} MB", ["what", "median, ms", "longest, ms"]
    )

    async def told(name: str, way: Callable[[], Awaitable[object]]) -> None:
        found = [await longest(way) for _ in range(calls)]
        table.rows.append([name, f"{median(found):,.0f}", f"{max(found):,.0f}"])

    async def alone() -> None:
        check(answered, contract)

    async def in_thread() -> None:
        await to_thread.run_sync(check, answered, contract)

    async with _opened(answered) as (session, tools):
        await told("nothing at all", anyio.lowlevel.checkpoint)
        await told("plain call, server and client in this process", lambda: session.call_tool(UNDECLARED, ARGUMENTS))
        await told("guarded call, the same", lambda: tools.call(DECLARED, ARGUMENTS))
    await told("`check` alone", alone)
    await told("`check` in a worker thread", in_thread)
    await _elsewhere(answered, told)
    return [table]


async def _elsewhere(answered: dict[str, Any], told: Callable[..., Awaitable[None]]) -> None:
    with start_blocking_portal() as portal:
        await _through(portal, answered, told)


async def _through(portal: BlockingPortal, answered: dict[str, Any], told: Callable[..., Awaitable[None]]) -> None:
    with portal.wrap_async_context_manager(_opened(answered)) as (_, tools):
        call = functools.partial(portal.call, tools.call, DECLARED, ARGUMENTS)
        await told("guarded call on a loop of its own in a thread", lambda: to_thread.run_sync(call))
