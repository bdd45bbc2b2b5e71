"""Rarity: which share of the items of a sliding window occurs a few times only.

In each of many rankings the smallest item of the window is a fair draw from its different items.
The list keeps the last times of each item, enough to see whether it occurs at most a few times, so
the rare ones among the draws are draws of a coin whose chance is the share that is asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses.questions import Distinct, Question, totals_of
from streamgauge.synopses.synopsis import Array, Floats, Need, Trial
from streamgauge.synopses.windowed.clock import not_about, window_of
from streamgauge.synopses.windowed.dominance import distinct_items, share_of
from streamgauge.synopses.windowed.ranked import Ranked, hashes_for


@dataclass(frozen=True, slots=True)
class Rare(Question):
    """Share of the different items that occur at most `times` times."""

    times: int = 1

    def truth(self, items: Array, weights: Floats) -> float:
        """Rare items over all items; NaN of nothing."""
        if not len(items):
            return math.nan
        _, totals = totals_of(items, weights)
        return float((totals <= self.times).sum()) / len(totals)


class Rarity(Ranked):
    """Share of the different items of the last `window` that occur at most a few times.

    Parameters
    ----------
    window
        Longest window that can be asked for, in the unit of the times.
    hashes
        Rankings; four times as many halve the error.
    most
        Largest number of times that can be asked for.
    delta
        Chance that a bar does not hold.
    seed
        Chooses the rankings.

    Examples
    --------
    >>> rarity = Rarity(1000, 256, most=2, seed=7)
    >>> rarity.update(np.concatenate([np.arange(60), np.arange(40)]), times=np.arange(100))
    >>> print(rarity.query(Rare(1)))
    0.320312 in [0.263582, 0.381262] at 95% confidence, rarity
    >>> rarity.query(Rare(2)).value
    1.0

    References
    ----------
    DM02: docs/reference/synopses/windowed.md
    """

    name = "rarity"
    answers = (Rare, Distinct)
    small = (500, 64, 2)

    def __init__(
        self, window: int, hashes: int, most: int = 1, delta: float = 0.05, *, seed: int = 0
    ) -> None:
        if most < 1:
            raise BindError("rarity needs a number of times", f"got most={most}", "write most=1")
        super().__init__(window, hashes, most + 1, delta, seed=seed)
        self.most = most

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Rankings from the tolerance and the confidence: of a share absolute, else relative."""
        window, contract = window_of(cls.name, need), need.contract
        if isinstance(need.question, Distinct) and contract.tolerance == "relative":
            hashes, delta = hashes_for(cls.name, contract)
            return cls(window, hashes, 1, delta, seed=seed)
        chance = 1.0 - contract.confidence
        if not isinstance(need.question, Rare) or contract.tolerance != "absolute" or chance <= 0.0:
            raise ContractUnsatisfiable(
                "rarity owes a share of the items, at a confidence below 100%",
                f"asked for {contract}",
                "write Contract.absolute(0.05, confidence=0.95)",
            )
        # Hoeffding: no exact bar of n draws is wider than sqrt(ln(2 / chance) / 2 n).
        hashes = math.ceil(math.log(2.0 / chance) / (2.0 * contract.within**2))
        return cls(window, max(2, hashes), need.question.times, chance, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Half of the items once, half three times, some of those too old."""
        once = np.arange(200) + 1000 * seed
        often = np.repeat(np.arange(200, 400) + 1000 * seed, 3)
        rows = np.random.default_rng(seed).permutation(np.concatenate([once, often]))
        times = np.arange(len(rows), dtype=np.int64)
        return Trial(rows, Rare(1), times=times, now=len(rows) - 1)

    def _within(self, question: Any, window: int) -> Any:
        ranks, counts = self.lists.smallest(-1 if self.now is None else self.now - window)
        if isinstance(question, Distinct):
            none = not counts.any()
            return self._bar(*((0.0,) * 3 if none else distinct_items(ranks, self.delta)))
        if not 1 <= question.times <= self.most:
            raise not_about(self.name, f"at most {question.times} times", f"1 to {self.most}")
        if not counts.any():
            return self._bar(math.nan, -math.inf, math.inf)
        hits = int((counts <= question.times).sum())
        return self._bar(*share_of(hits, self.hashes, self.delta))
