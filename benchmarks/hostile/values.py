"""Results: deep, wide, long, with numbers and text that are none; and those that only just fit."""

from __future__ import annotations

import json
from typing import Final

from hostile._case import Case, Group, Json, holding, lists, nested, objects, said, whole

VALUES: Final = Group("value")
TREE: Final = {"$ref": "#/$defs/n", "$defs": {"n": {"type": ["object", "array", "integer"], "properties": {"a": {"$ref": "#/$defs/n"}}, "items": {"$ref": "#/$defs/n"}}}}
ROW: Final = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}, "required": ["id"]}


def rows(count: int, last: Json) -> Json:
    return [{"id": i, "name": f"row {i}"} for i in range(count)] + [{"id": last}]


for _levels in (198, 199, 200, 201, 20_000, 100_000):
    VALUES.add(f"arrays {_levels:,} deep", lambda _l=_levels: holding(TREE, lists(_l - 1)))
    VALUES.add(f"objects {_levels:,} deep", lambda _l=_levels: whole(TREE, objects(_l)))
    VALUES.add(f"objects {_levels:,} deep, the innermost wrong", lambda _l=_levels: whole(TREE, objects(_l, "x")))
    VALUES.add(f"no schema, {_levels:,} deep", lambda _l=_levels: Case({"name": "t"}, {"content": [], "structuredContent": objects(_l)}))
VALUES.add("10^6 members", lambda: whole({"additionalProperties": {"type": "integer"}}, {str(i): i for i in range(1_000_000)}))
VALUES.add("390,000 members", lambda: whole({"additionalProperties": {"type": "integer"}}, {str(i): i for i in range(390_000)}))
VALUES.add("390,000 members, none allowed", lambda: whole({"additionalProperties": False}, {str(i): i for i in range(390_000)}))
VALUES.add("390,000 members, the last wrong", lambda: whole({"additionalProperties": {"type": "integer"}}, {**{str(i): i for i in range(390_000)}, "z": "x"}))
VALUES.add("10^6 elements", lambda: holding({"items": {"type": "integer"}}, [1] * 1_000_000))
VALUES.add("390,000 empty objects", lambda: holding({"items": {"type": "object"}}, [{} for _ in range(390_000)]))
VALUES.add("390,000 empty arrays, all wrong", lambda: holding({"items": {"type": "object"}}, [[] for _ in range(390_000)]))
VALUES.add("one list 2 ** 60 times, by sharing", lambda: holding({}, nested(60, 1, lambda inner: [inner, inner])))
VALUES.add("one object 300,000 times, by sharing", lambda: holding({"items": ROW}, [{"id": 1}] * 150_000 + [{"id": "x"}]))


def _knot() -> Json:
    knot: list[Json] = []
    knot.append(knot)
    return knot


VALUES.add("a list that contains itself", lambda: holding(TREE, _knot()))
VALUES.add("an integer of 100,000 digits", lambda: holding({"type": "integer"}, 10**100_000))
VALUES.add("an integer of 10^7 digits", lambda: holding({"type": "integer"}, 1 << 33_000_000))
VALUES.add("integers of 4,300 digits", lambda: holding({"items": {"type": "integer", "minimum": 0, "maximum": 10**4200}}, [10**4299] * 1_800))
VALUES.add("integers of 4,300 digits under multipleOf", lambda: holding({"items": {"multipleOf": 7}}, [10**4299 + i for i in range(1_800)]))
VALUES.add("integers of 4,300 digits under a fraction", lambda: holding({"items": {"multipleOf": 0.01}}, [10**4299 + i for i in range(1_800)]))
VALUES.add("integers of 4,300 digits under const", lambda: holding({"items": {"const": 10**4000}}, [10**4299 + i for i in range(1_800)]))
VALUES.add("integers of 300 digits that are unique", lambda: holding({"uniqueItems": True}, [10**299 + i for i in range(20_000)]))
VALUES.add("integers beyond 64 bits that are unique", lambda: holding({"uniqueItems": True}, [2**65 + i for i in range(30_000)]))
VALUES.add("integers beyond 64 bits in objects that are unique", lambda: holding({"uniqueItems": True}, [{"id": 2**65 + i} for i in range(2_000)]))
VALUES.add("numbers of one hash", lambda: holding({"uniqueItems": True}, [(2**61 - 1) * i for i in range(100_000)]))
VALUES.add("floats under multipleOf", lambda: holding({"items": {"multipleOf": 0.01}}, [i / 100 for i in range(300_000)]))
VALUES.add("floats far from zero under multipleOf", lambda: holding({"items": {"multipleOf": 0.01}}, [1e300 + i * 1e290 for i in range(80_000)]))
VALUES.add("multipleOf next to zero", lambda: holding({"items": {"multipleOf": 1e-300}}, [1e300 + i * 1e290 for i in range(80_000)]))
VALUES.add("an enum of floats", lambda: holding({"items": {"enum": [i + 0.5 for i in range(2_000)]}}, [i + 0.5 for i in range(30_000)]))
VALUES.add("an enum of long integers", lambda: holding({"items": {"enum": [10**4000 + i for i in range(50)]}}, [10**4000 + i for i in range(1_000)]))
for _count in (6_000, 20_000):
    VALUES.add(f"uniqueItems over {_count:,} objects", lambda _c=_count: holding({"uniqueItems": True}, [{"id": i} for i in range(_c)]))
    VALUES.add(f"uniqueItems over {_count:,} objects, the last twice", lambda _c=_count: holding({"uniqueItems": True}, [{"id": i} for i in range(_c)] + [{"id": _c - 1}]))
