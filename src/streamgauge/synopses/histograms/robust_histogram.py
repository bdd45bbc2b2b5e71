"""Robust histogram: the best buckets of a signal, from its largest wavelet terms alone.

A bucket is a sum of few wavelet terms, so terms enough lie as close to the signal as the best
buckets do, and the best buckets of the terms are nearly the best of the signal. Terms are taken a
portion at a time until one more portion would hardly help; then no few buckets can do much better
than what those terms show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.synopses.histograms.haar import Expansion, Haar
from streamgauge.synopses.histograms.range_optimal import Steps
from streamgauge.synopses.histograms.signal import need_at_least
from streamgauge.synopses.histograms.v_optimal import best_cuts
from streamgauge.synopses.synopsis import Need


@dataclass(frozen=True, slots=True)
class Certified:
    """Buckets from terms, and what is sure of them.

    Parameters
    ----------
    steps
        The buckets.
    terms
        Wavelet terms they were found from.
    least, most
        Their L2 distance from the signal is between these.
    optimum
        No buckets so few come closer to the signal than this.
    settled
        Whether more terms would hardly help, or the signal has no more.
    """

    steps: Steps
    terms: int
    least: float
    most: float
    optimum: float
    settled: bool


def portions(buckets: int, height: int, epsilon: float) -> tuple[int, int]:
    """Terms in a portion, and portions after which no more are needed.

    >>> portions(8, 10, 1.0)
    (160, 30)
    """
    fine = epsilon**2 / 9.0
    return 2 * buckets * max(height, 1), math.ceil(1.0 + math.log(25.0 / epsilon**2) / fine)


def robust(picture: Expansion, buckets: int, epsilon: float) -> Certified:
    """Best buckets of the fewest large terms that stand for all of a signal's terms."""
    portion, most = portions(buckets, picture.height, epsilon)
    sizes = np.sort(picture.coefficients**2)[::-1]
    left = picture.error**2 + np.concatenate([[sizes.sum()], sizes.sum() - np.cumsum(sizes)])
    left = np.maximum(left, picture.error**2)
    last = len(sizes)
    taken = min(portion, last)
    settled = picture.error == 0.0
    while taken < last:
        further = min(taken + portion // 2, last)
        if taken >= most * portion or left[further] >= (1.0 - epsilon**2 / 9.0) * left[taken]:
            settled = True
            break
        taken = min(taken + portion, last)
    chosen = picture.best(taken + 1)
    edges, heights = chosen.pieces()
    widths = np.diff(edges).astype(np.float64)
    cuts = best_cuts(widths, widths * heights, widths * heights**2, buckets)
    sums, wide = np.add.reduceat(widths * heights, cuts[:-1]), np.add.reduceat(widths, cuts[:-1])
    steps = Steps(edges[cuts], sums / wide)
    inside = np.repeat(steps.heights, np.diff(cuts))
    apart = math.sqrt(float((widths * (heights - inside) ** 2).sum()))
    # Few buckets are few terms: they miss what the largest terms miss, if those are all known.
    known = picture.exact and (last <= portion or sizes[portion - 1] >= picture.largest**2)
    complete = known and (last >= portion or picture.error == 0.0)
    floor = math.sqrt(float(left[min(portion, last)])) if complete else 0.0
    return Certified(
        steps,
        taken,
        abs(apart - chosen.error),
        apart + chosen.error,
        max(floor, apart - chosen.error, 0.0),
        settled,
    )


class RobustHistogram(Haar):
    """Nearly the best buckets of a signal in small space, from one pass.

    Parameters
    ----------
    buckets
        Buckets of the histogram.
    terms
        Wavelet terms kept for it; `2 * buckets * log2(cells)` bring it within a factor 3 of the
        best, and a few times as many to the best.
    epsilon
        How much larger than the least its squared error may be.
    seed
        Unused; there is no chance in it.

    Examples
    --------
    >>> picture = RobustHistogram(buckets=3, terms=64, epsilon=0.5)
    >>> picture.update(np.arange(1024), weights=np.repeat([1.0, 9.0, 2.0], [400, 300, 324]))
    >>> found = picture.histogram()
    >>> found.steps.edges
    array([   0,  400,  700, 1024])
    >>> found.settled
    True

    References
    ----------
    GGIKMS02: docs/references.md
    """

    name = "robust_histogram"
    small = (4, 20)

    def __init__(self, buckets: int, terms: int, epsilon: float = 0.5, *, seed: int = 0) -> None:
        need_at_least(self.name, buckets, 1, "buckets")
        need_at_least(self.name, epsilon, 1e-3, "epsilon")
        super().__init__(terms, seed=seed)
        self.buckets = buckets
        self.epsilon = float(epsilon)

    @property
    def guarantee(self) -> Guarantee:
        """That of its wavelet terms, from which ranges are answered."""
        terms = super().guarantee
        return Guarantee(terms.law, terms.epsilon, assumes=terms.assumes, cite="GGIKMS02 thm 1")

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Terms as for the wavelet picture; buckets are only how it is shown."""
        return cls(8, Haar.sized_for(need).terms, seed=seed)

    def histogram(self) -> Certified:
        """The best buckets of the terms held, with what is sure of them."""
        return robust(self.expansion(), self.buckets, self.epsilon)
