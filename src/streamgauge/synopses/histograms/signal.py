"""Signal: a number at every whole position from 0, and sums of it over ranges of positions.

The items of a signal are positions and the weights are what is added there. All pictures of a
signal answer the same questions, so how a question becomes a range of cells is written once, here.
"""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import EXACT, Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.keys import Column, items, numbers
from streamgauge.synopses.questions import Count, Frequency, RangeSum
from streamgauge.synopses.synopsis import (
    MOST_BYTES,
    Arrays,
    Floats,
    Ints,
    Merging,
    Need,
    Synopsis,
    Values,
)

END = 1 << 40
"""Positions are below this; it leaves room for the level of a term in the same word."""


class Signal(Synopsis):
    """A picture of a signal: says `_fold` how rows come in and `_sum` what a range of cells holds.

    Rows should come in order of position, each position once or in one run. Late rows are taken:
    they cost accuracy, never the truth of a bar.
    """

    answers = (Frequency, RangeSum, Count)
    takes = "numbers"
    weights = "any"
    merging: ClassVar[Merging] = "error"
    exactly = (Count,)

    def __init__(self, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.negative = False

    @property
    def whole(self) -> int:
        """Cells that it keeps as they are: a signal of no more has no error."""
        return 0

    def guarantee_for(self, need: Need) -> Guarantee:
        """Exact where every cell of the universe is kept."""
        kept = need.universe is not None and need.universe[1] < self.whole
        return EXACT if kept else super().guarantee_for(need)

    @property
    def _end(self) -> int:
        """Positions are below this."""
        return END

    @abstractmethod
    def _fold(self, positions: Ints, weights: Floats) -> None:
        """Add weights at positions, row by row."""

    @abstractmethod
    def _sum(self, start: int, stop: int) -> tuple[float, float, float]:
        """Sum of the cells from `start` up to, not including, `stop`: estimate, least, most."""

    @abstractmethod
    def _state(self) -> tuple[Values, Arrays]:
        """What `_save` writes, but the sign."""

    @abstractmethod
    def _restore(self, values: Values, arrays: Arrays) -> None:
        """Take what `_state` gave."""

    def update(
        self, column: Column, weights: Column | None = None, times: Column | None = None
    ) -> None:
        """Add weights at positions; a column with a wrong position changes nothing."""
        refuse_no_positions(numbers(items(column)), self._end)
        super().update(column, weights, times)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        places = column.astype(np.int64)
        added = np.ones(len(column)) if weights is None else np.ascontiguousarray(weights)
        self.negative = self.negative or bool((added < 0.0).any())
        self._fold(places, added)

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            return self._bar(self.mass, self.mass, self.mass, 0.0)
        start, stop = _cells(question)
        if stop <= start or not self.rows:
            return self._bar(0.0, 0.0, 0.0, 0.0)
        return self._clipped(*self._sum(start, stop))

    def _clipped(self, value: float, low: float, high: float) -> Estimate:
        # Nothing was ever taken away, so no range holds less than nothing or more than all.
        if not self.negative:
            low, high = max(low, 0.0), min(high, self.mass)
            low, high = min(low, high), max(low, high)
        return self._bar(min(max(value, low), high), low, high)

    def _save(self) -> tuple[Values, Arrays]:
        values, arrays = self._state()
        return {**values, "negative": self.negative}, arrays

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.negative = bool(values["negative"])
        self._restore(values, arrays)


def refuse_no_positions(column: Floats, end: int) -> None:
    """Refuse a column with fractions, negative or too large numbers."""
    wrong = ~((column >= 0) & (column < end) & (column == np.floor(column)))
    if wrong.any():
        raise BindError(
            f"positions of this signal are whole numbers from 0 to {end - 1}",
            f"{int(wrong.sum())} of {len(column)} are not, the first is {float(column[wrong][0])}",
            "shift or round the positions, or choose a larger height where there is one",
        )


def _cells(question: Any) -> tuple[int, int]:
    """First cell of a question, and the one after its last."""
    if isinstance(question, RangeSum):
        low, high = float(question.low), float(question.high)
        if not low <= high:
            return 0, 0
        return int(min(max(np.ceil(low), 0), END)), int(min(max(np.floor(high) + 1, 0), END))
    item = question.item
    if not isinstance(item, Real) or not 0 <= float(item) < END or float(item) % 1 != 0:
        return 0, 0
    place = int(float(item))
    return place, place + 1


def need_at_least(name: str, value: float, least: float, what: str) -> None:
    """Refuse a parameter below its least value."""
    if not value >= least:
        raise BindError(
            f"{name} needs {what} of {least} or more",
            f"{what} is {value}",
            f"give {what}={least} or more",
        )


def cells_for(need: Need, name: str, bytes_per_cell: int) -> int:
    """Cells that hold the whole universe of a need exactly, or ContractUnsatisfiable."""
    contract = need.contract
    if need.universe is None:
        raise ContractUnsatisfiable(
            f"{name} cannot say beforehand how wide its bars will be",
            f"asked for {contract}; the width depends on the shape of the signal",
            "give the universe of positions to hold it exactly, or use count_min for points",
        )
    cells = need.universe[1] + 1
    allowed = MOST_BYTES if need.memory is None else need.memory
    if cells * bytes_per_cell > allowed:
        raise ContractUnsatisfiable(
            f"{name} holds {contract} only by keeping every cell",
            f"{cells} cells of {bytes_per_cell} bytes, {allowed} bytes allowed",
            f"allow {cells * bytes_per_cell} bytes, or use count_min for points",
        )
    return cells
