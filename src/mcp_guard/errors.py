"""The exception tree: what happened, whether the tool ran, whether a second sending is safe. No policy, no I/O.

::

    GuardError                           never raised itself
    ├── ToolExecutionError               the tool said isError
    ├── ContractError (RuntimeError)     the server broke its word
    │   ├── OutputValidationError
    │   ├── MissingStructuredContentError
    │   ├── MalformedResultError
    │   │   └── LimitExceededError
    │   ├── UnusableContractError
    │   ├── ContractChangedError
    │   ├── ToolNotListedError
    │   └── UnfinishedResultError
    ├── CallError                        there is no result to judge
    │   ├── ToolProtocolError
    │   ├── ToolTimeoutError (TimeoutError)
    │   ├── ConnectionLostError (ConnectionError)
    │   └── BudgetExhaustedError
    └── InvalidArgumentsError (ValueError)   never sent

`ContractError` is a `RuntimeError` because that is what the bare SDK raises: code written for it goes on working.

The fields are the constructor's keywords; the sentences are computed from them. `str`, `repr` and `to_dict` hold
nothing that the server or the caller's arguments said but names that the contract declares; the rest is in the
attributes, for the caller. A pickle holds besides what an error can't do without where it is unpickled: the pointers of
violations, and what the peer said of its own failure (`ToolExecutionError`, `ToolProtocolError`).
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Literal, get_args

from mcp_guard import _words
from mcp_guard._facts import (
    Change,
    JsonType,
    Problem,
    ToolFailure,
    UnusableReason,
    Violation,
    is_array,
    is_object,
)

Outcome = Literal["not_sent", "rejected", "executed", "unknown"]
"""What became of the call at the server: never sent; refused before the tool ran; the tool ran; nobody knows."""

_OUTCOMES: dict[Outcome, str] = {
    "not_sent": "nothing was sent",
    "rejected": "the server says that it refused the call",
    "executed": "the tool already ran",
    "unknown": "it is not known whether the tool ran",
}
_ADVICE: dict[Outcome, str] = {
    "not_sent": "Nothing was sent.",
    "rejected": "The server refused the call.",
    "executed": "The tool has already run: do not call it again only because of this.",
    "unknown": "It may have run: do not call it again before checking.",
}
_ADVICE_SAFE: dict[Outcome, str] = {
    **_ADVICE,
    "executed": "The tool has already run; calling it again does no harm.",
    "unknown": "It may have run; calling it again does no harm.",
}
"""Of a tool that the user named in `safe`."""
_SILENT = ToolFailure()
_KNOWN_RESULT_TYPES = frozenset({"input_required", "task"})


@dataclass(kw_only=True, eq=False, repr=False)
class GuardError(Exception):
    """What every error of mcp_guard carries. Never raised itself.

    Errors pickle, copy and compare by value. A pickle holds neither `result` nor `sdk_error` nor the value of a
    `Violation`; equality ignores them.
    """

    kind: ClassVar[str]
    """A stable snake_case code of the class."""
    can_change: ClassVar[bool] = True
    """Whether the same call could end differently at another time."""

    tool: str | None = None
    """The tool's name on the wire."""
    outcome: Outcome = "executed"
    """What became of the call: ``not_sent``, ``rejected``, ``executed`` or ``unknown``."""
    named_safe: bool = False
    """Whether the user named the tool in `safe`: it may run twice."""
    call_id: str | None = None
    """The id of the call, the same as in its record."""
    attempts: tuple[GuardError, ...] = ()
    """How earlier attempts of the same call ended, the first one first; see `Retry`."""
    result: Any = None
    """The raw result where there was one: a dict, or the SDK's own object. Untrusted; for the caller only."""
    sdk_error: BaseException | None = None
    """The SDK's own exception where there was one. Its text may quote the server; for the caller only."""

    @property
    def retry_safe(self) -> bool:
        """A second sending can do no harm: nothing was sent, or the user named the tool in `safe`."""
        return self.outcome == "not_sent" or self.named_safe

    @property
    def retryable(self) -> bool:
        """Safe to send again, and it could end differently: the predicate to give a retry library."""
        return self.retry_safe and self.can_change

    def __str__(self) -> str:
        of = f"{_words.name(self.tool)}: " if self.tool is not None else ""
        room = _words.LINE_LENGTH - len(of) - 60
        return _words.line(f"{of}{_words.cut(self._sentence(), room)}; {_OUTCOMES[self.outcome]}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def to_dict(self) -> dict[str, Any]:
        """The error as JSON: kind, tool, outcome, retry_safe, retryable, call_id, attempts, message and its own facts.

        Of earlier attempts it has kind and outcome.
        """
        return {
            "kind": self.kind,
            "tool": None if self.tool is None else _words.name(self.tool),
            "outcome": self.outcome,
            "retry_safe": self.retry_safe,
            "retryable": self.retryable,
            "call_id": self.call_id,
            "attempts": [{"kind": each.kind, "outcome": each.outcome} for each in self.attempts],
            "message": str(self),
            **self._details(),
        }

    def for_model(self) -> str:
        """At most 300 characters that tell a language model what happened and whether to call again.

        Only `ToolExecutionError` quotes what the peer said, marked as its words: that text was meant for the model.
        """
        return _words.for_model(self._to_model())

    def explain(self, *, values: bool = False) -> str:
        """Several lines for the developer's own terminal.

        With `values`, also what the server sent: the offending values and the schema's own words, escaped and cut.
        They are untrusted: don't log them, don't show them to a model.
        """
        of = f" of {_words.name(self.tool)}" if self.tool is not None else ""
        lines = [f"{type(self).__name__} ({self.kind}){of}", f"  {self._headline()}"]
        lines += [f"  {x}" for x in self._explanation(_quoted if values else None)]
        again = "yes" if self.retry_safe else "no"
        lines.append(f"  outcome: {self.outcome} ({_OUTCOMES[self.outcome]}); safe to send again: {again}")
        lines += [f"  an earlier attempt: {each.kind}, {each.outcome}" for each in self.attempts]
        if self.call_id is not None:
            lines.append(f"  call: {_words.name(self.call_id)}")
        return "\n".join(_words.cut(line, _words.LINE_LENGTH) for line in lines)

    def _sentence(self) -> str:
        return self.kind

    def _headline(self) -> str:
        """The sentence without its particulars."""
        return self._sentence()

    def _told(self) -> str:
        """The sentence as it is for a model."""
        return self._sentence()

    def _to_model(self) -> str:
        named = f"The call of the tool {_words.name(self.tool)}" if self.tool is not None else "The call"
        advice = (_ADVICE_SAFE if self.named_safe else _ADVICE)[self.outcome]
        room = _words.MODEL_LENGTH - len(named) - len(advice) - len(" failed: . ")
        return f"{named} failed: {_words.cut(self._told(), room)}. {advice}"

    def _details(self) -> dict[str, Any]:
        return {}

    def _explanation(self, quoted: Callable[[Any], str] | None) -> list[str]:  # noqa: ARG002  # for the subclasses
        return []

    def _state(self) -> dict[str, Any]:
        """What is pickled and compared: every field but what the server said."""
        return {k: v for k, v in self.__dict__.items() if k not in {"result", "sdk_error"}}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and type(other) is type(self) and self._state() == other._state()

    def __hash__(self) -> int:
        return hash((type(self), self.tool, self.outcome, self.call_id))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self._state())

    def __copy__(self) -> GuardError:
        return _rebuilt(type(self), self.__dict__)

    def __deepcopy__(self, memo: dict[int, Any]) -> GuardError:
        return self.__copy__()  # what came from the server is not changed by anyone, and may be deep


