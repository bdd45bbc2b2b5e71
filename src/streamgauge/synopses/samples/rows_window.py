"""Windows of rows: samples of the last n rows, which expire as others come.

The clock of such a window is the rows themselves: time passes when a row arrives, so `advance`
changes nothing, and the times given with rows only say which of them came later.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses.questions import Quantile
from streamgauge.synopses.samples.sampled import Sampled
from streamgauge.synopses.synopsis import Expiring, Floats, Ints, Need, Trial


class RowsWindow(Sampled, Expiring):
    """A sample of the last `n` rows."""

    merging = "none"

    n: int

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Refused: a need states windows of time only."""
        raise ContractUnsatisfiable(
            f"{cls.name} keeps a window of rows",
            f"asked for a window of {need.window} microseconds",
            "use priority for windows of time, or give n= yourself",
        )

    def advance(self, now: int) -> None:
        """Nothing: rows expire when others come."""

    def weights_at(self, times: Ints, now: int) -> Floats:
        """One for the last n of all rows up to now."""
        alive: Floats = (ages(times, now) < self.n).astype(np.float64)
        return alive

    def _check_window(self, n: int, k: int) -> None:
        if not 1 <= k <= n:
            raise BindError(
                f"{self.name} samples one row or more of a window, and at most all",
                f"got n={n}, k={k}",
                f"write {type(self).__name__}(k=100, n=10_000)",
            )


class DrawnWindow(RowsWindow):
    """`k` rows drawn from the last `n`.

    Parameters
    ----------
    k
        Rows drawn.
    n
        Rows in the window.
    delta
        Chance that a bar fails.
    seed
        Chooses the rows.
    """

    small = (100, 500)

    def __init__(self, k: int, n: int, delta: float = 0.05, *, seed: int = 0) -> None:
        self._check_window(n, k)
        super().__init__(delta=delta, seed=seed)
        self.k = k
        self.n = n

    @property
    def target(self) -> float:
        """The size."""
        return float(self.k)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """The median of rows in ascending order, all different."""
        rows = np.arange(1700, dtype=np.int64)
        return Trial(rows, Quantile(0.5), times=rows, now=1699)


def ages(times: Ints, now: int) -> Ints:
    """How many rows came after each up to now; rows yet to come are infinitely old.

    >>> ages(np.array([0, 1, 1, 2]), 1)[:3]
    array([2, 1, 0])
    """
    count = int(np.searchsorted(times, now, side="right"))
    age = count - 1 - np.arange(len(times), dtype=np.int64)
    return np.where(age < 0, np.iinfo(np.int64).max, age)
