"""A job that runs while rows come from brokers, databases and DataFrames, and answers go there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import confluent_kafka as kafka
import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.login import Login
from streamgauge.kernel.time import SECOND
from streamgauge.log.segments import write_parquet
from streamgauge.results.change_log import commits
from streamgauge.sources.kafka_login import native_settings
from tests.kafka_broker import Broker
from tests.postgres_server import PostgresServer
from tests.sinks.world import World, as_rows, as_told, rows_in
from tests.spark.connectors.conftest import PASSWORD, Guarded, say
from tests.spark.connectors.kafka_topic import START, Topic, record

pytestmark = [pytest.mark.jvm, pytest.mark.broker]
ROWS = 20
SECONDS = sg.Schema.of(site="string", ts="time", value="float")


def files_with(gauge: sg.Gauge, secret: str) -> tuple[int, list[Path]]:
    """How many files the home has, and which of them hold a secret."""
    kept = [path for path in gauge.home.root.rglob("*") if path.is_file()]
    return len(kept), [path for path in kept if holds(path, secret.encode())]


def holds(path: Path, secret: bytes) -> bool:
    try:
        return secret in path.read_bytes()
    except FileNotFoundError:
        # The job that runs has let it go.
        return False


def test_standing_queries_run_over_a_topic(live: sg.Gauge, broker: Broker) -> None:
    topic = Topic(broker.address, "asked", partitions=2)
    # The second partition is an hour behind in event time: no row of it is late.
    topic.put(record(n, at=3_600 + n) for n in range(60))
    topic.put((record(n, at=n) for n in range(60, 120)), partition=1)
    begun = live.home.committed()
    live.sql(
        "CREATE STREAM sensed (ts TIME, sensor STRING, value FLOAT) "
        f"FROM KAFKA '{broker.address}' TOPIC 'asked' KEY sensor TIME ts;"
        "CREATE QUERY n AS SELECT COUNT(*) FROM sensed [RANGE 2 HOURS]"
    )
    live.drain(timeout=300)
    live.advance("sensed", START + 4_000 * SECOND)
    live.drain(timeout=300)
    (answer,) = live.latest("n")
    late = sum(entry["late"] for entry in commits(live.home, after=begun))
    assert (answer.value, late) == (120, 0)


def fill(settings: dict[str, Any], topic: str) -> None:
    """A topic of rows, written by somebody who is let in."""
    admin = AdminClient(settings)
    for made in admin.create_topics([NewTopic(topic, 1, 1)]).values():
        made.result(60)
    producer = kafka.Producer(settings)
    for number in range(ROWS):
        producer.produce(topic, b'{"ts": %d, "v": %d}' % (START + number * SECOND, number))
    assert producer.flush(60) == 0


def count(settings: dict[str, Any], topic: str) -> int:
    """How many records a topic holds."""
    reader = kafka.Consumer({**settings, "group.id": "count", "log_level": 0})
    try:
        return int(reader.get_watermark_offsets(kafka.TopicPartition(topic, 0), timeout=10)[1])
    except kafka.KafkaException:
        return 0
    finally:
        reader.close()


def test_rows_come_and_answers_go_by_a_guarded_port(
    live: sg.Gauge, guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKER_PASSWORD", PASSWORD)
    at, ca = guarded.broker.guarded, guarded.guard.cert
    login = Login.of(user="ann", password_file=guarded.secret, ca=ca)
    settings = {"bootstrap.servers": at, **native_settings(login)}
    fill(settings, "rows")
    live.sql(
        f"CREATE STREAM let_in (ts TIME, v FLOAT) FROM KAFKA '{at}' TOPIC 'rows' TIME ts "
        f"USER 'ann' PASSWORD ENV 'BROKER_PASSWORD' CA '{ca}';"
        "CREATE QUERY q AS SELECT ISTREAM(v) FROM let_in [NOW];"
        f"CREATE SINK out ON q DELIVER TO KAFKA '{at}' TOPIC 'out' "
        f"USER 'ann' PASSWORD FILE '{guarded.secret}' CA '{ca}'"
    )
    # The last row waits for its tick to close; each transaction ends with a record of its own.
    wait_until(
        lambda: live.check() or count(settings, "out") >= ROWS - 1, 300, what="answers in the topic"
    )
    files, leaks = files_with(live, PASSWORD)
    assert files
    assert not leaks


def test_a_wrong_password_is_told(live: sg.Gauge, guarded: Guarded, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("guessed")
    source = sg.kafka(
        guarded.broker.guarded, "rows", user="ann", password_file=wrong, ca=guarded.guard.cert
    )
    live.stream("kept_out", source, time="ts", schema=sg.Schema.of(ts="time", v="float"))
    with pytest.raises(SourceFailure, match="Authentication"):
        wait_until(lambda: live.check(), 300, what="being told")


def test_a_database_that_goes_away_and_comes_back(
    live: sg.Gauge, server: PostgresServer, tmp_path: Path
) -> None:
    say(server, "CREATE TABLE homes (site text, town text); INSERT INTO homes VALUES ('n', 'Kiel')")
    secret = tmp_path / "secret"
    secret.write_text(f"{server.password}\n")
    (tmp_path / "rows").mkdir()
    live.stream("s", sg.files(tmp_path / "rows"), time="ts", key="site", schema=SECONDS)
    origin = sg.jdbc(server.jdbc_url, table="homes", user=server.user, password_file=secret)
    live.create_table("homes", origin, refresh="200 ms")
    live.sql("CREATE QUERY p AS SELECT t.town, s.value FROM s [NOW] s, homes t")
    write_seconds(tmp_path / "rows", "a", 1, 5)
    live.drain(timeout=300)
    server.stop()
    wait_until(lambda: "cannot be reached" in told(live)["failure"], 300, what="the failure")
    server.start()
    wait_until(lambda: not told(live)["failure"], 300, what="the end of the failure")
    first = live.registry().tables["homes"].epoch
    say(server, "UPDATE homes SET town = 'Bonn'")
    wait_until(lambda: live.registry().tables["homes"].epoch > first, 300, what="Bonn")
    write_seconds(tmp_path / "rows", "b", 6, 9)
    live.drain(timeout=300)
    given = [row["town"] for row in live.row_changes("p").to_pylist()]
    assert given[0] == "Kiel"
    assert "Bonn" in given
    files, leaks = files_with(live, server.password)
    assert files > 20
    assert not leaks


def told(gauge: sg.Gauge) -> dict[str, Any]:
    found = gauge.sql("SHOW TABLES")
    assert isinstance(found, pa.Table)
    return found.to_pylist()[0]


def write_seconds(directory: Path, name: str, first: int, last: int) -> None:
    numbers = list(range(first, last + 1))
    times = pa.array([START + n * SECOND for n in numbers], pa.timestamp("us", tz="UTC"))
    values = pa.array(numbers, pa.float64())
    table = pa.table({"site": ["n"] * len(numbers), "ts": times, "value": values})
    write_parquet(directory / f"{name}.parquet", table)


def test_a_sink_delivers_to_a_database(
    live: sg.Gauge, server: PostgresServer, tmp_path: Path
) -> None:
    world = World(tmp_path, live)
    live.create_sink("out", sg.to_postgres(server.sink_url, "answers"))
    wait_until(lambda: "out" in live.registry().sinks, 300, what="the sink")
    world.read(10, 120, 30, 40)
    world.deliver()
    assert as_rows(rows_in(server.whole_url, "answers")) == as_told(live)
    assert world.sinks()["out"].delivered > 4


def test_a_streaming_dataframe_and_the_rate_source(live: sg.Gauge, spark: SparkSession) -> None:
    frame = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 100)
        .option("startTimestamp", 1_767_225_600_000)
        .option("advanceMillisPerBatch", 10_000)
        .load()
        .select(
            F.col("timestamp").alias("ts"),
            (F.col("value") % 5).cast("string").alias("series"),
            F.col("value").cast("double").alias("x"),
        )
    )
    begun = live.home.committed()
    live.stream("numbers", source=sg.dataframe(frame), time="ts", key="series")
    live.stream("clock", source=sg.rate(50), time="timestamp", key="value")
    live.register(
        sg.Query("rows", "numbers", sg.count(), window=sg.Landmark(0), answer=sg.on_close()),
        sg.Query("beats", "clock", sg.count(), window=sg.Landmark(0), answer=sg.on_close()),
    )
    counted = next(a for a in live.subscribe("rows", since_epoch=begun, timeout=300) if a.value)
    assert counted.value is not None
    assert counted.value % 100 == 0
    assert next(iter(live.subscribe("beats", since_epoch=begun, timeout=300))).value
