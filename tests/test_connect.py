"""`connect`: what can be connected to, what is passed on to the SDK, and that everything is closed at the end."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from mcp import StdioServerParameters

from mcp_guard import (
    OBSERVE,
    ConnectionLostError,
    GuardedSession,
    MalformedResultError,
    Notifications,
    OutputValidationError,
    connect,
)
from support import (
    HANG_UP,
    SDK_MAJOR,
    Error,
    Line,
    RawServer,
    in_turn,
    raw_transport,
    sample_server,
    then_changed,
    tool,
)
from support.calls import N, SdkError, data, only_1, only_2

PEER: Final = """
import json, os, sys
print_id = lambda: open(os.environ["PID_FILE"], "w").write(str(os.getpid()))
print_id()
LINES = json.loads(os.environ["LINES"])
for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message.get("method")
    if number is None:
        continue
    if method == "initialize":
        info = {"name": "raw", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        result = {"tools": [{"name": n, "inputSchema": {"type": "object"}, "outputSchema": schema} for n in LINES]}
    elif method == "tools/call":
        print(LINES[message["params"]["name"]].replace("@@ID@@", json.dumps(number)), flush=True)
        continue
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)
"""
GOOD: Final = '{"jsonrpc": "2.0", "id": @@ID@@, "result": {"content": [], "structuredContent": {"n": 1}}}'
BOTH: Final = GOOD[:-1] + ', "error": {"code": 1, "message": "no"}}'


def command(folder: Path, **lines: str) -> StdioServerParameters:
    """A server in a process of its own, whose tools answer with these lines."""
    env = {"PID_FILE": str(folder / "pid"), "LINES": json.dumps(lines)}
    return StdioServerParameters(command=sys.executable, args=["-c", PEER], env=env)


def is_alive(folder: Path) -> bool:
    """Whether the server's process is still there."""
    try:
        os.kill(int((folder / "pid").read_text()), 0)
    except ProcessLookupError:
        return False
    return True


def raw(modern: bool = False, **described: Any) -> RawServer:  # noqa: FBT002  # as the fixture's name
    described = {"tools": [{**tool("t"), "outputSchema": N}], "results": {"t": data({"n": 1})}} | described
    return RawServer(modern=modern, **described)


# --- what can be connected to ---


async def test_a_server_of_this_process_is_run_and_ended() -> None:
    async with connect(sample_server()) as tools:
        assert await tools.call("get_stock", {"sku": "A-1"}) == {"sku": "A-1", "count": 3}


async def test_the_lower_level_server_of_this_process_too() -> None:
    server: Any = sample_server()
    inner = server._mcp_server if SDK_MAJOR == 1 else server._lowlevel_server  # noqa: SLF001  # there is no other way
    async with connect(inner) as tools:
        assert await tools.call("get_stock", {"sku": "A-1"}) == {"sku": "A-1", "count": 3}


async def test_a_transport_is_opened_and_closed(modern: bool) -> None:
    server, closed = raw(modern), anyio.Event()

    @asynccontextmanager
    async def transport() -> AsyncGenerator[Any]:
        async with raw_transport(server) as streams:
            yield streams
        closed.set()

    async with connect(transport()) as tools:
        assert await tools.call("t") == {"n": 1}
        assert not closed.is_set()
    assert closed.is_set()


async def test_a_command_is_run_and_its_process_ended(tmp_path: Path) -> None:
    async with connect(command(tmp_path, t=GOOD)) as tools:
        assert await tools.call("t") == {"n": 1}
        assert is_alive(tmp_path)
    assert not is_alive(tmp_path)


async def test_no_process_is_left_after_a_cancel(tmp_path: Path) -> None:
    with anyio.CancelScope() as scope:
        async with connect(command(tmp_path, t="not an answer")) as tools, anyio.create_task_group() as tasks:
            tasks.start_soon(tools.call, "t")
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
    assert scope.cancelled_caught
    assert not is_alive(tmp_path)


async def test_a_frame_with_result_and_error_is_malformed_over_stdio(tmp_path: Path) -> None:
    async with connect(command(tmp_path, t=BOTH, good=GOOD)) as tools:
        with pytest.raises(MalformedResultError) as caught:
            await tools.call("t")
        assert await tools.call("good") == {"n": 1}
    assert caught.value.outcome == "executed"
    assert caught.value.result == {"content": [], "structuredContent": {"n": 1}}


