"""`attach`: afterwards the session itself is guarded, until `detach`. And `async with guard(Client(...))`."""

from __future__ import annotations

from typing import Any

import mcp
import pytest

from mcp_guard import OBSERVE, InvalidArgumentsError, OutputValidationError, attach, guard
from support import LEGACY, MODERN, Connect, RawServer, raw_session, raw_transport, sample_server, sdk_session, tool
from support.calls import N, as_json, data, every_target, only_2, said

BROKEN: Any = {"tools": [tool("t", N)], "results": {"t": data({"n": "x"})}}
READ: Any = {"tools": [tool("t", N)], "results": {"t": said('{"n": 1}')}}


@every_target
async def test_the_targets_own_call_tool_is_guarded(connect: Connect, modern: bool) -> None:
    async with connect(**BROKEN, modern=modern) as (target, _):
        attach(target)
        with pytest.raises(OutputValidationError):
            await target.call_tool("t", {})


@every_target
async def test_it_takes_its_arguments_by_position_and_by_name(connect: Connect) -> None:
    async with connect(**READ) as (target, server):
        attach(target)
        for result in (
            await target.call_tool("t", {"a": 1}),
            await target.call_tool("t", {"a": 1}, None, None),
            await target.call_tool(name="t", arguments={"a": 1}, meta=None),
            await target.call_tool("t", arguments={"a": 1}, read_timeout_seconds=5),
        ):
            assert as_json(result)["structuredContent"] == {"n": 1}
        assert [r.arguments for r in server.asked("tools/call")] == [{"a": 1}] * 4


@every_target
async def test_what_attach_gives_can_call_too(connect: Connect) -> None:
    async with connect(**READ) as (target, server):
        attached = attach(target, policy=OBSERVE)
        assert await attached.call("t", {}) == {"n": 1}
        assert attached.target is target
        assert server.calls["t"] == 1, "once, not once for each way"


@every_target
async def test_detach_gives_the_target_its_own_call_tool_back(connect: Connect) -> None:
    async with connect(**READ) as (target, _):
        before = dict(vars(target))
        attached = attach(target)
        attached.detach()
        assert dict(vars(target)) == before
        with pytest.raises(RuntimeError, match="did not return structured content"):
            await target.call_tool("t", {})
        attached.detach()  # once more does no harm
        assert "call_tool" not in vars(target)


async def test_detach_gives_back_what_somebody_had_put_on_the_very_session() -> None:
    async with raw_session(**READ) as (session, _):
        own, seen = session.call_tool, list[str]()

        async def patched(name: str, *args: Any, **options: Any) -> Any:
            seen.append(name)
            return await own(name, *args, **options)

        session.call_tool = patched
        attach(session, seam="call_tool").detach()
        assert session.call_tool is patched


async def test_detach_leaves_alone_what_somebody_put_over_it() -> None:
    async with raw_session(**READ) as (session, _):
        attached = attach(session)
        over = session.call_tool

        async def patched(*args: Any, **options: Any) -> Any:
            return await over(*args, **options)

        session.call_tool = patched
        attached.detach()
        assert session.call_tool is patched
        assert as_json(await session.call_tool("t", {}))["structuredContent"] == {"n": 1}


@every_target
async def test_attaching_twice_is_a_value_error_and_after_detach_it_is_not(connect: Connect) -> None:
    async with connect(**READ) as (target, _):
        first = attach(target)
        with pytest.raises(ValueError, match="attached already; detach"):
            attach(target)
        assert as_json(await target.call_tool("t", {}))["structuredContent"] == {"n": 1}
        first.detach()
        attach(target)
        assert as_json(await target.call_tool("t", {}))["structuredContent"] == {"n": 1}


async def test_an_attach_that_is_refused_changes_nothing() -> None:
    async with raw_session(**READ) as (session, _):
        before = dict(vars(session))
        with pytest.raises(TypeError):
            attach(session, policy="ENFORCE")
        assert dict(vars(session)) == before


async def test_code_that_insists_on_a_real_session_gets_one() -> None:
    async with sdk_session(sample_server()) as session:
        attach(session)
        assert isinstance(session, mcp.ClientSession)
        assert as_json(await session.call_tool("add", {"a": 1, "b": 2}))["structuredContent"] == {"result": 3}
        with pytest.raises(InvalidArgumentsError):
            await session.call_tool("add", {"a": "one", "b": 2})


@only_2
async def test_a_client_that_is_attached_before_it_is_entered_is_guarded_once_it_is(modern: bool) -> None:
    server = RawServer(**BROKEN, modern=modern)
    client: Any = vars(mcp)["Client"](raw_transport(server), mode="auto" if modern else "legacy")
    attached = attach(client)
    async with client:
        with pytest.raises(OutputValidationError):
            await client.call_tool("t", {})
        attached.detach()
        with pytest.raises(RuntimeError, match="Invalid structured content"):
            await client.call_tool("t", {})


@only_2
async def test_a_client_can_be_entered_through_its_guard(modern: bool) -> None:
    server = RawServer(**READ, modern=modern)
    client: Any = vars(mcp)["Client"](raw_transport(server), mode="auto" if modern else "legacy")
    async with guard(client) as tools:
        assert tools.target is client
        assert await tools.call("t", {}) == {"n": 1}
        assert tools.protocol_version == (MODERN if modern else LEGACY)
        assert [t.name for t in (await tools.list_tools()).tools] == ["t"]
    with pytest.raises(RuntimeError):
        await tools.call("t", {})


@only_2
async def test_a_call_before_the_client_is_entered_is_the_sdks_own_error() -> None:
    client: Any = vars(mcp)["Client"](raw_transport(RawServer()))
    with pytest.raises(RuntimeError) as own:
        await client.call_tool("t", {})
    with pytest.raises(RuntimeError) as ours:
        await guard(client).call_tool("t", {})
    assert str(ours.value) == str(own.value)
