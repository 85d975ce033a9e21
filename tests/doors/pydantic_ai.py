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


def scripted(*calls: dict[str, Any]) -> Any:
    """A model that calls `get_stock` with each of these arguments, and does so again where it is told to.

    Then it says what it was told of the last one, and whether that was shown as a failure, as JSON.
    """
    messages: Any = importlib.import_module("pydantic_ai.messages")

    def answer(history: list[Any], _: Any) -> Any:
        part = history[-1].parts[-1]
        outcome = "retried" if part.part_kind == "retry-prompt" else getattr(part, "outcome", "")
        if part.part_kind == "tool-return" and outcome != "retried":
            told = json.dumps([part.model_response_str(), outcome != "success"])
            return messages.ModelResponse(parts=[messages.TextPart(told)])
        return messages.ModelResponse(parts=[messages.ToolCallPart("get_stock", each) for each in calls])

    return importlib.import_module("pydantic_ai.models.function").FunctionModel(answer)


def agent(toolsets: list[Any], **options: Any) -> Any:
    """An agent that calls `get_stock` once, if it is not told to do so again."""
    return importlib.import_module("pydantic_ai").Agent(scripted(ARGUMENTS), toolsets=toolsets, **options)


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
