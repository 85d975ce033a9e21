"""The server that can say anything, as the package has it for everybody."""

from __future__ import annotations

from mcp_guard.testing.raw import (
    HANG_UP,
    INVALID_PARAMS,
    LEGACY,
    METHOD_NOT_FOUND,
    MODERN,
    NOTHING,
    Answer,
    Error,
    Json,
    Line,
    RawServer,
    Reply,
    Request,
    in_turn,
    then_changed,
    tool,
    when,
)

__all__ = [
    "HANG_UP",
    "INVALID_PARAMS",
    "LEGACY",
    "METHOD_NOT_FOUND",
    "MODERN",
    "NOTHING",
    "Answer",
    "Error",
    "Json",
    "Line",
    "RawServer",
    "Reply",
    "Request",
    "in_turn",
    "then_changed",
    "tool",
    "when",
]
