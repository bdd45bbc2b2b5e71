"""Grid of counts in log bins: a row for each group, a column for each bin, all bins in order.

The columns grow with the numbers that come; a kernel stops at the first row that does not fit, the
grid is widened for the rest of the batch, and counting goes on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.quantiles.log_bins import Bins, index_of, spans

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_NO_SPAN = (np.iinfo(np.int64).max, -1, np.iinfo(np.int64).max, -1)


class Grid(NamedTuple):
    """Counts of many groups, a row each; columns in the order of the numbers they count.

    The first `n_negative` columns are negative bins, the one of largest magnitude first, then comes
    zero, then the positive bins. `first` is the bin nearest to zero of either sign.
    """

    counts: Floats
    rows: Ints
    n_negative: int
    first_negative: int
    first_positive: int


def empty_grid(n_groups: int) -> Grid:
    """Grid of so many empty groups, with the column of zero alone."""
    return Grid(np.zeros((n_groups, 1)), np.zeros(n_groups, np.int64), 0, 0, 0)


def counted(bins: Bins, grid: Grid, groups: Codes, column: Floats, weights: Floats | None) -> Grid:
    """Count rows, widening the grid where a number lies outside of it."""
    given = np.empty(0) if weights is None else np.ascontiguousarray(weights)
    row = 0
    while True:
        row = _count(bins, grid, groups, column, given, row)
        if row == len(column):
            return grid
        found = np.array(_NO_SPAN, np.int64)
        spans(bins, column, row, found)
        grid = widened(grid, *(int(end) for end in found), spare=True)


@compiled
def _count(bins, grid, groups, column, weights, start):  # type: ignore[no-untyped-def]
    counts, zero = grid.counts, grid.n_negative
    n_positive = counts.shape[1] - zero - 1
    words = column.view(np.int64)
    for row in range(start, len(words)):
        group = groups[row]
        if group < 0:
            continue
        magnitude = words[row] & 0x7FFFFFFFFFFFFFFF
        place = zero
        if magnitude >= 0x10000000000000:
            index = index_of(bins, magnitude)
            if words[row] > 0:
                place = index - grid.first_positive
                if place < 0 or place >= n_positive:
                    return row
                place += zero + 1
            else:
                place = index - grid.first_negative
                if place < 0 or place >= zero:
                    return row
                place = zero - 1 - place
        counts[group, place] += weights[row] if len(weights) else 1.0
        grid.rows[group] += 1
    return len(words)


def widened(
    grid: Grid, low_neg: int, high_neg: int, low_pos: int, high_pos: int, *, spare: bool = False
) -> Grid:
    """The same counts with columns for bins up to these too, and some to spare."""
    n_groups, width = grid.counts.shape
    n_positive = width - grid.n_negative - 1
    first_neg, n_neg = _span(grid.first_negative, grid.n_negative, low_neg, high_neg, spare=spare)
    first_pos, n_pos = _span(grid.first_positive, n_positive, low_pos, high_pos, spare=spare)
    if (n_neg, n_pos) == (grid.n_negative, n_positive):
        return grid
    counts = np.zeros((n_groups, n_neg + 1 + n_pos))
    if grid.n_negative:
        start = n_neg - (grid.first_negative - first_neg) - grid.n_negative
        counts[:, start : start + grid.n_negative] = grid.counts[:, : grid.n_negative]
    counts[:, n_neg] = grid.counts[:, grid.n_negative]
    if n_positive:
        start = n_neg + 1 + grid.first_positive - first_pos
        counts[:, start : start + n_positive] = grid.counts[:, grid.n_negative + 1 :]
    return Grid(counts, grid.rows, n_neg, first_neg, first_pos)


def _span(first: int, size: int, low: int, high: int, *, spare: bool) -> tuple[int, int]:
    """First bin and number of bins that cover both what there is and what came."""
    if high < 0:
        return first, size
    last = first + size - 1
    if size and first <= low and high <= last:
        return first, size
    new_first, new_last = (min(first, low), max(last, high)) if size else (low, high)
    room = (new_last - new_first) // 8 + 8 if spare else 0
    # Room on the side that grew; bins below the smallest float do not exist.
    if not size or low < first:
        new_first = max(0, new_first - room)
    if not size or high > last:
        new_last += room
    return new_first, new_last - new_first + 1


def span_of(grid: Grid) -> tuple[int, int, int, int]:
    """First and last bin of negative, then of positive numbers; a last of -1 is none."""
    n_positive = grid.counts.shape[1] - grid.n_negative - 1
    last_neg = grid.first_negative + grid.n_negative - 1 if grid.n_negative else -1
    last_pos = grid.first_positive + n_positive - 1 if n_positive else -1
    return grid.first_negative, last_neg, grid.first_positive, last_pos


def combined(mine: Grid, theirs: Grid, sign: float) -> Grid:
    """Counts of both, of which the other's count `sign` times."""
    mine = widened(mine, *span_of(theirs))
    theirs = widened(theirs, *span_of(mine))
    mine.counts[: len(theirs.counts)] += sign * theirs.counts
    mine.rows[: len(theirs.rows)] += int(sign) * theirs.rows
    return mine


def trimmed(grid: Grid) -> Grid:
    """The same counts without empty columns at the ends, so that equal counts look equal."""
    zero = grid.n_negative
    used = np.flatnonzero(grid.counts.any(axis=0))
    negative, positive = used[used < zero], used[used > zero]
    start, stop = zero, zero + 1
    first_neg = first_pos = 0
    if len(negative):
        start = int(negative[0])
        first_neg = grid.first_negative + zero - 1 - int(negative[-1])
    inner_neg = int(negative[-1]) + 1 if len(negative) else zero
    if len(positive):
        stop = int(positive[-1]) + 1
        first_pos = grid.first_positive + int(positive[0]) - zero - 1
    inner_pos = int(positive[0]) if len(positive) else zero + 1
    columns = np.r_[start:inner_neg, zero, inner_pos:stop]
    counts = np.ascontiguousarray(grid.counts[:, columns])
    return Grid(counts, grid.rows.copy(), inner_neg - start, first_neg, first_pos)


def joined(grid: Grid) -> Grid:
    """Bins joined two by two."""
    zero = grid.n_negative
    near_first, first_neg = _pairs(grid.counts[:, :zero][:, ::-1], grid.first_negative)
    positive, first_pos = _pairs(grid.counts[:, zero + 1 :], grid.first_positive)
    counts = np.concatenate(
        [near_first[:, ::-1], grid.counts[:, zero : zero + 1], positive], axis=1
    )
    return Grid(counts, grid.rows.copy(), near_first.shape[1], first_neg, first_pos)


def _pairs(counts: Array, first: int) -> tuple[Array, int]:
    before = first % 2
    after = (before + counts.shape[1]) % 2
    padded = np.pad(counts, ((0, 0), (before, after)))
    return padded[:, ::2] + padded[:, 1::2], first // 2
