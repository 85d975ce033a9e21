"""`Budget`: what counts, what is left, what is refused, and whom it holds."""

from __future__ import annotations

import inspect
import math
import threading
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

import anyio
import pytest

from mcp_guard import (
    ENFORCE,
    OBSERVE,
    RELAY,
    Budget,
    BudgetExhaustedError,
    ConnectionLostError,
    GuardError,
    InvalidArgumentsError,
    OutputValidationError,
    Record,
    Retry,
    ToolExecutionError,
    ToolProtocolError,
    ToolTimeoutError,
    attach,
    guard,
)
from support import HANG_UP, NOTHING, SDK_MAJOR, SESSIONS, Connect, Error, in_turn, raw_client, raw_session, tool, when
from support.calls import N, as_json, data, every_target, guarded, made_with, only_2, said
from support.clock import BACKENDS, timeless, timelessly

GOOD: Final = data({"n": 1})
BROKEN: Final = data({"n": "x"})
FAILED: Final = data({"error": {"retryable": True}}, isError=True)
ASK: Final = {
    "resultType": "input_required",
    "inputRequests": {
        "a": {
            "method": "elicitation/create",
            "params": {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}},
        }
    },
}


class Clock:
    """A clock that somebody sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def serving(answer: Any, **options: Any) -> dict[str, Any]:
    """A server whose tool `t` answers so."""
    return {"tools": [tool("t", N)], "results": {"t": answer}, **options}


def elicited() -> dict[str, Any]:
    """The options of a client that says yes to whatever it is asked."""
    from mcp import types

    async def accept(_context: Any, _params: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return types.ElicitResult(action="accept", content={})

    return {"elicitation_callback": accept}


# --- the scope


async def test_inside_there_is_a_current_one_and_outside_there_is_none() -> None:
    assert Budget.current() is None
    async with Budget(attempts=3) as outer:
        assert Budget.current() is outer
        async with Budget(attempts=2) as inner:
            assert Budget.current() is inner
        assert Budget.current() is outer
    assert Budget.current() is None


async def test_what_is_left_can_be_read_and_runs_down() -> None:
    clock = Clock()
    async with guarded(raw_session, **serving(GOOD)) as (tools, _):
        async with Budget(attempts=2, seconds=10, clock=clock) as budget:
            assert (budget.left.attempts, budget.left.seconds) == (2, 10.0)
            await tools.call("t")
            clock.now += 4
            assert (budget.left.attempts, budget.left.seconds) == (1, 6.0)
            assert repr(budget) == "<Budget: 1 of 2 attempts, 6.0 of 10 s left>"
            clock.now += 60
            assert budget.left.seconds == 0.0
        assert Budget(attempts=2, seconds=10).left.seconds == 10.0, "before it is entered the time does not run"


async def test_an_inner_one_only_narrows() -> None:
    clock = Clock()
    async with guarded(raw_session, **serving(GOOD)) as (tools, server):
        async with Budget(attempts=3, seconds=10, clock=clock) as outer:
            async with Budget(attempts=100, seconds=100, clock=clock) as wide:
                assert (wide.left.attempts, wide.left.seconds) == (3, 10.0)
                await tools.call("t")
            async with Budget(attempts=1, seconds=5, clock=clock) as narrow:
                assert (narrow.left.attempts, narrow.left.seconds) == (1, 5.0)
                await tools.call("t")
                with pytest.raises(BudgetExhaustedError):
                    await tools.call("t")
            assert outer.left.attempts == 1
            async with Budget(attempts=100, clock=clock):
                await tools.call("t")
                with pytest.raises(BudgetExhaustedError) as caught:
                    await tools.call("t")
        assert caught.value.limit == "attempts"
        assert server.calls["t"] == 3
        await tools.call("t")


async def test_it_is_entered_once() -> None:
    budget = Budget()
    async with budget:
        with pytest.raises(RuntimeError, match="entered once"):
            await budget.__aenter__()
        assert Budget.current() is budget
    with pytest.raises(RuntimeError, match="entered once"):
        async with budget:
            pytest.fail("entered again")


async def test_it_is_left_by_the_task_that_entered_it_and_the_innermost_first() -> None:
    with pytest.raises(RuntimeError, match="the innermost first"):
        await Budget().__aexit__(None, None, None)
    outer, inner = Budget(), Budget()
    async with outer:
        async with inner:
            with pytest.raises(RuntimeError, match="the innermost first"):
                await outer.__aexit__(None, None, None)
            assert Budget.current() is inner
        refused: list[BaseException] = []

        async def leave() -> None:
            with pytest.raises(RuntimeError, match="the task that entered it") as caught:
                await outer.__aexit__(None, None, None)
            refused.append(caught.value)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave)
        assert refused
        assert Budget.current() is outer
    with pytest.raises(RuntimeError, match="once"):
        await outer.__aexit__(None, None, None)


async def test_a_budget_that_a_child_task_opens_is_that_tasks_own() -> None:
    opened, done = anyio.Event(), anyio.Event()

    async def child() -> None:
        async with Budget(attempts=1):
            opened.set()
            await done.wait()

    async with Budget() as outer, anyio.create_task_group() as tasks:
        tasks.start_soon(child)
        await opened.wait()
        assert Budget.current() is outer
        done.set()


@pytest.mark.parametrize(
    "options, error, name",
    [
        ({"attempts": "6"}, TypeError, "attempts"),
        ({"attempts": True}, TypeError, "attempts"),
        ({"attempts": 1.5}, TypeError, "attempts"),
        ({"attempts": -1}, ValueError, "attempts"),
        ({"seconds": "45"}, TypeError, "seconds"),
        ({"seconds": None}, TypeError, "seconds"),
        ({"seconds": True}, TypeError, "seconds"),
        ({"seconds": -0.1}, ValueError, "seconds"),
        ({"seconds": math.nan}, ValueError, "seconds"),
        ({"repeat": "never"}, ValueError, "repeat"),
        ({"repeat": None}, ValueError, "repeat"),
        ({"clock": 5}, TypeError, "clock"),
    ],
)
def test_what_makes_no_budget_is_refused_by_name(options: Any, error: type[Exception], name: str) -> None:
    with pytest.raises(error, match=rf"Budget\({name}=\)"):
        Budget(**options)


def test_the_defaults_are_six_attempts_and_45_seconds() -> None:
    defaults = {name: x.default for name, x in inspect.signature(Budget).parameters.items()}
    assert (defaults["attempts"], defaults["seconds"], defaults["repeat"]) == (6, 45.0, "refuse")


# --- what counts


@every_target
async def test_every_call_counts_and_listings_do_not(connect: Connect, modern: bool) -> None:
    records: list[Record] = []
    async with guarded(connect, **serving(GOOD, modern=modern, hooks=[records.append])) as (tools, server):
        async with Budget(attempts=3) as budget:
            await tools.refresh()
            await tools.call("t")
            await tools.call_tool("t")
            await tools.refresh()
            await tools.judge("t")
            assert budget.left.attempts == 0
            for way in (tools.call, tools.call_tool, tools.judge):
                with pytest.raises(BudgetExhaustedError, match="nothing was sent") as caught:
                    await way("t")
                error = caught.value
                assert (error.limit, error.outcome) == ("attempts", "not_sent")
                assert (error.retry_safe, error.retryable) == (True, False)
        assert server.calls["t"] == 3
        assert [(r.error, r.outcome, r.action, r.attempts) for r in records[3:]] == [
            ("budget_exhausted", "not_sent", "raise", ())
        ] * 3


async def test_what_is_refused_before_it_is_sent_does_not_count() -> None:
    listed = [tool("t", N, inputSchema={"type": "object", "required": ["a"]})]
    async with guarded(raw_session, tools=listed, results={"t": GOOD}) as (tools, _), Budget(attempts=1) as budget:
        with pytest.raises(InvalidArgumentsError):
            await tools.call("t")
        with pytest.raises(TypeError):
            await tools.call("t", {"a": object()})
        assert budget.left.attempts == 1


async def test_an_attempt_that_never_got_through_counts() -> None:
    async with guarded(raw_session, **serving(GOOD)) as (tools, server):
        await tools.call("t")
        await server.hang_up()
        await anyio.wait_all_tasks_blocked()
        async with Budget(attempts=1) as budget:
            with pytest.raises(ConnectionLostError):
                await tools.call("t")
            assert budget.left.attempts == 0


async def test_an_unguarded_call_is_not_the_budgets_business() -> None:
    async with guarded(raw_session, **serving(GOOD)) as (tools, _), Budget(attempts=1) as budget:
        await tools.target.call_tool("t", {})
        assert budget.left.attempts == 1


@pytest.mark.parametrize("seam", ["send_request", "call_tool"][SDK_MAJOR - 1 :])
@timelessly
async def test_a_call_that_goes_through_two_guards_is_one_call_on_the_wire(seam: Any) -> None:
    records: list[Record] = []
    async with raw_session(**serving(in_turn(GOOD, NOTHING))) as (session, server):
        attach(session)
        tools = guard(session, seam=seam, hooks=[records.append])
        async with Budget(attempts=3) as budget:
            await tools.call("t")
            assert (server.calls["t"], budget.left.attempts) == (1, 2)
            with pytest.raises(ToolTimeoutError) as caught:
                await tools.call("t", timeout=0.05)
            assert (server.calls["t"], budget.left.attempts) == (2, 1)
            assert caught.value.outcome == "unknown"
    assert [(r.error, r.outcome) for r in records] == [(None, "executed"), ("timeout", "unknown")]


@pytest.mark.parametrize("connect", SESSIONS, ids=lambda connect: connect.__name__)
async def test_a_call_tool_of_somebodys_own_is_counted_though_it_sends_past_the_session(connect: Connect) -> None:
    async with connect(**serving(GOOD)) as (target, _):
        own = target.call_tool

        async def elsewhere(*args: Any, **options: Any) -> Any:
            done: list[Any] = []

            async def call() -> None:
                done.append(await own(*args, **options))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call)
            return done[0]

        target.call_tool = elsewhere
        tools = guard(target, seam="call_tool")
        async with Budget(attempts=1) as budget:
            await tools.call("t")
            assert budget.left.attempts == 0
            with pytest.raises(BudgetExhaustedError):
                await tools.call("t")


# --- rounds and resends, on mcp 2.x


@only_2
async def test_each_round_of_a_client_counts() -> None:
    described = serving(in_turn(ASK, ASK, GOOD), modern=True, client_options=elicited())
    async with guarded(raw_client, **described) as (tools, server), Budget(attempts=5) as budget:
        assert await tools.call("t") == {"n": 1}
        assert server.calls["t"] == 3
        assert budget.left.attempts == 2


@only_2
@pytest.mark.parametrize("attempts", [1, 2])
async def test_a_round_that_the_budget_does_not_allow_is_not_sent_and_the_outcome_is_unknown(attempts: int) -> None:
    records: list[Record] = []
    described = serving(in_turn(ASK, ASK, GOOD), modern=True, client_options=elicited(), hooks=[records.append])
    async with guarded(raw_client, **described) as (tools, server):
        async with Budget(attempts=attempts):
            with pytest.raises(BudgetExhaustedError, match="not known whether the tool ran") as caught:
                await tools.call("t")
        assert (caught.value.limit, caught.value.outcome, caught.value.retry_safe) == ("attempts", "unknown", False)
        assert server.calls["t"] == attempts
        assert [(r.error, r.outcome, len(r.attempts)) for r in records] == [("budget_exhausted", "unknown", 1)]


@only_2
async def test_rounds_that_the_caller_drives_count_and_are_no_repeats() -> None:
    from mcp import types

    described, budget = serving(in_turn(ASK, ASK, GOOD), modern=True), Budget(attempts=3)
    async with guarded(raw_session, **described) as (tools, server), budget:
        more: dict[str, Any] = {"allow_input_required": True}
        for _ in range(2):
            asked = await tools.call_tool("t", {}, **more)
            assert type(asked).__name__ == "InputRequiredResult"
            more["input_responses"] = {"a": types.ElicitResult(action="accept", content={})}
        done = await tools.call_tool("t", {}, **more)
        assert as_json(done)["structuredContent"] == {"n": 1}
        assert (server.calls["t"], budget.left.attempts) == (3, 0)


@only_2
@every_target
async def test_what_is_sent_again_after_a_header_mismatch_counts(connect: Connect) -> None:
    records: list[Record] = []
    described = serving(in_turn(Error(-32020), GOOD, Error(-32020), GOOD), modern=True, hooks=[records.append])
    async with guarded(connect, **described) as (tools, server):
        async with Budget(attempts=3) as budget:
            assert await tools.call("t") == {"n": 1}
            assert budget.left.attempts == 1
            with pytest.raises(BudgetExhaustedError) as caught:
                await tools.call("t")
            assert (caught.value.limit, caught.value.outcome) == ("attempts", "unknown")
        assert server.calls["t"] == 3


@only_2
async def test_a_mismatch_in_a_later_round_does_not_begin_the_rounds_anew() -> None:
    described = serving(in_turn(ASK, Error(-32020), Error(-32020), GOOD), modern=True, client_options=elicited())
    async with guarded(raw_client, **described) as (tools, server):
        with pytest.raises(ToolProtocolError) as caught:
            await tools.call("t")
        assert caught.value.outcome == "unknown"
        assert [bool(r.params.get("inputResponses")) for r in server.asked("tools/call")].count(False) == 1


# --- whom it holds


@pytest.mark.parametrize("attempts, sent", [(6, 6), (1, 1), (0, 0), (100, 50)])
@every_target
async def test_fifty_parallel_tasks_spend_from_one_budget(connect: Connect, attempts: int, sent: int) -> None:
    ended: list[str | None] = []
    async with guarded(connect, **serving(GOOD)) as (tools, server):

        async def call(n: int) -> None:
            try:
                await tools.call("t", {"i": n % 2})
                ended.append(None)
            except BudgetExhaustedError as error:
                ended.append(error.limit)

        async with Budget(attempts=attempts) as budget, anyio.create_task_group() as tasks:
            for n in range(50):
                tasks.start_soon(call, n)
        assert server.calls["t"] == sent
        assert (ended.count(None), ended.count("attempts")) == (sent, 50 - sent)
        assert budget.left.attempts == attempts - sent


LAYERS: Final[dict[str, dict[str, Any]]] = {
    "said by the tool": {"answer": FAILED},
    "a peer's error": {"answer": Error(-32000), "safe": ["t"]},
    "a broken contract": {"answer": BROKEN, "safe": ["t"]},
    "a broken contract, repeats allowed": {"answer": BROKEN, "repeat": "allow"},
    "the innermost layer is a Retry": {"answer": FAILED, "safe": ["t"], "retry": Retry(retries=2, base_wait=0)},
    "two guards, each with a Retry": {
        "answer": FAILED,
        "safe": ["t"],
        "retry": Retry(retries=2, base_wait=0),
        "attached": True,
    },
}


@pytest.mark.parametrize("what", LAYERS)
@every_target
async def test_three_layers_of_three_attempts_make_six_calls_and_not_27(connect: Connect, what: str) -> None:
    how = dict(LAYERS[what])
    answer, repeat = how.pop("answer"), how.pop("repeat", "refuse")
    layers = 2 if "retry" in how else 3
    async with connect(**serving(answer)) as (target, server):
        if how.pop("attached", False):
            attach(target, **how)
        tools = guard(target, **how)

        async def layer(depth: int) -> None:
            last: GuardError | None = None
            for _ in range(3):
                try:
                    await (tools.call("t") if depth == 0 else layer(depth - 1))
                except GuardError as error:  # noqa: PERF203  # that is what a layer is
                    last = error
                else:
                    return
            assert last is not None
            raise last

        async with Budget(attempts=6, repeat=repeat):
            with pytest.raises(BudgetExhaustedError) as caught:
                await layer(layers - 1)
        assert caught.value.limit == "attempts"
        assert server.calls["t"] == 6


async def test_what_a_tool_of_this_process_calls_itself_is_inside_too() -> None:
    """A tool that is a function here, and makes calls of its own: all spend from the one budget."""
    async with guarded(raw_session, **serving(FAILED)) as (tools, server):

        async def lookup() -> None:
            for nth in range(3):
                for _ in range(3):
                    with suppress(ToolExecutionError):
                        await tools.call("t", {"nth": nth})

        async with Budget(attempts=6):
            with pytest.raises(BudgetExhaustedError):
                await lookup()
        assert server.calls["t"] == 6


async def test_a_task_that_outlives_its_budget_still_spends_from_it() -> None:
    over, refused = anyio.Event(), list[str]()
    async with guarded(raw_session, **serving(GOOD)) as (tools, server):

        async def call() -> None:
            await over.wait()
            await tools.call("t")
            with pytest.raises(BudgetExhaustedError) as caught:
                await tools.call("t")
            refused.append(caught.value.limit)

        async with anyio.create_task_group() as tasks:
            async with Budget(attempts=1):
                tasks.start_soon(call)
                await anyio.wait_all_tasks_blocked()
            over.set()
        assert refused == ["attempts"]
        assert server.calls["t"] == 1


async def test_threads_share_one_that_they_were_started_in() -> None:
    async with Budget(attempts=1000) as budget:

        def spend() -> None:
            assert Budget.current() is budget
            for _ in range(300):
                budget.spend()

        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(anyio.to_thread.run_sync, spend)
        assert budget.left.attempts == 0
        assert budget.spend() == "attempts"
    assert threading.current_thread() is threading.main_thread()


# --- the deadline


@every_target
async def test_when_the_time_is_over_nothing_is_sent(connect: Connect) -> None:
    clock = Clock()
    async with guarded(connect, **serving(GOOD)) as (tools, server):
        async with Budget(seconds=10, clock=clock):
            await tools.call("t")
            clock.now += 10
            for way in (tools.call, tools.call_tool, tools.judge):
                with pytest.raises(BudgetExhaustedError, match="spent \\(seconds\\)") as caught:
                    await way("t")
                assert (caught.value.limit, caught.value.outcome) == ("seconds", "not_sent")
        assert server.calls["t"] == 1


async def test_when_the_time_is_over_not_even_the_tools_are_listed() -> None:
    async with guarded(raw_session, **serving(GOOD)) as (tools, server):
        async with Budget(seconds=0):
            with pytest.raises(BudgetExhaustedError):
                await tools.call("t")
        assert not server.counts["tools/list"]


async def _waited(connect: Connect, seconds: float, options: dict[str, Any]) -> tuple[ToolTimeoutError, float]:
    async with guarded(connect, **serving(NOTHING)) as (tools, server):
        await tools.refresh()
        began = anyio.current_time()
        async with Budget(seconds=seconds):
            with pytest.raises(ToolTimeoutError) as caught:
                await tools.call("t", **options)
        assert server.calls["t"] == 1
        return caught.value, anyio.current_time() - began


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "seconds, options, waited",
    [(45, {}, 45), (45, {"timeout": None}, 45), (90, {}, 60), (math.inf, {}, 60), (45, {"timeout": 7}, 7)],
)
@every_target
def test_a_deadline_that_passes_during_a_call_is_a_timeout(
    connect: Connect, seconds: float, options: dict[str, Any], waited: float, backend: str
) -> None:
    error, took = timeless(backend, _waited, connect, seconds, options)
    assert error.outcome == "unknown"
    assert error.seconds == pytest.approx(waited, abs=1)
    assert took == pytest.approx(waited, abs=1)


async def _listing_too_slow() -> tuple[ToolTimeoutError, int]:
    async with guarded(raw_session, on={"tools/list": NOTHING}) as (tools, server):
        async with Budget(seconds=5, attempts=1) as budget:
            with pytest.raises(ToolTimeoutError) as caught:
                await tools.call("t")
            assert budget.left.attempts == 1
        return caught.value, server.counts["tools/call"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_deadline_that_passes_while_the_tools_are_listed_leaves_the_call_unsent(backend: str) -> None:
    error, sent = timeless(backend, _listing_too_slow)
    assert (error.outcome, sent) == ("not_sent", 0)


@timelessly
async def test_it_holds_under_observe_too_which_sets_no_timeout_of_its_own() -> None:
    async with guarded(raw_session, **serving(NOTHING), policy=OBSERVE) as (tools, _):
        await tools.refresh()
        async with Budget(seconds=0.05):
            with pytest.raises(ToolTimeoutError):
                await tools.call_tool("t")


@timelessly
async def test_code_of_the_callers_own_is_not_interrupted() -> None:
    async with Budget(seconds=0):
        await anyio.sleep(0.01)


# --- repeats


FRUITLESS: Final = {
    "a broken contract": BROKEN,
    "nothing in it": said("no json"),
    "no result at all": {"content": 5, "structuredContent": {"n": 1}},
    "an error that says nothing": Error(-32603),
}
WELL: Final = {"good": GOOD, "the tool's own error": FAILED, "refused": Error(-32602)}
ARGUMENTS: Final[Any] = {"b": [1, {"x": 2.0}], "a": "x"}
SAME: Final[list[Any]] = [{"a": "x", "b": [1, {"x": 2}]}, {"a": "x", "b": (1.0, {"x": 2})}]
OTHER: Final[list[Any]] = [{"a": "x", "b": [1, {"x": 3}]}, {"a": "x"}, {}, {**ARGUMENTS, "c": None}]


async def once(tools: Any, arguments: Any = None) -> str | None:
    """The kind of error that a call ends in, and where it is a spent budget, of what."""
    try:
        await tools.call("t", arguments)
    except BudgetExhaustedError as error:
        return error.limit
    except GuardError as error:
        return error.kind
    return None


@pytest.mark.parametrize("what", FRUITLESS)
@every_target
async def test_what_may_have_run_to_no_use_is_not_sent_again(connect: Connect, what: str) -> None:
    async with guarded(connect, **serving(FRUITLESS[what])) as (tools, server):
        async with Budget():
            assert await once(tools, ARGUMENTS) not in {None, "repeat"}
            for same in (ARGUMENTS, *SAME):
                with pytest.raises(BudgetExhaustedError, match="may already have run") as caught:
                    await tools.call("t", same)
                error = caught.value
                assert (error.limit, error.outcome, error.retryable) == ("repeat", "not_sent", False)
                assert not error.retry_safe, "this one was not sent, but it is the same as one that was"
            assert server.calls["t"] == 1
            for n, other in enumerate(OTHER, 2):
                assert await once(tools, other) != "repeat"
                assert server.calls["t"] == n
        assert await once(tools, ARGUMENTS) != "repeat", "another budget knows nothing of it, nor does none"


@pytest.mark.parametrize("what", WELL)
@every_target
async def test_what_ended_otherwise_may_be_sent_again(connect: Connect, what: str) -> None:
    async with guarded(connect, **serving(WELL[what])) as (tools, server):
        async with Budget():
            for _ in range(3):
                assert await once(tools) != "repeat"
        assert server.calls["t"] == 3


async def test_no_arguments_are_empty_ones() -> None:
    async with guarded(raw_session, **serving(BROKEN)) as (tools, _), Budget():
        await once(tools, None)
        assert await once(tools, {}) == "repeat"


async def test_a_tool_that_is_named_safe_is_sent_again() -> None:
    async with guarded(raw_session, **serving(BROKEN), safe=["t"]) as (tools, server):
        async with Budget(attempts=3):
            assert [await once(tools) for _ in range(4)] == ["output_violation"] * 3 + ["attempts"]
        assert server.calls["t"] == 3


async def test_repeats_may_be_allowed_but_not_inside_one_that_refuses_them() -> None:
    async with guarded(raw_session, **serving(BROKEN)) as (tools, _), Budget(repeat="allow"):
        assert await once(tools) == "output_violation"
        assert await once(tools) == "output_violation"
        async with Budget():  # what happened before it, it does not know
            assert await once(tools) == "output_violation"
            async with Budget(repeat="allow"):
                assert await once(tools) == "repeat"
        assert await once(tools) == "output_violation"


@every_target
@timelessly
async def test_a_timeout_or_a_cancelled_call_may_have_run(connect: Connect) -> None:
    async with guarded(connect, **serving(NOTHING)) as (tools, server):
        await tools.refresh()
        async with Budget():
            with pytest.raises(ToolTimeoutError):
                await tools.call("t", {"way": 1}, timeout=0.05)
            assert await once(tools, {"way": 1}) == "repeat"
            with anyio.move_on_after(0.05) as scope:
                await tools.call("t", {"way": 2})
            assert scope.cancelled_caught
            assert await once(tools, {"way": 2}) == "repeat"
        assert server.calls["t"] == 2


@timelessly
async def test_a_call_whose_answer_nobody_got_did_run() -> None:
    listing = in_turn({"tools": [tool("t", N)]}, NOTHING)
    async with guarded(raw_session, on={"tools/list": listing}, results={"t": BROKEN}) as (tools, server):
        async with Budget():
            with anyio.move_on_after(0.05) as scope:
                await tools.call("t")  # its result does not fit, and so the tools are listed again
            assert scope.cancelled_caught
            assert await once(tools) == "repeat"
        assert server.calls["t"] == 1


@only_2  # 1.x leaves such a call waiting
@every_target
async def test_a_call_whose_session_is_closed_meanwhile_is_told_and_noted(connect: Connect) -> None:
    records, ended = list[Record](), list[str | None]()
    async with AsyncExitStack() as stack, Budget(), anyio.create_task_group() as tasks:
        described = serving(NOTHING, hooks=[records.append])
        tools, server = await stack.enter_async_context(guarded(connect, **described))

        async def call() -> None:
            ended.append(await once(tools))

        tasks.start_soon(call)
        await server.arrived(lambda server: server.calls["t"] == 1)
        await stack.aclose()
    assert ended == ["connection_lost"]
    assert [(r.error, r.outcome) for r in records] == [("connection_lost", "unknown")]


@timelessly
async def test_a_call_that_is_cancelled_before_it_is_sent_did_not_run() -> None:
    release = anyio.Event()
    on = {"tools/list": in_turn(NOTHING, when(release, {"tools": [tool("t", N)]}))}
    async with guarded(raw_session, on=on, results={"t": GOOD}) as (tools, server):
        async with Budget() as budget:
            with anyio.move_on_after(0.05):
                await tools.call("t")
            release.set()
            assert budget.left.attempts == 6
            assert await once(tools) is None
        assert server.calls["t"] == 1


async def test_a_type_of_the_callers_that_does_not_fit_is_no_reason_to_run_the_tool_again() -> None:
    async with guarded(raw_session, **serving(GOOD)) as (tools, server):
        async with Budget():
            with pytest.raises(OutputValidationError):
                await tools.call("t", into=list[int])
            assert await once(tools) == "repeat"
        assert server.calls["t"] == 1


@pytest.mark.parametrize(
    "policy, second", [(ENFORCE, "repeat"), (RELAY, "repeat"), (OBSERVE, None)], ids=["ENFORCE", "RELAY", "OBSERVE"]
)
async def test_judge_raises_nothing_and_still_the_tool_ran_to_no_use_where_the_policy_says_so(
    policy: Any, second: str | None
) -> None:
    async with guarded(raw_session, **serving(BROKEN), policy=policy) as (tools, _), Budget():
        judged = await tools.judge("t")
        assert type(judged.verdict).__name__ == "Violating"
        assert await once(tools) == second


NAMES: Final = [
    pytest.param({}, {}, "repeat", id="neither is named"),
    pytest.param({"server": "shop"}, {"server": "shop"}, "repeat", id="both are, and alike"),
    pytest.param({"server": "shop"}, {}, "repeat", id="one of them is"),
    pytest.param({"server": "shop"}, {"server": "bank"}, "output_violation", id="both are, and differ"),
]


@pytest.mark.parametrize("first, second, ends", NAMES)
@every_target
async def test_two_sessions_are_one_server_unless_their_names_differ(
    connect: Connect, first: Any, second: Any, ends: str
) -> None:
    async with AsyncExitStack() as stack:
        one, two = [
            (await stack.enter_async_context(guarded(connect, **serving(BROKEN), **named)))[0]
            for named in (first, second)
        ]
        await stack.enter_async_context(Budget())
        assert await once(one) == "output_violation"
        assert await once(two) == ends


@only_2
async def test_servers_that_call_themselves_by_different_names_are_different_ones() -> None:
    def named(name: str) -> dict[str, Any]:
        info = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": name, "version": "1"}}
        return serving(BROKEN, on={"initialize": info})

    async with AsyncExitStack() as stack:
        one, two, again = [
            (await stack.enter_async_context(guarded(raw_session, **named(name))))[0] for name in ("a", "b", "a")
        ]
        async with Budget():
            assert await once(one) == "output_violation"
            assert await once(two) == "output_violation"
            assert await once(again) == "repeat"


@every_target
async def test_a_session_for_each_try_does_not_send_a_write_twice(connect: Connect) -> None:
    sent = 0
    async with Budget():
        for answer in (HANG_UP, GOOD, GOOD):
            async with guarded(connect, **serving(answer)) as (tools, server):
                ended = await once(tools, {"amount": 5})
                sent += server.calls["t"]
            assert ended == ("connection_lost" if answer is HANG_UP else "repeat")
    assert sent == 1


@every_target
@timelessly
async def test_the_sessions_own_timeout_counts_as_one(connect: Connect) -> None:
    from datetime import timedelta

    own = made_with(connect, read_timeout_seconds=timedelta(seconds=0.05) if SDK_MAJOR == 1 else 0.05)
    async with guarded(connect, **serving(NOTHING), **own) as (tools, server):
        async with Budget():
            assert await once(tools) == "timeout"
            assert await once(tools) == "repeat"
        assert server.calls["t"] == 1
