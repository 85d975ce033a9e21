"""The keywords that look at one value and have no subschemas, as checks of that value.

A check gives what was expected, once for each violation, and nothing where the value fits. What a plain comparison
can't decide in bounded time, or not as the engine does, is the engine's to say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from mcp_guard._exact import is_number
from mcp_guard._facts import is_array, is_object


class Judge(Protocol):
    """Who is asked, and who counts."""

    def spend(self, steps: int) -> None:
        """Count work. Raises `OutOfBudget`."""
        ...

    def satisfies(self, keyword: str, asked: Any, value: Any) -> bool:
        """Whether the engine finds that a value satisfies one keyword."""
        ...


Check = Callable[[Any, Judge], "tuple[Any, ...]"]
Maker = Callable[[Any, Any], Check]
"""Makes the check of a keyword out of its value and the schema that it stands in."""

_Test = Callable[[Any], bool]
_Pair = Callable[[Any, Any], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_integer(value: object) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


_TYPES: Final[dict[str, _Test]] = {
    "object": is_object,
    "array": is_array,
    "string": _is_text,
    "number": is_number,
    "integer": _is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
_TYPES_4: Final[dict[str, _Test]] = {
    **_TYPES,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),  # 1.0 is none there
}


def _type(types: dict[str, _Test]) -> Maker:
    def make(asked: Any, _schema: Any) -> Check:
        if isinstance(asked, str):
            only = types[asked]
            return lambda value, _judge: () if only(value) else (asked,)
        tests = [types[name] for name in set(asked)]
        return lambda value, _judge: () if any(test(value) for test in tests) else (asked,)

    return make


def _bound(applies: _Test, broken: _Pair) -> Maker:
    def make(asked: Any, _schema: Any) -> Check:
        return lambda value, _judge: (asked,) if applies(value) and broken(value, asked) else ()

    return make


def _bound_4(excluding: str, broken: _Pair, broken_excluding: _Pair) -> Maker:
    def make(asked: Any, schema: Any) -> Check:
        return _bound(is_number, broken_excluding if schema.get(excluding) else broken)(asked, schema)

    return make


def _engine(keyword: str) -> Maker:
    def make(asked: Any, _schema: Any) -> Check:
        return lambda value, judge: () if judge.satisfies(keyword, asked, value) else (asked,)

    return make


def _required(asked: Any, _schema: Any) -> Check:
    def check(value: Any, judge: Judge) -> tuple[Any, ...]:
        if not is_object(value):
            return ()
        judge.spend(len(asked) >> 4)
        return tuple([[name] for name in asked if name not in value])

    return check


def _dependent_required(asked: Any, _schema: Any) -> Check:
    def check(value: Any, judge: Judge) -> tuple[Any, ...]:
        if not is_object(value):
            return ()
        judge.spend(sum(map(len, asked.values())) + len(asked) >> 4)
        return tuple([each] for name, needs in asked.items() if name in value for each in needs if each not in value)

    return check


def refused(_value: Any, _judge: Judge) -> tuple[Any, ...]:
    """The check of a `false` schema."""
    return (False,)


_COMMON: Final[dict[str, Maker]] = {
    "required": _required,
    "enum": _engine("enum"),
    "multipleOf": _engine("multipleOf"),
    "minLength": _bound(_is_text, lambda value, asked: len(value) < asked),
    "maxLength": _bound(_is_text, lambda value, asked: len(value) > asked),
    "pattern": _engine("pattern"),
    "format": _engine("format"),
    "minItems": _bound(is_array, lambda value, asked: len(value) < asked),
    "maxItems": _bound(is_array, lambda value, asked: len(value) > asked),
    "uniqueItems": _engine("uniqueItems"),
    "minProperties": _bound(is_object, lambda value, asked: len(value) < asked),
    "maxProperties": _bound(is_object, lambda value, asked: len(value) > asked),
}
CHECKS_4: Final[dict[str, Maker]] = {
    **_COMMON,
    "type": _type(_TYPES_4),
    "minimum": _bound_4("exclusiveMinimum", lambda value, asked: value < asked, lambda value, asked: value <= asked),
    "maximum": _bound_4("exclusiveMaximum", lambda value, asked: value > asked, lambda value, asked: value >= asked),
}
"""Draft-04."""

_NEWER: Final[dict[str, Maker]] = {
    **_COMMON,
    "type": _type(_TYPES),
    "const": _engine("const"),
    "minimum": _bound(is_number, lambda value, asked: value < asked),
    "maximum": _bound(is_number, lambda value, asked: value > asked),
    "exclusiveMinimum": _bound(is_number, lambda value, asked: value <= asked),
    "exclusiveMaximum": _bound(is_number, lambda value, asked: value >= asked),
}
CHECKS_6: Final[dict[str, Maker]] = {
    **_NEWER,
    # the engine asserts these two in draft-06 and draft-07, and nowhere else
    "contentEncoding": _engine("contentEncoding"),
    "contentMediaType": _engine("contentMediaType"),
}
"""Draft-06 and draft-07."""

CHECKS_2019: Final[dict[str, Maker]] = {**_NEWER, "dependentRequired": _dependent_required}
"""2019-09 and 2020-12."""
