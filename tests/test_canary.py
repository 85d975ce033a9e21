"""One secret in every place that a server or an argument can fill: it is found where `TABLE` lets it be, and not else.

A place is a tool, what it is called with and what it answers, with `CANARY` in one of them. A surface is a text that
is made of what came: `of_error`, `of_verdict`, `of_contract`, `of_change`, `of_record`, `of_log` and `HOOKS` name them
all, and something new that shows something to somebody gets its line there.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
import math
import pickle
import traceback
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeAlias

import anyio
import mcp
import pytest
from pydantic import BaseModel

from mcp_guard import (
    ENFORCE,
    OBSERVE,
    STRICT,
    Change,
    Contract,
    Contracts,
    GuardError,
    Hook,
    Policy,
    Record,
    Verdict,
    check,
    connect,
    guard,
)
from mcp_guard._verdict import as_error
from mcp_guard.hooks import JsonlAudit, Tally, logging_hook
from support import (
    HANG_UP,
    LEGACY,
    MODERN,
    NOTHING,
    SDK_MAJOR,
    SESSIONS,
    Error,
    Line,
    RawServer,
    raw_client,
    raw_session,
    raw_transport,
)
from support.calls import data, said, text
from support.telemetry import Telling

CANARY: Final = "CANARY-7f3a"

EVERYWHERE: Final = frozenset({"shown", "pickle", "model", "caller"})
TABLE: Final[dict[str, frozenset[str]]] = {
    "tool name": EVERYWHERE,
    "declared name": EVERYWHERE,
    # without the place a violation would be no use where it is unpickled
    "undeclared name": frozenset({"caller", "pickle of output_violation", "pickle of invalid_arguments"}),
    "schema": frozenset({"caller"}),
    "choice": frozenset({"caller", "model of invalid_arguments"}),
    "value": frozenset({"caller"}),
    # of these two a pickle without the words would say nothing
    "failure": frozenset({"caller", "model of tool_error", "pickle of tool_error"}),
    "message": frozenset({"caller", "pickle of protocol_error"}),
    "data": frozenset({"caller", "pickle of protocol_error"}),
}
"""What a server chose, and where it may be read: the table of docs/errors.md, row by row.

``shown``: `str`, `repr`, `to_dict`, `explain()`, tracebacks, logs, records, hooks, warnings. ``pickle``: of an error.
``model``: `for_model()`. Of one kind of error, or of all. ``caller``: attributes, `explain(values=True)`.
"""

Text: TypeAlias = tuple[str, str, str]
"""A column of `TABLE`, the name of the surface, and what stands there."""


@pytest.fixture
def anyio_backend() -> str:
    """The event loop: what is shown does not hang on it."""
    return "asyncio"


# --- the places


@dataclass(frozen=True)
class Place:
    """One place: the row of `TABLE` that it is in, the tool's outputSchema, its answer, and what it is called with."""

    row: str
    output: Any = None
    answer: Any = field(default_factory=lambda: data({"a": 1}))
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    members: dict[str, Any] = field(default_factory=dict[str, Any])
    """Of the tool's definition, over what is usual."""
    name: str = ""
    modern: bool = False
    """Whether there is such a thing only on 2026-07-28."""
    lost: bool = False
    """Whether only `connect` hears the answer; a session waits for it until the timeout."""
    called: bool = True
    """Whether it is called through sessions, and not only checked."""


def asks(a: Any, **more: Any) -> dict[str, Any]:
    """An outputSchema: an object with the property `a`."""
    return {"type": "object", "properties": {"a": a}, "required": ["a"], **more}


def frame(**members: Any) -> Line:
    """An answer that is a whole frame."""
    return Line(json.dumps({"jsonrpc": "2.0", "id": "ID", **members}).replace('"ID"', "@@ID@@"))


INTEGER: Final = {"type": "integer"}
OPEN: Final = {"type": "object"}
WRONG: Final = data({"a": "x"})
DEEP: Final[Any] = json.loads("[" * 250 + f'"{CANARY}"' + "]" * 250)

