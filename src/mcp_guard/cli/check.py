"""``mcp-guard check``: does a server keep its word? Lists, lints, calls what it is told to call, and judges."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_guard import _words
from mcp_guard.cli import common, lint

if TYPE_CHECKING:
    from mcp_guard._lint import Level
    from mcp_guard._session import GuardedSession
    from mcp_guard.cli.report import Case, Report
    from mcp_guard.contracts import Contracts
    from mcp_guard.policy import Policy


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("check", help="see whether a server keeps its word")
    common.add_server(parser)
    parser.add_argument(
        "--call",
        type=Path,
        metavar="FILE",
        help='calls to make: JSON lines, or a JSON array, of {"tool": ..., "arguments": ...}; nothing else is called',
    )
    parser.add_argument("--lock", type=Path, metavar="FILE", help="also compare with what is pinned there")
    add_policy(parser)
    lint.add_rules(parser)
    common.add_output(parser, formats=lint.FORMATS)
    parser.set_defaults(run=run)


def add_policy(parser: argparse.ArgumentParser) -> None:
    """Let a command's line say what counts as a break."""
    parser.add_argument("--policy", choices=("enforce", "strict"), default="enforce", help="(%(default)s)")


def policy_of(args: argparse.Namespace) -> Policy:
    """The policy on the line."""
    from mcp_guard.policy import ENFORCE, STRICT

    return STRICT if args.policy == "strict" else ENFORCE


def run(args: argparse.Namespace) -> int:
    """Run it."""
    calls = [] if args.call is None else calls_in(args.call)
    pinned = None if args.lock is None else common.from_file(args.lock)

    async def check() -> Report:
        from mcp_guard.policy import OBSERVE

        # what the file asks for is the user's to mend; what comes is looked at, whatever it is
        policy = replace(OBSERVE, arguments="raise")
        async with common.session_to(args, policy=policy) as tools:
            contracts = await common.listed(tools, args)
            report = lint.as_report("check", common.subject(args), contracts, args)
            if pinned is not None:
                report.cases.append(_compared(pinned, contracts))
            with common.bar("calls", len(calls)) as bar:
                for number, (tool, arguments) in enumerate(calls, 1):
                    bar.show(number)
                    report.cases.append(await _called(tools, tool, arguments, number, policy_of(args)))
        report.facts["calls"] = str(len(calls))
        return report

    report = common.run(check)
    common.write(report, args)
    return common.FOUND if report.reaches(args.fail_on) else common.FINE


def calls_in(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The calls that a file names.

    Raises:
        FailedError: It can't be read, or is not of that form.
    """
    from mcp_guard._facts import is_array, is_object

    shown = _words.line(str(path))
    try:
        text = path.read_text(encoding="utf-8-sig")
        # not `splitlines`: what else it takes for the end of a line may stand in a JSON string
        lines = [line for line in text.split("\n") if line.strip()]
        found = json.loads(text) if text.lstrip().startswith("[") else list(map(json.loads, lines))
    except OSError as error:
        raise common.FailedError(common.UNREADABLE, f"{shown}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise common.FailedError(common.UNREADABLE, f"{shown} holds neither JSON lines nor a JSON array") from error
    calls: list[tuple[str, dict[str, Any]]] = []
    for number, call in enumerate(found if is_array(found) else [], 1):
        tool = call.get("tool") if is_object(call) else None
        arguments = call.get("arguments") if is_object(call) else None
        if not isinstance(tool, str) or not (arguments is None or is_object(arguments)):
            says = f'{shown}: call {number} is not of the form {{"tool": "name", "arguments": {{...}}}}'
            raise common.FailedError(common.UNREADABLE, says)
        calls.append((tool, arguments or {}))
    return calls


def _compared(pinned: Contracts, now: Contracts) -> Case:
    from mcp_guard.cli.diff import entries
    from mcp_guard.cli.report import Case

    return Case("contracts as pinned", tuple(entries(pinned.diff(now))))


async def _called(
    tools: GuardedSession[Any], tool: str, arguments: dict[str, Any], number: int, policy: Policy
) -> Case:
    from mcp_guard._decision import decide
    from mcp_guard.cli.report import Case, Entry
    from mcp_guard.errors import GuardError, InvalidArgumentsError, OutputValidationError

    shown = _words.name(tool)
    contract = tools.contracts.get(tool)
    error: GuardError | None
    try:
        judged = await tools.judge(tool, arguments)
        decision = decide(judged.verdict, policy, contract, call_id=judged.record.call_id)
        error = decision.error if decision.action == "raise" else None
    except GuardError as exc:
        error = exc
    name = f"call {number}: {shown}"
    if error is None:
        return Case(name)
    definition = None if contract is None else contract.definition
    if isinstance(error, (OutputValidationError, InvalidArgumentsError)) and error.violations:
        entries = [Entry(error.kind, "error", shown, v.says, v.shown, definition=definition) for v in error.violations]
    else:
        level: Level = "warning" if error.kind == "tool_error" else "error"
        entries = [Entry(error.kind, level, shown, str(error), definition=definition)]
    return Case(name, tuple(entries))
