"""Reports and readings through a real broker."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

from streamgauge.checks.waiting import wait_until
from streamgauge.edge.agent import Agent
from streamgauge.edge.link import Credentials, LinkDown, LinkRefused
from streamgauge.edge.link_mqtt import MqttLink
from streamgauge.edge.protocol import Reply, Report
from streamgauge.edge.readings import Reading, open_readings
from streamgauge.edge.readings_mqtt import WAITING, MqttReadings
from tests.edge.doors import MqttDoor, SafeDesk, broker

pytestmark = pytest.mark.broker
TIMEOUT = 30.0


def beat(sent: int) -> bytes:
    return Report("pump", "5f", 0, sent, 0).encode()


def test_reports_go_up_and_replies_come_down(tmp_path: Path) -> None:
    woken = threading.Event()
    with broker(tmp_path) as port, MqttDoor(port, "hosts", SafeDesk()) as door:
        link = MqttLink(f"mqtt://127.0.0.1:{port}", "hosts", "pump", Credentials(), woken.set)
        for sent in range(1, 4):
            assert Reply.decode(link.exchange(beat(sent), TIMEOUT)).echo == sent
        assert link.pushed() == []
        door.client.publish(door.down("pump"), Reply("5f", 0, 99, 1, 1).encode(), 1)
        assert woken.wait(TIMEOUT)
        assert [Reply.decode(data).echo for data in link.pushed()] == [99]
        link.close()


def test_without_a_coordinator_no_reply_comes(tmp_path: Path) -> None:
    with broker(tmp_path) as port:
        link = MqttLink(f"mqtt://127.0.0.1:{port}", "hosts", "pump", Credentials())
        with pytest.raises(LinkDown, match="no reply"):
            link.exchange(beat(1), 2.0)
        link.close()


def test_a_broker_that_asks_for_a_password_gets_it_or_refuses(tmp_path: Path) -> None:
    with (
        broker(tmp_path, password="s3cret") as port,
        MqttDoor(port, "hosts", SafeDesk(), "s3cret"),
    ):
        url = f"mqtt://127.0.0.1:{port}"
        link = MqttLink(url, "hosts", "pump", Credentials(user="agent", password="s3cret"))
        assert link.exchange(beat(1), TIMEOUT)
        link.close()
        wrong = MqttLink(url, "hosts", "pump", Credentials(user="agent", password="guess"))
        with pytest.raises(LinkRefused, match="the broker refuses"):
            wrong.exchange(beat(1), TIMEOUT)
        wrong.close()


def test_an_agent_goes_on_when_the_broker_comes_back(tmp_path: Path) -> None:
    desk = SafeDesk()
    with broker(tmp_path) as port:
        url = f"mqtt://127.0.0.1:{port}"
        agent = Agent(url, "hosts", "pump", timeout=5.0, beat="200 ms")
        with MqttDoor(port, "hosts", desk):
            agent.start()
            agent.feed("flow", 1.0)
            wait_until(lambda: desk.values() == [1.0], 60, what="the first value")
    wait_until(lambda: agent.trouble, 60, what="the agent to notice")
    agent.feed("flow", 2.0)
    with broker(tmp_path, port), MqttDoor(port, "hosts", desk):
        wait_until(lambda: desk.values() == [1.0, 2.0], 60, what="the value of the outage")
        assert agent.stop(60.0)


def test_more_messages_than_can_wait_leave_the_newest_of_each_topic() -> None:
    readings = MqttReadings("mqtt://127.0.0.1:1", "plant/+")
    readings._connect = lambda: None  # type: ignore[method-assign]
    for number in range(WAITING + 500):
        readings._take(f"plant/{number % 7}", str(number).encode())
    found = readings.read(0.0)
    assert found is not None
    assert len(found) == WAITING + 7
    assert readings.skipped == 500 - 7
    assert sorted(value for _, value, _ in found[-7:]) == [WAITING + 493.0 + n for n in range(7)]


def test_readings_of_topics(tmp_path: Path) -> None:
    with broker(tmp_path) as port:
        readings = open_readings(f"mqtt://127.0.0.1:{port}/plant/+/temp?field=celsius")
        assert readings.read(0.0) == []
        sensor = paho.Client(CallbackAPIVersion.VERSION2)
        sensor.connect("127.0.0.1", port)
        sensor.loop_start()
        for topic, payload in (
            ("plant/boiler/temp", "71.5"),
            ("plant/boiler/pressure", "3"),
            ("plant/hall/temp", '{"celsius": 20, "time": 12}'),
            ("plant/hall/temp", "hot"),
            ("plant/hall/temp", "null"),
        ):
            sensor.publish(topic, payload, 1)
        found: list[Reading] = []

        def come() -> bool:
            found.extend(readings.read(0.2) or [])
            return len(found) >= 3

        wait_until(come, 60, what="three readings")
        sensor.disconnect()
        sensor.loop_stop()
        readings.close()
    assert found[:2] == [(("boiler",), 71.5, None), (("hall",), 20.0, 12_000_000)]
    assert found[2][1] != found[2][1], "null says that the value is not known"
    assert readings.bad == 1
