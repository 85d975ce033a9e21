"""`langchain.mcp`, which goes through FastMCP, in an agent of LangChain's with a scripted model."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any, Final

from doors import Seen, patience, raised
from doors.fastmcp import client
from doors.langchain_adapters import played
from mcp_guard.testing import FaultyServer

NAME: Final = "langchain.mcp"
LINE: Final = "adapter = guarded(MCPAdapter(url))"
NOTE: Final = ""
TESTS: Final = "test_door_langchain.py"
VERSIONS: Final = (
    ("langchain[mcp]==1.5.2", "fastmcp==4.2.3"),
    ("langchain[mcp]==1.5.0", "fastmcp==4.1.7"),
    ("langchain[mcp]==1.4.0", "fastmcp==4.0.11"),
)


def adapter(target: Any) -> Any:
    """An `MCPAdapter` that is not connected yet."""
    importlib.import_module("langchain_core")  # it has its own say on warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is in beta
        return importlib.import_module("langchain.mcp").MCPAdapter(target)


async def alone(server: FaultyServer) -> Seen:
    """What LangChain does."""
    return await _played(server, lambda made: made)


async def guarded(server: FaultyServer) -> Seen:
    """What it does with the line added."""
    return await _played(server, importlib.import_module("mcp_guard.doors.langchain").guarded)


async def _played(server: FaultyServer, door: Callable[[Any], Any]) -> Seen:
    made = door(adapter(client(server, timeout=patience(server))))
    try:
        async with made:
            return await played(made.list_tools, server.runs)
    except Exception as error:  # noqa: BLE001  # the connection may end with it
        return Seen(server.runs["get_stock"], raised=raised(error))
