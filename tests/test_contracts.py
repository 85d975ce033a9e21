"""The set of contracts: what is listed replaces what was, what is registered goes before it, servers stay apart."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_guard import Contract, Contracts
from support import tool

INTEGER = {"type": "integer"}
STRING = {"type": "string"}


def contract(name: str = "t", output: Any = None, **members: Any) -> Contract:
    """The contract of a listed tool."""
    return Contract.from_tool(tool(name, output, **members))


def test_an_empty_set_knows_nothing() -> None:
    contracts = Contracts()
    assert len(contracts) == 0
    assert [*contracts] == []
    assert "t" not in contracts
    assert contracts.get("t") is None
    assert contracts.servers() == []


def test_a_listing_is_known_by_the_names_on_the_wire() -> None:
    contracts = Contracts()
    listed = [contract("a.b/c"), contract("A.B/C"), contract("")]
    contracts.learn(listed)
    assert [contracts[each.name] for each in listed] == listed
    assert {*contracts} == {*listed}
    assert "a.b/C" not in contracts


def test_a_listing_replaces_the_one_before() -> None:
    contracts = Contracts()
    contracts.learn([contract("a"), contract("b", INTEGER)])
    contracts.learn([contract("b", STRING)])
    assert "a" not in contracts
    assert contracts["b"].output_schema == STRING


def test_an_unchanged_tool_keeps_the_contract_that_is_compiled() -> None:
    contracts = Contracts()
    first = contract("a", INTEGER)
    contracts.learn([first, contract("b", INTEGER)])
    contracts.learn([contract("b", STRING), contract("a", INTEGER)])
    assert contracts["a"] is first


def test_two_equal_definitions_count_once() -> None:
    contracts = Contracts()
    contracts.learn([contract("t", INTEGER), contract("t", INTEGER)])
    assert len(contracts) == 1
    assert contracts["t"].unusable is None


@pytest.mark.parametrize(
    "twin",
    [contract("t", STRING), contract("t"), contract("t", INTEGER, description="another"), contract("t", {"type": 5})],
    ids=["another schema", "no schema", "another description", "a schema that can not be used"],
)
def test_two_definitions_of_a_name_are_ambiguous_in_whatever_order_they_come(twin: Contract) -> None:
    for listed in ([contract("t", INTEGER), twin], [twin, contract("t", INTEGER)]):
        contracts = Contracts()
        contracts.learn([*listed, contract("other", INTEGER)])
        unusable = contracts["t"].unusable
        assert unusable is not None
        assert unusable.reason == "ambiguous"
        assert contracts["other"].unusable is None


def test_a_name_that_was_ambiguous_is_usable_once_it_is_listed_once() -> None:
    contracts = Contracts()
    contracts.learn([contract("t", INTEGER), contract("t", STRING)])
    contracts.learn([contract("t", INTEGER)])
    assert contracts["t"].unusable is None


def test_servers_are_kept_apart() -> None:
    contracts = Contracts()
    contracts.learn([contract("t", INTEGER)], server="one")
    contracts.learn([contract("t", STRING)], server="two")
    contracts.learn([], server="two")
    assert contracts.get("t", server="one") == contract("t", INTEGER)
    assert contracts.get("t", server="two") is None
    assert contracts.get("t") is None
    assert contracts.servers() == ["one", "two"]
    assert [*contracts.of("one")] == ["t"]


def test_a_name_of_two_servers_has_to_be_asked_for_with_its_server() -> None:
    contracts = Contracts()
    contracts.learn([contract("t", INTEGER)], server="one")
    assert contracts["t"] == contract("t", INTEGER)
    contracts.learn([contract("t", STRING)], server="two")
    with pytest.raises(KeyError, match="2 contracts are named t"):
        contracts["t"]
    with pytest.raises(KeyError, match="0 contracts are named no"):
        contracts["no"]
    assert "t" in contracts
    assert len(contracts) == 2


def test_a_registered_contract_goes_before_a_listed_one_then_and_later() -> None:
    contracts = Contracts()
    own = contract("t", STRING)
    contracts.learn([contract("t", INTEGER)])
    contracts.register(own)
    assert contracts["t"] is own
    contracts.learn([contract("t", INTEGER), contract("u")])
    assert contracts["t"] is own
    assert contracts.of()["t"] is own
    assert len(contracts) == 2


def test_a_registered_contract_outlives_the_listing_and_belongs_to_one_server() -> None:
    contracts = Contracts()
    own = contract("t", STRING)
    contracts.register(own, server="one")
    contracts.learn([], server="one")
    assert contracts.get("t", server="one") is own
    assert contracts.get("t") is None


@pytest.mark.parametrize("wrong", [tool("t"), None, "t", Contract])
def test_what_is_no_contract_is_not_registered(wrong: Any) -> None:
    with pytest.raises(TypeError, match="from_tool"):
        Contracts().register(wrong)


def test_what_is_handed_out_can_not_be_changed() -> None:
    contracts = Contracts()
    contracts.learn([contract("t")])
    handed: Any = contracts.of()
    with pytest.raises(TypeError):
        handed["t"] = contract("t", INTEGER)
    assert contracts["t"].output_schema is None


def test_a_repr_says_how_much_there_is_and_no_name() -> None:
    contracts = Contracts()
    contracts.learn([contract("secret\x1b[31m")], server="hidden")
    assert repr(contracts) == "Contracts(1 of 1 servers)"
