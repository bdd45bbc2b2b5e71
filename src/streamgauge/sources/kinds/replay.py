"""Rows that were kept, played again."""

from __future__ import annotations

from streamgauge.sources.declare import replay
from streamgauge.sources.source_kind import Address, Option, SourceKind

SOURCE = SourceKind(
    "replay",
    made=replay,
    text="Rows that were kept, played again.",
    columns="streamgauge.log.recording:columns_of",
    how_to="replay.md",
    feed="streamgauge.engine.feed_makers:replay",
    address=Address("path", "recording", local=True),
    buries=True,
    then=Option("stream", "name", toml="raw"),
    options=(
        Option("speed", "number", choices=(("MAX", "max"),), toml="raw"),
        Option("since", "moment", toml="raw"),
        Option("until", "moment", toml="raw"),
        Option("shift", choices=(("NOW", "now"),), toml="raw"),
        Option("loop", choices=(("", True),), toml="raw"),
    ),
)
