"""``mcp-guard diff``: what differs between what is pinned and what a server lists now; ``--accept`` pins that."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_guard import _words
from mcp_guard.cli import common, lint

if TYPE_CHECKING:
    from mcp_guard._facts import Change
    from mcp_guard.cli.report import Entry


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("diff", help="compare what a server lists with what is pinned")
    parser.add_argument("lock", type=Path, metavar="LOCK", help="the lock file, or a listing as JSON")
    common.add_server(parser, files=True)
    parser.add_argument("--accept", action="store_true", help="pin what is listed now")
    common.add_output(parser, formats=lint.FORMATS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from mcp_guard.cli.report import Case, Report

    before, now = common.from_file(args.lock), common.run(lambda: common.contracts_of(args))
    found = tuple(entries(before.diff(now)))
    report = Report("diff", common.subject(args), [Case(f"as pinned in {_words.line(str(args.lock))}", found)])
    common.write(report, args)
    if not args.accept:
        return common.FOUND if found else common.FINE
    save(now, args.lock)
    return common.FINE


def entries(changes: Iterable[Change]) -> Iterator[Entry]:
    """The changes as entries of a report. One that breaks is an error, one that can't be told a warning."""
    from mcp_guard.cli.report import Entry

    for change in changes:
        level = {"breaks": "error", "changed": "warning"}.get(change.effect, "note")
        pointer = "" if change.part == "tool" else f"/{change.part}"
        yield Entry(f"contract-{change.effect}", level, _words.name(change.tool), change.describe(), pointer)  # type: ignore[arg-type]  # one of the levels


def save(contracts: Any, path: Path) -> None:
    """Write a lock file.

    Raises:
        FailedError: It can't be written.
    """
    try:
        contracts.save(path)
    except OSError as error:
        raise common.FailedError(common.UNREADABLE, f"{_words.line(str(path))}: {error.strerror}") from error
