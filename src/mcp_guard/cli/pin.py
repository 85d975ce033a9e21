"""``mcp-guard pin``: writes a lock file of what a server lists now."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mcp_guard import _words
from mcp_guard.cli import common, diff


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("pin", help="write a lock file of the tools that a server lists")
    common.add_server(parser, files=True)
    parser.add_argument("--lock", type=Path, default=Path("mcp.lock"), metavar="FILE", help="(%(default)s)")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run it."""
    shown = _words.line(str(args.lock))
    if args.lock.exists() and not args.force:
        says = f"{shown} is there already: see what changed with `mcp-guard diff`, or write over it with --force"
        raise common.FailedError(common.UNREADABLE, says)
    contracts = common.run(lambda: common.contracts_of(args))
    diff.save(contracts, args.lock)
    if contracts.listing_truncated:
        common.complain("mcp-guard: the listing was left before its end: there may be more tools than those")
    common.put(f"{shown}: {len(contracts)} tools pinned\n")
    return common.FINE
