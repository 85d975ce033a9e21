"""LlamaIndex, with a scripted model and a `FaultyServer` at the other end."""

from __future__ import annotations

import importlib
import json
from typing import Any, Final

from doors import ARGUMENTS, Seen
from mcp_guard.testing import FaultyServer
from support.recipe import followed, seen

NAME: Final = "LlamaIndex"
LINE: Final = "spec = McpToolSpec(Guarded(guard(session)))"
NOTE: Final = "It reads the first page of a listing alone, and shows the model the `str()` of what the client gives it."
TESTS: Final = "test_recipes.py"
VERSIONS: Final = (("llama-index-tools-mcp==0.6.0",),)


async def alone(server: FaultyServer) -> Seen:
    """What LlamaIndex does."""

    async def played() -> Seen:
        async with server.session() as session:
            return await _asked(importlib.import_module("llama_index.tools.mcp").McpToolSpec(session), server)

    return await seen(server, played)


async def guarded(server: FaultyServer) -> Seen:
    """What it does with the recipe followed."""

    async def played() -> Seen:
        async with server.session() as session:
            names = await followed("guard(session)", server, session=session)
            return await _asked(names["spec"], server)

    return await seen(server, played)


async def _asked(spec: Any, server: FaultyServer) -> Seen:
    """What the model of an agent with these tools was told of its one call."""
    workflow: Any = importlib.import_module("llama_index.core.agent.workflow")
    calling: Any = importlib.import_module("llama_index.core.llms.function_calling")
    llms: Any = importlib.import_module("llama_index.core.llms")
    selection: Any = importlib.import_module("llama_index.core.llms.llm").ToolSelection

    class Scripted(calling.FunctionCallingLLM):  # type: ignore[misc]  # what it is made of is Any
        @property
        def metadata(self) -> Any:
            return llms.LLMMetadata(is_function_calling_model=True, model_name="scripted")

        def _prepare_chat_with_tools(self, *_: Any, chat_history: Any = None, **__: Any) -> dict[str, Any]:
            return {"messages": chat_history or []}

        async def astream_chat(self, messages: Any, **_: Any) -> Any:
            shown = [message.content for message in messages if message.role == "tool"]

            async def said() -> Any:
                kwargs = {} if shown else {"call": True}
                message = llms.ChatMessage(role="assistant", content=json.dumps(shown), additional_kwargs=kwargs)
                yield llms.ChatResponse(message=message, raw={})

            return said()

        def get_tool_calls_from_response(self, response: Any, *_: Any, **__: Any) -> Any:
            call = selection(tool_id="1", tool_name="get_stock", tool_kwargs=ARGUMENTS)
            return [call] if "call" in response.message.additional_kwargs else []

        def chat(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError  # abstract in the framework, and not called here

        complete = stream_chat = stream_complete = achat = acomplete = astream_complete = chat

    running = workflow.FunctionAgent(tools=await spec.to_tool_list_async(), llm=Scripted()).run("go")
    events = [event async for event in running.stream_events()]
    [failed] = [event.tool_output.is_error for event in events if isinstance(event, workflow.ToolCallResult)]
    [words] = json.loads(str(await running))
    return Seen(server.runs["get_stock"], words, failed)
