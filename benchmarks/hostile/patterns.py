"""Patterns: the classic ones that backtrack without end, wherever a schema can put them, and large ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Final

from benchmarks.hostile._case import Group, Json, nested, objects

PATTERNS: Final = Group("pattern")

CLASSIC: Final = {
    "nested repeat": ("^(a+)+$", "a"),
    "nested star": ("^(a*)*b$", "a"),
    "alternatives that are one": ("^(a|a)*$", "a"),
    "overlapping alternatives": ("^(a|aa)+$", "a"),
    "twenty stars": ("^" + "(.*a)" * 20 + "b$", "a"),
    "repeated pair": ("(x+x+)+y", "x"),
    "words": (r"^(\w+\s?)*$", "a "),
    "e-mail": (r"^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3}))$", "a"),
    "trimming": (r"\s+$", " "),
    "look-ahead": ("^(?=(a+)+$)b", "a"),
    "look-behind": (r"(?<=^(a+)+)b", "a"),
    "negative look-ahead": ("^((?!b)a+)+$", "a"),
    "back reference": (r"^(a+)+\1$", "a"),
    "back reference in a repeat": (r"(a*)*\1b", "a"),
    "atomic group": ("(?>a+)+b|(a|aa)+c", "a"),
    "Unicode classes": (r"^(\p{L}*\p{N}*)*$", "é"),
    "any case": ("(?i)^(k+)+$", "\u212a"),
    "counted": ("^(a{1,30}){1,30}$", "a"),
    "empty alternatives": ("^(||a)*$", "a"),
}
_WORST: Final = ("nested repeat", "look-ahead", "back reference", "twenty stars")
_PLACES: Final[dict[str, Callable[[str], Json]]] = {
    "a name": lambda pattern: {"patternProperties": {pattern: {"type": "integer"}}},
    "a name, beside additionalProperties": lambda pattern: {
        "patternProperties": {pattern: {"type": "integer"}},
        "additionalProperties": False,
    },
    "a name, beside unevaluatedProperties": lambda pattern: {
        "allOf": [{"patternProperties": {pattern: True}}],
        "unevaluatedProperties": False,
    },
    "propertyNames": lambda pattern: {"propertyNames": {"pattern": pattern}},
    "what propertyNames excludes": lambda pattern: {"propertyNames": {"not": {"pattern": pattern}}},
    "additionalProperties": lambda pattern: {"properties": {"a": True}, "additionalProperties": {"pattern": pattern}},
}


def _text(letter: str, times: int, end: str = "!") -> str:
    return letter * times + end


def _texts(letter: str, count: int, end: str = "!") -> list[str]:
    return [letter * 50 + f"{end}{i}" for i in range(count)]


def _names(letter: str, count: int) -> dict[str, str]:
    return {letter * 30 + "!" * (1 + i % 40) + str(i): "a" * 40 + "!" for i in range(count)}


for _name, (_pattern, _letter) in CLASSIC.items():
    PATTERNS.members(
        {
            f"{_name}, on 40 letters": ({"pattern": _pattern}, partial(_text, _letter, 40)),
            f"{_name}, on 10,000 texts": ({"items": {"pattern": _pattern}}, partial(_texts, _letter, 10_000)),
        }
    )
for _name in _WORST:
    _pattern, _letter = CLASSIC[_name]
    PATTERNS.members({f"{_name}, on 5 MB": ({"pattern": _pattern}, partial(_text, _letter, 5_000_000))}, heavy=True)
    PATTERNS.members(
        {
            f"{_name}, as {place}": (schema(_pattern), partial(_names, _letter, 1_000))
            for place, schema in _PLACES.items()
        }
    )
PATTERNS.members(
    {
        f"inside {name}": (schema, partial(_texts, "a", 2_000))
        for name, schema in {
            "contains": {"contains": {"pattern": "^(?=(a+)+$)b"}},
            "anyOf": {"items": {"anyOf": [{"pattern": r"^(a+)+\1$"}, {"pattern": "^(?=(a+)+$)b"}]}},
            "oneOf": {"items": {"oneOf": [{"pattern": r"^(a+)+\1$"}, {"pattern": "^(?=(a+)+$)b"}]}},
            "if": {"items": {"if": {"pattern": "^(?=(a+)+$)b"}, "then": False, "else": {"type": "null"}}},
            "not": {"items": {"not": {"pattern": r"^(a+)+\1$"}}},
            "unevaluatedItems": {
                "contains": {"pattern": r"(a|b)*\1c"},
                "minContains": 0,
                "unevaluatedItems": False,
            },
        }.items()
    }
)
PATTERNS.members(
    {
        "an automaton of 4,000 places": ({"pattern": "a.{4000}c"}, lambda: "ab" * 450_000),
        "repeats in repeats": ({"pattern": "(?:.{0,70}){70}$"}, lambda: "a" * 3_000),
        "an automaton of 1,800 places, on 500 texts": (
            {"items": {"pattern": "(?:a?){900}a{900}b"}},
            lambda: ["a" * 900] * 500,
        ),
        "a search that begins at each place": ({"pattern": "(x*)y"}, lambda: "x" * 4_000_000),
        "Unicode classes side by side": ({"pattern": r"[\p{L}\p{N}]{100}$"}, lambda: "é" * 2_000_000),
        "a look-ahead on a long text, and a fault beside it": (
            {"properties": {"s": {"pattern": "(?=a*b)x|(?=a*c)y|.$"}, "z": {"type": "null"}}},
            lambda: {"s": "ab" * 15_000, "z": 1},
        ),
        "a look-ahead on many texts, and a fault beside them": (
            {"properties": {"s": {"items": {"pattern": "^(?=(a|b)*)(?!x)(a|b)+$"}}, "z": {"type": "null"}}},
            lambda: {"s": ["ab" * 150] * 1_000, "z": 1},
        ),
        "700 patterns, the last one broken": (
            {"properties": {f"p{i:04}": {"allOf": [{"pattern": f"^a{i}|a$"}]} for i in range(700)}},
            lambda: {f"p{i:04}": "a" if i < 699 else "5" for i in range(700)},  # noqa: PLR2004  # the last one
        ),
    }
)
PATTERNS.schemas(
    {
        "1 MB": lambda: {"pattern": "(?:a|b)" * 150_000},
        "250 KB of letters": lambda: {"pattern": "a" * 250_000},
        "1,000 Unicode classes": lambda: {"pattern": r"\p{L}" * 1_000},
        "180 Unicode classes": lambda: {"pattern": r"[^\p{L}]" * 180},
        "a Unicode class, 5,000 times": lambda: {"pattern": r"[^\p{L}]{5000}"},
        "a class, 5,000 times": lambda: {"pattern": r"\w{5000}"},
        "a class, 5,000 times, beside a look-ahead": lambda: {"pattern": r"(?=a)\w{5000}"},
        "repeats of repeats": lambda: {"pattern": "((((a{100}){100}){100}){100})"},
        "repeats of repeats of nothing": lambda: {"pattern": "(((((){1000}){1000}){1000}){1000})"},
        "a repeat of ten digits": lambda: {"pattern": "a{0,4294967295}"},
        "a repeat of 5,000 digits": lambda: {"pattern": "a{" + "9" * 5_000 + "}"},
        "2,000 groups in groups": lambda: {"pattern": "(" * 2_000 + "a" + ")" * 2_000},
        "1,600 look-aheads in look-aheads": lambda: {"pattern": "(?=" * 1_600 + "a" + ")" * 1_600},
        "800 look-behinds": lambda: {"pattern": "(?<=a)" * 800},
        "800 alternatives of look-aheads": lambda: {"pattern": "|".join(["(?=a)b"] * 800)},
        "2,400 of them": lambda: {"patternProperties": {f"^p{i}_[a-z]+$": {} for i in range(2_400)}},
        "190 of Unicode classes": lambda: {"patternProperties": {rf"^\p{{L}}{i}$": {} for i in range(190)}},
        "nonsense": lambda: {"pattern": "(["},
        "200 classes of ranges": lambda: {"pattern": r"[^\d\D]" + r"[^\s\w\u{1F600}-\u{1F64F}]" * 200},
        "a class of 1,600 ranges": lambda: {
            "pattern": "[" + "".join(f"{chr(256 + 3 * i)}-{chr(257 + 3 * i)}" for i in range(1_600)) + "]"
        },
        "a range turned round, and flags": lambda: {"pattern": "(?xsmiU-u:[z-a])"},
        "a lone surrogate as an escape": lambda: {"pattern": r"\ud800"},
        "one that calls itself": lambda: {"pattern": r"(?<n>a|\((?&n)\))+(?P>n)\g<n>"},
        "300 conditionals": lambda: {"pattern": "(a)?(?(1)b|c)" * 300},
    }
)
PATTERNS.pairs(
    {
        "Unicode classes at the bottom of 90 levels": (
            lambda: nested(
                90,
                {
                    "patternProperties": {rf"^{i}[^\p{{L}}]{{12}}": {"type": "null"} for i in range(15)},
                    "properties": {"z": {"type": "null"}},
                },
                lambda inner: {"properties": {"a": inner}},
            ),
            lambda: objects(90, {"z": 1}),
        ),
        "a long text at the bottom of 190 levels": (
            lambda: {
                "$ref": "#/$defs/n",
                "$defs": {
                    "n": {
                        "properties": {
                            "a": {"$ref": "#/$defs/n"},
                            "s": {"pattern": "a.{5}c"},
                            "z": {"type": "null"},
                        }
                    }
                },
            },
            lambda: objects(190, {"s": "ab" * 800_000 + "c", "z": 1}),
        ),
    }
)

AHEAD: Final = {
    "a look-ahead at each character": r"^(?:(?=.*$).)*$",
    "a look-ahead behind each character": r"^(?:a(?=.*$))*b$",
    "a look-ahead at each of the characters that a look-ahead sees": r"^(?:(?=(?:(?=.*$).)*$).)*$",
    "a long look-ahead at each character": r"^(?:(?=a{1000}).)*",
    "a look-ahead of 1,000 at most at each character": r"^(?:(?=.{0,1000}).)*$",
    "alternatives at each look-ahead": r"^(?:(?=a)(?:a*b|a))*$",
    "what may be left out at each look-ahead": r"^(?:(?=a)(?:a*b)?a)*$",
    "a back reference looked ahead for": r"^(a*)b?(?:(?=\1)a)*$",
    "a repeat in a look-ahead, begun again and again": "^" + "a?" * 14 + "(?=(?:(?=a).)*$)b",
    "a search in a look-ahead, begun again and again": "^" + "a?" * 9 + "(?=(?:(?=.*$).)*$)b",
    "a wide automaton in a look-ahead": "(?=.*[ab].{100}c)y",
}
"""A look-ahead that succeeds is no step back, however far it reads."""
for _name, _pattern in AHEAD.items():
    PATTERNS.members(
        {
            f"{_name}, on {_length:,} letters": ({"pattern": _pattern}, partial(_text, "a", _length, ""))
            for _length in (300, 2_000, 30_000)
        }
    )
    PATTERNS.members({f"{_name}, on 1 MB": ({"pattern": _pattern}, partial(_text, "a", 1_000_000, ""))}, heavy=True)
    PATTERNS.members(
        {
            f"{_name}, on a name of 30,000 letters": ({"patternProperties": {_pattern: {}}}, lambda: {"a" * 30_000: 1}),
            f"{_name}, on 2,600 texts": ({"items": {"pattern": _pattern}}, lambda: ["a" * 1_000] * 2_600),
        },
        heavy=True,
    )


def _mixed(letters: str, length: int) -> str:
    """Such letters in an order that comes again late only."""
    order = random.Random(1)  # noqa: S311  # the same each time
    some = "".join(order.choice(letters) for _ in range(100_003))
    return (some * (length // len(some) + 1))[:length]


for _pattern, _letters, _lengths in (
    (r"\p{Lu}\p{L}{185}\d", "абвгАБВГ", (38_000, 84_000)),
    (r"\p{Lu}\p{L}{60}\d", "абвгАБВГ", (95_000, 258_000)),
    (r"\p{Lu}\p{L}{12}\d", "абвгАБВГ", (210_000, 1_100_000)),
    ("[\u0410-\u042f].{12}0", "абвгАБВГ", (210_000, 1_100_000)),
    ("[\u0410-\u042f].{10}0", "абвгАБВГ", (3_900_000, 7_900_000)),
    ("[\u0410-\u042f].{185}0", "абвгАБВГ", (38_000, 84_000)),
    ("a[ab]{14}c", "ab", (260_000, 980_000)),
    ("a[ab]{100}c", "ab", (108_000, 155_000)),
    ("a[^x]{150}c", "aé中", (46_000, 104_000)),
):
    PATTERNS.members(
        {
            f"{_pattern}, on {_length:,} letters in no order": (
                {"pattern": _pattern},
                partial(_mixed, _letters, _length),
            )
            for _length in _lengths
        },
        heavy=True,
    )


def _referred_to(count: int) -> Json:
    often = {"allOf": [{"$ref": "#/$defs/a"}] * count}
    return {"properties": {"t": often}, "$defs": {"a": {"pattern": "x.{10}y"}}}


PATTERNS.pairs(
    {
        f"one pattern by {count} references": (partial(_referred_to, count), lambda: {"t": "x" * 300_000 + "y"})
        for count in (25, 900)
    },
    heavy=True,
)
