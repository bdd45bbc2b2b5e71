"""Rows of a promising aggregate by panes, looked at as far as a budget reaches."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.contracts.causes import PROMISING
from streamgauge.engine.progress import StreamRun
from streamgauge.engine.rows import as_numbers
from streamgauge.engine.store import Store, empty_store, with_history
from streamgauge.engine.stream_inputs import UNSTARTED
from streamgauge.kernel.hashing import hash_words
from streamgauge.kernel.keys import items, keys
from streamgauge.kernel.time import HOUR
from streamgauge.kernel.wire import Array
from streamgauge.log.home import Home
from streamgauge.operators.emission import MEMORY
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.expression import Expr, column
from streamgauge.operators.predicate import Worded
from streamgauge.plan.allowances import promise_of
from streamgauge.plan.promising import column_of, spans_of
from streamgauge.plan.registry import Registry, Standing
from streamgauge.promise.aggregate import Asked, PromisingAggregate
from streamgauge.promise.buckets import spans_of_words
from streamgauge.promise.costs import UNLIMITED, Allowance, Spent
from streamgauge.promise.figures import EXACT, GUIDED, Figures
from streamgauge.promise.strata import Predicate
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import BEGINNING, Window
from streamgauge.work.promise.reach import summarised

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
BASIS = PROMISING
_START = np.uint64(0x51C0FFEE)


@dataclass(slots=True)
class AggregateState:
    """What a promising aggregate knows after an epoch.

    `prev` is the instant up to which all is answered, `born` the one at which it began, `settled`
    the newest pane that was looked at. `given` rows were taken so far; `kept` are those that may
    still be looked at, the first with the serial number `base`. `late` has the pane, the value and
    the instant of late rows that were left out. `share` is that of the newest answer.
    """

    prev: int = UNSTARTED
    born: int = UNSTARTED
    awake_until: int = UNSTARTED
    whole: int = BEGINNING
    settled: int = UNSTARTED
    base: int = 0
    given: int = 0
    share: float = 1.0
    waiting: Store | None = None
    kept: pa.Table | None = None
    late: Floats = field(default_factory=lambda: np.empty((0, 3)))
    memory: Floats = field(default_factory=lambda: np.zeros((1, MEMORY)))
    figures: Figures = field(default_factory=Figures)
    stored: dict[str, Array] = field(default_factory=dict)
    kernel: PromisingAggregate | None = None


@dataclass(slots=True)
class AggregatePanes:
    """The rows of one promising aggregate, with what is needed to look at them."""

    home: Home
    registry: Registry
    standing: Standing
    allowance: Allowance
    spent: Spent
    state: AggregateState
    stream: Stream = field(init=False)
    window: Window = field(init=False)
    tested: tuple[str, ...] = field(init=False)
    opened: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        query = self.standing.query
        self.stream = self.registry.stream(query.stream)
        window = self.registry.window_of(query)
        assert window is not None, f"{self.standing.name!r} has no window"
        self.window = window
        where = () if query.where is None else query.where.columns()
        self.tested = tuple(sorted({n for name in where for n in self._expr(name).columns()}))

    def _expr(self, name: str) -> Expr:
        """A column of the stream, or one that is derived."""
        return dict(self.standing.query.derived).get(name) or column(name)

    def _read(self) -> tuple[str, ...]:
        """Columns that are read: for the condition, the summary and what is added up."""
        x = self.standing.query.select.x
        used = set(self.tested).union(self._expr(column_of(promise_of(self.standing))).columns())
        return tuple(sorted(used.union(() if x is None else self._expr(x).columns())))

    @property
    def width(self) -> int:
        """Microseconds of a pane."""
        return self.window.pane_width(self.stream.tick, self.standing.query.answer.period or None)

    @property
    def slide(self) -> int:
        """Microseconds that the window moves by."""
        return self.window.slide_for(self.stream.tick, self.standing.query.answer.period or None)

    @property
    def length(self) -> int:
        """Panes of a window."""
        return max(1, self.window.length // self.width)

    @property
    def asked(self) -> Asked:
        """What is asked, as the kernel takes it."""
        query = self.standing.query
        reach = spans_of(query.where, column_of(promise_of(self.standing)))
        spans = None if reach.spans is None else np.array(reach.spans).reshape(-1, 2)
        if reach.words is not None:
            spans = spans_of_words(keys(items(list(reach.words)), seed=0))
        select = query.select
        phi = float(select.argument) if isinstance(select.argument, (int, float)) else 0.5
        predicate = Predicate(spans, whole=reach.whole)
        return Asked(select.name, phi, select.x or "", predicate, query.contract, self.length)

    @property
    def kernel(self) -> PromisingAggregate:
        """The part that chooses and estimates, as it was stored or new."""
        state = self.state
        if state.kernel is None:
            promise = promise_of(self.standing)
            named = dict(promise.summaries)[self.stream.name]
            summary = self.registry.summaries[named]
            if state.stored:
                state.kernel = PromisingAggregate.from_arrays(
                    self.asked, promise, summary, state.stored
                )
            else:
                state.kernel = PromisingAggregate(self.asked, promise, summary)
            state.stored = {}
        state.kernel.spent = self.spent
        return state.kernel

    def seat(self, runs: dict[str, StreamRun], epoch: int) -> None:
        """Begin, if this is new: with the kept history, up to where the stream is closed."""
        state, run = self.state, runs[self.stream.name].state
        if state.waiting is not None:
            return
        state.waiting = empty_store(self.stream, self._read())
        state.kept = state.waiting.rows.select(self.tested)
        if run.closed == UNSTARTED:
            return
        state.prev = state.born = run.closed * self.stream.tick
        floor = state.prev - self.stream.keep
        state.waiting, floor = with_history(
            state.waiting, self.stream, self.home, before=epoch, since=floor
        )
        first = (run.first - 1) * self.stream.tick
        state.whole = BEGINNING if run.first == UNSTARTED or floor <= first else floor
        self._wake(state.prev)
        self._miss(state.prev)
        self._look_ahead(state.prev, limited=False)
        self._look(state.prev // self.width)
        self._let_go(state.prev)
        self.opened = self.standing.query.history and run.first != UNSTARTED

    def _wake(self, upto: int) -> None:
        """Stay awake for a while after the last row that is in effect."""
        effects = self._waiting.eff[self._waiting.eff <= upto]
        if len(effects):
            until = (int(effects.max()) + self._rest) // self.stream.tick
            self.state.awake_until = max(self.state.awake_until, until)

    @property
    def _rest(self) -> int:
        return max(HOUR, self.stream.expected_gap or 0)

    def _look_ahead(self, now: int, *, limited: bool = True) -> None:
        """Look at all rows of the panes that close by an instant, up to one that has too many.

        Later panes are in no window before they close, so this may be done before the checks.
        """
        state = self.state
        ready = self._closing(now)
        pane = -((-ready.ts) // self.width)
        if self._busy or not len(pane) or int(pane[0]) <= state.settled:
            return
        start = starts_of(pane)
        numbers, sizes = pane[start], np.diff(start, append=len(pane))
        allowed = self._allowances(numbers) if limited else np.full(len(numbers), UNLIMITED)
        tight = np.flatnonzero(sizes > allowed)
        n = int(tight[0]) if len(tight) else len(numbers)
        stop = int(start[n]) if n < len(numbers) else len(pane)
        state.waiting = after(self._waiting, stop)
        self._examine(ready.take(np.arange(stop)), pane[:stop])
        probes = np.ceil(sizes[:n] * self.allowance.raw).astype(np.int64)
        exact = np.full(n, EXACT, np.int64)
        state.figures.over(probes, allowed[:n], np.ones(n), np.zeros(n), exact)

    @property
    def _busy(self) -> bool:
        """Whether some rows may still be looked at."""
        return any(not found.settled or found.left for found in self.kernel.panes)

    def _closing(self, now: int) -> Store:
        """Rows that wait for a pane which is closed at an instant."""
        return self._waiting.cut(now // self.width * self.width)[0]

    def _examine(self, rows: Store, pane: Ints) -> None:
        """Look at rows of closed panes, all at once."""
        state, x = self.state, self.standing.query.select.x
        own = rows.ts > self._since
        rows, pane = rows.take(own), pane[own]
        with self.spent.probing_raw(len(rows)):
            match = self._passed(rows.rows)
            value = None if x is None else self._numbers(x, rows.rows)
            self.kernel.examined(pane, value, match)
        state.given += len(rows)
        if not self._kept.num_rows:
            state.base = state.given

    def _allowances(self, panes: Ints) -> Ints:
        """Looks that the ticks of each pane allow together."""
        asked = self.asked
        free = asked.predicate.everything and not asked.ranked
        if self.allowance.probes is None or free:
            return np.full(len(panes), UNLIMITED)
        each = self.width // self.stream.tick
        if not self.allowance.spare:
            return np.full(len(panes), self.allowance.probes * each)
        ticks = panes[:, np.newaxis] * each - np.arange(each)
        allowed: Ints = self.allowance.over(ticks.reshape(-1)).reshape(-1, each).sum(axis=1)
        return allowed

    @property
    def _since(self) -> int:
        """Only rows newer than this instant count."""
        return BEGINNING if self.standing.query.history else self.state.born

    @property
    def _waiting(self) -> Store:
        assert self.state.waiting is not None, "seated before"
        return self.state.waiting

    @property
    def _kept(self) -> pa.Table:
        assert self.state.kept is not None, "seated before"
        return self.state.kept

    def _put(self, now: int) -> None:
        """Give the rows of panes that close by an instant to their panes."""
        state, select = self.state, self.standing.query.select
        rows = self._closing(now)
        state.waiting = after(self._waiting, len(rows))
        rows = rows.take(rows.ts > self._since)
        if not len(rows):
            return
        serial = np.arange(state.given, state.given + len(rows))
        state.given += len(rows)
        more = rows.rows.select(self.tested)
        state.kept = pa.concat_tables([self._kept, more]).combine_chunks()
        rank, other = np.empty(len(rows), np.uint64), np.empty(len(rows), np.uint64)
        hash_words(serial.view(np.uint64), _START, rank, other)
        named = column_of(promise_of(self.standing))
        value = summarised(self._expr(named), rows.rows, self.registry.functions)
        x = None if select.x is None else self._numbers(select.x, rows.rows)
        pane = -((-rows.ts) // self.width)
        start = starts_of(pane)
        for low, high in zip(start.tolist(), [*start[1:].tolist(), len(pane)], strict=True):
            here = slice(low, high)
            self.kernel.take(
                int(pane[low]), serial[here], value[here], None if x is None else x[here],
                rank[here],
            )  # fmt: skip

    def _numbers(self, name: str, rows: pa.Table) -> Floats:
        """What rows add to the aggregate; a row without a value is not a number."""
        values = evaluate(self._expr(name), rows, self.registry.functions)
        found = as_numbers(pa.chunked_array([values]))
        counted = self.standing.query.select.name == "count"
        return np.where(np.isnan(found), np.nan, 1.0) if counted else found

    def _miss(self, now: int) -> None:
        """Note late rows that are left out, with what they would have added from when on."""
        state, x = self.state, self.standing.query.select.x
        ready, _ = self._waiting.cut(now)
        if ready.used.all():
            return
        places = np.flatnonzero(~ready.used)
        state.waiting = self._waiting.take(np.delete(np.arange(len(self._waiting)), places))
        rows = ready.take(places)
        rows = rows.take(self._passed(rows.rows) & (rows.ts > self._since))
        value = np.ones(len(rows)) if x is None else self._numbers(x, rows.rows)
        pane = -((-rows.ts) // self.width)
        more = np.stack((pane.astype(np.float64), value, rows.eff.astype(np.float64)), axis=1)
        state.late = np.concatenate((state.late, more[~np.isnan(value)]))

    def _passed(self, rows: pa.Table) -> Flags:
        """Rows that meet the condition."""
        where = self.standing.query.where
        if where is None:
            return np.ones(rows.num_rows, np.bool_)
        numbers: dict[str, Floats] = {}
        words: dict[str, Worded] = {}
        for name in where.columns():
            values = evaluate(self._expr(name), rows, self.registry.functions)
            if pa.types.is_string(values.type) or pa.types.is_boolean(values.type):
                words[name] = _worded(values)
            else:
                numbers[name] = as_numbers(pa.chunked_array([values]))
        return where.mask(numbers, words)

    def _look(self, closed: int) -> None:
        """Look at the panes that are closed by now, one after the other."""
        state, kernel = self.state, self.kernel
        while state.settled < closed:
            pane = state.settled + 1
            if not kernel.pending or state.settled == UNSTARTED:
                fresh = [found.number for found in kernel.panes if not found.settled]
                due = [max(number, pane) for number in fresh if number <= closed]
                pane = min(due, default=closed + 1)
            if pane > closed:
                break
            state.settled = pane
            # Before each pane, so that what earlier panes tell does not depend on pages.
            kernel.forget(pane - self._reach)
            limited = self.allowance.probes is not None
            probes = int(self._allowances(np.array([pane]))[0]) if limited else None
            used = kernel.step(pane, probes, self._test, insert=self.allowance.insert)
            share = kernel.answer(pane, pane).share
            mode = GUIDED if kernel.pending else EXACT
            state.figures.tick(probes=used, allowed=probes, share=share, mode=mode)
        state.settled = max(state.settled, closed)

    @property
    def _reach(self) -> int:
        """Panes behind a closed one that some window may still hold."""
        return self.length + self.slide // self.width + 1

    def _test(self, serials: Ints) -> Flags:
        return self._passed(self._kept.take(pa.array(serials - self.state.base)))

    def _let_go(self, now: int) -> None:
        """Drop panes that no window will hold, and rows that will not be looked at again."""
        state = self.state
        edge = now // self.width - self._reach
        self.kernel.forget(edge)
        if len(state.late):
            state.late = state.late[state.late[:, 0] >= edge]
        # By the rows themselves, so that a kernel that was stored and read keeps the same ones.
        busy = [pane for pane in self.kernel.panes if pane.left or not pane.settled]
        firsts = [int(p.serial.min()) if p.settled else p.first for p in busy]
        floor = min(firsts, default=state.given)
        state.kept = self._kept.slice(floor - state.base)
        state.base = floor


def _worded(values: pa.Array) -> Worded:
    """Texts or truth values as codes and what they stand for; -1 is null."""
    if pa.types.is_boolean(values.type):
        codes = values.cast(pa.int32()).fill_null(-1)
        return np.asarray(codes.to_numpy(), np.int32), [False, True]
    coded = values.dictionary_encode()
    codes = coded.indices.fill_null(-1)
    return np.asarray(codes.to_numpy(), np.int32), coded.dictionary.to_pylist()


def starts_of(sorted_numbers: Ints) -> Ints:
    """Where each run of equal numbers begins.

    Examples
    --------
    >>> starts_of(np.array([4, 4, 7]))
    array([0, 2])
    """
    fresh = np.ones(len(sorted_numbers), np.bool_)
    fresh[1:] = sorted_numbers[1:] != sorted_numbers[:-1]
    return np.flatnonzero(fresh)


def after(store: Store, place: int) -> Store:
    """The rows of a store from a place on, without a copy."""
    names = ("ts", "eff", "used", "sign", "page", "segment", "row")
    return Store(store.rows.slice(place), *(getattr(store, name)[place:] for name in names))
