"""EhCount: how many rows lie in a sliding window, within a share of the answer, never failing.

An exponential histogram: buckets of rows whose sizes double with age. Only the oldest bucket can
lie across the edge of the window, and it is small against the rest. One histogram answers for
every window up to its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from streamgauge.kernel.errors import BindError
from streamgauge.synopses.questions import Count
from streamgauge.synopses.synopsis import Floats, Ints, Trial
from streamgauge.synopses.windowed.counter import EhCounter
from streamgauge.synopses.windowed.exponential import Exponential


class EhCount(Exponential[EhCounter]):
    """Number of rows of the last `window`, or of any part of it, within `epsilon` of the value.

    To count the rows that satisfy a condition, give those rows only, with their times. Weights are
    whole numbers: a row of weight v counts as v rows of the same time.

    Parameters
    ----------
    window
        Longest window that can be asked for, in the unit of the times.
    epsilon
        Relative error.
    seed
        Not used; it cannot fail.

    Examples
    --------
    >>> counts = EhCount(window=1000, epsilon=0.1)
    >>> counts.update(np.ones(5000), times=np.arange(5000))
    >>> print(counts.query(Count()))
    968.5 in [905, 1032], eh_count
    >>> print(counts.query(Count(), window=10))
    9.5 in [9, 10], eh_count

    References
    ----------
    DGIM02: docs/reference/synopses/windowed.md
    """

    name = "eh_count"
    answers = (Count,)
    takes = "items"
    weights = "positive"
    cite = "DGIM02 thm 1"

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """A run of rows, then silence until only the newest row of a large bucket is left."""
        n = 400 + seed % 80
        counter = EhCounter(500, 0.1)
        counter.add(np.arange(n, dtype=np.int64))
        sizes = counter.sizes()
        left = np.cumsum(sizes[::-1])[::-1] - sizes + 1
        worst = int(np.argmax((sizes - 1) / left))
        now = int(counter.times[worst]) + 499
        return Trial(np.ones(n, np.int64), Count(), times=np.arange(n, dtype=np.int64), now=now)

    def _lane(self) -> EhCounter:
        return EhCounter(self.window, self.epsilon)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        instants = self._instants(times, len(column))
        units = None if weights is None else _whole(weights)
        self._first_lane().add(instants, units)
        self.now = int(instants[-1])

    def _within(self, question: Any, window: int) -> Any:
        if self.now is None:
            return self._bar(0.0, 0.0, 0.0)
        edge = self.now - window
        return self._added([lane.value(edge) for lane in self.lanes])

    def validate(self) -> None:
        """Times rise, and no bucket is large against what is newer."""
        for lane in self.lanes:
            assert (np.diff(lane.times) >= 0).all()
            sizes = lane.sizes()
            newer = np.cumsum(sizes[::-1])[::-1] - sizes
            k = math.ceil(1.0 / self.epsilon - 1e-9)
            assert (k * (sizes - 1) <= 2 * newer).all()


def _whole(weights: Floats) -> Ints:
    if (weights != np.floor(weights)).any() or weights.sum() > 2.0**53:
        wrong = weights[weights != np.floor(weights)]
        raise BindError(
            "eh_count counts whole numbers",
            f"weights such as {wrong[0]}" if len(wrong) else "weights above 2^53 in one batch",
            "use eh_sum for fractions and large sums",
        )
    return weights.astype(np.int64)
