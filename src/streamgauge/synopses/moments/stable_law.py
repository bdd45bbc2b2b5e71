"""The symmetric stable laws: their draws, distribution, quantiles and means of logarithms.

A sum of draws with weights a_i is distributed like one draw times (sum |a_i|^p)^(1/p). Everything
here is in logarithms, since the laws of small p have no numbers that a float can hold. Scale: the
characteristic function is exp(-|t|^p), so that p = 2 is a normal law of variance 2.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import scipy
from scipy import special

from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.moments.accumulators import deposit
from streamgauge.synopses.synopsis import Floats

_LOG2 = math.log(2.0)
MANTISSA = 30


@compiled
def log_draw(first, second, p):  # type: ignore[no-untyped-def]
    """Logarithm of the absolute value of a draw, from two words of random bits.

    Chambers, Mallows and Stuck: an angle and an exponential variable.
    """
    angle = (np.float64(first >> np.uint64(11)) + 0.5) * (0.5 * math.pi / 9007199254740992.0)
    other = (np.float64(second >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)
    value = math.log(math.sin(p * angle)) - math.log(math.cos(angle)) / p
    if p != 1.0:
        wait = -math.log(other)
        value += (1.0 - p) / p * (math.log(math.cos((1.0 - p) * angle)) - math.log(wait))
    return value


@compiled
def add_draws(sums, keys, weights, p, unit, ceiling):  # type: ignore[no-untyped-def]
    """Add to each sum, for each key, its weight times a draw that belongs to the key and the sum.

    A draw is cut to a mantissa of 31 bits and to the unit before it is multiplied: with whole
    weights the sums are exact and do not depend on the order of the rows.
    """
    copies = sums.shape[0]
    for i in range(len(keys)):
        weight = abs(weights[i])
        taken_back = weights[i] < 0.0
        shift = 0
        if weight == math.floor(weight):
            mantissa = np.uint64(weight)
        else:
            part, exponent = math.frexp(weight)
            mantissa = np.uint64(part * 9007199254740992.0)
            shift = exponent - 53
        low = mantissa & np.uint64(0xFFFFFFFF)
        high = mantissa >> np.uint64(32)
        base = mix64(keys[i])
        for j in range(copies):
            second = mix64(base + np.uint64(2 * j + 1))
            size = log_draw(mix64(base + np.uint64(2 * j)), second, p) / _LOG2
            size = min(size, ceiling)
            whole = math.floor(size)
            bits = np.uint64(2.0 ** (size - whole) * 1073741824.0)
            place = int(whole) - MANTISSA + unit
            if place < 0:
                bits = bits >> np.uint64(min(-place, 63))
                place = 0
            negative = taken_back != (second & np.uint64(1) == np.uint64(1))
            deposit(sums[j], bits * low, place + shift, negative)
            if high:
                deposit(sums[j], bits * high, place + shift + 32, negative)


def distribution(log_x: float, p: float) -> float:
    """Chance that the absolute value of a draw is at most exp(log_x).

    >>> round(distribution(0.0, 1.0), 6), round(distribution(0.0, 2.0), 6)
    (0.5, 0.5205)
    """
    if p == 1.0:
        return 2.0 / math.pi * math.atan(math.exp(min(log_x, 700.0)))
    power = p / (1.0 - p)

    def below(angle: float) -> float:
        draw = math.log(math.sin(p * angle)) - math.log(math.cos(angle)) / p
        draw += (1.0 - p) / p * math.log(math.cos((1.0 - p) * angle))
        tail = math.exp(-math.exp(min(power * (draw - log_x), 700.0)))
        return tail if p < 1.0 else 1.0 - tail

    edge = 1e-12
    value, _ = scipy.integrate.quad(below, edge, math.pi / 2 - edge, limit=400, epsabs=1e-11)
    return min(1.0, max(0.0, 2.0 / math.pi * float(value)))


@lru_cache(maxsize=512)
def log_quantile(q: float, p: float) -> float:
    """Logarithm of the number below which the absolute value of a draw lies with chance q.

    >>> round(math.exp(log_quantile(0.5, 1.0)), 6), round(math.exp(log_quantile(0.5, 2.0)), 4)
    (1.0, 0.9539)
    """
    low = high = 0.0
    while distribution(low, p) > q:
        low -= 4.0 / p
    while distribution(high, p) < q:
        high += 4.0 / p
    root: float = scipy.optimize.brentq(lambda x: distribution(x, p) - q, low, high, xtol=1e-10)
    return root


def log_moment(order: float, p: float) -> float:
    """Logarithm of the mean of the absolute value to a power, which exists in (-1, p).

    >>> round(math.exp(log_moment(1.0, 2.0)), 6) == round(2 / math.sqrt(math.pi), 6)
    True
    """
    return (
        math.log(2.0 / math.pi)
        + math.lgamma(order)
        + math.lgamma(1.0 - order / p)
        + math.log(math.sin(math.pi * order / 2.0))
    )


@lru_cache(maxsize=512)
def quantile_of_mean_log(q: float, p: float, copies: int) -> float:
    """The q-quantile of the average logarithm of the absolute values of `copies` draws.

    The characteristic function of the logarithm is known in closed form; its power is inverted
    (Gil-Pelaez) on a grid that ends where it has died out.
    """
    deviation = math.sqrt(math.pi**2 / 6.0 * (1.0 / p**2 + 0.5))
    center = 0.5772156649015329 * (1.0 / p - 1.0)
    width = deviation / math.sqrt(copies)
    step = 20.0 / width / 4000
    t = (np.arange(4000) + 0.5) * step
    s = 1j * t / copies
    one = special.loggamma(1.0 - s / p) + special.loggamma(1.0 + s) + _log_sinc(t / copies)
    total = copies * one

    def below(x: float) -> float:
        waves: Floats = np.exp(total.real) * np.sin(total.imag - t * x) / t
        return 0.5 - float(waves.sum()) * step / math.pi

    reach = (5.0 + 2.0 * abs(float(scipy.stats.norm.ppf(q)))) * width
    root: float = scipy.optimize.brentq(
        lambda x: below(x) - q, center - reach, center + reach, xtol=1e-12
    )
    return root


def _log_sinc(t: Floats) -> Floats:
    """Logarithm of sinh(pi t / 2) / (pi t / 2), which is sin(pi s / 2) / (pi s / 2) at s = i t."""
    y = np.pi * t / 2.0
    found: Floats = y + np.log1p(-np.exp(-2.0 * y)) - np.log(2.0 * y)
    return found
