"""docs/walkthroughs: each program says what is shown, all of it and in this order, and what is read out of it is so."""

from __future__ import annotations

import dataclasses
import os
import re
import runpy
import sys
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from mcp_guard import (
    STRICT,
    Conforming,
    Contract,
    InvalidArgumentsError,
    Malformed,
    OutputValidationError,
    ToolExecutionError,
    check,
    connect,
)
from support.page import EXAMPLES, ROOT, Page
from support.terminal import Typed, in_order, needs_bash

FOLDER: Final = "docs/walkthroughs"
PAGES: Final = {
    path.stem: Page(f"{FOLDER}/{path.name}") for path in sorted((ROOT / FOLDER).glob("*.md")) if path.stem != "index"
}
TEXTS: Final = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The names of an example, by its file's name."""
    monkeypatch.syspath_prepend(EXAMPLES)

    def names(file: str) -> dict[str, Any]:
        return runpy.run_path(str(EXAMPLES / file))

    return names


@needs_bash
@pytest.mark.parametrize("name", PAGES)
def test_a_program_says_what_its_walk_through_shows_and_nothing_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    # older mcp 1.x under a newer pydantic-settings, see pyproject.toml
    monkeypatch.setenv("PYTHONWARNINGS", "default,ignore:Field 'lifespan' has an incomplete definition")
    (command,) = in_order(PAGES[name])
    assert isinstance(command, Typed)
    shown = "".join(TEXTS.findall(PAGES[name].text))
    assert anyio.run(dataclasses.replace(command, code=f"{command.code.strip()} 2>&1", shown=shown).said, {}) == shown


def test_the_index_has_every_walk_through() -> None:
    links = Page(f"{FOLDER}/index.md").links()
    assert {link for link in links if not link.startswith("..")} == {f"{name}.md" for name in PAGES}


async def test_anatomy_what_an_exception_in_a_tool_becomes_is_as_it_is_told(example: Any) -> None:
    told = re.findall(r"`(Error executing tool divide[^`]*)`", PAGES["anatomy"].text)
    server = example("canteen.py")["Server"]("calculator", log_level="CRITICAL")

    @server.tool()  # type: ignore[untyped-decorator]  # the two SDKs share no types
    def divide(a: int, b: int) -> float:
        """One number divided by another."""
        return a / b

    async with connect(server) as tools:
        with pytest.raises(ToolExecutionError) as caught:
            await tools.call("divide", {"a": 1, "b": 0})
    assert caught.value.failure.text in told  # 2.0 still says what 1.30 says


def test_anatomy_what_is_left_to_try_ends_as_it_is_told(example: Any) -> None:
    names = example("anatomy_server.py")
    result, contract = names["get_weather"]("Berlin"), Contract.from_tool(names["TOOLS"][1])
    assert isinstance(check({**result, "isError": "no"}, contract), Malformed)
    del result["content"]
    verdict = check(result, contract)
    assert isinstance(verdict, Conforming)
    assert [each.code for each in verdict.deviations] == ["content_missing"]


async def test_canteen_a_refusal_names_the_days_and_strict_does_not_send_the_misspelt_argument(example: Any) -> None:
    async with connect(example("canteen.py")["well_made"]()) as tools:
        with pytest.raises(InvalidArgumentsError) as caught:
            await tools.call("get_menu", {"day": "sunday"})
        assert "'monday', 'tuesday', 'wednesday'" in caught.value.for_model()
        judged = await tools.judge("get_menu", {"day": "monday", "wihtout": ["milk"]})
        (deviation,) = judged.verdict.deviations
        assert (deviation.code, deviation.detail.endswith("without")) == ("unknown_argument", True)
    async with connect(example("canteen.py")["well_made"](), policy=STRICT) as tools:
        with pytest.raises(InvalidArgumentsError):
            await tools.call("get_menu", {"day": "monday", "wihtout": ["milk"]})


async def test_support_case_no_match_beside_a_source_that_timed_out_is_not_let_through(example: Any) -> None:
    names = example("case_j42.py")
    desk = names["Desk"]()
    found = desk.find_case({"order": "O-42"})
    work = {"find_case": lambda _: {**found, "status": "no_match"}, "list_cases": desk.list_cases}
    server = names["FaultyServer"](tools=names["TOOLS"], work=work)
    async with connect(server.transport()) as tools:
        with pytest.raises(OutputValidationError):
            await tools.call("find_case", {"order": "O-42"})
