"""Recordings: what `record` writes, and what judging it again says."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import pickle
import stat
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_guard import STRICT, Contract, Contracts, GuardError, guard
from mcp_guard.testing import GET_STOCK, FaultyServer, Local, Place, Recorded, Summary, judge, record, replay
from support import sample_server
from support.calls import data

GOOD: Final = {"sku": "A-1", "quantity": 3}
BAD: Final = {"sku": "A-1", "quantity": "three"}
PACK: Final[dict[str, Callable[[bytes], bytes]]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
NEWER: Final = {**GET_STOCK, "outputSchema": {**GET_STOCK["outputSchema"], "required": ["sku", "quantity", "as_of"]}}


def line(result: Any = None, **members: Any) -> bytes:
    entry = {"server": "stock", "protocol": "2025-11-25", "tool": GET_STOCK, "arguments": {}}
    if result is not None:
        entry["result"] = result
    return json.dumps({**entry, **members}).encode() + b"\n"


def numbered(*lines: bytes) -> list[tuple[Place, bytes]]:
    return [(Place("calls.jsonl", number), each) for number, each in enumerate(lines, 1)]


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(lines))
    return path


async def test_every_call_is_a_line_that_is_complete_in_itself(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    async with FaultyServer().session() as session, record(session, path, server="stock") as tools:
        await tools.call("get_stock", {"sku": "A-1", "warehouse": "BER"})
        await tools.call_tool("get_stock", {"sku": "A-2"})
    entries = [json.loads(each) for each in path.read_bytes().splitlines()]
    assert [entry["arguments"] for entry in entries] == [{"sku": "A-1", "warehouse": "BER"}, {"sku": "A-2"}]
    assert entries[1]["result"]["structuredContent"] == {"sku": "A-2", "quantity": 3}
    assert {entry["tool"]["name"] for entry in entries} == {"get_stock"}
    assert entries[0]["tool"]["outputSchema"] == GET_STOCK["outputSchema"]
    assert entries[0]["server"] == "stock"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_what_was_recorded_can_be_judged_again(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    server = FaultyServer()
    async with server.session() as session, record(session, path) as tools:
        await tools.call("get_stock", {"sku": "A-1"})
        server.fault = "wrong_type"
        await tools.call_tool("get_stock", {"sku": "A-1"})
        server.fault = "rpc_error"
        with pytest.raises(GuardError):
            await tools.call("get_stock", {"sku": "A-1"})
    summary = replay(path)
    assert {group.verdict: n for group, n in summary.results.items()} == {
        "Conforming": 1,
        "Violating": 1,
        "NoResult": 1,
    }
    assert json.loads(path.read_bytes().splitlines()[2])["error"] == {"kind": "protocol_error", "outcome": "unknown"}


async def test_calls_are_appended_and_a_server_can_be_given_instead_of_a_session(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    for _ in range(2):
        async with record(sample_server(), path) as tools:
            await tools.call("add", {"a": 1, "b": 2})
    assert replay(path).total == 2


async def test_a_redaction_changes_what_is_written_or_keeps_it_out(tmp_path: Path) -> None:
    def redact(entry: dict[str, Any]) -> dict[str, Any] | None:
        return None if entry["arguments"]["sku"] == "secret" else {**entry, "arguments": "*"}

    path = tmp_path / "calls.jsonl"
    async with FaultyServer().session() as session, record(session, path, redact=redact) as tools:
        await tools.call("get_stock", {"sku": "A-1"})
        await tools.call("get_stock", {"sku": "secret"})
    assert [json.loads(each)["arguments"] for each in path.read_bytes().splitlines()] == ["*"]


async def test_a_redaction_in_place_changes_nothing_for_the_caller(tmp_path: Path) -> None:
    def redacted(line: dict[str, Any]) -> dict[str, Any]:
        line["arguments"]["sku"] = line["result"]["structuredContent"]["quantity"] = "***"
        line["tool"]["outputSchema"].clear()
        return line

    path, arguments = tmp_path / "calls.jsonl", {"sku": "A-1"}
    async with FaultyServer().session() as session, record(session, path, redact=redacted) as tools:
        assert await tools.call("get_stock", arguments) == {"sku": "A-1", "quantity": 3}
        assert await tools.call("get_stock", arguments) == {"sku": "A-1", "quantity": 3}
    assert arguments == {"sku": "A-1"}
    assert path.read_text("utf-8").count("***") == 4


async def test_after_a_line_that_was_cut_off_the_next_one_is_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "calls.jsonl", line(data(GOOD)), b'{"tool": "get_st')
    async with FaultyServer().session() as session, record(session, path) as tools:
        await tools.call("get_stock", {"sku": "A-1"})
    summary = replay(path)
    assert (summary.total, summary.broken_at) == (2, ((str(path), 2),))


async def test_a_tool_that_is_not_listed_is_recorded_as_one(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    async with FaultyServer("unlisted").session() as session, record(session, path) as tools:
        await tools.call("get_stock", {"sku": "A-1"})
    assert json.loads(path.read_bytes())["tool"] == {"name": "get_stock", "unlisted": True}
    assert [group.verdict for group in replay(path).results] == ["Unchecked"]


def test_results_are_counted_by_server_tool_contract_day_and_verdict() -> None:
    lines = numbered(
        line(data(GOOD), time="2026-11-29T23:30:00-02:00"),
        line(data(BAD), time="2026-11-30T10:00:00Z"),
        line(error={"kind": "timeout"}, time="yesterday"),
    )
    summary = judge(lines)
    mark = Contract.from_tool(GET_STOCK).fingerprint[:12]
    assert dict(summary.results) == {
        ("stock", "get_stock", mark, "2026-11-30", "Conforming", ""): 1,
        ("stock", "get_stock", mark, "2026-11-30", "Violating", "output_violation"): 1,
        ("stock", "get_stock", "", "", "NoResult", ""): 1,
    }
    assert (summary.total, summary.breaks, summary.violating) == (3, 1, 1)
    assert dict(summary.violations) == {("stock", "get_stock", "/quantity", "type"): (1, ("calls.jsonl", 2))}


def test_other_contracts_say_what_would_break_under_them() -> None:
    contracts = Contracts()
    contracts.register(Contract.from_tool(NEWER), server="stock")
    lines = numbered(line(data(GOOD)), line(data({**GOOD, "as_of": "today"})))
    assert judge(lines).breaks == 1  # the older schema is a closed one
    newer = judge(lines, contracts)
    assert {(fault.pointer, fault.keyword): seen.number for fault, seen in newer.violations.items()} == {
        ("", "required"): 1,
        ("", "additionalProperties"): 1,
    }


def test_a_contract_without_a_server_s_name_is_for_every_server() -> None:
    contracts = Contracts()
    contracts.register(Contract.from_tool(NEWER))
    assert judge(numbered(line(data(GOOD))), contracts).breaks == 1
    assert judge(numbered(line(data(GOOD), tool="another")), contracts).by("verdict") == {("Unchecked",): 1}


def test_the_policy_says_what_a_break_is() -> None:
    text_only = numbered(line({"content": [{"type": "text", "text": json.dumps(GOOD)}]}))
    assert judge(text_only).breaks == 0
    assert judge(text_only, policy=STRICT).by("error") == {("structured_missing",): 1}


@pytest.mark.parametrize(
    "broken",
    [
        b"{",
        b"[]",
        b'"\xff"',
        b"{}",
        b'{"tool": {"name": 3}, "result": 1}',
        b'{"tool": {"name": "t"}}',
        b"[" * 100_000,
    ],
    ids=range(7),
)
def test_a_line_that_is_no_recording_is_counted_and_located(tmp_path: Path, broken: bytes) -> None:
    summary = replay(write(tmp_path / "calls.jsonl", line(data(GOOD)), b"\n", broken + b"\n", line(data(GOOD))))
    assert (summary.total, summary.broken) == (2, 1)
    assert summary.broken_at == ((f"{tmp_path}/calls.jsonl", 3),)


def test_a_line_that_is_too_long_is_passed_over_without_being_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_guard.testing.inputs.LONGEST", 2_000)
    path = write(tmp_path / "calls.jsonl", line(data({"x": "y" * 5_000})), line(data(GOOD)))
    summary = replay(path)
    assert (summary.total, summary.broken_at) == (1, ((str(path), 1),))


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz"])
def test_a_compressed_file_that_ends_in_the_middle_is_read_so_far_and_located(tmp_path: Path, suffix: str) -> None:
    packed = PACK[suffix](b"".join(line(data(GOOD), ms_wire=n) for n in range(500)))
    path = write(tmp_path / f"calls.jsonl.{suffix}", packed[: len(packed) * 2 // 3])
    whole = write(tmp_path / "whole.jsonl", line(data(GOOD)))
    summary = replay([path, whole])
    assert (summary.broken, summary.broken_at) == (1, ((str(path), summary.total),))  # its lines, less one of the other
    assert replay(write(tmp_path / f"no.jsonl.{suffix}", b"not compressed")).broken_at == (
        (f"{tmp_path}/no.jsonl.{suffix}", 1),
    )


@pytest.mark.parametrize("suffix", PACK)
def test_compressed_files_are_read_too(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"calls.jsonl.{suffix}", PACK[suffix](line(data(GOOD)) * 3))
    assert replay([path, path]).total == 6


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "soon", 5, None])
def test_a_time_that_is_on_no_day_is_none(time: object) -> None:
    assert Recorded.of(line(data(GOOD), time=time)).day == ""


def test_summaries_add_up_in_any_order_and_grouping() -> None:
    parts = [
        judge(numbered(line(data(GOOD)), b"nonsense")),
        judge(numbered(line(data(BAD)), line(data(GOOD)))),
        judge(numbered(line(data({})))),
    ]
    a, b, c = parts
    assert (a + b) + c == a + (b + c) == c + b + a
    assert (a + b + c).total == 4
    assert a + Summary() == a


def test_a_summary_travels_as_json_and_as_pickle() -> None:
    summary = judge(numbered(line(data(GOOD)), line(data(BAD)), line(data({})), b"{"))
    assert Summary.from_dict(json.loads(json.dumps(summary.to_dict()))) == summary
    assert pickle.loads(pickle.dumps(summary)) == summary  # noqa: S301  # our own


def test_several_processes_find_the_same(tmp_path: Path) -> None:
    path = write(tmp_path / "calls.jsonl", *[line(data(GOOD if n % 7 else BAD)) for n in range(1_200)], b"{\n")
    contracts = Contracts()
    contracts.register(Contract.from_tool(NEWER), server="stock")
    seen: list[tuple[int, int]] = []
    alone = replay(path, contracts, engine=Local(1))
    shared = replay(path, contracts, engine=Local(2), piece_bytes=100_000, progress=lambda *told: seen.append(told))
    assert shared == alone
    assert alone.total == 1_200
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)
    assert len(seen) > 5


def test_memory_does_not_grow_with_the_number_of_lines(tmp_path: Path) -> None:
    few = write(tmp_path / "few.jsonl", *[line(data({**GOOD, "quantity": n})) for n in range(60)])
    many = write(tmp_path / "many.jsonl", *[few.read_bytes()] * 10)
    replay(few)  # what is loaded at first use is loaded now

    def peak(path: Path) -> int:
        tracemalloc.start()
        replay(path, piece_bytes=10_000, engine=Local(1))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(many) < 1.5 * peak(few)


def test_a_schema_that_takes_everything_is_graded_as_vacuous() -> None:
    closed = judge(numbered(line(data(GOOD))))
    vacuous = judge(numbered(line(data(GOOD), tool={**GET_STOCK, "outputSchema": {"type": "object"}})))
    assert closed.grade("get_stock") == 1.0
    assert vacuous.grade("get_stock") == pytest.approx(1 / 3, abs=0.1)
    assert judge(numbered(line(data(BAD)))).grade("get_stock") is None


def test_words_of_a_recording_are_escaped_and_cut_in_a_summary() -> None:
    tool = {**GET_STOCK, "name": "\x1b[2J" + "x" * 200}
    summary = judge(numbered(line(data({**GOOD, "\x1b[2J": 1}), tool=tool, server="\x07")))
    assert "\x1b" not in str(summary.to_dict())
    assert "\x07" not in str(summary.to_dict())
    assert all(len(group.tool) <= 64 for group in summary.results)


def test_at_least_one_process_and_one_byte_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="processes is at least 1"):
        Local(0)
    with pytest.raises(ValueError, match="piece_bytes is at least 1"):
        replay(tmp_path / "calls.jsonl", piece_bytes=0)


def test_the_recordings_of_real_servers_break_nothing_but_by_their_own_errors() -> None:
    summary = replay(sorted((Path(__file__).parent / "data" / "recordings").glob("*.jsonl")))
    assert summary.total > 300
    assert summary.broken == 0
    assert {kind for (kind,) in summary.by("error")} == {"", "tool_error"}


def test_a_recorded_line_is_read_as_it_was_meant() -> None:
    recorded = Recorded.of(line(data(GOOD), tool={"name": "gone", "_unlisted": True}))
    assert not recorded.listed
    assert recorded.has_result


async def test_a_guarded_session_can_not_be_guarded_again_and_is_recorded_as_it_is(tmp_path: Path) -> None:
    async with FaultyServer().session() as session:
        with pytest.raises(TypeError, match="guarded already"):
            async with record(guard(session), tmp_path / "calls.jsonl"):
                pass
