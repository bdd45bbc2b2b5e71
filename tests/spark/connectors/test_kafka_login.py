"""A broker that wants TLS and a password takes alerts, once the password can be read."""

from __future__ import annotations

from pathlib import Path

import confluent_kafka as kafka
import pytest

from streamgauge.alerts.crossing import Crossing
from streamgauge.alerts.kafka_sender import KafkaSender
from streamgauge.alerts.outbox import Delivery
from streamgauge.alerts.undelivered import Undelivered
from streamgauge.kernel.login import Login
from streamgauge.plan.alert import Target
from streamgauge.sources.kafka_login import native_settings
from tests.spark.connectors.conftest import PASSWORD, Guarded

pytestmark = [pytest.mark.jvm, pytest.mark.broker]


def test_alerts_go_by_a_guarded_port(guarded: Guarded, tmp_path: Path) -> None:
    secret = tmp_path / "later"
    login = Login.of(user="ann", password_file=secret, ca=guarded.guard.cert)
    sender = KafkaSender(Target("kafka", guarded.broker.guarded, "alerts", login), "tests")
    told = Crossing("a-1", "hot", 1, "q", (), "certainly above 3", "raised", 1, "2026-01-01", None)
    with pytest.raises(Undelivered, match="cannot read the file of a password"):
        sender.send(Delivery(1, told))
    secret.write_text(PASSWORD)
    sender.send(Delivery(1, told))
    sender.close()
    settings = {"bootstrap.servers": guarded.broker.guarded, **native_settings(login)}
    reader = kafka.Consumer({**settings, "group.id": "alerts", "log_level": 0})
    reader.assign([kafka.TopicPartition("alerts", 0, kafka.OFFSET_BEGINNING)])
    record = reader.poll(120)
    reader.close()
    assert record is not None
    assert record.error() is None
    assert dict(record.headers() or ())["id"] == b"a-1"
