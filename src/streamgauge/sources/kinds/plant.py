"""The synthetic plant."""

from __future__ import annotations

from streamgauge.sources.source_kind import Option, SourceKind

SOURCE = SourceKind(
    "plant",
    made="streamgauge.sources.declare:plant",
    text="A synthetic plant: sensors, seed, speed.",
    columns="streamgauge.sources.columns:of_plant",
    writer="streamgauge.sources.plant:writer",
    numbers=(
        Option("n_sensors", "number", toml="positive"),
        Option("seed", "number", toml="whole"),
        Option("speed", "number", toml="number"),
    ),
    brackets=True,
    too_many=("a plant has three numbers", "write PLANT (sensors, seed, speed)"),
)
