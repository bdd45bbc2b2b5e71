"""Rounding: sums and products with what they lose, and ends of intervals rounded outwards.

The pairs are exact for doubles that neither overflow nor underflow (Dekker, Knuth): the rounded
result first, then what is missing of the real one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamgauge.kernel.jit import compiled

# Half the distance from 1 to the next double.
UNIT = 2.0**-53
# Of a product below this some digits may be lost for good.
TINY = 2.0**-960
_SPLIT = 2.0**27 + 1.0


@compiled
def summed(a: float, b: float) -> tuple[float, float]:
    """A sum and what rounding took from it."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@compiled
def multiplied(a: float, b: float) -> tuple[float, float]:
    """A product and what rounding took from it."""
    p = a * b
    if a == 1.0 or b == 1.0:
        return p, 0.0
    c = _SPLIT * a
    a_high = c - (c - a)
    a_low = a - a_high
    c = _SPLIT * b
    b_high = c - (c - b)
    b_low = b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


@compiled
def floor_of(a: float, rest: float) -> Any:
    """A double that is not above `a + rest`, and `a` itself when nothing is missing."""
    if rest >= 0.0:
        return a
    return np.nextafter(a + rest, -np.inf)


@compiled
def ceiling_of(a: float, rest: float) -> Any:
    """A double that is not below `a + rest`, and `a` itself when nothing is missing."""
    return -floor_of(-a, -rest)


@compiled
def quotient_floor(a: float, rest: float, divisor: float, off: float) -> Any:
    """A double that is not above (a + rest) / d for any d within `off` of a positive divisor."""
    q = a / divisor
    p, lost = multiplied(q, divisor)
    gap = a - p
    left = (gap - lost) + rest
    left -= 4.0 * UNIT * (abs(gap) + abs(lost) + abs(rest))
    if abs(p) < TINY and a != 0.0:
        left -= TINY
    short = min(left, 0.0) / divisor * (1.0 + 4.0 * UNIT)
    if off == 0.0:
        return floor_of(q, short)
    most = (1.0 + 16.0 * UNIT) * off / (divisor - off)
    reach = (abs(q) + abs(left) / divisor) * most
    return floor_of(q, short - reach)
