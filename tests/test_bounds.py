"""The bounds: what is no JSON, what is over a limit, and where exactly a limit lies."""

from __future__ import annotations

import dataclasses
import enum
import math
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


# Where there is much, values that are alike are taken together. None of that may show.

MANY = (3, 20, 70, 300, 1100)
ALIKE: dict[str, Any] = {
    "strings": lambda n: f"No. {n}",
    "long strings": lambda n: "x" * 100 + str(n),
    "strings that are not ASCII": lambda n: f"größe {n} 😀",
    "long strings that are not ASCII": lambda n: "é" * 100 + str(n),
    "integers": lambda n: n - 5,
    "long integers": lambda n: 2**62 + n * 2**55,
    "fractions": lambda n: n / 7,
    "nothing": lambda _: None,
    "integers or null": lambda n: n if n % 3 else None,
    "all kinds": lambda n: [1, "a", None, True, 2.5, {}, [], {"a": "b"}][n % 8],
    "arrays": lambda n: [str(n)] * (n % 4),
    "empty objects": lambda _: {},
    "rows": lambda n: {"id": n, "name": f"No. {n}", "tags": ["a", "bc"][: n % 3], "at": {"x": n / 4, "y": None}},
    "rows in any order": lambda n: dict([("a", n), ("é", "b")][:: 1 if n % 2 else -1]),
    "rows that lack members": lambda n: {k: str(n) for k in ("a", "bc", "def", "ghij") if n % 5 or k != "bc"},
    "rows of two kinds": lambda n: {"a": 1, "b": 2} if n % 2 else {"c": 1, "d": 2},
    "rows of any kind": lambda n: {f"{n}": n, f"a{n}": {"b": n}},
    "wide rows": lambda n: {f"column {k}": n for k in range(60)},
}


def counted(value: Any) -> tuple[int, int, int]:
    """The size of a value, its values and keys: found one by one."""
    text = bits = numbers = values = keys = 0
    waiting = [value]
    while waiting:
        each = waiting.pop()
        values += 1
        if isinstance(each, dict):
            keys += len(each)
            text += sum(map(len, each))
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
        elif isinstance(each, str):
            text += len(each)
        elif isinstance(each, int) and not isinstance(each, bool):
            bits += each.bit_length()
            numbers += 1
    return text + int(bits * math.log10(2)) + numbers, values, keys


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize("alike", ALIKE.values(), ids=ALIKE)
def test_many_values_are_measured_as_one_by_one(alike: Any, count: int) -> None:
    value = {"rows": [alike(n) for n in range(count)]}
    size, values, keys = counted(value)
    measured = _bounds.measure(value, LIMITS)
    assert measured[:4] == ((), size, values, keys)
    for name, found in (("result_bytes", size), ("nodes", values)):
        assert codes(value, **{name: found}) == []
        (problem,) = _bounds.scan(value, dataclasses.replace(LIMITS, **{name: found - 1}))
        assert (problem.limit, problem.found) == (name, found)


class Name(str):
    """A string of a class of its own."""

    __slots__ = ()


class Unlike(type):
    """A class of classes that can be neither compared nor hashed."""

    def __eq__(cls, other: object) -> bool:
        raise TypeError

    __hash__ = None  # type: ignore[assignment]  # as Python sets it where there is an __eq__


class Thing(metaclass=Unlike):
    """A thing of such a class."""

    def __repr__(self) -> str:
        return "a thing"  # the same in every process


ODD = [
    (float("nan"), "not_finite"),
    (float("-inf"), "not_finite"),
    ("\ud800", "surrogate"),
    (["é", "\udfff"], "surrogate"),
    ({"\udc00": 1}, "surrogate"),
    ((), "not_json"),
    (Name("a"), "not_json"),
    (Decimal(1), "not_json"),
    (Thing(), "not_json"),
    ({1: "a"}, "not_json"),
]


