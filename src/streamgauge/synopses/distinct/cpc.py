"""CPC: the sketch of Apache DataSketches that needs the fewest bytes for its error.

All coupons (register and level) are kept, compressed. The package takes one item a call; here a
table of the coupons seen lets only items through that bring a new one, so a column costs one
compiled pass and a few calls.
"""

from __future__ import annotations

import math
from typing import Any, Self

import datasketches
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import ContractUnsatisfiable, IncompatibleSynopsis, StateTooOld
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import DATASKETCHES_SEED, items, key_pairs, keys
from streamgauge.synopses.distinct.bits import leading_zeros
from streamgauge.synopses.distinct.kept_values import plain_values
from streamgauge.synopses.distinct.sampling_law import RANDOM_HASHES
from streamgauge.synopses.distinct.sizing import check_size, smallest
from streamgauge.synopses.questions import Distinct
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Synopsis, Trial, Values

_DELTAS = {1: 0.32, 2: 0.05, 3: 0.003}
"""Chance that a bar of so many deviations fails."""


class Cpc(Synopsis):
    """Distinct items within about `0.69 / sqrt(2 ** lg_k)` (one deviation) of their number.

    Parameters
    ----------
    lg_k
        Base-2 logarithm of the registers, 4 to 26.
    deviations
        Deviations a bar reaches to either side, 1 to 3: failing with chance 0.32, 0.05, 0.003.
    seed
        Chooses the hash; 9001 is that of Apache DataSketches.

    Examples
    --------
    >>> sketch = Cpc(lg_k=11)
    >>> sketch.update(["a", "b", "a", None])
    >>> print(sketch.query(Distinct()))
    2 in [2, 2] at 95% confidence, cpc

    References
    ----------
    L17, DS: docs/references.md
    """

    name = "cpc"
    answers = (Distinct,)
    takes = "items"
    small = (6,)

    def __init__(
        self, lg_k: int = 11, deviations: int = 2, *, seed: int = DATASKETCHES_SEED
    ) -> None:
        check_size("cpc", "lg_k", lg_k, 4, 26)
        check_size("cpc", "deviations", deviations, 1, 3)
        super().__init__(seed=seed)
        self.lg_k = lg_k
        self.deviations = deviations
        self._sketch = datasketches.cpc_sketch(lg_k, DATASKETCHES_SEED)
        # Only to spare calls: what is not in it is simply handed on again.
        self._seen: npt.NDArray[np.uint64] = np.zeros(1 << lg_k, np.uint64)

    @property
    def guarantee(self) -> Guarantee:
        """Deviations of the estimate from all coupons, whatever their order."""
        share = self._share()
        chance = _DELTAS[self.deviations]
        return Guarantee("relative", share / (1.0 - share), chance, RANDOM_HASHES, "L17 sec 4")

    def _share(self) -> float:
        """Reach of a bar below the true count; the package's own tables are at or within it."""
        return min(self.deviations * math.log(2.0) / math.sqrt(1 << self.lg_k), 0.9)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = DATASKETCHES_SEED) -> Self:
        """The fewest registers and deviations that hold the contract."""
        delta = 1.0 - need.contract.confidence
        wide = [n for n, chance in _DELTAS.items() if chance <= delta + 1e-9] or [3]
        sized = smallest(
            need, cls.name, range(4, 23), lambda lg, delta: cls(lg, wide[0], seed=seed)
        )
        if sized.guarantee.delta > delta + 1e-9:
            raise ContractUnsatisfiable(
                "cpc bars reach three deviations at most",
                f"asked for {need.contract}",
                "lower the confidence to 99.7%, or use hll",
            )
        return sized

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Thirty different items a register."""
        return Trial(np.arange(1920, dtype=np.int64) + 4096 * seed, Distinct())

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        fed = self._fed(column)
        rows = np.empty(len(fed), np.int64)
        n = _new_coupons(self._seen, *key_pairs(items(fed), seed=DATASKETCHES_SEED), rows)
        for item in fed.take(pa.array(rows[:n])).to_pylist():
            self._sketch.update(item)

    def _fed(self, column: Any) -> pa.Array:
        """What the package is given: the items, or for another seed their hashes under it."""
        values = plain_values(column.values)
        kind = values.type
        if self.seed == DATASKETCHES_SEED:
            if pa.types.is_large_string(kind) or pa.types.is_floating(kind):
                return values
            if pa.types.is_signed_integer(kind):
                # The package would hash negative numbers as floats.
                return pa.array(values.cast(pa.int64()).to_numpy().view(np.uint64))
        # Other types are no items of the package; as hashes they count all the same.
        return pa.array(keys(column, seed=self.seed))

    def _merge(self, other: Self) -> None:
        union = datasketches.cpc_union(self.lg_k, DATASKETCHES_SEED)
        union.update(self._sketch)
        union.update(other._sketch)
        self._sketch = union.get_result()
        self._seen |= other._seen

    def _answer(self, question: Any) -> Any:
        # The union forgets the order of arrival, so that parts answer like the whole.
        union = datasketches.cpc_union(self.lg_k, DATASKETCHES_SEED)
        union.update(self._sketch)
        told = union.get_result()
        if told.is_empty():
            return self._bar(0.0, 0.0, 0.0, 0.0)
        value = float(told.get_estimate())
        low = min(float(told.get_lower_bound(self.deviations)), value)
        # The package rounds its upper bound up; a count is whole, so it can be rounded down.
        high = float(math.floor(value / (1.0 - self._share())))
        return self._bar(min(value, max(high, low)), low, max(high, low))

    @property
    def nbytes(self) -> int:
        """Bytes of the sketch and of the table of coupons seen."""
        return super().nbytes + self._seen.nbytes

    def to_datasketches(self) -> bytes:
        """Bytes of a DataSketches CPC sketch."""
        if self.seed != DATASKETCHES_SEED:
            raise IncompatibleSynopsis(
                "this cpc does not hash as DataSketches does",
                f"it has seed {self.seed}, theirs is {DATASKETCHES_SEED}",
                "build it with seed=9001",
            )
        return bytes(self._sketch.serialize())

    @classmethod
    def from_datasketches(cls, data: bytes, *, deviations: int = 2) -> Self:
        """Read a DataSketches CPC sketch of the usual seed."""
        try:
            sketch = datasketches.cpc_sketch.deserialize(data)
        except (ValueError, RuntimeError, IndexError) as error:
            raise StateTooOld(
                "not the bytes of a DataSketches CPC sketch",
                f"{len(data)} bytes: {error}",
                "give what serialize() wrote",
            ) from error
        new = cls(sketch.lg_k, deviations)
        new._sketch = sketch
        # How many rows were summarised is not written there; at least so many there were.
        new.rows = math.ceil(sketch.get_lower_bound(3))
        new.mass = float(new.rows)
        return new

    def _save(self) -> tuple[Values, Arrays]:
        return {}, {"sketch": np.frombuffer(self._sketch.serialize(), np.uint8)}

    def _load(self, values: Values, arrays: Arrays) -> None:
        self._sketch = datasketches.cpc_sketch.deserialize(arrays["sketch"].tobytes())

    def validate(self) -> None:
        """Empty only without rows."""
        assert self._sketch.is_empty() == (self.rows == 0)


@compiled
def _new_coupons(seen, firsts, seconds, rows):  # type: ignore[no-untyped-def]
    mask = np.uint64(len(seen) - 1)
    n = 0
    for i in range(len(firsts)):
        place = firsts[i] & mask
        bit = np.uint64(1) << np.uint64(min(leading_zeros(seconds[i]), 63))
        if not seen[place] & bit:
            seen[place] |= bit
            rows[n] = i
            n += 1
    return n
