"""Dyadic Count-Min: quantiles and range counts over whole numbers of a known range, with deletions.

The range is halved again and again; each halving is a level, and an item is counted once on every
level. High levels have few cells and are counted exactly, the others by a Count-Min sketch. Any
range is the sum of a few cells. A quantile is found on the way down: into the left half when its
count reaches the rank, else past it. Linear, so rows can be taken back without losing precision.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.hashing import family, polynomial
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import Items, numbers
from streamgauge.synopses.quantiles.rank_summary import ROUNDING, affordable, owed
from streamgauge.synopses.questions import Count, Frequency, Quantile, RangeCount, Rank
from streamgauge.synopses.synopsis import (
    Arrays,
    Floats,
    Ints,
    Need,
    Subtractable,
    Synopsis,
    Trial,
    Values,
)


class DyadicCountMin(Synopsis, Subtractable):
    """Quantiles, ranks and range counts within `epsilon` of the weight, whatever is taken back.

    Parameters
    ----------
    epsilon
        Error in rank, as a share of the present weight.
    delta
        Chance that any quantile at all is worse than that.
    low, high
        Smallest and largest item; others are refused.
    step
        Width of a cell. Items between two cells make bars wider by one cell.
    seed
        Chooses the hashes; parts to be merged need the same.

    Examples
    --------
    >>> sketch = DyadicCountMin(0.05, 0.05, low=0, high=1023, seed=3)
    >>> sketch.update(np.arange(1000))
    >>> sketch.update(np.arange(900), weights=-np.ones(900))
    >>> print(sketch.query(Quantile(0.5)))
    952 in [949, 954] at 95% confidence, dyadic_count_min
    >>> sketch.query(RangeCount(900, 909)).value
    10.0

    References
    ----------
    CM05, GK16: docs/reference/synopses/quantiles_deterministic.md
    """

    name = "dyadic_count_min"
    answers = (Quantile, Rank, RangeCount, Frequency, Count)
    takes = "numbers"
    weights = "strict"
    merging = "exact"

    def __init__(
        self,
        epsilon: float,
        delta: float,
        low: float,
        high: float,
        step: float = 1.0,
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(seed=seed)
        cells = math.floor((high - low) / step) + 1 if step > 0.0 else 0
        if not (0.0 < epsilon <= 0.5 and 0.0 < delta < 1.0 and 1 <= cells <= 1 << 60):
            raise BindError(
                "dyadic_count_min needs an error, a chance and a range of whole steps",
                f"got epsilon={epsilon}, delta={delta}, {low} to {high} by {step}",
                "write DyadicCountMin(0.01, 0.01, low=0, high=65535)",
            )
        self.epsilon, self.delta = float(epsilon), float(delta)
        self.low, self.high, self.step = low, high, step
        self._cells = cells
        self.levels, self.width, self.depth = _shape(epsilon, delta, cells)
        self.sketches = np.zeros((self.levels, self.depth, self.width))
        self.exact = np.zeros(((cells - 1) >> self.levels) + 1)
        hashes = family(seed, max(1, self.levels * self.depth), 2)
        self._hashes = hashes[: self.levels * self.depth].reshape(self.levels, self.depth, 2)
        self._between = False

    @property
    def guarantee(self) -> Guarantee:
        """All quantiles within `epsilon` at once, except with chance `delta`."""
        return Guarantee(
            "rank",
            self.epsilon if self.levels else 0.0,
            self.delta if self.levels else 0.0,
            assumes=("no item has negative weight", "seed independent of the data"),
            cite="GK16 sec 4.2",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Error and chance from the contract, the range from the need."""
        epsilon = owed(need, cls.name, sure=False)
        if need.universe is None:
            raise ContractUnsatisfiable(
                "dyadic_count_min needs the range of the items",
                "the need names no universe",
                "give the smallest and largest whole number, or use gk without deletions",
            )
        low, high = need.universe
        levels, width, depth = _shape(epsilon, 1.0 - need.contract.confidence, high - low + 1)
        size = 8.0 * (levels * width * depth + ((high - low) >> levels) + 1)
        affordable(need, cls.name, size, epsilon * size / (need.memory or 1))
        return cls(epsilon, 1.0 - need.contract.confidence, low, high, seed=seed)

    @classmethod
    def specimen(cls, seed: int) -> Self:
        """A tenth of the weight, a million items."""
        return cls(0.1, 0.05, 0, (1 << 20) - 1, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Many equal items spread over all cells, and a rank that adds a cell of every level."""
        rng = np.random.default_rng(seed)
        items = rng.permutation(1 << 20)[:4000].astype(np.int64)
        return Trial(items, Rank(float((1 << 20) - 2)))

    def _ready(self, given: Items) -> Any:
        """The cell of each item, and whether all stand at the foot of theirs."""
        column = numbers(given)
        inside = (column >= self.low) & (column < self.low + self.step * self._cells)
        if not inside.all():
            raise BindError(
                "items outside the range of the sketch",
                f"{int((~inside).sum())} of {len(column)}, the first is {column[~inside][0]:g}, "
                f"the range is {self.low} to {self.high}",
                "leave those rows out, or give a wider range",
            )
        places = (column - self.low) / self.step
        near = np.rint(places)
        on_grid = np.abs(places - near) <= 1e-9 * np.maximum(1.0, places)
        cells = np.minimum(np.where(on_grid, near, np.floor(places)), self._cells - 1)
        return cells.astype(np.int64), bool(on_grid.all())

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        cells, on_grid = column
        weight = np.ones(len(cells)) if weights is None else np.ascontiguousarray(weights)
        self._between |= not on_grid
        _count(self.sketches, self.exact, self._hashes, cells, weight)

    def _merge(self, other: Self) -> None:
        self.sketches += other.sketches
        self.exact += other.exact
        self._between |= other._between

    def _subtract(self, other: Any) -> None:
        self.sketches -= other.sketches
        self.exact -= other.exact

    def _cell(self, value: float) -> tuple[int, bool]:
        """The cell of a value, cut to just outside the range, and whether it is on the grid."""
        place = (value - self.low) / self.step
        if not -1.0 <= place <= self._cells:
            return (-1 if place < 0 else self._cells), True
        near = round(place)
        exact = abs(place - near) <= 1e-9 * max(1.0, abs(place))
        return (near if exact else math.floor(place)), exact

    def _weight(self, start: int, stop: int) -> tuple[float, float]:
        """Weight of cells from `start` to before `stop`, never too low; most it is too high."""
        start, stop = max(start, 0), min(stop, self._cells)
        if start >= stop:
            return 0.0, 0.0
        total, sketched = _weigh(self.sketches, self.exact, self._hashes, start, stop)
        return total, sketched * self.epsilon / max(1, self.levels) * max(self.mass, 0.0)

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            return self._bar(self.mass, self.mass, self.mass, 0.0)
        if isinstance(question, Quantile):
            return self._quantile(question.phi)
        if isinstance(question, Rank):
            low, high = -math.inf, question.value
        elif isinstance(question, RangeCount):
            low, high = question.low, question.high
        else:
            if not isinstance(question.item, int | float) or isinstance(question.item, bool):
                return self._bar(0.0, 0.0, 0.0, 0.0)
            low = high = float(question.item)
        return self._between_values(low, high)

    def _between_values(self, low: float, high: float) -> Estimate:
        if not low <= high:
            return self._bar(0.0, 0.0, 0.0, 0.0)
        first, first_exact = self._cell(low)
        last, _ = self._cell(high)
        start = first if first_exact else first + 1
        most, noise = self._weight(start, last + 1)
        least = max(0.0, most - noise)
        if self._between:
            # An item stands at the foot of its cell but may lie anywhere in it.
            most = self._weight(first, last + 1)[0]
            inner, noise = self._weight(start, last)
            least = max(0.0, inner - noise)
        most = min(most, max(self.mass, 0.0))
        return self._bar(most, min(least, most), most, None if noise else 0.0)

    def _quantile(self, phi: float) -> Estimate:
        if not self.mass > 0.0:
            return Estimate(math.nan, -math.inf, math.inf, basis=self.name)
        rank = max(phi * self.mass, ROUNDING) * (1.0 - ROUNDING)
        spare = self.epsilon * self.mass if self.levels else 0.0
        # Counts are never too low, so the first descent never passes the quantile. With the spare
        # error added to the rank it never stops short of it, unless the sketch fails there.
        first, middle, last = (
            int(_descend(self.sketches, self.exact, self._hashes, rank + extra))
            for extra in (0.0, spare / 2.0, spare)
        )
        last = min(max(last, first), self._cells - 1)
        low = self.low + self.step * first
        high = self.low + self.step * (last + (1 if self._between else 0))
        value = self.low + self.step * min(max(middle, first), last)
        return self._bar(value, low, high, None if high > low and self.levels else 0.0)

    def _save(self) -> tuple[Values, Arrays]:
        return {"between": self._between}, {"sketches": self.sketches, "exact": self.exact}

    def _load(self, values: Values, arrays: Arrays) -> None:
        self._between = values["between"]
        self.sketches, self.exact = arrays["sketches"], arrays["exact"]

    def validate(self) -> None:
        """Every row of every level holds the whole weight."""
        assert np.allclose(self.sketches.sum(axis=2), self.mass)
        assert np.isclose(self.exact.sum(), self.mass)


def _shape(epsilon: float, delta: float, cells: int) -> tuple[int, int, int]:
    """Levels to sketch, and the width and depth of each; the rest has few cells and is exact.

    The error is shared by the levels, the chance by the levels and the 2 / epsilon quantiles
    that stand for all.
    """
    levels = 0
    while True:
        parts = max(1, levels)
        width = math.ceil(math.e * parts / epsilon)
        depth = max(1, math.ceil(math.log(2.0 * parts / (epsilon * delta))))
        if ((cells - 1) >> levels) + 1 <= width * depth:
            return levels, width, depth
        levels += 1


@compiled
def _count(sketches, exact, hashes, cells, weights):  # type: ignore[no-untyped-def]
    levels, depth, width = sketches.shape
    for i in range(len(cells)):
        cell = np.uint64(cells[i])
        for level in range(levels):
            node = cell >> np.uint64(level)
            for row in range(depth):
                place = polynomial(node, hashes[level, row]) % np.uint64(width)
                sketches[level, row, place] += weights[i]
        exact[cell >> np.uint64(levels)] += weights[i]


@compiled
def _node(sketches, hashes, level, node):  # type: ignore[no-untyped-def]
    _, depth, width = sketches.shape
    best = np.inf
    for row in range(depth):
        place = polynomial(np.uint64(node), hashes[level, row]) % np.uint64(width)
        best = min(best, sketches[level, row, place])
    return max(best, 0.0)


@compiled
def _weigh(sketches, exact, hashes, start, stop):  # type: ignore[no-untyped-def]
    """Weight of a range of cells, and how many sketched ones it was added up from."""
    levels = sketches.shape[0]
    total = 0.0
    used = 0
    for level in range(levels):
        if start >= stop:
            return total, used
        if start & 1:
            total += _node(sketches, hashes, level, start)
            start += 1
            used += 1
        if stop & 1:
            stop -= 1
            total += _node(sketches, hashes, level, stop)
            used += 1
        start >>= 1
        stop >>= 1
    for cell in range(start, stop):
        total += exact[cell]
    return total, used


@compiled
def _descend(sketches, exact, hashes, target):  # type: ignore[no-untyped-def]
    """The first cell whose weight, with all before it, reaches the target."""
    passed = 0.0
    node = 0
    for cell in range(len(exact)):
        if exact[cell] > 0.0:
            node = cell
            if passed + exact[cell] >= target:
                break
            passed += exact[cell]
    else:
        passed -= exact[node]
    for level in range(sketches.shape[0] - 1, -1, -1):
        node *= 2
        left = _node(sketches, hashes, level, node)
        # A right half that counts nothing is empty for certain.
        if passed + left < target and _node(sketches, hashes, level, node + 1) > 0.0:
            passed += left
            node += 1
    return node
