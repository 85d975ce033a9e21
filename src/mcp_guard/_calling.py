"""`Caller`: the way of one call: its contract, the request, the verdict, who is told of it; an error comes last."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, TypeAlias, TypeVar, cast, final

import anyio

from mcp_guard import errors
from mcp_guard._budget import Server
from mcp_guard._decision import NOTHING, Decision
from mcp_guard._facts import Deviation
from mcp_guard._judge import Call, Judge
from mcp_guard._listing import Listing, unlisted
from mcp_guard._result import MODERN, ToolResult
from mcp_guard._retry import Retry
from mcp_guard._sdk import Answer, Fault, PeerError, Refused, Seam, Unparsable
from mcp_guard._sending import Account, Sending, account_of, lost
from mcp_guard._verdict import Conforming, Errored, Missing, Verdict, Violating, with_deviation

T = TypeVar("T")
Conclude: TypeAlias = Callable[[Call, Verdict, ToolResult, Decision], tuple[Decision, T]]
"""What a caller gets for a verdict: it may turn what the policy decided into an error, and gives the product."""

_HEADER_MISMATCH: Final = -32020
_LONGEST_WAIT: Final = 60.0
"""Seconds that are waited at most where no deadline says when it is too long."""
_CERTAINTY: Final[tuple[errors.Outcome, ...]] = ("not_sent", "rejected", "unknown", "executed")
"""Of several attempts, the later of these is what is to be said of the call."""

_UNDECIDED: Final = Decision("raise", None)


@final
class Caller:
    """Makes the calls of one guarded session."""

    def __init__(
        self, seam: Seam, judge: Judge, listing: Listing, clock: Callable[[], float], retry: Retry | None = None
    ) -> None:
        self._seam = seam
        self._judge = judge
        self._listing = listing
        self._clock = clock
        self._retry = retry

    def run(self, call: Call, options: Mapping[str, Any], conclude: Conclude[T]) -> Coroutine[Any, Any, T]:
        """Make a call, conclude from its verdict, tell of it; give what was concluded, or raise.

        Raises:
            GuardError: There is no result, or the conclusion says so.
        """
        run = self._surrounded if self._judge.surrounds else self._run
        return run(call, options, conclude)

    async def _surrounded(self, call: Call, options: Mapping[str, Any], conclude: Conclude[T]) -> T:
        with self._judge.around(call):
            return await self._run(call, options, conclude)

    async def _run(self, call: Call, options: Mapping[str, Any], conclude: Conclude[T]) -> T:
        account = account_of(call, self._server)
        decision, decided, product = _UNDECIDED, NOTHING, None
        try:
            error = await self._tried(call, options, account)
            if error is None and call.verdict is not None and call.result is not None:
                decided = self._judge.decide(call, call.verdict)
                decision, product = conclude(call, call.verdict, call.result, decided)
        except BaseException as exc:  # cancelled, or a fault that is not the peer's: told, and passed on as it is
            # a guard that the call went through as well has said all there is to say
            own = exc if isinstance(exc, errors.GuardError) else None
            self._ended(call, account, Decision("raise", own), fruitless=own is None or _is_fault(own))
            raise
        if error is not None:
            decision = Decision("raise", error)
        fruitless = _is_fault(decision.error) and "raise" in {decision.action, decided.action}
        self._ended(call, account, decision, fruitless=fruitless)
        if decision.action == "raise" and decision.error is not None:
            raise decision.error
        return cast("T", product)

    def _ended(self, call: Call, account: Account | None, decision: Decision, *, fruitless: bool) -> None:
        """Say what became of the call, over all its attempts: to its error, to the budget, to the hooks."""
        error = decision.error
        outcome: errors.Outcome = call.reached if error is None else error.outcome
        # the last failure is the error itself where the attempt after it was given up
        earlier = call.failures[:-1] if call.is_over else call.failures
        if not call.is_over and (call.attempts or outcome != "not_sent"):
            call.end_attempt(error.kind if error is not None and decision.action == "raise" else None, outcome)
        if outcome in {"not_sent", "rejected"}:  # of this attempt, and an earlier one may have got further
            outcome = _CERTAINTY[max(_CERTAINTY.index(o) for o in (outcome, *(a.outcome for a in call.attempts)))]
        if error is not None and error.call_id == call.id:
            error.outcome, error.attempts = outcome, earlier
        if account is not None:
            account.close(outcome, fruitless=fruitless)
        self._judge.tell(call, decision, outcome)

    def _server(self) -> Server:
        return Server(self._judge.server or None, self._seam.server)

    async def _tried(self, call: Call, options: Mapping[str, Any], account: Account | None) -> errors.GuardError | None:
        """Make one attempt after the other, as far as is allowed; why the last one brought no result, or `None`.

        One deadline holds for all of them, for their listings, rounds and waits.
        """
        allowed = math.inf if call.timeout is None else call.timeout
        if account is not None:
            left = account.budget.left.seconds
            if left <= 0:
                return errors.BudgetExhaustedError(limit="seconds", **call.context(outcome="not_sent"))
            allowed = min(allowed, left)
        deadline = anyio.current_time() + allowed
        retry = self._retry if call.named_safe else None
        nth = 1
        while True:
            error = await self._attempt(call, options, account, (allowed, deadline), retry)
            if retry is None:
                return error
            failure = error or self._reported(call)
            again = None if failure is None else retry.wait(failure, nth)
            if failure is None or again is None or not _has_room(again, deadline, account):
                return error
            call.end_attempt(failure.kind, failure.outcome)
            call.failures = (*call.failures, failure)
            await retry.sleep(again)
            if not _has_room(0.0, deadline, account):
                return error
            call.begin_attempt(again)
            nth += 1

    def _reported(self, call: Call) -> errors.GuardError | None:
        """The failure that the tool itself reported, whatever the policy does about it."""
        if not isinstance(call.verdict, Errored):
            return None
        error = self._judge.decide(call, call.verdict).error
        return error if isinstance(error, errors.ToolExecutionError) else None

    async def _attempt(
        self,
        call: Call,
        options: Mapping[str, Any],
        account: Account | None,
        limit: tuple[float, float],
        retry: Retry | None,
    ) -> errors.GuardError | None:
        """One attempt, under the call's deadline or its own; why there is no result, or `None`."""
        allowed, deadline = limit
        if retry is not None and retry.timeout is not None:
            own = anyio.current_time() + retry.timeout
            allowed, deadline = (retry.timeout, own) if own < deadline else limit
        error = None
        with anyio.CancelScope(deadline=deadline) as scope:
            error = await self._made(call, options, account)
        if scope.cancelled_caught and call.verdict is None:
            return errors.ToolTimeoutError(seconds=allowed, **call.context(outcome=call.reached))
        return error

    async def _made(self, call: Call, options: Mapping[str, Any], account: Account | None) -> errors.GuardError | None:
        if not self._listing.is_settled(call.tool) and (refusal := await self._listed(call)) is not None:
            return refusal
        if (refusal := self._judge.admit(call)) is not None:
            return refusal
        if account is not None and (refusal := account.stands_against(call)) is not None:
            return refusal
        gate, sent = Sending(account), self._clock()
        answer = await self._once(call, options, gate)
        if isinstance(answer, PeerError) and await self._is_mended(answer, call, gate):
            # the specification's one recovery: the server refused the call since its header was of an old listing
            mismatch = lost(answer, call, gate)
            call.end_attempt(mismatch.kind, mismatch.outcome)
            call.failures = (*call.failures, mismatch)
            call.begin_attempt()
            if (refusal := self._judge.admit(call)) is not None:
                return refusal
            sent = self._clock()
            answer = await self._once(call, options, gate)
        if isinstance(answer, Unparsable) and answer.kept is not None and call.policy.malformed != "raise":
            if call.policy.malformed == "report":
                call.noted = lost(answer, call, gate)
            answer = answer.kept
        if not isinstance(answer, Answer):
            return answer if isinstance(answer, errors.GuardError) else lost(answer, call, gate)
        limits = call.policy.limits
        result = ToolResult.of(answer.result, protocol=call.protocol, body=answer.body, limits=limits)
        call.reached = "executed"
        verdict = self._judge.hear(call, result)
        if isinstance(verdict, (Violating, Missing)):
            await self._heard_again(call, sent)
        return None

    async def _listed(self, call: Call) -> errors.GuardError | None:
        """Have the tool's contract known; why the call is not to be sent, where it can't be."""
        began = self._clock()
        fault = await self._listing.ensure(call.tool)
        call.ms_queued += (self._clock() - began) * 1000
        return None if fault is None else self._unread(call, fault)

    def _unread(self, call: Call, fault: Fault) -> errors.GuardError | None:
        """Note that the listing could not be read; why the call is not to be sent, where that leaves nothing known."""
        call.note("listing_failed", "the tool listing could not be read")
        if self._listing.known or self._judge.knows(call.tool) or call.policy.unknown_listing == "allow":
            return None
        error = unlisted(fault, call.context())
        if call.policy.unknown_listing == "raise":
            return error
        call.noted = error
        return None

    async def _is_mended(self, answer: PeerError, call: Call, gate: Sending) -> bool:
        """Whether the call is to be sent once more, by a new listing: not where that would begin its rounds anew."""
        if answer.code != _HEADER_MISMATCH or gate.answered:
            return False
        if call.protocol < MODERN or self._seam.resends_header_mismatch:
            return False
        return await self._listing.refresh(call.tool) is None

    async def _once(
        self, call: Call, options: Mapping[str, Any], gate: Sending
    ) -> Answer | Fault | errors.BudgetExhaustedError:
        """Send the call; the answer, or what went wrong."""
        began, handled = self._clock(), sys.exc_info()[1]
        call.reached = "unknown"
        try:
            answer = await self._seam.call(call.tool, call.arguments, options, gate)
        except Refused as refused:
            call.reached = "unknown" if gate.sent else "not_sent"
            return errors.BudgetExhaustedError(limit=refused.limit, **call.context(outcome=call.reached))
        except Exception as exc:
            # a guard that the call goes through as well raises errors of ours, some of which are OSErrors
            fault = None if isinstance(exc, errors.GuardError) else self._seam.fault(exc, handled)
            if fault is None:
                raise
            call.sdk_error, answer = exc, fault
        finally:
            call.ms_wire += (self._clock() - began) * 1000
        gate.went_by()
        return answer

    async def _heard_again(self, call: Call, sent: float) -> None:
        """Where a result does not fit and the listing is older than the call: read it again, and judge once more.

        Only a new contract that the result fits changes anything; the tool is not called again.
        """
        verdict, contract, result = call.verdict, call.contract, call.result
        if verdict is None or result is None or not await self._listing.doubt(call.tool, sent):
            return
        latest = self._judge.contract(call.tool)
        if latest is None or not latest.declares_output or latest == contract:
            return
        if call.policy.pins == "raise" and self._judge.drift(call.tool):
            return  # a contract that is not the pinned one excuses nothing
        call.contract = latest
        again = self._judge.hear(call, result)
        if isinstance(again, Conforming):
            call.verdict = with_deviation(again, Deviation("contract_changed", "it fits the contract of a new listing"))
        else:
            call.contract, call.verdict = contract, verdict


def _is_fault(error: errors.GuardError | None) -> bool:
    """Whether it is the contract that was broken."""
    return isinstance(error, errors.ContractError)


def _has_room(wait: float, deadline: float, account: Account | None) -> bool:
    """Whether after that many seconds there is time for another attempt, and an attempt left."""
    left = deadline - anyio.current_time()
    if account is not None:
        if account.budget.lacks() is not None:
            return False
        left = min(left, account.budget.left.seconds)
    return wait < left if left < math.inf else wait <= _LONGEST_WAIT
