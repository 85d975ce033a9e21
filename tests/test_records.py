"""Records as JSON and back, their schema, the caller's mark, and what reads a file of them."""

from __future__ import annotations

import dataclasses
import json
import tracemalloc
import types
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import anyio
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mcp_guard
from mcp_guard import GuardError, Record, records
from mcp_guard.records import Attempt, Place
from support import Connect, Error, in_turn, raw_session, tool
from support.calls import N, data, every_target, guarded, said
from support.made import FULL, PLAIN, record

# --- JSON, both ways


@pytest.mark.parametrize("whole", [PLAIN, FULL], ids=["plain", "full"])
def test_a_record_comes_back_from_its_json_as_it_was(whole: Record) -> None:
    assert Record.from_dict(whole.to_dict()) == whole
    assert Record.from_json(whole.to_json()) == whole
    assert Record.from_json(whole.to_json().encode()) == whole


def test_the_json_of_a_record_is_one_line() -> None:
    text = dataclasses.replace(FULL, correlation="a\nb\u2028c").to_json()
    assert len(text.splitlines()) == 1
    assert text.isascii()


def test_what_a_later_version_adds_is_left_out() -> None:
    later: dict[str, Any] = {
        **FULL.to_dict(),
        "brand_new": {"x": 1},
        "verdict": "Surprising",
        "deviations": ["unheard_of"],
    }
    later["attempts"][0]["brand_new"] = 1
    read = Record.from_dict(later)
    assert read == dataclasses.replace(FULL, verdict="Surprising", deviations=("unheard_of",))


def test_what_an_earlier_one_did_not_have_yet_has_its_default() -> None:
    needed = {"v", "time", "call_id", "tool", "policy", "outcome", "action"}
    read = Record.from_dict({name: value for name, value in PLAIN.to_dict().items() if name in needed})
    assert read == dataclasses.replace(PLAIN, verdict=None, source=None)


@pytest.mark.parametrize("name", ["time", "call_id", "tool", "policy", "outcome", "action"])
def test_what_every_record_has_may_not_be_missing(name: str) -> None:
    given = PLAIN.to_dict()
    del given[name]
    with pytest.raises(ValueError, match=f"lacks {name}"):
        Record.from_dict(given)


@pytest.mark.parametrize("version", [None, 0, -1, True, "1", 1.0])
def test_what_has_no_format_version_is_no_record(version: object) -> None:
    with pytest.raises(ValueError, match="no format version `v`"):
        Record.from_dict({**PLAIN.to_dict(), "v": version})


def test_a_newer_format_is_refused_and_not_misread() -> None:
    with pytest.raises(ValueError, match="format version that is newer than 1"):
        Record.from_dict({**PLAIN.to_dict(), "v": 2})


@pytest.mark.parametrize(
    "name, value, says",
    [
        ("time", "yesterday", "`time` is an ISO 8601 time with its time zone"),
        ("time", "2026-11-20T10:00:00", "time zone"),
        ("time", 1, "`time` is a string, and here it is int"),
        ("tool", None, "`tool` is a string, and here it is NoneType"),
        ("correlation", 7, "`correlation` is a string, and here it is int"),
        ("source", "thin air", "`source` is one of structured, text"),
        ("outcome", "fine", "`outcome` is one of not_sent, rejected, executed, unknown"),
        ("action", None, "`action` is a string"),
        ("deviations", "format", "`deviations` is an array, and here it is str"),
        ("deviations", [1], "`deviations\\[0\\]` is a string"),
        ("violations", [{"pointer": "/x"}], "`violations\\[0\\]` lacks keyword"),
        ("violations", ["/x"], "`violations\\[0\\]` is an object"),
        ("attempts", [{"error": None, "outcome": "?"}], "`attempts\\[0\\].outcome` is one of"),
        ("attempts", [{"error": 1, "outcome": "unknown"}], "`attempts\\[0\\].error` is a string"),
        ("ms_wire", "1", "`ms_wire` is a number"),
        ("ms_wire", True, "`ms_wire` is a number"),
        ("ms_wire", -1, "`ms_wire` is a finite number, 0 or more"),
        ("ms_wire", float("nan"), "finite"),
        ("ms_wire", float("inf"), "finite"),
        ("result_bytes", 1.5, "`result_bytes` is a whole number, 0 or more"),
        ("blocks", [], "`blocks` is an object"),
        ("blocks", {"text": -1}, "whole number"),
    ],
)
def test_what_is_wrong_in_a_record_is_said_with_its_name_and_without_its_value(
    name: str, value: object, says: str
) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        Record.from_dict({**FULL.to_dict(), name: value})
    assert "yesterday" not in str(caught.value)
    assert "thin air" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "1", '"x"', "[" * 100_000, b"\xff", "9" * 5000], ids=range(8))
