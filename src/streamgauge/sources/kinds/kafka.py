"""Records of a Kafka topic."""

from __future__ import annotations

from streamgauge.kernel.errors import BindError
from streamgauge.sources.declare import RECORD_FORMATS, Source, kafka
from streamgauge.sources.options import CA, PASSWORD_ENV, PASSWORD_FILE, TIME_UNIT, USER
from streamgauge.sources.records import KAFKA_BESIDE
from streamgauge.sources.source_kind import Address, Option, SourceKind
from streamgauge.streams.schema import Schema


def columns(source: Source) -> Schema:
    """Raise: they are declared."""
    raise BindError(
        "a stream from Kafka names its columns",
        f"records of topic {source.options['topic']!r} do not tell them",
        "write CREATE STREAM name (ts TIME, value FLOAT) FROM KAFKA ...; in Python schema=",
    )


SOURCE = SourceKind(
    "kafka",
    made=kafka,
    text="Records of a Kafka topic, each exactly once; on the Spark engine.",
    columns="streamgauge.sources.kinds.kafka:columns",
    how_to="kafka.md",
    feed="streamgauge.engine.feed_makers:kafka",
    refuse="streamgauge.engine.feed_makers:refuse_kafka",
    address=Address("servers", "host:9092"),
    then=Option("topic", "text", toml="text"),
    then_needed=True,
    options=(
        Option("format", "word", toml="text"),
        Option("schema", "text", toml="file", file=True),
        Option("registry", "text", toml="text"),
        Option("starting", choices=(("EARLIEST", "earliest"), ("LATEST", "latest")), toml="text"),
        Option("idle", "positive", toml="text", as_text=True),
        Option("max_offsets", toml="positive"),
        Option("on_loss", choices=(("FAIL", "fail"), ("CONTINUE", "continue")), toml="text"),
        USER,
        PASSWORD_FILE,
        PASSWORD_ENV,
        CA,
        Option("mechanism", "text", toml="text"),
        TIME_UNIT,
        Option("options", toml="settings"),
    ),
    formats=RECORD_FORMATS,
    batches=True,
    beside=KAFKA_BESIDE,
    parsed=True,
    waits_for_lanes=True,
)