def _rebuilt(cls: type[GuardError], state: dict[str, Any]) -> GuardError:
    error = cls()
    error.__dict__.update(state)
    return error


class _Short(reprlib.Repr):
    """A `repr` of bounded work, whatever came: a refused result may be deeper than Python can recurse."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxdict, self.maxlist = 4, 8, 8
        self.maxstring, self.maxother = 120, 120

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        # the base class sorts all keys first
        if not x or level <= 0:
            return "{...}" if x else "{}"
        first = islice(x.items(), self.maxdict)
        members = [f"{self.repr1(name, level - 1)}: {self.repr1(value, level - 1)}" for name, value in first]
        return "{" + ", ".join([*members, *(["..."] if len(x) > self.maxdict else [])]) + "}"

    def repr_int(self, x: int, level: int) -> str:  # noqa: ARG002  # the base class's signature
        # Python refuses to write out more than 4300 digits
        return repr(x) if x.bit_length() < 200 else f"<integer of {x.bit_length()} bits>"  # noqa: PLR2004  # 60 digits


def _quoted(value: Any) -> str:
    return _words.cut(_words.escape(_Short().repr(value)), 200)


def _outlined(violations: tuple[Violation, ...], *, truncated: bool) -> str:
    """The first violations in words, then how many more there are."""
    if not violations:
        return "no place could be named"
    told = "; ".join(v.describe() for v in violations[:3])
    more = len(violations) - 3
    if more > 0:
        told += f" (+{more}{' or more' if truncated else ''})"
    elif truncated:
        told += " (and more)"
    return told


def _listed(violations: tuple[Violation, ...], quoted: Callable[[Any], str] | None) -> list[str]:
    lines: list[str] = []
    for v in violations:
        if quoted is None:
            lines.append(v.describe())
            continue
        place = _words.cut(_words.escape(v.pointer), 200) or "the root"
        lines.append(f"{place} {v.says}{v.finding}")
        lines.append(f"    value:  {quoted(v.value)}")
        if not v.schema_pointer:  # of the caller's own type
            continue
        at = _words.cut(_words.escape(v.schema_pointer), 200)
        lines.append(f"    schema: {v.keyword} = {quoted(v.expected)} at #{at}")
    return lines


@dataclass(kw_only=True, eq=False, repr=False)
class ToolExecutionError(GuardError):
    """The tool itself reported an error: `isError` was true (specification, server/tools, Error Handling).

    So it is where a reader that `guard` was given takes the answer for a failure.
    """

    kind: ClassVar[str] = "tool_error"
    failure: ToolFailure = _SILENT
    """What the tool said, as far as it is machine-made; its text in `failure.text`. Untrusted."""

    @property
    def retryable(self) -> bool:
        """Safe to send again, and the tool did not say that it is no use."""
        return self.retry_safe and self.failure.retryable is not False

    def _sentence(self) -> str:
        kind = self.failure.shown_kind
        return "the tool reported an error" + (f" ({kind})" if kind and kind != "*" else "")

    def for_model(self) -> str:
        """At most 300 characters; the tool's own text stands in quotation marks at its end."""
        ours = f"The tool {_words.name(self.tool or '')} ran and reported an error."
        return _words.for_model(ours, self.failure.text.strip())

    def _details(self) -> dict[str, Any]:
        f = self.failure
        return {"failure": {"kind": f.shown_kind, "retryable": f.retryable, "retry_after": f.retry_after}}

    def _explanation(self, quoted: Callable[[Any], str] | None) -> list[str]:
        f = self.failure
        lines = [f"kind: {f.shown_kind}, retryable: {f.retryable}, retry after: {f.retry_after}"]
        if quoted is not None:
            lines += [f"text:       {quoted(f.text)}", f"payload:    {quoted(f.payload)}"]
            lines.append(f"request id: {quoted(f.request_id)}")
        return lines


