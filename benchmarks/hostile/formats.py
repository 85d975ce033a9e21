"""Formats and encodings: long texts, many texts, and what makes an implementation work."""

from __future__ import annotations

from functools import partial
from typing import Final

from benchmarks.hostile._case import DRAFT_7, Group, whole

FORMATS: Final = Group("format")

_LONG: Final = {
    "date-time": ("2026-01-01T00:00:00.", "0", "Z"),
    "date": ("2026-01-01", " ", ""),
    "time": ("00:00:00.", "9", "Z"),
    "duration": ("P", "1Y", ""),
    "email": ("", "a", "@b.c"),
    "idn-email": ("", "é", "@é.c"),
    "hostname": ("", "a.", "b"),
    "idn-hostname": ("", "é", ""),
    "ipv4": ("", "1.", "1"),
    "ipv6": ("", "0:", ""),
    "uri": ("http://a/", "%41", ""),
    "uri-reference": ("", "../", ""),
    "uri-template": ("", "{a}", ""),
    "iri": ("http://é/", "é", ""),
    "iri-reference": ("", "é/", ""),
    "json-pointer": ("", "/~0", ""),
    "relative-json-pointer": ("", "1", ""),
    "uuid": ("", "0", ""),
    "regex": ("", "(a|b)", ""),
}
_HOST: Final = ".".join(["é" * 50] * 4)
_SHORT: Final = {
    "email": "user.name@example.org",
    "idn-email": "é" * 60 + "@" + _HOST,
    "idn-hostname": _HOST,
    "hostname": ".".join(["xn--" + "a" * 50] * 4),
    "uri": "http://[::1]:99999/" + "%41" * 20,
    "uri-template": "{+a,b*,c:12}" * 10,
    "iri": "http://" + "é" * 50,
    "date-time": "2026-02-30T25:61:61.123456789+99:99",
    "regex": "^(a+)+$",
    "ipv6": "1:2:3:4:5:6:7::",
    "uuid": "01234567-89ab-cdef-0123-456789abcdeg",
}


def _long(before: str, part: str, after: str) -> str:
    return before + part * (4_000_000 // len(part)) + after


def _many(text: str, count: int = 10_000) -> list[str]:
    return [f"{text}{i}" for i in range(count)]


FORMATS.members(
    {f"{name}, on 4 MB": ({"format": name}, partial(_long, *parts)) for name, parts in _LONG.items()}, heavy=True
)
FORMATS.members(
    {f"{name}, on 10,000 texts": ({"items": {"format": name}}, partial(_many, text)) for name, text in _SHORT.items()}
)
FORMATS.members(
    {
        "idn-hostname, on 30,000 texts": ({"items": {"format": "idn-hostname"}}, partial(_many, _HOST, 30_000)),
        "regex, repeats of repeats": ({"format": "regex"}, lambda: "((((a{1000}){1000}){1000}){1000})"),
        "regex, of Unicode classes": (
            {"items": {"format": "regex"}},
            lambda: [r"\p{L}{900}" + "a" * i for i in range(500)],
        ),
        "regex, 100,000 groups in groups": ({"format": "regex"}, lambda: "(" * 100_000 + ")" * 100_000),
        "regex, 100,000 look-aheads": ({"format": "regex"}, lambda: "(?=" * 100_000 + ")" * 100_000),
        "regex, 300,000 brackets": ({"format": "regex"}, lambda: "[" * 300_000),
        "regex, 10,000 that are long to compile": (
            {"items": {"format": "regex"}},
            lambda: [rf"[^\p{{L}}]{{0,{i % 900}}}(?=a)" for i in range(10_000)],
        ),
        "regex, for the names of members": (
            {"propertyNames": {"format": "regex"}},
            lambda: {rf"\p{{L}}{{{i % 900}}}{i}": i for i in range(5_000)},
        ),
        "900 that nobody knows": ({"allOf": [{"format": f"f{i}"} for i in range(900)]}, lambda: "a"),
        "all of them, on 5,000 texts": (
            {"items": {"allOf": [{"format": name} for name in _LONG]}},
            lambda: ["a.b@c.de"] * 5_000,
        ),
        "under not": ({"items": {"not": {"format": "idn-hostname"}}}, partial(_many, _HOST)),
        "in 60,000 rows, all wrong": (
            {"items": {"properties": {"at": {"format": "date-time"}}}},
            lambda: [{"at": "yesterday"} for _ in range(60_000)],
        ),
        "in 60,000 rows, the last wrong": (
            {"items": {"properties": {"at": {"format": "date-time"}}}},
            lambda: [{"at": "2026-01-01T00:00:00Z"} for _ in range(60_000)] + [{"at": "x"}],
        ),
    }
)
for _keyword, _asked, _value in (
    ("contentEncoding", "base64", "A" * 4_000_000),
    ("contentMediaType", "application/json", "[" * 4_000_000),
    ("format", "idn-hostname", _HOST * 100),
):
    FORMATS.add(
        f"{_keyword} in draft-07",
        partial(whole, {"$schema": DRAFT_7, "properties": {"x": {_keyword: _asked}}}, {"x": _value}),
    )
FORMATS.add(
    "contentMediaType in draft-07, on 20,000 texts",
    partial(
        whole,
        {"$schema": DRAFT_7, "properties": {"x": {"items": {"contentMediaType": "application/json"}}}},
        {"x": ["[" * 100 + "]" * 100] * 20_000},
    ),
)
