"""MQTT as a data source of plain Spark, with a real broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.engine.spark.mqtt import NAME, register
from streamgauge.engine.spark.mqtt_feed import SparkMqttFeed
from tests.engine.test_mqtt_feed import rows
from tests.mosquitto_broker import Mosquitto
from tests.mqtt_publishing import Publisher

pytestmark = [pytest.mark.jvm, pytest.mark.broker]
PATIENCE = 300


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    (tmp_path / "broker").mkdir()
    with Mosquitto(tmp_path / "broker", keeps=True) as found:
        yield found


def reading(spark: SparkSession, broker: Mosquitto, tmp_path: Path, **more: str) -> DataFrame:
    register(spark)
    given = {"url": broker.url, "topic": "sensors/#", "spool": str(tmp_path / "spool"), **more}
    return spark.readStream.format(NAME).options(**given).load()


class Sink:
    """Batches as lists of messages; a batch that comes again replaces itself."""

    def __init__(self) -> None:
        self.batches: dict[int, list[Any]] = {}

    def start(self, frame: DataFrame, tmp_path: Path) -> StreamingQuery:
        writer = frame.writeStream.foreachBatch(self.take)
        return writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()

    def take(self, batch: DataFrame, number: int) -> None:
        self.batches[number] = batch.collect()

    def payloads(self) -> list[str]:
        rows = [row for number in sorted(self.batches) for row in self.batches[number]]
        return [row.payload.decode() for row in rows]


def test_plain_spark_reads_topics_in_batches_that_are_not_too_large(
    spark: SparkSession, broker: Mosquitto, tmp_path: Path
) -> None:
    frame = reading(spark, broker, tmp_path, max_rows="40", limit="20000")
    names = ["topic", "payload", "received", "qos", "retained", "size", "number"]
    assert frame.columns == names
    sink = Sink()
    query = sink.start(frame, tmp_path)
    with Publisher(broker) as publisher:
        heard = tmp_path / "spool" / "heard.json"
        wait_until(heard.exists, PATIENCE, what="the subscription")
        sent = [f"{k:03d}{'x' * 200}" for k in range(170)]
        publisher.send_all("sensors/a", sent)
        wait_until(lambda: len(sink.payloads()) == len(sent), PATIENCE, what="all messages")
        assert sink.payloads() == sent
        assert max(map(len, sink.batches.values())) <= 40
        query.stop()
        # Published while nobody reads: the broker keeps it, the checkpoint goes on.
        publisher.send_all("sensors/b", ["later"])
        query = sink.start(frame, tmp_path)
        wait_until(lambda: len(sink.payloads()) == 171, PATIENCE, what="the last message")
    rows = [row for number in sorted(sink.batches) for row in sink.batches[number]]
    assert [row.number for row in rows] == list(range(171))
    assert (rows[-1].topic, bytes(rows[-1].payload), rows[-1].qos) == ("sensors/b", b"later", 1)
    query.stop()
    parts = sorted((tmp_path / "spool" / "messages").glob("*.spool"))
    assert parts[0].name != "000000000000.spool", "what was used is let go"


def test_what_is_there_now_is_read_and_no_more(
    spark: SparkSession, broker: Mosquitto, tmp_path: Path
) -> None:
    frame = reading(spark, broker, tmp_path, max_rows="2")
    sink = Sink()
    first = sink.start(frame, tmp_path)
    wait_until((tmp_path / "spool" / "heard.json").exists, PATIENCE, what="the subscription")
    with Publisher(broker) as publisher:
        publisher.send_all("sensors/a", ["1", "2", "3"])
        wait_until(lambda: len(sink.payloads()) == 3, PATIENCE, what="three messages")
        first.stop()
    writer = frame.writeStream.foreachBatch(sink.take).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    assert query.awaitTermination(PATIENCE)
    assert sink.payloads() == ["1", "2", "3"]


def test_mistakes_are_told(spark: SparkSession, broker: Mosquitto, tmp_path: Path) -> None:
    frame = reading(spark, broker, tmp_path, topic="sensors/#/a")
    query = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
    started = query.start()
    wait_until(lambda: not started.isActive, PATIENCE, what="the refusal")
    assert "no topic can match" in str(started.exception())


def test_whichever_engine_lands_goes_on_from_the_newest_batch(
    spark: SparkSession, broker: Mosquitto, tmp_path: Path
) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local", shards=1)
    schema = sg.Schema.of(id="int", mqtt_topic="string", mqtt_received="time")
    source = sg.mqtt(broker.url, "sensors/#")
    gauge.stream("m", source, time="mqtt_received", key="mqtt_topic", schema=schema)
    stream = gauge.trial().registry.streams["m"]
    heard = gauge.home.root / "mqtt" / "m" / "heard.json"
    with Publisher(broker) as publisher:
        for turn in range(2):
            feed = SparkMqttFeed(spark, gauge.home, stream)
            feed.start()
            wait_until(heard.exists, PATIENCE, what="the subscription")
            send(publisher, turn)
            wait_until(
                lambda f=feed, t=turn: f.failure or f.reached({0: 101 * (t + 1)}),
                PATIENCE,
                what="the messages of this turn",
            )
            assert feed.failure is None
            feed.stop()
        with gauge:
            gauge.start()
            send(publisher, 2)
            wait_until(lambda: len(rows(gauge.home, "id")) == 300, PATIENCE, what="all rows")
            wait_until(lambda: gauge.dead_letters("m").num_rows == 3, PATIENCE, what="the rest")
    assert rows(gauge.home, "id") == list(range(300)), "each once, in the order of arrival"


def send(publisher: Publisher, turn: int) -> None:
    """A hundred messages with numbers of their own, and one that is none."""
    good = [f'{{"id": {100 * turn + k}}}' for k in range(100)]
    publisher.send_all("sensors/a", [*good, "junk"])
