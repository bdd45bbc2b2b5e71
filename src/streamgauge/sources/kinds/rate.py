"""Spark's rate source."""

from __future__ import annotations

from streamgauge.sources.declare import Source, rate
from streamgauge.sources.source_kind import Option, SourceKind
from streamgauge.streams.schema import Schema

SCHEMA = Schema.of(timestamp="time", value="int")


def columns(_source: Source) -> Schema:
    """Those of every rate source."""
    return SCHEMA


SOURCE = SourceKind(
    "rate",
    made=rate,
    text="Spark's rate source: rows a second.",
    columns="streamgauge.sources.kinds.rate:columns",
    feed="streamgauge.engine.feed_makers:landed",
    refuse="streamgauge.engine.feed_makers:refuse_landed",
    numbers=(Option("rows_per_second", "number", toml="positive"),),
)
