"""The synthetic plant."""

from __future__ import annotations

from streamgauge.sources.declare import Source, plant
from streamgauge.sources.plant import SCHEMA
from streamgauge.sources.source_kind import Option, SourceKind
from streamgauge.streams.schema import Schema


def columns(_source: Source) -> Schema:
    """Those of every plant."""
    return SCHEMA


SOURCE = SourceKind(
    "plant",
    made=plant,
    text="A synthetic plant: sensors, seed, speed.",
    columns="streamgauge.sources.kinds.plant:columns",
    feed="streamgauge.engine.feed_makers:plant",
    numbers=(
        Option("n_sensors", "number", toml="positive"),
        Option("seed", "number", toml="whole"),
        Option("speed", "number", toml="number"),
    ),
    brackets=True,
    too_many=("a plant has three numbers", "write PLANT (sensors, seed, speed)"),
)
