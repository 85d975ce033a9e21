"""Time that passes only while everybody waits, on asyncio and on trio: a timeout of a minute is over at once.

Nothing but streams in memory may be waited for meanwhile.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import anyio
import pytest
import trio.testing

T = TypeVar("T")

BACKENDS: Final = ("asyncio", "trio")
_FOR_EVER: Final = 1e6


class _Jumping(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next thing that is to happen."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        members: dict[str, Any] = vars(self)
        due = [handle.when() for handle in members["_scheduled"] if not handle.cancelled()]
        if due and not members["_ready"]:
            self._now = max(self._now, min(due))
        super()._run_once()  # type: ignore[misc]  # asyncio's own, which its type stubs leave out


def timeless(backend: str, function: Callable[..., Awaitable[T]], *arguments: Any) -> T:
    """Run an async function to its end, in such time. What would wait for ever ends in a `TimeoutError`."""

    async def run() -> T:
        with anyio.fail_after(_FOR_EVER):
            return await function(*arguments)

    options: dict[str, Any] = {"loop_factory": _Jumping}
    if backend == "trio":
        options = {"clock": trio.testing.MockClock(autojump_threshold=0)}
    return anyio.run(run, backend=backend, backend_options=options)


def timelessly(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test in such time, on both event loops."""

    @functools.wraps(test)
    def run(*, backend: str, **arguments: Any) -> None:
        timeless(backend, functools.partial(test, **arguments))

    own = inspect.signature(test)
    backend = inspect.Parameter("backend", inspect.Parameter.KEYWORD_ONLY)
    vars(run)["__signature__"] = own.replace(parameters=[*own.parameters.values(), backend])
    marked: Callable[..., None] = pytest.mark.parametrize("backend", BACKENDS)(run)
    return marked
