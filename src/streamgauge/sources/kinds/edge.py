"""Agents beside the sources."""

from __future__ import annotations

from streamgauge.sources.declare import Source, agents
from streamgauge.sources.source_kind import Address, Option, SourceKind
from streamgauge.streams.schema import Schema

SCHEMA = Schema.of(object="string", ts="time", value="float", width="float")


def columns(_source: Source) -> Schema:
    """One object a series, its bound, and when that began to hold."""
    return SCHEMA


SOURCE = SourceKind(
    "edge",
    made=agents,
    text="Agents, which send only what leaves its bound.",
    columns="streamgauge.sources.kinds.edge:columns",
    how_to="filter_at_sources.md",
    feed="streamgauge.coordinator.running:feed",
    address=Address("listen", "http://127.0.0.1:7311", needed=False),
    options=(
        Option("broker", "text", toml="text"),
        Option("latency", "span", toml="text", as_text=True),
        Option("beat", "positive", toml="text", as_text=True),
        Option("adjust", toml="text"),
        Option("tokens", "text", toml="file", file=True),
        Option("cert", toml="file"),
        Option("key", toml="file"),
        Option("ca", toml="file"),
        Option("rates", toml="raw"),
    ),
    usual=("ts", "object", "width"),
)
