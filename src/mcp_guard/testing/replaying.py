"""`replay`: judges recorded results, under the contracts of their day or others; `Summary`: what came of it.

`judge_lines` is pure and `Summary` merges: each line can be judged anywhere, and the sums be put together in any order.
"""

from __future__ import annotations

import json
import os
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context
from typing import Any, Final, NamedTuple, TypeAlias, final

from mcp_guard import _words
from mcp_guard._check import check
from mcp_guard._contract import Contract
from mcp_guard._decision import decide
from mcp_guard._facts import is_object
from mcp_guard._verdict import Conforming, Verdict, Violating
from mcp_guard.contracts import Contracts
from mcp_guard.policy import ENFORCE, Policy
from mcp_guard.testing.faults import FAULTS, Good, NotApplicableError
from mcp_guard.testing.recordings import Place, Recorded, lines_of

_CHUNK_LINES, _CHUNK_BYTES = 500, 4_000_000
_CONTRACTS_KEPT: Final = 2_000
_PLACES_KEPT: Final = 20
_VIOLATIONS_KEPT: Final = 1_000
_CORRUPTED: Final = 3
"""Good results of a tool that are corrupted to see what its schema would have noticed."""
_CORRUPTIONS: Final = [f for f in FAULTS.values() if f.kind == "data" and f.name not in {"deep", "huge"}]

Numbered: TypeAlias = "tuple[Place, bytes | None]"


class Group(NamedTuple):
    """What results are counted by."""

    server: str
    tool: str
    fingerprint: str
    """Of the contract that it was judged under, its first 12 characters; empty where there was none."""
    day: str
    verdict: str
    """Class name of the verdict; ``NoResult`` where the call had none."""


class Fault(NamedTuple):
    """A violation as it is counted: the pointer as it may be shown, and the keyword."""

    tool: str
    pointer: str
    keyword: str


@final
@dataclass(slots=True)
class Summary:
    """What came of judging recorded results. ``a + b`` is the summary of both; the order makes no difference.

    Where more different violations occur than are kept, the rarest are left out, and with them their counts.
    """

    results: Counter[Group] = field(default_factory=Counter[Group])
    raised: Counter[tuple[str, str]] = field(default_factory=Counter["tuple[str, str]"])
    """By tool and kind of error: what the policy would have raised."""
    violations: Counter[Fault] = field(default_factory=Counter[Fault])
    examples: dict[Fault, str] = field(default_factory=dict[Fault, str])
    """A line in which each violation is: ``path:number``."""
    noticed: Counter[tuple[str, bool]] = field(default_factory=Counter["tuple[str, bool]"])
    """By tool: of its good results, corrupted, how many were noticed, and how many not."""
    broken: int = 0
    """Lines that are none of a recording."""
    broken_at: list[str] = field(default_factory=list[str])
    """Where the first of them are."""

    @property
    def total(self) -> int:
        """How many calls there were."""
        return sum(self.results.values())

    @property
    def breaks(self) -> int:
        """How many results the policy would have raised about, because of the contract or of the tool's own error."""
        return sum(self.raised.values())

    def grade(self, tool: str) -> float | None:
        """How much of what was corrupted the schema of a tool noticed: 0.0 (a vacuous one) to 1.0."""
        yes, no = self.noticed[tool, True], self.noticed[tool, False]
        return yes / (yes + no) if yes + no else None

    def __add__(self, other: Summary) -> Summary:
        if not isinstance(other, Summary):
            return NotImplemented
        examples = {**other.examples}
        for fault, place in self.examples.items():
            examples[fault] = min(place, examples.get(fault, place))
        both = Summary(
            self.results + other.results,
            self.raised + other.raised,
            self.violations + other.violations,
            examples,
            self.noticed + other.noticed,
            self.broken + other.broken,
            sorted(self.broken_at + other.broken_at)[:_PLACES_KEPT],
        )
        both.trim(_VIOLATIONS_KEPT)
        return both

    def trim(self, most: int) -> None:
        """Keep this many different violations: the most frequent."""
        if len(self.violations) > most:
            kept = sorted(self.violations.items(), key=lambda item: (-item[1], item[0]))[:most]
            self.violations = Counter(dict(kept))
            self.examples = {fault: self.examples[fault] for fault, _ in kept}

    def to_dict(self) -> dict[str, Any]:
        """The summary as JSON."""
        return {
            "results": [{**group._asdict(), "count": n} for group, n in sorted(self.results.items())],
            "raised": [{"tool": t, "kind": k, "count": n} for (t, k), n in sorted(self.raised.items())],
            "violations": [
                {**fault._asdict(), "count": n, "example": self.examples[fault]}
                for fault, n in sorted(self.violations.items(), key=lambda item: (-item[1], item[0]))
            ],
            "noticed": [{"tool": t, "noticed": yes, "count": n} for (t, yes), n in sorted(self.noticed.items())],
            "broken": self.broken,
            "broken_at": list(self.broken_at),
        }

    @classmethod
    def from_dict(cls, written: dict[str, Any]) -> Summary:
        """The summary that `to_dict` wrote.

        Raises:
            KeyError: A member is missing.
            TypeError: One is not what it is to be.
        """
        violations = {Fault(v["tool"], v["pointer"], v["keyword"]): v for v in written["violations"]}
        return cls(
            Counter({Group(**{k: r[k] for k in Group._fields}): r["count"] for r in written["results"]}),
            Counter({(r["tool"], r["kind"]): r["count"] for r in written["raised"]}),
            Counter({fault: v["count"] for fault, v in violations.items()}),
            {fault: v["example"] for fault, v in violations.items()},
            Counter({(n["tool"], n["noticed"]): n["count"] for n in written["noticed"]}),
            written["broken"],
            list(written["broken_at"]),
        )


