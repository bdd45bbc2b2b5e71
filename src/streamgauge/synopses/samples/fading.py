"""Fading: samples of fixed size that favour recent rows, as age in rows says.

The clock is the rows themselves: a row is held with a chance that falls as others come. Asked about
rows weighted by that chance, the sample answers as it stands.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.synopses.questions import Count
from streamgauge.synopses.samples.designs import Drawn
from streamgauge.synopses.samples.rows_window import ages
from streamgauge.synopses.samples.sampled import COUNTED, Sampled
from streamgauge.synopses.samples.unequal import Proportional, share_of_weight
from streamgauge.synopses.synopsis import Expiring, Floats, Ints, Need


class Fading(Sampled, Expiring):
    """`k` rows, held with a chance that falls with their age; a kind says how (`_chances`)."""

    answers = (Count, *COUNTED)
    merging = "none"
    law = "additive"
    cite: ClassVar[str]
    """Where the law is from."""
    forgets_by: ClassVar[str]
    """What makes the chance fall."""
    pace: ClassVar[str]
    """Parameter that says how fast."""

    def __init__(self, k: int, delta: float, *, seed: int) -> None:
        super().__init__(delta=delta, seed=seed)
        self.k = k
        self.values = np.zeros(k)
        self.places = np.zeros(k, np.int64)

    @property
    @abstractmethod
    def seen(self) -> int:
        """Rows seen."""

    @abstractmethod
    def _chances(self, rows: Ints, seen: int) -> Floats:
        """Chance of each row, by number from 0, to be held once so many were seen."""

    @property
    def guarantee(self) -> Guarantee:
        """Decayed counts within `epsilon` of the decayed number of rows."""
        epsilon = share_of_weight(self.k, self.delta)
        return Guarantee(
            self.law, epsilon, self.delta, ("seed independent of the data",), self.cite
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Refused: a need states windows, not decays."""
        raise ContractUnsatisfiable(
            f"{cls.name} forgets by {cls.forgets_by}",
            f"asked for {need.contract}, window {need.window}",
            f"use priority for windows of time, or give k= and {cls.pace}= yourself",
        )

    def advance(self, now: int) -> None:
        """Nothing: rows age when others come."""

    def weights_at(self, times: Ints, now: int) -> Floats:
        """The chance of each of all rows up to now to be held."""
        age = ages(times, now)
        alive = age < np.iinfo(np.int64).max
        there = int(alive.sum())
        chances = np.zeros(len(times))
        chances[alive] = self._chances(there - 1 - age[alive], there)
        return chances

    def inclusion(self, rows: Ints) -> Floats:
        """Chance of each row, by number from 0, to be held now."""
        return self._chances(np.asarray(rows, np.int64), self.seen)

    def sample(self) -> Drawn:
        """The rows held, for questions about rows weighted by their chance to be held."""
        held = min(self.seen, self.k)
        # Until it overflows every row is held surely: a threshold of nothing.
        threshold = 1.0 if self.seen > self.k else 0.0
        design = Proportional(np.ones(held), threshold, float(held))
        return Drawn(self.values[:held].copy(), design, self.places[:held].copy())