@dataclass(kw_only=True, eq=False, repr=False)
class ContractError(GuardError, RuntimeError):
    """The server broke its word. Never raised itself."""

    deviation: str | None = None
    """The code of the deviation where it was one that the policy raises on."""


@dataclass(kw_only=True, eq=False, repr=False)
class OutputValidationError(ContractError):
    """The data does not fit the outputSchema, or not the type that the caller asked for."""

    kind: ClassVar[str] = "output_violation"
    violations: tuple[Violation, ...] = ()
    """Where and how, sorted; at most `Limits.violations`."""
    source: Literal["structured", "text", "type"] = "structured"
    """What did not fit: the structured content, the text read in its place, or (``type``) what the caller asked for
    with `into` or `paginate`."""
    truncated: bool = False
    """Whether there are more violations than are kept."""

    def _sentence(self) -> str:
        if self.deviation == "text_differs":
            return self._headline()
        return f"{self._headline()}: {_outlined(self.violations, truncated=self.truncated)}"

    def _headline(self) -> str:
        if self.deviation == "text_differs":
            return "the text block's JSON says something else than the structured content"
        what, against = {
            "structured": ("the structured content", "its outputSchema"),
            "text": ("the text", "the outputSchema"),
            "type": ("the data", "the type that the caller asked for"),
        }[self.source]
        return f"{what} does not fit {against}"

    def _details(self) -> dict[str, Any]:
        return {
            "violations": [v.to_dict() for v in self.violations],
            "source": self.source,
            "truncated": self.truncated,
        }

    def _explanation(self, quoted: Callable[[Any], str] | None) -> list[str]:
        lines = _listed(self.violations, quoted)
        if self.truncated:
            lines.append("... and more")
        if self.source == "type":
            return [*lines, "what to do: change the type given as into=, or what paginate looks for; or do without"]
        if self.deviation == "text_differs":
            return [
                *lines,
                "what to do: tell the server's author; replace(STRICT, compare_text=False) does not compare",
            ]
        override = f'"{_words.name(self.tool or "*")}": replace(ENFORCE, violating="report")'
        return [
            *lines,
            "what to do: tell the server's author the places above; until it is mended, have this tool reported:",
            f"            guard(..., overrides={{{override}}})",
        ]


