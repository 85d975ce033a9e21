"""`Kept`: which contracts of a set keep what they compiled: those used last, as many as there is room for."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Protocol, final

ROOM: Final = 128 << 20
"""Bytes of what is compiled at a time in one set of contracts, as `CompiledSchema.held` estimates them: some thousand
tools that are well described, at a hundred kilobytes each, or six of the dearest patterns that there may be."""


class Holder(Protocol):
    """What holds something that can be made again."""

    @property
    def held(self) -> int:
        """How many bytes it holds, about."""
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
        held = holder.held
        known = self._used.get(key)
        if known is not None:
            self._used.move_to_end(key)
            if known[1] == held:
                return
            self._size -= known[1]
        self._used[key] = holder, held
        self._size += held
        while self._size > ROOM and len(self._used) > 1:
            _, (oldest, size) = self._used.popitem(last=False)
            self._size -= size
            oldest.forget()
