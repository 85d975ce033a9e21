"""The site: its navigation has every page, links are turned to where their targets stand, llms.txt is up to date."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.docs import LLMS, ROOT, ROOT_PAGES, in_site, llms, navigation, stage, turned

MAKE = "run `make llms`"


def test_each_page_is_in_the_navigation_once() -> None:
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert sorted(entry.page for entry in navigation()) == sorted([*pages, *ROOT_PAGES.values()])


def test_llms_txt_is_what_the_navigation_says() -> None:
    assert LLMS.read_text(encoding="utf-8") == llms(), MAKE


def test_each_page_is_described_in_llms_txt_by_a_sentence() -> None:
    lines = [line for line in llms().splitlines() if line.startswith("- [")]
    assert len(lines) == len(navigation())
    assert not [line for line in lines if not line.endswith((".", ":", "?", "!"))]


@pytest.mark.parametrize(
    "link, here, there",
    [
        ("docs/calls.md", "README.md", "calls.md"),
        ("docs/calls.md#retries", "README.md", "calls.md#retries"),
        ("../README.md#verdicts", "docs/calls.md", "index.md#verdicts"),
        ("../../CHANGELOG.md", "docs/tasks/index.md", "../changelog.md"),
        ("../examples/demo.py", "docs/calls.md", "source/examples/demo.py.md"),
        ("../examples/demo.py#L10-L12", "docs/calls.md", "source/examples/demo.py.md"),
        ("../tests/doors", "docs/doors.md", "source/tests/doors/index.md"),
        ("../LICENSE", "docs/doors.md", "source/LICENSE.md"),
        ("contracts.md", "docs/calls.md", "contracts.md"),
        ("#here", "docs/calls.md", "#here"),
        ("https://example.org/a.md", "docs/calls.md", "https://example.org/a.md"),
        ("no-such-page.md", "docs/calls.md", "no-such-page.md"),
        ("../../outside.md", "docs/calls.md", "../../outside.md"),
    ],
)
def test_a_link_of_the_repository_becomes_one_of_the_site(link: str, here: str, there: str) -> None:
    assert turned(f"[a]({link})", here, lambda _: None) == f"[a]({there})"
    assert turned(f"[a]: {link}\n", here, lambda _: None) == f"[a]: {there}\n"


def test_a_picture_stays_one_and_any_other_file_becomes_a_page() -> None:
    assert in_site("benchmarks/times.svg") == "source/benchmarks/times.svg"
    assert in_site("benchmarks/memory.py") == "source/benchmarks/memory.py.md"


def test_nothing_is_turned_in_a_block_of_code() -> None:
    text = "```python\n[a](../README.md)\n~~~\n[b](../README.md)\n```\n[c](../README.md)\n"
    assert turned(text, "docs/calls.md", lambda _: None) == text.replace("[c](../README.md)", "[c](index.md)")


def test_what_a_page_links_to_is_staged_with_it(tmp_path: Path) -> None:
    stage(tmp_path)
    linked: list[str] = []
    for entry in navigation():
        turned((ROOT / entry.file).read_text(encoding="utf-8"), entry.file, linked.append)
    assert any(file.startswith("examples/") for file in linked)
    assert not [file for file in linked if not (tmp_path / in_site(file)).is_file()]
