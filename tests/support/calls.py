"""Guarded sessions in one line, and the tools and results that tests of calls are made of."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from mcp_guard import GuardedSession, guard
from support.peer import RawServer
from support.sessions import SDK_MAJOR, SESSIONS, Connect, raw_session

N: Final[dict[str, Any]] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
"""An outputSchema: an object with the integer `n`."""

SdkError: Final[Any] = vars(importlib.import_module("mcp.shared.exceptions"))[
    "McpError" if SDK_MAJOR == 1 else "MCPError"
]

_GUARDS: Final = frozenset(
    (
        "policy",
        "overrides",
        "safe",
        "contracts",
        "hooks",
        "timeout",
        "retry",
        "readers",
        "notifications",
        "server",
        "hash_key",
        "seam",
    )
)

every_target = pytest.mark.parametrize("connect", SESSIONS, ids=lambda connect: connect.__name__)
"""Run a test with everything that can be guarded on the installed SDK."""

only_2 = pytest.mark.skipif(SDK_MAJOR == 1, reason="there is none on mcp 1.x")
only_1 = pytest.mark.skipif(SDK_MAJOR == 2, reason="there is none on mcp 2.x")


def made_with(connect: Connect, **options: Any) -> dict[str, Any]:
    """The keyword that gives the target's constructor these options."""
    return {"session_options" if connect is raw_session else "client_options": options}


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def said(*words: str, **members: Any) -> dict[str, Any]:
    """A result with text blocks and no structured content."""
    return {"content": [text(each) for each in words], **members}


def data(value: Any, *words: str, **members: Any) -> dict[str, Any]:
    """A result with structured content."""
    return said(*words, structuredContent=value, **members)


def as_json(result: Any) -> Any:
    """The JSON object that an SDK's result was made of."""
    return result.model_dump(by_alias=True, exclude_unset=True, mode="json")


@asynccontextmanager
async def guarded(connect: Connect, **options: Any) -> AsyncGenerator[tuple[GuardedSession[Any], RawServer], None]:
    """A guard round a target, and the raw server behind it. What `guard` does not take describes the server."""
    guards = {name: options.pop(name) for name in _GUARDS & options.keys()}
    async with connect(**options) as (target, server):
        yield guard(target, **guards), server
