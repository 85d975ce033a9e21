"""What has to be let through: large, and as servers send it that mean no harm."""

from __future__ import annotations

import json
from typing import Final

from benchmarks.hostile._case import Case, Group, Json, holding, objects, said, whole
from benchmarks.hostile.values import ROW, TREE, rows

THROUGH: Final = Group("let through")


def _rows(count: int, text: str) -> Json:
    return [{"id": i, "name": text} for i in range(count)]


def _object(name: str, schema: Json) -> Json:
    return {"type": "object", "properties": {name: schema}, "required": [name]}


def _wide(size: int) -> Json:
    """A schema as large as that, of members as they are usual."""
    properties: dict[str, Json] = {}
    part = {"type": "string", "title": "Name of the thing", "description": "What it is called. " * 12, "maxLength": 90}
    while len(properties) * (len(json.dumps(part)) + 10) < size - 300:
        properties[f"p{len(properties)}"] = part
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _expanded() -> Json:
    """2,000 subschemas where each reference is replaced by what it leads to."""
    row = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"items": {"type": "number"}}}}
    return {"properties": {f"p{i}": {"$ref": "#/$defs/row"} for i in range(498)}, "$defs": {"row": row}}


THROUGH.members(
    {
        "5 MB of rows": ({"items": ROW}, lambda: _rows(10_000, "n" * 470)),
        "a text of 5 MB": ({"type": "string"}, lambda: "a" * 5_000_000),
        "300,000 nodes": ({"items": ROW}, lambda: _rows(99_990, "n")),
        "300,000 numbers": ({"items": {"type": "integer", "minimum": 0}}, lambda: list(range(299_900))),
        "100,000 prices": (
            {"items": {"multipleOf": 0.01, "minimum": 0.01}},
            lambda: [(i + 1) / 100 for i in range(100_000)],
        ),
        "uniqueItems over 20,000 objects": ({"uniqueItems": True}, lambda: [{"id": i} for i in range(20_000)]),
    },
    wanted="Conforming",
    heavy=True,
)
THROUGH.members(
    {"300,000 nodes, the last one wrong": ({"items": ROW}, lambda: rows(99_990, "x"))}, wanted="Violating", heavy=True
)
THROUGH.add(
    "5 MB of JSON text",
    lambda: said(_object("x", {"items": ROW}), json.dumps({"x": _rows(10_000, "n" * 470)})),
    wanted="Conforming",
    heavy=True,
)
THROUGH.add(
    "300,000 nodes of JSON text",
    lambda: said(_object("x", {"items": ROW}), json.dumps({"x": _rows(99_900, "n")})),
    wanted="Conforming",
    heavy=True,
)
THROUGH.add("200 levels", lambda: whole(TREE, objects(200)), wanted="Conforming")
THROUGH.add("a schema of 256 KB", lambda: whole(_wide(256_000), {"p0": "x"}), wanted="Conforming")
THROUGH.add(
    "two schemas of 256 KB",
    lambda: Case(
        {"name": "t", "inputSchema": _wide(256_000), "outputSchema": _wide(256_000), "description": "What. " * 5_000},
        {"content": [], "structuredContent": {"p0": "x"}},
    ),
    wanted="Conforming",
)
THROUGH.add(
    "the same text beside 40,000 nodes",
    lambda: said(
        _object("x", {"items": ROW}), json.dumps({"x": _rows(13_300, "n")}), structuredContent={"x": _rows(13_300, "n")}
    ),
    wanted="Conforming",
    heavy=True,
)
THROUGH.add("a schema of 256 KB, and a wrong value", lambda: whole(_wide(256_000), {"p1": 1}), wanted="Violating")
THROUGH.add(
    "2,000 subschemas by reference",
    lambda: whole(_expanded(), {f"p{i}": {"a": 1, "b": [1.5]} for i in range(498)}),
    wanted="Conforming",
)
THROUGH.add("rows of 30 KB", lambda: holding({"items": ROW}, _rows(500, "n" * 40)), wanted="Conforming")

_LINE: Final = "2024-01-01T00:00:00 something happened here and there in the system"
_UNION: Final = {
    "anyOf": [
        {
            "properties": {"kind": {"const": f"k{i}"}, **{f"f{i}_{j}": {"type": "string"} for j in range(8)}},
            "required": ["kind"],
        }
        for i in range(5)
    ],
    "unevaluatedProperties": False,
}
_BASE: Final = {"properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
THROUGH.members(
    {
        "20,000 lines without a word": (
            {"items": {"type": "string", "pattern": "^(?!.*password).*$"}},
            lambda: [_LINE] * 20_000,
        ),
        "20,000 keys of letters and digits": (
            {"items": {"pattern": r"^(?=.*[A-Z])(?=.*\d)(?=.*[a-z])[A-Za-z\d]{8,64}$"}},
            lambda: [f"Key{i:08}abcdef" for i in range(20_000)],
        ),
        "3,000 names of hosts": (
            {"items": {"pattern": r"^(?:(?!-)[a-z0-9-]{1,63}(?<!-)\.)+[a-z]{2,}$"}},
            lambda: [f"host-{i}.example.org" for i in range(3_000)],
        ),
        "20,000 telephone numbers": (
            {"items": {"pattern": r"^\+?[1-9]\d{1,14}$"}},
            lambda: [f"+4930{i:07}" for i in range(20_000)],
        ),
        "10,000 rows of five kinds, nothing unevaluated": (
            {"items": _UNION},
            lambda: [{"kind": f"k{i % 5}", **{f"f{i % 5}_{j}": "x" for j in range(8)}} for i in range(10_000)],
        ),
        "30,000 rows of a kind of another kind, nothing unevaluated": (
            {
                "items": {
                    "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"price": {"type": "number"}}}],
                    "unevaluatedProperties": False,
                },
                "$defs": {"base": _BASE},
            },
            lambda: [{"id": i, "name": "n", "price": 1.5} for i in range(30_000)],
        ),
    },
    wanted="Conforming",
)
