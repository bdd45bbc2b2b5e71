"""LogLog: the largest level of each register, read by its average.

A register needs loglog n bits, here one byte. HyperLogLog reads the same registers better; this is
the form to compare it with.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.synopses.distinct.bitmaps import raise_levels
from streamgauge.synopses.distinct.register_law import register_law, widest_bar
from streamgauge.synopses.distinct.sampling_law import RANDOM_HASHES
from streamgauge.synopses.distinct.sizing import check_power, check_share, smallest
from streamgauge.synopses.questions import Distinct
from streamgauge.synopses.synopsis import Floats, Ints, Need, Synopsis, Trial


class Loglog(Synopsis):
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
    >>> counter = Loglog(k=256, seed=7)
    >>> counter.update(["a", "b", "a", None])
    >>> print(counter.query(Distinct()))
    2 in [2, 2] at 95% confidence, loglog

    References
    ----------
    DF03: docs/references.md
    """

    name = "loglog"
    answers = (Distinct,)
    takes = "keys"
    cite: ClassVar[str] = "DF03 thm 1"
    fields = ("registers",)
    joined_by = np.maximum

    def __init__(self, k: int, delta: float = 0.05, *, seed: int = 0) -> None:
        check_power(self.name, k)
        check_share(self.name, delta)
        super().__init__(seed=seed)
        self.k = k
        self.delta = delta
        self.registers: npt.NDArray[np.uint8] = np.zeros(k, np.uint8)

    @property
    def guarantee(self) -> Guarantee:
        """Half-width of the widest bar, as a share of the count."""
        reach = widest_bar(self.name, self.k, self.delta)
        return Guarantee("relative", reach, self.delta, RANDOM_HASHES, self.cite)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The fewest registers whose widest bar is within the contract."""
        sizes = [1 << lg for lg in range(4, 19)]
        return smallest(need, cls.name, sizes, lambda k, delta: cls(k, delta, seed=seed))

    @classmethod
    def specimen(cls, seed: int) -> Self:
        """Sixty-four registers."""
        return cls(64, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Thirty different items a register."""
        return Trial(np.arange(1920, dtype=np.int64) + 4096 * seed, Distinct())

    @property
    def raw(self) -> int:
        """The estimate as first published, without the correction for few items."""
        mean = float(self.registers.mean()) - 1.0
        return math.floor((0.79402 * self.k - 0.84249) * math.pow(2.0, mean))

    def _total(self) -> float:
        return float(self.registers.sum(dtype=np.int64))

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        raise_levels(self.registers, column, self.k.bit_length() - 1)

    def _answer(self, question: Any) -> Any:
        law = register_law(self.name, self.k, self.delta)
        found = law.bars(np.array([np.count_nonzero(self.registers)]), np.array([self._total()]))
        value, low, high = (float(column[0]) for column in found)
        return self._bar(value, low, high, self.delta)

    def validate(self) -> None:
        """No more registers in use than rows, no level above the bits of a hash."""
        assert np.count_nonzero(self.registers) <= self.rows
        assert self.registers.max() <= 64
