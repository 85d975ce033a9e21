"""`retryable` as the predicate of the real tenacity and stamina; what a blind decorator does inside a budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Final

import anyio
import pytest
import stamina
import tenacity

from mcp_guard import Budget, BudgetExhaustedError, GuardedSession, GuardError, guard
from support import HANG_UP, NOTHING, Connect, Error, in_turn, raw_session, tool
from support.calls import N, data, every_target, guarded, said
from support.clock import timelessly

Attempt = Callable[[], Awaitable[Any]]

GOOD: Final = data({"n": 1})
AGAIN: Final = data({"error": {"retryable": True}}, isError=True)
NEVER: Final = data({"error": {"retryable": False}}, isError=True)
LISTED: Final = [
    tool("pay", N, inputSchema={"type": "object", "properties": {"amount": {"type": "integer"}}}),
    tool("read", N),
    tool("unusable", {"type": "object", "$ref": "#/none"}),
]


def worth_another_try(error: BaseException) -> bool:
    return isinstance(error, GuardError) and error.retryable


async def with_tenacity(attempt: Attempt, on: Any) -> Any:
    """Try three times with tenacity."""
    chosen: Any = tenacity.retry_if_exception_type if isinstance(on, tuple) else tenacity.retry_if_exception
    retrying = tenacity.AsyncRetrying(
        retry=chosen(on),
        stop=tenacity.stop_after_attempt(3),
        wait=tenacity.wait_none(),
        sleep=lambda _: anyio.lowlevel.checkpoint(),
        reraise=True,
    )
    async for context in retrying:
        with context:
            return await attempt()
    raise AssertionError("tenacity ends in a return or an exception")


async def with_stamina(attempt: Attempt, on: Any) -> Any:
    """Try three times with stamina."""
    async for context in stamina.retry_context(on=on, attempts=3):
        with context:
            return await attempt()
    raise AssertionError("stamina ends in a return or an exception")


@pytest.fixture(autouse=True)
def stamina_does_not_wait() -> Generator[None]:
    """The same number of attempts, without their waits."""
    with stamina.set_testing(True, attempts=3):
        yield


every_library = pytest.mark.parametrize("retrying", [with_tenacity, with_stamina])

WRITES: Final[dict[str, Any]] = {
    "a broken contract": data({"n": "x"}),
    "data that is missing": said("no json"),
    "no result": {"content": 5},
    "the tool's own error, and it says to try again": AGAIN,
    "a code": Error(-32000),
    "refused": Error(-32602),
    "no answer": NOTHING,
    "the connection ends": HANG_UP,
}


@every_library
@pytest.mark.parametrize("what", WRITES)
@every_target
@timelessly
async def test_with_retryable_as_the_predicate_a_write_runs_once(connect: Connect, what: str, retrying: Any) -> None:
    described = {"tools": LISTED, "results": {"pay": in_turn(WRITES[what], GOOD)}}
    async with guarded(connect, **described) as (tools, server):
        await tools.refresh()
        with pytest.raises(GuardError) as caught:
            await retrying(lambda: tools.call("pay", {"amount": 5}), worth_another_try)
        assert not caught.value.retryable
        assert server.calls["pay"] == 1


READS: Final[dict[str, Any]] = {
    "a broken contract": data({"n": "x"}),
    "the tool's own error": AGAIN,
    "a code": Error(-32000),
    "no answer": NOTHING,
}


@every_library
@pytest.mark.parametrize("what", READS)
@timelessly
async def test_what_is_named_safe_is_tried_again(what: str, retrying: Any) -> None:
    described = {"tools": LISTED, "results": {"read": in_turn(READS[what], READS[what], GOOD)}}
    async with guarded(raw_session, **described, safe=["read"]) as (tools, server):
        await tools.refresh()
        assert await retrying(lambda: tools.call("read"), worth_another_try) == {"n": 1}
        assert server.calls["read"] == 3


@every_library
@timelessly
async def test_what_was_not_sent_is_tried_again_also_where_it_is_a_write(retrying: Any) -> None:
    on = {"tools/list": in_turn(Error(-32603), Error(-32603), {"tools": LISTED})}
    async with guarded(raw_session, on=on, results={"pay": GOOD}) as (tools, server):
        assert await retrying(lambda: tools.call("pay", {"amount": 5}), worth_another_try) == {"n": 1}
        assert server.calls["pay"] == 1


FIXED: Final[dict[str, tuple[str, Any]]] = {
    "arguments": ("pay", {"amount": "five"}),
    "an unusable contract": ("unusable", {}),
    "the tool says that it is no use": ("read", {}),
}


@every_library
@pytest.mark.parametrize("what", FIXED)
@timelessly
async def test_what_can_not_change_is_not_tried_again(what: str, retrying: Any) -> None:
    name, arguments = FIXED[what]
    tried = 0
    async with guarded(raw_session, tools=LISTED, results={"read": NEVER}, safe=["*"]) as (tools, server):

        async def attempt() -> Any:
            nonlocal tried
            tried += 1
            return await tools.call(name, arguments)

        with pytest.raises(GuardError) as caught:
            await retrying(attempt, worth_another_try)
        assert (tried, caught.value.retryable) == (1, False)
        assert server.counts["tools/call"] == (1 if name == "read" else 0)


@every_library
@timelessly
async def test_a_spent_budget_is_not_tried_again(retrying: Any) -> None:
    tried = 0
    async with guarded(raw_session, tools=LISTED, results={"read": AGAIN}, safe=["read"]) as (tools, server):

        async def attempt() -> Any:
            nonlocal tried
            tried += 1
            return await tools.call("read")

        async with Budget(attempts=2):
            with pytest.raises(BudgetExhaustedError):
                await retrying(attempt, worth_another_try)
        assert (tried, server.calls["read"]) == (3, 2)


# --- blind ones

BLIND: Final = (RuntimeError, TimeoutError, ConnectionError, ValueError)
CAUGHT: Final = {what: WRITES[what] for what in WRITES if what.startswith(("a broken", "data", "no", "the connection"))}


@every_library
@pytest.mark.parametrize("what", CAUGHT)
@every_target
@timelessly
async def test_inside_a_budget_a_blind_decorator_sends_a_write_once(connect: Connect, what: str, retrying: Any) -> None:
    described = {"tools": LISTED, "results": {"pay": in_turn(CAUGHT[what], GOOD)}}
    async with guarded(connect, **described) as (tools, server):
        await tools.refresh()
        async with Budget():
            with pytest.raises(GuardError):
                await retrying(lambda: tools.call("pay", {"amount": 5}), BLIND)
        assert server.calls["pay"] == 1


@every_library
@timelessly
async def test_and_also_where_each_try_has_a_session_of_its_own(retrying: Any) -> None:
    sent = 0
    for what in CAUGHT:
        before = sent

        async def attempt(what: str = what) -> Any:
            nonlocal sent
            async with raw_session(tools=LISTED, results={"pay": CAUGHT[what]}) as (session, server):
                tools: GuardedSession[Any] = guard(session)
                await tools.refresh()
                try:
                    return await tools.call("pay", {"amount": 5})
                finally:
                    sent += server.calls["pay"]

        async with Budget():
            with pytest.raises(GuardError):
                await retrying(attempt, BLIND)
        assert sent == before + 1, what


@every_library
@timelessly
async def test_outside_of_one_it_runs_a_write_again_which_is_why_the_readme_warns(retrying: Any) -> None:
    described = {"tools": LISTED, "results": {"pay": data({"n": "x"})}}
    async with guarded(raw_session, **described) as (tools, server):
        with pytest.raises(RuntimeError):
            await retrying(lambda: tools.call("pay", {"amount": 5}), BLIND)
        assert server.calls["pay"] == 3


@timelessly
async def test_a_timeout_of_the_callers_own_round_the_call_is_no_way_round_it() -> None:
    async with guarded(raw_session, tools=LISTED, results={"pay": NOTHING}) as (tools, server):
        await tools.refresh()

        async def attempt() -> Any:
            with anyio.fail_after(5):
                return await tools.call("pay", {"amount": 5})

        async with Budget():
            with pytest.raises(BudgetExhaustedError):
                await with_tenacity(attempt, BLIND)
        assert server.calls["pay"] == 1
