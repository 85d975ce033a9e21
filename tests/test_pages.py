"""All pages: every link leads somewhere, also the part behind its `#`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from support.page import ROOT, Page

PAGES: Final = sorted(
    path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
)


def anchors(page: Path) -> set[str]:
    return Page(page.relative_to(ROOT).as_posix()).anchors()


@pytest.mark.parametrize("path", PAGES)
def test_each_link_of_a_page_leads_somewhere(path: str) -> None:
    astray: list[str] = []
    for link in Page(path).links():
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        target, _, anchor = link.partition("#")
        leads_to = ((ROOT / path).parent / target).resolve() if target else ROOT / path
        if not leads_to.exists() or (anchor and anchor not in anchors(leads_to)):
            astray.append(link)
    assert not astray
