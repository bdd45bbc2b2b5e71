"""Law of registers: what n items do to k registers or bitmaps, and the bar that follows.

Registers are filled by different items only and fuller ones mean more items, so a bar is the set of
all n under which the state seen is not too far out (Neyman). Small n are judged by the number of
registers in use, larger ones by a sum over the registers, whose tails come from the saddlepoint of
the sum. The n that are judged one way or the other are fixed beforehand, so no chance is spent
on the choice. Items are taken to arrive a Poisson number of times, which spreads sums a little more
than the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.distinct.occupancy_law import Occupancy, linear_count, occupancy, saddle
from streamgauge.synopses.distinct.register_widths import known_width

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LEVELS = 64
TRIM = 0.7
"""Share of the smallest registers that SuperLogLog reads."""
_OCTAVE = 32
"""Grid points between n and 2 n."""


class Bars(NamedTuple):
    """Estimates of many sketches at once."""

    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class RegisterLaw:
    """Bars of sketches with `k` registers, from registers in use and the sum of their scores.

    Parameters
    ----------
    k
        Registers.
    start
        Numbers of items above this are judged by the sum, others by the registers in use.
    small
        Law of the registers in use, or None when every item meets every register.
    counts, logs, least, mean, most
        Grid of numbers of items and their logarithms, with accepted range and mean of the sum.
    step
        Half the distance between two possible sums; 0 where sums are dense.
    bias
        Estimates read off the mean are too large by about this over `k`.

    Examples
    --------
    >>> law = register_law("hll", 64, 0.05)
    >>> law.bars(np.array([1]), np.array([-63.5]))
    Bars(value=array([1.]), low=array([1.]), high=array([1.]))
    """

    k: int
    start: int
    small: Occupancy | None
    counts: Floats
    logs: Floats
    least: Floats
    mean: Floats
    most: Floats
    step: float
    bias: float

    def bars(self, occupied: Ints, total: Floats) -> Bars:
        """Estimates with bars, for columns of states."""
        grid = self.logs
        low = np.exp(np.interp(total - self.step, self.most, grid))
        high = np.exp(np.interp(total + self.step, self.least, grid, right=math.inf))
        value = np.exp(np.interp(total, self.mean, grid)) / (1.0 + self.bias / self.k)
        if self.small is not None:
            first, last = self.small.interval(occupied)
            few = (first <= last) & (first <= self.start)
            many = (total + self.step >= self.least[0]) & (high > self.start)
            low = np.where(few, first, np.where(many, low, self.start))
            high = np.where(many, high, np.where(few, last, self.start))
            counted = linear_count(self.k, occupied)
            value = np.where(counted <= self.start, counted, np.maximum(value, self.start))
        low, high = np.ceil(low - 1e-6), np.floor(high + 1e-6)
        nothing = occupied == 0
        low, high = np.where(nothing, 0.0, np.maximum(low, 1.0)), np.where(nothing, 0.0, high)
        high = np.maximum(high, low)
        return Bars(np.clip(value, low, high), low, high)

    def widest(self) -> float:
        """Largest share of the estimate by which a bar reaches out of it."""
        occupied = np.arange(1, self.k, dtype=np.int64)
        # Where one collision cannot be told from none: about 1 / sqrt(2 k delta) items.
        worst = 0.0 if self.small is None else 1.0 / math.sqrt(self.k * self.small.delta)
        if self.small is not None and len(self.small.least):
            first, last = self.small.interval(occupied)
            count = linear_count(self.k, occupied)
            told = (count <= self.start) & (first <= last) & (last < self.start)
            reach = np.maximum(last - count, count - first)[told] / count[told]
            worst = float(reach.max(initial=0.0))
        steady = (self.counts >= max(self.start, 2.0 * self.k)) & (self.counts < 2.0**44)
        found = self.bars(np.full(int(steady.sum()), self.k), self.mean[steady])
        reach = np.maximum(found.high - found.value, found.value - found.low) / found.value
        return max(worst, float(reach[np.isfinite(reach)].max()))


@lru_cache(maxsize=256)
def widest_bar(kind: str, k: int, delta: float) -> float:
    """Largest share of the estimate by which a bar of this law reaches out of it."""
    known = known_width(kind, k, delta)
    return register_law(kind, k, delta).widest() if known is None else known


def register_chances(rates: Floats) -> Floats:
    """Chance of each value of a register, the largest level seen (1 is the lowest; 0 is none)."""
    reach = np.exp(-rates[:, None] * 0.5 ** np.arange(LEVELS - 1))
    return np.diff(reach, axis=1, prepend=0.0, append=1.0)


def bitmap_chances(rates: Floats) -> Floats:
    """Chance of each place of the lowest bit that is not set."""
    kept = -np.expm1(-rates[:, None] * 0.5 ** np.arange(1, LEVELS))
    return _lowest(kept)


def hashed_chances(counts: Floats) -> Floats:
    """Chance of each place of the lowest bit not set when all items meet the bitmap."""
    share = 0.5 ** np.arange(1, LEVELS)
    out = _lowest(-np.expm1(counts[:, None] * np.log1p(-share)))
    few = int((counts < LEVELS).sum())
    # Few items: bits are far from independent, so items are split by the first bit, the second...
    reached = np.zeros((LEVELS, LEVELS))
    reached[:, 0] = 1.0
    for n in range(1, LEVELS):
        ways = np.array([math.comb(n, j) for j in range(1, n + 1)], np.float64) * 0.5**n
        for place in range(1, LEVELS):
            reached[n, place] = float(ways @ reached[n - 1 :: -1, place - 1][:n])
    for row in range(few):
        chance = reached[int(counts[row])]
        out[row] = chance - np.append(chance[1:], 0.0)
    return out


def _lowest(kept: Floats) -> Floats:
    reached = np.multiply.accumulate(np.hstack([np.ones((len(kept), 1)), kept]), axis=1)
    chances: Floats = reached - np.hstack([reached[:, 1:], np.zeros((len(kept), 1))])
    return chances


class _Kind(NamedTuple):
    chances: Callable[[Floats], Floats]
    score: Callable[[Floats], Floats]
    start: float
    step: float
    bias: float


_LEVEL = np.arange(LEVELS, dtype=np.float64)
_KINDS = {
    "pcsa": _Kind(bitmap_chances, lambda level: level, 0.8, 0.5, 0.3),
    "loglog": _Kind(register_chances, lambda level: level, 2.8, 0.5, 0.85),
    "super_loglog": _Kind(register_chances, lambda level: level, 2.2, 0.5, 1.2),
    "hll": _Kind(register_chances, lambda level: -(0.5**level), 2.0, 0.0, 1.08),
    "fm": _Kind(hashed_chances, lambda level: level, 0.0, 0.5, 0.3),
}


@lru_cache(maxsize=64)
def register_law(kind: str, k: int, delta: float) -> RegisterLaw:
    """The law of `k` registers of a kind, worked out once."""
    law = _KINDS[kind]
    start = int(_small_load(law.start, k, delta) * k)
    small = occupancy(k, start, delta) if start else None
    first = float(max(start, 1))
    few = np.arange(1.0, LEVELS) if kind == "fm" else np.array([first])
    octaves = 56.0 - (math.log2(few[-1]) if kind == "fm" else math.log2(k) + 3.0)
    rest = few[-1] * 2.0 ** (np.arange(1, int(octaves * _OCTAVE)) / _OCTAVE)
    counts = np.concatenate([few, rest])
    chances = np.ascontiguousarray(law.chances(counts if kind == "fm" else counts / k))
    scores = law.score(_LEVEL)
    if kind == "super_loglog":
        least, mean, most = _trimmed(chances, k, delta)
    else:
        least, mean, most = _tails(chances, scores, k, delta / 2.0)
    # Rounding must not make a grid fall, or it could not be read backwards.
    least, mean, most = (np.maximum.accumulate(column) for column in (least, mean, most))
    grid = (counts, np.log(counts), least, mean, most)
    return RegisterLaw(k, start, small, *grid, law.step, law.bias)


def _small_load(load: float, k: int, delta: float) -> float:
    """Items a register up to which registers in use are read.

    Not so many that all registers could be in use, or a large count could pass for a small one.
    """
    if not load:
        return 0.0
    return max(0.5, min(load, math.log(k / math.log(10.0 / delta))))


def _tails(chances: Floats, scores: Floats, k: int, tail: float) -> tuple[Floats, Floats, Floats]:
    least, mean, most = (np.empty(len(chances)) for _ in range(3))
    _sum_tails(chances, scores, k, tail, least, mean, most)
    return least, mean, most


def _trimmed(chances: Floats, k: int, delta: float) -> tuple[Floats, Floats, Floats]:
    """Law of the sum of the smallest registers.

    That sum is the largest over a cap c of `sum(min(register, c)) - (k - kept) * c`, so its low
    tail is below that of any cap, and its high tail below the sum of those of all caps that can
    be met.
    """
    kept = int(TRIM * k)
    below = np.cumsum(chances, axis=1)
    share = kept / k
    # Three and a half deviations of the share of registers at or below a cap; the chance of a cap
    # beyond them is taken off the tails.
    spread = 3.5 * math.sqrt(share * (1.0 - share) / k)
    under = np.hstack([np.zeros((len(below), 1)), below[:, :-1]])
    met = (below >= share - spread) & (under <= share + spread)
    tail = max(delta / 2.0 - 5e-4, delta / 4.0)
    least = np.full(len(chances), -math.inf)
    mean, most = least.copy(), least.copy()
    caps = met.sum(axis=1)
    for cap in range(1, LEVELS):
        rows = np.flatnonzero(met[:, cap])
        score = np.minimum(_LEVEL, cap) - (1.0 - share) * cap
        for number in np.unique(caps[rows]):
            some = rows[caps[rows] == number]
            part = np.ascontiguousarray(chances[some])
            low, middle, high = _tails(part, score, k, tail)
            if number > 1:
                high = _tails(part, score, k, tail / number)[2]
            least[some] = np.maximum(least[some], low)
            mean[some] = np.maximum(mean[some], middle)
            most[some] = np.maximum(most[some], high)
    return least, mean, most


@compiled
def _sum_tails(chances, scores, k, tail, least, mean, most):  # type: ignore[no-untyped-def]
    """Where the sum of k independent scores has its tails, for each row of chances."""
    for row in range(len(chances)):
        _, middle, spread = _tilted(chances[row], scores, 0.0)
        mean[row] = k * middle
        unit = 1.0 / math.sqrt(k * spread) if spread > 1e-60 else 0.0
        for side in range(2):
            found = k * middle
            if unit > 0.0:
                found = _tail_at(chances[row], scores, k, tail, unit if side else -unit)
            if side:
                most[row] = found
            else:
                least[row] = found


@compiled
def _tail_at(chance, scores, k, tail, tilt):  # type: ignore[no-untyped-def]
    near = 0.0
    far = tilt
    for _ in range(40):
        if _chance_beyond(chance, scores, k, far)[1] <= tail:
            break
        near = far
        far *= 2.0
    for _ in range(30):
        middle = 0.5 * (near + far)
        if _chance_beyond(chance, scores, k, middle)[1] > tail:
            near = middle
        else:
            far = middle
    return _chance_beyond(chance, scores, k, far)[0]


@compiled
def _chance_beyond(chance, scores, k, tilt):  # type: ignore[no-untyped-def]
    log_mass, place, spread = _tilted(chance, scores, tilt)
    return k * place, saddle(tilt, k * log_mass, k * place, k * spread)


@compiled
def _tilted(chance, scores, tilt):  # type: ignore[no-untyped-def]
    top = -np.inf
    for i in range(len(chance)):
        if chance[i] > 0.0 and tilt * scores[i] > top:
            top = tilt * scores[i]
    mass = 0.0
    first = 0.0
    second = 0.0
    for i in range(len(chance)):
        if chance[i] > 0.0:
            weight = chance[i] * math.exp(tilt * scores[i] - top)
            mass += weight
            first += weight * scores[i]
            second += weight * scores[i] * scores[i]
    first /= mass
    return math.log(mass) + top, first, max(second / mass - first * first, 0.0)
