"""Zones: time cut where a stream changes, and let go in ever coarser pieces.

The newest granularity is cut into zones of its own lengths: one ends when its cells are no longer
sure enough, or when it is as long as may be. A zone that has left the newest granularity is added
to the zone of the next one that it lies in; those are as long as the whole granularity before. So
on to the last, which forgets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streamgauge.promise.cells import Stretch, UInts64
from streamgauge.promise.pyramid import Pyramid
from streamgauge.promise.summary import Summary
from streamgauge.synopses.synopsis import Arrays, Ints

# The newest granularity has no more zones, however often a stream changes.
MOST = 32
# Beyond those: the open one, one that reaches over the edge, and where whole granularities end.
ROOM = 6
NEVER, FOREVER = -(2**62), 2**62


def capacities(summary: Summary) -> list[int]:
    """Zones that each granularity has room for.

    >>> capacities(Summary("s", "sales", "item", 80, rate=2, depth=3))
    [38, 5, 5]
    """
    # Of an older one: its own zones, one that reaches over each edge, and one to spare.
    return [MOST + ROOM] + [summary.rate + 3] * (summary.depth - 1)


class Extent(NamedTuple):
    """A zone as pictures show it: it covers instants after `low` up to `high`."""

    granularity: int
    low: int
    high: int
    rows: int
    confidence: float


class Zones:
    """The zones of all granularities of one summary.

    Decisions are taken at instants, when all rows of an instant are there, so zones are the same
    however rows were handed over.

    Parameters
    ----------
    summary
        Granularities, kind, confidence, longest zone.
    seed
        Chooses the hashes.

    Attributes
    ----------
    edges
        For each granularity, the newest instant that has left it.

    Examples
    --------
    >>> zones = Zones(Summary("s", "sales", "item", 80, rate=2, depth=2))
    >>> zones.insert(np.array([5, 15, 95]), np.array([1, 2, 1], np.uint64))
    >>> [(zone.granularity, zone.low, zone.high) for zone in zones.extents()]
    [(0, 90, 95), (0, 10, 20), (1, 0, 10)]
    """

    def __init__(self, summary: Summary, *, seed: int = 0) -> None:
        self.summary = summary
        self.seed = seed
        self.shortest = max(1, -(-summary.granularity // MOST))
        self.longest = min(max(summary.zone_length, self.shortest), summary.granularity)
        self.pyramids = [
            Pyramid(summary.kind, summary.buckets, capacity=capacity, seed=seed)
            for capacity in capacities(summary)
        ]
        self.edges = [NEVER] * summary.depth
        self.lengths = summary.lengths
        self.reaches = [int(reach) for reach in np.cumsum(self.lengths)]
        self._due = NEVER
        self.rows = 0
        self.last = NEVER
        self.now = NEVER

    @property
    def nbytes(self) -> int:
        """Bytes of all cells."""
        return sum(pyramid.nbytes for pyramid in self.pyramids)

    def insert(self, at: Ints, keys: UInts64) -> None:
        """Take rows in order of time, none earlier than those taken, all later than `advance`."""
        if not len(at):
            return
        assert at[0] >= self.last, "rows come in order of time"
        assert at[0] > self.now, "an instant that is over takes no more rows"
        assert (at[1:] >= at[:-1]).all(), "rows come in order of time"
        start = 0
        newest = self.pyramids[0]
        while start < len(at):
            instant = int(at[start])
            self._complete(instant - 1)
            if not newest.open:
                self._move(instant)
                self._begin(instant)
            start = self._take(at, keys, start)
        self._move(self.last)

    def advance(self, now: int) -> None:
        """No more rows come up to an instant."""
        if now <= self.now:
            return
        self.now = now
        self._complete(now)
        self._move(max(now, self.last))

    def _begin(self, instant: int) -> None:
        """Open the zone that an instant falls into."""
        whole = self.summary.granularity
        floor = (instant - 1) // whole * whole
        newest = self.pyramids[0]
        edge = int(newest.high[newest.newest]) if newest.size else self.edges[0]
        floor = max(floor, edge)
        low = floor + (instant - 1 - floor) // self.longest * self.longest
        end = (instant - 1) // whole * whole + whole
        newest.begin(low, min(low + self.longest, end))

    def _take(self, at: Ints, keys: UInts64, start: int) -> int:
        """Fill the open zone from a row on, as far as it reaches."""
        newest = self.pyramids[0]
        place = newest.newest
        stop = int(np.searchsorted(at, newest.high[place], "right"))
        earliest = int(newest.low[place]) + self.shortest
        theta = self.summary.confidence
        stretch = Stretch(start, stop, self.last, earliest, theta, self.rows)
        reached = newest.nodes[place].take(at, keys, stretch)
        self.rows += reached - start
        self.last = int(at[reached - 1]) if reached > start else self.last
        return reached

    def _complete(self, instant: int) -> None:
        """All rows up to an instant are there: close the open zone if it is time."""
        newest = self.pyramids[0]
        if not newest.open:
            return
        place = newest.newest
        low, high = int(newest.low[place]), int(newest.high[place])
        old_enough = instant >= self.last >= low + self.shortest
        if old_enough and newest.nodes[place].confidence() < self.summary.confidence:
            high = self.last
        elif instant < high:
            return
        newest.settle(high)
        self._due = min(self._due, high + self.reaches[0])

    def _move(self, now: int) -> None:
        """Hand zones that left their granularity to the one they are now in, oldest first."""
        if now < self._due:
            return
        self._due = FOREVER
        for number in reversed(range(self.summary.depth)):
            pyramid = self.pyramids[number]
            while pyramid.size > pyramid.open:
                place = pyramid.oldest
                leaves = self._end(number, int(pyramid.high[place])) + self.reaches[number]
                if leaves > now:
                    self._due = min(self._due, leaves)
                    break
                self._hand_over(number, place, now)
                pyramid.release()

    def _end(self, number: int, high: int) -> int:
        """Where the whole zone of a granularity ends that an instant lies in."""
        if number == 0:
            return high
        length = self.lengths[number - 1]
        return -(-high // length) * length

    def _hand_over(self, number: int, place: int, now: int) -> None:
        """Add a zone to the zone of an older granularity that it lies in, if there is one."""
        giver = self.pyramids[number]
        low, high = int(giver.low[place]), int(giver.high[place])
        self.edges[number] = high
        for target in range(number + 1, self.summary.depth):
            end = self._end(target, high)
            if end > now - self.reaches[target]:
                taker = self.pyramids[target]
                newest = int(taker.high[taker.newest]) if taker.size else NEVER
                apart = not taker.size or self._end(target, newest) != end
                taker.receive(low, high, giver.nodes[place], apart=apart)
                self._due = min(self._due, end + self.reaches[target])
                return
            self.edges[target] = high

    def extents(self) -> list[Extent]:
        """All zones, newest granularity first, newest zone first."""
        found = []
        for number, pyramid in enumerate(self.pyramids):
            for place in pyramid.places[::-1]:
                cells = pyramid.nodes[place]
                high = int(pyramid.high[place])
                if pyramid.open and place == pyramid.newest:
                    high = self.last
                rows, sure = int(cells.rows.sum()), cells.confidence()
                found.append(Extent(number, int(pyramid.low[place]), high, rows, sure))
        return found

    def to_arrays(self) -> Arrays:
        """All zones and where they are."""
        about = np.array([self.rows, self.last, self.now, *self.edges], np.int64)
        arrays: Arrays = {"about": about}
        for number, pyramid in enumerate(self.pyramids):
            parts = pyramid.to_arrays()
            arrays.update({f"{number}.{name}": array for name, array in parts.items()})
        return arrays

    def load(self, arrays: Arrays) -> None:
        """Put back into empty zones what `to_arrays` gave."""
        self.rows, self.last, self.now, *self.edges = (int(n) for n in arrays["about"])
        for number, pyramid in enumerate(self.pyramids):
            mark = f"{number}."
            pyramid.load(
                {
                    name.removeprefix(mark): array
                    for name, array in arrays.items()
                    if name.startswith(mark)
                }
            )
