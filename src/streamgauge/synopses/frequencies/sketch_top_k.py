"""Sketch and candidates: top items when the sketch is wanted anyway, or the tail is heavy.

Every row goes into a Count-Min or a Count-Sketch. An item that is no candidate yet becomes one when
the sketch thinks it heavier than the lightest candidate; from then on its rows are counted exactly.
Instead of a heap that loses its minimum for every newcomer there is room for twice the candidates,
and the lighter half goes at once.
"""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
import scipy

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.hashing import family, mix64, polynomial
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.frequencies.count_sketch import NARROWEST, failure, most_rows
from streamgauge.synopses.frequencies.listed import (
    COUNTER_BYTES,
    HASHED_TEXT,
    Counted,
    Entries,
    check_memory,
    share_owed,
)
from streamgauge.synopses.frequencies.slots import NO_WEIGHTS, find, merge_tables, purge
from streamgauge.synopses.frequencies.vocabulary import Vocabulary, Words
from streamgauge.synopses.questions import HeavyHitters, TopK
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Trial, Values

Sketch = Literal["count_min", "count_sketch"]


class SketchTopK(Counted):
    """Top items by a sketch and a list of candidates.

    With Count-Min the bars cannot fail: an estimate is never too low, so what is no candidate
    weighs no more than the floor, and a candidate no less than was counted since it became one.

    Parameters
    ----------
    size
        Candidates that are kept; room is made for twice as many.
    width
        Counters in a row of the sketch.
    depth
        Rows of the sketch; an odd number for a Count-Sketch.
    sketch
        "count_min", or "count_sketch" for data whose top items hold a small share.
    seed
        Chooses the hashes; parts to be merged need the same.

    Examples
    --------
    >>> top = SketchTopK(size=10, width=100, depth=3)
    >>> top.update(["a", "b", "a", "c", "a", "b"])
    >>> [(found.item, found.weight.low, found.weight.high) for found in top.query(TopK(2))]
    [('a', 3.0, 3.0), ('b', 2.0, 2.0)]

    References
    ----------
    CM05, CCF02: docs/reference/synopses/frequencies.md
    """

    name = "sketch_top_k"
    weights = "positive"
    small = (16, 100, 3)

    def __init__(
        self, size: int, width: int, depth: int, sketch: Sketch = "count_min", *, seed: int = 0
    ) -> None:
        super().__init__(seed=seed)
        self.signed = sketch == "count_sketch"
        fits = width >= NARROWEST and depth % 2 == 1 if self.signed else width > 0 and depth > 0
        if size < 1 or not fits or sketch not in ("count_min", "count_sketch"):
            raise BindError(
                "sketch_top_k needs candidates and a sketch",
                f"size={size}, width={width}, depth={depth}, sketch={sketch!r}",
                f"write SketchTopK(100, 2000, 5); a count_sketch is {NARROWEST} wide at least",
            )
        self.size, self.width, self.depth, self.sketch = size, width, depth, sketch
        self.parts = 1
        self._begin(2 * size)
        self.counters = np.zeros((depth, width))
        self.hashes = family(seed, depth, 4 if self.signed else 2)
        self.vocabulary = Vocabulary(seed=seed, room=8 * size)

    @property
    def guarantee(self) -> Guarantee:
        """The law of the sketch; with Count-Min the bars themselves cannot fail."""
        assumes = (HASHED_TEXT, "seed independent of the data")
        if self.signed:
            chance = failure(self.width, self.depth)
            return Guarantee("additive", math.sqrt(32.0 / self.width), chance, assumes, "CCF02")
        chance = math.exp(-self.depth)
        return Guarantee("additive", math.e / self.width, chance, assumes, "CM05 thm 1")

    @property
    def unlisted(self) -> float:
        """The floor, and with a Count-Sketch what its estimates may have missed."""
        return self.floor + self._slack()

    @property
    def nbytes(self) -> int:
        """Bytes of sketch, candidates and kept texts."""
        return super().nbytes + self.counters.nbytes

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """A Count-Min of the contract, and candidates for the question."""
        within = share_owed(need, cls.name)
        if need.contract.confidence == 1.0:
            raise ContractUnsatisfiable(
                "sketch_top_k owes the width of its bars at a confidence below 100%",
                f"asked for {need.contract}",
                "write Contract.rank(0.01, confidence=0.99), or use space_saving",
            )
        size = math.ceil(1.0 / within)
        if isinstance(need.question, HeavyHitters):
            size = max(size, math.ceil(2.0 / need.question.share))
        if isinstance(need.question, TopK):
            size = max(size, 4 * need.question.k)
        depth = max(1, math.ceil(-math.log(1.0 - need.contract.confidence)))
        need.afford(cls.name, 8.0 * depth * math.e / within + COUNTER_BYTES * size)
        sized = cls(size, math.ceil(math.e / within), depth, seed=seed)
        check_memory(sized, need)
        return sized

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Light items that collide, so that estimates are high and candidates come and go."""
        rows = np.tile(np.arange(400, dtype=np.int64) + seed, 3)
        return Trial(rows, TopK(3))

    def _slack(self) -> float:
        """How far every estimate ever made by a Count-Sketch may have been off, all at once."""
        if not self.signed or not self.rows:
            return 0.0
        # Half of the rows of counters are below twice the median of their squares, or low spread
        # was read; what is left of the chance is shared by all estimates, one for each row.
        spread = 2.0 * float(np.median((self.counters**2).sum(axis=1)))
        chance = failure(self.width, self.depth) - most_rows(self.depth, 8.0 / self.width)
        most = self.depth // 2 + 1
        each = float(scipy.stats.beta.ppf(chance / (2 * self.rows), most, self.depth - most + 1))
        # A sum of roots over parts is at most the root of their number times that of the whole.
        return math.sqrt(self.parts * spread / (self.width * each))

    def _entries(self) -> Entries:
        words, low, high = super()._entries()
        read = np.empty(len(words))
        _read(self.counters, self.hashes, self.signed, words, read)
        if self.signed:
            value = np.maximum(low, read)
            return Entries(words, np.maximum(low, value - self._slack()), value + self._slack())
        return Entries(words, low, np.minimum(high, read))

    def _frequency(self, word: np.uint64 | None) -> Estimate:
        if word is None:
            return self._bar(0.0, 0.0, 0.0, 0.0)
        entries = self._entries()
        found = np.flatnonzero(entries.words == word)
        if len(found):
            return self._bar(float(entries.low[found[0]]), *self._ends(entries, int(found[0])))
        read = np.empty(1)
        _read(self.counters, self.hashes, self.signed, np.array([word], np.uint64), read)
        high = float(read[0]) + self._slack() if self.signed else min(float(read[0]), self.floor)
        value = min(max(0.0, float(read[0])), high)
        return self._bar(value, 0.0, max(high, 0.0))

    def _ends(self, entries: Entries, place: int) -> tuple[float, float]:
        return float(entries.low[place]), float(entries.high[place])

    def _bar(self, value: float, low: float, high: float, delta: float | None = None) -> Estimate:
        return super()._bar(value, low, high, delta if self.signed else 0.0)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        self.floor, self.held = _fold(
            self.words,
            self.counts,
            self.errors,
            self.floor,
            self.held,
            self.size,
            self.counters,
            self.hashes,
            self.signed,
            column,
            NO_WEIGHTS if weights is None else weights,
        )
        self.vocabulary.keep(self._held_words())

    def _merge(self, other: Self) -> None:
        if not other.rows:
            return
        self.vocabulary.join(other.vocabulary)
        self.parts = self.parts + other.parts if self.rows else other.parts
        self.counters += other.counters
        self.floor, self.held = merge_tables(
            self.words,
            self.counts,
            self.errors,
            self.floor,
            other.words,
            other.counts,
            other.errors,
            other.floor,
            self.size,
            2 * self.size,
        )
        self.vocabulary.keep(self._held_words())

    def _held_words(self) -> Words:
        held: Words = self.words[self.counts > 0.0]
        return held

    def _save(self) -> tuple[Values, Arrays]:
        words, low, high = super()._entries().sorted()
        arrays = {"words": words, "counts": high, "errors": high - low, "counters": self.counters}
        values = {"floor": self.floor, "parts": self.parts}
        return values, {**arrays, **self.vocabulary.save(words)}

    def _load(self, values: Values, arrays: Arrays) -> None:
        super()._load(values, arrays)
        self.parts, self.counters = values["parts"], arrays["counters"]

    def validate(self) -> None:
        """Candidates fit their room; a Count-Min holds the whole weight in each row."""
        assert self.held == len(self._held_words()) <= 2 * self.size
        assert self.signed or np.allclose(self.counters.sum(axis=1), self.mass)


@compiled
def _estimate(counters, hashes, signed, word, weight, each):  # type: ignore[no-untyped-def]
    """Add a weight (0 only reads) and return the estimate."""
    depth, width = counters.shape
    key = mix64(word)
    for row in range(depth):
        value = polynomial(key, hashes[row])
        if signed:
            place = (value >> np.uint64(1)) % np.uint64(width)
            sign = 1.0 if value & np.uint64(1) == 0 else -1.0
        else:
            place = value % np.uint64(width)
            sign = 1.0
        counters[row, place] += sign * weight
        each[row] = sign * counters[row, place]
    if signed:
        return _middle(each)
    return each.min()


@compiled
def _middle(each):  # type: ignore[no-untyped-def]
    """The median of a few numbers, which are sorted in place."""
    for i in range(1, len(each)):
        moved = each[i]
        j = i
        while j > 0 and each[j - 1] > moved:
            each[j] = each[j - 1]
            j -= 1
        each[j] = moved
    return each[len(each) // 2]


@compiled
def _read(counters, hashes, signed, words, out):  # type: ignore[no-untyped-def]
    each = np.empty(len(counters))
    for i in range(len(words)):
        out[i] = _estimate(counters, hashes, signed, words[i], 0.0, each)


@compiled
def _fold(  # type: ignore[no-untyped-def]
    words, counts, errors, floor, held, size, counters, hashes, signed, column, weights
):
    each = np.empty(len(counters))
    for i in range(len(column)):
        weight = weights[i] if len(weights) else 1.0
        estimate = _estimate(counters, hashes, signed, column[i], weight, each)
        slot = find(words, counts, column[i])
        if counts[slot] > 0.0:
            counts[slot] += weight
        elif estimate > floor:
            if held == 2 * size:
                floor, held = purge(words, counts, errors, floor, size)
                if estimate <= floor:
                    continue
                slot = find(words, counts, column[i])
            words[slot] = column[i]
            counts[slot] = max(estimate, weight)
            errors[slot] = counts[slot] - weight
            held += 1
    return floor, held
