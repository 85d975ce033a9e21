"""docs/errors.md: the tree, the kinds, the sections, and what is shown where are as they are told."""

from __future__ import annotations

import dataclasses
import pickle
import re
from collections.abc import Iterator
from typing import Any, Final, get_args

import pytest

import mcp_guard
from mcp_guard import GuardError, Record, ToolResult, errors, guard
from mcp_guard._facts import FailureKind
from support import Error, raw_session, tool
from support.calls import data
from support.page import Page, stock_server

PAGE: Final = Page("docs/errors.md")


def classes(tree: type[GuardError], depth: int = 1) -> Iterator[tuple[int, type[GuardError]]]:
    """The tree in its order, each class with its depth."""
    for child in tree.__subclasses__():
        if child.__module__ == errors.__name__:  # a test may have made one of its own
            yield depth, child
            yield from classes(child, depth + 1)


RAISED: Final = [kind for _, kind in classes(GuardError) if "Never raised itself" not in (kind.__doc__ or "")]


def told_tree() -> Iterator[tuple[int, str, str | None, str]]:
    """Depth, name, builtin ancestor and what stands to the right, of each line of the tree but the root."""
    (tree,) = re.findall(r"```\nGuardError\n(.*?)```", PAGE.text, re.DOTALL)
    for line in tree.splitlines():
        indent, name, builtin, right = re.findall(r"^([│├└─ ]+)(\w+)(?: \((\w+)\))?\s+(.+)$", line)[0]
        yield len(indent) // 4, name, builtin or None, right


def test_the_tree_is_the_one_that_is() -> None:
    told = {name: (depth, builtin) for depth, name, builtin, _ in told_tree()}
    assert told == {
        kind.__name__: (
            depth,
            next((base.__name__ for base in kind.__bases__ if not issubclass(base, GuardError)), None),
        )
        for depth, kind in classes(GuardError)
    }


def test_each_error_that_is_raised_has_its_kind_in_the_tree() -> None:
    kinds = {name: right for _, name, _, right in told_tree() if " " not in right}
    assert kinds == {kind.__name__: kind.kind for kind in RAISED}


def test_each_error_that_is_raised_has_a_section_with_cause_outcome_and_what_to_do() -> None:
    names = [name for _, name, _, _ in told_tree() if name in {kind.__name__ for kind in RAISED}]
    headings = re.findall(r"^## (\w+Error)$", PAGE.text, re.MULTILINE)
    assert headings == names
    for name in names:
        section = Page("docs/errors.md", heading=name)
        assert len(section.blocks()) == 1
        (text,) = re.findall(rf"^## {name}\n\n(.*?)\n```python", PAGE.text, re.DOTALL | re.MULTILINE)
        assert re.findall(r"^\*\*(.+?)\.\*\*", text, re.MULTILINE) == ["Cause", "Outcome", "What to do"]


async def test_the_example_of_each_section_is_that_error_with_the_outcome_that_is_told() -> None:
    names_of_errors = {kind.__name__ for kind in RAISED}
    seen: list[str] = []
    async with stock_server() as names:
        for block in PAGE.blocks():
            names.pop("error", None)
            await block.said(names)
            if block.heading in names_of_errors and "error" in names:
                error = names["error"]
                (outcome,) = re.findall(
                    rf"^## {block.heading}\n.*?^\*\*Outcome\.\*\* (.*?)\n\n", PAGE.text, re.DOTALL | re.MULTILINE
                )
                assert type(error).__name__ == block.heading
                assert error.outcome in re.findall(r"`(\w+)`", outcome)
                seen.append(block.heading)
    assert names_of_errors - {*seen} == {"UnfinishedResultError"}  # that one is shown without a call


def test_the_attributes_and_methods_that_are_told_are_those_that_every_error_has() -> None:
    attributes = [name.strip("`") for name, _ in PAGE.rows("attribute")]
    fields = {field.name for field in dataclasses.fields(GuardError)} - {"named_safe"}
    assert {*attributes} == fields | {"kind", "retry_safe", "retryable"}
    methods = [name.strip("`") for name, _ in PAGE.rows("method")]
    assert methods == ["str(error)", "to_dict()", "for_model()", "explain()"]
    assert all(hasattr(GuardError, name.removesuffix("()")) for name in methods[1:])


def test_the_outcomes_are_those_that_errors_have() -> None:
    assert [name.strip("`") for name, _ in PAGE.rows("`outcome`")] == [*get_args(errors.Outcome)]


def test_each_kind_of_failure_is_told() -> None:
    (told,) = re.findall(r"where it is a usual one: (.*?)\. Anything", PAGE.text, re.DOTALL)
    assert re.findall(r"`(\w+)`", told) == [*get_args(FailureKind)]


def test_a_reader_is_given_what_is_told() -> None:
    (told,) = re.findall(r"plain function of a `ToolResult` \((.*?)\)\.", PAGE.text, re.DOTALL)
    names = re.findall(r"`(\w+)`", told)
    assert len(names) == 4
    assert all(hasattr(ToolResult, name) for name in names)


MARK: Final = "MARK"
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"declared": {"type": "integer"}, "choice": {"enum": [MARK]}},
    "additionalProperties": {"type": "integer"},
}
PLACES: Final[dict[str, tuple[str, Any]]] = {
    "property names that the contract declares": (MARK, data({MARK: "no"})),
    "property names that it does not declare": ("x", data({MARK: "no"})),
    "the schema's `enum`, `const`, `pattern`, `default`": ("x", data({"choice": "no"})),
    "values of results and arguments": ("x", data({"declared": MARK})),
    "the text of an `isError` result": ("x", {"isError": True, "content": [{"type": "text", "text": MARK}]}),
    "the message of a JSON-RPC error": ("x", Error(-32603, MARK)),
}
"""For a row of the table: a property that the contract declares, and an answer that says MARK in that place."""


@pytest.mark.parametrize("place", PLACES)
async def test_what_is_untrusted_appears_where_the_table_says(place: str) -> None:
    declared, answer = PLACES[place]
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], declared: {"type": "integer"}}}
    seen: list[Record] = []
    async with raw_session(tools=[tool("t", schema)], results={"t": answer}) as (session, _):
        with pytest.raises(mcp_guard.GuardError) as caught:
            await guard(session, hooks=[seen.append]).call("t")
    error = caught.value
    in_logs = "".join([str(error), repr(error), str(error.to_dict()), str(seen[0].to_dict())])
    told = [MARK in text for text in (in_logs, error.for_model(), error.explain(values=True))]
    said = {row[0]: row[1:] for row in PAGE.rows("untrusted text")}[place]
    assert told == [cell.startswith("yes") for cell in said]
    assert MARK.encode() not in pickle.dumps(error) or not place.startswith("values")
