"""The keywords that have subschemas, as steps of a walk, dialect by dialect.

A rule is a generator: it yields a `Fault`, or a `Task` (hold this value against that subschema) and is sent back
whether the value fits. Nothing here recurses, and nothing knows how a task is carried out. What is reported, and where,
is what the `jsonschema` package reports; but a `false` subschema is reported at the value that it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from mcp_guard._checks import CHECKS_4, CHECKS_6, CHECKS_2019, Judge, Maker
from mcp_guard._dialects import LEGACY, Dialect
from mcp_guard._facts import is_array, is_object

Path = tuple[Any, "str | int"] | None
"""A path as a chain: what came before, and the last token."""


class Fault(NamedTuple):
    """One keyword unsatisfied by one value: `path` leads to the value, `at` to the keyword."""

    keyword: str
    expected: Any
    value: Any
    path: Path
    at: Path


class Task(NamedTuple):
    """Hold a value against a subschema. `asked`: only the answer counts, the faults in it are nobody's."""

    node: Node
    value: Any
    path: Path
    at: Path
    asked: bool = False


class Node(Protocol):
    """One subschema, read. `words`: its keywords, as far as they count."""

    @property
    def words(self) -> Mapping[str, Any]: ...
    def sub(self, schema: Any, /) -> Node: ...
    def target(self, keyword: str, /) -> Node: ...


class Walk(Judge, Protocol):
    """What a rule may ask of the walk that it is a step of. `None`: the engine can't be asked."""

    def keeps(self, node: Any, keyword: str, value: Any, /) -> bool | None:
        """Whether the engine finds that a value satisfies one keyword of a node."""
        ...

    def matches(self, pattern: str, name: str, /) -> bool:
        """Whether a name matches a pattern. Raises `OutOfBudget`."""
        ...

    def suspicious(self, node: Any, names: list[str], value: Any, /) -> Iterable[str]:
        """Of the names of properties, those that may not fit, as far as that is quickly known."""
        ...

    def verdicts(self, node: Any, values: Any, /) -> list[bool] | None:
        """Which of the values the engine finds to fit."""
        ...

    def suspects(self, node: Any, values: Any, start: int = 0, /) -> Iterable[tuple[Any, Any]]:
        """Keys or indices, and values, of those members that may not fit, as far as that is quickly known."""
        ...


Steps = Generator["Task | Fault", bool, None]
Rule = Callable[[Walk, Node, Any, Any, Path, Path], Steps]
"""Walk, node, the keyword's value, the value, the path to it, the path to the node."""


