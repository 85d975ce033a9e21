"""Assertions of `mcp_guard.testing`: what passes, and what a failure tells the developer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from mcp_guard import ENFORCE, Contract, guard
from mcp_guard.testing import (
    GET_STOCK,
    FaultyServer,
    assert_conforms,
    assert_contract,
    exercise,
)
from mcp_guard.testing.faults import FAULTS, Good
from support import sample_server
from support.calls import data, said

GOOD: Final = {"sku": "A-1", "quantity": 3}


@pytest.mark.parametrize("contract", [GET_STOCK, Contract.from_tool(GET_STOCK)], ids=["definition", "contract"])
def test_a_result_that_conforms_gives_its_value(contract: Any) -> None:
    assert assert_conforms(data(GOOD), contract) == GOOD


def test_a_result_that_does_not_fails_with_the_place_and_the_value() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_conforms(data({"sku": "A-1", "quantity": "three"}), GET_STOCK)
    assert "/quantity" in str(caught.value)
    assert "'three'" in str(caught.value)


def test_what_is_asserted_is_what_the_policy_raises_on() -> None:
    text_only = said('{"sku": "A-1", "quantity": 3}')
    assert assert_conforms(text_only, GET_STOCK, policy=ENFORCE) == GOOD
    with pytest.raises(AssertionError, match="structured_missing"):
        assert_conforms(text_only, GET_STOCK)


async def lock_of(server: FaultyServer, tmp_path: Path) -> Path:
    path = tmp_path / "mcp.lock"
    async with server.session() as session:
        (await guard(session).refresh()).save(path)
    return path


async def test_a_server_that_lists_what_is_locked_passes_whichever_way_it_is_given(tmp_path: Path) -> None:
    server = FaultyServer()
    path = await lock_of(server, tmp_path)
    await assert_contract(server.transport(), path)
    async with server.session() as session:
        await assert_contract(session, path)
        await assert_contract(guard(session), path)


async def test_a_server_that_lists_something_else_fails_with_the_difference(tmp_path: Path) -> None:
    path = await lock_of(FaultyServer(), tmp_path)
    with pytest.raises(AssertionError) as caught:
        await assert_contract(FaultyServer("stale_schema").transport(), path)
    assert "get_stock: " in str(caught.value)
    assert "as_of" in str(caught.value)


async def test_an_effect_that_is_allowed_is_no_failure(tmp_path: Path) -> None:
    path = await lock_of(FaultyServer(), tmp_path)
    changed = FaultyServer(tools=[{**GET_STOCK, "description": "It says how many there are."}])
    with pytest.raises(AssertionError):
        await assert_contract(changed.transport(), path)
    await assert_contract(changed.transport(), path, allow={"changed"})


async def test_tools_that_are_named_are_called_with_arguments_that_fit() -> None:
    server = FaultyServer()
    (found,) = await exercise(server.transport(), ["get_*"], examples=10)
    assert found.kinds == {"ok": server.calls["get_stock"]}
    assert 2 <= server.calls["get_stock"] <= 10
    assert found.describe() == f"get_stock: {server.calls['get_stock']} ok"


async def test_the_same_seed_makes_the_same_arguments() -> None:
    asked: list[list[Any]] = [[], []]
    for each in asked:

        def work(arguments: dict[str, Any], each: list[Any] = each) -> Any:
            each.append(arguments)
            return GOOD

        await exercise(FaultyServer(work={"get_stock": work}).transport(), "get_stock", examples=8, seed=3)
    assert asked[0] == asked[1] != []


async def test_a_break_is_told_with_the_shortest_arguments_that_showed_it() -> None:
    def work(arguments: dict[str, Any]) -> Any:
        return {"sku": arguments["sku"]} if "warehouse" in arguments else {**GOOD, "sku": arguments["sku"]}

    with pytest.raises(AssertionError) as caught:
        await exercise(FaultyServer(work={"get_stock": work}).transport(), ["get_stock"], examples=30)
    assert "output_violation" in str(caught.value)
    assert 'called with {"sku": "", "warehouse": "' in str(caught.value)


async def test_an_error_of_the_tool_s_own_is_counted_and_no_break() -> None:
    (found,) = await exercise(FaultyServer("error_prose").transport(), ["get_stock"], examples=5)
    assert not found.is_broken
    assert set(found.kinds) == {"tool_error"}


async def test_a_tool_that_no_arguments_can_be_made_for_is_skipped_with_the_reason() -> None:
    tool = {**GET_STOCK, "inputSchema": {"type": "object", "properties": {"x": {"$ref": "#/$defs/gone"}}}}
    (found,) = await exercise(FaultyServer(tools=[tool]).transport(), ["*"])
    assert found.skipped is not None
    assert "no arguments can be made" in found.describe()


async def test_only_what_is_named_is_called() -> None:
    with pytest.raises(ValueError, match="no listed tool is named"):
        await exercise(sample_server(), ["pay"])
    (found,) = await exercise(sample_server(), ["add"], examples=3)
    assert found.tool == "add"


def test_every_fault_of_the_data_fails_the_assertion() -> None:
    good = Good(GET_STOCK, data(GOOD))
    for fault in FAULTS.values():
        if fault.kind == "data" and fault.name not in {"not_a_number", "lone_surrogate"}:  # lines of text, no results
            with pytest.raises(AssertionError):
                assert_conforms(fault.answer(good), GET_STOCK)
