"""A table of fading sums: queries over all rows, each with a weight that halves with age."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from streamgauge.engine.naming import Groups
from streamgauge.engine.pane_piece import UNSET
from streamgauge.engine.pieces import (
    NO_LIMIT,
    Bench,
    Given,
    Seats,
    arrivals,
    grouped,
    no_memory,
)
from streamgauge.engine.rows import Rows
from streamgauge.operators.emission import Asked, Codes, Floats, Ints, Span, empty_answers
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import TableKey
from streamgauge.windows.decays import Fading, empty_sums, walk

_NO_KEYS: Codes = np.empty(0, np.int32)


@dataclass(slots=True)
class DecayPiece:
    """Fading sums of a table, of its late rows, and the queries that read them."""

    key: TableKey
    groups: Groups
    sums: Floats = field(default_factory=lambda: empty_sums(1))
    at: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    late: Floats = field(default_factory=lambda: empty_sums(0))
    late_at: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    vouched: int = UNSET
    seats: Seats = field(default_factory=Seats)
    compiled: Asked | None = None

    @property
    def n_panes(self) -> int:
        """All rows are in one pane."""
        return 1

    @property
    def newest(self) -> int:
        """The pane has no number."""
        return NO_LIMIT

    def seat(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile the queries."""
        self.seats.arrange(bench, queries, max(1, len(self.groups.texts)), lambda standing: 0)
        self.compiled = bench.asked(self.seats.active)

    def adopt(self, other: DecayPiece) -> None:
        """Take over what another copy has compiled."""
        self.seats.adopt(other.seats)
        self.compiled = other.compiled

    def advance(self, bench: Bench, rows: Rows, span: Span) -> list[Given]:
        """Fold rows and answer what is due."""
        assert self.compiled is not None, "advance before seat"
        _, group = grouped(bench, self.key, self.groups, rows)
        if self.key.born:
            group = np.where(rows.ts > bench.births[self.key.born], group, np.int32(-1))
        memory = self.seats.borrow(len(self.groups.texts))
        out = self._walk(bench, rows, group, span, self.compiled, memory)
        self.seats.give_back(memory)
        return [Given(out, self.groups.texts)]

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Fold rows of the past; answer nothing."""
        _, group = grouped(bench, self.key, self.groups, rows)
        memory = no_memory(len(self.groups.texts))
        self._walk(bench, rows, group, span, bench.asked([]), memory)

    def _walk(
        self, bench: Bench, rows: Rows, group: Codes, span: Span, asked: Asked, memory: Floats
    ) -> Floats:
        n_groups = len(self.groups.texts)
        self.sums, self.at = _widened(self.sums, self.at, n_groups)
        if (rows.late.any() and not bench.revises) or len(self.late):
            self.late, self.late_at = _widened(self.late, self.late_at, n_groups)
        fading = Fading(
            self.sums,
            self.at,
            self.late,
            self.late_at,
            self.key.width,
            self.vouched,
            bench.revises,
        )
        came = arrivals(rows, self.key, group, _NO_KEYS, bench.calendar)
        out: Floats = walk(came, span, fading, asked, memory, empty_answers())
        return out


def _widened(sums: Floats, at: Ints, n_groups: int) -> tuple[Floats, Ints]:
    """The same sums with room for more groups, in steps that double."""
    have = len(sums)
    if n_groups <= have:
        return sums, at
    room = max(n_groups, 2 * have)
    wider, instants = empty_sums(room), np.zeros(room, np.int64)
    wider[:have], instants[:have] = sums, at
    return wider, instants
