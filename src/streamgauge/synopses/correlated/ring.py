"""Ring: the rows of a sliding window, oldest first, with their times.

A row can leave its bucket only if it is still known, so a correlated aggregate over a window holds
the window. What the buckets save is the work: an answer after every row looks at a few buckets and
not at all the rows.
"""

from __future__ import annotations

import numpy as np

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.correlated.table import MEASURES
from streamgauge.synopses.synopsis import Arrays, Floats, Ints

FIRST, END = 0, 1


class Ring:
    """Rows (x, plus, minus, flags) of a window; `ends` says from where to where they lie."""

    def __init__(self) -> None:
        self.rows = np.zeros((4, 64))
        self.when = np.zeros(64, np.int64)
        self.ends = np.zeros(2, np.int64)

    def append(self, given: Floats, times: Ints, name: str) -> int:
        """Put rows behind the others, still outside the ends; return how far the rest was moved."""
        first, end = (int(place) for place in self.ends)
        newest = self.when[end - 1] if end > first else times[0]
        if (np.diff(times) < 0).any() or times[0] < newest:
            raise BindError(
                f"{name} needs times that do not fall",
                f"the newest row is at {int(newest)}, the batch begins at {int(times[0])}",
                "sort the rows by time, and drop those that come too late",
            )
        moved = 0
        if end + given.shape[1] > len(self.when):
            moved = first
            alive = end - first
            size = max(64, 2 * (alive + given.shape[1]))
            rows, when = np.zeros((4, size)), np.zeros(size, np.int64)
            rows[:, :alive], when[:alive] = self.rows[:, first:end], self.when[first:end]
            self.rows, self.when = rows, when
            self.ends[:] = 0, alive
            end = alive
        self.rows[:, end : end + given.shape[1]] = given
        self.when[end : end + given.shape[1]] = times
        return moved

    def alive(self) -> tuple[Floats, Ints]:
        """Rows in the window and their times."""
        first, end = (int(place) for place in self.ends)
        return self.rows[:, first:end], self.when[first:end]

    def arrays(self) -> Arrays:
        """State."""
        rows, when = self.alive()
        return {"ring_rows": rows, "ring_when": when}

    def load(self, arrays: Arrays) -> None:
        """Take state as given by `arrays`."""
        n = len(arrays["ring_when"])
        size = max(64, 2 * n)
        self.rows, self.when = np.zeros((4, size)), np.zeros(size, np.int64)
        self.rows[:, :n], self.when[:n] = arrays["ring_rows"], arrays["ring_when"]
        self.ends[:] = 0, n

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return self.rows.nbytes + self.when.nbytes


@compiled
def counted(rows, ends):  # type: ignore[no-untyped-def]
    """The rows of the window that are counted, and how many they are."""
    held = np.empty((4, ends[END] - ends[FIRST]))
    m = 0
    for i in range(ends[FIRST], ends[END]):
        if rows[3, i] >= 2.0:
            for measure in range(MEASURES):
                held[measure, m] = rows[measure, i]
            m += 1
    return held, m
