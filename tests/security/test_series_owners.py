"""Attacks by agents: none speaks for a series of another, over HTTP, MQTT or Kafka."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamgauge.coordinator.agents import Refusal
from streamgauge.coordinator.claims import NO_CLAIMS, Claims
from streamgauge.coordinator.door_http import HttpDoor
from streamgauge.coordinator.door_kafka import KafkaDoor
from streamgauge.coordinator.door_mqtt import MqttDoor
from streamgauge.coordinator.intake import Intake
from streamgauge.coordinator.options import Address, Options
from streamgauge.coordinator.tokens import Tokens
from streamgauge.edge.protocol import Reply, Report
from streamgauge.edge.signing import opened, signed
from streamgauge.filters.bound import Update
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.kernel.time import SECOND
from tests.coordinator.world import START, STREAM

ANN, EVE, OPS, PUMPS = "token-of-ann", "token-of-eve", "token-of-ops", "token-of-pumps"
LINES = f"{ANN}\n{EVE}\n{OPS} takeover\n{PUMPS} pump-* series:pump*\n"


def at(seconds: float) -> int:
    return START + round(seconds * SECOND)


def told(agent: str, seq: int, seconds: float, value: float, key: str = "cpu") -> Report:
    now = at(seconds)
    update = Update(0, now, value, 0)
    return Report(agent, f"boot-of-{agent}", seq, now, now, [(0, (key,))], [update])


class Desk:
    """An intake on a clock that the test moves."""

    stream = STREAM

    def __init__(self, directory: Path) -> None:
        self.directory, self.seconds = directory, 1.0
        self.intake = self.open()

    def open(self) -> Intake:
        return Intake(STREAM, Options(), self.directory, lambda: at(self.seconds))

    def take(self, data: bytes, claims: Claims = NO_CLAIMS) -> Reply:
        return self.intake.take(data, at(self.seconds), claims)

    def status(self) -> dict[str, Any]:
        return {}

    def owner(self, key: str) -> str:
        return self.intake.cache.bounds[self.intake.cache.places[key,]].agent

    def silent(self, seconds: float) -> None:
        self.seconds = seconds
        self.intake.close(at(seconds - 5))


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    (tmp_path / "tokens").write_text(LINES)
    return Tokens.read(tmp_path / "tokens")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "spool")
    yield made
    made.intake.stop()


def by_http(desk: Desk, tokens: Tokens) -> Callable[[Report, str], Any]:
    door = HttpDoor(desk, Options(), tokens)

    def send(report: Report, token: str) -> Any:
        try:
            return door._take(report.encode(), token)
        except StreamgaugeError:
            return None

    return send


def by_mqtt(desk: Desk, tokens: Tokens) -> Callable[[Report, str], Any]:
    pytest.importorskip("paho.mqtt.client")
    broker = Address("mqtt", "127.0.0.1", 1)
    door = MqttDoor(desk, Options(broker=broker), tokens)
    sent: list[bytes] = []
    door._client = SimpleNamespace(publish=lambda _topic, data, _qos: sent.append(data))

    def send(report: Report, token: str) -> Any:
        sent.clear()
        door._answer(report.agent, signed(report.encode(), token, STREAM.name))
        return Reply.decode(sent[0]) if sent else None

    return send


def by_kafka(desk: Desk, tokens: Tokens) -> Callable[[Report, str], Any]:
    pytest.importorskip("confluent_kafka")
    broker = Address("kafka", "127.0.0.1", 1)
    door = KafkaDoor(desk, Options(broker=broker), tokens)
    sent: list[bytes] = []
    producer = SimpleNamespace(produce=lambda _topic, data, key: sent.append(data))

    def send(report: Report, token: str) -> Any:
        sent.clear()
        payload = signed(report.encode(), token, STREAM.name)
        door._answer(producer, report.agent.encode(), payload)
        return Reply.decode(sent[0]) if sent else None

    return send


@pytest.mark.parametrize("link", [by_http, by_mqtt, by_kafka])
def test_a_series_stays_with_its_agent_silent_or_not(
    desk: Desk, tokens: Tokens, link: Callable[[Desk, Tokens], Callable[[Report, str], Any]]
) -> None:
    send = link(desk, tokens)
    assert send(told("ann", 1, 1, 7.0), ANN).ack == 1
    assert send(told("eve", 1, 1, 99.0), EVE).ack == 1, "her report is taken, not the series"
    desk.silent(40)
    assert "ann" in desk.intake.cache.unheard
    assert send(told("eve", 2, 40, 99.0), EVE).ack == 2
    assert desk.owner("cpu") == "ann"
    assert send(told("ann", 2, 41, 99.0), EVE) is None, "nor under the name of the silent agent"
    rows = desk.intake.close(at(39)).rows
    assert all(row.value != 99.0 for row in rows)
    assert desk.intake.agents["eve"].tally.refused >= 2
    desk.intake.stop()
    desk.intake = desk.open()
    assert desk.owner("cpu") == "ann"
    assert send(told("ops", 1, 42, 8.0), OPS).ack == 1, "a token that says so takes it over"
    assert desk.owner("cpu") == "ops"
    desk.intake.stop()
    desk.intake = desk.open()
    assert desk.owner("cpu") == "ops"


@pytest.mark.parametrize("link", [by_mqtt, by_kafka])
def test_a_broker_carries_only_signed_reports_where_there_are_tokens(
    desk: Desk, tokens: Tokens, link: Callable[[Desk, Tokens], Callable[[Report, str], Any]]
) -> None:
    send = link(desk, tokens)
    report = told("ann", 1, 1, 7.0)
    assert send(report, "") is None
    assert send(report, "token-of-none") is None
    assert not desk.intake.agents
    message = signed(report.encode(), ANN, STREAM.name)
    assert tokens.signer(message, STREAM.name)[0] == ANN
    assert tokens.signer(message, "other-stream")[0] is None
    changed = message.replace(b"7.0", b"9.0")
    assert tokens.signer(changed, STREAM.name)[0] is None
    assert ANN.encode() not in message
    assert opened(b"sg1 short")[0] is None


def test_series_that_the_operator_declared_belong_to_their_token(
    desk: Desk, tokens: Tokens
) -> None:
    send = by_http(desk, tokens)
    send(told("eve", 1, 1, 99.0, "pump1"), EVE)
    assert ("pump1",) not in desk.intake.cache.places, "not even when she comes first"
    assert send(told("pump-1", 1, 1, 5.0, "pump1"), PUMPS).ack == 1
    assert desk.owner("pump1") == "pump-1"
    send(told("pump-2", 1, 1, 5.0, "boiler"), PUMPS)
    assert ("boiler",) not in desk.intake.cache.places
    assert send(told("boiler", 1, 1, 5.0), PUMPS) is None, "the token is tied to names"


def test_the_operator_gives_a_series_away_by_forgetting_its_agent(
    desk: Desk, tokens: Tokens
) -> None:
    send = by_http(desk, tokens)
    send(told("ann", 1, 1, 7.0), ANN)
    assert send(told("bob", 1, 1, 8.0), EVE).known
    desk.intake.forget("ann")
    assert not send(Report("bob", "boot-of-bob", 1, at(2), at(2)), EVE).known, "announce again"
    send(told("bob", 2, 2, 8.0), EVE)
    assert desk.owner("cpu") == "bob"


def test_a_token_that_is_replaced_keeps_its_agents(desk: Desk, tokens: Tokens) -> None:
    by_http(desk, tokens)(told("ann", 1, 1, 7.0), ANN)
    renewed = Tokens((("token-of-ann-2", ()), (EVE, ())))
    assert by_http(desk, renewed)(told("ann", 2, 2, 7.0), "token-of-ann-2").ack == 2


def test_nothing_of_a_token_is_kept(desk: Desk, tokens: Tokens) -> None:
    by_http(desk, tokens)(told("ann", 1, 1, 7.0), ANN)
    desk.intake.rotate()
    desk.intake.stop()
    kept = b"".join(path.read_bytes() for path in desk.directory.rglob("*") if path.is_file())
    assert b"boot-of-ann" in kept
    assert ANN.encode() not in kept


def test_records_of_an_earlier_release_are_read_as_they_were_taken(desk: Desk) -> None:
    desk.take(told("ann", 1, 1, 7.0).encode())
    desk.silent(40)
    desk.intake.rotate()
    snapshot = json.loads(json.dumps(desk.intake._as_dict()))
    for agent in snapshot["agents"]:
        del agent["claims"]
    later = told("eve", 1, 40, 8.0)
    for format, owner in ((1, "eve"), (2, "ann")):
        intake = replace_with(desk, {**snapshot, "format": format})
        intake._fold_report(later, at(40), 0)
        assert intake.cache.bounds[0].agent == owner
        intake.stop()


def replace_with(desk: Desk, snapshot: dict[str, Any]) -> Intake:
    other = Desk(desk.directory.with_name(f"other-{snapshot['format']}")).intake
    other._load(snapshot)
    return other


def test_an_agent_with_many_names_cannot_squat_on_one(desk: Desk, tokens: Tokens) -> None:
    send = by_http(desk, tokens)
    send(told("pump-1", 1, 1, 7.0), EVE)
    desk.silent(40)
    named = replace(told("pump-1", 1, 40, 5.0, "pump1"), boot="boot-of-the-pump")
    assert send(named, PUMPS).ack == 1, "the file names the agent behind this token"
    with pytest.raises(Refusal, match="belongs to another token"):
        desk.take(told("pump-1", 2, 40, 9.0).encode(), tokens.claims(EVE, "pump-1"))
