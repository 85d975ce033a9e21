"""The door to FastMCP: what it makes of faults, and what of FastMCP's client goes on working behind it."""

from __future__ import annotations

import asyncio
import importlib
import sys
from typing import Any, Final, Literal

import pytest

from doors import ARGUMENTS, CASES, GOOD, Seen, shop
from doors import fastmcp as framework
from doors.fastmcp import Raw, client, transport
from mcp_guard import (
    ENFORCE,
    STRICT,
    Budget,
    Contract,
    ContractChangedError,
    Contracts,
    OutputValidationError,
    Record,
    ToolExecutionError,
    ToolTimeoutError,
    UnusableContractError,
)
from mcp_guard.doors.fastmcp import guarded
from mcp_guard.testing import GET_STOCK, FaultyServer
from mcp_guard.testing.faults import ANSI, INJECTION
from support import NOTHING, SDK_MAJOR, Request, in_turn, then_changed, tool
from support.calls import N, data, only_2, said
from support.page import blocks, printed

fastmcp: Final[Any] = pytest.importorskip("fastmcp")
exceptions: Final[Any] = importlib.import_module("fastmcp.exceptions")
transports: Final[Any] = importlib.import_module("fastmcp.client.transports")


@pytest.fixture(params=["asyncio"])  # a `fastmcp.Client` knows no other event loop
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The event loop of an async test."""
    backend: str = request.param
    return backend


MISFIT: Final = "OutputValidationError: get_stock: the structured content does not fit its outputSchema: "
RAN: Final = "; the tool already ran"
NOBODY_KNOWS: Final = "; it is not known whether the tool ran"
LOST: Final = "unparsable" if SDK_MAJOR == 1 else "content_missing"
EXPECTED: Final = {
    None: Seen(1, data=GOOD),
    "wrong_type": Seen(1, raised=f"{MISFIT}/sku must be string, found object{RAN}"),
    "page_two": Seen(1, raised=f"{MISFIT}the root must have sku{RAN}"),
    "text_only": Seen(1, data=GOOD),
    "text_prose": Seen(
        1,
        raised="MissingStructuredContentError: get_stock: there is no structured content, and the text is no JSON"
        + RAN,
    ),
    "content_missing": Seen(
        1, raised=f"MalformedResultError: get_stock: the answer is no valid tool result: {LOST}{RAN}"
    ),
    "error_prose": Seen(0, raised="ToolError: The warehouse is on fire."),
    "injection_in_error": Seen(0, raised=f"ToolError: {INJECTION}"),
    "ansi_in_error": Seen(0, raised=f"ToolError: {ANSI}"),
    "injection_in_rpc_error": Seen(
        0,
        raised="ToolProtocolError: get_stock: the server answered with the JSON-RPC error -32603" + NOBODY_KNOWS,
    ),
    "silent_after_work": Seen(1, raised="ToolTimeoutError: get_stock: no answer came in time (0.5 s)" + NOBODY_KNOWS),
}


@pytest.mark.parametrize("fault", [case.fault for case in CASES])
async def test_what_a_program_gets_through_the_door(fault: str | None, modern: bool) -> None:
    assert await framework.guarded(FaultyServer(fault, modern=modern)) == EXPECTED[fault]


async def test_the_data_is_what_fastmcp_makes_of_the_schema() -> None:
    async with guarded(client(FaultyServer("text_only"))) as connected:
        result = await connected.call_tool("get_stock", ARGUMENTS)
        assert (result.data.sku, result.data.quantity, result.is_error) == ("A-1", 3, False)


async def test_raise_on_error_says_what_becomes_of_an_error_of_the_tools_own() -> None:
    async with guarded(client(FaultyServer("error_prose"))) as connected:
        with pytest.raises(exceptions.ToolError, match="on fire"):
            await connected.call_tool("get_stock", ARGUMENTS)
        result = await connected.call_tool("get_stock", ARGUMENTS, raise_on_error=False)
        assert (result.is_error, result.content[0].text) == (True, "The warehouse is on fire.")


@pytest.mark.parametrize("raise_on_error", [True, False])
async def test_what_breaks_the_contract_is_raised_either_way(raise_on_error: bool) -> None:
    async with guarded(client(FaultyServer("wrong_type"))) as connected:
        with pytest.raises(OutputValidationError):
            await connected.call_tool("get_stock", ARGUMENTS, raise_on_error=raise_on_error)


@pytest.mark.parametrize("raise_on_error", [True, False])
async def test_under_enforce_an_error_of_the_tools_own_is_one_of_the_guards(raise_on_error: bool) -> None:
    async with guarded(client(FaultyServer("ansi_in_error")), policy=ENFORCE) as connected:
        with pytest.raises(ToolExecutionError) as caught:
            await connected.call_tool("get_stock", ARGUMENTS, raise_on_error=raise_on_error)
    assert "\x1b" not in str(caught.value)
    assert caught.value.failure.text == ANSI


# --- time


async def test_the_clients_own_timeout_is_the_guards() -> None:
    async with guarded(client(FaultyServer("silent"), timeout=0.2)) as connected:
        with pytest.raises(ToolTimeoutError) as caught:
            await connected.call_tool("get_stock", ARGUMENTS)
    assert caught.value.seconds == 0.2


async def test_a_timeout_given_to_the_door_goes_before_the_clients() -> None:
    async with guarded(client(FaultyServer("silent"), timeout=60), timeout=0.2) as connected:
        with pytest.raises(ToolTimeoutError) as caught:
            await connected.call_tool("get_stock", ARGUMENTS)
    assert caught.value.seconds == 0.2


async def test_a_calls_own_timeout_goes_before_both() -> None:
    async with guarded(client(FaultyServer("silent"), timeout=60), timeout=60) as connected:
        with pytest.raises(ToolTimeoutError) as caught:
            await connected.call_tool("get_stock", ARGUMENTS, timeout=0.2)
    assert caught.value.seconds == 0.2


async def test_a_call_that_is_cancelled_is_cancelled() -> None:
    records: list[Record] = []
    arrived = asyncio.Event()

    def arrive(_: Request) -> Any:
        arrived.set()
        return NOTHING

    server = Raw(tools=[tool("t", N)], results={"t": arrive})
    async with guarded(fastmcp.Client(transport(server)), hooks=[records.append]) as connected:
        call = asyncio.create_task(connected.call_tool("t"))
        await arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    [record] = records
    assert (record.outcome, record.error) == ("unknown", None)


# --- connections


async def test_each_connection_is_guarded_and_so_is_a_clone() -> None:
    server = FaultyServer("wrong_type")
    made = guarded(client(server))
    for one in (made, made, made.new()):
        async with one, one as again:
            with pytest.raises(OutputValidationError):
                await again.call_tool("get_stock", ARGUMENTS)
    assert server.runs["get_stock"] == 3


async def test_hooks_given_as_an_iterator_are_told_of_each_connection() -> None:
    records: list[Record] = []
    made = guarded(client(FaultyServer(None)), hooks=iter([records.append]))
    for _ in range(2):
        async with made:
            await made.call_tool("get_stock", ARGUMENTS)
    assert [record.verdict for record in records] == ["Conforming"] * 2
    assert len({record.arguments_hash for record in records}) == 1, "one key for all of them"


async def test_a_session_that_stdio_keeps_alive_is_guarded_each_time() -> None:
    command = transports.StdioTransport(sys.executable, ["-m", "mcp_guard.testing", "wrong_type"])
    made = guarded(fastmcp.Client(command))
    try:
        for _ in range(2):
            async with made:
                with pytest.raises(OutputValidationError):
                    await made.call_tool("get_stock", ARGUMENTS)
    finally:
        await made.close()


@only_2  # before, the proxy that FastMCP puts between has the SDK's check, and answers with its words
async def test_a_client_of_several_servers_is_guarded_as_the_one_that_it_makes_of_them() -> None:
    command = {"command": sys.executable, "args": ["-m", "mcp_guard.testing", "wrong_type"]}
    config = {"mcpServers": {"one": command, "two": command}}
    async with guarded(fastmcp.Client(config)) as connected:
        with pytest.raises(OutputValidationError) as caught:
            await connected.call_tool("two_get_stock", ARGUMENTS)
    assert caught.value.tool == "two_get_stock"


async def test_the_transport_is_still_taken_for_what_it_is() -> None:
    http = transports.StreamableHttpTransport("http://127.0.0.1:9/mcp")
    made = guarded(fastmcp.Client(http))
    assert isinstance(made.transport, transports.StreamableHttpTransport)
    assert (made.transport.url, repr(made.transport)) == (http.url, f"<guarded {http!r}>")
    made.transport.headers = {"x": "y"}
    assert http.headers == {"x": "y"}


@only_2
async def test_each_client_of_a_group_is_guarded_under_its_name() -> None:
    group_class: Any = importlib.import_module("fastmcp.client.group").ClientGroup
    records: list[Record] = []
    members = {"shop": client(FaultyServer()), "depot": client(FaultyServer("wrong_type"))}
    async with guarded(group_class(members), hooks=[records.append]) as group:
        assert (await group.call_tool("shop_get_stock", ARGUMENTS)).data.quantity == 3
        with pytest.raises(OutputValidationError):
            await group.call_tool("depot_get_stock", ARGUMENTS)
    assert [(record.server, record.tool, record.error) for record in records] == [
        ("shop", "get_stock", None),
        ("depot", "get_stock", "output_violation"),
    ]


@only_2
async def test_pins_of_a_group_are_held_by_the_names_of_its_servers() -> None:
    group_class: Any = importlib.import_module("fastmcp.client.group").ClientGroup
    pins = Contracts()
    pins.learn([Contract.from_tool(GET_STOCK)], server="shop")
    pins.learn([Contract.from_tool({**GET_STOCK, "outputSchema": N})], server="depot")
    members = {"shop": client(FaultyServer()), "depot": client(FaultyServer())}
    async with guarded(group_class(members), pins=pins) as group:
        assert (await group.call_tool("shop_get_stock", ARGUMENTS)).data.quantity == 3
        with pytest.raises(ContractChangedError):
            await group.call_tool("depot_get_stock", ARGUMENTS)


@only_2
def test_a_group_of_which_something_is_not_pinned_is_refused_at_once() -> None:
    group_class: Any = importlib.import_module("fastmcp.client.group").ClientGroup
    pins = Contracts()
    pins.learn([Contract.from_tool(GET_STOCK)], server="shop")
    group = group_class({"shop": client(FaultyServer()), "depot": client(FaultyServer())})
    with pytest.raises(ValueError, match="nothing is pinned of the server 'depot'"):
        guarded(group, pins=pins)
    with pytest.raises(TypeError, match="server is set by the door itself"):
        guarded(group, server="shop")
    assert guarded(group) is group  # nothing was done yet


# --- what the client has besides


async def test_a_change_of_the_tools_is_heard_and_handed_on() -> None:
    heard: list[str] = []

    async def handler(message: Any) -> None:
        heard.append(getattr(message, "root", message).method)

    answers = in_turn(then_changed(data({"n": 1}, '{"n": 1}')), data({"m": 2}, '{"m": 2}'))
    server = Raw(tools=[tool("t", N)], results={"t": answers})
    options = {} if SDK_MAJOR == 1 else {"mode": "legacy"}
    made = guarded(fastmcp.Client(transport(server), message_handler=handler, **options), policy=STRICT)
    async with made as connected:
        await connected.call_tool("t")
        [peer] = server.peers
        peer.tools = [tool("t", {"type": "object", "properties": {"m": {"type": "integer"}}, "required": ["m"]})]
        await connected.ping()  # the notification was sent before the answer to this
        assert (await connected.call_tool("t")).structured_content == {"m": 2}
    assert heard == ["notifications/tools/list_changed"]


@only_2
async def test_rounds_of_input_are_fastmcps_own_also_inside_a_budget() -> None:
    form = {"mode": "form", "message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
    asks = {
        "resultType": "input_required",
        "inputRequests": {"who": {"method": "elicitation/create", "params": form}},
        "requestState": "s",
    }
    server = Raw(tools=[tool("t", N)], results={"t": in_turn(asks, data({"n": 1}, "1"))}, modern=True)

    async def answer(*_: Any) -> Any:
        return {}

    records: list[Record] = []
    made = fastmcp.Client(transport(server), elicitation_handler=answer)
    async with guarded(made, hooks=[records.append]) as connected, Budget(attempts=2) as budget:
        assert (await connected.call_tool("t")).structured_content == {"n": 1}
    assert budget.left.attempts == 0
    assert [(record.verdict, record.action) for record in records] == [("Unfinished", "allow"), ("Conforming", "allow")]


@only_2
async def test_a_result_that_an_extension_claims_is_left_to_it() -> None:
    extension: Any = importlib.import_module("mcp.client.extension")
    types: Any = importlib.import_module("mcp_types")

    class Later(types.Result):  # type: ignore[misc]  # what it is made of is Any
        result_type: Literal["later"] = "later"

    async def resolve(_: Any, context: Any) -> Any:
        return await context.session.call_tool(context.tool_name, {"now": True})

    class Claims(extension.ClientExtension):  # type: ignore[misc]  # the same
        identifier = "org.example/later"

        def claims(self) -> Any:
            return [extension.ResultClaim(result_type="later", model=Later, resolve=resolve)]

    server = Raw(tools=[tool("t", N)], results={"t": in_turn({"resultType": "later"}, said('{"n": 1}'))}, modern=True)
    records: list[Record] = []
    async with guarded(fastmcp.Client(transport(server), extensions=[Claims()]), hooks=[records.append]) as connected:
        assert (await connected.call_tool("t")).structured_content == {"n": 1}
    verdicts = [(record.verdict, record.action) for record in records]
    assert verdicts == [("Unfinished", "allow"), ("Conforming", "report")]


def versions() -> Raw:
    """A server of FastMCP's with two versions of a tool: it lists the newest, and a call may ask for the other."""

    def answer(request: Request) -> Any:
        asked = request.params.get("_meta", {}).get("fastmcp", {}).get("version", "2")
        return data({"n": "ten"} if asked == "1" else {"n": 10})

    return Raw(tools=[tool("price", N, _meta={"fastmcp": {"version": "2"}})], results={"price": answer})


