"""`Caller`: the way of one call: its contract, the request, the verdict, who is told of it; an error comes last."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar, cast, final

import anyio

from mcp_guard import errors
from mcp_guard._decision import Decision
from mcp_guard._facts import Deviation, Problem
from mcp_guard._judge import Call, Judge
from mcp_guard._listing import Listing, unlisted
from mcp_guard._result import ToolResult
from mcp_guard._sdk import Answer, Fault, Lost, NotFinal, PeerError, Seam, TimedOut, Unparsable
from mcp_guard._verdict import Conforming, Missing, Verdict, Violating, with_deviation
from mcp_guard.records import Record

T = TypeVar("T")
Conclude: TypeAlias = Callable[[Call, Verdict, ToolResult, Decision], tuple[Decision, T]]
"""What a caller gets for a verdict: it may turn what the policy decided into an error, and gives the product."""

_REJECTED: Final = frozenset({-32700, -32600, -32601, -32602})
"""JSON-RPC errors by which a server says that it did not take the request up (JSON-RPC 2.0, section 5.1)."""
_HEADER_MISMATCH: Final = -32020


@final
class Caller:
    """Makes the calls of one guarded session."""

    def __init__(self, seam: Seam, judge: Judge, listing: Listing, clock: Callable[[], float]) -> None:
        self._seam = seam
        self._judge = judge
        self._listing = listing
        self._clock = clock

    async def run(self, call: Call, options: Mapping[str, Any], conclude: Conclude[T]) -> tuple[T, Record]:
        """Make a call, conclude from its verdict, tell of it; give what was concluded and the record, or raise.

        Raises:
            GuardError: There is no result, or the conclusion says so.
        """
        decision, product = Decision("raise", None), None
        try:
            error = await self._in_time(call, options)
            if error is None and call.verdict is not None and call.result is not None:
                decided = self._judge.decide(call, call.verdict)
                decision, product = conclude(call, call.verdict, call.result, decided)
        except BaseException:  # cancelled, or a fault that is not the peer's: told, and passed on as it is
            self._judge.tell(call, Decision("raise", None), "unknown" if call.attempts else "not_sent")
            raise
        if error is not None:
            decision = Decision("raise", error)
        outcome: errors.Outcome = "executed" if decision.error is None else decision.error.outcome
        record = self._judge.tell(call, decision, outcome)
        if decision.action == "raise" and decision.error is not None:
            raise decision.error
        return cast("T", product), record

    async def _in_time(self, call: Call, options: Mapping[str, Any]) -> errors.GuardError | None:
        """The call under its deadline, listing and rounds included; why there is no result, or `None`."""
        error = None
        with anyio.move_on_after(call.timeout) as scope:
            error = await self._made(call, options)
        if scope.cancelled_caught and call.verdict is None:
            outcome = "unknown" if call.attempts else "not_sent"
            return errors.ToolTimeoutError(seconds=call.timeout, **call.context(outcome=outcome))
        return error

    async def _made(self, call: Call, options: Mapping[str, Any]) -> errors.GuardError | None:
        began = self._clock()
        fault = await self._listing.ensure(call.tool)
        call.ms_queued = (self._clock() - began) * 1000
        if fault is not None and (refusal := self._unread(call, fault)) is not None:
            return refusal
        if (refusal := self._judge.admit(call)) is not None:
            return refusal
        sent = self._clock()
        answer = await self._once(call, options)
        if self._is_mismatch(answer) and await self._listing.refresh() is None:
            # the specification's one recovery: the server refused the call since its header was of an old listing
            if (refusal := self._judge.admit(call)) is not None:
                refusal.outcome = "unknown"  # the peer's word that it refused is no proof
                return refusal
            sent = self._clock()
            answer = await self._once(call, options)
        if isinstance(answer, Unparsable) and answer.kept is not None and call.policy.malformed != "raise":
            if call.policy.malformed == "report":
                call.noted = _lost(answer, call)
            answer = answer.kept
        if not isinstance(answer, Answer):
            return _lost(answer, call)
        verdict = self._judge.hear(call, ToolResult.of(answer.result, protocol=call.protocol, body=answer.body))
        if isinstance(verdict, (Violating, Missing)):
            await self._heard_again(call, sent)
        return None

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

    def _is_mismatch(self, answer: Answer | Fault) -> bool:
        mismatch = isinstance(answer, PeerError) and answer.code == _HEADER_MISMATCH
        return mismatch and not self._seam.resends_header_mismatch

    async def _once(self, call: Call, options: Mapping[str, Any]) -> Answer | Fault:
        """Send the call; the answer, or what went wrong."""
        call.attempts += 1
        began, handled = self._clock(), sys.exc_info()[1]
        try:
            return await self._seam.call(call.tool, call.arguments, options)
        except Exception as exc:
            fault = self._seam.fault(exc, handled)
            if fault is None:
                raise
            call.sdk_error = exc
            return fault
        finally:
            call.ms_wire += (self._clock() - began) * 1000

    async def _heard_again(self, call: Call, sent: float) -> None:
        """Where a result does not fit and the listing is older than the call: read it again, and judge once more.

        Only a new contract that the result fits changes anything; the tool is not called again.
        """
        verdict, contract, result = call.verdict, call.contract, call.result
        if verdict is None or result is None or not await self._listing.doubt(sent):
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


def _lost(fault: Fault, call: Call) -> errors.GuardError:
    """The error for a call that brought no result to judge."""
    about = call.context(sdk_error=call.sdk_error)
    match fault:
        case PeerError(code, message, data):
            outcome: errors.Outcome = "rejected" if code in _REJECTED else "unknown"
            return errors.ToolProtocolError(code=code, message=message, data=data, **about, outcome=outcome)
        case TimedOut():
            return errors.ToolTimeoutError(**about, outcome="unknown")
        case Lost(sent):
            return errors.ConnectionLostError(**about, outcome="unknown" if sent else "not_sent")
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
            return errors.UnfinishedResultError(result_type=result_type, **about, outcome="unknown")
