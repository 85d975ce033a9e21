"""The seam for mcp 2.x: the ordinary `call_tool`, with the public `validate_tool_result` taken over while it runs.

So the SDK's `input_required` loop, its claims and its header recovery go on working.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Final

import mcp_types as types
import pydantic
from mcp import Client, ClientSession, InputRequiredRoundsExceededError, MCPError
from mcp.client.extension import UnexpectedClaimedResult
from mcp.client.subscriptions import ListenNotSupportedError, listen
from mcp.shared.message import SessionMessage
from mcp_types import methods

from mcp_guard._log import logger
from mcp_guard._result import LEGACY, MODERN
from mcp_guard._sdk import Answer, Fault, Gate, Lost, NotFinal, Page, PeerError, Seam, SeamName, TimedOut
from mcp_guard._sdk.hook import hook_of, is_passing
from mcp_guard._sdk.shape import places, refuse, require, require_caller, transport_fault, unparsable

_CLOSED: Final = ("Connection closed", "SSE stream ended", "SSE stream failed")
"""How the SDK begins the error for a request whose connection, or stream of its own, is gone."""
_CHECK: Final = "validate_tool_result"
_SHAPE: Final = ["self", "name", "result"]
_SEND: Final = "send_request"
_SEND_SHAPE: Final = ["self", "request", "result_type"]


def seam_of(target: object, seam: SeamName, own: Any = None) -> Seam:
    """The seam for a 2.x session or `Client`, or for what has a session as its `.session`.

    Raises:
        TypeError: There is none, or it is of a shape that is not known.
        ValueError: The seam is not there on mcp 2.x.
    """
    _require_seam(seam)
    if isinstance(target, Client):
        return ClientSeam(target, own)
    session = target if isinstance(target, ClientSession) else getattr(target, "session", None)
    if not isinstance(session, ClientSession):
        raise refuse(target)
    return SessionSeam(session, own)


def callers(seam: SeamName) -> list[type]:
    """The classes whose `call_tool` code out of reach calls: a client's is one call, with all its rounds.

    Raises:
        TypeError: They are of a shape that is not known.
        ValueError: The seam is not there on mcp 2.x.
    """
    _require_seam(seam)
    _require_hooks(ClientSession)
    found: list[type] = [ClientSession, Client]
    for kind in found:
        require_caller(kind)
    return found


def is_under_way(target: ClientSession | Client, name: object) -> bool:
    """Whether this task is right now making a guarded call of this tool on this session, or on the client's."""
    if isinstance(target, ClientSession):
        return is_passing(target, name)
    with suppress(RuntimeError):  # not entered
        return is_passing(target.session, name)
    return False


def _require_seam(seam: SeamName) -> None:
    if seam == "send_request":
        raise ValueError("seam='send_request' is for mcp 1.x: on 2.x it would go past the SDK's rounds and headers")


def _require_hooks(session: object) -> None:
    require(session, _CHECK, _SHAPE)
    require(session, _SEND, _SEND_SHAPE)


@asynccontextmanager
async def _listening(session: ClientSession) -> AsyncGenerator[AsyncIterator[object]]:
    async with listen(session, tools_list_changed=True) as subscription:
        if not subscription.honored.tools_list_changed:
            raise ListenNotSupportedError(session.protocol_version)
        yield subscription