@dataclass(kw_only=True, eq=False, repr=False)
class MissingStructuredContentError(ContractError):
    """There is no structured content, and the text can't stand in for it (server/tools, Output Schema)."""

    kind: ClassVar[str] = "structured_missing"
    reason: str = "no_text"
    """``fallback_off``, ``no_text``, ``text_too_large``, ``ambiguous``, ``text_not_json`` or ``no_reading``; or the
    code of the deviation that the policy raises on."""

    def _sentence(self) -> str:
        return self._headline() + ("; call_tool hands out the content blocks" if self.reason == "no_text" else "")

    def _headline(self) -> str:
        return f"there is no structured content, and {_MISSING.get(self.reason, 'the text does not replace it')}"

    def _told(self) -> str:
        return self._headline()

    def _details(self) -> dict[str, Any]:
        return {"reason": self.reason}

    def _explanation(self, quoted: Callable[[Any], str] | None) -> list[str]:
        lines = [f"reason: {self.reason}"]
        if quoted is not None:
            lines.append(f"result: {quoted(self.result)}")
        return [*lines, "what to do: `call_tool` hands out the result as it is, under a policy that does not raise"]


_MISSING = {
    "fallback_off": "the policy does not read the text",
    "no_text": "there is no text either",
    "text_too_large": "the text is too large to be read",
    "ambiguous": "the text can be read in more than one way",
    "text_not_json": "the text is no JSON",
    "no_reading": "no reading of the text blocks fits",
    "structured_missing": "the policy does not accept the text in its place",
    "text_verbatim": "the policy does not accept the raw text in its place",
}


