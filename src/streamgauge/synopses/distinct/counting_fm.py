"""FM with counters: distinct items of a stream whose rows can be taken back.

PCSA with a counter in place of each bit. A bit is set while its counter is above zero, so rows that
are taken back leave no trace. Linear: parts merge and subtract exactly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.distinct.bitmaps import LEVELS, lowest_unset, place_of
from streamgauge.synopses.distinct.registers import Registers
from streamgauge.synopses.distinct.sampling_law import RANDOM_HASHES
from streamgauge.synopses.questions import Count, Distinct
from streamgauge.synopses.synopsis import Floats, Ints, Subtractable, Trial

_NOTHING = 1e-9


class CountingFm(Registers, Subtractable):
    """Distinct items of positive weight, within about `0.78 / sqrt(k)`, under deletions.

    Parameters
    ----------
    k
        Bitmaps of counters, a power of two; 352 bytes each.
    delta
        Chance that a bar fails.
    seed
        Chooses the hash; parts to be merged need the same.

    Examples
    --------
    >>> counter = CountingFm(k=256, seed=7)
    >>> counter.update(["a", "b", "c"])
    >>> counter.update(["a", "b"], [-1, -1])
    >>> print(counter.query(Distinct()))
    1 in [1, 1] at 95% confidence, counting_fm

    References
    ----------
    FM85, GGR03: docs/references.md
    """

    name = "counting_fm"
    answers = (Distinct, Count)
    weights = "strict"
    law = "pcsa"
    cite = "FM85 thm 4"
    assumes = (*RANDOM_HASHES, "no item has negative weight")
    powers = range(4, 16)
    fields = ("counters",)
    joined_by = np.add

    def __init__(self, k: int, delta: float = 0.05, *, seed: int = 0) -> None:
        super().__init__(k, delta, seed=seed)
        self.counters: Floats = np.zeros((k, LEVELS))

    @property
    def overdrawn(self) -> bool:
        """Whether more of some item was taken back than put in; bars are void then."""
        return bool((self.counters < -1e-6).any())

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Twice as many items as stay, half of them taken back again."""
        items = np.arange(3840, dtype=np.int64) + 4096 * seed
        weights = np.concatenate([np.ones(3840), -np.ones(1920)])
        return Trial(np.concatenate([items, items[:1920]]), Distinct(), weights)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        weight = np.empty(0) if weights is None else weights
        _count_levels(self.counters, column, weight, self.k.bit_length() - 1)

    def _scores(self) -> tuple[int, float]:
        table = self.counters > _NOTHING
        return int(table.any(axis=1).sum()), float(lowest_unset(table).sum())

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            return self._bar(self.mass, self.mass, self.mass, 0.0)
        if self.overdrawn:
            return self._bar(self._span(*self._scores())[0], 0.0, math.inf, 0.0)
        return super()._answer(question)

    def validate(self) -> None:
        """Every item is counted once."""
        assert np.isclose(self.counters.sum(), self.mass)


@compiled
def _count_levels(counters, column, weights, lg):  # type: ignore[no-untyped-def]
    last = counters.shape[1] - 1
    for i in range(len(column)):
        bitmap, level = place_of(column[i], lg)
        counters[bitmap, min(level, last)] += weights[i] if len(weights) else 1.0
