"""Topics of a real broker for workloads: filled with prepared rows, paced by the clock, counted."""

from __future__ import annotations

import json
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import confluent_kafka as kafka
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from confluent_kafka.admin import AdminClient, NewTopic

from bench.data import Card

PARTITIONS = 4
LOT_SECONDS = 0.05
PATIENCE_SECONDS = 60.0


def make_topic(address: str, topic: str, partitions: int) -> None:
    """Make a topic and wait until it can be written to."""
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    for made in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        made.result(PATIENCE_SECONDS)


def drop_topics(address: str, *topics: str) -> None:
    """Delete topics where they are there, and wait until they are gone."""
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    there = [topic for topic in topics if topic in admin.list_topics(timeout=30).topics]
    for gone in admin.delete_topics(there).values() if there else ():
        gone.result(PATIENCE_SECONDS)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while set(there) & set(admin.list_topics(timeout=30).topics):
        assert time.monotonic() < deadline, f"{there} are still there"
        time.sleep(0.2)


def as_json(table: pa.Table) -> list[bytes]:
    """Each row as a JSON object of about ninety bytes; times are microseconds."""
    ts = table["ts"].cast(pa.int64())
    parts: list[Any] = ['{"series":"', table["series"], '","ts":', ts.cast(pa.string())]
    parts += [',"value":', table["value"].cast(pa.string())]
    parts += [',"zone":"', table["zone"], '","kind":"', table["kind"], '"}', ""]
    text = pc.binary_join_element_wise(*parts)
    found: list[bytes] = text.cast(pa.binary()).to_pylist()
    return found


def fill(address: str, topic: str, card: Card) -> int:
    """Write all prepared rows to a topic, each series in one partition; return how many."""
    make_topic(address, topic, PARTITIONS)
    lane = {name: number % PARTITIONS for number, name in enumerate(card.series)}
    with Writer(address) as writer:
        for path in sorted(card.path("rows").iterdir()):
            table = pq.read_table(path)
            lanes = [lane[name] for name in table["series"].to_pylist()]
            writer.write(topic, as_json(table), lanes)
        return writer.written


class Writer:
    """A producer that waits when its queue is full and fails when a record does."""

    def __init__(self, address: str) -> None:
        self.written = 0
        self._failed: list[str] = []
        self._producer = kafka.Producer(
            {
                "bootstrap.servers": address,
                "enable.idempotence": True,
                "linger.ms": 20,
                "compression.type": "lz4",
                "queue.buffering.max.messages": 1_000_000,
                "log_level": 0,
            }
        )

    def write(self, topic: str, values: list[bytes], lanes: list[int]) -> None:
        """Write records in order."""
        produce = self._producer.produce
        for value, lane in zip(values, lanes, strict=True):
            while True:
                try:
                    produce(topic, value, partition=lane, on_delivery=self._told)
                    break
                except BufferError:
                    self._producer.poll(0.1)
        self.written += len(values)
        self._producer.poll(0)

    def _told(self, error: Any, _message: Any) -> None:
        if error is not None:
            self._failed.append(str(error))

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_error: object) -> None:
        left = self._producer.flush(PATIENCE_SECONDS)
        assert (left, self._failed) == (0, []), "records could not be written"


def pace(address: str, topic: str, card: Card, rate: float, seconds: float) -> None:
    """Write rows whose event time is now, so many a second, in lots of fifty milliseconds."""
    dice = np.random.default_rng(5)
    size = max(1, int(rate * LOT_SECONDS))
    names = pa.array(card.series)
    begun = time.monotonic()
    with Writer(address) as writer:
        for lot in range(int(seconds / LOT_SECONDS)):
            wait = begun + lot * LOT_SECONDS - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            sid = dice.integers(0, len(names), size)
            now = np.full(size, time.time_ns() // 1000)
            table = pa.table(
                {
                    "series": names.take(pa.array(sid)),
                    "ts": pa.array(now),
                    "value": pa.array(np.round(dice.normal(100.0, 1.0, size), 3)),
                    "zone": pa.array([card.zones[0]] * size),
                    "kind": pa.array([card.kind] * size),
                }
            )
            writer.write(topic, as_json(table), (sid % PARTITIONS).tolist())


def _reader(address: str) -> kafka.Consumer:
    """A reader of committed records that says when it has come to the end of a partition."""
    return kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": f"bench-{time.time_ns()}",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )


def count_committed(address: str, topic: str) -> int:
    """How many records of a topic readers of committed records see."""
    reader = _reader(address)
    partitions = reader.list_topics(topic, timeout=30).topics[topic].partitions
    reader.assign([kafka.TopicPartition(topic, n, kafka.OFFSET_BEGINNING) for n in partitions])
    seen, ended = 0, set[int]()
    while len(ended) < len(partitions):
        for message in reader.consume(10_000, 1.0):
            if message.error() is None:
                seen += 1
            elif message.error().code() == kafka.KafkaError._PARTITION_EOF:
                ended.add(message.partition())
    reader.close()
    return seen


@dataclass(slots=True)
class Heard:
    """What a reader in a thread of its own has heard of a topic."""

    delays: list[tuple[float, float]] = field(default_factory=list)

    def listen(self, address: str, topic: str, pulse: bytes, halt: threading.Event) -> None:
        """Note of each answer of the query `pulse` its instant and how long after that it came."""
        reader = _reader(address)
        reader.subscribe([topic])
        while not halt.is_set():
            for message in reader.consume(10_000, 0.05):
                if message.error() is None and message.key() == pulse:
                    as_of = datetime.fromisoformat(json.loads(message.value())["as_of"]).timestamp()
                    self.delays.append((as_of, time.time() - as_of))
        reader.close()


if __name__ == "__main__":
    pace(sys.argv[1], sys.argv[2], Card.read(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]))
