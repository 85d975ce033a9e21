"""A fleet's recordings: summaries that add up exactly, and input and output where fleets keep them."""

from __future__ import annotations

import gzip
import json
import pickle
import random
import re
import traceback
from collections import Counter
from collections.abc import Generator
from functools import reduce
from importlib import import_module
from operator import add
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mcp_guard import Contract, Contracts, guard
from mcp_guard.cli import main
from mcp_guard.hooks import JsonlAudit
from mcp_guard.testing import (
    GET_STOCK,
    EngineError,
    FaultyServer,
    Local,
    Place,
    Summary,
    inputs,
    judge,
    judging,
    replay,
)
from mcp_guard.testing import summary as summaries
from mcp_guard.testing.inputs import find, lines_of, newlines_in
from mcp_guard.testing.inputs import numbered as placed
from mcp_guard.testing.sketch import Sketch, bucket_of
from mcp_guard.testing.summary import Tool
from support.calls import data
from support.fleet import BAD, GOOD, ROWS, audited, die, line, mixed, numbered, write

LINES = numbered(*mixed(120))
BOUNDS = ("GROUPS_KEPT", "VIOLATIONS_KEPT", "TOOLS_KEPT", "PLACES_KEPT")


def parts(seed: int, number: int) -> list[list[tuple[Place, bytes]]]:
    """The lines in another order, in so many parts, some of which may be empty."""
    chance = random.Random(seed)  # noqa: S311  # no secret
    lines = chance.sample(LINES, len(LINES))
    ends = sorted(chance.choices(range(len(lines) + 1), k=number - 1))
    return [lines[a:b] for a, b in zip([0, *ends], [*ends, len(lines)], strict=True)]


def summed(seed: int, found: list[Summary]) -> Summary:
    """Their sum, in some order and some grouping."""
    chance = random.Random(seed)  # noqa: S311  # no secret
    while len(found) > 1:
        one = found.pop(chance.randrange(len(found)))
        other = found.pop(chance.randrange(len(found)))
        found.append(one + other)
    return found[0]


@given(st.integers(), st.integers(1, 12), st.sampled_from([None, 1, 2, 5]))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
def test_the_summary_is_the_same_however_the_lines_are_parted_and_the_parts_added_up(
    seed: int, number: int, bound: int | None
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in BOUNDS if bound is not None else ():
            patch.setattr(summaries, name, bound)
            patch.setattr(judging, name, bound)
        whole = judge(LINES)
        found = [judge(part) for part in parts(seed, number)]
        travelled = [Summary.from_dict(json.loads(json.dumps(each.to_dict()))) for each in found]
        assert travelled == found
        assert summed(seed, found) == whole
        assert summed(seed + 1, travelled).to_dict() == whole.to_dict()


def test_a_summary_has_every_kind_of_count() -> None:
    whole = judge(LINES)
    assert whole.total == 96
    assert whole.broken == 24
    assert whole.broken_at[:2] == (("calls.jsonl", 9), ("calls.jsonl", 10))
    assert {group.verdict for group in whole.results} == {"Conforming", "Violating", "Errored", "NoResult"}
    assert whole.by("error") == {("",): 48, ("output_violation",): 36, ("tool_error",): 12}
    assert whole.breaks == 48
    faults = {(fault.tool, fault.pointer, fault.keyword): seen for fault, seen in whole.violations.items()}
    assert faults["list_rows", "/rows/*/n", "type"] == (12, ("calls.jsonl", 3))
    assert (whole.violating, whole.left_out) == (36, 0)
    assert whole.sizes[Tool("stock", "get_stock")].count == 12
    assert whole.times[Tool("stock", "get_stock")].count == 24
    assert whole.grade("get_stock", server="server-0") == 1.0
    assert pickle.loads(pickle.dumps(whole)) == whole  # noqa: S301  # our own


def test_the_example_of_a_violation_is_the_first_by_its_number_and_not_by_the_digits() -> None:
    two, ten = ((Place("a", number), line(data(BAD))) for number in (2, 10))
    for order in ((two, ten), (ten, two)):
        (seen,) = reduce(add, (judge([each]) for each in order)).violations.values()
        assert seen == (2, ("a", 2))


def test_what_is_kept_of_too_much_is_what_comes_first_and_its_counts_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in BOUNDS:
        monkeypatch.setattr(summaries, name, 2)
        monkeypatch.setattr(judging, name, 2)
    names = ["a-very-long-name", "bb", "a", "cc"] * 9
    lines = numbered(*(line(data(BAD), tool={**GET_STOCK, "name": name}, ms_wire=1) for name in names), *[b"{"] * 9)
    kept = judge(lines)
    assert {(group.tool, number) for group, number in kept.results.items()} == {("a", 9), ("bb", 9)}
    assert {tool.tool: sketch.count for tool, sketch in kept.times.items()} == {"a": 9, "bb": 9}
    assert {(fault.tool, seen.number) for fault, seen in kept.violations.items()} == {("a", 9), ("a-very-long-name", 9)}
    assert (kept.total, kept.breaks, kept.violating, kept.left_out, kept.broken) == (36, 36, 36, 18, 9)
    assert kept.broken_at == (("calls.jsonl", 37), ("calls.jsonl", 38))


def test_lines_without_a_place_are_judged_and_have_no_example() -> None:
    found = judge([line(data(GOOD)), line(data(BAD)).decode(), "{"])
    assert (found.total, found.breaks, found.broken, found.broken_at) == (2, 1, 1, ())
    assert [seen.example for seen in found.violations.values()] == [None]
    assert found.grade("get_stock") is None


@pytest.mark.parametrize(
    "written",
    [{}, {"format": "mcp-guard-summary", "version": 2}, {"format": "mcp-guard-summary", "version": 1, "total": 1}],
    ids=["nothing", "newer", "cut off"],
)
def test_what_is_no_summary_is_refused(written: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="this is no summary"):
        Summary.from_dict(written)


def test_an_unknown_field_to_count_by_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="it has server, tool, fingerprint"):
        Summary().by("colour")


