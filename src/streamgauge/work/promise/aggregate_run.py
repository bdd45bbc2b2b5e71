"""Bringing one promising aggregate forward: panes of rows, looked at as far as a budget reaches."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.contracts.bars import sides_of
from streamgauge.contracts.causes import PROMISING
from streamgauge.engine.due import due_ticks
from streamgauge.engine.pieces import Given
from streamgauge.engine.progress import StreamRun
from streamgauge.engine.store import with_rows
from streamgauge.engine.stream_inputs import UNSTARTED
from streamgauge.log.journal import Page
from streamgauge.operators.emission import (
    CADENCES,
    LAST_SILENT,
    SILENT,
    Span,
    empty_answers,
    give_bars,
)
from streamgauge.plan.silence import patience
from streamgauge.promise.interval import FIRST, MATCHED, Bar
from streamgauge.windows.window import BEGINNING
from streamgauge.work.promise.checks import give_exact, reached, window_values
from streamgauge.work.promise.panes import AggregatePanes, starts_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
BASIS = PROMISING
_START = np.uint64(0x51C0FFEE)


@dataclass(slots=True)
class AggregateRun(AggregatePanes):
    """One promising aggregate, with what is needed to bring it forward."""

    def advance(self, runs: dict[str, StreamRun], page: Page) -> list[Given]:
        """Take a page's rows; answer the checks up to where the stream is closed."""
        state, run = self.state, runs[self.stream.name]
        state.waiting = with_rows(self._waiting, self.stream, run.brought.batches)
        opened = self._open(page.number, run)
        if run.state.closed == UNSTARTED or run.closed_instant <= state.prev:
            return opened
        now = run.closed_instant
        checks = self._checks(now, page.number)
        self._miss(now)
        self._look_ahead(now)
        if not (len(state.late) or self.kernel.panes or len(self._closing(now))):
            given = [self._answer_all(np.array(checks, np.int64), page.number, run)]
        else:
            self._put(now)
            given = self._answer_each(checks, page.number, run)
        self._look(now // self.width)
        self._let_go(now)
        state.prev = now
        return opened + [part for part in given if len(part.matrix)]

    def _open(self, epoch: int, run: StreamRun) -> list[Given]:
        """The answer of a new query, from what is kept, at the instant reached."""
        checks = [self.state.prev // self.stream.tick] if self.opened else []
        self.opened = False
        return self._answer_each(checks, epoch, run)

    def _answer_all(self, checks: Ints, epoch: int, run: StreamRun) -> Given:
        """Answers of checks at which nothing was left out."""
        state, answer = self.state, self.standing.query.answer
        if self.standing.status != "running":
            checks = checks[:0]
        edges = checks * self.stream.tick // self.slide * self.slide
        values = self._exact_values(edges // self.width)
        there = values != 0.0 if self.asked.kind == "count" else ~np.isnan(values)
        given = give_exact(
            state.memory, self.standing.id, (CADENCES[answer.kind], answer.by), checks, epoch,
            values, there.astype(np.int64), reached(edges, self.window.length, self._vouched(run)),
        )  # fmt: skip
        if len(given):
            state.share = 1.0
        return Given(given, [""])

    def _exact_values(self, last: Ints) -> Floats:
        """Values of the windows that end with some panes, all rows of which were looked at."""
        kernel = self.kernel
        edges = np.stack((last - self.length + 1, last), axis=1)
        panes = kernel.known[:, [MATCHED, FIRST]]
        return window_values(kernel.known_at, panes, edges, self.asked.kind)

    def _vouched(self, run: StreamRun) -> int:
        """The instant after which no row is missing."""
        begun = run.state.first
        begins = (begun - 1) * self.stream.tick if begun != UNSTARTED else UNSTARTED
        since = BEGINNING if self.standing.query.history else self.state.born
        return max(begins, self.state.whole, since)

    def _answer_each(self, checks: list[int], epoch: int, run: StreamRun) -> list[Given]:
        """Answers of checks one by one, each after the panes before it were looked at."""
        state, out, n_out = self.state, empty_answers(), 0
        shares: list[float] = []
        for tick in checks:
            self._look(tick * self.stream.tick // self.width)
            if self.standing.status == "running":
                before = n_out
                out, n_out = self._answer(tick, epoch, run, out, n_out, shares)
                del shares[n_out:]
                if n_out > before:
                    state.share = shares[-1]
        return self._given(out[:n_out], np.array(shares))

    def _given(self, out: Floats, shares: Floats) -> list[Given]:
        """Answers that rest on all rows, and those that rest on some."""
        all_of = shares == 1.0
        some = out[~all_of]
        found = [Given(out[all_of], [""])]
        found.append(Given(some, [""], BASIS, self.confidence, shares[~all_of]))
        return [given for given in found if len(given.matrix)]

    @property
    def confidence(self) -> float:
        """How surely a bar holds that rests on some of the rows."""
        return 1.0 - self.asked.delta

    @property
    def sworn(self) -> tuple[str, float]:
        """What the newest answer rests on, and how surely its bar holds."""
        return ("exact", 1.0) if self.state.share == 1.0 else (BASIS, self.confidence)

    def _checks(self, now: int, epoch: int) -> list[int]:
        """Ticks to visit: whole steps within the patience of the query after a row."""
        state, tick = self.state, self.stream.tick
        effects = self._waiting.eff
        low, high = np.searchsorted(effects, (state.prev, now), side="right")
        fresh = effects[low:high] // tick
        with_rows: Ints = fresh[starts_of(fresh)]
        if state.prev == UNSTARTED:
            if not len(with_rows):
                return []
            begun = int(with_rows[0]) - 1
        else:
            begun = state.prev // tick
        answer = self.standing.query.answer
        step = answer.period if answer.kind == "every" else self.slide
        span = Span(begun, now // tick, state.awake_until, self._rest // tick, tick, epoch)
        lasting = patience(step, self.window.length + self.slide)
        visits = due_ticks(with_rows, span, step // tick, lasting // tick)
        self._wake(now)
        return [visit for visit in visits if visit * tick <= now]

    def _answer(
        self,
        tick: int,
        epoch: int,
        run: StreamRun,
        out: Floats,
        n_out: int,
        shares: list[float],
    ) -> tuple[Floats, int]:
        now = tick * self.stream.tick
        edge = now // self.slide * self.slide
        last = edge // self.width
        first = last - self.length + 1
        bar = self._bar(first, last)
        low, high = self._with_late(first, last, now, bar)
        none = math.isnan(bar.value) or (self.asked.kind == "count" and bar.high == 0.0)
        own = sides_of(bar.value, bar.low, bar.high)
        late = (0.0, 0.0) if math.isnan(bar.value) else (bar.low - low, high - bar.high)
        bars = np.array([[bar.value, low, high, *own, *late]])
        counts = np.array([0 if none else 1])
        covered = float(reached(np.array([edge]), self.window.length, self._vouched(run))[0])
        answer = self.standing.query.answer
        shares.append(bar.share)
        given: tuple[Floats, int] = give_bars(
            self.state.memory, out, n_out, self.standing.id, CADENCES[answer.kind], answer.by,
            tick, epoch, bars, counts, covered, False,
        )  # fmt: skip
        if given[1] > n_out and bar.share < 1.0:
            # Rows that were not looked at may be there.
            given[0][n_out, SILENT] = self.state.memory[0, LAST_SILENT] = 0.0
        return given

    def _bar(self, first: int, last: int) -> Bar:
        """What is known of a window; by the same sums as many at once where all was looked at."""
        if self.asked.kind == "quantile" or any(
            first <= pane.number <= last and pane.settled for pane in self.kernel.panes
        ):
            return self.kernel.answer(first, last)
        value = float(self._exact_values(np.array([last]))[0])
        return Bar(value, value, value)

    def _with_late(self, first: int, last: int, now: int, bar: Bar) -> tuple[float, float]:
        """The ends of a bar that holds with late rows and without them."""
        late = self.state.late
        x = late[(late[:, 0] >= first) & (late[:, 0] <= last) & (late[:, 2] <= now), 1]
        if not len(x) or math.isnan(bar.value):
            return bar.low, bar.high
        more = math.fsum(x.tolist())
        if self.asked.kind in ("count", "sum"):
            return min(bar.low, bar.low + more), max(bar.high, bar.high + more)
        if self.asked.kind == "avg" and bar.share == 1.0:
            rows = self._matched(first, last)
            whole = (bar.value * rows + more) / (rows + len(x))
            return min(bar.low, whole), max(bar.high, whole)
        # Means and quantiles lie between those of the rows and of the late rows.
        return min(bar.low, float(x.min())), max(bar.high, float(x.max()))

    def _matched(self, first: int, last: int) -> float:
        """Rows of some panes that meet the condition, where all were looked at."""
        numbers = self.kernel.known_at
        here = (numbers >= first) & (numbers <= last)
        return float(self.kernel.known[here, MATCHED].sum())
