"""What does the walk over a result cost, beside others in C or Rust that go through all of one?

The others are no replacement: what each of them does not tell stands beside it.
"""

from __future__ import annotations

import json
import marshal
import pickle
from functools import partial
from typing import Any, Final

from benchmarks._payloads import SCHEMA, bare, sizes, stock
from benchmarks._table import Table
from benchmarks._timing import Way, compared

from mcp_guard import Limits, _bounds

TELLS: Final = {
    "the walk": "all that is promised",
    "jsonschema-rs": "whether it fits; not NaN, and nothing of what the schema does not name",
    "`json.dumps`, without NaN": "takes tuples and objects of a class of their own; no limit on depth or size",
    "`pydantic_core.to_json`": "takes dates, sets and the like, and writes NaN",
    "`pickle.dumps`": "takes nearly anything",
    "`marshal.dumps`": "takes NaN, tuples, sets and bytes",
}


async def answer(seconds: float, *, tiny: bool = False) -> list[Table]:
    """One table: each by size."""
    import jsonschema_rs
    import pydantic_core

    table = Table(
        "Going through a result", ["by", *(f"{size}: ns for each value" for size in sizes(tiny=tiny)), "tells"]
    )
    engine: Any = jsonschema_rs.Draft202012Validator(SCHEMA)
    strict = json.JSONEncoder(allow_nan=False)
    limits = Limits()
    cells: dict[str, list[str]] = {name: [name] for name in TELLS}
    for length in sizes(tiny=tiny).values():
        value = stock(length)
        values = _bounds.measure(bare(value), limits, outside=1).values
        ways: list[Way] = [
            partial(_bounds.measure, value, limits),
            partial(engine.is_valid, value),
            partial(strict.encode, value),
            partial(pydantic_core.to_json, value),
            partial(pickle.dumps, value),
            partial(marshal.dumps, value),
        ]
        found = await compared(dict(zip(TELLS, ways, strict=True)), seconds=seconds)
        table.void = table.void or found.void
        for name in TELLS:
            cells[name].append(f"{found.seconds(name) / values * 1e9:,.0f}")
    table.rows += [[*row, TELLS[name]] for name, row in cells.items()]
    return [table]
