"""The text readings: strict JSON, one reading or none; and whether the text says the same as the structured content."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcp_guard._bounds import measure, scan
from mcp_guard._json import NotJson, Room, parse_all, parse_json, parse_measured, same_json
from mcp_guard._schema import CompiledSchema, compile_schema
from mcp_guard._text import Outcome, Reading, Unfit, Unread, differs, read
from mcp_guard.policy import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_guard.policy import Fallback

LIMITS = Limits()


class Compiled:
    """A schema that answers whether a value fits, and counts how often it was asked."""

    def __init__(self, schema: dict[str, Any]) -> None:
        compiled = compile_schema(schema, LIMITS)
        assert isinstance(compiled, CompiledSchema)
        self.schema = schema
        self.asked = 0
        self._compiled = compiled

    def is_valid(self, value: Any, *, formats: bool = False) -> bool:
        """Whether `value` fits."""
        self.asked += 1
        return self._compiled.is_valid(value, formats=formats)


def reads(schema: dict[str, Any], *texts: str, mode: Fallback = "readings", formats: bool = False) -> Outcome:
    """The outcome of the fallback."""
    return read(texts, Compiled(schema), mode, formats=formats, room=Room(LIMITS))


def wrapper(schema: object, name: str = "result") -> dict[str, Any]:
    """A schema that asks for an object with the one property."""
    return {"type": "object", "properties": {name: schema}, "required": [name]}


ORDER = {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}, "required": ["id", "n"]}
GOOD = '{"id": "A-1", "n": 3}'
INTEGERS = {"type": "array", "items": {"type": "integer"}}
ROWS = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}}
STRING = {"type": "string"}


# --- strict JSON


@pytest.mark.parametrize(
    "text, value",
    [
        ("{}", {}),
        ("null", None),
        ("\ufeff 1 ", 1),
        (" \t\r\n[1] \t\r\n", [1]),
        ("1180591620717411303425", 2**70 + 1),
        ("1e308", 1e308),
        ("-0", 0),
        ('"\\ud83d\\ude00"', "😀"),
        ('{"a": {"a": 1}, "b": [{"a": 2}, {"a": 2}]}', {"a": {"a": 1}, "b": [{"a": 2}, {"a": 2}]}),
        ('"NaN, {\\"a\\": 1, \\"a\\": 2}"', 'NaN, {"a": 1, "a": 2}'),
        ("[" * 200 + "]" * 200, None),
        ("9" * 4300, None),
        ('"' + "[{,:" * 500_000 + '"', None),
        (json.dumps([{"id": n} for n in range(149_999)]), None),
        (json.dumps([[]] * 299_999), None),
    ],
    ids=lambda x: str(x)[:40] if isinstance(x, str) else "",
)
def test_a_json_document_is_parsed(text: str, value: object) -> None:
    parsed = parse_json(text, LIMITS)
    assert value is None or same_json(parsed, value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "NaN",
        "[-Infinity]",
        "[Infinity]",
        "1e999",
        "[-1e999]",
        '{"a": 1, "a": 1}',
        '[{"b": {"a": 1, "\\u0061": 2}}]',
        '{"a": "\\":", "b": 1, "b": 2}',
        '{"\\\\":1,"b":2,"b":3}',
        '{"\\\\" :1,"b" :2,"b" :3}',
        '{"a":1,"a"\t:2,"b":"\\":"}',
        '{"a":1,"a"  :2,"b":"\\":"}',
        "{} x",
        "{} {}",
        "{'a': 1}",
        "[1,]",
        "// x\n1",
        "01",
        "+1",
        ".5",
        "True",
        '"a\nb"',
        '"\\x41"',
        "\ufeff\ufeff1",
        " \ufeff1",
        "\u00a01",
        "\u0661",
        '"\\ud800"',
        '{"\\udc00": 1}',
        '"\ud800"',
        "[" * 201 + "]" * 201,
        "[" * 500_000,
        '{"a":' * 200_000 + "1" + "}" * 200_000,
        "9" * 4301,
        "[" + ",".join(["1"] * 400_000) + "]",
        "[" + ",".join(["[[[1]]]"] * 100_001) + "]",
        '["' + '","' * 800_001 + '"]',
        '"' * 3_000_000,
        "x" * 6_000_001,
    ],
    ids=lambda text: ascii(text)[:40] + f" {len(text)}",
)
def test_what_is_no_strict_json_or_over_a_limit_is_refused(text: str) -> None:
    with pytest.raises(NotJson):
        parse_json(text, LIMITS)


@pytest.fixture
def unbounded() -> Iterator[None]:
    """A program that has taken Python's own limits away."""
    recursion, digits = sys.getrecursionlimit(), getattr(sys, "get_int_max_str_digits", int)()
    sys.setrecursionlimit(1_000_000)
    if digits:
        sys.set_int_max_str_digits(0)
    yield
    sys.setrecursionlimit(recursion)
    if digits:
        sys.set_int_max_str_digits(digits)


