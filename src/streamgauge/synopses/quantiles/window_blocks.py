"""Blocks of a sliding window: rank summaries of runs of rows, of one size or of several.

Rows are numbered. A level cuts them into runs of one size and keeps a summary of each; a rung is
one or more levels that together cover a window of so many rows; a ladder of rungs, each twice as
wide as the one before, serves windows of any width. The oldest block of a window lies across its
edge: how many of its rows are gone is known from the times of some of them, which ones is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from streamgauge.synopses.quantiles.gk_list import absorbed
from streamgauge.synopses.quantiles.rank_summary import (
    EMPTY,
    ROUNDING,
    RankSummary,
    combine,
    of_rows,
    thin,
)
from streamgauge.synopses.questions import Count, Max, Min, Quantile, Question
from streamgauge.synopses.synopsis import Floats, Ints

MARKS = 16
SMALL_CHUNK, CHUNK, LONG_CHUNK = 64, 512, 4096
LONG_AGO = -(1 << 61)


class Edge(NamedTuple):
    """Where a window begins: rows before `first` are gone, rows from `last` on are in."""

    first: int
    last: int


@dataclass(slots=True)
class Level:
    """Blocks of one size.

    Parameters
    ----------
    size
        Rows in a block.
    gap
        Most rows that may hide between two neighbours of a block's summary.
    every
        Whether all blocks are kept, or only those that no larger block of the rung begins at.
    """

    size: int
    gap: float
    every: bool
    done: dict[int, RankSummary] = field(default_factory=dict)
    open: RankSummary = EMPTY

    def add(self, start: int, rows: Floats, ordered: Floats, epsilon: float) -> None:
        """Fold a chunk that begins at row `start`; chunks and blocks fit into one another."""
        if self.size < len(rows):
            for begin in range(start, start + len(rows), self.size):
                if self.kept(begin):
                    part = rows[begin - start : begin - start + self.size]
                    self.done[begin] = thin(of_rows(part), self.gap)
            return
        begin = start - start % self.size
        if not self.kept(begin):
            return
        # A block under way hides the same share of its rows as in the end, and never more than
        # epsilon, so that a young stream is served too.
        share = min((self.gap + 1.0) / self.size, 2.0 * epsilon)
        self.open = absorbed(self.open, ordered, share)
        if start + len(rows) == begin + self.size:
            self.done[begin] = thin(self.open, self.gap)
            self.open = EMPTY

    def kept(self, begin: int) -> bool:
        """Whether the block that begins here is of use."""
        return self.every or bool(begin // self.size % 2)

    def drop(self, before: int) -> None:
        """Forget blocks that end at or before a row."""
        while self.done and (begin := next(iter(self.done))) + self.size <= before:
            del self.done[begin]

    def paired(self, gap: float, stop: int) -> Level:
        """A level of blocks of twice the size, from pairs of neighbours up to row `stop`."""
        wide = Level(2 * self.size, gap, every=True)
        unknown = RankSummary(np.empty(0), np.empty(0), np.empty(0), float(self.size))
        for begin in sorted({b - b % wide.size for b in self.done}):
            if begin + self.size in self.done:
                # The older half may be gone, rows and all: nothing is known of it but its size.
                halves = self.done.get(begin, unknown), self.done[begin + self.size]
                wide.done[begin] = thin(combine(*halves), gap)
            elif begin + wide.size > stop:
                wide.open = self.done[begin]
        wide.open = combine(wide.open, self.open)
        return wide


@dataclass(slots=True)
class Rung:
    """Levels that together cover the last `rows` rows, the smallest blocks first.

    `marks` are the times of every `step`-th row from row `begins` on.
    """

    rows: int
    levels: list[Level]
    begins: int = 0
    marks: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def step(self) -> int:
        """Rows from mark to mark."""
        return max(1, self.levels[0].size // MARKS)

    @property
    def longest(self) -> int:
        """Rows of the largest block."""
        return self.levels[-1].size

    def mark(self, start: int, times: Ints) -> None:
        """Note the times of some rows of a chunk."""
        self.marks = np.concatenate([self.marks, times[-start % self.step :: self.step]])

    def edge(self, cutoff: int, stop: int, *, strict: bool) -> Edge:
        """Where the rows later than a time begin; all rows from `stop` on are later."""
        gone = int(np.searchsorted(self.marks, cutoff, side="right"))
        if not gone:
            return Edge(self.begins, self.begins)
        before = self.begins + (gone - 1) * self.step
        first, last = before + 1, stop
        if gone < len(self.marks):
            last = min(stop, before + self.step)
        if strict:
            # One row at most in a unit of time.
            last = min(last, first + int(cutoff - self.marks[gone - 1]))
            if gone < len(self.marks):
                after = int(self.marks[gone] - cutoff) - 1
                first = max(first, before + self.step - after)
        return Edge(min(first, last), last)

    def fold(self, start: int, rows: Floats, ordered: Floats, epsilon: float) -> None:
        """Put a chunk into the blocks of every level."""
        for level in self.levels:
            level.add(start, rows, ordered, epsilon)

    def skip(self) -> None:
        """Pass over a chunk that no window will ask for, with the blocks it belongs to."""
        for level in self.levels:
            level.open = EMPTY

    def take_marks(self, narrow: Rung) -> None:
        """Mark the same rows as a rung of half the width."""
        self.begins = narrow.begins - narrow.begins % self.levels[0].size
        lost = (narrow.begins - self.begins) // narrow.step
        # Rows of a half block that went were gone by then, however early they came.
        early = np.full(lost, LONG_AGO, np.int64)
        self.marks = np.concatenate([early, narrow.marks])[:: self.step // narrow.step]

    def drop(self, before: int) -> None:
        """Forget what ends before a row."""
        for level in self.levels:
            level.drop(before)
        size = self.levels[0].size
        begins = max(self.begins, before - before % size)
        self.marks = self.marks[(begins - self.begins) // self.step :]
        self.begins = begins

    def cover(self, start: int, stop: int) -> list[RankSummary]:
        """Summaries of the rows from a block's beginning up to the last chunk, few and large."""
        parts = []
        while start < stop:
            level = next(x for x in reversed(self.levels) if start % x.size == 0)
            end = start + level.size
            parts.append(level.done[start] if end <= stop else level.open)
            start = end
        return parts

    def block(self, row: int, stop: int) -> RankSummary:
        """The smallest block that holds a row."""
        level = self.levels[0]
        begin = row - row % level.size
        return level.done[begin] if begin + level.size <= stop else level.open


