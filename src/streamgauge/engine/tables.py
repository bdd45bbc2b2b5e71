"""Tables: operators with groups, which go with their last row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from streamgauge.engine.memory import side_by_side
from streamgauge.engine.naming import Groups
from streamgauge.engine.operator import Operator
from streamgauge.engine.pieces import Bench, Seats
from streamgauge.engine.seated import Seated
from streamgauge.kernel.columns import Combiner, Interner
from streamgauge.operators.emission import GIVEN, Flags, Ints
from streamgauge.plan.table_key import TableKey

Array = npt.NDArray[Any]


class Table(Seated):
    """An operator over windows of rows: groups, and what queries answered about them."""

    key: TableKey
    groups: Groups
    seats: Seats
    # Whether a group is as one that never came once its rows have left.
    leaves: ClassVar[bool] = True

    @property
    def n_groups(self) -> int:
        """Groups that queries have a memory about; there is room for one."""
        return max(1, len(self.groups.texts))

    def mark_groups(self, there: Flags) -> None:
        """Mark the groups with rows in some window."""
        raise NotImplementedError

    def keep_groups(self, kept: Ints) -> None:
        """Keep some groups, which get the numbers of their places."""
        raise NotImplementedError

    def combos(self, column: str) -> list[tuple[Combiner, int]]:
        """Where numbers of names of a column are parts of keys of groups."""
        return [(self.groups.combiner, at) for at, n in enumerate(self.key.group_by) if n == column]

    def release(self, least: int) -> None:
        """Let go groups without rows and without a remembered answer, when half are such."""
        groups = self.groups
        lasting = self.key.kind == "landmark" or not self.leaves
        if lasting or not groups.columns or len(groups.local) < least:
            return
        there = _remembered(self.seats, len(groups.texts))
        self.mark_groups(there)
        gone = len(groups.local) - int(there.sum())
        if gone < least or 2 * gone < len(groups.local):
            return
        kept = np.flatnonzero(there)
        self._keep(_some_groups(groups, there, kept), kept)

    def _keep(self, groups: Groups, kept: Ints) -> None:
        """Go on with some groups, which had these numbers."""
        self.groups = groups
        cells = self.seats.memory.cells
        self.seats.memory.cells = _room(cells[:, kept[kept < cells.shape[1]]])
        self.keep_groups(kept)

    def relocated(self, was: Bench, bench: Bench) -> Operator | None:
        """Its groups that another shard owns, with the numbers that names have there."""
        there = Groups(self.key.group_by, bench.shard, bench.shards)
        kept = there.take_owned(self.groups, was.words, bench.words, bench.form)
        if there.columns:
            self._keep(there, kept)
        return self

    def join(self, other: Any) -> None:
        """Take in another shard's groups, after these."""
        mine, more = len(self.groups.texts), len(other.groups.texts)
        if not self.groups.columns or not more:
            return
        memory = self.seats.memory
        self.seats.memory = side_by_side(memory, mine, other.seats.memory, more)
        self.add_groups(other, mine, more)
        self.groups.join(other.groups)

    def add_groups(self, other: Any, mine: int, more: int) -> None:
        """Take in what another shard holds of so many groups, after so many of its own."""
        raise NotImplementedError


def _remembered(seats: Seats, n_groups: int) -> Flags:
    """Groups that some query has an answer about."""
    there = np.zeros(n_groups, np.bool_)
    given = (seats.memory.cells[:, :n_groups, GIVEN] != 0.0).any(axis=0)
    there[: len(given)] = given
    return there


def _some_groups(groups: Groups, there: Flags, kept: Ints) -> Groups:
    local = np.array(groups.local, np.int64)
    mine = np.flatnonzero(local >= 0)
    values = groups.combiner.interner.values
    combos = Interner.of(values[at] for at in mine[there[local[mine]]].tolist())
    texts = [groups.texts[group] for group in kept.tolist()]
    return replace(groups, combiner=Combiner(combos), local=list(range(len(texts))), texts=texts)


def _room(cells: Array) -> Array:
    """The same columns, or an empty one where there is none."""
    if cells.shape[1]:
        return np.ascontiguousarray(cells)
    return np.zeros((cells.shape[0], 1, *cells.shape[2:]), cells.dtype)
