"""Forecasts of a sketch from those of earlier intervals: linear models, so no item is needed.

A sketch of a weighted sum of streams is the weighted sum of their sketches; any model that only
adds and scales can run on sketches as if it ran on every item by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from streamgauge.kernel.errors import BindError
from streamgauge.synopses.moments.fast_ams import FastAms
from streamgauge.synopses.synopsis import arguments_of


class Forecast(ABC):
    """A linear model of the next interval; `state` holds sketches, oldest first."""

    name: ClassVar[str]

    def __init__(self) -> None:
        self.state: list[FastAms] = []

    @property
    def parameters(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {name: getattr(self, name) for name in arguments_of(type(self))}

    @abstractmethod
    def predict(self) -> FastAms | None:
        """The sketch expected next, or None while there is too little history."""

    @abstractmethod
    def learn(self, seen: FastAms) -> None:
        """Take the sketch of an interval that has ended."""


class MovingAverage(Forecast):
    """The average of the last intervals.

    Parameters
    ----------
    length
        Intervals averaged.
    """

    name = "moving_average"

    def __init__(self, length: int = 4) -> None:
        super().__init__()
        _check(self.name, length >= 1, length)
        self.length = length

    def predict(self) -> FastAms | None:
        """Average of the sketches kept."""
        if len(self.state) < self.length:
            return None
        return mix(*((1.0 / self.length, seen) for seen in self.state))

    def learn(self, seen: FastAms) -> None:
        """Keep the newest."""
        self.state = [*self.state, seen][-self.length :]


class Ewma(Forecast):
    """Exponentially weighted average: older intervals count less by a constant factor.

    Parameters
    ----------
    alpha
        Weight of the newest interval, in (0, 1].
    """

    name = "ewma"

    def __init__(self, alpha: float = 0.5) -> None:
        super().__init__()
        _check(self.name, 0.0 < alpha <= 1.0, alpha)
        self.alpha = alpha

    def predict(self) -> FastAms | None:
        """The average so far."""
        return self.state[0] if self.state else None

    def learn(self, seen: FastAms) -> None:
        """Move towards the newest."""
        before = self.predict()
        new = seen if before is None else mix((self.alpha, seen), (1.0 - self.alpha, before))
        self.state = [new]


class Holt(Forecast):
    """Level and trend, both exponentially weighted.

    Parameters
    ----------
    alpha
        Weight of the newest interval in the level.
    beta
        Weight of the newest step in the trend.
    """

    name = "holt"

    def __init__(self, alpha: float = 0.5, beta: float = 0.3) -> None:
        super().__init__()
        _check(self.name, 0.0 < alpha <= 1.0 and 0.0 <= beta <= 1.0, (alpha, beta))
        self.alpha, self.beta = alpha, beta

    def predict(self) -> FastAms | None:
        """Level plus trend."""
        if len(self.state) < 2:
            return None
        return mix((1.0, self.state[0]), (1.0, self.state[1]))

    def learn(self, seen: FastAms) -> None:
        """Correct the level, then the trend."""
        expected = self.predict()
        if not self.state:
            self.state = [seen]
        elif expected is None:
            self.state = [seen, mix((1.0, seen), (-1.0, self.state[0]))]
        else:
            level = mix((self.alpha, seen), (1.0 - self.alpha, expected))
            step = mix((self.beta, level), (-self.beta, self.state[0]))
            self.state = [level, mix((1.0, step), (1.0 - self.beta, self.state[1]))]


class Seasonal(Forecast):
    """The interval one season ago.

    Parameters
    ----------
    period
        Intervals in a season.
    """

    name = "seasonal"

    def __init__(self, period: int = 24) -> None:
        super().__init__()
        _check(self.name, period >= 1, period)
        self.period = period

    def predict(self) -> FastAms | None:
        """The sketch of a season ago."""
        return self.state[0] if len(self.state) == self.period else None

    def learn(self, seen: FastAms) -> None:
        """Keep one season."""
        self.state = [*self.state, seen][-self.period :]


FORECASTS: dict[str, type[Forecast]] = {
    kind.name: kind for kind in (MovingAverage, Ewma, Holt, Seasonal)
}


def mix(*parts: tuple[float, FastAms]) -> FastAms:
    """A weighted sum of sketches: the sketch of the weighted sum of their streams."""
    (factor, first), *others = parts
    total = first.scaled(factor)
    for factor, other in others:
        total.merge(other.scaled(factor))
    return total


def _check(name: str, fits: bool, given: Any) -> None:
    if not fits:
        raise BindError(
            f"{name} cannot forecast with these parameters",
            f"got {given}",
            "lengths are 1 or more, weights lie in (0, 1]",
        )
