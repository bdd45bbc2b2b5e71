"""Law of samples of hashes: how many items there are when so many have a hash below a threshold.

The bar is the set of all n under which the sample seen is not too far out: tails are binomial and
exact, though the threshold was chosen by the data. Where it is the smallest hash that did not fit,
more items only lower it, so a state further out in one direction has more (or fewer) items below
the threshold that was seen. Where it is a power of two, at most two of them are likely for any n,
and each is given half of the chance of error.
"""

from __future__ import annotations

import math
from functools import lru_cache

from scipy import special

RANDOM_HASHES = (
    "different items have independent random hashes",
    "seed independent of the data",
)
"""What every law of this family takes for granted of MurmurHash3."""


@lru_cache(maxsize=4096)
def items_sampled(count: int, rate: float, delta: float) -> tuple[float, float]:
    """Fewest and most items of which `count` were kept, each with chance `rate`.

    >>> items_sampled(100, 1.0, 0.05)
    (100.0, 100.0)
    >>> items_sampled(100, 0.5, 0.05)
    (174.0, 230.0)
    """
    if rate >= 1.0:
        return float(count), float(count)
    tail = delta / 2.0
    low = _search(lambda n: _at_least(count, n, rate) > tail, count, count / rate + 1.0)
    far = (4.0 * count + 60.0) / rate
    high = _search(lambda n: _at_most(count, n, rate) <= tail, count / rate, far)
    return float(math.ceil(low - 1e-9)), float(math.floor(high + 1e-9))


def share_between(met: int, kept: int, delta: float) -> tuple[float, float]:
    """Bar around the share of all that meets a condition, from a uniform sample (exact tails).

    >>> [round(end, 3) for end in share_between(20, 100, 0.05)]
    [0.127, 0.292]
    """
    low = special.betaincinv(met, kept - met + 1, delta / 2.0) if met else 0.0
    high = special.betainccinv(met + 1, kept - met, delta / 2.0) if met < kept else 1.0
    return float(low), float(high)


@lru_cache(maxsize=256)
def median_delta(instances: int, delta: float) -> float:
    """Chance of error to allow in each of an odd number of bars, so that their median holds.

    The median of the low ends is too high only if more than half of them are.

    >>> round(median_delta(5, 0.05), 3)
    0.293
    """
    half = (instances + 1) // 2
    return 2.0 * float(special.betaincinv(half, instances - half + 1, delta / 2.0))


def _at_least(count: float, n: float, rate: float) -> float:
    if count <= 0:
        return 1.0
    return float(special.betainc(count, n - count + 1.0, rate)) if n >= count else 0.0


def _at_most(count: float, n: float, rate: float) -> float:
    if n <= count or rate <= 0.0:
        return 1.0
    return float(special.betaincc(count + 1.0, n - count, min(rate, 1.0)))


def _search(true_above, low: float, high: float) -> float:  # type: ignore[no-untyped-def]
    """Where a condition that is false at first becomes true."""
    if true_above(low):
        return low
    for _ in range(80):
        middle = 0.5 * (low + high)
        if true_above(middle):
            high = middle
        else:
            low = middle
        if high - low <= 1e-12 * high:
            break
    return high
