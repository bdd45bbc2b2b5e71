"""Estimators: what a sample says of all rows, with a standard error.

The formula follows from the design of the sample: the expansion n / k, strata, with replacement,
Horvitz and Thompson with the variance of Yates, Grundy and Sen. Intervals here rest on the normal
law, which needs fifty rows or more and no few rows that outweigh all others; `flags` says when to
doubt them. The bars of the synopses themselves rest on no such law and are wider.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from streamgauge.contracts.sureness import sureness
from streamgauge.kernel.errors import BindError
from streamgauge.synopses.samples.designs import Drawn, Known
from streamgauge.synopses.samples.species import distinct_span

Floats = npt.NDArray[np.float64]
Feature = Callable[[Floats], Any]
FEW = 50


@dataclass(frozen=True, slots=True)
class Inference:
    """An estimate from a sample.

    Parameters
    ----------
    value
        The estimate.
    error
        Its standard error, NaN when the sample cannot tell.
    low, high
        Interval that holds the truth with probability `confidence`, by the normal law.
    confidence
        Of the interval.
    flags
        Reasons to doubt it: "empty"; "few rows" (below fifty); "no spread" (all alike, so the error
        seems zero); "no design" (not random); "no error" (one draw tells nothing of its scatter);
        "approximate" (chances of pairs are neglected).

    Examples
    --------
    >>> from streamgauge.synopses.samples.designs import Simple
    >>> print(total(Drawn(np.array([10_000.0, 50_000.0]), Simple(3, 2))))
    90000 +- 34641 in [22104.9, 157895] at 95% confidence, few rows
    """

    value: float
    error: float
    low: float
    high: float
    confidence: float
    flags: tuple[str, ...] = ()

    def __str__(self) -> str:
        told = "".join(f", {flag}" for flag in self.flags)
        interval = f"[{self.low:.6g}, {self.high:.6g}] {sureness(self.confidence)}"
        return f"{self.value:.6g} +- {self.error:.5g} in {interval}{told}"


def total(drawn: Drawn, of: Feature | None = None, *, confidence: float = 0.95) -> Inference:
    """Sum over all rows of a function of the item, or of the item itself."""
    return smooth(drawn, lambda sums: sums[0], [of or _item], confidence=confidence)


def count(drawn: Drawn, where: Feature, *, confidence: float = 0.95) -> Inference:
    """Number (or weight) of the rows that satisfy a condition."""
    return total(drawn, where, confidence=confidence)


def mean(
    drawn: Drawn,
    of: Feature | None = None,
    *,
    where: Feature | None = None,
    confidence: float = 0.95,
) -> Inference:
    """Average over all rows, or over those that satisfy a condition (a ratio of two estimates)."""
    chosen = of or _item
    if where is None:
        mass = drawn.design.mass
        return smooth(drawn, lambda sums: sums[0] / mass, [chosen], confidence=confidence)
    return ratio(drawn, lambda x: chosen(x) * where(x), where, confidence=confidence)


def ratio(drawn: Drawn, top: Feature, bottom: Feature, *, confidence: float = 0.95) -> Inference:
    """Quotient of two sums."""

    def quotient(sums: Floats) -> float:
        return float(sums[0] / sums[1]) if sums[1] else math.nan

    return smooth(drawn, quotient, [top, bottom], confidence=confidence)


def variance(drawn: Drawn, *, confidence: float = 0.95) -> Inference:
    """Mean squared distance of the rows from their mean."""
    # About a point near the mean: squares of numbers far from zero would swallow the variance.
    middle = float(drawn.values.mean()) if len(drawn.values) else 0.0
    mass = drawn.design.mass

    def spread(sums: Floats) -> float:
        return float(sums[1] / mass - (sums[0] / mass) ** 2)

    parts: list[Feature] = [lambda x: x - middle, lambda x: (x - middle) ** 2]
    return smooth(drawn, spread, parts, confidence=confidence)


def smooth(
    drawn: Drawn,
    function: Callable[[Floats], Any],
    parts: Sequence[Feature],
    *,
    gradient: Callable[[Floats], Any] | None = None,
    confidence: float = 0.95,
) -> Inference:
    """A smooth function of sums, by the delta method.

    Parameters
    ----------
    drawn
        The sample.
    function
        Takes the vector of sums.
    parts
        What each sum adds up over rows, each a function of the column of items.
    gradient
        Of the function; by differences when not given.
    confidence
        Of the interval.
    """
    if not 0.0 < confidence < 1.0:
        raise BindError(
            "a confidence lies between 0 and 1", f"got {confidence}", "write confidence=0.95"
        )
    size = len(drawn.values)
    if not size:
        return Inference(math.nan, math.nan, -math.inf, math.inf, confidence, ("empty",))
    h = np.stack([np.broadcast_to(np.asarray(of(drawn.values), float), size) for of in parts])
    sums = h @ drawn.design.stands_for(size)
    spread = drawn.design.covariance(h)
    scale = np.sqrt(np.abs(np.nan_to_num(np.diag(spread)))) + 1e-8 * np.abs(sums)
    slope = _slope(function, sums, scale) if gradient is None else np.asarray(gradient(sums), float)
    value = float(function(sums))
    square = float(slope @ spread @ slope)
    flags = _flags(drawn, h)
    if math.isnan(square):
        flags = (*flags, "no error")
        return Inference(value, math.nan, -math.inf, math.inf, confidence, flags)
    error = math.sqrt(max(0.0, square))
    width = float(scipy.stats.norm.ppf(0.5 + 0.5 * confidence)) * error
    return Inference(value, error, value - width, value + width, confidence, flags)


def quantile(drawn: Drawn, phi: float, *, confidence: float = 0.95) -> Inference:
    """The item at a rank, with an interval that needs no normal law and no standard error."""
    if not len(drawn.values):
        return Inference(math.nan, math.nan, -math.inf, math.inf, confidence, ("empty",))
    order = np.argsort(drawn.values, kind="stable")
    reached = np.cumsum(drawn.design.stands_for(len(order))[order])
    place = min(int(np.searchsorted(reached, phi * reached[-1] * (1.0 - 1e-9))), len(order) - 1)
    owed = max(phi * drawn.design.mass * (1.0 - 1e-12), 1e-12)
    low, high = drawn.design.crossing(drawn.values, owed, 0.5 * (1.0 - confidence))
    value = float(drawn.values[order[place]])
    return Inference(
        value,
        math.nan,
        -math.inf if low is None else min(low, value),
        math.inf if high is None else max(high, value),
        confidence,
        _flags(drawn, drawn.values[None, :]),
    )


def distinct(drawn: Drawn, *, confidence: float = 0.95) -> Inference:
    """Different items; the bar is honest and wide, since no sample can do much better."""
    span = distinct_span(drawn, 1.0 - confidence)
    flags = _flags(drawn, drawn.values[None, :])
    return Inference(span.value, math.nan, span.low, span.high, confidence, flags)


def _item(values: Floats) -> Floats:
    return values


def _slope(function: Callable[[Floats], Any], sums: Floats, scale: Floats) -> Floats:
    """Gradient by central differences, each step a part of the error of its sum."""
    slope = np.zeros(len(sums))
    for part, width in enumerate(scale):
        step = 1e-3 * width or 1e-6
        up, down = sums.copy(), sums.copy()
        up[part] += step
        down[part] -= step
        slope[part] = (float(function(up)) - float(function(down))) / (up[part] - down[part])
    return slope


def _flags(drawn: Drawn, h: Floats) -> tuple[str, ...]:
    if drawn.design.exhaustive:
        return ()
    found = (
        ("few rows", len(drawn.values) < FEW),
        ("no spread", bool((h == h[:, :1]).all())),
        ("no design", isinstance(drawn.design, Known)),
        ("approximate", drawn.design.approximate),
    )
    return tuple(flag for flag, holds in found if holds)
