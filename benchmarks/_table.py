"""One table of a question, and how a figure is held against its goal."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks._timing import Ratio


@dataclass
class Table:
    """What one question found out. `void`: the null control failed, so that the table says nothing."""

    title: str
    head: list[str]
    rows: list[list[str]] = field(default_factory=list[list[str]])
    void: bool = False

    def __str__(self) -> str:
        rules = ["---", *["--:"] * (len(self.head) - 1)]
        lines = [f"| {' | '.join(cells)} |" for cells in (self.head, rules, *self.rows)]
        title = f"### {self.title}"
        warning = ["", "**Void: the same came out as different. Run it again on a machine that has less to do.**"]
        return "\n".join([title, *(warning if self.void else []), "", *lines, ""])


def held(found: Ratio, goal: float | None) -> str:
    """A ratio with its interval, and whether it is within its goal."""
    if goal is None:
        return str(found)
    return f"{found}; goal {goal:g}: {'kept' if found.median <= goal else '**missed**'}"


def least(found: float, goal: float, unit: str) -> str:
    """A figure of a unit, and whether it is within its goal."""
    return f"{found:.3g} {unit}; goal {goal:g}: {'kept' if found <= goal else '**missed**'}"
