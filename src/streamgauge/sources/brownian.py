"""Brownian sensors: steps, rough regimes, bursts and outages, drawn by the number of their tick."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Rows drawn in one go; with many sensors a chunk has fewer ticks.
CHUNK_TICKS_MAX = 256
CHUNK_ROWS = 1 << 19
# A multiple of every chunk length, so that a chunk lies in one episode.
EPISODE_TICKS = 1_024

_ROUGHNESS = 4.0
_SENSORS, _STEPS, _EPISODES = range(3)


def draws(seed: int, purpose: int, number: int) -> np.random.Generator:
    """Random numbers that depend on what they are for and nothing drawn before."""
    key = np.array([seed, purpose], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, number, 0]))


@dataclass(frozen=True)
class Spans:
    """Ticks begin..end of an episode in which something happens to some sensors."""

    sensors: Ints
    begin: Ints
    end: Ints

    @classmethod
    def drawn(cls, random: np.random.Generator, rate: float, n: int) -> Spans:
        """Draw who is struck, when, and for how long: a sixteenth to a half of an episode."""
        struck, when, length = random.random((3, n))
        sensors = np.flatnonzero(struck < rate)
        begin = (when[sensors] * (EPISODE_TICKS // 2)).astype(np.int64)
        lasting = EPISODE_TICKS * (1 / 16 + length[sensors] * (1 / 2 - 1 / 16))
        return cls(sensors, begin, begin + lasting.astype(np.int64))

    def within(self, ticks: Ints) -> tuple[Ints, Bools]:
        """Sensors struck at some of the ticks, and at which (a row per tick)."""
        some = (self.begin <= ticks[-1]) & (self.end > ticks[0])
        at = ticks[:, None]
        return self.sensors[some], (at >= self.begin[some]) & (at < self.end[some])


@dataclass(frozen=True)
class Episode:
    """What befalls the sensors over 1,024 ticks.

    Parameters
    ----------
    rough
        Sensors whose steps are four times as large.
    bursts
        Sensors that jump and come back.
    heights, decays
        Size of each jump in steps of its sensor, and the ticks in which it falls to 1/e.
    outages
        Sensors that are silent.
    """

    rough: Spans
    bursts: Spans
    heights: Floats
    decays: Floats
    outages: Spans

    def roughen(self, steps: Floats, ticks: Ints) -> None:
        """Enlarge the steps of rough sensors in place."""
        sensors, struck = self.rough.within(ticks)
        if len(sensors):
            steps[:, sensors] *= np.where(struck, _ROUGHNESS, 1.0)

    def lift(self, levels: Floats, ticks: Ints, unit: Floats) -> Floats:
        """Levels with bursts on top."""
        sensors, struck = self.bursts.within(ticks)
        if not len(sensors):
            return levels
        place = np.searchsorted(self.bursts.sensors, sensors)
        age = np.maximum(ticks[:, None] - self.bursts.begin[place], 0)
        jump = unit[sensors] * self.heights[place] * np.exp(-age / self.decays[place])
        lifted = levels.copy()
        lifted[:, sensors] += np.where(struck, jump, 0.0)
        return lifted

    def speaking(self, ticks: Ints, n: int) -> Bools | None:
        """Which sensors give a row at which tick; None: all of them."""
        sensors, struck = self.outages.within(ticks)
        if not struck.any():
            return None
        present = np.ones((len(ticks), n), dtype=bool)
        present[:, sensors] = ~struck
        return present


class Sensors:
    """Sensors that share a clock.

    Parameters
    ----------
    n
        How many.
    seed
        Chooses their characters and their course.
    volatility, drift
        Middle size of a step and of a slope, per tick.
    rates
        Chances of a rough regime, a burst and an outage, per sensor and episode.

    Examples
    --------
    >>> sensors = Sensors(n=4, seed=1, volatility=0.1, drift=0.0, rates=(0.0, 0.0, 0.0))
    >>> sensors.walk(0, np.zeros(4)).shape, sensors.chunk_ticks
    ((256, 4), 256)
    """

    def __init__(
        self, *, n: int, seed: int, volatility: float, drift: float, rates: tuple[float, ...]
    ) -> None:
        self._n, self._seed, self._rates = n, seed, rates
        fitting = max(1, CHUNK_ROWS // n)
        self.chunk_ticks: int = min(CHUNK_TICKS_MAX, 1 << (fitting.bit_length() - 1))
        random = draws(seed, _SENSORS, 0)
        self.scatter: Floats = random.standard_normal(n)
        self._step: Floats = volatility * np.exp(0.5 * random.standard_normal(n))
        self._slope: Floats = drift * random.standard_normal(n)
        self._episode = lru_cache(maxsize=2)(self._draw_episode)

    def ticks(self, chunk: int) -> Ints:
        """Ticks of a chunk, counted from the beginning of its episode."""
        return np.arange(self.chunk_ticks) + chunk * self.chunk_ticks % EPISODE_TICKS

    def walk(self, chunk: int, levels: Floats) -> Floats:
        """Levels at each tick of a chunk (a row per tick) that begins at `levels`."""
        shape = (self.chunk_ticks, self._n)
        steps = draws(self._seed, _STEPS, chunk).standard_normal(shape)
        steps *= self._step
        self._episode_of(chunk).roughen(steps, self.ticks(chunk))
        steps += self._slope
        steps[0] += levels
        walked: Floats = np.cumsum(steps, axis=0, out=steps)
        return walked

    def readings(self, chunk: int, walked: Floats) -> tuple[Floats, Bools | None]:
        """Make of the levels of a chunk what its sensors show, and which of them show anything."""
        episode, ticks = self._episode_of(chunk), self.ticks(chunk)
        return episode.lift(walked, ticks, self._step), episode.speaking(ticks, self._n)

    def _episode_of(self, chunk: int) -> Episode:
        return self._episode(chunk * self.chunk_ticks // EPISODE_TICKS)

    def _draw_episode(self, number: int) -> Episode:
        random = draws(self._seed, _EPISODES, number)
        rough, burst, outage = self._rates
        bursts = Spans.drawn(random, burst, self._n)
        count = len(bursts.sensors)
        return Episode(
            bursts=bursts,
            heights=random.choice([-1.0, 1.0], count) * random.uniform(20, 60, count),
            decays=random.uniform(4, 16, count),
            rough=Spans.drawn(random, rough, self._n),
            outages=Spans.drawn(random, outage, self._n),
        )
