"""Vehicles over a pair of sensors: speed and length from four instants, each with its bar.

The sensors stand `spacing` feet apart in one lane, closer than a car is long. The first sees a
vehicle from t0 to t2, the second from t1 to t3; speed = spacing / (t1 - t0) and length = speed *
(t2 - t0) [MF02, section 5.1; printed there with the sign of the length turned].
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from streamgauge.filters.mote import Vehicle
from streamgauge.kernel.time import SECOND, Duration, Instant


class Measured(NamedTuple):
    """A vehicle as the pair saw it: feet a second and feet, each within its bar.

    The bars hold for a vehicle that keeps its speed while it is over the pair.

    Examples
    --------
    >>> Measured("a", 0, 88.0, 84.0, 93.0, 15.0, 14.3, 15.8).length
    15.0
    """

    lane: str
    at: Instant
    speed: float
    speed_low: float
    speed_high: float
    length: float
    length_low: float
    length_high: float


def measure(
    up: Vehicle,
    down: Vehicle,
    *,
    spacing: float,
    up_period: Duration = 0,
    down_period: Duration = 0,
    lane: str = "",
) -> Measured:
    """Speed and length of a vehicle from its two records.

    An edge is seen by the first reading after it, so it was up to one period earlier; the bars
    are the extremes over all instants that the four edges may have had.

    Examples
    --------
    >>> seen = measure(Vehicle(0, 170_450), Vehicle(113_640, 284_090), spacing=10.0)
    >>> round(seen.speed, 1), round(seen.length, 1)
    (88.0, 15.0)
    """
    apart, covered = down.on - up.on, up.off - up.on
    # Only the first edge is in both, so each bar has its extremes at one end of that edge's slack.
    least, most = apart - down_period, apart + up_period
    longest = [(covered + early, least + early) for early in (0, up_period)]
    shortest = [(covered - up_period + early, apart + early) for early in (0, up_period)]
    return Measured(
        lane,
        up.on,
        _over(spacing * SECOND, apart),
        _over(spacing * SECOND, most),
        _over(spacing * SECOND, least),
        _over(spacing * covered, apart),
        min(_over(spacing * max(over, 0), under) for over, under in shortest),
        max(_over(spacing * over, under) for over, under in longest),
    )


def _over(above: float, below: float) -> float:
    return above / below if below > 0 else float("inf")


class Pairing:
    """Puts the records of two sensors together by lane and time.

    The records of one vehicle are those where the second sensor was reached while the first was
    covered; there is at most one such pair. A record that finds no other within `patience` is
    counted as missed, for the other sensor must have missed the vehicle.

    Parameters
    ----------
    spacing
        Feet between the sensors.
    up_period, down_period
        Time between readings of the first and of the second.
    patience
        How long after it was made a record waits.

    Examples
    --------
    >>> pairing = Pairing(10.0)
    >>> pairing.upstream("a", Vehicle(0, 170_450))
    >>> seen = pairing.downstream("a", Vehicle(113_640, 284_090))
    >>> round(seen.speed, 1), pairing.waiting
    (88.0, 0)
    """

    def __init__(
        self,
        spacing: float,
        *,
        up_period: Duration = 0,
        down_period: Duration = 0,
        patience: Duration = 60 * SECOND,
    ) -> None:
        self.spacing = spacing
        self.up_period = up_period
        self.down_period = down_period
        self.patience = patience
        self.missed_upstream = 0
        self.missed_downstream = 0
        self._up: dict[str, list[Vehicle]] = {}
        self._down: dict[str, list[Vehicle]] = {}

    @property
    def waiting(self) -> int:
        """Records that have found no other yet."""
        return sum(len(lane) for side in (self._up, self._down) for lane in side.values())

    def upstream(self, lane: str, record: Vehicle) -> Measured | None:
        """Take a record of the first sensor; return the vehicle if the other one is there."""
        found = next((d for d in self._down.get(lane, ()) if self._same(record, d)), None)
        if found is None:
            self._up.setdefault(lane, []).append(record)
            return None
        self._down[lane].remove(found)
        return self._measured(lane, record, found)

    def downstream(self, lane: str, record: Vehicle) -> Measured | None:
        """Take a record of the second sensor; return the vehicle if the other one is there."""
        found = next((u for u in self._up.get(lane, ()) if self._same(u, record)), None)
        if found is None:
            self._down.setdefault(lane, []).append(record)
            return None
        self._up[lane].remove(found)
        return self._measured(lane, found, record)

    def advance(self, now: Instant) -> None:
        """Give up records that have waited for too long."""
        self.missed_downstream += self._give_up(self._up, now)
        self.missed_upstream += self._give_up(self._down, now)

    def _give_up(self, side: dict[str, list[Vehicle]], now: Instant) -> int:
        before = sum(map(len, side.values()))
        for lane, records in side.items():
            side[lane] = [record for record in records if record.off + self.patience >= now]
        return before - sum(map(len, side.values()))

    def _same(self, up: Vehicle, down: Vehicle) -> bool:
        """Whether the front reached the second sensor while the first was covered."""
        return up.on - self.up_period < down.on < up.off + self.down_period + 1

    def _measured(self, lane: str, up: Vehicle, down: Vehicle) -> Measured | None:
        """The vehicle, unless it was there before one of the sensors watched."""
        if up.cut or down.cut:
            return None
        return measure(
            up,
            down,
            spacing=self.spacing,
            up_period=self.up_period,
            down_period=self.down_period,
            lane=lane,
        )


class Passage(NamedTuple):
    """A vehicle as it is: when its front reaches the first sensor, feet a second, feet.

    Examples
    --------
    >>> Passage(0, 88.0, 15.0).speed
    88.0
    """

    at: Instant
    speed: float
    length: float


def traffic(
    passages: int,
    *,
    seed: int,
    per_second: float = 0.5,
    spacing: float = 10.0,
    speed: tuple[float, float] = (60.0, 110.0),
    length: tuple[float, float] = (12.0, 20.0),
    free: float = 0.03,
) -> list[Passage]:
    """Vehicles of one lane in order of time, never two over one sensor of a pair.

    Examples
    --------
    >>> road = traffic(3, seed=1)
    >>> all(60.0 <= vehicle.speed <= 110.0 for vehicle in road)
    True
    """
    dice = np.random.default_rng(seed)
    speeds = dice.uniform(*speed, passages)
    lengths = dice.uniform(*length, passages)
    waits = dice.exponential(1.0 / per_second, passages)
    found, clear_up, clear_down = [], 0.0, 0.0
    for pace, feet, wait in zip(speeds.tolist(), lengths.tolist(), waits.tolist(), strict=True):
        front = max(clear_up, clear_down - spacing / pace) + free + wait
        found.append(Passage(round(front * SECOND), pace, feet))
        clear_up, clear_down = front + feet / pace, front + (feet + spacing) / pace
    return found


def cover(passages: Sequence[Passage], *, offset: float = 0.0) -> Callable[[Instant], float]:
    """Reading of a sensor so many feet down the road: 1 while a vehicle is over it, else 0.

    Examples
    --------
    >>> reading = cover([Passage(0, 88.0, 15.0)], offset=10.0)
    >>> [reading(at) for at in (100_000, 200_000, 300_000)]
    [0.0, 1.0, 0.0]
    """
    fronts = [vehicle.at + round(offset / vehicle.speed * SECOND) for vehicle in passages]
    rears = [
        front + round(vehicle.length / vehicle.speed * SECOND)
        for front, vehicle in zip(fronts, passages, strict=True)
    ]
    edges = [edge for pair in zip(fronts, rears, strict=True) for edge in pair]
    return lambda at: float(bisect_right(edges, at) % 2)
