"""Kafka: each crossing is one record, written once whatever dies, by a transaction.

The record and the place of the delivery in its lane are committed together, the place as the
offset of a consumer group that nobody reads with. After a crash the group says how far the topic
has come, so what was committed and not noted is not written again. Readers that read committed
records see each crossing once.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from streamgauge.alerts.outbox import Delivery
from streamgauge.alerts.undelivered import Undelivered
from streamgauge.kernel.errors import MissingRuntime
from streamgauge.plan.alert import Target

try:
    import confluent_kafka as kafka
except ImportError:
    kafka = None  # type: ignore[assignment]

TIMEOUT_SECONDS = 10.0


class KafkaSender:
    """Writes crossings to one topic.

    Parameters
    ----------
    target
        Brokers and topic.
    origin
        What tells the watcher of this home from others: a part of the transactional id.
    """

    def __init__(self, target: Target, origin: str) -> None:
        self.topic = target.detail
        digest = hashlib.sha256(target.key.encode()).hexdigest()[:16]
        self.identity = f"streamgauge-alerts-{origin}-{digest}"
        self._settings = {"bootstrap.servers": target.address, "log_level": 0}
        self._producer: Any = None
        self._group: Any = None
        self._written = 0

    def send(self, delivery: Delivery) -> None:
        """Write the record and its place in one transaction, unless they are there already."""
        if kafka is None:
            raise MissingRuntime(
                "Kafka needs another package",
                "confluent-kafka is not installed",
                "pip install 'streamgauge[kafka]'",
            )
        try:
            if self._producer is None:
                self._connect()
            if delivery.place > self._written:
                self._write(delivery)
        except kafka.KafkaException as error:
            # What became of the transaction is found out when the next attempt connects.
            self.close()
            raise Undelivered(f"Kafka: {error.args[0].str()}") from error

    def close(self) -> None:
        """Leave the broker."""
        producer, self._producer = self._producer, None
        group, self._group = self._group, None
        if producer is not None:
            producer.purge()
            producer.flush(0)
        if group is not None:
            group.close()

    def _connect(self) -> None:
        transactions = {
            "transactional.id": self.identity,
            "transaction.timeout.ms": int(1000 * TIMEOUT_SECONDS),
            "message.timeout.ms": int(1000 * TIMEOUT_SECONDS),
        }
        self._producer = kafka.Producer({**self._settings, **transactions})
        own = {"group.id": self.identity, "enable.auto.commit": False}
        self._group = kafka.Consumer({**self._settings, **own})
        # Ends a transaction that an earlier process of this identity left open.
        self._producer.init_transactions(TIMEOUT_SECONDS)
        (found,) = self._group.committed([self._place(0)], timeout=TIMEOUT_SECONDS)
        self._written = max(found.offset, 0)

    def _write(self, delivery: Delivery) -> None:
        crossing, producer = delivery.crossing, self._producer
        producer.begin_transaction()
        producer.produce(
            self.topic,
            json.dumps(crossing.as_dict()).encode(),
            key=crossing.alert.encode(),
            headers=[("id", crossing.id.encode())],
        )
        producer.flush(TIMEOUT_SECONDS)
        producer.send_offsets_to_transaction(
            [self._place(delivery.place)], self._group.consumer_group_metadata(), TIMEOUT_SECONDS
        )
        producer.commit_transaction(TIMEOUT_SECONDS)
        self._written = delivery.place

    def _place(self, place: int) -> Any:
        return kafka.TopicPartition(self.topic, 0, place)
