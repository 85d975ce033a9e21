"""`guard`, `attach` and `GuardedSession`: a session whose every tool call is held against the tool's contract."""

from __future__ import annotations

import functools
import inspect
import math
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast, final, overload

import pydantic_core
from typing_extensions import Self, TypeForm

from mcp_guard import _words
from mcp_guard._calling import Caller, Conclude
from mcp_guard._data import as_fact, data_of, sdk_result
from mcp_guard._judge import Call, Judge
from mcp_guard._listing import Listing, unlisted
from mcp_guard._notifications import Notifications
from mcp_guard._page import Page, PageReader, Selector
from mcp_guard._pages import Pages
from mcp_guard._readers import Reader
from mcp_guard._remote import RemoteRefs
from mcp_guard._retry import Retry
from mcp_guard._sdk import Seam, SeamName
from mcp_guard._sdk.choose import seam_of
from mcp_guard._verdict import Verdict
from mcp_guard.contracts import Contracts
from mcp_guard.policy import ENFORCE, Policy
from mcp_guard.records import Hook, Record

if TYPE_CHECKING:
    from mcp.types import CallToolResult

    from mcp_guard._into import Into

T = TypeVar("T")
TargetT = TypeVar("TargetT")
Progress = Callable[[float, float | None, str | None], Awaitable[None]]


class _Unset:
    """The guard's own timeout, where the caller names none."""


_UNSET: Final = _Unset()
_UNKNOWN: Final = "Unable to serialize unknown type: "


@final
@dataclass(frozen=True, slots=True)
class Judged:
    """A result and what was found about it. `result` is the raw answer: a dict on mcp 1.x, the SDK's object on 2.x."""

    result: Any = field(repr=False)
    verdict: Verdict
    record: Record


