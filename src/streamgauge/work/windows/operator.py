"""A table of panes: queries over windows of event time that share their work."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.engine.naming import Groups
from streamgauge.engine.operator import Arrays, Newest, Operator, remembered
from streamgauge.engine.pane_shapes import UNSET, needed_panes, shape_of, window_load
from streamgauge.engine.paned import Paned
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
from streamgauge.engine.table_state import pack_table_of_groups, unpack_groups, unpack_seats
from streamgauge.kernel.memory import ask_for
from streamgauge.operators.emission import Asked, Codes, Flags, Floats, Ints, Span, empty_answers
from streamgauge.operators.limbs import limbs_for, limbs_of, on_limbs, spanning
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Load
from streamgauge.windows.panes import Cells, Shape, Table, empty_ring, no_cells, walk
from streamgauge.work.windows.technique import TECHNIQUE, PaneKey

Array = npt.NDArray[Any]


@dataclass(slots=True)
class PaneOperator(Paned):
    """Panes of a table, of its late rows, and the queries that read them."""

    key: PaneKey
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
    def n_panes(self) -> int:  # type: ignore[override]
        """Panes the ring holds."""
        return int(self.ring.shape[0])

    def order(self, bench: Bench, registry: Registry) -> Callable[[Standing], Any]:
        """By slide and length."""
        return partial(shape_of, registry, bench.stream, self.key)

    def compile(
        self, bench: Bench, registry: Registry, queries: Sequence[Standing]
    ) -> tuple[Asked, Shape]:
        """Queries and the shapes of their windows."""
        shapes = [shape_of(registry, bench.stream, self.key, standing) for standing in queries]
        births = [bench.births.get(s.born, NO_LIMIT) // bench.stream.tick for s in queries]
        return (
            bench.asked(queries, registry.window_of),
            Shape(
                slide=np.array([slide for slide, _ in shapes], np.int64),
                length=np.array([length for _, length in shapes], np.int64),
                begun=np.array(births, np.int64),
            ),
        )

    def make_room(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Make the ring long enough."""
        self._lengthen(needed_panes(registry, bench.stream, self.key, queries))

    def _lengthen(self, n_panes: int) -> None:
        """Lengthen the ring; panes keep their place in time."""
        if n_panes > self.ring.shape[0]:
            self.ring = _moved(self.ring, self.newest, self.newest, n_panes)
            self.late_ring = _moved(self.late_ring, self.newest, self.newest, n_panes)
            if self.key.exact:
                self.limbs = _moved(self.limbs, self.newest, self.newest, n_panes)
                self.late_limbs = _moved(self.late_limbs, self.newest, self.newest, n_panes)

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

    def under(self, key: PaneKey) -> PaneOperator:
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
        self.begin(bench)
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

    @property
    def _columns(self) -> tuple[str | None, str | None, str | None]:
        return self.key.x, self.key.y, self.key.weight

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Panes, those of late rows, groups, and what queries answered last."""
        values = pack_table_of_groups(prefix, self.key, self.groups, self.seats, arrays)
        room = max(1, len(self.groups.texts))
        for name in ("ring", "late_ring", *(("limbs", "late_limbs") if self.key.exact else ())):
            arrays[f"{prefix}/{name}"] = getattr(self, name)[:, :room]
        return {**values, "newest": self.newest, "vouched": self.vouched, "low": self.low}

    def latest_answers(self) -> Iterator[Newest]:
        """The newest answer of each query and group."""
        return remembered(self.seats.memory, self.groups.texts)

    def mark_groups(self, there: Flags) -> None:
        """Groups with rows in some pane."""
        for ring in (self.ring, self.late_ring):
            held = (ring[:, : len(there), 0] != 0.0).any(axis=0)
            there[: len(held)] |= held

    def keep_groups(self, kept: Ints) -> None:
        """Their panes and sums."""
        for ring, limbs in (("ring", "limbs"), ("late_ring", "late_limbs")):
            cells, sums = getattr(self, ring), getattr(self, limbs)
            here = kept[kept < cells.shape[1]]
            chosen = np.ascontiguousarray(cells[:, here])
            if ring == "ring" and not len(here):
                chosen = empty_ring(len(cells), 1)
            setattr(self, ring, chosen)
            if self.key.exact:
                few = np.zeros((*chosen.shape[:2], sums.shape[2]), np.int64)
                few[:, : len(here)] = sums[:, here]
                setattr(self, limbs, few)

    def add_groups(self, other: PaneOperator, mine: int, more: int) -> None:
        """Panes and sums side by side."""
        newest = max(self.newest, other.newest)
        n_panes = max(self.n_panes, other.n_panes)
        self._stand_at(newest, n_panes)
        other._stand_at(newest, n_panes)
        if self.key.exact:
            held = other.low, other.limbs.shape[2]
            self._make_room(held)
            other._make_room((self.low, self.limbs.shape[2]))
            self.limbs, self.late_limbs = self.limbs[:, :mine], self.late_limbs[:, :mine]
        late = max(self.late_ring.shape[1], other.late_ring.shape[1]) > 0
        for name in ("ring", "late_ring") if late else ("ring",):
            one, two = (_widened(getattr(o, name), n) for o, n in ((self, mine), (other, more)))
            setattr(self, name, np.concatenate((one[:, :mine], two[:, :more]), axis=1))
        self._make_room((0, 0))
        if self.key.exact:
            for name in ("limbs", "late_limbs"):
                sums, theirs = getattr(self, name), getattr(other, name)[:, :more]
                if theirs.shape[1]:
                    sums[:, mine : mine + theirs.shape[1]] = theirs

    def _stand_at(self, newest: int, n_panes: int) -> None:
        """Have so many panes up to a newest one, which may lie ahead."""
        for name in ("ring", "late_ring", *(("limbs", "late_limbs") if self.key.exact else ())):
            setattr(self, name, _moved(getattr(self, name), self.newest, newest, n_panes))
        self.newest = newest

    def content(self) -> tuple[str, int]:
        """Its groups."""
        return "groups", len(self.groups.texts)

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
            arrivals(rows, self._columns, group, _NO_KEYS, bench.calendar),
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


def opened(
    key: PaneKey, bench: Bench, registry: Registry, queries: Sequence[Standing]
) -> PaneOperator:
    """A new operator."""
    n_panes = needed_panes(registry, bench.stream, key, queries)
    groups = Groups(key.group_by, bench.shard, bench.shards)
    return PaneOperator(key, groups, empty_ring(n_panes, 1), empty_ring(n_panes, 0))


def restored(
    prefix: str, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
) -> PaneOperator:
    """An operator from its stored state."""
    key = PaneKey.from_text(values["key"])
    groups = unpack_groups(prefix, key, values, arrays, shard, shards)
    ring, late_ring = arrays[f"{prefix}/ring"], arrays[f"{prefix}/late_ring"]
    seats = unpack_seats(prefix, arrays)
    made = PaneOperator(key, groups, ring, late_ring, values["newest"], values["vouched"], seats)
    if key.exact:
        made.limbs, made.late_limbs = arrays[f"{prefix}/limbs"], arrays[f"{prefix}/late_limbs"]
        made.low = values["low"]
    return made


def load_of(registry: Registry, standing: Standing, held: Sequence[Operator], series: int) -> Load:
    """A window over the groups that are known."""
    groups = sum(len(one.groups.texts) for one in held if isinstance(one, PaneOperator))
    key = TECHNIQUE.key(registry, standing)
    return window_load("window", registry, standing, key, groups)


def _widened(ring: Floats, n_groups: int) -> Floats:
    """The same ring with room for more groups, in steps that double."""
    have = ring.shape[1]
    if n_groups <= have:
        return ring
    ask_for(ring.nbytes // max(have, 1) * max(n_groups, 2 * have))
    wider = empty_ring(ring.shape[0], max(n_groups, 2 * have))
    wider[:, :have] = ring
    return wider


def _moved(ring: Array, was: int, newest: int, n_panes: int) -> Array:
    """The same panes in a ring that may be longer and stand at a later one."""
    if (was, ring.shape[0]) == (newest, n_panes):
        return ring
    moved: Array = np.zeros((n_panes, *ring.shape[1:]), ring.dtype)
    if ring.dtype == np.float64:
        moved = empty_ring(n_panes, ring.shape[1])
    if was != NO_LIMIT:
        held = np.arange(max(was - ring.shape[0], newest - n_panes) + 1, was + 1)
        moved[held % n_panes] = ring[held % ring.shape[0]]
    return moved


_NO_KEYS: Codes = np.empty(0, np.int32)
