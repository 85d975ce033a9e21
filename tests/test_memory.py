"""What lives longer than a call is bounded, by entries and by bytes; and a large result is not copied.

`KEPT` is the inventory of what lives longer than a call. Each test feeds a hundred times what is kept, or looks at what
was allocated: nothing here depends on time.
"""

from __future__ import annotations

import ast
import gc
import json
import logging
import tracemalloc
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_guard import (
    ENFORCE,
    OBSERVE,
    STRICT,
    Conforming,
    Contract,
    Contracts,
    Limits,
    Policy,
    Unenforceable,
    Violating,
    _applying,
    check,
    connect,
    guard,
)
from mcp_guard import _judge as of_judge
from mcp_guard import _listing as of_listing
from mcp_guard import _wire as of_wire
from mcp_guard._judge import Judge
from mcp_guard._kept import ROOM
from mcp_guard._log import Voice
from mcp_guard._nodes import Documents, Node
from mcp_guard._patterns import cost_of
from mcp_guard._schema import CompiledSchema
from mcp_guard._sdk.choose import sdk
from mcp_guard._sdk.hook import _HOOKS
from mcp_guard._verdict import as_error
from mcp_guard._wire import Tap
from support import SESSIONS, Line, RawServer, raw_session, raw_transport, tool
from support.calls import N, data, said

PACKAGE: Final = Path(__file__).parents[1] / "src" / "mcp_guard"


def inside(owner: object, *names: str) -> Any:
    """What an object keeps for itself."""
    for name in names:
        owner = getattr(owner, name)
    return owner


# --- contracts and what is made of them


def described(words: int) -> dict[str, Any]:
    """A schema of so many properties, about a hundred characters each."""
    return {"type": "object", "properties": {f"p{i}": {"type": "integer", "title": "x" * 60} for i in range(words)}}


def compiled(contracts: Contracts) -> list[Contract]:
    """Those of the contracts that hold something compiled."""
    return [
        each for each in contracts if CompiledSchema in {type(inside(each, "_output")), type(inside(each, "_input"))}
    ]


def test_a_set_of_contracts_keeps_no_more_compiled_than_there_is_room_for() -> None:
    contracts = Contracts()
    schema = described(200)
    tools = [tool(f"t{index}", schema, inputSchema=schema, description=str(index)) for index in range(120)]
    contracts.learn(Contract.from_tool(each, defer=True) for each in tools)
    made = 0
    for contract in contracts:
        assert contract.output is not None
        assert contract.input is not None
        made += contract.held
        assert sum(each.held for each in compiled(contracts)) <= ROOM
    assert made > ROOM
    assert compiled(contracts)
    first = next(iter(contracts))
    assert isinstance(check(data({"p0": 1}), first), Conforming)
    assert isinstance(check(data({"p0": "x"}), first), Violating)
    assert first in compiled(contracts)


@pytest.mark.parametrize("pattern", [r"\p{Lu}\p{L}{150}%d", r"(?=[a-z])\p{L}{150}%d"], ids=["automaton", "look-ahead"])
def test_what_counts_is_the_memory_that_is_held_not_the_length_of_the_schema(pattern: str) -> None:
    contracts = Contracts()
    texts = [{"properties": {"t": {"type": "string", "pattern": pattern % index}}} for index in range(10)]
    contracts.learn(Contract.from_tool(tool(f"t{index}", text), defer=True) for index, text in enumerate(texts))
    made = 0
    for contract in contracts:
        assert contract.output is not None
        assert contract.size < 300
        made += contract.held
    assert made > ROOM
    assert 0 < sum(each.held for each in compiled(contracts)) <= ROOM


def test_what_is_compiled_later_counts_too() -> None:
    contracts = Contracts()
    contracts.learn([Contract.from_tool(tool("t", {"type": "object"}, inputSchema=described(200)), defer=True)])
    contract = contracts["t"]
    for part in (contract.output, contract.input):
        assert part is not None
        assert [size for _, size in inside(contracts, "_kept", "_used").values()] == [contract.held]


