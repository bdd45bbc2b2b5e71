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


def _undefined(h: Floats) -> Floats:
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
            return np.zeros((len(h), len(h))) if self.exhaustive else _undefined(h)
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
        return self.n**2 / k * scatter(h) if k > 1 else _undefined(h)

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
            return _undefined(h)
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
class Stratified(Design):
    """Rows came in strata, each sampled on its own.

    Parameters
    ----------
    stratum
        Stratum of each sampled row.
    sizes
        Rows in each stratum.
    lows, highs
        Smallest and largest item that a stratum can hold.
    """

    stratum: Ints
    sizes: Ints
    lows: Floats
    highs: Floats

    @property
    def mass(self) -> float:
        """Rows there are."""
        return float(self.sizes.sum())

    @property
    def taken(self) -> Ints:
        """Rows sampled in each stratum."""
        return np.bincount(self.stratum, minlength=len(self.sizes))

    @property
    def exhaustive(self) -> bool:
        """Whether the sample holds every row."""
        return bool((self.taken == self.sizes).all())

    def stands_for(self, size: int) -> Floats:
        """Rows of the stratum over rows sampled there."""
        weights: Floats = (self.sizes / np.maximum(1, self.taken))[self.stratum]
        return weights

    def covariance(self, h: Floats) -> Floats:
        """Sum over the strata of m^2 (1 - f) / r times the scatter within."""
        total = np.zeros((len(h), len(h)))
        for j, (m, r) in enumerate(zip(self.sizes, self.taken, strict=True)):
            if r == m:
                continue
            if r < 2:
                return _undefined(h)
            total += m**2 * (1.0 - r / m) / r * scatter(h[:, self.stratum == j])
        return total

    def span(self, feature: Feature, values: Floats, tail: float) -> Span:
        """Hoeffding's and Serfling's bound over strata, each with its own range."""
        known = np.bincount(self.stratum, feature.of(values), minlength=len(self.sizes))
        least, most = feature.least(self.lows, self.highs), feature.most(self.lows, self.highs)
        value, low, high = self._spans(known[None], least[None], most[None], tail)
        return Span(float(value[0]), float(low[0]), float(high[0]))

    def _spans(
        self, known: Floats, least: Floats, most: Floats, tail: float
    ) -> tuple[Floats, Floats, Floats]:
        """Totals and limits from sums over sampled rows and the range of each stratum, by row."""
        taken = self.taken
        unseen = taken == 0
        guess = np.where(unseen, 0.5 * (least + most), known / np.maximum(1, taken))
        value = (self.sizes * guess).sum(axis=1)
        left = np.where(taken < self.sizes, 1.0 - (taken - 1.0) / np.maximum(1, self.sizes), 0.0)
        squares = self.sizes**2 * (most - least) ** 2 * left / np.maximum(1, taken)
        width = np.sqrt(-0.5 * math.log(tail) * squares[:, ~unseen].sum(axis=1))
        width += 0.5 * (self.sizes * (most - least))[:, unseen].sum(axis=1)
        rest = self.sizes - taken
        low = np.maximum(value - width, (known + rest * least).sum(axis=1))
        high = np.minimum(value + width, (known + rest * most).sum(axis=1))
        return value, low, high

    def crossing(
        self, values: Floats, owed: float, tail: float
    ) -> tuple[float | None, float | None]:
        """As for any design, but limits change at the ends of strata too, and may fall there."""
        points = np.unique(np.concatenate([values, self.lows, self.highs]))
        order = np.argsort(values, kind="stable")
        # Rows sampled of each stratum among the first so many of the sorted sample.
        among = np.zeros((len(values) + 1, len(self.sizes)))
        among[np.arange(1, len(values) + 1), self.stratum[order]] = 1.0
        known = among.cumsum(axis=0)[np.searchsorted(values[order], points, side="right")]
        least = (self.highs <= points[:, None]).astype(np.float64)
        most = (self.lows <= points[:, None]).astype(np.float64)
        _, low, high = self._spans(known, least, most, tail)
        reached, short = high >= owed, low < owed
        below = float(points[int(reached.argmax())]) if reached.any() else None
        after = len(points) - int(short[::-1].argmax()) if short.any() else 0
        return below, float(points[after]) if after < len(points) else None


@dataclass(frozen=True, slots=True)
class Clusters(Design):
    """Some of the classes of rows were taken whole: every set of that many classes as likely.

    Parameters
    ----------
    cluster
        Class of each sampled row, 0 to `taken`.
    taken
        Classes taken.
    classes
        Classes there are.
    n
        Rows there are.
    seed
        Of the order in which bets are placed, independent of the sample.
    """

    cluster: Ints
    taken: int
    classes: int
    n: int
    seed: int = 0

    @property
    def mass(self) -> float:
        """Rows there are."""
        return float(self.n)

    @property
    def exhaustive(self) -> bool:
        """Whether the sample holds every row."""
        return len(self.cluster) == self.n

    def stands_for(self, size: int) -> Floats:
        """Classes there are over classes taken."""
        return np.full(size, self.classes / self.taken)

    def covariance(self, h: Floats) -> Floats:
        """That of a simple sample of the totals of classes; unknown from one class."""
        rows = [np.bincount(self.cluster, row, minlength=self.taken) for row in h]
        totals: Floats = np.stack(rows).astype(np.float64)
        return Simple(self.classes, self.taken).covariance(totals)

    def span(self, feature: Feature, values: Floats, tail: float) -> Span:
        """Betting on totals of classes, within what the sampled rows leave possible."""
        h = feature.of(values)
        known = float(h.sum())
        longest = max(1, -(-self.n // self.classes))
        totals = np.bincount(self.cluster, h, minlength=self.taken) / longest
        if isinstance(feature, Between):
            # The plain bound grows with the count, as limits of quantiles must.
            left = 1.0 - (self.taken - 1.0) / self.classes
            width = math.sqrt(-math.log(tail) * left / (2.0 * self.taken))
            low, high = float(totals.mean()) - width, float(totals.mean()) + width
        else:
            low, high = mean_limits(shuffled(totals, self.seed), float(self.classes), tail)
        value = self.n * float(h.mean()) if len(h) else 0.5 * self.n
        scale = float(self.classes * longest)
        floor, ceiling = known, known + self.n - len(h)
        low, high = max(floor, scale * low), min(ceiling, scale * high)
        return Span(min(max(value, low), high), low, high)


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
        return np.zeros((len(h), len(h))) if self.exhaustive else _undefined(h)

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
