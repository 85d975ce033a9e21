"""``mcp-guard completion``: prints a script that completes the command line in a shell."""

from __future__ import annotations

import argparse
from typing import Any

from mcp_guard.cli import common


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("completion", help="print a completion script for a shell")
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from mcp_guard.cli import parser

    try:
        import shtab
    except ImportError:
        says = "completion needs the package shtab: pip install 'mcp-result-guard[completion]'"
        raise common.FailedError(common.USAGE, says) from None
    common.put(shtab.complete(parser(), shell=args.shell))
    return common.FINE
