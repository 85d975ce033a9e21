"""Results of public servers, recorded: each is judged as plain jsonschema judges it, and the text is never misread."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
from jsonschema.validators import validator_for

from mcp_guard import OBSERVE, STRICT, Contract, check
from mcp_guard._json import same_json
from mcp_guard._verdict import Conforming, Errored, Unchecked, Unenforceable, Verdict, Violating
from mcp_guard.errors import GuardError

OURS: Final = Path(__file__).parent / "data" / "recordings"
OTHERS: Final = Path(__file__).parents[2] / "shared" / "recordings"
FILES: Final = {
    f"{folder.parent.name}/{path.stem}": path for folder in (OURS, OTHERS) for path in sorted(folder.glob("*.jsonl"))
}
SETS: Final = [folder for folder in (OURS, OTHERS) if any(folder.glob("*.jsonl"))]

every_file = pytest.mark.parametrize("name", FILES)


def results(path: Path) -> Iterator[tuple[dict[str, Any], Any, str]]:
    """Tool, result and protocol of each call that had a result."""
    for line in path.read_text("utf-8").splitlines():
        call = json.loads(line)
        if "result" in call:
            yield call["tool"], call["result"], call["protocol"]


def plainly_fits(value: Any, schema: dict[str, Any]) -> bool:
    """What plain jsonschema says."""
    fits: bool = validator_for(schema, default=jsonschema.Draft202012Validator)(schema).is_valid(value)
    return fits


@every_file
def test_every_recorded_result_is_judged_as_plain_jsonschema_judges_it(name: str) -> None:
    for tool, result, protocol in results(FILES[name]):
        verdict = check(result, Contract.from_tool(tool), protocol=protocol)
        schema = tool.get("outputSchema")
        assert not isinstance(verdict, Unenforceable)
        if result.get("isError"):
            assert isinstance(verdict, Errored)
        elif schema is None:
            assert isinstance(verdict, Unchecked)
            assert verdict.value == result.get("structuredContent")
        elif "structuredContent" in result:
            fits = plainly_fits(result["structuredContent"], schema)
            assert isinstance(verdict, Conforming if fits else Violating)
            assert verdict.value is result["structuredContent"]
            assert verdict.source == "structured"


def spoilt(value: Any) -> Iterator[Any]:
    """The value with one thing after the other wrong at its root, perhaps."""
    if isinstance(value, dict):
        for name in [*value][:6]:
            yield {other: kept for other, kept in value.items() if other != name}
            yield {**value, name: None}
            yield {**value, name: [value[name]]}
        yield {**value, "one more": 1}
    yield [value]


@every_file
def test_a_result_that_was_changed_is_judged_as_plain_jsonschema_judges_it(name: str) -> None:
    for tool, result, _ in results(FILES[name]):
        contract = Contract.from_tool(tool)
        if result.get("isError") or contract.output is None:
            continue
        for value in spoilt(result.get("structuredContent")):
            verdict = check({**result, "structuredContent": value}, contract)
            fits = plainly_fits(value, tool["outputSchema"])
            assert isinstance(verdict, Conforming if fits else Violating)
            assert fits or (isinstance(verdict, Violating) and verdict.violations)


@every_file
@pytest.mark.parametrize("policy", [STRICT, OBSERVE], ids=["STRICT", "OBSERVE"])
def test_nothing_but_a_guard_error_is_raised_about_a_recorded_result(name: str, policy: Any) -> None:
    for tool, result, _ in results(FILES[name]):
        for held_against in (Contract.from_tool(tool), None):
            verdict = check(result, held_against, policy=policy)
            try:
                verdict.unwrap()
            except GuardError as error:
                told = [str(error), error.for_model(), error.explain(values=True), json.dumps(error.to_dict())]
                assert all(told)  # that it can be said at all is what is held


def without_data(result: dict[str, Any]) -> dict[str, Any]:
    """A result with its structured part taken away."""
    return {member: value for member, value in result.items() if member != "structuredContent"}


def from_text(folder: Path) -> Iterator[tuple[Verdict, Any]]:
    """The verdict on each good result without its structured part, and what that part was."""
    for path in sorted(folder.glob("*.jsonl")):
        for tool, result, protocol in results(path):
            contract = Contract.from_tool(tool)
            if isinstance(check(result, contract, protocol=protocol), Conforming):
                yield check(without_data(result), contract, protocol=protocol), result["structuredContent"]


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: folder.parent.name)
def test_without_their_structured_part_most_results_come_back_from_the_text_and_none_is_wrong(folder: Path) -> None:
    outcomes = Counter[str]()
    for verdict, meant in from_text(folder):
        if not isinstance(verdict, Conforming):
            outcomes["not read"] += 1
        else:
            outcomes["right" if same_json(verdict.value, meant) else "wrong"] += 1
    assert outcomes["wrong"] == 0
    assert outcomes["right"] / outcomes.total() >= 0.83  # Counter.total: Python 3.10


def test_there_are_enough_recordings_of_every_kind() -> None:
    seen = Counter[str]()
    for path in OURS.glob("*.jsonl"):
        for tool, result, protocol in results(path):
            seen[type(check(result, Contract.from_tool(tool), protocol=protocol)).__name__] += 1
    assert seen["Conforming"] > 180
    assert seen["Errored"] > 120
    assert seen["Unchecked"] > 60
