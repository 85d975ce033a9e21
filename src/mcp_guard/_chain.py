"""Links of a hash chain over lines of JSON: each has the hash of the one before it in what it hashes. Pure.

A chained line ends with its link, and the hash is over the very bytes before it, so that nothing has to be parsed or
put in order to check a line::

    {...,"chain":{"n":2,"prev":"<hash of line 1>","hash":"<SHA-256 of all before ,"hash":>"}}

With a key it is HMAC-SHA256 (RFC 2104), and the last member is called ``mac``.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Final, final

_ZEROS: Final = "0" * 64
_LINKED: Final = re.compile(
    rb'(\{.+"chain":\{"n":([1-9]\d{0,17}),"prev":"([0-9a-f]{64})"),"(hash|mac)":"([0-9a-f]{64})"\}\}', re.DOTALL
)
_HEAD: Final = re.compile(rb"(\d{20}):([0-9a-f]{64}) [0-9a-f]{64}\n")
_MARK: Final = re.compile(r"(\d{1,18}):([0-9a-f]{64})")


@final
@dataclass(frozen=True, slots=True)
class Link:
    """One place in a chain: the number of its line, counted from 1, and its hash."""

    n: int
    digest: str

    def __str__(self) -> str:
        return f"{self.n}:{self.digest}"

    @classmethod
    def of(cls, text: str) -> Link | None:
        """The link that ``str`` wrote, or `None`."""
        found = _MARK.fullmatch(text)
        return None if found is None else cls(int(found[1]), found[2])

    def ends(self, text: bytes) -> bool:
        """Whether this is the link of the line that `text`, at least its last 68 bytes, ends with."""
        return text.endswith(b'"%b"}}\n' % self.digest.encode())


START: Final = Link(0, _ZEROS)
"""What the first line of a chain follows."""


@final
@dataclass(frozen=True, slots=True)
class Linked:
    """A line with its link, and what it says it follows. Whether it is so is another question: `is_true`."""

    link: Link
    prev: str
    keyed: bool
    hashed: bytes

    def is_true(self, key: bytes | None) -> bool:
        """Whether the line has the hash that it says."""
        return hmac.compare_digest(_digest(self.hashed, key), self.link.digest)


def follow(line: bytes, last: Link, key: bytes | None) -> tuple[bytes, Link]:
    """`line`, a JSON object with members, with the link that follows `last`; and that link."""
    n = last.n + 1
    hashed = b'%b,"chain":{"n":%d,"prev":"%b"' % (line[:-1], n, last.digest.encode())
    digest = _digest(hashed, key)
    return b'%b,"%b":"%b"}}' % (hashed, b"hash" if key is None else b"mac", digest.encode()), Link(n, digest)


def linked(line: bytes) -> Linked | None:
    """What a line says of its place in the chain; `None` where it says nothing."""
    found = _LINKED.fullmatch(line)
    if found is None:
        return None
    hashed, n, prev, name, digest = found.groups()
    return Linked(Link(int(n), digest.decode()), prev.decode(), name == b"mac", hashed)


def sealed(head: Link, key: bytes | None) -> bytes:
    """The end of a chain as it is kept beside the file: one line of fixed length, which only the key can make."""
    text = b"%020d:%b" % (head.n, head.digest.encode())
    return b"%b %b\n" % (text, _digest(b"head " + text, key).encode())


def unsealed(line: bytes, key: bytes | None) -> Link | None:
    """The end of a chain that was sealed with this key, or `None`."""
    found = _HEAD.fullmatch(line)
    head = None if found is None else Link(int(found[1]), found[2].decode())
    return head if head is not None and hmac.compare_digest(sealed(head, key), line) else None


def _digest(data: bytes, key: bytes | None) -> str:
    return hashlib.sha256(data).hexdigest() if key is None else hmac.new(key, data, hashlib.sha256).hexdigest()