@dataclass(kw_only=True, eq=False, repr=False)
class MalformedResultError(ContractError):
    """The answer is no tool result (specification, schema, CallToolResult)."""

    kind: ClassVar[str] = "malformed_result"
    problems: tuple[Problem, ...] = ()
    """What is wrong, each with a stable `code`."""

    def _sentence(self) -> str:
        return "the answer is no valid tool result: " + ", ".join(p.code for p in self.problems)

    def _details(self) -> dict[str, Any]:
        return {"problems": [p.code for p in self.problems]}

    def _explanation(self, quoted: Callable[[Any], str] | None) -> list[str]:
        lines = [f"{p.code}: {_PROBLEMS.get(p.code, 'it deviates from the specification')}" for p in self.problems]
        return [*lines, f"result: {quoted(self.result)}"] if quoted is not None else lines


_PROBLEMS = {
    "not_an_object": "a tool result is a JSON object",
    "content_missing": "`content` is required, as an array",
    "content_type": "`content` is no array",
    "block_type": "a content block is no object",
    "error_flag": "`isError` is no boolean",
    "not_finite": "NaN and infinities are no JSON (RFC 8259)",
    "surrogate": "half of a surrogate pair is no character",
    "not_json": "there is a Python value in it that is no JSON",
    "not_jsonrpc": "it is no JSON-RPC response: `jsonrpc` is wrong, or not one of `result` and `error` is there",
    "unparsable": "the SDK could not parse it, and it is lost; connect() keeps such answers",
    "too_deep": "it is nested deeper than Limits.depth",
    "too_many_nodes": "it has more values than Limits.nodes",
    "too_large": "it has more text than Limits.result_bytes",
}


@dataclass(kw_only=True, eq=False, repr=False)
class LimitExceededError(MalformedResultError):
    """The answer crosses one of the `Limits`."""

    kind: ClassVar[str] = "limit_exceeded"
    limit: str | None = None
    """The field of `Limits` that was crossed."""
    allowed: int | None = None
    """What it allows."""
    found: int | None = None
    """What was found until counting stopped."""

    def _sentence(self) -> str:
        return f"the answer is over Limits.{self.limit}: {self.allowed} allowed, {self.found} or more found"

    def _details(self) -> dict[str, Any]:
        return {**super()._details(), "limit": self.limit, "allowed": self.allowed, "found": self.found}


