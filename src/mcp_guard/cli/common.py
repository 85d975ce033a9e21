"""What the commands share: the server on the line, what is written where, and the exit status."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar, final

from mcp_guard import _words

if TYPE_CHECKING:
    from mcp_guard._session import GuardedSession
    from mcp_guard.cli.report import Report
    from mcp_guard.contracts import Contracts

FINE: Final = 0
FOUND: Final = 1
USAGE: Final = 2
UNREACHED: Final = 3
UNREADABLE: Final = 4
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
STATUSES: Final = {
    FINE: "nothing was found",
    FOUND: "something was found: a broken contract, a difference, a finding at or above --fail-on",
    USAGE: "the command line is wrong",
    UNREACHED: "the server can't be reached, or does not list its tools",
    UNREADABLE: "a file can't be read or written, or is not what it is to be",
    INTERRUPTED: "interrupted (Ctrl-C)",
    BROKEN_PIPE: "whoever read the output closed it",
}
"""What each exit status says."""
_LAST_LINES: Final = 10
T = TypeVar("T")


class FailedError(Exception):
    """A command can't go on: what to say, and the exit status."""

    def __init__(self, status: int, says: str) -> None:
        super().__init__(says)
        self.status = status


def add_server(parser: argparse.ArgumentParser, *, files: bool = False) -> None:
    """Let a command take a server: a URL, or a command after ``--``; with `files` also a lock or listing file."""
    what = "URL of the server" + (", or a lock file, or a listing as JSON" if files else "")
    parser.add_argument("server", nargs="?", metavar="SERVER", help=f"{what}; a command is given after --")
    parser.add_argument("--timeout", type=seconds, default=60.0, metavar="SECONDS", help="for each call (%(default)s)")
    parser.add_argument(
        "--header", action="append", default=[], metavar="NAME:VALUE", help="send this header to the URL; repeatable"
    )


def add_output(parser: argparse.ArgumentParser, *, formats: Sequence[str]) -> None:
    """Let a command's report be had in several formats."""
    parser.add_argument("--format", choices=formats, default=formats[0], help="of the report (%(default)s)")
    parser.add_argument("--output", "-o", metavar="FILE", type=Path, help="write the report there")