VALUES.add("uniqueItems over 300,000 integers", lambda: holding({"uniqueItems": True}, list(range(300_000))))
VALUES.add("uniqueItems over 20,000 arrays of mixed things", lambda: holding({"uniqueItems": True}, [[i, str(i), {"a": [None, i]}] for i in range(20_000)]))
VALUES.add("uniqueItems over 2,000 texts of 3 KB", lambda: holding({"uniqueItems": True}, ["a" * 3_000 + str(i) for i in range(2_000)]))
VALUES.add("uniqueItems over arrays in arrays", lambda: holding({"uniqueItems": True, "items": {"uniqueItems": True}}, [list(range(i, i + 100)) for i in range(3_000)]))
VALUES.add("a text of 5 MB", lambda: holding({"type": "string", "maxLength": 10}, "a" * 5_000_000))
VALUES.add("a text of 5 MB beyond ASCII", lambda: holding({"minLength": 6_000_000}, "😀" * 5_000_000))
VALUES.add("a text of 50 MB", lambda: holding({"type": "string"}, "a" * 50_000_000))
VALUES.add("a name of 1 MB", lambda: whole({"additionalProperties": False}, {"a" * 1_000_000: 1}))
VALUES.add("a name of 1 MB, wrong below", lambda: whole({"additionalProperties": {"type": "integer"}}, {"a" * 1_000_000: "x"}))
VALUES.add("190 names of 40 KB in each other", lambda: whole({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "additionalProperties": {"$ref": "#/$defs/n"}}}}, objects(190, 1, "a" * 40_000)))
VALUES.add("20 wrong below 190 names of 30 KB", lambda: whole({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "additionalProperties": {"$ref": "#/$defs/n"}}}}, objects(190, {f"b{i}": 1 for i in range(40)}, "a" * 30_000)))
VALUES.add("100,000 names under propertyNames", lambda: whole({"propertyNames": {"maxLength": 5}}, {f"name{i}": i for i in range(100_000)}))
VALUES.add("100,000 names under propertyNames, the last wrong", lambda: whole({"propertyNames": {"maxLength": 9}}, {**{f"name{i}": i for i in range(100_000)}, "n" * 20: 1}))
for _name, _value in {"NaN": float("nan"), "Infinity": float("inf"), "1e999": float("1e999"), "a lone surrogate": "\ud800", "a lone surrogate in a long text": "é" * 4_000_000 + "\udfff", "bytes": b"a", "a set": {1}, "a tuple": (1, 2), "an object of Python's": object(), "a function": len, "a complex number": 1j}.items():
    VALUES.add(f"{_name} deep down", lambda _v=_value: whole(TREE, objects(150, [{"b": _v}])))
    VALUES.add(f"{_name} in a part that no schema is about", lambda _v=_value: Case({"name": "t", "outputSchema": {}}, {"content": [{"type": "text", "text": "a", "_meta": {"b": _v}}], "structuredContent": {}, "_meta": {"a": [_v]}}))
