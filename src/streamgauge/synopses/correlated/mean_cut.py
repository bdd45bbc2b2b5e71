"""Mean cut: rows above, below or around the mean of x, of whichever rows are in scope.

The mean moves, and so does the cut at it. Fine buckets lie around the cut as far as it is likely to
move, two wide ones cover the rest; a trigger says when the fine ones are laid anew.
"""

from __future__ import annotations

import math

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.correlated.aggregate import (
    CorrelatedAggregate,
    refuse_small,
    refuse_unknown,
)
from streamgauge.synopses.correlated.questions import BesideMean
from streamgauge.synopses.correlated.table import (
    MEASURES,
    balance,
    build,
    exactly,
    insert,
    keep_between,
    read,
    replace_inner,
    spread_uniform,
)
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Values

TRIGGERS = ("cover", "lazy", "always")
LAZY, ALWAYS = 1, 2

_TRIGGER, _WHOLESALE, _QUANTILE = 0, 1, 2
N, MEAN, SQUARES, LEAST, MOST = 0, 1, 2, 3, 4
"""Rows compared, their mean, squared distances from it, least and largest of them."""


class MeanCut(CorrelatedAggregate):
    """An aggregate over the rows on one side of the mean, or near it."""

    answers = (BesideMean,)

    spread: float
    trigger: str
    stats: Floats
    _how: Ints

    def _watch(self, spread: float, trigger: str) -> None:
        """Choose how far from the mean fine buckets lie and when they move."""
        refuse_small(self.name, "spread", spread, 1e-3)
        refuse_unknown(self.name, "trigger", trigger, TRIGGERS)
        self.spread, self.trigger = float(spread), trigger
        wholesale, quantile = self.reallocation == "wholesale", self.partition == "quantile"
        self._how = np.array([TRIGGERS.index(trigger), wholesale, quantile], np.int64)
        self.stats = np.array([0.0, 0.0, 0.0, math.inf, -math.inf])

    def _restore(self, values: Values, arrays: Arrays) -> None:
        super()._restore(values, arrays)
        self.stats = arrays["stats"]


def answer_of(
    question: BesideMean, stats: Floats, edges: Floats, table: Floats, k: int, held: Floats
) -> Floats:
    """Totals of the rows a question is about, from buckets, or from rows where there are none."""
    if not stats[N]:
        return np.zeros(3 * MEASURES)
    cut, blur = (float(number) for number in cut_of(stats, question.factor, question.offset))
    if question.part == "within":
        below = below_of(edges, table, k, held, cut - question.band, blur, False)
        upper = below_of(edges, table, k, held, cut + question.band, blur, True)
        return _less(upper, below)
    below = below_of(edges, table, k, held, cut, blur, True)
    if question.part == "below":
        return below
    every = below_of(edges, table, k, held, math.inf, 0.0, False)
    return _less(every, below)


def below_of(
    edges: Floats, table: Floats, k: int, held: Floats, cut: float, blur: float, strict: bool
) -> Floats:
    """Totals below a cut that is known but for its rounding."""
    out = np.empty(3 * MEASURES)
    _below(edges, table, k, held, held.shape[1], cut, blur, strict, out)
    return out


def _less(more: Floats, less: Floats) -> Floats:
    """Totals of the rows in one set but not in another inside it."""
    out = np.empty(3 * MEASURES)
    out[::3] = more[::3] - less[::3]
    out[1::3] = np.maximum(more[1::3] - less[2::3], 0.0)
    out[2::3] = more[2::3] - less[1::3]
    return out


@compiled
def cut_of(stats, factor, offset):  # type: ignore[no-untyped-def]
    """The cut at the mean, and how much rounding may have moved it."""
    if stats[LEAST] == stats[MOST]:
        return factor * stats[LEAST] + offset, 0.0
    size = max(abs(stats[LEAST]), abs(stats[MOST]))
    rounding = 1e-15 * (stats[N] + 16.0)
    return factor * stats[MEAN] + offset, rounding * (abs(factor) * size + abs(offset))


@compiled
def _below(edges, table, k, held, n, cut, blur, strict, out):  # type: ignore[no-untyped-def]
    if k > 0:
        read(edges, table, k, cut, strict, out)
        if blur > 0.0:
            end = np.empty(3 * MEASURES)
            read(edges, table, k, cut - blur, True, end)
            for row in range(1, 3 * MEASURES, 3):
                out[row] = end[row]
            read(edges, table, k, cut + blur, False, end)
            for row in range(2, 3 * MEASURES, 3):
                out[row] = end[row]
        return
    for row in range(3 * MEASURES):
        out[row] = 0.0
    for i in range(n):
        for kind in range(3):
            place = cut + (kind == 2) * blur - (kind == 1) * blur
            inside = held[0, i] < place or (held[0, i] == place and not strict)
            if inside or (kind == 2 and blur > 0.0 and held[0, i] <= place):
                out[kind] += 1.0
                out[3 + kind] += held[1, i]
                out[6 + kind] += held[2, i]


