"""One Kafka broker and one PostgreSQL server for all tests of connectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

from tests.certificate import certificate
from tests.connectors import needed_connector
from tests.kafka_broker import Broker, Guard, running_broker
from tests.postgres_server import PostgresServer, postgres

PASSWORD = "only-the-tests-know-this"


@dataclass(frozen=True)
class Guarded:
    """A broker, and what it wants of those who come by its guarded port."""

    broker: Broker
    guard: Guard
    secret: Path


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Guarded]:
    needed_connector("kafka")
    place = tmp_path_factory.mktemp("kafka")
    secret = place / "password"
    secret.write_text(PASSWORD)
    guard = Guard("ann", PASSWORD, *certificate(place))
    with running_broker(place, guard) as running:
        yield Guarded(running, guard, secret)


@pytest.fixture(scope="session")
def broker(guarded: Guarded) -> Broker:
    return guarded.broker


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    needed_connector("postgresql")
    with postgres() as running:
        yield running


def say(server: PostgresServer, text: str) -> None:
    """Run statements on the server."""
    with psycopg.connect(server.whole_url, autocommit=True) as open_:
        open_.execute(text)
