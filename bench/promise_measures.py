"""What is measured of a join under a budget: output, likeness, outliers, and what could be had.

Nothing here uses the operators that are measured. The exact output is counted from the rows, and
so is what somebody would find who knew at each tick how many rows every row would meet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.promise_data import Stores
from streamgauge.kernel.time import SECOND

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

BINS = 100
# Rows of both stores that come in a tick, so that two per cent of them is a whole number.
ARRIVALS = 100
# A window of the paper in ticks, and rows whose frequencies are among the lowest.
WINDOW_TICKS = 12
LOWEST = 0.05
NEVER = 2**62


@dataclass(frozen=True, slots=True)
class Clock:
    """When rows enter and leave.

    Parameters
    ----------
    tick
        Microseconds of a tick.
    window
        Microseconds that a row stays; 0: for ever.
    """

    tick: int
    window: int

    @classmethod
    def of(cls, stores: Stores) -> Clock:
        """Ticks of about a hundred rows, a window of twelve: 5 s and a minute in the paper."""
        span = max(int(side.ts[-1]) for side in stores.sides)
        tick = max(1, round(ARRIVALS * span / max(1, stores.rows) / SECOND)) * SECOND
        return cls(tick, WINDOW_TICKS * tick)

    def enter(self, ts: Ints) -> Ints:
        """The tick at which rows of these times are there."""
        return -(-ts // self.tick) * self.tick

    def leave(self, ts: Ints) -> Ints:
        """The tick at which they are gone."""
        if not self.window:
            return np.full(len(ts), NEVER, np.int64)
        return self.enter(ts + self.window)


@dataclass(frozen=True, slots=True)
class Line:
    """All rows of both stores in the order in which they meet: tick, store, arrival.

    `before` says how many rows of the other store with the item of a row came before it, of which
    those that have left do not count.
    """

    side: Ints
    row: Ints
    item: Ints
    enter: Ints
    leave: Ints
    before: Ints
    left: Ints
    items: int

    @property
    def matches(self) -> Ints:
        """Rows that each row meets when it comes: the exact output, by its last row."""
        return self.before - self.left

    def counts(self, found: Ints) -> Floats:
        """Output rows of each item, where each row of the line found so many."""
        counts = np.bincount(self.item, weights=found.astype(np.float64), minlength=self.items)
        return np.asarray(counts, np.float64)


def line_of(stores: Stores, clock: Clock) -> Line:
    """Rows of two stores in the order in which they meet."""
    sizes = [len(side.ts) for side in stores.sides]
    ts = np.concatenate([side.ts for side in stores.sides])
    side = np.repeat(np.arange(2), sizes)
    row = np.concatenate([np.arange(size) for size in sizes])
    names, item = np.unique(np.concatenate([own.item for own in stores.sides]), return_inverse=True)
    order = np.lexsort((row, side, clock.enter(ts)))
    ts, side, row, item = ts[order], side[order], row[order], item[order].astype(np.int64)
    enter, leave = clock.enter(ts), clock.leave(ts)
    before, left = np.zeros(len(ts), np.int64), np.zeros(len(ts), np.int64)
    place = np.arange(len(ts))
    steps = np.unique(np.concatenate([enter, leave]))
    rank_enter, rank_leave = np.searchsorted(steps, enter), np.searchsorted(steps, leave)
    for own in range(2):
        mine, other = side == own, side != own
        before[mine] = _earlier(item[mine], place[mine], item[other], place[other])
        # Those that leave at this very tick are gone.
        left[mine] = _earlier(item[mine], rank_enter[mine] + 1, item[other], rank_leave[other])
    return Line(side, row, item, enter, leave, before, np.minimum(left, before), len(names))


def _earlier(item: Ints, at: Ints, others: Ints, when: Ints) -> Ints:
    """For each row, how many others of its item are at a smaller place."""
    if not len(others) or not len(item):
        return np.zeros(len(item), np.int64)
    size = int(max(at.max(), when.max())) + 2
    keyed = np.sort(others * size + when)
    found = np.searchsorted(keyed, item * size + at) - np.searchsorted(keyed, item * size)
    return np.asarray(found, np.int64)


def omniscient(line: Line, order: str, probes: int) -> Ints:
    """Rows that each row finds when the budget goes where exact counts send it.

    Parameters
    ----------
    line
        All rows.
    order
        desc: rows that meet most now come first. asc: those whose item is rarest in the window of
        the other store now, if they meet any.
    probes
        Rows that are looked up in a tick. Rows wait until they leave.

    Returns
    -------
    found
        For each row, what it met when its turn came; 0 where it never did.
    """
    found = np.zeros(len(line.item), np.int64)
    # By store and item: rows that came, and rows that left again.
    came, gone = np.zeros((2, 2, line.items), np.int64)
    by_leave = np.argsort(line.leave, kind="stable")
    leaves = line.leave[by_leave]
    starts = np.flatnonzero(np.diff(line.enter, prepend=-1))
    ends = np.append(starts[1:], len(line.item))
    waiting, dropped = np.empty(0, np.int64), 0
    for start, end in zip(starts, ends, strict=True):
        now = line.enter[start]
        upto = int(np.searchsorted(leaves, now, side="right"))
        off = by_leave[dropped:upto]
        dropped = upto
        np.add.at(gone, (line.side[off], line.item[off]), 1)
        np.add.at(came, (line.side[start:end], line.item[start:end]), 1)
        waiting = np.concatenate([waiting, np.arange(start, end)])
        waiting = waiting[line.leave[waiting] > now]
        there = (1 - line.side[waiting], line.item[waiting])
        meets = np.maximum(line.before[waiting] - gone[there], 0)
        # Of equal ones the newest come first: they have most of their time left.
        by = -meets if order == "desc" else came[there] - gone[there]
        first = np.lexsort((-waiting, by))
        first = first[meets[first] > 0]
        found[waiting[first[:probes]]] = meets[first[:probes]]
        waiting = np.sort(waiting[first[probes:]])
    return found


def hist_mse(exact: Floats, found: Floats, number: Ints) -> float:
    """Distance of two answers as the paper has it: shares in a hundred bins over item numbers.

    Parameters
    ----------
    exact, found
        Output rows of each item.
    number
        Number of each item, which says its bin.

    Examples
    --------
    >>> number = np.array([0, 50, 99])
    >>> hist_mse(np.array([4.0, 2.0, 2.0]), np.array([2.0, 1.0, 1.0]), number)
    0.0
    >>> hist_mse(np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]), number)
    0.5
    """
    return float(((histogram(exact, number) - histogram(found, number)) ** 2).sum())


def histogram(counts: Floats, number: Ints) -> Floats:
    """Shares of counts in a hundred bins of equal width over item numbers."""
    low, high = int(number.min()), int(number.max())
    place = np.minimum((number - low) * BINS // max(1, high - low + 1), BINS - 1)
    shares = np.bincount(place, weights=counts, minlength=BINS) / max(1.0, float(counts.sum()))
    return np.asarray(shares)


def rare_rows(line: Line, frequency: Ints) -> npt.NDArray[np.bool_]:
    """Rows whose frequency is in the lowest five per cent of the frequencies of output rows.

    The exact output is put in order of frequency. The frequency a twentieth of it in is the largest
    that counts as rare.

    Parameters
    ----------
    line
        All rows; each stands for the output rows of which it is the last.
    frequency
        A number for each row of the line: `in_all` or `in_window`.
    """
    order = np.argsort(frequency, kind="stable")
    output = np.cumsum(line.matches[order])
    last = int(np.searchsorted(output, LOWEST * output[-1], side="right"))
    return np.asarray(frequency <= frequency[order[min(last, len(order) - 1)]])


def in_all(line: Line) -> Ints:
    """How many rows of both stores have the item of each row, from the first to the last."""
    return np.asarray(np.bincount(line.item)[line.item], np.int64)


def in_window(line: Line, place: Ints, at: Ints) -> Ints:
    """How many rows of the other store's window have the item of some rows, at instants."""
    found = np.zeros(len(place), np.int64)
    steps = np.unique(np.concatenate([line.enter, line.leave, at]))
    now = np.searchsorted(steps, at) + 1
    for side in range(2):
        own, other = line.side[place] == side, line.side != side
        asked = line.item[place[own]], now[own]
        for instants, sign in ((line.enter, 1), (line.leave, -1)):
            when = np.searchsorted(steps, instants[other])
            found[own] += sign * _earlier(*asked, line.item[other], when)
    return found


@dataclass(frozen=True, slots=True)
class Outliers:
    """Rows that were found, those of them that are rare, and those that could be had.

    >>> Outliers(10, 9, 12).precision, Outliers(10, 9, 12).recall
    (0.9, 0.75)
    >>> Outliers(0, 0, 0).precision
    0.0
    """

    found: int
    true: int
    reachable: int

    @property
    def precision(self) -> float:
        """Share of what was found that is rare."""
        return self.true / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Rare rows found, of those that exact counts would find."""
        return self.true / self.reachable if self.reachable else 1.0


def at_equal_work(work: float, works: Floats, outputs: Floats) -> float:
    """Output that a way has for so much work, between the budgets at which it was measured."""
    order = np.argsort(works)
    return float(np.interp(work, np.append(0.0, works[order]), np.append(0.0, outputs[order])))


def geometric(values: list[float]) -> float:
    """Geometric mean; one of zero makes it zero.

    >>> geometric([1.0, 4.0])
    2.0
    """
    if not values or min(values) <= 0.0:
        return 0.0
    return float(np.exp(np.mean(np.log(values))))
