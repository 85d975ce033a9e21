"""`JsonlAudit`: whole lines from everybody who writes, rotation, crashes, full disks, and what a user has it keep."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import pickle
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from mcp_guard import GuardError, OutputValidationError, Record, records
from mcp_guard._locks import locked
from mcp_guard.hooks import JsonlAudit
from mcp_guard.records import CallInfo
from support import Connect, Error, in_turn, raw_session, tool
from support.calls import N, data, every_target, guarded, said
from support.made import FULL, PLAIN, record

KEY: Final = b"0123456789abcdef"

only_posix = pytest.mark.skipif(os.name != "posix", reason="it is the operating system's business")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# --- lines


@every_target
async def test_each_call_is_one_line_and_the_line_is_its_record(connect: Connect, tmp_path: Path) -> None:
    told: list[Record] = []
    audit = JsonlAudit(tmp_path / "audit.jsonl")
    answers = in_turn(data({"n": 1}), data({"n": "x"}), said("no", isError=True), Error(-32603))
    options = {"tools": [tool("t", N)], "results": {"t": answers}, "hooks": [told.append, audit]}
    async with guarded(connect, **options) as (tools, _):
        for _ in range(4):
            with suppress(GuardError):
                await tools.call("t")
    assert len(told) == 4
    assert list(records.read(audit.path)) == told
    assert lines_of(audit.path) == [each.to_dict() for each in told]


async def test_calls_that_are_not_sent_or_cancelled_have_their_line(tmp_path: Path) -> None:
    audit = JsonlAudit(tmp_path / "audit.jsonl")
    picky = tool("picky", N, inputSchema={"type": "object", "required": ["x"]})

    async def leave(_: Any) -> Any:
        scope.cancel()
        await anyio.sleep_forever()

    options = {"tools": [picky, tool("t", N)], "results": {"t": leave}, "hooks": [audit]}
    async with guarded(raw_session, **options) as (tools, _):
        with suppress(GuardError):
            await tools.call("picky")
        with anyio.CancelScope() as scope:
            await tools.call("t")
    found = [(each.tool, each.error, each.outcome, each.action) for each in records.read(audit.path)]
    assert found == [("picky", "invalid_arguments", "not_sent", "raise"), ("t", None, "unknown", "raise")]


def test_what_is_there_already_stays_there(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    JsonlAudit(path)(record(1))
    JsonlAudit(path)(record(2))
    assert list(records.read(path)) == [record(1), record(2)]


@only_posix
@pytest.mark.parametrize("options", [{}, {"chain": True, "max_bytes": 1}], ids=["plain", "chained and rotated"])
def test_the_files_can_be_read_by_their_owner_alone(options: dict[str, Any], tmp_path: Path) -> None:
    audit = JsonlAudit(tmp_path / "audit.jsonl", **options)
    for n in range(3):
        audit(record(n))
    modes = {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    assert modes == {0o600}


def test_a_path_is_held_to_where_it_led_when_the_hook_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    audit = JsonlAudit("audit.jsonl")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    audit(PLAIN)
    assert list(records.read(tmp_path / "audit.jsonl")) == [PLAIN]
    assert not [*Path.cwd().iterdir()]


@only_posix
def test_a_link_goes_on_being_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "audit.jsonl"
    link.symlink_to(tmp_path / "real" / "audit.jsonl")
    audit = JsonlAudit(link, max_bytes=1)
    for n in range(2):
        audit(record(n))
    assert link.is_symlink()
    assert list(records.read(link)) == [record(0), record(1)]


def test_a_hook_can_be_sent_to_another_process(tmp_path: Path) -> None:
    audit = JsonlAudit(tmp_path / "audit.jsonl", chain_key=KEY)
    pickle.loads(pickle.dumps(audit))(PLAIN)  # noqa: S301  # ours
    assert list(records.read(audit.path)) == [PLAIN]


# --- many who write


def test_lines_of_many_threads_are_whole_and_all_there(tmp_path: Path) -> None:
    audit = JsonlAudit(tmp_path / "audit.jsonl", chain=True, max_bytes=20_000)

    def write(first: int) -> None:
        for n in range(first, first + 50):
            audit(record(n))

    threads = [threading.Thread(target=write, args=(100 * k,)) for k in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert_all_there(audit.path, {100 * k + n for k in range(6) for n in range(50)})


def assert_all_there(path: Path, numbers: set[int], **how: Any) -> None:
    reading = records.read(path)
    found = [int(each.call_id, 16) for each in reading]
    assert (sorted(found), reading.broken) == (sorted(numbers), 0)
    report = records.verify(path, **how)
    assert report.ok, report
    assert report.chained == len(numbers)


SUPPORT: Final = str(Path(__file__).parent / "support")
WRITER: Final = """
import sys
sys.path.insert(0, sys.argv[1])
from made import record
from mcp_guard.hooks import JsonlAudit

