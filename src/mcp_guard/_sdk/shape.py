"""What both SDKs' seams share: the shapes that are known, and what a refusal of the SDK's own parser means."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

import anyio
import pydantic

from mcp_guard._sdk import Fault, Lost, TimedOut, Unparsable

_CALL_TOOL: Final = ["self", "name", "arguments", "read_timeout_seconds", "progress_callback"]
"""What can be given to the `call_tool` of either major by position."""
INSTALLED_OVER: Final = "_mcp_guard_installed_over"
"""The attribute of a function that `install` put on a class: the function itself, and what it was put over."""
_CODES: Final = {
    "content": "content_type",
    "structuredContent": "structured_not_object",
    "isError": "error_flag",
    "resultType": "result_type_missing",
}


def refuse(target: object) -> TypeError:
    """The sentence for a target that can't be guarded."""
    kind = type(target)
    return TypeError(
        "guard() takes an mcp.ClientSession, on mcp 2.x an mcp.Client too, or an object whose .session is one; "
        f"this is a {kind.__module__}.{kind.__qualname__}"
    )


def require(owner: object, method: str, parameters: list[str]) -> None:
    """Make sure that a method of the SDK's, on a session or a class, still has the shape that the seam was built for.

    Raises:
        TypeError: It has not: the SDK moved, or a subclass changed it.
    """
    kind = owner if isinstance(owner, type) else type(owner)
    found = getattr(kind, method, None)
    if inspect.iscoroutinefunction(found) and _takes(found, parameters):
        return
    raise TypeError(
        f"mcp_guard does not know this shape of {kind.__qualname__}: it expects the coroutine method "
        f"{method}({', '.join(parameters)}); without it a result could pass unseen or be lost"
    )


def _takes(function: Callable[..., object], parameters: list[str]) -> bool:
    """Whether a function takes these in this order; what is put over one of the SDK's may pass them on as `*args`."""
    found = [*inspect.signature(function).parameters.values()][: len(parameters)]
    for parameter, name in zip(found, parameters, strict=False):  # found may be shorter
        if parameter.kind is parameter.VAR_POSITIONAL:
            return True
        if parameter.name != name:
            return False
    return len(found) == len(parameters)


def own_of(function: object) -> object:
    """What stands under the function that `install` put on a class; any other function is its own."""
    put, own = getattr(function, INSTALLED_OVER, (None, None))
    return own if put is function else function


def require_caller(kind: type) -> None:
    """Make sure that a class of the SDK's has a `call_tool` of its own, of the shape that `install` knows.

    Raises:
        TypeError: It has not: the SDK moved.
    """
    require(kind, "call_tool", _CALL_TOOL)
    if "call_tool" not in vars(kind):
        raise TypeError(f"mcp_guard does not know this shape of {kind.__qualname__}: it has no call_tool of its own")


def unparsable(exc: pydantic.ValidationError) -> Unparsable | None:
    """What the SDK's parser did not like about an answer; `None` where the caller's own request did not parse."""
    if exc.title.endswith(("Params", "Request", "Meta")):
        return None
    # not the whole errors(): input and context quote the server
    errors: list[Any] = exc.errors(include_input=False, include_url=False, include_context=False)
    # of a union of answers, what it is no CallToolResult for
    errors = [e for e in errors if e["loc"][:1] == ("CallToolResult",)] or errors
    return Unparsable(tuple(sorted({_code(e) for e in errors})) or ("unparsable",))


def transport_fault(exc: Exception) -> Fault | None:
    """What an exception means that comes from below the SDK, out of the transport; `None`: it does not."""
    if isinstance(exc, (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError)):
        return Lost(sent=True)
    return TimedOut() if isinstance(exc, TimeoutError) else None


def _code(error: dict[str, Any]) -> str:
    names = [x for x in error["loc"] if isinstance(x, str)]
    if "content" in names:
        if error["type"] == "missing" and error["loc"][-1] == "content":
            return "content_missing"
        return "content_type" if error["loc"][-1] == "content" else "unknown_block"
    return next((_CODES[n] for n in names if n in _CODES), "unparsable")


def places(read: Callable[[], object]) -> list[tuple[int | str, ...]]:
    """Where the SDK's models do not take what they are to read; an empty place where they don't say."""
    try:
        read()
    except pydantic.ValidationError as exc:
        return [e["loc"] for e in exc.errors(include_input=False, include_url=False, include_context=False)]
    except ValueError:  # pydantic's own, at what is too deep for it
        return [()]
    return []
