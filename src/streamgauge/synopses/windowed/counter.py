"""EhCounter: how many of something lie in any recent window, in logarithmic space.

Units are numbered from the newest and cut into buckets of sizes 1, 1, ..., 2, 2, ..., 4, ...: of
each size there are `half` or one more, so a bucket is small against all that is newer than it.
How many buckets a total has of each size is a formula. So only the time of the newest unit of each
bucket is stored, a whole batch is one walk over the buckets, and the state does not depend on how
rows were cut into batches. A unit that is not the newest of its bucket never becomes one again,
which is why the old times are all that is needed.

It is a counter: any table of counters becomes a table over a window by putting it in place of the
numbers.
"""

from __future__ import annotations

import math

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.synopsis import Arrays, Ints, Values
from streamgauge.synopses.windowed.clock import Between, Lane, alive

_WRAP = 1 << 60


class EhCounter(Lane):
    """A count over any window up to `window`, within `epsilon` of the value.

    Parameters
    ----------
    window
        Longest window that can be asked for.
    epsilon
        Relative error.

    Examples
    --------
    >>> counter = EhCounter(window=100, epsilon=0.5)
    >>> counter.add(np.arange(1000))
    >>> counter.value(edge=899)
    Between(value=88.5, low=73.0, high=104.0)
    >>> counter.buckets
    9
    """

    __slots__ = ("first", "half", "times", "total", "window")

    def __init__(self, window: int, epsilon: float) -> None:
        self.window = window
        self.half = math.ceil(math.ceil(1.0 / epsilon - 1e-9) / 2)
        self.total = 0
        self.first = 0
        # Time of the newest unit of each bucket, oldest bucket first.
        self.times: Ints = np.empty(0, np.int64)

    @property
    def buckets(self) -> int:
        """How many buckets it holds."""
        return len(self.times)

    def add(self, times: Ints, units: Ints | None = None) -> None:
        """Count rows of ascending times, each once or as often as `units` says (at least once)."""
        start = self._after_silence(times)
        times = times[start:]
        reach = (
            np.arange(1, len(times) + 1, dtype=np.int64)
            if units is None
            else np.cumsum(units[start:], dtype=np.int64)
        )
        out = np.empty((self.half + 2) * 62, np.int64)
        n = _rebuild(
            np.ascontiguousarray(self.times[::-1]),
            wrapped(self.total),
            self.half,
            times,
            reach,
            int(times[-1]) - self.window,
            out,
        )
        assert n >= 0, "a bucket begins where no bucket began before"
        self.times = out[:n][::-1].copy()
        self.total += int(reach[-1])

    def expire(self, edge: int) -> None:
        """Let go the buckets of which nothing is newer than `edge`."""
        self.times = self.times[alive(self.times, edge) :].copy()
        if self.empty:
            self.total = 0

    def value(self, edge: int) -> Between:
        """How many units are newer than `edge`."""
        place = alive(self.times, edge)
        sizes = self.sizes()[place:]
        if not len(sizes):
            return Between(0.0, 0.0, 0.0)
        total = float(sizes.sum())
        if self.first > edge:
            return Between(total, total, total)
        # The oldest bucket holds at least its newest unit.
        rest = float(sizes[0]) - 1.0
        return Between(total - rest / 2.0, total - rest, total)

    def sizes(self) -> Ints:
        """Units of each bucket, oldest first."""
        counts = canonical(wrapped(self.total), self.half)
        sizes = np.repeat(np.int64(1) << np.arange(len(counts), dtype=np.int64), counts)
        return sizes[: len(self.times)][::-1].copy()

    def saved(self) -> tuple[Values, Arrays]:
        """Total and first time, and the times of the buckets."""
        return {"total": self.total, "first": self.first}, {"times": self.times}

    def load(self, values: Values, arrays: Arrays) -> None:
        """Take state as saved."""
        self.total, self.first = values["total"], values["first"]
        self.times = arrays["times"]

    def _after_silence(self, times: Ints) -> int:
        """Begin anew after the last gap as long as the window: all before it is too old."""
        gaps = np.flatnonzero(np.diff(times) >= self.window)
        start = int(gaps[-1]) + 1 if len(gaps) else 0
        if start or self.empty or int(times[0]) - int(self.times[-1]) >= self.window:
            self.total, self.first = 0, int(times[start])
            self.times = np.empty(0, np.int64)
        return start


def wrapped(total: int) -> int:
    """A total of the same buckets below level 59 that fits a machine word."""
    return total if total < 2 * _WRAP else _WRAP + total % _WRAP


def canonical(total: int, half: int) -> Ints:
    """How many buckets of sizes 1, 2, 4, ... a total has: `half` or one more of each but the last.

    >>> canonical(13, 1)[:4], canonical(13, 2)[:4]
    (array([1, 2, 2, 0]), array([3, 3, 1, 0]))
    """
    counts = np.zeros(62, np.int64)
    _canonical(total, half, counts)
    return counts


@compiled
def _canonical(total, half, counts):  # type: ignore[no-untyped-def]
    top = 0
    while half * ((np.int64(2) << top) - 1) <= total:
        top += 1
    rest = total - half * ((np.int64(1) << top) - 1)
    largest = rest >> top
    low_bits = rest - (largest << top)
    for level in range(top):
        counts[level] = half + ((low_bits >> level) & 1)
    counts[top] = largest


@compiled
def _rebuild(old, old_total, half, times, reach, edge, out):  # type: ignore[no-untyped-def]
    added = reach[-1]
    old_counts = np.zeros(62, np.int64)
    counts = np.zeros(62, np.int64)
    _canonical(old_total, half, old_counts)
    _canonical(old_total + added, half, counts)
    n = 0
    newer = np.int64(0)
    at = 0
    at_level = 0
    at_copy = 0
    at_newer = added
    for level in range(62):
        for _copy in range(counts[level]):
            if newer < added:
                row = np.searchsorted(reach, added - newer)
                instant = times[row]
            else:
                while at < len(old) and at_newer < newer:
                    at_newer += np.int64(1) << at_level
                    at_copy += 1
                    at += 1
                    while at_level < 61 and at_copy == old_counts[at_level]:
                        at_level += 1
                        at_copy = 0
                if at >= len(old):
                    return n
                if at_newer != newer:
                    return -1
                instant = old[at]
            if instant <= edge:
                return n
            out[n] = instant
            n += 1
            newer += np.int64(1) << level
    return n
