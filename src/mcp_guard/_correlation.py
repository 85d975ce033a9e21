"""`correlation`: the caller's own mark, which the records of all calls inside a `with` block carry."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Final

from mcp_guard import _words

LONGEST: Final = 200
_current: Final[ContextVar[str | None]] = ContextVar("mcp_guard.correlation", default=None)


def correlation(mark: str) -> AbstractContextManager[None]:
    """Mark every guarded call inside this `with` block, also those of the tasks that are started in it.

    The mark is the `correlation` of their records: the id of your run, of its step, of the request you serve. An inner
    block's mark stands in place of the outer one's. What could not be seen in it is written as an escape.

    Raises:
        TypeError: The mark is no string.
        ValueError: It is empty, or longer than 200 characters: cut off, two marks could look the same.
    """
    if not isinstance(mark, str):
        raise TypeError(f"a correlation is a str, such as 'run-7/step-3', not {type(mark).__name__}")
    escaped = _words.escape(mark[: LONGEST + 1])
    if not 0 < len(escaped) <= LONGEST:
        raise ValueError(f"a correlation has 1 to {LONGEST} characters, and this one {len(mark)}")
    return _marked(escaped)


def current() -> str | None:
    """The mark that holds here, or `None`."""
    return _current.get()


@contextmanager
def _marked(mark: str) -> Generator[None]:
    before = _current.get()
    _current.set(mark)
    try:
        yield
    finally:
        _current.set(before)  # and no `reset`: an async generator may be closed in another context than it began in
