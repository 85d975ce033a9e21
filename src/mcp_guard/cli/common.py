"""What the commands share: the server on the line, what is written where, and the exit status."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TextIO, TypeVar, final

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
    INTERRUPTED: "interrupted (Ctrl-C, or asked to end)",
    BROKEN_PIPE: "whoever read the output closed it",
}
"""What each exit status says."""
_LAST_LINES: Final = 10
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token (RFC 9110, section 5.6.2)."""
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
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=60.0,
        metavar="SECONDS",
        help="for the connection, the listing, and each call (%(default)s)",
    )
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
    server = str(args.server)
    if "://" not in server:
        return _words.line(server.partition("?")[0].rpartition("@")[2])
    from urllib.parse import urlsplit

    try:
        url = urlsplit(server)
        port = "" if url.port is None else f":{url.port}"
        host = f"[{url.hostname}]" if ":" in (url.hostname or "") else url.hostname or ""
    except ValueError:  # where one part ends can't be told, and so neither what of it is a password
        return "the URL"
    return _words.line(f"{url.scheme}://{host}{port}{url.path}")


@asynccontextmanager
async def session_to(args: argparse.Namespace, **options: Any) -> AsyncGenerator[GuardedSession[Any]]:
    """A guarded session to the server on the line.

    Raises:
        FailedError: There is none on it, or it can't be reached. With it comes the end of what the server said on
            standard error, escaped.
    """
    import anyio
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
        with anyio.CancelScope(deadline=anyio.current_time() + args.timeout) as patience:
            try:
                async with connect(to, client_options=client_options, timeout=args.timeout, **options) as tools:
                    reached, patience.deadline = True, math.inf
                    yield tools
            except Exception as error:
                if reached:
                    raise
                raise FailedError(UNREACHED, _unreached(args, error, said)) from error
        if patience.cancelled_caught:
            raise FailedError(UNREACHED, _unreached(args, TimeoutError(_late(args.timeout)), said))


def _header(text: str) -> tuple[str, str]:
    name, colon, value = (part.strip() for part in text.partition(":"))
    if not colon or not _HEADER_NAME.fullmatch(name) or not (value.isascii() and value.isprintable()):
        # not shown: what was meant as a header may be a password
        raise FailedError(USAGE, "--header takes NAME:VALUE, the name a word, the value printable ASCII")
    return name, value


def _unreached(args: argparse.Namespace, error: Exception, said: IO[str]) -> str:
    if isinstance(error, ValueError) and not args.words:
        return f"{subject(args)} is no URL of a server; a command is given after --"
    said.seek(0)
    last = "".join(f"\n  | {_words.line(line.rstrip())}" for line in said.read().splitlines()[-_LAST_LINES:])
    what = type(error).__name__
    if isinstance(error, OSError):
        what = error.strerror or (str(error) if isinstance(error, TimeoutError) else what)
    return f"{subject(args)} can't be reached: {what}{last}"


def _late(timeout: float) -> str:
    return f"no answer came in time ({timeout:g} s, see --timeout)"


async def listed(tools: GuardedSession[Any], args: argparse.Namespace) -> Contracts:
    """The server's tools.

    Raises:
        FailedError: It does not list them, or not in time.
    """
    import anyio

    from mcp_guard.errors import GuardError

    with anyio.move_on_after(args.timeout):
        try:
            return await tools.refresh()
        except GuardError as error:
            raise FailedError(UNREACHED, f"the tools can't be listed: {error}") from error
    raise FailedError(UNREACHED, f"the tools can't be listed: {_late(args.timeout)}")


async def contracts_of(args: argparse.Namespace) -> Contracts:
    """The contracts of the server or the file on the line.

    Raises:
        FailedError: There are none to be had.
    """
    if not args.words and args.server is not None and "://" not in args.server:
        return from_file(Path(args.server))
    async with session_to(args) as tools:
        return await listed(tools, args)


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
        content: Any = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise FailedError(UNREADABLE, f"{shown}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise FailedError(UNREADABLE, f"{shown} is no JSON") from error
    if is_object(content) and is_object(content.get("result")):
        content = content["result"]
    tools = content.get("tools") if is_object(content) else content
    if is_array(tools) and (not tools or any(map(is_object, tools))):
        contracts = Contracts()
        contracts.learn(Contract.from_tool(tool) for tool in tools if is_object(tool))
        return contracts
    try:
        return Contracts.load(path)
    except ValueError as error:
        raise FailedError(UNREADABLE, f"{shown} is neither a lock file nor a listing of tools") from error


def run(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run the asynchronous part of a command. Ctrl-C, or being asked to end, ends it with all that it started."""
    import anyio

    was = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return anyio.run(main)
    finally:
        signal.signal(signal.SIGTERM, was)


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
        raise FailedError(UNREADABLE, f"{_words.line(str(args.output))}: {error.strerror}") from error


def put(text: str) -> None:
    """Write to standard output, whatever its encoding can't hold escaped.

    Raises:
        FailedError: There is none, or it can't be written to.
        BrokenPipeError: Whoever read it closed it.
    """
    stream: TextIO | None = sys.stdout
    if stream is None:
        raise FailedError(UNREADABLE, "there is no standard output to write to")
    try:
        _write(stream, text)
    except BrokenPipeError:
        raise
    except OSError as error:
        mute()
        raise FailedError(UNREADABLE, f"standard output: {error.strerror}") from error


def complain(text: str) -> None:
    """Write to standard error, where there is one that takes it."""
    stream: TextIO | None = sys.stderr
    if stream is not None:
        with suppress(OSError):  # there is no other place to say it, and the exit status tells
            _write(stream, text + "\n")


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def mute() -> None:
    """Let what is still in standard output's buffer go nowhere: at the very end it would be complained about."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether colours and a moving line are wanted there (https://no-color.org)."""
    is_one = stream is not None and stream.isatty()
    return is_one and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


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
