"""How fast recorded results are judged again, beside plain jsonschema, and in how much memory.

    python benchmarks/replay.py [NUMBER]

Promised: 1,000,000 recorded results are judged in bounded memory: no more than twice what 10,000 take. Exits 1 where
that is not kept. The ratio is of CPU time for the same lines, parsed and judged, one process, taken in turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

from mcp_guard.testing import GET_STOCK, Local, replay

FEW: Final = 10_000
ROUNDS: Final = 5


def write(path: Path, number: int) -> Path:
    """A file of so many results, every tenth of which does not fit."""
    with path.open("w", encoding="utf-8") as file:
        for n in range(number):
            value = {"sku": f"A-{n}", "quantity": n if n % 10 else "none"}
            result = {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}
            file.write(json.dumps({"tool": GET_STOCK, "arguments": {"sku": f"A-{n}"}, "result": result}) + "\n")
    return path


def plain(path: Path) -> int:
    """Those that fit, as one would find out with jsonschema alone."""
    from jsonschema import Draft202012Validator

    validators: dict[str, Any] = {}
    fits = 0
    for line in path.read_bytes().splitlines():
        entry = json.loads(line)
        key = entry["tool"]["name"]
        validator = validators.setdefault(key, Draft202012Validator(entry["tool"]["outputSchema"]))
        fits += validator.is_valid(entry["result"]["structuredContent"])
    return fits


def judged(path: Path) -> int:
    """The same with `replay`."""
    summary = replay(path, engine=Local(1))
    return summary.total - summary.breaks


def cpu(work: Callable[[Path], int], path: Path) -> float:
    """Seconds of CPU time."""
    began = time.process_time()
    if work(path) != FEW - FEW // 10:
        raise SystemExit("they were not all judged")
    return time.process_time() - began


def peak(path: Path) -> int:
    """MB of memory at most, in a process of its own."""
    replayed = f"import resource; from mcp_guard.testing import Local, replay; replay({str(path)!r}, engine=Local(1))"
    told = "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    code = f"{replayed}; {told}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)  # noqa: S603  # ours
    return int(done.stdout)


def main() -> None:
    """Measure, and print a table."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        few = write(Path(folder) / "few.jsonl", FEW)
        pairs = [(cpu(plain, few), cpu(judged, few)) for _ in range(ROUNDS)]
        ratio = median(ours / theirs for theirs, ours in pairs)
        each = median(ours for _, ours in pairs) / FEW * 1e6
        small, large = peak(few), peak(write(Path(folder) / "many.jsonl", number))
    print("| what | seen |")
    print("| --- | --- |")
    print(f"| CPU time of `replay` / `json.loads` and jsonschema `is_valid`, {FEW:,} results | {ratio:.2f} |")
    print(f"| CPU time of `replay` a result | {each:.0f} µs |")
    print(f"| memory at most, {FEW:,} results | {small} MB |")
    print(f"| memory at most, {number:,} results | {large} MB |")
    if large > 2 * small:
        sys.exit("memory grows with the number of results")


if __name__ == "__main__":
    main()
