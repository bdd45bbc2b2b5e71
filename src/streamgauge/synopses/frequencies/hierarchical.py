"""Hierarchical heavy hitters: heavy prefixes of numbers, such as networks among addresses.

One Space-Saving for each length of prefix. A prefix is told when what it holds beyond the heavy
prefixes told below it is still a share of the weight. Ranges split into few prefixes, so the same
counters answer how much lies between two numbers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.keys import Items
from streamgauge.synopses.frequencies.listed import Entries, Listed, check_memory, counters_owed
from streamgauge.synopses.frequencies.slots import (
    IN_ORDER,
    NO_WEIGHTS,
    fold,
    merge_tables,
    place,
    slots_for,
)
from streamgauge.synopses.frequencies.vocabulary import Vocabulary, Words
from streamgauge.synopses.questions import Count, Frequency, HeavyHitters, RangeCount, TopK
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Trial, Values


class Prefix(NamedTuple):
    """The first `length` bits of a number, their weight, and what no told prefix below holds."""

    value: int
    length: int
    weight: Estimate
    rest: Estimate


class Hierarchical(Listed):
    """Heavy prefixes, heavy items and range counts of whole numbers, with bars that cannot fail.

    Parameters
    ----------
    bits
        Items are whole numbers from 0 to 2 to this power; 32 for IPv4 addresses.
    capacity
        Counters for each length of prefix.
    step
        Bits by which prefixes grow: 8 gives the networks /8, /16, /24 and the addresses.
    seed
        Not used; parts to be merged need the same.

    Examples
    --------
    >>> tree = Hierarchical(bits=8, capacity=16, step=4)
    >>> tree.update([0x10, 0x11, 0x12, 0x13, 0x20, 0x20])
    >>> [(hex(found.value), found.length) for found in tree.prefixes(0.3)]
    [('0x20', 8), ('0x1', 4)]
    >>> print(tree.query(RangeCount(0x10, 0x1F)))
    4 in [4, 4], hierarchical

    References
    ----------
    MST12, CKMS08: docs/reference/synopses/frequencies.md
    """

    name = "hierarchical"
    answers = (Frequency, HeavyHitters, TopK, RangeCount, Count)
    weights = "positive"
    small = (20, 8, 5)

    def __init__(self, bits: int, capacity: int, step: int = 1, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if not 1 <= bits <= 63 or capacity < 1 or not 1 <= step <= bits:
            raise BindError(
                "hierarchical needs 1 to 63 bits, a counter, and steps within the bits",
                f"bits={bits}, capacity={capacity}, step={step}",
                "write Hierarchical(32, 100, step=8)",
            )
        self.bits, self.capacity, self.step = bits, capacity, step
        self.shifts = list(range(0, bits, step))
        shape = len(self.shifts), slots_for(2 * capacity)
        self.words = np.zeros(shape, np.uint64)
        self.counts = np.zeros(shape)
        self.errors = np.zeros(shape)
        self.floors = np.zeros(len(self.shifts))
        self.held = np.zeros(len(self.shifts), np.int64)
        self.vocabulary = Vocabulary(seed=seed, room=0)

    @property
    def guarantee(self) -> Guarantee:
        """No prefix is off by more than `epsilon` of the weight; it cannot fail."""
        return Guarantee("additive", 1.0 / (self.capacity + 1), 0.0, cite="MST12")

    @property
    def unlisted(self) -> float:
        """The floor of whole items."""
        return float(self.floors[0])

    @property
    def nbytes(self) -> int:
        """Bytes of all tables."""
        return self.words.nbytes + self.counts.nbytes + self.errors.nbytes + self.floors.nbytes

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """One counter for each tolerated share; for a range, shared by the prefixes it takes."""
        bits = 32 if need.universe is None else max(1, int(need.universe[1]).bit_length())
        capacity = counters_owed(need, cls.name)
        if isinstance(need.question, RangeCount):
            capacity *= 2 * bits
        need.afford(cls.name, 24.0 * bits * capacity)
        sized = cls(bits, capacity, seed=seed)
        check_memory(sized, need)
        return sized

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """More items than room, again and again, all under one prefix."""
        rounds = np.tile(np.arange(17, dtype=np.int64) + 32 * (seed % 1000), 30)
        return Trial(rounds, Frequency(32 * (seed % 1000)))

    def prefixes(self, share: float) -> tuple[Prefix, ...]:
        """Prefixes that hold a share of the weight beyond what told prefixes below them hold."""
        threshold = share * self.mass * (1.0 - 1e-12)
        worst = float(self.floors.max())
        if 0.0 < threshold <= worst:
            raise ContractUnsatisfiable(
                f"hierarchical may have dropped a prefix of share {share:g}",
                f"it dropped prefixes of up to {worst / self.mass:.3g} of the weight",
                f"ask for a share above {worst / self.mass:.3g}, or give it more counters",
            )
        told: list[Prefix] = []
        # For each prefix: the least and the most that told prefixes below it hold.
        below: dict[int, tuple[float, float]] = {}
        for level, shift in enumerate(self.shifts):
            entries = self._level(level).sorted()
            bars = zip(*(column.tolist() for column in entries), strict=True)
            here = {word: (low, high) for word, low, high in bars}
            above: dict[int, tuple[float, float]] = {}
            for word in [*here, *(word for word in below if word not in here)]:
                low, high = here.get(word, (0.0, float(self.floors[level])))
                held = below.get(word, (0.0, 0.0))
                low = max(low, held[0])
                if threshold > 0.0 and high - held[0] >= threshold:
                    rest = max(0.0, low - held[1]), high - held[0]
                    told.append(
                        Prefix(
                            word,
                            self.bits - shift,
                            self._bar(low, low, high),
                            self._bar(rest[0], *rest),
                        )
                    )
                    held = low, high
                old = above.get(word >> self.step, (0.0, 0.0))
                above[word >> self.step] = old[0] + held[0], old[1] + held[1]
            below = above
        return tuple(told)

    def _level(self, level: int) -> Entries:
        held = self.counts[level] > 0.0
        high = self.counts[level][held]
        return Entries(self.words[level][held], high - self.errors[level][held], high)

    def _entries(self) -> Entries:
        return self._level(0)

    def _answer(self, question: Any) -> Any:
        if isinstance(question, RangeCount):
            return self._range(question.low, question.high)
        return super()._answer(question)

    def _range(self, low: float, high: float) -> Estimate:
        """Prefixes that tile the range, or those that tile what is outside: the narrower bar."""
        top = (1 << self.bits) - 1
        start = math.ceil(min(max(low, 0.0), float(top + 1)))
        stop = math.floor(max(min(high, float(top)), -1.0))
        if start > stop:
            return self._bar(0.0, 0.0, 0.0, 0.0)
        inside = self._tiled(start, stop)
        left, right = self._tiled(0, start - 1), self._tiled(stop + 1, top)
        least = max(inside[0], self.mass - left[1] - right[1])
        most = min(inside[1], self.mass - left[0] - right[0])
        return self._bar(least, least, max(least, most))

    def _tiled(self, start: int, stop: int) -> tuple[float, float]:
        """The two ends of the weight of a range, from the longest prefixes inwards."""
        least, most = 0.0, 0.0
        base = 1 << self.step
        for level in range(len(self.shifts)):
            if start > stop:
                break
            left, right = stop + 1, stop + 1
            if level < len(self.shifts) - 1:
                left = min(left, -(-start // base) * base)
                right = max(left, (stop + 1) // base * base)
            ends = self._between(level, start, left), self._between(level, right, stop + 1)
            least += ends[0][0] + ends[1][0]
            most += ends[0][1] + ends[1][1]
            start, stop = left // base, right // base - 1
        return least, min(most, self.mass)

    def _between(self, level: int, start: int, stop: int) -> tuple[float, float]:
        """The two ends of the weight of the prefixes from `start` to below `stop`."""
        words, low, high = self._level(level)
        there = (words >= start) & (words < stop)
        absent = max(0, stop - start) - int(there.sum())
        return float(low[there].sum()), float(high[there].sum() + absent * self.floors[level])

    def _ready(self, given: Items) -> Words:
        if not len(given):
            return super()._ready(given)
        if not pa.types.is_integer(given.values.type):
            raise BindError(
                "hierarchical takes whole numbers",
                f"the column has type {given.values.type}",
                "give addresses or codes as whole numbers",
            )
        values = given.values.to_numpy()
        if int(values.min()) < 0 or int(values.max()) >> self.bits:
            raise BindError(
                f"hierarchical was built for items of {self.bits} bits",
                f"items from {int(values.min())} to {int(values.max())}",
                "give a larger `bits`, at most 63",
            )
        return super()._ready(given)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        for level, shift in enumerate(self.shifts):
            self.floors[level], self.held[level] = fold(
                self.words[level],
                self.counts[level],
                self.errors[level],
                self.floors[level],
                self.held[level],
                self.capacity,
                2 * self.capacity,
                column >> np.uint64(shift),
                NO_WEIGHTS if weights is None else weights,
                IN_ORDER,
                0,
                len(column),
            )

    def _merge(self, other: Self) -> None:
        self.vocabulary.join(other.vocabulary)
        for level in range(len(self.shifts)):
            self.floors[level], self.held[level] = merge_tables(
                self.words[level],
                self.counts[level],
                self.errors[level],
                self.floors[level],
                other.words[level],
                other.counts[level],
                other.errors[level],
                other.floors[level],
                self.capacity,
                2 * self.capacity,
            )

    def _save(self) -> tuple[Values, Arrays]:
        levels = [self._level(level).sorted() for level in range(len(self.shifts))]
        arrays: Arrays = {
            "floors": self.floors,
            "held": self.held,
            "words": np.concatenate([level.words for level in levels]),
            "counts": np.concatenate([level.high for level in levels]),
            "errors": np.concatenate([level.high - level.low for level in levels]),
        }
        return {}, {**arrays, **self.vocabulary.save(arrays["words"][:0])}

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.floors, self.held = arrays["floors"], arrays["held"]
        self.vocabulary.load(arrays)
        start = 0
        for level, size in enumerate(self.held.tolist()):
            saved = (arrays[name][start : start + size] for name in ("words", "counts", "errors"))
            place(self.words[level], self.counts[level], self.errors[level], *saved)
            start += size

    def validate(self) -> None:
        """At every length the floor is paid for by weight that came in."""
        for level, floor in enumerate(self.floors.tolist()):
            high = self._level(level).high
            assert len(high) == self.held[level] <= 2 * self.capacity
            paid = (self.capacity + 1) * floor + float((high - floor).sum())
            assert paid <= self.mass * (1.0 + 1e-9)
