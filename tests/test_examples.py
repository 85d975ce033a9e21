"""The examples and the demo, run as people run them: each in a process of its own, on the SDK that is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from support import SDK_MAJOR

EXAMPLES: Final = Path(__file__).parents[1] / "examples"
SHORT: Final = ("stock.py", "agent_loop.py", "recorded_line.py")
VERDICTS: Final = ("Conforming", "Violating", "Missing", "Errored", "Malformed", "Unchecked")


@cache
def printed(script: str) -> str:
    """What an example prints; it ends well, and says nothing else."""
    done = subprocess.run(  # noqa: S603  # ours
        [sys.executable, str(EXAMPLES / script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        # older mcp 1.x under a newer pydantic-settings, see pyproject.toml
        env={**os.environ, "PYTHONWARNINGS": "default,ignore:Field 'lifespan' has an incomplete definition"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("script", SHORT)
def test_an_example_is_short(script: str) -> None:
    assert len((EXAMPLES / script).read_text(encoding="utf-8").splitlines()) < 50


def test_stock_is_ordered_on_status_quantity_and_freshness() -> None:
    told = dict(line.split(": ", 1) for line in printed("stock.py").splitlines())
    assert told.pop("B-2").startswith("tell the supplier: get_stock: the structured content does not fit")
    assert told == {
        "A-1": "order",
        "A-2": "don't order: 3 left, fresh=False",
        "A-3": "don't order: 1 left, fresh=True",
        "B-1": "don't order: unknown",
        "B-3": "ask again later: unavailable",
        "C-1": "don't order: not_found",
    }


def test_the_agent_corrects_itself_and_leaves_a_broken_tool_alone() -> None:
    lines = printed("agent_loop.py").splitlines()
    calls = [line for line in lines if line.startswith("the model calls")]
    assert [re.findall(r"'sku': '(.+?)', 'warehouse': '(.+?)'", call)[0] for call in calls] == [
        ("A-1", "Berlin"),
        ("A-1", "BER"),
        ("B-2", "Berlin"),
        ("B-2", "BER"),
    ]
    assert "must be one of 'BER', 'HAM'" in lines[1]
    assert "'quantity': 3" in lines[3]
    assert lines[-1].startswith("  The call of the tool get_stock failed:")


def test_recorded_lines_are_judged_without_a_session() -> None:
    assert printed("recorded_line.py").splitlines() == [
        "1: {'quantity': 3} (from structured)",
        "2: {'quantity': 3} (from text)",
        "3: /quantity must be integer, found string",
        "4: Errored",
    ]


def test_a_support_case_says_how_far_it_is_known_and_keeps_what_was_seen() -> None:
    cases = dict(
        re.findall(r"^(O-[0-9]): (.*\n(?:  .*\n)*)", printed("support_case.py"), re.MULTILINE)  # a case and its lines
    )
    told = {order: case.splitlines()[0] for order, case in cases.items()}
    assert told == {
        "O-1": "a case",
        "O-2": "a case",
        "O-3": "no case: every source was read",
        "O-4": "a case",
        "O-5": "not known in full, the attempts are spent",
        "O-6": "a case",
        "O-8": "refused: authorization_denied",
        "O-9": "refused: authorization_denied",
    }
    seen = {order: [line.split()[:3] for line in case.splitlines()[1:]] for order, case in cases.items()}
    assert [line[1:] for line in seen["O-2"]] == [
        ["tickets", "read"],
        ["shipments", "timed_out"],
        ["shipments", "read"],
    ]
    assert [line[1:] for line in seen["O-5"]] == [["tickets", "read"], *[["shipments", "timed_out"]] * 6]
    assert cases["O-8"] == cases["O-9"]
    times = [line[0] for lines in seen.values() for line in lines]
    assert times == sorted(set(times))


def test_the_demo_shows_every_kind_of_verdict() -> None:
    table = printed("demo.py")
    for verdict in (*VERDICTS, *(["Unfinished"] if SDK_MAJOR > 1 else [])):
        assert f"| {verdict}: " in table
    for error in ("UnusableContractError", "InvalidArgumentsError", "ToolTimeoutError", "ToolProtocolError"):
        assert f": {error}" in table


def test_the_demo_shows_what_the_sdk_alone_does() -> None:
    (head, *rows) = re.split(r"^-+\+-+\+-+$", printed("demo.py"), flags=re.MULTILINE)
    assert "alone" in head
    alone = {cells[0].strip(): cells[1] for row in rows if len(cells := row.strip().splitlines()[0].split(" | ")) > 1}
    assert {name.strip() for name in alone.values()} >= {"returned", "RuntimeError", "waits", "returned, with isError"}


def test_the_demo_fits_a_terminal_and_paints_no_file() -> None:
    table = printed("demo.py")
    assert max(map(len, table.splitlines())) <= 120
    assert not re.search(r"[^\n -~]", table)


def test_the_demo_ends_in_the_error_from_near_by() -> None:
    *_, explained = printed("demo.py").split("\n\n")
    assert explained.startswith("OutputValidationError (output_violation) of contradiction\n")
    assert re.search(r"^ +value:  0$", explained, re.MULTILINE)
    assert "#/else/properties/quantity/type" in explained


def test_the_linter_says_nothing_of_the_canteen_made_well_and_a_lot_of_the_one_made_badly() -> None:
    well, badly = printed("canteen.py").split("== made badly\n")
    assert well.startswith("== made well\n0 findings\n")
    codes = set(re.findall(r"^  ([a-z]+-[a-z]+) +\S+: ", badly, re.MULTILINE))
    assert codes >= {"description-missing", "name-characters", "argument-untyped", "output-vacuous", "tools-alike"}
    assert "get_menu({'day': 'sunday'}): invalid_arguments, not_sent" in well
    assert "get_menu({'day': 'sunday'}): the data:" in badly
