"""mcp-use, with a scripted model of LangChain's and a `FaultyServer` at a command."""

from __future__ import annotations

import importlib
import json
from typing import Any, Final

from doors import ARGUMENTS, Seen
from doors.langchain_adapters import scripted_model
from mcp_guard.testing import FaultyServer
from support.command import at_a_command
from support.recipe import followed, left_as_it_was, seen

NAME: Final = "mcp-use"
LINE: Final = 'mcp_guard.install(policy=replace(mcp_guard.RELAY, arguments="report"))'
NOTE: Final = (
    "What failed is an object with an `error` and `details`, and the Python traceback with them; here are the details."
)
TESTS: Final = "test_recipes.py"
VERSIONS: Final = (("mcp-use==1.7.1",),)


async def alone(server: FaultyServer) -> Seen:
    """What mcp-use does."""
    with at_a_command(server) as (command, args):

        async def played() -> Seen:
            use: Any = importlib.import_module("mcp_use")
            messages: Any = importlib.import_module("langchain_core.messages")
            call = {"name": "get_stock", "args": ARGUMENTS, "id": "1"}
            model = scripted_model([messages.AIMessage("", tool_calls=[call]), messages.AIMessage("done")])
            client = use.MCPClient({"mcpServers": {"shop": {"command": command, "args": args}}})
            try:
                agent = use.MCPAgent(llm=model, client=client, max_steps=5)
                await agent.run("go")
            finally:
                await client.close_all_sessions()
            history = agent.get_conversation_history()
            [told] = [each.content for each in history if isinstance(each, messages.ToolMessage)]
            failure = json.loads(told) if told.startswith('{"error"') else None
            return Seen(0, told) if failure is None else Seen(0, failure["details"], failed=True)

        played_out = await seen(server, played)
    return Seen(server.runs["get_stock"], played_out.told, played_out.failed, raised=played_out.raised)


async def guarded(server: FaultyServer) -> Seen:
    """What it does with the recipe followed."""
    with left_as_it_was():
        await followed(LINE, server)
        return await alone(server)
