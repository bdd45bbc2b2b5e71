"""Reports over Kafka: topic `streamgauge.v1.<stream>.up` keyed by agent, replies on `.down`.

All agents of a stream share the two topics. An agent reads `.down` from its end and takes what
carries its name as key; whatever it missed while away it asks for with its next report.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

from streamgauge.edge.link import Credentials, LinkDown
from streamgauge.edge.mailbox import Mailbox
from streamgauge.edge.signing import signed
from streamgauge.kernel.errors import BindError, MissingRuntime

try:
    import confluent_kafka as kafka
except ImportError:
    kafka = None  # type: ignore[assignment]

PORT = 9092
POLL_SECONDS = 0.2
_NAME = re.compile(r"[A-Za-z0-9._-]{1,200}")


class KafkaLink:
    """A producer of reports and a reader of replies.

    Parameters
    ----------
    url
        `kafka://host:port` or `kafkas://host:port`; user and password may stand in it.
    stream, agent
        The stream names the topics, the agent is the key.
    credentials
        User, password and certificates, and the token that reports are signed with.
    wake
        Called when a reply comes that nobody waits for.
    """

    def __init__(
        self,
        url: str,
        stream: str,
        agent: str,
        credentials: Credentials,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self.url = url
        self.up, self.down = topics(stream)
        self.agent = agent.encode()
        self._stream, self._token = stream, credentials.token
        self._settings = settings(url, credentials)
        self._mail = Mailbox(wake)
        self._producer: Any = None
        self._reader: threading.Thread | None = None
        self._halt, self._ready = threading.Event(), threading.Event()

    def exchange(self, report: bytes, timeout: float) -> bytes:
        """Produce a report and wait for the reply that echoes it."""
        deadline = time.monotonic() + timeout
        if self._reader is None:
            self._connect()
        # The client finds its broker again by itself; giving it up would only take longer.
        if not self._ready.wait(timeout):
            raise self._down(f"topic {self.down} was not found within {timeout:g} s")
        self._mail.expect(report)
        carried = signed(report, self._token, self._stream)
        self._producer.produce(self.up, carried, key=self.agent)
        self._producer.poll(0)
        reply = self._mail.wait(deadline, lambda: not self._halt.is_set())
        if reply is None:
            raise self._down(f"no reply on {self.down} within {timeout:g} s")
        return reply

    def pushed(self) -> list[bytes]:
        """Replies that came unasked since this was last called."""
        return self._mail.unasked()

    def close(self) -> None:
        """Leave the broker."""
        self._halt.set()
        reader, self._reader = self._reader, None
        producer, self._producer = self._producer, None
        if reader is not None and reader is not threading.current_thread():
            reader.join()
        if producer is not None:
            producer.purge()
            producer.flush(0)

    def _connect(self) -> None:
        self._halt, self._ready = threading.Event(), threading.Event()
        self._producer = kafka.Producer({**self._settings, "acks": "all", "linger.ms": 0})
        self._reader = threading.Thread(
            target=self._read, args=(self._halt, self._ready), name="streamgauge-kafka", daemon=True
        )
        self._reader.start()

    def _read(self, halt: threading.Event, ready: threading.Event) -> None:
        """Hand replies over until told to stop."""
        group = {"group.id": f"streamgauge-{self.agent.decode()}", "enable.auto.commit": False}
        consumer = kafka.Consumer({**self._settings, **group})
        try:
            consumer.assign(ends(consumer, self.down, halt))
            ready.set()
            while not halt.is_set():
                message = consumer.poll(POLL_SECONDS)
                if message is not None and not message.error() and message.key() == self.agent:
                    self._mail.put(message.value() or b"")
        finally:
            consumer.close()

    def _down(self, detail: str) -> LinkDown:
        return LinkDown(
            "no reply came through Kafka",
            f"{self.url}: {detail}",
            "check the address, that the broker and the gauge run, and who may use the topics",
        )


def ends(consumer: Any, topic: str, halt: threading.Event) -> list[Any]:
    """Where the partitions of a topic end now; waits for a topic that is not there yet."""
    while not halt.is_set():
        try:
            found = consumer.list_topics(topic, timeout=1.0).topics[topic].partitions
            parts = [kafka.TopicPartition(topic, number) for number in found]
            for part in parts:
                _, part.offset = consumer.get_watermark_offsets(part, timeout=1.0)
            if parts:
                return parts
        except kafka.KafkaException:
            pass
        halt.wait(POLL_SECONDS)
    return []


def topics(stream: str) -> tuple[str, str]:
    """Topics of a stream, of reports and of replies.

    >>> topics("hosts")
    ('streamgauge.v1.hosts.up', 'streamgauge.v1.hosts.down')
    """
    if not _NAME.fullmatch(stream):
        raise BindError(
            "a name that cannot be part of a topic of Kafka",
            repr(stream),
            "use letters, digits, dot, dash and underscore",
        )
    return f"streamgauge.v1.{stream}.up", f"streamgauge.v1.{stream}.down"


def settings(url: str, credentials: Credentials) -> dict[str, Any]:
    """Settings of a client, for agents and for the coordinator."""
    if kafka is None:
        raise MissingRuntime(
            "Kafka needs another package",
            "confluent-kafka is not installed",
            "pip install 'streamgauge[kafka]'",
        )
    parts = urlsplit(url)
    tls = parts.scheme == "kafkas"
    user = unquote(parts.username) if parts.username else credentials.user
    password = unquote(parts.password) if parts.password else credentials.password
    found: dict[str, Any] = {
        "bootstrap.servers": f"{parts.hostname}:{parts.port or PORT}",
        "security.protocol": ("SASL_" if user else "") + ("SSL" if tls else "PLAINTEXT"),
        "log_level": 0,
    }
    if user:
        found |= {"sasl.mechanism": "PLAIN", "sasl.username": user, "sasl.password": password}
    files = {"ca": credentials.ca, "certificate": credentials.cert, "key": credentials.key}
    return found | {f"ssl.{name}.location": str(path) for name, path in files.items() if path}


def connect(
    url: str, stream: str, agent: str, credentials: Credentials, wake: Callable[[], None]
) -> KafkaLink:
    """The link for a kafka or kafkas address."""
    return KafkaLink(url, stream, agent, credentials, wake)
