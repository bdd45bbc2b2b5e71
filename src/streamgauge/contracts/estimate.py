"""Estimate: a number with its bar, before it is anybody's answer."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.contracts.answer import Charge
from streamgauge.contracts.sureness import sureness


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one piece of state says to one question.

    Parameters
    ----------
    value
        The number; NaN when there is nothing to answer from.
    low, high
        The bar: the truth lies in it with probability `confidence` at least.
    confidence
        1.0 for a bar that cannot fail.
    basis
        Name of the synopsis it was read from.
    charges
        Who widened the bar.

    Examples
    --------
    >>> print(Estimate(101.0, 100.0, 103.0, 0.95, "count_min"))
    101 in [100, 103] at 95% confidence, count_min
    """

    value: float
    low: float
    high: float
    confidence: float = 1.0
    basis: str = "exact"
    charges: tuple[Charge, ...] = ()

    def holds(self, truth: float) -> bool:
        """Whether the truth lies in the bar."""
        return self.low <= truth <= self.high

    def __str__(self) -> str:
        sure = "" if self.confidence == 1.0 else f" {sureness(self.confidence)}"
        return f"{self.value:.6g} in [{self.low:.6g}, {self.high:.6g}]{sure}, {self.basis}"


NOTHING = Estimate(float("nan"), float("-inf"), float("inf"), basis="nothing")
