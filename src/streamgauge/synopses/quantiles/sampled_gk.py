"""Greenwald-Khanna over a sample: memory that does not grow with the number of rows.

Of every stretch of rows one is drawn and stands for all of them, with their number as its weight.
The stretches double in length whenever so many were drawn, so nobody needs to know how many rows
will come, and the first rows are all there. What the drawing may have moved is bounded by
Hoeffding's inequality, what the summary of the sample hides is known exactly.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.hashing import draws
from streamgauge.synopses.quantiles.gk import Gk
from streamgauge.synopses.quantiles.rank_summary import (
    ASKED,
    EMPTY,
    RankSummary,
    affordable,
    owed,
    with_ends,
)
from streamgauge.synopses.questions import Quantile
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Synopsis, Trial, Values


class SampledGk(Synopsis):
    """Quantiles within `epsilon` of the rows but for a chance `delta`, in memory of fixed size.

    Parameters
    ----------
    epsilon
        Error in rank, as a share of the rows; half of it is for the summary.
    delta
        Chance of failure.
    seed
        Chooses the rows drawn.

    Examples
    --------
    >>> summary = SampledGk(0.1, 0.05, seed=1)
    >>> summary.update(np.arange(20_000.0))
    >>> summary.stretch
    16
    >>> summary.query(Quantile(0.5)).holds(9_999)
    True

    References
    ----------
    MRL99, GK16: docs/reference/synopses/quantiles_deterministic.md
    """

    name = "sampled_gk"
    answers = ASKED
    takes = "numbers"
    weights = "none"
    merging = "error"
    small = (0.2, 0.05)

    def __init__(self, epsilon: float, delta: float, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if not (0.0 < epsilon <= 0.5 and 0.0 < delta < 1.0):
            raise BindError(
                "sampled_gk needs an epsilon in (0, 0.5] and a delta in (0, 1)",
                f"got epsilon={epsilon}, delta={delta}",
                "write SampledGk(0.01, 0.01)",
            )
        self.epsilon, self.delta = float(epsilon), float(delta)
        self.size = math.ceil(2.0 / epsilon**2 * math.log(2.0 / (epsilon * delta)))
        self.stretch = 1
        self.ends = np.array([math.inf, -math.inf])
        self._sample = Gk(epsilon / 2.0)
        self._squares = 0.0  # sum of the squared lengths of all stretches drawn from
        self._lost = 0  # rows of stretches that a merge cut short
        self._taken = 0  # stretches of the present length
        self._number = 0  # of the next draw
        self._begun = 0  # rows of the stretch under way
        self._drawn = 0.0

    @property
    def guarantee(self) -> Guarantee:
        """Rank within `epsilon` except with chance `delta`; certain while every row is drawn."""
        chance = self.delta if self._squares else 0.0
        # Merging adds deviations, which single draws would not.
        wide = max(self.epsilon, self.summary.precision) if self.rows else self.epsilon
        return Guarantee("rank", wide, chance, ("seed independent of the data",), "MRL99")

    @property
    def deviation(self) -> float:
        """Rows by which drawing moves a rank, but for the chance `delta`."""
        return math.sqrt(self._squares * math.log(2.0 / self.delta) / 2.0)

    @property
    def nbytes(self) -> int:
        """Bytes of the summary of the sample."""
        return self._sample.nbytes + 64

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Error and chance from the contract."""
        epsilon = owed(need, cls.name, sure=False)
        need.afford(cls.name, 32.0 / epsilon)
        new = cls(epsilon, 1.0 - need.contract.confidence, seed=seed)
        model = Gk(epsilon / 2.0)
        model.mass = 64.0 * new.size
        size = 24.0 * model.most_values
        affordable(need, cls.name, size, epsilon * size / (need.memory or 1))
        return new

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Two items in turn: whether a draw counts is as uncertain as can be."""
        return Trial(np.tile([0.0, 1.0], 6000), Quantile(0.5))

    @property
    def summary(self) -> RankSummary:
        """All rows so far as a rank summary, right but for the chance `delta`."""
        if not self.rows:
            return EMPTY
        drawn, missing = self._sample.summary, self._lost + self._begun
        mass = drawn.mass + missing
        return with_ends(
            RankSummary(
                drawn.values,
                np.maximum(0.0, drawn.at_least - self.deviation),
                np.minimum(mass, drawn.below + self.deviation + missing),
                mass,
            ),
            self.ends,
        )

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        self.ends[0] = min(self.ends[0], column.min())
        self.ends[1] = max(self.ends[1], column.max())
        start = 0
        while start < len(column):
            room = (self.size - self._taken) * self.stretch - self._begun
            stop = min(len(column), start + room)
            self._draw(column[start:stop])
            start = stop
            if self._taken == self.size:
                self.stretch *= 2
                self._taken = 0

    def _draw(self, rows: Floats) -> None:
        """Draw one row of each stretch of the present length; the last may go on later."""
        length, before = self.stretch, self._begun
        done, self._begun = divmod(before + len(rows), length)
        stretches = np.arange(done + 1)
        offsets = np.floor(draws(self.seed, self._number, done + 1) * length).astype(np.int64)
        places = stretches * length + offsets - before
        here = (places >= 0) & (places < len(rows))
        values = np.full(done + 1, self._drawn)
        values[here] = rows[places[here]]
        if done:
            self._sample.update(values[:done], np.full(done, float(length)))
        self._drawn = float(values[done])
        self._taken += done
        self._number += done
        self._squares += done * float(length) ** 2 if length > 1 else 0.0

    def _merge(self, other: Self) -> None:
        if not other.rows:
            return
        self._sample.merge(other._sample)
        # Parts of one seed draw alike, so their deviations may add up in full.
        self._squares = (math.sqrt(self._squares) + math.sqrt(other._squares)) ** 2
        self._lost += other._lost + other._begun + self._begun
        self._taken = self._taken if self.stretch >= other.stretch else other._taken
        self.stretch = max(self.stretch, other.stretch)
        self._number = max(self._number, other._number) + 1
        self._begun, self._drawn = 0, 0.0
        self.ends = np.array([min(self.ends[0], other.ends[0]), max(self.ends[1], other.ends[1])])

    def _answer(self, question: Any) -> Any:
        value, low, high = self.summary.ask(question)
        if math.isnan(value):
            return Estimate(value, low, high, basis=self.name)
        return self._bar(value, low, high, self.delta if self._squares and high > low else 0.0)

    def _save(self) -> tuple[Values, Arrays]:
        inner, arrays = self._sample._save()
        own = {
            "sample": inner,
            "counts": [self._sample.rows, self._sample.mass],
            "stretch": self.stretch,
            "squares": self._squares,
            "places": [self._lost, self._taken, self._number, self._begun],
            "drawn": self._drawn,
        }
        return own, {**arrays, "ends": self.ends}

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.ends = arrays.pop("ends")
        self._sample._load(values["sample"], arrays)
        self._sample.rows, self._sample.mass = values["counts"]
        self.stretch, self._squares = values["stretch"], values["squares"]
        self._lost, self._taken, self._number, self._begun = values["places"]
        self._drawn = values["drawn"]

    def validate(self) -> None:
        """Every row is stood for once."""
        assert self._sample.mass + self._lost + self._begun == self.rows
        self._sample.validate()