audit = JsonlAudit(sys.argv[2], chain_key=b"0123456789abcdef", max_bytes=20_000)
print(flush=True)
sys.stdin.readline()
for n in range(int(sys.argv[3]), int(sys.argv[4])):
    audit(record(n))
"""


def test_lines_of_many_processes_are_whole_and_chained_over_all_files(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    commands = [[sys.executable, "-c", WRITER, SUPPORT, str(path), f"{k}00", f"{k}60"] for k in range(4)]
    with ExitStack() as stack:
        processes = [
            stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))  # noqa: S603  # ours
            for command in commands
        ]
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()  # it is ready
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()  # all begin
    assert [process.returncode for process in processes] == [0] * 4
    assert len([*tmp_path.iterdir()]) > 5
    assert_all_there(path, {100 * k + n for k in range(4) for n in range(60)}, key=KEY)


@only_posix
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_hook_may_be_shared_with_processes_that_were_forked(tmp_path: Path) -> None:
    audit = JsonlAudit(tmp_path / "audit.jsonl", chain_key=KEY, max_bytes=20_000)

    def write(first: int) -> None:
        for n in range(first, first + 60):
            audit(record(n))

    processes = [multiprocessing.get_context("fork").Process(target=write, args=(100 * k,)) for k in range(3)]
    for process in processes:
        process.start()
    write(300)
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 3
    assert_all_there(audit.path, {100 * k + n for k in range(4) for n in range(60)}, key=KEY)


def test_a_lock_that_is_never_given_back_costs_the_record_and_not_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_guard._locks.PATIENCE", 0.01)
    audit = JsonlAudit(tmp_path / "audit.jsonl")
    with locked(tmp_path / "audit.jsonl.head"), pytest.raises(TimeoutError, match="held by another process"):
        audit(record(1))
    audit(record(2))
    assert list(records.read(audit.path)) == [record(2)]


def test_who_waited_for_a_lock_file_that_was_deleted_meanwhile_locks_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl.head"
    held: list[bool] = []

    def wait() -> None:
        with locked(path) as file:
            held.append(os.path.samestat(os.fstat(file.fileno()), path.stat()))

    with locked(path):
        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(0.05)  # so that it waits; where it does not yet, there is less to see
        path.unlink()
    waiting.join()
    assert held == [True]


# --- rotation


def test_at_its_size_a_file_is_renamed_and_none_grows_over_it(tmp_path: Path) -> None:
    size = len(PLAIN.to_json()) + 1
    audit = JsonlAudit(tmp_path / "audit.jsonl", max_bytes=3 * size + 1)
    for n in range(8):
        audit(record(n))
    names = sorted(each.name for each in tmp_path.glob("*.jsonl"))
    assert names == ["audit.000001.jsonl", "audit.000002.jsonl", "audit.jsonl"]
    assert [len(lines_of(tmp_path / name)) for name in names] == [3, 3, 2]
    assert list(records.read(audit.path)) == [record(n) for n in range(8)]


def test_a_record_that_is_larger_than_a_file_may_be_has_one_of_its_own(tmp_path: Path) -> None:
    audit = JsonlAudit(tmp_path / "audit.jsonl", max_bytes=1)
    for n in range(3):
        audit(record(n))
    assert [len(lines_of(each)) for each in tmp_path.glob("*.jsonl")] == [1, 1, 1]


@pytest.mark.parametrize("keep, left", [(1, 1), (3, 3), (100, 6)])
def test_so_many_renamed_files_are_kept(keep: int, left: int, tmp_path: Path) -> None:
    audit = JsonlAudit(tmp_path / "audit.jsonl", max_bytes=1, keep=keep, chain=True)
    for n in range(7):
        audit(record(n))
    assert list(records.read(audit.path)) == [record(n) for n in range(6 - left, 7)]
    assert records.verify(audit.path).ok is (left == 6)
    report = records.verify(audit.path, pruned=True)
    assert (report.ok, report.first) == (True, 7 - left)


def test_a_file_that_somebody_else_has_moved_is_begun_again(tmp_path: Path) -> None:
    audit = JsonlAudit(tmp_path / "audit.jsonl")
    audit(record(1))
    audit.path.rename(tmp_path / "moved")
    audit(record(2))
    assert list(records.read(audit.path)) == [record(2)]


def test_a_file_that_cannot_be_renamed_grows_and_that_is_said(tmp_path: Path) -> None:
    audit = JsonlAudit(tmp_path / "audit.jsonl", max_bytes=1)
    audit(record(1))
    (tmp_path / "audit.999999999999.jsonl").mkdir()
    (tmp_path / "audit.1000000000000.jsonl").mkdir()  # where it would go
    with pytest.raises(OSError, match="audit"):
        audit(record(2))
    assert list(records.read(audit.path, rotated=False)) == [record(1), record(2)]


# --- crashes and full disks


@pytest.mark.parametrize("options", [{}, {"chain": True}, {"chain_key": KEY}], ids=["plain", "chained", "keyed"])
@pytest.mark.parametrize("left", [1, 2, 100, -2, -1], ids=lambda left: f"{left} bytes")
def test_after_a_line_that_was_cut_off_the_next_ones_are_whole(
    left: int, options: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "audit.jsonl"
    audit = JsonlAudit(path, **options)
    for n in (1, 2):
        audit(record(n))
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    path.write_bytes(whole[: len(whole) - len(last)] + last[:left])
    if left != -1:  # the line's end alone is no loss; else the head was kept after the line, and not yet
        (tmp_path / "audit.jsonl.head").write_bytes(b"")
    JsonlAudit(path, **options)(record(3))
    audit(record(4))
    reading = records.read(path)
    is_lost = left != -1
    assert list(reading) == [record(1), *([] if is_lost else [record(2)]), record(3), record(4)]
    assert reading.broken == is_lost
    if options:
        report = records.verify(path, key=options.get("chain_key"))
        assert (report.ok, report.cut_off, report.chained) == (True, is_lost, 3 if is_lost else 4)


@pytest.mark.parametrize("max_bytes", [1, 100_000], ids=["rotated", "one file"])
def test_where_the_writer_died_before_the_head_was_kept_the_chain_goes_on(max_bytes: int, tmp_path: Path) -> None:
    path, head = tmp_path / "audit.jsonl", tmp_path / "audit.jsonl.head"
    audit = JsonlAudit(path, chain=True, max_bytes=max_bytes)
    audit(record(1))
    kept = head.read_bytes()
    audit(record(2))
    head.write_bytes(kept)
    audit(record(3))
    assert_all_there(path, {1, 2, 3})


def test_where_it_died_between_renaming_and_writing_the_chain_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    audit = JsonlAudit(path, chain=True)
    for n in (1, 2):
        audit(record(n))
    path.rename(tmp_path / "audit.000001.jsonl")
    (tmp_path / "audit.jsonl.head").unlink()
    audit(record(3))
    assert_all_there(path, {1, 2, 3})


FULL_DISK: Final = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from made import record
from mcp_guard.hooks import JsonlAudit

audit = JsonlAudit(sys.argv[2], chain=True)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
for n in range(6):
    if n == 2:
        resource.setrlimit(resource.RLIMIT_FSIZE, (audit.path.stat().st_size + 300, hard))
    if n == 4:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    try:
        audit(record(n))
    except OSError:
        print(n)
"""


