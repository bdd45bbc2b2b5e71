"""Space-Saving: the items that occur most, with bars that cannot fail.

A new item starts at the floor, the most that it can have weighed before, and remembers that as its
error. Classical Space-Saving evicts the smallest counter for each new item; here room is kept for
twice as many counters, and when it is used up all but the largest go at once. The floor is then the
largest count that went. That costs a constant time per row, keeps the bound, and drops no item
that the bound lets nobody drop.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError
from streamgauge.synopses.frequencies.listed import (
    HASHED_TEXT,
    Counted,
    check_memory,
    counters_owed,
)
from streamgauge.synopses.frequencies.slots import IN_ORDER, NO_WEIGHTS, fold, merge_tables
from streamgauge.synopses.frequencies.space_saving_bank import SpaceSavingBank
from streamgauge.synopses.frequencies.vocabulary import Vocabulary
from streamgauge.synopses.questions import Frequency
from streamgauge.synopses.synopsis import Coarsening, Floats, Ints, Need, Trial


class SpaceSaving(Counted, Coarsening):
    """Frequent items with deterministic bars, at most `1 / (capacity + 1)` of the weight wide.

    Parameters
    ----------
    capacity
        Counters that the bound rests on; room is kept for twice as many.
    seed
        Chooses the hash of texts; parts to be merged need the same.

    Examples
    --------
    >>> from streamgauge.synopses.questions import TopK
    >>> top = SpaceSaving(capacity=10)
    >>> top.update(["a", "b", "a", "c", "a", None])
    >>> [(found.item, found.weight.low, found.weight.high) for found in top.query(TopK(2))]
    [('a', 3.0, 3.0), ('b', 1.0, 1.0)]
    >>> print(top.query(Frequency("b")))
    1 in [1, 1], space_saving

    References
    ----------
    MAE05, ACHPWY13, ABLRSTZ17: docs/reference/synopses/frequencies.md
    """

    name = "space_saving"
    weights = "positive"
    bank_kind = SpaceSavingBank
    small = (8,)

    def __init__(self, capacity: int, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if capacity < 1:
            raise BindError(
                "space_saving needs a counter", f"capacity={capacity}", "write SpaceSaving(100)"
            )
        self.capacity = capacity
        self.limit = 2 * capacity
        self._begin(self.limit)
        self.vocabulary = Vocabulary(seed=seed, room=4 * self.limit)

    @property
    def guarantee(self) -> Guarantee:
        """No bar is wider than `epsilon` of the weight; it cannot fail."""
        epsilon = 1.0 / (self.capacity + 1)
        return Guarantee("additive", epsilon, 0.0, assumes=(HASHED_TEXT,), cite="ACHPWY13")

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """One counter for each tolerated share of the weight."""
        sized = cls(counters_owed(need, cls.name), seed=seed)
        check_memory(sized, need)
        return sized

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """As many equal items as there is room for, again and again, so that all are dropped."""
        rounds = np.tile(np.arange(17, dtype=np.int64) + seed, 30)
        return Trial(rounds, Frequency(seed))

    def coarsened(self) -> SpaceSaving:
        """One of half the capacity."""
        coarse = SpaceSaving(max(1, self.capacity // 2), seed=self.seed)
        coarse.rows, coarse.mass, coarse.skipped = self.rows, self.mass, self.skipped
        coarse.vocabulary.join(self.vocabulary)
        coarse._fold(self)
        return coarse

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        weight = NO_WEIGHTS if weights is None else weights
        self.floor, self.held = fold(
            self.words,
            self.counts,
            self.errors,
            self.floor,
            self.held,
            self.capacity,
            self.limit,
            column,
            weight,
            IN_ORDER,
            0,
            len(column),
        )
        self.vocabulary.keep(self._entries().words)

    def _merge(self, other: Self) -> None:
        self.vocabulary.join(other.vocabulary)
        self._fold(other)
        self.vocabulary.keep(self._entries().words)

    def _fold(self, other: SpaceSaving) -> None:
        self.floor, self.held = merge_tables(
            self.words,
            self.counts,
            self.errors,
            self.floor,
            other.words,
            other.counts,
            other.errors,
            other.floor,
            self.capacity,
            self.limit,
        )

    def validate(self) -> None:
        """The floor is paid for by weight that came in; no bar is wider than the floor."""
        super().validate()
        high = self._entries().high
        assert self.held <= self.limit
        assert (high >= self.floor).all()
        paid = (self.capacity + 1) * self.floor + float((high - self.floor).sum())
        assert paid <= self.mass * (1.0 + 1e-9)
