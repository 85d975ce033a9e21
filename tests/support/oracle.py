"""Plain `jsonschema` as the judge of judges, where its answer is known to be wrong put right by name.

Each correction says what `jsonschema` does and why that is not what JSON Schema asks for. What is not named here is
answered by `jsonschema` itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

from jsonschema import Draft202012Validator, FormatChecker, ValidationError, validators

from mcp_guard._dialects import URIS, Dialect
from support.strategies import FORMATS, PATTERNS, one_text

Keyword = Callable[[Any, Any, Any, Mapping[str, Any]], Iterator[ValidationError]]


_EXACT: Final = 2**53


class NoAnswerError(Exception):
    """`jsonschema` does not know."""


class Fault(NamedTuple):
    """Where and by which keyword a value does not fit; `None`: a `false` schema."""

    pointer: str
    keyword: str | None


def _multiple_of(_validator: Any, asked: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    """`jsonschema` divides doubles: to it 2.2e-06 is no multiple of 1e-07, and -(2 ** 63) - 1 is one of 2.5.

    By the digits that were sent it is otherwise. From 2 ** 53 on these can't be had back from a double, and two right
    answers are possible: 7e16 was sent, but the double may stand for 70000000000000003 as well.
    """
    if isinstance(value, float) and abs(value) >= _EXACT:
        raise NoAnswerError("the digits that were sent are lost")
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number and (Fraction(repr(value)) / Fraction(repr(asked))).denominator != 1:
        yield ValidationError("no multiple")


def _pattern(_validator: Any, asked: str, value: Any, _schema: Any) -> Iterator[ValidationError]:
    """`jsonschema` asks Python, to which `$` is before a last newline too, and digits and letters go beyond ASCII."""
    if isinstance(value, str) and not _matches(asked, value):
        yield ValidationError("no match")


def _matches(pattern: str, text: str) -> bool:
    return re.search(PATTERNS.get(pattern, pattern), text) is not None


def _pattern_properties(validator: Any, asked: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    """See `_pattern`."""
    for pattern, schema in asked.items() if isinstance(value, dict) else ():
        for name, member in value.items():
            if _matches(pattern, name):
                yield from validator.descend(member, schema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, asked: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    """See `_pattern`; and to `jsonschema` the empty pattern, which matches every name, is as none."""
    if not isinstance(value, dict) or asked is True:
        return
    extra = value.keys() - schema.get("properties", {}).keys()
    extra = {name for name in extra if not any(_matches(each, name) for each in schema.get("patternProperties", ()))}
    if asked is False and extra:
        yield ValidationError("more than is allowed")
    for name in extra if asked is not False else ():
        yield from validator.descend(value[name], asked, path=name)


def _unique_items(_validator: Any, asked: bool, value: Any, _schema: Any) -> Iterator[ValidationError]:  # called so
    """`jsonschema` sorts and compares neighbours: to it [[1], [true], [1]] has no two equal elements."""
    if asked and isinstance(value, list) and len(set(map(one_text, value))) < len(value):
        yield ValidationError("two are equal")


CORRECTED: Final[dict[str, Keyword]] = {
    "additionalProperties": _additional_properties,
    "multipleOf": _multiple_of,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "uniqueItems": _unique_items,
}


class Oracle:
    """What `jsonschema` says about values and one schema."""

    def __init__(self, schema: dict[str, Any], dialect: Dialect, *, formats: bool = False) -> None:
        extend: Any = validators.extend  # it says nothing of its types
        plain: Any = validators.validator_for({"$schema": URIS[dialect]})
        corrected = {word: keyword for word, keyword in CORRECTED.items() if word in plain.VALIDATORS}
        if dialect == "draft2019-09":
            # in that dialect it takes the keywords of an `additionalProperties` for names that have been evaluated
            corrected["unevaluatedProperties"] = Draft202012Validator.VALIDATORS["unevaluatedProperties"]
        checker = FormatChecker(formats=[name for name in FORMATS if name in FormatChecker.checkers])
        # where it meets a `$schema`, it goes on with the class of that dialect, without what is corrected here
        unnamed = {word: asked for word, asked in schema.items() if word != "$schema"}
        self._validator = extend(plain, corrected)(unnamed, format_checker=checker if formats else None)

    def faults(self, value: Any) -> set[Fault]:
        """All that is wrong with a value.

        Raises:
            NoAnswerError: `jsonschema` fails.
        """
        try:
            errors: list[Any] = list(self._validator.iter_errors(value))
        except (TypeError, AttributeError) as error:
            raise NoAnswerError from error
        return {Fault(_pointer(error.absolute_path), error.validator) for error in errors}


def _pointer(path: Any) -> str:
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in path)
