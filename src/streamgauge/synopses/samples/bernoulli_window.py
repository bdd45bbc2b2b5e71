"""Bernoulli window: the rows of a Bernoulli sample that have not expired.

The rate is raised so that the last n rows nearly always hold k sampled ones. The size wanders like
a random walk, so in the long run it will fall short now and then; `short` says by how much.
"""

from __future__ import annotations

import math

import numpy as np

from streamgauge.kernel.errors import BindError
from streamgauge.synopses.questions import Mean
from streamgauge.synopses.samples.bernoulli import choose_rows
from streamgauge.synopses.samples.designs import Drawn, Simple, shuffled_order
from streamgauge.synopses.samples.rows_window import RowsWindow
from streamgauge.synopses.synopsis import Floats, Ints, Trial


class BernoulliWindow(RowsWindow):
    """At least `k` of the last `n` rows, nearly always.

    Parameters
    ----------
    k
        Rows wanted.
    n
        Rows in the window.
    surety
        The rate is `2 surety k ln(n) / n`; the chance to fall short falls as n to minus this.
    delta
        Chance that a bar fails.
    seed
        Chooses the rows.

    Examples
    --------
    >>> sample = BernoulliWindow(k=10, n=1000, seed=1)
    >>> sample.update(range(5000))
    >>> len(sample.sample().values), sample.short, len(sample.subsample().values)
    (121, 0, 10)

    References
    ----------
    BDM02: docs/reference/synopses/samples.md
    """

    name = "bernoulli_window"
    fields = ("values", "places", "clock")
    small = (5, 500)

    def __init__(
        self, k: int, n: int, surety: float = 1.0, delta: float = 0.05, *, seed: int = 0
    ) -> None:
        self._check_window(n, k)
        if not surety > 0.0:
            raise BindError("a surety is above 0", f"got {surety}", "write surety=1.0")
        super().__init__(delta=delta, seed=seed)
        self.k = k
        self.n = n
        self.surety = surety
        self.rate = min(1.0, 2.0 * surety * k * max(1.0, math.log(n)) / n)
        self.values = np.empty(0)
        self.places = np.empty(0, np.int64)
        self.clock = np.array([0, -1], np.int64)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Half the rows zero, half one: the widest that a mean can scatter."""
        rows = np.arange(1700, dtype=np.int64)
        return Trial(rows % 2, Mean(), times=rows, now=1699)

    @property
    def short(self) -> int:
        """How many rows are wanting to k, or to the rows there are."""
        return max(0, min(self.k, int(self.clock[0])) - len(self.values))

    def sample(self) -> Drawn:
        """All rows held; given how many they are, every set of the window was as likely."""
        design = Simple(min(int(self.clock[0]), self.n), len(self.values), self.seed)
        return Drawn(self.values.copy(), design, self.places.copy())

    def subsample(self) -> Drawn:
        """A random k of them, or all when they fall short."""
        chosen = shuffled_order(len(self.values), self.seed)[: self.k]
        design = Simple(min(int(self.clock[0]), self.n), len(chosen), self.seed)
        return Drawn(self.values[chosen], design, self.places[chosen])

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        chosen = np.empty(len(column), np.int64)
        start = int(self.clock[0])
        count = choose_rows(self.clock, self.dice, column.view(np.uint64), self.rate, chosen)
        chosen = chosen[:count]
        values = np.concatenate([self.values, column[chosen]])
        places = np.concatenate([self.places, start + chosen])
        alive = int(np.searchsorted(places, int(self.clock[0]) - self.n))
        self.values, self.places = values[alive:].copy(), places[alive:].copy()

    def validate(self) -> None:
        """All rows held are in the window, in order."""
        assert (np.diff(self.places) > 0).all()
        assert (self.places >= self.clock[0] - self.n).all()
