"""Results without structured content: texts that are JSON, or not quite; and results that are none."""

from __future__ import annotations

import json
from functools import partial
from typing import Final

from benchmarks.hostile._case import Case, Group, Json, Make, lists, objects, said

TEXTS: Final = Group("text")
_ANY: Final = {"type": "object", "additionalProperties": {"type": "integer"}}
_ONE: Final = {"type": "object", "properties": {"result": {"type": ["array", "string"]}}, "required": ["result"]}


def _encoded(times: int) -> str:
    text = "1"
    for _ in range(times):
        text = json.dumps(text)
    return text


def _members(count: int, value: str, between: str = ":") -> str:
    return "{" + ",".join(f'"n{i}"{between}{value}' for i in range(count)) + "}"


_HEAVY: Final[dict[str, Make]] = {
    "390,000 members that are empty objects": lambda: _members(390_000, "{}"),
    "150,000 members that are empty objects": lambda: _members(150_000, "{}"),
    "300,000 members": lambda: _members(300_000, "1"),
    "300,000 members, spaces before the colons": lambda: _members(300_000, '":"', "  :"),
    "230,000 members, spaces before the colons": lambda: _members(230_000, '":"', "  :"),
    "150,000 members, broken at the end": lambda: _members(150_000, "{}")[:-1] + ",x}",
    "60,000 members, broken at the end": lambda: _members(60_000, "{}")[:-1] + ",x}",
    "150,000 members in a string": lambda: json.dumps(_members(150_000, "{}")),
    "150,000 members in a fence": lambda: "```\n" + _members(150_000, "{}") + "\n```",
    "195,000 objects in objects": lambda: "[" + ",".join(['{"a":{}}'] * 195_000) + "]",
    "115,000 objects in objects": lambda: "[" + ",".join(['{"a":{}}'] * 115_000) + "]",
    "150,000 arrays in arrays": lambda: "[" + ",".join(["[[]]"] * 150_000) + "]",
    "790,000 emoji": lambda: "[" + ", ".join(['"\U0001f600\U0001f600\U0001f600"'] * 790_000) + "]",
    "1.2 million short strings": lambda: "[" + ", ".join(['"a"'] * 1_199_999) + "]",
    "10 MB": lambda: '{"a": "' + "a" * 10_000_000 + '"}',
    "5.9 MB": lambda: '{"a": "' + "a" * 5_900_000 + '"}',
    "10 MB of white space": lambda: " " * 10_000_000,
    "5.9 MB of white space": lambda: "\u2003\n" * 2_900_000,
    "6 MB of objects": lambda: "[" + '{"":0},' * 850_000 + "0]",
    "390,000 numbers": lambda: "[" + "1," * 389_999 + "1]",
    "2 MB of brackets": lambda: "[" * 2_000_000,
    "a key 300,000 times": lambda: "{" + '"a":1,' * 300_000 + '"a":1}',
    "5 million BOMs": lambda: "\ufeff" * 5_000_000,
    "an exponent of 5 MB": lambda: '{"a": 1e' + "9" * 5_000_000 + "}",
    "a fraction of 5 MB": lambda: '{"a": 0.' + "1" * 5_000_000 + "}",
    "an integer of 5 MB": lambda: '{"a": ' + "1" * 5_000_000 + "}",
    "1,300 integers of 4,300 digits": lambda: "[" + ",".join(["1" * 4_300] * 1_300) + "]",
    "5 MB of backslashes": lambda: '"' + "\\" * 5_000_000 + '"',
    "5 MB of quotes": lambda: '"' * 5_000_000,
    "5 MB of escaped quotes": lambda: '["' + '\\"' * 2_500_000 + '"]',
    "5 MB of backslashes and quotes": lambda: '\\\\"' * 1_900_000,
    "5 MB of escapes": lambda: '"' + "\\u0041" * 900_000 + '"',
    "5 MB of backquotes": lambda: "`" * 5_000_000,
    "a fence of 2 MB": lambda: "`" * 2_000_000 + "\n1\n" + "`" * 2_000_000,
    "half a million fences": lambda: "```\n1\n```\n" * 500_000,
    "5 MB in a fence": lambda: '```json\n{"a": "' + "a" * 5_000_000 + '"}\n```',
    "390,000 numbers in a string": lambda: json.dumps("[" + "1," * 389_000 + "1]"),
    "300,000 strings that are JSON": lambda: json.dumps(["[]"] * 300_000),
    "10,000 names of 500 characters": lambda: json.dumps({"a" * 490 + str(i): 1 for i in range(10_000)}),
}
_LIGHT: Final[dict[str, Make]] = {
    "100,000 levels": lambda: "[" * 100_000 + "]" * 100_000,
    "200 levels": lambda: '{"a":' * 200 + "1" + "}" * 200,
    "201 levels": lambda: '{"a":' * 201 + "1" + "}" * 201,
    "990 levels": lambda: '{"a":' * 990 + "1" + "}" * 990,
    "100,000 levels in a string": lambda: json.dumps("[" * 100_000),
    "a key twice": lambda: '{"a": 1, "a": 2}',
    "a key twice, deep down": lambda: '{"a":' * 150 + '{"b":1,"\\u0062":2}' + "}" * 150,
    "a BOM": lambda: '\ufeff{"a": 1}',
    "two BOMs": lambda: '\ufeff\ufeff{"a": 1}',
    "NaN": lambda: '{"a": NaN}',
    "-Infinity": lambda: '{"a": -Infinity}',
    "nan": lambda: '{"a": nan}',
    "1e999": lambda: '{"a": 1e999}',
    "-1e999": lambda: "[-1e999]",
    "1E+400": lambda: '{"a": 1E+400}',
    "1e-999": lambda: '{"a": 1e-999}',
    "an integer of 100,000 digits": lambda: '{"a": ' + "1" * 100_000 + "}",
    "an integer of 4,300 digits": lambda: '{"a": ' + "1" * 4_300 + "}",
    "a lone surrogate": lambda: '{"a": "\\ud800"}',
    "a lone surrogate as a name": lambda: '{"\\udfff": 1}',
    "a lone surrogate, not escaped": lambda: '{"a": "\ud800"}',
    "the halves of a pair, turned round": lambda: '{"a": "\\ude00\\ud83d"}',
    "half an escape": lambda: '{"a": "\\u12',
    "control characters": lambda: '{"a": "\x00\x1f"}',
    "NUL": lambda: '\0{"a": 1}',
    "a value after the value": lambda: '{"a": 1}{"a": 1}',
    "half a value": lambda: '{"a": [1, 2',
    "a comment": lambda: '{"a": 1 /* b */}',
    "single quotes": lambda: "{'a': 1}",
    "Python": lambda: "__import__('os').system('true')",
    "a comma at the end": lambda: '{"a": 1,}',
    "a fence in a fence": lambda: "```json\n```json\n{}\n```\n```",
    "JSON in JSON in JSON": lambda: _encoded(15),
    "nothing": lambda: "",
    "a number": lambda: "7",
    "what is wrapped already": lambda: '{"result": {"result": {"result": []}}}',
}


