"""The recipes of docs/doors.md, followed word for word, and what comes of them."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Final

from doors import Seen, patience, raised
from mcp_guard import uninstall
from mcp_guard.testing import FaultyServer
from support.page import blocks, printed

_LONGEST: Final = 180.0
"""Seconds that a framework may take which has no patience of its own, where the server answers."""


async def followed(line: str, server: FaultyServer, **around: Any) -> dict[str, Any]:
    """The names that there are after the recipe with this line, begun with those around.

    The call in that line is told how long to wait for this server, besides what stands there.
    """
    [code] = [code for code, _ in blocks("docs/doors.md", "Recipes") if line in code]
    begun = re.sub(r"(?<=\()timeout=\d+$", "", line.removesuffix(")"))
    comma = "" if begun.endswith("(") else ", "
    await printed(code.replace(line, f"{begun}{comma}timeout={patience(server)})"), around)
    return around


@contextlib.contextmanager
def left_as_it_was() -> Generator[None]:
    """Whatever a recipe does to the SDK: afterwards it is as it was."""
    try:
        yield
    finally:
        uninstall()


async def seen(
    server: FaultyServer, played: Callable[[], Coroutine[Any, Any, Seen]], *, longest: float | None = None
) -> Seen:
    """What comes of this; also where it raises, and where it waits without end: longer than this, in seconds."""
    if longest is None:
        longest = 5.0 if patience(server) < 1 else _LONGEST
    try:
        # no cancel scope of anyio's: mcp-use leaves its own open
        return await asyncio.wait_for(played(), longest)
    except asyncio.TimeoutError:
        return Seen(server.runs["get_stock"], raised=f"TimeoutError: given up after {longest:g} s, it waits longer")
    except Exception as error:  # noqa: BLE001  # what it raises is what is to be told
        return Seen(server.runs["get_stock"], raised=raised(error))
