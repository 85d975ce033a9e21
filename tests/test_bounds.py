"""The bounds: what is no JSON, what is over a limit, and where exactly a limit lies."""

from __future__ import annotations

import dataclasses
import enum
from decimal import Decimal
from typing import Any

import pytest

from mcp_guard import _bounds
from mcp_guard._facts import OVER_LIMIT, Problem
from mcp_guard.policy import Limits

LIMITS = Limits()


def codes(value: object, **limits: int) -> list[str]:
    """The codes of all problems."""
    return [problem.code for problem in _bounds.scan(value, dataclasses.replace(LIMITS, **limits))]


def nested(levels: int, value: Any = 1, *, array: bool = False) -> Any:
    """`value` inside so many containers."""
    for _ in range(levels):
        value = [value] if array else {"child": value}
    return value


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -1.5, 2**200, "", "é😀", [], {}, {"": [{"a": [None, False]}]}, "\U0010ffff", [[], {}, [{}]]],
    ids=repr,
)
def test_json_within_the_limits_has_no_problem(value: object) -> None:
    assert _bounds.scan(value, LIMITS) == ()


@pytest.mark.parametrize(
    "value, code",
    [
        (float("nan"), "not_finite"),
        ([float("inf")], "not_finite"),
        ({"a": {"b": -float("inf")}}, "not_finite"),
        ("\ud800", "surrogate"),
        (["é", "\udfff", "é"], "surrogate"),
        ({"a\udc00": 1}, "surrogate"),
        # two halves that stand in two strings are two lone surrogates
        (["\ud83d", "\ude00"], "surrogate"),
        ((), "not_json"),
        ({"a": b""}, "not_json"),
        ([Decimal(1)], "not_json"),
        ({1}, "not_json"),
        (object, "not_json"),
        ({1: "a"}, "not_json"),
        ({None: "a", "b": 1}, "not_json"),
        ([{"a": 1}, {("a",): 1}], "not_json"),
    ],
    ids=repr,
)
def test_what_is_no_json_is_named(value: object, code: str) -> None:
    assert codes(value) == [code]


def test_distinct_problems_come_sorted_and_once() -> None:
    value = {"z": ["\ud800", "\ud801"], "a": [float("nan"), (), b""], "\udfff": 1, 2: float("inf")}
    assert codes(value) == ["not_finite", "not_json", "surrogate"]


def test_strings_are_looked_at_beside_keys_that_are_none() -> None:
    assert codes({1: 1, "\ud800": 2}) == ["not_json", "surrogate"]


def test_containers_may_be_of_a_class_of_their_own_and_scalars_may_not() -> None:
    class Name(str):
        __slots__ = ()

    class Row(dict[str, object]):
        pass

    class Size(enum.IntEnum):
        BIG = 1

    class Rows(list[object]):
        pass

    assert codes(Rows([Row({"a": "b"}), {"c": "d"}, 2])) == []
    assert codes(Rows([Row({"a": "\ud800"})])) == ["surrogate"]
    for foreign in (Name("b"), Size.BIG, {Name("a"): 1}):
        assert codes([foreign]) == ["not_json"]


def test_an_integer_may_have_as_many_digits_as_python_reads() -> None:
    assert codes([10**4299, -(10**4299)]) == []
    (problem,) = _bounds.scan([1, 10**4300], Limits())
    assert (problem.code, problem.limit, problem.allowed, problem.found) == ("too_large", "integer_digits", 4300, 4301)


@pytest.mark.parametrize("array", [True, False])
def test_depth_counts_containers_and_the_limit_itself_is_let_through(*, array: bool) -> None:
    assert codes(nested(199, array=array)) == []
    assert codes(nested(200, array=array)) == []
    assert _bounds.scan(nested(201, array=array), LIMITS) == (Problem("too_deep", "depth", 200, 201),)


def test_an_empty_container_is_a_level() -> None:
    assert codes([[]], depth=2) == []
    assert codes([[{}]], depth=2) == ["too_deep"]


def test_levels_outside_do_not_count() -> None:
    result = {"structuredContent": nested(200), "_meta": nested(200, array=True)}
    assert _bounds.scan(result, LIMITS, outside=1) == ()
    assert _bounds.scan(result, LIMITS) == (Problem("too_deep", "depth", 200, 201),)
    deeper = {"structuredContent": nested(201)}
    assert _bounds.scan(deeper, LIMITS, outside=1) == (Problem("too_deep", "depth", 200, 201),)


@pytest.mark.parametrize("value", [nested(100_000), nested(100_000, array=True)], ids=["objects", "arrays"])
def test_a_hundred_thousand_levels_end_as_one_too_many(value: object) -> None:
    assert codes(value) == ["too_deep"]


def test_a_value_that_contains_itself_ends() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert codes(ring) == ["too_deep"]
    ring.append(ring)
    assert codes(ring)[0] in OVER_LIMIT
    knot: dict[str, Any] = {}
    knot["self"] = [knot] * 1000
    assert codes(knot) == ["too_many_nodes"]


@pytest.mark.parametrize(
    "value, nodes",
    [(1, 1), ([], 1), ({}, 1), ([1, 2], 3), ({"a": 1}, 2), ({"a": [1, {}], "b": {"c": None}}, 6)],
    ids=repr,
)
def test_a_node_is_a_value_and_the_limit_itself_is_let_through(value: object, nodes: int) -> None:
    assert codes(value, nodes=nodes) == []
    if nodes > 1:
        assert _bounds.scan(value, dataclasses.replace(LIMITS, nodes=nodes - 1)) == (
            Problem("too_many_nodes", "nodes", nodes - 1, nodes),
        )


def test_a_million_keys_are_too_many_nodes() -> None:
    assert _bounds.scan(dict.fromkeys(map(str, range(10**6))), LIMITS) == (
        Problem("too_many_nodes", "nodes", 400_000, 1_000_001),
    )


def test_three_hundred_thousand_nodes_and_five_megabytes_are_let_through() -> None:
    assert codes([{"id": n, "label": "row"} for n in range(99_999)]) == []
    assert codes({"blob": "x" * 5_000_000}) == []
    assert codes({"blob": "é" * 5_000_000}) == []


@pytest.mark.parametrize(
    "value, size",
    [("abc", 3), ({"ab": "cd"}, 4), (["é", {"ü": "😀"}], 3), ({"a": {"b": {"c": "d"}}}, 4), ([True, None, 1.5], 0)],
    ids=repr,
)
def test_size_is_the_characters_of_strings_and_keys(value: object, size: int) -> None:
    assert codes(value, result_bytes=max(size, 1)) == []
    if size > 1:
        assert _bounds.scan(value, dataclasses.replace(LIMITS, result_bytes=size - 1)) == (
            Problem("too_large", "result_bytes", size - 1, size),
        )


@pytest.mark.parametrize("digits", [1, 2, 10, 1000, 30_000])
@pytest.mark.parametrize("sign", [1, -1])
def test_digits_of_an_integer_count_to_within_one(digits: int, sign: int) -> None:
    number = sign * 10 ** (digits - 1)
    assert codes(number, result_bytes=digits + 1, integer_digits=digits) == []
    if digits > 1:
        assert codes(number, result_bytes=digits - 1, integer_digits=digits) == ["too_large"]


def test_an_integer_too_large_to_be_written_is_too_large() -> None:
    assert codes([1 << 30_000_000]) == ["too_large"]


def test_only_the_limit_is_told_where_one_is_crossed() -> None:
    assert codes(nested(300, value=float("nan"))) == ["too_deep"]
    assert codes([float("nan"), ["x" * 20]], result_bytes=10) == ["too_large"]
