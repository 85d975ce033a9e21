"""The hash chain of an audit file: what was done to it is found, and what can't be found is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_guard import records
from mcp_guard.hooks import JsonlAudit
from support.made import FULL, record

KEY: Final = b"0123456789abcdef"
OTHER: Final = b"another key of 16 bytes"

Lines = list[bytes]


def chained(folder: Path, number: int = 6, *, max_bytes: int = 100_000, key: bytes | None = None) -> Path:
    audit = JsonlAudit(folder / "audit.jsonl", chain=True, chain_key=key, max_bytes=max_bytes)
    for n in range(1, number + 1):
        audit(record(n))
    return audit.path


def change(path: Path, how: Callable[[Lines], Lines]) -> None:
    path.write_bytes(b"".join(how(path.read_bytes().splitlines(keepends=True))))


@pytest.fixture(params=[None, KEY], ids=["without a key", "with a key"])
def key(request: pytest.FixtureRequest) -> bytes | None:
    """The chain's."""
    given: bytes | None = request.param
    return given


def test_a_file_as_it_was_written_holds(key: bytes | None, tmp_path: Path) -> None:
    report = records.verify(chained(tmp_path, key=key), key=key)
    assert report.ok
    assert (report.chained, report.first, report.last.n) == (6, 1, 6)
    assert (report.bad, report.missing, report.uncovered, report.cut_off) == (None, 0, 0, 0)
    assert (report.keyed, report.held_to) == (key is not None, True)


def test_the_files_it_was_rotated_into_are_one_chain(key: bytes | None, tmp_path: Path) -> None:
    path = chained(tmp_path, max_bytes=1, key=key)
    assert len([*tmp_path.glob("*.jsonl")]) == 6
    assert (records.verify(path, key=key).ok, records.verify(path, key=key).chained) == (True, 6)


def edited(line: bytes) -> bytes:
    return line.replace(b'"executed"', b'"not_sent"')


def unchained(line: bytes) -> bytes:
    return line[: line.index(b',"chain"')] + b"}\n"


DONE: Final[dict[str, tuple[Callable[[Lines], Lines], int, str]]] = {
    "edited": (lambda x: [*x[:2], edited(x[2]), *x[3:]], 3, "it was edited"),
    "the first edited": (lambda x: [edited(x[0]), *x[1:]], 1, "it was edited"),
    "the last edited": (lambda x: [*x[:5], edited(x[5])], 6, "it was edited"),
    "one byte added": (lambda x: [*x[:2], b" " + x[2], *x[3:]], 3, "it is not in the chain"),
    "removed": (lambda x: [*x[:2], *x[3:]], 3, "1 lines before it are missing"),
    "three removed": (lambda x: [x[0], *x[4:]], 2, "3 lines before it are missing"),
    "the first removed": (lambda x: x[1:], 1, "1 lines before it are missing"),
    "exchanged": (lambda x: [x[0], x[2], x[1], *x[3:]], 2, "1 lines before it are missing"),
    "repeated": (lambda x: [*x[:3], x[2], *x[3:]], 4, "it stands in the wrong place"),
    "moved to the end": (lambda x: [x[0], *x[2:], x[1]], 2, "1 lines before it are missing"),
    "inserted": (lambda x: [*x[:3], unchained(x[0]), *x[3:]], 4, "it is not in the chain: it was edited or inserted"),
    "inserted at the end": (lambda x: [*x, unchained(x[0])], 7, "it is not in the chain"),
    "the chain taken off": (lambda x: [*x[:2], unchained(x[2]), *x[3:]], 3, "it is not in the chain"),
    "made unreadable": (lambda x: [*x[:2], x[2][:50] + b"\n", *x[3:]], 3, "it is no complete line"),
    "the first made unreadable": (lambda x: [b"?\n", *x[1:]], 1, "it is no complete line"),
    "other JSON": (lambda x: [*x[:2], b'{"a":1}\n', *x[3:]], 3, "it is not in the chain"),
}


@pytest.mark.parametrize("done", DONE)
def test_what_was_done_to_a_line_is_found_at_the_first_one_that_is_wrong(
    done: str, key: bytes | None, tmp_path: Path
) -> None:
    how, line, reason = DONE[done]
    path = chained(tmp_path, key=key)
    change(path, how)
    report = records.verify(path, key=key)
    assert not report.ok
    assert report.bad is not None
    assert (report.bad.file, report.bad.line) == ("audit.jsonl", line)
    assert report.bad.reason.startswith(reason)
    assert str(report).startswith("broken after ")
    assert f"audit.jsonl, line {line}: {reason}" in str(report)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(at=st.integers(0), bit=st.integers(0, 7))
