"""Entries: a row and a region it may find matches in, worked on now or later."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.kernel.time import Duration
from streamgauge.promise.index import ENTER, LEAVE, SIDE, WindowIndex

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# Lines of the marks, and of the worth.
ROW, OTHER, LOW, HIGH, SLOT = range(5)
PRIORITY, ESTIMATE, PART = range(3)
# Instead of a side: all the others at once.
ALL = -1
_AFTER_ALL = 2**62


@dataclass(slots=True)
class Entries:
    """Entries in the order in which they came.

    Parameters
    ----------
    marks
        A line each of: position of the row in the index, side it is looked up in, instants that
        bound the region, `(low, high]`, and slot of its value.
    worth
        A line each of: priority, expected matches, and the part of the row's work that it is.
    """

    marks: Ints
    worth: Floats

    @classmethod
    def none(cls) -> Entries:
        """No entries."""
        return cls(np.empty((5, 0), np.int64), np.empty((3, 0)))

    def __len__(self) -> int:
        return len(self.marks[ROW])

    def some(self, which: Bools | Ints) -> Entries:
        """Some of them."""
        places = np.flatnonzero(which) if which.dtype == np.bool_ else which
        return Entries(self.marks.take(places, axis=1), self.worth.take(places, axis=1))

    def followed_by(self, later: Entries) -> Entries:
        """These, and then some others."""
        if not len(self) or not len(later):
            return later if len(later) else self
        return Entries(
            np.concatenate([self.marks, later.marks], axis=1),
            np.concatenate([self.worth, later.worth], axis=1),
        )

    def moved(self, kept: Ints) -> Entries:
        """After rows were let go; `kept` are the old positions of those that stay."""
        marks = self.marks.copy()
        marks[ROW] = np.searchsorted(kept, marks[ROW])
        return Entries(marks, self.worth)

    def alive(self, index: WindowIndex, now: int) -> Entries:
        """Those whose row is in its window, and whose region is not wholly out of its own."""
        here = np.empty(len(self), np.bool_)
        leave = index.rows.facts[LEAVE]
        _alive(self.marks, leave, index.floors, _oldest(index), np.int64(now), here)
        return self if here.all() else self.some(here)

    def left(self, index: WindowIndex, tick: Duration) -> Floats:
        """Which share of each region is still in its window; rows of a tick fill the tick."""
        shares = np.empty(len(self))
        _left(self.marks, index.rows.facts[SIDE], _oldest(index) - tick, shares)
        return shares

    def probe(self, index: WindowIndex, now: int) -> Ints:
        """Look all of them up."""
        row = self.marks[ROW]
        pairs = self.marks[OTHER] != ALL
        first = np.where(pairs, index.position(self.marks[LOW]), 0)
        last = np.where(pairs, np.minimum(index.position(self.marks[HIGH]), row), row)
        return index.probe(row, np.stack([first, last]), self.marks[OTHER], now)


def _oldest(index: WindowIndex) -> Ints:
    """When the first row of each side that is in its window entered."""
    enter = index.rows.facts[ENTER]
    there = index.floors < index.chained
    oldest = np.full(index.sides, _AFTER_ALL)
    oldest[there] = enter[index.floors[there]]
    return oldest


@compiled
def _alive(marks, leave, floors, oldest, now, here):  # type: ignore[no-untyped-def]
    for i in range(len(here)):
        row = marks[ROW, i]
        other = marks[OTHER, i]
        here[i] = leave[row] > now
        if other != ALL and (floors[other] >= row or oldest[other] > marks[HIGH, i]):
            here[i] = False


@compiled
def _left(marks, sides, begins, shares):  # type: ignore[no-untyped-def]
    for i in range(len(shares)):
        low = marks[LOW, i]
        high = marks[HIGH, i]
        other = marks[OTHER, i]
        own = sides[marks[ROW, i]]
        shares[i] = 1.0
        for side in range(len(begins)):
            if side == other or (other == ALL and side != own):
                since = max(low, begins[side])
                shares[i] *= max(high - since, 0) / max(high - low, 1)
