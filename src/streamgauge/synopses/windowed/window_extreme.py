"""WindowExtreme: the smallest and the largest number of a sliding window, exactly.

A row can be the minimum later only if every newer row is larger; the others are forgotten at once.
What is left is a list that rises in time and in value, and its oldest living row is the minimum.
In random order the list is as long as the logarithm of the window; in sorted order it is the
window, and nothing smaller can do.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from streamgauge.contracts.guarantee import EXACT, Guarantee
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.questions import Max, Min
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Trial, Values
from streamgauge.synopses.windowed.buckets import BucketLane
from streamgauge.synopses.windowed.clock import Clocked, window_of


class WindowExtreme(Clocked):
    """Smallest and largest number of the last `window`, or of any part of it.

    Parameters
    ----------
    window
        Longest window that can be asked for, in the unit of the times.
    seed
        Not used; it is exact.

    Examples
    --------
    >>> extremes = WindowExtreme(window=10)
    >>> extremes.update([5, 1, 9, 4, 7], times=[1, 2, 3, 4, 20])
    >>> extremes.query(Min()).value, extremes.query(Max()).value
    (7.0, 7.0)

    References
    ----------
    DGIM02: docs/reference/synopses/windowed.md
    """

    name = "window_extreme"
    answers = (Min, Max)
    takes = "numbers"
    weights = "positive"
    merging = "exact"
    small = (200,)

    def __init__(self, window: int, *, seed: int = 0) -> None:
        super().__init__(window, seed=seed)
        self.smallest = BucketLane({"values": np.zeros(0)}, room=8)
        # Kept with the opposite sign, so that one kernel does for both.
        self.largest = BucketLane({"values": np.zeros(0)}, room=8)

    @property
    def guarantee(self) -> Guarantee:
        """Exact."""
        return EXACT

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Holds any contract."""
        return cls(window_of(cls.name, need), seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Rising rows, none of which can be forgotten."""
        rows = np.arange(400, dtype=np.int64) + seed
        return Trial(rows, Min(), times=np.arange(400, dtype=np.int64), now=420 + seed % 100)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        instants = self._instants(times, len(column))
        self._push(self.smallest, instants, np.ascontiguousarray(column))
        self._push(self.largest, instants, -column)
        self.now = int(instants[-1])

    def _push(self, lane: BucketLane, times: Ints, values: Floats) -> None:
        lane.fold(
            len(times),
            lambda start: _append(
                *(*lane.columns.values(), lane.n, start, times, values, self.window)
            ),
        )

    def _expire(self, edge: int) -> None:
        self.smallest.expire(edge)
        self.largest.expire(edge)

    def _merge(self, other: Self) -> None:
        for name in ("smallest", "largest"):
            mine, theirs = getattr(self, name), getattr(other, name)
            times = np.concatenate([mine.times, theirs.times])
            values = np.concatenate([mine.held("values"), theirs.held("values")])
            order = np.argsort(times, kind="stable")
            merged = BucketLane({"values": np.zeros(0)}, room=8)
            self._push(merged, times[order], values[order])
            setattr(self, name, merged)
        self._join_clock(other)

    def _within(self, question: Any, window: int) -> Any:
        sign, lane = (1.0, self.smallest) if isinstance(question, Min) else (-1.0, self.largest)
        place = lane.n if self.now is None else lane.across(self.now - window)
        if place == lane.n:
            return self._bar(math.nan, -math.inf, math.inf)
        value = sign * float(lane.held("values")[place])
        return self._bar(value, value, value)

    def _save(self) -> tuple[Values, Arrays]:
        arrays: Arrays = {}
        for name, lane in (("smallest", self.smallest), ("largest", self.largest)):
            arrays |= {f"{name}.times": lane.times, f"{name}.values": lane.held("values")}
        rooms = [len(lane.columns["times"]) for lane in (self.smallest, self.largest)]
        return {"now": self.now, "rooms": rooms}, arrays

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.now = values["now"]
        pairs = (("smallest", self.smallest), ("largest", self.largest))
        for (name, lane), room in zip(pairs, values["rooms"], strict=True):
            columns = {key: arrays[f"{name}.{key}"] for key in ("times", "values")}
            lane.load({"first": 0, "room": room}, columns)

    @property
    def nbytes(self) -> int:
        """Bytes of both lists."""
        return self.smallest.nbytes + self.largest.nbytes

    def validate(self) -> None:
        """Times and values rise."""
        for lane in (self.smallest, self.largest):
            assert (np.diff(lane.times) > 0).all()
            assert (np.diff(lane.held("values")) > 0).all()


@compiled
def _append(times, values, n, start, new_times, new_values, window):  # type: ignore[no-untyped-def]
    for i in range(start, len(new_times)):
        instant = new_times[i]
        value = new_values[i]
        while n > 0 and values[n - 1] >= value:
            n -= 1
        if n > 0 and times[n - 1] == instant:
            # A smaller one of the same time will outlive this one.
            continue
        if n == len(times):
            old = 0
            while old < n and times[old] <= instant - window:
                old += 1
            for j in range(n - old):
                times[j] = times[old + j]
                values[j] = values[old + j]
            n -= old
            if 2 * n > len(times):
                return n, i
        times[n] = instant
        values[n] = value
        n += 1
    return n, len(new_times)
