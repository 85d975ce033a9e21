"""Holds the arguments of a call against the tool's inputSchema, before anything is sent. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from mcp_guard import _bounds, _words
from mcp_guard._contract import Contract
from mcp_guard._facts import Violation, is_object, json_type
from mcp_guard._schema import Undecided
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
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "dependentSchemas",
        "patternProperties",
        "additionalProperties",
    }
)


def held(arguments: Mapping[str, Any], contract: Contract, policy: Policy) -> Misfit:
    """Hold arguments against a contract. An inputSchema that can't be used takes everything."""
    if policy.arguments == "allow" and policy.on_deviation("unknown_argument") == "allow":
        return _FITS
    if problems := _bounds.scan(dict(arguments), policy.limits):
        says = "must be JSON: " + ", ".join(p.code for p in problems)
        return Misfit((Violation("", "", "not_json", None, "object", None, "", says),))
    schema = contract.input
    if schema is None:
        return _FITS
    unknown = _unknown(arguments, schema.schema)
    try:
        if schema.is_valid(arguments):
            return Misfit(unknown=unknown)
        violations, truncated = schema.violations(arguments, limit=policy.limits.violations)
    except Undecided:
        return Misfit(unknown=unknown)
    return Misfit(violations, truncated, unknown)


def _unknown(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[Violation, ...]:
    named = schema.get("properties")
    if not is_object(named) or not named or not _OPEN.isdisjoint(schema):
        return ()
    return tuple(_unnamed(name, arguments[name], list(named)) for name in arguments if name not in named)


def _unnamed(name: str, value: Any, named: list[str]) -> Violation:
    nearest = difflib.get_close_matches(name[:100], named[:200], 1)
    hint = f"; the nearest declared name is {_words.name(nearest[0])}" if nearest else ""
    return Violation(
        pointer=_words.pointer([name]),
        schema_pointer="/properties",
        keyword="properties",
        expected=named,
        found=json_type(value),
        value=value,
        shown="/*",
        says="is no argument that the inputSchema names" + hint,
    )