def test_what_is_no_json_object_is_no_record(text: str | bytes) -> None:
    with pytest.raises(ValueError, match="the record is no JSON"):
        Record.from_json(text)


def test_only_a_mapping_can_become_a_record() -> None:
    with pytest.raises(TypeError, match="not of list"):
        Record.from_dict([])  # type: ignore[arg-type]  # that is the point


def test_a_time_of_another_zone_is_read_as_utc() -> None:
    for text in ("2026-11-20T12:00:00.123456+02:00", "2026-11-20T10:00:00.123456Z"):
        read = Record.from_dict({**PLAIN.to_dict(), "time": text}).time
        assert (read, read.tzinfo) == (PLAIN.time, timezone.utc)


NAMES: Final = [field.name for field in dataclasses.fields(Record)]
ANYTHING: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=3))
def test_whatever_stands_in_a_record_is_read_or_a_value_error(changed: dict[str, Any]) -> None:
    with suppress(ValueError):
        read = Record.from_dict({**FULL.to_dict(), **changed})
        assert Record.from_json(read.to_json()) == read


# --- the published schema


def shape(hint: Any) -> dict[str, Any]:
    """What a type is in JSON Schema."""
    plain = {str: "string", int: "integer", float: "number"}
    if get_origin(hint) in (types.UnionType, Union):
        of, _ = get_args(hint)
        inner = shape(of)
        if "enum" in inner:
            return {"enum": [*inner["enum"], None]}
        return {**inner, "type": [inner["type"], "null"]}
    if get_origin(hint) is Literal:
        return {"enum": list(get_args(hint))}
    if hint is datetime:
        return {"type": "string", "format": "date-time"}
    if hint == tuple[tuple[str, int], ...]:
        return {"type": "object", "additionalProperties": {"type": "integer"}}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": shape(get_args(hint)[0])}
    if hint in (Place, Attempt):
        hints = get_type_hints(hint)
        return {
            "type": "object",
            "properties": {name: shape(hints[name]) for name in hints},
            "required": list(hints),
        }
    return {"type": plain[hint]}


def bare(schema: Any) -> Any:
    """A schema without its words and bounds."""
    if isinstance(schema, dict):
        words = {"description", "maxLength", "minimum"}
        return {name: bare(inner) for name, inner in schema.items() if name not in words or isinstance(inner, dict)}
    return [bare(item) for item in schema] if isinstance(schema, list) else schema


def test_the_schema_says_what_the_dataclass_says() -> None:
    schema = records.schema()
    hints = get_type_hints(Record)
    expected = {name: shape(hints[name]) for name in NAMES}
    expected["v"] = {"const": records.VERSION}
    assert bare(schema["properties"]) == expected
    assert schema["required"] == list(PLAIN.to_dict()) == NAMES
    assert schema["$id"] == f"urn:mcp-guard:record:{records.VERSION}"


def test_every_member_of_the_schema_is_described() -> None:
    def undescribed(properties: dict[str, Any]) -> Iterator[str]:
        for name, inner in properties.items():
            if "description" not in inner:
                yield name
            yield from undescribed(inner.get("items", {}).get("properties", {}))

    assert not [*undescribed(records.schema()["properties"])]


@pytest.fixture(scope="module")
def validator() -> Any:
    """Of the published schema, which is itself one."""
    schema = records.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("whole", [PLAIN, FULL], ids=["plain", "full"])
def test_the_schema_takes_a_record_and_refuses_what_is_none(whole: Record, validator: Any) -> None:
    told = json.loads(whole.to_json())
    validator.validate(told)
    validator.validate({**told, "added_later": 1})
    for name in NAMES:
        assert not validator.is_valid({key: value for key, value in told.items() if key != name}), name
        assert not validator.is_valid({**told, name: [[]]}), name


@every_target
async def test_the_schema_takes_what_real_calls_give(connect: Connect, modern: bool, validator: Any) -> None:
    told: list[Record] = []
    answers = in_turn(data({"n": 1}, "x"), data({"n": "x"}), said("no", isError=True), Error(-32603), said('{"n": 1}'))
    options = {"tools": [tool("t", N)], "results": {"t": answers}, "hooks": [told.append], "modern": modern}
    async with guarded(connect, server="shop", **options) as (tools, _):
        for _ in range(5):
            with suppress(GuardError):
                await tools.call("t", {"x": 1})
    assert len(told) == 5
    for each in told:
        validator.validate(each.to_dict())
        assert Record.from_json(each.to_json()) == each


