"""The reference: answers by definition, from all rows ever arrived, at every check anew.

Plain Python, exact and slow, independent of the kernels that the engines run; it reads
`docs/reference/semantics.md` literally. History is taken to be kept for ever.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from streamgauge.contracts.answer import EMPTY, Answer
from streamgauge.kernel.time import HOUR, Instant
from streamgauge.operators.functions import Functions
from streamgauge.plan.bounds import bounded
from streamgauge.plan.latest import deferred
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.silence import CHECKS, FOR_EVER
from streamgauge.streams.stream import Stream
from streamgauge.streams.table import Table
from streamgauge.windows.window import Window
from tests.oracles.bounds import read_bounds, table_groups
from tests.oracles.deferral import Deferrals
from tests.oracles.expressions import Moment, value_of
from tests.oracles.windows import (
    DROPPED,
    FOLDED,
    ON_TIME,
    REVISED,
    Group,
    Landed,
    Reading,
    View,
    read_latest,
    read_window,
    slide,
)


@dataclass(frozen=True)
class Row:
    """One row of a stream: its time and its other columns by name."""

    ts: Instant
    values: dict[str, Any]


@dataclass(frozen=True)
class Arrival:
    """One page: control records, then rows per stream in order of arrival.

    To advance a stream is no change of what is registered; it is told as a record here.

    Examples
    --------
    >>> Arrival(changes=({"do": "advance", "stream": "plant", "instant": 5},)).rows
    {}
    """

    changes: tuple[dict[str, Any], ...] = ()
    rows: dict[str, tuple[Row, ...]] = field(default_factory=dict)


@dataclass
class History:
    """All that arrived in one stream."""

    stream: Stream
    rows: list[Landed] = field(default_factory=list)
    peak: Instant | None = None

    def advance(self, instant: Instant) -> None:
        """Raise the peak."""
        self.peak = instant if self.peak is None else max(self.peak, instant)

    def land(self, row: Row) -> None:
        """Take a row in: whether it is late depends on the peak before it."""
        late, tick = self.stream.late, self.stream.tick
        effective, fate = row.ts, ON_TIME
        if self.peak is not None and row.ts < self.peak - late.allowed:
            effective, fate = self.peak - late.allowed, DROPPED
            if late.policy == "revise":
                if self.peak - row.ts > late.reach:
                    return
                fate = FOLDED
        values = {name: _value(cell) for name, cell in row.values.items()}
        values[self.stream.time] = row.ts
        self.rows.append(Landed(row.ts, values, len(self.rows), _ceiling(effective, tick), fate))
        self.advance(row.ts)

    def closed(self) -> int | None:
        """Last closed tick: the largest k with k * tick < peak - allowed."""
        if self.peak is None:
            return None
        return _ceiling(self.peak - self.stream.late.allowed, self.stream.tick) - 1

    def derived(self, query: Query, functions: Functions) -> History:
        """The same with the columns that a query computes."""
        if not query.derived:
            return self
        schema = self.stream.schema
        rows = []
        for row in self.rows:
            cells: dict[str, Any] = dict.fromkeys(schema.names) | row.values
            for name, kind in schema.columns:
                if kind == "time" and cells[name] is not None:
                    cells[name] = Moment(cells[name])
            more = {name: value_of(expr, cells, functions) for name, expr in query.derived}
            rows.append(replace(row, values={**row.values, **more}))
        return replace(self, rows=rows)

    def rest(self) -> int:
        """Ticks after a row for which the stream is awake."""
        return max(HOUR, self.stream.expected_gap or 0) // self.stream.tick

    def checks(
        self, after: int | None, upto: int | None, asked: set[tuple[int, int]]
    ) -> Iterator[tuple[int, int]]:
        """Ticks in (after, upto] at which there are checks, and how long the stream rests then.

        Queries are asked by their period and their patience, in ticks.
        """
        if upto is None:
            return
        awake = self.rest()
        with_rows = sorted({row.tick for row in self.rows if row.tick <= upto})
        for tick, following in pairwise((*with_rows, upto + 1)):
            first = tick if after is None else max(tick, after + 1)
            last = min(following - 1, tick + awake)
            yield from ((at, 0) for at in range(first, last + 1))
            first = max(first, last + 1)
            sparse = {
                at
                for period, lasting in asked
                if period
                for at in range(
                    -(-first // period) * period, min(following, tick + lasting + 1), period
                )
            }
            yield from ((at, at - tick) for at in sorted(sparse))


@dataclass
class Memory:
    """What one version of a query has answered, and where its own time begins."""

    cut: Instant | None
    begun: int | None
    last: dict[Group, Answer] = field(default_factory=dict)


@dataclass
class _World:
    """The registry, the histories and the memories, as of the last page."""

    registry: Registry = field(default_factory=Registry)
    histories: dict[str, History] = field(default_factory=dict)
    memories: dict[tuple[int, int], Memory] = field(default_factory=dict)
    deferrals: Deferrals = field(default_factory=Deferrals)

    def turn(self, page: Arrival, epoch: int) -> list[Answer]:
        """Take one page in and give the answers of the checks it closes, in order."""
        self._change(page, epoch)
        closed = {name: history.closed() for name, history in self.histories.items()}
        new = self._begin_versions(closed)
        opened = [pair for standing in new for pair in self._open(standing, epoch)]
        if any(record["do"] != "advance" for record in page.changes):
            ended = self.deferrals.seat(self.registry, self.histories, closed)
            ended += self._table_ends(closed)
            opened += [(_order(a.as_of, a, who), replace(a, epoch=epoch)) for who, a in ended]
        for record in page.changes:
            if record["do"] == "advance" and record["stream"] in self.histories:
                self.histories[record["stream"]].advance(record["instant"])
        for name, rows in page.rows.items():
            assert name in self.histories, f"rows of stream {name!r}, which is not declared"
            for row in rows:
                self.histories[name].land(row)
        keyed = opened + [
            (key, answer)
            for name, history in self.histories.items()
            for tick, quiet in history.checks(
                closed[name], history.closed(), self._asked(history.stream)
            )
            for key, answer in self._check(history, tick, epoch, quiet)
        ]
        for name, history in self.histories.items():
            given = self.deferrals.advance(history, closed[name], history.closed(), epoch)
            keyed += [(_order(answer.as_of, answer, who), answer) for who, answer in given]
        return [answer for _, answer in sorted(keyed, key=lambda pair: pair[0])]

    def _change(self, page: Arrival, epoch: int) -> None:
        """Fold control records one by one; refused ones leave no trace."""
        for record in page.changes:
            self.registry.apply([record], epoch=epoch)
            for name in set(self.histories) - set(self.registry.streams):
                del self.histories[name]
            for name, stream in self.registry.streams.items():
                self.histories.setdefault(name, History(stream))

    def _begin_versions(self, closed: dict[str, int | None]) -> list[Standing]:
        """A version seen for the first time begins at the tick closed before this page."""
        new = []
        for standing in self.registry.queries.values():
            query, last = standing.query, closed[standing.query.stream]
            tick = self.registry.streams[query.stream].tick
            cut = None if query.history or last is None else last * tick
            if (standing.id, standing.version) not in self.memories:
                self.memories[standing.id, standing.version] = Memory(cut, last)
                new.append(standing)
        return new

    def _open(self, standing: Standing, epoch: int) -> list[tuple[Any, Answer]]:
        """The answers of a new version that asks for history, at the tick closed before."""
        query, history = standing.query, self.histories[standing.query.stream]
        begun = self.memories[standing.id, standing.version].begun
        there = begun is not None and any(row.tick <= begun for row in history.rows)
        if begun is None or not there or not query.history or not self._is_checked(standing):
            return []
        found = self._checked(standing, history, begun)
        instant = begun * history.stream.tick
        return [(_order(instant, a, standing), replace(a, epoch=epoch)) for a in found]

    def _table_ends(self, closed: dict[str, int | None]) -> list[tuple[Standing, Answer]]:
        """Answers about bounds of keys that a table has no more."""
        found = []
        for standing in self.registry.queries.values():
            query = standing.query
            stream = self.registry.streams[query.stream]
            last = self.memories[standing.id, standing.version].last
            if query.members is None or not last or not bounded(query, stream):
                continue
            for group in set(last) - set(table_groups(query.members, self.registry.tables)):
                del last[group]
                counted = query.select.name == "count"
                end = 0.0 if counted else math.nan
                reading = Reading(0.0 if counted else None, end, end, 1.0, EMPTY)
                instant = (closed[query.stream] or 0) * stream.tick
                found.append((standing, _answer(standing, group, reading, instant)))
        return found

    def _is_checked(self, standing: Standing) -> bool:
        """Whether a query is checked here: deferred ones and those of several streams are not."""
        query = standing.query
        late = deferred(query) and not bounded(query, self.registry.streams[query.stream])
        return standing.status == "running" and not query.parts and not late

    def _checked(self, standing: Standing, history: History, tick: int) -> list[Answer]:
        """What a query answers when it is checked at a tick."""
        query, memory = standing.query, self.memories[standing.id, standing.version]
        past = history.derived(query, self.registry.functions)
        if bounded(query, history.stream):
            return list(_bounded_answers(standing, past, tick, memory, self.registry.tables))
        return list(_answers(standing, self.registry.window_of(query), past, tick, memory))

    def _asked(self, stream: Stream) -> set[tuple[int, int]]:
        """Periods and patience of the queries of a stream, in ticks."""
        queries = [
            (standing.query, self.registry.window_of(standing.query))
            for standing in self.registry.queries.values()
            if standing.query.stream == stream.name
        ]
        return {(_period(*asked, stream), _patience(*asked, stream)) for asked in queries}

    def _check(
        self, history: History, tick: int, epoch: int, quiet: int
    ) -> Iterator[tuple[Any, Answer]]:
        """Answers of one check, then the revisions it brings."""
        here = [row for row in history.rows if row.tick == tick]
        instant = tick * history.stream.tick
        revising = any(row.fate == FOLDED for row in here)
        for standing in self.registry.queries.values():
            query = standing.query
            if query.stream != history.stream.name or not self._is_checked(standing):
                continue  # of several streams, sketches have no twin without error here
            window = self.registry.window_of(query)
            memory = self.memories[standing.id, standing.version]
            past = history.derived(query, self.registry.functions)
            answers: list[Answer] = []
            waits = quiet <= _patience(query, window, history.stream)
            if waits and due(query, window, history.stream, tick, with_rows=bool(here)):
                answers += self._checked(standing, history, tick)
            if revising and query.answer.kind != "change" and window and window.kind in REVISED:
                answers += _revisions(standing, window, past, tick, memory)
            for answer in answers:
                yield _order(instant, answer, standing), replace(answer, epoch=epoch)


def evaluate(pages: Sequence[Arrival]) -> list[Answer]:
    """All answers of a history of pages; page numbers (epochs) count from 1.

    Order: page, instant of the check, revisions after answers, then as_of, query, group.

    Examples
    --------
    >>> from streamgauge.operators.aggregate import total
    >>> from streamgauge.streams.schema import Schema
    >>> plant = Stream("plant", Schema.of(s="string", ts="time", v="float"), "ts", ("s",), ())
    >>> changes = (
    ...     {"do": "stream", "stream": plant.as_dict()},
    ...     {"do": "register", "queries": [Query("heat", "plant", total("v")).as_dict()]},
    ... )
    >>> rows = tuple(Row(i * 1_000_000, {"s": "a", "v": float(i)}) for i in (1, 2, 3))
    >>> for answer in evaluate([Arrival(changes, {"plant": rows})]): print(answer)
    heat = 1 in [1, 1], exact, as of 1970-01-01T00:00:01Z
    heat = 2 in [2, 2], exact, as of 1970-01-01T00:00:02Z
    """
    world = _World()
    return [answer for epoch, page in enumerate(pages, 1) for answer in world.turn(page, epoch)]


def due(query: Query, window: Window | None, stream: Stream, tick: int, *, with_rows: bool) -> bool:
    """Whether a query is checked at a tick at which its stream is."""
    instant = tick * stream.tick
    if query.answer.kind == "every":
        return instant % query.answer.period == 0
    if window is not None and window.kind == "range":
        return instant % slide(query, window, stream) == 0
    return with_rows or (window is not None and window.kind == "now")


def _period(query: Query, window: Window | None, stream: Stream) -> int:
    """Ticks between two checks of a query at ticks without rows; 0 without any."""
    if query.answer.kind == "every":
        return query.answer.period // stream.tick
    if window is not None and window.kind == "range":
        return slide(query, window, stream) // stream.tick
    return 1 if window is not None and window.kind == "now" else 0


def _patience(query: Query, window: Window | None, stream: Stream) -> int:
    """Ticks after the last row for which a query is checked."""
    period = _period(query, window, stream)
    if period * stream.tick >= HOUR:
        return FOR_EVER
    if window is not None and window.kind == "range":
        emptied = (window.length + slide(query, window, stream)) // stream.tick + period
        return max(CHECKS * period, emptied)
    return CHECKS * period


def changed(reading: Reading, last: Answer | None, by: float, *, windowed: bool) -> bool:
    """Whether an on-change query owes an answer, given the last one of the group."""
    if last is None or last.value is None or reading.value is None:
        return reading.value is not None or (last is not None and last.value is not None)
    if reading.coverage != last.coverage and (not windowed or reading.coverage == 1.0):
        return True
    # The bar moves with the value; what counts is how far it reaches to either side.
    return (
        abs(reading.value - last.value) > by
        or _differ(reading.value - reading.low, last.value - last.low)
        or _differ(reading.high - reading.value, last.high - last.value)
    )


def _answers(
    standing: Standing, window: Window | None, history: History, tick: int, memory: Memory
) -> Iterator[Answer]:
    query, on_change = standing.query, standing.query.answer.kind == "change"
    known = tuple(memory.last)
    if not query.group_by and window is not None and window.kind != "decay":
        known = ((),)
    view = View(history.stream, history.rows, tick, tick, memory.cut)
    readings = (
        read_latest(query, view) if window is None else read_window(query, window, view, known)
    )
    for group, reading in readings.items():
        last = memory.last.get(group)
        if reading.empty:
            if query.group_by:
                del memory.last[group]
                yield _answer(standing, group, reading, view.instant)
                continue
            if reading.value is None and (last is None or last.value is None):
                continue
        windowed = window is not None
        if not on_change or changed(reading, last, query.answer.by, windowed=windowed):
            memory.last[group] = _answer(standing, group, reading, view.instant)
            yield memory.last[group]


def _bounded_answers(
    standing: Standing,
    history: History,
    tick: int,
    memory: Memory,
    tables: Mapping[str, Table],
) -> Iterator[Answer]:
    """Answers from bounds; a group whose members are all gone says so and leaves."""
    query = standing.query
    view = View(history.stream, history.rows, tick, tick, memory.cut)
    for group, reading in read_bounds(query, view, tables, tuple(memory.last)).items():
        last = memory.last.get(group)
        gone = reading.value is None or (query.select.name == "count" and reading.value == 0)
        if gone and (group or reading.value is None):
            reading = replace(reading, basis=EMPTY, charges=())
        if gone and group:
            del memory.last[group]
            yield _answer(standing, group, reading, view.instant)
            continue
        on_change = query.answer.kind == "change"
        if on_change and not changed(reading, last, query.answer.by, windowed=False):
            continue
        memory.last[group] = _answer(standing, group, reading, view.instant)
        yield memory.last[group]


def _revisions(
    standing: Standing, window: Window, history: History, tick: int, memory: Memory
) -> Iterator[Answer]:
    """Earlier checks within reach, since registration, whose value these late rows changed."""
    stream, query = history.stream, standing.query
    for at in range(tick - stream.late.reach // stream.tick, tick):
        if memory.begun is not None and at <= memory.begun:
            continue
        if not due(query, window, stream, at, with_rows=False):
            continue
        old = read_window(query, window, View(stream, history.rows, at, tick - 1, memory.cut))
        new = read_window(query, window, View(stream, history.rows, at, tick, memory.cut))
        for group, reading in new.items():
            before = old[group].value if group in old else None
            if before is not None and reading.value not in (None, before):
                answer = _answer(standing, group, reading, at * stream.tick)
                yield replace(answer, revision=tick - at)


def _answer(standing: Standing, group: Group, reading: Reading, as_of: Instant) -> Answer:
    answer = Answer(
        standing.query.name,
        reading.value,
        reading.low,
        reading.high,
        as_of=as_of,
        version=standing.version,
        group=group,
        coverage=reading.coverage,
        basis=reading.basis,
        charges=reading.charges,
    )
    return replace(answer, contract_met=standing.query.contract.met_by(answer))


def _order(check: Instant, answer: Answer, standing: Standing) -> tuple[Any, ...]:
    group = tuple((key is None, key) for key in answer.group)
    return check, answer.revision > 0, answer.as_of, standing.id, group


def _value(cell: Any) -> Any:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _differ(one: float, other: float) -> bool:
    """Whether two widths differ by more than the noise of their rounding."""
    return not math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def _ceiling(instant: Instant, tick: int) -> int:
    return -(-instant // tick)
