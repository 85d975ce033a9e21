"""The linter: every rule says something about a tool that asks for it, and nothing about a well-made one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_guard import Contract
from mcp_guard._lint import RULES, Finding, Thresholds, lint

GOOD: Final[dict[str, Any]] = {
    "name": "get_stock",
    "description": "How many pieces of an article are in stock, and in which warehouse.",
    "inputSchema": {
        "type": "object",
        "properties": {"sku": {"type": "string", "description": "The article's number, such as A-1."}},
        "required": ["sku"],
    },
    "outputSchema": {
        "type": "object",
        "properties": {"quantity": {"type": "integer"}, "since": {"type": "string", "format": "date-time"}},
        "required": ["quantity"],
    },
}


def made(**members: Any) -> dict[str, Any]:
    return {k: v for k, v in {**GOOD, **members}.items() if v is not None}


def inputs(**properties: Any) -> dict[str, Any]:
    return made(inputSchema={"type": "object", "properties": properties, "required": []})


def outputs(schema: Any) -> dict[str, Any]:
    return made(outputSchema=schema)


def found(*tools: Any, **options: Any) -> list[tuple[str, str]]:
    findings = lint([Contract.from_tool(tool) for tool in tools], **options)
    return [(finding.code, finding.pointer) for finding in findings]


def names(*several: str) -> list[dict[str, Any]]:
    return [made(name=name) for name in several]


OF_ONE: Final[list[tuple[str, str, dict[str, Any]]]] = [
    ("description-missing", "/description", made(description=None)),
    ("description-missing", "/description", made(description=" \n")),
    ("description-short", "/description", made(description="Gets the stock.")),
    ("name-characters", "/name", made(name="get stock")),
    ("name-characters", "/name", made(name="gеt_stock")),  # noqa: RUF001  # a Cyrillic e is what is tested
    ("name-characters", "/name", made(name="x" * 129)),
    ("argument-untyped", "/inputSchema/properties/a~1b", inputs(**{"a/b": {"description": "What it is."}})),
    ("argument-untyped", "/inputSchema/properties/any", inputs(any={"description": "x", "default": 1})),
    ("argument-undescribed", "/inputSchema/properties/sku", inputs(sku={"type": "string"})),
    ("argument-undescribed", "/inputSchema/properties/sku", inputs(sku={"type": "string", "description": " "})),
    (
        "required-missing",
        "/inputSchema",
        made(inputSchema={"type": "object", "properties": GOOD["inputSchema"]["properties"]}),
    ),
    ("input-unusable", "/inputSchema", made(inputSchema={"type": "objekt"})),
    ("output-missing", "/outputSchema", made(outputSchema=None)),
    ("output-unusable", "/outputSchema", outputs({"type": "object", "properties": {"a": {"$ref": "#/gone"}}})),
    ("output-unusable", "/outputSchema", outputs({"$schema": "https://example.org/mine", "type": "object"})),
    ("output-unusable", "/outputSchema", outputs({"$ref": "https://example.org/stock.json"})),
    ("output-vacuous", "/outputSchema", outputs({"type": "object"})),
    ("output-vacuous", "/outputSchema", outputs({"type": "object", "additionalProperties": True})),
    ("output-requires-nothing", "/outputSchema", outputs({"properties": {"a": {"type": "string"}}})),
    (
        "dialect-old",
        "/outputSchema/$schema",
        outputs({**GOOD["outputSchema"], "$schema": "http://json-schema.org/draft-07/schema#"}),
    ),
    (
        "format-unknown",
        "/outputSchema/properties/at/items/format",
        outputs({"properties": {"at": {"items": {"format": "datetime"}}}, "required": ["at"]}),
    ),
    (
        "annotations-contradict",
        "/annotations/destructiveHint",
        made(annotations={"readOnlyHint": True, "destructiveHint": True}),
    ),
    (
        "annotations-contradict",
        "/annotations/idempotentHint",
        made(annotations={"readOnlyHint": True, "idempotentHint": False}),
    ),
]


def test_a_well_made_tool_has_no_finding() -> None:
    assert found(GOOD) == []
    assert found(GOOD, made(name="order_article"), made(name="list_warehouses")) == []


@pytest.mark.parametrize("code, pointer, tool", OF_ONE)
def test_a_tool_that_asks_for_it_is_found(code: str, pointer: str, tool: dict[str, Any]) -> None:
    assert found(tool) == [(code, pointer)]


@pytest.mark.parametrize(
    "tools",
    [
        names("get_stock", "getStock"),
        names("get_stock", "get-stock"),
        names("get_stock", "GET_STOCK"),
        names("get_invoice", "set_invoice"),
        names("get_stock", "gеt_stосk"),  # noqa: RUF001  # look-alikes are what is tested
    ],
)
def test_names_that_are_nearly_the_same_are_found(tools: list[dict[str, Any]]) -> None:
    assert ("names-near", "") in found(*tools)


@pytest.mark.parametrize("tools", [names("get_stock", "get_price"), names("step_1_begin", "step_2_begin")])
def test_names_that_say_what_is_different_are_not(tools: list[dict[str, Any]]) -> None:
    assert found(*tools) == []


def test_a_family_of_tools_with_one_stem_is_found_once() -> None:
    family = names("order_food_today", "order_food_tomorrow", "order_food_now")
    assert found(*family) == [("tools-alike", "")]
    assert found(*family, thresholds=Thresholds(stem=4)) == []


def test_too_many_tools_are_found() -> None:
    several = [made(name=f"{word}_{'x' * length}") for length, word in enumerate("abcdefg", 9)]
    assert found(*several) == []
    assert found(*several, thresholds=Thresholds(tools=6)) == [("tools-many", "")]


def test_two_tools_of_one_name_are_found() -> None:
    assert found_of(Contract.from_tool(GOOD).ambiguous()) == ["tool-ambiguous"]


def found_of(*contracts: Contract) -> list[str]:
    return [finding.code for finding in lint(contracts)]


def test_every_rule_is_tested_here() -> None:
    of_all = {"names-near", "tools-alike", "tools-many", "tool-ambiguous"}
    assert {code for code, _, _ in OF_ONE} | of_all == set(RULES)


def test_a_rule_can_be_turned_off_everywhere_or_for_one_tool() -> None:
    tools = [made(description="short"), made(name="order", description="short")]
    assert found(*tools, ignore=["description-short"]) == []
    assert found(*tools, ignore=["order:description-short"]) == [("description-short", "/description")]
    with pytest.raises(ValueError, match="there is no rule 'description'"):
        found(*tools, ignore=["description"])


def test_a_threshold_is_at_least_one() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Thresholds(description=0)


def test_no_word_of_the_server_s_but_names_is_in_a_finding() -> None:
    canary = "CANARY-7f3a"
    tool = made(
        name="\x1b[31m" + "n" * 100,
        description=canary,
        inputSchema={"type": canary},
        outputSchema={"properties": {"a": {"format": canary}, "b": {"$ref": f"#/{canary}"}}, "title": canary},
    )
    told = json.dumps([finding.to_dict() for finding in lint([Contract.from_tool(tool)])])
    assert canary not in told
    assert "\\u001b" not in told


def test_a_finding_is_json() -> None:
    (finding,) = lint([Contract.from_tool(made(outputSchema=None))])
    assert finding == Finding("output-missing", "warning", "get_stock", "/outputSchema", "there is no outputSchema")
    assert finding.to_dict()["level"] == "warning"


def test_real_servers_can_be_linted() -> None:
    counts: dict[str, int] = {}
    for path in (Path(__file__).parent / "data" / "recordings").glob("*.jsonl"):
        tools = [json.loads(line)["tool"] for line in path.read_text(encoding="utf-8").splitlines()]
        for finding in lint([Contract.from_tool(tool) for tool in tools if "inputSchema" in tool]):
            counts[finding.code] = counts.get(finding.code, 0) + 1
    assert counts["output-missing"] > 0
    assert "output-unusable" not in counts
