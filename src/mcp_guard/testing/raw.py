"""`RawServer`: a server that can say anything; it knows JSON-RPC lines and no SDK.

Tools are raw definitions and results raw values; both go on the wire as they are. What a tool answers is an `Answer`:
a result (any JSON), an `Error`, a `Line` of text, `NOTHING`, `HANG_UP`, or a function of the `Request` that returns or
awaits one of these. `on` gives such an answer to any other method.
"""

from __future__ import annotations

import inspect
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TypeAlias

import anyio

from mcp_guard._facts import is_object

LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"

METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022

Json: TypeAlias = Any
"""Anything that `json.dumps` takes."""


@dataclass(frozen=True)
class Error:
    """Reply: a JSON-RPC error."""

    code: int
    message: str = "no"
    data: Json = None

    def to_json(self) -> Json:
        """The `error` member."""
        error = {"code": self.code, "message": self.message}
        return error if self.data is None else {**error, "data": self.data}


@dataclass(frozen=True)
class Line:
    """Reply: a whole line of text, in which ``@@ID@@`` becomes the id of the request."""

    text: str


class Silence(Enum):
    """Replies that are none."""

    NOTHING = "never answered"
    HANG_UP = "the connection ends"


NOTHING: Final = Silence.NOTHING
HANG_UP: Final = Silence.HANG_UP

Reply: TypeAlias = Json | Error | Line | Silence
Answer: TypeAlias = Reply | Callable[["Request"], "Reply | Awaitable[Reply]"]


@dataclass(frozen=True)
class Request:
    """One request as it came. `nth` counts from 1: requests of this method, and for tools/call of this tool."""

    server: RawServer
    id: int | str
    method: str
    params: dict[str, Json]
    nth: int

    @property
    def arguments(self) -> Json:
        """The arguments of a tools/call, `None` where there are none."""
        return self.params.get("arguments")

    async def reply(self, answer: Answer) -> None:
        """Answer this request, now."""
        while callable(answer):
            answer = answer(self)
            if inspect.isawaitable(answer):
                answer = await answer
        if answer is HANG_UP:
            await self.server.hang_up()
        elif isinstance(answer, Line):
            await self.server.put(answer.text.replace("@@ID@@", json.dumps(self.id)))
        elif isinstance(answer, Error):
            await self.server.send({"jsonrpc": "2.0", "id": self.id, "error": answer.to_json()})
        elif answer is not NOTHING:
            await self.server.send({"jsonrpc": "2.0", "id": self.id, "result": self.server.stamped(answer)})


def in_turn(*answers: Answer) -> Answer:
    """The first answer to the first request, and so on; the last one repeats."""
    return lambda request: answers[min(request.nth, len(answers)) - 1]


def when(event: anyio.Event, answer: Answer) -> Answer:
    """The answer, once the event is set."""

    async def wait(_: Request) -> Answer:
        await event.wait()
        return answer

    return wait


def then_changed(answer: Answer) -> Answer:
    """The answer, and right after it the notification that the tools have changed."""

    async def notify(request: Request) -> Reply:
        await request.reply(answer)
        await request.server.notify("notifications/tools/list_changed")
        return NOTHING

    return notify


def tool(name: str, output: Json = None, **members: Json) -> dict[str, Json]:
    """A tool definition; `output` is its outputSchema (`None`: it has none), `members` come over everything."""
    definition: dict[str, Json] = {"name": name, "inputSchema": {"type": "object"}}
    if output is not None:
        definition["outputSchema"] = output
    return {**definition, **members}


