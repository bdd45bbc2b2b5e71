"""Bodies: what clients push, as clean rows of a stream and dead letters.

JSON lines of many requests are read in one go, since reading costs more by the call than by the
line. A line fares the same in any company, so each request gets the answer it would get alone.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamgauge.coordinator.agents import Refusal
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.kernel.time import Instant
from streamgauge.server.envelope import is_packed
from streamgauge.sources.lines import Lines
from streamgauge.sources.parse import Parsed, parse_file
from streamgauge.sources.rejects import KEPT, REJECTS
from streamgauge.streams.stream import Stream

JSON_LINES = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
KINDS = (JSON_LINES, ARROW)
# Rows and unpacked bytes of one Arrow body; a few bytes can claim to be far more.
MAX_ROWS = 1_000_000
MAX_BYTES = 256 << 20
_STRANGE = (pa.ArrowException, OSError, ValueError, LookupError, OverflowError)


@dataclass(frozen=True, slots=True)
class Body:
    """One request: its bytes, what they are, and the key by which it may be repeated."""

    data: bytes
    kind: str = JSON_LINES
    key: str | None = None

    @property
    def digest(self) -> str:
        """Tells bodies apart."""
        return hashlib.blake2b(self.kind.encode() + b"\0" + self.data, digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one body: how many rows are taken and left out, or why it is refused."""

    rows: int = 0
    rejected: int = 0
    refusal: Refusal | None = None


@dataclass(frozen=True)
class Reading:
    """What became of several bodies.

    Parameters
    ----------
    table
        Clean rows of all of them, columns exactly those of the stream.
    letters
        Dead letters; their origin says which request and which line or row of it.
    taken
        What became of each body, in order.
    """

    table: pa.Table
    letters: pa.Table
    taken: list[Taken]


class BodyReader:
    r"""Reads bodies for one stream.

    Parameters
    ----------
    stream
        Schema, event time, keys and how far ahead a time may be.

    Examples
    --------
    >>> from streamgauge.streams.schema import Schema
    >>> schema = Schema.of(ts="time", value="float")
    >>> stream = Stream("s", schema, "ts", (), (("kind", "push"),), future=None)
    >>> reader = BodyReader(stream)
    >>> body = Body(b'{"ts": 1, "value": 2.5}\n{"ts": 2, "value": "warm"}')
    >>> reading = reader.read([(7, body)], arrived=0)
    >>> reading.taken, reading.letters["origin"].to_pylist()
    ([Taken(rows=1, rejected=1, refusal=None)], ['push 7:2'])
    """

    def __init__(self, stream: Stream) -> None:
        self._empty = stream.schema.to_arrow().empty_table()
        self._as_lines = _read_as(stream, "jsonl")
        self._as_parquet = _read_as(stream, "parquet")

    def read(self, numbered: Sequence[tuple[int, Body]], arrived: Instant) -> Reading:
        """Read bodies, each with the serial that its dead letters name."""
        lines = [pair for pair in numbered if pair[1].kind == JSON_LINES]
        parts = [self._lines(lines, arrived)] if lines else []
        for serial, body in numbered:
            if body.kind == ARROW:
                parts.append(self._arrow(serial, body, arrived))
        taken = {serial: one for part in parts for serial, one in part[2].items()}
        return Reading(
            pa.concat_tables([self._empty, *(part[0] for part in parts)]),
            pa.concat_tables([REJECTS.empty_table(), *(part[1] for part in parts)]),
            [taken[serial] for serial, _ in numbered],
        )

    def _lines(self, numbered: Sequence[tuple[int, Body]], arrived: Instant) -> _Part:
        texts = [Lines.of(body.data) for _, body in numbered]
        serials = [serial for serial, _ in numbered]
        try:
            with _as_file(b"\n".join(lines.data for lines in texts)) as path:
                parsed = parse_file(path, self._as_lines, arrived=arrived)
        except _STRANGE as error:
            if len(numbered) == 1:
                return self._refused(serials[0], _unreadable(_why(error)))
            return self._one_by_one(numbered, arrived)
        places, lost = _places(parsed)
        # Lines before each body, and after the last.
        starts = np.cumsum([0] + [lines.data.count(b"\n") + 1 for lines in texts])
        owners = np.searchsorted(starts, places - 1, side="right") - 1
        origins = [
            f"push {serials[owner]}:{place - starts[owner]}"
            for owner, place in zip(owners.tolist(), places.tolist(), strict=True)
        ]
        rejected = np.bincount(owners[lost], minlength=len(texts)).tolist()
        counts = [_filled(lines) for lines in texts]
        taken = {
            serial: Taken(count - out, out)
            for serial, count, out in zip(serials, counts, rejected, strict=True)
        }
        if sum(one.rows for one in taken.values()) != parsed.table.num_rows:
            if len(numbered) > 1:
                return self._one_by_one(numbered, arrived)
            taken = {serials[0]: Taken(parsed.table.num_rows, len(lost))}
        return parsed.table, _renamed(parsed.rejects, origins), taken

    def _one_by_one(self, numbered: Sequence[tuple[int, Body]], arrived: Instant) -> _Part:
        """Find the body that no reader gets along with: only that one is refused."""
        parts = [self._lines([pair], arrived) for pair in numbered]
        return (
            pa.concat_tables([part[0] for part in parts]),
            pa.concat_tables([part[1] for part in parts]),
            {serial: one for part in parts for serial, one in part[2].items()},
        )

    def _arrow(self, serial: int, body: Body, arrived: Instant) -> _Part:
        try:
            table = _plain_table(body.data, self._empty.schema.names)
            sink = pa.BufferOutputStream()
            pq.write_table(table, sink, compression="none")
            with _as_file(sink.getvalue()) as path:
                parsed = parse_file(path, self._as_parquet, arrived=arrived)
        except Refusal as refusal:
            return self._refused(serial, refusal)
        except (*_STRANGE, MemoryError) as error:
            return self._refused(serial, _unreadable(_why(error)))
        whole = parsed.rejects["origin"].to_pylist() == [path]
        if whole:
            reason = parsed.rejects["reason"][0].as_py()
            return self._refused(serial, _unreadable(reason.replace("the file", "the body")))
        places, lost = _places(parsed)
        letters = _renamed(parsed.rejects, [f"push {serial}:{place}" for place in places])
        return parsed.table, letters, {serial: Taken(parsed.table.num_rows, len(lost))}

    def _refused(self, serial: int, refusal: Refusal) -> _Part:
        return self._empty, REJECTS.empty_table(), {serial: Taken(refusal=refusal)}


