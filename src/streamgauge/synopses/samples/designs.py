"""Designs: how a sample was drawn, hence what it says of all rows.

A design knows three things: how many rows (or how much weight) each sampled row stands for, the
estimated covariance of estimated totals (for bars that rest on the normal law), and limits of a
total that need no such law (for the bars of synopses).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.hashing import draws
from streamgauge.synopses.samples.features import Between, Feature
from streamgauge.synopses.samples.limits import (
    binomial_limits,
    hypergeometric_limits,
    mean_limits,
    share_limits,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_ORDER_SEED = 0x5EED_0F_0D0E


class Span(NamedTuple):
    """A total with its limits."""

    value: float
    low: float
    high: float


class Design(ABC):
    """How a sample was drawn.

    Attributes
    ----------
    mass
        Total weight of all rows: their number where they have none.
    exhaustive
        Whether the sample holds every row.
    approximate
        Whether `covariance` neglects something, and leans to the safe side.
    """

    approximate: ClassVar[bool] = False

    @property
    @abstractmethod
    def mass(self) -> float:
        """Total weight of all rows."""

    @property
    def exhaustive(self) -> bool:
        """Whether the sample holds every row."""
        return False

    @abstractmethod
    def stands_for(self, size: int) -> Floats:
        """Weight that each of `size` sampled rows stands for."""

    @abstractmethod
    def covariance(self, h: Floats) -> Floats:
        """Estimated covariance of the estimated totals of the rows of h, shape (totals, size)."""

    @abstractmethod
    def span(self, feature: Feature, values: Floats, tail: float) -> Span:
        """Total of a feature over all rows, missed on either side with chance `tail` at most."""

    def crossing(
        self, values: Floats, owed: float, tail: float
    ) -> tuple[float | None, float | None]:
        """Items between which the count of rows up to them reaches what is owed.

        The count up to the true item has limits like any other; they change at sampled items only,
        and grow with them. None where even the whole sample does not tell.
        """
        items = np.sort(values)

        def up_to(item: float) -> Span:
            return self.span(Between(-math.inf, item), values, tail)

        below = _first(items, lambda item: up_to(item).high >= owed)
        above = _first(items, lambda item: up_to(item).low >= owed)
        # Rows below the whole sample: a count of none may still hide the item.
        return None if up_to(-math.inf).high >= owed else below, above


def _first(items: Floats, reached: Callable[[float], bool]) -> float | None:
    """First of ascending items that has reached something, which all later ones have too."""
    bottom, top = 0, len(items)
    while bottom < top:
        middle = (bottom + top) // 2
        if reached(float(items[middle])):
            top = middle
        else:
            bottom = middle + 1
    return float(items[bottom]) if bottom < len(items) else None


def shuffled(h: Floats, seed: int) -> Floats:
    """The same numbers in an order that is random given which they are."""
    # Sorted first: parts merged the other way round must give the same answer.
    return np.sort(h)[shuffled_order(len(h), seed)]


def shuffled_order(n: int, seed: int) -> Ints:
    """A random order of n things, independent of the dice of samples."""
    return np.argsort(draws(seed ^ _ORDER_SEED, 0, n))


def scatter(h: Floats) -> Floats:
    """Covariance matrix of the rows of h, divided by one less than their length."""
    off = h - h.mean(axis=1, keepdims=True)
    square: Floats = off @ off.T / (h.shape[1] - 1)
    return square


def undefined(h: Floats) -> Floats:
    """A covariance that the sample cannot tell."""
    return np.full((len(h), len(h)), math.nan)


@dataclass(frozen=True, slots=True)
class Simple(Design):
    """Every set of rows of the sample's size was as likely (given its size, also Bernoulli).

    Parameters
    ----------
    n
        Rows there are.
    size
        Rows sampled.
    seed
        Of the order in which bets are placed, independent of the sample.
    """

    n: int
    size: int
    seed: int = 0

    @property
    def mass(self) -> float:
        """Rows there are."""
        return float(self.n)

    @property
    def exhaustive(self) -> bool:
        """Whether the sample holds every row."""
        return self.size == self.n

    def stands_for(self, size: int) -> Floats:
        """The expansion n / k."""
        return np.full(size, self.n / max(1, size))

    def covariance(self, h: Floats) -> Floats:
        """n^2 (1 - f) / k times the scatter of the sample, f the share sampled."""
        k = h.shape[1]
        if k < 2:
            return np.zeros((len(h), len(h))) if self.exhaustive else undefined(h)
        spread: Floats = self.n**2 * (1.0 - k / self.n) / k * scatter(h)
        return spread

    def span(self, feature: Feature, values: Floats, tail: float) -> Span:
        """Exact law of counts, betting for sums."""
        h = feature.of(values)
        if self.exhaustive:
            return Span(float(h.sum()), float(h.sum()), float(h.sum()))
        if not self.size:
            return Span(0.5 * self.n, 0.0, float(self.n))
        value = self.n * float(h.mean())
        if isinstance(feature, Between):
            low, high = hypergeometric_limits(int(h.sum()), self.size, self.n, tail)
            return Span(value, float(low), float(high))
        low, high = mean_limits(shuffled(h, self.seed), float(self.n), tail)
        return Span(value, self.n * low, self.n * high)


@dataclass(frozen=True, slots=True)
class Replaced(Design):
    """Each sampled row was drawn from all rows, independently of the others.

    Parameters
    ----------
    n
        Rows there are.
    size
        Rows sampled.
    seed
        Of the order in which bets are placed, independent of the sample.
    """

    n: int
    size: int
    seed: int = 0

    @property
    def mass(self) -> float:
        """Rows there are."""
        return float(self.n)

    @property
    def exhaustive(self) -> bool:
        """Only of one row."""
        return self.n == 1 or not self.n

    def stands_for(self, size: int) -> Floats:
        """The expansion n / k."""
        return np.full(size, self.n / max(1, size))

    def covariance(self, h: Floats) -> Floats:
        """n^2 / k times the scatter of the sample."""
        k = h.shape[1]
        return self.n**2 / k * scatter(h) if k > 1 else undefined(h)

    def span(self, feature: Feature, values: Floats, tail: float) -> Span:
        """Exact law of counts, betting for sums."""
        h = feature.of(values)
        if not self.n:
            return Span(0.0, 0.0, 0.0)
        value = self.n * float(h.mean())
        if self.n == 1:
            return Span(value, value, value)
        if isinstance(feature, Between):
            low, high = binomial_limits(int(h.sum()), self.size, tail)
            # Totals are whole; limits a rounding away from one still allow it.
            whole = math.ceil(self.n * low - 1e-6), math.floor(self.n * high + 1e-6)
            return Span(value, float(whole[0]), float(whole[1]))
        low, high = mean_limits(shuffled(h, self.seed), math.inf, tail)
        return Span(value, self.n * low, self.n * high)


@dataclass(frozen=True, slots=True)
class Unsized(Design):
    """Every set of rows was as likely, but how many rows there are is itself estimated.

    Parameters
    ----------
    n
        Estimated rows and their limits, each missed with chance `tail`.
    size
        Rows sampled.
    seed
        Of the order in which halves are cut, independent of the sample.
    """

    n: Span
    size: int
    seed: int = 0

    @property
    def mass(self) -> float:
        """Estimated rows."""
        return self.n.value

    def stands_for(self, size: int) -> Floats:
        """The expansion n / k."""
        return np.full(size, self.n.value / max(1, size))

    def covariance(self, h: Floats) -> Floats:
        """That of a known number of rows, and the error of their number (one in root k)."""
        k = h.shape[1]
        if k < 3:
            return undefined(h)
        mean = h.mean(axis=1)
        spread: Floats = self.n.value**2 * (scatter(h) / k + np.outer(mean, mean) / (k - 2))
        return spread

    def span(self, feature: Feature, values: Floats, tail: float) -> Span:
        """Limits of the share times those of the number; `tail` is for the share alone."""
        h = feature.of(values)
        share = float(h.mean())
        low, high = share_limits(share, self.size, tail)
        return Span(self.n.value * share, self.n.low * low, self.n.high * high)


@dataclass(frozen=True, slots=True)
class Known(Design):
    """Some rows are known and nothing can be said of the others.

    Parameters
    ----------
    n
        Rows there are.
    size
        Rows known.
    """

    n: int
    size: int

    @property
    def mass(self) -> float:
        """Rows there are."""
        return float(self.n)

    @property
    def exhaustive(self) -> bool:
        """Whether the sample holds every row."""
        return self.size == self.n

    def stands_for(self, size: int) -> Floats:
        """The expansion n / k, for want of better."""
        return np.full(size, self.n / max(1, size))

    def covariance(self, h: Floats) -> Floats:
        """Unknown."""
        return np.zeros((len(h), len(h))) if self.exhaustive else undefined(h)

    def span(self, feature: Feature, values: Floats, tail: float) -> Span:
        """What is known, and all or none of the rest."""
        h = feature.of(values)
        known = float(h.sum())
        value = self.n * float(h.mean()) if len(h) else 0.5 * self.n
        return Span(value, known, known + self.n - self.size)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sample and how it was drawn.

    Parameters
    ----------
    values
        Items sampled.
    design
        How.
    rows
        Number of each sampled row in the stream, from 0, where it is kept.
    """

    values: Floats
    design: Design
    rows: Ints | None = None
