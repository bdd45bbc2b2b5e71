"""Listed: synopses that name items, each with the two ends of a bar around its weight.

They all answer alike: the weight of one item, every item above a share, the items of largest
weight. One of them says which words it holds, their bars, and the most that an item it does not
hold can weigh.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.keys import Items
from streamgauge.synopses.frequencies.slots import place, room_of, slots_for
from streamgauge.synopses.frequencies.vocabulary import Vocabulary, Words
from streamgauge.synopses.questions import Count, Frequency, Heavy, HeavyHitters, Question, TopK
from streamgauge.synopses.synopsis import (
    Arrays,
    Enumerable,
    Floats,
    Merging,
    Need,
    Synopsis,
    Values,
)

HASHED_TEXT = "no two texts share their 64-bit hash"


class Entries(NamedTuple):
    """Held words with the ends of their bars; `low` is also the estimate."""

    words: Words
    low: Floats
    high: Floats

    def sorted(self) -> Entries:
        """Largest upper end first, so that no item left out of a top list can exceed it."""
        order = np.lexsort((self.words, -self.low, -self.high))
        return Entries(self.words[order], self.low[order], self.high[order])


class Listed(Synopsis, Enumerable):
    """A synopsis that holds words of items and answers by listing them."""

    answers: ClassVar[tuple[type[Question], ...]] = (Frequency, HeavyHitters, TopK, Count)
    takes = "items"
    merging: ClassVar[Merging] = "error"
    vocabulary: Vocabulary

    @abstractmethod
    def _entries(self) -> Entries:
        """What is held."""

    @property
    @abstractmethod
    def unlisted(self) -> float:
        """The most that an item which is not held can weigh."""

    @property
    def total(self) -> float:
        """Weight that shares are of."""
        return self.mass

    def candidates(self) -> list[Any]:
        """Items held, those of largest weight first."""
        return self.vocabulary.items(self._entries().sorted().words)

    def _ready(self, given: Items) -> Words:
        """The column as words."""
        return self.vocabulary.words(given) if len(given) else np.empty(0, np.uint64)

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            return self._bar(self.total, self.total, self.total, 0.0)
        if isinstance(question, Frequency):
            return self._frequency(self.vocabulary.word(question.item))
        if isinstance(question, TopK):
            return self._told(self._entries().sorted(), count=question.k)
        return self._heavy(question.share)

    def _frequency(self, word: np.uint64 | None) -> Estimate:
        if word is None:
            return self._bar(0.0, 0.0, 0.0, 0.0)
        entries = self._entries()
        found = np.flatnonzero(entries.words == word)
        if not len(found):
            return self._bar(0.0, 0.0, self.unlisted)
        low, high = float(entries.low[found[0]]), float(entries.high[found[0]])
        return self._bar(low, low, high)

    def _heavy(self, share: float) -> tuple[Heavy, ...]:
        threshold = heavy_threshold(self, share)
        entries = self._entries().sorted()
        return self._told(entries, count=int((entries.high >= threshold).sum()))

    def _told(self, entries: Entries, *, count: int) -> tuple[Heavy, ...]:
        names = self.vocabulary.items(entries.words[:count])
        bars = (
            self._bar(low, low, high)
            for low, high in zip(entries.low.tolist(), entries.high.tolist(), strict=True)
        )
        return tuple(Heavy(name, bar) for name, bar in zip(names, bars, strict=False))


class Counted(Listed):
    """A listed synopsis whose entries stand in a table of slots, above a common floor."""

    words: Words
    counts: Floats
    errors: Floats
    floor: float
    held: int

    def _begin(self, limit: int) -> None:
        """An empty table with room for `limit` words."""
        self.floor = 0.0
        self.held = 0
        self.words = np.zeros(slots_for(limit), np.uint64)
        self.counts = np.zeros(len(self.words))
        self.errors = np.zeros(len(self.words))

    @property
    def unlisted(self) -> float:
        """The floor: what a dropped item weighed at most."""
        return self.floor

    @property
    def nbytes(self) -> int:
        """Bytes of the table and the kept texts."""
        table = self.words.nbytes + self.counts.nbytes + self.errors.nbytes
        return table + self.vocabulary.nbytes

    def _entries(self) -> Entries:
        held = self.counts > 0.0
        high = self.counts[held]
        return Entries(self.words[held], high - self.errors[held], high)

    def _save(self) -> tuple[Values, Arrays]:
        words, low, high = self._entries().sorted()
        arrays = {"words": words, "counts": high, "errors": high - low}
        return {"floor": self.floor}, {**arrays, **self.vocabulary.save(words)}

    def _load(self, values: Values, arrays: Arrays) -> None:
        if len(arrays["words"]) > room_of(len(self.words)):
            self._begin(len(arrays["words"]))
        self.floor = values["floor"]
        self.held = len(arrays["words"])
        saved = arrays["words"], arrays["counts"], arrays["errors"]
        place(self.words, self.counts, self.errors, *saved)
        self.vocabulary.load(arrays)

    def validate(self) -> None:
        """Bars are right way round, and none is wider than the floor."""
        _, low, high = self._entries()
        assert len(high) == self.held <= room_of(len(self.words))
        assert (low > 0.0).all()
        assert (high - low <= self.floor * (1.0 + 1e-9)).all()


def heavy_threshold(synopsis: Any, share: float) -> float:
    """The weight of a share, refused where an item that heavy may have been dropped."""
    total = float(getattr(synopsis, "total", synopsis.mass))
    if not 0.0 < share <= 1.0:
        raise BindError(
            "a share of the weight lies above 0 and is at most 1",
            f"asked for {share}",
            "write HeavyHitters(0.01)",
        )
    threshold = share * total * (1.0 - 1e-12)
    unlisted = float(synopsis.unlisted)
    if 0.0 < threshold <= unlisted:
        raise ContractUnsatisfiable(
            f"{synopsis.name} may have dropped an item of share {share:g}",
            f"it dropped items of up to {unlisted / total:.3g} of the weight {total:g}",
            f"ask for a share above {unlisted / total:.3g}, or give it more room",
        )
    return threshold


def share_owed(need: Need, name: str, *, deletions: bool = False) -> float:
    """The share of the total weight by which a contract lets a frequency be off."""
    contract = need.contract
    absolute = contract.tolerance == "absolute" and need.rows
    if contract.tolerance != "rank" and not absolute:
        raise ContractUnsatisfiable(
            f"{name} owes a share of the total weight",
            f"asked for {contract}",
            "write Contract.rank(0.01), or say how many rows are expected",
        )
    if need.deletions and not deletions:
        raise ContractUnsatisfiable(
            f"{name} cannot take rows back",
            "the stream has deletions",
            "use group_testing or count_sketch",
        )
    return contract.within / need.rows if absolute and need.rows else contract.within


COUNTER_BYTES = 48.0
"""The least that a counter with its item takes in a table that is not quite full."""


def counters_owed(need: Need, name: str) -> int:
    """Counters k such that 1 / (k + 1) of the weight is within the contract and the question."""
    counters = max(1, math.ceil(1.0 / share_owed(need, name)) - 1)
    if isinstance(need.question, HeavyHitters):
        counters = max(counters, math.ceil(1.0 / need.question.share))
    if isinstance(need.question, TopK):
        counters = max(counters, need.question.k)
    need.afford(name, COUNTER_BYTES * counters)
    return counters


def check_memory(synopsis: Synopsis, need: Need) -> None:
    """Refuse a synopsis larger than the memory it may take."""
    if need.memory is not None and synopsis.nbytes > need.memory:
        wider = need.contract.within * synopsis.nbytes / need.memory
        raise ContractUnsatisfiable(
            f"{synopsis.name} needs more memory for this contract",
            f"{synopsis.nbytes} bytes, allowed are {need.memory}",
            f"allow about {wider:.2g} instead of {need.contract.within:g}",
        )
