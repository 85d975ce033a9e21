"""`inject`: puts faults into the frames between a client and any real server."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, cast, final

import anyio

from mcp_guard._facts import is_array, is_object
from mcp_guard._opening import way_to
from mcp_guard._sdk.choose import sdk
from mcp_guard.testing.faults import Fault, Good, NotApplicableError, chosen
from mcp_guard.testing.raw import Answer, Json, Request

_CALL, _LIST = "tools/call", "tools/list"


@final
@dataclass(frozen=True, slots=True)
class Injected:
    """A fault that was put in: which, into which tool's call, and the how many-th of this tool it was."""

    fault: str
    tool: str
    nth: int


@final
@dataclass(slots=True, kw_only=True)
class Injection:
    """A transport, as the SDK means one, to a real server; into what it hands over a fault is put. Made by `inject`."""

    to: Any
    fault: Fault
    tool: str = "*"
    calls: frozenset[int] | None = None
    probability: float = 1.0
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    injected: list[Injected] = field(default_factory=list[Injected], init=False)
    """What was put in so far. A call whose result can't have the fault is none of them: it is handed over as it is."""
    _open: Any = field(default=None, init=False, repr=False)

    async def __aenter__(self) -> tuple[Any, Any]:
        if self._open is not None:
            raise RuntimeError("this transport is open already; inject() makes another")
        opened = _opened(self)
        streams: tuple[Any, Any] = await opened.__aenter__()
        self._open = opened
        return streams

    async def __aexit__(self, *raised: object) -> bool | None:
        opened, self._open = self._open, None
        left: bool | None = await opened.__aexit__(*raised)
        return left


def inject(
    to: Any,
    /,
    fault: str | Fault,
    *,
    tool: str = "*",
    calls: int | set[int] | None = None,
    probability: float = 1.0,
    seed: int = 0,
    client_options: Mapping[str, Any] | None = None,
) -> Injection:
    """A transport to a server in whose answers there is a fault: for `connect`, a `Client` or a `ClientSession`.

    ::

        async with connect(inject("http://127.0.0.1:8000/mcp", "silent_after_work", tool="pay", calls=1)) as tools: ...

    Several faults: one `inject` round another.

    Args:
        to: What `connect` takes: a URL, `StdioServerParameters`, a server object of this process, or a transport.
        fault: The name of a fault, or a `Fault`. One of the listing can't be injected: it takes a `FaultyServer`.
        tool: Name or glob of the tools that have it.
        calls: Which calls of a tool have it, counted from 1; all where it is `None`.
        probability: Of those, how many have it: 1.0 is all of them.
        seed: Of the choice by probability. The same seed and the same order of calls choose the same.
        client_options: Keywords for the transport, as `connect` takes them.

    Raises:
        TypeError: An argument is of the wrong type, or this can't be connected to.
        ValueError: There is no such fault, or it can't be injected; or a number is out of its range.
    """
    found = chosen(fault)
    if len(found) != 1:
        raise ValueError(f"{fault!r} stands for {len(found)} faults; put one inject() round another")
    if found[0].listing is not None:
        raise ValueError(f"{found[0].name} is a fault of the listing: it takes a FaultyServer")
    if not isinstance(tool, str):
        raise TypeError(f"tool is a name or a glob, not {type(tool).__name__}")
    if not 0 <= probability <= 1:
        raise ValueError(f"probability is between 0 and 1, not {probability}")
    which = frozenset((calls,) if isinstance(calls, int) else calls) if calls is not None else None
    if which is not None and not all(nth >= 1 for nth in which):
        raise ValueError("calls are counted from 1")
    way_to(to, with_lines=False)  # what can't be connected to is refused now
    return Injection(
        to=to,
        fault=found[0],
        tool=tool,
        calls=which,
        probability=probability,
        seed=seed,
        options=client_options or {},
    )


@asynccontextmanager
async def _opened(injection: Injection) -> AsyncGenerator[tuple[Any, Any]]:
    opening = way_to(injection.to, with_lines=False).open(injection.options)
    error: Exception | None = None
    async with opening as (read, write, *_):
        to_client, ours = anyio.create_memory_object_stream[Any](math.inf)
        to_server, from_client = anyio.create_memory_object_stream[Any](math.inf)
        wire = _Wire(injection, to_client, write)
        async with to_client, ours, to_server, from_client, anyio.create_task_group() as tasks:
            tasks.start_soon(wire.requests, from_client)
            tasks.start_soon(wire.answers, read)
            try:
                yield ours, to_server
            except Exception as exc:  # noqa: BLE001  # raised below: the task group would wrap it
                error = exc
            tasks.cancel_scope.cancel()
        if error is not None:
            raise error


