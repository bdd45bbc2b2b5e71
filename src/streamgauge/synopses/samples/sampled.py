"""Sampled: what all samples share: dice, extremes of the rows, and answers with their bars.

Besides the sample, the smallest and the largest item ever seen are kept. They cost two numbers and
turn every sum into a sum of numbers in a known range, about which a sample proves something
whatever the distribution.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from streamgauge.contracts.contract import Contract
from streamgauge.contracts.estimate import NOTHING
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.keys import Items
from streamgauge.synopses.questions import (
    Count,
    Distinct,
    Frequency,
    Mean,
    Quantile,
    Question,
    RangeCount,
    Rank,
    Sum,
)
from streamgauge.synopses.samples.designs import Drawn, Replaced, Simple, Span, Unsized
from streamgauge.synopses.samples.dice import dice
from streamgauge.synopses.samples.features import Between, Feature, Scaled
from streamgauge.synopses.samples.species import distinct_span
from streamgauge.synopses.synopsis import Floats, Ints, Merging, Need, Synopsis, Weights

COUNTED: tuple[type[Question], ...] = (Sum, Mean, Quantile, Rank, RangeCount, Frequency)
BYTES_PER_ROW = 16
MOST_ROWS = 2**26


class Sampled(Synopsis):
    """A synopsis that keeps some of the rows.

    A kind says how it takes rows (`_take`) and what it holds (`sample`); answers follow from the
    design of the sample.
    """

    answers = (Count, *COUNTED, Distinct)
    takes = "numbers"
    weights: ClassVar[Weights] = "none"
    merging: ClassVar[Merging] = "sampling"
    law: ClassVar[str] = "rank"
    certain: ClassVar[bool] = False
    fields: ClassVar[tuple[str, ...]] = ("dice", "extremes")

    def __init__(self, *, delta: float, seed: int) -> None:
        super().__init__(seed=seed)
        if not (0.0 < delta < 1.0 or (self.certain and delta == 0.0)):
            raise BindError(
                f"{self.name} needs a chance of failure between 0 and 1",
                f"got delta={delta}",
                "write delta=0.05 for bars that hold with 95%",
            )
        self.delta = delta
        self.dice = dice(seed)
        self.extremes = np.array([math.inf, -math.inf])

    @abstractmethod
    def sample(self) -> Drawn:
        """The rows held, and how they were drawn."""

    @abstractmethod
    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        """Fold a column of finite numbers."""

    @property
    def target(self) -> float:
        """Rows that the sample holds when it is full, which set its guarantee."""
        return float(max(1, len(self.sample().values)))

    @property
    def guarantee(self) -> Guarantee:
        """Ranks, and shares of rows, within `epsilon`; sums within as much of their range."""
        epsilon = min(1.0, math.sqrt(math.log(2.0 / self.delta) / (2.0 * self.target)))
        return Guarantee(
            self.law, epsilon, self.delta, ("seed independent of the data",), "H63 thm 4"
        )

    def guarantee_for(self, need: Need) -> Guarantee:
        """Sums and averages within a share of the range that the universe allows."""
        found = super().guarantee_for(need)
        if not isinstance(need.question, Sum | Mean) or need.universe is None:
            return found
        unit = _share_of_sums(replace(need.contract, within=1.0), need)
        share = math.sqrt(math.log(20.0 / self.delta) / (2.0 * self.target))
        return replace(
            found, law=need.contract.tolerance, epsilon=share / unit if unit else math.inf
        )

    def _ready(self, given: Items) -> Any:
        column = super()._ready(given)
        if not np.isfinite(column).all():
            wrong = int((~np.isfinite(column)).sum())
            raise BindError(
                f"{self.name} takes finite numbers",
                f"{wrong} of {len(column)} are infinite",
                "leave those rows out: a sample cannot bound their sum",
            )
        return column

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        self.extremes[0] = min(self.extremes[0], float(column.min()))
        self.extremes[1] = max(self.extremes[1], float(column.max()))
        # One zero, so that equal numbers have equal bits.
        self._take(np.ascontiguousarray(column + 0.0), weights, times)

    def _merge_shared(self, other: Any) -> None:
        """Take another's extremes and stir its dice into these."""
        self.extremes[0] = min(self.extremes[0], other.extremes[0])
        self.extremes[1] = max(self.extremes[1], other.extremes[1])
        self.dice[1] ^= other.dice[1]
        self.dice[2] += other.dice[2]

    # Answers.

    def _answer(self, question: Any) -> Any:
        drawn = self.sample()
        mass = self._mass(drawn)
        chance = 0.0 if drawn.design.exhaustive else self.delta
        if isinstance(question, Count):
            return self._bar(*mass, 0.0 if mass.low == mass.high else self.delta)
        if isinstance(question, Distinct):
            return self._bar(*distinct_span(drawn, self.delta), chance)
        if not mass.value > 0.0:
            return NOTHING if isinstance(question, Mean | Quantile) else self._bar(0.0, 0.0, 0.0, 0)
        if isinstance(question, Quantile):
            return self._bar(*self._quantile(drawn, question.phi), chance)
        if isinstance(question, Sum | Mean):
            span = self._total(drawn)
            scale = Span(1.0, 1.0, 1.0) if isinstance(question, Sum) else mass
            if isinstance(drawn.design, Unsized) and isinstance(question, Mean):
                span, scale = self._total(_of_one(drawn)), Span(1.0, 1.0, 1.0)
            value, low, high = (end / scale.value for end in span)
            return self._bar(value, low, high, chance)
        span = drawn.design.span(_counted(question), drawn.values, self._tail(drawn))
        return self._bar(*span, chance)

    def _mass(self, drawn: Drawn) -> Span:
        """Weight of all rows."""
        design = drawn.design
        return design.n if isinstance(design, Unsized) else Span(*(design.mass,) * 3)

    def _tail(self, drawn: Drawn) -> float:
        """Chance of failure on each side; half of it is spent where the number is estimated."""
        design = drawn.design
        estimated = isinstance(design, Unsized) and design.n.low < design.n.high
        return self.delta / 4.0 if estimated else self.delta / 2.0

    def _total(self, drawn: Drawn) -> Span:
        """Sum of all items."""
        low, high = float(self.extremes[0]), float(self.extremes[1])
        mass = self._mass(drawn)
        if drawn.design.exhaustive:
            exact = float(drawn.values @ drawn.design.stands_for(len(drawn.values)))
            return Span(exact, exact, exact)
        if low == high:
            ends = sorted((low * mass.low, low * mass.high))
            return Span(low * mass.value, *ends)
        span = drawn.design.span(Scaled(low, high), drawn.values, self._tail(drawn))
        lows = (low * mass.low, low * mass.high)
        value = low * mass.value + (high - low) * span.value
        bottom = min(lows) + (high - low) * span.low
        return Span(value, min(bottom, value), max(value, max(lows) + (high - low) * span.high))

    def _quantile(self, drawn: Drawn, phi: float) -> Span:
        """The sampled item at rank phi, between those that surely fall short of and reach it."""
        if isinstance(drawn.design, Unsized):
            drawn = _of_one(drawn)
        design, tail = drawn.design, self._tail(drawn)
        owed = max(phi * design.mass * (1.0 - 1e-12), 1e-12)
        if isinstance(design, Simple | Replaced):
            owed = max(1.0, math.ceil(owed))
        least, most = float(self.extremes[0]), float(self.extremes[1])
        if not len(drawn.values):
            return Span(0.5 * (least + most), least, most)
        order = np.argsort(drawn.values, kind="stable")
        items = drawn.values[order]
        reached = np.cumsum(design.stands_for(len(items))[order])
        place = int(np.searchsorted(reached, phi * reached[-1] * (1.0 - 1e-9)))
        value = float(items[min(place, len(items) - 1)])
        below, above = design.crossing(drawn.values, owed, tail)
        low, high = least if below is None else below, most if above is None else above
        return Span(min(max(value, low), high), low, high)

    # Sizes.

    @classmethod
    def _rows_for(cls, need: Need) -> tuple[int, float]:
        """Rows to sample, and the chance of failure, for a need; or a refusal."""
        contract = need.contract
        if contract.tolerance == "exact" or contract.confidence >= 1.0:
            raise ContractUnsatisfiable(
                f"{cls.name} cannot be exact or certain",
                f"asked for {contract}",
                "write Contract.rank(0.01, confidence=0.99), or ask for Contract.exact()",
            )
        delta = 1.0 - contract.confidence
        share, spare = _share_owed(cls.name, need), 1.0
        if isinstance(need.question, Sum | Mean):
            # Bars of sums are capped by the plain bound at a tenth of the chance.
            spare = 10.0
        size = math.ceil(math.log(2.0 * spare / delta) / (2.0 * share * share))
        if size > MOST_ROWS:
            raise ContractUnsatisfiable(
                f"{cls.name} would be too large",
                f"{size:,} rows for {contract}, at most {MOST_ROWS:,}",
                "ask for a wider bar, or for Contract.exact()",
            )
        if need.memory is not None and size * BYTES_PER_ROW > need.memory:
            feasible = math.sqrt(
                math.log(2.0 * spare / delta) / (2.0 * max(1, need.memory // BYTES_PER_ROW))
            )
            raise ContractUnsatisfiable(
                f"{cls.name} does not hold the contract in this memory",
                f"{size} rows of {BYTES_PER_ROW} bytes, {need.memory} allowed",
                f"widen the contract to {feasible / share:.3g} times its width, or give memory",
            )
        return size, delta


def _of_one(drawn: Drawn) -> Drawn:
    """The same sample of shares instead of totals."""
    one = Unsized(Span(1.0, 1.0, 1.0), len(drawn.values))
    return Drawn(drawn.values, one, drawn.rows)


def _counted(question: Question) -> Feature:
    if isinstance(question, Rank):
        return Between(-math.inf, question.value)
    if isinstance(question, RangeCount):
        return Between(question.low, question.high)
    assert isinstance(question, Frequency), f"{question} is no count"
    return Between(question.item, question.item)


def _share_owed(name: str, need: Need) -> float:
    """Largest admissible error as a share of the rows, or of their range."""
    contract, question = need.contract, need.question
    within: float | None = None
    if isinstance(question, Quantile):
        within = contract.within if contract.tolerance == "rank" else None
    elif isinstance(question, Rank | RangeCount | Frequency):
        within = _share_of_counts(contract, need.rows)
    elif isinstance(question, Sum | Mean) and need.universe is not None:
        within = _share_of_sums(contract, need)
    elif isinstance(question, Count):
        within = 1.0
    if within is None or within <= 0.0:
        raise ContractUnsatisfiable(
            f"{name} cannot owe this of {type(question).__name__}",
            f"asked for {contract}; rows {need.rows}, universe {need.universe}",
            "owe a rank for quantiles, a share of the rows for counts; sums need a universe",
        )
    return min(within, 1.0)


def _share_of_counts(contract: Contract, rows: int | None) -> float | None:
    if contract.tolerance == "rank":
        return contract.within
    if contract.tolerance == "relative":
        return None
    return None if rows is None else contract.within / max(1, rows)


def _share_of_sums(contract: Contract, need: Need) -> float | None:
    assert need.universe is not None
    low, high = need.universe
    reach = float(max(1, high - low))
    if contract.tolerance == "relative":
        # The value is at least as far from zero as the nearer end of the universe.
        nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        return contract.within * nearest / reach
    if contract.tolerance != "absolute":
        return None
    if isinstance(need.question, Mean):
        return contract.within / reach
    return None if need.rows is None else contract.within / (reach * max(1, need.rows))
