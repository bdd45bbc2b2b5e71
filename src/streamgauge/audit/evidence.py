"""Evidence: how strongly misses speak against what was promised, valid at every moment.

An e-value is a number that a kept promise makes at most 1 in the mean. One that is a thousand
was luck of one in a thousand, or the promise is broken. All of them here may be looked at as often
as one likes: the chance that a kept promise ever reaches 1 / a is at most a (Ville).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from scipy import special

# Units of a query whose luck lasts for its life that count; more of them would be the same luck.
LIFE_UNITS = 64
# What of the evidence is staked on each family of such queries.
STAKE = 0.5
NARROW = 1e-9
# Beginnings that are remembered: the first, and so many of the newest.
BEGINNINGS = 8
LEAST = -300.0


@dataclass(slots=True)
class Renewed:
    """Units whose luck is new each time: weights, and the misses among them.

    A unit is a standing answer or a stretch of windows; its misses are a share M of it, whose mean
    is at most `owed` given all units before. Weights are known before a unit begins.

    A promise that was kept for long and breaks then would have to make up for all that was kept. So
    the evidence is gathered anew from each beginning as well; all of them are averaged.

    Examples
    --------
    >>> kept, broken = Renewed(0.1), Renewed(0.1)
    >>> for unit in range(100):
    ...     kept.take(unit % 10 == 0)
    ...     broken.take(unit % 10 < 3)
    >>> round(kept.log10, 2), round(broken.log10, 2)
    (-1.32, 5.78)
    """

    owed: float
    weight: float = 0.0
    missed: float = 0.0
    begun: int = 0
    since: list[list[float]] = field(default_factory=list)

    def begin(self) -> None:
        """Gather anew from here on, besides."""
        self.begun += 1
        self.since.append([float(self.begun), 0.0, 0.0])
        del self.since[1:-BEGINNINGS]

    def take(self, missed: float, weight: float = 1.0) -> None:
        """Take in a unit with its share of misses."""
        self.weight += weight
        self.missed += weight * missed
        for sums in self.since:
            sums[1] += weight
            sums[2] += weight * missed

    @property
    def log10(self) -> float:
        """Logarithm of the evidence that more is missed than is owed."""
        if not self.since:
            return log10_evidence(self.weight, self.missed, self.owed)
        return log10_of_beginnings(
            [[number, log10_evidence(w, m, self.owed)] for number, w, m in self.since]
        )


def log10_of_beginnings(logs: list[list[float]]) -> float:
    """Logarithm of evidence gathered from several beginnings, given by number and logarithm.

    What begins later was 1 until then, and the weights of all of them sum to 1: no beginning has to
    be guessed.
    """
    parts = [math.log10(chance_of(int(number), 1.0)) + max(log, LEAST) for number, log in logs]
    return log10_mean(parts) + math.log10(len(parts)) if parts else 0.0


def log10_evidence(weight: float, missed: float, owed: float) -> float:
    """Logarithm of the mean, over all rates above what is owed, of their likelihood against it.

    For one rate p > d a unit with share M multiplies the evidence by (p/d)^M ((1-p)/(1-d))^(1-M).
    That is convex in M, so at most its chord, whose mean is at most 1 when M's is at most d; and a
    power of it below 1, by a weight, has no larger mean. Averaging over p, all rates above d alike,
    leaves it so. The mean has a closed form, so all that is remembered are two sums.

    Examples
    --------
    >>> round(log10_evidence(20.0, 20.0, 0.05), 1)
    24.7
    """
    if weight <= 0.0:
        return 0.0
    if owed <= 0.0:
        return math.inf if missed > 0.0 else 0.0
    if owed >= 1.0:
        return 0.0
    a, b = 1.0 + missed, 1.0 + max(0.0, weight - missed)
    above = special.betaincc(a, b, owed)
    if above <= 0.0:
        return -math.inf
    found = special.betaln(a, b) + math.log(above) - math.log1p(-owed)
    found -= missed * math.log(owed) + (b - 1.0) * math.log1p(-owed)
    return float(found / math.log(10.0))


def share_bar(weight: float, missed: float, chance: float) -> tuple[float, float]:
    """The rates that the misses do not speak against: a bar that holds the mean at all times.

    A rate m is outside when the mean over all rates p of the likelihood of p against m has reached
    1 / chance; the true rate ever is with probability `chance` at most.

    Examples
    --------
    >>> [round(end, 3) for end in share_bar(200.0, 10.0, 0.05)]
    [0.013, 0.123]
    """
    if weight <= 0.0:
        return 0.0, 1.0
    kept = max(0.0, weight - missed)
    top = float(special.betaln(1.0 + missed, 1.0 + kept)) + math.log(chance)

    def inside(rate: float) -> bool:
        told = missed * math.log(rate) if missed else 0.0
        told += kept * math.log1p(-rate) if kept else 0.0
        return top < told

    middle = min(max(missed / weight, NARROW), 1.0 - NARROW)
    return _edge(inside, middle, 0.0), _edge(inside, middle, 1.0)


def _edge(inside: Any, within: float, beyond: float) -> float:
    """Where a stretch of rates that holds one point ends, on the side of another."""
    near, far = within, beyond
    for _ in range(60):
        half = 0.5 * (near + far)
        if not 0.0 < half < 1.0:
            break
        if inside(half):
            near = half
        else:
            far = half
    return beyond if abs(far - beyond) < NARROW else far


@dataclass(slots=True)
class ForLife:
    """Units that share one luck: the hash functions of a sketch stay as long as its query.

    An unlucky sketch may miss every time and still be one of the few that are allowed to, so one
    of them can be no more than 1 / owed. The mean of M / owed over the first units has the mean 1
    at most whatever they have in common; it never falls, so it may be looked at any time.

    Examples
    --------
    >>> luck = ForLife(0.05)
    >>> for _ in range(100):
    ...     luck.take(1.0)
    >>> luck.evidence
    20.0
    """

    owed: float
    units: int = 0
    missed: float = 0.0

    def take(self, missed: float) -> None:
        """Take in a unit, if it still counts."""
        if self.units < LIFE_UNITS:
            self.units += 1
            self.missed += missed

    @property
    def evidence(self) -> float:
        """The evidence against its promise."""
        return self.missed / (LIFE_UNITS * self.owed) if self.owed > 0.0 else 0.0


def log10_of_families(families: dict[str, list[float]]) -> float:
    """Logarithm of the evidence of families whose luck is apart, each the mean of its members.

    Examples
    --------
    >>> round(log10_of_families({"a": [20.0, 0.0], "b": [18.0]}), 2)
    1.72
    """
    factors = (1.0 - STAKE + STAKE * sum(each) / len(each) for each in families.values() if each)
    return sum(math.log10(factor) for factor in factors)


def log10_mean(logs: list[float]) -> float:
    """Logarithm of the mean of numbers that are given by theirs."""
    top = max(logs, default=0.0)
    if not logs or math.isinf(top):
        return top
    return top + math.log10(sum(10.0 ** (each - top) for each in logs) / len(logs))


def chance_of(number: int, all_of_them: float) -> float:
    """The share of a chance that the n-th query of an endless row may use up.

    >>> sum(chance_of(n, 1e-4) for n in range(1, 10_000)) <= 1e-4
    True
    """
    return all_of_them * 6.0 / (math.pi * number) ** 2
