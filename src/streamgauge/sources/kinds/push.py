"""Rows that clients push to the server."""

from __future__ import annotations

from streamgauge.sources.options import TIME_UNIT
from streamgauge.sources.source_kind import SourceKind

SOURCE = SourceKind(
    "push",
    made="streamgauge.sources.declare:push",
    text="Rows that clients push over HTTP.",
    columns="streamgauge.sources.columns:of_push",
    how_to="serve.md",
    options=(TIME_UNIT,),
    parsed=True,
    buries=True,
)
