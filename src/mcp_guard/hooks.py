"""Ready hooks for ``guard(session, hooks=[...])``: `logging_hook`, `Tally`, `JsonlAudit`, `otel_hook`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_guard._audit import JsonlAudit
from mcp_guard._log import LoggingHook, logging_hook
from mcp_guard._tally import Tally

if TYPE_CHECKING:
    from mcp_guard._otel import otel_hook

__all__ = ["JsonlAudit", "LoggingHook", "Tally", "logging_hook", "otel_hook"]


if not TYPE_CHECKING:  # type checkers are to see the names above, and no others

    def __getattr__(name: str) -> object:
        if name != "otel_hook":
            raise AttributeError(f"module 'mcp_guard.hooks' has no attribute {name!r}")
        from mcp_guard._otel import otel_hook  # it needs the extra `otel`

        return otel_hook
