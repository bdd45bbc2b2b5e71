"""Publishers whose every message is counted, for tests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from streamgauge.checks.waiting import wait_until
from tests.mosquitto_broker import Mosquitto

paho = pytest.importorskip("paho.mqtt.client")
PATIENCE = 90


class Publisher:
    """Publishes and knows what the broker has acknowledged."""

    def __init__(self, broker: Mosquitto, user: str | None = None, password: str = "") -> None:
        self.acknowledged: set[int] = set()
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2)
        self.client.max_queued_messages_set(0)
        self.client.max_inflight_messages_set(500)
        if user is not None:
            self.client.username_pw_set(user, password)
        self.client.on_publish = lambda _c, _d, mid, *_more: self.acknowledged.add(mid)
        self.client.connect("127.0.0.1", broker.port)
        self.client.loop_start()
        wait_until(self.client.is_connected, PATIENCE, what="the publisher to be connected")

    def send(self, topic: str, payload: bytes | str, qos: int = 1, retain: bool = False) -> int:
        return int(self.client.publish(topic, payload, qos, retain).mid)

    def send_all(self, topic: str, payloads: list[str]) -> None:
        """Publish, and return when the broker has taken all."""
        sent = {self.send(topic, payload) for payload in payloads}
        wait_until(lambda: sent <= self.acknowledged, PATIENCE, what="the broker to take all")

    def __enter__(self) -> Publisher:
        return self

    def __exit__(self, *_error: object) -> None:
        self.client.disconnect()
        self.client.loop_stop()


class Flow:
    """A publisher that goes on until it is told to stop; `sent` is what the broker has taken."""

    def __init__(self, broker: Mosquitto, topic: str, text: Callable[[int], str]) -> None:
        self._broker, self._topic, self._text = broker, topic, text
        self._halt = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.sent: list[str] = []

    def _run(self) -> None:
        with Publisher(self._broker) as publisher:
            number = 0
            while not self._halt.wait(0.005):
                some = [self._text(number + k) for k in range(20)]
                publisher.send_all(self._topic, some)
                self.sent += some
                number += 20

    def __enter__(self) -> Flow:
        self._thread.start()
        return self

    def __exit__(self, *_error: Any) -> None:
        self._halt.set()
        self._thread.join()