class GuardedSession(Generic[TargetT]):
    """A session whose tool calls are judged. Made by `guard`; every attribute not named here is the target's own."""

    def __init__(
        self,
        target: TargetT,
        seam: Seam,
        *,
        policy: Policy = ENFORCE,
        overrides: Mapping[str, Policy] | None = None,
        safe: Iterable[str] = (),
        contracts: Contracts | None = None,
        pins: str | os.PathLike[str] | Contracts | None = None,
        hooks: Iterable[Hook] = (),
        timeout: float | None = 60.0,
        retry: Retry | None = None,
        readers: Mapping[str, Reader] | None = None,
        remote_refs: RemoteRefs | None = None,
        notifications: Notifications | None = None,
        server: str | None = None,
        hash_key: bytes | None = None,
    ) -> None:
        if notifications is not None and not isinstance(notifications, Notifications):
            raise TypeError("notifications takes the Notifications that was given to the session as message_handler")
        if remote_refs is not None and not isinstance(remote_refs, RemoteRefs):
            example = 'RemoteRefs(allow=["https://schemas.example.org/"])'
            raise TypeError(f"remote_refs takes a RemoteRefs, such as {example}, not {type(remote_refs).__name__}")
        if retry is not None and not isinstance(retry, Retry):
            raise TypeError(f"retry takes a Retry, such as retry=Retry(retries=2), not {type(retry).__name__}")
        self.target: TargetT = target
        """What was wrapped."""
        self._seam = seam
        self._judge = Judge(
            policy=policy,
            overrides=overrides,
            safe=safe,
            contracts=contracts,
            pins=pins,
            hooks=hooks,
            readers=readers,
            server=server,
            hash_key=hash_key,
            clock=time.monotonic,
        )
        self._timeout = _seconds(timeout)
        self._listing = Listing(seam, self._judge, notifications, time.monotonic, remote_refs)
        self._caller = Caller(seam, self._judge, self._listing, time.monotonic, retry)

    @property
    def contracts(self) -> Contracts:
        """What is known of the tools' contracts."""
        return self._judge.contracts

    @overload
    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        into: None = None,
        timeout: float | timedelta | _Unset | None = _UNSET,
        progress_callback: Progress | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Any: ...

    @overload
    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        into: TypeForm[T],
        timeout: float | timedelta | _Unset | None = _UNSET,
        progress_callback: Progress | None = None,
        meta: dict[str, Any] | None = None,
    ) -> T: ...

    @overload
    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        into: Callable[[Any], T],
        timeout: float | timedelta | _Unset | None = _UNSET,
        progress_callback: Progress | None = None,
        meta: dict[str, Any] | None = None,
    ) -> T: ...

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        into: Any = None,
        timeout: float | timedelta | _Unset | None = _UNSET,
        progress_callback: Progress | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Any:
        """Call a tool and give its validated data.

        Without an outputSchema the structured content as it came, else the text of the blocks joined by newlines.

        Args:
            name: The tool's name on the wire.
            arguments: Its arguments. What is no JSON (dates, enums, models) is taken as the SDK serialises it.
            into: A type that pydantic's `TypeAdapter` takes, or a function of the value. The data is held against the
                contract first, then turned into it with the meaning of pydantic's JSON mode.
            timeout: Seconds for the whole call, its listing, all its rounds and attempts; `None` for none. 60 unless
                `guard` was told otherwise.
            progress_callback: As in the SDK's `call_tool`.
            meta: The request's `_meta`.

        Raises:
            GuardError: One of its subclasses: there is no data that can be relied on. `outcome` tells whether the tool
                ran, `retry_safe` whether a second call can do harm.
            TypeError: An argument of the caller's own is of the wrong type.
        """
        wanted = _wanted(into)
        call = self._begin(name, arguments, timeout)
        call.typed = wanted is not None
        options = _given(progress_callback=progress_callback, meta=meta)
        return await self._caller.run(call, options, functools.partial(data_of, into=wanted))

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: float | timedelta | None = None,
        progress_callback: Progress | None = None,
        **options: Any,
    ) -> CallToolResult:
        """Call a tool and give the SDK's own `CallToolResult`: the target's `call_tool`, its keywords included.

        `read_timeout_seconds` may be a number or a timedelta on either SDK; it bounds the whole call. Where the value
        was read from the text, the result is a copy with the structured content filled in and
        ``_meta["mcp-guard/source"] == "text"``; the SDK's own object is never changed.

        Args:
            name: The tool's name.
            arguments: Its arguments, made into JSON as `call` does it.
            read_timeout_seconds: Instead of the guard's timeout.
            progress_callback: As the SDK takes it.
            **options: What else the target's own `call_tool` takes, such as `meta`.

        Raises:
            GuardError: As `call`, where the policy says so. `MalformedResultError` besides where the SDK's model can't
                hold what came.
            TypeError: The target's `call_tool` takes no such keyword; nothing was sent.
        """
        if options:
            inspect.signature(self._seam.call_tool).bind(name, **options)
        timeout = _UNSET if read_timeout_seconds is None else read_timeout_seconds
        call = self._begin(name, arguments, timeout, quiet=True)
        passed = {**_given(progress_callback=progress_callback), **options}
        conclude = functools.partial(sdk_result, seam=self._seam, options=options)
        result: CallToolResult = await self._caller.run(call, passed, conclude)
        return result

    async def judge(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | timedelta | _Unset | None = _UNSET,
        progress_callback: Progress | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Judged:
        """Call a tool and give the result with its verdict and record. Nothing is raised about a result that came.

        Args:
            name: The tool's name.
            arguments: Its arguments, as `call` takes them.
            timeout: Instead of the guard's.
            progress_callback: As the SDK takes it.
            meta: The request's `_meta`.

        Raises:
            GuardError: There is no result: nothing was sent, or no answer came.
        """
        call = self._begin(name, arguments, timeout, quiet=True)
        options = _given(progress_callback=progress_callback, meta=meta)
        call.recorded = True
        verdict = await self._caller.run(call, options, as_fact)
        return Judged(verdict.result, verdict, cast("Record", call.record))

    def paginate(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        items: Selector,
        cursor: str,
        next_cursor: Selector,
        truncated: Selector | None = None,
        key: Selector | None = None,
        timeout: float | timedelta | _Unset | None = _UNSET,
        meta: dict[str, Any] | None = None,
    ) -> Pages:
        """Read a tool's own pages, one call a page, as an async iterator of their items.

        A cursor goes back as it came: strings, the empty one too, numbers and objects are cursors; null, or nothing, is
        the end, and an empty page is not. When a `Budget` is spent the iterator ends, without an error. Whether it got
        to the end of all pages is in `Pages.complete`, else why not in `Pages.stopped_because`.

        Args:
            name: The tool's name on the wire.
            arguments: Its arguments, for every page. With a cursor in them it is begun there.
            items: Where a page has its items. This and the next three are each the name of a member, a JSON pointer
                (RFC 6901: empty, or with a slash in front), or a plain function of the page.
            cursor: Name of the argument that takes the cursor.
            next_cursor: Where a page has the cursor of the next one.
            truncated: Where a page says (true, or whatever Python takes for it) that it was cut short.
            key: Where an item has what it is known by: another one with the same is dropped. The last 100,000 keys are
                remembered. An item without one is never dropped.
            timeout: As in `call`, for each page.
            meta: As in `call`, for each page.

        Raises:
            TypeError: An argument is of the wrong type. Nothing was sent.
            ValueError: A text that begins with a slash is no JSON pointer. Nothing was sent.
        """
        if not isinstance(cursor, str):
            raise TypeError(f"cursor is the name of an argument, a str, not {type(cursor).__name__}")
        reader = PageReader(items, next_cursor, truncated, key)
        given = self._begin(name, arguments, timeout).arguments or {}  # what is wrong is told now
        options = _given(meta=meta)

        async def fetch(arguments: dict[str, Any], conclude: Conclude[Page]) -> Page:
            return await self._caller.run(self._begin(name, arguments, timeout), options, conclude)

        return Pages(fetch, given, cursor, reader)

    async def refresh(self) -> Contracts:
        """List the server's tools again now.

        Raises:
            GuardError: The listing can't be read; what was known stays known.
        """
        if (fault := await self._listing.refresh()) is not None:
            raise unlisted(fault, {})
        return self.contracts

    async def __aenter__(self) -> Self:
        """Enter the target. While it is entered, the server is asked to tell of changes, where it offers that."""
        await cast("Any", self.target).__aenter__()
        self._listing.watch.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Leave the target."""
        try:
            await self._listing.watch.end()
        finally:
            left: bool | None = await cast("Any", self.target).__aexit__(kind, error, trace)
        return left

    def __getattr__(self, name: str) -> Any:
        """Every other attribute is the target's own."""
        if name == "target":  # not made yet, or being copied
            raise AttributeError(name)
        return getattr(self.target, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.target)})

    def __repr__(self) -> str:
        return f"<GuardedSession of {type(self.target).__name__}, {len(self.contracts)} contracts>"

    def _begin(
        self,
        name: str,
        arguments: Mapping[str, Any] | None,
        timeout: float | timedelta | _Unset | None,
        *,
        quiet: bool = False,
    ) -> Call:
        """Take a call up. `quiet`: under OBSERVE the guard sets no timeout of its own."""
        if not isinstance(name, str):
            raise TypeError(f"a tool's name is a str, not {type(name).__name__}")
        if not name.isascii() and not name.encode(errors="ignore").decode() == name:
            raise ValueError("a tool's name is Unicode; this one has half of a surrogate pair in it")
        if arguments is not None and not isinstance(arguments, Mapping):
            kind = type(arguments).__name__
            raise TypeError(f"the arguments of {_words.name(name)!r} are a dict or None, not {kind}")
        call = self._judge.begin(name, None if arguments is None else _as_sent(arguments), self._seam.protocol)
        if isinstance(timeout, _Unset):
            call.timeout = None if quiet and call.policy.observes else self._timeout
        else:
            call.timeout = _seconds(timeout)
        return call


