"""Readings from the topics of a broker: sensors that publish numbers or small JSON objects."""

from __future__ import annotations

import json
import threading
import time
from urllib.parse import urlsplit

from streamgauge.edge.backoff import Backoff
from streamgauge.edge.link import Credentials, LinkDown
from streamgauge.edge.link_mqtt import Broker
from streamgauge.edge.readings import Key, Reading
from streamgauge.edge.readings_lines import time_of, value_of
from streamgauge.kernel.errors import BindError

# Messages that wait to be filtered; beyond that the newest one of each topic is kept.
WAITING = 20_000
CONNECT = 5.0


class MqttReadings:
    """What sensors publish to a broker.

    A payload is a number, or a JSON object with the number under `field` and perhaps `time`.
    `null` or `nan` says that the value is not known.

    Parameters
    ----------
    url
        The broker.
    topic
        What to subscribe to; `+` and `#` stand for levels.
    key
        `wildcards`: the levels that + and # stand for are the parts of the key; `topic`: the whole
        topic is the key.
    field
        Where the value is in an object.
    credentials
        For the broker.
    """

    period: float | None = None
    ends = False

    def __init__(
        self,
        url: str,
        topic: str,
        *,
        key: str = "wildcards",
        field: str = "value",
        name: str = "",
        credentials: Credentials | None = None,
    ) -> None:
        self.bad = 0
        self.skipped = 0
        self.blind = True
        self.outages = 0
        self._topic = topic
        self._key = key
        self._field = field
        self._broker = Broker(url, name, credentials or Credentials())
        self._news = threading.Condition()
        self._queue: list[tuple[str, bytes]] = []
        self._newest: dict[str, bytes] = {}
        self._backoff = Backoff(url + topic)
        self._next = 0.0

    def read(self, wait: float) -> list[Reading] | None:
        """Readings that came; the connection is made anew when it is lost."""
        self._connect()
        with self._news:
            if not self._queue:
                self._news.wait(wait)
            messages = [*self._queue, *self._newest.items()]
            self._queue, self._newest = [], {}
        found: list[Reading] = []
        for message in messages:
            self._parse(message, found)
        return found

    def close(self) -> None:
        """Leave the broker."""
        self._broker.close()

    def _connect(self) -> None:
        client = self._broker.client
        if client is not None and client.is_connected():
            return
        if not self.blind:
            self.blind = True
            self.outages += 1
        if time.monotonic() < self._next:
            return
        try:
            self._broker.connect(self._topic, self._take, CONNECT)
            self.blind = False
            self._backoff.reset()
        except LinkDown:
            self._next = time.monotonic() + self._backoff.wait()

    def _take(self, topic: str, payload: bytes) -> None:
        with self._news:
            if len(self._queue) < WAITING:
                self._queue.append((topic, payload))
            else:
                self.skipped += topic in self._newest
                self._newest[topic] = payload
            self._news.notify()

    def _parse(self, message: tuple[str, bytes], found: list[Reading]) -> None:
        topic, payload = message
        told = None
        try:
            if payload[:1] == b"{":
                body = json.loads(payload)
                value = value_of(body[self._field])
                told = None if body.get("time") is None else time_of(body["time"])
            else:
                value = value_of(None if payload == b"null" else payload)
            found.append(
                (key_of(self._topic, topic) if self._key != "topic" else topic, value, told)
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            self.bad += 1


def key_of(pattern: str, topic: str) -> Key:
    """Parts of a topic that wildcards stand for; all of it where there are none.

    >>> key_of("plant/+/temp", "plant/boiler/temp"), key_of("plant/#", "plant/a/b")
    (('boiler',), ('a', 'b'))
    >>> key_of("plant/temp", "plant/temp")
    ('plant/temp',)
    """
    parts = topic.split("/")
    found: list[str] = []
    for place, level in enumerate(pattern.split("/")):
        if level == "+":
            found.append(parts[place])
        elif level == "#":
            found.extend(parts[place:])
    return tuple(found) or (topic,)


def opened(rest: str, options: dict[str, str], credentials: Credentials) -> MqttReadings:
    """A broker: `mqtt://host:port/plant/+/temp?field=celsius&key=topic`."""
    address, _, topic = rest.partition("://")[2].partition("/")
    url = f"{urlsplit(rest).scheme}://{address}"
    if not address or not topic:
        raise BindError(
            "a broker without a topic", rest, "write for example mqtt://127.0.0.1:1883/plant/+/temp"
        )
    key = options.pop("key", "wildcards")
    if key not in ("wildcards", "topic"):
        raise BindError(f"no such key: {key!r}", "known are wildcards, topic", "write key=topic")
    return MqttReadings(
        url,
        topic,
        key=key,
        field=options.pop("field", "value"),
        name=options.pop("name", ""),
        credentials=credentials,
    )
