"""The tests' own peers: what they say arrives as it is, and nothing of them stays behind."""

from __future__ import annotations

import importlib
from typing import Any

import anyio
import pytest

from support import (
    HANG_UP,
    NOTHING,
    SDK_MAJOR,
    SESSIONS,
    Connect,
    Error,
    Line,
    Request,
    in_turn,
    raw_client,
    raw_session,
    sample_server,
    sdk_session,
    then_changed,
    tool,
    when,
)

OK = {"content": [{"type": "text", "text": "ok"}]}
SdkError: Any = vars(importlib.import_module("mcp.shared.exceptions"))["McpError" if SDK_MAJOR == 1 else "MCPError"]


@pytest.fixture(params=SESSIONS, ids=lambda connect: connect.__name__)
def connect(request: pytest.FixtureRequest) -> Connect:
    chosen: Connect = request.param
    return chosen


def as_json(result: Any) -> Any:
    return result.model_dump(by_alias=True, exclude_unset=True)


def cursor(result: Any) -> Any:
    return as_json(result).get("nextCursor")


async def test_a_result_arrives_as_it_was_written(connect: Connect, modern: bool) -> None:
    result = {**OK, "structuredContent": {"n": 2**70}, "isError": False, "_meta": {"a/b": 1}}
    async with connect(tools=[tool("t")], results={"t": result}, modern=modern) as (session, server):
        got = as_json(await session.call_tool("t", {"a": 1}))
        assert {key: got[key] for key in result} == result
        assert [request.arguments for request in server.asked("tools/call")] == [{"a": 1}]
        assert server.counts["tools/call"] == server.calls["t"] == 1


async def test_the_handshake_is_the_one_asked_for(connect: Connect, modern: bool) -> None:
    async with connect(modern=modern) as (session, server):
        await session.list_tools()
        expected = {"server/discover", "tools/list"} if modern else {"initialize", "tools/list"}
        assert set(server.counts) == expected
        assert [note["method"] for note in server.notifications] == ([] if modern else ["notifications/initialized"])


async def test_a_result_without_its_result_type_is_sent_so_when_stamping_is_off() -> None:
    async with raw_session(results={"t": OK}, modern=SDK_MAJOR > 1, stamp=False) as (session, _):
        if SDK_MAJOR == 1:
            assert "resultType" not in as_json(await session.call_tool("t", {}))
        else:
            with pytest.raises(ValueError, match="resultType"):
                await session.call_tool("t", {})


async def test_pages_are_listed_by_cursor_and_a_foreign_cursor_is_refused(modern: bool) -> None:
    types: Any = importlib.import_module("mcp.types")
    async with raw_session(pages=[[tool("a")], [], [tool("b")]], modern=modern) as (session, server):
        names, page = [], await session.list_tools()
        names += [t.name for t in page.tools]
        while cursor(page) is not None:
            page = await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor(page)))
            names += [t.name for t in page.tools]
        assert names == ["a", "b"]
        assert server.counts["tools/list"] == 3
        with pytest.raises(SdkError):
            await session.list_tools(params=types.PaginatedRequestParams(cursor="mine"))


async def test_the_listing_follows_what_the_server_is_given(connect: Connect) -> None:
    async with connect(tools=[tool("a")]) as (session, server):
        assert [t.name for t in (await session.list_tools()).tools] == ["a"]
        server.tools = [tool("b", {"type": "object"}, description="new")]
        assert [t.name for t in (await session.list_tools()).tools] == ["b"]


async def test_an_error_reply_is_the_sdks_protocol_error(connect: Connect, modern: bool) -> None:
    async with connect(results={"t": Error(-32099, "boom", {"a": 1})}, modern=modern) as (session, _):
        with pytest.raises(SdkError, match="boom") as caught:
            await session.call_tool("t", {})
        assert (caught.value.error.code, caught.value.error.data) == (-32099, {"a": 1})
        with pytest.raises(SdkError, match="Unknown tool"):
            await session.call_tool("other", {})


async def test_answers_come_in_turn_and_the_last_repeats(connect: Connect) -> None:
    first, last = {**OK, "isError": True}, OK
    async with connect(results={"t": in_turn(first, last)}) as (session, server):
        got = [as_json(await session.call_tool("t", {})).get("isError", False) for _ in range(3)]
        assert got == [True, False, False]
        assert server.calls == {"t": 3}


async def test_a_function_answers_with_the_request_in_hand(connect: Connect) -> None:
    async def echo(request: Request) -> Any:
        await anyio.lowlevel.checkpoint()
        return {"content": [], "structuredContent": {"got": request.arguments, "nth": request.nth}}

    async with connect(results={"t": echo}) as (session, _):
        assert as_json(await session.call_tool("t", {"x": 1}))["structuredContent"] == {"got": {"x": 1}, "nth": 1}


async def test_a_call_that_is_never_answered_ends_with_the_callers_deadline(connect: Connect, modern: bool) -> None:
    async with connect(results={"t": NOTHING, "u": OK}, modern=modern) as (session, server):
        with anyio.move_on_after(0.05) as scope:
            await session.call_tool("t", {})
        assert scope.cancelled_caught
        assert server.calls["t"] == 1
        await session.call_tool("u", {})


