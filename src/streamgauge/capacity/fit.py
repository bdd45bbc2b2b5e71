"""Fit: costs for one of each thing, never negative, from runs; and how far off a sum of them is.

Errors are relative: a second of a minute counts as much as a millisecond of a tenth. Each run is
left out once and predicted from the others; how far those predictions were off is the scatter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

Floats = npt.NDArray[np.float64]

# A bar holds nine of ten.
LEVEL = 0.9
NORMAL = 1.6448536269514722
# Runs further off than so many typical errors count less.
PATIENCE = 2.0
ROUNDS = 8
LEAST_SCATTER = 0.02
# Share of the time from which on a thing is felt.
FELT = 0.2


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its bar: nine of ten lie within.

    Examples
    --------
    >>> one = Estimate.around(10.0, 0.1)
    >>> round(one.low, 2), round(one.high, 2)
    (8.48, 11.79)
    >>> both = Estimate.around(10.0, 0.1) + Estimate.around(10.0, 0.1)
    >>> both.value, both.high < 2 * 11.787685
    (20.0, True)
    """

    value: float
    low: float
    high: float

    @classmethod
    def around(cls, value: float, scatter: float) -> Estimate:
        """A number that is off by a factor, whose logarithm has a deviation."""
        wide = math.exp(min(NORMAL * scatter, 50.0))
        return cls(value, value / wide, value * wide)

    @property
    def scatter(self) -> float:
        """Deviation of the logarithm."""
        if self.value <= 0.0 or self.low <= 0.0:
            return 0.0
        return math.log(self.high / self.low) / (2.0 * NORMAL)

    def __add__(self, other: Estimate) -> Estimate:
        """The sum of two that are off independently."""
        value = self.value + other.value
        if value <= 0.0:
            return Estimate(0.0, 0.0, 0.0)
        each = (self.value * self.scatter, other.value * other.scatter)
        return Estimate.around(value, math.hypot(*each) / value)

    def __mul__(self, times: float) -> Estimate:
        return Estimate(self.value * times, self.low * times, self.high * times)

    def as_dict(self) -> dict[str, float]:
        """JSON form."""
        return {"value": self.value, "low": self.low, "high": self.high}


ZERO = Estimate(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Fitted:
    """Costs by name, how sure each is, and how far runs lay from their sum.

    Examples
    --------
    >>> rows = [{"epoch": 1.0, "rows": n} for n in (10.0, 20.0, 50.0, 100.0)]
    >>> fitted = fit(rows, [0.3, 0.4, 0.7, 1.2], runs=["a", "b", "c", "d"])
    >>> {name: round(cost, 4) for name, cost in fitted.cost.items()}
    {'epoch': 0.2, 'rows': 0.01}
    >>> round(fitted.predict({"epoch": 1.0, "rows": 30.0}).value, 4)
    0.5
    """

    cost: dict[str, float]
    covariance: tuple[tuple[float, ...], ...]
    scatter: float
    runs: int

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats]:
        """Costs and covariance as arrays; a plan predicts thousands of times."""
        return np.array(list(self.cost.values())), np.array(self.covariance)

    def predict(self, amounts: Mapping[str, float]) -> Estimate:
        """What so many of each thing cost."""
        costs, covariance = self._arrays
        x = np.array([amounts.get(name, 0.0) for name in self.cost])
        value = float(x @ costs)
        if value <= 0.0:
            return ZERO
        unsure = max(0.0, float(x @ covariance @ x)) / value**2
        return Estimate.around(value, math.sqrt(self.scatter**2 + unsure))

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "names": list(self.cost),
            "cost": self.cost,
            "covariance": [list(row) for row in self.covariance],
            "scatter": self.scatter,
            "runs": self.runs,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Fitted:
        """Read the JSON form."""
        covariance = tuple(tuple(map(float, row)) for row in data["covariance"])
        # Rows of the covariance go by the list of names: objects of JSON have no order.
        cost = {name: float(data["cost"][name]) for name in data["names"]}
        return cls(cost, covariance, float(data["scatter"]), int(data["runs"]))


def fit(
    amounts: Sequence[Mapping[str, float]], seen: Sequence[float], runs: Sequence[str]
) -> Fitted:
    """Costs that best explain what was seen, by non-negative least squares on relative errors."""
    names = list(amounts[0])
    x = np.array([[one.get(name, 0.0) for name in names] for one in amounts])
    y = np.array(seen, np.float64)
    used = y > 0.0
    x, y, who = x[used], y[used], np.array(runs)[used]
    costs, weights = _robust(x, y)
    scatter = _left_out(x, y, who)
    return Fitted(
        dict(zip(names, map(float, costs), strict=True)),
        tuple(tuple(map(float, row)) for row in _covariance(x, y, costs, weights)),
        scatter,
        len(set(who.tolist())),
    )


def _solve(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Non-negative least squares; columns are scaled, or bytes would drown counts."""
    a = x * weights[:, None]
    size = np.linalg.norm(a, axis=0)
    size[size == 0.0] = 1.0
    found, _ = nnls(a / size, y * weights, maxiter=100 * x.shape[1])
    costs: Floats = found / size
    return costs


def _robust(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Solve again and again, with less weight on what lies far off."""
    weights = 1.0 / y
    costs = _solve(x, y, weights)
    for _ in range(ROUNDS):
        off = np.abs(x @ costs / y - 1.0)
        typical = max(float(np.median(off)), LEAST_SCATTER)
        weights = np.sqrt(np.minimum(1.0, PATIENCE * typical / np.maximum(off, 1e-12))) / y
        costs = _solve(x, y, weights)
    return costs, weights


def _left_out(x: Floats, y: Floats, who: npt.NDArray[np.str_]) -> float:
    """How far predictions of a run from the others are off, at the level of the bars."""
    off: list[Floats] = []
    whole = _robust(x, y)[0]
    share = x * whole / np.maximum(x @ whole, 1e-12)[:, None]
    for run in sorted(set(who.tolist())):
        mine = who == run
        if mine.all():
            continue
        # What hardly any other run did cannot be told from the others.
        here, elsewhere = share[mine].max(axis=0), share[~mine].max(axis=0)
        alone = ((here >= FELT) & (elsewhere < here / 2.0)).any()
        costs = whole if alone else _robust(x[~mine], y[~mine])[0]
        predicted = np.maximum(x[mine] @ costs, 1e-12)
        off.append(np.abs(np.log(y[mine] / predicted)))
    if not off:
        return LEAST_SCATTER
    return max(LEAST_SCATTER, float(np.quantile(np.concatenate(off), LEVEL)) / NORMAL)


def _covariance(x: Floats, y: Floats, costs: Floats, weights: Floats) -> Floats:
    """How costs that are not zero vary together."""
    n, p = x.shape
    active = costs > 0.0
    covariance = np.zeros((p, p))
    if not active.any() or n <= active.sum():
        return covariance
    a = x[:, active] * weights[:, None]
    left = (y - x @ costs) * weights
    variance = float(left @ left) / (n - int(active.sum()))
    size = np.linalg.norm(a, axis=0)
    inner = np.linalg.pinv((a / size).T @ (a / size)) * variance
    covariance[np.ix_(active, active)] = inner / np.outer(size, size)
    return covariance