# --- the caller's mark


@every_target
async def test_every_record_inside_carries_the_mark_and_an_inner_one_stands_in_its_place(connect: Connect) -> None:
    told: list[Record] = []
    options = {"tools": [tool("t", N)], "results": {"t": data({"n": 1})}, "hooks": [told.append]}
    async with guarded(connect, **options) as (tools, _):
        await tools.call("t")
        with mcp_guard.correlation("run-7"):
            await tools.call("t")
            with mcp_guard.correlation("run-7/step-3"):
                await tools.call("t")
            await tools.call("t")
        await tools.call("t")
    assert [each.correlation for each in told] == [None, "run-7", "run-7/step-3", "run-7", None]


async def test_tasks_have_the_mark_that_held_where_they_were_started_each_its_own() -> None:
    told: list[Record] = []

    async def step(tools: Any, number: int) -> None:
        with mcp_guard.correlation(f"step-{number}"):
            for _ in range(3):
                await tools.call("t", {"step": number})

    options = {"tools": [tool("t", N)], "results": {"t": data({"n": 1})}, "hooks": [told.append]}
    async with guarded(raw_session, **options) as (tools, _), anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(step, tools, number)
        with mcp_guard.correlation("outer"):
            tasks.start_soon(tools.call, "t")
    marks = sorted(str(each.correlation) for each in told)
    assert marks == sorted(["outer", *(f"step-{number}" for number in range(5) for _ in range(3))])


async def test_a_call_that_is_never_sent_has_its_mark_too() -> None:
    told: list[Record] = []
    picky = tool("t", N, inputSchema={"type": "object", "required": ["x"]})
    async with guarded(raw_session, tools=[picky], hooks=[told.append]) as (tools, _):
        with mcp_guard.correlation("run-7"), suppress(GuardError):
            await tools.call("t")
    assert [(each.outcome, each.correlation) for each in told] == [("not_sent", "run-7")]


async def test_the_mark_ends_with_its_block_also_where_that_is_left_by_an_error() -> None:
    told: list[Record] = []
    options = {"tools": [tool("t", N)], "results": {"t": data({"n": 1})}, "hooks": [told.append]}
    async with guarded(raw_session, **options) as (tools, _):
        with suppress(LookupError), mcp_guard.correlation("run-7"):
            raise LookupError
        await tools.call("t")
    assert told[0].correlation is None


def test_what_could_not_be_seen_in_a_mark_is_an_escape() -> None:
    from mcp_guard import _correlation

    with mcp_guard.correlation("a\n\u202eb ü"):
        assert _correlation.current() == "a\\x0a\\u202eb ü"


@pytest.mark.parametrize("mark", ["", "x" * 201, "\n" * 51], ids=["empty", "long", "long when escaped"])
def test_a_mark_that_would_be_cut_is_refused(mark: str) -> None:
    with pytest.raises(ValueError, match="1 to 200 characters"):
        mcp_guard.correlation(mark)


def test_a_mark_is_a_string() -> None:
    with pytest.raises(TypeError, match="not int"):
        mcp_guard.correlation(7)  # type: ignore[arg-type]  # that is the point


# --- reading them back


def written(path: Path, *lines: str | bytes) -> Path:
    """A file of these lines, each with its end."""
    path.write_bytes(b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines))
    return path


def test_records_are_read_in_their_order(tmp_path: Path) -> None:
    made = [record(n) for n in range(5)]
    reading = records.read(written(tmp_path / "log.jsonl", *(each.to_json() for each in made)))
    assert list(reading) == made
    assert (reading.records, reading.broken, reading.first_broken) == (5, 0, ())