@given(st.lists(st.floats(0, 1e13), min_size=1, max_size=200), st.floats(0, 1))
def test_a_quantile_of_a_sketch_is_within_two_percent(values: list[float], share: float) -> None:
    sketch = Sketch(Counter(map(bucket_of, values)))
    read = sketch.quantile(share)
    exact = sorted(min(max(value, 0.001), 1e12) for value in values)[int(share * (len(values) - 1))]
    assert read == pytest.approx(exact, rel=0.0201)
    assert sketch.count == len(values)


def test_a_sketch_of_nothing_has_no_quantiles() -> None:
    assert Sketch().quantile(0.5) is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        Sketch().quantile(50)
    assert len({bucket_of(0.001 * 1.001**n) for n in range(40_000)}) == 1_246


@given(
    st.lists(st.sampled_from([b"", b"1", b"22", b"4444\r", b"\xff" * 9, b"  "]), max_size=12),
    st.integers(1, 30),
    st.sampled_from([b"\n", b""]),
)
@example([b"1", b"", b"22"], 2, b"\n")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_pieces_of_a_file_have_its_lines_and_their_numbers(
    tmp_path: Path, lines: list[bytes], piece_bytes: int, end: bytes
) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b"\n".join(lines) + end)
    pieces = find(path, piece_bytes=piece_bytes)
    newlines = sum(map(newlines_in, pieces), Counter[int]())
    found = [each for piece in placed(pieces, newlines) for each in lines_of(piece)]
    assert found == list(lines_of(find(path)[0]))
    assert sum(piece.size for piece in pieces) == path.stat().st_size


@given(st.integers(1, 40), st.integers(1, 50))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_line_that_is_too_long_is_passed_over_whole_in_pieces_too(tmp_path: Path, length: int, size: int) -> None:
    path = write(tmp_path / "calls.jsonl", b"x" * length + b"\n", b"y\n", b"z" * length)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "LONGEST", 10)
        pieces = find(path, piece_bytes=size)
        pieces = placed(pieces, sum(map(newlines_in, pieces), Counter[int]()))
        assert [each for piece in pieces for each in lines_of(piece)] == list(lines_of(find(path)[0]))


def test_paths_and_globs_are_found_in_the_order_of_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b" / "folder.jsonl").mkdir(parents=True)
    for name in ("b/2.jsonl", "b/10.jsonl", "1.jsonl", "[x].jsonl"):
        write(tmp_path / name, line(data(BAD)))
    assert [piece.path for piece in find(["**/*.jsonl", "[x].jsonl"])] == [
        "1.jsonl",
        "[x].jsonl",
        str(Path("b/10.jsonl")),
        str(Path("b/2.jsonl")),
        "[x].jsonl",
    ]
    assert list(replay("b/*.jsonl").violations.values()) == [(2, (str(Path("b/10.jsonl")), 1))]


@pytest.mark.parametrize(
    "path, error",
    [
        ("gone.jsonl", FileNotFoundError),
        ("gone*.jsonl", FileNotFoundError),
        (".", IsADirectoryError),
        ("memory://gone.jsonl", FileNotFoundError),
        ("memory://gone/*.jsonl", FileNotFoundError),
        ("nonsense://x", ValueError),
        ("simplecache::memory://x/*", ValueError),
    ],
)
def test_what_is_not_there_is_an_error_before_anything_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, error: type[Exception]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error):
        replay(path)


