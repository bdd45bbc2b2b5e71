"""HyperLogLog: distinct items from the longest run of zero bits in each of many registers.

One byte per register, filled by the rule of Apache DataSketches, so that a sketch can be handed to
Spark's `hll_sketch_agg` functions and back. Few items are held by their hashes and counted exactly,
more are counted by the registers in use, still more by the harmonic sum of the registers. Parts
merge by the larger register: the same bytes as one pass, in any order and however often.
"""

from __future__ import annotations

import struct
from typing import Any, Self

import datasketches
import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import IncompatibleSynopsis, StateTooOld
from streamgauge.kernel.keys import DATASKETCHES_SEED
from streamgauge.synopses.distinct.coupons import (
    Hashes,
    Registers,
    fold,
    registers_of,
    slots_of,
    unite,
)
from streamgauge.synopses.distinct.hll_bank import HllBank, hll_bars
from streamgauge.synopses.distinct.register_law import widest_bar
from streamgauge.synopses.distinct.sampling_law import RANDOM_HASHES
from streamgauge.synopses.distinct.sizing import check_share, check_size, smallest
from streamgauge.synopses.questions import Distinct
from streamgauge.synopses.synopsis import (
    Arrays,
    Coarsening,
    Floats,
    Ints,
    Need,
    Synopsis,
    Trial,
    Values,
)

_HEADER = struct.Struct("<8B3d2I")
_OUT_OF_ORDER = 16
_HLL_8_MODE = 10


