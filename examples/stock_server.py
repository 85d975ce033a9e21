"""A shop's stock over MCP, as somebody else wrote it: it keeps what it promised for most articles, not for all."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

from stdio_server import serve

STOCK: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"enum": ["available", "unknown", "not_found"]},
        "quantity": {"type": ["integer", "null"], "minimum": 0},
        "checked_at": {"type": "string", "format": "date-time"},
    },
    "required": ["status", "quantity", "checked_at"],
    # a quantity is known exactly where the status is `available`
    "if": {"properties": {"status": {"const": "available"}}},
    "then": {"properties": {"quantity": {"type": "integer"}}},
    "else": {"properties": {"quantity": {"type": "null"}}},
}
ARGUMENTS = {
    "type": "object",
    "properties": {"sku": {"type": "string"}, "warehouse": {"enum": ["BER", "HAM"]}},
    "required": ["sku"],
}
TOOLS = [{"name": "get_stock", "inputSchema": ARGUMENTS, "outputSchema": STOCK}]
DOWN = {"error": {"kind": "unavailable", "message": "The warehouse is not reachable.", "retryable": True}}


def stock(status: str, quantity: int | None, age: timedelta = timedelta(0)) -> dict[str, Any]:
    """A result: structured, and the same as text."""
    checked_at = (datetime.now(timezone.utc) - age).isoformat()
    data = {"status": status, "quantity": quantity, "checked_at": checked_at}
    return {"structuredContent": data, "content": [{"type": "text", "text": json.dumps(data)}]}


def answer(_: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The response to a call of `get_stock`."""
    match arguments.get("sku"):
        case "A-1":
            result = stock("available", 3)
        case "A-2":
            result = stock("available", 3, age=timedelta(days=2))
        case "A-3":
            result = {"content": stock("available", 1)["content"]}  # as text alone
        case "B-1":
            result = stock("unknown", None)
        case "B-2":
            result = stock("unknown", 0)  # the promise is broken: nobody knows, and yet it is 0
        case "B-3":
            result = {"isError": True, "content": [{"type": "text", "text": json.dumps(DOWN)}]}
        case "B-4":
            result = {"content": [{"type": "text", "text": json.dumps(DOWN)}]}  # an error, and not marked as one
        case _:
            result = stock("not_found", None)
    return {"result": result}


if __name__ == "__main__":
    serve([TOOLS], answer)
