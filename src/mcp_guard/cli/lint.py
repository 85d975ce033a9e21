"""``mcp-guard lint``: what to know of a server's tools before relying on them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mcp_guard.cli import common

if TYPE_CHECKING:
    from mcp_guard._lint import Finding
    from mcp_guard.cli.report import Report
    from mcp_guard.contracts import Contracts

FORMATS = ("text", "json", "junit", "sarif", "github", "html")


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("lint", help="look for what is wrong with the tools that a server lists")
    common.add_server(parser, files=True)
    add_rules(parser)
    common.add_output(parser, formats=FORMATS)
    parser.set_defaults(run=run)


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Let a command's line turn rules off, and say what fails."""
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="[TOOL:]CODE", help="turn a rule off; repeatable"
    )
    parser.add_argument("--max-tools", type=int, default=None, metavar="N", help="how many tools are too many")
    parser.add_argument(
        "--fail-on",
        choices=("error", "warning", "note"),
        default="error",
        help="exit with 1 where a finding is as bad as that (%(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Run it."""
    contracts = common.run(lambda: common.contracts_of(args))
    report = as_report("lint", common.subject(args), contracts, args)
    common.write(report, args)
    return common.FOUND if report.reaches(args.fail_on) else common.FINE


def as_report(command: str, subject: str, contracts: Contracts, args: argparse.Namespace) -> Report:
    """The findings, a case for each tool."""
    from mcp_guard import _words
    from mcp_guard._lint import RULES, Thresholds, lint
    from mcp_guard.cli.report import Case, Entry, Report

    tools = list(contracts)
    try:
        thresholds = Thresholds() if args.max_tools is None else Thresholds(tools=args.max_tools)
        findings = lint(tools, ignore=args.ignore, thresholds=thresholds)
    except ValueError as error:
        raise common.FailedError(common.USAGE, str(error)) from error
    of_tool: dict[str, list[Finding]] = {}
    for finding in findings:
        of_tool.setdefault(finding.tool, []).append(finding)
    definitions = {contract.name: contract.definition for contract in tools}
    report = Report(command, subject)
    for name in [*definitions, *([""] if "" in of_tool else [])]:
        entries = [
            Entry.of(f, what_to_do=RULES[f.code].what_to_do, definition=definitions.get(name))
            for f in of_tool.get(name, [])
        ]
        report.cases.append(Case(_words.name(name) or "all tools", tuple(entries)))
    report.facts["tools"] = str(len(tools))
    if contracts.listing_truncated:
        report.facts["listing"] = "left before its end"
    return report
