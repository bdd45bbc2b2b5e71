"""Dataflow: the changes of a plan's relations between two instants, from the rows in the stores.

Every node is a pure function of the changes below it. What a relation held before is told by
changes at the instant `prev`; what happens then comes after it. Equal nodes of several plans are
worked out once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.engine.store import Store
from streamgauge.log.segments import read_parquet
from streamgauge.operators.codes import row_codes
from streamgauge.operators.delta import Delta, consolidated, joined
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.expression import column
from streamgauge.operators.functions import Functions
from streamgauge.operators.group_rows import grouped, grouped_held
from streamgauge.operators.held import Held
from streamgauge.operators.join_rows import join
from streamgauge.operators.order_rows import ordered
from streamgauge.operators.set_rows import combined, distinct
from streamgauge.plan.keeping import changing_in, holds, scan_of
from streamgauge.plan.nodes import (
    Combined,
    Distinct,
    Filter,
    Grouped,
    Join,
    Node,
    Numbers,
    Ordered,
    Project,
    Resampled,
    Scan,
    Stored,
    Streamed,
    Windowed,
    to_json,
)
from streamgauge.streams.stream import Stream
from streamgauge.windows.alive import alive
from streamgauge.windows.window import BEGINNING
from streamgauge.work.relations.answer_source import rows_of
from streamgauge.work.relations.resample import resampled

Ints = npt.NDArray[np.int64]
Versions = list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Folded:
    """What is kept of groups over all rows so far: the small state of each, and its row."""

    groups: Held
    given: Delta


@dataclass(slots=True)
class Dataflow:
    """One step of some plans, from `prev` to `now`.

    Parameters
    ----------
    streams, stores
        Declarations and kept rows, by name of the stream.
    tables
        For each stored table the files it was read into, each with the instant from which it holds.
    functions
        Functions of one's own.
    prev, now
        The step. Changes at `prev` are what was there before.
    held
        Small state of groups over all rows so far, by `held_key`; replaced as the step is made.
    answers
        Changes of the answers of queries of numbers.
    """

    streams: dict[str, Stream]
    stores: dict[str, Store]
    tables: dict[str, Versions]
    functions: Functions
    prev: int
    now: int
    held: dict[str, Folded] = field(default_factory=dict)
    answers: dict[Numbers, Delta] = field(default_factory=dict)
    _memo: dict[tuple[Node, int], Delta] = field(default_factory=dict)

    def changes(self, node: Node, since: int = BEGINNING) -> Delta:
        """Changes of a node's relation; only rows newer than `since` count."""
        found = self._memo.get((node, since))
        if found is None:
            found = self._memo[node, since] = _WORK[type(node)](self, node, since)
        return found

    def lifetimes(self, node: Windowed, since: int, *, used: bool) -> tuple[Store, Ints, Ints]:
        """Rows of a window's stream, or those left out of it, with when each enters and leaves."""
        part = self.stream_rows(node.input)
        if used:
            part = part.take(part.used)
        if since > BEGINNING:
            part = part.take(part.ts > since)
        keys = np.zeros(len(part), np.int64)
        if node.window.by and len(part):
            keys = row_codes([part.rows.select(list(node.window.by))])[0]
        tick = self.streams[scan_of(node).stream].tick
        enter, leave = alive(node.window, tick, part.ts, part.eff, keys)
        if not used:
            left_out = ~part.used
            return part.take(left_out), enter[left_out], leave[left_out]
        return part, enter, leave

    def stream_rows(self, node: Node) -> Store:
        """Rows of a stream, or of one derived from it; `row` is the place in the store."""
        if isinstance(node, Scan):
            store = self.stores[node.stream]
            store = replace(store, row=np.arange(len(store), dtype=np.int64))
            return replace(store, rows=store.rows.select(list(node.schema.names)))
        if isinstance(node, Resampled):
            stream = self.streams[scan_of(node).stream]
            return resampled(self.stream_rows(node.input), stream, node, self.now)
        part = self.stream_rows(node.inputs()[0])
        if isinstance(node, Filter):
            return part.take(_true(evaluate(node.where, part.rows, self.functions)))
        assert isinstance(node, Project), f"{type(node).__name__} is no stream"
        return replace(part, rows=self.projected(part.rows, node))

    def projected(self, rows: pa.Table, node: Project) -> pa.Table:
        """The columns that a node computes from rows."""
        arrays = [evaluate(expr, rows, self.functions) for _, expr in node.items]
        return pa.table(arrays, names=[name for name, _ in node.items])

    def _windowed(self, node: Windowed, since: int) -> Delta:
        part, enter, leave = self.lifetimes(node, since, used=True)
        prev, now = self.prev, self.now
        lives = enter < leave
        comes = np.flatnonzero(lives & (enter <= now) & (leave > prev))
        goes = np.flatnonzero(lives & (leave <= now) & (leave > prev))
        places = np.concatenate((comes, goes))
        at = np.concatenate((np.maximum(enter[comes], prev), leave[goes]))
        count = np.concatenate((part.sign[comes], -part.sign[goes]))
        delta = Delta(part.rows.take(pa.array(places)), at, count)
        if self.streams[scan_of(node).stream].changes is None:
            return delta
        # A row that is taken away before it came is not there less than not at all.
        return combined(delta, Delta.none(delta.rows.schema), "except", all=True)

    def _stored(self, node: Stored, since: int) -> Delta:
        parts: list[Delta] = []
        versions = self.tables[node.table]
        ends = [at for at, _ in versions[1:]] + [self.now + 1]
        for (at, path), end in zip(versions, ends, strict=True):
            if at > self.now or end <= self.prev:
                continue
            rows = read_parquet(path, f"the copy of table {node.table!r}", node.schema.names)
            rows = rows.cast(node.schema.to_arrow())
            parts.append(Delta.of(rows, max(at, self.prev)))
            if end <= self.now:
                gone = Delta.of(rows, end)
                parts.append(Delta(gone.rows, gone.at, -gone.count))
        return joined(parts, node.schema.to_arrow())

    def _numbers(self, node: Numbers, since: int) -> Delta:
        return rows_of(self.answers[node])

    def _filtered(self, node: Filter, since: int) -> Delta:
        below = self.changes(node.input, since)
        return below.take(_true(evaluate(node.where, below.rows, self.functions)))

    def _project(self, node: Project, since: int) -> Delta:
        below = self.changes(node.input, since)
        return Delta(self.projected(below.rows, node), below.at, below.count)

    def _join(self, node: Join, since: int) -> Delta:
        parts = [self.changes(part, since) for part in node.parts]
        return join(parts, node.names, node.on, node.kind, self.functions)

    def _grouped(self, node: Grouped, since: int) -> Delta:
        below = self.changes(node.input, since)
        if not holds(node, changing_in(self.streams)):
            return grouped(below, node.by, node.aggregates, self.functions, since=self.prev)
        return self._hold(node, since, below, node.by, node.aggregates)

    def _distinct(self, node: Distinct, since: int) -> Delta:
        below = self.changes(node.input, since)
        if not holds(node, changing_in(self.streams)):
            return distinct(below)
        by = tuple((name, column(name)) for name in below.rows.column_names)
        return self._hold(node, since, below, by, ())

    def _hold(self, node: Node, since: int, below: Delta, by: Any, aggregates: Any) -> Delta:
        key = held_key(node, since)
        folded = self.held.get(key)
        if folded is not None:
            below = below.take(below.at > self.prev)
        there = Delta.none(pa.schema([])) if folded is None else self._before(folded.given)
        if folded is not None and not len(below):
            return there
        groups = None if folded is None else folded.groups
        out, groups = grouped_held(groups, below, by, aggregates, self.functions, since=self.prev)
        out = joined([there, out], out.rows.schema)
        now = np.full(len(out), self.now, np.int64)
        self.held[key] = Folded(groups, consolidated(Delta(out.rows, now, out.count)))
        return out

    def _before(self, given: Delta) -> Delta:
        return Delta(given.rows, np.full(len(given), self.prev, np.int64), given.count)

    def _combined(self, node: Combined, since: int) -> Delta:
        left, right = self.changes(node.left, since), self.changes(node.right, since)
        return combined(left, right, node.kind, all=node.all)

    def _ordered(self, node: Ordered, since: int) -> Delta:
        return ordered(self.changes(node.input, since), node.by, node.limit, self.functions)

    def _streamed(self, node: Streamed, since: int) -> Delta:
        return self.changes(node.input, since)


_WORK: dict[type[Node], Callable[..., Delta]] = {
    Windowed: Dataflow._windowed,
    Stored: Dataflow._stored,
    Numbers: Dataflow._numbers,
    Filter: Dataflow._filtered,
    Project: Dataflow._project,
    Join: Dataflow._join,
    Grouped: Dataflow._grouped,
    Distinct: Dataflow._distinct,
    Combined: Dataflow._combined,
    Ordered: Dataflow._ordered,
    Streamed: Dataflow._streamed,
}


def held_key(node: Node, since: int) -> str:
    """Name of the state of a group over all rows."""
    return json.dumps([to_json(node), since])


def _true(mask: Any) -> npt.NDArray[np.bool_]:
    filled = pc.fill_null(mask, False)
    plain: npt.NDArray[np.bool_] = np.asarray(filled.to_numpy(zero_copy_only=False), np.bool_)
    return plain
