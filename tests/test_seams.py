"""The seams to the SDK: taken only where their shape is known, given back after each call, still where they were."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import logging
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

import anyio
import mcp
import pytest

from mcp_guard import OBSERVE, GuardError, OutputValidationError, ToolExecutionError, ToolTimeoutError, attach, guard
from support import (
    NOTHING,
    SDK_MAJOR,
    SESSIONS,
    Connect,
    Error,
    in_turn,
    raw_client,
    raw_session,
    tool,
    when,
)
from support.calls import N, SdkError, as_json, data, every_target, guarded, only_1, only_2, said

TYPES: Final[Any] = importlib.import_module("mcp.types")
Session: Final[Any] = mcp.ClientSession
RELEASE: Final = f"mcp {importlib.metadata.version('mcp')}"
CHECK: Final = "_validate_tool_result" if SDK_MAJOR == 1 else "validate_tool_result"
HOOKED: Final = {CHECK, "send_request", "call_tool", "list_tools"}
BROKEN: Final = data({"n": "x"})

# the ways that a call can be sent on the installed SDK
SEAMS: Final = [
    pytest.param(connect, seam, id=f"{connect.__name__} {seam}")
    for connect in SESSIONS
    for seam in (["send_request", "call_tool"] if SDK_MAJOR == 1 else ["call_tool"])
]
every_seam = pytest.mark.parametrize("connect, seam", SEAMS)


def session_of(target: Any) -> Any:
    return target if isinstance(target, Session) else target.session


def own_attributes(target: Any) -> set[str]:
    return {name for name in HOOKED for holder in (target, session_of(target)) if name in vars(holder)}


# --- what is refused


def odd(**members: Any) -> Any:
    """A session of a subclass that has other members; not started, as none is needed to refuse it."""
    return object.__new__(type("Odd", (Session,), members))


async def _other(self: Any, request: Any) -> None:
    del self, request


def _sync(self: Any, request: Any, result_type: Any) -> None:
    del self, request, result_type


REFUSED: Final[list[Any]] = [
    pytest.param({"send_request": _other}, "auto", "send_request", id="send_request with another signature"),
    pytest.param({"send_request": _sync}, "auto", "send_request", id="send_request that is no coroutine"),
    pytest.param({"send_request": None}, "auto", "send_request", id="send_request is gone"),
    pytest.param({CHECK: _other}, "call_tool", CHECK, id="the check has another signature"),
    pytest.param({CHECK: _sync}, "call_tool", CHECK, id="the check is no coroutine"),
    pytest.param({CHECK: None}, "call_tool", CHECK, id="the check is gone"),
]


@pytest.mark.parametrize("members, seam, method", REFUSED)
@pytest.mark.parametrize("wrap", [guard, attach])
def test_a_session_of_an_unknown_shape_is_refused(wrap: Any, members: Any, seam: Any, method: str) -> None:
    with pytest.raises(TypeError, match=rf"does not know this shape of Odd: .* {method}\(self, "):
        wrap(odd(**members), seam=seam)


def test_a_subclass_that_keeps_the_shape_is_taken() -> None:
    class Kept(Session):  # type: ignore[misc]  # the SDK's own class is Any here
        async def send_request(self, request: Any, result_type: Any, *args: Any, **options: Any) -> Any:
            return await super().send_request(request, result_type, *args, **options)

    session: Any = object.__new__(Kept)
    assert guard(session).target is session


# --- given back after each call


@every_seam
async def test_the_hook_is_gone_after_a_call_however_it_ended(connect: Connect, seam: Any) -> None:
    answers = in_turn(data({"n": 1}), said('{"n": 1}'), BROKEN, said("no", isError=True), Error(-32603), NOTHING)
    async with guarded(connect, tools=[tool("t", N)], results={"t": answers}, seam=seam) as (tools, server):
        for _ in range(6):
            with suppress(GuardError):
                await tools.call_tool("t", {}, 0.2)
            assert own_attributes(tools.target) == set()
        assert server.calls["t"] == 6
        with anyio.move_on_after(0.05):
            await tools.call("t", {})
        assert own_attributes(tools.target) == set()
        with pytest.raises((TypeError, ValueError)):
            await tools.call("t", {}, meta={"progressToken": object()})
        assert own_attributes(tools.target) == set()


@every_seam
async def test_it_is_gone_after_the_last_of_several_calls_at_once(connect: Connect, seam: Any) -> None:
    release = anyio.Event()
    results = {"slow": when(release, data({"n": 1})), "quick": data({"n": 2})}
    listed = [tool("slow", N), tool("quick", N)]
    async with guarded(connect, tools=listed, results=results, seam=seam) as (tools, server):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(tools.call, "slow", {})
            await server.arrived(lambda server: server.calls["slow"] == 3)
            assert await tools.call("quick", {}) == {"n": 2}
            if seam == "call_tool":
                assert own_attributes(tools.target), "three calls are still under way"
            release.set()
        assert own_attributes(tools.target) == set()


async def test_what_the_session_had_there_of_its_own_is_back_after_the_call() -> None:
    async with raw_session(tools=[tool("t", N)], results={"t": said('{"n": 1}')}) as (session, _):
        called: list[str] = []

        async def own(name: str, result: Any) -> None:
            called.append(name)
            assert result

        setattr(session, CHECK, own)
        assert await guard(session, seam="call_tool").call("t", {}) == {"n": 1}
        assert vars(session)[CHECK] is own
        assert called == []
        await session.call_tool("t", {})
        assert called == ["t"]


# --- guarded and unguarded calls side by side


@every_seam
async def test_an_unguarded_call_meanwhile_is_still_checked_by_the_sdk(connect: Connect, seam: Any) -> None:
    release = anyio.Event()
    results = {"t": in_turn(when(release, said('{"n": 1}')), BROKEN, BROKEN)}
    async with guarded(connect, tools=[tool("t", N)], results=results, seam=seam) as (tools, server):
        got: list[Any] = []

        async def call() -> None:
            got.append(await tools.call("t", {}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await server.arrived(lambda server: server.calls["t"] == 1)
            with pytest.raises(RuntimeError, match="Invalid structured content") as own:
                await tools.target.call_tool("t", {})
            assert not isinstance(own.value, GuardError)
            with pytest.raises(OutputValidationError):
                await tools.call("t", {})
            release.set()
        assert got == [{"n": 1}]


@every_seam
async def test_many_of_both_at_once_stay_apart(connect: Connect, seam: Any) -> None:
    kinds: list[str] = []
    async with guarded(connect, tools=[tool("t", N)], results={"t": BROKEN}, seam=seam) as (tools, _):

        async def call(target: Any) -> None:
            with pytest.raises(RuntimeError) as caught:
                await target.call_tool("t", {})
            kinds.append(type(caught.value).__name__)

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(call, tools)
                tasks.start_soon(call, tools.target)
        assert sorted(kinds) == ["OutputValidationError"] * 5 + ["RuntimeError"] * 5


@every_seam
async def test_two_guards_round_one_session_each_follow_their_own_policy(connect: Connect, seam: Any) -> None:
    release = anyio.Event()
    async with connect(tools=[tool("t", N)], results={"t": when(release, BROKEN)}) as (target, server):
        strict, lenient = guard(target, seam=seam), guard(target, policy=OBSERVE, seam=seam)
        got: list[Any] = []

        async def raising() -> None:
            with pytest.raises(OutputValidationError):
                await strict.call("t", {})
            got.append("raised")

        async def observing() -> None:
            got.append(await lenient.call("t", {}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(raising)
            tasks.start_soon(observing)
            await server.arrived(lambda server: server.calls["t"] == 2)
            release.set()
        assert {"n": "x"} in got
        assert "raised" in got
        assert own_attributes(target) == set()


ASK: Final = {
    "resultType": "input_required",
    "inputRequests": {
        "a": {
            "method": "elicitation/create",
            "params": {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}},
        }
    },
}


@only_2
async def test_an_unguarded_call_inside_a_callback_of_a_guarded_one_is_still_checked_by_the_sdk() -> None:
    own: list[BaseException] = []
    holder: list[Any] = []

    async def elicited(_context: Any, _params: Any) -> Any:
        with pytest.raises(RuntimeError) as caught:
            await holder[0].call_tool("t", {})  # the very tool that is being called with a guard
        own.append(caught.value)
        return TYPES.ElicitResult(action="accept", content={})

    options = {"tools": [tool("t", N)], "results": {"t": in_turn(ASK, BROKEN, data({"n": 1}))}, "modern": True}
    async with guarded(raw_client, **options, client_options={"elicitation_callback": elicited}) as (tools, _):
        holder.append(tools.target)
        assert await tools.call("t", {}) == {"n": 1}
        [error] = own
        assert "Invalid structured content" in str(error)
        assert not isinstance(error, GuardError)


@only_2
async def test_a_guarded_call_inside_a_callback_of_a_guarded_one_is_judged_for_itself() -> None:
    holder, inner = list[Any](), list[str]()

    async def elicited(_context: Any, _params: Any) -> Any:
        with pytest.raises(OutputValidationError) as caught:
            await holder[0].call("t", {"inner": True})
        inner.append(caught.value.call_id or "")
        return TYPES.ElicitResult(action="accept", content={})

    options = {"tools": [tool("t", N)], "results": {"t": in_turn(ASK, BROKEN, data({"n": 1}))}, "modern": True}
    async with guarded(raw_client, **options, client_options={"elicitation_callback": elicited}) as (tools, _):
        holder.append(tools)
        judged = await tools.judge("t", {})
        assert judged.verdict.unwrap() == {"n": 1}
        assert inner != [judged.record.call_id]


@only_2
async def test_where_the_sdk_does_not_ask_for_its_check_the_result_is_judged_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with raw_session(tools=[tool("t", N)], results={}) as (session, _):

        async def answered(*_args: Any, **_options: Any) -> Any:
            await anyio.lowlevel.checkpoint()
            return TYPES.CallToolResult(content=[], structured_content={"n": "x"})

        session.call_tool = answered
        tools = guard(session)
        with pytest.raises(OutputValidationError):
            await tools.call("t", {})
        lines = [r.getMessage() for r in caplog.records if r.name == "mcp_guard"]
        assert ["the SDK did not ask for its own output check" in line for line in lines] == [True]


@only_2
@every_target
async def test_where_it_does_the_log_says_nothing(connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mcp_guard")
    options = {"tools": [tool("t", N)], "results": {"t": in_turn(data({"n": 1}), said("no", isError=True))}}
    async with guarded(connect, **options) as (tools, _):
        await tools.call("t", {})
        with pytest.raises(GuardError):
            await tools.call("t", {})
        assert [r.getMessage() for r in caplog.records if r.name == "mcp_guard"] == []


# --- instrumentation that patched call_tool


def patch(session: Any, seen: list[str]) -> None:
    own = session.call_tool

    async def patched(name: str, *args: Any, **options: Any) -> Any:
        seen.append(name)
        return await own(name, *args, **options)

    session.call_tool = patched


@only_1
async def test_on_mcp_1_a_patched_call_tool_is_gone_past_and_the_log_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[str] = []
    async with raw_session(tools=[tool("t", N)], results={"t": data({"n": 1})}) as (session, _):
        patch(session, seen)
        tools = guard(session)
        for _ in range(3):
            await tools.call("t", {})
        assert seen == []
        [line] = [r.getMessage() for r in caplog.records if r.name == "mcp_guard"]
        assert 'guard(..., seam="call_tool") goes through it' in line


@only_1
async def test_on_mcp_1_a_call_tool_that_is_patched_on_the_class_is_noticed_too(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Session.call_tool

    async def patched(self: Any, *args: Any, **options: Any) -> Any:
        return await own(self, *args, **options)

    async with raw_session() as (session, _):
        guard(session)
        assert not caplog.records
        monkeypatch.setattr(Session, "call_tool", patched)
        guard(session)
        assert any("is patched or overridden here" in r.getMessage() for r in caplog.records)


@only_1
async def test_on_mcp_1_what_looks_for_failed_results_at_send_request_takes_no_answer_for_one() -> None:
    failed = said("no such thing", isError=True)
    async with raw_session(tools=[tool("t", N)], results={"t": failed}) as (session, _):
        own = session.send_request

        async def instrumented(*args: Any, **options: Any) -> Any:
            answer = await own(*args, **options)
            return answer.content[0].text if getattr(answer, "isError", False) else answer

        session.send_request = instrumented
        with pytest.raises(ToolExecutionError):
            await guard(session).call("t", {})


@pytest.mark.parametrize("connect", SESSIONS, ids=lambda connect: connect.__name__)
async def test_the_seam_call_tool_goes_through_what_was_patched(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []
    async with connect(tools=[tool("t", N)], results={"t": said('{"n": 1}')}) as (target, _):
        patch(target, seen)
        tools = guard(target, seam="call_tool")
        assert await tools.call("t", {}) == {"n": 1}
        assert as_json(await tools.call_tool("t", {}, timedelta(seconds=5)))["structuredContent"] == {"n": 1}
        assert seen == ["t", "t"]
        assert not [r for r in caplog.records if r.name == "mcp_guard" and r.levelno >= logging.WARNING]


# --- canaries: each names the release in which a seam moved


def moved(what: str) -> str:
    return f"{RELEASE}: {what} moved; look at the seam in mcp_guard._sdk"


@pytest.mark.parametrize(
    "method, parameters",
    [
        ("send_request", ["self", "request", "result_type"]),
        (CHECK, ["self", "name", "result"]),
        ("call_tool", ["self", "name", "arguments", "read_timeout_seconds", "progress_callback"]),
    ],
)
def test_canary_the_sdks_methods_have_the_shape_that_the_seams_know(method: str, parameters: list[str]) -> None:
    found = getattr(Session, method, None)
    assert inspect.iscoroutinefunction(found), moved(f"ClientSession.{method}")
    assert [*inspect.signature(found).parameters][: len(parameters)] == parameters, moved(f"ClientSession.{method}")


def test_canary_send_request_takes_a_timeout_and_a_progress_callback() -> None:
    parameters = inspect.signature(Session.send_request).parameters
    assert {"request_read_timeout_seconds", "progress_callback"} <= parameters.keys(), moved("send_request's options")


def test_canary_list_tools_takes_params() -> None:
    assert "params" in inspect.signature(Session.list_tools).parameters, moved("ClientSession.list_tools")
    if SDK_MAJOR > 1:
        client: Any = vars(mcp)["Client"]
        assert {"cursor", "cache_mode"} <= inspect.signature(client.list_tools).parameters.keys(), moved(
            "Client.list_tools"
        )


@every_target
async def test_canary_call_tool_still_asks_for_the_check_and_sends_through_send_request(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connect(tools=[tool("t", N)], results={"t": BROKEN}) as (target, _):
        session, seen = session_of(target), list[str]()
        send = session.send_request

        async def checked(name: str, _result: Any) -> None:
            await anyio.lowlevel.checkpoint()
            seen.append(name)

        async def sent(request: Any, *args: Any, **options: Any) -> Any:
            seen.append(getattr(request, "root", request).method)
            return await send(request, *args, **options)

        monkeypatch.setattr(session, CHECK, checked)
        monkeypatch.setattr(session, "send_request", sent)
        await target.call_tool("t", {})
        assert seen == ["tools/call", "t"], moved("what ClientSession.call_tool calls")


async def test_canary_a_timeout_of_the_session_has_a_timeout_error_for_its_context_and_a_forged_one_has_not() -> None:
    code = 408 if SDK_MAJOR == 1 else -32001
    short: Any = timedelta(seconds=0.05) if SDK_MAJOR == 1 else 0.05
    async with raw_session(results={"t": in_turn(Error(code, "Timed out"), NOTHING)}) as (session, _):
        with pytest.raises(SdkError) as forged:
            await session.call_tool("t", {})
        with pytest.raises(SdkError) as real:
            await session.call_tool("t", {}, short)
    assert forged.value.error.code == real.value.error.code == code, moved("the code of a timeout")
    assert isinstance(real.value.__context__, TimeoutError), moved(f"{SdkError.__name__}.__context__")
    assert forged.value.__context__ is None, moved(f"{SdkError.__name__}.__context__")


@only_1
async def test_canary_on_mcp_1_a_result_type_of_our_own_sees_the_answer_as_it_was_sent() -> None:
    sent = {"structuredContent": [1], "content": "words", "isError": None}
    async with guarded(raw_session, tools=[tool("t")], results={"t": sent}, policy=OBSERVE) as (tools, _):
        assert (await tools.judge("t", {})).result == sent, moved("send_request's result_type")


@only_2
@every_target
async def test_canary_on_mcp_2_the_answer_is_seen_before_the_sdks_model_changes_it(connect: Connect) -> None:
    sent = data({"n": 1}, isError="true")  # the model makes a bool of it
    async with guarded(connect, tools=[tool("t", N)], results={"t": sent}) as (tools, _):
        verdict = (await tools.judge("t", {})).verdict
        assert [p.code for p in getattr(verdict, "problems", ())] == ["error_flag"], moved("send_request's result_type")


@only_2
def test_canary_on_mcp_2_the_sdks_own_errors_are_where_they_were() -> None:
    extension = importlib.import_module("mcp.client.extension")
    assert issubclass(vars(mcp)["InputRequiredRoundsExceededError"], RuntimeError), moved("the rounds' error")
    assert issubclass(extension.UnexpectedClaimedResult, RuntimeError), moved("UnexpectedClaimedResult")


@every_target
async def test_a_timeout_of_the_guard_leaves_nothing_behind_in_the_session(connect: Connect) -> None:
    async with guarded(connect, tools=[tool("t", N)], results={"t": in_turn(NOTHING, BROKEN)}) as (tools, _):
        with pytest.raises(ToolTimeoutError):
            await tools.call("t", {}, timeout=0.05)
        with pytest.raises(RuntimeError, match="Invalid structured content"):
            await tools.target.call_tool("t", {})
