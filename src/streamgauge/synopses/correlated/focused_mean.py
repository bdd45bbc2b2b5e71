"""Focused mean: the rows above, below or around the mean of x so far, from few buckets.

The mean settles: it moves by about a standard error, which shrinks. So most buckets lie within a
few standard errors of it and two wide ones cover the rest. Edges are moved when the mean comes near
the end of the fine buckets, not at every row.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.correlated.aggregate import (
    PARTITIONS,
    REALLOCATIONS,
    CorrelatedAggregate,
    refuse_small,
    refuse_unknown,
)
from streamgauge.synopses.correlated.questions import BesideMean
from streamgauge.synopses.correlated.table import (
    MEASURES,
    add,
    balance,
    build,
    exactly,
    insert,
    keep_between,
    new_table,
    read,
    replace_inner,
    spread_uniform,
)
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Trial, Values

TRIGGERS = ("cover", "lazy", "always")
LAZY, ALWAYS = 1, 2

_TRIGGER, _WHOLESALE, _QUANTILE = 0, 1, 2
N, MEAN, SQUARES, LEAST, MOST = 0, 1, 2, 3, 4
"""Rows compared, their mean, squared distances from it, least and largest of them."""


class FocusedMean(CorrelatedAggregate):
    """COUNT, SUM or AVG of y over the rows above, below or near the mean of x since the landmark.

    Parameters
    ----------
    buckets
        Buckets; the first rows, as many as buckets, are held as they are.
    spread
        Standard errors on each side of the mean that the fine buckets are to cover.
    trigger
        cover: move the fine buckets when they no longer cover that, or are four times too wide;
        lazy: when the mean leaves them; always: at every row.
    reallocation
        piecemeal: keep the edges that still serve; wholesale: move all of them.
    partition
        uniform: fine buckets of equal width; quantile: as the mean is likely to lie.
    factor, offset
        The cut is `factor * mean + offset`; the fine buckets lie around it.
    band
        Half the width of a band around the cut that the fine buckets cover as well.
    seed
        Unused; there is no chance in it.

    Examples
    --------
    >>> above = FocusedMean(buckets=10)
    >>> above.update([1.0, 2.0, 3.0, 10.0], weights=[5.0, 6.0, 7.0, 8.0])
    >>> print(above.query(BesideMean("above", of="sum")))
    8 in [8, 8], focused_mean

    References
    ----------
    GKS01: docs/references.md
    """

    name = "focused_mean"
    answers = (BesideMean,)

    def __init__(
        self,
        buckets: int = 10,
        spread: float = 3.0,
        trigger: str = "cover",
        reallocation: str = "piecemeal",
        partition: str = "uniform",
        factor: float = 1.0,
        offset: float = 0.0,
        band: float = 0.0,
        *,
        seed: int = 0,
    ) -> None:
        refuse_small(self.name, "buckets", buckets, 4)
        refuse_small(self.name, "spread", spread, 1e-3)
        refuse_unknown(self.name, "trigger", trigger, TRIGGERS)
        refuse_unknown(self.name, "reallocation", reallocation, REALLOCATIONS)
        refuse_unknown(self.name, "partition", partition, PARTITIONS)
        super().__init__(seed=seed)
        self.buckets, self.spread, self.trigger = buckets, float(spread), trigger
        self.reallocation, self.partition = reallocation, partition
        self.factor, self.offset, self.band = float(factor), float(offset), float(band)
        self._how = how_of(trigger, reallocation, partition)
        self._where = np.array([self.spread, self.factor, self.offset, self.band])
        self.edges, self.table = new_table(buckets)
        self.held = np.zeros((MEASURES, buckets))
        self.stats = np.array([0.0, 0.0, 0.0, math.inf, -math.inf])
        self.counts = np.zeros(2, np.int64)

    @property
    def parameters(self) -> Values:
        """Buckets, how wide they lie and how they move, and the cut."""
        return {
            "buckets": self.buckets,
            "spread": self.spread,
            "trigger": self.trigger,
            "reallocation": self.reallocation,
            "partition": self.partition,
            "factor": self.factor,
            "offset": self.offset,
            "band": self.band,
        }

    @property
    def guarantee(self) -> Guarantee:
        """Sure bars, whose width is known only once the rows are."""
        return Guarantee(
            "additive",
            math.inf,
            assumes=("no width is known beforehand: bars are carried along with the buckets",),
            cite="GKS01",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Only for as many rows as buckets can anything be promised beforehand."""
        question, rows = need.question, need.rows
        if (
            isinstance(question, BesideMean)
            and rows is not None
            and rows * 24 <= (need.memory or 1 << 20)
        ):
            return cls(max(rows, 4), seed=seed)
        raise ContractUnsatisfiable(
            f"{cls.name} cannot say beforehand how wide its bars will be",
            f"asked for {need.contract}, rows {rows}",
            "ask for the exact answer over a stored window, or read the bar it gives",
        )

    @classmethod
    def specimen(cls, seed: int) -> Self:
        """Eight buckets; policies change with the seed."""
        trigger = TRIGGERS[seed % 3]
        how = REALLOCATIONS[seed // 3 % 2], PARTITIONS[seed // 6 % 2]
        return cls(8, 3.0, trigger, *how, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """A mean that drifts all the time, so that edges are laid anew again and again."""
        rng = np.random.default_rng(seed)
        column = np.linspace(0.0, 100.0, 1500) + rng.exponential(10.0, 1500)
        part = ("above", "below", "within")[seed % 3]
        of = ("count", "sum", "mean")[seed // 3 % 3]
        question = BesideMean(part, band=20.0, of=of)  # type: ignore[arg-type]
        return Trial(column, question, weights=rng.normal(1.0, 2.0, len(column)))

    def _rows(self, given: Floats, times: Ints, out: Floats) -> None:
        _add_rows(
            self.edges,
            self.table,
            self.held,
            self.stats,
            self.counts,
            given,
            self._how,
            self._where,
            out,
        )

    def _totals(self, question: Any) -> Floats:
        k, n = int(self.counts[0]), int(self.counts[1])
        return answer_of(question, self.stats, self.edges, self.table, k, self.held[:, :n])

    def _state(self) -> tuple[Values, Arrays]:
        k, n = int(self.counts[0]), int(self.counts[1])
        return {}, {
            "edges": self.edges[: k + 1],
            "table": self.table[:, : k + 1],
            "held": self.held[:, :n],
            "stats": self.stats,
            "counts": self.counts,
        }

    def _restore(self, values: Values, arrays: Arrays) -> None:
        self.stats, self.counts = arrays["stats"], arrays["counts"]
        k, n = int(self.counts[0]), int(self.counts[1])
        self.edges[: k + 1], self.table[:, : k + 1] = arrays["edges"], arrays["table"]
        self.held[:, :n] = arrays["held"]

    @property
    def nbytes(self) -> int:
        """Bytes of the buckets and of the first rows."""
        return self.edges.nbytes + self.table.nbytes + self.held.nbytes

    def validate(self) -> None:
        """Edges rise; bounds hold the totals' order."""
        k = int(self.counts[0])
        assert (np.diff(self.edges[: k + 1]) >= 0).all()
        assert (self.table[1::3, : k + 1] <= self.table[2::3, : k + 1] + 1e-6).all()


def how_of(trigger: str, reallocation: str, partition: str) -> Ints:
    """The policies as numbers."""
    return np.array(
        [TRIGGERS.index(trigger), reallocation == "wholesale", partition == "quantile"], np.int64
    )


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
def _add_rows(edges, table, held, stats, counts, given, how, where, out):  # type: ignore[no-untyped-def]
    scratch = np.empty(len(edges))
    buckets = held.shape[1]
    for row in range(given.shape[1]):
        at, flags = given[0, row], int(given[3, row])
        if flags & 1:
            take_in(stats, at)
        if flags & 2:
            if counts[0] == 0 and counts[1] == buckets:
                counts[0] = begin(edges, table, held, buckets, stats, buckets, how, where, scratch)
                counts[1] = 0
            if counts[0] == 0:
                for measure in range(MEASURES):
                    held[measure, counts[1]] = given[measure, row]
                counts[1] += 1
            else:
                add(edges, table, counts[0], at, 1.0, given[1, row], given[2, row])
        if counts[0] > 0 and due(edges, counts[0], stats, how, where):
            counts[0] = refocus(edges, table, counts[0], stats, buckets, how, where, scratch)
        if len(out):
            tell_above(edges, table, counts[0], held, counts[1], stats, where, out, row)


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
