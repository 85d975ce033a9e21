"""The tests by their names, for pages that name them."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


@cache
def suite() -> frozenset[str]:
    """Every test of the suite, as `test_check.py::test_what_it_holds`."""
    return frozenset(
        f"{path.name}::{node.name}"
        for path in (ROOT / "tests").glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    )


def named(text: str) -> list[str]:
    """The tests that a piece of a page names."""
    return re.findall(r"`(test_\w+\.py::test_\w+)`", text)


def gone_from(page: str) -> list[str]:
    """The tests that a page names and that are not in the suite."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return sorted(set(named(text)) - suite())
