"""Bringing one stream of one shard forward: changes first, then rows, then what is due."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from streamgauge.engine.bounds_piece import BoundsPiece
from streamgauge.engine.decay_piece import DecayPiece
from streamgauge.engine.deferral_piece import DeferralPiece
from streamgauge.engine.naming import Groups, Series
from streamgauge.engine.pane_piece import UNSET, PanePiece, needed_panes
from streamgauge.engine.pieces import NO_LIMIT, Bench, Given, Piece
from streamgauge.engine.portfolio_piece import PortfolioPiece
from streamgauge.engine.ring_piece import RingPiece
from streamgauge.engine.rows import (
    Rows,
    arrange,
    as_numbers,
    as_words,
    join,
    no_rows,
    read_columns,
    read_in_place,
)
from streamgauge.engine.summary_piece import SummaryPiece
from streamgauge.engine.unusable import Tally
from streamgauge.kernel.columns import Interner
from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.time import HOUR, Instant
from streamgauge.log.dead_letters import report_unusable
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Page, Segment
from streamgauge.log.reader import history
from streamgauge.operators.emission import Codes, Span
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import (
    BoundsKey,
    DeferralKey,
    PieceKey,
    PortfolioKey,
    StreamPlan,
)
from streamgauge.streams.stream import Stream
from streamgauge.windows.panes import empty_ring
from streamgauge.windows.rings import empty_rings

UNSTARTED = -(2**60)
PANED = (PanePiece, SummaryPiece, DecayPiece)
# Windows that hold all rows since some instant.
WHOLE = ("landmark", "decay")


@dataclass(slots=True)
class StreamState:
    """All that a shard knows of a stream after an epoch."""

    closed: int = UNSTARTED
    awake_until: int = UNSTARTED
    first: int = UNSTARTED
    births: dict[int, Instant] = field(default_factory=dict)
    words: dict[str, Interner] = field(default_factory=dict)
    series: Series = field(default_factory=Series)
    waiting: Rows = field(default_factory=lambda: no_rows((), ()))
    pieces: dict[str, Piece] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)


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

    def bench(self) -> Bench:
        """What the pieces share."""
        s = self.state
        first = NO_LIMIT if s.first == UNSTARTED else (s.first - 1) * self.stream.tick
        shards = self.home.shards
        return Bench(self.stream, s.words, s.series, s.births, self.shard, shards, first=first)

    def seat(self, epoch: int) -> None:
        """Let the changes of an epoch take effect: make, drop and compile pieces."""
        state = self.state
        started = state.closed != UNSTARTED
        born = {standing.born for _, queries in self.mine() for standing in queries}
        state.births = {at: state.births[at] for at in born if at in state.births}
        state.births[epoch] = self.closed_instant if started else NO_LIMIT
        for name in self.plan.words():
            state.words.setdefault(name, Interner())
        self._widen_waiting()
        bench = self.bench()
        pieces: dict[str, Piece] = {}
        fresh: list[Piece] = []
        grown: list[tuple[PanePiece | SummaryPiece | DecayPiece, int]] = []
        for key, queries in self.mine():
            piece = state.pieces.get(key.text())
            if piece is None:
                piece = self._new_piece(key, queries)
                fresh.append(piece)
            held = piece.n_panes if isinstance(piece, PANED) else 0
            piece.seat(bench, self.registry, queries)
            if isinstance(piece, DeferralPiece | BoundsPiece):
                self.opened += piece.ends(state.closed)
            old = not any(piece is other for other in fresh)
            if old and isinstance(piece, PANED) and piece.n_panes > held:
                grown.append((piece, held))
            pieces[key.text()] = piece
        state.pieces = pieces
        if state.first != UNSTARTED and (fresh or grown or _hungry(pieces)):
            self._fill(bench, fresh, grown, epoch)
        if state.first != UNSTARTED:
            self._open(epoch)

    def _open(self, epoch: int) -> None:
        """Answer new queries that ask for history, at the closed tick, from what is kept.

        Deferred queries are evaluated at ticks with rows only, from the next one on.
        """
        state, rows = self.state, no_rows(self.plan.numbers(), self.plan.words())
        for key, queries in self.mine():
            piece = state.pieces[key.text()]
            new = [s for s in queries if s.born == epoch and s.query.history]
            if not new or isinstance(piece, DeferralPiece):
                continue
            opening = frozenset((s.id, s.version) for s in new)
            bench = replace(self.bench(), opening=opening)
            bench.sid = self._series(rows)
            piece.seat(bench, self.registry, queries)
            at = state.closed
            span = Span(at - 1, at, at, 0, self.stream.tick, epoch)
            self.opened += [
                given for given in piece.advance(bench, rows, span) if len(given.matrix)
            ]
            piece.seat(self.bench(), self.registry, queries)

    def mine(self) -> list[tuple[PieceKey, list[Standing]]]:
        """Pieces this shard has a part in."""
        shards = self.home.shards
        tables = [
            (key, queries)
            for key, queries in self.plan.tables.items()
            if key.group_by or key.owner(shards) == self.shard
        ]
        plan = self.plan
        return [
            *plan.portfolios.items(),
            *plan.deferrals.items(),
            *plan.bounds.items(),
            *tables,
        ]

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

    def _widen_waiting(self) -> None:
        """Read from the log the columns that waiting rows did not need until now."""
        rows, numbers, words = self.state.waiting, self.plan.numbers(), self.plan.words()
        missing_numbers = [name for name in numbers if name not in rows.numbers]
        missing_words = [name for name in words if name not in rows.words]
        for name in missing_numbers:
            rows.numbers[name] = np.empty(len(rows))
        for name in missing_words:
            rows.words[name] = np.empty(len(rows), np.int32)
        if len(rows) and (missing_numbers or missing_words):
            self._reread(rows, missing_numbers, missing_words)
        rows.numbers = {name: rows.numbers[name] for name in numbers}
        rows.words = {name: rows.words[name] for name in words}

    def _reread(self, rows: Rows, numbers: list[str], words: list[str]) -> None:
        journal = Journal(self.home)
        places = sorted(set(zip(rows.page.tolist(), rows.segment.tolist(), strict=True)))
        for page, serial in places:
            here = (rows.page == page) & (rows.segment == serial)
            segment = journal.page(page).segments[serial]
            table = read_columns(self.plan, segment, numbers, words).take(rows.row[here])
            for name in numbers:
                rows.numbers[name][here] = as_numbers(table[name])
            for name in words:
                rows.words[name][here] = self.state.words[name].encode(as_words(table[name]))

    def _fill(
        self,
        bench: Bench,
        fresh: list[Piece],
        grown: list[tuple[PanePiece | SummaryPiece | DecayPiece, int]],
        epoch: int,
    ) -> None:
        """Give new pieces, and longer rings, what the kept history holds."""
        first = (self.state.first - 1) * self.stream.tick
        rows, floor = self._past(epoch, self.closed_instant - self.stream.keep)
        floor = max(first, floor)
        state, tick = self.state, self.stream.tick
        span = Span(state.first - 1, state.closed, state.awake_until, 0, tick, epoch)
        bench.sid = self._series(rows)
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
        for piece in _hungry(self.state.pieces):
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

    def _past(self, epoch: int, floor: Instant) -> tuple[Rows, Instant]:
        """Rows kept from before an epoch that have taken effect; how far back they are whole."""
        parts: list[Rows] = []
        for place, segment in history(self.home, self.stream.name, before=epoch, since=floor):
            try:
                part = self._read(place, segment)
            except SourceFailure:
                floor = max(floor, segment.high)
                continue
            parts.append(self._within_reach(part).cut(self.state.closed)[0])
        rows = join(parts, no_rows(self.plan.numbers(), self.plan.words())).in_order()
        return rows.take(rows.ts > floor), floor

    def _read(self, place: tuple[int, int], segment: Segment) -> Rows:
        numbers, words = self.plan.numbers(), self.plan.words()
        table = read_columns(self.plan, segment, numbers, words)
        if place[1] % self.home.shards == self.shard:
            values = read_in_place(self.plan, numbers)
            report_unusable(self.home, segment, place, table, values)
        return arrange(self.stream, segment, table, self.state.words, numbers, words)

    def _within_reach(self, rows: Rows) -> Rows:
        """Without the late rows that a revising stream lets go."""
        policy = self.stream.late
        if policy.policy != "revise" or not rows.late.any():
            return rows
        return rows.take(~(rows.late & (rows.ts < rows.eff - policy.reach)))

    def _series(self, rows: Rows) -> Codes:
        if not self.plan.keyed:
            return np.empty(0, np.int32)
        return self.state.series.encode(rows, self.stream.key, self.state.words)

    def advance(self, page: Page) -> list[Given]:
        """Take a page's rows; answer queries that are new and all checks that it closes."""
        opened, self.opened = self.opened, []
        return opened + self._advance(page)

    def _advance(self, page: Page) -> list[Given]:
        state, stream = self.state, self.stream
        self._count_unusable(page)
        if stream.name not in page.peaks:
            return []
        edge = page.peaks[stream.name] - stream.late.allowed
        passed = page.passed.get(stream.name, NO_LIMIT)
        closed = max(state.closed, -((-edge) // stream.tick) - 1, passed // stream.tick)
        ready, waiting = [], []
        for place, rows in self._arrivals(page):
            early, later, where = rows.cut(closed)
            if place is not None:
                later = self._within_reach(later.placed(place, where))
            ready.append(self._within_reach(early))
            waiting.append(later)
        none = no_rows(self.plan.numbers(), self.plan.words())
        state.waiting = join(waiting, none)
        rows = join(ready, none).in_order()
        if state.first == UNSTARTED:
            if len(rows) == 0:
                state.closed = closed
                return []
            state.first = int(rows.tick[0])
            state.closed = state.first - 1
            state.tally.begin(state.first)
        return self._check(rows, closed, page.number)

    def _count_unusable(self, page: Page) -> None:
        """Take in what a page says of rows that could not be used."""
        state, stream = self.state, self.stream
        if state.first != UNSTARTED:
            state.tally.forget(state.closed - stream.late.reach // stream.tick)
        told = np.array(page.unusable.get(stream.name, ()), np.int64).reshape(-1, 2)
        state.tally.lose(told[:, 0], told[:, 1])

    def _arrivals(self, page: Page) -> list[tuple[tuple[int, int] | None, Rows]]:
        """Waiting rows, then the page's rows by place in the log, in order of arrival."""
        parts: list[tuple[tuple[int, int] | None, Rows]] = [(None, self.state.waiting)]
        for serial, segment in enumerate(page.segments):
            if segment.stream == self.stream.name:
                place = (page.number, serial)
                part = self._read(place, segment)
                self.late += int(part.late.sum())
                parts.append((place, part))
        return parts

    def _check(self, rows: Rows, closed: int, epoch: int) -> list[Given]:
        state, bench = self.state, self.bench()
        bench.sid = self._series(rows)
        rest = max(HOUR, self.stream.expected_gap or 0) // self.stream.tick
        span = Span(state.closed, closed, state.awake_until, rest, self.stream.tick, epoch)
        given: list[Given] = []
        state.tally.use(rows.tick)
        for piece in state.pieces.values():
            if isinstance(piece, PANED) and piece.vouched == UNSET:
                piece.vouched = (state.first - 1) * self.stream.tick
                if piece.key.kind in WHOLE:
                    piece.vouched = NO_LIMIT
            given += piece.advance(bench, rows, span)
        state.closed = closed
        if len(rows):
            state.awake_until = int(rows.tick[-1]) + rest
        return given


def _hungry(pieces: dict[str, Piece]) -> list[DeferralPiece]:
    """Pieces with windows over deferred values that kept history may fill."""
    found = [piece for piece in pieces.values() if isinstance(piece, DeferralPiece)]
    return [piece for piece in found if piece.hungry()]