IN_SCHEMA: Final[dict[str, Any]] = {
    "enum": asks({"enum": [CANARY]}),
    "const": asks({"const": CANARY}),
    "pattern": asks({"pattern": CANARY}),
    "pattern of names": {**OPEN, "patternProperties": {f"a|{CANARY}": INTEGER}},
    "format": asks({"format": CANARY, **INTEGER}),
    "words": asks(INTEGER, title=CANARY, description=CANARY),
    "comment": {"$comment": CANARY, **asks(INTEGER)},
    "words of a part": asks({**dict.fromkeys(("title", "description", "default"), CANARY), **INTEGER}),
    "examples": asks({"examples": [CANARY], **INTEGER}),
    "id": asks(INTEGER, **{"$id": f"https://{CANARY}.example/x"}),
    "definition": asks({"$ref": f"#/$defs/{CANARY}"}, **{"$defs": {CANARY: INTEGER}}),
    "anchor": asks({"$ref": f"#{CANARY}"}, **{"$defs": {"d": {"$anchor": CANARY, **INTEGER}}}),
    "keyword that is none": {CANARY: CANARY, **asks({CANARY: CANARY, **INTEGER})},
    "media type": asks({"contentMediaType": CANARY, "contentEncoding": CANARY, **INTEGER}),
    "alternatives": asks({"anyOf": [{"const": CANARY}, {"enum": [CANARY]}]}),
    "condition": asks({"if": {"const": "x"}, "then": {"const": CANARY}}),
    "dialect": asks(INTEGER, **{"$schema": f"https://{CANARY}.example"}),
    "remote reference": asks({"$ref": f"https://{CANARY}.example/x"}),
    "file reference": asks({"$ref": f"file:///{CANARY}"}),
    "dangling reference": asks({"$ref": f"#/$defs/{CANARY}"}),
    "endless reference": asks({"$ref": f"#/$defs/{CANARY}"}, **{"$defs": {CANARY: {"$ref": f"#/$defs/{CANARY}"}}}),
    "type that is none": asks({"type": CANARY}),
    "bad definition": asks(INTEGER, **{"$defs": {CANARY: {"type": 5}}}),
    "bad pattern": asks({"pattern": f"{CANARY}("}),
    "bad pattern of names": {**OPEN, "patternProperties": {f"{CANARY}(": {}}},
    "bad id": asks(INTEGER, **{"$id": f"{CANARY} %"}),
    "bad bound": asks({"minimum": CANARY}),
    "long pattern": asks({"pattern": CANARY * 1_000}),
}
PAYLOAD: Final = [
    *("error", "errors", "message", "detail", "msg", "kind", "code", "type", "name", "reason", "status", "category"),
    *("retryable", "retry_after", "retryAfter", "retry_at", "retry_delay", "request_id", "trace_id", CANARY),
]
"""Members of an error's payload."""
HOLDERS: Final[dict[str, Callable[[Any], Any]]] = {
    "": lambda members: data(members, isError=True),
    "error.": lambda members: data({"error": members}, isError=True),
    "error.data.": lambda members: data({"error": {"data": members}}, isError=True),
    "detail.": lambda members: data({"detail": members}, isError=True),
    "text ": lambda members: said(json.dumps({"error": members}), isError=True),
}
"""Where they stand."""
IN_RESULT: Final[dict[str, Place]] = {
    "value": Place("value", asks(INTEGER), data({"a": CANARY})),
    "value that is excluded": Place("value", asks({"not": {"const": CANARY}}), data({"a": CANARY})),
    "value without a contract": Place("value", None, data({"a": CANARY})),
    "value that fits": Place("value", asks({"type": "string"}), data({"a": CANARY})),
    "value under a format": Place("value", asks({"type": "string", "format": "date"}), data({"a": CANARY})),
    "values": Place("value", asks({"items": INTEGER}), data({"a": [CANARY] * 50})),
    "value that is no object": Place("value", asks(INTEGER), data(CANARY), modern=True),
    "value beside other text": Place("value", OPEN, data({}, f'{{"{CANARY}": 1}}')),
    "text": Place("value", asks(INTEGER), said(CANARY)),
    "text that is JSON": Place("value", asks(INTEGER), said(f'{{"a": "{CANARY}"}}')),
    "text in a fence": Place("value", asks({"type": "string"}), said(f'```\n{{"a": "{CANARY}"}}\n```')),
    "text that fits as it is": Place("value", asks({"type": "string"}), said(CANARY)),
    "texts": Place("value", asks(INTEGER), said(CANARY, CANARY)),
    "text without a contract": Place("value", None, said(CANARY)),
    "undeclared name": Place("undeclared name", {**OPEN, "additionalProperties": INTEGER}, data({CANARY: "x"})),
    "name that is not allowed": Place("value", {**OPEN, "additionalProperties": False}, data({CANARY: 1})),
    "name below a name": Place(
        "undeclared name", asks({"items": {"additionalProperties": INTEGER}}), data({"a": [{CANARY: ""}]})
    ),
    "declared name": Place("declared name", {**OPEN, "properties": {CANARY: INTEGER}}, data({CANARY: "x"})),
    "required name": Place("declared name", {**OPEN, "required": [CANARY]}, data({})),
    "meta": Place("value", asks(INTEGER), data({"a": "x"}, _meta={CANARY: CANARY})),
    "unknown member": Place("value", asks(INTEGER), data({"a": "x"}, **{CANARY: CANARY})),
    "content": Place("value", None, {"content": CANARY}),
    "block": Place("value", None, {"content": [CANARY]}),
    "block type": Place("value", OPEN, data({}) | {"content": [{"type": CANARY, "text": CANARY}]}),
    "annotation": Place("value", asks(INTEGER), {"content": [{**text("x"), "annotations": {CANARY: CANARY}}]}),
    "link": Place("value", OPEN, {"content": [{"type": "resource_link", "uri": f"x://{CANARY}", "name": CANARY}]}),
    "error flag": Place("value", OPEN, data({}, isError=CANARY)),
    "result type": Place("value", OPEN, data({}, resultType=CANARY), modern=True),
    "state": Place("value", OPEN, {"resultType": "input_required", "requestState": CANARY}, modern=True),
    "too deep": Place("value", asks({}), frame(result=data({"a": DEEP})), lost=True),
    "not finite": Place("value", asks({}), frame(result=data({"a": [math.nan, CANARY]})), lost=True),
    "half a character": Place("value", asks({}), frame(result=data({"a": f"\ud800{CANARY}"})), lost=True),
    "version": Place("value", asks({}), frame(jsonrpc=CANARY, result={"content": [CANARY]}), lost=True),
    "both": Place(
        "data", asks({}), frame(result={"a": CANARY}, error={"code": 1, "message": "x", "data": CANARY}), lost=True
    ),
    "error without words": Place("data", asks({}), frame(error={"code": 1, "data": CANARY}), lost=True),
}
OF_PEER: Final[dict[str, Place]] = {
    "error text": Place("failure", OPEN, said(CANARY, isError=True)),
    "error texts": Place("failure", OPEN, said("x", CANARY, isError=True)),
    **{f"all of {at}": Place("failure", OPEN, make(dict.fromkeys(PAYLOAD, CANARY))) for at, make in HOLDERS.items()},
    **{
        f"{at}{member}": Place("failure", OPEN, make({member: CANARY}), called=False)
        for at, make in HOLDERS.items()
        for member in PAYLOAD
    },
    "message": Place("message", OPEN, Error(-32000, CANARY)),
    "data": Place("data", OPEN, Error(-32602, "no", {CANARY: CANARY})),
    "refused headers": Place("message", OPEN, Error(-32020, CANARY, CANARY)),
    "elicitation": Place("data", OPEN, Error(-32042, "x", {"elicitations": [{"url": f"https://{CANARY}"}]})),
    "forged timeout": Place("message", OPEN, Error(-32001, f"Timed out {CANARY}")),
    "forged loss": Place("message", OPEN, Error(-32000, f"Connection closed {CANARY}")),
}
IN_TOOL: Final[dict[str, Place]] = {
    "title": Place("schema", asks(INTEGER), WRONG, members={"title": CANARY}),
    "description": Place("schema", asks(INTEGER), WRONG, members={"description": CANARY}),
    "annotations": Place("schema", asks(INTEGER), WRONG, members={"annotations": {"title": CANARY}}),
    "meta of the tool": Place("schema", asks(INTEGER), WRONG, members={"_meta": {CANARY: CANARY}}),
    "icons": Place("schema", asks(INTEGER), WRONG, members={"icons": [{"src": f"https://{CANARY}.example/i.png"}]}),
}
OF_ARGUMENTS: Final[dict[str, tuple[str, Any, dict[str, Any]]]] = {
    "words": ("schema", asks({"const": 1, "description": CANARY}), {"a": 2}),
    "choice": ("choice", asks({"enum": [CANARY, 1]}), {"a": 2}),
    "pattern": ("schema", asks({"pattern": CANARY}), {"a": "x"}),
    "value": ("value", asks(INTEGER), {"a": CANARY}),
    "value that is sent": ("value", OPEN, {"a": CANARY}),
    "name": ("undeclared name", {**OPEN, "additionalProperties": INTEGER}, {CANARY: "x"}),
    "name that is not known": ("undeclared name", asks(INTEGER), {"a": 1, CANARY: 1}),
}
"""Row, inputSchema, arguments."""
TOOL_NAMES: Final[dict[str, Place]] = {
    "that is wrong": Place("tool name", asks(INTEGER), WRONG),
    "that errs": Place("tool name", OPEN, Error(-32000, "no")),
    "that fails": Place("tool name", OPEN, said("no", isError=True)),
    "that says nothing": Place("tool name", OPEN, NOTHING),
    "with bad arguments": Place("tool name", OPEN, arguments={"a": 2}, members={"inputSchema": asks({"const": 1})}),
    "with a bad contract": Place("tool name", asks({"$ref": "#/x"})),
    "that hangs up": Place("tool name", OPEN, HANG_UP),  # the last one, as the connection ends with it
}
PLACES: Final[dict[str, Place]] = {
    **{f"schema: {name}": Place("schema", schema, WRONG) for name, schema in IN_SCHEMA.items()},
    **IN_RESULT,
    **OF_PEER,
    **IN_TOOL,
    **{
        f"argument: {what}": Place(row, asks(INTEGER), WRONG, arguments, {"inputSchema": schema})
        for what, (row, schema, arguments) in OF_ARGUMENTS.items()
    },
    **{
        f"a tool {what}": dataclasses.replace(place, name=f"t{index}-{CANARY}")
        for index, (what, place) in enumerate(TOOL_NAMES.items())
    },
}
NAMES: Final = {what: place.name or f"t{index}" for index, (what, place) in enumerate(PLACES.items())}
"""The name of each place's tool."""


