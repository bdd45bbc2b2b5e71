"""Medians of means: one number from many unbiased estimates, with a proved distance from the truth.

The estimates are cut into an odd number of groups, each group is averaged and the median of the
averages is read. Chebyshev bounds the chance that one average is far; the median is far only if
half of the averages are, and the chance of that is a tail of the binomial, taken exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from streamgauge.synopses.synopsis import Floats

MOST_GROUPS = 199


@dataclass(frozen=True, slots=True)
class Grouping:
    """How many groups to cut estimates into, and how far their median may be from the mean.

    Parameters
    ----------
    groups
        Odd number of groups.
    chance
        Chance at which one average may be far so that the median is far with chance `delta`.
    copies
        Estimates in the smallest group.
    """

    groups: int
    chance: float
    copies: int

    @property
    def reach(self) -> float:
        """Distance, in standard deviations of one estimate, that holds on both sides."""
        return math.sqrt(1.0 / (self.chance * self.copies))

    @property
    def one_sided_reach(self) -> float:
        """The same for one side only (Cantelli)."""
        return math.sqrt((1.0 - self.chance) / (self.chance * self.copies))

    def median(self, estimates: Floats) -> float:
        """Median of the averages of the groups."""
        return float(self.medians(estimates))

    def medians(self, estimates: Floats) -> Floats:
        """The same for a table: copies down, questions across."""
        means = [part.mean(axis=0) for part in np.array_split(estimates, self.groups)]
        middle: Floats = np.median(means, axis=0)
        return middle


@lru_cache(maxsize=4096)
def grouping(copies: int, delta: float) -> Grouping:
    """The grouping with the shortest reach.

    At least three groups where there are three copies: it costs a twentieth of the reach at 95%
    and one unlucky copy can no longer move the answer.

    >>> best = grouping(45, 0.01)
    >>> best.groups, round(best.reach, 3)
    (5, 1.026)
    """
    fewest = min(3, copies if copies % 2 else copies - 1)
    odd = range(fewest, min(copies, MOST_GROUPS) + 1, 2)
    return min((_cut(copies, groups, delta) for groups in odd), key=lambda cut: cut.reach)


@lru_cache(maxsize=1024)
def fewest_copies(reach: float, delta: float) -> tuple[int, float]:
    """Groups that need the fewest copies in all for a reach, and copies of each group.

    >>> groups, copies = fewest_copies(0.1, 0.01)
    >>> groups, round(copies)
    (5, 947)
    """
    candidates = ((g, 1.0 / (reach**2 * _chance(g, delta))) for g in range(3, MOST_GROUPS, 2))
    return min(candidates, key=lambda found: found[0] * found[1])


def _cut(copies: int, groups: int, delta: float) -> Grouping:
    return Grouping(groups, _chance(groups, delta), copies // groups)


def _chance(groups: int, delta: float) -> float:
    """The p at which a binomial of `groups` trials reaches half of them with chance delta."""
    half = (groups + 1) // 2
    return float(special.betaincinv(half, groups - half + 1, delta))


def bar_of_product(
    value: float, reach: float, *, squares: float, own: float, cap: float | None = None
) -> tuple[float, float]:
    """All Q with |value - Q| <= reach * sqrt(squares + own * Q^2) and |Q| <= cap.

    This is the bar around an estimate of an inner product Q whose variance is bounded by
    `squares` (a product of sums of squares) plus `own` times the square of Q; by Cauchy and
    Schwarz it is at most the root of that product, the cap.
    """
    cap = math.sqrt(squares) if cap is None else cap
    if not math.isfinite(squares):
        return -math.inf, math.inf
    variance = reach * reach
    lead = 1.0 - own * variance
    if lead <= 0.0:
        return -cap, cap
    root = math.sqrt(max(0.0, variance * (own * value * value + lead * squares)))
    low, high = (value - root) / lead, (value + root) / lead
    return min(max(low, -cap), cap), max(min(high, cap), -cap)
