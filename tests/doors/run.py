"""Runs the tests of every door with each version of its framework, and tells what each framework does with faults.

`make doors` writes docs/doors-before-after.md, and ends with 1 where a test failed or a version could not be installed.
`make doors ARGS="fastmcp langchain_mcp"` runs some of them only; of the others the page keeps what was last seen. The
environments are kept in `.venv-doors`, and so is what was seen.
"""

from __future__ import annotations

import datetime as dt
import importlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

TESTS: Final = Path(__file__).parents[1]
ROOT: Final = TESTS.parent
HOME: Final = ROOT / ".venv-doors"
PAGE: Final = ROOT / "docs" / "doors-before-after.md"
TOOLS: Final = ("markdown-it-py>=3", "pytest>=9", "trio>=0.30")
"""What the tests need besides the framework."""
PATIENCE: Final = 600
WIDTH: Final = 240
"""Characters of a cell."""

HEAD: Final = """\
# Frameworks, before and after

What a framework does with a server that misbehaves: alone, and with the one line that its [door](doors.md) takes. This
page is made by `make doors`, which runs the tests of every door with the versions below. The server is a
[`FaultyServer`](faults.md) with one tool, `get_stock`. Where there is a model, it is scripted: it calls the tool once,
and again only where the framework asks it to. *Ran* is how often the tool did its work.

Run on {date} with mcp_guard {guard} and Python {python}.
"""


def frameworks() -> list[str]:
    """The files of the frameworks."""
    files = sorted(Path(__file__).parent.glob("[a-z]*.py"))
    return [file.stem for file in files if file.stem not in {"run", "play"}]


def environment(requirements: Sequence[str]) -> Path:
    """The Python that has these, the project and what its tests need; made where it is not there yet.

    Raises:
        subprocess.CalledProcessError: They could not be installed.
    """
    folder = HOME / re.sub(r"[^\w.]+", "-", "_".join(requirements))
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = [*TOOLS, *requirements]
    stamp = folder / "made"
    needs = [*wanted, *(each for each in importlib.metadata.requires("mcp-result-guard") or () if "extra" not in each)]
    if not stamp.is_file() or stamp.read_text("utf-8").splitlines() != needs:
        shutil.rmtree(folder, ignore_errors=True)
        run([sys.executable, "-m", "venv", str(folder)])
        run([str(python), "-m", "pip", "install", "--quiet", "--editable", str(ROOT), *wanted])
        stamp.write_text("\n".join(needs), encoding="utf-8")
    return python


