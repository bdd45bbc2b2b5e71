"""Representation: what is known of a stream at every age, for telling its promising regions."""

from __future__ import annotations

from typing import NamedTuple, Self

from streamgauge.promise.cells import UInts64
from streamgauge.promise.pyramid import KINDS, offsets_of
from streamgauge.promise.summary import Summary
from streamgauge.promise.zones import Extent, Zones, capacities
from streamgauge.synopses.synopsis import Arrays, Floats, Ints


class Region(NamedTuple):
    """The instants after `low` up to `high`, of which one granularity tells.

    `number` is 0 for the newest granularity.
    """

    number: int
    low: int
    high: int


class Representation:
    """The intermediate representation of a stream (Ali, Aref and ElTabakh, section 3).

    Memory does not depend on the number of rows: `most_bytes` bounds it.

    Parameters
    ----------
    summary
        What was declared.
    seed
        Chooses the hashes.

    Examples
    --------
    >>> import numpy as np
    >>> items = Summary("items", "sales", "item", 80, rate=2, depth=2)
    >>> known = Representation(items, seed=1)
    >>> known.insert(np.array([5, 15, 15, 95]), np.array([1, 2, 2, 1], np.uint64))
    >>> for region in known.regions(0, 95):
    ...     print(region, known.estimate(np.array([1, 2], np.uint64), region))
    Region(number=0, low=10, high=95) [1. 2.]
    Region(number=1, low=0, high=10) [1. 0.]
    """

    def __init__(self, summary: Summary, *, seed: int = 0) -> None:
        self.summary = summary
        self._zones = Zones(summary, seed=seed)

    def insert(self, at: Ints, keys: UInts64) -> None:
        """Take rows in order of time; later calls never go back."""
        self._zones.insert(at, keys)

    def advance(self, now: int) -> None:
        """No more rows come up to an instant: close, collapse and let go of zones."""
        self._zones.advance(now)

    def regions(self, since: int, now: int) -> list[Region]:
        """Granularities that tell of the instants after `since` up to `now`, newest first.

        They tile that time. What is older than the summary reaches is part of the last one.
        """
        found = []
        high = now
        last = self.summary.depth - 1
        for number, edge in enumerate(self._zones.edges):
            low = since if number == last else max(since, min(edge, high))
            if low < high:
                found.append(Region(number, low, high))
            high = min(high, low)
        return found

    def estimate(self, keys: UInts64, region: Region) -> Floats:
        """Expected rows with each key in a region.

        A zone that lies partly in the region counts by the share of its time that does.
        """
        return self._zones.pyramids[region.number].estimate(keys, self._weights(region))

    def rows(self, region: Region) -> float:
        """Rows of a region, of zones partly in it by the share of their time."""
        return self._zones.pyramids[region.number].rows(self._weights(region))

    def _weights(self, region: Region) -> Floats:
        pyramid = self._zones.pyramids[region.number]
        return pyramid.weights(region.low, region.high, self._zones.last)

    @property
    def zones(self) -> list[Extent]:
        """All zones, newest granularity first, newest zone first."""
        return self._zones.extents()

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        return self._zones.nbytes

    @staticmethod
    def most_bytes(summary: Summary) -> int:
        """Bytes that a representation never exceeds, whatever the stream.

        Cells of all zones that granularities have room for, and of the sums above them.

        >>> Representation.most_bytes(Summary("s", "sales", "item", 80, depth=2)) // 1000
        1484
        """
        cells = KINDS[summary.kind](summary.buckets).nbytes
        return sum(cells * int(offsets_of(size)[-1]) + 16 * size for size in capacities(summary))

    def to_arrays(self) -> Arrays:
        """What `from_arrays` needs."""
        return self._zones.to_arrays()

    @classmethod
    def from_arrays(cls, summary: Summary, arrays: Arrays, seed: int = 0) -> Self:
        """Read what `to_arrays` gave."""
        known = cls(summary, seed=seed)
        known._zones.load(arrays)
        return known
