"""`Record`: one judged call as frozen data, with no server's or argument's words in it, and its JSON both ways."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Final, Literal, TypeAlias, cast, final, get_args

from mcp_guard._facts import is_array, is_object
from mcp_guard.errors import Outcome
from mcp_guard.policy import Action

VERSION: Final = 1
"""The version of the record's format: raised where an older reader would misread a record. A new field or a new code is
no new version: whoever reads a record goes by what it knows of it."""

Source: TypeAlias = Literal["structured", "text"]


@final
@dataclass(frozen=True, slots=True)
class Place:
    """Where a violation is: the pointer as it may be shown, and the keyword."""

    pointer: str
    keyword: str


@final
@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a call, its rounds included: how it ended, and the wait before it, in milliseconds.

    One that was not sent is told only where there was another.
    """

    error: str | None
    outcome: Outcome
    waited_ms: float = 0.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One call: what was called, what came, what was decided. Told to the hooks before anything is raised.

    Its JSON is described by the schema that `mcp_guard.records.schema` gives.
    """

    v: int = VERSION
    time: datetime
    """When the call was begun, in UTC."""
    call_id: str
    correlation: str | None = None
    """The caller's own mark; see `mcp_guard.correlation`."""
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
    source: Source | None = None
    deviations: tuple[str, ...] = ()
    violations: tuple[Place, ...] = ()
    error: str | None = None
    """Kind of the error that was raised, or that the verdict amounts to where the policy only reports it."""
    outcome: Outcome
    action: Action
    """What was done: ``raise``, ``report`` or ``allow``."""
    attempts: tuple[Attempt, ...] = ()
    ms_queued: float = 0.0
    """Milliseconds of waiting for the tool listing, over all attempts. The waits between those are in `attempts`."""
    ms_wire: float = 0.0
    """Milliseconds between sending and the answer, over all attempts and rounds."""
    ms_check: float = 0.0
    """Milliseconds of judging, over all attempts."""
    result_bytes: int | None = None
    """Characters of text in the result, about its size in bytes."""
    blocks: tuple[tuple[str, int], ...] = ()
    """Content block types and how many there are; ``*`` for types that the specification does not know."""

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON."""
        out = {name: getattr(self, name) for name in _NAMES}
        return {
            **out,
            "time": self.time.isoformat(),
            "deviations": list(self.deviations),
            "violations": [{"pointer": p.pointer, "keyword": p.keyword} for p in self.violations],
            "attempts": [{"error": a.error, "outcome": a.outcome, "waited_ms": a.waited_ms} for a in self.attempts],
            "blocks": dict(self.blocks),
        }

    def to_json(self) -> str:
        """The record as one line of JSON."""
        return _encode(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Record:
        """The record that `to_dict` made this of. What a later version has added to the format is left out.

        Raises:
            TypeError: `data` is no mapping.
            ValueError: It is no record, or one of a newer format (`v`) that this version can't read.
        """
        if not isinstance(data, Mapping):
            raise TypeError(f"a record is made of a JSON object, not of {type(data).__name__}")
        version = data.get("v")
        if not _is_count(version) or not version:
            raise ValueError("this is no record: it has no format version `v`")
        if version > VERSION:
            raise ValueError(f"the record has a format version that is newer than {VERSION}, the one that is read here")
        if missing := [name for name in _NEEDED if name not in data]:
            raise ValueError(f"the record lacks {', '.join(missing)}")
        return cls(**{name: read(name, data[name]) for name, read in _READ.items() if name in data})

    @classmethod
    def from_json(cls, text: str | bytes) -> Record:
        """The record that `to_json` wrote, or that stands in a line of `mcp_guard.hooks.JsonlAudit`.

        Raises:
            ValueError: It is no JSON, no record, or one of a newer format.
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError("the record is no JSON") from None
        if not is_object(data):
            raise ValueError("the record is no JSON object")
        return cls.from_dict(data)


