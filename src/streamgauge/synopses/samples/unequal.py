"""Designs of unequal chances: rows taken by their weight, or with any chances that are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from streamgauge.synopses.samples.designs import Design, Floats, Ints, Span, scatter
from streamgauge.synopses.samples.features import Feature
from streamgauge.synopses.samples.limits import poisson_limits

_PAIRS_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class Proportional(Design):
    """Rows were taken with chances in proportion to their weights, large ones surely.

    The design of Poisson sampling by size and of VarOpt, and, with a threshold of one, of samples
    that favour recent rows when rows are asked about with the chance they have to be there.

    Parameters
    ----------
    weights
        What each sampled row stands for: its weight where that is above the threshold.
    threshold
        What each of the others stands for.
    total
        Weight of all rows.
    fixed
        Whether the size of the sample was fixed beforehand.
    chances
        Chance that each sampled row had, where it is kept.
    """

    approximate: ClassVar[bool] = True

    weights: Floats
    threshold: float
    total: float
    fixed: bool = True
    chances: Floats | None = None

    @property
    def mass(self) -> float:
        """Weight of all rows."""
        return self.total

    @property
    def exhaustive(self) -> bool:
        """Whether every row was taken surely."""
        return self.threshold == 0.0

    def stands_for(self, size: int) -> Floats:
        """Adjusted weights."""
        return self.weights

    def covariance(self, h: Floats) -> Floats:
        """Of rows below the threshold, as if drawn with replacement."""
        small = self.weights <= self.threshold
        units = self.threshold * h[:, small]
        if self.fixed:
            count = int(small.sum())
            return count * scatter(units) if count > 1 else np.zeros((len(h), len(h)))
        chances = np.zeros(int(small.sum())) if self.chances is None else self.chances[small]
        spread: Floats = (units * (1.0 - chances)) @ units.T
        return spread

    def span(self, feature: Feature, values: Floats, tail: float) -> Span:
        """Chernoff's bound on the rows below the threshold, and on what they leave out."""
        h = feature.of(values)
        small = self.weights <= self.threshold
        sure = float((self.weights * h)[~small].sum())
        if self.threshold == 0.0:
            return Span(sure, sure, sure)
        whole = max(0.0, self.mass - float(self.weights[~small].sum())) / self.threshold
        hits = float(h[small].sum())
        low, high = poisson_limits(hits, 0.5 * tail)
        rest_low, rest_high = poisson_limits(float(small.sum()) - hits, 0.5 * tail)
        low, high = max(low, whole - rest_high, 0.0), min(high, whole - rest_low, whole)
        value = whole * hits / small.sum() if small.any() else 0.5 * whole
        low, high = min(low, high), max(low, high)
        scale = self.threshold
        value = min(max(value, low), high)
        return Span(sure + scale * value, sure + scale * low, sure + scale * high)


@dataclass(frozen=True, slots=True)
class Unequal(Design):
    """Any chances, with the joint ones: the estimator of Horvitz and Thompson.

    Parameters
    ----------
    chances
        Chance that each sampled row had.
    joint
        Chance of each pair (arrays of places in the sample, both shapes alike), or None when rows
        were taken independently.
    n
        Rows there are.
    fixed
        Whether the size of the sample was fixed: then the variance of Yates, Grundy and Sen.
    """

    chances: Floats
    n: int
    joint: Callable[[Ints, Ints], Floats] | None = None
    fixed: bool = False

    @property
    def mass(self) -> float:
        """Rows there are."""
        return float(self.n)

    def stands_for(self, size: int) -> Floats:
        """One over the chance."""
        return 1.0 / self.chances

    def covariance(self, h: Floats) -> Floats:
        """Sums over pairs, a block of rows at a time."""
        expanded = h / self.chances
        if self.joint is None:
            own: Floats = (expanded * (1.0 - self.chances)) @ expanded.T
            return own
        k = h.shape[1]
        total = np.zeros((len(h), len(h)))
        block = max(1, _PAIRS_AT_ONCE // max(1, k))
        for start in range(0, k, block):
            total += self._pairs(h, np.arange(start, min(k, start + block)))
        return total

    def _pairs(self, h: Floats, block: Ints) -> Floats:
        assert self.joint is not None
        rows, columns = np.meshgrid(block, np.arange(h.shape[1]), indexing="ij")
        both = self.joint(rows, columns)
        product = np.outer(self.chances[block], self.chances)
        expanded = h / self.chances
        same = rows == columns
        both = np.where(same, np.where(same, self.chances[rows], 1.0), both)
        out = np.empty((len(h), len(h)))
        for a in range(len(h)):
            for b in range(len(h)):
                if self.fixed:
                    off_a = expanded[a, block][:, None] - expanded[a][None, :]
                    off_b = expanded[b, block][:, None] - expanded[b][None, :]
                    terms = 0.5 * np.where(same, 0.0, product / both - 1.0) * off_a * off_b
                else:
                    terms = (1.0 / product - 1.0 / both) * np.outer(h[a, block], h[b])
                out[a, b] = terms.sum()
        return out

    def span(self, feature: Feature, values: Floats, tail: float) -> Span:
        """Chebyshev's and Cantelli's inequality on the estimated variance: a guide, not a proof."""
        h = feature.of(values)
        value = float((h / self.chances).sum())
        variance = max(0.0, float(self.covariance(h[None, :])[0, 0]))
        width = math.sqrt(variance * (1.0 / tail - 1.0))
        return Span(value, max(0.0, value - width), min(self.mass, value + width))


def share_of_weight(k: int, delta: float) -> float:
    """Most by which a sample of k rows by weight can miss the weight of a set, as a share of all.

    >>> round(share_of_weight(1000, 0.05), 3)
    0.065
    """
    worst = 0.0
    for hits in np.linspace(0.0, k, 17):
        low, high = poisson_limits(float(hits), 0.25 * delta)
        rest_low, rest_high = poisson_limits(float(k - hits), 0.25 * delta)
        low, high = max(low, k - rest_high, 0.0), min(high, k - rest_low, float(k))
        worst = max(worst, high - hits, hits - low)
    return float(min(1.0, worst / k))
