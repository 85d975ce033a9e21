"""`paginate`: a tool's own pages as one iterator, and what it says of how far it got."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any, Final

import anyio
import pytest

from mcp_guard import (
    ENFORCE,
    OBSERVE,
    STRICT,
    Budget,
    BudgetExhaustedError,
    GuardedSession,
    Limits,
    OutputValidationError,
    Pages,
    Policy,
    Record,
    ToolExecutionError,
    ToolNotListedError,
    ToolTimeoutError,
    connect,
)
from support import NOTHING, Connect, RawServer, Request, in_turn, raw_session, raw_transport, tool
from support.calls import data, every_target, guarded, said

ASK: Final[dict[str, Any]] = {"items": "hits", "cursor": "at", "next_cursor": "next"}


def page(*hits: Any, **members: Any) -> dict[str, Any]:
    """A result that is one page."""
    return data({"hits": list(hits), **members})


def by_cursor(pages: Mapping[Any, Any]) -> Callable[[Request], Any]:
    """The answer that belongs to the cursor that was sent, `None` where there was none."""
    return lambda request: pages[(request.arguments or {}).get("at")]


def asked(server: RawServer) -> list[Any]:
    """The arguments of each call."""
    return [request.arguments for request in server.asked("tools/call")]


@asynccontextmanager
async def search(
    *answers: Any, connect: Connect = raw_session, tools: Any = None, **options: Any
) -> AsyncGenerator[tuple[GuardedSession[Any], RawServer]]:
    """A guard, and behind it a server whose tool `t` answers so in turn."""
    listed = [tool("t")] if tools is None else tools
    async with guarded(connect, tools=listed, results={"t": in_turn(*answers)}, **options) as (guard, server):
        yield guard, server


async def read(pages: Pages, got: list[Any]) -> None:
    """Read on, and keep what comes, also where an error ends it."""
    async for item in pages:
        got.append(item)  # noqa: PERF401  # a list made at once would be lost with the error


async def all_of(pages: Pages) -> list[Any]:
    return [item async for item in pages]


# --- reading to the end


@every_target
async def test_the_items_of_all_pages_come_in_order(connect: Connect, modern: bool) -> None:
    answers = (page(1, 2, next="b"), page(3, next="c"), page(4))
    async with search(*answers, connect=connect, modern=modern) as (tools, server):
        found = tools.paginate("t", {"q": "x"}, **ASK)
        assert not server.counts["tools/list"]
        assert await all_of(found) == [1, 2, 3, 4]
        assert asked(server) == [{"q": "x"}, {"q": "x", "at": "b"}, {"q": "x", "at": "c"}]
    assert (found.complete, found.stopped_because, found.pages, found.duplicates) == (True, "end", 3, 0)
    assert found.cursor is None


@pytest.mark.parametrize("first", ["", " a=b&c%20\u00e9 ", 0, 17, 1.5, False, {"k": None, "l": [1]}, [], 10**30])
async def test_a_cursor_goes_back_as_it_came(first: Any) -> None:
    async with search(page(1, next=first), page(2)) as (tools, server):
        assert await all_of(tools.paginate("t", **ASK)) == [1, 2]
        assert asked(server)[1] == {"at": first}
        assert type(asked(server)[1]["at"]) is type(first)


@pytest.mark.parametrize("last", [page(1), page(1, next=None)])
async def test_no_cursor_and_null_are_the_end(last: Any) -> None:
    async with search(last) as (tools, server):
        found = tools.paginate("t", **ASK)
        assert await all_of(found) == [1]
        assert found.complete
        assert server.calls["t"] == 1


async def test_an_empty_page_with_a_cursor_is_not_the_end() -> None:
    async with search(page(next="b"), page(next="c"), page(1, next="d"), page()) as (tools, server):
        found = tools.paginate("t", **ASK)
        assert await all_of(found) == [1]
        assert found.complete
        assert server.calls["t"] == 4


async def test_nothing_at_all_is_a_complete_answer() -> None:
    async with search(page()) as (tools, _):
        found = tools.paginate("t", **ASK)
        assert await all_of(found) == []
        assert (found.complete, found.pages) == (True, 1)


async def test_null_in_place_of_the_items_is_an_empty_page() -> None:
    async with search(data({"hits": None, "next": "b"}), page(1)) as (tools, _):
        assert await all_of(tools.paginate("t", **ASK)) == [1]


async def test_a_page_is_fetched_when_it_is_needed() -> None:
    async with search(page(1, 2, next="b"), page(3)) as (tools, server):
        found = tools.paginate("t", **ASK)
        assert [await anext(found), await anext(found)] == [1, 2]
        assert server.calls["t"] == 1
        assert (found.complete, found.stopped_because, found.cursor) == (False, None, "b")
        assert await anext(found) == 3
        assert not found.complete  # the end is not known before it is asked for
        assert [x async for x in found] == []
        assert found.complete


async def test_reading_goes_on_from_a_cursor_of_another_time() -> None:
    pages = by_cursor({None: page(1, next="b"), "b": page(2, next="c"), "c": page(3)})
    async with search(pages) as (tools, server):
        first = tools.paginate("t", {"q": 1}, **ASK)
        assert await anext(first) == 1
        second = tools.paginate("t", {"q": 1, "at": first.cursor}, **ASK)
        assert await all_of(second) == [2, 3]
        assert asked(server)[1] == {"q": 1, "at": "b"}


# --- where things stand

NESTED: Final = {
    None: data({"data": {"a/b": [{"id": 1}], "more": [{"~": "b"}]}}),
    "b": data({"data": {"a/b": [{"id": 2}], "more": [{}]}}),
}


@pytest.mark.parametrize(
    "places",
    [
        {"items": "/data/a~1b", "next_cursor": "/data/more/0/~0", "key": "id"},
        {"items": "/data/a~1b", "next_cursor": "/data/more/0/~0", "key": "/id"},
        {
            "items": lambda p: p["data"]["a/b"],
            "next_cursor": lambda p: p["data"]["more"][0].get("~"),
            "key": lambda item: item["id"],
        },
        {
            "items": lambda p: (x for x in p["data"]["a/b"]),
            "next_cursor": functools.partial(lambda p: p["data"]["more"][0].get("~")),
        },
    ],
    ids=["pointer", "pointer of a key", "function", "generator"],
)
async def test_things_are_found_by_name_pointer_or_function(places: Any) -> None:
    async with search(by_cursor(NESTED)) as (tools, _):
        found = tools.paginate("t", cursor="at", **places)
        assert await all_of(found) == [{"id": 1}, {"id": 2}]
        assert found.complete


async def test_the_page_itself_may_be_the_list() -> None:
    async with search(said("[1, 2]")) as (tools, _):
        assert await all_of(tools.paginate("t", items="", cursor="at", next_cursor="next")) == [1, 2]


async def test_a_page_that_came_as_text_alone_is_read_as_json() -> None:
    async with search(said('{"hits": [1], "next": "b"}'), said('{"hits": [2]}')) as (tools, _):
        assert await all_of(tools.paginate("t", **ASK)) == [1, 2]


async def test_a_page_number_can_be_counted() -> None:
    async with search(data({"hits": [1], "page": 1, "of": 2}), data({"hits": [2], "page": 2, "of": 2})) as (
        tools,
        server,
    ):
        found = tools.paginate(
            "t", items="hits", cursor="page", next_cursor=lambda p: p["page"] + 1 if p["page"] < p["of"] else None
        )
        assert await all_of(found) == [1, 2]
        assert asked(server) == [{}, {"page": 2}]


# --- duplicates


@pytest.mark.parametrize("key", ["id", "/id", lambda item: item["id"]], ids=["name", "pointer", "function"])
async def test_items_of_one_key_come_once(key: Any) -> None:
    answers = (page({"id": 1, "n": 1}, {"id": 2}, next="b"), page({"id": 2}, {"id": 1, "n": 9}, {"id": 3}))
    async with search(*answers) as (tools, _):
        found = tools.paginate("t", key=key, **ASK)
        assert await all_of(found) == [{"id": 1, "n": 1}, {"id": 2}, {"id": 3}]
        assert found.duplicates == 2


async def test_without_a_key_nothing_is_dropped() -> None:
    async with search(page(1, 1, next="b"), page(1)) as (tools, _):
        assert await all_of(tools.paginate("t", **ASK)) == [1, 1, 1]


@pytest.mark.parametrize(
    "ids, left",
    [
        ([1, 1.0, True, "1"], [1, True, "1"]),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1.0}, {"a": 1}], [{"a": 1, "b": 2}, {"a": 1}]),
        (["x" * 10_000, "x" * 10_000, "x" * 10_001], ["x" * 10_000, "x" * 10_001]),
        ([10**30, 10**30, 10**30 + 1], [10**30, 10**30 + 1]),
        ([None, None], [None, None]),
        (["", "", 0, False], ["", 0, False]),
    ],
    ids=range(6),
)
async def test_keys_are_compared_as_json(ids: Any, left: Any) -> None:
    async with search(page(*({"id": each} for each in ids))) as (tools, _):
        got = [item["id"] async for item in tools.paginate("t", key="id", **ASK)]
        assert [(type(x), x) for x in got] == [(type(x), x) for x in left]


async def test_an_item_without_a_key_is_never_dropped() -> None:
    async with search(page({}, {}, 5, 5, [], {"id": 1})) as (tools, _):
        assert len(await all_of(tools.paginate("t", key="id", **ASK))) == 6


async def test_a_function_may_make_keys_that_are_no_json() -> None:
    items = ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 1, "b": 3})
    async with search(page(*items)) as (tools, _):
        found = tools.paginate("t", key=lambda item: frozenset(item.items()), **ASK)
        assert await all_of(found) == [items[0], items[2]]


async def test_only_the_last_keys_are_remembered() -> None:
    kept = 100_000
    answers = (page(*range(kept), next="b"), page(0, kept, 0, 2))
    async with search(*answers) as (tools, _):
        found = tools.paginate("t", key="", **ASK)
        got = await all_of(found)
    # 0 was still known at first; the new key drove it out, and it came again and drove out 1
    assert got[kept:] == [kept, 0]
    assert found.duplicates == 2


# --- not all there is


async def test_a_page_that_was_cut_short_is_respected() -> None:
    answers = (page(1, next="b", cut=True), page(2, cut=False))
    async with search(*answers) as (tools, _):
        found = tools.paginate("t", truncated="cut", **ASK)
        assert await all_of(found) == [1, 2]
    assert (found.complete, found.stopped_because) == (False, "truncated")


@pytest.mark.parametrize("cut", [{}, {"cut": None}, {"cut": False}])
async def test_a_page_that_was_not_cut_short_is_all(cut: Any) -> None:
    async with search(page(1, **cut)) as (tools, _):
        found = tools.paginate("t", truncated="cut", **ASK)
        assert await all_of(found) == [1]
        assert found.complete


async def test_a_spent_budget_ends_it_without_an_error() -> None:
    pages = by_cursor({None: page(1, next="b"), "b": page(2, next="c"), "c": page(3)})
    async with search(pages) as (tools, server):
        async with Budget(attempts=2, seconds=60):
            found = tools.paginate("t", **ASK)
            assert await all_of(found) == [1, 2]
            assert (found.complete, found.stopped_because, found.cursor) == (False, "budget", "c")
            assert await all_of(found) == []
            with pytest.raises(BudgetExhaustedError):
                await tools.call("t")
        assert server.calls["t"] == 2
        rest = tools.paginate("t", {"at": found.cursor}, **ASK)
        assert await all_of(rest) == [3]
        assert rest.complete


async def test_a_budget_whose_time_runs_out_while_a_page_is_read_ends_it_too() -> None:
    now = 0.0

    def late(_request: Request) -> Any:
        nonlocal now
        now = 100.0
        return NOTHING

    async with search(page(1, next="b"), late) as (tools, _), Budget(attempts=9, seconds=60, clock=lambda: now):
        found = tools.paginate("t", **ASK)
        assert await anext(found) == 1
        now = 59.95
        assert await all_of(found) == []
    assert (found.complete, found.stopped_because, found.cursor) == (False, "budget", "b")


async def test_a_page_that_a_budget_refuses_as_a_repeat_is_an_error() -> None:
    async with search(NOTHING) as (tools, server):
        await tools.refresh()
        async with Budget(attempts=9, seconds=60):
            with pytest.raises(ToolTimeoutError):
                await all_of(tools.paginate("t", timeout=0.05, **ASK))
            found = tools.paginate("t", **ASK)
            with pytest.raises(BudgetExhaustedError):
                await all_of(found)
        assert found.stopped_because == "error"
        await server.arrived(lambda s: s.calls["t"] == 1)


async def test_too_many_pages_in_a_row_with_nothing_new_end_it() -> None:
    def endless(request: Request) -> Any:
        return page({"id": 1}, next=request.nth)

    policy = Policy(limits=Limits(pages=5))
    async with search(endless, policy=policy) as (tools, server):
        found = tools.paginate("t", key="id", **ASK)
        assert await all_of(found) == [{"id": 1}]
        assert (found.complete, found.stopped_because) == (False, "empty_pages")
        assert server.calls["t"] == 1 + 5 + 1


# --- errors


@pytest.mark.parametrize("again", ["b", "a"])
async def test_a_repeated_cursor_is_an_error_after_the_items_of_its_page(
    again: str, caplog: pytest.LogCaptureFixture
) -> None:
    records: list[Record] = []
    pages = by_cursor({"a": page(1, next="b"), "b": page(2, 3, next=again)})
    got: list[Any] = []
    with caplog.at_level(logging.WARNING, "mcp_guard"):
        async with search(pages, hooks=[records.append]) as (tools, server):
            found = tools.paginate("t", {"at": "a"}, **ASK)
            with pytest.raises(OutputValidationError) as caught:
                await read(found, got)
            assert server.calls["t"] == 2
    assert got == [1, 2, 3]
    error = caught.value
    assert (error.source, error.outcome, error.retry_safe) == ("type", "executed", False)
    assert [(v.pointer, v.value) for v in error.violations] == [("/next", again)]
    assert error.result is not None
    assert error.call_id == records[-1].call_id
    assert (found.complete, found.stopped_because) == (False, "repeated_cursor")
    assert [(r.verdict, r.error, r.action) for r in records] == [
        ("Unchecked", None, "allow"),
        ("Unchecked", "output_violation", "report"),
    ]
    assert len(caplog.records) == 1
    assert await all_of(found) == []


async def test_cursors_are_compared_as_json() -> None:
    async with search(page(1, next={"p": 1, "q": 2}), page(2, next={"q": 2, "p": 1.0})) as (tools, _):
        with pytest.raises(OutputValidationError, match="/next is a cursor that was there before"):
            await all_of(tools.paginate("t", **ASK))


async def test_an_error_in_the_middle_is_raised_and_what_was_read_stays() -> None:
    answers = (page(1, 2, next="b"), said("boom", isError=True))
    got: list[Any] = []
    async with search(*answers) as (tools, server):
        found = tools.paginate("t", **ASK)
        with pytest.raises(ToolExecutionError):
            await read(found, got)
        assert got == [1, 2]
        assert (found.complete, found.stopped_because, found.pages, found.cursor) == (False, "error", 1, "b")
        assert await all_of(found) == []
        assert server.calls["t"] == 2


BROKEN: Final = [
    (data({"hit": [1]}), {}, "/hits must be there, as a list", "/hits"),
    (data({"hits": 5}), {}, "/hits must be array, found integer", "/hits"),
    (data({"hits": "abc"}), {}, "/hits must be array, found string", "/hits"),
    (data({"hits": {"a": 1}}), {}, "/hits must be array", "/hits"),
    (said("no pages today"), {}, "/hits must be there, as a list, found string", "/hits"),
    (page(1), {"items": lambda p: p["nope"]}, r"refused by what was given as items= \(KeyError\)", ""),
    (page(1), {"items": lambda _p: 5}, "what items= gives must be array, found integer", ""),
    (page(1), {"items": lambda _p: "ab"}, "what items= gives must be array, found string", ""),
    (page(1), {"next_cursor": lambda _p: 1 / 0}, r"given as next_cursor= \(ZeroDivisionError\)", ""),
    (page(1), {"truncated": lambda p: p["nope"]}, r"given as truncated= \(KeyError\)", ""),
    (page(1), {"key": lambda item: item["id"]}, r"given as key= \(TypeError\)", ""),
    (page(1), {"key": lambda _item: {1: {2}}}, r"given as key= \(TypeError\)", ""),
]


@pytest.mark.parametrize("answer, places, says, pointer", BROKEN, ids=range(len(BROKEN)))
@pytest.mark.parametrize("policy", [ENFORCE, OBSERVE], ids=["ENFORCE", "OBSERVE"])
async def test_a_page_that_is_not_as_the_caller_said_is_an_error_under_every_policy(
    answer: Any, places: Any, says: str, pointer: str, policy: Policy
) -> None:
    records: list[Record] = []
    async with search(answer, policy=policy, hooks=[records.append]) as (tools, server):
        found = tools.paginate("t", **{**ASK, **places})
        with pytest.raises(OutputValidationError) as caught:
            await all_of(found)
        assert server.calls["t"] == 1
    [record] = records
    assert re.search(says, str(caught.value))
    assert [v.pointer for v in caught.value.violations] == [pointer]
    assert (caught.value.source, caught.value.call_id) == ("type", record.call_id)
    assert (record.error, record.action, found.stopped_because) == ("output_violation", "raise", "error")


async def test_a_page_is_held_against_its_contract_first() -> None:
    schema = {"type": "object", "properties": {"hits": {"type": "array", "items": {"type": "integer"}}}}
    async with search(page(1, next="b"), page("x"), tools=[tool("t", schema)]) as (tools, _):
        with pytest.raises(OutputValidationError, match="/hits/0 must be integer") as caught:
            await all_of(tools.paginate("t", **ASK))
        assert caught.value.source == "structured"


async def test_strict_asks_for_a_listed_tool_as_ever() -> None:
    async with search(page(1), tools=(), policy=STRICT) as (tools, _):
        found = tools.paginate("t", **ASK)
        with pytest.raises(ToolNotListedError):
            await anext(found)
        assert found.stopped_because == "error"


# --- leaving early


async def test_leaving_early_leaves_nothing_behind() -> None:
    async with search(page(1, 2, next="b"), page(3)) as (tools, server):
        async with aclosing(tools.paginate("t", **ASK)) as found:
            async for _ in found:
                break
        assert (found.complete, found.stopped_because) == (False, "closed")
        assert await all_of(found) == []
        assert server.calls["t"] == 1


async def test_closing_after_the_end_changes_nothing() -> None:
    async with search(page(1)) as (tools, _):
        found = tools.paginate("t", **ASK)
        await all_of(found)
        await found.aclose()
        assert found.complete


async def test_a_cancelled_page_can_be_asked_for_again() -> None:
    async with search(page(1, next="b"), NOTHING, page(2)) as (tools, server):
        found = tools.paginate("t", **ASK)
        assert await anext(found) == 1
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anext, found)
            await server.arrived(lambda s: s.calls["t"] == 2)
            tasks.cancel_scope.cancel()
        assert found.stopped_because is None
        assert await all_of(found) == [2]
        assert found.complete


# --- options


async def test_the_timeout_is_that_of_a_page() -> None:
    async with search(NOTHING, timeout=None) as (tools, _):
        await tools.refresh()
        found = tools.paginate("t", timeout=0.05, **ASK)
        with pytest.raises(ToolTimeoutError) as caught:
            await all_of(found)
    assert caught.value.seconds == 0.05
    assert found.stopped_because == "error"


async def test_the_meta_goes_with_each_page(modern: bool) -> None:
    async with search(page(1, next="b"), page(2), modern=modern) as (tools, server):
        assert await all_of(tools.paginate("t", meta={"k": "v"}, **ASK)) == [1, 2]
        assert [r.params["_meta"]["k"] for r in server.asked("tools/call")] == ["v", "v"]


async def test_the_arguments_are_those_of_the_beginning() -> None:
    arguments = {"q": {"words": ["a"]}}
    async with search(page(1, next="b"), page(2)) as (tools, server):
        found = tools.paginate("t", arguments, **ASK)
        assert await anext(found) == 1
        arguments["q"]["words"].append("b")
        assert await all_of(found) == [2]
        assert [a["q"] for a in asked(server)] == [{"words": ["a"]}] * 2


async def test_connect_has_it_too() -> None:
    server = RawServer(tools=[tool("t")], results={"t": in_turn(page(1, next="b"), page(2))})
    async with AsyncExitStack() as stack:
        tools = await stack.enter_async_context(connect(raw_transport(server)))
        assert await all_of(tools.paginate("t", **ASK)) == [1, 2]


async def in_vain(_page: Any) -> Any:
    """A function that would never be awaited."""


@pytest.mark.parametrize(
    "wrong, error, says",
    [
        ({"items": 5}, TypeError, "items takes the name of a member, a JSON pointer or a plain function, not int"),
        ({"items": None}, TypeError, "items takes the name"),
        ({"next_cursor": None}, TypeError, "next_cursor takes the name"),
        ({"truncated": True}, TypeError, "truncated takes the name"),
        ({"key": ["id"]}, TypeError, "key takes the name"),
        ({"items": in_vain}, TypeError, "items takes the name .* a plain function"),
        ({"cursor": None}, TypeError, "cursor is the name of an argument"),
        ({"items": "/a~2"}, ValueError, "is no JSON pointer"),
        ({"next_cursor": "/~"}, ValueError, "is no JSON pointer"),
        ({"timeout": "5"}, TypeError, "a timeout is a number"),
        ({"timeout": -1}, ValueError, "a timeout is a positive number"),
        ({"name": 5}, TypeError, "a tool's name is a str"),
        ({"arguments": [1]}, TypeError, "arguments of 't' are a dict"),
        ({"arguments": {"a": object()}}, TypeError, "no JSON can be made of"),
        ({"nxt": "a"}, TypeError, "nxt"),
    ],
    ids=range(15),
)
async def test_a_wrong_option_is_refused_before_anything_is_sent(wrong: Any, error: Any, says: str) -> None:
    options: dict[str, Any] = {"name": "t", **ASK, **wrong}
    async with search(page(1)) as (tools, server):
        with pytest.raises(error, match=says):
            tools.paginate(**options)
        assert not server.counts["tools/list"]
        assert not server.calls["t"]
