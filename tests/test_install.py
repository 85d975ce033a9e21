"""`install`: every session of the process is guarded, each call once, until `uninstall` gives the SDK its own back."""

from __future__ import annotations

import copy
import functools
import gc
import importlib
import importlib.metadata
import inspect
import threading
import urllib.request
import weakref
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import anyio
import mcp
import pytest

from mcp_guard import (
    ENFORCE,
    OBSERVE,
    RELAY,
    Contracts,
    GuardError,
    OutputValidationError,
    Record,
    ToolExecutionError,
    ToolTimeoutError,
    UnfinishedResultError,
    UnusableContractError,
    attach,
    connect,
    guard,
    install,
    uninstall,
    uninstalled,
)
from mcp_guard._sdk.shape import require_caller
from support import (
    SDK_MAJOR,
    SESSIONS,
    Connect,
    RawServer,
    in_turn,
    raw_client,
    raw_session,
    raw_transport,
    tool,
    when,
)
from support.calls import N, as_json, data, every_target, only_1, only_2, said

TYPES: Final[Any] = importlib.import_module("mcp.types")
Session: Final[Any] = mcp.ClientSession
CALLERS: Final[list[Any]] = [Session] if SDK_MAJOR == 1 else [Session, vars(mcp)["Client"]]
OWN: Final = {kind: vars(kind)["call_tool"] for kind in CALLERS}
CHECK: Final = "_validate_tool_result" if SDK_MAJOR == 1 else "validate_tool_result"
RELEASE: Final = tuple(map(int, importlib.metadata.version("mcp").split(".")[:2]))

BROKEN: Final = data({"n": "x"})
SERVER: Final[dict[str, Any]] = {"tools": [tool("t", N)], "results": {"t": BROKEN}}
READ: Final[dict[str, Any]] = {"tools": [tool("t", N)], "results": {"t": said('{"n": 1}')}}
SDK_SAYS: Final = "Invalid structured content"

SEAMS: Final = ["auto", "call_tool"]
every_way = pytest.mark.parametrize(
    "connect_to, seam", [pytest.param(c, seam, id=f"{c.__name__} {seam}") for c in SESSIONS for seam in SEAMS]
)


@pytest.fixture(autouse=True)
def left_as_it_was() -> Generator[None]:
    """Whatever a test does: afterwards the SDK is as it was."""
    yield
    uninstall()
    left = {kind: vars(kind)["call_tool"] for kind in CALLERS}
    for kind, own in OWN.items():
        kind.call_tool = own  # so that one test's failure is not another's
    assert left == OWN


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == "mcp_guard"]


async def is_guarded(target: Any) -> bool:
    """Whether a broken result of `t` is the guard's to refuse, or the SDK's."""
    with pytest.raises(RuntimeError) as caught:
        await target.call_tool("t", {})
    if not isinstance(caught.value, OutputValidationError):
        assert SDK_SAYS in str(caught.value)
    return isinstance(caught.value, OutputValidationError)


# --- on and off


@every_way
async def test_a_session_that_somebody_else_builds_is_guarded_and_each_call_judged_once(
    connect_to: Connect, seam: Any, modern: bool
) -> None:
    records: list[Record] = []
    install(hooks=[records.append], seam=seam)
    async with connect_to(**SERVER, modern=modern) as (target, server):
        assert await is_guarded(target)
        assert await is_guarded(target)
    assert [(r.tool, r.verdict, r.outcome) for r in records] == [("t", "Violating", "executed")] * 2
    assert server.calls["t"] == 2


@every_target
async def test_a_session_that_is_open_already_is_guarded_from_its_next_call_until_uninstall(
    connect: Connect,
) -> None:
    async with connect(**SERVER) as (target, _):
        assert not await is_guarded(target)
        install()
        assert await is_guarded(target)
        uninstall()
        assert not await is_guarded(target)
        install(policy=OBSERVE)
        assert as_json(await target.call_tool("t", {}))["structuredContent"] == {"n": "x"}, "its new guard, not the old"


def test_uninstall_gives_the_very_attributes_back_and_may_be_called_at_any_time() -> None:
    uninstall()
    install()
    assert all(vars(kind)["call_tool"] is not own for kind, own in OWN.items())
    uninstall()
    assert all(vars(kind)["call_tool"] is own for kind, own in OWN.items())
    uninstall()


