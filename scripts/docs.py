"""Stages the documentation for its generator, and writes docs/llms.txt: `make docs` and `make llms` run it.

Links in README and docs/ are relative paths in the repository, so that they work on every code forge, in an editor, and
between the files of a source distribution. In the site pages stand elsewhere, and other files not at all: so each page
is copied with its links turned to where their targets stand, pages of the root among the others, and any other file or
folder that a page links to as a page of its own that shows it.

`stage FOLDER` writes what the generator reads, `publish FOLDER SITE` adds to the site what is for language models: each
page as Markdown beside its HTML, and llms-full.txt. `llms` writes docs/llms.txt, which is kept in the repository.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[1]
LLMS: Final = ROOT / "docs" / "llms.txt"
ROOT_PAGES: Final = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
}
"""Pages that a forge wants in the root of the repository, and where they stand in the site."""
PICTURES: Final = (".gif", ".jpg", ".png", ".svg")
OPTIONAL: Final = "Project"
"""The section of the navigation that a language model may leave out."""

_ENOUGH: Final = 60
"""Characters that say what a page is about."""
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_LINK: Final = re.compile(r"(\]\(|^\[[^\]]+\]: )([^)\s]+)")
_SHOWN: Final = {".py": "python", ".json": "json", ".toml": "toml", ".yml": "yaml", ".md": "markdown", ".sh": "sh"}


@dataclass(frozen=True)
class Entry:
    """One line of the navigation."""

    section: str
    title: str
    page: str
    """Its path in the site's source, as `ROOT_PAGES` has it."""

    @property
    def file(self) -> str:
        """Its path from the root of the repository."""
        roots = {page: file for file, page in ROOT_PAGES.items()}
        return roots.get(self.page, f"docs/{self.page}")


def navigation() -> list[Entry]:
    """The navigation of mkdocs.yml, in its order."""
    _, _, nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")  # before it are tags of Python
    return [
        entry for section in yaml.safe_load(nav) for name, below in section.items() for entry in _entries(name, below)
    ]


def _entries(section: str, below: Any) -> Iterator[Entry]:
    for line in [{section: below}] if isinstance(below, str) else below:
        ((title, page),) = line.items()
        if isinstance(page, str):
            yield Entry(section, title, page)
        else:
            yield from _entries(section, page)


def in_site(file: str) -> str:
    """Where a file or folder of the repository stands in the site's source."""
    if file in ROOT_PAGES:
        return ROOT_PAGES[file]
    if file.startswith("docs/"):
        return file.removeprefix("docs/")
    if (ROOT / file).is_dir():
        return f"source/{file}/index.md"
    return f"source/{file}" if file.endswith(PICTURES) else f"source/{file}.md"


def turned(text: str, file: str, wanted: Callable[[str], None]) -> str:
    """The text of a page with its links as they have to be in the site.

    Args:
        text: Markdown.
        file: The page's path from the root of the repository.
        wanted: Told of each file of the repository that the page links to.
    """
    here, there = PurePosixPath(file).parent, PurePosixPath(in_site(file)).parent

    def turn(match: re.Match[str]) -> str:
        before, (path, hash_mark, anchor) = match[1], match[2].partition("#")
        target = os.path.normpath(here / path)
        if not path or ":" in path or target.startswith("..") or not (ROOT / target).exists():
            return match[0]  # the generator says what is wrong with it
        wanted(target)
        lines = re.fullmatch(r"L\d+(-L\d+)?", anchor)  # a forge's mark of a line
        return before + os.path.relpath(in_site(target), there) + ("" if lines else hash_mark + anchor)

    return "".join(line if code else _LINK.sub(turn, line) for line, code in _lines(text))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """The lines of a page, each with whether it belongs to a fenced block of code."""
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence:
            yield line, True
            if mark and mark[1].startswith(fence) and not line.strip(" \n" + fence[0]):
                fence = ""
        else:
            fence = mark[1] if mark else ""
            yield line, bool(mark)


