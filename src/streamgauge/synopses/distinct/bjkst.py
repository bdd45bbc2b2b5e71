"""BJKST: a thinned sample of distinct items that keeps fingerprints instead of keys.

As coordinated sampling, but an item is a fingerprint of 32 bits and its level: five bytes. Two
items with one fingerprint count as one, which the bar allows for. No items can be read back.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.distinct.sampling_law import RANDOM_HASHES
from streamgauge.synopses.distinct.sizing import check_share, check_size, smallest
from streamgauge.synopses.distinct.thinning import (
    check_instances,
    joined,
    level_for,
    levels,
    median_bar,
    reach_of,
    rows_at,
)
from streamgauge.synopses.questions import Distinct
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Synopsis, Trial, Values

Codes = npt.NDArray[np.uint64]

_BITS = 32


class Bjkst(Synopsis):
    """Distinct items by up to `limit` fingerprints of five bytes, in each of some instances.

    Parameters
    ----------
    limit
        Fingerprints an instance keeps at most; about `4 / epsilon ** 2` for an error of epsilon.
    instances
        Samples that hash independently, an odd number; the median is told.
    delta
        Chance that a bar fails.
    seed
        Chooses the hashes; parts to be merged need the same.

    Examples
    --------
    >>> counter = Bjkst(limit=400, seed=7)
    >>> counter.update(["a", "b", "a", None])
    >>> print(counter.query(Distinct()))
    2 in [2, 2] at 95% confidence, bjkst

    References
    ----------
    BJKST02: docs/references.md
    """

    name = "bjkst"
    answers = (Distinct,)
    takes = "keys"
    small = (64, 3)

    def __init__(
        self, limit: int, instances: int = 1, delta: float = 0.05, *, seed: int = 0
    ) -> None:
        check_size("bjkst", "limit", limit, 32, 1 << 20)
        check_instances("bjkst", instances)
        check_share("bjkst", delta)
        super().__init__(seed=seed)
        self.limit = limit
        self.instances = instances
        self.delta = delta
        self.levels = [0] * instances
        self.prints: list[npt.NDArray[np.uint32]] = [np.empty(0, np.uint32)] * instances
        self.heights: list[npt.NDArray[np.uint8]] = [np.empty(0, np.uint8)] * instances

    @property
    def guarantee(self) -> Guarantee:
        """Half-width of the bar of a sample just thinned, as a share of the count."""
        reach = reach_of(self.limit, self.instances, self.delta)
        reach += self._collisions(self.limit) / (self.limit / 3.0)
        return Guarantee("relative", reach, self.delta, RANDOM_HASHES, "BJKST02 thm 3")

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The smallest sample of one instance whose bar is within the contract."""
        sizes = [1 << lg for lg in range(5, 21)]
        return smallest(need, cls.name, sizes, lambda n, delta: cls(n, 1, delta, seed=seed))

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """As many items as a sample is just thinned for."""
        return Trial(np.arange(1080, dtype=np.int64) + 4096 * seed, Distinct())

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        for instance in range(self.instances):
            kept = column[rows_at(column, instance, self.levels[instance])]
            codes = np.empty(len(kept), np.uint64)
            _fingerprints(kept, levels(kept, instance), codes)
            self._take(instance, codes)

    def _codes(self, instance: int) -> Codes:
        heights = self.heights[instance].astype(np.uint64) << np.uint64(_BITS)
        return heights | self.prints[instance].astype(np.uint64)

    def _take(self, instance: int, codes: Codes) -> None:
        """Unite fingerprints with their levels above them, thinning if need be."""
        united = np.union1d(self._codes(instance), codes)
        found = (united >> np.uint64(_BITS)).astype(np.int64)
        self.levels[instance] = level_for(found, self.levels[instance], self.limit)
        stay = found >= self.levels[instance]
        self.heights[instance] = found[stay].astype(np.uint8)
        self.prints[instance] = united[stay].astype(np.uint32)

    def _merge(self, other: Self) -> None:
        for instance in range(self.instances):
            self.levels[instance] = max(self.levels[instance], other.levels[instance])
            self._take(instance, other._codes(instance))

    def _collisions(self, count: int) -> int:
        """Pairs that may have one fingerprint; more have a chance below a hundredth of delta."""
        mean = count * count / 2.0 ** (_BITS + 1)
        allowed, chance = 0, mean
        while chance > self.delta / 100.0 / self.instances:
            allowed += 1
            chance *= mean / (allowed + 1)
        return allowed

    def _answer(self, question: Any) -> Any:
        counts = [len(held) for held in self.prints]
        if not counts[0]:
            return self._bar(0.0, 0.0, 0.0, 0.0)
        delta = 0.99 * self.delta
        value, low, high, _ = median_bar(counts, self.levels, delta)
        hidden = max(
            self._collisions(count) * math.ldexp(1.0, level)
            for count, level in zip(counts, self.levels, strict=True)
        )
        return self._bar(value, low, high + hidden, self.delta)

    def _save(self) -> tuple[Values, Arrays]:
        arrays = {
            "prints": joined(self.prints, np.uint32),
            "heights": joined(self.heights, np.uint8),
            "sizes": np.array([len(held) for held in self.prints], np.int64),
        }
        return {"levels": self.levels}, arrays

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.levels = list(values["levels"])
        cuts = np.cumsum(arrays["sizes"])[:-1]
        self.prints = np.split(arrays["prints"], cuts)
        self.heights = np.split(arrays["heights"], cuts)

    def validate(self) -> None:
        """Samples within the limit and at or above their level."""
        for level, heights in zip(self.levels, self.heights, strict=True):
            assert len(heights) <= self.limit
            assert not len(heights) or heights.min() >= level


@compiled
def _fingerprints(keys, heights, out):  # type: ignore[no-untyped-def]
    for i in range(len(keys)):
        print_ = mix64(keys[i]) & np.uint64(0xFFFFFFFF)
        out[i] = (np.uint64(heights[i]) << np.uint64(32)) | print_
