"""The README: every snippet runs and says what is shown, and its tables say what is the case."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import io
import math
import os
import pickle
import re
import runpy
import sys
import traceback
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Final, get_args

import anyio
import pytest

import mcp_guard
from mcp_guard import ENFORCE, OBSERVE, STRICT, Contract, Limits, Verdict, errors, guard, policy
from support import SDK_MAJOR, Error, Request, raw_session, tool

ROOT: Final = Path(__file__).parents[1]
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE: Final = re.compile(
    r"(?:<!-- mcp (?P<major>\d)\.x -->\n)?```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<shown>.*?)```\n)?", re.DOTALL
)
RAISED: Final = "Traceback (most recent call last):\n  ...\n"


@dataclasses.dataclass(frozen=True)
class Snippet:
    """A block of code, the SDK major that it is for (0: both), and what it is said to print."""

    line: int
    code: str
    major: int
    shown: str


SNIPPETS: Final = [
    Snippet(README.count("\n", 0, x.start("code")), x["code"], int(x["major"] or 0), x["shown"] or "")
    for x in FENCE.finditer(README)
]


@pytest.fixture
def in_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As somebody stands who has cloned the project: in its root, with this Python as `python`."""
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(ROOT / "examples")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)


async def said(snippet: Snippet) -> str:
    """What a snippet prints, with `session` and `tools` at hand; an error as a traceback ends."""
    shop = runpy.run_path("examples/stock_server.py")  # the server of the examples, here in memory

    def respond(request: Request) -> Any:
        return shop["answer"]("get_stock", request.arguments)["result"]

    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(snippet.code, f"README.md:{snippet.line}", "exec", flags, dont_inherit=True)
    printed = io.StringIO()
    async with raw_session(tools=shop["TOOLS"], results={"get_stock": respond}) as (session, _):
        with contextlib.redirect_stdout(printed):
            try:
                running = eval(code, {"__name__": "readme", "session": session, "tools": guard(session)})  # noqa: S307  # ours
                if inspect.isawaitable(running):
                    await running
            except mcp_guard.GuardError as error:
                print(RAISED + traceback.format_exception_only(error)[-1], end="")  # noqa: T201  # into `printed`
    return printed.getvalue()


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: f"line{snippet.line}")
@pytest.mark.usefixtures("in_the_clone")
def test_a_snippet_does_what_is_shown_below_it(snippet: Snippet) -> None:
    if snippet.major not in {0, SDK_MAJOR}:
        pytest.skip(f"for mcp {snippet.major}.x")
    assert anyio.run(said, snippet) == snippet.shown


def test_every_snippet_is_found() -> None:
    assert len(SNIPPETS) == README.count("```python") > 0
    assert sum(bool(snippet.shown) for snippet in SNIPPETS) == README.count("```text")


def rows(head: str) -> dict[str, list[str]]:
    """The table whose head begins like this: its rows by their first cell."""
    table = re.search(rf"^\| {re.escape(head)} \|.*\n\|[ -|]+\n((?:\|.*\n)+)", README, re.MULTILINE)
    assert table, head
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[1].splitlines()]
    return {first: rest for first, *rest in cells}


ROWS: Final = {**rows("verdict"), **rows("what")}
FIELDS: Final = {
    "`Violating`": "violating",
    "`Missing`": "missing",
    "`Errored`": "errored",
    "`Malformed`": "malformed",
    "`Unenforceable`": "unenforceable",
    "`Unfinished`": "unfinished",
    '`Unchecked("undeclared")`': "undeclared",
    '`Unchecked("unlisted")`': "unlisted",
    "arguments": "arguments",
    "pins": "pins",
    "listing": "unknown_listing",
    "deviations": "deviations",
}


def test_the_table_of_verdicts_has_them_all() -> None:
    named = {name.split("(")[0].strip("`") for name in rows("verdict")}
    assert named == {kind.__name__ for kind in get_args(Verdict)}


def test_each_row_is_about_a_field_of_the_policy() -> None:
    assert {*ROWS} == {*FIELDS, "`Conforming`"}
    assert {*FIELDS.values()} == {*policy.ACTIONS, "deviations"}


@pytest.mark.parametrize("name", FIELDS)
def test_a_row_says_what_the_policies_do(name: str) -> None:
    _, enforce, strict, observe, *_ = ROWS[name]
    field = FIELDS[name]
    assert [enforce, strict, observe] == [getattr(preset, field) for preset in (ENFORCE, STRICT, OBSERVE)]


def classes(tree: type[Any]) -> Iterator[type[Any]]:
    children: list[type[Any]] = tree.__subclasses__()
    for child in children:
        yield child
        yield from classes(child)


def test_each_error_that_is_named_exists_and_each_that_is_raised_is_named() -> None:
    named = {*re.findall(r"`([A-Z]\w+Error)`", README)}
    raised = {kind.__name__ for kind in classes(errors.GuardError) if not kind.__subclasses__()}
    assert raised - {"BudgetExhaustedError"} <= named  # there are no budgets yet
    builtin = {"RuntimeError", "TimeoutError", "ConnectionError", "ValueError", "TypeError"}
    assert named <= {kind.__name__ for kind in classes(errors.GuardError)} | {"GuardError"} | builtin


@pytest.mark.parametrize(
    "mine, builtin",
    [
        (errors.ContractError, RuntimeError),
        (errors.ToolTimeoutError, TimeoutError),
        (errors.ConnectionLostError, ConnectionError),
        (errors.InvalidArgumentsError, ValueError),
    ],
)
def test_the_ancestors_that_the_warning_names_are_there(mine: type, builtin: type) -> None:
    assert issubclass(mine, builtin)
    assert re.search(
        rf"`{mine.__name__}` (is )?an? `{builtin.__name__}`", " ".join(README.replace("\n> ", " ").split())
    )


