"""Packets: what a scan sends to one shard: the calendar of a slice, and the rows it owns of it.

Of inputs that take sums, cells are sent instead of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.engine.batch import Column, RowBatch
from streamgauge.engine.calendar import Calendar
from streamgauge.engine.distribution import columns_of, owners
from streamgauge.engine.partial import Partial
from streamgauge.kernel.wire import Array, Packed, pack, unpack

KIND = "packet"
VERSION = 1
_FAST = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True, slots=True)
class Packet:
    """What a slice has for one shard: the stream, its calendar, a batch for each input.

    `partials` has the cells of tables, by the text of their keys.
    """

    stream: str
    calendar: Calendar
    batches: dict[str, RowBatch]
    partials: dict[str, Partial] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Write a packet."""
        arrays: dict[str, Array] = {
            "ticks": self.calendar.ticks,
            "rows": self.calendar.rows,
        }
        for serial, batch in enumerate(self.batches.values()):
            arrays[f"{serial}"] = _arrow(batch)
        for serial, partial in enumerate(self.partials.values()):
            _pack_partial(f"cells/{serial}", partial, arrays)
        values = {
            "stream": self.stream,
            "late": self.calendar.late,
            "inputs": [[n, list(b.numbers), list(b.words)] for n, b in self.batches.items()],
            "partials": [[t, p.low, list(p.words)] for t, p in self.partials.items()],
        }
        return pack(Packed(KIND, VERSION, values, arrays))

    @classmethod
    def from_bytes(cls, data: bytes) -> Packet:
        """Read a packet."""
        packed = unpack(data, kind=KIND, version=VERSION)
        values, arrays = packed.values, packed.arrays
        batches = {
            name: _batch(arrays[f"{serial}"], numbers, words)
            for serial, (name, numbers, words) in enumerate(values["inputs"])
        }
        partials = {
            text: _partial(f"cells/{serial}", low, words, arrays)
            for serial, (text, low, words) in enumerate(values["partials"])
        }
        calendar = Calendar(arrays["ticks"], arrays["rows"], values["late"])
        return cls(values["stream"], calendar, batches, partials)


_CELLS = ("tick", "pane", "n", "least", "most", "limbs")


def _pack_partial(prefix: str, partial: Partial, arrays: dict[str, Array]) -> None:
    for name in _CELLS:
        arrays[f"{prefix}/{name}"] = getattr(partial, name)
    arrays[f"{prefix}/late"] = partial.late.astype(np.uint8)
    whole = np.arange(len(partial.tick))
    words = {name: _used(*_coded(column, whole)) for name, column in partial.words.items()}
    arrays[f"{prefix}/words"] = _stream(pa.table(list(words.values()), names=list(words)))


def _partial(prefix: str, low: int, words: Sequence[str], arrays: dict[str, Array]) -> Partial:
    table = pa.ipc.open_stream(pa.py_buffer(arrays[f"{prefix}/words"])).read_all()
    cells = {name: arrays[f"{prefix}/{name}"] for name in _CELLS}
    late = arrays[f"{prefix}/late"].astype(np.bool_)
    return Partial(**cells, late=late, low=low, words={name: table[name] for name in words})


def shares(name: str, batch: RowBatch, shards: int) -> list[RowBatch]:
    """The rows of a batch by the shard that owns them; in each, names that it has no row of go."""
    if shards == 1:
        return [batch]
    owner = owners([batch.words[column] for column in columns_of(name)], shards)
    order = np.argsort(owner.astype(np.int16), kind="stable")
    ends = np.cumsum(np.bincount(owner, minlength=shards))
    ts, eff, late = batch.ts[order], batch.eff[order], batch.late[order]
    numbers = {column: values[order] for column, values in batch.numbers.items()}
    words = {column: _coded(values, order) for column, values in batch.words.items()}
    found = []
    for start, stop in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        part = slice(start, stop)
        found.append(
            RowBatch(
                ts[part],
                eff[part],
                late[part],
                {column: values[part] for column, values in numbers.items()},
                {column: _used(codes[part], names) for column, (codes, names) in words.items()},
            )
        )
    return found


def _coded(column: Column, order: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int32], pa.Array]:
    """Codes of a column in another order, -1 for null, and its names."""
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    codes = column.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    return codes[order], column.dictionary


def _used(codes: npt.NDArray[np.int32], names: pa.Array) -> pa.Array:
    """A column with those names alone that its codes need."""
    there = np.zeros(len(names) + 1, np.bool_)
    there[codes] = True
    used = np.flatnonzero(there[:-1])
    places = np.full(len(names) + 1, -1, np.int32)
    places[used] = np.arange(len(used), dtype=np.int32)
    moved = places[codes]
    indices = pa.array(moved, mask=moved < 0) if there[-1] else pa.array(moved)
    return pa.DictionaryArray.from_arrays(indices, names.take(pa.array(used)))


def _arrow(batch: RowBatch) -> npt.NDArray[np.uint8]:
    """The columns of a batch as an Arrow stream; times that all rows share are left out."""
    columns: dict[str, pa.Array] = {"ts": pa.array(batch.ts)}
    if not np.array_equal(batch.eff, batch.ts):
        columns["eff"] = pa.array(batch.eff)
    if batch.late.any():
        columns["late"] = pa.array(batch.late)
    for serial, values in enumerate(batch.numbers.values()):
        columns[f"n{serial}"] = pa.array(values)
    for serial, column in enumerate(batch.words.values()):
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        columns[f"w{serial}"] = whole
    return _stream(pa.table(columns))


def _stream(table: pa.Table) -> npt.NDArray[np.uint8]:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_FAST) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def _batch(data: npt.NDArray[np.uint8], numbers: Sequence[str], words: Sequence[str]) -> RowBatch:
    table = pa.ipc.open_stream(pa.py_buffer(data)).read_all()
    ts = _plain(table["ts"])
    none = np.zeros(len(ts), np.bool_)
    return RowBatch(
        ts,
        _plain(table["eff"]) if "eff" in table.column_names else ts,
        _plain(table["late"]) if "late" in table.column_names else none,
        {name: _plain(table[f"n{serial}"]) for serial, name in enumerate(numbers)},
        {name: table[f"w{serial}"] for serial, name in enumerate(words)},
    )


def _plain(column: pa.ChunkedArray) -> Array:
    return np.asarray(column.to_numpy())