@dataclass(kw_only=True)
class RawServer:
    """One peer, for one connection. Change `tools`, `pages`, `results` and `on` at any time."""

    tools: Sequence[Json] = ()
    """Raw definitions, listed on one page."""
    pages: Sequence[Sequence[Json]] | None = None
    """Instead of `tools`: the definitions page by page."""
    results: Mapping[str, Answer] = field(default_factory=dict[str, Any])
    """What each tool answers; one that is not named is unknown (-32602), listed or not."""
    on: Mapping[str, Answer] = field(default_factory=dict[str, Any])
    """What each method answers, instead of what it would."""
    modern: bool = False
    """Speak 2026-07-28 (server/discover) instead of initialize."""
    version: str | None = None
    """The protocol version that initialize answers; `None`: the one asked for."""
    capabilities: Json = field(default_factory=lambda: {"tools": {"listChanged": True}})
    ttl_ms: int = 0
    """How long a listing stays fresh, said on 2026-07-28."""
    stamp: bool = True
    """On 2026-07-28, add the `resultType` that each result must have. Off: every result as it is."""

    counts: Counter[str] = field(default_factory=Counter[str], init=False)
    """Requests a method."""
    calls: Counter[str] = field(default_factory=Counter[str], init=False)
    """Requests tools/call a tool."""
    requests: list[Request] = field(default_factory=list[Any], init=False)
    notifications: list[Json] = field(default_factory=list[Any], init=False)
    """What the client notified of, as it came."""

    _write: Callable[[str], Awaitable[None]] | None = field(default=None, init=False)
    _close: Callable[[], Awaitable[None]] | None = field(default=None, init=False)
    _arrival: anyio.Event = field(default_factory=anyio.Event, init=False)

    async def serve(
        self,
        lines: AsyncIterator[str],
        write: Callable[[str], Awaitable[None]],
        close: Callable[[], Awaitable[None]],
    ) -> None:
        """Answer until the client closes, each request in a task of its own."""
        if self._write is not None:
            raise RuntimeError("A RawServer serves one connection; make another")
        self._write, self._close = write, close
        async with anyio.create_task_group() as tasks:
            async for line in lines:
                message = json.loads(line)
                if "method" in message and "id" in message:
                    request = self._received(message)
                    tasks.start_soon(self._handle, request)
                else:
                    self.notifications.append(message)
                self._arrival.set()
                self._arrival = anyio.Event()
            tasks.cancel_scope.cancel()

    async def arrived(self, happened: Callable[[RawServer], bool]) -> None:
        """Wait until this holds; asked again at each message that comes in."""
        while not happened(self):
            await self._arrival.wait()

    def asked(self, method: str) -> list[Request]:
        """The requests of this method, as they came."""
        return [request for request in self.requests if request.method == method]

    async def notify(self, method: str, **params: Json) -> None:
        """Send a notification."""
        await self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    async def send(self, message: Json) -> None:
        """Send any JSON."""
        await self.put(json.dumps(message))

    async def put(self, line: str) -> None:
        """Send any text."""
        if self._write is None:
            raise RuntimeError("Nobody is connected yet")
        await self._write(line)

    async def hang_up(self) -> None:
        """End the connection."""
        if self._close is not None:
            await self._close()

    def stamped(self, result: Json) -> Json:
        """The result, with what 2026-07-28 asks of every one."""
        if self.modern and self.stamp and is_object(result):
            return {"resultType": "complete", **result}
        return result

    def _received(self, message: Json) -> Request:
        method: str = message["method"]
        params: dict[str, Json] = message.get("params") or {}
        self.counts[method] += 1
        nth = self.counts[method]
        if method == "tools/call":
            self.calls[params["name"]] += 1
            nth = self.calls[params["name"]]
        request = Request(self, message["id"], method, params, nth)
        self.requests.append(request)
        return request

    async def _handle(self, request: Request) -> None:
        await request.reply(self._answer(request))

    def _answer(self, request: Request) -> Answer:
        if request.method in self.on:
            return self.on[request.method]
        match request.method:
            case "tools/list":
                return self._listed(request.params.get("cursor"))
            case "tools/call":
                name = request.params["name"]
                return self.results.get(name, Error(INVALID_PARAMS, f"Unknown tool: {name}"))
            case "ping":
                return {}
            case "server/discover" if self.modern:
                return self._discovered()
            case "initialize":
                return self._initialized(request.params.get("protocolVersion"))
            case _:
                return Error(METHOD_NOT_FOUND, "Method not found")

    def _listed(self, cursor: Json) -> Answer:
        pages = [self.tools] if self.pages is None else self.pages
        cursors = [None, *(f"page {number}" for number in range(2, len(pages) + 1))]
        if cursor not in cursors:
            return Error(INVALID_PARAMS, "Invalid cursor")
        index = cursors.index(cursor)
        page: dict[str, Json] = {"tools": list(pages[index])}
        if index + 1 < len(pages):
            page["nextCursor"] = cursors[index + 1]
        return {**page, "ttlMs": self.ttl_ms, "cacheScope": "private"} if self.modern and self.stamp else page

    def _initialized(self, asked: Json) -> Answer:
        if self.modern:
            data = {"supported": [MODERN], "requested": asked}
            return Error(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data)
        info = {"name": "raw", "version": "1"}
        return {"protocolVersion": self.version or asked, "capabilities": self.capabilities, "serverInfo": info}

    def _discovered(self) -> Answer:
        info = {"io.modelcontextprotocol/serverInfo": {"name": "raw", "version": "1"}}
        return {
            "resultType": "complete",
            "supportedVersions": [MODERN],
            "ttlMs": 0,
            "cacheScope": "private",
            "capabilities": self.capabilities,
            "_meta": info,
        }
