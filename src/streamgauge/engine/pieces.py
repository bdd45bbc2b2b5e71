"""Pieces: the shared pieces of work of a shard, each with its state and its compiled queries."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.drift.pools import pools_of
from streamgauge.engine.memory import Memories
from streamgauge.engine.naming import Groups, Series, Words
from streamgauge.engine.partial import Partial
from streamgauge.engine.rows import Rows
from streamgauge.kernel.moves import Moves
from streamgauge.log.home import FORMAT
from streamgauge.operators.emission import (
    ALWAYS,
    CADENCES,
    COVERAGE,
    EMPTIED,
    GROUP,
    HIGH,
    LOW,
    MEMORY,
    QUERY,
    SILENT,
    TICK,
    VALUE,
    WIDTH,
    Arrivals,
    Asked,
    Codes,
    Floats,
    Ints,
)
from streamgauge.plan.assignment import Change
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Standing
from streamgauge.plan.silence import FOR_EVER, patience_of, period_of
from streamgauge.plan.table_key import TableKey
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import Window

NO_LIMIT = int(ALWAYS)
Who = tuple[int, int]


def no_window(query: Query) -> None:
    """The window of a query over latest values."""


@dataclass(slots=True)
class Bench:
    """What pieces of one stream share: the stream, its words, series and births, its shard.

    `first` is the instant before the stream's first row. With `opening`, numbers and versions of
    queries, only these are checked, at every tick: so new queries answer from kept history.
    `calendar` are the ticks with rows of the whole stream, where a shard sees only its own rows;
    `cells` are rows of a table that were added up where they were read. `form` is the format of the
    home.
    """

    stream: Stream
    words: Words
    series: Series
    births: dict[int, int]
    shard: int
    shards: int
    sid: Codes = field(default_factory=lambda: np.empty(0, np.int32))
    first: int = NO_LIMIT
    opening: frozenset[Who] | None = None
    calendar: Ints | None = None
    cells: Sequence[Partial] = ()
    form: int = FORMAT

    def active(self, standing: Standing) -> bool:
        """Whether a query is checked."""
        chosen = self.opening is None or (standing.id, standing.version) in self.opening
        return chosen and standing.status == "running"

    def cadence(self, standing: Standing, window: Window | None) -> tuple[str, int, int]:
        """When a query is checked: the kind, its period in ticks, and how long in a silence."""
        tick, query = self.stream.tick, standing.query
        if self.opening is not None:
            # On change, what has no value is not answered: so it is not remembered as answered.
            kind = "change" if query.answer.kind == "change" else "every"
            return kind, 1, FOR_EVER // tick
        period, patience = period_of(query, window, tick), patience_of(query, window, tick)
        return query.answer.kind, period // tick, patience // tick

    @property
    def revises(self) -> bool:
        """Whether late rows are folded."""
        return self.stream.late.policy == "revise"

    def since(self, standing: Standing) -> int:
        """First instant a query may see rows after."""
        return NO_LIMIT if standing.query.history else self.births.get(standing.born, NO_LIMIT)

    @property
    def pools(self) -> int:
        """Pools that the cells of deferred queries are in; each lies whole on one shard."""
        return pools_of(self.stream.capacity)

    def cut(self, standing: Standing) -> bool:
        """Whether a query asks for rows that were older than what is kept when it began."""
        born = self.births.get(standing.born, NO_LIMIT)
        return standing.query.history and born - self.stream.keep > self.first > NO_LIMIT

    def asked(
        self, queries: Sequence[Standing], window_of: Callable[[Query], Window | None] = no_window
    ) -> Asked:
        """Queries as columns."""
        cadences = [self.cadence(s, window_of(s.query)) for s in queries]
        return Asked(
            query=np.array([s.id for s in queries], np.int32),
            op=np.array([s.query.select.code for s in queries], np.int32),
            cadence=np.array([CADENCES[kind] for kind, _, _ in cadences], np.int32),
            period=np.array([period for _, period, _ in cadences], np.int64),
            by=np.array([s.query.answer.by for s in queries], np.float64),
            since=np.array([self.since(s) for s in queries], np.int64),
            patience=np.array([patience for _, _, patience in cadences], np.int64),
        )


@dataclass(slots=True)
class Given:
    """Answers of one piece: the matrix, the texts of its groups, what they rest on, how surely.

    `share` is the share of regions looked at for each answer; None: all of them. `tick` is the
    length of the ticks that answers count in.
    """

    matrix: Floats
    groups: list[str] | pa.Array
    basis: str = "exact"
    confidence: float = 1.0
    share: Floats | None = None
    tick: int = 0


def ended(standing: Standing, texts: Sequence[str], tick: int, confidence: float = 1.0) -> Given:
    """Answers of groups that a query has no more, as of a tick."""
    matrix = np.zeros((len(texts), WIDTH))
    matrix[:, QUERY], matrix[:, GROUP] = standing.id, np.arange(len(texts))
    matrix[:, TICK], matrix[:, COVERAGE], matrix[:, SILENT] = tick, 1.0, EMPTIED
    counted = standing.query.select.name == "count" and standing.query.over is None
    matrix[:, [VALUE, LOW, HIGH]] = 0.0 if counted else np.nan
    return Given(matrix, list(texts), confidence=confidence)


def arrivals(
    rows: Rows,
    columns: tuple[str | None, str | None, str | None],
    place: Codes,
    keys: Codes,
    calendar: Ints | None = None,
) -> Arrivals:
    """Rows as a kernel takes them, with columns x, y and w; y and w are empty where absent.

    Ticks of the calendar without rows here get one that is nobody's.
    """
    x, y, weight = columns
    numbers = rows.numbers
    came = Arrivals(
        rows.tick,
        rows.ts,
        rows.late,
        place,
        keys,
        np.ones(len(rows)) if x is None else numbers[x],
        np.empty(0) if y is None else numbers[y],
        np.empty(0) if weight is None else numbers[weight],
    )
    return came if calendar is None else _on_calendar(came, calendar)


def _on_calendar(came: Arrivals, ticks: Ints) -> Arrivals:
    at = np.searchsorted(came.tick, ticks)
    there = np.append(came.tick, NO_LIMIT)[at] == ticks
    if there.all():
        return came
    at, ticks = at[~there], ticks[~there]
    n = len(came.tick)

    def more(column: Any, value: Any) -> Any:
        return np.insert(column, at, value) if len(column) == n else column

    return Arrivals(
        np.insert(came.tick, at, ticks),
        more(came.ts, NO_LIMIT),
        more(came.late, False),
        more(came.place, -1),
        more(came.key, -1),
        more(came.x, np.nan),
        more(came.y, np.nan) if n else came.y,
        more(came.w, np.nan) if n else came.w,
    )


@dataclass(slots=True)
class Seats:
    """Which queries of a piece are running, in what order, and what they remember."""

    memory: Memories = field(default_factory=Memories)
    active: list[Standing] = field(default_factory=list)
    rows: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def arrange(
        self,
        bench: Bench,
        queries: Sequence[Standing],
        n_groups: int,
        order: Callable[[Standing], Any],
    ) -> None:
        """Seat the queries; those that are checked are active, in the given order."""
        self.memory.seat(queries, n_groups)
        running = [(row, s) for row, s in enumerate(queries) if bench.active(s)]
        running.sort(key=lambda pair: (order(pair[1]), pair[1].id))
        self.rows = np.array([row for row, _ in running], np.int64)
        self.active = [s for _, s in running]

    def change(
        self, bench: Bench, change: Change, n_groups: int, order: Callable[[Standing], Any]
    ) -> Moves:
        """Let queries leave and come; how the places of those that are checked move."""
        before = len(self.memory.who)
        seated = self.memory.change(change, n_groups)
        rows = seated.places(before)[self.rows]
        gone = np.flatnonzero(rows < 0)
        kept = Moves(gone, gone[:0]).listed(self.active, ())

        def place(standing: Standing) -> tuple[Any, int]:
            return order(standing), standing.id

        new = sorted(filter(bench.active, change.added), key=place)
        come = [bisect_left(kept, place(s), key=place) + n for n, s in enumerate(new)]
        moves = Moves(gone, np.array(come, np.int64))
        self.active = moves.listed(self.active, new)
        fresh = np.array([self.memory.row(standing) for standing in new], np.int64)
        self.rows = moves.column(rows, fresh)
        return moves

    def only(self, queries: Sequence[Standing], order: Callable[[Standing], Any]) -> Seats:
        """Some queries alone, in the given order; the memory is the same."""
        chosen = sorted(queries, key=lambda standing: (order(standing), standing.id))
        rows = np.array([self.memory.row(standing) for standing in chosen], np.int64)
        return Seats(self.memory, chosen, rows)

    def adopt(self, other: Seats) -> None:
        """Seat the same queries as another copy; the memory stays our own."""
        assert self.memory.who == other.memory.who, "copies of a piece disagree on its queries"
        self.active, self.rows = other.active, other.rows

    def borrow(self, n_groups: int) -> Floats:
        """Memory of the active queries, to be written by a kernel."""
        self.memory.widen(n_groups)
        return np.ascontiguousarray(self.memory.cells[self.rows, :n_groups])

    def give_back(self, memory: Floats) -> None:
        """Keep what a kernel wrote."""
        self.memory.cells[self.rows, : memory.shape[1]] = memory


def no_memory(n_groups: int) -> Floats:
    """The memory of no query."""
    return np.zeros((0, n_groups, MEMORY))


def grouped(
    bench: Bench, key: TableKey, groups: Groups, rows: Rows
) -> tuple[Codes, npt.NDArray[np.int32]]:
    """Group of each row before the filter, and after it (-1: filtered out)."""
    whole = groups.encode(rows, bench.words, bench.form)
    where = key.predicate()
    if where is None:
        return whole, whole
    schema = bench.stream.schema
    words = {
        name: (rows.words[name], bench.words[name].listed())
        for name in where.columns()
        if schema.type(name) in ("string", "bool")
    }
    passed = where.mask(rows.numbers, words)
    return whole, np.where(passed, whole, np.int32(-1))
