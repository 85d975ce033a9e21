"""docs/records.md: every snippet prints what is shown below it, and its tables name what there is."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_guard import Record, hooks
from mcp_guard.hooks import JsonlAudit
from mcp_guard.records import CallInfo
from support import Request, in_turn, raw_session, tool
from support.calls import N, data
from support.page import Page, follow

PAGE: Final = Page("docs/records.md")

ORDER: Final = {"type": "object", "properties": {"order_id": {"type": "integer"}}, "required": ["order_id"]}


def stock(request: Request) -> Any:
    return data({"n": None if request.arguments["sku"] == "B-2" else 3})


async def test_the_page_on_records_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    orders = in_turn(data({"order_id": "17"}), data({"order_id": 18}))
    described: dict[str, Any] = {"tools": [tool("get_stock", N), tool("order", ORDER)]}
    async with raw_session(**described, results={"get_stock": stock, "order": orders}) as (session, _):
        assert await follow(PAGE.blocks(), {"__name__": "page", "session": session}) > 0


def first_cells(head: str) -> list[str]:
    """The names in the first column of the table with this head."""
    return [name for first, *_ in PAGE.rows(head) for name in re.findall(r"`(\w+)", first)]


def test_each_field_of_a_record_is_told_and_no_other() -> None:
    assert first_cells("field") == [field.name for field in dataclasses.fields(Record)]


def test_each_ready_hook_is_told() -> None:
    assert sorted(first_cells("hook")) == sorted({*hooks.__all__} - {"LoggingHook"})


def test_each_parameter_of_the_audit_is_told_with_its_default() -> None:
    parameters = inspect.signature(JsonlAudit).parameters
    assert ["path", *first_cells("`JsonlAudit(path, ...)`")] == list(parameters)
    assert f"| `max_bytes` | {parameters['max_bytes'].default:,} |" in PAGE.text


def test_what_a_hook_is_given_round_a_call_is_told() -> None:
    (told,) = re.findall(r"`CallInfo` \((.*?)\)\s+and returns", PAGE.text, re.DOTALL)
    assert re.findall(r"`(\w+)", told) == [field.name for field in dataclasses.fields(CallInfo)]
