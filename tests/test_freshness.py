"""When the tools are listed: whole, within bounds, again where they may have changed, and no oftener than that."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
import anyio.lowlevel
import mcp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_guard import (
    Conforming,
    Contract,
    Contracts,
    GuardedSession,
    GuardError,
    Limits,
    Notifications,
    OutputValidationError,
    Policy,
    Record,
    ToolProtocolError,
    Violating,
    guard,
)
from support import (
    NOTHING,
    SDK_MAJOR,
    Error,
    RawServer,
    Reply,
    Request,
    in_turn,
    raw_session,
    raw_transport,
    tool,
    when,
)

CHANGED: Final = "notifications/tools/list_changed"


def version(number: int) -> dict[str, Any]:
    """A tool whose results have to be of this version."""
    return tool("t", {"type": "object", "properties": {"v": {"const": number}}, "required": ["v"]})


def result(number: int) -> dict[str, Any]:
    return {"content": [], "structuredContent": {"v": number}}


def page(*tools: Any, ttl_ms: int = 3_600_000, **members: Any) -> dict[str, Any]:
    return {"tools": [*tools], "ttlMs": ttl_ms, "cacheScope": "private", **members}


@asynccontextmanager
async def watched(
    *, modern: bool = False, on: Any = None, options: Any = None, **described: Any
) -> AsyncGenerator[tuple[GuardedSession[Any], RawServer, Notifications]]:
    """A guard that was given the `Notifications` of its session."""
    changes = Notifications()
    handler = {"message_handler": changes}
    async with raw_session(session_options=handler, modern=modern, on=on or {}, **described) as (session, server):
        yield guard(session, notifications=changes, **options or {}), server, changes


async def delivered(changes: Notifications, number: int) -> None:
    while changes.changes < number:
        await anyio.lowlevel.checkpoint()


# --- whole, and within bounds


def names(contracts: Contracts) -> list[str]:
    return [contract.name for contract in contracts]


@pytest.mark.parametrize(
    "limits, kept",
    [
        (Limits(), 9),
        (Limits(listing_bytes=1_200), 2),
        (Limits(listing_bytes=4_500), 8),
        (Limits(tools=4), 4),
        (Limits(pages=2), 6),
    ],
    ids=["all", "bytes", "more bytes", "tools", "pages"],
)
async def test_a_listing_is_read_whole_or_left_where_it_is_over_a_limit(
    modern: bool, limits: Limits, kept: int, caplog: pytest.LogCaptureFixture
) -> None:
    pages = [[tool(f"t{row}{i}", description="x" * 500) for i in range(3)] for row in range(3)]
    async with raw_session(pages=pages, modern=modern) as (session, server):
        contracts = await guard(session, policy=Policy(limits=limits)).refresh()
        assert len(contracts) == kept
        assert contracts.listing_truncated is (kept < 9)
        assert ("listing_truncated" in caplog.text) is (kept < 9)
        assert server.counts["tools/list"] == (kept + 2) // 3


async def test_a_part_that_is_too_large_to_keep_counts_too() -> None:
    limits = Limits(schema_bytes=1_000, listing_bytes=10_000)
    huge = [tool(f"t{i}", {"type": "object", "title": "x" * 5_000}) for i in range(50)]
    async with raw_session(tools=huge) as (session, _):
        contracts = await guard(session, policy=Policy(limits=limits)).refresh()
        assert 0 < len(contracts) < 10
        assert contracts.listing_truncated


@pytest.mark.parametrize("cursor", ["", "a"])
async def test_a_cursor_that_comes_again_ends_the_listing(cursor: str) -> None:
    listing = in_turn(page(tool("a"), nextCursor=cursor), page(tool("b"), nextCursor=cursor))
    async with raw_session(on={"tools/list": listing}) as (session, server):
        contracts = await guard(session).refresh()
        assert (names(contracts), contracts.listing_truncated) == (["a", "b"], True)
        assert [r.params.get("cursor") for r in server.asked("tools/list")] == [None, cursor]


@pytest.mark.skipif(SDK_MAJOR == 2, reason="the SDK itself refuses such a page")
async def test_entries_that_are_no_tools_are_skipped_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mcp_guard")
    async with raw_session(tools=[tool("a"), 5, {"name": 7}, {"x": 1}, tool("b")]) as (session, _):
        tools = guard(session)
        for _ in range(3):
            assert names(await tools.refresh()) == ["a", "b"]
        assert caplog.messages == ["3 entries of the tool listing are no tools"]


async def test_a_name_that_stood_for_two_tools_is_one_again() -> None:
    listing = in_turn(page(version(1), version(2)), page(version(1)))
    async with raw_session(on={"tools/list": listing}, results={"t": result(1)}) as (session, _):
        tools = guard(session)
        assert (await tools.refresh())["t"].unusable is not None
        assert (await tools.refresh())["t"].unusable is None


# --- when the server says that its tools changed


async def test_ten_thousand_changes_in_a_burst_cost_two_listings(modern: bool) -> None:
    async with watched(tools=[version(1)], results={"t": result(1)}, ttl_ms=3_600_000, modern=modern) as (
        tools,
        server,
        changes,
    ):
        await tools.call("t")
        for _ in range(10_000):
            await server.notify(CHANGED)
        await delivered(changes, 10_000)
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(tools.call, "t")
        assert server.counts["tools/list"] == 2


async def test_a_burst_while_the_tools_are_listed_costs_one_listing_more(modern: bool) -> None:
    async def burst(request: Request) -> Reply:
        if request.nth == 1:
            for _ in range(500):
                await request.server.notify(CHANGED)
            await delivered(changes, 500)
        return page(version(request.nth))

    async with watched(on={"tools/list": burst}, results={"t": result(2)}, modern=modern) as (tools, server, changes):
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(tools.call, "t")
        assert server.counts["tools/list"] == 2


async def test_a_server_that_never_rests_is_not_waited_for() -> None:
    async def restless(request: Request) -> Reply:
        await request.server.notify(CHANGED)
        await delivered(changes, request.nth)
        return page(version(1))

    async with watched(on={"tools/list": restless}, results={"t": result(1)}) as (tools, server, changes):
        assert await tools.call("t") == {"v": 1}
        assert server.counts["tools/list"] == 2


async def test_contracts_that_were_given_are_listed_again_once_the_server_says_so(modern: bool) -> None:
    given_contracts = Contracts()
    given_contracts.learn([Contract.from_tool(version(1))])
    async with watched(
        tools=[version(2)], results={"t": result(2)}, modern=modern, options={"contracts": given_contracts}
    ) as (tools, server, changes):
        await server.notify(CHANGED)
        await delivered(changes, 1)
        judged = await tools.judge("t")
        assert isinstance(judged.verdict, Conforming)
        assert not judged.verdict.deviations
        assert server.counts["tools/list"] == 1


@pytest.mark.skipif(SDK_MAJOR == 1, reason="there is no time to live before 2026-07-28")
async def test_contracts_that_are_shared_are_listed_again_when_their_time_to_live_is_over() -> None:
    contracts, clock, listings = Contracts(), Clock(), 0
    for moment in (0, 50, 61, 100):
        clock.now = moment
        async with raw_session(tools=[version(1)], results={"t": result(1)}, ttl_ms=60_000, modern=True) as (
            session,
            server,
        ):
            await clock.of(guard(session, contracts=contracts)).call("t")
            listings += server.counts["tools/list"]
    assert listings == 2


# --- when a result does not fit


async def test_two_calls_that_do_not_fit_share_the_one_listing_that_follows() -> None:
    arrived = anyio.Event()

    async def answer(request: Request) -> Reply:
        if request.nth == 3:
            arrived.set()
        if request.nth > 1:
            await arrived.wait()
        return result(1 if request.nth == 1 else 2)

    listing = in_turn(page(version(1)), page(version(2)))
    async with raw_session(on={"tools/list": listing}, results={"t": answer}) as (session, server):
        tools = guard(session)
        await tools.call("t")
        found: list[Any] = []

        async def call() -> None:
            found.append((await tools.judge("t")).record.deviations)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            tasks.start_soon(call)
        assert found == [("contract_changed",)] * 2
        assert (server.counts["tools/list"], server.counts["tools/call"]) == (2, 3)


async def test_a_result_that_fits_no_listing_stands_as_a_violation_and_the_tool_is_called_once() -> None:
    listing = in_turn(page(version(1)), page(version(2)))
    async with raw_session(on={"tools/list": listing}, results={"t": result(3)}) as (session, server):
        with pytest.raises(OutputValidationError):
            await guard(session).call("t")
        assert (server.counts["tools/list"], server.counts["tools/call"]) == (2, 1)


@pytest.mark.skipif(SDK_MAJOR == 1, reason="there is no such error before 2026-07-28")
async def test_after_a_header_mismatch_the_result_is_held_against_the_new_listing() -> None:
    on = {"tools/list": in_turn(page(version(1)), page(version(2)))}
    results = {"t": in_turn(Error(-32020), result(2))}
    async with raw_session(on=on, results=results, modern=True) as (session, server):
        judged = await guard(session).judge("t")
        assert isinstance(judged.verdict, Conforming)
        assert not judged.verdict.deviations
        assert (server.counts["tools/list"], server.counts["tools/call"]) == (2, 2)


# --- a subscription of the guard's own

only_subscriptions = pytest.mark.skipif(SDK_MAJOR == 1, reason="there are no subscriptions before mcp 2.x")
SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"


async def acknowledge(request: Request, **honored: bool) -> None:
    await request.server.notify(
        "notifications/subscriptions/acknowledged", notifications=honored, _meta={SUBSCRIPTION: request.id}
    )


async def honor(request: Request) -> Reply:
    await acknowledge(request, toolsListChanged=True)
    return NOTHING


async def decline(request: Request) -> Reply:
    await acknowledge(request)
    return NOTHING


def telling(listening: Any = honor, **described: Any) -> RawServer:
    """A server of 2026-07-28 that offers to tell when its tools change."""
    on = {"subscriptions/listen": listening, **described.pop("on", {})}
    defaults: dict[str, Any] = {"results": {"t": result(1)}, "ttl_ms": 3_600_000}
    return RawServer(on=on, modern=True, **{**defaults, **described})


def client_of(server: RawServer) -> Any:
    return vars(mcp)["Client"](raw_transport(server), mode="auto")


async def tell(server: RawServer) -> None:
    (stream,) = server.asked("subscriptions/listen")
    await server.notify(CHANGED, _meta={SUBSCRIPTION: stream.id})
    await anyio.wait_all_tasks_blocked()


@only_subscriptions
async def test_a_guard_that_opens_its_client_has_the_server_tell_of_changes() -> None:
    server = telling(
        on={"tools/list": in_turn(page(version(1)), page(version(2)))}, results={"t": in_turn(*map(result, (1, 1, 2)))}
    )
    async with guard(client_of(server)) as tools:
        assert not server.counts["subscriptions/listen"]
        await tools.call("t")
        await tools.call("t")
        assert server.counts["tools/list"] == 1
        await tell(server)
        judged = await tools.judge("t")
        assert isinstance(judged.verdict, Conforming)
        assert not judged.verdict.deviations
        assert (server.counts["tools/list"], server.counts["subscriptions/listen"]) == (2, 1)


@only_subscriptions
async def test_a_stream_that_ends_leaves_the_contracts_stale_once() -> None:
    server = telling(tools=[version(1)])
    async with guard(client_of(server)) as tools:
        await tools.call("t")
        (stream,) = server.asked("subscriptions/listen")
        await stream.reply({})
        await anyio.wait_all_tasks_blocked()
        for _ in range(3):
            await tools.call("t")
        assert (server.counts["tools/list"], server.counts["subscriptions/listen"]) == (2, 1)


@only_subscriptions
async def test_a_stream_that_is_lost_is_opened_again_after_a_while() -> None:
    server, clock = telling(tools=[version(1)]), Clock()
    async with guard(client_of(server)) as bare:
        tools = clock.of(bare)
        await tools.call("t")
        (stream,) = server.asked("subscriptions/listen")
        await server.notify("notifications/cancelled", requestId=stream.id)
        await anyio.wait_all_tasks_blocked()
        await tools.call("t")
        assert (server.counts["tools/list"], server.counts["subscriptions/listen"]) == (2, 1)
        clock.now += 60
        await tools.call("t")
        await tools.call("t")
        assert (server.counts["tools/list"], server.counts["subscriptions/listen"]) == (3, 2)


@only_subscriptions
@pytest.mark.parametrize(
    "listening", [Error(-32601), Error(-32603), decline, {}], ids=["unknown", "error", "declined", "ended"]
)
async def test_a_server_that_offers_to_tell_and_does_not_is_asked_once_and_calls_go_on(listening: Any) -> None:
    server = telling(listening, tools=[version(1)])
    async with guard(client_of(server)) as tools:
        for _ in range(3):
            assert await tools.call("t") == {"v": 1}
        assert (server.counts["tools/list"], server.counts["subscriptions/listen"]) == (1, 1)


@only_subscriptions
async def test_a_server_that_does_not_answer_the_subscription_holds_no_call_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_guard._watching._ANSWER_SECONDS", 0.01)
    server = telling(NOTHING, tools=[version(1)])
    async with guard(client_of(server)) as tools:
        assert await tools.call("t") == {"v": 1}
        assert await tools.call("t") == {"v": 1}
        assert server.counts["subscriptions/listen"] == 1


@only_subscriptions
@pytest.mark.parametrize(
    "capabilities", [{}, {"tools": {}}, {"tools": {"listChanged": False}}], ids=["none", "tools", "not"]
)
async def test_a_server_that_offers_nothing_is_not_asked(capabilities: Any) -> None:
    server = telling(tools=[version(1)], capabilities=capabilities)
    async with guard(client_of(server)) as tools:
        await tools.call("t")
        assert not server.counts["subscriptions/listen"]


@only_subscriptions
async def test_a_guard_round_an_open_client_subscribes_to_nothing() -> None:
    server = telling(tools=[version(1)])
    async with client_of(server) as client:
        await guard(client).call("t")
        assert not server.counts["subscriptions/listen"]


@only_subscriptions
async def test_a_body_that_raises_or_is_cancelled_ends_the_subscription() -> None:
    server = telling(tools=[version(1)])
    with pytest.RaisesGroup(KeyError, flatten_subgroups=True):  # the SDK's own groups, and none of ours
        async with guard(client_of(server)) as tools:
            await tools.call("t")
            raise KeyError("mine")
    server = telling(tools=[version(1)])
    with anyio.CancelScope() as scope:
        async with guard(client_of(server)) as tools:
            await tools.call("t")
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert server.counts["subscriptions/listen"] == 1


@only_subscriptions
async def test_a_call_that_is_given_up_while_it_subscribes_leaves_the_guard_usable() -> None:
    may = anyio.Event()
    server = telling(when(may, honor), tools=[version(1)])
    async with guard(client_of(server)) as tools:
        with anyio.move_on_after(0.01):
            await tools.call("t")
        may.set()
        assert await tools.call("t") == {"v": 1}
        assert server.counts["tools/call"] == 1


# --- in whatever order things happen


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now

    def of(self, tools: GuardedSession[Any]) -> GuardedSession[Any]:
        """Have a guard go by this clock."""
        listing: Any = tools._listing  # noqa: SLF001  # nobody else is to set a guard's clock
        caller: Any = tools._caller  # noqa: SLF001  # the same
        for part in (listing, listing.watch, caller):
            part._clock = self  # noqa: SLF001  # the same
        return tools


STEPS: Final = (
    "change in silence",
    "change",
    "change while listing",
    "say so without a change",
    "change in silence, and expire",
    "wait",
    "fail the next listing",
    "refresh",
    "call",
    "call",
    "call three at a time",
)


class World:
    """A server whose tool changes, a guard, and the version that the guard has to know of by now."""

    def __init__(self, *, modern: bool) -> None:
        self.modern = modern
        self.clock = Clock()
        self.changes = Notifications()
        self.records: list[Record] = []
        self.version = self.announced = self.known = 1
        self.said = self.sent = 0
        self.refused: list[ToolProtocolError] = []
        self.fails = self.changes_while_listing = False
        self.number = {Contract.from_tool(version(n)).output_fingerprint: n for n in range(1, 40)}

    async def listing(self, request: Request) -> Reply:
        """What the server lists."""
        if self.fails:
            self.fails = False
            return Error(-32603)
        await request.reply(page(version(self.version), ttl_ms=60_000))
        if self.changes_while_listing:
            self.changes_while_listing = False
            self.version += 1
            await self.say(request.server)
        return NOTHING

    async def say(self, server: RawServer) -> None:
        """Have the server say that its tools changed."""
        self.announced = self.version
        self.said += 1
        await server.notify(CHANGED)

    async def call(self, tools: GuardedSession[Any]) -> None:
        """Call the tool, and look by what its result was judged."""
        known, before = self.known, self.version
        try:
            judged = await tools.judge("t")
        except ToolProtocolError as error:  # no listing could ever be read
            self.refused.append(error)
            return
        self.sent += 1
        assert isinstance(judged.verdict, (Conforming, Violating))
        if "listing_failed" in judged.record.deviations:
            return
        used = self.number[judged.record.output_fingerprint]
        assert used >= known, f"judged by version {used}, and the guard was told of {known}"
        if known == before == self.version:  # no second look was needed either
            assert isinstance(judged.verdict, Conforming)
            assert not judged.record.deviations

    async def step(self, name: str, tools: GuardedSession[Any], server: RawServer) -> None:
        """Do one of `STEPS`; at its end the guard was told of all that was said in it."""
        if name.startswith("change") and name != "change while listing":
            self.version += 1
        if name in {"change", "say so without a change"}:
            await self.say(server)
        elif name == "change in silence, and expire":
            self.clock.now += 61
            if self.modern:
                self.announced = self.version
        elif name == "wait":
            self.clock.now += 6
        elif name == "refresh":
            with suppress(GuardError):
                current = self.version
                await tools.refresh()
                self.known = current
        elif name == "call":
            await self.call(tools)
        elif name == "call three at a time":
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(self.call, tools)
        self.fails |= name == "fail the next listing"
        self.changes_while_listing |= name == "change while listing"
        await delivered(self.changes, self.said)
        self.known = max(self.known, self.announced)

    async def run(self, steps: list[str]) -> None:
        """Do the steps, and count what was sent."""

        async def answer(_: Request) -> Reply:
            return result(self.version)

        handler, on = {"message_handler": self.changes}, {"tools/list": self.listing}
        async with raw_session(session_options=handler, modern=self.modern, on=on, results={"t": answer}) as (
            session,
            server,
        ):
            tools = self.clock.of(guard(session, notifications=self.changes, hooks=[self.records.append]))
            for name in steps:
                await self.step(name, tools, server)
            assert all(error.outcome == "not_sent" for error in self.refused)
            assert server.counts["tools/call"] == self.sent == sum(len(record.attempts) for record in self.records)


@settings(max_examples=50, deadline=None)
@given(steps=st.lists(st.sampled_from(STEPS), max_size=15))
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("modern", [False, True][:SDK_MAJOR])
def test_no_result_is_judged_by_what_was_withdrawn_before_and_no_call_is_sent_twice(
    backend: str, modern: bool, steps: list[str]
) -> None:
    anyio.run(World(modern=modern).run, steps, backend=backend)
