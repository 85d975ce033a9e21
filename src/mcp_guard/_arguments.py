"""Holds the arguments of a call against the tool's inputSchema, before anything is sent. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, final

from mcp_guard import _bounds, _words
from mcp_guard._contract import Contract
from mcp_guard._effort import Size
from mcp_guard._facts import Violation, is_array, is_object, json_type
from mcp_guard._look import Undecided
from mcp_guard.policy import Policy


@final
@dataclass(frozen=True, slots=True)
class Misfit:
    """What is wrong with the arguments: where they break inputSchema, and which of them it does not name."""

    violations: tuple[Violation, ...] = ()
    truncated: bool = False
    unknown: tuple[Violation, ...] = ()


_FITS: Final = Misfit()
# Where inputSchema has one of these at its root, its `properties` are not all the names that it knows.
_OPEN: Final = frozenset(
    {
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "dependencies",
        "dependentSchemas",
        "patternProperties",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
    }
)
_CLOSED: Final = frozenset({"additionalProperties", "unevaluatedProperties"})
_ALTERNATIVES: Final = frozenset({"anyOf", "oneOf"})
_HOPS: Final = 8


def held(arguments: dict[str, Any], contract: Contract, policy: Policy) -> Misfit:
    """Hold arguments against a contract. An inputSchema that can't be used takes everything."""
    if policy.arguments == "allow" and policy.on_deviation("unknown_argument") == "allow":
        return _FITS
    measured = _bounds.measure(arguments, policy.limits)
    if measured.problems:
        says = "must be JSON: " + ", ".join(p.code for p in measured.problems)
        return Misfit((Violation("", "", "not_json", None, "object", None, "", says),))
    schema = contract.input
    if schema is None:
        return _FITS
    unknown = _unknown(arguments, schema.schema)
    look = schema.look(Size.of(measured))
    try:
        if look.is_valid(arguments):
            return Misfit(unknown=unknown) if unknown else _FITS
        violations, truncated = look.violations(arguments, limit=policy.limits.violations)
    except Undecided:
        return Misfit(unknown=unknown)
    return Misfit(tuple(_helped(v, arguments, schema.schema) for v in violations), truncated, unknown)


def _unknown(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[Violation, ...]:
    declared = schema.get("properties")
    if not declared or (is_object(declared) and arguments.keys() <= declared.keys()) or not _OPEN.isdisjoint(schema):
        return ()
    named = _named(schema)
    return tuple(_unnamed(name, arguments[name], named) for name in arguments if name not in named)


def _named(schema: Mapping[str, Any]) -> list[str]:
    """The names of arguments that a schema says something of at its root."""
    named: list[str] = []
    properties, required, dependent = map(schema.get, ("properties", "required", "dependentRequired"))
    if is_object(properties):
        named += properties
    if is_array(required):
        named += filter(_is_text, required)
    if is_object(dependent):
        named += (name for names in dependent.values() if is_array(names) for name in names if _is_text(name))
    return named


def _is_text(name: object) -> bool:
    return isinstance(name, str)


def _nearest(name: str, named: list[str]) -> str:
    nearest = difflib.get_close_matches(name[:100], named[:200], 1)
    return f"; the nearest declared name is {_words.name(nearest[0])}" if nearest else ""


def _helped(violation: Violation, arguments: Mapping[str, Any], schema: dict[str, Any]) -> Violation:
    """The violation with what helps to correct the arguments: names that are declared, values that are allowed."""
    if violation.keyword in _CLOSED and not violation.pointer:
        named = _named(schema)
        hints = dict.fromkeys(_nearest(name, named) for name in arguments if name not in named)
        return replace(violation, says=violation.says + next(filter(None, hints), ""))
    if violation.keyword in _ALTERNATIVES and is_array(violation.expected):
        # what an alternative refers to is looked up here, where the whole schema is
        return replace(violation, expected=[_referred(each, schema) for each in violation.expected])
    return violation


def _referred(schema: object, root: dict[str, Any]) -> object:
    """What a schema that is nothing but a local reference refers to; itself where that is not to be had."""
    found = schema
    for _ in range(_HOPS):
        reference = found.get("$ref") if is_object(found) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return found
        found = _at(root, reference[2:].split("/"))
        if found is None:
            return schema
    return schema


def _at(root: object, tokens: Iterable[str]) -> object:
    """The value at a JSON pointer (RFC 6901) of names; `None` where there is none."""
    for token in tokens:
        root = root.get(token.replace("~1", "/").replace("~0", "~")) if is_object(root) else None
    return root


def _unnamed(name: str, value: Any, named: list[str]) -> Violation:
    return Violation(
        pointer=_words.pointer([name]),
        schema_pointer="/properties",
        keyword="properties",
        expected=named,
        found=json_type(value),
        value=value,
        shown="/*",
        says="is no argument that the inputSchema names" + _nearest(name, named),
    )
