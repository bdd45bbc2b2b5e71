"""Accumulators: what is kept of a set of numbers so that any aggregate can be answered.

One accumulator is a row of `FIELDS` floats. Single columns use
`n, weight, sum, carry, mean, m2, min, max`; pairs use `n, mean_x, m2_x, mean_y, m2_y, c_xy`.
Sums carry their rounding error (Neumaier), moments are updated and merged without cancellation
(Welford, West, Chan), so removing old panes never subtracts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled

FIELDS = 8
Floats = npt.NDArray[np.float64]

COUNT, SUM, AVG, MIN, MAX, VAR, STDDEV, COVAR, CORR = range(9)


@compiled
def clear(acc: Floats) -> None:
    """Empty an accumulator."""
    acc[:] = 0.0
    acc[6] = np.inf
    acc[7] = -np.inf


@compiled
def add_to_sum(acc: Floats, x: float) -> None:
    """Add to the running sum, keeping what rounding would lose."""
    old = acc[2]
    new = old + x
    if abs(old) >= abs(x):
        acc[3] += (old - new) + x
    else:
        acc[3] += (x - new) + old
    acc[2] = new


@compiled
def add_single(acc: Floats, x: float, weight: float) -> None:
    """Take one weighted number in."""
    acc[0] += 1.0
    acc[1] += weight
    add_to_sum(acc, weight * x)
    if acc[1] != 0.0:
        delta = x - acc[4]
        acc[4] += delta * (weight / acc[1])
        acc[5] += weight * delta * (x - acc[4])
    acc[6] = min(acc[6], x)
    acc[7] = max(acc[7], x)


@compiled
def add_pair(acc: Floats, x: float, y: float) -> None:
    """Take one pair of numbers in."""
    acc[0] += 1.0
    share = 1.0 / acc[0]
    delta_x = x - acc[1]
    delta_y = y - acc[3]
    acc[1] += delta_x * share
    acc[3] += delta_y * share
    acc[2] += delta_x * (x - acc[1])
    acc[4] += delta_y * (y - acc[3])
    acc[5] += delta_x * (y - acc[3])


@compiled
def merge_single(into: Floats, other: Floats, moments: bool) -> None:
    """Merge an accumulator of single numbers into another; moments only when asked for."""
    if other[0] == 0.0:
        return
    if moments:
        weight = into[1] + other[1]
        if weight != 0.0:
            delta = other[4] - into[4]
            into[5] += other[5] + delta * delta * (into[1] * other[1] / weight)
            into[4] += delta * (other[1] / weight)
    into[0] += other[0]
    into[1] += other[1]
    add_to_sum(into, other[2])
    into[3] += other[3]
    into[6] = min(into[6], other[6])
    into[7] = max(into[7], other[7])


@compiled
def merge_pair(into: Floats, other: Floats) -> None:
    """Merge an accumulator of pairs into another."""
    if other[0] == 0.0:
        return
    n = into[0] + other[0]
    share = into[0] * other[0] / n
    delta_x = other[1] - into[1]
    delta_y = other[3] - into[3]
    into[2] += other[2] + delta_x * delta_x * share
    into[4] += other[4] + delta_y * delta_y * share
    into[5] += other[5] + delta_x * delta_y * share
    into[1] += delta_x * (other[0] / n)
    into[3] += delta_y * (other[0] / n)
    into[0] = n


@compiled
def finish(acc: Floats, op: int) -> Any:
    """Answer an aggregate; NaN where it is undefined."""
    n = acc[0]
    if op == COUNT:
        return n
    if n == 0.0:
        return np.nan
    if op == SUM:
        return acc[2] + acc[3]
    if op == AVG:
        return (acc[2] + acc[3]) / acc[1] if acc[1] != 0.0 else np.nan
    if op == MIN:
        return acc[6]
    if op == MAX:
        return acc[7]
    if n < 2.0:
        return np.nan
    if op == COVAR:
        return acc[5] / (n - 1.0)
    if op == CORR:
        spread = np.sqrt(acc[2]) * np.sqrt(acc[4])
        return max(-1.0, min(1.0, acc[5] / spread)) if spread > 0.0 else np.nan
    if acc[1] == 0.0:
        return np.nan
    variance = acc[5] / acc[1] * (n / (n - 1.0))
    return variance if op == VAR else np.sqrt(variance)


def aggregate(values: Any, op: int) -> float:
    """Answer an aggregate of a whole column at once, by the same steps.

    >>> aggregate(np.array([1.0, 2.0, 4.0]), AVG), aggregate(np.array([1.0]), VAR)
    (2.3333333333333335, nan)
    """
    acc = np.zeros(FIELDS)
    clear(acc)
    for x in np.asarray(values, dtype=np.float64):
        add_single(acc, x, 1.0)
    return float(finish(acc, op))
