"""Poisson: every row with a chance of its own, in proportion to its weight.

A row of weight w is kept with chance min(1, w / threshold) and then stands for max(w, threshold):
rows of large weight are never missed and no estimate rests on a wildly scaled small one.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.questions import Count, Frequency
from streamgauge.synopses.samples.designs import Drawn
from streamgauge.synopses.samples.dice import roll, stir
from streamgauge.synopses.samples.sampled import COUNTED, Sampled
from streamgauge.synopses.samples.unequal import Proportional
from streamgauge.synopses.synopsis import Floats, Ints, Need, Trial


class Poisson(Sampled):
    """Rows by their weight: chance `weight / threshold`, at most 1.

    Parameters
    ----------
    threshold
        Weight from which rows are always kept; about mass / threshold rows are kept.
    delta
        Chance that a bar fails.
    seed
        Chooses the rows; parts to be merged need the same.

    Examples
    --------
    >>> sample = Poisson(100.0, seed=1)
    >>> sample.update([7, 8, 9], weights=[5000.0, 40.0, 60.0])
    >>> print(sample.query(Frequency(7)))
    5000 in [5000, 5099.54] at 95% confidence, poisson

    References
    ----------
    DLT05: docs/reference/synopses/samples.md
    """

    name = "poisson"
    answers = (Count, *COUNTED)
    weights = "positive"
    law = "additive"
    fields = ("values", "sizes", "total")
    small = (20.0,)

    def __init__(self, threshold: float, delta: float = 0.05, *, seed: int = 0) -> None:
        if not (threshold > 0.0 and np.isfinite(threshold)):
            raise BindError(
                "a threshold is a weight above 0", f"got {threshold}", "write Poisson(100.0)"
            )
        super().__init__(delta=delta, seed=seed)
        self.threshold = threshold
        self.values = np.empty(0)
        self.sizes = np.empty(0)
        self.total = np.zeros(1)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Refused: the size of such a sample follows the stream, so it promises no width."""
        raise ContractUnsatisfiable(
            "a poisson sample promises no width beforehand",
            f"asked for {need.contract}; its size follows the weights",
            "use varopt, whose size is fixed",
        )

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Many rows of small weight, of which one in a hundred is asked for."""
        rows = np.arange(4000, dtype=np.int64) % 100
        return Trial(rows, Frequency(0), weights=np.full(4000, 0.5))

    def sample(self) -> Drawn:
        """The rows held, each standing for its weight or for the threshold."""
        weights = np.maximum(self.sizes, self.threshold)
        # A weight equal to the threshold is sure: it must not count among the others.
        weights[self.sizes >= self.threshold] *= 1.0 + 1e-15
        chances = np.minimum(1.0, self.sizes / self.threshold)
        total = float(self.total[0])
        design = Proportional(weights, self.threshold, total, fixed=False, chances=chances)
        return Drawn(self.values.copy(), design)

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        sizes = np.ones(len(column)) if weights is None else np.ascontiguousarray(weights)
        chosen = np.empty(len(column), np.int64)
        count = _choose_by_size(self.dice, column.view(np.uint64), sizes, self.threshold, chosen)
        self.values = np.concatenate([self.values, column[chosen[:count]]])
        self.sizes = np.concatenate([self.sizes, sizes[chosen[:count]]])
        self.total += sizes.sum()

    def _merge(self, other: Self) -> None:
        self._merge_shared(other)
        self.values = np.concatenate([self.values, other.values])
        self.sizes = np.concatenate([self.sizes, other.sizes])
        self.total += other.total

    def validate(self) -> None:
        """The rows that are surely kept weigh no more than all rows."""
        sure = self.sizes[self.sizes >= self.threshold].sum()
        assert sure <= self.total[0] * (1.0 + 1e-9)
        assert len(self.values) == len(self.sizes)


@compiled
def _choose_by_size(dice, words, sizes, threshold, chosen):  # type: ignore[no-untyped-def]
    count = 0
    if dice[2] == 0:
        stir(dice, words[0])
    for row in range(len(words)):
        if roll(dice) * threshold < sizes[row]:
            chosen[count] = row
            count += 1
            stir(dice, words[row])
    return count
