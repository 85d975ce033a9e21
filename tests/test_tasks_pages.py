"""docs/tasks: every page does what it shows, and what it only says is the case as well."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

import anyio
import pytest
from mcp import StdioServerParameters
from pydantic import BaseModel
from typing_extensions import TypedDict

from mcp_guard import (
    ENFORCE,
    RELAY,
    STRICT,
    Contract,
    Contracts,
    MalformedResultError,
    MissingStructuredContentError,
    OutputValidationError,
    ToolTimeoutError,
    connect,
    guard,
)
from mcp_guard.cli import main
from mcp_guard.testing import GET_STOCK, FaultyServer
from support import SDK_MAJOR
from support.page import ROOT, Page, follow
from support.terminal import in_order, needs_bash, sit_down

TASKS: Final = "docs/tasks"
PAGES: Final = {
    path.stem: Page(f"{TASKS}/{path.name}") for path in sorted((ROOT / TASKS).glob("*.md")) if path.stem != "index"
}
AT_A_TERMINAL: Final = [name for name, page in PAGES.items() if "```sh\n" in page.text]
LONGEST: Final = 100
"""Lines of a page: a screen, or one and a half."""
ASKED: Final = {"sku": "A-1"}


async def followed(name: str) -> int:
    server = StdioServerParameters(command="python", args=["stock_server.py"])
    return await follow(in_order(PAGES[name]), {"__name__": "page", "server": server})


@pytest.mark.parametrize("name", [name for name in PAGES if name not in AT_A_TERMINAL])
async def test_a_page_does_what_it_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sit_down(monkeypatch, tmp_path)
    assert await followed(name) > 0


@needs_bash
@pytest.mark.parametrize("name", AT_A_TERMINAL)
def test_a_page_with_commands_does_what_it_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sit_down(monkeypatch, tmp_path)
    assert anyio.run(followed, name) > 0


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_short(name: str) -> None:
    assert len(PAGES[name].text.splitlines()) <= LONGEST


def test_the_index_has_every_page() -> None:
    links = Page(f"{TASKS}/index.md").links()
    assert {link for link in links if not link.startswith("..")} == {f"{name}.md" for name in PAGES}


@dataclass
class Point:
    """What is asked for as a dataclass."""

    sku: str
    quantity: int


class Model(BaseModel):
    """The same as a model."""

    sku: str
    quantity: int


class Typed(TypedDict):
    """The same as a dict."""

    sku: str
    quantity: int


@pytest.mark.parametrize(
    "into, gives",
    [
        (Model, Model(sku="A-1", quantity=3)),
        (Point, Point("A-1", 3)),
        (Typed, {"sku": "A-1", "quantity": 3}),
        (dict[str, int | str], {"sku": "A-1", "quantity": 3}),
        (Literal["x"] | Model, Model(sku="A-1", quantity=3)),
        (lambda value: [*value], ["sku", "quantity"]),
    ],
    ids=range(6),
)
async def test_typed_results_each_kind_that_the_table_names_can_be_asked_for(into: Any, gives: object) -> None:
    async with FaultyServer().session() as session:
        assert await guard(session).call("get_stock", ASKED, into=into) == gives


NAIVE: Final = FaultyServer(
    tools=[{**GET_STOCK, "outputSchema": {"type": "object", "properties": {"at": {"format": "date-time"}}}}],
    work={"get_stock": lambda _: {"at": "2026-11-30T10:00:00"}},
)


async def test_naive_date_times_are_a_violation_under_strict_and_a_naive_datetime_takes_them() -> None:
    async with NAIVE.session() as session:
        with pytest.raises(OutputValidationError) as caught:
            await guard(session, policy=STRICT).call("get_stock", ASKED)
        assert caught.value.source == "structured"
        assert await guard(session).call("get_stock", ASKED, into=dict[str, datetime]) == {
            "at": datetime(2026, 11, 30, 10)  # noqa: DTZ001  # it is what this is about
        }


async def test_wrong_schema_a_registered_contract_helps_also_where_the_servers_can_not_be_used() -> None:
    known = Contracts()
    known.register(Contract("get_stock", {"type": "object", "required": ["sku"]}))
    async with FaultyServer("dangling_ref").session() as session:
        assert await guard(session, contracts=known).call("get_stock", ASKED) == {"sku": "A-1", "quantity": 3}


async def test_wrong_schema_a_type_of_the_callers_is_no_way_round_it() -> None:
    async with FaultyServer("stale_schema").session() as session:
        with pytest.raises(OutputValidationError) as caught:
            await guard(session).call("get_stock", ASKED, into=Model)
    assert caught.value.source == "structured"


async def test_never_twice_the_model_is_told_not_to_call_before_checking() -> None:
    (words,) = re.findall(r'`error\.for_model\(\)` ends with "(.*?)"', PAGES["never-twice"].text)
    async with FaultyServer("silent_after_work").session() as session:
        with pytest.raises(ToolTimeoutError) as caught:
            await guard(session, timeout=0.05).call("get_stock", ASKED)
    assert caught.value.for_model().endswith(f"{words}.")


async def test_from_runtime_error_what_is_wanted_as_it_was_can_be_had() -> None:
    async with FaultyServer("error_prose").session() as session:
        failed = await guard(session, policy=RELAY).call_tool("get_stock", ASKED)
        assert failed.model_dump(by_alias=True)["isError"]
    async with FaultyServer("text_only").session() as session:
        with pytest.raises(MissingStructuredContentError) as caught:
            await guard(session, policy=replace(ENFORCE, fallback="off")).call("get_stock", ASKED)
        assert isinstance(caught.value, RuntimeError)
    server = FaultyServer()
    async with server.session() as session:
        lenient = replace(ENFORCE, arguments="report")
        await guard(session, policy=lenient).call("get_stock", {**ASKED, "warehouse": "Berlin"})
    assert server.calls["get_stock"] == 1


async def test_upgrade_what_the_parser_refuses_is_the_data_but_round_a_session_of_2() -> None:
    server = FaultyServer("content_missing")
    async with connect(server.transport()) as tools:
        assert await tools.call("get_stock", ASKED) == {"sku": "A-1", "quantity": 3}
    async with server.session() as session:
        try:
            assert await guard(session).call("get_stock", ASKED) == {"sku": "A-1", "quantity": 3}
        except MalformedResultError:
            assert SDK_MAJOR == 2
        else:
            assert SDK_MAJOR == 1


async def test_upgrade_one_invalid_schema_leaves_the_other_tools_alone_where_the_table_says_so() -> None:
    other = {**GET_STOCK, "name": "other"}
    work = {"other": lambda arguments: {"sku": arguments["sku"], "quantity": 1}}
    server = FaultyServer({"get_stock": "invalid_schema"}, tools=[GET_STOCK, other], work=work)
    async with connect(server.transport()) as tools:
        assert await tools.call("other", ASKED) == {"sku": "A-1", "quantity": 1}
    async with server.session() as session:
        try:
            await session.call_tool("other", ASKED)
        except ValueError:  # pydantic.ValidationError is one
            assert SDK_MAJOR == 2
        else:
            assert SDK_MAJOR == 1


def test_check_in_ci_the_action_and_the_hook_are_there_and_take_what_is_shown() -> None:
    yaml = pytest.importorskip("yaml")
    workflow, hooks = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", PAGES["check-in-ci"].text, re.DOTALL))
    used = workflow["jobs"]["contracts"]["steps"][-1]
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert used["with"].keys() <= action["inputs"].keys()
    (hook,) = hooks["repos"][0]["hooks"]
    (defined,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hook["id"] == defined["id"]
    assert re.search(hook["files"], "mcp.lock")
    assert defined["types"] == ["text"]  # with "json" pre-commit would pass over a lock file


def test_check_in_ci_the_hook_fails_from_a_warning_on_and_the_command_does_not(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    known = Contracts()
    known.learn([Contract("get_stock", {"type": "object", "required": ["a"], "properties": {"a": {"type": "null"}}})])
    known.save(lock := tmp_path / "mcp.lock")
    assert main(["lint", *hook["args"], str(lock)]) == 1
    assert main(["lint", str(lock)]) == 0
