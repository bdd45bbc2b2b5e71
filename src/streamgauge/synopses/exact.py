"""Exact: every distinct number with its weight; what a contract of no error is held by.

Its state grows with the number of distinct items, so it is a synopsis in manners only. It is
linear, and the measure of all others.
"""

from __future__ import annotations

import itertools
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from streamgauge.contracts.estimate import NOTHING, Estimate
from streamgauge.contracts.guarantee import EXACT, Guarantee
from streamgauge.kernel.keys import Column, items, numbers
from streamgauge.kernel.memory import claimed
from streamgauge.synopses import questions as q
from streamgauge.synopses.bank import Bank, Bars
from streamgauge.synopses.questions import Heavy, Question
from streamgauge.synopses.synopsis import (
    Array,
    Enumerable,
    Floats,
    Ints,
    Need,
    Subtractable,
    Synopsis,
    Trial,
)

Codes = npt.NDArray[np.int32]


class Exact(Synopsis, Subtractable, Enumerable):
    """All distinct numbers and their weights.

    Examples
    --------
    >>> from streamgauge.synopses.questions import Distinct, Quantile
    >>> held = Exact()
    >>> held.update([3.0, 1.0, 3.0])
    >>> print(held.query(Quantile(0.5)), "|", held.query(Distinct()))
    3 in [3, 3], exact | 2 in [2, 2], exact
    """

    name = "exact"
    answers = (
        q.Count, q.Sum, q.Mean, q.Variance, q.Min, q.Max, q.Quantile, q.Rank, q.RangeCount,
        q.Frequency, q.Distinct, q.Moment, q.HeavyHitters, q.TopK,
    )  # fmt: skip
    takes = "numbers"
    weights = "strict"
    fields = ("items", "totals")

    def __init__(self, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.items: Floats = np.empty(0)
        self.totals: Floats = np.empty(0)

    @property
    def guarantee(self) -> Guarantee:
        """No error."""
        return EXACT

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """It holds any contract."""
        return cls(seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Any rows will do."""
        return Trial(np.random.default_rng(seed).integers(0, 50, 200), q.Quantile(0.3))

    def _add(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        given = np.ones(len(column)) if weights is None else weights
        self._fold(column, given)

    def _fold(self, column: Floats, weights: Floats) -> None:
        both = np.concatenate((self.items, column))
        distinct, totals = q.totals_of(both, np.concatenate((self.totals, weights)))
        self.items, self.totals = distinct[totals != 0.0], totals[totals != 0.0]

    def _merge(self, other: Self) -> None:
        self._fold(other.items, other.totals)

    def _subtract(self, other: Any) -> None:
        self._fold(other.items, -other.totals)

    def _answer(self, question: Any) -> Any:
        if isinstance(question, q.TopK | q.HeavyHitters):
            share = question.share * self.mass if isinstance(question, q.HeavyHitters) else 0.0
            heavy = [i for i in self._ranked() if self.totals[i] >= share and self.totals[i] > 0]
            limit = question.k if isinstance(question, q.TopK) else len(heavy)
            return tuple(
                Heavy(self.items[i].item(), _sure(self.totals[i].item())) for i in heavy[:limit]
            )
        truth = question.truth(self.items, self.totals)
        return NOTHING if np.isnan(truth) else _sure(truth)

    def _ranked(self) -> Ints:
        return np.lexsort((self.items, -self.totals))

    def candidates(self) -> list[Any]:
        """All items, heaviest first."""
        return [self.items[i].item() for i in self._ranked()]

    def validate(self) -> None:
        """Items ascend; none has weight zero."""
        assert (np.diff(self.items) > 0).all()
        assert (self.totals != 0.0).all()


def _sure(value: float) -> Estimate:
    return Estimate(value, value, value)


class ExactBank(Bank):
    """Every group's distinct numbers in one sorted table (group, item, weight)."""

    def __init__(self, model: Exact, n_groups: int) -> None:
        self.model = model
        self.n_groups = n_groups
        self._claim = claimed()
        self.clear()

    def clear(self) -> None:
        """Make every group empty."""
        self._claim.ask(0)
        self.group: Codes = np.empty(0, np.int32)
        self.item: Floats = np.empty(0)
        self.total: Floats = np.empty(0)
        self.pending: list[tuple[Codes, Floats, Floats]] = []
        self.rows: Ints = np.zeros(self.n_groups, np.int64)

    def resize(self, n_groups: int) -> None:
        """Make room for more groups."""
        if n_groups > self.n_groups:
            more = np.zeros(n_groups - self.n_groups, np.int64)
            self.rows, self.n_groups = np.concatenate((self.rows, more)), n_groups

    def update(self, groups: Codes, column: Column, weights: Floats | None = None) -> None:
        """Keep the rows until they are asked for."""
        taken = items(column)
        codes = np.asarray(taken.align(np.asarray(groups, np.int32)))
        values, mine = numbers(taken), codes >= 0
        given = taken.align(weights)
        part = np.ones(int(mine.sum())) if given is None else given[mine]
        self._put(codes[mine], values[mine], part)
        signs = np.sign(part) if given is not None else part
        self.rows += np.bincount(codes[mine], signs, minlength=self.n_groups).astype(np.int64)

    def _put(self, group: Codes, item: Floats, total: Floats) -> None:
        if len(group):
            self._claim.ask(self._claim.held + group.nbytes + item.nbytes + total.nbytes)
            self.pending.append((group, item, total))

    def _settle(self) -> None:
        if not self.pending:
            return
        parts = [(self.group, self.item, self.total), *self.pending]
        group, item, total = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((item, group))
        group, item, total = group[order], item[order], total[order]
        new = np.ones(len(group), np.bool_)
        new[1:] = (group[1:] != group[:-1]) | (item[1:] != item[:-1])
        starts = np.flatnonzero(new)
        sums = np.add.reduceat(total, starts) if len(starts) else total
        kept = sums != 0.0
        self.group, self.item, self.total = group[starts][kept], item[starts][kept], sums[kept]
        self.pending = []
        self._claim.ask(self.group.nbytes + self.item.nbytes + self.total.nbytes)

    def merge(self, other: ExactBank) -> None:
        """Fold another bank, group by group."""
        self.resize(other.n_groups)
        other._settle()
        self._put(other.group, other.item, other.total)
        self.rows[: other.n_groups] += other.rows

    def subtract(self, other: ExactBank) -> None:
        """Take another bank away."""
        other._settle()
        self._put(other.group, other.item, -other.total)
        self.rows[: other.n_groups] -= other.rows

    def bars(self, question: Question) -> Bars:
        """Exact answers of every group."""
        self._settle()
        starts = np.searchsorted(self.group, np.arange(self.n_groups + 1, dtype=np.int32))
        if isinstance(question, q.Quantile):
            value = self._quantiles(question.phi, starts)
        else:
            value = np.array(
                [
                    question.truth(self.item[a:b], self.total[a:b])
                    for a, b in itertools.pairwise(starts)
                ],
                np.float64,
            )
        return Bars(
            value,
            np.where(np.isnan(value), -np.inf, value),
            np.where(np.isnan(value), np.inf, value),
            1.0,
        )

    def _quantiles(self, phi: float, starts: Ints) -> Floats:
        value = np.full(self.n_groups, np.nan)
        if not len(self.item):
            return value
        reached = np.concatenate(([0.0], np.cumsum(self.total)))
        mass = reached[starts[1:]] - reached[starts[:-1]]
        rank = reached[starts[:-1]] + np.maximum(phi * mass, 1e-12) * (1.0 - 1e-12)
        place = np.searchsorted(reached[1:], rank, side="left")
        place = np.clip(place, starts[:-1], np.maximum(starts[1:] - 1, starts[:-1]))
        there = mass > 0
        value[there] = self.item[place[there]]
        return value

    def synopsis(self, group: int) -> Exact:
        """One group alone."""
        self._settle()
        here = self.group == group
        one: Exact = self.model.empty()
        one.items, one.totals = self.item[here].copy(), self.total[here].copy()
        one.rows, one.mass = int(self.rows[group]), float(self.total[here].sum())
        return one

    def to_bytes(self) -> list[bytes]:
        """Bytes of each group."""
        held = [self.synopsis(group) for group in range(self.n_groups)]
        return [one.to_bytes() if one.rows else b"" for one in held]

    def load(self, data: list[bytes]) -> None:
        """Take groups from bytes."""
        self.n_groups = len(data)
        self.clear()
        for group, part in enumerate(data):
            if part:
                one = Exact.from_bytes(part)
                self._put(np.full(len(one.items), group, np.int32), one.items, one.totals)
                self.rows[group] = one.rows

    def renumber(self, numbers: Floats) -> None:
        """Give items that are places in a table their place in another."""
        self._settle()
        item = numbers[self.item.astype(np.int64)]
        order = np.lexsort((item, self.group))
        self.item, self.total = item[order], self.total[order]

    def beside(self, other: ExactBank) -> ExactBank:
        """The groups of this bank, then those of another."""
        self._settle()
        other._settle()
        both = ExactBank(self.model, self.n_groups + other.n_groups)
        both.group = np.concatenate((self.group, other.group + np.int32(self.n_groups)))
        both.item = np.concatenate((self.item, other.item))
        both.total = np.concatenate((self.total, other.total))
        both.rows = np.concatenate((self.rows, other.rows))
        return both

    def chosen(self, groups: Ints) -> ExactBank:
        """The rows of some groups, which ascend."""
        self._settle()
        new = ExactBank(self.model, len(groups))
        number = np.full(self.n_groups, -1, np.int32)
        number[groups] = np.arange(len(groups), dtype=np.int32)
        there = number[self.group] >= 0
        new.group, new.item = number[self.group][there], self.item[there]
        new.total, new.rows = self.total[there], self.rows[groups]
        return new

    def save(self) -> dict[str, Array]:
        """The table."""
        self._settle()
        return {"group": self.group, "item": self.item, "total": self.total, "rows": self.rows}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Take the table back."""
        self.n_groups, self.pending = len(arrays["rows"]), []
        self.group, self.item = arrays["group"], arrays["item"]
        self.total, self.rows = arrays["total"], arrays["rows"]
        self._claim.ask(self.group.nbytes + self.item.nbytes + self.total.nbytes)


Exact.bank_kind = ExactBank
KINDS: tuple[type[Synopsis], ...] = (Exact,)