def _said(schema: Json, text: Make) -> Case:
    return said(schema, text())


for _table, _heavy in ((_HEAVY, True), (_LIGHT, False)):
    for _name, _text in _table.items():
        TEXTS.add(_name, partial(_said, _ANY, _text), heavy=_heavy)
        TEXTS.add(f"{_name}, for the one property", partial(_said, _ONE, _text), heavy=_heavy)
TEXTS.add("130,000 blocks of nothing", lambda: said(_ONE, *[""] * 130_000), heavy=True)
TEXTS.add("100,000 blocks of JSON", lambda: said(_ONE, *["[]"] * 100_000), heavy=True)
TEXTS.add("100,000 blocks, the last no JSON", lambda: said(_ONE, *["[]"] * 99_999, "x"), heavy=True)
TEXTS.add("50,000 blocks of JSON in strings", lambda: said(_ONE, *['"[1]"'] * 50_000), heavy=True)
TEXTS.add("100,000 blocks of objects in objects", lambda: said(_ONE, *['{"a":{}}'] * 100_000), heavy=True)
TEXTS.add("60,000 blocks of objects in objects", lambda: said(_ONE, *['{"a":{}}'] * 60_000), heavy=True)
TEXTS.add(
    "120,000 members, beside 390,000 arrays in _meta",
    lambda: said(_ANY, _members(120_000, "{}"), _meta={"x": [[] for _ in range(390_000)]}),
    heavy=True,
)
TEXTS.add(
    "300,000 members, for a schema of three alternatives",
    lambda: said(
        {"additionalProperties": {"anyOf": [{"minimum": 3}, {"minimum": 2}, {"minimum": 1}]}}, _members(300_000, "1")
    ),
    heavy=True,
)
TEXTS.add("6 blocks of 1 MB", lambda: said(_ONE, *["a" * 999_000] * 6), heavy=True)
TEXTS.add(
    "3 MB, compared with the structured content",
    lambda: said(_ANY, '{"a": "' + "a" * 3_000_000 + '"}', structuredContent={"a": 1}),
)
TEXTS.add(
    "190,000 numbers, compared with the structured content",
    lambda: said(
        {"type": "object"}, json.dumps({"a": list(range(190_000))}), structuredContent={"a": list(range(190_000))}
    ),
    heavy=True,
)