def test_what_is_used_again_and_again_stays_compiled() -> None:
    contracts = Contracts()
    contracts.learn([Contract.from_tool(tool(f"t{index}", described(200)), defer=True) for index in range(200)])
    used = contracts["t0"]
    made = used.output
    for contract in contracts:
        assert contract.output is not None
        assert used.output is made


def test_a_listing_that_is_read_again_and_again_leaves_nothing_behind() -> None:
    contracts = Contracts()
    for nth in range(100):
        contracts.learn([Contract.from_tool(tool("t", described(200), title=str(nth)))])
        assert len(contracts) == 1
    assert sum(size for _, size in inside(contracts, "_kept", "_used").values()) <= ROOM


def deciders(schema: dict[str, Any]) -> CompiledSchema:
    made = Contract("t", schema).output
    assert made is not None
    return made


def test_a_contract_keeps_a_few_engines_whatever_the_values() -> None:
    made = deciders({"properties": {"a": {"pattern": "(?=a)a", "format": "date"}}})
    contract = Contract("t", made.schema)
    for power in range(2, 7):
        for policy in (ENFORCE, STRICT):
            for value in ({"a": "a" * 10**power}, {"a": "b" * 10**power}):
                check(data(value), contract, policy=policy)
    assert contract.output is not None
    assert len(inside(contract.output, "_deciders")) <= 4


