"""Bringing one stream of one shard forward: changes first, then rows, then what is due.

The rows of a stream reach its work through inputs: one brings all rows, the others those of the
groups that the shard owns. All of them go by the calendar of the whole stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from streamgauge.engine.batch import RowBatch
from streamgauge.engine.bounds_piece import BoundsPiece
from streamgauge.engine.calendar import Calendar, merged
from streamgauge.engine.decay_piece import DecayPiece
from streamgauge.engine.deferral_piece import DeferralPiece
from streamgauge.engine.distribution import REPLICATED, columns_of, inputs_of
from streamgauge.engine.naming import Groups, Series
from streamgauge.engine.pane_piece import UNSET, PanePiece, needed_panes
from streamgauge.engine.partial import Partial
from streamgauge.engine.pieces import NO_LIMIT, Bench, Given, Piece
from streamgauge.engine.portfolio_piece import PortfolioPiece
from streamgauge.engine.ring_piece import RingPiece
from streamgauge.engine.rows import Rows, join, no_rows, read_columns, read_in_place
from streamgauge.engine.slices import report_values
from streamgauge.engine.summary_piece import SummaryPiece
from streamgauge.engine.unusable import Tally
from streamgauge.kernel.columns import Interner
from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.time import HOUR, Instant
from streamgauge.log.home import Home
from streamgauge.log.journal import Page, Segment
from streamgauge.log.reader import history
from streamgauge.operators.emission import Codes, Span
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import (
    BoundsKey,
    DeferralKey,
    PieceKey,
    PortfolioKey,
    StreamPlan,
    TableKey,
)
from streamgauge.streams.stream import Stream
from streamgauge.windows.panes import empty_ring
from streamgauge.windows.rings import empty_rings

UNSTARTED = -(2**60)
PANED = (PanePiece, SummaryPiece, DecayPiece)
# Windows that hold all rows since some instant.
WHOLE = ("landmark", "decay")
Paned = PanePiece | SummaryPiece | DecayPiece


@dataclass(slots=True)
class InputState:
    """What one input of a stream has brought: names, series, rows that wait, and the work."""

    words: dict[str, Interner] = field(default_factory=dict)
    series: Series = field(default_factory=Series)
    waiting: Rows = field(default_factory=lambda: no_rows((), ()))
    pieces: dict[str, Piece] = field(default_factory=dict)


@dataclass(slots=True)
class StreamState:
    """All that a shard knows of a stream after an epoch.

    `coming` is the calendar of rows beyond the closed tick.
    """

    closed: int = UNSTARTED
    awake_until: int = UNSTARTED
    first: int = UNSTARTED
    births: dict[int, Instant] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    coming: Calendar = field(default_factory=Calendar)
    inputs: dict[str, InputState] = field(default_factory=dict)

    @property
    def pieces(self) -> dict[str, Piece]:
        """The work of all inputs, by the text of its key."""
        return {text: p for held in self.inputs.values() for text, p in held.pieces.items()}

    @property
    def whole(self) -> InputState:
        """The input that brings all rows."""
        return self.inputs.setdefault(REPLICATED, InputState())


@dataclass(frozen=True, slots=True)
class Brought:
    """Rows of a stream that came with a page: their calendar, and batches in order of arrival.

    `inputs` has the batches of each input; those of an input that is absent were not read. `cells`
    has rows that were added up already, by the text of the key of their table.
    """

    calendar: Calendar
    inputs: Mapping[str, Sequence[RowBatch]]
    cells: Mapping[str, Sequence[Partial]] = field(default_factory=dict)


def closed_by(page: Page, stream: Stream) -> int:
    """The tick of a stream that a page closes."""
    edge = page.peaks[stream.name] - stream.late.allowed
    passed: int = page.passed.get(stream.name, NO_LIMIT)
    return max(-((-edge) // stream.tick) - 1, passed // stream.tick)


@dataclass(slots=True)
class StreamRun:
    """One stream of one shard, with what is needed to bring it forward."""

    home: Home
    shard: int
    plan: StreamPlan
    registry: Registry
    state: StreamState
    late: int = 0
    opened: list[Given] = field(default_factory=list)
    parts: dict[str, StreamPlan] = field(init=False)

    def __post_init__(self) -> None:
        self.parts = inputs_of(self.plan)

    @property
    def stream(self) -> Stream:
        """The stream's declaration."""
        return self.plan.stream

    @property
    def closed_instant(self) -> Instant:
        """Event time up to which everything is answered."""
        return self.state.closed * self.stream.tick

    @property
    def tally(self) -> Tally:
        """Rows in use and rows that could not be used, by tick."""
        return self.state.tally

    def bench(self, name: str = REPLICATED) -> Bench:
        """What the pieces of an input share."""
        s, held = self.state, self.state.inputs.setdefault(name, InputState())
        first = NO_LIMIT if s.first == UNSTARTED else (s.first - 1) * self.stream.tick
        return Bench(
            self.stream,
            held.words,
            held.series,
            s.births,
            self.shard,
            self.home.shards,
            first=first,
            form=self.home.form,
        )

    def mine(self, name: str) -> list[tuple[PieceKey, list[Standing]]]:
        """Pieces of an input that this shard has a part in."""
        plan, shards = self.parts[name], self.home.shards
        tables = [
            (key, queries)
            for key, queries in plan.tables.items()
            if key.group_by or key.owner(shards) == self.shard
        ]
        return [
            *plan.portfolios.items(),
            *plan.deferrals.items(),
            *plan.bounds.items(),
            *tables,
        ]

    def compile(self) -> None:
        """Compile the queries of pieces whose state was stored."""
        stored = self.state.pieces
        for name, plan in self.parts.items():
            bench, held = self.bench(name), self.state.inputs[name]
            if len(held.waiting):
                # State of an earlier form has the columns of other inputs, too.
                held.waiting = held.waiting.narrowed(plan.numbers(), plan.words())
            pieces = {}
            for key, queries in self.mine(name):
                piece = held.pieces.get(key.text()) or _with_exact_sums(stored, key)
                if piece is not None:
                    piece.seat(bench, self.registry, queries)
                    pieces[key.text()] = piece
            held.pieces = pieces

    def seat(self, epoch: int) -> None:
        """Let the changes of an epoch take effect: make, drop and compile pieces."""
        state = self.state
        started = state.closed != UNSTARTED
        born = {s.born for name in self.parts for _, queries in self.mine(name) for s in queries}
        state.births = {at: state.births[at] for at in born if at in state.births}
        state.births[epoch] = self.closed_instant if started else NO_LIMIT
        state.inputs = {name: state.inputs.get(name) or InputState() for name in self.parts}
        for name in self.parts:
            self._seat_input(name, epoch)
        if state.first != UNSTARTED:
            for name in self.parts:
                self._open(name, epoch)

    def _seat_input(self, name: str, epoch: int) -> None:
        plan, held = self.parts[name], self.state.inputs[name]
        for column in plan.words():
            held.words.setdefault(column, Interner())
        bench = self.bench(name)
        pieces: dict[str, Piece] = {}
        fresh: list[Piece] = []
        grown: list[tuple[Paned, int]] = []
        for key, queries in self.mine(name):
            piece = held.pieces.get(key.text())
            if piece is None:
                piece = self._new_piece(key, queries)
                fresh.append(piece)
            panes = piece.n_panes if isinstance(piece, PANED) else 0
            piece.seat(bench, self.registry, queries)
            if isinstance(piece, DeferralPiece | BoundsPiece):
                self.opened += piece.ends(self.state.closed)
            old = not any(piece is other for other in fresh)
            if old and isinstance(piece, PANED) and piece.n_panes > panes:
                grown.append((piece, panes))
            pieces[key.text()] = piece
        began = bool(pieces) and not held.pieces
        held.pieces = pieces
        if began or _columns(held.waiting) != (set(plan.numbers()), set(plan.words())):
            held.waiting = self._waiting(name, epoch)
        if self.state.first != UNSTARTED and (fresh or grown or _hungry(pieces)):
            self._fill(name, fresh, grown, epoch)

    def _open(self, name: str, epoch: int) -> None:
        """Answer new queries that ask for history, at the closed tick, from what is kept.

        Deferred queries are evaluated at ticks with rows only, from the next one on.
        """
        plan, held = self.parts[name], self.state.inputs[name]
        rows = no_rows(plan.numbers(), plan.words())
        for key, queries in self.mine(name):
            piece = held.pieces[key.text()]
            new = [s for s in queries if s.born == epoch and s.query.history]
            if not new or isinstance(piece, DeferralPiece):
                continue
            opening = frozenset((s.id, s.version) for s in new)
            bench = replace(self.bench(name), opening=opening)
            bench.sid = self._series(name, rows)
            piece.seat(bench, self.registry, queries)
            at = self.state.closed
            span = Span(at - 1, at, at, 0, self.stream.tick, epoch)
            self.opened += [
                given for given in piece.advance(bench, rows, span) if len(given.matrix)
            ]
            piece.seat(self.bench(name), self.registry, queries)

    def _new_piece(self, key: PieceKey, queries: list[Standing]) -> Piece:
        if isinstance(key, PortfolioKey):
            return PortfolioPiece(key)
        if isinstance(key, DeferralKey):
            return DeferralPiece(key)
        if isinstance(key, BoundsKey):
            return BoundsPiece(key)
        groups = Groups(key.group_by, self.shard, self.home.shards)
        if key.synopsis:
            return SummaryPiece.of(key, groups)
        if key.kind == "decay":
            return DecayPiece(key, groups)
        if key.kind == "ring":
            return RingPiece(key, groups, empty_rings(1, key.rows))
        n_panes = needed_panes(self.registry, self.stream, key, queries)
        return PanePiece(key, groups, empty_ring(n_panes, 1), empty_ring(n_panes, 0))

    # Rows of the past.

    def _fill(
        self, name: str, fresh: list[Piece], grown: list[tuple[Paned, int]], epoch: int
    ) -> None:
        """Give new pieces, and longer rings, what the kept history holds."""
        bench, state, tick = self.bench(name), self.state, self.stream.tick
        first = (state.first - 1) * tick
        rows, floor = self._past(name, epoch, self.closed_instant - self.stream.keep)
        floor = max(first, floor)
        span = Span(state.first - 1, state.closed, state.awake_until, 0, tick, epoch)
        bench.sid = self._series(name, rows)
        for piece in fresh:
            if not isinstance(piece, PANED):
                piece.fill(bench, rows, span)
            elif piece.key.born:
                whole = piece.key.kind in WHOLE
                piece.vouched = NO_LIMIT if whole else self.closed_instant
            else:
                piece.fill(bench, rows, span)
                whole = piece.key.kind in WHOLE and floor <= max(first, piece.key.start)
                piece.vouched = NO_LIMIT if whole else floor
        for piece in _hungry(state.inputs[name].pieces):
            if not any(piece is other for other in fresh):
                piece.refill(bench, rows, span)
            piece.vouch(-(-floor // tick))
        for piece, held in grown:
            kept_from = max(piece.vouched, (piece.newest - held) * piece.key.width)
            if floor < kept_from:
                older = rows.take(rows.ts <= kept_from)
                bench.sid = np.empty(0, np.int32)
                piece.fill(bench, older, span)
            piece.vouched = min(kept_from, floor)

    def _past(self, name: str, epoch: int, floor: Instant) -> tuple[Rows, Instant]:
        """Rows kept from before an epoch that have taken effect; how far back they are whole."""
        parts: list[Rows] = []
        for place, segment in history(self.home, self.stream.name, before=epoch, since=floor):
            try:
                part = self._read_again(name, place, segment)
            except SourceFailure:
                floor = max(floor, segment.high)
                continue
            parts.append(part.cut(self.state.closed)[0])
        rows = join(parts, self._no_rows(name)).in_order()
        return rows.take(rows.ts > floor), floor

    def _waiting(self, name: str, epoch: int) -> Rows:
        """Rows of earlier pages beyond the closed tick, read from the log with today's columns."""
        none = self._no_rows(name)
        if self.state.closed == UNSTARTED or not self.state.inputs[name].pieces:
            return none
        since, edge = self.closed_instant, self.stream.late.allowed
        parts = [
            self._read_again(name, place, segment).cut(self.state.closed)[1]
            for place, segment in history(
                self.home, self.stream.name, before=epoch, since=since, allowed=edge
            )
        ]
        return join(parts, none)

    def _no_rows(self, name: str) -> Rows:
        plan = self.parts[name]
        return no_rows(plan.numbers(), plan.words())

    def _read_again(self, name: str, place: tuple[int, int], segment: Segment) -> Rows:
        plan = self.parts[name]
        batch = self._read(place, segment, plan.numbers(), plan.words())
        return self._own(name, batch)

    # Rows of a page.

    def _read(
        self, place: tuple[int, int], segment: Segment, numbers: Sequence[str], words: Sequence[str]
    ) -> RowBatch:
        table = read_columns(self.plan, segment, numbers, words)
        report_values(self.home, place, segment, table, read_in_place(self.plan, numbers))
        return RowBatch.of(self.stream, segment, table, numbers, words)

    def _own(self, name: str, batch: RowBatch) -> Rows:
        """What an input takes of a batch that has its columns, numbered."""
        owned = batch.owned(columns_of(name), self.shard, self.home.shards, self.home.form)
        return owned.named(self.stream.tick, self.state.inputs[name].words)

    def _series(self, name: str, rows: Rows) -> Codes:
        if not self.parts[name].keyed:
            return np.empty(0, np.int32)
        held = self.state.inputs[name]
        return held.series.encode(rows, self.stream.key, held.words)

    def advance(self, page: Page, brought: Brought | None = None) -> list[Given]:
        """Take a page's rows; answer queries that are new and all checks that it closes.

        Rows that were not brought are read here.
        """
        opened, self.opened = self.opened, []
        return opened + self._advance(page, brought)

    def _advance(self, page: Page, brought: Brought | None) -> list[Given]:
        state, stream = self.state, self.stream
        self._count_unusable(page)
        if stream.name not in page.peaks:
            return []
        closed = max(state.closed, closed_by(page, stream))
        came, arrived = self._arrivals(page, brought)
        self.late += came.late
        calendar, state.coming = merged([state.coming, replace(came, late=0)]).split(closed)
        rows = {name: self._due(name, arrived.get(name, ()), closed) for name in self.parts}
        if state.first == UNSTARTED:
            if not len(calendar.ticks):
                state.closed = closed
                return []
            state.first = int(calendar.ticks[0])
            state.closed = state.first - 1
            state.tally.begin(state.first)
        cells = {} if brought is None else brought.cells
        return self._check(rows, cells, calendar, closed, page.number)

    def _due(self, name: str, arrived: Sequence[Rows], closed: int) -> Rows:
        """Rows of an input that take effect now; the others wait."""
        held, none = self.state.inputs.setdefault(name, InputState()), self._no_rows(name)
        ready, waiting = [], []
        for rows in (held.waiting, *arrived) if held.pieces else ():
            early, later = rows.cut(closed)
            ready.append(early)
            waiting.append(later)
        held.waiting = join(waiting, none)
        return join(ready, none).in_order()

    def _count_unusable(self, page: Page) -> None:
        """Take in what a page says of rows that could not be used."""
        state, stream = self.state, self.stream
        if state.first != UNSTARTED:
            state.tally.forget(state.closed - stream.late.reach // stream.tick)
        told = np.array(page.unusable.get(stream.name, ()), np.int64).reshape(-1, 2)
        state.tally.lose(told[:, 0], told[:, 1])

    def _arrivals(
        self, page: Page, brought: Brought | None
    ) -> tuple[Calendar, dict[str, list[Rows]]]:
        """The calendar of a page, and its rows for each input in order of arrival."""
        found: dict[str, list[Rows]] = {}
        given = {} if brought is None else brought.inputs
        for name, batches in given.items():
            words = self.state.inputs[name].words
            found[name] = [batch.named(self.stream.tick, words) for batch in batches]
        reading = [name for name in self.parts if name not in given and self.mine(name)]
        if brought is not None and not reading:
            return brought.calendar, found
        calendars = []
        for batch in self._batches(page, reading):
            calendars.append(batch.calendar(self.stream.tick))
            for name in reading:
                plan = self.parts[name]
                narrow = batch.narrowed(plan.numbers(), plan.words())
                found.setdefault(name, []).append(self._own(name, narrow))
        return (merged(calendars) if brought is None else brought.calendar), found

    def _batches(self, page: Page, reading: Sequence[str]) -> Iterator[RowBatch]:
        """The rows of a page, read once with the columns of all inputs that need them."""
        plans = [self.parts[name] for name in reading]
        numbers = tuple(dict.fromkeys(c for plan in plans for c in plan.numbers()))
        words = tuple(dict.fromkeys(c for plan in plans for c in plan.words()))
        for serial, segment in enumerate(page.segments):
            if segment.stream == self.stream.name:
                yield self._read((page.number, serial), segment, numbers, words)

    def _check(
        self,
        rows: Mapping[str, Rows],
        cells: Mapping[str, Sequence[Partial]],
        calendar: Calendar,
        closed: int,
        epoch: int,
    ) -> list[Given]:
        state, tick = self.state, self.stream.tick
        rest = max(HOUR, self.stream.expected_gap or 0) // tick
        span = Span(state.closed, closed, state.awake_until, rest, tick, epoch)
        state.tally.use(calendar.ticks, calendar.rows)
        given: list[Given] = []
        for name in self.parts:
            bench = self.bench(name)
            bench.sid = self._series(name, rows[name])
            bench.calendar = calendar.ticks if name != REPLICATED else None
            for text, piece in state.inputs[name].pieces.items():
                bench.cells = cells.get(text, ())
                if isinstance(piece, PANED) and piece.vouched == UNSET:
                    piece.vouched = (state.first - 1) * tick
                    if piece.key.kind in WHOLE:
                        piece.vouched = NO_LIMIT
                given += piece.advance(bench, rows[name], span)
        state.closed = closed
        if len(calendar.ticks):
            state.awake_until = int(calendar.ticks[-1]) + rest
        return given


def _with_exact_sums(pieces: Mapping[str, Piece], key: PieceKey) -> PanePiece | None:
    """The table of an earlier release whose sums were rounded, with exact sums from here on."""
    if not isinstance(key, TableKey) or not key.exact:
        return None
    old = pieces.get(replace(key, exact=False).text())
    return old.with_exact_sums(key) if isinstance(old, PanePiece) else None


def _columns(rows: Rows) -> tuple[set[str], set[str]]:
    return set(rows.numbers), set(rows.words)


def _hungry(pieces: dict[str, Piece]) -> list[DeferralPiece]:
    """Pieces with windows over deferred values that kept history may fill."""
    found = [piece for piece in pieces.values() if isinstance(piece, DeferralPiece)]
    return [piece for piece in found if piece.hungry()]
