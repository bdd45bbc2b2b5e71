"""Systematic: every m-th row, from a random start, or from several.

Good for rows with a trend, since the sample is spread evenly; bad for rows whose period divides m.
One start is one draw of m possible samples and says nothing of its own error; with several starts
the differences between them do.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses.questions import Mean
from streamgauge.synopses.samples.designs import Drawn
from streamgauge.synopses.samples.dice import shuffle_first, stir
from streamgauge.synopses.samples.sampled import Sampled
from streamgauge.synopses.samples.strata import Clusters
from streamgauge.synopses.synopsis import Floats, Ints, Need, Trial


class Systematic(Sampled):
    """Rows at `starts` random places of every `every` rows.

    Parameters
    ----------
    every
        Rows in a period.
    starts
        Rows taken of each period, at the same places; bars need more than a few.
    delta
        Chance that a bar fails.
    seed
        Chooses the starts.

    Examples
    --------
    >>> sample = Systematic(every=100, seed=4)
    >>> sample.update(range(1000))
    >>> sample.sample().rows
    array([ 73, 173, 273, 373, 473, 573, 673, 773, 873, 973])

    References
    ----------
    C77, WR24: docs/reference/synopses/samples.md
    """

    name = "systematic"
    merging = "none"
    fields = ("offsets", "values", "places", "seen")
    small = (400, 20)

    def __init__(self, every: int, starts: int = 1, delta: float = 0.05, *, seed: int = 0) -> None:
        if not 1 <= starts <= every:
            raise BindError(
                "a period has room for one start or more",
                f"got every={every}, starts={starts}",
                "write Systematic(every=1000, starts=20)",
            )
        super().__init__(delta=delta, seed=seed)
        self.every = every
        self.starts = starts
        self.offsets = np.empty(0, np.int64)
        self.values = np.empty(0)
        self.places = np.empty(0, np.int64)
        self.seen = np.zeros(1, np.int64)

    @property
    def target(self) -> float:
        """Starts: only they were drawn at random."""
        return float(self.starts)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Refused: memory grows with the rows."""
        raise ContractUnsatisfiable(
            "a systematic sample grows with the stream",
            f"asked for {need.contract}",
            "use reservoir, or give every= and starts= yourself",
        )

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Rows whose period is the sample's own, half of them one: all starts are one draw each."""
        return Trial(np.tile((np.arange(400) < 200).astype(np.int64), 5), Mean())

    def sample(self) -> Drawn:
        """The rows held, as a sample of classes of rows."""
        cluster = np.searchsorted(self.offsets, self.places % self.every)
        seen = int(self.seen[0])
        design = Clusters(cluster, self.starts, self.every, seen, self.seed)
        return Drawn(self.values.copy(), design, self.places.copy())

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        if not len(self.offsets):
            stir(self.dice, column.view(np.uint64)[0])
            order = np.arange(self.every, dtype=np.int64)
            shuffle_first(self.dice, order, self.starts)
            self.offsets = np.sort(order[: self.starts])
        seen = int(self.seen[0])
        first = seen - seen % self.every
        periods = np.arange(first, seen + len(column), self.every)
        rows = (periods[:, None] + self.offsets[None, :]).ravel()
        rows = rows[(rows >= seen) & (rows < seen + len(column))]
        self.values = np.concatenate([self.values, column[rows - seen]])
        self.places = np.concatenate([self.places, rows])
        self.seen += len(column)

    def validate(self) -> None:
        """Every period holds its starts."""
        assert np.isin(self.places % self.every, self.offsets).all()
        full = int(self.seen[0]) // self.every * self.starts
        assert full <= len(self.values) <= full + self.starts