def ring(length: int) -> dict[str, Any]:
    """A schema in which each definition leads to all others."""
    roots = {f"r{i}": {"$ref": f"#/$defs/x{i * 10}"} for i in range(length // 10)}
    parts: dict[str, Any] = {
        f"x{i}": {
            "type": "object",
            "properties": {"c": {"$ref": f"#/$defs/x{(i + 1) % length}"}, "v": {"type": "integer"}},
            "required": ["v"],
        }
        for i in range(length)
    }
    return {"type": "object", "properties": roots, "$defs": parts}


def deep(levels: int, inner: Any) -> Any:
    for _ in range(levels):
        inner = {"c": inner, "v": 1}
    return inner


def test_an_explanation_leaves_little_behind() -> None:
    schema = ring(60)
    contract = Contract("t", schema)
    for nth in range(20):
        value = {name: deep(30 + nth % 10, {"v": "x"}) for name in schema["properties"]}
        assert isinstance(check(data(value), contract), Violating)
    gc.collect()
    assert sum(isinstance(each, Node) for each in gc.get_objects()) < 3_000
    made = contract.output
    assert made is not None
    kept = inside(made, "_explainer", "_documents").values()
    assert all(isinstance(each, Documents) and each.is_small for each in kept)


def test_an_estimate_keeps_so_many_states_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_applying, "_KEPT_NODES", 100)
    parts = {f"x{i}": {"properties": {"v": {"type": "integer"}}} for i in range(40)}
    names = {
        f"p{i}": {"allOf": [{"$ref": f"#/$defs/x{i % 40}"}, {"pattern": f"(?=a){i}"}, {"maxLength": i}]}
        for i in range(90)
    }
    contract = Contract("t", {"properties": names, "$defs": parts})
    assert contract.unusable is None
    for nth in range(300):
        check(data({f"p{nth % 90}": "a", f"p{nth // 4}": {"v": 1}}), contract)
    states = inside(contract.output, "estimator", "_applying", "_states").values()
    assert states
    assert sum(len(found) for _, found in states) <= 100


def test_the_costs_of_patterns_are_kept_for_some_patterns_of_bounded_length() -> None:
    cost_of.cache_clear()
    for nth in range(51_200):
        cost_of(f"a{nth}")
    assert cost_of.cache_info().currsize == 512
    cost_of.cache_clear()
    longer = Limits().pattern_length + 1
    contract = Contract("t", {"properties": {"a": {"pattern": "a" * longer}}, "patternProperties": {"b" * longer: {}}})
    assert contract.unusable is not None
    assert cost_of.cache_info().currsize == 0


LEAVES: Final = [{"type": "string"}, {"enum": ["x" * 50] * 20}, {"$defs": {"a": {"enum": [*range(20)]}}}]


@pytest.mark.parametrize("leaf", LEAVES, ids=["type", "enum", "$defs"])
def test_a_schema_that_the_engine_would_copy_again_and_again_is_refused(leaf: Any) -> None:
    def chains(number: int, length: int) -> dict[str, Any]:
        schema: dict[str, Any] = leaf
        for _ in range(length):
            schema = {"not": schema}
        return {"properties": {f"p{i}": schema for i in range(number)}}

    refused = check(data({}), Contract("t", chains(20, 190)))
    assert isinstance(refused, Unenforceable)
    assert refused.detail.startswith("values under not: 100000 are allowed, found ")
    assert isinstance(check(data({}), Contract("t", chains(10, 30))), Conforming)


# --- what a guard remembers


def test_what_was_said_is_remembered_for_some_things_of_bounded_length(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    voice = Voice(lambda: 0.0)
    for nth in range(100_000):
        voice.say(logging.INFO, ("t" * 1_000, f"{nth}" + "x" * 1_000), "x")
    keys = [*inside(voice, "_said")]
    assert len(keys) <= 1_000
    assert sum(len(part) for key in keys for part in key) <= 500_000


async def test_names_of_tools_that_are_not_there_are_remembered_for_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_listing, "_ABSENT_KEPT", 10)
    now = 0.0
    async with raw_session(tools=[tool("t")]) as (session, server):
        tools = guard(session, policy=OBSERVE)
        listing = inside(tools, "_listing")
        monkeypatch.setattr(listing, "_clock", lambda: now)
        absent = inside(listing, "_absent")
        for nth in range(1_000):
            now += 60
            assert await listing.ensure(f"{nth}") is None
        assert 0 < len(absent) <= 10
        now += 60
        await listing.ensure("x" * 1_000_000)
        assert not absent
        assert server.counts["tools/list"] > 1_000


def test_differences_from_pins_are_remembered_for_some_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_judge, "_DRIFTS_KEPT", 10)
    pins, contracts = Contracts(), Contracts()
    pins.learn([Contract(f"t{nth}", N) for nth in range(1_000)])
    contracts.learn([Contract(f"t{nth}", described(1)) for nth in range(1_000)])
    judge = Judge(pins=pins, contracts=contracts, clock=lambda: 0.0)
    for nth in range(1_000):
        assert judge.drift(f"t{nth}")
    assert len(inside(judge, "_drift")) <= 10


async def test_requests_that_are_never_answered_are_remembered_for_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_wire, "_PENDING", 10)
    tap = Tap(sdk(), Limits())
    for nth in range(1_000):
        tap.sent(sdk().to_message({"jsonrpc": "2.0", "id": nth, "method": "tools/list"}))
    assert len(inside(tap, "_pending")) == 10
    with tap.hearing("tools/call", "t"):
        for nth in range(1_000):
            frame = {"jsonrpc": "2.0", "id": nth, "method": "tools/call", "params": {"name": "t"}}
            tap.sent(sdk().to_message(frame))
        assert len(inside(tap, "_pending")) == 10
    assert not inside(tap, "_asking")


@pytest.mark.parametrize("door", [*SESSIONS, connect], ids=lambda door: door.__name__)
async def test_calls_and_notifications_leave_nothing_in_a_guard(door: Any) -> None:
    server = RawServer(tools=[tool("t", N)], results={"t": data({"n": "x"})})
    same = {"tools": server.tools, "results": server.results}
    opening: Any = connect(raw_transport(server)) if door is connect else door(**same)
    async with opening as opened:
        tools, peer = (opened, server) if door is connect else (guard(opened[0]), opened[1])
        sizes: list[int] = []
        for _ in range(3):
            for nth in range(100):
                await peer.notify("notifications/message", level="error", data=f"{nth}" * 1_000)
                await tools.judge("t", {"a": nth})
            gc.collect()
            sizes.append(held_by(tools))
        assert sizes[2] <= sizes[1] + 10
        assert not _HOOKS


