"""Writes docs/faults.md: what each fault does to a plain session of both SDK majors, and to a guarded one.

`make faults` runs it. Each SDK is asked in the environment that the tests use; the table is what was seen.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "faults.md"
LONGEST: Final = 80
HEAD: Final = """\
# Faults

What a server on a bad day does, and what comes of it: through a plain `ClientSession` of both SDK majors, and through
a guarded one. Each is one line in a test, `FaultyServer("NAME")` or `inject(server, "NAME")`; see
[testing.md](testing.md).

This page is written by `scripts/faults.py` (`make faults`), last on {day}, with {versions}. A call is given two
seconds; "waits for ever" is what a plain session does that has no timeout. `slow_pattern` is not tried with a plain
session, since it would never end.

| fault | the server | plain, mcp 1.x | plain, mcp 2.x | guarded |
| --- | --- | --- | --- | --- |
"""


def main() -> None:
    """Ask both SDKs, and write the page."""
    one, two = (asked(ROOT / f".venv-mcp{major}" / "bin" / "python") for major in (1, 2))
    versions = f"mcp {one['version']} and {two['version']}"
    day = datetime.now(timezone.utc).date().isoformat()
    rows = [
        f"| `{name}` | {cell(about)} | {cell(one['seen'].get(name, ['there is no such protocol'])[0])} "
        f"| {cell(two['seen'][name][0])} | {cell(guarded(one['seen'].get(name), two['seen'][name]))} |"
        for name, about in two["about"].items()
    ]
    PAGE.write_text(HEAD.format(day=day, versions=versions) + "\n".join(rows) + "\n", encoding="utf-8")


def asked(python: Path) -> dict[str, Any]:
    """What the SDK of this environment does."""
    done = subprocess.run([python, __file__, "--ask"], capture_output=True, check=True, encoding="utf-8")  # noqa: S603  # ours
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def guarded(one: list[str] | None, two: list[str]) -> str:
    """What a guarded session gives; on each major where that differs."""
    return two[1] if one is None or one[1] == two[1] else f"{two[1]} (1.x: {one[1]})"


def cell(text: str) -> str:
    """Text in a cell of a Markdown table, cut."""
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


async def ask() -> dict[str, Any]:
    """Try every fault with the installed SDK."""
    from mcp_guard.testing.comparing import compare
    from mcp_guard.testing.faults import FAULTS

    seen = {name: await compare(fault) for name, fault in FAULTS.items()}
    return {
        "version": importlib.metadata.version("mcp"),
        "about": {name: fault.about for name, fault in FAULTS.items()},
        "seen": {name: [s.plain, s.guarded] for name, s in seen.items() if s is not None},
    }


if __name__ == "__main__":
    if "--ask" in sys.argv:
        sys.stdout.write(json.dumps(asyncio.run(ask())))
    else:
        main()
