"""Servers that nobody here wrote, over stdio: what they promise is held, and where one breaks its word it is named.

Skipped where they can't be had: no network, no node.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final, TextIO, TypeAlias

import mcp
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client

from mcp_guard import OBSERVE, GuardedSession, OutputValidationError, ToolExecutionError, guard
from support import LEGACY, MODERN, SDK_MAJOR
from support.real_servers import NotHadError, from_npm, from_pypi


def silence() -> TextIO:
    """Where the servers' stderr goes."""
    return Path(os.devnull).open("w", encoding="utf-8")


@asynccontextmanager
async def session(server: StdioServerParameters) -> AsyncGenerator[Any, None]:
    """A `ClientSession`, connected by the handshake that every version has."""
    with silence() as quiet:
        async with stdio_client(server, quiet) as streams, mcp.ClientSession(*streams) as connected:
            await connected.initialize()
            yield connected


@asynccontextmanager
async def client(server: StdioServerParameters) -> AsyncGenerator[Any, None]:
    """A `Client` of mcp 2.x, which speaks the newest protocol that the server knows."""
    client_class: Any = vars(mcp)["Client"]
    with silence() as quiet:
        async with client_class(stdio_client(server, quiet)) as connected:
            yield connected


Connect: TypeAlias = Callable[[StdioServerParameters], AbstractAsyncContextManager[Any]]
WAYS: Final[tuple[Connect, ...]] = (session,) if SDK_MAJOR == 1 else (session, client)
every_way = pytest.mark.parametrize("connect", WAYS, ids=lambda way: way.__name__)


@pytest.fixture(params=["asyncio"])  # each run starts a process: one event loop is enough
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The event loop of an async test."""
    backend: str = request.param
    return backend


@pytest.fixture(scope="session")
def python() -> str:
    """The Python that has the servers from PyPI."""
    try:
        return str(from_pypi())
    except NotHadError as error:
        pytest.skip(str(error))


@pytest.fixture
def time_server(python: str) -> StdioServerParameters:
    """What tells the time: two tools with outputSchemas."""
    return StdioServerParameters(command=python, args=["-m", "mcp_server_time", "--local-timezone", "UTC"])


@pytest.fixture
def repository(tmp_path: Path) -> str:
    """A git repository with one commit in it."""
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "--message", "the first one"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, capture_output=True)  # noqa: S603, S607  # ours
    return str(tmp_path)


@pytest.fixture
def git_server(python: str, repository: str) -> StdioServerParameters:
    """What reads a git repository: tools without outputSchema."""
    return StdioServerParameters(command=python, args=["-m", "mcp_server_git", "--repository", repository])


@pytest.fixture(scope="session")
def memory_command() -> str:
    """The server from npm."""
    try:
        return str(from_npm("mcp-server-memory"))
    except NotHadError as error:
        pytest.skip(str(error))


@pytest.fixture
def memory_server(memory_command: str, tmp_path: Path) -> StdioServerParameters:
    """What keeps a graph in a file; its `read_graph` hands out a member of the file that its schema forbids."""
    where = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    return StdioServerParameters(command=memory_command, args=[], env={**os.environ, **where})


@every_way
async def test_the_time_server_keeps_its_contract(connect: Connect, time_server: StdioServerParameters) -> None:
    async with connect(time_server) as target:
        tools: GuardedSession[Any] = guard(target)
        now = await tools.call("get_current_time", {"timezone": "Europe/Berlin"})
        assert now["timezone"] == "Europe/Berlin"
        there = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        judged = await tools.judge("convert_time", there)
        assert judged.verdict.unwrap()["time_difference"] == "+9.0h"
        assert (judged.record.verdict, judged.record.source) == ("Conforming", "structured")
        assert judged.record.deviations == ()
        assert judged.record.protocol == (LEGACY if connect is session else MODERN)


@every_way
async def test_the_time_servers_own_errors_are_told_as_such(
    connect: Connect, time_server: StdioServerParameters
) -> None:
    async with connect(time_server) as target:
        with pytest.raises(ToolExecutionError) as caught:
            await guard(target).call("get_current_time", {"timezone": "No/Where"})
        assert "No/Where" in caught.value.failure.text
        assert "No/Where" not in str(caught.value)
        assert "No/Where" in caught.value.for_model()


@every_way
async def test_the_git_server_gives_its_text(
    connect: Connect, git_server: StdioServerParameters, repository: str
) -> None:
    async with connect(git_server) as target:
        tools: GuardedSession[Any] = guard(target)
        assert "nothing to commit" in await tools.call("git_status", {"repo_path": repository})
        assert "the first one" in await tools.call("git_log", {"repo_path": repository})
        judged = await tools.judge("git_status", {"repo_path": repository})
        assert judged.record.verdict == "Unchecked"
        with pytest.raises(ToolExecutionError):
            await tools.call("git_show", {"repo_path": repository, "revision": "none"})


ENTITY: Final = {"name": "Ada", "entityType": "person", "observations": ["wrote a program"]}


@every_way
async def test_the_memory_server_breaks_its_word_and_the_place_is_named(
    connect: Connect, memory_server: StdioServerParameters
) -> None:
    async with connect(memory_server) as target:
        tools: GuardedSession[Any] = guard(target)
        assert await tools.call("create_entities", {"entities": [ENTITY]}) == {"entities": [ENTITY]}
        with pytest.raises(OutputValidationError) as caught:
            await tools.call("read_graph")
        (violation,) = caught.value.violations
        assert (violation.pointer, violation.keyword) == ("/entities/0", "additionalProperties")
        assert violation.value == {"type": "entity", **ENTITY}
        assert caught.value.outcome == "executed"
        assert "Ada" not in str(caught.value)


@every_way
async def test_the_memory_server_can_be_used_where_the_policy_only_reports(
    connect: Connect, memory_server: StdioServerParameters
) -> None:
    async with connect(memory_server) as target:
        tools: GuardedSession[Any] = guard(target, overrides={"read_graph": OBSERVE})
        await tools.call("create_entities", {"entities": [ENTITY]})
        graph = await tools.call("read_graph")
        assert graph["entities"][0]["name"] == "Ada"
