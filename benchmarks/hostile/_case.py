"""What a hazard is: a tool as a server lists it, and an answer that it gives; made only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

Json = Any
"""Anything that JSON can say, and in places what it can't."""
Make = Callable[[], Json]

DRAFT_4: Final = "http://json-schema.org/draft-04/schema#"
DRAFT_7: Final = "http://json-schema.org/draft-07/schema#"
DRAFT_2019: Final = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020: Final = "https://json-schema.org/draft/2020-12/schema"


class Case(NamedTuple):
    """One server: a tool of its listing, and a result of a call to it."""

    tool: Json
    result: Json


@dataclass(frozen=True, slots=True)
class Hazard:
    """A case by its name.

    `wanted`: the verdict that has to come out, for what has to be let through. `heavy`: it takes a while to make.
    """

    name: str
    make: Callable[[], Case]
    wanted: str = ""
    heavy: bool = False


class Group:
    """Some hazards of a kind, by name."""

    def __init__(self, title: str) -> None:
        self.title: Final = title
        self.hazards: Final[list[Hazard]] = []

    def add(self, name: str, make: Callable[[], Case], *, wanted: str = "", heavy: bool = False) -> None:
        """One more."""
        self.hazards.append(Hazard(f"{self.title}: {name}", make, wanted, heavy))

    def schemas(self, table: Mapping[str, Make], value: Json = None, *, heavy: bool = False) -> None:
        """Whole schemas, that are harm enough by themselves: against an empty object, or `value`."""
        for name, make in table.items():
            self.add(name, _whole(make, lambda: {} if value is None else value), heavy=heavy)

    def pairs(self, table: Mapping[str, tuple[Make, Make]], *, heavy: bool = False) -> None:
        """Whole schemas, each with a value of its own."""
        for name, (make, value) in table.items():
            self.add(name, _whole(make, value), heavy=heavy)

    def members(self, table: Mapping[str, tuple[Json, Make]], *, wanted: str = "", heavy: bool = False) -> None:
        """Schemas and values, both as the member `x` of an object."""
        for name, (schema, value) in table.items():
            self.add(name, _member(schema, value), wanted=wanted, heavy=heavy)


def whole(schema: Json, value: Json) -> Case:
    """Structured content against a whole schema."""
    return Case({"name": "t", "outputSchema": schema}, {"content": [], "structuredContent": value})


def _whole(schema: Make, value: Make) -> Callable[[], Case]:
    return lambda: whole(schema(), value())


def _member(schema: Json, value: Make) -> Callable[[], Case]:
    return lambda: holding(schema, value())


def holding(schema: Json, value: Json) -> Case:
    """A value against a schema, both as the member `x` of an object."""
    outer: Json = {"type": "object", "required": ["x"]}
    if isinstance(schema, dict):
        outer |= {key: schema[key] for key in ("$defs", "$schema") if key in schema}
        schema = {key: part for key, part in schema.items() if key not in outer}
    return whole({**outer, "properties": {"x": schema}}, {"x": value})


def said(schema: Json, *texts: Json, **members: Json) -> Case:
    """Text blocks, and structured content only where `members` has it."""
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
