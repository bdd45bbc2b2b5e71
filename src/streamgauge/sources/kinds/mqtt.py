"""Messages of an MQTT broker."""

from __future__ import annotations

from streamgauge.kernel.errors import BindError
from streamgauge.sources.declare import MESSAGE_FORMATS, Source, mqtt
from streamgauge.sources.options import CA, PASSWORD_ENV, PASSWORD_FILE, TIME_UNIT, USER
from streamgauge.sources.records import MQTT_BESIDE
from streamgauge.sources.source_kind import Address, Option, SourceKind
from streamgauge.streams.schema import Schema


def columns(source: Source) -> Schema:
    """Raise: they are declared."""
    raise BindError(
        "a stream from MQTT names its columns",
        f"messages of topic {source.options['topic']!r} do not tell them",
        "write CREATE STREAM name (ts TIME, value FLOAT) FROM MQTT ...; in Python schema=",
    )


SOURCE = SourceKind(
    "mqtt",
    made=mqtt,
    text="Messages of an MQTT broker.",
    columns="streamgauge.sources.kinds.mqtt:columns",
    how_to="mqtt.md",
    feed="streamgauge.engine.feed_makers:mqtt",
    refuse="streamgauge.engine.feed_makers:refuse_mqtt",
    address=Address("url", "mqtt://host:1883"),
    then=Option("topic", "text", toml="text"),
    then_needed=True,
    options=(
        Option("format", "word", toml="text"),
        USER,
        PASSWORD_FILE,
        PASSWORD_ENV,
        CA,
        TIME_UNIT,
        Option("cert", toml="file"),
        Option("key", toml="file"),
        Option("client", toml="text"),
        Option("expiry", toml="text"),
        Option("inflight", toml="positive"),
        Option("max_message", toml="positive"),
        Option("limit", toml="positive"),
    ),
    formats=MESSAGE_FORMATS,
    batches=True,
    beside=MQTT_BESIDE,
    parsed=True,
)
