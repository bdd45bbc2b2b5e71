"""Local rows: those that any shard can work on, each given to one of them by where it lies.

Late rows that are left out go to all shards: rows say how many of them came before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from streamgauge.engine.batch import LoggedRows, RowBatch
from streamgauge.engine.placement import BUCKETS, Shards, shard_of_bucket, value_hashes
from streamgauge.engine.rows import Flags
from streamgauge.engine.shares import by_shard
from streamgauge.streams.stream import Stream

# Rows that lie together are given to one shard together.
BLOCK_BITS = 8


def local_rows(batch: RowBatch, stream: Stream, shard: int, shards: int) -> RowBatch:
    """The rows of a batch that a shard works on."""
    if shards == 1:
        return batch
    mine = (_owners(batch, shards) == shard) | left_out(batch, stream)
    return batch.take(np.flatnonzero(mine))


def local_shares(
    batch: RowBatch, stream: Stream, columns: Sequence[str], shards: int
) -> list[RowBatch]:
    """The rows of a batch with some columns as they stand in the log, by shard."""
    assert batch.logged is not None, "local rows are taken from the log"
    plain = _plain(batch.logged.select(columns))
    whole = RowBatch(batch.ts, batch.eff, batch.late, {}, {}, logged=plain)
    if shards == 1:
        return [whole]
    order, ends = by_shard(_owners(batch, shards), shards, left_out(batch, stream))
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


def _owners(batch: RowBatch, shards: int) -> Shards:
    """The shard that works on each row, by its place in the log."""
    logged = batch.logged
    assert logged is not None, "local rows are taken from the log"
    block = logged.row >> BLOCK_BITS
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    place = (logged.page << 40) ^ (logged.segment << 54) ^ block[starts]
    buckets = value_hashes(pa.array(place)) % np.uint64(BUCKETS)
    return np.repeat(shard_of_bucket(buckets, shards), np.diff(starts, append=len(block)))


def _plain(logged: LoggedRows) -> LoggedRows:
    """The same rows without dictionaries, which each packet would carry whole."""
    columns = [
        column.cast(column.type.value_type) if pt.is_dictionary(column.type) else column
        for column in logged.table.columns
    ]
    table = pa.table(columns, names=logged.table.column_names)
    return LoggedRows(table, logged.page, logged.segment, logged.row)
