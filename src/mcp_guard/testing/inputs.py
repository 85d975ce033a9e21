"""Where recordings are: `find` turns paths, globs and URLs into pieces of work, `lines_of` reads the lines of one.

A file on this machine is read by Python alone; a URL, such as ``s3://bucket/calls/*.jsonl.gz``, by fsspec.
"""

from __future__ import annotations

import errno
import glob
import os
import stat
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from io import SEEK_SET, BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, Any, Final, TypeAlias, final
from urllib.parse import urlsplit

from mcp_guard.testing.recorded import Place

PathLike: TypeAlias = "str | os.PathLike[str]"
LONGEST: Final = 32_000_000
"""Bytes of one line that is read."""
PIECE_BYTES: Final = 16_000_000
"""Of a file, that are one piece of work: about a second, and little to do again where a worker dies."""
_STEP: Final = 1_000_000
_PACKED: Final = {"bz2": "bz2", "gz": "gzip", "lz4": "lz4", "snappy": "snappy", "xz": "xz", "zip": "zip", "zst": "zstd"}
"""Suffixes of compressed files, and fsspec's names of what they are compressed with."""
_CODES: Final[dict[type[Exception], int]] = {
    FileNotFoundError: errno.ENOENT,
    PermissionError: errno.EACCES,
    IsADirectoryError: errno.EISDIR,
    NotADirectoryError: errno.ENOTDIR,
    TimeoutError: errno.ETIMEDOUT,
    ConnectionError: errno.ECONNRESET,
}
_BUILT_IN: Final = {"bz2": "bz2", "gzip": "gzip", "xz": "lzma"}
"""Those that Python reads, and the module."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A file, or a part of one: the lines that begin in it."""

    number: int
    """Of all the pieces."""
    path: str
    """As it is shown: as it was given, without what may be secret in a URL."""
    url: str = field(repr=False)
    """Where it is, from any folder. There may be a password in it, and an engine logs what it works on."""
    size: int
    """Bytes, where they are known, else 0."""
    start: int = 0
    end: int | None = None
    """Bytes of the file; `None`: to its end."""
    before: int = 0
    """How many lines end before `start`."""


def find(paths: Iterable[PathLike] | PathLike, *, piece_bytes: int = PIECE_BYTES) -> list[Piece]:
    """The files that are meant, in pieces: those of a glob in the order of their names.

    A file that is not compressed is parted; how many lines are before each part, `numbered` says.

    Raises:
        FileNotFoundError: There is no such file, or none that fits the glob.
        IsADirectoryError: It is a folder.
        OSError: It can't be looked at.
        ImportError: A URL needs a package that is not installed.
        ValueError: It is a URL of a kind that fsspec does not know, or a glob in a chained one.
    """
    found: list[Piece] = []
    for each in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        for file in _files(os.fspath(each)):
            size = 0 if _packing(file.path) else file.size
            ends = [*range(piece_bytes, size, piece_bytes), None]
            for start, end in zip([0, *ends[:-1]], ends, strict=True):
                length = file.size if len(ends) == 1 else (end or size) - (start or 0)
                found.append(replace(file, number=len(found), start=start or 0, end=end, size=length))
    return found


