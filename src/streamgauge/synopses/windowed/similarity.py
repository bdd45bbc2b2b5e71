"""Similarity: how alike the items of two streams are in a sliding window, and how many there are.

Two streams are ranked by the same hash functions. In each ranking their smallest items agree with
a chance that is exactly the share of items that both have, so the agreements are draws of a coin
with that chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.synopses.questions import Distinct, Question
from streamgauge.synopses.synopsis import Array, Floats, Ints, Need, Trial
from streamgauge.synopses.windowed.clock import window_of
from streamgauge.synopses.windowed.dominance import distinct_items, share_of
from streamgauge.synopses.windowed.ranked import Ranked, hashes_for


@dataclass(frozen=True, slots=True, eq=False)
class Jaccard(Question):
    """Items that this and another stream both have, over the items that one of them has.

    `other` is the synopsis of the other stream; its living items are only needed for the exact
    answer.
    """

    other: Any
    items: Array | None = None

    def truth(self, items: Array, weights: Floats) -> float:
        """Size of the intersection over size of the union; NaN of nothing."""
        assert self.items is not None, "the exact answer needs the items of the other stream"
        mine, theirs = np.unique(items[weights > 0]), np.unique(self.items)
        both, either = np.intersect1d(mine, theirs), np.union1d(mine, theirs)
        return len(both) / len(either) if len(either) else math.nan


class Similarity(Ranked):
    """Different items of the last `window`, and how many of them another stream shares.

    Parameters
    ----------
    window
        Longest window that can be asked for, in the unit of the times.
    hashes
        Rankings; four times as many halve the error.
    delta
        Chance that a bar does not hold.
    seed
        Chooses the rankings; streams to be compared need the same.

    Examples
    --------
    >>> here, there = Similarity(100, 256, seed=7), Similarity(100, 256, seed=7)
    >>> here.update(np.arange(0, 60), times=np.arange(60))
    >>> there.update(np.arange(30, 90), times=np.arange(60))
    >>> print(here.query(Jaccard(there)))
    0.34375 in [0.285729, 0.405437] at 95% confidence, similarity
    >>> print(here.query(Distinct()))
    60.6072 in [53.6191, 68.5207] at 95% confidence, similarity

    References
    ----------
    DM02, B97: docs/reference/synopses/windowed.md
    """

    name = "similarity"
    answers = (Distinct, Jaccard)
    small = (500, 64)

    def __init__(self, window: int, hashes: int, delta: float = 0.05, *, seed: int = 0) -> None:
        super().__init__(window, hashes, 1, delta, seed=seed)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Rankings from the tolerance and the confidence."""
        window, contract = window_of(cls.name, need), need.contract
        if not isinstance(need.question, Distinct) or contract.tolerance != "relative":
            raise ContractUnsatisfiable(
                "similarity owes a share of the number of items",
                f"asked for {type(need.question).__name__} {contract}",
                "choose `hashes` by hand: the bar of a share is about 1 / sqrt(hashes)",
            )
        return cls(window, *hashes_for(cls.name, contract), seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Two streams that share half of their items; the bar is that of a fair coin."""
        times = np.arange(300, dtype=np.int64)
        mine, theirs = np.arange(300) + 1000 * seed, np.arange(100, 400) + 1000 * seed
        other = cls.specimen(seed)
        other.update(theirs, times=times)
        other.advance(600)
        return Trial(mine, Jaccard(other, theirs[times > 100]), times=times, now=600)

    def _within(self, question: Any, window: int) -> Any:
        edge = -1 if self.now is None else self.now - window
        ranks, counts = self.lists.smallest(edge)
        if isinstance(question, Jaccard):
            return self._shared(question.other, edge, ranks, counts)
        if not counts.any():
            return self._bar(0.0, 0.0, 0.0)
        return self._bar(*distinct_items(ranks, self.delta))

    def _shared(self, other: Any, edge: int, ranks: Any, counts: Ints) -> Estimate:
        self._check_fits(other)
        theirs, their_counts = other.lists.smallest(edge)
        if not counts.any() and not their_counts.any():
            return self._bar(math.nan, -math.inf, math.inf)
        if not counts.any() or not their_counts.any():
            return self._bar(0.0, 0.0, 0.0)
        return self._bar(*share_of(int((ranks == theirs).sum()), self.hashes, self.delta))
