"""EhSum: the sum of numbers in a sliding window, within a share of the answer, never failing.

Buckets of neighbouring rows, each no larger than a small share of all that is newer, so the one
that lies across the edge of the window matters little. Each bucket knows how much of it has its
newest time: that much is alive for sure. A bucket of one row is therefore exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.questions import Sum
from streamgauge.synopses.synopsis import Floats, Ints, Trial
from streamgauge.synopses.windowed.buckets import BucketLane
from streamgauge.synopses.windowed.clock import (
    Between,
)
from streamgauge.synopses.windowed.exponential import Exponential


class SumLane(BucketLane):
    """Sums of neighbouring rows, and how much of each has the newest time of its bucket.

    Parameters
    ----------
    window
        Longest window that can be asked for.
    epsilon
        Relative error.
    """

    def __init__(self, window: int, epsilon: float) -> None:
        super().__init__({"sums": np.zeros(0), "tips": np.zeros(0)})
        self.window = window
        self.share = 2.0 * epsilon

    def add(self, times: Ints, values: Floats) -> None:
        """Fold rows of ascending times and values of 0 or more."""
        self.fold(
            len(times),
            lambda start: _append(
                *(*self.columns.values(), self.n, self.first, start),
                *(times, values, self.window, self.share),
            ),
        )

    def value(self, edge: int) -> Between:
        """Sum of the rows newer than `edge`."""
        place, sums = self.across(edge), self.held("sums")
        if place == self.n:
            return Between(0.0, 0.0, 0.0)
        newer = float(sums[place + 1 :].sum())
        high = newer + float(sums[place])
        low = high if self.first[0] > edge else newer + float(self.held("tips")[place])
        return Between((low + high) / 2.0, low, high)

    def decayed(self, weight: Callable[[Ints], Floats], edge: int) -> Between:
        """Sum with each row weighed by its time; rows of time `edge` or older weigh nothing."""
        if not self.n:
            return Between(0.0, 0.0, 0.0)
        times, sums, tips = self.times, self.held("sums"), self.held("tips")
        before = np.concatenate([self.first, times[:-1]])
        newest = np.where(times > edge, weight(times), 0.0)
        oldest = np.where(before > edge, weight(before), 0.0)
        high = float((sums * newest).sum())
        low = float((tips * newest + (sums - tips) * oldest).sum())
        return Between((low + high) / 2.0, low, high)


class EhSum(Exponential[SumLane]):
    """Sum of the numbers of the last `window`, or of any part of it, within `epsilon` of the value.

    Numbers are 0 or more. With numbers of both signs no small state can do it: keep one for the
    positive and one for the negative and read the difference, whose error is a share of the sum of
    both, not of the difference.

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
    >>> sums = EhSum(window=1000, epsilon=0.1)
    >>> sums.update(np.arange(5000), times=np.arange(5000))
    >>> print(sums.query(Sum(), window=100))
    472871 in [440995, 504747], eh_sum
    >>> print(sums.decayed(lambda ages: 1.0 / (1.0 + ages)))
    36486.9 in [35081.1, 37892.7], eh_sum

    References
    ----------
    DGIM02, CS06: docs/reference/synopses/windowed.md
    """

    name = "eh_sum"
    answers = (Sum,)
    takes = "numbers"
    weights = "positive"
    cite = "DGIM02 thm 5"
    assumes = ("numbers are 0 or more",)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Rows, then silence until only the newest row of the worst bucket is left of it."""
        rng = np.random.default_rng(seed)
        values = rng.integers(1, 8, 450) * rng.choice([1, 30], 450)
        times = np.arange(450, dtype=np.int64)
        lane = SumLane(500, 0.1)
        lane.add(times, values.astype(np.float64))
        lane.n = _sweep(*lane.columns.values(), lane.n, -1, lane.share)
        sums, tips = lane.held("sums"), lane.held("tips")
        newer = np.cumsum(sums[::-1])[::-1] - sums
        worst = int(np.argmax((sums - tips) / (newer + tips)))
        return Trial(values, Sum(), times=times, now=int(lane.times[worst]) + 499)

    def decayed(self, weight: Callable[[Floats], Floats]) -> Estimate:
        """Sum with rows fading as they age: any `weight` of the age that does not rise.

        Within `epsilon` of the value for every such weight, because a fading sum is a mixture of
        sums over windows. Rows older than the window weigh nothing.
        """
        if self.now is None:
            return self._bar(0.0, 0.0, 0.0)
        now = self.now

        def weight_of(times: Ints) -> Floats:
            return weight((now - times).astype(np.float64))

        return self._added([lane.decayed(weight_of, now - self.window) for lane in self.lanes])

    def _lane(self) -> SumLane:
        return SumLane(self.window, self.epsilon)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        instants = self._instants(times, len(column))
        values = column if weights is None else column * weights
        check_positive(self.name, values)
        self._first_lane().add(instants, np.ascontiguousarray(values))
        self.now = int(instants[-1])

    def _within(self, question: Any, window: int) -> Any:
        if self.now is None:
            return self._bar(0.0, 0.0, 0.0)
        edge = self.now - window
        return self._added([lane.value(edge) for lane in self.lanes])

    def validate(self) -> None:
        """Times rise, and what is uncertain of a bucket is small against what is newer."""
        for lane in self.lanes:
            sums, tips = lane.held("sums"), lane.held("tips")
            assert (np.diff(lane.times) >= 0).all()
            newer = np.cumsum(sums[::-1])[::-1] - sums
            assert (sums - tips <= lane.share * newer * (1.0 + 1e-9) + 1e-9).all()


def check_positive(name: str, values: Floats) -> None:
    """Refuse numbers that no small state can sum over a window."""
    wrong = ~((values >= 0.0) & np.isfinite(values))
    if wrong.any():
        raise BindError(
            f"{name} sums numbers of 0 or more",
            f"{int(wrong.sum())} of {len(values)} are not, the first is {values[wrong][0]}",
            "keep one for the positive and one for the negative numbers, or a sum of panes",
        )


@compiled
def _append(times, sums, tips, n, first, start, new_times, new_values, window, share):  # type: ignore[no-untyped-def]
    for i in range(start, len(new_times)):
        instant = new_times[i]
        value = new_values[i]
        if value == 0.0:
            continue
        if n > 0 and instant - times[n - 1] >= window:
            n = 0
        if n > 0 and times[n - 1] == instant:
            # The newest bucket is never swept together, so all of it has this time.
            sums[n - 1] += value
            tips[n - 1] += value
            continue
        if n == len(times):
            n = _sweep(times, sums, tips, n, instant - window, share)
            if 2 * n > len(times):
                return n, i
        if n == 0:
            first[0] = instant
        times[n] = instant
        sums[n] = value
        tips[n] = value
        n += 1
    return n, len(new_times)


@compiled
def _sweep(times, sums, tips, n, edge, share):  # type: ignore[no-untyped-def]
    """Put neighbours together, newest first, where they are a small share of all newer."""
    write = n
    newer = 0.0
    i = n - 1
    while i >= 0 and times[i] > edge:
        instant = times[i]
        total = sums[i]
        tip = tips[i]
        i -= 1
        while i >= 0 and times[i] > edge and total + sums[i] <= share * newer:
            total += sums[i]
            i -= 1
        newer += total
        write -= 1
        times[write] = instant
        sums[write] = total
        tips[write] = tip
    kept = n - write
    for j in range(kept):
        times[j] = times[write + j]
        sums[j] = sums[write + j]
        tips[j] = tips[write + j]
    return kept
