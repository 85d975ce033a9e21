"""`Readers`: the user's own functions that tell which results are failures. Their faults break no call."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Final, TypeAlias, cast, final

from mcp_guard import _words
from mcp_guard._facts import ToolFailure
from mcp_guard._failure import failure_of
from mcp_guard._globs import of_tool
from mcp_guard._log import Voice
from mcp_guard._result import ToolResult

Reader: TypeAlias = Callable[[ToolResult], ToolFailure | None]
"""Told of every well-formed, final result of its tools, errors and others. What it gives makes the result a failure;
on `None` the standard reading stands: `isError`, and what `read_failure` finds."""

_EXAMPLE: Final = 'readers={"get_*": own_reader}'


@final
class Readers:
    """The readers of one guard.

    Raises:
        TypeError: They are no dict of plain functions by tool name or glob.
    """

    def __init__(self, readers: Mapping[str, Reader] | None, voice: Voice) -> None:
        if not isinstance(readers, (Mapping, type(None))):
            raise TypeError(f"readers takes a dict such as {_EXAMPLE}, not {type(readers).__name__}")
        self._readers = dict(readers or {})
        for name, reader in self._readers.items():
            if not isinstance(cast("object", name), str):
                raise TypeError(f"a name in readers is a str, such as {_EXAMPLE}, not {type(name).__name__}")
            if not is_plain(reader):
                raise TypeError(
                    f"readers[{name!r}] takes a plain function of one ToolResult; an async one is never awaited"
                )
        self._voice = voice

    def failure(self, tool: str, result: ToolResult) -> ToolFailure | None:
        """The failure that a result is, seen from now; `None` where it is none."""
        reader = of_tool(self._readers, tool) if self._readers else None
        failure = (None if reader is None else self._read(reader, tool, result)) or failure_of(result)
        return None if failure is None else failure.at(datetime.now(timezone.utc))

    def _read(self, reader: Reader, tool: str, result: ToolResult) -> ToolFailure | None:
        try:
            given: object = reader(result)
        except Exception as exc:  # noqa: BLE001  # the result is not to be lost to a fault of the reader's
            what = f"raised {type(exc).__name__}"
        else:
            if given is None or isinstance(given, ToolFailure):
                return given
            what = f"gave {type(given).__name__} instead of a ToolFailure or None"
        text = f"the reader of {_words.name(tool)} {what}; the result is read without it"
        self._voice.say(logging.ERROR, ("reader", tool, what), text)
        return None


def is_plain(function: object) -> bool:
    """Whether this can be called, and has done its work when it comes back."""
    return callable(function) and not any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))
