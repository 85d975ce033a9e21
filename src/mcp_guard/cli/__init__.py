"""The command ``mcp-guard``: reads the line and hands over to the command that it names."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from mcp_guard._version import __version__

COMMANDS: Final = ("check", "lint", "call", "pin", "diff", "replay", "explain", "demo", "completion")


def parser() -> argparse.ArgumentParser:
    """The parser of the whole line. What follows ``--`` is not in it: it is the command of a server."""
    main = argparse.ArgumentParser(
        prog="mcp-guard",
        description="Holds what MCP tools return against the contract they published.",
        epilog="A server is a URL, or a command after --, such as: mcp-guard check -- npx -y some-mcp-server",
    )
    main.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = main.add_subparsers(title="commands", metavar="COMMAND")
    for name in COMMANDS:
        import_module(f"mcp_guard.cli.{name}").add(commands)
    return main


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. `argv`: the words after the program's name."""
    from mcp_guard.cli import common

    words = list(sys.argv[1:] if argv is None else argv)
    at = words.index("--") if "--" in words else len(words)
    line, command = words[:at], words[at + 1 :]
    args = parser().parse_args(line)
    if not hasattr(args, "run"):
        parser().print_help()
        return common.FINE if not words else common.USAGE
    # whatever is to be known is in the report; a logger without a handler would write between its lines
    logging.getLogger().addHandler(logging.NullHandler())
    args.words = command
    if command and getattr(args, "server", None) is not None:
        parser().error("a server is a URL or a file, or a command after --, and not both")
    try:
        status: int = args.run(args)
    except common.FailedError as error:
        common.complain(f"mcp-guard: {error}")
        return error.status
    except KeyboardInterrupt:
        return common.INTERRUPTED
    except BrokenPipeError:
        common.mute()
        return common.BROKEN_PIPE
    return status
