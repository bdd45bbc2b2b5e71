"""Greenwald-Khanna: any quantile within a fixed share of the rows, never more, whatever the order.

A sorted list of values with bounds on their ranks. Rows wait in a small buffer; a full buffer is
sorted and added to the list, then neighbours are dropped where the gap stays within the error.
Rows can be taken back: the bars then stay right, and the precision that is really achieved is told.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.quantiles.rank_summary import (
    ASKED,
    EMPTY,
    ENTRY_BYTES,
    RankSummary,
    affordable,
    combine,
    owed,
    thin,
)
from streamgauge.synopses.questions import Quantile
from streamgauge.synopses.synopsis import (
    Arrays,
    Coarsening,
    Floats,
    Ints,
    Need,
    Synopsis,
    Trial,
    Values,
)


class Gk(Synopsis, Coarsening):
    """Quantiles and ranks within `epsilon` of the rows, for certain.

    Parameters
    ----------
    epsilon
        Error in rank, as a share of the weight; below 0.5.
    least_kept
        Where rows are taken back: the share of the largest weight ever held that always stays. The
        list is kept finer by this factor, so that `epsilon` holds throughout; 1 with no deletions.
    seed
        Not used: nothing here is random.

    Examples
    --------
    >>> summary = Gk(0.01)
    >>> summary.update(np.arange(10_000.0))
    >>> bar = summary.query(Quantile(0.5))
    >>> bar.low <= 4999 <= bar.high, bar.confidence
    (True, 1.0)
    >>> summary.achieved <= 0.01, summary.nbytes < 10_000
    (True, True)
    >>> summary.update([9_999.0], weights=[-1.0])

    References
    ----------
    GK01, GK16: docs/reference/synopses/quantiles_deterministic.md
    """

    name = "gk"
    answers = ASKED
    takes = "numbers"
    weights = "strict"
    merging = "error"

    def __init__(self, epsilon: float, least_kept: float = 1.0, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if not (0.0 < epsilon <= 0.5 and 0.0 < least_kept <= 1.0):
            raise BindError(
                "gk needs an epsilon in (0, 0.5] and a least_kept in (0, 1]",
                f"got epsilon={epsilon}, least_kept={least_kept}",
                "write Gk(0.01)",
            )
        self.epsilon = float(epsilon)
        self.least_kept = float(least_kept)
        self.peak = 0.0
        self._wrong = False
        self._list = EMPTY
        size = max(64, math.ceil(0.5 / (epsilon * least_kept)))
        self._waiting = np.empty((2, size))
        self._filled = 0
        self._grain = 1.0
        self._view: tuple[RankSummary, bool] | None = None

    @property
    def parameters(self) -> Values:
        """Error and least share kept."""
        return {"epsilon": self.epsilon, "least_kept": self.least_kept}

    @property
    def guarantee(self) -> Guarantee:
        """Rank within `epsilon`; wider when deletions or merges made the summary coarser."""
        return Guarantee(
            "rank",
            max(self.epsilon, self.achieved),
            assumes=("rows taken back were put in before",),
            cite="GK01 thm 2",
        )

    @property
    def summary(self) -> RankSummary:
        """All rows so far as a rank summary."""
        return self._absorbed()[0]

    @property
    def achieved(self) -> float:
        """The precision really achieved: half the largest gap, as a share of the weight."""
        return self.summary.precision

    @property
    def contradicted(self) -> bool:
        """Whether more was taken back than was put in, as far as it shows; bars are then void."""
        return self._wrong or self._absorbed()[1]

    @property
    def alarm(self) -> bool:
        """Whether deletions or merges made it coarser than `epsilon`, or took back too much."""
        return self.contradicted or self.achieved > self.epsilon

    @property
    def most_values(self) -> float:
        """The proved bound on the number of values held."""
        fine = self.epsilon * self.least_kept
        return 11.0 / (2.0 * fine) * math.log2(max(4.0, 2.0 * fine * self.mass))

    @property
    def nbytes(self) -> int:
        """Bytes of the list and of the buffer."""
        return ENTRY_BYTES * len(self._list) + self._waiting.nbytes

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The tolerance in rank is `epsilon`; no deletions, for which there is no bound."""
        epsilon = owed(need, cls.name, sure=True)
        if need.deletions:
            raise ContractUnsatisfiable(
                "gk cannot promise a precision when rows are taken back",
                f"asked for {need.contract} with deletions",
                "use dyadic_count_min over a known universe, or Gk(epsilon, least_kept=...)",
            )
        rows = need.rows or 1 << 32
        spent = cls(epsilon, seed=seed)
        spent.mass = float(rows)
        size = ENTRY_BYTES * spent.most_values + spent._waiting.nbytes
        affordable(need, cls.name, size, epsilon * size / (need.memory or 1))
        return cls(epsilon, seed=seed)

    @classmethod
    def specimen(cls, seed: int) -> Self:
        """A twentieth of the rows."""
        return cls(0.05, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Extremes that close in on the middle: every new row falls into the widest gap."""
        steps = np.arange(1500.0)
        rows = np.stack([steps, 4000.0 + seed - steps], axis=1).ravel()
        return Trial(rows, Quantile(0.5))

    def coarsened(self) -> Self:
        """One of twice the error, with about half the values."""
        new = type(self)(min(0.5, 2.0 * self.epsilon), self.least_kept, seed=self.seed)
        new.rows, new.mass, new.skipped = self.rows, self.mass, self.skipped
        new.peak, new._wrong, new._grain = self.peak, self.contradicted, self._grain
        new._list = thin(self._list, new._allowed(self._list.mass) - self._grain)
        waiting = self._waiting[:, : self._filled]
        if self._filled:
            new._add(waiting[0], waiting[1], None)
        return new

    def _allowed(self, mass: float) -> float:
        """Most that g + Delta may come to."""
        return 2.0 * self.epsilon * self.least_kept * mass

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        weight = np.ones(len(column)) if weights is None else weights
        if self._grain and weights is not None and not bool((weight == np.floor(weight)).all()):
            self._grain = 0.0
        self.peak = max(self.peak, self.mass)
        self._view = None
        held = self._list
        values, least, under, mass, filled, wrong = _fold(
            (held.values, held.at_least, held.below, held.mass),
            self._waiting,
            self._filled,
            np.ascontiguousarray(column),
            np.ascontiguousarray(weight),
            self._allowed(1.0),
            self._grain,
        )
        self._list = RankSummary(values, least, under, mass, self._grain)
        self._filled = filled
        self._wrong |= wrong

    def _absorbed(self) -> tuple[RankSummary, bool]:
        """The list with what waits, not compressed, and whether it contradicts itself."""
        if self._view is None:
            held = self._list
            values, least, under, mass, wrong = _absorb(
                (held.values, held.at_least, held.below, held.mass),
                self._waiting[0, : self._filled],
                self._waiting[1, : self._filled],
                -1.0,
                self._grain,
            )
            self._view = RankSummary(values, least, under, mass, self._grain), wrong
        return self._view

    def _merge(self, other: Self) -> None:
        self.peak += other.peak
        self._wrong = self.contradicted or other.contradicted
        self._grain = min(self._grain, other._grain)
        if not (len(other._list) or other._filled):
            return
        both = combine(self.summary, other.summary)
        self._list = compressed(both, self._allowed(both.mass))
        # Combining costs no precision but adds up values; past the bound of one pass they go.
        limit = 11.0 / (2.0 * self._allowed(0.5)) * math.log2(max(4.0, self._allowed(both.mass)))
        if len(self._list) > limit:
            spare = 2.0 * both.mass / limit
            self._list = thin(self._list, self._list.gap + spare)
        self._filled = 0
        self._view = None

    def _answer(self, question: Any) -> Any:
        value, low, high = self.summary.ask(question)
        if self.contradicted:
            low, high = -math.inf, math.inf
        if math.isnan(value):
            return Estimate(value, low, high, basis=self.name)
        return self._bar(value, low, high, 0.0)

    def _save(self) -> tuple[Values, Arrays]:
        held = self._list
        own = {
            "peak": self.peak,
            "wrong": self._wrong,
            "grain": self._grain,
            "mass": held.mass,
        }
        return own, {
            "values": held.values,
            "at_least": held.at_least,
            "below": held.below,
            "waiting": self._waiting[:, : self._filled],
        }

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.peak = values["peak"]
        self._wrong = values["wrong"]
        self._grain = values["grain"]
        self._list = RankSummary(
            arrays["values"], arrays["at_least"], arrays["below"], values["mass"], self._grain
        )
        self._filled = arrays["waiting"].shape[1]
        self._waiting[:, : self._filled] = arrays["waiting"]

    def validate(self) -> None:
        """Values rise, bounds do not fall, and no gap hides more than is allowed of the peak."""
        held = self._list
        assert bool((np.diff(held.values) > 0).all())
        assert bool((np.diff(held.at_least) >= 0).all() and (np.diff(held.below) >= 0).all())


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
    values, least, under, mass, _ = _absorb(
        (summary.values, summary.at_least, summary.below, summary.mass),
        rows,
        np.ones(len(rows)),
        share,
        1.0,
    )
    return RankSummary(values, least, under, mass)


@compiled
def _fold(held, waiting, filled, column, weights, share, grain):  # type: ignore[no-untyped-def]
    """Put rows into the buffer, in order; a full buffer is absorbed and the list compressed."""
    values, at_least, below, mass = held
    room = waiting.shape[1]
    wrong = False
    for i in range(len(column)):
        waiting[0, filled] = column[i]
        waiting[1, filled] = weights[i]
        filled += 1
        if filled == room:
            values, at_least, below, mass, bad = _absorb(
                (values, at_least, below, mass), waiting[0], waiting[1], share, grain
            )
            wrong |= bad
            filled = 0
    return values, at_least, below, mass, filled, wrong


@compiled
def _absorb(held, rows, weights, share, grain):  # type: ignore[no-untyped-def]
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
