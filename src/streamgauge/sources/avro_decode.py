"""Avro records to columns: a compiled walk over many values at once, for records without nesting.

A record is its fields one after the other, without names or lengths around them, so a value must be
walked from its first byte. Each value is walked by itself: one that is cut short, too long or
nonsense spoils no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.kernel.jit import compiled

Ints: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

NULL, BOOLEAN, WHOLE, FLOAT, DOUBLE, TEXT, FIXED = range(7)
# Days beyond these are in no year that can be written, and still fit as seconds.
DAYS_MAX, DAY_SECONDS = 10**8, 86_400
SOUND, SHORT, LONG, STRANGE = range(4)
REASONS = {
    SHORT: "the Avro record ends too early",
    LONG: "bytes are left after the Avro record",
    STRANGE: "the Avro record holds a length or a choice that cannot be",
}
_OPS = {
    "null": NULL, "boolean": BOOLEAN, "int": WHOLE, "long": WHOLE, "float": FLOAT,
    "double": DOUBLE, "string": TEXT, "bytes": TEXT, "enum": WHOLE, "fixed": FIXED,
}  # fmt: skip
_TIMES = {
    "timestamp-millis": pa.timestamp("ms", tz="UTC"),
    "timestamp-micros": pa.timestamp("us", tz="UTC"),
    "timestamp-nanos": pa.timestamp("ns", tz="UTC"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
    "local-timestamp-nanos": pa.timestamp("ns"),
}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a flat record.

    Parameters
    ----------
    name
        Its name.
    op
        How its bytes are read.
    absent
        Which choice of its union is null; -1 when it is no union, -2 when none is.
    choices
        Choices of its union.
    size
        Bytes of a fixed one, symbols of an enum.
    logical, symbols
        What a number means: a logical type, or the names of an enum.
    """

    name: str
    op: int
    absent: int = -1
    choices: int = 0
    size: int = 0
    logical: str = ""
    symbols: tuple[str, ...] = ()


def flat_fields(schema: Any) -> list[Field] | None:
    """The fields of a record schema; None when one is nested, so that columns cannot hold it.

    >>> schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", "int"]}]}
    >>> [(f.name, f.op, f.absent) for f in flat_fields(schema) or ()]
    [('a', 2, 0)]
    """
    if not isinstance(schema, dict) or schema.get("type") != "record":
        return None
    fields = [_field(item["name"], item["type"]) for item in schema["fields"]]
    known = [field for field in fields if field is not None]
    return known if len(known) == len(fields) else None


def _field(name: str, kind: Any) -> Field | None:
    if isinstance(kind, list):
        others = [choice for choice in kind if choice != "null"]
        inner = _field(name, others[0]) if len(others) == 1 else None
        if inner is None or inner.choices:
            return None
        absent = kind.index("null") if "null" in kind else -2
        return Field(name, inner.op, absent, len(kind), inner.size, inner.logical, inner.symbols)
    plain = kind["type"] if isinstance(kind, dict) else kind
    op = _OPS.get(plain) if isinstance(plain, str) else None
    if op is None:
        return None
    more = kind if isinstance(kind, dict) else {}
    logical = str(more.get("logicalType", ""))
    if logical in ("decimal", "duration"):
        return None
    symbols = tuple(more.get("symbols", ()))
    size = len(symbols) or int(more.get("size", 0))
    return Field(name, op, size=size, logical=logical, symbols=symbols)


@dataclass(frozen=True, slots=True)
class Decoded:
    """What each value came to: `fates` of all values, columns of the sound ones."""

    fates: npt.NDArray[np.int8]
    columns: dict[str, pa.Array]


def decode(values: pa.Array, skip: int, fields: list[Field], wanted: set[str]) -> Decoded:
    """Decode flat records.

    Parameters
    ----------
    values
        Plain binary without nulls.
    skip
        Bytes before each record.
    fields
        What the records are made of.
    wanted
        Fields to make columns of; the others are walked over.
    """
    data, starts, stops = _layout(values)
    program = np.array(
        [(f.op, f.absent, f.choices, f.size) for f in fields], np.int64
    ).reshape(-1, 4)  # fmt: skip
    first = np.zeros((len(fields), len(values)), np.int64)
    last = np.zeros((len(fields), len(values)), np.int64)
    present = np.ones((len(fields), len(values)), np.bool_)
    fates = np.zeros(len(values), np.int8)
    _walk(data, starts + skip, stops, program, first, last, present, fates)
    sound = fates == SOUND
    columns = {
        field.name: _column(field, data, first[at][sound], last[at][sound], present[at][sound])
        for at, field in enumerate(fields)
        if field.name in wanted
    }
    return Decoded(fates, columns)


