"""`Judge`: contracts, policy and hooks; holds calls against them and tells of them. Knows no session, does no I/O."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import hmac
import inspect
import logging
import os
import secrets
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from typing import Any, Final, TypeVar, final

from mcp_guard import _arguments, _correlation, _engine, _words, errors
from mcp_guard._around import copied, current_span, entered, has_around
from mcp_guard._canonical import canonical_json
from mcp_guard._check import judged, measure
from mcp_guard._contract import Contract
from mcp_guard._decision import Decision, decide
from mcp_guard._drift import changes
from mcp_guard._facts import Change, Deviation, Violation, is_object
from mcp_guard._globs import of_tool
from mcp_guard._log import LoggingHook, Voice, say_once
from mcp_guard._readers import Reader, Readers, is_plain
from mcp_guard._result import ToolResult, is_known_block
from mcp_guard._verdict import Conforming, Unchecked, Verdict, Violating, with_deviation
from mcp_guard.contracts import Contracts
from mcp_guard.policy import ENFORCE, OBSERVE, RELAY, STRICT, Policy
from mcp_guard.records import Attempt, CallInfo, Hook, Place, Record

_DRIFTS_KEPT: Final = 1_000
_NO_ENGINE: Final = (
    "jsonschema-rs is not installed: jsonschema decides, and what it can't check in bounded time is too_complex"
)
_PRESETS: Final = {"ENFORCE": ENFORCE, "STRICT": STRICT, "OBSERVE": OBSERVE, "RELAY": RELAY}


@final
@dataclass(slots=True, repr=False)
class Call:
    """What is known of one call while it is under way."""

    id: str
    tool: str
    arguments: dict[str, Any] | None
    policy: Policy
    named_safe: bool
    began: datetime
    protocol: str
    timeout: float | None = None
    typed: bool = False
    """Whether the caller asks for a type of its own: then that is the contract where none is declared."""
    contract: Contract | None = None
    deviations: tuple[Deviation, ...] = ()
    """Those that are the call's own, not its result's."""
    result: ToolResult | None = None
    verdict: Verdict | None = None
    size: int | None = None
    """Characters of text in the result."""
    noted: errors.GuardError | None = None
    """An error that the policy only reports."""
    sdk_error: Exception | None = None
    reached: errors.Outcome = "not_sent"
    """How far the attempt got that is under way, or was the last."""
    failures: tuple[errors.GuardError, ...] = ()
    """How the attempts before it ended."""
    attempts: tuple[Attempt, ...] = ()
    """Those that are over, each as it ended."""
    is_over: bool = False
    """Whether the last attempt is one of them."""
    waited: float = 0.0
    """Seconds that were waited before the attempt."""
    correlation: str | None = None
    recorded: bool = False
    """Whether the caller is given the record; else one is made only where somebody is told."""
    record: Record | None = None
    ms_queued: float = 0.0
    ms_wire: float = 0.0
    ms_check: float = 0.0

    def begin_attempt(self, waited: float = 0.0) -> None:
        """Begin an attempt: what an earlier one brought is no more."""
        self.deviations, self.result, self.verdict, self.size = (), None, None, None
        self.noted, self.sdk_error = None, None
        self.reached, self.is_over, self.waited = "not_sent", False, waited

    def end_attempt(self, error: str | None, outcome: errors.Outcome) -> None:
        """Note how the attempt ended."""
        self.attempts = (*self.attempts, Attempt(error, outcome, self.waited * 1000))
        self.is_over = True

    def note(self, code: str, detail: str) -> None:
        """Add a deviation of the call's own."""
        self.deviations = (*(d for d in self.deviations if d.code != code), Deviation(code, detail))

    def context(self, **more: Any) -> dict[str, Any]:
        """The keywords that every error of this call has."""
        return {"tool": self.tool, "call_id": self.id, "named_safe": self.named_safe, **more}

    @property
    def unsent(self) -> dict[str, Any]:
        """Those of an error that says that nothing was sent."""
        return self.context(outcome="not_sent")


