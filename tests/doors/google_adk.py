"""Google's Agent Development Kit, with a scripted model and a `FaultyServer` at a command."""

from __future__ import annotations

import importlib
import json
from typing import Any, Final

from doors import ARGUMENTS, Seen
from mcp_guard.testing import FaultyServer
from support.command import at_a_command
from support.recipe import followed, left_as_it_was, seen

NAME: Final = "Google ADK"
LINE: Final = "mcp_guard.install(policy=mcp_guard.RELAY)"
NOTE: Final = "It reads the first page of a listing alone. What failed is an object with an `error`, or with `isError`."
TESTS: Final = "test_recipes.py"
VERSIONS: Final = (("google-adk[mcp]==2.13.0", "mcp>=2,<3"), ("google-adk[mcp]==2.13.0", "mcp<2"))


async def alone(server: FaultyServer) -> Seen:
    """What the kit does."""
    with at_a_command(server) as (command, args):

        async def played() -> Seen:
            sdk: Any = importlib.import_module("mcp")
            tools: Any = importlib.import_module("google.adk.tools.mcp_tool")
            parameters = sdk.StdioServerParameters(command=command, args=args)
            toolset = tools.McpToolset(
                connection_params=tools.StdioConnectionParams(server_params=parameters, timeout=60)
            )
            try:
                [told] = json.loads(await _asked(toolset))
            finally:
                await toolset.close()
            failed = "error" in told or told.get("isError", False)
            return Seen(0, _words(told), failed, told.get("structuredContent"))

        played_out = await seen(server, played)
    return Seen(server.runs["get_stock"], played_out.told, played_out.failed, played_out.data, played_out.raised)


async def guarded(server: FaultyServer) -> Seen:
    """What it does with the recipe followed."""
    with left_as_it_was():
        await followed(LINE, server)
        return await alone(server)


def _words(told: Any) -> str:
    words: str = told["error"] if "error" in told else "\n".join(block["text"] for block in told["content"])
    return words


async def _asked(toolset: Any) -> str:
    """What the model of an agent with these tools was told of its one call."""
    agents: Any = importlib.import_module("google.adk.agents")
    models: Any = importlib.import_module("google.adk.models")
    runners: Any = importlib.import_module("google.adk.runners")
    types: Any = importlib.import_module("google.genai.types")

    class Scripted(models.BaseLlm):  # type: ignore[misc]  # what it is made of is Any
        async def generate_content_async(self, request: Any, *_: Any, **__: Any) -> Any:
            parts = [part for content in request.contents for part in content.parts or []]
            told = [part.function_response.response for part in parts if part.function_response]
            call = types.FunctionCall(name="get_stock", args=ARGUMENTS)
            part = types.Part(text=json.dumps(told)) if told else types.Part(function_call=call)
            yield models.LlmResponse(content=types.Content(role="model", parts=[part]))

    runner = runners.InMemoryRunner(
        agent=agents.LlmAgent(name="clerk", model=Scripted(model="scripted"), tools=[toolset])
    )
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
    question = types.Content(role="user", parts=[types.Part(text="go")])
    said = ""
    async for event in runner.run_async(user_id="u", session_id=session.id, new_message=question):
        said = next((part.text for part in event.content.parts if part.text), said)
    return said
