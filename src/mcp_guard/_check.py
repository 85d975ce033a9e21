"""`check`: one result held against one contract. The pure core.

Two rules hold here: it never raises about a result, and it never asks what is to be done about one. Of the policy it
reads how closely to look (`fallback`, `formats`, `compare_text`, `limits`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_guard import _bounds, _text
from mcp_guard._bounds import Measured
from mcp_guard._contract import Contract
from mcp_guard._effort import Size
from mcp_guard._facts import Deviation, Problem, ToolFailure, Unusable, is_array, is_object, json_type
from mcp_guard._failure import failure_of
from mcp_guard._json import Room
from mcp_guard._look import Look, Undecided
from mcp_guard._result import ToolResult, is_known_block
from mcp_guard._verdict import (
    Conforming,
    Errored,
    Malformed,
    Missing,
    Source,
    Unchecked,
    Unenforceable,
    Unfinished,
    Verdict,
    Violating,
)
from mcp_guard.policy import ENFORCE, Policy

if TYPE_CHECKING:
    from collections.abc import Callable


def check(
    result: object,
    contract: Contract | None,
    *,
    protocol: str | None = None,
    policy: Policy = ENFORCE,
) -> Verdict:
    """Judge one answer to `tools/call`. Pure: no I/O, no SDK, no clock; the result is not changed.

    Args:
        result: The `result` member of the JSON-RPC answer as a dict, or the SDK's `CallToolResult` (1.x or 2.x).
        contract: What the tool promised; `None` where no listing has the tool.
        protocol: The negotiated protocol version, which decides what null, non-objects and `resultType` mean. `None`:
            2026-07-28 where `resultType` is present, else 2025-11-25.
        policy: How closely to look. What to do about it is not read here.

    Raises:
        TypeError: An argument of the caller's own is of the wrong type. About the result nothing is raised.
    """
    if contract is not None and not isinstance(contract, Contract):
        raise TypeError(f"check takes a Contract or None, not {type(contract).__name__}; see Contract.from_tool(tool)")
    if protocol is not None and not isinstance(protocol, str):
        raise TypeError("protocol is a version string such as '2025-11-25', or None")
    if not isinstance(policy, Policy):
        raise TypeError("policy takes a Policy such as ENFORCE, STRICT or OBSERVE")
    return judged(ToolResult.of(result, protocol=protocol, limits=policy.limits), contract, policy)


def judged(
    result: ToolResult,
    contract: Contract | None,
    policy: Policy,
    *,
    tool: str | None = None,
    failure: Callable[[ToolResult], ToolFailure | None] = failure_of,
    measured: Measured | None = None,
) -> Verdict:
    """The decision table, in its order: the first row that fits decides.

    `failure` tells whether the tool failed; `measured` is what `measure` found, where that was asked before.
    """
    about: dict[str, Any] = {"tool": tool if contract is None else contract.name, "result": result.raw}
    if measured is None:
        measured = measure(result, policy)
    if measured.problems:
        return Malformed(measured.problems, **about)
    has_structured = result.has_structured
    about["deviations"] = _deviations(result, has_structured=has_structured)
    if (result_type := _unfinished(result)) is not None:
        return Unfinished(result_type, **about)
    if (failed := failure(result)) is not None:
        return Errored(failed, **about)
    value = result.structured if has_structured else None
    if contract is None:
        return Unchecked(value, "unlisted", **about)
    if not contract.declares_output:
        return Unchecked(value, "undeclared", **about)
    if (schema := contract.output) is None:
        unusable = contract.unusable or Unusable("invalid_schema", "")
        return Unenforceable(value, unusable.reason, detail=unusable.detail, **about)
    # what is read from text is another value
    look = schema.look(Size.of(measured) if has_structured else None)
    try:
        if has_structured:
            wrapped = contract.wrapped or result.marked_wrapped
            return _structured(value, result, look, policy, about, measured, wrapped=wrapped)
        return _from_text(result, look, policy, about, measured)
    except Undecided as undecided:
        return Unenforceable(value, "too_complex", detail=str(undecided), **about)


def _structured(
    value: Any,
    result: ToolResult,
    look: Look,
    policy: Policy,
    about: dict[str, Any],
    measured: Measured,
    *,
    wrapped: bool,
) -> Verdict:
    """The structured part is the authority: where it does not fit, the text is not tried."""
    if not look.is_valid(value, formats=policy.formats == "assert"):
        return _violating(value, "structured", look, policy, about)
    more: list[Deviation] = []
    if look.has_formats and _off_format(value, look, policy):
        more.append(_FORMAT)
    if policy.compare_text:
        room = Room(policy.limits, beside=measured)
        if _text.differs(value, result.texts, wrapped=wrapped, room=room):
            more.append(Deviation("text_differs", "the text block's JSON is not the structured content"))
    return Conforming(value, "structured", **(_with(about, more) if more else about))


def _from_text(result: ToolResult, look: Look, policy: Policy, about: dict[str, Any], measured: Measured) -> Verdict:
    asserted = policy.formats == "assert"
    room = Room(policy.limits, beside=measured)
    match _text.read(result.texts, look, policy.fallback, formats=asserted, room=room, note=look.knows):
        case _text.Unread(reason):
            return Missing(reason, **about)
        case _text.Unfit(value):
            return _violating(value, "text", look, policy, about)
        case _text.Reading(value, verbatim):
            more = [Deviation("structured_missing", "the value was read from the text")]
            if verbatim:
                more.append(Deviation("text_verbatim", "the value is the raw text"))
            if _off_format(value, look, policy):
                more.append(_FORMAT)
            return Conforming(value, "text", **_with(about, more))


_FORMAT: Final = Deviation("format", "a string has not the format that the schema names")


def _violating(value: Any, source: Source, look: Look, policy: Policy, about: dict[str, Any]) -> Verdict:
    violations, truncated = look.violations(value, formats=policy.formats == "assert", limit=policy.limits.violations)
    return Violating(value, source, violations, truncated, **about)


def _off_format(value: Any, look: Look, policy: Policy) -> bool:
    if policy.formats != "report" or not look.has_formats:
        return False
    try:
        return not look.is_valid(value, formats=True)
    except Undecided:  # an annotation that can't be told within bounds takes nothing from data that fits
        return False


def _with(about: dict[str, Any], more: list[Deviation]) -> dict[str, Any]:
    return {**about, "deviations": tuple(sorted((*about["deviations"], *more), key=lambda d: d.code))}


def measure(result: ToolResult, policy: Policy) -> Measured:
    """Why an answer is no tool result within the policy's limits, and how large it is."""
    body = result.body
    measured = _bounds.measure(body, policy.limits, outside=1)
    if not is_object(body):
        return measured._replace(problems=(Problem("not_an_object"),))
    problems: list[Problem] = []
    if "content" in body:
        if not is_array(body["content"]):
            problems.append(Problem("content_type"))
        elif not all(map(is_object, body["content"])):
            problems.append(Problem("block_type"))
    elif not result.has_structured and not result.is_error and _unfinished(result) is None:
        problems.append(Problem("content_missing"))
    if not isinstance(body.get("isError"), bool | None):
        problems.append(Problem("error_flag"))
    if not problems:
        return measured
    return measured._replace(problems=tuple(sorted((*problems, *measured.problems), key=lambda p: p.code)))


def _unfinished(result: ToolResult) -> str | None:
    """What `resultType` says where it is not ``complete``. Before 2026-07-28 the member means nothing."""
    said = result.body.get("resultType", "complete")
    if said == "complete" or not result.modern:
        return None
    return said if isinstance(said, str) else json_type(said)


def _deviations(result: ToolResult, *, has_structured: bool) -> tuple[Deviation, ...]:
    found: list[Deviation] = []
    body = result.body
    if "content" not in body and has_structured:
        found.append(Deviation("content_missing", "`content` is required beside structured content"))
    if "resultType" not in body and result.modern:
        found.append(Deviation("result_type_missing", "2026-07-28 asks for `resultType` in every result"))
    if has_structured and not isinstance(body["structuredContent"], dict) and not result.modern:
        found.append(Deviation("structured_not_object", f"structured content is {json_type(result.structured)}"))
    if not all(map(is_known_block, result.blocks)):
        found.append(Deviation("unknown_block", "a content block is of a type that the specification does not know"))
    return tuple(found)