@dataclass(kw_only=True, eq=False, repr=False)
class UnusableContractError(ContractError):
    """What the server published can't be enforced, so nothing can be promised about the tool's data."""

    kind: ClassVar[str] = "contract_unusable"
    can_change: ClassVar[bool] = False
    reason: UnusableReason | Literal["undeclared", "listing_failed"] = "invalid_schema"
    """``invalid_schema unknown_dialect dangling_ref remote_ref endless_ref too_complex ambiguous``; ``undeclared``: no
    outputSchema and the policy asks for one; ``listing_failed``: the SDK refused the server's listing."""
    detail: str = ""
    """More about it, in our own words."""

    @property
    def retryable(self) -> bool:
        """True only where the listing failed: the next one may not."""
        return self.retry_safe and self.reason == "listing_failed"

    def _sentence(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        return f"{_UNUSABLE.get(self.reason, 'its contract cannot be used')}{detail}"

    def _details(self) -> dict[str, Any]:
        return {"reason": self.reason, "detail": _words.line(self.detail)}

    def _explanation(self, quoted: Callable[[Any], str] | None) -> list[str]:  # noqa: ARG002  # nothing of the server's in it
        return [f"reason: {self.reason}", "what to do: tell the server's author; Contract.unusable has the place"]


_UNUSABLE = {
    "invalid_schema": "its outputSchema is no valid JSON Schema",
    "unknown_dialect": "its outputSchema is in a JSON Schema dialect that is not supported",
    "dangling_ref": "its outputSchema has a reference that leads nowhere",
    "remote_ref": "its outputSchema refers to another document, which is not fetched",
    "endless_ref": "its outputSchema has references that lead back to themselves",
    "too_complex": "its outputSchema is over the limits",
    "ambiguous": "the server lists different tools of this name",
    "undeclared": "it has no outputSchema, and the policy asks for one",
    "listing_failed": "the server's tool listing could not be read",
}


@dataclass(kw_only=True, eq=False, repr=False)
class ContractChangedError(ContractError):
    """The contract is not the one that was pinned or approved."""

    kind: ClassVar[str] = "contract_changed"
    can_change: ClassVar[bool] = False
    changes: tuple[Change, ...] = ()
    """What differs, and what that does."""

    def _sentence(self) -> str:
        told = "; ".join(change.describe() for change in self.changes[:3])
        more = len(self.changes) - 3
        return "its contract changed" + (f": {told}" if told else "") + (f" (+{more})" if more > 0 else "")

    def _details(self) -> dict[str, Any]:
        return {"changes": [change.to_dict() for change in self.changes]}

    def _explanation(self, quoted: Callable[[Any], str] | None) -> list[str]:  # noqa: ARG002  # nothing of the server's in it
        return [
            *(change.describe() for change in self.changes),
            "what to do: ask the server's author whether it is meant; the lock file has the definitions as they were",
            "to accept what the server lists now: (await tools.refresh()).save(path of the lock file)",
        ]


@dataclass(kw_only=True, eq=False, repr=False)
class ToolNotListedError(ContractError):
    """The server does not list this tool, and the policy asks for a listed one."""

    kind: ClassVar[str] = "tool_unlisted"

    def _sentence(self) -> str:
        return "the server does not list this tool"

    def _explanation(self, quoted: Callable[[Any], str] | None) -> list[str]:  # noqa: ARG002  # nothing of the server's in it
        return ["what to do: look for the name among those in `tools.contracts`"]


@dataclass(kw_only=True, eq=False, repr=False)
class UnfinishedResultError(ContractError):
    """The answer is not final: `resultType` is not ``complete`` (specification 2026-07-28, basic, ResultType)."""

    kind: ClassVar[str] = "unfinished_result"
    result_type: str = ""
    """What the server said: ``input_required``, ``task``, or a word of its own."""

    def _sentence(self) -> str:
        return f"the answer is not final (resultType {shown_result_type(self.result_type)})"

    def _details(self) -> dict[str, Any]:
        return {"result_type": shown_result_type(self.result_type)}

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "result_type": shown_result_type(self.result_type)}


def shown_result_type(result_type: str) -> str:
    """`resultType` where it is one of the specification's words; ``*`` for the server's own."""
    return result_type if result_type in _KNOWN_RESULT_TYPES else "*"


@dataclass(kw_only=True, eq=False, repr=False)
class CallError(GuardError):
    """There is no result to judge. Never raised itself."""


_HUGE_CODE = 1 << 53


@dataclass(kw_only=True, eq=False, repr=False)
class ToolProtocolError(CallError):
    """The server answered with a JSON-RPC error (specification, basic, Error Codes)."""

    kind: ClassVar[str] = "protocol_error"
    code: int = 0
    """The JSON-RPC error code, as sent."""
    message: str = ""
    """The peer's words. Untrusted."""
    data: Any = None
    """The peer's data, as sent. Untrusted."""

    def _sentence(self) -> str:
        return f"the server answered with the JSON-RPC error {'*' if self._shown_code is None else self.code}"

    @property
    def _shown_code(self) -> int | None:
        # a number of a thousand digits would be a way to write a text
        return self.code if abs(self.code) < _HUGE_CODE else None

    def _details(self) -> dict[str, Any]:
        return {"code": self._shown_code}

    def _explanation(self, quoted: Callable[[Any], str] | None) -> list[str]:
        if quoted is None:
            return []
        return [f"message: {quoted(self.message)}", f"data:    {quoted(self.data)}"]


