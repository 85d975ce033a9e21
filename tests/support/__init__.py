"""What the tests talk to: a server that can say anything, and an ordinary one, both in memory.

    async with raw_session(tools=[tool("add")], results={"add": {"content": []}}) as (session, server):
        await session.call_tool("add", {})
        assert server.counts["tools/call"] == 1

The peers speak through the SDK's own message model and nothing above it, so what a test writes is what the session
receives. The same test runs on mcp 1.x and 2.x; whatever belongs to the SDK is `Any` here, as the two share no types.
"""

from __future__ import annotations

from support.peer import (
    HANG_UP,
    LEGACY,
    MODERN,
    NOTHING,
    Answer,
    Error,
    Line,
    RawServer,
    Reply,
    Request,
    in_turn,
    then_changed,
    tool,
    when,
)
from support.sessions import (
    SDK_MAJOR,
    SESSIONS,
    Connect,
    raw_client,
    raw_session,
    raw_transport,
    sample_server,
    sdk_session,
)

__all__ = [
    "HANG_UP",
    "LEGACY",
    "MODERN",
    "NOTHING",
    "SDK_MAJOR",
    "SESSIONS",
    "Answer",
    "Connect",
    "Error",
    "Line",
    "RawServer",
    "Reply",
    "Request",
    "in_turn",
    "raw_client",
    "raw_session",
    "raw_transport",
    "sample_server",
    "sdk_session",
    "then_changed",
    "tool",
    "when",
]