class _Wire:
    """The frames between the two: requests that a fault keeps from the server, answers that it changes."""

    def __init__(self, injection: Injection, to_client: Any, to_server: Any) -> None:
        self._injection = injection
        self._to_client = to_client
        self._to_server = to_server
        self._sdk = sdk()
        self._random = random.Random(injection.seed)  # noqa: S311  # a choice that can be repeated, no secret
        self._nth: Counter[str] = Counter()
        self._listings = 0
        self._asked: dict[Any, tuple[str, str, int]] = {}  # by id: method, tool, the how many-th
        self._tools: dict[str, dict[str, Json]] = {}
        self._modern = False

    async def requests(self, from_client: Any) -> None:
        """Hand on what the client sends."""
        async for item in from_client:
            frame = _frame(item)
            method, number = getattr(frame, "method", None), getattr(frame, "id", None)
            if method == "server/discover":
                self._modern = True
            if number is None or method not in {_CALL, _LIST}:
                await self._to_server.send(item)
                continue
            params: dict[str, Json] = dict(frame.params or {})
            if method == _LIST:
                self._listings += params.get("cursor") is None
                self._asked[number] = (_LIST, "", self._listings)
            elif self._has_fault(name := str(params.get("name"))):
                if not self._injection.fault.works:
                    nothing: dict[str, Json] = {"resultType": "complete"} if self._modern else {}
                    await self._put(number, name, self._nth[name], {"content": [], **nothing})
                    continue
                self._asked[number] = (_CALL, name, self._nth[name])
            await self._to_server.send(item)
        await self._to_server.aclose()

    async def answers(self, from_server: Any) -> None:
        """Hand on what the server sends."""
        async for item in from_server:
            frame = _frame(item)
            asked = self._asked.pop(getattr(frame, "id", None), None) if not hasattr(frame, "method") else None
            result = getattr(frame, "result", None)
            if asked is None or not is_object(result):
                await self._hand_over(item)
                continue
            method, name, nth = asked
            if method == _LIST and is_array(tools := result.get("tools")):
                await self._answer(frame.id, {**result, "tools": [self._listed(tool, nth) for tool in tools]})
            elif method == _LIST or not await self._put(frame.id, name, nth, result):
                await self._hand_over(item)
        await self._to_client.aclose()

    def _has_fault(self, name: str) -> bool:
        self._nth[name] += 1
        injection = self._injection
        return (
            fnmatchcase(name, injection.tool)
            and (injection.calls is None or self._nth[name] in injection.calls)
            and (injection.probability == 1 or self._random.random() < injection.probability)
        )

    def _listed(self, tool: Json, nth: int) -> Json:
        if not is_object(tool) or not isinstance(tool.get("name"), str):
            return tool
        self._tools[tool["name"]] = tool
        return self._injection.fault.definition(tool, nth) if fnmatchcase(tool["name"], self._injection.tool) else tool

    async def _put(self, number: Any, name: str, nth: int, result: dict[str, Json]) -> bool:
        """Answer a call with the fault; whether this result can have it."""
        fault = self._injection.fault
        try:
            answer = fault.answer(Good(self._tools.get(name, {"name": name}), result))
        except NotApplicableError:
            return False
        self._injection.injected.append(Injected(fault.name, name, nth))
        await self._answer(number, answer)
        return True

    async def _answer(self, number: Any, answer: Answer) -> None:
        # of a server `reply` uses what is here
        await Request(cast("Any", self), number, _CALL, {}, 1).reply(answer)

    def stamped(self, result: Json) -> Json:
        """The result as it is."""
        return result

    async def send(self, message: Json) -> None:
        """Send any JSON to the client."""
        await self.put(json.dumps(message))

    async def put(self, line: str) -> None:
        """Send any text to the client."""
        await self._hand_over(self._sdk.to_item(line))

    async def hang_up(self) -> None:
        """End the connection."""
        await self._to_client.aclose()

    async def _hand_over(self, item: Any) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the client has left
            await self._to_client.send(item)


def _frame(item: Any) -> Any:
    """The JSON-RPC message in what a stream carries, on either major."""
    message = getattr(item, "message", None)
    return getattr(message, "root", message)
