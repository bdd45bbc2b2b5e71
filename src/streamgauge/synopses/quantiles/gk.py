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
from streamgauge.synopses.quantiles.gk_list import absorb, compressed, fold
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

# A weight below this part of the largest ever held is what rounding leaves of nothing.
RESIDUE = 1e-12


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
    small = (0.05,)

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
    def guarantee(self) -> Guarantee:
        """Rank within `epsilon`; wider when deletions or merges made the summary coarser."""
        return Guarantee(
            "rank",
            max(self.epsilon, self.achieved),
            assumes=("rows taken back were put in before",),
            cite="GK16 thm 2",
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
        need.afford(cls.name, 16.0 / epsilon)
        spent = cls(epsilon, seed=seed)
        spent.mass = float(rows)
        size = ENTRY_BYTES * spent.most_values + spent._waiting.nbytes
        affordable(need, cls.name, size, epsilon * size / (need.memory or 1))
        return cls(epsilon, seed=seed)

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
        values, least, under, mass, filled, wrong = fold(
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
            values, least, under, mass, wrong = absorb(
                (held.values, held.at_least, held.below, held.mass),
                self._waiting[0, : self._filled],
                self._waiting[1, : self._filled],
                -1.0,
                self._grain,
            )
            whole = RankSummary(values, least, under, mass, self._grain)
            # Fractions that are put in and taken back in another order leave a trace of rounding.
            gone = mass <= RESIDUE * self.peak
            self._view = EMPTY if gone else whole, wrong
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
