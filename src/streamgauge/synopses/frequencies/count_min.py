"""Count-Min: how often any item occurs, never too low, too high by little.

`depth` rows of `width` counters; each row hashes the item to one counter and the smallest of them
is read. Linear, so parts merge and subtract exactly and rows can be taken back.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.hashing import family, polynomial
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import items, keys
from streamgauge.synopses.frequencies.count_min_bank import CountMinBank
from streamgauge.synopses.questions import Count, Frequency
from streamgauge.synopses.synopsis import Floats, Ints, Need, Subtractable, Synopsis, Trial


class CountMin(Synopsis, Subtractable):
    """Frequencies of items, overestimated by at most `e / width` of the total weight.

    Parameters
    ----------
    width
        Counters in a row; twice as many halve the error.
    depth
        Rows; one more divides the chance of failure by e.
    seed
        Chooses the hashes; parts to be merged need the same.

    Examples
    --------
    >>> sketch = CountMin(width=272, depth=3, seed=7)
    >>> sketch.update(["a", "b", "a", None])
    >>> print(sketch.query(Frequency("a")))
    2 in [1.97002, 2] at 95.0213% confidence, count_min
    >>> sketch.skipped
    1

    References
    ----------
    CM05: docs/references.md
    """

    name = "count_min"
    answers = (Frequency, Count)
    takes = "keys"
    weights = "strict"
    merging = "exact"
    bank_kind = CountMinBank
    fields = ("counters",)
    joined_by = np.add
    small = (100, 3)

    def __init__(self, width: int, depth: int, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if width < 1 or depth < 1:
            raise BindError(
                "count_min needs counters",
                f"width={width}, depth={depth}",
                "write CountMin(272, 3)",
            )
        self.width = width
        self.depth = depth
        self.counters = np.zeros((depth, width))
        self._hashes = family(seed, depth, 2)

    @property
    def guarantee(self) -> Guarantee:
        """Never below; above by more than `epsilon` of the weight with chance `delta`."""
        return Guarantee(
            "additive",
            math.e / self.width,
            math.exp(-self.depth),
            assumes=("no item has negative weight", "seed independent of the data"),
            cite="CM05 thm 1",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Width from the tolerance (a share of the weight), depth from the confidence."""
        contract = need.contract
        if contract.tolerance != "rank" or contract.confidence == 1.0:
            raise ContractUnsatisfiable(
                "count_min owes a share of the total weight at a confidence below 100%",
                f"asked for {contract}",
                "write Contract.rank(0.01, confidence=0.99), or use space_saving",
            )
        width = math.ceil(math.e / contract.within)
        depth = max(1, math.ceil(math.log(1.0 / (1.0 - contract.confidence))))
        need.afford(cls.name, 8.0 * width * depth)
        return cls(width, depth, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """As many equal heavy items as the error allows, and a question about an absent one."""
        heavy = np.repeat(np.arange(36, dtype=np.int64) + 1000 * seed, 50)
        return Trial(heavy, Frequency(-1))

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        weight = np.empty(0) if weights is None else weights
        _add_keys(self.counters, self._hashes, column, weight)

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            return self._bar(self.mass, self.mass, self.mass, 0.0)
        key = keys(items([question.item]), seed=self.seed)[0]
        value = min(
            float(self.counters[row, int(polynomial(key, self._hashes[row])) % self.width])
            for row in range(self.depth)
        )
        return self._bar(value, max(0.0, value - self.guarantee.width(value, self.mass)), value)

    def validate(self) -> None:
        """Every row holds the whole weight."""
        assert np.allclose(self.counters.sum(axis=1), self.mass)


@compiled
def _add_keys(counters, hashes, column, weights):  # type: ignore[no-untyped-def]
    depth, width = counters.shape
    for row in range(depth):
        for i in range(len(column)):
            place = polynomial(column[i], hashes[row]) % np.uint64(width)
            counters[row, place] += weights[i] if len(weights) else 1.0