async def test_lines_over_stdio_stay_in_step_with_noise_between_them(tmp_path: Path) -> None:
    async with connect(command(tmp_path, noisy=f'starting "result" "error"\n\n{GOOD}', t=BOTH)) as tools:
        for _ in range(3):
            assert await tools.call("noisy") == {"n": 1}
            with pytest.raises(MalformedResultError):
                await tools.call("t")


async def test_an_answer_in_another_encoding_is_read_as_the_sdk_reads_it(tmp_path: Path) -> None:
    parameters = command(tmp_path, t=GOOD).model_copy(update={"encoding": "latin-1"})
    async with connect(parameters) as tools:
        assert await tools.call("t", {"word": "\xe9"}) == {"n": 1}


async def test_the_target_is_the_sdks_own(modern: bool) -> None:
    async with connect(raw_transport(raw(modern))) as tools:
        assert isinstance(tools, GuardedSession)
        assert type(tools.target).__name__ == ("ClientSession" if SDK_MAJOR == 1 else "Client")


@pytest.mark.parametrize("wrong", [7, None, b"http://x", object()])
def test_what_can_not_be_connected_to_is_a_type_error(wrong: Any) -> None:
    with pytest.raises(TypeError, match="connect\\(\\) takes a URL"):
        connect(wrong)


@pytest.mark.parametrize("wrong", ["", "python server.py", "ftp://example.org"])
def test_a_text_that_is_no_url_is_a_value_error(wrong: str) -> None:
    with pytest.raises(ValueError, match="StdioServerParameters"):
        connect(wrong)


async def test_a_command_that_is_not_there_raises_what_the_sdk_raises_alone() -> None:
    with pytest.raises(FileNotFoundError):
        async with connect(StdioServerParameters(command="/no/such/command")):
            pytest.fail("connected to nothing")


# --- options ---


@pytest.mark.parametrize("unknown", ["heders", "read_stream", "server"])
def test_an_unknown_option_is_a_type_error_before_anything_is_opened(unknown: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=unknown):
        connect(command(tmp_path, t=GOOD), client_options={unknown: 1})
    with pytest.raises(TypeError, match=unknown):
        connect("http://127.0.0.1:9/mcp", client_options={unknown: 1})
    assert not (tmp_path / "pid").exists()


def test_a_misspelt_option_is_told_what_is_near() -> None:
    with pytest.raises(TypeError, match="'headers'"):
        connect("http://127.0.0.1:9/mcp", client_options={"heders": {}})


def test_options_that_are_no_dict_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="dict"):
        connect("http://127.0.0.1:9/mcp", client_options=[("headers", {})])  # type: ignore[arg-type]  # the point


def test_an_unknown_keyword_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="polcy"):
        connect("http://127.0.0.1:9/mcp", polcy=OBSERVE)  # type: ignore[call-arg]  # the point


async def test_a_message_handler_of_the_users_own_is_told_and_so_is_the_guard() -> None:
    told: list[Any] = []

    async def handler(message: Any) -> None:
        told.append(getattr(message, "root", message))
        await anyio.lowlevel.checkpoint()

    server = raw(results={"t": in_turn(then_changed(data({"n": 1})), data({"n": 1}))})
    async with connect(raw_transport(server), client_options={"message_handler": handler}) as tools:
        await tools.call("t")
        await anyio.wait_all_tasks_blocked()
        await tools.call("t")
    assert [each.method for each in told] == ["notifications/tools/list_changed"]
    assert server.counts["tools/list"] == 2


async def test_notifications_of_the_users_own_are_used() -> None:
    own = Notifications()
    server = raw(results={"t": then_changed(data({"n": 1}))})
    async with connect(raw_transport(server), notifications=own) as tools:
        await tools.call("t")
        await anyio.wait_all_tasks_blocked()
    assert own.changes == 1


def test_a_handler_beside_notifications_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="Notifications"):
        connect(sample_server(), notifications=Notifications(), client_options={"message_handler": print})


