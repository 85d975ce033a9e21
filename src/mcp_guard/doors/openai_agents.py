"""The door to the OpenAI Agents SDK: an `MCPServer` whose tool calls are guarded, on mcp 1.x and 2.x.

::

    async with guarded(MCPServerStdio(params={"command": "shop-server"})) as server:
        agent = Agent(name="clerk", mcp_servers=[server])

What the guard has against a call, the model is told as the SDK tells it of any failure of a tool, through a
`failure_error_function`; here with the text of `for_model()`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final, TypeVar

from mcp_guard._notifications import Notifications
from mcp_guard._retry import Retry
from mcp_guard._session import GuardedSession
from mcp_guard.doors._shared import checked, guarding, missing
from mcp_guard.errors import GuardError

ServerT = TypeVar("ServerT")
_WITHOUT_END: Final = 1 << 31
"""How many retries -1 stands for: the call's deadline ends them."""


def guarded(server: ServerT, **options: Any) -> ServerT:
    """Guard an `MCPServer`, in place: from then on its `call_tool` is, in each session that it opens.

    The server's own retries (`max_retry_attempts`, and the second session of a streamable HTTP server) would send any
    call again, whatever happened. Here they become a `Retry` with as many retries and the server's waits, which is for
    tools named in `safe` alone; `retry=` goes before it.

    The model is told by `failure_error_function`, unless you gave the server or the agent one of your own: that gets an
    exception whose ``__cause__`` is the `GuardError`. With ``failure_error_function=None`` the exception ends the run.

    What the model is shown of a good result is the SDK's choice: the text blocks, or with
    ``use_structured_content=True`` the data that was judged.

    Args:
        server: An `MCPServerStdio`, `MCPServerStreamableHttp` or `MCPServerSse`, or another with a `session`. Where it
            is connected already, the guard does not hear it when the server says that its tools changed.
        **options: What `guard` takes, but `notifications`.

    Returns:
        The server itself.

    Raises:
        ImportError: There is no OpenAI Agents SDK.
        TypeError: This is no such server, or of a shape that is not known; or an option is of the wrong type.
        ValueError: The server is guarded already, or an option has a value that is not known.
    """
    try:
        kind: Any = import_module("agents.mcp").MCPServer
        default: Any = import_module("agents.tool").default_tool_error_function
    except ImportError as error:
        raise missing("openai-agents", "openai-agents") from error
    options = checked(options, "notifications")
    one: Any = server
    if not isinstance(one, kind) or not hasattr(one, "session"):
        raise TypeError(f"server takes an MCPServer that has a session, not {type(server).__name__}")
    if isinstance(getattr(one.call_tool, "__self__", None), _Calls):
        raise ValueError("server is guarded already")  # noqa: TRY004  # its type is right
    chosen = getattr(one, "_get_failure_error_function", None)
    if chosen is None:
        raise TypeError("this version of openai-agents is not known: its servers choose no failure_error_function")

    def ours_for_the_default(of_agent: Any) -> Any:
        theirs = chosen(of_agent)
        return failure_error_function if theirs is default else theirs

    one._get_failure_error_function = ours_for_the_default  # noqa: SLF001  # no public way keeps the user's own
    one.call_tool = _Calls(one, options).call_tool
    return server


def failure_error_function(context: Any, error: Exception) -> str:
    """What the model is told of a failed call: a `GuardError` in its own words, all else as the SDK tells it.

    `guarded` sets it where there is none; give it to whatever takes a `failure_error_function` elsewhere.

    Args:
        context: The run's context, as the SDK hands it on.
        error: What the call raised; a `GuardError` may also be what it was raised from.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, GuardError):
            return cause.for_model()
        cause = cause.__cause__
    told: str = import_module("agents.tool").default_tool_error_function(context, error)
    return told


class _Calls:
    """The calls of one server, with one guard for each session that it opens."""

    def __init__(self, server: Any, options: dict[str, Any]) -> None:
        self._server = server
        self._options = options
        self._unguarded = server.call_tool
        self._session: Any = None
        self._guard: GuardedSession[Any] | None = None
        if server.session is None and hasattr(server, "message_handler"):
            heard = Notifications(server.message_handler)
            self._options = {**options, "notifications": heard}
            server.message_handler = heard

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> Any:
        """The server's `call_tool`."""
        session = self._server.session
        if session is None:
            return await self._unguarded(tool_name, arguments, meta)  # says that it is not connected
        if self._guard is None or self._session is not session:
            options = {"retry": self._retry(), **self._options}
            self._session, self._guard = session, guarding(session, kind=GuardedSession, **options)
        given: dict[str, Any] = {} if meta is None else {"meta": meta}
        return await self._guard.call_tool(tool_name, arguments, **given)

    def _retry(self) -> Retry | None:
        retries = getattr(self._server, "max_retry_attempts", 0)
        if retries == 0:
            return None
        theirs = {"base_wait": "retry_backoff_seconds_base", "max_wait": "retry_backoff_seconds_max"}
        waits = {ours: wait for ours, name in theirs.items() if (wait := getattr(self._server, name, None)) is not None}
        return Retry(_WITHOUT_END if retries < 0 else retries, **waits)
