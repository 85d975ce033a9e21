"""Reads the text blocks where the structured part is missing, and compares the two where it is not. No consequence.

A reading is taken only if the contract takes it and no other reading; JSON is strict (RFC 8259). Nothing is evaluated,
searched for or repaired.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, final
from urllib.parse import unquote

from mcp_guard import _bounds
from mcp_guard._facts import is_array, is_object, json_type
from mcp_guard._json import BOM, NotJson, Room, parse_all, parse_measured, same_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_guard._verdict import MissingReason
    from mcp_guard.policy import Fallback, Limits


class Schema(Protocol):
    """What is used of a `CompiledSchema`."""

    @property
    def schema(self) -> dict[str, Any]:
        """The schema as the server sent it."""
        ...

    def is_valid(self, value: object, *, formats: bool = False) -> bool:
        """Whether `value` fits."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """The one reading that fits. `verbatim`: the raw text stands in it, where the schema asks for one string."""

    value: Any = field(repr=False)
    verbatim: bool = False


@final
@dataclass(frozen=True, slots=True)
class Unfit:
    """The one text block is JSON and no reading of it fits. `value` is the text as it stands."""

    value: Any = field(repr=False)


@final
@dataclass(frozen=True, slots=True)
class Unread:
    """There is nothing to hold against the contract, or more than one thing."""

    reason: MissingReason


Outcome: TypeAlias = Reading | Unfit | Unread
Note: TypeAlias = Callable[[Any, _bounds.Measured], object]


def read(
    texts: Sequence[str], schema: Schema, mode: Fallback, *, formats: bool, room: Room, note: Note | None = None
) -> Outcome:
    """What the text blocks say, as the contract asks for it.

    ``"off"`` reads nothing, ``"json"`` the one block as it stands, ``"readings"`` besides: the block without the one
    Markdown fence around it; and where neither fits, the blocks as elements of the array, or what was read under the
    one property, that the schema asks for. `formats`: whether `format` is asserted. `note` is told how large a value is
    of which the schema will be asked; all readings share the `room`. An empty text has a reading too
    where the one property is a string: it is that string, as an empty file is.
    """
    if mode == "off":
        return Unread("fallback_off")
    if not texts or sum(map(len, texts)) > room.limits.text_bytes:
        return Unread("no_text" if _are_blank(texts) else "text_too_large")
    stands = _parsed(texts, room, note)
    single = texts[0] if len(texts) == 1 else None
    wholes: list[Any] = []
    for whole in _wholes(single, stands, mode, room, note):
        if schema.is_valid(whole, formats=formats):
            return Reading(whole)
        wholes.append(whole)
    found: list[Reading] = []
    if mode == "readings":
        blocks = list(_forms(stands, room, note)) if single is None else [[w] for w in wholes if stands is not None]
        for candidates in _candidates(schema.schema, single, wholes, blocks, room.limits):
            fitting = (candidate for candidate in candidates if schema.is_valid(candidate.value, formats=formats))
            # no two are JSON-equal: no value is an array of itself, and no text is what it encodes
            found += islice(fitting, 1)
    if found:
        return found[0] if len(found) == 1 else Unread("ambiguous")
    if single is not None and stands is not None:
        return Unfit(stands[0])
    return Unread("no_text" if _are_blank(texts) else "no_reading" if single is None else "text_not_json")


def _are_blank(texts: Sequence[str]) -> bool:
    return not any(text.removeprefix(BOM).strip() for text in texts)


def _wholes(
    single: str | None, stands: list[Any] | None, mode: Fallback, room: Room, note: Note | None
) -> Iterator[Any]:
    """The one text as it stands, or what is in the fence around it; then that, where it is a string, decoded."""
    if single is None:
        return
    if stands is None and mode == "readings" and (inside := _unfenced(single)) is not None:
        stands = _parsed([inside], room, note)
    for form in _forms(stands, room, note):
        yield form[0]


def _candidates(
    root: dict[str, Any], single: str | None, wholes: list[Any], blocks: list[list[Any]], limits: Limits
) -> Iterator[list[Reading]]:
    """What was read, put into the array or the property asked for. Of one list, the first that fits counts."""
    if _asks_for("array", [root], root):
        yield [Reading(block) for block in blocks]
    name, schemas = _only_property(root)
    if name is None:
        return
    yield [Reading({name: whole}) for whole in wholes]
    if _asks_for("array", schemas, root):
        yield [Reading({name: block}) for block in blocks]
    # a lone surrogate is no text
    if single is not None and _asks_for("string", schemas, root) and not _bounds.scan(single, limits):
        yield [Reading({name: single}, verbatim=True)]


def _forms(values: list[Any] | None, room: Room, note: Note | None) -> Iterator[list[Any]]:
    """`values` as parsed; then, for a schema that does not take the strings among them, these decoded once more."""
    if values is None:
        return
    yield values
    strings = [value for value in values if isinstance(value, str)]
    if strings and (decoded := _parsed(strings, room, note)) is not None:
        others = iter(decoded)
        yield [next(others) if isinstance(value, str) else value for value in values]


def _parsed(texts: Sequence[str], room: Room, note: Note | None = None) -> list[Any] | None:
    """The values of all `texts`, or `None` where one is no JSON."""
    try:
        if len(texts) != 1:
            return parse_all(texts, room)
        value, measured = parse_measured(texts[0], room)
    except NotJson:
        return None
    if note is not None:
        note(value, measured)
    return [value]


def _unfenced(text: str) -> str | None:
    """What stands between the lines of the one Markdown fence around the whole text."""
    first, _, rest = text.removeprefix(BOM).strip().partition("\n")
    inside, _, last = rest.rpartition("\n")
    mark = first[:1]
    length = len(first) - len(first.lstrip(mark)) if mark in {"`", "~"} else 0
    last = last.strip()
    if length < 3 or (mark == "`" and mark in first[length:]) or len(last) < length or last.strip(mark):  # noqa: PLR2004  # CommonMark 4.5
        return None
    return None if inside.startswith(BOM) else inside


# --- what a schema asks for: which readings are formed; whether one fits is the schema's own decision

_STEPS: Final = 200


def _only_property(root: dict[str, Any]) -> tuple[str | None, list[Any]]:
    """The name and the schemas of the one property declared by a schema that asks for an object and requires it."""
    names: dict[str, list[Any]] = {}
    required: set[str] = set()
    parts, _ = _applying([root], root, alternatives=False)
    for part in parts:
        if "type" in part and "object" not in _listed(part["type"]):
            return None, []
        if is_object(properties := part.get("properties")):
            for name, schema in properties.items():
                names.setdefault(name, []).append(schema)
        required.update(n for n in _listed(part.get("required")) if isinstance(n, str))
    if len(names) != 1 or not required.issuperset(names):
        return None, []
    (only,) = names.items()
    return only


def _asks_for(kind: str, schemas: list[Any], root: dict[str, Any]) -> bool:
    """Whether one of `schemas` names the type `kind`, be it as one of several."""
    parts, is_all = _applying(schemas, root, alternatives=True)
    # what can't be seen may ask for it: rather one reading too many than one that is not known to be the only one
    return not is_all or any(_names(kind, part) for part in parts)


def _names(kind: str, part: dict[str, Any]) -> bool:
    if "type" in part:
        return kind in _listed(part["type"])
    if kind == "array" and ("items" in part or "prefixItems" in part):
        return True
    constants = [part["const"]] if "const" in part else _listed(part.get("enum"))[:_STEPS]
    return any(json_type(constant) == kind for constant in constants)


def _applying(schemas: list[Any], root: dict[str, Any], *, alternatives: bool) -> tuple[list[dict[str, Any]], bool]:
    """The schemas that hold for the same value as `schemas`: through local `$ref` and `allOf`, and alternatives.

    Without `alternatives`, an `anyOf` or `oneOf` is looked into only where it leaves no choice but null. The second
    value is false where something could not be looked into.
    """
    parts: list[dict[str, Any]] = []
    seen: set[int] = set()
    waiting, is_all = list(schemas), True
    while waiting:
        part = waiting.pop()
        if not is_object(part) or id(part) in seen:
            continue
        if len(parts) == _STEPS:
            return parts, False
        seen.add(id(part))
        parts.append(part)
        waiting += _listed(part.get("allOf"))
        for keyword in ("anyOf", "oneOf"):
            choices = [c for c in _listed(part.get(keyword)) if c != {"type": "null"}]
            if alternatives or len(choices) == 1:
                waiting += choices
        if "$ref" in part:
            target = _target(part["$ref"], root)
            is_all = is_all and target is not None
            waiting.append(target)
        is_all = is_all and "$dynamicRef" not in part and "$recursiveRef" not in part
    return parts, is_all


def _target(ref: object, root: dict[str, Any]) -> Any:
    """What a JSON pointer into this very schema points to, else `None`."""
    if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
        return None
    target: Any = root
    for token in unquote(ref).split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if is_object(target) and key in target:
            target = target[key]
        elif is_array(target) and key.isascii() and key.isdigit() and int(key[:9]) < len(target):
            target = target[int(key[:9])]
        else:
            return None
    return target


def _listed(value: Any) -> list[Any]:
    return value if is_array(value) else [value]


# --- comparison


def differs(structured: object, texts: Sequence[str], *, wrapped: bool, room: Room) -> bool:
    """Whether the one text block is JSON, there is room to look at it, and it says something else than `structured`.

    `wrapped`: the contract or the result declares a wrapper. Then the value in it counts as much as the whole; where it
    is a string, so does that very string as the text.
    """
    if len(texts) != 1:
        return False
    before = room.left
    if (parsed := _parsed(texts, room)) is None:
        return False
    try:
        room.take(before - room.left)  # comparing takes as long once more
    except NotJson:
        return False
    if same_json(parsed[0], structured):
        return False
    if not wrapped or not is_object(structured) or len(structured) != 1:
        return True
    (inner,) = structured.values()
    return not same_json(parsed[0], inner) and texts[0] != inner
