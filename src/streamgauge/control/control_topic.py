"""Control topic: statements from a topic of Kafka, taken in order, each once.

The topic is a log of the registry that several homes can read: each ends with the same streams and
queries. A record is a text of statements that are kept all or none. It is tried at once; one that
does not fit changes nothing and is told, and the next is taken.
"""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from streamgauge.control.ledger import Ledger
from streamgauge.edge.backoff import Backoff
from streamgauge.edge.link import Credentials
from streamgauge.edge.link_kafka import settings
from streamgauge.execute.catalog import Catalog
from streamgauge.execute.script import Script
from streamgauge.execute.trial import Trial
from streamgauge.gauge import Gauge
from streamgauge.kernel.errors import BindError, EngineFailure, StreamgaugeError
from streamgauge.kernel.secrets import resolved, shape

try:
    import confluent_kafka as kafka
    from confluent_kafka import admin
except ImportError:
    kafka = None  # type: ignore[assignment]

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.2
TIMEOUT_SECONDS = 10.0


class ControlTopic:
    """Takes statements of a topic while its block runs.

    Parameters
    ----------
    gauge
        What the statements change.
    address
        `kafka://host:port/topic`, or `kafkas` for TLS.
    replies
        A topic that is told what came of each record; None: refusals are in the log only.
    root
        Directory that relative paths in statements start from.

    Examples
    --------
    >>> import tempfile, streamgauge as sg
    >>> gauge = sg.connect(tempfile.mkdtemp(), engine="local")
    >>> ControlTopic(gauge, "kafka://127.0.0.1:9092")
    Traceback (most recent call last):
        ...
    streamgauge.kernel.errors.BindError: no control topic in 'kafka://127.0.0.1:9092'
      detail: an address names a scheme kafka or kafkas, a host and one topic
      hint: write kafka://127.0.0.1:9092/statements, for example
    """

    def __init__(
        self, gauge: Gauge, address: str, *, replies: str | None = None, root: Path | None = None
    ) -> None:
        parts = urlsplit(shape(address))
        self.gauge = gauge
        self.topic = parts.path.strip("/")
        self.replies = replies
        self.root = root
        one = self.topic and "/" not in self.topic and parts.hostname
        if parts.scheme not in ("kafka", "kafkas") or not one:
            raise BindError(
                f"no control topic in {parts.scheme + '://' + parts.netloc.rpartition('@')[2]!r}",
                "an address names a scheme kafka or kafkas, a host and one topic",
                "write kafka://127.0.0.1:9092/statements, for example",
            )
        self._settings = settings(resolved(address, url=True), Credentials())
        self.ledger = Ledger(gauge.home, self.topic)
        self.catalog = Catalog(gauge.home)
        self.taken = self.refused = 0
        self.ready = threading.Event()
        self.current = threading.Event()
        self.failure: StreamgaugeError | None = None
        self._halt = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> ControlTopic:
        self._recover()
        name = f"streamgauge-control-{self.topic}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._halt.set()
        if self._thread is not None:
            self._thread.join()

    def check(self) -> None:
        """Raise what ended the reading, if something did."""
        if self.failure is not None:
            raise self.failure

    def wait(self) -> None:
        """Return when all that the topic had at some moment since the start is taken."""
        while not self.current.wait(POLL_SECONDS):
            self.check()

    def take(self, offset: int, value: bytes | None) -> dict[str, Any]:
        """Make the changes of one record, or none of them; return what is told of it."""
        told: dict[str, Any] = {"topic": self.topic, "offset": offset, "ok": True}
        told["home"] = self.gauge.home.root.name
        try:
            trial = Trial(self.catalog.expected())
            # Whoever may write to the topic is a client, not the operator.
            roots = self.gauge.home.roots
            outcomes = Script(self.gauge, trial, root=self.root, roots=roots).run(_text(value))
            told["did"] = [str(outcome) for outcome in outcomes if outcome.did]
            self.gauge.take(trial, lambda tried, _home: self.ledger.leave(offset, tried, told))
            self.taken += 1
        except EngineFailure:
            # The disk or the job, not the statement: the record stays to be taken.
            raise
        except StreamgaugeError as error:
            said = {"what": error.what, "detail": error.detail, "hint": error.hint}
            told = {**told, "ok": False, **said}
            told.pop("did", None)
            self.ledger.refuse(offset, told)
            self.refused += 1
            LOG.warning("statement %d of %s is refused: %s", offset, self.topic, error.what)
        return told

    def _recover(self) -> None:
        """Leave what a crash has kept from the inbox, under the names it was to have."""
        missing = self.ledger.missing()
        if not missing:
            return
        trial = Trial(self.catalog.expected())
        for _, record in missing:
            trial.apply(record)
        self.gauge.take(trial, lambda _tried, _home: self.ledger.leave_again(missing))

    def _run(self) -> None:
        backoff = Backoff(self.topic)
        try:
            while not self._halt.is_set():
                try:
                    self._read(backoff)
                except kafka.KafkaException as error:
                    self.ready.clear()
                    LOG.warning("the control topic %s is away: %s", self.topic, _said(error))
                    self._halt.wait(backoff.wait())
        except StreamgaugeError as error:
            self.failure = error
            LOG.error("the control topic %s is read no more: %s", self.topic, error)
        finally:
            self.ready.clear()

    def _read(self, backoff: Backoff) -> None:
        consumer = kafka.Consumer(
            {
                **self._settings,
                "group.id": f"streamgauge-control-{self.topic}",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
            }
        )
        producer = kafka.Producer({**self._settings, "enable.idempotence": True})
        try:
            start = self._start(consumer)
            consumer.assign([kafka.TopicPartition(self.topic, 0, start)])
            if self.ledger.reply is not None:
                # Whether it was told before the last end is not known: it may come twice.
                self._tell(producer, self.ledger.reply)
            self.ready.set()
            backoff.reset()
            while not self._halt.is_set():
                message = consumer.poll(POLL_SECONDS)
                if message is None:
                    self._note_current(consumer)
                    continue
                if message.error():
                    raise kafka.KafkaException(message.error())
                offset = message.offset()
                assert offset is not None, "a record that was read has an offset"
                self._tell(producer, self.take(offset, message.value()))
        finally:
            consumer.close()

    def _start(self, consumer: Any) -> int:
        """Offset to go on from; raise when records before it are gone."""
        found = consumer.list_topics(self.topic, timeout=TIMEOUT_SECONDS)
        count = len(found.topics[self.topic].partitions)
        if not count:
            self._make_topic()
        elif count > 1:
            raise BindError(
                f"the control topic {self.topic!r} has {count} partitions",
                "statements have one order, and partitions have none between them",
                "use a topic of one partition",
            )
        one = kafka.TopicPartition(self.topic, 0)
        low, high = consumer.get_watermark_offsets(one, timeout=TIMEOUT_SECONDS)
        if self.ledger.next is None and low:
            LOG.warning("the first %d statements of %s are gone", low, self.topic)
        self.ledger.meet(found.cluster_id, low)
        start = self.ledger.next
        assert start is not None, "met"
        if not low <= start <= high:
            raise EngineFailure(
                f"statements of the control topic {self.topic!r} are gone",
                f"the next is {start}, the topic has {low} to {high}",
                "keep the topic longer than a home may be away; bring it back, or take a new home",
            )
        return start

    def _note_current(self, consumer: Any) -> None:
        if not self.current.is_set():
            (place,) = consumer.position([kafka.TopicPartition(self.topic, 0)])
            reached = max(place.offset, self.ledger.next or 0)
            high = consumer.get_watermark_offsets(place, timeout=TIMEOUT_SECONDS)[1]
            if reached >= high:
                self.current.set()

    def _make_topic(self) -> None:
        client = admin.AdminClient(self._settings)
        new = admin.NewTopic(self.topic, 1)  # type: ignore[attr-defined]
        for made in client.create_topics([new]).values():
            made.result(timeout=TIMEOUT_SECONDS)

    def _tell(self, producer: Any, reply: dict[str, Any]) -> None:
        if self.replies is not None:
            key = str(reply["offset"]).encode()
            producer.produce(self.replies, json.dumps(reply).encode(), key=key)
            producer.flush(TIMEOUT_SECONDS)


def _text(value: bytes | None) -> str:
    try:
        return (value or b"").decode()
    except UnicodeDecodeError as error:
        raise BindError(
            "a statement that is no text", str(error), "write statements in UTF-8"
        ) from None


def _said(error: Any) -> str:
    return str(error.args[0].str())
