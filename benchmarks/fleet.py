"""What judging a fleet's recordings takes, and what 10,000,000,000 records a day would: the figures of docs/fleet.md.

    python benchmarks/fleet.py [NUMBER]

NUMBER (1,000,000) records are judged, by one process and by two, on this machine and on a Dask cluster on it. Wants
two cores that do nothing else. Exits 1 where two workers are not at least 1.7 times as fast as one, or where the memory
of a worker grows with the number of records.
"""

from __future__ import annotations

import json
import logging
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, Final

from mcp_guard.testing import GET_STOCK, Dask, Local, Summary, judge, replay
from mcp_guard.testing.engines import Engine
from mcp_guard.testing.recorded import Place
from mcp_guard.testing.summary import Group

FEW: Final = 20_000
ROUNDS: Final = 3
LARGE: Final = 300_000_000
"""Bytes that take so long that once is enough."""
LEAST: Final = 1.7
DAY: Final = 86_400
A_DAY: Final = 10**10
REAL: Final = Path(__file__).parents[1] / "tests" / "data" / "recordings"


def write(path: Path, number: int) -> Path:
    """A file of so many results of 20 tools on 30 days, every hundredth of which does not fit."""
    tools = [{**GET_STOCK, "name": f"get_stock_{n}"} for n in range(20)]
    with path.open("w", encoding="utf-8") as file:
        for n in range(number):
            value = {"sku": f"A-{n}", "quantity": n if n % 100 else "none"}
            result = {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}
            entry = {
                "time": f"2026-11-{1 + n * 30 // number:02}T12:00:00+00:00",
                "server": "stock",
                "protocol": "2025-11-25",
                "tool": tools[n % 20],
                "arguments": {"sku": f"A-{n}"},
                "ms_wire": 5.0 + n % 1000,
                "result": result,
                "result_bytes": 40 + n % 100,
            }
            file.write(json.dumps(entry) + "\n")
    return path


def cpu(work: Callable[[], object]) -> float:
    """Seconds of CPU time."""
    began = time.process_time()
    work()
    return time.process_time() - began


def parse(lines: Iterable[bytes]) -> None:
    """Parse lines, and keep none of it."""
    for line in lines:
        json.loads(line)


def wall(work: Callable[[], object]) -> float:
    """Seconds on the clock."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def each(lines: Sequence[bytes]) -> tuple[float, float]:
    """Seconds of CPU time for one line: parsed alone, and judged, taken in turns."""
    numbered = [(Place("calls.jsonl", number), line) for number, line in enumerate(lines, 1)]
    judge(numbered[:100])  # what is loaded at first use is loaded now
    pairs = [(cpu(lambda: parse(lines)), cpu(lambda: judge(numbered))) for _ in range(2 * ROUNDS)]
    return median(parsed for parsed, _ in pairs) / len(lines), median(judged for _, judged in pairs) / len(lines)


def twice_as_fast(path: Path, engine: Callable[[int], Engine]) -> float:
    """How many times as fast two workers are as one, on the clock, taken in turns."""

    def took(workers: int) -> float:
        return wall(lambda: replay(path, engine=engine(workers)))

    rounds = ROUNDS if path.stat().st_size < LARGE else 1
    return median(took(1) / took(2) for _ in range(rounds))


def worker_memory(path: Path) -> int:
    """MB of memory at most, of the larger of two worker processes."""
    code = f"""
import resource
from mcp_guard.testing import Local, replay

