"""KLL: any quantile of numbers in a few kilobytes, mergeable, with a bar for what really happened.

Levels of items, each worth twice the one below. A full sketch sorts a level and throws a coin which
half of it moves up. Each such compaction moves the rank of a value by its items' worth, up or down
as the coin falls, or not at all; the sketch counts how often it happened, so the bar is the one of
this very stream and not of the worst. Same layout and rules as Apache DataSketches, whose bytes it
reads and writes, but coins that a replay throws alike, and all groups of a query in one array.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.keys import Column, items, numbers
from streamgauge.kernel.memory import claimed
from streamgauge.synopses.bank import Bank, Bars, Codes
from streamgauge.synopses.quantiles.kll_answers import (
    extremes_of,
    quantile_bars,
    range_bars,
    weights_of,
)
from streamgauge.synopses.quantiles.kll_bytes import Foreign, read, write
from streamgauge.synopses.quantiles.kll_levels import (
    LEVELS,
    NOISE,
    SMALLEST,
    Compactors,
    capacities,
    folded,
    fresh,
    group_of,
    set_group,
    widened,
)
from streamgauge.synopses.quantiles.kll_merge import merged
from streamgauge.synopses.quantiles.kll_pack import beside, chosen, moved, packed, unpacked
from streamgauge.synopses.questions import Count, Max, Min, Quantile, Question, RangeCount, Rank
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Synopsis, Trial, Values

_K_MAX = 65535


class Kll(Synopsis):
    """Quantiles and ranks, off by `3.3 / k` in rank at most at 99%, mostly by far less.

    Parameters
    ----------
    k
        Items of the top level, 8 to 65,535; the sketch holds about three times as many. Twice as
        many halve the error.
    delta
        Chance that one question's bar does not hold.
    seed
        Chooses the coins; parts to be merged need the same.

    Examples
    --------
    >>> sketch = Kll(k=200, seed=7)
    >>> sketch.update(range(100_000))
    >>> sketch.query(Quantile(0.5)).holds(49_999)
    True
    >>> print(sketch.query(Max()))
    99999 in [99999, 99999], kll
    >>> sketch.guarantee.epsilon < 3.3 / 200
    True

    References
    ----------
    KLL16: docs/references.md
    """

    name = "kll"
    answers = (Quantile, Rank, RangeCount, Count, Min, Max)
    takes = "numbers"
    weights = "none"
    merging = "error"
    small = (24, 0.05)

    def __init__(self, k: int = 200, delta: float = 0.01, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if not SMALLEST <= k <= _K_MAX or not 0.0 < delta < 1.0:
            raise BindError(
                f"k lies between {SMALLEST} and {_K_MAX}, delta between 0 and 1",
                f"got k={k}, delta={delta}",
                "write Kll(k=200, delta=0.01)",
            )
        self.k = k
        self.delta = delta
        self.state = fresh(k, 1, seed)

    @property
    def guarantee(self) -> Guarantee:
        """Off in rank by `epsilon` at most: of these rows, or before there are any, of any rows."""
        noise = float(self.state.reals[0, NOISE])
        exact = bool(self.rows) and noise == 0.0
        epsilon = _factor(self.delta) / self.k
        if self.rows:
            epsilon = min(1.0, _factor(self.delta) * math.sqrt(noise) / self.rows)
        return Guarantee(
            "rank",
            epsilon,
            0.0 if exact else self.delta,
            assumes=(
                "seed independent of the data",
                "merged parts are not built of the same rows in the same order",
            ),
            cite="KLL16 sec 2, by Azuma's inequality over the compactions that happened",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """`k` from the tolerance in rank and the confidence."""
        contract = need.contract
        if contract.tolerance != "rank" or contract.confidence == 1.0 or need.deletions:
            raise ContractUnsatisfiable(
                "kll owes a rank at a confidence below 100%, of rows that are not taken back",
                f"asked for {contract}",
                "write Contract.rank(0.01, confidence=0.99), or use log_histogram for deletions",
            )
        delta = round(1.0 - contract.confidence, 12)
        k = max(SMALLEST, math.ceil(_factor(delta) / contract.within))
        bytes_most = 8 * int(capacities(min(k, _K_MAX))[1][-1])
        if k > _K_MAX or (need.memory is not None and bytes_most > need.memory):
            k_most = _K_MAX if need.memory is None else min(_K_MAX, need.memory // 24 - 160)
            feasible = _factor(delta) / max(SMALLEST, k_most)
            raise ContractUnsatisfiable(
                "kll would be too large",
                f"{contract} needs k={k}, {bytes_most} bytes; memory is {need.memory}",
                f"ask for Contract.rank({feasible:.2g}, confidence={contract.confidence})",
            )
        return cls(k, delta, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Rows that come alternately from both sides of the value asked for.

        Then about half of all compactions, the most that random rows can do, move its rank.
        """
        sides = np.random.default_rng(seed).permutation(4001)
        return Trial(sides.astype(np.int64), Rank(2000.0))

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        self.state = folded(self.state, np.zeros(len(column), np.int32), column)

    def _merge(self, other: Self) -> None:
        self.state = merged(self.state, other.state)

    def _answer(self, question: Any) -> Any:
        value, low, high, sure = _bars(self.state, question, self.delta)
        return self._bar(float(value[0]), float(low[0]), float(high[0]), 1.0 - sure)

    def _save(self) -> tuple[Values, Arrays]:
        return {}, group_of(self.state, 0)

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.state = set_group(fresh(self.k, 1, self.seed), 0, arrays)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays, with the room that is still free."""
        state = self.state
        own = (state.items, state.spots, state.heads, state.above, state.reals)
        return sum(array.nbytes for array in own)

    def to_datasketches(self) -> bytes:
        """Bytes that `kll_doubles_sketch` of Apache DataSketches and Spark read."""
        low, high = np.empty(1), np.empty(1)
        extremes_of(self.state, low, high)
        return write(self.k, self.rows, group_of(self.state, 0), float(low[0]), float(high[0]))

    @classmethod
    def from_datasketches(cls, data: bytes, *, delta: float = 0.01, seed: int = 0) -> Self:
        """Read a sketch of doubles or floats by DataSketches or Spark.

        Such bytes do not say how often it compacted; the bar is then the one of the most often
        that its rules allow, up to twice as wide.
        """
        foreign = read(data)
        new = cls(foreign.k, delta, seed=seed)
        new.rows, new.mass = foreign.n, float(foreign.n)
        new._load({}, _arrays_of(foreign))
        return new

    def validate(self) -> None:
        """Compaction keeps the weight, levels are sorted and hold no more than they may."""
        found = group_of(self.state, 0)
        above = np.append(found["above"].astype(np.int64), 0)
        assert _rows_of(found) == self.rows
        assert above[0] <= self.state.totals[len(above) - 1]
        for top, bottom in pairwise(above[1:]):
            level = found["items"][above[0] - top : above[0] - bottom]
            assert (np.diff(level) >= 0).all()


def _rows_of(arrays: Arrays) -> int:
    """Rows of a group: an item of level h stands for 2^h of them."""
    sizes = -np.diff(np.append(arrays["above"].astype(np.int64), 0))
    return int(sizes @ (1 << np.arange(len(sizes), dtype=np.int64)))


def _factor(delta: float) -> float:
    """Error over the root of the noise: a side fails with chance delta / 2."""
    return math.sqrt(2.0 * math.log(2.0 / delta))


def _bars(state: Compactors, question: Question, delta: float) -> Bars:
    n_groups = len(state.heads)
    value, low, high = np.empty(n_groups), np.empty(n_groups), np.empty(n_groups)
    sure = 1.0 - delta if bool((state.reals[:, NOISE] > 0.0).any()) else 1.0
    if isinstance(question, Quantile):
        quantile_bars(state, question.phi, _factor(delta), value, low, high)
        return Bars(value, low, high, sure)
    if isinstance(question, Rank):
        range_bars(state, -np.inf, question.value, _factor(delta), value, low, high)
        return Bars(value, low, high, sure)
    if isinstance(question, RangeCount):
        range_bars(state, question.low, question.high, _factor(delta), value, low, high)
        return Bars(value, low, high, sure)
    if isinstance(question, Count):
        weights_of(state, value)
        return Bars(value, value.copy(), value.copy(), 1.0)
    extremes_of(state, low, high)
    nothing = low > high
    found = low if isinstance(question, Min) else high
    value = np.where(nothing, np.nan, found)
    return Bars(value, np.where(nothing, -np.inf, value), np.where(nothing, np.inf, value), 1.0)


def _arrays_of(foreign: Foreign) -> Arrays:
    """Arrays of a group whose compactions are unknown: each level compacted all it could."""
    height = len(foreign.above)
    caps = capacities(foreign.k_min)[0]
    noise = sum(
        2.0**level * foreign.n / (int(caps[height - 1 - level]) // 2 * 2)
        for level in range(height - 1)
    )
    origin = int(foreign.items.view(np.int64).sum()) if height > 1 else 0
    return {
        "items": foreign.items,
        "above": foreign.above,
        "reals": np.array([foreign.low, foreign.high, noise]),
        "heads": np.array([1 if height > 1 else 0, origin], np.int64),
    }


# Heads, counts of levels, extremes and room for the first items of a group.
_EMPTY_BYTES = 16 + 40 + 4 * (LEVELS + 1) + 24 + 8 * SMALLEST


class KllBank(Bank):
    """KLL sketches of all groups in shared arrays: one compiled pass over the rows.

    Examples
    --------
    >>> bank = KllBank(Kll(k=200), 2)
    >>> bank.update(np.array([0, 1, 0], np.int32), [1.0, 5.0, 3.0])
    >>> bank.bars(Quantile(1.0)).value
    array([3., 5.])
    """

    def __init__(self, model: Kll, n_groups: int) -> None:
        self.model = model
        self.n_groups = n_groups
        self._claim = claimed()
        self._claim.ask(_EMPTY_BYTES * n_groups)
        self.state = fresh(model.k, n_groups, model.seed)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.state)

    def resize(self, n_groups: int) -> None:
        """Make room for more groups."""
        if n_groups > self.n_groups:
            self._claim.ask(self.nbytes + _EMPTY_BYTES * (n_groups - self.n_groups))
        self.state = widened(self.state, n_groups)
        self.n_groups = max(self.n_groups, n_groups)

    def update(self, groups: Codes, column: Column, weights: Floats | None = None) -> None:
        """Fold rows in their order."""
        given = items(column)
        self.model._checked_weights(weights, len(given) + given.skipped, given)
        codes = np.ascontiguousarray(given.align(np.asarray(groups, np.int32)))
        self.state = folded(self.state, codes, numbers(given))
        self._claim.ask(self.nbytes)

    def merge(self, other: KllBank) -> None:
        """Fold another bank, group by group."""
        self.model._check_fits(other.model)
        self.resize(other.n_groups)
        self.state = merged(self.state, other.state)
        self._claim.ask(self.nbytes)

    def subtract(self, other: KllBank) -> None:
        """Refuse: what was compacted away cannot be taken back."""
        raise NotImplementedError("kll is not linear")

    def clear(self) -> None:
        """Make every group empty."""
        self.state = fresh(self.model.k, self.n_groups, self.model.seed)

    def bars(self, question: Question) -> Bars:
        """Estimates of every group."""
        return _bars(self.state, question, self.model.delta)

    def synopsis(self, group: int) -> Kll:
        """One group's sketch."""
        new: Kll = self.model.empty()
        found = group_of(self.state, group)
        new._load({}, found)
        new.rows = _rows_of(found)
        new.mass = float(new.rows)
        return new

    def to_bytes(self) -> list[bytes]:
        """Bytes of each group."""
        held = (self.synopsis(group) for group in range(self.n_groups))
        return [sketch.to_bytes() if sketch.rows else b"" for sketch in held]

    def load(self, data: list[bytes]) -> None:
        """Take groups from bytes."""
        self.n_groups = len(data)
        self.clear()
        for group, part in enumerate(data):
            if part:
                found = Kll.from_bytes(part)
                self.model._check_fits(found)
                self.state = set_group(self.state, group, group_of(found.state, 0))

    def placed(self, places: npt.NDArray[np.int64], n_groups: int) -> KllBank:
        """Sketches moved to other groups."""
        new = KllBank(self.model, 0)
        new.restore(moved(self.save(), places, n_groups))
        return new

    def chosen(self, groups: npt.NDArray[np.int64]) -> KllBank:
        """Sketches of some groups."""
        new = KllBank(self.model, 0)
        new.restore(chosen(self.save(), groups))
        return new

    def beside(self, other: KllBank) -> KllBank:
        """The groups of this bank, then those of another."""
        new = KllBank(self.model, 0)
        new.restore(beside(self.save(), other.save()))
        return new

    def save(self) -> Arrays:
        """State as arrays."""
        return packed(self.state)

    def restore(self, arrays: Arrays) -> None:
        """Take state as saved."""
        self.n_groups = len(arrays["heads"])
        self.state = unpacked(self.model.k, self.model.seed, arrays)
        self._claim.ask(self.nbytes)


Kll.bank_kind = KllBank
