"""Order: which of the entries that wait are worked on when not all of them can be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.jit import compiled

Ints = npt.NDArray[np.int64]
UInts64 = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# Slots that values are dealt into for a fair share of the work.
SLOTS = 8192
_GOLDEN = (5.0**0.5 - 1.0) / 2.0
# Fewer expected matches than this promise nothing.
NOTHING = 0.5


def highest(values: Floats, n: int, *, newest: bool = False) -> Bools:
    """The `n` highest of some values; of equal ones those that come first, or last.

    Examples
    --------
    >>> highest(np.array([2.0, 5.0, 2.0, 1.0]), 2)
    array([ True,  True, False, False])
    >>> highest(np.array([2.0, 5.0, 2.0, 1.0]), 2, newest=True)
    array([False,  True,  True, False])
    """
    if n >= len(values):
        return np.ones(len(values), np.bool_)
    if n <= 0:
        return np.zeros(len(values), np.bool_)
    least = np.partition(values, len(values) - n)[len(values) - n]
    taken: Bools = values > least
    equal = np.flatnonzero(values == least)
    missing = n - int(np.count_nonzero(taken))
    taken[equal[-missing:] if newest else equal[:missing]] = True
    return taken


def lowest_that_match(priority: Floats, estimate: Floats, n: int) -> Bools:
    """The `n` lowest of those that expect a match; what promises nothing comes after them.

    Of equal ones the newest are taken: old ones have lost some of their matches.

    Examples
    --------
    >>> lowest_that_match(np.array([9.0, 0.0, 3.0]), np.array([9.0, 0.0, 3.0]), 1)
    array([False, False,  True])
    """
    taken: Bools = estimate >= NOTHING
    hopeful = np.flatnonzero(taken)
    if len(hopeful) >= n:
        taken[hopeful] = highest(-priority[hopeful], n, newest=True)
        return taken
    others = np.flatnonzero(~taken)
    taken[others] = highest(estimate[others], n - len(hopeful), newest=True)
    return taken


class Order:
    """Chooses entries by the order that a query prefers.

    Parameters
    ----------
    order
        asc, desc or weighted.
    weights
        For weighted: how much work entries of each granularity are worth.
    seed
        Of the hash that deals values into slots.

    Examples
    --------
    >>> weighted = Order("weighted")
    >>> slots = weighted.slots(np.array([1, 1, 1, 2], np.uint64), np.zeros(4, np.int64))
    >>> worth = np.ones(4)
    >>> [weighted.choose(worth, worth, slots, 2, fresh=4).tolist() for _ in range(2)]
    [[False, False, True, True], [False, True, True, False]]
    """

    def __init__(self, order: str, weights: Sequence[float] = (1.0,), seed: int = 0) -> None:
        self.order = order
        self.seed = seed
        # Slots begin at different places of their round, evenly spread, else rare values would
        # never have a turn.
        slots = SLOTS * len(weights) if order == "weighted" else 0
        self.credit = np.arange(slots) * _GOLDEN % 1.0
        self._weight = np.repeat(np.asarray(weights), SLOTS)

    def slots(self, keys: UInts64, granularities: Ints) -> Ints:
        """Slot of each entry: its value's, one set of slots for each granularity."""
        slots = np.empty(len(keys), np.int64)
        _slots(keys, np.uint64(self.seed), slots)
        return slots + SLOTS * granularities

    def arranged(self, sides: Ints, serials: Ints, granularities: Ints) -> Ints:
        """How the entries of one tick line up: as they came, or dealt where all count the same.

        As they came, one side would always stand before the others.
        """
        if self.order != "weighted":
            return np.arange(len(serials))
        dealt = np.empty(len(serials), np.uint64)
        _deal(np.stack([sides, serials, granularities]), np.uint64(self.seed), dealt)
        return np.argsort(dealt, kind="stable")

    def choose(
        self, priority: Floats, estimate: Floats, slots: Ints, n: int, fresh: int = 0
    ) -> Bools:
        """Which `n` entries to work on; they come in order of arrival, the last `fresh` are new."""
        if self.order == "desc":
            return highest(priority, n)
        if self.order == "asc":
            return lowest_that_match(priority, estimate, n)
        # What promises nothing would take turns from what does, and give nothing for them. New ones
        # come first: what was put off may have lost some of its matches, and rare values would have
        # their turn with those more often than common ones.
        hopeful = estimate >= NOTHING
        new = np.arange(len(slots)) >= len(slots) - fresh
        taken = np.zeros(len(slots), np.bool_)
        for part in (np.flatnonzero(hopeful & new), np.flatnonzero(hopeful & ~new)):
            taken[part] = self._shared(slots[part], n)
            n = max(n - len(part), 0)
        rest = np.flatnonzero(~hopeful)
        taken[rest] = highest(estimate[rest], n, newest=True)
        return taken

    def _shared(self, slots: Ints, n: int) -> Bools:
        """Share out credit for `n` entries among some, and take those whose slots have most."""
        n = min(n, len(slots))
        if not n:
            return np.zeros(len(slots), np.bool_)
        held = np.bincount(slots, minlength=len(self.credit)) * self._weight
        self.credit += held * (n / held.sum())
        levels = np.empty(len(slots))
        _levels(slots, self.credit, levels)
        taken = highest(levels, n)
        self.credit -= np.bincount(slots[taken], minlength=len(self.credit))
        return taken


@compiled
def _slots(keys, seed, slots):  # type: ignore[no-untyped-def]
    # The same bits choose a row's place in the index; other ones must choose its slot.
    start = mix64(seed) | np.uint64(1)
    for i in range(len(keys)):
        slots[i] = np.int64(mix64(keys[i] ^ start) & np.uint64(SLOTS - 1))


@compiled
def _deal(identity, seed, dealt):  # type: ignore[no-untyped-def]
    for i in range(len(dealt)):
        draw = mix64(seed)
        for part in range(identity.shape[0]):
            draw = mix64(draw ^ np.uint64(identity[part, i]))
        dealt[i] = draw


@compiled
def _levels(slots, credit, levels):  # type: ignore[no-untyped-def]
    """Credit that a slot has left when its newest entry is taken, its second newest, and so on.

    Taking the slot with most credit again and again takes the entries of the highest levels.
    """
    taken = np.zeros(len(credit), np.int64)
    for i in range(len(slots) - 1, -1, -1):
        levels[i] = credit[slots[i]] - taken[slots[i]]
        taken[slots[i]] += 1
