"""`replay`: judges files of recorded results again, on this machine or on a cluster."""

from __future__ import annotations

import copy
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias, final
from uuid import uuid4

from mcp_guard._version import __version__
from mcp_guard.contracts import Contracts
from mcp_guard.policy import ENFORCE, Policy
from mcp_guard.testing.engines import Engine, EngineError, Local
from mcp_guard.testing.inputs import PIECE_BYTES, PathLike, Piece, find, lines_of, newlines_in, numbered
from mcp_guard.testing.judging import Judging
from mcp_guard.testing.outputs import Broken, prepare
from mcp_guard.testing.summary import Summary

Progress: TypeAlias = Callable[[int, int], None]
"""Told how many bytes of the input are judged, and how many there are: those of compressed files as they are."""
_SMALL: Final = 4_000_000
"""Bytes that are judged before other processes have started."""
_KEPT: Final = threading.local()


def replay(
    paths: Iterable[PathLike] | PathLike,
    contracts: Contracts | None = None,
    *,
    policy: Policy = ENFORCE,
    engine: Engine | None = None,
    violating: PathLike | None = None,
    piece_bytes: int = PIECE_BYTES,
    progress: Progress | None = None,
) -> Summary:
    """Judge the recorded results in files of JSON lines again, streaming: which of them would break, and why?

    The summary is the same, value for value, whatever the engine and however the work is shared.

    Args:
        paths: Paths, globs, and URLs that fsspec knows (``s3://bucket/calls/*.jsonl.gz``), one or several; plain or
            compressed (``.gz``, ``.bz2``, ``.xz``, and what else fsspec reads here). Recordings, or files that
            `JsonlAudit` wrote, or both.
        contracts: What to hold the results against, such as `Contracts.load(lock)`; `None`: the definition that stands
            in each line.
        policy: What counts as a break.
        engine: What shares the work: `Local` or `Dask`; `None`: `Local()`, one process a core, or none but this for
            little.
        violating: A folder, a path or a URL, for the lines whose result broke its contract, as JSON lines in one file
            for each piece of the input that has some. They hold what was recorded: see to who can read them.
        piece_bytes: Bytes of the input that are judged at a time. A larger file is parted if it is not compressed.
        progress: See `Progress`.

    Raises:
        OSError: A file can't be read or written; or `violating` has such files already (FileExistsError).
        EngineError: The engine can't be reached, or failed.
        ImportError: A URL, a compression or an engine needs a package that is not installed.
        ValueError: `piece_bytes` is smaller than 1, or a URL is of a kind that nobody knows.
    """
    if piece_bytes < 1:
        raise ValueError(f"piece_bytes is at least 1, not {piece_bytes}")
    pieces = find(paths, piece_bytes=piece_bytes)
    total = sum(piece.size for piece in pieces)
    if engine is None:
        engine = Local(1 if total < _SMALL else None)
    into = None if violating is None else prepare(violating)
    parted = [piece for piece in pieces if piece.start or piece.end is not None]
    if parted:  # where each begins, by line; to count is quick beside to judge
        pieces = numbered(pieces, engine.sum(newlines_in, parted) or Counter())
    left, judged = {piece.number: piece.size for piece in pieces}, 0

    def done(index: int) -> None:
        nonlocal judged
        judged += left.pop(index, 0)
        if progress is not None:
            progress(judged, total)

    work = Work(contracts, policy, into, uuid4().hex)
    summed = engine.sum(work, pieces, done) or Summary()
    if progress is not None and left:  # what is told on the way may be lost with its worker
        progress(total, total)
    return summed


@final
@dataclass(frozen=True, slots=True)
class Work:
    """What is done with each piece. Travels to the workers; contracts are compiled there, once a worker's thread."""

    contracts: Contracts | None
    policy: Policy
    into: str | None
    key: str
    version: str = __version__

    def __call__(self, piece: Piece) -> Summary:
        """The summary of a piece.

        Raises:
            EngineError: This process has another version of the package than the one that made it.
            OSError: The piece can't be read, or what broke not be written.
        """
        if self.version != __version__:
            raise EngineError(f"a worker has version {__version__} of mcp_guard, and here it is {self.version}")
        key, judging = getattr(_KEPT, "judging", (None, None))
        if judging is None or key != self.key:
            # what is compiled is not for several threads at a time, and a worker of Dask's may have some
            is_alone = threading.current_thread() is threading.main_thread()
            judging = Judging(self.contracts if is_alone else copy.deepcopy(self.contracts), self.policy)
            _KEPT.judging = self.key, judging
        if self.into is None:
            return judging.summary(lines_of(piece))
        with Broken(self.into, piece.number) as broken:
            return judging.summary(lines_of(piece), broken.add)
