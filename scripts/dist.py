"""Builds wheel and sdist into dist/, looks at what is in them, and runs the suite against the wheel: `make dist`.

The suite is that of the unpacked sdist with its src/ taken away, in an environment where the wheel was installed: so
what it imports is the wheel, and all that it reads has to be in the sdist. Left out is what looks at the sources or
builds wheels itself (`OF_SOURCES`). `--tests` names a part of it; `--sdk mcp1` takes mcp 1.x instead of 2.x.
"""

from __future__ import annotations

import argparse
import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from email.message import Message
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
DIST: Final = ROOT / "dist"
OF_SOURCES: Final = (
    "--ignore=tests/test_project.py",
    "--ignore=tests/test_wheel.py",
    "--deselect=tests/test_memory.py::test_every_container_that_lives_longer_than_a_call_is_in_the_inventory",
)
IN_SDIST: Final = (
    *(
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "SECURITY.md",
        "mkdocs.yml",
        "pyproject.toml",
    ),
    *("docs/security.md", "examples/demo.py", "scripts/dist.py", "tests/conftest.py", "src/mcp_guard/py.typed"),
)
JUNK: Final = re.compile(r"(^|/)(\.venv|\.docs|\.git/|\.hypothesis|site/|dist/|__pycache__)|\.pyc$")


def main() -> None:
    """Build, look, install, test; the first thing that is wrong ends it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sdk", choices=["mcp1", "mcp2"], default="mcp2", help="the major to test with")
    parser.add_argument("--tests", nargs="*", default=["tests"], help="which tests, from the root of the repository")
    options = parser.parse_args()
    shutil.rmtree(DIST, ignore_errors=True)
    say("building")
    run(sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT))
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    say("twine check")
    run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
    say("contents and metadata")
    wrong = [*wrong_with_wheel(wheel), *wrong_with_sdist(sdist)]
    if wrong:
        sys.exit("\n".join(wrong))
    with tempfile.TemporaryDirectory() as folder:
        tested(Path(folder), wheel, sdist, options.sdk, options.tests)


def version() -> str:
    """The version, from the one place where it is written down."""
    text = (ROOT / "src/mcp_guard/_version.py").read_text(encoding="utf-8")
    return text.partition('__version__ = "')[2].partition('"')[0]


def wrong_with_wheel(wheel: Path) -> list[str]:
    """What is wrong with the wheel: a sentence each."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        info = f"mcp_result_guard-{version()}.dist-info"
        metadata = email.message_from_bytes(archive.read(f"{info}/METADATA"))
        scripts = archive.read(f"{info}/entry_points.txt").decode()
    package = ROOT / "src"
    ours = {path.relative_to(package).as_posix() for path in (package / "mcp_guard").rglob("*") if path.is_file()}
    ours = {name for name in ours if not JUNK.search(name)}
    inside = {name for name in names if not name.startswith(f"{info}/")}
    wrong = [f"the wheel lacks {name}" for name in sorted(ours - inside)]
    wrong += [f"the wheel has {name}, which is not in src" for name in sorted(inside - ours)]
    wrong += [
        f"the wheel lacks the entry point {name}" for name in ("mcp-guard = ", "mcp_guard = ") if name not in scripts
    ]
    if f"{info}/licenses/LICENSE" not in names:
        wrong.append("the wheel lacks the licence")
    return wrong + wrong_with_metadata(metadata)


def wrong_with_metadata(metadata: Message) -> list[str]:
    """What a package index would show wrong."""
    asked = {
        "Name": "mcp-result-guard",
        "Version": version(),
        "License-Expression": "MIT",
        "Requires-Python": ">=3.10",
        "Description-Content-Type": "text/markdown",
    }
    wrong = [f"{key} is {metadata[key]!r}" for key, value in asked.items() if metadata[key] != value]
    if not str(metadata.get_payload()).startswith("# mcp_guard"):
        wrong.append("the description is not the README")
    pinned = [line for line in metadata.get_all("Requires-Dist") or [] if "==" in line.partition(";")[0]]
    return wrong + [f"a library pins no version: {line}" for line in pinned]


def wrong_with_sdist(sdist: Path) -> list[str]:
    """What is wrong with the sdist: a sentence each."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wrong = [f"the sdist lacks {name}" for name in IN_SDIST if name not in names]
    return wrong + [f"the sdist has {name}" for name in sorted(names) if JUNK.search(name)]


def tested(folder: Path, wheel: Path, sdist: Path, sdk: str, tests: list[str]) -> None:
    """Run the tests of the sdist against the wheel, in an environment made for it."""
    say(f"the wheel in a new environment, {sdk}")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (project,) = (each for each in folder.iterdir() if each.is_dir())
    shutil.rmtree(project / "src")
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    venv.create(folder / "venv", with_pip=True)
    run(str(python), "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")
    groups = [f"--group={project / 'pyproject.toml'}:{group}" for group in ("test", sdk)]
    run(str(python), "-m", "pip", "install", "--quiet", str(wheel), *groups)
    run(str(python), "-m", "pip", "check")
    home = run(str(python), "-c", "import mcp_guard; print(mcp_guard.__file__)", cwd=project, quiet=True).strip()
    if folder not in Path(home).parents or project in Path(home).parents:
        sys.exit(f"what is imported is not the wheel: {home}")
    run(str(python.with_name("mcp-guard")), "--version", cwd=project)
    say("its tests")
    run(str(python), "-m", "pytest", "-q", "--numprocesses=auto", *OF_SOURCES, *tests, cwd=project)


def say(what: str) -> None:
    """One line that tells how far it is."""
    sys.stdout.write(f"== {what}\n")
    sys.stdout.flush()


def run(*words: str, cwd: Path | None = None, quiet: bool = False) -> str:
    """Run a command; where it fails, this ends with its status."""
    done = subprocess.run(words, cwd=cwd, check=False, encoding="utf-8", stdout=subprocess.PIPE if quiet else None)  # noqa: S603  # ours
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout or ""


if __name__ == "__main__":
    main()
