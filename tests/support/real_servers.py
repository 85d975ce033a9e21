"""Servers that nobody here wrote, from PyPI and npm, each set made once in an environment of its own.

They are kept in `.venv-servers` beside the project, with a stamp that names what is in it; another run, on another
SDK or Python, takes them as they are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

HOME: Final = Path(__file__).parents[2] / ".venv-servers"

FROM_PYPI: Final = ("mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19", "mcp==2.3.0")
FROM_NPM: Final = ("@modelcontextprotocol/server-memory@2025.11.25",)
PATIENCE: Final = 90
"""Seconds that a registry may take."""


class NotHadError(Exception):
    """The servers can't be had here: the reason to skip."""


def from_pypi() -> Path:
    """The Python that has the servers from PyPI.

    Raises:
        NotHadError: They can't be installed here.
    """
    folder = HOME / "pypi"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not _stands(folder, FROM_PYPI):
        _run([sys.executable, "-m", "venv", str(folder)])
        quickly = ("--quiet", "--disable-pip-version-check", "--retries=1", "--timeout=10")
        _run([str(python), "-m", "pip", "install", *quickly, *FROM_PYPI])
        _stamp(folder, FROM_PYPI)
    return python


def from_npm(name: str) -> Path:
    """The command of a server from npm.

    Raises:
        NotHadError: There is no node, or the server can't be installed here.
    """
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise NotHadError("there is no node and npm here")
    folder = HOME / "npm"
    if not _stands(folder, FROM_NPM):
        folder.mkdir(parents=True, exist_ok=True)
        quickly = ("--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1", "--fetch-retry-mintimeout=1000")
        _run([npm, "install", "--prefix", str(folder), *quickly, *FROM_NPM])
        _stamp(folder, FROM_NPM)
    return folder / "node_modules" / ".bin" / name


def _stands(folder: Path, packages: Sequence[str]) -> bool:
    stamp = folder / "made"
    if stamp.is_file() and stamp.read_text("utf-8").split() == [*packages]:
        return True
    shutil.rmtree(folder, ignore_errors=True)
    return False


def _stamp(folder: Path, packages: Sequence[str]) -> None:
    (folder / "made").write_text("\n".join(packages), encoding="utf-8")


def _run(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)  # noqa: S603  # ours
    except subprocess.TimeoutExpired:
        raise NotHadError(f"{Path(command[0]).name} took more than {PATIENCE} s") from None
    except (subprocess.CalledProcessError, OSError) as error:
        said = getattr(error, "stderr", None) or b""
        last = said.decode(errors="replace").strip().splitlines()[-1:]
        raise NotHadError(f"{Path(command[0]).name} failed: {' '.join(last)[:200]}") from None
