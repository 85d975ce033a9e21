"""`Budget`: how many calls and how much time everything inside a scope may take together. Sends nothing itself."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Literal, final, get_args

from typing_extensions import Self

Spent = Literal["attempts", "seconds"]
Repeat = Literal["refuse", "allow"]

_CURRENT: Final[ContextVar[_Scope | None]] = ContextVar("mcp_guard_budget", default=None)
_LOCK: Final = threading.Lock()  # a budget may be shared by event loops in several threads


@final
@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a budget."""

    attempts: int
    """How many more `tools/call` requests may be sent."""
    seconds: float
    """How long one may still be under way; 0.0 where the deadline has passed."""


@final
@dataclass(frozen=True, slots=True)
class Server:
    """As far as it can be told, which server a guard talks to."""

    given: str | None
    """Its name as the user gave it to the guard."""
    own: str | None
    """What it calls itself, where the SDK tells."""

    def may_be(self, other: Server) -> bool:
        """Whether the two may be one. Only different names say that they are not."""
        if self.given is not None and other.given is not None:
            return self.given == other.given
        return self.own is None or other.own is None or self.own == other.own


@final
@dataclass(frozen=True, slots=True)
class Deed:
    """A tool and what it is called with: the same again would be a repeat."""

    tool: str
    arguments: bytes
    """A digest of them."""


@final
@dataclass(slots=True, eq=False)
class _Scope:
    """What becomes of a budget while it is spent."""

    budget: Budget
    clock: Callable[[], float]
    outer: _Scope | None = None
    spent: int = 0
    deadline: float | None = None
    fruitless: dict[Deed, dict[Server, bool]] = field(default_factory=dict[Deed, dict[Server, bool]])
    """How the last call of each kind ended: whether it may have run to no use."""

    def around(self) -> Iterator[_Scope]:
        """This one, and all that it is inside of."""
        scope: _Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def left(self) -> Left:
        """What is left of this one alone."""
        seconds = self.budget.seconds if self.deadline is None else self.deadline - self.clock()
        return Left(self.budget.attempts - self.spent, max(0.0, seconds))


@final
class Budget:
    """How many calls, and how much time, everything inside may spend together.

    ::

        async with Budget(attempts=6, seconds=45):
            ...

    Every `tools/call` that a guard sends inside counts, by whatever layer and in whatever child task it is made: an
    attempt that never got through too, each round of `input_required`, and what is sent again after -32020. Listings do
    not. When nothing is left, a call ends in `BudgetExhaustedError`, and nothing is sent. A call that is under way when
    the deadline passes ends in `ToolTimeoutError`. Code of the caller's own is not interrupted.

    Budgets nest: a call spends from all that it is inside of, so that an inner one can only narrow an outer one. A task
    that was started inside and goes on after the end still spends from it.

    One budget is one scope: it is entered once, and left by the task that entered it, the innermost first.

    Args:
        attempts: How many `tools/call` requests, 0 or more.
        seconds: How long, from entering; `math.inf` for no deadline.
        repeat: ``"refuse"``: a tool that no `safe` names, and whose last call with the same arguments may have run to
            no use (its outcome is unknown, or it ran and broke its contract), is not sent again. ``"allow"``: it is.
        clock: Gives seconds that only go forward.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `attempts` or `seconds` is negative, `seconds` is no number, or `repeat` is unknown.
    """

    def __init__(
        self,
        attempts: int = 6,
        seconds: float = 45.0,
        *,
        repeat: Repeat = "refuse",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if isinstance(attempts, bool) or not isinstance(attempts, int):
            raise TypeError(f"Budget(attempts=) takes a whole number, not {type(attempts).__name__}")
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
            raise TypeError(f"Budget(seconds=) takes a number, not {type(seconds).__name__}")
        if attempts < 0:
            raise ValueError(f"Budget(attempts=) is {attempts}; it takes 0 or more")
        if math.isnan(seconds) or seconds < 0:
            raise ValueError(f"Budget(seconds=) is {seconds}; it takes 0 or more")
        if repeat not in get_args(Repeat):
            raise ValueError(f"Budget(repeat=) is {repeat!r}; it takes 'refuse' or 'allow'")
        if not callable(clock):
            raise TypeError(f"Budget(clock=) takes a function, not {type(clock).__name__}")
        self.attempts: Final = attempts
        self.seconds: Final = float(seconds)
        self.repeat: Final[Repeat] = repeat
        self._scope = _Scope(self, clock)
        self._token: Token[_Scope | None] | None = None

    @classmethod
    def current(cls) -> Budget | None:
        """The innermost budget that this code is inside of, or `None`."""
        scope = _CURRENT.get()
        return None if scope is None else scope.budget

    @property
    def left(self) -> Left:
        """What is left of this budget, and of those around it: whichever is less."""
        each = [scope.left() for scope in self._scope.around()]
        return Left(min(left.attempts for left in each), min(left.seconds for left in each))

    async def __aenter__(self) -> Self:
        """Begin: from now on the time runs.

        Raises:
            RuntimeError: It was entered before.
        """
        if self._token is not None:
            raise RuntimeError("a Budget is entered once: it is one scope. Make another one")
        self._scope.outer = _CURRENT.get()
        self._scope.deadline = self._scope.clock() + self.seconds
        self._token = _CURRENT.set(self._scope)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End.

        Raises:
            RuntimeError: Another task entered it, or there is one inside that was not left.
        """
        if self._token is not None and _CURRENT.get() is self._scope:
            with suppress(ValueError, RuntimeError):  # the token is of another task, or was used
                _CURRENT.reset(self._token)
                return
        raise RuntimeError("a Budget is left by the task that entered it, once, and the innermost first")

    def __repr__(self) -> str:
        left = self.left
        return f"<Budget: {left.attempts} of {self.attempts} attempts, {left.seconds:.1f} of {self.seconds:g} s left>"

    # what follows is for the guard

    def lacks(self) -> Spent | None:
        """What nothing is left of."""
        left = self.left
        return "seconds" if left.seconds <= 0 else "attempts" if left.attempts <= 0 else None

    def spend(self) -> Spent | None:
        """Take an attempt from each scope; from none, and what is missing, where one has nothing left."""
        with _LOCK:
            if (lacking := self.lacks()) is None:
                for scope in self._scope.around():
                    scope.spent += 1
            return lacking

    def refuses(self, deed: Deed, server: Server) -> bool:
        """Whether this would be a repeat that one of the scopes does not allow."""
        return any(
            fruitless and server.may_be(other)
            for scope in self._scope.around()
            if scope.budget.repeat == "refuse"
            for other, fruitless in scope.fruitless.get(deed, {}).items()
        )

    def note(self, deed: Deed, server: Server, *, fruitless: bool) -> None:
        """Note how the last call of this kind ended."""
        for scope in self._scope.around():
            scope.fruitless.setdefault(deed, {})[server] = fruitless
