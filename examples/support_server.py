"""A support desk's cases over MCP: read from two sources, of which one may be slow. It says what it read, and when."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import Any

from stdio_server import serve

OPENED = datetime(2026, 11, 5, 9, tzinfo=timezone.utc)
OWN = {"O-1", "O-2", "O-3", "O-4", "O-5", "O-6"}  # the orders of the customer who is signed in; O-8 is another one's

OBSERVATION = {
    "type": "object",
    "properties": {
        "source": {"enum": ["tickets", "shipments"]},
        "at": {"type": "string", "format": "date-time"},
        "state": {"enum": ["read", "timed_out"]},
        "facts": {"type": "object"},
    },
    "required": ["source", "at", "state"],
    # facts are there exactly where the source was read
    "if": {"properties": {"state": {"const": "read"}}},
    "then": {"required": ["facts"]},
    "else": {"properties": {"facts": False}},
}
READ = {"properties": {"state": {"const": "read"}}}
TIMED_OUT = {"properties": {"state": {"const": "timed_out"}}}


def alternative(status: str, observations: dict[str, Any], *more: str) -> dict[str, Any]:
    """One kind of answer."""
    properties = {"status": {"const": status}, "observations": {"type": "array", "items": OBSERVATION, **observations}}
    return {
        "properties": {**properties, **{name: {"type": "number", "minimum": 0} for name in more}},
        "required": ["status", "observations", *more],
    }


TOOL = {
    "name": "find_case",
    "description": "The open case about an order of yours.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "order": {"type": "string"},
            "sources": {"type": "array", "items": {"enum": ["tickets", "shipments"]}, "minItems": 1},
        },
        "required": ["order"],
    },
    "outputSchema": {
        "type": "object",
        "oneOf": [
            alternative("ok", {"minItems": 1, "items": {"allOf": [OBSERVATION, READ]}}),
            alternative("no_match", {"minItems": 1, "items": {"allOf": [OBSERVATION, READ]}}),
            alternative(
                "partial", {"minItems": 2, "contains": READ, "allOf": [{"contains": TIMED_OUT}]}, "again_after"
            ),
            alternative("unavailable", {"items": {"allOf": [OBSERVATION, TIMED_OUT]}}, "again_after"),
        ],
    },
}
LIST = {
    "name": "list_cases",
    "description": "Your open cases, some at a time.",
    "inputSchema": {"type": "object", "properties": {"cursor": {"type": "string"}}},
    "outputSchema": {
        "type": "object",
        "properties": {
            "cases": {"type": "array", "items": {"type": "object", "required": ["case", "order"]}},
            "next": {"type": ["string", "null"]},
        },
        "required": ["cases", "next"],
    },
}
TOOLS = [TOOL, LIST]
PAGES = {None: (["O-1", "O-2"], "b"), "b": (["O-2", "O-4"], "c"), "c": (["O-5", "O-6"], None)}  # O-2 moved meanwhile
REFUSED = {"error": {"kind": "authorization_denied", "message": "Not an order of yours.", "retryable": False}}
BUSY = {"error": {"kind": "rate_limited", "message": "One at a time.", "retryable": True, "retry_after": 0.05}}
asked = Counter[str]()  # calls an order
clock = OPENED


def observed(order: str, source: str) -> dict[str, Any]:
    """One source, read or not: shipments of O-2 are late once, of O-5 always, and at first nothing answers for O-4."""
    global clock  # noqa: PLW0603  # a clock that says the same in every run
    clock += timedelta(seconds=1)
    late = {"O-2": asked[order] == 1, "O-5": True}.get(order, False) and source == "shipments"
    if late or (order == "O-4" and asked[order] == 1):
        return {"source": source, "at": clock.isoformat(), "state": "timed_out"}
    facts = {"case": f"K-{order}"} if source == "tickets" else {"parcel": "in Hamburg"}
    return {"source": source, "at": clock.isoformat(), "state": "read", "facts": {} if order == "O-3" else facts}


def structured(data: dict[str, Any]) -> dict[str, Any]:
    """The response that says this."""
    return {"result": {"structuredContent": data, "content": [{"type": "text", "text": json.dumps(data)}]}}


def answer(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The response to a call."""
    if tool == "list_cases":
        orders, following = PAGES[arguments.get("cursor")]
        return structured({"cases": [{"case": f"K-{order}", "order": order} for order in orders], "next": following})
    order = arguments["order"]
    if order not in OWN:  # another customer's, or none at all: nobody learns which
        return {"result": {"isError": True, "content": [{"type": "text", "text": json.dumps(REFUSED)}]}}
    asked[order] += 1
    if order == "O-6" and asked[order] == 1:
        return {"result": {"isError": True, "content": [{"type": "text", "text": json.dumps(BUSY)}]}}
    observations = [observed(order, source) for source in arguments.get("sources", ["tickets", "shipments"])]
    states = {each["state"] for each in observations}
    if states == {"read"}:
        data: dict[str, Any] = {"status": "ok" if any(each["facts"] for each in observations) else "no_match"}
    else:
        data = {"status": "partial" if "read" in states else "unavailable", "again_after": 0.01}
    data["observations"] = observations
    return structured(data)


if __name__ == "__main__":
    serve([TOOLS], answer)