async def test_callbacks_are_passed_on() -> None:
    said: list[Any] = []

    async def log(message: Any) -> None:
        said.append(message.data)
        await anyio.lowlevel.checkpoint()

    server = raw()
    async with connect(raw_transport(server), client_options={"logging_callback": log}) as tools:
        await server.notify("notifications/message", level="info", data="hello")
        await tools.call("t")
    assert said == ["hello"]


@only_2
async def test_the_mode_is_passed_on() -> None:
    server = raw()
    async with connect(raw_transport(server), client_options={"mode": "legacy"}):
        pass
    assert not server.counts["server/discover"]


@only_1
def test_an_option_of_the_other_major_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="mode"):
        connect(sample_server(), client_options={"mode": "legacy"})


async def test_the_guards_own_options_are_those_of_guard() -> None:
    records: list[Any] = []
    server = raw(results={"t": data({"n": "one"})})
    async with connect(raw_transport(server), policy=OBSERVE, hooks=[records.append], server="stock") as tools:
        assert await tools.call("t") == {"n": "one"}
    assert [(r.server, r.policy) for r in records] == [("stock", "OBSERVE")]


# --- the end ---


class _OwnError(Exception):
    pass


async def test_an_exception_of_the_body_comes_out_alone(modern: bool) -> None:
    with pytest.raises(_OwnError):
        async with connect(raw_transport(raw(modern))):
            raise _OwnError


async def test_an_error_of_a_call_comes_out_alone(modern: bool) -> None:
    with pytest.raises(OutputValidationError):
        async with connect(raw_transport(raw(modern, results={"t": data({"n": "one"})}))) as tools:
            await tools.call("t")


async def test_a_cancel_ends_a_call_and_the_connection(modern: bool) -> None:
    server = raw(modern, results={"t": Line("")})
    with anyio.move_on_after(0.05) as scope:
        async with connect(raw_transport(server)) as tools:
            await tools.call("t")
    assert scope.cancelled_caught


async def test_a_server_that_hangs_up_is_a_lost_connection(modern: bool) -> None:
    async with connect(raw_transport(raw(modern, results={"t": HANG_UP}))) as tools:
        with pytest.raises(ConnectionLostError):
            await tools.call("t")


async def test_a_transport_that_fails_costs_its_calls_and_not_the_task_that_made_them() -> None:
    fail, server = anyio.Event(), raw(results={"t": Line("")})

    @asynccontextmanager
    async def failing() -> AsyncGenerator[Any]:
        async with raw_transport(server) as streams, anyio.create_task_group() as tasks:

            async def break_down() -> None:
                await fail.wait()
                raise OSError

            tasks.start_soon(break_down)
            yield streams

    async with connect(failing(), timeout=5) as tools, anyio.create_task_group() as tasks:

        async def call() -> None:
            with pytest.raises(ConnectionLostError) as caught:
                await tools.call("t")
            assert caught.value.outcome == "unknown"

        tasks.start_soon(call)
        await server.arrived(lambda s: s.calls["t"] == 1)
        fail.set()


async def test_a_handshake_that_is_refused_raises_the_sdks_error_alone() -> None:
    server = raw(on={"initialize": Error(-32603, "no")})
    with pytest.raises(SdkError):
        async with connect(raw_transport(server)):
            pytest.fail("connected")


async def test_two_connections_at_the_same_time_keep_their_answers_apart(tmp_path: Path) -> None:
    one, other = tmp_path / "1", tmp_path / "2"
    one.mkdir()
    other.mkdir()
    two = GOOD.replace('"n": 1', '"n": 2')
    async with connect(command(one, t=GOOD, b=BOTH)) as first, connect(command(other, t=two, b=two)) as second:
        assert (await first.call("t"), await second.call("t")) == ({"n": 1}, {"n": 2})
        with pytest.raises(MalformedResultError):
            await first.call("b")
        assert await second.call("b") == {"n": 2}


class _OddError(Exception):
    """An error of the caller's that looks like a group."""

    exceptions = ("x",)


@pytest.mark.parametrize("error", [_OddError("mine"), ValueError("mine")])
async def test_what_the_body_raises_comes_out_as_it_is(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        async with connect(sample_server()):
            raise error
    assert caught.value is error
