"""Rows that clients push to the server."""

from __future__ import annotations

from streamgauge.kernel.errors import BindError
from streamgauge.sources.declare import Source, push
from streamgauge.sources.options import TIME_UNIT
from streamgauge.sources.source_kind import SourceKind
from streamgauge.streams.schema import Schema


def columns(_source: Source) -> Schema:
    """Raise: they are declared."""
    raise BindError(
        "a stream that is pushed to names its columns",
        "no row is there yet to learn them from",
        "write CREATE STREAM name (ts TIME, value FLOAT) FROM PUSH TIME ts",
    )


SOURCE = SourceKind(
    "push",
    made=push,
    text="Rows that clients push over HTTP.",
    columns="streamgauge.sources.kinds.push:columns",
    how_to="serve.md",
    options=(TIME_UNIT,),
    parsed=True,
    buries=True,
)
