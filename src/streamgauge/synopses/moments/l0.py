"""L0: how many items have a weight that is not zero, while rows are also taken back.

The power 0 has no stable law, but a small power is almost a count: |a|^p lies between 1 and
largest^p for every whole weight that is not zero. The sums must be exact, since at such p one draw
can be larger than all the others together by hundreds of orders of magnitude.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable, IncompatibleSynopsis
from streamgauge.kernel.keys import Column, Items
from streamgauge.synopses.moments.stable import Reading, Stable, fewest, law
from streamgauge.synopses.questions import Count, Distance, Distinct, Moment
from streamgauge.synopses.synopsis import Floats, Need, Trial


class L0(Stable):
    """Items present under insertions and deletions, and items in which two streams differ.

    The bar runs from the estimate over `largest^p` down to the estimate, each widened by the
    exact law of the sketch.

    Parameters
    ----------
    copies
        Sums kept; four times as many halve the error of the draws.
    largest
        No item may weigh more than this, up or down; the bar rests on it.
    p
        The small power; the systematic part of the bar is a factor `largest^p`. A sum takes
        about `100 / p` bits in memory.
    delta
        Chance that one bar fails.
    estimator
        median or geometric.
    seed
        Chooses the draws; streams to be merged or compared need the same.

    Examples
    --------
    >>> sketch = L0(401, largest=4, seed=7)
    >>> sketch.update(list(range(100)))
    >>> sketch.update(list(range(60)), [-1.0] * 60)
    >>> found = sketch.query(Distinct())
    >>> found.low < 40.0 < found.high
    True

    References
    ----------
    CDIM03: docs/reference/synopses/moments.md
    """

    name = "l0"
    answers = (Distinct, Moment, Distance, Count)
    weights = "strict"
    small = (21, 2000, 0.05)

    def __init__(
        self,
        copies: int,
        largest: int,
        p: float = 0.02,
        delta: float = 0.05,
        estimator: str = "geometric",
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(p, copies, delta, estimator, seed=seed)
        if not (largest >= 1 and p <= 1.0):
            raise BindError(
                "l0 needs a largest weight of 1 or more and a power of at most 1",
                f"got largest={largest}, p={p:g}",
                "write L0(401, largest=1000, p=0.02)",
            )
        self.largest = largest

    @property
    def guarantee(self) -> Guarantee:
        """The count is off by more than `epsilon` of the estimate with chance `delta`."""
        off = law(self.p, self.copies, self.delta, self.estimator)
        low = off.low - self.p * math.log(self.largest)
        return Guarantee(
            "relative",
            max(math.exp(off.high - off.value) - 1.0, 1.0 - math.exp(low - off.value)),
            self.delta,
            assumes=(
                "weights of items are whole and at most `largest`",
                "draws made by hashing behave as independent ones",
            ),
            cite="CDIM03",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Half of the tolerance for the power, half for the draws; needs the number of rows."""
        contract = need.contract
        if getattr(need.question, "p", 0.0) != 0.0 or isinstance(need.question, Count):
            raise ContractUnsatisfiable(
                "l0 counts items", f"asked for {need.question}", "use stable for other powers"
            )
        if contract.tolerance != "relative" or contract.confidence == 1.0 or not need.rows:
            raise ContractUnsatisfiable(
                "l0 owes a share of the count at a confidence below 100%, of known many rows",
                f"asked for {contract}, rows {need.rows}",
                "write Contract.relative(0.1, confidence=0.95) and say how many rows to expect",
            )
        delta = 1.0 - contract.confidence
        p = min(1.0, -math.log1p(-contract.within / 2.0) / math.log(max(need.rows, 2)))
        if p < 0.001:
            nearest = 2.0 * (1.0 - max(need.rows, 2) ** -0.001)
            raise ContractUnsatisfiable(
                "l0 would need a power below 0.001",
                f"asked for {contract} of {need.rows} rows, p={p:.2g}",
                f"widen the contract to {nearest:.3f} or more",
            )
        copies = fewest(p, contract.within / 2.0, delta, "geometric", 1.0)
        return cls(copies, need.rows, p, delta, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Three hundred items, most of them taken back: all weights left are 1."""
        column = np.arange(300, dtype=np.int64) + 1000 * seed
        rows = np.concatenate([column, column[:270]])
        return Trial(rows, Distinct(), weights=np.repeat([1.0, -1.0], [300, 270]))

    def _checked_weights(self, weights: Column | None, size: int, given: Items) -> Floats | None:
        weight = super()._checked_weights(weights, size, given)
        if weight is not None and (weight != np.rint(weight)).any():
            raise BindError(
                "l0 takes whole weights",
                f"the first that is not is {weight[weight != np.rint(weight)][0]:g}",
                "count rows, or use stable for amounts",
            )
        return weight

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            return super()._answer(question)
        if not isinstance(question, Distinct) and question.p != 0.0:
            raise IncompatibleSynopsis(
                "l0 counts items",
                f"asked for the power {question.p:g}",
                f"build stable(p={question.p:g}), or ask for p=0",
            )
        if isinstance(question, Distance):
            # Two weights of at most `largest` differ by at most twice as much.
            return self._counted(self._apart(question.other)._read(), 2 * self.largest)
        return self._counted(self._read(), self.largest)

    def _counted(self, reading: Reading, largest: int) -> Estimate:
        low = reading.low - self.p * math.log(largest)
        return self._estimate(Reading(reading.value, low, reading.high), 1.0)
