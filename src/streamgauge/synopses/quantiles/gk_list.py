"""The list of Greenwald and Khanna: rows go in by the buffer, values go out where gaps allow.

Kernels on three columns: values, the least weight at or below each, the most weight below it.
"""

from __future__ import annotations

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.quantiles.rank_summary import RankSummary
from streamgauge.synopses.synopsis import Floats


def compressed(summary: RankSummary, allowed: float) -> RankSummary:
    """Drop values the way of Greenwald and Khanna: no g + Delta comes to more than `allowed`.

    What is left takes new rows better than a summary of as few values as possible, whose gaps are
    all full.
    """
    kept = _compress(summary.at_least, summary.below, allowed, summary.grain)
    return RankSummary(
        summary.values[kept],
        summary.at_least[kept],
        summary.below[kept],
        summary.mass,
        summary.grain,
    )


def absorbed(summary: RankSummary, rows: Floats, share: float) -> RankSummary:
    """Add rows of weight 1 to a summary of such rows, compressed to a share of their number."""
    values, least, under, mass, _ = absorb(
        (summary.values, summary.at_least, summary.below, summary.mass),
        rows,
        np.ones(len(rows)),
        share,
        1.0,
    )
    return RankSummary(values, least, under, mass)


@compiled
def fold(held, waiting, filled, column, weights, share, grain):  # type: ignore[no-untyped-def]
    """Put rows into the buffer, in order; a full buffer is absorbed and the list compressed."""
    values, at_least, below, mass = held
    room = waiting.shape[1]
    wrong = False
    for i in range(len(column)):
        waiting[0, filled] = column[i]
        waiting[1, filled] = weights[i]
        filled += 1
        if filled == room:
            values, at_least, below, mass, bad = absorb(
                (values, at_least, below, mass), waiting[0], waiting[1], share, grain
            )
            wrong |= bad
            filled = 0
    return values, at_least, below, mass, filled, wrong


@compiled
def absorb(held, rows, weights, share, grain):  # type: ignore[no-untyped-def]
    """Add rows to the list. Why the error stays: the rows are a summary with no gaps, and between
    two neighbours of the sum lies at most one gap of the old list, which is within 2 epsilon n of
    the smaller n of then. Rows taken back only narrow gaps: they lower `below` of the right
    neighbour by all that fell within, and `at_least` of the left one by none of it.
    """  # noqa: D205
    values, at_least, below, mass = held
    points, nets = _netted(rows, weights)
    size = len(values) + len(points)
    out, least, under = np.empty(size), np.empty(size), np.empty(size)
    old = 0
    count = 0
    total = 0.0
    taken = False
    for i in range(len(points) + 1):
        while old < len(values) and (i == len(points) or values[old] < points[i]):
            out[count], least[count] = values[old], at_least[old] + total
            under[count] = below[old] + total
            old += 1
            count += 1
        if i == len(points):
            break
        floor = at_least[old - 1] if old else 0.0
        ceiling = below[old] if old < len(values) else mass
        equal = old < len(values) and values[old] == points[i]
        if equal:
            floor = at_least[old]
            old += 1
        if equal or nets[i] > 0.0:
            out[count], least[count] = points[i], floor + total + nets[i]
            under[count] = ceiling + total
            count += 1
        taken |= nets[i] < 0.0
        total += nets[i]
    out, least, under = out[:count], least[:count], under[:count]
    mass += total
    wrong = False
    if taken:
        # What fractions leave behind when they cancel is rounding, not weight.
        dust = 1e-12 * (held[3] + np.abs(nets).sum())
        mass = 0.0 if abs(mass) <= dust else mass
        out, least, under, wrong = _straightened(out, least, under, mass, dust)
    if share > 0.0:
        kept = _compress(least, under, share * mass, grain)
        out, least, under = out[kept], least[kept], under[kept]
    return out, least, under, mass, wrong


