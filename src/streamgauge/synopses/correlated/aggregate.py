"""Correlated aggregate: what all of them share, from columns to answers.

A row has an x, which is compared, and a y, which is summed. Two filters may say which rows enter
the aggregate that x is compared with, and which rows are counted.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.contracts.estimate import NOTHING, Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.keys import Column, items, numbers
from streamgauge.synopses.correlated.questions import Of
from streamgauge.synopses.correlated.table import MEASURES, new_table
from streamgauge.synopses.synopsis import Arrays, Expiring, Floats, Ints, Need, Synopsis, Values

Mask = npt.NDArray[np.bool_]

REALLOCATIONS = ("piecemeal", "wholesale")
PARTITIONS = ("uniform", "quantile")


class Trace(NamedTuple):
    """Answers after every row, as columns."""

    value: Floats
    low: Floats
    high: Floats


class CorrelatedAggregate(Synopsis):
    """An aggregate over rows chosen by comparison with another aggregate of the same stream.

    Buckets lie where the comparison is likely to cut; `counts[0]` says how many there are, none
    while the rows are fewer.
    """

    takes = "numbers"
    weights = "any"
    merging = "none"
    least_buckets: ClassVar[int] = 4
    bytes_per_row: ClassVar[int] = 24

    counts: Ints

    def __init__(self, buckets: int, reallocation: str, partition: str, *, seed: int = 0) -> None:
        refuse_small(self.name, "buckets", buckets, self.least_buckets)
        refuse_unknown(self.name, "reallocation", reallocation, REALLOCATIONS)
        refuse_unknown(self.name, "partition", partition, PARTITIONS)
        super().__init__(seed=seed)
        self.span = np.array([math.inf, -math.inf])
        self.buckets, self.reallocation, self.partition = buckets, reallocation, partition
        self.edges, self.table = new_table(buckets)

    @property
    def guarantee(self) -> Guarantee:
        """Sure bars, whose width is known only once the rows are."""
        return Guarantee(
            "additive",
            math.inf,
            assumes=("no width is known beforehand: bars are carried along with the buckets",),
            cite="GKS01",
        )

    @classmethod
    def _buckets_for(cls, need: Need) -> int:
        """A bucket for every row, or a refusal: else nothing can be promised beforehand."""
        rows, windowed = need.rows, issubclass(cls, Expiring)
        fits = rows is not None and rows * cls.bytes_per_row <= (need.memory or 1 << 20)
        asked = isinstance(need.question, cls.answers) and (not windowed or need.window)
        if rows is not None and fits and asked:
            return max(rows, cls.least_buckets)
        scope = f", window {need.window}" if windowed else ""
        raise ContractUnsatisfiable(
            f"{cls.name} cannot say beforehand how wide its bars will be",
            f"asked for {need.contract}, rows {rows}{scope}",
            f"ask for the exact answer over {'the' if windowed else 'a'} stored window, "
            "or read the bar it gives",
        )

    @abstractmethod
    def _rows(self, given: Floats, times: Ints, out: Floats) -> None:
        """Fold rows (x, plus, minus, flags); write the nine totals after each into `out`."""

    @abstractmethod
    def _totals(self, question: Any) -> Floats:
        """Count, plus and minus of the rows a question is about, each as value, least, most."""

    @abstractmethod
    def _state(self) -> tuple[Values, Arrays]:
        """What `_save` writes, but the span of y."""

    @property
    def laid(self) -> int:
        """Buckets there are now."""
        return int(self.counts[0])

    def _buckets_state(self) -> Arrays:
        k = self.laid
        return {"edges": self.edges[: k + 1], "table": self.table[:, : k + 1]}

    def _restore(self, values: Values, arrays: Arrays) -> None:
        """Take what `_state` gave."""
        self.counts = arrays["counts"]
        k = self.laid
        self.edges[: k + 1], self.table[:, : k + 1] = arrays["edges"], arrays["table"]

    @property
    def nbytes(self) -> int:
        """Bytes of the buckets."""
        return self.edges.nbytes + self.table.nbytes

    def validate(self) -> None:
        """Edges rise; bounds hold the totals' order."""
        super().validate()
        k = self.laid
        assert (np.diff(self.edges[: k + 1]) >= 0).all()
        assert (self.table[1::3, : k + 1] <= self.table[2::3, : k + 1] + 1e-6).all()

    def update(
        self, column: Column, weights: Column | None = None, times: Column | None = None
    ) -> None:
        """Fold x (the column) and y (the weights; 1 where there are none)."""
        _refuse_infinite(numbers(items(column)))
        super().update(column, weights, times)

    def observe(
        self,
        x: Column,
        y: Column | None = None,
        *,
        compared: Mask | None = None,
        counted: Mask | None = None,
        times: Column | None = None,
    ) -> None:
        """Fold rows of which only some enter the aggregate compared with, or are counted."""
        given = items(x)
        column = numbers(given)
        _refuse_infinite(column)
        weights = self._checked_weights(y, len(given) + given.skipped, given)
        every = np.ones(len(given) + given.skipped, np.bool_)
        flags = np.stack([every if mask is None else mask for mask in (compared, counted)])
        if given.kept is not None:
            flags = flags[:, given.kept]
        instants = None if times is None else given.align(np.asarray(times, np.int64))
        self.skipped += given.skipped
        self.rows += len(column)
        added = np.ones(len(column)) if weights is None else weights
        self.mass += float(added[flags[1]].sum())
        self._take(column, added, flags, instants, np.empty((0, 3 * MEASURES)))

    def trace(
        self,
        x: Column,
        y: Column | None = None,
        *,
        of: Of = "count",
        times: Column | None = None,
    ) -> Trace:
        """Fold rows and return the answer after each of them."""
        column = np.asarray(x, np.float64)
        _refuse_infinite(column)
        added = np.ones(len(column)) if y is None else np.asarray(y, np.float64)
        self.rows += len(column)
        self.mass += float(added.sum())
        out = np.empty((len(column), 3 * MEASURES))
        flags = np.ones((2, len(column)), np.bool_)
        instants = None if times is None else np.asarray(times, np.int64)
        self._take(column, added, flags, instants, out)
        if of == "count":
            return Trace(out[:, 0], out[:, 1], out[:, 2])
        return Trace(out[:, 3] - out[:, 6], out[:, 4] - out[:, 8], out[:, 5] - out[:, 7])

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        added = np.ones(len(column)) if weights is None else weights
        flags = np.ones((2, len(column)), np.bool_)
        self._take(column, added, flags, times, np.empty((0, 3 * MEASURES)))

    def _take(self, x: Floats, y: Floats, flags: Mask, times: Ints | None, out: Floats) -> None:
        if not len(x):
            return
        counted = y[flags[1]]
        if len(counted):
            self.span[0] = min(self.span[0], counted.min())
            self.span[1] = max(self.span[1], counted.max())
        rows = np.stack([x, np.maximum(y, 0.0), np.maximum(-y, 0.0), flags[0] + 2.0 * flags[1]])
        instants = np.zeros(len(x), np.int64) if times is None else times
        self._rows(rows, np.ascontiguousarray(instants), out)

    def _answer(self, question: Any) -> Any:
        return self._estimate(self._totals(question), question.of)

    def _estimate(self, totals: Floats, of: Of) -> Estimate:
        count, plus, minus = totals.reshape(MEASURES, 3).tolist()
        if of == "count":
            return self._within(count[0], count[1], count[2])
        value, low, high = plus[0] - minus[0], plus[1] - minus[2], plus[2] - minus[1]
        if of == "sum":
            return self._within(value, low, high)
        if count[2] <= 0.0 or not self.rows:
            return NOTHING
        ends = [-math.inf, math.inf]
        if count[1] > 0.0:
            ratios = [total / n for total in (low, high) for n in count[1:]]
            ends = [min(ratios), max(ratios)]
        low, high = max(ends[0], float(self.span[0])), min(ends[1], float(self.span[1]))
        mean = value / count[0] if count[0] > 0.0 else (low + high) / 2.0
        return self._within(mean, low, high)

    def _within(self, value: float, low: float, high: float) -> Estimate:
        # Sums of y that are no whole numbers are rounded; the bar has room for it.
        slack = 1e-12 * max(abs(low), abs(high)) if low != high else 0.0
        low, high = min(low, high) - slack, max(low, high) + slack
        return self._bar(min(max(value, low), high), low, high)

    def restart(self) -> None:
        """Begin anew at a landmark: forget all rows."""
        vars(self).update(vars(self.empty()))

    def _save(self) -> tuple[Values, Arrays]:
        values, arrays = self._state()
        return values, {**arrays, "span": self.span}

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.span = arrays["span"]
        self._restore(values, arrays)


def refuse_unknown(name: str, what: str, given: str, known: tuple[str, ...]) -> None:
    """Refuse a word that is not among those known."""
    if given not in known:
        raise BindError(
            f"{name} does not know the {what} {given!r}",
            f"known are {', '.join(known)}",
            f"write {what}={known[0]!r}",
        )


def refuse_small(name: str, what: str, given: float, least: float) -> None:
    """Refuse a number that is too small."""
    if not given >= least:
        raise BindError(
            f"{name} needs {what} of {least} or more",
            f"{what} is {given}",
            f"write {what}={least} or more",
        )


def _refuse_infinite(column: Floats) -> None:
    wrong = ~np.isfinite(column)
    if wrong.any():
        raise BindError(
            "correlated aggregates compare finite numbers",
            f"{int(wrong.sum())} of {len(column)} are not, the first is {column[wrong][0]}",
            "leave those rows out",
        )
