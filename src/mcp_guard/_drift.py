"""What differs between two definitions of a tool, and what that does to a caller or a reader: `Change`. Pure, bounded.

Two schemas are walked side by side. Each difference is told with the way in which it moves what is allowed; where
keywords hang together so that this can't be told of one alone, it is only a change. No word of the server's is said
but names of properties that one of the schemas declares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from mcp_guard import _words
from mcp_guard._canonical import canonical_json
from mcp_guard._contract import PARTS, Contract
from mcp_guard._facts import Change, ChangedPart, ChangeKind, Effect, JsonType, is_array, is_object
from mcp_guard._json import same_json

Direction = Literal["more", "less", "new", "gone", "other"]
"""How a difference moves what a schema allows; ``new`` and ``gone``: a property that was, or is now, left open."""
Path: TypeAlias = tuple[str, ...]

_EFFECTS: Final[dict[ChangedPart, dict[Direction, Effect]]] = {
    "outputSchema": {"more": "breaks", "less": "tightens", "new": "tightens", "gone": "breaks", "other": "changed"},
    # a property that may be sent and need not be asks for nothing
    "inputSchema": {"more": "loosens", "less": "breaks", "new": "loosens", "gone": "changed", "other": "changed"},
}
_MOST: Final = 20
"""Differences kept of one schema."""
_STEPS: Final = 200_000
"""Keywords looked at, and the elements and members that they hold."""
_HOPS: Final = 50
_TYPES: Final = frozenset(JsonType.__args__)  # type: ignore[attr-defined]  # a Literal's own arguments
_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")

_SKIPPED: Final = frozenset({"$defs", "definitions"})  # what is referred to is looked at where it is
_WORDING: Final = frozenset(
    {"title", "description", "$comment", "default", "examples", "example", "deprecated", "readOnly", "writeOnly"}
)
_LOWER: Final = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_UPPER: Final = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})
_DEMANDS: Final = frozenset(
    {
        *("const", "pattern", "format", "multipleOf", "uniqueItems", "not", "oneOf", "contains", "propertyNames"),
        *("dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties", "unevaluatedItems"),
    }
)
"""Keywords each of which asks for something by itself: where one is new, less is allowed."""
_BRANCHES: Final = frozenset({"anyOf", "allOf"})
_INSIDE: Final = frozenset({"items", "additionalItems", "additionalProperties"})
"""Keywords whose schema is for what is inside; absent is as `true`."""
_TANGLED: Final = frozenset(
    {
        *("if", "then", "else", "patternProperties", "prefixItems", "minContains", "maxContains"),
        *("$schema", "$id", "id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"),
    }
)
_CLOSED: Final = (_DEMANDS | _TANGLED) - {"const", "pattern", "format", "multipleOf", "uniqueItems", "$schema"}
"""Keywords whose schemas are not looked into."""
_AFAR: Final = frozenset({"unevaluatedProperties", "unevaluatedItems", "$id"})
"""With one of these anywhere, a schema at one place may mean something at another."""


def changes(old: Contract | None, new: Contract | None, *, server: str = "") -> tuple[Change, ...]:
    """What differs between two contracts of one tool; `None` is a tool that is not there."""
    if old is None or new is None:
        present = new or old
        if present is None:
            return ()
        gone = new is None
        says = "the tool is not there any more" if gone else "the tool is new"
        return (Change(present.name, "tool", *_come_or_gone(gone=gone), says, server),)
    found: list[Change] = []
    if old.is_ambiguous is not new.is_ambiguous:
        says = "the server lists several tools of this name" if new.is_ambiguous else "the name stands for one tool now"
        found.append(Change(new.name, "tool", "changed", "breaks" if new.is_ambiguous else "loosens", says, server))
    before, after = old.fingerprints, new.fingerprints
    parts: tuple[ChangedPart, ...] = PARTS
    for part in parts:
        if before[part] == after[part]:
            continue
        kind: ChangeKind = "added" if before[part] is None else "removed" if after[part] is None else "changed"
        for direction, says in _differences(part, kind, old, new):
            effect = _EFFECTS[part][direction] if part in _EFFECTS else "changed"
            found.append(Change(new.name, part, kind, effect, says, server))
    return tuple(found)


def between(old: Mapping[str, Contract], new: Mapping[str, Contract], *, server: str = "") -> Iterator[Change]:
    """What differs between two listings, in the order of the tools' names."""
    for name in sorted({*old, *new}):
        yield from changes(old.get(name), new.get(name), server=server)


def _come_or_gone(*, gone: bool) -> tuple[ChangeKind, Effect]:
    return ("removed", "breaks") if gone else ("added", "loosens")


