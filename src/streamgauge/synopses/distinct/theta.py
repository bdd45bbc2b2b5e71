"""Theta: the k smallest hashes, of which unions, intersections and differences can be taken.

A hash below the threshold is kept; the threshold is the smallest hash that did not fit. Two
sketches are cut to the smaller threshold and combined as sets, so one sketch a stream answers any
expression of streams. The bytes are those of Apache DataSketches' compact theta sketch.
"""

from __future__ import annotations

import struct
from typing import Any, Self

import datasketches
import numpy as np
import numpy.typing as npt

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import StateTooOld
from streamgauge.kernel.hashing import murmur_word
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import DATASKETCHES_SEED
from streamgauge.synopses.distinct.sampling_law import RANDOM_HASHES, items_sampled
from streamgauge.synopses.distinct.sizing import check_share, check_size, smallest
from streamgauge.synopses.questions import Distinct
from streamgauge.synopses.synopsis import Coarsening, Floats, Ints, Need, Synopsis, Trial

Hashes = npt.NDArray[np.uint64]

ALL = (1 << 63) - 1
"""Threshold of a sketch that has left nothing out."""
_COMPACT_ORDERED, _EMPTY = 0x1A, 0x04


class Theta(Synopsis, Coarsening):
    """Distinct items within about `1 / sqrt(2 ** lg_k)` (one deviation), closed under set algebra.

    Parameters
    ----------
    lg_k
        Base-2 logarithm of the hashes kept (eight bytes each), 4 to 26.
    delta
        Chance that a bar fails.
    seed
        Chooses the hash; 9001 is that of Apache DataSketches and Spark.

    Examples
    --------
    >>> one, two = Theta(lg_k=12), Theta(lg_k=12)
    >>> one.update(np.arange(0, 600))
    >>> two.update(np.arange(400, 1000))
    >>> print(one.intersection(two).query(Distinct()))
    200 in [200, 200], theta
    >>> print(one.difference(two).query(Distinct()))
    400 in [400, 400], theta

    References
    ----------
    DLRT16, BJKST02, DS: docs/references.md
    """

    name = "theta"
    answers = (Distinct,)
    takes = "keys"
    fields = ("threshold", "hashes")
    small = (6,)

    def __init__(
        self, lg_k: int = 12, delta: float = 0.05, *, seed: int = DATASKETCHES_SEED
    ) -> None:
        check_size("theta", "lg_k", lg_k, 4, 26)
        check_share("theta", delta)
        super().__init__(seed=seed)
        self.lg_k = lg_k
        self.delta = delta
        self.threshold = ALL
        self.hashes: Hashes = np.empty(0, np.uint64)

    @property
    def guarantee(self) -> Guarantee:
        """Half-width of the bar of a full sketch, as a share of the count; exact before."""
        kept = 1 << self.lg_k
        low, high = items_sampled(kept, 2.0**-20, self.delta)
        middle = kept * 2.0**20
        reach = max(high / middle - 1.0, 1.0 - low / middle)
        return Guarantee("relative", reach, self.delta, RANDOM_HASHES, "BJKST02 thm 2")

    @property
    def rate(self) -> float:
        """Share of the distinct items that is kept."""
        return 1.0 if self.threshold == ALL else self.threshold / 2.0**63

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = DATASKETCHES_SEED) -> Self:
        """The fewest hashes whose bar is within the contract."""
        sizes = range(4, 26)
        return smallest(need, cls.name, sizes, lambda lg, delta: cls(lg, delta, seed=seed))

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Any more items than are kept: the law is exact."""
        return Trial(np.arange(1500, dtype=np.int64) + 4096 * seed, Distinct())

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        below = np.empty(len(column), np.uint64)
        self._take(below[: _keep_below(column, np.uint64(self.threshold), below)])

    def _take(self, hashes: Hashes) -> None:
        if not len(hashes):
            return
        held = np.union1d(self.hashes, hashes)
        if len(held) > 1 << self.lg_k:
            self.threshold = int(held[1 << self.lg_k])
            held = held[: 1 << self.lg_k].copy()
        self.hashes = held

    def _cut(self, threshold: int) -> Hashes:
        return self.hashes[: np.searchsorted(self.hashes, np.uint64(threshold))]

    def _merge(self, other: Self) -> None:
        self.threshold = min(self.threshold, other.threshold)
        self.hashes = self._cut(self.threshold).copy()
        self._take(other._cut(self.threshold))

    def _answer(self, question: Any) -> Any:
        count = len(self.hashes)
        low, high = items_sampled(count, self.rate, self.delta)
        if low == high == count:
            return self._bar(float(count), low, high, 0.0)
        return self._bar(min(max(count / self.rate, low), high), low, high, self.delta)

    def union(self, other: Self) -> Self:
        """Items of either stream."""
        new = self.copy()
        new.merge(other)
        return new

    def intersection(self, other: Self) -> Self:
        """Items of both streams."""
        return self._combined(other, keep=True)

    def difference(self, other: Self) -> Self:
        """Items of this stream that are not in the other."""
        return self._combined(other, keep=False)

    def _combined(self, other: Self, *, keep: bool) -> Self:
        self._check_fits(other)
        new = self.empty()
        new.threshold = min(self.threshold, other.threshold)
        mine = self._cut(new.threshold)
        both = np.isin(mine, other._cut(new.threshold), assume_unique=True)
        new.hashes = mine[both == keep]
        # What is left may have come from no row at all, so rows only bound it.
        new.rows, new.mass = self.rows, self.mass
        return new

    def coarsened(self) -> Self:
        """The same rows in half the hashes."""
        new = type(self)(self.lg_k - 1, self.delta, seed=self.seed)
        new.threshold = self.threshold
        new._take(self.hashes)
        new.rows, new.mass, new.skipped = self.rows, self.mass, self.skipped
        return new

    def to_datasketches(self) -> bytes:
        """Bytes of an ordered compact theta sketch."""
        count = len(self.hashes)
        whole = self.threshold == ALL
        empty = whole and not count
        longs = 3 if not whole else 1 if count <= 1 else 2
        flags = _COMPACT_ORDERED | (_EMPTY if empty else 0)
        head = struct.pack("<6BH", longs, 3, 3, 0, 0, flags, seed_hash(self.seed))
        if longs > 1:
            head += struct.pack("<II", count, 0)
        if longs > 2:
            head += struct.pack("<Q", self.threshold)
        return head + self.hashes.tobytes()

    @classmethod
    def from_datasketches(
        cls,
        data: bytes,
        *,
        lg_k: int = 12,
        delta: float = 0.05,
        seed: int = DATASKETCHES_SEED,
    ) -> Self:
        """Read a compact theta sketch, cut to `2 ** lg_k` hashes."""
        try:
            sketch = datasketches.compact_theta_sketch.deserialize(data, seed)
        except (ValueError, RuntimeError, IndexError) as error:
            raise StateTooOld(
                "not the bytes of a DataSketches theta sketch of this seed",
                f"{len(data)} bytes, seed {seed}: {error}",
                "give what theta_sketch_agg or compact().serialize() wrote, and its seed",
            ) from error
        new = cls(lg_k, delta, seed=seed)
        new.threshold = int(sketch.theta64)
        new._take(np.fromiter(sketch, np.uint64))
        new.rows = len(new.hashes)
        new.mass = float(new.rows)
        return new

    def validate(self) -> None:
        """Hashes ascend, are below the threshold and not too many."""
        assert (self.hashes[1:] > self.hashes[:-1]).all()
        assert len(self.hashes) <= 1 << self.lg_k
        assert not len(self.hashes) or int(self.hashes[-1]) < self.threshold


def seed_hash(seed: int) -> int:
    """Sixteen bits that tell sketches of different seeds apart, as DataSketches computes them.

    >>> seed_hash(9001)
    37836
    """
    return int(murmur_word(np.uint64(seed), np.uint64(0))[0]) & 0xFFFF


@compiled
def _keep_below(column, threshold, out):  # type: ignore[no-untyped-def]
    n = 0
    for key in column:
        hashed = key >> np.uint64(1)
        # Zero means "no hash" in a DataSketches table.
        if np.uint64(0) < hashed < threshold:
            out[n] = hashed
            n += 1
    return n
