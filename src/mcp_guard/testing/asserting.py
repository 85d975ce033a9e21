"""Assertions about results, listings and whole servers: a failure says what a developer needs to see."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from typing import Any

from mcp_guard import _words
from mcp_guard._check import check
from mcp_guard._connect import connect
from mcp_guard._contract import Contract
from mcp_guard._decision import decide
from mcp_guard._facts import Effect
from mcp_guard._session import GuardedSession, guard
from mcp_guard.contracts import Contracts
from mcp_guard.policy import STRICT, Policy


def assert_conforms(result: Any, contract: Any, *, protocol: str | None = None, policy: Policy = STRICT) -> Any:
    """Hold a result against a tool's contract, and give its validated value.

    Args:
        result: A raw result, or a `CallToolResult` of either SDK.
        contract: A `Contract`, or the definition of the tool: raw, or a `Tool` of either SDK.
        protocol: As in `check`.
        policy: What counts as a failure: all that this policy raises on.

    Raises:
        AssertionError: The result is not as the policy wants it. It says what is wrong where, with the values.
    """
    __tracebackhide__ = True
    promised = contract if isinstance(contract, Contract) else Contract.from_tool(contract)
    verdict = check(result, promised, protocol=protocol, policy=policy)
    decision = decide(verdict, policy, promised)
    if decision.action == "raise" and decision.error is not None:
        raise AssertionError(decision.error.explain(values=True))
    return verdict.unwrap()


async def assert_contract(
    server: Any,
    lock: str | os.PathLike[str] | Contracts,
    *,
    allow: Collection[Effect] = (),
    name: str = "",
    **options: Any,
) -> None:
    """Hold what a server lists against a lock file, tool by tool.

    Args:
        server: An open session, guarded or not, or what `connect` takes.
        lock: The file that `Contracts.save` wrote, or contracts.
        allow: Effects that are no failure: ``"loosens"``, ``"tightens"``, ``"changed"``, ``"breaks"``.
        name: The server's name in the lock file, where it has one.
        options: Keywords for `connect` or `guard`.

    Raises:
        AssertionError: Something is not what it was. It lists the differences.
        OSError: The lock file can't be read.
        ValueError: It is none.
        GuardError: The server can't be listed.
    """
    __tracebackhide__ = True
    before = lock if isinstance(lock, Contracts) else Contracts.load(lock)
    if name:
        options = {"server": name, **options}
    async with opened(server, **options) as tools:
        now = await tools.refresh()
    if changes := [change for change in before.diff(now) if change.effect not in allow]:
        told = "\n".join(f"  {_words.name(change.tool)}: {change.describe()}" for change in changes)
        raise AssertionError(f"{len(changes)} differences to the contracts that are locked:\n{told}")


@asynccontextmanager
async def opened(to: Any, **options: Any) -> AsyncGenerator[GuardedSession[Any]]:
    """A guard round an open session, or round one that is opened for this; one that is guarded is taken as it is."""
    if isinstance(to, GuardedSession):
        if options:
            raise TypeError(f"this session is guarded already, so that {min(options)} comes too late; give its .target")
        yield to
    elif is_session(to):
        yield guard(to, **options)
    else:
        async with connect(to, **options) as tools:
            yield tools


def is_session(to: object) -> bool:
    """Whether this is a session that is open, or holds one."""
    from mcp import ClientSession

    try:
        return isinstance(to, ClientSession) or isinstance(getattr(to, "session", None), ClientSession)
    except RuntimeError:  # a Client that was not entered
        return False