VALUES.add("a lone surrogate as a name", lambda: whole({}, {"a": [{"\ud800": 1}]}))
VALUES.add("names that are no text", lambda: whole({}, {1: 2, None: 3, ("a",): 4}))
VALUES.add("-0.0, 1e-400 and 5e-324", lambda: holding({"items": {"multipleOf": 0.1, "exclusiveMinimum": 0}}, [-0.0, float("1e-400"), 5e-324]))

EXPLAIN: Final = Group("explanation")
EXPLAIN.add("60,000 rows, the last wrong", lambda: holding({"items": ROW}, rows(60_000, "x")))
EXPLAIN.add("60,000 rows, all wrong", lambda: holding({"items": ROW}, [{"id": "x"} for _ in range(60_000)]))
EXPLAIN.add("60,000 rows, only formats wrong", lambda: holding({"items": {"properties": {"at": {"format": "date-time"}}}}, [{"at": "yesterday"} for _ in range(60_000)]))
EXPLAIN.add("60,000 rows, only the last format wrong", lambda: holding({"items": {"properties": {"at": {"format": "date-time"}}}}, [{"at": "2026-01-01T00:00:00Z"} for _ in range(60_000)] + [{"at": "x"}]))
EXPLAIN.add("rows of rows, the last wrong", lambda: holding({"items": {"items": {"items": {"type": "integer"}}}}, [[[1, 2, 3]] * 100 for _ in range(500)] + [[["x"]]]))
EXPLAIN.add("rows under references and alternatives", lambda: holding({"items": {"$ref": "#/$defs/r"}, "$defs": {"r": {"anyOf": [ROW, {"type": "null"}]}}}, rows(40_000, "x")))
EXPLAIN.add("100,000 unevaluated names, one too many", lambda: whole({"allOf": [{"patternProperties": {"^k": {}}}], "unevaluatedProperties": False}, {**{f"k{i}": i for i in range(100_000)}, "z": 1}))
EXPLAIN.add("100,000 unevaluated elements, one too many", lambda: holding({"contains": {"type": "integer"}, "unevaluatedItems": False}, [1] * 100_000 + ["x"]))
EXPLAIN.add("100,000 elements of which too many are contained", lambda: holding({"contains": {"type": "integer"}, "maxContains": 5}, [1] * 100_000))
EXPLAIN.add("conditions on 50,000 rows", lambda: holding({"items": {"if": {"properties": {"k": {"const": 1}}}, "then": {"required": ["a"]}, "else": {"required": ["b"]}}}, [{"k": 1, "a": 1} for _ in range(50_000)] + [{"k": 1}]))
EXPLAIN.add("a deep value, wrong at the bottom, alternatives on each level", lambda: whole({"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}}]}}}, objects(190, "x")))
EXPLAIN.add("a deep value, wrong at the bottom, and as much beside each level", lambda: whole({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"items": {"items": {"type": "integer"}}}}}}}, nested(190, "x", lambda inner: {"b": [[1]] * 300, "a": inner})))
EXPLAIN.add("1,000 patterns on 1,000 names", lambda: whole({"patternProperties": {f"^p{i}_": {"type": "null"} for i in range(1_000)}, "additionalProperties": False}, {f"p{i}_x": 1 for i in range(1_000)}))
EXPLAIN.add("uniqueItems in each of 80 levels, twice at the bottom", lambda: holding(nested(80, {}, lambda inner: {"uniqueItems": True, "items": inner}), lists(79, [*range(20_000), 0])))
EXPLAIN.add("an enum of 20,000 objects, 10,000 wrong", lambda: holding({"items": {"enum": [{"a": i} for i in range(2_000)]}}, [{"a": -i} for i in range(1_000)]))
EXPLAIN.add("a const of 20,000 objects, 100 wrong", lambda: holding({"items": {"const": [{"a": i} for i in range(15_000)]}}, [[{"a": i} for i in range(2_900)] for _ in range(50)]))
EXPLAIN.add("formats and patterns wrong everywhere", lambda: holding({"items": {"type": "string", "format": "uuid", "pattern": "^[0-9a-f-]{36}$", "minLength": 36}}, ["x" * (i % 50) for i in range(100_000)]))
EXPLAIN.add("dependentSchemas and required, 3,000 wrong", lambda: holding({"items": {"dependentRequired": {f"p{i}": [f"q{i}"] for i in range(200)}}}, [{f"p{i % 200}": 1} for i in range(3_000)]))
EXPLAIN.add("false for everything", lambda: whole({"patternProperties": {"": False}, "additionalProperties": False, "unevaluatedProperties": False}, {f"p{i}": i for i in range(50_000)}))
EXPLAIN.add("one text held against 400 patterns", lambda: holding({"allOf": [{"pattern": f"^x{{{i}}}y"} for i in range(1, 300)]}, "x" * 100_000))

