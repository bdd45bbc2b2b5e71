"""Subscriber: hears topics of an MQTT broker and acknowledges what is on the disk, not before.

One thread reads what the broker sends, writes all that came meanwhile as one group, and then
acknowledges it. A broker keeps what was not acknowledged and sends it again, so nothing is lost
whatever dies; what comes again and was written before is recognised and dropped. When the spool
holds all it may, nothing is acknowledged: the subscriber leaves, and the broker keeps the rest
until there is room.
"""

from __future__ import annotations

import hashlib
import logging
import select
import ssl
import struct
import threading
import uuid
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamgauge.edge.backoff import Backoff
from streamgauge.edge.clock import wall_clock
from streamgauge.edge.mqtt_client import KEEPALIVE, QOS, BrokerAddress, check_installed
from streamgauge.engine.subscription import Subscription
from streamgauge.kernel.errors import EngineFailure, SourceFailure, StateTooOld, StreamgaugeError
from streamgauge.kernel.files import read_json, reading, write_json
from streamgauge.log.lock import holding
from streamgauge.log.messages import SCHEMA, Messages

try:
    from paho.mqtt import MQTTException
    from paho.mqtt.client import MQTTv5
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties
    from paho.mqtt.subscribeoptions import SubscribeOptions
except ImportError:
    MQTTException = OSError  # type: ignore[assignment,misc]

MESSAGES = "messages"
HEARD = "heard.json"
LOG = logging.getLogger(__name__)
PAUSE_SECONDS = 0.05
CONNECT_SECONDS = 10.0
# One that was killed a moment ago may still be on its way out.
LOCK_TRIES = 30
KNOWN_MESSAGES = 4_000
GROUP_BYTES = 8 << 20
# The retained message of a topic comes with a new subscription, not with each connection.
RETAINED_ONCE = 1


@dataclass(slots=True)
class Heard:
    """What a subscriber has seen of its broker.

    Parameters
    ----------
    connected
        Whether it is subscribed now.
    full
        Whether the broker has to wait because the spool holds all it may.
    messages, groups
        Written down, and by how many flushes.
    repeated
        Messages that came again and were dropped.
    oversized
        Messages of which only the size was kept.
    outages, sessions_lost
        Connections that broke; sessions that the broker had forgotten.
    trouble
        What keeps it from the broker now, if something does.
    """

    connected: bool = False
    full: bool = False
    messages: int = 0
    groups: int = 0
    repeated: int = 0
    oversized: int = 0
    outages: int = 0
    sessions_lost: int = 0
    trouble: str | None = None


