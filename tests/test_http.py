"""`connect` to a URL: over a real loopback server for streamable HTTP, run as the SDK ships it (uvicorn)."""

from __future__ import annotations

import json
import socket
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypeAlias

import pytest
from mcp.client import streamable_http

from mcp_guard import (
    ConnectionLostError,
    GuardError,
    LimitExceededError,
    MalformedResultError,
    ToolProtocolError,
    ToolTimeoutError,
    connect,
)
from support import LEGACY, MODERN, SDK_MAJOR, sample_server
from support.calls import N
from support.serving import serving

HttpAnswer: TypeAlias = Callable[[Any, Any], Awaitable[None]]

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning",  # a connection that a test's server drops is closed when it is collected
    "ignore::DeprecationWarning:websockets",
    "ignore::DeprecationWarning:uvicorn",
)


def url(port: int) -> str:
    return f"http://127.0.0.1:{port}/mcp"


def sample_app(*, as_json: bool) -> Callable[[], Any]:
    """The ordinary server, for HTTP."""

    def make() -> Any:
        server = sample_server()
        if SDK_MAJOR == 1:
            server.settings.json_response = as_json
            return server.streamable_http_app()
        return server.streamable_http_app(json_response=as_json)

    return make


@pytest.mark.parametrize("as_json", [True, False], ids=["json", "sse"])
async def test_calls_over_http_are_guarded(as_json: bool) -> None:
    with serving(sample_app(as_json=as_json)) as port:
        async with connect(url(port)) as tools:
            assert await tools.call("get_stock", {"sku": "A-1"}) == {"sku": "A-1", "count": 3}
            assert await tools.call("add", {"a": 1, "b": 2}) == {"result": 3}


async def test_a_server_that_was_restarted_between_two_calls_ends_the_second_in_an_error_of_ours() -> None:
    with serving(sample_app(as_json=True)) as port:
        connecting = connect(url(port), client_options={"mode": "legacy"} if SDK_MAJOR == 2 else None)
        tools = await connecting.__aenter__()
        assert await tools.call("add", {"a": 1, "b": 2}) == {"result": 3}
    with serving(sample_app(as_json=True), port):
        with pytest.raises((ToolProtocolError, ConnectionLostError)) as caught:
            await tools.call("add", {"a": 1, "b": 2})
        await connecting.__aexit__(None, None, None)
    assert not caught.value.retry_safe


async def test_a_server_that_is_gone_is_a_lost_connection_and_the_end_is_clean() -> None:
    with serving(sample_app(as_json=True)) as port:
        connecting = connect(url(port), timeout=5)
        tools = await connecting.__aenter__()
        assert await tools.call("add", {"a": 1, "b": 2}) == {"result": 3}
    with pytest.raises(GuardError) as caught:
        await tools.call("add", {"a": 1, "b": 2})
    await connecting.__aexit__(None, None, None)
    assert caught.value.kind in {"connection_lost", "protocol_error"}


async def test_a_server_that_is_not_there_raises_what_the_sdk_raises_alone() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Exception, match="connect") as caught:
        async with connect(url(port)):
            pytest.fail("connected to nothing")
    assert not hasattr(caught.value, "exceptions")
    assert type(caught.value).__name__ == "ConnectError"