@pytest.fixture
def memory() -> Generator[Any]:
    """Fsspec's file system in memory, empty before and after."""
    system, _ = inputs.remote("memory://")
    yield system
    system.rm("/", recursive=True)


def test_urls_are_read_through_fsspec_in_pieces_and_compressed(memory: Any) -> None:
    lines = mixed(60)
    memory.pipe("/calls/1.jsonl", b"".join(lines))
    memory.pipe("/calls/2.jsonl.gz", gzip.compress(b"".join(lines)))
    (one, packed) = (replay(f"memory://calls/{name}") for name in ("1.jsonl", "2.jsonl.gz"))
    assert one.results == packed.results
    both = replay("memory://calls/*", piece_bytes=3_000)
    assert both == one + packed == packed + one
    assert both.broken_at[0] == ("memory:///calls/1.jsonl", 9)


def test_a_compression_that_nothing_here_reads_ends_the_command_with_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(import_module("fsspec.compression").compr, "lz4", raising=False)
    path = write(tmp_path / "calls.jsonl.lz4", b"whatever")
    assert main(["replay", str(path)]) == 2
    assert "compressed with lz4" in capsys.readouterr().err


def test_what_is_secret_in_a_url_is_not_in_a_summary() -> None:
    assert inputs.shown("https://user:secret@example.org/a/b.jsonl?sig=secret#x") == "https://example.org/a/b.jsonl"
    assert inputs.shown("sftp://user:secret@host:22/a?b.jsonl") == "sftp://host:22/a?b.jsonl"
    assert inputs.shown("s3://bucket/a@b.jsonl") == "s3://bucket/a@b.jsonl"


def test_an_error_of_a_file_system_names_the_file_as_it_may_be_shown_and_quotes_nothing(memory: Any) -> None:
    assert not memory.exists("/gone")
    url = "memory://user:sesame@gone/1.jsonl"
    with pytest.raises(FileNotFoundError) as caught:
        replay(url)
    assert caught.value.filename == "memory://gone/1.jsonl"
    assert "sesame" not in "".join(traceback.format_exception(caught.value))


async def test_an_audit_file_is_counted_as_it_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    server = FaultyServer()
    async with server.session() as session:
        tools = guard(session, hooks=[JsonlAudit(path)], server="stock")
        for fault in (None, "wrong_type", "wrong_type"):
            server.fault = fault
            await tools.judge("get_stock", {"sku": "A-1"})
    found = replay(path)
    assert found.total == 3
    assert found.by("server", "tool", "verdict", "error") == {
        ("stock", "get_stock", "Violating", "output_violation"): 2,
        ("stock", "get_stock", "Conforming", ""): 1,
    }
    assert [(fault.pointer, fault.keyword, seen.number) for fault, seen in found.violations.items()] == [
        ("/sku", "type", 2)
    ]
    assert found.times[Tool("stock", "get_stock")].count == found.sizes[Tool("stock", "get_stock")].count == 3


def test_a_record_of_a_newer_format_is_a_broken_line() -> None:
    newer = {**json.loads(audited()), "v": 99}
    assert judge([json.dumps(newer)]).broken == 1


def test_a_tool_that_is_ambiguous_stays_so_on_its_way_to_other_processes(tmp_path: Path) -> None:
    contracts = Contracts()
    two = [GET_STOCK, {**GET_STOCK, "outputSchema": {"type": "object"}}]
    contracts.learn([Contract.from_tool(tool) for tool in two], server="stock")
    path = write(tmp_path / "calls.jsonl", *[line(data(GOOD))] * 20)
    alone = replay(path, contracts)
    assert alone.by("verdict") == {("Unenforceable",): 20}
    assert replay(path, contracts, engine=Local(2), piece_bytes=3_000) == alone


def test_a_process_that_dies_is_an_error_and_not_a_smaller_sum() -> None:
    with pytest.raises(EngineError, match="died"):
        Local(2).sum(die, ["", "", ""])


