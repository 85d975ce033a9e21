"""What a hook puts round a call: entered before anything is done for it, left after it was told, whatever happens."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import anyio
import mcp
import pytest

from mcp_guard import GuardError, OutputValidationError, Record, guard
from mcp_guard.records import CallInfo
from support import NOTHING, Connect, Error, RawServer, Request, raw_session, raw_transport, tool
from support.calls import N, data, every_target, guarded, only_1, said

GOOD: Final = data({"n": 1})
HERE: Final[ContextVar[str]] = ContextVar("HERE", default="outside")


class Rounds:
    """A hook that writes down when it is entered, told and left, each with its name."""

    def __init__(self, events: list[str], name: str = "a") -> None:
        self.events = events
        self.name = name
        self.calls: list[CallInfo] = []

    def __call__(self, _: Record) -> None:
        """Write down that it was told."""
        self.events.append(f"{self.name} told")

    @contextmanager
    def around(self, call: CallInfo) -> Generator[None]:
        """Write down the coming and going, and set a variable between them."""
        self.calls.append(call)
        self.events.append(f"{self.name} in")
        token = HERE.set("inside")
        try:
            yield
        finally:
            HERE.reset(token)
            self.events.append(f"{self.name} out")


def told(event: str, answer: Any, events: list[str]) -> Callable[[Request], Any]:
    """An answer that writes down when it was asked for."""

    def reply(_: Request) -> Any:
        events.append(event)
        return answer

    return reply


@every_target
async def test_all_of_a_call_happens_inside_and_the_hooks_are_left_in_reverse_order(connect: Connect) -> None:
    events: list[str] = []
    described = {
        "on": {"tools/list": told("listed", {"tools": [tool("t", N)]}, events)},
        "results": {"t": told("called", GOOD, events)},
    }
    async with guarded(connect, **described, hooks=[Rounds(events, "a"), Rounds(events, "b")]) as (tools, _):
        assert await tools.call("t") == {"n": 1}
        assert events == ["a in", "b in", "listed", "called", "a told", "b told", "b out", "a out"]


class Left:
    """A hook that writes down with what it is left."""

    def __init__(self) -> None:
        self.told: list[Record] = []
        self.left: list[tuple[object, ...]] = []

    def __call__(self, record: Record) -> None:
        """Keep the record."""
        self.told.append(record)

    def around(self, _: CallInfo) -> Left:
        """Give itself."""
        return self

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        self.left.append((kind, error, at, len(self.told)))
        return True  # which swallows an exception, if it is given one


@every_target
@pytest.mark.parametrize(
    "answer, arguments, outcome",
    [
        pytest.param(GOOD, {}, "executed", id="conforming"),
        pytest.param(data({"n": "CANARY"}), {}, "executed", id="violating"),
        pytest.param(said("CANARY", isError=True), {}, "executed", id="isError"),
        pytest.param(Error(-32603, "CANARY"), {}, "unknown", id="JSON-RPC error"),
        pytest.param(NOTHING, {}, "unknown", id="timeout"),
        pytest.param(GOOD, {"n": "x"}, "not_sent", id="refused"),
    ],
)
async def test_it_is_left_once_after_it_was_told_and_with_no_exception_however_the_call_ends(
    connect: Connect, answer: Any, arguments: dict[str, Any], outcome: str
) -> None:
    hook, listed = Left(), {**tool("t", N), "inputSchema": N}
    async with guarded(connect, tools=[listed], results={"t": answer}, hooks=[hook], timeout=1.0) as (tools, _):
        raised = None
        try:
            await tools.call("t", arguments or {"n": 1}, timeout=0.05 if answer is NOTHING else 1.0)
        except GuardError as error:
            raised = error
    assert (raised is None) == (answer is GOOD and not arguments)
    assert hook.left == [(None, None, None, 1)]
    assert hook.told[0].outcome == outcome


@every_target
async def test_a_cancelled_call_leaves_it_and_the_cancellation_passes_through(connect: Connect) -> None:
    events: list[str] = []
    arrived = anyio.Event()

    def silent(_: Request) -> Any:
        arrived.set()
        return NOTHING

    async with guarded(connect, tools=[tool("t", N)], results={"t": silent}, hooks=[Rounds(events)]) as (tools, _):
        scope = anyio.CancelScope()

        async def call() -> None:
            with scope:
                await tools.call("t")
            events.append("cancelled")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await arrived.wait()
            scope.cancel()
    assert events == ["a in", "a told", "a out", "cancelled"]
    assert scope.cancelled_caught


class Noting:
    """A stream that notes what the context variable is where something is sent."""

    def __init__(self, stream: Any, seen: list[str]) -> None:
        self._stream = stream
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        """All else is the stream's."""
        return getattr(self._stream, name)

    async def send(self, item: Any) -> None:
        """Note it, and send."""
        self._seen.append(HERE.get())
        await self._stream.send(item)

    async def __aenter__(self) -> Any:
        return await self._stream.__aenter__()

    async def __aexit__(self, *about: object) -> Any:
        return await self._stream.__aexit__(*about)


