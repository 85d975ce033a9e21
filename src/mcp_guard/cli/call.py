"""``mcp-guard call``: calls one tool, and prints its validated data as JSON."""

from __future__ import annotations

import argparse
import json
from typing import Any

from mcp_guard._facts import is_object
from mcp_guard.cli import check, common


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("call", help="call one tool and print its validated data")
    parser.add_argument("tool", metavar="TOOL")
    parser.add_argument("arguments", metavar="ARGUMENTS", type=_arguments, help="a JSON object, such as '{}'")
    common.add_server(parser)
    check.add_policy(parser)
    parser.add_argument(
        "--values", action="store_true", help="where the call fails, also show what the server sent (untrusted)"
    )
    parser.set_defaults(run=run)


def _arguments(text: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not is_object(value):
        raise argparse.ArgumentTypeError("the arguments are a JSON object, such as '{}'")
    return value


def run(args: argparse.Namespace) -> int:
    """Run it."""

    async def call() -> int:
        from mcp_guard.errors import GuardError

        async with common.session_to(args, policy=check.policy_of(args)) as tools:
            try:
                value = await tools.call(args.tool, args.arguments)
            except GuardError as error:
                common.complain(error.explain(values=args.values))
                return common.FOUND
        common.put(json.dumps(value, indent=2) + "\n")
        return common.FINE

    return common.run(call)
