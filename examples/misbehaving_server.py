"""The server of demo.py: each of its tools answers in another way, as a good or as a bad server would."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

from stdio_server import serve

STOCK: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"enum": ["available", "unknown", "not_found"]},
        "quantity": {"type": ["integer", "null"], "minimum": 0},
    },
    "required": ["status", "quantity"],
    "if": {"properties": {"status": {"const": "available"}}},
    "then": {"properties": {"quantity": {"type": "integer"}}},
    "else": {"properties": {"quantity": {"type": "null"}}},
}
"""A quantity is known exactly where the status is `available`."""
CODE = {"type": "object", "properties": {"code": {"type": "string", "pattern": "^(a+)+$"}}}
DANGLING = {"type": "object", "properties": {"status": {"$ref": "#/$defs/Status"}}}
INPUT = {"type": "object", "properties": {"warehouse": {"enum": ["BER", "HAM"]}}}


def text(words: str) -> list[dict[str, str]]:
    """The content blocks of a result that says this."""
    return [{"type": "text", "text": words}]


@dataclass(frozen=True)
class Tool:
    """A tool: how it answers in words, the members of its response, what it promised, and where it is listed."""

    story: str
    response: dict[str, Any] | None
    output: dict[str, Any] | None = field(default_factory=lambda: STOCK)
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    page: int | None = 0
    modern: bool = False


GOOD = {"status": "available", "quantity": 3}
BAD = {"status": "unknown", "quantity": 0}
BUSY = '{"error": {"kind": "RATE_LIMITED", "retryable": true, "retry_after": 30}}'

TOOLS = {
    "good": Tool("good data", {"result": {"content": text("3 left"), "structuredContent": GOOD}}),
    "text_only": Tool(
        "the data as text alone", {"result": {"content": text('{"status": "available", "quantity": 3}')}}
    ),
    "contradiction": Tool(
        "a status that contradicts the quantity", {"result": {"content": [], "structuredContent": BAD}}
    ),
    "page_two": Tool(
        "the same, from a tool that is listed on page 2",
        {"result": {"content": [], "structuredContent": BAD}},
        page=1,
    ),
    "prose": Tool("words where data was promised", {"result": {"content": text("There should be 3.")}}),
    "busy": Tool("an error of the tool's own", {"result": {"isError": True, "content": text(BUSY)}}),
    "flag": Tool("an isError that is a word", {"result": {"isError": "no", "content": [], "structuredContent": GOOD}}),
    "dangling": Tool(
        "good data of a tool whose outputSchema refers to nothing",
        {"result": {"content": [], "structuredContent": GOOD}},
        output=DANGLING,
    ),
    "slow_pattern": Tool(
        "a string made to keep its schema's pattern ^(a+)+$ busy",
        {"result": {"content": [], "structuredContent": {"code": "a" * 24 + "!"}}},
        output=CODE,
    ),
    "no_schema": Tool("text of a tool without outputSchema", {"result": {"content": text("3 left")}}, output=None),
    "unlisted": Tool(
        "data of a tool that is in no listing", {"result": {"content": [], "structuredContent": GOOD}}, page=None
    ),
    "warehouse": Tool(
        'data for {"warehouse":"Berlin"}, which its inputSchema does not allow',
        {"result": {"content": [], "structuredContent": GOOD}},
        arguments={"warehouse": "Berlin"},
    ),
    "crashing": Tool("a JSON-RPC error", {"error": {"code": -32603, "message": "Internal error"}}),
    "silent": Tool("nothing at all", None),
    "hologram": Tool(
        "an answer of a kind that 2026-07-28 does not know",
        {"result": {"resultType": "hologram", "content": [], "structuredContent": GOOD}},
        modern=True,
    ),
}


def listed(name: str, tool: Tool) -> dict[str, Any]:
    """A tool's entry in the listing."""
    output = {} if tool.output is None else {"outputSchema": tool.output}
    return {"name": name, "inputSchema": INPUT, **output}


if __name__ == "__main__":
    on_page = [[listed(name, tool) for name, tool in TOOLS.items() if tool.page == page] for page in (0, 1)]
    serve(on_page, lambda name, _: TOOLS[name].response, modern="--modern" in sys.argv)