def _files(path: str) -> Iterator[Piece]:
    if "://" in path:
        yield from _remote_files(path)
        return
    with _translated(path):
        is_one = not glob.has_magic(path) or Path(path).exists()
        # Path.glob takes no absolute pattern, and finds no name as it was given
        found = [path] if is_one else sorted(glob.glob(path, recursive=True))  # noqa: PTH207  # see above
        names = [name for name in found if is_one or not Path(name).is_dir()]
        if not names:
            raise FileNotFoundError(errno.ENOENT, "no file fits this glob", path)
        for name in names:
            info = Path(name).stat()
            if stat.S_ISDIR(info.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
            yield Piece(number=0, path=name, url=str(Path(name).absolute()), size=info.st_size)


def _remote_files(url: str) -> Iterator[Piece]:
    name = shown(url)
    with _translated(name):
        system, path = remote(url)
        if not glob.has_magic(path):
            at = url if "::" in url else str(system.unstrip_protocol(path))
            yield Piece(number=0, path=shown(at), url=at, size=int(system.info(path).get("size") or 0))
            return
        if "::" in url:
            raise ValueError("a glob can't stand in a chained URL")
        found: dict[str, dict[str, Any]] = system.glob(path, detail=True)
        files = sorted(file for file, info in found.items() if info.get("type") != "directory")
        if not files:
            raise FileNotFoundError(errno.ENOENT, "no file fits this glob", name)
        for file in files:
            at = str(system.unstrip_protocol(file))
            yield Piece(number=0, path=shown(at), url=at, size=int(found[file].get("size") or 0))


def remote(url: str) -> tuple[Any, str]:
    """The file system that a URL is in, and the path there. Credentials are where fsspec looks for them.

    Raises:
        ImportError: It needs a package that is not installed.
        ValueError: fsspec knows no such kind of URL.
    """
    system, path = import_module("fsspec.core").url_to_fs(url)
    return system, str(path)


def shown(url: str) -> str:
    """A URL without what may be secret in it: user, password, query and fragment."""
    if "://" not in url:
        return url
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    if scheme in {"http", "https"}:
        path = urlsplit(url).path.removeprefix("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def lines_of(piece: Piece) -> Iterator[tuple[Place, bytes | None]]:
    """The lines of a piece, with their places; empty ones not. `None` for one that is over `LONGEST`.

    Where a compressed file ends in the middle, or is none, its next line is `None`, and its last.

    Raises:
        OSError: The file can't be read.
    """
    number = piece.before
    with _translated(piece.path), _opened(piece) as file:
        position = piece.start
        if position:  # a line that began before it is the one's before; this one begins after its end
            file.seek(position - 1)
            while (rest := file.readline(LONGEST)) and not rest.endswith(b"\n"):
                position += len(rest)
            position += len(rest) - 1
            number += 0 if rest == b"\n" and position == piece.start else 1
        while piece.end is None or position < piece.end:
            number += 1
            try:
                line = file.readline(LONGEST)
                length = len(line)
                is_long = length == LONGEST and not line.endswith(b"\n")
                while is_long and line and not line.endswith(b"\n"):
                    line = file.readline(LONGEST)
                    length += len(line)
            except Exception as error:
                if not _packing(piece.path) or (isinstance(error, OSError) and error.errno is not None):
                    raise
                yield Place(piece.path, number), None  # what unpacks it can't go on
                return
            if not length:
                return
            position += length
            if is_long or line.strip():
                yield Place(piece.path, number), None if is_long else line


def numbered(pieces: Iterable[Piece], newlines: Counter[int]) -> list[Piece]:
    """The pieces with how many lines are before each. `newlines`: in each piece, by its number, see `newlines_in`."""
    placed: list[Piece] = []
    before = 0
    for piece in pieces:
        before = before if piece.start else 0
        placed.append(replace(piece, before=before))
        before += newlines[piece.number]
    return placed


def newlines_in(piece: Piece) -> Counter[int]:
    """How many lines end in a piece, by its number.

    Raises:
        OSError: The file can't be read.
    """
    ended = 0
    with _translated(piece.path), _opened(piece) as file:
        file.seek(piece.start)
        rest = piece.size
        while rest > 0 and (some := file.read(min(rest, _STEP))):
            ended += some.count(b"\n")
            rest -= len(some)
    return Counter({piece.number: ended})


def _packing(path: str) -> str | None:
    return _PACKED.get(path.rpartition(".")[2].lower())


@contextmanager
def _opened(piece: Piece) -> Generator[IO[bytes]]:
    """A file for reading, unpacked."""
    if "://" not in piece.url:
        raw: IO[bytes] = Path(piece.url).open("rb")  # noqa: SIM115  # closed below
    else:
        system, path = remote(piece.url)
        # fsspec's own files look for the end of a line in Python
        raw = BufferedReader(_Remote(system.open(path, "rb"), piece.path), _STEP)
    packing = _packing(piece.path)
    with raw:
        if packing is None:
            yield raw
            return
        with _unpacked(raw, packing) as file:
            yield file


@final
class _Remote(RawIOBase):
    """A file of fsspec's, whose errors are all `OSError`: so they are told from those of what unpacks it."""

    def __init__(self, file: Any, path: str) -> None:
        super().__init__()
        self._file = file
        self._path = path

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def seek(self, offset: int, whence: int = SEEK_SET, /) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: Any, /) -> int:
        with _translated(self._path):
            some: bytes = self._file.read(len(buffer))
        buffer[: len(some)] = some
        return len(some)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _unpacked(raw: IO[bytes], packing: str) -> IO[bytes]:
    if packing in _BUILT_IN:
        unpacked: IO[bytes] = import_module(_BUILT_IN[packing]).open(raw, "rb")
        return unpacked
    compr: dict[str, Any] = import_module("fsspec.compression").compr
    if packing not in compr:
        raise ModuleNotFoundError(f"a file is compressed with {packing}, and no package that reads that is installed")
    read: IO[bytes] = compr[packing](raw, mode="r")
    return read


@contextmanager
def _translated(path: str) -> Generator[None]:
    """Errors about a file as an `OSError` that names it as it may be shown.

    Nothing else of what a file system says is kept: there may be the whole URL in it, and with that a signature.
    """
    try:
        yield
    except (ImportError, ValueError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename in {path, str(Path(path).absolute())}:
            raise
        code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), errno.EIO)
        told = os.strerror(code) if code != errno.EIO else f"{os.strerror(code)} ({type(error).__name__})"
        raise OSError(code, told, path) from None