ENVELOPE: Final = Group("envelope")
_TOOL: Final = {"name": "t", "outputSchema": {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}}
for _name, _result in {
    "a number": lambda: 7, "null": lambda: None, "a text of 10 MB": lambda: "a" * 10_000_000, "an array": lambda: [], "nothing": dict, "content that is an object": lambda: {"content": {}}, "content of 10^6 blocks": lambda: {"content": [{}] * 1_000_000}, "content of 130,000 blocks": lambda: {"content": [{"type": "text", "text": ""} for _ in range(130_000)]}, "blocks that are no objects": lambda: {"content": [1, None, [], "a"]}, "blocks of a type of 1 MB": lambda: {"content": [{"type": "t" * 1_000_000}] * 3, "structuredContent": {"result": "a"}}, "a block whose type is an object": lambda: {"content": [{"type": {}, "text": 1}], "structuredContent": {"result": "a"}}, "an isError that is a text": lambda: {"content": [], "isError": "yes"}, "an isError that is 1": lambda: {"content": [], "isError": 1}, "a resultType of 1 MB": lambda: {"content": [], "resultType": "t" * 1_000_000}, "a resultType that is an object": lambda: {"content": [], "resultType": objects(100)}, "_meta 100,000 deep": lambda: {"content": [], "_meta": objects(100_000)}, "100,000 unknown members": lambda: {"content": [], **{f"m{i}": i for i in range(100_000)}}, "null as structured content": lambda: {"content": [], "structuredContent": None, "resultType": "complete"},
    "an error 199 deep": lambda: {"content": [], "isError": True, "structuredContent": objects(199, 1, "error")}, "an error of 5 MB of prose": lambda: {"content": [{"type": "text", "text": "a_B " * 1_250_000}], "isError": True}, "an error of 5 MB in JSON": lambda: {"content": [{"type": "text", "text": json.dumps({"error": {"code": "A" * 2_000_000, "message": "b" * 2_000_000, "retry_after": "1" * 900_000}})}], "isError": True}, "an error of NaN in JSON": lambda: {"content": [{"type": "text", "text": '{"retry_after": 1e999, "code": NaN}'}], "isError": True}, "an error of a huge number": lambda: {"content": [], "structuredContent": {"retry_after": 10**4000, "status": 10**4000, "code": -(10**4000)}, "isError": True}, "an error in 100,000 blocks": lambda: {"content": [{"type": "text", "text": "error"} for _ in range(100_000)], "isError": True},
}.items():
    ENVELOPE.add(_name, lambda _r=_result: Case(_TOOL, _r()))

