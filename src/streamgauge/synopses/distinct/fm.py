"""FM: Flajolet and Martin's first counter, k hashes of every item.

Every hash has a bitmap in which an item sets the bit of its level; the lowest unset bits, averaged
over the hashes, give the count. PCSA is as exact for one hash an item; this one is kept for its
messages: bitmaps alike in most bits pack into a few bytes for sites that send them on.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.distinct.bitmaps import PHI, as_table, lowest_unset
from streamgauge.synopses.distinct.bits import trailing_zeros
from streamgauge.synopses.distinct.registers import Registers
from streamgauge.synopses.distinct.sizing import check_size
from streamgauge.synopses.questions import Distinct
from streamgauge.synopses.synopsis import Floats, Ints, Trial

Words = npt.NDArray[np.uint64]


class Fm(Registers):
    """Distinct items within about `0.78 / sqrt(k)` (one deviation), for k hashes an item.

    Parameters
    ----------
    k
        Hashes, each with a bitmap of its own.
    delta
        Chance that a bar fails.
    seed
        Chooses the hashes; parts to be merged need the same.

    Examples
    --------
    >>> counter = Fm(k=64, seed=7)
    >>> counter.update(["a", "b", "a", None])
    >>> counter.query(Distinct()).high
    2.0
    >>> fringe, ones = counter.compressed()
    >>> Fm.decompressed(fringe, ones, k=64, seed=7).bitmaps.tolist() == counter.bitmaps.tolist()
    True

    References
    ----------
    FM85, CLKB04: docs/references.md
    """

    name = "fm"
    law = "fm"
    cite = "FM85 thm 3"
    powers = range(3, 14)
    fields = ("bitmaps",)
    joined_by = np.bitwise_or
    small = (20,)

    def __init__(self, k: int, delta: float = 0.05, *, seed: int = 0) -> None:
        super().__init__(k, delta, seed=seed)
        self.bitmaps: Words = np.zeros(k, np.uint64)

    def _check_registers(self, k: int) -> None:
        check_size(self.name, "k", k, 1, 1 << 16)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Items that come once."""
        return Trial(np.arange(1000, dtype=np.int64) + 4096 * seed, Distinct())

    @property
    def raw(self) -> int:
        """The estimate as first published, without the correction for few items."""
        return count_from_places(lowest_unset(as_table(self.bitmaps)))

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        _set_each(self.bitmaps, column)

    def _scores(self) -> tuple[int, float]:
        table = as_table(self.bitmaps)
        return self.k if table.any() else 0, float(lowest_unset(table).sum())

    def _answer(self, question: Any) -> Any:
        table = as_table(self.bitmaps)
        value, low, high = self._span(*self._scores())
        # An item sets one bit in each bitmap, so there are at least as many as bits in any.
        low = max(low, float(table.sum(axis=1).max()))
        return self._bar(max(value, low), low, max(high, low), self.delta)

    def compressed(self) -> tuple[str, int]:
        """The bitmaps in few bits: the uneven middle, and how many ones follow it."""
        return compressed([f"{int(word):064b}" for word in self.bitmaps])

    @classmethod
    def decompressed(
        cls, fringe: str, ones: int, *, k: int, delta: float = 0.05, seed: int = 0
    ) -> Self:
        """Read what `compressed` wrote; how many rows there were is not in it."""
        new = cls(k, delta, seed=seed)
        words = decompressed(fringe, ones, k, 64)
        new.bitmaps = np.array([int(word, 2) for word in words], np.uint64)
        new.rows = int(np.bitwise_count(new.bitmaps).max())
        new.mass = float(new.rows)
        return new

    def validate(self) -> None:
        """No bitmap has more bits than rows, and all are empty or none is."""
        assert int(np.bitwise_count(self.bitmaps).max()) <= self.rows
        assert bool(self.bitmaps.all()) == bool(self.bitmaps.any())


def count_from_places(places: Ints) -> int:
    """Count from the lowest unset bit of each bitmap.

    >>> count_from_places(np.array([2, 3, 2]))
    6
    """
    return math.floor(math.pow(2.0, float(np.mean(places))) / PHI)


def compressed(words: list[str]) -> tuple[str, int]:
    """Interleave words of bits from the highest on; leave out leading zeros and closing ones.

    >>> words = ["00001111", "00001011", "00000111", "00010111", "00011111", "00001111"]
    >>> compressed(words)
    ('11011001110', 16)
    >>> decompressed("11011001110", 16, 6, 8) == words
    True
    """
    mixed = "".join("".join(column) for column in zip(*words, strict=True)).lstrip("0")
    fringe = mixed.rstrip("1")
    return fringe, len(mixed) - len(fringe)


def decompressed(fringe: str, ones: int, k: int, bits: int) -> list[str]:
    """Words that were interleaved, given how many of how many bits."""
    mixed = (fringe + "1" * ones).rjust(k * bits, "0")
    return [mixed[word::k] for word in range(k)]


@compiled
def _set_each(bitmaps, column):  # type: ignore[no-untyped-def]
    for j in range(len(bitmaps)):
        salt = mix64(np.uint64(j))
        found = bitmaps[j]
        for key in column:
            level = min(trailing_zeros(mix64(key ^ salt)), 63)
            found |= np.uint64(1) << np.uint64(level)
        bitmaps[j] = found
