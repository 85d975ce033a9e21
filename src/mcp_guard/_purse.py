"""What an explanation may still ask the engine, and what a question about a part of a value costs. Asks nothing.

The engine can't be interrupted. What one look of it at all of the value costs at most was estimated before, and what a
question about a part costs can be no more; of small parts it is known better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from mcp_guard._effort import BUDGET
from mcp_guard._facts import is_object

_MOST_COUNTED: Final = 1_000
_COUNTED_A_STEP: Final = 2
"""2 ** 2 values are counted in the time of one step."""
_LARGE: Final = 4
_ALL: Final = 1 << 30
_COUNTED_IN_ALL: Final = 4
_CONTAINERS: Final = frozenset({dict, list})


@dataclass(frozen=True, slots=True)
class Means:
    """What was found out about a value and its schema when it was decided, in units of `_roles`."""

    left: int = BUDGET
    """What all questions together may cost."""
    whole: int = BUDGET // 16
    """One look at all of the value."""
    each: int = 20
    """One value of it, its text aside."""
    character: int = 2
    """One character of its text."""
    more: int = 0
    """More for each look: what all patterns may backtrack together."""


class Purse:
    """The means of one explanation, as they are spent."""

    def __init__(self, means: Means) -> None:
        self._left = means.left
        self._means = means
        self._prices: dict[int, int] = {}
        self._large = 0

    def pays(self, units: int, *, share: int) -> bool:
        """Pay for a question, if it is no more than that share of what is left."""
        if units * share > self._left:
            return False
        self._left -= units
        return True

    def price(self, value: Any, spend: Callable[[int], None]) -> int:
        """What one look at a part of the value costs at most. `spend` counts the steps that finding out takes."""
        means = self._means
        if type(value) is str:
            return min(means.each + len(value) * means.character + means.more, means.whole)
        if type(value) not in _CONTAINERS:
            return min(means.each, means.whole)
        price = self._prices.get(id(value))
        return self._counted(value, spend) if price is None else price

    def _counted(self, value: Any, spend: Callable[[int], None]) -> int:
        """Count a container, and with it all that it holds. What is large costs as much as the whole.

        On the way down through a deep value that is found again and again; then all below is counted once.
        """
        most = _MOST_COUNTED if self._large < _LARGE else _ALL
        found: list[Any] = [value]
        above, values, characters = [0], [1], [0]
        count = 0
        for index, each in enumerate(found):  # which grows on the way
            count += len(each)
            if count > most:
                self._large += 1
                spend(index >> _COUNTED_A_STEP)
                self._prices[id(value)] = self._means.whole
                return self._means.whole
            members: Any = each
            if is_object(each):
                members = each.values()
                characters[index] += sum(map(len, each))
            values[index] += len(each)
            for member in members:
                if type(member) is str:
                    characters[index] += len(member)
                elif member and type(member) in _CONTAINERS:
                    found.append(member)
                    above.append(index)
                    values.append(0)
                    characters.append(0)
        spend(count >> (_COUNTED_A_STEP if most < _ALL else _COUNTED_IN_ALL))
        means = self._means
        for index in range(len(found) - 1, -1, -1):
            price = values[index] * means.each + characters[index] * means.character + means.more
            self._prices[id(found[index])] = min(price, means.whole)
            if index:
                values[above[index]] += values[index]
                characters[above[index]] += characters[index]
        return self._prices[id(value)]