async def test_an_answer_can_wait_while_others_are_given(connect: Connect) -> None:
    event, done = anyio.Event(), []
    async with connect(results={"slow": when(event, OK), "quick": OK}) as (session, server):

        async def call() -> None:
            await session.call_tool("slow", {})
            done.append("slow")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await server.arrived(lambda server: server.calls["slow"] == 1)
            await session.call_tool("quick", {})
            done.append("quick")
            event.set()
        assert done == ["quick", "slow"]


async def test_a_change_of_the_tools_is_notified_after_the_answer(connect: Connect, modern: bool) -> None:
    heard, changed = anyio.Event(), "notifications/tools/list_changed"

    async def listen(message: Any) -> None:
        if getattr(getattr(message, "root", message), "method", None) == changed:
            heard.set()

    key = "session_options" if connect is raw_session else "client_options"
    described = {"results": {"t": then_changed(OK)}, "modern": modern, key: {"message_handler": listen}}
    async with connect(**described) as (session, _):
        assert not heard.is_set()
        await session.call_tool("t", {})
        with anyio.fail_after(5):
            await heard.wait()


async def test_a_connection_that_ends_is_an_error_of_the_call(connect: Connect, modern: bool) -> None:
    async with connect(results={"t": HANG_UP}, modern=modern) as (session, _):
        with pytest.raises(SdkError, match="Connection closed"):
            await session.call_tool("t", {})


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc": "2.0", "id": @@ID@@, "result": [1]}',
        '{"id": @@ID@@, "result": {}}',
        '{"jsonrpc": "2.0", "id": @@ID@@, "result": {"content": [], "structuredContent": {"n": "\\ud800"}}}',
        "no JSON",
    ],
    ids=["array", "no-jsonrpc", "surrogate", "no-json"],
)
async def test_a_line_that_is_no_message_reaches_the_session_as_an_exception(line: str) -> None:
    seen, arrived = [], anyio.Event()

    async def listen(message: Any) -> None:
        if isinstance(message, Exception):
            seen.append(message)
            arrived.set()

    options = {"message_handler": listen}
    async with raw_session(results={"t": Line(line)}, session_options=options) as (session, _):
        with anyio.move_on_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(session.call_tool, "t", {})
                await arrived.wait()
                tasks.cancel_scope.cancel()
        assert len(seen) == 1


async def test_numbers_that_json_does_not_have_pass_as_the_sdk_lets_them() -> None:
    line = '{"jsonrpc": "2.0", "id": @@ID@@, "result": {"content": [], "structuredContent": {"n": NaN}}}'
    async with raw_session(tools=[tool("t")], results={"t": Line(line)}) as (session, _):
        value = as_json(await session.call_tool("t", {}))["structuredContent"]["n"]
        assert value != value  # noqa: PLR0124  # NaN alone does this


async def test_any_method_can_be_given_an_answer(connect: Connect) -> None:
    async with connect(on={"tools/list": in_turn(Error(-32603, "not now"), {"tools": []})}) as (session, server):
        with pytest.raises(SdkError, match="not now"):
            await session.list_tools()
        await session.list_tools()
        assert server.counts["tools/list"] == 2


async def test_a_ping_is_answered_and_an_unknown_method_refused() -> None:
    async with raw_session() as (session, server):
        await session.send_ping()
        assert server.counts["ping"] == 1
        with pytest.raises(SdkError, match="Method not found"):
            await session.list_prompts()


async def test_what_a_test_raises_comes_out_as_it_is(connect: Connect) -> None:
    with pytest.raises(ZeroDivisionError):
        async with connect():
            raise ZeroDivisionError


async def test_no_task_is_left_behind(connect: Connect, modern: bool) -> None:
    before = {task.id for task in anyio.get_running_tasks()}
    async with connect(results={"t": NOTHING}, modern=modern) as (session, _):
        with anyio.move_on_after(0.01):
            await session.call_tool("t", {})
        assert {task.id for task in anyio.get_running_tasks()} > before
    assert {task.id for task in anyio.get_running_tasks()} == before


async def test_a_server_serves_one_connection() -> None:
    async with raw_session() as (_, server):
        with pytest.raises(RuntimeError, match="make another"):
            await server.serve(None, server.put, server.hang_up)  # type: ignore[arg-type]  # refused before it is read


@pytest.mark.skipif(SDK_MAJOR == 1, reason="mcp 1.x has no Client")
async def test_a_client_finds_out_by_itself_which_protocol_is_spoken(modern: bool) -> None:
    async with raw_client(modern=modern, client_options={"mode": "auto"}) as (client, server):
        assert (client.protocol_version == "2026-07-28") is modern
        assert server.counts["server/discover"] == 1


async def test_an_ordinary_server_answers_with_structured_content() -> None:
    async with sdk_session(sample_server()) as session:
        listed = [as_json(t) for t in (await session.list_tools()).tools]
        assert [t["name"] for t in listed] == ["get_stock", "add"]
        assert all("outputSchema" in t for t in listed)
        got = as_json(await session.call_tool("get_stock", {"sku": "A-1"}))
        assert got["structuredContent"] == {"sku": "A-1", "count": 3}
        assert as_json(await session.call_tool("add", {"a": 1, "b": 2}))["structuredContent"] == {"result": 3}
