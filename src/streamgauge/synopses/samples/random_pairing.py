"""Random pairing: a uniform sample of bounded size under insertions and deletions in any order.

Every deletion is paired with a later insertion: the new row enters the sample if, and only if, the
deleted one was in it. Two counters of deletions not yet paired, inside and outside the sample, are
enough to draw the pairs.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import Column
from streamgauge.synopses.questions import Count, Quantile
from streamgauge.synopses.samples.designs import Drawn, Simple
from streamgauge.synopses.samples.dice import hypergeometric, roll, roll_below, shuffle_first, stir
from streamgauge.synopses.samples.sampled import Sampled
from streamgauge.synopses.synopsis import Floats, Ints, Need, Trial


class RandomPairing(Sampled):
    """At most `k` rows of a set that rows enter (weight 1) and leave (weight -1).

    An item is its own id: one that is deleted must have been inserted once. Use `change` where
    rows have ids besides their values.

    Parameters
    ----------
    k
        Most rows kept.
    delta
        Chance that a bar fails.
    seed
        Chooses the rows; parts to be merged need the same.

    Examples
    --------
    >>> sample = RandomPairing(k=3, seed=1)
    >>> sample.update([1, 2, 3, 4, 5, 2], weights=[1, 1, 1, 1, 1, -1])
    >>> print(sample.query(Quantile(0.5)))
    4 in [3, 4] at 95% confidence, random_pairing
    >>> 2.0 in sample.sample().values
    False

    References
    ----------
    GLH08: docs/reference/synopses/samples.md
    """

    name = "random_pairing"
    exactly = (Count,)
    weights = "strict"
    fields = ("values", "ids", "clock")
    small = (100,)

    def __init__(self, k: int, delta: float = 0.05, *, seed: int = 0) -> None:
        if k < 1:
            raise BindError(
                "a sample needs room for a row", f"got k={k}", "write RandomPairing(k=1000)"
            )
        super().__init__(delta=delta, seed=seed)
        self.k = k
        self.values = np.zeros(k)
        self.ids = np.zeros(k, np.int64)
        # Rows there are, rows held, room, unpaired deletions inside and outside, refused deletions.
        self.clock = np.array([0, 0, k, 0, 0, 0], np.int64)

    @property
    def target(self) -> float:
        """The most it holds."""
        return float(self.k)

    @property
    def refused(self) -> int:
        """Deletions from an empty set, which were left out."""
        return int(self.clock[5])

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Size from the tolerance, as for a reservoir; deletions that dominate make it smaller."""
        k, delta = cls._rows_for(need)
        return cls(k, delta, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """A set that turned over once: the first thousand rows left, another came."""
        come, go = np.arange(1500, dtype=np.int64), np.arange(1000, dtype=np.int64)
        rows = np.concatenate([come, go, np.arange(1500, 2500, dtype=np.int64)])
        signs = np.ones(len(rows))
        signs[1500:2500] = -1.0
        return Trial(rows, Quantile(0.5), weights=signs)

    def sample(self) -> Drawn:
        """The rows held; given how many they are, every set of the rows there are was as likely."""
        there, held = int(self.clock[0]), int(self.clock[1])
        design = Simple(there, held, self.seed)
        return Drawn(self.values[:held].copy(), design, self.ids[:held].copy())

    def change(self, ids: Any, values: Any, signs: Any) -> None:
        """Insert (1) and delete (-1) rows by id; the value of a deletion is not looked at."""
        keys = np.ascontiguousarray(ids, np.int64)
        column = np.ascontiguousarray(values, np.float64)
        weights = np.ascontiguousarray(signs, np.float64)
        if not len(keys) == len(column) == len(weights):
            raise BindError(
                "every row has an id, a value and a sign",
                f"{len(keys)} ids, {len(column)} values, {len(weights)} signs",
                "give three columns of one length",
            )
        self._check_signs(weights)
        if not np.isfinite(column[weights > 0]).all():
            raise BindError(
                "random_pairing takes finite numbers", "some are not", "leave those rows out"
            )
        self.rows += len(keys)
        self.mass += float(weights.sum())
        self._change(keys, column, weights)

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        signs = np.ones(len(column)) if weights is None else np.ascontiguousarray(weights)
        self._change(column.view(np.int64), column, signs)

    def _checked_weights(self, weights: Column | None, size: int, given: Any) -> Floats | None:
        signs = super()._checked_weights(weights, size, given)
        if signs is not None:
            self._check_signs(signs)
        return signs

    def _check_signs(self, signs: Floats) -> None:
        wrong = np.abs(signs) != 1.0
        if wrong.any():
            raise BindError(
                "random_pairing takes rows (1) and takes them back (-1)",
                f"{int(wrong.sum())} weights are neither, the first is {signs[wrong][0]}",
                "use varopt for weights",
            )

    def _change(self, ids: Ints, column: Floats, signs: Floats) -> None:
        come = column[signs > 0]
        if len(come):
            self.extremes[0] = min(self.extremes[0], float(come.min()))
            self.extremes[1] = max(self.extremes[1], float(come.max()))
        _pair(self.values, self.ids, self.clock, self.dice, ids, column, signs)

    def _merge(self, other: Self) -> None:
        there, theirs = int(self.clock[0]), int(other.clock[0])
        if not other.clock.any() or (not theirs and not other.clock[3:].any()):
            return
        self._merge_shared(other)
        size = min(self.k, there + theirs)
        for part in (self, other):
            if part.clock[1] < part.clock[0]:
                size = min(size, int(part.clock[1]))
        mine = np.arange(int(self.clock[1]), dtype=np.int64)
        yours = np.arange(int(other.clock[1]), dtype=np.int64)
        from_mine = int(hypergeometric(self.dice, there, theirs, size))
        shuffle_first(self.dice, mine, from_mine)
        shuffle_first(self.dice, yours, size - from_mine)
        mine, yours = mine[:from_mine], yours[: size - from_mine]
        values = np.concatenate([self.values[mine], other.values[yours]])
        ids = np.concatenate([self.ids[mine], other.ids[yours]])
        self.values[:size], self.ids[:size] = values, ids
        # Deletions that were not paired are forgotten; the sample must then not grow again,
        # unless it holds every row.
        room = self.k if size == there + theirs else size
        refused = int(self.clock[5] + other.clock[5])
        self.clock[:] = there + theirs, size, room, 0, 0, refused

    def validate(self) -> None:
        """The sample is as large as its room and the deletions allow."""
        there, held, room, inside, outside, _ = self.clock.tolist()
        assert held == min(room, there + inside + outside) - inside
        assert 0 <= held <= there


@compiled
def _pair(values, ids, clock, dice, keys, column, signs):  # type: ignore[no-untyped-def]
    there, held, room, inside, outside = clock[0], clock[1], clock[2], clock[3], clock[4]
    for row in range(len(keys)):
        if signs[row] > 0:
            slot = -1
            if inside + outside == 0:
                if held < room:
                    slot = held
                    held += 1
                elif room > 0 and roll(dice) * (there + 1) < room:
                    slot = roll_below(dice, room)
            elif roll(dice) * (inside + outside) < inside:
                inside -= 1
                slot = held
                held += 1
            else:
                outside -= 1
            if slot >= 0:
                values[slot], ids[slot] = column[row], keys[row]
                stir(dice, np.uint64(keys[row]))
            there += 1
        elif there == 0:
            clock[5] += 1
        else:
            found = -1
            for slot in range(held):
                if ids[slot] == keys[row]:
                    found = slot
                    break
            if found >= 0:
                held -= 1
                values[found], ids[found] = values[held], ids[held]
                inside += 1
            else:
                outside += 1
            there -= 1
    clock[0], clock[1], clock[3], clock[4] = there, held, inside, outside
