"""Resampled window: the last n rows in full, sampled anew for each question.

The samples of different moments are independent, which no small state achieves; the price is the
whole window in memory. It is the yardstick for the other samples of windows.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from streamgauge.kernel.hashing import draws, mix64
from streamgauge.synopses.questions import Quantile
from streamgauge.synopses.samples.designs import Drawn, Simple
from streamgauge.synopses.samples.rows_window import RowsWindow
from streamgauge.synopses.synopsis import Floats, Ints, Trial


class ResampledWindow(RowsWindow):
    """`k` of the last `n` rows, drawn anew after each row.

    Parameters
    ----------
    k
        Rows drawn.
    n
        Rows in the window, all kept.
    delta
        Chance that a bar fails.
    seed
        Chooses the rows.

    Examples
    --------
    >>> sample = ResampledWindow(k=3, n=10, seed=1)
    >>> sample.update(range(100))
    >>> bool(sample.sample().rows.min() >= 90)
    True

    References
    ----------
    BDM02: docs/reference/synopses/samples.md
    """

    name = "resampled_window"
    fields = ("ring", "seen")

    def __init__(self, k: int, n: int, delta: float = 0.05, *, seed: int = 0) -> None:
        self._check_window(n, k)
        super().__init__(delta=delta, seed=seed)
        self.k = k
        self.n = n
        self.ring = np.zeros(n)
        self.seen = np.zeros(1, np.int64)

    @property
    def target(self) -> float:
        """The size."""
        return float(self.k)

    @classmethod
    def specimen(cls, seed: int) -> Self:
        """A hundred of the last five hundred rows."""
        return cls(100, 500, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """The median of rows in ascending order, all different."""
        rows = np.arange(1700, dtype=np.int64)
        return Trial(rows, Quantile(0.5), times=rows, now=1699)

    def sample(self) -> Drawn:
        """A sample of the window as it stands, the same until a row comes."""
        seen = int(self.seen[0])
        alive = min(seen, self.n)
        # The seed of this moment: each row makes another.
        moment = int(mix64(mix64(np.uint64(self.seed)) ^ np.uint64(seen)))
        chosen = np.sort(np.argsort(draws(moment, 0, alive))[: self.k])
        places = seen - alive + chosen
        design = Simple(alive, len(chosen), self.seed)
        return Drawn(self.ring[places % self.n], design, places)

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        seen = int(self.seen[0])
        last = column[-self.n :]
        places = np.arange(seen + len(column) - len(last), seen + len(column))
        self.ring[places % self.n] = last
        self.seen += len(column)

    def validate(self) -> None:
        """What is in the window lies between the extremes."""
        alive = self.ring[: min(int(self.seen[0]), self.n)]
        assert not len(alive) or self.extremes[0] <= alive.min() <= alive.max() <= self.extremes[1]
