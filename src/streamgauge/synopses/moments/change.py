"""Change detection: which items depart from their forecast, from sketches alone.

Each interval is one sketch of signs. A linear forecast of earlier sketches is the sketch of the
forecast of every item; the difference to what came is the sketch of the errors. Its norm says how
much changed, its frequencies say which items did.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.keys import Column, items
from streamgauge.kernel.wire import Packed, pack, unpack
from streamgauge.synopses.moments.fast_ams import FastAms
from streamgauge.synopses.moments.forecasts import FORECASTS, Forecast, mix
from streamgauge.synopses.moments.medians import grouping
from streamgauge.synopses.questions import Frequency, Heavy


class Change(NamedTuple):
    """How an interval departed from its forecast.

    `size` is the L2 norm of the errors of all items; `errors` is their sketch.
    """

    interval: int
    size: Estimate
    errors: FastAms

    def among(self, candidates: Column, share: float) -> tuple[Heavy, ...]:
        """Candidates whose error is at least a share of the norm, largest first, with bars.

        A sketch knows no names. Candidates are the items of this interval, those that come in
        the next one, or those that a top list holds.
        """
        given = items(candidates).values.unique()
        if not len(given):
            return ()
        cut = grouping(self.errors.depth, self.errors.delta)
        errors = np.abs(cut.medians(self.errors.readings(given)))
        # A change of zero is none, even where nothing changed at all.
        loud = np.flatnonzero((errors >= share * self.size.value) & (errors > 0.0))
        order = loud[np.argsort(-errors[loud], kind="stable")]
        names = given.take(order).to_pylist()
        return tuple(Heavy(name, self.errors.query(Frequency(name))) for name in names)


class ChangeDetector:
    """Forecast each interval of a stream and tell how far off it was.

    Parameters
    ----------
    model
        An empty sketch: its width sets how small a change can be told.
    forecast
        moving_average, ewma, holt or seasonal.
    parameters
        Those of the forecast.
    warm_up
        Intervals to pass before changes are told, besides what the forecast itself needs.

    Examples
    --------
    >>> detector = ChangeDetector(FastAms(512, 5, seed=7), "ewma", {"alpha": 0.5})
    >>> for _ in range(5):
    ...     detector.update(["a", "b", "c"], [100.0, 50.0, 10.0])
    ...     change = detector.close()
    >>> change.size.value
    0.0
    >>> detector.update(["a", "b", "c"], [100.0, 50.0, 90.0])
    >>> [(found.item, found.weight.value) for found in detector.close().among(["a", "b", "c"], 0.5)]
    [('c', 80.0)]

    References
    ----------
    KSZC03: docs/reference/synopses/moments.md
    """

    def __init__(
        self,
        model: FastAms,
        forecast: str = "ewma",
        parameters: dict[str, Any] | None = None,
        *,
        warm_up: int = 0,
    ) -> None:
        if forecast not in FORECASTS:
            raise BindError(
                f"unknown forecast {forecast!r}",
                f"known are {', '.join(FORECASTS)}",
                "write ChangeDetector(model, 'ewma', {'alpha': 0.5})",
            )
        self.current = model.empty()
        self.forecast: Forecast = FORECASTS[forecast](**(parameters or {}))
        self.warm_up = warm_up
        self.closed = 0

    def update(self, column: Column, weights: Column | None = None) -> None:
        """Fold rows into the present interval."""
        self.current.update(column, weights)

    def merge(self, other: ChangeDetector) -> None:
        """Fold the present interval of another site; both forecast for themselves."""
        self.current.merge(other.current)

    def close(self) -> Change | None:
        """End the interval; the change, or None while there is nothing to compare with."""
        expected = self.forecast.predict()
        seen, self.current = self.current, self.current.empty()
        self.forecast.learn(seen)
        self.closed += 1
        if expected is None or self.closed <= self.warm_up:
            return None
        errors = mix((1.0, seen), (-1.0, expected))
        return Change(self.closed - 1, errors.norm(), errors)

    def to_bytes(self) -> bytes:
        """Bytes of the present interval and of the forecast."""
        values = {
            "forecast": self.forecast.name,
            "parameters": self.forecast.parameters,
            "warm_up": self.warm_up,
            "closed": self.closed,
        }
        sketches = [self.current, *self.forecast.state]
        arrays = {
            str(place): np.frombuffer(sketch.to_bytes(), np.uint8)
            for place, sketch in enumerate(sketches)
        }
        return pack(Packed("change_detector", 1, values, arrays))

    @classmethod
    def from_bytes(cls, data: bytes) -> ChangeDetector:
        """Read bytes; damaged, foreign or newer ones raise StateTooOld."""
        packed = unpack(data, kind="change_detector", version=1)
        sketches = [FastAms.from_bytes(array.tobytes()) for array in packed.arrays.values()]
        values = packed.values
        new = cls(sketches[0], values["forecast"], values["parameters"], warm_up=values["warm_up"])
        new.current, *new.forecast.state = sketches
        new.closed = values["closed"]
        return new
