"""Calendar: which ticks of a stream have rows, and how many: the same on every shard.

A query is checked at ticks with rows of the whole stream, whoever owns those rows. So a shard that
sees only its own rows needs the calendar of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def _none() -> Ints:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Calendar:
    """Ticks with rows in ascending order, the rows of each, and how many of all came late.

    Examples
    --------
    >>> parts = [Calendar.of(np.array([3, 1, 3])), Calendar.of(np.array([2, 3]), late=1)]
    >>> whole = merged(parts)
    >>> whole.ticks.tolist(), whole.rows.tolist(), whole.late
    ([1, 2, 3], [1, 1, 3], 1)
    >>> [part.ticks.tolist() for part in whole.split(2)]
    [[1, 2], [3]]
    """

    ticks: Ints = field(default_factory=_none)
    rows: Ints = field(default_factory=_none)
    late: int = 0

    @classmethod
    def of(cls, ticks: Ints, *, late: int = 0) -> Calendar:
        """The calendar of rows, given the tick of each."""
        if not len(ticks):
            return cls(late=late)
        # Rows of one tick mostly lie together, and then there are few runs.
        starts = np.concatenate(([0], np.flatnonzero(ticks[1:] != ticks[:-1]) + 1))
        counts = np.diff(starts, append=len(ticks))
        return cls(*_summed(ticks[starts], counts), late)

    def split(self, closed: int) -> tuple[Calendar, Calendar]:
        """Ticks up to a closed one, and those to come."""
        edge = int(np.searchsorted(self.ticks, closed, side="right"))
        done = Calendar(self.ticks[:edge], self.rows[:edge], self.late)
        return done, Calendar(self.ticks[edge:], self.rows[edge:])


def merged(parts: Sequence[Calendar]) -> Calendar:
    """One calendar of several."""
    late = sum(part.late for part in parts)
    parts = [part for part in parts if len(part.ticks)]
    if len(parts) == 1:
        return Calendar(parts[0].ticks, parts[0].rows, late)
    if not parts:
        return Calendar(late=late)
    ticks = np.concatenate([part.ticks for part in parts])
    return Calendar(*_summed(ticks, np.concatenate([part.rows for part in parts])), late)


def _summed(ticks: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Distinct ticks in order, with the sum of the counts of each."""
    if (ticks[1:] > ticks[:-1]).all():
        return ticks, counts
    distinct, places = np.unique(ticks, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, places, counts)
    return distinct, sums
