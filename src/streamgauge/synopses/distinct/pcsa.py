"""PCSA: Flajolet and Martin's bitmaps, each item in one of them.

An item sets the bit of its level in one of k bitmaps. The lowest bits not set, on average over the
bitmaps, grow with the logarithm of the number of items. One hash an item, eight bytes a bitmap.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.synopses.distinct.bitmaps import PHI, as_table, lowest_unset, set_levels
from streamgauge.synopses.distinct.register_law import register_law, widest_bar
from streamgauge.synopses.distinct.sampling_law import RANDOM_HASHES
from streamgauge.synopses.distinct.sizing import check_power, check_share, smallest
from streamgauge.synopses.questions import Distinct
from streamgauge.synopses.synopsis import Floats, Ints, Need, Synopsis, Trial


class Pcsa(Synopsis):
    """Distinct items within about `0.78 / sqrt(k)` (one deviation) of their number.

    Parameters
    ----------
    k
        Bitmaps, a power of two.
    delta
        Chance that a bar fails.
    seed
        Chooses the hash; parts to be merged need the same.

    Examples
    --------
    >>> counter = Pcsa(k=256, seed=7)
    >>> counter.update(["a", "b", "a", None])
    >>> print(counter.query(Distinct()))
    2 in [2, 2] at 95% confidence, pcsa

    References
    ----------
    FM85: docs/references.md
    """

    name = "pcsa"
    answers = (Distinct,)
    takes = "keys"
    fields = ("bitmaps",)
    joined_by = np.bitwise_or

    def __init__(self, k: int, delta: float = 0.05, *, seed: int = 0) -> None:
        check_power("pcsa", k)
        check_share("pcsa", delta)
        super().__init__(seed=seed)
        self.k = k
        self.delta = delta
        self.bitmaps: npt.NDArray[np.uint64] = np.zeros(k, np.uint64)

    @property
    def guarantee(self) -> Guarantee:
        """Half-width of the widest bar, as a share of the count."""
        reach = widest_bar("pcsa", self.k, self.delta)
        return Guarantee("relative", reach, self.delta, RANDOM_HASHES, "FM85 thm 4")

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The fewest bitmaps whose widest bar is within the contract."""
        sizes = [1 << lg for lg in range(4, 18)]
        return smallest(need, cls.name, sizes, lambda k, delta: cls(k, delta, seed=seed))

    @classmethod
    def specimen(cls, seed: int) -> Self:
        """Sixty-four bitmaps."""
        return cls(64, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Thirty different items a bitmap."""
        return Trial(np.arange(1920, dtype=np.int64) + 4096 * seed, Distinct())

    @property
    def raw(self) -> int:
        """The estimate as first published, without the correction for few items."""
        mean = float(lowest_unset(as_table(self.bitmaps)).mean())
        return math.floor(self.k / PHI * math.pow(2.0, mean))

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        set_levels(self.bitmaps, column, self.k.bit_length() - 1)

    def _answer(self, question: Any) -> Any:
        occupied = np.array([np.count_nonzero(self.bitmaps)])
        total = lowest_unset(as_table(self.bitmaps)).sum(keepdims=True).astype(np.float64)
        found = register_law("pcsa", self.k, self.delta).bars(occupied, total)
        value, low, high = (float(column[0]) for column in found)
        return self._bar(value, low, high, self.delta)

    def validate(self) -> None:
        """No more bits than rows."""
        assert int(np.bitwise_count(self.bitmaps).sum(dtype=np.int64)) <= self.rows
