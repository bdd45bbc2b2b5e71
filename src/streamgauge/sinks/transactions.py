"""Transactions: records and the place they stand for are in a topic of Kafka together, or not.

The place is committed as the offset of a consumer group that nobody reads with. After a crash
the group says how far the topic has come, so what was committed and not noted is not written
again. Readers that read committed records see each once.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from streamgauge.kernel.errors import MissingRuntime
from streamgauge.kernel.login import Login
from streamgauge.sources.kafka_login import native_settings

try:
    import confluent_kafka as kafka
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic
except ImportError:
    kafka = None  # type: ignore[assignment]

# What the broker or the way to it does wrong; none where there is no client.
FAILURES: tuple[type[Exception], ...] = () if kafka is None else (kafka.KafkaException,)

TIMEOUT_SECONDS = 10.0
# What may wait in the producer: more than one transaction ever has.
MOST_WAITING = 200_000


class Record(NamedTuple):
    """What is written: the key, the value and the headers of a record."""

    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]


class TransactionalTopic:
    """One topic, written by one process at a time.

    Parameters
    ----------
    brokers
        Addresses of the brokers.
    topic
        The topic; it is made where it is missing and the brokers allow it.
    identity
        Who writes. Whoever connects with it ends what an earlier one has begun and shuts it out.
    login
        Who we are to the brokers.
    timeout
        Seconds that a step may take, and after which the brokers end what was left open.
    """

    def __init__(
        self,
        brokers: str,
        topic: str,
        identity: str,
        *,
        login: Login | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self.topic = topic
        self.identity = identity
        self.timeout = timeout
        self.login = login or Login()
        self._settings: dict[str, Any] = {"bootstrap.servers": brokers, "log_level": 0}
        self._producer: Any = None
        self._group: Any = None

    @property
    def connected(self) -> bool:
        """Whether there is a connection."""
        return self._producer is not None

    def connect(self) -> int | None:
        """Become the one who writes; return the place of what is there, None before the first."""
        if kafka is None:
            raise MissingRuntime(
                "Kafka needs another package",
                "confluent-kafka is not installed",
                "pip install 'streamgauge[kafka]'",
            )
        self._settings |= native_settings(self.login)
        self._make_topic()
        milliseconds = int(1000 * self.timeout)
        transactions = {
            "transactional.id": self.identity,
            "transaction.timeout.ms": milliseconds,
            "message.timeout.ms": milliseconds,
            "compression.type": "lz4",
            "linger.ms": 5,
            "queue.buffering.max.messages": MOST_WAITING,
            # As the clients of Java place keys.
            "partitioner": "murmur2_random",
        }
        self._producer = kafka.Producer({**self._settings, **transactions})
        own = {"group.id": self.identity, "enable.auto.commit": False}
        self._group = kafka.Consumer({**self._settings, **own})
        # Ends a transaction that an earlier process of this identity left open.
        self._producer.init_transactions(self.timeout)
        (found,) = self._group.committed([self._place(0)], timeout=self.timeout)
        return found.offset if found.offset >= 0 else None

    def _make_topic(self) -> None:
        admin = AdminClient(self._settings)
        known = admin.list_topics(self.topic, timeout=self.timeout).topics
        if self.topic not in known or known[self.topic].error is not None:
            (made,) = admin.create_topics([NewTopic(self.topic, -1, -1)]).values()
            try:
                made.result(self.timeout)
            except kafka.KafkaException as error:
                if error.args[0].code() != kafka.KafkaError.TOPIC_ALREADY_EXISTS:
                    raise

    def write(self, records: Iterable[Record], place: int) -> None:
        """Write records and their place in one transaction."""
        producer = self._producer
        producer.begin_transaction()
        for record in records:
            try:
                producer.produce(self.topic, record.value, key=record.key, headers=record.headers)
            except BufferError:
                # Large records fill the producer before many do.
                producer.flush(self.timeout)
                producer.produce(self.topic, record.value, key=record.key, headers=record.headers)
        producer.send_offsets_to_transaction(
            [self._place(place)], self._group.consumer_group_metadata(), self.timeout
        )
        # Waits until all records are taken, and fails where one was not.
        producer.commit_transaction(self.timeout)

    def close(self) -> None:
        """Leave the brokers; what is not committed is not there."""
        producer, self._producer = self._producer, None
        group, self._group = self._group, None
        if producer is not None:
            # One that was shut out refuses even to forget what it has.
            with suppress(*FAILURES):
                producer.purge()
                producer.flush(0)
        if group is not None:
            group.close()

    def _place(self, place: int) -> Any:
        return kafka.TopicPartition(self.topic, 0, place)


def is_shut_out(error: Exception) -> bool:
    """Whether somebody else has connected with the identity of a writer."""
    if kafka is None or not isinstance(error, kafka.KafkaException):
        return False
    fenced = (kafka.KafkaError._FENCED, kafka.KafkaError.PRODUCER_FENCED,
              kafka.KafkaError.INVALID_PRODUCER_EPOCH)  # fmt: skip
    return error.args[0].code() in fenced
