"""What one value costs at most, at whatever place of a schema it stands: less than all of the schema, and enough."""

from __future__ import annotations

from typing import Any, Final

from mcp_guard import Limits
from mcp_guard._applying import Applying
from mcp_guard._references import survey

TEXT: Final = {"type": "string", "minLength": 1}


def applying(schema: dict[str, Any]) -> Applying:
    """Of one schema."""
    return Applying(survey(schema, Limits(), {}))


def heaviest(schema: dict[str, Any]) -> int:
    """Units that all of the schema costs one value."""
    return applying(schema).heaviest(exact=True)


def at_one_place(schema: dict[str, Any]) -> int:
    """Units that one value costs at most."""
    return applying(schema).at_one_place(heaviest(schema), exact=True)


def of_names(number: int) -> dict[str, Any]:
    """An object with so many properties."""
    return {"properties": {f"p{n}": TEXT for n in range(number)}}


def test_more_properties_make_no_value_dearer() -> None:
    assert at_one_place(of_names(2)) == at_one_place(of_names(200)) < heaviest(of_names(200))


def test_what_stands_beside_each_other_at_one_place_counts_together() -> None:
    alone = at_one_place({"properties": {"a": TEXT}})
    both = at_one_place({"allOf": [{"properties": {"a": TEXT}}, {"properties": {"a": TEXT}}]})
    assert both > alone


def test_a_pattern_for_names_counts_for_each_member() -> None:
    named = {"properties": {"a": TEXT}, "patternProperties": {"^x": TEXT}}
    assert at_one_place(named) > at_one_place({"properties": {"a": TEXT}})
    assert at_one_place({**of_names(1), "propertyNames": {"enum": ["p0"]}}) > at_one_place(of_names(1))


def test_what_is_hashed_above_counts_below() -> None:
    deep = {"properties": {"a": {"items": {"items": TEXT}}}}
    unique = {"properties": {"a": {"items": {"items": TEXT}, "uniqueItems": True}}}
    assert at_one_place(unique) > at_one_place(deep)


def test_a_schema_that_refers_to_itself_has_an_end() -> None:
    tree = {"properties": {"v": TEXT, "kids": {"items": {"$ref": "#"}}}}
    assert 0 < at_one_place(tree) <= heaviest(tree)
    hashed = {"properties": {"kids": {"items": {"$ref": "#"}, "uniqueItems": True}}}
    assert at_one_place(hashed) == heaviest(hashed)


def test_where_there_are_too_many_places_all_of_the_schema_counts() -> None:
    many = {"properties": {f"p{n}": {"minLength": n} for n in range(1_000)}}
    assert at_one_place(many) == heaviest(many)
