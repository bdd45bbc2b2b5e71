"""A job between two topics on a cluster, killed again and again while every record is counted."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import confluent_kafka as kafka
import numpy as np
from confluent_kafka.admin import AdminClient, NewTopic

from streamgauge.testing.kafka_broker import Broker
from streamgauge.testing.waiting import wait_until
from tests.chaos.killing import committed, kill_group, python_workers
from tests.cluster.standalone import Cluster

VICTIM = Path(__file__).with_name("kafka_victim.py")
PARTITIONS = 3
START = 1_700_000_000_000_000
STEP = 10_000


@dataclass
class Between:
    """A topic of numbers, a topic of answers, and a driver that comes and goes."""

    broker: Broker
    cluster: Cluster
    folder: Path
    driver: subprocess.Popen[bytes] | None = None

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def start(self) -> None:
        """Start a driver, unless one runs."""
        if self.driver is None or self.driver.poll() is not None:
            command = [sys.executable, str(VICTIM), str(self.home), self.broker.address]
            with (self.folder / "driver.log").open("ab") as log:
                self.driver = subprocess.Popen(
                    [*command, self.cluster.url], stdout=log, stderr=log, start_new_session=True
                )

    def stop(self) -> None:
        if self.driver is not None and self.driver.poll() is None:
            kill_group(self.driver)

    def moves_on(self, epochs: int) -> None:
        """Wait until some more epochs are committed; a driver that gave up is started again."""
        target = committed(self.home) + epochs

        def reached() -> bool:
            self.start()
            return committed(self.home) >= target

        wait_until(reached, 600, what=f"epoch {target}", every=0.05)

    def kill(self, dice: np.random.Generator) -> str:
        """Kill -9 something: the driver with all below it, a worker, or Python of an executor."""
        what = str(dice.choice(["driver", "worker", "python"]))
        if what == "driver":
            self.stop()
        elif what == "worker":
            self.cluster.kill_worker()
            self.cluster.add_worker()
        else:
            for worker in self.cluster.alive:
                for pid in python_workers(worker)[:1]:
                    subprocess.run(["kill", "-9", str(pid)], check=False)
        return what

    def log(self) -> str:
        return (self.folder / "driver.log").read_text(errors="replace")[-3000:]


@contextmanager
def counting(broker: Broker, n: int, a_second: int) -> Iterator[threading.Event]:
    """Numbers from 0 on written to the topic while the block runs; set when all are there."""
    client = AdminClient({"bootstrap.servers": broker.address, "log_level": 0})
    for name, partitions in (("numbers", PARTITIONS), ("answers", 2)):
        client.create_topics([NewTopic(name, partitions, 1)])[name].result(60)
    settings = {"bootstrap.servers": broker.address, "enable.idempotence": True, "log_level": 0}
    producer = kafka.Producer({**settings, "delivery.timeout.ms": 600_000})
    written, halt = threading.Event(), threading.Event()

    def write() -> None:
        for number in range(n):
            value = json.dumps({"number": number, "ts": START + number * STEP}).encode()
            producer.produce("numbers", value, partition=number % PARTITIONS)
            if number % 50 == 0:
                producer.poll(0)
                if halt.wait(50 / a_second):
                    return
        # A last record on each partition lets the ticks of all others close.
        for partition in range(PARTITIONS):
            value = json.dumps({"number": -1, "ts": START + (n + 1000) * STEP}).encode()
            producer.produce("numbers", value, partition=partition)
        if producer.flush(600) == 0:
            written.set()

    writing = threading.Thread(target=write)
    writing.start()
    try:
        yield written
    finally:
        halt.set()
        writing.join()


def delivered(address: str) -> Counter[int]:
    """How often readers of committed records find each number among the answers."""
    reader = kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "count",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    partitions = reader.list_topics("answers", timeout=60).topics["answers"].partitions
    reader.assign([kafka.TopicPartition("answers", n, kafka.OFFSET_BEGINNING) for n in partitions])
    found: Counter[int] = Counter()
    ended: set[int] = set()
    while len(ended) < len(partitions):
        for message in reader.consume(1000, 1.0):
            if message.error() is None:
                found[int(json.loads(message.value())["row"]["number"])] += 1
            elif message.error().code() == kafka.KafkaError._PARTITION_EOF:
                ended.add(message.partition())
    reader.close()
    return found


def every_record_once(between: Between, *, n: int, kills: int, seed: int, a_second: int) -> None:
    """Count while things die: each number of the first topic is in the second one, once."""
    dice = np.random.default_rng(seed)
    with counting(between.broker, n, a_second) as written:
        died = []
        for number in range(kills):
            between.moves_on(int(dice.integers(1, 4)))
            threading.Event().wait(float(dice.uniform(0.0, 1.0)))
            died.append(between.kill(dice))
            if number == kills // 2:
                between.broker.stop()
                between.broker.start()
                died.append("broker")
            between.start()
        assert not died or len(set(died)) > 1
        wait_until(written.is_set, 600, what="all numbers to be written")

        def all_there() -> bool:
            between.start()
            return len(delivered(between.broker.address)) >= n

        wait_until(all_there, 600, what=f"all answers; {between.log()}", every=2.0)
    found = delivered(between.broker.address)
    found.pop(-1, None)
    lost = n - len(found)
    doubled = sum(times - 1 for times in found.values())
    assert (lost, doubled) == (0, 0), f"of {n}, with {died} killed"
