"""Count-Sketch: frequencies from signed counters, off by a share of the spread of the others.

Every row of counters adds an item with a random sign to one counter; read back with the sign, the
other items cancel in the mean. The median of the rows is the estimate. Its error goes with the
square root of the sum of squares of the other items' weights, which the sketch knows too, so that
on heavy-tailed data bars are far narrower than a share of the total. Linear: weights may be
negative, and the difference of two sketches shows what changed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
import scipy

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.hashing import family, polynomial
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import items, keys
from streamgauge.synopses.frequencies.slots import NO_WEIGHTS
from streamgauge.synopses.questions import Count, Frequency
from streamgauge.synopses.synopsis import Array, Floats, Ints, Need, Subtractable, Synopsis, Trial

NARROWEST = 64


class Reading(NamedTuple):
    """What the rows say of one item: its estimates, and the squares of the other counters."""

    estimates: Floats
    squares: Floats


class CountSketch(Synopsis, Subtractable):
    """Frequencies of items whose weights may be negative, by the median of signed counters.

    Parameters
    ----------
    width
        Counters in a row, 64 at least; four times as many halve the error.
    depth
        Rows, an odd number; more make a failure rarer.
    seed
        Chooses the hashes; parts to be merged need the same.

    Examples
    --------
    >>> sketch = CountSketch(width=256, depth=3, seed=1)
    >>> sketch.update(["a", "b", "a"], [5.0, 1.0, -2.0])
    >>> print(sketch.query(Frequency("a")))
    3 in [2.75, 3.25] at 95.0445% confidence, count_sketch

    References
    ----------
    CCF02: docs/reference/synopses/frequencies.md
    """

    name = "count_sketch"
    answers = (Frequency, Count)
    takes = "keys"
    weights = "any"
    merging = "exact"
    fields = ("counters",)
    joined_by = np.add
    small = (256, 3)

    def __init__(self, width: int, depth: int, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if width < NARROWEST or depth < 1 or depth % 2 == 0:
            raise BindError(
                f"count_sketch needs {NARROWEST} counters in a row and an odd number of rows",
                f"width={width}, depth={depth}",
                "write CountSketch(1024, 5)",
            )
        self.width = width
        self.depth = depth
        self.delta = failure(width, depth)
        self.counters = np.zeros((depth, width))
        # The spread of the others is read beside the item asked for: four of them and itself.
        self.hashes = family(seed, depth, 5)

    @property
    def guarantee(self) -> Guarantee:
        """Off by more than `epsilon` times the root of the sum of squares with chance `delta`."""
        return Guarantee(
            "additive",
            math.sqrt(32.0 / self.width),
            self.delta,
            assumes=(
                "the mass is the root of the sum of squared weights, at most their sum",
                "seed independent of the data",
            ),
            cite="CCF02",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Width from the tolerance (of the weight, for want of its spread), depth from delta."""
        contract = need.contract
        if contract.tolerance != "rank" or contract.confidence == 1.0:
            raise ContractUnsatisfiable(
                "count_sketch owes a share of the total weight at a confidence below 100%",
                f"asked for {contract}",
                "write Contract.rank(0.01, confidence=0.99), or use space_saving",
            )
        width = max(NARROWEST, math.ceil(32.0 / contract.within**2))
        depth = 1
        need.afford(cls.name, 8.0 * width)
        while failure(width, depth) > 1.0 - contract.confidence:
            depth += 2
        need.afford(cls.name, 8.0 * width * depth)
        return cls(width, depth, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Few equal heavy items, and a question about an absent one: a collision is far off."""
        heavy = np.repeat(np.arange(16, dtype=np.int64) + 1000 * seed, 50)
        return Trial(heavy, Frequency(-1))

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        add_signed(self.counters, self.hashes, column, NO_WEIGHTS if weights is None else weights)

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            return self._bar(self.mass, self.mass, self.mass, 0.0)
        key = keys(items([question.item]), seed=self.seed)[0]
        reading = read_signed(self.counters, self.hashes, key)
        value = float(np.median(reading.estimates))
        # Twice the median of the squares is above the true spread of the others, and each row is
        # off by more than the root of eight times spread / width with chance 1/8 at most.
        width = math.sqrt(8.0 * 2.0 * float(np.median(reading.squares)) / self.width)
        return self._bar(value, value - width, value + width)

    def validate(self) -> None:
        """Every counter is a number."""
        assert np.isfinite(self.counters).all()


def most_rows(depth: int, chance: float) -> float:
    """Chance that more than half of `depth` rows fail, each with `chance` at most.

    >>> round(most_rows(3, 0.125), 4)
    0.043
    """
    return float(scipy.stats.binom.sf(depth // 2, depth, min(1.0, chance)))


def failure(width: int, depth: int) -> float:
    """Chance that a bar fails: the median is off, or the spread of the others is read too low."""
    low_spread = 3.0 / (width * (0.5 - 1.0 / width) ** 2)
    return min(1.0, most_rows(depth, 0.125) + most_rows(depth, low_spread))


def read_signed(counters: Array, hashes: Array, key: np.uint64) -> Reading:
    """Read one key from every row."""
    depth, width = counters.shape
    estimates, squares = np.empty(depth), np.empty(depth)
    for row in range(depth):
        value = int(polynomial(key, hashes[row]))
        place, sign = (value >> 1) % width, 1.0 - 2.0 * (value & 1)
        estimates[row] = sign * counters[row, place]
        squares[row] = max(0.0, (counters[row] ** 2).sum() - counters[row, place] ** 2)
    return Reading(estimates, squares)


@compiled
def add_signed(counters, hashes, column, weights):  # type: ignore[no-untyped-def]
    """Add every key, with its sign, to one counter of each row."""
    depth, width = counters.shape
    for row in range(depth):
        for i in range(len(column)):
            value = polynomial(column[i], hashes[row])
            place = (value >> np.uint64(1)) % np.uint64(width)
            weight = weights[i] if len(weights) else 1.0
            counters[row, place] += weight if value & np.uint64(1) == 0 else -weight
