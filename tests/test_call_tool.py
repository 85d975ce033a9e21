"""`call_tool` in the SDK's place: its signature, its keywords, its own result; the rounds of an unfinished answer."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Final

import pytest

from mcp_guard import (
    OBSERVE,
    RELAY,
    InvalidArgumentsError,
    MalformedResultError,
    OutputValidationError,
    Record,
    ToolExecutionError,
    UnfinishedResultError,
    guard,
)
from support import (
    NOTHING,
    SDK_MAJOR,
    Connect,
    Request,
    in_turn,
    raw_client,
    raw_session,
    sample_server,
    sdk_session,
    tool,
)
from support.calls import N, as_json, data, every_target, guarded, only_1, only_2, said, text

TYPES: Final[Any] = importlib.import_module("mcp.types")


# --- signature and keywords


@every_target
async def test_the_positional_parameters_are_the_targets_own(connect: Connect) -> None:
    async with guarded(connect) as (tools, _):
        own = [p for p in inspect.signature(tools.target.call_tool).parameters.values() if p.kind is not p.KEYWORD_ONLY]
        ours = [p for p in inspect.signature(tools.call_tool).parameters.values() if p.kind is not p.VAR_KEYWORD]
        assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in own]


@every_target
async def test_every_keyword_of_the_targets_call_tool_is_taken(connect: Connect, modern: bool) -> None:
    async with guarded(connect, tools=[tool("t", N)], results={"t": data({"n": 1})}, modern=modern) as (tools, server):
        parameters = inspect.signature(tools.target.call_tool).parameters.values()
        defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        assert {"arguments", "read_timeout_seconds", "progress_callback", "meta"} <= defaults.keys()
        assert as_json(await tools.call_tool("t", **defaults))["structuredContent"] == {"n": 1}
        assert as_json(await tools.call_tool(name="t", **defaults))["structuredContent"] == {"n": 1}
        assert server.calls["t"] == 2


TOO_MANY: Final[Any] = ("t", {}, None, None, {"meta": "is keyword only"})


@every_target
async def test_an_unknown_keyword_is_a_type_error_before_anything_is_sent(connect: Connect) -> None:
    records: list[Record] = []
    options = {"tools": [tool("t", N)], "results": {"t": data({"n": 1})}, "hooks": [records.append]}
    async with guarded(connect, **options) as (tools, server):
        with pytest.raises(TypeError, match="tiemout"):
            await tools.call_tool("t", {}, tiemout=5)
        with pytest.raises(TypeError):
            await tools.call_tool(*TOO_MANY)
        assert not server.counts["tools/list"]
        assert not server.counts["tools/call"]
        assert records == []


@pytest.mark.parametrize("seconds", [5, 5.0, timedelta(seconds=5)])
@every_target
async def test_a_timeout_may_be_a_number_or_a_timedelta_on_either_sdk(connect: Connect, seconds: Any) -> None:
    async with guarded(connect, tools=[tool("t", N)], results={"t": data({"n": 1})}) as (tools, _):
        assert not as_json(await tools.call_tool("t", {}, seconds)).get("isError")
        assert not as_json(await tools.call_tool("t", {}, read_timeout_seconds=seconds)).get("isError")
        assert await tools.call("t", timeout=seconds) == {"n": 1}


@pytest.mark.parametrize("way", ["call", "call_tool", "judge"])
@every_target
async def test_progress_and_meta_get_through(connect: Connect, modern: bool, way: str) -> None:
    got: list[tuple[float, float | None, str | None]] = []

    async def answer(request: Request) -> Any:
        token = request.params["_meta"]["progressToken"]
        params = {"progressToken": token, "progress": 1, "total": 2, "message": "half"}
        await request.server.notify("notifications/progress", **params)
        return data({"n": 1})

    async def progressed(done: float, total: float | None, message: str | None) -> None:
        got.append((done, total, message))

    async with guarded(connect, tools=[tool("t", N)], results={"t": answer}, modern=modern) as (tools, server):
        await getattr(tools, way)("t", {}, progress_callback=progressed, meta={"example.com/mark": "x"})
        assert got == [(1, 2, "half")]
        assert server.asked("tools/call")[0].params["_meta"]["example.com/mark"] == "x"


@every_target
async def test_arguments_left_out_are_left_out_on_the_wire_as_the_sdk_does(connect: Connect) -> None:
    async with guarded(connect, tools=[tool("t")], results={"t": said("x")}) as (tools, server):
        for caller in (tools, tools.target):
            await caller.call_tool("t")
            await caller.call_tool("t", {})
        seen = [request.params.get("arguments", "left out") for request in server.asked("tools/call")]
        assert seen[:2] == seen[2:]


# --- the SDK's own result


RICH: Final = data(
    {"n": 1, "more": None},
    "words",
    _meta={"example.com/a": [1]},
    isError=False,
)


@every_target
async def test_the_sdks_own_result_comes_back_as_without_a_guard(connect: Connect, modern: bool) -> None:
    async with guarded(connect, tools=[tool("t", N)], results={"t": RICH}, modern=modern) as (tools, _):
        ours, own = await tools.call_tool("t", {}), await tools.target.call_tool("t", {})
        assert type(ours) is type(own) is TYPES.CallToolResult
        assert ours == own
        assert as_json(ours) == as_json(own)
        assert ours.model_fields_set == own.model_fields_set


@only_2
@every_target
async def test_on_mcp_2_it_is_the_very_object_that_the_target_gave(connect: Connect) -> None:
    given: list[Any] = []
    async with connect(tools=[tool("t", N)], results={"t": data({"n": 1})}) as (target, _):
        own: Callable[..., Awaitable[Any]] = target.call_tool

        async def noting(*args: Any, **options: Any) -> Any:
            given.append(await own(*args, **options))
            return given[-1]

        target.call_tool = noting
        assert await guard(target).call_tool("t", {}) is given[0]


async def test_an_ordinary_servers_result_comes_back_as_without_a_guard() -> None:
    async with sdk_session(sample_server()) as session:
        tools = guard(session)
        assert await tools.call_tool("add", {"a": 1, "b": 2}) == await session.call_tool("add", {"a": 1, "b": 2})
        assert await tools.call("get_stock", {"sku": "A-1"}) == {"sku": "A-1", "count": 3}
        with pytest.raises(InvalidArgumentsError):
            await tools.call("add", {"a": 1})


@every_target
async def test_where_the_value_was_read_from_the_text_it_is_a_marked_copy(connect: Connect, modern: bool) -> None:
    result = said('{"n": 1}', _meta={"example.com/a": 1})
    options = {"tools": [tool("t", N)], "results": {"t": result}, "modern": modern}
    async with guarded(connect, **options) as (tools, _):
        got = as_json(await tools.call_tool("t", {}))
        assert got["structuredContent"] == {"n": 1}
        assert got["content"] == [text('{"n": 1}')]
        assert got["_meta"] == {"example.com/a": 1, "mcp-guard/source": "text"}
        judged = await tools.judge("t", {})
        sent = judged.result if SDK_MAJOR == 1 else as_json(judged.result)
        assert "structuredContent" not in sent
        assert sent["_meta"] == {"example.com/a": 1}


@every_target
async def test_a_result_without_meta_gets_the_mark_alone(connect: Connect) -> None:
    async with guarded(connect, tools=[tool("t", N)], results={"t": said('{"n": 1}')}) as (tools, _):
        assert as_json(await tools.call_tool("t", {}))["_meta"] == {"mcp-guard/source": "text"}


@every_target
async def test_observe_hands_out_the_result_untouched_also_where_the_text_was_read(connect: Connect) -> None:
    async with guarded(connect, tools=[tool("t", N)], results={"t": said('{"n": 1}')}, policy=OBSERVE) as (tools, _):
        got = as_json(await tools.call_tool("t", {}))
        assert got.get("structuredContent") is None
        assert "_meta" not in got


@every_target
async def test_relay_hands_an_error_result_on_as_it_is(connect: Connect) -> None:
    result = data({"n": "not held against the schema"}, "no", isError=True)
    async with guarded(connect, tools=[tool("t", N)], results={"t": result}, policy=RELAY) as (tools, _):
        got = as_json(await tools.call_tool("t", {}))
        assert (got["isError"], got["structuredContent"], got["content"]) == (
            True,
            result["structuredContent"],
            [text("no")],
        )
        with pytest.raises(ToolExecutionError):
            await tools.call("t", {})


ARRAY: Final = {"type": "array", "items": {"type": "integer"}}


@only_1
@pytest.mark.parametrize("policy", [RELAY, OBSERVE])
@pytest.mark.parametrize(
    "schema, result, value",
    [
        pytest.param(ARRAY, data([1, 2]), [1, 2], id="structured array"),
        pytest.param(N, {"structuredContent": {"n": 1}}, {"n": 1}, id="no content"),
        pytest.param(
            N, {"content": [{"type": "hologram"}], "structuredContent": {"n": 1}}, {"n": 1}, id="unknown block"
        ),
    ],
)
async def test_what_the_sdks_model_cannot_hold_is_an_error_of_call_tool_alone(
    policy: Any, schema: Any, result: Any, value: Any
) -> None:
    records: list[Record] = []
    options = {"tools": [tool("t", schema)], "results": {"t": result}, "policy": policy, "hooks": [records.append]}
    async with guarded(raw_session, **options) as (tools, _):
        assert await tools.call("t", {}) == value
        assert (await tools.judge("t", {})).verdict.unwrap() == value
        with pytest.raises(MalformedResultError) as caught:
            await tools.call_tool("t", {})
        assert caught.value.outcome == "executed"
        assert caught.value.result == result
        assert [(r.error, r.action) for r in records[2:]] == [("malformed_result", "raise")]


@only_1
async def test_an_array_read_from_the_text_is_an_error_of_call_tool_alone_on_mcp_1() -> None:
    async with guarded(raw_session, tools=[tool("t", ARRAY)], results={"t": said("[1, 2]")}) as (tools, _):
        assert await tools.call("t") == [1, 2]
        with pytest.raises(MalformedResultError):
            await tools.call_tool("t")


@only_2
@every_target
async def test_an_array_is_no_trouble_on_2026_07_28(connect: Connect) -> None:
    options = {"tools": [tool("s", ARRAY), tool("t", ARRAY)], "results": {"s": data([1]), "t": said("[1]")}}
    async with guarded(connect, **options, modern=True) as (tools, _):
        for name in ("s", "t"):
            assert await tools.call(name) == [1]
            assert as_json(await tools.call_tool(name))["structuredContent"] == [1]


LOST: Final = [
    ({"structuredContent": {"n": 1}}, "content_missing"),
    ({"content": [{"type": "hologram"}], "structuredContent": {"n": 1}}, "unknown_block"),
    ({"content": "words", "structuredContent": {"n": 1}}, "content_type"),
    ({"content": [], "structuredContent": {"n": 1}, "isError": None}, "error_flag"),
]


@only_2
@pytest.mark.parametrize("policy", [RELAY, OBSERVE])
@pytest.mark.parametrize("result, code", LOST, ids=[code for _, code in LOST])
@every_target
async def test_an_answer_that_the_sdk_drops_is_malformed_and_executed(
    connect: Connect, modern: bool, result: Any, code: str, policy: Any
) -> None:
    options = {"tools": [tool("t", N)], "results": {"t": result}, "modern": modern, "policy": policy}
    async with guarded(connect, **options) as (tools, server):
        for way in (tools.call, tools.call_tool, tools.judge):
            with pytest.raises(MalformedResultError) as caught:
                await way("t", {})
            assert [p.code for p in caught.value.problems] == [code]
            assert (caught.value.outcome, caught.value.retry_safe) == ("executed", False)
            assert isinstance(caught.value.sdk_error, ValueError)
        assert server.calls["t"] == 3


@only_2
@every_target
async def test_a_result_type_left_out_on_2026_07_28_is_malformed_and_executed(connect: Connect) -> None:
    async def bare(request: Request) -> Any:
        message = {"jsonrpc": "2.0", "id": request.id, "result": data({"n": 1})}
        await request.server.send(message)
        return NOTHING

    async with guarded(connect, tools=[tool("t", N)], results={"t": bare}, modern=True) as (tools, _):
        with pytest.raises(MalformedResultError) as caught:
            await tools.call("t", {})
        assert [p.code for p in caught.value.problems] == ["result_type_missing"]
        assert caught.value.outcome == "executed"


# --- answers that are not final


ASK: Final = {
    "resultType": "input_required",
    "inputRequests": {
        "name": {
            "method": "elicitation/create",
            "params": {
                "mode": "form",
                "message": "Who?",
                "requestedSchema": {"type": "object", "properties": {"who": {"type": "string"}}},
            },
        }
    },
    "requestState": "CANARY state",
}


async def accepted(_context: Any, _params: Any) -> Any:
    return TYPES.ElicitResult(action="accept", content={"who": "me"})


ELICITING: Final = {"elicitation_callback": accepted}


@only_2
@pytest.mark.parametrize("policy", [RELAY, OBSERVE])
async def test_a_session_hands_an_unfinished_answer_through_unjudged_where_the_caller_asks_for_it(policy: Any) -> None:
    records: list[Record] = []
    options = {"tools": [tool("t", N)], "results": {"t": in_turn(ASK, data({"n": 1}))}, "modern": True}
    async with guarded(raw_session, **options, policy=policy, hooks=[records.append]) as (tools, server):
        unfinished: Any = await tools.call_tool("t", {}, allow_input_required=True)
        assert type(unfinished).__name__ == "InputRequiredResult"
        assert unfinished.request_state == "CANARY state"
        answers = {"name": await accepted(None, None)}
        result = await tools.call_tool(
            "t", {}, input_responses=answers, request_state=unfinished.request_state, allow_input_required=True
        )
        assert as_json(result)["structuredContent"] == {"n": 1}
        assert server.asked("tools/call")[1].params["requestState"] == "CANARY state"
        assert [(r.verdict, r.action, r.error) for r in records] == [
            ("Unfinished", "allow", None),
            ("Conforming", "allow", None),
        ]
        assert "CANARY" not in repr(records)


@only_2
async def test_what_comes_after_the_rounds_that_the_caller_drives_is_judged() -> None:
    options = {"tools": [tool("t", N)], "results": {"t": in_turn(ASK, data({"n": "x"}))}, "modern": True}
    async with guarded(raw_session, **options) as (tools, _):
        await tools.call_tool("t", {}, allow_input_required=True)
        with pytest.raises(OutputValidationError):
            await tools.call_tool("t", {}, request_state="CANARY state", allow_input_required=True)


@only_2
@pytest.mark.parametrize("way", ["call", "call_tool"])
async def test_on_a_session_an_unfinished_answer_nobody_asked_for_is_an_error_and_unknown(way: str) -> None:
    options = {"tools": [tool("t", N)], "results": {"t": ASK}, "modern": True}
    async with guarded(raw_session, **options, session_options=ELICITING) as (tools, _):
        with pytest.raises(UnfinishedResultError, match="input_required") as caught:
            await getattr(tools, way)("t", {})
        assert (caught.value.result_type, caught.value.outcome, caught.value.retry_safe) == (
            "input_required",
            "unknown",
            False,
        )


@only_2
async def test_a_client_drives_the_rounds_and_what_comes_at_their_end_is_judged() -> None:
    records: list[Record] = []
    good, bad = in_turn(ASK, ASK, data({"n": 1})), in_turn(ASK, data({"n": "x"}))
    options = {"tools": [tool("good", N), tool("bad", N)], "results": {"good": good, "bad": bad}, "modern": True}
    async with guarded(raw_client, **options, client_options=ELICITING, hooks=[records.append]) as (tools, server):
        assert await tools.call("good", {"a": 1}) == {"n": 1}
        assert [r.arguments for r in server.asked("tools/call")] == [{"a": 1}] * 3
        assert server.asked("tools/call")[1].params["requestState"] == "CANARY state"
        with pytest.raises(OutputValidationError) as caught:
            await tools.call_tool("bad", {})
        assert caught.value.outcome == "executed"
        assert [r.verdict for r in records] == ["Conforming", "Violating"]
        assert "CANARY" not in repr(records)


@only_2
async def test_a_client_that_ran_out_of_rounds_says_that_the_result_is_unfinished() -> None:
    options = {"tools": [tool("t", N)], "results": {"t": ASK}, "modern": True}
    rounds = {**ELICITING, "input_required_max_rounds": 2}
    async with guarded(raw_client, **options, client_options=rounds) as (tools, _):
        with pytest.raises(UnfinishedResultError) as caught:
            await tools.call("t", {})
        assert (caught.value.result_type, caught.value.outcome) == ("input_required", "unknown")


@only_2
async def test_a_clients_text_is_read_at_the_end_of_its_rounds_too() -> None:
    options = {"tools": [tool("t", N)], "results": {"t": in_turn(ASK, said('{"n": 1}'))}, "modern": True}
    async with guarded(raw_client, **options, client_options=ELICITING) as (tools, _):
        assert as_json(await tools.call_tool("t", {}))["_meta"]["mcp-guard/source"] == "text"
