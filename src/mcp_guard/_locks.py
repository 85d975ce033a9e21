"""An exclusive lock on a file, held against other threads and processes, which each opens the file for itself."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Final

PATIENCE: Final = 5.0
"""Seconds. A lock is held for about 50 µs, with fsync for some ms; a process that is stopped holds it for ever."""
_FIRST_PAUSE: Final = 0.000_1
_LONGEST_PAUSE: Final = 0.01

if sys.platform == "win32":
    import msvcrt

    _FAR: Final = (
        1 << 30
    )  # a locked byte can't be read by others: one far behind the end of the file is in nobody's way

    def _taken(file: FileIO) -> bool:
        file.seek(_FAR)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _left(file: FileIO) -> None:
        file.seek(_FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _taken(file: FileIO) -> bool:
        try:
            # of the open file, so that threads exclude each other too; not `lockf`, whose locks are the process's
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _left(file: FileIO) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)  # closing does not do it where a fork has the same open file


def private(path: str, flags: int) -> int:
    """Open for this user alone, and make the file where there is none: an `opener` for `open`."""
    return os.open(path, flags | os.O_CREAT, 0o600)


@contextmanager
def locked(path: Path) -> Generator[FileIO]:
    """Hold the lock of this file, which is made if there is none. Gives the file, open to be read and written.

    Raises:
        TimeoutError: Another process holds it, for five seconds by now.
        OSError: The file can't be opened, or can't be locked.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        with open(path, "r+b", buffering=0, opener=private) as file:
            _wait(file, path, deadline)
            try:
                if _is_there(file, path):
                    yield file
                    return
            finally:
                _left(file)


def _wait(file: FileIO, path: Path, deadline: float) -> None:
    pause = _FIRST_PAUSE
    while not _taken(file):
        if time.monotonic() >= deadline:
            raise TimeoutError(f"{path} is held by another process for {PATIENCE:g} seconds")
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _is_there(file: FileIO, path: Path) -> bool:
    """Whether the file still has its name: somebody may have deleted it, and others now lock another one."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