TEXTS: Final = Group("text")
_ANY: Final = {"type": "object", "additionalProperties": {"type": "integer"}}
_LIST: Final = {"type": "object", "properties": {"result": {"type": ["array", "string"]}}, "required": ["result"]}
for _name, _text in {
    "10 MB": lambda: '{"a": "' + "a" * 10_000_000 + '"}', "5.9 MB": lambda: '{"a": "' + "a" * 5_900_000 + '"}', "10 MB of white space": lambda: " " * 10_000_000, "5.9 MB of white space": lambda: "\u2003\n" * 2_900_000, "6 MB of objects": lambda: "[" + '{"":0},' * 850_000 + "0]", "390,000 numbers": lambda: "[" + "1," * 389_999 + "1]", "2 MB of brackets": lambda: "[" * 2_000_000, "100,000 levels": lambda: "[" * 100_000 + "]" * 100_000, "200 levels": lambda: '{"a":' * 200 + "1" + "}" * 200, "201 levels": lambda: '{"a":' * 201 + "1" + "}" * 201, "990 levels": lambda: '{"a":' * 990 + "1" + "}" * 990, "a key twice": lambda: '{"a": 1, "a": 2}', "a key 300,000 times": lambda: "{" + '"a":1,' * 300_000 + '"a":1}', "a key twice, deep down": lambda: '{"a":' * 150 + '{"b":1,"\\u0062":2}' + "}" * 150, "a BOM": lambda: '\ufeff{"a": 1}', "two BOMs": lambda: '\ufeff\ufeff{"a": 1}', "5 million BOMs": lambda: "\ufeff" * 5_000_000, "NaN": lambda: '{"a": NaN}', "-Infinity": lambda: '{"a": -Infinity}', "nan": lambda: '{"a": nan}', "1e999": lambda: '{"a": 1e999}', "-1e999": lambda: "[-1e999]", "1E+400": lambda: '{"a": 1E+400}', "1e-999": lambda: '{"a": 1e-999}', "an exponent of 5 MB": lambda: '{"a": 1e' + "9" * 5_000_000 + "}", "a fraction of 5 MB": lambda: '{"a": 0.' + "1" * 5_000_000 + "}", "an integer of 5 MB": lambda: '{"a": ' + "1" * 5_000_000 + "}", "an integer of 100,000 digits": lambda: '{"a": ' + "1" * 100_000 + "}", "an integer of 4,300 digits": lambda: '{"a": ' + "1" * 4_300 + "}", "1,300 integers of 4,300 digits": lambda: "[" + ",".join(["1" * 4_300] * 1_300) + "]", "a lone surrogate": lambda: '{"a": "\\ud800"}', "a lone surrogate as a name": lambda: '{"\\udfff": 1}', "a lone surrogate as it is": lambda: '{"a": "\ud800"}', "halves of a surrogate, turned round": lambda: '{"a": "\\ude00\\ud83d"}', "an escape that ends": lambda: '{"a": "\\u12', "control characters": lambda: '{"a": "\x00\x1f"}', "a NUL": lambda: '\0{"a": 1}', "text after the value": lambda: '{"a": 1}{"a": 1}', "a value cut off": lambda: '{"a": [1, 2', "a comment": lambda: '{"a": 1 /* b */}', "single quotes": lambda: "{'a': 1}", "Python": lambda: "__import__('os').system('true')", "a comma at the end": lambda: '{"a": 1,}', "5 MB of backslashes": lambda: '"' + "\\" * 5_000_000 + '"', "5 MB of quotes": lambda: '"' * 5_000_000, "5 MB of escaped quotes": lambda: '["' + '\\"' * 2_500_000 + '"]', "5 MB of backslashes and quotes": lambda: '\\\\"' * 1_900_000, "5 MB of escapes": lambda: '"' + "\\u0041" * 900_000 + '"', "5 MB of backquotes": lambda: "`" * 5_000_000, "a fence of 2 MB": lambda: "`" * 2_000_000 + "\n1\n" + "`" * 2_000_000, "a million fences": lambda: "```\n1\n```\n" * 500_000, "a fence in a fence": lambda: "```json\n```json\n{}\n```\n```", "fence, JSON of 5 MB": lambda: '```json\n{"a": "' + "a" * 5_000_000 + '"}\n```', "JSON in JSON in JSON": lambda: _wrapped(20), "JSON in a string, 5 MB": lambda: json.dumps("[" + "1," * 389_000 + "1]"), "JSON in a string, 100,000 levels": lambda: json.dumps("[" * 100_000), "390,000 strings that are JSON": lambda: json.dumps(["[]"] * 300_000), "10,000 names of 500 characters": lambda: json.dumps({"a" * 490 + str(i): 1 for i in range(10_000)}), "nothing": lambda: "", "a number": lambda: "7", "wrapped already": lambda: '{"result": {"result": {"result": []}}}',
}.items():
    TEXTS.add(_name, lambda _t=_text: said(_ANY, _t()))
    TEXTS.add(f"{_name}, read as the one property", lambda _t=_text: said(_LIST, _t()))
