"""Answers one keyword in plain Python, in bounded time, where the engine can't be asked. No judgement of its own.

The engine knows ECMA patterns, every format, exact numbers and hashed uniqueness. Here is what is left without it: each
test either answers as the engine would, or raises `OutOfBudget` where it can't know that it would end in time.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, cast

from mcp_guard._dialects import URIS, Dialect
from mcp_guard._patterns import cost_of

Test = Callable[[Any], bool]
"""Whether a value satisfies one keyword."""

_BACKTRACKING: Final = 1_000_000
_POWER: Final = 6
_BIG_NUMBER: Final = 1 << 16
_LONG_TEXT: Final = 4_000


class OutOfBudget(Exception):  # noqa: N818  # a way out, not an error
    """The answer would take more work than is allowed."""


def plain_test(keyword: str, asked: Any, dialect: Dialect) -> Test:
    """The test of one of the keywords that the engine is asked about."""
    if keyword == "enum":
        allowed = {canonical(each) for each in asked}
        return lambda value: canonical(value) in allowed
    if keyword == "const":
        only = canonical(asked)
        return lambda value: canonical(value) == only
    if keyword == "uniqueItems":
        return lambda value: not asked or not isinstance(value, (list, tuple)) or _unique(cast("list[Any]", value))
    if keyword == "multipleOf":
        return lambda value: not is_number(value) or _multiple(value, asked)
    if keyword == "pattern":
        return _pattern(asked)
    if keyword == "format":
        return _format(asked, dialect)
    return lambda _: True  # contentEncoding, contentMediaType: annotations to everybody but the engine


def is_number(value: object) -> bool:
    """Whether a value is a JSON number; `True` is not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class _Done(str):
    """Text that is finished, among values that are not."""

    __slots__ = ()


def canonical(value: Any) -> str:
    """One text for each JSON value: equal exactly where the values are. Iterative: the depth is the server's to choose.

    A text and not nested tuples, since the hash of a text can't be foreseen and that of a number can.
    """
    out: list[str] = []
    todo: list[Any] = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, _Done):
            out.append(each)
        elif isinstance(each, str):
            out.append(f'"{len(each)}:{each}')
        elif isinstance(each, dict):
            todo.append(_Done("}"))
            members = cast("dict[str, Any]", each)
            for key in sorted(members, reverse=True):
                todo += (members[key], key)
            out.append("{")
        elif isinstance(each, (list, tuple)):
            todo.append(_Done("]"))
            todo.extend(reversed(cast("list[Any]", each)))
            out.append("[")
        else:
            out.append(_scalar(each))
    return "".join(out)


def _scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return f"{value};"
    if isinstance(value, float) and not value.is_integer():
        return f"{value.hex()};"
    return f"{int(value):x};"


def _unique(values: list[Any]) -> bool:
    seen: set[str] = set()
    for each in values:
        text = canonical(each)
        if text in seen:
            return False
        seen.add(text)
    return True


def _multiple(value: float, of: float) -> bool:
    for number in (value, of):
        if isinstance(number, int) and number.bit_length() > _BIG_NUMBER:
            raise OutOfBudget
    # by the decimal digits that were sent, so that 19.99 is a multiple of 0.01
    return (_exact(value) / _exact(of)).denominator == 1


def _exact(number: float) -> Fraction:
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _format(name: str, dialect: Dialect) -> Test:
    from jsonschema import validators

    schema = {"$schema": URIS[dialect]}
    checker = validators.validator_for(schema).FORMAT_CHECKER

    def test(value: Any) -> bool:
        if isinstance(value, str) and len(value) > _LONG_TEXT:
            raise OutOfBudget
        return bool(checker.conforms(value, name))

    return test


def _pattern(pattern: str) -> Test:
    work = backtracking(pattern)
    compiled: re.Pattern[str] | None = None
    if work is not None:
        try:
            with warnings.catch_warnings():  # what Python thinks of a server's pattern is nothing for the user
                warnings.simplefilter("ignore")
                compiled = re.compile(_TOKEN.sub(lambda m: _as_python(m[0]), pattern), re.ASCII)
        except (re.error, RecursionError, OverflowError):
            compiled = None

    def test(value: Any) -> bool:
        if not isinstance(value, str):
            return True
        if compiled is None or work is None or (len(value) + 1) ** work[0] * work[1] > _BACKTRACKING:
            raise OutOfBudget
        return compiled.search(value) is not None

    return test


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
    power, times, after_group = 1, 1, False
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
            times *= max(1, int(high or low) - int(low) + 1)
        if power > _POWER or times > _BACKTRACKING:
            return None
    return power, times


def engine_steps(pattern: str) -> Callable[[int], int]:
    """What the engine may spend on a text of a given length, in steps of the explanation.

    It does in linear time what a finite automaton can do. A pattern that looks around or back is another matter where
    it also repeats a group or has several open repeats: the engine gives it up after some steps of its own.
    """
    cost = cost_of(pattern)
    if not cost.fancy:
        return lambda length: length * cost.width >> 14
    power = sum(part in ("*", "+") or part.endswith(",}") for part in _TOKEN.findall(pattern))
    grows = 2 if _REPEATED_GROUP.search(pattern) else 1
    return lambda length: min(_GIVING_UP, length ** min(power, 8) * grows ** min(length, 20) >> 8)


_REPEATED_GROUP: Final = re.compile(r"\)[*+{]")
_GIVING_UP: Final = 200
