"""`check`: one result held against one contract. The pure core.

Two rules hold here: it never raises about a result, and it never asks what is to be done about one. Of the policy it
reads how closely to look (`fallback`, `formats`, `compare_text`, `limits`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_guard import _bounds, _text
from mcp_guard._contract import Contract
from mcp_guard._effort import Size
from mcp_guard._facts import Deviation, Problem, ToolFailure, Unusable, is_array, is_object, json_type
from mcp_guard._failure import failure_of
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
) -> Verdict:
    """The decision table, in its order: the first row that fits decides. `failure` tells whether the tool failed."""
    about: dict[str, Any] = {"tool": tool if contract is None else contract.name, "result": result.raw}
    measured = _measured(result, policy)
    if measured.problems:
        return Malformed(measured.problems, **about)
    about["deviations"] = _deviations(result)
    if (result_type := _unfinished(result)) is not None:
        return Unfinished(result_type, **about)
    if (failed := failure(result)) is not None:
        return Errored(failed, **about)
    value = result.structured if result.has_structured else None
    if contract is None:
        return Unchecked(value, "unlisted", **about)
    if not contract.declares_output:
        return Unchecked(value, "undeclared", **about)
    schema, unusable = contract.output, contract.unusable
    if schema is None or unusable is not None:
        unusable = unusable or Unusable("invalid_schema", "")
        return Unenforceable(value, unusable.reason, detail=unusable.detail, **about)
    # what is read from text is another value
    look = schema.look(Size.of(measured) if result.has_structured else None)
    try:
        if result.has_structured:
            wrapped = contract.wrapped or result.marked_wrapped
            return _structured(value, result, look, policy, about, wrapped=wrapped)
        return _from_text(result, look, policy, about)
    except Undecided as undecided:
        return Unenforceable(value, "too_complex", detail=str(undecided), **about)


def _structured(
    value: Any, result: ToolResult, look: Look, policy: Policy, about: dict[str, Any], *, wrapped: bool
) -> Verdict:
    """The structured part is the authority: where it does not fit, the text is not tried."""
    if not look.is_valid(value, formats=policy.formats == "assert"):
        return _violating(value, "structured", look, policy, about)
    more: list[Deviation] = []
    if _off_format(value, look, policy):
        more.append(_FORMAT)
    if policy.compare_text and _text.differs(value, result.texts, wrapped=wrapped, limits=policy.limits):
        more.append(Deviation("text_differs", "the text block's JSON is not the structured content"))
    return Conforming(value, "structured", **_with(about, more))


def _from_text(result: ToolResult, look: Look, policy: Policy, about: dict[str, Any]) -> Verdict:
    asserted = policy.formats == "assert"
    match _text.read(result.texts, look, policy.fallback, formats=asserted, limits=policy.limits):
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
    return policy.formats == "report" and look.has_formats and not look.is_valid(value, formats=True)


def _with(about: dict[str, Any], more: list[Deviation]) -> dict[str, Any]:
    return {**about, "deviations": tuple(sorted((*about["deviations"], *more), key=lambda d: d.code))}


def _measured(result: ToolResult, policy: Policy) -> _bounds.Measured:
    body = result.body
    if not is_object(body):
        return _bounds.Measured((Problem("not_an_object"),))
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
    found, size, values, tame = _bounds.measure(body, policy.limits, outside=1)
    return _bounds.Measured(tuple(sorted((*problems, *found), key=lambda p: p.code)), size, values, tame)


def _unfinished(result: ToolResult) -> str | None:
    """What `resultType` says where it is not ``complete``. Before 2026-07-28 the member means nothing."""
    said = result.body.get("resultType", "complete") if result.modern else "complete"
    if said == "complete":
        return None
    return said if isinstance(said, str) else json_type(said)


def _deviations(result: ToolResult) -> tuple[Deviation, ...]:
    found: list[Deviation] = []
    if "content" not in result.body and result.has_structured:
        found.append(Deviation("content_missing", "`content` is required beside structured content"))
    if result.modern and "resultType" not in result.body:
        found.append(Deviation("result_type_missing", "2026-07-28 asks for `resultType` in every result"))
    if result.has_structured and not result.modern and not isinstance(result.structured, dict):
        found.append(Deviation("structured_not_object", f"structured content is {json_type(result.structured)}"))
    if not all(is_known_block(block) for block in result.blocks):
        found.append(Deviation("unknown_block", "a content block is of a type that the specification does not know"))
    return tuple(found)