@pytest.mark.usefixtures("unbounded")
@pytest.mark.parametrize("text", ["[" * 3_000_000, '{"a":' * 1_000_000, "9" * 5_000_000], ids=["[", "{", "9"])
def test_the_limits_do_not_lean_on_those_of_python(text: str) -> None:
    with pytest.raises(NotJson):
        parse_json(text, LIMITS)


@pytest.mark.usefixtures("unbounded")
def test_without_limits_of_python_what_is_within_ours_is_parsed() -> None:
    assert parse_json("9" * 4300, LIMITS) == 10**4300 - 1
    rows = [{"a": '\\"[{', "b": [[], {}]}] * 1000
    assert parse_json(json.dumps(rows), LIMITS) == rows


def members(count: int, value: str, between: str = ":") -> str:
    """An object of so many members."""
    return "{" + ",".join(f'"n{index}"{between}{value}' for index in range(count)) + "}"


@pytest.mark.parametrize(
    "text",
    [
        members(160_000, "{}"),
        members(360_000, "1"),
        members(300_000, '":"', "  :"),
        "[" + ",".join(['{"a":{}}'] * 130_000) + "]",
        "[" + ",".join(["[[]]"] * 190_000) + "]",
    ],
    ids=["objects", "numbers", "spaces", "objects in objects", "arrays in arrays"],
)
def test_what_takes_too_long_to_parse_is_no_json_though_it_has_fewer_values_than_allowed(text: str) -> None:
    assert scan(json.loads(text), LIMITS) == ()
    with pytest.raises(NotJson):
        parse_json(text, LIMITS)


@pytest.mark.parametrize("between", [":", " :", ": ", " : "])
def test_300_000_values_are_parsed_however_they_are_spaced(between: str) -> None:
    row = f'{{"id"{between}1,"name"{between}"n"}}'
    assert parse_json("[" + ", \n".join([row] * 99_990) + "]", LIMITS) == [{"id": 1, "name": "n"}] * 99_990


@pytest.mark.parametrize("at", [*range(65_520, 65_550), 131_072])
@pytest.mark.parametrize("inside", ["", "a", ",", '\\"', "\\\\", "[]{}:,"])
def test_a_string_counts_as_one_value_wherever_it_stands(at: int, inside: str) -> None:
    text = "[" + " " * at + f'["{inside}"], [], {{}}, {{"a"  : 1}}]'
    exact = Limits(nodes=7)
    assert parse_json(text, exact) == json.loads(text)
    with pytest.raises(NotJson):
        parse_json(text, Limits(nodes=6))


def test_all_documents_that_are_read_for_one_result_share_the_room() -> None:
    room = Room(LIMITS)
    text = members(100_000, "1")
    for _ in range(3):
        parse_measured(text, room)
    with pytest.raises(NotJson):
        parse_measured(text, room)
    beside = measure([[] for _ in range(390_000)], LIMITS)
    assert Room(LIMITS, beside).left < Room(LIMITS).left - 390_000


def left_after(text: str, limits: Limits) -> int:
    """What is left of the room after a document, or what begins like one, was read twice."""
    room = Room(limits)
    for _ in range(2):
        with contextlib.suppress(NotJson):
            parse_measured(text, room)
    return room.left


DOCUMENTS = ['["[[[[[["]', '{"a": [1, "[{"]}', '{"a": [1', "[" + "[], " * 300 + "1]", members(300, "{}")]