def _compared(value: Json, text: Json) -> Case:
    return said({"type": "object"}, json.dumps({"a": text}), structuredContent={"a": value})


def _empties(count: int) -> Json:
    return [{"a": i, "b": []} for i in range(count)]


TEXTS.add("130,000 rows, compared", lambda: _compared(_empties(130_000), _empties(130_000)), heavy=True)
TEXTS.add("50,000 rows, compared", lambda: _compared(_empties(50_000), _empties(50_000)), heavy=True)
TEXTS.add(
    "50,000 rows, compared, the last not the same",
    lambda: _compared(_empties(50_000), [*_empties(49_999), {"a": True, "b": []}]),
    heavy=True,
)
TEXTS.add(
    "130,000 ones, compared with as many true",
    lambda: _compared([*[1] * 129_999, True], [1] * 130_000),
    heavy=True,
)
TEXTS.add(
    "100,000 numbers for a schema of 600 parts",
    lambda: said(
        {
            "type": "object",
            "anyOf": [{"properties": {"r": {"type": "string"}}}] * 300,
            "allOf": [{"properties": {"r": {"$ref": "#/$defs/a"}}, "required": ["r"]}] * 300,
            "$defs": {"a": {"type": ["string", "array", "object"]}},
        },
        "[" + "1," * 100_000 + "1]",
    ),
)

ENVELOPES: Final = Group("result")
_TOOL: Final = {
    "name": "t",
    "outputSchema": {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]},
}
_GOOD: Final = {"result": "a"}


def _error(*texts: str, **members: Json) -> Json:
    return {"content": [{"type": "text", "text": text} for text in texts], "isError": True, **members}


_RESULTS: Final[dict[str, Make]] = {
    "a number": lambda: 7,
    "null": lambda: None,
    "a text of 10 MB": lambda: "a" * 10_000_000,
    "an array": list,
    "nothing": dict,
    "content that is an object": lambda: {"content": {}},
    "blocks that are no objects": lambda: {"content": [1, None, [], "a"]},
    "a block type of 1 MB": lambda: {"content": [{"type": "t" * 1_000_000}] * 3, "structuredContent": _GOOD},
    "a block type that is an object": lambda: {
        "content": [{"type": {}, "text": 1}],
        "structuredContent": _GOOD,
    },
    "an isError that is a text": lambda: {"content": [], "isError": "yes"},
    "an isError that is 1": lambda: {"content": [], "isError": 1},
    "a resultType of 1 MB": lambda: {"content": [], "resultType": "t" * 1_000_000},
    "a resultType that is an object": lambda: {"content": [], "resultType": objects(100)},
    "_meta of 100,000 levels": lambda: {"content": [], "_meta": objects(100_000)},
    "unknown members of 100,000 levels": lambda: {"content": [], "x": lists(100_000)},
    "null as structured content": lambda: {"content": [], "structuredContent": None, "resultType": "complete"},
    "an error of 199 levels": lambda: _error(structuredContent=objects(199, 1, "error")),
    "an error of NaN": lambda: _error('{"retry_after": 1e999, "code": NaN}'),
    "an error of huge numbers": lambda: _error(
        structuredContent={"retry_after": 10**4000, "status": 10**4000, "code": -(10**4000)}
    ),
}
_LARGE: Final[dict[str, Make]] = {
    "10^6 blocks": lambda: {"content": [{}] * 1_000_000},
    "130,000 blocks": lambda: {"content": [{"type": "text", "text": ""} for _ in range(130_000)]},
    "100,000 unknown members": lambda: {"content": [], **{f"m{i}": i for i in range(100_000)}},
    "an error of 5 MB of prose": lambda: _error("a_B " * 1_250_000),
    "an error of 5 MB of JSON": lambda: _error(
        json.dumps({"error": {"code": "A" * 2_000_000, "message": "b" * 2_000_000, "retry_after": "1" * 900_000}})
    ),
    "an error of 390,000 members": lambda: _error(_members(390_000, "{}")),
    "an error of 150,000 members": lambda: _error(_members(150_000, "{}")),
    "an error of 150,000 members, beside 390,000 numbers": lambda: _error(
        _members(150_000, "{}"), _meta={"x": list(range(390_000))}
    ),
    "an error in 100,000 blocks": lambda: _error(*["error"] * 100_000),
}


def _answered(result: Make) -> Case:
    return Case(_TOOL, result())


for _table, _heavy in ((_LARGE, True), (_RESULTS, False)):
    for _name, _result in _table.items():
        ENVELOPES.add(_name, partial(_answered, _result), heavy=_heavy)
