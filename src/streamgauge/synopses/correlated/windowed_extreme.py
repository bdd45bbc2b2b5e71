"""Windowed extreme: the rows of a sliding window near its smallest or largest x, from few buckets.

The extreme of a window goes up and down. The window is cut into intervals and the extreme of each
is kept; the worst of these says how far the extreme may move soon, and the fine buckets cover all
of that. The extreme itself is exact.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.correlated.aggregate import PARTITIONS, REALLOCATIONS, refuse_small
from streamgauge.synopses.correlated.extreme_range import ExtremeRange
from streamgauge.synopses.correlated.questions import NearExtreme, Side
from streamgauge.synopses.correlated.ring import END, FIRST, counted
from streamgauge.synopses.correlated.sliding_rows import SlidingRows
from streamgauge.synopses.correlated.table import (
    MEASURES,
    add,
    balance,
    build,
    even_out,
    exactly,
    insert,
    keep_between,
    read,
    spread_mass,
    spread_uniform,
)
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Trial, Values

_BUCKETS, _COUNTED, _HEAD, _TAIL, _SINCE, _MIXED = 0, 1, 2, 3, 4, 5
_WHOLESALE, _QUANTILE, _RECOUNT = 0, 1, 2


class WindowedExtreme(ExtremeRange, SlidingRows):
    """COUNT, SUM or AVG of y over the window's rows near the window's least or largest x.

    Parameters
    ----------
    window
        Length, in the unit of the times; a window of rows has row numbers as times.
    side
        min: rows with `x <= factor * min + offset`; max: with `x >= factor * max - offset`.
    factor, offset
        The range that counts.
    buckets
        Buckets; while the window has no more rows than that, the answer is exact.
    intervals
        Intervals of the window whose extremes are kept.
    reallocation
        piecemeal or wholesale.
    partition
        quantile: buckets of equal mass; uniform: of equal width, better where the range is narrow.
    recount
        Whether the window's rows are counted anew when edges move, which makes all totals exact
        and an answer wrong by one bucket at most; else totals are interpolated.
    seed
        Unused; there is no chance in it.

    Examples
    --------
    >>> near = WindowedExtreme(window=3, side="max", factor=0.5)
    >>> near.update([10.0, 1.0, 2.0, 4.0], times=[0, 1, 2, 3])
    >>> print(near.query(NearExtreme("max", 0.5)))
    2 in [2, 2], windowed_extreme

    References
    ----------
    GKS01: docs/references.md
    """

    name = "windowed_extreme"

    def __init__(
        self,
        window: int,
        side: Side,
        factor: float,
        buckets: int = 10,
        offset: float = 0.0,
        intervals: int = 20,
        reallocation: str = "piecemeal",
        partition: str = "quantile",
        recount: bool = True,
        *,
        seed: int = 0,
    ) -> None:
        refuse_small(self.name, "intervals", intervals, 1)
        super().__init__(buckets, reallocation, partition, seed=seed)
        self._slide(window, recount)
        self._follow(side, factor, offset)
        self.intervals = intervals
        how = [reallocation == "wholesale", partition == "quantile", self.recount]
        self._how = np.array(how, np.int64)
        self._where = np.array([self.factor, self.offset])
        self.queue = np.zeros(64, np.int64)
        self.marks = np.full(2, math.nan)
        self.lows = np.full(intervals + 2, math.inf)
        self.stamps = np.full(intervals + 2, -1, np.int64)
        self.counts = np.zeros(6, np.int64)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Only with a bucket for every row of the window can anything be promised beforehand."""
        buckets, asked = cls._buckets_for(need), need.question
        assert isinstance(asked, NearExtreme)
        assert need.window is not None
        return cls(need.window, asked.side, asked.factor, buckets, asked.offset, seed=seed)

    @classmethod
    def specimen(cls, seed: int) -> Self:
        """A window of 150 rows, eight buckets; side and policies change with the seed."""
        side: Side = "max" if seed % 2 else "min"
        how = REALLOCATIONS[seed // 2 % 2], PARTITIONS[seed // 4 % 2]
        factor = 0.5 if side == "max" else 3.0
        return cls(150, side, factor, 8, 0.0, 5, *how, recount=seed % 16 >= 8, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """An extreme that comes and goes, so that edges are laid anew while rows leave."""
        rng = np.random.default_rng(seed)
        n = 800
        column = 100.0 * np.exp(np.sin(np.arange(n) / 40.0)) + rng.exponential(200.0, n)
        one = cls.specimen(seed)
        question = NearExtreme(one.side, one.factor, of="sum" if seed % 3 else "count")
        y = rng.normal(1.0, 2.0, n)
        return Trial(column, question, weights=y, times=np.arange(n), now=n - 1)

    def _rows(self, given: Floats, times: Ints, out: Floats) -> None:
        self._turn(given)
        moved = self.ring.append(given, times, self.name)
        if moved or len(self.queue) < len(self.ring.when):
            head, tail = int(self.counts[_HEAD]), int(self.counts[_TAIL])
            queue = np.zeros(len(self.ring.when), np.int64)
            queue[: tail - head] = self.queue[head:tail] - moved
            self.queue = queue
            self.counts[_HEAD], self.counts[_TAIL] = 0, tail - head
        self._run(np.iinfo(np.int64).min, len(times), out)

    def _run(self, limit: int, n: int, out: Floats) -> None:
        ring = self.ring
        _step(
            ring.rows,
            ring.when,
            ring.ends,
            self.queue,
            self.edges,
            self.table,
            self.marks,
            self.lows,
            self.stamps,
            self.counts,
            self.buckets,
            self.window,
            limit,
            n,
            self._how,
            self._where,
            out,
        )

    def _tell(self, out: Floats) -> None:
        ring = self.ring
        _tell(
            ring.rows, ring.ends, self.queue, self.edges, self.table, self.counts, self._where, out,
            0,
        )  # fmt: skip

    def _state(self) -> tuple[Values, Arrays]:
        head, tail = int(self.counts[_HEAD]), int(self.counts[_TAIL])
        counts = self.counts.copy()
        counts[_HEAD], counts[_TAIL] = 0, tail - head
        return {}, {
            **self._buckets_state(),
            "marks": self.marks,
            "lows": self.lows,
            "stamps": self.stamps,
            "counts": counts,
            "queue": self.queue[head:tail] - self.ring.ends[FIRST],
            **self.ring.arrays(),
        }

    def _restore(self, values: Values, arrays: Arrays) -> None:
        super()._restore(values, arrays)
        self.marks, self.lows, self.stamps = arrays["marks"], arrays["lows"], arrays["stamps"]
        self.queue = np.zeros(len(self.ring.when), np.int64)
        self.queue[: len(arrays["queue"])] = arrays["queue"]

    @property
    def nbytes(self) -> int:
        """Bytes of the buckets, of the window's rows and of the queue of extremes."""
        return super().nbytes + self.lows.nbytes + self.stamps.nbytes + self.queue.nbytes


@compiled
def _step(  # type: ignore[no-untyped-def]
    rows, when, ends, queue, edges, table, marks, lows, stamps, counts, buckets, window, limit, n,
    how, where, out,
):  # fmt: skip
    """Let rows up to `limit` leave, then take the next `n` one by one."""
    scratch = np.empty(len(edges))
    length = max(1, -(-window // (len(lows) - 2)))
    gone = _expire(rows, when, ends, queue, edges, table, counts, buckets, limit)
    if n == 0 and gone:
        _refocus(rows, ends, queue, edges, table, marks, lows, stamps, counts, buckets, limit,
                 length, how, where, scratch)  # fmt: skip
    for row in range(n):
        at = ends[END]
        now = when[at]
        _expire(rows, when, ends, queue, edges, table, counts, buckets, now - window)
        ends[END] = at + 1
        _take_in(rows, at, now // length, queue, edges, table, lows, stamps, counts)
        if counts[_BUCKETS] == 0 and counts[_COUNTED] > buckets:
            held, m = counted(rows, ends)
            counts[_BUCKETS] = build(edges, table, held, m, np.inf, -np.inf)
            marks[0], marks[1] = np.nan, np.nan
        fresh = np.isnan(marks[0])
        _refocus(rows, ends, queue, edges, table, marks, lows, stamps, counts, buckets,
                 now - window, length, how, where, scratch)  # fmt: skip
        if fresh and counts[_BUCKETS] > 0:
            held, m = counted(rows, ends)
            exactly(edges, table, counts[_BUCKETS], held, m)
        if len(out):
            _tell(rows, ends, queue, edges, table, counts, where, out, row)


@compiled
def _take_in(rows, at, interval, queue, edges, table, lows, stamps, counts):  # type: ignore[no-untyped-def]
    x, flags = rows[0, at], int(rows[3, at])
    if flags != 3:
        counts[_MIXED] = 1
    if flags & 1:
        while counts[_TAIL] > counts[_HEAD] and rows[0, queue[counts[_TAIL] - 1]] >= x:
            counts[_TAIL] -= 1
        queue[counts[_TAIL]] = at
        counts[_TAIL] += 1
        slot = interval % len(lows)
        if stamps[slot] != interval:
            stamps[slot], lows[slot] = interval, np.inf
        lows[slot] = min(lows[slot], x)
    if flags & 2:
        counts[_COUNTED] += 1
        if counts[_BUCKETS] > 0:
            add(edges, table, counts[_BUCKETS], x, 1.0, rows[1, at], rows[2, at])


@compiled
def _expire(rows, when, ends, queue, edges, table, counts, buckets, limit):  # type: ignore[no-untyped-def]
    gone = False
    while ends[FIRST] < ends[END] and when[ends[FIRST]] <= limit:
        i = ends[FIRST]
        ends[FIRST] = i + 1
        gone = True
        if counts[_HEAD] < counts[_TAIL] and queue[counts[_HEAD]] == i:
            counts[_HEAD] += 1
        if rows[3, i] >= 2.0:
            counts[_COUNTED] -= 1
            k = counts[_BUCKETS]
            if k > 0:
                add(edges, table, k, rows[0, i], -1.0, -rows[1, i], -rows[2, i])
    if gone and counts[_COUNTED] <= buckets:
        counts[_BUCKETS] = 0
    return gone


@compiled
def _refocus(  # type: ignore[no-untyped-def]
    rows, ends, queue, edges, table, marks, lows, stamps, counts, buckets, limit, length, how,
    where, scratch,
):  # fmt: skip
    """Lay the fine buckets from the extreme to where it may move, if either has changed."""
    k = counts[_BUCKETS]
    if k == 0 or counts[_HEAD] == counts[_TAIL]:
        return
    low = rows[0, queue[counts[_HEAD]]]
    worst = low
    newest = stamps.max()
    for slot in range(len(lows)):
        # The newest interval has few rows yet, so its extreme says little.
        alive = (stamps[slot] + 1) * length - 1 > limit and stamps[slot] >= 0
        if alive and stamps[slot] != newest:
            worst = max(worst, lows[slot])
    far = where[0] * worst + where[1]
    counts[_SINCE] += 1
    # Piecemeal: edges stay while they cover the range and are not four times too wide for it.
    serves = far <= marks[1] and marks[1] - low <= 4.0 * (far - low) and not how[_WHOLESALE]
    if (low == marks[0] and far == marks[1]) or serves:
        if how[_QUANTILE] and not how[_WHOLESALE] and counts[_SINCE] % buckets == 0:
            high = min(far, edges[k])
            counts[_BUCKETS] = even_out(edges, table, k, edges[0], high)
        return
    marks[0], marks[1] = low, far
    if counts[_MIXED] == 0:
        # Every row is compared, so none lies below the extreme.
        k = keep_between(edges, table, k, np.nextafter(low, np.inf), np.inf)
        edges[0] = min(low, edges[k])
    high = min(far, edges[k])
    if not edges[0] < high:
        counts[_BUCKETS] = k
        return
    if how[_WHOLESALE] and not how[_QUANTILE]:
        k = spread_uniform(edges, table, k, buckets - 1, edges[0], high, scratch)
    elif how[_WHOLESALE]:
        k = spread_mass(edges, table, k, buckets, scratch)
    else:
        k = insert(edges, table, k, high)
        k = keep_between(edges, table, k, edges[0], high)
        k = balance(edges, table, k, buckets, edges[0], high, how[_QUANTILE] == 1)
    counts[_BUCKETS] = k
    if how[_RECOUNT]:
        held, m = counted(rows, ends)
        exactly(edges, table, k, held, m)


@compiled
def _tell(rows, ends, queue, edges, table, counts, where, out, row):  # type: ignore[no-untyped-def]
    for place in range(3 * MEASURES):
        out[row, place] = 0.0
    if counts[_HEAD] == counts[_TAIL]:
        return
    top = where[0] * rows[0, queue[counts[_HEAD]]] + where[1]
    if counts[_BUCKETS] > 0:
        read(edges, table, counts[_BUCKETS], top, False, out[row])
        return
    for i in range(ends[FIRST], ends[END]):
        if rows[3, i] >= 2.0 and rows[0, i] <= top:
            for kind in range(3):
                out[row, kind] += 1.0
                out[row, 3 + kind] += rows[1, i]
                out[row, 6 + kind] += rows[2, i]
