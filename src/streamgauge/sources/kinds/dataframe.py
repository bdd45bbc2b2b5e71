"""Streaming DataFrames, which Python alone can hand over."""

from __future__ import annotations

import pyarrow as pa

from streamgauge.sources.declare import Source, dataframe
from streamgauge.sources.source_kind import SourceKind
from streamgauge.streams.schema import Schema

_TYPES = {
    "string": pa.string(), "double": pa.float64(), "float": pa.float64(),
    "int": pa.int64(), "bigint": pa.int64(), "smallint": pa.int64(), "tinyint": pa.int64(),
    "boolean": pa.bool_(), "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}  # fmt: skip


def columns(source: Source) -> Schema:
    """Those of the DataFrame that a stream can have."""
    known = [(name, _TYPES[kind]) for name, kind in source.frame.dtypes if kind in _TYPES]
    return Schema.from_arrow(pa.schema(known))


SOURCE = SourceKind(
    "dataframe",
    made=dataframe,
    text="A streaming DataFrame.",
    columns="streamgauge.sources.kinds.dataframe:columns",
    feed="streamgauge.engine.feed_makers:landed",
    refuse="streamgauge.engine.feed_makers:refuse_landed",
    declared=False,
)
