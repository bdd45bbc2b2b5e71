"""Rank summary: some values of a column, each with bounds on how much weight lies below it.

For each value two numbers are kept: the weight at or below it, at least, and the weight below it,
at most. Ties need no order among equals, because neither number depends on one. Summaries of
disjoint rows are added point by point, thinned by dropping values, and asked for ranks and
quantiles; whatever was done before, the bars hold.

In the words of the literature, `at_least` is rmin and `below + 1` is rmax of rows of weight 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.questions import Count, Max, Min, Quantile, Question, RangeCount, Rank
from streamgauge.synopses.synopsis import MOST_BYTES, Floats, Need

ROUNDING = 1e-12
ENTRY_BYTES = 24
ASKED: tuple[type[Question], ...] = (Quantile, Rank, RangeCount, Count, Min, Max)
"""Questions that a rank summary answers."""


@dataclass(frozen=True, slots=True)
class RankSummary:
    """Bounds on the rank of some values.

    Parameters
    ----------
    values
        Distinct values, ascending; some may no longer be among the rows.
    at_least
        Lower bound of the weight at or below each value; ascending.
    below
        Upper bound of the weight below each value; ascending.
    mass
        Total weight of the rows.
    grain
        1 when all weights are whole numbers, else 0.

    Examples
    --------
    >>> left, right = of_rows(np.arange(0.0, 50.0)), of_rows(np.arange(50.0, 100.0))
    >>> both = combine(left, right)
    >>> both.quantile(0.5)
    (49.0, 49.0, 49.0)
    >>> small = prune(both, 10)
    >>> len(small.values), small.precision
    (10, 0.05)
    >>> small.rank(42.0)
    (39.0, 34.0, 44.0)
    """

    values: Floats
    at_least: Floats
    below: Floats
    mass: float
    grain: float = 1.0

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """Bytes of the three columns."""
        return ENTRY_BYTES * len(self.values)

    @property
    def gap(self) -> float:
        """Largest weight that may hide between two neighbours (or beyond the ends)."""
        if not len(self.values):
            return self.mass
        inner = self.below[1:] - self.at_least[:-1]
        ends = max(float(self.below[0]), self.mass - float(self.at_least[-1]))
        return max(ends, float(inner.max()) if len(inner) else 0.0)

    @property
    def precision(self) -> float:
        """Largest error in rank of any quantile, as a share of the weight."""
        if not self.mass > 0.0:
            return 0.0
        half = np.floor((self.gap + 1.0) / 2.0) if self.grain else self.gap / 2.0
        return float(half) / self.mass

    def bounds_at(self, points: Floats) -> tuple[Floats, Floats]:
        """Weight at or below each point, at least; weight below each point, at most."""
        lower = np.concatenate(([0.0], self.at_least))
        upper = np.concatenate((self.below, [self.mass]))
        return (
            lower[np.searchsorted(self.values, points, side="right")],
            upper[np.searchsorted(self.values, points, side="left")],
        )

    def quantile(self, phi: float) -> tuple[float, float, float]:
        """The value nearest in rank, and the bar that holds the exact quantile."""
        # The same rounding as the exact quantile has, so that a tie is cut the same way.
        rank = max(phi * self.mass, ROUNDING) * (1.0 - ROUNDING)
        if not len(self.values):
            return float("nan"), float("-inf"), float("inf")
        # Fewer than `rank` below v: the quantile is v or more. `rank` at or below v: v or less.
        first = int(np.searchsorted(self.below, rank, side="left")) - 1
        last = int(np.searchsorted(self.at_least, rank, side="left"))
        low = float(self.values[first]) if first >= 0 else float("-inf")
        high = float(self.values[last]) if last < len(self.values) else float("inf")
        start, stop = max(first, 0), min(last, len(self.values) - 1) + 1
        if start >= stop:
            return low, low, high
        worst = np.maximum(rank - self.at_least[start:stop], self.below[start:stop] - rank)
        return float(self.values[start + int(worst.argmin())]), low, high

    def rank(self, value: float) -> tuple[float, float, float]:
        """The weight at or below a value: middle, least and most."""
        low, high = self._at_or_below(value)
        return (low + high) / 2.0, low, high

    def between(self, low: float, high: float) -> tuple[float, float, float]:
        """The weight from `low` to `high`, both included: middle, least and most."""
        if not low <= high:
            return 0.0, 0.0, 0.0
        under_least, under_most = self._under(low)
        least, most = self._at_or_below(high)
        first, last = max(0.0, least - under_most), max(0.0, most - under_least)
        return (first + last) / 2.0, first, last

    def ask(self, question: Question) -> tuple[float, float, float]:
        """Answer a question of `ASKED`: value, low and high."""
        if isinstance(question, Quantile):
            return self.quantile(question.phi)
        if isinstance(question, Rank):
            return self.rank(question.value)
        if isinstance(question, RangeCount):
            return self.between(question.low, question.high)
        if isinstance(question, Count):
            return self.mass, self.mass, self.mass
        return self.quantile(0.0 if isinstance(question, Min) else 1.0)

    def _at_or_below(self, value: float) -> tuple[float, float]:
        place = int(np.searchsorted(self.values, value, side="right"))
        low = float(self.at_least[place - 1]) if place else 0.0
        high = float(self.below[place]) if place < len(self.values) else self.mass
        return low, max(low, high)

    def _under(self, value: float) -> tuple[float, float]:
        place = int(np.searchsorted(self.values, value, side="left"))
        low = float(self.at_least[place - 1]) if place else 0.0
        high = float(self.below[place]) if place < len(self.values) else self.mass
        return low, max(low, high)

    def part(self, gone: float) -> RankSummary:
        """What is left when rows of weight `gone` were taken away and nobody knows which."""
        left = self.mass - gone
        return RankSummary(
            self.values,
            np.maximum(0.0, self.at_least - gone),
            np.minimum(self.below, left),
            left,
            self.grain,
        )


EMPTY = RankSummary(np.empty(0), np.empty(0), np.empty(0), 0.0)


def of_rows(values: Floats) -> RankSummary:
    """The exact summary of some rows, each of weight 1."""
    distinct, counts = np.unique(values, return_counts=True)
    reached = np.cumsum(counts).astype(np.float64)
    return RankSummary(distinct, reached, reached - counts, float(len(values)))


def with_ends(summary: RankSummary, ends: Floats) -> RankSummary:
    """A summary of rows of weight 1 that also knows the smallest and the largest of them."""
    mass = summary.mass
    if ends[0] == ends[1]:
        return RankSummary(ends[:1].copy(), np.array([mass]), np.array([0.0]), mass)
    known = RankSummary(ends, np.array([1.0, mass]), np.array([0.0, mass - 1.0]), mass)
    points = np.unique(np.concatenate([summary.values, ends]))
    one, two = summary.bounds_at(points), known.bounds_at(points)
    return RankSummary(points, np.maximum(one[0], two[0]), np.minimum(one[1], two[1]), mass)


def combine(*parts: RankSummary) -> RankSummary:
    """The summary of all rows of several summaries; gaps add up, so shares of the weight do not.

    Between two neighbours of the result lies at most one open gap of each part.
    """
    full = [part for part in parts if part.mass > 0.0 or len(part)]
    if not full:
        return EMPTY
    if len(full) == 1:
        return full[0]
    if len(full) > 4:
        # In halves, so that each value is looked up in few others.
        half = len(full) // 2
        return combine(combine(*full[:half]), combine(*full[half:]))
    points = np.unique(np.concatenate([part.values for part in full]))
    at_least, below = np.zeros(len(points)), np.zeros(len(points))
    for part in full:
        lower, upper = part.bounds_at(points)
        at_least += lower
        below += upper
    mass = float(sum(part.mass for part in full))
    return RankSummary(points, at_least, below, mass, min(part.grain for part in full))


def prune(summary: RankSummary, pieces: int) -> RankSummary:
    """At most `pieces + 1` values of a summary; costs `1 / (2 * pieces)` of precision."""
    return thin(summary, summary.gap + summary.mass / pieces)


def thin(summary: RankSummary, gap: float) -> RankSummary:
    """As few values as keep every gap at `gap` or where it was; the ends stay."""
    # From a kept value with `at_least` a, the next is the last whose `below` is at most a + gap.
    # The one after it would exceed that, and a gap of the given summary cannot hide the
    # difference: each step passes more than `gap - summary.gap` of the weight.
    if len(summary) <= 2:
        return summary
    kept = _furthest(summary.at_least, summary.below, gap * (1.0 + ROUNDING))
    return RankSummary(
        summary.values[kept],
        summary.at_least[kept],
        summary.below[kept],
        summary.mass,
        summary.grain,
    )


@compiled
def _furthest(at_least, below, gap):  # type: ignore[no-untyped-def]
    n = len(at_least)
    kept = np.empty(n, np.int64)
    kept[0] = 0
    count = 1
    place = 0
    while place < n - 1:
        limit = at_least[place] + gap
        place += 1
        while place < n - 1 and below[place + 1] <= limit:
            place += 1
        kept[count] = place
        count += 1
    return kept[:count]


def stacked(parts: list[RankSummary]) -> tuple[Floats, Floats]:
    """Many summaries as one array of three columns, and the size and weight of each, for bytes."""
    table = np.array([[len(part), part.mass] for part in parts]).reshape(len(parts), 2)
    columns = [np.stack([part.values, part.at_least, part.below]) for part in parts]
    return np.concatenate([np.empty((3, 0)), *columns], axis=1), table


def unstacked(columns: Floats, table: Floats) -> list[RankSummary]:
    """Summaries of whole weights from what `stacked` gave."""
    parts = []
    stop = 0
    for size, mass in table:
        start, stop = stop, stop + int(size)
        values, at_least, below = columns[:, start:stop].copy()
        parts.append(RankSummary(values, at_least, below, float(mass)))
    return parts


def owed(need: Need, name: str, *, sure: bool) -> float:
    """The error in rank that a need allows, or ContractUnsatisfiable; `sure` cannot fail."""
    contract = need.contract
    if contract.tolerance != "rank" or (contract.confidence == 1.0 and not sure):
        limit = "" if sure else " at a confidence below 100%"
        raise ContractUnsatisfiable(
            f"{name} owes an error in rank{limit}",
            f"asked for {contract}",
            "write Contract.rank(0.01" + ("" if sure else ", confidence=0.99") + ")",
        )
    # A range has two ends, each with the error of a rank.
    half = 2.0 if isinstance(need.question, RangeCount) else 1.0
    return min(contract.within / half, 0.5)


def affordable(need: Need, name: str, nbytes: float, nearest: float) -> None:
    """Raise ContractUnsatisfiable where the memory of a need is less than `nbytes`."""
    allowed = MOST_BYTES if need.memory is None else need.memory
    if nbytes > allowed:
        raise ContractUnsatisfiable(
            f"{name} needs more memory than it may take",
            f"{need.contract} takes up to {nbytes:.0f} bytes, {allowed} are allowed",
            f"write Contract.rank({nearest:.3g}), or allow more memory",
        )
