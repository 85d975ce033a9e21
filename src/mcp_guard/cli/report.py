"""What a command found, whatever it looks like in the end: `Report`, `Case`, `Entry`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, final

from mcp_guard._lint import Finding, Level

LEVELS: Final[tuple[Level, ...]] = ("error", "warning", "note")


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was found. Its words are fit to be shown; `tool` is escaped and cut."""

    code: str
    level: Level
    tool: str
    says: str
    pointer: str = ""
    """Where, fit to be shown: into the tool's definition for a finding, into the value for a result."""
    place: str = ""
    """The same into the definition, as it is."""
    where: str = ""
    """A file and line, where the thing is in one."""
    what_to_do: str = ""
    definition: Any = field(default=None, repr=False)
    """The tool's definition, where it helps to see it: untrusted."""

    @classmethod
    def of(cls, finding: Finding, *, what_to_do: str = "", definition: Any = None) -> Entry:
        """The entry for a finding of the linter."""
        shown = finding.to_dict()
        return cls(
            finding.code,
            finding.level,
            shown["tool"],
            finding.says,
            shown["pointer"],
            finding.pointer,
            what_to_do=what_to_do,
            definition=definition,
        )

    def to_dict(self) -> dict[str, str]:
        """JSON, without the definition."""
        members = {
            "code": self.code,
            "level": self.level,
            "tool": self.tool,
            "says": self.says,
            "pointer": self.pointer,
            "where": self.where,
            "what_to_do": self.what_to_do,
        }
        return {k: v for k, v in members.items() if v}


@final
@dataclass(frozen=True, slots=True)
class Case:
    """One thing that was looked at, such as a tool or a call, and what was found about it."""

    name: str
    entries: tuple[Entry, ...] = ()


@final
@dataclass(slots=True)
class Report:
    """All that a command has to say."""

    command: str
    subject: str
    """What was looked at: a server, a file. Escaped."""
    cases: list[Case] = field(default_factory=list[Case])
    facts: dict[str, str] = field(default_factory=dict[str, str])
    """Counts and other particulars, in the order in which they are shown."""
    figures: str = ""
    """HTML of our own for the top of the page, with every name in it escaped; the other formats are without it."""

    @property
    def entries(self) -> list[Entry]:
        """Everything that was found."""
        return [entry for case in self.cases for entry in case.entries]

    def count(self) -> dict[Level, int]:
        """How much was found, by level."""
        counts = Counter(entry.level for entry in self.entries)
        return {level: counts[level] for level in LEVELS}

    def reaches(self, level: Level) -> bool:
        """Whether something is at least as bad as that."""
        return any(LEVELS.index(entry.level) <= LEVELS.index(level) for entry in self.entries)

    def summary(self) -> str:
        """One line: how much was found."""
        counted = [f"{n} {level}{'' if n == 1 else 's'}" for level, n in self.count().items() if n]
        return ", ".join(counted) or "nothing found"
