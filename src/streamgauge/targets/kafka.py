"""Kafka: topics that alerts and answers are written to, each once."""

from __future__ import annotations

import re

from streamgauge.kernel.errors import BindError
from streamgauge.targets.target_kind import Detail, Goods, TargetKind

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_BROKERS = re.compile(r"[A-Za-z0-9._-]+:[0-9]{1,5}(,[A-Za-z0-9._-]+:[0-9]{1,5})*")


def is_brokers(address: str) -> bool:
    """Whether a text names brokers of Kafka.

    >>> is_brokers("one:9092,two:9092"), is_brokers("http://one")
    (True, False)
    """
    return _BROKERS.fullmatch(address) is not None


def is_topic(name: str) -> bool:
    """Whether a text can be the name of a topic of Kafka.

    >>> is_topic("plant.answers"), is_topic("two words")
    (True, False)
    """
    return _TOPIC.fullmatch(name) is not None


def _check(address: str, detail: str, goods: Goods) -> None:
    if not is_brokers(address) or not is_topic(detail):
        raise BindError(
            "Kafka needs brokers and a topic",
            f"got {address!r} and {detail!r}",
            f"write TO KAFKA 'host:9092' TOPIC '{goods}'",
        )


TARGET = TargetKind(
    "kafka",
    title="Kafka",
    address="Brokers",
    example="broker:9092",
    check=_check,
    shown=lambda address, detail: f"kafka {address}, topic {detail}",
    text="A record for each alert or answer; readers of committed records see each once.",
    detail=Detail("TOPIC", "Topic", "alerts"),
    login=True,
    formats=("json",),
    sender="streamgauge.alerts.kafka_sender:sender",
    writer="streamgauge.sinks.topic:writer",
)