@final
class AttachedSession(GuardedSession[TargetT]):
    """A session that is guarded itself: its own `call_tool` is. Made by `attach`."""

    def __init__(self, target: TargetT, seam: Seam, **same: Any) -> None:
        super().__init__(target, seam, **same)
        self._own = vars(target).get("call_tool")  # somebody may have put one on this very object
        cast("Any", target).call_tool = self.call_tool

    def detach(self) -> None:
        """Give the session its own `call_tool` back. Doing it twice does no harm."""
        attributes = vars(self.target)
        if getattr(attributes.get("call_tool"), "__self__", None) is not self:
            return
        if self._own is None:
            del attributes["call_tool"]
        else:
            attributes["call_tool"] = self._own


def guard(
    target: TargetT,
    *,
    policy: Policy = ENFORCE,
    overrides: Mapping[str, Policy] | None = None,
    safe: Iterable[str] = (),
    contracts: Contracts | None = None,
    pins: str | os.PathLike[str] | Contracts | None = None,
    hooks: Iterable[Hook] = (),
    timeout: float | None = 60.0,
    retry: Retry | None = None,
    readers: Mapping[str, Reader] | None = None,
    remote_refs: RemoteRefs | None = None,
    notifications: Notifications | None = None,
    server: str | None = None,
    hash_key: bytes | None = None,
    seam: SeamName = "auto",
) -> GuardedSession[TargetT]:
    """Put a guard round a session. The session itself is not changed, and nothing is sent yet.

    Args:
        target: A `ClientSession` of mcp 1.x or 2.x, a `Client` of 2.x (entered or not), or an object whose `.session`
            is one.
        policy: What to do about each kind of verdict.
        overrides: Other policies by tool name or glob. A name beats a glob, the first glob beats later ones.
        safe: Names or globs of tools that may run twice, as far as you know. What a server says of its tools is not
            believed.
        contracts: Where to keep what is known of the tools. Share one between guards, with a `server` name each, and
            they share what is listed: a session per call then costs no listing. They are gone by until the server says
            that its tools changed, a result does not fit, or a time to live that it named is over.
        pins: The lock file that `Contracts.save` wrote, or the contracts themselves. A tool that is not what it was
            when they were saved is refused before the call, as `Policy.pins` says; so is one that is not in it.
        hooks: Told of every call, before anything is raised.
        timeout: Seconds for a call, over its listing, all its rounds and all its attempts; `None` for none.
        retry: Whether a tool that is named in `safe` is called again where that may be of use. Without it a call is
            sent once, whatever becomes of it.
        readers: By tool name or glob, functions that tell a failure where the standard reading can't: of a
            `ToolResult`, giving a `ToolFailure` or `None`. What they give makes the verdict `Errored`, also where
            the server did not say `isError`. A fault of theirs is logged, and the result is read without them.
        remote_refs: From where documents may be fetched that the tools' schemas refer to. Without it nothing is
            fetched, and such a contract is unusable, ``remote_ref``.
        notifications: The `Notifications` that the session was made with. Without it a change of the tools is seen
            when a result does not fit, or a time to live is over. On 2026-07-28 `async with guard(...)` besides has the
            server tell; a guard round a session that is open already can't, since nothing would end the subscription.
        server: A name for the server, as the key of its contracts and in records.
        hash_key: The key of `Record.arguments_hash`; without it one is made for this guard.
        seam: How calls are sent on mcp 1.x: ``"send_request"``, the default there, sees the answer as it was sent;
            ``"call_tool"`` goes through code that patched `ClientSession.call_tool`.

    Raises:
        TypeError: The target can't be guarded, or an argument is of the wrong type.
        ValueError: An argument has a value that is not known; or `pins` is no lock file, or one of other servers.
        OSError: The lock file can't be read.
    """
    return GuardedSession(
        target,
        seam_of(target, seam),
        policy=policy,
        overrides=overrides,
        safe=safe,
        contracts=contracts,
        pins=pins,
        hooks=hooks,
        timeout=timeout,
        retry=retry,
        readers=readers,
        remote_refs=remote_refs,
        notifications=notifications,
        server=server,
        hash_key=hash_key,
    )