def seconds(text: str) -> float:
    """A number of seconds, more than none.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:  # noqa: PLR2004  # thirty years; infinity and NaN are out
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return number


def subject(args: argparse.Namespace) -> str:
    """What is looked at, fit to be shown: without what may be secret in a URL or on a command line."""
    if args.words:
        return _words.line(Path(args.words[0]).name + (" …" if len(args.words) > 1 else ""))
    return _words.line(str(args.server).partition("?")[0].rpartition("@")[2])


@asynccontextmanager
async def session_to(args: argparse.Namespace, **options: Any) -> AsyncGenerator[GuardedSession[Any]]:
    """A guarded session to the server on the line.

    Raises:
        FailedError: There is none on it, or it can't be reached. With it comes the end of what the server said on
            standard error, escaped.
    """
    from mcp import StdioServerParameters

    from mcp_guard._connect import connect

    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        client_options: dict[str, Any] = {}
        if args.words:
            to: Any = StdioServerParameters(command=args.words[0], args=args.words[1:], env=dict(os.environ))
            client_options["errlog"] = said
        elif args.server is None:
            raise FailedError(USAGE, "name a server: its URL, or -- and the command that starts it")
        else:
            to = args.server
            if args.header:
                client_options["headers"] = dict(map(_header, args.header))
        reached = False
        try:
            async with connect(to, client_options=client_options, timeout=args.timeout, **options) as tools:
                reached = True
                yield tools
        except Exception as error:
            if reached:
                raise
            raise FailedError(UNREACHED, _unreached(args, error, said)) from error


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise FailedError(USAGE, f"--header takes NAME:VALUE, not {_words.name(text)}")
    return name.strip(), value.strip()


def _unreached(args: argparse.Namespace, error: Exception, said: IO[str]) -> str:
    if isinstance(error, ValueError) and not args.words:
        return f"{_words.name(str(args.server))} is no URL; a command is given after --"
    said.seek(0)
    last = "".join(f"\n  | {_words.line(line.rstrip())}" for line in said.read().splitlines()[-_LAST_LINES:])
    what = f"{type(error).__name__}" if not isinstance(error, OSError) else (error.strerror or type(error).__name__)
    return f"{subject(args)} can't be reached: {what}{last}"


async def listed(tools: GuardedSession[Any]) -> Contracts:
    """The server's tools.

    Raises:
        FailedError: It does not list them.
    """
    from mcp_guard.errors import GuardError

    try:
        return await tools.refresh()
    except GuardError as error:
        raise FailedError(UNREACHED, f"the tools can't be listed: {error}") from error


async def contracts_of(args: argparse.Namespace) -> Contracts:
    """The contracts of the server or the file on the line.

    Raises:
        FailedError: There are none to be had.
    """
    if not args.words and args.server is not None and not args.server.lower().startswith(("http://", "https://")):
        return from_file(Path(args.server))
    async with session_to(args) as tools:
        return await listed(tools)


def from_file(path: Path) -> Contracts:
    """The contracts in a lock file, or in a listing as JSON: an array of tools, or an object with ``tools``.

    Raises:
        FailedError: The file can't be read, or is neither.
    """
    from mcp_guard._contract import Contract
    from mcp_guard._facts import is_array, is_object
    from mcp_guard.contracts import Contracts

    shown = _words.line(str(path))
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FailedError(UNREADABLE, f"{shown}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise FailedError(UNREADABLE, f"{shown} is no JSON") from error
    if is_object(content) and is_object(content.get("result")):
        content = content["result"]
    tools = content.get("tools") if is_object(content) else content
    if is_array(tools):
        contracts = Contracts()
        contracts.learn(Contract.from_tool(tool) for tool in tools if is_object(tool))
        return contracts
    try:
        return Contracts.load(path)
    except ValueError as error:
        raise FailedError(UNREADABLE, f"{shown} is neither a lock file nor a listing of tools") from error


def run(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run the asynchronous part of a command. Ctrl-C ends it with all that it started."""
    import anyio

    return anyio.run(main)


def write(report: Report, args: argparse.Namespace) -> None:
    """Write a report where it is asked for.

    Raises:
        FailedError: The file can't be written.
    """
    from mcp_guard.cli.formats import FORMATS, as_text

    to_terminal = args.output is None and args.format == "text" and is_terminal(sys.stdout)
    text = as_text(report, colours=True) if to_terminal else FORMATS[args.format](report)
    if args.output is None:
        put(text)
        return
    try:
        args.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FailedError(UNREADABLE, f"{args.output}: {error.strerror}") from error


def put(text: str) -> None:
    """Write to standard output, whatever its encoding can't hold escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def complain(text: str) -> None:
    """Write to standard error."""
    encoding = sys.stderr.encoding or "utf-8"
    sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def is_terminal(stream: IO[str]) -> bool:
    """Whether colours and a moving line are wanted there (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@final
class Bar:
    """A line on a terminal's standard error that says how far the work is; elsewhere nothing."""

    def __init__(self, what: str, total: int | None) -> None:
        self._what = what
        self._total = total
        self._is_shown = is_terminal(sys.stderr)

    def show(self, done: int) -> None:
        """Say that so much is done."""
        if self._is_shown:
            of = "" if self._total is None else f" of {self._total}"
            sys.stderr.write(f"\r\x1b[K{self._what}: {done}{of}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextmanager
def bar(what: str, total: int | None = None) -> Generator[Bar]:
    """A bar that is gone in the end."""
    shown = Bar(what, total)
    try:
        yield shown
    finally:
        shown.clear()
