"""`Sketch`: how many values there were of about which size, so that two of them add up exactly.

The buckets are DDSketch's (https://www.vldb.org/pvldb/vol12/p2195-masson.pdf), and so is what is read from them. Of the
library's own sketch neither the sum (of floats, whose order shows) nor the place of the buckets in memory is kept, and
none of its buckets are joined: what is left is a count for each bucket, and counts add up the same in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from ddsketch.mapping import LinearlyInterpolatedMapping

ACCURACY: Final = 0.02
"""A quantile is this near to the true one, as a share of it."""
LEAST: Final = 0.001
MOST: Final = 1e12
"""Values outside of these count as them, so that there is an end of the buckets: 1,246 at most."""


@final
@dataclass(frozen=True, slots=True)
class Sketch:
    """How many values fell into each bucket, by the bucket's number."""

    buckets: Mapping[int, int] = field(default_factory=dict[int, int])

    @property
    def count(self) -> int:
        """How many values there were."""
        return sum(self.buckets.values())

    def quantile(self, share: float) -> float | None:
        """The value that this share of the values does not exceed, to within 2 %; `None` where there were none.

        Raises:
            ValueError: `share` is not within 0 and 1.
        """
        from ddsketch.ddsketch import BaseDDSketch
        from ddsketch.store import DenseStore

        if not 0 <= share <= 1:
            raise ValueError(f"a share is between 0 and 1, not {share}")
        store = DenseStore()
        for bucket, number in self.buckets.items():
            store.add(bucket, number)
        read: float | None = BaseDDSketch(_mapping(), store, DenseStore(), 0.0).get_quantile_value(share)
        return read

    def __add__(self, other: Sketch) -> Sketch:
        if not isinstance(other, Sketch):
            return NotImplemented
        summed = dict(self.buckets)
        for bucket, number in other.buckets.items():
            summed[bucket] = summed.get(bucket, 0) + number
        return Sketch(summed)


def bucket_of(value: float) -> int:
    """The number of the bucket that a value falls into: the same on every machine."""
    return int(_mapping().key(min(max(value, LEAST), MOST)))


@cache
def _mapping() -> LinearlyInterpolatedMapping:
    from ddsketch.mapping import LinearlyInterpolatedMapping

    # takes the exponent off the float; the others ask the platform for a logarithm, whose last digit is not the same
    # everywhere
    return LinearlyInterpolatedMapping(ACCURACY)
