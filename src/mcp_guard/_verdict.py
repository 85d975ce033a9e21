"""The verdicts: the fact about one result, given its contract. No consequence in it; only `unwrap` raises."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, TypeAlias, final

from mcp_guard import _words, errors
from mcp_guard._facts import OVER_LIMIT, Deviation, Problem, ToolFailure, UnusableReason, Violation

MissingReason = Literal["fallback_off", "no_text", "text_too_large", "ambiguous", "text_not_json", "no_reading"]
Source = Literal["structured", "text"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Fact:
    tool: str | None = None
    """The tool's name on the wire."""
    deviations: tuple[Deviation, ...] = ()
    """What is off about the result without making its data wrong."""
    result: Any = field(default=None, repr=False, compare=False)
    """What came, as it was given. Untrusted."""

    def __repr__(self) -> str:
        shown = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.repr}
        shown["tool"] = _shown(self.tool)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


@final
@dataclass(frozen=True, slots=True, repr=False)
class Conforming(_Fact):
    """The data fits the contract. `value` is as validated, a wrapper still on; `source` is where it was found."""

    value: Any = field(repr=False)
    source: Source

    def unwrap(self) -> Any:
        """The value."""
        return self.value


@final
@dataclass(frozen=True, slots=True, repr=False)
class Violating(_Fact):
    """The data does not fit the contract. `violations`: where and how; `truncated`: there are more than are kept."""

    value: Any = field(repr=False)
    source: Source
    violations: tuple[Violation, ...]
    truncated: bool

    def unwrap(self) -> NoReturn:
        """Raise what the verdict says.

        Raises:
            OutputValidationError: Always.
        """
        _raise(self)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Missing(_Fact):
    """There is no structured content although the contract asks for it, and the text can't stand in for it."""

    reason: MissingReason

    def unwrap(self) -> NoReturn:
        """Raise what the verdict says.

        Raises:
            MissingStructuredContentError: Always.
        """
        _raise(self)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Errored(_Fact):
    """The tool failed: it said `isError`, or a reader of the user's tells it. Nothing of its answer counts as data."""

    failure: ToolFailure

    def unwrap(self) -> NoReturn:
        """Raise what the verdict says.

        Raises:
            ToolExecutionError: Always.
        """
        _raise(self)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Malformed(_Fact):
    """The answer is no tool result, or over `Limits`."""

    problems: tuple[Problem, ...]

    def unwrap(self) -> NoReturn:
        """Raise what the verdict says.

        Raises:
            LimitExceededError: The answer crosses one of the `Limits`.
            MalformedResultError: It is no tool result.
        """
        _raise(self)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Unenforceable(_Fact):
    """The contract can't be enforced. `value` is the structured content, unjudged, or `None`."""

    value: Any = field(repr=False)
    reason: UnusableReason
    detail: str = field(default="", kw_only=True)

    def unwrap(self) -> NoReturn:
        """Raise what the verdict says.

        Raises:
            UnusableContractError: Always.
        """
        _raise(self)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Unchecked(_Fact):
    """There is nothing to hold the data against. `value` is the structured content, or `None`."""

    value: Any = field(repr=False)
    reason: Literal["unlisted", "undeclared"]

    def unwrap(self) -> Any:
        """The value."""
        return self.value


@final
@dataclass(frozen=True, slots=True, repr=False)
class Unfinished(_Fact):
    """The answer is not the final one: `result_type` is what the server said instead of ``complete``."""

    result_type: str = field(repr=False)

    def __repr__(self) -> str:
        return f"Unfinished({errors.shown_result_type(self.result_type)!r}, tool={_shown(self.tool)!r})"

    def unwrap(self) -> NoReturn:
        """Raise what the verdict says.

        Raises:
            UnfinishedResultError: Always.
        """
        _raise(self)


Verdict: TypeAlias = Conforming | Violating | Missing | Errored | Malformed | Unenforceable | Unchecked | Unfinished


def _shown(tool: str | None) -> str | None:
    return None if tool is None else _words.name(tool)


def with_deviation(verdict: Verdict, deviation: Deviation) -> Verdict:
    """The same verdict with one deviation more; they stay sorted by code."""
    deviations = sorted({*verdict.deviations, deviation}, key=lambda d: d.code)
    return dataclasses.replace(verdict, deviations=tuple(deviations))


def as_error(verdict: Verdict, *, call_id: str | None = None, named_safe: bool = False) -> errors.GuardError | None:
    """The error that says what the verdict says; `None` where there is nothing to say."""
    context: dict[str, Any] = {
        "tool": verdict.tool,
        "result": verdict.result,
        "call_id": call_id,
        "named_safe": named_safe,
    }
    match verdict:
        case Conforming() | Unchecked():
            return None
        case Violating(source=source, violations=violations, truncated=truncated):
            return errors.OutputValidationError(source=source, violations=violations, truncated=truncated, **context)
        case Missing(reason=reason):
            return errors.MissingStructuredContentError(reason=reason, **context)
        case Errored(failure=failure):
            return errors.ToolExecutionError(failure=failure, **context)
        case Malformed(problems=problems):
            for p in problems:
                if p.code in OVER_LIMIT:
                    return errors.LimitExceededError(
                        problems=problems, limit=p.limit, allowed=p.allowed, found=p.found, **context
                    )
            return errors.MalformedResultError(problems=problems, **context)
        case Unenforceable(reason=reason, detail=detail):
            return errors.UnusableContractError(reason=reason, detail=detail, **context)
        case Unfinished(result_type=result_type):
            return errors.UnfinishedResultError(result_type=result_type, outcome="unknown", **context)


def _raise(verdict: Verdict) -> NoReturn:
    error = as_error(verdict)
    if error is None:  # pragma: no cover  # only verdicts without a value come here
        raise AssertionError(verdict)
    try:
        raise error
    finally:
        del error  # else the error, its traceback and this frame keep each other alive, and the result with them
