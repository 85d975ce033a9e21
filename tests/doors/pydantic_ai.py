"""Pydantic AI, with a scripted model and a `FaultyServer` at the other end."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from doors import ARGUMENTS, Seen, patience, raised
from doors.fastmcp import transport
from mcp_guard.testing import FaultyServer

NAME: Final = "Pydantic AI"
LINE: Final = "agent = Agent(model, toolsets=[guarded(MCPToolset(url))])"
NOTE: Final = (
    "The model calls again where Pydantic AI asks it to, which is what a `ModelRetry` does; by default once, and then "
    "the run ends."
)
TESTS: Final = "test_door_pydantic_ai.py"
VERSIONS: Final = (
    ("pydantic-ai-slim[mcp]==2.68.0", "mcp>=2,<3"),
    ("pydantic-ai-slim[mcp]==2.45.0", "mcp>=2,<3"),
    ("pydantic-ai-slim[mcp]==2.68.0", "mcp<2"),
    ("pydantic-ai-slim[mcp]==2.25.0", "mcp<2"),
)


def toolset(server: FaultyServer, **options: Any) -> Any:
    """An `MCPToolset` that is not connected yet."""
    return importlib.import_module("pydantic_ai.mcp").MCPToolset(
        transport(server), **{"read_timeout": patience(server), **options}
    )


def agent(toolsets: list[Any], **options: Any) -> Any:
    """An agent whose model calls `get_stock`, does so again where it is told to, and says what it was told of it."""
    ai: Any = importlib.import_module("pydantic_ai")
    messages: Any = importlib.import_module("pydantic_ai.messages")
    models: Any = importlib.import_module("pydantic_ai.models.function")

    def scripted(history: list[Any], _: Any) -> Any:
        part = history[-1].parts[-1]
        told = part.model_response() if part.part_kind == "retry-prompt" else ""
        if part.part_kind == "tool-return":
            told = part.model_response_str()
        outcome = "retried" if part.part_kind == "retry-prompt" else getattr(part, "outcome", "")
        if not told or outcome == "retried":
            return messages.ModelResponse(parts=[messages.ToolCallPart("get_stock", ARGUMENTS)])
        return messages.ModelResponse(parts=[messages.TextPart(json.dumps([told, outcome != "success"]))])

    return ai.Agent(models.FunctionModel(scripted), toolsets=toolsets, **options)


async def played(made: Any, runs: Counter[str], **options: Any) -> Seen:
    """What comes of one run of an agent that has this toolset."""
    try:
        result = await agent([made], **options).run("go")
    except Exception as error:  # noqa: BLE001  # what it raises is what is to be told
        return Seen(runs["get_stock"], raised=raised(error))
    told, failed = json.loads(result.output)
    return Seen(runs["get_stock"], told=told, failed=failed)


async def alone(server: FaultyServer) -> Seen:
    """What Pydantic AI does."""
    return await _played(server, lambda made: made)


async def guarded(server: FaultyServer) -> Seen:
    """What it does with the line added."""
    return await _played(server, importlib.import_module("mcp_guard.doors.pydantic_ai").guarded)


async def _played(server: FaultyServer, door: Callable[[Any], Any]) -> Seen:
    return await played(door(toolset(server)), server.runs)
