"""Results of a size, and the contract that they keep: rows as a shop's stock has them.

A row has 19 bytes for each value in it: the median of 373 results of 91 public servers is 18, of the larger ones more.
"""

from __future__ import annotations

import json
from typing import Any, Final

SIZES: Final = {"200 B": 200, "10 KB": 10_000, "1 MB": 1_000_000}
"""Bytes of the structured content as JSON."""


def sizes(*, tiny: bool) -> dict[str, int]:
    """All of them; `tiny`: enough to see that a question can be asked."""
    return {name: size for name, size in SIZES.items() if not tiny or size == min(SIZES.values())}


SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "shop": {"type": "string"},
        "total": {"type": "integer", "minimum": 0},
        "rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}},
    },
    "required": ["shop", "total", "rows"],
    "$defs": {
        "Row": {
            "type": "object",
            "properties": {
                "sku": {"type": "string", "minLength": 1, "maxLength": 40},
                "name": {"type": "string"},
                "status": {"enum": ["available", "sold out", "unknown"]},
                "quantity": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
                "price": {"type": "number", "exclusiveMinimum": 0},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 10},
            },
            "required": ["sku", "name", "status", "quantity", "price"],
            "additionalProperties": False,
        }
    },
}
INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"sku": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
    "required": ["sku"],
}
ARGUMENTS: Final[dict[str, Any]] = {"sku": "A-1", "limit": 10}


def row(nth: int) -> dict[str, Any]:
    """One row that fits."""
    return {
        "sku": f"A-{nth:06}",
        "name": f"No. {nth}, hexagon bolt of galvanised steel",
        "status": ("available", "sold out", "unknown")[nth % 3],
        "quantity": nth % 7 or None,
        "price": 1 + nth % 100 / 4,
        "tags": ["small", "red"][: nth % 3],
    }


def stock(size: int, *, wrong: int = 0) -> dict[str, Any]:
    """A value of about so many bytes of JSON, of which so many rows, spread over it, break the contract."""
    made: dict[str, Any] = {"shop": "north", "total": 0, "rows": []}
    length = len(json.dumps(made))
    while length + len(json.dumps(row(len(made["rows"])))) <= size:
        each = row(len(made["rows"]))
        made["rows"].append(each)
        length += len(json.dumps(each)) + 2
    made["total"] = len(made["rows"])
    for nth in range(wrong):
        made["rows"][nth * len(made["rows"]) // wrong]["quantity"] = "many"
    return made


def result(value: Any) -> dict[str, Any]:
    """A tool's answer with it, and with its JSON as text besides, as the specification asks for."""
    return {**said(value), "structuredContent": value}


def bare(value: Any) -> dict[str, Any]:
    """A tool's answer with it alone: with the text besides, 5 MB would be more than is taken by default."""
    return {"content": [], "structuredContent": value}


def said(value: Any) -> dict[str, Any]:
    """A tool's answer that has it as text alone."""
    return {"content": [{"type": "text", "text": json.dumps(value)}]}
