"""``mcp-guard demo``: the same misbehaving server, with a plain session and with a guarded one."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

from mcp_guard.cli import common


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("demo", help="see what a server's bad days do to a plain session and a guarded one")
    parser.add_argument("faults", nargs="*", metavar="FAULT", help="names or kinds of faults; without them a selection")
    parser.set_defaults(run=run)


SHOWN = (
    *("missing_field", "wrong_type", "text_only", "text_prose", "error_as_success", "page_two", "slow_pattern"),
    *("dangling_ref", "silent_after_work", "injection_in_error"),
)
"""Faults that say the most in a few lines."""


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from mcp_guard.testing.comparing import Seen, compare
    from mcp_guard.testing.faults import chosen

    try:
        faults = chosen(args.faults or SHOWN)
    except ValueError as error:
        raise common.FailedError(common.USAGE, str(error)) from error

    async def compared() -> int:
        for fault in faults:
            if (seen := await compare(fault)) is not None:
                common.put(_lines(fault.name, fault.about, seen))
        return common.FINE

    def _lines(name: str, about: str, seen: Seen) -> str:
        told = [textwrap.shorten(text, 90, placeholder=" …") for text in (seen.plain, seen.guarded)]
        return f"{name}: the server {about}\n  plain:   {told[0]}\n  guarded: {told[1]}\n"

    return common.run(compared)
