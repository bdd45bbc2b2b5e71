"""Readings of nothing: walks, ramps, and tags as an industrial server would serve them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from streamgauge.edge.dice import Dice
from streamgauge.edge.link import Credentials
from streamgauge.edge.readings import Pace, Reading
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import SECOND, duration

GOOD, UNCERTAIN, BAD = "good", "uncertain", "bad"


class Walks:
    """Objects that move by a normal step, or by a drift, each period.

    Parameters
    ----------
    objects
        How many.
    sigma, drift
        Deviation of a step, and its mean.
    period
        Seconds between two steps.
    seed
        The same seed gives the same walks.
    clock
        Seconds that only grow.

    Examples
    --------
    >>> now = [0.0]
    >>> walks = Walks(2, drift=1.0, sigma=0.0, clock=lambda: now[0])
    >>> walks.read(0.0)
    [('walk-0', 1.0, None), ('walk-1', 1.0, None)]
    >>> walks.read(0.0)
    []
    """

    ends = False
    blind = False
    outages = 0

    def __init__(
        self,
        objects: int,
        *,
        sigma: float = 1.0,
        drift: float = 0.0,
        period: float = 1.0,
        seed: int = 0,
        name: str = "walk",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.period: float | None = period
        self.bad = 0
        self._names = [f"{name}-{number}" for number in range(objects)]
        self._values = [0.0] * objects
        self._sigma, self._drift = sigma, drift
        self._dice = Dice(seed)
        self._pace = Pace(clock)

    def read(self, wait: float) -> list[Reading] | None:
        """The next values, when it is time."""
        if not self._pace.wait(self.period or 1.0, wait):
            return []
        sigma, drift, normal = self._sigma, self._drift, self._dice.normal
        self._values = [value + drift + sigma * normal() for value in self._values]
        return [(key, value, None) for key, value in zip(self._names, self._values, strict=True)]

    def close(self) -> None:
        """Nothing is held."""


@dataclass(slots=True)
class Tag:
    """A named value of a simulated server.

    Parameters
    ----------
    node
        Its name, such as `ns=2;s=Boiler.Drum.Level`.
    kind
        `float`, `int` or `bool`: how values are rounded.
    every
        Seconds between two samples.
    deadband
        A change that is no larger is not served; the value served is then off by up to it.
    sigma
        Deviation of a step.
    """

    node: str
    kind: str = "float"
    every: float = 1.0
    deadband: float = 0.0
    sigma: float = 1.0
    value: float = 50.0
    served: float = math.nan
    quality: str = GOOD

    def step(self, dice: Dice) -> float | None:
        """Move on; the value that is served, NaN for a bad one, None for no news."""
        chance = dice.uniform()
        if self.quality == GOOD:
            self.quality = BAD if chance < 0.002 else UNCERTAIN if chance < 0.01 else GOOD
        elif chance < 0.2:
            self.quality = GOOD
        self.value += self.sigma * dice.normal() + 0.02 * (50.0 - self.value)
        if self.quality == BAD:
            was, self.served = self.served, math.nan
            return None if math.isnan(was) else math.nan
        shown = self.value
        if self.kind == "int":
            shown = float(round(shown))
        elif self.kind == "bool":
            shown = float(shown > 50.0)
        if abs(shown - self.served) <= self.deadband:
            return None
        self.served = shown
        return shown


class Tags:
    """Tags of a simulated industrial server, each with its own sampling interval.

    Examples
    --------
    >>> now = [0.0]
    >>> tags = Tags([Tag("Level"), Tag("Pump", "bool", every=5.0)], clock=lambda: now[0])
    >>> [key for key, value, told in tags.read(0.0)]
    ['Level', 'Pump']
    >>> now[0] = 1.0
    >>> [key for key, value, told in tags.read(0.0)]
    ['Level']
    """

    # Each tag has a period of its own, so there is none that a coordinator could set.
    period: float | None = None
    ends = False
    blind = False
    outages = 0

    def __init__(
        self, tags: list[Tag], *, seed: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.bad = 0
        self.tags = tags
        self._dice = Dice(seed)
        self._paces = [Pace(clock) for _ in tags]

    def read(self, wait: float) -> list[Reading] | None:
        """Samples that are due."""
        pairs = list(zip(self._paces, self.tags, strict=True))
        first, tag = min(pairs, key=lambda pair: pair[0].left(pair[1].every))
        found: list[Reading] = []
        if not first.wait(tag.every, wait):
            return found
        for pace, tag in pairs:
            if pace is first or pace.due(tag.every):
                value = tag.step(self._dice)
                if value is not None:
                    found.append((tag.node, value, None))
        return found

    def close(self) -> None:
        """Nothing is held."""


def plant_tags(count: int, every: float) -> list[Tag]:
    """Tags as a plant has them: mostly analog values, some counts, some switches."""
    kinds = ("float", "float", "float", "int", "bool")
    return [
        Tag(f"ns=2;s=Unit{n // 5}.{kinds[n % 5]}{n % 5}", kinds[n % 5], every * (1 + n % 3))
        for n in range(count)
    ]


def opened(rest: str, options: dict[str, str], credentials: Credentials) -> Walks | Tags:
    """A simulation: `simulate:walk?n=10&sigma=1&every=1s`, `simulate:ramp`, `simulate:tags`."""
    try:
        count = int(options.pop("n", "10"))
        seed = int(options.pop("seed", "0"))
        sigma = float(options.pop("sigma", "1" if rest == "walk" else "0"))
        slope = float(options.pop("slope", "1" if rest == "ramp" else "0"))
    except ValueError as error:
        raise BindError(
            "a simulation with a number that is none", str(error), "write simulate:walk?n=10"
        ) from None
    every = duration(options.pop("every", "1s")) / SECOND
    if not 0 < count <= 1_000_000 or every <= 0.0:
        raise BindError(
            "a simulation of no size", f"n={count}, every={every:g} s", "write simulate:walk?n=10"
        )
    if rest in ("walk", "ramp"):
        return Walks(count, sigma=sigma, drift=slope * every, period=every, seed=seed, name=rest)
    if rest == "tags":
        return Tags(plant_tags(count, every), seed=seed)
    raise BindError(
        f"no simulation {rest!r}", "known are walk, ramp, tags", "write simulate:walk?n=10"
    )
