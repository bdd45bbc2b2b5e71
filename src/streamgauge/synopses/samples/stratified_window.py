"""Stratified window: a small sample of each stretch of the last n rows.

Sampled rows expire one by one, so the oldest stratum thins out while the newest fills: the sample
has at least `per_stratum` rows for each whole stratum of the window, and at most as many more.
"""

from __future__ import annotations

import numpy as np

from streamgauge.kernel.errors import BindError
from streamgauge.synopses.questions import Mean
from streamgauge.synopses.samples.designs import Drawn
from streamgauge.synopses.samples.rows_window import RowsWindow
from streamgauge.synopses.samples.stratified import Stratified
from streamgauge.synopses.synopsis import Floats, Ints, Trial, Values


class StratifiedWindow(RowsWindow, Stratified):
    """`per_stratum` rows of every `stratum` of the last `n` rows.

    Parameters
    ----------
    n
        Rows in the window, a multiple of `stratum`.
    stratum
        Rows in a stratum.
    per_stratum
        Rows kept of each.
    delta
        Chance that a bar fails.
    seed
        Chooses the rows.

    Examples
    --------
    >>> sample = StratifiedWindow(n=12, stratum=4, per_stratum=2, seed=1)
    >>> sample.update(range(100))
    >>> len(sample.sample().values)
    6

    References
    ----------
    S74: docs/reference/synopses/samples.md
    """

    name = "stratified_window"
    small = (500, 100, 10)

    def __init__(
        self, n: int, stratum: int, per_stratum: int, delta: float = 0.05, *, seed: int = 0
    ) -> None:
        super().__init__(stratum, per_stratum, delta, seed=seed)
        if n < stratum or n % stratum:
            raise BindError(
                "a window is a whole number of strata",
                f"got n={n}, stratum={stratum}",
                f"write n={max(1, round(n / stratum)) * stratum}",
            )
        self.n = n

    @property
    def parameters(self) -> Values:
        """Sizes and chance of failure."""
        return {"n": self.n, **super().parameters}

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Half of each stratum zero, half one, and a stratum that is half expired."""
        rows = np.arange(1750, dtype=np.int64)
        return Trial(rows % 2, Mean(), times=rows, now=1749)

    def _drawn(self, values: Floats, places: Ints, bounds: Ints, ranges: Floats) -> Drawn:
        first = self.seen - self.n
        alive = places >= first
        return super()._drawn(values[alive], places[alive], np.maximum(bounds, first), ranges)

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        super()._take(column, weights, times)
        first = self.seen - self.n
        there, alive = self.places >= first, self.bounds[:, 1] > first
        self.values, self.places = self.values[there], self.places[there]
        self.bounds, self.ranges = self.bounds[alive], self.ranges[alive]

    def validate(self) -> None:
        """All rows held are in the window, and there are about as many as promised."""
        Stratified.validate(self)
        assert (self.places >= self.seen - self.n).all()
        if self.seen >= self.n:
            strata = self.n // self.stratum
            held = len(self.sample().values)
            assert strata * self.per_stratum <= held <= (strata + 1) * self.per_stratum
