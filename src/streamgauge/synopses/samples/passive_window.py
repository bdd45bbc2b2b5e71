"""Passive window: a uniform sample of the last n rows that changes only when it must.

A reservoir samples the first n rows; from then on the row that comes when a sampled one expires
takes its place. Each sample alone is uniform, but one resembles the next, and rows of period n are
sampled at the same phases for ever.
"""

from __future__ import annotations

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.samples.designs import Drawn, Simple
from streamgauge.synopses.samples.reservoir import take_rows
from streamgauge.synopses.samples.rows_window import DrawnWindow
from streamgauge.synopses.synopsis import Floats, Ints


class PassiveWindow(DrawnWindow):
    """`k` of the last `n` rows, in memory for k.

    Parameters
    ----------
    k
        Rows kept.
    n
        Rows in the window.
    delta
        Chance that a bar fails.
    seed
        Chooses the rows.

    Examples
    --------
    >>> sample = PassiveWindow(k=3, n=10, seed=1)
    >>> sample.update(range(100))
    >>> np.sort(sample.sample().rows)
    array([93, 98, 99])

    References
    ----------
    BDM02: docs/reference/synopses/samples.md
    """

    name = "passive_window"
    fields = ("values", "places", "clock", "oldest")

    def __init__(self, k: int, n: int, delta: float = 0.05, *, seed: int = 0) -> None:
        super().__init__(k, n, delta, seed=seed)
        self.values = np.zeros(k)
        self.places = np.zeros(k, np.int64)
        # Rows seen, rows held, row that enters next while the window fills; slot that expires next.
        self.clock = np.zeros(3, np.int64)
        self.oldest = np.full(1, -1, np.int64)

    def sample(self) -> Drawn:
        """The rows held: every set of that many rows of the window was as likely."""
        seen, held = int(self.clock[0]), int(self.clock[1])
        design = Simple(min(seen, self.n), held, self.seed)
        return Drawn(self.values[:held].copy(), design, self.places[:held].copy())

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        filling = min(len(column), max(0, self.n - int(self.clock[0])))
        if filling:
            first = column[:filling]
            words = first.view(np.uint64)
            take_rows(self.values, self.places, self.clock, self.dice, first, words)
        if filling < len(column):
            if self.oldest[0] < 0:
                order = np.argsort(self.places)
                self.values, self.places = self.values[order], self.places[order]
                self.oldest[0] = 0
            _replace_expired(
                self.values, self.places, self.clock, self.oldest, self.n, column[filling:]
            )

    def validate(self) -> None:
        """All rows held are in the window."""
        seen, held = int(self.clock[0]), int(self.clock[1])
        assert held == min(seen, self.k)
        assert (self.places[:held] >= seen - self.n).all()
        assert (self.places[:held] < seen).all()


@compiled
def _replace_expired(values, places, clock, oldest, n, column):  # type: ignore[no-untyped-def]
    seen = clock[0]
    last = seen + len(column)
    slot = oldest[0]
    # A row that takes the place of the oldest is the newest: the ring stays in order.
    while places[slot] + n < last:
        places[slot] += n
        values[slot] = column[places[slot] - seen]
        slot = (slot + 1) % len(values)
    oldest[0] = slot
    clock[0] = last
