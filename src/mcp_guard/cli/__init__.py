"""The command ``mcp-guard``: reads the line and hands over to the command that it names."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from mcp_guard._version import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. `argv`: the words after the program's name."""
    parser = argparse.ArgumentParser(
        prog="mcp-guard", description="Holds what MCP tools return against the contract they published."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.parse_args(argv)
    parser.print_help()
    return 0
