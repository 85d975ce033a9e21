"""One attempt at the border: the gate that counts what goes out, and what it means that no result came back."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, final

from mcp_guard import errors
from mcp_guard._budget import Budget, Deed, Server
from mcp_guard._canonical import canonical_json
from mcp_guard._facts import Problem
from mcp_guard._judge import Call
from mcp_guard._sdk import Fault, Lost, NotFinal, PeerError, Refused, TimedOut, Unparsable

_REJECTED: Final = frozenset({-32700, -32600, -32601, -32602})
"""JSON-RPC errors by which a server says that it did not take the request up (JSON-RPC 2.0, section 5.1)."""


@final
@dataclass(frozen=True, slots=True)
class Account:
    """The budget that a call is inside of, and what the call is to it."""

    budget: Budget
    deed: Deed
    server: Server

    def stands_against(self, call: Call) -> errors.BudgetExhaustedError | None:
        """Why the call is not to be sent, or `None`."""
        limit: Literal["attempts", "seconds", "repeat"] | None = self.budget.lacks()
        if limit is None and not call.named_safe and self.budget.refuses(self.deed, self.server):
            limit = "repeat"
        unsent = call.context(outcome="not_sent")
        return None if limit is None else errors.BudgetExhaustedError(limit=limit, **unsent)

    def close(self, outcome: errors.Outcome, *, fruitless: bool) -> None:
        """Note how the call ended, where any of it was sent; `fruitless`: if it ran, it ran to no use."""
        if outcome != "not_sent":
            used_up = outcome == "unknown" or (outcome == "executed" and fruitless)
            self.budget.note(self.deed, self.server, fruitless=used_up)


def account_of(call: Call, server: Callable[[], Server]) -> Account | None:
    """The account of a call that is about to be made, where it is inside of a budget."""
    budget = Budget.current()
    return None if budget is None else Account(budget, _deed(call), server())


def _deed(call: Call) -> Deed:
    # no arguments are the same as empty ones
    arguments = call.arguments or {}
    canonical = canonical_json(arguments)  # none where they are very many
    return Deed(call.tool, hashlib.sha256(repr(arguments).encode() if canonical is None else canonical).digest())


@final
class Sending:
    """The gate of one attempt: what goes out is taken from the budget."""

    def __init__(self, account: Account | None) -> None:
        self._budget = None if account is None else account.budget
        self.sent = 0
        self.answered = False

    def open(self) -> None:
        """Let one `tools/call` out.

        Raises:
            Refused: The budget is spent.
        """
        limit = None if self._budget is None else self._budget.spend()
        if limit is not None:
            raise Refused(limit)
        self.sent += 1

    def went_by(self) -> None:
        """Count what somebody may have sent past the gate: a `call_tool` that is not the SDK's own."""
        if self._budget is not None and not self.sent:
            self._budget.spend()


def lost(fault: Fault, call: Call, gate: Sending) -> errors.GuardError:
    """The error for a call that brought no result to judge."""
    about = call.context(sdk_error=call.sdk_error)
    outcome: errors.Outcome = "unknown"
    match fault:
        case PeerError(code, message, data):
            # once a round was answered, the tool had begun
            if code in _REJECTED and not gate.answered:
                outcome = "rejected"
            return errors.ToolProtocolError(code=code, message=message, data=data, **about, outcome=outcome)
        case TimedOut():
            return errors.ToolTimeoutError(**about, outcome=outcome)
        case Lost(sent, cause):
            about["sdk_error"] = cause or call.sdk_error
            # of several requests that were sent, it is known of the last one alone
            if not sent and gate.sent <= 1 and not gate.answered:
                call.reached = outcome = "not_sent"
            return errors.ConnectionLostError(**about, outcome=outcome)
        case Unparsable(problems, raw, cause):
            about.update(result=raw, sdk_error=cause or call.sdk_error)
            if "too_deep" in problems:
                allowed = call.policy.limits.depth
                deep = Problem("too_deep", "depth", allowed, allowed + 1)
                return errors.LimitExceededError(
                    problems=(deep,), limit="depth", allowed=allowed, found=allowed + 1, **about
                )
            return errors.MalformedResultError(problems=tuple(map(Problem, problems)), **about)
        case NotFinal(result_type):
            return errors.UnfinishedResultError(result_type=result_type, **about, outcome=outcome)