def _layout(values: pa.Array) -> tuple[Bytes, Ints, Ints]:
    """Bytes of all values, and where each begins and ends."""
    _, offsets, content = values.buffers()
    count = len(values)
    if not count:
        return np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64)
    edges = np.frombuffer(offsets, np.int32)[values.offset : values.offset + count + 1]
    data = np.frombuffer(content, np.uint8) if content is not None else np.empty(0, np.uint8)
    return data, edges[:-1].astype(np.int64), edges[1:].astype(np.int64)


@compiled
def _varint(data, at, stop):  # type: ignore[no-untyped-def]
    """A zigzag number, where it ends, and whether it is whole."""
    value, shift = np.uint64(0), np.uint64(0)
    while at < stop and shift < np.uint64(70):
        byte = np.uint64(data[at])
        at += 1
        value |= (byte & np.uint64(127)) << shift
        if byte < np.uint64(128):
            half = np.int64(value >> np.uint64(1))
            return half ^ -np.int64(value & np.uint64(1)), at, True
        shift += np.uint64(7)
    return np.int64(0), at, False


@compiled
def _walk(data, starts, stops, program, first, last, present, fates):  # type: ignore[no-untyped-def]
    for row in range(len(starts)):
        at, stop, fate = starts[row], stops[row], SOUND
        for field in range(len(program)):
            op, absent, choices, size = program[field]
            if choices > 0:
                choice, at, whole = _varint(data, at, stop)
                if not whole or choice < 0 or choice >= choices:
                    fate = STRANGE if whole else SHORT
                    break
                if choice == absent:
                    present[field, row] = False
                    continue
            if op == NULL:
                present[field, row] = False
                continue
            if op == WHOLE:
                number, at, whole = _varint(data, at, stop)
                if not whole:
                    fate = SHORT
                    break
                if size > 0 and (number < 0 or number >= size):
                    fate = STRANGE
                    break
                first[field, row] = number
                continue
            if op == TEXT:
                size, at, whole = _varint(data, at, stop)
                if not whole or size < 0:
                    fate = STRANGE if whole else SHORT
                    break
            elif op == BOOLEAN:
                size = 1
            elif op == FLOAT:
                size = 4
            elif op == DOUBLE:
                size = 8
            if size > stop - at:
                fate = SHORT
                break
            first[field, row] = at
            last[field, row] = at + size
            at += size
        if fate == SOUND and at < stop:
            fate = LONG
        elif fate == SOUND and at > stop:
            fate = SHORT
        fates[row] = fate


def _column(field: Field, data: Bytes, first: Ints, last: Ints, present: Any) -> pa.Array:
    absent = ~present if not present.all() else None
    if field.op == WHOLE and field.symbols:
        codes = pa.array(first, pa.int64(), mask=absent)
        return pa.array(field.symbols, pa.string()).take(codes)
    if field.op == WHOLE:
        if field.logical == "date":
            days = np.clip(first, -DAYS_MAX, DAYS_MAX)
            return pa.array(days * DAY_SECONDS, pa.timestamp("s", tz="UTC"), mask=absent)
        whole = pa.array(first, pa.int64(), mask=absent)
        return whole.cast(_TIMES[field.logical]) if field.logical in _TIMES else whole
    if field.op == NULL:
        return pa.nulls(len(first))
    if field.op == BOOLEAN:
        return pa.array(_gathered(data, first, present, 1)[:, 0] != 0, mask=absent)
    if field.op in (FLOAT, DOUBLE):
        kind, width = ("<f4", 4) if field.op == FLOAT else ("<f8", 8)
        bits = _gathered(data, first, present, width)
        return pa.array(bits.view(kind)[:, 0].astype(np.float64), mask=absent)
    return _texts(data, first, last, present)


def _gathered(data: Bytes, first: Ints, present: Any, width: int) -> Bytes:
    """So many bytes from each place."""
    if not present.any():
        return np.zeros((len(first), width), np.uint8)
    places = np.where(present, first, 0)[:, None] + np.arange(width)
    return np.ascontiguousarray(data[np.minimum(places, len(data) - 1)])


def _texts(data: Bytes, first: Ints, last: Ints, present: Any) -> pa.Array:
    """Runs of bytes as binary values; whether they are text is found when they are cast."""
    sizes = np.where(present, last - first, 0)
    edges = np.concatenate([[0], np.cumsum(sizes)])
    content = np.empty(int(edges[-1]), np.uint8)
    _copy(data, first, sizes, edges, content)
    valid = pa.py_buffer(np.packbits(present, bitorder="little").tobytes())
    offsets = pa.py_buffer(edges.astype(np.int32).tobytes())
    buffers = [None if present.all() else valid, offsets, pa.py_buffer(content.tobytes())]
    return pa.Array.from_buffers(pa.binary(), len(first), buffers)


@compiled
def _copy(data, first, sizes, edges, content):  # type: ignore[no-untyped-def]
    for row in range(len(first)):
        begin, place = first[row], edges[row]
        for at in range(sizes[row]):
            content[place + at] = data[begin + at]
