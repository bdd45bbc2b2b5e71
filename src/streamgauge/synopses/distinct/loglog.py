"""LogLog: the largest level of each register, read by its average.

A register needs loglog n bits, here one byte. HyperLogLog reads the same registers better; this is
the form to compare it with.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.synopses.distinct.bitmaps import raise_levels
from streamgauge.synopses.distinct.registers import Registers
from streamgauge.synopses.synopsis import Floats, Ints


class Loglog(Registers):
    """Distinct items within about `1.30 / sqrt(k)` (one deviation) of their number.

    Parameters
    ----------
    k
        Registers, a power of two.
    delta
        Chance that a bar fails.
    seed
        Chooses the hash; parts to be merged need the same.

    Examples
    --------
    >>> from streamgauge.synopses.questions import Distinct
    >>> counter = Loglog(k=256, seed=7)
    >>> counter.update(["a", "b", "a", None])
    >>> print(counter.query(Distinct()))
    2 in [2, 2] at 95% confidence, loglog

    References
    ----------
    DF03: docs/references.md
    """

    name = "loglog"
    law = "loglog"
    cite = "DF03 thm 1"
    powers = range(4, 19)
    fields = ("registers",)
    joined_by = np.maximum

    def __init__(self, k: int, delta: float = 0.05, *, seed: int = 0) -> None:
        super().__init__(k, delta, seed=seed)
        self.registers: npt.NDArray[np.uint8] = np.zeros(k, np.uint8)

    @property
    def raw(self) -> int:
        """The estimate as first published, without the correction for few items."""
        mean = float(self.registers.mean()) - 1.0
        return math.floor((0.79402 * self.k - 0.84249) * math.pow(2.0, mean))

    def _total(self) -> float:
        return float(self.registers.sum(dtype=np.int64))

    def _scores(self) -> tuple[int, float]:
        return int(np.count_nonzero(self.registers)), self._total()

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        raise_levels(self.registers, column, self.k.bit_length() - 1)

    def validate(self) -> None:
        """No more registers in use than rows, no level above the bits of a hash."""
        assert np.count_nonzero(self.registers) <= self.rows
        assert self.registers.max() <= 64
