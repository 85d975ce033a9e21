"""Pairs of timings: ways of doing the same, in turns and in shuffled order, in CPU time; ratios with their intervals.

A machine that others use too is now faster, now slower. What is timed within a few milliseconds of each other suffers
alike, so each ratio is made within one block, and the median over all blocks is what counts. One way is timed twice,
under two names: where those two do not come out alike, nothing that was timed beside them is to be believed.
"""

from __future__ import annotations

import gc
import inspect
import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final

Way = Callable[[], object]

NULL: Final = "again"
"""The name of the first way's second series."""
NULL_BOUNDS: Final = (0.98, 1.02)
_SLICE: Final = 0.004
"""Seconds of CPU that a way gets in one block, or one call where that is more."""
_PATIENT: Final = 0.25
"""Seconds of a call from which on it is not made in every block."""
_BLOCKS_A_SECOND: Final = 6
"""Blocks that there are at least, for each second that was asked for: of what is slow there would be too few."""
_RESAMPLED: Final = 1_000
_TAIL: Final = 0.025


@dataclass(frozen=True)
class Ratio:
    """A median of paired ratios, and the bounds of its 95 % interval (bootstrap)."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{_figures(self.median)} ({_figures(self.low)} to {_figures(self.high)})"


@dataclass(frozen=True)
class Timings:
    """Seconds of CPU of one call, by way and block. The first way is the one that was timed twice."""

    series: Mapping[str, Mapping[int, float]]

    def seconds(self, way: str) -> float:
        """The median of one way."""
        return median(self.series[way].values())

    def ratio(self, way: str, to: str) -> Ratio:
        """One way's cost in those of another, block by block. Of the first way both series count."""
        ones, others = self._both(way), self._both(to)
        return resampled([ones[block] / others[block] for block in sorted(ones.keys() & others.keys())])

    @property
    def null(self) -> Ratio:
        """The first way against itself."""
        ones, others = self.series[NULL], self.series[self._first]
        return resampled([ones[block] / others[block] for block in ones])

    @property
    def _first(self) -> str:
        return next(iter(self.series))

    def _both(self, way: str) -> Mapping[int, float]:
        one = self.series[way]
        return {block: (one[block] + self.series[NULL][block]) / 2 for block in one} if way == self._first else one

    @property
    def void(self) -> bool:
        """Whether the same came out as different, so that nothing here counts."""
        return not NULL_BOUNDS[0] <= self.null.median <= NULL_BOUNDS[1]


def resampled(ratios: list[float]) -> Ratio:
    """Their median, and within what it stays when it is taken of samples of them."""
    chance = random.Random(len(ratios))  # noqa: S311  # no secret
    medians = sorted(median(chance.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLED))
    outside = int(_RESAMPLED * _TAIL)
    return Ratio(median(ratios), medians[outside], medians[-outside - 1])


async def compared(ways: Mapping[str, Way], *, seconds: float) -> Timings:
    """Time ways of doing the same for about so many seconds of CPU; the first one twice.

    A way is a function, or a coroutine function; what it gives is thrown away.
    """
    first = next(iter(ways.values()))
    named = {**ways, NULL: first}
    costs = {name: await _least(way) for name, way in named.items()}
    calls = {name: max(1, math.ceil(_SLICE / cost)) for name, cost in costs.items()}
    rarely = {name: math.ceil(cost / _PATIENT) for name, cost in costs.items()}
    series: dict[str, dict[int, float]] = {name: {} for name in named}
    chance = random.Random(len(named))  # noqa: S311  # no secret
    left, block, fewest = seconds, 0, max(3, math.ceil(seconds * _BLOCKS_A_SECOND))
    gc.collect()
    gc.freeze()  # what was made until now is looked through by no collection more
    while left > 0 or block < fewest:
        turns = [name for name in named if not block % rarely[name]]
        for name in chance.sample(turns, len(turns)):
            spent = await _spent(named[name], calls[name])
            series[name][block] = spent / calls[name]
            left -= spent
        block += 1
    gc.unfreeze()
    return Timings(series)


async def _least(way: Way) -> float:
    """What one call costs about: the second of two, as the first may load something."""
    await _spent(way, 1)
    return max(await _spent(way, 1), 1e-6)


async def _spent(way: Way, calls: int) -> float:
    """Seconds of CPU that so many calls took."""
    if inspect.iscoroutinefunction(way):
        began = time.process_time()
        for _ in range(calls):
            await way()
    else:
        began = time.process_time()
        for _ in range(calls):
            way()
    return time.process_time() - began


def _figures(number: float) -> str:
    return f"{number:.3f}" if number < 1 else f"{number:.2f}"
