"""The feeds of the kinds of sources that are written into the home, and where they cannot be."""

from __future__ import annotations

from typing import Any

from streamgauge.edge.clock import wall_clock
from streamgauge.edge.mqtt_client import check_installed
from streamgauge.engine.feed import Feed, WriterFeed
from streamgauge.engine.mqtt_feed import MqttFeed
from streamgauge.engine.spark.jars import check_session
from streamgauge.engine.spark.kafka import KafkaFeed
from streamgauge.engine.spark.landing import LandingFeed
from streamgauge.engine.spark.mqtt_feed import SparkMqttFeed
from streamgauge.kernel.errors import SourceFailure
from streamgauge.log.replay import ReplayWriter
from streamgauge.sources.source_kind import FeedSite
from streamgauge.streams.stream import Stream


def replay(stream: Stream, site: FeedSite) -> Feed:
    """Plays a recording."""
    return WriterFeed(stream, ReplayWriter(stream, site.home, wall_clock()).run)


def kafka(stream: Stream, site: FeedSite) -> Feed:
    """Lands records of a topic, by Spark."""
    return KafkaFeed(site.session, site.home, stream)


def mqtt(stream: Stream, site: FeedSite) -> Feed:
    """Lands messages of a broker, by Spark or here."""
    if site.session is None:
        return MqttFeed(site.home, stream)
    return SparkMqttFeed(site.session, site.home, stream)


def landed(stream: Stream, site: FeedSite) -> Feed:
    """Lands a DataFrame, or Spark's rate source."""
    return LandingFeed(site.session, site.home, stream, site.frame, site.checkpoint)


def refuse_mqtt(_stream: Stream, _session: Any, _frame: Any) -> None:
    """Raise where the client is not installed."""
    check_installed()


def refuse_kafka(stream: Stream, session: Any, _frame: Any) -> None:
    """Raise without Spark and its connector."""
    if session is None:
        raise SourceFailure(
            f"stream {stream.name!r} is read from Kafka by Spark",
            "this gauge runs on the local engine",
            "run it on the Spark engine: sg.connect(..., engine='spark')",
        )
    check_session(session, "kafka")


def refuse_landed(stream: Stream, session: Any, frame: Any) -> None:
    """Raise without Spark, or without the DataFrame that the stream is."""
    kind = stream.source_dict()["kind"]
    if session is None or (kind == "dataframe" and frame is None):
        raise SourceFailure(
            f"stream {stream.name!r} needs Spark and its DataFrame",
            f"its source is {kind}",
            "declare it again with source=sg.dataframe(df) before start(), on the Spark engine",
        )
