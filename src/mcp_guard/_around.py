"""What hooks put round a call, entered before it and left after it, and the span that is current in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Protocol, TypeAlias, TypeGuard

from mcp_guard._facts import is_array, is_object
from mcp_guard.records import CallInfo


class Around(Protocol):
    """A hook that has something to put round a call."""

    def around(self, call: CallInfo, /) -> AbstractContextManager[object]:
        """Give what the call is to be made inside of."""
        ...


Failed: TypeAlias = Callable[[Around, Exception], None]


def copied(value: Any) -> Any:
    """JSON that shares no object or array with `value`: what a hook does to it changes no call. Of any depth."""
    top = [value]
    left: list[Any] = [top]
    while left:
        container = left.pop()
        items: list[tuple[Any, Any]] = [*(container.items() if is_object(container) else enumerate(container))]
        for key, inner in items:
            if is_object(inner) or is_array(inner):
                container[key] = fresh = inner.copy()
                left.append(fresh)
    return top[0]


def has_around(hook: object) -> TypeGuard[Around]:
    """Whether a hook has something to put round a call."""
    return callable(getattr(hook, "around", None))


@contextmanager
def entered(hooks: Iterable[Around], call: CallInfo, failed: Failed) -> Generator[None]:
    """Be inside of what the hooks put round this call. What raises there is told to `failed`, and changes nothing."""
    with ExitStack() as stack:
        for hook in hooks:
            _enter(hook, call, stack, failed)
        yield


def _enter(hook: Around, call: CallInfo, stack: ExitStack, failed: Failed) -> None:
    try:
        manager = hook.around(call)
        manager.__enter__()
    except Exception as exc:  # noqa: BLE001  # a hook never changes a call
        failed(hook, exc)
    else:
        stack.callback(_leave, manager, hook, failed)


def _leave(manager: AbstractContextManager[object], hook: Around, failed: Failed) -> None:
    try:
        # never with the call's exception: a tracer would write it down, and the server's words with it
        manager.__exit__(None, None, None)
    except Exception as exc:  # noqa: BLE001  # a hook never changes a call
        failed(hook, exc)


def current_span() -> tuple[str | None, str | None]:
    """Ids of the current trace and span, as W3C Trace Context writes them; `None` where nobody loaded OpenTelemetry."""
    current = getattr(sys.modules.get("opentelemetry.trace"), "get_current_span", None)
    context = None if current is None else current().get_span_context()
    if context is None or not context.is_valid:
        return None, None
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"