@pytest.mark.parametrize("odd, code", ODD, ids=repr)
@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize("alike", ["a", "é", 1, 1.5, None, ["a"], {"a": "b"}], ids=repr)
def test_what_is_odd_is_found_among_many_that_are_alike(alike: object, count: int, odd: object, code: str) -> None:
    for place in (0, count // 2, count - 1):
        values = [alike] * count
        values[place] = odd
        assert codes(values) == [code]
        assert codes([{"a": each, "b": 1} for each in values]) == [code]
        assert codes([[each] for each in values]) == [code]


@pytest.mark.parametrize("odd, code", [(1, "not_json"), ("\ud800", "surrogate"), (Name("b"), "not_json")], ids=repr)
@pytest.mark.parametrize("count", MANY)
def test_a_key_that_is_none_is_found_among_many_rows(count: int, odd: Any, code: str) -> None:
    for place in (0, count // 2, count - 1):
        rows: list[Any] = [{"a": n, "c": "d"} for n in range(count)]
        rows[place] = {"a": 0, odd: "d"}
        assert codes(rows) == [code]
    assert codes([{"a": 1, odd: n} for n in range(count)]) == [code]


@pytest.mark.parametrize("count", MANY)
def test_rows_of_a_class_of_their_own_are_walked_among_many(count: int) -> None:
    class Row(dict[str, object]):
        def __missing__(self, key: str) -> object:
            raise AssertionError

    rows: list[dict[str, object]] = [{"a": "b", "c": 1} for _ in range(count)]
    rows[count // 2] = Row(a="b")
    assert _bounds.measure(rows, LIMITS)[:4] == ((), *counted(rows))
    rows[count // 2] = Row(c="\ud800")
    assert codes(rows) == ["surrogate"]


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize(
    "number, tame",
    [
        *((2**63 - 1, True), (1 - 2**63, True), (2**63, False), (-(2**63), False), (10**400, False)),
        *((2.0**63 - 1024, True), (2.0**63, False), (-(2.0**63), False), (1e308, False)),
    ],
)
def test_one_number_that_is_not_tame_is_found_among_many(count: int, number: float, *, tame: bool) -> None:
    for numbers in ([number] * count, [*range(count), number], [n / 2 for n in range(count)] + [number]):
        assert _bounds.measure(numbers, LIMITS).tame is tame
        assert _bounds.measure([{"a": n} for n in numbers], LIMITS).tame is tame


@pytest.mark.parametrize("count", MANY)
def test_a_float_is_told_of_among_many_integers(count: int) -> None:
    for value, floats in (([*range(count)], False), ([*range(count), 1.0], True)):
        assert _bounds.measure(value, LIMITS).floats is floats
        assert _bounds.measure([{"a": n} for n in value], LIMITS).floats is floats


@pytest.mark.parametrize("count", MANY)
def test_the_longest_of_many_integers_is_held_against_the_limit(count: int) -> None:
    assert codes([10**29] * count, integer_digits=30) == []
    assert _bounds.scan([10**29] * count + [-(10**30)], dataclasses.replace(LIMITS, integer_digits=30)) == (
        Problem("too_large", "integer_digits", 30, 31),
    )


@pytest.mark.parametrize("count", MANY)
def test_the_text_before_a_limit_is_told(count: int) -> None:
    value = {"names": ["abc"] * count, "deep": nested(300), "rows": [{"key": "de"}] * count}
    measured = _bounds.measure(value, LIMITS)
    assert (measured.problems[0].code, measured.size) == ("too_deep", 5 * count)


def test_what_is_shared_ever_so_often_ends() -> None:
    shared: Any = ["a" * 1000] * 20
    for _ in range(15):
        shared = [shared] * 20
    assert codes(shared) == ["too_many_nodes"]
    rows: Any = [{"a": 1, "b": "c"}] * 20
    for _ in range(15):
        rows = [{"a": rows, "b": 1}] * 20
    assert codes(rows) == ["too_many_nodes"]
    assert codes(["x" * 1_000_000] * 300_000) == ["too_large"]
    assert codes([{"é" * 1_000_000: 1}] * 100_000) == ["too_large"]
