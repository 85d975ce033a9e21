"""What a hazard is: a tool as a server lists it, and an answer that it gives; made only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

Json = Any
"""Anything that JSON can say, and in places what it can't."""


class Case(NamedTuple):
    """One hostile server."""

    tool: Json
    result: Json


@dataclass(frozen=True, slots=True)
class Hazard:
    """A case by its name. `wanted`: the verdict that has to come out, for what has to be let through."""

    name: str
    make: Callable[[], Case]
    wanted: str = ""


class Group:
    """Some hazards of a kind, by name."""

    def __init__(self, title: str) -> None:
        self.title: Final = title
        self.hazards: Final[list[Hazard]] = []

    def add(self, name: str, make: Callable[[], Case], *, wanted: str = "") -> None:
        """One more."""
        self.hazards.append(Hazard(f"{self.title}: {name}", make, wanted))

    def holding(self, name: str, schema: Json, value: Callable[[], Json], *, wanted: str = "") -> None:
        """A value, as the member `x` of the structured content, against a schema."""
        self.add(name, lambda: holding(schema, value()), wanted=wanted)

    def schema(self, name: str, schema: Callable[[], Json], value: Json = None, *, wanted: str = "") -> None:
        """A whole schema, that is harm enough by itself."""
        self.add(name, lambda: whole(schema(), {} if value is None else value), wanted=wanted)


def whole(schema: Json, value: Json) -> Case:
    """Structured content against a whole schema."""
    return Case({"name": "t", "outputSchema": schema}, {"content": [], "structuredContent": value})


def holding(schema: Json, value: Json) -> Case:
    """A value against a schema, both as the member `x` of an object."""
    definitions = {}
    if isinstance(schema, dict):
        definitions = {key: schema[key] for key in ("$defs", "definitions", "$schema") if key in schema}
        schema = {key: part for key, part in schema.items() if key not in definitions}
    outer = {"type": "object", "properties": {"x": schema}, "required": ["x"], **definitions}
    return whole(outer, {"x": value})


def said(schema: Json, *texts: Json, **members: Json) -> Case:
    """Text blocks and no structured content."""
    blocks = [{"type": "text", "text": text} for text in texts]
    return Case({"name": "t", "outputSchema": schema}, {"content": blocks, **members})


def nested(levels: int, inner: Json, around: Callable[[Json], Json]) -> Json:
    """`inner` inside so many others."""
    for _ in range(levels):
        inner = around(inner)
    return inner


def lists(levels: int, inner: Json = 1) -> Json:
    """`inner` in so many arrays."""
    return nested(levels, inner, lambda value: [value])


def objects(levels: int, inner: Json = 1, name: str = "a") -> Json:
    """`inner` in so many objects."""
    return nested(levels, inner, lambda value: {name: value})
