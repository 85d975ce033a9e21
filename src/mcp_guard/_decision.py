"""From fact to consequence: what a policy says to do about a verdict, and with which error. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from mcp_guard import errors
from mcp_guard._contract import Contract
from mcp_guard._facts import Change, Deviation, Problem
from mcp_guard._verdict import (
    Conforming,
    Errored,
    Malformed,
    Missing,
    Unchecked,
    Unenforceable,
    Unfinished,
    Verdict,
    Violating,
    as_error,
)
from mcp_guard.policy import Action, Policy


@final
@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done, and the error: raised where the action is ``raise``, else what the verdict amounts to."""

    action: Action
    error: errors.GuardError | None


def decide(
    verdict: Verdict,
    policy: Policy,
    contract: Contract | None,
    *,
    call_id: str | None = None,
    named_safe: bool = False,
) -> Decision:
    """Hold one verdict and its deviations against a policy."""
    if isinstance(verdict, Conforming) and not verdict.deviations:
        return NOTHING
    context: dict[str, Any] = {"call_id": call_id, "named_safe": named_safe}
    action = _on_verdict(verdict, policy)
    error = as_error(verdict, **context)
    about = {"tool": verdict.tool, "result": verdict.result, **context}
    if action == "raise" and isinstance(verdict, Unchecked):
        return Decision("raise", _unchecked(verdict, about))
    if action == "raise" and error is not None:
        return Decision("raise", error)
    on_deviations = [policy.on_deviation(d.code) for d in verdict.deviations]
    for deviation, do in zip(verdict.deviations, on_deviations, strict=True):
        if do == "raise":
            return Decision("raise", _deviating(deviation, verdict, policy, contract, about))
    return Decision("report" if "report" in (action, *on_deviations) else "allow", error)


NOTHING: Final = Decision("allow", None)
"""About a result that conforms, with nothing off about it."""


def _on_verdict(verdict: Verdict, policy: Policy) -> Action:
    match verdict:
        case Conforming():
            return "allow"
        case Violating():
            return policy.violating
        case Missing():
            return policy.missing
        case Errored():
            return policy.errored
        case Malformed():
            return policy.malformed
        case Unenforceable():
            return policy.unenforceable
        case Unfinished():
            return policy.unfinished
        case Unchecked(reason=reason):
            return policy.unlisted if reason == "unlisted" else policy.undeclared


def _unchecked(verdict: Unchecked, about: dict[str, Any]) -> errors.GuardError:
    if verdict.reason == "unlisted":
        return errors.ToolNotListedError(**about)
    return errors.UnusableContractError(reason="undeclared", **about)


def _deviating(
    deviation: Deviation, verdict: Verdict, policy: Policy, contract: Contract | None, about: dict[str, Any]
) -> errors.GuardError:
    """The error for a deviation that the policy raises on."""
    about["deviation"] = code = deviation.code
    match code:
        case "format" if isinstance(verdict, Conforming) and contract is not None and contract.output is not None:
            violations, truncated = contract.output.violations(
                verdict.value, formats=True, limit=policy.limits.violations
            )
            return errors.OutputValidationError(
                source=verdict.source, violations=violations, truncated=truncated, **about
            )
        case "text_differs":
            return errors.OutputValidationError(**about)
        case "structured_missing" | "text_verbatim":
            return errors.MissingStructuredContentError(reason=code, **about)
        case "contract_changed":
            says = "the outputSchema is another one since the call was sent"
            change = Change(verdict.tool or "", "outputSchema", "changed", "changed", says)
            return errors.ContractChangedError(changes=(change,), **about)
        case _:
            return errors.MalformedResultError(problems=(Problem(code),), **about)
