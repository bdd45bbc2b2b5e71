"""AMS distinct counter: the largest level under a pairwise independent hash.

The weakest hash suffices for its proof, and the state is one small number a copy; in return it is
only right up to a factor. Copies and their median make the factor smaller.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.hashing import family, polynomial
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.distinct.bits import trailing_zeros
from streamgauge.synopses.distinct.sampling_law import median_delta
from streamgauge.synopses.distinct.sizing import check_share, check_size, smallest
from streamgauge.synopses.questions import Distinct
from streamgauge.synopses.synopsis import Floats, Ints, Need, Synopsis, Trial


class AmsDistinct(Synopsis):
    """Distinct items up to a factor, from pairwise independent hashes alone.

    With one copy the count is off by a factor above c with chance 2 / c; the bar is what that
    theorem gives for the median of the copies.

    Parameters
    ----------
    copies
        Hashes, an odd number.
    delta
        Chance that a bar fails.
    seed
        Chooses the hashes; parts to be merged need the same.

    Examples
    --------
    >>> counter = AmsDistinct(copies=15, seed=7)
    >>> counter.update(np.arange(1000))
    >>> round(counter.factor, 2), counter.query(Distinct()).holds(1000)
    (3.76, True)

    References
    ----------
    AMS99: docs/references.md
    """

    name = "ams_distinct"
    answers = (Distinct,)
    takes = "keys"
    fields = ("levels",)
    joined_by = np.maximum
    small = (1, 0.5)

    def __init__(self, copies: int = 15, delta: float = 0.05, *, seed: int = 0) -> None:
        check_size("ams_distinct", "copies", copies, 1, 1001)
        check_share("ams_distinct", delta)
        if copies % 2 == 0:
            raise BindError(
                "ams_distinct needs an odd number of copies",
                f"got copies={copies}",
                f"write copies={copies + 1}",
            )
        super().__init__(seed=seed)
        self.copies = copies
        self.delta = delta
        self.levels: Ints = np.full(copies, -1, np.int64)
        self._hashes = family(seed, copies, 2)

    @property
    def factor(self) -> float:
        """How many times too large the count can be; too small, twice as many."""
        return 2.0 / median_delta(self.copies, self.delta)

    @property
    def guarantee(self) -> Guarantee:
        """Twice the factor, less one."""
        return Guarantee(
            "relative",
            2.0 * self.factor - 1.0,
            self.delta,
            ("seed independent of the data",),
            "AMS99 prop 2.3",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The fewest copies whose factor is within the contract, if it is a generous one."""
        sizes = [1, 3, 7, 15, 31, 63, 127, 255]
        return smallest(need, cls.name, sizes, lambda n, delta: cls(n, delta, seed=seed))

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Just above a power of two, where the level has furthest to fall."""
        return Trial(np.arange(1025, dtype=np.int64) + 4096 * seed, Distinct())

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        _raise_each(self.levels, self._hashes, column)

    def _answer(self, question: Any) -> Any:
        if self.levels[0] < 0:
            return self._bar(0.0, 0.0, 0.0, 0.0)
        value = 2.0 ** float(np.median(self.levels))
        # Levels are whole: the true count may be twice what a level says before the proof's
        # second half can speak of the next one.
        low, high = max(1.0, value / self.factor), 2.0 * value * self.factor
        return self._bar(value, low, high, self.delta)

    def validate(self) -> None:
        """Levels are those of 61-bit numbers."""
        assert self.levels.max() <= 61


@compiled
def _raise_each(levels, hashes, column):  # type: ignore[no-untyped-def]
    for j in range(len(levels)):
        top = levels[j]
        for key in column:
            top = max(top, min(trailing_zeros(polynomial(key, hashes[j])), 61))
        levels[j] = top
