"""Equality and numbers of JSON, exactly, in time that grows with their size alone. Knows no engine.

No hash of a number or of a structure is trusted: what an attacker can foresee he can make collide. Only texts are put
into sets, since Python draws the key of their hashes at random.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from mcp_guard._canonical import is_array, is_object

Test = Callable[[Any], bool]
"""Whether a value satisfies one keyword."""

_SAFE: Final = 1 << 50
"""Below this a double is near enough to the integer that it was scaled from."""
_PLACES: Final = 9


def is_number(value: object) -> bool:
    """Whether a value is a JSON number; `True` is not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# --- equality


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
        kind = cast("type[object]", type(each))
        if kind is str:
            out.append(f'"{len(each)}:{each}')
        elif kind is int:
            out.append(f"{each:x};")
        elif kind is _Done:
            out.append(each)
        elif kind is dict or isinstance(each, dict):
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


def is_unique(values: list[Any]) -> bool:
    """Whether no two of the values are equal."""
    kinds = set(map(type, values))
    if kinds == {str}:
        return len(set(values)) == len(values)
    if kinds == {int}:
        return len(set(map(hex, values))) == len(values)
    if kinds == {float}:
        return len(set(map(float.hex, map((0.0).__add__, values)))) == len(values)  # -0.0 is 0.0
    return len(set(map(canonical, values))) == len(values)


def is_one_of(allowed: list[Any]) -> Test:
    """The test whether a value is equal to one of these."""
    if all(isinstance(each, str) for each in allowed):
        words = frozenset(allowed)
        return lambda value: type(value) is str and value in words
    texts = frozenset(map(canonical, allowed))
    kinds = {kind_of(each) for each in allowed}
    if len(allowed) == 1:
        only = allowed[0]  # what is not equal to Python is not: only `True` and 1 are too much alike
        return lambda value: kind_of(value) in kinds and value == only and canonical(value) in texts
    return lambda value: kind_of(value) in kinds and canonical(value) in texts


def kind_of(value: Any) -> tuple[type[object], int]:
    """What equal values have in common and is seen at once: the type, and how many members there are."""
    if is_object(value) or is_array(value):
        return (dict if is_object(value) else list), len(value)
    return (float if is_number(value) else cast("type[object]", type(value))), 0


# --- multiples


def multiples_of(number: float) -> Test:
    """The test whether a number is a multiple of this one, as jsonschema-rs has it.

    A whole number counts as it is, also where it came as a double; any other in the shortest digits that stand for it,
    so that 19.99 is a multiple of 0.01. No common divisor is looked for: of long integers that takes quadratic time.
    """
    digits, exponent = _decimal(number)
    if exponent == 0:
        return lambda value: _is_whole(value) and int(value) % digits == 0
    scale: int = 10**-exponent if exponent >= -_PLACES else 0

    def test(value: float) -> bool:
        if scale and type(value) is float and abs(value) * scale < _SAFE:
            nearest = round(value * scale)
            # both are rounded right, so that what is not equal has more places after the point
            return nearest % digits == 0 and nearest / scale == value
        its, power = _decimal(value)
        more: int = 10 ** abs(power - exponent)
        return its * more % digits == 0 if power >= exponent else its % (digits * more) == 0

    return test


def _is_whole(number: float) -> bool:
    return isinstance(number, int) or number.is_integer()


def _decimal(number: float) -> tuple[int, int]:
    """Digits and power of ten of a number."""
    if _is_whole(number):
        return int(number), 0
    digits, _, exponent = repr(number).partition("e")
    whole, _, fraction = digits.partition(".")
    return int(whole + fraction), int(exponent or 0) - len(fraction)


# --- keywords


def _unique_items(asked: Any, _parent: Any) -> Test:
    return lambda value: asked is not True or not is_array(value) or is_unique(value)


def _minimum(asked: Any, parent: Any) -> Test:
    if parent.get("exclusiveMinimum") is True:  # draft-04
        return lambda value: not is_number(value) or value > asked
    return lambda value: not is_number(value) or value >= asked


def _maximum(asked: Any, parent: Any) -> Test:
    if parent.get("exclusiveMaximum") is True:  # draft-04
        return lambda value: not is_number(value) or value < asked
    return lambda value: not is_number(value) or value <= asked


def _exclusive_minimum(asked: Any, _parent: Any) -> Test:
    return lambda value: asked is True or asked is False or not is_number(value) or value > asked


def _exclusive_maximum(asked: Any, _parent: Any) -> Test:
    return lambda value: asked is True or asked is False or not is_number(value) or value < asked


def _multiple_of(asked: Any, _parent: Any) -> Test:
    is_multiple = multiples_of(asked)
    return lambda value: not is_number(value) or is_multiple(value)


KEYWORDS: Final[dict[str, Callable[[Any, Any], Test]]] = {
    "minimum": _minimum,
    "maximum": _maximum,
    "exclusiveMinimum": _exclusive_minimum,
    "exclusiveMaximum": _exclusive_maximum,
    "multipleOf": _multiple_of,
    "const": lambda asked, _parent: is_one_of([asked]),
    "enum": lambda asked, _parent: is_one_of(asked),
    "uniqueItems": _unique_items,
}
"""How to make the test of a keyword out of its value and the schema that it stands in."""