@dataclass(frozen=True, slots=True)
class WindowSummary:
    """The rows of a window: those of whole blocks, and between `least` and `most` of another."""

    whole: RankSummary
    edge: RankSummary = EMPTY
    least: float = 0.0
    most: float = 0.0

    @property
    def loose(self) -> RankSummary:
        """Bounds on ranks that hold however many rows of the edge are in the window."""
        if self.edge is EMPTY:
            return self.whole
        few = combine(self.whole, self.edge.part(self.edge.mass - self.least))
        many = combine(self.whole, self.edge.part(self.edge.mass - self.most))
        return RankSummary(many.values, few.at_least, many.below, many.mass)

    @property
    def precision(self) -> float:
        """Largest error in rank, as a share of the rows."""
        return self.loose.precision

    def ask(self, question: Question) -> tuple[float, float, float]:
        """Answer a question about the window: value, low and high."""
        if isinstance(question, Count):
            low, high = self.whole.mass + self.least, self.whole.mass + self.most
            return (low + high) / 2.0, low, high
        if not isinstance(question, Quantile | Min | Max) or self.least == self.most:
            return self.loose.ask(question)
        phi = question.phi if isinstance(question, Quantile) else float(isinstance(question, Max))
        return self._quantile(phi)

    def _quantile(self, phi: float) -> tuple[float, float, float]:
        """The rank wanted depends on how many rows of the edge are in; every number must fit."""
        points = np.unique(np.concatenate([self.whole.values, self.edge.values]))
        sure, most = self.whole.bounds_at(points)
        edge_sure, edge_most = self.edge.bounds_at(points)
        mass, size = self.whole.mass, self.edge.mass

        def rank(rows: Floats) -> Floats:
            return np.maximum(phi * (mass + rows), ROUNDING) * (1.0 - ROUNDING)

        # The worst number for `low` is the one where all rows of the edge lie below the point,
        # for `high` the one where none lies at or below it that could be gone.
        worst = np.clip(edge_most, self.least, self.most)
        at_or_above = points[most + np.minimum(edge_most, worst) < rank(worst)]
        worst = np.clip(size - edge_sure, self.least, self.most)
        at_or_below = points[sure + np.maximum(0.0, edge_sure - size + worst) >= rank(worst)]
        low = float(at_or_above[-1]) if len(at_or_above) else -math.inf
        high = float(at_or_below[0]) if len(at_or_below) else math.inf
        middle = round((self.least + self.most) / 2.0)
        value = combine(self.whole, self.edge.part(size - middle)).quantile(phi)[0]
        return min(max(value, low), high), low, high


def grid(rows: float) -> tuple[int, int]:
    """A size of blocks at most `rows` that marks and chunks divide, and the size of a chunk."""
    size = max(1, math.floor(rows))
    unit = MARKS if size > MARKS else 1
    if size > CHUNK:
        unit = 1 << (size.bit_length() - 3)
        return size - size % unit, min(unit, CHUNK)
    size -= size % unit
    chunk = size
    while chunk < SMALL_CHUNK:
        chunk *= 2
    return size, chunk
