"""Windowed mean: the rows of a sliding window above, below or around its mean, from few buckets.

As `focused_mean`, but rows leave again. The mean of a window does not settle, so the fine buckets
are wide, six standard errors to each side, and are moved only when the mean leaves them.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.correlated.aggregate import PARTITIONS, REALLOCATIONS
from streamgauge.synopses.correlated.mean_cut import (
    LEAST,
    MEAN,
    MOST,
    SQUARES,
    TRIGGERS,
    MeanCut,
    N,
    answer_of,
    begin,
    due,
    refocus,
    take_in,
    tell_above,
)
from streamgauge.synopses.correlated.questions import BesideMean
from streamgauge.synopses.correlated.ring import END, FIRST, counted
from streamgauge.synopses.correlated.sliding_rows import SlidingRows
from streamgauge.synopses.correlated.table import MEASURES, add, exactly
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Trial, Values

_BUCKETS, _COUNTED, _GONE = 0, 1, 2
_RECOUNT = 3


class WindowedMean(MeanCut, SlidingRows):
    """COUNT, SUM or AVG of y over the window's rows above, below or near the window's mean of x.

    Parameters
    ----------
    window
        Length, in the unit of the times; a window of rows has row numbers as times.
    buckets
        Buckets; while the window has no more rows than that, the answer is exact.
    spread
        Standard errors on each side of the mean that the fine buckets cover at least.
    trigger
        lazy: move the fine buckets when the mean leaves them; cover, always: as in `focused_mean`.
    reallocation
        piecemeal or wholesale.
    partition
        uniform or quantile.
    recount
        Whether the window's rows are counted anew when edges move, which makes all totals exact
        and an answer wrong by one bucket at most; else totals are interpolated.
    seed
        Unused; there is no chance in it.

    Examples
    --------
    >>> above = WindowedMean(window=4, buckets=10)
    >>> above.update([9.0, 1.0, 2.0, 3.0, 10.0], times=[0, 1, 2, 3, 4])
    >>> print(above.query(BesideMean("above")))
    1 in [1, 1], windowed_mean

    References
    ----------
    GKS01: docs/references.md
    """

    name = "windowed_mean"

    def __init__(
        self,
        window: int,
        buckets: int = 10,
        spread: float = 6.0,
        trigger: str = "lazy",
        reallocation: str = "piecemeal",
        partition: str = "uniform",
        recount: bool = True,
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(buckets, reallocation, partition, seed=seed)
        self._slide(window, recount)
        self._watch(spread, trigger)
        self._how = np.append(self._how, int(recount))
        self._where = np.array([self.spread, 1.0, 0.0, 0.0])
        self.counts = np.zeros(3, np.int64)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Only with a bucket for every row of the window can anything be promised beforehand."""
        buckets = cls._buckets_for(need)
        assert need.window is not None
        return cls(need.window, buckets, seed=seed)

    @classmethod
    def specimen(cls, seed: int) -> Self:
        """A window of 150 rows, eight buckets; policies change with the seed."""
        how = REALLOCATIONS[seed // 3 % 2], PARTITIONS[seed // 6 % 2]
        return cls(150, 8, 6.0, TRIGGERS[seed % 3], *how, recount=seed % 24 >= 12, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """A mean that wanders, so that edges are laid anew while rows leave."""
        rng = np.random.default_rng(seed)
        n = 800
        column = np.cumsum(rng.normal(0.0, 3.0, n)) + rng.exponential(10.0, n)
        part = ("above", "below", "within")[seed % 3]
        question = BesideMean(part, band=5.0, of="sum" if seed % 2 else "count")  # type: ignore[arg-type]
        y = rng.normal(1.0, 2.0, n)
        return Trial(column, question, weights=y, times=np.arange(n), now=n - 1)

    def _rows(self, given: Floats, times: Ints, out: Floats) -> None:
        self.ring.append(given, times, self.name)
        self._run(np.iinfo(np.int64).min, len(times), out)

    def _run(self, limit: int, n: int, out: Floats) -> None:
        ring = self.ring
        _step(
            ring.rows,
            ring.when,
            ring.ends,
            self.edges,
            self.table,
            self.stats,
            self.counts,
            self.buckets,
            self.window,
            limit,
            n,
            self._how,
            self._where,
            out,
        )

    def _totals(self, question: Any) -> Floats:
        rows, _ = self.ring.alive()
        held = np.ascontiguousarray(rows[:MEASURES, rows[3] >= 2.0])
        return answer_of(question, self.stats, self.edges, self.table, self.laid, held)

    def _state(self) -> tuple[Values, Arrays]:
        return {}, {
            **self._buckets_state(),
            "stats": self.stats,
            "counts": self.counts,
            **self.ring.arrays(),
        }


@compiled
def _step(  # type: ignore[no-untyped-def]
    rows, when, ends, edges, table, stats, counts, buckets, window, limit, n, how, where, out
):
    """Let rows up to `limit` leave, then take the next `n` one by one."""
    scratch = np.empty(len(edges))
    _expire(rows, when, ends, edges, table, stats, counts, buckets, limit)
    if n == 0:
        _refocus(rows, ends, edges, table, stats, counts, buckets, how, where, scratch)
    for row in range(n):
        at = ends[END]
        _expire(rows, when, ends, edges, table, stats, counts, buckets, when[at] - window)
        flags = int(rows[3, at])
        ends[END] = at + 1
        if flags & 1:
            take_in(stats, rows[0, at])
        if flags & 2:
            counts[_COUNTED] += 1
            if counts[_BUCKETS] > 0:
                add(edges, table, counts[_BUCKETS], rows[0, at], 1.0, rows[1, at], rows[2, at])
            elif counts[_COUNTED] > buckets:
                held, m = counted(rows, ends)
                counts[_BUCKETS] = begin(edges, table, held, m, stats, buckets, how, where, scratch)
        _refocus(rows, ends, edges, table, stats, counts, buckets, how, where, scratch)
        if len(out):
            held, m = rows, 0
            if counts[_BUCKETS] == 0:
                held, m = counted(rows, ends)
            tell_above(edges, table, counts[_BUCKETS], held, m, stats, where, out, row)


@compiled
def _refocus(rows, ends, edges, table, stats, counts, buckets, how, where, scratch):  # type: ignore[no-untyped-def]
    k = counts[_BUCKETS]
    if k == 0 or not due(edges, k, stats, how, where):
        return
    k = refocus(edges, table, k, stats, buckets, how, where, scratch)
    counts[_BUCKETS] = k
    if how[_RECOUNT]:
        held, m = counted(rows, ends)
        exactly(edges, table, k, held, m)


@compiled
def _expire(rows, when, ends, edges, table, stats, counts, buckets, limit):  # type: ignore[no-untyped-def]
    gone = 0
    while ends[FIRST] < ends[END] and when[ends[FIRST]] <= limit:
        i = ends[FIRST]
        ends[FIRST] = i + 1
        gone += 1
        flags = int(rows[3, i])
        if flags & 1:
            _take_out(stats, rows[0, i])
        if flags & 2:
            counts[_COUNTED] -= 1
            if counts[_BUCKETS] > 0:
                k = counts[_BUCKETS]
                add(edges, table, k, rows[0, i], -1.0, -rows[1, i], -rows[2, i])
    if gone == 0:
        return
    if counts[_COUNTED] <= buckets:
        counts[_BUCKETS] = 0
    counts[_GONE] += gone
    # Taking rows out of a mean adds up rounding; now and then it is computed anew.
    if counts[_GONE] >= ends[END] - ends[FIRST]:
        counts[_GONE] = 0
        _clear(stats)
        for i in range(ends[FIRST], ends[END]):
            if int(rows[3, i]) & 1:
                take_in(stats, rows[0, i])


@compiled
def _clear(stats):  # type: ignore[no-untyped-def]
    stats[N], stats[MEAN], stats[SQUARES] = 0.0, 0.0, 0.0
    stats[LEAST], stats[MOST] = np.inf, -np.inf


@compiled
def _take_out(stats, at):  # type: ignore[no-untyped-def]
    stats[N] -= 1.0
    if stats[N] < 1.0:
        _clear(stats)
        return
    off = at - stats[MEAN]
    stats[MEAN] -= off / stats[N]
    stats[SQUARES] = max(stats[SQUARES] - off * (at - stats[MEAN]), 0.0)
