"""`judge`: judges the lines of recordings and audit files, streaming. Pure: no I/O, no clock, no chance.

What comes of a line does not depend on the lines beside it, so that they may be judged anywhere, and the summaries be
put together in any order.
"""

from __future__ import annotations

import marshal
import re
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeAlias

from mcp_guard import _words
from mcp_guard._check import check
from mcp_guard._contract import Contract
from mcp_guard._decision import decide
from mcp_guard._facts import is_object
from mcp_guard._kept import Kept
from mcp_guard._record import Record
from mcp_guard._verdict import Conforming, Verdict, Violating
from mcp_guard.contracts import Contracts
from mcp_guard.policy import ENFORCE, Policy
from mcp_guard.testing.faults import FAULTS, Good, NotApplicableError
from mcp_guard.testing.recorded import Place, Recorded, read
from mcp_guard.testing.sketch import Sketch, bucket_of
from mcp_guard.testing.summary import (
    GRADED,
    GROUPS_KEPT,
    PLACES_KEPT,
    TOOLS_KEPT,
    VIOLATIONS_KEPT,
    Fault,
    Graded,
    Group,
    Seen,
    Summary,
    Tool,
    earlier,
    fault_order,
    first_graded,
    first_places,
    group_order,
    least,
    tool_order,
)

_CONTRACTS_KEPT: Final = 2_000
_GRADED_BYTES: Final = 64_000
"""Of a line whose result is corrupted: as many results as there are tools are held at a time."""
_name: Final = _words.name
_INDEX: Final = re.compile(r"/\d+(?=/|$)")
_CORRUPTIONS: Final = [f for f in FAULTS.values() if f.kind == "data" and f.name not in {"deep", "huge"}]
NO_RESULT: Final = "NoResult"

Line: TypeAlias = "bytes | str | tuple[Place, bytes | str | None]"
"""A line, alone or with its place; `None` for one that can't be read."""


class Judged(NamedTuple):
    """What is told of a result that broke its contract."""

    place: Place | None
    verdict: str
    error: str
    violations: tuple[tuple[str, str], ...]
    """Pointers, as they may be shown, and keywords."""


Told: TypeAlias = Callable[["bytes | str", Judged], None]


def judge(lines: Iterable[Line], contracts: Contracts | None = None, policy: Policy = ENFORCE) -> Summary:
    """Judge the lines of recordings. Those of an audit file have no result: what was found then is counted as it is.

    Args:
        lines: Lines as bytes or text. One with a place is ``(Place(path, number), line)``: only of such lines can the
            summary say where something is, and grade schemas by corrupting good results.
        contracts: What to hold the results against: looked up by the line's server and tool, and else by the tool
            alone. `None`: the definition that stands in each line.
        policy: What counts as a break.
    """
    return Judging(contracts, policy).summary(lines)


class Judging:
    """Judges lines, and keeps what can be used again: the compiled contracts. For one thread at a time."""

    def __init__(self, contracts: Contracts | None, policy: Policy) -> None:
        self._contracts = contracts
        self._policy = policy
        self._made: OrderedDict[bytes, Contract] = OrderedDict()
        self._kept = Kept()

    def summary(self, lines: Iterable[Line], told: Told | None = None) -> Summary:
        """The summary of some lines, the same whatever was judged before. `told` of each that broke its contract."""
        found = _Found()
        for each in lines:
            place, line = each if isinstance(each, tuple) else (None, each)
            try:
                entry = None if line is None else read(line)
            except ValueError:  # UnicodeDecodeError and JSONDecodeError are some
                entry = None
            if line is None or entry is None:
                found.add_broken(place)
                continue
            judged = (
                _audited(entry, place, found)
                if isinstance(entry, Record)
                else self._judged(entry, place, found, small=len(line) <= _GRADED_BYTES)
            )
            if told is not None and judged.error not in {"", "tool_error"}:
                told(line, judged)
        return found.summary()

    def _judged(self, recorded: Recorded, place: Place | None, found: _Found, *, small: bool) -> Judged:
        tool = Tool(_name(recorded.server), _name(recorded.tool["name"]))
        found.add_amounts(tool, recorded.result_bytes, recorded.ms_wire)
        if not recorded.has_result:
            return found.add(Group(*tool, "", recorded.day, NO_RESULT, ""), place)
        contract = self._contract(recorded)
        verdict = check(recorded.result, contract, protocol=recorded.protocol, policy=self._policy)
        decision = decide(verdict, self._policy, contract)
        error = decision.error.kind if decision.action == "raise" and decision.error is not None else ""
        mark = "" if contract is None else contract.fingerprint[:12]
        if contract is not None and place is not None and small:
            found.add_good(tool, contract, verdict, place)
        violations = verdict.violations if isinstance(verdict, Violating) else ()
        group = Group(*tool, mark, recorded.day, type(verdict).__name__, error)
        return found.add(group, place, ((v.shown, v.keyword) for v in violations))

    def _contract(self, recorded: Recorded) -> Contract | None:
        name = recorded.tool["name"]
        if self._contracts is not None:
            return self._contracts.get(name, server=recorded.server) or self._contracts.get(name)
        if not recorded.listed:
            return None
        try:
            key = marshal.dumps(recorded.tool, 2)  # of what there is to tell JSON apart by, the quickest
        except ValueError:  # nested deeper than it goes; a contract has its own bounds
            return Contract.from_tool(recorded.tool, limits=self._policy.limits)
        if (contract := self._made.get(key)) is None:
            contract = self._made[key] = Contract.from_tool(recorded.tool, limits=self._policy.limits)
            contract.keep_in(self._kept)
            if len(self._made) > _CONTRACTS_KEPT:
                self._made.popitem(last=False)
        return contract


