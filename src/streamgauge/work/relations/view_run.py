"""Bringing the views of one shard that read the same streams forward, page by page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.engine.coverage import coverage_at, windows_of
from streamgauge.engine.distribution import columns_of as columns_of_input
from streamgauge.engine.distribution import logged_input
from streamgauge.engine.logged_rows import owners_by
from streamgauge.engine.operator import Site
from streamgauge.engine.progress import StreamRun, frontier
from streamgauge.engine.row_answers import RowsGiven
from streamgauge.engine.store import (
    Store,
    empty_store,
    netted,
    widened,
    with_history,
    with_rows,
)
from streamgauge.engine.stream_inputs import UNSTARTED
from streamgauge.log.journal import Page
from streamgauge.operators.delta import Delta, consolidated, joined
from streamgauge.operators.order_rows import places
from streamgauge.plan.keeping import changing_in, holds, retained, scan_of
from streamgauge.plan.nodes import (
    Node,
    Numbers,
    Ordered,
    Project,
    Resampled,
    Scan,
    Streamed,
    Windowed,
    to_json,
)
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import technique_of
from streamgauge.plan.view import View
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import BEGINNING
from streamgauge.work.relations.answer_source import (
    AnswerSource,
    AnswerState,
    unmet_at,
)
from streamgauge.work.relations.dataflow import (
    Dataflow,
    Folded,
    Versions,
    held_key,
)
from streamgauge.work.relations.resample import followers, in_force

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Who = tuple[int, int]


@dataclass(slots=True)
class ViewState:
    """What views over some streams know after an epoch.

    `prev` is the instant up to which all is answered, `first` that of the first row; `born` the
    instant at which each view began; `pending` the changes of views that answer every so often,
    since their last answer; `whole` for each view the instant per stream after which it misses no
    row.
    """

    prev: int = UNSTARTED
    first: int = UNSTARTED
    stores: dict[str, Store] = field(default_factory=dict)
    tables: dict[str, Versions] = field(default_factory=dict)
    held: dict[str, Folded] = field(default_factory=dict)
    born: dict[Who, int] = field(default_factory=dict)
    pending: dict[Who, Delta] = field(default_factory=dict)
    whole: dict[Who, dict[str, int]] = field(default_factory=dict)
    numbers: dict[str, AnswerState] = field(default_factory=dict)


@dataclass(slots=True)
class ViewRun:
    """Views over the same streams, with what is needed to bring them forward.

    `split` says of streams whose rows are split between shards how they are.
    """

    site: Site
    registry: Registry
    views: list[Standing]
    state: ViewState
    _opened: list[Standing] = field(default_factory=list)
    streams: dict[str, Stream] = field(init=False)
    split: dict[str, str] = field(init=False)
    asked: list[Numbers] = field(init=False)
    _sources: dict[Numbers, AnswerSource] = field(init=False)

    def __post_init__(self) -> None:
        names = {name for standing in self.views for name in standing.view.streams}
        self.streams = {name: self.registry.stream(name) for name in sorted(names)}
        routes = technique_of(self.views[0]).routes(self.registry, self.views[0])
        inputs = {name: logged_input(routes.get(name)) for name in self.streams}
        self.split = {name: by for name, by in inputs.items() if by is not None}
        nodes = (node for standing in self.views for node in standing.view.plan.walk())
        self.asked = list(dict.fromkeys(node for node in nodes if isinstance(node, Numbers)))
        self._sources = {}

    def seat(self, runs: dict[str, StreamRun], epoch: int) -> None:
        """Let the changes of an epoch take effect: views that came and went, tables read again."""
        state, streams = self.state, self.streams
        if not state.born:
            state.prev = frontier(runs, streams)
            begun = [runs[name].state.first for name in streams]
            if state.prev != UNSTARTED and max(begun) != UNSTARTED:
                ticks = [stream.tick for stream in streams.values()]
                firsts = [k * t for k, t in zip(begun, ticks, strict=True) if k != UNSTARTED]
                state.first = min(firsts) if min(firsts) <= state.prev else UNSTARTED
        known = {(standing.id, standing.version) for standing in self.views}
        fresh = [s for s in self.views if (s.id, s.version) not in state.born]
        state.born = {who: at for who, at in state.born.items() if who in known}
        state.pending = {who: delta for who, delta in state.pending.items() if who in known}
        for name, stream in streams.items():
            columns = columns_of(self.views, name, self.split.get(name))
            store = state.stores.get(name) or empty_store(stream, columns)
            state.stores[name] = widened(store, stream, columns, self.site.home)
        self._seat_tables()
        old = bool(state.born)
        for standing in fresh:
            state.born[standing.id, standing.version] = state.prev
        state.whole = {who: state.whole.get(who, {}) for who in state.born}
        asked = {number_key(node): node for node in self.asked}
        state.numbers = {
            key: state.numbers.get(key) or AnswerState.of(asked[key]) for key in sorted(asked)
        }
        for source in self._answers():
            source.seat(runs[source.node.stream], epoch)
        self._opened = fresh
        if fresh and state.prev != UNSTARTED:
            self._fill(runs, epoch, again=old)
        wanted = set(self.held_keys())
        state.held = {key: held for key, held in state.held.items() if key in wanted}

    def _seat_tables(self) -> None:
        state = self.state
        names = {name for standing in self.views for name in standing.view.tables}
        tick = min((stream.tick for stream in self.streams.values()), default=1)
        first = BEGINNING if state.prev == UNSTARTED else state.prev + tick
        for name in sorted(names):
            versions = state.tables.setdefault(name, [])
            path = self.registry.tables[name].path
            if not versions:
                versions.append((BEGINNING, path))
            elif versions[-1][1] != path:
                versions.append((first, path))
        state.tables = {name: state.tables[name] for name in sorted(names)}

    def _fill(self, runs: dict[str, StreamRun], epoch: int, *, again: bool) -> None:
        """Give new views what the kept history holds."""
        for name, stream in self.streams.items():
            first = (runs[name].state.first - 1) * stream.tick
            floor = max(first, self.state.prev - stream.keep)
            if not (again and stream.changes):
                # Rows that were taken away are gone from a store that others have filled.
                store = self.state.stores[name]
                store, floor = with_history(
                    store, stream, self.site.home, before=epoch, since=floor
                )
                self.state.stores[name] = self.mine_of(name, store)
            for standing in self._opened:
                whole = self.state.whole[standing.id, standing.version]
                since = floor if standing.view.history else self.state.prev
                whole[name] = BEGINNING if since <= first else since

    def mine_of(self, name: str, store: Store) -> Store:
        """The rows of a stream that this shard works on, and all that are left out."""
        if name not in self.split:
            return store
        columns = columns_of_input(self.split[name])
        owners = owners_by(store.rows, columns, self.site.home.shards)
        return store.take((owners == self.site.shard) | ~store.used)

    def _answers(self) -> list[AnswerSource]:
        """The queries of numbers that the views read."""
        for node in self.asked:
            if node not in self._sources:
                state = self.state.numbers[number_key(node)]
                self._sources[node] = AnswerSource(self.site.home, self.registry, node, state)
        return list(self._sources.values())

    def held_keys(self) -> list[str]:
        """Names of the groups that steps of the views keep."""
        changing = changing_in(self.streams)
        return [
            held_key(node, self.since(standing))
            for standing in self.views
            for node in standing.view.plan.walk()
            if holds(node, changing)
        ]

    def since(self, standing: Standing) -> int:
        """Only rows newer than this instant count for a view."""
        if standing.view.history:
            return BEGINNING
        born = self.state.born[standing.id, standing.version]
        return BEGINNING if born == UNSTARTED else born

    def advance(self, runs: dict[str, StreamRun], page: Page) -> list[RowsGiven]:
        """Take a page's rows; give what came and went up to the instant closed in all streams."""
        state, streams = self.state, self.streams
        for name, stream in streams.items():
            brought = runs[name].brought
            came = brought.logged[self.split[name]] if name in self.split else brought.batches
            state.stores[name] = with_rows(state.stores[name], stream, came)
        for source in self._answers():
            source.advance(page, runs[source.node.stream].brought)
        now = max(state.prev, frontier(runs, streams))
        step = self.step(now)
        quiet, state.first = state.first == UNSTARTED, self._first(runs, now)
        given = [self._given(step, standing, quiet=quiet) for standing in self.views]
        state.prev, state.held = now, step.held
        self._opened = []
        for source in self._answers():
            source.settle(now)
        self._let_go(step)
        return [item for item in given if item is not None and len(item.delta)]

    def step(self, now: int) -> Dataflow:
        """The work of bringing the views from where they are to an instant."""
        state = self.state
        return Dataflow(
            self.streams,
            state.stores,
            state.tables,
            self.registry.functions,
            state.prev,
            now,
            dict(state.held),
            {source.node: source.changes(state.prev, now) for source in self._answers()},
        )

    def _first(self, runs: dict[str, StreamRun], now: int) -> int:
        """Instant of the first row of any stream, once it is closed."""
        if self.state.first != UNSTARTED:
            return self.state.first
        begun = {name: runs[name].state.first for name in self.streams}
        firsts = [at * self.streams[n].tick for n, at in begun.items() if at != UNSTARTED]
        return min((at for at in firsts if at <= now), default=UNSTARTED)

    def _given(self, step: Dataflow, standing: Standing, *, quiet: bool) -> RowsGiven | None:
        """What a view gives for a step; one that is paused or stored is worked out, no more.

        While all is `quiet`, before the first row, nothing is given, not even what would be there.
        """
        view, who = standing.view, (standing.id, standing.version)
        since = self.since(standing)
        changes = step.changes(view.plan, since)
        begins = standing in self._opened and not view.stream_kind
        if quiet:
            changes = Delta(changes.rows, np.maximum(changes.at, self.state.first), changes.count)
            changes = changes.take(np.full(len(changes), self.state.first != UNSTARTED))
        delta = changes if begins or quiet else changes.take(changes.at > step.prev)
        if view.mode == "store":
            return None
        if standing.status != "running":
            self._wait(view, who, delta, step.now)
            return None
        if view.stream_kind == "rstream":
            delta = self._whole_relations(step, view, changes)
        elif view.answer.kind == "every" or who in self.state.pending:
            delta = self._due(view, who, delta, step)
        delta = consolidated(delta)
        if view.stream_kind in ("istream", "dstream"):
            sign = 1 if view.stream_kind == "istream" else -1
            delta = delta.take(delta.count * sign > 0)
            delta = Delta(delta.rows, delta.at, abs(delta.count))
        missing = missing_at(step, view.plan, since, delta.at)
        coverage = self.coverage(step, standing, delta.at)
        met = (missing == 0) & (coverage == 1.0)
        for node in set(view.plan.walk()):
            if isinstance(node, Numbers):
                met &= unmet_at(step.answers[node], delta.at) == 0
        return RowsGiven(standing, delta, missing, met, coverage=coverage)

    def coverage(self, step: Dataflow, standing: Standing, at: Ints) -> Floats:
        """Share of the windows of a view from which no row is missing, at some instants."""
        whole = self.state.whole[standing.id, standing.version]
        first = self.state.first - min(stream.tick for stream in self.streams.values())
        return coverage_at(standing.view, whole, first, at, step)

    def _wait(self, view: View, who: Who, delta: Delta, now: int) -> None:
        """Note what a paused relation does not give: it owes the net of it when it goes on."""
        if view.stream_kind:
            return
        waiting = [self.state.pending[who]] if who in self.state.pending else []
        whole = joined([*waiting, delta], delta.rows.schema)
        at = np.full(len(whole), now, np.int64)
        self.state.pending[who] = consolidated(Delta(whole.rows, at, whole.count))

    def _due(self, view: View, who: Who, delta: Delta, step: Dataflow) -> Delta:
        """Changes at the next whole period; those not yet due wait."""
        period = max(1, view.answer.period)
        waiting = [self.state.pending.pop(who)] if who in self.state.pending else []
        whole = joined([*waiting, delta], delta.rows.schema)
        at = -(-np.maximum(whole.at, step.prev) // period) * period
        late = at > step.now
        if late.any():
            self.state.pending[who] = consolidated(Delta(whole.rows, at, whole.count).take(late))
        return Delta(whole.rows, at, whole.count).take(~late)

    def _whole_relations(self, step: Dataflow, view: View, changes: Delta) -> Delta:
        """The whole relation at each instant that is due."""
        parts = []
        for instant in self._instants(step, view):
            there = changes.take(changes.at <= instant)
            parts.append(Delta(there.rows, np.full(len(there), instant, np.int64), there.count))
        return joined(parts, changes.rows.schema)

    def _instants(self, step: Dataflow, view: View) -> list[int]:
        if self.state.first == UNSTARTED:
            return []
        if view.answer.kind == "every":
            period = view.answer.period
            first = max(step.prev, self.state.first - 1) // period + 1
            return [k * period for k in range(first, step.now // period + 1)]
        found: set[int] = set()
        for name in view.streams:
            eff = self.state.stores[name].eff
            found |= set(eff[(eff > step.prev) & (eff <= step.now)].tolist())
        return sorted(found)

    def _let_go(self, step: Dataflow) -> None:
        """Drop rows that no window will hold any more, and tables that no longer hold."""
        state, changing = self.state, changing_in(self.streams)
        now = step.now
        needed = {name: store.eff > now for name, store in state.stores.items()}
        for standing in self.views:
            since = self.since(standing)
            plan = standing.view.plan
            for node in retained(plan, changing):
                _mark(step, node, since, needed[scan_of(node).stream])
            for node in windows_of(plan):
                _mark_grid(step, node, needed[scan_of(node).stream])
        for name, mask in needed.items():
            state.stores[name] = state.stores[name].take(mask)
            if self.streams[name].changes is not None:
                state.stores[name] = netted(state.stores[name], now)
        for name, versions in state.tables.items():
            held = [k for k, (at, _) in enumerate(versions) if at <= now]
            state.tables[name] = versions[held[-1] if held else 0 :]


def _mark(step: Dataflow, node: Windowed, since: int, needed: npt.NDArray[np.bool_]) -> None:
    """Mark the rows of the store that a window holds or will hold after the step."""
    for used in (True, False):
        part, enter, leave = step.lifetimes(node, since, used=used)
        needed[part.row[(leave > step.now) & (leave > enter)]] = True


def _mark_grid(step: Dataflow, node: Windowed, needed: npt.NDArray[np.bool_]) -> None:
    """Mark the rows that points of a grid are still made from."""
    for below in node.walk():
        if isinstance(below, Resampled):
            part = step.stream_rows(below.input)
            needed[part.row[in_force(part, below, step.now)]] = True
            needed[part.row[followers(part, below, needed[part.row])]] = True


def number_key(node: Numbers) -> str:
    """Name of the state of a query of numbers that a view asks about."""
    return json.dumps(to_json(node))


def columns_of(views: Sequence[Standing], stream: str, split: str | None = None) -> tuple[str, ...]:
    """Columns of a stream that some views read, and those that its rows are hashed by."""
    scans = (
        node
        for standing in views
        for node in standing.view.plan.walk()
        if isinstance(node, Scan) and node.stream == stream
    )
    hashed = columns_of_input(split) if split is not None else ()
    return tuple(sorted({*hashed, *(name for scan in scans for name in scan.schema.names)}))


def missing_at(step: Dataflow, plan: Node, since: int, at: Ints) -> Ints:
    """How many late rows the windows of a plan should hold and do not, at some instants."""
    total = np.zeros(len(at), np.int64)
    for node in windows_of(plan):
        if step.stores[scan_of(node).stream].used.all():
            continue
        _, enter, leave = step.lifetimes(node, since, used=False)
        lives = enter < leave
        come, go = np.sort(enter[lives]), np.sort(leave[lives])
        total += np.searchsorted(come, at, side="right") - np.searchsorted(go, at, side="right")
    return total


def covered_now(run: ViewRun, standing: Standing) -> tuple[float, int | None]:
    """Share of the windows of a view that is kept, and when all will be; None: unknown."""
    if run.state.prev == UNSTARTED:
        return 1.0, None
    at = np.array([run.state.prev], np.int64)
    coverage = float(run.coverage(run.step(run.state.prev), standing, at)[0])
    whole = run.state.whole[standing.id, standing.version]
    known = [(n.window, whole.get(scan_of(n).stream)) for n in windows_of(standing.view.plan)]
    short = [(window, since) for window, since in known if since not in (None, BEGINNING)]
    ends = [since + w.length for w, since in short if w.kind in ("range", "session") and since]
    return coverage, max(ends) if ends and len(ends) == len(short) else None


def rows_now(run: ViewRun, standing: Standing) -> pa.Table:
    """The rows a view holds at the instant up to which all is answered, in its order."""
    view = standing.view
    assert not isinstance(view.plan, Streamed), "a stream holds no rows"
    step = run.step(run.state.prev)
    since = run.since(standing)
    plan, node = view.plan, view.plan.input if isinstance(view.plan, Project) else view.plan
    if not isinstance(node, Ordered):
        delta = consolidated(step.changes(plan, since))
        return delta.rows.take(pa.array(np.repeat(np.arange(len(delta)), delta.count)))
    delta = consolidated(step.changes(node, since))
    order = np.argsort(places(delta.rows, node.by, step.functions).codes, kind="stable")
    rows = delta.rows.take(pa.array(np.repeat(order, delta.count[order])))
    return step.projected(rows, plan) if isinstance(plan, Project) else rows