@only_posix
def test_a_full_disk_costs_what_is_being_written_and_nothing_else(tmp_path: Path) -> None:
    # a process's limit on the size of files is like a full disk: one write is cut off, the next ones are refused
    command = [sys.executable, "-c", FULL_DISK, SUPPORT, str(tmp_path / "audit.jsonl")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  # ours
    assert done.stdout.split() == ["2", "3"]
    reading = records.read(tmp_path / "audit.jsonl")
    assert ([int(each.call_id, 16) for each in reading], reading.broken) == ([0, 1, 4, 5], 1)
    report = records.verify(tmp_path / "audit.jsonl")
    assert (report.ok, report.chained, report.cut_off) == (True, 4, 1)


@every_target
async def test_what_can_not_be_written_changes_no_call_and_is_logged_once(
    connect: Connect, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "logs").mkdir()
    audit = JsonlAudit(tmp_path / "logs" / "audit.jsonl")
    shutil.rmtree(tmp_path / "logs")
    answers = in_turn(data({"n": 1}), data({"n": "CANARY"}), data({"n": 2}))
    async with guarded(connect, tools=[tool("t", N)], results={"t": answers}, hooks=[audit]) as (tools, _):
        assert await tools.call("t") == {"n": 1}
        with pytest.raises(OutputValidationError):
            await tools.call("t")
        assert await tools.call("t") == {"n": 2}
    logged = [each.getMessage() for each in caplog.records if each.name == "mcp_guard"]
    assert logged == ["the hook JsonlAudit raised FileNotFoundError; the call goes on"]


KILLED: Final = """
import sys
from pathlib import Path
import anyio
sys.path.insert(0, sys.argv[1])
from made import record
from mcp_guard.hooks import JsonlAudit

async def task(audit, first):
    for n in range(first, 10_000, 8):
        audit(record(n))
        await anyio.lowlevel.checkpoint()

async def main():
    audit = JsonlAudit(sys.argv[2], chain_key=b"0123456789abcdef", max_bytes=500_000)
    async with anyio.create_task_group() as tasks:
        for first in range(8):
            tasks.start_soon(task, audit, first)

anyio.run(main, backend=sys.argv[3])
"""


@only_posix
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_after_kill_9_in_the_middle_of_10_000_records_every_complete_line_is_there_and_in_the_chain(
    backend: str, tmp_path: Path
) -> None:
    path = tmp_path / "audit.jsonl"
    command = [sys.executable, "-c", KILLED, SUPPORT, str(path), backend]
    with subprocess.Popen(command) as process:  # noqa: S603  # ours
        while process.poll() is None and not (tmp_path / "audit.000002.jsonl").exists():
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL, "it was through before it was killed"
    reading = records.read(path)
    found = [int(each.call_id, 16) for each in reading]
    assert 1_000 < len(found) < 10_000
    assert reading.broken <= 1
    report = records.verify(path, key=KEY)
    assert (report.ok, report.chained, report.cut_off) == (True, len(found), reading.broken)
    for first in range(8):
        of_task = [n for n in found if n % 8 == first]
        assert of_task == list(range(first, first + 8 * len(of_task), 8)), "none is left out"
    JsonlAudit(path, chain_key=KEY)(record(77_777))
    assert records.verify(path, key=KEY).chained == len(found) + 1


# --- what it is made with


@pytest.mark.parametrize(
    "options, error, says",
    [
        ({"max_bytes": 0}, ValueError, "max_bytes is 0"),
        ({"max_bytes": 1e6}, TypeError, "max_bytes takes a whole number"),
        ({"keep": 0}, ValueError, "keep is 0"),
        ({"keep": True}, TypeError, "keep takes a whole number"),
        ({"chain_key": "secret"}, TypeError, "chain_key takes bytes"),
        ({"chain_key": b"short"}, ValueError, "chain_key has 5 bytes"),
        ({"capture": "all"}, TypeError, "capture takes a function"),
    ],
)
def test_what_it_cannot_be_made_with_is_said_by_name(
    options: dict[str, Any], error: type[Exception], says: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=says):
        JsonlAudit(tmp_path / "audit.jsonl", **options)
    assert not [*tmp_path.iterdir()]


def test_a_folder_that_is_not_there_and_a_path_that_is_no_file_are_known_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        JsonlAudit(tmp_path / "none" / "audit.jsonl")
    with pytest.raises(ValueError, match="no regular file"):
        JsonlAudit(tmp_path)


@pytest.mark.parametrize(
    "before, after, says",
    [
        ({"chain": True}, {}, "chained without a key: chain=True"),
        ({"chain": True}, {"chain_key": KEY}, "chained without a key"),
        ({"chain_key": KEY}, {"chain": True}, "chained with a key: chain_key="),
        ({"chain_key": KEY}, {}, "chained with a key"),
    ],
)
def test_a_chain_is_not_gone_on_with_otherwise_than_it_was_begun(
    before: dict[str, Any], after: dict[str, Any], says: str, tmp_path: Path
) -> None:
    path = tmp_path / "audit.jsonl"
    JsonlAudit(path, **before)(PLAIN)
    written = path.read_bytes()
    with pytest.raises(ValueError, match=says):
        JsonlAudit(path, **after)
    assert path.read_bytes() == written
    JsonlAudit(path, **before)(PLAIN)


def test_with_fsync_the_line_is_on_the_disk_when_the_call_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []

    def sync(opened: int) -> None:
        synced.append(os.fstat(opened).st_size)

    monkeypatch.setattr(os, "fsync", sync)
    audit = JsonlAudit(tmp_path / "audit.jsonl", fsync=True)
    audit(PLAIN)
    audit(PLAIN)
    sizes = [len(PLAIN.to_json()) + 1, 2 * (len(PLAIN.to_json()) + 1)]
    assert [size for size in synced if size in sizes] == sizes


# --- what the user has it keep


Capture = Callable[[CallInfo], Any]


async def kept(capture: Capture, tmp_path: Path, answer: Any = None) -> list[dict[str, Any]]:
    audit = JsonlAudit(tmp_path / "audit.jsonl", capture=capture, chain=True)
    answer = data({"n": 1}, "CANARY") if answer is None else answer
    async with guarded(raw_session, tools=[tool("t", N)], results={"t": answer}, hooks=[audit]) as (tools, _):
        with suppress(GuardError):
            await tools.call("t", {"secret": "CANARY", "sku": "A-1"})
    assert records.verify(audit.path).ok
    assert len(list(records.read(audit.path))) == 1
    return lines_of(audit.path)


async def test_arguments_and_result_are_kept_as_the_function_says_and_no_others(tmp_path: Path) -> None:
    def capture(info: CallInfo) -> Any:
        return {"sku": (info.arguments or {})["sku"], "n": info.result()["structuredContent"]["n"]}

    [line] = await kept(capture, tmp_path)
    assert line["captured"] == {"sku": "A-1", "n": 1}
    assert "CANARY" not in json.dumps(line)


async def test_where_there_is_no_result_there_is_none_to_keep(tmp_path: Path) -> None:
    [line] = await kept(lambda info: {"result": info.result()}, tmp_path, Error(-32603))
    assert line["captured"] == {"result": None}


async def test_nothing_is_kept_where_the_function_gives_nothing(tmp_path: Path) -> None:
    [line] = await kept(lambda _: None, tmp_path)
    assert "captured" not in line


def fails(_: CallInfo) -> Any:
    raise LookupError("CANARY")


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    "capture, error",
    [
        (fails, "LookupError"),
        (lambda _: object(), "ValueError"),
        (lambda _: {1: "CANARY"}, "ValueError"),
        (lambda _: float("nan"), "ValueError"),
        (lambda _: "\ud800", "ValueError"),
        (lambda _: "x" * 1_000_001, "ValueError"),
        (lambda _: "\U0001f600" * 100_000, "ValueError"),
        (lambda _: 10**5000, "ValueError"),
        (lambda _: CYCLE, "ValueError"),
    ],
    ids=["raises", "no JSON", "no name", "NaN", "surrogate", "large", "large when escaped", "long integer", "cycle"],
)
async def test_what_can_not_be_kept_costs_the_record_nothing_and_is_logged(
    capture: Capture, error: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    [line] = await kept(capture, tmp_path)
    assert "captured" not in line
    logged = [(each.levelno, each.getMessage()) for each in caplog.records if each.name == "mcp_guard"]
    assert logged == [(logging.ERROR, f"the hook JsonlAudit raised {error}; the call goes on")]
    assert "CANARY" not in caplog.text


async def test_each_of_many_calls_at_once_is_kept_with_its_own_and_none_is_remembered(tmp_path: Path) -> None:
    audit = JsonlAudit(tmp_path / "audit.jsonl", capture=lambda info: [info.call_id, (info.arguments or {})["x"]])
    options: dict[str, Any] = {"tools": [tool("t", N)], "results": {"t": data({"n": 1})}, "hooks": [audit]}
    async with guarded(raw_session, **options) as (tools, _), anyio.create_task_group() as tasks:
        for n in range(10):
            tasks.start_soon(tools.call, "t", {"x": n})
    captured = [(line["call_id"], *line["captured"]) for line in lines_of(audit.path)]
    assert sorted(x for *_, x in captured) == list(range(10))
    assert all(call == told for call, told, _ in captured)
    assert not audit._calls  # noqa: SLF001  # what it must not keep


def test_without_a_function_nothing_is_kept(tmp_path: Path) -> None:
    audit = JsonlAudit(tmp_path / "audit.jsonl")
    with audit.around(CallInfo(call_id=FULL.call_id, tool="t", arguments={"secret": "CANARY"})):
        audit(FULL)
    assert b"CANARY" not in audit.path.read_bytes()
    assert list(records.read(audit.path)) == [FULL]
