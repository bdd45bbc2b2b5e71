"""Store: the rows of a stream that some window may still hold, kept once for all of them.

Rows lie in the order in which they take effect. Each window is a view of the store: when a row
enters and when it leaves follows from the rows, so a window keeps nothing of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from streamgauge.engine.batch import RowBatch
from streamgauge.engine.rows import ticks_of
from streamgauge.kernel.columns import as_instants
from streamgauge.kernel.errors import SourceFailure
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Segment
from streamgauge.log.reader import history, read_segment
from streamgauge.operators.codes import row_codes
from streamgauge.streams.schema import TYPES
from streamgauge.streams.stream import Stream

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_PLACE = ("page", "segment", "row")


@dataclass(frozen=True, slots=True)
class Store:
    """Rows of a stream as columns of one length.

    `ts` is a row's time, `eff` the instant it takes effect, a whole tick. `used` is false for late
    rows that are left out; they are kept to say how many rows an answer misses. `sign` is -1 for a
    row that takes another away. `page`, `segment` and `row` say where it lies in the log.
    """

    rows: pa.Table
    ts: Ints
    eff: Ints
    used: Flags
    sign: Ints
    page: Ints
    segment: Ints
    row: Ints

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, which: Ints | Flags) -> Store:
        """Some of the rows."""
        places = np.flatnonzero(which) if which.dtype == np.bool_ else which
        if len(places) == len(self) and (places[1:] > places[:-1]).all():
            return self
        return Store(
            self.rows.take(pa.array(places)),
            *(getattr(self, name)[places] for name in ("ts", "eff", "used", "sign", *_PLACE)),
        )

    def cut(self, upto: int) -> tuple[Store, Store]:
        """Rows in effect at an instant and those after it, without a copy."""
        edge = int(np.searchsorted(self.eff, upto, side="right"))
        names = ("ts", "eff", "used", "sign", *_PLACE)
        early, later = slice(0, edge), slice(edge, None)
        return (
            Store(self.rows.slice(0, edge), *(getattr(self, name)[early] for name in names)),
            Store(self.rows.slice(edge), *(getattr(self, name)[later] for name in names)),
        )


def empty_store(stream: Stream, columns: Sequence[str]) -> Store:
    """A store of no rows."""
    none = np.empty(0, np.int64)
    rows = arrow_schema(stream, columns).empty_table()
    return Store(rows, none, none, np.empty(0, np.bool_), none, none, none, none)


def arrow_schema(stream: Stream, columns: Sequence[str]) -> pa.Schema:
    """Types of some columns of a stream."""
    return pa.schema([(name, TYPES[stream.schema.type(name)]) for name in columns])


def read_rows(
    stream: Stream, segment: Segment, place: tuple[int, int], columns: Sequence[str]
) -> Store:
    """Rows of a segment, in order of arrival, without those that a revising stream lets go."""
    table = read_segment(segment, logged_columns(stream, columns), ())
    return store_of(RowBatch.of(stream, segment, table, place), stream, columns)


def logged_columns(stream: Stream, columns: Sequence[str]) -> tuple[str, ...]:
    """What is read of a stream to keep rows with some columns."""
    extra = (stream.changes,) if stream.changes else ()
    return tuple(dict.fromkeys((stream.time, *columns, *extra)))


def store_of(batch: RowBatch, stream: Stream, columns: Sequence[str]) -> Store:
    """The rows of a batch."""
    logged = batch.logged
    assert logged is not None, f"columns of {stream.name!r} were not read"
    n = len(batch)
    return Store(
        typed(logged.table, stream, columns),
        batch.ts,
        ticks_of(batch.eff, stream.tick) * stream.tick,
        np.ones(n, np.bool_) if stream.late.policy == "revise" else ~batch.late,
        _signs(logged.table, stream),
        np.full(n, logged.page, np.int64),
        np.full(n, logged.segment, np.int64),
        logged.row,
    )


def _signs(table: pa.Table, stream: Stream) -> Ints:
    if stream.changes is None:
        return np.ones(table.num_rows, np.int64)
    taken = pc.fill_null(pc.equal(table[stream.changes].cast(pa.string()), "-"), False)
    return np.where(taken.to_numpy(zero_copy_only=False), -1, 1).astype(np.int64)


def typed(table: pa.Table, stream: Stream, columns: Sequence[str]) -> pa.Table:
    """Columns in the types of the stream's schema; what is no number is null."""
    schema = arrow_schema(stream, columns)
    return pa.table(
        [_cast(table[name], schema.field(name).type) for name in columns], schema=schema
    )