class SessionSeam:
    """For a `ClientSession`: what is not final comes back as it is, and is judged."""

    def __init__(self, session: ClientSession, own: Any = None) -> None:
        _require_hooks(session)
        self._session = session
        self.call_tool: Any = session.call_tool if own is None else own.__get__(session)

    @property
    def resends_header_mismatch(self) -> bool:
        """Whether the target itself lists again and resends after -32020: a session does not."""
        return False

    @property
    def protocol(self) -> str:
        """The negotiated protocol version."""
        return self._live().protocol_version or LEGACY

    @property
    def server(self) -> str | None:
        """What the server calls itself. Its own word: a label, no identity."""
        info = self._live().server_info
        return None if info is None else info.name

    def _live(self) -> ClientSession:
        return self._session

    async def call(
        self, name: str, arguments: dict[str, Any] | None, options: Mapping[str, Any], gate: Gate
    ) -> Answer | Fault:
        """Send one `tools/call`, and give the SDK's result with the answer that it was made of."""
        # whatever the caller allows: what is not final is judged, and not the SDK's RuntimeError
        by_hand = {**options, "allow_input_required": True, "allow_claimed": True}
        return await self._passed(name, arguments, by_hand, gate)

    async def _passed(
        self, name: str, arguments: dict[str, Any] | None, options: Mapping[str, Any], gate: Gate
    ) -> Answer | Fault:
        with hook_of(self._live(), _CHECK).passing(name, gate) as seen:
            try:
                result = await self.call_tool(name, arguments, **options)
            except Exception as exc:
                if exc is seen.unsent:
                    return Lost(sent=False, cause=exc)
                raise
        if isinstance(result, types.CallToolResult) and not result.is_error and not seen.checked:
            logger.log(
                logging.WARNING,
                "the SDK did not ask for its own output check here: call_tool was overridden, or the SDK moved; "
                "the guard judges the result all the same",
            )
        # a claim's resolver gives a result of its own making, which no answer stands behind
        return Answer(result, seen.body) if result is seen.parsed else Answer(result)

    async def page(self, cursor: str | None) -> Page:
        """Read one page of `tools/list`, through the SDK, so that its header rules stay right."""
        return self._page(await self._live().list_tools(params=types.PaginatedRequestParams(cursor=cursor)))

    def _page(self, result: types.ListToolsResult) -> Page:
        modern = self.protocol >= MODERN
        return Page(result.tools, result.next_cursor, result.ttl_ms / 1000 if modern else None)

    def listening(self) -> AbstractAsyncContextManager[AsyncIterator[object]] | None:
        """The SDK's own subscription to changes of the tools, where the session's server offers it."""
        session = self._live()
        offered = session.server_capabilities
        if self.protocol < MODERN or offered is None or offered.tools is None or not offered.tools.list_changed:
            return None
        return _listening(session)

    def fault(self, exc: Exception, handled: BaseException | None) -> Fault | None:
        """What this exception of the SDK means; `None`: it is not about the peer."""
        if isinstance(exc, MCPError):
            # a peer can forge code and words of a local timeout, but not this
            if isinstance(exc.__context__, TimeoutError) and exc.__context__ is not handled:
                return TimedOut()
            if exc.code == types.CONNECTION_CLOSED and exc.message.startswith(_CLOSED):
                return Lost(sent=True)
            return PeerError(exc.code, exc.message, exc.data)
        if isinstance(exc, InputRequiredRoundsExceededError):
            return NotFinal("input_required")
        if isinstance(exc, UnexpectedClaimedResult):
            return NotFinal("task")
        return unparsable(exc) if isinstance(exc, pydantic.ValidationError) else transport_fault(exc)

    def to_sdk(self, answer: Any) -> Any:
        """The answer as the SDK's own result, which it is unless it was taken from the wire.

        Raises:
            ValueError: The SDK's model can't hold it.
        """
        return types.CallToolResult.model_validate(answer, by_name=False) if isinstance(answer, dict) else answer

    def filled(self, result: Any, value: Any, meta: dict[str, Any]) -> types.CallToolResult:
        """A copy of a result in which `value` is the structured content.

        Raises:
            ValueError: The SDK's model can't hold it.
        """
        own: types.CallToolResult = self.to_sdk(result)
        return own.model_copy(update={"structured_content": value, "meta": meta})


class ClientSeam(SessionSeam):
    """For a `Client`, which drives `input_required` and claims itself. Its session is there only once it is entered."""

    def __init__(self, client: Client, own: Any = None) -> None:
        self._client = client
        self.call_tool: Any = client.call_tool if own is None else own.__get__(client)
        self._checked: ClientSession | None = None

    @property
    def resends_header_mismatch(self) -> bool:
        """Since 2.3 the client itself lists again and resends after -32020."""
        return hasattr(Client, "_relist_tool")

    def _live(self) -> ClientSession:
        session = self._client.session
        if session is not self._checked:
            _require_hooks(session)
            self._checked = session
        return session

    async def call(
        self, name: str, arguments: dict[str, Any] | None, options: Mapping[str, Any], gate: Gate
    ) -> Answer | Fault:
        """Send one `tools/call`, rounds and all, and give the SDK's result with the answer that it was made of."""
        return await self._passed(name, arguments, options, gate)

    async def page(self, cursor: str | None) -> Page:
        """Read one page of `tools/list`, past the client's own cache: the guard keeps the contracts."""
        return self._page(await self._client.list_tools(cursor=cursor, cache_mode="refresh"))


SESSION_OPTIONS: Final = frozenset(inspect.signature(Client).parameters) - {"server", "raise_exceptions"}
"""The keywords of a client of one's own."""
drops_members: Final = True
"""Whether the SDK's envelope forgets what it does not know of a message."""


def new_target(read: Any, write: Any, options: Mapping[str, Any]) -> Client:
    """A client over the two streams of a transport, not entered yet."""
    return Client(_opened(read, write), **options)


@asynccontextmanager
async def _opened(read: Any, write: Any) -> AsyncGenerator[tuple[Any, Any]]:
    """Streams that somebody else opened, and closes, as the SDK means a transport."""
    yield read, write


async def shake_hands(_target: Client) -> None:
    """Nothing: a client does it when it is entered."""


def to_message(frame: dict[str, Any]) -> SessionMessage:
    """A JSON-RPC message as the SDK's transports hand it over."""
    return SessionMessage(types.jsonrpc_message_adapter.validate_python(frame, by_name=False))


def to_item(line: str) -> SessionMessage | Exception:
    """A line of a server's as the SDK's transports hand it over: a message, or what parsing it cost."""
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:  # pydantic.ValidationError is one
        return error


def to_line(item: SessionMessage) -> str:
    """A session's message as the line that the SDK's transports make of it."""
    return item.message.model_dump_json(by_alias=True, exclude_unset=True)


def refused(page: dict[str, Any], protocol: str) -> list[tuple[int | str, ...]]:
    """The places of what the SDK does not take in a page of `tools/list`."""

    def read() -> None:
        with suppress(KeyError):  # this version has no such method
            methods.validate_server_result("tools/list", protocol, page)
        types.ListToolsResult.model_validate(page, by_name=False)

    return places(read)