@dataclass(kw_only=True, eq=False, repr=False)
class ToolTimeoutError(CallError, TimeoutError):
    """No answer came in time."""

    kind: ClassVar[str] = "timeout"
    seconds: float | None = None
    """The time that was allowed, in seconds; `None` where the session's own timeout struck."""

    def _sentence(self) -> str:
        return "no answer came in time" + (f" ({self.seconds:g} s)" if self.seconds is not None else "")

    def _details(self) -> dict[str, Any]:
        return {"seconds": self.seconds}


@dataclass(kw_only=True, eq=False, repr=False)
class ConnectionLostError(CallError, ConnectionError):
    """The connection to the server was lost, or was already gone."""

    kind: ClassVar[str] = "connection_lost"

    def _sentence(self) -> str:
        return "the connection to the server is lost"


@dataclass(kw_only=True, eq=False, repr=False)
class BudgetExhaustedError(CallError):
    """The ambient `Budget` lets nothing more be sent: of this call nothing was, or no further round."""

    kind: ClassVar[str] = "budget_exhausted"
    can_change: ClassVar[bool] = False
    limit: Literal["attempts", "seconds", "repeat"] = "attempts"
    """What is spent; ``repeat``: the same call may already have run inside this budget."""

    @property
    def retry_safe(self) -> bool:
        """False for ``repeat``: of this call nothing was sent, but the one before it may have run."""
        return self.limit != "repeat" and super().retry_safe

    def _sentence(self) -> str:
        if self.limit == "repeat":
            return "the same call may already have run, and the budget allows no repeat"
        return f"the budget is spent ({self.limit})"

    def _details(self) -> dict[str, Any]:
        return {"limit": self.limit}


@dataclass(kw_only=True, eq=False, repr=False)
class InvalidArgumentsError(GuardError, ValueError):
    """The arguments do not fit the tool's inputSchema; nothing was sent."""

    kind: ClassVar[str] = "invalid_arguments"
    can_change: ClassVar[bool] = False
    violations: tuple[Violation, ...] = ()
    """Where and how, sorted; at most `Limits.violations`."""
    truncated: bool = False
    """Whether there are more violations than are kept."""

    def _sentence(self) -> str:
        return f"{self._headline()}: {_outlined(self.violations, truncated=self.truncated)}"

    def _headline(self) -> str:
        return "the arguments do not fit its inputSchema"

    def _to_model(self) -> str:
        told = [_with_choice(v) for v in self.violations[:3]]
        return f"The tool {_words.name(self.tool or '')} was not called: correct the arguments. {'; '.join(told)}."

    def _details(self) -> dict[str, Any]:
        return {"violations": [v.to_dict() for v in self.violations], "truncated": self.truncated}

    def _explanation(self, quoted: Callable[[Any], str] | None) -> list[str]:
        return [*_listed(self.violations, quoted), "what to do: correct the arguments at the places above"]


_CHOICES = 8


def _with_choice(violation: Violation) -> str:
    """A violation for the model; the allowed values of an enum are named, so that it can correct itself."""
    asked: Any = violation.expected
    expected = asked if is_array(asked) else []
    values: list[Any] = expected if violation.keyword == "enum" else []
    others: list[str] = []
    if violation.keyword in {"anyOf", "oneOf"}:
        values = [x for each in expected for x in _enum(each)]
        others = [_kind(each) for each in expected if not _enum(each)]
    if not values:
        return violation.describe()
    named = ", ".join(_words.cut(_quoted(x), 40) for x in values[:_CHOICES])
    more = f" (+{len(values) - _CHOICES})" if len(values) > _CHOICES else ""
    told = " or ".join([named + more, *dict.fromkeys(others)])
    return f"{violation.shown or 'the root'} must be one of {told}, found {violation.found}"


def _enum(schema: Any) -> list[Any]:
    values = schema.get("enum") if is_object(schema) else None
    return values if is_array(values) else []


def _kind(schema: Any) -> str:
    """An alternative that is no list of values, in our own words."""
    kind = schema.get("type") if is_object(schema) else None
    if isinstance(kind, str) and kind in get_args(JsonType):
        return f"of type {kind}"
    return "what another alternative asks for"
