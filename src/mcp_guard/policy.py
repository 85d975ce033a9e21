"""What to do about a fact, and how closely to look: `Policy`, `Limits` and the presets. No fact is decided here.

`check` reads `fallback`, `formats`, `compare_text` and `limits` of a policy and nothing else; the rest is for those
who act on a verdict.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

Action = Literal["raise", "report", "allow"]
"""``raise``: a typed error. ``report``: the value is returned; the record, the hooks and one log line say so.
``allow``: the value is returned and only the record says so."""

Fallback = Literal["off", "json", "readings"]
Formats = Literal["ignore", "report", "assert"]

DEVIATIONS: Final = frozenset(
    {
        "content_missing",  # no `content` beside good structured content
        "contract_changed",  # the result fits the contract as it was listed after the call, not before
        "format",  # fits without format assertion, not with it
        "listing_failed",  # the tool listing could not be read
        "listing_truncated",  # the tool listing was left before its end; stands on `contracts`, on no result
        "result_type_missing",  # no `resultType` on a 2026-07-28 session
        "structured_missing",  # the value was read from the text
        "structured_not_object",  # structured content that is no object, before 2026-07-28
        "text_differs",  # the text block's JSON is another value than the structured content
        "text_verbatim",  # the value is the raw text, put where the schema asks for one string
        "unknown_argument",  # an argument that inputSchema does not name
        "unknown_block",  # a content block of a type that the specification does not know
    }
)
"""The stable codes of deviations."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds that hold before any engine runs. Crossing one ends in a verdict or an unusable contract, never in a hang.

    With the defaults, making a contract and checking a result each stay within 250 ms of CPU and 128 MiB (see
    docs/hazards.md); larger ones are at your own risk. What no bound here says, the guard estimates and holds against
    that itself. Sizes are counted in characters of text (an ASCII character is a byte); numbers by their digits.

    Raises:
        TypeError: A limit is no integer.
        ValueError: A limit is smaller than 1.
    """

    depth: int = 200
    """Levels of nesting in a result: what the SDK's own wire parser lets through, and what fits a small stack."""
    nodes: int = 400_000
    """Values in a result (objects, arrays, members, elements). Walking this many takes about 100 ms. A text is not
    parsed where that would take longer: 300,000 rows or members of numbers are, 200,000 objects in objects are not. All
    that is parsed for one result shares this, and with STRICT a text is compared up to some 100,000 values."""
    result_bytes: int = 8_000_000
    """Text in a result: keys, strings and digits together. So a value of 5 MB may have half of itself as text besides,
    and what is read of it is read in some 10 ms."""
    integer_digits: int = 4_300
    """Digits of one integer: as many as Python itself reads from text, for beyond that it takes quadratic time. Up to
    here integers are exact."""
    text_bytes: int = 6_000_000
    """Text that is parsed as JSON where the structured part is missing: 5 MB and its quotes. In Python it becomes
    several times as large, and each reading parses it again."""
    schema_bytes: int = 300_000
    """Text in one schema: 256 KB have to pass. Walking, weighing and compiling this much takes 50 to 100 ms. All parts
    of a definition together may have 200,000 values, of which an object or an array counts as four, a fraction as
    ten: copying and hashing them takes as much again."""
    schema_depth: int = 200
    """Levels of nesting in one schema: as deep as a result, since the engine compiles it recursively."""
    subschemas: int = 5_000
    """Subschemas after `$ref` expansion: a shared target counts each time, a cycle once. 2,000 have to pass; each takes
    about 25 microseconds until it is compiled."""
    compositions: int = 1_000
    """Branches of `anyOf`, `oneOf`, `allOf`, `if`, `not` and `dependentSchemas`, nested or by `$ref`, at one place.
    Each is held against the same value, so that what the value costs is multiplied by them."""
    pattern_length: int = 5_000
    """Atoms of one regular expression, bounded repeats written out: an automaton is as wide, and is stepped once for
    each character. One of 1 MB took 980 ms and 490 MiB to compile."""
    violations: int = 20
    """Violations kept of one result: as many as somebody reads, and as the words for a model have room for."""
    explanation_steps: int = 20_000
    """Keywords looked at while a violation is located, about 30 ms; out of them the verdict stands, `truncated`. Where
    there is no jsonschema-rs, three times as many decide."""
    pages: int = 100
    """Pages of one tool listing: a hundred requests, one after the other, before the first call."""
    tools: int = 10_000
    """Tools of one listing: each is a definition that is kept."""
    listing_bytes: int = 20_000_000
    """Text in one listing: as many tools as `tools` allows, of 2 KB each, twice what a tool that is well described
    has."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"Limits.{field.name} is {type(value).__name__}; give a whole number")
            if value < 1:
                raise ValueError(f"Limits.{field.name} is {value}; give at least 1")


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What to do about each kind of verdict and deviation. Vary a preset with `dataclasses.replace`.

    Raises:
        TypeError: `limits` is no `Limits`, `compare_text` no bool.
        ValueError: An action, a deviation code or a mode is unknown.
    """

    violating: Action = "raise"
    missing: Action = "raise"
    errored: Action = "raise"
    malformed: Action = "raise"
    unenforceable: Action = "raise"
    unfinished: Action = "raise"
    undeclared: Action = "allow"
    """The tool is listed without an outputSchema."""
    unlisted: Action = "report"
    """The tool is in no listing."""
    unknown_listing: Action = "raise"
    """The listing itself failed, so that nothing is known."""
    arguments: Action = "raise"
    """Arguments that do not fit inputSchema."""
    pins: Action = "raise"
    """A contract that differs from its pin."""
    deviations: Action | Mapping[str, Action] = "report"
    """One action for all, or an action a code; ``"*"`` stands for the codes not named (without it: ``report``)."""
    fallback: Fallback = "readings"
    """What is read where the structured part is missing: nothing, the text block as JSON, or every reading."""
    formats: Formats = "report"
    """`format`: ``ignore`` it, ``report`` a deviation (an annotation in JSON Schema 2020-12), or ``assert`` it."""
    compare_text: bool = False
    """Look whether the text block's JSON says the same as the structured content, where neither is very large: see
    `Limits.nodes`."""
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        for name in ACTIONS:
            _one_of(f"Policy.{name}", getattr(self, name), get_args(Action))
        _one_of("Policy.fallback", self.fallback, get_args(Fallback))
        _one_of("Policy.formats", self.formats, get_args(Formats))
        if not isinstance(self.compare_text, bool):
            raise TypeError("Policy.compare_text takes True or False")
        if not isinstance(self.limits, Limits):
            raise TypeError("Policy.limits takes a Limits, for example Limits(depth=50)")
        if isinstance(self.deviations, Mapping):
            for code, action in self.deviations.items():
                _one_of("A code in Policy.deviations", code, sorted(DEVIATIONS | {"*"}))
                _one_of(f"Policy.deviations[{code!r}]", action, get_args(Action))
            object.__setattr__(self, "deviations", dict(self.deviations))  # the caller's own dict may change later
        else:
            _one_of("Policy.deviations", self.deviations, get_args(Action))

    def __hash__(self) -> int:
        values = [getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "deviations"]
        spread = self.deviations
        return hash((*values, spread if isinstance(spread, str) else frozenset(spread.items())))

    @property
    def observes(self) -> bool:
        """Whether it raises on nothing at all, as OBSERVE does."""
        spread = [self.deviations] if isinstance(self.deviations, str) else [*self.deviations.values()]
        return "raise" not in (*(getattr(self, name) for name in ACTIONS), *spread)

    def on_deviation(self, code: str) -> Action:
        """The action for one deviation code."""
        if isinstance(self.deviations, str):
            return self.deviations
        return self.deviations.get(code, self.deviations.get("*", "report"))


def _one_of(what: str, value: object, allowed: Iterable[str]) -> None:
    if value not in (values := tuple(allowed)):
        choice = ", ".join(map(repr, values))
        raise ValueError(f"{what} is {value!r}; it takes one of {choice}")


ACTIONS: Final = (
    "violating",
    "missing",
    "errored",
    "malformed",
    "unenforceable",
    "unfinished",
    "undeclared",
    "unlisted",
    "unknown_listing",
    "arguments",
    "pins",
)
"""The fields of `Policy` that hold one action each."""

ENFORCE: Final = Policy()
"""The default: data that keeps its contract, or an error. What is merely odd is reported."""

STRICT: Final = Policy(undeclared="raise", unlisted="raise", deviations="raise", formats="assert", compare_text=True)
"""For tests and for servers you own: whatever is odd is an error, and so is a tool that promises nothing."""

OBSERVE: Final = Policy(**dict.fromkeys(ACTIONS, "report"), deviations="report")  # type: ignore[arg-type]  # every value is an Action
"""For a running system: nothing raises about a result that came, and the records say what ENFORCE would have done."""

RELAY: Final = dataclasses.replace(ENFORCE, errored="report")
"""ENFORCE for code that reads `isError` itself: `call_tool` hands such a result on as it is."""
