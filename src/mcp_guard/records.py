"""`Record`: one judged call as frozen data, with no server's or argument's words in it; `Hook`: who is told of it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, Protocol, final

from mcp_guard.errors import Outcome
from mcp_guard.policy import Action

VERSION: Final = 1
"""The version of the record's format."""


@final
@dataclass(frozen=True, slots=True)
class Place:
    """Where a violation is: the pointer as it may be shown, and the keyword."""

    pointer: str
    keyword: str


@final
@dataclass(frozen=True, slots=True)
class Attempt:
    """One sending of a call: how it ended, and how long was waited before it, in milliseconds."""

    error: str | None
    outcome: Outcome
    waited_ms: float = 0.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One call: what was called, what came, what was decided. Told to the hooks before anything is raised."""

    v: int = VERSION
    time: datetime
    """When the call was begun, in UTC."""
    call_id: str
    correlation: str | None = None
    """The caller's own mark."""
    trace_id: str | None = None
    span_id: str | None = None
    server: str | None = None
    tool: str
    fingerprint: str | None = None
    """Of the tool's whole definition, as it was when the result was judged."""
    output_fingerprint: str | None = None
    protocol: str | None = None
    policy: str
    """Name of the preset, or ``custom``."""
    arguments_hash: str | None = None
    """Keyed HMAC-SHA256 over the arguments as RFC 8785 JSON; the same arguments and key give the same hash."""
    verdict: str | None = None
    """Class name of the verdict; `None` where there was no result to judge."""
    source: Literal["structured", "text"] | None = None
    deviations: tuple[str, ...] = ()
    violations: tuple[Place, ...] = ()
    error: str | None = None
    """Kind of the error that was raised, or that the verdict amounts to where the policy only reports it."""
    outcome: Outcome
    action: Action
    """What was done: ``raise``, ``report`` or ``allow``."""
    attempts: tuple[Attempt, ...] = ()
    ms_queued: float = 0.0
    """Milliseconds before the call was sent: waiting for the tool listing above all."""
    ms_wire: float = 0.0
    """Milliseconds between sending and the answer."""
    ms_check: float = 0.0
    """Milliseconds of judging."""
    result_bytes: int | None = None
    """Characters of text in the result, about its size in bytes."""
    blocks: tuple[tuple[str, int], ...] = ()
    """Content block types and how many there are; ``*`` for types that the specification does not know."""

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON."""
        out = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {
            **out,
            "time": self.time.isoformat(),
            "deviations": list(self.deviations),
            "violations": [dataclasses.asdict(p) for p in self.violations],
            "attempts": [dataclasses.asdict(a) for a in self.attempts],
            "blocks": dict(self.blocks),
        }


class Hook(Protocol):
    """Told of every call, before anything is raised. What it raises is logged and changes nothing."""

    def __call__(self, record: Record, /) -> None:
        """Take note of one call. It is called in the task of the call: be quick, and don't block."""
        ...
