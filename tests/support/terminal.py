"""A page that is followed at a terminal: its commands and files besides its Python, in the order of the page.

    sit_down(monkeypatch, tmp_path)
    await follow(in_order(Page("docs/tasks/check-in-ci.md")), names)

A block of `sh` is run by bash and held against the text below it, standard output alone. A block of Python whose first
line names a file (`# agent.py`) is written to that file. One that begins with `# mcp 2.x` is left out on 1.x.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from support.page import EXAMPLES, Block, Page
from support.sessions import SDK_MAJOR

_SHELL: Final = re.compile(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
_FILE: Final = re.compile(r"# (\w+\.py)\n")
_CHANCE: Final = re.compile(r"\b[0-9a-f]{16}\b|(?<= in )[0-9.]+s\b")
"""What is another one in every run: the id of a call, and how long pytest took."""

needs_bash = pytest.mark.skipif(sys.platform == "win32", reason="bash is not at hand there")


@dataclass(frozen=True)
class Followed(Block):
    """A block of Python, as a page is followed."""

    async def said(self, names: dict[str, Any]) -> str:
        """What it prints."""
        return _as_shown(await super().said(names), self.shown)


@dataclass(frozen=True)
class Written(Block):
    """A file."""

    async def said(self, names: dict[str, Any]) -> str:  # noqa: ARG002  # a file knows no names
        """Write it."""
        await anyio.Path(self.code.split(maxsplit=2)[1]).write_text(self.code, encoding="utf-8")
        return ""


@dataclass(frozen=True)
class Typed(Block):
    """Commands, as bash runs them."""

    async def said(self, names: dict[str, Any]) -> str:  # noqa: ARG002  # the same
        """What they print on standard output."""
        bash = ["bash", "-c", self.code]
        done = await anyio.run_process(bash, check=False, stderr=None)
        return _as_shown(done.stdout.decode(), self.shown)


def _as_shown(said: str, shown: str) -> str:
    """What is by chance is as it is shown."""
    chances = iter(_CHANCE.findall(shown))
    return _CHANCE.sub(lambda found: next(chances, found[0]), said)


def in_order(page: Page) -> list[Block]:
    """All that is to be done on a page: Python, commands, files."""
    found: list[Block] = []
    for block in page.blocks():
        parts = block.page, block.line, block.heading, block.code, block.shown
        if not (SDK_MAJOR == 1 and block.code.startswith("# mcp 2.x\n")):
            found.append(Written(*parts) if _FILE.match(block.code) else Followed(*parts))
    for typed in _SHELL.finditer(page.text):
        line = page.text.count("\n", 0, typed.start(1)) + 1
        found.append(Typed(page.path, line, "", typed[1], typed[2] or ""))
    return sorted(found, key=lambda block: block.line)


def sit_down(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """As somebody sits there who has the examples in a folder of their own, and the environment of this test."""
    shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
