"""EhMean: the average of the numbers in a sliding window, within a share of it, never failing.

A windowed sum over a windowed count, each with half of the error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamgauge.synopses.questions import Count, Mean, Sum
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Trial, Values
from streamgauge.synopses.windowed.clock import (
    Between,
    Lane,
)
from streamgauge.synopses.windowed.counter import EhCounter
from streamgauge.synopses.windowed.eh_sum import SumLane, check_positive
from streamgauge.synopses.windowed.exponential import Exponential


class MeanLane(Lane):
    """A count and a sum of the same rows.

    Parameters
    ----------
    window
        Longest window that can be asked for.
    epsilon
        Relative error of each.
    """

    def __init__(self, window: int, epsilon: float) -> None:
        self.count = EhCounter(window, epsilon)
        self.sum = SumLane(window, epsilon)

    @property
    def buckets(self) -> int:
        """How many buckets both hold."""
        return self.count.buckets + self.sum.buckets

    def expire(self, edge: int) -> None:
        """Let go the buckets of which nothing is newer than `edge`."""
        self.count.expire(edge)
        self.sum.expire(edge)

    def saved(self) -> tuple[Values, Arrays]:
        """State of both."""
        (count, times), (total, columns) = self.count.saved(), self.sum.saved()
        arrays = {f"count.{name}": array for name, array in times.items()}
        arrays |= {f"sum.{name}": array for name, array in columns.items()}
        return {"count": count, "sum": total}, arrays

    def load(self, values: Values, arrays: Arrays) -> None:
        """Take state as saved."""
        for name, lane in (("count", self.count), ("sum", self.sum)):
            prefix = f"{name}."
            own = {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}
            lane.load(values[name], own)

    @property
    def nbytes(self) -> int:
        """Bytes of both."""
        return self.count.nbytes + self.sum.nbytes


class EhMean(Exponential[MeanLane]):
    """Average of the numbers of the last `window`, or of any part of it, within `epsilon` of it.

    Numbers are 0 or more; `eh_variance` gives an average of any numbers, within a share of their
    standard deviation.

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
    >>> means = EhMean(window=1000, epsilon=0.1)
    >>> means.update(np.arange(5000), times=np.arange(5000))
    >>> print(means.query(Mean()))
    4430.01 in [4204.19, 4655.82], eh_mean

    References
    ----------
    DGIM02: docs/reference/synopses/windowed.md
    """

    name = "eh_mean"
    answers = (Mean, Sum, Count)
    takes = "numbers"
    weights = "none"
    cite = "DGIM02 thm 5"
    assumes = ("numbers are 0 or more",)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Old rows of a large sum, most of them just too old, before many small ones."""
        rng = np.random.default_rng(seed)
        values = np.concatenate([np.full(300, 40), rng.integers(0, 4, 300)]).astype(np.int64)
        return Trial(values, Mean(), times=np.arange(600, dtype=np.int64), now=760 + seed % 40)

    def _lane(self) -> MeanLane:
        # With half of the error each, the quotient of the ends of both bars is as promised.
        return MeanLane(self.window, self.epsilon / 2.0)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        instants = self._instants(times, len(column))
        check_positive(self.name, column)
        lane = self._first_lane()
        lane.count.add(instants)
        lane.sum.add(instants, np.ascontiguousarray(column))
        self.now = int(instants[-1])

    def _within(self, question: Any, window: int) -> Any:
        edge = -1 if self.now is None else self.now - window
        counts = self._added([lane.count.value(edge) for lane in self.lanes])
        sums = self._added([lane.sum.value(edge) for lane in self.lanes])
        if not isinstance(question, Mean):
            return counts if isinstance(question, Count) else sums
        if counts.high == 0.0:
            return self._bar(np.nan, -np.inf, np.inf)
        low, high = sums.low / counts.high, sums.high / counts.low
        return self._added([Between((low + high) / 2.0, low, high)])
