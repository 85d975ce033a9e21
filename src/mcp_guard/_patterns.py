"""Estimates what a regular expression costs, from its text alone: to compile, and to hold against a text. Runs none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_CEILING: Final = 1 << 40
_FANCY: Final = re.compile(r"\(\?(?:[=!>]|<[=!])|\\(?:[1-9]|k<)|[*+?}]\+")
"""Look-around, back references, atomic groups, possessive repeats: what no automaton does, only backtracking."""
_TOKEN: Final = re.compile(
    r"(?P<wide>\\[pP](?:\{[^}]*\}|.))"
    r"|(?P<shorthand>\\[wWdDsS])"
    r"|(?P<literal>\\.|[^\\\[(){}|*+?.^$])"
    r"|(?P<negated>\.|\[\^(?:\\.|[^\]\\])*\])"
    r"|(?P<listed>\[(?:\\.|[^\]\\])*\])"
    r"|(?P<open>\((?:\?(?:<?[=!]|[:>]|<\w+>|[a-zA-Z-]+:?))?)"
    r"|(?P<close>\))"
    r"|(?P<repeat>\{(?P<least>\d{1,12})(?P<more>,(?P<most>\d{0,12}))?\}|[*+?])"
    r"|(?P<other>.)",
    re.DOTALL,
)
_MICROSECONDS: Final = {"wide": 300, "negated": 6, "listed": 4, "literal": 1, "shorthand": 6, "other": 1}
_WIDE: Final = re.compile(r"\\[pP]")
"""A class of Unicode: hundreds of ranges, wherever it stands."""
_CLASSES: Final = frozenset({"listed", "negated"})
_BASE, _BASE_FANCY, _GROUP_FANCY, _SHORTHAND_FANCY = 40, 220, 60, 60
_NARROW: Final = 12
"""So few places of a text's automaton can't make it large."""


@dataclass(frozen=True, slots=True)
class PatternCost:
    """What one pattern costs."""

    length: int
    """Its atoms, repeats written out."""
    compiling: int
    """Microseconds, about."""
    fancy: bool
    """Whether it needs backtracking."""
    width: int
    """Places at which matching may stand at once: what each character of a text costs."""


@lru_cache(maxsize=512)
def cost_of(pattern: str) -> PatternCost:
    """The cost of one pattern. Anything is read, also what is no pattern."""
    fancy = _FANCY.search(pattern) is not None
    each = {**_MICROSECONDS, "shorthand": _SHORTHAND_FANCY} if fancy else _MICROSECONDS
    compiling = (_BASE_FANCY if fancy else _BASE) + _GROUP_FANCY * fancy * pattern.count("(")
    # of each open group: atoms and microseconds so far, and those of the last atom
    groups: list[list[int]] = [[0, 0, 0, 0]]
    fixed: int | None = None if pattern.startswith("^") else 0
    for token in _TOKEN.finditer(pattern):
        kind = token.lastgroup if token["repeat"] is None else "repeat"
        top = groups[-1]
        if kind == "repeat":
            times = _times(token)
            if fixed is None and (token["least"] is None or token["more"] is not None):
                fixed = groups[0][0] - (top[2] if len(groups) == 1 else 0)
            for total, last in ((0, 2), (1, 3)):
                top[total] = min(top[total] + top[last] * (times - 1), _CEILING)
                top[last] = min(top[last] * times, _CEILING)
        elif kind == "open":
            groups.append([0, 0, 0, 0])
        elif kind == "close":
            if len(groups) > 1:
                inner = groups.pop()
                _append(groups[-1], inner[0], inner[1])
        else:
            if token[0] == "|" and fixed is None:
                fixed = 0 if len(groups) == 1 else groups[0][0]
            # a class costs by its characters, as often as it is repeated
            more = (len(token[0]) >> 2) + each["wide"] * len(_WIDE.findall(token[0])) if kind in _CLASSES else 0
            _append(top, 1, each[kind or "other"] + more)
    while len(groups) > 1:
        inner = groups.pop()
        _append(groups[-1], inner[0], inner[1])
    length = groups[0][0]
    # up to where a match has to begin at the start and every step is taken once, it stands at one place
    width = 1 if fixed is None else max(length - fixed, 1)
    width = 2 if width <= _NARROW else width
    return PatternCost(length, min(compiling + groups[0][1], _CEILING), fancy, width)


def _append(group: list[int], atoms: int, microseconds: int) -> None:
    group[0] += atoms
    group[1] += microseconds
    group[2], group[3] = atoms, microseconds


def _times(token: re.Match[str]) -> int:
    if token["least"] is None:
        return 1
    return max(int(token["least"]), int(token["most"] or 0), 1)
