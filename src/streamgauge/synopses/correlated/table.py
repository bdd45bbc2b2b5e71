"""Table: running totals at a few edges, each with sure bounds.

At every edge stands how many rows lie below it, and the sums of their positive and negative parts.
A row changes these numbers exactly, when it comes and when it goes. Only a new edge is a guess: its
totals are interpolated, but they lie between those of its neighbours, and these bounds are kept and
moved like the totals themselves. So a bar of any age is sure.

The last edge is the end: its totals are those of all rows, the ones that lie on it included.
"""

from __future__ import annotations

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.synopsis import Floats

MEASURES = 3
"""Count, sum of the positive parts, sum of the negative parts; each as value, least, most."""


def new_table(buckets: int) -> tuple[Floats, Floats]:
    """Edges and totals for so many buckets, with room to work in."""
    return np.zeros(buckets + 6), np.zeros((3 * MEASURES, buckets + 6))


@compiled
def read(edges, table, k, at, strict, out):  # type: ignore[no-untyped-def]
    """Totals of the rows below a value; with those on it unless `strict`."""
    if k == 0 or at < edges[0] or (strict and at == edges[0]):
        for row in range(3 * MEASURES):
            out[row] = 0.0
        return
    if at > edges[k] or (at == edges[k] and not strict):
        for row in range(3 * MEASURES):
            out[row] = table[row, k]
        return
    j = k - 1
    while edges[j] > at:
        j -= 1
    exact = strict and edges[j] == at
    span = edges[j + 1] - edges[j]
    share = (at - edges[j]) / span if span > 0.0 else 1.0
    for row in range(0, 3 * MEASURES, 3):
        low = table[row + 1, j]
        for i in range(j):
            low = max(low, table[row + 1, i])
        first = j if exact else j + 1
        high = table[row + 2, first]
        for i in range(first + 1, k + 1):
            high = min(high, table[row + 2, i])
        out[row] = table[row, j] + share * (table[row, j + 1] - table[row, j])
        out[row + 1] = max(low, 0.0)
        out[row + 2] = high


@compiled
def _bump(table, j, count, plus, minus):  # type: ignore[no-untyped-def]
    for kind in range(3):
        table[kind, j] += count
        table[3 + kind, j] += plus
        table[6 + kind, j] += minus


@compiled
def _copy(table, j, source, i):  # type: ignore[no-untyped-def]
    # A loop and not a slice: it compiles in a tenth of the time.
    for row in range(3 * MEASURES):
        table[row, j] = source[row, i]


@compiled
def _set(table, j, column):  # type: ignore[no-untyped-def]
    for row in range(3 * MEASURES):
        table[row, j] = column[row]


@compiled
def add(edges, table, k, at, count, plus, minus):  # type: ignore[no-untyped-def]
    """Add a row at a value, or take it away if `count` is -1 and the others are negative."""
    edges[0] = min(edges[0], at)
    edges[k] = max(edges[k], at)
    for j in range(k, 0, -1):
        if j < k and edges[j] <= at:
            break
        _bump(table, j, count, plus, minus)


@compiled
def insert(edges, table, k, at):  # type: ignore[no-untyped-def]
    """Put an edge between others, with interpolated totals and sure bounds; return how many."""
    j = 0
    while j <= k and edges[j] < at:
        j += 1
    if j == 0 or j > k or edges[j] == at:
        return k
    column = np.empty(3 * MEASURES)
    read(edges, table, k, at, True, column)
    for i in range(k, j - 1, -1):
        edges[i + 1] = edges[i]
        _copy(table, i + 1, table, i)
    edges[j] = at
    _set(table, j, column)
    return k + 1


@compiled
def remove(edges, table, k, j):  # type: ignore[no-untyped-def]
    """Take an edge away, which joins its two buckets; return how many remain."""
    for i in range(j, k):
        edges[i] = edges[i + 1]
        _copy(table, i, table, i + 1)
    return k - 1


@compiled
def keep_between(edges, table, k, low, high):  # type: ignore[no-untyped-def]
    """Take away the inner edges outside a range."""
    for j in range(k - 1, 0, -1):
        if edges[j] < low or edges[j] > high:
            k = remove(edges, table, k, j)
    return k


@compiled
def cut_top(edges, table, k, top):  # type: ignore[no-untyped-def]
    """Forget the rows above a value."""
    if top >= edges[k]:
        return k
    column = np.empty(3 * MEASURES)
    read(edges, table, k, top, False, column)
    while k > 1 and edges[k - 1] >= top:
        k -= 1
    edges[k] = top
    _set(table, k, column)
    return k


