"""Estimates what a regular expression costs, from its text alone: to compile, and to hold against a text. Runs none."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
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
_LOOSE: Final = 45
_LARGE, _LARGE_COST = 200, 3
"""Automata that are made a step at a time, as none of them is ready, take 45 units for each character and one more for
each place; two where characters are of several bytes; three of many places."""
_MULTIBYTE: Final = re.compile(r"\\[pPSWDux]|\[\^|(?<!\\)\.|[^\x00-\x7f]|\(\?[a-z]*i")
_READ, _TURN, _PLACE = 2, 60, 7
"""Nanoseconds for each character that an automaton reads, for each turn of a repeat round what is none, for a unit."""
_FEW, _SHORT = 20, 64
"""So few times and so few atoms are read at no cost worth counting."""
_REFERENCE: Final = re.compile(r"\\[1-9k]")
_AHEAD: Final = ("(?=", "(?!")
_AROUND: Final = (*_AHEAD, "(?<=", "(?<!", "(?>")


Powers = tuple[tuple[int, int], ...]
"""Powers of a text's length, and nanoseconds for each unit of them."""


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
    """Places at which matching may stand at once."""
    character: int
    """Units of `_roles` that each character of a text costs."""
    looks: int = 0
    """Look-aheads at fixed places, where an automaton does all else: so often it steps back at most, and no more."""
    first: Powers = ()
    """Else what one run over a text takes, up to the first step back: look-ahead in a repeat may read all of the text
    at each character."""
    again: Powers = ()
    """The same after each step back."""


@lru_cache(maxsize=512)
def cost_of(pattern: str) -> PatternCost:
    """The cost of one pattern. Anything is read, also what is no pattern."""
    fancy = _FANCY.search(pattern) is not None
    each = {**_MICROSECONDS, "shorthand": _SHORTHAND_FANCY} if fancy else _MICROSECONDS
    compiling = (_BASE_FANCY if fancy else _BASE) + _GROUP_FANCY * fancy * pattern.count("(")
    # of each open group: atoms and microseconds so far, and those of the last atom
    groups: list[list[int]] = [[0, 0, 0, 0]]
    fixed: int | None = None if pattern.startswith("^") else 0
    loose = fixed
    for token in _TOKEN.finditer(pattern):
        kind = token.lastgroup if token["repeat"] is None else "repeat"
        top = groups[-1]
        if kind == "repeat":
            times = _times(token)
            start = groups[0][0] - (top[2] if len(groups) == 1 else 0)
            end = start + (times if len(groups) == 1 and top[2] == 1 else 0)
            varies = token["least"] is None or token["more"] is not None
            fixed, loose = _first(fixed, start, varies), _first(loose, end, varies and token[0] != "?")
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
            outermost = len(groups) == 1
            fixed = _first(fixed, 0 if outermost else groups[0][0], token[0] == "|")
            loose = _first(loose, 0, token[0] == "|" and outermost)
            # a class costs by its characters, as often as it is repeated
            more = (len(token[0]) >> 2) + each["wide"] * len(_WIDE.findall(token[0])) if kind in _CLASSES else 0
            _append(top, 1, each[kind or "other"] + more)
    while len(groups) > 1:
        inner = groups.pop()
        _append(groups[-1], inner[0], inner[1])
    length = groups[0][0]
    # up to where a match has to begin at the start and every step is taken once, it stands at one place
    width = 1 if fixed is None else max(length - fixed, 1)
    if width > _NARROW and pattern.startswith("^") and not fancy:
        width = min(width, _places(pattern, width))
    width = 2 if width <= _NARROW else width
    character = _per_character(pattern, width, 0 if loose is None else length - loose)
    cost = PatternCost(length, min(compiling + groups[0][1], _CEILING), fancy, width, character)
    return _looking(pattern, cost) if fancy else cost


def _places(pattern: str, most: int) -> int:
    """At how many places matching may stand at once, where it begins at the start: no more than it may be late by."""
    groups: list[list[int]] = []
    places, late = 1, 1
    last = (0, 0, 0)  # of what was read last: atoms, by how many it may be late, and places that is not the reason of
    for token in _TOKEN.finditer(pattern[1:]):
        if token["repeat"] is not None:
            least, top = (0, 1) if token["least"] is None else (int(token["least"]), _times(token))
            endless = token[0] in {"*", "+"} or (token["more"] is not None and not token["most"])
            differs = _CEILING if endless or (last[1] and top > 1) else last[0] * (top - least)
            last = (last[0] * top, max(last[1], differs), last[2] * top)
            continue
        if groups:
            groups[-1][0] += last[0]
            groups[-1][1] += last[1]
        else:
            places, late = places + max(min(last[0], late), last[2]), min(late + last[1], _CEILING)
        last = (1, 0, 0)
        if token["open"] is not None:
            groups.append([0, 0])
            last = (0, 0, 0)
        elif token[0] == "|":
            if not groups:
                return most
            groups[-1][1] = _CEILING
        elif token["close"] is not None and groups:
            atoms, differs = groups.pop()
            last = (atoms, differs, atoms if differs else 0)
    return places + max(min(last[0], late), last[2])


def _first(known: int | None, here: int, found: bool) -> int | None:  # noqa: FBT001  # what it is about
    return here if known is None and found else known


def _per_character(pattern: str, width: int, behind: int) -> int:
    """Units for each character: `behind` so many places, matching may stand at many of them at once."""
    units = width * (_LARGE_COST if width > _LARGE else 1)
    if min(width, behind) <= _NARROW:
        return units
    return max(units, width * (1 + (_MULTIBYTE.search(pattern) is not None)) + _LOOSE)


