"""Wavelet cells: Haar differences over hashed values, read without those that chance explains.

A bucket has 256 places. Kept are the rows of the bucket and, for each node of the binary tree over
the places, the rows of its left half less those of its right half. They are whole numbers, so
zones add and subtract exactly. Reading goes down the tree; a difference smaller than the root of
the node's rows is what an even spread gives by chance, and is read as zero.
"""

from __future__ import annotations

import math

import numpy as np

from streamgauge.kernel.hashing import polynomial
from streamgauge.kernel.jit import compiled
from streamgauge.promise.cells import Cells, Kernels, bucket_of
from streamgauge.synopses.synopsis import Ints

LEVELS = 8
WIDTH = 1 << LEVELS
_SQUARES, _BUCKETS, _ROWS = range(3)


class WaveletCells(Cells):
    """A Haar tree for each bucket: number 0 is the total, node `j` has children `2j` and `2j + 1`.

    Examples
    --------
    >>> cells = WaveletCells(16, seed=1)
    >>> cells.summarize(np.array([7, 8, 7], np.uint64))
    >>> cells.estimate(np.array([7, 8, 9], np.uint64))
    array([2., 1., 0.])
    """

    kind = "wavelet"
    number = 3
    n_sums = 3

    @classmethod
    def size(cls, buckets: int) -> int:
        """Totals and differences of all buckets."""
        return buckets * WIDTH

    def recount(self) -> Ints:
        """The sum of squares of all places, times their number (Parseval), and rows."""
        terms = self.array.reshape(self.buckets, WIDTH).astype(np.int64)
        weights = np.ones(WIDTH, np.int64)
        for level in range(LEVELS):
            weights[1 << level : 2 << level] = 1 << level
        squares = (terms * terms * weights).sum()
        return np.array([squares, (self.rows * self.rows).sum(), self.rows.sum()], np.int64)


@compiled
def place_wavelet(key, hashes, seed, buckets, out):  # type: ignore[no-untyped-def]
    """The number of the place of a key, counted through all buckets."""
    value = polynomial(key, hashes[0])
    out[0] = bucket_of(key, seed, buckets) * WIDTH + np.int64(value % np.uint64(WIDTH))


@compiled
def read_wavelet(array, start, places):  # type: ignore[no-untyped-def]
    """Go down from the total, halving it and adding or taking each difference that stands out."""
    leaf = places[0] % WIDTH
    start += places[0] - leaf
    rows = float(array[start])
    node = 1
    for level in range(LEVELS):
        right = (leaf >> (LEVELS - 1 - level)) & 1
        difference = float(array[start + node])
        if difference * difference < rows:
            difference = 0.0
        rows = 0.5 * (rows - difference if right else rows + difference)
        node = 2 * node + right
    return rows


@compiled
def _confidence(sums, buckets):  # type: ignore[no-untyped-def]
    rows = sums[_ROWS]
    if rows <= 0:
        return 1.0
    squares = float(sums[_SQUARES] - sums[_BUCKETS]) / (WIDTH - 1)
    typical = max(squares, float(rows)) / rows
    load = rows / (buckets * WIDTH)
    return typical / (typical + math.sqrt(load + load * load))


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
        place_wavelet(keys[i], hashes, seed, buckets, places)
        leaf = places[0] % WIDTH
        start = places[0] - leaf
        total = np.int64(array[start])
        array[start] = total + 1
        squares = 2 * total + 1
        node = 1
        for level in range(LEVELS):
            right = (leaf >> (LEVELS - 1 - level)) & 1
            sign = 1 - 2 * right
            before = np.int64(array[start + node])
            array[start + node] = before + sign
            squares += (2 * sign * before + 1) << level
            node = 2 * node + right
        sums[_SQUARES] += squares
        bucket = places[0] // WIDTH
        sums[_BUCKETS] += 2 * rows[bucket] + 1
        sums[_ROWS] += 1
        rows[bucket] += 1
    return stretch.stop


@compiled
def _estimate(array, hashes, seed, buckets, keys, out):  # type: ignore[no-untyped-def]
    places = np.empty(1, np.int64)
    for i in range(len(keys)):
        place_wavelet(keys[i], hashes, seed, buckets, places)
        out[i] = read_wavelet(array, 0, places)


WaveletCells.kernels = Kernels(_take, _estimate, _confidence)
