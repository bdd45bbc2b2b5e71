"""Sample cells: for each bucket the rows of smallest rank, a uniform sample without replacement.

The rank of a row is a hash of its number in the stream. A bucket holds all its rows of ranks below
a limit; when it is full, the row of the highest rank goes and its rank is the new limit.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.jit import compiled
from streamgauge.promise.cells import Cells, Stretch, UInts64, bucket_of
from streamgauge.synopses.synopsis import Floats, Ints

KEPT = 96
# For each bucket: all ones less its limit, rows kept, their ranks in order, their keys.
WIDTH = 2 + 2 * KEPT
_PAIRS, _KEPT_PAIRS, _ALL_PAIRS, _KEPT, _ROWS = range(5)
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


class SampleCells(Cells):
    """Up to 96 sampled rows for each bucket; exact while a bucket has no more.

    Subtracting drops the rows of the other zone. What stays is a sample of the rest, smaller than
    if those rows had never been added.

    Examples
    --------
    >>> cells = SampleCells(16, seed=1)
    >>> cells.summarize(np.array([7, 8, 7], np.uint64))
    >>> cells.estimate(np.array([7, 8, 9], np.uint64))
    array([2., 1., 0.])
    """

    kind = "sample"
    number = 4
    linear = False
    dtype = np.uint64
    n_sums = 5

    @classmethod
    def size(cls, buckets: int) -> int:
        """Limits, ranks and keys of all buckets."""
        return buckets * WIDTH

    def take(self, at: Ints, keys: UInts64, stretch: Stretch) -> int:
        """Take rows whose rank is below the limit of their bucket."""
        return int(_take(self.array, self.rows, self.sums, self.seed, at, keys, stretch))

    def estimate(self, keys: UInts64) -> Floats:
        """The key's share of the sampled rows, times the rows of its bucket."""
        out = np.empty(len(keys))
        _estimate(self.array, self.rows, self.seed, keys, out)
        return out

    def confidence(self) -> float:
        """Typical count against the spread of a count that is met by a sample only."""
        return float(_confidence(self.sums))

    def recount(self) -> Ints:
        """Pairs of equal keys among sampled rows, pairs of sampled rows, pairs of rows, rows."""
        sums = np.zeros(self.n_sums, np.int64)
        _recount(self.array, self.rows, sums)
        return sums

    def add(self, other: Self) -> None:
        """Merge two samples: the rows of smallest rank of both."""
        self._must_match(other)
        _merge(self.array, other.array)
        self.rows += other.rows
        self._stale = True

    def subtract(self, other: Self) -> None:
        """Drop the rows of a zone that was added."""
        self._must_match(other)
        _drop(self.array, other.array)
        self.rows -= other.rows
        self._stale = True


@compiled
def _equal(array, start, key):  # type: ignore[no-untyped-def]
    """Sampled rows of a bucket that have a key."""
    found = 0
    first = start + 2 + KEPT
    for j in range(first, first + np.int64(array[start + 1])):
        found += array[j] == key
    return found


@compiled
def _confidence(sums):  # type: ignore[no-untyped-def]
    rows = sums[_ROWS]
    if rows <= 0 or sums[_KEPT] >= rows:
        return 1.0
    pairs = sums[_PAIRS] * (float(sums[_ALL_PAIRS]) / max(sums[_KEPT_PAIRS], 1))
    typical = 1.0 + pairs / rows
    skipped = rows / max(sums[_KEPT], 1) - 1.0
    return typical / (typical + math.sqrt(typical * skipped))


@compiled
def _insert(array, start, rank, key):  # type: ignore[no-untyped-def]
    """Put a row into its place by rank; the one of highest rank leaves a full bucket."""
    count = np.int64(array[start + 1])
    ranks = start + 2
    keys = ranks + KEPT
    if count == KEPT:
        highest = array[ranks + KEPT - 1]
        array[start] = _ONES - max(highest, rank)
        if rank >= highest:
            return
        count -= 1
    j = count
    while j > 0 and array[ranks + j - 1] > rank:
        array[ranks + j] = array[ranks + j - 1]
        array[keys + j] = array[keys + j - 1]
        j -= 1
    array[ranks + j] = rank
    array[keys + j] = key
    array[start + 1] = np.uint64(count + 1)