class Subscriber:
    """Keeps the messages of a subscription in a spool while it runs.

    Parameters
    ----------
    subscription
        The topics, and where the spool is.
    """

    def __init__(self, subscription: Subscription) -> None:
        check_installed()
        self.asked = subscription
        self.directory = Path(subscription.spool)
        self.heard = Heard()
        self.failure: StreamgaugeError | None = None
        self._held = ExitStack()
        self._halt = threading.Event()
        self._thread: threading.Thread | None = None
        self._waiting: list[Any] = []
        self._size = 0
        self._met = self._met_now = False

    def open(self) -> Subscriber:
        """Take the spool and begin to listen; the broker may come later."""
        self._held.enter_context(self._hold())
        # A group is written before it is acknowledged, and acknowledgements of the one before
        # may be lost with the connection; brokers send a little more than they were asked to.
        # Some brokers have more under way than they were allowed.
        window = max(KNOWN_MESSAGES, 4 * self.asked.inflight)
        self.messages = Messages(
            self.directory / MESSAGES,
            limit=self.asked.limit,
            window=window,
            start=self.asked.start,
        )
        self._held.callback(self.messages.close)
        self._check_start()
        self.card = self._card()
        self._thread = threading.Thread(target=self._run, name="streamgauge-mqtt", daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Leave the broker, which keeps what is published meanwhile."""
        self._halt.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._held.close()

    def __enter__(self) -> Subscriber:
        return self.open()

    def __exit__(self, *_error: object) -> None:
        self.close()

    def check(self) -> None:
        """Raise what ended the listening, if something did."""
        if self.failure is not None:
            raise self.failure

    def _hold(self) -> ExitStack:
        held = ExitStack()
        for attempt in range(LOCK_TRIES):
            try:
                held.enter_context(holding(self.directory))
                break
            except EngineFailure as error:
                if attempt == LOCK_TRIES - 1:
                    raise EngineFailure(
                        f"the spool {self.directory} is in use",
                        error.detail,
                        "stop the job that uses it, or give each subscription a spool of its own",
                    ) from None
        return held

    def _check_start(self) -> None:
        if self.messages.next < self.asked.start:
            held = self.messages.next
            self._held.close()
            raise StateTooOld(
                "the spool is older than what was used of it",
                f"{self.asked.start} messages were used, {self.directory} has seen {held}",
                "bring the newer spool back, or remove this one",
            )

    def _card(self) -> dict[str, Any]:
        """Who we are to the broker, and what it was last asked for; kept with the spool."""
        path = self.directory / "subscription.json"
        with reading(path, "the card of a subscription"):
            kept = read_json(path) if path.exists() else {"format": 1, "topic": self.asked.topic}
            kept = dict(kept)
        kept.setdefault("client", f"streamgauge-{uuid.uuid4().hex[:20]}")
        if self.asked.client:
            kept["client"] = self.asked.client
        write_json(path, kept)
        return dict(kept)

    # Listening

    def _run(self) -> None:
        backoff = Backoff(self.asked.url + self.asked.topic)
        try:
            while not self._halt.is_set():
                self._wait_for_room()
                try:
                    self._listen()
                except StreamgaugeError:
                    raise
                except (OSError, *_NONSENSE) as error:
                    self.heard.trouble = str(error)
                if self._met_now:
                    backoff.reset()
                if not self.messages.full:
                    self._tell()
                    self._halt.wait(backoff.wait())
        except StreamgaugeError as error:
            self.failure = error
        finally:
            if not self._halt.is_set():
                self.failure = self.failure or EngineFailure(
                    f"nobody listens to {self.asked.topic!r} any more",
                    "the thread that did has ended",
                    "start again: the broker keeps what was not acknowledged",
                )
                self._tell()

    def _wait_for_room(self) -> None:
        """Stay away from the broker while the spool is full."""
        if not self.messages.full:
            return
        self.heard.full = True
        LOG.warning("the spool of %s holds all it may: the broker has to wait", self.asked.topic)
        self._tell()
        while self.messages.bytes > self.asked.limit // 2 and not self._halt.is_set():
            self._halt.wait(PAUSE_SECONDS)
        self.heard.full = False
        LOG.warning("the spool of %s has room again", self.asked.topic)

    def _listen(self) -> None:
        """Be connected until the connection breaks; what was not written then comes again."""
        address = self.asked.address()
        client = self._client(address)
        self._met_now = False
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = self.asked.expiry
        properties.ReceiveMaximum = min(self.asked.inflight, 65_535)
        try:
            client.connect(
                address.host, address.port, KEEPALIVE, clean_start=False, properties=properties
            )
        except ssl.SSLCertVerificationError as error:
            raise SourceFailure(
                "the broker's certificate is not believed",
                f"{address.shown}: {error.verify_message}",
                "give ca='file' with the certificate of who signed it",
            ) from error
        try:
            while not (self._halt.is_set() or self.messages.full) and self._pump(client):
                self._settle(client)
        finally:
            if self._met_now and not (self._halt.is_set() or self.messages.full):
                self.heard.outages += 1
            self.heard.connected = False
            self._waiting, self._size = [], 0
            client.disconnect()
            client.loop_write()

    def _client(self, address: BrokerAddress) -> Any:
        client = address.client(
            self.card["client"], protocol=MQTTv5, manual_ack=True, reconnect_on_failure=False
        )
        client.connect_timeout = CONNECT_SECONDS
        client.on_connect = self._connected
        client.on_subscribe = self._subscribed
        client.on_message = self._take
        # Answers wait until `_pump` writes them: the socket is used by one thread, here.
        client.on_socket_register_write = lambda *_said: None
        return client

    def _pump(self, client: Any) -> bool:
        """Take what the broker has sent; False when the connection is gone."""
        pause = PAUSE_SECONDS
        while _readable(client, pause):
            if client.loop_read() or client.socket() is None:
                return False
            pause = 0.0
            if len(self._waiting) >= self.asked.inflight or self._size >= GROUP_BYTES:
                break
        if client.loop_misc() or (client.want_write() and client.loop_write()):
            return False
        if self.failure is not None:
            raise self.failure
        return client.socket() is not None

    def _connected(self, client: Any, _data: Any, flags: Any, code: Any, _more: Any) -> None:
        if code.is_failure:
            self.heard.trouble = f"the broker refuses this client: {code}"
            if not self._met:
                self.failure = SourceFailure(
                    "the broker refuses this client",
                    f"{code}; user {self.asked.user or None!r}, client {self.card['client']!r}",
                    "check user, password and certificates, and that the broker speaks MQTT 5",
                )
            return
        if not flags.session_present:
            # Packet numbers begin anew: an equal one says nothing any more.
            self.messages.forget_seen()
            if "since" in self.card:
                LOG.warning(
                    "the broker has forgotten the subscription to %s: what was published while "
                    "nobody listened is not here",
                    self.asked.topic,
                )
                self.heard.sessions_lost += 1
        if self.card["topic"] != self.asked.topic:
            client.unsubscribe(self.card["topic"])
        options = SubscribeOptions(qos=QOS, retainHandling=RETAINED_ONCE)
        client.subscribe(self.asked.topic, options=options)

    def _subscribed(self, _client: Any, _data: Any, _id: Any, codes: Any, _more: Any) -> None:
        refused = [str(code) for code in codes if code.is_failure]
        if refused:
            self.failure = SourceFailure(
                "the broker refuses this subscription",
                f"topic {self.asked.topic!r}: {', '.join(refused)}",
                "check what the broker lets this user read",
            )
            return
        if self.card != (known := {**self.card, "topic": self.asked.topic, "since": True}):
            self.card = known
            write_json(self.directory / "subscription.json", known)
        self.heard.trouble = None
        self.heard.connected = self._met = self._met_now = True
        self._tell()

    def _take(self, _client: Any, _data: Any, message: Any) -> None:
        self._waiting.append((message, wall_clock()))
        self._size += len(message.payload)

    # Writing

    def _settle(self, client: Any) -> None:
        """Write down what came, then acknowledge it."""
        if not self._waiting:
            return
        came, self._waiting, self._size = self._waiting, [], 0
        rows = self._new_rows(came)
        if rows:
            columns = [list(column) for column in zip(*rows, strict=True)]
            arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
            self.messages.append(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA))
            self.heard.messages += len(rows)
            self.heard.groups += 1
        for message, _ in came:
            if message.qos:
                client.ack(message.mid, message.qos)
        client.loop_write()

    def _new_rows(self, came: list[Any]) -> list[tuple[Any, ...]]:
        """Messages as rows, without those that were written before."""
        # A later message under a number shows that the earlier one was acknowledged.
        seen: dict[int, int] | None = None
        rows: list[tuple[Any, ...]] = []
        for message, received in came:
            topic, payload = _topic(message), message.payload
            digest = _digest(topic, payload)
            if message.dup:
                if seen is None:
                    seen = {known[0]: known[1] for known in self.messages.seen}
                    seen.update((row[6], row[7]) for row in rows)
                if seen.get(message.mid) == digest:
                    self.heard.repeated += 1
                    continue
            if seen is not None:
                seen[message.mid] = digest
            size = len(payload)
            if size > self.asked.max_message:
                self.heard.oversized += 1
                payload = None
            packet = message.mid if message.qos else 0
            retained = bool(message.retain)
            rows.append((topic, payload, received, message.qos, retained, size, packet, digest))
        return rows

    def _tell(self) -> None:
        """Write what was heard beside the spool, for whoever looks."""
        if self.heard.trouble and not self.heard.connected:
            LOG.warning("no messages of %s: %s", self.asked.topic, self.heard.trouble)
        failure = None if self.failure is None else self.failure.as_dict()
        write_json(self.directory / HEARD, {**asdict(self.heard), "failure": failure})


# Answers that no broker should give.
_NONSENSE = (struct.error, MQTTException)


def _readable(client: Any, pause: float) -> bool:
    link = client.socket()
    if link is None:
        return False
    if isinstance(link, ssl.SSLSocket) and link.pending():
        return True
    return bool(select.select([link], [], [], pause)[0])


def _topic(message: Any) -> str:
    """The topic; bytes that are no text are written as numbers."""
    try:
        return str(message.topic)
    except UnicodeDecodeError as error:
        return error.object.decode("utf-8", "backslashreplace")


def _digest(topic: str, payload: bytes) -> int:
    """A number that tells messages from each other."""
    size = len(topic).to_bytes(4, "little")
    told = hashlib.blake2b(size + topic.encode() + payload, digest_size=8).digest()
    return int.from_bytes(told, "little", signed=True)
