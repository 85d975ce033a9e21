"""When the tools are listed, how often, and what becomes of a call where that fails."""

from __future__ import annotations

import logging
from typing import Any, Final

import anyio
import pytest

from mcp_guard import (
    ENFORCE,
    OBSERVE,
    STRICT,
    Conforming,
    ConnectionLostError,
    Contract,
    ContractChangedError,
    Contracts,
    GuardError,
    Limits,
    Notifications,
    OutputValidationError,
    Policy,
    Record,
    ToolNotListedError,
    ToolProtocolError,
    ToolTimeoutError,
    UnusableContractError,
)
from support import (
    HANG_UP,
    NOTHING,
    SDK_MAJOR,
    Connect,
    Error,
    Line,
    Request,
    in_turn,
    raw_session,
    then_changed,
    tool,
    when,
)
from support.calls import N, data, every_target, guarded, made_with, only_1, only_2, said
from support.clock import timelessly

M: Final[dict[str, Any]] = {"type": "object", "properties": {"m": {"type": "integer"}}, "required": ["m"]}
GOOD: Final = data({"n": 1})
LISTED: Final = {"tools": [tool("t", N)]}


def methods(server: Any) -> list[str]:
    return [r.method for r in server.requests if r.method.startswith("tools/")]


# --- when


@every_target
async def test_the_contract_is_known_before_the_first_call_is_sent(connect: Connect, modern: bool) -> None:
    options = {"tools": [tool("t", N)], "results": {"t": GOOD}, "modern": modern, "ttl_ms": 60_000}
    async with guarded(connect, **options) as (tools, server):
        for _ in range(3):
            await tools.call("t")
        assert methods(server) == ["tools/list", "tools/call", "tools/call", "tools/call"]
        assert tools.contracts["t"].output_schema == N


@every_target
async def test_one_listing_is_for_all_tools(connect: Connect) -> None:
    options = {"tools": [tool("a", N), tool("b", M)], "results": {"a": GOOD, "b": data({"m": 1})}}
    async with guarded(connect, **options) as (tools, server):
        assert (await tools.call("a"), await tools.call("b")) == ({"n": 1}, {"m": 1})
        assert server.counts["tools/list"] == 1


@every_target
async def test_calls_that_start_together_share_one_listing(connect: Connect) -> None:
    listed, got = anyio.Event(), list[Any]()
    options = {"on": {"tools/list": when(listed, LISTED)}, "results": {"t": GOOD}}
    async with guarded(connect, **options) as (tools, server):

        async def call() -> None:
            got.append(await tools.call("t"))

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(call)
            await server.arrived(lambda server: server.counts["tools/list"] == 1)
            await anyio.wait_all_tasks_blocked()
            assert not server.counts["tools/call"]
            listed.set()
        assert got == [{"n": 1}] * 5
        assert server.counts["tools/list"] == 1


