"""`ClientSessionGroup` of both majors: names as the group has them, contracts by the name on the wire."""

from __future__ import annotations

import importlib
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from mcp import StdioServerParameters

from mcp_guard import (
    InvalidArgumentsError,
    OutputValidationError,
    Record,
    UnfinishedResultError,
    attach,
    guard,
    install,
    uninstall,
)
from support import RawServer, raw_session, tool
from support.calls import N, as_json, data, only_2, said

GROUPS: Final[Any] = importlib.import_module("mcp.client.session_group")
TYPES: Final[Any] = importlib.import_module("mcp.types")
STOCK: Final = StdioServerParameters(
    command=sys.executable, args=[str(Path(__file__).parents[1] / "examples" / "stock_server.py")]
)
S: Final[dict[str, Any]] = {"type": "object", "properties": {"s": {"type": "string"}}, "required": ["s"]}

Naming = Callable[[str, Any], str]
WAYS: Final = ["install", "guard", "attach"]
every_way = pytest.mark.parametrize("way", WAYS)


def as_is(name: str, _server: Any) -> str:
    return name


def prefixed(name: str, server: Any) -> str:
    return f"{server.name}.{name}"


every_naming = pytest.mark.parametrize("naming", [None, as_is, prefixed], ids=["no hook", "as is", "prefixed"])


@pytest.fixture(autouse=True)
def left_as_it_was() -> Generator[None]:
    """Whatever a test does: afterwards the SDK is as it was."""
    yield
    uninstall()


class Grouped:
    """A group of guarded sessions in memory, by one of the ways there are, and all that its hooks were told."""

    def __init__(self, way: str, naming: Naming | None, stack: AsyncExitStack) -> None:
        self.group: Any = GROUPS.ClientSessionGroup(component_name_hook=naming)
        self.records: list[Record] = []
        self._way = way
        self._stack = stack
        if way == "install":
            install(hooks=[self.records.append])

    async def add(self, server: str, **described: Any) -> RawServer:
        """Connect it with a session to one more server."""
        session, raw = await self._stack.enter_async_context(raw_session(**described))
        if self._way == "attach":
            attach(session, hooks=[self.records.append])
        elif self._way == "guard":
            session = guard(session, hooks=[self.records.append])
        await self.group.connect_with_session(TYPES.Implementation(name=server, version="1"), session)
        return raw


@asynccontextmanager
async def grouped(way: str, naming: Naming | None = None) -> AsyncGenerator[Grouped]:
    async with AsyncExitStack() as stack:
        yield Grouped(way, naming, stack)


@every_way
@every_naming
async def test_a_groups_call_is_judged_once_by_the_contract_of_the_name_on_the_wire(
    way: str, naming: Naming | None
) -> None:
    async with grouped(way, naming) as made:
        server = await made.add("shop", tools=[tool("t", N)], results={"t": data({"n": "x"})})
        (name,) = made.group.tools
        assert name == ("shop.t" if naming is prefixed else "t")
        with pytest.raises(OutputValidationError) as caught:
            await made.group.call_tool(name, {"a": 1})
        assert caught.value.tool == "t"
        assert [(r.tool, r.verdict) for r in made.records] == [("t", "Violating")]
        assert [r.arguments for r in server.asked("tools/call")] == [{"a": 1}]


@every_way
async def test_tools_of_one_name_on_two_servers_are_each_held_against_their_own_contract(way: str) -> None:
    async with grouped(way, prefixed) as made:
        await made.add("a", tools=[tool("t", N)], results={"t": data({"n": 1})})
        await made.add("b", tools=[tool("t", S)], results={"t": data({"s": "one"})})
        assert as_json(await made.group.call_tool("a.t", {}))["structuredContent"] == {"n": 1}
        assert as_json(await made.group.call_tool("b.t", {}))["structuredContent"] == {"s": "one"}
        assert [r.verdict for r in made.records] == ["Conforming"] * 2
        assert len({r.output_fingerprint for r in made.records}) == 2


@every_way
async def test_the_groups_result_is_the_sdks_own_with_what_was_read_from_the_text(way: str) -> None:
    async with grouped(way, prefixed) as made:
        await made.add("shop", tools=[tool("t", N)], results={"t": said('{"n": 1}')})
        result = await made.group.call_tool("shop.t", {})
        assert isinstance(result, TYPES.CallToolResult)
        assert as_json(result)["structuredContent"] == {"n": 1}


@every_way
async def test_a_name_that_the_group_does_not_have_is_its_own_error_and_nothing_is_sent(way: str) -> None:
    async with grouped(way, prefixed) as made:
        server = await made.add("shop", tools=[tool("t", N)], results={"t": data({"n": 1})})
        with pytest.raises(KeyError):
            await made.group.call_tool("t", {})
        assert not server.calls
        assert made.records == []


@every_way
async def test_a_session_that_was_grouped_can_be_taken_out_again(way: str) -> None:
    async with grouped(way, prefixed) as made:
        await made.add("shop", tools=[tool("t", N)], results={"t": data({"n": 1})})
        (session,) = made.group.sessions
        await made.group.disconnect_from_server(session)
        assert made.group.tools == {}


@only_2
@every_way
async def test_a_server_that_wants_input_first_is_our_error_although_the_group_forbids_rounds(way: str) -> None:
    async with grouped(way) as made:
        asking = {"resultType": "input_required", "inputRequests": {}, "requestState": "s"}
        await made.add("shop", tools=[tool("t", N)], results={"t": asking}, modern=True)
        with pytest.raises(UnfinishedResultError):
            await made.group.call_tool("t", {})
        assert isinstance(await made.group.call_tool("t", {}, allow_input_required=True), TYPES.InputRequiredResult)


@every_naming
@pytest.mark.parametrize("way", ["install", "attach"])
async def test_a_session_that_the_group_opens_itself_is_guarded(way: str, naming: Naming | None) -> None:
    if way == "install":
        install()
    async with GROUPS.ClientSessionGroup(component_name_hook=naming) as group:
        session = await group.connect_to_server(STOCK)
        if way == "attach":
            attach(session)
        (name,) = group.tools
        assert as_json(await group.call_tool(name, {"sku": "A-1"}))["structuredContent"]["quantity"] == 3
        with pytest.raises(OutputValidationError, match="get_stock"):
            await group.call_tool(name, {"sku": "B-2"})
        with pytest.raises(InvalidArgumentsError):
            await group.call_tool(name, {"sku": 5})
