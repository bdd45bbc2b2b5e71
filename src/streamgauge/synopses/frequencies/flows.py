"""Multistage filter: flows above a threshold of bytes, each from its own packets on.

Every packet raises one counter in each stage, but none beyond what its flow can have reached. Once
all stages reach the threshold the flow gets an entry and its bytes are counted exactly. A flow
above the threshold always has an entry; small flows rarely take one. For measuring in intervals, as
accounting by traffic does.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.hashing import family, mix64, polynomial
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.frequencies.listed import (
    COUNTER_BYTES,
    HASHED_TEXT,
    Counted,
    check_memory,
    share_owed,
)
from streamgauge.synopses.frequencies.slots import NO_WEIGHTS, find, merge_tables, purge
from streamgauge.synopses.frequencies.vocabulary import Vocabulary
from streamgauge.synopses.questions import Count, Frequency, Heavy
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Trial, Values


class Flows(Counted):
    """Flows of at least `threshold` bytes in an interval, with bars that cannot fail.

    Parameters
    ----------
    threshold
        Weight from which on a flow is told; it rises when the entries are used up.
    entries
        Flows counted exactly.
    width
        Counters in a stage.
    depth
        Stages.
    seed
        Chooses the hashes; parts to be merged need the same.

    Examples
    --------
    >>> flows = Flows(threshold=1000.0, entries=100, width=200, depth=4)
    >>> flows.update(["a>b", "c>d", "a>b"], [900.0, 40.0, 1500.0])
    >>> [(found.item, found.weight.low, found.weight.high) for found in flows.heavy()]
    [('a>b', 1500.0, 2400.0)]

    References
    ----------
    EV03: docs/reference/synopses/frequencies.md
    """

    name = "flows"
    answers = (Frequency, Count)
    weights = "positive"
    small = (50.0, 16, 100, 3)

    def __init__(
        self, threshold: float, entries: int, width: int, depth: int, *, seed: int = 0
    ) -> None:
        super().__init__(seed=seed)
        if not threshold > 0.0 or min(entries, width, depth) < 1:
            raise BindError(
                "flows needs a threshold, entries and stages",
                f"threshold={threshold}, entries={entries}, width={width}, depth={depth}",
                "write Flows(1e6, 1000, 2000, 4)",
            )
        self.threshold, self.entries = threshold, entries
        self.width, self.depth = width, depth
        self.counters = np.zeros((depth, width))
        self.hashes = family(seed, depth, 2)
        self.vocabulary = Vocabulary(seed=seed, room=8 * entries)
        self._begin(2 * entries)
        self.floor = threshold

    @property
    def guarantee(self) -> Guarantee:
        """Stages alone are off by more than `epsilon` with chance `delta`; bars cannot fail."""
        assumes = (HASHED_TEXT, "seed independent of the data")
        chance = math.exp(-self.depth)
        return Guarantee("additive", math.e / self.width, chance, assumes, "EV03")

    @property
    def nbytes(self) -> int:
        """Bytes of stages, entries and kept texts."""
        return super().nbytes + self.counters.nbytes

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """A threshold at the tolerated share of the rows expected, and room for as many flows."""
        within = share_owed(need, cls.name)
        if need.rows is None or need.contract.confidence == 1.0:
            raise ContractUnsatisfiable(
                "flows owes a share of a known weight at a confidence below 100%",
                f"asked for {need.contract} of {need.rows} rows",
                "say how many rows an interval has, or use space_saving",
            )
        depth = max(1, math.ceil(-math.log(1.0 - need.contract.confidence)))
        size = math.ceil(1.0 / within)
        need.afford(cls.name, 8.0 * depth * math.e / within + COUNTER_BYTES * size)
        sized = cls(within * need.rows, size, math.ceil(math.e / within), depth, seed=seed)
        check_memory(sized, need)
        return sized

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """A flow whose first packets come before it has an entry, among many small ones."""
        rows = np.arange(3000, dtype=np.int64) + 1000
        rows[::20] = seed % 1000
        return Trial(rows, Frequency(seed % 1000))

    def heavy(self, threshold: float | None = None) -> tuple[Heavy, ...]:
        """Every flow that may have reached the threshold in this interval, largest first."""
        least = self.threshold if threshold is None else threshold
        # Once entries were dropped, one of exactly the floor may be among them.
        if least < self.floor or least == self.floor > self.threshold:
            raise ContractUnsatisfiable(
                f"flows may have dropped a flow of {least:g}",
                f"its {self.entries} entries hold flows from {self.floor:g} on",
                f"ask for {self.floor:g} or more, or give it more entries",
            )
        entries = self._entries().sorted()
        return self._told(entries, count=int((entries.high >= least).sum()))

    def next_interval(self) -> None:
        """Begin to measure anew."""
        self.rows, self.mass, self.skipped = 0, 0.0, 0
        self.counters[:] = 0.0
        self._begin(2 * self.entries)
        self.floor = self.threshold

    def _frequency(self, word: np.uint64 | None) -> Estimate:
        if word is None:
            return self._bar(0.0, 0.0, 0.0)
        slot = find(self.words, self.counts, word)
        read = float(_reach(self.counters, self.hashes, word))
        if self.counts[slot] > 0.0:
            low = float(self.counts[slot] - self.errors[slot])
            return self._bar(low, low, max(low, min(read, float(self.counts[slot]))))
        high = min(read, self.floor)
        return self._bar(high, 0.0, high)

    def _bar(self, value: float, low: float, high: float, delta: float | None = None) -> Estimate:
        return super()._bar(value, low, high, 0.0)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        self.floor, self.held = _fold(
            self.words,
            self.counts,
            self.errors,
            self.floor,
            self.held,
            self.entries,
            self.counters,
            self.hashes,
            column,
            NO_WEIGHTS if weights is None else weights,
        )
        self.vocabulary.keep(self._entries().words)

    def _merge(self, other: Self) -> None:
        if not other.rows:
            return
        self.vocabulary.join(other.vocabulary)
        self.counters += other.counters
        if not self.rows:
            self.floor = 0.0
        self.floor, self.held = merge_tables(
            self.words,
            self.counts,
            self.errors,
            self.floor,
            other.words,
            other.counts,
            other.errors,
            other.floor,
            self.entries,
            2 * self.entries,
        )
        self.vocabulary.keep(self._entries().words)

    def _save(self) -> tuple[Values, Arrays]:
        values, arrays = super()._save()
        return values, {**arrays, "counters": self.counters}

    def _load(self, values: Values, arrays: Arrays) -> None:
        super()._load(values, arrays)
        self.counters = arrays["counters"]

    def validate(self) -> None:
        """No stage holds more than came in; entries fit."""
        assert self.held <= 2 * self.entries
        assert (self.counters.sum(axis=1) <= self.mass * (1.0 + 1e-9)).all()


@compiled
def _reach(counters, hashes, word):  # type: ignore[no-untyped-def]
    """The most that a word can have weighed: its smallest counter."""
    depth, width = counters.shape
    key = mix64(word)
    least = np.inf
    for stage in range(depth):
        least = min(least, counters[stage, polynomial(key, hashes[stage]) % np.uint64(width)])
    return least


@compiled
def _fold(  # type: ignore[no-untyped-def]
    words, counts, errors, floor, held, entries, counters, hashes, column, weights
):
    depth, width = counters.shape
    places = np.empty(depth, np.uint64)
    for i in range(len(column)):
        weight = weights[i] if len(weights) else 1.0
        key = mix64(column[i])
        reached = np.inf
        for stage in range(depth):
            places[stage] = polynomial(key, hashes[stage]) % np.uint64(width)
            reached = min(reached, counters[stage, places[stage]])
        reached += weight
        for stage in range(depth):
            # A counter above what the flow can have reached was raised by others.
            counters[stage, places[stage]] = max(counters[stage, places[stage]], reached)
        slot = find(words, counts, column[i])
        if counts[slot] > 0.0:
            counts[slot] += weight
        elif reached >= floor:
            if held == 2 * entries:
                floor, held = purge(words, counts, errors, floor, entries)
                if reached <= floor:
                    continue
                slot = find(words, counts, column[i])
            words[slot] = column[i]
            counts[slot] = reached
            errors[slot] = reached - weight
            held += 1
    return floor, held
