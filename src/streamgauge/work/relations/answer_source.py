"""Answers as a source: what a query of numbers answers, as rows that take the place of each other.

The query is worked out where the view is, with the operators that answer queries, so that its rows
are there in the same step. Its answers are upserts: each takes the place of the one before it in
its group, and a revision that of the answer that it revises, as long as no newer one is there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.contracts.contract import TOLERANCES
from streamgauge.engine.naming import Series
from streamgauge.engine.pieces import Given
from streamgauge.engine.progress import StreamRun
from streamgauge.engine.reading import Brought
from streamgauge.engine.stream_inputs import StreamState
from streamgauge.kernel.columns import Combiner, Interner
from streamgauge.log.home import Home
from streamgauge.log.journal import Page
from streamgauge.operators import emission
from streamgauge.operators.delta import Delta, joined
from streamgauge.operators.upsert import Current, Upserts, stacked, upserted
from streamgauge.plan.answers_as_rows import alone
from streamgauge.plan.nodes import Numbers
from streamgauge.plan.registry import Registry
from streamgauge.plan.sharing import share
from streamgauge.results.blocks import bars_kept

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# Beside the columns of a row: whether its answer misses the contract.
UNMET = ".unmet"
_NUMBERS = ("value", "low", "high")


@dataclass(slots=True)
class AnswerState:
    """The query's own state, the answers in force where the view is, and those that come later.

    `seated` is the epoch in which the query began, `table` the copy of the table that names its
    members.
    """

    current: Current
    coming: Upserts
    stream: StreamState = field(default_factory=StreamState)
    seated: int = 0
    table: str = ""

    @classmethod
    def of(cls, node: Numbers) -> AnswerState:
        """The state of a query that has not begun."""
        schema = row_schema(node)
        return cls(Current.none(schema), Upserts.none(schema))


@dataclass(slots=True)
class AnswerSource:
    """One query of numbers whose answers views read."""

    home: Home
    registry: Registry
    node: Numbers
    state: AnswerState
    _run: StreamRun | None = None

    def seat(self, main: StreamRun, epoch: int) -> None:
        """Begin where the stream is; later changes of the registry do not touch the query."""
        state = self.state
        if state.seated:
            return
        state.seated = epoch
        for name in ("closed", "first", "awake_until"):
            setattr(state.stream, name, getattr(main.state, name))
        state.stream.coming = main.state.coming
        self._take_twins(main)
        run = self._compiled()
        run.seat(epoch)
        opened, run.opened = run.opened, []
        self._come(opened, run.stream.tick)

    def _take_twins(self, main: StreamRun) -> None:
        """Begin with what no kept history tells, such as the bounds of silent series."""
        state, known = self.state.stream.whole, main.state.whole
        pieces = {text: piece.twin() for text, piece in known.pieces.items()}
        state.pieces = {text: twin for text, twin in pieces.items() if twin is not None}
        if state.pieces:
            series = known.series
            state.words = {n: Interner.of(known.words[n].values) for n in main.stream.key}
            combos = Combiner(Interner.of(series.combiner.interner.values))
            state.series = Series(Interner.of(series.names.values), combos, list(series.local))

    def _compiled(self) -> StreamRun:
        """The query, compiled once for the registry that holds."""
        if self._run is None:
            self._run = self._compile()
        return self._run

    def _compile(self) -> StreamRun:
        asked = alone(self.registry, self.node, self.state.seated)
        stream = self.registry.stream(self.node.stream)
        # The groups of all shards.
        whole = replace(self.home, shards=1)
        run = StreamRun(whole, 0, share(asked, stream), asked, self.state.stream)
        before = self._as_before(asked)
        if before is not None:
            # First with the members it had, so that keys that are gone are told.
            replace(run, registry=before).compile()
        run.compile()
        for piece in run.state.pieces.values():
            run.opened += piece.ends(run.state.closed)
        return run

    def _as_before(self, registry: Registry) -> Registry | None:
        """The registry with the table of members that the cells were made of, if it is another."""
        members = self.node.asked.members
        if members is None:
            return None
        table = registry.tables[members.table]
        old, self.state.table = self.state.table, table.path
        if old in ("", table.path):
            return None
        held = {**registry.tables, members.table: replace(table, path=old)}
        return replace(registry, tables=held)

    def advance(self, page: Page, brought: Brought) -> None:
        """Take a page with its rows, and the answers."""
        run = self._compiled()
        self._come(run.advance(page, brought), run.stream.tick)

    def _come(self, given: Sequence[Given], tick: int) -> None:
        state = self.state
        fresh = as_upserts(self.node, given, tick)
        state.coming = stacked([state.coming, fresh], row_schema(self.node))

    def changes(self, prev: int, now: int) -> Delta:
        """Rows there at `prev`, then what changes up to `now`, each with whether it is unmet."""
        current = self.state.current
        there = Delta.of(current.rows, prev)
        delta, _ = self._upto(now)
        delta = Delta(delta.rows, np.maximum(delta.at, prev), delta.count)
        return joined([there, delta], row_schema(self.node))

    def settle(self, now: int) -> None:
        """Count what changed up to an instant as there."""
        state = self.state
        _, state.current = self._upto(now)
        state.coming = state.coming.take(state.coming.at > now)

    def _upto(self, now: int) -> tuple[Delta, Current]:
        state = self.state
        due = state.coming.take(state.coming.at <= now)
        return upserted(state.current, due, len(self.node.schema.names) - len(_NUMBERS))


def row_schema(node: Numbers) -> pa.Schema:
    """Columns of an answer as a row, and whether it misses the contract."""
    return node.schema.to_arrow().append(pa.field(UNMET, pa.bool_()))


def rows_of(changes: Delta) -> Delta:
    """Changes without the column that says which answers are unmet."""
    return Delta(changes.rows.drop_columns([UNMET]), changes.at, changes.count)


def unmet_at(changes: Delta, instants: Ints) -> Ints:
    """How many groups have an answer that misses the contract, at some instants."""
    unmet = np.asarray(changes.rows[UNMET].to_numpy(), np.bool_)
    at, count = changes.at[unmet], changes.count[unmet]
    order = np.argsort(at, kind="stable")
    totals = np.concatenate(([0], np.cumsum(count[order])))
    found: Ints = totals[np.searchsorted(at[order], instants, side="right")]
    return found.astype(np.int64)


def as_upserts(node: Numbers, given: Sequence[Given], tick: int) -> Upserts:
    """Answers as rows of a node, whatever they rest on; groups whose window has emptied leave."""
    given = [part for part in given if len(part.matrix)]
    schema = row_schema(node)
    if not given:
        return Upserts.none(schema)
    matrix = np.concatenate([part.matrix for part in given])
    as_of = matrix[:, emission.TICK].astype(np.int64) * tick
    later = matrix[:, emission.REVISION].astype(np.int64) * tick
    keys = _group_columns(node, given)
    leaves = (matrix[:, emission.SILENT] == emission.EMPTIED) & bool(keys)
    numbers = (emission.VALUE, emission.LOW, emission.HIGH)
    cells = [pa.array(column, mask=~np.isfinite(column)) for column in matrix[:, numbers].T]
    rows = pa.table([*keys, *cells, pa.array(~_kept(node, matrix))], schema=schema)
    return Upserts(rows, as_of + later, as_of, leaves)


def _group_columns(node: Numbers, given: Sequence[Given]) -> list[pa.Array]:
    """The values of the groups of answers, a column each."""
    fields = list(node.schema.to_arrow())[: -len(_NUMBERS)]
    if not fields:
        return []
    texts = [
        pa.array(part.groups, pa.string()).take(
            pa.array(part.matrix[:, emission.GROUP].astype(np.int64))
        )
        for part in given
    ]
    coded = pa.concat_arrays(texts).dictionary_encode()
    values = group_values(fields, coded.dictionary.to_pylist())
    return [column.take(coded.indices) for column in values]


def group_values(fields: Sequence[pa.Field], texts: Sequence[str]) -> list[pa.Array]:
    """The values of groups as they are written, a column each."""
    columns: list[Any] = list(zip(*json.loads(f"[{','.join(texts)}]"), strict=True))
    columns = columns or [[] for _ in fields]
    return [pa.array(part, item.type) for part, item in zip(columns, fields, strict=True)]


def _kept(node: Numbers, matrix: Floats) -> npt.NDArray[np.bool_]:
    """Which answers keep the contract of the query."""
    contract = node.asked.contract
    columns = (emission.VALUE, emission.LOW, emission.HIGH)
    value, low, high = (matrix[:, column] for column in columns)
    alone = (matrix[:, emission.LATE_BELOW :] == 0.0).all(axis=1)
    covered = (matrix[:, emission.COVERAGE] == 1.0) & (matrix[:, emission.SILENT] <= 0.0)
    tolerance = TOLERANCES.index(contract.tolerance)
    kept = bars_kept(tolerance, contract.within, (value, low, high), alone, covered)
    empty = matrix[:, emission.SILENT] == emission.EMPTIED
    return np.asarray(kept | (covered & empty), np.bool_)
