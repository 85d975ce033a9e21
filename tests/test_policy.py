"""Policies: the presets are what the design says, bad values are refused at once, and each code has its action."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, Final

import pytest

from mcp_guard import ENFORCE, OBSERVE, RELAY, STRICT, Limits, Policy
from mcp_guard.policy import ACTIONS, DEVIATIONS

VERDICTS: Final = ("violating", "missing", "errored", "malformed", "unenforceable", "unfinished")

PRESETS: Final[list[tuple[Policy, dict[str, str]]]] = [
    (
        ENFORCE,
        {
            **dict.fromkeys(VERDICTS, "raise"),
            **dict.fromkeys(("arguments", "pins", "unknown_listing"), "raise"),
            "undeclared": "allow",
            "unlisted": "report",
        },
    ),
    (STRICT, dict.fromkeys(ACTIONS, "raise")),
    (OBSERVE, dict.fromkeys(ACTIONS, "report")),
]


@pytest.mark.parametrize("policy, actions", PRESETS, ids=["ENFORCE", "STRICT", "OBSERVE"])
def test_a_preset_does_what_its_column_of_the_table_says(policy: Policy, actions: dict[str, str]) -> None:
    assert {name: getattr(policy, name) for name in ACTIONS} == actions


@pytest.mark.parametrize("policy, action", [(ENFORCE, "report"), (STRICT, "raise"), (OBSERVE, "report")])
def test_a_preset_treats_all_deviations_alike(policy: Policy, action: str) -> None:
    assert {policy.on_deviation(code) for code in DEVIATIONS} == {action}


def test_the_default_is_enforce() -> None:
    assert Policy() == ENFORCE


def test_only_strict_looks_more_closely() -> None:
    assert [(p.formats, p.compare_text) for p in (ENFORCE, OBSERVE, RELAY)] == [("report", False)] * 3
    assert (STRICT.formats, STRICT.compare_text) == ("assert", True)
    assert {p.fallback for p in (ENFORCE, STRICT, OBSERVE, RELAY)} == {"readings"}


def test_relay_differs_from_enforce_in_the_tools_own_errors_alone() -> None:
    assert dataclasses.replace(RELAY, errored="raise") == ENFORCE
    assert RELAY.errored != "raise"


def test_every_field_that_is_an_action_is_named_as_one() -> None:
    looks = {"deviations", "fallback", "formats", "compare_text", "limits"}
    assert {field.name for field in dataclasses.fields(Policy)} == {*ACTIONS, *looks}


def test_only_a_policy_that_never_raises_observes() -> None:
    assert OBSERVE.observes
    assert not any(policy.observes for policy in (ENFORCE, STRICT, RELAY))
    raising: dict[str, Any]
    for name in ACTIONS:
        raising = {name: "raise"}
        assert not dataclasses.replace(OBSERVE, **raising).observes
    assert not dataclasses.replace(OBSERVE, deviations={"format": "raise"}).observes
    assert dataclasses.replace(OBSERVE, deviations={"format": "allow"}).observes


def test_a_policy_is_frozen_and_keyword_only() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ENFORCE.violating = "allow"  # type: ignore[misc]  # that is the point
    with pytest.raises(TypeError):
        Policy("raise")  # type: ignore[call-arg]  # that is the point
    with pytest.raises(TypeError):
        Limits(5)  # type: ignore[call-arg]  # that is the point


@pytest.mark.parametrize("name", ACTIONS)
@pytest.mark.parametrize("value", ["RAISE", "", None, True, "ignore", ["raise"]])
def test_an_unknown_action_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"Policy\.{name} .* takes one of 'raise', 'report', 'allow'"):
        dataclasses.replace(ENFORCE, **{name: value})


@pytest.mark.parametrize(
    "wrong, kind, says",
    [
        ({"fallback": "all"}, ValueError, "'off', 'json', 'readings'"),
        ({"formats": True}, ValueError, "'ignore', 'report', 'assert'"),
        ({"compare_text": 1}, TypeError, "True or False"),
        ({"limits": {"depth": 5}}, TypeError, "Limits"),
        ({"deviations": "ignore"}, ValueError, "'raise', 'report', 'allow'"),
        ({"deviations": {"formats": "raise"}}, ValueError, "'format'"),
        ({"deviations": {"format": "ignore"}}, ValueError, "'raise', 'report', 'allow'"),
        ({"deviations": {5: "raise"}}, ValueError, "'format'"),
        ({"deviations": ["format"]}, ValueError, "'raise', 'report', 'allow'"),
        ({"violatin": "raise"}, TypeError, "violatin"),
    ],
)
def test_a_bad_value_is_refused_with_what_would_do(wrong: dict[str, Any], kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        Policy(**wrong)


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Limits)])
@pytest.mark.parametrize(
    "value, kind",
    [(0, ValueError), (-1, ValueError), (1.5, TypeError), (True, TypeError), ("9", TypeError), (None, TypeError)],
)
def test_a_limit_is_a_whole_number_of_at_least_one(name: str, value: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=rf"Limits\.{name}"):
        Limits(**{name: value})
    assert getattr(Limits(**{name: 1}), name) == 1


def test_a_star_stands_for_the_codes_that_are_not_named() -> None:
    policy = Policy(deviations={"format": "allow", "*": "raise"})
    assert policy.on_deviation("format") == "allow"
    assert {policy.on_deviation(code) for code in DEVIATIONS - {"format"}} == {"raise"}


def test_without_a_star_the_codes_that_are_not_named_are_reported() -> None:
    policy = Policy(deviations={"format": "raise"})
    assert policy.on_deviation("format") == "raise"
    assert {policy.on_deviation(code) for code in DEVIATIONS - {"format"}} == {"report"}


def test_a_policy_keeps_the_actions_it_was_given() -> None:
    actions: dict[str, Any] = {"format": "raise"}
    policy = Policy(deviations=actions)
    actions["format"] = "allow"
    assert policy.on_deviation("format") == "raise"


def test_equal_policies_have_equal_hashes() -> None:
    one = Policy(deviations={"format": "raise", "*": "allow"})
    other = Policy(deviations={"*": "allow", "format": "raise"})
    assert one == other
    assert hash(one) == hash(other)
    assert len({ENFORCE, STRICT, OBSERVE, RELAY, one, other, Policy()}) == 5


@pytest.mark.parametrize("policy", [ENFORCE, STRICT, OBSERVE, RELAY, Policy(deviations={"format": "raise"})])
def test_a_policy_pickles_and_copies(policy: Policy) -> None:
    assert pickle.loads(pickle.dumps(policy)) == policy  # noqa: S301  # ours
    assert copy.deepcopy(policy) == policy