def run(command: Sequence[str], *, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command in the project's folder."""
    return subprocess.run(command, cwd=ROOT, check=check, capture_output=True, text=True, timeout=PATIENCE)  # noqa: S603  # ours


def tried(requirements: Sequence[str], tests: str) -> dict[str, Any]:
    """Run the tests of a door with one set of requirements."""
    seen: dict[str, Any] = {"requirements": list(requirements), "mcp": "", "passed": 0, "failed": 0, "said": ""}
    try:
        python = environment(requirements)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        said = getattr(error, "stderr", None) or str(error)
        return {**seen, "failed": 1, "said": "could not be installed: " + said.strip().splitlines()[-1]}
    seen["mcp"] = run([str(python), "-c", "import importlib.metadata as m; print(m.version('mcp'))"]).stdout.strip()
    done = run([str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", str(TESTS / tests)], check=False)
    for count, what in re.findall(r"(\d+) (passed|failed|error)", done.stdout.splitlines()[-1] if done.stdout else ""):
        seen["passed" if what == "passed" else "failed"] += int(count)
    if done.returncode:
        seen["failed"] = seen["failed"] or 1
        seen["said"] = f"pytest ended with {done.returncode}"
        sys.stdout.write((done.stdout + done.stderr)[-4_000:])
    return seen


def played(requirements: Sequence[str], name: str) -> list[dict[str, Any]]:
    """What the framework does with each fault, alone and with its door."""
    played: list[dict[str, Any]] = json.loads(
        run([str(environment(requirements)), str(TESTS / "doors/play.py"), name]).stdout
    )
    return played


def framework(name: str) -> dict[str, Any]:
    """All that is to be seen of one framework."""
    module: Any = importlib.import_module(f"doors.{name}")
    versions = []
    for requirements in module.VERSIONS:
        sys.stdout.write(f"== {module.NAME}: {', '.join(requirements)}\n")
        sys.stdout.flush()
        versions.append(tried(requirements, module.TESTS))
        sys.stdout.write("   {passed} passed, {failed} failed {said}\n".format(**versions[-1]))
    newest = next((version for version in versions if version["mcp"]), None)
    rows: list[dict[str, Any]] = []
    if newest is not None:
        try:
            rows = played(newest["requirements"], name)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:  # the others are still to be seen
            newest["failed"] += 1
            newest["said"] = f"play.py: {type(error).__name__}"
            sys.stdout.write(f"   play.py: {error}\n{str(error.stderr)[-4_000:]}\n")
    return {"name": module.NAME, "line": module.LINE, "note": module.NOTE, "versions": versions, "rows": rows}


def cell(seen: dict[str, Any]) -> str:
    """What came of a call, in a table."""
    if seen["raised"] is not None:
        kind, _, says = seen["raised"].partition(": ")
        return f"ends in `{kind}`: {shown(says)}"
    parts = []
    if seen["told"] is not None:
        parts.append(f"{'told as a failure' if seen['failed'] else 'told'}: {shown(seen['told'])}")
    if seen["data"] is not None:
        parts.append(f"data: `{json.dumps(seen['data'])}`")
    return "; ".join(parts) or "nothing"


def shown(text: str) -> str:
    """A text as it can stand in a table: of a control character its picture, as an escape would be text of its own."""
    line = "".join(chr(ord(c) + 0x2400) if ord(c) < ord(" ") else c for c in text.replace("\n", " "))
    line = re.sub(" +", " ", line).replace("|", "\\|").replace("`", "'")
    return f"`{line if len(line) <= WIDTH else line[: WIDTH - 1] + '…'}`"


def section(seen: dict[str, Any]) -> Iterator[str]:
    """One framework's part of the page."""
    newest = next((version for version in seen["versions"] if version["mcp"]), None)
    yield f"## {seen['name']}\n"
    yield f"The line: `{seen['line']}`." + (f" {seen['note']}" if seen["note"] else "") + "\n"
    if newest is not None:
        yield f"With {', '.join(newest['requirements'])} on mcp {newest['mcp']}:\n"
    yield "| the server | alone | ran | with the line | ran |\n| --- | --- | --- | --- | --- |"
    for row in seen["rows"]:
        alone, guarded = row["alone"], row["guarded"]
        yield f"| {row['case']} | {cell(alone)} | {alone['runs']} | {cell(guarded)} | {guarded['runs']} |"
    yield ""


def matrix(seen: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The versions that pass."""
    yield "## Versions\n"
    yield "| framework | versions | mcp | tests |\n| --- | --- | --- | --- |"
    for each in seen:
        for version in each["versions"]:
            result = f"{version['passed']} passed"
            if version["failed"]:
                result = f"**{version['failed']} failed**, {result} {version['said']}"
            yield f"| {each['name']} | {', '.join(version['requirements'])} | {version['mcp']} | {result} |"


def main(names: Sequence[str]) -> int:
    """Run them, and write the page of what is known of all."""
    if unknown := [name for name in names if name not in frameworks()]:
        sys.exit(f"there is no {unknown[0]!r}; there are: {', '.join(frameworks())}")
    HOME.mkdir(exist_ok=True)
    for name in names or frameworks():
        (HOME / f"{name}.json").write_text(json.dumps(framework(name), indent=1), encoding="utf-8")
    files = [HOME / f"{name}.json" for name in frameworks()]
    seen = [json.loads(file.read_text("utf-8")) for file in files if file.is_file()]
    head = HEAD.format(
        date=dt.datetime.now(dt.timezone.utc).date(),
        guard=importlib.import_module("mcp_guard").__version__,
        python=platform.python_version(),
    )
    lines = [head, *(line for each in seen for line in section(each)), *matrix(seen)]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return int(any(version["failed"] for each in seen for version in each["versions"]))


if __name__ == "__main__":
    sys.path[0] = str(TESTS)  # not here: the files are named as the frameworks are
    sys.exit(main(sys.argv[1:]))
