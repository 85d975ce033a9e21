"""What is given by tool name or glob: a name beats a glob, the first glob beats later ones."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TypeVar

T = TypeVar("T")


def of_tool(table: Mapping[str, T], tool: str) -> T | None:
    """What the table has for this tool."""
    if tool in table:
        return table[tool]
    return next((value for glob, value in table.items() if fnmatchcase(tool, glob)), None)
