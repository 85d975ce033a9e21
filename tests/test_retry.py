"""`Retry`: when a safe tool is called again, how long is waited, when it is given up, and what is told of it."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle
from typing import Any, Final

import anyio
import pytest

from mcp_guard import (
    ENFORCE,
    OBSERVE,
    RELAY,
    STRICT,
    Budget,
    BudgetExhaustedError,
    ConnectionLostError,
    GuardError,
    MalformedResultError,
    Policy,
    Record,
    Retry,
    ToolExecutionError,
    ToolProtocolError,
    ToolTimeoutError,
    attach,
    connect,
    guard,
)
from support import HANG_UP, NOTHING, Connect, Error, RawServer, in_turn, raw_session, raw_transport, tool, when
from support.calls import N, as_json, data, every_target, guarded, only_2, said
from support.clock import BACKENDS, timeless, timelessly

GOOD: Final = data({"n": 1})


def failing(**error: Any) -> dict[str, Any]:
    """A tool's own error, as JSON."""
    return data({"error": {"kind": "unavailable", **error}}, isError=True)


AGAIN: Final = failing(retryable=True)


class Sleeper:
    """Notes how long is to be waited, and does not wait."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        """Wait, in name."""
        self.slept.append(seconds)
        await anyio.lowlevel.checkpoint()


def patient(retries: int = 1, codes: Any = (), **options: Any) -> tuple[Retry, Sleeper]:
    """A `Retry` that waits in name alone, half of the longest wait, and what it waited."""
    sleeper = Sleeper()
    given: dict[str, Any] = {"sleep": sleeper, "random": lambda: 0.5, **options}
    return Retry(retries, codes, **given), sleeper


def serving(answer: Any, retry: Retry, **options: Any) -> dict[str, Any]:
    """A server whose safe tool `t` answers so, and a guard that calls again."""
    return {"tools": [tool("t", N)], "results": {"t": answer}, "safe": ["t"], "retry": retry, **options}


# --- after what


@pytest.mark.parametrize(
    "first", [AGAIN, Error(-32000), Error(-32603, data={"retryable": False})], ids=["said so", "code", "other code"]
)
@every_target
async def test_a_safe_tool_is_called_again_and_the_record_has_both_attempts(connect: Connect, first: Any) -> None:
    retry, sleeper = patient(codes=[-32000, -32603])
    records: list[Record] = []
    async with guarded(connect, **serving(in_turn(first, GOOD), retry, hooks=[records.append])) as (tools, server):
        assert await tools.call("t", {"a": 1}) == {"n": 1}
        assert [r.arguments for r in server.asked("tools/call")] == [{"a": 1}] * 2
    [record] = records
    kind, outcome = ("tool_error", "executed") if first is AGAIN else ("protocol_error", "unknown")
    assert [(a.error, a.outcome, a.waited_ms) for a in record.attempts] == [
        (kind, outcome, 0.0),
        (None, "executed", 250.0),
    ]
    assert (record.error, record.outcome, record.action, record.verdict) == (None, "executed", "allow", "Conforming")
    assert sleeper.slept == [0.25]


NEVER: Final[dict[str, Any]] = {
    "it does not say whether": failing(),
    "it says that it is no use": failing(retryable=False),
    "prose": said("please try again", isError=True),
    "a broken contract": data({"n": "x"}),
    "data that is missing": said("no json"),
    "no result": {"content": 5},
    "a result that is over the limits": data({"n": 1, "x": "y" * 100}),
    "not final": {"resultType": "later", "content": []},
    "a code that is not named": Error(-32001),
    "refused": Error(-32602),
    "internal": Error(-32603),
    "the connection ends": HANG_UP,
}


@pytest.mark.parametrize("what", NEVER)
@every_target
async def test_after_anything_else_it_is_not(connect: Connect, modern: bool, what: str) -> None:
    retry, sleeper = patient(3, codes=[-32000])
    limits = dataclasses.replace(ENFORCE.limits, result_bytes=60)
    policy = dataclasses.replace(ENFORCE, limits=limits) if "limits" in what else ENFORCE
    described = serving(NEVER[what], retry, modern=modern, policy=policy)
    if what == "not final" and not modern:
        pytest.skip("before 2026-07-28 that means nothing")
    async with guarded(connect, **described) as (tools, server):
        with pytest.raises(GuardError) as caught:
            await tools.call("t")
        assert server.calls["t"] == 1
    assert caught.value.attempts == ()
    assert sleeper.slept == []


@pytest.mark.parametrize("first", [AGAIN, Error(-32000)], ids=["said so", "code"])
@every_target
async def test_a_tool_that_is_not_named_safe_is_sent_once_whatever_its_annotations(
    connect: Connect, first: Any
) -> None:
    retry, sleeper = patient(3, codes=[-32000])
    listed = [tool("t", N, annotations={"readOnlyHint": True, "idempotentHint": True})]
    described = serving(first, retry, safe=["u", "t?"]) | {"tools": listed}
    async with guarded(connect, **described) as (tools, server):
        with pytest.raises(GuardError):
            await tools.call("t")
        assert server.calls["t"] == 1
    assert sleeper.slept == []


@every_target
async def test_without_retry_a_safe_tool_is_sent_once(connect: Connect) -> None:
    async with guarded(connect, tools=[tool("t", N)], results={"t": AGAIN}, safe=["*"]) as (tools, server):
        with pytest.raises(ToolExecutionError):
            await tools.call("t")
        assert server.calls["t"] == 1


async def test_what_can_not_change_is_not_tried_again() -> None:
    retry, sleeper = patient(3)
    listed = [tool("t", {"$ref": "#/none"}), tool("u", N, inputSchema={"type": "object", "required": ["a"]})]
    async with guarded(raw_session, **serving(GOOD, retry, policy=STRICT) | {"tools": listed, "safe": ["*"]}) as (
        tools,
        server,
    ):
        for name in ("t", "u", "unlisted"):
            with pytest.raises(GuardError, match="nothing was sent"):
                await tools.call(name)
        assert not server.counts["tools/call"]
    assert sleeper.slept == []


@every_target
async def test_a_listing_that_failed_sent_nothing_and_is_tried_again(connect: Connect) -> None:
    retry, sleeper = patient()
    records: list[Record] = []
    on = {"tools/list": in_turn(Error(-32603), {"tools": [tool("t", N)]})}
    async with guarded(connect, **serving(GOOD, retry, on=on, hooks=[records.append])) as (tools, server):
        assert await tools.call("t") == {"n": 1}
        assert server.calls["t"] == 1
    assert [(a.error, a.outcome) for a in records[0].attempts] == [("protocol_error", "not_sent"), (None, "executed")]
    assert len(sleeper.slept) == 1


@every_target
async def test_a_connection_that_was_gone_already_sent_nothing_and_each_attempt_is_told(connect: Connect) -> None:
    retry, sleeper = patient(2)
    async with guarded(connect, **serving(GOOD, retry)) as (tools, server):
        await tools.call("t")
        await server.hang_up()
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(ConnectionLostError) as caught:
            await tools.call("t")
        assert caught.value.outcome == "not_sent"
        assert [(e.kind, e.outcome) for e in caught.value.attempts] == [("connection_lost", "not_sent")] * 2
    assert len(sleeper.slept) == 2


async def _own_timeout(connect: Connect, retry: Retry) -> tuple[Any, list[Record], float]:
    records: list[Record] = []
    described = serving(in_turn(NOTHING, NOTHING, GOOD), retry, hooks=[records.append])
    async with guarded(connect, **described) as (tools, server):
        await tools.refresh()
        began = anyio.current_time()
        try:
            got: Any = await tools.call("t")
        except GuardError as error:
            got = error
        return got, records, anyio.current_time() - began + 1000 * server.calls["t"]


@pytest.mark.parametrize("backend", BACKENDS)
@every_target
def test_an_attempt_with_a_timeout_of_its_own_is_given_up_and_made_again(connect: Connect, backend: str) -> None:
    retry = Retry(retries=2, timeout=10, base_wait=4, random=lambda: 0.5)
    got, [record], took = timeless(backend, _own_timeout, connect, retry)
    assert got == {"n": 1}
    assert [(a.error, a.outcome, a.waited_ms) for a in record.attempts] == [
        ("timeout", "unknown", 0.0),
        ("timeout", "unknown", 2000.0),
        (None, "executed", 4000.0),
    ]
    assert took == pytest.approx(3000 + 10 + 2 + 10 + 4)


@pytest.mark.parametrize("backend", BACKENDS)
@every_target
def test_without_one_a_timeout_takes_all_the_time_that_the_call_has(connect: Connect, backend: str) -> None:
    error, [record], took = timeless(backend, _own_timeout, connect, Retry(retries=2))
    assert (type(error), error.seconds, error.attempts) == (ToolTimeoutError, 60, ())
    assert len(record.attempts) == 1
    assert took == pytest.approx(1060)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_calls_deadline_is_over_all_attempts_and_their_waits(backend: str) -> None:
    retry = Retry(retries=9, timeout=20, base_wait=10, max_wait=10, random=lambda: 1.0)
    error, [record], took = timeless(backend, _own_timeout, raw_session, retry)
    # 20 s, 10 s of waiting, and 20 s more: the third attempt would begin at the deadline
    assert (type(error), error.seconds, error.outcome) == (ToolTimeoutError, 20, "unknown")
    assert [type(e) for e in error.attempts] == [ToolTimeoutError]
    assert [a.waited_ms for a in record.attempts] == [0.0, 10_000.0]
    assert took == pytest.approx(2050)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_attempt_is_cut_short_by_the_calls_deadline(backend: str) -> None:
    retry = Retry(retries=9, timeout=40, base_wait=0)
    error, [record], took = timeless(backend, _own_timeout, raw_session, retry)
    assert (error.seconds, len(record.attempts)) == (60, 2)
    assert took == pytest.approx(2060)


async def test_the_attempts_timeout_is_for_tools_that_are_called_again_alone() -> None:
    release = anyio.Event()
    retry, _ = patient(timeout=0)
    async with guarded(raw_session, **serving(when(release, GOOD), retry, safe=())) as (tools, server):
        await tools.refresh()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tools.call, "t")
            await server.arrived(lambda server: server.calls["t"] == 1)
            release.set()


@pytest.mark.parametrize("way", ["call", "call_tool", "judge"])
@pytest.mark.parametrize("policy", [ENFORCE, STRICT, RELAY, OBSERVE], ids=["ENFORCE", "STRICT", "RELAY", "OBSERVE"])
async def test_each_way_to_call_does_it_under_each_policy(way: str, policy: Policy) -> None:
    retry, _ = patient(2)
    described = serving(in_turn(AGAIN, AGAIN, GOOD), retry, policy=policy)
    async with guarded(raw_session, **described) as (tools, server):
        got = await getattr(tools, way)("t")
        assert server.calls["t"] == 3
        value = got if way == "call" else got.verdict.unwrap() if way == "judge" else as_json(got)["structuredContent"]
        assert value == {"n": 1}


async def test_a_policy_that_hands_on_what_the_tool_says_does_so_after_the_last_attempt() -> None:
    retry, _ = patient(1)
    records: list[Record] = []
    described = serving(AGAIN, retry, policy=RELAY, hooks=[records.append])
    async with guarded(raw_session, **described) as (tools, server):
        assert as_json(await tools.call_tool("t"))["isError"] is True
        judged = await tools.judge("t")
        assert type(judged.verdict).__name__ == "Errored"
        assert server.calls["t"] == 4
    assert [[(a.error, a.outcome) for a in record.attempts] for record in records] == [
        [("tool_error", "executed"), (None, "executed")]
    ] * 2


@only_2
async def test_a_header_that_does_not_fit_is_an_attempt_of_its_own() -> None:
    records: list[Record] = []
    described = serving(in_turn(Error(-32020), AGAIN, GOOD), patient()[0], modern=True, hooks=[records.append])
    async with guarded(raw_session, **described) as (tools, server):
        assert await tools.call("t") == {"n": 1}
        assert server.calls["t"] == 3
    assert [(a.error, a.outcome, a.waited_ms) for a in records[0].attempts] == [
        ("protocol_error", "unknown", 0.0),
        ("tool_error", "executed", 0.0),
        (None, "executed", 250.0),
    ]


async def test_connect_takes_it_too() -> None:
    server = RawServer(tools=[tool("t", N)], results={"t": in_turn(AGAIN, GOOD)})
    async with connect(raw_transport(server), safe=["t"], retry=patient()[0]) as tools:
        assert await tools.call("t") == {"n": 1}


# --- how long


@pytest.mark.parametrize(
    "options, slept",
    [
        ({}, [0.25, 0.5, 1.0, 2.0, 4.0]),
        ({"base_wait": 8}, [4.0, 5.0, 5.0, 5.0, 5.0]),
        ({"base_wait": 3, "max_wait": 2}, [1.0] * 5),
        ({"base_wait": 0}, [0.0] * 5),
        ({"random": lambda: 0.0}, [0.0] * 5),
        ({"random": lambda: 1.0, "max_wait": 3}, [0.5, 1.0, 2.0, 3.0, 3.0]),
    ],
)
async def test_the_wait_is_of_random_length_up_to_one_that_doubles(options: Any, slept: list[float]) -> None:
    retry, sleeper = patient(5, **options)
    async with guarded(raw_session, **serving(AGAIN, retry)) as (tools, server):
        with pytest.raises(ToolExecutionError) as caught:
            await tools.call("t")
        assert server.calls["t"] == 6
    assert sleeper.slept == slept
    assert len(caught.value.attempts) == 5


def test_very_many_attempts_never_wait_longer_than_the_longest() -> None:
    error = ToolTimeoutError()
    assert Retry(10**9, random=lambda: 1.0).wait(error, 10**8) == 10.0
    assert Retry(10**9, base_wait=1e300, max_wait=5, random=lambda: 1.0).wait(error, 10**8) == 5


@pytest.mark.parametrize(
    "asked, slept", [(5, [5.0]), (0.1, [0.25]), (59, [59.0]), ("7", [7.0]), (60, []), (61, []), (86_400, [])]
)
@every_target
async def test_a_retry_after_is_honoured_or_the_call_is_given_up_at_once(
    connect: Connect, asked: Any, slept: list[float]
) -> None:
    retry, sleeper = patient(1)
    answer = in_turn(failing(retryable=True, retry_after=asked), GOOD)
    async with guarded(connect, **serving(answer, retry)) as (tools, server):
        if slept:
            assert await tools.call("t") == {"n": 1}
        else:
            with pytest.raises(ToolExecutionError) as caught:
                await tools.call("t")
            assert caught.value.failure.retry_after == float(asked)
            assert caught.value.attempts == ()
        assert server.calls["t"] == len(slept) + 1
    assert sleeper.slept == slept


async def test_without_a_deadline_no_more_than_a_minute_is_waited() -> None:
    for asked, calls in ((60, 2), (60.5, 1), (31_000_000, 1)):
        retry, _ = patient(1)
        answer = in_turn(failing(retryable=True, retry_after=asked), GOOD)
        async with guarded(raw_session, **serving(answer, retry, timeout=None)) as (tools, server):
            await tools.judge("t")
            assert server.calls["t"] == calls


@pytest.mark.parametrize(
    "budget, asked, sent",
    [
        ({"seconds": 30}, 40, 1),
        ({"seconds": 30}, 30, 1),
        ({"seconds": 30}, 20, 2),
        ({"seconds": 30}, 9, 4),
        ({"attempts": 1}, 1, 1),
        ({"attempts": 3}, 1, 3),
        ({"attempts": 100, "seconds": math.inf}, 20, 6),
    ],
)
async def test_the_budgets_deadline_and_attempts_are_minded_before_waiting(
    budget: dict[str, Any], asked: float, sent: int
) -> None:
    now = 0.0

    async def passing(seconds: float) -> None:
        nonlocal now
        now += seconds
        await anyio.lowlevel.checkpoint()

    retry, _ = patient(5, sleep=passing)
    async with guarded(raw_session, **serving(failing(retryable=True, retry_after=asked), retry)) as (tools, server):
        async with Budget(**budget, clock=lambda: now):
            with pytest.raises(ToolExecutionError) as caught:
                await tools.call("t")
        assert server.calls["t"] == sent
    assert len(caught.value.attempts) == sent - 1
    assert now == asked * (sent - 1), "a wait that leads nowhere is not begun"


async def test_attempts_that_others_took_while_it_waited_are_gone() -> None:
    spent: list[str | None] = []

    async def meanwhile(_seconds: float) -> None:
        budget = Budget.current()
        assert budget is not None
        spent.append(budget.spend())
        await anyio.lowlevel.checkpoint()

    retry, _ = patient(5, sleep=meanwhile)
    records: list[Record] = []
    async with guarded(raw_session, **serving(AGAIN, retry, hooks=[records.append])) as (tools, server):
        async with Budget(attempts=2):
            with pytest.raises(ToolExecutionError) as caught:
                await tools.call("t")
        assert caught.value.attempts == ()
        assert server.calls["t"] == 1
    assert spent == [None]
    assert [a.error for a in records[0].attempts] == ["tool_error"]


@timelessly
async def test_a_sleep_that_takes_too_long_is_the_end() -> None:
    async def overslept(_seconds: float) -> None:
        await anyio.sleep(0.2)

    retry, _ = patient(5, sleep=overslept, base_wait=0)
    async with guarded(raw_session, **serving(AGAIN, retry, timeout=0.1)) as (tools, server):
        with pytest.raises(ToolExecutionError):
            await tools.call("t")
        assert server.calls["t"] == 1


# --- cancelled


@every_target
@timelessly
async def test_a_cancelled_call_is_not_tried_again(connect: Connect) -> None:
    retry, sleeper = patient(5)
    records: list[Record] = []
    async with guarded(connect, **serving(NOTHING, retry, hooks=[records.append])) as (tools, server):
        await tools.refresh()
        with anyio.move_on_after(0.05) as scope:
            await tools.call("t")
        assert scope.cancelled_caught
        assert server.calls["t"] == 1
    assert sleeper.slept == []
    assert [(r.error, r.outcome, len(r.attempts)) for r in records] == [(None, "unknown", 1)]


@timelessly
async def test_a_call_may_be_cancelled_while_it_waits_and_the_record_tells_what_was_sent() -> None:
    records: list[Record] = []
    retry = Retry(5, sleep=lambda _: anyio.sleep_forever())
    async with guarded(raw_session, **serving(AGAIN, retry, hooks=[records.append])) as (tools, server):
        await tools.refresh()
        with anyio.move_on_after(0.05) as scope:
            await tools.call("t")
        assert scope.cancelled_caught
        assert server.calls["t"] == 1
    [record] = records
    assert (record.error, record.outcome, record.action) == (None, "executed", "raise")
    assert [(a.error, a.outcome) for a in record.attempts] == [("tool_error", "executed")]


# --- what is told


@every_target
async def test_earlier_failures_stand_on_the_last_error_as_they_were(connect: Connect) -> None:
    retry, _ = patient(2, codes=[-32000])
    answers = in_turn(failing(retryable=True, request_id="r1"), Error(-32000, "busy"), data({"n": "x"}))
    records: list[Record] = []
    async with guarded(connect, **serving(answers, retry, hooks=[records.append])) as (tools, _):
        with pytest.raises(GuardError) as caught:
            await tools.call("t")
    error = caught.value
    first, second = error.attempts
    assert isinstance(first, ToolExecutionError)
    assert (first.failure.request_id, first.outcome, first.attempts) == ("r1", "executed", ())
    assert isinstance(second, ToolProtocolError)
    assert (second.code, second.message, second.outcome) == (-32000, "busy", "unknown")
    assert (error.kind, error.outcome) == ("output_violation", "executed")
    assert {e.call_id for e in (first, second)} == {error.call_id}
    assert json.loads(json.dumps(error.to_dict()))["attempts"] == [
        {"kind": "tool_error", "outcome": "executed"},
        {"kind": "protocol_error", "outcome": "unknown"},
    ]
    assert "an earlier attempt: protocol_error, unknown" in error.explain()
    assert pickle.loads(pickle.dumps(error)) == copy.copy(error) == error  # noqa: S301  # our own
    assert pickle.loads(pickle.dumps(error)).attempts == error.attempts  # noqa: S301  # our own
    assert [(a.error, a.outcome) for a in records[0].attempts] == [
        ("tool_error", "executed"),
        ("protocol_error", "unknown"),
        ("output_violation", "executed"),
    ]


async def test_a_call_that_was_sent_once_is_not_called_unsent_since_its_last_attempt_was() -> None:
    records: list[Record] = []
    retry, _ = patient(1)
    async with guarded(raw_session, **serving(AGAIN, retry, hooks=[records.append])) as (tools, server):

        async def hang_up(_seconds: float) -> None:
            await server.hang_up()
            await anyio.wait_all_tasks_blocked()

        object.__setattr__(retry, "sleep", hang_up)
        with pytest.raises(ConnectionLostError) as caught:
            await tools.call("t")
    error = caught.value
    assert (error.outcome, [e.outcome for e in error.attempts]) == ("executed", ["executed"])
    [record] = records
    assert record.outcome == "executed"
    assert [(a.error, a.outcome) for a in record.attempts] == [
        ("tool_error", "executed"),
        ("connection_lost", "not_sent"),
    ]


@pytest.mark.parametrize("last", [data({"n": "x"}), NOTHING], ids=["a broken contract", "no answer"])
@timelessly
async def test_an_error_of_an_inner_guard_comes_out_as_it_is_and_is_tried_no_further(last: Any) -> None:
    inner, outer = list[Record](), list[Record]()
    retry, _ = patient(1)
    async with raw_session(tools=[tool("t", N)], results={"t": in_turn(AGAIN, last)}) as (session, server):
        attach(session, safe=["t"], retry=retry, timeout=30, hooks=[inner.append])
        tools = guard(session, seam="call_tool", safe=["t"], retry=retry, hooks=[outer.append])
        with pytest.raises(GuardError) as caught:
            await tools.call("t")
        assert server.calls["t"] == 2
    assert [type(e) for e in caught.value.attempts] == [ToolExecutionError]
    assert caught.value.call_id == inner[0].call_id
    assert [(r.error, r.outcome) for r in outer] == [(r.error, r.outcome) for r in inner]


async def test_what_one_attempt_noted_is_not_told_of_the_next() -> None:
    records: list[Record] = []
    on = {"tools/list": in_turn(Error(-32603), {"tools": [tool("t", N)]})}
    policy = dataclasses.replace(ENFORCE, unknown_listing="report")
    described = serving(in_turn(AGAIN, GOOD), patient()[0], on=on, policy=policy, hooks=[records.append])
    async with guarded(raw_session, **described) as (tools, _):
        assert await tools.call("t") == {"n": 1}
    assert (records[0].deviations, records[0].error, records[0].action) == ((), None, "allow")


async def test_the_times_of_a_record_are_over_all_attempts() -> None:
    ticks = iter(range(1000))
    records: list[Record] = []
    async with raw_session(tools=[tool("t", N)], results={"t": in_turn(AGAIN, GOOD)}) as (session, _):
        tools = guard(session, safe=["t"], retry=patient()[0], hooks=[records.append])
        tools._caller._clock = lambda: float(next(ticks))  # noqa: SLF001  # a clock that ticks each time it is read
        await tools.call("t")
    # the second attempt has no listing to wait for
    assert (records[0].ms_wire, records[0].ms_queued) == (2000.0, 1000.0)


# --- the options


def test_it_is_frozen_and_compares_by_value() -> None:
    assert Retry(2, [-32000]) == Retry(2, (-32000,))
    assert hash(Retry(2, [-32000])) == hash(Retry(2, {-32000}))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Retry().retries = 2  # type: ignore[misc]  # that is the point
    assert dataclasses.replace(Retry(), retries=3).retries == 3
    assert repr(Retry()) == "Retry(retries=1, codes=frozenset(), timeout=None, base_wait=0.5, max_wait=10.0)"


@pytest.mark.parametrize(
    "options, error, name",
    [
        ({"retries": 1.5}, TypeError, "retries"),
        ({"retries": True}, TypeError, "retries"),
        ({"retries": -1}, ValueError, "retries"),
        ({"codes": -32000}, TypeError, "codes"),
        ({"codes": "-32000"}, TypeError, "codes"),
        ({"codes": ["x"]}, TypeError, "codes"),
        ({"codes": [True]}, TypeError, "codes"),
        ({"timeout": "5"}, TypeError, "timeout"),
        ({"timeout": -1}, ValueError, "timeout"),
        ({"base_wait": None}, TypeError, "base_wait"),
        ({"base_wait": math.nan}, ValueError, "base_wait"),
        ({"max_wait": math.inf}, ValueError, "max_wait"),
        ({"max_wait": True}, TypeError, "max_wait"),
        ({"sleep": 5}, TypeError, "sleep"),
        ({"random": 0.5}, TypeError, "random"),
    ],
)
def test_what_makes_no_retry_is_refused_by_name(options: Any, error: type[Exception], name: str) -> None:
    with pytest.raises(error, match=rf"Retry\({name}=\)"):
        Retry(**options)


async def test_guard_takes_a_retry_and_nothing_else() -> None:
    async with raw_session() as (session, _):
        with pytest.raises(TypeError, match=r"retry takes a Retry, such as retry=Retry\(retries=2\), not int"):
            guard(session, retry=2)  # type: ignore[arg-type]  # that is the point


async def test_it_does_not_help_against_a_spent_budget_or_a_result_that_is_lost() -> None:
    retry, sleeper = patient(3)
    async with guarded(raw_session, **serving({"content": 5}, retry)) as (tools, server):
        async with Budget(attempts=0):
            with pytest.raises(BudgetExhaustedError):
                await tools.call("t")
        with pytest.raises(MalformedResultError):
            await tools.call("t")
        assert server.calls["t"] == 1
    assert sleeper.slept == []
