"""What does `check` alone cost beside compiled jsonschema: data that fits, data read from text, twenty violations?"""

from __future__ import annotations

import json
from itertools import islice
from typing import Any, Final

from benchmarks._payloads import SCHEMA, result, said, sizes, stock
from benchmarks._table import Table, held
from benchmarks._timing import compared

from mcp_guard import Contract, check

FITTING: Final = {"200 B": 0.15, "10 KB": 0.02, "1 MB": 0.01}
READ: Final[dict[str, float | None]] = {"200 B": None, "10 KB": 2.0, "1 MB": 2.0}
EXPLAINED: Final[dict[str, float | None]] = {"200 B": None, "10 KB": 1.5, "1 MB": 1.5}
MOST: Final = 20


async def answer(seconds: float, *, tiny: bool = False) -> list[Table]:
    """Two tables: what fits and what is read, and what does not fit, by size."""
    head = [
        "result",
        "`check`, µs",
        "`check` / jsonschema `is_valid`",
        "text: `check` / `json.loads`",
        "twice the same",
    ]
    good = Table("`check` alone", head)
    bad = Table(f"{MOST} violations", ["result", "`check` / jsonschema `iter_errors`", "twice the same"])
    for size, length in sizes(tiny=tiny).items():
        await _good(good, size, stock(length), seconds)
        if (goal := EXPLAINED[size]) is not None:
            await _bad(bad, size, stock(length, wrong=MOST + 1), goal, seconds)
    return [good, bad]


async def _good(table: Table, size: str, value: Any, seconds: float) -> None:
    import jsonschema

    theirs: Any = jsonschema.Draft202012Validator(SCHEMA)
    contract, answered, told = Contract("stock", SCHEMA), result(value), said(value)
    text = told["content"][0]["text"]
    fitting = await compared(
        {"check": lambda: check(answered, contract), "is_valid": lambda: theirs.is_valid(value)}, seconds=seconds
    )
    read = await compared({"check": lambda: check(told, contract), "loads": lambda: json.loads(text)}, seconds=seconds)
    table.void = table.void or fitting.void or read.void
    fits = held(fitting.ratio("check", "is_valid"), FITTING[size])
    reads = held(read.ratio("check", "loads"), READ[size])
    nulls = f"{fitting.null.median:.3f}, {read.null.median:.3f}"
    table.rows.append([size, f"{fitting.seconds('check') * 1e6:,.0f}", fits, reads, nulls])


async def _bad(table: Table, size: str, value: Any, goal: float, seconds: float) -> None:
    import jsonschema

    theirs: Any = jsonschema.Draft202012Validator(SCHEMA)
    contract, failing = Contract("stock", SCHEMA), result(value)
    explained = await compared(
        {
            "check": lambda: check(failing, contract),
            "iter_errors": lambda: [*islice(theirs.iter_errors(value), MOST)],
        },
        seconds=seconds,
    )
    table.void = table.void or explained.void
    ratio = held(explained.ratio("check", "iter_errors"), goal)
    table.rows.append([size, ratio, f"{explained.null.median:.3f}"])
