"""PolynomialDecay: a sum of rows that fade as a power of their age, from one histogram.

A fading sum is a mixture of sums over windows, one for each age at which the weight falls. One
exponential histogram bounds all of them at once, so it bounds the mixture with the same relative
error.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses.questions import Sum
from streamgauge.synopses.synopsis import Floats, Ints, Need, Trial
from streamgauge.synopses.windowed.clock import not_about
from streamgauge.synopses.windowed.eh_sum import SumLane, check_positive
from streamgauge.synopses.windowed.exponential import Exponential


class PolynomialDecay(Exponential[SumLane]):
    """Sum of numbers of 0 or more, a row of age a weighing (1 + a / unit) to the power -exponent.

    For another weight that does not rise with age ask `EhSum.decayed`.

    Parameters
    ----------
    window
        Age from which on a row weighs nothing.
    exponent
        How fast rows fade; above 0.
    unit
        Age at which a row weighs 2 to the power -exponent.
    epsilon
        Relative error.
    seed
        Not used; it cannot fail.

    Examples
    --------
    >>> fading = PolynomialDecay(window=10_000, exponent=1.0, unit=1.0, epsilon=0.1)
    >>> fading.update([6.0, 6.0], times=[0, 2])
    >>> fading.query(Sum()).value
    8.0

    References
    ----------
    CS06: docs/reference/synopses/windowed.md
    """

    name = "polynomial_decay"
    answers = (Sum,)
    takes = "numbers"
    weights = "positive"
    cite = "CS06"
    assumes = ("numbers are 0 or more",)
    small = (1000, 1.0, 5.0, 0.1)

    def __init__(
        self, window: int, exponent: float, unit: float, epsilon: float, *, seed: int = 0
    ) -> None:
        if not (exponent > 0.0 and unit > 0.0):
            raise BindError(
                "polynomial_decay needs an exponent and a unit above 0",
                f"got exponent={exponent}, unit={unit}",
                "write exponent=1.0, unit=60.0",
            )
        super().__init__(window, epsilon, seed=seed)
        self.exponent = exponent
        self.unit = unit

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Never: how rows fade is chosen, not derived."""
        raise ContractUnsatisfiable(
            "a decay is no window",
            f"asked for window={need.window}",
            "write PolynomialDecay(window=..., exponent=1.0, unit=60.0, epsilon=0.01)",
        )

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Large old rows and small new ones."""
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 10, 1500) * np.where(np.arange(1500) < 900, 50, 1)
        times = np.arange(1500, dtype=np.int64)
        return Trial(values, Sum(), times=times, now=1500 + seed % 200)

    def weights_at(self, times: Ints, now: int) -> Floats:
        """A power of the age, 0 beyond the horizon."""
        instants = np.asarray(times, np.int64)
        return np.where(instants > now - self.window, self._fading(instants, now), 0.0)

    def _fading(self, times: Ints, now: int) -> Floats:
        ages = np.maximum(now - times, 0)
        fading: Floats = (1.0 + ages / self.unit) ** -self.exponent
        return fading

    def _lane(self) -> SumLane:
        return SumLane(self.window, self.epsilon)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        instants = self._instants(times, len(column))
        values = column if weights is None else column * weights
        check_positive(self.name, values)
        self._first_lane().add(instants, np.ascontiguousarray(values))
        self.now = int(instants[-1])

    def _within(self, question: Any, window: int) -> Any:
        if window != self.window:
            raise not_about(self.name, f"a window of {window}", f"a horizon of {self.window}")
        if self.now is None:
            return self._bar(0.0, 0.0, 0.0)
        now = self.now
        found = [
            lane.decayed(lambda times: self._fading(times, now), now - window)
            for lane in self.lanes
        ]
        return self._added(found)
