"""docs/doors.md: the sections that need no framework do what they show."""

from __future__ import annotations

import importlib
import re
import runpy
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest
from mcp import StdioServerParameters

from doors import CASES
from doors.run import frameworks
from mcp_guard import uninstall
from support import Request, raw_session
from support.page import Page, follow

ROOT: Final = Path(__file__).parents[1]
SHOP: Final = ROOT / "examples" / "stock_server.py"


@pytest.fixture(autouse=True)
def left_as_it_was() -> Generator[None]:
    """Whatever the page does: afterwards the SDK is as it was."""
    yield
    uninstall()


@pytest.mark.parametrize("heading", ["Code that builds its sessions out of reach", "Groups of sessions"])
async def test_a_section_does_what_it_shows(heading: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SHOP.parent)
    shop = runpy.run_path(str(SHOP))

    def respond(request: Request) -> Any:
        return shop["answer"]("get_stock", request.arguments)["result"]

    async def framework(sku: str) -> Any:
        async with raw_session(tools=shop["TOOLS"], results={"get_stock": respond}) as (session, _):
            return await session.call_tool("get_stock", {"sku": sku})

    server = StdioServerParameters(command=sys.executable, args=[str(SHOP)])
    around: dict[str, Any] = {"__name__": "page", "framework": framework, "server": server}
    assert await follow(Page("docs/doors.md", heading=heading).blocks(), around) > 0


AFTER: Final = (ROOT / "docs" / "doors-before-after.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", frameworks())
def test_the_page_before_and_after_has_each_case_and_behind_a_door_nothing_runs_twice(name: str) -> None:
    module: Any = importlib.import_module(f"doors.{name}")
    if f"\n## {module.NAME}\n" not in AFTER:
        pytest.skip(f"{module.NAME} is not on the page yet: make doors")
    (section,) = re.findall(rf"^## {re.escape(module.NAME)}\n(.*?)(?=^## |\Z)", AFTER, re.DOTALL | re.MULTILINE)
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]
    assert [row[0].strip() for row in rows] == [case.name for case in CASES]
    assert {row[-1].strip(" |") for row in rows} <= {"0", "1"}
    assert f"`{module.LINE}`" in section
