"""`RemoteRefs`: documents that schemas refer to and that the user lets be fetched; kept, counted, told in the log."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any, Final, final

import anyio
from anyio.lowlevel import RunVar, checkpoint

from mcp_guard import _words
from mcp_guard._contract import Contract
from mcp_guard._facts import is_object
from mcp_guard._fetch import Address, Fetcher
from mcp_guard._json import NotJson, parse_json
from mcp_guard._log import logger
from mcp_guard.policy import Limits

_DOCUMENTS: Final = 50
"""Of one contract. With each that comes it may turn out that more are lacking, and the contract is made again."""
_CONTRACT_SECONDS: Final = 30.0
_A_MINUTE: Final = 100
"""Fetches: a listing of thousands of tools is not to become thousands of requests to somebody else's host."""
_KEPT, _KEPT_BYTES = 500, 10_000_000
_FAILED_SECONDS: Final = 60.0
"""How long a document that can't be had is not asked for again."""

_UNDER_WAY: Final = RunVar[dict[tuple[int, str], anyio.Event]]("mcp_guard_under_way")
"""The fetches of one event loop."""


@final
class RemoteRefs:
    """Lets schemas refer to documents elsewhere, as far as they are at addresses that you allow.

    ::

        refs = RemoteRefs(allow=["https://schemas.example.org/v1/"])
        tools = guard(session, remote_refs=refs)

    A server chooses what its schemas refer to, so that nothing is fetched without this. An address is allowed where it
    is one of `allow` or below it: the same host and port, and the path in whole segments. That is looked at again after
    each redirect. It is fetched by https alone, from IP addresses of the public internet alone (held against the
    address that is really connected to), without cookies, credentials, proxies or anything out of the environment.

    Documents are fetched before the first call of a tool that needs them, and in `refresh`; all of what they refer to
    has to be allowed too. Each has 10 seconds and 1 MB, each contract 30 seconds and 50 documents, which count as parts
    of its schema in `Limits`; there are at most 100 fetches a minute. What came is kept as long as this object is (the
    last 500 documents, 10 MB), and one that could not be had is not asked for again for a minute. Give one object to
    several guards, and they share what is fetched. Each fetch is a line of the logger ``mcp_guard``.

    Where a document can't be had, the contract is unusable, ``remote_ref``, and its `detail` says why.

    Raises:
        TypeError: `allow` is no list of texts.
        ValueError: One of them is no https address, or has a user, a query, a fragment or dots for segments.
    """

    def __init__(self, allow: Iterable[str]) -> None:
        if isinstance(allow, str) or not hasattr(allow, "__iter__"):
            raise TypeError(f'allow takes a list, such as ["https://schemas.example.org/"], not {_kind(allow)}')
        self.allow: tuple[str, ...] = tuple(allow)
        """The addresses below which documents may be fetched, as they were given."""
        self._prefixes = {prefix: _prefix(prefix) for prefix in self.allow}
        self._fetcher = Fetcher()
        self._clock = time.monotonic
        self._kept: OrderedDict[str, tuple[bytes | str, float]] = OrderedDict()  # the document or why there is none
        self._size = 0
        self._fetches: deque[float] = deque()

    async def complete(self, contract: Contract) -> Contract:
        """The contract with the documents that it lacks; where one can't be had, with the reason. Raises nothing."""
        with anyio.move_on_after(_CONTRACT_SECONDS):
            while lacking := contract.lacking:
                if len(contract.resources) + len(lacking) > _DOCUMENTS:
                    return _without(contract, f"there are more than {_DOCUMENTS}")
                got = await self._documents(lacking)
                if isinstance(got, str):
                    return _without(contract, got)
                contract = contract.with_resources(got)
                await checkpoint()  # making it again is work, and all may have been at hand
            return contract
        return _without(contract, f"not all of them came within {_CONTRACT_SECONDS:g} seconds")

    async def _documents(self, uris: tuple[str, ...]) -> dict[str, dict[str, Any]] | str:
        """The documents, or why there is none of one of them."""
        allowed: dict[str, tuple[Address, str]] = {}
        for uri in uris:
            address = Address.of(uri)
            below = self._below(address)
            if address is None or below is None:  # then the others are of no use
                return "it is not where remote_refs allows"
            allowed[uri] = (address, below)
        documents: dict[str, dict[str, Any]] = {}
        for uri, (address, below) in allowed.items():
            body = await self._body(uri, address, below)
            if isinstance(body, str):
                return body
            documents[uri] = _read(body) or {}
        return documents

    async def _body(self, uri: str, address: Address, below: str) -> bytes | str:
        """A document as it was sent, one JSON object; or why there is none."""
        under_way = _under_way()
        key = (id(self), uri)
        while key in under_way:
            await under_way[key].wait()
        if (kept := self._recall(uri)) is not None:
            return kept
        if not self._may_fetch():
            return f"{_A_MINUTE} were fetched within a minute, and that is enough for now"
        under_way[key] = ended = anyio.Event()
        try:
            body = await self._fetched(address, below)
            self._keep(uri, body)
            return body
        finally:
            del under_way[key]
            ended.set()

    async def _fetched(self, address: Address, below: str) -> bytes | str:
        body = await self._fetcher.fetch(address, lambda there: self._below(there) is not None)
        if isinstance(body, bytes) and _read(body) is None:
            body = "it is no JSON object"
        # the address is the server's word, and stands in no log; what is allowed is the user's
        if isinstance(body, bytes):
            logger.log(logging.INFO, "fetched a document below %s: %d bytes", _words.line(below), len(body))
        else:
            logger.log(logging.WARNING, "a document below %s can't be had: %s", _words.line(below), body)
        return body

    def _below(self, address: Address | None) -> str | None:
        """Which of the addresses that are allowed it is, or is below."""
        if address is None:
            return None
        return next((text for text, prefix in self._prefixes.items() if prefix.covers(address)), None)

    def _recall(self, uri: str) -> bytes | str | None:
        kept = self._kept.get(uri)
        if kept is None or (isinstance(kept[0], str) and self._clock() >= kept[1]):
            return None
        self._kept.move_to_end(uri)
        return kept[0]

    def _keep(self, uri: str, body: bytes | str) -> None:
        self._forget(uri)
        self._kept[uri] = (body, self._clock() + _FAILED_SECONDS)
        self._size += len(uri) + len(body)
        while len(self._kept) > _KEPT or self._size > _KEPT_BYTES:
            self._forget(next(iter(self._kept)))

    def _forget(self, uri: str) -> None:
        kept = self._kept.pop(uri, None)
        if kept is not None:
            self._size -= len(uri) + len(kept[0])

    def _may_fetch(self) -> bool:
        now = self._clock()
        while self._fetches and now - self._fetches[0] >= 60:  # noqa: PLR2004  # a minute
            self._fetches.popleft()
        if len(self._fetches) >= _A_MINUTE:
            return False
        self._fetches.append(now)
        return True

    def __repr__(self) -> str:
        return f"RemoteRefs(allow={[*self.allow]!r})"


def _under_way() -> dict[tuple[int, str], anyio.Event]:
    found = _UNDER_WAY.get(None)
    if found is None:
        found = dict[tuple[int, str], anyio.Event]()
        _UNDER_WAY.set(found)
    return found


def _without(contract: Contract, why: str) -> Contract:
    return contract.without_resources(f"the document can't be had: {why}")


def _read(body: bytes) -> dict[str, Any] | None:
    try:
        document = parse_json(body.decode(), Limits())
    except (UnicodeDecodeError, NotJson):
        return None
    return document if is_object(document) else None


def _prefix(given: object) -> Address:
    if not isinstance(given, str):
        raise TypeError(f"allow takes a list of texts; one of them is {_kind(given)}")
    prefix = Address.of(given)
    if prefix is None or prefix.query:
        raise ValueError(
            f"{given!r} in allow is no address such as 'https://schemas.example.org/v1/': https, a host in ASCII, "
            "a path; no user, query, fragment or dots for segments"
        )
    return prefix


def _kind(given: object) -> str:
    return type(given).__name__