async def test_a_call_of_a_version_that_is_not_listed_is_not_held_against_the_contract_of_another() -> None:
    records: list[Record] = []
    async with guarded(fastmcp.Client(transport(versions())), hooks=[records.append]) as connected:
        assert (await connected.call_tool("price", version="1")).structured_content == {"n": "ten"}
        assert (await connected.call_tool("price", version="2")).structured_content == {"n": 10}
        await connected.call_tool("price")
    assert [record.verdict for record in records] == ["Unchecked", "Conforming", "Conforming"]


async def test_a_policy_that_asks_for_a_contract_refuses_a_version_that_is_not_listed() -> None:
    async with guarded(fastmcp.Client(transport(versions())), policy=STRICT) as connected:
        with pytest.raises(UnusableContractError) as caught:
            await connected.call_tool("price", version="1")
    assert (caught.value.reason, caught.value.outcome) == ("undeclared", "not_sent")


async def test_progress_is_told() -> None:
    server = fastmcp.FastMCP("shop")

    async def slow(ctx: Any) -> int:
        await ctx.report_progress(1, 2)
        return 3

    slow.__annotations__["ctx"] = fastmcp.Context
    server.tool(slow)
    told: list[float] = []

    async def progress(now: float, *_: Any) -> None:
        told.append(now)

    async with guarded(fastmcp.Client(server, progress_handler=progress)) as connected:
        assert (await connected.call_tool("slow")).data == 3
    assert told == [1]


