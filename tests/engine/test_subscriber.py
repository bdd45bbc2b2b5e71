"""The subscriber, with a real broker on loopback."""

from __future__ import annotations

import gc
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streamgauge.checks.waiting import wait_until
from streamgauge.engine.subscriber import Subscriber
from streamgauge.engine.subscription import Subscription
from streamgauge.kernel.errors import BindError, EngineFailure, SourceFailure
from streamgauge.log.messages import Messages
from tests import forked
from tests.certificate import certificate
from tests.engine.listener import main
from tests.mosquitto_broker import USER, Mosquitto
from tests.mqtt_publishing import PATIENCE, Flow, Publisher, paho

pytestmark = [pytest.mark.slow, pytest.mark.broker, pytest.mark.kills]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    (tmp_path / "broker").mkdir()
    with Mosquitto(tmp_path / "broker", keeps=True) as found:
        yield found


def options(broker: Mosquitto, tmp_path: Path, **more: str) -> dict[str, str]:
    spool = str(tmp_path / "spool")
    return {"url": broker.url, "topic": "sensors/#", "spool": spool, **more}


def subscriber(broker: Mosquitto, tmp_path: Path, **more: str) -> Subscriber:
    return Subscriber(Subscription.of(options(broker, tmp_path, **more)))


def ready(found: Subscriber) -> Subscriber:
    wait_until(lambda: found.heard.connected or found.failure, PATIENCE, what="a subscription")
    found.check()
    return found


def column(messages: Messages, name: str) -> list[object]:
    pieces = messages.pieces(messages.first, messages.next)
    return [value for p in pieces for b in p.batches() for value in b[name].to_pylist()]


def kept(tmp_path: Path) -> Counter[str]:
    """Payloads in the spool, and how often each is there."""
    messages = Messages(tmp_path / "spool" / "messages", limit=1 << 30, window=10)
    found = Counter(bytes(payload).decode() for payload in column(messages, "payload"))
    messages.close()
    return found


def once(payloads: list[str]) -> Counter[str]:
    return Counter(dict.fromkeys(payloads, 1))


def test_all_messages_of_several_publishers_are_kept_once(
    broker: Mosquitto, tmp_path: Path
) -> None:
    with subscriber(broker, tmp_path) as heard:
        ready(heard)
        sent: list[str] = []
        for name in "abc":
            with Publisher(broker) as publisher:
                some = [f"{name}{k}" for k in range(700)]
                publisher.send_all(f"sensors/{name}", some)
                sent += some
        wait_until(lambda: heard.messages.next == len(sent), PATIENCE, what="all messages")
        assert heard.messages.flushes < len(sent) / 2, "many messages share a flush"
        assert set(column(heard.messages, "topic")) == {"sensors/a", "sensors/b", "sensors/c"}
    assert kept(tmp_path) == once(sent)


def test_what_is_published_while_nobody_listens_is_kept_by_the_broker(
    broker: Mosquitto, tmp_path: Path
) -> None:
    with subscriber(broker, tmp_path) as heard:
        ready(heard)
    with Publisher(broker) as publisher:
        publisher.send_all("sensors/a", ["1", "2", "3"])
    with subscriber(broker, tmp_path) as heard:
        wait_until(lambda: heard.messages.next == 3, PATIENCE, what="what was kept")
        assert heard.heard.sessions_lost == 0
    assert kept(tmp_path) == once(["1", "2", "3"])


@pytest.mark.parametrize("kills", [2, pytest.param(5, marks=pytest.mark.nightly)])
def test_a_killed_listener_loses_nothing_and_repeats_nothing(
    broker: Mosquitto, tmp_path: Path, kills: int
) -> None:
    told, output = json.dumps(options(broker, tmp_path)), tmp_path / "listener.log"
    parts = tmp_path / "spool" / "messages"

    def written() -> int:
        return sum(part.stat().st_size for part in parts.glob("*.spool"))

    def killed_after(condition: Callable[[], object], what: str) -> None:
        listener = forked.start(main, told, output=output)
        try:
            forked.wait_for(listener, condition, 2 * PATIENCE, what=what, every=0.001)
        finally:
            forked.kill(listener)

    killed_after((tmp_path / "spool" / "heard.json").exists, "the first subscription")
    with (
        Flow(broker, "sensors/a", lambda k: f"a{k}") as one,
        Flow(broker, "sensors/b", lambda k: f"b{k}") as other,
    ):
        for turn in range(kills):
            # Some thousand bytes more than before, a different number each time.
            enough = written() + 7_000 + 3_100 * turn
            killed_after(lambda n=enough: written() > n, "messages to be written")
    sent = one.sent + other.sent
    with subscriber(broker, tmp_path) as heard:
        wait_until(lambda: heard.messages.next >= len(sent), PATIENCE, what="all messages")
        wait_until(lambda: not heard._waiting, PATIENCE)
    assert kept(tmp_path) == once(sent)


