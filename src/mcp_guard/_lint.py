"""The linter: what to know of a server's tools before relying on them. Pure; a rule is a row of `RULES`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any, Final, Literal, TypeAlias, final

from mcp_guard import _words
from mcp_guard._contract import Contract
from mcp_guard._dialects import positions
from mcp_guard._facts import is_object
from mcp_guard._schema import CompiledSchema

Level: TypeAlias = Literal["error", "warning", "note"]
"""``error``: calls of the tool fail or can't be judged. ``warning``: they are judged badly, or made badly by a model.
``note``: worth a look."""


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """One remark about a listed tool. `says` holds no word of the server's but names, escaped and cut."""

    code: str
    level: Level
    tool: str
    """On the wire."""
    pointer: str
    """Where in the tool's definition, as an RFC 6901 JSON pointer."""
    says: str

    def to_dict(self) -> dict[str, str]:
        """JSON, with nothing of the server's in it but names, escaped and cut."""
        return {
            "code": self.code,
            "level": self.level,
            "tool": _words.name(self.tool),
            "pointer": _words.escape(self.pointer),
            "says": self.says,
        }


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of finding: its code, how bad it is, what it is about, and what to do about it."""

    code: str
    level: Level
    title: str
    why: str
    what_to_do: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """What the linter's rules count against.

    Raises:
        ValueError: One is smaller than 1.
    """

    description: int = 40
    """Characters that a description has at least: fewer rarely say what a tool does and when to use it."""
    tools: int = 40
    """Tools of one server: with more, models choose the wrong one more often, and each listing costs its tokens."""
    stem: int = 3
    """Tools with one stem that could be one."""

    def __post_init__(self) -> None:
        if min(self.description, self.tools, self.stem) < 1:
            raise ValueError("a threshold is at least 1")


RULES: Final = {
    rule.code: rule
    for rule in (
        Rule(
            "description-missing",
            "warning",
            "The tool has no description",
            "A model chooses a tool by its description. Without one it guesses from the name.",
            "Say what the tool does, when to use it, and what it gives back.",
        ),
        Rule(
            "description-short",
            "note",
            "The description is short",
            "A few words rarely say when to use a tool and when not to.",
            "Say what the tool does, when to use it, and what it gives back.",
        ),
        Rule(
            "name-characters",
            "warning",
            "The name is outside of what the specification allows",
            "The specification (server/tools, Tool Names) asks for 1 to 128 characters of A-Z, a-z, 0-9, _, - and dot. "
            "Clients and models that hold to it can't call the tool, and letters of other alphabets can look alike.",
            "Rename the tool.",
        ),
        Rule(
            "names-near",
            "warning",
            "Two names are nearly the same",
            "Names that differ in case, in separators or in one letter are mixed up by models and by people.",
            "Rename one of the tools so that its name says what is different.",
        ),
        Rule(
            "tools-alike",
            "note",
            "Several tools have one stem",
            "A family of tools that differ in one detail each is often one tool with an argument: a model has less to "
            "choose from, and chooses better.",
            "Make one tool of them, with an enum for what differs.",
        ),
        Rule(
            "tools-many",
            "note",
            "The server has many tools",
            "Every tool is read by the model in every conversation, and the more there are, the worse it chooses.",
            "Split the server, or list only what a session needs.",
        ),
        Rule(
            "tool-ambiguous",
            "error",
            "Two different tools have one name",
            "Nobody can say which of them a call reaches, so mcp_guard refuses to make one.",
            "Rename one of them.",
        ),
        Rule(
            "argument-untyped",
            "warning",
            "An argument has no type",
            "A model sends whatever seems right, and the server gets a string where it meant a number.",
            "Give the argument a type, an enum or a const.",
        ),
        Rule(
            "argument-undescribed",
            "note",
            "An argument has no description",
            "A name alone does not tell a unit, a format or an example.",
            "Describe the argument: unit, format, an example.",
        ),
        Rule(
            "required-missing",
            "note",
            "The inputSchema requires nothing",
            "Without `required` a call without any argument fits, and what is lacking is found out by the tool alone.",
            "List the arguments without which the tool can do nothing; where there are none, say `required: []`.",
        ),
        Rule(
            "input-unusable",
            "warning",
            "The inputSchema can't be used",
            "Arguments can't be held against it before they are sent.",
            "Mend the schema as the finding says.",
        ),
        Rule(
            "output-missing",
            "warning",
            "The tool has no outputSchema",
            "Nothing can be said about its results: whatever comes, comes through.",
            "Publish an outputSchema, and send structuredContent that keeps it.",
        ),
        Rule(
            "output-unusable",
            "error",
            "The outputSchema can't be used",
            "No result can be held against it, so mcp_guard refuses to call the tool.",
            "Mend the schema as the finding says.",
        ),
        Rule(
            "output-vacuous",
            "warning",
            "The outputSchema allows nearly everything",
            "A schema that takes any object tells no broken result from a good one.",
            "Declare the properties, require those that are always there, and close the object.",
        ),
        Rule(
            "output-requires-nothing",
            "note",
            "The outputSchema requires no property",
            "An empty object keeps it: a result in which everything is lacking is as good as one that has everything.",
            "Require what is always there.",
        ),
        Rule(
            "dialect-old",
            "note",
            "The schema is in an older dialect",
            "The specification's default is JSON Schema 2020-12; other clients may read an older one by its rules.",
            "Write the schema in 2020-12, or leave `$schema` out.",
        ),
        Rule(
            "format-unknown",
            "note",
            "A format is not known",
            "JSON Schema defines a list of formats. Any other is a comment: nothing checks it.",
            "Use one of the defined formats, or a pattern.",
        ),
        Rule(
            "annotations-contradict",
            "warning",
            "The annotations contradict each other",
            "A client that shows or uses them can't tell what is true. They are hints of the server's in any case.",
            "A tool that only reads is neither destructive nor in need of an idempotency hint: leave those out.",
        ),
    )
}
"""Every rule by its code."""

_NAME: Final = re.compile(r"[A-Za-z0-9_.\-]{1,128}")
_FORMATS: Final = frozenset(
    {
        *("date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6"),
        *("uri", "uri-reference", "iri", "iri-reference", "uuid", "uri-template", "json-pointer"),
        *("relative-json-pointer", "regex", "color", "ip-address", "host-name"),
    }
)
_TYPING: Final = frozenset({"type", "enum", "const", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if"})
_MANY_SAID: Final = 5
"""Findings of one rule in one schema: the rest of a schema that is wrong throughout says nothing new."""

Found: TypeAlias = tuple[str, str]
"""Pointer, and what is said."""


def lint(
    contracts: Iterable[Contract], *, ignore: Iterable[str] = (), thresholds: Thresholds | None = None
) -> tuple[Finding, ...]:
    """The findings about the tools of one server, in the order of the listing; what concerns several comes last.

    Args:
        contracts: The tools.
        ignore: Codes of rules that are turned off; ``tool:code`` turns one off for one tool.
        thresholds: What the rules count against.

    Raises:
        ValueError: A code in `ignore` is unknown.
    """
    off = set(ignore)
    if unknown := sorted(code for code in off if code.rpartition(":")[2] not in RULES):
        raise ValueError(f"there is no rule {unknown[0]!r}; there are: {', '.join(RULES)}")
    tools, limits = list(contracts), thresholds or Thresholds()
    found = [Finding(code, RULES[code].level, tool, *rest) for code, tool, *rest in _all(tools, limits)]
    return tuple(f for f in found if f.code not in off and f"{f.tool}:{f.code}" not in off)


def _all(tools: list[Contract], limits: Thresholds) -> Iterator[tuple[str, str, str, str]]:
    for contract in tools:
        for code, rule in _OF_ONE.items():
            for pointer, says in rule(contract, limits):
                yield code, contract.name, pointer, says
    for code, of_all in _OF_ALL.items():
        for tool, says in of_all(tools, limits):
            yield code, tool, "", says


# --- rules about one tool


def _no_description(contract: Contract, _: Thresholds) -> Iterator[Found]:
    if not _described(contract):
        yield "/description", "there is no description"


def _short_description(contract: Contract, limits: Thresholds) -> Iterator[Found]:
    words = _described(contract)
    if 0 < len(words) < limits.description:
        yield (
            "/description",
            f"the description has {len(words)} characters; at least {limits.description} are asked for",
        )


def _described(contract: Contract) -> str:
    words = contract.description
    return words.strip() if isinstance(words, str) else ""


def _odd_name(contract: Contract, _: Thresholds) -> Iterator[Found]:
    if _NAME.fullmatch(contract.name):
        return
    if len(contract.name) > 128:  # noqa: PLR2004  # the specification's own number
        yield "/name", f"the name has {len(contract.name)} characters; 128 are allowed"
    else:
        odd = sorted({f"U+{ord(c):04X}" for c in contract.name if not _NAME.fullmatch(c)})
        yield "/name", f"the name has characters that are not allowed: {', '.join(odd[:_MANY_SAID])}"


def _ambiguous(contract: Contract, _: Thresholds) -> Iterator[Found]:
    if contract.is_ambiguous:
        yield "/name", "the server lists different tools of this name"


def _arguments(contract: Contract) -> Iterator[tuple[str, Any]]:
    schema = contract.input_schema
    properties = schema.get("properties") if is_object(schema) else None
    if is_object(properties):
        yield from properties.items()


def _untyped(contract: Contract, _: Thresholds) -> Iterator[Found]:
    for name, argument in _arguments(contract):
        if argument is True or (is_object(argument) and not _TYPING & argument.keys()):
            yield _argument(name), f"the argument {_words.name(name)} has no type"


def _undescribed(contract: Contract, _: Thresholds) -> Iterator[Found]:
    for name, argument in _arguments(contract):
        words = argument.get("description") if is_object(argument) else None
        if not isinstance(words, str) or not words.strip():
            yield _argument(name), f"the argument {_words.name(name)} has no description"


def _argument(name: str) -> str:
    return _words.pointer(["inputSchema", "properties", name])


def _nothing_required(contract: Contract, _: Thresholds) -> Iterator[Found]:
    schema = contract.input_schema
    if is_object(schema) and "required" not in schema and any(True for _ in _arguments(contract)):
        yield "/inputSchema", "no argument is required"


def _bad_input(contract: Contract, _: Thresholds) -> Iterator[Found]:
    if (unusable := contract.input_unusable) is not None:
        yield "/inputSchema", f"{unusable.reason}: {unusable.detail}"


def _no_output(contract: Contract, _: Thresholds) -> Iterator[Found]:
    if not contract.declares_output:
        yield "/outputSchema", "there is no outputSchema"


def _bad_output(contract: Contract, _: Thresholds) -> Iterator[Found]:
    if contract.unusable is not None and not contract.is_ambiguous:
        yield "/outputSchema", f"{contract.unusable.reason}: {contract.unusable.detail}"


def _takes_anything(contract: Contract) -> bool:
    strange: list[Any] = [{}, {"": None}, {"unheard of": [{"of": 1}]}]
    return contract.output is not None and all(map(contract.output.is_valid, strange))


def _vacuous(contract: Contract, _: Thresholds) -> Iterator[Found]:
    if _takes_anything(contract) and not _properties(contract):
        yield "/outputSchema", "it allows any object whatever"


def _empty_fits(contract: Contract, _: Thresholds) -> Iterator[Found]:
    if contract.output is not None and _properties(contract) and contract.output.is_valid({}):
        yield "/outputSchema", "it allows an empty object"


def _properties(contract: Contract) -> bool:
    return contract.output is not None and bool(contract.output.names)


def _old_dialect(contract: Contract, _: Thresholds) -> Iterator[Found]:
    for key, compiled in _usable(contract):
        if compiled.dialect != "draft2020-12":
            yield f"/{key}/$schema", f"it is {compiled.dialect}"


def _unknown_format(contract: Contract, _: Thresholds) -> Iterator[Found]:
    for key, compiled in _usable(contract):
        odd = (path for path, schema in _subschemas(compiled) if schema.get("format", "date") not in _FORMATS)
        for path in islice(odd, _MANY_SAID):
            yield _words.pointer([key, *path, "format"]), "JSON Schema defines no such format"


def _usable(contract: Contract) -> Iterator[tuple[str, CompiledSchema]]:
    for key, compiled in (("inputSchema", contract.input), ("outputSchema", contract.output)):
        if compiled is not None:
            yield key, compiled


def _subschemas(compiled: CompiledSchema) -> Iterator[tuple[list[str | int], dict[str, Any]]]:
    """Every subschema that is an object, with the path to it. It is a tree: references are not followed."""
    under: list[tuple[list[str | int], dict[str, Any]]] = [([], compiled.schema)]
    while under:
        path, schema = under.pop()
        yield path, schema
        for position in positions(schema, compiled.dialect):
            if is_object(position.schema):
                token = [] if position.token is None else [position.token]
                under.append(([*path, position.keyword, *token], position.schema))


def _contradicting(contract: Contract, _: Thresholds) -> Iterator[Found]:
    hints = contract.definition.get("annotations")
    if not is_object(hints) or hints.get("readOnlyHint") is not True:
        return
    for hint in ("destructiveHint", "idempotentHint"):
        if hint == "destructiveHint" and hints.get(hint) is True:
            yield f"/annotations/{hint}", "a tool that only reads is said to be destructive"
        elif hint == "idempotentHint" and hints.get(hint) is False:
            yield f"/annotations/{hint}", "a tool that only reads is said to do more when it is called again"


# --- rules about all tools


def _many(tools: list[Contract], limits: Thresholds) -> Iterator[tuple[str, str]]:
    if len(tools) > limits.tools:
        yield "", f"the server lists {len(tools)} tools; {limits.tools} are what models can choose from"


def _near(tools: list[Contract], _: Thresholds) -> Iterator[tuple[str, str]]:
    by_core: defaultdict[str, list[str]] = defaultdict(list)
    for contract in tools:
        by_core[_core(contract.name)].append(contract.name)
    for names in by_core.values():
        for other in names[1:]:
            yield other, f"the name differs from {_words.name(names[0])} in case, separators or look-alikes alone"
    cores = sorted(core for core in by_core if len(core) >= 8)  # noqa: PLR2004  # one letter of few is much
    by_length: defaultdict[int, list[str]] = defaultdict(list)
    for core in cores[:1_000]:
        by_length[len(core)].append(core)
    for same in by_length.values():
        for one, another in combinations(same[:200], 2):
            if sum(a != b for a, b in zip(one, another, strict=True)) == 1 and not _counted(one, another):
                name, other = by_core[one][0], by_core[another][0]
                yield other, f"the name differs from {_words.name(name)} in one letter"


def _counted(one: str, another: str) -> bool:
    """Whether two names differ in a digit: those were numbered on purpose."""
    return any(a != b and a.isdigit() and b.isdigit() for a, b in zip(one, another, strict=True))


_LOOK_ALIKE: Final = str.maketrans("аеорсухіѕј0", "aeopcyxisjo")  # noqa: RUF001  # Cyrillic ones are what is meant


def _core(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold().translate(_LOOK_ALIKE))


def _alike(tools: list[Contract], limits: Thresholds) -> Iterator[tuple[str, str]]:
    by_stem: defaultdict[str, list[str]] = defaultdict(list)
    for contract in tools:
        words = re.findall(r"[a-z]+|[A-Z][a-z]*", contract.name)
        if len(words) >= 3:  # noqa: PLR2004  # a verb, its object, and what differs
            by_stem["_".join(words[:2]).lower()].append(contract.name)
    plain = {_core(contract.name): contract.name for contract in tools}
    for stem, names in by_stem.items():
        family = [*names, *(plain[core] for core in [_core(stem)] if core in plain)]
        if len(family) >= limits.stem:
            yield names[0], f"{len(family)} tools begin with {_words.name(stem)}: they could be one"


_OF_ONE: Final[dict[str, Callable[[Contract, Thresholds], Iterator[Found]]]] = {
    "description-missing": _no_description,
    "description-short": _short_description,
    "name-characters": _odd_name,
    "tool-ambiguous": _ambiguous,
    "argument-untyped": _untyped,
    "argument-undescribed": _undescribed,
    "required-missing": _nothing_required,
    "input-unusable": _bad_input,
    "output-missing": _no_output,
    "output-unusable": _bad_output,
    "output-vacuous": _vacuous,
    "output-requires-nothing": _empty_fits,
    "dialect-old": _old_dialect,
    "format-unknown": _unknown_format,
    "annotations-contradict": _contradicting,
}
_OF_ALL: Final[dict[str, Callable[[list[Contract], Thresholds], Iterator[tuple[str, str]]]]] = {
    "names-near": _near,
    "tools-alike": _alike,
    "tools-many": _many,
}
