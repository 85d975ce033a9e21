"""The client under test. The conformance suite starts it, with the server's URL as the last argument.

python conformance/client.py {plain,guard,connect} URL

All three open a session in their own way; what is then done in it is the same code. The scenario's name comes in the
environment, and so does the protocol version that is asked for. Runs on both majors of the SDK.
"""  # noqa: INP001  # a script, no package

from __future__ import annotations

import dataclasses
import importlib
import json
import logging
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio

from mcp_guard import ENFORCE, connect, guard

mcp: Any = importlib.import_module("mcp")  # two majors, and no type checker sees both
TWO: Final = hasattr(mcp, "Client")
MODERN: Final = "2026-07-28"
logger: Final = logging.getLogger("conformance")

OVERRIDES: Final = {"test_custom_headers_null": dataclasses.replace(ENFORCE, arguments="report")}
"""The suite has this tool called with arguments that do not fit its inputSchema, and by default a guard refuses to."""

Scenario = Callable[[Any], Awaitable[None]]


async def elicited(_context: Any, params: Any) -> Any:
    """The user accepts, with the defaults of the form; a question without one is answered yes."""
    schema: Any = getattr(params, "requested_schema", None) or getattr(params, "requestedSchema", None) or {}
    content = {
        name: part.get("default", True)
        for name, part in schema.get("properties", {}).items()
        if "default" in part or part.get("type") == "boolean"
    }
    return mcp.types.ElicitResult(action="accept", content=content)


def options() -> dict[str, Any]:
    """What the SDK's client is given, whoever opens it."""
    asked = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")
    given: dict[str, Any] = {"elicitation_callback": elicited}
    if TWO:
        given["mode"] = "auto" if asked >= MODERN else "legacy"
    return given


@asynccontextmanager
async def opened_by_sdk(url: str, *, guarded: bool) -> AsyncGenerator[Any]:
    """The session as the SDK's documentation opens it, with a guard round it or without."""
    if TWO:
        client = mcp.Client(url, **options())
        async with guard(client, overrides=OVERRIDES) if guarded else client as session:
            yield session
    else:
        transport = importlib.import_module("mcp.client.streamable_http").streamable_http_client
        async with transport(url) as (read, write, _), mcp.ClientSession(read, write, **options()) as session:
            await session.initialize()
            yield guard(session, overrides=OVERRIDES) if guarded else session


async def list_tools(session: Any) -> None:
    """Connect and list the tools."""
    await session.list_tools()


async def call_all(session: Any) -> None:
    """List the tools, and call each with the least it asks for, one after the other."""
    for tool in (await session.list_tools()).tools:
        await session.call_tool(tool.name, least(schema_of(tool)))


async def add_numbers(session: Any) -> None:
    """List the tools, and add two numbers."""
    await session.list_tools()
    await session.call_tool("add_numbers", {"a": 5, "b": 3})


async def custom_headers(session: Any) -> None:
    """Make the calls that the suite gives."""
    await session.list_tools()
    for call in json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]:
        await attempt(session.call_tool(call["name"], call["arguments"]))


async def standard_headers(session: Any) -> None:
    """One request of each kind that has headers of its own."""
    await call_all(session)
    for resource in (await session.list_resources()).resources:
        await session.read_resource(resource.uri)
    for prompt in (await session.list_prompts()).prompts:
        await session.get_prompt(prompt.name, {})


async def try_all(session: Any) -> None:
    """List the tools, and try to call each: some can't be called, whoever tries."""
    for tool in (await session.list_tools()).tools:
        await attempt(session.call_tool(tool.name, least(schema_of(tool))))


async def give_back_schema(session: Any) -> None:
    """Send the schema of one tool to another, as it was received."""
    focal, echo = (await session.list_tools()).tools
    await session.call_tool(echo.name, {"schema": schema_of(focal)})


SCENARIOS: Final[Mapping[str, Scenario]] = {
    "initialize": list_tools,
    "tools_call": add_numbers,
    "elicitation-sep1034-client-defaults": call_all,
    "sse-retry": call_all,
    "request-metadata": try_all,
    "sep-2322-client-request-state": try_all,
    "http-standard-headers": standard_headers,
    "http-custom-headers": custom_headers,
    "http-invalid-tool-headers": try_all,
    "json-schema-ref-no-deref": try_all,
    "json-schema-2020-12-preservation": give_back_schema,
}
"""What is done in each; in one that is not here (an extension that the SDK does not have) the tools are tried."""


async def attempt(call: Awaitable[Any]) -> None:
    """A call that may end with an error."""
    try:
        await call
    except Exception as exc:  # noqa: BLE001  # whatever it is, the next is called too
        logger.warning("%s: %s", type(exc).__name__, exc)


def schema_of(tool: Any) -> dict[str, Any]:
    """A tool's inputSchema, on both majors."""
    schema: dict[str, Any] = tool.input_schema if TWO else tool.inputSchema
    return schema


def least(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that have what is required and no more."""
    values: dict[Any, Any] = {"number": 1, "integer": 1, "boolean": True, "object": {}, "array": [], "null": None}
    properties: dict[str, Any] = schema.get("properties", {})
    return {name: values.get(properties.get(name, {}).get("type"), "x") for name in schema.get("required", [])}


async def main(way: str, url: str) -> None:
    """Open a session, and do what the scenario asks for."""
    scenario = SCENARIOS.get(os.environ["MCP_CONFORMANCE_SCENARIO"], try_all)
    if way == "connect":
        opening: Any = connect(url, client_options=options(), overrides=OVERRIDES)
    else:
        opening = opened_by_sdk(url, guarded=way == "guard")
    async with opening as session:
        await scenario(session)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    anyio.run(main, sys.argv[1], sys.argv[2])
