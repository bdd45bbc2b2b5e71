"""Registers: what counters of k registers or bitmaps have in common.

A law says how many registers are in use and what their scores add up to for a number of items
(`register_law.py`). A kind says how items fill its registers and reads those two off them.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.synopses.distinct.register_law import register_law, widest_bar
from streamgauge.synopses.distinct.sampling_law import RANDOM_HASHES
from streamgauge.synopses.distinct.sizing import check_power, check_share, smallest
from streamgauge.synopses.questions import Distinct, Question
from streamgauge.synopses.synopsis import Need, Synopsis, Trial


class Registers(Synopsis):
    """Distinct items from the registers that they fill.

    Parameters
    ----------
    k
        Registers, a power of two.
    delta
        Chance that a bar fails.
    seed
        Chooses the hash; parts to be merged need the same.
    """

    answers: ClassVar[tuple[type[Question], ...]] = (Distinct,)
    takes = "keys"
    law: ClassVar[str]
    cite: ClassVar[str]
    assumes: ClassVar[tuple[str, ...]] = RANDOM_HASHES
    # Powers of two that may be chosen for a contract.
    powers: ClassVar[range]
    small: ClassVar[tuple[Any, ...]] = (64,)

    def __init__(self, k: int, delta: float = 0.05, *, seed: int = 0) -> None:
        self._check_registers(k)
        check_share(self.name, delta)
        super().__init__(seed=seed)
        self.k = k
        self.delta = delta

    def _check_registers(self, k: int) -> None:
        check_power(self.name, k)

    @abstractmethod
    def _scores(self) -> tuple[int, float]:
        """How many registers are in use, and what their scores add up to."""

    @property
    def guarantee(self) -> Guarantee:
        """Half-width of the widest bar, as a share of the count."""
        reach = widest_bar(self.law, self.k, self.delta)
        return Guarantee("relative", reach, self.delta, self.assumes, self.cite)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The fewest registers whose widest bar is within the contract."""
        sizes = [1 << power for power in cls.powers]
        return smallest(need, cls.name, sizes, lambda k, delta: cls(k, delta, seed=seed))

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Thirty different items a register."""
        return Trial(np.arange(1920, dtype=np.int64) + 4096 * seed, Distinct())

    def _span(self, occupied: int, total: float) -> tuple[float, float, float]:
        law = register_law(self.law, self.k, self.delta)
        found = law.bars(np.array([occupied]), np.array([total]))
        return float(found.value[0]), float(found.low[0]), float(found.high[0])

    def _answer(self, question: Any) -> Any:
        return self._bar(*self._span(*self._scores()), self.delta)
