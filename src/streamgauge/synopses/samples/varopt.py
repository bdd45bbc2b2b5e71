"""VarOpt: k rows by weight, with the least variance that sums over them can have.

Rows heavier than a threshold are all kept; the others are kept with chance weight / threshold and
then stand for the threshold. When a row comes the threshold rises so that exactly one row goes.
The sum of what the sampled rows stand for is the total weight, always.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.questions import Count, Frequency
from streamgauge.synopses.samples.designs import Drawn
from streamgauge.synopses.samples.dice import roll, stir
from streamgauge.synopses.samples.sampled import BYTES_PER_ROW, COUNTED, Sampled
from streamgauge.synopses.samples.unequal import Proportional, share_of_weight
from streamgauge.synopses.synopsis import Floats, Ints, Need, Trial


class VarOpt(Sampled):
    """`k` rows in proportion to their weights.

    Parameters
    ----------
    k
        Rows kept.
    delta
        Chance that a bar fails.
    seed
        Chooses the rows; parts to be merged need the same.

    Examples
    --------
    >>> sample = VarOpt(k=100, seed=1)
    >>> sample.update(np.arange(10_000) % 10, weights=np.full(10_000, 2.0))
    >>> print(sample.query(Frequency(3)))
    2000 in [660.453, 4496.88] at 95% confidence, varopt

    References
    ----------
    CDKLT11: docs/reference/synopses/samples.md
    """

    name = "varopt"
    answers = (Count, *COUNTED)
    weights = "positive"
    law = "additive"
    fields = ("values", "sizes", "counts", "levels")
    small = (100,)

    def __init__(self, k: int, delta: float = 0.05, *, seed: int = 0) -> None:
        if k < 1:
            raise BindError("a sample needs room for a row", f"got k={k}", "write VarOpt(k=1000)")
        super().__init__(delta=delta, seed=seed)
        self.k = k
        # A heap of rows above the threshold (the lightest first), then the others.
        self.values = np.zeros(k + 1)
        self.sizes = np.zeros(k + 1)
        # Rows in the heap, rows of both.
        self.counts = np.zeros(2, np.int64)
        # Threshold, total weight.
        self.levels = np.zeros(2)

    @property
    def guarantee(self) -> Guarantee:
        """Weights of any set of rows within `epsilon` of the total weight."""
        epsilon = share_of_weight(self.k, self.delta)
        return Guarantee(
            self.law, epsilon, self.delta, ("seed independent of the data",), "CDKLT11"
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Size from the tolerance, a share of the total weight, by doubling and halving."""
        _, delta = cls._rows_for(need)
        contract = need.contract
        if contract.tolerance not in ("relative", "rank") or not isinstance(
            need.question, Frequency | Count
        ):
            raise ContractUnsatisfiable(
                "varopt owes a share of the total weight",
                f"asked for {contract} of {type(need.question).__name__}",
                "write Contract.relative(0.05, confidence=0.95) of a frequency",
            )
        need.afford(cls.name, 0.5 * BYTES_PER_ROW / contract.within**2)
        k = 1
        while share_of_weight(k, delta) > contract.within:
            k *= 2
        low = k // 2
        while low + 1 < k:
            middle = (low + k) // 2
            low, k = (
                (middle, k) if share_of_weight(middle, delta) > contract.within else (low, middle)
            )
        if need.memory is not None and k * BYTES_PER_ROW > need.memory:
            feasible = share_of_weight(max(1, need.memory // BYTES_PER_ROW), delta)
            raise ContractUnsatisfiable(
                "varopt does not hold the contract in this memory",
                f"{k} rows of {BYTES_PER_ROW} bytes, {need.memory} allowed",
                f"write Contract.relative({feasible:.3g}, confidence={contract.confidence:g})",
            )
        return cls(k, delta, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Many rows of one weight, of which one in ten is asked for."""
        rows = np.arange(4000, dtype=np.int64) % 10
        return Trial(rows, Frequency(0), weights=np.full(4000, 0.5))

    def sample(self) -> Drawn:
        """The rows held, each standing for its weight or for the threshold."""
        heavy, held = self.counts.tolist()
        weights = self.sizes[:held].copy()
        weights[heavy:] = self.levels[0]
        design = Proportional(weights, float(self.levels[0]), float(self.levels[1]))
        return Drawn(self.values[:held].copy(), design)

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        sizes = np.ones(len(column)) if weights is None else np.ascontiguousarray(weights)
        self._offer(column, sizes)

    def _offer(self, column: Floats, sizes: Floats) -> None:
        state = self.values, self.sizes, self.counts, self.levels
        _offer_rows(*state, self.dice, column, column.view(np.uint64), sizes)

    def _merge(self, other: Self) -> None:
        if not other.counts[1]:
            return
        self._merge_shared(other)
        theirs = other.sample()
        if self.levels[0] < other.levels[0]:
            # The higher threshold rules: begin with its sample and offer the other's rows.
            mine = self.sample()
            self.values[:], self.sizes[:] = other.values, other.sizes
            self.counts[:], self.levels[:] = other.counts, other.levels
            theirs = mine
        self._offer(theirs.values, theirs.design.stands_for(len(theirs.values)))

    def validate(self) -> None:
        """What the rows stand for adds up to all weight."""
        heavy, held = self.counts.tolist()
        assert heavy <= held <= self.k
        stands = self.sample().design.stands_for(held).sum()
        assert np.isclose(stands, self.levels[1], rtol=1e-6), f"{stands} of {self.levels[1]}"
        assert (self.sizes[:heavy] > self.levels[0]).all()


@compiled
def _offer_rows(  # type: ignore[no-untyped-def]
    values, sizes, counts, levels, dice, column, words, weights
):
    k = len(values) - 1
    heavy, held = counts[0], counts[1]
    threshold, total = levels[0], levels[1]
    for row in range(len(column)):
        total += weights[row]
        light_sum = threshold * (held - heavy)
        if weights[row] > threshold:
            # Into the heap, whose end a light row may have to leave.
            values[held], sizes[held] = values[heavy], sizes[heavy]
            _push(values, sizes, heavy, column[row], weights[row])
            heavy += 1
            held += 1
            own = -1
        else:
            values[held], sizes[held] = column[row], weights[row]
            light_sum += weights[row]
            own = held
            held += 1
        stir(dice, words[row])
        if held <= k:
            continue
        # k + 1 rows: raise the threshold until their chances add up to k. Rows that leave the
        # heap on the way lie just behind it.
        left = heavy
        while heavy > 0 and (held - heavy < 2 or light_sum >= sizes[0] * (held - heavy - 1)):
            light_sum += sizes[0]
            _pop(values, sizes, heavy)
            heavy -= 1
        raised = light_sum / (held - heavy - 1)
        _drop_one(values, sizes, dice, heavy, left, held, own, threshold, raised)
        held -= 1
        threshold = raised
    counts[0], counts[1] = heavy, held
    levels[0], levels[1] = threshold, total


@compiled
def _drop_one(  # type: ignore[no-untyped-def]
    values, sizes, dice, heavy, left, held, own, threshold, raised
):
    """Drop one light row, each with the chance that its weight leaves to one."""
    at = roll(dice)
    gone = -1
    for slot in range(heavy, left):
        at -= 1.0 - sizes[slot] / raised
        if at < 0.0 and gone < 0:
            gone = slot
    if gone < 0 and own >= 0:
        at -= 1.0 - sizes[own] / raised
        if at < 0.0:
            gone = own
    if gone < 0:
        # All older light rows have one weight, the old threshold.
        olds = held - left - (1 if own >= 0 else 0)
        gone = held - 1 if olds <= 0 else left + min(np.int64(roll(dice) * olds), olds - 1)
    last = held - 1
    values[gone], sizes[gone] = values[last], sizes[last]


@compiled
def _push(values, sizes, size, value, weight):  # type: ignore[no-untyped-def]
    at = size
    while at > 0 and sizes[(at - 1) // 2] > weight:
        above = (at - 1) // 2
        values[at], sizes[at] = values[above], sizes[above]
        at = above
    values[at], sizes[at] = value, weight


@compiled
def _pop(values, sizes, size):  # type: ignore[no-untyped-def]
    """Take the lightest out of the heap and put it right behind the heap."""
    value, weight = values[0], sizes[0]
    last = size - 1
    moved_value, moved = values[last], sizes[last]
    at = 0
    while 2 * at + 1 < last:
        child = 2 * at + 1
        if child + 1 < last and sizes[child + 1] < sizes[child]:
            child += 1
        if sizes[child] >= moved:
            break
        values[at], sizes[at] = values[child], sizes[child]
        at = child
    values[at], sizes[at] = moved_value, moved
    values[last], sizes[last] = value, weight
