"""Topics of a real broker for workloads: filled with prepared rows, paced by the clock, counted."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import cycle, islice
from typing import Any

import confluent_kafka as kafka
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from confluent_kafka.admin import AdminClient, NewTopic

from bench.data import Card, parts, ticks_of
from streamgauge.kernel.time import SECOND

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


def heads(table: pa.Table) -> pa.Array:
    """Each row as a JSON object of about ninety bytes, all but its time."""
    parts: list[Any] = ['{"series":"', table["series"], '","value":']
    parts += [table["value"].cast(pa.string()), ',"zone":"', table["zone"]]
    parts += ['","kind":"', table["kind"], '","ts":', ""]
    return pc.binary_join_element_wise(*parts)


def as_json(table: pa.Table) -> list[bytes]:
    """Each row as a JSON object; times are microseconds."""
    ts = table["ts"].cast(pa.int64()).cast(pa.string())
    text = pc.binary_join_element_wise(heads(table), ts, "}", "")
    found: list[bytes] = text.cast(pa.binary()).to_pylist()
    return found


def fill(address: str, topic: str, card: Card) -> int:
    """Write all prepared rows to a topic, each series in one partition; return how many."""
    make_topic(address, topic, PARTITIONS)
    with Writer(address, topic) as writer:
        for table, lanes in _files(card):
            writer.write(as_json(table), lanes)
        return writer.written


def _files(card: Card) -> Iterator[tuple[pa.Table, list[int]]]:
    """The prepared rows, file by file, and the partition of each."""
    lane = {name: number % PARTITIONS for number, name in enumerate(card.series)}
    for path in sorted(card.path("rows").iterdir()):
        table = pq.read_table(path)
        yield table, [lane[name] for name in table["series"].to_pylist()]


class Writer:
    """A producer that waits when its queue is full and counts what arrived in the end."""

    def __init__(self, address: str, topic: str) -> None:
        self.topic, self.written = topic, 0
        self._reader = _reader(address)
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

    def write(self, values: list[bytes], lanes: list[int]) -> None:
        """Write records in order."""
        produce, topic = self._producer.produce, self.topic
        for value, lane in zip(values, lanes, strict=True):
            while True:
                try:
                    produce(topic, value, partition=lane)
                    break
                except BufferError:
                    self._producer.poll(0.1)
        self.written += len(values)
        self._producer.poll(0)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_error: object) -> None:
        left = self._producer.flush(PATIENCE_SECONDS)
        partitions = [kafka.TopicPartition(self.topic, lane) for lane in range(PARTITIONS)]
        there = sum(self._reader.get_watermark_offsets(one)[1] for one in partitions)
        self._reader.close()
        assert (left, there) == (0, self.written), "records could not be written"


def rows_per_tick(card: Card) -> float:
    """How many rows a tick of the prepared rows has, on average."""
    ticks = sum(len(np.unique(ticks_of(part.ts, card.tick))) for part in parts(card))
    return card.rows / ticks


@dataclass(frozen=True, slots=True)
class Pace:
    """So many rows a second, for some seconds; a tick of event time is `tick` seconds long."""

    rate: float
    seconds: float
    tick: float

    @property
    def lot(self) -> int:
        """Rows that are written together."""
        return max(1, int(self.rate * LOT_SECONDS))

    def write(self, address: str, topic: str, card: Card) -> None:
        """Write the prepared rows, over and over, each lot at the instants of its rows.

        A tick has as many rows as one of the prepared rows has, so that queries have the same
        work for each row. All but the times is made ready before the clock runs.
        """
        lots = list(islice(_lots(card, self.lot), int(self.seconds / LOT_SECONDS)))
        with Writer(address, topic) as writer:
            sys.stdin.readline()
            start, begun = time.time(), time.monotonic()
            for number, (texts, lanes) in enumerate(lots):
                rows = number * self.lot + np.arange(len(texts))
                moments = start + np.floor(rows / (self.rate * self.tick)) * self.tick
                instants = (moments * SECOND).astype(np.int64).tolist()
                wait = begun + (number + 1) * LOT_SECONDS - time.monotonic()
                if wait > 0:
                    time.sleep(wait)
                timed = [b"%b%d}" % pair for pair in zip(texts, instants, strict=True)]
                writer.write(timed, lanes)


def _lots(card: Card, size: int) -> Iterator[tuple[list[bytes], list[int]]]:
    """The prepared rows in lots of a size, with their partitions; from the beginning again."""
    files = [(heads(table).cast(pa.binary()).to_pylist(), lanes) for table, lanes in _files(card)]
    for texts, lanes in cycle(files):
        for start in range(0, len(texts) - size + 1, size):
            yield texts[start : start + size], lanes[start : start + size]


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
    Pace(*map(float, sys.argv[4:7])).write(sys.argv[1], sys.argv[2], Card.read(sys.argv[3]))
