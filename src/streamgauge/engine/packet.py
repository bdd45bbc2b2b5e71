"""Packets: what a scan sends to one shard: the calendar of a slice, and the rows it owns of it.

Of inputs that take sums, cells are sent instead of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streamgauge.engine.batch import LoggedRows, RowBatch
from streamgauge.engine.calendar import Calendar
from streamgauge.engine.packed_columns import (
    Arrays,
    pack_coded,
    pack_floats,
    pack_ints,
    read_coded,
    read_floats,
    read_ints,
)
from streamgauge.engine.partial import Partial
from streamgauge.engine.store_state import pack_table, unpack_table
from streamgauge.kernel.coded import CodedColumn
from streamgauge.kernel.wire import Packed, pack, unpack

KIND = "packet"
VERSION = 3

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Packet:
    """What a slice has for one shard: the stream, its calendar, a batch for each input.

    `partials` has the cells of tables, by the text of their keys, and `logged` the rows
    that the shard works on as they stand in the log, by how they are split.
    """

    stream: str
    calendar: Calendar
    batches: dict[str, RowBatch]
    partials: dict[str, Partial] = field(default_factory=dict)
    logged: dict[str, RowBatch] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Write a packet."""
        arrays: Arrays = {"ticks": self.calendar.ticks, "rows": self.calendar.rows}
        values = {
            "stream": self.stream,
            "late": self.calendar.late,
            "inputs": [
                [name, _pack_batch(f"{serial}", batch, arrays)]
                for serial, (name, batch) in enumerate(self.batches.items())
            ],
            "partials": [
                [text, _pack_partial(f"cells/{serial}", partial, arrays)]
                for serial, (text, partial) in enumerate(self.partials.items())
            ],
            "logged": [
                [name, _pack_logged(f"logged/{serial}", batch, arrays)]
                for serial, (name, batch) in enumerate(self.logged.items())
            ],
        }
        return pack(Packed(KIND, VERSION, values, arrays))

    @classmethod
    def from_bytes(cls, data: bytes) -> Packet:
        """Read a packet."""
        packed = unpack(data, kind=KIND, version=VERSION)
        values, arrays = packed.values, packed.arrays
        batches = {
            name: _batch(f"{serial}", told, arrays)
            for serial, (name, told) in enumerate(values["inputs"])
        }
        partials = {
            text: _partial(f"cells/{serial}", told, arrays)
            for serial, (text, told) in enumerate(values["partials"])
        }
        calendar = Calendar(arrays["ticks"], arrays["rows"], values["late"])
        logged = {
            name: _logged(f"logged/{serial}", told, arrays)
            for serial, (name, told) in enumerate(values["logged"])
        }
        return cls(values["stream"], calendar, batches, partials, logged)


_INTS = ("tick", "pane", "group", "n")


def _pack_batch(prefix: str, batch: RowBatch, arrays: Arrays) -> Values:
    """Add the rows of a batch, if there are any; times that all rows share are left out."""
    if not len(batch):
        words = [[name, str(column.values.type)] for name, column in batch.words.items()]
        return {"numbers": list(batch.numbers), "words": words}
    told: Values = {"ts": pack_ints(f"{prefix}/ts", batch.ts, arrays)}
    if batch.eff is not batch.ts and not np.array_equal(batch.eff, batch.ts):
        told["eff"] = pack_ints(f"{prefix}/eff", batch.eff, arrays)
    if batch.late.any():
        arrays[f"{prefix}/late"] = batch.late.astype(np.uint8)
    told["numbers"] = [
        [name, pack_floats(f"{prefix}/n{serial}", column, arrays)]
        for serial, (name, column) in enumerate(batch.numbers.items())
    ]
    told["words"] = _pack_words(prefix, batch.words, arrays)
    return told


def _batch(prefix: str, told: Values, arrays: Arrays) -> RowBatch:
    if "ts" not in told:
        return _no_rows(told)
    ts = read_ints(f"{prefix}/ts", told["ts"], arrays)
    late = arrays.get(f"{prefix}/late")
    return RowBatch(
        ts,
        read_ints(f"{prefix}/eff", told["eff"], arrays) if "eff" in told else ts,
        np.zeros(len(ts), np.bool_) if late is None else late.astype(np.bool_),
        {
            name: read_floats(f"{prefix}/n{serial}", low, arrays)
            for serial, (name, low) in enumerate(told["numbers"])
        },
        _words(prefix, told["words"], arrays),
    )


def _no_rows(told: Values) -> RowBatch:
    none = np.empty(0, np.int64)
    codes = np.empty(0, np.int32)
    words = {
        name: CodedColumn(codes, pa.array([], pa.type_for_alias(kind)))
        for name, kind in told["words"]
    }
    numbers = {name: np.empty(0) for name in told["numbers"]}
    return RowBatch(none, none, np.empty(0, np.bool_), numbers, words)


def _pack_logged(prefix: str, batch: RowBatch, arrays: Arrays) -> Values:
    """Add rows as they stand in the log, with their place there."""
    logged = batch.logged
    assert logged is not None, "rows of the log"
    arrays[f"{prefix}/rows"] = pack_table(logged.table)
    low = pack_ints(f"{prefix}/row", logged.row, arrays)
    place = {"page": logged.page, "segment": logged.segment, "row": low}
    return {**place, **_pack_batch(prefix, batch, arrays)}


def _logged(prefix: str, told: Values, arrays: Arrays) -> RowBatch:
    row = read_ints(f"{prefix}/row", told["row"], arrays)
    logged = LoggedRows(unpack_table(arrays[f"{prefix}/rows"]), told["page"], told["segment"], row)
    return replace(_batch(prefix, told, arrays), logged=logged)


def _pack_partial(prefix: str, partial: Partial, arrays: Arrays) -> Values:
    for name in ("least", "most", "limbs"):
        arrays[f"{prefix}/{name}"] = getattr(partial, name)
    arrays[f"{prefix}/late"] = partial.late.astype(np.uint8)
    lows = [pack_ints(f"{prefix}/{name}", getattr(partial, name), arrays) for name in _INTS]
    words = _pack_words(prefix, partial.words, arrays)
    return {"ints": lows, "low": partial.low, "words": words}


def _partial(prefix: str, told: Values, arrays: Arrays) -> Partial:
    cells = {
        name: read_ints(f"{prefix}/{name}", low, arrays)
        for name, low in zip(_INTS, told["ints"], strict=True)
    }
    return Partial(
        **cells,
        late=arrays[f"{prefix}/late"].astype(np.bool_),
        least=arrays[f"{prefix}/least"],
        most=arrays[f"{prefix}/most"],
        limbs=arrays[f"{prefix}/limbs"],
        low=told["low"],
        words=_words(prefix, told["words"], arrays),
    )


def _pack_words(prefix: str, words: dict[str, CodedColumn], arrays: Arrays) -> list[list[str]]:
    return [
        [name, pack_coded(f"{prefix}/w{serial}", column, arrays)]
        for serial, (name, column) in enumerate(words.items())
    ]


def _words(prefix: str, told: list[list[str]], arrays: Arrays) -> dict[str, CodedColumn]:
    return {
        name: read_coded(f"{prefix}/w{serial}", kind, arrays)
        for serial, (name, kind) in enumerate(told)
    }
