"""Resampled window: the last n rows in full, sampled anew for each question.

The samples of different moments are independent, which no small state achieves; the price is the
whole window in memory. It is the yardstick for the other samples of windows.
"""

from __future__ import annotations

import numpy as np

from streamgauge.kernel.hashing import draws, mix64
from streamgauge.synopses.samples.designs import Drawn, Simple
from streamgauge.synopses.samples.rows_window import DrawnWindow
from streamgauge.synopses.synopsis import Floats, Ints


class ResampledWindow(DrawnWindow):
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
        super().__init__(k, n, delta, seed=seed)
        self.ring = np.zeros(n)
        self.seen = np.zeros(1, np.int64)

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
