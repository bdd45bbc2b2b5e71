"""Streaming DataFrames, which Python alone can hand over."""

from __future__ import annotations

from streamgauge.sources.source_kind import SourceKind

SOURCE = SourceKind(
    "dataframe",
    made="streamgauge.sources.declare:dataframe",
    text="A streaming DataFrame.",
    columns="streamgauge.sources.columns:of_dataframe",
    feed="streamgauge.engine.feed_makers:landed",
    refuse="streamgauge.engine.feed_makers:refuse_landed",
    declared=False,
)
