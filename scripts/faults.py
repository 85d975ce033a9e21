"""Writes docs/faults.md: what each fault does to a plain session of both SDK majors, and to a guarded one.

`make faults` runs it. Each SDK is asked in the environment that the tests use; the table is what was seen. The rows
that a newcomer cares about go into the README as well, in fewer words.
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
README: Final = ROOT / "README.md"
PICKED: Final = (
    "wrong_type",
    "text_only",
    "text_prose",
    "error_payload",
    "page_two",
    "schema_swapped",
    "dangling_ref",
    "unfinished",
    "silent_after_work",
    "hang_up_after_work",
    "slow_pattern",
    "injection_in_value",
)
"""The faults that the README shows, in this order."""
LONGEST: Final = 110
GIVEN_UP: Final = 20.0
"""Seconds after which a process is killed that a slow pattern keeps busy."""
HEAD: Final = """\
# Faults

What a server on a bad day does, and what comes of it: through a plain `ClientSession` of both SDK majors, and through
a guarded one. Each is one line in a test, `FaultyServer("NAME")` or `inject(server, "NAME")`; see
[testing.md](testing.md).

This page is written by `scripts/faults.py` (`make faults`), last on {day}, with {versions}. A call is given two
seconds; "waits for ever" is what a plain session does that has no timeout. A plain session that meets `slow_pattern`
can't be told to stop, so it has a process of its own, which is killed.

| fault | the server | plain, mcp 1.x | plain, mcp 2.x | guarded |
| --- | --- | --- | --- | --- |
"""
BEGIN: Final = "<!-- written by scripts/faults.py -->\n\n"
END: Final = "\n<!-- end -->\n"
FIRST_LOOK: Final = """\
| the server | a plain `ClientSession` | with `guard` |
| --- | --- | --- |
"""
SEEN: Final = "\nSeen on {day} with {versions} by `scripts/faults.py`; [all {number} faults](docs/faults.md).\n"
OUTCOMES: Final = {
    "not_sent": "nothing was sent",
    "rejected": "refused, it says",
    "executed": "the tool ran",
    "unknown": "it may have run",
}


def main() -> None:
    """Ask both SDKs, and write the page and the README's table."""
    one, two = (asked(ROOT / f".venv-mcp{major}" / "bin" / "python") for major in (1, 2))
    versions = f"mcp {one['version']} and {two['version']}"
    day = datetime.now(timezone.utc).date().isoformat()
    rows = [
        f"| `{name}` | {cell(about)} | {cell(one['seen'].get(name, ['there is no such protocol'])[0])} "
        f"| {cell(two['seen'][name][0])} | {cell(guarded(one['seen'].get(name), two['seen'][name]))} |"
        for name, about in two["about"].items()
    ]
    PAGE.write_text(HEAD.format(day=day, versions=versions) + "\n".join(rows) + "\n", encoding="utf-8")
    before, rest = README.read_text(encoding="utf-8").split(BEGIN)
    seen = SEEN.format(day=day, versions=versions, number=len(rows))
    README.write_text(before + BEGIN + first_look(rows) + seen + END + rest.split(END, 1)[1], encoding="utf-8")


def first_look(rows: list[str]) -> str:
    """The README's table, out of the rows of the page."""
    cells = [row.strip("| ").split(" | ") for row in rows]
    by_name = {name.strip("`"): rest for name, *rest in cells}
    told = [(by_name[name][0], alone(*by_name[name][1:3]), behind(by_name[name][3])) for name in PICKED]
    return FIRST_LOOK + "".join(f"| {' | '.join(row)} |\n" for row in told)


def alone(one: str, two: str) -> str:
    """What a plain session gives, in few words: of both majors where they give the same."""
    one, two = brief(one), brief(two)
    if "there is no such protocol" in (one, two) or one == two:
        return two
    return f"1.x: {one}; 2.x: {two}"


def brief(seen: str) -> str:
    """What was seen, in few words, names and data as code."""
    kind, colon, text = seen.partition(": ")
    if kind in {"a result", "the data"}:
        return f"{kind}: {coded(text)}"
    if not colon:
        return seen
    return f"`{kind}`: {text}"


def coded(text: str) -> str:
    """Text as code, where nothing in it is escaped."""
    return text if "&" in text or "\\" in text or "`" in text else f"`{text}`"


def behind(guarded: str) -> str:
    """What the guard gives: the data, or the error and what became of the call."""
    kind, bracket, rest = guarded.partition(" (")
    return f"`{kind}`: {OUTCOMES[rest.rstrip(')').split(', ')[1]]}" if bracket else brief(guarded)


def asked(python: Path) -> dict[str, Any]:
    """What the SDK of this environment does."""
    done = subprocess.run([python, __file__, "--ask"], capture_output=True, check=True, encoding="utf-8")  # noqa: S603  # ours
    answer: dict[str, Any] = json.loads(done.stdout)
    answer["seen"]["slow_pattern"][0] = kept_busy(python)
    return answer


def kept_busy(python: Path) -> str:
    """What a plain session of this environment does with a slow pattern."""
    try:
        subprocess.run([python, __file__, "--slow"], capture_output=True, check=False, timeout=GIVEN_UP)  # noqa: S603  # ours
    except subprocess.TimeoutExpired:
        return f"keeps the whole process busy; killed after {GIVEN_UP:g} s"
    return "ends"


async def slow() -> None:
    """Call the tool with the slow pattern, through a plain session that gives it two seconds."""
    from mcp_guard.testing import FaultyServer

    async with FaultyServer("slow_pattern").session() as session:
        await asyncio.wait_for(session.call_tool("get_stock", {"sku": "A-1"}), timeout=2)


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
    elif "--slow" in sys.argv:
        asyncio.run(slow())
    else:
        main()
