"""``mcp-guard replay``: judges recorded results again, under the contracts of their day or others."""

from __future__ import annotations

import argparse
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_guard import _words
from mcp_guard.cli import check, common, lint

if TYPE_CHECKING:
    from mcp_guard.cli.report import Report
    from mcp_guard.testing.replaying import Summary

_VACUOUS = 0.4
"""A schema that notices less than this of what is corrupted takes nearly everything."""


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("replay", help="judge recorded results again: which would break?")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="JSON lines, plain or .gz")
    parser.add_argument(
        "--contracts", type=Path, metavar="FILE", help="a lock file or a listing; without it each line's own contract"
    )
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="(%(default)s)")
    check.add_policy(parser)
    common.add_output(parser, formats=lint.FORMATS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from mcp_guard.testing.replaying import replay

    contracts = None if args.contracts is None else common.from_file(args.contracts)
    try:
        with common.bar("results") as bar:
            summary = replay(
                args.files,
                contracts,
                policy=check.policy_of(args),
                processes=args.processes,
                progress=bar.show,
            )
    except OSError as error:
        raise common.FailedError(common.UNREADABLE, f"{_words.line(str(error.filename))}: {error.strerror}") from error
    except BrokenExecutor as error:
        says = "a process that shared the work died, perhaps for want of memory; try --processes 1"
        raise common.FailedError(common.UNREADABLE, says) from error
    except ValueError as error:
        raise common.FailedError(common.USAGE, str(error)) from error
    if summary.broken and not summary.total:
        where = _words.line(summary.broken_at[0])
        raise common.FailedError(common.UNREADABLE, f"{where}: this is no recording, and no other line is one")
    report = _report(summary, args)
    common.write(report, args)
    return common.FOUND if report.reaches("error") else common.FINE


def _report(summary: Summary, args: argparse.Namespace) -> Report:
    from mcp_guard.cli.report import Case, Entry, Report

    files = ", ".join(str(path) for path in args.files[:3]) + (" …" if len(args.files) > 3 else "")  # noqa: PLR2004  # a line
    report = Report("replay", _words.line(files))
    for tool in sorted({group.tool for group in summary.results}):
        entries = [
            Entry(kind, "warning" if kind == "tool_error" else "error", tool, f"{number} results")
            for (name, kind), number in sorted(summary.raised.items())
            if name == tool
        ]
        entries += [
            Entry(
                f"violation-{fault.keyword}",
                "error",
                tool,
                f"{number} results do not satisfy {fault.keyword}",
                fault.pointer,
                where=_words.line(summary.examples[fault]),
            )
            for fault, number in summary.violations.most_common()
            if fault.tool == tool
        ]
        grade = summary.grade(tool)
        if grade is not None and grade < _VACUOUS:
            says = f"of results that were corrupted on purpose, its schema notices {grade:.0%}"
            entries.append(Entry("output-vacuous", "warning", tool, says))
        report.cases.append(Case(tool, tuple(entries)))
    if summary.broken:
        entry = Entry("line-broken", "warning", "", f"{summary.broken} lines are none of a recording")
        where = [
            Entry("line-broken", "warning", "", "is none of a recording", where=_words.line(at))
            for at in summary.broken_at
        ]
        report.cases.append(Case("lines", (entry, *where)))
    report.facts["results"] = str(summary.total)
    report.facts["of them would raise"] = str(summary.breaks)
    return report
