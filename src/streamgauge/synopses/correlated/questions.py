"""Questions of correlated aggregates: about the rows that stand so and so to an aggregate of all.

Items are the column that is compared (x), weights the column that is summed (y). The aggregate that
rows are compared with moves as rows come, which is what makes these questions hard in one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from streamgauge.synopses.questions import Question
from streamgauge.synopses.synopsis import Array, Floats

Of = Literal["count", "sum", "mean"]
Side = Literal["min", "max"]
Part = Literal["above", "below", "within"]


def _aggregate(chosen: Array, weights: Floats, of: Of) -> float:
    if of == "count":
        return float(chosen.sum())
    total = float(weights[chosen].sum())
    if of == "sum":
        return total
    return total / float(chosen.sum()) if chosen.any() else float("nan")


class Correlated(Question):
    """A question about rows chosen by comparison with an aggregate."""

    def broken_by(self, result: Any, items: Array, weights: Floats) -> bool:
        """Whether the truth lies outside the bar; a mean of no rows has no truth to miss."""
        if np.isnan(self.truth(items, weights)):
            return False
        return Question.broken_by(self, result, items, weights)


@dataclass(frozen=True, slots=True)
class NearExtreme(Correlated):
    """Rows near the smallest x (`x <= factor * min + offset`) or the largest one.

    For the largest it is `x >= factor * max - offset`. `of` is what is asked of them: how many they
    are, the sum of their y or its mean.
    """

    side: Side
    factor: float
    offset: float = 0.0
    of: Of = "count"

    def truth(self, items: Array, weights: Floats) -> float:
        """By two passes."""
        if not len(items):
            return _aggregate(np.zeros(0, np.bool_), weights, self.of)
        if self.side == "min":
            chosen = items <= self.factor * float(items.min()) + self.offset
        else:
            chosen = items >= self.factor * float(items.max()) - self.offset
        return _aggregate(chosen, weights, self.of)


@dataclass(frozen=True, slots=True)
class BesideMean(Correlated):
    """Rows above (`x >= cut`), below (`x < cut`) or within `band` of the cut.

    The cut is `factor * mean + offset`. `of` is what is asked of them: how many they are, the sum
    of their y or its mean.
    """

    part: Part
    factor: float = 1.0
    offset: float = 0.0
    band: float = 0.0
    of: Of = "count"

    def truth(self, items: Array, weights: Floats) -> float:
        """By two passes."""
        if not len(items):
            return _aggregate(np.zeros(0, np.bool_), weights, self.of)
        cut = self.factor * float(items.mean()) + self.offset
        chosen = {
            "above": items >= cut,
            "below": items < cut,
            "within": (items > cut - self.band) & (items < cut + self.band),
        }[self.part]
        return _aggregate(chosen, weights, self.of)
