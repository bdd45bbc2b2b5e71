"""Limits: what a sample proves about all rows, without assuming anything of their distribution.

Each function turns what was seen in a sample into limits that are missed on either side with
chance `tail` at most. Counts of rows use the exact law of the sample; sums of numbers in [0, 1]
are tested by betting against each candidate for their mean.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from streamgauge.kernel.jit import compiled

# Of the chance of failure, this part pays for the plain bound that caps the width of a bet.
_CAPPED = 0.1


@compiled
def hypergeometric_limits(x, k, n, tail):  # type: ignore[no-untyped-def]
    """Limits of the rows of a kind among n, when x of k drawn without replacement are of it."""
    low, high = x, n - (k - x)
    bottom, top = low, high
    # Smallest count under which x or more is not too surprising.
    while bottom < top:
        middle = (bottom + top) // 2
        if _at_least(x, k, middle, n) > tail:
            top = middle
        else:
            bottom = middle + 1
    lowest = bottom
    bottom, top = low, high
    while bottom < top:
        middle = (bottom + top + 1) // 2
        if _at_least(k - x, k, n - middle, n) > tail:
            bottom = middle
        else:
            top = middle - 1
    return lowest, bottom


@compiled
def _log_chance(x, k, good, n):  # type: ignore[no-untyped-def]
    """Logarithm of the chance of x good rows among k drawn from n without replacement."""
    bad = n - good
    logs = math.lgamma(k + 1.0) - math.lgamma(x + 1.0) - math.lgamma(k - x + 1.0)
    if n < 10_000_000:
        logs += math.lgamma(good + 1.0) - math.lgamma(good - x + 1.0)
        logs += math.lgamma(bad + 1.0) - math.lgamma(bad - (k - x) + 1.0)
        return logs - math.lgamma(n + 1.0) + math.lgamma(n - k + 1.0)
    # Differences of such large logarithms would lose their digits.
    for i in range(x):
        logs += math.log((good - i) / (n - i))
    for i in range(k - x):
        logs += math.log((bad - i) / (n - x - i))
    return logs


@compiled
def _at_least(x, k, good, n):  # type: ignore[no-untyped-def]
    """Chance of x or more good rows among k drawn from n without replacement."""
    bad = n - good
    most, least = min(k, good), max(0, k - bad)
    if x <= least:
        return 1.0
    if x > most:
        return 0.0
    # Sum the side that does not hold the mean: its terms fall.
    upper = x > k * (good / n)
    at = x if upper else x - 1
    term = math.exp(_log_chance(at, k, good, n))
    total = term
    while term > 1e-18 * total:
        if upper:
            if at >= most:
                break
            term *= (k - at) / (at + 1.0) * (good - at) / (bad - k + at + 1.0)
            at += 1
        else:
            if at <= least:
                break
            term *= at / (k - at + 1.0) * (bad - k + at) / (good - at + 1.0)
            at -= 1
        total += term
    return min(1.0, total) if upper else max(0.0, 1.0 - total)


def binomial_limits(x: int, k: int, tail: float) -> tuple[float, float]:
    """Limits of a chance, when x of k independent draws succeeded (Clopper and Pearson).

    >>> low, high = binomial_limits(5, 10, 0.025)
    >>> round(low, 4), round(high, 4)
    (0.1871, 0.8129)
    """
    low = 0.0 if x == 0 else float(special.betaincinv(x, k - x + 1, tail))
    high = 1.0 if x == k else float(special.betaincinv(x + 1, k - x, 1.0 - tail))
    return low, high


def poisson_limits(z: float, tail: float) -> tuple[float, float]:
    """Limits of the mean of a sum of terms in [0, 1], independent or negatively dependent.

    Chernoff: the chance of z or more falls below exp(-(z log(z/mean) - z + mean)).

    >>> low, high = poisson_limits(10.0, 0.025)
    >>> round(low, 2), round(high, 2)
    (3.67, 21.21)
    """
    owed = -math.log(tail)
    if z <= 0.0:
        return 0.0, owed
    # With mean = z exp(y) the divergence is z (exp(y) - 1 - y): Lambert's function inverts it.
    argument = -math.exp(-1.0 - owed / z)
    low = -z * float(special.lambertw(argument, 0).real)
    high = -z * float(special.lambertw(argument, -1).real) if argument < 0.0 else math.inf
    # exp underflows for z far below one: there mean - z + z log(z/mean) is solved by steps.
    if not math.isfinite(high):
        high = owed
        for _ in range(60):
            high = owed + z - z * math.log(z / high)
    return low, high


@compiled
def share_limits(p, k, tail):  # type: ignore[no-untyped-def]
    """Limits of the mean of rows in [0, 1], when k drawn without replacement have mean p.

    Hoeffding's bound by relative entropy; it needs no knowledge of how many rows there are.
    """
    owed = -math.log(tail) / k
    low_bottom, low_top = 0.0, p
    high_bottom, high_top = p, 1.0
    for _ in range(60):
        middle = 0.5 * (low_bottom + low_top)
        if _divergence(p, middle) > owed:
            low_bottom = middle
        else:
            low_top = middle
        middle = 0.5 * (high_bottom + high_top)
        if _divergence(p, middle) > owed:
            high_top = middle
        else:
            high_bottom = middle
    return low_bottom, high_top


@compiled
def _divergence(p, q):  # type: ignore[no-untyped-def]
    total = 0.0
    if p > 0.0:
        total += p * math.log(p / q) if q > 0.0 else math.inf
    if p < 1.0:
        total += (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if q < 1.0 else math.inf
    return total


@compiled
def mean_limits(y, n, tail):  # type: ignore[no-untyped-def]
    """Limits of the mean of n rows in [0, 1] from a sample y, in random order.

    Without replacement, or with it when n is infinite. A gambler bets against each candidate; the
    chance that his capital ever grows by a factor is at most one over that factor (WR20, WR24).
    A tenth of the chance goes to Hoeffding's and Serfling's bound, so that no bar is wider than it.
    """
    k = len(y)
    owed = -math.log((1.0 - _CAPPED) * tail)
    bets = np.empty(k)
    total, spread = 0.5, 0.25
    for t in range(k):
        bets[t] = math.sqrt(2.0 * owed * (t + 1.0) / (k * spread))
        total += y[t]
        spread += (y[t] - total / (t + 2.0)) ** 2
    mean = y.sum() / k
    left = 1.0 if math.isinf(n) else 1.0 - (k - 1.0) / n
    plain = math.sqrt(-math.log(_CAPPED * tail) * left / (2.0 * k))
    low = max(_lowest(y, bets, n, owed), mean - plain, 0.0)
    high = min(1.0 - _lowest(1.0 - y, bets, n, owed), mean + plain, 1.0)
    return min(low, mean), max(high, mean)


@compiled
def _lowest(y, bets, n, owed):  # type: ignore[no-untyped-def]
    """Smallest candidate against which betting on larger numbers does not win."""
    bottom, top = 0.0, y.sum() / len(y)
    for _ in range(40):
        middle = 0.5 * (bottom + top)
        if _wins(y, bets, n, owed, middle):
            bottom = middle
        else:
            top = middle
    return bottom


@compiled
def _wins(y, bets, n, owed, candidate):  # type: ignore[no-untyped-def]
    capital, seen = 0.0, 0.0
    for t in range(len(y)):
        expected = candidate
        if not math.isinf(n):
            expected = (n * candidate - seen) / (n - t)
            if expected < 0.0:
                return True
        bet = bets[t]
        if bet * expected > 0.75:
            bet = 0.75 / expected
        capital += math.log1p(bet * (y[t] - expected))
        if capital >= owed:
            return True
        seen += y[t]
    return False


def population_limits(v: float, k: int, tail: float) -> tuple[float, float]:
    """Limits of how many uniforms were drawn, when the k-th smallest is v.

    >>> low, high = population_limits(0.1, 100, 0.025)
    >>> low < 1000 < high
    True
    """
    # The k-th smallest of n is a Beta(k, n - k + 1): both ends are found from its second parameter.
    low, high = special.btdtrib(k, [tail, 1.0 - tail], v) + k - 1.0
    return float(low), float(high)
