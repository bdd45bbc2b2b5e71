"""Bringing the promising selections of one stream and window forward.

Ticks whose rows a query's budget reaches go through one index of all queries. At the others the
query looks at the rows that promise most, and comes back to the rest while it is idle.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.engine.coverage import with_coverage
from streamgauge.engine.progress import StreamRun, frontier
from streamgauge.engine.row_answers import RowsGiven
from streamgauge.engine.selected import selected
from streamgauge.engine.store import Store, empty_store, merged, widened, with_history, with_rows
from streamgauge.engine.stream_inputs import UNSTARTED
from streamgauge.log.home import Home
from streamgauge.log.journal import Page
from streamgauge.operators.delta import Delta, consolidated, joined
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.predicate_index import PredicateIndex
from streamgauge.operators.predicate_lists import numbered
from streamgauge.plan.nodes import Named
from streamgauge.plan.registry import Registry
from streamgauge.promise.costs import Spent
from streamgauge.results.row_blocks import RowBlock
from streamgauge.streams.stream import Stream
from streamgauge.windows.alive import NEVER, alive
from streamgauge.windows.window import BEGINNING, Unbounded, Window
from streamgauge.work.promise.giving import carried_at
from streamgauge.work.promise.reach import (
    Asking,
    Coming,
    Reach,
    Reached,
    SelectState,
    all_met,
)

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int32]
_COLUMNS = ("ts", "eff", "used", "sign", "page", "segment", "row")


@dataclass(slots=True)
class SelectionsState:
    """What the selections of one stream and window know after an epoch.

    `waiting` rows have not entered. `kept` rows may still be looked at; the first has the serial
    number `base`. `missed` late rows were left out so far.
    """

    prev: int = UNSTARTED
    base: int = 0
    missed: int = 0
    waiting: Store | None = None
    kept: Store | None = None
    queries: dict[str, SelectState] = field(default_factory=dict)


@dataclass(slots=True)
class SelectionsRun:
    """Promising selections of one stream and window, with what is needed to bring them forward."""

    home: Home
    registry: Registry
    stream: Stream
    window: Window | None
    spent: Spent
    asking: list[Asking]
    state: SelectionsState
    _index: PredicateIndex | None = None
    _lists: dict[Named, Flags] = field(init=False)

    def __post_init__(self) -> None:
        state, columns = self.state, self._columns()
        waiting = state.waiting or empty_store(self.stream, columns)
        kept = state.kept or empty_store(self.stream, columns)
        state.waiting = widened(waiting, self.stream, columns, self.home)
        state.kept = widened(kept, self.stream, columns, self.home)
        self._lists = {}
        for number, asked in enumerate(self.asking):
            if asked.plain and asked.standing.status == "running":
                none = np.zeros(len(self.asking), np.bool_)
                self._lists.setdefault(asked.plan.items, none)[number] = True

    @property
    def index(self) -> PredicateIndex:
        """The conditions of all selections, looked up instead of tried."""
        if self._index is None:
            wheres = [asked.plan.where for asked in self.asking]
            self._index = PredicateIndex.of(wheres, self.stream.schema)
        return self._index

    def _columns(self) -> tuple[str, ...]:
        used = {asked.plan.column for asked in self.asking}
        for asked in self.asking:
            exprs = [*asked.plan.where, *(expr for _, expr in asked.plan.items)]
            used |= {name for expr in exprs for name in expr.columns()}
        return tuple(sorted(used - {""}))

    @property
    def _waiting(self) -> Store:
        assert self.state.waiting is not None, "stores are made with the run"
        return self.state.waiting

    @property
    def _kept(self) -> Store:
        assert self.state.kept is not None, "stores are made with the run"
        return self.state.kept

    def seat(self, runs: dict[str, StreamRun], epoch: int) -> None:
        """Begin those that are new, with the kept history up to where the stream is closed."""
        state, run = self.state, runs[self.stream.name]
        fresh = [asked for asked in self.asking if not asked.state.seated]
        alone = len(fresh) == len(self.asking)
        if alone:
            state.prev = frontier(runs, {self.stream.name: self.stream})
        for asked in fresh:
            asked.state.seated, asked.state.born = True, state.prev
        if not fresh or state.prev == UNSTARTED:
            return
        first = (run.state.first - 1) * self.stream.tick
        floor = max(first, state.prev - self.stream.keep)
        past = empty_store(self.stream, self._columns())
        past, floor = with_history(past, self.stream, self.home, before=epoch, since=floor)
        if alone:
            past, state.waiting = past.cut(state.prev)
        for asked in fresh:
            self._begin(asked, past, first, floor)

    def _begin(self, asked: Asking, past: Store, first: int, floor: int) -> None:
        """Give a new selection the rows of kept history that are in its window."""
        state, view = asked.state, asked.standing.view
        since = floor if view.history else state.born
        state.whole[self.stream.name] = BEGINNING if since <= first else since
        if not view.history or asked.plain:
            return
        rows = past.take(self._passed(asked, past))
        enter, leave = self._lives(rows)
        there = (enter <= state.born) & (leave > state.born)
        state.late.add(enter[there & ~rows.used], leave[there & ~rows.used])
        places = np.flatnonzero(there & rows.used)
        came = self._selected(asked, rows.rows.take(pa.array(places)))
        one = np.ones(len(places), np.int64)
        state.held = Delta(came, leave[places], one)
        if not asked.plan.kind:
            asked.opening = Delta(came, np.full(len(places), state.born), one)

    def _passed(self, asked: Asking, rows: Store) -> Flags:
        passed = all_met(asked.plan.where, rows.rows, self.registry.functions)
        return passed & (rows.ts > asked.since)

    def _lives(self, rows: Store) -> tuple[Ints, Ints]:
        return alive(self.window or Unbounded(), self.stream.tick, rows.ts, rows.eff)

    def _selected(self, asked: Asking, rows: pa.Table) -> pa.Table:
        functions = self.registry.functions
        arrays = [evaluate(expr, rows, functions) for _, expr in asked.plan.items]
        return pa.table(arrays, names=[name for name, _ in asked.plan.items])

    def advance(
        self, runs: dict[str, StreamRun], page: Page
    ) -> tuple[list[RowBlock], list[RowsGiven]]:
        """Take a page's rows; give what came and went: rows for many at once, and view by view."""
        state = self.state
        batches = runs[self.stream.name].brought.batches
        state.waiting = with_rows(self._waiting, self.stream, batches)
        now = max(state.prev, frontier(runs, {self.stream.name: self.stream}))
        coming = self._entering(now)
        state.kept = _after(self._kept, coming.rows)
        reach = Reach(
            self.registry, self.spent, self.stream.tick, state.prev, now, self._kept, state.base
        )
        before = [(asked.state.share, asked.state.unseen) for asked in self.asking]
        reached = [reach.of(asked, coming) for asked in self.asking]
        start, query = self._matched(coming, reached)
        with self.spent.giving():
            blocks = self._plain(coming, start, query)
            row = numbered(start)
            given = [
                with_coverage(
                    self._give(asked, coming, reached[k], row[query == k], now, before[k]),
                    asked.state.whole,
                    runs,
                )
                for k, asked in enumerate(self.asking)
                if self._gives(asked, reached[k])
            ]
        self._let_go(now)
        state.prev = now
        return blocks, [item for item in given if item is not None]

    def _entering(self, now: int) -> Coming:
        """Rows that enter up to an instant; late ones that are left out are counted."""
        state = self.state
        ready, state.waiting = self._waiting.cut(now)
        enter, leave = self._lives(ready)
        later = enter > now
        if later.any():
            state.waiting = merged([ready.take(later), self._waiting])
        missed, left_out = state.missed, ~(ready.used | later)
        late = np.full(len(ready), missed)
        if left_out.any():
            late += np.cumsum(left_out)
            state.missed += int(left_out.sum())
            rows = ready.take(left_out)
            for asked in self.asking:
                if not asked.plain:
                    asked.state.late.add(*self._lives(rows.take(self._passed(asked, rows))))
        out_of_time = np.sort(enter[left_out])
        comes = ready.used & ~later & (enter < leave)
        # Mostly all rows come, and in order: nothing is moved then.
        if not comes.all() or (enter[1:] < enter[:-1]).any():
            places = np.flatnonzero(comes)
            places = places[np.argsort(enter[places], kind="stable")]
            ready, enter, late = ready.take(places), enter[places], late[places]
        start = np.flatnonzero(np.diff(enter, prepend=NEVER))
        return Coming(
            ready,
            enter,
            late,
            enter[start],
            np.append(start, len(enter)).astype(np.int64),
            state.base + len(self._kept),
            out_of_time,
            missed,
        )

    def _matched(self, coming: Coming, reached: list[Reached]) -> tuple[Ints, Numbers]:
        """Queries that each row matches at the ticks that they take whole, by the index."""
        sizes = np.diff(coming.start)
        whole = np.stack([each.whole for each in reached])
        some = np.repeat(whole.any(axis=0), sizes)
        rows = coming.rows if some.all() else coming.rows.take(some)
        with self.spent.probing_raw(int((whole * sizes).sum())):
            start, query = self.index.by_row(rows.rows, self.registry.functions)
        if whole.all():
            return start, query
        each = np.zeros(len(some), np.int64)
        each[some] = np.diff(start)
        start = np.append(0, np.cumsum(each))
        tick = np.repeat(np.arange(len(sizes)), sizes)[numbered(start)]
        stays = whole[query, tick]
        return np.append(0, np.cumsum(stays))[start], query[stays]

    def _plain(self, coming: Coming, start: Ints, query: Numbers) -> list[RowBlock]:
        """Rows of the selections that are given as they come, once for all that ask for them."""
        counts = np.bincount(query, minlength=len(self.asking))
        for asked, count in zip(self.asking, counts.tolist(), strict=True):
            asked.state.figures.found += count
        standings = [asked.standing for asked in self.asking]
        functions, blocks = self.registry.functions, []
        for chosen, ours in self._lists.items():
            here = ours[query]
            if here.any():
                found = np.append(0, np.cumsum(here))[start], query[here]
                blocks.append(
                    selected(chosen, coming.rows, coming.late, found, standings, functions)
                )
        return blocks

    def _gives(self, asked: Asking, reached: Reached) -> bool:
        """Whether a selection may have something to give view by view."""
        return not asked.plain or bool(len(reached.serial))

    def _give(
        self,
        asked: Asking,
        coming: Coming,
        reached: Reached,
        places: Ints,
        now: int,
        before: tuple[float, float],
    ) -> RowsGiven | None:
        """What one selection gives: rows found by choice, and those it remembers."""
        state, standing = asked.state, asked.standing
        came, leave = self._came(asked, coming, reached, places)
        parts = [came] if asked.opening is None else [asked.opening, came]
        asked.opening = None
        if not asked.plain:
            parts.append(self._went(asked, came.rows, leave, now))
        delta = joined(parts, came.rows.schema)
        running = standing.status == "running"
        due = state.owed.due(standing.view, delta, self.state.prev, now, running=running)
        if due is None or not len(due):
            return None
        missing = coming.missing(due.at) if asked.plain else state.late.at(due.at)
        met = missing == 0
        share = carried_at(due.at, reached.at, reached.share, before[0])
        unseen = carried_at(due.at, reached.at, reached.unseen, before[1])
        return RowsGiven(standing, due, missing, met, share, unseen)

    def _came(
        self, asked: Asking, coming: Coming, reached: Reached, places: Ints
    ) -> tuple[Delta, Ints]:
        """Rows that came, and until when they stay; plain ones of whole ticks are given already."""
        if asked.plain:
            places = places[:0]
        base = self.state.base
        spots = np.concatenate((places + (coming.first - base), reached.serial - base))
        at = np.concatenate((coming.enter[places], reached.found_at))
        rows = self._kept.take(spots)
        leave = self._lives(rows)[1]
        stays = (leave > at) & (rows.ts > asked.since)
        asked.state.figures.found += len(reached.serial)
        if not stays.all():
            rows, at, leave = rows.take(stays), at[stays], leave[stays]
        return Delta(self._selected(asked, rows.rows), at, np.ones(len(at), np.int64)), leave

    def _went(self, asked: Asking, came: pa.Table, leave: Ints, now: int) -> Delta:
        """Rows that leave the window; the others are remembered until they do."""
        state = asked.state
        held = [] if state.held is None else [state.held]
        held.append(Delta(came, leave, np.ones(len(leave), np.int64)))
        whole = joined(held, came.schema)
        goes = whole.at <= now
        # A stream of rows is never asked what it holds, so what stays for ever need not be kept.
        stays = ~goes & (whole.at < NEVER) if asked.plan.kind else ~goes
        state.held = whole.take(stays)
        went = whole.take(goes)
        return Delta(went.rows, went.at, -went.count)

    def _let_go(self, now: int) -> None:
        """Drop rows that no query will look at again."""
        state, kept = self.state, self._kept
        kernels = [asked.state.kernel for asked in self.asking]
        busy = [kernel.floor() for kernel in kernels if kernel is not None and kernel.pending]
        floor = min([*busy, state.base + len(kept)])
        state.kept = kept.take(np.arange(floor - state.base, len(kept)))
        state.base = floor
        for asked in self.asking:
            asked.state.late.forget(now)

    def rows_now(self, name: str) -> pa.Table:
        """The rows that a selection found and that are in its window."""
        (asked,) = (one for one in self.asking if one.standing.name == name)
        held = asked.state.held
        if held is None:
            return self._selected(asked, self._waiting.rows.slice(0, 0))
        delta = consolidated(Delta.of(held.rows, 0))
        return delta.rows.take(pa.array(np.repeat(np.arange(len(delta)), delta.count)))


def _after(one: Store, other: Store) -> Store:
    """Rows of one store, then those of another."""
    if not len(one) or not len(other):
        return one if len(one) else other
    rows = pa.concat_tables([one.rows, other.rows]).combine_chunks()
    both = ((getattr(one, name), getattr(other, name)) for name in _COLUMNS)
    return Store(rows, *(np.concatenate(pair) for pair in both))
