"""Answers one keyword in plain Python, and says beforehand how long that takes. No judgement of its own.

Equality and numbers are answered here always, see `_exact`. Patterns and formats only where there is no engine: a test
answers as the engine would, or raises `OutOfBudget` where it can't know that it would end in time.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

from mcp_guard._dialects import URIS, Dialect
from mcp_guard._exact import KEYWORDS, Test, kind_of
from mcp_guard._patterns import cost_of

Weigh = Callable[[Any], int]
"""How many values there are in a value."""

_BACKTRACKING: Final = 1_000_000
_POWER: Final = 6
_LONG_TEXT: Final = 4_000
_SQUARED: Final = 100_000
"""Squares of an integer's bits that are divided in one step."""


class OutOfBudget(Exception):  # noqa: N818  # a way out, not an error
    """The answer would take more work than is allowed."""


Steps = Callable[[Any, Weigh], int]
"""How many steps of an explanation one answer about a value takes: about a microsecond each."""


def _none(_value: Any, _weigh: Weigh) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Priced:
    """A test, and what one answer takes."""

    test: Test
    steps: Steps = _none


def exact_test(keyword: str, asked: Any) -> Priced:
    """The test of a keyword of which `_exact` knows the meaning."""
    test = KEYWORDS[keyword](asked, {})
    if keyword == "uniqueItems":
        return Priced(test, lambda value, weigh: weigh(value) >> 1)
    if keyword in {"enum", "const"}:
        named = cast("list[Any]", asked if keyword == "enum" else [asked])
        allowed = set(map(kind_of, named))
        return Priced(test, lambda value, weigh: weigh(value) >> 1 if kind_of(value) in allowed else 0)
    return Priced(test, lambda value, _: value.bit_length() ** 2 // _SQUARED if isinstance(value, int) else 0)


def plain_test(keyword: str, asked: Any, dialect: Dialect) -> Priced:
    """The test of any other keyword without subschemas, without the engine."""
    if keyword == "pattern":
        return _pattern(asked)
    if keyword == "format":
        return _format(asked, dialect)
    # contentEncoding, contentMediaType: annotations to everybody but the engine
    return Priced(lambda _: True)


def steps_to_make(keyword: str, asked: Any, weigh: Weigh, *, plain: bool) -> int:
    """The steps that making a test takes."""
    if keyword in KEYWORDS:
        return 10 + (weigh(asked) >> 1)
    if keyword == "pattern":
        return 30 + 2 * len(asked) if plain else 10 + cost_of(asked).compiling
    return 10


def _format(name: str, dialect: Dialect) -> Priced:
    from jsonschema import validators

    schema = {"$schema": URIS[dialect]}
    checker = validators.validator_for(schema).FORMAT_CHECKER

    def test(value: Any) -> bool:
        if isinstance(value, str) and len(value) > _LONG_TEXT:
            raise OutOfBudget
        return bool(checker.conforms(value, name))

    known, character = name in checker.checkers, _A_CHARACTER.get(name, 1)
    return Priced(test, lambda value, _: 5 + character * len(value) if known and isinstance(value, str) else 0)


_A_CHARACTER: Final = {"idn-hostname": 3, "idn-email": 3, "regex": 15}
"""Steps for each character: regular expressions are compiled, names of hosts encoded."""


def _pattern(pattern: str) -> Priced:
    work = backtracking(pattern)
    compiled: re.Pattern[str] | None = None
    if work is not None:
        try:
            with warnings.catch_warnings():  # what Python thinks of a server's pattern is nothing for the user
                warnings.simplefilter("ignore")
                compiled = re.compile(_TOKEN.sub(lambda m: _as_python(m[0]), pattern), re.ASCII)
        except (re.error, RecursionError, OverflowError):
            compiled = None

    def most(value: str) -> int:
        return _BACKTRACKING + 1 if work is None else (len(value) + 1) ** work[0] * work[1]

    def test(value: Any) -> bool:
        if not isinstance(value, str):
            return True
        if compiled is None or most(value) > _BACKTRACKING:
            raise OutOfBudget
        return compiled.search(value) is not None

    return Priced(test, lambda value, _: min(most(value), _BACKTRACKING) >> 6 if isinstance(value, str) else 0)


def _as_python(token: str) -> str:
    # to Python `$` is also the place before a last newline, and `.` and `\\s` are other characters
    if token[0] == "[":
        return token.replace(r"\s", _SPACE)
    return {"$": r"\Z", ".": r"[^\n\r\u2028\u2029]", r"\s": f"[{_SPACE}]", r"\S": f"[^{_SPACE}]"}.get(token, token)


_SPACE: Final = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?:|\(\?|\{\d+(?:,\d*)?\}|.", re.DOTALL)
_FOREIGN: Final = re.compile(r"\\[1-9AZacCkpPuUx]|\[.*\\[1-9AZabBcCkpPSuUx]", re.DOTALL)
"""Escapes that refer back, or that mean something else to Python than to ECMA."""


def backtracking(pattern: str) -> tuple[int, int] | None:
    """An upper bound of the work of a search: the length to which power, times what. `None`: there is no safe bound."""
    # a search begins at every place, and what repeats a fixed number of times is gone through from there
    power, times, after_group = 1, max(cost_of(pattern).length, 1), False
    for part in _TOKEN.findall(pattern):
        repeats = part in ("*", "+", "?") or (part[0] == "{" and len(part) > 1)
        if part == "(?" or _FOREIGN.match(part) or (repeats and after_group):
            return None
        after_group = part == ")"
        if part in ("*", "+") or (repeats and part.endswith(",}")):
            power += 1
        elif part in ("?", "|"):
            times *= 2
        elif repeats:
            low, _, high = part[1:-1].partition(",")
            if max(len(low), len(high)) > _DIGITS:
                return None
            times *= max(1, int(high or low) - int(low) + 1)
        if power > _POWER or times > _BACKTRACKING:
            return None
    return power, times


_DIGITS: Final = 5
