"""EhCountMin: how often any item occurs in a sliding window.

Count-Min with an exponential histogram in the place of each counter. A cell is never too low by
more than its own bar, and too high by other items as in Count-Min.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.hashing import family, polynomial
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import items, keys
from streamgauge.synopses.questions import Count, Frequency
from streamgauge.synopses.synopsis import Floats, Ints, Need, Trial
from streamgauge.synopses.windowed.cells import CellsLane
from streamgauge.synopses.windowed.clock import Laned, check_epsilon, window_of


class EhCountMin(Laned[CellsLane]):
    """Frequencies of items in the last `window`, or in any part of it.

    Parameters
    ----------
    window
        Longest window that can be asked for, in the unit of the times.
    epsilon
        Relative error of each counter.
    width
        Counters in a row; twice as many halve the part of the error that other items cause.
    depth
        Rows; one more divides the chance of failure by e.
    seed
        Chooses the hashes; parts to be merged need the same.

    Examples
    --------
    >>> sketch = EhCountMin(window=100, epsilon=0.1, width=272, depth=3, seed=7)
    >>> sketch.update(["a", "b", "a", "a"], times=[1, 2, 90, 150])
    >>> print(sketch.query(Frequency("a")))
    2 in [1.98001, 2] at 95.0213% confidence, eh_count_min

    References
    ----------
    PGD12, CM05: docs/reference/synopses/windowed.md
    """

    name = "eh_count_min"
    answers = (Frequency, Count)
    takes = "keys"
    weights = "none"
    small = (500, 0.1, 100, 3)

    def __init__(
        self, window: int, epsilon: float, width: int, depth: int, *, seed: int = 0
    ) -> None:
        check_epsilon(self.name, epsilon)
        if width < 1 or depth < 1:
            raise BindError(
                "eh_count_min needs counters",
                f"got {depth} rows of {width}",
                "write width=272, depth=3",
            )
        super().__init__(window, seed=seed)
        self.epsilon = epsilon
        self.width = width
        self.depth = depth
        self._hashes = family(seed, depth, 2)

    @property
    def guarantee(self) -> Guarantee:
        """Off by more than `epsilon` of the rows of the window with chance `delta`."""
        others = math.e / self.width * (1.0 + self.epsilon) / (1.0 - min(self.epsilon, 0.5))
        return Guarantee(
            "additive",
            2.0 * self.epsilon + others,
            math.exp(-self.depth),
            assumes=("seed independent of the data",),
            cite="PGD12",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Half of the tolerance for the counters, half for the other items."""
        window, contract = window_of(cls.name, need), need.contract
        if contract.tolerance != "rank" or contract.confidence == 1.0:
            raise ContractUnsatisfiable(
                "eh_count_min owes a share of the rows of the window at a confidence below 100%",
                f"asked for {contract}",
                "write Contract.rank(0.01, confidence=0.99)",
            )
        depth = max(1, math.ceil(math.log(1.0 / (1.0 - contract.confidence))))
        epsilon = min(contract.within / 4.0, 0.25)
        width = math.ceil(math.e / (contract.within / 2.0) * (1.0 + epsilon) / (1.0 - epsilon))
        return cls(window, epsilon, width, depth, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """As many equal heavy items as the error allows, and a question about an absent one."""
        heavy = np.tile(np.arange(37, dtype=np.int64) + 1000 * seed, 20)
        times = np.arange(len(heavy), dtype=np.int64)
        return Trial(heavy, Frequency(-1), times=times, now=len(heavy) + 100)

    def _lane(self) -> CellsLane:
        return CellsLane(self.window, self.epsilon)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        instants = self._instants(times, len(column))
        lane = self._first_lane()
        cells = np.empty(len(column), np.int64)
        for row in range(self.depth):
            _cells(column, self._hashes[row], row, self.width, cells)
            lane.add(cells, instants)
        # One more counter, of all rows.
        lane.add(np.full(len(column), -1, np.int64), instants)
        self.now = int(instants[-1])

    def _within(self, question: Any, window: int) -> Any:
        if self.now is None:
            return self._bar(0.0, 0.0, 0.0)
        edge = self.now - window
        rows = self._added([lane.value(-1, edge) for lane in self.lanes])
        if isinstance(question, Count):
            return self._bar(rows.value, rows.low, rows.high, 0.0)
        key, cell = keys(items([question.item]), seed=self.seed), np.empty(1, np.int64)
        found = []
        for row in range(self.depth):
            _cells(key, self._hashes[row], row, self.width, cell)
            found.append(self._added([lane.value(int(cell[0]), edge) for lane in self.lanes]))
        high = min(bar.high for bar in found)
        low = min(bar.low for bar in found) - math.e / self.width * rows.high
        value = min(bar.value for bar in found)
        return self._bar(min(value, high), max(0.0, min(low, value)), high)


@compiled
def _cells(column, hashes, row, width, out):  # type: ignore[no-untyped-def]
    for i in range(len(column)):
        out[i] = row * width + np.int64(polynomial(column[i], hashes) % np.uint64(width))
