"""`RemoteRefs`: documents elsewhere, from allowed and public addresses alone; whatever else happens is a reason."""

# ruff: noqa: SLF001  # no public host can be asked here, and no clock waited for

from __future__ import annotations

import functools
import gzip
import json
import logging
import ssl
import sys
import tracemalloc
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import anyio
import anyio.abc
import pytest
import trustme
from anyio.abc import SocketAttribute
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.tls import TLSListener

from mcp_guard import (
    Contract,
    Contracts,
    GuardedSession,
    InvalidArgumentsError,
    OutputValidationError,
    RemoteRefs,
    ToolTimeoutError,
    UnusableContractError,
    _remote,
    attach,
    connect,
    guard,
)
from mcp_guard._fetch import BYTES, Address, Fetcher, _unpacked, is_public
from support import in_turn, raw_session, sample_server, tool
from support.calls import data

HOST: Final = "schemas.example.org"
INTEGER: Final[dict[str, Any]] = {"type": "integer"}

Page: TypeAlias = "bytes | Callable[[anyio.abc.ByteStream], Awaitable[None]]"


# a host of documents


@functools.cache
def authority() -> trustme.CA:
    return trustme.CA()


@functools.cache
def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority().configure_trust(context)
    return context


def answer(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def page(document: Any) -> bytes:
    return answer(json.dumps(document).encode(), Content_Type="application/schema+json")


def moved(to: str | None, status: int = 302) -> bytes:
    return answer(b"", f"{status} Moved", **({} if to is None else {"Location": to}))


class Site:
    """An https host on the loopback interface: what it answers by path, and what it was asked."""

    def __init__(self, port: int, pages: Mapping[str, Page]) -> None:
        self.port = port
        self.pages = dict(pages)
        self.connections = 0
        self.asked: list[str] = []
        """The head of each request."""

    @property
    def paths(self) -> list[str]:
        """The path of each request."""
        return [head.split(" ")[1] for head in self.asked]

    def url(self, path: str, host: str = HOST) -> str:
        """The address of a path here."""
        return f"https://{host}:{self.port}{path}"

    async def handle(self, stream: anyio.abc.ByteStream) -> None:
        """Answer one request."""
        self.connections += 1
        async with stream:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):  # the client has heard enough
                head = (await BufferedByteReceiveStream(stream).receive_until(b"\r\n\r\n", 10_000)).decode()
                self.asked.append(head)
                found = self.pages.get(self.paths[-1], answer(b"", "404 Not Found SECRET"))
                await (stream.send(found) if isinstance(found, bytes) else found(stream))