@pytest.mark.parametrize("nodes", [5, LIMITS.nodes])
@pytest.mark.parametrize("text", DOCUMENTS, ids=lambda text: text[:9])
@pytest.mark.parametrize("limits_of_python", [True, False])
def test_a_document_takes_as_much_of_the_room_however_far_it_is_spaced(
    text: str, nodes: int, limits_of_python: bool, request: pytest.FixtureRequest
) -> None:
    if not limits_of_python:
        request.getfixturevalue("unbounded")
    limits = Limits(nodes=nodes)
    assert left_after(text, limits) == left_after(text[0] + " " * 200_000 + text[1:], limits)


def test_colons_in_strings_cost_no_room_and_neither_does_a_space_before_others() -> None:
    assert left_after('{"a": 1}', LIMITS) == left_after('{"a" : "b:"}', LIMITS)


def test_all_that_is_owed_to_the_room_is_taken_from_it() -> None:
    room = Room(LIMITS)
    room.owe(lambda: 3)
    room.owe(lambda: 4)
    assert room.left == Room(LIMITS).left - 7
    assert room.left == Room(LIMITS).left - 7


def test_a_document_that_breaks_off_is_paid_for() -> None:
    room = Room(LIMITS)
    with pytest.raises(NotJson):
        parse_measured(members(50_000, "1")[:-1], room)
    assert room.left < Room(LIMITS).left - 300_000


def test_blocks_share_the_room_too() -> None:
    assert parse_all(['{"a":{}}'] * 50_000, Room(LIMITS)) == [{"a": {}}] * 50_000
    with pytest.raises(NotJson):
        parse_all(['{"a":{}}'] * 130_000, Room(LIMITS))
    with pytest.raises(NotJson):
        parse_all(['{"a":1}', '{"b":1, "b":2}'], Room(LIMITS))
    with pytest.raises(NotJson):
        parse_all(["[1", "2], 3"], Room(LIMITS))


# --- readings 1 and 2: the text as it stands


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\ufeff\n{GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"\n\n```json title=x\r\n{GOOD}\r\n```\r\n",
        f"~~~\n{GOOD}\n~~~",
        f"````json\n\n{GOOD}\n\n````",
        f"\ufeff```JSON\n{GOOD}\n`````",
        json.dumps(GOOD),
        f"```\n{json.dumps(GOOD)}\n```",
    ],
)
def test_the_one_text_is_read_through_one_fence_or_one_more_encoding(text: str) -> None:
    assert reads(ORDER, text) == Reading({"id": "A-1", "n": 3})


@pytest.mark.parametrize(
    "text",
    [
        f"Here it is: {GOOD}",
        f"{GOOD} done",
        f"```json\n{GOOD}\n```\nand more",
        f"see\n```json\n{GOOD}\n```",
        f"```\n```json\n{GOOD}\n```\n```",
        f"```json\n{GOOD}",
        f"```json {GOOD} ```",
        f"``\n{GOOD}\n``",
        f"```\n{GOOD}\n~~~",
        f"````\n{GOOD}\n```",
        f"```a`b\n{GOOD}\n```",
        f"```\n\ufeff{GOOD}\n```",
        "```",
        "```\n```",
        '```json\n{"id": "A-1"}\n```',
        '{"id": "A-1", "n": 3, "n": 4}',
    ],
)
def test_other_text_is_not_json(text: str) -> None:
    assert reads(ORDER, text) == Unread("text_not_json")


@pytest.mark.parametrize(
    "schema, text, value",
    [
        (ORDER, '{"id": "A-1"}', {"id": "A-1"}),
        (ORDER, "42", 42),
        (ORDER, "null", None),
        # decoded once more it would break other rules; the text as it stands is a string
        (ORDER, json.dumps('{"id": 1}'), '{"id": 1}'),
        # once more, not twice
        (ORDER, json.dumps(json.dumps(GOOD)), json.dumps(GOOD)),
    ],
)
def test_json_that_does_not_fit_is_told_as_it_stands(schema: dict[str, Any], text: str, value: object) -> None:
    assert reads(schema, text) == Unfit(value)


def test_a_string_that_the_schema_takes_is_not_decoded_again() -> None:
    assert reads(STRING, json.dumps(GOOD)) == Reading(GOOD)
    assert reads({}, json.dumps(GOOD)) == Reading(GOOD)


