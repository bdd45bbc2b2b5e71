"""Count-Min for many groups: all counters in one array, one compiled pass over the rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge.kernel.errors import IncompatibleSynopsis
from streamgauge.kernel.hashing import polynomial
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import Column, items, keys
from streamgauge.kernel.memory import claimed
from streamgauge.synopses.bank import Bank, Bars, Codes
from streamgauge.synopses.frequencies.slots import NO_WEIGHTS
from streamgauge.synopses.questions import Count, Frequency, Question
from streamgauge.synopses.synopsis import Array, Floats, Ints

if TYPE_CHECKING:
    from streamgauge.synopses.frequencies.count_min import CountMin

_COLUMNS = ("counters", "rows", "mass")


class CountMinBank(Bank):
    """Many Count-Mins in one array.

    Parameters
    ----------
    model
        An empty synopsis of the wanted size and seed.
    n_groups
        Groups to begin with.

    Examples
    --------
    >>> from streamgauge.synopses.frequencies.count_min import CountMin
    >>> bank = CountMinBank(CountMin(64, 3), 2)
    >>> bank.update(np.array([0, 1, 0], np.int32), ["a", "a", "a"])
    >>> bank.bars(Frequency("a")).value
    array([2., 1.])
    """

    def __init__(self, model: CountMin, n_groups: int) -> None:
        self.model = model
        self.n_groups = 0
        self.counters = np.zeros((0, model.depth, model.width))
        self.rows = np.zeros(0, np.int64)
        self.mass = np.zeros(0)
        self._claim = claimed()
        self.resize(n_groups)

    @property
    def nbytes(self) -> int:
        """Bytes of all counters."""
        return self.counters.nbytes + self.rows.nbytes + self.mass.nbytes

    def resize(self, n_groups: int) -> None:
        """Make room for more groups."""
        if n_groups <= self.n_groups:
            return
        self._claim.ask(n_groups * (8 * self.model.depth * self.model.width + 16))
        for name in _COLUMNS:
            old: Array = getattr(self, name)
            new = np.zeros((n_groups, *old.shape[1:]), old.dtype)
            new[: self.n_groups] = old
            setattr(self, name, new)
        self.n_groups = n_groups

    def update(self, groups: Codes, column: Column, weights: Floats | None = None) -> None:
        """Fold rows, each into the counters of its group."""
        taken = items(column)
        kept = self.model._checked_weights(weights, len(taken) + taken.skipped, taken)
        if len(taken):
            _fold_groups(
                self.counters,
                self.rows,
                self.mass,
                self.model._hashes,
                taken.align(np.asarray(groups, np.int32)),
                keys(taken, seed=self.model.seed),
                NO_WEIGHTS if kept is None else kept,
            )

    def merge(self, other: CountMinBank) -> None:
        """Fold another bank, group by group."""
        self.resize(other.n_groups)
        for name in _COLUMNS:
            getattr(self, name)[: other.n_groups] += getattr(other, name)

    def subtract(self, other: CountMinBank) -> None:
        """Take another bank away."""
        self.resize(other.n_groups)
        for name in _COLUMNS:
            getattr(self, name)[: other.n_groups] -= getattr(other, name)

    def clear(self) -> None:
        """Make every group empty."""
        for name in _COLUMNS:
            getattr(self, name)[:] = 0

    def bars(self, question: Question) -> Bars:
        """Counts or frequencies of every group."""
        if isinstance(question, Count):
            return Bars(self.mass.copy(), self.mass.copy(), self.mass.copy(), 1.0)
        if not isinstance(question, Frequency):
            raise IncompatibleSynopsis(
                f"count_min cannot answer {type(question).__name__}",
                "it answers Frequency, Count",
                "use space_saving for top lists",
            )
        key = keys(items([question.item]), seed=self.model.seed)[0]
        value = np.full(self.n_groups, math.inf)
        for row in range(self.model.depth):
            place = int(polynomial(key, self.model._hashes[row])) % self.model.width
            np.minimum(value, self.counters[:, row, place], out=value)
        guarantee = self.model.guarantee
        low = np.maximum(0.0, value - guarantee.epsilon * self.mass)
        return Bars(value, low, value.copy(), 1.0 - guarantee.delta)

    def synopsis(self, group: int) -> CountMin:
        """The synopsis of one group, sharing nothing with the bank."""
        new: CountMin = self.model.empty()
        new.counters[:] = self.counters[group]
        new.rows, new.mass = int(self.rows[group]), float(self.mass[group])
        return new

    def to_bytes(self) -> list[bytes]:
        """Bytes of each group."""
        return [
            self.synopsis(group).to_bytes() if self.rows[group] else b""
            for group in range(self.n_groups)
        ]

    def load(self, data: list[bytes]) -> None:
        """Take groups from bytes."""
        self.__init__(self.model, len(data))  # type: ignore[misc]
        for group, part in enumerate(data):
            if part:
                held = type(self.model).from_bytes(part)
                self.counters[group] = held.counters
                self.rows[group], self.mass[group] = held.rows, held.mass

    def chosen(self, groups: Ints) -> CountMinBank:
        """Counters of some groups."""
        new = CountMinBank(self.model, 0)
        new.restore({name: table[groups] for name, table in self.save().items()})
        return new

    def save(self) -> dict[str, Array]:
        """State as arrays."""
        return {name: getattr(self, name) for name in _COLUMNS}

    def restore(self, arrays: dict[str, Any]) -> None:
        """Take state as saved."""
        for name in _COLUMNS:
            setattr(self, name, arrays[name].copy())
        self.n_groups = len(self.rows)
        self._claim.ask(self.nbytes)


@compiled
def _fold_groups(counters, rows, mass, hashes, groups, column, weights):  # type: ignore[no-untyped-def]
    _, depth, width = counters.shape
    for i in range(len(column)):
        group = groups[i]
        if group < 0:
            continue
        weight = weights[i] if len(weights) else 1.0
        rows[group] += 1
        mass[group] += weight
        for row in range(depth):
            counters[group, row, polynomial(column[i], hashes[row]) % np.uint64(width)] += weight