# --- what is refused


@pytest.mark.parametrize("odd", [None, object(), "http://127.0.0.1:9/mcp"])
def test_what_is_no_client_is_refused(odd: Any) -> None:
    with pytest.raises(TypeError, match=r"client takes a fastmcp\.Client or a ClientGroup of them, not "):
        guarded(odd)


async def test_a_client_that_is_connected_is_refused() -> None:
    async with client(FaultyServer()) as connected:
        with pytest.raises(ValueError, match="client is connected"):
            guarded(connected)


def test_a_client_is_guarded_once() -> None:
    with pytest.raises(ValueError, match="guarded already"):
        guarded(guarded(client(FaultyServer())))


@pytest.mark.parametrize(
    "options, says",
    [
        ({"polcy": STRICT}, "polcy"),
        ({"policy": "STRICT"}, "policy takes a Policy"),
        ({"notifications": None}, "notifications is set by the door itself"),
    ],
)
def test_an_option_that_is_wrong_is_refused_at_once(options: dict[str, Any], says: str) -> None:
    made = client(FaultyServer())
    with pytest.raises(TypeError, match=says):
        guarded(made, **options)
    assert repr(made.transport) == "<InMemory>"


def test_where_there_is_no_fastmcp_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastmcp.client.client", None)
    with pytest.raises(ImportError) as caught:
        guarded(object())
    assert str(caught.value) == "this door needs fastmcp: pip install 'mcp-result-guard[fastmcp]'"
    assert isinstance(caught.value.__cause__, ImportError), "it may be there, and not fit the SDK"


async def test_an_unjudged_answer_is_what_the_tools_own_words_are() -> None:
    server = Raw(tools=[tool("t")], results={"t": said("hello")})
    async with guarded(fastmcp.Client(transport(server))) as connected:
        assert (await connected.call_tool("t")).content[0].text == "hello"


async def test_the_page_does_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    [(code, shown)] = blocks("docs/doors.md", "FastMCP")
    assert await printed(code, {"url": transport(Raw(**shop(monkeypatch)))}) == shown
