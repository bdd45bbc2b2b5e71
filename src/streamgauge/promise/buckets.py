"""Buckets: values of a column in a few classes, and which classes a predicate can meet.

Numbers are cut at quantiles of rows seen earlier, words by their hash. What is known of a class is
its smallest and its largest value, so that a class which cannot match costs nothing.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
UInts64 = npt.NDArray[np.uint64]
# Rows that cut points are found from.
SAMPLE = 1024
# Up to here every whole number is a double.
EXACT = 2.0**53
# Columns of a cell.
LEFT, LOW, HIGH, MEAN = range(4)
# What was learned of a bucket: matches expected of the rows tested, matches found, credit.
EXPECTED, MATCHED, CREDIT = range(3)
# Fewer rows than this a bucket tell too little to move the cut points.
ENOUGH = 4


@dataclass(frozen=True, slots=True)
class Layout:
    """Rows of a column by bucket.

    Parameters
    ----------
    order
        Places of the rows, bucket by bucket, within a bucket as they came.
    start
        Where each bucket begins in `order`, and where the last ends.
    low, high, mean
        Of the values in each bucket; of an empty one inf, -inf and 0. The last bucket holds what
        is not a finite number: its values may be any. Whole numbers above 2**53 are told apart by
        less than a double can hold, so that ranges of such are one double wider at each end.
    """

    order: Ints
    start: Ints
    low: Floats
    high: Floats
    mean: Floats

    @property
    def rows(self) -> Ints:
        """Rows in each bucket."""
        return np.diff(self.start)


@dataclass(slots=True)
class Buckets:
    """Cut points of a column, renewed with each new zone from the rows of the one before.

    Parameters
    ----------
    count
        Buckets that values are cut into; one more holds what is not a finite number.
    cuts
        Ascending; a value at a cut belongs above it. Empty until rows were seen.
    zone
        Number of the newest zone.
    sample
        Values of that zone.

    Examples
    --------
    >>> four = Buckets(4)
    >>> new = four.renew(0, np.arange(100.0))
    >>> four.cuts
    array([25., 50., 75.])
    >>> four.layout(np.array([80.0, 3.0, 99.0])).rows
    array([1, 0, 0, 2, 0])
    """

    count: int
    cuts: Floats = field(default_factory=lambda: np.empty(0))
    zone: int = -(2**62)
    sample: Floats = field(default_factory=lambda: np.empty(0))

    def renew(self, zone: int, column: Floats | UInts64) -> bool:
        """Take note of rows of a zone; whether it is a new one."""
        new = zone != self.zone
        if column.dtype == np.uint64 or (not new and len(self.sample) >= SAMPLE):
            self.zone = zone
            return new
        column = column[np.isfinite(column)]
        if new and len(self.sample) >= ENOUGH * self.count:
            self.cuts = quantile_cuts(self.sample, self.count)
            self.sample = np.empty(0)
        self.zone = zone
        room = SAMPLE - len(self.sample)
        if room > 0 and len(column):
            # Evenly over the rows: a column that is in order must not give its first rows only.
            stride = -(-len(column) // room)
            self.sample = np.concatenate([self.sample, column[::stride].astype(np.float64)])
        if not len(self.cuts) and len(self.sample):
            self.cuts = quantile_cuts(self.sample, self.count)
        return new

    def layout(self, column: Floats | UInts64, memo: dict[bytes, Layout] | None = None) -> Layout:
        """Rows by bucket; `memo` keeps layouts of this very column for others that ask."""
        key = self.count.to_bytes(8, "little") + self.cuts.tobytes()
        if memo is not None and key in memo:
            return memo[key]
        hashed = column.dtype == np.uint64
        values = column.astype(np.float64)
        found = Layout(*_laid(values, self.cuts, np.int64(self.count), np.bool_(hashed)))
        if memo is not None:
            memo[key] = found
        return found

    def to_arrays(self) -> dict[str, Array]:
        """State as arrays."""
        shape = np.array([self.count, self.zone], np.int64)
        return {"bucket_shape": shape, "bucket_cuts": self.cuts, "bucket_sample": self.sample}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> Buckets:
        """Read the state."""
        count, zone = arrays["bucket_shape"].tolist()
        cuts, sample = arrays["bucket_cuts"], arrays["bucket_sample"]
        return cls(count, cuts.astype(np.float64), zone, sample.astype(np.float64))


@dataclass(slots=True)
class Zone:
    """A zone of time: rows that wait, by bucket, in chunks with the instant they came at.

    Of `taken` rows that came `done` are settled; `lost` matches are expected among those that
    were given up.
    """

    number: int
    chunks: list[deque[tuple[int, Ints]]]
    taken: int = 0
    done: int = 0
    lost: float = 0.0


class Cells:
    """Cells of the zones in hand, oldest zone first.

    Parameters
    ----------
    buckets
        Buckets of each zone.

    Attributes
    ----------
    zones
        The zones.
    table
        Of each cell the rows that wait, the smallest and the largest value, and the mean of the
        newest rows.
    waiting
        Rows that wait.
    """

    def __init__(self, buckets: int) -> None:
        self.buckets = buckets
        self.zones: list[Zone] = []
        self.table = np.zeros((0, buckets, 4))
        self.waiting = 0

    def at(self, number: int) -> int:
        """Place of the newest zone, which begins if it is not there."""
        if not self.zones or self.zones[-1].number != number:
            self.zones.append(Zone(number, [deque() for _ in range(self.buckets)]))
            empty = np.array([0.0, np.inf, -np.inf, 0.0])
            more = np.broadcast_to(empty, (1, self.buckets, 4))
            self.table = np.concatenate([self.table, more])
        return len(self.zones) - 1

    def add(self, place: int, at: int, serial: Ints, layout: Layout, counts: Ints) -> None:
        """Rows of a tick; those of buckets without a count are settled."""
        zone = self.zones[place]
        start, more, ordered = layout.start.tolist(), 0, serial[layout.order]
        for bucket, count in enumerate(counts.tolist()):
            if count:
                part = ordered[start[bucket] : start[bucket + 1]]
                zone.chunks[bucket].append((at, part))
                more += count
        zone.taken += len(serial)
        zone.done += len(serial) - more
        self.waiting += more
        _widen(self.table[place], counts, layout.low, layout.high, layout.mean)

    def _pop(self, place: int, bucket: int, count: int) -> Ints:
        """The next rows of a cell, in the order they came: they are settled, but for the table."""
        chunks, parts = self.zones[place].chunks[bucket], []
        self.waiting -= count
        self.zones[place].done += count
        while count > 0:
            at, serials = chunks.popleft()
            parts.append(serials[:count])
            if len(serials) > count:
                chunks.appendleft((at, serials[count:]))
            count -= len(parts[-1])
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def popped(self, counts: Ints) -> tuple[Ints, Ints]:
        """The next rows of each cell, by serial number, with their buckets."""
        flat = counts.ravel()
        cells = flat.nonzero()[0]
        sizes = flat[cells]
        chosen = zip(cells.tolist(), sizes.tolist(), strict=True)
        parts = [self._pop(*divmod(cell, self.buckets), size) for cell, size in chosen]
        self.table[:, :, LEFT] -= counts
        every, buckets = np.concatenate(parts), (cells % self.buckets).repeat(sizes)
        if len(parts) == 1:
            return every, buckets
        order = every.argsort()
        return every[order], buckets[order]

    def clear(self) -> list[Ints]:
        """All rows that wait; they are settled."""
        found = []
        for place, zone in enumerate(self.zones):
            found += [serials for chunks in zone.chunks for _, serials in chunks]
            zone.done += int(self.table[place, :, LEFT].sum())
            for chunks in zone.chunks:
                chunks.clear()
        self.table[:, :, LEFT] = 0.0
        self.waiting = 0
        return found

    def drop(self) -> Zone:
        """Let go of the oldest zone with all that waits there."""
        self.waiting -= int(self.table[0, :, LEFT].sum())
        self.table = self.table[1:].copy()
        return self.zones.pop(0)

    def forget(self, place: int, since: int) -> int:
        """Let go of rows of a zone that came at an instant or before; return how many."""
        zone, gone = self.zones[place], 0
        for bucket, chunks in enumerate(zone.chunks):
            while chunks and chunks[0][0] <= since:
                count = len(chunks.popleft()[1])
                self.table[place, bucket, LEFT] -= count
                gone += count
        zone.taken -= gone
        self.waiting -= gone
        return gone

    def floor(self) -> int | None:
        """Smallest serial number that waits."""
        first = (int(chunks[0][1][0]) for zone in self.zones for chunks in zone.chunks if chunks)
        return min(first, default=None) if self.waiting else None

    def to_arrays(self) -> dict[str, Array]:
        """State as arrays."""
        flat = [
            (at, place, bucket, serials)
            for place, zone in enumerate(self.zones)
            for bucket, chunks in enumerate(zone.chunks)
            for at, serials in chunks
        ]
        tallies = [(zone.number, zone.taken, zone.done) for zone in self.zones]
        chunks = [(at, place, bucket, len(serials)) for at, place, bucket, serials in flat]
        return {
            "zones": np.array(tallies, np.int64).reshape(-1, 3),
            "lost": np.array([zone.lost for zone in self.zones], np.float64),
            "cells": self.table.copy(),
            "chunks": np.array(chunks, np.int64).reshape(-1, 4),
            "serials": np.concatenate([np.empty(0, np.int64), *(part[3] for part in flat)]),
        }

    @classmethod
    def from_arrays(cls, buckets: int, arrays: dict[str, Array]) -> Cells:
        """Read the state."""
        found = cls(buckets)
        tallies = zip(arrays["zones"].tolist(), arrays["lost"].tolist(), strict=True)
        for (number, taken, done), lost in tallies:
            chunks: list[deque[tuple[int, Ints]]] = [deque() for _ in range(buckets)]
            found.zones.append(Zone(number, chunks, taken, done, lost))
        found.table = arrays["cells"].reshape(-1, buckets, 4).copy()
        start = 0
        for at, place, bucket, size in arrays["chunks"].tolist():
            part = arrays["serials"][start : start + size].copy()
            found.zones[place].chunks[bucket].append((at, part))
            start += size
        found.waiting = start
        return found


def quantile_cuts(values: Floats, count: int) -> Floats:
    """Cut points that leave about as many values in each of `count` buckets.

    A value that fills a bucket by itself gets one of its own.

    >>> quantile_cuts(np.array([1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 9.0]), 4)
    array([2., 2.])
    """
    ordered = np.sort(values)
    cuts = ordered[np.arange(1, count) * len(ordered) // count]
    if not len(cuts):
        return cuts
    heavy = cuts[1:][cuts[1:] == cuts[:-1]]
    return np.unique(np.concatenate([cuts, np.nextafter(heavy, np.inf)]))


def spans_of_words(words: UInts64) -> Floats:
    """Hashes of words as spans of one value each, in the scale of layouts."""
    points = np.unique(words.astype(np.float64))
    return np.stack([points, points], axis=1)


def meets(spans: Floats | None, low: Floats, high: Floats) -> Bools:
    """Whether values between `low` and `high` can lie in one of the closed spans.

    >>> meets(np.array([[2.0, 3.0]]), np.array([0.0, 2.5]), np.array([1.0, 9.0]))
    array([False,  True])
    """
    if spans is None:
        return low <= high
    within = (low[:, None] <= spans[:, 1]) & (high[:, None] >= spans[:, 0])
    found: Bools = within.any(axis=1) & (low <= high)
    return found


def inside(spans: Floats | None, low: Floats, high: Floats) -> Bools:
    """Whether all values between `low` and `high` lie in one of the spans.

    What is not a number lies in none, and its bucket says nothing of its values.
    """
    if spans is None:
        return low <= high
    within = (low[:, None] >= spans[:, 0]) & (high[:, None] <= spans[:, 1])
    found: Bools = within.any(axis=1) & (low <= high) & (np.isfinite(low) | np.isfinite(high))
    return found


@compiled
def possible(spans, low, high, start):  # type: ignore[no-untyped-def]
    """Rows of each bucket, where `meets` says that they can match."""
    rows = np.zeros(len(low), np.int64)
    for b in range(len(low)):
        for k in range(len(spans)):
            if low[b] <= high[b] and low[b] <= spans[k, 1] and high[b] >= spans[k, 0]:
                rows[b] = start[b + 1] - start[b]
    return rows


@compiled
def common(spans, low, high, rows):  # type: ignore[no-untyped-def]
    """Share of the values between two that lie in a span, if spread evenly, and whether all do.

    One row at least, where any can.
    """
    width, met = 0.0, False
    bounded = np.isfinite(low) or np.isfinite(high)
    for k in range(len(spans)):
        bottom, top = max(low, spans[k, 0]), min(high, spans[k, 1])
        if bottom > top:
            continue
        if bounded and low >= spans[k, 0] and high <= spans[k, 1]:
            return 1.0, True
        met = True
        width += top - bottom
    if not met:
        return 0.0, False
    length = high - low
    # Ranges without ends say nothing of where in them the values lie.
    share = width / length if np.isfinite(length) else 0.5
    return min(1.0, max(share, 1.0 / max(2.0, rows))), False


@compiled
def rate_of(learned):  # type: ignore[no-untyped-def]
    """Mean over buckets of matches for each expected, those that are known counting more."""
    total, weight = 0.5, 1.0
    for b in range(learned.shape[1]):
        expected = learned[EXPECTED, b]
        if expected > 0.0:
            known = expected / (expected + 1.0)
            total += known * min(1.0, learned[MATCHED, b] / expected)
            weight += known
    return total / weight


@compiled
def chance_of(cell, spans, learned, rate, whole):  # type: ignore[no-untyped-def]
    """What a cell has in common with the predicate, and the share of matches expected.

    Each test so far is worth what was expected of it. A bucket of which little is known is as good
    as `rate`: that of the others, or a half, a Beta(1, 1), to a hopeful eye, so that it is tried.
    """
    share, sure = common(spans, cell[LOW], cell[HIGH], cell[LEFT])
    if sure and whole:
        return share, 1.0
    return share, min(1.0, share * (learned[MATCHED] + 2.0 * rate) / (learned[EXPECTED] + 2.0))


@compiled
def expected_of(table, spans, learned, whole):  # type: ignore[no-untyped-def]
    """Matches expected among the rows of cells."""
    rate, total = rate_of(learned), 0.0
    for z in range(table.shape[0]):
        for b in range(table.shape[1]):
            if table[z, b, LEFT] > 0.0:
                chance = chance_of(table[z, b], spans, learned[:, b], rate, whole)[1]
                total += table[z, b, LEFT] * chance
    return total


@compiled
def _widen(cells, counts, low, high, mean):  # type: ignore[no-untyped-def]
    """Rows come to the cells of a zone."""
    for b in range(len(counts)):
        if counts[b] > 0:
            cells[b, LEFT] += counts[b]
            cells[b, LOW] = min(cells[b, LOW], low[b])
            cells[b, HIGH] = max(cells[b, HIGH], high[b])
            cells[b, MEAN] = mean[b]


@compiled
def _laid(values, cuts, count, hashed):  # type: ignore[no-untyped-def]
    """Order by bucket, where buckets start, smallest, largest and mean value of each."""
    n = len(values)
    bucket = np.empty(n, np.int64)
    start = np.zeros(count + 2, np.int64)
    low = np.full(count + 1, np.inf)
    high = np.full(count + 1, -np.inf)
    mean = np.zeros(count + 1)
    for i in range(n):
        value = values[i]
        if not np.isfinite(value):
            b = count
        elif hashed:
            b = min(count - 1, np.int64(value * (count / 18446744073709551616.0)))
        else:
            b, top = 0, len(cuts)
            while b < top:
                middle = (b + top) // 2
                if value >= cuts[middle]:
                    b = middle + 1
                else:
                    top = middle
        bucket[i] = b
        start[b + 1] += 1
        if b == count:
            low[b], high[b] = -np.inf, np.inf
        else:
            low[b], high[b] = min(low[b], value), max(high[b], value)
            mean[b] += value
    for b in range(count + 1):
        if b < count and start[b + 1]:
            mean[b] /= start[b + 1]
            if not hashed and abs(low[b]) >= EXACT:
                low[b] = np.nextafter(low[b], -np.inf)
            if not hashed and abs(high[b]) >= EXACT:
                high[b] = np.nextafter(high[b], np.inf)
        start[b + 1] += start[b]
    place = start.copy()
    order = np.empty(n, np.int64)
    for i in range(n):
        order[place[bucket[i]]] = i
        place[bucket[i]] += 1
    return order, start, low, high, mean
