"""A table of the newest rows, whole or per key, and the queries that read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from streamgauge.engine.naming import Groups
from streamgauge.engine.pieces import Bench, Given, Seats, arrivals, grouped, no_memory
from streamgauge.engine.rows import Rows
from streamgauge.kernel.columns import Combiner
from streamgauge.operators.emission import Asked, Codes, Floats, Span, empty_answers
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

    def seat(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile the queries; those that begin together share a count."""
        self.seats.arrange(queries, max(1, len(self.groups.texts)), bench.since)
        self.compiled = bench.asked(self.seats.active)

    def adopt(self, other: RingPiece) -> None:
        """Take over what another copy has compiled."""
        self.seats.adopt(other.seats)
        self.compiled = other.compiled

    def advance(self, bench: Bench, rows: Rows, span: Span) -> list[Given]:
        """Append rows and answer what is due."""
        assert self.compiled is not None, "advance before seat"
        whole, group = grouped(bench, self.key, self.groups, rows)
        memory = self.seats.borrow(len(self.groups.texts))
        out = self._walk(rows, whole, group, span, self.compiled, memory)
        self.seats.give_back(memory)
        return [Given(out, self.groups.texts)]

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Append rows of the past; answer nothing."""
        whole, group = grouped(bench, self.key, self.groups, rows)
        memory = no_memory(len(self.groups.texts))
        self._walk(rows, whole, group, span, bench.asked([]), memory)

    def _walk(
        self, rows: Rows, whole: Codes, group: Codes, span: Span, asked: Asked, memory: Floats
    ) -> Floats:
        key = np.zeros(len(rows), np.int32)
        if self.key.by:
            key = self.keys.encode([rows.words[column] for column in self.key.by])
            if self.key.by == self.key.group_by:
                key = np.where(whole >= 0, key, np.int32(-1))
        self.rings = with_room(self.rings, max(1, len(self.keys.interner)))
        given: Floats = walk(
            arrivals(rows, self.key, group, key),
            span,
            self.rings,
            self.key.y is not None,
            asked,
            memory,
            empty_answers(),
        )
        return given
