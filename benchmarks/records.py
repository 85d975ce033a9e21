"""How fast a million records are written, read back, counted and verified, and in how much memory.

    python benchmarks/records.py [NUMBER]

Promised: 1,000,000 records are read and counted in less than 100 MB. Exits 1 where that is not kept.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

from mcp_guard import Record, records
from mcp_guard.hooks import JsonlAudit, Tally
from mcp_guard.records import Attempt

PROMISED_MB: Final = 100
CALL: Final = Record(
    time=datetime.now(timezone.utc),
    call_id="",
    correlation="run-7/step-3",
    server="shop",
    tool="",
    fingerprint="sha256:" + "0" * 64,
    output_fingerprint="sha256:" + "1" * 64,
    protocol="2025-11-25",
    policy="ENFORCE",
    arguments_hash="2" * 64,
    verdict="Conforming",
    source="structured",
    outcome="executed",
    action="allow",
    attempts=(Attempt(None, "executed"),),
    ms_queued=0.01,
    ms_wire=12.3,
    ms_check=0.1,
    result_bytes=1234,
    blocks=(("text", 1),),
)


def calls(number: int) -> Iterator[Record]:
    """So many records, of 200 tools."""
    for n in range(number):
        yield dataclasses.replace(CALL, call_id=f"{n:016x}", tool=f"tool_{n % 200}")


def written(path: Path, number: int) -> None:
    """Write them."""
    audit = JsonlAudit(path, chain=True)
    for call in calls(number):
        audit(call)


def read(path: Path, number: int) -> None:
    """Read and count them."""
    reading = records.read(path)
    counts = records.count(reading)
    if (counts.total, reading.broken, len(counts.by("tool", "verdict", "fingerprint"))) != (number, 0, 200):
        raise SystemExit("they were not all read")


def tallied(path: Path, number: int) -> None:
    """Read and tally them."""
    tally = Tally()
    for call in records.read(path):
        tally(call)
    if tally.to_dict()["calls"] != number:
        raise SystemExit("they were not all tallied")


def verified(path: Path, number: int) -> None:
    """Hold the chain against them."""
    report = records.verify(path)
    if not report.ok or report.chained != number:
        raise SystemExit(str(report))


STEPS: Final[dict[str, Callable[[Path, int], None]]] = {
    "written": written,
    "read": read,
    "tallied": tallied,
    "verified": verified,
}


def peak_mb() -> float:
    """The most memory that this process has had, in MB of 1,000,000 bytes."""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def step(name: str, path: Path, number: int) -> None:
    """Do one step in this process, and print what it took."""
    began = time.perf_counter()
    STEPS[name](path, number)
    seconds = time.perf_counter() - began
    print(f"{name:9} {seconds:6.1f} s  {seconds / number * 1e6:6.1f} µs each  {peak_mb():6.1f} MB at most")
    if name != "written" and peak_mb() > PROMISED_MB:
        raise SystemExit(f"more than the {PROMISED_MB} MB that are promised")


def main() -> int:
    """Each step in a process of its own: memory is never given back."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "audit.jsonl"
        print(f"{number:,} records")
        for name in STEPS:
            done = subprocess.run([sys.executable, __file__, name, str(path), str(number)], check=False)  # noqa: S603  # ours
            if done.returncode:
                return 1
        size = sum(file.stat().st_size for file in path.parent.iterdir())
        print(f"{size / 1e6:.0f} MB in {len([*path.parent.glob('*.jsonl')])} files")
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 2:  # noqa: PLR2004  # a step's name, the file, the number
        step(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(main())
