"""The broker's door, with a real broker on loopback."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streamgauge.checks.waiting import wait_until
from streamgauge.coordinator.agents import Refusal
from streamgauge.coordinator.claims import NO_CLAIMS, Claims
from streamgauge.coordinator.door_mqtt import MqttDoor
from streamgauge.coordinator.options import Address, Options
from streamgauge.edge.protocol import Reply, Report
from tests.coordinator.world import STREAM
from tests.mosquitto_broker import Mosquitto, free_port

paho = pytest.importorskip("paho.mqtt.client")
pytestmark = [pytest.mark.broker, pytest.mark.kills]


class Clerk:
    """Takes reports of any agent but one."""

    stream = STREAM

    def take(self, data: bytes, claims: Claims = NO_CLAIMS) -> Reply:
        report = Report.decode(data)
        if report.agent == "unwanted":
            raise Refusal("no", "n", "h", status=409)
        return Reply(report.boot, report.seq, report.sent, 6, 7)

    def status(self) -> dict[str, Any]:
        return {}


class Client:
    """An agent's side: publishes reports, hears replies."""

    def __init__(self, port: int, *agents: str) -> None:
        self.heard: queue.Queue[tuple[str, bytes]] = queue.Queue()
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2)
        self.client.on_message = lambda _c, _d, m: self.heard.put((m.topic, m.payload))
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        wait_until(self.client.is_connected, 60)
        for agent in agents:
            self.client.subscribe(f"streamgauge/v1/hosts/down/{agent}", 1)

    def send(self, agent: str, report: bytes) -> None:
        self.client.publish(f"streamgauge/v1/hosts/up/{agent}", report, 1)

    def stop(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    with Mosquitto(tmp_path) as made:
        yield made


@pytest.fixture
def door(broker: Mosquitto) -> Iterator[MqttDoor]:
    made = MqttDoor(Clerk(), Options(broker=Address("mqtt", "127.0.0.1", broker.port)))
    made.start()
    assert made.ready.wait(30)
    yield made
    made.stop()


def report(agent: str, seq: int) -> bytes:
    return Report(agent, "boot", seq, 5, 4).encode()


def test_replies_go_to_the_agent_that_asked(broker: Mosquitto, door: MqttDoor) -> None:
    client = Client(broker.port, "a", "b")
    for agent, seq in (("a", 1), ("b", 2), ("a", 3)):
        client.send(agent, report(agent, seq))
    heard = [client.heard.get(timeout=30) for _ in range(3)]
    found = sorted((topic[-1], Reply.decode(data).ack) for topic, data in heard)
    assert found == [("a", 1), ("a", 3), ("b", 2)]
    client.stop()


def test_what_is_refused_is_not_answered(broker: Mosquitto, door: MqttDoor) -> None:
    client = Client(broker.port, "a", "unwanted")
    client.send("a", b"no report")
    client.send("a", report("b", 1))
    client.send("unwanted", report("unwanted", 1))
    client.send("a", report("a", 2))
    assert Reply.decode(client.heard.get(timeout=30)[1]).ack == 2
    wait_until(lambda: door.refused == 3, 60, what="three refusals")
    assert client.heard.empty()
    client.stop()


def test_the_door_comes_back_with_the_broker(broker: Mosquitto, door: MqttDoor) -> None:
    broker.stop()
    wait_until(lambda: not door.ready.is_set(), 60, what="the connection to be lost")
    broker.start()
    assert door.ready.wait(60)
    client = Client(broker.port, "a")
    client.send("a", report("a", 1))
    assert Reply.decode(client.heard.get(timeout=30)[1]).ack == 1
    client.stop()


def test_a_broker_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    port = free_port()
    door = MqttDoor(Clerk(), Options(broker=Address("mqtt", "127.0.0.1", port)))
    door.start()
    door.stop()
    assert not door.ready.is_set()
