"""Buckets: a signal as steps, each with what is known of the cells inside.

A bucket knows the exact sum of its cells, at most how far they spread about their mean, and a least
and a most for each of them. A range that cuts through a bucket is then known between sure ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.synopsis import Floats, Ints


@dataclass(frozen=True, slots=True)
class Buckets:
    """Adjacent buckets over cells `edges[0]` to `edges[-1]`.

    Parameters
    ----------
    edges
        Where each bucket begins, and the end of the last.
    sums
        Sum of the cells of each.
    squares
        Sum of the squared cells of each, or a bound from above.
    lows, highs
        No cell of a bucket is outside.

    Examples
    --------
    >>> steps = Buckets.of(np.array([1.0, 1.0, 5.0, 7.0]), np.array([0, 2, 4]))
    >>> steps.heights
    array([1., 6.])
    >>> steps.error
    2.0
    >>> steps.sum(0, 3)
    (8.0, 7.0, 9.0)
    """

    edges: Ints
    sums: Floats
    squares: Floats
    lows: Floats
    highs: Floats

    @classmethod
    def of(cls, values: Floats, edges: Ints) -> Buckets:
        """Buckets of stored values between given edges."""
        starts = edges[:-1]
        return cls(
            edges,
            np.add.reduceat(values, starts),
            np.add.reduceat(values**2, starts),
            np.minimum.reduceat(values, starts),
            np.maximum.reduceat(values, starts),
        )

    @property
    def widths(self) -> Ints:
        """Cells in each bucket."""
        wide: Ints = np.diff(self.edges)
        return wide

    @property
    def heights(self) -> Floats:
        """Mean of each bucket, the height of its step."""
        mean: Floats = self.sums / self.widths
        return mean

    @property
    def error(self) -> float:
        """Squared L2 distance of the steps from the signal, or a bound from above."""
        spread = self.squares - self.sums**2 / self.widths
        return float(np.maximum(spread, 0.0).sum())

    def sum(self, start: int, stop: int) -> tuple[float, float, float]:
        """Sum of the cells from `start` up to `stop`: estimate, least, most."""
        first, last = int(self.edges[0]), int(self.edges[-1])
        start, stop = min(max(start, first), last), min(max(stop, first), last)
        if stop <= start:
            return 0.0, 0.0, 0.0
        found = sum_of_range(
            self.edges, self.sums, self.squares, self.lows, self.highs, start, stop
        )
        value, low, high = found
        return float(value), float(low), float(high)


@compiled
def sum_of_range(edges, sums, squares, lows, highs, start, stop):  # type: ignore[no-untyped-def]
    """Sum of a range of cells inside the edges: estimate, least, most."""
    value, low, high = 0.0, 0.0, 0.0
    bucket = np.searchsorted(edges, start, side="right") - 1
    while bucket < len(sums) and edges[bucket] < stop:
        n = edges[bucket + 1] - edges[bucket]
        k = min(stop, edges[bucket + 1]) - max(start, edges[bucket])
        mean = sums[bucket] / n
        value += k * mean
        if k == n:
            low += sums[bucket]
            high += sums[bucket]
        else:
            # The cells' distances from the mean add up to 0 and their squares to the spread.
            # The last part is what rounding can hide in the difference.
            spread = max(squares[bucket] - sums[bucket] * mean, 0.0) + 1e-15 * squares[bucket]
            width = math.sqrt(spread * k * (n - k) / n)
            below = max(k * lows[bucket], sums[bucket] - (n - k) * highs[bucket])
            above = min(k * highs[bucket], sums[bucket] - (n - k) * lows[bucket])
            low += max(k * mean - width, min(below, k * mean))
            high += min(k * mean + width, max(above, k * mean))
        bucket += 1
    return value, low, high
