"""Sticky Sampling: frequent items in a table whose size does not depend on the number of rows.

An item enters with a probability that halves whenever the stream doubles; once in, every later row
of it is counted. When the probability halves, every count loses as many rows as a fair coin falls
wrong before it falls right. What is missed is then no more than a geometric number of rows, so the
bar is known and mostly narrower than the share that is promised.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.hashing import mix64, uniform
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.frequencies.listed import (
    COUNTER_BYTES,
    HASHED_TEXT,
    Counted,
    Entries,
    share_owed,
)
from streamgauge.synopses.frequencies.slots import find, grown, merge_tables, room_of, sweep
from streamgauge.synopses.frequencies.vocabulary import Vocabulary
from streamgauge.synopses.questions import Frequency, Heavy, HeavyHitters
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Trial, Values


class StickySampling(Counted):
    """Items above a share `support` of the rows, each too low by at most `epsilon` of them.

    Parameters
    ----------
    support
        Smallest share that will be asked for.
    epsilon
        Share of the rows that a count may miss; a tenth of the support is usual.
    delta
        Chance that an item above the support is missed, or a bar of a list does not hold.
    seed
        Chooses the draws and the hash of texts; parts to be merged need the same.

    Examples
    --------
    >>> counts = StickySampling(support=0.1, epsilon=0.01, delta=0.01)
    >>> counts.update(["a"] * 60 + ["b"] * 40)
    >>> [(found.item, found.weight.value) for found in counts.query(HeavyHitters(0.5))]
    [('a', 60.0)]

    References
    ----------
    MM02: docs/reference/synopses/frequencies.md
    """

    name = "sticky_sampling"
    weights = "none"
    small = (0.2, 0.05, 0.05)

    def __init__(self, support: float, epsilon: float, delta: float, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if not (0.0 < epsilon < support <= 1.0 and 0.0 < delta < 1.0):
            raise BindError(
                "sticky_sampling needs 0 < epsilon < support <= 1 and 0 < delta < 1",
                f"support={support}, epsilon={epsilon}, delta={delta}",
                "write StickySampling(0.01, 0.001, 0.0001)",
            )
        self.support = support
        self.epsilon = epsilon
        self.delta = delta
        self.phase = 2.0 * math.log(1.0 / (support * delta)) / epsilon
        self.rate = 1
        self.parts = 1
        self.seen = 0
        self.peak = 0
        self._begin(8)
        self.vocabulary = Vocabulary(seed=seed, room=4 * math.ceil(self.phase))

    @property
    def guarantee(self) -> Guarantee:
        """Too low by more than `epsilon` of the rows with chance `delta` at most."""
        return Guarantee("additive", self.epsilon, self.delta, (HASHED_TEXT,), "MM02")

    @property
    def unlisted(self) -> float:
        """What an item that is not held weighs at most, but for the chance `delta`."""
        return self._missed(self.delta)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The tolerance is the epsilon; the support is the share asked for."""
        epsilon = share_owed(need, cls.name)
        delta = 1.0 - need.contract.confidence
        if delta <= 0.0:
            raise ContractUnsatisfiable(
                "sticky_sampling may fail",
                f"asked for {need.contract}",
                "ask for a confidence below 100%, or use space_saving",
            )
        need.afford(cls.name, COUNTER_BYTES / epsilon)
        asked = isinstance(need.question, HeavyHitters)
        support = need.question.share if asked else min(1.0, 10.0 * epsilon)  # type: ignore[attr-defined]
        return cls(support, min(epsilon, support / 10.0), delta, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """An item that comes when one row in sixteen is drawn, among others that come once."""
        rows = np.arange(2000, dtype=np.int64) + 1000
        rows[1480::2] = seed % 1000
        return Trial(rows, Frequency(seed % 1000))

    def _missed(self, chance: float) -> float:
        """Rows of one item that were missed, exceeded with this chance at most."""
        if self.rate == 1:
            return 0.0
        each = math.log(chance / self.parts) / math.log1p(-1.0 / self.rate)
        return self.parts * max(0.0, math.ceil(each) - 1.0)

    def _missed_by_any(self) -> float:
        """Rows missed of any item at all: at most `seen / (x + 1)` items have more than x."""
        low, high = 0.0, self._missed(self.delta / max(1, self.seen))
        while high - low > 1.0:
            middle = math.floor((low + high) / 2.0)
            fits = self._missed(min(1.0, self.delta * (middle + 1.0) / self.seen)) <= middle
            low, high = (low, middle) if fits else (middle, high)
        return high

    def _entries(self) -> Entries:
        held = self.counts > 0.0
        low = self.counts[held]
        return Entries(self.words[held], low, low + self._missed_by_any())

    def _frequency(self, word: np.uint64 | None) -> Estimate:
        if word is None:
            return self._bar(0.0, 0.0, 0.0, 0.0)
        slot = find(self.words, self.counts, word)
        count = float(self.counts[slot])
        return self._bar(count, count, count + self._missed(self.delta))

    def _heavy(self, share: float) -> tuple[Heavy, ...]:
        if share < self.support:
            raise ContractUnsatisfiable(
                f"sticky_sampling was built for shares from {self.support:g}",
                f"asked for {share:g}",
                f"ask for {self.support:g} or more, or build it with a smaller support",
            )
        # Items that can be told hold at least support - epsilon of the rows, so they are few.
        missed = self._missed((self.support - self.epsilon) * self.delta)
        words, low, _ = self._entries()
        least = share * self.seen - max(self.epsilon * self.seen, missed)
        told = low >= least
        entries = Entries(words[told], low[told], low[told] + missed).sorted()
        return self._told(entries, count=len(entries.words))

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        row = 0
        while row < len(column):
            row, self.seen, self.rate, self.held, self.peak = _fold(
                self.words,
                self.counts,
                self.errors,
                self.seen,
                self.rate,
                self.held,
                self.peak,
                self.phase,
                np.uint64(self.seed),
                column,
                row,
            )
            if row < len(column):
                table = grown(self.words, self.counts, self.errors, 2 * self.held)
                self.words, self.counts, self.errors = table
        self.vocabulary.keep(self.words[self.counts > 0.0])

    def _merge(self, other: Self) -> None:
        if not other.rows:
            return
        self.vocabulary.join(other.vocabulary)
        theirs = other.copy()
        rate = max(self.rate, theirs.rate)
        for one in (self, theirs):
            while one.rate < rate:
                one.rate *= 2
                _decay(one.words, one.counts, one.rate, np.uint64(one.seed))
                one.held = sweep(one.words, one.counts, one.errors, 0.0)
        if rate > 1:
            self.parts += theirs.parts
        self._take(theirs)
        self.vocabulary.keep(self.words[self.counts > 0.0])

    def _take(self, theirs: StickySampling) -> None:
        table = grown(self.words, self.counts, self.errors, self.held + theirs.held)
        self.words, self.counts, self.errors = table
        their = theirs.words, theirs.counts, theirs.errors
        size = len(self.words)
        _, self.held = merge_tables(*table, 0.0, *their, 0.0, size, size)
        self.seen += theirs.seen
        self.peak = max(self.peak, theirs.peak, self.held)

    def _save(self) -> tuple[Values, Arrays]:
        words, low, _ = self._entries().sorted()
        values = {"seen": self.seen, "rate": self.rate, "parts": self.parts, "peak": self.peak}
        return values, {"words": words, "counts": low, **self.vocabulary.save(words)}

    def _load(self, values: Values, arrays: Arrays) -> None:
        errors = np.zeros(len(arrays["words"]))
        super()._load({"floor": 0.0}, {**arrays, "errors": errors})
        self.seen, self.rate = values["seen"], values["rate"]
        self.parts, self.peak = values["parts"], values["peak"]

    def validate(self) -> None:
        """Counts are whole; the rate belongs to the number of rows."""
        held = self.counts[self.counts > 0.0]
        assert len(held) == self.held
        assert (held == np.floor(held)).all()
        assert self.seen == self.rows
        assert self.rate == 1 or self.seen >= self.phase * self.rate / 2 / self.parts


@compiled
def _fold(  # type: ignore[no-untyped-def]
    words, counts, errors, seen, rate, held, peak, phase, seed, column, row
):
    room = room_of(len(words))
    while row < len(column):
        while seen >= phase * rate:
            rate *= 2
            _decay(words, counts, rate, seed)
            held = sweep(words, counts, errors, 0.0)
        slot = find(words, counts, column[row])
        if counts[slot] > 0.0:
            counts[slot] += 1.0
        elif rate == 1 or uniform(seed, seen) * rate < 1.0:
            if held == room:
                break
            words[slot] = column[row]
            counts[slot] = 1.0
            held += 1
            peak = max(peak, held)
        seen += 1
        row += 1
    return row, seen, rate, held, peak


@compiled
def _decay(words, counts, rate, seed):  # type: ignore[no-untyped-def]
    # The draw belongs to the word and the rate, not to the slot, so that it can be replayed.
    for slot in range(len(counts)):
        if counts[slot] > 0.0:
            draw = uniform(mix64(words[slot]) ^ seed, rate)
            counts[slot] = max(0.0, counts[slot] - np.floor(-np.log2(draw)))
