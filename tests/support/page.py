"""A page of the documentation as a test reads it: blocks of code that are run, tables, links, headings.

    async with stock_server() as names:
        await follow(Page("docs/verdicts.md").blocks(), names)

runs every block of Python on that page, one after the other and with the same names, and holds what each prints
against the block of text right below it. Sybil (10) was looked at: it finds blocks and gives them one namespace, which
is the small part here; top-level `await` on asyncio and trio, the output in a block of its own and errors as the end of
a traceback would all be evaluators of our own there, too.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import inspect
import io
import re
import runpy
import sys
import traceback
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mcp import StdioServerParameters

from mcp_guard import guard
from support.peer import Request
from support.sessions import raw_session

ROOT: Final = Path(__file__).parents[2]
EXAMPLES: Final = ROOT / "examples"
RAISED: Final = "Traceback (most recent call last):\n  ...\n"
"""How a block of text begins that shows an exception: it stands for the lines that name files."""

_MARKDOWN: Final = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Block:
    """A block of Python, and what the block of text right below it says that it prints (nothing: it prints nothing)."""

    page: str
    line: int
    heading: str
    code: str
    shown: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    async def said(self, names: dict[str, Any]) -> str:
        """What it prints, with these names at hand, to which it adds its own; an exception as `RAISED` and its line.

        Raises:
            Exception: What the block raises, where no exception is shown.
        """
        return await printed(self.code, names, where=str(self), raises=RAISED in self.shown)


class Page:
    """A page, by its path from the root of the repository; or one section of it.

    Raises:
        ValueError: A block of Python has no end, or there is no such section.
    """

    def __init__(self, path: str, *, heading: str | None = None) -> None:
        self.path = path
        self.text = (ROOT / path).read_text(encoding="utf-8")
        self.heading = heading

    @cached_property
    def _tokens(self) -> list[tuple[str, Token]]:
        """The tokens in question, each with the last heading before it."""
        under, level, inside = "", 0, self.heading is None
        found: list[tuple[str, Token]] = []
        tokens = _MARKDOWN.parse(self.text)
        for token, after in zip(tokens, [*tokens[1:], None], strict=True):
            if token.type == "heading_open" and after is not None:
                under = after.content
                depth = int(token.tag[1:])
                if self.heading is not None and (not inside or depth <= level):
                    inside, level = under == self.heading, depth
            if inside:
                found.append((under, token))
        if not found:
            raise ValueError(f"{self.path} has no section {self.heading!r}")
        return found

    def blocks(self) -> list[Block]:
        """The blocks of Python, in the order of the page."""
        fences = [(under, token) for under, token in self._tokens if token.type == "fence"]
        found: list[Block] = []
        for (under, token), (_, below) in zip(fences, [*fences[1:], ("", None)], strict=True):
            if token.info.split(maxsplit=1)[:1] == ["python"]:
                (start, end) = token.map or (0, 0)
                shows = below is not None and below.info == "text" and (below.map or [0])[0] == end + 1
                shown = below.content if below is not None and shows else ""
                found.append(Block(self.path, start + 2, under, token.content, shown))
        return found

    def rows(self, head: str) -> list[list[str]]:
        """The rows of the one table whose first column has this head: the cells, as they are written.

        Raises:
            ValueError: There is no such table, or more than one.
        """
        tables: list[list[list[str]]] = []
        cell = False
        for _, token in self._tokens:
            match token.type:
                case "table_open":
                    tables.append([])
                case "tr_open":
                    tables[-1].append([])
                case "th_open" | "td_open":
                    cell = True
                case "inline" if cell:
                    tables[-1][-1].append(token.content)
                    cell = False
                case _:
                    pass
        found = [table[1:] for table in tables if table[0][0] == head]
        if len(found) != 1:
            raise ValueError(f"{self.path} has {len(found)} tables with the head {head!r}")
        return found[0]

    def links(self) -> list[str]:
        """Where its links and pictures lead to."""
        parts = [child for _, token in self._tokens for child in token.children or []]
        targets = [part.attrGet("href") or part.attrGet("src") for part in parts]
        return sorted({str(target) for target in targets if target})

    def anchors(self) -> set[str]:
        """What a link may have behind its `#`: what GitHub and MkDocs both call a heading, which no other is called."""
        tokens = _MARKDOWN.parse(self.text)
        slugs = [_slug(title.content) for at, title in pairwise(tokens) if at.type == "heading_open"]
        return {slug for slug in slugs if slugs.count(slug) == 1 and "--" not in slug}


def _slug(title: str) -> str:
    plain = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", title)
    return re.sub(r"[^a-z0-9_ -]", "", plain.lower()).strip().replace(" ", "-")


def blocks(page: str, heading: str) -> list[tuple[str, str]]:
    """The blocks of code in a section, each with what it is said to print."""
    return [(block.code, block.shown) for block in Page(page, heading=heading).blocks()]


async def printed(code: str, names: dict[str, Any], *, where: str = "page", raises: bool = False) -> str:
    """What a block prints, with these names at hand; with `raises`, the exception that ends it as a traceback ends."""
    out = io.StringIO()
    program = compile(code, where, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    with contextlib.redirect_stdout(out):
        try:
            running = eval(program, names)  # noqa: S307  # ours
            if inspect.isawaitable(running):
                await running
        except Exception as error:
            if not raises:
                raise
            out.write(RAISED + traceback.format_exception_only(error)[-1])
    return out.getvalue()


async def follow(blocks: Iterable[Block], names: dict[str, Any]) -> int:
    """Run blocks one after the other, with the same names; how many there were.

    Raises:
        AssertionError: One of them prints something else than is shown.
    """
    ran = 0
    for block in blocks:
        said = await block.said(names)
        if said != block.shown:
            differs = difflib.ndiff(block.shown.splitlines(keepends=True), said.splitlines(keepends=True))
            raise AssertionError(f"{block} (- is shown, + is said)\n" + "".join(differs))
        ran += 1
    return ran


@contextlib.asynccontextmanager
async def stock_server() -> AsyncGenerator[dict[str, Any]]:
    """The names that a page begins with: a `session` with the server of examples/stock_server.py, in memory.

    Besides them `tools`, a guard round it, and `server`, how to start it as a process.
    """
    sys.path.insert(0, str(EXAMPLES))  # it imports the file beside it
    try:
        shop = runpy.run_path(str(EXAMPLES / "stock_server.py"))
    finally:
        sys.path.remove(str(EXAMPLES))

    def respond(request: Request) -> Any:
        return shop["answer"]("get_stock", request.arguments)["result"]

    server = StdioServerParameters(command=sys.executable, args=[str(EXAMPLES / "stock_server.py")])
    async with raw_session(tools=shop["TOOLS"], results={"get_stock": respond}) as (session, _):
        yield {"__name__": "page", "server": server, "session": session, "tools": guard(session)}
