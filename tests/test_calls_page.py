"""docs/calls.md: every snippet prints what is shown below it, and its tables name what there is."""

from __future__ import annotations

import dataclasses
import re
import uuid
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, get_args

import pydantic
import pytest

from mcp_guard import InvalidArgumentsError, Retry, errors, guard
from support import NOTHING, Request, in_turn, raw_session, tool
from support.calls import data
from support.clock import timelessly
from support.page import Page, follow

PAGE: Final = Page("docs/calls.md")


def an_object(**properties: Any) -> dict[str, Any]:
    """The schema of an object that has all of these."""
    return {"type": "object", "properties": properties, "required": [*properties]}


WAREHOUSE: Final = {"anyOf": [{"enum": ["BER", "HAM"]}, {"type": "null"}]}
TOOLS: Final = [
    tool("get_stock", an_object(count={"type": "integer"}))
    | {"inputSchema": {"type": "object", "properties": {"sku": {"type": "string"}, "warehouse": WAREHOUSE}}},
    tool("report", an_object(lines={"type": "integer"})),
    tool("pay", an_object(receipt={"type": "string"})),
]
UNAVAILABLE: Final = data({"error": {"kind": "unavailable", "retryable": True, "retry_after": 3}}, isError=True)


def report(seen: dict[int, int]) -> Any:
    """What the tool answers, by month and by how often it was asked for that."""
    answers: dict[int, list[Any]] = {
        7: [UNAVAILABLE, data({"lines": 12})],
        8: [NOTHING, data({"lines": "none"})],
        9: [UNAVAILABLE, data({"lines": 9})],
    }

    def answer(request: Request) -> Any:
        month = request.arguments["month"]
        seen[month] = seen.get(month, 0) + 1
        return answers[month][seen[month] - 1]

    return answer


@timelessly
async def test_the_page_on_calls_does_what_it_says() -> None:
    results = {"get_stock": data({"count": 3}), "report": report({}), "pay": in_turn(data({"receipt": None}))}
    async with raw_session(tools=TOOLS, results=results) as (session, server):
        assert await follow(PAGE.blocks(), {"__name__": "page", "session": session}) > 0
        assert server.calls["pay"] == 1


def test_each_option_of_retry_is_told_with_its_default() -> None:
    told = {name: cells[1] for cells in PAGE.rows("`Retry(...)`") for name in re.findall(r"`(\w+)`", cells[0])}
    fields = {field.name: field.default for field in dataclasses.fields(Retry)}
    assert [*told] == [*fields]
    for name in ("retries", "base_wait", "max_wait"):
        assert float(told[name]) == fields[name]
    assert (fields["codes"], fields["timeout"], told["codes"], told["timeout"]) == ((), None, "none", "none")


def test_each_outcome_is_told() -> None:
    assert [cells[0].strip("`") for cells in PAGE.rows("`outcome`")] == [*get_args(errors.Outcome)]


class Colour(Enum):
    """An enum."""

    RED = "red"


class Stock(pydantic.BaseModel):
    """A model."""

    count: int = pydantic.Field(serialization_alias="theCount")
    note: str | None = None


@dataclasses.dataclass
class Point:
    """A dataclass."""

    x: int
    y: int | None = None


GIVEN: Final[dict[str, list[tuple[Any, Any]]]] = {
    "the same": [({"a": [1, 1.5, True, None, "x"]}, {"a": [1, 1.5, True, None, "x"]})],
    "an array": [((1, 2), [1, 2]), ({1}, [1]), (frozenset({1}), [1])],
    "its value": [(Colour.RED, "red")],
    "a string": [(Decimal("1.50"), "1.50")],
    "a string, ISO 8601": [
        (datetime(2026, 7, 28, 12, tzinfo=timezone.utc), "2026-07-28T12:00:00Z"),
        (date(2026, 7, 28), "2026-07-28"),
        (time(12, 30), "12:30:00"),
        (timedelta(minutes=1), "PT1M"),
    ],
    "a string, of text": [
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Path("a"), "a"),
        (pydantic.AnyUrl("https://example.com/"), "https://example.com/"),
        (ip_address("127.0.0.1"), "127.0.0.1"),
    ],
    "a string, read as UTF-8": [("\u00e9".encode(), "\u00e9")],
    "an object, with its aliases and without the fields that are `None`": [(Stock(count=1), {"theCount": 1})],
    "an object": [(Point(1), {"x": 1, "y": None})],
}


def test_what_is_taken_as_an_argument_is_all_tried_here() -> None:
    told = [cells[1] for cells in PAGE.rows("you give")]
    assert {*told} == {*GIVEN} - {"a string, of text"} | {"`InvalidArgumentsError`", "`TypeError`"}
    assert told.count("a string") == 2


@pytest.mark.parametrize("becomes", GIVEN)
async def test_arguments_become_what_the_table_says(becomes: str) -> None:
    async with raw_session(tools=[tool("t")], results={"t": data({})}) as (session, server):
        for given, sent in GIVEN[becomes]:
            await guard(session).call("t", {"x": given})
            assert server.asked("tools/call")[-1].arguments == {"x": sent}


@pytest.mark.parametrize(
    "given, error",
    [(float("nan"), InvalidArgumentsError), (float("inf"), InvalidArgumentsError), (object(), TypeError)],
)
async def test_what_is_no_json_is_refused_as_the_table_says(given: Any, error: type[Exception]) -> None:
    async with raw_session(tools=[tool("t")], results={"t": data({})}) as (session, server):
        with pytest.raises(error):
            await guard(session).call("t", {"x": given})
        assert not server.counts["tools/call"]


def test_the_classes_that_are_warned_of_are_the_double_ones() -> None:
    warning = PAGE.text[PAGE.text.index("> Without the predicate") :]
    told = dict(re.findall(r"`(\w+)` (?:is )?a `(\w+)`", warning.replace("\n> ", " ")))
    double = {
        name: next(b for b in kind.__bases__ if not issubclass(b, errors.GuardError)).__name__
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.GuardError) and kind is not errors.GuardError
        if any(not issubclass(b, errors.GuardError) for b in kind.__bases__)
    }
    assert told == double
