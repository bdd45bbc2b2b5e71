"""Priority: a uniform sample of the last stretch of time, however many rows it holds.

Each row draws a priority; the sample is the k highest in the window. A row is kept while fewer
than k later rows have a higher one: no other can ever be among the k highest again. The k-th
highest priority also tells how many rows the window holds.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import Column
from streamgauge.synopses.questions import Count
from streamgauge.synopses.samples.designs import Drawn, Simple, Span, Unsized
from streamgauge.synopses.samples.limits import population_limits
from streamgauge.synopses.samples.sampled import Sampled
from streamgauge.synopses.synopsis import Expiring, Floats, Ints, Need, Trial


class Priority(Sampled, Expiring):
    """`k` rows of the last `window` microseconds, without repeats.

    Parameters
    ----------
    k
        Rows sampled.
    window
        Length of the window; a row of time t counts while now - t < window.
    delta
        Chance that a bar fails.
    seed
        Chooses the rows; parts to be merged need the same.

    Examples
    --------
    >>> sample = Priority(k=50, window=1000, seed=1)
    >>> sample.update(range(5000), times=range(5000))
    >>> print(sample.query(Count()))
    1209.17 in [884, 1648] at 95% confidence, priority

    References
    ----------
    BDM02: docs/reference/synopses/samples.md
    """

    name = "priority"
    fields = ("values", "times", "priorities", "clock")
    small = (100, 500)

    def __init__(self, k: int, window: int, delta: float = 0.05, *, seed: int = 0) -> None:
        if k < 1 or window < 1:
            raise BindError(
                "a window of time holds a moment, a sample a row",
                f"got k={k}, window={window}",
                "write Priority(k=100, window=60_000_000)",
            )
        super().__init__(delta=delta, seed=seed)
        self.k = k
        self.window = window
        # Rows that may still be sampled, by time and, at one time, by priority.
        self.values = np.empty(0)
        self.times = np.empty(0, np.int64)
        self.priorities = np.empty(0)
        # Now, and rows seen.
        self.clock = np.array([np.iinfo(np.int64).min, 0], np.int64)

    @property
    def target(self) -> float:
        """The size."""
        return float(self.k)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Size from the tolerance, in rank for quantiles; totals over the window are refused."""
        k, delta = cls._rows_for(need)
        counted = isinstance(need.question, Count)
        if counted or need.window is None or need.contract.tolerance != "rank":
            raise ContractUnsatisfiable(
                "priority owes ranks over a window of time",
                f"asked for {need.contract}, window {need.window}",
                "write Contract.rank(0.05, confidence=0.95) and state the window",
            )
        return cls(k, need.window, delta, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """How many rows the window holds: nothing but the priorities tells."""
        rows = np.arange(3000, dtype=np.int64)
        return Trial(rows, Count(), times=rows // 3, now=999)

    def update(
        self, column: Column, weights: Column | None = None, times: Column | None = None
    ) -> None:
        """Fold rows with their times; late ones are put in their place."""
        if times is None or len(times) != len(column):
            raise BindError(
                "priority needs the time of each row",
                f"{len(column)} rows, {0 if times is None else len(times)} times",
                "give times=, a whole number for each row",
            )
        super().update(column, weights, times)

    def advance(self, now: int) -> None:
        """Move the clock; rows that left the window go."""
        self.clock[0] = max(int(self.clock[0]), now)
        first = int(np.searchsorted(self.times, self._oldest(), side="left"))
        if first:
            self.values = self.values[first:].copy()
            self.times = self.times[first:].copy()
            self.priorities = self.priorities[first:].copy()

    def weights_at(self, times: Ints, now: int) -> Floats:
        """One in the window, zero outside."""
        alive: Floats = ((times > now - self.window) & (times <= now)).astype(np.float64)
        return alive

    def _oldest(self) -> int:
        """Earliest time in the window."""
        return max(int(self.clock[0]) - self.window + 1, int(np.iinfo(np.int64).min))

    def sample(self) -> Drawn:
        """The k highest priorities in the window; given its rows, every set was as likely."""
        order = np.argsort(-self.priorities, kind="stable")[: self.k]
        values, size = self.values[order], len(order)
        if size < self.k:
            return Drawn(values, Simple(size, size, self.seed))
        gap = 1.0 - float(self.priorities[order[-1]])
        low, high = population_limits(gap, self.k, self.delta / 4.0)
        low = max(float(self.k), math.ceil(low - 1e-6))
        high = max(low, math.floor(high + 1e-6))
        guess = min(max(max(1, self.k - 1) / gap, low), high)
        return Drawn(values, Unsized(Span(guess, low, high), size, self.seed))

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        assert times is not None, "update asks for times"
        priorities = np.empty(len(column))
        _draw_priorities(self.dice, column.view(np.uint64), times, int(self.clock[1]), priorities)
        self.clock[1] += len(column)
        self.clock[0] = max(int(self.clock[0]), int(times.max()))
        self._fold(column, times, priorities)

    def _fold(self, values: Floats, times: Ints, priorities: Floats) -> None:
        """Put rows in their place in time and drop those that can no longer be sampled."""
        if (np.diff(times) >= 0).all():
            # Most rows of a long batch in order fall to later ones of it: no need to sort them.
            first = _undominated(priorities, self.k)
            values, times, priorities = values[first], times[first], priorities[first]
        values = np.concatenate([self.values, values])
        times = np.concatenate([self.times, times])
        priorities = np.concatenate([self.priorities, priorities])
        order = np.lexsort((values, priorities, times))
        kept = _undominated(priorities[order], self.k)
        order = order[kept & (times[order] >= self._oldest())]
        self.values, self.times, self.priorities = values[order], times[order], priorities[order]

    def _merge(self, other: Self) -> None:
        self._merge_shared(other)
        self.clock[0] = max(int(self.clock[0]), int(other.clock[0]))
        self.clock[1] += other.clock[1]
        self._fold(other.values, other.times, other.priorities)

    def validate(self) -> None:
        """Rows are in order and in the window, and none is dominated."""
        assert (np.diff(self.times) >= 0).all()
        assert (self.times >= self._oldest()).all()
        assert _undominated(self.priorities, self.k).all()


@compiled
def _draw_priorities(dice, words, times, start, out):  # type: ignore[no-untyped-def]
    # The row itself is mixed in, so that parts which share a seed draw apart.
    for row in range(len(words)):
        number = mix64(np.uint64(start + row) ^ mix64(np.uint64(times[row])))
        bits = mix64(mix64(dice[0] ^ mix64(words[row])) + number)
        out[row] = (np.float64(bits >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)


@compiled
def _undominated(priorities, k):  # type: ignore[no-untyped-def]
    """Which rows have fewer than k later ones of higher priority: a heap of the k highest, back."""
    n = len(priorities)
    kept = np.zeros(n, np.bool_)
    heap = np.empty(k)
    size = 0
    for row in range(n - 1, -1, -1):
        priority = priorities[row]
        if size < k:
            kept[row] = True
            at = size
            size += 1
            while at > 0 and heap[(at - 1) // 2] > priority:
                heap[at] = heap[(at - 1) // 2]
                at = (at - 1) // 2
            heap[at] = priority
        elif priority > heap[0]:
            kept[row] = True
            at = 0
            while 2 * at + 1 < k:
                child = 2 * at + 1
                if child + 1 < k and heap[child + 1] < heap[child]:
                    child += 1
                if heap[child] >= priority:
                    break
                heap[at] = heap[child]
                at = child
            heap[at] = priority
    return kept
