"""Dominance norm: the area under the upper envelope of many streams of values.

Rows are (item, value); what counts of an item is the largest value it ever had. Each copy keeps
the smallest of all waiting times: an item waits an exponential time of its own, divided by the
value. The smallest wait of an item belongs to its largest value, and the smallest over all items is
exponential with the dominance norm as its rate, exactly. Repeats do not count, minima merge.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Self

import numpy as np
import scipy

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.hashing import uniform
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.questions import DominanceNorm
from streamgauge.synopses.synopsis import Floats, Ints, Need, Synopsis, Trial


class Dominance(Synopsis):
    """Sum over items of the largest value any row gives them.

    Give the items as the column and the values as weights; the worst load of each link, over all
    sources, is one column of links with loads. Rows without weights count their items.

    Parameters
    ----------
    copies
        Waiting times kept; four times as many halve the error. A row costs a draw for each.
    delta
        Chance that one bar fails.
    seed
        Chooses the draws; parts to be merged need the same.

    Examples
    --------
    >>> envelope = Dominance(1000, seed=7)
    >>> envelope.update(["a", "b", "a"], [30.0, 50.0, 20.0])
    >>> found = envelope.query(DominanceNorm())
    >>> found.low < 80.0 < found.high
    True

    References
    ----------
    CM03, C97, SHKT07: docs/reference/synopses/moments.md
    """

    name = "dominance"
    answers = (DominanceNorm,)
    takes = "keys"
    weights = "positive"
    merging = "exact"
    fields = ("waits",)
    joined_by = np.minimum
    small = (50,)

    def __init__(self, copies: int, delta: float = 0.05, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if copies < 2 or not 0.0 < delta < 1.0:
            raise BindError(
                "a dominance sketch needs two copies and a chance of failure in (0, 1)",
                f"got {copies} copies, delta={delta}",
                "write Dominance(1000, delta=0.05)",
            )
        self.copies = copies
        self.delta = delta
        self.waits = np.full(copies, math.inf)

    @property
    def guarantee(self) -> Guarantee:
        """The norm is off by more than `epsilon` of the estimate with chance `delta`."""
        low, high = ratios(self.copies, self.delta)
        return Guarantee(
            "relative",
            max(high - 1.0, 1.0 - low),
            self.delta,
            assumes=("draws made by hashing behave as independent ones",),
            cite="SHKT07",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Fewest copies whose bar is within the tolerance."""
        contract = need.contract
        delta = 1.0 - contract.confidence
        if contract.tolerance != "relative" or delta == 0.0 or contract.within < 0.001:
            raise ContractUnsatisfiable(
                "dominance owes a share of the norm, 0.001 or more, at a confidence below 100%",
                f"asked for {contract}",
                "write Contract.relative(0.05, confidence=0.95)",
            )
        low, high = 1, 2
        while cls(high, delta).guarantee.epsilon > contract.within:
            low, high = high, 2 * high
            need.afford(cls.name, 16.0 * high)
        while high - low > 1:
            middle = (low + high) // 2
            fits = cls(middle, delta).guarantee.epsilon <= contract.within
            low, high = (low, middle) if fits else (middle, high)
        return cls(high, delta, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Any rows: the law of the estimate is exact."""
        rng = np.random.default_rng(seed)
        return Trial(rng.integers(0, 20, 60), DominanceNorm(), weights=rng.exponential(9.0, 60))

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        weight = np.empty(0) if weights is None else weights
        _shorten(self.waits, column, weight)

    def _answer(self, question: Any) -> Any:
        if not self.rows:
            return self._bar(0.0, 0.0, 0.0)
        # Without bias: the mean of 1 / sum is rate / (copies - 1).
        value = (self.copies - 1) / float(self.waits.sum())
        low, high = ratios(self.copies, self.delta)
        return self._bar(value, low * value, high * value)

    def validate(self) -> None:
        """Waits are positive, and finite once there was a row."""
        assert (self.waits > 0.0).all()
        assert bool(np.isfinite(self.waits).all()) == bool(self.rows)


@lru_cache(maxsize=512)
def ratios(copies: int, delta: float) -> tuple[float, float]:
    """Ends of the bar as shares of the estimate: the sum of waits times the rate is a gamma."""
    low, high = scipy.stats.gamma.ppf((delta / 2.0, 1.0 - delta / 2.0), copies)
    return float(low) / (copies - 1), float(high) / (copies - 1)


@compiled
def _shorten(waits, column, weights):  # type: ignore[no-untyped-def]
    for i in range(len(column)):
        value = weights[i] if len(weights) else 1.0
        for j in range(len(waits)):
            wait = -math.log(uniform(column[i], j)) / value
            if wait < waits[j]:
                waits[j] = wait
