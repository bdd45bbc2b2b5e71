"""Whatever dies when: each crossing reaches each target, and no target has one twice by its id."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from streamgauge.alerts import report
from tests import forked
from tests.alerts.chaos.victim import watch
from tests.alerts.world import Plant, Receiver
from tests.kafka_broker import kafka

pytestmark = pytest.mark.kills
# Each value crosses the level; the last one closes the second of the one before it.
MORE = (120, 80) * 4
VALUES = (*MORE, 80)
CROSSINGS = len(MORE)
KILLS = (
    ("durable", 1), ("durable", 2), ("replied", 1), ("written", 1), ("durable", 4),
    ("replied", 2), ("durable", 3),
)  # fmt: skip


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[Plant]:
    made = Plant(tmp_path)
    yield made
    made.gauge.stop()


def run(plant: Plant, *fuse: object) -> int:
    """The exit code of a watcher that burns down, or does not."""
    home = plant.gauge.home.root
    victim = forked.start(watch, str(home), *fuse, output=home.parent / "victim.log")
    try:
        return forked.ended(victim, 180)
    finally:
        forked.kill(victim)


def prepared(plant: Plant, *targets: str) -> None:
    """A home that a watcher has opened, with crossings after that which nobody has judged."""
    plant.read(10)
    plant.gauge.sql(
        f"CREATE ALERT hot ON heat WHEN CERTAINLY ABOVE 100 DELIVER {' AND '.join(targets)}"
    )
    plant.read(10)


def test_a_watcher_killed_at_every_step_loses_and_doubles_nothing(
    plant: Plant, tmp_path: Path
) -> None:
    mail = tmp_path / "mail"
    with Receiver() as receiver:
        prepared(plant, f"TO WEBHOOK '{receiver.url}'", f"TO MAIL '{mail}' FOR 'ops@example.org'")
        assert run(plant, "never", 0) == 0
        for kill in KILLS:
            # How far a watcher comes before it dies is chance; there is always more to tell.
            plant.read(*MORE)
            assert run(plant, *kill) == -signal.SIGKILL
        plant.read(80)
        assert run(plant, "never", 0) == 0
    told, crossings = report.read(plant.gauge.home), CROSSINGS * len(KILLS)
    (last,) = told.of("hot")
    assert (last.n, told.raised, told.cleared) == (crossings, crossings // 2, crossings // 2)
    ids = [f"{last.id.rpartition('-')[0]}-{n}" for n in range(1, crossings + 1)]
    assert receiver.ids() == ids
    bodies = dict(receiver.got)
    assert all(bodies[key] == body for key, body in receiver.got), "the same id says the same"
    assert [bodies[key]["state"] for key in ids] == ["raised", "cleared"] * (crossings // 2)
    files = sorted(path.name for path in mail.iterdir() if not path.name.startswith("."))
    assert files == sorted(f"{key}.eml" for key in ids)
    message = message_from_bytes((mail / f"{ids[0]}.eml").read_bytes())
    assert message["Message-ID"] == f"<{ids[0]}@streamgauge>"


@pytest.mark.jvm
@pytest.mark.broker
def test_a_topic_has_each_crossing_once_however_often_the_watcher_dies(
    plant: Plant, tmp_path: Path
) -> None:
    with kafka(tmp_path) as broker:
        prepared(plant, f"TO KAFKA '{broker}' TOPIC 'alerts'")
        assert run(plant, "never", 0) == 0
        plant.read(*VALUES)
        kills = (("before commit", 1), ("after commit", 1), ("after commit", 2))
        killed = sum(run(plant, *kill) == -signal.SIGKILL for kill in kills)
        assert run(plant, "never", 0) == 0
        (last,) = report.read(plant.gauge.home).of("hot")
        ids = [f"{last.id.rpartition('-')[0]}-{n}" for n in range(1, CROSSINGS + 1)]
        assert committed(broker, "alerts", CROSSINGS) == ids
    assert killed == len(kills)


def committed(broker: str, topic: str, wanted: int) -> list[str]:
    """Ids of all committed records; reads a little longer than it must, for one too many."""
    reader = confluent_kafka.Consumer(
        {"bootstrap.servers": broker, "group.id": "test", "auto.offset.reset": "earliest",
         "isolation.level": "read_committed", "enable.partition.eof": True}
    )  # fmt: skip
    reader.subscribe([topic])
    ids: list[str] = []
    while True:
        record: Any = reader.poll(30.0)
        assert record is not None, f"{len(ids)} of {wanted} records"
        if record.error():
            assert record.error().code() == confluent_kafka.KafkaError._PARTITION_EOF
            reader.close()
            return ids
        assert record.key() == b"hot"
        ids.append(dict(record.headers())["id"].decode())