def definition(what: str) -> dict[str, Any]:
    """The tool of a place, as a server lists it."""
    place = PLACES[what]
    output = {} if place.output is None else {"outputSchema": place.output}
    return {"name": NAMES[what], "inputSchema": OPEN, **output, **place.members}


# --- the surfaces


def of_error(error: GuardError) -> Iterator[Text]:
    """All texts of an error."""
    kind = error.kind
    yield "shown", "str", str(error)
    yield "shown", "repr", repr([error])
    yield "shown", "args", repr(error.args)
    yield "shown", "to_dict", json.dumps(error.to_dict(), ensure_ascii=False)
    yield "shown", "explain", error.explain()
    chained = RuntimeError("of the caller's own")
    chained.__cause__ = error
    yield "shown", "traceback, its own and of what it caused", trace(chained)
    yield f"model of {kind}", "for_model", error.for_model()
    for name, each in (("pickle", error), ("pickle of a copy", copy.deepcopy(copy.copy(error)))):
        yield f"pickle of {kind}", name, pickle.dumps(each, 0).decode("latin-1")
    again: GuardError = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
    assert (again, str(again), again.for_model()) == (error, str(error), again.for_model())
    yield "caller", "explain(values=True)", error.explain(values=True)
    yield "caller", "attributes", repr({name: inside(each) for name, each in vars(error).items()})