def test_a_message_that_was_written_and_not_acknowledged_is_not_kept_twice(
    broker: Mosquitto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Publisher(broker) as publisher:
        with subscriber(broker, tmp_path) as heard:
            ready(heard)
            monkeypatch.setattr(paho.Client, "ack", lambda *_said: 0)
            publisher.send_all("sensors/a", ["x", "y", "x"])
            wait_until(lambda: heard.messages.next == 3, PATIENCE, what="three messages")
        monkeypatch.undo()
        with subscriber(broker, tmp_path) as heard:
            wait_until(lambda: heard.heard.repeated == 3, PATIENCE, what="three of them again")
            publisher.send_all("sensors/a", ["x"])
            wait_until(lambda: heard.messages.next == 4, PATIENCE, what="one more")
    assert kept(tmp_path) == Counter({"x": 3, "y": 1})


def test_a_broker_goes_and_comes_back(broker: Mosquitto, tmp_path: Path) -> None:
    with subscriber(broker, tmp_path) as heard:
        ready(heard)
        with Publisher(broker) as publisher:
            publisher.send_all("sensors/a", ["before"])
        wait_until(lambda: heard.messages.next == 1, PATIENCE, what="the first message")
        broker.stop()
        wait_until(lambda: not heard.heard.connected, PATIENCE, what="the outage")
        assert heard.heard.outages == 1
        broker.start()
        with Publisher(broker) as publisher:
            publisher.send_all("sensors/a", ["after"])
        wait_until(lambda: heard.messages.next == 2, PATIENCE, what="the second message")
        assert heard.heard.sessions_lost == 0
    assert kept(tmp_path) == once(["before", "after"])


def test_a_broker_that_forgets_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "broker").mkdir()
    with Mosquitto(tmp_path / "broker") as broker, subscriber(broker, tmp_path) as heard:
        ready(heard)
        with caplog.at_level(logging.WARNING, "streamgauge"):
            broker.kill()
            broker.start()
            wait_until(lambda: heard.heard.sessions_lost == 1, PATIENCE, what="the lost session")
        assert "has forgotten the subscription to sensors/#" in caplog.text
        assert list(heard.messages.seen) == []


def test_a_full_spool_holds_the_broker_back_and_recovers(broker: Mosquitto, tmp_path: Path) -> None:
    body = "x" * 500
    sent = [f"{k:04d}{body}" for k in range(400)]
    with subscriber(broker, tmp_path, limit="60000", inflight="20") as heard:
        ready(heard)
        with Publisher(broker) as publisher:
            publisher.send_all("sensors/a", sent)
        wait_until(lambda: heard.heard.full, PATIENCE, what="a full spool")
        at_most = 60_000 + 20 * 2_000
        assert heard.messages.bytes < at_most
        found: list[object] = []
        while len(found) < len(sent):
            start = len(found)
            wait_until(lambda s=start: heard.messages.next > s, PATIENCE, what="more messages")
            stop = heard.messages.next
            for piece in heard.messages.pieces(start, stop):
                found += [v for b in piece.batches() for v in b["payload"].to_pylist()]
            heard.messages.let_go(stop)
            assert heard.messages.bytes < at_most
        assert [bytes(payload).decode() for payload in found] == sent


