"""docs/security.md: each promise names tests that are there."""

from __future__ import annotations

from typing import Final

from support.page import Page
from support.suite import gone_from, named

PAGE: Final = "docs/security.md"
SECTIONS: Final = (
    "It ends",
    "It stays at home",
    "It forgets",
    "It believes nobody",
    "It does not repeat what it was told",
)


def test_each_test_that_the_page_names_is_in_the_suite() -> None:
    assert not gone_from(PAGE)


def test_each_promise_names_a_test() -> None:
    rows = [row for section in SECTIONS for row in Page(PAGE, heading=section).rows("promise")]
    assert len(rows) > 30
    assert not [promise for promise, tests in rows if not named(tests)]
