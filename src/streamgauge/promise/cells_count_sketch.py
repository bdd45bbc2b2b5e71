"""Count-Sketch cells: signed counters, right on average, off by a share of the spread.

The default. Each row adds its sign to one counter of each of three lines of its bucket; read back
with the sign, other keys cancel in the mean, and the median of the lines is the estimate.
"""

from __future__ import annotations

import math

import numpy as np

from streamgauge.kernel.hashing import polynomial
from streamgauge.kernel.jit import compiled
from streamgauge.promise.cells import Cells, Kernels, bucket_of
from streamgauge.synopses.synopsis import Ints

DEPTH = 3
WIDTH = 128


class CountSketchCells(Cells):
    """Three lines of signed counters for each bucket.

    An estimate is off by more than the root of eight times the bucket's sum of squared counts over
    the width with the chance `most_rows(3, 1/8)` of `CountSketch`. With 16 buckets, most estimates
    in a zone of a few hundred rows are exact.

    Examples
    --------
    >>> cells = CountSketchCells(16, seed=1)
    >>> cells.summarize(np.array([7, 8, 7], np.uint64))
    >>> cells.estimate(np.array([7, 8, 9], np.uint64))
    array([2., 1., 0.])
    """

    kind = "count_sketch"
    number = 0
    n_sums = DEPTH + 1
    lines = DEPTH

    @classmethod
    def size(cls, buckets: int) -> int:
        """Counters of all buckets."""
        return buckets * DEPTH * WIDTH

    def recount(self) -> Ints:
        """Sums of squares of each line, over all buckets, and rows."""
        lines = self.array.reshape(self.buckets, DEPTH, WIDTH).astype(np.int64)
        return np.append((lines * lines).sum(axis=(0, 2)), self.rows.sum())


@compiled
def place_count_sketch(key, hashes, seed, buckets, out):  # type: ignore[no-untyped-def]
    """Where a key is in each line: twice the counter's number, plus one if its sign is minus."""
    start = bucket_of(key, seed, buckets) * DEPTH
    for line in range(DEPTH):
        value = polynomial(key, hashes[line])
        place = (start + line) * WIDTH + np.int64((value >> np.uint64(1)) % np.uint64(WIDTH))
        out[line] = 2 * place + np.int64(value & np.uint64(1))


@compiled
def read_count_sketch(array, start, places):  # type: ignore[no-untyped-def]
    """The median of three signed counters."""
    a = array[start + (places[0] >> 1)] * (1 - 2 * (places[0] & 1))
    b = array[start + (places[1] >> 1)] * (1 - 2 * (places[1] & 1))
    c = array[start + (places[2] >> 1)] * (1 - 2 * (places[2] & 1))
    return np.float64(max(min(a, b), min(max(a, b), c)))


@compiled
def _confidence(sums, buckets):  # type: ignore[no-untyped-def]
    rows = sums[DEPTH]
    if rows <= 0:
        return 1.0
    a, b, c = sums[0], sums[1], sums[2]
    # Counts are whole, so the sum of their squares is no less than their sum.
    squares = float(max(max(min(a, b), min(max(a, b), c)), rows))
    typical = squares / rows
    return typical / (typical + math.sqrt(squares / (buckets * WIDTH)))


@compiled
def _take(array, rows, sums, hashes, seed, at, keys, stretch):  # type: ignore[no-untyped-def]
    last = stretch.last
    buckets = len(rows)
    places = np.empty(DEPTH, np.int64)
    for i in range(stretch.start, stretch.stop):
        if at[i] != last:
            if last >= stretch.earliest and _confidence(sums, buckets) < stretch.theta:
                return i
            last = at[i]
        place_count_sketch(keys[i], hashes, seed, buckets, places)
        for line in range(DEPTH):
            place = places[line] >> 1
            sign = 1 - 2 * (places[line] & 1)
            before = np.int64(array[place])
            array[place] = before + sign
            sums[line] += 2 * sign * before + 1
        sums[DEPTH] += 1
        rows[places[0] // (2 * DEPTH * WIDTH)] += 1
    return stretch.stop


@compiled
def _estimate(array, hashes, seed, buckets, keys, out):  # type: ignore[no-untyped-def]
    places = np.empty(DEPTH, np.int64)
    for i in range(len(keys)):
        place_count_sketch(keys[i], hashes, seed, buckets, places)
        out[i] = read_count_sketch(array, 0, places)


CountSketchCells.kernels = Kernels(_take, _estimate, _confidence)