def judge_lines(lines: Iterable[Numbered], contracts: Contracts | None = None, *, policy: Policy = ENFORCE) -> Summary:
    """Judge the lines of recordings. Without `contracts` each result is held against the definition in its own line.

    A contract is looked up by the line's server and tool, and else by the tool alone.
    """
    return _Judging(contracts, policy).chunk(lines)


class _Judging:
    """Judges lines, and keeps what can be used again from chunk to chunk."""

    def __init__(self, contracts: Contracts | None, policy: Policy) -> None:
        self._summary = Summary()
        self._contracts = contracts
        self._policy = policy
        self._made: OrderedDict[str, Contract] = OrderedDict()
        self._corrupted: Counter[str] = Counter()

    def chunk(self, lines: Iterable[Numbered]) -> Summary:
        """The summary of some lines, the same whatever was judged before."""
        self._summary, self._corrupted = Summary(), Counter()
        for place, line in lines:
            self._take(place, line)
        self._summary.trim(_VIOLATIONS_KEPT)
        return self._summary

    def _take(self, place: Place, line: bytes | None) -> None:
        summary = self._summary
        try:
            recorded = None if line is None else Recorded.of(line)
        except ValueError:  # UnicodeDecodeError and JSONDecodeError are some
            recorded = None
        if recorded is None:
            summary.broken += 1
            if len(summary.broken_at) < _PLACES_KEPT:
                summary.broken_at.append(str(place))
            return
        tool, server = _words.name(recorded.tool["name"]), _words.name(recorded.server)
        if not recorded.has_result:
            summary.results[Group(server, tool, "", recorded.day, "NoResult")] += 1
            return
        contract = self._contract(recorded)
        verdict = check(recorded.result, contract, protocol=recorded.protocol, policy=self._policy)
        mark = "" if contract is None else contract.fingerprint[:12]
        summary.results[Group(server, tool, mark, recorded.day, type(verdict).__name__)] += 1
        decision = decide(verdict, self._policy, contract)
        if decision.action == "raise" and decision.error is not None:
            summary.raised[tool, decision.error.kind] += 1
        if isinstance(verdict, Violating):
            for fault in {Fault(tool, v.shown, v.keyword) for v in verdict.violations}:
                summary.violations[fault] += 1
                summary.examples.setdefault(fault, str(place))
        if contract is not None and self._corrupted[tool] < _CORRUPTED:
            self._grade(tool, contract, verdict)

    def _contract(self, recorded: Recorded) -> Contract | None:
        name = recorded.tool["name"]
        if self._contracts is not None:
            return self._contracts.get(name, server=recorded.server) or self._contracts.get(name)
        if not recorded.listed:
            return None
        key = json.dumps(recorded.tool, sort_keys=True)
        if (contract := self._made.get(key)) is None:
            contract = self._made[key] = Contract.from_tool(recorded.tool, limits=self._policy.limits)
            if len(self._made) > _CONTRACTS_KEPT:
                self._made.popitem(last=False)
        return contract

    def _grade(self, tool: str, contract: Contract, verdict: Verdict) -> None:
        if contract.output is None or not isinstance(verdict, Conforming) or not is_object(verdict.value):
            return
        self._corrupted[tool] += 1
        definition = {"name": tool, "outputSchema": contract.output_schema}
        good = Good(definition, {"content": [], "structuredContent": verdict.value})
        for corruption in _CORRUPTIONS:
            try:
                answer = corruption.answer(good)
            except NotApplicableError:
                continue
            if is_object(answer):
                corrupted: object = answer["structuredContent"]
                self._summary.noticed[tool, not contract.output.is_valid(corrupted)] += 1


