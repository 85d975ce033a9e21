"""docs/testing.md and docs/command-line.md: what they show runs, and their tables are what is the case."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

from mcp_guard._lint import RULES
from mcp_guard.cli import COMMANDS, parser
from mcp_guard.cli.common import STATUSES
from mcp_guard.cli.formats import FORMATS
from mcp_guard.testing import FAULTS
from support.page import ROOT, Page, follow


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def rows(text: str, head: str) -> list[list[str]]:
    """The cells of the table that begins with this head."""
    table = text[text.index(head) :].split("\n\n", maxsplit=1)[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in row.strip("|").split(" | ")] for row in table]


async def test_every_example_of_the_page_on_testing_does_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    ran = 0
    for block in Page("docs/testing.md").blocks():
        if "def test_" in block.code:
            continue  # the tests of the plugin have these
        if "inject(" in block.code:
            names["server"].fault = None
        if block.shown.startswith("AssertionError"):
            with pytest.raises(AssertionError) as caught:
                await block.said(names)
            told = "".join(traceback.format_exception_only(caught.value)).splitlines(keepends=True)
            assert "".join(told[:5]) == block.shown
            ran += 1
        else:
            ran += await follow([block], names)
    assert ran == 4


def test_the_pages_know_how_many_faults_there_are() -> None:
    assert len(FAULTS) > 60
    listed = [row[0] for row in rows(page("faults.md"), "| fault |")]
    assert listed == list(FAULTS)


def test_every_command_status_rule_and_format_is_on_its_page() -> None:
    text = page("command-line.md")
    assert [row[0] for row in rows(text, "| command |")] == list(COMMANDS)
    assert {int(status): says for status, says in rows(text, "| exit status |")} == STATUSES
    assert rows(text, "| code |") == [[rule.code, rule.level, rule.title] for rule in RULES.values()]
    assert all(f"`{name}`" in text or f"--format {name}" in text for name in FORMATS)


def test_the_command_lines_that_are_shown_are_ones() -> None:
    shown = re.findall(r"^mcp-guard (.*)$", page("command-line.md"), re.MULTILINE)
    assert len(shown) == 4
    for line in shown:
        parser().parse_args(shlex.split(line.partition(" -- ")[0]))


@pytest.mark.skipif(sys.platform == "win32", reason="bash is not at hand there")
def test_the_action_s_command_finds_what_the_command_line_finds() -> None:
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    (_, check) = action["runs"]["steps"]
    defaults = {name: str(given.get("default", "")) for name, given in action["inputs"].items()}
    server = f"-- {sys.executable} -m mcp_guard.testing dangling_ref"
    given = {**defaults, "server": server}
    marks = re.compile(r"\$\{\{ inputs\.(\S+) \}\}")
    environment = {name: marks.sub(lambda m: given[m[1]], text) for name, text in check["env"].items()}
    bin_ = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S603  # ours
        ["bash", "-c", check["run"]],  # noqa: S607  # bash, as the action asks for
        env={**os.environ, **environment, "PATH": bin_},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.startswith("::")
    assert "::error title=get_stock%3A output-unusable::" in done.stdout


def test_the_hook_s_command_is_one() -> None:
    yaml = pytest.importorskip("yaml")
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    parser().parse_args([*hook["entry"].split()[1:], *hook["args"], "tools.json"])


def test_the_pages_are_found_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"(docs/{name})" in readme for name in ("testing.md", "command-line.md", "faults.md"))
