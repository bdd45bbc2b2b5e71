"""Cells: all value buckets of one zone, each with a small synopsis of the keys of its rows.

One object is one zone. Its counters are one flat array, so that many zones are the rows of one
matrix and are updated and asked by columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.errors import IncompatibleSynopsis
from streamgauge.kernel.hashing import family, mix64
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.synopsis import Array, Arrays, Floats, Ints

UInts64 = npt.NDArray[np.uint64]


class Stretch(NamedTuple):
    """Rows of a column that a zone may take, and when it must stop.

    Rows `start` to `stop` are offered. The zone stops before the first row of a new instant when
    the instant before it is `earliest` or later and the cells are less sure than `theta`. `last`
    is the instant of the row before `start`, `serial` the number of that at `start` in the stream.
    """

    start: int
    stop: int
    last: int = 0
    earliest: int = 0
    theta: float = 0.0
    serial: int = 0


class Kernels(NamedTuple):
    """Compiled functions of a kind: rows taken, keys estimated, confidence from the sums."""

    take: Callable[..., int]
    estimate: Callable[..., None]
    confidence: Callable[..., float]


class Cells(ABC):
    """The cells of one zone.

    Parameters
    ----------
    buckets
        Buckets that keys are cut into.
    seed
        Chooses the hashes; zones to be added need the same.
    array, rows
        Where the counters and the rows of buckets are, all zero; None: arrays of its own.

    Attributes
    ----------
    array
        The counters, flat.
    rows
        Rows of each bucket.
    sums
        Whole numbers that `confidence` is worked out from, kept up to date row by row; after
        zones were combined, worked out again when they are next asked for.
    """

    kind: ClassVar[str]
    kernels: ClassVar[Kernels]
    """What is compiled for this kind."""
    number: ClassVar[int]
    """How the compiled walk of a pyramid tells kinds apart."""
    linear: ClassVar[bool] = True
    """Whether `subtract` undoes `add` exactly."""
    dtype: ClassVar[type[np.generic]] = np.int32
    n_sums: ClassVar[int]
    lines: ClassVar[int] = 1
    independence: ClassVar[int] = 4
    """Of the hash of each line; four bound the spread of sums of squares."""

    def __init__(
        self,
        buckets: int,
        *,
        seed: int = 0,
        array: Array | None = None,
        rows: Ints | None = None,
    ) -> None:
        self.buckets = buckets
        self.seed = seed
        self.array = np.zeros(self.size(buckets), self.dtype) if array is None else array
        self.rows = np.zeros(buckets, np.int64) if rows is None else rows
        self._sums = np.zeros(self.n_sums, np.int64)
        self._stale = False
        self.hashes = family(seed, self.lines, self.independence)

    @classmethod
    @abstractmethod
    def size(cls, buckets: int) -> int:
        """Numbers in the array of a zone."""

    def take(self, at: Ints, keys: UInts64, stretch: Stretch) -> int:
        """Take rows of a stretch; return the number of the first that was not taken."""
        counters = self.array, self.rows, self.sums
        return int(self.kernels.take(*counters, self.hashes, self.seed, at, keys, stretch))

    def estimate(self, keys: UInts64) -> Floats:
        """Expected rows with each key; below zero where the noise is."""
        out = np.empty(len(keys))
        self.kernels.estimate(self.array, self.hashes, self.seed, self.buckets, keys, out)
        return out

    def confidence(self) -> float:
        """How sure estimates are, in (0, 1]: typical / (typical + error).

        Typical is the count that a row of the zone meets on average, error the standard error of
        one estimate; both are read from the counters.
        """
        return float(self.kernels.confidence(self.sums, self.buckets))

    @abstractmethod
    def recount(self) -> Ints:
        """`sums`, worked out from the counters."""

    @property
    def sums(self) -> Ints:
        """What `confidence` is worked out from."""
        if self._stale:
            self._sums[:] = self.recount()
            self._stale = False
        return self._sums

    def summarize(self, keys: UInts64, *, serial: int = 0) -> None:
        """Take all rows of a column; `serial` is the number of the first in the stream."""
        self.take(np.zeros(len(keys), np.int64), keys, Stretch(0, len(keys), serial=serial))

    def add(self, other: Self) -> None:
        """Add the rows of another zone."""
        self._must_match(other)
        self.array += other.array
        self.rows += other.rows
        self._stale = True

    def subtract(self, other: Self) -> None:
        """Take back the rows of another zone that was added."""
        self._must_match(other)
        self.array -= other.array
        self.rows -= other.rows
        self._stale = True

    def clear(self) -> None:
        """Forget everything."""
        self.array[:] = 0
        self.rows[:] = 0
        self._sums[:] = 0
        self._stale = False

    def empty(self) -> Self:
        """Cells of the same shape without rows."""
        return type(self)(self.buckets, seed=self.seed)

    def copy(self) -> Self:
        """The same cells, sharing nothing."""
        twin = self.empty()
        twin.fill(self.array, self.rows)
        return twin

    @property
    def nbytes(self) -> int:
        """Bytes of all numbers kept."""
        return int(self.array.nbytes + self.rows.nbytes + self._sums.nbytes)

    def to_arrays(self) -> Arrays:
        """What `load` needs, small where most counters are zero."""
        where = np.flatnonzero(self.array)
        return {
            "where": where.astype(np.uint32),
            "counters": self.array[where],
            "rows": self.rows.copy(),
        }

    def load(self, arrays: Arrays) -> None:
        """Put back what `to_arrays` gave."""
        counters = np.zeros_like(self.array)
        counters[arrays["where"]] = arrays["counters"]
        self.fill(counters, arrays["rows"])

    def fill(self, array: Array, rows: Ints) -> None:
        """Hold these counters and rows of buckets from now on."""
        self.array[:] = array
        self.rows[:] = rows
        self._stale = True

    def _must_match(self, other: Cells) -> None:
        mine = (type(self), self.buckets, self.seed)
        if mine != (type(other), other.buckets, other.seed):
            raise IncompatibleSynopsis(
                "cells are combined with cells of the same kind, buckets and seed",
                f"{self.kind} of {self.buckets}, seed {self.seed}; "
                f"{other.kind} of {other.buckets}, seed {other.seed}",
                "declare both summaries alike",
            )


@compiled
def bucket_of(key, seed, buckets):  # type: ignore[no-untyped-def]
    """The bucket of a key; other bits than those that place it within the bucket."""
    high = mix64(key ^ mix64(seed)) >> np.uint64(32)
    return np.int64((high * np.uint64(buckets)) >> np.uint64(32))
