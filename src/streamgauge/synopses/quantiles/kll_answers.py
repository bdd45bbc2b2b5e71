"""Answers of KLL sketches, group by group, as kernels."""

from __future__ import annotations

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.quantiles.kll_levels import END, HEIGHT, HIGH, LOW, NOISE, sort, sync


@compiled
def extremes(state, group):  # type: ignore[no-untyped-def]
    """Smallest and largest item of a group, kept exactly."""
    sync(state, group)
    low, high = state.reals[group, LOW], state.reals[group, HIGH]
    end = state.heads[group, END]
    for at in range(end - state.above[group, 0], end - state.above[group, 1]):
        low = min(low, state.items[at])
        high = max(high, state.items[at])
    return low, high


@compiled
def weight(state, group):  # type: ignore[no-untyped-def]
    """Rows of a group: compaction keeps the total weight."""
    sync(state, group)
    total = 0.0
    for level in range(state.heads[group, HEIGHT]):
        total += 2.0**level * (state.above[group, level] - state.above[group, level + 1])
    return total


@compiled
def rank(state, group, value, inclusive):  # type: ignore[no-untyped-def]
    """Weight of the items below a value, or at and below it."""
    sync(state, group)
    end = state.heads[group, END]
    total = 0.0
    for level in range(state.heads[group, HEIGHT]):
        count = 0
        for at in range(end - state.above[group, level], end - state.above[group, level + 1]):
            item = state.items[at]
            if item < value or (inclusive and item == value):
                count += 1
        total += 2.0**level * count
    return total


@compiled
def in_order(state, group, values, reached):  # type: ignore[no-untyped-def]
    """All items of a group in order, with the weight reached at each; returns how many."""
    sync(state, group)
    end = state.heads[group, END]
    n = state.above[group, 0] - state.above[group, 1]
    for i in range(n):
        values[i] = state.items[end - state.above[group, 0] + i]
        reached[i] = 1.0
    sort(values, 0, n, state.bench)
    # Small levels first: each item is then moved a few times only.
    for level in range(1, state.heads[group, HEIGHT]):
        last = end - state.above[group, level + 1] - 1
        more = state.above[group, level] - state.above[group, level + 1]
        worth = 2.0**level
        left, at = n - 1, n + more - 1
        first = last - more
        while last > first:
            if left >= 0 and values[left] > state.items[last]:
                values[at], reached[at] = values[left], reached[left]
                left -= 1
            else:
                values[at], reached[at] = state.items[last], worth
                last -= 1
            at -= 1
        n += more
    for i in range(1, n):
        reached[i] += reached[i - 1]
    return n


@compiled
def _place(reached, n, wanted):  # type: ignore[no-untyped-def]
    """First place at which so much is reached, `n` if nowhere."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if reached[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def quantile_bar(state, group, phi, factor, values, reached):  # type: ignore[no-untyped-def]
    """Item at a rank, and the items at that rank less and more the error; NaN of nothing."""
    n = in_order(state, group, values, reached)
    if n == 0:
        return np.nan, -np.inf, np.inf
    low, high = extremes(state, group)
    wanted = max(1.0, np.ceil(phi * reached[n - 1] * (1.0 - 1e-12)))
    error = factor * np.sqrt(state.reals[group, NOISE])
    value = values[min(_place(reached, n, wanted), n - 1)]
    if error > 0.0 and wanted < reached[n - 1]:
        # One place less above: the rows below the truth number at most `wanted - 1`.
        over = _place(reached, n, np.floor(wanted + error))
        high = values[over] if over < n else high
    elif error == 0.0:
        high = value
    if error > 0.0 and wanted > 1.0:
        under = wanted - error
        low = values[_place(reached, n, under)] if under > 0.0 else low
    elif error == 0.0:
        low = value
    # The extremes are known exactly, also where compaction has dropped them.
    if wanted == 1.0:
        value = high = low
    elif wanted == reached[n - 1]:
        value = low = high
    return value, min(low, value), max(high, value)


@compiled
def quantile_bars(state, phi, factor, value, low, high):  # type: ignore[no-untyped-def]
    """Bars of every group for one quantile."""
    values, reached = np.empty(state.totals[-1]), np.empty(state.totals[-1])
    for group in range(len(state.heads)):
        value[group], low[group], high[group] = quantile_bar(
            state, group, phi, factor, values, reached
        )


@compiled
def range_bars(state, first, last, factor, value, low, high):  # type: ignore[no-untyped-def]
    """Bars of every group for the weight between two values, both included.

    A compaction moves the ranks of both ends the same way or not at all, so a range is off by no
    more than a rank is.
    """
    for group in range(len(state.heads)):
        total = weight(state, group)
        least, most = extremes(state, group)
        error = factor * np.sqrt(state.reals[group, NOISE])
        found = rank(state, group, last, True) - rank(state, group, first, False)
        within = first <= least and last >= most
        outside = last < least or first > most or last < first
        if outside:
            found = 0.0
        value[group] = found
        low[group] = found if within or outside else max(0.0, np.ceil(found - error))
        high[group] = found if within or outside else min(total, np.floor(found + error))


@compiled
def weights_of(state, out):  # type: ignore[no-untyped-def]
    """Rows of every group."""
    for group in range(len(out)):
        out[group] = weight(state, group)


@compiled
def extremes_of(state, low, high):  # type: ignore[no-untyped-def]
    """Smallest and largest item of every group; infinities the wrong way round for none."""
    for group in range(len(low)):
        low[group], high[group] = extremes(state, group)
