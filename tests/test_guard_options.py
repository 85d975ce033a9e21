"""What `guard` and its calls refuse, with a sentence that says what to do; nothing is sent then."""

from __future__ import annotations

import math
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mcp_guard import OBSERVE, Contracts, GuardedSession, Notifications, Policy, attach, guard
from support import SDK_MAJOR, Connect, raw_session, tool
from support.calls import N, data, every_target, guarded, only_2


async def in_vain(_record: Any) -> Any:
    """A hook that would never be awaited."""


BAD_OPTIONS: Any = [
    ({"policy": "ENFORCE"}, "policy takes a Policy, not str"),
    ({"policy": None}, "policy takes a Policy"),
    ({"overrides": [("t", OBSERVE)]}, "overrides takes a dict such as"),
    ({"overrides": {"t": "OBSERVE"}}, r"overrides\['t'\] takes a Policy"),
    ({"safe": "get_stock"}, "safe takes a list, such as"),
    ({"safe": 5}, "safe takes a list, such as"),
    ({"safe": [5]}, "a name in safe takes a str"),
    ({"hooks": print}, r"hooks takes a list, such as hooks=\[print\]"),
    ({"hooks": ["print"]}, "hooks takes plain functions of one Record"),
    ({"hooks": [None]}, "hooks takes plain functions of one Record"),
    ({"hooks": [in_vain]}, "async ones are never awaited"),
    ({"contracts": {}}, "contracts takes a Contracts"),
    ({"server": 5}, "server takes a str"),
    ({"hash_key": "secret"}, "hash_key takes a bytes"),
    ({"timeout": "60"}, "a timeout is a number of seconds, a timedelta or None"),
    ({"timeout": True}, "a timeout is a number of seconds"),
    ({"timeout": -1}, "a timeout is a positive number of seconds"),
    ({"timeout": math.nan}, "a timeout is a positive number of seconds"),
    ({"notifications": print}, "notifications takes the Notifications that was given to the session"),
    ({"seam": "send"}, "seam is 'send'; it takes 'auto', 'send_request' or 'call_tool'"),
]


@pytest.mark.parametrize("options, says", BAD_OPTIONS, ids=lambda x: repr(x)[:28] if isinstance(x, dict) else "")
@pytest.mark.parametrize("wrap", [guard, attach])
async def test_an_option_of_the_wrong_kind_is_refused_with_what_to_do(wrap: Any, options: Any, says: str) -> None:
    async with raw_session() as (session, server):
        with pytest.raises((TypeError, ValueError), match=says):
            wrap(session, **options)
        assert "call_tool" not in vars(session)
        assert server.counts["tools/list"] == 0


async def test_an_unknown_option_is_a_type_error() -> None:
    async with raw_session() as (session, _):
        with pytest.raises(TypeError, match="polcy"):
            attach(session, polcy=OBSERVE)


@pytest.mark.parametrize("options", [{"violating": "log"}, {"deviations": {"fromat": "raise"}}, {"fallback": "on"}])
def test_an_unknown_value_in_a_policy_is_refused_with_the_ones_there_are(options: Any) -> None:
    with pytest.raises(ValueError, match="it takes one of"):
        Policy(**options)


@pytest.mark.parametrize("way", ["call", "call_tool", "judge"])
@pytest.mark.parametrize(
    "args, error, says",
    [
        ((5,), TypeError, "a tool's name is a str, not int"),
        ((None,), TypeError, "a tool's name is a str"),
        ((b"t",), TypeError, "a tool's name is a str"),
        (("t", [1]), TypeError, "arguments of 't' are a dict or None, not list"),
        (("t", '{"a": 1}'), TypeError, "arguments of 't' are a dict or None, not str"),
        (("t", {"a": object()}), TypeError, "the arguments hold what no JSON can be made of"),
    ],
)
@every_target
async def test_a_call_of_the_wrong_kind_is_a_type_error_before_anything_is_sent(
    connect: Connect, way: str, args: Any, error: Any, says: str
) -> None:
    async with guarded(connect, tools=[tool("t")], results={"t": data(1)}) as (tools, server):
        with pytest.raises(error, match=says):
            await getattr(tools, way)(*args)
        assert not server.counts["tools/list"]
        assert not server.counts["tools/call"]


async def test_arguments_that_hold_themselves_are_a_type_error() -> None:
    endless: dict[str, Any] = {}
    endless["a"] = endless
    async with guarded(raw_session, tools=[tool("t")]) as (tools, server):
        with pytest.raises(TypeError, match="no JSON can be made of"):
            await tools.call("t", endless)
        assert not server.counts["tools/call"]


