"""Bars: how causes of error compose into an interval, for one answer or for columns of answers.

The sides of all causes add up below the value and above it, and their chances to fail add up
(union bound), so that causes need not be independent. A side is how far its cause really moves an
end: one that stops the end at 0, as a count does, charges up to 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Sides(NamedTuple):
    """One cause of error: what it adds on each side, and its share of the chance to fail.

    Each is a number or a column over answers. Sides are not negative and may be infinite; a delta
    of 0 cannot fail.
    """

    by: str
    below: Any
    above: Any
    delta: Any = 0.0


class Intervals(NamedTuple):
    """Intervals and how surely they hold."""

    low: Floats
    high: Floats
    confidence: Floats


def compose(value: Any, causes: Iterable[Sides]) -> Intervals:
    """Compose causes into an interval around a value.

    Examples
    --------
    >>> low, high, sure = compose(np.array([10.0, 2.0]), [
    ...     Sides("kll", np.array([1.0, 0.0]), np.array([2.0, 0.0]), 0.05),
    ...     Sides("late rows", np.array([0.5, 0.0]), 0.0),
    ... ])
    >>> low.tolist(), high.tolist(), sure.tolist()
    ([8.5, 2.0], [12.0, 2.0], [0.95, 0.95])
    """
    low = high = np.asarray(value, np.float64)
    failing: Any = np.zeros(low.shape)
    for cause in causes:
        low, high, failing = low - cause.below, high + cause.above, failing + cause.delta
    return Intervals(low, high, 1.0 - np.minimum(1.0, failing))


def sides_of(value: Any, low: Any, high: Any) -> tuple[Floats, Floats]:
    """How far an interval reaches below its value and above it; nothing where there is no value.

    Examples
    --------
    >>> below, above = sides_of(np.array([4.0, np.nan]), np.array([3.0, np.nan]), np.inf)
    >>> below.tolist(), above.tolist()
    ([1.0, 0.0], [inf, 0.0])
    """
    value = np.asarray(value, np.float64)
    none = np.isnan(value)
    below, above = np.subtract(value, low), np.subtract(high, value)
    return np.where(none, 0.0, below), np.where(none, 0.0, above)
