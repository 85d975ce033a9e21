"""`logging_hook` and `Tally`, and what `guard(hooks=)` takes."""

from __future__ import annotations

import io
import json
import logging
import logging.handlers
import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

import mcp_guard
from mcp_guard import ENFORCE, OBSERVE, STRICT, GuardError, Policy, guard, hooks
from mcp_guard.hooks import JsonlAudit, LoggingHook, Tally, logging_hook
from support import Answer, Connect, Error, in_turn, raw_session, tool
from support.calls import N, data, every_target, guarded, said
from support.made import FULL, PLAIN, record

GOOD: Final = data({"n": 1})
BAD: Final = data({"n": "CANARY", "CANARY": 1}, "CANARY")


async def make(answer: Answer, times: int = 1, connect: Connect = raw_session, **options: Any) -> None:
    """Call the tool `t` so many times."""
    async with guarded(connect, **{"tools": [tool("t", N)], "results": {"t": answer}, **options}) as (tools, _):
        for _ in range(times):
            with suppress(GuardError):
                await tools.call("t", {"x": "CANARY"})


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [
        (each.levelname, each.getMessage().partition(" (call ")[0])
        for each in caplog.records
        if each.name == "mcp_guard"
    ]


class Clock:
    """What time it is."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """In seconds."""
        return self.now


# --- logging_hook


@every_target
async def test_every_call_is_one_line_at_the_level_of_what_was_done(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mcp_guard")
    answers = in_turn(GOOD, said('{"n": 1}'), BAD, Error(-32603, "CANARY"))
    await make(answers, 4, connect, hooks=[logging_hook()])
    assert lines(caplog) == [
        ("DEBUG", "t: Conforming; allowed, executed"),
        ("INFO", "t: Conforming, structured_missing; reported, executed"),
        ("ERROR", "t: output_violation; raised, executed"),
        ("ERROR", "t: protocol_error; raised, unknown"),
    ]
    assert "CANARY" not in caplog.text


@pytest.mark.parametrize(
    "given, line",
    [
        (list, "t: output_violation"),
        (lambda: [Tally()], "t: output_violation"),
        (lambda: [Tally(), logging_hook()], "t: output_violation; reported, executed"),
    ],
    ids=["no hook", "another", "logging_hook"],
)
async def test_what_is_reported_is_said_once_whoever_says_it(
    given: Callable[[], list[Any]], line: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mcp_guard")
    await make(BAD, policy=OBSERVE, hooks=given())
    assert lines(caplog) == [("WARNING", line)]


async def test_an_unlisted_tool_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    await make(GOOD, tools=[], hooks=[logging_hook()])
    assert lines(caplog) == [("WARNING", "t: Unchecked; reported, executed")]


async def test_a_call_that_is_cancelled_has_its_line(caplog: pytest.LogCaptureFixture) -> None:
    async def leave(_: Any) -> Any:
        scope.cancel()
        await anyio.sleep_forever()

    with anyio.CancelScope() as scope:
        await make(leave, hooks=[logging_hook()])
    assert lines(caplog) == [("ERROR", "t: no answer; raised, unknown")]


def test_the_line_names_the_call_and_the_callers_mark(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "mcp_guard")
    hook = logging_hook(levels={"allow": logging.INFO})
    hook(PLAIN)
    hook(FULL)
    (line,) = caplog.records  # INFO is under the level of the logger
    what = "output_violation, structured_missing, format; reported, executed"
    assert line.getMessage() == f"get_stock: {what} (call 0123456789abcdef of run-7/step-3)"


def test_the_same_line_comes_again_after_a_minute_with_the_number_left_out(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    hook = LoggingHook(clock=clock)
    for clock.now in (0.0, 1.0, 59.0, 60.0, 61.0):
        hook(record(error="timeout", action="raise"))
    hook(record(error="timeout", action="raise", tool="order"))
    said_of = [each.getMessage().split(" (call")[0] + each.getMessage().split(")")[1] for each in caplog.records]
    assert said_of == [
        "get_stock: timeout; raised, executed",
        "get_stock: timeout; raised, executed (and 2 times more",
        "order: timeout; raised, executed",
    ]


def test_levels_can_be_chosen_by_action(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mcp_guard")
    hook = logging_hook(levels={"allow": logging.INFO, "raise": logging.CRITICAL})
    for action in ("allow", "report", "raise"):
        hook(record(action=action, error="timeout"))
    assert [level for level, _ in lines(caplog)] == ["INFO", "WARNING", "CRITICAL"]


def test_another_logger_can_be_given(caplog: pytest.LogCaptureFixture) -> None:
    logging_hook(logger=logging.getLogger("mine"))(FULL)
    assert [each.name for each in caplog.records] == ["mine"]


@pytest.mark.parametrize(
    "options, error, says",
    [
        ({"logger": "mine"}, TypeError, "logger takes a logging.Logger, not str"),
        ({"levels": {"explode": 10}}, ValueError, "levels has 'explode'; it takes 'raise', 'report', 'allow'"),
        ({"levels": {"raise": "ERROR"}}, TypeError, "levels\\['raise'\\] takes a level"),
    ],
)
def test_what_a_logging_hook_can_not_be_made_with_is_said(
    options: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        logging_hook(**options)


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """What a handler of the logger ``mcp_guard.fields`` has written; its formatter is the test's."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    logging.getLogger("mcp_guard.fields").addHandler(handler)
    yield written
    logging.getLogger("mcp_guard.fields").removeHandler(handler)


