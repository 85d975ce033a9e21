"""The wheel: what is in it, and that a stranger's project works with it alone, away from this repository."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of nothing but what git would have."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check")
    pip(*("wheel", *options, "--wheel-dir", str(folder), str(ROOT)))
    (built,) = folder.glob("*.whl")
    return built


def pip(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, capture_output=True)  # noqa: S603  # ours


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top.partition("-")[0] for top in tops} == {"mcp_guard", "mcp_result_guard"}
    assert {"mcp_guard/py.typed", "mcp_guard/record.schema.json"} <= set(names)


def test_a_stranger_s_suite_runs_on_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    site, project = tmp_path / "site", tmp_path / "project"
    project.mkdir()
    pip("install", "--no-deps", "--quiet", "--disable-pip-version-check", "--target", str(site), str(wheel))
    (project / "test_agent.py").write_text(
        """
import mcp_guard
import pytest
from mcp_guard import GuardError
from mcp_guard.testing import FaultyServer

pytestmark = pytest.mark.anyio

@pytest.fixture
def anyio_backend():
    return "asyncio"

async def test_agent(mcp_guarded):
    async with FaultyServer("missing_field").session() as session:
        with pytest.raises(GuardError):
            await mcp_guarded(session).call("get_stock", {"sku": "A-1"})

def test_home():
    print(mcp_guard.__file__)
""",
        encoding="utf-8",
    )
    # in front of the editable install of this very environment
    environment = {**os.environ, "PYTHONPATH": str(site)}
    words = [sys.executable, "-m", "pytest", "-p", "no:asyncio", "-rP", "-q"]
    done = subprocess.run(words, cwd=project, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  # ours
    assert done.returncode == 1
    assert str(site / "mcp_guard") in done.stdout
    assert "mcp_guard: 1 of 1 tool calls broke their contract" in done.stdout
    assert "2 passed, 1 error" in done.stdout
