"""What `Explainer` finds, held against plain `jsonschema`; and that it finds something, whatever comes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from jsonschema import validators
from referencing import Registry
from referencing.jsonschema import specification_with

from mcp_guard import Contract, Violating, _engine, check
from mcp_guard._dialects import URIS, Dialect
from mcp_guard._explain import Explainer
from mcp_guard._facts import Violation
from mcp_guard._purse import Means

with_engine = pytest.mark.skipif(not _engine.available(), reason="about jsonschema-rs")

SUITE = Path(__file__).parent / "data" / "json-schema-test-suite"
STEPS = 20_000
DECIDING = 3 * STEPS


def explain(
    schema: dict[str, Any], value: Any, *, dialect: Dialect = "draft2020-12", formats: bool = False, limit: int = 20
) -> tuple[list[Violation], bool]:
    explainer = Explainer(schema, dialect, names=frozenset(), steps=STEPS)
    found, truncated = explainer.violations(value, formats=formats, limit=limit)
    return list(found), truncated


def places(found: list[Violation]) -> list[tuple[str, str]]:
    return [(each.pointer, each.keyword) for each in found]


# --- against the test suite ------------------------------------------------------------------------------------------


class Group(NamedTuple):
    """Some values for one schema."""

    file: str
    title: str
    schema: dict[str, Any]
    values: list[tuple[str, Any, bool]]
    formats: bool
    resources: dict[str, dict[str, Any]]


def remotes(dialect: Dialect) -> dict[str, dict[str, Any]]:
    """Those of the dialect, and those of no dialect."""
    root = SUITE / "remotes"
    names = [path.relative_to(root).as_posix() for path in sorted(root.rglob("*.json"))]
    ours = [name for name in names if not name.startswith("draft") or name.startswith(f"{dialect}/")]
    documents = {f"http://localhost:1234/{name}": json.loads((root / name).read_text("utf-8")) for name in ours}
    return {uri: document for uri, document in documents.items() if isinstance(document, dict)}


def groups(dialect: Dialect) -> Iterator[Group]:
    known = remotes(dialect)
    root = SUITE / "tests" / dialect
    for path in sorted(root.rglob("*.json")):
        file = path.relative_to(root).as_posix()
        for group in json.loads(path.read_text("utf-8")):
            if isinstance(group["schema"], dict) and file != "optional/cross-draft.json":
                values = [(test["description"], test["data"], test["valid"]) for test in group["tests"]]
                resources = known if "localhost:1234" in json.dumps(group["schema"]) else {}
                yield Group(file, group["description"], group["schema"], values, "/format" in file, resources)


class Oracle:
    """What the `jsonschema` package reports."""

    def __init__(self, dialect: Dialect, group: Group) -> None:
        specification = specification_with(URIS[dialect])
        registry: Registry[Any] = Registry().with_resources(
            (uri, specification.create_resource(document)) for uri, document in group.resources.items()
        )
        # the dialect is that of the folder, whatever custom metaschema `$schema` names
        checker = validators.validator_for({"$schema": URIS[dialect]})
        formats = checker.FORMAT_CHECKER if group.formats else None
        self._validator = checker(group.schema, registry=registry, format_checker=formats)

    def report(self, value: Any) -> tuple[set[tuple[str, str, str]], set[str]]:
        """Pointer, schema pointer and keyword of each error; apart the schema pointers of `false` schemas."""
        errors: list[Any] = list(self._validator.iter_errors(value))
        named = {
            (pointer(error.absolute_path), pointer(error.absolute_schema_path), str(error.validator))
            for error in errors
            if error.validator is not None
        }
        return named, {pointer(error.absolute_schema_path) for error in errors if error.validator is None}


def pointer(path: Any) -> str:
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in path)


ENGINE_ALONE = {
    # jsonschema accepts, or can't read, what the engine refuses
    "optional/content.json",  # asserted by the engine, in draft-06 and draft-07
    "optional/dependencies-compatibility.json",  # still asserted by the engine
    "optional/ecmascript-regex.json",  # \d, \w and \S mean Unicode to Python; it knows no \c and no \p
    "pattern.json",  # no \p
}


@pytest.mark.parametrize("dialect", URIS)
def test_what_is_reported_is_what_jsonschema_reports(dialect: Dialect) -> None:
    compared = 0
    for group in groups(dialect):
        oracle = Oracle(dialect, group)
        try:
            decide = _engine.Decider(group.schema, dialect, formats=group.formats, resources=group.resources)
        except _engine.CannotCompile:
            assert group.file == "refRemote.json"  # an anchor of draft-07 or before in a document without `$schema`
            continue
        explainer = Explainer(group.schema, dialect, names=frozenset(), steps=STEPS, resources=group.resources)
        for title, value, _ in group.values:
            if decide(value):
                continue
            found, truncated = explainer.violations(value, formats=group.formats, limit=100)
            where = f"{dialect}/{group.file}: {group.title}: {title}"
            assert found, where
            assert not truncated, where
            try:
                named, refused = oracle.report(value)
            except Exception:  # noqa: BLE001  # a pattern that is none to Python
                named, refused = set(), set()
            if not named and not refused:
                # formats are the engine's: the package checks few of them without its extras
                assert group.formats or group.file in ENGINE_ALONE, where
                continue
            compared += 1
            ours = {(each.pointer, each.schema_pointer, each.keyword) for each in found}
            assert {each for each in ours if each[2] != "false"} == named, where
            # jsonschema leaves out the last step to a `false` schema, in both of its paths
            false = {each.schema_pointer for each in found if each.keyword == "false"}
            assert {path for path in false if not path.startswith(tuple(refused))} == set(), where
            assert bool(false) == bool(refused), where
    assert compared > 200, "the suite is not there, or not compared"


@pytest.fixture
def without_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)


UNDECIDED = {
    "optional/ecmascript-regex.json",  # classes of Unicode properties, and what else Python does not know
    "pattern.json",
    "patternProperties.json",
}
NOT_ASSERTED = {
    "optional/content.json",  # an annotation
    "optional/format-assertion.json",  # custom metaschemas: unknown dialects to this package
    "vocabulary.json",
}


@pytest.mark.usefixtures("without_engine")
@pytest.mark.parametrize("dialect", URIS)
def test_without_the_engine_it_decides_as_the_suite_says(dialect: Dialect) -> None:
    decided = 0
    for group in groups(dialect):
        if group.formats or group.file in NOT_ASSERTED:
            continue
        explainer = Explainer(group.schema, dialect, names=frozenset(), steps=STEPS, resources=group.resources)
        for title, value, valid in group.values:
            fits = explainer.decide(value, formats=False, steps=DECIDING)[0]
            where = f"{dialect}/{group.file}: {group.title}: {title}"
            if group.file in UNDECIDED:
                assert fits in {valid, None}, where
            else:
                assert fits is valid, where
            decided += fits is not None
    assert decided > 500, "the suite is not there"


@pytest.mark.usefixtures("without_engine")
@pytest.mark.parametrize("dialect", URIS)
def test_without_the_engine_a_value_that_does_not_fit_is_still_explained(dialect: Dialect) -> None:
    for group in groups(dialect):
        if group.formats or group.file in NOT_ASSERTED:
            continue
        explainer = Explainer(group.schema, dialect, names=frozenset(), steps=STEPS, resources=group.resources)
        for title, value, _ in group.values:
            if explainer.decide(value, formats=False, steps=DECIDING)[0] is False:
                found, truncated = explainer.violations(value, formats=False, limit=100)
                assert found, title
                assert not truncated, title


# --- places and words ------------------------------------------------------------------------------------------------


PLACES: list[tuple[Any, ...]] = [
    ({"properties": {"a": False}}, {"a": 1}, [("/a", "false")]),
    ({"items": {"properties": {"a": False}}}, [{}, {"a": 1}], [("/1/a", "false")]),
    ({"required": ["a", "b"]}, {}, [("", "required"), ("", "required")]),
    ({"additionalProperties": False}, {"a": 1, "b": 2}, [("", "additionalProperties")]),
    ({"prefixItems": [True], "items": False}, [1, 2, 3], [("", "items")]),
    ({"contains": {"type": "string"}, "minContains": 2}, ["a"], [("", "minContains")]),
    ({"contains": {"type": "string"}, "maxContains": 1}, ["a", "b"], [("", "maxContains")]),
    ({"anyOf": [{"type": "string"}, {"required": ["a"]}]}, {}, [("", "anyOf")]),
    ({"oneOf": [{"type": "object"}, {"required": ["a"]}]}, {"a": 1}, [("", "oneOf")]),
    ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, [("", "required")]),
    ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, [("", "maxLength")]),
    ({"multipleOf": 0.01}, 19.991, [("", "multipleOf")]),
    ({"properties": {"a/b": {"properties": {"~": {"type": "null"}}}}}, {"a/b": {"~": 1}}, [("/a~1b/~0", "type")]),
]


@pytest.mark.parametrize("schema, value, expected", PLACES, ids=range(len(PLACES)))
def test_each_keyword_is_reported_at_its_own_place(
    schema: dict[str, Any], value: Any, expected: list[tuple[str, str]]
) -> None:
    found, truncated = explain(schema, value)
    assert places(found) == expected
    assert not truncated


def test_indices_are_sorted_as_numbers_and_then_by_keyword() -> None:
    found, _ = explain({"items": {"type": "string", "minimum": 100}}, [1] * 12, limit=24)
    assert places(found) == [(f"/{index}", keyword) for index in range(12) for keyword in ("minimum", "type")]


@pytest.mark.parametrize("bad, kept, more", [(19, 19, False), (20, 20, False), (21, 20, True)])
def test_more_than_the_limit_is_said_and_not_kept(bad: int, kept: int, more: bool) -> None:
    found, truncated = explain({"items": {"type": "string"}}, [1] * bad + ["x"] * 1_000)
    assert (len(found), truncated) == (kept, more)


def test_a_violation_tells_what_was_expected_and_keeps_the_value_for_the_caller() -> None:
    (found,), _ = explain({"properties": {"n": {"minimum": 5}}}, {"n": 1})
    assert (found.expected, found.value, found.found) == (5, 1, "integer")
    assert found.schema_pointer == "/properties/n/minimum"
    (missing,), _ = explain({"required": ["n"]}, {})
    assert missing.expected == ["n"]


def test_formats_are_asserted_only_where_that_is_asked_for() -> None:
    schema = {"properties": {"v": {"type": "string", "format": "email"}, "n": {"type": "null"}}}
    found, _ = explain(schema, {"v": "x", "n": 1}, formats=True)
    assert places(found) == [("/n", "type"), ("/v", "format")]
    found, _ = explain(schema, {"v": "x", "n": 1})
    assert places(found) == [("/n", "type")]


EXACT: list[tuple[Any, ...]] = [
    ({"enum": [1, 2]}, True),
    ({"const": 0}, False),
    ({"const": 9007199254740993}, 9007199254740992),
    ({"const": 10**5000}, 10**5000 + 1),
    ({"enum": [[1], {"a": 10**5000}]}, {"a": 10**5000 - 1}),
    ({"pattern": r"^\p{L}+$"}, "a1"),
    ({"uniqueItems": True}, [{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}]),
]


@pytest.mark.parametrize("schema, value", EXACT, ids=range(len(EXACT)))
def test_values_are_told_apart_exactly(schema: dict[str, Any], value: Any) -> None:
    found, _ = explain(schema, value)
    assert places(found) == [("", next(iter(schema)))]


# --- hostile and large -----------------------------------------------------------------------------------------------


def nested(levels: int, inner: Any, around: Callable[[Any], Any]) -> Any:
    for _ in range(levels):
        inner = around(inner)
    return inner


ROW = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
PAIRS = [[i, i + 1] for i in range(50_000)]
TREE = {
    "$ref": "#/$defs/N",
    "$defs": {
        "N": {
            "anyOf": [{"type": "object"}, {"type": "array"}],
            "properties": {
                "child": {"$ref": "#/$defs/N"},
                "decoy": {"$ref": "#/$defs/N"},
                "pairs": {"items": {"items": {"type": "integer"}}},
            },
        }
    },
}
DOUBLING = {
    keyword: {
        "$ref": "#/$defs/N",
        "$defs": {
            "N": {
                "type": "object",
                keyword: [
                    {"properties": {"child": {"$ref": "#/$defs/N"}, "leaf": {"type": "integer"}}},
                    {"properties": {"child": {"$ref": "#/$defs/N"}, "leaf": {"type": "boolean"}}},
                ],
            }
        },
    }
    for keyword in ("anyOf", "oneOf", "allOf")
}
FAR: dict[str, tuple[dict[str, Any], Callable[[], Any], str, str]] = {
    "the last of many rows": (
        {"properties": {"rows": {"items": ROW}}},
        lambda: {"rows": [{"id": 1}] * 60_000 + [{"id": "x"}]},
        "/rows/60000/id",
        "type",
    ),
    "the last of many numbers": ({"items": {"type": "integer"}}, lambda: [1] * 300_000 + [None], "/300000", "type"),
    "the last of many members": (
        {"additionalProperties": {"type": "integer"}},
        lambda: {**{f"k{i}": i for i in range(100_000)}, "z": "x"},
        "/z",
        "type",
    ),
    "the bottom of a deep value": (
        TREE,
        lambda: nested(190, {"pairs": [*PAIRS, [1, "x"]]}, lambda v: {"child": v}),
        "/child" * 190 + "/pairs/50000/1",
        "type",
    ),
    "the bottom of a deep value with a decoy on each level": (
        TREE,
        lambda: nested(190, {"pairs": [*PAIRS, [1, "x"]]}, lambda v: {"decoy": {"pairs": [[1]] * 20}, "child": v}),
        "/child" * 190 + "/pairs/50000/1",
        "type",
    ),
    "an alternative that doubles on each level": (
        DOUBLING["anyOf"],
        lambda: nested(25, {"leaf": "x"}, lambda v: {"child": v}),
        "",
        "anyOf",
    ),
    "exactly one alternative, doubling on each level": (
        DOUBLING["oneOf"],
        lambda: nested(190, {"leaf": "x"}, lambda v: {"child": v}),
        "",
        "oneOf",
    ),
    "two equal among many objects": (
        {"uniqueItems": True},
        lambda: [{"i": i % 19_999} for i in range(20_000)],
        "",
        "uniqueItems",
    ),
    "too many that are contained": (
        {"contains": {"type": "integer"}, "maxContains": 5},
        lambda: [1] * 100_000,
        "",
        "maxContains",
    ),
    "too few that are contained": (
        {"contains": {"type": "string"}, "minContains": 2},
        lambda: [1] * 100_000 + ["x"],
        "",
        "minContains",
    ),
    "one unevaluated name of many": (
        {"allOf": [{"patternProperties": {"^k": {}}}], "unevaluatedProperties": False},
        lambda: {**{f"k{i}": i for i in range(100_000)}, "z": 1},
        "",
        "unevaluatedProperties",
    ),
    "one unevaluated element of many": (
        {"contains": {"type": "integer"}, "unevaluatedItems": False},
        lambda: [1] * 100_000 + ["x"],
        "",
        "unevaluatedItems",
    ),
    "a condition on many rows": (
        {
            "items": {
                "if": {"properties": {"k": {"const": 1}}},
                "then": {"required": ["a"]},
                "else": {"required": ["b"]},
            }
        },
        lambda: [{"k": 1, "a": 1}] * 50_000 + [{"k": 1}],
        "/50000",
        "required",
    ),
    "a name after many that are dear to match": (
        {"patternProperties": {"^(a+)+$": {"type": "integer"}}},
        lambda: {**{"a" * i + "!": 1 for i in range(1_000)}, "a": "x"},
        "/a",
        "type",
    ),
    "a metaschema and what is no schema, deep down": (
        {"properties": {"s": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}},
        lambda: {"s": nested(190, {"type": "strng"}, lambda v: {"not": v})},
        "/s" + "/not" * 190 + "/type",
        "anyOf",
    ),
    "what is excluded": (
        {"not": {"items": {"items": {"type": "integer"}}}},
        lambda: PAIRS,
        "",
        "not",
    ),
}


@pytest.mark.parametrize("name", FAR)
def test_the_one_fault_is_found_however_far_it_is(name: str) -> None:
    schema, make, place, keyword = FAR[name]
    value = make()
    assert not _engine.Decider(schema, "draft2020-12", formats=False)(value)
    found, truncated = explain(schema, value)
    assert places(found) == [(place, keyword)]
    assert not truncated


KINDS: list[dict[str, Any]] = [{"type": "integer"}, {"anyOf": [{"type": "integer"}, {"type": "array"}]}]


@pytest.mark.parametrize("kind", KINDS, ids=["simple", "composed"])
def test_of_many_properties_the_engine_says_which_do_not_fit(kind: dict[str, Any]) -> None:
    schema = {"properties": {f"p{i}": kind for i in range(1_000)}}
    value = {f"p{i}": i for i in range(1_000)} | {"p777": "x", "p12": None}
    found, truncated = explain(schema, value)
    assert [each.pointer for each in found] == ["/p12", "/p777"]
    assert not truncated


def test_long_pointers_are_fewer() -> None:
    node = {"additionalProperties": {"$ref": "#"}, "type": "object"}
    value = nested(100, {f"b{i}": 1 for i in range(15)}, lambda inner: {"a" * 2_000: inner})
    found, truncated = explain(node, value)
    assert {each.keyword for each in found} == {"type"}
    assert len(found) == 4  # a megabyte of them
    assert truncated


def test_what_is_too_dear_to_ask_is_named_where_nothing_else_is_wrong() -> None:
    poor = Means(left=1_000, whole=1_000, each=1, character=1)
    explainer = Explainer(
        {
            "properties": {
                "a": {"pattern": "^(?=a)b"},
                "b": {"items": {"pattern": "x+y"}},
                "c": {"type": "string"},
                "d": {"pattern": "x+y", "allOf": [{"type": "string"}]},
            }
        },
        "draft2020-12",
        names=frozenset(),
        steps=STEPS,
    )
    for value, place in (
        ({"a": "a" * 500, "c": "a"}, "/a"),
        ({"b": ["x" * 5_000], "c": "a"}, "/b/0"),
        ({"d": "x" * 5_000}, "/d"),
    ):
        found, truncated = explainer.violations(value, formats=False, limit=20, means=poor)
        assert places(list(found)) == [(place, "pattern")]
        assert truncated
    found, truncated = explainer.violations({"a": "a" * 500, "c": 1}, formats=False, limit=20, means=poor)
    assert places(list(found)) == [("/c", "type")]
    assert truncated


def test_what_is_too_dear_to_ask_about_is_walked() -> None:
    poor = Means(left=60, whole=40, each=1, character=1)
    explainer = Explainer({"items": {"type": "integer"}}, "draft2020-12", names=frozenset(), steps=STEPS)
    found, truncated = explainer.violations([1, "x"] * 500, formats=False, limit=2_000, means=poor)
    assert len(found) == 500
    assert not truncated


@pytest.mark.parametrize(
    "schema, keyword",
    [({"type": "object"}, "false"), ({"properties": {"a": {}}}, "properties"), ({"pattern": "x", "not": False}, "not")],
    ids=["nothing", "a part", "several"],
)
def test_where_it_finds_nothing_itself_it_names_something(schema: dict[str, Any], keyword: str) -> None:
    # the engine has said no; here it would not
    found, truncated = explain(schema, {"a": 1})
    assert places(found) == [("", keyword)]
    assert truncated


def test_many_faults_end_the_search_early() -> None:
    found, truncated = explain({"items": ROW}, [{"id": "x"}] * 20_000)
    assert places(found) == [(f"/{index}/id", "type") for index in range(20)]
    assert truncated


def test_faults_that_double_on_each_level_end_the_search_early() -> None:
    found, truncated = explain(DOUBLING["allOf"], nested(190, {"leaf": "x"}, lambda v: {"child": v}))
    assert {each.pointer for each in found} == {"/child" * 190 + "/leaf"}
    assert truncated


@pytest.mark.parametrize("steps", [1, 10, 100, 1_000])
@pytest.mark.parametrize("name", FAR)
def test_out_of_budget_something_is_located_still(name: str, steps: int) -> None:
    schema, make, place, _ = FAR[name]
    explainer = Explainer(schema, "draft2020-12", names=frozenset(), steps=steps)
    found, truncated = explainer.violations(make(), formats=False, limit=20)
    assert len(found) == 1
    assert place.startswith(found[0].pointer)
    assert truncated or found[0].pointer == place


def test_out_of_budget_the_keyword_named_is_one_that_fails() -> None:
    schema: dict[str, Any] = {
        "properties": {"good": {"items": {"type": "integer"}}, "bad": {"items": {"type": "integer"}}},
        "patternProperties": {"^x": {"type": "null"}},
        "required": ["good"],
        "allOf": [{"minProperties": 1}],
    }
    explainer = Explainer(schema, "draft2020-12", names=frozenset(), steps=1)
    found, truncated = explainer.violations({"good": [1], "bad": ["x"]}, formats=False, limit=20)
    assert places(list(found)) == [("", "properties")]
    assert truncated


@pytest.mark.parametrize("pattern", [r"^(a|aa)+(?=c)$", r"(a*)*\1b", r"^(?=(a+)+$)b"])
def test_patterns_that_backtrack_without_end_are_located(pattern: str) -> None:
    texts = [{"v": "a" * 40 + "!"}] * 3_000
    found, truncated = explain({"items": {"properties": {"v": {"pattern": pattern}}}}, texts)
    assert places(found) == [(f"/{each}/v", "pattern") for each in range(len(found))]
    assert found
    assert truncated
    names = {"a" * 40 + "!" * i: 1 for i in range(1, 2_000)}
    found, _ = explain({"patternProperties": {pattern: False}, "additionalProperties": False}, names)
    assert {each.pointer for each in found} == {""}


def test_a_keyword_that_only_the_engine_knows_is_named() -> None:
    schema = {"properties": {"a": {"contentEncoding": "base64", "description": "x"}}}
    found, _ = explain(schema, {"a": "!"}, dialect="draft7")
    assert places(found) == [("/a", "contentEncoding")]


def test_a_long_chain_of_references_and_a_low_recursion_limit_do_no_harm() -> None:
    chain = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(500)} | {"d500": {"items": {"type": "integer"}}}
    found, _ = explain({"$ref": "#/$defs/d0", "$defs": chain}, ["x"])
    assert places(found) == [("/0", "type")]


class Interrupting(dict[str, Any]):
    """An object that is interrupted while it is looked at."""

    def __contains__(self, _: object) -> bool:
        raise KeyboardInterrupt


def test_an_interruption_is_let_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        explain({"required": ["a"]}, Interrupting())
    with pytest.raises(KeyboardInterrupt):
        Explainer({"required": ["a"]}, "draft2020-12", names=frozenset(), steps=STEPS).decide(
            Interrupting(), formats=False, steps=DECIDING
        )


# --- without the engine ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("without_engine")
@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
@pytest.mark.parametrize("leaf, fits", [(1, True), ("x", False)])
def test_without_the_engine_doubling_alternatives_are_decided(keyword: str, leaf: Any, fits: bool) -> None:
    explainer = Explainer(DOUBLING[keyword], "draft2020-12", names=frozenset(), steps=STEPS)
    decided = explainer.decide(nested(190, {"leaf": leaf}, lambda v: {"child": v}), formats=False, steps=DECIDING)[0]
    # above the innermost level both alternatives fit, or neither
    assert decided is (fits and keyword == "anyOf")


BOUNDED: list[tuple[Any, ...]] = [
    ({"pattern": "^(a+)+$"}, "a" * 40 + "!", None),
    ({"pattern": "a*" * 40 + "b"}, "a" * 40, None),
    ({"pattern": "a?" * 40 + "b"}, "a" * 40, None),
    ({"pattern": "a{1,999999}"}, "a" * 40, None),
    ({"pattern": "a.{4000}c"}, "a" * 100_000, None),
    ({"uniqueItems": True}, [0.5, 1.5, -0.0], True),
    ({"uniqueItems": True}, [0.0, 1.5, -0.0], False),
    ({"pattern": r"^\p{L}$"}, "a", None),
    ({"pattern": "^[A-Z]{2}-\\d+$"}, "AB-12", True),
    ({"pattern": "^[A-Z]{2}-\\d+$"}, "AB-12\n", False),
    ({"pattern": "^[^@]+@[^@]+$"}, "a@b", True),
    ({"items": {"type": "integer"}}, [1] * 400_000, None),
    ({"multipleOf": 0.01}, 19.99, True),
    ({"multipleOf": 3}, 10**40_000, None),
    ({"multipleOf": 1e-308}, 1e308, True),
    ({"uniqueItems": True}, [1, True, "1", [1], {"1": 1}, None, 1.5], True),
    ({"uniqueItems": True}, [{"i": i % 19_999} for i in range(20_000)], False),
    ({"format": "date"}, "x" * 5_000, None),
    ({"format": "date"}, "2026-02-30", False),
    ({"format": "date"}, "2026-02-28", True),
]


@pytest.mark.usefixtures("without_engine")
@pytest.mark.parametrize("schema, value, fits", BOUNDED, ids=range(len(BOUNDED)))
def test_without_the_engine_it_decides_what_surely_ends(schema: dict[str, Any], value: Any, fits: bool | None) -> None:
    explainer = Explainer(schema, "draft2020-12", names=frozenset(), steps=STEPS)
    assert explainer.decide(value, formats=True, steps=DECIDING)[0] is fits


# --- where one look at all of the value is what can be paid for ------------------------------------------------------


@with_engine
def test_the_last_of_many_rows_is_found_where_one_look_at_all_of_them_is_paid_for() -> None:
    kinds = [{"properties": {"kind": {"const": f"k{i}"}}, "required": ["kind"]} for i in range(5)]
    schema = {"properties": {"x": {"items": {"anyOf": kinds}}}}
    value = {"x": [*({"kind": f"k{i % 5}"} for i in range(5_000)), {"kind": "z"}]}
    explainer = Explainer(schema, "draft2020-12", names=frozenset(), steps=2_000)
    means = Means(left=150_000, whole=100_000, each=20, character=0)
    found, _ = explainer.violations(value, formats=False, limit=20, means=means)
    assert places([*found]) == [("/x/5000", "anyOf")]


@with_engine
def test_a_pattern_that_takes_long_to_compile_is_named_where_the_engine_may_still_be_asked() -> None:
    schema = {"properties": {"t": {"pattern": r"(?:\p{Lu}\p{L}{30}){3}\d"}}}
    verdict = check({"content": [], "structuredContent": {"t": "a" * 2_000}}, Contract("tool", schema))
    assert isinstance(verdict, Violating)
    assert places([*verdict.violations]) == [("/t", "pattern")]
