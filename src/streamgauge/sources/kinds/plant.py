"""The synthetic plant."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from streamgauge.sources.declare import Source, plant
from streamgauge.sources.plant import SCHEMA, Plant, PlantWriter
from streamgauge.sources.source_kind import Incoming, Option, SourceKind
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream


def columns(_source: Source) -> Schema:
    """Those of every plant."""
    return SCHEMA


def writer(stream: Stream, home: Incoming) -> Callable[[threading.Event], None]:
    """Writes the readings of its sensors."""
    source = stream.source_dict()
    sensors = Plant(n_sensors=source["n_sensors"], seed=source["seed"])
    return partial(PlantWriter(sensors, str(home.incoming(stream.name))).run, source["speed"])


SOURCE = SourceKind(
    "plant",
    made=plant,
    text="A synthetic plant: sensors, seed, speed.",
    columns="streamgauge.sources.kinds.plant:columns",
    writer="streamgauge.sources.kinds.plant:writer",
    numbers=(
        Option("n_sensors", "number", toml="positive"),
        Option("seed", "number", toml="whole"),
        Option("speed", "number", toml="number"),
    ),
    brackets=True,
    too_many=("a plant has three numbers", "write PLANT (sensors, seed, speed)"),
)