@compiled
def spread_uniform(edges, table, k, inner, low, high, scratch):  # type: ignore[no-untyped-def]
    """Replace all inner edges by equal steps from `low` to `high`, both included if inside."""
    for i in range(inner + 1):
        scratch[i] = low + (high - low) * i / inner
    return replace_inner(edges, table, k, scratch, inner + 1)


@compiled
def spread_mass(edges, table, k, inner, scratch):  # type: ignore[no-untyped-def]
    """Replace all inner edges by those of equal estimated mass."""
    total = table[0, k]
    j = 0
    for i in range(1, inner):
        goal = total * i / inner
        while j < k - 1 and table[0, j + 1] < goal:
            j += 1
        mass = table[0, j + 1] - table[0, j]
        share = min(max((goal - table[0, j]) / mass, 0.0), 1.0) if mass > 0.0 else 0.5
        scratch[i - 1] = edges[j] + share * (edges[j + 1] - edges[j])
    return replace_inner(edges, table, k, scratch, inner - 1)


@compiled
def replace_inner(edges, table, k, fresh, n):  # type: ignore[no-untyped-def]
    """Replace all inner edges by the first `n` of others, those that rise and lie inside."""
    columns, column = np.empty((3 * MEASURES, n + 1)), np.empty(3 * MEASURES)
    kept = 0
    for i in range(n):
        before = fresh[kept - 1] if kept > 0 else edges[0]
        if fresh[i] > before and fresh[i] < edges[k]:
            read(edges, table, k, fresh[i], True, column)
            _set(columns, kept, column)
            fresh[kept] = fresh[i]
            kept += 1
    edges[kept + 1] = edges[k]
    _copy(columns, n, table, k)
    _copy(table, kept + 1, columns, n)
    for i in range(kept):
        edges[i + 1] = fresh[i]
        _copy(table, i + 1, columns, i)
    return kept + 1


@compiled
def _size(edges, table, left, right, by_mass):  # type: ignore[no-untyped-def]
    return table[0, right] - table[0, left] if by_mass else edges[right] - edges[left]


@compiled
def balance(edges, table, k, buckets, low, high, by_mass):  # type: ignore[no-untyped-def]
    """Split the largest bucket, or join the smallest two, until there are so many.

    Only buckets from `low` to `high` are split and only edges strictly between them go.
    """
    while k > buckets:
        best, least = -1, np.inf
        for j in range(1, k):
            size = _size(edges, table, j - 1, j + 1, by_mass)
            if low < edges[j] < high and size < least:
                best, least = j, size
        if best < 0:
            break
        k = remove(edges, table, k, best)
    while k < buckets:
        best, most = -1, 0.0
        for j in range(k):
            size = _size(edges, table, j, j + 1, by_mass)
            if edges[j] >= low and edges[j + 1] <= high and size > most:
                best, most = j, size
        if best < 0:
            break
        before = k
        k = insert(edges, table, k, (edges[best] + edges[best + 1]) / 2.0)
        if k == before:
            break
    return k


@compiled
def even_out(edges, table, k, low, high):  # type: ignore[no-untyped-def]
    """Join the lightest pair and split the heaviest bucket, if masses become more even."""
    pair, least, most = -1, np.inf, 0.0
    for j in range(1, k):
        if low < edges[j] < high:
            one = _size(edges, table, j - 1, j, True)
            two = _size(edges, table, j, j + 1, True)
            if one * two < least:
                pair, least = j, one * two
    for j in range(k):
        if edges[j] >= low and edges[j + 1] <= high:
            most = max(most, _size(edges, table, j, j + 1, True))
    if pair < 0 or 2.0 * least >= most * most / 2.0:
        return k
    before = k
    k = remove(edges, table, k, pair)
    return balance(edges, table, k, before, low, high, True)


@compiled
def build(edges, table, rows, n, low, high):  # type: ignore[no-untyped-def]
    """Start with one bucket from `low` to `high` that holds some rows."""
    edges[0] = low
    edges[1] = high
    for row in range(3 * MEASURES):
        table[row, 0] = 0.0
        table[row, 1] = 0.0
    for i in range(n):
        edges[0] = min(edges[0], rows[0, i])
        edges[1] = max(edges[1], rows[0, i])
        _bump(table, 1, 1.0, rows[1, i], rows[2, i])
    return 1


@compiled
def exactly(edges, table, k, rows, n):  # type: ignore[no-untyped-def]
    """Set the totals of all inner edges from the rows themselves."""
    for j in range(1, k):
        for row in range(3 * MEASURES):
            table[row, j] = 0.0
        for i in range(n):
            if rows[0, i] < edges[j]:
                _bump(table, j, 1.0, rows[1, i], rows[2, i])
