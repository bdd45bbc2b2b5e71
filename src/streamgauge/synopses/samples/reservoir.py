"""Reservoir: a uniform sample of fixed size of a stream of unknown length.

The first `k` rows fill it; row i then enters with chance k/i and takes the place of a random one.
The gaps between rows that enter are drawn whole, so that most rows cost nothing.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.questions import Count, Quantile
from streamgauge.synopses.samples.designs import Drawn, Simple
from streamgauge.synopses.samples.dice import (
    hypergeometric,
    reservoir_gap,
    roll_below,
    shuffle_first,
    stir,
)
from streamgauge.synopses.samples.sampled import Sampled
from streamgauge.synopses.synopsis import Coarsening, Floats, Ints, Need, Trial


class Reservoir(Sampled, Coarsening):
    """A uniform sample of `k` rows, at any moment.

    Parameters
    ----------
    k
        Rows kept; four times as many halve the error.
    delta
        Chance that a bar fails.
    seed
        Chooses the rows; parts to be merged need the same.

    Examples
    --------
    >>> sample = Reservoir(k=200, seed=7)
    >>> sample.update(range(100_000))
    >>> print(sample.query(Quantile(0.5)))
    41821 in [34195, 52894] at 95% confidence, reservoir
    >>> len(sample.sample().values), sample.rows
    (200, 100000)

    References
    ----------
    V85, H63, WR24: docs/reference/synopses/samples.md
    """

    name = "reservoir"
    exactly = (Count,)
    fields = ("values", "places", "clock")
    small = (100,)

    def __init__(self, k: int, delta: float = 0.05, *, seed: int = 0) -> None:
        if k < 1:
            raise BindError(
                "a reservoir needs room for a row", f"got k={k}", "write Reservoir(k=1000)"
            )
        super().__init__(delta=delta, seed=seed)
        self.k = k
        self.values = np.zeros(k)
        self.places = np.zeros(k, np.int64)
        # Rows seen, rows held, number (from 1) of the row that enters next.
        self.clock = np.zeros(3, np.int64)

    @property
    def target(self) -> float:
        """The size."""
        return float(self.k)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Size from the tolerance (in rank, or a share of the rows or of the range)."""
        k, delta = cls._rows_for(need)
        return cls(k, delta, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """The median of rows in ascending order, all different."""
        return Trial(np.arange(5000, dtype=np.int64), Quantile(0.5))

    def sample(self) -> Drawn:
        """The rows held: every set of that many rows was as likely."""
        seen, held = int(self.clock[0]), int(self.clock[1])
        design = Simple(seen, held, self.seed)
        return Drawn(self.values[:held].copy(), design, self.places[:held].copy())

    def coarsened(self) -> Reservoir:
        """Half the size: a random half of the rows."""
        half = Reservoir(max(1, self.k // 2), self.delta, seed=self.seed)
        half._take_counts(self, 1)
        half.dice[:] = self.dice
        half.extremes[:] = self.extremes
        order = np.arange(int(self.clock[1]), dtype=np.int64)
        shuffle_first(half.dice, order, half.k)
        half._hold(self.values[order], self.places[order], int(self.clock[0]))
        return half

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        words = column.view(np.uint64)
        take_rows(self.values, self.places, self.clock, self.dice, column, words)

    def _merge(self, other: Self) -> None:
        seen, theirs = int(self.clock[0]), int(other.clock[0])
        if not theirs:
            return
        self._merge_shared(other)
        mine = np.arange(int(self.clock[1]), dtype=np.int64)
        yours = np.arange(int(other.clock[1]), dtype=np.int64)
        size = min(self.k, seen + theirs)
        from_mine = int(hypergeometric(self.dice, seen, theirs, size))
        shuffle_first(self.dice, mine, from_mine)
        shuffle_first(self.dice, yours, size - from_mine)
        mine, yours = mine[:from_mine], yours[: size - from_mine]
        values = np.concatenate([self.values[mine], other.values[yours]])
        places = np.concatenate([self.places[mine], other.places[yours] + seen])
        self._hold(values, places, seen + theirs)

    def _hold(self, values: Floats, places: Ints, seen: int) -> None:
        """Take rows as the sample of all rows seen, and draw when the next enters."""
        held = min(self.k, len(values))
        self.values[:held], self.places[:held] = values[:held], places[:held]
        following = seen + 1
        if seen >= self.k:
            following += int(reservoir_gap(self.dice, seen, self.k))
        self.clock[:] = seen, held, following

    def validate(self) -> None:
        """The sample is full, or holds all rows."""
        seen, held, _ = self.clock.tolist()
        assert held == min(seen, self.k), f"{held} rows held of {seen}"
        inside = self.sample().values
        assert not held or self.extremes[0] <= inside.min() <= inside.max() <= self.extremes[1]
        assert (self.places[:held] < seen).all()
        assert math.isfinite(float(inside.sum()))


@compiled
def take_rows(values, places, clock, dice, column, words):  # type: ignore[no-untyped-def]
    """Offer a column to a reservoir; its clock tells rows seen, rows held and the next to enter."""
    k = len(values)
    seen, held, following = clock[0], clock[1], clock[2]
    last = seen + len(column)
    while held < k and seen < last:
        at = len(column) - (last - seen)
        values[held], places[held] = column[at], seen
        stir(dice, words[at])
        seen += 1
        held += 1
        if held == k:
            following = seen + 1 + reservoir_gap(dice, seen, k)
    while held == k and following <= last:
        at = len(column) - (last - following) - 1
        slot = roll_below(dice, k)
        values[slot], places[slot] = column[at], following - 1
        stir(dice, words[at])
        following += 1 + reservoir_gap(dice, following, k)
    clock[0], clock[1], clock[2] = last, held, following
