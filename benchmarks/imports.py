"""What does `import mcp_guard` cost over bare Python, and what beside it where the SDK is loaded anyway?"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
from statistics import median
from typing import Final

from benchmarks._table import Table, least

STATEMENTS: Final = {
    "bare": "pass",
    "again": "pass",
    "guard": "import mcp_guard",
    "core": "from mcp_guard import check, Contract; Contract('t', {})",
    "mcp": "import mcp",
    "both": "import mcp; from mcp_guard import guard",
}
MOST: Final = 50.0
"""Milliseconds of CPU of `import mcp_guard`."""
_NULL: Final = 2.0
"""Milliseconds that two bare Pythons may be apart, at the median."""


def spent(statement: str) -> float:
    """Milliseconds of CPU of a fresh Python that runs this."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True)  # noqa: S603  # ours
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


async def answer(seconds: float, *, tiny: bool = False) -> list[Table]:
    """One table: medians of paired differences."""
    found: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    chance = random.Random(1)  # noqa: S311  # no secret
    for name in STATEMENTS:
        spent(STATEMENTS[name])  # the files are in the system's memory from here on
    least_often = 1 if tiny else 5
    while sum(map(sum, found.values())) < seconds * 1000 or len(found["bare"]) < least_often:  # a median needs some
        for name in chance.sample([*STATEMENTS], len(STATEMENTS)):
            found[name].append(spent(STATEMENTS[name]))

    def over(name: str, base: str) -> float:
        return median(one - other for one, other in zip(found[name], found[base], strict=True))

    table = Table("Imports", ["what", "CPU over the other, median"])
    table.void = abs(over("again", "bare")) > _NULL
    table.rows += [
        ["`import mcp_guard` / bare Python", least(over("guard", "bare"), MOST, "ms")],
        ["`check` and a first contract, jsonschema-rs and all / bare Python", f"{over('core', 'bare'):.3g} ms"],
        ["`import mcp` / bare Python", f"{over('mcp', 'bare'):.3g} ms"],
        ["`guard` where `mcp` is loaded / `import mcp`", f"{over('both', 'mcp'):.3g} ms"],
        ["bare Python / bare Python", f"{over('again', 'bare'):.2g} ms"],
    ]
    return [table]