def held_by(root: object) -> int:
    """How many values the objects of this package hold that can be reached from one of them."""
    seen, todo, count = {id(root)}, [root], 0
    while todo:
        for each in gc.get_referents(todo.pop()):
            ours = type(each).__module__.startswith("mcp_guard") or isinstance(each, (dict, list, set, tuple))
            if ours and id(each) not in seen and not isinstance(each, type):
                seen.add(id(each))
                todo.append(each)
                count += 1 + (len(each) if isinstance(each, (dict, list, set)) else 0)
    return count


# --- a large result


ROWS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "rows": {"items": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
    },
    "required": ["rows"],
}


def rows(number: int, last: Any = 1) -> dict[str, Any]:
    """About a hundred characters of JSON for each."""
    made: list[dict[str, Any]] = [{"id": nth, "name": "n" * 60, "share": nth / 7} for nth in range(number)]
    return {"rows": [*made, {"id": last}]}


LARGE: Final[dict[str, tuple[Callable[[], Any], float]]] = {
    # a walk holds the values of one level at a time
    "many rows": (lambda: data(rows(20_000)), 0.5),
    "a wrong row": (lambda: data(rows(20_000, "x")), 0.5),
    "numbers": (lambda: data({"rows": [], "numbers": [*range(1_000, 150_000)]}), 0.5),
    "too many values": (lambda: data({"rows": [], "nulls": [None] * 600_000}), 0.1),
    "a text": (lambda: data({"rows": [], "text": "x" * 5_000_000}), 0.1),
    "a wrong text": (lambda: data({"rows": "x" * 5_000_000}), 0.1),
    "an error": (lambda: said("x" * 5_000_000, isError=True), 0.1),
    "a text that is no JSON": (lambda: said("x" * 5_000_000), 0.1),
    # what is read from it is new
    "a text that is JSON": (lambda: said(json.dumps({"rows": [], "text": "x" * 5_000_000})), 1.1),
    "a text beside the same": (
        lambda: data({"rows": [], "text": "x" * 3_000_000}, json.dumps({"rows": [], "text": "x" * 3_000_000})),
        0.6,
    ),
}
"""A result, and what of its size may be allocated while it is looked at."""


@pytest.mark.parametrize("make, most", LARGE.values(), ids=LARGE)
@pytest.mark.parametrize("policy", [ENFORCE, STRICT], ids=["enforce", "strict"])
def test_a_check_copies_no_large_result(make: Callable[[], Any], most: float, policy: Policy) -> None:
    contract = Contract("t", ROWS)
    for small in (data(rows(1)), data(rows(1, "x")), said("x"), said('{"rows": []}'), data({}, "{}")):
        repr(as_error(check(small, contract, policy=policy)))  # whatever is loaded, or made once
    with traced() as memory:
        result = make()
        size = memory.kept()
        memory.reset()
        verdict = check(result, contract, policy=policy)
        error = as_error(verdict)
        for _ in () if error is None else (str(error), error.to_dict(), error.for_model(), error.explain(values=True)):
            pass
        assert size > 4_500_000
        assert memory.peak() <= most * size


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("what", ["rows", "text"])
@pytest.mark.parametrize("door", [*SESSIONS, connect], ids=lambda door: door.__name__)
async def test_a_guarded_call_needs_hardly_more_memory_than_a_bare_one(
    door: Any, what: str, anyio_backend: str
) -> None:
    assert anyio_backend == "asyncio"
    value = rows(10_000) if what == "rows" else {"rows": [], "text": "x" * 5_000_000}
    frame = json.dumps({"jsonrpc": "2.0", "id": "ID", "result": data(value)}).replace('"ID"', "@@ID@@")
    results = {"large": Line(frame), "small": data(rows(1))}
    # the SDK's own check would need more than the guard's: a bare tool has no contract
    bare = [tool("large"), tool("small")]
    listed = [tool("large", ROWS), tool("small", ROWS)]
    async with (raw_session if door is connect else door)(tools=bare, results=results) as (target, _):
        without = await peak_of(target.call_tool)
    if door is connect:
        async with connect(raw_transport(RawServer(tools=listed, results=results))) as tools:
            peaks = [await peak_of(tools.call), await peak_of(tools.call_tool)]
    else:
        async with door(tools=listed, results=results) as (target, _):
            tools = guard(target)
            peaks = [await peak_of(tools.call), await peak_of(tools.call_tool)]
    assert without > len(frame)
    assert max(peaks) - without <= 0.2 * len(frame)


