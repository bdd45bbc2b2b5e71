"""Thinning: which items stay when a sample of distinct items keeps one in 2^level.

An item's level is the number of zeros that end its hash. Every instance hashes anew; all parties
with one seed thin alike, so their samples can be put together.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.distinct.bits import trailing_zeros
from streamgauge.synopses.distinct.sampling_law import items_sampled, median_delta

Hashes = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]

TOP = 60
"""Highest level; no stream is so long that a sample of this level outgrows its limit."""


@compiled
def levels_of(keys, instance, out):  # type: ignore[no-untyped-def]
    """Level of each key in an instance."""
    salt = mix64(np.uint64(instance) + np.uint64(0x5A17))
    for i in range(len(keys)):
        out[i] = min(trailing_zeros(mix64(keys[i] ^ salt)), TOP)


@compiled
def survivors(keys, instance, level, rows):  # type: ignore[no-untyped-def]
    """Rows whose keys are at or above a level; returns how many."""
    salt = mix64(np.uint64(instance) + np.uint64(0x5A17))
    n = 0
    for i in range(len(keys)):
        if min(trailing_zeros(mix64(keys[i] ^ salt)), TOP) >= level:
            rows[n] = i
            n += 1
    return n


def levels(keys: Hashes, instance: int) -> Ints:
    """Level of each key in an instance, as a column."""
    out = np.empty(len(keys), np.int64)
    levels_of(keys, instance, out)
    return out


def rows_at(keys: Hashes, instance: int, level: int) -> Ints:
    """Rows of keys at or above a level."""
    rows = np.empty(len(keys), np.int64)
    return rows[: survivors(keys, instance, level, rows)]


def level_for(found: Ints, level: int, limit: int) -> int:
    """First level from `level` on at which no more than `limit` of these stay."""
    reached = np.bincount(found, minlength=TOP + 2)
    at_least = reached[::-1].cumsum()[::-1]
    while at_least[level] > limit:
        level += 1
    return level


def median_bar(
    counts: list[int], levels_held: list[int], delta: float
) -> tuple[float, float, float, bool]:
    """Estimate with its bar from the samples of all instances, and whether it is exact."""
    if all(level == 0 for level in levels_held):
        return float(counts[0]), float(counts[0]), float(counts[0]), True
    chance = median_delta(len(counts), delta)
    ends = [
        items_sampled(count, 0.5**level, chance / 2.0)
        for count, level in zip(counts, levels_held, strict=True)
    ]
    value = float(
        np.median([count * 2.0**level for count, level in zip(counts, levels_held, strict=True)])
    )
    low = float(np.median([end[0] for end in ends]))
    high = max(low, float(np.median([end[1] for end in ends])))
    return min(max(value, low), high), low, high, False


@lru_cache(maxsize=256)
def reach_of(limit: int, instances: int, delta: float) -> float:
    """Widest share of a bar, short of a sample that shrank by more than three deviations."""
    count = max(1, int(limit / 2.0 - 1.5 * math.sqrt(limit)))
    rate = 2.0**-20
    low, high = items_sampled(count, rate, median_delta(instances, delta) / 2.0)
    return max(high * rate / count - 1.0, 1.0 - low * rate / count)


def check_instances(name: str, instances: int) -> None:
    """Refuse an even number of instances: the median must be one of them."""
    if instances < 1 or instances % 2 == 0:
        raise BindError(
            f"{name} needs an odd number of instances",
            f"got instances={instances}",
            f"write instances={max(instances + 1, 1)}",
        )


def joined(parts: list[Any], dtype: Any) -> npt.NDArray[Any]:
    """Arrays one after the other, of a type even when there are none."""
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype)
