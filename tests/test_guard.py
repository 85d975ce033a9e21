"""`call` and `judge`: data or an error that says what happened, for each kind of verdict and each policy."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import pytest

from mcp_guard import (
    ENFORCE,
    OBSERVE,
    RELAY,
    STRICT,
    GuardError,
    Limits,
    MalformedResultError,
    MissingStructuredContentError,
    OutputValidationError,
    Policy,
    Record,
    ToolExecutionError,
    Violating,
)
from support import SDK_MAJOR, Connect, Line, raw_session, tool
from support.calls import N, as_json, data, every_target, guarded, said, text

OBJECT: Final = {"type": "object"}
PRESETS: Final = {"ENFORCE": ENFORCE, "STRICT": STRICT, "OBSERVE": OBSERVE, "RELAY": RELAY}


# --- the data that call gives


@every_target
async def test_call_gives_the_validated_data_as_it_was_sent(connect: Connect, modern: bool) -> None:
    sent = {"n": 2**70, "more": [1.5, None, {"é": True}]}
    async with guarded(connect, tools=[tool("t", N)], results={"t": data(sent)}, modern=modern) as (tools, server):
        assert await tools.call("t", {"a": 1}) == sent
        assert [request.arguments for request in server.asked("tools/call")] == [{"a": 1}]


WRAPPER: Final = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
MARK: Final = {"x-fastmcp-wrap-result": True}


@pytest.mark.parametrize(
    "schema, members, expected",
    [
        pytest.param({**WRAPPER, **MARK}, {}, 5, id="the schema says so"),
        pytest.param(WRAPPER, {"_meta": {"fastmcp": {"wrap_result": True}}}, 5, id="the result says so"),
        pytest.param(WRAPPER, {}, {"result": 5}, id="nobody says so"),
        pytest.param({**WRAPPER, "x-fastmcp-wrap-result": "yes"}, {}, {"result": 5}, id="only true says so"),
        pytest.param(WRAPPER, {"_meta": {"fastmcp": {"wrap_result": 1}}}, {"result": 5}, id="1 is not true"),
        pytest.param(WRAPPER, {"_meta": {"fastmcp": [True]}}, {"result": 5}, id="fastmcp is no object"),
    ],
)
@every_target
async def test_a_wrapper_is_taken_off_only_where_the_server_says_it_is_one(
    connect: Connect, schema: Any, members: Any, expected: Any
) -> None:
    async with guarded(connect, tools=[tool("t", schema)], results={"t": data({"result": 5}, **members)}) as (tools, _):
        assert await tools.call("t") == expected


async def test_a_wrapper_with_more_in_it_than_the_value_stays_on() -> None:
    result = data({"result": 5, "page": 2})
    async with guarded(raw_session, tools=[tool("t", {**WRAPPER, **MARK})], results={"t": result}) as (tools, _):
        assert await tools.call("t") == {"result": 5, "page": 2}


async def test_a_declared_wrapper_is_taken_off_a_value_that_was_read_from_the_text() -> None:
    async with guarded(raw_session, tools=[tool("t", {**WRAPPER, **MARK})], results={"t": said("5")}) as (tools, _):
        assert await tools.call("t") == 5


@pytest.mark.parametrize("listed", [True, False], ids=["without outputSchema", "not listed"])
@pytest.mark.parametrize(
    "result, expected",
    [
        pytest.param(data({"n": "x"}, "words"), {"n": "x"}, id="structured"),
        pytest.param(data({}, "words"), {}, id="empty structured"),
        pytest.param(said("one"), "one", id="one text"),
        pytest.param(said("one", "", "three"), "one\n\nthree", id="texts joined by newlines"),
        pytest.param(said('{"n": 1}'), '{"n": 1}', id="JSON stays text"),
        pytest.param(data({"result": 5}), {"result": 5}, id="a result key is no wrapper"),
    ],
)
@every_target
async def test_without_a_schema_call_gives_the_structured_content_else_the_text(
    connect: Connect, listed: bool, result: Any, expected: Any
) -> None:
    tools_listed = [tool("t")] if listed else []
    async with guarded(connect, tools=tools_listed, results={"t": result}) as (tools, _):
        assert await tools.call("t") == expected


IMAGE: Final = {"type": "image", "data": "AA==", "mimeType": "image/png"}


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("result", [said(), said(" \n"), {"content": [IMAGE]}], ids=["none", "white space", "image"])
async def test_without_schema_data_and_text_call_points_to_call_tool_and_never_gives_none(
    name: str, result: Any
) -> None:
    policy = dataclasses.replace(PRESETS[name], undeclared="allow")
    records: list[Record] = []
    options = {"policy": policy, "hooks": [records.append]}
    async with guarded(raw_session, tools=[tool("t")], results={"t": result}, **options) as (tools, _):
        with pytest.raises(MissingStructuredContentError, match="call_tool hands out the content blocks") as caught:
            await tools.call("t")
        assert caught.value.reason == "no_text"
        assert caught.value.outcome == "executed"
        assert as_json(await tools.call_tool("t"))["content"] == result["content"]
        assert [r.error for r in records] == ["structured_missing", None]
        assert records[0].action == "raise"


FALSY: Final = [({}, "object"), ([], "array"), (0, "integer"), (False, "boolean"), ("", "string"), (None, "null")]


@pytest.mark.parametrize("value, kind", FALSY, ids=[kind for _, kind in FALSY])
@every_target
async def test_falsy_data_is_data(connect: Connect, modern: bool, value: Any, kind: str) -> None:
    # before 2026-07-28 a schema that asks for no object breaks the SDK's whole listing; an empty one takes everything
    schema = {"type": kind} if modern else {"type": "object"} if kind == "object" else None
    listed = [tool("t", schema)] if schema is not None else [tool("t")]
    async with guarded(connect, tools=listed, results={"t": data(value, "words")}, modern=modern) as (tools, _):
        if modern or kind == "object":
            assert await tools.call("t") == value
            assert type(await tools.call("t")) is type(value)
        elif value is None:
            assert await tools.call("t") == "words"  # null is as absent before 2026-07-28
        elif SDK_MAJOR == 1:
            assert await tools.call("t") == value
        else:  # the SDK's parser drops it
            with pytest.raises(MalformedResultError) as caught:
                await tools.call("t")
            assert [p.code for p in caught.value.problems] == ["structured_not_object"]
            assert caught.value.outcome == "executed"


@every_target
async def test_null_is_held_against_the_schema_on_2026_07_28_and_is_absent_before(
    connect: Connect, modern: bool
) -> None:
    results = {"t": data(None, '{"n": 1}')}
    async with guarded(connect, tools=[tool("t", N)], results=results, modern=modern) as (tools, _):
        verdict = (await tools.judge("t")).verdict
        if modern:
            assert isinstance(verdict, Violating)
            assert [(v.pointer, v.found) for v in verdict.violations] == [("", "null")]
        else:
            assert await tools.call("t") == {"n": 1}
            assert [d.code for d in verdict.deviations] == ["structured_missing"]


@every_target
async def test_an_integer_beyond_64_bits_and_a_float_arrive_as_they_were_sent(connect: Connect) -> None:
    line = (
        '{"jsonrpc":"2.0","id":@@ID@@,"result":{"content":[],'
        '"structuredContent":{"n":123456789012345678901234567890,"f":1.0}}}'
    )
    async with guarded(connect, tools=[tool("t", N)], results={"t": Line(line)}) as (tools, _):
        got = await tools.call("t")
        assert got == {"n": 123456789012345678901234567890, "f": 1.0}
        assert isinstance(got["f"], float)


# --- each kind of verdict under each policy


@dataclasses.dataclass(frozen=True)
class Case:
    """A kind of verdict: what is listed and answered, and the kind of error that each way of calling raises."""

    verdict: str
    listed: Any
    result: Any
    call: dict[str, str]
    call_tool: dict[str, str]
    unsent: tuple[str, ...] = ()
    """The policies under which nothing is sent."""
    modern: bool = False


def everywhere(kind: str, *but: str) -> dict[str, str]:
    return {name: kind for name in PRESETS if name not in but}


UNSAFE: Final = {"type": "object", "properties": {"n": {"type": "nonsense"}}}
CASES: Final = {
    "violating": Case(
        "Violating",
        tool("t", N),
        data({"n": "x"}),
        everywhere("output_violation", "OBSERVE"),
        everywhere("output_violation", "OBSERVE"),
    ),
    "missing": Case(
        "Missing",
        tool("t", N),
        said("words"),
        everywhere("structured_missing"),
        everywhere("structured_missing", "OBSERVE"),
    ),
    "errored": Case(
        "Errored",
        tool("t", N),
        data({"n": 1}, "no", isError=True),
        everywhere("tool_error"),
        everywhere("tool_error", "OBSERVE", "RELAY"),
    ),
    "malformed": Case(
        "Malformed",
        tool("t", N),
        data({"n": 1, "many": [0] * 100}),
        everywhere("limit_exceeded"),
        everywhere("limit_exceeded", "OBSERVE"),
    ),
    "unenforceable": Case(
        "Unenforceable",
        tool("t", UNSAFE),
        data({"n": 1}),
        everywhere("contract_unusable", "OBSERVE"),
        everywhere("contract_unusable", "OBSERVE"),
        unsent=("ENFORCE", "STRICT", "RELAY"),
    ),
    "undeclared": Case(
        "Unchecked",
        tool("t"),
        data({"n": 1}),
        {"STRICT": "contract_unusable"},
        {"STRICT": "contract_unusable"},
        unsent=("STRICT",),
    ),
    "unlisted": Case(
        "Unchecked",
        tool("other"),
        data({"n": 1}),
        {"STRICT": "tool_unlisted"},
        {"STRICT": "tool_unlisted"},
        unsent=("STRICT",),
    ),
    "conforming": Case("Conforming", tool("t", N), data({"n": 1}), {}, {}),
}
if SDK_MAJOR > 1:
    CASES["unfinished"] = Case(
        "Unfinished",
        tool("t", N),
        data({"n": 1}, resultType="hologram"),
        everywhere("unfinished_result"),
        everywhere("unfinished_result", "OBSERVE"),
        modern=True,
    )


@pytest.mark.parametrize("way", ["call", "call_tool", "judge"])
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kind", CASES)
@every_target
async def test_every_verdict_has_its_consequence_under_every_policy(
    connect: Connect, kind: str, preset: str, way: str
) -> None:
    case, records = CASES[kind], list[Record]()
    policy = dataclasses.replace(PRESETS[preset], limits=Limits(nodes=50))
    unsent = preset in case.unsent
    raises = {"call": case.call, "call_tool": case.call_tool, "judge": {}}[way].get(preset)
    if unsent:
        raises = case.call[preset]
    async with guarded(
        connect,
        tools=[case.listed],
        results={"t": case.result},
        modern=case.modern,
        policy=policy,
        hooks=[records.append],
    ) as (tools, server):
        error, came = None, None
        try:
            came = await getattr(tools, way)("t", {})
        except GuardError as exc:
            error = exc
            assert len(records) == 1, "the record is told before the error is raised"
        assert (None if error is None else error.kind) == raises
        assert server.calls["t"] == (0 if unsent else 1)
        [record] = records
        if error is not None:
            assert (record.error, record.outcome, record.action) == (error.kind, error.outcome, "raise")
            assert (record.call_id, record.tool) == (error.call_id, error.tool)
            assert error.retry_safe is unsent
        else:
            assert record.action != "raise"
            assert record.outcome == ("unknown" if case.verdict == "Unfinished" else "executed")
        assert record.verdict == (None if unsent else case.verdict)
        if way == "judge" and came is not None:
            assert type(came.verdict).__name__ == case.verdict
            assert came.record is record


async def test_a_hook_is_told_before_anything_is_raised() -> None:
    told: list[str] = []
    options = {"tools": [tool("t", N)], "results": {"t": data({})}}
    async with guarded(raw_session, **options, hooks=[lambda _: told.append("record")]) as (tools, _):
        try:
            await tools.call("t")
        except OutputValidationError:
            told.append("error")
    assert told == ["record", "error"]


async def test_what_a_policy_reports_stands_in_the_record_with_its_error() -> None:
    options = {"tools": [tool("t", N)], "results": {"t": data({"n": "x"})}, "policy": OBSERVE}
    records: list[Record] = []
    async with guarded(raw_session, **options, hooks=[records.append]) as (tools, _):
        assert await tools.call("t") == {"n": "x"}
    [record] = records
    assert (record.error, record.action, record.outcome, record.policy) == (
        "output_violation",
        "report",
        "executed",
        "OBSERVE",
    )
    assert [(p.pointer, p.keyword) for p in record.violations] == [("/n", "type")]


async def test_the_violations_say_where_and_how() -> None:
    async with guarded(raw_session, tools=[tool("t", N)], results={"t": data({"n": "x"})}) as (tools, _):
        with pytest.raises(OutputValidationError, match=r"/n .*found string; the tool already ran") as caught:
            await tools.call("t")
        [violation] = caught.value.violations
        assert (violation.pointer, violation.keyword, violation.value) == ("/n", "type", "x")
        assert caught.value.source == "structured"
        assert (caught.value.tool, caught.value.outcome, caught.value.retry_safe) == ("t", "executed", False)
        result = caught.value.result
        assert (result if SDK_MAJOR == 1 else as_json(result))["structuredContent"] == {"n": "x"}


async def test_what_the_tool_said_of_its_error_is_in_the_failure() -> None:
    payload = {"ok": False, "error": {"kind": "rate_limited", "message": "slow", "retryable": True, "retry_after": 3}}
    async with guarded(raw_session, tools=[tool("t", N)], results={"t": data(payload, "slow down", isError=True)}) as (
        tools,
        _,
    ):
        with pytest.raises(ToolExecutionError) as caught:
            await tools.call("t")
        failure = caught.value.failure
        assert (failure.kind, failure.retryable, failure.retry_after) == ("rate_limited", True, 3)
        assert caught.value.retryable is False  # the tool's word is not the user's


async def test_a_tool_that_the_user_named_safe_may_run_again() -> None:
    options = {"tools": [tool("get_a", N), tool("put_a", N)], "results": {"get_a": data({}), "put_a": data({})}}
    async with guarded(raw_session, **options, safe=["get_*"]) as (tools, _):
        for name, safe in (("get_a", True), ("put_a", False)):
            with pytest.raises(OutputValidationError) as caught:
                await tools.call(name)
            assert caught.value.retry_safe is safe


# --- overrides


@pytest.mark.parametrize(
    "overrides, observed",
    [
        pytest.param({"get_stock": OBSERVE}, True, id="a name"),
        pytest.param({"get_*": OBSERVE}, True, id="a glob"),
        pytest.param({"*": ENFORCE, "get_stock": OBSERVE}, True, id="a name beats an earlier glob"),
        pytest.param({"get_stock": ENFORCE, "*": OBSERVE}, False, id="a name beats a later glob"),
        pytest.param({"get_*": OBSERVE, "*": ENFORCE}, True, id="the first glob beats later ones"),
        pytest.param({"*": ENFORCE, "get_*": OBSERVE}, False, id="also where it says less"),
        pytest.param({"GET_*": OBSERVE, "get_stoc": OBSERVE}, False, id="names are what they are"),
        pytest.param({}, False, id="nothing"),
    ],
)
async def test_overrides_go_by_name_then_by_the_first_glob(overrides: dict[str, Policy], observed: bool) -> None:
    options = {"tools": [tool("get_stock", N)], "results": {"get_stock": data({"n": "x"})}}
    async with guarded(raw_session, **options, overrides=overrides) as (tools, _):
        if observed:
            assert await tools.call("get_stock") == {"n": "x"}
        else:
            with pytest.raises(OutputValidationError):
                await tools.call("get_stock")


async def test_an_override_is_for_its_tool_alone() -> None:
    options = {"tools": [tool("a", N), tool("b", N)], "results": {"a": data({}), "b": data({})}}
    async with guarded(raw_session, **options, overrides={"a": OBSERVE}) as (tools, _):
        assert await tools.call("a") == {}
        with pytest.raises(OutputValidationError):
            await tools.call("b")


# --- deviations


DEVIATING: Final[dict[str, tuple[Any, Any, str]]] = {
    "format": (
        {"type": "object", "properties": {"d": {"type": "string", "format": "date"}}},
        data({"d": "soon"}),
        "output_violation",
    ),
    "text_differs": (N, data({"n": 1}, '{"n": 2}'), "output_violation"),
    "structured_missing": (N, said('{"n": 1}'), "structured_missing"),
    "text_verbatim": (
        {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]},
        said("words"),
        "structured_missing",
    ),
}
if SDK_MAJOR == 1:  # on 2.x the SDK's own parser drops these
    DEVIATING["unknown_block"] = (
        N,
        {"content": [{"type": "hologram"}], "structuredContent": {"n": 1}},
        "malformed_result",
    )
    DEVIATING["content_missing"] = (N, {"structuredContent": {"n": 1}}, "malformed_result")


@pytest.mark.parametrize("code", DEVIATING)
@pytest.mark.parametrize("action", ["raise", "report", "allow"])
async def test_a_deviation_raises_only_where_the_policy_says_so(code: str, action: Any) -> None:
    schema, result, kind = DEVIATING[code]
    policy = Policy(deviations={code: action, "*": "allow"}, compare_text=True)
    records: list[Record] = []
    options = {"tools": [tool("t", schema)], "results": {"t": result}, "policy": policy, "hooks": [records.append]}
    async with guarded(raw_session, **options) as (tools, _):
        if action == "raise":
            with pytest.raises(GuardError) as caught:
                await tools.call("t")
            assert caught.value.kind == kind
            assert getattr(caught.value, "deviation", None) == code
            assert caught.value.outcome == "executed"
        else:
            assert isinstance(await tools.call("t"), dict)
        [record] = records
        assert code in record.deviations
        assert record.action == action
        assert record.error == (kind if action == "raise" else None)


async def test_strict_may_except_a_deviation() -> None:
    policy = dataclasses.replace(STRICT, deviations={"structured_missing": "report", "*": "raise"})
    options = {"tools": [tool("t", N)], "results": {"t": said('{"n": 1}')}}
    async with guarded(raw_session, **options, policy=policy) as (tools, _):
        assert await tools.call("t") == {"n": 1}
    async with guarded(raw_session, **options, policy=STRICT) as (tools, _):
        with pytest.raises(MissingStructuredContentError):
            await tools.call("t")


async def test_the_fallback_can_be_turned_off() -> None:
    options = {"tools": [tool("t", N)], "results": {"t": said('{"n": 1}')}}
    async with guarded(raw_session, **options, policy=Policy(fallback="off")) as (tools, _):
        with pytest.raises(MissingStructuredContentError) as caught:
            await tools.call("t")
        assert caught.value.reason == "fallback_off"


# --- judge


@every_target
async def test_judge_gives_the_result_its_verdict_and_its_record(connect: Connect, modern: bool) -> None:
    options = {"tools": [tool("t", N)], "results": {"t": data({"n": "x"}, "words")}, "modern": modern}
    async with guarded(connect, **options) as (tools, _):
        judged = await tools.judge("t", {"a": 1})
        assert isinstance(judged.verdict, Violating)
        assert judged.verdict.value == {"n": "x"}
        assert judged.record.verdict == "Violating"
        result = judged.result if SDK_MAJOR == 1 else as_json(judged.result)
        assert result["structuredContent"] == {"n": "x"}
        assert result["content"] == [text("words")]
        with pytest.raises(OutputValidationError):
            judged.verdict.unwrap()


async def test_the_repr_of_what_judge_gives_holds_nothing_of_the_result() -> None:
    options = {"tools": [tool("t", N)], "results": {"t": data({"n": "CANARY"}, "CANARY")}}
    async with guarded(raw_session, **options) as (tools, _):
        judged = await tools.judge("t")
        assert "CANARY" not in repr(judged)
        assert "Violating" in repr(judged)