def test_what_is_installed_looks_like_what_it_stands_for() -> None:
    install()
    for kind, own in OWN.items():
        assert inspect.iscoroutinefunction(kind.call_tool)
        assert inspect.signature(kind.call_tool) == inspect.signature(own)
        assert kind.call_tool.__qualname__ == own.__qualname__


@every_target
async def test_it_takes_its_arguments_by_position_and_by_name_as_the_sdk_does(connect: Connect) -> None:
    install()
    async with connect(**READ) as (target, server):
        for result in (
            await target.call_tool("t", {"a": 1}),
            await target.call_tool("t", {"a": 1}, None, None),
            await target.call_tool(arguments={"a": 1}, name="t"),
            await target.call_tool("t", arguments={"a": 1}, read_timeout_seconds=5),
        ):
            assert isinstance(result, TYPES.CallToolResult)
            assert as_json(result)["structuredContent"] == {"n": 1}
        assert [r.arguments for r in server.asked("tools/call")] == [{"a": 1}] * 4
        assert server.counts["tools/list"] == 1, "one guard for one session"
        with pytest.raises(TypeError, match="name"):
            await target.call_tool(arguments={})
        with pytest.raises(TypeError, match="unheard_of"):
            await target.call_tool("t", {}, unheard_of=1)


@every_target
async def test_what_the_tool_reports_is_an_error_of_ours_and_under_relay_a_result(connect: Connect) -> None:
    options: dict[str, Any] = {"tools": [tool("t", N)], "results": {"t": said("no", isError=True)}}
    async with connect(**options) as (target, _):
        install()
        with pytest.raises(ToolExecutionError):
            await target.call_tool("t", {})
        uninstall()
        install(policy=RELAY)
        assert as_json(await target.call_tool("t", {}))["isError"] is True


# --- what is installed twice, and what can't be


def test_to_install_the_same_again_is_nothing() -> None:
    install(hooks=[print], safe=(name for name in ["t"]), overrides={"t": OBSERVE})
    put = {kind: vars(kind)["call_tool"] for kind in CALLERS}
    install(hooks=iter([print]), safe=["t"], overrides={"t": OBSERVE}, timeout=60, policy=ENFORCE, seam="auto")
    assert {kind: vars(kind)["call_tool"] for kind in CALLERS} == put


async def test_to_install_something_else_over_it_is_a_value_error_that_names_it() -> None:
    install(policy=OBSERVE, timeout=5)
    with pytest.raises(ValueError, match=r"installed already, with another policy, timeout; uninstall\(\) it first"):
        install()
    async with raw_session(**SERVER) as (session, _):
        assert as_json(await session.call_tool("t", {}))["structuredContent"] == {"n": "x"}, "the first one holds"


@pytest.mark.parametrize("options, says", [({"polcy": OBSERVE}, "polcy"), ({"timeout": "5"}, "a timeout is a number")])
def test_what_is_wrong_with_an_option_is_said_also_where_other_options_are_installed(options: Any, says: str) -> None:
    install(policy=OBSERVE)
    with pytest.raises(TypeError, match=says):
        install(**options)


async def test_what_is_changed_in_the_callers_own_list_or_dict_changes_nothing() -> None:
    hooks, overrides = list[Any](), {"t": OBSERVE}
    install(hooks=hooks, overrides=overrides)
    hooks.append(None)
    overrides.clear()
    async with raw_session(**SERVER) as (session, _):
        await session.call_tool("t", {})
    with pytest.raises(ValueError, match="hooks, overrides"):
        install(hooks=[print], overrides=overrides)