async def peak_of(call: Callable[..., Any]) -> int:
    """The most memory that is needed at a time by a call with a large result."""
    for _ in range(2):
        await call("small", {})
    with traced() as memory:
        await call("large", {})
        return memory.peak()


class Memory:
    """What Python allocated since `reset`, in bytes."""

    def reset(self) -> None:
        """Begin to count."""
        gc.collect()
        tracemalloc.reset_peak()
        self._before, _ = tracemalloc.get_traced_memory()

    def kept(self) -> int:
        """What is still there."""
        return tracemalloc.get_traced_memory()[0] - self._before

    def peak(self) -> int:
        """The most that was there at a time."""
        return tracemalloc.get_traced_memory()[1] - self._before


@contextmanager
def traced() -> Generator[Memory]:
    """While this is open, allocations are counted."""
    tracemalloc.start()
    try:
        memory = Memory()
        memory.reset()
        yield memory
    finally:
        tracemalloc.stop()


# --- the inventory

SHORT: Final = {
    *("_drift:_Walk", "_documents:Documents", "_explain:_Walk", "_references:_Walk", "_verifying:_Walk"),
    *("_effort:_Look", "_look:Look", "_purse:Purse"),
    *("_listing:Walked", "_wire:Heard", "_pages:Pages", "_pages:_Seen"),
}
"""What is gone with the call, the listing, the schema, the file, the loop or the connection that it was made for."""
KEPT: Final = {
    "_audit:JsonlAudit._calls": "calls under way",
    "_budget:_Scope": "the calls of one scope, which its `attempts` bound",
    "_applying:Applying._alone": "`Limits.subschemas`, and references in a chain",
    "_applying:Applying._down": "`Limits.subschemas`",
    "_applying:Applying._marked": "`Limits.subschemas`, and references in a chain",
    "_applying:Applying._recursive": "`Limits.subschemas`",
    "_applying:Applying._states": "states, and nodes in them",
    "_applying:Applying.roles": "`Limits.subschemas`",
    "_explain:Explainer._documents": "two, if they are small",
    "_install:_INSTALLED": "one, installed by the caller",
    "_install:_Installation": "the caller's, and the classes that it patches",
    "_json:_from_json": "one function",
    "_judge:Judge._drift": "tools; each difference is short, and there are few of one tool",
    "_judge:Judge._overrides": "the caller's",
    "_kept:Kept._used": "bytes of what is compiled",
    "_lines:Lines._lines": "what the SDK's transport has read and not handed over",
    "_lines:Lines._rest": "the same",
    "_listing:Listing._absent": "names, and their length",
    "_listing:Listing._doubted": "two reasons",
    "_log:Voice._said": "things, and their length",
    "_log:say_once": "one text",
    "_nodes:Documents": "`Limits.explanation_steps`; closed where it is not small",
    "_nodes:Node": "the same",
    "_otel:OtelHook._recorded": "calls under way",
    "_patterns:cost_of": "patterns, and `Limits.pattern_length`",
    "_references:Node": "`Limits.schema_bytes`",
    "_remote:RemoteRefs._fetches": "those of a minute, of which there may be so many",
    "_remote:RemoteRefs._kept": "documents, and their size",
    "_remote:RemoteRefs._prefixes": "the caller's",
    "_remote:_UNDER_WAY": "fetches under way",
    "_schema:CompiledSchema._deciders": "four",
    "_roles:Role.properties": "`Limits.schema_bytes`",
    "_sdk.hook:Hook._active": "calls under way",
    "_sdk.hook:Hook._own": "two methods",
    "_sdk.hook:_HOOKS": "sessions with calls under way",
    "_specifications:_specification": "five dialects",
    "_tally:Tally._tools": "tools, and their kinds of error",
    "_tally:_OfTool": "kinds of error",
    "_wire:Tap._asking": "calls under way",
    "_wire:Tap._pending": "requests",
    "doors.openai_agents:_Calls._options": "the caller's",
    "contracts:Contracts._listed": "`Limits.tools` and `Limits.listing_bytes`, for each server of the caller's",
    "contracts:Contracts._registered": "the caller's",
    "contracts:Contracts._until": "the caller's servers",
}
"""Every container that lives longer than a call, and what bounds it. What a class has in all its fields alike stands
there once."""
CONTAINERS: Final = {"dict", "list", "set", "deque", "OrderedDict", "Counter", "defaultdict", "RunVar"}