def trace(error: BaseException) -> str:
    """The traceback of an exception, with all that it is chained to or made of."""
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def inside(fact: Any) -> Any:
    """A fact with all its fields, shown in its `repr` or not."""
    if isinstance(fact, tuple):
        return [inside(each) for each in fact]
    is_fact = dataclasses.is_dataclass(fact) and not isinstance(fact, BaseException)
    return {f.name: inside(getattr(fact, f.name)) for f in dataclasses.fields(fact)} if is_fact else fact


def of_verdict(verdict: Verdict) -> Iterator[Text]:
    """All texts of a verdict, and of the error that it amounts to."""
    yield "shown", "repr of a verdict", repr([verdict]) + str(verdict)
    for name in ("deviations", "violations", "problems", "failure", "reason", "detail"):
        yield "shown", f"repr of {name}", repr(getattr(verdict, name, None))
    yield "caller", "value", repr(inside(verdict))
    if (error := as_error(verdict, call_id="c")) is not None:
        yield from of_error(error)


def of_contract(contract: Contract | None) -> Iterator[Text]:
    """All texts of a contract."""
    if contract is not None:
        unusable = contract.unusable
        yield "shown", "repr of a contract", repr([contract, unusable]) + str(contract)
        yield "shown", "detail", "" if unusable is None else unusable.detail
        yield "caller", "definition", repr([contract.definition, inside(unusable)])


