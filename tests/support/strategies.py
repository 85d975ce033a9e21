"""Schemas of every dialect, and values that may fit them, as strategies of hypothesis.

Small alphabets: what a schema names and what a value has must often be the same. A reference that is applied in place
leads only to definitions that stand further on, so that no schema refers to itself without consuming anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from hypothesis import strategies as st

from mcp_guard._dialects import URIS, Dialect

DIALECTS: Final[tuple[Dialect, ...]] = tuple(URIS)
BASE: Final = "https://schemas.example/root"

NAMES: Final = ["a", "b", "c", "aa", "", "a/b", "~", "é", "\U0001f600", "$ref", "$id", "properties", "0"]
TEXTS: Final = [*NAMES, "abc", "A1", "1", "12", "-", "a\n", "\n", " ", "e\u0301", "2026-02-28", "127.0.0.1", "x" * 20]
INTEGERS: Final = [0, 1, -1, 2, 3, 5, 7, 100, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**30]
FLOATS: Final = [0.0, -0.0, 1.0, 2.0, 0.5, -0.5, 1.5, 0.1, 0.3, 19.99, 1e16, 2.0**53, 2.0**63, 1e300, 5e-324, 1e-7]
DIVISORS: Final = [1, 2, 3, 7, 10**20, 1.0, 2.0, 0.5, 0.1, 0.01, 1e-7, 2.5]
PATTERNS: Final = {
    "": r"",
    "a": r"a",
    "^a": r"^a",
    "a$": r"a\Z",
    "^$": r"^\Z",
    "^[a-c]+$": r"^[a-c]+\Z",
    "^.$": r"^[^\n\r\u2028\u2029]\Z",
    "\\d": r"[0-9]",
    "^\\w*$": r"^[A-Za-z0-9_]*\Z",
    "^(a|b)c?$": r"^(a|b)c?\Z",
    "^[^a]": r"^[^a]",
    "a{2,3}": r"a{2,3}",
    "^[A-Z]{1,2}-?\\d*$": r"^[A-Z]{1,2}-?[0-9]*\Z",
    "\\/": r"/",
    "é": r"é",
}
"""Patterns as a schema has them, and as Python says the same."""
FORMATS: Final = {
    "ipv4": ["127.0.0.1", "255.255.255.255", "256.0.0.1", "127.0.0.01", "127.0.0", "x"],
    "ipv6": ["::1", "1:2:3:4:5:6:7:8", "::ffff:127.0.0.1", "12345::", ":", "x"],
    "unknown-format": ["x"],
    "date": ["2026-02-28", "2024-02-29", "2026-02-30", "2026-2-3", "20260228", "", "x"],
    "uuid": ["2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8aa08aa9811eab4aa73b441d16380", "x"],
}
"""Formats that the engine and the `jsonschema` package without its extras take alike; and what has one, or has not."""
FORMATS_SINCE: Final[dict[str, Dialect]] = {"date": "draft7", "uuid": "draft2019-09"}
"""Before that, the engine knows some of them and the package does not, or the other way round."""

_SCALARS: Final = [None, True, False, *INTEGERS, *FLOATS, *TEXTS]


@st.composite
def values(draw: st.DrawFn, size: int = 4, depth: int = 3) -> Any:
    """Any JSON value, mostly small."""
    kind = draw(st.integers(0, 3 if depth else 1))
    if kind == 0:
        return draw(
            st.one_of(st.integers(-3, 5), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5))
        )
    if kind == 1:
        return draw(st.sampled_from(_SCALARS))
    length = draw(st.integers(0, size))
    if kind == 2:
        return [draw(values(size - 1, depth - 1)) for _ in range(length)]
    return {draw(st.sampled_from(NAMES)): draw(values(size - 1, depth - 1)) for _ in range(length)}


@dataclass
class Made:
    """A schema, its dialect, and where each reference in it leads."""

    dialect: Dialect
    schema: dict[str, Any]
    targets: dict[str, Any] = field(default_factory=dict[str, Any])


@st.composite
def schemas(draw: st.DrawFn, dialect: Dialect) -> Made:
    """A schema that is what its dialect asks for, every reference in it with a target."""
    return _Maker(draw, dialect).make()


class _Maker:
    def __init__(self, draw: st.DrawFn, dialect: Dialect) -> None:
        self.draw = draw
        self.dialect: Dialect = dialect
        self.age = DIALECTS.index(dialect)
        self.modern = self.age >= DIALECTS.index("draft2019-09")
        self.newest = self.age == DIALECTS.index("draft2020-12")
        self.made = Made(dialect, {})
        self.defs: list[dict[str, Any]] = []
        self.names: list[list[str]] = []  # of each definition: the references that lead to it
        self.base = ""
        self.dynamic: str | None = None
        self.rows: list[Callable[[int, int], dict[str, Any]]] = [
            row for since, until, row in self.table() if since <= self.age <= until
        ]

    def table(self) -> Iterator[tuple[int, int, Callable[[int, int], dict[str, Any]]]]:
        """From which dialect on, up to which, and what makes some keywords."""
        for row in (
            self.type,
            self.enum,
            self.bounds,
            self.multiple,
            self.lengths,
            self.pattern,
            self.sizes,
            self.object,
            self.object,
            self.object,
            self.array,
            self.array,
            self.of_several,
            self.negation,
            self.reference,
            self.annotation,
        ):
            yield 0, 4, row
        yield 0, 2, self.dependencies
        yield 1, 4, self.constant
        yield 1, 4, self.contains
        yield 1, 4, self.contains
        yield 1, 4, self.property_names
        yield 2, 4, self.condition
        yield 3, 4, self.dependents
        yield 3, 4, self.dependents
        yield 3, 4, self.unevaluated
        yield 3, 4, self.unevaluated

    # --- the whole ----------------------------------------------------------------------------------------------------

    def make(self) -> Made:
        self.base = BASE if self.draw(st.booleans()) else ""
        if self.modern and self.draw(st.booleans()):
            self.dynamic = "$dynamicRef" if self.newest else "$recursiveRef"
        word = self.draw(st.sampled_from(["definitions", "$defs"])) if self.modern else "definitions"
        identify = "id" if self.age == 0 else "$id"
        for index in range(self.draw(st.integers(0, 2))):
            self.define(index, f"#/{word}/d{index}", identify)
        # only now, since a reference may lead to any of them
        for index, own in enumerate(self.defs):
            own.update(self.whole(self.keywords(2, index + 1)))
        root = self.made.schema
        if not self.newest or self.draw(st.booleans()):
            root["$schema"] = URIS[self.dialect]
        if self.base:
            root[identify] = BASE
        root.update(self.anchor())
        root.update(self.whole(self.keywords(3, 0)))
        if self.defs:
            root[word] = {f"d{index}": each for index, each in enumerate(self.defs)}
        for own, known in zip(self.defs, self.names, strict=True):
            self.made.targets.update(dict.fromkeys(known, own))
        self.made.targets.update({"#": root, f"{BASE}#": root, "#node": root})
        return self.made

    def define(self, index: int, pointer: str, identify: str) -> None:
        """A definition that has no keywords yet: its place, and perhaps an anchor or an address of its own."""
        own: dict[str, Any] = {}
        known = [f"{self.base}{pointer}"]
        kind = self.draw(st.sampled_from(["plain", "plain", "anchor", "document"]))
        if kind == "anchor":
            own.update({"$anchor": f"x{index}"} if self.modern else {identify: f"#x{index}"})
            known.append(f"{self.base}#x{index}")
        elif kind == "document" and self.base:
            own[identify] = f"https://schemas.example/d{index}"
            known += [f"https://schemas.example/d{index}", f"d{index}"]
            own.update(self.anchor())
        self.defs.append(own)
        self.names.append(known)

    def whole(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A schema that something may stand beside."""
        return {"allOf": [schema]} if "$ref" in schema and not self.modern else schema

    def anchor(self) -> dict[str, Any]:
        """What makes a document a target of the dynamic references, where there are any."""
        if not self.dynamic:
            return {}
        if self.newest:
            return {self.draw(st.sampled_from(["$dynamicAnchor", "$anchor"])): "node"}
        return {"$recursiveAnchor": self.draw(st.booleans())}

    def keywords(self, depth: int, floor: int) -> dict[str, Any]:
        """Some keywords. A reference in place may lead to the definitions from `floor` on."""
        schema: dict[str, Any] = {}
        for row in self.draw(st.lists(st.sampled_from(self.rows), min_size=0 if depth < 3 else 1, max_size=3)):
            for keyword, asked in row(depth, floor).items():
                schema.setdefault(keyword, asked)
        if not self.modern and "$ref" in schema:
            return {"$ref": schema["$ref"]}
        return schema

    def sub(self, depth: int, floor: int) -> Any:
        """A subschema."""
        if depth <= 0 or self.draw(st.integers(0, 9)) == 0:
            return self.draw(st.booleans()) if self.age else {}
        return self.keywords(depth - 1, floor)

    def inside(self, depth: int) -> Any:
        """A subschema of a part: a reference in it may lead anywhere."""
        kind = self.draw(st.integers(0, 9))
        if kind == 0:
            return {"$ref": f"{self.base}#"}
        if kind == 1 and self.dynamic:
            return {self.dynamic: "#" if self.dynamic == "$recursiveRef" else "#node"}
        return self.sub(depth, 0)

    # --- keywords -----------------------------------------------------------------------------------------------------

    def type(self, _depth: int, _floor: int) -> dict[str, Any]:
        names = ["object", "array", "string", "number", "integer", "boolean", "null"]
        if self.draw(st.booleans()):
            return {"type": self.draw(st.sampled_from(names))}
        return {"type": self.draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))}

    def enum(self, _depth: int, _floor: int) -> dict[str, Any]:
        return {"enum": self.draw(st.lists(values(2, 2), min_size=1, max_size=4, unique_by=one_text))}

    def constant(self, _depth: int, _floor: int) -> dict[str, Any]:
        return {"const": self.draw(values(2, 2))}

    def bounds(self, _depth: int, _floor: int) -> dict[str, Any]:
        number = st.one_of(st.sampled_from([*INTEGERS, *FLOATS]), st.integers(-3, 5))
        schema: dict[str, Any] = {}
        for word in ("minimum", "maximum"):
            if self.draw(st.booleans()):
                schema[word] = self.draw(number)
            exclusive = f"exclusive{word.capitalize()}"
            if self.age == 0 and word in schema and self.draw(st.booleans()):
                schema[exclusive] = self.draw(st.booleans())
            elif self.age and self.draw(st.integers(0, 2)) == 0:
                schema[exclusive] = self.draw(number)
        return schema

    def multiple(self, _depth: int, _floor: int) -> dict[str, Any]:
        return {"multipleOf": self.draw(st.sampled_from(DIVISORS))}

    def count(self) -> Any:
        number = self.draw(st.integers(0, 3))
        return float(number) if self.age and self.draw(st.integers(0, 5)) == 0 else number

    def two(self, *words: str) -> dict[str, Any]:
        return {word: self.count() for word in words if self.draw(st.booleans())}

    def lengths(self, _depth: int, _floor: int) -> dict[str, Any]:
        return self.two("minLength", "maxLength")

    def sizes(self, _depth: int, _floor: int) -> dict[str, Any]:
        return self.two("minItems", "maxItems", "minProperties", "maxProperties")

    def pattern(self, _depth: int, _floor: int) -> dict[str, Any]:
        if self.draw(st.booleans()):
            known = [name for name in FORMATS if DIALECTS.index(FORMATS_SINCE.get(name, "draft4")) <= self.age]
            return {"format": self.draw(st.sampled_from(known))}
        return {"pattern": self.draw(st.sampled_from([*PATTERNS]))}

    def object(self, depth: int, _floor: int) -> dict[str, Any]:
        schema: dict[str, Any] = {}
        if self.draw(st.booleans()):
            schema["properties"] = self.named(depth)
        if self.draw(st.booleans()):
            known: list[str] = [*schema.get("properties", ())]
            names = st.sampled_from([*known, *NAMES])
            schema["required"] = self.draw(st.lists(names, min_size=1 if not self.age else 0, max_size=2, unique=True))
        if self.draw(st.integers(0, 2)) == 0:
            patterns = self.draw(st.lists(st.sampled_from([*PATTERNS]), max_size=2, unique=True))
            schema["patternProperties"] = {pattern: self.inside(depth - 1) for pattern in patterns}
        if self.draw(st.booleans()):
            schema["additionalProperties"] = False if self.draw(st.booleans()) else self.inside(depth - 1)
        return schema

    def named(self, depth: int) -> dict[str, Any]:
        names = self.draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True))
        return {name: self.inside(depth - 1) for name in names}

    def array(self, depth: int, _floor: int) -> dict[str, Any]:
        schema: dict[str, Any] = {}
        first = "prefixItems" if self.newest else "items"
        if self.draw(st.booleans()):
            length = self.draw(st.integers(1, 2))
            schema[first] = [self.inside(depth - 1) for _ in range(length)]
        if self.draw(st.booleans()):
            rest = "additionalItems" if first in schema and first == "items" else "items"
            schema[rest] = self.inside(depth - 1)
        if self.dialect == "draft2019-09" and "items" not in schema and self.draw(st.booleans()):
            schema["additionalItems"] = self.inside(depth - 1)
        if self.draw(st.booleans()):
            schema["uniqueItems"] = self.draw(st.integers(0, 5)) > 0
        return schema

    def contains(self, depth: int, _floor: int) -> dict[str, Any]:
        schema: dict[str, Any] = {"contains": self.inside(depth - 1)} if self.draw(st.integers(0, 5)) else {}
        return schema | (self.two("minContains", "maxContains") if self.modern else {})

    def property_names(self, depth: int, _floor: int) -> dict[str, Any]:
        return {"propertyNames": self.inside(depth - 1)}

    def of_several(self, depth: int, floor: int) -> dict[str, Any]:
        word = self.draw(st.sampled_from(["allOf", "anyOf", "oneOf"]))
        return {word: [self.sub(depth - 1, floor) for _ in range(self.draw(st.integers(1, 3)))]}

    def negation(self, depth: int, floor: int) -> dict[str, Any]:
        return {"not": self.sub(depth - 1, floor)}

    def condition(self, depth: int, floor: int) -> dict[str, Any]:
        words = [word for word in ("if", "then", "else") if self.draw(st.integers(0, 3))]
        return {word: self.sub(depth - 1, floor) for word in words}

    def reference(self, depth: int, floor: int) -> dict[str, Any]:
        known = [name for names in self.names[floor:] for name in names]
        if known and (depth or self.draw(st.booleans())):
            return {"$ref": self.draw(st.sampled_from(known))}
        return {}

    def dependencies(self, depth: int, floor: int) -> dict[str, Any]:
        asked: dict[str, Any] = {}
        for name in self.draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True)):
            asked[name] = self.dependent_names() if self.draw(st.booleans()) else self.sub(depth - 1, floor)
        return {"dependencies": asked}

    def dependent_names(self) -> list[str]:
        return self.draw(st.lists(st.sampled_from(NAMES), min_size=0 if self.age else 1, max_size=2, unique=True))

    def dependents(self, depth: int, floor: int) -> dict[str, Any]:
        names = self.draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
        if self.draw(st.booleans()):
            return {"dependentRequired": {name: self.dependent_names() for name in names}}
        return {"dependentSchemas": {name: self.sub(depth - 1, floor) for name in names}}

    def unevaluated(self, depth: int, _floor: int) -> dict[str, Any]:
        word = self.draw(st.sampled_from(["unevaluatedProperties", "unevaluatedItems"]))
        return {word: self.inside(depth - 1) if self.draw(st.integers(0, 2)) == 0 else False}

    def annotation(self, _depth: int, _floor: int) -> dict[str, Any]:
        """What is no keyword, or only says something; and looks like more."""
        trap = self.draw(st.sampled_from([{"$ref": "#/nowhere"}, {"$id": "https://x.example/"}, {"type": 1}, 1, None]))
        word = self.draw(st.sampled_from(["default", "x-more", "examples", "title"]))
        return {word: {"examples": [trap], "title": "a title"}.get(word, trap)}