def _differences(part: ChangedPart, kind: ChangeKind, old: Contract, new: Contract) -> list[tuple[Direction, str]]:
    named = f"the {part}"
    if kind == "added":
        return [("less", f"{named} is new")]
    if kind == "removed":
        return [("more", f"{named} is gone")]
    if part in old.flaws or part in new.flaws:
        return [("other", f"{named} changed, and is too large to be compared")]
    one, other = old.definition.get(part), new.definition.get(part)
    if part in _EFFECTS and is_object(one) and is_object(other):
        told: list[tuple[Direction, str]] = [(way, f"{part}: {says}") for way, says in _Walk(one, other).differences()]
        return told or [("other", f"{named} changed in a place of which no more can be told")]
    if part == "annotations" and is_object(one) and is_object(other):
        hints = [h for h in _HINTS if one.get(h) is not other.get(h)]
        told_hints = [f"{h} was {_flag(one.get(h))}, is {_flag(other.get(h))}" for h in hints]
        return [("other", f"{named} changed" + (f": {', '.join(told_hints)}" if told_hints else ""))]
    return [("other", f"{named} changed")]


def _flag(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "not given" if value is None else "no boolean"


class _Walk:
    """Two schemas side by side."""

    def __init__(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        self._roots = (old, new)
        self._found: dict[tuple[Direction, str], None] = {}
        self._todo: list[tuple[Any, Any, Path]] = [(old, new, ())]
        self._met: set[tuple[int, int]] = set()
        self._tangled = _names_any(old, _AFAR) or _names_any(new, _AFAR)

    def differences(self) -> list[tuple[Direction, str]]:
        """Those that were found, each once; at most `_MOST` and a word on the rest."""
        steps = 0
        while self._todo and steps < _STEPS and len(self._found) < _MOST:
            old, new, path = self._todo.pop()
            if (id(old), id(new)) not in self._met:
                self._met.add((id(old), id(new)))
                steps += self._pair(old, new, path) + _held(old) + _held(new)
        told = [*self._found][:_MOST]
        if self._todo:
            return [*told, ("other", "there is more that differs")]
        return [*told, ("other", "a schema that is referred to changed")] if self._may_hide() else told

    def _may_hide(self) -> bool:
        """Whether a definition differs, and could be referred to from where no schema is looked into."""
        old, new = self._roots
        differ = any(not same_json(old.get(key), new.get(key)) for key in _SKIPPED)
        return differ and (_names_any(old, _CLOSED) or _names_any(new, _CLOSED))

    def _say(self, direction: Direction, path: Path, text: str) -> None:
        self._found[direction, f"{_place(path)} {text}"] = None

    def _pair(self, old: Any, new: Any, path: Path) -> int:
        """Compare one schema with another; how many keywords were looked at."""
        if _refers(old) is not _refers(new):
            old, new = self._followed(old, 0), self._followed(new, 1)
        if not (is_object(old) and old and is_object(new) and new):
            self._all_or_nothing(old, new, path)
            return 1
        self._properties(old, new, path)
        for key in sorted({*old, *new}):
            self._keyword(key, old, new, path)
        return len(old) + len(new)

    def _all_or_nothing(self, old: Any, new: Any, path: Path) -> None:
        old, new = old if old != {} else True, new if new != {} else True
        if same_json(old, new):
            return
        if new is True:
            self._say("more", path, "may be anything now")
        elif new is False:
            self._say("less", path, "is not allowed any more")
        elif old is True:
            self._say("less", path, "may not be anything any more")
        elif old is False:
            self._say("more", path, "is allowed now")
        else:
            self._say("other", path, "changed")

    def _keyword(self, key: str, old: dict[str, Any], new: dict[str, Any], path: Path) -> None:  # noqa: C901, PLR0912  # a row of cases
        if key == "properties" or key in _SKIPPED:
            return
        added, removed = key not in old, key not in new
        one, other = old.get(key), new.get(key)
        if key in _INSIDE:
            self._todo.append((True if added else one, True if removed else other, (*path, "*")))
        elif key == "$ref" and isinstance(one, str) and isinstance(other, str):
            left, right = self._target(one, 0), self._target(other, 1)
            if left is not None and right is not None and not self._tangled:
                self._todo.append((left, right, path))
            elif one != other:
                self._say("other", path, "refers to something else")
        elif key in _BRANCHES and is_array(one) and is_array(other) and len(one) == len(other):
            self._todo += [(a, b, path) for a, b in zip(one, other, strict=True)]
        elif not (added or removed) and same_json(one, other):
            return
        elif key == "required":
            self._required(old, new, path)
        elif key == "type":
            self._type(one, other, path)
        elif key == "enum" and is_array(one) and is_array(other):
            if (before := _forms(one)) != (after := _forms(other)):
                self._say(_sets(before, after), path, "has other allowed values")
        elif key in _BRANCHES and is_array(one) and is_array(other):
            way = _sets(_forms(one), _forms(other))
            if key == "allOf" and way != "other":
                way = "more" if way == "less" else "less"
            self._say(way, path, f"has more or fewer schemas in {key}")
        elif key in _LOWER or key in _UPPER:
            self._say(_bound(one, other, upper=key in _UPPER), path, f"has another {key}")
        elif key in _WORDING:
            self._say("other", path, f"has another {key}")
        elif key in _DEMANDS or key in _BRANCHES or key == "enum":
            if key == "uniqueItems" and one in (None, False) and other in (None, False):
                return
            came, went = added or one is False, removed or other is False
            says = f"has a new {key}" if came else f"has no {key} any more" if went else f"has another {key}"
            self._say("less" if came else "more" if went else "other", path, says)
        elif key in _TANGLED or key == "$ref":
            self._say("other", path, f"has another {key}")
        else:
            self._say("other", path, "has another keyword that is not of JSON Schema")

    def _properties(self, old: dict[str, Any], new: dict[str, Any], path: Path) -> None:
        before, after = _members(old.get("properties")), _members(new.get("properties"))
        rest: Any = new.get("additionalProperties", True)
        closed, is_open = rest is False, rest is True or rest == {}
        if self._tangled or "patternProperties" in old or "patternProperties" in new:
            closed = is_open = False
        for name in sorted({*before, *after}):
            there = (*path, name)
            if name in before and name in after:
                self._todo.append((before[name], after[name], there))
            elif name in after:
                self._say("new" if is_open else "more" if closed else "other", there, "is new")
            else:
                self._say("gone" if is_open else "less" if closed else "other", there, "is gone")

    def _required(self, old: dict[str, Any], new: dict[str, Any], path: Path) -> None:
        before, after = _names(old.get("required")), _names(new.get("required"))
        declared = {**_members(old.get("properties")), **_members(new.get("properties"))}
        for name in sorted(before ^ after):
            there = (*path, name if name in declared else "*")  # one that nothing declares is the server's own word
            if name in after:
                self._say("less", there, "is required now")
            else:
                self._say("more", there, "is not required any more")

    def _type(self, one: object, other: object, path: Path) -> None:
        if one is None or other is None:
            if one is None:
                self._say("less", path, f"was of any type, is {_types(_names(other))}")
            else:
                self._say("more", path, f"was {_types(_names(one))}, is of any type")
            return
        before, after = _names(one), _names(other)
        self._say(_sets(_spread(before), _spread(after)), path, f"was {_types(before)}, is {_types(after)}")

    def _followed(self, schema: Any, side: int) -> Any:
        """What a schema stands for, where it is nothing but a reference."""
        for _ in range(_HOPS):
            if self._tangled or not _refers(schema) or {*schema} - {"$ref"} - _WORDING - _SKIPPED:
                return schema
            target = self._target(schema["$ref"], side)
            if target is None:
                return schema
            schema = target
        return schema

    def _target(self, reference: str, side: int) -> Any:
        """The schema in this very document that a reference leads to, or `None`."""
        if reference == "#":
            return self._roots[side]
        if not reference.startswith("#/") or "%" in reference:
            return None
        place: Any = self._roots[side]
        for token in reference[2:].split("/"):
            name = token.replace("~1", "/").replace("~0", "~")
            if is_array(place) and name.isdecimal() and len(name) < _HOPS and int(name) < len(place):
                place = place[int(name)]
            elif is_object(place) and name in place:
                place = place[name]
            else:
                return None
        return place if is_object(place) or isinstance(place, bool) else None


def _place(path: Path) -> str:
    if not path:
        return "the whole"
    text = "".join("/" + _words.name(name) for name in path)
    return text if len(text) <= 2 * _words.NAME_LENGTH else "…" + text[-2 * _words.NAME_LENGTH :]


def _refers(schema: Any) -> bool:
    return is_object(schema) and isinstance(schema.get("$ref"), str)


def _members(value: Any) -> dict[str, Any]:
    return value if is_object(value) else {}


def _names(value: object) -> set[str]:
    listed: list[Any] = value if is_array(value) else [value]
    return {name for name in listed if isinstance(name, str)}


def _spread(types: set[str]) -> set[str]:
    return types | {"integer"} if "number" in types else types


def _types(names: set[str]) -> str:
    return " or ".join(sorted(names & _TYPES)) or "of no known type"


def _held(schema: Any) -> int:
    return sum(len(part) for part in schema.values() if is_array(part) or is_object(part)) if is_object(schema) else 0


def _forms(values: list[Any]) -> set[Any]:
    return {_form(value) for value in values}


def _form(value: Any) -> Any:
    """What is the same for equal JSON values, and for no others."""
    return canonical_json(value) if is_object(value) or is_array(value) else (isinstance(value, bool), value)


def _sets(before: set[Any], after: set[Any]) -> Direction:
    return "other" if before == after else "more" if before < after else "less" if after < before else "other"


def _bound(one: object, other: object, *, upper: bool) -> Direction:
    if one is None or other is None:
        return "less" if one is None else "more"
    if isinstance(one, bool) or isinstance(other, bool):  # draft-04: they change what another keyword means
        return "other"
    if not isinstance(one, (int, float)) or not isinstance(other, (int, float)):
        return "other"
    return "less" if (other < one) is upper else "more"


def _names_any(schema: dict[str, Any], keys: frozenset[str]) -> bool:
    """Whether one of these is a member's name anywhere in a schema, its own `$id` aside."""
    todo: list[Any] = [*schema.values()]
    if not keys.isdisjoint({*schema} - {"$id"}):
        return True
    while todo:
        value = todo.pop()
        if is_object(value):
            if not keys.isdisjoint(value):
                return True
            todo += value.values()
        elif is_array(value):
            todo += value
    return False
