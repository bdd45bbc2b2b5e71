"""Count-Min cells: counters that never read too low.

Each row is added to one counter of each of three lines of its bucket; the smallest of them is the
estimate, too high by the rows that share it.
"""

from __future__ import annotations

import numpy as np

from streamgauge.kernel.hashing import polynomial
from streamgauge.kernel.jit import compiled
from streamgauge.promise.cells import Cells, Kernels, bucket_of
from streamgauge.synopses.synopsis import Ints

DEPTH = 3
WIDTH = 128
_BUCKETS = DEPTH
_ROWS = DEPTH + 1


class CountMinCells(Cells):
    """Three lines of counters for each bucket.

    An estimate is never too low, and too high by more than `e / width` of the bucket's rows with a
    chance of `exp(-3)` at most, the law of `CountMin`.

    Examples
    --------
    >>> cells = CountMinCells(16, seed=1)
    >>> cells.summarize(np.array([7, 8, 7], np.uint64))
    >>> cells.estimate(np.array([7, 8, 9], np.uint64))
    array([2., 1., 0.])
    """

    kind = "count_min"
    number = 1
    n_sums = DEPTH + 2
    lines = DEPTH
    independence = 2

    @classmethod
    def size(cls, buckets: int) -> int:
        """Counters of all buckets."""
        return buckets * DEPTH * WIDTH

    def recount(self) -> Ints:
        """Sums of squares of each line and of the rows of buckets, and rows."""
        lines = self.array.reshape(self.buckets, DEPTH, WIDTH).astype(np.int64)
        squares = (lines * lines).sum(axis=(0, 2))
        return np.append(squares, [(self.rows * self.rows).sum(), self.rows.sum()])


@compiled
def place_count_min(key, hashes, seed, buckets, out):  # type: ignore[no-untyped-def]
    """The number of the counter of a key in each line."""
    start = bucket_of(key, seed, buckets) * DEPTH
    for line in range(DEPTH):
        value = polynomial(key, hashes[line])
        out[line] = (start + line) * WIDTH + np.int64(value % np.uint64(WIDTH))


@compiled
def read_count_min(array, start, places):  # type: ignore[no-untyped-def]
    """The smallest of three counters."""
    return np.float64(
        min(array[start + places[0]], min(array[start + places[1]], array[start + places[2]]))
    )


@compiled
def _confidence(sums, buckets):  # type: ignore[no-untyped-def]
    rows = sums[_ROWS]
    if rows <= 0:
        return 1.0
    low = min(sums[0], min(sums[1], sums[2]))
    # Rows that share a counter by chance are in the squares too: what is expected of them goes.
    squares = max((low * float(WIDTH) - sums[_BUCKETS]) / (WIDTH - 1), float(rows))
    typical = squares / rows
    return typical / (typical + rows / (buckets * WIDTH))


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
        place_count_min(keys[i], hashes, seed, buckets, places)
        for line in range(DEPTH):
            before = np.int64(array[places[line]])
            array[places[line]] = before + 1
            sums[line] += 2 * before + 1
        bucket = places[0] // (DEPTH * WIDTH)
        sums[_BUCKETS] += 2 * rows[bucket] + 1
        sums[_ROWS] += 1
        rows[bucket] += 1
    return stretch.stop


@compiled
def _estimate(array, hashes, seed, buckets, keys, out):  # type: ignore[no-untyped-def]
    places = np.empty(DEPTH, np.int64)
    for i in range(len(keys)):
        place_count_min(keys[i], hashes, seed, buckets, places)
        out[i] = read_count_min(array, 0, places)


CountMinCells.kernels = Kernels(_take, _estimate, _confidence)
