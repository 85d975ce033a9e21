"""A page of the documentation: its sections, and their code, which is run."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import re
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
_BLOCKS: Final = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)


def blocks(page: str, heading: str) -> list[tuple[str, str]]:
    """The blocks of code in a section, each with what it is said to print."""
    text = (ROOT / page).read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    found: list[tuple[str, str]] = _BLOCKS.findall(section)
    if section.count("```python") != len(found):
        raise ValueError(f"{page}, {heading}: a block of code that is not found")
    return found


async def printed(code: str, around: dict[str, Any]) -> str:
    """What a block prints, with these names at hand."""
    out = io.StringIO()
    program = compile(code, "page", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    with contextlib.redirect_stdout(out):
        running = eval(program, around)  # noqa: S307  # ours
        if inspect.isawaitable(running):
            await running
    return out.getvalue()