class JsonFormatter(logging.Formatter):
    """As formatters for JSON do it: whatever is in a log record and not there by itself is a field."""

    OWN: Final = {*vars(logging.makeLogRecord({})), "message", "asctime"}

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        fields = {name: value for name, value in vars(record).items() if name not in self.OWN}
        return json.dumps({"text": record.getMessage(), **fields})


def test_each_field_of_the_record_is_a_field_of_the_line_for_formatters_of_both_kinds(stream: io.StringIO) -> None:
    logger = logging.getLogger("mcp_guard.fields")
    (handler,) = logger.handlers
    handler.setFormatter(JsonFormatter())
    logging_hook(logger=logger)(FULL)
    told = json.loads(stream.getvalue())
    assert {name: told[f"mcp_{name}"] for name in FULL.to_dict()} == FULL.to_dict()
    assert told.keys() == {"text", *(f"mcp_{name}" for name in FULL.to_dict())}

    handler.setFormatter(logging.Formatter("%(levelname)s %(mcp_tool)s %(mcp_error)s %(mcp_correlation)s"))
    logging_hook(logger=logger)(FULL)
    assert stream.getvalue().endswith("WARNING get_stock output_violation run-7/step-3\n")


def test_the_fields_are_names_that_no_log_record_has_itself() -> None:
    assert not {f"mcp_{name}" for name in FULL.to_dict()} & JsonFormatter.OWN


def test_the_fields_go_through_a_queue_to_another_thread() -> None:
    logger, lines_of_log = logging.getLogger("mcp_guard.fields"), queue.SimpleQueue[Any]()
    handler = logging.handlers.QueueHandler(lines_of_log)
    logger.addHandler(handler)
    try:
        logging_hook(logger=logger)(FULL)
    finally:
        logger.removeHandler(handler)
    assert lines_of_log.get_nowait().mcp_violations == [
        {"pointer": "/n", "keyword": "type"},
        {"pointer": "/*", "keyword": "additionalProperties"},
    ]


def test_what_no_handler_wants_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr("mcp_guard._words.line", made.append)
    logging_hook()(PLAIN)  # DEBUG, and the logger wants WARNING
    assert not made


# --- Tally


@every_target
async def test_a_tally_counts_under_observe_what_enforce_refuses(connect: Connect) -> None:
    fine = [GOOD, said('{"n": 1}')]
    answers = [*fine, BAD, said("no", isError=True), said("what"), BAD, Error(-32603)]
    refused: list[str] = []
    options = {"tools": [tool("t", N), tool("u")], "results": {"t": in_turn(*answers), "u": GOOD}}
    async with guarded(connect, **options) as (tools, _):
        for _ in fine:
            await tools.call_tool("t")
        for _ in answers[len(fine) :]:
            with pytest.raises(GuardError) as caught:
                await tools.call_tool("t")
            refused.append(caught.value.kind)
        await tools.call_tool("u")
    tally = Tally()
    async with guarded(connect, policy=OBSERVE, hooks=[tally], **options) as (tools, _):
        for _ in answers:
            with suppress(mcp_guard.ToolProtocolError):
                await tools.call_tool("t")
        await tools.call_tool("u")
    of_t, of_u = tally.to_dict()["tools"]
    assert {**of_t["would_raise"], **of_t["raised"]} == Counter(refused)
    assert of_t["would_raise"] == {"output_violation": 2, "tool_error": 1, "structured_missing": 1}
    assert of_t["raised"] == {"protocol_error": 1}
    assert (of_t["calls"], of_u["calls"], of_u["would_raise"], of_u["raised"]) == (7, 1, {}, {})


