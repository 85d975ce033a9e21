"""`Contract`: made of any spelling, never raising about what the server sent; and the canonical form it is known by."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
from typing import Any, Final

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st
from mcp.types import Tool

from mcp_guard import _engine, _panic, _schema
from mcp_guard._canonical import Plain, canonical_json, plain
from mcp_guard._contract import Contract
from mcp_guard._dialects import URIS
from mcp_guard._look import Undecided
from mcp_guard._schema import CompiledSchema, compile_schema
from mcp_guard.policy import Limits

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOL = {"name": "count", "description": "counts", "inputSchema": {"type": "object"}, "outputSchema": SCHEMA}


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"items": schema}
    return schema


def compiled(contract: Contract) -> CompiledSchema:
    assert contract.output is not None, contract.unusable
    return contract.output


def test_a_contract_holds_what_the_tool_promised() -> None:
    contract = Contract.from_tool(TOOL)
    assert contract.name == "count"
    assert contract.description == "counts"
    assert contract.output_schema == SCHEMA
    assert contract.input_schema == {"type": "object"}
    assert contract.definition == TOOL
    assert contract.dialect == "draft2020-12"
    assert contract.unusable is None
    assert contract.declares_output
    assert compiled(contract).is_valid({"n": 1})
    assert not compiled(contract).is_valid({"n": "x"})
    assert compiled(contract).names == {"n"}
    assert contract.input is not None
    assert contract.input is contract.input


def test_every_spelling_of_a_tool_gives_an_equal_contract() -> None:
    contract = Contract.from_tool(TOOL)
    same = [
        Contract.from_tool(Tool.model_validate(TOOL)),
        Contract.from_tool(json.loads(json.dumps(TOOL))),
        Contract("count", SCHEMA, input_schema={"type": "object"}, description="counts"),
        Contract("count", SCHEMA, definition={**TOOL, "name": "other"}),
        copy.copy(contract),
        copy.deepcopy(contract),
        pickle.loads(pickle.dumps(contract)),  # noqa: S301  # ours
    ]
    for each in same:
        assert each == contract
        assert hash(each) == hash(contract)
        assert each.fingerprint == contract.fingerprint
        assert compiled(each).is_valid({"n": 1})


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"description": "counts."},
        {"annotations": {"readOnlyHint": True}},
        {"inputSchema": {"type": "object", "title": ""}},
        {"outputSchema": {**SCHEMA, "required": []}},
        {"outputSchema": None},
    ],
)
def test_any_change_of_the_definition_is_another_contract(change: dict[str, Any]) -> None:
    assert Contract.from_tool({**TOOL, **change}) != Contract.from_tool(TOOL)


def test_the_output_fingerprint_knows_the_output_schema_alone() -> None:
    contract = Contract.from_tool(TOOL)
    assert contract.output_fingerprint == Contract("another", SCHEMA).output_fingerprint
    assert contract.output_fingerprint != Contract("count", {}).output_fingerprint
    assert Contract("count").output_fingerprint is None
    assert len(contract.fingerprint) == len(contract.output_fingerprint or "") == 64  # SHA-256


def test_members_in_another_order_and_equal_numbers_are_the_same_definition() -> None:
    assert Contract("t", {"minimum": 1, "type": "integer"}) == Contract("t", {"type": "integer", "minimum": 1.0})
    assert Contract("t", {"const": 1}) != Contract("t", {"const": True})
    assert Contract("t", {"const": 2**60}) != Contract("t", {"const": 2**60 + 1})


@pytest.mark.parametrize("schema", [None, {}, True, False, [SCHEMA], 0, ""])
def test_an_output_is_declared_by_anything_but_null(schema: Any) -> None:
    contract = Contract.from_tool({"name": "t", "outputSchema": schema})
    assert contract.declares_output is (schema is not None)
    assert (contract.output is None) is (schema != {})
    assert (contract.unusable is not None) is (schema is not None and schema != {})


def test_a_contract_without_output_schema_is_no_broken_one() -> None:
    contract = Contract("t")
    assert (contract.declares_output, contract.output, contract.unusable, contract.dialect) == (False, None, None, None)


@pytest.mark.parametrize(
    "schema, reason",
    [
        ({"type": "int"}, "invalid_schema"),
        ({"$schema": "x"}, "unknown_dialect"),
        ({"$ref": "#/nope"}, "dangling_ref"),
        ({"$ref": "http://e/"}, "remote_ref"),
        ({"$ref": "#"}, "endless_ref"),
        ({"pattern": "a" * 10_000}, "too_complex"),
        (nested(2_000), "too_complex"),
        ({"const": {1}}, "invalid_schema"),
        ({"const": object()}, "invalid_schema"),
    ],
)
def test_an_unusable_schema_raises_nothing_and_has_a_reason(schema: Any, reason: str) -> None:
    contract = Contract.from_tool({"name": "t", "outputSchema": schema})
    assert contract.unusable is not None
    assert contract.unusable.reason == reason
    assert contract.output is None
    assert contract.declares_output
    assert contract.fingerprint == Contract("t", schema).fingerprint != Contract("t").fingerprint


@pytest.mark.parametrize("schema", [{"type": "int"}, True, {"const": {1}}, nested(2_000), {"$ref": "http://e/"}])
def test_an_unusable_input_schema_never_makes_a_contract_unusable(schema: Any) -> None:
    contract = Contract("t", SCHEMA, input_schema=schema)
    assert contract.unusable is None
    assert contract.input is None
    assert contract.fingerprint != Contract("t", SCHEMA).fingerprint


@pytest.mark.parametrize(
    "definition", [{}, {"name": None}, {"name": 5}, {"name": ["t"], "outputSchema": SCHEMA}, {5: 6}]
)
def test_a_tool_without_a_name_is_unusable(definition: Any) -> None:
    contract = Contract.from_tool(definition)
    assert contract.name == ""
    assert contract.unusable is not None
    assert contract.output is None


def test_odd_members_of_a_definition_do_no_harm() -> None:
    odd: dict[Any, Any] = {**TOOL, "description": "\ud800", "annotations": {1: 2}, "_meta": nested(5_000)}
    odd.update({7: 8, "title": float("nan")})
    contract = Contract.from_tool(odd)
    assert contract.unusable is None
    assert contract.description is None
    assert contract.fingerprint != Contract.from_tool(TOOL).fingerprint
    assert set(contract.definition) == {"name", "inputSchema", "outputSchema"}


def test_a_tool_that_the_sdk_cannot_write_out_is_read_as_it_is() -> None:
    schema = nested(3_000)
    contract = Contract.from_tool(Tool.model_construct(name="t", inputSchema={}, outputSchema=schema))
    assert contract.name == "t"
    assert contract.unusable is not None
    assert contract.unusable.reason == "too_complex"


def test_what_the_caller_gives_wrong_is_a_type_error_that_helps() -> None:
    wrong: list[tuple[Any, str]] = [
        (lambda: Contract(5), "Contract.from_tool"),  # type: ignore[arg-type]  # what is refused
        (lambda: Contract("t", limits=5), "Limits"),  # type: ignore[arg-type]  # what is refused
        (lambda: Contract("t", definition=[]), "definition"),  # type: ignore[arg-type]  # what is refused
        (lambda: Contract("t", resources="x"), "resources"),  # type: ignore[arg-type]  # what is refused
        (lambda: Contract.from_tool("count"), "mapping"),
    ]
    for call, words in wrong:
        with pytest.raises(TypeError, match=words):
            call()


def test_a_change_of_the_servers_object_changes_nothing() -> None:
    tool = copy.deepcopy(TOOL)
    contract = Contract.from_tool(tool)
    before = contract.fingerprint
    tool["outputSchema"]["properties"]["n"]["type"] = "string"  # type: ignore[index]  # a dict of dicts
    tool["inputSchema"]["type"] = "string"  # type: ignore[index]  # a dict of dicts
    contract.definition["outputSchema"]["type"] = "string"
    fresh = copy.copy(contract)
    assert compiled(contract).is_valid({"n": 1})
    assert contract.output_schema == SCHEMA
    assert contract.input_schema == {"type": "object"}
    assert fresh.fingerprint == before


@pytest.mark.parametrize("count", [60_000, 290_000])
def test_all_parts_of_a_definition_share_what_may_be_copied_the_schemas_first(count: int) -> None:
    schema = {"type": "object", "default": [{} for _ in range(20_000)]}
    many: list[Any] = [{} for _ in range(count)]
    contract = Contract.from_tool({"_meta": many, "annotations": {"x": many}, "outputSchema": schema, "name": "t"})
    assert {key: flaw.code for key, flaw in contract.flaws.items()} == {"_meta": "too_many", "annotations": "too_many"}
    assert contract.output_schema == schema
    assert contract.unusable is None
    assert list(contract.definition) == ["outputSchema", "name"]


def test_a_schema_of_too_many_values_is_too_complex_and_the_name_stays() -> None:
    contract = Contract.from_tool({"outputSchema": {"default": [{}] * 60_000}, "name": "t", "description": "d"})
    assert contract.unusable is not None
    assert contract.unusable.reason == "too_complex"
    assert contract.unusable.detail == "values in one definition: 200000 are allowed, found more"
    assert contract.definition == {"name": "t", "description": "d"}


def test_what_is_copied_in_vain_counts_too() -> None:
    vain = {f"m{index}": [*[{}] * 5_000, float("nan")] for index in range(20)}
    contract = Contract.from_tool({"name": "t", **vain})
    assert {flaw.code for flaw in contract.flaws.values()} == {"not_finite", "too_many"}


def test_two_schemas_of_256_kb_are_kept_and_compiled() -> None:
    part = {"anyOf": [{"type": "string", "description": "d" * 150}, {"type": "null"}], "title": "T", "default": None}
    schema = {"type": "object", "properties": {f"name{index}": part for index in range(1_100)}}
    assert len(json.dumps(schema)) > 256_000
    contract = Contract.from_tool({**TOOL, "inputSchema": schema, "outputSchema": schema})
    assert compiled(contract).is_valid({"name1": None})
    assert contract.input is not None
    assert not contract.flaws


def test_ambiguous_is_the_same_contract_unusable() -> None:
    contract = Contract.from_tool(TOOL)
    twin = contract.ambiguous()
    assert twin == contract
    assert twin.unusable is not None
    assert twin.unusable.reason == "ambiguous"
    assert twin.output is None
    assert contract.unusable is None
    assert compiled(contract).is_valid({"n": 1})


@pytest.mark.parametrize("mark, wrapped", [(True, True), (1, False), ("true", False), (None, False)])
def test_wrapped_is_what_the_schema_says_and_nothing_near_it(mark: Any, wrapped: bool) -> None:
    schema = {"type": "object", "properties": {"result": {}}, "x-fastmcp-wrap-result": mark}
    assert Contract("t", schema).wrapped is wrapped
    assert Contract("t", [schema]).wrapped is False


def test_the_repr_shows_the_name_safely_and_nothing_else() -> None:
    contract = Contract("evil\x1b[2J\u202e" + "x" * 100, {"description": "CANARY"})
    assert "CANARY" not in repr(contract)
    assert repr(contract).isprintable()
    assert contract.fingerprint[:12] in repr(contract)
    assert len(repr(contract)) < 100


def test_the_limits_are_the_callers() -> None:
    small = dataclasses.replace(Limits(), subschemas=1)
    contract = Contract("t", SCHEMA, limits=small)
    assert contract.unusable is not None
    assert contract.unusable.reason == "too_complex"


def test_documents_of_the_caller_are_used_and_survive_a_pickle() -> None:
    contract = Contract("t", {"$ref": "http://e/n"}, resources={"http://e/n": {"type": "integer"}})
    again = pickle.loads(pickle.dumps(contract))  # noqa: S301  # ours
    for each in (contract, again):
        assert compiled(each).is_valid(1)
        assert not compiled(each).is_valid("x")


# deciding


def test_formats_are_asserted_only_where_that_is_asked_for() -> None:
    schema = compiled(Contract("t", {"format": "date-time"}))
    assert schema.is_valid("2026-13-45T00:00:00Z")
    assert not schema.is_valid("2026-13-45T00:00:00Z", formats=True)
    assert schema.is_valid("2026-01-05T00:00:00Z", formats=True)


@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "^(?=(a+)+$)b", r"(a|a)*\1x", "^((?!b)a+)+$", r"^(a+)+\1$", "(?=a*b)x|(?=a*c)y"]
)
def test_a_pattern_made_to_hang_ends_in_no_match(pattern: str) -> None:
    assert not compiled(Contract("t", {"pattern": pattern})).is_valid("a" * 60 + "!")


ONES = [1] * 200_000
TEXT = "ab" * 500_000


DEEP = {"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [{"properties": {"a": {"$ref": "#/$defs/n"}}}] * 2}}}


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def fan(depth: int) -> dict[str, Any]:
    definitions = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(depth)}
    return {"items": {"$ref": "#/$defs/d0"}, "$defs": {**definitions, f"d{depth}": {"minimum": 0}}}


@pytest.mark.skipif(not _engine.available(), reason="only the engine has to be kept from it")
@pytest.mark.parametrize(
    "schema, value",
    [
        pytest.param({"items": {"anyOf": [{"const": -i} for i in range(1, 900)]}}, ONES, id="alternatives"),
        pytest.param(fan(8), ONES, id="fan-out"),
        pytest.param({"items": {"enum": [{"a": i} for i in range(3_000)]}}, [{}] * 100_000, id="enum of objects"),
        pytest.param(
            {"items": {"dependentRequired": {f"p{i}": [] for i in range(900)}}}, [{}] * 100_000, id="dependent"
        ),
        pytest.param(
            {"prefixItems": [{"items": {"enum": [{"a": i} for i in range(3_000)]}}]}, [[{}] * 9_000], id="prefix"
        ),
        pytest.param(
            {
                "patternProperties": {rf"\p{{L}}{i}": {} for i in range(170)},
                "properties": {"x": {"items": {"anyOf": [{"const": i} for i in range(900)]}}, "y": {"minimum": 0}},
            },
            {"x": [899] * 550, "y": 2**70},
            id="work, and what has to be compiled for it",
        ),
        pytest.param({"pattern": "a.{4000}c"}, TEXT, id="wide pattern"),
        pytest.param({"pattern": "a" + "." * 40 + "c"}, TEXT, id="wide pattern written out"),
        pytest.param({"pattern": "(?=a*b)x|(?=a*c)y"}, TEXT, id="look-ahead on a long text"),
        pytest.param({"items": {"pattern": r"(a|b)*\1c"}}, [TEXT[:40]] * 100_000, id="backtracking on many texts"),
        pytest.param(
            {"patternProperties": {f"^p{i}_.*x": {} for i in range(200)}},
            {f"k{i}": 1 for i in range(150_000)},
            id="patterns for names",
        ),
    ],
)
def test_what_would_keep_the_engine_busy_is_not_asked(schema: dict[str, Any], value: Any) -> None:
    with pytest.raises(Undecided):
        compiled(Contract("t", schema)).is_valid(value)


ROWS = [{"id": i, "name": f"row {i}", "mail": "user.name@mail.example.org"} for i in range(10_000)]
UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
MAIL = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"


@pytest.mark.parametrize(
    "schema, value",
    [
        pytest.param(
            {"items": {"properties": {"id": {"type": "integer"}, "name": {"maxLength": 99}}}}, ROWS, id="rows"
        ),
        pytest.param({"items": {"properties": {"mail": {"pattern": MAIL}}}}, ROWS, id="e-mail addresses"),
        pytest.param({"items": {"pattern": UUID}}, ["01234567-89ab-cdef-0123-456789abcdef"] * 90_000, id="identifiers"),
        pytest.param({"items": {"multipleOf": 0.01}}, [0.07] * 150_000, id="prices"),
        pytest.param({"pattern": r"^(?!\s*$).+"}, "x" * 1_000_000, id="a long text that is not blank"),
        pytest.param({"uniqueItems": True}, list(range(200_000)), id="unique"),
        pytest.param(
            {
                "properties": {
                    "rows": {"items": {"required": ["id"]}},
                    **{f"p{i}": {"type": "null"} for i in range(2_000)},
                }
            },
            {"rows": ROWS},
            id="a wide schema",
        ),
        pytest.param(DEEP, deep(150), id="alternatives that double on each level"),
        pytest.param(
            {"properties": {"a": {"$ref": "#"}, "b": {"pattern": "^(?!x)"}}}, deep(150), id="a schema in itself"
        ),
    ],
)
def test_what_plain_servers_send_is_decided(schema: dict[str, Any], value: Any) -> None:
    assert compiled(Contract("t", schema)).is_valid(value)


def test_too_little_backtracking_for_so_many_texts_is_no_violation() -> None:
    many = ["a" * 40 + str(i) for i in range(1_000)]
    schema = compiled(Contract("t", {"items": {"pattern": "^((?!b)a+)+[0-9]*!?$"}}))
    assert schema.is_valid(many)
    with pytest.raises(Undecided):
        schema.is_valid([*many, "a" * 40 + "?"])


def test_without_the_engine_the_explainer_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_engine, "available", lambda: False)
    contract = Contract("t", SCHEMA)
    assert compiled(contract).is_valid({"n": 1})
    assert not compiled(contract).is_valid({"n": "x"})
    again = pickle.loads(pickle.dumps(contract))  # noqa: S301  # ours
    assert compiled(again).is_valid({"n": 1})
    for dialect in URIS.values():
        assert Contract("t", {"$schema": dialect, **SCHEMA}).unusable is None
        broken = Contract("t", {"$schema": dialect, "properties": {"a": {"type": "int"}}})
        assert broken.unusable is not None
        assert broken.unusable.reason == "invalid_schema"
    assert Contract("t", {"properties": {f"p{i}": SCHEMA for i in range(500)}}).unusable is None


def test_an_interruption_passes_and_a_panic_does_not() -> None:
    panic = type("PanicException", (BaseException,), {})
    _panic.contain(panic())
    _panic.contain(ValueError())
    for stop in (KeyboardInterrupt, SystemExit, GeneratorExit):
        with pytest.raises(stop):
            _panic.contain(stop())


def test_a_value_that_the_engine_refuses_is_undecided() -> None:
    with pytest.raises(Undecided):
        compiled(Contract("t", {"properties": {"a": {"type": "array"}}})).is_valid({"a": {1, 2}})


def test_violations_are_located_on_demand() -> None:
    violations, truncated = compiled(Contract("t", SCHEMA)).violations({"n": "x"})
    assert [(each.pointer, each.keyword) for each in violations] == [("/n", "type")]
    assert not truncated


def test_importing_the_schema_half_loads_no_engine() -> None:
    heavy = "{'mcp', 'jsonschema', 'jsonschema_rs', 'referencing', 'rfc8785'}"
    code = f"import sys, mcp_guard._contract; print(sorted({heavy} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603  # ours
    assert done.stdout.strip() == "[]"
    assert _schema.__name__ == "mcp_guard._schema"


# canonical form


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        [],
        {},
        [[], {}, [{}]],
        {"b": 1, "a": [2, {"d": "x", "c": None}]},
        {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\u00f6": 7},
        [123456.789, 1e-4, 9.99e-5, 1e15 + 0.5, 9999999999999998.0, 1e16, -0.1],
        [333333333.33333329, 1e30, 4.50, 2e-3, 1e-27, -0.0, 0.0, 1e21, 5e-324, 1.7976931348623157e308, 1.0],
        [2**53 - 1, -(2**53) + 1, 0],
        '\u20ac$\x0f\nA\'B"\\\\"/\x7f\u2028',
    ],
)
def test_the_canonical_form_is_that_of_rfc_8785(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


def test_different_values_never_have_the_same_canonical_form() -> None:
    values: list[Any] = [
        2**53,
        -(2**53),
        2**60,
        float("nan"),
        float("inf"),
        "\0",
        "\0=1",
        "\0integer 0x1",
        1,
        "1",
        True,
    ]
    values += [{"\0=1": 1}, {"\0\0=1": 1}, "\ud800", [1, 2], [12], "\0integer 0x20000000000000"]
    assert len({canonical_json(value) for value in values}) == len(values)


SIMPLE: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
)


@given(SIMPLE)
@example({"b": 1, "a": {"z": "\0", "B": "é"}})
@example({"\0a": 1})
@example(["\0=1", 2**53, 1.5])
def test_the_quick_way_to_the_canonical_form_is_no_other_form(value: Any) -> None:
    copied = plain(value, depth=200, size=100_000)
    assert isinstance(copied, Plain)
    assert canonical_json(copied.value, simple=copied.simple) == canonical_json(value)


def test_what_is_no_json_has_no_canonical_form() -> None:
    itself: list[Any] = []
    itself.append(itself)
    for value in ({1: 2}, {1, 2}, object(), b"x", itself, [nested(5_000)]):
        assert canonical_json(value) is None
    assert canonical_json((1, (2,))) == b"[1,[2]]"


def test_a_subclass_of_a_json_type_is_taken_as_its_base() -> None:
    class Text(str):
        __slots__ = ()

    class Members(dict[str, Any]):
        pass

    found = compile_schema(Members(type=Text("integer"), enum=(1, 2)), Limits())
    assert isinstance(found, CompiledSchema)
    assert type(found.schema) is dict
    assert type(found.schema["type"]) is str
    assert found.is_valid(1)
    assert not found.is_valid(3)
