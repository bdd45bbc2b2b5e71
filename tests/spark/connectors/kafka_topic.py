"""A topic to write to, a home to land it in, and what came of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.engine.lander import Lander
from streamgauge.engine.spark.kafka import KafkaFeed
from streamgauge.log import inbox
from streamgauge.log.batches import batch_numbers, folder, read_batch
from streamgauge.log.dead_letters import dead_letters
from streamgauge.log.home import Home
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

COLUMNS = {"ts": "time", "sensor": "string", "value": "float"}
START = 1_700_000_000_000_000
QUIET = {"log_level": 0}


class Topic:
    """A topic of a broker."""

    def __init__(self, address: str, name: str, partitions: int = 2, **config: str) -> None:
        self.address, self.name = address, name
        self.admin = AdminClient({"bootstrap.servers": address, **QUIET})
        self._producer = Producer({"bootstrap.servers": address, **QUIET})
        made = NewTopic(name, partitions, 1, config=config)
        self.admin.create_topics([made])[name].result(60)

    def put(self, values: Iterable[bytes | None], partition: int = 0, **more: Any) -> None:
        """Write records, acknowledged when this returns."""
        for value in values:
            self._producer.produce(self.name, value, partition=partition, **more)
        assert self._producer.flush(60) == 0

    def offsets(self) -> list[int]:
        """Offsets that partition 0 holds; a compacted topic has gaps."""
        reader = Consumer(
            {"bootstrap.servers": self.address, "group.id": "look", "enable.partition.eof": True}
        )
        reader.assign([TopicPartition(self.name, 0, OFFSET_BEGINNING)])
        found = []
        while (message := reader.poll(10.0)) is not None and message.error() is None:
            found.append(message.offset())
        reader.close()
        return found

    def grow(self, partitions: int) -> None:
        """Add partitions."""
        grown = self.admin.create_partitions([NewPartitions(self.name, partitions)])
        grown[self.name].result(60)
        # The old one would learn of them only when its metadata is old.
        self._producer = Producer({"bootstrap.servers": self.address, **QUIET})


def record(number: int, at: int | None = None, **more: Any) -> bytes:
    """A JSON record; its value is its number, its time so many seconds after the start."""
    ts = START + (number if at is None else at) * 1_000_000
    return json.dumps({"ts": ts, "sensor": f"s{number % 5}", "value": number, **more}).encode()


class Landing:
    """A home whose stream is landed from a topic, without an engine to answer queries."""

    def __init__(self, session: Any, place: Path, topic: Topic, **source: Any) -> None:
        columns = source.pop("columns", COLUMNS)
        time, key = source.pop("time", "ts"), source.pop("key", ("sensor",))
        self.session, self.topic = session, topic
        self.home = Home.open(place, shards=1)
        self.source = sg.kafka(topic.address, topic.name, **source)
        self.stream = Stream("s", Schema.of(**columns), time, key, self.source.as_pairs())
        inbox.submit(self.home, {"do": "stream", "stream": self.stream.as_dict()})
        self.feed: KafkaFeed | None = None

    def start(self) -> KafkaFeed:
        self.feed = KafkaFeed(self.session, self.home, self.stream)
        self.feed.start()
        return self.feed

    def stop(self) -> None:
        assert self.feed is not None
        self.feed.stop()

    def catch_up(self, seconds: float = 300) -> None:
        """Wait until all that the topic holds now has landed."""
        feed = self.feed
        assert feed is not None
        goal = feed.goal()

        def done() -> bool:
            if feed.failure is not None:
                raise feed.failure
            return feed.reached(goal)

        wait_until(done, seconds, what="the records of the topic")

    def run(self) -> None:
        """Land what is there, and stop."""
        self.start()
        try:
            self.catch_up()
        finally:
            self.stop()

    def column(self, name: str) -> list[Any]:
        """All values of a column, over all batches."""
        found: list[Any] = []
        directory = self.home.incoming("s")
        for number in batch_numbers(directory):
            for file in read_batch(directory, number).files:
                found += pq.read_table(folder(directory, number) / file)[name].to_pylist()
        return found

    def counts(self) -> Counter[float]:
        """How often each value is there."""
        return Counter(self.column("value"))

    def letters(self) -> dict[str, str]:
        """Reasons of dead letters by origin, once the lander has taken all batches."""
        lander = Lander(self.home, max_rows=10**6)
        lander.land()
        table = dead_letters(self.home, "s")
        return dict(zip(table["origin"].to_pylist(), table["reason"].to_pylist(), strict=True))
