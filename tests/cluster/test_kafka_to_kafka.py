"""Kafka to Kafka through a cluster that loses driver, workers and broker: each record once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.between_topics import Between, every_record_once
from tests.cluster.standalone import Cluster
from tests.connectors import fetch_connectors, needed_connector
from tests.kafka_broker import running_broker

pytestmark = [pytest.mark.jvm, pytest.mark.broker, pytest.mark.kills]


@pytest.fixture
def between(cluster: Cluster, tmp_path: Path) -> Iterator[Between]:
    fetch_connectors()
    needed_connector("kafka")
    folder = tmp_path / "broker"
    folder.mkdir()
    with running_broker(folder) as broker:
        made = Between(broker, cluster, tmp_path)
        try:
            yield made
        finally:
            made.stop()


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_every_record_once_under_twenty_five_kills(between: Between) -> None:
    every_record_once(between, kills=25, seed=7, a_second=300)
