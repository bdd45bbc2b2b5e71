"""PCSA: Flajolet and Martin's bitmaps, each item in one of them.

An item sets the bit of its level in one of k bitmaps. The lowest bits not set, on average over the
bitmaps, grow with the logarithm of the number of items. One hash an item, eight bytes a bitmap.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.synopses.distinct.bitmaps import PHI, as_table, lowest_unset, set_levels
from streamgauge.synopses.distinct.registers import Registers
from streamgauge.synopses.synopsis import Floats, Ints


class Pcsa(Registers):
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
    >>> from streamgauge.synopses.questions import Distinct
    >>> counter = Pcsa(k=256, seed=7)
    >>> counter.update(["a", "b", "a", None])
    >>> print(counter.query(Distinct()))
    2 in [2, 2] at 95% confidence, pcsa

    References
    ----------
    FM85: docs/references.md
    """

    name = "pcsa"
    law = "pcsa"
    cite = "FM85 thm 4"
    powers = range(4, 18)
    fields = ("bitmaps",)
    joined_by = np.bitwise_or

    def __init__(self, k: int, delta: float = 0.05, *, seed: int = 0) -> None:
        super().__init__(k, delta, seed=seed)
        self.bitmaps: npt.NDArray[np.uint64] = np.zeros(k, np.uint64)

    @property
    def raw(self) -> int:
        """The estimate as first published, without the correction for few items."""
        mean = float(lowest_unset(as_table(self.bitmaps)).mean())
        return math.floor(self.k / PHI * math.pow(2.0, mean))

    def _scores(self) -> tuple[int, float]:
        total = lowest_unset(as_table(self.bitmaps)).sum()
        return int(np.count_nonzero(self.bitmaps)), float(total)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        set_levels(self.bitmaps, column, self.k.bit_length() - 1)

    def validate(self) -> None:
        """No more bits than rows."""
        assert int(np.bitwise_count(self.bitmaps).sum(dtype=np.int64)) <= self.rows
