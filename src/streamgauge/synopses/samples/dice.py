"""Dice: draws of one sample, the same at every replay, different from part to part.

A die is three words: the seed, a salt and the number of draws made. Each row taken into a sample
is stirred into the salt, so that parts which share a seed but not their rows draw differently and
can be merged as if drawn apart. The gaps between rows taken are drawn whole, not row by row.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.hashing import mix64, uniform
from streamgauge.kernel.jit import compiled

Dice = npt.NDArray[np.uint64]

# From here on rejection with a squeeze needs fewer draws than inversion (V85, section 6).
_INVERSION_UP_TO = 22.0
_FAR = np.int64(1) << np.int64(62)


def dice(seed: int) -> Dice:
    """Unrolled dice of a seed.

    >>> dice(7).tolist()
    [7, 0, 0]
    """
    return np.array([seed, 0, 0], np.uint64)


@compiled
def roll(dice):  # type: ignore[no-untyped-def]
    """Draw the next uniform in (0, 1)."""
    dice[2] += np.uint64(1)
    return uniform(dice[0] ^ dice[1], dice[2])


@compiled
def roll_below(dice, n):  # type: ignore[no-untyped-def]
    """Draw a whole number in [0, n)."""
    return min(np.int64(roll(dice) * n), np.int64(n) - 1)


@compiled
def stir(dice, word):  # type: ignore[no-untyped-def]
    """Mix the bits of a row into the salt."""
    dice[1] = mix64(dice[1] ^ np.uint64(word))


@compiled
def geometric_gap(dice, q):  # type: ignore[no-untyped-def]
    """Rows to leave out before the next one is taken, when each is taken with chance q."""
    if q >= 1.0:
        return np.int64(0)
    gap = math.log(roll(dice)) / math.log1p(-q)
    return np.int64(gap) if gap < 4.0e18 else _FAR


@compiled
def reservoir_gap(dice, i, k):  # type: ignore[no-untyped-def]
    """Rows to leave out after row i (counted from 1, i >= k), when row j enters with chance k/j."""
    if i <= _INVERSION_UP_TO * k:
        u = roll(dice)
        gap = np.int64(0)
        left = (i + 1.0 - k) / (i + 1.0)
        while left > u:
            gap += 1
            left *= (i + 1.0 - k + gap) / (i + 1.0 + gap)
        return gap
    c = (i + 1.0) / (i - k + 1.0)
    while True:
        x = i * (math.exp(-math.log(roll(dice)) / k) - 1.0)
        if x >= 4.0e18:
            return _FAR
        m = np.int64(x)
        envelope = c * k / (i + x) * math.exp(k * math.log(i / (i + x)))
        u = roll(dice) * envelope
        squeeze = k / (i + 1.0) * math.exp((k + 1.0) * math.log((i - k + 1.0) / (i + m - k + 1.0)))
        if u <= squeeze or u <= reservoir_density(i, k, m):
            return m


@compiled
def reservoir_density(i, k, m):  # type: ignore[no-untyped-def]
    """Chance that exactly m rows are left out after row i of a reservoir of k."""
    # k/(i+1) * prod_{t=1..m} (i-k+t)/(i+1+t); written so that i = k needs no special case.
    if m <= 2 * k:
        chance = k / (i + 1.0)
        for t in range(1, m + 1):
            chance *= (i - k + t) / (i + 1.0 + t)
        return chance
    # The same product turned around: k+1 factors instead of m.
    logs = math.log(k) - math.log(i - k + m + 1.0)
    for t in range(k):
        logs += math.log((i - t) / (i + m + 1.0 - t))
    return math.exp(logs)


@compiled
def sequential_gap(dice, i, j):  # type: ignore[no-untyped-def]
    """Rows to leave out when i are still to be taken of the next j, each set as likely."""
    if i == 1:
        return roll_below(dice, j)
    if i >= 0.07 * j:
        u = roll(dice)
        gap = np.int64(0)
        left = (j - i) / (j * 1.0)
        while left > u:
            gap += 1
            left *= (j - i - gap) / (j * 1.0 - gap)
        return gap
    few = i * i <= 50.0 * j
    p = (i - 1.0) / (j - 1.0)
    while True:
        if few:
            x = j * (1.0 - math.exp(math.log(roll(dice)) / i))
            m = np.int64(x)
            envelope = i / (j - i + 1.0) * math.exp((i - 1.0) * math.log1p(-x / j))
            squeeze = 1.0 - m / (j - i + 1.0)
            squeeze = i / j * squeeze ** (i - 1.0) if squeeze > 0.0 else 0.0
        else:
            m = np.int64(math.log(roll(dice)) / math.log1p(-p))
            envelope = i / (i - 1.0) * (j - 1.0) / j * p * math.exp(m * math.log1p(-p))
            squeeze = 1.0 - (i - 1.0) / (j - m) if m < j - i + 1 else 0.0
            squeeze = i / j * squeeze**m if squeeze > 0.0 else 0.0
        if m > j - i:
            continue
        u = roll(dice) * envelope
        if u <= squeeze or u <= sequential_density(i, j, m):
            return m


@compiled
def sequential_density(i, j, m):  # type: ignore[no-untyped-def]
    """Chance that exactly m rows are left out when i are still to be taken of the next j."""
    chance = i / (j * 1.0)
    for t in range(m):
        chance *= (j - i - t) / (j - 1.0 - t)
    return chance


@compiled
def hypergeometric(dice, good, bad, k):  # type: ignore[no-untyped-def]
    """How many of k rows drawn from good + bad without replacement are good."""
    total = good + bad
    taken = np.int64(0)
    for drawn in range(k):
        if roll(dice) * (total - drawn) < good - taken:
            taken += 1
    return taken


@compiled
def shuffle_first(dice, order, k):  # type: ignore[no-untyped-def]
    """Bring a uniform choice of k entries, in random order, to the front."""
    n = len(order)
    for i in range(min(k, n - 1)):
        j = i + roll_below(dice, n - i)
        order[i], order[j] = order[j], order[i]