def test_where_the_text_fits_as_it_stands_no_other_reading_is_looked_for() -> None:
    either = wrapper({"type": ["string", "integer"]})
    assert reads(either, '{"result": 42}') == Reading({"result": 42})
    assert reads({"type": "array"}, "[1]") == Reading([1])


def test_formats_are_asserted_where_they_are_asked_for() -> None:
    schema = {"type": "object", "properties": {"d": {"type": "string", "format": "date"}, "x": {}}, "required": ["d"]}
    assert reads(schema, '{"d": "2026-13-01"}') == Reading({"d": "2026-13-01"})
    assert reads(schema, '{"d": "2026-13-01"}', formats=True) == Unfit({"d": "2026-13-01"})


# --- readings 3 and 4: in the array or the property that the schema asks for


@pytest.mark.parametrize(
    "schema, texts, value",
    [
        # 3
        (INTEGERS, ["1", "2"], [1, 2]),
        (INTEGERS, ["1"], [1]),
        (ROWS, ['{"id": 1}'], [{"id": 1}]),
        ({"$ref": "#/$defs/r", "$defs": {"r": INTEGERS}}, ["1", "2"], [1, 2]),
        ({"items": {"type": "object"}, "minItems": 2, "type": ["array", "null"]}, ["{}", "{}"], [{}, {}]),
        (ROWS, [json.dumps('{"id": 1}'), json.dumps('{"id": 2}')], [{"id": 1}, {"id": 2}]),
        # 4 with 1 or 2
        (wrapper(INTEGERS, "rows"), ["[1, 2]"], {"rows": [1, 2]}),
        (wrapper(INTEGERS), ["[]"], {"result": []}),
        (wrapper(INTEGERS), ["```\n[1]\n```"], {"result": [1]}),
        (wrapper({"type": "number"}), ["42"], {"result": 42}),
        (wrapper({"type": "object"}), [json.dumps("{}")], {"result": {}}),
        (wrapper({"type": "null"}), ["null"], {"result": None}),
        (wrapper({}), ["[1]"], {"result": [1]}),
        (wrapper(True), ["42"], {"result": 42}),  # noqa: FBT003  # a schema
        # 4 with 3
        (wrapper(ROWS), ['{"id": 1}', '{"id": 2}'], {"result": [{"id": 1}, {"id": 2}]}),
        (wrapper(ROWS), ['{"id": 1}'], {"result": [{"id": 1}]}),
        (wrapper({"anyOf": [ROWS, {"type": "null"}]}), ['{"id": 1}'], {"result": [{"id": 1}]}),
        (wrapper({"items": {"type": "object"}, "maxProperties": 0}), ["{}", "{}"], {"result": [{}, {}]}),
    ],
)
def test_what_was_read_is_put_where_the_schema_asks_for_it(
    schema: dict[str, Any], texts: list[str], value: object
) -> None:
    assert reads(schema, *texts) == Reading(value)


