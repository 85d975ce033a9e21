"""Does a call cost more where there are more tools, more guards, more calls before it? And how does the size count?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final

from benchmarks._memory import forget, resident
from benchmarks._payloads import ARGUMENTS, SCHEMA, bare, result, stock
from benchmarks._peers import CONNECTIONS, DECLARED, server_of
from benchmarks._table import Table
from benchmarks._timing import compared

from mcp_guard import Contract, check, guard

NUMBERS: Final = (10, 100, 1_000, 9_998)
"""So many tools besides the two of each server: 10,000 of one listing are taken by default."""
SIZES: Final = (10_000, 100_000, 1_000_000, 5_000_000)


def _way(tools: Any) -> Callable[[], Awaitable[object]]:
    async def call() -> None:
        await tools.call(DECLARED, ARGUMENTS)

    return call


async def answer(seconds: float, *, tiny: bool = False) -> list[Table]:
    """Three tables: by number, by calls made, by size."""
    numbers, sizes = (NUMBERS[:1], SIZES[:1]) if tiny else (NUMBERS, SIZES)
    return [await _by_number(seconds, numbers), await _by_calls(numbers[-1]), await _by_size(seconds, sizes)]


async def _by_number(seconds: float, numbers: tuple[int, ...]) -> Table:
    """Calls of one tool, among more and more; and of the last guard, when more and more are made."""
    connect = [*CONNECTIONS.values()][-1]
    answered = result(stock(200))
    table = Table(
        f"A call of 200 B among many, and one among {numbers[0]}", ["how many", "tools listed", "guards made"]
    )
    async with AsyncExitStack() as stack:
        ways: dict[str, Callable[[], Awaitable[object]]] = {}
        for number in numbers:
            session = await stack.enter_async_context(connect(server_of(answered, tools=number)))
            tools = guard(session)
            await tools.refresh()
            ways[str(number)] = _way(tools)
        listed = await compared(ways, seconds=seconds)
        session = await stack.enter_async_context(connect(server_of(answered)))
        guards: list[Any] = []
        ways = {}
        for number in numbers:
            guards += [guard(session) for _ in range(number - len(guards))]
            await guards[-1].refresh()
            ways[str(number)] = _way(guards[-1])
        made = await compared(ways, seconds=seconds)
    table.void = listed.void or made.void
    for name in ways:
        table.rows.append([name, *(str(each.ratio(name, str(numbers[0]))) for each in (listed, made))])
    table.rows.append(["the first again", str(listed.null), str(made.null)])
    return table


async def _by_calls(number: int) -> Table:
    """A guard that has made many calls beside a new one, and what the process has grown by."""
    async with [*CONNECTIONS.values()][-1](server_of(result(stock(200)))) as session:
        old, new = guard(session), guard(session)
        for tools in (old, new):
            await tools.refresh()
        for _ in range(number // 10):
            await old.call(DECLARED, ARGUMENTS)
        forget()
        before = resident()
        for _ in range(number):
            await old.call(DECLARED, ARGUMENTS)
        larger = resident() - before
        found = await compared({"new": _way(new), "old": _way(old)}, seconds=1)
    table = Table(f"After {number:,} calls", ["what", "found"], void=found.void)
    table.rows += [
        ["a call / one of a new guard", str(found.ratio("old", "new"))],
        ["the process has grown by", f"{larger / 1e6:.2f} MB"],
        ["the new guard twice", str(found.null)],
    ]
    return table


async def _by_size(seconds: float, sizes: tuple[int, ...]) -> Table:
    contract = Contract("stock", SCHEMA)
    table = Table("`check` by size", ["size", "µs for each KB", "in those of the smallest", "the process is larger by"])
    results = {f"{size // 1000:,} KB": (size, bare(stock(size))) for size in sizes}
    ways = {name: partial(check, answered, contract) for name, (_, answered) in results.items()}
    found = await compared(ways, seconds=seconds)
    table.void = found.void
    first = next(iter(results))
    for name, (size, answered) in results.items():
        each = found.ratio(name, first).median * sizes[0] / size
        forget()
        before = resident()
        check(answered, contract)
        larger = (resident() - before) / 1e6
        table.rows.append([name, f"{found.seconds(name) / size * 1e9:,.1f}", f"{each:.2f}", f"{larger:.2f} MB"])
    return table