async def test_arguments_and_pins_that_enforce_would_refuse_are_counted() -> None:
    tally = Tally()
    picky = tool("t", N, inputSchema={"type": "object", "required": ["sku"]})
    await make(GOOD, tools=[picky], policy=OBSERVE, hooks=[tally])
    assert tally.to_dict()["tools"][0]["would_raise"] == {"invalid_arguments": 1}


async def test_a_listing_that_can_not_be_read_is_counted_as_enforce_would_refuse_each_call() -> None:
    tally = Tally()
    options: dict[str, Any] = {"on": {"tools/list": Error(-32603)}, "results": {"t": GOOD}}
    async with guarded(raw_session, policy=OBSERVE, hooks=[tally], **options) as (tools, _):
        await tools.call_tool("t")
    assert tally.to_dict()["tools"][0]["would_raise"] == {"protocol_error": 1}


@pytest.mark.parametrize(
    "policy, answer, would",
    [
        (Policy(violating="allow"), BAD, {"output_violation": 1}),
        (ENFORCE, BAD, {}),
        (STRICT, GOOD, {}),
        (OBSERVE, said('{"n": 1}'), {}),
    ],
    ids=["allowed", "raised", "fine", "deviates"],
)
async def test_what_was_let_through_is_told_from_what_was_raised(
    policy: Policy, answer: Answer, would: dict[str, int]
) -> None:
    tally = Tally()
    await make(answer, policy=policy, hooks=[tally])
    counted = tally.to_dict()
    assert (counted["calls"], counted["would_raise"]) == (1, sum(would.values()))
    assert counted["tools"][0]["would_raise"] == would


@pytest.mark.parametrize(
    "timeout, fields, would",
    [
        (60.0, {"ms_wire": 60_001.0}, {"timeout": 1}),
        (60.0, {"ms_queued": 30_000.0, "ms_wire": 30_001.0}, {"timeout": 1}),
        (60.0, {"ms_wire": 59_999.0}, {}),
        (60.0, {"ms_wire": 60_001.0, "error": "output_violation", "action": "report"}, {"timeout": 1}),
        (60.0, {"ms_wire": 60_001.0, "error": "protocol_error", "action": "raise"}, {}),
        (5.0, {"ms_wire": 5_001.0}, {"timeout": 1}),
        (None, {"ms_wire": 1e9}, {}),
    ],
)
def test_a_call_that_took_longer_than_enforce_would_wait_counts_as_a_timeout(
    timeout: float | None, fields: dict[str, Any], would: dict[str, int]
) -> None:
    tally = Tally(timeout=timeout)
    tally(record(**fields))
    assert tally.to_dict()["tools"][0]["would_raise"] == would


def tallied() -> Tally:
    tally = Tally()
    for n in range(3):
        tally(record(n))
    tally(record(3, error="output_violation", action="report"))
    tally(record(4, error="output_violation", action="report"))
    tally(record(5, error="tool_error", action="report", tool="order", server="shop"))
    tally(record(6, error="timeout", action="raise", tool="order", server="shop"))
    tally(record(7, action="raise", tool="order", server="shop", verdict=None))
    return tally


def test_a_tally_is_a_table() -> None:
    assert str(tallied()) == (
        "ENFORCE would have raised in 3 of 8 calls.\n"
        "tool        calls  would raise  raised  kinds (and the last call of each)\n"
        "get_stock       5            2       0  output_violation 2 (0000000000000004)\n"
        "shop/order      3            1       2  tool_error 1 (0000000000000005), raised: timeout 1, raised: left 1"
    )
    assert repr(tallied()) == "<Tally of 8 calls, 3 of which ENFORCE would refuse>"
    assert str(Tally()) == "ENFORCE would have raised in 0 of 0 calls."


def test_a_tally_is_json() -> None:
    counted = json.loads(json.dumps(tallied().to_dict()))
    assert counted["tools"][1] == {
        "server": "shop",
        "tool": "order",
        "calls": 3,
        "would_raise": {"tool_error": 1},
        "raised": {"timeout": 1, "left": 1},
        "examples": {"tool_error": "0000000000000005"},
    }