@pytest.mark.parametrize(
    "schema, text",
    [
        (wrapper(STRING), "3 containers running"),
        (wrapper(STRING, "content"), ' {"a": 1}\n'),
        (wrapper(STRING), "42"),
        (wrapper(STRING), "\ufefftext"),
        (wrapper(STRING), ""),
        (wrapper(STRING), " \n"),
        (wrapper({"type": ["string", "null"]}), "prose"),
        (wrapper({"anyOf": [STRING, {"type": "integer"}]}), "prose"),
        (wrapper({"enum": ["on", "off"]}), "on"),
        (wrapper({"const": "on"}), "on"),
        (wrapper({"allOf": [STRING]}), "prose"),
        (wrapper({"$ref": "#/$defs/a~1b"}) | {"$defs": {"a/b": STRING}}, "prose"),
        (wrapper({"$ref": "#/$defs/a%20b"}) | {"$defs": {"a b": STRING}}, "prose"),
        (wrapper({"$ref": "#/allOf/0"}) | {"allOf": [{"type": ["string", "object"]}]}, "prose"),
        # an anchor is not looked up; the schema itself says whether the text fits
        (wrapper({"$ref": "#s"}) | {"$defs": {"s": {"$anchor": "s", **STRING}}}, "prose"),
    ],
)
def test_the_raw_text_is_the_value_where_one_string_is_asked_for(schema: dict[str, Any], text: str) -> None:
    (name,) = schema["properties"]
    assert reads(schema, text) == Reading({name: text}, verbatim=True)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/Out", "$defs": {"Out": wrapper(INTEGERS)}},
        {"allOf": [wrapper(INTEGERS)]},
        {"type": "object", "allOf": [{"properties": {"result": INTEGERS}}, {"required": ["result"]}]},
        {"anyOf": [wrapper(INTEGERS), {"type": "null"}]},
        {
            "properties": {"result": {"$ref": "#/$defs/R"}},
            "required": ["result"],
            "type": "object",
            "$defs": {"R": INTEGERS},
        },
        {"properties": {"result": INTEGERS}, "required": ["result"], "type": ["object", "string"]},
    ],
)
def test_the_one_property_is_seen_through_references(schema: dict[str, Any]) -> None:
    assert reads(schema, "1", "2") == Reading({"result": [1, 2]})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"content": STRING}},
        {"type": "object", "properties": {"content": STRING}, "required": []},
        {"type": "object", "properties": {"content": STRING}, "required": ["other"]},
        {"type": "object", "properties": {"content": STRING, "x": {}}, "required": ["content"]},
        {"type": "array", "properties": {"content": STRING}, "required": ["content"]},
        {"type": "object", "required": ["content"]},
        {"type": "object"},
        {"oneOf": [wrapper(STRING), wrapper(STRING, "other")]},
        wrapper({"type": "integer"}),
        wrapper({}),
        wrapper({"$ref": "#/prefixItems/0"}) | {"prefixItems": [{"type": "null"}]},
    ],
)
def test_prose_is_not_put_where_no_one_string_is_asked_for(schema: dict[str, Any]) -> None:
    assert reads(schema, "3 rows, see below") == Unread("text_not_json")


@pytest.mark.parametrize(
    "schema, text",
    [
        (wrapper({"type": ["string", "integer"]}), "42"),
        (wrapper({"anyOf": [STRING, {"type": "array", "items": {"type": "number"}}]}), "[1, 2]"),
        (wrapper(STRING), '"quoted"'),
        (wrapper({"type": "array"}), "[1]"),
        (wrapper({"type": ["object", "array"]}), "{}"),
        (wrapper({"type": ["object", "string"]}), "```\n{}\n```"),
        (wrapper({"$ref": "#any"}) | {"$defs": {"s": {"$anchor": "any", "type": ["string", "integer"]}}}, "42"),
    ],
)
def test_two_readings_that_fit_are_ambiguous(schema: dict[str, Any], text: str) -> None:
    assert reads(schema, text) == Unread("ambiguous")


@pytest.mark.parametrize(
    "schema, texts",
    [
        (ORDER, ["Here it is:", GOOD]),
        (ORDER, [GOOD, GOOD]),
        (ORDER, [GOOD, ""]),
        (INTEGERS, ["1", "two"]),
        (INTEGERS, ["1", '"two"']),
        (INTEGERS, ["1,2", "[3", "4]"]),
        ({"type": "array"}, ["1,2", "[3", "4]"]),
        ({"type": "array"}, ['"a', 'b"']),
        (wrapper(STRING), ["one", "two"]),
        (wrapper({"type": "array", "items": STRING}), ["one", "two"]),
    ],
)
def test_several_blocks_that_are_no_array_have_no_reading(schema: dict[str, Any], texts: list[str]) -> None:
    assert reads(schema, *texts) == Unread("no_reading")


# --- modes and limits


@pytest.mark.parametrize(
    "schema, texts, outcome",
    [
        (ORDER, [GOOD], Reading({"id": "A-1", "n": 3})),
        (ORDER, [json.dumps(GOOD)], Reading({"id": "A-1", "n": 3})),
        (ORDER, [f"```\n{GOOD}\n```"], Unread("text_not_json")),
        (wrapper(STRING), ["prose"], Unread("text_not_json")),
        (wrapper(STRING), [""], Unread("no_text")),
        (wrapper(INTEGERS), ["[1]"], Unfit([1])),
        (INTEGERS, ["1", "2"], Unread("no_reading")),
    ],
)
def test_mode_json_reads_the_one_text_as_it_stands(schema: dict[str, Any], texts: list[str], outcome: Outcome) -> None:
    assert reads(schema, *texts, mode="json") == outcome