def _audited(record: Record, place: Place | None, found: _Found) -> Judged:
    tool = Tool(_name(record.server or ""), _name(record.tool))
    found.add_amounts(tool, record.result_bytes, record.ms_wire)
    day = record.time.date().isoformat()
    mark = _name((record.fingerprint or "")[:12])
    if record.verdict is None:
        return found.add(Group(*tool, mark, day, NO_RESULT, ""), place)
    group = Group(*tool, mark, day, _name(record.verdict), _name(record.error or ""))
    return found.add(group, place, ((_words.line(v.pointer), _name(v.keyword)) for v in record.violations))


class _Found:
    """A summary in the making: the same rules, and twice the room, so that there is seldom something to sort out."""

    def __init__(self) -> None:
        self._total = self._breaks = self._violating = self._broken = 0
        self._results: Counter[Group] = Counter()
        self._violations: dict[Fault, Seen] = {}
        self._sizes: dict[Tool, Counter[int]] = {}
        self._times: dict[Tool, Counter[int]] = {}
        self._good: dict[Tool, list[tuple[int, Contract, Any]]] = {}
        self._broken_at: list[Place] = []

    def add(self, group: Group, place: Place | None, violations: Iterable[tuple[str, str]] = ()) -> Judged:
        """Count one result."""
        self._total += 1
        self._breaks += bool(group.error)
        self._results[group] += 1
        if len(self._results) > 2 * GROUPS_KEPT:
            self._results = Counter(least(self._results, GROUPS_KEPT, group_order))
        different = {(_INDEX.sub("/*", pointer), keyword) for pointer, keyword in violations}
        for pointer, keyword in different:
            fault = Fault(group.server, group.tool, pointer, keyword)
            number, example = self._violations.get(fault, (0, None))
            self._violations[fault] = Seen(number + 1, earlier(example, place))
        self._violating += len(different)
        if len(self._violations) > 2 * VIOLATIONS_KEPT:
            self._violations = dict(least(self._violations, VIOLATIONS_KEPT, fault_order))
        return Judged(place, group.verdict, group.error, tuple(sorted(different)))

    def add_amounts(self, tool: Tool, size: int | None, took: float | None) -> None:
        """Take note of the size of a result, and of the time that it took."""
        if size is not None:
            self._sizes = self._noted(self._sizes, tool, size)
        if took is not None:
            self._times = self._noted(self._times, tool, took)

    @staticmethod
    def _noted(sketches: dict[Tool, Counter[int]], tool: Tool, value: float) -> dict[Tool, Counter[int]]:
        if tool not in sketches:
            sketches[tool] = Counter()
        sketches[tool][bucket_of(value)] += 1
        return dict(least(sketches, TOOLS_KEPT, tool_order)) if len(sketches) > 2 * TOOLS_KEPT else sketches

    def add_good(self, tool: Tool, contract: Contract, verdict: Verdict, place: Place) -> None:
        """Keep a good result to corrupt it in the end, if it is one of those whose places have the lowest marks."""
        if contract.output is None or not isinstance(verdict, Conforming) or not is_object(verdict.value):
            return
        # nothing of the line itself: a hash of it would let who has a guess at the data confirm that
        mark = zlib.crc32(str(place).encode("utf-8", "surrogatepass"))
        kept = self._good.setdefault(tool, [])
        if len(kept) >= GRADED and mark > kept[GRADED - 1][0]:
            return
        kept.append((mark, contract, verdict.value))
        kept.sort(key=lambda each: each[0])
        while len(kept) > GRADED and kept[-1][0] > kept[GRADED - 1][0]:  # of equal marks none is better
            kept.pop()
        if len(self._good) > 2 * TOOLS_KEPT:
            self._good = dict(least(self._good, TOOLS_KEPT, tool_order))

    def add_broken(self, place: Place | None) -> None:
        """Count a line that is none."""
        self._broken += 1
        if place is not None:
            self._broken_at.append(place)
            if len(self._broken_at) > 2 * PLACES_KEPT:
                self._broken_at = list(first_places(self._broken_at))

    def summary(self) -> Summary:
        """What it comes to."""
        return Summary(
            self._total,
            self._breaks,
            dict(least(self._results, GROUPS_KEPT, group_order)),
            self._violating,
            least(self._violations, VIOLATIONS_KEPT, fault_order),
            _sketches(self._sizes),
            _sketches(self._times),
            {
                tool: first_graded((), tuple(_graded(*each) for each in good))
                for tool, good in least(self._good, TOOLS_KEPT, tool_order).items()
            },
            self._broken,
            first_places(self._broken_at),
        )


def _sketches(counted: dict[Tool, Counter[int]]) -> dict[Tool, Sketch]:
    return {tool: Sketch(dict(buckets)) for tool, buckets in least(counted, TOOLS_KEPT, tool_order).items()}


def _graded(mark: int, contract: Contract, value: dict[str, Any]) -> Graded:
    """What the schema notices of a good result that is corrupted."""
    definition = {"name": contract.name, "outputSchema": contract.output_schema}
    good = Good(definition, {"content": [], "structuredContent": value})
    noticed = missed = 0
    for corruption in _CORRUPTIONS:
        try:
            answer = corruption.answer(good)
        except NotApplicableError:
            continue
        if is_object(answer) and contract.output is not None:
            valid = contract.output.is_valid(answer["structuredContent"])
            noticed, missed = noticed + (not valid), missed + valid
    return Graded(mark, noticed, missed)
