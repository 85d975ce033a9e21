"""What keeps the engine busy without need: small schemas and values on which it was measured to hang or to fail."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_guard import Contract, Unenforceable, check

LARGE = 2**65
LONG = 10**4000


def having(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}}


HANGS: dict[str, tuple[dict[str, Any], Any]] = {
    "propertyNames with a back reference": (
        {"type": "object", "propertyNames": {"pattern": r"(a+)\1+b"}},
        {"a" * 50 + str(i): i for i in range(1_000)},
    ),
    "uniqueItems over integers beyond 64 bits": (
        having({"uniqueItems": True}),
        {"x": [LARGE + i for i in range(30_000)]},
    ),
    "uniqueItems over objects with such integers": (
        having({"uniqueItems": True}),
        {"x": [{"id": LARGE + i} for i in range(2_000)]},
    ),
    "uniqueItems over long integers": (having({"uniqueItems": True}), {"x": [LONG + i for i in range(100)]}),
    "an enum of long integers": (
        having({"items": {"enum": [LONG + i for i in range(50)]}}),
        {"x": [LONG + i for i in range(1_000)]},
    ),
    "an enum of floats": (
        having({"items": {"enum": [i + 0.5 for i in range(2_000)]}}),
        {"x": [i + 0.5 for i in range(30_000)]},
    ),
    "multipleOf a float next to zero": (
        having({"items": {"multipleOf": 1e-300}}),
        {"x": [1e300 + i * 1e290 for i in range(80_000)]},
    ),
    "floats far from zero under an ordinary multipleOf": (
        having({"items": {"multipleOf": 0.01}}),
        {"x": [1e300 + i * 1e290 for i in range(80_000)]},
    ),
    "counted repeats of a counted group": (having({"pattern": "(?:.{0,70}){70}$"}), {"x": "a" * 3_000}),
}


@pytest.mark.parametrize("what", HANGS)
def test_what_would_keep_the_engine_busy_is_not_asked(what: str) -> None:
    schema, value = HANGS[what]
    verdict = check({"content": [], "structuredContent": value}, Contract("t", schema))
    assert isinstance(verdict, Unenforceable)
    assert verdict.reason == "too_complex"


@pytest.mark.parametrize("value", [{}, {"a": 1}, {"a": {}}])
def test_a_look_around_over_names_needs_none(value: Any) -> None:
    schema = {"type": "object", "patternProperties": {"^(?!x)": {"patternProperties": {"^(?!y)": True}}}}
    assert type(check({"content": [], "structuredContent": value}, Contract("t", schema))).__name__ == "Conforming"


def test_a_few_large_integers_are_compared() -> None:
    contract = Contract("t", having({"uniqueItems": True, "items": {"enum": [LARGE, LARGE + 1]}}))
    for value, expected in (([LARGE, LARGE + 1], "Conforming"), ([LARGE, LARGE], "Violating"), ([1], "Violating")):
        assert type(check({"content": [], "structuredContent": {"x": value}}, contract)).__name__ == expected
