"""docs/specification.md: each statement has a test that is there, or a reason."""

from __future__ import annotations

from typing import Final

import pytest

from support.suite import ROOT, gone_from, named

PAGE: Final = "docs/specification.md"
LINES: Final = [
    line
    for line in (ROOT / PAGE).read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and "---" not in line
]
ROWS: Final = [
    line.removeprefix("| ").removesuffix(" |").replace("| |", "| - |").split(" | ")
    for line in LINES
    if not line.startswith("| the specification |")
]
REASONS: Final = ("Not ", "Left to ")


def test_each_test_that_the_map_names_is_in_the_suite() -> None:
    assert not gone_from(PAGE)


@pytest.mark.parametrize("row", ROWS, ids=[f"row {number}" for number in range(1, len(ROWS) + 1)])
def test_each_statement_has_a_test_or_a_reason(row: list[str]) -> None:
    assert len(row) == 3
    assert named(row[2]) or row[2].startswith(REASONS), row


def test_the_map_has_not_lost_half_of_its_statements() -> None:
    assert len(ROWS) > 80
