"""A table of panes: queries over windows of event time that share their work."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.engine.naming import Groups
from streamgauge.engine.partial import Partial
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
from streamgauge.operators.limbs import limbs_for, limbs_of, on_limbs, spanning
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import TableKey
from streamgauge.streams.stream import Stream
from streamgauge.windows.panes import Cells, Shape, Table, empty_ring, no_cells, walk

UNSET = 2**62
Array = npt.NDArray[Any]


@dataclass(slots=True)
class PanePiece:
    """Panes of a table, of its late rows, and the queries that read them."""

    key: TableKey
    groups: Groups
    ring: Floats
    late_ring: Floats
    newest: int = NO_LIMIT
    vouched: int = UNSET
    seats: Seats = field(default_factory=Seats)
    compiled: tuple[Asked, Shape] | None = None
    limbs: Ints = field(default_factory=lambda: np.zeros((1, 0, 0), np.int64))
    late_limbs: Ints = field(default_factory=lambda: np.zeros((1, 0, 0), np.int64))
    low: int = 0

    @property
    def n_panes(self) -> int:
        """Panes the ring holds."""
        return int(self.ring.shape[0])

    def seat(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile the queries, sorted by slide and length, and make the ring long enough."""
        stream = bench.stream

        def shape(standing: Standing) -> tuple[int, int]:
            return shape_of(registry, stream, self.key, standing)

        self.seats.arrange(bench, queries, max(1, len(self.groups.texts)), shape)
        active = self.seats.active
        shapes = [shape(standing) for standing in active]
        births = [bench.births.get(s.born, NO_LIMIT) // stream.tick for s in active]
        self.compiled = (
            bench.asked(active, registry.window_of),
            Shape(
                slide=np.array([slide for slide, _ in shapes], np.int64),
                length=np.array([length for _, length in shapes], np.int64),
                begun=np.array(births, np.int64),
            ),
        )
        self._lengthen(needed_panes(registry, stream, self.key, queries))

    def adopt(self, other: PanePiece) -> None:
        """Take over what another copy has compiled."""
        self.seats.adopt(other.seats)
        self.compiled = other.compiled

    def _lengthen(self, n_panes: int) -> None:
        """Lengthen the ring; panes keep their place in time."""
        if n_panes > self.ring.shape[0]:
            self.ring = _moved(self.ring, self.newest, n_panes)
            self.late_ring = _moved(self.late_ring, self.newest, n_panes)
            if self.key.exact:
                self.limbs = _moved(self.limbs, self.newest, n_panes)
                self.late_limbs = _moved(self.late_limbs, self.newest, n_panes)

    def _make_room(self, wanted: tuple[int, int]) -> None:
        """Have a sum for each group, on limbs that hold what is to be added."""
        if not self.key.exact:
            return
        held = (self.low, self.limbs.shape[2])
        span = spanning(held, wanted)
        for name, ring in (("limbs", self.ring), ("late_limbs", self.late_ring)):
            limbs = on_limbs(getattr(self, name), held, span)
            if limbs.shape[:2] != ring.shape[:2]:
                room = np.zeros((*ring.shape[:2], span[1]), np.int64)
                room[: limbs.shape[0], : limbs.shape[1]] = limbs
                limbs = room
            setattr(self, name, limbs)
        self.low = span[0]

    def with_exact_sums(self, key: TableKey) -> PanePiece:
        """A table that begins with these sums, which are rounded, and rounds no more.

        What they had lost by then is in their carry.
        """
        made = copy.deepcopy(self)
        made.key = key
        made._make_room((0, 0))
        for name, ring in (("limbs", made.ring), ("late_limbs", made.late_ring)):
            for column in (2, 3):
                limbs, held = limbs_of(ring[:, :, column])
                made._make_room(held)
                mine = getattr(made, name)
                mine += on_limbs(limbs, held, (made.low, mine.shape[2]))
            ring[:, :, 1:6] = 0.0
        return made

    def advance(self, bench: Bench, rows: Rows, span: Span) -> list[Given]:
        """Fold rows into panes and answer what is due."""
        assert self.compiled is not None, "advance before seat"
        _, group = grouped(bench, self.key, self.groups, rows)
        if self.key.born:
            # Late rows from before a query FROM NOW must not widen its bar.
            group = np.where(rows.ts > bench.births[self.key.born], group, np.int32(-1))
        cells = self._cells(bench)
        memory = self.seats.borrow(len(self.groups.texts))
        out = self._walk(bench, rows, group, cells, span, *self.compiled, memory)
        self.seats.give_back(memory)
        return [Given(out, self.groups.texts)]

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Fold rows of the past; answer nothing."""
        _, group = grouped(bench, self.key, self.groups, rows)
        none = np.empty(0, np.int64)
        memory = no_memory(len(self.groups.texts))
        shape = Shape(none, none, none)
        self._walk(bench, rows, group, no_cells(), span, bench.asked([]), shape, memory)

    def _cells(self, bench: Bench) -> Cells:
        """The cells that were sent, by tick, on the limbs of this table."""
        if not bench.cells:
            return no_cells()
        span = (self.low, self.limbs.shape[2])
        for part in bench.cells:
            span = spanning(span, (part.low, part.limbs.shape[1]))
        places = [self._places(bench, part) for part in bench.cells]
        self._make_room(span)
        order = np.argsort(np.concatenate([part.tick for part in bench.cells]), kind="stable")
        held = [on_limbs(p.limbs, (p.low, p.limbs.shape[1]), span) for p in bench.cells]

        def column(name: str) -> Array:
            found: Array = np.concatenate([getattr(part, name) for part in bench.cells])[order]
            return found

        return Cells(
            column("tick"),
            column("pane"),
            column("late"),
            np.concatenate(places)[order],
            column("n"),
            column("least"),
            column("most"),
            np.concatenate(held)[order],
        )

    def _places(self, bench: Bench, part: Partial) -> Codes:
        """The number that the group of each cell has here."""
        if not self.key.group_by:
            return np.zeros(len(part.tick), np.int32)
        codes = [bench.words[name].encode(part.words[name]) for name in self.key.group_by]
        return self.groups.encode_columns(codes, bench.words, bench.form)[part.group]

    def _walk(
        self,
        bench: Bench,
        rows: Rows,
        group: Codes,
        cells: Cells,
        span: Span,
        asked: Asked,
        shape: Shape,
        memory: Floats,
    ) -> Floats:
        self.ring = _widened(self.ring, len(self.groups.texts))
        late = (rows.late.any() and not bench.revises) or cells.late.any()
        if late or self.late_ring.shape[1]:
            self.late_ring = _widened(self.late_ring, self.ring.shape[1])
        wanted = (0, 0)
        if self.key.exact and self.key.x is not None:
            wanted = limbs_for(rows.numbers[self.key.x], group)
        self._make_room(wanted)
        table = Table(
            self.ring,
            self.late_ring,
            self.key.width,
            self.key.start,
            self.vouched,
            bench.stream.late.reach,
            self.key.y is not None,
            bench.revises,
            bool(self.key.group_by),
            bench.first,
            self.key.exact,
            self.limbs,
            self.late_limbs,
            self.low,
        )
        out, newest = walk(
            arrivals(rows, self.key, group, _NO_KEYS, bench.calendar),
            cells,
            span,
            table,
            self.newest,
            asked,
            shape,
            memory,
            empty_answers(),
        )
        self.newest = int(newest)
        given: Floats = out
        return given


def shape_of(
    registry: Registry, stream: Stream, key: TableKey, standing: Standing
) -> tuple[int, int]:
    """Slide of a query's window in ticks, and its length in panes."""
    window = registry.window_of(standing.query)
    assert window is not None, "a query without a window is no table's"
    if window.kind == "landmark":
        return 1, 1
    if window.kind == "now":
        return 1, 1
    slide = window.slide_for(stream.tick, standing.query.answer.period or None)
    return slide // stream.tick, window.length // key.width


def needed_panes(
    registry: Registry, stream: Stream, key: TableKey, queries: Sequence[Standing]
) -> int:
    """Panes a ring must hold: the longest window, a slide, the reach of revisions, an open one."""
    if key.kind == "landmark":
        return 1
    shapes = [shape_of(registry, stream, key, standing) for standing in queries]
    longest = max(slide * stream.tick + length * key.width for slide, length in shapes)
    return (longest + stream.late.reach) // key.width + 3


def _widened(ring: Floats, n_groups: int) -> Floats:
    """The same ring with room for more groups, in steps that double."""
    have = ring.shape[1]
    if n_groups <= have:
        return ring
    wider = empty_ring(ring.shape[0], max(n_groups, 2 * have))
    wider[:, :have] = ring
    return wider


def _moved(ring: Array, newest: int, n_panes: int) -> Array:
    """The same panes in a longer ring."""
    longer: Array = np.zeros((n_panes, *ring.shape[1:]), ring.dtype)
    if ring.dtype == np.float64:
        longer = empty_ring(n_panes, ring.shape[1])
    if newest != NO_LIMIT:
        held = np.arange(newest - ring.shape[0] + 1, newest + 1)
        longer[held % n_panes] = ring[held % ring.shape[0]]
    return longer


_NO_KEYS: Codes = np.empty(0, np.int32)
