"""Pyramid: the multi-resolution index over the zones of one granularity.

Zones are leaves of a ring; each upper node is the sum of up to four nodes below it. A question goes
down from the top, and no further where the sum promises less than half a row. The newest zone may
be open: its rows are not yet in the sums, so it is always asked itself.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.promise.cells import Cells, UInts64
from streamgauge.promise.cells_count_min import CountMinCells, place_count_min, read_count_min
from streamgauge.promise.cells_count_sketch import (
    CountSketchCells,
    place_count_sketch,
    read_count_sketch,
)
from streamgauge.promise.cells_histogram import HistogramCells, place_histogram, read_histogram
from streamgauge.promise.cells_sample import SampleCells
from streamgauge.promise.cells_wavelet import WaveletCells, place_wavelet, read_wavelet
from streamgauge.synopses.synopsis import Arrays, Floats, Ints

FAN = 4
# Less than this in a sum, and nobody looks below it.
PROMISING = 0.5
NO_END = -(2**62)
KINDS: dict[str, type[Cells]] = {
    cells.kind: cells
    for cells in (CountSketchCells, CountMinCells, HistogramCells, WaveletCells, SampleCells)
}


class Pyramid:
    """Up to `capacity` zones in order of time, and sums of them.

    Parameters
    ----------
    kind
        The synopsis of a cell.
    buckets, seed
        As of the cells.
    capacity
        Zones at most.

    Attributes
    ----------
    first, size
        Number of the oldest zone, counted from the first there was, and zones held.
    low, high
        A zone covers the instants after `low` up to `high`, by place in the ring.
    open
        Whether the newest zone still takes rows.

    Examples
    --------
    >>> pyramid = Pyramid("count_sketch", 16, capacity=4, seed=1)
    >>> pyramid.begin(0, 10).summarize(np.array([7, 7], np.uint64))
    >>> pyramid.settle(10)
    >>> pyramid.receive(10, 20, pyramid.zone(0).copy(), apart=True)
    >>> pyramid.estimate(np.array([7, 8], np.uint64), pyramid.weights(0, 15))
    array([3., 0.])
    """

    def __init__(self, kind: str, buckets: int, *, capacity: int, seed: int = 0) -> None:
        made = KINDS[kind]
        self.capacity = capacity
        self.offsets = offsets_of(capacity)
        nodes = int(self.offsets[-1])
        self.stack = np.zeros((nodes, made.size(buckets)), made.dtype)
        self.rows_of = np.zeros((nodes, buckets), np.int64)
        self.nodes = [
            made(buckets, seed=seed, array=array, rows=rows)
            for array, rows in zip(self.stack, self.rows_of, strict=True)
        ]
        self.low = np.zeros(capacity, np.int64)
        self.high = np.zeros(capacity, np.int64)
        self.first = 0
        self.size = 0
        self.open = False

    @property
    def nbytes(self) -> int:
        """Bytes of all nodes, whether they are used or not."""
        return sum(node.nbytes for node in self.nodes) + self.low.nbytes + self.high.nbytes

    @property
    def oldest(self) -> int:
        """Place of the oldest zone."""
        return self.first % self.capacity

    @property
    def newest(self) -> int:
        """Place of the newest zone."""
        return (self.first + self.size - 1) % self.capacity

    @property
    def places(self) -> Ints:
        """Places of the zones in the ring, oldest first."""
        return (self.first + np.arange(self.size)) % self.capacity

    def zone(self, number: int) -> Cells:
        """Cells of a zone, counted from the oldest; -1 is the newest."""
        return self.nodes[int(self.places[number])]

    def begin(self, low: int, high: int) -> Cells:
        """Open a zone."""
        assert self.size < self.capacity, "there is room for a zone"
        assert not self.open, "one zone is open at most"
        place = (self.first + self.size) % self.capacity
        self.low[place], self.high[place] = low, high
        self.size += 1
        self.open = True
        return self.nodes[place]

    def settle(self, high: int) -> None:
        """Close the open zone at an instant: from now on the sums know it."""
        assert self.open, "a zone is closed once"
        place = self.newest
        self.high[place] = high
        self.open = False
        for above in self._above(place):
            self.nodes[above].add(self.nodes[place])

    def receive(self, low: int, high: int, cells: Cells, *, apart: bool) -> None:
        """Add cells to the newest zone, or as a zone `apart`."""
        if apart:
            self.begin(low, high).add(cells)
            self.settle(high)
            return
        place = self.newest
        self.high[place] = high
        for node in (place, *self._above(place)):
            self.nodes[node].add(cells)

    def release(self) -> None:
        """Let go of the oldest zone: subtract it above."""
        place = self.oldest
        gone = self.nodes[place]
        above = self._above(place)
        if gone.linear:
            for node in above:
                self.nodes[node].subtract(gone)
        gone.clear()
        if not gone.linear:
            # What a sample lost to the rows that leave does not come back: it is merged anew.
            for level, node in enumerate(above):
                self._gather(level + 1, node)
        self.first += 1
        self.size -= 1

    def weights(self, low: int, high: int, last: int | None = None) -> Floats:
        """Share of each zone, by place, that lies after `low` and up to `high`.

        `last` is the instant of the newest row, where an open zone ends for now.
        """
        weights = np.zeros(self.capacity)
        ends = NO_END if last is None or not self.open else last
        _fill_weights(self.low, self.high, (self.first, self.size, low, high, ends), weights)
        return weights

    def rows(self, weights: Floats) -> float:
        """Rows of the zones, by their weights."""
        return float(weights @ self.rows_of[: self.capacity].sum(axis=1))

    def estimate(self, keys: UInts64, weights: Floats) -> Floats:
        """Expected rows with each key, zones by their weights; never below zero."""
        total = np.zeros(len(keys))
        newest = self.newest if self.open else -1
        model = self.nodes[0]
        if not model.linear:
            self._descend(keys, weights, newest, total)
        else:
            load = _load(weights, self.offsets, newest)
            sure = (model.number, model.buckets, model.seed, newest, self.stack.shape[1])
            _walk(
                self.stack.reshape(-1), self.offsets, load, weights, model.hashes, sure, keys, total
            )
        return np.maximum(total, 0.0, out=total)

    def plain(self, keys: UInts64, weights: Floats) -> Floats:
        """The same without going through the sums: every zone is asked."""
        total = np.zeros(len(keys))
        for place in np.flatnonzero(weights):
            total += weights[place] * self.nodes[place].estimate(keys)
        return np.maximum(total, 0.0)

    def _descend(self, keys: UInts64, weights: Floats, newest: int, total: Floats) -> None:
        """The walk for cells that are no counters, level by level."""
        load = _load(weights, self.offsets, newest)
        if newest >= 0 and weights[newest] > 0:
            total += weights[newest] * self.nodes[newest].estimate(keys)
        waiting = [(len(self.offsets) - 2, 0, np.arange(len(keys)))]
        while waiting:
            level, place, asked = waiting.pop()
            node = int(self.offsets[level]) + place
            if load[node] <= 0.0 or not len(asked):
                continue
            found = self.nodes[node].estimate(keys[asked])
            if level == 0:
                total[asked] += load[node] * found
                continue
            asked = asked[found >= PROMISING]
            below = int(self.offsets[level] - self.offsets[level - 1])
            children = range(FAN * place, min(FAN * place + FAN, below))
            waiting += [(level - 1, child, asked) for child in children]

    def _above(self, place: int) -> list[int]:
        """Nodes above a leaf, lowest first."""
        found = []
        for level in range(1, len(self.offsets) - 1):
            place //= FAN
            found.append(int(self.offsets[level]) + place)
        return found

    def _gather(self, level: int, node: int) -> None:
        """Sum a node up from those below it."""
        place = node - int(self.offsets[level])
        below = int(self.offsets[level] - self.offsets[level - 1])
        self.nodes[node].clear()
        newest = self.newest if self.open else -1
        for child in range(FAN * place, min(FAN * place + FAN, below)):
            if level > 1 or child != newest:
                self.nodes[node].add(self.nodes[int(self.offsets[level - 1]) + child])

    def to_arrays(self) -> Arrays:
        """Zones, oldest first, without counters that are zero; the sums are worked out again."""
        places = self.places
        counters = self.stack[places].reshape(-1)
        where = np.flatnonzero(counters)
        return {
            "about": np.array([self.first, self.size, self.open], np.int64),
            "low": self.low[places],
            "high": self.high[places],
            "where": where.astype(np.uint32),
            "counters": counters[where],
            "rows": self.rows_of[places],
        }

    def load(self, arrays: Arrays) -> None:
        """Put back into an empty pyramid what `to_arrays` gave."""
        self.first, size, is_open = (int(number) for number in arrays["about"])
        counters = np.zeros((size, self.stack.shape[1]), self.stack.dtype)
        counters.reshape(-1)[arrays["where"]] = arrays["counters"]
        for number in range(size):
            low, high = int(arrays["low"][number]), int(arrays["high"][number])
            self.begin(low, high).fill(counters[number], arrays["rows"][number])
            if number < size - 1 or not is_open:
                self.settle(high)


def offsets_of(capacity: int) -> Ints:
    """Number of the first node of each level, and of all nodes.

    >>> offsets_of(10)
    array([ 0, 10, 13, 14])
    """
    sizes = [capacity]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // FAN))
    return np.cumsum([0, *sizes], dtype=np.int64)


def _load(weights: Floats, offsets: Ints, newest: int) -> npt.NDArray[np.float64]:
    """Weight below each node, without that of the open zone."""
    load = np.zeros(int(offsets[-1]))
    _fill_load(weights, offsets, newest, load)
    return load


@compiled
def _fill_weights(lows, highs, about, weights):  # type: ignore[no-untyped-def]
    first, size, low, high, last = about
    for number in range(first, first + size):
        place = number % len(weights)
        begins, ends = lows[place], highs[place]
        if number == first + size - 1 and last != NO_END:
            ends = max(last, begins + 1)
        met = min(ends, high) - max(begins, low)
        if met > 0:
            weights[place] = met / (ends - begins)


@compiled
def _fill_load(weights, offsets, newest, load):  # type: ignore[no-untyped-def]
    for place in range(len(weights)):
        if weights[place] <= 0.0 or place == newest:
            continue
        above = place
        for level in range(len(offsets) - 1):
            load[offsets[level] + above] += weights[place]
            above //= FAN


@compiled
def _place(number, key, hashes, seed, buckets, out):  # type: ignore[no-untyped-def]
    if number == 0:
        place_count_sketch(key, hashes, seed, buckets, out)
    elif number == 1:
        place_count_min(key, hashes, seed, buckets, out)
    elif number == 2:
        place_histogram(key, hashes, seed, buckets, out)
    else:
        place_wavelet(key, hashes, seed, buckets, out)


@compiled
def _read(number, array, start, places):  # type: ignore[no-untyped-def]
    if number == 0:
        return read_count_sketch(array, start, places)
    elif number == 1:
        return read_count_min(array, start, places)
    elif number == 2:
        return read_histogram(array, start, places)
    else:
        return read_wavelet(array, start, places)


@compiled
def _walk(flat, offsets, load, weights, hashes, sure, keys, out):  # type: ignore[no-untyped-def]
    number, buckets, seed, newest, size = sure
    top = len(offsets) - 2
    places = np.empty(3, np.int64)
    levels = np.empty(FAN * len(offsets), np.int64)
    spots = np.empty(FAN * len(offsets), np.int64)
    for i in range(len(keys)):
        _place(number, keys[i], hashes, seed, buckets, places)
        found = 0.0
        if newest >= 0 and weights[newest] > 0.0:
            found += weights[newest] * _read(number, flat, newest * size, places)
        levels[0], spots[0], waiting = top, 0, 1
        while waiting > 0:
            waiting -= 1
            level, spot = levels[waiting], spots[waiting]
            node = offsets[level] + spot
            if load[node] <= 0.0:
                continue
            here = _read(number, flat, node * size, places)
            if level == 0:
                found += load[node] * here
            elif here >= PROMISING:
                below = offsets[level] - offsets[level - 1]
                for child in range(FAN * spot, min(FAN * spot + FAN, below)):
                    levels[waiting], spots[waiting] = level - 1, child
                    waiting += 1
        out[i] = found
