"""A calculator and a weather service over MCP: results of every shape, so that anatomy.py can take them apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from stdio_server import serve

WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "celsius": {"type": "number"}},
    "required": ["city", "celsius"],
}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "divide",
        "description": "One number divided by another.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
        "outputSchema": {"type": "object", "properties": {"quotient": {"type": "number"}}, "required": ["quotient"]},
    },
    {
        "name": "get_weather",
        "description": "The weather in a city now.",
        "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "outputSchema": WEATHER,
    },
]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="


def text(words: str) -> dict[str, str]:
    """A text block."""
    return {"type": "text", "text": words}


def failed(words: str) -> dict[str, Any]:
    """A result by which a tool says that it failed."""
    return {"isError": True, "content": [text(words)]}


def divide(a: float, b: float) -> dict[str, Any]:
    """What `divide` answers: the quotient, or, in words, that there is none."""
    if b == 0:
        return failed("division by zero")
    return {"structuredContent": {"quotient": a / b}, "content": [text(f"{a} / {b} = {a / b}")]}


def get_weather(city: str) -> dict[str, Any]:
    """What `get_weather` answers, for each city in another shape."""
    weather: dict[str, Any] = {"city": city, "celsius": 4.5}
    match city:
        case "Berlin":  # data, and for people a sentence, a picture and a link
            picture = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
            link = {"type": "resource_link", "uri": "weather://berlin/radar", "name": "radar"}
            return {"structuredContent": weather, "content": [text("4.5 degrees in Berlin"), picture, link]}
        case "Lyon":  # the data as text alone
            return {"content": [text(json.dumps(weather))]}
        case "Oslo":  # a number, in words
            return {"structuredContent": {"city": city, "celsius": "mild"}, "content": []}
        case _:  # not known: a failure that a program can read
            message = f"There is no city {city}."
            return failed(json.dumps({"error": {"kind": "not_found", "message": message, "retryable": False}}))


def answer(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The response to a call; to a call of a tool that there is not it is an error of the protocol."""
    tools: dict[str, Callable[..., dict[str, Any]]] = {"divide": divide, "get_weather": get_weather}
    if tool not in tools:
        return {"error": {"code": -32602, "message": f"Unknown tool: {tool}"}}
    return {"result": tools[tool](**arguments)}


if __name__ == "__main__":
    serve([TOOLS], answer)
