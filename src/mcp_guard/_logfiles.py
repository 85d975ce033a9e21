"""A log of JSON lines on the disk: the files that it was rotated into, and their lines, each in bounded memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, final

LONGEST: Final = 4_000_000
"""Bytes of one line. What is longer was not written by `JsonlAudit`, and is passed over without being held."""


@final
@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end. `text` is `None` where it is too long; `ended` is false where its end is missing."""

    file: Path
    number: int
    text: bytes | None
    ended: bool


def rotated(path: Path) -> list[tuple[int, Path]]:
    """The files that a log was rotated into, with their numbers, oldest first: ``log.000001.jsonl`` and so on."""
    named = re.compile(rf"{re.escape(path.stem)}\.(\d{{6,12}}){re.escape(path.suffix)}")
    with os.scandir(path.parent) as entries:
        found = [(named.fullmatch(entry.name), entry) for entry in entries]
    return sorted((int(name[1]), path.with_name(entry.name)) for name, entry in found if name is not None)


def beside(path: Path, number: int) -> Path:
    """The file that a log is rotated into."""
    return path.with_name(f"{path.stem}.{number:06d}{path.suffix}")


def head_of(path: Path) -> Path:
    """The file beside a log whose lock its writers hold, and in which the end of its chain is kept."""
    return path.with_name(f"{path.name}.head")


def lines(path: Path, *, older: bool = True) -> Iterator[Line]:
    """Every line of a log, oldest first. It may be rotated meanwhile.

    Raises:
        FileNotFoundError: There is no such log.
        OSError: One of its files can't be read.
    """
    last, found = -1, False
    while True:
        live = _opened(path)  # before its elders are looked for: if it is rotated in between, it is one of them
        with live or nullcontext():
            newer = _newer(path, last) if older else []
            if newer:
                last, file = newer[0]
                if (opened := _opened(file)) is not None:
                    found = True
                    with opened:
                        yield from _lines(opened, file)
                continue
            if live is None:
                break
            found = True
            yield from _lines(live, path)
            moved = [number for number, file in _newer(path, last) if _is_same(file, live)] if older else []
            if not moved:
                break
            last = moved[0]
    if not found:
        raise FileNotFoundError(f"there is no log {path}")


def _opened(file: Path) -> IO[bytes] | None:
    try:
        return file.open("rb")
    except FileNotFoundError:  # deleted since it was seen, or just being rotated
        return None


def _newer(path: Path, last: int) -> list[tuple[int, Path]]:
    return [(number, file) for number, file in rotated(path) if number > last]


def _is_same(file: Path, opened: IO[bytes]) -> bool:
    try:
        return os.path.samestat(file.stat(), os.fstat(opened.fileno()))
    except FileNotFoundError:  # deleted since
        return False


def _lines(opened: IO[bytes], file: Path) -> Iterator[Line]:
    number = 0
    while text := opened.readline(LONGEST + 1):
        number += 1
        ended, is_long = text.endswith(b"\n"), len(text.removesuffix(b"\n")) > LONGEST
        while is_long and not ended and (rest := opened.readline(LONGEST)):
            ended = rest.endswith(b"\n")
        yield Line(file, number, None if is_long else text.removesuffix(b"\n"), ended)
