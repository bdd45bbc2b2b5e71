"""Every: each m-th row, with no chance in it.

Cheap and spread evenly, but nothing follows from it by probability: a bar holds only what the rows
left out cannot change. Rows with a period that divides m are seen at one phase for ever.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses.questions import Rank
from streamgauge.synopses.samples.designs import Drawn, Known
from streamgauge.synopses.samples.sampled import Sampled
from streamgauge.synopses.synopsis import Floats, Ints, Need, Trial


class Every(Sampled):
    """The first of each `every` rows.

    Parameters
    ----------
    every
        Rows of which one is kept.
    seed
        Not used; parts to be merged need the same.

    Examples
    --------
    >>> sample = Every(7)
    >>> sample.update(range(28))
    >>> sample.sample().values
    array([ 0.,  7., 14., 21.])
    >>> print(sample.query(Rank(10)))
    14 in [2, 26], every

    References
    ----------
    C77: docs/reference/synopses/samples.md
    """

    name = "every"
    merging = "error"
    certain = True
    fields = ("values", "clock")
    small = (7,)

    def __init__(self, every: int, *, seed: int = 0) -> None:
        if every < 1:
            raise BindError("a period is one row or more", f"got every={every}", "write Every(10)")
        super().__init__(delta=0.0, seed=seed)
        self.every = every
        self.values = np.empty(0)
        # Rows seen, and rows to leave out before the next is kept.
        self.clock = np.zeros(2, np.int64)

    @property
    def guarantee(self) -> Guarantee:
        """Whatever the rows left out are."""
        return Guarantee(self.law, 1.0 - 1.0 / self.every, 0.0, (), "C77 sec 8.1")

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Refused: nothing is promised but the worst case."""
        raise ContractUnsatisfiable(
            "every m-th row promises no width",
            f"asked for {need.contract}",
            "use reservoir or systematic, which are random",
        )

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Rows of the sample's own period: it sees one phase, the bar must hold the others."""
        return Trial(np.arange(700, dtype=np.int64) % 7, Rank(0))

    def sample(self) -> Drawn:
        """The rows held; nothing is known of the others."""
        return Drawn(self.values.copy(), Known(int(self.clock[0]), len(self.values)))

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        seen, skip = int(self.clock[0]), int(self.clock[1])
        kept = column[skip :: self.every]
        self.values = np.concatenate([self.values, kept])
        after = skip + len(kept) * self.every - len(column)
        self.clock[:] = seen + len(column), after

    def _merge(self, other: Self) -> None:
        self._merge_shared(other)
        self.values = np.concatenate([self.values, other.values])
        self.clock[0] += other.clock[0]

    def validate(self) -> None:
        """One row in `every` at least."""
        assert len(self.values) * self.every >= self.clock[0]