@contextmanager
def _as_file(data: bytes | pa.Buffer) -> Iterator[str]:
    """Bytes as a file to read, kept in memory: a disk that is flushed all the time is slow."""
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile() as named:
            named.write(data)
            named.flush()
            yield named.name
        return
    with open(os.memfd_create("pushed"), "wb") as file:  # noqa: PTH123
        file.write(data)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"


_Part = tuple[pa.Table, pa.Table, dict[int, Taken]]


def _read_as(stream: Stream, format: str) -> Stream:
    source = {**stream.source_dict(), "kind": "files", "format": format}
    return replace(stream, source=tuple(source.items()))


def _filled(lines: Lines) -> int:
    """Lines that are more than blanks, which is what becomes a row or a dead letter."""
    blank = sum(
        not bytes(lines.block(at, at + 1)).strip(b" \t")
        for at in np.flatnonzero(np.isin(lines.leading(), (32, 9))).tolist()
    )
    return len(lines) - blank


def _places(parsed: Parsed) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], list[int]]:
    """Line or row of each dead letter, and which of them are of rows that were left out."""
    origins = parsed.rejects["origin"].to_pylist()
    places = np.array([int(origin.rpartition(":")[2]) for origin in origins], dtype=np.int64)
    reasons = parsed.rejects["reason"].to_pylist()
    return places, [at for at, reason in enumerate(reasons) if not reason.endswith(KEPT)]


def _renamed(letters: pa.Table, origins: list[str]) -> pa.Table:
    return letters.set_column(0, REJECTS.field("origin"), pa.array(origins, pa.string()))


def _plain_table(data: bytes, names: Sequence[str]) -> pa.Table:
    """The columns of a stream from an Arrow body, of plain types and of a size that is bearable."""
    if is_packed(data):
        raise _unreadable("its buffers are compressed, and what is in them has no known size")
    batches = list(_batches(data, names))
    if not batches:
        raise _unreadable("it has no schema")
    return pa.Table.from_batches(batches)


def _batches(data: bytes, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with pa.ipc.open_stream(pa.BufferReader(data)) as reader:
        held = [name for name in names if len(reader.schema.get_all_field_indices(name)) == 1]
        absent = [name for name in names if name not in held]
        if absent:
            raise _unreadable(
                f"column {absent[0]!r} is not in it, or more than once; it has "
                f"{', '.join(reader.schema.names)[:500]}"
            )
        rows = size = 0
        yield pa.RecordBatch.from_pylist([], schema=_plain_schema(reader.schema, names))
        for batch in reader:
            rows += batch.num_rows
            if rows > MAX_ROWS:
                raise _too_large(f"more than {MAX_ROWS:,} rows")
            batch.validate(full=True)
            chosen = batch.select(list(names))
            size += sum(_unpacked_size(column) for column in chosen.columns)
            if size > MAX_BYTES:
                raise _too_large(f"more than {MAX_BYTES:,} bytes when its dictionaries are written")
            yield chosen.cast(_plain_schema(reader.schema, names))


def _plain_schema(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """Plain types of some columns; views, runs and nested types are refused."""
    return pa.schema([(name, _plain_type(schema.field(name))) for name in names])


def _plain_type(field: pa.Field) -> pa.DataType:
    arrow = field.type
    if pa.types.is_dictionary(arrow) and _is_text(arrow.value_type):
        return arrow.value_type
    tests = (
        pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean,
        pa.types.is_timestamp, pa.types.is_date, pa.types.is_null, _is_text,
    )  # fmt: skip
    if not any(test(arrow) for test in tests):
        raise _unreadable(f"column {field.name!r} is {str(arrow)[:100]}, which is no plain type")
    return arrow


def _is_text(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow))


def _unpacked_size(column: pa.Array) -> int:
    """Bytes of a column once its dictionary is written out."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary).cast(pa.int64())
    return int(pc.sum(lengths.take(column.indices)).as_py() or 0) + 8 * len(column)


def _why(error: BaseException) -> str:
    """What a reader says, without the path of the file it read."""
    said = error.detail if isinstance(error, StreamgaugeError) else str(error)
    return said or type(error).__name__


def _unreadable(why: str) -> Refusal:
    return Refusal(
        "the body cannot be read as rows of the stream",
        why[:1000],
        f"send {JSON_LINES}, one object a line, or {ARROW} with the stream's columns, uncompressed",
        status=422,
    )


def _too_large(why: str) -> Refusal:
    return Refusal("a body is too large", why, "send the rows in several requests", status=413)
