"""The verdicts: a closed union of frozen facts, and `unwrap`, the one place where a fact becomes a raise."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import TYPE_CHECKING, Any, Final, get_args

import pytest
from typing_extensions import assert_never, assert_type

import mcp_guard
from mcp_guard import Deviation, GuardError, ToolFailure, Violation
from mcp_guard._facts import Problem
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
    with_deviation,
)

if TYPE_CHECKING:
    from typing import NoReturn

CANARY: Final = "CANARY-4be1"
ABOUT: Final[dict[str, Any]] = {"tool": "t", "deviations": (Deviation("format"),), "result": {"got": CANARY}}
VIOLATION: Final = Violation(
    f"/{CANARY}", "/additionalProperties/type", "type", "integer", "string", CANARY, "/*", "must"
)

VERDICTS: Final[dict[Verdict, str | None]] = {
    Conforming("x", "text", **ABOUT): None,
    Violating(CANARY, "structured", (VIOLATION,), truncated=False, **ABOUT): "output_violation",
    Missing("ambiguous", **ABOUT): "structured_missing",
    Errored(ToolFailure(CANARY, CANARY, CANARY, None, None, CANARY), **ABOUT): "tool_error",
    Malformed((Problem("error_flag"),), **ABOUT): "malformed_result",
    Malformed((Problem("too_deep", "depth", 200, 201),), **ABOUT): "limit_exceeded",
    Unenforceable("x", "dangling_ref", **ABOUT): "contract_unusable",
    Unchecked("x", "undeclared", **ABOUT): None,
    Unfinished(CANARY, **ABOUT): "unfinished_result",
}
"""One of each, and the kind of error that unwrap raises."""

CLASSES: Final = get_args(Verdict)
every_verdict = pytest.mark.parametrize("verdict", VERDICTS, ids=lambda v: f"{type(v).__name__}-{VERDICTS[v]}")


def test_the_union_is_closed_and_public() -> None:
    assert {type(verdict) for verdict in VERDICTS} == set(CLASSES)
    assert mcp_guard.Verdict == Verdict
    assert all(getattr(mcp_guard, cls.__name__) is cls for cls in CLASSES)


@pytest.mark.parametrize("cls", CLASSES)
def test_each_class_is_final(cls: type[Any]) -> None:
    assert getattr(cls, "__final__", True)  # told to the runtime from Python 3.11 on
    assert not cls.__subclasses__()


@every_verdict
def test_a_verdict_is_frozen_and_slotted(verdict: Verdict) -> None:
    for field in dataclasses.fields(verdict):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(verdict, field.name, None)
    assert not hasattr(verdict, "__dict__")


@every_verdict
def test_unwrap_gives_the_value_or_raises_what_the_verdict_says(verdict: Verdict) -> None:
    kind = VERDICTS[verdict]
    if kind is None:
        assert verdict.unwrap() == "x"
        return
    with pytest.raises(GuardError) as caught:
        verdict.unwrap()
    assert caught.value.kind == kind
    assert caught.value.tool == "t"
    assert caught.value.outcome == ("unknown" if kind == "unfinished_result" else "executed")
    assert caught.value.result == {"got": CANARY}
    assert not caught.value.retry_safe


@every_verdict
def test_the_error_has_what_the_verdict_has(verdict: Verdict) -> None:
    error = as_error(verdict, call_id="c", named_safe=True)
    if error is None:
        assert VERDICTS[verdict] is None
        return
    assert (error.call_id, error.named_safe) == ("c", True)
    for field in dataclasses.fields(verdict):
        if hasattr(error, field.name):
            assert getattr(error, field.name) == getattr(verdict, field.name)


@every_verdict
def test_a_repr_names_the_class_and_the_tool_and_nothing_that_the_server_said(verdict: Verdict) -> None:
    assert repr(verdict).startswith(type(verdict).__name__ + "(")
    assert "tool='t'" in repr(verdict)
    assert CANARY not in repr(verdict)


def test_a_result_type_of_the_specification_is_shown() -> None:
    assert "input_required" in repr(Unfinished("input_required"))


@every_verdict
def test_verdicts_are_values(verdict: Verdict) -> None:
    twin = dataclasses.replace(verdict)
    assert twin == verdict
    assert hash(twin) == hash(verdict)
    assert dataclasses.replace(verdict, result=None) == verdict  # what came is no part of the fact
    assert dataclasses.replace(verdict, tool="other") != verdict
    assert dataclasses.replace(verdict, deviations=()) != verdict
    assert [other for other in VERDICTS if other == verdict] == [verdict]


@every_verdict
def test_a_verdict_pickles_and_copies(verdict: Verdict) -> None:
    for twin in (pickle.loads(pickle.dumps(verdict)), copy.copy(verdict), copy.deepcopy(verdict)):  # noqa: S301  # ours
        assert twin == verdict
        assert type(twin) is type(verdict)


def test_a_violation_is_pickled_without_its_value_and_the_schemas_words() -> None:
    back = pickle.loads(pickle.dumps(VIOLATION))  # noqa: S301  # ours
    assert back == VIOLATION
    assert (back.value, back.expected) == (None, None)
    assert (VIOLATION.value, VIOLATION.expected) == (CANARY, "integer")


def test_deviations_stay_sorted_and_count_once() -> None:
    verdict = with_deviation(Missing("no_text", deviations=(Deviation("format"),)), Deviation("contract_changed"))
    assert [d.code for d in verdict.deviations] == ["contract_changed", "format"]
    assert with_deviation(verdict, Deviation("format")) == verdict


def test_facts_know_nothing_of_consequences() -> None:
    names = {field.name for cls in CLASSES for field in dataclasses.fields(cls)}
    assert not names & {"action", "policy", "outcome", "retry_safe"}


# --- the types: what is wrong here fails under mypy and pyright


def told(verdict: Verdict) -> str:
    """A `match` over the union; a class that is not named in it would not type-check."""
    match verdict:
        case Conforming(value=_, source=source):
            return source
        case Violating(violations=violations):
            assert_type(violations, tuple[Violation, ...])
            return violations[0].keyword
        case Missing(reason=reason):
            return reason
        case Errored(failure=failure):
            assert_type(failure, ToolFailure)
            return failure.kind or ""
        case Malformed(problems=problems):
            return problems[0].code
        case Unenforceable(reason=reason):
            return reason
        case Unchecked(reason=reason):
            return reason
        case Unfinished(result_type=result_type):
            assert_type(result_type, str)
            return result_type
        case _:
            assert_never(verdict)


@every_verdict
def test_a_match_over_all_classes_is_exhaustive(verdict: Verdict) -> None:
    assert told(verdict)


def typed(conforming: Conforming, missing: Missing) -> NoReturn:
    """Never called: what unwrap gives, to a type checker."""
    assert_type(conforming.unwrap(), Any)
    missing.unwrap()