@pytest.mark.parametrize("texts", [[GOOD], [], [""]])
def test_mode_off_reads_nothing(texts: list[str]) -> None:
    assert reads(ORDER, *texts, mode="off") == Unread("fallback_off")


@pytest.mark.parametrize("texts", [[], [""], [" \n\t"], ["\ufeff"], ["", "  "], ["\u00a0"]])
@pytest.mark.parametrize("schema", [ORDER, INTEGERS], ids=["object", "array"])
def test_no_text_or_white_space_alone_is_no_text(schema: dict[str, Any], texts: list[str]) -> None:
    assert reads(schema, *texts) == Unread("no_text")


@pytest.mark.parametrize("schema", [INTEGERS, wrapper(INTEGERS), wrapper(STRING)])
def test_no_block_is_no_empty_array_and_no_empty_string(schema: dict[str, Any]) -> None:
    assert reads(schema) == Unread("no_text")


def test_the_size_of_all_blocks_together_is_limited() -> None:
    limits = dataclasses.replace(LIMITS, text_bytes=4)
    schema = Compiled(INTEGERS)
    assert read(["10", "20"], schema, "readings", formats=False, room=Room(limits)) == Reading([10, 20])
    assert read(["100", "20"], schema, "readings", formats=False, room=Room(limits)) == Unread("text_too_large")
    assert read(["100", "20"], schema, "json", formats=False, room=Room(limits)) == Unread("text_too_large")
    assert read(["   ", "   "], schema, "readings", formats=False, room=Room(limits)) == Unread("no_text")
    assert read(["prose"], Compiled(wrapper(STRING)), "readings", formats=False, room=Room(limits)) == Unread(
        "text_too_large"
    )


def test_text_deeper_than_the_limit_is_not_json() -> None:
    assert reads({}, "[" * 200 + "]" * 200) == Reading(json.loads("[" * 200 + "]" * 200))
    assert reads({}, "[" * 201 + "]" * 201) == Unread("text_not_json")


def test_blocks_share_one_limit_of_values_and_each_may_be_deep() -> None:
    array = {"type": "array"}
    rows = json.dumps([1] * 199_998)
    assert isinstance(reads(array, rows, rows), Reading)
    assert reads(array, rows, rows, "[1]") == Unread("no_reading")
    deep = "[" * 200 + "]" * 200
    assert isinstance(reads(array, deep, deep), Reading)
    assert reads(array, deep, f"[{deep}]") == Unread("no_reading")


def test_a_hundred_thousand_blocks_are_read() -> None:
    assert reads(wrapper(INTEGERS), *["7"] * 100_000) == Reading({"result": [7] * 100_000})


def test_raw_text_with_a_lone_surrogate_is_no_value() -> None:
    assert reads(wrapper(STRING), "a\ud800") == Unread("text_not_json")


@pytest.mark.parametrize("texts", [["42"], ["prose"], [json.dumps("[1]")], ["1"] * 1000])
def test_the_schema_is_asked_a_few_times_at_most(texts: list[str]) -> None:
    schema = Compiled(wrapper({"type": ["string", "array", "boolean"], "maxLength": 0, "maxItems": 0}))
    read(texts, schema, "readings", formats=False, room=Room(LIMITS))
    assert schema.asked <= 8


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#", "type": "object"},
        {"allOf": [{"$ref": "#/allOf/0"}]},
        {"anyOf": [{"$ref": "#"}, {"$ref": "#/anyOf/1"}]},
        wrapper({"$ref": "#/properties/result"}),
        wrapper({"anyOf": [{"type": "integer", "minimum": n} for n in range(1000)]}),
        {"type": 3, "required": 4, "properties": 5, "allOf": 6, "anyOf": "x", "$ref": 7},
        {"type": "object", "required": [[], {}, None], "properties": {"a": None}, "oneOf": [None, 1]},
        wrapper({"$ref": "#/properties/result/x"}),
        wrapper({"$ref": "https://example.com/s"}),
        wrapper({"$ref": "#/required/9" + "9" * 5000}),
        wrapper({"enum": [[1]] * 10_000, "type": []}),
    ],
    ids=range(11),
)
def test_odd_schemas_end(schema: dict[str, Any]) -> None:
    class TakesNothing:
        def __init__(self) -> None:
            self.schema = schema

        def is_valid(self, value: object, *, formats: bool = False) -> bool:
            del value, formats
            return False

    assert read(["prose"], TakesNothing(), "readings", formats=False, room=Room(LIMITS)) == Unread("text_not_json")
    assert read(["1"], TakesNothing(), "readings", formats=False, room=Room(LIMITS)) == Unfit(1)


