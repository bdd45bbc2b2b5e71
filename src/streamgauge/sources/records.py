"""Records: values of a message log, one row each, to the clean columns of their stream.

A value is a JSON object, an Avro record, or raw text for the one column that nothing else fills.
A record without a value, with an empty one or with one that does not fit is a dead letter; its
origin is that of the records and its place the one it had there, an offset for example.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import Instant
from streamgauge.sources.avro import avro_draft
from streamgauge.sources.draft import Draft, Refused
from streamgauge.sources.jsonlines import json_draft
from streamgauge.sources.lines import Lines
from streamgauge.sources.rejects import Rejects
from streamgauge.sources.settle import Parsed, settle
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

NO_VALUE = "the record has no value"
EMPTY = "the record is empty"

_LINE_FEED, _RETURN = b"\n\r"

Entries = list[tuple[int, str, str]]


def parse_records(
    values: pa.Array,
    stream: Stream,
    *,
    arrived: Instant,
    origin: str,
    places: NDArray[np.int64],
    beside: Mapping[str, pa.Array] | None = None,
) -> Parsed:
    """Read records; each is in the table or among the rejects.

    Parameters
    ----------
    values
        Binary, null where a record has no value.
    stream
        Schema and rules; its source says the format: json, avro or raw.
    arrived
        When the records were read.
    origin
        Where they come from, for dead letters: "kafka:topic-3".
    places
        Place of each record in its origin.
    beside
        Columns that come with the records rather than in them, one value a record; where the
        stream declares a column of such a name, it is taken from here.

    Examples
    --------
    >>> stream = Stream(
    ...     "s", Schema.of(ts="time", v="float"), "ts", (), (("kind", "kafka"), ("format", "json"))
    ... )
    >>> values = pa.array([b'{"ts": 0, "v": 1.5}', b"junk", None], pa.binary())
    >>> parsed = parse_records(
    ...     values, stream, arrived=0, origin="kafka:t-0", places=np.array([7, 8, 9])
    ... )
    >>> parsed.table["v"].to_pylist(), parsed.rejects["origin"].to_pylist()
    ([1.5], ['kafka:t-0:8', 'kafka:t-0:9'])
    """
    given = {n: c for n, c in (beside or {}).items() if n in stream.schema.names}
    inside = Schema(tuple(pair for pair in stream.schema.columns if pair[0] not in given))
    draft = _reader(stream)(_as_binary(values), inside, stream)
    found = dict(draft.columns)
    for name, column in given.items():
        found[name] = pa.chunked_array([column.take(pa.array(draft.places))])
    broken = [(int(places[at]), reason, text) for at, reason, text in draft.broken]
    placed = replace(draft, columns=found, places=places[draft.places], broken=broken)
    settled = settle(origin, placed, stream, arrived)
    if not isinstance(settled, Refused):
        return settled
    every = np.arange(len(draft.places), dtype=np.int64)
    whole = zip(placed.places.tolist(), draft.texts(every), strict=True)
    entries = broken + [(place, settled.reason, text) for place, text in whole]
    return Parsed(stream.schema.to_arrow().empty_table(), Rejects.of(origin, entries).rows)


def check_columns(schema: Schema, format: str, beside: Mapping[str, tuple[str, ...]]) -> None:
    """Raise unless records of a format can fill a schema.

    Parameters
    ----------
    beside
        Columns that come with the records, each with the types it can be declared as.
    """
    for name, kinds in beside.items():
        if name in schema.names and schema.type(name) not in kinds:
            raise BindError(
                f"column {name!r} cannot be {schema.type(name)}",
                f"it comes with each record, as {' or '.join(kinds)}",
                f"declare {name} {kinds[0].upper()}",
            )
    inside = [name for name in schema.names if name not in beside]
    if format == "raw" and len(inside) != 1:
        raise BindError(
            "raw records fill one column",
            f"declared are {', '.join(inside) or 'none'}, besides {', '.join(beside)}",
            "declare one column for the text, such as line STRING",
        )


def _reader(stream: Stream) -> Callable[[pa.Array, Schema, Stream], Draft]:
    name = stream.source_dict().get("format", "json")
    if name not in _READERS:
        raise BindError(
            f"stream {stream.name!r} has records of unknown format {name!r}",
            f"formats are {', '.join(_READERS)}",
            "name one of them in the stream's source",
        )
    return _READERS[name]


def _as_binary(values: pa.Array) -> pa.Array:
    """Values in one array of plain binary, whatever form of bytes or text they came in."""
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return whole.cast(pa.binary())


def _json(values: pa.Array, schema: Schema, _stream: Stream) -> Draft:
    sizes = pc.binary_length(values).fill_null(0).to_numpy(zero_copy_only=False)
    filled = np.flatnonzero(sizes).astype(np.int64)
    broken = without_value(values, sizes)
    present = values if len(filled) == len(values) else values.take(pa.array(filled))
    one_line, torn = _on_one_line(present)
    broken += [(int(filled[at]), reason, text) for at, reason, text in torn]
    lines = _lines(one_line, filled)
    kept = lines.without(sorted(at for at, _, _ in torn))
    blank = [at for at, text in _leading_blanks(kept) if not text.strip(" \t")]
    broken += kept.entries(blank, EMPTY)
    draft = json_draft(kept, schema, noun="record")
    return replace(draft, broken=broken + draft.broken)


def without_value(values: pa.Array, sizes: NDArray[np.int64]) -> Entries:
    """Dead letters of records that are null, which is a tombstone, or have no bytes."""
    nothing = np.flatnonzero(sizes == 0)
    if not len(nothing):
        return []
    absent = values.is_null().to_numpy(zero_copy_only=False)
    return [(int(at), NO_VALUE if absent[at] else EMPTY, "") for at in nothing]


def _on_one_line(values: pa.Array) -> tuple[pa.Array, Entries]:
    """Values without line ends, and those that have one where JSON allows none.

    Between the parts of an object a line end is a blank like any other. Inside a text it must be
    escaped, so a value with one there is malformed, and stays as it is.
    """
    if not _has_line_end(values):
        return values, []
    bent = pc.or_(pc.match_substring(values, "\n"), pc.match_substring(values, "\r"))
    torn: Entries = []
    for at in np.flatnonzero(bent.to_numpy(zero_copy_only=False)).tolist():
        text = values[at].as_py().decode("utf-8", "replace")
        try:
            json.loads(text)
        except (ValueError, RecursionError) as error:
            torn.append((at, f"malformed JSON: {error}", text))
    flat = pc.replace_substring(pc.replace_substring(values, "\n", " "), "\r", " ")
    return flat, torn


def _has_line_end(values: pa.Array) -> bool:
    """Whether any value has one; a look at all bytes at once is cheaper than one at each value."""
    _, _, content = values.buffers()
    if content is None:
        return False
    every = np.frombuffer(content, np.uint8)
    return bool((every == _LINE_FEED).any() or (every == _RETURN).any())


def _lines(values: pa.Array, numbers: NDArray[np.int64]) -> Lines:
    """Values of which none is empty and none has a line end, as the lines of one text."""
    if not len(values):
        return Lines.of(b"")
    bounds = pa.array([0, len(values)], pa.int32())
    joined = pc.binary_join(pa.ListArray.from_arrays(bounds, values), b"\n")[0]
    sizes = pc.binary_length(values).to_numpy(zero_copy_only=False).astype(np.int64)
    stops = np.cumsum(sizes + 1) - 1
    return Lines(joined.as_py(), stops - sizes, stops, numbers)


def _leading_blanks(lines: Lines) -> list[tuple[int, str]]:
    """Lines that begin with a blank, which may be all there is."""
    first = lines.leading() if len(lines) else np.empty(0, np.uint8)
    return [(at, lines.text(at)) for at in np.flatnonzero((first == 32) | (first == 9)).tolist()]


def _raw(values: pa.Array, schema: Schema, _stream: Stream) -> Draft:
    """The value is the text of the one column that is not filled otherwise."""

    def texts(at: NDArray[np.int64]) -> list[str]:
        chosen = values.take(pa.array(at)).to_pylist()
        return [(value or b"").decode("utf-8", "replace") for value in chosen]

    columns = {name: pa.chunked_array([values]) for name in schema.names}
    return Draft(columns, np.arange(len(values), dtype=np.int64), texts, [])


def _avro(values: pa.Array, schema: Schema, stream: Stream) -> Draft:
    sizes = pc.binary_length(values).fill_null(0).to_numpy(zero_copy_only=False)
    filled = np.flatnonzero(sizes).astype(np.int64)
    draft = avro_draft(values.take(pa.array(filled)), filled, schema, stream.source_dict())
    return replace(draft, broken=without_value(values, sizes) + draft.broken)


_READERS: dict[str, Callable[[pa.Array, Schema, Stream], Draft]] = {
    "json": _json,
    "avro": _avro,
    "raw": _raw,
}
