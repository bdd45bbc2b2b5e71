"""Histogram cells: bins of hashed values, rows of a bin shared evenly by the values seen in it.

Each bin has eight parts. A value whose part is empty was not seen; the others are taken to have
the mean count of the parts that are not empty, as histograms take the values of a bin to be alike.
"""

from __future__ import annotations

import math

import numpy as np

from streamgauge.kernel.hashing import polynomial
from streamgauge.kernel.jit import compiled
from streamgauge.promise.cells import Cells, Kernels, bucket_of
from streamgauge.synopses.synopsis import Ints

PARTS = 8
BINS = 48
WIDTH = PARTS * BINS
# Squares over numbers of parts from 1 to 8 are whole in this unit.
UNIT = 840
_SQUARES, _LEVEL, _FILLED, _BUCKETS, _ROWS = range(5)


class HistogramCells(Cells):
    """Bins of eight parts for each bucket.

    Examples
    --------
    >>> cells = HistogramCells(16, seed=1)
    >>> cells.summarize(np.array([7, 8, 7], np.uint64))
    >>> cells.estimate(np.array([7, 8, 9], np.uint64))
    array([2., 1., 0.])
    """

    kind = "histogram"
    number = 2
    n_sums = 5

    @classmethod
    def size(cls, buckets: int) -> int:
        """Parts of all bins of all buckets."""
        return buckets * WIDTH

    def recount(self) -> Ints:
        """Squares of parts, squares of bins shared evenly, parts that are not empty, rows."""
        parts = self.array.reshape(-1, PARTS).astype(np.int64)
        filled = (parts > 0).sum(axis=1)
        total = parts.sum(axis=1)
        sums = np.empty(self.n_sums, np.int64)
        sums[_SQUARES] = (parts * parts).sum()
        sums[_LEVEL] = (UNIT // np.maximum(filled, 1) * total * total).sum()
        sums[_FILLED] = filled.sum()
        sums[_BUCKETS] = (self.rows * self.rows).sum()
        sums[_ROWS] = self.rows.sum()
        return sums


@compiled
def place_histogram(key, hashes, seed, buckets, out):  # type: ignore[no-untyped-def]
    """The number of the part of a key."""
    value = polynomial(key, hashes[0])
    out[0] = bucket_of(key, seed, buckets) * WIDTH + np.int64(value % np.uint64(WIDTH))


@compiled
def _bin(array, place):  # type: ignore[no-untyped-def]
    """Rows of the bin around a place, and its parts that are not empty."""
    start = place - place % PARTS
    rows = np.int64(0)
    filled = np.int64(0)
    for part in range(start, start + PARTS):
        rows += array[part]
        filled += array[part] > 0
    return rows, filled


@compiled
def read_histogram(array, start, places):  # type: ignore[no-untyped-def]
    """The mean of the parts that are not empty, or nothing."""
    if array[start + places[0]] <= 0:
        return 0.0
    rows, filled = _bin(array, start + places[0])
    return rows / filled


@compiled
def _confidence(sums, buckets):  # type: ignore[no-untyped-def]
    rows = sums[_ROWS]
    if rows <= 0:
        return 1.0
    squares = (float(WIDTH) * sums[_SQUARES] - sums[_BUCKETS]) / (WIDTH - 1)
    typical = max(squares, float(rows)) / rows
    within = max(0.0, (sums[_SQUARES] - sums[_LEVEL] / UNIT) / max(sums[_FILLED], 1))
    load = rows / (buckets * WIDTH)
    return typical / (typical + math.sqrt(within + load + load * load))


@compiled
def _take(array, rows, sums, hashes, seed, at, keys, stretch):  # type: ignore[no-untyped-def]
    last = stretch.last
    buckets = len(rows)
    places = np.empty(1, np.int64)
    for i in range(stretch.start, stretch.stop):
        if at[i] != last:
            if last >= stretch.earliest and _confidence(sums, buckets) < stretch.theta:
                return i
            last = at[i]
        place_histogram(keys[i], hashes, seed, buckets, places)
        held, filled = _bin(array, places[0])
        before = np.int64(array[places[0]])
        array[places[0]] = before + 1
        fuller = filled + (before == 0)
        sums[_SQUARES] += 2 * before + 1
        sums[_LEVEL] += UNIT // fuller * (held + 1) ** 2 - UNIT // max(filled, 1) * held**2
        sums[_FILLED] += fuller - filled
        bucket = places[0] // WIDTH
        sums[_BUCKETS] += 2 * rows[bucket] + 1
        sums[_ROWS] += 1
        rows[bucket] += 1
    return stretch.stop


@compiled
def _estimate(array, hashes, seed, buckets, keys, out):  # type: ignore[no-untyped-def]
    places = np.empty(1, np.int64)
    for i in range(len(keys)):
        place_histogram(keys[i], hashes, seed, buckets, places)
        out[i] = read_histogram(array, 0, places)


HistogramCells.kernels = Kernels(_take, _estimate, _confidence)
