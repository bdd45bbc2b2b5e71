"""Law of occupied cells: how many of `cells` are hit when n different items fall at random.

The number of items needed to occupy m cells is m plus a sum of independent geometric waits, so the
bar around n needs no normal approximation: few waits are summed exactly, many by the saddlepoint
of their sum. For small tables the law is followed item by item once and kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TABLE_CELLS = 1 << 15
_EXACT_MEAN = 100.0
_NEAR = 8192
_BLOCK = 64


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Accepted numbers of occupied cells for every number of items up to `items`.

    Parameters
    ----------
    cells
        Cells, all as likely.
    items
        Largest number of items considered.
    delta
        Chance that the true number of items is not accepted.
    least, most
        Accepted range of occupied cells by number of items; empty for large tables.

    Examples
    --------
    >>> occupancy(64, 192, 0.05).interval(np.array([1, 30]))
    (array([ 1., 34.]), array([ 1., 50.]))
    """

    cells: int
    items: int
    delta: float
    least: Ints
    most: Ints

    def interval(self, occupied: Ints) -> tuple[Floats, Floats]:
        """Fewest and most items that are accepted; fewest is above most where none is."""
        if len(self.least):
            low = np.searchsorted(self.most, occupied, side="left").astype(np.float64)
            high = np.searchsorted(self.least, occupied, side="right").astype(np.float64) - 1.0
            return low, high
        found = [items_between(self.cells, int(seen), self.delta) for seen in occupied]
        low = np.array([bar[0] for bar in found], np.float64)
        high = np.minimum([bar[1] for bar in found], float(self.items))
        return low, high


@lru_cache(maxsize=64)
def occupancy(cells: int, items: int, delta: float) -> Occupancy:
    """The law for a table of cells, worked out once."""
    if cells > TABLE_CELLS:
        return Occupancy(cells, items, delta, np.empty(0, np.int64), np.empty(0, np.int64))
    least = np.zeros(items + 1, np.int64)
    most = np.zeros(items + 1, np.int64)
    _accepted(cells, delta, least, most)
    # An end that falls back accepts a little more, so that the law can be read backwards.
    least = np.minimum.accumulate(least[::-1])[::-1].copy()
    most = np.maximum.accumulate(most)
    return Occupancy(cells, items, delta, least, most)


@lru_cache(maxsize=4096)
def items_between(cells: int, occupied: int, delta: float) -> tuple[float, float]:
    """Fewest and most items that may have occupied so many cells, at chance `delta` of error.

    >>> items_between(1 << 20, 1000, 0.05)
    (1000.0, 1002.0)
    >>> items_between(8, 8, 0.05)[1]
    inf
    """
    if occupied == 0:
        return 0.0, 0.0
    low = float(occupied + _wait(cells, occupied, delta / 2.0, False))
    if occupied == cells:
        return low, math.inf
    return low, float(occupied + _wait(cells, occupied + 1, delta / 2.0, True))


def linear_count(cells: int, occupied: Ints) -> Floats:
    """Items that occupy so many cells on average; infinite when all are."""
    free = np.maximum(cells - np.asarray(occupied, np.float64), 0.0)
    with np.errstate(divide="ignore"):
        return np.log(free / cells) / math.log1p(-1.0 / cells) + 0.0


@compiled
def _accepted(cells, delta, least, most):  # type: ignore[no-untyped-def]
    # chance[m] of m occupied cells; only the stretch [start, stop] that is not negligible moves.
    chance = np.zeros(cells + 2)
    chance[0] = 1.0
    start = 0
    stop = 0
    for n in range(1, len(least)):
        stop = min(stop + 1, cells)
        for m in range(stop, start - 1, -1):
            come = chance[m - 1] * (cells - m + 1) if m > start else 0.0
            chance[m] = (chance[m] * m + come) / cells
        while start < stop and chance[start] < 1e-15:
            chance[start] = 0.0
            start += 1
        while stop > start and chance[stop] < 1e-15:
            chance[stop] = 0.0
            stop -= 1
        # The likelier end stays, so that few items, which hardly collide, lose no chance above.
        total = 0.0
        low = start
        high = stop
        while low < high:
            end = min(chance[low], chance[high])
            if total + end > delta:
                break
            total += end
            if chance[low] <= chance[high]:
                low += 1
            else:
                high -= 1
        least[n] = low
        most[n] = high


