"""What checking a large result costs in memory, as a page.

    python benchmarks/memory.py [MILLIONS_OF_CHARACTERS]

Promised: the guard copies a result at most once. Each row is measured in processes of their own: what Python allocated
besides the result (`tracemalloc`), and how much larger the process became, an extension module's work included. What is
read from a text is new, and several times as large as the text. `tests/test_memory.py` holds the same to bounds.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from mcp_guard import STRICT, Contract, check

HERE: Final = Path(__file__).parent
MEGABYTE: Final = 1_000_000
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"rows": {"items": {"properties": {"id": {"type": "integer"}}, "required": ["id"]}}},
    "required": ["rows"],
}


def rows(size: int, last: Any = 1) -> dict[str, Any]:
    """Objects of about a hundred characters each."""
    made: list[Any] = [{"id": nth, "name": "n" * 60, "share": nth / 7} for nth in range(size // 100)]
    return {"rows": [*made, {"id": last}]}


def data(value: Any, *texts: str) -> dict[str, Any]:
    """A result with structured content."""
    return {**said(*texts), "structuredContent": value}


def said(*texts: str, **members: Any) -> dict[str, Any]:
    """A result with text blocks."""
    return {"content": [{"type": "text", "text": text} for text in texts], **members}


RESULTS: Final[dict[str, Callable[[int], Any]]] = {
    "rows that fit": lambda size: data(rows(size)),
    "rows, the last one wrong": lambda size: data(rows(size, "x")),
    "one text that fits": lambda size: data({"rows": [], "text": "x" * size}),
    "numbers": lambda size: data({"rows": [], "numbers": [*range(100_000, 100_000 + size // 20)]}),
    "rows, as text alone": lambda size: said(json.dumps(rows(size))),
    "rows, as text besides (STRICT)": lambda size: data(rows(size // 2), json.dumps(rows(size // 2))),
    "text that is no JSON": lambda size: said("x" * size),
    "an error's text": lambda size: said("x" * size, isError=True),
}


def resident() -> int:
    """The most memory that this process had, in bytes, since `forget`; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    lines = status.read_text("ascii").splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def forget() -> None:
    """Begin to count anew."""
    gc.collect()
    if (counter := Path("/proc/self/clear_refs")).exists():
        counter.write_text("5")


def measure(name: str, size: int, *, tracing: bool) -> list[float]:
    """Sizes and peaks of one check, in bytes."""
    contract, policy = Contract("t", SCHEMA), STRICT
    for small in (data(rows(0)), data(rows(0, "x")), said("x"), said('{"rows": []}')):
        check(small, contract, policy=policy)  # loads what is loaded when it is first needed
    gc.collect()
    if tracing:
        tracemalloc.start()
    result = RESULTS[name](size)
    held, _ = tracemalloc.get_traced_memory() if tracing else (0, 0)
    forget()
    before = resident()
    if tracing:
        tracemalloc.reset_peak()
    verdict = check(result, contract, policy=policy)
    _, peak = tracemalloc.get_traced_memory() if tracing else (0, 0)
    larger = resident() - before
    del verdict
    return [len(json.dumps(result)), held, peak - held, larger]


def in_a_process(name: str, size: int, *, tracing: bool) -> list[float]:
    """The same, where nothing was done before."""
    command = [sys.executable, __file__, "--measure", name, str(size), str(int(tracing))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  # this very program
    figures: list[float] = json.loads(done.stdout)
    return figures


def main() -> None:
    """Print the page."""
    size = int(float(sys.argv[1] if len(sys.argv) > 1 else "5") * MEGABYTE)
    print("| result | JSON, MB | in Python, MB | allocated besides, MB | times that in Python | process larger, MB |")
    print("| --- | --: | --: | --: | --: | --: |")
    for name in RESULTS:
        sent, held, peak, _ = in_a_process(name, size, tracing=True)
        *_, larger = in_a_process(name, size, tracing=False)
        figures = [f"{each / MEGABYTE:.1f}" for each in (sent, held, peak)]
        print(f"| {' | '.join([name, *figures, f'{peak / held:.2f}', f'{larger / MEGABYTE:.1f}'])} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]), tracing=sys.argv[4] == "1")))
    else:
        main()
