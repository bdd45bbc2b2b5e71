"""Pieces: the shared pieces of work of a shard, each with its state and its compiled queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from streamgauge.engine.memory import Memories
from streamgauge.engine.naming import Groups, Series, Words
from streamgauge.engine.rows import Rows
from streamgauge.kernel.columns import Combiner
from streamgauge.operators import portfolio
from streamgauge.operators.emission import CADENCES, MEMORY, empty_answers
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import PortfolioKey, TableKey
from streamgauge.streams.stream import Stream
from streamgauge.windows import panes, rings

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
NO_LIMIT = -(2**62)


@dataclass(frozen=True, slots=True)
class Span:
    """From the tick that was closed to the one that is closed now."""

    tick: int
    last: int
    awake_until: int
    rest: int
    epoch: int


@dataclass(slots=True)
class Bench:
    """What pieces of one stream share: the stream, its words, its births."""

    stream: Stream
    words: Words
    series: Series
    births: dict[int, int]
    shard: int
    shards: int
    sid: Codes = field(default_factory=lambda: np.empty(0, np.int32))

    def since(self, standing: Standing) -> int:
        """First instant a query may see rows after."""
        return NO_LIMIT if standing.query.history else self.births.get(standing.born, NO_LIMIT)


@dataclass(slots=True)
class Given:
    """Answers of one piece: the matrix, and the texts of its groups."""

    matrix: Floats
    groups: list[str]


class Piece(Protocol):
    """A shared piece of work."""

    def seat(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile these queries."""

    def advance(self, bench: Bench, rows: Rows, span: Span) -> Given:
        """Fold rows and answer what is due."""

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Fold rows of the past; answer nothing."""


def _cadences(queries: Sequence[Standing], tick: int) -> tuple[Codes, Any, Floats]:
    kinds = np.array([CADENCES[s.query.answer.kind] for s in queries], np.int32)
    every = np.array([max(1, s.query.answer.period // tick) for s in queries], np.int64)
    by = np.array([s.query.answer.by for s in queries], np.float64)
    return kinds, every, by


def _column(rows: Rows, name: str | None, fill: float) -> Floats:
    return np.full(len(rows), fill) if name is None else rows.numbers[name]


@dataclass(slots=True)
class PortfolioPiece:
    """Queries of this shard over the latest values of one column, or of two."""

    key: PortfolioKey
    x: portfolio.Latest = field(default_factory=portfolio.Latest)
    y: portfolio.Latest = field(default_factory=portfolio.Latest)
    memory: Memories = field(default_factory=Memories)
    compiled: portfolio.Members | None = None
    seats: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    active: list[Standing] = field(default_factory=list)
    known: int = -1

    def seat(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile the queries of this shard; name their members."""
        mine = [s for s in queries if s.id % bench.shards == bench.shard]
        self.memory.seat(mine, 1)
        active = [(row, s) for row, s in enumerate(mine) if s.status == "running"]
        self.seats = np.array([row for row, _ in active], np.int64)
        for _, standing in active:
            for name in standing.query.series or ():
                bench.series.names.add(name)
        self._compile(bench, [s for _, s in active])

    def _compile(self, bench: Bench, queries: Sequence[Standing]) -> None:
        number = bench.series.names.index
        # By name: the numbers differ between shards, the order of summing must not.
        everyone = [number[name] for name in sorted(number)]
        members = [
            [number[name] for name in s.query.series] if s.query.series is not None else everyone
            for s in queries
        ]
        sizes = np.array([len(m) for m in members], np.int64)
        weighted = np.array([s.query.weights is not None for s in queries], np.uint8)
        weights = [s.query.weights or (1.0,) * len(m) for s, m in zip(queries, members, strict=True)]
        kinds, every, by = _cadences(queries, bench.stream.tick)
        self.known = len(everyone) if any(s.query.series is None for s in queries) else -1
        self.compiled = portfolio.Members(
            query=np.array([s.id for s in queries], np.int32),
            pointer=np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))),
            member=np.array([sid for m in members for sid in m], np.int32),
            weight=np.array([w for ws in weights for w in ws] if weighted.any() else [1.0]),
            weighted=weighted,
            listed=np.array([0.0 if s.query.series is None else len(m)
                             for s, m in zip(queries, members, strict=True)]),
            op=np.array([s.query.select.code for s in queries], np.int32),
            cadence=kinds,
            every=every,
            by=by,
            since=np.array([bench.since(s) for s in queries], np.int64),
        )  # fmt: skip
        self.active = list(queries)

    def advance(self, bench: Bench, rows: Rows, span: Span) -> Given:
        """Fold rows into the latest values and check every tick."""
        if self.known not in (-1, len(bench.series.names)):
            self._compile(bench, self.active)
        assert self.compiled is not None, "advance before seat"
        memory = np.ascontiguousarray(self.memory.cells[self.seats, 0])
        out = self._walk(bench, rows, span, self.compiled, memory)
        self.memory.cells[self.seats, 0] = memory
        return Given(out, [])

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Fold rows of the past; answer nothing."""
        self._walk(bench, rows, span, NO_MEMBERS, np.zeros((0, MEMORY)))

    def _walk(
        self, bench: Bench, rows: Rows, span: Span, c: portfolio.Members, memory: Floats
    ) -> Floats:
        n_series = len(bench.series.names)
        self.x.grow(n_series)
        if self.key.y is not None:
            self.y.grow(n_series)
        gap = bench.stream.expected_gap or 0
        out, n = portfolio.walk(
            rows.tick, bench.sid, _column(rows, self.key.x, 1.0),
            _column(rows, self.key.y, np.nan), rows.ts, rows.late,
            bench.stream.late.policy == "revise",
            span.tick, span.last, span.awake_until, span.rest, bench.stream.tick, gap,
            self.x.value, self.x.ts, self.x.missed, self.x.missed_ts,
            self.y.value, self.y.ts, self.y.missed, self.y.missed_ts,
            c.query, c.pointer, c.member, c.weight, c.weighted, c.listed, c.op, c.cadence,
            c.every, c.by, c.since, memory, span.epoch, empty_answers(), 0,
        )  # fmt: skip
        filled: Floats = out[:n]
        return filled


def _no_members() -> portfolio.Members:
    none, codes, floats = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)
    return portfolio.Members(
        codes, np.zeros(1, np.int64), codes, np.ones(1), np.empty(0, np.uint8), floats, codes,
        codes, none, floats, none,
    )  # fmt: skip


NO_MEMBERS = _no_members()


@dataclass(slots=True)
class TableWork:
    """What pane and ring tables have in common: groups, filter, memory."""

    key: TableKey
    groups: Groups
    memory: Memories = field(default_factory=Memories)
    active: list[Standing] = field(default_factory=list)
    seats: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def arrange(self, queries: Sequence[Standing], order: Any) -> None:
        """Seat the queries; the running ones are active, in the given order."""
        self.memory.seat(queries, max(1, len(self.groups.texts)))
        running = [(row, s) for row, s in enumerate(queries) if s.status == "running"]
        running.sort(key=lambda pair: (order(pair[1]), pair[1].id))
        self.seats = np.array([row for row, _ in running], np.int64)
        self.active = [s for _, s in running]

    def group_rows(self, bench: Bench, rows: Rows) -> tuple[Codes, Codes]:
        """Group of each row before the filter, and after it (-1: filtered out)."""
        group = self.groups.encode(rows, bench.words)
        where = self.key.predicate()
        if where is None:
            return group, group
        words = {
            name: (codes, bench.words[name].values)
            for name, codes in rows.words.items()
            if bench.stream.schema.type(name) in ("string", "bool")
        }
        passed = where.mask(rows.numbers, words)
        return group, np.where(passed, group, np.int32(-1))

    def borrow(self) -> Floats:
        """Memory of the active queries, to be written by a kernel."""
        n_groups = len(self.groups.texts)
        if n_groups > self.memory.cells.shape[1]:
            wider = np.zeros((len(self.memory.who), max(8, 2 * n_groups), MEMORY))
            wider[:, : self.memory.cells.shape[1]] = self.memory.cells
            self.memory.cells = wider
        return np.ascontiguousarray(self.memory.cells[self.seats, :n_groups])

    def give_back(self, memory: Floats) -> None:
        """Keep what a kernel wrote."""
        self.memory.cells[self.seats, : memory.shape[1]] = memory


@dataclass(slots=True)
class PanePiece:
    """A table of panes."""

    key: TableKey
    work: TableWork
    ring: Floats
    late_ring: Floats
    newest: int = NO_LIMIT
    vouched: int = 2**62
    compiled: panes.PaneQueries | None = None
    begun: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def seat(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile the queries, sorted by slide and length."""
        tick, width = bench.stream.tick, self.key.width

        def shape(standing: Standing) -> tuple[int, int]:
            window = registry.window_of(standing.query)
            assert window is not None
            if window.kind == "landmark":
                return (1, 1)
            length = window.length if window.kind == "range" else tick
            slide = window.slide_for(tick, standing.query.answer.period or None)
            return (tick if window.kind == "now" else slide) // tick, length // width

        self.work.arrange(queries, shape)
        active = self.work.active
        kinds, every, by = _cadences(active, tick)
        shapes = [shape(s) for s in active]
        self.compiled = panes.PaneQueries(
            query=np.array([s.id for s in active], np.int32),
            op=np.array([s.query.select.code for s in active], np.int32),
            cadence=kinds,
            every=every,
            by=by,
            since=np.array([bench.since(s) for s in active], np.int64),
            slide=np.array([slide for slide, _ in shapes], np.int64),
            length=np.array([length for _, length in shapes], np.int64),
        )
        self.begun = np.array([bench.births.get(s.born, NO_LIMIT) // tick for s in active], np.int64)
        self._resize(needed_panes(registry, bench.stream, self.key, queries))

    def _resize(self, n_panes: int) -> None:
        """Lengthen the ring; panes keep their place in time."""
        old = self.ring
        if n_panes <= old.shape[0]:
            return
        self.ring = _moved(old, self.newest, n_panes)
        self.late_ring = _moved(self.late_ring, self.newest, n_panes)

    def advance(self, bench: Bench, rows: Rows, span: Span) -> Given:
        """Fold rows into panes and answer what is due."""
        assert self.compiled is not None, "advance before seat"
        _, group = self.work.group_rows(bench, rows)
        if self.key.born:
            # Late rows from before a query FROM NOW must not widen its bar.
            group = np.where(rows.ts > bench.births[self.key.born], group, np.int32(-1))
        memory = self.work.borrow()
        out = self._walk(bench, rows, group, span, self.compiled, self.begun, memory)
        self.work.give_back(memory)
        return Given(out, self.work.groups.texts)

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Fold rows of the past; answer nothing."""
        _, group = self.work.group_rows(bench, rows)
        n_groups = len(self.work.groups.texts)
        memory = np.zeros((0, n_groups, MEMORY))
        self._walk(bench, rows, group, span, NO_PANE_QUERIES, np.empty(0, np.int64), memory)

    def _walk(
        self,
        bench: Bench,
        rows: Rows,
        group: Codes,
        span: Span,
        c: panes.PaneQueries,
        begun: npt.NDArray[np.int64],
        memory: Floats,
    ) -> Floats:
        n_groups = len(self.work.groups.texts)
        self.ring = _widened(self.ring, n_groups)
        if (rows.late.any() and bench.stream.late.policy != "revise") or self.late_ring.shape[1]:
            self.late_ring = _widened(self.late_ring, self.ring.shape[1])
        out, n, newest = panes.walk(
            rows.tick, rows.ts, group, _column(rows, self.key.x, 1.0),
            _column(rows, self.key.y, np.nan), _column(rows, self.key.weight, 1.0), rows.late,
            bench.stream.late.policy == "revise", bench.stream.late.reach,
            span.tick, span.last, span.awake_until, span.rest, bench.stream.tick,
            self.key.width, self.key.start, self.vouched, self.key.y is not None,
            self.ring, self.late_ring, self.newest,
            c.query, c.op, c.cadence, c.every, c.by, c.since, c.slide, c.length, begun,
            memory, span.epoch, empty_answers(), 0,
        )  # fmt: skip
        self.newest = int(newest)
        filled: Floats = out[:n]
        return filled


def _no_pane_queries() -> panes.PaneQueries:
    none, codes = np.empty(0, np.int64), np.empty(0, np.int32)
    return panes.PaneQueries(codes, codes, codes, none, np.empty(0), none, none, none)


NO_PANE_QUERIES = _no_pane_queries()


def needed_panes(
    registry: Registry, stream: Stream, key: TableKey, queries: Sequence[Standing]
) -> int:
    """Panes a ring must hold: the longest window, one slide, the reach of revisions, and one open."""
    if key.kind == "landmark":
        return 1
    longest = 0
    for standing in queries:
        window = registry.window_of(standing.query)
        assert window is not None
        slide = window.slide_for(stream.tick, standing.query.answer.period or None)
        longest = max(longest, window.length + slide)
    return (longest + stream.late.reach) // key.width + 3


def _widened(ring: Floats, n_groups: int) -> Floats:
    """The same ring with room for more groups, in steps that double."""
    have = ring.shape[1]
    if n_groups <= have:
        return ring
    wider = panes.empty_ring(ring.shape[0], max(n_groups, 2 * have))
    wider[:, :have] = ring
    return wider


def _moved(ring: Floats, newest: int, n_panes: int) -> Floats:
    """The same panes in a longer ring."""
    longer = panes.empty_ring(n_panes, ring.shape[1])
    if newest != NO_LIMIT:
        held = np.arange(newest - ring.shape[0] + 1, newest + 1)
        longer[held % n_panes] = ring[held % ring.shape[0]]
    return longer


@dataclass(slots=True)
class RingPiece:
    """A table of the newest rows, whole or per key."""

    key: TableKey
    work: TableWork
    rings: rings.Rings
    keys: Combiner = field(default_factory=Combiner)
    compiled: rings.RingQueries | None = None

    def seat(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile the queries."""
        self.work.arrange(queries, bench.since)
        active = self.work.active
        kinds, every, by = _cadences(active, bench.stream.tick)
        self.compiled = rings.RingQueries(
            query=np.array([s.id for s in active], np.int32),
            op=np.array([s.query.select.code for s in active], np.int32),
            cadence=kinds,
            every=every,
            by=by,
            since=np.array([bench.since(s) for s in active], np.int64),
        )

    def advance(self, bench: Bench, rows: Rows, span: Span) -> Given:
        """Append rows and answer what is due."""
        assert self.compiled is not None, "advance before seat"
        whole, group = self.work.group_rows(bench, rows)
        memory = self.work.borrow()
        out = self._walk(rows, whole, group, span, self.compiled, memory)
        self.work.give_back(memory)
        return Given(out, self.work.groups.texts)

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Append rows of the past; answer nothing."""
        whole, group = self.work.group_rows(bench, rows)
        memory = np.zeros((0, len(self.work.groups.texts), MEMORY))
        self._walk(rows, whole, group, span, NO_RING_QUERIES, memory)

    def _walk(
        self,
        rows: Rows,
        whole: Codes,
        group: Codes,
        span: Span,
        c: rings.RingQueries,
        memory: Floats,
    ) -> Floats:
        key = np.zeros(len(rows), np.int32)
        if self.key.by:
            key = self.keys.encode([rows.words[column] for column in self.key.by])
            if self.key.by == self.key.group_by:
                key = np.where(whole >= 0, key, np.int32(-1))
        self.rings.grow(max(1, len(self.keys.interner)))
        r = self.rings
        out, n = rings.walk(
            rows.tick, rows.ts, key, group, _column(rows, self.key.x, 1.0),
            _column(rows, self.key.y, np.nan), _column(rows, self.key.weight, 1.0), rows.late,
            span.tick, span.last, span.awake_until, span.rest, self.key.y is not None,
            r.x, r.y, r.w, r.ts, r.group, r.count,
            c.query, c.op, c.cadence, c.every, c.by, c.since, memory, span.epoch, empty_answers(), 0,
        )  # fmt: skip
        filled: Floats = out[:n]
        return filled


def _no_ring_queries() -> rings.RingQueries:
    none, codes = np.empty(0, np.int64), np.empty(0, np.int32)
    return rings.RingQueries(codes, codes, codes, none, np.empty(0), none)


NO_RING_QUERIES = _no_ring_queries()
