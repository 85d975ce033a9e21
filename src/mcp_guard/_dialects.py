"""Knows the dialects of JSON Schema and where in each of them subschemas stand. Tables and no logic of checking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple

from mcp_guard._canonical import is_array, is_object

Dialect = Literal["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"]

DEFAULT: Final[Dialect] = "draft2020-12"
LEGACY: Final = frozenset({"draft4", "draft6", "draft7"})
"""Dialects in which `$ref` makes its siblings void."""

_HOST: Final = "json-schema.org/"
_PATHS: Final[dict[str, Dialect]] = {
    "draft-04/schema": "draft4",
    "draft-06/schema": "draft6",
    "draft-07/schema": "draft7",
    "draft/2019-09/schema": "draft2019-09",
    "draft/2020-12/schema": "draft2020-12",
}
URIS: Final[dict[Dialect, str]] = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
"""What each dialect calls itself."""


def dialect_of(uri: object) -> Dialect | None:
    """The dialect that a `$schema` names, with or without an empty fragment, over http or https."""
    if not isinstance(uri, str):
        return None
    scheme, _, rest = uri.partition("://")
    if scheme not in {"http", "https"} or not rest.startswith(_HOST):
        return None
    return _PATHS.get(rest[len(_HOST) :].removesuffix("#"))


Use = Literal["in_place", "inside", "held"]
"""How a subschema is applied: to the same value, to a part of it, or not at all until something refers to it."""

Shape = Literal["one", "many", "map", "one_or_many", "map_or_names", "one_or_bool"]

_ROWS: Final[dict[str, tuple[Shape, Use, tuple[Dialect, Dialect]]]] = {
    "allOf": ("many", "in_place", ("draft4", "draft2020-12")),
    "anyOf": ("many", "in_place", ("draft4", "draft2020-12")),
    "oneOf": ("many", "in_place", ("draft4", "draft2020-12")),
    "not": ("one", "in_place", ("draft4", "draft2020-12")),
    "if": ("one", "in_place", ("draft7", "draft2020-12")),
    "then": ("one", "in_place", ("draft7", "draft2020-12")),
    "else": ("one", "in_place", ("draft7", "draft2020-12")),
    "dependencies": ("map_or_names", "in_place", ("draft4", "draft2020-12")),
    "dependentSchemas": ("map", "in_place", ("draft2019-09", "draft2020-12")),
    "properties": ("map", "inside", ("draft4", "draft2020-12")),
    "patternProperties": ("map", "inside", ("draft4", "draft2020-12")),
    "additionalProperties": ("one_or_bool", "inside", ("draft4", "draft2020-12")),
    "propertyNames": ("one", "inside", ("draft6", "draft2020-12")),
    "unevaluatedProperties": ("one", "inside", ("draft2019-09", "draft2020-12")),
    "prefixItems": ("many", "inside", ("draft2020-12", "draft2020-12")),
    "items": ("one_or_many", "inside", ("draft4", "draft2020-12")),
    "additionalItems": ("one_or_bool", "inside", ("draft4", "draft2019-09")),
    "contains": ("one", "inside", ("draft6", "draft2020-12")),
    "unevaluatedItems": ("one", "inside", ("draft2019-09", "draft2020-12")),
    "definitions": ("map", "held", ("draft4", "draft2020-12")),
    "$defs": ("map", "held", ("draft2019-09", "draft2020-12")),
    "contentSchema": ("one", "held", ("draft2019-09", "draft2020-12")),
}
_ORDER: Final[tuple[Dialect, ...]] = ("draft4", "draft6", "draft7", "draft2019-09", "draft2020-12")


def _table(dialect: Dialect) -> dict[str, tuple[Shape, Use]]:
    at = _ORDER.index(dialect)
    table: dict[str, tuple[Shape, Use]] = {
        keyword: (shape, use)
        for keyword, (shape, use, (first, last)) in _ROWS.items()
        if _ORDER.index(first) <= at <= _ORDER.index(last)
    }
    if dialect == "draft2020-12":
        table["items"] = ("one", "inside")
    return table


TABLES: Final[dict[Dialect, dict[str, tuple[Shape, Use]]]] = {dialect: _table(dialect) for dialect in _ORDER}

REFERENCES: Final[dict[Dialect, tuple[str, ...]]] = {
    "draft4": ("$ref",),
    "draft6": ("$ref",),
    "draft7": ("$ref",),
    "draft2019-09": ("$ref", "$recursiveRef"),
    "draft2020-12": ("$ref", "$dynamicRef"),
}


VALUE_KEYWORDS: Final = frozenset(
    [
        "$anchor",
        "$comment",
        "$dynamicAnchor",
        "$dynamicRef",
        "$id",
        "$recursiveAnchor",
        "$recursiveRef",
        "$ref",
        "$schema",
        "$vocabulary",
        "const",
        "contentEncoding",
        "contentMediaType",
        "default",
        "dependentRequired",
        "deprecated",
        "description",
        "enum",
        "examples",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "id",
        "maxContains",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minContains",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "pattern",
        "readOnly",
        "required",
        "title",
        "type",
        "uniqueItems",
        "writeOnly",
    ]
)
"""The keywords that hold no subschema."""


class Position(NamedTuple):
    """One subschema of a schema: the keyword, the name or index below it, what stands there, and how it is used."""

    keyword: str
    token: str | int | None
    schema: Any
    use: Use


class Misplaced(Exception):  # noqa: N818  # caught by the one who walks
    """Something stands where a subschema has to, and is none."""

    def __init__(self, keyword: str, token: str | int | None = None) -> None:
        super().__init__(keyword)
        self.keyword = keyword
        self.token = token


def positions(schema: dict[str, Any], dialect: Dialect) -> Iterator[Position]:
    """Every place in `schema` where a subschema stands.

    Raises:
        Misplaced: What stands there is none.
    """
    table = TABLES[dialect]
    for keyword in schema.keys() & table.keys():
        shape, use = table[keyword]
        value = schema[keyword]
        places: Iterable[tuple[str | int | None, Any]]
        if shape in {"many", "one_or_many"} and is_array(value):
            places = enumerate(value)
        elif shape in {"map", "map_or_names"} and is_object(value):
            places = value.items()
        elif shape == "one_or_bool" and isinstance(value, bool):
            yield Position(keyword, None, value, use)
            continue
        elif shape in {"one", "one_or_many", "one_or_bool"}:
            places = ((None, value),)
        else:
            raise Misplaced(keyword)
        for token, each in places:
            if isinstance(each, dict) or (isinstance(each, bool) and dialect != "draft4"):
                yield Position(keyword, token, each, use)
            elif not (shape == "map_or_names" and isinstance(each, list)):
                raise Misplaced(keyword, token)


DECLARING: Final = frozenset({"properties", "dependencies", "dependentRequired", "dependentSchemas", "required"})
"""The keywords that `declared` reads: it finds nothing without one of them."""


def declared(schema: dict[str, Any]) -> list[str]:
    """The property names that one schema declares, its subschemas aside."""
    found: list[str] = []
    for keyword in ("properties", "dependencies", "dependentRequired", "dependentSchemas"):
        value = schema.get(keyword)
        if is_object(value):
            found += value
            if keyword in {"dependencies", "dependentRequired"}:
                for names in value.values():
                    found += _names(names)
    return found + _names(schema.get("required"))


def _names(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if is_array(value) else []
