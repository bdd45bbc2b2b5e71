"""Avro: values of a message log whose schema is a file's, or numbered in a registry.

With a registry a value begins with a zero byte and the number of its schema, four bytes, the
highest first. A schema that was declared is then the one to read values as: fields it adds have
its defaults, fields it lacks are passed over.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamgauge.kernel.errors import MissingRuntime
from streamgauge.sources.avro_decode import REASONS, SOUND, decode, flat_fields
from streamgauge.sources.draft import Draft
from streamgauge.sources.registry import registered_schema
from streamgauge.streams.schema import Schema

try:
    import fastavro
except ImportError:
    fastavro = None  # type: ignore[assignment]

HEAD_BYTES = 5
NO_HEAD = "the record does not begin with the number of its schema"

Entries = list[tuple[int, str, str]]


def avro_draft(
    values: pa.Array, places: NDArray[np.int64], schema: Schema, source: dict[str, Any]
) -> Draft:
    """Read Avro values, none of them null or empty; `places` are theirs."""
    declared, registry = source.get("schema"), source.get("registry")
    if registry is None:
        groups = {0: np.arange(len(values), dtype=np.int64)}
        broken: Entries = []
    else:
        groups, broken = _by_schema(values, places)
    tables, rows = [], [np.empty(0, np.int64)]
    for number, which in groups.items():
        chosen = values.take(pa.array(which))
        writer = declared if registry is None else registered_schema(registry, number)
        if writer is None:
            broken += _entries(chosen, places[which], f"the registry has no schema {number}")
            continue
        skip = 0 if registry is None else HEAD_BYTES
        table, sound, bad = _read(chosen, skip, writer, declared, schema)
        broken += [(int(places[which[at]]), why, _hex(chosen, at)) for at, why in bad]
        tables.append(table)
        rows.append(which[sound])
    return _joined(values, places, schema, tables, np.concatenate(rows), broken)


def _joined(
    values: pa.Array,
    places: NDArray[np.int64],
    schema: Schema,
    tables: list[dict[str, pa.Array]],
    rows: NDArray[np.int64],
    broken: Entries,
) -> Draft:
    """The rows of all schemas, in the order they came in."""
    order = np.argsort(rows, kind="stable")
    columns = {}
    for name in schema.names:
        parts = [table[name] for table in tables if len(table[name])]
        kinds = {part.type for part in parts if not pa.types.is_null(part.type)}
        kind = kinds.pop() if len(kinds) == 1 else pa.string() if kinds else pa.null()
        whole = pa.chunked_array([part.cast(kind) for part in parts], type=kind)
        columns[name] = whole.take(pa.array(order))
    rows = rows[order]

    def texts(at: NDArray[np.int64]) -> list[str]:
        return [_hex(values, int(row)) for row in rows[at]]

    return Draft(columns, places[rows], texts, broken)


def _by_schema(
    values: pa.Array, places: NDArray[np.int64]
) -> tuple[dict[int, NDArray[np.int64]], Entries]:
    """Positions of the values of each schema, and the values that name none."""
    _, offsets, content = values.buffers()
    edges = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    data = np.frombuffer(content, np.uint8) if len(values) else np.empty(0, np.uint8)
    starts, sizes = edges[:-1].astype(np.int64), np.diff(edges)
    headed = sizes >= HEAD_BYTES
    headed[headed] = data[starts[headed]] == 0
    bare = np.flatnonzero(~headed)
    broken = [(int(places[at]), NO_HEAD, _hex(values, int(at))) for at in bare]
    known = np.flatnonzero(headed).astype(np.int64)
    heads = data[starts[known][:, None] + np.arange(1, HEAD_BYTES)].astype(np.int64)
    numbers = heads @ np.array([1 << 24, 1 << 16, 1 << 8, 1])
    return {int(n): known[numbers == n] for n in np.unique(numbers)}, broken


def _read(
    values: pa.Array, skip: int, writer: Any, reader: Any, schema: Schema
) -> tuple[dict[str, pa.Array], NDArray[np.int64], list[tuple[int, str]]]:
    """Columns of the values that can be read, their positions, and why the others cannot."""
    fields = flat_fields(writer)
    plain = reader is None or reader == writer or flat_fields(reader) is not None
    if fields is None or not plain:
        return _read_nested(values, skip, writer, reader, schema)
    sources = _sources(fields, writer, reader, schema)
    decoded = decode(values, skip, fields, {s for s in sources.values() if isinstance(s, str)})
    sound = np.flatnonzero(decoded.fates == SOUND).astype(np.int64)
    table = {}
    for name, source in sources.items():
        if isinstance(source, str):
            table[name] = decoded.columns[source]
        else:
            table[name] = pa.repeat(pa.scalar(source[0]), len(sound))
    bad = np.flatnonzero(decoded.fates != SOUND).tolist()
    return table, sound, [(at, REASONS[int(decoded.fates[at])]) for at in bad]


def _sources(
    fields: list[Any], writer: Any, reader: Any, schema: Schema
) -> dict[str, str | tuple[Any]]:
    """Where each column comes from: a field as written, or a default in a tuple."""
    written = {field.name for field in fields}
    asked = {field["name"]: field for field in (reader or writer)["fields"]}
    found: dict[str, str | tuple[Any]] = {}
    for name in schema.names:
        field = asked.get(name, {})
        names = [n for n in (name, *field.get("aliases", ())) if n in written and name in asked]
        found[name] = names[0] if names else (field.get("default"),)
    return found


def _read_nested(
    values: pa.Array, skip: int, writer: Any, reader: Any, schema: Schema
) -> tuple[dict[str, pa.Array], NDArray[np.int64], list[tuple[int, str]]]:
    """Records with records, lists, maps or decimals in them: one by one."""
    if fastavro is None:
        raise MissingRuntime(
            "nested Avro records need fastavro",
            "there is no package of that name",
            "pip install 'streamgauge[kafka]'",
        )
    parsed = fastavro.parse_schema(writer)
    wanted = None if reader is None or reader == writer else fastavro.parse_schema(reader)
    rows: list[dict[str, Any]] = []
    sound, bad = [], []
    for at, value in enumerate(values.to_pylist()):
        file = io.BytesIO(value[skip:])
        try:
            row = fastavro.schemaless_reader(file, parsed, wanted)
        except _UNREADABLE as error:
            bad.append((at, f"malformed Avro: {type(error).__name__} {error}".strip()))
            continue
        if file.tell() < len(value) - skip:
            bad.append((at, "bytes are left after the Avro record"))
            continue
        rows.append(row if isinstance(row, dict) else {})
        sound.append(at)
    table = {name: _values([row.get(name) for row in rows]) for name in schema.names}
    return table, np.array(sound, np.int64), bad


# What fastavro raises on bytes that are no record of the schema, and no class of its own holds.
_UNREADABLE = (
    ValueError, TypeError, EOFError, IndexError, KeyError, OverflowError, MemoryError,
    ArithmeticError,
)  # fmt: skip


def _values(found: list[Any]) -> pa.Array:
    """Python values as a column; as text when no one type holds them, which a cast then judges."""
    try:
        return pa.array(found)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in found], pa.string())


def _entries(values: pa.Array, places: NDArray[np.int64], reason: str) -> Entries:
    return [(int(place), reason, _hex(values, at)) for at, place in enumerate(places.tolist())]


def _hex(values: pa.Array, at: int) -> str:
    return str(values[at].as_py().hex())