def test_values_stand_in_no_repr() -> None:
    assert "secret" not in repr([Reading("secret"), Unfit("secret")])


# --- equality and comparison


@pytest.mark.parametrize(
    "one, other",
    [
        (1, 1.0),
        (0, -0.0),
        (2**70, 2**70),
        ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1}),
        ([True, None, ""], [True, None, ""]),
        ([[], {}], [[], {}]),
    ],
)
def test_equal_json(one: object, other: object) -> None:
    assert same_json(one, other)
    assert same_json(other, one)


@pytest.mark.parametrize(
    "one, other",
    [
        (1, True),
        (0, False),
        (0.0, False),
        ([1], [True]),
        ({"a": 0}, {"a": False}),
        (2**53 + 1, float(2**53)),
        (1, "1"),
        (None, False),
        (None, {}),
        ([], {}),
        ("", []),
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ({"a": 1}, {"a": 1, "b": 1}),
        ({"a": 1}, {"b": 1}),
        ({"a": {"b": 1}}, {"a": {"b": 2}}),
        (math.nan, math.nan),
    ],
)
def test_unequal_json(one: object, other: object) -> None:
    assert not same_json(one, other)
    assert not same_json(other, one)


def test_deep_values_are_compared() -> None:
    one: Any = 1
    other: Any = 1
    for _ in range(50_000):
        one, other = [one], [other]
    assert same_json(one, other)
    assert not same_json(one, [other])


@pytest.mark.parametrize(
    "structured, texts, wrapped, expected",
    [
        ({"a": 1}, ['{"a": 1.0}'], False, False),
        ({"a": 1}, ['{"a": 2}'], False, True),
        ({"a": 1}, ['\ufeff {"a": 1} '], False, False),
        ({"pages": 30}, ["30"], False, True),
        ({"a": 1}, ["prose"], False, False),
        ({"a": 1}, ['```\n{"a": 2}\n```'], False, False),
        ({"a": 1}, ['{"a": 2, "a": 2}'], False, False),
        ({"a": 1}, [], False, False),
        ({"a": 1}, ["1", "2"], False, False),
        (None, ["null"], False, False),
        (True, ["1"], False, True),
        # a declared wrapper
        ({"result": [1]}, ["[1]"], True, False),
        ({"result": [1]}, ["[1]"], False, True),
        ({"result": [1]}, ['{"result": [1]}'], True, False),
        ({"result": [1]}, ["[2]"], True, True),
        ({"result": "42"}, ["42"], True, False),
        ({"result": "42"}, ["42"], False, True),
        ({"result": "42"}, ['"42"'], True, False),
        ({"result": "42"}, ["43"], True, True),
        ({"result": 42}, ["42"], True, False),
        ({"result": None}, ["null"], True, False),
        ({"result": 1, "more": 2}, ["1"], True, True),
        ([1], ["1"], True, True),
    ],
)
def test_text_differs_where_both_are_json_and_say_two_things(
    structured: object,
    texts: list[str],
    wrapped: bool,
    expected: bool,
) -> None:
    assert differs(structured, texts, wrapped=wrapped, room=Room(LIMITS)) is expected


def test_texts_that_are_too_large_to_be_compared_are_said_to_be_the_same() -> None:
    many, other = [{"a": index} for index in range(100_000)], [{"a": 1}]
    assert not differs(many, [json.dumps(many[1:])], wrapped=False, room=Room(LIMITS))
    assert not differs(other, [json.dumps(many)], wrapped=False, room=Room(LIMITS))
    assert differs(other, [json.dumps(many[:40_000])], wrapped=False, room=Room(LIMITS))