@every_target
async def test_where_the_first_of_them_is_cancelled_the_others_still_get_theirs(connect: Connect) -> None:
    got, scope = list[Any](), anyio.CancelScope()
    options = {"on": {"tools/list": in_turn(NOTHING, LISTED)}, "results": {"t": GOOD}}
    async with guarded(connect, **options) as (tools, server):

        async def cancelled() -> None:
            with scope:
                await tools.call("t")

        async def call() -> None:
            got.append(await tools.call("t"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancelled)
            await server.arrived(lambda server: server.counts["tools/list"] == 1)
            for _ in range(3):
                tasks.start_soon(call)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
        assert got == [{"n": 1}] * 3
        assert (server.counts["tools/list"], server.counts["tools/call"]) == (2, 3)


async def test_calls_that_start_together_share_a_listing_that_fails() -> None:
    kinds = list[str]()
    async with guarded(raw_session, on={"tools/list": Error(-32603)}) as (tools, server):

        async def call() -> None:
            with pytest.raises(ToolProtocolError) as caught:
                await tools.call("t")
            kinds.append(caught.value.outcome)

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(call)
        assert kinds == ["not_sent"] * 3
        assert server.counts["tools/list"] == 1


async def test_a_listing_that_failed_is_tried_again_by_the_next_call() -> None:
    options = {"on": {"tools/list": in_turn(Error(-32603), LISTED)}, "results": {"t": GOOD}}
    async with guarded(raw_session, **options) as (tools, _):
        with pytest.raises(ToolProtocolError):
            await tools.call("t")
        assert await tools.call("t") == {"n": 1}


@every_target
async def test_contracts_that_were_given_need_no_listing(connect: Connect) -> None:
    contracts = Contracts()
    contracts.register(Contract("t", M))
    async with guarded(connect, tools=[tool("t", N)], results={"t": GOOD}, contracts=contracts) as (tools, server):
        with pytest.raises(OutputValidationError):
            await tools.call("t")
        assert methods(server)[0] == "tools/call"


@every_target
async def test_refresh_lists_now_and_gives_the_contracts(connect: Connect) -> None:
    async with guarded(connect, tools=[tool("t", N)], results={"t": data({"m": 1})}) as (tools, server):
        assert (await tools.refresh())["t"].output_schema == N
        server.tools = [tool("t", M)]
        assert (await tools.refresh())["t"].output_schema == M
        assert await tools.call("t") == {"m": 1}
        assert server.counts["tools/list"] == 2


@every_target
async def test_a_refresh_that_fails_says_so_and_what_was_known_stays(connect: Connect) -> None:
    options = {"on": {"tools/list": in_turn(LISTED, Error(-32603))}, "results": {"t": GOOD}}
    async with guarded(connect, **options) as (tools, _):
        await tools.refresh()
        with pytest.raises(ToolProtocolError) as caught:
            await tools.refresh()
        assert (caught.value.code, caught.value.outcome) == (-32603, "not_sent")
        assert "t" in tools.contracts


# --- pages


@every_target
async def test_tools_on_later_pages_are_held_to_their_contracts(connect: Connect, modern: bool) -> None:
    pages = [[tool("a", N)], [], [tool("b", N)]]
    async with guarded(connect, pages=pages, results={"b": data({})}, modern=modern, ttl_ms=60_000) as (tools, server):
        with pytest.raises(OutputValidationError):
            await tools.call("b")
        assert [r.params.get("cursor") for r in server.asked("tools/list")][:3] == [None, "page 2", "page 3"]
        assert {c.name for c in tools.contracts} == {"a", "b"}
        assert not tools.contracts.listing_truncated


@every_target
async def test_the_empty_string_is_a_cursor(connect: Connect) -> None:
    pages = in_turn({"tools": [tool("a", N)], "nextCursor": ""}, {"tools": [tool("b", N)]})
    async with guarded(connect, on={"tools/list": pages}, results={"b": GOOD}) as (tools, server):
        assert await tools.call("b") == {"n": 1}
        assert [r.params.get("cursor") for r in server.asked("tools/list")] == [None, ""]
        assert {c.name for c in tools.contracts} == {"a", "b"}


@every_target
async def test_a_cursor_that_comes_again_ends_the_listing(connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    page = {"tools": [tool("t", N)], "nextCursor": "CANARY"}
    async with guarded(connect, on={"tools/list": page}, results={"t": GOOD}, policy=STRICT) as (tools, server):
        assert await tools.call("t") == {"n": 1}  # the deviation stands on the contracts, not on the call
        assert server.counts["tools/list"] == 2
        assert tools.contracts.listing_truncated
        [line] = [r.getMessage() for r in caplog.records if r.name == "mcp_guard"]
        assert "listing_truncated" in line
        assert "CANARY" not in line


async def test_a_listing_without_end_stops_at_the_limit() -> None:
    def endless(request: Request) -> Any:
        return {"tools": [tool(f"t{request.nth}", N)], "nextCursor": str(request.nth)}

    policy = Policy(limits=Limits(pages=4))
    async with guarded(raw_session, on={"tools/list": endless}, results={"t1": GOOD}, policy=policy) as (tools, server):
        assert await tools.call("t1") == {"n": 1}
        assert server.counts["tools/list"] == 4
        assert len(tools.contracts) == 4
        assert tools.contracts.listing_truncated


@every_target
async def test_an_invalid_cursor_starts_the_listing_over_once(connect: Connect) -> None:
    first, last = {"tools": [tool("a", N)], "nextCursor": "2"}, {"tools": [tool("t", N)]}
    pages = in_turn(first, Error(-32602, "Invalid cursor"), first, last)
    async with guarded(connect, on={"tools/list": pages}, results={"t": GOOD}) as (tools, server):
        assert await tools.call("t") == {"n": 1}
        assert [r.params.get("cursor") for r in server.asked("tools/list")] == [None, "2", None, "2"]


@every_target
async def test_a_cursor_that_stays_invalid_is_the_servers_error_and_nothing_is_sent(connect: Connect) -> None:
    first = {"tools": [tool("t", N)], "nextCursor": "2"}

    def pages(request: Request) -> Any:
        return Error(-32602) if "cursor" in request.params else first

    async with guarded(connect, on={"tools/list": pages}, results={"t": GOOD}) as (tools, server):
        with pytest.raises(ToolProtocolError) as caught:
            await tools.call("t")
        assert (caught.value.code, caught.value.outcome) == (-32602, "not_sent")
        assert server.counts["tools/list"] == 4
        assert not server.counts["tools/call"]


async def test_an_error_on_the_first_page_does_not_start_over() -> None:
    async with guarded(raw_session, on={"tools/list": Error(-32602)}) as (tools, server):
        with pytest.raises(ToolProtocolError):
            await tools.call("t")
        assert server.counts["tools/list"] == 1


# --- contracts that refuse the call


UNUSABLE: Final[list[tuple[str, Any]]] = [
    ("invalid_schema", {"type": "object", "properties": {"n": {"type": "nonsense"}}}),
    ("unknown_dialect", {"$schema": "https://example.com/own", "type": "object"}),
    ("dangling_ref", {"type": "object", "properties": {"n": {"$ref": "#/$defs/none"}}}),
    ("remote_ref", {"type": "object", "properties": {"n": {"$ref": "https://example.com/CANARY"}}}),
]


@pytest.mark.parametrize("reason, schema", UNUSABLE, ids=[reason for reason, _ in UNUSABLE])
@every_target
async def test_a_tool_with_an_unusable_contract_is_not_called(
    connect: Connect, modern: bool, reason: str, schema: Any
) -> None:
    options = {"tools": [tool("t", schema), tool("u", N)], "results": {"t": GOOD, "u": GOOD}, "modern": modern}
    async with guarded(connect, **options) as (tools, server):
        with pytest.raises(UnusableContractError) as caught:
            await tools.call("t")
        assert (caught.value.reason, caught.value.outcome, caught.value.retryable) == (reason, "not_sent", False)
        assert "CANARY" not in str(caught.value)
        assert await tools.call("u") == {"n": 1}, "a bad entry spoils only itself"
        assert server.calls == {"u": 1}


@pytest.mark.parametrize("reason, schema", UNUSABLE, ids=[reason for reason, _ in UNUSABLE])
async def test_observe_calls_it_all_the_same_and_the_record_says_why(reason: str, schema: Any) -> None:
    records: list[Record] = []
    options = {"tools": [tool("t", schema)], "results": {"t": data({"n": "x"})}, "hooks": [records.append]}
    async with guarded(raw_session, **options, policy=OBSERVE) as (tools, _):
        assert await tools.call("t") == {"n": "x"}
        judged = await tools.judge("t")
        assert getattr(judged.verdict, "reason", None) == reason
        assert [(r.verdict, r.error, r.action) for r in records] == [
            ("Unenforceable", "contract_unusable", "report")
        ] * 2


@every_target
async def test_two_different_tools_of_one_name_are_ambiguous_and_not_called(connect: Connect) -> None:
    pages = [[tool("t", N)], [tool("t", M)]]
    async with guarded(connect, pages=pages, results={"t": GOOD}) as (tools, server):
        with pytest.raises(UnusableContractError) as caught:
            await tools.call("t")
        assert (caught.value.reason, caught.value.outcome) == ("ambiguous", "not_sent")
        assert not server.counts["tools/call"]


@every_target
async def test_two_equal_definitions_count_once(connect: Connect) -> None:
    async with guarded(connect, pages=[[tool("t", N)], [tool("t", N)]], results={"t": GOOD}) as (tools, _):
        assert await tools.call("t") == {"n": 1}
        assert len(tools.contracts) == 1


@every_target
async def test_a_tool_in_no_listing_is_listed_again_once_and_then_remembered(connect: Connect) -> None:
    async with guarded(connect, tools=[tool("t", N)], results={"u": GOOD}, policy=STRICT) as (tools, server):
        for _ in range(3):
            with pytest.raises(ToolNotListedError) as caught:
                await tools.call("u")
            assert caught.value.outcome == "not_sent"
        assert server.counts["tools/list"] == 2
        assert not server.counts["tools/call"]


@every_target
async def test_a_tool_that_is_new_since_the_listing_is_found_by_the_second_one(connect: Connect) -> None:
    pages = in_turn(LISTED, {"tools": [tool("t", N), tool("u", M)]})
    async with guarded(connect, on={"tools/list": pages}, results={"t": GOOD, "u": data({})}) as (tools, server):
        await tools.call("t")
        with pytest.raises(OutputValidationError):
            await tools.call("u")
        # the last one since the result does not fit: each reason to look again has a limit of its own
        assert methods(server) == ["tools/list", "tools/call", "tools/list", "tools/call", "tools/list"]


# --- a listing that fails


FAULTS: Final[dict[str, tuple[Any, type[GuardError]]]] = {
    "an error": (Error(-32603), ToolProtocolError),
    "a method that is not there": (Error(-32601), ToolProtocolError),
    "no answer": (NOTHING, ToolTimeoutError),
    "a lost connection": (HANG_UP, ConnectionLostError),
}


@pytest.mark.parametrize("way", ["call", "call_tool", "judge"])
@pytest.mark.parametrize("what", FAULTS)
@every_target
async def test_where_the_first_listing_fails_nothing_is_sent_and_the_error_is_the_listings(
    connect: Connect, modern: bool, what: str, way: str
) -> None:
    answer, kind = FAULTS[what]
    records: list[Record] = []
    options = {"on": {"tools/list": answer}, "results": {"t": GOOD}, "modern": modern, "hooks": [records.append]}
    async with guarded(connect, **options, timeout=0.05 if answer is NOTHING else 5) as (tools, server):
        with pytest.raises(kind) as caught:
            await getattr(tools, way)("t", {})
        assert (caught.value.outcome, caught.value.retry_safe) == ("not_sent", True)
        assert not server.counts["tools/call"]
        [record] = records
        assert (record.outcome, record.error, record.verdict, record.attempts) == (
            "not_sent",
            caught.value.kind,
            None,
            (),
        )


REFUSED_PAGE: Final = {"tools": [tool("t", N), tool("bad", {"type": "array"})]}


@only_2
@every_target
async def test_where_the_sdk_refuses_the_page_the_contract_is_unusable_and_nothing_is_sent(connect: Connect) -> None:
    async with guarded(connect, on={"tools/list": REFUSED_PAGE}, results={"t": GOOD}) as (tools, server):
        with pytest.raises(UnusableContractError, match=r"connect\(\) keeps what is good of it") as caught:
            await tools.call("t")
        assert (caught.value.reason, caught.value.outcome) == ("listing_failed", "not_sent")
        assert not server.counts["tools/call"]


@only_1
@pytest.mark.parametrize("bad", [{"type": "array"}, True, "words", [1]])
async def test_on_mcp_1_a_bad_entry_spoils_only_itself(bad: Any) -> None:
    page = {"tools": [tool("bad", bad), 5, {"title": "no name"}, tool("t", N)]}
    async with guarded(raw_session, on={"tools/list": page}, results={"t": GOOD}) as (tools, _):
        assert await tools.call("t") == {"n": 1}


@every_target
async def test_under_observe_the_call_is_sent_although_the_listing_failed(connect: Connect) -> None:
    records: list[Record] = []
    options = {"on": {"tools/list": Error(-32603)}, "results": {"t": GOOD}, "policy": OBSERVE}
    async with guarded(connect, **options, hooks=[records.append]) as (tools, server):
        assert await tools.call("t") == {"n": 1}
        assert server.calls["t"] == 1
        assert records[0].deviations == ("listing_failed",)
        assert (records[0].verdict, records[0].action) == ("Unchecked", "report")


@pytest.mark.parametrize("answer", [Error(-32603), {"tools": "none"}], ids=["an error", "no list"])
@every_target
async def test_a_later_listing_that_fails_leaves_the_contracts_in_force(connect: Connect, answer: Any) -> None:
    records: list[Record] = []
    changes = Notifications()
    options = {
        "on": {"tools/list": in_turn(LISTED, answer)},
        "results": {"t": in_turn(then_changed(GOOD), GOOD, GOOD, data({"n": "x"}))},
        "hooks": [records.append],
        **made_with(connect, message_handler=changes),
    }
    async with guarded(connect, **options, notifications=changes) as (tools, server):
        await tools.call("t")
        while not changes.changes:
            await anyio.lowlevel.checkpoint()
        assert (await tools.call("t"), await tools.call("t")) == ({"n": 1}, {"n": 1})
        assert server.counts["tools/list"] == 2, "not read again at once"
        with pytest.raises(OutputValidationError):
            await tools.call("t")
        assert [r.deviations for r in records] == [(), *[("listing_failed",)] * 3]


# --- a listing that changed


def drifting(first: Any, *later: Any) -> Any:
    """The listing: first this, then, from the second request on, the others."""
    return in_turn({"tools": [first]}, *({"tools": list(x)} for x in later))


@every_target
async def test_a_result_that_fits_the_contract_of_a_new_listing_conforms(connect: Connect) -> None:
    records: list[Record] = []
    options = {"on": {"tools/list": drifting(tool("t", N), [tool("t", M)])}, "results": {"t": data({"m": 1})}}
    async with guarded(connect, **options, hooks=[records.append]) as (tools, server):
        assert await tools.call("t") == {"m": 1}
        assert methods(server) == ["tools/list", "tools/call", "tools/list"], "the tool is not called again"
        judged = await tools.judge("t")
        assert isinstance(judged.verdict, Conforming)
        assert [r.deviations for r in records] == [("contract_changed",), ()]
        assert records[0].output_fingerprint == records[1].output_fingerprint == tools.contracts["t"].output_fingerprint


async def test_strict_raises_on_a_contract_that_changed_under_the_call() -> None:
    options = {"on": {"tools/list": drifting(tool("t", N), [tool("t", M)])}, "results": {"t": data({"m": 1})}}
    async with guarded(raw_session, **options, policy=STRICT) as (tools, server):
        with pytest.raises(ContractChangedError) as caught:
            await tools.call("t")
        assert (caught.value.outcome, caught.value.deviation) == ("executed", "contract_changed")
        assert server.calls["t"] == 1


@pytest.mark.parametrize(
    "later",
    [
        pytest.param([tool("t", N)], id="the same"),
        pytest.param([], id="without the tool"),
        pytest.param([tool("t")], id="without its schema"),
        pytest.param([tool("t", {"type": "object", "required": ["z"]})], id="another that it does not fit"),
        pytest.param([tool("t", {"type": "object", "$ref": "#/none"})], id="an unusable one"),
    ],
)
@every_target
async def test_any_other_new_listing_lets_the_violation_stand(connect: Connect, later: Any) -> None:
    options = {"on": {"tools/list": drifting(tool("t", N), later)}, "results": {"t": data({"m": 1})}}
    async with guarded(connect, **options) as (tools, server):
        with pytest.raises(OutputValidationError) as caught:
            await tools.call("t")
        assert [(v.keyword, v.pointer) for v in caught.value.violations] == [("required", "")]
        assert (server.counts["tools/list"], server.calls["t"]) == (2, 1)


async def test_a_text_that_did_not_fit_is_read_again_by_the_new_contract() -> None:
    options = {"on": {"tools/list": drifting(tool("t", N), [tool("t", M)])}, "results": {"t": said('{"m": 1}')}}
    async with guarded(raw_session, **options) as (tools, _):
        assert await tools.call("t") == {"m": 1}


@every_target
async def test_a_server_whose_results_never_fit_is_not_listed_each_time(connect: Connect) -> None:
    async with guarded(connect, tools=[tool("t", N)], results={"t": data({})}) as (tools, server):
        for _ in range(5):
            with pytest.raises(OutputValidationError):
                await tools.call("t")
        assert (server.counts["tools/list"], server.calls["t"]) == (2, 5)


@pytest.mark.parametrize("answer", [Error(-32603), NOTHING, {"tools": "none"}, HANG_UP], ids=str)
@every_target
@timelessly
async def test_a_listing_that_fails_never_destroys_the_result_of_a_call_that_ran(connect: Connect, answer: Any) -> None:
    records: list[Record] = []
    options = {"on": {"tools/list": in_turn(LISTED, answer)}, "results": {"t": data({"n": "x"})}}
    async with guarded(connect, **options, timeout=0.1, policy=OBSERVE, hooks=[records.append]) as (tools, _):
        assert await tools.call("t", timeout=0.1) == {"n": "x"}
        assert [(r.verdict, r.outcome) for r in records] == [("Violating", "executed")]


@every_target
@timelessly
async def test_and_the_error_is_still_the_results(connect: Connect) -> None:
    options = {"on": {"tools/list": in_turn(LISTED, NOTHING)}, "results": {"t": data({"n": "x"})}}
    async with guarded(connect, **options, timeout=0.1) as (tools, _):
        with pytest.raises(OutputValidationError) as caught:
            await tools.call("t")
        assert caught.value.outcome == "executed"


# --- what the server says about its listing


@every_target
async def test_after_list_changed_the_next_call_lists_again_first(connect: Connect) -> None:
    seen: list[Any] = []

    async def chain(message: Any) -> None:
        await anyio.lowlevel.checkpoint()
        seen.append(getattr(message, "root", message))

    changes = Notifications(chain)
    options = {
        "on": {"tools/list": drifting(tool("t", N), [tool("t", M)])},
        "results": {"t": in_turn(then_changed(GOOD), data({"m": 1}), data({"m": 2}))},
        **made_with(connect, message_handler=changes),
    }
    async with guarded(connect, **options, notifications=changes) as (tools, server):
        assert await tools.call("t") == {"n": 1}
        while not seen:
            await anyio.lowlevel.checkpoint()
        assert (await tools.call("t"), await tools.call("t")) == ({"m": 1}, {"m": 2})
        assert methods(server) == ["tools/list", "tools/call", "tools/list", "tools/call", "tools/call"]
        assert [m.method for m in seen] == ["notifications/tools/list_changed"]
        assert changes.changes == 1


@pytest.mark.parametrize("wrapped", [True, False], ids=["wrapped", "bare"])
async def test_notifications_know_the_message_in_both_shapes_and_hand_everything_on(wrapped: bool) -> None:
    class Message:
        def __init__(self, method: str) -> None:
            self.method = method

    class Root:
        def __init__(self, root: Message) -> None:
            self.root = root

    got: list[Any] = []

    async def chain(message: Any) -> None:
        await anyio.lowlevel.checkpoint()
        got.append(message)

    changes = Notifications(chain)
    messages: list[Any] = [Message("notifications/tools/list_changed"), Message("notifications/prompts/list_changed")]
    messages = [*(Root(m) if wrapped else m for m in messages), ValueError("no"), object()]
    for message in messages:
        await changes(message)
    assert changes.changes == 1
    assert got == messages
    await Notifications()(messages[0])


async def test_what_the_chain_raises_goes_to_the_session_as_without_a_guard() -> None:
    async def chain(_message: Any) -> None:
        await anyio.lowlevel.checkpoint()
        raise LookupError

    changes = Notifications(chain)
    with pytest.raises(LookupError):
        await changes(object())


@only_2
@every_target
async def test_a_listing_holds_as_long_as_its_ttl_says(connect: Connect) -> None:
    for ttl, listings in ((60_000, 1), (0, 3)):
        options = {"tools": [tool("t", N)], "results": {"t": GOOD}, "modern": True, "ttl_ms": ttl}
        async with guarded(connect, **options) as (tools, server):
            for _ in range(3):
                await tools.call("t")
            assert server.counts["tools/list"] == listings


@only_2
async def test_the_shortest_ttl_of_the_pages_counts() -> None:
    def page(name: str, ttl: int, **more: Any) -> Any:
        return {"tools": [tool(name, N)], "ttlMs": ttl, "cacheScope": "private", **more}

    pages = in_turn(page("a", 60_000, nextCursor="2"), page("t", 0), page("t", 60_000))
    async with guarded(raw_session, on={"tools/list": pages}, results={"t": GOOD}, modern=True) as (tools, server):
        for _ in range(3):
            await tools.call("t")
        assert server.counts["tools/list"] == 3


async def test_before_2026_07_28_a_ttl_means_nothing() -> None:
    page = {**LISTED, "ttlMs": 0}
    async with guarded(raw_session, on={"tools/list": page}, results={"t": GOOD}) as (tools, server):
        for _ in range(3):
            await tools.call("t")
        assert server.counts["tools/list"] == 1


MISMATCH: Final = Error(-32020, "Header mismatch")


@only_2
@every_target
async def test_a_header_mismatch_lists_again_and_resends_once(connect: Connect) -> None:
    records: list[Record] = []
    options = {"tools": [tool("t", N)], "results": {"t": in_turn(MISMATCH, GOOD)}, "modern": True, "ttl_ms": 60_000}
    async with guarded(connect, **options, hooks=[records.append]) as (tools, server):
        assert await tools.call("t", {"a": 1}) == {"n": 1}
        assert [r.arguments for r in server.asked("tools/call")] == [{"a": 1}] * 2
        assert methods(server) == ["tools/list", "tools/call", "tools/list", "tools/call"]


@only_2
@every_target
async def test_a_second_header_mismatch_is_the_servers_error(connect: Connect) -> None:
    options = {"tools": [tool("t", N)], "results": {"t": MISMATCH}, "modern": True, "ttl_ms": 60_000}
    async with guarded(connect, **options) as (tools, server):
        with pytest.raises(ToolProtocolError) as caught:
            await tools.call("t", {})
        assert (caught.value.code, caught.value.outcome) == (-32020, "unknown")
        assert server.calls["t"] == 2


@pytest.mark.skipif(SDK_MAJOR > 1, reason="of mcp 1.x, which has no such headers")
async def test_on_mcp_1_the_code_means_nothing_and_nothing_is_resent() -> None:
    async with guarded(raw_session, tools=[tool("t", N)], results={"t": MISMATCH}, policy=ENFORCE) as (tools, server):
        with pytest.raises(ToolProtocolError):
            await tools.call("t", {})
        assert server.calls["t"] == 1


async def test_mutating_what_the_server_listed_changes_no_contract() -> None:
    async with guarded(raw_session, tools=[tool("t", N)], results={"t": data({})}) as (tools, _):
        await tools.refresh()
        listed = (await tools.list_tools()).tools[0]
        getattr(listed, "outputSchema" if SDK_MAJOR == 1 else "output_schema").clear()
        with pytest.raises(OutputValidationError):
            await tools.call("t")


async def test_a_page_whose_tools_are_no_list_is_a_listing_that_failed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mcp_guard")
    line = Line('{"jsonrpc":"2.0","id":@@ID@@,"result":{"tools":{"CANARY":1}}}')
    async with guarded(raw_session, on={"tools/list": line}, results={"t": GOOD}) as (tools, server):
        with pytest.raises(UnusableContractError) as caught:
            await tools.call("t")
        assert caught.value.reason == "listing_failed"
        assert not server.counts["tools/call"]
        assert "CANARY" not in str(caught.value) + "".join(
            r.getMessage() for r in caplog.records if r.name == "mcp_guard"
        )
