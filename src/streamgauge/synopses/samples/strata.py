"""Designs of parts: strata sampled each on its own, and classes of rows taken whole."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.samples.designs import (
    Design,
    Floats,
    Ints,
    Simple,
    Span,
    scatter,
    shuffled,
    undefined,
)
from streamgauge.synopses.samples.features import Between, Feature
from streamgauge.synopses.samples.limits import mean_limits


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
                return undefined(h)
            total += m**2 * (1.0 - r / m) / r * scatter(h[:, self.stratum == j])
        return total

    def span(self, feature: Feature, values: Floats, tail: float) -> Span:
        """Hoeffding's and Serfling's bound over strata, each with its own range."""
        known: Floats = np.zeros(len(self.sizes))
        np.add.at(known, self.stratum, feature.of(values))
        least, most = feature.least(self.lows, self.highs), feature.most(self.lows, self.highs)
        taken = self.taken
        unseen = taken == 0
        guess = np.where(unseen, 0.5 * (least + most), known / np.maximum(1, taken))
        value = float((self.sizes * guess).sum())
        left = np.where(taken < self.sizes, 1.0 - (taken - 1.0) / np.maximum(1, self.sizes), 0.0)
        squares = self.sizes**2 * (most - least) ** 2 * left / np.maximum(1, taken)
        width = math.sqrt(-0.5 * math.log(tail) * float(squares[~unseen].sum()))
        width += 0.5 * float((self.sizes * (most - least))[unseen].sum())
        rest = self.sizes - taken
        low = max(value - width, float((known + rest * least).sum()))
        high = min(value + width, float((known + rest * most).sum()))
        return Span(value, low, high)

    def crossing(
        self, values: Floats, owed: float, tail: float
    ) -> tuple[float | None, float | None]:
        """As for any design, but limits change at the ends of strata too, and may fall there."""
        strata = np.arange(len(self.sizes))
        items = np.concatenate([values, self.lows, self.highs])
        # What happens at each: a sampled row is counted, a stratum begins, a stratum ends.
        happens = np.repeat([0, 1, 2], [len(values), len(strata), len(strata)])
        where = np.concatenate([self.stratum, strata, strata])
        order = np.argsort(items, kind="stable")
        low, high = _sweep(
            items[order],
            happens[order],
            where[order],
            self.sizes.astype(np.float64),
            self.taken.astype(np.float64),
            owed,
            tail,
        )
        return (None if math.isnan(low) else low), (None if math.isnan(high) else high)


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


@compiled
def _sweep(items, happens, where, sizes, taken, owed, tail):  # type: ignore[no-untyped-def]
    """First item whose upper limit reaches what is owed, first after the last below it; or NaN."""
    known = np.zeros(len(sizes))
    begun = np.zeros(len(sizes))
    ended = np.zeros(len(sizes))
    # Totals over strata: estimate, squared width, half of what is blind, what is sure, what may be.
    value, squares, blind, sure, may = 0.0, 0.0, 0.0, 0.0, 0.0
    low, high = math.nan, math.nan
    for event in range(len(items)):
        j = where[event]
        for sign in (-1.0, 1.0):
            open_now = begun[j] - ended[j]
            if taken[j] == 0:
                value += sign * sizes[j] * 0.5 * (begun[j] + ended[j])
                blind += sign * 0.5 * sizes[j] * open_now
            else:
                value += sign * sizes[j] * known[j] / taken[j]
                if taken[j] < sizes[j]:
                    left = 1.0 - (taken[j] - 1.0) / sizes[j]
                    squares += sign * sizes[j] ** 2 * open_now * left / taken[j]
            sure += sign * (known[j] + (sizes[j] - taken[j]) * ended[j])
            may += sign * (known[j] + (sizes[j] - taken[j]) * begun[j])
            if sign < 0.0:
                if happens[event] == 0:
                    known[j] += 1.0
                elif happens[event] == 1:
                    begun[j] = 1.0
                else:
                    ended[j] = 1.0
        if event + 1 < len(items) and items[event + 1] == items[event]:
            continue
        width = math.sqrt(-0.5 * math.log(tail) * max(0.0, squares)) + blind
        if math.isnan(low) and min(value + width, may) >= owed * (1.0 - 1e-12):
            low = items[event]
        if max(value - width, sure) < owed:
            high = math.nan
        elif math.isnan(high):
            high = items[event]
    return low, high
