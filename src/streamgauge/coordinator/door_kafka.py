"""Kafka's door: reports from `streamgauge.v1.<stream>.up`, replies to `.down`, keyed by agent.

A report that is refused is not answered; its agent sends it again. Offsets are not what keeps
reports: agents repeat what was not acknowledged, so this reads from the end of the topic.
"""

from __future__ import annotations

import threading
from typing import Any
from urllib.parse import unquote

from streamgauge.coordinator.door_http import Desk, carried
from streamgauge.coordinator.options import Options
from streamgauge.coordinator.tokens import NO_TOKENS, Tokens
from streamgauge.edge.link import Credentials
from streamgauge.edge.link_kafka import ends, settings, topics
from streamgauge.edge.protocol import Report
from streamgauge.kernel.errors import StreamgaugeError

try:
    import confluent_kafka as kafka
    from confluent_kafka import admin
except ImportError:
    kafka = None  # type: ignore[assignment]

POLL_SECONDS = 0.2
RETRY_SECONDS = 1.0


class KafkaDoor:
    """A reader of reports and a producer of replies that come back when the broker does.

    Parameters
    ----------
    desk
        Who takes the reports.
    options
        The broker, and the files for TLS.
    tokens
        What reports must be signed with; the broker does not say who wrote a record.
    """

    def __init__(self, desk: Desk, options: Options, tokens: Tokens = NO_TOKENS) -> None:
        assert options.broker is not None, "a broker's door needs a broker"
        self.desk = desk
        self.tokens = tokens
        self.up, self.down = topics(desk.stream.name)
        at, files = options.broker, (options.ca, options.cert, options.key)
        user, password = (said and unquote(said) for said in (at.user, at.password))
        given = Credentials(None, user, password, *files)
        self._settings = settings(f"{at.scheme}://{at.host}:{at.port}", given)
        self.refused = 0
        self.ready = threading.Event()
        self._halt = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Connect, now or when the broker is there; `ready` is set while it reads."""
        self._halt.clear()
        name = f"streamgauge-kafka-{self.desk.stream.name}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Leave the broker; reports in work are finished."""
        self._halt.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while not self._halt.is_set():
            try:
                self._make_topics()
                self._read()
            except kafka.KafkaException:
                self.ready.clear()
                self._halt.wait(RETRY_SECONDS)

    def _make_topics(self) -> None:
        """Make the topics that are not there; one partition keeps each agent's reports in order."""
        client = admin.AdminClient(self._settings)
        there = client.list_topics(timeout=RETRY_SECONDS).topics
        wanted = [name for name in (self.up, self.down) if name not in there]
        new = [admin.NewTopic(name, 1) for name in wanted]  # type: ignore[attr-defined]
        for made in (client.create_topics(new) if new else {}).values():
            made.result(timeout=30)

    def _read(self) -> None:
        group = {"group.id": f"streamgauge-{self.desk.stream.name}", "enable.auto.commit": False}
        consumer = kafka.Consumer({**self._settings, **group, "auto.offset.reset": "latest"})
        producer = kafka.Producer({**self._settings, "linger.ms": 0})
        try:
            consumer.assign(ends(consumer, self.up, self._halt))
            self.ready.set()
            while not self._halt.is_set():
                message = consumer.poll(POLL_SECONDS)
                if message is not None and not message.error():
                    self._answer(producer, message.key() or b"", message.value() or b"")
                producer.poll(0)
        finally:
            self.ready.clear()
            consumer.close()
            producer.flush(1.0)

    def _answer(self, producer: Any, agent: bytes, payload: bytes) -> None:
        try:
            report, claims = carried(self.tokens, payload, self.desk.stream.name)
            named = Report.decode(report).agent.encode() == agent
            reply = self.desk.take(report, claims) if named else None
        except StreamgaugeError:
            reply = None
        if reply is None:
            self.refused += 1
        else:
            producer.produce(self.down, reply.encode(), key=agent)
