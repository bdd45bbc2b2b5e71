"""A job between two topics on a cluster, killed again and again while every record is counted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import confluent_kafka as kafka
import numpy as np
from confluent_kafka.admin import AdminClient, NewTopic

from bench.kafka_broker import Broker
from streamgauge.checks.waiting import wait_until
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
        there = [pid for worker in self.cluster.alive for pid in python_workers(worker)]
        what = str(dice.choice(["driver", "worker", "python"] if there else ["driver", "worker"]))
        if what == "driver":
            self.stop()
        elif what == "worker":
            self.cluster.kill_worker()
            self.cluster.add_worker()
        else:
            with suppress(ProcessLookupError):
                os.kill(int(dice.choice(there)), signal.SIGKILL)
        return what

    def log(self) -> str:
        return (self.folder / "driver.log").read_text(errors="replace")[-3000:]


class Counting:
    """Numbers from 0 on written to the topic, so many a second, until it is enough."""

    def __init__(self, broker: Broker, a_second: int) -> None:
        client = AdminClient({"bootstrap.servers": broker.address, "log_level": 0})
        for name, partitions in (("numbers", PARTITIONS), ("answers", 2)):
            client.create_topics([NewTopic(name, partitions, 1)])[name].result(60)
        settings = {"bootstrap.servers": broker.address, "enable.idempotence": True}
        self._producer = kafka.Producer(
            {**settings, "delivery.timeout.ms": 600_000, "log_level": 0}
        )
        self._pause = 50 / a_second
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self.written = 0

    def _write(self) -> None:
        while not self._enough.wait(self._pause):
            for _ in range(50):
                self._put(self.written, self.written, self.written % PARTITIONS)
                self.written += 1
            self._producer.poll(0)

    def _put(self, number: int, at: int, partition: int) -> None:
        value = json.dumps({"number": number, "ts": START + at * STEP}).encode()
        self._producer.produce("numbers", value, partition=partition)

    def enough(self) -> int:
        """Write no more; return how many were written, all of them acknowledged."""
        self._enough.set()
        self._thread.join()
        # A last record on each partition lets the ticks of all others close.
        for partition in range(PARTITIONS):
            self._put(-1, self.written + 1000, partition)
        assert self._producer.flush(600) == 0
        return self.written

    def __enter__(self) -> Counting:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._enough.set()
        self._thread.join()


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


def every_record_once(between: Between, *, kills: int, seed: int, a_second: int) -> None:
    """Count while things die: each number of the first topic is in the second one, once."""
    dice = np.random.default_rng(seed)
    died = []
    with Counting(between.broker, a_second) as counting:
        between.start()
        for number in range(kills):
            between.moves_on(int(dice.integers(1, 4)))
            threading.Event().wait(float(dice.uniform(0.0, 1.0)))
            died.append(between.kill(dice))
            if number == kills // 2:
                between.broker.stop()
                between.broker.start()
                died.append("broker")
        between.moves_on(1)
        n = counting.enough()
    found: Counter[int] = Counter()

    def all_there() -> bool:
        between.start()
        found.clear()
        found.update(delivered(between.broker.address))
        found.pop(-1, None)
        return len(found) >= n

    try:
        wait_until(all_there, 300, every=2.0)
    except AssertionError:
        missing = sorted(set(range(n)) - set(found))
        raise AssertionError(f"{len(missing)} of {n} lost, {missing[:5]}; {died}") from None
    doubled = sum(times - 1 for times in found.values())
    assert (len(found), doubled) == (n, 0), f"of {n}, with {died} killed"
