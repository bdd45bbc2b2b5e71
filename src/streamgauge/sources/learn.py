"""Learning the columns of a source that was declared without them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from streamgauge.kernel.errors import BindError
from streamgauge.sources.declare import Source
from streamgauge.sources.directory import first_times
from streamgauge.sources.parse import infer_schema
from streamgauge.sources.plant import SCHEMA as PLANT_SCHEMA
from streamgauge.sources.units import refuse_unit
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

RATE_SCHEMA = Schema.of(timestamp="time", value="int")
EDGE_SCHEMA = Schema.of(object="string", ts="time", value="float", width="float")


def schema_of(source: Source) -> Schema:
    """The columns of a source: from its first file, its kind or its DataFrame."""
    if source.kind == "files":
        dialect = {
            k: source.options[k]
            for k in ("header", "delimiter", "null", "within")
            if k in source.options
        }
        return infer_schema(source.options["path"], source.options["format"], **dialect)
    if source.kind == "plant":
        return PLANT_SCHEMA
    if source.kind == "rate":
        return RATE_SCHEMA
    if source.kind == "edge":
        return EDGE_SCHEMA
    if source.kind == "kafka":
        raise BindError(
            "a stream from Kafka names its columns",
            f"records of topic {source.options['topic']!r} do not tell them",
            "write CREATE STREAM name (ts TIME, value FLOAT) FROM KAFKA ...; in Python schema=",
        )
    if source.kind == "mqtt":
        raise BindError(
            "a stream from MQTT names its columns",
            f"messages of topic {source.options['topic']!r} do not tell them",
            "write CREATE STREAM name (ts TIME, value FLOAT) FROM MQTT ...; in Python schema=",
        )
    if source.kind == "push":
        raise BindError(
            "a stream that is pushed to names its columns",
            "no row is there yet to learn them from",
            "write CREATE STREAM name (ts TIME, value FLOAT) FROM PUSH TIME ts",
        )
    return Schema.from_arrow(pa.schema(_arrow_fields(source.frame)))


def as_learned(stream: Stream, known: Stream | None) -> Stream:
    """A stream that was declared without columns; what is known of it already stays."""
    if stream.source_dict()["kind"] != "files":
        return stream
    if known is None or not known.learned:
        return replace(stream, learned=True)
    return replace(stream, schema=known.schema, learned=True, widened=known.widened)


def check_first_times(name: str, source: Source, time: str, schema: Schema) -> None:
    """Raise when the first file of a stream has whole times of another unit than microseconds."""
    if source.kind != "files" or "time_unit" in source.options:
        return
    if time in schema.names and (found := first_times(source.options, time)) is not None:
        refuse_unit(name, time, *found)


def _arrow_fields(frame: Any) -> list[tuple[str, pa.DataType]]:
    kinds = {
        "string": pa.string(), "double": pa.float64(), "float": pa.float64(),
        "int": pa.int64(), "bigint": pa.int64(), "smallint": pa.int64(), "tinyint": pa.int64(),
        "boolean": pa.bool_(), "timestamp": pa.timestamp("us", tz="UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }  # fmt: skip
    return [(name, kinds[kind]) for name, kind in frame.dtypes if kind in kinds]