if __name__ == "__main__":
    replay({str(path)!r}, engine=Local(2), piece_bytes={max(path.stat().st_size // 20, 1_000_000)})
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""
    script = path.with_suffix(".py")
    script.write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, check=True, text=True)  # noqa: S603  # ours
    return int(done.stdout)


def wide() -> Summary:
    """A summary of as many groups as are kept: 10,000."""
    groups = [
        Group("server", f"tool-{t}", "0123456789ab", f"2026-11-{d:02}", v, "")
        for t in range(167)
        for d in range(1, 31)
        for v in "CV"
    ]
    return Summary(total=len(groups), results=dict.fromkeys(groups[:10_000], 1))


def merging(one: Summary) -> tuple[float, int]:
    """Seconds of CPU time to add two of its kind, and the bytes of one on its way."""
    rounds = 20
    return median(cpu(lambda: one + one) for _ in range(rounds)), len(pickle.dumps(one))


def nothing(_: int) -> int:
    """What a task does where its cost is that of the scheduler."""
    return 1


def main() -> None:
    """Measure, and print two tables."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rows: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        few, many = write(Path(folder) / "few.jsonl", FEW), write(Path(folder) / "many.jsonl", number)
        made = few.read_bytes().splitlines(keepends=True)
        real = [line for path in sorted(REAL.glob("*.jsonl")) for line in path.read_bytes().splitlines(keepends=True)]
        parsed, judged = each(made)
        real_parsed, real_judged = each(real * 10)
        size, real_size = (sum(map(len, lines)) / len(lines) for lines in (made, real))
        small, large = worker_memory(few), worker_memory(many)
        local = twice_as_fast(many, Local)
        on_dask, task = dask(many)
        part = judge([(Place("calls.jsonl", n), line) for n, line in enumerate(made, 1)])
        (merge, travels), (wide_merge, wide_travels) = merging(part), merging(wide())
    rows += [
        ("bytes of a record: made for this / of real servers", f"{size:.0f} / {real_size:.0f}"),
        ("CPU time to judge one", f"{judged * 1e6:.0f} / {real_judged * 1e6:.0f} µs"),
        ("records a second of one core", f"{1 / judged:,.0f} / {1 / real_judged:,.0f}"),
        ("CPU time to judge / to parse alone", f"{judged / parsed:.1f} / {real_judged / real_parsed:.1f}"),
        (f"memory of a worker at most, {FEW:,} records", f"{small} MB"),
        (f"memory of a worker at most, {number:,} records", f"{large} MB"),
        ("two local processes, times as fast as one", f"{local:.2f}"),
        ("two Dask workers, times as fast as one", f"{on_dask:.2f}"),
        ("a task of Dask's, with nothing in it", f"{task * 1e3:.2f} ms"),
        ("a sum of two summaries: 600 groups / 10,000 groups", f"{merge * 1e3:.2f} / {wide_merge * 1e3:.2f} ms"),
        ("a summary on its way", f"{travels / 1e3:.0f} / {wide_travels / 1e3:.0f} kB"),
    ]
    table("what", "seen", rows)
    print()
    table(
        "10,000,000,000 records a day",
        "made for this / of real servers",
        [
            *on_paper((size, real_size), (judged, real_judged), task, wide_merge),
        ],
    )
    if min(local, on_dask) < LEAST:
        sys.exit(f"two workers are not {LEAST} times as fast as one")
    if large > 1.5 * small + 30:
        sys.exit("the memory of a worker grows with the number of records")


def dask(path: Path) -> tuple[float, float]:
    """How many times as fast two workers of a cluster are as one, and the seconds of a task that does nothing."""
    local_cluster: Any = import_module("distributed").LocalCluster
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": logging.ERROR}
    clusters = [local_cluster(n_workers=workers, **options) for workers in (1, 2)]
    try:
        engines = [Dask(cluster.scheduler_address) for cluster in clusters]
        ratio = twice_as_fast(path, lambda n: engines[n - 1])
        tasks = 2_000
        task = wall(lambda: engines[1].sum(nothing, range(tasks))) / tasks
    finally:
        for cluster in clusters:
            cluster.close()
    return ratio, task


def on_paper(
    sizes: tuple[float, float], costs: tuple[float, float], task: float, merge: float
) -> list[tuple[str, str]]:
    """What so many records a day take, by what was measured."""
    from mcp_guard.testing.inputs import PIECE_BYTES

    def both(form: str, of: Callable[[float, float], float]) -> str:
        return " / ".join(format(of(size, cost), form) for size, cost in zip(sizes, costs, strict=True))

    return [
        ("cores, busy all day", both(",.0f", lambda _, cost: A_DAY * cost / DAY)),
        ("input, TB", both(".1f", lambda size, _: A_DAY * size / 1e12)),
        ("input, MB a second, all day", both(",.0f", lambda size, _: A_DAY * size / DAY / 1e6)),
        ("pieces of 16 MB", both(",.0f", lambda size, _: A_DAY * size / PIECE_BYTES)),
        ("the scheduler, hours", both(".2f", lambda size, _: A_DAY * size / PIECE_BYTES * task / 3600)),
        ("all sums, core-hours", both(".2f", lambda size, _: A_DAY * size / PIECE_BYTES * merge / 3600)),
    ]


def table(left: str, right: str, rows: list[tuple[str, str]]) -> None:
    """Print a table of two columns."""
    print(f"| {left} | {right} |\n| --- | --- |")
    for row in rows:
        print("| {} | {} |".format(*row))


if __name__ == "__main__":
    main()
