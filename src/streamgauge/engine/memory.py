"""Memory: what each query answered last, kept through changes of who is registered."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from streamgauge.engine.old_memory import with_sides
from streamgauge.kernel.memory import ask_for
from streamgauge.kernel.moves import Moves
from streamgauge.kernel.wire import Array
from streamgauge.operators.emission import MEMORY, Floats
from streamgauge.plan.assignment import Change
from streamgauge.plan.registry import Standing


@dataclass(slots=True)
class Memories:
    """Rows of memory per query and group, found again by the query's number and version."""

    who: list[tuple[int, int]] = field(default_factory=list)
    cells: Floats = field(default_factory=lambda: np.zeros((0, 1, MEMORY)))

    def seat(self, queries: Sequence[Standing], n_groups: int) -> None:
        """Arrange the memory for these queries and at least this many groups."""
        self.widen(n_groups)
        wanted = [(standing.id, standing.version) for standing in queries]
        if wanted == self.who:
            return
        ask_for(8 * MEMORY * len(wanted) * self.cells.shape[1])
        cells = np.zeros((len(wanted), self.cells.shape[1], MEMORY))
        old = {who: row for row, who in enumerate(self.who)}
        pairs = [(row, old[who]) for row, who in enumerate(wanted) if who in old]
        if pairs:
            new_rows, old_rows = np.array(pairs).T
            cells[new_rows] = self.cells[old_rows]
        self.who, self.cells = wanted, cells

    def change(self, change: Change, n_groups: int) -> Moves:
        """Let queries leave and come; one that is in both under one version keeps its memory."""
        self.widen(n_groups)
        left, more = ([(s.id, s.version) for s in part] for part in (change.dropped, change.added))
        moves = Moves.among(self.who, left, more)
        old = dict(zip(left, self.cells[moves.gone], strict=True))
        width = self.cells.shape[1]
        ask_for(8 * MEMORY * (len(self.who) - len(left) + len(more)) * width)
        fresh = np.zeros((len(more), width, MEMORY))
        for row, who in enumerate(more):
            if who in old:
                fresh[row] = old[who]
        self.who, self.cells = moves.listed(self.who, more), moves.column(self.cells, fresh)
        return moves

    def row(self, standing: Standing) -> int:
        """The row of a query."""
        return bisect_left(self.who, (standing.id, standing.version))

    def widen(self, n_groups: int) -> None:
        """Make room for more groups, in steps that double."""
        have = self.cells.shape[1]
        if n_groups > have:
            ask_for(8 * MEMORY * len(self.who) * max(n_groups, 2 * have))
            wider = np.zeros((len(self.who), max(n_groups, 2 * have), MEMORY))
            wider[:, :have] = self.cells
            self.cells = wider


def side_by_side(one: Memories, n_groups: int, other: Memories, more: int) -> Memories:
    """What the same queries answered about some groups, then about more of them."""
    assert one.who == other.who, "copies of a table disagree on their queries"
    parts = one.cells[:, :n_groups], other.cells[:, :more]
    cells = np.zeros((len(one.who), max(1, n_groups + more), MEMORY))
    cells[:, : n_groups + more] = np.concatenate(parts, axis=1)
    return Memories(one.who, cells)


def one_after_another(one: Memories, other: Memories) -> Memories:
    """What some queries answered, then what others did, about the same groups."""
    return Memories([*one.who, *other.who], np.concatenate((one.cells, other.cells)))


def pack_memory(
    prefix: str, memory: Memories, arrays: dict[str, Array], groups: int | None = None
) -> None:
    """Add what was answered last, of so many groups; room for more is no state."""
    arrays[f"{prefix}/who"] = np.array(memory.who, np.int64).reshape(len(memory.who), 2)
    arrays[f"{prefix}/memory"] = memory.cells[:, :groups]


def unpack_memory(prefix: str, arrays: dict[str, Array]) -> Memories:
    """Read a memory back."""
    who = [(number, version) for number, version in arrays[f"{prefix}/who"].tolist()]
    return Memories(who, with_sides(arrays[f"{prefix}/memory"]))
