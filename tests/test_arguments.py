"""Arguments are held against inputSchema before anything is sent, in the very form in which they are sent."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

import pydantic
import pytest

from mcp_guard import (
    ENFORCE,
    OBSERVE,
    STRICT,
    InvalidArgumentsError,
    Record,
)
from support import Connect, raw_session, tool
from support.calls import N, data, every_target, guarded

INPUT: Final = {
    "type": "object",
    "properties": {
        "sku": {"type": "string", "description": "CANARY description"},
        "count": {"type": "integer", "minimum": 1},
        "colour": {"enum": ["red", "green"]},
        "where": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
    "required": ["sku"],
}
TOOL: Final = tool("order", N, inputSchema=INPUT)
RESULTS: Final = {"order": data({"n": 1})}

MISFITS: Final[list[Any]] = [
    pytest.param({}, [("", "required")], id="missing"),
    pytest.param(None, [("", "required")], id="none at all"),
    pytest.param({"sku": 5}, [("/sku", "type")], id="type"),
    pytest.param({"sku": "A", "count": 0}, [("/count", "minimum")], id="range"),
    pytest.param({"sku": "A", "colour": "blue"}, [("/colour", "enum")], id="enum"),
    pytest.param({"sku": "A", "where": {}}, [("/where", "required")], id="nested"),
    pytest.param({"sku": None, "count": "1"}, [("/count", "type"), ("/sku", "type")], id="several"),
]


@pytest.mark.parametrize("way", ["call", "call_tool", "judge"])
@pytest.mark.parametrize("arguments, places", MISFITS)
@every_target
async def test_arguments_that_do_not_fit_are_not_sent(connect: Connect, arguments: Any, places: Any, way: str) -> None:
    records: list[Record] = []
    async with guarded(connect, tools=[TOOL], results=RESULTS, hooks=[records.append]) as (tools, server):
        with pytest.raises(InvalidArgumentsError, match="nothing was sent") as caught:
            await getattr(tools, way)("order", arguments)
        error = caught.value
        assert isinstance(error, ValueError)
        assert sorted((v.pointer, v.keyword) for v in error.violations) == places
        assert (error.outcome, error.retry_safe, error.retryable) == ("not_sent", True, False)
        assert not server.counts["tools/call"]
        [record] = records
        assert (record.error, record.outcome, record.action) == ("invalid_arguments", "not_sent", "raise")
        assert sorted((p.pointer, p.keyword) for p in record.violations) == places


async def test_the_model_is_told_the_values_to_choose_from_and_not_the_one_it_gave() -> None:
    async with guarded(raw_session, tools=[TOOL], results=RESULTS) as (tools, _):
        with pytest.raises(InvalidArgumentsError) as caught:
            await tools.call("order", {"sku": "A", "colour": "CANARY"})
    told = caught.value.for_model()
    assert "'red', 'green'" in told
    assert "correct the arguments" in told
    assert len(told) <= 300
    assert "CANARY" not in told + str(caught.value) + repr(caught.value) + str(caught.value.to_dict())
    assert "red" not in str(caught.value), "the schema's own words are for the model alone"


async def test_observe_sends_what_does_not_fit_and_the_record_says_so() -> None:
    records: list[Record] = []
    options = {"tools": [TOOL], "results": RESULTS, "policy": OBSERVE, "hooks": [records.append]}
    async with guarded(raw_session, **options) as (tools, server):
        assert await tools.call("order", {"sku": 5}) == {"n": 1}
        assert server.calls["order"] == 1
        [record] = records
        assert (record.verdict, record.error, record.action, record.outcome) == (
            "Conforming",
            "invalid_arguments",
            "report",
            "executed",
        )


async def test_a_policy_may_let_all_arguments_through() -> None:
    policy = replace(ENFORCE, arguments="allow", deviations="allow")
    records: list[Record] = []
    options = {"tools": [TOOL], "results": RESULTS, "policy": policy, "hooks": [records.append]}
    async with guarded(raw_session, **options) as (tools, _):
        assert await tools.call("order", {"sku": 5, "more": 1}) == {"n": 1}
        assert (records[0].error, records[0].deviations, records[0].action) == (None, (), "allow")


# --- arguments that are not named


@every_target
async def test_an_argument_that_is_not_named_is_reported_with_the_nearest_name(connect: Connect) -> None:
    records: list[Record] = []
    async with guarded(connect, tools=[TOOL], results=RESULTS, hooks=[records.append]) as (tools, _):
        judged = await tools.judge("order", {"sku": "A", "colur": "red", "CANARY": 1})
        [deviation] = judged.verdict.deviations
        assert deviation.code == "unknown_argument"
        assert "colour" in deviation.detail
        assert "CANARY" not in deviation.detail
        assert (records[0].deviations, records[0].action) == (("unknown_argument",), "report")


@every_target
async def test_strict_refuses_it_before_sending(connect: Connect) -> None:
    async with guarded(connect, tools=[TOOL], results=RESULTS, policy=STRICT) as (tools, server):
        with pytest.raises(InvalidArgumentsError, match="the nearest declared name is colour") as caught:
            await tools.call("order", {"sku": "A", "colur": "CANARY"})
        assert [v.pointer for v in caught.value.violations] == ["/colur"]
        assert caught.value.outcome == "not_sent"
        assert "colur" not in str(caught.value)
        assert "CANARY" not in str(caught.value)
        assert not server.counts["tools/call"]
        assert await tools.call("order", {"sku": "A", "colour": "red"}) == {"n": 1}


OPEN: Final[list[Any]] = [
    pytest.param({"type": "object"}, id="no names at all"),
    pytest.param({"type": "object", "properties": {}}, id="an empty list of names"),
    pytest.param({**INPUT, "additionalProperties": {"type": "string"}}, id="it says what others are"),
    pytest.param({**INPUT, "patternProperties": {"^x-": {}}}, id="patterns of names"),
    pytest.param({**INPUT, "allOf": [{"properties": {"more": {}}}]}, id="names in a composition"),
    pytest.param({**INPUT, "$ref": "#/$defs/more", "$defs": {"more": {}}}, id="names behind a reference"),
    pytest.param({**INPUT, "unevaluatedProperties": {"type": "string"}}, id="it says what the rest is"),
    pytest.param({**INPUT, "propertyNames": {"pattern": "^[a-z-]+$"}}, id="it says how names look"),
    pytest.param({**INPUT, "required": ["sku", "x-more"]}, id="what it requires it names"),
    pytest.param({**INPUT, "dependentRequired": {"sku": ["x-more"]}}, id="what another one requires it names"),
]


@pytest.mark.parametrize("schema", OPEN)
async def test_where_the_schema_does_not_name_all_it_knows_nothing_is_unknown(schema: Any) -> None:
    listed = tool("order", N, inputSchema=schema)
    async with guarded(raw_session, tools=[listed], results=RESULTS, policy=STRICT) as (tools, _):
        assert await tools.call("order", {"sku": "A", "x-more": "1"}) == {"n": 1}


UNUSABLE: Final[list[Any]] = [
    {"type": "object", "properties": {"sku": {"type": "nonsense"}}},
    {"type": "object", "properties": {"sku": {"$ref": "#/none"}}},
    {"type": "object", "$schema": "https://example.com/own"},
    {"type": "object", "properties": {"sku": {"$ref": "https://example.com/other"}}},
]


@pytest.mark.parametrize("schema", UNUSABLE, ids=["invalid", "dangling", "dialect", "remote"])
@every_target
async def test_an_unusable_input_schema_stops_no_call(connect: Connect, schema: Any) -> None:
    listed = tool("order", N, inputSchema=schema)
    async with guarded(connect, tools=[listed], results=RESULTS) as (tools, server):
        assert await tools.call("order", {"sku": "A"}) == {"n": 1}
        assert server.calls["order"] == 1


ENUM: Final = {"enum": ["red", "green"]}
DEFS: Final = {"c": ENUM, "d": {"$ref": "#/$defs/c"}, "a/b~": ENUM}
CHOICES: Final[list[Any]] = [
    pytest.param(ENUM, "/c must be one of 'red', 'green', found string", id="enum"),
    pytest.param({"$ref": "#/$defs/c"}, "/c must be one of 'red', 'green', found string", id="reference"),
    pytest.param(
        {"anyOf": [ENUM, {"type": "null"}]}, "/c must be one of 'red', 'green' or of type null, found", id="or null"
    ),
    pytest.param(
        {"anyOf": [{"$ref": "#/$defs/d"}, {"type": "null"}]},
        "/c must be one of 'red', 'green' or of type null, found",
        id="reference or null",
    ),
    pytest.param(
        {"oneOf": [{"$ref": "#/$defs/a~1b~0"}, {"enum": [5]}]},
        "/c must be one of 'red', 'green', 5, found",
        id="several enums, and an odd name",
    ),
    pytest.param(
        {"anyOf": [ENUM, {"minimum": 3, "type": ["integer", "null"]}]},
        "/c must be one of 'red', 'green' or what another alternative asks for, found",
        id="or something else",
    ),
    pytest.param({"anyOf": [{"type": "null"}, {"const": "CANARY"}]}, "/c fits none of the alternatives", id="no enum"),
    pytest.param({"type": "array", "items": ENUM}, "/c must be array, found string", id="another keyword"),
    pytest.param({"enum": list(range(20))}, "/c must be one of 0, 1, 2, 3, 4, 5, 6, 7 (+12), found", id="very many"),
]


@pytest.mark.parametrize("schema, told", CHOICES)
async def test_the_model_is_told_the_values_that_are_allowed_wherever_the_schema_lists_them(
    schema: Any, told: str
) -> None:
    listed = {"type": "object", "properties": {"c": schema}, "$defs": DEFS}
    async with guarded(raw_session, tools=[tool("t", inputSchema=listed)], results={"t": data({})}) as (tools, _):
        with pytest.raises(InvalidArgumentsError) as caught:
            await tools.call("t", {"c": "CANARY given"})
    assert told in caught.value.for_model()
    assert "CANARY" not in caught.value.for_model()
    assert "red" not in str(caught.value) + str(caught.value.to_dict())


@pytest.mark.parametrize("keyword", ["additionalProperties", "unevaluatedProperties"])
async def test_where_no_other_arguments_are_allowed_the_nearest_name_is_told_too(keyword: str) -> None:
    listed = tool("order", N, inputSchema={**INPUT, keyword: False})
    async with guarded(raw_session, tools=[listed], results=RESULTS) as (tools, _):
        with pytest.raises(InvalidArgumentsError) as caught:
            await tools.call("order", {"sku": "A", "CANARY": 1, "colur": "red"})
        assert "not allowed; the nearest declared name is colour" in caught.value.for_model()
        assert "CANARY" not in caught.value.for_model()
        with pytest.raises(InvalidArgumentsError, match="not allowed; nothing was sent"):
            await tools.call("order", {"sku": "A", "CANARY": 1})


# --- what is judged is what is sent


class Colour(Enum):
    """An enum."""

    RED = "red"


class Place(pydantic.BaseModel):
    """A model with a name of its own on the wire, and something that may be left out."""

    city: str
    post_code: str | None = None
    country: str = pydantic.Field(default="NO", serialization_alias="countryCode")


@dataclass
class Point:
    """A dataclass."""

    x: int
    y: date | None = None


SENT: Final[dict[str, Any]] = {
    "date": date(2026, 7, 28),
    "datetime": datetime(2026, 7, 28, 12, tzinfo=timezone.utc),
    "timedelta": timedelta(minutes=1),
    "enum": Colour.RED,
    "decimal": Decimal("1.50"),
    "tuple": (1, "a"),
    "set": {1},
    "bytes": b"ab",
    "uuid": uuid.UUID(int=1),
    "model": Place(city="Oslo"),
    "models": [Place(city="Oslo", post_code="1")],
    "dataclass": Point(1),
    "keys that are no strings": {1: 2},
    "null": None,
    "nested null": {"a": None},
    "big": 2**70,
    "float": 1.0,
    "text": "é\u2028\U0001f600",
}


@pytest.mark.parametrize("kind", SENT)
@every_target
async def test_an_argument_goes_out_as_the_sdk_alone_would_send_it(connect: Connect, kind: str) -> None:
    async with guarded(connect, tools=[tool("t")], results={"t": data({})}) as (tools, server):
        for way in (tools.call, tools.call_tool, tools.judge, tools.target.call_tool):
            await way("t", {"a": SENT[kind]})
        first, *others = [r.arguments for r in server.asked("tools/call")]
        assert [first] * 3 == others


@pytest.mark.parametrize("kind", SENT)
async def test_what_is_judged_is_what_reaches_the_server(kind: str) -> None:
    async with guarded(raw_session, tools=[tool("t")], results={"t": data({})}) as (tools, server):
        await tools.call("t", {"a": SENT[kind]})
        arrived = server.asked("tools/call")[0].arguments
        for schema, fits in (({"const": arrived["a"]}, True), ({"not": {"const": arrived["a"]}}, False)):
            server.tools = [tool("t", inputSchema={"type": "object", "properties": {"a": schema}})]
            await tools.refresh()
            if fits:
                await tools.call("t", {"a": SENT[kind]})
            else:
                with pytest.raises(InvalidArgumentsError):
                    await tools.call("t", {"a": SENT[kind]})


@pytest.mark.parametrize("arguments", [MappingProxyType({"a": 1}), {"a": 1}], ids=["any mapping", "dict"])
async def test_any_mapping_is_taken_and_the_callers_own_is_not_changed(arguments: Mapping[str, Any]) -> None:
    async with guarded(raw_session, tools=[tool("t")], results={"t": data({})}) as (tools, server):
        await tools.call("t", arguments)
        assert dict(arguments) == {"a": 1}
        assert server.asked("tools/call")[0].arguments == {"a": 1}


async def test_a_value_that_is_no_json_number_is_judged_as_it_is_sent() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number"}}}
    async with guarded(raw_session, tools=[tool("t", inputSchema=schema)], results={"t": data({})}) as (tools, server):
        with pytest.raises(InvalidArgumentsError):
            await tools.call("t", {"a": float("nan")})
        assert not server.counts["tools/call"]


async def test_arguments_over_the_limits_are_not_sent() -> None:
    deep: Any = 1
    for _ in range(240):
        deep = [deep]
    async with guarded(raw_session, tools=[tool("t")], results={"t": data({})}) as (tools, server):
        with pytest.raises((InvalidArgumentsError, TypeError)):
            await tools.call("t", {"a": deep})
        assert not server.counts["tools/call"]