def test_broken_lines_are_counted_and_located_and_the_others_read(tmp_path: Path) -> None:
    good, newer = PLAIN.to_json(), json.dumps({**PLAIN.to_dict(), "v": 2})
    lines: list[str | bytes] = [good, "{", "", good, newer, b"\xff\xfe", "x" * 4_000_001, "y" * 4_000_000, good]
    path = written(tmp_path / "log.jsonl", *lines)
    path.write_bytes(path.read_bytes() + good.encode()[:-20])
    reading = records.read(path)
    assert len(list(reading)) == 3
    assert reading.broken == 7
    assert [(broken.file, broken.line, broken.reason) for broken in reading.first_broken] == [
        ("log.jsonl", 2, "the record is no JSON"),
        ("log.jsonl", 3, "the record is no JSON"),
        ("log.jsonl", 5, "the record has a format version that is newer than 1, the one that is read here"),
        ("log.jsonl", 6, "the record is no JSON"),
        ("log.jsonl", 7, "the line has more than 4000000 bytes"),
        ("log.jsonl", 8, "the record is no JSON"),
        ("log.jsonl", 10, "the line was cut off while it was written"),
    ]
    assert str(reading.first_broken[0]) == "log.jsonl, line 2: the record is no JSON"


def test_a_last_line_that_lacks_its_end_alone_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(f"{PLAIN.to_json()}\n{FULL.to_json()}", encoding="utf-8")
    assert list(records.read(path)) == [PLAIN, FULL]


def test_of_many_broken_lines_the_first_are_kept(tmp_path: Path) -> None:
    reading = records.read(written(tmp_path / "log.jsonl", *["?"] * 300))
    assert list(reading) == []
    assert (reading.broken, len(reading.first_broken), reading.first_broken[-1].line) == (300, 100, 100)


def test_the_files_that_a_log_was_rotated_into_come_first_by_their_number(tmp_path: Path) -> None:
    for number, name in enumerate(["log.000009.jsonl", "log.000010.jsonl", "log.1000000.jsonl", "log.jsonl"]):
        written(tmp_path / name, record(number).to_json())
    for name in ("log.x.jsonl", "log.09.jsonl", "log.000001.json", "xlog.000001.jsonl", "log.jsonl.head"):
        written(tmp_path / name, record(99).to_json())
    path = tmp_path / "log.jsonl"
    assert list(records.read(path)) == [record(n) for n in range(4)]
    assert list(records.read(path, rotated=False)) == [record(3)]
    path.unlink()
    assert list(records.read(path)) == [record(n) for n in range(3)]


def test_a_log_that_is_rotated_while_it_is_read_is_read_once_and_to_its_end(tmp_path: Path) -> None:
    path = written(tmp_path / "log.jsonl", record(1).to_json(), record(2).to_json())
    reading = records.read(path)
    first = next(reading)
    path.rename(tmp_path / "log.000001.jsonl")
    written(tmp_path / "log.000002.jsonl", record(3).to_json())
    written(path, record(4).to_json())
    assert [first, *reading] == [record(n) for n in (1, 2, 3, 4)]


def test_a_log_that_is_not_there_is_an_error_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no log"):
        next(records.read(tmp_path / "log.jsonl"))


# --- counting them


def test_calls_are_counted_by_tool_version_verdict_and_error() -> None:
    made = [
        record(1, fingerprint="old"),
        record(2, fingerprint="new"),
        record(3, fingerprint="new", verdict="Violating", error="output_violation"),
        record(4, tool="order", verdict=None, error="timeout"),
    ]
    counts = records.count(made)
    assert (counts.total, counts.others) == (4, 0)
    assert counts.by("tool") == {("get_stock",): 3, ("order",): 1}
    assert next(iter(counts.by("tool", "fingerprint").items())) == (("get_stock", "new"), 2)
    assert counts.by("verdict", "error") == {
        ("Conforming", None): 2,
        ("Violating", "output_violation"): 1,
        (None, "timeout"): 1,
    }


def test_only_what_a_row_has_can_be_counted_by() -> None:
    with pytest.raises(ValueError, match="a Row has no 'policy'; it has server, tool, fingerprint, verdict, error"):
        records.count([]).by("policy")


def test_of_endlessly_many_different_rows_the_first_ones_are_kept() -> None:
    counts = records.count(record(n, fingerprint=f"{n}") for n in range(10_050))
    assert (len(counts.rows), counts.others, counts.total) == (10_000, 50, 10_050)


def test_counting_takes_no_more_memory_for_more_records(tmp_path: Path) -> None:
    def peak(number: int) -> int:
        path = tmp_path / f"{number}.jsonl"
        path.write_text(f"{FULL.to_json()}\n" * number, encoding="utf-8")
        tracemalloc.start()
        try:
            assert records.count(records.read(path)).total == number
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)  # what is made once
    # some tuples are kept for use again, as Python does: held, 7,200 records would take more than 10 MB
    assert peak(8_000) < peak(800) + 500_000