def of_change(change: Change) -> Iterator[Text]:
    """All texts of a change of a contract."""
    yield "shown", "change", f"{change} {change!r} {change.says} {change.describe()} {change.to_dict()}"


def of_record(record: Record) -> Iterator[Text]:
    """All texts of a record."""
    yield "shown", "repr of a record", repr([record]) + str(record)
    yield "shown", "to_dict of a record", json.dumps(record.to_dict(), ensure_ascii=False)
    yield "shown", "fields of a record", repr(inside(record))
    yield "shown", "pickle of a record", pickle.dumps(copy.deepcopy(record), 0).decode("latin-1")


def of_log(record: logging.LogRecord) -> Iterator[Text]:
    """All that a handler can take of a line of a log, whoever wrote it but the SDK itself."""
    if Path(mcp.__file__).parent not in Path(record.pathname).parents:
        yield "shown", f"log of {record.name}", f"{record.getMessage()} {vars(record)} {record.exc_info}"


class Records(list[Record]):
    """The records that a hook was told."""

    def __call__(self, record: Record) -> None:
        """Keep a record."""
        self.append(record)

    def texts(self) -> Iterator[Text]:
        """What they show, once."""
        for each in self:
            yield from of_record(each)
        self.clear()


class Told(Telling):
    """Spans and metrics."""

    def texts(self) -> Iterator[Text]:
        """What they show, once."""
        yield "shown", "spans and metrics", self.text()


class Fresh:
    """A ready hook, made anew whenever it was asked what it shows."""

    def __init__(self, make: Callable[[], Hook], shows: Callable[[Any], object]) -> None:
        self._make = make
        self._shows = shows
        self._hook = make()

    def __call__(self, record: Record) -> None:
        """Hand a record on."""
        self._hook(record)

    def texts(self) -> Iterator[Text]:
        """What it shows, once."""
        yield "shown", type(self._hook).__name__, f"{self._hook} {self._hook!r} {self._shows(self._hook)}"
        self._hook = self._make()


def audited(folder: Path) -> Fresh:
    """A file of records; another one each time."""
    numbers = count(len([*folder.iterdir()]) * 1_000)
    return Fresh(lambda: JsonlAudit(folder / f"{next(numbers)}.jsonl"), lambda audit: audit.path.read_text("utf-8"))


HOOKS: Final[dict[str, Callable[[Path], Any]]] = {
    "records": lambda _: Records(),
    "telemetry": lambda _: Told(),
    "tally": lambda _: Fresh(Tally, Tally.to_dict),
    "audit": audited,
    "logging": lambda _: Fresh(lambda: logging_hook(logger=logging.getLogger("canary")), repr),  # the log has its lines
}
"""What is told of calls: makes a hook whose `texts()` are what it shows of the calls since it was last asked."""


# --- looking


class Found(defaultdict[str, set[str]]):
    """Where the canary was found: of each row of `TABLE`, in which columns."""

    def __init__(self) -> None:
        super().__init__(set)

    def look(self, row: str, texts: Iterable[Text], what: str) -> None:
        """Look for the canary of a place that is in a row of `TABLE`."""
        where = {(column, surface) for column, surface, told in texts if CANARY in told}
        wrong = {each for each in where if TABLE[row].isdisjoint((each[0], each[0].partition(" of ")[0]))}
        assert not wrong, f"{what}: {row}"
        self[row] |= {column for column, _ in where} | {column.partition(" of ")[0] for column, _ in where}

    def is_all(self, *rows: str, but: str = "") -> None:
        """Make sure that the canary was found wherever it may be: else not finding it says nothing."""
        assert not {row: left for row in rows if (left := {c for c in TABLE[row] - self[row] if c != but})}


