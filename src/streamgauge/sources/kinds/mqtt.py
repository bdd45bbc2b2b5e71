"""Messages of an MQTT broker."""

from __future__ import annotations

from streamgauge.sources.formats import MESSAGE_FORMATS, MQTT_BESIDE
from streamgauge.sources.options import CA, PASSWORD_ENV, PASSWORD_FILE, TIME_UNIT, USER
from streamgauge.sources.source_kind import Address, Option, SourceKind

SOURCE = SourceKind(
    "mqtt",
    made="streamgauge.sources.declare:mqtt",
    text="Messages of an MQTT broker.",
    columns="streamgauge.sources.columns:of_mqtt",
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