def one_text(value: Any) -> str:
    """The same text for two values that are equal as JSON, another for any others."""
    return json.dumps(_exact(value), sort_keys=True)


def _exact(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return ["number", str(Fraction(value))]
    if isinstance(value, list):
        return ["array", *map(_exact, value)]
    return {key: _exact(member) for key, member in value.items()} if isinstance(value, dict) else value


# --- values that were made for a schema -------------------------------------------------------------------------------


@st.composite
def fitting(draw: st.DrawFn, made: Made) -> Any:
    """A value that tries to fit a schema; it may not succeed."""
    return _fit(draw, made, made.schema, 4)


def _fit(draw: st.DrawFn, made: Made, schema: Any, depth: int) -> Any:  # one branch a keyword
    if not isinstance(schema, dict) or depth < 0 or draw(st.integers(0, 12)) == 0:
        return draw(values(2, 1))
    ways: list[Any] = []
    for word in ("allOf", "anyOf", "oneOf"):
        ways += schema.get(word, ())
    ways += [schema[word] for word in ("then", "if") if word in schema]
    ways += [made.targets[schema[word]] for word in ("$ref", "$dynamicRef") if schema.get(word) in made.targets]
    ways += [made.schema] if "$recursiveRef" in schema else []
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if "const" in schema:
        return schema["const"]
    if draw(st.booleans()) and ways:
        return _fit(draw, made, draw(st.sampled_from(ways)), depth - 1)
    kind = draw(st.sampled_from(_kinds(schema)))
    if kind == "object":
        return _fit_object(draw, made, schema, depth)
    if kind == "array":
        return _fit_array(draw, made, schema, depth)
    if kind == "string":
        return draw(st.sampled_from(FORMATS.get(str(schema.get("format")), TEXTS)))
    if kind in {"number", "integer"}:
        return _fit_number(draw, schema)
    return None if kind == "null" else draw(st.booleans())


_HINTS: Final = {
    "object": ("roperties", "required", "ependent", "dependencies", "propertyNames"),
    "array": ("tems", "ontains"),
    "string": ("Length", "pattern", "format"),
    "number": ("imum", "multipleOf"),
}


def _kinds(schema: dict[str, Any]) -> list[str]:
    named = schema.get("type")
    if named is not None:
        return [named] if isinstance(named, str) else named
    kinds = [kind for kind, hints in _HINTS.items() if any(hint in word for word in schema for hint in hints)]
    return kinds or ["object", "array", "string", "number", "null", "boolean"]


def _fit_object(draw: st.DrawFn, made: Made, schema: dict[str, Any], depth: int) -> dict[str, Any]:
    properties: dict[str, Any] = schema.get("properties", {})
    wanted = [*schema.get("required", ())]
    wanted += [name for name in properties if draw(st.booleans())]
    for word in ("dependencies", "dependentRequired", "dependentSchemas"):
        wanted += [name for name in schema.get(word, ()) if draw(st.booleans())]
    wanted += draw(st.lists(st.sampled_from(NAMES), max_size=2))
    others = [*schema.get("patternProperties", {}).values()]
    others += [schema[word] for word in ("additionalProperties", "unevaluatedProperties") if word in schema]
    return {
        name: _fit(draw, made, properties.get(name, draw(st.sampled_from(others)) if others else {}), depth - 1)
        for name in wanted
    }


def _fit_array(draw: st.DrawFn, made: Made, schema: dict[str, Any], depth: int) -> list[Any]:
    asked = schema.get("items")
    first: list[Any] = asked if isinstance(asked, list) else schema.get("prefixItems", [])
    others = [schema[word] for word in ("items", "additionalItems", "contains", "unevaluatedItems") if word in schema]
    others = [each for each in others if not isinstance(each, list)]
    elements = [_fit(draw, made, each, depth - 1) for each in first]
    others = [draw(st.sampled_from(others)) if others else {} for _ in range(draw(st.integers(0, 3)))]
    elements += [_fit(draw, made, each, depth - 1) for each in others]
    if elements and draw(st.integers(0, 2)) == 0:
        elements.append(elements[0])
    return elements[: draw(st.integers(0, 4))] if draw(st.booleans()) else elements


def _fit_number(draw: st.DrawFn, schema: dict[str, Any]) -> Any:
    near = [schema[w] for w in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum") if w in schema]
    near = [each for each in near if not isinstance(each, bool)]
    if draw(st.booleans()) and near:
        return draw(st.sampled_from(near)) + draw(st.sampled_from([0, 1, -1, 0.5]))
    if "multipleOf" in schema and draw(st.booleans()):
        return schema["multipleOf"] * draw(st.integers(-3, 30))
    return draw(st.one_of(st.sampled_from([*INTEGERS, *FLOATS]), st.integers(-3, 5)))


# --- changes to what is real ------------------------------------------------------------------------------------------


@st.composite
def changed(draw: st.DrawFn, value: Any, most: int = 3) -> Any:
    """A copy of a value with a few things in it changed, left out, doubled or put in."""
    top = {"": json.loads(json.dumps(value))}
    for _ in range(draw(st.integers(1, most))):
        holder: Any = top
        key: Any = ""
        # what is empty or no container is changed itself, the whole only then
        while isinstance(holder[key], (dict, list)) and holder[key] and (holder is top or draw(st.integers(0, 4))):
            holder = holder[key]
            key = draw(st.sampled_from([*holder] if isinstance(holder, dict) else range(len(holder))))
        _change(draw, holder, key, removable=holder is not top)
    return top[""]


def _change(draw: st.DrawFn, holder: Any, key: Any, *, removable: bool) -> None:
    what = draw(st.sampled_from(["other", "other", "near", "more", "without", "wrapped"]))
    here = holder[key]
    if what == "without" and removable:
        del holder[key]
    elif what == "near" and isinstance(here, (int, float)):
        holder[key] = draw(st.sampled_from([here + 1, -here, float(here), here + 0.5, str(here), here == 1]))
    elif what == "near" and isinstance(here, str):
        holder[key] = here[: draw(st.integers(0, 3))] + draw(st.sampled_from(TEXTS))
    elif what == "more" and isinstance(here, dict):
        here[draw(st.sampled_from([*NAMES, *here]))] = draw(values(2, 1))
    elif what == "more" and isinstance(here, list):
        here.append(draw(st.sampled_from(here)) if draw(st.booleans()) and here else draw(values(2, 1)))
    elif what == "wrapped":
        holder[key] = [here] if draw(st.booleans()) else {draw(st.sampled_from(NAMES)): here}
    else:
        holder[key] = draw(values(2, 1))