@compiled
def _sorted_pairs(rows, weights):  # type: ignore[no-untyped-def]
    """Merge sort from short runs to long ones; the order of equals stays."""
    n = len(rows)
    to_rows, to_weights = np.empty(n), np.empty(n)
    run = 1
    while run < n:
        for start in range(0, n, 2 * run):
            left, right = start, min(start + run, n)
            middle, stop = right, min(start + 2 * run, n)
            for place in range(start, stop):
                if left < middle and (right == stop or rows[left] <= rows[right]):
                    to_rows[place], to_weights[place] = rows[left], weights[left]
                    left += 1
                else:
                    to_rows[place], to_weights[place] = rows[right], weights[right]
                    right += 1
        rows, to_rows = to_rows, rows
        weights, to_weights = to_weights, weights
        run *= 2
    return rows, weights


@compiled
def _netted(rows, weights):  # type: ignore[no-untyped-def]
    """Distinct rows in order, each with the sum of its weights; sums of 0 are left out."""
    points, nets = _sorted_pairs(rows.copy(), weights.copy())
    count = 0
    i = 0
    while i < len(rows):
        value = points[i]
        net = 0.0
        while i < len(rows) and points[i] == value:
            net += nets[i]
            i += 1
        if net != 0.0:
            points[count], nets[count] = value, net
            count += 1
    return points[:count], nets[:count]


@compiled
def _straightened(values, least, under, mass, dust):  # type: ignore[no-untyped-def]
    """After deletions: bounds are made to rise again, values that bound nothing go."""
    n = len(values)
    slack = 1e-9 * max(1.0, abs(mass))
    wrong = mass < -slack
    for i in range(n):
        least[i] = least[i] if least[i] > dust else 0.0
        under[i] = under[i] if abs(under[i]) > dust else 0.0
        least[i] = max(least[i], least[i - 1] if i else 0.0)
    for i in range(n - 1, -1, -1):
        under[i] = min(under[i], under[i + 1] if i < n - 1 else max(mass, 0.0))
        ceiling = under[i + 1] if i < n - 1 else mass
        wrong |= least[i] > ceiling + slack or under[i] < -slack
    kept = np.empty(n, np.int64)
    count = 0
    for i in range(n):
        before = least[kept[count - 1]] if count else 0.0
        after = under[i + 1] if i < n - 1 else mass
        no_more_above = least[i] <= before
        no_less_below = under[i] >= after
        inside = count > 0 and i < n - 1
        if not ((no_more_above and no_less_below) or (inside and no_more_above)):
            kept[count] = i
            count += 1
    rest = kept[:count]
    return values[rest], least[rest], under[rest], wrong


@compiled
def _band(delta, p):  # type: ignore[no-untyped-def]
    """Rows of nearly the same age share a band; exact ranks are alone in the highest."""
    if delta <= 0:
        return 64
    room = p - delta
    for alpha in range(1, 63):
        if room < 1:
            break
        power = 1 << alpha
        if room < power + p % power:
            return alpha
    return 0


@compiled
def _compress(at_least, below, allowed, grain):  # type: ignore[no-untyped-def]
    """Which values stay: right to left, a value and its descendants go into the next one.

    The descendants of a value are the run to its left of lower bands.
    """
    n = len(at_least)
    stays = np.ones(n, np.bool_)
    band, start = np.empty(n, np.int64), np.empty(n, np.int64)
    p = int(allowed)
    for i in range(n):
        band[i] = _band(int(max(0.0, below[i] + grain - at_least[i])), p)
        j = i - 1
        while j >= 1 and band[j] < band[i]:
            j = start[j] - 1
        start[i] = j + 1
    right = n - 1
    i = n - 2
    while i >= 1:
        first = start[i]
        fits = below[right] + grain - at_least[first - 1] <= allowed
        if fits and band[i] <= band[right]:
            stays[first : i + 1] = False
            i = first - 1
        else:
            right = i
            i -= 1
    return np.flatnonzero(stays)
