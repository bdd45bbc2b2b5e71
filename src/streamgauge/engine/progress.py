"""Bringing one stream of one shard forward: changes first, then rows, then what is due.

The rows of a stream reach its work through inputs: one brings all rows, the others those of the
groups that the shard owns. All of them go by the calendar of the whole stream.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import chain

import numpy as np

from streamgauge.engine.batch import RowBatch
from streamgauge.engine.calendar import Calendar, merged
from streamgauge.engine.clocks import closed_by
from streamgauge.engine.distribution import REPLICATED, columns_of, inputs_of
from streamgauge.engine.leaving import release, settle_names
from streamgauge.engine.logged_rows import logged_rows
from streamgauge.engine.operator import FedModule, Operator, Past, fed_module, upgraded
from streamgauge.engine.partial import Partial
from streamgauge.engine.piece_memory import PieceMemory
from streamgauge.engine.pieces import NO_LIMIT, Bench, Given
from streamgauge.engine.reading import Brought, Wanted, read_batch, read_page
from streamgauge.engine.rows import Rows, join, no_rows
from streamgauge.engine.stalled import goes_on
from streamgauge.engine.stream_inputs import UNSTARTED, InputState, StreamState
from streamgauge.engine.turns import check, turn
from streamgauge.engine.unusable import Tally
from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.time import HOUR, Instant
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Page, Segment
from streamgauge.log.reader import history
from streamgauge.operators.emission import Codes, Span
from streamgauge.plan.assignment import Change
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import StreamPlan
from streamgauge.plan.technique import Key, technique
from streamgauge.streams.stream import Stream


@dataclass(slots=True)
class StreamRun:
    """One stream of one shard, with what is needed to bring it forward.

    `others` are the columns of all rows that operators take which no input of the stream feeds,
    `logged` those of rows that are split, by how they are; `brought` has the rows of the page at
    work for them. `born` counts queries by the epochs of their births, `changed` is the newest
    epoch that changed who asks.
    """

    home: Home
    shard: int
    plan: StreamPlan
    registry: Registry
    state: StreamState
    late: int = 0
    others: Wanted = field(default_factory=Wanted)
    logged: dict[str, Wanted] = field(default_factory=dict)
    brought: Brought = field(default_factory=Brought)
    opened: list[Given] = field(default_factory=list)
    born: Counter[int] = field(default_factory=Counter)
    changed: int = 0
    parts: dict[str, StreamPlan] = field(init=False)
    here: dict[str, list[tuple[Key, list[Standing]]]] = field(init=False)
    memory: PieceMemory = field(init=False)

    def __post_init__(self) -> None:
        self._go_by(self.plan)
        self.memory = PieceMemory()

    def _go_by(self, plan: StreamPlan) -> None:
        """Take a plan, and of its operators those that this shard has a part in."""
        self.plan, self.parts = plan, inputs_of(plan)
        self.here = {
            name: [one for one in part.operators.items() if self._lives_here(one[0])]
            for name, part in self.parts.items()
        }

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

    def turn(self, text: str, queries: Sequence[Standing]) -> AbstractContextManager[None]:
        """A turn of an operator of this stream."""
        return turn(f"{self.stream.name}/{text}", lambda: queries)

    def mine(self, name: str) -> list[tuple[Key, list[Standing]]]:
        """Operators of an input that this shard has a part in."""
        return self.here[name]

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
                with self.turn(key.text(), queries):
                    piece = held.pieces.get(key.text()) or upgraded(key, stored)
                    if piece is not None:
                        piece.seat(bench, self.registry, queries)
                        pieces[key.text()] = piece
            held.pieces = pieces
            settle_names(held, plan)

    def change(self, plan: StreamPlan, changes: Mapping[Key, Change], epoch: int) -> None:
        """Let what an epoch changes of some operators take effect; the others go on."""
        self._go_by(plan)
        self.seat(epoch, changes)

    def seat(self, epoch: int, changes: Mapping[Key, Change] | None = None) -> None:
        """Make, drop and compile pieces: those that changes are of, or all."""
        state = self.state
        self.note_births(epoch, changes)
        idle = {name: held for name, held in state.inputs.items() if held.stalled}
        state.inputs = idle | {n: state.inputs.get(n) or InputState() for n in self.parts}
        for name in self.parts:
            self._seat_input(name, epoch, changes)
        if state.first != UNSTARTED:
            for name in self.parts:
                self._open(name, epoch, changes)
        self._release()

    def note_births(self, epoch: int, changes: Mapping[Key, Change] | None) -> None:
        """Know when the queries of an epoch are born, and no more than is asked for."""
        births, born = self.state.births, self.born
        if changes is None or not born:
            asked = (
                one for name in self.parts for _, queries in self.mine(name) for one in queries
            )
            failed = (one for one in self.registry.queries.values() if one.suspended is not None)
            self.born = born = Counter(one.born for one in chain(asked, failed))
            gone = [at for at in births if at not in born]
        else:
            here = [one for key, one in changes.items() if self._lives_here(key)]
            born.update(one.born for change in here for one in change.added)
            born.subtract(one.born for change in here for one in change.dropped)
            left = {self.changed, *(one.born for change in here for one in change.dropped)}
            gone = [at for at in left if not born[at]]
        for at in gone:
            births.pop(at, None)
            born.pop(at, None)
        self.changed = epoch
        births[epoch] = NO_LIMIT if self.state.closed == UNSTARTED else self.closed_instant

    def _lives_here(self, key: Key) -> bool:
        return key.lives_on(self.shard, self.home.shards)

    def _release(self) -> None:
        for name, plan in self.parts.items():
            release(self.state.inputs[name], plan)

    def _seat_input(self, name: str, epoch: int, changes: Mapping[Key, Change] | None) -> None:
        plan, held = self.parts[name], self.state.inputs[name]
        settle_names(held, plan)
        bench = self.bench(name)
        pieces: dict[str, Operator] = {}
        lacking: list[tuple[Operator, bool, int]] = []
        for key, queries in self.mine(name):
            known = held.pieces.get(key.text())
            change = None if changes is None else changes.get(key)
            if known is not None and changes is not None and change is None:
                pieces[key.text()] = known
                continue
            with self.turn(key.text(), queries):
                known = known or self._resumed(name, key, queries, epoch)
                piece = known or _module(key).opened(key, bench, self.registry, queries)
                reached = piece.extent
                with self.memory.working(key.text(), piece, partial(_names, queries)):
                    if known is None or change is None or key.text() not in held.pieces:
                        piece.seat(bench, self.registry, queries)
                    else:
                        piece.change(bench, self.registry, queries, change)
                self.opened += piece.ends(self.state.closed)
                if known is None or piece.extent > reached or piece.lacks_past():
                    lacking.append((piece, known is None, reached))
                pieces[key.text()] = piece
        check()
        began = bool(pieces) and not held.pieces
        held.pieces = pieces
        if began or _columns(held.waiting) != (set(plan.numbers()), set(plan.words())):
            held.waiting = self._waiting(name, epoch)
        if self.state.first != UNSTARTED and lacking:
            self._fill(name, lacking, epoch)

    def _resumed(self, name: str, key: Key, queries: list[Standing], epoch: int) -> Operator | None:
        """The operator of queries that are resumed, brought over the epochs that it has missed."""
        held = self.state.inputs[name]
        stalled = held.stalled.get(key.text())
        if stalled is None or not goes_on(stalled.queries, queries):
            return None
        state = StreamState.at(stalled.stage)
        plan = replace(self.plan, operators={key: queries})
        alone = StreamRun(self.home, self.shard, plan, self.registry, state)
        mine = InputState(held.words, held.series, pieces={key.text(): stalled.operator})
        state.inputs = {REPLICATED: InputState(), name: mine}
        stalled.operator.seat(alone.bench(name), self.registry, queries)
        mine.waiting = alone._waiting(name, stalled.since)
        for page in map(Journal(self.home).page, range(stalled.since, epoch)):
            self.opened += alone._advance(page, alone._bring(page, None))
        del held.stalled[key.text()]
        return stalled.operator

    def _open(self, name: str, epoch: int, changes: Mapping[Key, Change] | None) -> None:
        """Answer new queries that ask for history, at the closed tick, from what is kept."""
        plan, held = self.parts[name], self.state.inputs[name]
        rows = no_rows(plan.numbers(), plan.words())
        for key, queries in self.mine(name):
            piece = held.pieces[key.text()]
            asked = queries if changes is None else changes.get(key, Change()).added
            new = [s for s in asked if s.born == epoch and s.query.history]
            if not new or not piece.answers_history:
                continue
            opening = frozenset((s.id, s.version) for s in new)
            bench = replace(self.bench(name), opening=opening)
            bench.sid = self._series(name, rows)
            at = self.state.closed
            span = Span(at - 1, at, at, 0, self.stream.tick, epoch)
            with self.turn(key.text(), queries):
                given = piece.begin_answers(bench, self.registry, queries, new, (rows, span))
                self.opened += [one for one in given if len(one.matrix)]

    # Rows of the past.

    def _fill(self, name: str, lacking: Sequence[tuple[Operator, bool, int]], epoch: int) -> None:
        """Give operators what they lack of the kept history."""
        bench, state, tick = self.bench(name), self.state, self.stream.tick
        first = (state.first - 1) * tick
        rows, floor = self._past(name, epoch, self.closed_instant - self.stream.keep)
        span = Span(state.first - 1, state.closed, state.awake_until, 0, tick, epoch)
        bench.sid = self._series(name, rows)
        for piece, fresh, held in lacking:
            past = Past(rows, max(first, floor), first, self.closed_instant, span, fresh, held)
            with self._working(name, piece.key.text(), piece):
                piece.take_past(bench, past)

    def begin_anew(self, name: str, key: Key, queries: Sequence[Standing], epoch: int) -> None:
        """Make an operator whose state cannot be read, with what is kept after an epoch."""
        held, bench = self.state.inputs[name], self.bench(name)
        piece = _module(key).opened(key, bench, self.registry, queries)
        piece.seat(bench, self.registry, queries)
        alone = not held.pieces
        held.pieces[key.text()] = piece
        if alone:
            held.waiting = self._waiting(name, epoch + 1)
        if self.state.first != UNSTARTED:
            self._fill(name, [(piece, True, 0)], epoch + 1)

    @contextmanager
    def _working(self, name: str, text: str, piece: Operator) -> Iterator[None]:
        asking = partial(self._asking, name, text)
        with (
            turn(f"{self.stream.name}/{text}", asking),
            self.memory.working(text, piece, lambda: _names(asking())),
        ):
            yield

    def _asking(self, name: str, text: str) -> list[Standing]:
        """The queries that a piece of an input works for."""
        return [one for key, asked in self.mine(name) if key.text() == text for one in asked]

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
        batch = read_batch(self.home, self.plan, place, segment, self._wanted([name]))
        return self._own(name, batch)

    # Rows of a page.

    def _wanted(self, names: Sequence[str]) -> Wanted:
        """Columns that some inputs take."""
        plans = [self.parts[name] for name in names]
        return Wanted(
            tuple(dict.fromkeys(c for plan in plans for c in plan.numbers())),
            tuple(dict.fromkeys(c for plan in plans for c in plan.words())),
        )

    def _own(self, name: str, batch: RowBatch) -> Rows:
        """What an input takes of a batch, numbered."""
        plan = self.parts[name]
        numbers, words = plan.numbers(), plan.words()
        narrow = batch.grown(self.plan, numbers, words).narrowed(numbers, words)
        owned = narrow.owned(columns_of(name), self.shard, self.home.shards, self.home.form)
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
        given = opened + self._advance(page, self._bring(page, brought))
        for item in given:
            item.tick = self.stream.tick
        self._release()
        return given

    def _advance(self, page: Page, brought: Brought) -> list[Given]:
        state, stream = self.state, self.stream
        self._count_unusable(page)
        if stream.name not in page.peaks:
            return []
        closed = max(state.closed, closed_by(page, stream))
        came, arrived = brought.calendar, self._arrivals(brought)
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
        return self._check(rows, brought.cells, calendar, closed, page.number)

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

    def _bring(self, page: Page, brought: Brought | None) -> Brought:
        """The rows of a page, read here where they were not brought; others take them from here."""
        came = brought or Brought(whole=False)
        lacking = [name for name in self.parts if name not in came.inputs and self.mine(name)]
        wanted = self._wanted(lacking).joined(self.others)
        split = [name for name in self.logged if name not in came.logged]
        wanted = reduce(Wanted.joined, (self.logged[name] for name in split), wanted)
        if brought is None or not (brought.whole or wanted == Wanted()):
            read = read_page(self.home, self.plan, page, wanted)
            calendar = read.calendar if brought is None else brought.calendar
            came = replace(came, calendar=calendar, batches=read.batches)
        if split:
            mine = {name: self._mine_of(name, came.batches) for name in split}
            came = replace(came, logged={**came.logged, **mine})
        self.brought = came.alone()
        return came

    def _mine_of(self, name: str, batches: Sequence[RowBatch]) -> list[RowBatch]:
        """Rows of batches that this shard works on, where they are split."""
        shard, shards = self.shard, self.home.shards
        return [logged_rows(batch, self.stream, name, shard, shards) for batch in batches]

    def _arrivals(self, brought: Brought) -> dict[str, list[Rows]]:
        """The rows of a page for each input, in order of arrival."""
        found: dict[str, list[Rows]] = {}
        for name, batches in brought.inputs.items():
            words = self.state.inputs[name].words
            found[name] = [batch.named(self.stream.tick, words) for batch in batches]
        for name in self.parts:
            if name not in found and self.mine(name):
                found[name] = [self._own(name, batch) for batch in brought.batches]
        return found

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
                with self._working(name, text, piece):
                    given += piece.advance(bench, rows[name], span)
        state.closed = closed
        if len(calendar.ticks):
            state.awake_until = int(calendar.ticks[-1]) + rest
        return given


def frontier(runs: dict[str, StreamRun], streams: dict[str, Stream]) -> int:
    """The instant up to which all of some streams are closed."""
    closed = [
        UNSTARTED if runs[name].state.closed == UNSTARTED else runs[name].closed_instant
        for name in streams
    ]
    return min(closed, default=UNSTARTED)


def _module(key: Key) -> FedModule:
    return fed_module(technique(key.technique))


def _names(queries: Sequence[Standing]) -> list[str]:
    return [standing.name for standing in queries]


def _columns(rows: Rows) -> tuple[set[str], set[str]]:
    return set(rows.numbers), set(rows.words)