@pytest.mark.parametrize("where", ["folder", "memory"])
def test_lines_that_broke_their_contract_are_written_as_they_are_with_what_was_found(
    tmp_path: Path, memory: Any, where: str
) -> None:
    path = write(tmp_path / "calls.jsonl", *mixed(60))
    to = str(tmp_path / "out") if where == "folder" else "memory://out"
    found = replay(path, violating=to, piece_bytes=10_000, engine=Local(1))
    if where == "folder":
        files = {each.name: each.read_bytes() for each in (tmp_path / "out").iterdir()}
    else:
        files = {name.rpartition("/")[2]: memory.cat(name) for name in memory.find("/out")}
    assert len(files) > 1
    assert set(files) <= {f"part-{number:06d}.jsonl" for number in range(20)}
    entries = [json.loads(each) for name in sorted(files) for each in files[name].splitlines()]
    assert len(entries) == found.by("error")["output_violation",] == 18
    assert entries[0]["judged"] == {
        "place": {"path": str(path), "number": 2},
        "verdict": "Violating",
        "error": "output_violation",
        "violations": [{"pointer": "/quantity", "keyword": "type"}],
    }
    assert entries[0]["result"]["structuredContent"] == BAD
    again = replay(f"{to}/part-*.jsonl")
    assert again.total == again.breaks == 18
    with pytest.raises(FileExistsError):
        replay(path, violating=to)


def test_nothing_of_a_recording_is_in_a_summary_a_report_or_a_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    canary = "canary-4711"
    closed = {**GET_STOCK, "description": canary}
    lines = [
        line(data({**GOOD, "sku": canary}), tool=closed, arguments={"sku": canary}),
        line(data({**GOOD, canary: 1, "quantity": canary}), tool=closed),
        line({"content": [{"type": "text", "text": canary}], "isError": True}),
        line(error={"kind": canary}, protocol=canary),
        audited(correlation=canary, arguments_hash=canary, call_id=canary),
        json.dumps({"tool": canary}).encode() + b"\n",
    ]
    path, kept = write(tmp_path / "calls.jsonl", *lines), tmp_path / "summary.json"
    for form in ("text", "json", "html", "junit", "sarif", "github"):
        assert main(["replay", "--format", form, "--summary", str(kept), str(path)]) == 1
    said = capsys.readouterr()
    assert "output_violation" in said.out
    assert canary not in said.out + said.err + caplog.text + kept.read_text("utf-8")


def test_the_command_writes_a_summary_that_can_be_added_and_a_page_with_plots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [write(tmp_path / f"{n}.jsonl", *mixed(60, of=60 * n)) for n in range(2)]
    kept = []
    for path in paths:
        assert main(["replay", "--summary", f"{path}.json", str(path)]) == 1
        kept.append(Summary.from_dict(json.loads(Path(f"{path}.json").read_text("utf-8"))))
    assert kept[0] + kept[1] == replay(paths)
    capsys.readouterr()
    assert main(["replay", "--format", "html", *map(str, paths)]) == 1
    page = capsys.readouterr().out
    assert "<title>2026-11-02: 1 of 1</title>" in page
    assert "Breaks by tool and day" in page
    assert "Milliseconds of a call" in page
    versions = page[page.index("Breaks by tool and contract") :].partition("</table>")[0]
    assert re.findall(r"<tr><th>([^<]+)</th><td>([^<]+)</td>", versions)[0] == ("stock: get_stock", "none")
    assert not any(word in page for word in ("<script", "http://", "https://"))


def test_a_name_of_a_server_can_not_write_html_into_the_plots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "<script>alert(1)</script>"
    path = write(tmp_path / "calls.jsonl", line(data(BAD), server=hostile, time="2026-11-30T00:00:00Z", ms_wire=1))
    assert main(["replay", "--format", "html", str(path)]) == 1
    assert "<script" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "words, status, says",
    [
        (["--engine", "dask"], 2, "go together"),
        (["--scheduler", "tcp://127.0.0.1:9"], 2, "go together"),
        (["--engine", "dask", "--scheduler", "tcp://127.0.0.1:9", "--processes", "2"], 2, "a cluster has its workers"),
        (["--processes", "0"], 2, "processes is at least 1"),
        (["--summary", "gone/summary.json"], 4, "gone/summary.json: No such file"),
        (["nonsense://x"], 2, "nonsense"),
        (["gone-*.jsonl"], 4, "no file fits this glob"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else None,
)
def test_what_the_command_can_not_do_ends_with_its_status_and_one_sentence(  # parameters and fixtures
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    status: int,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "calls.jsonl", line(data(GOOD)))
    assert main(["replay", *words, "calls.jsonl"]) == status
    told = capsys.readouterr().err
    assert says in told
    assert told.count("\n") == 1


def test_rows_that_break_are_one_violation_whatever_their_index() -> None:
    rows = [line(data({"rows": [{"n": 1}] * n + [{"n": "x"}]}), tool=ROWS) for n in range(5)]
    ((fault, seen),) = judge(numbered(*rows)).violations.items()
    assert (fault.pointer, seen.number) == ("/rows/*/n", 5)
