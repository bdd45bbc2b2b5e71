"""Fast AMS: the second moment, join sizes and distances, in a few steps for each row.

Each of `depth` rows hashes an item to one of `width` counters and adds its weight with a sign that
is a coin of the item. Products of two such rows of counters are on average the product of the two
streams: with itself the sum of squares, with another stream the size of their join. Linear, so
parts merge, subtract and scale exactly and rows can be taken back.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable, IncompatibleSynopsis
from streamgauge.kernel.hashing import family, polynomial
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import Column, items, keys
from streamgauge.synopses.moments.medians import bar_of_product, fewest_copies, grouping
from streamgauge.synopses.questions import Count, Distance, Frequency, JoinSize, Moment
from streamgauge.synopses.synopsis import Floats, Ints, Need, Subtractable, Synopsis, Trial

SQUARES_SHARE = 0.25
"""Part of the chance of failure that pays for knowing the sum of squares inside other bars."""

UNSKEWED = 64
"""Counters in a row from which its sum of squares is about as often too high as too low."""


class FastAms(Synopsis, Subtractable):
    """Sum of squares, join size, distance and frequencies of streams with any weights.

    The sum of squares is further from the center of its bar than `guarantee.epsilon` of itself
    with chance `delta`; the value is the median of the rows, inside the bar. A
    frequency is off by about `sqrt(F2 / width)`, a join size by `sqrt(F2 * F2' / width)`; their
    bars are computed from the sketch's own upper bounds on the sums of squares, and the chances
    that these fail are part of `delta`.

    Parameters
    ----------
    width
        Counters in a row; four times as many halve the error.
    depth
        Rows; more of them narrow the bar and cost time for each row of the stream.
    delta
        Chance that one bar fails.
    seed
        Chooses the hashes; streams to be merged, joined or compared need the same.

    Examples
    --------
    >>> left, right = FastAms(400, 5, seed=7), FastAms(400, 5, seed=7)
    >>> left.update(["a", "a", "b"])
    >>> right.update(["a", "c"])
    >>> print(left.query(Moment(2)))
    5 in [4.30093, 5.97044] at 95% confidence, fast_ams
    >>> left.query(JoinSize(right)).value
    2.0
    >>> left.query(Distance(right)).value ** 2
    3.0

    References
    ----------
    AMS99, AGMS02, CCF04, TZ12: docs/reference/synopses/moments.md
    """

    name = "fast_ams"
    answers = (Moment, Frequency, Count, JoinSize, Distance)
    takes = "keys"
    weights = "any"
    merging = "exact"
    exactly = (Count,)
    fields = ("counters",)
    joined_by = np.add
    small: ClassVar[tuple[Any, ...]] = (64, 5)

    def __init__(self, width: int, depth: int, delta: float = 0.05, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if not (width >= 1 and depth >= 1 and 0.0 < delta < 1.0):
            raise BindError(
                "a sketch of signs needs counters, rows and a chance of failure in (0, 1)",
                f"got {width} counters, {depth} rows, delta={delta}",
                "write FastAms(width=1024, depth=5, delta=0.05)",
            )
        self.width = width
        self.depth = depth
        self.delta = delta
        self.counters = np.zeros((depth, width))
        self._hashes = family(seed, depth, 4)

    @property
    def guarantee(self) -> Guarantee:
        """The center of the bar is off by more than `epsilon` of F2 with chance `delta`."""
        return Guarantee(
            "relative",
            math.sqrt(2.0 / self.width) * grouping(self.depth, self.delta).reach,
            self.delta,
            assumes=("seed independent of the data",),
            cite="AMS99 thm 2.2",
        )

    def guarantee_for(self, need: Need) -> Guarantee:
        """Of frequencies a share of the weight; a distance is a root, off by about half as much."""
        law = super().guarantee_for(need)
        if isinstance(need.question, Frequency):
            share = _share_of_weight(self.width, self.depth, self.delta)
            return replace(law, law="additive", epsilon=share)
        if isinstance(need.question, Distance):
            above = 1.0 / (1.0 - law.epsilon) if law.epsilon < 1.0 else math.inf
            return replace(law, epsilon=math.sqrt(above) - 1.0)
        return law

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Rows from the confidence, width from the tolerance.

        The tolerance is a share of a sum of squares or of a distance, and for frequencies a
        share of the total weight, in rank.
        """
        return cls(*sizes(cls.name, need), 1.0 - need.contract.confidence, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Many items of equal weight: the variance of each row reaches its bound."""
        return Trial(np.arange(400, dtype=np.int64) + 1000 * seed, Moment(2.0))

    def scaled(self, factor: float) -> Self:
        """The sketch of the stream with every weight multiplied."""
        new = self.copy()
        new.counters *= factor
        new.mass *= factor
        return new

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        weight = np.empty(0) if weights is None else weights
        add_signed(self.counters, self._hashes, column, weight)

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            return self._bar(self.mass, self.mass, self.mass, 0.0)
        if isinstance(question, Frequency):
            return self._frequency(question.item)
        if isinstance(question, JoinSize):
            return self._join(question.other)
        if question.p != 2.0:
            raise IncompatibleSynopsis(
                f"{self.name} keeps squares",
                f"asked for the power {question.p:g}",
                f"ask for p=2, or build stable(p={question.p:g}) for 0 < p < 2, l0 for p=0",
            )
        if isinstance(question, Distance):
            return self._distance(question.other)
        return self._squares()

    def _squares(self) -> Estimate:
        rows = self._square_rows()
        center = grouping(self.depth, self.delta).median(rows)
        epsilon = self.guarantee.epsilon
        high = center / (1.0 - epsilon) if epsilon < 1.0 else math.inf
        return self._within(rows, center, center / (1.0 + epsilon), high)

    def _within(self, rows: Floats, center: float, low: float, high: float) -> Estimate:
        """The bar, with the median of all rows as the value where these are not skewed.

        The proof is about the center, a median of averages; on skewed streams, where two heavy
        items seldom share a counter, the plain median is nearer to the truth.
        """
        value = float(np.median(rows)) if self.width >= UNSKEWED else center
        return self._bar(min(max(value, low), high), low, high)

    def norm(self) -> Estimate:
        """Root of the sum of squares."""
        found = self._squares()
        return self._bar(math.sqrt(found.value), math.sqrt(found.low), math.sqrt(found.high))

    def _distance(self, other: Any) -> Estimate:
        self._check_fits(other)
        apart = self.copy()
        apart.subtract(other)
        return apart.norm()

    def _frequency(self, item: Any) -> Estimate:
        readings = self.readings([item])[:, 0]
        spent = SQUARES_SHARE * self.delta
        cut = grouping(self.depth, self.delta - spent)
        center = cut.median(readings)
        # A reading has variance (F2 - f^2) / width around the frequency f.
        reach = cut.reach / math.sqrt(self.width)
        low, high = bar_of_product(center, reach, squares=self.squares_at_most(spent), own=-1.0)
        return self._within(readings, center, low, high)

    def readings(self, column: Column) -> Floats:
        """What each row of counters says of each item: a table, rows of counters down."""
        found = keys(items(column), seed=self.seed)
        table = np.empty((self.depth, len(found)))
        read_signed(self.counters, self._hashes, found, table)
        return table

    def _join(self, other: Any) -> Estimate:
        self._check_fits(other)
        spent = SQUARES_SHARE * self.delta
        squares = self.squares_at_most(spent / 2) * other.squares_at_most(spent / 2)
        cut = grouping(self.depth, self.delta - spent)
        rows: Floats = (self.counters * other.counters).sum(axis=1)
        center = cut.median(rows)
        # A row of products has variance at most (F2 F2' + J^2) / width around the join size J.
        reach = cut.reach / math.sqrt(self.width)
        low, high = bar_of_product(center, reach, squares=squares, own=1.0)
        return self._within(rows, center, low, high)

    def squares_at_most(self, delta: float) -> float:
        """A number that the sum of squares exceeds with chance `delta` at most."""
        cut = grouping(self.depth, delta)
        rest = 1.0 - math.sqrt(2.0 / self.width) * cut.one_sided_reach
        value = cut.median(self._square_rows())
        return value / rest if rest > 0.0 else math.inf

    def _square_rows(self) -> Floats:
        squares: Floats = np.square(self.counters).sum(axis=1)
        return squares

    def validate(self) -> None:
        """Counters are finite; one that holds whole weights has rows of one parity."""
        assert np.isfinite(self.counters).all()
        sums = self.counters.sum(axis=1)
        if (self.counters == np.rint(self.counters)).all() and np.abs(sums).max() < 2**52:
            # Signs change a sum of whole numbers by even amounts.
            assert len(np.unique(sums % 2)) == 1


def sizes(name: str, need: Need) -> tuple[int, int]:
    """Width and depth that hold a contract."""
    contract, question = need.contract, need.question
    if isinstance(question, JoinSize):
        raise ContractUnsatisfiable(
            "no small sketch owes a share of a join size",
            "it would tell disjoint streams from streams that meet, which takes a bit for each "
            "item of the universe",
            f"choose the size of {name} by hand; the bar is reach * sqrt(F2 * F2' / width)",
        )
    unit = "rank" if isinstance(question, Frequency) else "relative"
    if contract.tolerance != unit or contract.confidence == 1.0:
        share = "weight" if unit == "rank" else "value"
        raise ContractUnsatisfiable(
            f"{name} owes a share of the {share} at a confidence below 100%",
            f"asked for {contract}",
            f"write Contract.{unit}(0.1, confidence=0.95), or Contract.exact()",
        )
    if getattr(question, "p", 2.0) != 2.0:
        raise ContractUnsatisfiable(
            f"{name} keeps squares", f"asked for the power {question.p:g}",  # type: ignore[attr-defined]
            "use stable for 0 < p < 2, l0 for p = 0",
        )  # fmt: skip
    delta = 1.0 - contract.confidence
    if isinstance(question, Frequency):
        need.afford(name, 8.0 / contract.within**2)
        return _afforded(name, need, *_sizes_for_frequency(contract.within, delta))
    # The bar around a value v reaches to v / (1 - epsilon); a distance is its square root.
    above = (1.0 + contract.within) ** (2.0 if isinstance(question, Distance) else 1.0)
    epsilon = 1.0 - 1.0 / above
    groups, copies = fewest_copies(epsilon / math.sqrt(2.0), delta)
    return _afforded(name, need, math.ceil(copies), groups)


def _afforded(name: str, need: Need, width: int, depth: int) -> tuple[int, int]:
    need.afford(name, 8.0 * width * depth)
    return width, depth


def _sizes_for_frequency(within: float, delta: float) -> tuple[int, int]:
    """Sizes at which the bar is within a share of the weight, for weights that are not negative."""
    groups, copies = fewest_copies(within, delta)
    width = max(64, math.ceil(copies))
    while _share_of_weight(width, groups, delta) > within:
        width = math.ceil(1.1 * width)
    return width, groups


def _share_of_weight(width: int, depth: int, delta: float) -> float:
    """Widest bar of a frequency as a share of the weight; infinite where none can be told."""
    spent = SQUARES_SHARE * delta
    error = math.sqrt(2.0 / width) * grouping(depth, spent).reach
    if error >= 1.0:
        return math.inf
    # The bound on F2, at worst (1 + error) / (1 - error) of it, and F2 <= weight^2.
    reach = grouping(depth, delta - spent).reach / math.sqrt(width)
    low, high = bar_of_product(0.0, reach, squares=(1.0 + error) / (1.0 - error), own=-1.0)
    return max(high, -low)


@compiled
def sign_and_place(key, coefficients, width):  # type: ignore[no-untyped-def]
    """Sign and counter of a key, from one hash that is independent on any four keys."""
    value = polynomial(key, coefficients)
    sign = 1.0 if value & np.uint64(1) else -1.0
    return sign, (value >> np.uint64(1)) % np.uint64(width)


@compiled
def add_signed(counters, hashes, column, weights):  # type: ignore[no-untyped-def]
    """Fold a column of keys into rows of counters."""
    depth, width = counters.shape
    for row in range(depth):
        for i in range(len(column)):
            sign, place = sign_and_place(column[i], hashes[row], width)
            counters[row, place] += sign * weights[i] if len(weights) else sign


@compiled
def read_signed(counters, hashes, column, table):  # type: ignore[no-untyped-def]
    """The reading of each key in each row of counters."""
    depth, width = counters.shape
    for row in range(depth):
        for i in range(len(column)):
            sign, place = sign_and_place(column[i], hashes[row], width)
            table[row, i] = sign * counters[row, place]
