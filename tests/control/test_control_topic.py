"""Statements from a real Kafka broker: in order, once, the same for all who read them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.control.control_topic import ControlTopic
from streamgauge.control.ledger import Ledger
from streamgauge.kernel.files import read_json
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal
from streamgauge.sources.plant import Plant, PlantWriter
from tests import forked
from tests.command import streamgauge
from tests.kafka_broker import kafka

confluent = pytest.importorskip("confluent_kafka")
admin = pytest.importorskip("confluent_kafka.admin")
pytestmark = [pytest.mark.kills, pytest.mark.broker, pytest.mark.jvm]
PATIENCE = 90
ALTERS = 40


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with kafka(tmp_path_factory.mktemp("kafka")) as address:
        yield address


@pytest.fixture
def topic(broker: str) -> str:
    """A topic of one partition that nobody has used."""
    return made(broker, 1)


def made(broker: str, partitions: int) -> str:
    name = f"statements-{uuid.uuid4().hex[:8]}"
    client = admin.AdminClient({"bootstrap.servers": broker})
    for done in client.create_topics([admin.NewTopic(name, partitions)]).values():
        done.result(timeout=PATIENCE)
    return name


def say(broker: str, topic: str, *texts: str) -> None:
    producer = confluent.Producer({"bootstrap.servers": broker})
    for text in texts:
        producer.produce(topic, text.encode())
    assert producer.flush(PATIENCE) == 0


def heard(broker: str, topic: str, count: int) -> list[dict[str, Any]]:
    """So many records of a topic, from its beginning."""
    reader = {"bootstrap.servers": broker, "group.id": "test", "enable.auto.commit": False}
    consumer = confluent.Consumer(reader)
    consumer.assign([confluent.TopicPartition(topic, 0, 0)])
    found: list[dict[str, Any]] = []

    def read() -> bool:
        message = consumer.poll(0.2)
        if message is not None and not message.error():
            found.append(json.loads(message.value()))
        return len(found) >= count

    wait_until(read, PATIENCE, what=f"{count} replies")
    consumer.close()
    return found


def plant_files(directory: Path) -> Path:
    PlantWriter(Plant(n_sensors=6, seed=3), str(directory)).write(200)
    return directory


def test_two_homes_that_read_one_topic_hold_the_same_and_answer_the_same(
    broker: str, topic: str, tmp_path: Path
) -> None:
    files = plant_files(tmp_path / "rows")
    say(
        broker,
        topic,
        f"CREATE STREAM plant FROM FILES '{files}' KEY series TIME ts;",
        "CREATE QUERY heat AS SELECT AVG(value) FROM plant EVERY 10 SECONDS;"
        "CREATE QUERY hot AS SELECT MAX(value) FROM plant EVERY 10 SECONDS;",
        "CREATE QUERY wrong AS SELECT AVG(nothing) FROM plant;",
        "PAUSE QUERY hot;",
    )
    found = []
    for name in ("one", "other"):
        gauge = sg.connect(tmp_path / name, engine="local", shards=1, data_roots=[files])
        with (
            gauge,
            ControlTopic(gauge, f"kafka://{broker}/{topic}", replies=f"{topic}-{name}") as c,
        ):
            c.wait()
            gauge.start()
            gauge.drain(PATIENCE)
            assert (c.taken, c.refused) == (3, 1)
            held = gauge.registry()
            queries = {q: (s.version, s.status, s.asked) for q, s in held.queries.items()}
            answers = [str(a) for a in gauge.subscribe(since_epoch=0, timeout=0.0)]
            found.append((queries, answers))
        replies = heard(broker, f"{topic}-{name}", 4)
        assert [reply["offset"] for reply in replies] == [0, 1, 2, 3]
        assert [reply["ok"] for reply in replies] == [True, True, False, True]
        assert replies[1]["did"] == ["registered heat", "registered hot"]
        assert "nothing" in replies[2]["what"]
        assert replies[2]["hint"]
    assert found[0] == found[1]
    queries, answers = found[0]
    assert {name: said[1] for name, said in queries.items()} == {
        "heat": "running", "hot": "paused",
    }  # fmt: skip
    assert answers


@pytest.mark.parametrize("kills", [(1, 20), pytest.param((1, 8, 30), marks=pytest.mark.nightly)])
def test_each_record_is_taken_once_over_kills(
    broker: str, topic: str, tmp_path: Path, kills: tuple[int, ...]
) -> None:
    home = Home.open(tmp_path / "home", shards=1)
    files = plant_files(tmp_path / "rows")
    alters = [
        f"ALTER QUERY q AS SELECT AVG(value) FROM plant WHERE value > {n} EVERY 1 MINUTE"
        for n in range(ALTERS)
    ]
    say(
        broker,
        topic,
        f"CREATE STREAM plant FROM FILES '{files}' KEY series TIME ts;"
        "CREATE QUERY q AS SELECT AVG(value) FROM plant EVERY 1 MINUTE;",
        *alters,
    )
    command = [str(tmp_path), "run", "--home", home.path, "--engine", "local"]
    command += ["--control", f"kafka://{broker}/{topic}", "--data-root", str(files)]
    log = tmp_path / "job.log"
    for upto in kills:
        job = forked.start(streamgauge, *command, output=log)
        try:
            forked.wait_for(
                job,
                lambda n=upto: (Ledger(home, topic).next or 0) >= n,
                2 * PATIENCE,
                what=f"record {upto}",
                every=0.001,
            )
        finally:
            forked.kill(job)
    last = forked.start(streamgauge, *command, "--once", output=log)
    try:
        assert forked.ended(last, 2 * PATIENCE) == 0, log.read_text()[-3000:]
    finally:
        forked.kill(last)
    pages = [Journal(home).page(n + 1) for n in range(Journal(home).last())]
    assert [refusal for page in pages for refusal in page.refused] == []
    held = sg.connect(home.path, engine="local").registry().query("q")
    assert held.version == 1 + ALTERS
    changes = [change for page in pages for change in page.changes]
    texts = [json.dumps(q) for c in changes for q in c.get("queries", ())]
    assert len(texts) == len(set(texts)) == 1 + ALTERS


def test_a_topic_of_several_partitions_has_no_order(broker: str, tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path, engine="local")
    with ControlTopic(gauge, f"kafka://{broker}/{made(broker, 2)}") as control:
        wait_until(lambda: control.failure, PATIENCE, what="the refusal")
        with pytest.raises(sg.StreamgaugeError, match="has 2 partitions"):
            control.check()


def test_records_that_are_gone_are_not_passed_over(broker: str, topic: str, tmp_path: Path) -> None:
    say(broker, topic, "CREATE WINDOW a AS [ROWS 3]", "CREATE WINDOW b AS [ROWS 3]")
    gauge = sg.connect(tmp_path, engine="local")
    with ControlTopic(gauge, f"kafka://{broker}/{topic}") as control:
        control.wait()
    say(broker, topic, "CREATE WINDOW c AS [ROWS 3]", "CREATE WINDOW d AS [ROWS 3]")
    client = admin.AdminClient({"bootstrap.servers": broker})
    for done in client.delete_records([confluent.TopicPartition(topic, 0, 3)]).values():
        done.result()
    with ControlTopic(gauge, f"kafka://{broker}/{topic}") as control:
        wait_until(lambda: control.failure, PATIENCE, what="the failure")
        assert control.failure is not None
        assert control.failure.detail == "the next is 2, the topic has 3 to 4"
    assert read_json(control.ledger.path)["next"] == 2


def test_a_topic_that_is_not_there_is_made_with_one_partition(broker: str, tmp_path: Path) -> None:
    name = f"new-{uuid.uuid4().hex[:8]}"
    gauge = sg.connect(tmp_path, engine="local")
    with ControlTopic(gauge, f"kafka://{broker}/{name}") as control:
        control.wait()
        say(broker, name, "CREATE WINDOW a AS [ROWS 3]")
        wait_until(lambda: control.taken == 1, PATIENCE, what="the statement")
    assert list(gauge.trial().registry.windows) == ["a"]