@compiled
def _wait(cells, occupied, tail, upper):  # type: ignore[no-untyped-def]
    """Quantile of the items beyond `occupied` that were needed to occupy so many cells."""
    mean = 0.0
    for i in range(occupied):
        mean += i / (cells - i)
    if mean <= _EXACT_MEAN:
        return _summed_wait(cells, occupied, tail, upper, mean)
    bound = -math.log((occupied - 1) / cells)
    near = 0.0
    far = bound if upper else -1.0
    if not upper:
        while _wait_tail(cells, occupied, far)[1] > tail:
            far *= 2.0
    for _ in range(32):
        middle = 0.5 * (near + far)
        if _wait_tail(cells, occupied, middle)[1] > tail:
            near = middle
        else:
            far = middle
    place = _wait_tail(cells, occupied, 0.5 * (near + far))[0]
    return math.ceil(place + 0.5) if upper else math.floor(place - 0.5)


@compiled
def _wait_tail(cells, occupied, tilt):  # type: ignore[no-untyped-def]
    """Place that a tilt of the law of waits makes typical, and the chance beyond it."""
    scale = math.exp(tilt)
    log_mass = 0.0
    place = 0.0
    spread = 0.0
    # Far from the last cells neighbours are alike, so a block is its middle times its size.
    coarse = max(occupied - _NEAR, 0) // _BLOCK
    for block in range(coarse + occupied - coarse * _BLOCK):
        many = _BLOCK if block < coarse else 1
        first = block * _BLOCK if block < coarse else block + coarse * (_BLOCK - 1)
        q = (first + 0.5 * (many - 1)) / cells
        left = 1.0 - q * scale
        if left <= 0.0:
            return np.inf, 0.0
        log_mass += many * math.log((1.0 - q) / left)
        place += many * q * scale / left
        spread += many * q * scale / (left * left)
    return place, saddle(tilt, log_mass, place, spread)


@compiled
def saddle(tilt, log_mass, place, spread):  # type: ignore[no-untyped-def]
    """Chance beyond `place` (Lugannani and Rice), from the log of the tilted mass."""
    exponent = tilt * place - log_mass
    if exponent <= 1e-12 or spread <= 0.0:
        return 0.5
    w = math.sqrt(2.0 * exponent)
    u = abs(tilt) * math.sqrt(spread)
    chance = 0.5 * math.erfc(w / math.sqrt(2.0))
    chance += math.exp(-exponent) / math.sqrt(2.0 * math.pi) * (1.0 / u - 1.0 / w)
    return min(max(chance, 0.0), math.exp(-exponent))


@compiled
def _summed_wait(cells, occupied, tail, upper, mean):  # type: ignore[no-untyped-def]
    # Coefficients of the product of 1 / (1 - q z), by the power sums of the q.
    size = int(mean + 12.0 * math.sqrt(mean + 1.0) + 30.0)
    powers = np.zeros(size + 1)
    log_first = 0.0
    for i in range(occupied):
        q = i / cells
        log_first += math.log(1.0 - q)
        power = q
        j = 1
        while j <= size and power > 1e-300:
            powers[j] += power
            power *= q
            j += 1
    chance = np.zeros(size + 1)
    chance[0] = math.exp(log_first)
    below = 0.0
    for j in range(size + 1):
        if j:
            total = 0.0
            for i in range(1, j + 1):
                total += powers[i] * chance[j - i]
            chance[j] = total / j
        if not upper and below + chance[j] > tail:
            return j
        if upper and 1.0 - below - chance[j] <= tail:
            return j
        below += chance[j]
    return size
