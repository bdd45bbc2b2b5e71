"""Interval: what samples of strata prove about sums, means and quantiles of all rows.

Each stratum has a known number of rows and a known range; a random sample of its rows, drawn
without replacement, was looked at. How many rows were looked at in each does not depend on what
was found. Three limits hold at once, and the narrowest on each side is given:

1. What is sure: rows not looked at lie in their range. Cannot fail.
2. Hoeffding and Serfling (S74), at half of the chance: half-width
   `sqrt(ln(4/delta)/2 * sum N^2 R^2 (1 - (n-1)/N) / n)`. The law of `samples/strata.py`.
3. Bernstein with an estimated variance, at the other half, in four events of `exp(-L)` each,
   `L = ln(8/delta)`. Sums without replacement are no wilder than with it (H63, theorem 4), so:
   - Bernstein: `|error| <= sqrt(2 v L) + b L / 3` (two events), where `v = sum c s^2`,
     `c = N^2 min(1, (1-f)/f) / n`, `f = n/N`, s the spread within a stratum, `b = max N R / n`.
     Of a stratum that was sampled by more than half, the rows left out are the smaller sample.
   - The sum of `c/n (y - mean)^2` over the sample is a sum of terms in [0, B] with mean v,
     `B = max c R^2 / n`: `sqrt(v) <= sqrt(Q + B L / 2) + sqrt(B L / 2)`.
   - That sum is the sample's own scatter, plus `T = sum c (sample mean - mean)^2`. Each sample
     mean is sub-Gaussian with `R^2 (1-(n-1)/N) / 4n`, so T is below a weighted chi-square:
     `T <= sum a + 2 sqrt(L sum a^2) + 2 L max a` (LM00), `a = c R^2 (1-(n-1)/N) / 4n`.

A mean over the rows that match is the `mu` at which the sum of `(x - mu)` over them is zero: the
`mu` for which zero is within limits are the interval. Ranges and spreads are convex in `mu`, so the
upper limit is convex, the lower concave, and each crosses zero once: bisection finds it. Of a
quantile the rows at or below `q` are tested against their share; every `q` is tried.

References
----------
H63, S74: docs/reference/synopses/samples.md. LM00: B. Laurent, P. Massart. Adaptive estimation of
a quadratic functional by model selection. Annals of Statistics 28(5), 2000, lemma 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# Columns of a stratum: rows, rows looked at, of these those that match, sums over these of x less
# the middle and of its square, the middle, the smallest and the largest x of all rows, whether all
# rows are known to match.
ROWS, TAKEN, MATCHED, FIRST, SECOND, MIDDLE, LOW, HIGH, SURE = range(9)
WIDTH = 9
_STEPS = 45


class Bar(NamedTuple):
    """A value with its limits, and the share of rows that it rests on."""

    value: float
    low: float
    high: float
    share: float = 1.0


def sum_bar(lines: Floats, delta: float) -> Bar:
    """Sum of x over the rows that match; with x of 1, their number.

    Parameters
    ----------
    lines
        One line a stratum.
    delta
        Chance that the limits miss the truth.

    Examples
    --------
    >>> half = [1000, 100, 50, 0, 0, 1, 1, 1, 0]
    >>> bar = sum_bar(np.array([half], float), 0.05)
    >>> round(bar.value), round(bar.low), round(bar.high)
    (500, 359, 641)
    """
    value, *limits = _limits(lines, 0.0, math.log(4.0 / delta), math.log(8.0 / delta))
    # Where doubles end nothing is claimed.
    low = max((limit for limit in limits[:3] if math.isfinite(limit)), default=-math.inf)
    high = min((limit for limit in limits[3:] if math.isfinite(limit)), default=math.inf)
    value = min(max(value, low), high) if math.isfinite(value) else math.nan
    return Bar(value, low, high)


def total_of(numbers: Floats) -> float:
    """Exact sum, rounded once; not a number where doubles end.

    >>> total_of(np.array([1e16, 1.0, -1e16])), total_of(np.array([1e308, 1e308]))
    (1.0, nan)
    """
    try:
        total = math.fsum(numbers.tolist())
    except (OverflowError, ValueError):
        return math.nan
    return total if math.isfinite(total) else math.nan


def mean_bar(lines: Floats, delta: float) -> Bar:
    """Mean of x over the rows that match; not a number when no row can.

    Examples
    --------
    >>> lines = np.array([[1000, 100, 50, 0, 25, 5, 0, 10, 0]], float)
    >>> bar = mean_bar(lines, 0.05)
    >>> bar.low < bar.value < bar.high, bar.value
    (True, 5.0)
    """
    open_lines = lines[(lines[:, TAKEN] < lines[:, ROWS]) | (lines[:, MATCHED] > 0)]
    if not len(open_lines):
        return Bar(math.nan, math.nan, math.nan)
    bottom, top = float(open_lines[:, LOW].min()), float(open_lines[:, HIGH].max())
    plain, sharp = math.log(4.0 / delta), math.log(8.0 / delta)
    low, high = _crossings(lines, bottom, top, plain, sharp)
    weight = lines[:, ROWS] / np.maximum(1.0, lines[:, TAKEN])
    matched = float((weight * lines[:, MATCHED]).sum())
    total = float((weight * (lines[:, FIRST] + lines[:, MIDDLE] * lines[:, MATCHED])).sum())
    value = total / matched if matched > 0.0 and math.isfinite(total) else 0.5 * low + 0.5 * high
    return Bar(min(max(value, low), high), low, high)


def quantile_bar(lines: Floats, items: Floats, stratum: Ints, phi: float, delta: float) -> Bar:
    """Item of rank ceil(phi n) among the x of the n rows that match.

    Parameters
    ----------
    lines
        One line a stratum.
    items, stratum
        The x of the matching rows that were looked at, and the stratum of each.
    phi
        Which quantile.
    delta
        Chance that the limits miss the truth.
    """
    open_lines = (lines[:, TAKEN] < lines[:, ROWS]) | (lines[:, MATCHED] > 0)
    if not open_lines.any():
        return Bar(math.nan, math.nan, math.nan)
    strata = np.flatnonzero(open_lines)
    ends = np.concatenate([items, lines[strata, LOW], lines[strata, HIGH]])
    happens = np.repeat([0, 1, 2], [len(items), len(strata), len(strata)])
    where = np.concatenate([stratum, strata, strata])
    order = np.argsort(ends, kind="stable")
    events = np.stack([happens[order], where[order]])
    levels = np.array([phi, math.log(4.0 / delta), math.log(8.0 / delta)])
    low, high = _sweep(ends[order], events, lines, levels)
    if not len(items):
        return Bar(0.5 * low + 0.5 * high, low, high)
    order = np.argsort(items, kind="stable")
    reached = np.cumsum((lines[:, ROWS] / np.maximum(1.0, lines[:, TAKEN]))[stratum[order]])
    place = int(np.searchsorted(reached, phi * reached[-1] * (1.0 - 1e-12)))
    value = float(items[order[min(place, len(items) - 1)]])
    return Bar(min(max(value, low), high), low, high)


@compiled
def _limits(lines, mu, plain, sharp):  # type: ignore[no-untyped-def]
    """Sum of (x - mu) over matching rows: estimate, three lower limits, three upper ones."""
    value, squares, scatter = 0.0, 0.0, 0.0
    a_sum, a_square, a_most, largest, reach = 0.0, 0.0, 0.0, 0.0, 0.0
    sure_low, sure_high, blind_low, blind_high = 0.0, 0.0, 0.0, 0.0
    for h in range(len(lines)):
        n, taken = lines[h, ROWS], lines[h, TAKEN]
        off = lines[h, MIDDLE] - mu
        total = lines[h, FIRST] + off * lines[h, MATCHED]
        if taken >= n:
            value += total
            sure_low += total
            sure_high += total
            continue
        least, most = lines[h, LOW] - mu, lines[h, HIGH] - mu
        if lines[h, SURE] == 0.0:
            least, most = min(0.0, least), max(0.0, most)
        spread = most - least
        sure_low += total + (n - taken) * least
        sure_high += total + (n - taken) * most
        if taken == 0.0:
            blind_low += n * least
            blind_high += n * most
            continue
        value += n / taken * total
        left = 1.0 - (taken - 1.0) / n
        squares += (n * spread) ** 2 * left / taken
        second = lines[h, SECOND] + 2.0 * off * lines[h, FIRST] + off * off * lines[h, MATCHED]
        c = n * n / taken * min(1.0, n / taken - 1.0)
        scatter += c * max(0.0, second / taken - (total / taken) ** 2)
        a = c * spread * spread * left / (4.0 * taken)
        a_sum += a
        a_square += a * a
        a_most = max(a_most, a)
        largest = max(largest, c * spread * spread / taken)
        reach = max(reach, n * spread / taken)
    wide = math.sqrt(0.5 * plain * squares)
    near = _bernstein(scatter, a_sum, a_square, a_most, largest, reach, sharp)
    middle = value + 0.5 * (blind_low + blind_high)
    low, high = value + blind_low, value + blind_high
    return middle, sure_low, low - wide, low - near, sure_high, high + wide, high + near


@compiled
def _bernstein(scatter, a_sum, a_square, a_most, largest, reach, sharp):  # type: ignore[no-untyped-def]
    """Half-width of the third kind; see the head of this file."""
    seen = scatter + a_sum + 2.0 * math.sqrt(sharp * a_square) + 2.0 * sharp * a_most
    deviation = math.sqrt(seen + 0.5 * largest * sharp) + math.sqrt(0.5 * largest * sharp)
    return math.sqrt(2.0 * sharp) * deviation + reach * sharp / 3.0


@compiled
def _crossings(lines, bottom, top, plain, sharp):  # type: ignore[no-untyped-def]
    """Ends of the means that no limit excludes, found from outside.

    A limit that excludes the end of the range excludes all up to where it crosses zero; one that
    does not is left alone, for what it may exclude is in the middle.
    """
    begins, ends = _limits(lines, bottom, plain, sharp), _limits(lines, top, plain, sharp)
    below, above = bottom, top
    if max(begins[1], begins[2], begins[3]) > 0.0:
        for _ in range(_STEPS):
            middle = 0.5 * (below + above)
            now = _limits(lines, middle, plain, sharp)
            out = begins[1] > 0.0 and now[1] > 0.0
            out = out or (begins[2] > 0.0 and now[2] > 0.0)
            if out or (begins[3] > 0.0 and now[3] > 0.0):
                below = middle
            else:
                above = middle
    low = below
    below, above = bottom, top
    if min(ends[4], ends[5], ends[6]) < 0.0:
        for _ in range(_STEPS):
            middle = 0.5 * (below + above)
            now = _limits(lines, middle, plain, sharp)
            out = ends[4] < 0.0 and now[4] < 0.0
            out = out or (ends[5] < 0.0 and now[5] < 0.0)
            if out or (ends[6] < 0.0 and now[6] < 0.0):
                above = middle
            else:
                below = middle
    return low, above


@compiled
def _sweep(ends, events, lines, levels):  # type: ignore[no-untyped-def]
    """First end whose upper limit reaches zero, and the first after the last whose lower does not.

    In `parts`: estimate, squared width, scatter, sure below and above, blind below and above.
    """
    phi, plain, sharp = levels[0], levels[1], levels[2]
    strata = len(lines)
    state = np.zeros((strata, 3))
    parts = np.zeros(7)
    a_sum, a_square, a_most, largest, reach, rows = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for h in range(strata):
        n, taken = lines[h, ROWS], lines[h, TAKEN]
        rows += n
        _add(parts, lines, state, h, phi, 1.0)
        if 0.0 < taken < n:
            c = n * n / taken * min(1.0, n / taken - 1.0)
            a = c * (1.0 - (taken - 1.0) / n) / (4.0 * taken)
            a_sum += a
            a_square += a * a
            a_most = max(a_most, a)
            largest = max(largest, c / taken)
            reach = max(reach, n / taken)
    slack = 1e-12 * rows
    low, high = math.nan, math.nan
    for event in range(len(ends)):
        h = events[1, event]
        _add(parts, lines, state, h, phi, -1.0)
        state[h, events[0, event]] += 1.0
        _add(parts, lines, state, h, phi, 1.0)
        if event + 1 < len(ends) and ends[event + 1] == ends[event]:
            continue
        wide = math.sqrt(0.5 * plain * max(0.0, parts[1]))
        near = _bernstein(max(0.0, parts[2]), a_sum, a_square, a_most, largest, reach, sharp)
        wide = min(wide, near)
        upper = min(parts[4], parts[0] + parts[6] + wide)
        lower = max(parts[3], parts[0] + parts[5] - wide)
        if math.isnan(low) and upper >= -slack:
            low = ends[event]
        if lower < slack:
            high = math.nan
        elif math.isnan(high):
            high = ends[event]
    last = ends[len(ends) - 1]
    return (last if math.isnan(low) else low), (last if math.isnan(high) else high)


@compiled
def _add(parts, lines, state, h, phi, sign):  # type: ignore[no-untyped-def]
    """Add what a stratum says at the present end, or take it back."""
    n, taken, matched = lines[h, ROWS], lines[h, TAKEN], lines[h, MATCHED]
    below = state[h, 0]
    least = -phi if state[h, 2] == 0.0 else 1.0 - phi
    most = 1.0 - phi if state[h, 1] > 0.0 else -phi
    if lines[h, SURE] == 0.0:
        least, most = min(0.0, least), max(0.0, most)
    total = below - phi * matched
    parts[3] += sign * (total + (n - taken) * least)
    parts[4] += sign * (total + (n - taken) * most)
    if taken == 0.0:
        parts[5] += sign * n * least
        parts[6] += sign * n * most
        return
    parts[0] += sign * n / taken * total
    if taken < n:
        left = 1.0 - (taken - 1.0) / n
        parts[1] += sign * (n * (most - least)) ** 2 * left / taken
        second = (1.0 - phi) ** 2 * below + phi * phi * (matched - below)
        c = n * n / taken * min(1.0, n / taken - 1.0)
        parts[2] += sign * c * max(0.0, second / taken - (total / taken) ** 2)
