"""What has to be let through: large, and as servers send it that mean no harm."""

from __future__ import annotations

import json
from typing import Final

from benchmarks.hostile._case import Group, Json, holding, objects, said, whole
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
THROUGH.add("a schema of 256 KB, and a wrong value", lambda: whole(_wide(256_000), {"p1": 1}), wanted="Violating")
THROUGH.add(
    "2,000 subschemas by reference",
    lambda: whole(_expanded(), {f"p{i}": {"a": 1, "b": [1.5]} for i in range(498)}),
    wanted="Conforming",
)
THROUGH.add("rows of 30 KB", lambda: holding({"items": ROW}, _rows(500, "n" * 40)), wanted="Conforming")