Progress: TypeAlias = Callable[[int], None]
"""Told how many lines were judged so far."""


def replay(
    paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str],
    contracts: Contracts | None = None,
    *,
    policy: Policy = ENFORCE,
    processes: int = 1,
    progress: Progress | None = None,
) -> Summary:
    """Judge the recorded results in files of JSON lines again, streaming: which of them would break, and why?

    Args:
        paths: One file or several, plain or ``.gz``.
        contracts: What to hold the results against, such as `Contracts.load(lock)`; `None`: the definition that stands
            in each line.
        policy: What counts as a break.
        processes: How many processes share the work.
        progress: Told now and then how many lines are done.

    Raises:
        OSError: A file can't be read.
        ValueError: `processes` is smaller than 1.
        concurrent.futures.BrokenExecutor: One of the processes died.
    """
    if processes < 1:
        raise ValueError(f"processes is at least 1, not {processes}")
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    chunks = _chunks(lines_of(several))
    total, done = Summary(), 0
    parts = _here(chunks, contracts, policy) if processes == 1 else _shared(chunks, contracts, policy, processes)
    for number, part in parts:
        total += part
        done += number
        if progress is not None:
            progress(done)
    return total


def _chunks(lines: Iterator[Numbered]) -> Iterator[list[Numbered]]:
    while first := next(lines, None):
        chunk, size = [first], len(first[1] or b"")
        for numbered in islice(lines, _CHUNK_LINES - 1):
            chunk.append(numbered)
            size += len(numbered[1] or b"")
            if size >= _CHUNK_BYTES:
                break
        yield chunk


def _here(
    chunks: Iterable[list[Numbered]], contracts: Contracts | None, policy: Policy
) -> Iterator[tuple[int, Summary]]:
    judging = _Judging(contracts, policy)
    for chunk in chunks:
        yield len(chunk), judging.chunk(chunk)


_WORKER: list[_Judging] = []


def _begin_worker(definitions: dict[str, list[dict[str, Any]]] | None, policy: Policy) -> None:
    contracts = None
    if definitions is not None:
        contracts = Contracts()
        for server, tools in definitions.items():
            contracts.learn((Contract.from_tool(t, limits=policy.limits, defer=True) for t in tools), server=server)
    _WORKER[:] = [_Judging(contracts, policy)]


def _work(chunk: list[Numbered]) -> tuple[int, Summary]:
    (judging,) = _WORKER
    return len(chunk), judging.chunk(chunk)


def _shared(
    chunks: Iterator[list[Numbered]], contracts: Contracts | None, policy: Policy, processes: int
) -> Iterator[tuple[int, Summary]]:
    """Let processes judge; no more chunks are read than they have room for."""
    definitions = None
    if contracts is not None:
        definitions = {s: [c.definition for c in contracts.of(s).values()] for s in contracts.servers()}
    pool = ProcessPoolExecutor(
        processes, mp_context=get_context("spawn"), initializer=_begin_worker, initargs=(definitions, policy)
    )
    with pool:
        under_way: set[Future[tuple[int, Summary]]] = set()
        for chunk in chunks:
            under_way.add(pool.submit(_work, chunk))
            if len(under_way) >= 2 * processes:
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        yield from (future.result() for future in wait(under_way).done)