@final
class Judge:
    """What is known and wanted of one server: its contracts, the policies, who is told."""

    def __init__(
        self,
        *,
        policy: Policy = ENFORCE,
        overrides: Mapping[str, Policy] | None = None,
        safe: Iterable[str] = (),
        contracts: Contracts | None = None,
        pins: str | os.PathLike[str] | Contracts | None = None,
        hooks: Iterable[Hook] = (),
        readers: Mapping[str, Reader] | None = None,
        server: str | None = None,
        hash_key: bytes | None = None,
        clock: Callable[[], float],
    ) -> None:
        self.contracts = _checked("contracts", Contracts() if contracts is None else contracts, Contracts)
        self.server = _checked("server", server or "", str)
        """Its name where the user gave one: the key of its contracts. What a server calls itself is no identity."""
        self.policy = _checked("policy", policy, Policy)
        self._pins = None if pins is None else _pinned(pins, self.server, self.policy)
        self._drift: dict[str, tuple[Contract | None, tuple[Change, ...]]] = {}
        self.voice = Voice(clock)
        if not _engine.available():
            say_once(logging.WARNING, _NO_ENGINE)
        self._readers = Readers(readers, self.voice)
        if not isinstance(overrides, (Mapping, type(None))):
            raise TypeError(f'overrides takes a dict such as {{"get_*": OBSERVE}}, not {type(overrides).__name__}')
        self._overrides = {name: _checked(f"overrides[{name!r}]", p, Policy) for name, p in (overrides or {}).items()}
        self._safe = tuple(_checked("a name in safe", name, str) for name in _many("safe", safe, "['get_*']"))
        self._hooks: tuple[Hook, ...] = _many("hooks", hooks, "[print]")
        if not all(map(is_plain, self._hooks)):
            raise TypeError("hooks takes plain functions of one Record, such as [print]; async ones are never awaited")
        for hook in self._hooks:
            _check_signature(hook)
        self._around = tuple(filter(has_around, self._hooks))
        self.surrounds = bool(self._around)
        """Whether there is anything to put round a call."""
        self._reports = not any(isinstance(hook, LoggingHook) for hook in self._hooks)
        """Whether what is reported is logged here, and not by a hook that logs everything."""
        self._hash_key = _checked("hash_key", secrets.token_bytes(32) if hash_key is None else hash_key, bytes)
        self._clock = clock

    def policy_for(self, tool: str) -> Policy:
        """The policy of one tool: a name beats a glob, the first glob beats later ones."""
        return (of_tool(self._overrides, tool) if self._overrides else None) or self.policy

    def contract(self, tool: str) -> Contract | None:
        """What this tool promised, as far as is known."""
        return self.contracts.get(tool, server=self.server)

    @property
    def pinned(self) -> bool:
        """Whether contracts are held against pins."""
        return self._pins is not None

    def knows(self, tool: str) -> bool:
        """Whether there is a contract that calls may go by; with pins one that the server itself listed."""
        return self.contract(tool) is not None and (not self.pinned or self.contracts.is_listed(self.server))

    def drift(self, tool: str) -> tuple[Change, ...]:
        """How what the server says of this tool differs from its pin."""
        if self._pins is None:
            return ()
        if not self.contracts.is_listed(self.server):
            says = "its listing could not be read, so that nothing can be held against the pin"
            return (Change(tool, "tool", "changed", "changed", says, self.server),)
        now, pin = (c.published(tool, server=self.server) for c in (self.contracts, self._pins))
        if now is None and pin is None:
            if self.contracts.is_registered(tool, server=self.server):
                return ()  # the user's own
            says = "it is neither pinned nor listed"
            return (Change(tool, "tool", "added", "changed", says, self.server),)
        known = self._drift.get(tool)
        if known is None or known[0] is not now:
            if len(self._drift) >= _DRIFTS_KEPT:
                self._drift.clear()
            self._drift[tool] = known = (now, changes(pin, now, server=self.server))
        return known[1]

    def begin(self, tool: str, arguments: dict[str, Any] | None, protocol: str) -> Call:
        """A new call of this tool."""
        return Call(
            id=secrets.token_hex(8),
            tool=tool,
            arguments=arguments,
            policy=self.policy_for(tool),
            named_safe=bool(self._safe) and any(fnmatchcase(tool, name) for name in self._safe),
            began=datetime.now(timezone.utc),
            protocol=protocol,
            correlation=_correlation.current(),
        )

    @contextmanager
    def around(self, call: Call) -> Generator[None]:
        """Be inside of what the hooks put round a call: for all of its way, its telling included."""
        info = CallInfo(
            call_id=call.id,
            tool=_words.name(call.tool),
            server=_words.name(self.server) if self.server else None,
            correlation=call.correlation,
            arguments=call.arguments,
            result=lambda: None if call.result is None else copied(call.result.body),
        )
        with entered(self._around, info, self._failed):
            yield

    def admit(self, call: Call) -> errors.GuardError | None:
        """Take up the tool's contract; why the call is not to be sent, given it, or `None`."""
        call.contract = contract = self.contract(call.tool)
        policy = call.policy
        if self.pinned and policy.pins != "allow" and (drifted := self.drift(call.tool)):
            changed = errors.ContractChangedError(changes=drifted, **call.unsent)
            # refused here also where it is the deviation that raises: later would be after the tool ran
            if policy.pins == "raise" or policy.on_deviation("contract_changed") == "raise":
                return changed
            call.noted = changed
            call.note("contract_changed", "; ".join(change.describe() for change in drifted[:3]))
        if contract is None:
            return errors.ToolNotListedError(**call.unsent) if policy.unlisted == "raise" else None
        if contract.unusable is not None and policy.unenforceable == "raise":
            unusable = contract.unusable
            return errors.UnusableContractError(reason=unusable.reason, detail=unusable.detail, **call.unsent)
        if not contract.declares_output and policy.undeclared == "raise" and not call.typed:
            return errors.UnusableContractError(reason="undeclared", **call.unsent)
        misfit = _arguments.held(call.arguments or {}, contract, policy)
        if misfit.violations and policy.arguments != "allow":
            error = errors.InvalidArgumentsError(
                violations=misfit.violations, truncated=misfit.truncated, **call.unsent
            )
            if policy.arguments == "raise":
                return error
            call.noted = call.noted or error
        if misfit.unknown and policy.on_deviation("unknown_argument") == "raise":
            return errors.InvalidArgumentsError(violations=misfit.unknown, **call.unsent)
        if misfit.unknown:
            call.note("unknown_argument", "; ".join(v.says for v in misfit.unknown[:3]))
        return None

    def hear(self, call: Call, result: ToolResult) -> Verdict:
        """The verdict over a result, with the deviations of its call."""
        began = self._clock()
        failure = functools.partial(self._readers.failure, call.tool)
        measured = measure(result, call.policy)
        verdict = judged(result, call.contract, call.policy, tool=call.tool, failure=failure, measured=measured)
        for deviation in call.deviations:
            verdict = with_deviation(verdict, deviation)
        call.result, call.verdict, call.size = result, verdict, measured.size
        call.ms_check += (self._clock() - began) * 1000
        return verdict

    def decide(self, call: Call, verdict: Verdict) -> Decision:
        """What is to be done about the verdict of this call."""
        policy = call.policy
        if call.typed and isinstance(verdict, Unchecked) and verdict.reason == "undeclared":
            policy = dataclasses.replace(policy, undeclared="allow")
        return decide(verdict, policy, call.contract, call_id=call.id, named_safe=call.named_safe)

    def tell(self, call: Call, decision: Decision, outcome: errors.Outcome) -> None:
        """Make the record of a call, say what is to be reported, and tell the hooks; nothing where nobody listens."""
        if call.noted is not None and decision.error is None:
            decision = Decision("report", call.noted)
        reported = self._reports and decision.action == "report"
        if not (reported or self._hooks or call.recorded):
            return
        record = call.record = self._record(call, decision, outcome)
        if reported:
            self._report(record, call.verdict)
        for hook in self._hooks:
            self._tell(hook, record)

    def _tell(self, hook: Hook, record: Record) -> None:
        try:
            hook(record)
        except Exception as exc:  # noqa: BLE001  # a hook never changes a call
            self._failed(hook, exc)

    def _failed(self, hook: object, exc: Exception) -> None:
        name = _words.name(getattr(hook, "__qualname__", type(hook).__qualname__))
        text = f"the hook {name} raised {type(exc).__name__}; the call goes on"
        self.voice.say(logging.ERROR, ("hook", name), text)

    def _record(self, call: Call, decision: Decision, outcome: errors.Outcome) -> Record:
        verdict, contract = call.verdict, call.contract
        error = None if decision.error is None else decision.error.kind
        deviations = call.deviations if verdict is None else verdict.deviations
        told = bool(self._hooks)
        trace_id, span_id = current_span()
        return Record(
            time=call.began,
            call_id=call.id,
            correlation=call.correlation,
            trace_id=trace_id,
            span_id=span_id,
            server=_words.name(self.server) if self.server else None,
            tool=_words.name(call.tool),
            fingerprint=contract.fingerprint if told and contract is not None else None,
            output_fingerprint=contract.output_fingerprint if told and contract is not None else None,
            protocol=call.protocol,
            policy=_preset(call.policy),
            arguments_hash=self._hash(call.arguments or {}) if told else None,
            verdict=None if verdict is None else type(verdict).__name__,
            source=verdict.source if isinstance(verdict, (Conforming, Violating)) else None,
            deviations=tuple(d.code for d in deviations),
            violations=tuple(Place(v.shown, v.keyword) for v in _violations(verdict, decision.error)),
            error=error,
            outcome=outcome,
            action=decision.action,
            attempts=call.attempts,
            ms_queued=call.ms_queued,
            ms_wire=call.ms_wire,
            ms_check=call.ms_check,
            result_bytes=call.size if told else None,
            blocks=_blocks(call.result) if told else (),
        )

    def _hash(self, arguments: dict[str, Any]) -> str | None:
        canonical = canonical_json(arguments)
        return None if canonical is None else hmac.new(self._hash_key, canonical, hashlib.sha256).hexdigest()

    def _report(self, record: Record, verdict: Verdict | None) -> None:
        unchecked = isinstance(verdict, Unchecked)
        what = f"unchecked, the tool is {verdict.reason}" if isinstance(verdict, Unchecked) else record.error or ""
        what = ", ".join(filter(None, (what, *record.deviations)))
        level = logging.WARNING if record.error or unchecked else logging.INFO
        self.voice.say(level, (record.tool, what), _words.line(f"{record.tool}: {what} (call {record.call_id})"))


