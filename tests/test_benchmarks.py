"""The benchmarks: each question can be asked and gives its tables, the page has them, and the statistics are right.

No figure is looked at: what is asked here is asked in tiny numbers, on a machine that does other things.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from benchmarks import __main__ as command
from benchmarks._payloads import SCHEMA, SIZES, bare, result, said, stock
from benchmarks._table import Table, held, least
from benchmarks._timing import NULL, Ratio, Timings, compared, resampled

from mcp_guard import Conforming, Contract, Violating, check
from support import raw_session, tool
from support.page import Page, follow

PAGE: Final = "docs/performance.md"
FOLDER: Final = Path(command.__file__).parent


def rows(table: Table) -> list[str]:
    """The lines of the table in its Markdown."""
    return [line for line in str(table).splitlines() if line.startswith("|")]


@pytest.mark.parametrize("question", command.QUESTIONS)
def test_a_question_can_be_asked_and_gives_its_tables(question: str) -> None:
    tables = command.tables_of(question, 0.001, tiny=True)
    assert tables
    for table in tables:
        lines = rows(table)
        assert len(lines) >= 3 or not table.rows
        assert {line.count("|") for line in lines} == {len(table.head) + 1}


def test_the_command_knows_every_script_of_its_folder() -> None:
    scripts = {path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_")}
    assert scripts == {*command.QUESTIONS, *command.OTHERS}


def test_the_tables_are_put_between_the_marks_and_nowhere_else() -> None:
    page = f"before\n{command.BEGIN}\nold\n{command.END}\nafter\n"
    assert command.written(page, "new\n") == f"before\n{command.BEGIN}\n\nnew\n\n{command.END}\nafter\n"


async def test_the_snippet_of_the_page_judges_in_a_thread() -> None:
    value = {"rows": [{"n": 1}, {"n": 2}, {"n": 3}]}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": {"required": ["n"]}}}}
    async with raw_session(tools=[tool("export", schema)], results={"export": bare(value)}) as (session, server):
        assert await follow(Page(PAGE).blocks(), {"__name__": "page", "session": session}) == 1
        assert server.calls["export"] == 1


def test_the_page_has_what_each_question_found_on_both_majors() -> None:
    text = Page(PAGE).text
    tables = text.partition(command.BEGIN)[2].partition(command.END)[0]
    assert re.search(r"Measured on \d{4}-\d\d-\d\d: ", tables)
    for major in ("2", "1"):
        assert f"## On mcp {major}.x" in tables
    for title in (
        "### Calls, ",
        "### Hooks, ",
        "### `check` alone",
        "### 1,000 tools",
        "### Imports",
        "### The longest",
    ):
        assert title in tables


@pytest.mark.parametrize("size", SIZES.values())
def test_the_results_are_of_their_size_and_are_what_they_are_meant_to_be(size: int) -> None:
    contract = Contract("stock", SCHEMA)
    assert size * 0.7 < len(str(stock(size))) < size * 1.1
    for answer in (result(stock(size)), bare(stock(size)), said(stock(size))):
        assert isinstance(check(answer, contract), Conforming)


def test_as_many_rows_break_the_contract_as_were_asked_for() -> None:
    verdict = check(bare(stock(10_000, wrong=7)), Contract("stock", SCHEMA))
    assert isinstance(verdict, Violating)
    assert len({violation.pointer for violation in verdict.violations}) == 7


def test_a_ratio_is_made_block_by_block_and_its_interval_holds_its_median() -> None:
    timings = Timings({"a": {0: 1.0, 1: 10.0}, "b": {0: 2.0, 1: 20.0}, NULL: {0: 1.0, 1: 10.0}})
    assert timings.ratio("b", "a") == Ratio(2.0, 2.0, 2.0)
    assert timings.null == Ratio(1.0, 1.0, 1.0)
    assert not timings.void
    found = resampled([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.low <= found.median == 3.0 <= found.high


def test_what_is_not_alike_with_itself_is_void_and_says_so() -> None:
    timings = Timings({"a": {0: 1.0}, NULL: {0: 1.03}})
    assert timings.void
    assert "**Void" in str(Table("t", ["a"], [["1"]], void=timings.void))


async def test_a_way_that_waits_and_one_that_does_not_are_timed_alike() -> None:
    calls = {"waits": 0, "does not": 0}

    async def waits() -> None:
        calls["waits"] += 1

    def does_not() -> None:
        calls["does not"] += 1

    found = await compared({"waits": waits, "does not": does_not}, seconds=0.001)
    assert all(calls.values())
    assert set(found.series) == {"waits", "does not", NULL}
    assert found.ratio("does not", "waits").median > 0


@pytest.mark.parametrize("found, says", [(1.0, "kept"), (1.1, "**missed**")])
def test_a_figure_says_whether_it_is_within_its_goal(found: float, says: str) -> None:
    assert held(Ratio(found, found, found), 1.05).endswith(f"goal 1.05: {says}")
    assert least(found, 1.05, "ms").endswith(f"goal 1.05: {says}")
    assert "goal" not in held(Ratio(found, found, found), None)
