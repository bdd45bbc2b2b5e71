"""The columns of streams that are declared without them, by kind of source."""

from __future__ import annotations

import pyarrow as pa

from streamgauge.kernel.errors import BindError
from streamgauge.sources.declare import Source
from streamgauge.sources.parse import infer_schema
from streamgauge.sources.plant import SCHEMA as PLANT
from streamgauge.streams.schema import Schema

RATE = Schema.of(timestamp="time", value="int")
EDGE = Schema.of(object="string", ts="time", value="float", width="float")
_DIALECT = ("header", "delimiter", "null", "within")
_TYPES = {
    "string": pa.string(), "double": pa.float64(), "float": pa.float64(),
    "int": pa.int64(), "bigint": pa.int64(), "smallint": pa.int64(), "tinyint": pa.int64(),
    "boolean": pa.bool_(), "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}  # fmt: skip


def of_files(source: Source) -> Schema:
    """The columns of the first file."""
    dialect = {k: source.options[k] for k in _DIALECT if k in source.options}
    return infer_schema(source.options["path"], source.options["format"], **dialect)


def of_plant(_source: Source) -> Schema:
    """Those of every plant."""
    return PLANT


def of_rate(_source: Source) -> Schema:
    """Those of every rate source."""
    return RATE


def of_push(_source: Source) -> Schema:
    """Raise: they are declared."""
    raise BindError(
        "a stream that is pushed to names its columns",
        "no row is there yet to learn them from",
        "write CREATE STREAM name (ts TIME, value FLOAT) FROM PUSH TIME ts",
    )


def of_edge(_source: Source) -> Schema:
    """One object a series, its bound, and when that began to hold."""
    return EDGE


def of_mqtt(source: Source) -> Schema:
    """Raise: they are declared."""
    raise BindError(
        "a stream from MQTT names its columns",
        f"messages of topic {source.options['topic']!r} do not tell them",
        "write CREATE STREAM name (ts TIME, value FLOAT) FROM MQTT ...; in Python schema=",
    )


def of_kafka(source: Source) -> Schema:
    """Raise: they are declared."""
    raise BindError(
        "a stream from Kafka names its columns",
        f"records of topic {source.options['topic']!r} do not tell them",
        "write CREATE STREAM name (ts TIME, value FLOAT) FROM KAFKA ...; in Python schema=",
    )


def of_dataframe(source: Source) -> Schema:
    """Those of the DataFrame that a stream can have."""
    known = [(name, _TYPES[kind]) for name, kind in source.frame.dtypes if kind in _TYPES]
    return Schema.from_arrow(pa.schema(known))
