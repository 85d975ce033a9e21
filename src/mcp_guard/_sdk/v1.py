"""The seam for mcp 1.x: the public `send_request`, with a result type that takes whatever came."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping
from types import FunctionType
from typing import Any, Final, cast

import pydantic
from mcp import ClientSession, types
from mcp.shared.exceptions import McpError
from mcp.shared.message import SessionMessage

from mcp_guard._log import logger
from mcp_guard._result import LEGACY
from mcp_guard._sdk import Answer, Fault, Gate, Lost, Page, PeerError, Seam, SeamName, TimedOut
from mcp_guard._sdk.hook import hook_of, is_passing
from mcp_guard._sdk.shape import own_of, places, refuse, require, require_caller, transport_fault, unparsable

_CHECK: Final = "_validate_tool_result"


class AsSent(pydantic.RootModel[dict[str, Any]]):
    """An answer as it came: the SDK's own models would refuse what the guard is there to see.

    Its members are no attributes: instrumentation round `send_request` would take it for a `CallToolResult`.
    """


def seam_of(target: object, seam: SeamName, own: Any = None) -> Seam:
    """The seam for a 1.x session, or for what has one as its `.session`.

    Raises:
        TypeError: There is none, or it is of a shape that is not known.
    """
    session = target if isinstance(target, ClientSession) else getattr(target, "session", None)
    if not isinstance(session, ClientSession):
        raise refuse(target)
    _require(session, seam)
    return CallTool(session, own) if seam == "call_tool" else SendRequest(session, own)


def callers(seam: SeamName) -> list[type]:
    """The class whose `call_tool` code out of reach calls.

    Raises:
        TypeError: It is of a shape that is not known.
    """
    require_caller(ClientSession)
    _require(ClientSession, seam)
    if seam != "call_tool" and not _is_sdks(ClientSession.call_tool):
        _say_gone_past('install(seam="call_tool")')
    return [ClientSession]


def is_under_way(target: object, name: object) -> bool:
    """Whether this task is right now making a guarded call of this tool on this session."""
    return is_passing(target, name)


def _require(session: object, seam: SeamName) -> None:
    if seam == "call_tool":
        require(session, _CHECK, ["self", "name", "result"])
    require(session, "send_request", ["self", "request", "result_type"])


def _is_sdks(call_tool: object) -> bool:
    """Whether a `call_tool` that stands on the class is the SDK's own."""
    # __module__ is copied by functools.wraps, and this is not
    home = getattr(own_of(call_tool), "__globals__", {}).get("__name__")
    return type(call_tool) is FunctionType and home == ClientSession.__module__


def _say_gone_past(way: str) -> None:
    logger.log(
        logging.WARNING,
        "ClientSession.call_tool is patched or overridden here, and this guard goes past it; %s goes through it",
        way,
    )


