"""strands-agents, with a scripted model and a `FaultyServer` at the other end."""

from __future__ import annotations

import importlib
import json
from typing import Any, Final

from doors import ARGUMENTS, Seen
from mcp_guard.testing import FaultyServer
from support.recipe import followed, left_as_it_was, seen

NAME: Final = "strands-agents"
LINE: Final = "mcp_guard.install(policy=mcp_guard.RELAY)"
NOTE: Final = "It reads the first page of a listing alone."
TESTS: Final = "test_recipes.py"
VERSIONS: Final = (("strands-agents==1.62.0",),)


async def alone(server: FaultyServer) -> Seen:
    """What strands-agents does."""

    async def played() -> Seen:
        strands: Any = importlib.import_module("strands")
        tools: Any = importlib.import_module("strands.tools.mcp")
        with tools.MCPClient(server.transport) as client:
            agent = strands.Agent(model=_scripted(), tools=client.list_tools_sync(), callback_handler=None)
            [told] = json.loads(str(await agent.invoke_async("go")))
        failed = told["status"] == "error"
        return Seen(server.runs["get_stock"], told["content"][0]["text"], failed, told.get("structuredContent"))

    return await seen(server, played)


async def guarded(server: FaultyServer) -> Seen:
    """What it does with the recipe followed."""
    with left_as_it_was():
        await followed(LINE, server)
        return await alone(server)


def _scripted() -> Any:
    models: Any = importlib.import_module("strands.models")

    class Scripted(models.Model):  # type: ignore[misc]  # what it is made of is Any
        def update_config(self, **_: Any) -> None: ...

        def get_config(self) -> dict[str, Any]:
            return {}

        def structured_output(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError  # abstract in the framework, and not called here

        async def stream(self, messages: Any, *_: Any, **__: Any) -> Any:
            told = [part["toolResult"] for part in messages[-1]["content"] if "toolResult" in part]
            call = {"toolUse": {"name": "get_stock", "toolUseId": "1"}}
            said = {"text": json.dumps(told)} if told else {"toolUse": {"input": json.dumps(ARGUMENTS)}}
            yield {"messageStart": {"role": "assistant"}}
            yield {"contentBlockStart": {"start": {} if told else call}}
            yield {"contentBlockDelta": {"delta": said}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn" if told else "tool_use"}}

    return Scripted()