@pytest.mark.parametrize("timeout", ["5", -1, math.nan, True, timedelta(seconds=-1)])
@pytest.mark.parametrize(
    "way, keyword", [("call", "timeout"), ("judge", "timeout"), ("call_tool", "read_timeout_seconds")]
)
async def test_a_timeout_that_is_none_is_refused_before_anything_is_sent(way: str, keyword: str, timeout: Any) -> None:
    async with guarded(raw_session, tools=[tool("t")], results={"t": data({})}) as (tools, server):
        with pytest.raises((TypeError, ValueError), match="a timeout is a"):
            await getattr(tools, way)("t", **{keyword: timeout})
        assert not server.counts["tools/call"]


@pytest.mark.parametrize("target", [None, 5, "http://127.0.0.1/mcp", object(), SimpleNamespace(session=object()), dict])
@pytest.mark.parametrize("wrap", [guard, attach])
def test_what_is_no_session_is_refused_with_what_would_be_taken(wrap: Any, target: Any) -> None:
    with pytest.raises(TypeError, match=r"guard\(\) takes an mcp.ClientSession"):
        wrap(target)


@pytest.mark.parametrize("wrap", [guard, attach])
def test_a_fastmcp_client_is_refused_with_a_pointer(wrap: Any) -> None:
    client = type("Client", (), {"__module__": "fastmcp.client.client", "session": None})
    with pytest.raises(TypeError, match="fastmcp"):
        wrap(client())


async def test_an_object_whose_session_is_one_is_taken() -> None:
    async with raw_session(tools=[tool("t", N)], results={"t": data({"n": 1})}) as (session, _):
        tools = guard(SimpleNamespace(session=session, name="mine"))
        assert await tools.call("t") == {"n": 1}
        assert tools.name == "mine"


@only_2
async def test_the_seam_send_request_is_refused_on_mcp_2() -> None:
    async with raw_session() as (session, _):
        with pytest.raises(ValueError, match="seam='send_request' is for mcp 1"):
            guard(session, seam="send_request")


@pytest.mark.parametrize("seam", ["auto", "call_tool", "send_request"][: 4 - SDK_MAJOR])
@every_target
async def test_each_seam_there_is_gives_the_data(connect: Connect, seam: Any) -> None:
    async with guarded(connect, tools=[tool("t", N)], results={"t": data({"n": 1})}, seam=seam) as (tools, _):
        assert await tools.call("t") == {"n": 1}


@every_target
async def test_nothing_is_sent_and_nothing_changed_by_putting_a_guard_round_a_session(connect: Connect) -> None:
    async with connect(tools=[tool("t", N)]) as (target, server):
        before = dict(vars(target))
        asked = dict(server.counts)
        tools = guard(target)
        assert dict(vars(target)) == before
        assert dict(server.counts) == asked
        assert tools.target is target
        assert len(tools.contracts) == 0


@every_target
async def test_every_other_attribute_is_the_targets_own(connect: Connect) -> None:
    async with guarded(connect, tools=[tool("t", N)]) as (tools, _):
        assert tools.list_tools == tools.target.list_tools
        assert [t.name for t in (await tools.list_tools()).tools] == ["t"]
        with pytest.raises(AttributeError, match="no_such_thing"):
            _ = tools.no_such_thing


async def test_the_repr_names_the_target_and_how_many_contracts_are_known() -> None:
    async with guarded(raw_session, tools=[tool("t", N)]) as (tools, _):
        await tools.refresh()
        assert repr(tools) == "<GuardedSession of ClientSession, 1 contracts>"
        assert isinstance(tools, GuardedSession)


async def test_a_guarded_session_can_be_hashed_and_is_equal_to_itself_alone() -> None:
    async with raw_session() as (session, _):
        one, other = guard(session), guard(session)
        assert len({one, other, one}) == 2


async def test_guards_that_share_contracts_share_what_is_listed_under_their_servers_name() -> None:
    contracts = Contracts()
    options = {"tools": [tool("t", N)], "results": {"t": data({"n": "x"})}, "contracts": contracts}
    async with guarded(raw_session, **options, server="a") as (tools, _):
        await tools.refresh()
    async with guarded(raw_session, **options, server="b") as (tools, server):
        await tools.refresh()
        assert contracts.servers() == ["a", "b"]
        assert tools.contracts is contracts
        assert server.counts["tools/list"] == 1
    async with guarded(raw_session, **options, server="a") as (tools, server):
        assert (await tools.judge("t")).verdict.__class__.__name__ == "Violating"


def test_a_notifications_chain_has_to_be_callable() -> None:
    with pytest.raises(TypeError, match="takes a message handler"):
        Notifications("log")  # type: ignore[arg-type]  # that is the point


async def test_a_guard_is_not_guarded_again() -> None:
    async with raw_session() as (session, _):
        with pytest.raises(TypeError, match="guarded already"):
            guard(guard(session))


async def test_an_async_function_is_no_type_to_ask_for() -> None:
    async with raw_session(tools=[tool("t")], results={"t": {"content": []}}) as (session, server):
        with pytest.raises(TypeError, match="not an async one"):
            await guard(session).call("t", into=cast("Any", in_vain))
        assert server.counts["tools/call"] == 0
