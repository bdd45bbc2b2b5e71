"""Questions: what can be asked of a synopsis, each with its exact answer for the tests.

A question is a value. `truth` computes the exact answer from the rows themselves, slowly and
obviously; `broken_by` says whether an answer breaks its promise. The statistical tests, the
planner and the synopses all speak in these words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Unit

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]


class Heavy(NamedTuple):
    """One item of a top list, with the bar around its weight."""

    item: Any
    weight: Estimate


class Question:
    """Something to ask; a value with no state. `unit` is what its answer is a number of."""

    unit: ClassVar[Unit] = "value"

    def truth(self, items: Array, weights: Floats) -> float:
        """The exact answer; `weights` are 1 where rows have none."""
        raise NotImplementedError

    def broken_by(self, result: Any, items: Array, weights: Floats) -> bool:
        """Whether a result breaks its promise on these rows."""
        truth = self.truth(items, weights)
        if np.isnan(truth):
            return not np.isnan(result.value)
        # A part in a billion is the rounding of sums of many floats, not an error of the synopsis.
        slack = 1e-9 * max(1.0, abs(truth)) if np.isfinite(truth) else 0.0
        return not result.low - slack <= truth <= result.high + slack


@dataclass(frozen=True, slots=True)
class Count(Question):
    """Total weight: the number of rows when they have none."""

    unit = "all rows"

    def truth(self, items: Array, weights: Floats) -> float:
        """Sum of the weights."""
        return float(weights.sum())


@dataclass(frozen=True, slots=True)
class Sum(Question):
    """Sum of the items times their weights."""

    def truth(self, items: Array, weights: Floats) -> float:
        """Sum of products."""
        return float((items * weights).sum())


@dataclass(frozen=True, slots=True)
class Mean(Question):
    """Average of the items, weighted."""

    def truth(self, items: Array, weights: Floats) -> float:
        """Sum of products over the sum of weights; NaN of nothing."""
        mass = float(weights.sum())
        return float((items * weights).sum()) / mass if mass else float("nan")


@dataclass(frozen=True, slots=True)
class Variance(Question):
    """Variance of the items (divided by their number, not by one less)."""

    def truth(self, items: Array, weights: Floats) -> float:
        """Mean squared distance from the mean; NaN of nothing."""
        mass = float(weights.sum())
        if not mass:
            return float("nan")
        mean = float((items * weights).sum()) / mass
        return float((weights * (items - mean) ** 2).sum()) / mass


@dataclass(frozen=True, slots=True)
class Min(Question):
    """Smallest item."""

    unit = "ordered"

    def truth(self, items: Array, weights: Floats) -> float:
        """Smallest item of positive weight; NaN of nothing."""
        return float(items[weights > 0].min()) if (weights > 0).any() else float("nan")


@dataclass(frozen=True, slots=True)
class Max(Question):
    """Largest item."""

    unit = "ordered"

    def truth(self, items: Array, weights: Floats) -> float:
        """Largest item of positive weight; NaN of nothing."""
        return float(items[weights > 0].max()) if (weights > 0).any() else float("nan")


@dataclass(frozen=True, slots=True)
class Quantile(Question):
    """The item at a share of the sorted rows: the one of rank ceil(phi * n), at least the first.

    The bar of an answer is in items: the items at the ranks that the error allows.
    """

    unit = "ordered"

    phi: float

    def truth(self, items: Array, weights: Floats) -> float:
        """The exact quantile; NaN of nothing."""
        mass = float(weights.sum())
        if not mass > 0.0:
            return float("nan")
        order = np.argsort(items, kind="stable")
        reached = np.cumsum(weights[order])
        rank = max(self.phi * mass, 1e-12)
        place = int(np.searchsorted(reached, rank * (1.0 - 1e-12), side="left"))
        return float(items[order[min(place, len(order) - 1)]])


@dataclass(frozen=True, slots=True)
class Rank(Question):
    """Weight of the items at or below a value."""

    unit = "rows"

    value: float

    def truth(self, items: Array, weights: Floats) -> float:
        """Sum of the weights at or below."""
        return float(weights[items <= self.value].sum())


@dataclass(frozen=True, slots=True)
class RangeCount(Question):
    """Weight of the items between two values, both included."""

    unit = "rows"

    low: float
    high: float

    def truth(self, items: Array, weights: Floats) -> float:
        """Sum of the weights within."""
        return float(weights[(items >= self.low) & (items <= self.high)].sum())


@dataclass(frozen=True, slots=True)
class RangeSum(Question):
    """Sum of the items (times weights) whose position or key lies between two, both included."""

    unit = "rows"

    low: float
    high: float

    def truth(self, items: Array, weights: Floats) -> float:
        """Sum of weights over positions `low` to `high` (items are positions)."""
        return float(weights[(items >= self.low) & (items <= self.high)].sum())


@dataclass(frozen=True, slots=True)
class Frequency(Question):
    """Weight of one item."""

    unit = "rows"

    item: Any

    def truth(self, items: Array, weights: Floats) -> float:
        """Sum of the weights of the item."""
        return float(weights[items == self.item].sum())


@dataclass(frozen=True, slots=True)
class Distinct(Question):
    """Number of different items (of positive total weight)."""

    unit = "different rows"

    def truth(self, items: Array, weights: Floats) -> float:
        """Count of items whose weights do not cancel."""
        if not len(items):
            return 0.0
        _, totals = totals_of(items, weights)
        return float((totals > 0).sum())


@dataclass(frozen=True, slots=True)
class Moment(Question):
    """Sum over items of the power `p` of their total weight; 2 is the size of the self-join."""

    p: float = 2.0

    def truth(self, items: Array, weights: Floats) -> float:
        """Sum of powers; p = 0 counts items whose weights do not cancel."""
        if not len(items):
            return 0.0
        _, totals = totals_of(items, weights)
        if self.p == 0:
            return float((np.abs(totals) > 1e-12).sum())
        return float((np.abs(totals) ** self.p).sum())


@dataclass(frozen=True, slots=True)
class HeavyHitters(Question):
    """Every item that holds at least a share of the total weight."""

    unit = "rows"

    share: float

    def truth(self, items: Array, weights: Floats) -> float:
        """How many such items there are."""
        if not len(items):
            return 0.0
        _, totals = totals_of(items, weights)
        return float((totals >= self.share * weights.sum()).sum())

    def broken_by(self, result: Any, items: Array, weights: Floats) -> bool:
        """Whether a heavy item is missing or a reported bar does not hold."""
        if not len(items):
            return bool(len(result))
        distinct, totals = totals_of(items, weights)
        exact = dict(zip(distinct.tolist(), totals.tolist(), strict=True))
        heavy = {k for k, w in exact.items() if w >= self.share * weights.sum() and w > 0}
        told = {_plain(found.item): found.weight for found in result}
        bars_hold = all(
            bar.low - 1e-6 <= exact.get(item, 0.0) <= bar.high + 1e-6 for item, bar in told.items()
        )
        return not (heavy <= set(told) and bars_hold)


@dataclass(frozen=True, slots=True)
class TopK(Question):
    """The `k` items of largest weight, each with its bar."""

    unit = "rows"

    k: int

    def truth(self, items: Array, weights: Floats) -> float:
        """Weight of the k-th item; 0 when there are fewer."""
        if not len(items):
            return 0.0
        _, totals = totals_of(items, weights)
        return float(np.sort(totals)[::-1][self.k - 1]) if len(totals) >= self.k else 0.0

    def broken_by(self, result: Any, items: Array, weights: Floats) -> bool:
        """Whether a reported bar does not hold, or an item above all bars is missing."""
        if not len(items):
            return bool(len(result))
        distinct, totals = totals_of(items, weights)
        exact = dict(zip(distinct.tolist(), totals.tolist(), strict=True))
        told = {_plain(found.item): found.weight for found in result}
        bars_hold = all(
            bar.low - 1e-6 <= exact.get(item, 0.0) <= bar.high + 1e-6 for item, bar in told.items()
        )
        ceiling = max((bar.high for bar in told.values()), default=0.0)
        missing = any(w > ceiling + 1e-6 for item, w in exact.items() if item not in told)
        return missing or not bars_hold


def totals_of(items: Array, weights: Floats) -> tuple[Array, Floats]:
    """Distinct items and the total weight of each."""
    distinct, inverse = np.unique(items, return_inverse=True)
    totals = np.bincount(inverse, weights=weights, minlength=len(distinct)).astype(np.float64)
    return distinct, totals


def _plain(item: Any) -> Any:
    return item.item() if isinstance(item, np.generic) else item


@dataclass(frozen=True, slots=True, eq=False)
class JoinSize(Question):
    """Size of the equi-join with other streams: sum over items of the products of their weights.

    `other` is the synopsis of the other stream, or several of a chain or tree of joins. The rows
    of the other stream (items, and weights or None) are only needed for the exact answer. Its
    rows are pairs, so a share of them is a share of all pairs.
    """

    unit = "rows"

    other: Any
    rows: tuple[Array, Floats | None] | None = None

    def truth(self, items: Array, weights: Floats) -> float:
        """Sum of products over the items of both."""
        _, mine, theirs = _side_by_side(items, weights, self.rows)
        return float((mine * theirs).sum())


@dataclass(frozen=True, slots=True, eq=False)
class Distance(Question):
    """The `p`-norm of the difference to another stream; p = 0 counts the items that differ.

    `other` is the synopsis of the other stream; its rows are only needed for the exact answer.
    """

    other: Any
    p: float = 2.0
    rows: tuple[Array, Floats | None] | None = None

    def truth(self, items: Array, weights: Floats) -> float:
        """Norm of the difference of the totals."""
        _, mine, theirs = _side_by_side(items, weights, self.rows)
        apart = np.abs(mine - theirs)
        if self.p == 0:
            return float((apart > 1e-12).sum())
        return float((apart**self.p).sum() ** (1.0 / self.p))


@dataclass(frozen=True, slots=True)
class DominanceNorm(Question):
    """Sum over items of the largest weight that any row gives them: the upper envelope."""

    def truth(self, items: Array, weights: Floats) -> float:
        """Sum of the largest weights."""
        if not len(items):
            return 0.0
        order = np.lexsort((weights, items))
        last = np.append(items[order][1:] != items[order][:-1], True)
        return float(weights[order][last].sum())


def _side_by_side(
    items: Array, weights: Floats, rows: tuple[Array, Floats | None] | None
) -> tuple[Array, Floats, Floats]:
    """Items of two streams and the total weight of each in the first and in the second."""
    assert rows is not None, "the exact answer needs the rows of the other stream"
    other, given = rows
    theirs = np.ones(len(other)) if given is None else given
    both = np.concatenate([items, other])
    distinct, mine = totals_of(both, np.concatenate([weights, np.zeros(len(other))]))
    return distinct, mine, totals_of(both, np.concatenate([np.zeros(len(items)), theirs]))[1]