def test_a_tally_is_bounded_however_many_tools_and_kinds_there_are() -> None:
    tally = Tally()
    for n in range(1_200):
        tally(record(n, tool=f"t{n}"))
    for n in range(300):
        tally(record(n, tool="t0", error=f"kind{n}", action="report"))
    rows = tally.to_dict()["tools"]
    assert len(rows) == 1_001
    assert {row["tool"]: row["calls"] for row in rows}["*"] == 200
    assert len(rows[0]["would_raise"]) == len(rows[0]["examples"]) == 101
    assert rows[0]["would_raise"]["*"] == 200


def test_a_tally_counts_right_from_several_threads() -> None:
    tally = Tally()

    def count() -> None:
        for n in range(2_000):
            tally(record(n, error="timeout", action="report"))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert tally.to_dict()["would_raise"] == 8_000


@pytest.mark.parametrize("timeout", ["60", True], ids=["text", "bool"])
def test_the_timeout_of_a_tally_is_a_number(timeout: Any) -> None:
    with pytest.raises(TypeError, match="timeout takes seconds or None"):
        Tally(timeout=timeout)


# --- what a server says stays out of all of them


HOSTILE: Final[dict[str, Answer]] = {
    "values and names": data({"n": "CANARY", "CANARY": {"CANARY": 1}}, "CANARY"),
    "an isError text": said("CANARY", isError=True),
    "a failure in JSON": said('{"ok": false, "error": {"kind": "CANARY", "request_id": "CANARY"}}', isError=True),
    "a JSON-RPC error": Error(-32603, "CANARY", {"CANARY": "CANARY"}),
    "text that is no data": said("CANARY"),
    "data from the text": said('{"n": 1, "CANARY": "CANARY"}'),
    "unknown blocks": {"content": [{"type": "CANARY", "CANARY": 1}], "structuredContent": {"n": 1}},
    "no result": {"content": "CANARY", "CANARY": "CANARY"},
    "unknown members": data({"n": 1}, _meta={"CANARY": "CANARY"}, CANARY="CANARY"),
}


@pytest.mark.parametrize("policy", [ENFORCE, STRICT, OBSERVE], ids=["enforce", "strict", "observe"])
@pytest.mark.parametrize("answer", HOSTILE)
async def test_no_word_of_the_server_nor_of_the_arguments_is_in_a_log_an_audit_or_a_tally(
    answer: str, policy: Policy, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mcp_guard")
    tally, audit = Tally(), JsonlAudit(tmp_path / "audit.jsonl", chain=True)
    schema = {**N, "description": "CANARY", "patternProperties": {"^CANARY": {"enum": ["CANARY"]}}}
    listed = tool("t", schema, description="CANARY", title="CANARY", _meta={"CANARY": "CANARY"})
    await make(HOSTILE[answer], tools=[listed], policy=policy, hooks=[tally, audit, logging_hook()])
    (line,) = audit.path.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["tool"] == "t"
    (logged,) = [each for each in caplog.records if each.name == "mcp_guard"]
    for told in (line, str(vars(logged)), logged.getMessage(), str(tally), repr(tally), str(tally.to_dict())):
        assert "CANARY" not in told


# --- what guard(hooks=) takes


@pytest.mark.parametrize(
    "hook, says",
    [
        (Tally, "Tally is a class; give one of it: Tally\\(...\\)"),
        (JsonlAudit, "JsonlAudit is a class"),
        (lambda: None, "takes other arguments"),
        (lambda record, more: None, "takes other arguments"),  # noqa: ARG005  # that is the point
        (logging_hook, "give what it makes: logging_hook\\(...\\)"),
        (7, "hooks takes plain functions"),
    ],
    ids=["a class", "another class", "of nothing", "of two", "a maker of hooks", "a number"],
)
async def test_what_can_not_be_told_of_a_record_is_refused_when_the_guard_is_made(hook: Any, says: str) -> None:
    async with raw_session(tools=[tool("t", N)]) as (session, _):
        with pytest.raises(TypeError, match=says):
            guard(session, hooks=[hook])


async def test_functions_that_have_no_signature_are_taken() -> None:
    async with raw_session(tools=[tool("t", N)]) as (session, _):
        guard(session, hooks=[iter, [].append, print])  # type: ignore[list-item]  # whatever it is


def test_the_module_has_what_it_says_it_has() -> None:
    for name in hooks.__all__:
        assert getattr(hooks, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        hooks.no_such_name  # type: ignore[attr-defined]  # noqa: B018  # that is the point
