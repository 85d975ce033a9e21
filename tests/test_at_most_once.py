"""Whatever fails, however it is retried: a tool that nobody named safe is sent at most once a call."""

from __future__ import annotations

import importlib
import inspect
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final

import anyio
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mcp_guard import (
    ENFORCE,
    OBSERVE,
    RELAY,
    STRICT,
    Budget,
    BudgetExhaustedError,
    ConnectionLostError,
    GuardError,
    Policy,
    Record,
    Retry,
    ToolTimeoutError,
    attach,
    connect,
    guard,
)
from support import HANG_UP, NOTHING, SDK_MAJOR, Error, RawServer, Request, raw_client, raw_session, raw_transport, tool
from support.calls import N, data, said
from support.clock import BACKENDS, timeless

MISMATCH: Final = Error(-32020)
ASK: Final = {
    "resultType": "input_required",
    "inputRequests": {
        "a": {
            "method": "elicitation/create",
            "params": {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}},
        }
    },
}
ANSWERS: Final[dict[str, Any]] = {
    "good": data({"n": 1}),
    "broken": data({"n": "x"}),
    "missing": said("no json"),
    "malformed": {"content": 5},
    "said again": data({"error": {"retryable": True}}, isError=True),
    "said later": data({"error": {"retryable": True, "retry_after": 30}}, isError=True),
    "said no": data({"error": {"retryable": False}}, isError=True),
    "code": Error(-32000),
    "refused": Error(-32602),
    "internal": Error(-32603),
    "nothing": NOTHING,
    "hang up": HANG_UP,
    "mismatch": MISMATCH,
    "ask": ASK,
}
LISTED: Final[dict[str, Any]] = {
    "tools": {"tools": [tool("pay", N), tool("read", N)]},
    "error": Error(-32603),
    "nothing": NOTHING,
}
POLICIES: Final = {"ENFORCE": ENFORCE, "STRICT": STRICT, "OBSERVE": OBSERVE, "RELAY": RELAY}
DOORS: Final = ["guard", "twice", "connect"] if SDK_MAJOR == 1 else ["guard", "twice", "connect", "client"]


def _survives_a_hang_up() -> bool:
    """Whether the SDK's session does, with several calls under way: some of 1.x change a dict while they walk it."""
    if SDK_MAJOR > 1:
        return True
    loop: Any = vars(importlib.import_module("mcp.shared.session").BaseSession)["_receive_loop"]
    return "in self._response_streams.items()" not in inspect.getsource(loop)


SURVIVES: Final = _survives_a_hang_up()


@dataclass(frozen=True)
class Scene:
    """What there is, what goes wrong, and what is called."""

    door: str
    modern: bool
    policy: str
    retry: Retry
    timeout: float
    budgets: tuple[dict[str, Any], ...]
    answers: tuple[str, ...]
    listings: tuple[str, ...]
    calls: tuple[tuple[str, str], ...]
    """Tool, and way to call it."""
    at_once: bool
    tries: int
    """How often whoever calls tries again, whatever came."""


SCENES: Final = st.builds(
    Scene,
    door=st.sampled_from(DOORS),
    modern=st.booleans() if SDK_MAJOR > 1 else st.just(False),  # noqa: FBT003  # a value, not a flag
    policy=st.sampled_from([*POLICIES]),
    retry=st.builds(
        Retry,
        retries=st.integers(0, 3),
        codes=st.sampled_from([(), (-32000,), (-32000, -32602, -32603, -32020)]),
        timeout=st.sampled_from([None, 10.0]),
    ),
    timeout=st.sampled_from([60.0, 15.0]),
    budgets=st.lists(
        st.fixed_dictionaries(
            {"attempts": st.integers(0, 6), "seconds": st.just(45.0), "repeat": st.sampled_from(["refuse", "allow"])}
        ),
        max_size=2,
    ).map(tuple),
    answers=st.lists(st.sampled_from([*ANSWERS]), min_size=1, max_size=6).map(tuple),
    listings=st.lists(st.sampled_from(["tools", "tools", "tools", *LISTED]), max_size=3).map(tuple),
    calls=st.lists(
        st.tuples(st.sampled_from(["pay", "pay", "read"]), st.sampled_from(["call", "call_tool", "judge"])),
        min_size=1,
        max_size=4,
    ).map(tuple),
    at_once=st.booleans(),
    tries=st.integers(1, 3),
)


@dataclass(frozen=True)
class Seen:
    """What reached the server, and what was told."""

    sent: Counter[tuple[str, int, int]]
    """By tool, call and try; later rounds left out."""
    resent: int
    """How often a header was said not to fit."""
    requests: int
    records: list[Record]


