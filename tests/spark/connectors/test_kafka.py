"""Kafka: every record lands once, or is a dead letter that says where it was, whatever happens."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.engine.feeds import refuse_without
from streamgauge.engine.spark import kafka_topic
from streamgauge.kernel.errors import SourceFailure
from streamgauge.log.batches import batch_numbers, read_batch
from streamgauge.log.journal import Journal
from tests.kafka_broker import Broker
from tests.sources.test_avro import row, written
from tests.sources.test_avro import schema as avro_schema
from tests.spark.connectors.kafka_topic import START, Landing, Topic, record

pytestmark = [pytest.mark.jvm, pytest.mark.broker]
# So that a broker that is away is told of in seconds.
HASTE = {"kafka.default.api.timeout.ms": "5000", "kafka.request.timeout.ms": "4000"}
VICTIM = "tests.spark.connectors.kafka_victim"
ROOT = Path(__file__).parents[3]


def once(numbers: range) -> Counter[float]:
    return Counter(float(number) for number in numbers)


def test_poison_and_tombstones_are_dead_letters_and_nothing_else_is_lost(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = Topic(broker.address, "poison")
    topic.put([record(0), b"junk", None, record(1, new="field"), b'{"ts": 1}'])
    topic.put([record(2), record(3, at=10**10), record(4)], partition=1)
    landing = Landing(spark, tmp_path, topic)
    landing.run()
    assert landing.counts() == Counter([0.0, 1.0, 2.0, 4.0])
    letters = landing.letters()
    assert list(letters) == [
        "kafka:poison-0:1", "kafka:poison-0:2", "kafka:poison-0:4", "kafka:poison-1:1",
    ]  # fmt: skip
    assert (
        "malformed JSON" in letters["kafka:poison-0:1"] or "object" in letters["kafka:poison-0:1"]
    )
    assert letters["kafka:poison-0:2"] == "the record has no value"
    assert "null in a key column" in letters["kafka:poison-0:4"]
    assert "ahead of its arrival" in letters["kafka:poison-1:1"]
    page = Journal(landing.home).page(Journal(landing.home).last())
    assert page.peaks["s"] == START + 1_000_000, "neither the future nor the other lane moved it"


def test_a_stop_and_a_start_land_each_record_once(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = Topic(broker.address, "restarts", partitions=3)
    landing = Landing(spark, tmp_path, topic, max_offsets=40)
    for start in range(0, 300, 100):
        for partition in range(3):
            topic.put(map(record, range(start + partition, start + 100, 3)), partition)
        landing.run()
    assert landing.counts() == once(range(300))
    directory = landing.home.incoming("s")
    numbers = batch_numbers(directory)
    assert len(numbers) >= 6, "batches are bounded"
    ends = [read_batch(directory, number).ends for number in numbers]
    assert sum(ends[-1].values()) == 300
    assert ends == sorted(ends, key=lambda by: sum(by.values()))


def test_partitions_that_are_added_are_read_from_their_beginning(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = Topic(broker.address, "growing", partitions=1)
    topic.put(map(record, range(10)))
    landing = Landing(spark, tmp_path, topic, **{"kafka.metadata.max.age.ms": "1000"})
    landing.start()
    try:
        landing.catch_up()
        topic.grow(3)
        topic.put(map(record, range(10, 20)), partition=2)
        wait_until(lambda: len(landing.column("value")) == 20, 300, what="the new partition")
    finally:
        landing.stop()
    assert landing.counts() == once(range(20))


def test_a_broker_that_goes_away_is_waited_for(
    spark: SparkSession, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_topic, "ASK_MILLISECONDS", 5_000)
    topic = Topic(broker.address, "away")
    topic.put(map(record, range(50)))
    landing = Landing(spark, tmp_path, topic, **HASTE)
    feed = landing.start()
    try:
        landing.catch_up()
        broker.stop()
        wait_until(lambda: feed.state()[0] == "waiting", 300, what="being told")
        broker.start()
        topic.put(map(record, range(50, 90)), partition=1)
        wait_until(lambda: len(landing.column("value")) >= 90, 300, what="rows after the restart")
        assert feed.failure is None
        wait_until(lambda: feed.state() == ("reading", ""), 300, what="no word of it")
    finally:
        landing.stop()
    assert landing.counts() == once(range(90))


def test_a_topic_that_is_not_there_yet_is_waited_for(
    spark: SparkSession, broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = Topic(broker.address, "present")
    other.name = "absent"
    landing = Landing(spark, tmp_path, other)
    feed = landing.start()
    try:
        wait_until(lambda: "no topic 'absent' yet" in caplog.text, 300, what="being told")
        topic = Topic(broker.address, "absent")
        topic.put(map(record, range(5)))
        wait_until(lambda: len(landing.column("value")) == 5, 300, what="the records")
        assert feed.failure is None
    finally:
        landing.stop()


def test_records_that_are_gone_stop_the_stream_or_are_told(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = Topic(broker.address, "truncated", partitions=1)
    topic.put(map(record, range(10)))
    landing = Landing(spark, tmp_path / "fails", topic)
    lenient = Landing(spark, tmp_path / "continues", topic, on_loss="continue")
    landing.run()
    lenient.run()
    topic.put(map(record, range(10, 30)))
    truncate(topic, before=25)
    feed = landing.start()
    wait_until(lambda: feed.failure is not None, 300, what="the failure")
    landing.stop()
    failure = feed.failure
    assert isinstance(failure, SourceFailure)
    assert failure.detail == "offsets by partition, truncated-0: 10 to 24"
    assert "ON LOSS CONTINUE" in failure.hint
    lenient.run()
    assert lenient.counts() == once(range(10)) + once(range(25, 30))
    assert lenient.letters() == {"kafka:truncated-0:10": "offsets 10 to 24 are gone"}


def truncate(topic: Topic, before: int) -> None:
    """Delete the records of partition 0 before an offset."""
    gone = topic.admin.delete_records([TopicPartition(topic.name, 0, before)])
    for done in gone.values():
        done.result(60)


def test_a_compacted_topic_gives_what_compaction_left(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    compact = {"cleanup.policy": "compact", "segment.ms": "100", "max.compaction.lag.ms": "100"}
    topic = Topic(broker.address, "compacted", 1, **compact, **{"min.cleanable.dirty.ratio": "0"})
    # A segment is closed by a record whose time lies that far after its first.
    for number in range(44):
        at = (START // 1_000_000 + number) * 1_000
        topic.put([record(number)], key=f"k{number % 4}", timestamp=at)
    wait_until(lambda: len(topic.offsets()) < 30, 300, what="compaction", every=0.2)
    landing = Landing(spark, tmp_path, topic, max_offsets=7)
    landing.run()
    left = topic.offsets()
    found = landing.counts()
    assert set(found.values()) == {1}, "none twice"
    assert set(left) <= {int(value) for value in found}, "whatever is left lands"
    assert {40.0, 41.0, 42.0, 43.0} <= set(found), "the newest of each key always is"
    assert len(found) < 44
    topic.put([record(44)], key="k0")
    landing.run()
    assert 44.0 in landing.counts()


def test_latest_begins_after_what_is_there_and_remembers_it(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = Topic(broker.address, "latest", partitions=1)
    topic.put(map(record, range(10)))
    landing = Landing(spark, tmp_path, topic, starting="latest")
    landing.run()
    assert landing.column("value") == []
    topic.put(map(record, range(10, 15)))
    landing.run()
    assert landing.counts() == once(range(10, 15))


def test_raw_values_with_what_comes_beside_them(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = Topic(broker.address, "lines", partitions=1)
    topic.put([b"GET /a", b"GET /b"], key=b"host", timestamp=START // 1000)
    columns = {"line": "string", "kafka_key": "string", "kafka_timestamp": "time",
               "kafka_partition": "int", "kafka_offset": "int"}  # fmt: skip
    landing = Landing(
        spark, tmp_path, topic, format="raw", columns=columns, time="kafka_timestamp",
        key=("kafka_key",),
    )  # fmt: skip
    landing.run()
    assert landing.column("line") == ["GET /a", "GET /b"]
    assert landing.column("kafka_offset") == [0, 1]
    assert landing.column("kafka_key") == ["host", "host"]
    assert {time.timestamp() for time in landing.column("kafka_timestamp")} == {START / 1e6}


def test_the_local_engine_says_that_it_cannot(tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path, engine="local")
    source = sg.kafka("127.0.0.1:9", "t")
    schema = sg.Schema.of(ts="time", v="float")
    gauge.stream("s", source=source, schema=schema, time="ts")
    stream = gauge.trial().registry.stream("s")
    with pytest.raises(SourceFailure, match="read from Kafka by Spark"):
        refuse_without(stream, None, None)
    with pytest.raises(SourceFailure, match="engine='spark'"):
        gauge.start()
    gauge.stop()


@pytest.mark.budget(90, "two drivers, each with a JVM of its own")
@pytest.mark.kills
def test_killed_before_and_after_a_batch_is_in_place_each_record_lands_once(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = Topic(broker.address, "killed", partitions=2)
    for partition in range(2):
        topic.put(map(record, range(partition, 400, 2)), partition)
    landing = Landing(spark, tmp_path, topic, max_offsets=60)
    declared, found = json.dumps(landing.stream.as_dict()), []
    for moment in ("before", "after"):
        command = [sys.executable, "-m", VICTIM, str(tmp_path), declared, moment]
        done = subprocess.run(command, capture_output=True, cwd=ROOT, timeout=500, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
        found.append(len(batch_numbers(landing.home.incoming("s"))))
    assert found == [1, 3]
    landing.run()
    assert landing.counts() == once(range(400))
    assert landing.letters() == {}


def test_avro_with_a_schema_of_a_file(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    by = avro_schema()
    (tmp_path / "reading.avsc").write_text(json.dumps(by))
    topic = Topic(broker.address, "avro", partitions=1)
    topic.put(written(row(number), by) for number in range(20))
    topic.put([b"\xff\xff"])
    landing = Landing(
        spark, tmp_path / "home", topic, format="avro", schema=tmp_path / "reading.avsc"
    )
    landing.run()
    assert landing.counts() == Counter(number / 2 for number in range(20))
    assert list(landing.letters()) == ["kafka:avro-0:20"]
