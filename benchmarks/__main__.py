"""How fast is it? One command for all questions, on both majors of the SDK: docs/performance.md.

    python -m benchmarks                      all of them; writes the tables into the page (half an hour)
    python -m benchmarks QUESTION ...         those; prints their tables
    python -m benchmarks QUESTION --seconds 1 the same in less time for each comparison, and less sure

Each question is a file of this folder, and runs in a process of its own, with the SDK of `.venv-mcp1` and of
`.venv-mcp2`. A table whose null control fails (the same way timed twice is not within 0.98 to 1.02) is void, and says
so; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib
import importlib.metadata
import platform
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Final

import anyio
from benchmarks._table import Table

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- made by `make benchmarks`: begin -->", "<!-- end -->"
QUESTIONS: Final = ("calls", "hooks", "checks", "walks", "contracts", "imports", "growth", "stalls")
WITH_EITHER: Final = frozenset({"checks", "walks", "imports"})
"""What has nothing to do with the SDK's major is asked once."""
OTHERS: Final = ("memory", "hazards", "records", "replay", "fleet")
"""Scripts of this folder with questions, and tables, of their own."""
SECONDS: Final = 10.0
PACKAGES: Final = ("mcp", "fastmcp", "jsonschema", "jsonschema-rs", "pydantic", "anyio", "opentelemetry-sdk")
VOID: Final = 1
TRIES: Final = 2
"""What is void is asked once more."""


def machine() -> str:
    """What it was measured on."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text("utf-8").splitlines()
        cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), cpu)
    return f"{cpu}, {platform.system()}, Python {platform.python_version()}"


def versions() -> str:
    """What is installed here."""
    return ", ".join(f"{package} {importlib.metadata.version(package)}" for package in PACKAGES)


def tables_of(question: str, seconds: float, *, tiny: bool = False) -> list[Table]:
    """What one question finds out, asked in this process; `tiny`: whether it can be asked at all."""
    answer = importlib.import_module(f"benchmarks.{question}").answer
    tables: list[Table] = anyio.run(partial(answer, seconds, tiny=tiny))
    return tables


def ask(question: str, seconds: float) -> int:
    """Print its tables."""
    tables = tables_of(question, seconds)
    print(*tables, sep="\n")
    return VOID if any(table.void for table in tables) else 0


def asked(python: Path, question: str, seconds: float) -> tuple[str, bool]:
    """The same in a process of its own, and whether a table is void, also when it is asked again."""
    command = [str(python), "-m", "benchmarks", "--here", question, "--seconds", str(seconds)]
    tables = ""
    for _ in range(TRIES):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603  # this very program
        if done.returncode not in (0, VOID) or not done.stdout:
            raise SystemExit(f"{question}, {python}:\n{done.stderr}")
        tables = done.stdout
        if done.returncode == 0:
            return tables, False
    return tables, True


def all_asked(questions: list[str], seconds: float) -> tuple[str, bool]:
    """Everything, major by major."""
    parts: list[str] = []
    void = False
    for major in ("2", "1"):
        python = ROOT / f".venv-mcp{major}" / "bin" / "python"
        here = [question for question in questions if major == "2" or question not in WITH_EITHER]
        if not here:
            continue
        told = "from benchmarks.__main__ import versions; print(versions())"
        has = subprocess.run([str(python), "-c", told], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603  # the same
        parts.append(f"## On mcp {major}.x\n\n{has.stdout.strip()}.\n")
        for question in here:
            print(f"mcp {major}.x: {question}", file=sys.stderr)
            tables, failed = asked(python, question, seconds)
            parts.append(tables)
            void = void or failed
    return "\n".join(parts), void


def written(page: str, tables: str) -> str:
    """The page with these tables between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables.rstrip()}\n\n{END}{after}"


def main() -> int:
    """Ask what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("questions", nargs="*", choices=[*QUESTIONS, []], help=f"of: {', '.join(QUESTIONS)}")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of CPU for each comparison")
    parser.add_argument("--here", action="store_true", help="in this process, with its own SDK")
    given = parser.parse_args()
    if given.here:
        return max(ask(question, given.seconds) for question in given.questions)
    tables, void = all_asked(given.questions or [*QUESTIONS], given.seconds)
    if given.questions:
        print(tables)
    else:
        when = dt.datetime.now(dt.timezone.utc).date().isoformat()
        tables = f"Measured on {when}: {machine()}. {given.seconds:g} s of CPU time for each comparison.\n\n{tables}"
        PAGE.write_text(written(PAGE.read_text("utf-8"), tables), encoding="utf-8")
        print(f"The tables stand in {PAGE.relative_to(ROOT)}. Scripts with tables of their own: {', '.join(OTHERS)}.")
    return VOID if void else 0


if __name__ == "__main__":
    sys.exit(main())
