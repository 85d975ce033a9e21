"""The README: its program and its snippet run and say what is shown, and its tables say what is the case."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final, get_args

import pytest
from scripts.faults import BEGIN, END, PICKED, first_look

import mcp_guard
from mcp_guard import (
    ENFORCE,
    Conforming,
    Contract,
    Errored,
    GuardError,
    Malformed,
    Missing,
    Problem,
    ToolFailure,
    Unchecked,
    Unenforceable,
    Unfinished,
    Verdict,
    Violating,
    errors,
    guard,
)
from mcp_guard._decision import decide
from mcp_guard.testing import FaultyServer
from support.page import Page, follow

README: Final = Page("README.md")
PROGRAM, *SNIPPETS = README.blocks()
SERVER: Final = '"mcp_guard.testing", "null_field"]'


def ran(program: str) -> str:
    """What a program prints."""
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout  # noqa: S603  # ours


def test_the_program_prints_what_is_shown_below_it() -> None:
    assert ran(PROGRAM.code) == PROGRAM.shown


def test_with_a_good_server_the_program_prints_what_is_said() -> None:
    assert SERVER in PROGRAM.code
    assert "the program prints 3." in README.text
    assert ran(PROGRAM.code.replace(SERVER, '"mcp_guard.testing"]')) == "3\n"


async def test_in_that_program_the_snippets_do_what_is_shown_below_them() -> None:
    async with FaultyServer("null_field").session() as session:
        names = {"session": session, "tools": guard(session), "GuardError": GuardError, "guard": guard}
        assert await follow(SNIPPETS, names) == len(SNIPPETS) > 0


def test_what_is_shown_belongs_to_a_block_that_is_run() -> None:
    assert sum(bool(block.shown) for block in README.blocks()) == README.text.count("```text")


EXAMPLES: Final[list[Verdict]] = [
    Conforming(tool="t", value={}, source="structured"),
    Violating(tool="t", value=[], source="structured", violations=(), truncated=False),
    Missing(tool="t", reason="no_text"),
    Errored(tool="t", failure=ToolFailure()),
    Malformed(tool="t", problems=(Problem("not_an_object"),)),
    Malformed(tool="t", problems=(Problem("too_deep", "depth", 200, 201),)),
    Unenforceable(tool="t", value={}, reason="dangling_ref"),
    Unfinished(tool="t", result_type="task"),
    Unchecked(tool="t", value={}, reason="undeclared"),
    Unchecked(tool="t", value={}, reason="unlisted"),
]
ROWS: Final = {verdict.strip("`"): given for verdict, _, given in README.rows("verdict")}


def named(verdict: Verdict) -> str:
    """How the table names it."""
    kind = type(verdict).__name__
    return f'{kind}("{verdict.reason}")' if isinstance(verdict, Unchecked) else kind


def test_the_table_of_verdicts_has_them_all() -> None:
    assert {*ROWS} == {named(verdict) for verdict in EXAMPLES}
    assert {name.partition("(")[0] for name in ROWS} == {kind.__name__ for kind in get_args(Verdict)}


@pytest.mark.parametrize("verdict", EXAMPLES, ids=range(len(EXAMPLES)))
def test_a_row_says_what_enforce_does(verdict: Verdict) -> None:
    decision = decide(verdict, ENFORCE, Contract("t", {"type": "object"}))
    given = ROWS[named(verdict)]
    if decision.action == "raise":
        assert f"`{type(decision.error).__name__}`" in given
    else:
        assert given.startswith("the data")
        assert "`" not in given
        assert (decision.action == "report") == ("a line in the log" in given)


def test_the_rows_of_misbehaving_servers_are_those_of_the_page_on_faults() -> None:
    page = [line for line in Page("docs/faults.md").text.splitlines() if line.startswith("| `")]
    table, _, seen = README.text.split(BEGIN)[1].split(END)[0].partition("\n\n")
    assert f"{table}\n" == first_look(page)
    assert len(PICKED) == table.count("\n") - 1 == 12
    said = re.search(r"last on (\S+), with (mcp \S+ and \S+)\. ", " ".join(Page("docs/faults.md").text.split()))
    assert said
    assert f"Seen on {said[1]} with {said[2]} by" in seen
    assert f"[all {len(page)} faults]" in seen


DOORS: Final = "FastMCP, LangChain, Pydantic AI or the OpenAI Agents SDK"


def test_each_door_that_is_named_is_there() -> None:
    told = dict(README.rows("you have"))
    doors = re.findall(r"`(?:mcp_guard\.doors\.)?([a-z_]+)`", told[DOORS])
    assert doors[0] == "guarded"
    for door in doors[1:]:
        spec = importlib.util.find_spec(f"mcp_guard.doors.{door}")
        assert spec is not None
        assert spec.origin is not None
    calls = {name for cell in told.values() for name in re.findall(r"(\w+)\(", cell)}
    assert calls == {"guard", "attach", "connect", "install"} <= {*mcp_guard.__all__}


def test_each_framework_that_has_a_door_or_a_recipe_is_named() -> None:
    doors = Page("docs/doors.md").text
    headings = re.findall(r"^### (.+)$", doors, re.MULTILINE)
    after = headings[headings.index("strands-agents, Google ADK") :]
    recipes = [name for heading in after for name in heading.split(", ")]
    (told,) = re.findall(r"and recipes for (.*?);", README.text, re.DOTALL)
    assert sorted(re.split(r", | and ", " ".join(told.split()))) == sorted(recipes)


def classes(tree: type[Any]) -> Iterator[type[Any]]:
    children: list[type[Any]] = tree.__subclasses__()
    for child in children:
        yield child
        yield from classes(child)


def test_each_error_that_is_named_exists() -> None:
    named = {*re.findall(r"`([A-Z]\w+Error)`", README.text)}
    known = {kind.__name__ for kind in classes(errors.GuardError)} | {"GuardError"}
    assert named - known <= {"RuntimeError", "McpError", "MCPError"}
    assert issubclass(errors.ContractError, RuntimeError)


def test_a_call_has_the_timeout_that_is_told() -> None:
    assert "ends after 60 seconds" in README.text
    assert inspect.signature(guard).parameters["timeout"].default == 60


def test_each_outcome_is_told() -> None:
    (told,) = re.findall(r"has `outcome` \((.*?):", README.text)
    assert re.findall(r"`(\w+)`", told) == [*get_args(errors.Outcome)]


@pytest.mark.parametrize("folder", ["docs", "examples"])
def test_each_page_and_example_that_is_listed_is_named_as_its_file_is(folder: str) -> None:
    links = re.findall(rf"\[([\w.-]+)\]\({folder}/([\w./-]+)\)", README.text)
    assert links
    assert all(name == path for name, path in links)
