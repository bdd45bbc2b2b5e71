"""Features: what is added up over rows, scaled to [0, 1], with its range over an interval."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Feature(ABC):
    """A function of an item with values in [0, 1]."""

    @abstractmethod
    def of(self, values: Floats) -> Floats:
        """Its values."""

    @abstractmethod
    def least(self, low: Floats, high: Floats) -> Floats:
        """Its smallest possible value over items in [low, high]."""

    @abstractmethod
    def most(self, low: Floats, high: Floats) -> Floats:
        """Its largest possible value over items in [low, high]."""


@dataclass(frozen=True, slots=True)
class Between(Feature):
    """Whether an item lies between two, both included.

    >>> Between(2.0, 3.0).of(np.array([1.0, 2.0, 3.5]))
    array([0., 1., 0.])
    """

    start: float
    stop: float

    def of(self, values: Floats) -> Floats:
        """One within, zero without."""
        return ((values >= self.start) & (values <= self.stop)).astype(np.float64)

    def least(self, low: Floats, high: Floats) -> Floats:
        """One when the whole interval is within."""
        return ((low >= self.start) & (high <= self.stop)).astype(np.float64)

    def most(self, low: Floats, high: Floats) -> Floats:
        """One when they meet."""
        return ((high >= self.start) & (low <= self.stop)).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Scaled(Feature):
    """An item's place between the smallest and the largest.

    >>> Scaled(0.0, 10.0).of(np.array([5.0]))
    array([0.5])
    """

    low: float
    high: float

    def of(self, values: Floats) -> Floats:
        """Zero for the smallest, one for the largest."""
        place: Floats = np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)
        return place

    def least(self, low: Floats, high: Floats) -> Floats:
        """The place of the lower end."""
        return self.of(low)

    def most(self, low: Floats, high: Floats) -> Floats:
        """The place of the upper end."""
        return self.of(high)
