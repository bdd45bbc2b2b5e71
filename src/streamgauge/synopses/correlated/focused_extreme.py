"""Focused extreme: the rows near the smallest or largest x so far, from few buckets.

The range that counts is known at every moment, and as the extreme moves it only moves away from
the rows of before. So all buckets lie within that range: rows outside are forgotten, and when the
range jumps past all rows, the buckets begin anew without any error.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.correlated.aggregate import PARTITIONS, REALLOCATIONS
from streamgauge.synopses.correlated.extreme_range import ExtremeRange
from streamgauge.synopses.correlated.first_rows import FirstRows
from streamgauge.synopses.correlated.questions import NearExtreme, Side
from streamgauge.synopses.correlated.table import (
    MEASURES,
    add,
    balance,
    build,
    cut_top,
    even_out,
    exactly,
    insert,
    spread_mass,
    spread_uniform,
)
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Trial, Values

_EXTREME, _TOP, _FLOOR = 0, 1, 2
_BUCKETS, _HELD, _SINCE = 0, 1, 2


class FocusedExtreme(ExtremeRange, FirstRows):
    """COUNT, SUM or AVG of y over the rows near the least or largest x since the landmark.

    Parameters
    ----------
    side
        min: rows with `x <= factor * min + offset`; max: with `x >= factor * max - offset`.
    factor, offset
        The range that counts.
    buckets
        Buckets within that range; the first rows, as many as buckets, are held as they are.
    reallocation
        piecemeal: move as few edges as possible when the range moves; wholesale: all of them.
    partition
        uniform: buckets of equal width; quantile: of equal mass.
    seed
        Unused; there is no chance in it.

    Examples
    --------
    >>> near = FocusedExtreme("min", factor=2.0, buckets=10)
    >>> near.update([7.0, 5.0, 9.0, 12.0, 6.0])
    >>> print(near.query(NearExtreme("min", 2.0)))
    4 in [4, 4], focused_extreme
    >>> near.update([3.0])
    >>> print(near.query(NearExtreme("min", 2.0)))
    3 in [3, 3], focused_extreme

    References
    ----------
    GKS01: docs/references.md
    """

    name = "focused_extreme"
    least_buckets = 2

    def __init__(
        self,
        side: Side,
        factor: float,
        buckets: int = 10,
        offset: float = 0.0,
        reallocation: str = "piecemeal",
        partition: str = "uniform",
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(buckets, reallocation, partition, seed=seed)
        self._follow(side, factor, offset)
        self.marks = np.array([math.inf, math.inf, math.inf])
        self.counts = np.zeros(3, np.int64)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Only for as many rows as buckets can anything be promised beforehand."""
        buckets, asked = cls._buckets_for(need), need.question
        assert isinstance(asked, NearExtreme)
        return cls(asked.side, asked.factor, buckets, asked.offset, seed=seed)

    @classmethod
    def specimen(cls, seed: int) -> Self:
        """Eight buckets; side and policies change with the seed."""
        side: Side = "max" if seed % 2 else "min"
        factor = 0.5 if side == "max" else 3.0
        how = REALLOCATIONS[seed // 2 % 2], PARTITIONS[seed // 4 % 2]
        return cls(side, factor, 8, 0.0, *how, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Rows whose range shrinks in small steps, each of which cuts through a bucket."""
        rng = np.random.default_rng(seed)
        falling = 1000.0 * 0.99 ** np.arange(300)
        x = np.concatenate([falling[:, None], falling[:, None] * rng.uniform(1, 3, (300, 4))], 1)
        one = cls.specimen(seed)
        column = x.ravel() if one.side == "min" else 1e6 / x.ravel()
        of = ("count", "sum", "mean")[seed % 3]
        question = NearExtreme(one.side, one.factor, of=of)  # type: ignore[arg-type]
        return Trial(column, question, weights=rng.normal(1.0, 2.0, len(column)))

    def _rows(self, given: Floats, times: Ints, out: Floats) -> None:
        self._turn(given)
        _add_rows(
            self.edges,
            self.table,
            self.held,
            self.marks,
            self.counts,
            given,
            self.factor,
            self.offset,
            self.reallocation == "wholesale",
            self.partition == "quantile",
            out,
        )

    def _tell(self, out: Floats) -> None:
        _tell(self.table, self.held, self.counts, out, 0)

    def _state(self) -> tuple[Values, Arrays]:
        return {}, {
            **self._buckets_state(),
            "held": self._first(),
            "marks": self.marks,
            "counts": self.counts,
        }

    def _restore(self, values: Values, arrays: Arrays) -> None:
        super()._restore(values, arrays)
        self.marks = arrays["marks"]


@compiled
def _add_rows(  # type: ignore[no-untyped-def]
    edges, table, held, marks, counts, given, factor, offset, wholesale, quantile, out
):
    scratch = np.empty(len(edges))
    for row in range(given.shape[1]):
        at, flags = given[0, row], int(given[3, row])
        if flags & 1 and at < marks[_EXTREME]:
            marks[_EXTREME] = at
            top = factor * at + offset
            if top < marks[_TOP]:
                _shrink(edges, table, held, marks, counts, top, wholesale, quantile, scratch)
        if flags & 2 and at <= marks[_TOP]:
            _count(edges, table, held, marks, counts, given, row, quantile)
        if len(out):
            _tell(table, held, counts, out, row)


@compiled
def _tell(table, held, counts, out, row):  # type: ignore[no-untyped-def]
    k, n = counts[_BUCKETS], counts[_HELD]
    for measure in range(0, 3 * MEASURES, 3):
        if k > 0:
            # No fewer rows than at an edge below.
            low = 0.0
            for j in range(k + 1):
                low = max(low, table[measure + 1, j])
            out[row, measure] = table[measure, k]
            out[row, measure + 1] = low
            out[row, measure + 2] = table[measure + 2, k]
        else:
            total = 0.0
            for i in range(n):
                total += held[measure // 3, i] if measure > 0 else 1.0
            for kind in range(3):
                out[row, measure + kind] = total


@compiled
def _shrink(edges, table, held, marks, counts, top, wholesale, quantile, scratch):  # type: ignore[no-untyped-def]
    """The range that counts now ends at `top`."""
    marks[_TOP] = top
    buckets = held.shape[1]
    k = counts[_BUCKETS]
    if k == 0:
        n = 0
        for i in range(counts[_HELD]):
            if held[0, i] <= top:
                for measure in range(MEASURES):
                    held[measure, n] = held[measure, i]
                n += 1
        counts[_HELD] = n
        return
    if marks[_FLOOR] > top:
        # No row is left in the range: start again, with no error.
        counts[_BUCKETS] = 0
        counts[_HELD] = 0
        marks[_FLOOR] = np.inf
        return
    k = cut_top(edges, table, k, top)
    low = min(marks[_EXTREME], edges[0])
    if wholesale:
        edges[0] = low
        if quantile:
            k = spread_mass(edges, table, k, buckets, scratch)
        else:
            k = spread_uniform(edges, table, k, buckets, low, edges[k], scratch)
    else:
        old = edges[0]
        edges[0] = low
        if low < old < edges[k]:
            # No row lies below the old end, so the new edge there is exact.
            k = insert(edges, table, k, old)
            for row in range(3 * MEASURES):
                table[row, 1] = 0.0
        k = balance(edges, table, k, buckets, edges[0], edges[k], quantile)
    counts[_BUCKETS] = k


@compiled
def _count(edges, table, held, marks, counts, given, row, quantile):  # type: ignore[no-untyped-def]
    at = given[0, row]
    buckets = held.shape[1]
    marks[_FLOOR] = min(marks[_FLOOR], at)
    if counts[_BUCKETS] == 0:
        n = counts[_HELD]
        if n < buckets:
            for measure in range(MEASURES):
                held[measure, n] = given[measure, row]
            counts[_HELD] = n + 1
            return
        _begin(edges, table, held, marks, counts, quantile)
    k = counts[_BUCKETS]
    add(edges, table, k, at, 1.0, given[1, row], given[2, row])
    counts[_SINCE] += 1
    if quantile and counts[_SINCE] % buckets == 0:
        counts[_BUCKETS] = even_out(edges, table, k, edges[0], edges[k])


@compiled
def _begin(edges, table, held, marks, counts, quantile):  # type: ignore[no-untyped-def]
    """Lay the first buckets, whose totals are exact."""
    buckets = held.shape[1]
    high = marks[_TOP] if np.isfinite(marks[_TOP]) else -np.inf
    k = build(edges, table, held, buckets, marks[_EXTREME], high)
    low, high = edges[0], edges[1]
    for j in range(1, buckets):
        k = insert(edges, table, k, held[0, j] if quantile else low + (high - low) * j / buckets)
    exactly(edges, table, k, held, buckets)
    counts[_BUCKETS] = k
    counts[_HELD] = 0
