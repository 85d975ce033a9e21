"""What is said on the standard logger ``mcp_guard``: one line a thing, repeats rate-limited, our own words only."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, final, get_args

from mcp_guard import _words
from mcp_guard.policy import Action
from mcp_guard.records import Record

logger: Final = logging.getLogger("mcp_guard")
_EVERY_SECONDS: Final = 60.0
_KEPT: Final = 1_000
_KEY_LENGTH: Final = 200
_ACTIONS: Final[tuple[Action, ...]] = get_args(Action)
_DONE: Final[Mapping[Action, str]] = {"raise": "raised", "report": "reported", "allow": "allowed"}


@cache
def say_once(level: int, text: str) -> None:
    """Log a text of our own, and never the same one again in this process."""
    logger.log(level, text)


class Voice:
    """Says each thing at once, and the same thing again only after a minute, with the number of times left out."""

    def __init__(self, clock: Callable[[], float], said_on: logging.Logger = logger) -> None:
        self._clock = clock
        self._logger = said_on
        self._said: dict[tuple[str, ...], tuple[float, int]] = {}

    def say(
        self, level: int, key: tuple[str, ...], text: str, *, extra: Callable[[], Mapping[str, Any]] | None = None
    ) -> None:
        """Log `text`, with the fields of `extra`, unless the same `key` was logged within the last minute."""
        now = self._clock()
        key = tuple(part[:_KEY_LENGTH] for part in key)
        when, skipped = self._said.get(key, (None, 0))
        if when is not None and now - when < _EVERY_SECONDS:
            self._said[key] = (when, skipped + 1)
            return
        if len(self._said) >= _KEPT:
            self._said.clear()
        self._said[key] = (now, 0)
        more = f" (and {skipped} times more)" if skipped else ""
        self._logger.log(level, "%s%s", text, more, extra=None if extra is None else extra())


@final
class LoggingHook:
    """A hook that logs every call as one line. Made by `logging_hook`."""

    def __init__(
        self,
        logger: logging.Logger = logger,
        *,
        levels: Mapping[Action, int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not isinstance(logger, logging.Logger):
            raise TypeError(f"logger takes a logging.Logger, not {type(logger).__name__}")
        for action, level in (levels or {}).items():
            if action not in _ACTIONS:
                raise ValueError(f"levels has {action!r}; it takes {', '.join(map(repr, _ACTIONS))}")
            if not isinstance(level, int):
                raise TypeError(f"levels[{action!r}] takes a level such as logging.INFO, not {type(level).__name__}")
        self._logger = logger
        self._levels = dict(levels or {})
        self._voice = Voice(clock, logger)

    def __call__(self, record: Record) -> None:
        """Log one call, unless the same was logged of this tool within the last minute."""
        level = self._levels.get(record.action, _level(record))
        if not self._logger.isEnabledFor(level):
            return
        what = ", ".join((record.error or record.verdict or "no answer", *record.deviations))
        ended = f"{_DONE[record.action]}, {record.outcome}"
        of = record.call_id if record.correlation is None else f"{record.call_id} of {record.correlation}"
        text = _words.line(f"{record.tool}: {what}; {ended} (call {of})")
        key = (record.server or "", record.tool, what, ended)
        self._voice.say(level, key, text, extra=lambda: {f"mcp_{k}": v for k, v in record.to_dict().items()})


def logging_hook(*, logger: logging.Logger = logger, levels: Mapping[Action, int] | None = None) -> LoggingHook:
    """A hook that logs every call: one line, with each field of the `Record` as an extra field ``mcp_<name>``.

    It takes the place of the line that a guard logs for what is only reported. The same line of the same tool is logged
    again after a minute at the earliest, with the number of times it was left out. The fields are JSON; their names are
    none of a `logging.LogRecord`.

    Args:
        logger: Where to; the logger ``mcp_guard`` unless given.
        levels: Levels by action. Unless given: ERROR for ``raise``; WARNING for ``report``, and INFO where the data is
            good; DEBUG for ``allow``.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `levels` names an action that there is not.
    """
    return LoggingHook(logger, levels=levels)


def _level(record: Record) -> int:
    if record.action == "raise":
        return logging.ERROR
    if record.action == "allow":
        return logging.DEBUG
    return logging.WARNING if record.error or record.verdict == "Unchecked" else logging.INFO
