"""Halving: a sample that gives half of itself up for each new stretch of rows.

The first stretch gives a uniform sample of `k`; after each later one a random half is replaced by
a uniform sample of it. The chance to be held halves with every stretch. Rows of a stretch that is
not complete do not count yet, but for the first.
"""

from __future__ import annotations

import numpy as np

from streamgauge.kernel.errors import BindError
from streamgauge.synopses.questions import Quantile
from streamgauge.synopses.samples.dice import shuffle_first
from streamgauge.synopses.samples.fading import Fading
from streamgauge.synopses.samples.reservoir import take_rows
from streamgauge.synopses.synopsis import Floats, Ints, Trial


class Halving(Fading):
    """`k` rows; those of a stretch j stretches ago are held with chance about `k / stretch / 2^j`.

    Answers are about rows weighted by that chance: a decay by stretches of rows.

    Parameters
    ----------
    k
        Rows kept, two or more; with an odd number the smaller half is replaced.
    stretch
        Rows between two halvings, at least k.
    delta
        Chance that a bar fails.
    seed
        Chooses the rows.

    Examples
    --------
    >>> sample = Halving(k=4, stretch=100, seed=1)
    >>> sample.update(range(300))
    >>> bool((sample.sample().rows >= 200).sum() == 2)
    True

    References
    ----------
    BBL09: docs/reference/synopses/samples.md
    """

    name = "halving"
    cite = "BBL09"
    forgets_by = "stretches of rows"
    pace = "stretch"
    fields = ("values", "places", "next_values", "next_places", "complete", "clock")
    small = (100, 250)

    def __init__(self, k: int, stretch: int, delta: float = 0.05, *, seed: int = 0) -> None:
        if not 2 <= k <= stretch:
            raise BindError(
                "a sample that halves has two rows or more, and a stretch as many",
                f"got k={k}, stretch={stretch}",
                "write Halving(k=100, stretch=10_000)",
            )
        super().__init__(k, delta, seed=seed)
        self.stretch = stretch
        self.next_values = np.zeros(k // 2)
        self.next_places = np.zeros(k // 2, np.int64)
        # Complete stretches.
        self.complete = np.zeros(1, np.int64)
        # Of the sample while the first stretch lasts, then of the open stretch's sample.
        self.clock = np.zeros(3, np.int64)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """The median age."""
        rows = np.arange(1250, dtype=np.int64)
        return Trial(rows, Quantile(0.5), times=rows, now=1249)

    def _chances(self, rows: Ints, seen: int) -> Floats:
        complete = seen // self.stretch
        if not complete:
            return np.full(len(rows), min(1.0, self.k / max(1, seen)))
        new = self.k // 2
        stays = (self.k - new) / self.k
        number = rows // self.stretch
        enters = np.where(number == 0, self.k, new) / self.stretch
        later = complete - 1 - number
        chances: Floats = np.where(later < 0, 0.0, enters * stays ** np.maximum(later, 0.0))
        return chances

    @property
    def seen(self) -> int:
        """Rows seen."""
        return int(self.complete[0]) * self.stretch + int(self.clock[0])

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        start = 0
        while start < len(column):
            part = column[start : start + self.stretch - int(self.clock[0])]
            words = part.view(np.uint64)
            if self.complete[0]:
                values, places = self.next_values, self.next_places
            else:
                values, places = self.values, self.places
            take_rows(values, places, self.clock, self.dice, part, words)
            start += len(part)
            if self.clock[0] == self.stretch:
                self._halve()

    def _halve(self) -> None:
        """Close the stretch: its sample takes the place of a random half."""
        if self.complete[0]:
            order = np.arange(self.k, dtype=np.int64)
            new = len(self.next_values)
            shuffle_first(self.dice, order, new)
            self.values[order[:new]] = self.next_values
            self.places[order[:new]] = self.complete[0] * self.stretch + self.next_places
        self.complete += 1
        self.clock[:] = 0

    def validate(self) -> None:
        """No row is held twice, and the newest complete stretch has its half."""
        held = self.sample().rows
        assert held is not None
        assert len(np.unique(held)) == len(held)
        if self.complete[0] > 1:
            newest = held // self.stretch == self.complete[0] - 1
            assert newest.sum() == self.k // 2