T = TypeVar("T")


def _checked(what: str, value: object, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{what} takes a {kind.__name__}, not {type(value).__name__}")
    return value


def _pinned(pins: str | os.PathLike[str] | Contracts, server: str, policy: Policy) -> Contracts:
    """The contracts that are pinned, from wherever they are given."""
    if isinstance(pins, (str, os.PathLike)):
        path = os.fspath(pins)
        try:
            pins = Contracts.load(path, limits=policy.limits)
        except FileNotFoundError:
            raise FileNotFoundError(
                f"there is no lock file {path}; write one of the contracts that you accept: "
                f'(await guard(session).refresh()).save("{path}")'
            ) from None
    if not isinstance(pins, Contracts):
        raise TypeError(f"pins takes the path of a lock file, or a Contracts, not {type(pins).__name__}")
    if not pins.is_of(server):
        has = ", ".join(repr(_words.name(s)) for s in pins.servers()[:5]) or "none"
        raise ValueError(
            f"nothing is pinned of the server {_words.name(server)!r}, only of: {has}; guard(server=) says which it is"
        )
    return pins


def _check_signature(hook: Hook) -> None:
    """Refuse what takes no Record: the maker of a hook in place of the hook, above all."""
    name = _words.name(getattr(hook, "__qualname__", type(hook).__qualname__))
    if isinstance(hook, type):
        raise TypeError(f"hooks takes what is told of a Record, and {name} is a class; give one of it: {name}(...)")
    try:
        signature = inspect.signature(hook)
    except ValueError:  # some that are written in C have none
        return
    try:
        signature.bind(None)
    except TypeError:
        hint = f"; if it makes a hook, give what it makes: {name}(...)"
        raise TypeError(f"hooks takes functions of one Record, and {name} takes other arguments{hint}") from None


def _many(what: str, given: Any, example: str) -> tuple[Any, ...]:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise TypeError(f"{what} takes a list, such as {what}={example}, not {type(given).__name__}")
    return tuple(given)


def _violations(verdict: Verdict | None, error: errors.GuardError | None) -> tuple[Violation, ...]:
    if isinstance(verdict, Violating):
        return verdict.violations
    return error.violations if isinstance(error, (errors.OutputValidationError, errors.InvalidArgumentsError)) else ()


def _preset(policy: Policy) -> str:
    # most are the very preset, and comparing two takes long
    known = next((name for name, preset in _PRESETS.items() if preset is policy), None)
    return known or next((name for name, preset in _PRESETS.items() if preset == policy), "custom")


def _blocks(result: ToolResult | None) -> tuple[tuple[str, int], ...]:
    kinds: dict[str, int] = {}
    for block in () if result is None else result.blocks:
        kind: str = block["type"] if is_object(block) and is_known_block(block) else "*"
        kinds[kind] = kinds.get(kind, 0) + 1
    return tuple(sorted(kinds.items()))
