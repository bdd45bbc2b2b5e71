"""Sequential: a uniform sample of fixed size of a window whose length is known.

Rows are taken in order and never given back: the gap to the next one follows from how many are
still to be taken of how many rows to come. Rows beyond the stated length continue as a reservoir,
and a stream that ends early leaves a smaller, still uniform, sample.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.questions import Count, Quantile
from streamgauge.synopses.samples.designs import Drawn, Simple
from streamgauge.synopses.samples.dice import reservoir_gap, roll_below, sequential_gap, stir
from streamgauge.synopses.samples.sampled import Sampled
from streamgauge.synopses.synopsis import Floats, Ints, Need, Trial


class Sequential(Sampled):
    """A uniform sample of `k` of the next `n` rows.

    Parameters
    ----------
    k
        Rows to take.
    n
        Rows to come.
    delta
        Chance that a bar fails.
    seed
        Chooses the rows.

    Examples
    --------
    >>> sample = Sequential(k=5, n=1000, seed=2)
    >>> sample.update(range(1000))
    >>> sample.sample().rows
    array([ 40, 266, 673, 801, 965])

    References
    ----------
    V84: docs/reference/synopses/samples.md
    """

    name = "sequential"
    exactly = (Count,)
    merging = "none"
    fields = ("values", "places", "clock")
    small = (100, 2000)

    def __init__(self, k: int, n: int, delta: float = 0.05, *, seed: int = 0) -> None:
        if not 1 <= k <= n:
            raise BindError(
                "a sequential sample takes at least one row and at most all",
                f"got k={k}, n={n}",
                "write Sequential(k=1000, n=1_000_000)",
            )
        super().__init__(delta=delta, seed=seed)
        self.k = k
        self.n = n
        self.values = np.zeros(k)
        self.places = np.zeros(k, np.int64)
        # Rows seen, rows held, number (from 1) of the row taken next; 0 before the first row.
        self.clock = np.zeros(3, np.int64)

    @property
    def target(self) -> float:
        """The size."""
        return float(self.k)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Size from the tolerance; the rows to come must be known."""
        k, delta = cls._rows_for(need)
        if need.rows is None:
            raise ContractUnsatisfiable(
                "sequential needs the number of rows beforehand",
                f"asked for {need.contract} of rows unknown",
                "state the rows, or use reservoir",
            )
        return cls(k, max(k, need.rows), delta, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """The median of rows in ascending order, all different."""
        return Trial(np.arange(2000, dtype=np.int64), Quantile(0.5))

    def sample(self) -> Drawn:
        """The rows held; given how many they are, every set of the rows seen was as likely."""
        seen, held = int(self.clock[0]), int(self.clock[1])
        design = Simple(seen, held, self.seed)
        return Drawn(self.values[:held].copy(), design, self.places[:held].copy())

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        words = column.view(np.uint64)
        _take_in_order(self.values, self.places, self.clock, self.dice, self.n, column, words)

    def validate(self) -> None:
        """All are taken once the stated rows have come."""
        seen, held, _ = self.clock.tolist()
        assert held <= min(seen, self.k)
        assert seen < self.n or held == self.k


@compiled
def _take_in_order(values, places, clock, dice, n, column, words):  # type: ignore[no-untyped-def]
    k = len(values)
    seen, held, following = clock[0], clock[1], clock[2]
    last = seen + len(column)
    if following == 0:
        stir(dice, words[0])
        following = 1 + sequential_gap(dice, k, n)
    while following <= last:
        at = following - seen - 1
        slot = held if held < k else roll_below(dice, k)
        values[slot], places[slot] = column[at], following - 1
        stir(dice, words[at])
        if held < k:
            held += 1
            if held < k:
                following += 1 + sequential_gap(dice, k - held, n - following)
                continue
            # All are taken: from row n + 1 on this is a reservoir.
            following = n
        following += 1 + reservoir_gap(dice, following, k)
    clock[0], clock[1], clock[2] = last, held, following