class Hll(Synopsis, Coarsening):
    """Distinct items within about `1.04 / sqrt(2 ** lg_k)` (one deviation) of their number.

    Parameters
    ----------
    lg_k
        Base-2 logarithm of the registers (one byte each), 4 to 21; two more halve the error.
    delta
        Chance that a bar fails.
    seed
        Chooses the hash; 9001 is that of Apache DataSketches and Spark.

    Examples
    --------
    >>> sketch = Hll(lg_k=12)
    >>> sketch.update(["a", "b", "a", None])
    >>> print(sketch.query(Distinct()))
    2 in [2, 2] at 95% confidence, hll
    >>> Hll.from_datasketches(sketch.to_datasketches()).query(Distinct()).high
    2.0

    References
    ----------
    FFGM07, DS: docs/references.md
    """

    name = "hll"
    wire = 2
    answers = (Distinct,)
    takes = "items"
    bank_kind = HllBank
    small = (6,)

    def __init__(
        self, lg_k: int = 12, delta: float = 0.05, *, seed: int = DATASKETCHES_SEED
    ) -> None:
        check_size("hll", "lg_k", lg_k, 4, 21)
        check_share("hll", delta)
        super().__init__(seed=seed)
        self.lg_k = lg_k
        self.delta = delta
        self.registers: Registers = np.zeros(1 << lg_k, np.uint8)
        self.few: Hashes = np.zeros((1, slots_of(1 << lg_k)), np.uint64)
        self.held: Ints = np.zeros(1, np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of its state once it holds too many items to keep each."""
        return self.registers.nbytes

    @property
    def guarantee(self) -> Guarantee:
        """Half-width of the widest bar, as a share of the count."""
        reach = widest_bar("hll", 1 << self.lg_k, self.delta)
        return Guarantee("relative", reach, self.delta, RANDOM_HASHES, "FFGM07 thm 1")

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = DATASKETCHES_SEED) -> Self:
        """The fewest registers whose widest bar is within the contract."""
        sizes = range(4, 22)
        return smallest(need, cls.name, sizes, lambda lg, delta: cls(lg, delta, seed=seed))

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Thirty different items a register: where the harmonic sum has its full spread."""
        return Trial(np.arange(1920, dtype=np.int64) + 4096 * seed, Distinct())

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        held = self.held if self.held[0] >= 0 else self.held[:0]
        fold(self.registers[None, :], column, self.seed, few=self.few, held=held)

    def _merge(self, other: Self) -> None:
        np.maximum(self.registers, other.registers, out=self.registers)
        unite(self.few, self.held, other.few, other.held)

    def _answer(self, question: Any) -> Any:
        found = hll_bars(self.registers[None, :], self.held, self.delta)
        return self._bar(
            float(found.value[0]), float(found.low[0]), float(found.high[0]), self.delta
        )

    def filled(self, registers: Registers, coupons: Hashes, held: int, rows: int) -> Self:
        """One like this with such registers, and the coupons of its items where it holds few."""
        new = self.empty()
        new.registers, new.rows, new.mass = registers, rows, float(rows)
        if held < 0:
            new.held[:] = -1
        else:
            unite(new.few, new.held, coupons[None, :], np.array([len(coupons)]))
        return new

    def coarsened(self) -> Self:
        """The same rows in half the registers."""
        new = type(self)(self.lg_k - 1, self.delta, seed=self.seed)
        half = 1 << new.lg_k
        new.registers = np.maximum(self.registers[:half], self.registers[half:])
        new.rows, new.mass, new.skipped = self.rows, self.mass, self.skipped
        unite(new.few, new.held, self.few, self.held)
        return new

    def to_datasketches(self) -> bytes:
        """Bytes of a DataSketches HLL_8 sketch, for `hll_union` and Spark."""
        self._check_seed()
        zeros = int((self.registers == 0).sum())
        harmonic = float(np.ldexp(1.0, -self.registers.astype(np.int32)).sum())
        # kxq is kept in two parts there; one part may hold it all. An out-of-order sketch takes
        # its estimate from the registers alone, as ours does.
        head = _HEADER.pack(
            10, 1, 7, self.lg_k, 0, _OUT_OF_ORDER, 0, _HLL_8_MODE, 0.0, harmonic, 0.0, zeros, 0
        )
        return head + self.registers.tobytes()

    @classmethod
    def from_datasketches(cls, data: bytes, *, delta: float = 0.05) -> Self:
        """Read a DataSketches HLL sketch of any form: list, set, HLL_4, HLL_6 or HLL_8."""
        try:
            sketch = datasketches.hll_sketch.deserialize(data)
        except (ValueError, RuntimeError) as error:
            raise StateTooOld(
                "not the bytes of a DataSketches HLL sketch",
                f"{len(data)} bytes: {error}",
                "give what hll_sketch_agg or serialize_compact wrote",
            ) from error
        new = cls(sketch.lg_config_k, delta)
        union = datasketches.hll_union(sketch.lg_config_k)
        union.update(sketch)
        plain = union.get_result(datasketches.tgt_hll_type.HLL_8).serialize_compact()
        ints = plain[0]
        if ints == _HEADER.size // 4:
            new.registers = np.frombuffer(plain, np.uint8, offset=_HEADER.size).copy()
        elif not sketch.is_empty():
            coupons = np.frombuffer(plain, np.uint32, offset=4 * ints)
            places = coupons & np.uint32((1 << new.lg_k) - 1)
            np.maximum.at(new.registers, places, (coupons >> np.uint32(26)).astype(np.uint8))
        new.held[:] = 0 if sketch.is_empty() else -1
        # How many rows were summarised is not written there; at least so many there were.
        new.rows = int((new.registers > 0).sum())
        new.mass = float(new.rows)
        return new

    def _check_seed(self) -> None:
        if self.seed != DATASKETCHES_SEED:
            raise IncompatibleSynopsis(
                "DataSketches hashes with one seed",
                f"this hll has seed {self.seed}, theirs is {DATASKETCHES_SEED}",
                "build it with seed=9001",
            )

    def _save(self) -> tuple[Values, Arrays]:
        if self.held[0] < 0:
            return {}, {"registers": self.registers}
        return {}, {"few": np.sort(self.few[self.few > 0])}

    def _load(self, values: Values, arrays: Arrays) -> None:
        if "few" in arrays:
            coupons = arrays["few"]
            self.registers = registers_of(coupons, 1 << self.lg_k)
            unite(self.few, self.held, coupons[None, :], np.array([len(coupons)]))
        else:
            # The bytes of earlier releases are registers, however few items there are.
            self.registers = arrays["registers"]
            self.held[:] = -1 if self.rows else 0

    def validate(self) -> None:
        """No level above the longest run, and no rows without a register."""
        assert self.registers.max() <= 63
        assert bool(self.rows) == bool(self.registers.any())
        held = int(self.held[0])
        assert held < 0 or held == np.count_nonzero(self.few)
