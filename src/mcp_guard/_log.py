"""What is said on the standard logger ``mcp_guard``: one line a thing, repeats rate-limited, our own words only."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

logger: Final = logging.getLogger("mcp_guard")
_EVERY_SECONDS: Final = 60.0
_KEPT: Final = 1_000


class Voice:
    """Says each thing at once, and the same thing again only after a minute, with the number of times left out."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._said: dict[tuple[str, ...], tuple[float, int]] = {}

    def say(self, level: int, key: tuple[str, ...], text: str) -> None:
        """Log `text` unless the same `key` was logged within the last minute."""
        now = self._clock()
        when, skipped = self._said.get(key, (None, 0))
        if when is not None and now - when < _EVERY_SECONDS:
            self._said[key] = (when, skipped + 1)
            return
        if len(self._said) >= _KEPT:
            self._said.clear()
        self._said[key] = (now, 0)
        logger.log(level, "%s%s", text, f" (and {skipped} times more)" if skipped else "")