_encode: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_Read: TypeAlias = Callable[[str, Any], Any]


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _wrong(name: str, expected: str, value: object) -> ValueError:
    return ValueError(f"the record's `{name}` is {expected}, and here it is {type(value).__name__}")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(name, "a string", value)
    return value


def _count(name: str, value: Any) -> int:
    if not _is_count(value):
        raise _wrong(name, "a whole number, 0 or more", value)
    return cast("int", value)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong(name, "a number", value)
    if not 0 <= value < math.inf:
        raise ValueError(f"the record's `{name}` is a finite number, 0 or more")
    return value


def _time(name: str, value: Any) -> datetime:
    text = _text(name, value)
    try:
        time = datetime.fromisoformat(f"{text[:-1]}+00:00" if text.endswith("Z") else text)  # Z: from Python 3.11 on
        if time.tzinfo is not None:
            return time.astimezone(timezone.utc)
    except (ValueError, OverflowError):  # the second where a time zone leads out of the years there are
        pass
    raise ValueError(f"the record's `{name}` is an ISO 8601 time with its time zone")


def _one_of(allowed: Any) -> _Read:
    values: tuple[str, ...] = get_args(allowed)

    def read(name: str, value: Any) -> str:
        if _text(name, value) not in values:
            raise ValueError(f"the record's `{name}` is one of {', '.join(values)}")
        return cast("str", value)

    return read


def _maybe(read: _Read) -> _Read:
    return lambda name, value: None if value is None else read(name, value)


def _row(read: _Read) -> _Read:
    def rows(name: str, value: Any) -> tuple[Any, ...]:
        if not is_array(value):
            raise _wrong(name, "an array", value)
        return tuple(read(f"{name}[{index}]", item) for index, item in enumerate(value))

    return rows


def _members(name: str, value: Any, *needed: str) -> dict[str, Any]:
    if not is_object(value):
        raise _wrong(name, "an object", value)
    if missing := [member for member in needed if member not in value]:
        raise ValueError(f"the record's `{name}` lacks {', '.join(missing)}")
    return value


def _place(name: str, value: Any) -> Place:
    members = _members(name, value, "pointer", "keyword")
    return Place(_text(f"{name}.pointer", members["pointer"]), _text(f"{name}.keyword", members["keyword"]))


def _attempt(name: str, value: Any) -> Attempt:
    members = _members(name, value, "error", "outcome")
    error = _maybe(_text)(f"{name}.error", members["error"])
    waited = _number(f"{name}.waited_ms", members.get("waited_ms", 0.0))
    return Attempt(error, _outcome(f"{name}.outcome", members["outcome"]), waited)


def _blocks(name: str, value: Any) -> tuple[tuple[str, int], ...]:
    return tuple((kind, _count(f"{name}[*]", count)) for kind, count in _members(name, value).items())


_outcome: Final = _one_of(Outcome)
_READ: Final[dict[str, _Read]] = {
    "v": _count,
    "time": _time,
    "call_id": _text,
    "correlation": _maybe(_text),
    "trace_id": _maybe(_text),
    "span_id": _maybe(_text),
    "server": _maybe(_text),
    "tool": _text,
    "fingerprint": _maybe(_text),
    "output_fingerprint": _maybe(_text),
    "protocol": _maybe(_text),
    "policy": _text,
    "arguments_hash": _maybe(_text),
    "verdict": _maybe(_text),
    "source": _maybe(_one_of(Source)),
    "deviations": _row(_text),
    "violations": _row(_place),
    "error": _maybe(_text),
    "outcome": _outcome,
    "action": _one_of(Action),
    "attempts": _row(_attempt),
    "ms_queued": _number,
    "ms_wire": _number,
    "ms_check": _number,
    "result_bytes": _maybe(_count),
    "blocks": _blocks,
}
"""How each field is read. Codes are any string: a later version may have more of them."""
_NAMES: Final = tuple(field.name for field in dataclasses.fields(Record))
_NEEDED: Final = tuple(field.name for field in dataclasses.fields(Record) if field.default is dataclasses.MISSING)
