"""Bringing one promising join forward: rows enter, are looked up by promise, and leave."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.engine.coverage import with_coverage
from streamgauge.engine.progress import StreamRun, frontier
from streamgauge.engine.row_answers import RowsGiven
from streamgauge.engine.store import Store, empty_store, merged, with_history, with_rows
from streamgauge.engine.stream_inputs import UNSTARTED
from streamgauge.kernel.keys import items, keys
from streamgauge.kernel.wire import Array
from streamgauge.log.home import Home
from streamgauge.log.journal import Page
from streamgauge.operators.delta import Delta, consolidated, joined
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.expression import Expr, column
from streamgauge.plan.allowances import promise_of
from streamgauge.plan.promising import PromisingJoinPlan, Side, is_spread, join_plan
from streamgauge.plan.registry import Registry, Standing
from streamgauge.promise.arrivals import Arrivals, FoundPairs, Tally
from streamgauge.promise.costs import Allowance, Spent
from streamgauge.promise.figures import Figures
from streamgauge.promise.join import PromisingJoin
from streamgauge.streams.stream import Stream
from streamgauge.windows.alive import NEVER, alive
from streamgauge.windows.window import BEGINNING
from streamgauge.work.promise.giving import Late, Owed, told_at

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(slots=True)
class SideState:
    """One stream of a join: rows that wait, contents of own rows in the window, late rows.

    `given` rows have entered so far; `serial` and `leave` are of the rows whose contents are kept.
    """

    waiting: Store
    kept: pa.Table
    serial: Ints
    leave: Ints
    given: int = 0
    late: Late = field(default_factory=Late)


@dataclass(slots=True)
class JoinState:
    """What a promising join knows after an epoch.

    `pairs` are the combinations found that are alive, by the serial numbers of their rows, and
    `pairs_leave` says until when. `stored` is the kernel as it was read, until it is needed.
    """

    prev: int = UNSTARTED
    born: int = UNSTARTED
    sides: list[SideState] = field(default_factory=list)
    whole: dict[str, int] = field(default_factory=dict)
    pairs: Ints = field(default_factory=lambda: np.empty((0, 0), np.int64))
    pairs_leave: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    owed: Owed = field(default_factory=Owed)
    figures: Figures = field(default_factory=Figures)
    stored: dict[str, Array] = field(default_factory=dict)
    kernel: PromisingJoin | None = None


@dataclass(slots=True)
class JoinRun:
    """One promising join of a shard, with what is needed to bring it forward."""

    home: Home
    registry: Registry
    standing: Standing
    shard: int
    allowance: Allowance
    spent: Spent
    state: JoinState
    plan: PromisingJoinPlan = field(init=False)
    streams: dict[str, Stream] = field(init=False)
    on: tuple[Expr, ...] = field(init=False)
    columns: tuple[tuple[str, ...], ...] = field(init=False)
    _opening: Delta | None = None

    def __post_init__(self) -> None:
        plan = join_plan(self.standing.view)
        assert plan is not None, f"{self.standing.name!r} is no join in one key"
        self.plan = plan
        names = sorted({side.stream for side in plan.sides})
        self.streams = {name: self.registry.stream(name) for name in names}
        self.on = (*plan.on, *_keys_equal(plan))
        used = {name for expr in self.on for name in expr.columns()}
        used |= {name for _, expr in plan.items for name in expr.columns()}
        self.columns = tuple(
            tuple(
                name
                for name in self.streams[side.stream].schema.names
                if f"{side.alias}.{name}" in used
            )
            for side in plan.sides
        )

    @property
    def tick(self) -> int:
        """The largest tick that divides those of all streams."""
        return math.gcd(*(stream.tick for stream in self.streams.values()))

    @property
    def kernel(self) -> PromisingJoin:
        """The join itself, as it was stored or new."""
        state = self.state
        if state.kernel is None:
            promise = promise_of(self.standing)
            named = dict(promise.summaries)
            aliases = tuple(side.alias for side in self.plan.sides)
            summaries = tuple(self.registry.summaries[named[alias]] for alias in aliases)
            made = PromisingJoin(len(aliases), promise, aliases, summaries, tick=self.tick)
            if state.stored:
                made = PromisingJoin.from_arrays(
                    promise, aliases, summaries, state.stored, tick=self.tick
                )
            state.kernel, state.stored = made, {}
        state.kernel.spent = self.spent
        return state.kernel

    def seat(self, runs: dict[str, StreamRun], epoch: int) -> None:
        """Begin, if this is new: with the kept history, up to where all streams are closed."""
        state = self.state
        if state.sides:
            return
        state.prev = state.born = frontier(runs, self.streams)
        state.pairs = np.empty((0, len(self.plan.sides)), np.int64)
        none = np.empty(0, np.int64)
        for number, side in enumerate(self.plan.sides):
            stream = self.streams[side.stream]
            waiting = empty_store(stream, self._read(number))
            kept = waiting.rows.select(self.columns[number])
            state.sides.append(SideState(waiting, kept, none, none))
        if state.prev != UNSTARTED:
            self._fill(runs, epoch)

    def _read(self, number: int) -> tuple[str, ...]:
        """Columns of a stream that are read: for its conditions, its key, and what is selected."""
        side = self.plan.sides[number]
        used = {name for expr in (*side.where, side.key) for name in expr.columns()}
        return tuple(sorted(used.union(self.columns[number])))

    def _fill(self, runs: dict[str, StreamRun], epoch: int) -> None:
        """Let the rows of kept history that are alive enter, without a limit."""
        state, view = self.state, self.standing.view
        for side, known in zip(self.plan.sides, state.sides, strict=True):
            stream = self.streams[side.stream]
            first = (runs[side.stream].state.first - 1) * stream.tick
            floor = max(first, state.prev - stream.keep)
            known.waiting, floor = with_history(
                known.waiting, stream, self.home, before=epoch, since=floor
            )
            since = floor if view.history else state.prev
            state.whole[side.stream] = BEGINNING if since <= first else since
        arrivals = [self._entering(number, state.prev) for number in range(len(state.sides))]
        found, _ = self.kernel.advance(arrivals, state.prev, Allowance())
        delta = self._changes(found, state.prev)
        if not view.stream_kind:
            self._opening = Delta(delta.rows, np.full(len(delta), state.prev), delta.count)

    def advance(self, runs: dict[str, StreamRun], page: Page) -> RowsGiven | None:
        """Take a page's rows; give what came and went up to where all streams are closed."""
        state = self.state
        for side, known in zip(self.plan.sides, state.sides, strict=True):
            stream, batches = self.streams[side.stream], runs[side.stream].brought.batches
            known.waiting = with_rows(known.waiting, stream, batches)
        prev, now = state.prev, max(state.prev, frontier(runs, self.streams))
        parts = [] if self._opening is None else [self._opening]
        self._opening = None
        tally: Tally | None = None
        if now > prev:
            arrivals = [self._entering(number, now) for number in range(len(state.sides))]
            found, tally = self.kernel.advance(arrivals, now, self.allowance)
            self._count(found, tally)
            with self.spent.giving():
                parts.append(self._changes(found, now))
            state.prev = now
        with self.spent.giving():
            given = self._given(joined(parts, self._schema()), prev, now, tally)
        for known in state.sides:
            known.late.forget(now)
        return with_coverage(given, state.whole, runs)

    def _schema(self) -> pa.Schema:
        none = np.empty((0, len(self.plan.sides)), np.int64)
        return self._selected(self._combined(none)).schema

    def _entering(self, number: int, now: int) -> Arrivals:
        """Rows of a stream that enter its window up to an instant, in the order they do."""
        side, known = self.plan.sides[number], self.state.sides[number]
        ready, known.waiting = known.waiting.cut(now)
        rows = ready.take(self._passed(side, ready))
        tick = self.streams[side.stream].tick
        enter, leave = alive(side.window, tick, rows.ts, rows.eff)
        later = enter > now
        if later.any():
            known.waiting = merged([rows.take(later), known.waiting])
        left_out = ~rows.used & ~later
        known.late.add(enter[left_out], leave[left_out])
        comes = rows.used & ~later & (enter < leave) & (leave > self.state.prev)
        order = np.flatnonzero(comes)
        order = order[np.argsort(enter[order], kind="stable")]
        return self._arrive(number, rows.take(order), enter[order], leave[order])

    def _passed(self, side: Side, rows: Store) -> Flags:
        """Rows that meet the conditions on their stream and are not from before the view."""
        passed = np.ones(len(rows), np.bool_)
        born = self.state.born
        if not self.standing.view.history and born != UNSTARTED:
            passed &= rows.ts > born
        for expr in side.where:
            met = evaluate(expr, rows.rows, self.registry.functions).fill_null(False)
            passed &= np.asarray(met.to_numpy(zero_copy_only=False), np.bool_)
        return passed

    def _arrive(self, number: int, rows: Store, enter: Ints, leave: Ints) -> Arrivals:
        """Number rows that have a key, and keep the contents of those that are ours."""
        known = self.state.sides[number]
        found = items(evaluate(self.plan.sides[number].key, rows.rows, self.registry.functions))
        key = keys(found, seed=0)
        if found.kept is not None:
            places = np.flatnonzero(found.kept)
            rows, enter, leave = rows.take(places), enter[places], leave[places]
        shards = self.home.shards
        mine: Flags = np.ones(len(key), np.bool_)
        if shards > 1 and is_spread(self.plan):
            mine = key % np.uint64(shards) == np.uint64(self.shard)
        serial = known.given + np.flatnonzero(mine)
        known.given += len(key)
        if len(serial):
            more = rows.rows.select(self.columns[number]).take(pa.array(np.flatnonzero(mine)))
            known.kept = pa.concat_tables([known.kept, more]).combine_chunks()
            known.serial = np.concatenate((known.serial, serial))
            known.leave = np.concatenate((known.leave, leave[mine]))
        return Arrivals(key, enter, leave, mine)

    def _changes(self, found: FoundPairs, now: int) -> Delta:
        """Rows that came and went, from the combinations found; lets go of what has left."""
        state = self.state
        pairs = np.stack(found.rows, axis=1) if len(found.at) else state.pairs[:0]
        table = self._combined(pairs)
        meets = np.ones(len(pairs), np.bool_)
        for expr in self.on:
            met = evaluate(expr, table, self.registry.functions).fill_null(False)
            meets &= np.asarray(met.to_numpy(zero_copy_only=False), np.bool_)
        places = np.flatnonzero(meets)
        came = self._selected(table if meets.all() else table.take(pa.array(places)))
        state.pairs = np.concatenate((state.pairs, pairs[places]))
        state.pairs_leave = np.concatenate((state.pairs_leave, found.leave[places]))
        goes = state.pairs_leave <= now
        went = self._selected(self._combined(state.pairs[goes]))
        at = np.concatenate((found.at[places], state.pairs_leave[goes]))
        signs = np.ones(len(places), np.int64), np.full(int(goes.sum()), -1, np.int64)
        self._let_go(goes, now)
        return Delta(pa.concat_tables([came, went]).combine_chunks(), at, np.concatenate(signs))

    def _let_go(self, goes: Flags, now: int) -> None:
        """Forget combinations that went, and rows that no combination will hold any more."""
        state = self.state
        if self.plan.kind:
            # A stream of rows is never asked what it holds, so what stays need not be kept.
            goes = goes | (state.pairs_leave == NEVER)
        if goes.any():
            state.pairs, state.pairs_leave = state.pairs[~goes], state.pairs_leave[~goes]
        for known in state.sides:
            stays = known.leave > now
            if not stays.all():
                known.kept = known.kept.take(pa.array(np.flatnonzero(stays)))
                known.serial, known.leave = known.serial[stays], known.leave[stays]

    def _combined(self, pairs: Ints) -> pa.Table:
        """Rows of combinations side by side, with columns like `a.price`."""
        arrays: dict[str, pa.ChunkedArray] = {}
        for number, (side, known) in enumerate(zip(self.plan.sides, self.state.sides, strict=True)):
            places = pa.array(np.searchsorted(known.serial, pairs[:, number]))
            for name in self.columns[number]:
                arrays[f"{side.alias}.{name}"] = known.kept[name].take(places)
        if arrays:
            return pa.table(arrays)
        # Only constants are selected: a column for the number of rows.
        return pa.table({"": pa.nulls(len(pairs))})

    def _selected(self, table: pa.Table) -> pa.Table:
        functions = self.registry.functions
        arrays = [evaluate(expr, table, functions) for _, expr in self.plan.items]
        return pa.table(arrays, names=[name for name, _ in self.plan.items])

    def _count(self, found: FoundPairs, tally: Tally) -> None:
        figures = self.state.figures
        allowed = self.allowance.over(tally.at // self.tick)
        figures.over(tally.probes, allowed, tally.share, tally.unseen, tally.mode)
        figures.found += len(found.at)
        figures.given_up = self.kernel.given_up
        figures.zones, figures.nbytes = self.kernel.zones, self.kernel.nbytes

    def _given(self, delta: Delta, prev: int, now: int, tally: Tally | None) -> RowsGiven | None:
        state, standing = self.state, self.standing
        running = standing.status == "running"
        due = state.owed.due(standing.view, delta, prev, now, running=running)
        if due is None or not len(due):
            return None
        missing = np.zeros(len(due), np.int64)
        for known in state.sides:
            missing += known.late.at(due.at)
        met = missing == 0
        if tally is None or not len(tally.at):
            return RowsGiven(standing, due, missing, met)
        share = told_at(due.at, tally.at, tally.share, 1.0)
        unseen = told_at(due.at, tally.at, tally.unseen, 0.0)
        return RowsGiven(standing, due, missing, met, share, unseen)

    def rows_now(self) -> pa.Table:
        """The rows that were found and are alive, at the instant up to which all is answered."""
        rows = self._selected(self._combined(self.state.pairs))
        delta = consolidated(Delta.of(rows, self.state.prev))
        return delta.rows.take(pa.array(np.repeat(np.arange(len(delta)), delta.count)))


def _keys_equal(plan: PromisingJoinPlan) -> tuple[Expr, ...]:
    """Conditions that compare the keys themselves: two keys may have one hash."""
    named = [
        column(f"{side.alias}.{side.key.value}") for side in plan.sides if side.key.op == "column"
    ]
    if len(named) < len(plan.sides):
        return ()
    return tuple(Expr("=", (named[0], other)) for other in named[1:])
