"""The small facts that verdicts and errors are made of: `Violation`, `Deviation`, `Problem`, `Change` and the like.

Each knows which part of itself may be shown (design: what the server says is untrusted). What may not be shown is an
attribute for the caller: it stands in no `repr`, and what could hold a value of a result is in no pickle.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal, TypeGuard, final

from mcp_guard import _words

JsonType = Literal["object", "array", "string", "number", "integer", "boolean", "null"]


def json_type(value: object) -> JsonType:
    """The JSON type name of a Python value. A `float` without a fraction is an integer, `True` is not."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, (list, tuple)) else "number"


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)


@final
@dataclass(frozen=True, slots=True)
class Violation:
    """One keyword unsatisfied at one place.

    `pointer` (RFC 6901) is the place of the value that the keyword was applied to; `schema_pointer` the place of the
    keyword in the schema; `keyword` is ``"false"`` where a schema is `false`. `expected` is what the schema says there
    (the missing names for `required`), `found` the JSON type of the value, `value` the value itself. `shown` is the
    pointer as it may be shown (``*`` for names that the contract does not declare), `says` the rule in safe words.

    Neither pickles nor equality have `schema_pointer`, `expected` and `value`: the schema's own words and the data.
    """

    pointer: str
    schema_pointer: str = field(compare=False)  # below patternProperties it has a pattern in it
    keyword: str
    expected: Any = field(repr=False, compare=False)
    found: JsonType
    value: Any = field(default=None, repr=False, compare=False)
    shown: str = field(default="*", repr=False)
    says: str = field(default="", repr=False)

    def __repr__(self) -> str:
        return f"Violation({self.shown!r}, {self.keyword!r}, found={self.found!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # neither the value nor the schema's own words go into a pickle
        return Violation, (self.pointer, "", self.keyword, None, self.found, None, self.shown, self.says)

    def describe(self) -> str:
        """One safe phrase: where, what is asked, what was found."""
        return f"{self.shown or 'the root'} {self.says}{self.finding}"

    @property
    def finding(self) -> str:
        """What was found, where that tells anything."""
        return f", found {self.found}" if _tells(self.keyword, self.found) else ""

    def to_dict(self) -> dict[str, str]:
        """JSON, with nothing of the server's in it but names that the contract declares."""
        return {"pointer": self.shown, "keyword": self.keyword, "found": self.found, "says": self.says}


@final
@dataclass(frozen=True, slots=True)
class Deviation:
    """Something off that does not make the data wrong: a stable `code` and a `detail` in our own words."""

    code: str
    detail: str = ""


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """Why an answer is no tool result at all: a stable `code`, and where it crosses a limit, which one."""

    code: str
    limit: str | None = None
    allowed: int | None = None
    found: int | None = None


OVER_LIMIT: Final = frozenset({"too_deep", "too_many_nodes", "too_large"})
"""Problem codes that mean a limit was crossed."""

FailureKind = Literal[
    "invalid_arguments",
    "authentication_failed",
    "authorization_denied",
    "not_found",
    "resource_state_conflict",
    "network_timeout",
    "rate_limited",
    "unavailable",
    "upstream_error",
]
FAILURE_KINDS: Final = frozenset(FailureKind.__args__)  # type: ignore[attr-defined]  # a Literal's own arguments
"""The kinds that `ToolFailure.kind` is normalised to; any other is the server's own word."""


@final
@dataclass(frozen=True, slots=True)
class ToolFailure:
    """What a tool's own error said: read from machine-made payloads, never guessed from prose.

    `text`: its text blocks. `payload`: the JSON it sent. `kind`: what went wrong, normalised where it is a usual one,
    else as sent. `retryable`: what the tool says, `None` where it says nothing. `retry_after`: seconds to wait.
    `retry_at`: the point in time that the tool named instead. A recorded result has no clock to turn it into seconds;
    in a guarded call `retry_after` is what was left until then when the answer came, 0 where it was over.
    `request_id`: for the server's operators.

    Raises:
        TypeError: A field is of the wrong type.
        ValueError: `retry_after` is negative or not finite, or `retry_at` has no time zone.
    """

    text: str = field(default="", repr=False)
    payload: Any = field(default=None, repr=False)
    kind: str | None = None
    retryable: bool | None = None
    retry_after: float | None = None
    request_id: str | None = field(default=None, repr=False)
    retry_at: datetime | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        # a reader of the user's makes these, and what it gives must not break the call later on
        for name, kinds in _FIELDS.items():
            value = getattr(self, name)
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                raise TypeError(f"ToolFailure.{name} is {type(value).__name__}")
        if self.retry_after is not None and not 0 <= self.retry_after <= _HUGE:
            raise ValueError("ToolFailure.retry_after takes seconds from now, 0 or more")
        if self.retry_at is not None and self.retry_at.utcoffset() is None:
            raise ValueError("ToolFailure.retry_at takes a datetime with a time zone")

    def __repr__(self) -> str:
        return f"ToolFailure(kind={self.shown_kind!r}, retryable={self.retryable}, retry_after={self.retry_after})"

    def __hash__(self) -> int:
        return hash((self.text, self.kind, self.retryable, self.retry_after, self.request_id, self.retry_at))

    def at(self, now: datetime) -> ToolFailure:
        """The same as it is at this time: `retry_after` set where only `retry_at` is known."""
        if self.retry_at is None or self.retry_after is not None:
            return self
        return replace(self, retry_after=max(0.0, (self.retry_at - now).total_seconds()))

    @property
    def shown_kind(self) -> str | None:
        """`kind` where it is one of ours; ``"*"`` for the server's own word."""
        return self.kind if self.kind is None or self.kind in FAILURE_KINDS else "*"


