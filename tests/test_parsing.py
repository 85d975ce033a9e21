"""Strict JSON out of text: that the quick way and the careful one read every document alike, and refuse alike."""

from __future__ import annotations

import json
import math
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_guard import Limits, _bounds
from mcp_guard._json import NotJson, parse_json, same_json

LIMITS: Final = Limits()
KEYS: Final = st.sampled_from(["a", "b", ":", '"', "\\", " :", '":', '\\":', '{"a": 1}', "é"]) | st.text(max_size=3)
SCALARS: Final = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | KEYS
VALUES: Final = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4)
)
BLANK: Final = st.sampled_from(["", "", " ", "\n", "\t \r"])


def written(value: Any, blank: str, *, twice: bool) -> str:
    """A document with white space wherever it may stand; `twice`: with the members of each object written twice."""
    if isinstance(value, dict):
        members = [f"{blank}{json.dumps(k)}{blank}:{written(v, blank, twice=twice)}" for k, v in value.items()]
        return f"{blank}{{{','.join(members * (2 if twice else 1))}}}{blank}"
    if isinstance(value, list):
        return f"{blank}[{','.join(written(each, blank, twice=twice) for each in value)}]{blank}"
    return f"{blank}{json.dumps(value)}{blank}"


def objects(value: Any) -> bool:
    """Whether there is a member anywhere."""
    if isinstance(value, dict):
        return bool(value)
    return isinstance(value, list) and any(map(objects, value))


@given(VALUES, BLANK)
def test_a_document_is_read_as_it_was_written(value: Any, blank: str) -> None:
    read = parse_json(written(value, blank, twice=False), LIMITS)
    assert same_json(read, value)
    assert json.dumps(read) == json.dumps(value)  # 1 stays an integer, 1.0 a float


@given(VALUES, BLANK)
@example({"a": ":"}, "")
@example({"a": '":'}, "")
@example({"a": {"b": " :"}}, "")
@example({"a": '{"b": 1}'}, "")
@example({"a": '{"b" : 1}'}, " ")
def test_a_key_that_stands_twice_is_never_dropped(value: Any, blank: str) -> None:
    text = written(value, blank, twice=True)
    if objects(value):
        with pytest.raises(NotJson):
            parse_json(text, LIMITS)
    else:
        assert same_json(parse_json(text, LIMITS), value)


def by_the_standard_library(text: str) -> Any:
    """What `json` reads, with each key once and within the limits; else `NotJson`."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError
        return dict(pairs)

    try:
        value = json.loads(text.strip(" \t\r\n"), object_pairs_hook=once)
    except (ValueError, RecursionError):
        return NotJson
    return NotJson if _bounds.scan(value, LIMITS) else value


@given(st.text(alphabet='{}[]":,\\ \n0123456789eE.-+truefalsn/u', max_size=30))
@example("1e999")
@example("[" * 201 + "]" * 201)
@example("[" * 150 + "]" * 150)
@example("9" * 4300)
@example("9" * 4301)
@example('"\\ud800"')
@example('"\\ud83d\\ude00"')
@example("-0")
@example("[NaN]")
@example("Infinity")
@example("[1] 2")
def test_the_quick_way_takes_nothing_that_the_careful_one_does_not_take(text: str) -> None:
    try:
        read = parse_json(text, LIMITS)
    except NotJson:
        read = NotJson
    expected = by_the_standard_library(text)
    assert (read is NotJson) == (expected is NotJson)
    assert read is NotJson or json.dumps(read) == json.dumps(expected)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_the_same_float(number: float) -> None:
    read = parse_json(f"[{number!r}]", LIMITS)[0]
    assert read == number
    assert math.copysign(1, read) == math.copysign(1, number)
