"""The OpenAI Agents SDK, with a scripted model and a `FaultyServer` at the other end."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from doors import ARGUMENTS, Seen, patience, raised
from mcp_guard.testing import FaultyServer

NAME: Final = "OpenAI Agents SDK"
LINE: Final = "agent = Agent(name, mcp_servers=[guarded(server)])"
NOTE: Final = (
    "The server is made with `max_retry_attempts=2`, as it often is. Of a call that failed the model is shown a text, "
    "whatever it is: the SDK has no other way to say so."
)
TESTS: Final = "test_door_openai_agents.py"
VERSIONS: Final = (
    ("openai-agents==0.24.0", "mcp>=2,<3"),
    ("openai-agents==0.20.0", "mcp>=2,<3"),
    ("openai-agents==0.24.0", "mcp<2"),
    ("openai-agents==0.14.8", "openai==2.26.0", "mcp<2"),
    ("openai-agents==0.9.0", "openai==2.19.0", "mcp<2"),
)


def mcp_server(server: Any, **options: Any) -> Any:
    """An `MCPServer` that is not connected yet, its streams in memory."""
    base: Any = importlib.import_module("agents.mcp").MCPServerStdio

    class InMemory(base):  # type: ignore[misc]  # what it is made of is Any
        def create_streams(self) -> Any:
            return server.transport()

    retries = {"max_retry_attempts": 2, "retry_backoff_seconds_base": 0.001}
    return InMemory({"command": "none"}, **{**retries, "client_session_timeout_seconds": patience(server), **options})


def scripted(*calls: dict[str, Any]) -> Any:
    """A model that calls `get_stock` with each of these arguments, and then says what it was told, as JSON."""
    agents: Any = importlib.import_module("agents")
    items: Any = importlib.import_module("agents.items")
    responses: Any = importlib.import_module("openai.types.responses")

    def call(number: int, arguments: dict[str, Any]) -> Any:
        return responses.ResponseFunctionToolCall(
            call_id=f"{number}", name="get_stock", arguments=json.dumps(arguments), type="function_call"
        )

    def say(words: str) -> Any:
        text = responses.ResponseOutputText(text=words, type="output_text", annotations=[])
        return responses.ResponseOutputMessage(
            id="2", content=[text], role="assistant", status="completed", type="message"
        )

    class Scripted(agents.Model):  # type: ignore[misc]  # what it is made of is Any
        async def get_response(self, *positional: Any, **named: Any) -> Any:
            given = named["input"] if "input" in named else positional[1]
            told = [each["output"] for each in given if each.get("type") == "function_call_output"]
            output = [say(json.dumps(told))] if told else [call(i, each) for i, each in enumerate(calls)]
            return items.ModelResponse(output=output, usage=agents.Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError  # abstract in the framework, and not called here

    return Scripted()


async def played(server: Any, runs: Counter[str], **options: Any) -> Seen:
    """What comes of one run of an agent that has this server. It is connected here."""
    agents: Any = importlib.import_module("agents")
    try:
        async with server:
            quiet = agents.RunConfig(tracing_disabled=True)
            agent = agents.Agent(name="clerk", model=scripted(ARGUMENTS), mcp_servers=[server], **options)
            result = await agents.Runner.run(agent, "go", run_config=quiet)
    except Exception as error:  # noqa: BLE001  # what it raises is what is to be told
        return Seen(runs["get_stock"], raised=raised(error))
    [output] = json.loads(result.final_output)
    return Seen(runs["get_stock"], told=output if isinstance(output, str) else output[0]["text"])


async def alone(server: FaultyServer) -> Seen:
    """What the SDK does."""
    return await _played(server, lambda made: made)


async def guarded(server: FaultyServer) -> Seen:
    """What it does with the line added."""
    return await _played(server, importlib.import_module("mcp_guard.doors.openai_agents").guarded)


async def _played(server: FaultyServer, door: Callable[[Any], Any]) -> Seen:
    return await played(door(mcp_server(server)), server.runs)
