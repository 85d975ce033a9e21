"""CrewAI, with a scripted model and a `FaultyServer` at a command."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import re
from typing import Any, Final

from doors import ARGUMENTS, Seen, patience
from mcp_guard.testing import FaultyServer
from support.command import at_a_command
from support.recipe import followed, left_as_it_was, seen

NAME: Final = "CrewAI"
LINE: Final = "mcp_guard.install(timeout=25); ClientSession.call_tool = call_tool"
NOTE: Final = (
    "It reads the first page of a listing alone, and shows the model a text, whatever it is. An attempt that is not "
    "answered takes it half a minute; alone, in the last row, it was told to take a second."
)
TESTS: Final = "test_recipes.py"
VERSIONS: Final = (("crewai==1.15.30",),)
_SILENT: Final = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
}


async def alone(server: FaultyServer) -> Seen:
    """What CrewAI does."""
    client: Any = importlib.import_module("crewai.mcp").MCPClient
    defaults = client.__init__.__defaults__
    try:
        if patience(server) < 1:
            _hurry(client)
        return await _played(server)
    finally:
        client.__init__.__defaults__ = defaults


async def asked(kind: str, **where: Any) -> str:
    """What the model was told last, of a server that `crewai.mcp` has this class for."""
    os.environ.update(_SILENT)
    crew: Any = importlib.import_module("crewai")
    server: Any = getattr(importlib.import_module("crewai.mcp"), kind)(**where)
    clerk = crew.Agent(role="clerk", goal="g", backstory="b", llm=_scripted(), mcps=[server])
    return (await asyncio.to_thread(lambda: str(clerk.kickoff("go")))).strip()


async def _played(server: FaultyServer) -> Seen:
    with at_a_command(server) as (command, args):

        async def played() -> Seen:
            return Seen(0, await asked("MCPServerStdio", command=command, args=args))

        played_out = await seen(server, played, longest=300)
    return Seen(server.runs["get_stock"], played_out.told, raised=played_out.raised)


async def guarded(server: FaultyServer) -> Seen:
    """What it does with the recipe followed."""
    session: Any = importlib.import_module("mcp").ClientSession
    own = session.call_tool
    with left_as_it_was():
        try:
            await followed("mcp_guard.install(timeout=25)", server)
            return await _played(server)
        finally:
            session.call_tool = own


def _hurry(client: Any) -> None:
    """A second for a call, and not half a minute: an agent has no way to say so."""
    parameters = [p for p in inspect.signature(client.__init__).parameters.values() if p.default is not p.empty]
    defaults = tuple(1 if p.name == "execution_timeout" else p.default for p in parameters)
    client.__init__.__defaults__ = defaults


def _scripted() -> Any:
    """A model that calls the one tool once, and then says what it was told of it."""
    base: Any = importlib.import_module("crewai.llms.base_llm").BaseLLM

    class Scripted(base):  # type: ignore[misc]  # what it is made of is Any
        def call(self, messages: Any, *_: Any, **__: Any) -> str:
            said = "\n".join(str(message["content"]) for message in messages)
            if "Observation: " not in said.replace("Observation: the result", ""):
                name = re.search(r"Tool Name: (\w+)", said)
                if name is None:
                    return "Thought: I can't call it\nFinal Answer: (there is no tool)"
                arguments = json.dumps({**ARGUMENTS, "warehouse": "BER"})  # to CrewAI every argument is required
                return f"Thought: I call it\nAction: {name[1]}\nAction Input: {arguments}"
            told = said.rpartition("Observation: ")[2].partition("\nAnalyze the tool result.")[0]
            told = told.partition("\n Tool ")[0].strip()
            return f"Thought: I now know the final answer\nFinal Answer: {told}"

    return Scripted(model="scripted")
