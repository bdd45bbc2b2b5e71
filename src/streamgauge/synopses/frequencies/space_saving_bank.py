"""Space-Saving for many groups: all tables in one array, one compiled pass over the rows.

Rows are sorted by group first, so that one table at a time is in the cache; within a group they
keep their order, so that each table is the one which its group's rows alone would give.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.errors import IncompatibleSynopsis
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import Column, items
from streamgauge.kernel.memory import claimed
from streamgauge.synopses.bank import Bank, Bars, Codes, by_group
from streamgauge.synopses.frequencies.slots import NO_WEIGHTS, find, fold, merge_tables
from streamgauge.synopses.frequencies.vocabulary import Vocabulary
from streamgauge.synopses.questions import Count, Frequency, Question
from streamgauge.synopses.synopsis import Array, Floats

if TYPE_CHECKING:
    from streamgauge.synopses.frequencies.space_saving import SpaceSaving

_COLUMNS = ("words", "counts", "errors", "floor", "held", "rows", "mass")


class SpaceSavingBank(Bank):
    """Many Space-Savings in shared arrays.

    Parameters
    ----------
    model
        An empty synopsis of the wanted capacity and seed.
    n_groups
        Groups to begin with.

    Examples
    --------
    >>> from streamgauge.synopses.frequencies.space_saving import SpaceSaving
    >>> from streamgauge.synopses.questions import TopK
    >>> bank = SpaceSavingBank(SpaceSaving(10), 2)
    >>> bank.update(np.array([0, 1, 0, 0], np.int32), ["a", "a", "b", "b"])
    >>> [found.item for found in bank.synopsis(0).query(TopK(1))]
    ['b']
    """

    def __init__(self, model: SpaceSaving, n_groups: int) -> None:
        self.model = model
        self.n_groups = 0
        n_slots = len(model.words)
        self.words = np.zeros((0, n_slots), np.uint64)
        self.counts = np.zeros((0, n_slots))
        self.errors = np.zeros((0, n_slots))
        self.floor = np.zeros(0)
        self.held = np.zeros(0, np.int64)
        self.rows = np.zeros(0, np.int64)
        self.mass = np.zeros(0)
        self.vocabulary = Vocabulary(seed=model.seed, room=4 * model.limit)
        self._claim = claimed()
        self.resize(n_groups)

    @property
    def nbytes(self) -> int:
        """Bytes of all tables and of the kept texts."""
        arrays: list[Array] = [getattr(self, name) for name in _COLUMNS]
        return sum(array.nbytes for array in arrays) + self.vocabulary.nbytes

    def resize(self, n_groups: int) -> None:
        """Make room for more groups."""
        more = n_groups - self.n_groups
        if more <= 0:
            return
        self._claim.ask(n_groups * (24 * self.words.shape[1] + 32))
        for name in _COLUMNS:
            old: Array = getattr(self, name)
            new = np.zeros((n_groups, *old.shape[1:]), old.dtype)
            new[: self.n_groups] = old
            setattr(self, name, new)
        self.n_groups = n_groups

    def update(self, groups: Codes, column: Column, weights: Floats | None = None) -> None:
        """Fold rows, each into the table of its group."""
        taken = items(column)
        kept = self.model._checked_weights(weights, len(taken) + taken.skipped, taken)
        if not len(taken):
            return
        words = self.vocabulary.words(taken)
        aligned: Any = taken.align(np.asarray(groups, np.int32))
        order, starts = by_group(aligned, self.n_groups)
        weight = NO_WEIGHTS if kept is None else kept
        _fold_groups(
            self.words,
            self.counts,
            self.errors,
            self.floor,
            self.held,
            self.mass,
            self.model.capacity,
            self.model.limit,
            words,
            weight,
            order,
            starts,
        )
        self.rows += np.diff(starts)
        self._forget()

    def merge(self, other: SpaceSavingBank) -> None:
        """Fold another bank, group by group."""
        self.resize(other.n_groups)
        self.vocabulary.join(other.vocabulary)
        n = other.n_groups
        _merge_groups(
            self.words,
            self.counts,
            self.errors,
            self.floor,
            self.held,
            other.words,
            other.counts,
            other.errors,
            other.floor,
            other.held,
            self.model.capacity,
            self.model.limit,
        )
        self.rows[:n] += other.rows
        self.mass[:n] += other.mass
        self._forget()

    def subtract(self, other: Any) -> None:
        """Not linear: what was dropped cannot be taken away."""
        raise IncompatibleSynopsis(
            "space_saving cannot be subtracted",
            "its counters forget items",
            "use count_min or count_sketch for windows kept by subtraction",
        )

    def clear(self) -> None:
        """Make every group empty."""
        for name in _COLUMNS:
            getattr(self, name)[:] = 0

    def bars(self, question: Question) -> Bars:
        """Counts or frequencies of every group."""
        if isinstance(question, Count):
            return Bars(self.mass.copy(), self.mass.copy(), self.mass.copy(), 1.0)
        if not isinstance(question, Frequency):
            self.model.query(question)  # refuses what is no question of numbers
            raise IncompatibleSynopsis(
                f"{type(question).__name__} gives lists, not bars",
                f"{self.n_groups} groups",
                "ask bank.tops(question)",
            )
        low, high = np.zeros(self.n_groups), np.zeros(self.n_groups)
        word = self.vocabulary.word(question.item)
        if word is not None:
            _look_up(self.words, self.counts, self.errors, self.floor, word, low, high)
        return Bars(low.copy(), low, high, 1.0)

    def synopsis(self, group: int) -> SpaceSaving:
        """The synopsis of one group, sharing nothing with the bank."""
        new: SpaceSaving = self.model.empty()
        new.words[:] = self.words[group]
        new.counts[:] = self.counts[group]
        new.errors[:] = self.errors[group]
        new.floor, new.held = float(self.floor[group]), int(self.held[group])
        new.rows, new.mass = int(self.rows[group]), float(self.mass[group])
        if new.rows:
            new.vocabulary.join(self.vocabulary)
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
                self._put(group, type(self.model).from_bytes(part))

    def placed(self, places: npt.NDArray[np.int64], n_groups: int) -> SpaceSavingBank:
        """Tables moved to other groups."""
        new = SpaceSavingBank(self.model, n_groups)
        for name in _COLUMNS:
            getattr(new, name)[places] = getattr(self, name)
        new.vocabulary.join(self.vocabulary)
        return new

    def chosen(self, groups: npt.NDArray[np.int64]) -> SpaceSavingBank:
        """Tables of some groups."""
        new = SpaceSavingBank(self.model, 0)
        for name in _COLUMNS:
            setattr(new, name, getattr(self, name)[groups])
        new.n_groups = len(groups)
        new.vocabulary.join(self.vocabulary)
        return new

    def save(self) -> dict[str, Array]:
        """State as arrays."""
        held = self.words[self.counts > 0.0]
        own = {f"own_{name}": getattr(self, name) for name in _COLUMNS}
        return {**own, **self.vocabulary.save(held)}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Take state as saved."""
        self.__init__(self.model, 0)  # type: ignore[misc]
        for name in _COLUMNS:
            setattr(self, name, arrays[f"own_{name}"].copy())
        self.n_groups = len(self.rows)
        self.vocabulary.load(arrays)
        self._claim.ask(self.nbytes)

    def _put(self, group: int, synopsis: SpaceSaving) -> None:
        self.words[group] = synopsis.words
        self.counts[group] = synopsis.counts
        self.errors[group] = synopsis.errors
        self.floor[group], self.held[group] = synopsis.floor, synopsis.held
        self.rows[group], self.mass[group] = synopsis.rows, synopsis.mass
        self.vocabulary.join(synopsis.vocabulary)

    def _forget(self) -> None:
        if self.vocabulary.textual:
            self.vocabulary.keep(self.words[self.counts > 0.0])