async def test_variables_that_it_sets_are_in_force_where_the_listing_and_the_call_are_sent() -> None:
    seen: list[str] = []
    server = RawServer(tools=[tool("t", N)], results={"t": GOOD})
    session_class: Any = mcp.ClientSession
    async with raw_transport(server) as (read, write), session_class(read, Noting(write, seen)) as session:
        await session.initialize()
        assert set(seen) == {"outside"}
        seen.clear()
        await guard(session, hooks=[Rounds([])]).call("t")
        assert seen == ["inside", "inside"]
        assert HERE.get() == "outside"


async def test_calls_at_the_same_time_have_each_their_own() -> None:
    events: list[str] = []
    hook = Rounds(events)
    described = {"tools": [tool("t", N)], "results": {"t": GOOD}, "hooks": [hook]}
    async with guarded(raw_session, **described) as (tools, _), anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(tools.call, "t")
    assert (events.count("a in"), events.count("a out")) == (5, 5)
    assert len({call.call_id for call in hook.calls}) == 5
    assert HERE.get() == "outside"


async def test_it_is_given_the_call_and_its_result_for_whoever_asks() -> None:
    hook, records, arguments = Rounds([]), list[Record](), {"key": "CANARY"}
    results: list[Any] = []

    def ask(_: Record) -> None:
        results.append(hook.calls[0].result())

    described = {"tools": [tool("t\n", N)], "results": {"t\n": data({"n": 1})}, "server": "shop"}
    async with guarded(raw_session, **described, hooks=[hook, records.append, ask]) as (tools, _):
        await tools.call("t\n", arguments)
    [call], [record] = hook.calls, records
    assert (call.call_id, call.tool, call.server) == (record.call_id, record.tool, record.server)
    assert call.tool == "t\\x0a"
    assert call.arguments == arguments
    assert "CANARY" not in repr(call)
    assert results[0]["structuredContent"] == {"n": 1}


async def test_what_a_hook_does_to_the_result_changes_nothing_for_the_caller() -> None:
    hook = Rounds([])

    def spoil(_: Record) -> None:
        result = hook.calls[0].result()
        result["structuredContent"]["n"] = "spoilt"
        result["content"].clear()

    async with guarded(raw_session, tools=[tool("t", N)], results={"t": GOOD}, hooks=[hook, spoil]) as (tools, _):
        assert await tools.call("t") == {"n": 1}


async def test_there_is_no_result_before_the_answer_nor_where_none_came() -> None:
    hook = Rounds([])
    seen: list[Any] = []

    def look(_: Request) -> Any:
        seen.append(hook.calls[0].result())
        return Error(-32603)

    async with guarded(raw_session, tools=[tool("t", N)], results={"t": look}, hooks=[hook]) as (tools, _):
        with suppress(GuardError):
            await tools.call("t")
        seen.append(hook.calls[0].result())
    assert seen == [None, None]
    assert CallInfo(call_id="1", tool="t").result() is None


# --- what fails


@contextmanager
def _raises_at_once() -> Generator[None]:
    raise LookupError("CANARY")
    yield


@contextmanager
def _raises_at_the_end() -> Generator[None]:
    yield
    raise LookupError("CANARY")


@asynccontextmanager
async def _is_async() -> AsyncGenerator[None]:
    yield


def _raises_itself() -> AbstractContextManager[None]:
    raise LookupError("CANARY")


class Failing:
    """A hook whose `around` does not work."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make
        self.told = 0

    def __call__(self, _: Record) -> None:
        """Count."""
        self.told += 1

    def around(self, _: CallInfo) -> Any:
        """Give what fails."""
        return self.make()


@every_target
@pytest.mark.parametrize(
    "make, kind",
    [
        (_raises_at_once, "LookupError"),
        (_raises_at_the_end, "LookupError"),
        (_raises_itself, "LookupError"),
        (_is_async, "(AttributeError|TypeError)"),
        (lambda: None, "(AttributeError|TypeError)"),
    ],
    ids=["on enter", "on exit", "itself", "async", "nothing"],
)
async def test_one_that_fails_is_logged_once_and_changes_nothing_for_the_call_nor_for_other_hooks(
    connect: Connect, make: Callable[[], Any], kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    events: list[str] = []
    failing = Failing(make)
    hooks = [Rounds(events, "a"), failing, Rounds(events, "b")]
    answers = {"good": GOOD, "bad": data({"n": "CANARY"})}
    described = {"tools": [tool("good", N), tool("bad", N)], "results": answers, "hooks": hooks}
    async with guarded(connect, **described) as (tools, _):
        assert await tools.call("good") == {"n": 1}
        assert events == ["a in", "b in", "a told", "b told", "b out", "a out"]
        with pytest.raises(OutputValidationError) as caught:
            await tools.call("bad")
    assert caught.value.kind == "output_violation"
    assert failing.told == 2
    [line] = [r for r in caplog.records if r.name == "mcp_guard"]
    assert line.levelno == logging.ERROR
    assert line.exc_info is None
    assert re.fullmatch(f"the hook Failing raised {kind}; the call goes on", line.getMessage())


# --- the span that is current


@only_1
def test_a_guarded_call_loads_no_opentelemetry() -> None:
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import anyio
from support import raw_session, tool
from mcp_guard import guard

records = []

async def main():
    async with raw_session(tools=[tool("t")], results={{"t": {{"content": []}}}}) as (session, _):
        await guard(session, hooks=[records.append]).call_tool("t")

anyio.run(main)
assert records[0].trace_id is records[0].span_id is None
assert "opentelemetry" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)  # noqa: S603  # ours