@compiled
def _keep(array, start, count):  # type: ignore[no-untyped-def]
    """Forget sampled rows of a bucket beyond the first `count`."""
    for j in range(count, np.int64(array[start + 1])):
        array[start + 2 + j] = np.uint64(0)
        array[start + 2 + KEPT + j] = np.uint64(0)
    array[start + 1] = np.uint64(count)


@compiled
def _below(array, start, limit):  # type: ignore[no-untyped-def]
    """How many sampled rows of a bucket have ranks below a limit."""
    count = np.int64(array[start + 1])
    while count > 0 and array[start + 1 + count] >= limit:
        count -= 1
    return count


@compiled
def _merge(array, other):  # type: ignore[no-untyped-def]
    for start in range(0, len(array), WIDTH):
        limit = min(_ONES - array[start], _ONES - other[start])
        array[start] = _ONES - limit
        _keep(array, start, _below(array, start, limit))
        for j in range(_below(other, start, limit)):
            rank = other[start + 2 + j]
            if rank >= _ONES - array[start]:
                break
            _insert(array, start, rank, other[start + 2 + KEPT + j])


@compiled
def _drop(array, other):  # type: ignore[no-untyped-def]
    for start in range(0, len(array), WIDTH):
        kept = 0
        there = 0
        for j in range(np.int64(array[start + 1])):
            rank = array[start + 2 + j]
            while there < np.int64(other[start + 1]) and other[start + 2 + there] < rank:
                there += 1
            if there < np.int64(other[start + 1]) and other[start + 2 + there] == rank:
                continue
            array[start + 2 + kept] = rank
            array[start + 2 + KEPT + kept] = array[start + 2 + KEPT + j]
            kept += 1
        _keep(array, start, kept)


@compiled
def _recount(array, rows, sums):  # type: ignore[no-untyped-def]
    for bucket in range(len(rows)):
        start = bucket * WIDTH
        kept = np.int64(array[start + 1])
        for j in range(kept):
            sums[_PAIRS] += _equal(array, start, array[start + 2 + KEPT + j]) - 1
        sums[_KEPT_PAIRS] += kept * (kept - 1)
        sums[_ALL_PAIRS] += rows[bucket] * (rows[bucket] - 1)
        sums[_KEPT] += kept
        sums[_ROWS] += rows[bucket]


@compiled
def _take(array, rows, sums, seed, at, keys, stretch):  # type: ignore[no-untyped-def]
    last = stretch.last
    salt = mix64(np.uint64(seed) ^ np.uint64(0x5A))
    for i in range(stretch.start, stretch.stop):
        if at[i] != last:
            if last >= stretch.earliest and _confidence(sums) < stretch.theta:
                return i
            last = at[i]
        key = keys[i]
        bucket = bucket_of(key, seed, len(rows))
        start = bucket * WIDTH
        rank = mix64(salt + np.uint64(stretch.serial + i - stretch.start))
        sums[_ALL_PAIRS] += 2 * rows[bucket]
        sums[_ROWS] += 1
        rows[bucket] += 1
        if rank >= _ONES - array[start]:
            continue
        kept = np.int64(array[start + 1])
        if kept == KEPT and rank < array[start + 1 + KEPT]:
            leaving = array[start + 1 + 2 * KEPT]
            sums[_PAIRS] -= 2 * (_equal(array, start, leaving) - 1)
        _insert(array, start, rank, key)
        if kept < KEPT or rank < _ONES - array[start]:
            sums[_PAIRS] += 2 * (_equal(array, start, key) - 1)
        if kept < KEPT:
            sums[_KEPT_PAIRS] += 2 * kept
            sums[_KEPT] += 1
    return stretch.stop


@compiled
def _estimate(array, rows, seed, keys, out):  # type: ignore[no-untyped-def]
    for i in range(len(keys)):
        bucket = bucket_of(keys[i], seed, len(rows))
        start = bucket * WIDTH
        kept = np.int64(array[start + 1])
        found = _equal(array, start, keys[i])
        out[i] = rows[bucket] * (found / kept) if kept else 0.0