def _append(group: list[int], atoms: int, microseconds: int) -> None:
    group[0] += atoms
    group[1] += microseconds
    group[2], group[3] = atoms, microseconds


@dataclass(slots=True)
class _Group:
    """A group or an atom, as far as it was read. `hard`: an automaton can't do it. Powers are of a text's length."""

    opened: str = ""
    hard: bool = False
    power: int = 0
    """What reading it takes, with no step back."""
    lost: int = 0
    """The same of what it may read and not go past: look-around, and alternatives that an automaton tries at once."""
    loops: int = 0
    """The same in turns of repeats round what is hard."""
    deep: int = 0
    """The same of such as are inside look-around. Others can be begun again only by as many steps back."""
    atoms: int = 0
    run: int = 0
    """Places of the automaton at which reading what was read last may stand at once."""
    forks: bool = False
    """It has alternatives."""
    varies: bool = False
    """It has repeats or alternatives, look-around aside."""

    def take(self, part: _Group) -> None:
        """It goes on with this part."""
        self.power, self.lost = max(self.power, part.power), max(self.lost, part.lost)
        self.loops, self.deep = max(self.loops, part.loops), max(self.deep, part.deep)
        self.atoms += part.atoms
        if part.hard:
            self.run = 0
        elif self.run or part.varies:
            self.run += part.atoms if self.run or part.opened else 1


def _looking(pattern: str, cost: PatternCost) -> PatternCost:
    """What the look-around and the back references of a pattern cost."""
    groups = [_Group()]
    looks: list[tuple[int, int]] = []
    plain, last, repeated, widest, begun = pattern.startswith("^"), _Group(), False, 0, [0]
    for token in _TOKEN.finditer(pattern):
        top = groups[-1]
        if token["repeat"] is not None:
            top.varies = True
            if repeated:
                top.hard = top.hard or token[0] == "+"  # a possessive one
            else:
                _repeat(last, token)
                top.take(last)
                widest = max(widest, top.run)
            plain = plain and not (last.hard and len(groups) == 1) and not groups[0].hard
            repeated = True
            continue
        repeated = False
        if token["open"] is not None:
            groups.append(_Group(token[0]))
            begun.append(token.start())
            continue
        start = token.start()
        if token["close"] is None:
            last = _Group(hard=True, power=1) if _REFERENCE.match(token[0]) else _Group(atoms=1)
            top.forks = top.forks or token[0] == "|"
            top.varies = top.varies or top.forks
            plain = plain and not (token[0] == "|" and len(groups) == 1)
        elif len(groups) > 1:
            last, top, start = groups.pop(), groups[-1], begun.pop()
        easy, around = not last.hard, last.opened.startswith(_AROUND)
        _end(last, around=around)
        if len(groups) == 1 and last.hard:
            looks.append((start, token.end()))
            plain = plain and easy and last.opened.startswith(_AHEAD) and not top.varies
        top.varies = top.varies or (last.varies and not around)
        top.hard = top.hard or (last.hard and len(groups) > 1)
        top.take(last)
        widest = max(widest, top.run)
    if plain and len(groups) == 1:
        return replace(cost, looks=len(looks), character=_apart(pattern, looks)) if looks else cost
    for part in groups[:0:-1]:  # not closed: no pattern
        groups[0].take(part)
    whole = groups[0]
    character, read = (2, _READ) if widest <= _NARROW else (cost.character, _PLACE * cost.character)
    return replace(
        cost,
        character=character,
        first=((max(whole.power, 1), read), (whole.loops, _TURN)),
        again=((max(whole.lost, 1), read), (whole.deep, _TURN)),
    )


def _apart(pattern: str, looks: list[tuple[int, int]]) -> int:
    """Units for each character of a text, where the automata of some look-aheads and that of all else go over it."""
    units, rest, end = 0, "", 0
    for start, after in looks:
        units += cost_of(f"^{pattern[start + len(_AHEAD[0]) : after - 1]}").character
        rest, end = rest + pattern[end:start], after
    return units + cost_of(rest + pattern[end:]).character


def _end(part: _Group, *, around: bool) -> None:
    """Take a group or an atom as a part of what is round it."""
    part.power = max(part.power, int(part.atoms > _SHORT))
    if around:
        # what it has tried is thrown away at its end, with no step back
        part.lost = part.power
        part.deep = part.loops = max(part.loops, int(part.hard and part.power > 0))
        part.hard = True
    elif part.forks and not part.hard:
        part.lost = part.power


def _repeat(part: _Group, token: re.Match[str]) -> None:
    """Turn what was read last into what it is when it is repeated."""
    if token["least"] is None:
        most = 1 if token[0] == "?" else _CEILING
    else:
        most = _CEILING if token["more"] is not None and not token["most"] else _times(token)
    part.varies = part.varies or token["least"] is None or token["more"] is not None
    if part.hard and most > 1:
        part.power, part.loops = max(part.power, part.lost + 1), max(part.loops, part.deep + 1)
    elif not part.hard:
        part.power = max(part.power, int(part.atoms * most > _FEW))
        part.lost = part.power if part.opened else part.lost
    part.atoms *= min(_times(token), _SHORT)


def _times(token: re.Match[str]) -> int:
    if token["least"] is None:
        return 1
    return max(int(token["least"]), int(token["most"] or 0), 1)
