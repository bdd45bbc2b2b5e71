"""Ranked: what synopses of the smallest ranks of a window have in common.

Each hash ranks the items of the window; lists of rows that may still become the smallest hold what
is needed (`dominance.py`).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Values
from streamgauge.synopses.windowed.clock import Clocked
from streamgauge.synopses.windowed.dominance import DominanceLists, distinct_items


class Ranked(Clocked):
    """A synopsis of the rows of smallest rank of the last `window`.

    Parameters
    ----------
    window
        Longest window that can be asked for, in the unit of the times.
    hashes
        Rankings; four times as many halve the error.
    places
        Rows that each ranking keeps of one window.
    delta
        Chance that a bar does not hold.
    seed
        Chooses the rankings.
    """

    takes = "keys"
    weights = "none"
    merging = "exact"

    def __init__(self, window: int, hashes: int, places: int, delta: float, *, seed: int) -> None:
        check_hashes(self.name, hashes, delta)
        super().__init__(window, seed=seed)
        self.hashes = hashes
        self.delta = delta
        self.lists = DominanceLists(window, hashes, places, seed)

    @property
    def guarantee(self) -> Guarantee:
        """Relative error of the number of items; the bar of a share comes with the answer."""
        law = distinct_law(self.hashes, self.delta)
        return Guarantee(
            "relative", law, self.delta, assumes=("hashes act as random",), cite="DM02"
        )

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        instants = self._instants(times, len(column))
        self.lists.add(column, instants)
        self.now = int(instants[-1])

    def _expire(self, edge: int) -> None:
        self.lists.expire(edge)

    def _merge(self, other: Self) -> None:
        self.lists.merge(other.lists)
        self._join_clock(other)

    def _save(self) -> tuple[Values, Arrays]:
        return {"now": self.now}, self.lists.saved()

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.now = values["now"]
        self.lists.load(arrays)

    @property
    def nbytes(self) -> int:
        """Bytes of the lists."""
        return self.lists.nbytes

    def validate(self) -> None:
        """Ranks and times rise along each list."""
        self.lists.validate()


def check_hashes(name: str, hashes: int, delta: float) -> None:
    """Refuse too few rankings or a chance that is none."""
    if hashes < 2 or not 0.0 < delta < 1.0:
        raise BindError(
            f"{name} needs two rankings or more and a chance of failure in (0, 1)",
            f"got hashes={hashes}, delta={delta}",
            "write hashes=256, delta=0.05",
        )


def distinct_law(hashes: int, delta: float) -> float:
    """Relative half-width of the bar around a number of items."""
    bar = distinct_items(np.full(hashes, 1 << 54, np.uint64), delta)
    return max(bar.high / bar.value - 1.0, 1.0 - bar.low / bar.value)


def hashes_for(name: str, contract: Any) -> tuple[int, float]:
    """Rankings, and the chance of failure, for a contract on a number of items."""
    delta = 1.0 - contract.confidence
    if delta <= 0.0 or distinct_law(1 << 20, delta) > contract.within:
        raise ContractUnsatisfiable(
            f"{name} owes a share of the number of items at a confidence below 100%",
            f"asked for {contract}",
            "write Contract.relative(0.05, confidence=0.95)",
        )
    low, high = 2, 1 << 20
    while low < high:
        middle = (low + high) // 2
        if distinct_law(middle, delta) <= contract.within:
            high = middle
        else:
            low = middle + 1
    return low, delta
