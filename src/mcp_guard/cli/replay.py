"""``mcp-guard replay``: judges recorded results again, under the contracts of their day or others."""

from __future__ import annotations

import argparse
import json
import operator
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_guard import _words
from mcp_guard.cli import check, common, lint
from mcp_guard.cli.plots import figures, name_of, quantiles

if TYPE_CHECKING:
    from mcp_guard._lint import Level
    from mcp_guard.cli.report import Entry, Report
    from mcp_guard.testing.engines import Engine
    from mcp_guard.testing.summary import Summary, Tool

_VACUOUS = 0.4
"""A schema that notices less than this of what is corrupted takes nearly everything."""


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("replay", help="judge recorded results again: which would break?")
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="recordings or audit files: paths, globs or URLs (s3://...), JSON lines, plain or compressed",
    )
    parser.add_argument(
        "--contracts", type=Path, metavar="FILE", help="a lock file or a listing; without it each line's own contract"
    )
    parser.add_argument("--engine", choices=("local", "dask"), default="local", help="shares the work (%(default)s)")
    parser.add_argument("--processes", type=int, metavar="N", help="of the local engine (one a core)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of the Dask cluster: tcp://HOST:8786")
    parser.add_argument(
        "--summary", type=Path, metavar="FILE", help="write the summary there as JSON; two can be added"
    )
    parser.add_argument(
        "--violating", metavar="FOLDER", help="write the lines that broke their contract there, as recorded (or a URL)"
    )
    check.add_policy(parser)
    common.add_output(parser, formats=lint.FORMATS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from mcp_guard.testing.engines import EngineError, EngineUnreachableError
    from mcp_guard.testing.replaying import replay

    contracts = None if args.contracts is None else common.from_file(args.contracts)
    try:
        with common.bar("MB judged") as bar:
            summary = replay(
                args.files,
                contracts,
                policy=check.policy_of(args),
                engine=_engine(args),
                violating=args.violating,
                progress=lambda done, _: bar.show(round(done / 1_000_000)),
            )
    except EngineUnreachableError as error:
        raise common.FailedError(common.UNREACHED, str(error)) from error
    except OSError as error:
        raise common.FailedError(common.UNREADABLE, f"{_words.line(str(error.filename))}: {error.strerror}") from error
    except EngineError as error:
        raise common.FailedError(common.UNREADABLE, str(error)) from error
    except ImportError as error:
        says = f"{_words.line(str(error))}; pip install 'mcp-result-guard[dask]', and for s3:// also s3fs"
        raise common.FailedError(common.USAGE, says) from error
    except ValueError as error:
        raise common.FailedError(common.USAGE, _words.line(str(error))) from error
    if summary.broken and not summary.total:
        where = _words.line(str(summary.broken_at[0]))
        raise common.FailedError(common.UNREADABLE, f"{where}: this is no recording, and no other line is one")
    if args.summary is not None:
        try:
            args.summary.write_text(json.dumps(summary.to_dict(), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise common.FailedError(
                common.UNREADABLE, f"{_words.line(str(args.summary))}: {error.strerror}"
            ) from error
    report = _report(summary, args)
    common.write(report, args)
    return common.FOUND if report.reaches("error") else common.FINE


def _engine(args: argparse.Namespace) -> Engine | None:
    from mcp_guard.testing.engines import Dask, Local

    if (args.engine == "dask") != (args.scheduler is not None):
        raise common.FailedError(common.USAGE, "--engine dask and --scheduler ADDRESS go together")
    if args.engine == "local":
        return None if args.processes is None else Local(args.processes)
    if args.processes is not None:
        raise common.FailedError(common.USAGE, "--processes is for the local engine; a cluster has its workers")
    return Dask(args.scheduler, told=_link)


@cache
def _link(link: str) -> None:
    """Say once where the cluster's own dashboard is."""
    common.complain(f"dashboard of the cluster: {_words.line(link)}")


def _report(summary: Summary, args: argparse.Namespace) -> Report:
    from mcp_guard.cli.report import Case, Entry, Report
    from mcp_guard.testing.inputs import shown

    files = ", ".join(map(shown, args.files[:3])) + (" …" if len(args.files) > 3 else "")  # noqa: PLR2004  # a line
    report = Report("replay", _words.line(files), figures=figures(summary) if args.format == "html" else "")
    report.cases += [Case(name_of(*tool), tuple(entries)) for tool, entries in sorted(_entries(summary).items())]
    if summary.broken:
        entry = Entry("line-broken", "warning", "", f"{summary.broken} lines are none of a recording")
        where = [
            Entry("line-broken", "warning", "", "is none of a recording", where=_words.line(str(at)))
            for at in summary.broken_at
        ]
        report.cases.append(Case("lines", (entry, *where)))
    report.facts["results"] = str(summary.total)
    report.facts["of them would raise"] = str(summary.breaks)
    report.facts["verdicts"] = ", ".join(f"{verdict} {number}" for (verdict,), number in summary.by("verdict").items())
    days = sorted(day for (day,) in summary.by("day") if day)
    if days:
        report.facts["days"] = f"{days[0]} to {days[-1]}"
    for what, sketches in (("characters in a result", summary.sizes), ("milliseconds of a call", summary.times)):
        if sketches:
            half, _, most = quantiles(reduce(operator.add, sketches.values()))
            report.facts[what] = f"half have at most {half}, 99 % at most {most}"
    if summary.left_out:
        report.facts["in groups that are not kept"] = str(summary.left_out)
    return report


def _entries(summary: Summary) -> dict[Tool, list[Entry]]:
    """What there is to say of each tool."""
    from mcp_guard.cli.report import Entry
    from mcp_guard.testing.summary import Tool

    entries: dict[Tool, list[Entry]] = {}
    for (server, name, kind), number in summary.by("server", "tool", "error").items():
        of_tool = entries.setdefault(Tool(server, name), [])
        if kind:
            level: Level = "warning" if kind == "tool_error" else "error"
            of_tool.append(Entry(kind, level, name_of(server, name), f"{number} results"))
    for fault, seen in summary.most_frequent():
        entry = Entry(
            f"violation-{fault.keyword}",
            "error",
            name_of(fault.server, fault.tool),
            f"{seen.number} results do not satisfy {fault.keyword}",
            fault.pointer,
            where="" if seen.example is None else _words.line(str(seen.example)),
        )
        entries.setdefault(Tool(fault.server, fault.tool), []).append(entry)
    for tool, of_tool in entries.items():
        grade = summary.grade(tool.tool, server=tool.server)
        if grade is not None and grade < _VACUOUS:
            says = f"of results that were corrupted on purpose, its schema notices {grade:.0%}"
            of_tool.append(Entry("output-vacuous", "warning", name_of(*tool), says))
    return entries
