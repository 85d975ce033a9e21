"""`call(..., into=T)`: the data as the caller's own type, held against the contract first."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace
from typing import Any, Final, Literal

import pydantic
import pytest
from typing_extensions import TypedDict

from mcp_guard import (
    ENFORCE,
    OBSERVE,
    RELAY,
    STRICT,
    MissingStructuredContentError,
    OutputValidationError,
    Record,
    ToolExecutionError,
)
from support import Connect, raw_session, tool
from support.calls import N, data, every_target, guarded, said

OBJECT: Final = {"type": "object"}
WRAP: Final = {"type": "object", "x-fastmcp-wrap-result": True}


class Stock(pydantic.BaseModel):
    """A model that takes what comes."""

    sku: str
    n: int


class Strict(pydantic.BaseModel):
    """A model that takes nothing but what it says."""

    model_config = pydantic.ConfigDict(strict=True, extra="forbid")

    day: date
    price: Decimal = Decimal(0)


@dataclass
class Point:
    """A plain dataclass."""

    x: int
    y: int = 0


class Row(TypedDict):
    """A dict with names."""

    n: int


class Colour(Enum):
    """An enum."""

    RED = "red"


def total(value: Any) -> int:
    """A function of the value."""
    number: int = value["n"] * 2
    return number


def scaled(factor: int, value: Any) -> int:
    number: int = value["n"] * factor
    return number


TAKEN: Final[list[Any]] = [
    pytest.param(Stock, {"sku": "A", "n": 1}, Stock(sku="A", n=1), id="model"),
    pytest.param(Strict, {"day": "2026-07-28"}, Strict(day=date(2026, 7, 28)), id="strict model takes an ISO date"),
    pytest.param(Point, {"x": 1}, Point(1), id="dataclass"),
    pytest.param(Row, {"n": 1}, {"n": 1}, id="TypedDict"),
    pytest.param(Stock | Point, {"x": 1}, Point(1), id="union"),
    pytest.param(Point | None, {"x": 1, "y": 2}, Point(1, 2), id="optional"),
    pytest.param(dict[str, date], {"a": "2026-07-28"}, {"a": date(2026, 7, 28)}, id="dict"),
    pytest.param(total, {"n": 2}, 4, id="function"),
    pytest.param(functools.partial(scaled, 3), {"n": 2}, 6, id="partial"),
    pytest.param(len, {"n": 2}, 1, id="built-in function"),
    pytest.param(lambda value: value, {"n": 2}, {"n": 2}, id="lambda"),
    pytest.param(Any, {"n": 2}, {"n": 2}, id="Any"),
]


@pytest.mark.parametrize("wanted, sent, expected", TAKEN)
async def test_data_that_fits_the_contract_becomes_the_callers_type(wanted: Any, sent: Any, expected: Any) -> None:
    async with guarded(raw_session, tools=[tool("t", OBJECT)], results={"t": data(sent)}) as (tools, _):
        got = await tools.call("t", into=wanted)
        assert got == expected
        assert type(got) is type(expected)


WRAPPED: Final[list[Any]] = [
    pytest.param(list[Point], [{"x": 1}, {"x": 2, "y": 3}], [Point(1), Point(2, 3)], id="list of models"),
    pytest.param(int | str, "a", "a", id="int or str: str"),
    pytest.param(int | str, 1, 1, id="int or str: int"),
    pytest.param(Literal["on", "off"], "on", "on", id="Literal"),
    pytest.param(Colour, "red", Colour.RED, id="enum"),
    pytest.param(date, "2026-07-28", date(2026, 7, 28), id="date"),
    pytest.param(tuple[int, str], [1, "a"], (1, "a"), id="tuple"),
    pytest.param(bool, False, False, id="bool"),
    pytest.param(float, 0, 0.0, id="float"),
]


@pytest.mark.parametrize("wanted, sent, expected", WRAPPED)
async def test_a_declared_wrapper_is_off_before_the_type_is_asked(wanted: Any, sent: Any, expected: Any) -> None:
    async with guarded(raw_session, tools=[tool("t", WRAP)], results={"t": data({"result": sent})}) as (tools, _):
        got = await tools.call("t", into=wanted)
        assert got == expected
        assert type(got) is type(expected)


@every_target
async def test_the_contract_is_asked_first(connect: Connect, modern: bool) -> None:
    called: list[Any] = []
    options = {"tools": [tool("t", N)], "results": {"t": data({"n": "x"})}, "modern": modern}
    async with guarded(connect, **options) as (tools, _):
        with pytest.raises(OutputValidationError) as caught:
            await tools.call("t", into=called.append)
        assert caught.value.source == "structured"
        assert called == []


@pytest.mark.parametrize("policy", [ENFORCE, STRICT, OBSERVE, RELAY], ids=["ENFORCE", "STRICT", "OBSERVE", "RELAY"])
@pytest.mark.parametrize("schema", [OBJECT, None], ids=["with outputSchema", "without"])
@pytest.mark.parametrize(
    "wanted, pointer, keyword",
    [
        pytest.param(Point, "/x", "missing", id="dataclass"),
        pytest.param(Strict, "/day", "missing", id="model"),
        pytest.param(int, "", "int_type", id="int"),
        pytest.param(total, "", "type", id="function"),
    ],
)
@every_target
async def test_what_does_not_fit_the_type_is_an_error_under_every_policy(
    connect: Connect, wanted: Any, pointer: str, keyword: str, schema: Any, policy: Any
) -> None:
    records: list[Record] = []
    listed = tool("t", schema)
    options = {"tools": [listed], "results": {"t": data({"CANARY": "CANARY"})}, "policy": policy}
    async with guarded(connect, **options, hooks=[records.append]) as (tools, _):
        with pytest.raises(OutputValidationError, match="the type that the caller asked for") as caught:
            await tools.call("t", into=wanted)
        error = caught.value
        assert (error.source, error.outcome, error.kind) == ("type", "executed", "output_violation")
        assert (error.violations[0].pointer, error.violations[0].keyword) == (pointer, keyword)
        assert error.sdk_error is not None
        assert "CANARY" not in str(error) + repr(error) + str(error.to_dict()) + error.for_model()
        assert "change the type given as into=" in error.explain()
        [record] = records
        assert (record.error, record.action, record.outcome) == ("output_violation", "raise", "executed")
        assert (record.violations[0].pointer, record.violations[0].keyword) == (pointer, keyword)


@pytest.mark.parametrize("policy", [ENFORCE, STRICT, OBSERVE], ids=["ENFORCE", "STRICT", "OBSERVE"])
@pytest.mark.parametrize(
    "wanted, words, expected",
    [
        pytest.param(Point, ['{"x": 1}'], Point(1), id="JSON"),
        pytest.param(Point, ['```json\n{"x": 1}\n```'], Point(1), id="in a fence"),
        pytest.param(list[Point], ['{"x": 1}', '{"x": 2}'], [Point(1), Point(2)], id="one block each"),
        pytest.param(str, ["plain words"], "plain words", id="plain text"),
        pytest.param(int, ["5"], 5, id="a number"),
        pytest.param(total, ['{"n": 2}'], 4, id="a function gets the JSON"),
        pytest.param(str.upper, ["plain words"], "PLAIN WORDS", id="a function gets the text"),
    ],
)
@every_target
async def test_without_an_output_schema_the_type_is_the_contract_also_for_the_text(
    connect: Connect, policy: Any, wanted: Any, words: Any, expected: Any
) -> None:
    options = {"tools": [tool("t")], "results": {"t": said(*words)}, "policy": policy}
    async with guarded(connect, **options) as (tools, _):
        assert await tools.call("t", into=wanted) == expected


async def test_text_that_is_not_what_the_type_asks_for_is_an_error_of_the_type() -> None:
    async with guarded(raw_session, tools=[tool("t")], results={"t": said("plain words")}) as (tools, _):
        with pytest.raises(OutputValidationError) as caught:
            await tools.call("t", into=Point)
        assert caught.value.source == "type"


async def test_strict_is_content_with_a_type_in_place_of_an_output_schema_and_not_without() -> None:
    options = {"tools": [tool("t")], "results": {"t": data({"x": 1})}, "policy": STRICT}
    async with guarded(raw_session, **options) as (tools, server):
        assert await tools.call("t", into=Point) == Point(1)
        with pytest.raises(RuntimeError):
            await tools.call("t")
        assert server.calls["t"] == 1


async def test_a_type_makes_no_data_of_an_error_or_of_nothing() -> None:
    results = {"failed": data({"x": 1}, isError=True), "empty": said()}
    async with guarded(raw_session, tools=[tool("failed"), tool("empty")], results=results, policy=OBSERVE) as (
        tools,
        _,
    ):
        with pytest.raises(ToolExecutionError):
            await tools.call("failed", into=Point)
        with pytest.raises(MissingStructuredContentError):
            await tools.call("empty", into=Point)


async def test_text_that_was_read_by_the_contract_becomes_the_type_too() -> None:
    async with guarded(raw_session, tools=[tool("t", N)], results={"t": said('{"n": 1, "x": 2}')}) as (tools, _):
        assert await tools.call("t", into=Row) == {"n": 1}
        assert await tools.call("t", into=Point) == Point(2)


async def test_a_name_that_neither_contract_nor_type_declares_is_not_shown() -> None:
    async with guarded(
        raw_session, tools=[tool("t", OBJECT)], results={"t": data({"day": "2026-07-28", "CANARY": 1})}
    ) as (
        tools,
        _,
    ):
        with pytest.raises(OutputValidationError) as caught:
            await tools.call("t", into=Strict)
        assert [v.pointer for v in caught.value.violations] == ["/CANARY"]
        assert "CANARY" not in str(caught.value)


async def test_an_integer_of_any_size_reaches_the_type_exactly() -> None:
    async with guarded(raw_session, tools=[tool("t", N)], results={"t": data({"n": 2**70})}) as (tools, _):
        assert await tools.call("t", into=Row) == {"n": 2**70}


made: Any = pydantic.create_model
LATER: Final[Any] = made("Later", x=("Nowhere", ...))


@pytest.mark.parametrize("wanted", ["Unknown", LATER, 5, object(), SimpleNamespace(), {"n": int}])
@every_target
async def test_what_is_no_type_is_a_type_error_before_anything_is_sent(connect: Connect, wanted: Any) -> None:
    async with guarded(connect, tools=[tool("t", OBJECT)], results={"t": data({})}) as (tools, server):
        with pytest.raises(
            TypeError, match=r"into= takes a type that pydantic's TypeAdapter takes .* or a plain function"
        ):
            await tools.call("t", into=wanted)
        assert not server.counts["tools/call"]


class Fussy(pydantic.BaseModel):
    """A model whose validator raises what pydantic does not expect."""

    n: int

    @pydantic.field_validator("n")
    @classmethod
    def _looked_up(cls, n: int) -> int:
        return {1: 10}[n]


@pytest.mark.parametrize("schema", [N, None], ids=["with outputSchema", "without"])
async def test_whatever_a_validator_raises_means_that_the_data_does_not_fit(schema: Any) -> None:
    records: list[Record] = []
    for result in (data({"n": 2}), said('{"n": 2}')):
        options = {"tools": [tool("t", schema)], "results": {"t": result}, "hooks": [records.append]}
        async with guarded(raw_session, **options) as (tools, _):
            with pytest.raises(OutputValidationError) as caught:
                await tools.call("t", into=Fussy)
            assert caught.value.source == "type"
            assert isinstance(caught.value.sdk_error, KeyError)
    assert [r.outcome for r in records] == ["executed"] * 2


async def test_a_callable_object_that_pydantic_does_not_know_is_a_function_of_the_value() -> None:
    class Twice:
        def __call__(self, value: Any) -> int:
            number: int = value["n"] * 2
            return number

    async with guarded(raw_session, tools=[tool("t", N)], results={"t": data({"n": 2})}) as (tools, _):
        assert await tools.call("t", into=Twice().__call__) == 4