def _cast(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    if pt.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pt.is_timestamp(wanted):
        instants = pa.array(as_instants(column), mask=column.is_null().to_numpy())
        return pa.chunked_array([instants.cast(wanted)])
    column = column.cast(wanted, safe=False)
    if pt.is_floating(wanted):
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, wanted))
    return column


def merged(parts: Sequence[Store]) -> Store:
    """Rows of several stores, each row once, in the order they take effect."""
    parts = [part for part in parts if len(part)] or list(parts[:1])
    if len(parts) == 1:
        whole = parts[0]
    else:
        names = ("ts", "eff", "used", "sign", *_PLACE)
        whole = Store(
            pa.concat_tables([part.rows for part in parts]).combine_chunks(),
            *(np.concatenate([getattr(part, name) for part in parts]) for name in names),
        )
    order = np.arange(len(whole))
    if not _in_order(whole):
        order = np.lexsort((whole.row, whole.segment, whole.page, whole.eff))
    place = np.stack([whole.page[order], whole.segment[order], whole.row[order]])
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (place[:, 1:] != place[:, :-1]).any(axis=0)
    return whole.take(order[fresh])


def with_rows(store: Store, stream: Stream, batches: Sequence[RowBatch]) -> Store:
    """The store with the rows that a page has brought of its stream."""
    if not batches:
        return store
    columns = store.rows.column_names
    return merged([store, *(store_of(batch, stream, columns) for batch in batches)])


def with_history(
    store: Store, stream: Stream, home: Home, *, before: int, since: int
) -> tuple[Store, int]:
    """The store with kept rows of earlier pages, and the instant from which it misses none.

    Rows up to that instant are left out, or what is there would depend on which files hold them.
    """
    parts = []
    for place, segment in history(home, stream.name, before=before, since=since):
        try:
            parts.append(read_rows(stream, segment, place, store.rows.column_names))
        except SourceFailure:
            since = max(since, segment.high)
    return merged([store, *(part.take(part.ts > since) for part in parts)]), since


def netted(store: Store, upto: int) -> Store:
    """Without the rows in effect at an instant that another one took away.

    How often a row is there is the sum of what was added and taken: pairs that cancel say nothing.
    """
    past = store.eff <= upto
    _, codes = np.unique(row_codes([store.rows])[0], return_inverse=True)
    net = np.bincount(codes[past], store.sign[past], int(codes.max(initial=-1)) + 1)
    candidates = np.flatnonzero(past & (store.sign == np.sign(net[codes])))
    order = candidates[np.argsort(codes[candidates], kind="stable")]
    firsts = np.searchsorted(codes[order], codes[order])
    keep = ~past
    keep[order[np.arange(len(order)) - firsts < np.abs(net[codes[order]])]] = True
    return store.take(keep)


def _in_order(store: Store) -> bool:
    """Whether rows lie by effect, and rows of one instant by place; mostly they arrive so."""
    later = store.eff[1:] > store.eff[:-1]
    further = store.page[1:] > store.page[:-1]
    same = store.page[1:] == store.page[:-1]
    further |= same & (store.segment[1:] > store.segment[:-1])
    same &= store.segment[1:] == store.segment[:-1]
    further |= same & (store.row[1:] >= store.row[:-1])
    return bool((later | ((store.eff[1:] == store.eff[:-1]) & further)).all())


def widened(store: Store, stream: Stream, columns: Sequence[str], home: Home) -> Store:
    """The same rows with these columns; what was not kept until now is read from the log."""
    schema = arrow_schema(stream, columns)
    if store.rows.schema.equals(schema):
        return store
    missing = [name for name in columns if name not in store.rows.column_names]
    parts = {
        name: _cast(store.rows[name], schema.field(name).type)
        for name in columns
        if name not in missing
    }
    if missing and len(store):
        parts |= _reread(store, stream, missing, home)
    empty = schema.empty_table()
    arrays = [parts.get(name, empty[name]) for name in columns]
    return replace(store, rows=pa.table(arrays, schema=schema))


def _reread(
    store: Store, stream: Stream, columns: list[str], home: Home
) -> dict[str, pa.ChunkedArray]:
    journal = Journal(home)
    order, tables = [], []
    for page, serial in sorted(set(zip(store.page.tolist(), store.segment.tolist(), strict=True))):
        here = np.flatnonzero((store.page == page) & (store.segment == serial))
        segment = journal.page(page).segments[serial]
        table = typed(read_segment(segment, columns, ()), stream, columns)
        tables.append(table.take(pa.array(store.row[here])))
        order.append(here)
    places = np.argsort(np.concatenate(order), kind="stable")
    whole = pa.concat_tables(tables).take(pa.array(places))
    return {name: whole[name] for name in columns}
