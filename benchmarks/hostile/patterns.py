"""Patterns and formats: the classic ones that backtrack without end, wherever a schema can put them."""

from __future__ import annotations

from typing import Final

from hostile._case import Group, Json, whole

PATTERNS: Final = Group("pattern")

_CLASSIC: Final = {
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
_PLACES: Final[dict[str, Json]] = {
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
    "not in propertyNames": lambda pattern: {"propertyNames": {"not": {"pattern": pattern}}},
    "additionalProperties": lambda pattern: {"properties": {"a": True}, "additionalProperties": {"pattern": pattern}},
}
_WORST: Final = ("nested repeat", "look-ahead", "back reference", "twenty stars")


def _names(letter: str, count: int) -> Json:
    return {letter * 30 + "!" * (1 + i % 40) + str(i): "a" * 40 + "!" for i in range(count)}


for _name, (_pattern, _letter) in _CLASSIC.items():
    PATTERNS.holding(f"{_name}, 40 letters", {"pattern": _pattern}, lambda _l=_letter: _l * 40 + "!")
    PATTERNS.holding(
        f"{_name}, 10,000 texts",
        {"items": {"pattern": _pattern}},
        lambda _l=_letter: [_l * 50 + f"!{i}" for i in range(10_000)],
    )
for _name in _WORST:
    _pattern, _letter = _CLASSIC[_name]
    PATTERNS.holding(f"{_name}, 5 MB", {"pattern": _pattern}, lambda _l=_letter: _l * 5_000_000 + "!")
    for _place, _schema in _PLACES.items():
        PATTERNS.holding(f"{_name} as {_place}", _schema(_pattern), lambda _l=_letter: _names(_l, 1_000))
for _keyword, _schema in {
    "contains": {"contains": {"pattern": "^(?=(a+)+$)b"}},
    "anyOf": {"items": {"anyOf": [{"pattern": r"^(a+)+\1$"}, {"pattern": "^(?=(a+)+$)b"}, {"type": "null"}]}},
    "oneOf": {"items": {"oneOf": [{"pattern": r"^(a+)+\1$"}, {"pattern": "^(?=(a+)+$)b"}, {"type": "null"}]}},
    "if": {"items": {"if": {"pattern": "^(?=(a+)+$)b"}, "then": False, "else": {"type": "null"}}},
    "not": {"items": {"not": {"pattern": r"^(a+)+\1$"}}},
    "unevaluatedItems": {"contains": {"pattern": r"(a|b)*\1c"}, "minContains": 0, "unevaluatedItems": False},
    "dependentSchemas": {"items": {"dependentSchemas": {"a": {"propertyNames": {"pattern": r"^(a+)+\1$"}}}}},
}.items():
    PATTERNS.holding(
        f"in {_keyword}", _schema, lambda _k=_keyword: [{"a" * 40 + "!": 1, "a": 1} if _k == "dependentSchemas" else "a" * 60 + "!"] * 2_000
    )
PATTERNS.holding("one wide automaton", {"pattern": "a.{4000}c"}, lambda: "ab" * 500_000)
PATTERNS.holding("counted groups", {"pattern": "(?:.{0,70}){70}$"}, lambda: "a" * 3_000)
PATTERNS.holding("wide, many texts", {"items": {"pattern": "(?:a?){900}a{900}b"}}, lambda: ["a" * 900] * 500)
PATTERNS.holding("quadratic search", {"pattern": "(x*)y"}, lambda: "x" * 4_000_000)
PATTERNS.holding("Unicode classes side by side", {"pattern": r"[\p{L}\p{N}]{300}$"}, lambda: "é" * 2_000_000)
PATTERNS.schema("1 MB", lambda: {"pattern": "(?:a|b)" * 150_000})
PATTERNS.schema("250 KB of letters", lambda: {"pattern": "a" * 250_000})
PATTERNS.schema("at its limit, of Unicode classes", lambda: {"pattern": r"\p{L}" * 1_000})
PATTERNS.schema("at its limit, of negated Unicode classes", lambda: {"pattern": r"[^\p{L}\p{N}]" * 350})
PATTERNS.schema("a class repeated 5,000 times", lambda: {"pattern": r"\w{5000}"})
PATTERNS.schema("a class repeated 5,000 times beside a look-ahead", lambda: {"pattern": r"(?=a)\w{5000}"})
PATTERNS.schema("repeats of repeats", lambda: {"pattern": "((((a{100}){100}){100}){100})"})
PATTERNS.schema("repeats of repeats of nothing", lambda: {"pattern": "(((((){1000}){1000}){1000}){1000})"})
PATTERNS.schema("a repeat of ten digits", lambda: {"pattern": "a{0,4294967295}"})
PATTERNS.schema("a repeat of 5,000 digits", lambda: {"pattern": "a{" + "9" * 5_000 + "}"})
PATTERNS.schema("3,000 groups in groups", lambda: {"pattern": "(" * 2_000 + "a" + ")" * 2_000})
PATTERNS.schema("2,000 look-aheads in look-aheads", lambda: {"pattern": "(?=" * 1_600 + "a" + ")" * 1_600})
PATTERNS.schema("2,000 look-behinds", lambda: {"pattern": "(?<=a)" * 800})
PATTERNS.schema("2,000 alternatives of look-aheads", lambda: {"pattern": "|".join(["(?=a)b"] * 800)})
PATTERNS.schema("2,400 of them", lambda: {"patternProperties": {f"^p{i}_[a-z]+$": {} for i in range(2_400)}})
PATTERNS.schema("400 of Unicode classes", lambda: {"patternProperties": {rf"^\p{{L}}{i}$": {} for i in range(400)}})
PATTERNS.schema("nonsense", lambda: {"pattern": "(["})
PATTERNS.schema("a class of all characters but a few", lambda: {"pattern": r"[^\d\D]" + r"[^\s\w\u{1F600}-\u{1F64F}]" * 200})
PATTERNS.schema("a class of 4,000 ranges", lambda: {"pattern": "[" + "".join(f"{chr(256 + 3 * i)}-{chr(257 + 3 * i)}" for i in range(1_600)) + "]"})
PATTERNS.schema("a range turned round, and flags", lambda: {"pattern": "(?xsmiU-u:[z-a])"})
PATTERNS.schema("a lone surrogate as an escape", lambda: {"pattern": r"\ud800"}, {})
PATTERNS.schema("words of a recursive pattern", lambda: {"pattern": r"(?<n>a|\((?&n)\))+(?P>n)\g<n>"})
PATTERNS.schema("a conditional", lambda: {"pattern": "(a)?(?(1)b|c)" * 300})

FORMATS: Final = Group("format")
_FORMATS: Final = {
    "date-time": "2026-01-01T00:00:00." + "0" * 4_000_000 + "Z",
    "date": "2026-01-01" + " " * 4_000_000,
    "time": "00:00:00." + "9" * 4_000_000 + "Z",
    "duration": "P" + "1Y" * 2_000_000,
    "email": "a" * 2_000_000 + "@" + "b." * 1_000_000,
    "idn-email": "é" * 2_000_000 + "@" + "é." * 1_000_000,
    "hostname": "a." * 2_000_000,
    "idn-hostname": "é" * 2_000_000,
    "ipv4": "1." * 2_000_000,
    "ipv6": "0:" * 2_000_000,
    "uri": "http://a/" + "%41" * 1_000_000,
    "uri-reference": "../" * 1_300_000,
    "uri-template": "{a}" * 1_300_000,
    "iri": "http://é/" + "é" * 2_000_000,
    "iri-reference": "é/" * 2_000_000,
    "json-pointer": "/~0" * 1_300_000,
    "relative-json-pointer": "1" * 4_000_000,
    "uuid": "0" * 4_000_000,
    "regex": "(a|b)" * 800_000,
}
_SHORT: Final = {
    "email": "user.name@example.org",
    "idn-email": "é" * 60 + "@" + "é." * 20 + "example",
    "idn-hostname": ".".join(["é" * 50] * 4),
    "hostname": ".".join(["xn--" + "a" * 50] * 4),
    "uri": "http://[::1]:99999/" + "%41" * 20,
    "uri-template": "{+a,b*,c:12}" * 10,
    "iri": "http://" + "é" * 50,
    "date-time": "2026-02-30T25:61:61.123456789+99:99",
    "regex": "^(a+)+$",
    "ipv6": "1:2:3:4:5:6:7::",
    "uuid": "01234567-89ab-cdef-0123-456789abcdeg",
}
for _format, _text in _FORMATS.items():
    FORMATS.holding(f"{_format}, 4 MB", {"format": _format}, lambda _t=_text: _t)
for _format, _text in _SHORT.items():
    FORMATS.holding(f"{_format}, 10,000 texts", {"items": {"format": _format}}, lambda _t=_text: [f"{_t}{i}" for i in range(10_000)])
FORMATS.holding("regex, repeats of repeats", {"format": "regex"}, lambda: "((((a{1000}){1000}){1000}){1000})")
FORMATS.holding("regex, Unicode classes", {"items": {"format": "regex"}}, lambda: [r"\p{L}{900}" + "a" * i for i in range(500)])
FORMATS.holding("regex, 100,000 groups in groups", {"format": "regex"}, lambda: "(" * 100_000 + ")" * 100_000)
FORMATS.holding("regex, look-aheads in look-aheads", {"format": "regex"}, lambda: "(?=" * 100_000 + ")" * 100_000)
FORMATS.holding("regex, 300,000 brackets", {"format": "regex"}, lambda: "[" * 300_000)
FORMATS.holding("regex, 10,000 that take long to compile", {"items": {"format": "regex"}}, lambda: [rf"[^\p{{L}}]{{0,{i % 900}}}(?=a)" for i in range(10_000)])
FORMATS.holding("regex as the name of a member", {"propertyNames": {"format": "regex"}}, lambda: {rf"\p{{L}}{{{i % 900}}}{i}": i for i in range(5_000)})
FORMATS.holding("1,000 formats that nobody knows", {"allOf": [{"format": f"f{i}"} for i in range(900)]}, lambda: "a")
FORMATS.holding("many formats at once", {"items": {"allOf": [{"format": each} for each in _FORMATS]}}, lambda: ["a.b@c.de"] * 5_000)
FORMATS.holding("not a format", {"items": {"not": {"format": "idn-hostname"}}}, lambda: [".".join(["é" * 50] * 4)] * 10_000)
FORMATS.add("in draft-07", lambda: whole({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"x": {"items": {"format": "idn-hostname"}}}}, {"x": [".".join(["é" * 50] * 4)] * 10_000}))
for _encoding in ("base64", "quoted-printable", "application/json"):
    _keyword = "contentMediaType" if "/" in _encoding else "contentEncoding"
    FORMATS.add(
        f"{_keyword} {_encoding} in draft-07",
        lambda _k=_keyword, _e=_encoding: whole(
            {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"x": {_k: _e}}}, {"x": "[" * 4_000_000}
        ),
    )
FORMATS.add(
    "contentMediaType, many, in draft-07",
    lambda: whole(
        {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"x": {"items": {"contentMediaType": "application/json"}}}},
        {"x": ["[" * 100 + "]" * 100] * 20_000},
    ),
)