_NONE: Final = type(None)
_FIELDS: Final[dict[str, tuple[type[Any], ...]]] = {
    "text": (str,),
    "kind": (str, _NONE),
    "retryable": (bool, _NONE),
    "retry_after": (int, float, _NONE),
    "request_id": (str, _NONE),
    "retry_at": (datetime, _NONE),
}

UnusableReason = Literal[
    "invalid_schema", "unknown_dialect", "dangling_ref", "remote_ref", "endless_ref", "too_complex", "ambiguous"
]


@final
@dataclass(frozen=True, slots=True)
class Unusable:
    """Why a contract can't be enforced: a stable `reason`, a `detail` in our own words, and the culprit itself.

    `documents`: where the reason is ``remote_ref``, the URIs of the documents that are lacking, without a fragment, and
    absolute where the schema says what they are relative to. They are the server's words.
    """

    reason: UnusableReason
    detail: str
    value: Any = field(default=None, repr=False, compare=False)
    documents: tuple[str, ...] = field(default=(), repr=False, compare=False)


ChangedPart = Literal["tool", "description", "inputSchema", "outputSchema", "annotations"]
ChangeKind = Literal["added", "removed", "changed"]
Effect = Literal["breaks", "loosens", "tightens", "changed"]


@final
@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two definitions of a tool.

    `effect`: ``breaks`` (a caller's arguments may no longer be taken, or a reader's data may be what it was not
    before), ``loosens`` (more arguments are taken), ``tightens`` (the data is still what it was, and less besides), or
    ``changed`` where that can't be told. `says` is the difference in safe words; `server` the key of the contracts.
    """

    tool: str
    part: ChangedPart
    kind: ChangeKind
    effect: Effect
    says: str
    server: str = ""

    def __repr__(self) -> str:
        tool = _words.name(self.tool)
        return f"Change({tool!r}, {self.part!r}, {self.kind!r}, {self.effect!r}, {self.says!r})"

    def describe(self) -> str:
        """One safe phrase: what differs, and what that does."""
        return self.says if self.effect == "changed" else f"{self.says} ({self.effect})"

    def to_dict(self) -> dict[str, str]:
        """JSON, with nothing of the server's in it but names that the contract declares."""
        return {"part": self.part, "kind": self.kind, "effect": self.effect, "says": self.says}


def violation(
    path: list[str | int],
    schema_path: list[str | int],
    keyword: str,
    expected: Any,
    value: Any,
    declared: frozenset[str],
) -> Violation:
    """A `Violation`, its words chosen so that nothing but declared names, types, counts and bounds is in them."""
    return Violation(
        pointer=_words.pointer(path),
        schema_pointer=_words.pointer(schema_path),
        keyword=keyword,
        expected=expected,
        found=json_type(value),
        value=value,
        shown=_words.shown_pointer(path, declared),
        says=_rule(keyword, expected, declared),
    )


_TYPES: Final = frozenset(JsonType.__args__)  # type: ignore[attr-defined]  # a Literal's own arguments
_BOUNDS: Final = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be over {}",
    "exclusiveMaximum": "must be under {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} elements",
    "maxItems": "must have at most {} elements",
    "minContains": "must have at least {} of the elements asked for",
    "maxContains": "must have at most {} of the elements asked for",
    "minProperties": "must have at least {} properties",
    "maxProperties": "must have at most {} properties",
}
_HUGE: Final = 1e300
_PLAIN: Final = {
    "additionalProperties": "has a property that is not allowed",
    "additionalItems": "has an element that is not allowed",
    "unevaluatedProperties": "has a property that is not allowed",
    "unevaluatedItems": "has an element that is not allowed",
    "uniqueItems": "must have no two equal elements",
    "const": "must be the one value that the schema names",
    "pattern": "must match the schema's pattern",
    "format": "must have the schema's format",
    "anyOf": "fits none of the alternatives",
    "oneOf": "must fit exactly one of the alternatives",
    "not": "fits what the schema excludes",
    "contains": "has too few or too many of the elements asked for",
    "dependentRequired": "lacks a property that another one asks for",
    "dependencies": "lacks a property that another one asks for",
    "propertyNames": "has a property name that is not allowed",
    "false": "must not be there",
}


def _tells(keyword: str, found: JsonType) -> bool:
    """Whether it tells anything of what type the value is: what is about one type alone is not about the type."""
    if keyword == "type" or keyword.endswith("_type"):  # the latter are pydantic's
        return True
    return found not in {"object", "array"} and keyword not in _BOUNDS and keyword not in {"pattern", "format"}


def _listed(expected: Any) -> list[Any]:
    return expected if is_array(expected) else [expected]


def _rule(keyword: str, expected: Any, declared: frozenset[str]) -> str:
    listed = _listed(expected)
    if keyword == "type":
        return "must be " + " or ".join(t for t in listed if t in _TYPES)
    if keyword == "required":
        return "must have " + ", ".join(_words.name(n) for n in listed[:5] if n in declared)
    if keyword == "enum":
        return f"must be one of {len(listed)} allowed values"
    if keyword in _BOUNDS and isinstance(expected, (int, float)):
        # a number of a thousand digits would be a way to write a text
        return _BOUNDS[keyword].format(f"{expected:.15g}" if abs(expected) < _HUGE else "a huge number")
    return _PLAIN.get(keyword, f"breaks the schema's {keyword}" if keyword.isalpha() else "breaks the schema")
