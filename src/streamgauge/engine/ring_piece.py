"""A table of the newest rows, whole or per key, and the queries that read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from streamgauge.engine.naming import Groups
from streamgauge.engine.pieces import Bench, Given, Seats, arrivals, grouped, no_memory
from streamgauge.engine.rows import Rows
from streamgauge.kernel.columns import Combiner
from streamgauge.operators.emission import Asked, Codes, Floats, Ints, Span, empty_answers
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import TableKey
from streamgauge.windows.rings import Rings, walk, with_room


@dataclass(slots=True)
class RingPiece:
    """Rings of rows by key."""

    key: TableKey
    groups: Groups
    rings: Rings
    keys: Combiner = field(default_factory=Combiner)
    seats: Seats = field(default_factory=Seats)
    compiled: Asked | None = None
    needed: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def seat(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile the queries; those that begin together share a count."""
        self.seats.arrange(bench, queries, max(1, len(self.groups.texts)), bench.since)
        self.compiled = bench.asked(self.seats.active)
        # Which rows of a key are gone, nobody can tell.
        cut = [not self.key.by and bench.cut(standing) for standing in self.seats.active]
        self.needed = np.where(np.array(cut, np.bool_), self.key.rows, 0).astype(np.int64)

    def adopt(self, other: RingPiece) -> None:
        """Take over what another copy has compiled."""
        self.seats.adopt(other.seats)
        self.compiled, self.needed = other.compiled, other.needed

    def advance(self, bench: Bench, rows: Rows, span: Span) -> list[Given]:
        """Append rows and answer what is due."""
        assert self.compiled is not None, "advance before seat"
        whole, group = grouped(bench, self.key, self.groups, rows)
        memory = self.seats.borrow(len(self.groups.texts))
        out = self._walk(bench, rows, whole, group, span, self.compiled, self.needed, memory)
        self.seats.give_back(memory)
        return [Given(out, self.groups.texts)]

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Append rows of the past; answer nothing."""
        whole, group = grouped(bench, self.key, self.groups, rows)
        memory = no_memory(len(self.groups.texts))
        self._walk(bench, rows, whole, group, span, bench.asked([]), self.needed[:0], memory)

    def _walk(
        self,
        bench: Bench,
        rows: Rows,
        whole: Codes,
        group: Codes,
        span: Span,
        asked: Asked,
        needed: Ints,
        memory: Floats,
    ) -> Floats:
        key = np.zeros(len(rows), np.int32)
        if self.key.by:
            key = self.keys.encode([rows.words[column] for column in self.key.by])
            if self.key.by == self.key.group_by:
                key = np.where(whole >= 0, key, np.int32(-1))
        self.rings = with_room(self.rings, max(1, len(self.keys.interner)))
        given: Floats = walk(
            arrivals(rows, self.key, group, key, bench.calendar),
            span,
            self.rings,
            self.key.y is not None,
            bool(self.key.group_by),
            asked,
            needed,
            memory,
            empty_answers(),
        )
        return given
