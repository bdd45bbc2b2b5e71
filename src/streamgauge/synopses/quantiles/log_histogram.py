"""Log histogram: any quantile within a share of its value, without chance, also after deletions.

Counts of numbers in bins of equal relative width, of negative ones in their mirror image, and of
zeros. The bar of a quantile is the bin it lies in. Linear, so parts merge and subtract exactly and
rows can be taken back; joining bins two by two halves the memory for twice the error.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import Column, items, numbers
from streamgauge.kernel.memory import claimed
from streamgauge.synopses.bank import Bank, Bars, Codes
from streamgauge.synopses.quantiles.log_bins import Bins, alpha_of, bins_for, ends
from streamgauge.synopses.quantiles.log_grid import (
    Grid,
    combined,
    counted,
    empty_grid,
    joined,
    span_of,
    trimmed,
    widened,
)
from streamgauge.synopses.questions import Count, Max, Min, Quantile, Question, RangeCount, Rank
from streamgauge.synopses.synopsis import (
    Arrays,
    Coarsening,
    Floats,
    Ints,
    Need,
    Subtractable,
    Synopsis,
    Trial,
    Values,
)

_ROUNDING = 1e-9
"""Share of the weight that sums of weights with fractions may be off."""


class LogHistogram(Synopsis, Subtractable, Coarsening):
    """Quantiles within `alpha` of their value.

    Parameters
    ----------
    alpha
        Largest relative error of a quantile, 0.0001 to 0.5. Memory grows with log(largest /
        smallest magnitude) / alpha; 1e-3 to 1e3 at 0.01 are 720 bins.
    folds
        How often bins were joined two by two; each takes alpha to 2 alpha / (1 + alpha^2).
    seed
        Not used; parts to be merged need the same.

    Examples
    --------
    >>> sketch = LogHistogram(alpha=0.01)
    >>> sketch.update([1.0, 10.0, 100.0, -5.0])
    >>> sketch.update([100.0], weights=[-1.0])
    >>> print(sketch.query(Quantile(1.0)))
    9.9815 in [9.88672, 10.0781], log_histogram
    >>> print(sketch.query(Rank(0.0)))
    1 in [1, 1], log_histogram

    References
    ----------
    MRL19: docs/references.md
    """

    name = "log_histogram"
    answers = (Quantile, Rank, RangeCount, Count, Min, Max)
    takes = "numbers"
    weights = "strict"
    merging = "exact"
    small = (0.05,)

    def __init__(self, alpha: float = 0.01, folds: int = 0, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if not 1e-4 <= alpha <= 0.5 or not 0 <= folds <= 16:
            raise BindError(
                "alpha lies between 0.0001 and 0.5, folds between 0 and 16",
                f"got alpha={alpha}, folds={folds}",
                "write LogHistogram(alpha=0.01)",
            )
        self.alpha = alpha
        self.folds = folds
        self.bins = bins_for(alpha, folds)
        self.grid = empty_grid(1)
        self.whole = True

    @property
    def guarantee(self) -> Guarantee:
        """A quantile is off by `epsilon` of its value at most, always."""
        return Guarantee(
            "relative",
            alpha_of(self.bins),
            assumes=(
                "no number has negative weight in all",
                "numbers nearer to 0 than 2.3e-308 count as 0",
            ),
            cite="MRL19 prop 3",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """`alpha` from the tolerance in value; an absolute one needs the universe."""
        contract = need.contract
        within = contract.within if contract.tolerance == "relative" else 0.0
        if contract.tolerance == "absolute" and need.universe is not None:
            within = contract.within / max(1.0, *map(abs, need.universe))
        if within < 1e-4 or not isinstance(need.question, Quantile | Min | Max):
            raise ContractUnsatisfiable(
                "log_histogram owes a share of a quantile's value, 0.0001 or more",
                f"asked for {contract} of {type(need.question).__name__}",
                "write Contract.relative(0.01), or use kll for an error in rank",
            )
        # The bar must fit the contract seen from the value as well as from the truth.
        new = cls(min(within / (1.0 + within), 0.5), seed=seed)
        if need.memory is not None and need.universe is not None:
            octaves = sum(math.log2(max(1, abs(end))) + 1.0 for end in need.universe)
            size = 8 * new.bins.per_octave * octaves
            if size > need.memory:
                raise ContractUnsatisfiable(
                    "log_histogram would be too large",
                    f"{contract} over {need.universe} takes {size:.0f} bytes of {need.memory}",
                    f"ask for Contract.relative({within * size / need.memory:.2g})",
                )
        return new

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Numbers at the very ends of one bin."""
        lows, highs = ends(cls.specimen(seed).bins, np.array([8 * 1030 + seed % 8], np.int64))
        return Trial(np.array([lows[0], highs[0]]), Quantile(0.5 if seed % 2 else 1.0))

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        self.whole = self.whole and _whole(weights)
        groups = np.zeros(len(column), np.int32)
        self.grid = counted(self.bins, self.grid, groups, column, weights)

    def _merge(self, other: Self) -> None:
        self.whole = self.whole and other.whole
        self.grid = combined(self.grid, other.grid, 1.0)

    def _subtract(self, other: Any) -> None:
        self.whole = self.whole and other.whole
        self.grid = combined(self.grid, other.grid, -1.0)

    def coarsened(self) -> Self:
        """Half the bins, twice the error."""
        new = type(self)(self.alpha, self.folds + 1, seed=self.seed)
        new.rows, new.mass, new.skipped = self.rows, self.mass, self.skipped
        new.whole = self.whole
        new.grid = joined(trimmed(self.grid))
        return new

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            return self._bar(self.mass, self.mass, self.mass)
        value, low, high, _ = _bars(self.bins, self.grid, question, self.whole)
        return self._bar(float(value[0]), float(low[0]), float(high[0]))

    def _save(self) -> tuple[Values, Arrays]:
        grid = trimmed(self.grid)
        layout = [grid.n_negative, grid.first_negative, grid.first_positive]
        return {"layout": layout, "whole": self.whole}, {"counts": grid.counts[0]}

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.whole = values["whole"]
        self.grid = Grid(
            arrays["counts"].reshape(1, -1), np.array([self.rows], np.int64), *values["layout"]
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the counts."""
        return self.grid.counts.nbytes

    def validate(self) -> None:
        """The bins hold the whole weight, none of them a negative one."""
        counts = self.grid.counts
        assert math.isclose(counts.sum(), self.mass, rel_tol=1e-9, abs_tol=1e-9)
        assert (counts >= -_ROUNDING * max(1.0, abs(self.mass))).all()


def _whole(weights: Floats | None) -> bool:
    return weights is None or bool((weights == np.rint(weights)).all())


def _edges(bins: Bins, grid: Grid) -> tuple[Floats, Floats, Floats]:
    """Smallest, middle and largest number of each column."""
    zero = grid.n_negative
    n_positive = grid.counts.shape[1] - zero - 1
    neg_low, neg_high = ends(bins, grid.first_negative + np.arange(zero, dtype=np.int64)[::-1])
    pos_low, pos_high = ends(bins, grid.first_positive + np.arange(n_positive, dtype=np.int64))
    lows = np.concatenate([-neg_high, [0.0], pos_low])
    highs = np.concatenate([-neg_low, [0.0], pos_high])
    near, far = np.minimum(np.abs(lows), np.abs(highs)), np.maximum(np.abs(lows), np.abs(highs))
    with np.errstate(invalid="ignore", over="ignore"):
        middle = np.copysign(near * (2.0 / (1.0 + near / far)), lows)
    return lows, np.where(np.isnan(middle), lows, middle), highs


def _bars(bins: Bins, grid: Grid, question: Question, whole: bool) -> Bars:
    lows, middles, highs = _edges(bins, grid)
    slack = 0.0 if whole else _ROUNDING
    if isinstance(question, Rank | RangeCount):
        start = question.low if isinstance(question, RangeCount) else -np.inf
        stop = question.high if isinstance(question, RangeCount) else question.value
        return _range_bars(grid.counts, lows, highs, start, stop)
    places = np.empty((len(grid.counts), 3), np.int64)
    if isinstance(question, Quantile):
        _quantile_places(grid.counts, question.phi, slack, places)
    else:
        _extreme_places(grid.counts, isinstance(question, Max), slack, places)
    nothing = places[:, 1] < 0
    return Bars(
        np.where(nothing, np.nan, middles[places[:, 1]]),
        np.where(nothing, -np.inf, lows[places[:, 0]]),
        np.where(nothing, np.inf, highs[places[:, 2]]),
        1.0,
    )


def _range_bars(counts: Floats, lows: Floats, highs: Floats, start: float, stop: float) -> Bars:
    """Weight of the columns inside of a range, and of those that it touches."""
    if stop < start:
        nothing = np.zeros(len(counts))
        return Bars(nothing, nothing.copy(), nothing.copy(), 1.0)
    inner = slice(int(np.searchsorted(lows, start)), int(np.searchsorted(highs, stop, "right")))
    touched = slice(int(np.searchsorted(highs, start)), int(np.searchsorted(lows, stop, "right")))
    low, high = counts[:, inner].sum(axis=1), counts[:, touched].sum(axis=1)
    # Of a column that is cut, the share that the range covers is the best guess.
    with np.errstate(invalid="ignore"):
        covered = np.minimum(highs[touched], stop) - np.maximum(lows[touched], start)
        share = np.clip(covered / (highs[touched] - lows[touched]), 0.0, 1.0)
    share = np.where((lows[touched] >= start) & (highs[touched] <= stop), 1.0, share)
    value = counts[:, touched] @ np.nan_to_num(share, nan=0.5)
    return Bars(np.clip(value, low, high), low, high, 1.0)


@compiled
def _quantile_places(counts, phi, slack, places):  # type: ignore[no-untyped-def]
    """Columns of the least, likeliest and most that a quantile can be; -1 where none is sworn."""
    n_groups, width = counts.shape
    for group in range(n_groups):
        total = 0.0
        least = 0.0
        for place in range(width):
            total += counts[group, place]
            least = min(least, counts[group, place])
        places[group] = -1
        # More was taken back than was there: nothing can be said.
        if not total > 0.0 or least < -_ROUNDING * total:
            continue
        wanted = max(phi * total, 1e-12) * (1.0 - 1e-12)
        reached = 0.0
        for place in range(width):
            held = counts[group, place]
            reached += held
            if held <= 0.0:
                continue
            if reached >= wanted - slack * total and places[group, 0] < 0:
                places[group, 0] = place
            if reached >= wanted and places[group, 1] < 0:
                places[group, 1] = place
            places[group, 2] = place
            if reached >= wanted + slack * total:
                break
        if places[group, 1] < 0:
            places[group, 1] = places[group, 2]
        if places[group, 0] < 0:
            places[group, 0] = places[group, 1]


@compiled
def _extreme_places(counts, largest, slack, places):  # type: ignore[no-untyped-def]
    """Columns of the least, likeliest and most that the smallest or largest number can be."""
    n_groups, width = counts.shape
    for group in range(n_groups):
        total = 0.0
        for place in range(width):
            total += counts[group, place]
        outer, inner = -1, -1
        for step in range(width):
            place = width - 1 - step if largest else step
            if counts[group, place] > 0.0 and outer < 0:
                outer = place
            # Less than sums round to may be left of rows that were taken back.
            if counts[group, place] > slack * total:
                inner = place
                break
        if inner < 0:
            inner = outer
        places[group, 0] = min(outer, inner)
        places[group, 1] = inner
        places[group, 2] = max(outer, inner)


class LogHistogramBank(Bank):
    """Log histograms of all groups in one array.

    Examples
    --------
    >>> bank = LogHistogramBank(LogHistogram(alpha=0.01), 2)
    >>> bank.update(np.array([0, 1, 0], np.int32), [1.0, 5.0, 3.0])
    >>> bank.bars(Quantile(1.0)).value.round(1)
    array([3., 5.])
    """

    def __init__(self, model: LogHistogram, n_groups: int) -> None:
        self.model = model
        self.n_groups = n_groups
        self.grid = empty_grid(n_groups)
        self.whole = True
        self._claim = claimed()

    @property
    def nbytes(self) -> int:
        """Bytes of all counts."""
        return self.grid.counts.nbytes + self.grid.rows.nbytes

    def resize(self, n_groups: int) -> None:
        """Make room for more groups."""
        more = n_groups - self.n_groups
        if more > 0:
            self._claim.ask(self.nbytes + more * 8 * (self.grid.counts.shape[1] + 1))
            counts = np.pad(self.grid.counts, ((0, more), (0, 0)))
            self.grid = self.grid._replace(counts=counts, rows=np.pad(self.grid.rows, (0, more)))
            self.n_groups = n_groups

    def update(self, groups: Codes, column: Column, weights: Floats | None = None) -> None:
        """Count rows."""
        given = items(column)
        kept = self.model._checked_weights(weights, len(given) + given.skipped, given)
        self.whole = self.whole and _whole(kept)
        codes = np.ascontiguousarray(given.align(np.asarray(groups, np.int32)))
        self.grid = counted(self.model.bins, self.grid, codes, numbers(given), kept)
        self._claim.ask(self.nbytes)

    def merge(self, other: LogHistogramBank) -> None:
        """Add the counts of another bank."""
        self._combine(other, 1.0)

    def subtract(self, other: LogHistogramBank) -> None:
        """Take the counts of another bank away."""
        self._combine(other, -1.0)

    def _combine(self, other: LogHistogramBank, sign: float) -> None:
        self.model._check_fits(other.model)
        self.resize(other.n_groups)
        self.whole = self.whole and other.whole
        self.grid = combined(self.grid, other.grid, sign)
        self._claim.ask(self.nbytes)

    def clear(self) -> None:
        """Make every group empty."""
        self.grid.counts[:] = 0.0
        self.grid.rows[:] = 0
        self.whole = True

    def bars(self, question: Question) -> Bars:
        """Estimates of every group."""
        if isinstance(question, Count):
            mass = self.grid.counts.sum(axis=1)
            return Bars(mass, mass.copy(), mass.copy(), 1.0)
        return _bars(self.model.bins, self.grid, question, self.whole)

    def synopsis(self, group: int) -> LogHistogram:
        """One group's histogram."""
        new: LogHistogram = self.model.empty()
        own = self.grid._replace(
            counts=self.grid.counts[group : group + 1], rows=self.grid.rows[group : group + 1]
        )
        new.grid = trimmed(own)
        new.whole = self.whole
        new.rows, new.mass = int(new.grid.rows[0]), float(new.grid.counts.sum())
        return new

    def to_bytes(self) -> list[bytes]:
        """Bytes of each group."""
        rows = self.grid.rows
        return [self.synopsis(g).to_bytes() if rows[g] else b"" for g in range(self.n_groups)]

    def load(self, data: list[bytes]) -> None:
        """Take groups from bytes."""
        held = [LogHistogram.from_bytes(part) if part else self.model.empty() for part in data]
        self.n_groups = len(data)
        self.whole = all(one.whole for one in held)
        self.grid = empty_grid(self.n_groups)
        for one in held:
            self.grid = widened(self.grid, *span_of(one.grid))
        for group, part in enumerate(data):
            if part:
                self.model._check_fits(held[group])
                row = widened(held[group].grid, *span_of(self.grid))
                self.grid.counts[group] = row.counts[0]
                self.grid.rows[group] = held[group].rows

    def placed(self, places: npt.NDArray[np.int64], n_groups: int) -> LogHistogramBank:
        """Rows of the grid moved to other groups."""
        new = LogHistogramBank(self.model, n_groups)
        counts = np.zeros((n_groups, self.grid.counts.shape[1]))
        rows = np.zeros(n_groups, np.int64)
        counts[places], rows[places] = self.grid.counts, self.grid.rows
        new.grid, new.whole = self.grid._replace(counts=counts, rows=rows), self.whole
        return new

    def chosen(self, groups: npt.NDArray[np.int64]) -> LogHistogramBank:
        """Rows of the grid of some groups."""
        new = LogHistogramBank(self.model, len(groups))
        counts, rows = self.grid.counts[groups], self.grid.rows[groups]
        new.grid, new.whole = self.grid._replace(counts=counts, rows=rows), self.whole
        return new

    def save(self) -> Arrays:
        """Cells that hold something, by their place in the grid."""
        grid = trimmed(self.grid)
        flat = grid.counts.ravel()
        cells = np.flatnonzero(flat)
        shape = (*grid.counts.shape, *grid[2:], int(self.whole))
        return {
            "cells": cells,
            "counts": flat[cells],
            "rows": grid.rows,
            "shape": np.array(shape, np.int64),
        }

    def restore(self, arrays: Arrays) -> None:
        """Take cells as saved."""
        n_groups, width, *place, whole = arrays["shape"].tolist()
        counts = np.zeros(n_groups * width)
        counts[arrays["cells"]] = arrays["counts"]
        self.n_groups, self.whole = n_groups, bool(whole)
        self.grid = Grid(counts.reshape(n_groups, width), arrays["rows"], *place)
        self._claim.ask(self.nbytes)


LogHistogram.bank_kind = LogHistogramBank
