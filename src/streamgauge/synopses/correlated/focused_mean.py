"""Focused mean: the rows above, below or around the mean of x so far, from few buckets.

The mean settles: it moves by about a standard error, which shrinks. So most buckets lie within a
few standard errors of it and two wide ones cover the rest. Edges are moved when the mean comes near
the end of the fine buckets, not at every row.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.correlated.aggregate import PARTITIONS, REALLOCATIONS
from streamgauge.synopses.correlated.first_rows import FirstRows
from streamgauge.synopses.correlated.mean_cut import (
    TRIGGERS,
    MeanCut,
    answer_of,
    begin,
    due,
    refocus,
    take_in,
    tell_above,
)
from streamgauge.synopses.correlated.questions import BesideMean
from streamgauge.synopses.correlated.table import MEASURES, add
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Trial, Values


class FocusedMean(MeanCut, FirstRows):
    """COUNT, SUM or AVG of y over the rows above, below or near the mean of x since the landmark.

    Parameters
    ----------
    buckets
        Buckets; the first rows, as many as buckets, are held as they are.
    spread
        Standard errors on each side of the mean that the fine buckets are to cover.
    trigger
        cover: move the fine buckets when they no longer cover that, or are four times too wide;
        lazy: when the mean leaves them; always: at every row.
    reallocation
        piecemeal: keep the edges that still serve; wholesale: move all of them.
    partition
        uniform: fine buckets of equal width; quantile: as the mean is likely to lie.
    factor, offset
        The cut is `factor * mean + offset`; the fine buckets lie around it.
    band
        Half the width of a band around the cut that the fine buckets cover as well.
    seed
        Unused; there is no chance in it.

    Examples
    --------
    >>> above = FocusedMean(buckets=10)
    >>> above.update([1.0, 2.0, 3.0, 10.0], weights=[5.0, 6.0, 7.0, 8.0])
    >>> print(above.query(BesideMean("above", of="sum")))
    8 in [8, 8], focused_mean

    References
    ----------
    GKS01: docs/references.md
    """

    name = "focused_mean"

    def __init__(
        self,
        buckets: int = 10,
        spread: float = 3.0,
        trigger: str = "cover",
        reallocation: str = "piecemeal",
        partition: str = "uniform",
        factor: float = 1.0,
        offset: float = 0.0,
        band: float = 0.0,
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(buckets, reallocation, partition, seed=seed)
        self._watch(spread, trigger)
        self.factor, self.offset, self.band = float(factor), float(offset), float(band)
        self._where = np.array([self.spread, self.factor, self.offset, self.band])
        self.counts = np.zeros(2, np.int64)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Only for as many rows as buckets can anything be promised beforehand."""
        return cls(cls._buckets_for(need), seed=seed)

    @classmethod
    def specimen(cls, seed: int) -> Self:
        """Eight buckets; policies change with the seed."""
        trigger = TRIGGERS[seed % 3]
        how = REALLOCATIONS[seed // 3 % 2], PARTITIONS[seed // 6 % 2]
        return cls(8, 3.0, trigger, *how, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """A mean that drifts all the time, so that edges are laid anew again and again."""
        rng = np.random.default_rng(seed)
        column = np.linspace(0.0, 100.0, 1500) + rng.exponential(10.0, 1500)
        part = ("above", "below", "within")[seed % 3]
        of = ("count", "sum", "mean")[seed // 3 % 3]
        question = BesideMean(part, band=20.0, of=of)  # type: ignore[arg-type]
        return Trial(column, question, weights=rng.normal(1.0, 2.0, len(column)))

    def _rows(self, given: Floats, times: Ints, out: Floats) -> None:
        _add_rows(
            self.edges,
            self.table,
            self.held,
            self.stats,
            self.counts,
            given,
            self._how,
            self._where,
            out,
        )

    def _totals(self, question: Any) -> Floats:
        first = self._first()
        return answer_of(question, self.stats, self.edges, self.table, self.laid, first)

    def _state(self) -> tuple[Values, Arrays]:
        return {}, {
            **self._buckets_state(),
            "held": self._first(),
            "stats": self.stats,
            "counts": self.counts,
        }


@compiled
def _add_rows(edges, table, held, stats, counts, given, how, where, out):  # type: ignore[no-untyped-def]
    scratch = np.empty(len(edges))
    buckets = held.shape[1]
    for row in range(given.shape[1]):
        at, flags = given[0, row], int(given[3, row])
        if flags & 1:
            take_in(stats, at)
        if flags & 2:
            if counts[0] == 0 and counts[1] == buckets:
                counts[0] = begin(edges, table, held, buckets, stats, buckets, how, where, scratch)
                counts[1] = 0
            if counts[0] == 0:
                for measure in range(MEASURES):
                    held[measure, counts[1]] = given[measure, row]
                counts[1] += 1
            else:
                add(edges, table, counts[0], at, 1.0, given[1, row], given[2, row])
        if counts[0] > 0 and due(edges, counts[0], stats, how, where):
            counts[0] = refocus(edges, table, counts[0], stats, buckets, how, where, scratch)
        if len(out):
            tell_above(edges, table, counts[0], held, counts[1], stats, where, out, row)
