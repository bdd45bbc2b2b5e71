"""Strata: rows of one pane by value, of which some are looked at, in an order that is random.

What the summary of a stratum settles needs no look: rows that cannot match, and sums over rows that
all do. Of the others a prefix of a random order is looked at, so that what was seen is a random
sample without replacement, however often the work is taken up again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.operators.expression import Expr
from streamgauge.promise.buckets import Buckets, Floats, Ints, Layout, UInts64, inside, meets
from streamgauge.promise.interval import (
    FIRST,
    HIGH,
    LOW,
    MATCHED,
    MIDDLE,
    ROWS,
    SECOND,
    SURE,
    TAKEN,
    WIDTH,
)

Bools = npt.NDArray[np.bool_]
# Weights above this do not add up.
LARGE = 1e250
Test = Callable[[Ints], Bools]


@dataclass(frozen=True, slots=True)
class Predicate:
    """What a predicate says of the summarised column.

    Parameters
    ----------
    spans
        A row that matches has its value in one of them, ends included; None: nothing is known.
    whole
        Whether a row matches whenever its value is in a span; with no spans, always.
    """

    spans: Floats | None = None
    whole: bool = False

    @property
    def everything(self) -> bool:
        """Whether every row matches."""
        return self.whole and self.spans is None


@dataclass(slots=True)
class Rows:
    """Rows of a pane before anything was decided about them."""

    serial: Ints
    column: Floats | UInts64
    x: Floats
    rank: UInts64

    def __len__(self) -> int:
        return len(self.serial)


@dataclass(slots=True, eq=False)
class Pane:
    """Rows of one pane: what is known of them and what is left to look at.

    Line 0 is all that is known, the others are strata that were not settled by their summary.
    `serial` and `x` hold the rows of those, stratum by stratum, each in its random order; `start`
    says where each begins, `column` their mean value of the summarised column. `items` are the x
    of the matching rows that were looked at, with the line of each, where a quantile needs them.
    Nobody has looked at `left` of the rows, and `first` is the smallest serial number of them all.
    """

    number: int
    waiting: list[Rows] = field(default_factory=list)
    lines: Floats = field(default_factory=lambda: np.zeros((0, WIDTH)))
    start: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    column: Floats = field(default_factory=lambda: np.zeros(1))
    serial: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    x: Floats = field(default_factory=lambda: np.empty(0))
    items: Floats = field(default_factory=lambda: np.empty(0))
    items_line: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    left: int = 0
    first: int = 0

    @property
    def settled(self) -> bool:
        """Whether it was decided what is to be looked at."""
        return len(self.lines) > 0

    @property
    def rows_waiting(self) -> int:
        """Rows about which nothing was decided."""
        return sum(map(len, self.waiting))

    @property
    def rows(self) -> int:
        """Rows there are."""
        return self.rows_waiting + int(self.lines[:, ROWS].sum())

    def gathered(self) -> Rows:
        """All rows that wait, as one."""
        if len(self.waiting) == 1:
            return self.waiting[0]
        names = ("serial", "column", "x", "rank")
        parts = ([getattr(rows, name) for rows in self.waiting] for name in names)
        return Rows(*(np.concatenate(part) for part in parts))

    def wait(self, rows: Rows) -> None:
        """Rows come, with rising serial numbers."""
        self.first = min(self.first, int(rows.serial[0])) if self.waiting else int(rows.serial[0])
        self.waiting.append(rows)

    def divide(self, buckets: Buckets, predicate: Predicate, budget: int, *, ranked: bool) -> None:
        """Settle what summaries tell, and put the rest into strata.

        Parameters
        ----------
        buckets
            Of the summarised column.
        predicate
            What is known of the rows that match.
        budget
            Rows that may be looked at: where nothing is known, strata are no more than that allows.
        ranked
            Whether rows that match must be seen one by one, as quantiles need.
        """
        rows = self.gathered()
        layout = buckets.layout(rows.column)
        if predicate.spans is None:
            layout = merged(layout, max(1, budget // 2))
        filled = np.flatnonzero(layout.rows)
        low, high = layout.low[filled], layout.high[filled]
        possible = meets(predicate.spans, low, high)
        sure = inside(predicate.spans, low, high) & predicate.whole
        summed = sure & (not ranked)
        begin, count = layout.start[filled], layout.rows[filled]
        kept = np.repeat(summed, count)
        x = rows.x[layout.order]
        total = int(count[~possible | summed].sum())
        known = known_line(total, x[kept])
        apart = possible & ~summed
        parts = np.repeat(apart, count)
        order = layout.order[parts]
        stratum = np.repeat(np.arange(int(apart.sum())), count[apart])
        order = order[np.lexsort((rows.rank[order], stratum))]
        self.serial, self.x = rows.serial[order], rows.x[order]
        begin = np.concatenate([[0], np.cumsum(count[apart])])
        lines = np.zeros((len(begin) - 1, WIDTH))
        if len(lines):
            lines[:, ROWS] = count[apart]
            lines[:, LOW] = np.minimum.reduceat(self.x, begin[:-1])
            lines[:, HIGH] = np.maximum.reduceat(self.x, begin[:-1])
            lines[:, MIDDLE] = 0.5 * lines[:, LOW] + 0.5 * lines[:, HIGH]
            lines[:, SURE] = sure[apart]
        self.lines = np.concatenate([known, lines])
        self.start = np.concatenate([[0], begin[:-1]]).astype(np.int64)
        self.column = np.concatenate([[0.0], layout.mean[filled][apart]])
        self.left = len(order)
        self.waiting = []

    def chosen(self, more: Ints) -> Ints:
        """Places of the next `more` rows of each line, in their random order."""
        first = self.start + self.lines[:, TAKEN].astype(np.int64)
        ends = np.cumsum(more)
        places: Ints = np.arange(ends[-1]) + np.repeat(first - (ends - more), more)
        return places

    def saw(self, more: Ints, places: Ints, match: Bools, *, keep: bool) -> None:
        """Take note of what was found at the chosen places."""
        line = np.repeat(np.arange(len(self.lines)), more)
        hit, at = line[match], self.x[places[match]]
        off = at - self.lines[hit, MIDDLE]
        size = len(self.lines)
        self.left -= len(places)
        self.lines[:, TAKEN] += more
        self.lines[:, MATCHED] += np.bincount(hit, minlength=size)
        self.lines[:, FIRST] += np.bincount(hit, off, minlength=size)
        self.lines[:, SECOND] += np.bincount(hit, off * off, minlength=size)
        if keep:
            self.items = np.concatenate([self.items, at])
            self.items_line = np.concatenate([self.items_line, hit])
        if not self.left:
            self._close()

    def _close(self) -> None:
        """All is known: one line says it."""
        self.lines = summed(self.lines)
        self.start, self.column = np.zeros(1, np.int64), np.zeros(1)
        self.serial, self.x = np.empty(0, np.int64), np.empty(0)
        self.items_line = np.zeros(len(self.items), np.int64)


def known_line(rows: int, x: Floats) -> Floats:
    """The line of rows of which those with these x match."""
    line = np.zeros((1, WIDTH))
    line[0, [ROWS, TAKEN, MATCHED]] = rows, rows, len(x)
    if len(x):
        line[0, FIRST], line[0, LOW], line[0, HIGH] = x.sum(), x.min(), x.max()
    return line


def known_lines(start: Ints, x: Floats, match: Bools) -> Floats:
    """Lines of rows that were all looked at, one for each stretch of them.

    >>> known_lines(np.array([0, 2]), np.array([1.0, 2, 3]), np.array([True, True, False]))[:, :4]
    array([[2., 2., 2., 3.],
           [1., 1., 0., 0.]])
    """
    lines = np.zeros((len(start), WIDTH))
    lines[:, ROWS] = lines[:, TAKEN] = np.diff(start, append=len(x))
    lines[:, MATCHED] = np.add.reduceat(match.astype(np.float64), start)
    lines[:, FIRST] = np.add.reduceat(np.where(match, x, 0.0), start)
    some = lines[:, MATCHED] > 0
    lines[some, LOW] = np.minimum.reduceat(np.where(match, x, np.inf), start)[some]
    lines[some, HIGH] = np.maximum.reduceat(np.where(match, x, -np.inf), start)[some]
    return lines


def summed(lines: Floats) -> Floats:
    """One line for all, of which all is known."""
    line = np.zeros((1, WIDTH))
    line[0, [ROWS, TAKEN, MATCHED]] = lines[:, [ROWS, TAKEN, MATCHED]].sum(axis=0)
    line[0, FIRST] = (lines[:, FIRST] + lines[:, MIDDLE] * lines[:, MATCHED]).sum()
    matched = lines[lines[:, MATCHED] > 0]
    if len(matched):
        line[0, LOW], line[0, HIGH] = matched[:, LOW].min(), matched[:, HIGH].max()
    return line


def merged(layout: Layout, most: int) -> Layout:
    """At most so many buckets: neighbours together."""
    count = len(layout.low)
    each = -(-count // most)
    if each <= 1:
        return layout
    first = np.arange(0, count, each)
    rows = np.add.reduceat(layout.rows, first)
    total = np.add.reduceat(layout.rows * layout.mean, first)
    return Layout(
        layout.order,
        np.concatenate([layout.start[first], layout.start[-1:]]),
        np.minimum.reduceat(layout.low, first),
        np.maximum.reduceat(layout.high, first),
        total / np.maximum(1, rows),
    )


def apportioned(weights: Floats, room: Ints, total: int) -> Ints:
    """Whole shares of a total in the ratio of weights, none above its room (largest remainders).

    What does not fit goes to the others in the same ratio; where no weight is left, by room.

    >>> apportioned(np.array([1.0, 1.0, 2.0]), np.array([100, 1, 100]), 9)
    array([3, 1, 5])
    """
    top = float(weights.max(initial=0.0))
    if not top < LARGE:
        # Sums of such weights have no end; the largest of them count alike.
        weights = np.minimum(np.nan_to_num(weights, nan=0.0), LARGE) / LARGE
    found: Ints = _apportioned(weights, room, np.int64(total))
    return found


@compiled
def _apportioned(weights, room, total):  # type: ignore[no-untyped-def]
    given = np.zeros(len(room), np.int64)
    total = min(total, room.sum())
    while total > 0:
        rest = room - given
        weight = np.where(rest > 0, weights, 0.0)
        if not weight.sum() > 0.0:
            weight = rest.astype(np.float64)
        ideal = total * (weight / weight.sum())
        part = np.zeros(len(room), np.int64)
        if (ideal > rest).any():
            part = np.where(ideal > rest, rest, part)
        else:
            part = np.minimum(rest, np.floor(ideal).astype(np.int64))
            over = np.where(rest > part, part - ideal, 1.0)
            first = np.argsort(over, kind="mergesort")[: total - part.sum()]
            for k in first:
                part[k] += np.int64(rest[k] > part[k])
        given += part
        total -= part.sum()
    return given


def allotted(lines: Floats, weights: Floats, reach: Floats, budget: int) -> Ints:
    """Rows to look at in each line: one where none was seen, wide ones first, then by weight.

    Parameters
    ----------
    lines
        One a stratum.
    weights
        What each promises.
    reach
        How much the rows of each leave open.
    budget
        Rows that may be looked at.
    """
    room = (lines[:, ROWS] - lines[:, TAKEN]).astype(np.int64)
    unseen = np.flatnonzero((lines[:, TAKEN] == 0) & (room > 0))
    unseen = unseen[np.argsort(-reach[unseen], kind="stable")][:budget]
    more = np.zeros(len(room), np.int64)
    more[unseen] = 1
    ideal = np.maximum(0, room - more)
    return more + apportioned(weights, ideal, budget - len(unseen))


def ascending(lines: Floats, weights: Floats, budget: int) -> Ints:
    """Rows to look at when strata that promise least come first, each to its end."""
    room = (lines[:, ROWS] - lines[:, TAKEN]).astype(np.int64)
    order = np.argsort(weights, kind="stable")
    more = np.zeros(len(room), np.int64)
    before = np.cumsum(room[order]) - room[order]
    more[order] = np.clip(budget - before, 0, room[order])
    return more


def estimates(lines: Floats, scale: float) -> tuple[float, float]:
    """Rows that match and their sum, by what was seen, times a scale."""
    weight = lines[:, ROWS] / np.maximum(1.0, lines[:, TAKEN])
    matched = weight * lines[:, MATCHED]
    total = weight * lines[:, FIRST] + matched * lines[:, MIDDLE]
    return scale * float(matched.sum()), scale * float(total.sum())


def squares(lines: Floats, reach: Floats, more: Ints) -> float:
    """What the plain bound makes of the strata when so many more rows are looked at."""
    rows, taken = lines[:, ROWS], lines[:, TAKEN] + more
    unclear = (taken < rows) & (reach > 0)
    if (taken[unclear] == 0).any():
        return math.inf
    left = 1.0 - (taken - 1.0) / np.maximum(1.0, rows)
    return float((reach**2 * left / np.maximum(1.0, taken))[unclear].sum())


def parts_of(expr: Expr) -> list[Expr]:
    """The estimates and columns of an expression."""
    if expr.op in ("estimate", "column"):
        return [expr]
    return [part for arg in expr.args for part in parts_of(arg)]


def to_arrays(panes: list[Pane]) -> dict[str, Any]:
    """State of panes as arrays, one after the other."""
    waiting = [rows for pane in panes for rows in pane.waiting]
    whole = Pane(0, waiting).gathered() if waiting else None
    sizes = [
        (pane.number, pane.rows_waiting, len(pane.lines), len(pane.serial), len(pane.items))
        for pane in panes
    ]
    names = ("lines", "start", "column", "serial", "x", "items", "items_line")
    arrays = {
        f"pane_{name}": np.concatenate(
            [getattr(pane, name) for pane in panes] or [getattr(Pane(0), name)[:0]]
        )
        for name in names
    }
    if whole is not None:
        arrays |= {
            f"row_{name}": getattr(whole, name) for name in ("serial", "column", "x", "rank")
        }
    return {"pane_sizes": np.array(sizes, np.int64).reshape(-1, 5), **arrays}


def from_arrays(arrays: dict[str, Any]) -> list[Pane]:
    """Read the state of panes."""
    panes: list[Pane] = []
    at = np.zeros(5, np.int64)
    for number, rows, lines, serials, items in arrays["pane_sizes"].tolist():
        pane = Pane(number)
        if rows:
            part = slice(at[1], at[1] + rows)
            names = ("serial", "column", "x", "rank")
            pane.waiting = [Rows(*(arrays[f"row_{name}"][part].copy() for name in names))]
        starts = max(1, lines)
        for name, k, size in (
            ("lines", 2, lines),
            ("start", 0, starts),
            ("column", 0, starts),
            ("serial", 3, serials),
            ("x", 3, serials),
            ("items", 4, items),
            ("items_line", 4, items),
        ):
            setattr(pane, name, arrays[f"pane_{name}"][at[k] : at[k] + size].copy())
        pane.left = int((pane.lines[:, ROWS] - pane.lines[:, TAKEN]).sum())
        held = [part.serial for part in pane.waiting] or [pane.serial]
        pane.first = int(held[0].min()) if len(held[0]) else 0
        at += [starts, rows, lines, serials, items]
        panes.append(pane)
    return panes
