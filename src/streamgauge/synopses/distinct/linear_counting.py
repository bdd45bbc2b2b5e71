"""Linear counting: a bitmap, one bit an item, and the share of bits still unset.

The most exact of the small counters while the number of items is a few times the bits or less;
beyond that it fills up, says so, and only a lower bound is left.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.distinct.occupancy_law import items_between, linear_count
from streamgauge.synopses.distinct.sampling_law import RANDOM_HASHES
from streamgauge.synopses.distinct.sizing import check_share, check_size, smallest
from streamgauge.synopses.questions import Distinct
from streamgauge.synopses.synopsis import Floats, Ints, Need, Synopsis, Trial


class LinearCounting(Synopsis):
    """Distinct items from the bits of a bitmap that no item has hit.

    Parameters
    ----------
    bits
        Size of the bitmap; choose about the largest count expected, or more.
    delta
        Chance that a bar fails.
    seed
        Chooses the hash; parts to be merged need the same.

    Examples
    --------
    >>> counter = LinearCounting(bits=1024, seed=7)
    >>> counter.update(["a", "b", "a", None])
    >>> print(counter.query(Distinct()))
    2 in [2, 2] at 95% confidence, linear_counting

    References
    ----------
    WVT90: docs/references.md
    """

    name = "linear_counting"
    answers = (Distinct,)
    takes = "keys"
    fields = ("bitmap",)
    joined_by = np.bitwise_or
    small = (1024,)

    def __init__(self, bits: int, delta: float = 0.05, *, seed: int = 0) -> None:
        check_size("linear_counting", "bits", bits, 8, 1 << 33)
        check_share("linear_counting", delta)
        super().__init__(seed=seed)
        self.bits = bits
        self.delta = delta
        self.bitmap: npt.NDArray[np.uint8] = np.zeros((bits + 7) // 8, np.uint8)

    @property
    def guarantee(self) -> Guarantee:
        """Widest bar up to as many items as bits; afterwards bars widen until it is full."""
        deviation = standard_error(1.0, self.bits)
        few = 1.0 / math.sqrt(self.bits * self.delta)
        tail = math.sqrt(2.0 * math.log(2.0 / self.delta))
        return Guarantee(
            "relative",
            max(tail * deviation, few),
            self.delta,
            (*RANDOM_HASHES, f"at most {self.bits} different items"),
            "WVT90 sec 4",
        )

    @property
    def saturated(self) -> bool:
        """Whether every bit is set: then only a lower bound is known."""
        return self._occupied() == self.bits

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """As many bits as different items there can be, or more for a narrow bar."""
        known = [] if need.rows is None else [need.rows]
        if need.universe is not None:
            known.append(need.universe[1] - need.universe[0] + 1)
        if not known:
            raise ContractUnsatisfiable(
                "linear_counting must know about how many items there can be",
                "neither universe nor rows is given",
                "give Need(rows=...), or use hll",
            )
        first = max(5, math.ceil(math.log2(max(min(known), 1))))
        if first > 30:
            raise ContractUnsatisfiable(
                "linear_counting needs a bit an item",
                f"up to {min(known)} items are expected",
                "use hll",
            )
        sizes = [1 << lg for lg in range(first, 31)]
        return smallest(need, cls.name, sizes, lambda bits, delta: cls(bits, delta, seed=seed))

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Twice as many items as bits, so that most bits are hit more than once."""
        return Trial(np.arange(2048, dtype=np.int64) + 4096 * seed, Distinct())

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        _set_bits(self.bitmap, column, np.uint64(self.bits))

    def _occupied(self) -> int:
        return int(np.bitwise_count(self.bitmap).sum(dtype=np.int64))

    def _answer(self, question: Any) -> Any:
        occupied = self._occupied()
        low, high = items_between(self.bits, occupied, self.delta)
        value = float(linear_count(self.bits, np.array([occupied]))[0])
        if math.isinf(value):
            # Half a bit short of full: the number at which the last bit would just be hit.
            value = math.log(0.5 / self.bits) / math.log1p(-1.0 / self.bits)
        return self._bar(min(max(value, low), high), low, high, self.delta)

    def validate(self) -> None:
        """No more bits than rows."""
        assert self._occupied() <= min(self.rows, self.bits)


def standard_error(load: float, bits: int) -> float:
    """Deviation of the estimate as a share of the count, at `load` items a bit (WVT90).

    >>> round(standard_error(1.0, 10**6), 5), round(standard_error(5.0, 10**6), 5)
    (0.00085, 0.00239)
    """
    return math.sqrt(bits * (math.exp(load) - load - 1.0)) / (load * bits)


@compiled
def _set_bits(bitmap, column, bits):  # type: ignore[no-untyped-def]
    for key in column:
        # Mixed, because keys of some seeds are all even.
        place = mix64(key) % bits
        bitmap[place >> np.uint64(3)] |= np.uint8(1) << np.uint8(place & np.uint64(7))
