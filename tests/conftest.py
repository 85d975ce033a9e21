"""What every test stands on: async tests run on asyncio and on trio."""

from __future__ import annotations

import pytest

from support import SDK_MAJOR


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The event loop of an async test."""
    backend: str = request.param
    return backend


@pytest.fixture(params=[False] if SDK_MAJOR == 1 else [False, True], ids=["legacy", "modern"][:SDK_MAJOR])
def modern(request: pytest.FixtureRequest) -> bool:
    """Whether the peer speaks 2026-07-28; on mcp 1.x it never does."""
    speaks: bool = request.param
    return speaks
