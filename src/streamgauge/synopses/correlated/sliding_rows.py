"""Sliding rows: those of a window, which come and go again.

Each row is taken into the buckets when it comes and out of them when it leaves, so the window is
held row by row beside the buckets.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from streamgauge.synopses.correlated.aggregate import CorrelatedAggregate, refuse_small
from streamgauge.synopses.correlated.ring import Ring
from streamgauge.synopses.correlated.table import MEASURES
from streamgauge.synopses.synopsis import Arrays, Expiring, Floats, Ints, Values

_COUNTED = 1


class SlidingRows(CorrelatedAggregate, Expiring):
    """An aggregate over a sliding window; `counts[1]` says how many of its rows are counted."""

    bytes_per_row = 120

    window: int
    recount: bool
    ring: Ring

    def _slide(self, window: int, recount: bool) -> None:
        """Begin with an empty window."""
        refuse_small(self.name, "window", window, 1)
        self.window, self.recount = window, bool(recount)
        self.ring = Ring()

    @abstractmethod
    def _run(self, limit: int, n: int, out: Floats) -> None:
        """Let rows up to `limit` leave, then take `n` from behind the end of the ring."""

    def advance(self, now: int) -> None:
        """Let rows leave that are older than the window."""
        self._run(now - self.window, 0, np.empty((0, 3 * MEASURES)))

    def weights_at(self, times: Ints, now: int) -> Floats:
        """1 within the window, 0 before it."""
        return (times > now - self.window).astype(np.float64)

    def _restore(self, values: Values, arrays: Arrays) -> None:
        super()._restore(values, arrays)
        self.ring.load(arrays)

    @property
    def nbytes(self) -> int:
        """Bytes of the buckets and of the window's rows."""
        return super().nbytes + self.ring.nbytes

    def validate(self) -> None:
        """Edges rise, bounds hold the totals' order, and the end counts the window's rows."""
        super().validate()
        k = self.laid
        assert k == 0 or round(self.table[0, k]) == self.counts[_COUNTED]
