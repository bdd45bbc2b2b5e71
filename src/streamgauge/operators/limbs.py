"""Limbs: sums of doubles that are the same whatever the order and the cuts of what was added.

A sum is a row of whole numbers. Limb i of the grid weighs 2**(32 i - 1152); a bank of sums holds
the limbs from `low` on, as many as its values need. Limbs are added like any whole numbers, so
partial sums can be merged in any tree. Reading carries first, which leaves digits that depend on
the sum alone, and rounds to a double.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_BIAS = 1152
_HALF = 1 << 31
_MASK = np.uint64(0xFFFFFFFF)
_SCALE = 9007199254740992.0


@compiled
def add_limbs(limbs: Ints, low: int, x: float) -> None:
    """Add a finite double."""
    if x == 0.0:
        return
    part, exponent = math.frexp(x)
    whole = np.int64(part * _SCALE)
    place = exponent - 53 + _BIAS - 32 * low
    j, shift = place >> 5, np.uint64(place & 31)
    size = np.uint64(-whole if whole < 0 else whole)
    lowest = size << shift
    highest = size >> (np.uint64(64) - shift) if shift else np.uint64(0)
    a, b, c = np.int64(lowest & _MASK), np.int64(lowest >> np.uint64(32)), np.int64(highest)
    if whole < 0:
        a, b, c = -a, -b, -c
    limbs[j] += a
    limbs[j + 1] += b
    limbs[j + 2] += c


@compiled
def read_limbs(limbs: Ints, low: int) -> float:
    """The sum as a double: digits from the highest down, rounding errors added at the end."""
    n = len(limbs)
    digits = np.empty(n + 2, np.int64)
    carry = np.int64(0)
    for i in range(n + 2):
        value = carry + (limbs[i] if i < n else np.int64(0))
        carry = (value + _HALF) >> 32
        digits[i] = value - (carry << 32)
    top = n + 1
    while top > 0 and digits[top] == 0:
        top -= 1
    # The highest digit may be beyond all doubles where the sum is not.
    down = 128 if 32 * (low + top) - _BIAS > 800 else 0
    total, rest = 0.0, 0.0
    for i in range(top, -1, -1):
        if digits[i] != 0:
            term = math.ldexp(float(digits[i]), 32 * (low + i) - _BIAS - down)
            new = total + term
            back = new - total
            rest += (total - (new - back)) + (term - back)
            total = new
    return math.ldexp(total + rest, down)


@compiled
def _exponents(values: Floats, place: npt.NDArray[np.int32]) -> tuple[int, int]:
    """Smallest and largest exponent of the finite values that are somebody's; none: 1, 0."""
    least, most, found = 0, 0, False
    for i in range(len(values)):
        x = values[i]
        if place[i] < 0 or x == 0.0 or np.isnan(x):
            continue
        exponent = math.frexp(x)[1]
        if not found:
            least, most, found = exponent, exponent, True
        least, most = min(least, exponent), max(most, exponent)
    return (least, most) if found else (1, 0)


def limbs_for(values: Floats, place: npt.NDArray[np.int32]) -> tuple[int, int]:
    """The first limb of the grid that sums of values need, and how many; none for no values.

    >>> limbs_for(np.array([0.5, 1e6]), np.zeros(2, np.int32))
    (34, 3)
    """
    least, most = _exponents(values, place)
    if least > most:
        return 0, 0
    first, last = (least - 53 + _BIAS) >> 5, ((most - 53 + _BIAS) >> 5) + 2
    return first, last - first + 1


def spanning(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """Limbs that hold what either holds; each is a first limb and a number.

    >>> spanning((30, 3), (34, 4)), spanning((0, 0), (34, 4))
    ((30, 8), (34, 4))
    """
    if not one[1] or not other[1]:
        return one if one[1] else other
    first = min(one[0], other[0])
    return first, max(one[0] + one[1], other[0] + other[1]) - first


def on_limbs(limbs: Ints, now: tuple[int, int], wanted: tuple[int, int]) -> Ints:
    """The same sums on more limbs: the last axis grows at both ends."""
    if now == wanted:
        return limbs
    wide = np.zeros((*limbs.shape[:-1], wanted[1]), np.int64)
    if now[1]:
        at = now[0] - wanted[0]
        wide[..., at : at + now[1]] = limbs
    return wide


def limbs_of(values: Floats) -> tuple[Ints, tuple[int, int]]:
    """One sum for each value, on the limbs that all of them need."""
    held = limbs_for(values.ravel(), np.zeros(values.size, np.int32))
    limbs = np.zeros((values.size, held[1]), np.int64)
    _fill(limbs, held[0], np.ascontiguousarray(values.ravel()))
    return limbs.reshape(*values.shape, held[1]), held


@compiled
def _fill(limbs: Ints, low: int, values: Floats) -> None:
    for i in range(len(values)):
        add_limbs(limbs[i], low, values[i])
