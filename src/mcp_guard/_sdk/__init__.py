"""The seams: how a call is sent and a listing read through one SDK. Here: what a seam is, in neutral words.

A seam sends, and tells what went wrong in neutral words (`Fault`); it judges nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, final

SeamName = Literal["auto", "send_request", "call_tool"]


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a `tools/call`: the result as the seam has it, and its JSON as it was sent, where that was seen."""

    result: Any = field(repr=False)
    body: dict[str, Any] | None = field(default=None, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Page:
    """One page of a tool listing: the entries as they came, the next page's cursor, the time to live in seconds."""

    entries: Sequence[object] = field(repr=False)
    next_cursor: str | None = field(repr=False)
    ttl: float | None


@final
@dataclass(frozen=True, slots=True)
class PeerError:
    """The peer answered with a JSON-RPC error."""

    code: int
    message: str = field(repr=False)
    data: Any = field(repr=False)


@final
@dataclass(frozen=True, slots=True)
class TimedOut:
    """The session's own timeout struck."""


@final
@dataclass(frozen=True, slots=True)
class Lost:
    """The connection is gone. `sent`: whether the request may have reached the peer. `cause`: what the SDK said."""

    sent: bool
    cause: Exception | None = field(default=None, repr=False, compare=False)


@final
@dataclass(frozen=True, slots=True)
class Unparsable:
    """The SDK's own parser refused the answer. `problems`: codes of what was wrong.

    `raw`: the answer, where it was seen on the wire. `cause`: what the parser said. `kept`: what can be taken from the
    answer where nobody minds that it is malformed.
    """

    problems: tuple[str, ...]
    raw: Any = field(default=None, repr=False, compare=False)
    cause: Exception | None = field(default=None, repr=False, compare=False)
    kept: Answer | PeerError | None = field(default=None, repr=False, compare=False)


@final
@dataclass(frozen=True, slots=True)
class NotFinal:
    """The answer asks for more, and nobody drives the rounds."""

    result_type: str = field(repr=False)


Fault: TypeAlias = PeerError | TimedOut | Lost | Unparsable | NotFinal


class Refused(Exception):  # noqa: N818  # a way out through the SDK's code, not an error
    """The gate lets nothing more of this call out. `limit` says what there is nothing left of."""

    def __init__(self, limit: Literal["attempts", "seconds"]) -> None:
        super().__init__(limit)
        self.limit: Literal["attempts", "seconds"] = limit


class Gate(Protocol):
    """Stands before each `tools/call` of one guarded call, rounds and resends included, and counts them."""

    sent: int
    """How many were let out."""
    answered: bool
    """Whether there was an answer that the SDK could parse; a round's is one."""

    def open(self) -> None:
        """Let one out.

        Raises:
            Refused: There is to be no more.
        """
        ...


class Seam(Protocol):
    """What the guard needs of a target."""

    @property
    def call_tool(self) -> Callable[..., Awaitable[Any]]:
        """The target's own, as it was when the guard was made."""
        ...

    @property
    def protocol(self) -> str:
        """The negotiated protocol version; 2025-11-25 where the SDK does not tell."""
        ...

    @property
    def server(self) -> str | None:
        """What the server calls itself, where the SDK tells."""
        ...

    @property
    def resends_header_mismatch(self) -> bool:
        """Whether the target itself lists again and resends after -32020 (specification 2026-07-28)."""
        ...

    async def call(
        self, name: str, arguments: dict[str, Any] | None, options: Mapping[str, Any], gate: Gate
    ) -> Answer | Fault:
        """Make one call, past the SDK's own output check; each `tools/call` that it sends passes the gate.

        Raises:
            Refused: The gate let it not pass.
        """
        ...

    async def page(self, cursor: str | None) -> Page | Fault:
        """Read one page of `tools/list`. The empty string is a cursor."""
        ...

    def listening(self) -> AbstractAsyncContextManager[AsyncIterator[object]] | None:
        """A stream of an event each time that the tools change; `None` where the session's server offers none."""
        ...

    def fault(self, exc: Exception, handled: BaseException | None) -> Fault | None:
        """What this exception of the SDK means; `None`: it is not about the peer and goes on as it is.

        `handled` is what the caller was handling when it called: Python makes that the context of all that is raised
        meanwhile, so as a context it tells nothing.
        """
        ...

    def to_sdk(self, answer: Any) -> Any:
        """The answer as the SDK's own result.

        Raises:
            ValueError: The SDK's model can't hold it.
        """
        ...

    def filled(self, result: Any, value: Any, meta: dict[str, Any]) -> Any:
        """A copy of an SDK's result in which `value` is the structured content and `meta` its `_meta`.

        Raises:
            ValueError: The SDK's model can't hold it.
        """
        ...