class Peer:
    """A server that can say anything over HTTP: `answer` makes the answer to a tools/call."""

    def __init__(self) -> None:
        self.answer: HttpAnswer = with_status(500)
        self.modern = False
        self.url = ""
        self.calls = 0
        self.headers: dict[str, str] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Take one request (ASGI)."""
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            event = await receive()
            body, more = body + event.get("body", b""), event.get("more_body", False)
        self.headers = {k.decode(): v.decode() for k, v in scope["headers"]}
        message = json.loads(body) if body else {}
        method, number = message.get("method"), message.get("id")
        if scope["method"] != "POST":
            await plain(send, 405)
        elif number is None:
            await plain(send, 202)
        elif method == "tools/call":
            self.calls += 1
            await self.answer(send, number)
        elif (result := self._result(method)) is None:
            error = {"code": -32601, "message": "Method not found"}
            await as_json(send, {"jsonrpc": "2.0", "id": number, "error": error})
        else:
            await as_json(send, {"jsonrpc": "2.0", "id": number, "result": result})

    def _result(self, method: Any) -> Any:
        info, modern = {"name": "raw", "version": "1"}, {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        listed = {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": N}]}
        if method == "tools/list":
            return {**listed, **modern} if self.modern else listed
        if method == "server/discover" and self.modern:
            return {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "serverInfo": info, **modern}
        if method == "initialize" and not self.modern:
            return {"protocolVersion": LEGACY, "capabilities": {"tools": {}}, "serverInfo": info}
        return None


async def plain(send: Any, status: int, body: bytes = b"", **headers: str) -> None:
    """An answer of HTTP."""
    pairs = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


async def as_json(send: Any, message: Any) -> None:
    """A JSON-RPC message as the body."""
    text = message if isinstance(message, str) else json.dumps(message)
    await plain(send, 200, text.encode(), content_type="application/json")


def said(text: str) -> HttpAnswer:
    """Answer with this text, in which `@@ID@@` is the id."""
    return lambda send, number: as_json(send, text.replace("@@ID@@", json.dumps(number)))


def streamed(text: str) -> HttpAnswer:
    """The same as an event of a stream; the stream ends after it."""

    async def answer(send: Any, number: Any) -> None:
        event = f"event: message\ndata: {text.replace('@@ID@@', json.dumps(number))}\n\n" if text else ": nothing\n\n"
        await plain(send, 200, event.encode(), content_type="text/event-stream")

    return answer


def with_status(status: int, **headers: str) -> HttpAnswer:
    """Answer with this status."""
    return lambda send, _number: plain(send, status, b"no", **headers)


@pytest.fixture(scope="module")
def peer() -> Generator[Peer]:
    """One such server for all tests here."""
    one = Peer()
    with serving(lambda: one) as port:
        one.url = url(port)
        yield one


@pytest.fixture
def talking(peer: Peer, modern: bool) -> Callable[..., AbstractAsyncContextManager[Any]]:
    """A guarded connection to that server, which gives this answer to calls."""

    def connected(answer: HttpAnswer, **options: Any) -> AbstractAsyncContextManager[Any]:
        peer.answer, peer.modern, peer.calls = answer, modern, 0
        return connect(peer.url, timeout=5, **options)

    return connected


RESULT: Final = '{"jsonrpc": "2.0", "id": @@ID@@, "result": '
GOOD: Final = RESULT + '{"content": [], "structuredContent": {"n": 1}, "resultType": "complete"}}'
BARE: Final = RESULT + '{"structuredContent": {"n": 1}, "isError": null}}'
DEEP: Final = (
    '{"jsonrpc": "2.0", "id": @@ID@@, "result": {"content": [], "structuredContent": ' + "[" * 300 + "]" * 300 + "}}"
)
LONE: Final = RESULT + '{"content": [{"type": "text", "text": "\\ud800"}]}}'
HALF: Final = '{"id": @@ID@@, "result": {"content": [], "structuredContent": {"n": 1}}}'

over_http = pytest.mark.parametrize("over", [said, streamed])


@over_http
async def test_data_that_the_sdk_can_not_hold_is_kept_over_http(over: Any, talking: Any) -> None:
    async with talking(over(BARE)) as tools:
        assert await tools.call("t") == {"n": 1}


@over_http
@pytest.mark.parametrize(
    "text, error",
    [(DEEP, LimitExceededError), (LONE, MalformedResultError), (HALF, MalformedResultError)],
    ids=["deep", "surrogate", "no jsonrpc"],
)
async def test_an_answer_that_does_not_parse_is_malformed_at_once_over_http(
    over: Any, text: str, error: type[MalformedResultError], talking: Any, peer: Peer
) -> None:
    async with talking(over(text)) as tools:
        with pytest.raises(MalformedResultError) as caught:
            await tools.call("t")
        assert type(caught.value) is error
        assert caught.value.outcome == "executed"
        assert peer.calls == 1


async def test_a_stream_that_ends_without_an_answer_is_a_lost_connection(talking: Any, peer: Peer) -> None:
    async with talking(streamed("")) as tools:
        with pytest.raises((ConnectionLostError, ToolTimeoutError)) as caught:  # 1.x never tells
            await tools.call("t", timeout=2.0)
        assert peer.calls == 1
    assert caught.value.outcome == "unknown"


@pytest.mark.parametrize("status", [400, 404, 503])
async def test_an_http_error_is_an_error_of_ours(status: int, talking: Any, peer: Peer) -> None:
    async with talking(with_status(status)) as tools:
        with pytest.raises((ToolProtocolError, ConnectionLostError)) as caught:
            await tools.call("t")
        assert peer.calls == 1
    assert not caught.value.retry_safe
    assert not hasattr(caught.value, "exceptions")


async def test_a_redirect_to_elsewhere_is_not_followed(talking: Any, peer: Peer) -> None:
    async with talking(with_status(307, location="http://127.0.0.2:9/mcp")) as tools:
        with pytest.raises((ToolProtocolError, ConnectionLostError)):
            await tools.call("t")
        assert peer.calls == 1


async def test_headers_reach_the_server(talking: Any, peer: Peer) -> None:
    async with talking(said(GOOD), client_options={"headers": {"x-own": "word"}}) as tools:
        assert await tools.call("t") == {"n": 1}
        assert peer.headers["x-own"] == "word"


@pytest.mark.skipif(
    not hasattr(streamable_http, "streamable_http_client"), reason="before mcp 1.24 the transport takes no client"
)
async def test_a_client_of_the_users_own_is_used_and_left_open(talking: Any, peer: Peer) -> None:
    module = __import__("httpx" if SDK_MAJOR == 1 else "httpx2")
    async with module.AsyncClient(headers={"x-own": "word"}) as client:
        async with talking(said(GOOD), client_options={"http_client": client}) as tools:
            assert await tools.call("t") == {"n": 1}
            assert peer.headers["x-own"] == "word"
        assert not client.is_closed
