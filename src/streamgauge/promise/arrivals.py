"""Arrivals: rows that come to a join, and what is said of what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.time import Instant
from streamgauge.promise.index import ENTER, SERIAL, SIDE, Rows, WindowIndex

Ints = npt.NDArray[np.int64]
UInts64 = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Arrivals:
    """Rows of one side, in order of entering, all after the instant reached before.

    Parameters
    ----------
    key
        What they are joined by; rows without a key are left out.
    enter, leave
        Instants at which they enter and leave the window.
    mine
        Whether this shard owns the key.
    """

    key: UInts64
    enter: Ints
    leave: Ints
    mine: Bools


@dataclass(slots=True)
class FoundPairs:
    """Combinations that were found.

    Parameters
    ----------
    rows
        For each side the serial numbers of the rows.
    at, leave
        From when a combination holds, and when its first row leaves.
    """

    rows: tuple[Ints, ...]
    at: Ints
    leave: Ints

    def __len__(self) -> int:
        return len(self.at)

    @classmethod
    def of(cls, lines: Sequence[Ints], sides: int) -> FoundPairs:
        """From what an index found."""
        some = [part for part in lines if len(part)] or [np.empty((0, sides + 2), np.int64)]
        columns = np.ascontiguousarray((some[0] if len(some) == 1 else np.concatenate(some)).T)
        return cls(tuple(columns[:sides]), columns[sides], columns[sides + 1])


@dataclass(slots=True)
class Tally:
    """What was done at each tick that had something to do.

    Parameters
    ----------
    at
        The ticks.
    share
        Share of the work of the rows in the windows that is done; 1.0: the answer is exact.
    unseen
        Estimate of the combinations that hold and were not found.
    probes
        Probes that were spent.
    pending, given_up
        Entries that wait, and entries whose row or region left before they were worked on.
    mode
        0: everything was done, 1: summaries told what to do, 2: rows were taken as they came.
    """

    at: Ints
    share: Floats
    unseen: Floats
    probes: Ints
    pending: Ints
    given_up: Ints
    mode: Ints

    def __len__(self) -> int:
        return len(self.at)

    @classmethod
    def exact(cls, at: Ints, probes: Ints) -> Tally:
        """Ticks at which everything was done."""
        none = np.zeros(len(at), np.int64)
        return cls(at, np.ones(len(at)), np.zeros(len(at)), probes, none, none, none)

    @classmethod
    def joined(cls, parts: Sequence[Tally]) -> Tally:
        """Tallies one after the other."""
        parts = [cls.exact(np.empty(0, np.int64), np.empty(0, np.int64)), *parts]
        names = [item.name for item in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


class Intake:
    """Numbers the rows of each side and brings all sides into one order, tick by tick."""

    def __init__(self, sides: int) -> None:
        self.serials = np.zeros(sides, np.int64)
        self.waiting = Rows(np.empty(0, np.uint64), np.empty((5, 0), np.int64))

    def take(self, arrivals: Sequence[Arrivals], now: Instant) -> Rows:
        """Rows that enter up to an instant; later ones wait."""
        parts = []
        for side, rows in enumerate(arrivals):
            n = len(rows.key)
            serials = np.arange(n) + self.serials[side]
            lines = (rows.enter, rows.leave, np.full(n, side), serials, rows.mine)
            parts.append(self.waiting.some(self.waiting.facts[SIDE] == side))
            parts.append(Rows(rows.key, np.stack([line.astype(np.int64) for line in lines])))
            self.serials[side] += n
        key = np.concatenate([part.key for part in parts])
        facts = np.concatenate([part.facts for part in parts], axis=1)
        merged = Rows(key, facts).some(np.argsort(facts[ENTER], kind="stable"))
        ready = int(np.searchsorted(merged.facts[ENTER], now, side="right"))
        self.waiting = merged.some(slice(ready, None))
        return merged.some(slice(0, ready))

    def floor(self, index: WindowIndex) -> tuple[Ints, ...]:
        """For each side the first serial number that is still needed."""
        first = self.serials.copy()
        for side in range(len(first)):
            waits = self.waiting.facts[SERIAL, self.waiting.facts[SIDE] == side]
            if index.floors[side] < index.chained:
                first[side] = index.rows.facts[SERIAL, index.floors[side]]
            elif len(waits):
                first[side] = waits[0]
        return tuple(first)


def ticks_of(rows: Rows, first: int = 0) -> tuple[Ints, Ints]:
    """Ticks at which rows enter, and where those of each begin; the end is one more beginning.

    Parameters
    ----------
    rows
        In order of entering.
    first
        Position of the first of them.
    """
    enter = rows.facts[ENTER]
    starts = np.flatnonzero(np.concatenate([[True], enter[1:] != enter[:-1]])[: len(enter)])
    return enter[starts], np.append(starts, len(enter)) + first


def evenly(facts: Ints) -> Ints:
    """When each row of one or more ticks has its turn, if the sides take turns by their rates.

    A tick does not tell in which order rows of two sides came.

    Examples
    --------
    >>> facts = np.zeros((5, 6), np.int64)
    >>> facts[SIDE] = [0, 0, 0, 0, 1, 1]
    >>> evenly(facts)
    array([0, 2, 3, 5, 1, 4])
    """
    if not facts.shape[1]:
        return np.empty(0, np.int64)
    enter, side = facts[ENTER], facts[SIDE]
    begins = np.concatenate([[True], (enter[1:] != enter[:-1]) | (side[1:] != side[:-1])])
    starts = np.flatnonzero(begins)
    sizes = np.diff(np.append(starts, len(enter)))
    within = np.arange(len(enter)) - np.repeat(starts, sizes)
    order = np.lexsort((side, (within + 0.5) / np.repeat(sizes, sizes), enter))
    new = np.flatnonzero(np.concatenate([[True], enter[1:] != enter[:-1]]))
    turn = np.empty(len(enter), np.int64)
    turn[order] = np.arange(len(enter)) - np.repeat(new, np.diff(np.append(new, len(enter))))
    return turn
