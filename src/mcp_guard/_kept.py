"""`Kept`: which contracts of a set keep what they compiled: those used last, as many as there is room for."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Protocol, final

ROOM: Final = 1_000_000
"""Characters of the definitions that are compiled at a time in one set of contracts: some hundred tools that are well
described. A compiled schema was measured to take about a hundred bytes a character, and to be made in a millisecond."""


class Holder(Protocol):
    """What holds something that can be made again."""

    @property
    def size(self) -> int:
        """How much it counts for."""
        ...

    def forget(self) -> None:
        """Let go of it."""
        ...


@final
class Kept:
    """Those that hold something, in the order of their last use."""

    def __init__(self) -> None:
        self._used: OrderedDict[int, tuple[Holder, int]] = OrderedDict()
        self._size = 0

    def use(self, holder: Holder) -> None:
        """Take note that what it holds is used; where there is too much now, the one longest unused lets go of its."""
        key = id(holder)  # they are kept here, so that nothing else can have it
        if key in self._used:
            self._used.move_to_end(key)
            return
        self._used[key] = holder, holder.size
        self._size += holder.size
        while self._size > ROOM and len(self._used) > 1:
            _, (oldest, size) = self._used.popitem(last=False)
            self._size -= size
            oldest.forget()
