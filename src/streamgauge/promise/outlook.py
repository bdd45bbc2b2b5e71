"""Outlook: what the rows of a join promise, by the summaries of the streams they may meet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import Duration
from streamgauge.operators.expression import Expr
from streamgauge.promise.entries import ALL, Entries
from streamgauge.promise.index import ENTER, LEAVE, SERIAL, SIDE, WindowIndex
from streamgauge.promise.order import Order
from streamgauge.promise.priority import name_of, priorities
from streamgauge.promise.promise import Promise
from streamgauge.promise.representation import Region, Representation
from streamgauge.promise.summary import Summary
from streamgauge.synopses.synopsis import Arrays

Ints = npt.NDArray[np.int64]
UInts64 = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]

# A region so many times shorter than the one before it is not worth a look-up of its own.
_SLIVER = 4


@dataclass(frozen=True, slots=True)
class _View:
    """What the summary of one side says of some keys: a column for each region, newest first."""

    regions: list[Region]
    counts: Floats
    rows: Floats

    def merged(self, start: int = 0) -> _View:
        """With regions from `start` on as one, which counts as the newest of them."""
        newest, oldest = self.regions[start], self.regions[-1]
        counts = self.counts[:, start:].sum(axis=1, keepdims=True)
        return _View(
            [*self.regions[:start], Region(newest.number, oldest.low, newest.high)],
            np.concatenate([self.counts[:, :start], counts], axis=1),
            np.append(self.rows[:start], self.rows[start:].sum()),
        )

    def without_sliver(self) -> _View:
        """With the oldest region part of the one before where the window has little of it.

        A look-up there would cost as much as any and find next to nothing.
        """
        if len(self.regions) < 2:
            return self
        newer, oldest = self.regions[-2:]
        little = _SLIVER * (oldest.high - oldest.low) < newer.high - newer.low
        return self.merged(len(self.regions) - 2) if little else self


class Outlook:
    """The summaries of the sides of a join, kept while there is more to do than can be done.

    Parameters
    ----------
    promise
        What is preferred.
    aliases, summaries
        Name and summary of each side.
    tick
        Tick of the join.
    seed
        Of the summaries.
    """

    def __init__(
        self,
        promise: Promise,
        aliases: tuple[str, ...],
        summaries: tuple[Summary, ...],
        *,
        tick: Duration,
        seed: int,
    ) -> None:
        self.promise = promise
        self.tick = tick
        self.summaries = summaries
        self.span = max(summary.span for summary in summaries)
        self.representations: list[Representation] = []
        # Position up to which rows were summarised, and whether some were passed over.
        self.summarised = 0
        self.gaps = False
        self._seed = seed
        self._sides = {alias: side for side, alias in enumerate(aliases)}
        self._exprs = [self._expr_of(side) for side in range(len(aliases))]

    def clear(self) -> None:
        """Keep nothing."""
        self.representations = []
        self.summarised = 0
        self.gaps = False

    def pass_over(self, stop: int) -> None:
        """Leave rows before a position out of the summaries."""
        self.gaps = self.gaps or bool(self.representations)
        self.summarised = stop

    def summarise(self, index: WindowIndex, now: int) -> None:
        """Take in the rows in the windows at `now` that were not taken in before."""
        if not self.representations:
            self.clear()
            self.representations = [
                Representation(summary, seed=self._seed) for summary in self.summaries
            ]
        rows = index.rows.some(slice(self.summarised, index.chained))
        rows = rows.some(rows.facts[LEAVE] > now)
        for side, representation in enumerate(self.representations):
            own = rows.facts[SIDE] == side
            representation.insert(rows.facts[ENTER, own], rows.key[own])
            representation.advance(now)
        self.summarised = index.chained

    def entries(
        self, index: WindowIndex, rows: Ints, order: Order, now: int
    ) -> tuple[Entries, float]:
        """Entries of the rows that come in at a tick, and the matches they expect in all."""
        found, expected = Entries.none(), 0.0
        sides = index.rows.facts[SIDE, rows]
        numbers = []
        for side in range(index.sides):
            own = rows[sides == side]
            if len(own):
                make = self._of_pairs if index.sides == 2 else self._of_all
                some, granularity, matches = make(index, own, side, now)
                found = found.followed_by(some)
                numbers.append(granularity)
                expected += matches
        if len(found):
            row = found.marks[0]
            granularities = np.concatenate(numbers)
            found.marks[4] = order.slots(index.rows.key[row], granularities)
            facts = index.rows.facts[:, row]
            found = found.some(order.arranged(facts[SIDE], facts[SERIAL], granularities))
        return found, expected

    def load(self, arrays: Arrays) -> None:
        """Read the summaries of all sides, if there were any."""
        for side, summary in enumerate(self.summaries):
            prefix = f"summary{side}."
            own = {
                name.removeprefix(prefix): array
                for name, array in arrays.items()
                if name.startswith(prefix)
            }
            if own:
                told = Representation.from_arrays(summary, own, seed=self._seed)
                self.representations.append(told)

    def _of_pairs(
        self, index: WindowIndex, rows: Ints, side: int, now: int
    ) -> tuple[Entries, Ints, float]:
        """One entry for each region of the other side that a row may find anything in."""
        other = 1 - side
        view = self._view(index, other, index.rows.key[rows], now)
        if view is None:
            return Entries.none(), np.empty(0, np.int64), 0.0
        view = view.merged() if self.promise.fade == 1.0 else view.without_sliver()
        numbers, lows, highs = np.array(view.regions).T
        first = np.maximum(index.position(lows), index.floors[other])
        last = np.minimum(index.position(highs), rows[:, None])
        kept = first < last
        own = self._own(index, rows, side, now, self._exprs[other])
        priority = self._valued(self._exprs[other], {other: view, **own}, view.counts)
        priority = priority * self._fading(other)[numbers]
        part = 1.0 / np.maximum(kept.sum(axis=1, keepdims=True), 1)
        shape = view.counts.shape
        spread = [
            np.broadcast_to(line, shape)[kept]
            for line in (rows[:, None], np.int64(other), lows, highs, np.int64(0))
        ]
        worth = [np.broadcast_to(line, shape)[kept] for line in (priority, view.counts, part)]
        numbered = np.broadcast_to(numbers, shape)[kept]
        return Entries(np.stack(spread), np.stack(worth)), numbered, float(worth[1].sum())

    def _of_all(
        self, index: WindowIndex, rows: Ints, side: int, now: int
    ) -> tuple[Entries, Ints, float]:
        """One entry for each row that may find something on every other side."""
        keys = index.rows.key[rows]
        fade = 1.0 if self.promise.order == "asc" else self.promise.fade
        estimate, priority = np.ones(len(rows)), np.ones(len(rows))
        views = {}
        for other in range(index.sides):
            view = None if other == side else self._view(index, other, keys, now)
            if view is None and other != side:
                return Entries.none(), np.empty(0, np.int64), 0.0
            if view is not None:
                fades = fade ** np.array([region.number for region in view.regions])
                estimate *= view.counts.sum(axis=1)
                faded = (view.counts * fades).sum(axis=1, keepdims=True)
                views[other] = _View(view.regions, faded, view.rows.sum(keepdims=True))
        for other, view in views.items():
            expr = self._exprs[other]
            own = self._own(index, rows, side, now, expr)
            priority *= self._valued(expr, {**views, **own}, view.counts)[:, 0]
            if expr is not None and len(self.promise.exprs) == 1:
                break
        marks = np.zeros((5, len(rows)), np.int64)
        # The shortest of the windows: where one is longer, what leaves it counts from then on.
        low = max(view.regions[-1].low for view in views.values())
        marks[0], marks[1], marks[2], marks[3] = rows, ALL, low, now
        worth = np.stack([priority, estimate, np.ones(len(rows))])
        return Entries(marks, worth), np.zeros(len(rows), np.int64), float(estimate.sum())

    def _view(self, index: WindowIndex, side: int, keys: UInts64, now: int) -> _View | None:
        """What the summary of a side says; None where nothing is in its window."""
        floor = int(index.floors[side])
        if floor >= index.chained:
            return None
        # Rows of a tick fill the time since the tick before.
        since = int(index.rows.facts[ENTER, floor]) - self.tick
        told = self.representations[side]
        regions = told.regions(since, now)
        counts = np.stack([told.estimate(keys, region) for region in regions], axis=1)
        rows = np.array([told.rows(region) for region in regions])
        if self.gaps or since < now - self.summaries[side].span:
            there = self._rows_in(index, side, regions, now)
            # Rows that were passed over, or are older than the summary reaches, are taken to be
            # like the others of their region.
            counts = counts * np.divide(there, rows, out=np.ones_like(there), where=rows > 0)
            rows = there
        return _View(regions, counts, rows)

    def _rows_in(self, index: WindowIndex, side: int, regions: list[Region], now: int) -> Floats:
        facts = index.rows.facts
        edges = index.position(np.array([[r.low, r.high] for r in regions]).ravel())
        alive = np.cumsum((facts[SIDE] == side) & (facts[LEAVE] > now))
        before = np.concatenate([[0], alive])[edges].reshape(-1, 2)
        there: Floats = (before[:, 1] - before[:, 0]).astype(np.float64)
        return there

    def _own(
        self, index: WindowIndex, rows: Ints, side: int, now: int, expr: Expr | None
    ) -> dict[int, _View]:
        """What the row's own side says of its key over the whole window, where that is asked."""
        if expr is None or side not in self._asked(expr):
            return {}
        view = self._view(index, side, index.rows.key[rows], now)
        if view is None:
            return {}
        return {side: view.merged()}

    def _fading(self, side: int) -> Floats:
        """What the priority of a region of each granularity is multiplied by.

        An older granularity has more rows because it is longer. What fades are rows, so a region
        counts by what it has in the time of the newest one. Where the least comes first, to fade
        is to count for more.
        """
        lengths = np.array(self.summaries[side].lengths, np.float64)
        fades = np.float64(self.promise.fade) ** np.arange(len(lengths), dtype=np.float64)
        return 1.0 / fades if self.promise.order == "asc" else fades * lengths[0] / lengths

    def _valued(self, expr: Expr | None, views: dict[int, _View], counts: Floats) -> Floats:
        """What an expression gives for every row and region."""
        if expr is None:
            return self._whole(counts)
        given = {}
        for part in expr.walk():
            if part.op == "estimate":
                view = views[self._side_of(part)]
                many = self._whole(view.counts)
                if part.value == "frequency":
                    many = many / np.maximum(view.rows, 1.0)
                given[name_of(part)] = np.broadcast_to(many, counts.shape).ravel()
        return priorities(expr, given, counts.size).reshape(counts.shape)

    def _whole(self, counts: Floats) -> Floats:
        """Counts as they are compared.

        The least of many estimates is mostly noise. Rows come in whole numbers, and a value that
        is not there is of no use, so where the least comes first fractions tell nothing.
        """
        if self.promise.order != "asc":
            return counts
        whole: Floats = np.maximum(1.0, np.floor(counts + 0.5))
        return whole

    def _expr_of(self, side: int) -> Expr | None:
        """The expression that regions of a side are judged by; None: their estimate itself."""
        exprs = self.promise.exprs
        if not exprs:
            return None
        own = [expr for expr in exprs if side in self._asked(expr)]
        return own[0] if own else exprs[min(side, len(exprs) - 1)]

    def _asked(self, expr: Expr) -> set[int]:
        return {self._side_of(part) for part in expr.walk() if part.op == "estimate"}

    def _side_of(self, estimate: Expr) -> int:
        named = estimate.args[0]
        alias = named.table or str(named.value).rpartition(".")[0]
        if alias not in self._sides:
            raise BindError(
                f"{name_of(estimate)} is an estimate of no stream of the join",
                f"streams are {', '.join(self._sides)}",
                "name the stream: COUNT(a.item)",
            )
        return self._sides[alias]