def test_every_container_that_lives_longer_than_a_call_is_in_the_inventory() -> None:
    found = {name for path in PACKAGE.rglob("*.py") for name in containers(path)}
    places = {name for name in found if name.partition(".")[0] not in SHORT and holder(name) not in SHORT}
    unknown = {name for name in places if name not in KEPT and holder(name) not in KEPT}
    assert not unknown, "say in KEPT what bounds these, or in SHORT that their owner is soon gone"
    assert not {name for name in (*KEPT, *SHORT) if not any(each.startswith(name) for each in found)}, "gone"


def holder(name: str) -> str:
    """The class in a container's name."""
    return name.rpartition(".")[0]


def containers(path: Path) -> Iterator[str]:
    """What a module keeps in modules' and objects' attributes: containers that are not written out, and caches."""
    module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    if module.startswith(("testing", "cli")):
        return
    tree = ast.parse(path.read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and is_container(node.value, full=False):
            yield f"{module}:{called(node.targets[0] if isinstance(node, ast.Assign) else node.target)}"
    for function in (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)):
        if {"cache", "lru_cache"} & {*map(called, function.decorator_list)}:
            yield f"{module}:{function.name}"
    for owner in (each for each in ast.walk(tree) if isinstance(each, ast.ClassDef)):
        for part in (each for each in ast.walk(owner) if isinstance(each, (ast.Assign, ast.AnnAssign))):
            target = part.targets[0] if isinstance(part, ast.Assign) else part.target
            of_self = isinstance(target, ast.Attribute) and called(target.value) == "self"
            made = isinstance(part.value, ast.Call) and any(k.arg == "default_factory" for k in part.value.keywords)
            if made or (of_self and is_container(part.value, full=True)):
                yield f"{module}:{owner.name}.{called(target)}"


def is_container(value: ast.expr | None, *, full: bool) -> bool:
    """Whether this makes a container; `full`: also one that is written out."""
    if isinstance(value, (ast.DictComp, ast.ListComp, ast.SetComp)):
        return full
    if isinstance(value, (ast.Dict, ast.List, ast.Set)):
        return full or not (value.keys if isinstance(value, ast.Dict) else value.elts)
    if isinstance(value, ast.Call) and value.args and called(value) != "RunVar":
        return False  # a copy of what the caller gave
    maker = value.func if isinstance(value, ast.Call) else None
    maker = maker.value if isinstance(maker, ast.Subscript) else maker
    return isinstance(maker, ast.Name) and maker.id in CONTAINERS


def called(node: ast.expr) -> str:
    """The last word of a name, whatever it is called with."""
    while isinstance(node, (ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
