"""What a server that misbehaves does to a plain MCP session, and to a guarded one. Run it with `make demo`.

The server is a real one, in a process of its own; whatever stands in the table has just happened.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import logging
import os
import sys
import textwrap
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from misbehaving_server import TOOLS, Tool

from mcp_guard import GuardedSession, GuardError, OutputValidationError, Record, guard

SERVER = Path(__file__).with_name("misbehaving_server.py")
PATIENCE = 0.5  # seconds for an answer
SLOW = 0.1  # seconds; what takes longer is told
WIDTHS = (38, 36, 40)
COLOURS = {"strong": "1", "good": "32", "odd": "33", "bad": "31", "dim": "2"}
COLOURED = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@dataclass
class Cell:
    """A cell of the table: a head in colour, and what follows under it."""

    colour: str
    head: str
    rest: str
    told: bool = False
    """Whether the caller is told that something is wrong."""

    def lines(self, width: int) -> Iterator[tuple[str, str]]:
        """Colour and text of each line."""
        yield from ((self.colour, line) for line in textwrap.wrap(self.head, width))
        yield from (("plain", line) for part in self.rest.splitlines() for line in textwrap.wrap(part, width))


@asynccontextmanager
async def connected(*, modern: bool) -> AsyncGenerator[Any, None]:
    """A session of the SDK's with a server process of its own."""
    arguments = [str(SERVER), *(["--modern"] if modern else [])]
    server = StdioServerParameters(command=sys.executable, args=arguments)
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        shake_hands = getattr(session, "discover" if modern else "initialize")
        await shake_hands()
        yield session


def sent(tool: Tool) -> Cell:
    """What the server sends."""
    members = (tool.response or {}).get("result", tool.response or {})
    parts = [f"{key}: {shown(value)}" for key, value in members.items() if key != "content"]
    parts += [f"text: {block['text']}" for block in members.get("content", ())]
    return Cell("strong", tool.story, "\n".join(parts))


async def alone(session: Any, name: str, tool: Tool) -> Cell:
    """What the SDK alone makes of it."""
    began = time.perf_counter()
    try:
        with anyio.fail_after(PATIENCE):
            result = await session.call_tool(name, tool.arguments)
    except TimeoutError:
        return Cell("bad", "waits", f"no answer in {PATIENCE} s, and no timeout unless you set one", told=True)
    except Exception as error:  # noqa: BLE001  # whatever it raises is what we want to see
        took = time.perf_counter() - began
        slow = f" - after {took:.1f} s in which nothing else could run" if took > SLOW else ""
        return Cell("bad", type(error).__name__, "".join(str(error).splitlines()[:1]) + slow, told=True)
    said = result.model_dump(by_alias=True, exclude_none=True)
    data = said.get("structuredContent", "".join(block["text"] for block in said["content"]))
    return Cell("plain", "returned" + (", with isError" if said["isError"] else ""), shown(data), told=said["isError"])


async def guarded(tools: GuardedSession[Any], seen: list[Record], name: str, tool: Tool) -> Cell | GuardError:
    """What the guard makes of it."""
    try:
        data = await tools.call(name, tool.arguments)
    except GuardError as error:
        return error
    record = seen[-1]
    if record.action != "report":
        return Cell("good", f"{record.verdict}: returned", shown(data))
    return Cell("odd", f"{record.verdict}: returned, and reported", "\n".join([shown(data), *record.deviations]))


def shown(data: Any) -> str:
    """Data on one line."""
    return data if isinstance(data, str) else json.dumps(data, separators=(",", ":"))


def painted(colour: str, words: str) -> str:
    """The words in a colour, on a terminal that has some."""
    return f"\x1b[{COLOURS[colour]}m{words}\x1b[0m" if COLOURED and colour in COLOURS else words


def show(*cells: Cell) -> None:
    """Print one row."""
    columns = [cell.lines(width) for cell, width in zip(cells, WIDTHS, strict=True)]
    for row in zip_longest(*columns, fillvalue=("plain", "")):
        parts = [painted(colour, text.ljust(width)) for (colour, text), width in zip(row, WIDTHS, strict=True)]
        print(" | ".join(parts).rstrip())
    print(painted("dim", "-+-".join("-" * width for width in WIDTHS)))


async def rows(*, modern: bool) -> list[tuple[Cell, GuardError | None]]:
    """Call every tool of one server unguarded and guarded, show it, and give what came of both."""
    seen: list[Record] = []
    ends: list[tuple[Cell, GuardError | None]] = []
    async with connected(modern=modern) as session, connected(modern=modern) as other:
        tools = guard(other, timeout=PATIENCE, hooks=[seen.append])
        for name, tool in TOOLS.items():
            if tool.modern != modern:
                continue
            plain, mine = await alone(session, name, tool), await guarded(tools, seen, name, tool)
            ends.append((plain, mine if isinstance(mine, GuardError) else None))
            if isinstance(mine, GuardError):
                verdict = seen[-1].verdict or ("no result" if seen[-1].attempts else "not sent")
                mine = Cell("bad", f"{verdict}: {type(mine).__name__}", str(mine).removeprefix(f"{name}: "))
            show(sent(tool), plain, mine)
    return ends


async def main() -> None:
    """Show the table, what it comes to, and one error from near by."""
    logging.getLogger().addHandler(logging.NullHandler())  # what SDK and guard log would tear the table
    version = importlib.metadata.version("mcp")
    print("A server that misbehaves, in a process of its own; each of its tools is called by a plain session and by a")
    print(f"guarded one. Whoever has to wait gives up after {PATIENCE} s. All that is shown has just happened.\n")
    show(*(Cell("strong", head, "") for head in ("the server sent", f"mcp {version} alone", "with mcp_guard")))
    ends = await rows(modern=False)
    if version.partition(".")[0] != "1":
        ends += await rows(modern=True)
    passed = sum(not plain.told and error is not None for plain, error in ends)
    lost = sum(plain.told and error is None for plain, error in ends)
    print(f"\nOf these {len(ends)} answers, mcp alone passed {passed} on as good that the guard refuses,")
    print(f"and lost {lost} that the guard can use. The first OutputValidationError from near by:\n")
    telling = next(error for _, error in ends if isinstance(error, OutputValidationError))
    for line in telling.explain(values=True).splitlines():
        print(textwrap.fill(line, sum(WIDTHS), subsequent_indent="    "))


if __name__ == "__main__":
    asyncio.run(main())
