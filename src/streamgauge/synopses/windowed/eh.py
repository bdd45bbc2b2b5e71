"""ExponentialHistogram: any statistic that merges, over a sliding window.

Give a way to merge two buckets and a size of a bucket that is at least additive, f(A + B) >= f(A) +
f(B), and at most `spread` times so. Buckets are put together while they are a small part of all
that is newer. The statistic of the buckets that are alive for sure then never exceeds the truth,
and with the bucket across the edge of the window it never falls short. With a spread of C and
precision k, f of the first is within a factor C + C^2 / k of the truth.

It keeps Python objects, one for each bucket, and is meant for buckets that are large: sketches,
samples, clusterings. The synopses of this folder for counts, sums, variances and norms do the same
in compiled loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.keys import Column, items
from streamgauge.synopses.synopsis import Synopsis

B = TypeVar("B")
S = TypeVar("S", bound=Synopsis)


class Bucket(NamedTuple, Generic[B]):
    """Neighbouring rows: newest time, whether all have it, what stands for them, its size."""

    time: int
    whole: bool
    held: B
    size: float


class ExponentialHistogram(Generic[B]):
    """Buckets of neighbouring rows, each small against all that is newer.

    Parameters
    ----------
    window
        Longest window that can be asked for, in the unit of the times.
    precision
        Two buckets are put together when their sizes add up to at most 1 / precision of the sizes
        of all newer ones.
    merge
        What stands for two buckets together; it must not change either.
    size
        Size of a bucket, 0 or more.
    spread
        Largest ratio of the size of two buckets together to the sum of their sizes.

    Examples
    --------
    >>> squares = ExponentialHistogram(
    ...     100, 20, merge=lambda a, b: a + b, size=lambda v: float(v @ v), spread=2.0
    ... )
    >>> for row in range(1000):
    ...     squares.add(row, np.eye(5)[row % 5])
    >>> inner, outer = squares.between()
    >>> bool(inner @ inner <= 5 * 20**2 <= outer @ outer)
    True
    """

    def __init__(
        self,
        window: int,
        precision: float,
        *,
        merge: Callable[[B, B], B],
        size: Callable[[B], float],
        spread: float = 1.0,
    ) -> None:
        if window < 1 or not precision >= 1.0 or not spread >= 1.0:
            raise BindError(
                "a histogram needs a window, a precision and a spread of 1 or more",
                f"got window={window}, precision={precision}, spread={spread}",
                "write ExponentialHistogram(3600, 20, merge=..., size=...)",
            )
        self.window = window
        self.precision = precision
        self.spread = spread
        self.merge = merge
        self.size = size
        self.now: int | None = None
        self.first = 0
        self.buckets: list[Bucket[B]] = []
        self._room = 8

    @property
    def factor(self) -> float:
        """Largest ratio of the truth to the size of the rows that are alive for sure."""
        return self.spread + self.spread**2 / self.precision

    def add(self, time: int, bucket: B) -> None:
        """Take a bucket of rows that all have one time, which is not before the last one."""
        if self.now is not None and time < self.now:
            raise BindError(
                "times must not fall", f"{time} after {self.now}", "sort the rows by time"
            )
        if not self.buckets:
            self.first = time
        last = self.buckets[-1] if self.buckets else None
        if last is not None and last.time == time and last.whole:
            held = self.merge(last.held, bucket)
            self.buckets[-1] = Bucket(time, True, held, self.size(held))
        else:
            self.buckets.append(Bucket(time, True, bucket, self.size(bucket)))
        self.now = time
        if len(self.buckets) > self._room:
            self._expire()
            self._sweep()
            self._room = max(8, 2 * len(self.buckets))

    def advance(self, now: int) -> None:
        """Move the clock; buckets that are too old go."""
        assert self.now is None or now >= self.now, "the clock does not run back"
        self.now = now
        self._expire()

    def between(self, window: int | None = None) -> tuple[B | None, B | None]:
        """What stands for the rows that are alive for sure, and for all that may be.

        The two are the same when no bucket lies across the edge; None stands for no rows.
        """
        edge = -1 if self.now is None else self.now - (window or self.window)
        living = [bucket for bucket in self.buckets if bucket.time > edge]
        if not living:
            return None, None
        inner = self._together(living[1:])
        outer = living[0].held if inner is None else self.merge(living[0].held, inner)
        sure = living[0].whole or self.first > edge
        return (outer if sure else inner), outer

    def _together(self, buckets: list[Bucket[B]]) -> B | None:
        total: B | None = None
        for bucket in buckets:
            total = bucket.held if total is None else self.merge(total, bucket.held)
        return total

    def _expire(self) -> None:
        assert self.now is not None
        edge = self.now - self.window
        self.buckets = [bucket for bucket in self.buckets if bucket.time > edge]

    def _sweep(self) -> None:
        """Put neighbours together, newest first."""
        kept: list[Bucket[B]] = []
        newer = 0.0
        older = list(self.buckets)
        while older:
            here = older.pop()
            while older and (here.size + older[-1].size) * self.precision <= newer:
                held = self.merge(older.pop().held, here.held)
                here = Bucket(here.time, False, held, self.size(held))
            newer += here.size
            kept.append(here)
        self.buckets = kept[::-1]


def over_window(
    model: S,
    window: int,
    precision: float,
    *,
    size: Callable[[S], float] = lambda held: held.mass,
    spread: float = 1.0,
) -> ExponentialHistogram[S]:
    """A histogram whose buckets are synopses like the model; `put` gives it rows.

    The size is the total weight unless said otherwise.
    """

    def merge(one: S, two: S) -> S:
        both = one.copy()
        both.merge(two)
        return both

    return ExponentialHistogram(window, precision, merge=merge, size=size, spread=spread)


def put(histogram: ExponentialHistogram[S], model: S, column: Column, times: Any) -> None:
    """Fold rows of ascending times: a synopsis for each time."""
    taken = items(column)
    instants = taken.align(np.asarray(times, np.int64))
    assert instants is not None
    if not len(instants):
        return
    starts = np.flatnonzero(np.diff(instants, prepend=instants[0] - 1))
    stops = np.append(starts[1:], len(instants))
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        bucket = model.empty()
        bucket.update(taken.values.slice(start, stop - start))
        histogram.add(int(instants[start]), bucket)
