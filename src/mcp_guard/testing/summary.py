"""`Summary`: what came of judging recorded results. A small value; two of them add up exactly, in any order.

Everything in it that could grow without end is bounded by one rule: of the keys, those are kept that come first in an
order which depends on nothing but the key. Whatever is among the first of all keys is among the first of every part,
so it was dropped nowhere and its count is exact, however the work was shared. What is kept by how *often* it occurs
has no such sum: it depends on the parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar, final

from mcp_guard.testing.recorded import Place
from mcp_guard.testing.sketch import Sketch

FORMAT: Final = "mcp-guard-summary"
VERSION: Final = 1
GROUPS_KEPT: Final = 10_000
VIOLATIONS_KEPT: Final = 1_000
TOOLS_KEPT: Final = 500
PLACES_KEPT: Final = 20
GRADED: Final = 3
"""Good results of a tool that are corrupted to see what its schema would have noticed."""
K = TypeVar("K", bound="tuple[Any, ...]")
V = TypeVar("V")


class Tool(NamedTuple):
    """A tool of a server, both as they may be shown."""

    server: str
    tool: str


class Group(NamedTuple):
    """What results are counted by. Every part is text that may be shown."""

    server: str
    tool: str
    fingerprint: str
    """Of the contract that it was judged under, its first 12 characters; empty where there was none."""
    day: str
    """In UTC, ``2026-11-30``; empty where the line does not say."""
    verdict: str
    """Class name of the verdict; ``NoResult`` where the call had none."""
    error: str
    """Kind of the error that the policy raises about it; empty where it raises none."""


class Fault(NamedTuple):
    """A violation as it is counted: the pointer as it may be shown, an index in it as ``*``, and the keyword."""

    server: str
    tool: str
    pointer: str
    keyword: str


class Seen(NamedTuple):
    """In how many results a violation was, and the first place where: `None` where no line has a place."""

    number: int
    example: Place | None


class Graded(NamedTuple):
    """A good result that was corrupted: how much of that its schema noticed. `mark` is made of its place."""

    mark: int
    noticed: int
    missed: int


@final
@dataclass(frozen=True, slots=True)
class Summary:
    """What came of judging recorded results. ``a + b`` is the summary of both: exactly, in any order and grouping.

    Nothing in it is a value of a result or of an argument. Not all is kept where there is very much: the first 10,000
    groups, 1,000 violations and 500 tools, shorter ones before longer ones, then in the order of the alphabet. The
    counts of what is kept, `total`, `breaks` and `violating` are exact all the same.
    """

    total: int = 0
    """How many calls there were."""
    breaks: int = 0
    """How many results the policy raises about, because of the contract or of the tool's own error."""
    results: Mapping[Group, int] = field(default_factory=dict[Group, int])
    violating: int = 0
    """What the counts in `violations` would add up to, if all were kept."""
    violations: Mapping[Fault, Seen] = field(default_factory=dict[Fault, Seen])
    sizes: Mapping[Tool, Sketch] = field(default_factory=dict[Tool, Sketch])
    """Characters of text in a result, where the lines say."""
    times: Mapping[Tool, Sketch] = field(default_factory=dict[Tool, Sketch])
    """Milliseconds between sending and the answer, where the lines say."""
    graded: Mapping[Tool, tuple[Graded, ...]] = field(default_factory=dict[Tool, "tuple[Graded, ...]"])
    broken: int = 0
    """Lines that are none of a recording or an audit file, and compressed files that end in the middle."""
    broken_at: tuple[Place, ...] = ()
    """Where the first 20 of them are."""

    def by(self, *names: str) -> dict[tuple[str, ...], int]:
        """How many results there are by some fields of a `Group`, the most frequent first: ``by("tool", "day")``.

        Raises:
            ValueError: A `Group` has no such field.
        """
        if unknown := [name for name in names if name not in Group._fields]:
            raise ValueError(f"a Group has no {unknown[0]!r}; it has {', '.join(Group._fields)}")
        summed = Counter[tuple[str, ...]]()
        for group, number in self.results.items():
            summed[tuple(getattr(group, name) for name in names)] += number
        return dict(sorted(summed.items(), key=lambda item: (-item[1], item[0])))

    def most_frequent(self) -> list[tuple[Fault, Seen]]:
        """The violations, the most frequent first."""
        return sorted(self.violations.items(), key=lambda item: (-item[1].number, item[0]))

    @property
    def left_out(self) -> int:
        """How many of `total` are in none of the groups that are kept."""
        return self.total - sum(self.results.values())

    def grade(self, tool: str, *, server: str | None = None) -> float | None:
        """How much of what was corrupted the schema of a tool noticed: 0.0 (a vacuous one) to 1.0.

        `server`: of this one alone. `None` where no good result was corrupted; one has to have a place for that.
        """
        found = [g for t, each in self.graded.items() if t.tool == tool and server in {None, t.server} for g in each]
        noticed, missed = sum(g.noticed for g in found), sum(g.missed for g in found)
        return noticed / (noticed + missed) if noticed + missed else None

    def __add__(self, other: Summary) -> Summary:
        if not isinstance(other, Summary):
            return NotImplemented
        return Summary(
            self.total + other.total,
            self.breaks + other.breaks,
            least(_merged(self.results, other.results, int.__add__), GROUPS_KEPT, group_order),
            self.violating + other.violating,
            least(_merged(self.violations, other.violations, _seen), VIOLATIONS_KEPT, fault_order),
            least(_merged(self.sizes, other.sizes, Sketch.__add__), TOOLS_KEPT, tool_order),
            least(_merged(self.times, other.times, Sketch.__add__), TOOLS_KEPT, tool_order),
            least(_merged(self.graded, other.graded, first_graded), TOOLS_KEPT, tool_order),
            self.broken + other.broken,
            first_places((*self.broken_at, *other.broken_at)),
        )

    def to_dict(self) -> dict[str, Any]:
        """The summary as JSON: in the same order for equal ones, the most frequent violations first."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "total": self.total,
            "breaks": self.breaks,
            "left_out": self.left_out,
            "results": [{**group._asdict(), "count": n} for group, n in sorted(self.results.items())],
            "violating": self.violating,
            "violations": [
                {**fault._asdict(), "count": seen.number, "example": seen.example and seen.example._asdict()}
                for fault, seen in self.most_frequent()
            ],
            "sizes": _written(self.sizes),
            "times": _written(self.times),
            "graded": [
                {**tool._asdict(), "results": [g._asdict() for g in each]} for tool, each in sorted(self.graded.items())
            ],
            "broken": self.broken,
            "broken_at": [place._asdict() for place in self.broken_at],
        }

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Summary:
        """The summary that `to_dict` wrote.

        Raises:
            ValueError: It is none, or one in another version of the format.
        """
        if written.get("format") != FORMAT or written.get("version") != VERSION:
            raise ValueError(f"this is no summary, or one of another version than {VERSION}")
        try:
            return cls(
                int(written["total"]),
                int(written["breaks"]),
                {Group(*_texts(each, Group._fields)): int(each["count"]) for each in written["results"]},
                int(written["violating"]),
                {
                    Fault(*_texts(each, Fault._fields)): Seen(
                        int(each["count"]), each["example"] and Place(**each["example"])
                    )
                    for each in written["violations"]
                },
                _read(written["sizes"]),
                _read(written["times"]),
                {
                    Tool(*_texts(each, Tool._fields)): tuple(Graded(**graded) for graded in each["results"])
                    for each in written["graded"]
                },
                int(written["broken"]),
                tuple(Place(**place) for place in written["broken_at"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("this is no summary: a member is missing, or is not what it is to be") from error


def least(counted: Mapping[K, V], most: int, order: Callable[[K], Any]) -> Mapping[K, V]:
    """The entries of so many keys: the first ones in an order that depends on the key alone."""
    if len(counted) <= most:
        return counted
    return {key: counted[key] for key in sorted(counted, key=order)[:most]}


def group_order(group: Group) -> tuple[Any, ...]:
    """Short names first: those of a server that makes up names by the thousand push out no others."""
    return len(group.server) + len(group.tool), group


def fault_order(fault: Fault) -> tuple[Any, ...]:
    """Short pointers first."""
    return len(fault.pointer), fault.pointer, fault


def tool_order(tool: Tool) -> tuple[Any, ...]:
    """Short names first."""
    return len(tool.server) + len(tool.tool), tool


def first_graded(one: tuple[Graded, ...], other: tuple[Graded, ...]) -> tuple[Graded, ...]:
    """Those with the lowest marks of both."""
    return tuple(sorted({*one, *other})[:GRADED])


def first_places(places: Iterable[Place]) -> tuple[Place, ...]:
    """The first of some places where there is something; which of them came twice does not matter."""
    return tuple(sorted(places)[:PLACES_KEPT])


def earlier(one: Place | None, other: Place | None) -> Place | None:
    """The first of two places, where there is one."""
    return min((place for place in (one, other) if place is not None), default=None)


def _seen(one: Seen, other: Seen) -> Seen:
    return Seen(one.number + other.number, earlier(one.example, other.example))


def _merged(one: Mapping[K, V], other: Mapping[K, V], add: Callable[[V, V], V]) -> Mapping[K, V]:
    merged = dict(one)
    for key, value in other.items():
        merged[key] = add(merged[key], value) if key in merged else value
    return merged


def _texts(written: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    return [str(written[name]) for name in names]


def _written(sketches: Mapping[Tool, Sketch]) -> list[dict[str, Any]]:
    return [{**tool._asdict(), "buckets": sorted(sketch.buckets.items())} for tool, sketch in sorted(sketches.items())]


def _read(written: Any) -> dict[Tool, Sketch]:
    return {
        Tool(*_texts(each, Tool._fields)): Sketch({int(bucket): int(n) for bucket, n in each["buckets"]})
        for each in written
    }
