"""Misra-Gries: exactly k counters, and every item above 1/(k+1) of the rows is among them.

A row of a new item, when all counters are taken, takes its weight from every counter instead. The
counters themselves are not touched: a common floor rises, and those it reaches are free again.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.frequencies.listed import (
    HASHED_TEXT,
    Counted,
    check_memory,
    counters_owed,
)
from streamgauge.synopses.frequencies.slots import NO_WEIGHTS, find, merge_tables, sweep
from streamgauge.synopses.frequencies.vocabulary import Vocabulary
from streamgauge.synopses.questions import Frequency
from streamgauge.synopses.synopsis import Floats, Ints, Need, Trial


class MisraGries(Counted):
    """Frequent items in `k` counters, each too low by at most `1 / (k + 1)` of the weight.

    Parameters
    ----------
    k
        Counters; never more are held.
    seed
        Chooses the hash of texts; parts to be merged need the same.

    Examples
    --------
    >>> from streamgauge.synopses.questions import HeavyHitters
    >>> counters = MisraGries(k=2)
    >>> counters.update([7, 8, 7, 9, 7, 7])
    >>> print(counters.query(Frequency(7)))
    4 in [4, 4], misra_gries
    >>> [found.item for found in counters.query(HeavyHitters(0.5))]
    [7]

    References
    ----------
    MG82, KSP03, ACHPWY13: docs/reference/synopses/frequencies.md
    """

    name = "misra_gries"
    weights = "positive"
    small = (8,)

    def __init__(self, k: int, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if k < 1:
            raise BindError("misra_gries needs a counter", f"k={k}", "write MisraGries(100)")
        self.k = k
        self._begin(k)
        self.vocabulary = Vocabulary(seed=seed, room=4 * k)

    @property
    def guarantee(self) -> Guarantee:
        """Too low by at most `epsilon` of the weight; it cannot fail."""
        return Guarantee(
            "additive", 1.0 / (self.k + 1), 0.0, assumes=(HASHED_TEXT,), cite="MG82; ACHPWY13"
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """One counter for each tolerated share of the weight."""
        sized = cls(counters_owed(need, cls.name), seed=seed)
        check_memory(sized, need)
        return sized

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """One item more than counters, again and again: every round takes one from all."""
        rounds = np.tile(np.arange(9, dtype=np.int64) + seed, 30)
        return Trial(rounds, Frequency(seed))

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        weight = NO_WEIGHTS if weights is None else weights
        self.floor, self.held = _fold(
            self.words, self.counts, self.errors, self.floor, self.held, self.k, column, weight
        )
        self.vocabulary.keep(self._entries().words)

    def _merge(self, other: Self) -> None:
        self.vocabulary.join(other.vocabulary)
        self.floor, self.held = merge_tables(
            self.words,
            self.counts,
            self.errors,
            self.floor,
            other.words,
            other.counts,
            other.errors,
            other.floor,
            self.k,
            self.k,
        )
        self.vocabulary.keep(self._entries().words)

    def validate(self) -> None:
        """No more counters than k; the floor is paid for by weight that came in."""
        super().validate()
        assert self.held <= self.k
        high = self._entries().high
        above = np.maximum(high - self.floor, 0.0)
        assert (self.k + 1) * self.floor + float(above.sum()) <= self.mass * (1.0 + 1e-9)


@compiled
def _fold(words, counts, errors, floor, held, k, column, weights):  # type: ignore[no-untyped-def]
    # Counts only grow, so the smallest one seen stays a lower bound and saves most searches.
    least = floor
    for i in range(len(column)):
        weight = weights[i] if len(weights) else 1.0
        slot = find(words, counts, column[i])
        if counts[slot] > 0.0:
            counts[slot] += weight
            continue
        if held == k:
            if weight > least - floor:
                least = _smallest(counts)
            if weight <= least - floor:
                floor += weight
                continue
            if least > floor:
                weight -= least - floor
                floor = least
            held = sweep(words, counts, errors, floor)
            slot = find(words, counts, column[i])
            least = floor
        words[slot] = column[i]
        counts[slot] = floor + weight
        errors[slot] = floor
        held += 1
    return floor, held


@compiled
def _smallest(counts):  # type: ignore[no-untyped-def]
    least = np.inf
    for count in counts:
        if 0.0 < count < least:
            least = count
    return least
