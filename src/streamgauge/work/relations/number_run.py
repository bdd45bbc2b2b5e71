"""Answers of a query of numbers as rows: what a view reads that asks about another query.

The view has the whole query to itself, groups of all shards included, so that its rows and its
bars are there in the same step.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.contracts.contract import TOLERANCES
from streamgauge.engine.naming import Series
from streamgauge.engine.pieces import Given
from streamgauge.engine.progress import StreamRun, StreamState
from streamgauge.engine.reading import Brought
from streamgauge.kernel.columns import Combiner, Interner
from streamgauge.log.home import Home
from streamgauge.log.journal import Page
from streamgauge.operators import emission
from streamgauge.operators.delta import Delta, consolidated, joined
from streamgauge.plan.nodes import Numbers
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import share
from streamgauge.results.blocks import bars_kept

Cells = tuple[float, float, float]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class NumberState:
    """The query's own state, the newest answer of each group, rows taken and changes to come.

    `unmet` are the groups whose newest answer misses the contract; `breaks` says at which instants
    their number grew or fell, `broken` how many there were before. `table` is the copy of the table
    that names the members of the query.
    """

    stream: StreamState = field(default_factory=StreamState)
    newest: dict[str, Cells] = field(default_factory=dict)
    rows: Delta | None = None
    ahead: Delta | None = None
    seated: int = 0
    unmet: set[str] = field(default_factory=set)
    breaks: list[tuple[int, int]] = field(default_factory=list)
    broken: int = 0
    table: str = ""


@dataclass(slots=True)
class NumberRun:
    """One query of numbers, run for a view."""

    home: Home
    registry: Registry
    node: Numbers
    state: NumberState

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
        run = self._run()
        run.seat(epoch)
        state.ahead = self._changes(run.opened, run.stream.tick)

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

    def _run(self) -> StreamRun:
        registry = self.registry
        alone = Registry(
            streams=registry.streams,
            windows=registry.windows,
            functions=registry.functions,
            tables=registry.tables,
        )
        born = self.state.seated
        standing = Standing(0, self.node.asked, epoch=born, born=born, model=self.node.model)
        alone.queries = {standing.name: standing}
        stream = self.registry.stream(self.node.stream)
        solo = replace(self.home, shards=1)
        run = StreamRun(solo, 0, share(alone, stream), alone, self.state.stream)
        before = self._as_before(alone)
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
        """Take a page and its rows; note the changes that its answers bring."""
        run = self._run()
        fresh = self._changes(run.advance(page, brought), run.stream.tick)
        ahead = [self.state.ahead] if self.state.ahead is not None else []
        self.state.ahead = joined([*ahead, fresh], self.node.schema.to_arrow())

    def changes(self, prev: int, now: int) -> Delta:
        """Rows there at `prev`, then what changes up to `now`."""
        parts = [part for part in (self.state.rows, self.state.ahead) if part is not None]
        whole = joined(parts, self.node.schema.to_arrow())
        whole = whole.take(whole.at <= now)
        return Delta(whole.rows, np.maximum(whole.at, prev), whole.count)

    def settle(self, now: int) -> None:
        """Count what changed up to an instant as there."""
        state, schema = self.state, self.node.schema.to_arrow()
        whole = joined([part for part in (state.rows, state.ahead) if part is not None], schema)
        past = whole.take(whole.at <= now)
        state.ahead = whole.take(whole.at > now)
        state.rows = consolidated(Delta(past.rows, np.full(len(past), now, np.int64), past.count))
        state.broken += sum(change for at, change in state.breaks if at <= now)
        state.breaks = [item for item in state.breaks if item[0] > now]

    def broken_at(self, instants: Ints) -> Ints:
        """How many groups have an answer that misses the contract, at some instants."""
        breaks = sorted(self.state.breaks)
        times = np.array([at for at, _ in breaks], np.int64)
        totals = np.concatenate(([0], np.cumsum([change for _, change in breaks])))
        found: Ints = self.state.broken + totals[np.searchsorted(times, instants, side="right")]
        return found.astype(np.int64)

    def _changes(self, given: list[Given], tick: int) -> Delta:
        """Each answer takes the place of the one before it in its group, whatever it rests on."""
        parts = [part.matrix[part.matrix[:, emission.REVISION] == 0.0] for part in given]
        names = [
            str(part.groups[int(place)])
            for part, matrix in zip(given, parts, strict=True)
            for place in matrix[:, emission.GROUP]
        ]
        matrix = np.concatenate(parts) if parts else emission.empty_answers(0)
        order = np.argsort(matrix[:, emission.TICK], kind="stable")
        matrix = matrix[order]
        kept = self._kept(matrix)
        groups, cells, at, count = [], [], [], []
        for place, line, met in zip(order.tolist(), matrix, kept.tolist(), strict=True):
            group = names[place]
            instant = int(line[emission.TICK]) * tick
            fresh = (line[emission.VALUE], line[emission.LOW], line[emission.HIGH])
            old = self.state.newest.pop(group, None)
            # A group whose window has emptied is there no more.
            leaves = bool(group) and line[emission.SILENT] == emission.EMPTIED
            for change, row in ((-1, old), (1, None if leaves else fresh)):
                if row is not None:
                    groups.append(group)
                    cells.append(row)
                    at.append(instant)
                    count.append(change)
            if not leaves:
                self.state.newest[group] = fresh
            self._note(group, instant, met=met or leaves)
        rows = as_rows(self.node, groups, cells)
        return Delta(rows, np.array(at, np.int64), np.array(count, np.int64))

    def _kept(self, matrix: Floats) -> npt.NDArray[np.bool_]:
        """Which answers keep the contract of the query."""
        contract = self.node.asked.contract
        columns = (emission.VALUE, emission.LOW, emission.HIGH)
        value, low, high = (matrix[:, column] for column in columns)
        alone = (matrix[:, emission.LATE_BELOW :] == 0.0).all(axis=1)
        covered = (matrix[:, emission.COVERAGE] == 1.0) & (matrix[:, emission.SILENT] <= 0.0)
        tolerance = TOLERANCES.index(contract.tolerance)
        kept = bars_kept(tolerance, contract.within, (value, low, high), alone, covered)
        empty = matrix[:, emission.SILENT] == emission.EMPTIED
        return np.asarray(kept | (covered & empty), np.bool_)

    def _note(self, group: str, instant: int, *, met: bool) -> None:
        """Note when the newest answer of a group begins or ends to miss the contract."""
        unmet = self.state.unmet
        if met == (group not in unmet):
            return
        self.state.breaks.append((instant, -1 if met else 1))
        unmet.symmetric_difference_update({group})


def as_rows(node: Numbers, groups: list[str], cells: list[Cells]) -> pa.Table:
    """Answers as rows of the node's schema."""
    schema = node.schema.to_arrow()
    keys: list[list[Any]] = [json.loads(text) if text else [] for text in groups]
    numbers = np.array(cells, np.float64).reshape(len(cells), 3)
    columns = []
    for place, item in enumerate(schema):
        if place < len(schema) - 3:
            columns.append(pa.array([key[place] for key in keys], item.type))
        else:
            column = numbers[:, place - (len(schema) - 3)]
            columns.append(pa.array(column, mask=~np.isfinite(column)))
    return pa.table(columns, schema=schema)
