"""Decay: count, sum, mean and variance of rows that fade by half every half-life.

Four numbers and a time. All rows fade at the same rate, so what is held fades as one, over gaps of
any length, and parts merge exactly.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from streamgauge.contracts.guarantee import EXACT, Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses.questions import Count, Mean, Sum, Variance
from streamgauge.synopses.synopsis import Floats, Ints, Need, Trial
from streamgauge.synopses.windowed.clock import Timed


class Decay(Timed):
    """Moments of numbers, each row weighing half as much after every `half_life`.

    Rows may come in any order: one that is late weighs what it would weigh now.

    Parameters
    ----------
    half_life
        Time after which a row counts half, in the unit of the times.
    seed
        Not used; it is exact.

    Examples
    --------
    >>> fading = Decay(half_life=10)
    >>> fading.update([8.0, 4.0], times=[0, 10])
    >>> fading.query(Sum()).value, fading.query(Count()).value
    (8.0, 1.5)
    >>> fading.advance(20)
    >>> fading.query(Sum()).value, round(fading.query(Mean()).value, 3)
    (4.0, 5.333)

    References
    ----------
    CS06: docs/reference/synopses/windowed.md
    """

    name = "decay"
    answers = (Count, Sum, Mean, Variance)
    takes = "numbers"
    weights = "positive"
    merging = "exact"
    fields = ("now", "moments")
    small = (50.0,)

    def __init__(self, half_life: float, *, seed: int = 0) -> None:
        if not half_life > 0.0:
            raise BindError(
                "decay needs a half-life above 0", f"got {half_life}", "write half_life=3600"
            )
        super().__init__(seed=seed)
        self.half_life = half_life
        # Weight, sum, mean, weighted squared distances from the mean; all as of `now`.
        self.moments = np.zeros(4)

    @classmethod
    def ageing(cls, rate: float) -> Self:
        """The decay of a moving average that takes a share `rate` of each new row."""
        return cls(math.log(2.0) / -math.log1p(-rate))

    @property
    def guarantee(self) -> Guarantee:
        """Exact, up to the rounding of floats."""
        return EXACT

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Never: a half-life is chosen, not derived."""
        raise ContractUnsatisfiable(
            "a decay is no window", f"asked for window={need.window}", "write Decay(half_life=...)"
        )

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Irregular gaps."""
        rng = np.random.default_rng(seed)
        times = np.cumsum(rng.choice([0, 1, 1, 90], 300)).astype(np.int64)
        return Trial(rng.normal(5.0, 3.0, 300), Variance(), times=times, now=int(times[-1]) + 7)

    def _moved(self, before: int) -> None:
        assert self.now is not None
        self.moments[[0, 1, 3]] *= 0.5 ** ((self.now - before) / self.half_life)

    def weights_at(self, times: Ints, now: int) -> Floats:
        """Halves per half-life of age."""
        fading: Floats = 0.5 ** ((now - np.asarray(times, np.int64)) / self.half_life)
        return fading

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        if not np.isfinite(column).all():
            raise BindError(
                "decay takes finite numbers",
                f"{int((~np.isfinite(column)).sum())} of {len(column)} are not",
                "leave infinities out",
            )
        instants = self._numbered(times, len(column))
        newest = int(instants.max())
        now = newest if self.now is None else max(self.now, newest)
        self.advance(now)
        fading = self.weights_at(instants, now)
        self._put(_moments(column, fading if weights is None else fading * weights))

    def _put(self, more: Floats) -> None:
        weight, total, mean, squares = self.moments
        both = weight + more[0]
        if both > 0.0 and more[0] > 0.0:
            step = more[2] - mean
            squares += more[3] + step * step * weight * (more[0] / both)
            mean = mean + step * (more[0] / both)
        self.moments = np.array([both, total + more[1], mean, squares])

    def _merge(self, other: Self) -> None:
        if other.now is None:
            return
        self.advance(other.now if self.now is None else max(self.now, other.now))
        assert self.now is not None
        more = other.moments.copy()
        more[[0, 1, 3]] *= 0.5 ** ((self.now - other.now) / self.half_life)
        self._put(more)

    def _answer(self, question: Any) -> Any:
        weight, total, mean, squares = self.moments.tolist()
        if isinstance(question, Count | Sum):
            value = weight if isinstance(question, Count) else total
        elif not weight:
            return self._bar(math.nan, -math.inf, math.inf)
        else:
            value = mean if isinstance(question, Mean) else squares / weight
        return self._bar(value, value, value)

    def validate(self) -> None:
        """Weight and squares are 0 or more."""
        assert self.moments[0] >= 0.0
        assert self.moments[3] >= 0.0


def _moments(column: Floats, weights: Floats) -> Floats:
    mass = float(weights.sum())
    if not mass:
        return np.zeros(4)
    total = float((column * weights).sum())
    mean = total / mass
    return np.array([mass, total, mean, float((weights * (column - mean) ** 2).sum())])
