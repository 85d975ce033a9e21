"""Microsoft Agent Framework, with a scripted model and a `FaultyServer` at the other end."""

from __future__ import annotations

import importlib
import json
from typing import Any, Final

from doors import ARGUMENTS, Seen
from mcp_guard import install
from mcp_guard.testing import FaultyServer
from support.command import at_a_command
from support.recipe import followed, seen

NAME: Final = "Microsoft Agent Framework"
LINE: Final = "attach(client); agent = Agent(..., middleware=[tell])"
NOTE: Final = ""
TESTS: Final = "test_recipes.py"
VERSIONS: Final = (("agent-framework-core==1.23.0", "mcp>=2.2,<3", "tenacity"),)  # it asks for both when it is used


async def alone(server: FaultyServer) -> Seen:
    """What the framework does."""

    async def played() -> Seen:
        framework: Any = importlib.import_module("agent_framework")
        async with importlib.import_module("mcp").Client(server.transport()) as client:
            tool = framework.MCPStreamableHTTPTool("shop", mcp_client=client)
            return await _asked(framework.Agent(client=_scripted(), tools=tool), server)

    return await seen(server, played)


async def guarded(server: FaultyServer) -> Seen:
    """What it does with the recipe followed."""

    async def played() -> Seen:
        async with importlib.import_module("mcp").Client(server.transport()) as client:
            names = await followed("attach(client)", server, client=client, model=_scripted())
            return await _asked(names["agent"], server)

    return await seen(server, played)


async def installed(server: FaultyServer) -> Seen:
    """What it does where it opens the session itself, with `install` in the place of `attach` in the recipe."""
    async with importlib.import_module("mcp").Client(server.transport()) as client:
        names = await followed("attach(client)", server, client=client, model=_scripted())
    install()
    framework: Any = importlib.import_module("agent_framework")
    with at_a_command(server) as (command, args):
        tool = framework.MCPStdioTool("shop", command=command, args=args)
        return await _asked(framework.Agent(client=_scripted(), tools=tool, middleware=[names["tell"]]), server)


async def _asked(agent: Any, server: FaultyServer) -> Seen:
    async with agent:
        words, error = json.loads(str(await agent.run("go")))
    return Seen(server.runs["get_stock"], words, error is not None)


def _scripted() -> Any:
    """A model that calls `get_stock` once, and then says what it was told of it."""
    framework: Any = importlib.import_module("agent_framework")
    content: Any = framework.Content

    class Scripted(framework.FunctionInvocationLayer, framework.BaseChatClient):  # type: ignore[misc]  # Any
        def _inner_get_response(self, *, messages: Any, **_: Any) -> Any:
            async def said() -> Any:
                parts = [part for message in messages for part in message.contents]
                told = [[part.result, part.exception] for part in parts if part.type == "function_result"]
                call = content.from_function_call(call_id="1", name="get_stock", arguments=json.dumps(ARGUMENTS))
                answer = content.from_text(json.dumps(told[0])) if told else call
                return framework.ChatResponse(messages=[framework.Message(role="assistant", contents=[answer])])

            return said()

    return Scripted()