def test_every_place_has_the_canary() -> None:
    assert not [what for what, place in PLACES.items() if CANARY not in repr((place, NAMES[what], definition(what)))]


@pytest.mark.parametrize("policy", [ENFORCE, STRICT, OBSERVE], ids=["enforce", "strict", "observe"])
def test_a_check_shows_what_the_table_lets_it_show(policy: Policy) -> None:
    found = Found()
    for what, place in PLACES.items():
        contract = Contract.from_tool(definition(what))
        if not isinstance(place.answer, dict) or (policy is not ENFORCE and not place.called):
            continue
        for result in (place.answer, modelled(place.answer)):
            for given in (contract, None):
                verdict = check(result, given, protocol=MODERN if place.modern else LEGACY, policy=policy)
                found.look(place.row, [*of_verdict(verdict), *of_contract(given)], what)
    found.is_all("schema", "value", "declared name", "tool name", "failure")


def modelled(answer: dict[str, Any]) -> Any:
    """The SDK's own result made of an answer, where it takes that."""
    try:
        return mcp.types.CallToolResult.model_validate(answer)
    except ValueError:
        return answer


ROUNDS: Final[dict[str, Any]] = {"input_required_max_rounds": 1} if SDK_MAJOR == 2 else {}
WAYS: Final[list[tuple[str, Policy]]] = [("call", ENFORCE), ("call_tool", STRICT), ("judge", OBSERVE)]
KINDS: Final = {
    *("output_violation", "structured_missing", "malformed_result", "contract_unusable", "tool_error"),
    *("protocol_error", "invalid_arguments", "timeout", "connection_lost", "tool_unlisted"),
}
SOME: Final[dict[str, Callable[[Any, bool], bool]]] = {
    "unfinished_result": lambda _, modern: modern,
    "limit_exceeded": lambda door, _: door is connect,
}
"""The kinds of errors that come of the places; and those that come of them only sometimes."""


def described(*, modern: bool) -> dict[str, Any]:
    """A server with all places, that says the canary besides wherever nobody asked it."""
    hello = {
        **({"supportedVersions": [MODERN]} if modern else {"protocolVersion": LEGACY}),
        "serverInfo": {"name": CANARY, "title": CANARY, "version": CANARY},
        "capabilities": {"tools": {}, "experimental": {CANARY: {}}},
        "instructions": CANARY,
    }
    tools = [definition(what) for what, place in PLACES.items() if place.called and place.modern <= modern]
    half = len(tools) // 2
    fresh = {"ttlMs": 60_000, "cacheScope": "private"}

    def page(request: Any) -> Any:
        first = request.params.get("cursor") is None
        return {"tools": tools[:half], "nextCursor": CANARY, **fresh} if first else {"tools": tools[half:], **fresh}

    return {
        "modern": modern,
        "on": {"tools/list": page, "server/discover" if modern else "initialize": hello},
        "results": {NAMES[what]: place.answer for what, place in PLACES.items()},
    }


@asynccontextmanager
async def connected(door: Any, server: dict[str, Any], **guards: Any) -> AsyncGenerator[tuple[Any, RawServer], None]:
    """A guard through a door, and the server behind it."""
    options = {"client_options": ROUNDS} if door is raw_client else {}
    if door is not connect:
        async with door(**server, **options) as (target, peer):
            yield guard(target, **guards), peer
        return
    mode = {"mode": "auto" if server["modern"] else "legacy"} if SDK_MAJOR == 2 else {}
    peer = RawServer(**server)
    async with connect(raw_transport(peer), client_options={**ROUNDS, **mode}, **guards) as tools:
        yield tools, peer


