"""Exponential: what exponential histograms of one value have in common.

Buckets grow with their age, so the one across the edge of a window is small against what is newer.
A kind says what its buckets hold (its lane); the error is a share of the value, and never fails.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.synopses.synopsis import Need
from streamgauge.synopses.windowed.clock import (
    L,
    Laned,
    check_epsilon,
    relative_error,
    window_of,
)


class Exponential(Laned[L]):
    """A value of the last `window` within `epsilon` of itself.

    Parameters
    ----------
    window
        Longest window that can be asked for, in the unit of the times.
    epsilon
        Relative error.
    seed
        As for every synopsis.
    """

    cite: ClassVar[str]
    assumes: ClassVar[tuple[str, ...]] = ()
    small: ClassVar[tuple[Any, ...]] = (500, 0.1)

    def __init__(self, window: int, epsilon: float, *, seed: int = 0) -> None:
        check_epsilon(self.name, epsilon)
        super().__init__(window, seed=seed)
        self.epsilon = epsilon

    @property
    def guarantee(self) -> Guarantee:
        """Off by `epsilon` of the value at most, always."""
        return Guarantee("relative", self.epsilon, assumes=self.assumes, cite=self.cite)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The error that is allowed, over the window that is asked for."""
        window = window_of(cls.name, need)
        return cls(window, relative_error(cls.name, need.contract), seed=seed)
