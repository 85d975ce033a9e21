"""Recordings in a bucket of an S3-compatible server, read and written over HTTP. Run by `make fleet`."""

from __future__ import annotations

import gzip
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from mcp_guard.cli import main
from mcp_guard.testing import Local, replay
from support.fleet import mixed, write

pytest.importorskip("s3fs", reason="s3fs is not installed: make fleet")
pytest.importorskip("moto.server", reason="moto is not installed: make fleet")

pytestmark = pytest.mark.filterwarnings("ignore")  # those of botocore and of the server


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Generator[Any]:
    """The file system of fsspec's, with a bucket ``calls``. Processes that are started find it by the environment."""
    server = import_module("moto.server").ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    system = import_module("s3fs").S3FileSystem(skip_instance_cache=True)
    system.mkdir("calls")
    yield system
    system.invalidate_cache()
    system.rm("calls", recursive=True)
    import_module("s3fs").S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.mark.parametrize("processes", [1, 2])
def test_recordings_in_a_bucket_are_judged_in_pieces_and_what_broke_is_written_there(
    bucket: Any, tmp_path: Path, processes: int
) -> None:
    lines = mixed(300)
    bucket.pipe("calls/2026/11/1.jsonl", b"".join(lines))
    bucket.pipe("calls/2026/11/2.jsonl.gz", gzip.compress(b"".join(lines)))
    here = replay(write(tmp_path / "1.jsonl", *lines))
    there = replay(
        "s3://calls/2026/**/*.jsonl*", engine=Local(processes), piece_bytes=20_000, violating="s3://calls/broken"
    )
    assert there.total == 2 * here.total
    assert there.results == (here + here).results
    assert there.broken_at[0] == ("s3://calls/2026/11/1.jsonl", 9)
    assert replay("s3://calls/broken/*").total == there.by("error")["output_violation",]
    with pytest.raises(FileExistsError):
        replay("s3://calls/2026/11/1.jsonl", violating="s3://calls/broken")


def test_what_is_not_in_the_bucket_ends_the_command_with_one_sentence(
    bucket: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bucket.exists("calls")
    for url in ("s3://calls/gone.jsonl", "s3://calls/gone/*.jsonl", "s3://no-such-bucket/a.jsonl"):
        assert main(["replay", url]) == 4
        said = capsys.readouterr().err
        assert said.startswith(f"mcp-guard: {url}: ")
        assert said.count("\n") == 1


def test_a_bucket_that_can_not_be_reached_ends_the_command_with_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import_module("s3fs").S3FileSystem.clear_instance_cache()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    assert main(["replay", "s3://calls/a.jsonl"]) == 4
    said = capsys.readouterr().err
    assert said.startswith("mcp-guard: s3://calls/a.jsonl: ")
    assert said.count("\n") == 1