class SendRequest:
    """Past the SDK's `call_tool`, which checks and raises."""

    protocol = LEGACY
    server = None
    resends_header_mismatch = True  # there are no such headers before 2026-07-28

    def __init__(self, session: ClientSession, own: Any = None) -> None:
        self._session = session
        self.call_tool: Any = session.call_tool if own is None else own.__get__(session)
        # where it is given, `callers` has said it
        if own is None and (
            getattr(session.call_tool, "__func__", None) is not ClientSession.call_tool
            or not _is_sdks(ClientSession.call_tool)
        ):
            _say_gone_past('guard(..., seam="call_tool")')

    async def call(
        self, name: str, arguments: dict[str, Any] | None, options: Mapping[str, Any], gate: Gate
    ) -> Answer | Fault:
        """Send one `tools/call`, and give the answer as the dict that came."""
        more = {k: v for k, v in options.items() if k != "meta"}
        if unknown := sorted(more.keys() - {"progress_callback"}):
            raise TypeError(f"call_tool of mcp 1.x has no keyword {', '.join(unknown)}")
        meta = options.get("meta")
        params = types.CallToolRequestParams(
            name=name,
            arguments=arguments,
            _meta=None if meta is None else types.RequestParams.Meta(**meta),
        )
        request = types.CallToolRequest(method="tools/call", params=params)
        with hook_of(self._session, _CHECK).passing(name, gate) as seen:
            try:
                answer = await self._send(request, **more)
            except Exception as exc:
                if exc is seen.unsent:
                    return Lost(sent=False, cause=exc)
                raise
        return Answer(answer, answer)

    async def page(self, cursor: str | None) -> Page:
        """Read one page of `tools/list`, each entry as it came: one bad entry spoils only itself."""
        params = None if cursor is None else types.PaginatedRequestParams(cursor=cursor)
        answer = await self._send(types.ListToolsRequest(method="tools/list", params=params))
        cursor = answer.get("nextCursor")
        return Page(answer.get("tools", ()), cursor if isinstance(cursor, str) else None, None)

    async def _send(self, request: Any, **options: Any) -> dict[str, Any]:
        answer = await self._session.send_request(types.ClientRequest(request), cast("Any", AsSent), **options)
        return cast("AsSent", answer).root

    def listening(self) -> None:
        """There are no subscriptions to changes of the tools on 1.x."""

    def fault(self, exc: Exception, handled: BaseException | None) -> Fault | None:
        """What this exception of the SDK means; `None`: it is not about the peer."""
        if isinstance(exc, McpError):
            # a peer can forge code and words of a local timeout, but not this
            if isinstance(exc.__context__, TimeoutError) and exc.__context__ is not handled:
                return TimedOut()
            error = exc.error
            if error.code == types.CONNECTION_CLOSED and error.message == "Connection closed":
                return Lost(sent=True)
            return PeerError(error.code, error.message, error.data)
        return unparsable(exc) if isinstance(exc, pydantic.ValidationError) else transport_fault(exc)

    def to_sdk(self, answer: Any) -> types.CallToolResult:
        """The answer as the SDK's own result.

        Raises:
            ValueError: The SDK's model can't hold it.
        """
        if isinstance(answer, types.CallToolResult):
            return answer
        result = types.CallToolResult.model_validate(answer)
        if "isError" in result.model_fields_set and not isinstance(answer["isError"], bool):
            raise ValueError("isError")
        return result

    def filled(self, result: Any, value: Any, meta: dict[str, Any]) -> types.CallToolResult:
        """A copy of a result in which `value` is the structured content.

        Raises:
            ValueError: The SDK's model can't hold it.
        """
        if not isinstance(value, dict):
            raise ValueError("structuredContent")  # noqa: TRY004  # as pydantic says it
        return self.to_sdk(result).model_copy(update={"structuredContent": value, "meta": meta})


class CallTool(SendRequest):
    """Through the SDK's `call_tool`, for code that patched it; its own check is taken over while the call runs."""

    def __init__(self, session: ClientSession, own: Any = None) -> None:
        self._session = session
        self.call_tool = session.call_tool if own is None else own.__get__(session)

    async def call(
        self, name: str, arguments: dict[str, Any] | None, options: Mapping[str, Any], gate: Gate
    ) -> Answer | Fault:
        """Send one `tools/call`, and give the SDK's result."""
        with hook_of(self._session, _CHECK).passing(name, gate) as seen:
            try:
                return Answer(await self.call_tool(name, arguments, **options))
            except Exception as exc:
                if exc is seen.unsent:
                    return Lost(sent=False, cause=exc)
                raise


SESSION_OPTIONS: Final = frozenset(inspect.signature(ClientSession).parameters) - {"read_stream", "write_stream"}
"""The keywords of a session of one's own."""
drops_members: Final = False
"""Whether the SDK's envelope forgets what it does not know of a message."""


def new_target(read: Any, write: Any, options: Mapping[str, Any]) -> ClientSession:
    """A session over the two streams of a transport, not entered yet."""
    return ClientSession(read, write, **options)


async def shake_hands(target: ClientSession) -> None:
    """What there is to do once the session is entered."""
    await target.initialize()


def to_message(frame: dict[str, Any]) -> SessionMessage:
    """A JSON-RPC message as the SDK's transports hand it over."""
    return SessionMessage(types.JSONRPCMessage.model_validate(frame))


def to_item(line: str) -> SessionMessage | Exception:
    """A line of a server's as the SDK's transports hand it over: a message, or what parsing it cost."""
    try:
        return SessionMessage(types.JSONRPCMessage.model_validate_json(line))
    except ValueError as error:  # pydantic.ValidationError is one
        return error


def to_line(item: SessionMessage) -> str:
    """A session's message as the line that the SDK's transports make of it."""
    return item.message.model_dump_json(by_alias=True, exclude_none=True)


def refused(page: dict[str, Any], _protocol: str) -> list[tuple[int | str, ...]]:
    """The places of what the SDK does not take in a page of `tools/list`."""
    return places(lambda: types.ListToolsResult.model_validate(page))
