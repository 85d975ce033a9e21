"""What does making contracts cost: one, beside jsonschema's check of the schema; and a listing of a thousand tools?"""

from __future__ import annotations

import gc
import time
import tracemalloc
from functools import partial
from typing import Any, Final

from benchmarks._memory import forget, resident
from benchmarks._payloads import INPUT, SCHEMA, result, stock
from benchmarks._peers import CONNECTIONS, server_of
from benchmarks._table import Table, held, least
from benchmarks._timing import compared

from mcp_guard import Contract, guard

TOOLS: Final = 1_000
READY: Final = 1.0
"""Seconds of CPU for listing so many tools and calling each once, what the calls themselves take aside."""


async def answer(seconds: float, *, tiny: bool = False) -> list[Table]:
    """A table about one contract, and one about many."""
    return [await _one(seconds), await _many(10 if tiny else TOOLS)]


async def _one(seconds: float) -> Table:
    import jsonschema

    theirs: Any = jsonschema.Draft202012Validator
    table = Table(
        "Making a contract", ["schema", "`Contract` / jsonschema `check_schema`", "`Contract`, µs", "twice the same"]
    )
    wide = {"type": "object", "properties": {f"p{n}": SCHEMA["$defs"]["Row"] for n in range(30)}}
    for name, schema in {"one row, as in all of these": SCHEMA, "the same thirty times": wide}.items():
        found = await compared(
            {
                "Contract": partial(Contract, "stock", schema),
                "check_schema": partial(theirs.check_schema, schema),
            },
            seconds=seconds,
        )
        table.void = table.void or found.void
        ratio = held(found.ratio("Contract", "check_schema"), 1.0)
        table.rows.append([name, ratio, f"{found.seconds('Contract') * 1e6:,.0f}", f"{found.null.median:.3f}"])
    return table


async def _many(number: int) -> Table:
    """List so many tools; then have each contract compiled, as its first call does."""
    async with [*CONNECTIONS.values()][-1](server_of(result(stock(200)), tools=number)) as session:
        began = time.process_time()
        await session.list_tools()
        plain = time.process_time() - began
        tools = guard(session)
        forget()
        before, began = resident(), time.process_time()
        await tools.refresh()
        listed = time.process_time() - began
        larger = resident() - before
        forget()
        before, began = resident(), time.process_time()
        for contract in tools.contracts.of().values():
            _ = contract.output, contract.input
        ready = time.process_time() - began
        compiled = resident() - before
    gc.collect()
    tracemalloc.start()
    kept = [Contract(f"tool_{n}", SCHEMA, input_schema=INPUT) for n in range(100)]
    for contract in kept:
        _ = contract.input
    allocated, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    table = Table(f"{number:,} tools", ["what", "found"])
    table.rows += [
        ["the SDK's own `list_tools`", f"{plain:.3g} s of CPU"],
        ["listed by the guard", f"{listed:.3g} s of CPU"],
        ["and each ready to be called", least(listed + ready, READY, "s of CPU")],
        ["the process is larger by, for each tool that is listed", f"{larger / number / 1000:.1f} kB"],
        ["and compiled (those used last are kept)", f"{(larger + compiled) / number / 1000:.1f} kB"],
        ["of that in Python, for each contract that is compiled", f"{allocated / len(kept) / 1000:.1f} kB"],
    ]
    return table
