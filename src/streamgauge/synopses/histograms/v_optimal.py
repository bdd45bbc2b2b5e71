"""V-optimal histogram: the steps that come closest to a signal, and a synopsis made of them.

Dynamic programming over the places where a bucket may end finds the buckets of least squared error.
The synopsis keeps the newest cells as they are; when its memory is full it replaces everything it
holds by the best few buckets, and goes on.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.histograms.buckets import Buckets
from streamgauge.synopses.histograms.signal import Signal, cells_for, need_at_least
from streamgauge.synopses.questions import Count, RangeSum
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Trial, Values

_SUM, _SQUARES, _LOW, _HIGH = 0, 1, 2, 3


def v_optimal(values: Floats, buckets: int) -> Buckets:
    """The buckets of least squared error for stored values, exactly; time grows as the square.

    >>> v_optimal(np.array([1.0, 1.0, 9.0, 9.0, 9.0, 2.0]), 3).edges
    array([0, 2, 5, 6])
    """
    values = np.ascontiguousarray(values, np.float64)
    widths = np.ones(len(values))
    return Buckets.of(values, best_cuts(widths, values, values**2, buckets))


class VOptimal(Signal):
    """A signal as its best buckets, exact where it is new.

    Parameters
    ----------
    buckets
        Buckets that remain when memory is full.
    room
        Cells and runs of equal cells that are kept beside them before that happens.
    seed
        Unused; there is no chance in it.

    Examples
    --------
    >>> picture = VOptimal(buckets=2, room=1)
    >>> picture.update([0, 1, 2, 3, 4, 5, 6], weights=[1, 1, 1, 5, 7, 6, 6])
    >>> print(picture.query(RangeSum(0, 3)))
    9 in [8, 10], v_optimal
    >>> picture.histogram().heights
    array([1., 6.])

    References
    ----------
    JKMPSS98: docs/references.md
    """

    name = "v_optimal"
    merging = "none"
    small = (8, 8)

    def __init__(self, buckets: int, room: int, *, seed: int = 0) -> None:
        need_at_least(self.name, buckets, 1, "buckets")
        need_at_least(self.name, room, 1, "room")
        super().__init__(seed=seed)
        self.buckets = buckets
        self.room = room
        self.edges = np.zeros(buckets + room + 4, np.int64)
        self.cells = np.zeros((4, buckets + room + 3))
        self.n = np.zeros(1, np.int64)

    @property
    def whole(self) -> int:
        """As many as there is room for."""
        return self.room

    @property
    def guarantee(self) -> Guarantee:
        """Sure bars, whose width is known only once the rows are."""
        return Guarantee(
            "additive",
            math.inf,
            assumes=("no width is known beforehand: bars are computed from the buckets",),
            cite="JKMPSS98",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Room for every cell of a known universe: nothing else can be promised beforehand."""
        if isinstance(need.question, Count):
            return cls(1, 1, seed=seed)
        return cls(1, cells_for(need, cls.name, 40), seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Ever steeper steps, and a range that cuts through the buckets."""
        cells = np.arange(200, dtype=np.int64)
        heights = np.ceil(1.05**cells) * (1 + (cells + seed) % 2)
        return Trial(cells, RangeSum(seed % 50, 100 + seed % 97), weights=heights)

    def pieces(self) -> Buckets:
        """All that is held: buckets, runs of equal cells, single cells."""
        n = int(self.n[0])
        columns = self.cells[:, :n]
        return Buckets(self.edges[: n + 1], *(np.ascontiguousarray(row) for row in columns))

    def histogram(self) -> Buckets:
        """The best buckets of what is held; V-optimal for the signal while all of it is."""
        held = self.pieces()
        if not len(held.sums):
            return held
        cuts = best_cuts(held.widths.astype(np.float64), held.sums, held.squares, self.buckets)
        return Buckets(
            held.edges[cuts],
            np.add.reduceat(held.sums, cuts[:-1]),
            np.add.reduceat(held.squares, cuts[:-1]),
            np.minimum.reduceat(held.lows, cuts[:-1]),
            np.maximum.reduceat(held.highs, cuts[:-1]),
        )

    def _fold(self, positions: Ints, weights: Floats) -> None:
        _add_rows(self.edges, self.cells, self.n, self.buckets, positions, weights)

    def _sum(self, start: int, stop: int) -> tuple[float, float, float]:
        return self.pieces().sum(start, stop)

    def _state(self) -> tuple[Values, Arrays]:
        n = int(self.n[0])
        return {}, {"edges": self.edges[: n + 1], "cells": self.cells[:, :n]}

    def _restore(self, values: Values, arrays: Arrays) -> None:
        n = arrays["cells"].shape[1]
        self.n[0] = n
        self.edges[: n + 1] = arrays["edges"]
        self.cells[:, :n] = arrays["cells"]

    @property
    def nbytes(self) -> int:
        """Bytes of all places for pieces, used or not."""
        return self.edges.nbytes + self.cells.nbytes

    def validate(self) -> None:
        """Pieces are adjacent and hold the whole weight."""
        held = self.pieces()
        assert (held.widths > 0).all()
        assert np.isclose(held.sums.sum(), self.mass, atol=1e-6)
        assert (held.lows <= held.highs).all()


@compiled
def best_cuts(widths, sums, squares, buckets):  # type: ignore[no-untyped-def]
    """Places among adjacent pieces where the buckets of least squared error begin and end."""
    n = len(sums)
    buckets = min(buckets, n)
    cells, total, power = np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    for i in range(n):
        cells[i + 1] = cells[i] + widths[i]
        total[i + 1] = total[i] + sums[i]
        power[i + 1] = power[i] + squares[i]
    best = np.full((buckets + 1, n + 1), np.inf)
    back = np.zeros((buckets + 1, n + 1), np.int64)
    best[0, 0] = 0.0
    for b in range(1, buckets + 1):
        for right in range(b, n + 1):
            for left in range(right - 1, b - 2, -1):
                inside = total[right] - total[left]
                spread = inside * inside / (cells[right] - cells[left])
                error = max(power[right] - power[left] - spread, 0.0)
                # The last bucket only grows, so no earlier beginning can be better.
                if error >= best[b, right]:
                    break
                if best[b - 1, left] + error < best[b, right]:
                    best[b, right] = best[b - 1, left] + error
                    back[b, right] = left
    cuts = np.empty(buckets + 1, np.int64)
    place = n
    for b in range(buckets, 0, -1):
        cuts[b] = place
        place = back[b, place]
    cuts[0] = 0
    return cuts


@compiled
def _add_rows(edges, cells, count, buckets, positions, weights):  # type: ignore[no-untyped-def]
    for row in range(len(positions)):
        at, weight = positions[row], weights[row]
        n = count[0]
        end = edges[n]
        if n + 3 >= len(edges):
            n = _squeeze(edges, cells, n, buckets)
        if at >= end:
            if at > end:
                edges[n + 1] = at
                cells[:, n] = 0.0
                n += 1
            edges[n + 1] = at + 1
            _set(cells, n, weight)
            count[0] = n + 1
        else:
            count[0] = _add_late(edges, cells, n, at, weight)


@compiled
def _set(cells, piece, value):  # type: ignore[no-untyped-def]
    cells[_SUM, piece] = value
    cells[_SQUARES, piece] = value * value
    cells[_LOW, piece] = value
    cells[_HIGH, piece] = value


@compiled
def _add_late(edges, cells, n, at, weight):  # type: ignore[no-untyped-def]
    piece = np.searchsorted(edges[: n + 1], at, side="right") - 1
    start, end = edges[piece], edges[piece + 1]
    low, high = cells[_LOW, piece], cells[_HIGH, piece]
    if low == high:
        # Cells known to be equal are known one by one, so a run can be cut without loss.
        if at > start:
            n = _cut(edges, cells, n, piece, at, low)
            piece += 1
        if at + 1 < end:
            n = _cut(edges, cells, n, piece, at + 1, low)
        _set(cells, piece, low + weight)
        return n
    cells[_SUM, piece] += weight
    cells[_SQUARES, piece] += 2.0 * weight * (high if weight > 0.0 else low) + weight * weight
    cells[_LOW, piece] += min(weight, 0.0)
    cells[_HIGH, piece] += max(weight, 0.0)
    return n


@compiled
def _cut(edges, cells, n, piece, at, value):  # type: ignore[no-untyped-def]
    for i in range(n, piece, -1):
        edges[i + 1] = edges[i]
        cells[:, i] = cells[:, i - 1]
    edges[piece + 1] = at
    for side in (piece, piece + 1):
        width = edges[side + 1] - edges[side]
        cells[_SUM, side] = width * value
        cells[_SQUARES, side] = width * value * value
    return n + 1


@compiled
def _squeeze(edges, cells, n, buckets):  # type: ignore[no-untyped-def]
    widths = np.empty(n)
    for i in range(n):
        widths[i] = edges[i + 1] - edges[i]
    cuts = best_cuts(widths, cells[_SUM, :n].copy(), cells[_SQUARES, :n].copy(), buckets)
    for b in range(len(cuts) - 1):
        left, right = cuts[b], cuts[b + 1]
        total = cells[_SUM, left:right].sum()
        squares = cells[_SQUARES, left:right].sum()
        low = cells[_LOW, left:right].min()
        high = cells[_HIGH, left:right].max()
        edges[b] = edges[left]
        cells[_SUM, b] = total
        cells[_SQUARES, b] = squares
        cells[_LOW, b] = low
        cells[_HIGH, b] = high
    edges[len(cuts) - 1] = edges[n]
    return len(cuts) - 1
