"""A broker that wants TLS and a password: rows come, answers go, and nothing keeps the password."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import confluent_kafka as kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.alerts.crossing import Crossing
from streamgauge.alerts.kafka_sender import KafkaSender
from streamgauge.alerts.outbox import Delivery
from streamgauge.alerts.undelivered import Undelivered
from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.login import Login
from streamgauge.kernel.time import SECOND
from streamgauge.plan.alert import Target
from streamgauge.sources.kafka_login import native_settings
from streamgauge.testing.waiting import wait_until
from tests.certificate import certificate
from tests.connectors import needed_connector
from tests.kafka_broker import Broker, Guard, running_broker

PASSWORD = "only-the-tests-know-this"
ROWS, START = 20, 1_700_000_000_000_000


class Guarded:
    """A broker behind TLS and a password, with a topic of rows."""

    def __init__(self, broker: Broker, guard: Guard, place: Path) -> None:
        self.broker, self.guard = broker, guard
        self.secret = place / "password"
        self.secret.write_text(PASSWORD)
        login = Login.of(user=guard.user, password_file=self.secret, ca=guard.cert)
        self.settings = {"bootstrap.servers": broker.address, **native_settings(login)}
        admin = AdminClient(self.settings)
        for made in admin.create_topics([NewTopic("rows", 1, 1)]).values():
            made.result(60)
        producer = kafka.Producer(self.settings)
        for number in range(ROWS):
            producer.produce("rows", b'{"ts": %d, "v": %d}' % (START + number * SECOND, number))
        assert producer.flush(60) == 0

    def answers(self) -> int:
        """How many records the topic of answers holds."""
        reader = kafka.Consumer({**self.settings, "group.id": "count", "log_level": 0})
        try:
            return int(reader.get_watermark_offsets(kafka.TopicPartition("out", 0), timeout=10)[1])
        except kafka.KafkaException:
            return 0
        finally:
            reader.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Guarded]:
    needed_connector("kafka")
    place = tmp_path_factory.mktemp("guarded")
    guard = Guard("ann", PASSWORD, *certificate(place))
    with running_broker(place, guard) as broker:
        yield Guarded(broker, guard, place)


def test_rows_come_and_answers_go(
    guarded: Guarded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKER_PASSWORD", PASSWORD)
    at, ca = guarded.broker.address, guarded.guard.cert
    gauge = sg.connect(tmp_path / "home", shards=2, master="local[2,4]")
    gauge.sql(
        f"CREATE STREAM s (ts TIME, v FLOAT) FROM KAFKA '{at}' TOPIC 'rows' TIME ts "
        f"USER 'ann' PASSWORD ENV 'BROKER_PASSWORD' CA '{ca}'"
    )
    gauge.sql("CREATE QUERY q AS SELECT ISTREAM(v) FROM s [NOW]")
    gauge.sql(
        f"CREATE SINK out ON q DELIVER TO KAFKA '{at}' TOPIC 'out' "
        f"USER 'ann' PASSWORD FILE '{guarded.secret}' CA '{ca}'"
    )
    with gauge.start():
        # The last row waits for its tick to close; each transaction ends with a record of its own.
        wait_until(lambda: guarded.answers() >= ROWS - 1, 120, what="answers in the topic")
        gauge.check()
    kept = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if PASSWORD.encode() in path.read_bytes()]


def test_alerts_go_there_too(guarded: Guarded, tmp_path: Path) -> None:
    secret = tmp_path / "later"
    login = Login.of(user="ann", password_file=secret, ca=guarded.guard.cert)
    sender = KafkaSender(Target("kafka", guarded.broker.address, "alerts", login), "tests")
    told = Crossing("a-1", "hot", 1, "q", (), "certainly above 3", "raised", 1, "2026-01-01", None)
    with pytest.raises(Undelivered, match="cannot read the file of a password"):
        sender.send(Delivery(1, told))
    secret.write_text(PASSWORD)
    sender.send(Delivery(1, told))
    sender.close()
    reader = kafka.Consumer({**guarded.settings, "group.id": "alerts", "log_level": 0})
    reader.assign([kafka.TopicPartition("alerts", 0, kafka.OFFSET_BEGINNING)])
    record = reader.poll(60)
    reader.close()
    assert record is not None
    assert record.error() is None
    assert dict(record.headers() or ())["id"] == b"a-1"


def test_a_wrong_password_is_told(guarded: Guarded, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("guessed")
    gauge = sg.connect(tmp_path / "home", shards=2, master="local[2,4]")
    source = sg.kafka(
        guarded.broker.address, "rows", user="ann", password_file=wrong, ca=guarded.guard.cert
    )
    gauge.stream("s", source, time="ts", schema=sg.Schema.of(ts="time", v="float"))
    with gauge.start(), pytest.raises(SourceFailure, match="Authentication"):
        wait_until(lambda: gauge.check(), 60, what="being told")
