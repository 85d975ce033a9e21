"""Fetches one document by https from an address that the user allowed, and from nowhere else. Knows no schema.

The address is a stranger's, so nothing about it is believed: it is compared with what is allowed before each request,
its host is looked up once and connected to at that very IP address, and what comes is counted while it comes. httpx is
used through its transport alone: that has no cookies, no authentication, no proxies, no environment, no redirects of
its own and no log lines with addresses.
"""

from __future__ import annotations

import re
import ssl
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address
from socket import SOCK_STREAM
from typing import TYPE_CHECKING, Final, final
from unicodedata import normalize
from urllib.parse import unquote, urljoin

import anyio

from mcp_guard._version import __version__

if TYPE_CHECKING:
    import httpx

SECONDS: Final = 10.0
"""For one document, from looking its host up to the last byte, redirects included."""
BYTES: Final = 1_000_000
"""Of one document, as it is sent and unpacked. Three times what `Limits.schema_bytes` lets a schema have."""
_REDIRECTS: Final = 3
_CONNECT_SECONDS: Final = 3.0
_TRIED: Final = 4
"""IP addresses of one host that are tried."""
_LENGTH: Final = 2_000

_CHARACTER: Final = r"[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2}"  # RFC 3986, pchar and the slash
_ADDRESS: Final = re.compile(
    r"(?i:https)://(?P<host>[A-Za-z0-9.\-]+)(?::(?P<port>[1-9][0-9]{0,4}))?"
    rf"(?P<path>/(?:{_CHARACTER})*)?(?P<query>\?(?:{_CHARACTER}|\?)*)?"
)
_HTTPS: Final = 443
_HIGHEST_PORT: Final = 65_535


@final
@dataclass(frozen=True, slots=True)
class Address:
    """An https address that nobody can read in two ways, without its fragment."""

    host: str
    port: int
    path: str
    query: str = ""

    @classmethod
    def of(cls, uri: str) -> Address | None:
        """The address that a URI is; `None` where it is none, or one that two readers could take for different ones."""
        match = _ADDRESS.fullmatch(uri) if len(uri) <= _LENGTH else None
        if match is None:
            return None
        host, port, path = match["host"].lower(), int(match["port"] or _HTTPS), match["path"] or "/"
        if port > _HIGHEST_PORT or not all(label and label.strip("-") == label for label in host.split(".")):
            return None
        if not all(map(_is_plain, path.split("/"))):
            return None
        return cls(host, port, path, match["query"] or "")

    def covers(self, other: Address) -> bool:
        """Whether the other is this one, or below it: of the same origin, its path this one and then whole segments."""
        if (self.host, self.port) != (other.host, other.port):
            return False
        return other.path == self.path or other.path.startswith(self.path.rstrip("/") + "/")

    def __str__(self) -> str:
        return f"https://{self.authority}{self.path}{self.query}"

    @property
    def authority(self) -> str:
        """Host and port, as the Host header has them (RFC 9110, section 7.2)."""
        return self.host if self.port == _HTTPS else f"{self.host}:{self.port}"


def _is_plain(segment: str) -> bool:
    """Whether a segment of a path is itself to every server: no way up, no slash in it, nothing encoded twice."""
    try:
        decoded = normalize("NFKC", unquote(segment, errors="strict"))  # a full-width dot is a dot to some
    except UnicodeDecodeError:  # two bytes that some read as a dot (RFC 3629, section 10)
        return False
    name = decoded.partition(";")[0].strip()  # to some servers the rest is parameters
    return name not in {".", ".."} and decoded.isprintable() and not any(c in decoded for c in "/\\%")


# IANA's registries of special-purpose addresses (RFC 6890), multicast and what is reserved. Written out, since Python's
# own tables differ between its versions.
_NO_IPV4: Final[tuple[IPv4Network, ...]] = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
_IPV6: Final = IPv6Network("2000::/3")
"""All that is given out for the public internet. Outside of it are ::1, the mapped and translated IPv4 addresses
(::ffff:0:0/96, 64:ff9b::/96, 64:ff9b:1::/48), fc00::/7, fe80::/10, ff00::/8."""
_NO_IPV6: Final[tuple[IPv6Network, ...]] = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # Teredo and other protocols
            "2001:db8::/32",
            "2002::/16",  # 6to4: an IPv4 address inside
            "3fff::/20",
        ),
    )
)


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet, to a single host."""
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    if "%" in address:  # a zone is of this host's own networks (RFC 4007, section 11)
        return False
    if isinstance(ip, IPv4Address):
        return not any(ip in network for network in _NO_IPV4)
    return ip in _IPV6 and not any(ip in network for network in _NO_IPV6)


async def looked_up(host: str, port: int) -> list[str]:
    """The IP addresses of a host."""
    found = await anyio.getaddrinfo(host, port, type=SOCK_STREAM)
    return list(dict.fromkeys(address[0] for *_, address in found))


class _CanNot(Exception):  # noqa: N818  # becomes words
    """The document can't be had; why, in our own words."""


