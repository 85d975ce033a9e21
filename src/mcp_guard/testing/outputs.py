"""Where the lines go that broke their contract: one file of JSON lines for each piece of the input that has some."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Final, final
from uuid import uuid4

from mcp_guard._locks import private
from mcp_guard.testing.inputs import PathLike, remote
from mcp_guard.testing.judging import Judged

_NAME: Final = "part-{:06d}.jsonl"
_IN_MEMORY: Final = 1_000_000


def prepare(folder: PathLike) -> str:
    """The folder as every worker can find it, made where it is on this machine and there is none.

    Raises:
        FileExistsError: There are such files in it already, of another run.
        OSError: It can't be made or looked at.
    """
    path = os.fspath(folder)
    if "://" in path:
        system, inside = remote(path)
        found: list[str] = system.glob(f"{inside.rstrip('/')}/part-*.jsonl")
        path = path.rstrip("/")
    else:
        here = Path(path).absolute()
        here.mkdir(mode=0o700, parents=True, exist_ok=True)
        path, found = str(here), [each.name for each in here.glob("part-*.jsonl")]
    if found:
        raise FileExistsError(errno.EEXIST, "there are files of another run in it", os.fspath(folder))
    return path


@final
class Broken:
    """The lines of one piece. Its file is written all at once, when the piece is done: done again, it is the same."""

    def __init__(self, folder: str, number: int) -> None:
        self._to = f"{folder}/{_NAME.format(number)}"
        self._lines = 0

    def __enter__(self) -> Broken:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # closed in __exit__
        return self

    def add(self, line: bytes | str, judged: Judged) -> None:
        """Keep a line as it is, with what was found of it as its last member, ``judged``."""
        told = {
            "place": None if judged.place is None else judged.place._asdict(),
            "verdict": judged.verdict,
            "error": judged.error,
            "violations": [{"pointer": pointer, "keyword": keyword} for pointer, keyword in judged.violations],
        }
        raw = line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass")
        self._file.write(raw.rstrip().removesuffix(b"}") + b', "judged": ' + json.dumps(told).encode() + b"}\n")
        self._lines += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            if kind is None and self._lines:
                self._file.seek(0)
                self._write()

    def _write(self) -> None:
        if "://" in self._to:
            system, path = remote(self._to)
            with system.open(path, "wb") as file:
                shutil.copyfileobj(self._file, file)
            return
        draft = f"{self._to}.{uuid4().hex}"
        with open(draft, "xb", opener=private) as file:
            shutil.copyfileobj(self._file, file)
        Path(draft).replace(self._to)