@compiled
def _fold_groups(  # type: ignore[no-untyped-def]
    words, counts, errors, floors, held, mass, keep, limit, column, weights, order, starts
):
    for group in range(len(starts) - 1):
        start, stop = starts[group], starts[group + 1]
        if start == stop:
            continue
        floors[group], held[group] = fold(
            words[group],
            counts[group],
            errors[group],
            floors[group],
            held[group],
            keep,
            limit,
            column,
            weights,
            order,
            start,
            stop,
        )
        if len(weights):
            for row in range(start, stop):
                mass[group] += weights[order[row]]
        else:
            mass[group] += stop - start


@compiled
def _merge_groups(  # type: ignore[no-untyped-def]
    words,
    counts,
    errors,
    floors,
    held,
    their_words,
    their_counts,
    their_errors,
    their_floors,
    their_held,
    keep,
    limit,
):
    for group in range(len(their_floors)):
        if their_held[group]:
            floors[group], held[group] = merge_tables(
                words[group],
                counts[group],
                errors[group],
                floors[group],
                their_words[group],
                their_counts[group],
                their_errors[group],
                their_floors[group],
                keep,
                limit,
            )


@compiled
def _look_up(words, counts, errors, floors, word, low, high):  # type: ignore[no-untyped-def]
    for group in range(len(floors)):
        slot = find(words[group], counts[group], word)
        if counts[group, slot] > 0.0:
            high[group] = counts[group, slot]
            low[group] = high[group] - errors[group, slot]
        else:
            high[group] = floors[group]