def test_no_bit_can_be_changed_unseen(at: int, bit: int, key: bytes | None, tmp_path: Path) -> None:
    for each in tmp_path.iterdir():
        each.unlink()
    path = chained(tmp_path, 3, key=key)
    whole = bytearray(path.read_bytes())
    whole[at % len(whole)] ^= 1 << bit
    path.write_bytes(whole)
    report = records.verify(path, key=key)
    # the end of the very last line is no part of it
    assert not report.ok or at % len(whole) == len(whole) - 1


def test_a_line_of_another_chain_does_not_pass(key: bytes | None, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    path = chained(tmp_path, key=key)
    audit = JsonlAudit(tmp_path / "other" / "audit.jsonl", chain=True, chain_key=key)
    for n in range(1, 4):
        audit(record(n, tool="order"))
    foreign = audit.path.read_bytes().splitlines(keepends=True)[2]
    change(path, lambda lines: [*lines[:2], foreign, *lines[3:]])
    report = records.verify(path, key=key)
    assert report.bad is not None
    assert (report.bad.line, report.bad.reason) == (3, "it does not follow the line before it")


def test_what_was_done_in_an_older_file_is_found_there(key: bytes | None, tmp_path: Path) -> None:
    path = chained(tmp_path, max_bytes=1, key=key)
    change(tmp_path / "audit.000002.jsonl", lambda lines: [edited(lines[0])])
    report = records.verify(path, key=key)
    assert report.bad is not None
    assert (report.bad.file, report.bad.line, report.chained) == ("audit.000002.jsonl", 1, 1)


@pytest.mark.parametrize("gone, line", [("audit.000003.jsonl", 1), ("audit.000001.jsonl", 1)])
@pytest.mark.parametrize("pruned", [False, True])
def test_a_file_that_is_gone_is_found_but_where_the_oldest_may_be(
    gone: str, line: int, pruned: bool, tmp_path: Path
) -> None:
    path = chained(tmp_path, max_bytes=1)
    (tmp_path / gone).unlink()
    report = records.verify(path, pruned=pruned)
    is_allowed = pruned and gone == "audit.000001.jsonl"
    assert report.ok is is_allowed
    if is_allowed:
        assert "the 1 lines before them are gone, as is allowed" in str(report)
    else:
        assert report.bad is not None
        assert (report.bad.line, report.bad.reason) == (line, "1 lines before it are missing")


# --- the end


def test_lines_cut_off_the_end_are_found_by_the_head_that_is_kept_beside(key: bytes | None, tmp_path: Path) -> None:
    path = chained(tmp_path, key=key)
    change(path, lambda lines: lines[:-2])
    report = records.verify(path, key=key)
    assert (report.ok, report.bad, report.missing) == (False, None, 2)
    assert str(report).startswith("2 lines are missing at the end; the 4 before hold")


def test_an_emptied_file_is_found_too(key: bytes | None, tmp_path: Path) -> None:
    path = chained(tmp_path, key=key)
    path.write_bytes(b"")
    report = records.verify(path, key=key)
    assert (report.ok, report.missing) == (False, 6)


def test_lines_cut_off_before_more_are_written_are_found_at_the_next_one(key: bytes | None, tmp_path: Path) -> None:
    path = chained(tmp_path, key=key)
    change(path, lambda lines: lines[:-2])
    JsonlAudit(path, chain=True, chain_key=key)(record(7))
    report = records.verify(path, key=key)
    assert report.bad is not None
    assert (report.bad.line, report.bad.reason) == (5, "2 lines before it are missing")


def test_a_head_that_was_kept_elsewhere_is_held_against_it(key: bytes | None, tmp_path: Path) -> None:
    path = chained(tmp_path, key=key)
    head = str(records.verify(path, key=key).last)
    (tmp_path / "audit.jsonl.head").unlink()
    assert records.verify(path, key=key, head=head).ok
    JsonlAudit(path, chain=True, chain_key=key)(record(7))
    assert records.verify(path, key=key, head=head).ok
    (tmp_path / "audit.jsonl.head").unlink()
    change(path, lambda lines: lines[:-3])
    assert records.verify(path, key=key).ok, "nothing shows it"
    assert records.verify(path, key=key, head=head).missing == 2


def test_a_chain_that_was_made_anew_is_found_by_the_head_that_was_kept_elsewhere(tmp_path: Path) -> None:
    head = str(records.verify(chained(tmp_path)).last)
    for each in tmp_path.iterdir():
        each.unlink()
    audit = JsonlAudit(tmp_path / "audit.jsonl", chain=True)
    for n in range(1, 8):
        audit(record(n, tool="get_price"))
    assert records.verify(audit.path).ok
    report = records.verify(audit.path, head=head)
    assert report.bad is not None
    assert (report.bad.line, report.bad.reason) == (6, "it is another line than the one that was kept as the head")


def test_a_head_without_its_key_is_worth_nothing(tmp_path: Path) -> None:
    path, beside = chained(tmp_path, key=KEY), tmp_path / "audit.jsonl.head"
    change(path, lambda lines: lines[:-2])
    last = json.loads(path.read_bytes().splitlines()[-1])["chain"]
    forged = f"{last['n']:020d}:{last['mac']} {'0' * 64}\n"
    for said in (forged, "", "?" * 1000):
        beside.write_text(said, encoding="utf-8")
        report = records.verify(path, key=KEY)
        assert (report.ok, report.held_to) == (True, False)
        assert "lines cut off the end would not show: there was nothing to hold it against" in str(report)
    JsonlAudit(path, chain_key=KEY)(record(7))
    report = records.verify(path, key=KEY)
    assert (report.ok, report.held_to, report.chained) == (True, True, 5), "whatever stood there, it is as it was again"


@pytest.mark.parametrize("head", ["", "6", "6:abc", f"6:{'G' * 64}", f"-1:{'0' * 64}"])
def test_what_is_no_head_is_refused(head: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"head is a Verification\.last"):
        records.verify(chained(tmp_path), head=head)


# --- keys


def test_a_chain_with_a_key_can_not_be_verified_without_it_nor_with_another(tmp_path: Path) -> None:
    path = chained(tmp_path, key=KEY)
    with pytest.raises(ValueError, match=r"give it to verify\(key=\)"):
        records.verify(path)
    report = records.verify(path, key=OTHER)
    assert report.bad is not None
    assert (report.bad.line, report.bad.reason) == (1, "it was edited, or chained with another key")


def test_a_chain_without_the_key_does_not_pass_for_one_with_it(tmp_path: Path) -> None:
    report = records.verify(chained(tmp_path), key=KEY)
    assert report.bad is not None
    assert (report.bad.line, report.bad.reason) == (1, "it was chained without the key")


def test_what_a_chain_without_a_key_is_worth_is_said(tmp_path: Path) -> None:
    words = "without a key, whoever can write the file can also make such a chain anew"
    assert words in str(records.verify(chained(tmp_path)))
    for each in tmp_path.iterdir():
        each.unlink()
    assert str(records.verify(chained(tmp_path, key=KEY), key=KEY)) == "6 lines hold"


# --- files that were not chained from the beginning


def test_lines_from_before_the_chain_began_are_counted_as_not_covered(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for n in (1, 2):
        JsonlAudit(path)(record(n))
    chained(tmp_path, 3)
    report = records.verify(path)
    assert (report.ok, report.uncovered, report.chained) == (True, 2, 3)
    assert "2 lines from before the chain began are not covered" in str(report)
    assert len(list(records.read(path))) == 5


def test_a_file_without_a_chain_does_not_pass_for_one_that_holds(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    JsonlAudit(path)(record(1))
    report = records.verify(path)
    assert (report.ok, str(report)) == (False, "there is no chain in it")


def test_a_log_that_is_not_there_is_an_error_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        records.verify(tmp_path / "audit.jsonl")


# --- the form


def test_the_chain_can_be_checked_with_nothing_but_a_hash_function(tmp_path: Path) -> None:
    import hashlib

    before = "0" * 64
    for n, line in enumerate(chained(tmp_path).read_bytes().splitlines(), 1):
        link: dict[str, Any] = json.loads(line)["chain"]
        assert (link["n"], link["prev"]) == (n, before)
        before = hashlib.sha256(line[: line.rindex(b',"hash":')]).hexdigest()
        assert link["hash"] == before


def test_a_record_that_looks_like_a_link_is_none(tmp_path: Path) -> None:
    fake = f'"chain":{{"n":9,"prev":"{"0" * 64}","hash":"{"0" * 64}"}}}}'
    audit = JsonlAudit(tmp_path / "audit.jsonl", chain=True)
    audit(record(1, tool=fake, correlation=fake))
    audit(FULL)
    report = records.verify(audit.path)
    assert (report.ok, report.chained) == (True, 2)
