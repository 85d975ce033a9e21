"""From a verdict and what the policy decided to what the caller gets: data, the SDK's own result, or an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcp_guard import errors
from mcp_guard._decision import Decision
from mcp_guard._facts import Problem, is_object
from mcp_guard._judge import Call
from mcp_guard._result import ToolResult
from mcp_guard._sdk import Seam
from mcp_guard._verdict import (
    Conforming,
    Errored,
    Malformed,
    Missing,
    Unchecked,
    Unenforceable,
    Unfinished,
    Verdict,
    as_error,
)

if TYPE_CHECKING:
    from mcp_guard._into import Into


def data_of(
    call: Call, verdict: Verdict, result: ToolResult, decision: Decision, into: Into[Any] | None
) -> tuple[Decision, Any]:
    """The data that `call` gives. Where there is none, it is an error under every policy."""
    if decision.action == "raise":
        return decision, None
    if isinstance(verdict, (Missing, Errored, Malformed, Unfinished)):
        return Decision("raise", as_error(verdict, call_id=call.id, named_safe=call.named_safe)), None
    value = verdict.value
    if isinstance(verdict, (Unchecked, Unenforceable)) and not result.has_structured:
        if not any(text.strip() for text in result.texts):
            missing = errors.MissingStructuredContentError(reason="no_text", **call.context(result=result.raw))
            return Decision("raise", missing), None
        value = "\n".join(result.texts) if into is None else into.read(result.texts, call.policy.limits)
    elif is_object(value) and len(value) == 1 and "result" in value and _is_wrapped(call, result):
        value = value["result"]
    if into is None:
        return decision, value
    schema = None if call.contract is None else call.contract.output
    taken, misfit = into.take(value, frozenset() if schema is None else schema.names)
    if misfit is None:
        return decision, taken
    error = errors.OutputValidationError(
        source="type", violations=misfit.violations, **call.context(result=result.raw, sdk_error=misfit.cause)
    )
    return Decision("raise", error), None


def _is_wrapped(call: Call, result: ToolResult) -> bool:
    """Whether the server says that the one property is a wrapper. Its name alone says nothing."""
    return result.marked_wrapped or (call.contract is not None and call.contract.wrapped)


def sdk_result(
    call: Call, verdict: Verdict, result: ToolResult, decision: Decision, seam: Seam, options: Mapping[str, Any]
) -> tuple[Decision, Any]:
    """The SDK's own result that `call_tool` gives: never changed, a copy where the value was read from the text."""
    if isinstance(verdict, Unfinished) and _asked_for(verdict, options):
        return Decision("allow", None), result.raw
    if decision.action == "raise":
        return decision, None
    try:
        if isinstance(verdict, Conforming) and verdict.source == "text" and not call.policy.observes:
            sent = result.body.get("_meta")
            meta = {**(sent if is_object(sent) else {}), "mcp-guard/source": "text"}
            return decision, seam.filled(result.raw, verdict.value, meta)
        return decision, seam.to_sdk(result.raw)
    except ValueError as exc:
        problems = (Problem("unparsable"),)
        error = errors.MalformedResultError(problems=problems, **call.context(result=result.raw, sdk_error=exc))
        return Decision("raise", error), None


def _asked_for(verdict: Unfinished, options: Mapping[str, Any]) -> bool:
    """Whether the caller drives the rounds, or takes claimed results, by hand: then it is the caller's to read."""
    if verdict.result_type == "input_required":
        return bool(options.get("allow_input_required"))
    return bool(options.get("allow_claimed")) and not hasattr(verdict.result, "content")


def as_fact(_call: Call, verdict: Verdict, _result: ToolResult, decision: Decision) -> tuple[Decision, Verdict]:
    """The verdict that `judge` gives: nothing is raised about a result."""
    return (Decision("report", decision.error) if decision.action == "raise" else decision), verdict
