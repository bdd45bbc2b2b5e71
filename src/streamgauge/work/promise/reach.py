"""Reach: what the budget of one promising selection lets it look at, tick by tick."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.engine.store import Store
from streamgauge.engine.stream_inputs import UNSTARTED
from streamgauge.kernel.keys import items, keys
from streamgauge.kernel.wire import Array
from streamgauge.operators.delta import Delta
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.expression import Expr, column
from streamgauge.operators.functions import Functions
from streamgauge.plan.allowances import promise_of
from streamgauge.plan.promising import SelectionPlan
from streamgauge.plan.registry import Registry, Standing
from streamgauge.promise.costs import Allowance, Spent
from streamgauge.promise.figures import EXACT, Figures
from streamgauge.promise.selection import PromisingSelection
from streamgauge.work.promise.giving import Late, Owed

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
UInts64 = npt.NDArray[np.uint64]


@dataclass(slots=True)
class SelectState:
    """What one selection knows.

    `held` are the rows it holds, each at the instant at which it leaves. `share` and `unseen` were
    told last. `stored` is the kernel as it was read, until it is needed; there is none before the
    first tick that asks for too much.
    """

    born: int = UNSTARTED
    seated: bool = False
    share: float = 1.0
    unseen: float = 0.0
    held: Delta | None = None
    owed: Owed = field(default_factory=Owed)
    late: Late = field(default_factory=Late)
    whole: dict[str, int] = field(default_factory=dict)
    figures: Figures = field(default_factory=Figures)
    stored: dict[str, Array] = field(default_factory=dict)
    kernel: PromisingSelection | None = None


@dataclass(slots=True)
class Asking:
    """One selection: the query, its plan, what it may spend, what it knows."""

    standing: Standing
    plan: SelectionPlan
    allowance: Allowance
    state: SelectState
    opening: Delta | None = None

    @property
    def plain(self) -> bool:
        """Whether its rows are given as they come and nothing is remembered of them."""
        view = self.standing.view
        return bool(self.plan.kind) and self.plan.window is None and view.answer.kind == "change"

    @property
    def since(self) -> int:
        """Only rows newer than this instant count; all of them do for rows given as they come."""
        view = self.standing.view
        return UNSTARTED if view.history or self.plain else self.state.born


@dataclass(frozen=True, slots=True)
class Coming:
    """Rows that enter a window, in the order they do, and the ticks at which they do.

    Rows of tick i are those from start[i] to start[i + 1]; the first row has the serial number
    `first`. `late` says how many late rows had been left out when each came, `left_out` when they
    would have entered, `missed` how many there were before.
    """

    rows: Store
    enter: Ints
    late: Ints
    ticks: Ints
    start: Ints
    first: int
    left_out: Ints
    missed: int
    _columns: dict[str, Floats | UInts64] = field(default_factory=dict)
    _memos: dict[tuple[str, int], dict[bytes, object]] = field(default_factory=dict)

    def values(self, name: str, functions: Functions) -> Floats | UInts64:
        """A column as regions are told apart by, worked out once for all queries."""
        if name not in self._columns:
            self._columns[name] = summarised(column(name), self.rows.rows, functions)
        return self._columns[name]

    def memo(self, name: str, place: int) -> dict[bytes, object]:
        """What queries share of a column at a tick."""
        return self._memos.setdefault((name, place), {})

    def missing(self, at: Ints) -> Ints:
        """Late rows left out up to some instants."""
        return self.missed + np.searchsorted(self.left_out, at, side="right")


@dataclass(frozen=True, slots=True)
class Reached:
    """What a query's budget reached: ticks taken whole, and rows found by choice at `found_at`.

    `at` are the instants at which it chose, with what was told then.
    """

    whole: Flags
    serial: Ints
    found_at: Ints
    at: Ints
    share: Floats
    unseen: Floats


@dataclass(frozen=True, slots=True)
class Reach:
    """How selections of one stream and window choose among the rows of a page.

    `kept` has the rows that may be looked at, the first with the serial number `base`.
    """

    registry: Registry
    spent: Spent
    tick: int
    prev: int
    now: int
    kept: Store
    base: int

    def of(self, asked: Asking, coming: Coming) -> Reached:
        """Choose where the budget does not reach all, or something is left to look at."""
        state, allowance = asked.state, asked.allowance
        sizes = np.diff(coming.start)
        allowed = allowance.over(coming.ticks // self.tick)
        fits = sizes * allowance.raw <= allowed
        whole = np.ones(len(sizes), np.bool_)
        idle = state.kernel is None and not state.stored
        if idle and fits.all():
            self._count(asked, sizes, allowed, whole)
            return _nothing_chosen(whole)
        kernel = kernel_of(asked, self.registry, self.tick)
        kernel.spent = self.spent
        chosen = np.zeros(len(sizes), np.bool_)
        told: list[tuple[int, float, float]] = []
        found: list[Ints] = []
        for place, at in self._choices(asked, kernel, coming, fits):
            if place >= 0:
                chosen[place] = True
                whole[place] = self._take(asked, kernel, coming, place, at)
            step = kernel.step(at, allowance, self._test(asked))
            state.share, state.unseen = step.share, step.unseen
            told.append((at, step.share, step.unseen))
            found.append(step.serials)
            more = math.ceil(sizes[place] * allowance.raw) if place >= 0 and whole[place] else 0
            state.figures.tick(
                probes=step.probes + more, allowed=allowance.at(at // self.tick),
                share=step.share, unseen=step.unseen, mode=step.mode,
            )  # fmt: skip
        self._count(asked, sizes, allowed, ~chosen)
        state.figures.given_up = kernel.given_up
        state.figures.zones = len(kernel.cells.zones)
        return _reached(whole, told, found)

    def _take(
        self, asked: Asking, kernel: PromisingSelection, coming: Coming, place: int, at: int
    ) -> bool:
        """Hand the rows of a tick to the kernel, unless all can be done; whether they can."""
        low, high = int(coming.start[place]), int(coming.start[place + 1])
        limit = asked.allowance.at(at // self.tick)
        if limit is None or kernel.pending + (high - low) * asked.allowance.raw <= limit:
            kernel.seen(at, high - low)
            return True
        name = asked.plan.column
        values = coming.values(name, self.registry.functions)[low:high]
        serials = np.arange(coming.first + low, coming.first + high)
        kernel.take(at, serials, values, coming.memo(name, place))  # type: ignore[arg-type]
        return False

    def _choices(
        self, asked: Asking, kernel: PromisingSelection, coming: Coming, fits: Flags
    ) -> Iterator[tuple[int, int]]:
        """Ticks at which a query chooses: number of the tick among those with rows, or -1.

        Every tick while rows are left to look at, those with rows while some that were given up are
        in reach, else those that ask for too much.
        """
        at, place = self.prev, 0
        while True:
            if kernel.pending:
                at += self.tick
            else:
                short = fits[place:] if kernel.settled else np.zeros_like(fits[place:])
                tight = np.flatnonzero(~short)
                if not len(tight):
                    return
                place += int(tight[0])
                at = int(coming.ticks[place])
            if at > self.now:
                return
            here = place < len(coming.ticks) and int(coming.ticks[place]) == at
            yield (place if here else -1), at
            place += here

    def _count(self, asked: Asking, sizes: Ints, allowed: Ints, which: Flags) -> None:
        """Count ticks that were taken whole without a choice."""
        n = int(which.sum())
        mode = np.full(n, EXACT, np.int64)
        probes = np.ceil(sizes[which] * asked.allowance.raw).astype(np.int64)
        asked.state.figures.over(probes, allowed[which], np.ones(n), np.zeros(n), mode)

    def _test(self, asked: Asking) -> Callable[[Ints], Flags]:
        """What tells whether rows, by their serial numbers, meet the conditions."""

        def test(serials: Ints) -> Flags:
            rows = self.kept.rows.take(pa.array(serials - self.base))
            return all_met(asked.plan.where, rows, self.registry.functions)

        return test


def kernel_of(asked: Asking, registry: Registry, tick: int) -> PromisingSelection:
    """The choosing part of a selection, as it was stored or new."""
    state, plan = asked.state, asked.plan
    if state.kernel is not None:
        return state.kernel
    promise = promise_of(asked.standing)
    summary = registry.summaries[dict(promise.summaries)[plan.stream]]
    spans = None if plan.spans is None else np.array(plan.spans, np.float64).reshape(-1, 2)
    words = None if plan.words is None else keys(items(list(plan.words)), seed=0)
    window = None if plan.window is None else plan.window.length
    stays = window is None and not plan.kind
    if state.stored:
        state.kernel = PromisingSelection.from_arrays(
            promise, summary, state.stored, tick=tick, spans=spans, words=words,
            whole=plan.whole, window=window, stays=stays,
        )  # fmt: skip
    else:
        state.kernel = PromisingSelection(
            promise, summary, tick=tick, spans=spans, words=words,
            whole=plan.whole, window=window, stays=stays,
        )  # fmt: skip
    state.stored = {}
    return state.kernel


def summarised(expr: Expr, rows: pa.Table, functions: Functions) -> Floats | UInts64:
    """A column as regions are told apart by: numbers with NaN for null, or keys of texts."""
    values = evaluate(expr, rows, functions)
    if not pa.types.is_string(values.type):
        whole = values.cast(pa.int64()) if pa.types.is_temporal(values.type) else values
        plain = whole.cast(pa.float64(), safe=False)
        return np.asarray(plain.to_numpy(zero_copy_only=False), np.float64)
    given = items(values)
    found = np.zeros(len(values), np.uint64)
    found[slice(None) if given.kept is None else given.kept] = keys(given, seed=0)
    return found


def all_met(where: tuple[Expr, ...], rows: pa.Table, functions: Functions) -> Flags:
    """Rows for which all conditions are true."""
    passed = np.ones(rows.num_rows, np.bool_)
    for expr in where:
        met = evaluate(expr, rows, functions).fill_null(False)
        passed &= np.asarray(met.to_numpy(zero_copy_only=False), np.bool_)
    return passed


def _nothing_chosen(whole: Flags) -> Reached:
    none, nothing = np.empty(0, np.int64), np.empty(0)
    return Reached(whole, none, none, none, nothing, nothing)


def _reached(whole: Flags, told: list[tuple[int, float, float]], found: list[Ints]) -> Reached:
    if not told:
        return _nothing_chosen(whole)
    at = np.array([when for when, _, _ in told], np.int64)
    share, unseen = (np.array([part[k] for part in told]) for k in (1, 2))
    found_at = np.repeat(at, [len(serials) for serials in found])
    return Reached(whole, np.concatenate(found), found_at, at, share, unseen)