def test_wildcards_retained_and_large_messages(broker: Mosquitto, tmp_path: Path) -> None:
    with Publisher(broker) as publisher:
        publisher.send("sensors/a/temp", "1", retain=True)
        publisher.send_all("sensors/a/wet", ["2"])
        asked = {"topic": "sensors/+/temp", "max_message": "1000"}
        for _ in range(2):
            with subscriber(broker, tmp_path, **asked) as heard:
                ready(heard)
        with subscriber(broker, tmp_path, **asked) as heard:
            ready(heard)
            publisher.send_all("sensors/b/temp", ["3", "4" * 1001])
            publisher.send_all("sensors/b/wet", ["5"])
            publisher.send("sensors/c/temp", "6", qos=0)
            wait_until(lambda: heard.messages.next == 4, PATIENCE, what="four messages")
            assert column(heard.messages, "topic") == [
                "sensors/a/temp", "sensors/b/temp", "sensors/b/temp", "sensors/c/temp",
            ]  # fmt: skip
            assert column(heard.messages, "retained") == [True, False, False, False]
            assert column(heard.messages, "payload") == [b"1", b"3", None, b"6"]
            assert column(heard.messages, "size") == [1, 1, 1001, 1]
            assert column(heard.messages, "qos") == [1, 1, 1, 0]
            assert heard.heard.oversized == 1


def test_another_topic_replaces_the_first(broker: Mosquitto, tmp_path: Path) -> None:
    with subscriber(broker, tmp_path) as heard:
        ready(heard)
    with Publisher(broker) as publisher, subscriber(broker, tmp_path, topic="rooms/#") as heard:
        ready(heard)
        publisher.send_all("sensors/a", ["old"])
        publisher.send_all("rooms/a", ["new"])
        wait_until(lambda: heard.messages.next == 1, PATIENCE, what="a message")
    assert kept(tmp_path) == once(["new"])


def test_a_password_comes_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broker").mkdir()
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n")
    monkeypatch.setenv("BROKER_PASSWORD", "s3cret")
    with Mosquitto(tmp_path / "broker", password="s3cret") as broker:
        for given in ({"password_file": str(secret)}, {"password_env": "BROKER_PASSWORD"}):
            with subscriber(broker, tmp_path, user=USER, **given) as heard:
                ready(heard)
        secret.write_text("wrong")
        with subscriber(broker, tmp_path, user=USER, password_file=str(secret)) as heard:
            wait_until(lambda: heard.failure, PATIENCE, what="a refusal")
            with pytest.raises(SourceFailure, match="refuses this client") as told:
                heard.check()
    assert "wrong" not in str(told.value)
    with pytest.raises(BindError, match="with its password"):
        Subscription.of({"url": "mqtt://a:b@127.0.0.1", "topic": "t", "spool": "s"})


# The client leaves the socket of a handshake that failed to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_broker_with_tls_is_believed_by_its_ca_only(tmp_path: Path) -> None:
    (tmp_path / "broker").mkdir()
    tls = certificate(tmp_path)
    with Mosquitto(tmp_path / "broker", tls=tls) as broker:
        with subscriber(broker, tmp_path, ca=str(tls[0])) as heard:
            ready(heard)
        with subscriber(broker, tmp_path) as heard:
            wait_until(lambda: heard.failure, PATIENCE, what="a refusal")
            assert "certificate is not believed" in str(heard.failure)
        heard.failure = None
        gc.collect()


def test_a_spool_has_one_listener(
    broker: Mosquitto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamgauge.engine.subscriber.LOCK_TRIES", 1)
    with subscriber(broker, tmp_path), pytest.raises(EngineFailure, match="is in use"):
        subscriber(broker, tmp_path).open()


def test_a_disk_that_fails_ends_the_listening_without_an_acknowledgement(
    broker: Mosquitto, tmp_path: Path
) -> None:
    with Publisher(broker) as publisher:
        with subscriber(broker, tmp_path) as heard:
            ready(heard)
            heard.messages._file.close()
            with (tmp_path / "spool" / "subscription.json").open("rb") as read_only:
                heard.messages._file = read_only  # type: ignore[assignment]
                publisher.send_all("sensors/a", ["kept by the broker"])
                wait_until(lambda: heard.failure, PATIENCE, what="the failure")
                with pytest.raises(EngineFailure, match="no longer be written"):
                    heard.check()
        with subscriber(broker, tmp_path) as heard:
            wait_until(lambda: heard.messages.next == 1, PATIENCE, what="it to come again")
    assert kept(tmp_path) == once(["kept by the broker"])
