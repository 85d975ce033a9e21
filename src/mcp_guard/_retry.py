"""`Retry`: which failures of a safe tool are worth another attempt, and how long to wait before it. Sends nothing."""

from __future__ import annotations

import math
import random
from collections.abc import Awaitable, Callable, Collection
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final, final

import anyio

from mcp_guard.errors import ConnectionLostError, GuardError, ToolExecutionError, ToolProtocolError, ToolTimeoutError

_DOUBLINGS: Final = 60  # more than any wait that ends


@final
@dataclass(frozen=True, slots=True)
class Retry:
    """Another attempt for tools that the user named in `safe`, and for no others.

    Only after: nothing was sent (the listing failed, the connection was refused or was gone already), a timeout, a tool
    that said `isError` and that its failure is retryable, a JSON-RPC error whose code stands in `codes`. Never after a
    contract fault, and never after a call was cancelled.

    Before each further attempt there is a wait of random length, between nothing and `base_wait`, which doubles each
    time up to `max_wait` (full jitter); at least as long as the tool asked for (`ToolFailure.retry_after`). A wait that
    the call's deadline or the budget's leaves no room for is not begun: the failure is raised at once. Where a call has
    no deadline at all, no more than 60 seconds are waited.

    Args:
        retries: How many further attempts, 0 or more.
        codes: JSON-RPC error codes after which the user knows that another attempt is of use. The specification gives
            none this meaning.
        timeout: Seconds for one attempt, its listing and rounds included. Without it an attempt may take all the time
            that the call has, and then there is none left for another.
        base_wait: Seconds; the longest wait before the second attempt.
        max_wait: Seconds; the longest wait of ours before any attempt.
        sleep: Waits that many seconds.
        random: Gives numbers from 0 up to 1.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is negative or not finite.
    """

    retries: int = 1
    codes: Collection[int] = ()
    _: KW_ONLY
    timeout: float | None = None
    base_wait: float = 0.5
    max_wait: float = 10.0
    sleep: Callable[[float], Awaitable[object]] = field(default=anyio.sleep, repr=False)
    random: Callable[[], float] = field(default=random.random, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.retries, bool) or not isinstance(self.retries, int):
            raise TypeError(f"Retry(retries=) takes a whole number, not {type(self.retries).__name__}")
        if self.retries < 0:
            raise ValueError(f"Retry(retries=) is {self.retries}; it takes 0 or more")
        object.__setattr__(self, "codes", _codes(self.codes))
        _seconds("base_wait", self.base_wait)
        _seconds("max_wait", self.max_wait)
        if self.timeout is not None:
            _seconds("timeout", self.timeout)
        for name in ("sleep", "random"):
            if not callable(getattr(self, name)):
                raise TypeError(f"Retry({name}=) takes a function, not {type(getattr(self, name)).__name__}")

    def wait(self, failure: GuardError, nth: int) -> float | None:
        """Seconds to wait after the `nth` attempt, counted from 1, ended in this `failure`; `None`: it was the last."""
        if nth > self.retries or not self._is_of_use(failure):
            return None
        longest = min(self.max_wait, self.base_wait * 2.0 ** min(nth - 1, _DOUBLINGS))
        asked = failure.failure.retry_after if isinstance(failure, ToolExecutionError) else None
        return max(asked or 0.0, self.random() * longest)

    def _is_of_use(self, failure: GuardError) -> bool:
        match failure:
            case ToolExecutionError(failure=said):
                return said.retryable is True
            case ToolProtocolError(code=code, outcome=outcome):
                return outcome == "not_sent" or code in self.codes
            case ConnectionLostError(outcome=outcome):
                return outcome == "not_sent"
            case _:
                return isinstance(failure, ToolTimeoutError)


def _codes(given: Any) -> frozenset[int]:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise TypeError(f"Retry(codes=) takes a list of numbers, not {type(given).__name__}")
    codes = frozenset[Any](given)
    if any(isinstance(code, bool) or not isinstance(code, int) for code in codes):
        raise TypeError("Retry(codes=) takes JSON-RPC error codes, whole numbers such as -32000")
    return codes


def _seconds(name: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"Retry({name}=) takes a number of seconds, not {type(value).__name__}")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"Retry({name}=) is {value}; it takes 0 or more seconds")