def attach(session: TargetT, **same: Any) -> AttachedSession[TargetT]:
    """Guard the very object: afterwards its own `call_tool` is guarded, for code that insists on a real session.

    Takes what `guard` takes. `detach()` of what comes back undoes it.

    Raises:
        TypeError: As `guard`.
        ValueError: As `guard`; or the session is attached already.
    """
    if isinstance(getattr(getattr(session, "call_tool", None), "__self__", None), GuardedSession):
        raise ValueError(  # noqa: TRY004  # its type is right
            "this session is attached already; detach() what attach() gave before"
        )
    return AttachedSession(session, seam_of(session, same.pop("seam", "auto")), **same)


def _wanted(into: Any) -> Into[Any] | None:
    if into is None:
        return None
    from mcp_guard._into import Into  # loaded only where it is asked for

    return Into[Any](into)


def _given(**options: Any) -> dict[str, Any]:
    return {k: v for k, v in options.items() if v is not None}


def _seconds(timeout: float | timedelta | None) -> float | None:
    """A timeout in either SDK's spelling, in seconds."""
    if isinstance(timeout, timedelta):
        timeout = timeout.total_seconds()
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"a timeout is a number of seconds, a timedelta or None, not {type(timeout).__name__}")
    if math.isnan(timeout) or timeout < 0:
        raise ValueError(f"a timeout is a positive number of seconds, not {timeout}")
    return float(timeout)


def _as_sent(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the SDK will serialise them: dates, enums, decimals, tuples and models become JSON.

    Raises:
        TypeError: There is something in them that no JSON can be made of.
    """
    given = dict(arguments)
    try:
        # NaN stays what it is, and is refused: as the SDK would send it, it is a null
        sent: dict[str, Any] = pydantic_core.to_jsonable_python(
            given, by_alias=True, exclude_none=True, inf_nan_mode="constants"
        )
    except ValueError as exc:  # pydantic's own serialization error is one
        # only its words about a type are shown: others may quote an argument
        why = str(exc) if str(exc).startswith(_UNKNOWN) else type(exc).__name__
        raise TypeError(f"the arguments hold what no JSON can be made of: {_words.line(why)}") from None
    return sent
