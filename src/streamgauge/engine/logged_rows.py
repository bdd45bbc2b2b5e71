"""Logged rows: rows as they stand in the log, split between shards.

They go by a hash of some columns, or where any shard can work on them by where they lie. Late rows
that are left out go to all shards: answers say how many rows they miss.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from streamgauge.engine.batch import LoggedRows, RowBatch
from streamgauge.engine.distribution import columns_of
from streamgauge.engine.placement import (
    BUCKETS,
    Shards,
    buckets_of,
    shard_of_bucket,
    value_hashes,
)
from streamgauge.engine.rows import Flags, Ints
from streamgauge.engine.shares import by_shard
from streamgauge.engine.store import Store, typed
from streamgauge.kernel.coded import CodedColumn
from streamgauge.streams.stream import Stream

# Rows that lie together are given to one shard together.
BLOCK_BITS = 8


def logged_rows(batch: RowBatch, stream: Stream, name: str, shard: int, shards: int) -> RowBatch:
    """The rows of a batch that a shard works on, split as an input of that name says."""
    if shards == 1:
        return batch
    mine = (_owners(batch, stream, name, shards) == shard) | left_out(batch, stream)
    return batch.take(np.flatnonzero(mine))


def logged_shares(
    batch: RowBatch, stream: Stream, name: str, columns: Sequence[str], shards: int
) -> list[RowBatch]:
    """The rows of a batch with some columns, by shard, split as an input of that name says."""
    assert batch.logged is not None, "rows are taken from the log"
    plain = _plain(batch.logged.select(columns))
    whole = RowBatch(batch.ts, batch.eff, batch.late, {}, {}, logged=plain)
    if shards == 1:
        return [whole]
    owners = _owners(batch, stream, name, shards)
    order, ends = by_shard(owners, shards, left_out(batch, stream))
    taken = whole.take(order)
    assert taken.logged is not None, "taken with its rows"
    return [
        RowBatch(
            taken.ts[start:stop],
            taken.eff[start:stop],
            taken.late[start:stop],
            {},
            {},
            logged=taken.logged.cut(start, stop),
        )
        for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    ]


def left_out(batch: RowBatch, stream: Stream) -> Flags:
    """Late rows that no answer has."""
    if stream.late.policy == "revise":
        return np.zeros(len(batch), np.bool_)
    return batch.late


def owners_by(rows: pa.Table, columns: Sequence[str], shards: int) -> Shards:
    """The shard that works on each row, by a hash of columns in the types of their stream."""
    coded = [CodedColumn.of(rows[name]) for name in columns]
    return shard_of_bucket(buckets_of(coded), shards)


def _owners(batch: RowBatch, stream: Stream, name: str, shards: int) -> Shards:
    """The shard that works on each row."""
    logged = batch.logged
    assert logged is not None, "rows are taken from the log"
    columns = columns_of(name)
    if columns:
        return owners_by(typed(logged.table, stream, columns), columns, shards)
    block = logged.row >> BLOCK_BITS
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    page, segment = (np.full(len(starts), n) for n in (logged.page, logged.segment))
    owners = _owners_of_blocks(page, segment, block[starts], shards)
    return np.repeat(owners, np.diff(starts, append=len(block)))


def owners_by_place(store: Store, shards: int) -> Shards:
    """The shard that works on each row of a store that goes by where rows lie."""
    return _owners_of_blocks(store.page, store.segment, store.row >> BLOCK_BITS, shards)


def _owners_of_blocks(page: Ints, segment: Ints, block: Ints, shards: int) -> Shards:
    # What is shifted out of 64 bits only lets more blocks share a place.
    place = (page << 40) ^ (segment << 54) ^ block
    buckets = value_hashes(pa.array(place, pa.int64())) % np.uint64(BUCKETS)
    return shard_of_bucket(buckets, shards)


def _plain(logged: LoggedRows) -> LoggedRows:
    """The same rows without dictionaries, which each packet would carry whole."""
    columns = [
        column.cast(column.type.value_type) if pt.is_dictionary(column.type) else column
        for column in logged.table.columns
    ]
    table = pa.table(columns, names=logged.table.column_names)
    return LoggedRows(table, logged.page, logged.segment, logged.row)
