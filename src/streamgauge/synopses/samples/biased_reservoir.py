"""Biased reservoir: a sample of fixed size that favours recent rows.

The first `k` rows fill it; each later row enters with the same chance `p` and takes the place of a
random one, so that the chance to be held falls geometrically with age. Asked about rows weighted
by that chance, the sample answers as it stands; asked about all rows, each must be scaled up.
"""

from __future__ import annotations

import math

import numpy as np

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.questions import Quantile
from streamgauge.synopses.samples.designs import Drawn
from streamgauge.synopses.samples.dice import geometric_gap, roll_below, stir
from streamgauge.synopses.samples.fading import Fading
from streamgauge.synopses.samples.unequal import Unequal
from streamgauge.synopses.synopsis import Floats, Ints, Trial


class BiasedReservoir(Fading):
    """`k` rows, of which those of age a are held with chance `p (1 - p/k)^a`.

    Answers are about rows weighted by that chance: a decay by age in rows.

    Parameters
    ----------
    k
        Rows kept.
    p
        Chance of a row to enter, in (0, 1]; the memory reaches back about k / p rows.
    delta
        Chance that a bar fails.
    seed
        Chooses the rows.

    Examples
    --------
    >>> sample = BiasedReservoir(k=100, p=0.5, seed=1)
    >>> sample.update(range(10_000))
    >>> round(float(sample.inclusion(np.array([9999]))[0]), 3)
    0.5
    >>> round(float(sample.inclusion(np.array([9799]))[0]), 3)
    0.183

    References
    ----------
    A06: docs/reference/synopses/samples.md
    """

    name = "biased_reservoir"
    cite = "A06"
    forgets_by = "age in rows"
    pace = "p"
    fields = ("values", "places", "clock")
    small = (100, 0.5)

    def __init__(self, k: int, p: float, delta: float = 0.05, *, seed: int = 0) -> None:
        if k < 1 or not 0.0 < p <= 1.0:
            raise BindError(
                "a biased reservoir has room for a row, and rows enter with a chance above 0",
                f"got k={k}, p={p}",
                "write BiasedReservoir(k=1000, p=0.5)",
            )
        super().__init__(k, delta, seed=seed)
        self.p = p
        # Rows seen, number (from 0) of the row that enters next once it is full.
        self.clock = np.array([0, k], np.int64)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """The median age."""
        rows = np.arange(1500, dtype=np.int64)
        return Trial(rows, Quantile(0.5), times=rows, now=1499)

    @property
    def seen(self) -> int:
        """Rows seen."""
        return int(self.clock[0])

    def _chances(self, rows: Ints, seen: int) -> Floats:
        if seen <= self.k:
            return np.ones(len(rows))
        # Powers by their logarithm: rows may be millions old.
        stays = math.log1p(-self.p / self.k) if self.p < self.k else -math.inf
        later = seen - 1 - np.maximum(rows, self.k - 1)
        with np.errstate(invalid="ignore"):
            survived = np.where(later == 0, 1.0, np.exp(later * stays))
        chances: Floats = np.where(rows < self.k, 1.0, self.p) * survived
        return chances

    def joint(self, first: Ints, second: Ints) -> Floats:
        """Chance of each pair of different rows to be held now."""
        older = np.minimum(first, second)
        newer = np.maximum(first, second)
        seen, k, p = self.seen, self.k, self.p
        if seen <= k:
            return np.ones(older.shape)
        one, two = math.log1p(-p / k), math.log1p(-2.0 * p / k) if 2.0 * p < k else -math.inf
        start = np.maximum(older, k - 1)
        between = np.maximum(newer - 1 - start, 0)
        after = seen - 1 - np.maximum(newer, k - 1)
        with np.errstate(invalid="ignore"):
            both_stay = np.where(after == 0, 1.0, np.exp(after * two))
        older_enters = np.where(older < k, 1.0, p)
        newer_enters = np.where(newer < k, 1.0, p * (k - 1.0) / k)
        chances: Floats = older_enters * np.exp(between * one) * newer_enters * both_stay
        return chances

    def expanded(self) -> Drawn:
        """The rows held, each scaled by its chance, for questions about all rows alike."""
        places = self.places[: min(self.seen, self.k)].copy()
        chances = self.inclusion(places)

        def joint(first: Ints, second: Ints) -> Floats:
            return self.joint(places[first], places[second])

        design = Unequal(chances, self.seen, joint, fixed=True)
        return Drawn(self.values[: len(places)].copy(), design, places)

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        words = column.view(np.uint64)
        _take_biased(self.values, self.places, self.clock, self.dice, self.p, column, words)

    def validate(self) -> None:
        """No row is held twice, and none before it came."""
        held = self.places[: min(self.seen, self.k)]
        assert len(np.unique(held)) == len(held)
        assert not len(held) or held.max() < self.clock[0]
        assert self.clock[1] >= self.clock[0]


@compiled
def _take_biased(values, places, clock, dice, p, column, words):  # type: ignore[no-untyped-def]
    k = len(values)
    seen, following = clock[0], clock[1]
    last = seen + len(column)
    for row in range(seen, min(last, k)):
        values[row], places[row] = column[row - seen], row
        stir(dice, words[row - seen])
        if row == k - 1:
            following = k + geometric_gap(dice, p)
    while following < last:
        slot = roll_below(dice, k)
        values[slot], places[slot] = column[following - seen], following
        stir(dice, words[following - seen])
        following += 1 + geometric_gap(dice, p)
    clock[0], clock[1] = last, following