@pytest.mark.parametrize("door", [*SESSIONS, connect], ids=lambda door: door.__name__)
async def test_a_call_shows_what_the_table_lets_it_show(
    door: Any, modern: bool, caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    found, kinds = Found(), set[str]()
    places = {w: p for w, p in PLACES.items() if p.called and p.modern <= modern and (door is connect or not p.lost)}
    for way, policy in WAYS[:2] if door is raw_client else WAYS:
        hooks = [make(tmp_path) for make in HOOKS.values()] if way == "call" else [Records()]
        async with connected(door, described(modern=modern), policy=policy, hooks=hooks, timeout=5) as (tools, server):
            for what, place in {"unlisted": Place("tool name", name=f"u-{CANARY}"), **places}.items():
                await server.notify("notifications/message", level="error", logger=CANARY, data=CANARY)
                texts = await made(tools, NAMES.get(what, place.name), place, way)
                texts += [each for hook in hooks for each in hook.texts()]
                texts += [each for record in caplog.records for each in of_log(record)]
                texts += [("shown", "warning", str(each.message)) for each in recwarn]
                found.look(place.row, texts, what)
                kinds |= {told for _, name, told in texts if name == "kind"}
                caplog.clear()
                recwarn.clear()
    found.is_all(*TABLE)
    assert kinds >= KINDS | {kind for kind, is_met in SOME.items() if is_met(door, modern)}


async def made(tools: Any, name: str, place: Place, way: str) -> list[Text]:
    """Make a call; the texts of what came of it."""
    texts: list[Text] = [("caller", "arguments", repr(place.arguments))]
    options = {"read_timeout_seconds" if way == "call_tool" else "timeout": 0.01} if place.answer is NOTHING else {}
    try:
        given = await getattr(tools, way)(name, place.arguments, **options)
    except GuardError as error:
        texts += [("shown", "kind", error.kind), *of_error(error), ("shown", "group", await grouped(error))]
    else:
        texts.append(("caller", "what came", repr(given)))
        if way == "judge":
            texts += [("shown", "repr of what was judged", repr(given)), *of_record(given.record)]
            texts += of_verdict(given.verdict)
    texts.append(("shown", "repr of a guard", repr(tools) + repr(tools.contracts)))
    return [*texts, *of_contract(tools.contracts.get(name))]


async def grouped(error: GuardError) -> str:
    """The traceback of the group that a task which raises an error ends in."""

    async def fail() -> None:
        raise error

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail)
    except BaseException as group:  # noqa: BLE001  # an ExceptionGroup, which 3.10 has not
        return trace(group)
    raise AssertionError


# --- what is not about one call


class Typed(BaseModel):
    """What a caller asks for."""

    a: int


@pytest.mark.parametrize(
    "row, value",
    [("value", {"a": CANARY}), ("value", {"a": 1, "b": CANARY}), ("declared name", {CANARY: "x", "a": 1})],
)
async def test_a_type_of_the_callers_shows_what_the_table_lets_it_show(row: str, value: Any) -> None:
    listed = {"name": "t", "inputSchema": OPEN, "outputSchema": {**OPEN, "properties": {CANARY: {}}}}
    async with raw_session(tools=[listed], results={"t": data(value)}) as (session, _):
        into: Any = Typed if row == "value" and "b" not in value else dict[str, int]
        with pytest.raises(GuardError) as caught:
            await guard(session).call("t", {}, into=into)
    assert caught.value.kind == "output_violation"
    found = Found()
    found.look(row, of_error(caught.value), "into")
    found.is_all(row, but="pickle")


def refuse(value: Any) -> Any:
    """A caller's function that quotes what it does not like."""
    raise ValueError(value)


@pytest.mark.parametrize(
    "row, items, page",
    [
        ("value", "hits", {"hits": CANARY}),
        ("value", "hits", {CANARY: CANARY}),
        ("value", "hits", {"hits": [CANARY], "next": CANARY}),
        ("value", refuse, {"hits": CANARY}),
    ],
)
async def test_a_page_shows_what_the_table_lets_it_show(row: str, items: Any, page: Any) -> None:
    async with raw_session(tools=[{"name": "t", "inputSchema": OPEN}], results={"t": data(page)}) as (session, _):
        pages = guard(session).paginate("t", {}, items=items, cursor="cursor", next_cursor="next")
        with pytest.raises(GuardError) as caught:
            assert not [item async for item in pages]
    found = Found()
    found.look(row, [*of_error(caught.value), ("shown", "repr of pages", repr(pages))], "page")
    found.is_all(row)


