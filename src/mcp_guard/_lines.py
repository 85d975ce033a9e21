"""`Lines`: the text of each line that a server wrote to stdio, beside what the SDK's transport makes of the line.

The SDK's transport reads bytes through a codec that is named to it, and parses line by line. A codec of ours is the one
public place where the text can be seen. It decodes as the codec that was named would have, and remembers what it gave;
the process, its end and its pipes stay the SDK's.
"""

from __future__ import annotations

import codecs
from collections import deque
from contextvars import ContextVar
from typing import Any, Final, final

CODEC: Final = "mcp_guard_lines"
"""Its name; it means something only where `LISTENING` is set."""


@final
class Lines:
    """The lines that were decoded and not yet taken, in order: one for each item that the transport hands over."""

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self._rest: list[str] = []
        self._lines: deque[str] = deque()

    def feed(self, text: str) -> None:
        """Take what was decoded, as it came."""
        *ended, rest = text.split("\n")
        if ended:
            self._lines.append("".join(self._rest) + ended[0])
            self._lines += ended[1:]
            self._rest.clear()
        if rest:
            self._rest.append(rest)

    def take(self) -> str:
        """The next line."""
        return self._lines.popleft() if self._lines else ""


LISTENING: Final[ContextVar[Lines]] = ContextVar("mcp_guard_lines")
"""Whose lines the tasks of a transport decode; set before the transport is opened, which makes them."""


class _Decoder(codecs.IncrementalDecoder):
    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._lines = LISTENING.get()
        self._decoder = codecs.getincrementaldecoder(self._lines.encoding)(errors)

    def decode(self, input: Any, final: bool = False) -> str:  # noqa: A002, FBT001, FBT002  # as codecs has it
        text = self._decoder.decode(input, final)
        self._lines.feed(text)
        return text


def _encode(text: str, errors: str = "strict") -> tuple[bytes, int]:
    return codecs.lookup(LISTENING.get().encoding).encode(text, errors)


def _decode(data: Any, errors: str = "strict") -> tuple[str, int]:
    return codecs.lookup(LISTENING.get().encoding).decode(data, errors)


def _codec(name: str) -> codecs.CodecInfo | None:
    return codecs.CodecInfo(_encode, _decode, incrementaldecoder=_Decoder, name=CODEC) if name == CODEC else None


codecs.register(_codec)