@pytest.mark.parametrize(
    "options, error, says",
    [
        ({"polcy": OBSERVE}, TypeError, "polcy"),
        ({"policy": "ENFORCE"}, TypeError, "policy takes a Policy"),
        ({"hooks": print}, TypeError, "hooks takes a list"),
        ({"safe": "t"}, TypeError, "safe takes a list"),
        ({"timeout": "60"}, TypeError, "a timeout is a number"),
        ({"retry": 2}, TypeError, "retry takes a Retry"),
        ({"seam": "send"}, ValueError, "seam is 'send'"),
        ({"pins": "no-such.lock"}, FileNotFoundError, "there is no lock file no-such.lock"),
        ({"contracts": Contracts()}, ValueError, "name the one server that they are of, server="),
    ],
)
def test_an_option_that_is_refused_is_refused_at_once_and_changes_nothing(options: Any, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        install(**options)
    assert {kind: vars(kind)["call_tool"] for kind in CALLERS} == OWN
    install()


@only_2
def test_the_seam_send_request_is_refused_on_mcp_2() -> None:
    with pytest.raises(ValueError, match="seam='send_request' is for mcp 1"):
        install(seam="send_request")


async def _other(self: Any, tool: str) -> None:
    del self, tool


def _sync(self: Any, name: Any, arguments: Any, read_timeout_seconds: Any, progress_callback: Any) -> None:
    del self, name, arguments, read_timeout_seconds, progress_callback


async def _reordered(
    self: Any, name: Any, read_timeout_seconds: Any = None, arguments: Any = None, progress_callback: Any = None
) -> None:
    del self, name, read_timeout_seconds, arguments, progress_callback


SHAPES: Final[list[Any]] = [
    pytest.param("call_tool", _other, id="call_tool takes other things"),
    pytest.param("call_tool", _reordered, id="call_tool takes them in another order"),
    pytest.param("call_tool", _sync, id="call_tool is no coroutine"),
    pytest.param("call_tool", None, id="call_tool is gone"),
    pytest.param("send_request", _other, id="send_request takes other things"),
    pytest.param(CHECK, _other, id="the check takes other things"),
    pytest.param(CHECK, None, id="the check is gone"),
]


@pytest.mark.parametrize("method, found", SHAPES)
def test_an_sdk_of_another_shape_is_refused_and_left_as_it_is(
    method: str, found: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Session, method, found)
        before = {kind: dict(vars(kind)) for kind in CALLERS}
        with pytest.raises(TypeError, match=rf"does not know this shape of ClientSession: .* {method}\(self, "):
            install(seam="call_tool")
        assert {kind: dict(vars(kind)) for kind in CALLERS} == before
    install(seam="call_tool")


def test_a_class_whose_call_tool_has_moved_to_its_base_is_refused() -> None:
    with pytest.raises(TypeError, match="does not know this shape of Moved: it has no call_tool of its own"):
        require_caller(type("Moved", (Session,), {}))


# --- while calls are under way


@every_target
async def test_a_call_that_is_under_way_at_install_ends_as_it_began(connect: Connect) -> None:
    release, sdks = anyio.Event(), list[bool]()
    async with connect(tools=[tool("t", N)], results={"t": in_turn(when(release, BROKEN), BROKEN)}) as (target, server):

        async def call() -> None:
            sdks.append(not await is_guarded(target))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await server.arrived(lambda server: server.calls["t"] == 1)
            install()
            assert await is_guarded(target)
            release.set()
        assert sdks == [True]


@every_way
async def test_a_guarded_call_that_is_under_way_at_uninstall_ends_guarded(connect_to: Connect, seam: Any) -> None:
    release, ours = anyio.Event(), list[bool]()
    described: dict[str, Any] = {"tools": [tool("t", N)], "results": {"t": in_turn(when(release, BROKEN), BROKEN)}}
    async with connect_to(**described) as (target, server):

        async def call() -> None:
            ours.append(await is_guarded(target))

        install(seam=seam)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await server.arrived(lambda server: server.calls["t"] == 1)
            uninstall()
            assert not await is_guarded(target)
            release.set()
        assert ours == [True]


# --- where it does not hold


@every_target
async def test_inside_uninstalled_it_is_as_if_nothing_were_installed_and_only_there(connect: Connect) -> None:
    inside, elsewhere = list[bool](), list[bool]()
    install()
    async with connect(**SERVER) as (target, _):
        began, checked = anyio.Event(), anyio.Event()

        async def other() -> None:
            await began.wait()
            elsewhere.append(await is_guarded(target))
            checked.set()

        async def child() -> None:
            inside.append(await is_guarded(target))

        async with anyio.create_task_group() as outer:
            outer.start_soon(other)
            with uninstalled():
                began.set()
                await checked.wait()
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(child)
                with uninstalled():
                    pass
                inside.append(await is_guarded(target))
        assert (inside, elsewhere) == ([False, False], [True])
        assert await is_guarded(target)
        with pytest.raises(KeyError), uninstalled():
            raise KeyError
        assert await is_guarded(target)


@every_target
async def test_ones_own_guards_are_none_the_less_so_inside_uninstalled(connect: Connect) -> None:
    install()
    async with connect(**SERVER) as (target, _):
        with uninstalled():
            assert await is_guarded(guard(target))


# --- beside guards of one's own


@pytest.mark.parametrize("first", ["the guard", "install"])
@every_way
async def test_what_has_a_guard_of_its_own_is_left_to_that(connect_to: Connect, seam: Any, first: str) -> None:
    mine, installed = list[Record](), list[Record]()
    async with connect_to(**SERVER) as (target, server):
        if first == "install":
            install(hooks=[installed.append], seam=seam)
        tools = guard(target, hooks=[mine.append], seam=seam)
        if first == "the guard":
            install(hooks=[installed.append], seam=seam)
        assert await is_guarded(tools)
        assert (len(mine), len(installed)) == (1, 0)
        assert await is_guarded(target)
        assert (len(mine), len(installed)) == (1, 1)
        assert server.calls["t"] == 2


@pytest.mark.parametrize("first", ["attach", "install"])
@every_way
async def test_a_session_that_is_attached_is_left_to_that_until_it_is_detached(
    connect_to: Connect, seam: Any, first: str
) -> None:
    mine, installed = list[Record](), list[Record]()
    async with connect_to(**SERVER) as (target, _):
        if first == "install":
            install(hooks=[installed.append], seam=seam)
        attached = attach(target, hooks=[mine.append], seam=seam)
        if first == "attach":
            install(hooks=[installed.append], seam=seam)
        assert await is_guarded(target)
        assert (len(mine), len(installed)) == (1, 0)
        attached.detach()
        assert await is_guarded(target)
        assert (len(mine), len(installed)) == (1, 1)


async def test_a_connection_of_ones_own_is_left_to_its_guard() -> None:
    mine, installed = list[Record](), list[Record]()
    install(hooks=[installed.append])

    @asynccontextmanager
    async def transport() -> AsyncGenerator[Any]:
        async with raw_transport(RawServer(**SERVER)) as streams:
            yield streams

    async with connect(transport(), hooks=[mine.append]) as tools:
        assert await is_guarded(tools)
    assert (len(mine), len(installed)) == (1, 0)


# --- subclasses, instances, patches


@every_way
async def test_a_subclass_that_calls_what_it_overrides_is_guarded_below_that(
    connect_to: Connect, seam: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    records: list[Record] = []
    kind = CALLERS[SESSIONS.index(connect_to)]

    class Traced(kind):  # type: ignore[misc,valid-type]  # the SDK's own class is Any here
        async def call_tool(self, name: str, *args: Any, **options: Any) -> Any:
            seen.append(name)
            return await super().call_tool(name, *args, **options)

    monkeypatch.setattr(mcp, kind.__name__, Traced)
    install(hooks=[records.append], seam=seam)
    async with connect_to(**SERVER) as (target, server):
        assert isinstance(target, Traced)
        assert await is_guarded(target)
        assert (seen, len(records), server.calls["t"]) == (["t"], 1, 1)
    assert lines(caplog) == []


async def test_a_subclass_that_does_not_call_it_is_out_of_reach() -> None:
    class Alone(Session):  # type: ignore[misc]  # the SDK's own class is Any here
        async def call_tool(self, name: str, *_args: Any, **_options: Any) -> Any:
            await anyio.lowlevel.checkpoint()
            return name

    install()
    assert await object.__new__(Alone).call_tool("t") == "t"


@every_target
async def test_what_somebody_put_on_the_very_session_is_guarded_where_it_calls_the_class(connect: Connect) -> None:
    seen: list[str] = []
    async with connect(**SERVER) as (target, _):
        kind, taken = type(target), target.call_tool

        async def patched(name: str, *args: Any, **options: Any) -> Any:
            seen.append(name)
            return await kind.call_tool(target, name, *args, **options)

        target.call_tool = patched
        install()
        assert await is_guarded(target)
        assert seen == ["t"]
        del target.call_tool
        if isinstance(target, Session):
            with pytest.raises(RuntimeError, match=SDK_SAYS):  # what was taken before is what it was
                await taken("t", {})


def traced(kind: Any, seen: list[str], *, wraps: bool) -> Any:
    """Put over a class's `call_tool` what instrumentation puts there."""
    own = vars(kind)["call_tool"]

    async def patched(self: Any, *args: Any, **options: Any) -> Any:
        seen.append(args[0])
        return await own(self, *args, **options)

    kind.call_tool = functools.wraps(own)(patched) if wraps else patched
    return vars(kind)["call_tool"]


@pytest.mark.parametrize("wraps", [True, False])
async def test_what_was_patched_before_is_called_and_is_there_again_afterwards(wraps: bool) -> None:
    seen: list[str] = []
    patched = traced(Session, seen, wraps=wraps)
    try:
        install(seam="call_tool")
        async with raw_session(**SERVER) as (session, _):
            assert await is_guarded(session)
        assert seen == ["t"]
        uninstall()
        assert vars(Session)["call_tool"] is patched
    finally:
        Session.call_tool = OWN[Session]


@only_1
@pytest.mark.parametrize("wraps", [True, False])
async def test_on_mcp_1_the_log_says_once_what_was_patched_before_and_is_gone_past(
    wraps: bool, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []
    traced(Session, seen, wraps=wraps)
    try:
        install()
        for _ in range(2):
            async with raw_session(**SERVER) as (session, _):
                assert await is_guarded(session)
        uninstall()
    finally:
        Session.call_tool = OWN[Session]
    assert seen == []
    assert ["is patched or overridden" in line for line in lines(caplog)] == [True]
    assert 'install(seam="call_tool") goes through it' in lines(caplog)[0]


@only_1
async def test_a_guard_of_ones_own_says_nothing_of_what_install_put_there_but_of_what_is_under_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with raw_session(**READ) as (session, _):
        install()
        guard(session)
        assert lines(caplog) == []
        traced(Session, [], wraps=True)
        guard(session)
        assert ["is patched or overridden" in line for line in lines(caplog)] == [True]
        Session.call_tool = OWN[Session]


@pytest.mark.parametrize("wraps", [True, False])
@every_target
async def test_what_is_patched_over_it_is_called_and_stays_and_its_calls_are_guarded_once(
    connect: Connect, wraps: bool, caplog: pytest.LogCaptureFixture
) -> None:
    seen, records = list[str](), list[Record]()
    kind = CALLERS[SESSIONS.index(connect)]
    install(hooks=[records.append])
    patched = traced(kind, seen, wraps=wraps)
    try:
        async with connect(**SERVER) as (target, _):
            assert await is_guarded(target)
            assert (len(seen), len(records)) == (1, 1)
            install(hooks=[records.append])  # over theirs
            assert await is_guarded(target)
            assert (len(seen), len(records)) == (1 if SDK_MAJOR == 1 else 2, 2)
            uninstall()
            assert vars(kind)["call_tool"] is patched
            assert not await is_guarded(target)
            assert len(records) == 2
    finally:
        kind.call_tool = OWN[kind]
    assert not [line for line in lines(caplog) if "it is left as it is" in line]


async def test_what_stands_over_it_at_uninstall_is_left_there_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    install()
    patched = traced(Session, [], wraps=True)
    uninstall()
    assert vars(Session)["call_tool"] is patched
    assert ["ClientSession.call_tool is not what install() put there" in line for line in lines(caplog)] == [True]
    async with raw_session(**SERVER) as (session, _):
        assert not await is_guarded(session)
    Session.call_tool = OWN[Session]


async def test_where_somebody_took_it_away_it_can_be_installed_again() -> None:
    install()
    Session.call_tool = OWN[Session]
    install()
    async with raw_session(**SERVER) as (session, _):
        assert await is_guarded(session)


# --- the guard of a session


@every_target
async def test_a_guard_is_gone_with_its_session(connect: Connect) -> None:
    install()
    async with connect(**SERVER) as (target, _):
        assert await is_guarded(target)
        gone = [weakref.ref(target), weakref.ref(vars(target)["_mcp_guard_installed"][1])]
    del target
    await anyio.lowlevel.checkpoint()
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


@every_target
async def test_a_copy_of_a_session_has_a_guard_of_its_own(connect: Connect) -> None:
    records: list[Record] = []
    install(hooks=[records.append])
    async with connect(**SERVER) as (target, _):
        assert await is_guarded(target)
        copied = copy.copy(target)
        copied.call_tool_was = "copied"
        assert await is_guarded(copied)
        assert vars(copied)["_mcp_guard_installed"][1].target is copied
    assert len(records) == 2


async def test_arguments_are_hashed_with_one_key_for_all_sessions() -> None:
    records: list[Record] = []
    install(hooks=[records.append])
    for _ in range(2):
        async with raw_session(**SERVER) as (session, _):
            assert await is_guarded(session)
    assert len({r.arguments_hash for r in records}) == 1


async def test_shared_contracts_of_one_server_are_listed_once() -> None:
    install(contracts=Contracts(), server="shop")
    listings = 0
    for _ in range(3):
        async with raw_session(**READ) as (session, server):
            await session.call_tool("t", {})
            listings += server.counts["tools/list"]
    assert listings == 1


async def test_pins_are_read_once_from_their_file(tmp_path: Path) -> None:
    lock = tmp_path / "mcp-guard.lock"
    async with raw_session(**READ) as (session, _):
        (await guard(session).refresh()).save(lock)
    install(pins=lock)
    lock.unlink()
    install(pins=lock)
    async with raw_session(**READ) as (session, _):
        assert as_json(await session.call_tool("t", {}))["structuredContent"] == {"n": 1}
    async with raw_session(tools=[tool("t", N), tool("u", N)], results=READ["results"]) as (session, _):
        with pytest.raises(GuardError, match=r"changed"):
            await session.call_tool("u", {})


# --- rounds, on mcp 2.x

ASK: Final = {
    "resultType": "input_required",
    "inputRequests": {
        "a": {
            "method": "elicitation/create",
            "params": {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}},
        }
    },
}


async def accept(_context: Any, _params: Any) -> Any:
    """An elicitation callback."""
    await anyio.lowlevel.checkpoint()
    return TYPES.ElicitResult(action="accept", content={})


@only_2
@pytest.mark.parametrize("last, verdict", [(data({"n": 1}), "Conforming"), (BROKEN, "Violating")])
async def test_a_clients_call_with_its_rounds_is_one_call(last: Any, verdict: str) -> None:
    records: list[Record] = []
    install(hooks=[records.append], policy=OBSERVE)
    described: dict[str, Any] = {"tools": [tool("t", N)], "results": {"t": in_turn(ASK, ASK, last)}, "modern": True}
    async with raw_client(**described, client_options={"elicitation_callback": accept}) as (client, server):
        assert as_json(await client.call_tool("t", {}))["structuredContent"] == last["structuredContent"]
        assert server.calls["t"] == 3
    assert [r.verdict for r in records] == [verdict]


@only_2
async def test_the_timeout_of_a_clients_call_is_over_all_its_rounds() -> None:
    async def slowly(context: Any, params: Any) -> Any:
        await anyio.sleep(0.2)  # ten rounds, which is where the SDK gives up, take two seconds
        return await accept(context, params)

    install(timeout=0.5)
    described: dict[str, Any] = {"tools": [tool("t", N)], "results": {"t": ASK}, "modern": True}
    async with raw_client(**described, client_options={"elicitation_callback": slowly}) as (client, _):
        with pytest.raises(ToolTimeoutError):
            await client.call_tool("t", {})


@only_2
async def test_a_call_inside_a_callback_of_a_call_is_judged_for_itself() -> None:
    records, holder = list[Record](), list[Any]()
    install(hooks=[records.append])

    async def elicited(context: Any, params: Any) -> Any:
        assert await is_guarded(holder[0])
        return await accept(context, params)

    described: dict[str, Any] = {
        "tools": [tool("t", N)],
        "results": {"t": in_turn(ASK, BROKEN, data({"n": 1}))},
        "modern": True,
    }
    async with raw_client(**described, client_options={"elicitation_callback": elicited}) as (client, _):
        holder.append(client)
        await client.call_tool("t", {})
    assert [r.verdict for r in records] == ["Violating", "Conforming"]


@only_2
async def test_rounds_of_a_session_are_handed_to_a_caller_who_drives_them_and_else_are_an_error() -> None:
    install()
    described: dict[str, Any] = {
        "tools": [tool("t", N)],
        "results": {"t": in_turn(ASK, ASK, data({"n": 1}))},
        "modern": True,
    }
    async with raw_session(**described) as (session, _):
        with pytest.raises(UnfinishedResultError):
            await session.call_tool("t", {}, allow_input_required=False)
        asked = await session.call_tool("t", {}, allow_input_required=True)
        assert isinstance(asked, TYPES.InputRequiredResult)
        responses = {"a": TYPES.ElicitResult(action="accept", content={})}
        result = await session.call_tool("t", {}, input_responses=responses, allow_input_required=True)
        assert as_json(result)["structuredContent"] == {"n": 1}


@only_2
async def test_a_client_that_is_not_entered_says_so_as_ever() -> None:
    install()
    with pytest.raises(RuntimeError, match="within an async context manager"):
        await vars(mcp)["Client"](raw_transport(RawServer(**SERVER))).call_tool("t", {})


# --- somebody else's code


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # FastMCP 3 knows no other
async def test_fastmcps_client_is_guarded_and_its_own_errors_stay_its_own() -> None:
    fastmcp: Any = pytest.importorskip("fastmcp")
    server: Any = fastmcp.FastMCP("shop")

    @server.tool(output_schema=N)  # type: ignore[untyped-decorator]  # the server is Any
    def count() -> dict[str, int]:
        return {"n": 3}

    @server.tool  # type: ignore[untyped-decorator]  # the server is Any
    def fail() -> int:
        raise fastmcp.exceptions.ToolError("no")

    records: list[Record] = []
    install(policy=RELAY, hooks=[records.append])
    async with fastmcp.Client(server) as client:
        assert (await client.call_tool("count", {})).structured_content == {"n": 3}
        with pytest.raises(fastmcp.exceptions.ToolError, match="no"):
            await client.call_tool("fail", {})
    assert [(r.tool, r.verdict) for r in records] == [("count", "Conforming"), ("fail", "Errored")]


# --- threads


def test_sessions_in_several_threads_are_each_guarded_while_others_install_and_uninstall() -> None:
    stop, faults = threading.Event(), list[BaseException]()

    async def calls() -> None:
        async with raw_session(**SERVER) as (session, _):
            for _ in range(10):
                await is_guarded(session)

    def run() -> None:
        try:
            anyio.run(calls)
        except BaseException as exc:  # noqa: BLE001  # told below
            faults.append(exc)

    def switch() -> None:
        while not stop.is_set():
            install()
            uninstall()

    callers = [threading.Thread(target=run) for _ in range(3)]
    switchers = [threading.Thread(target=switch) for _ in range(2)]
    for thread in [*switchers, *callers]:
        thread.start()
    for thread in callers:
        thread.join()
    stop.set()
    for thread in switchers:
        thread.join()
    assert faults == []


def test_many_that_install_the_same_at_once_install_it_once() -> None:
    ready = threading.Barrier(8)

    def run() -> None:
        ready.wait()
        install()

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    uninstall()
    assert {kind: vars(kind)["call_tool"] for kind in CALLERS} == OWN


# --- what the SDK's own check reads

FETCHES: Final = RELEASE < (1, 30) or (2, 0) <= RELEASE < (2, 2)
"""Releases whose own check reads what a schema refers to, from wherever a server says."""


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What urllib is asked to open."""
    asked, own = list[str](), urllib.request.urlopen

    def urlopen(request: Any, *args: Any, **options: Any) -> Any:
        asked.append(getattr(request, "full_url", request))
        return own(request, *args, **options)

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return asked


@pytest.mark.filterwarnings("ignore:Automatically retrieving remote references:DeprecationWarning")
async def test_a_file_that_a_schema_refers_to_is_not_read_where_the_sdks_own_check_would_read_it(
    tmp_path: Path, opened: list[str]
) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"type": "integer"}', encoding="utf-8")
    schema = {"type": "object", "properties": {"n": {"$ref": secret.as_uri()}}}
    described: dict[str, Any] = {"tools": [tool("t", schema)], "results": {"t": BROKEN}}

    async with raw_session(**described) as (session, server):
        with pytest.raises(RuntimeError) as caught:
            await session.call_tool("t", {})
        assert not isinstance(caught.value, GuardError)
        assert opened == [secret.as_uri()] * FETCHES
        assert (SDK_SAYS in str(caught.value)) is FETCHES, "the SDK tells the server what is in the file"
        opened.clear()

        install()
        with pytest.raises(UnusableContractError) as refused:
            await session.call_tool("t", {})
        assert refused.value.reason == "remote_ref"
        assert server.calls["t"] == 1, "it is not sent"
        uninstall()
        install(policy=replace(ENFORCE, unenforceable="report"))
        assert as_json(await session.call_tool("t", {}))["structuredContent"] == {"n": "x"}
        assert opened == []
