"""A topic as its broker tells of it: which partitions there are, and which offsets they hold.

Asked through the client that Spark's connector brings along, with the same settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError

from streamgauge.kernel.errors import SourceFailure

ASK_MILLISECONDS = 10_000
_CLASSES = ("key.deserializer", "value.deserializer")
_AWAY = ("TimeoutException", "DisconnectException", "NetworkException", "RetriableException")


class TopicAway(SourceFailure):
    """The broker does not answer, or has no such topic yet: ask again later."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Offsets of a partition: the first that is there, and the one after the last."""

    first: int
    end: int


def topic_bounds(
    session: Any, servers: str, topic: str, options: dict[str, str]
) -> dict[int, Bounds]:
    """The offsets of each partition of a topic, asked now; TopicAway when nobody can tell."""
    jvm = session._jvm
    settings = jvm.java.util.HashMap()
    for name, value in options.items():
        settings.put(name.removeprefix("kafka."), value)
    settings.put("bootstrap.servers", servers)
    settings.put("default.api.timeout.ms", str(ASK_MILLISECONDS))
    settings.put("request.timeout.ms", str(ASK_MILLISECONDS // 2))
    settings.put("allow.auto.create.topics", "false")
    for name in _CLASSES:
        settings.put(name, "org.apache.kafka.common.serialization.ByteArrayDeserializer")
    try:
        consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(settings)
    except Py4JJavaError as error:
        raise _refused(servers, topic, error) from error
    try:
        return _asked(jvm, consumer, servers, topic)
    except Py4JJavaError as error:
        raise _refused(servers, topic, error) from error
    finally:
        consumer.close()


def _asked(jvm: Any, consumer: Any, servers: str, topic: str) -> dict[int, Bounds]:
    found = consumer.listTopics().get(topic)
    if found is None or not found.size():
        raise TopicAway(
            f"there is no topic {topic!r} yet",
            f"asked {servers}",
            "create it; the stream begins when it is there",
        )
    partitions = jvm.java.util.ArrayList()
    for info in found:
        partitions.add(jvm.org.apache.kafka.common.TopicPartition(topic, info.partition()))
    firsts, ends = consumer.beginningOffsets(partitions), consumer.endOffsets(partitions)
    return {p.partition(): Bounds(int(firsts[p]), int(ends[p])) for p in partitions}


def _refused(servers: str, topic: str, error: Py4JJavaError) -> SourceFailure:
    kind = str(error.java_exception.getClass().getSimpleName())
    said = str(error.java_exception.getMessage())
    if kind in _AWAY:
        return TopicAway(
            f"the broker at {servers} does not answer",
            f"{kind}: {said}",
            "start it, or check the address; it is asked again until it answers",
        )
    return SourceFailure(
        f"topic {topic!r} at {servers} cannot be read",
        f"{kind}: {said}",
        "check the address and the kafka. options of the stream",
    )
