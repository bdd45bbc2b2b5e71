"""What a task of the landing does: records of one partition to clean rows on disk, and a receipt.

Rows leave the JVM once, as columns, and end as a file that the lander takes in place. A task that
runs twice writes two files; only the receipt that reaches the driver counts.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from streamgauge.kernel.collection import set_aside
from streamgauge.kernel.columns import as_instants
from streamgauge.log.segments import write_parquet
from streamgauge.sources.records import parse_records
from streamgauge.sources.settle import Parsed
from streamgauge.streams.stream import Stream

RECEIPT = pa.schema(
    [
        ("partition", pa.int32()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("rows", pa.int64()),
        ("path", pa.string()),
        ("rejected", pa.int64()),
        ("letters", pa.string()),
    ]
)
RECEIPT_DDL = (
    "partition int, first long, last long, rows long, path string, rejected long, letters string"
)
# Bytes of values that are parsed together; Arrow's binary arrays end at 2 GiB.
PIECE_BYTES = 256 << 20
# Where what comes with each record is found; the names are those of `KAFKA_BESIDE`.
COLUMNS = {
    "kafka_key": "key",
    "kafka_timestamp": "timestamp",
    "kafka_partition": "partition",
    "kafka_offset": "offset",
}


@dataclass(frozen=True, slots=True)
class LandRecords:
    """Plain data, so that it travels to executors: the stream, and where files go.

    Parameters
    ----------
    declared
        The stream, in its JSON form.
    topic
        Where the records come from.
    place
        Directory that all workers see.
    """

    declared: dict[str, object]
    topic: str
    place: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Land what a task is given."""
        stream = Stream.from_dict(self.declared)
        for piece in gathered(batches):
            for partition, table in _by_partition(piece):
                yield self._landed(stream, partition, table)
        set_aside()

    def _landed(self, stream: Stream, partition: int, table: pa.Table) -> pa.RecordBatch:
        offsets = table["offset"].to_numpy()
        parsed = parse_records(
            table["value"].combine_chunks(),
            stream,
            arrived=time.time_ns() // 1000,
            origin=f"kafka:{self.topic}-{partition}",
            places=offsets,
            beside={
                name: table[column].combine_chunks()
                for name, column in COLUMNS.items()
                if name in stream.schema.names
            },
        )
        ordered = replace(parsed, table=_in_order(parsed.table, stream.time))
        return write_parts(ordered, self.place, (partition, int(offsets[0]), int(offsets[-1])))


def write_parts(parsed: Parsed, place: str, which: tuple[int, int, int]) -> pa.RecordBatch:
    """Write rows and dead letters under names of their own; the receipt says which records."""
    path = letters = ""
    if parsed.table.num_rows:
        path = str(Path(place) / f"{uuid.uuid4().hex}.parquet")
        write_parquet(Path(path), parsed.table)
    if parsed.rejects.num_rows:
        letters = str(Path(place) / f"{uuid.uuid4().hex}.letters.parquet")
        write_parquet(Path(letters), parsed.rejects)
    row = (*which, parsed.table.num_rows, path, parsed.rejects.num_rows, letters)
    return pa.RecordBatch.from_arrays([pa.array([v]) for v in row], RECEIPT.names).cast(RECEIPT)


def gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Record batches gathered into tables of a size that is parsed at once."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        if held and size + batch.nbytes > PIECE_BYTES:
            yield pa.Table.from_batches(held)
            held, size = [], 0
        held.append(batch)
        size += batch.nbytes
    if held:
        yield pa.Table.from_batches(held)


def _by_partition(table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """The records of each partition; a task has one, but nothing promises that."""
    partitions = table["partition"].to_numpy()
    for partition in np.unique(partitions).tolist():
        chosen = partitions == partition
        yield partition, table if chosen.all() else table.filter(pa.array(chosen))


def _in_order(table: pa.Table, clock: str) -> pa.Table:
    """Rows by event time, ties as they came."""
    times = as_instants(table[clock])
    if (times[1:] >= times[:-1]).all():
        return table
    return table.take(pa.array(np.argsort(times, kind="stable")))
