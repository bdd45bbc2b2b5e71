"""Bank: many synopses of one kind, one for each group, updated by columns.

`ListBank` works for any synopsis: it sorts the rows by group and hands each its slice. A synopsis
whose state is an array of fixed size gives a bank of its own, with all groups in one array and one
compiled pass over the rows.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import Column, items
from streamgauge.kernel.memory import claimed
from streamgauge.synopses.questions import Heavy, Question
from streamgauge.synopses.synopsis import Array, Subtractable, Synopsis

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Bars(NamedTuple):
    """Estimates of all groups to one question, as columns; NaN value where there is nothing."""

    value: Floats
    low: Floats
    high: Floats
    confidence: float


class Bank(ABC):
    """Many synopses of one kind; group codes are 0 to `n_groups`, -1 is nobody's row."""

    model: Any
    n_groups: int
    # Whether groups of few rows take little, so that rows need not wait to be folded.
    starts_small: ClassVar[bool] = False

    @abstractmethod
    def resize(self, n_groups: int) -> None:
        """Make room for more groups, which are empty."""

    @abstractmethod
    def update(self, groups: Codes, column: Column, weights: Floats | None = None) -> None:
        """Fold rows, each into the synopsis of its group."""

    @abstractmethod
    def merge(self, other: Any) -> None:
        """Fold another bank, group by group."""

    @abstractmethod
    def subtract(self, other: Any) -> None:
        """Take another bank away; only for linear synopses."""

    @abstractmethod
    def clear(self) -> None:
        """Make every group empty."""

    @abstractmethod
    def bars(self, question: Question) -> Bars:
        """Estimates of every group."""

    @abstractmethod
    def synopsis(self, group: int) -> Synopsis:
        """The synopsis of one group, sharing nothing with the bank."""

    @abstractmethod
    def to_bytes(self) -> list[bytes]:
        """Bytes of each group's synopsis, empty bytes for an empty group."""

    @abstractmethod
    def load(self, data: list[bytes]) -> None:
        """Take groups from bytes; the bank has as many groups as there are entries."""

    def tops(self, question: Question) -> list[tuple[Heavy, ...]]:
        """Top lists of every group, for synopses that name items."""
        return [self.synopsis(group).query(question) for group in range(self.n_groups)]

    def placed(self, places: Ints, n_groups: int) -> Bank:
        """A bank of `n_groups` with this bank's group g at `places[g]`, the others empty."""
        data = [b""] * n_groups
        for place, part in zip(places.tolist(), self.to_bytes(), strict=True):
            data[place] = part
        moved = bank_of(self.model, 0)
        moved.load(data)
        return moved

    def chosen(self, groups: Ints) -> Bank:
        """A bank of some groups, numbered anew in the order asked for."""
        data = self.to_bytes()
        new = bank_of(self.model, 0)
        new.load([data[group] for group in groups.tolist()])
        return new

    def beside(self, other: Any) -> Bank:
        """The groups of this bank, then those of another, numbered on."""
        both = bank_of(self.model, 0)
        both.load([*self.to_bytes(), *other.to_bytes()])
        return both

    def save(self) -> dict[str, Array]:
        """State as arrays, for the state of a shard; a bank of arrays saves those."""
        parts = self.to_bytes()
        ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return {"ends": ends, "bytes": np.frombuffer(b"".join(parts), np.uint8)}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Take state as saved."""
        data, ends = arrays["bytes"].tobytes(), arrays["ends"].tolist()
        self.load([data[start:stop] for start, stop in itertools.pairwise(ends)])


class ListBank(Bank):
    """A bank of any synopsis.

    Examples
    --------
    >>> from streamgauge.synopses.frequencies.count_min import CountMin
    >>> from streamgauge.synopses.questions import Frequency
    >>> bank = ListBank(CountMin(64, 3, seed=1), 2)
    >>> bank.update(np.array([0, 1, 0], np.int32), ["a", "a", "b"])
    >>> bank.bars(Frequency("a")).value
    array([1., 1.])
    """

    def __init__(self, model: Synopsis, n_groups: int) -> None:
        self.model = model
        self.n_groups = 0
        self.held: list[Synopsis] = []
        self._claim = claimed()
        self.resize(n_groups)

    def resize(self, n_groups: int) -> None:
        """Make room for more groups."""
        if n_groups > self.n_groups:
            self._claim.ask(n_groups * self.model.nbytes)
        self.held += [self.model.empty() for _ in range(n_groups - self.n_groups)]
        self.n_groups = max(self.n_groups, n_groups)

    def update(self, groups: Codes, column: Column, weights: Floats | None = None) -> None:
        """Fold rows: sorted by group once, then a slice to each."""
        taken = items(column)
        codes: Any = taken.align(np.asarray(groups, np.int32))
        order, starts = by_group(codes, self.n_groups)
        # Sorting and slicing happen in Arrow, so that text costs no Python objects.
        sorted_items = taken.values.take(order)
        kept = taken.align(weights)
        sorted_weights = None if kept is None else kept[order]
        for group in np.flatnonzero(np.diff(starts)):
            start, stop = int(starts[group]), int(starts[group + 1])
            part = None if sorted_weights is None else sorted_weights[start:stop]
            self.held[group].update(sorted_items.slice(start, stop - start), part)

    def merge(self, other: ListBank) -> None:
        """Fold another bank, group by group."""
        self.resize(other.n_groups)
        for mine, theirs in zip(self.held, other.held, strict=False):
            if theirs.rows:
                mine.merge(theirs)

    def subtract(self, other: ListBank) -> None:
        """Take another bank away."""
        for mine, theirs in zip(self.held, other.held, strict=False):
            assert isinstance(mine, Subtractable), f"{mine!r} is not linear"
            if theirs.rows:
                mine.subtract(theirs)

    def clear(self) -> None:
        """Make every group empty."""
        self.held = [self.model.empty() for _ in range(self.n_groups)]

    def bars(self, question: Question) -> Bars:
        """Ask each group."""
        found = [held.query(question) for held in self.held]
        sure = min((bar.confidence for bar in found), default=1.0)
        return Bars(
            np.array([bar.value for bar in found], np.float64),
            np.array([bar.low for bar in found], np.float64),
            np.array([bar.high for bar in found], np.float64),
            sure,
        )

    def synopsis(self, group: int) -> Synopsis:
        """A copy of one group's synopsis."""
        return self.held[group].copy()

    def chosen(self, groups: Ints) -> ListBank:
        """A bank of some groups."""
        new = ListBank(self.model, 0)
        new.held = [self.held[group] for group in groups.tolist()]
        new.n_groups = len(new.held)
        return new

    def beside(self, other: ListBank) -> ListBank:
        """The groups of this bank, then those of another."""
        both = ListBank(self.model, 0)
        both.held = [*self.held, *other.held]
        both.n_groups = len(both.held)
        return both

    def to_bytes(self) -> list[bytes]:
        """Bytes of each group."""
        return [held.to_bytes() if held.rows or held.skipped else b"" for held in self.held]

    def load(self, data: list[bytes]) -> None:
        """Take groups from bytes."""
        kind = type(self.model)
        self.held = [kind.from_bytes(part) if part else self.model.empty() for part in data]
        self.n_groups = len(self.held)


def bank_of(model: Synopsis, n_groups: int) -> Bank:
    """Many empty synopses like the model, one for each group of a GROUP BY."""
    bank: Bank = (model.bank_kind or ListBank)(model, n_groups)
    return bank


def by_group(groups: Codes, n_groups: int) -> tuple[Ints, Ints]:
    """Order that sorts rows by group keeping their order, and where each group starts.

    >>> by_group(np.array([1, 0, -1, 1], np.int32), 2)
    (array([1, 0, 3]), array([0, 1, 3]))
    """
    starts = np.zeros(n_groups + 1, np.int64)
    order = np.empty(len(groups), np.int64)
    n = _counting_sort(groups, starts, order)
    return order[:n], starts


@compiled
def _counting_sort(groups, starts, order):  # type: ignore[no-untyped-def]
    n_groups = len(starts) - 1
    n = 0
    for group in groups:
        if group >= 0:
            starts[group + 1] += 1
            n += 1
    for group in range(n_groups):
        starts[group + 1] += starts[group]
    place = starts[:-1].copy()
    for row in range(len(groups)):
        group = groups[row]
        if group >= 0:
            order[place[group]] = row
            place[group] += 1
    return n
