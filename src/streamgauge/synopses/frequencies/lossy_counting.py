"""Lossy Counting: frequent items in buckets of rows, small where the data is skewed.

The stream is cut into buckets of `1 / epsilon` rows. A new item may have been dropped once in each
completed bucket, so their number is its error; at a boundary every item goes whose count and error
together do not exceed it. The table grows with the logarithm of the rows at worst.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.frequencies.listed import COUNTER_BYTES, HASHED_TEXT, Counted, share_owed
from streamgauge.synopses.frequencies.slots import (
    NO_WEIGHTS,
    find,
    grown,
    merge_tables,
    room_of,
    sweep,
)
from streamgauge.synopses.frequencies.vocabulary import Vocabulary
from streamgauge.synopses.questions import Frequency, HeavyHitters
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Trial, Values


class LossyCounting(Counted):
    """Frequent items, each too low by at most `epsilon` of the weight and by its own error.

    Parameters
    ----------
    epsilon
        Share of the weight that a count may miss; a bucket holds `ceil(1 / epsilon)` rows.
    seed
        Chooses the hash of texts; parts to be merged need the same.

    Examples
    --------
    >>> counts = LossyCounting(epsilon=0.25)
    >>> counts.update([1, 1, 2, 3, 1, 1, 4, 5, 1])
    >>> [(found.item, found.weight.low) for found in counts.query(HeavyHitters(0.5))]
    [(1, 5.0)]

    References
    ----------
    MM02: docs/reference/synopses/frequencies.md
    """

    name = "lossy_counting"
    weights = "positive"
    small = (0.1,)

    def __init__(self, epsilon: float, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if not 0.0 < epsilon < 1.0:
            raise BindError(
                "lossy_counting needs a share between 0 and 1",
                f"epsilon={epsilon}",
                "write LossyCounting(0.001)",
            )
        self.epsilon = epsilon
        # A part in a billion forgives the rounding of 1 / 0.1 and the like.
        self.bucket = math.ceil(1.0 / epsilon - 1e-9)
        self.weight = 0.0
        self.peak = 0
        self._begin(8)
        self.vocabulary = Vocabulary(seed=seed, room=4 * self.bucket)

    @property
    def guarantee(self) -> Guarantee:
        """Too low by at most `epsilon` of the weight; it cannot fail."""
        return Guarantee("additive", 1.0 / self.bucket, 0.0, assumes=(HASHED_TEXT,), cite="MM02")

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The tolerance is the epsilon, and a tenth of the share where one is asked for."""
        epsilon = share_owed(need, cls.name)
        if isinstance(need.question, HeavyHitters):
            epsilon = min(epsilon, need.question.share / 10.0)
        # It grows with the rows to that many items, and by a logarithm beyond.
        need.afford(cls.name, COUNTER_BYTES / epsilon)
        return cls(min(epsilon, 0.5), seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """An item that comes once in each bucket and is dropped each time."""
        rows = np.arange(500, dtype=np.int64) + 1000
        rows[::10] = seed % 1000
        return Trial(rows, Frequency(seed % 1000))

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        weight = NO_WEIGHTS if weights is None else weights
        row = 0
        while row < len(column):
            row, self.weight, self.floor, self.held, self.peak = _fold(
                self.words,
                self.counts,
                self.errors,
                self.weight,
                self.floor,
                self.held,
                self.peak,
                self.bucket,
                column,
                weight,
                row,
            )
            if row < len(column):
                table = grown(self.words, self.counts, self.errors, 2 * self.held)
                self.words, self.counts, self.errors = table
        self.vocabulary.keep(self._entries().words)

    def _merge(self, other: Self) -> None:
        if not other.rows:
            return
        self.vocabulary.join(other.vocabulary)
        self.floor = max(self.floor, math.floor(self.weight / self.bucket))
        self.held = sweep(self.words, self.counts, self.errors, self.floor)
        table = grown(self.words, self.counts, self.errors, self.held + other.held)
        self.words, self.counts, self.errors = table
        everything = len(self.words)
        self.floor, self.held = merge_tables(
            *table,
            self.floor,
            other.words,
            other.counts,
            other.errors,
            other.floor,
            everything,
            everything,
        )
        self.weight += other.weight
        self.peak = max(self.peak, other.peak, self.held)
        self.vocabulary.keep(self._entries().words)

    def _save(self) -> tuple[Values, Arrays]:
        values, arrays = super()._save()
        return {**values, "weight": self.weight, "peak": self.peak}, arrays

    def _load(self, values: Values, arrays: Arrays) -> None:
        super()._load(values, arrays)
        self.weight, self.peak = values["weight"], values["peak"]

    def validate(self) -> None:
        """The completed buckets are paid for by the weight that came in."""
        super().validate()
        assert self.floor * self.bucket <= self.mass * (1.0 + 1e-9)


@compiled
def _fold(  # type: ignore[no-untyped-def]
    words, counts, errors, total, floor, held, peak, bucket, column, weights, row
):
    # Items are dropped when the next bucket begins, so that the table is never left empty.
    room = room_of(len(words))
    while row < len(column):
        completed = np.floor(total / bucket)
        if completed > floor:
            floor = completed
            held = sweep(words, counts, errors, floor)
        weight = weights[row] if len(weights) else 1.0
        slot = find(words, counts, column[row])
        if counts[slot] > 0.0:
            counts[slot] += weight
        else:
            if held == room:
                break
            words[slot] = column[row]
            counts[slot] = floor + weight
            errors[slot] = floor
            held += 1
            peak = max(peak, held)
        total += weight
        row += 1
    return row, total, floor, held, peak
