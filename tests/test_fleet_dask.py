"""Recordings judged on a Dask cluster: real worker processes, some of which die."""

from __future__ import annotations

import gzip
import json
import os
import signal
import socket
import sys
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from mcp_guard import Contract, Contracts
from mcp_guard.cli import main
from mcp_guard.policy import ENFORCE
from mcp_guard.testing import Dask, EngineError, EngineUnreachableError, Local, Summary, replay
from mcp_guard.testing.inputs import Piece, find
from mcp_guard.testing.replaying import Work
from support.calls import data
from support.fleet import ROWS, die, line, mixed, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="workers are killed with a signal that is not there")


def cluster_of(workers: int) -> Any:
    """Worker processes of one thread each, each with a nanny that starts it again."""
    made = import_module("distributed").LocalCluster
    return made(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0")  # several tests at a time


@pytest.fixture(scope="module")
def cluster() -> Generator[Any]:
    with cluster_of(2) as running:
        yield running


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    """Two files, of which one is compressed as the other is parted."""
    lines = mixed(400)
    (tmp_path / "2.jsonl.gz").write_bytes(gzip.compress(b"".join(lines)))
    return write(tmp_path / "1.jsonl", *lines).parent


def test_the_summary_is_the_same_from_dask_and_from_this_process(
    cluster: Any, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contracts = Contracts()
    contracts.register(Contract.from_tool({**ROWS, "outputSchema": {"type": "array"}}))
    monkeypatch.chdir(calls)  # the workers are in another folder
    seen: list[tuple[int, int]] = []
    engine = Dask(cluster.scheduler_address)
    for given in (None, contracts):
        alone = replay("*.jsonl*", given, engine=Local(1))
        shared = replay("*.jsonl*", given, engine=engine, piece_bytes=9_000, progress=lambda *told: seen.append(told))
        assert shared == alone
        assert shared.total == 640
    assert seen[-1][0] == seen[-1][1] == sum(each.stat().st_size for each in calls.iterdir())
    assert len(seen) > 10


def test_a_client_of_one_s_own_is_used_and_left_open(cluster: Any, calls: Path) -> None:
    with import_module("distributed").Client(cluster.scheduler_address) as client:
        assert replay(calls / "*", engine=Dask(client)).total == 640
        assert client.status == "running"


def test_a_worker_that_is_killed_in_mid_run_loses_nothing_and_counts_nothing_twice(cluster: Any, calls: Path) -> None:
    alone = replay(calls / "*", engine=Local(1))
    with import_module("distributed").Client(cluster.scheduler_address) as client:
        victims = list(client.run(os.getpid).values())[:1]

        def kill(*_: int) -> None:
            while victims:
                os.kill(victims.pop(), signal.SIGKILL)

        assert replay(calls / "*", engine=Dask(client), piece_bytes=2_000, progress=kill) == alone
        assert not victims


def test_what_kills_its_worker_once_is_done_again_and_counts_once(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "1").touch()
    assert Dask(cluster.scheduler_address).sum(die, [str(tmp_path / name) for name in ("0", "1", "1")]) == 3


def test_what_kills_every_worker_is_an_error() -> None:
    with cluster_of(1) as running, pytest.raises(EngineError, match="the death of several workers"):
        Dask(running.scheduler_address).sum(die, [""])


def test_an_error_about_a_file_names_it_from_a_worker_too(cluster: Any, calls: Path) -> None:
    pieces = find(calls / "*")
    (calls / "2.jsonl.gz").unlink()
    work = Work(None, ENFORCE, None, "key")
    with pytest.raises(FileNotFoundError) as caught:
        Dask(cluster.scheduler_address).sum(work, pieces)
    assert caught.value.filename == str(calls / "2.jsonl.gz")


def test_the_logs_of_a_cluster_hold_nothing_that_was_recorded_and_no_password(cluster: Any, tmp_path: Path) -> None:
    canary = "canary-4711"
    path = write(tmp_path / "1.jsonl", line(data({"sku": canary, canary: 1}), arguments={"sku": canary}), *mixed(50))
    gone = Piece(number=1, path="memory://gone", url=f"memory://user:{canary}@gone", size=1)
    work = Work(None, ENFORCE, None, "key")
    with import_module("distributed").Client(cluster.scheduler_address) as client:
        found = replay(path, engine=Dask(client), violating=tmp_path / "broken")
        with pytest.raises(FileNotFoundError, match="memory://gone"):
            Dask(client).sum(work, [*find(path), gone])
        logs = (
            f"{client.get_worker_logs(nanny=False)} {client.get_worker_logs(nanny=True)} {client.get_scheduler_logs()}"
        )
    assert "Compute Failed" in logs
    assert canary not in f"{logs} {found}"


def test_a_worker_with_another_version_is_not_believed(cluster: Any, calls: Path) -> None:
    work = Work(None, ENFORCE, None, "key", version="0.0.1")
    with pytest.raises(EngineError, match=r"here it is 0\.0\.1"):
        Dask(cluster.scheduler_address).sum(work, find(calls / "*"))


def test_a_scheduler_that_is_lost_is_an_error(calls: Path) -> None:
    running = cluster_of(1)

    def lose(*_: int) -> None:
        running.close()

    with pytest.raises(EngineError, match="the scheduler was lost"):
        replay(calls / "*", engine=Dask(running.scheduler_address), piece_bytes=3_000, progress=lose)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://127.0.0.1:9", "nonsense", "tls://127.0.0.1:9"])
def test_a_scheduler_that_is_not_there_is_an_error_at_once(
    calls: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(EngineUnreachableError, match=f"{address} can't be reached"):
        replay(calls / "*", engine=Dask(address, timeout=0.5))
    assert main(["replay", "--engine", "dask", "--scheduler", address, str(calls / "*")]) == 3
    assert "can't be reached" in capsys.readouterr().err


async def test_a_port_that_says_nothing_is_an_error_too_also_within_an_event_loop(calls: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(EngineUnreachableError, match="TimeoutError"):
            replay(calls / "*", engine=Dask(address, timeout=0.5))


def test_nothing_to_do_takes_no_scheduler() -> None:
    assert Dask("tcp://127.0.0.1:9").sum(die, []) is None


def test_the_command_judges_on_a_cluster(cluster: Any, calls: Path, tmp_path: Path) -> None:
    words = ["replay", "--engine", "dask", "--scheduler", cluster.scheduler_address, "--format", "json"]
    out, kept, broken = tmp_path / "report.json", tmp_path / "summary.json", tmp_path / "broken"
    command = [*words, "--summary", str(kept), "--violating", str(broken), "-o", str(out), str(calls / "*.jsonl*")]
    assert main(command) == 1
    assert '"results": "640"' in out.read_text("utf-8")
    assert replay(broken / "*").total == 240
    assert Summary.from_dict(json.loads(kept.read_text("utf-8"))) == replay(calls / "*.jsonl*")