async def _played(scene: Scene) -> Seen:
    requests: list[Request] = []

    def answer(request: Request) -> Any:
        requests.append(request)
        chosen = ANSWERS[scene.answers[min(len(requests), len(scene.answers)) - 1]]
        # a server that speaks an older version can't ask
        return chosen if chosen is not ASK or scene.modern else ANSWERS["good"]

    listings = iter(scene.listings)
    on = {"tools/list": lambda _: LISTED[next(listings, "tools")]}
    described: dict[str, Any] = {"on": on, "results": {"pay": answer, "read": answer}, "modern": scene.modern}
    records: list[Record] = []
    options: dict[str, Any] = {
        "policy": POLICIES[scene.policy],
        "safe": ["read"],
        "retry": scene.retry,
    }
    async with AsyncExitStack() as stack:
        for budget in scene.budgets:
            await stack.enter_async_context(Budget(**budget))
        tools = await _opened(stack, scene.door, described, {**options, "hooks": [records.append]}, options)
        if scene.at_once:
            async with anyio.create_task_group() as tasks:
                for number in range(len(scene.calls)):
                    tasks.start_soon(_called, tools, scene, number)
        else:
            for number in range(len(scene.calls)):
                await _called(tools, scene, number)
    first = [r for r in requests if not r.params.get("inputResponses")]
    return Seen(
        Counter((r.params["name"], r.arguments["call"], r.arguments["try"]) for r in first),
        sum(scene.answers[min(n, len(scene.answers)) - 1] == "mismatch" for n in range(1, len(requests) + 1)),
        len(requests),
        records,
    )


async def _called(tools: Any, scene: Scene, number: int) -> None:
    """Make one of the calls, and try again as often as the scene says; each try is a call of its own."""
    name, way = scene.calls[number]
    # said each time, since under OBSERVE the guard sets none of its own
    timeout = {"read_timeout_seconds" if way == "call_tool" else "timeout": scene.timeout}
    for nth in range(scene.tries):
        try:
            await getattr(tools, way)(name, {"call": number, "try": nth}, **timeout)
        except GuardError as error:  # noqa: PERF203  # that is what a try is
            if error.retry_safe and error.outcome != "not_sent" and name != "read":
                pytest.fail(f"{error!r} says that a write that was sent is safe to send again")
        else:
            return


async def _opened(
    stack: AsyncExitStack, door: str, described: dict[str, Any], options: dict[str, Any], inner: dict[str, Any]
) -> Any:
    if door == "connect":
        return await stack.enter_async_context(connect(raw_transport(RawServer(**described)), **options))
    if door == "client":
        from mcp import types

        async def accept(_context: Any, _params: Any) -> Any:
            await anyio.lowlevel.checkpoint()
            return types.ElicitResult(action="accept", content={})

        target, _ = await stack.enter_async_context(
            raw_client(**described, client_options={"elicitation_callback": accept})
        )
        return guard(target, **options)
    target, _ = await stack.enter_async_context(raw_session(**described))
    if door == "twice":
        attach(target, **inner)
    return guard(target, seam="call_tool" if door == "twice" else "auto", **options)


@pytest.mark.parametrize("backend", BACKENDS)
@settings(derandomize=True, max_examples=100, deadline=None, database=None)
@given(scene=SCENES)
def test_a_tool_that_is_not_named_safe_is_sent_at_most_once_a_call(backend: str, scene: Scene) -> None:
    assume(SURVIVES or not scene.at_once or "hang up" not in scene.answers)
    seen = timeless(backend, _played, scene)
    most = {"pay": 1, "read": 1 + scene.retry.retries}
    resent = 1 if seen.resent and scene.modern else 0  # the specification's own, where a header does not fit: no retry
    for (name, *_), sent in seen.sent.items():
        assert sent <= most[name] * (1 + resent)
    if scene.budgets:
        assert seen.requests <= min(budget["attempts"] for budget in scene.budgets)
    assert len(seen.records) >= len(scene.calls)
    for record in seen.records:
        assert len(record.attempts) <= most[record.tool] * (1 + resent)
        # of a call that goes through two guards the outer one does not know whether the inner one has sent it yet
        assert seen.requests or record.outcome == "not_sent" or scene.door == "twice"


RETRIED: Final = (RuntimeError, TimeoutError, ConnectionError, ValueError)
FRUITLESS: Final = ["broken", "missing", "malformed", "internal", "code", "nothing", "hang up"]


async def _blindly(first: list[str], fresh: bool, policy: Policy) -> tuple[int, list[str]]:
    """How often a write is sent by code that tries again, blindly, each time in a session of its own or in one."""
    sent, ended = 0, list[str]()
    async with AsyncExitStack() as stack, Budget():
        opened: list[Any] = []
        for nth in range(5):
            if fresh or not opened:
                chosen = ANSWERS[first[min(nth, len(first) - 1)]]
                described: dict[str, Any] = {"tools": [tool("pay", N)], "results": {"pay": chosen}}
                target, server = await stack.enter_async_context(raw_session(**described))
                opened.append((guard(target, policy=policy, timeout=1), server))
            try:
                await opened[-1][0].call("pay", {"amount": 5})
                ended.append("done")
                break
            except (*RETRIED, BudgetExhaustedError) as error:
                ended.append(type(error).__name__)
            except GuardError:
                break
        sent = sum(server.calls["pay"] for _, server in opened)
    return sent, ended


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fresh", [False, True], ids=["one session", "a session for each try"])
@pytest.mark.parametrize("first", FRUITLESS)
def test_inside_a_budget_even_blind_retries_send_a_write_once(first: str, fresh: bool, backend: str) -> None:
    sent, ended = timeless(backend, _blindly, [first, "good"], fresh, ENFORCE)
    assert sent == 1
    assert "done" not in ended


def test_the_double_classes_are_what_the_readme_warns_of() -> None:
    assert issubclass(ToolTimeoutError, TimeoutError)
    assert issubclass(ConnectionLostError, ConnectionError)
    assert not issubclass(BudgetExhaustedError, RETRIED), "so that nobody who retries on those tries again"