def shown(file: str) -> str:
    """A file or folder that is no page, as a page."""
    path = ROOT / file
    head = f"---\nsearch:\n  exclude: true\n---\n\n# `{file}`\n\n"
    if path.is_dir():
        names = sorted(child.name for child in path.iterdir() if child.is_file() and not child.name.startswith("."))
        return head + "".join(f"* [`{name}`]({name})\n" for name in names)
    text = path.read_text(encoding="utf-8")
    ticks = "`" * (1 + max([2, *(len(run) for run in re.findall(r"`+", text))]))
    return f"{head}{ticks}{_SHOWN.get(path.suffix, 'text')}\n{text.rstrip()}\n{ticks}\n"


def stage(folder: Path) -> None:
    """Write what the generator reads: the pages, and whatever of the repository they link to."""
    shutil.rmtree(folder, ignore_errors=True)
    todo = [entry.file for entry in navigation() if (ROOT / entry.file).is_file()]
    todo += [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*")) if path.is_file()]
    done: set[str] = set()
    while todo:
        file = todo.pop()
        if file in done:
            continue
        done.add(file)
        target = folder / in_site(file)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix not in {".md", ".txt"}:
            shutil.copyfile(ROOT / file, target)
            continue
        page = file in ROOT_PAGES or file.startswith("docs/")
        text = (ROOT / file).read_text(encoding="utf-8") if page else shown(file)
        base = f"{file}/." if (ROOT / file).is_dir() else file
        target.write_text(turned(text, base, todo.append), encoding="utf-8")


def llms() -> str:
    """docs/llms.txt, in the form of llmstxt.org: every page of the navigation, with how it begins."""
    name, summary = _opening((ROOT / "README.md").read_text(encoding="utf-8"))
    lines = [
        f"# {name}",
        "",
        f"> {summary}",
        "",
        "Distribution `mcp-result-guard` (`pip install mcp-result-guard`), import package `mcp_guard`, command",
        "`mcp-guard`; Python 3.10 and newer, mcp 1.x and 2.x. Written by `scripts/docs.py` from the site's navigation.",
    ]
    section = ""
    for entry in navigation():
        if entry.section != section:
            section = entry.section
            lines += ["", f"## {'Optional' if section == OPTIONAL else section}", ""]
        _, about = _opening((ROOT / entry.file).read_text(encoding="utf-8"))
        lines.append(f"- [{entry.title}]({os.path.relpath(entry.file, 'docs')}): {about}")
    return "\n".join(lines) + "\n"


def _opening(text: str) -> tuple[str, str]:
    """A page's title, and the first sentence or two below it, links as their words alone."""
    title, _, rest = text.removeprefix("# ").partition("\n")
    paragraph = " ".join(rest.strip().partition("\n\n")[0].split())
    words = re.sub(r"\[(.+?)\](\(.*?\)|\[.*?\])", r"\1", paragraph)
    about = ""
    for sentence in re.split(r"(?<=[.?!])\s(?=[A-Z\"`*])", words):
        if len(about) < _ENOUGH:
            about = f"{about} {sentence}".strip()
    return title, about


def publish(folder: Path, site: Path) -> None:
    """Add to the built site what is for language models: every page as Markdown, and all of them in one file."""
    from scripts.reference import written_out  # it needs griffe

    full: list[str] = []
    for entry in navigation():
        text = (folder / entry.page).read_text(encoding="utf-8")
        if entry.page.startswith("reference/"):
            text = written_out(text)
        (site / entry.page).write_text(text, encoding="utf-8")
        full.append(text.strip())
    (site / "llms-full.txt").write_text("\n\n".join(full) + "\n", encoding="utf-8")


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("stage").add_argument("folder", type=Path)
    publishing = commands.add_parser("publish")
    publishing.add_argument("folder", type=Path)
    publishing.add_argument("site", type=Path)
    commands.add_parser("llms")
    chosen = parser.parse_args()
    if chosen.command == "stage":
        stage(chosen.folder)
    elif chosen.command == "publish":
        publish(chosen.folder, chosen.site)
    else:
        LLMS.write_text(llms(), encoding="utf-8")


if __name__ == "__main__":
    main()