class Secret:
    """What can't be sent."""


UNSENDABLE: Final[dict[str, tuple[Any, str]]] = {
    "an object": ({"a": Secret(), "b": CANARY}, "unknown type: <class"),
    "bytes": ({"a": CANARY.encode() + b"\xff"}, "UnicodeDecodeError"),
}


@pytest.mark.parametrize("arguments, says", UNSENDABLE.values(), ids=UNSENDABLE)
async def test_arguments_that_are_no_json_are_not_quoted(arguments: Any, says: str) -> None:
    async with raw_session(tools=[{"name": "t", "inputSchema": OPEN}]) as (session, _):
        with pytest.raises(TypeError, match=says) as caught:
            await guard(session).call("t", arguments)
    Found().look("value", [("shown", "str", str(caught.value)), ("shown", "traceback", trace(caught.value))], says)


LISTINGS: Final[dict[str, tuple[str, Any]]] = {
    "error": ("message", Error(-32000, CANARY)),
    "error's data": ("data", Error(-32602, "x", {CANARY: CANARY})),
    "no list": ("value", {"tools": CANARY}),
    "no tools": ("value", {"tools": [CANARY, {"name": [CANARY], "inputSchema": {CANARY: 1}}]}),
    "no page": ("value", {CANARY: CANARY}),
    "an endless one": ("value", {"tools": [], "nextCursor": CANARY}),
}


@pytest.mark.parametrize("door", [*SESSIONS, connect], ids=lambda door: door.__name__)
@pytest.mark.parametrize("row, answer", LISTINGS.values(), ids=LISTINGS)
async def test_a_listing_shows_what_the_table_lets_it_show(
    door: Any, row: str, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server = {"on": {"tools/list": answer}, "results": {"t": data({})}, "modern": False}
    for way, policy in [*WAYS, ("refresh", ENFORCE)]:
        async with connected(door, server, policy=policy) as (tools, _):
            texts: list[Text] = []
            try:
                await (tools.refresh() if way == "refresh" else getattr(tools, way)("t", {}))
            except GuardError as error:
                texts = [*of_error(error)]
            texts += [each for record in caplog.records for each in of_log(record)]
            Found().look(row, [*texts, ("shown", "repr of contracts", repr(tools.contracts))], way)
            caplog.clear()


def contracts_of(*tools: dict[str, Any]) -> Contracts:
    """A set of contracts, as if it were listed."""
    contracts = Contracts()
    contracts.learn([Contract.from_tool(tool) for tool in tools])
    return contracts


DEFINED: Final = [what for what in PLACES if CANARY in repr(definition(what))]


@pytest.mark.parametrize("what", DEFINED)
async def test_a_changed_contract_shows_what_the_table_lets_it_show(what: str) -> None:
    place, now = PLACES[what], definition(what)
    before = {"name": now["name"], "inputSchema": asks(INTEGER), "outputSchema": asks({"type": "null"})}
    async with raw_session(tools=[now]) as (session, _):
        with pytest.raises(GuardError) as caught:
            await guard(session, pins=contracts_of(before)).call(now["name"], {})
    assert caught.value.kind == "contract_changed"
    old, new = contracts_of(before), contracts_of(now)
    changes = [*old.diff(new), *new.diff(old), *contracts_of().diff(new)]
    texts = [*of_error(caught.value), *(each for change in changes for each in of_change(change))]
    # the names that a definition declares may be said, and the tool's; nothing else of it
    Found().look("tool name" if place.row in {"declared name", "tool name"} else "value", texts, what)


def test_a_lock_file_that_is_refused_is_not_quoted(tmp_path: Path) -> None:
    for index, what in enumerate(DEFINED):
        path = tmp_path / f"{index}.lock"
        contracts_of(definition(what)).save(path)
        written = path.read_text("utf-8")
        for spoilt in (written.replace(CANARY, f"{CANARY}!", 1), written.replace('"', CANARY, 5), f"{CANARY}{written}"):
            path.write_text(spoilt, "utf-8")
            try:
                Contracts.load(path)
            except ValueError as error:
                row = "tool name" if PLACES[what].row == "tool name" else "value"
                Found().look(row, [("shown", "str", str(error)), ("shown", "traceback", trace(error))], what)
