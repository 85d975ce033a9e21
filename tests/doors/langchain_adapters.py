"""langchain-mcp-adapters in an agent of LangChain's, with a scripted model and a `FaultyServer` at the other end."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Final

from doors import ARGUMENTS, Seen, patience, raised
from mcp_guard.testing import FaultyServer

NAME: Final = "langchain-mcp-adapters"
LINE: Final = "tools = await load_mcp_tools(guarded(session))"
NOTE: Final = ""
TESTS: Final = "test_door_langchain.py"
VERSIONS: Final = (
    ("langchain-mcp-adapters==0.3.2", "langchain==1.5.2"),
    ("langchain-mcp-adapters==0.3.1", "langchain==1.3.18", "mcp<2"),
    ("langchain-mcp-adapters==0.3.0", "langchain==1.2.18", "mcp<2"),
)


async def alone(server: FaultyServer) -> Seen:
    """What LangChain does."""
    return await _played(server, lambda session: session)


async def guarded(server: FaultyServer) -> Seen:
    """What it does with the line added."""
    door: Any = importlib.import_module("mcp_guard.doors.langchain").guarded
    return await _played(server, functools.partial(door, timeout=patience(server)))


async def _played(server: FaultyServer, door: Callable[[Any], Any]) -> Seen:
    load: Any = importlib.import_module("langchain_mcp_adapters.tools").load_mcp_tools
    options = {"read_timeout_seconds": timedelta(seconds=patience(server))}
    async with server.session(**options) as session:
        return await played(lambda: load(door(session)), server.runs)


async def played(tools: Callable[[], Awaitable[Any]], runs: Any) -> Seen:
    """An agent whose model calls `get_stock` once and then says that it is done."""
    try:
        message = await asked(await tools())
    except Exception as error:  # noqa: BLE001  # what it raises is what is to be told
        return Seen(runs["get_stock"], raised=raised(error))
    artifact = message.artifact or {}
    failed = message.status == "error"
    return Seen(runs["get_stock"], words(message), failed, artifact.get("structured_content"))


async def asked(tools: Any, arguments: Any = None) -> Any:
    """The `ToolMessage` that a scripted model is shown of its one call."""
    messages: Any = importlib.import_module("langchain_core.messages")
    question = messages.HumanMessage("how many?")
    return tool_message(await scripted(tools, arguments).ainvoke({"messages": [question]}))


def scripted(tools: Any, arguments: Any = None, *, saved: bool = False) -> Any:
    """An agent whose model calls the first tool, and then says that it is done."""
    messages: Any = importlib.import_module("langchain_core.messages")
    agents: Any = importlib.import_module("langchain.agents")
    call = {"name": tools[0].name, "args": ARGUMENTS if arguments is None else arguments, "id": "call-1"}
    model = scripted_model([messages.AIMessage("", tool_calls=[call]), messages.AIMessage("done")])
    saver = importlib.import_module("langgraph.checkpoint.memory").InMemorySaver() if saved else None
    return agents.create_agent(model, tools, checkpointer=saver)


def scripted_model(script: list[Any]) -> Any:
    """A model that says this, one message after the other."""
    fake: Any = importlib.import_module("langchain_core.language_models.fake_chat_models")

    class Scripted(fake.GenericFakeChatModel):  # type: ignore[misc]  # what it is made of is Any
        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

    return Scripted(messages=iter(script))


def tool_message(state: Any) -> Any:
    """The one `ToolMessage` of a run."""
    messages: Any = importlib.import_module("langchain_core.messages")
    [shown] = [each for each in state["messages"] if isinstance(each, messages.ToolMessage)]
    return shown


def words(message: Any) -> str:
    """The text that a message shows to the model."""
    content = message.content
    return content if isinstance(content, str) else "\n".join(block["text"] for block in content)