def test_each_deviation_is_named() -> None:
    (told,) = re.findall(r"The codes:(.*?)\n\n", README, re.DOTALL)
    assert {*re.findall(r"`(\w+_\w+|format)`", told)} == policy.DEVIATIONS


def test_the_limits_are_those_that_hold() -> None:
    told = {
        name.strip("` "): int(number.replace(",", ""))
        for names, (numbers, _) in rows("`Limits`").items()
        for name, number in zip(names.split(", "), numbers.split(", "), strict=True)
    }
    assert told == dataclasses.asdict(Limits())


@pytest.mark.parametrize(
    "uri, name",
    [
        (None, "2020-12"),
        ("https://json-schema.org/draft/2020-12/schema", "2020-12"),
        ("https://json-schema.org/draft/2019-09/schema", "2019-09"),
        ("http://json-schema.org/draft-07/schema#", "draft-07"),
        ("http://json-schema.org/draft-06/schema#", "draft-06"),
        ("http://json-schema.org/draft-04/schema#", "draft-04"),
    ],
)
def test_each_dialect_that_is_named_can_be_used(uri: str | None, name: str) -> None:
    assert name in README
    assert Contract("t", {"type": "object", **({"$schema": uri} if uri else {})}).unusable is None


def test_the_outcomes_are_those_that_errors_have() -> None:
    assert [name.strip("`") for name in rows("`outcome`")] == [*get_args(errors.Outcome)]


def test_a_call_has_the_timeout_that_is_told() -> None:
    assert "ends after 60 seconds" in README
    assert inspect.signature(guard).parameters["timeout"].default == 60


MARK: Final = "MARK"
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"declared": {"type": "integer"}, "choice": {"enum": [MARK]}},
    "additionalProperties": {"type": "integer"},
}


def structured(**data: Any) -> dict[str, Any]:
    return {"content": [], "structuredContent": data}


PLACES: Final[dict[str, tuple[str, Any]]] = {
    "property names that the contract declares": (MARK, structured(MARK="no")),
    "property names that it does not declare": ("x", structured(MARK="no")),
    "the schema's `enum`, `const`, `pattern`, `default`": ("x", structured(choice="no")),
    "values of results and arguments": ("x", structured(declared=MARK)),
    "the text of an `isError` result": ("x", {"isError": True, "content": [{"type": "text", "text": MARK}]}),
    "the message of a JSON-RPC error": ("x", Error(-32603, MARK)),
}
"""For a row of the table: a property that the contract declares, and an answer that says MARK in that place."""


@pytest.mark.parametrize("place", PLACES)
async def test_what_is_untrusted_appears_where_the_table_says(place: str) -> None:
    declared, answer = PLACES[place]
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], declared: {"type": "integer"}}}
    seen: list[mcp_guard.Record] = []
    async with raw_session(tools=[tool("t", schema)], results={"t": answer}) as (session, _):
        with pytest.raises(mcp_guard.GuardError) as caught:
            await guard(session, hooks=[seen.append]).call("t")
    error = caught.value
    in_logs = "".join([str(error), repr(error), str(error.to_dict()), str(seen[0].to_dict())])
    told = [MARK in text for text in (in_logs, error.for_model(), error.explain(values=True))]
    said = rows("untrusted text")[place]
    expected = [cell.startswith("yes") for cell in said]
    assert told == expected
    assert MARK.encode() not in pickle.dumps(error) or not place.startswith("values")


class Colour(Enum):
    """An enum of the caller's."""

    RED = "red"


@dataclasses.dataclass
class Point:
    """A type of the caller's."""

    x: int


@pytest.mark.parametrize(
    "given, sent",
    [
        (date(2026, 1, 2), "2026-01-02"),
        (Colour.RED, "red"),
        (Decimal("1.50"), "1.50"),
        ((1, 2), [1, 2]),
        ({1}, [1]),
        (Point(1), {"x": 1}),
        (math.nan, None),
    ],
)
async def test_arguments_are_made_into_json_as_the_sdk_does_it(given: object, sent: object) -> None:
    async with raw_session(tools=[tool("t")], results={"t": structured()}) as (session, server):
        await guard(session).call("t", {"x": given})
        await session.call_tool("t", {"x": given})
        assert [request.arguments for request in server.asked("tools/call")] == [{"x": sent}] * 2


async def test_arguments_that_are_no_json_are_not_sent() -> None:
    async with raw_session(tools=[tool("t")], results={"t": structured()}) as (session, server):
        with pytest.raises(TypeError):
            await guard(session).call("t", {"x": object()})
        assert not server.calls


@pytest.mark.parametrize("link", sorted({*re.findall(r"\]\((?!http)([^)]+)\)", README)}))
def test_each_link_leads_somewhere(link: str) -> None:
    path, _, anchor = link.partition("#")
    assert (ROOT / path).exists()
    if anchor:
        headings = {h.lower().replace(" ", "-") for h in re.findall(r"^#+ (.+)$", README, re.MULTILINE)}
        assert anchor in headings


def test_what_is_not_there_is_not_used() -> None:
    code = "".join(snippet.code for snippet in SNIPPETS)
    imported = re.findall(r"^from mcp_guard import (.+)$", code, re.MULTILINE)
    assert {name for names in imported for name in names.split(", ")} <= {*mcp_guard.__all__}