@final
class Fetcher:
    """Fetches documents. The keywords are for tests, which have no public host to ask."""

    def __init__(
        self,
        *,
        is_public: Callable[[str], bool] = is_public,
        look_up: Callable[[str, int], Awaitable[list[str]]] = looked_up,
        context: ssl.SSLContext | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self._is_public = is_public
        self._look_up = look_up
        self._context = context
        self._seconds = seconds

    async def fetch(self, address: Address, allowed: Callable[[Address], bool]) -> bytes | str:
        """The document at an address, or in our own words why it can't be had. `allowed` is asked about redirects."""
        try:
            with anyio.move_on_after(self._seconds):
                return await self._follow(address, allowed)
        except _CanNot as error:
            return str(error)
        except Exception:  # noqa: BLE001  # whatever the other side makes the libraries below raise
            return "the connection broke"
        return f"it did not come within {self._seconds:g} seconds"

    async def _follow(self, address: Address, allowed: Callable[[Address], bool]) -> bytes:
        for _ in range(_REDIRECTS + 1):
            answer = await self._ask(address)
            if isinstance(answer, bytes):
                return answer
            if not allowed(answer):
                raise _CanNot("it redirects to where remote_refs does not allow")
            address = answer
        raise _CanNot("it redirects too often")

    async def _ask(self, address: Address) -> bytes | Address:
        """The document, or where it is said to be."""
        try:
            ips = await self._look_up(address.host, address.port)
        except OSError:
            raise _CanNot("its host has no IP address") from None
        if not all(map(self._is_public, ips)):  # a host that is both here and there is not to be trusted at all
            raise _CanNot("its host has an IP address that is not public")
        for ip in ips[:_TRIED]:
            answer = await self._ask_at(ip, address)
            if answer is not None:
                return answer
        raise _CanNot("there is no connection to its host to be had")

    async def _ask_at(self, ip: str, address: Address) -> bytes | Address | None:
        """The same from one IP address; `None` where there is no connection to it."""
        import httpx  # the heavy import waits

        if self._context is None:
            self._context = httpx.create_ssl_context(trust_env=False)
        timeout = httpx.Timeout(self._seconds, connect=min(_CONNECT_SECONDS, self._seconds))
        request = httpx.Request(
            "GET",
            # the IP address that was looked at, so that nobody looks the name up again
            httpx.URL(scheme="https", host=ip, port=address.port, raw_path=f"{address.path}{address.query}".encode()),
            headers={
                "Host": address.authority,
                "Accept": "application/schema+json, application/json, */*;q=0.1",
                "Accept-Encoding": "gzip",
                "Connection": "close",
                "User-Agent": f"mcp-result-guard/{__version__}",
            },
            # the name that the certificate has to be for
            extensions={"sni_hostname": address.host, "timeout": timeout.as_dict()},
        )
        async with httpx.AsyncHTTPTransport(verify=self._context, trust_env=False) as transport:
            try:
                response = await transport.handle_async_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout, ssl.SSLError):  # older httpcore lets the last one through
                return None
            try:
                return await _read(response, address)
            finally:
                await response.aclose()


async def _read(response: httpx.Response, address: Address) -> bytes | Address:
    if response.status_code in {301, 302, 303, 307, 308}:
        return _redirected(response, address)
    if response.status_code != 200:  # noqa: PLR2004  # OK
        raise _CanNot(f"its host answered with status {response.status_code}")
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"identity", "gzip", "x-gzip"}:
        raise _CanNot("it is packed in a way that was not asked for")
    body = bytearray()
    with anyio.CancelScope() as enough:
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > BYTES:
                enough.cancel()  # to leave the loop would leave httpx's own iterators in the middle, which trio minds
    if len(body) > BYTES:
        raise _CanNot(f"it is larger than {BYTES} bytes")
    return bytes(body) if encoding == "identity" else _unpacked(bytes(body))


def _redirected(response: httpx.Response, address: Address) -> Address:
    location = response.headers.get("location", "")
    try:
        there = Address.of(urljoin(str(address), location).partition("#")[0])
    except ValueError:  # it looks like half of an IPv6 address
        there = None
    if there is None or not location:
        raise _CanNot("it redirects to where remote_refs does not allow")
    return there


def _unpacked(body: bytes) -> bytes:
    """The document in a gzip file, never more of it than is let through."""
    gzip = zlib.decompressobj(wbits=31)
    try:
        document = gzip.decompress(body, BYTES + 1)
    except zlib.error:
        raise _CanNot("it is packed in a way that can't be read") from None
    if len(document) > BYTES:
        raise _CanNot(f"it is larger than {BYTES} bytes")
    if not gzip.eof:
        raise _CanNot("it is packed in a way that can't be read")
    return document