TEXTS.add("130,000 empty blocks", lambda: said(_LIST, *[""] * 130_000))
TEXTS.add("100,000 blocks of JSON", lambda: said(_LIST, *["[]"] * 100_000))
TEXTS.add("100,000 blocks, the last no JSON", lambda: said(_LIST, *["[]"] * 99_999, "x"))
TEXTS.add("50,000 blocks of JSON in strings", lambda: said(_LIST, *['"[1]"'] * 50_000))
TEXTS.add("6 blocks of 1 MB", lambda: said(_LIST, *["a" * 999_000] * 6))
TEXTS.add("5.9 MB of text, compared with the structure", lambda: said(_ANY, '{"a": "' + "a" * 3_000_000 + '"}', structuredContent={"a": 1}))
TEXTS.add("300,000 numbers, compared with the structure", lambda: said({"type": "object"}, json.dumps({"a": list(range(190_000))}), structuredContent={"a": list(range(190_000))}))
TEXTS.add("a text against a schema of many readings", lambda: said({"type": "object", "anyOf": [{"properties": {"r": {"type": "string"}}}] * 300, "allOf": [{"properties": {"r": {"$ref": "#/$defs/a"}}, "required": ["r"]}] * 300, "$defs": {"a": {"type": ["string", "array", "object"]}}}, "[" + "1," * 100_000 + "1]"))


def _wrapped(levels: int) -> str:
    text = "1"
    for _ in range(levels):
        text = json.dumps(text)
    return text


THROUGH: Final = Group("let through")
THROUGH.add("5 MB of rows", lambda: holding({"items": ROW}, [{"id": i, "name": "n" * 470} for i in range(10_000)]), wanted="Conforming")
THROUGH.add("a text of 5 MB", lambda: holding({"type": "string"}, "a" * 5_000_000), wanted="Conforming")
THROUGH.add("5 MB of JSON text", lambda: said(_object({"rows": {"items": ROW}}), json.dumps({"rows": [{"id": i, "name": "n" * 470} for i in range(10_000)]})), wanted="Conforming")
THROUGH.add("300,000 nodes", lambda: holding({"items": ROW}, [{"id": i, "name": "n"} for i in range(99_990)]), wanted="Conforming")
THROUGH.add("300,000 numbers", lambda: holding({"items": {"type": "integer", "minimum": 0}}, list(range(299_900))), wanted="Conforming")
THROUGH.add("300,000 nodes of JSON text", lambda: said(_object({"x": {"items": ROW}}), json.dumps({"x": [{"id": i, "name": "n"} for i in range(99_900)]})), wanted="Conforming")
THROUGH.add("300,000 nodes, and the last one wrong", lambda: holding({"items": ROW}, rows(99_990, "x")), wanted="Violating")
THROUGH.add("200 levels", lambda: whole(TREE, objects(200)), wanted="Conforming")
THROUGH.add("a schema of 256 KB", lambda: whole(_wide(256_000), {"p0": "x"}), wanted="Conforming")
THROUGH.add("a schema of 256 KB, and a value that breaks it", lambda: whole(_wide(256_000), {"p1": 1}), wanted="Violating")
THROUGH.add("2,000 subschemas by reference", lambda: whole(_expanded(), {f"p{i}": {"a": 1, "b": [1.5]} for i in range(500)}), wanted="Conforming")
THROUGH.add("uniqueItems over 20,000 objects", lambda: holding({"uniqueItems": True}, [{"id": i} for i in range(20_000)]), wanted="Conforming")


def _object(properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _wide(size: int) -> Json:
    """A schema as large as that, of members as they are usual."""
    properties: dict[str, Json] = {}
    part = {"type": "string", "title": "Name of the thing", "description": "What it is called. " * 12, "maxLength": 90}
    while len(properties) * (len(json.dumps(part)) + 10) < size - 300:
        properties[f"p{len(properties)}"] = part
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _expanded() -> Json:
    """2,000 subschemas when each reference is replaced by what it leads to."""
    row = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"items": {"type": "number"}}}}
    return {"properties": {f"p{i}": {"$ref": "#/$defs/row"} for i in range(498)}, "$defs": {"row": row}}
