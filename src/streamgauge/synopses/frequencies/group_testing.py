"""Group testing: which items are hot, when rows are also taken back.

Items are thrown into buckets by several hashes. A bucket counts its weight, and for each bit of the
items the weight of those that have the bit set. Where one item outweighs a bucket's others, the
bits spell it. Counters add and subtract, so an item that becomes hot because others went is found
although it was never heavy when it came.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import pyarrow as pa

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.hashing import family, polynomial
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import Items, items
from streamgauge.synopses.frequencies.listed import check_memory, share_owed
from streamgauge.synopses.frequencies.slots import NO_WEIGHTS, Words
from streamgauge.synopses.questions import Count, Frequency, Heavy, HeavyHitters
from streamgauge.synopses.synopsis import (
    Enumerable,
    Floats,
    Ints,
    Need,
    Subtractable,
    Synopsis,
    Trial,
)


class GroupTesting(Synopsis, Subtractable, Enumerable):
    """Items above `1 / k` of the weight, named under insertions and deletions.

    Parameters
    ----------
    k
        Items of a share above 1/k are found.
    epsilon
        An item that is told holds at least (1 - epsilon)/k but for the chance `delta`.
    delta
        Chance that a hot item is missed or a bar does not hold.
    bits
        Items are whole numbers from 0 to 2 to this power.
    seed
        Chooses the hashes; parts to be merged need the same.

    Examples
    --------
    >>> hot = GroupTesting(k=4, epsilon=0.5, delta=0.05, bits=16)
    >>> hot.update([7] * 5 + [9] * 50)
    >>> hot.update([9] * 49, [-1.0] * 49)
    >>> [found.item for found in hot.query(HeavyHitters(0.5))]
    [7]

    References
    ----------
    CM05b: docs/reference/synopses/frequencies.md
    """

    name = "group_testing"
    answers = (Frequency, HeavyHitters, Count)
    takes = "items"
    weights = "strict"
    merging = "exact"
    fields = ("counters",)
    joined_by = np.add
    small = (5, 0.5, 0.05, 20)

    def __init__(
        self, k: int, epsilon: float, delta: float, bits: int = 32, *, seed: int = 0
    ) -> None:
        super().__init__(seed=seed)
        if k < 1 or not 0.0 < epsilon <= 1.0 or not 0.0 < delta < 1.0 or not 1 <= bits <= 64:
            raise BindError(
                "group_testing needs k >= 1, epsilon and delta in (0, 1), and 1 to 64 bits",
                f"k={k}, epsilon={epsilon}, delta={delta}, bits={bits}",
                "write GroupTesting(50, 0.5, 0.05, 32)",
            )
        self.k, self.epsilon, self.delta, self.bits = k, epsilon, delta, bits
        self.buckets = math.ceil(2.0 * k / epsilon - 1e-9)
        self.tests = max(2, math.ceil(math.log2(k / delta)))
        while k * (epsilon / 2.0) ** self.tests > delta / 2.0:  # a hot item hidden in every test
            self.tests += 1
        self.counters = np.zeros((self.tests, self.buckets, 1 + bits))
        self.hashes = family(seed, self.tests, 2)

    @property
    def guarantee(self) -> Guarantee:
        """Too high by more than `epsilon` of the weight with chance `delta` at most."""
        return Guarantee(
            "additive",
            self.epsilon / self.k,
            self.delta,
            assumes=("no item has negative weight", "seed independent of the data"),
            cite="CM05b",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """One item in k for the share asked for, with half of it to spare for the tolerance."""
        within = share_owed(need, cls.name, deletions=True)
        delta = 1.0 - need.contract.confidence
        if delta <= 0.0:
            raise ContractUnsatisfiable(
                "group_testing may fail",
                f"asked for {need.contract}",
                "ask for a confidence below 100%",
            )
        share = need.question.share if isinstance(need.question, HeavyHitters) else within
        k = math.ceil(1.0 / share)
        bits = 32 if need.universe is None else max(1, int(need.universe[1]).bit_length())
        tests = max(2.0, math.log2(k / delta))
        need.afford(cls.name, 8.0 * (bits + 1) * tests * 2.0 * k / min(0.5, within * k))
        sized = cls(k, min(0.5, within * k), delta, bits, seed=seed)
        check_memory(sized, need)
        return sized

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """As many equal items as the error allows, and a question about an absent one."""
        heavy = np.repeat(np.arange(9, dtype=np.int64) * 7919 + seed % 1000, 50)
        return Trial(heavy, Frequency(7))

    def candidates(self) -> list[int]:
        """Items above 1/k of the weight."""
        return [found.item for found in self._heavy(1.0 / self.k)]

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        _fold(self.counters, self.hashes, column, NO_WEIGHTS if weights is None else weights)

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            return self._bar(self.mass, self.mass, self.mass, 0.0)
        if isinstance(question, HeavyHitters):
            return self._heavy(question.share)
        word = self._words(items([question.item]))[0]
        high = float(_weigh(self.counters, self.hashes, word))
        low = max(0.0, high - self.epsilon * self.mass / self.k)
        return self._bar(high, low, high, 0.5**self.tests)

    def _heavy(self, share: float) -> tuple[Heavy, ...]:
        if share * self.k < 1.0 - 1e-12:
            raise ContractUnsatisfiable(
                f"group_testing finds shares from 1/{self.k}",
                f"asked for {share:g}",
                f"ask for {1.0 / self.k:.3g} or more, or build it with a larger k",
            )
        if not self.mass > 0.0:
            return ()
        threshold = share * self.mass * (1.0 - 1e-12)
        room = np.empty(self.tests * self.buckets, np.uint64)
        found = np.unique(room[: _decode(self.counters, self.hashes, threshold, room)])
        heavy = [(int(word), float(_weigh(self.counters, self.hashes, word))) for word in found]
        heavy.sort(key=lambda pair: (-pair[1], pair[0]))
        width = self._list_width()
        return tuple(
            Heavy(item, self._bar(high, max(0.0, high - width), high))
            for item, high in heavy
            if high >= threshold
        )

    def _list_width(self) -> float:
        """How far any told item may be too high.

        What one test spells does not depend on the other tests, each of which is off by more than
        w with chance mass / (buckets * w); at most k items are spelled in each test.
        """
        union = 2.0 * self.tests * self.k / self.delta
        return float(self.mass / self.buckets * union ** (1.0 / (self.tests - 1)))

    def _ready(self, given: Items) -> Words:
        return self._words(given) if len(given) else np.empty(0, np.uint64)

    def _words(self, given: Items) -> Words:
        values = given.values
        if pa.types.is_floating(values.type):
            values = _whole(values)
        if not pa.types.is_integer(values.type):
            raise BindError(
                "group_testing names whole numbers",
                f"the column has type {values.type}",
                "number the items first, or use space_saving",
            )
        least, most = int(values.to_numpy().min()), int(values.to_numpy().max())
        if least < 0 or most >> self.bits:
            raise BindError(
                f"group_testing was built for items of {self.bits} bits",
                f"items from {least} to {most}",
                "give a larger `bits`, at most 64",
            )
        return np.asarray(values.to_numpy(), np.uint64)

    def validate(self) -> None:
        """Every test holds the whole weight; no bit outweighs its bucket."""
        totals = self.counters[:, :, 0]
        assert np.allclose(totals.sum(axis=1), self.mass)
        assert (self.counters <= totals[:, :, None] + 1e-6).all()


def _whole(values: pa.Array) -> pa.Array:
    try:
        return values.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise BindError(
            "group_testing names whole numbers",
            str(error).splitlines()[0],
            "round the column, or use space_saving",
        ) from error


@compiled
def _fold(counters, hashes, words, weights):  # type: ignore[no-untyped-def]
    tests, buckets, wide = counters.shape
    for i in range(len(words)):
        weight = weights[i] if len(weights) else 1.0
        for test in range(tests):
            bucket = counters[test, polynomial(words[i], hashes[test]) % np.uint64(buckets)]
            bucket[0] += weight
            rest = words[i]
            for bit in range(1, wide):
                bucket[bit] += weight * (rest & np.uint64(1))
                rest >>= np.uint64(1)


@compiled
def _weigh(counters, hashes, word):  # type: ignore[no-untyped-def]
    tests, buckets, _ = counters.shape
    least = np.inf
    for test in range(tests):
        least = min(least, counters[test, polynomial(word, hashes[test]) % np.uint64(buckets), 0])
    return least


@compiled
def _decode(counters, hashes, threshold, out):  # type: ignore[no-untyped-def]
    tests, buckets, wide = counters.shape
    n = 0
    for test in range(tests):
        for place in range(buckets):
            bucket = counters[test, place]
            if bucket[0] < threshold:
                continue
            word = np.uint64(0)
            clear = True
            for bit in range(1, wide):
                there = bucket[bit] >= threshold
                clear = clear and there != (bucket[0] - bucket[bit] >= threshold)
                if there:
                    word |= np.uint64(1) << np.uint64(bit - 1)
            if clear and polynomial(word, hashes[test]) % np.uint64(buckets) == np.uint64(place):
                out[n] = word
                n += 1
    return n
