"""Questions across streams: one sketch for each stream and pane, combined where all are closed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.contracts.bars import sides_of
from streamgauge.contracts.estimate import Estimate
from streamgauge.engine.due import due_ticks
from streamgauge.engine.pieces import Given
from streamgauge.engine.progress import StreamRun, frontier
from streamgauge.engine.store import Store, empty_store, with_history, with_rows
from streamgauge.engine.stream_inputs import UNSTARTED
from streamgauge.kernel.keys import items, keys
from streamgauge.kernel.time import HOUR
from streamgauge.log.home import Home
from streamgauge.log.journal import Page
from streamgauge.operators.emission import CADENCES, MEMORY, Floats, Span, empty_answers, give_bars
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.functions import Functions
from streamgauge.plan.part import Part
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.silence import patience
from streamgauge.plan.summary import named_model
from streamgauge.streams.stream import Stream
from streamgauge.synopses.distinct.set_expression import SetExpression
from streamgauge.synopses.questions import JoinSize
from streamgauge.synopses.synopsis import Synopsis
from streamgauge.windows.bank_panes import BankPanes
from streamgauge.windows.panes import coverage_of
from streamgauge.windows.window import BEGINNING

Ints = npt.NDArray[np.int64]
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_NULL = np.uint64(0xD1B54A32D192ED03)


@dataclass(slots=True)
class PartState:
    """What is known of one stream of a question: rows that wait, panes, panes of late rows."""

    waiting: Store
    panes: BankPanes
    late: BankPanes
    whole: int = BEGINNING


@dataclass(slots=True)
class AcrossState:
    """What a question across streams knows after an epoch.

    `prev` is the instant up to which all is answered, `born` the one at which it began.
    """

    prev: int = UNSTARTED
    born: int = UNSTARTED
    awake_until: int = UNSTARTED
    parts: list[PartState] = field(default_factory=list)
    memory: Floats = field(default_factory=lambda: np.zeros((1, MEMORY)))


@dataclass(slots=True)
class AcrossRun:
    """One question across streams, with what is needed to bring it forward."""

    home: Home
    registry: Registry
    standing: Standing
    state: AcrossState
    _opened: bool = False

    @property
    def parts(self) -> tuple[Part, ...]:
        """The streams it is about."""
        return self.standing.query.parts

    @property
    def streams(self) -> dict[str, Stream]:
        """Their declarations, by name."""
        return {name: self.registry.stream(name) for name in sorted(self.standing.query.streams)}

    @property
    def stream(self) -> Stream:
        """The first stream, at the tick that all of them share."""
        return replace(self.registry.stream(self.parts[0].stream), tick=self.tick)

    @property
    def tick(self) -> int:
        """The largest tick that divides those of all streams."""
        return math.gcd(*(stream.tick for stream in self.streams.values()))

    @property
    def sworn(self) -> tuple[str, float]:
        """What the answers rest on, and how surely their bars hold."""
        model = named_model(self.standing.model)
        return model.name, 1.0 - model.guarantee.delta

    @property
    def step(self) -> int:
        """Microseconds between two checks."""
        answer = self.standing.query.answer
        if answer.kind == "every":
            return answer.period
        return math.gcd(*(self._slide(part) for part in self.parts))

    def _slide(self, part: Part) -> int:
        period = self.standing.query.answer.period or None
        return part.window.slide_for(self.registry.stream(part.stream).tick, period)

    def _width(self, part: Part) -> int:
        period = self.standing.query.answer.period or None
        return part.window.pane_width(self.registry.stream(part.stream).tick, period)

    def _length(self, part: Part) -> int:
        """Panes of a window."""
        return max(1, part.window.length // self._width(part)) if self._width(part) else 1

    def seat(self, runs: dict[str, StreamRun], epoch: int) -> None:
        """Begin, if this is new: with the kept history, up to where all streams are closed."""
        state = self.state
        if state.parts:
            return
        state.prev = state.born = frontier(runs, self.streams)
        model = named_model(self.standing.model)
        for part in self.parts:
            stream = self.registry.stream(part.stream)
            raw = self._width(part) > 0
            state.parts.append(
                PartState(
                    empty_store(stream, part.columns),
                    BankPanes(model, raw=raw),
                    BankPanes(model, raw=raw),
                )
            )
        if any(run.state.first != UNSTARTED for run in self._runs(runs)):
            self._fill(runs, epoch)
            self._opened = state.prev != UNSTARTED and self.standing.query.history

    def _runs(self, runs: dict[str, StreamRun]) -> list[StreamRun]:
        return [runs[part.stream] for part in self.parts]

    def _fill(self, runs: dict[str, StreamRun], epoch: int) -> None:
        for part, known in zip(self.parts, self.state.parts, strict=True):
            stream = self.registry.stream(part.stream)
            run = runs[part.stream].state
            if run.closed == UNSTARTED:
                continue
            floor = run.closed * stream.tick - stream.keep
            known.waiting, floor = with_history(
                known.waiting, stream, self.home, before=epoch, since=floor
            )
            first = (run.first - 1) * stream.tick
            known.whole = BEGINNING if floor <= first else floor
        if self.state.prev != UNSTARTED:
            self._wake(self.state.prev)
            self._fold(self.state.prev)

    def _wake(self, upto: int) -> None:
        """Stay awake for a while after the last row that is in effect."""
        for known in self.state.parts:
            effects = known.waiting.eff[known.waiting.eff <= upto]
            if len(effects):
                until = (int(effects.max()) + HOUR) // self.tick
                self.state.awake_until = max(self.state.awake_until, until)

    def advance(self, runs: dict[str, StreamRun], page: Page) -> Given:
        """Take a page's rows; answer the checks up to where all streams are closed."""
        state = self.state
        for part, known in zip(self.parts, state.parts, strict=True):
            stream = self.registry.stream(part.stream)
            known.waiting = with_rows(known.waiting, stream, runs[part.stream].brought.batches)
        now = frontier(runs, self.streams)
        out, n_out = empty_answers(), 0
        if self._opened and self.standing.status == "running":
            # New, over streams that have begun: what is kept answers at the instant reached.
            out, n_out = self._answer(state.prev // self.tick, page.number, runs, out, n_out)
        self._opened = False
        if now == UNSTARTED or now <= state.prev:
            return Given(out[:n_out], [""], *self.sworn)
        for tick in self._checks(now, page.number):
            self._fold(tick * self.tick)
            if self.standing.status == "running":
                out, n_out = self._answer(tick, page.number, runs, out, n_out)
        self._fold(now)
        state.prev = now
        return Given(out[:n_out], [""], *self.sworn)

    def _checks(self, now: int, epoch: int) -> list[int]:
        """Ticks to visit: whole steps within the patience of the query after a row."""
        state, tick = self.state, self.tick
        effects = [known.waiting.eff[known.waiting.eff <= now] for known in state.parts]
        with_rows: Ints = np.unique(np.concatenate(effects)) // tick
        if state.prev == UNSTARTED:
            if not len(with_rows):
                return []
            begun = int(with_rows[0]) - 1
        else:
            begun = state.prev // tick
        rest = HOUR // tick
        span = Span(begun, now // tick, state.awake_until, rest, tick, epoch)
        reach = max(part.window.length + self._slide(part) for part in self.parts)
        visits = due_ticks(with_rows, span, self.step // tick, patience(self.step, reach) // tick)
        self._wake(now)
        return [visit for visit in visits if visit * tick <= now]

    def _fold(self, upto: int) -> None:
        """Take the rows that are in effect into their panes, and let old panes go."""
        since = BEGINNING if self.standing.query.history else self.state.born
        for part, known in zip(self.parts, self.state.parts, strict=True):
            width = self._width(part)
            taken, known.waiting = known.waiting.cut(upto)
            if len(taken):
                self._put(part, known, taken.take(taken.ts > since), width)
            if width:
                edge = upto // width - self._length(part) - self._slide(part) // width - 1
                known.panes.forget(edge)
                known.late.forget(edge)

    def _put(self, part: Part, known: PartState, rows: Store, width: int) -> None:
        functions = self.registry.functions
        there, column = item_keys(part, rows, functions, self.standing.query.select.name)
        pane: Ints = -((-rows.ts) // width) if width else np.zeros(len(rows), np.int64)
        if not width:
            there &= rows.ts >= part.window.start
        for number in np.unique(pane[there]).tolist():
            here = there & (pane == number)
            for into, which in ((known.panes, here & rows.used), (known.late, here & ~rows.used)):
                if which.any():
                    into.add(number, np.zeros(int(which.sum()), np.int32), column[which])

    def _answer(
        self, tick: int, epoch: int, runs: dict[str, StreamRun], out: Floats, n_out: int
    ) -> tuple[Floats, int]:
        now = tick * self.tick
        held = [self._sketch(part, known, now) for part, known in self._each()]
        bar = self._estimate([sketch for sketch, _, _ in held])
        low, high = bar.low, bar.high
        if any(late.rows for _, late, _ in held):
            whole = self._estimate([_both(sketch, late) for sketch, late, _ in held])
            low, high = min(low, whole.low), max(high, whole.high)
        own = sides_of(bar.value, bar.low, bar.high)
        late = (0.0, 0.0) if math.isnan(bar.value) else (bar.low - low, high - bar.high)
        bars = np.array([[bar.value, low, high, *own, *late]])
        counts = np.array([sum(rows for _, _, rows in held)])
        covered = min(self._coverage(part, known, now, runs) for part, known in self._each())
        answer = self.standing.query.answer
        given: tuple[Floats, int] = give_bars(
            self.state.memory, out, n_out, self.standing.id, CADENCES[answer.kind], answer.by,
            tick, epoch, bars, counts, covered, False,
        )  # fmt: skip
        return given

    def _each(self) -> list[tuple[Part, PartState]]:
        return list(zip(self.parts, self.state.parts, strict=True))

    def _sketch(self, part: Part, known: PartState, now: int) -> tuple[Synopsis, Synopsis, int]:
        """Sketch of a stream's window, of its late rows, and how many rows are in it."""
        width, length = self._width(part), self._length(part)
        end = now // self._slide(part) * self._slide(part) // width if width else 0
        bank, counts = known.panes.window(end, length)
        late, _ = known.late.window(end, length)
        return bank.synopsis(0), late.synopsis(0), int(counts.sum())

    def _estimate(self, sketches: list[Any]) -> Estimate:
        """The answer from a sketch of each stream."""
        select = self.standing.query.select
        if select.name == "join_size":
            joined: Estimate = sketches[0].query(JoinSize(sketches[1]))
            return joined
        named = {f"p{number}": sketch for number, sketch in enumerate(sketches)}
        return SetExpression.parse(str(select.argument)).estimate(named)

    def _coverage(
        self, part: Part, known: PartState, now: int, runs: dict[str, StreamRun]
    ) -> float:
        """Share of a stream's window from which no row is missing."""
        window = part.window
        stream, run = self.registry.stream(part.stream), runs[part.stream].state
        first = (run.first - 1) * stream.tick if run.first != UNSTARTED else now
        if window.kind == "landmark" and self.standing.query.history:
            vouched = known.whole if known.whole >= window.start else BEGINNING
            return float(coverage_of(now, 0, max(window.start, first), vouched, BEGINNING))
        if window.kind != "range":
            return 1.0
        since = BEGINNING if self.standing.query.history else self.state.born
        edge = now // self._slide(part) * self._slide(part)
        vouched = max(first, known.whole)
        return float(coverage_of(edge, window.length, 0, vouched, since))


def item_keys(
    part: Part, rows: Store, functions: Functions, name: str
) -> tuple[npt.NDArray[np.bool_], Ints]:
    """Which rows take part, and what each is told apart by, as one number.

    In a set a null is an item like others; in a join it meets nothing.
    """
    there = np.ones(len(rows), np.bool_)
    if part.where is not None:
        passed = evaluate(part.where, rows.rows, functions).fill_null(False)
        there &= np.asarray(passed.to_numpy(zero_copy_only=False), np.bool_)
    whole = np.zeros(len(rows), np.uint64)
    for expr in part.by:
        given = items(evaluate(expr, rows.rows, functions))
        column = np.full(len(rows), _NULL, np.uint64)
        kept = np.ones(len(rows), np.bool_) if given.kept is None else given.kept
        column[kept] = keys(given, seed=0)
        if name == "join_size":
            there &= kept
        whole = whole * _PRIME + column
    return there, whole.view(np.int64)


def _both(sketch: Any, late: Any) -> Any:
    whole = sketch.copy()
    if late.rows:
        whole.merge(late)
    return whole
