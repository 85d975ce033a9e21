"""The door to Pydantic AI: an `MCPToolset` whose tool calls are guarded, on mcp 1.x and 2.x.

::

    agent = Agent(model, toolsets=[guarded(MCPToolset("http://127.0.0.1:8000/mcp"))])

A fault of the server's contract the model is told once, as a failed tool result (`ToolFailed`): no `ModelRetry` asks it
to try again, so a tool that has run is not run again because of it.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any, Final, TypeVar

from mcp_guard._session import GuardedSession
from mcp_guard.doors._shared import GuardedTransport, checked, guarding, missing
from mcp_guard.errors import BudgetExhaustedError, ContractError, GuardError

ToolsetT = TypeVar("ToolsetT")
_ONCE: Final = (ContractError, BudgetExhaustedError)
"""What the same call, or one with other arguments, would end with again."""


def guarded(toolset: ToolsetT, **options: Any) -> ToolsetT:
    """Guard an `MCPToolset`, in place: from then on each session that it opens is.

    What becomes of an error is as its own `tool_error_behavior` says:

    * ``"retry"``, the default: `ModelRetry` where the model may try again (`retry_safe`: nothing was sent, or you named
      the tool in `safe`), else `ToolFailed`. A contract fault is always `ToolFailed`.
    * ``"failed"``: always `ToolFailed`.
    * ``"error"``: the `GuardError` itself, which ends the run.

    Both show the model the text of `for_model()`. A tool that may be called as a task is called as an ordinary one
    (`prefer_tasks` is set to false), since the result of a task is not judged; so a tool that is always a task is not.

    Args:
        toolset: An `MCPToolset` that is not connected yet, or a toolset with some in it: prefixed, filtered, combined.
        **options: What `guard` takes, but `notifications`; `server` only where there is one `MCPToolset`. Where
            `timeout` is not given it is the toolset's own.

    Returns:
        The toolset itself.

    Raises:
        ImportError: There is no Pydantic AI, or none with its extra `mcp`.
        TypeError: This is no toolset, or there is no `MCPToolset` in it; or an option is of the wrong type.
        ValueError: A toolset is connected, or guarded already; or an option has a value that is not known.
    """
    try:
        kind: Any = import_module("pydantic_ai.mcp").MCPToolset
        toolsets: Any = import_module("pydantic_ai.toolsets")
    except ImportError as error:
        raise missing("pydantic-ai", "pydantic-ai") from error
    one: Any = toolset
    if not isinstance(one, toolsets.AbstractToolset):
        raise TypeError(f"toolset takes an MCPToolset, not {type(toolset).__name__}")
    inside: list[Any] = []
    one.apply(inside.append)
    found = [each for each in inside if isinstance(each, kind)]
    if not found:
        raise TypeError(f"toolset takes an MCPToolset, and there is none in this {type(toolset).__name__}")
    options = checked(options, "notifications", *(["server"] if len(found) > 1 else []))
    if any(isinstance(each.client.transport, GuardedTransport) for each in found):
        raise ValueError("toolset is guarded already")
    if any(each.client.is_connected() for each in found):
        raise ValueError("toolset is connected; guard it before: Agent(model, toolsets=[guarded(toolset)])")
    for each in found:
        each.prefer_tasks = False
        _guard(each, options)
    return toolset


def _guard(toolset: Any, options: dict[str, Any]) -> None:
    wrap = functools.partial(_telling, toolset)
    toolset.client.transport = GuardedTransport(toolset.client.transport, wrap, options)
    own = toolset.for_run

    async def for_run(context: Any) -> Any:
        made = await own(context)
        if made is not toolset:  # with a function as `auth` or `headers` each run has a copy, with its own client
            del made.for_run
            _guard(made, options)
        return made

    toolset.for_run = for_run


def _telling(toolset: Any, session: Any, **options: Any) -> Any:
    guard: Any = guarding(session, kind=_Session, **options)
    guard.toolset = toolset
    return guard


class _Session(GuardedSession[Any]):
    """Raises what Pydantic AI has for telling the model."""

    toolset: Any

    async def call_tool(self, name: str, *args: Any, **options: Any) -> Any:
        """The target's `call_tool`."""
        try:
            return await super().call_tool(name, *args, **options)
        except GuardError as error:
            behavior = self.toolset.tool_error_behavior
            if behavior == "error":
                raise
            exceptions: Any = import_module("pydantic_ai.exceptions")
            again = behavior == "retry" and error.retry_safe and not isinstance(error, _ONCE)
            raise (exceptions.ModelRetry if again else exceptions.ToolFailed)(error.for_model()) from error
