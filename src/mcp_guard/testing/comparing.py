"""`compare`: what one fault does to a plain session of the SDK, and to a guarded one, side by side."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, final

import anyio

from mcp_guard import _words
from mcp_guard._session import guard
from mcp_guard.errors import GuardError
from mcp_guard.testing.faults import FAULTS, Fault
from mcp_guard.testing.server import FaultyServer

_PATIENCE = 2.0
"""Seconds for an answer: what never comes is waited for no longer."""


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """What the caller gets, in a few words: of a plain session, of a guarded one."""

    plain: str
    guarded: str


async def compare(fault: Fault) -> Seen | None:
    """Call the tool of a server with this fault through both; `None` where the installed SDK can't meet it."""
    if fault.modern and find_spec("mcp_types") is None:
        return None
    logger = logging.getLogger("mcp_guard")
    was, logger.disabled = logger.disabled, True  # the table says it
    try:
        return Seen(await _plain(fault), await _guarded(fault))
    finally:
        logger.disabled = was


async def _plain(fault: Fault) -> str:
    if fault is FAULTS["slow_pattern"]:
        return "hangs for ever: the pattern keeps the whole process busy"  # and would keep this one
    said = "waits for ever"
    try:
        async with FaultyServer(fault).session() as session:
            with anyio.move_on_after(_PATIENCE):
                said = _described(await session.call_tool("get_stock", {"sku": "A-1"}))
    except Exception as error:  # noqa: BLE001  # whatever a plain session raises is what is to be seen
        said = f"{type(error).__name__}: {_words.line(str(error).partition(chr(10))[0])}"
    return said


def _described(result: Any) -> str:
    data = result.model_dump(by_alias=True, exclude_none=True, mode="json")
    words = " ".join(str(block.get("text", "")) for block in data.get("content", []))
    shown = repr(data["structuredContent"]) if "structuredContent" in data else _words.escape(words)
    flag = "isError, " if data.get("isError") else ""
    return f"a result: {flag}{shown[:200]}"


async def _guarded(fault: Fault) -> str:
    try:
        async with FaultyServer(fault).session() as session:
            value = await guard(session, timeout=_PATIENCE).call("get_stock", {"sku": "A-1"})
            return f"the data: {value!r}"
    except GuardError as error:
        return f"{type(error).__name__} ({error.kind}, {error.outcome})"