def _properties(walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
    if not is_object(value):
        return
    walk.spend(min(len(asked), len(value)) >> 5)
    at = (at, "properties")
    names = [name for name in asked if name in value] if len(asked) <= len(value) else [n for n in value if n in asked]
    for name in walk.suspicious(node, names, value):
        yield Task(node.sub(asked[name]), value[name], (path, name), (at, name))


def _matches(walk: Walk, patterns: Iterable[str], name: str) -> bool:
    return any(walk.matches(pattern, name) for pattern in patterns)


def _pattern_properties(walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
    if not is_object(value) or walk.keeps(node, "patternProperties", value):
        return
    at = (at, "patternProperties")
    for pattern, schema in asked.items():
        child = node.sub(schema)
        for name, member in walk.suspects(child, value):
            walk.spend(1)
            if walk.matches(pattern, name):
                yield Task(child, member, (path, name), (at, pattern))


def _additional_properties(walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
    if not is_object(value) or asked is True:
        return
    patterns = node.words.get("patternProperties", {})
    walk.spend(len(value) >> 8)
    named = node.words.get("properties")
    extra = value.keys() - named.keys() if named else value.keys()
    if not extra or ((patterns or len(extra) > 1) and walk.keeps(node, "additionalProperties", value)):
        return
    at = (at, "additionalProperties")
    if asked is False:
        if not all(_matches(walk, patterns, name) for name in extra):
            yield Fault("additionalProperties", asked, value, path, at)
        return
    child = node.sub(asked)
    for name, member in walk.suspects(child, value):
        if name in extra and not _matches(walk, patterns, name):
            yield Task(child, member, (path, name), at)


def _property_names(walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
    if not is_object(value):
        return
    child = node.sub(asked)
    at = (at, "propertyNames")
    for _, name in walk.suspects(child, list(value)):
        yield Task(child, name, path, at)


def _dependent_schemas(walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
    if not is_object(value):
        return
    walk.spend(len(asked) >> 5)
    at = (at, "dependentSchemas")
    for name, schema in asked.items():
        if name in value:
            yield Task(node.sub(schema), value, path, (at, name))


def _dependencies(walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
    if not is_object(value):
        return
    walk.spend(len(asked) >> 5)
    at = (at, "dependencies")
    for name, needs in asked.items():
        if name in value and is_array(needs):
            walk.spend(len(needs) >> 5)
            for each in needs:
                if each not in value:
                    yield Fault("dependencies", [each], value, path, at)
        elif name in value:
            yield Task(node.sub(needs), value, path, (at, name))


def _prefix(keyword: str) -> Rule:
    def rule(walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
        if is_array(value):
            walk.spend(min(len(asked), len(value)) >> 5)
            at = (at, keyword)
            for index in range(min(len(asked), len(value))):
                yield Task(node.sub(asked[index]), value[index], (path, index), (at, index))

    return rule


def _after(keyword: str, prefix: str) -> Rule:
    """All elements after those that the prefix names; `false` refuses all of them together."""

    def rule(walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
        start = len(node.words.get(prefix, ()))
        if not is_array(value) or len(value) <= start:
            return
        at = (at, keyword)
        if asked is False:
            yield Fault(keyword, asked, value, path, at)
            return
        child = node.sub(asked)
        for index, element in walk.suspects(child, value, start):
            yield Task(child, element, (path, index), at)

    return rule


_items = _after("items", "prefixItems")
_tuple = _prefix("items")
_rest_of_tuple = _after("additionalItems", "items")


def _items_before_2020(walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
    if is_array(asked):
        yield from _tuple(walk, node, asked, value, path, at)
    elif is_array(value):
        child = node.sub(asked)
        at = (at, "items")
        for index, element in walk.suspects(child, value):
            yield Task(child, element, (path, index), at)


def _additional_items(walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
    if is_array(node.words.get("items")):
        yield from _rest_of_tuple(walk, node, asked, value, path, at)


def _contains(walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
    if not is_array(value) or walk.keeps(node, "contains", value):
        return
    at = (at, "contains")
    least, most = node.words.get("minContains", 1), node.words.get("maxContains", len(value))
    found = yield from _found(walk, node.sub(asked), value, most)
    if found > most:
        yield Fault("maxContains", most, value, path, at)
    elif found < least:
        yield Fault("minContains", least, value, path, at) if found else Fault("contains", asked, value, path, at)


def _contains_before_2019(walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
    if is_array(value) and not walk.keeps(node, "contains", value):
        found = yield from _found(walk, node.sub(asked), value, 0)
        if not found:
            yield Fault("contains", asked, value, path, (at, "contains"))


def _found(walk: Walk, child: Node, value: Any, most: float) -> Generator[Task, bool, int]:
    verdicts = walk.verdicts(child, value)
    if verdicts is not None:
        return sum(verdicts)
    found = 0
    for element in value:
        found += yield Task(child, element, None, None, asked=True)
        if found > most:
            break
    return found


def _all_of(_walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
    at = (at, "allOf")
    for index, schema in enumerate(asked):
        yield Task(node.sub(schema), value, path, (at, index))


def _one_of(keyword: str, enough: int) -> Rule:
    """Exactly one alternative fits, as far as is looked: `enough` that fit end the looking."""

    def rule(walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
        kept = walk.keeps(node, keyword, value)
        if kept is None:
            found = 0
            for schema in asked:
                found += yield Task(node.sub(schema), value, None, None, asked=True)
                if found == enough:
                    break
            kept = found == 1
        if not kept:
            yield Fault(keyword, asked, value, path, (at, keyword))

    return rule


def _not(_walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
    if (yield Task(node.sub(asked), value, None, None, asked=True)):
        yield Fault("not", asked, value, path, (at, "not"))


def _if(_walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
    if "then" not in node.words and "else" not in node.words:
        return
    branch = "then" if (yield Task(node.sub(asked), value, None, None, asked=True)) else "else"
    if branch in node.words:
        yield Task(node.sub(node.words[branch]), value, path, (at, branch))


def _ref(_walk: Walk, node: Node, _asked: Any, value: Any, path: Path, at: Path) -> Steps:
    yield Task(node.target("$ref"), value, path, at)


def _other_ref(keyword: str) -> Rule:
    def rule(_walk: Walk, node: Node, _asked: Any, value: Any, path: Path, at: Path) -> Steps:
        yield Task(node.target(keyword), value, path, (at, keyword))

    return rule


# What other keywords have looked at. The names or indices; `None` for all of them.
Seen = Generator[Task, bool, "set[Any] | None"]


def _unevaluated_properties(walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
    if is_object(value) and asked is not True:
        seen = yield from _evaluated(walk, node, value, _names_seen)
        if seen is not None:
            rest: Any = {name: member for name, member in value.items() if name not in seen}
            yield from _refuse(walk, node, rest, Fault("unevaluatedProperties", asked, value, path, at))


def _unevaluated_items(walk: Walk, node: Node, asked: Any, value: Any, path: Path, at: Path) -> Steps:
    if is_array(value) and asked is not True:
        seen = yield from _evaluated(walk, node, value, _indices_seen)
        if seen is not None:
            rest: Any = [element for index, element in enumerate(value) if index not in seen]
            yield from _refuse(walk, node, rest, Fault("unevaluatedItems", asked, value, path, at))


def _refuse(walk: Walk, node: Node, rest: Any, fault: Fault) -> Steps:
    walk.spend(len(fault.value) >> 6)
    child = node.sub(fault.expected)
    for _, member in walk.suspects(child, rest):
        if not (yield Task(child, member, None, None, asked=True)):
            yield fault._replace(at=(fault.at, fault.keyword))
            return


def _evaluated(walk: Walk, node: Node, value: Any, seen_by: Callable[[Walk, Node, Any, bool], Seen]) -> Seen:
    seen: set[Any] = set()
    todo, known = [node], {id(node)}
    while todo:
        each = todo.pop()
        walk.spend(1 + len(each.words))
        more = yield from seen_by(walk, each, value, each is not node)
        if more is None:
            return None
        seen |= more
        for child in (yield from _in_place(each, value)):
            if id(child) not in known:
                known.add(id(child))
                todo.append(child)
    return seen


def _in_place(node: Node, value: Any) -> Generator[Task, bool, list[Node]]:
    """The nodes that are applied to the same value, and count."""
    words = node.words
    below = [node.target(word) for word in ("$ref", "$dynamicRef", "$recursiveRef") if word in words]
    for word in ("allOf", "anyOf", "oneOf"):
        for schema in words.get(word, ()):
            child = node.sub(schema)
            if (yield Task(child, value, None, None, asked=True)):
                below.append(child)
    if "if" in words:
        condition = node.sub(words["if"])
        fits = yield Task(condition, value, None, None, asked=True)
        if fits:
            below.append(condition)
        branch = "then" if fits else "else"
        if branch in words:
            below.append(node.sub(words[branch]))
    if is_object(value):
        below += [node.sub(schema) for name, schema in words.get("dependentSchemas", {}).items() if name in value]
    return below


def _names_seen(walk: Walk, node: Node, value: Any, nested: bool) -> Seen:  # noqa: FBT001  # all rules are called alike
    words = node.words
    yield from ()  # a generator, since the other one has to be
    if "additionalProperties" in words or (nested and "unevaluatedProperties" in words):
        return None
    seen: set[Any] = words.get("properties", {}).keys() & value.keys()
    for pattern in words.get("patternProperties", ()):
        rest = value.keys() - seen
        walk.spend(len(rest) >> 4)
        seen.update(name for name in rest if walk.matches(pattern, name))
    return seen


def _indices_seen(walk: Walk, node: Node, value: Any, nested: bool) -> Seen:  # noqa: FBT001  # all rules are called alike
    words = node.words
    named: list[Any] = words.get("prefixItems", [])
    if "items" in words:
        if not is_array(words["items"]) or "additionalItems" in words:
            return None
        named = words["items"]
    if nested and "unevaluatedItems" in words:
        return None
    walk.spend(len(named) >> 5)
    seen = set(range(len(named)))
    if "contains" in words:
        child = node.sub(words["contains"])
        verdicts = walk.verdicts(child, value)
        if verdicts is None:
            verdicts = [False] * len(value)
            for index, element in enumerate(value):
                verdicts[index] = yield Task(child, element, None, None, asked=True)
        seen.update(index for index, fits in enumerate(verdicts) if fits)
    return seen


@dataclass(frozen=True)
class Vocabulary:
    """The keywords of one dialect."""

    dialect: Dialect
    checks: Mapping[str, Maker]
    rules: Mapping[str, Rule]

    @property
    def lone_ref(self) -> bool:
        """`$ref` makes its siblings void."""
        return self.dialect in LEGACY


_RULES_4: Final[dict[str, Rule]] = {
    "$ref": _ref,
    "allOf": _all_of,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "dependencies": _dependencies,  # in the newer dialects too: the engine goes on asserting it
    "items": _items_before_2020,
    "additionalItems": _additional_items,
    "anyOf": _one_of("anyOf", 1),
    "oneOf": _one_of("oneOf", 2),
    "not": _not,
}
_RULES_6: Final[dict[str, Rule]] = {
    **_RULES_4,
    "propertyNames": _property_names,
    "contains": _contains_before_2019,
}
_NEWER: Final[dict[str, Rule]] = {
    **_RULES_6,
    "if": _if,
    "dependentSchemas": _dependent_schemas,
    "contains": _contains,
    "unevaluatedProperties": _unevaluated_properties,
    "unevaluatedItems": _unevaluated_items,
}
_RULES_2019: Final = {**_NEWER, "$recursiveRef": _other_ref("$recursiveRef")}
_RULES_2020: Final = {
    **{keyword: rule for keyword, rule in _NEWER.items() if keyword != "additionalItems"},
    "$dynamicRef": _other_ref("$dynamicRef"),
    "prefixItems": _prefix("prefixItems"),
    "items": _items,
}

VOCABULARIES: Final[dict[Dialect, Vocabulary]] = {
    each.dialect: each
    for each in (
        Vocabulary("draft4", CHECKS_4, _RULES_4),
        Vocabulary("draft6", CHECKS_6, _RULES_6),
        Vocabulary("draft7", CHECKS_6, {**_RULES_6, "if": _if}),
        Vocabulary("draft2019-09", CHECKS_2019, _RULES_2019),
        Vocabulary("draft2020-12", CHECKS_2019, _RULES_2020),
    )
}
"""What each dialect asserts."""
