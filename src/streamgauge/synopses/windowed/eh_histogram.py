"""EhHistogram: how many numbers of a sliding window lie in a range, and what they sum up to.

Fixed boundaries of any attribute; each bin has a windowed count and a windowed sum. Bins inside a
range are known within their bars, the two that it cuts are shared out evenly and bounded by all
and nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses.questions import Count, RangeCount, Rank
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Trial, Values
from streamgauge.synopses.windowed.cells import CellsLane
from streamgauge.synopses.windowed.clock import Between, Lane, Laned, check_epsilon
from streamgauge.synopses.windowed.eh_sum import SumLane


class BinsLane(Lane):
    """A count for each bin, and the sum of the distances from its lower boundary.

    Parameters
    ----------
    window
        Longest window that can be asked for.
    epsilon
        Relative error of each count and sum.
    """

    def __init__(self, window: int, epsilon: float) -> None:
        self.window = window
        self.epsilon = epsilon
        self.counts = CellsLane(window, epsilon)
        self.sums: dict[int, SumLane] = {}

    @property
    def buckets(self) -> int:
        """Buckets of all bins."""
        return self.counts.buckets + sum(lane.buckets for lane in self.sums.values())

    def add(self, bins: Ints, times: Ints, distances: Floats) -> None:
        """Fold rows of ascending times; distances from the boundary are 0 or more."""
        self.counts.add(bins, times)
        for number in np.unique(bins).tolist():
            here = bins == number
            if number not in self.sums:
                self.sums[number] = SumLane(self.window, self.epsilon)
            self.sums[number].add(times[here], distances[here])

    def sum_of(self, number: int, edge: int) -> Between:
        """Sum of the distances of a bin over the rows newer than `edge`."""
        lane = self.sums.get(number)
        return Between(0.0, 0.0, 0.0) if lane is None else lane.value(edge)

    def expire(self, edge: int) -> None:
        """Let go the buckets of which nothing is newer than `edge`."""
        self.counts.expire(edge)
        for lane in self.sums.values():
            lane.expire(edge)
        self.sums = {number: lane for number, lane in self.sums.items() if not lane.empty}

    def saved(self) -> tuple[Values, Arrays]:
        """State of all bins."""
        values, arrays = self.counts.saved()
        own: Values = {}
        for number, lane in sorted(self.sums.items()):
            own[str(number)], held = lane.saved()
            arrays |= {f"{number}/{name}": array for name, array in held.items()}
        return {**values, "sums": own}, arrays

    def load(self, values: Values, arrays: Arrays) -> None:
        """Take state as saved."""
        self.counts.load(values, {name: held for name, held in arrays.items() if "/" not in name})
        self.sums = {}
        for text, own in values["sums"].items():
            lane, prefix = SumLane(self.window, self.epsilon), f"{text}/"
            lane.load(own, {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)})
            self.sums[int(text)] = lane

    @property
    def nbytes(self) -> int:
        """Bytes of all bins."""
        return self.counts.nbytes + sum(lane.nbytes for lane in self.sums.values())


class EhHistogram(Laned[BinsLane]):
    """Numbers of the last `window`, or of any part of it, by fixed bins.

    Bins are [b0, b1), [b1, b2), ...; two more take what is below the first and above the last
    boundary, and have no sums.

    Parameters
    ----------
    window
        Longest window that can be asked for, in the unit of the times.
    epsilon
        Relative error of each count and sum.
    boundaries
        Rising numbers, two or more.
    seed
        Not used; it cannot fail.

    Examples
    --------
    >>> histogram = EhHistogram(window=1000, epsilon=0.1, boundaries=[0, 10, 20, 30, 40])
    >>> histogram.update(np.arange(5000) % 40, times=np.arange(5000))
    >>> print(histogram.query(RangeCount(10, 29)))
    460.75 in [227, 516], eh_histogram
    >>> print(histogram.range_mean(10, 30))
    19.6763 in [17.3605, 22.3084], eh_histogram

    References
    ----------
    DGIM02: docs/reference/synopses/windowed.md
    """

    name = "eh_histogram"
    answers = (RangeCount, Rank, Count)
    takes = "numbers"
    weights = "none"

    def __init__(
        self, window: int, epsilon: float, boundaries: list[float], *, seed: int = 0
    ) -> None:
        check_epsilon(self.name, epsilon)
        steps = np.diff(np.asarray(boundaries, np.float64))
        if len(steps) < 1 or not (steps > 0.0).all() or not np.isfinite(steps).all():
            raise BindError(
                "eh_histogram needs two or more rising boundaries",
                f"got {boundaries!r}",
                "write boundaries=[0, 10, 20]",
            )
        super().__init__(window, seed=seed)
        self.epsilon = epsilon
        self.boundaries = [float(boundary) for boundary in boundaries]
        self.edges = np.array([-np.inf, *self.boundaries, np.inf])

    @property
    def guarantee(self) -> Guarantee:
        """Ranges that end at boundaries are off by `epsilon` of the value at most, always."""
        return Guarantee(
            "relative", self.epsilon, assumes=("ranges end at boundaries",), cite="DGIM02"
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Never: a contract says nothing about boundaries."""
        raise ContractUnsatisfiable(
            "eh_histogram does not choose its boundaries",
            f"asked for {type(need.question).__name__} {need.contract}",
            "write EhHistogram(window, epsilon, boundaries)",
        )

    @classmethod
    def specimen(cls, seed: int) -> Self:
        """Thirty bins of a hundred."""
        return cls(500, 0.1, [100.0 * step for step in range(31)], seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Rows, then silence until buckets lie across the edge; the range cuts a bin."""
        rng = np.random.default_rng(seed)
        rows = rng.integers(0, 3000, 600)
        times = np.arange(600, dtype=np.int64)
        return Trial(rows, RangeCount(250, 1700), times=times, now=700 + seed % 300)

    def range_sum(self, low: float, high: float, *, window: int | None = None) -> Estimate:
        """Sum of the numbers in [low, high); both within the boundaries."""
        counts, sums = self._range(low, high, window)
        return self._bar(*sums) if counts.high else self._bar(0.0, 0.0, 0.0)

    def range_mean(self, low: float, high: float, *, window: int | None = None) -> Estimate:
        """Average of the numbers in [low, high); both within the boundaries."""
        counts, sums = self._range(low, high, window)
        if not counts.high:
            return self._bar(math.nan, -math.inf, math.inf)
        least = max(low, min(sums.low / counts.high, sums.low / max(counts.low, 1.0)))
        most = min(high, max(sums.high / counts.high, sums.high / max(counts.low, 1.0)))
        value = sums.value / counts.value if counts.value else (least + most) / 2.0
        return self._bar(min(max(value, least), most), least, most)

    def _lane(self) -> BinsLane:
        return BinsLane(self.window, self.epsilon)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        instants = self._instants(times, len(column))
        bins = np.searchsorted(self.edges[1:-1], column, side="right").astype(np.int64)
        inside = (bins > 0) & (bins < len(self.edges) - 2)
        distances = np.where(inside, column - np.where(inside, self.edges[bins], 0.0), 0.0)
        self._first_lane().add(bins, instants, distances)
        self.now = int(instants[-1])

    def _bins(self, low: float, high: float) -> Iterator[tuple[int, float]]:
        """Bins that a range meets, and how much of each; [low, high)."""
        for number in range(len(self.edges) - 1):
            left, right = float(self.edges[number]), float(self.edges[number + 1])
            start, stop = max(low, left), min(high, right)
            if start < stop or left <= low == high < right:
                whole = start == left and stop == right
                part = 0.5 if math.isinf(right - left) else (stop - start) / (right - left)
                yield number, 1.0 if whole else part

    def _count(self, number: int, edge: int) -> Estimate:
        return self._added([lane.counts.value(number, edge) for lane in self.lanes])

    def _counted(self, low: float, high: float, edge: int) -> Between:
        value = least = most = 0.0
        for number, part in self._bins(low, high):
            bar = self._count(number, edge)
            value += part * bar.value
            least += bar.low if part == 1.0 else 0.0
            most += bar.high
        return Between(value, least, most)

    def _within(self, question: Any, window: int) -> Any:
        edge = -1 if self.now is None else self.now - window
        low, high = -math.inf, math.inf
        if isinstance(question, RangeCount):
            low, high = question.low, math.nextafter(question.high, math.inf)
        elif isinstance(question, Rank):
            high = math.nextafter(question.value, math.inf)
        return self._bar(*self._counted(low, high, edge))

    def _range(self, low: float, high: float, window: int | None) -> tuple[Between, Between]:
        if not self.boundaries[0] <= low < high <= self.boundaries[-1]:
            raise BindError(
                "sums are known between the boundaries",
                f"asked for {low} to {high}, boundaries are {self.boundaries[0]} to "
                f"{self.boundaries[-1]}",
                "ask for a range within them",
            )
        edge = -1 if self.now is None else self.now - (window or self.window)
        value = least = most = 0.0
        for number, part in self._bins(low, high):
            left, right = self.edges[number], self.edges[number + 1]
            count = self._count(number, edge)
            apart = self._added([lane.sum_of(number, edge) for lane in self.lanes])
            if part == 1.0:
                ends = (left * count.low, left * count.high)
                value += left * count.value + apart.value
                least += min(ends) + apart.low
                most += max(ends) + apart.high
            else:
                start, stop = max(low, left), min(high, right)
                value += part * count.value * (start + stop) / 2.0
                least += min(0.0, start * count.high)
                most += max(0.0, stop * count.high)
        return self._counted(low, high, edge), Between(value, least, most)