@asynccontextmanager
async def hosting(**pages: Any) -> AsyncGenerator[Site, None]:
    """A site whose documents are at /v1/NAME.json; an answer that is no JSON value is given as it stands."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert(HOST, "other.example.org").configure_cert(context)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    site = Site(listener.extra(SocketAttribute.local_port), {})  # noqa: S610  # no Django
    for name, each in pages.items():
        site.pages[f"/v1/{name}.json"] = page(each) if isinstance(each, dict) else each
    tls = TLSListener(listener, context, standard_compatible=False)
    async with tls, anyio.create_task_group() as tasks:
        tasks.start_soon(tls.serve, site.handle)
        yield site
        tasks.cancel_scope.cancel()


async def here(_host: str, _port: int) -> list[str]:
    return ["127.0.0.1"]


def refs_to(site: Site, *, allow: str = "/v1/", **more: Any) -> RemoteRefs:
    """`RemoteRefs` to which the loopback interface is as good as any."""
    refs = RemoteRefs(allow=[site.url(allow)])
    options: dict[str, Any] = {"is_public": lambda _: True, "look_up": here, "context": trusting(), **more}
    refs._fetcher = Fetcher(**options)
    return refs


def referring(*uris: str) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{i}": {"$ref": uri} for i, uri in enumerate(uris)}}


@asynccontextmanager
async def guarded(
    schema: dict[str, Any], remote_refs: RemoteRefs | None, result: Any = None, **more: Any
) -> AsyncGenerator[tuple[GuardedSession[Any], Any], None]:
    answers = {"t": data({"p0": 1}) if result is None else result}
    async with raw_session(tools=[tool("t", schema)], results=answers) as (session, server):
        yield guard(session, remote_refs=remote_refs, **more), server


async def reason_of(schema: dict[str, Any], remote_refs: RemoteRefs | None) -> str:
    """Why a tool of this outputSchema is not called: the detail, after all else was looked at."""
    async with guarded(schema, remote_refs) as (tools, server):
        with pytest.raises(UnusableContractError) as caught:
            await tools.call("t")
        assert not server.calls
    error = caught.value
    assert (error.reason, error.outcome) == ("remote_ref", "not_sent")
    assert "SECRET" not in f"{error!r} {error} {error.to_dict()} {error.for_model()}"
    return error.detail


# what may be allowed


@pytest.mark.parametrize("allow", ["https://schemas.example.org/", None, 5, [5], ["https://a.example/", None]])
def test_what_is_no_list_of_texts_is_a_type_error(allow: Any) -> None:
    with pytest.raises(TypeError, match="allow takes a list"):
        RemoteRefs(allow=allow)


@pytest.mark.parametrize(
    "allow",
    [
        "http://schemas.example.org/",
        "file:///etc/",
        "schemas.example.org",
        "//schemas.example.org/",
        "https://",
        "https:///v1/",
        "https://user@schemas.example.org/",
        "https://user:word@schemas.example.org/",
        "https://schemas.example.org/?a",
        "https://schemas.example.org/#a",
        "https://schemas.example.org/a/../b",
        "https://schemas.example.org/%2e%2E/b",
        "https://schemas.example.org/%c0%ae%c0%ae/b",
        "https://schemas.example.org/%C0%AF/b",
        "https://schemas.example.org/%ff/b",
        "https://schemas.example.org/%EF%BC%8E%EF%BC%8E/b",
        "https://schemas.example.org/%E2%80%A5/b",
        "https://schemas.example.org/a%EF%BC%8Fb",
        "https://schemas.example.org/%EF%BC%852e%EF%BC%852e/b",
        "https://schemas.example.org:0/",
        "https://schemas.example.org:99999/",
        "https://schemas.example.org:/",
        "https://*.example.org/",
        "https://bücher.example/",
        "https://[::1]/",
        "https://schemas.example.org/a b",
        "",
    ],
)
def test_what_is_no_plain_https_address_is_a_value_error(allow: str) -> None:
    with pytest.raises(ValueError, match="https, a host in ASCII, a path"):
        RemoteRefs(allow=["https://schemas.example.org/", allow])


async def test_every_way_to_a_guard_takes_remote_refs_and_nothing_else_for_it() -> None:
    wrong: Any = ["https://schemas.example.org/"]
    async with raw_session(tools=[tool("t")]) as (session, _):
        for make in (guard, attach):
            with pytest.raises(TypeError, match="remote_refs takes a RemoteRefs"):
                make(session, remote_refs=wrong)
            make(session, remote_refs=RemoteRefs(allow=wrong))
    async with connect(sample_server(), remote_refs=RemoteRefs(allow=wrong)) as tools:
        assert await tools.call("add", {"a": 1, "b": 2}) == {"result": 3}
    with pytest.raises(TypeError, match="remote_refs takes a RemoteRefs"):
        async with connect(sample_server(), remote_refs=wrong):
            pytest.fail("connected")


def test_its_repr_shows_what_is_allowed() -> None:
    assert repr(RemoteRefs(["https://a.example/v1"])) == "RemoteRefs(allow=['https://a.example/v1'])"


@pytest.mark.parametrize(
    "uri",
    [
        "https://a.example/v1",
        "https://a.example/v1/",
        "https://a.example/v1/x.json",
        "https://a.example:443/v1/x/y/",
        "HTTPS://A.Example/v1/x",
        "https://a.example/v1/x?y=/z",
        "https://a.example/v1/a%20b/...",
    ],
)
@pytest.mark.parametrize("allow", ["https://a.example/v1", "https://A.EXAMPLE:443/v1"])
def test_what_is_below_an_allowed_address_is_covered(allow: str, uri: str) -> None:
    prefix, address = Address.of(allow), Address.of(uri)
    assert prefix is not None
    assert address is not None
    assert prefix.covers(address)


@pytest.mark.parametrize(
    "uri",
    [
        "https://a.example/",
        "https://a.example/v10/x",
        "https://a.example/V1/x",
        "https://a.example/x/v1/",
        "https://a.example//v1/x",
        "https://a.example:444/v1/x",
        "https://a.example.evil.example/v1/x",
        "https://evil.example/https://a.example/v1/",
        "https://a.example./v1/x",
        "http://a.example/v1/x",
        "http://a.example:443/v1/x",
        "ftp://a.example/v1/x",
        "file:///v1/x",
        "https://a.example@evil.example/v1/x",
        "https://evil.example#@a.example/v1/x",
        "https://evil.example\\@a.example/v1/x",
        "https://a.example\\.evil.example/v1/x",
        "https://a.example/v1/../x",
        "https://a.example/v1/./x",
        "https://a.example/v1/%2e%2e/x",
        "https://a.example/v1/.%2E/x",
        "https://a.example/v1/..;/x",
        "https://a.example/v1/..%3Ba/x",
        "https://a.example/v1/..%20/x",
        "https://a.example/v1/%252e%252e/x",
        "https://a.example/v1/..%2fx",
        "https://a.example/v1/..%5cx",
        "https://a.example/v1/..\\x",
        "https://a.example/v1/x%00",
        "https://a.example/v1/x%0d%0aHost:%20evil.example",
        "https://a.example/v1/x\r\nHost: evil.example",
        "https://a.example/v1/x#y",
        "https://a.example/v1/x\n",
        " https://a.example/v1/x",
        "https://a.example/v1/" + "x" * 2_000,
        "/v1/x",
        "x.json",
        "",
    ],
)
def test_what_is_elsewhere_or_can_be_read_in_two_ways_is_not_covered(uri: str) -> None:
    prefix, address = Address.of("https://a.example/v1"), Address.of(uri)
    assert prefix is not None
    assert address is None or not prefix.covers(address)


@pytest.mark.parametrize("ip", ["8.8.8.8", "172.32.0.1", "192.167.1.1", "2606:4700::1111", "2001:200::1", "2a00::1"])
def test_an_address_of_the_public_internet_is_public(ip: str) -> None:
    assert is_public(ip)


@pytest.mark.parametrize(
    "ip",
    [
        *("0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1"),  # noqa: S104  # nothing binds
        *("172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.51.100.1"),
        *("203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"),
        *("::", "::1", "::8.8.8.8", "::ffff:8.8.8.8", "::ffff:127.0.0.1", "64:ff9b::808:808", "64:ff9b:1::1"),
        *("100::1", "2001::1", "2001:20::1", "2001:db8::1", "2002:808:808::1", "3fff::1", "5f00::1", "fc00::1"),
        *("fd12::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "2606:4700::1111%eth0"),
        *("", "localhost", "127.1", "0x7f000001", "2130706433"),
    ],
)
def test_any_other_address_is_not_public(ip: str) -> None:
    assert not is_public(ip)


# fetching


async def test_a_document_that_is_allowed_is_fetched_once_and_the_data_held_against_it() -> None:
    async with hosting(n={"$defs": {"count": INTEGER}}) as site:
        schema = referring(site.url("/v1/n.json#/$defs/count"))
        refs = refs_to(site)
        async with guarded(schema, refs, in_turn(data({"p0": 1}), data({"p0": "no"}))) as (tools, _):
            assert await tools.call("t") == {"p0": 1}
            with pytest.raises(OutputValidationError) as caught:
                await tools.call("t")
        assert [(v.pointer, v.keyword) for v in caught.value.violations] == [("/p0", "type")]
        assert tools.contracts["t"].unusable is None
        assert site.paths == ["/v1/n.json"]


async def test_the_request_says_who_asks_and_for_what_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with hosting(n=INTEGER) as site:
        async with guarded(referring(site.url("/v1/n.json?a=b/c")), refs_to(site)) as (tools, _):
            site.pages["/v1/n.json?a=b/c"] = site.pages["/v1/n.json"]
            await tools.call("t")
        lines = site.asked[0].split("\r\n")
    assert lines[0] == "GET /v1/n.json?a=b/c HTTP/1.1"
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    assert set(headers) == {"host", "accept", "accept-encoding", "connection", "user-agent"}
    assert headers["host"] == f"{HOST}:{site.port}"


async def test_arguments_are_held_against_documents_too() -> None:
    async with hosting(n=INTEGER) as site:
        listed = tool("t", inputSchema=referring(site.url("/v1/n.json")))
        async with raw_session(tools=[listed], results={"t": data({})}) as (session, server):
            tools = guard(session, remote_refs=refs_to(site))
            with pytest.raises(InvalidArgumentsError):
                await tools.call("t", {"p0": "no"})
            assert not server.calls
            await tools.call("t", {"p0": 1})


async def test_an_input_schema_whose_document_cannot_be_had_does_not_stop_a_call() -> None:
    async with hosting() as site:
        listed = tool("t", inputSchema=referring(site.url("/v1/n.json")))
        async with raw_session(tools=[listed], results={"t": data({})}) as (session, _):
            tools = guard(session, remote_refs=refs_to(site))
            await tools.call("t", {"p0": "whatever"})
            await tools.call("t", {"p0": "whatever"})
        assert site.paths == ["/v1/n.json"]


async def test_documents_lead_on_to_documents() -> None:
    pages = {"a": {"$ref": "b.json#/$defs/n"}, "b": {"$defs": {"n": {"$ref": "c.json"}}}, "c": INTEGER}
    async with hosting(**pages) as site:
        async with guarded(referring(site.url("/v1/a.json")), refs_to(site)) as (tools, _):
            assert await tools.call("t") == {"p0": 1}
        assert site.paths == ["/v1/a.json", "/v1/b.json", "/v1/c.json"]


async def test_where_one_document_is_not_allowed_none_is_fetched() -> None:
    async with hosting(n=INTEGER) as site:
        schema = referring(site.url("/v1/n.json"), site.url("/v2/n.json"))
        assert await reason_of(schema, refs_to(site)) == (
            "the document can't be had: it is not where remote_refs allows"
        )
        assert not site.connections


@pytest.mark.parametrize(
    "uri", ["file:///etc/passwd", "http://schemas.example.org/", "n.json", "urn:x:y", "//schemas.example.org/v1/n.json"]
)
async def test_what_is_no_https_address_is_never_fetched(uri: str) -> None:
    refs = RemoteRefs(allow=["https://schemas.example.org/"])
    assert "it is not where remote_refs allows" in await reason_of(referring(uri), refs)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_the_loopback_interface_is_refused_although_it_is_allowed(host: str) -> None:
    async with hosting(n=INTEGER) as site:
        refs = RemoteRefs(allow=[site.url("/", host)])
        reason = await reason_of(referring(site.url("/v1/n.json", host)), refs)
        assert reason.endswith("can't be had: its host has an IP address that is not public")
        assert not site.connections


async def test_a_host_that_has_a_private_address_besides_is_refused() -> None:
    async def both(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1", "10.0.0.1"]

    async with hosting(n=INTEGER) as site:
        refs = refs_to(site, look_up=both, is_public=lambda ip: ip == "127.0.0.1")
        assert "not public" in await reason_of(referring(site.url("/v1/n.json")), refs)
        assert not site.connections


async def test_a_host_is_looked_up_once_and_connected_to_where_it_was_found() -> None:
    asked: list[tuple[str, int]] = []

    async def rebinding(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]

    async with hosting(n=INTEGER) as site:  # and no other host than this looks the name up: it is nobody's
        refs = refs_to(site, look_up=rebinding, is_public=lambda ip: ip == "127.0.0.1")
        async with guarded(referring(site.url("/v1/n.json")), refs) as (tools, _):
            await tools.call("t")
        assert asked == [(HOST, site.port)]


async def test_another_ip_address_is_tried_where_one_does_not_answer() -> None:
    async def several(_host: str, _port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    async with (
        hosting(n=INTEGER) as site,
        guarded(referring(site.url("/v1/n.json")), refs_to(site, look_up=several)) as (tools, _),
    ):
        assert await tools.call("t") == {"p0": 1}


async def test_a_host_that_nobody_knows_is_a_reason() -> None:
    async def unknown(_host: str, _port: int) -> list[str]:
        raise OSError("SECRET")

    async with hosting() as site:
        reason = await reason_of(referring(site.url("/v1/n.json")), refs_to(site, look_up=unknown))
    assert reason.endswith("its host has no IP address")


@pytest.mark.parametrize("context", [None, "the certificate is another's"])
async def test_a_host_that_does_not_prove_its_name_is_a_reason(context: str | None) -> None:
    async with hosting(n=INTEGER) as site:
        host = HOST if context is None else "third.example.org"
        refs = RemoteRefs(allow=[site.url("/", host)])
        trusted = None if context is None else trusting()
        refs._fetcher = Fetcher(is_public=lambda _: True, look_up=here, context=trusted)
        reason = await reason_of(referring(site.url("/v1/n.json", host)), refs)
        assert reason.endswith("there is no connection to its host to be had")
        assert not site.asked


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_where_it_is_allowed_is_followed(status: int) -> None:
    async with hosting(n=moved("m.json", status), m=INTEGER) as site:
        async with guarded(referring(site.url("/v1/n.json")), refs_to(site)) as (tools, _):
            assert await tools.call("t") == {"p0": 1}
        assert site.paths == ["/v1/n.json", "/v1/m.json"]


@pytest.mark.parametrize(
    "to",
    [
        "/v2/m.json",
        "../v2/m.json",
        "https://other.example.org:{port}/v1/m.json",
        "//other.example.org:{port}/v1/m.json",
        "http://schemas.example.org:{port}/v1/m.json",
        "https://schemas.example.org/v1/m.json",
        "https://user@schemas.example.org:{port}/v1/m.json",
        "https://schemas.example.org:{port}/v1/%2e%2e/v2/m.json",
        "https://127.0.0.1:{port}/v1/m.json",
        "https://169.254.169.254/v1/",
        "file:///etc/passwd",
        "data:application/json,{{}}",
        "https://[::1",
        "\u00e9",
        None,
    ],
)
async def test_a_redirect_to_anywhere_else_is_not_followed(to: str | None) -> None:
    async with hosting() as site:
        site.pages["/v1/n.json"] = moved(None if to is None else to.format(port=site.port))
        site.pages["/v2/m.json"] = site.pages["/v1/m.json"] = page(INTEGER)
        reason = await reason_of(referring(site.url("/v1/n.json")), refs_to(site))
        assert reason.endswith(("it redirects to where remote_refs does not allow", "the connection broke"))
        assert site.paths == ["/v1/n.json"]


async def test_a_redirect_to_a_host_that_is_not_public_is_not_followed() -> None:
    async def inside(host: str, _port: int) -> list[str]:
        return ["127.0.0.1" if host == HOST else "10.0.0.1"]

    async with hosting() as site:
        other = site.url("/", "other.example.org")
        site.pages["/v1/n.json"] = moved(other)
        refs = RemoteRefs(allow=[site.url("/"), other])
        refs._fetcher = Fetcher(is_public=lambda ip: ip == "127.0.0.1", look_up=inside, context=trusting())
        reason = await reason_of(referring(site.url("/v1/n.json")), refs)
        assert reason.endswith("its host has an IP address that is not public")
        assert site.connections == 1


async def test_redirects_without_an_end_are_left() -> None:
    async with hosting(n=moved("n.json")) as site:
        assert "it redirects too often" in await reason_of(referring(site.url("/v1/n.json")), refs_to(site))
        assert len(site.asked) == 4


async def endless(stream: anyio.abc.ByteStream) -> None:
    await stream.send(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        await stream.send(b" " * 60_000)


async def silent(_stream: anyio.abc.ByteStream) -> None:
    await anyio.sleep_forever()


async def dripping(stream: anyio.abc.ByteStream) -> None:
    await stream.send(b"HTTP/1.1 200 OK\r\n\r\n{")
    while True:
        await anyio.sleep(0.02)
        await stream.send(b" ")


async def informing(stream: anyio.abc.ByteStream) -> None:
    while True:
        await anyio.sleep(0.002)
        await stream.send(b"HTTP/1.1 103 Early Hints\r\n\r\n")


def packed(body: bytes) -> bytes:
    return answer(gzip.compress(body), Content_Encoding="gzip")


@pytest.mark.parametrize(
    "found, reason",
    [
        (answer(b"{}", "404 SECRET"), "its host answered with status 404"),
        (answer(b"{}", "500 SECRET"), "its host answered with status 500"),
        (answer(b"{}", "206 Partial"), "its host answered with status 206"),
        (answer(b"{}", "304 Not Modified"), "its host answered with status 304"),
        (answer(b"{SECRET"), "it is no JSON object"),
        (answer(b'{"a": 1, "a": 2}'), "it is no JSON object"),
        (answer(b'{"a": NaN}'), "it is no JSON object"),
        (answer(b"[]"), "it is no JSON object"),
        (answer(b"true"), "it is no JSON object"),
        (answer(b""), "it is no JSON object"),
        (answer(b"\xff{}"), "it is no JSON object"),
        (answer(b"[" * 100_000), "it is no JSON object"),
        (answer(b'{"a":' * 10_000 + b"1" + b"}" * 10_000), "it is no JSON object"),
        (answer(b" " * (BYTES + 1)), f"it is larger than {BYTES} bytes"),
        (endless, f"it is larger than {BYTES} bytes"),
        (packed(b" " * (BYTES + 1)), f"it is larger than {BYTES} bytes"),
        (packed(b"{}" + b" " * 20_000_000), f"it is larger than {BYTES} bytes"),
        (
            answer(gzip.compress(b"{}", mtime=0)[:-9], Content_Encoding="gzip"),
            "it is packed in a way that can't be read",
        ),
        (answer(b"{}", Content_Encoding="gzip"), "it is packed in a way that can't be read"),
        (answer(b"{}", Content_Encoding="br"), "it is packed in a way that was not asked for"),
        (answer(b"{}", Content_Encoding="gzip, gzip"), "it is packed in a way that was not asked for"),
        (answer(b"{}")[:-1], "the connection broke"),
        (b"SECRET", "the connection broke"),
        (b"", "the connection broke"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, "the connection broke"),
    ],
)
async def test_whatever_a_host_answers_the_contract_is_unusable_and_the_reason_ours(found: Page, reason: str) -> None:
    async with hosting(n=found) as site:
        assert await reason_of(referring(site.url("/v1/n.json")), refs_to(site)) == (
            f"the document can't be had: {reason}"
        )


def test_unpacking_takes_no_more_memory_than_is_let_through() -> None:
    body = gzip.compress(b" " * 50 * BYTES)
    tracemalloc.start()
    with pytest.raises(Exception, match=f"larger than {BYTES} bytes"):
        _unpacked(body)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * BYTES


@pytest.mark.parametrize("found", [silent, dripping, informing])
async def test_a_document_that_does_not_end_is_left_after_its_time(found: Page) -> None:
    async with hosting(n=found) as site:
        reason = await reason_of(referring(site.url("/v1/n.json")), refs_to(site, seconds=0.3))
    assert reason.endswith("it did not come within 0.3 seconds")


async def test_a_packed_document_is_unpacked() -> None:
    async with (
        hosting(n=packed(b'\xef\xbb\xbf {"type": "integer"}')) as site,
        guarded(referring(site.url("/v1/n.json")), refs_to(site)) as (tools, _),
    ):
        assert await tools.call("t") == {"p0": 1}


async def test_all_documents_of_a_contract_together_have_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_remote, "_CONTRACT_SECONDS", 0.3)
    async with hosting(n=silent) as site:
        reason = await reason_of(referring(site.url("/v1/n.json")), refs_to(site))
    assert reason.endswith("not all of them came within 0.3 seconds")


async def test_fetching_counts_in_the_time_of_the_call() -> None:
    async with (
        hosting(n=silent) as site,
        guarded(referring(site.url("/v1/n.json")), refs_to(site)) as (tools, server),
    ):
        with pytest.raises(ToolTimeoutError) as caught:
            await tools.call("t", timeout=0.3)
        assert caught.value.outcome == "not_sent"
        assert not server.calls


# how much


async def test_a_contract_has_so_many_documents_and_no_more() -> None:
    async with hosting() as site:
        schema = referring(*(site.url(f"/v1/{i}.json") for i in range(51)))
        assert "there are more than 50" in await reason_of(schema, refs_to(site))
        assert not site.connections


async def test_documents_that_lead_on_for_ever_are_left() -> None:
    async with hosting() as site:
        site.pages |= {f"/v1/{i}.json": page({"$ref": f"{i + 1}.json"}) for i in range(60)}
        assert "there are more than 50" in await reason_of(referring(site.url("/v1/0.json")), refs_to(site))
        assert len(site.asked) == 50


async def test_so_many_are_fetched_in_a_minute_and_no_more() -> None:
    tried: list[str] = []

    async def unknown(host: str, _port: int) -> list[str]:
        tried.append(host)
        raise OSError

    now = 0.0
    refs = RemoteRefs(allow=["https://schemas.example.org/"])
    refs._fetcher = Fetcher(look_up=unknown)
    refs._clock = lambda: now
    contracts = [Contract("t", referring(f"https://schemas.example.org/{i}")) for i in range(110)]
    contract = [await refs.complete(each) for each in contracts][-1]
    assert contract.unusable is not None
    assert contract.unusable.detail.endswith("100 were fetched within a minute, and that is enough for now")
    assert len(tried) == 100
    now = 60.0
    await refs.complete(contract)
    assert len(tried) == 101


async def test_what_is_kept_is_bounded_by_number_and_size() -> None:
    refs = RemoteRefs(allow=["https://schemas.example.org/"])
    for i in range(600):
        refs._keep(f"https://schemas.example.org/{i}", b"x" * 100)
    assert len(refs._kept) == 500
    for i in range(20):
        refs._keep(f"https://schemas.example.org/{i}", b"x" * BYTES)
        refs._keep(f"https://schemas.example.org/{i}", b"x" * BYTES)
    assert sum(len(uri) + len(body) for uri, (body, _) in refs._kept.items()) == refs._size <= 10_000_000


async def test_a_document_that_could_not_be_had_is_not_asked_for_again_for_a_while() -> None:
    now = 0.0
    async with hosting() as site:
        refs = refs_to(site)
        refs._clock = lambda: now
        async with guarded(referring(site.url("/v1/n.json")), refs) as (tools, _):
            for _ in range(3):
                with pytest.raises(UnusableContractError, match="status 404"):
                    await tools.call("t")
            assert site.paths == ["/v1/n.json"]
            site.pages["/v1/n.json"] = page(INTEGER)
            now = 60.0
            assert await tools.call("t") == {"p0": 1}
            now = 1e9
            assert await tools.call("t") == {"p0": 1}
        assert site.paths == ["/v1/n.json"] * 2


async def test_guards_that_share_it_share_what_is_fetched() -> None:
    async with hosting(n=INTEGER) as site:
        refs = refs_to(site)
        now = 0.0
        refs._clock = lambda: now
        for _ in range(2):
            async with guarded(referring(site.url("/v1/n.json#")), refs) as (tools, _server):
                await tools.call("t")
            now += 86_400.0
        assert site.paths == ["/v1/n.json"]


async def test_calls_at_the_same_time_share_one_fetch() -> None:
    async def after_all_wait(stream: anyio.abc.ByteStream) -> None:
        await anyio.wait_all_tasks_blocked()
        await stream.send(page(INTEGER))

    async with hosting(n=after_all_wait) as site:
        schema, refs = referring(site.url("/v1/n.json")), refs_to(site)
        async with (
            guarded(schema, refs) as (one, _),
            guarded(schema, refs) as (other, _),
            anyio.create_task_group() as tasks,
        ):
            for tools in (one, other, one, other):
                tasks.start_soon(tools.call, "t")
        assert site.paths == ["/v1/n.json"]


async def test_where_the_call_that_fetches_is_cancelled_another_takes_over() -> None:
    async with hosting() as site:
        schema, refs = referring(site.url("/v1/n.json")), refs_to(site)
        first = anyio.CancelScope()

        async with guarded(schema, refs) as (tools, _), anyio.create_task_group() as tasks:

            async def give_up(_stream: anyio.abc.ByteStream) -> None:
                site.pages["/v1/n.json"] = page(INTEGER)
                tasks.start_soon(tools.call, "t")
                await anyio.wait_all_tasks_blocked()
                first.cancel()

            site.pages["/v1/n.json"] = give_up
            with first:
                await tools.call("t")
        assert first.cancelled_caught
        assert site.paths == ["/v1/n.json"] * 2


# with listings, files and logs


async def test_contracts_out_of_a_file_get_their_documents_too(tmp_path: Path) -> None:
    path = tmp_path / "mcp-guard.lock"
    async with hosting(n=INTEGER) as site:
        refs = refs_to(site)
        async with guarded(referring(site.url("/v1/n.json")), refs) as (tools, _):
            contracts = await tools.refresh()
            contracts.save(path)
        assert site.paths == ["/v1/n.json"]
        assert "integer" not in path.read_text()  # the file holds definitions, and no documents
        async with guarded(referring(site.url("/v1/n.json")), refs, contracts=Contracts.load(path)) as (tools, server):
            assert await tools.call("t") == {"p0": 1}
            assert not server.asked("tools/list")
        async with guarded(referring(site.url("/v1/n.json")), refs, pins=path) as (tools, _):
            assert await tools.call("t") == {"p0": 1}
        async with guarded(referring(site.url("/v1/n.json")), None, contracts=Contracts.load(path)) as (tools, _):
            with pytest.raises(UnusableContractError, match="nothing is fetched"):
                await tools.call("t")


async def test_a_registered_contract_gets_its_documents_too() -> None:
    contracts = Contracts()
    async with hosting(n=INTEGER) as site:
        contracts.register(Contract("t", referring(site.url("/v1/n.json"))))
        async with guarded({}, refs_to(site), data({"p0": "no"}), contracts=contracts) as (tools, _):
            with pytest.raises(OutputValidationError):
                await tools.call("t")


async def test_refresh_has_the_documents_of_all_tools_fetched() -> None:
    async with hosting(n=INTEGER) as site:
        schema = referring(site.url("/v1/n.json"))
        listed = [
            tool("a", schema),
            tool("b", schema),
            tool("c", referring("https://elsewhere.example/")),
            tool("d", {"type": "object"}),
        ]
        async with raw_session(tools=listed) as (session, _):
            contracts = await guard(session, remote_refs=refs_to(site)).refresh()
        assert [contract.unusable and contract.unusable.reason for contract in contracts] == [
            None,
            None,
            "remote_ref",
            None,
        ]
        assert site.paths == ["/v1/n.json"]


async def test_the_contract_of_a_new_listing_gets_its_documents_before_it_is_judged_by() -> None:
    async with hosting(n=INTEGER) as site:
        listings = in_turn(
            {"tools": [tool("t", {"type": "object", "required": ["q"]})]},
            {"tools": [tool("t", referring(site.url("/v1/n.json")))]},
        )
        async with raw_session(results={"t": data({"p0": 1})}, on={"tools/list": listings}) as (session, _):
            tools = guard(session, remote_refs=refs_to(site))
            judged = await tools.judge("t")
        assert judged.record.deviations == ("contract_changed",)
        assert site.paths == ["/v1/n.json"]


async def test_each_fetch_is_one_line_that_names_what_is_allowed_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with hosting(SECRET=INTEGER) as site:
        refs = refs_to(site)
        async with guarded(referring(site.url("/v1/SECRET.json")), refs) as (tools, _):
            await tools.call("t")
        await reason_of(referring(site.url("/v1/SECRET2.json")), refs)
    lines = [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "mcp_guard"]
    assert lines == [
        ("INFO", f"fetched a document below https://{HOST}:{site.port}/v1/: 19 bytes"),
        (
            "WARNING",
            f"a document below https://{HOST}:{site.port}/v1/ can't be had: its host answered with status 404",
        ),
    ]
    assert "SECRET" not in caplog.text


_watchers: list[list[str]] = []


@functools.cache  # an audit hook can't be taken away again
def hook() -> None:
    def heard(event: str, _arguments: object) -> None:
        for watcher in _watchers if event.startswith("socket.") else ():
            watcher.append(event)

    sys.addaudithook(heard)


@contextmanager
def watching() -> Generator[list[str], None, None]:
    """What sockets are asked to do meanwhile."""
    hook()
    _watchers.append([])
    try:
        yield _watchers[-1]
    finally:
        _watchers.pop()


@pytest.mark.parametrize("remote_refs", [None, RemoteRefs(allow=["https://schemas.example.org/v1/"]), RemoteRefs([])])
async def test_without_leave_no_socket_is_touched(remote_refs: RemoteRefs | None) -> None:
    with watching() as events:
        await reason_of(referring("https://schemas.example.org/v2/n.json"), remote_refs)
    assert events == []


async def test_the_watch_over_sockets_sees_a_fetch() -> None:
    async with hosting(n=INTEGER) as site, guarded(referring(site.url("/v1/n.json")), refs_to(site)) as (tools, _):
        with watching() as events:
            await tools.call("t")
    assert "socket.connect" in events
