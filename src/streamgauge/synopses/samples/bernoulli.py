"""Bernoulli: every row is kept with the same chance, independently of the others.

The gap to the next row kept is geometric and drawn whole, so the dice are rolled once for each row
kept and not for each row. The size is random; given the size, every set of rows is as likely.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
import scipy

from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.questions import Mean
from streamgauge.synopses.samples.designs import Drawn, Simple
from streamgauge.synopses.samples.dice import geometric_gap, roll, stir
from streamgauge.synopses.samples.sampled import Sampled
from streamgauge.synopses.samples.unequal import Unequal
from streamgauge.synopses.synopsis import Coarsening, Floats, Ints, Need, Trial


class Bernoulli(Sampled, Coarsening):
    """Each row with chance `rate`; the natural way to shed load.

    Parameters
    ----------
    rate
        Chance of a row to be kept, in (0, 1].
    delta
        Chance that a bar fails.
    seed
        Chooses the rows; parts to be merged need the same.

    Examples
    --------
    >>> sample = Bernoulli(0.01, seed=3)
    >>> sample.update(range(10_000))
    >>> len(sample.sample().values), sample.usual_size(10_000)
    (99, (80, 120))
    >>> print(sample.query(Mean()))
    5185.83 in [4470.44, 5646.02] at 95% confidence, bernoulli

    References
    ----------
    H63, WR24: docs/reference/synopses/samples.md
    """

    name = "bernoulli"
    fields = ("values", "places", "clock")
    small = (0.05,)

    def __init__(self, rate: float, delta: float = 0.05, *, seed: int = 0) -> None:
        if not 0.0 < rate <= 1.0:
            raise BindError(
                "a rate is a chance above 0", f"got rate={rate}", "write Bernoulli(0.01)"
            )
        super().__init__(delta=delta, seed=seed)
        self.rate = rate
        self.values = np.empty(0)
        self.places = np.empty(0, np.int64)
        # Rows seen, number (from 0) of the next row kept; -1 before the first row.
        self.clock = np.array([0, -1], np.int64)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Refused: the size of such a sample follows the stream, so it promises no width."""
        raise ContractUnsatisfiable(
            "a bernoulli sample promises no width beforehand",
            f"asked for {need.contract}; its size is a random share of the rows",
            "use reservoir, whose size is fixed",
        )

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Half the rows zero, half one: the widest that a mean can scatter."""
        return Trial(np.arange(2000, dtype=np.int64) % 2, Mean())

    def usual_size(self, n: int) -> tuple[int, int]:
        """Sizes within two standard deviations, rounded outwards: 19 of 20 samples of n rows."""
        mean = n * self.rate
        spread = 2.0 * math.sqrt(mean * (1.0 - self.rate))
        return max(0, math.floor(mean - spread)), min(n, math.ceil(mean + spread))

    def chance_of_size(self, n: int, least: int, most: int) -> float:
        """Chance that the sample of n rows holds between `least` and `most`, both included."""
        law = scipy.stats.binom(n, self.rate)
        return float(law.cdf(most) - law.cdf(least - 1))

    def sample(self) -> Drawn:
        """The rows held; given how many they are, every set was as likely."""
        design = Simple(int(self.clock[0]), len(self.values), self.seed)
        return Drawn(self.values.copy(), design, self.places.copy())

    def expanded(self) -> Drawn:
        """The same rows, each standing for one over the rate: unbiased, but with more scatter."""
        chances = np.full(len(self.values), self.rate)
        design = Unequal(chances, int(self.clock[0]))
        return Drawn(self.values.copy(), design, self.places.copy())

    def thinned(self, rate: float) -> Bernoulli:
        """The sample that a lower rate would have kept."""
        if not 0.0 < rate <= self.rate:
            raise BindError(
                "a sample can only be thinned", f"{self.rate} to {rate}", "give a lower rate"
            )
        new = Bernoulli(rate, self.delta, seed=self.seed)
        new._take_counts(self, 1)
        new.dice[:], new.extremes[:] = self.dice, self.extremes
        kept = np.array([roll(new.dice) < rate / self.rate for _ in self.values], np.bool_)
        new.values, new.places = self.values[kept], self.places[kept]
        new.clock[0] = self.clock[0]
        if self.clock[1] >= 0:
            new.clock[1] = self.clock[0] + geometric_gap(new.dice, rate)
        return new

    def coarsened(self) -> Bernoulli:
        """Half the rate."""
        return self.thinned(0.5 * self.rate)

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        chosen = np.empty(len(column), np.int64)
        start = int(self.clock[0])
        count = choose_rows(self.clock, self.dice, column.view(np.uint64), self.rate, chosen)
        chosen = chosen[:count]
        self.values = np.concatenate([self.values, column[chosen]])
        self.places = np.concatenate([self.places, start + chosen])

    def _merge(self, other: Self) -> None:
        seen, theirs = int(self.clock[0]), int(other.clock[0])
        if not theirs:
            return
        self._merge_shared(other)
        self.values = np.concatenate([self.values, other.values])
        self.places = np.concatenate([self.places, other.places + seen])
        # A geometric gap forgets how long it has lasted: any part's pending one will do.
        pending = int(self.clock[1]) - seen if seen else int(other.clock[1]) - theirs
        self.clock[:] = seen + theirs, seen + theirs + pending

    def validate(self) -> None:
        """Rows kept are rows seen, and the next is yet to come."""
        assert len(self.values) == len(self.places)
        assert not len(self.places) or self.places.max() < self.clock[0]
        assert self.clock[1] >= self.clock[0] or self.clock[0] == 0


@compiled
def choose_rows(clock, dice, words, rate, chosen):  # type: ignore[no-untyped-def]
    """Write the rows of a batch that are kept, advance the clock, and return how many they are."""
    start, following = clock[0], clock[1]
    stop = start + len(words)
    if following < 0:
        # The first row makes parts that share a seed draw apart from the start.
        stir(dice, words[0])
        following = geometric_gap(dice, rate)
    count = 0
    while following < stop:
        chosen[count] = following - start
        stir(dice, words[following - start])
        count += 1
        following += 1 + geometric_gap(dice, rate)
    clock[0], clock[1] = stop, following
    return count
