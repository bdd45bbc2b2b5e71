"""Spark's rate source."""

from __future__ import annotations

from streamgauge.sources.source_kind import Option, SourceKind

SOURCE = SourceKind(
    "rate",
    made="streamgauge.sources.declare:rate",
    text="Spark's rate source: rows a second.",
    columns="streamgauge.sources.columns:of_rate",
    feed="streamgauge.engine.feed_makers:landed",
    refuse="streamgauge.engine.feed_makers:refuse_landed",
    numbers=(Option("rows_per_second", "number", toml="positive"),),
)