@compiled
def tell_above(edges, table, k, held, n, stats, where, out, row):  # type: ignore[no-untyped-def]
    """Write the totals of the rows at the cut or above it."""
    if stats[N] < 1.0:
        for place in range(3 * MEASURES):
            out[row, place] = 0.0
        return
    cut, blur = cut_of(stats, where[1], where[2])
    below, every = np.empty(3 * MEASURES), np.empty(3 * MEASURES)
    _below(edges, table, k, held, n, cut, blur, True, below)
    _below(edges, table, k, held, n, np.inf, 0.0, False, every)
    for measure in range(0, 3 * MEASURES, 3):
        out[row, measure] = every[measure] - below[measure]
        out[row, measure + 1] = max(every[measure + 1] - below[measure + 2], 0.0)
        out[row, measure + 2] = every[measure + 2] - below[measure + 1]


@compiled
def take_in(stats, at):  # type: ignore[no-untyped-def]
    """One more row in the mean."""
    stats[N] += 1.0
    off = at - stats[MEAN]
    stats[MEAN] += off / stats[N]
    stats[SQUARES] += off * (at - stats[MEAN])
    stats[LEAST] = min(stats[LEAST], at)
    stats[MOST] = max(stats[MOST], at)


@compiled
def begin(edges, table, rows, n, stats, buckets, how, where, scratch):  # type: ignore[no-untyped-def]
    """Lay the first buckets, whose totals are exact."""
    k = build(edges, table, rows, n, np.inf, -np.inf)
    k = refocus(edges, table, k, stats, buckets, how, where, scratch)
    exactly(edges, table, k, rows, n)
    return k


@compiled
def due(edges, k, stats, how, where):  # type: ignore[no-untyped-def]
    """Whether the fine buckets are to be moved."""
    spread, factor, offset, band = where[0], where[1], where[2], where[3]
    if stats[N] < 1.0:
        return False
    if how[_TRIGGER] == ALWAYS or k < 3:
        return True
    cut = factor * stats[MEAN] + offset
    low, high = edges[1], edges[k - 1]
    if how[_TRIGGER] == LAZY:
        return not low <= max(cut - band, edges[0]) or not min(cut + band, edges[k]) <= high
    half = abs(factor) * spread * math.sqrt(max(stats[SQUARES], 0.0)) / stats[N] + band
    ends_inside = low <= max(cut - half, edges[0]) and min(cut + half, edges[k]) <= high
    return not ends_inside or high - low > 8.0 * half


@compiled
def refocus(edges, table, k, stats, buckets, how, where, scratch):  # type: ignore[no-untyped-def]
    """Lay the fine buckets around the cut."""
    spread, factor, offset, band = where[0], where[1], where[2], where[3]
    if stats[N] < 1.0:
        return k
    cut = factor * stats[MEAN] + offset
    error = abs(factor) * math.sqrt(max(stats[SQUARES], 0.0)) / stats[N]
    half = spread * error + band
    low, high = max(cut - half, edges[0]), min(cut + half, edges[k])
    if not low < high:
        return k
    if how[_WHOLESALE] and how[_QUANTILE]:
        for i in range(buckets - 1):
            scratch[i] = cut + half * _normal((i + 1.0) / buckets) / 2.0
        return replace_inner(edges, table, k, scratch, buckets - 1)
    if how[_WHOLESALE]:
        return spread_uniform(edges, table, k, buckets - 2, low, high, scratch)
    k = insert(edges, table, k, low)
    k = insert(edges, table, k, high)
    k = keep_between(edges, table, k, low, high)
    return balance(edges, table, k, buckets, low, high, how[_QUANTILE] == 1)


@compiled
def _normal(share):  # type: ignore[no-untyped-def]
    """Quantile of the normal law, to four digits (Abramowitz and Stegun 26.2.23)."""
    tail = min(share, 1.0 - share)
    t = math.sqrt(-2.0 * math.log(tail))
    top = 2.515517 + 0.802853 * t + 0.010328 * t * t
    value = t - top / (1.0 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t**3)
    return value if share > 0.5 else -value
