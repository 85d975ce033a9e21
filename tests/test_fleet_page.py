"""docs/fleet.md: what it shows runs. Ray and Spark are in no environment of `make test`, and skipped there."""

from __future__ import annotations

import gzip
import importlib.util
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_guard import Contract, Contracts
from mcp_guard.testing import GET_STOCK, Summary, inputs, judge, summary
from support.calls import data
from support.fleet import line
from support.page import Page, follow

PAGE: Final = "docs/fleet.md"
NEWER: Final[dict[str, Any]] = {
    **GET_STOCK,
    "outputSchema": {
        **GET_STOCK["outputSchema"],
        "properties": {**GET_STOCK["outputSchema"]["properties"], "quantity": {"type": "integer", "minimum": 0}},
    },
}
LINES: Final = [line(data({"sku": "A-1", "quantity": quantity})) for quantity in (1, -1, 2, 3, -1, 4)]


@pytest.fixture(params=["asyncio"])  # a page is followed with `await`, and nothing on it waits
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The event loop of an async test."""
    backend: str = request.param
    return backend


@pytest.fixture
def contracts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Contracts:
    """What the page begins with: a folder ``calls``, and ``new.lock``."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calls").mkdir()
    (tmp_path / "calls" / "1.jsonl.gz").write_bytes(gzip.compress(b"".join(LINES)))
    newer = Contracts()
    newer.learn([Contract.from_tool(NEWER)], server="stock")
    newer.save("new.lock")
    return newer


@pytest.mark.usefixtures("contracts")
async def test_what_is_shown_for_one_machine_and_for_dask_runs() -> None:
    cluster: Any = import_module("distributed").LocalCluster
    names: dict[str, Any] = {}
    await follow(Page(PAGE, heading="On one machine").blocks(), names)
    with cluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as running:
        names["scheduler"] = running.scheduler_address
        await follow(Page(PAGE, heading="On Dask").blocks(), names)
    assert names["summary"].breaks == 2


@pytest.mark.parametrize("engine, module", [("Ray", "ray"), ("Spark", "pyspark")])
@pytest.mark.filterwarnings("ignore")  # the engines' own
async def test_a_recipe_has_less_than_twenty_lines_and_finds_the_same(
    contracts: Contracts, monkeypatch: pytest.MonkeyPatch, engine: str, module: str
) -> None:
    (recipe,) = Page(PAGE, heading=f"On {engine}").blocks()
    assert len(recipe.code.splitlines()) < 20
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    if module == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is none")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    names: dict[str, Any] = {"contracts": contracts}
    await recipe.said(names)
    assert names["summary"] == judge(LINES, contracts)
    assert names["summary"].breaks == 2


def test_the_bounds_are_those_that_are_shown() -> None:
    text = Page(PAGE).text
    for bound, what in (
        (summary.GROUPS_KEPT, "groups"),
        (summary.VIOLATIONS_KEPT, "violations"),
        (summary.TOOLS_KEPT, "tools"),
    ):
        assert f"{bound:,} {what}" in text
    assert f"pieces of {inputs.PIECE_BYTES // 1_000_000} MB" in text
    assert f"of more than {inputs.LONGEST // 1_000_000} MB" in text
    members = {name for row in Page(PAGE).rows("in a `Summary`") for name in row[0].replace("`", "").split(", ")}
    assert {name.partition("(")[0] for name in members} <= set(dir(Summary))
