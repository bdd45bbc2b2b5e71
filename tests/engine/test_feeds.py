"""Streams are fed for as long as they are declared, whoever declares them, and it is told how."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.engine.feeds import Feeds
from streamgauge.kernel.errors import EngineFailure, SourceFailure
from streamgauge.log.feeding import feeding_of
from streamgauge.log.home import Home
from streamgauge.log.replay import ReplayWriter
from tests.mosquitto_broker import Mosquitto
from tests.mqtt_publishing import PATIENCE

pytestmark = pytest.mark.slow

QUERY = "CREATE QUERY warm AS SELECT AVG(value) FROM plant [RANGE 10 SECONDS] EVERY 5 SECONDS"
PLANT = "CREATE STREAM plant FROM PLANT (3, 1, 100) TIME ts KEY series"


@pytest.fixture
def gauge(tmp_path: Path) -> Iterator[sg.Gauge]:
    with sg.connect(tmp_path / "home", engine="local", shards=1) as made:
        yield made


def elsewhere(gauge: sg.Gauge) -> sg.Gauge:
    """The same home as another process has it, which does not run the job."""
    return sg.connect(gauge.home.root, engine="local")


def shown(gauge: sg.Gauge, name: str) -> dict[str, Any]:
    found = gauge.sql("SHOW STREAMS")
    assert isinstance(found, pa.Table)
    (row,) = [row for row in found.to_pylist() if row["name"] == name]
    return {"feed": row["feed"], "reason": row["reason"]}


def until_shown(gauge: sg.Gauge, name: str, state: str) -> str:
    """Wait until a stream is shown in a state; the reason."""
    wait_until(lambda: shown(gauge, name)["feed"] == state, PATIENCE, what=f"{name} {state}")
    return str(shown(gauge, name)["reason"])


def feeding_threads(name: str) -> list[str]:
    found = [thread.name for thread in threading.enumerate()]
    return [thread for thread in found if thread == f"streamgauge-feed-{name}"]


def test_a_stream_that_another_process_declares_is_fed_until_it_is_dropped(
    gauge: sg.Gauge,
) -> None:
    gauge.start()
    other = elsewhere(gauge)
    other.sql(f"{PLANT}; {QUERY}")
    wait_until(lambda: gauge.answers("warm").num_rows > 0, PATIENCE, what="an answer")
    assert until_shown(other, "plant", "reading") == ""
    other.sql("DROP QUERY warm; DROP STREAM plant")
    wait_until(lambda: not feeding_threads("plant"), PATIENCE, what="the end of the feed")
    wait_until(lambda: feeding_of(gauge.home, "plant") is None, PATIENCE, what="no word of it")


def test_a_stream_that_is_dropped_here_is_fed_no_longer(gauge: sg.Gauge) -> None:
    gauge.sql(PLANT)
    gauge.start()
    assert feeding_threads("plant")
    gauge.sql("DROP STREAM plant")
    wait_until(lambda: not feeding_threads("plant"), PATIENCE, what="the end of the feed")


def test_a_stream_that_is_declared_again_with_another_source_is_fed_from_that(
    tmp_path: Path,
) -> None:
    declared = []
    for sensors in (3, 5):
        gauge = sg.connect(tmp_path / f"{sensors}", engine="local", shards=1)
        gauge.stream("plant", sg.plant(n_sensors=sensors), time="ts", key="series")
        declared.append(gauge.trial().registry.streams["plant"])
    feeds = Feeds(Home.open(tmp_path / "home", shards=1), lambda: None)
    try:
        feeds.start(declared[:1])
        feeds.start(declared[1:])
        assert [feed.stream for feed in feeds._all()] == declared[1:]
        assert len(feeding_threads("plant")) == 1, "the old one has ended"
    finally:
        feeds.stop()


def test_a_stream_that_this_job_cannot_feed_holds_nothing_up(
    gauge: sg.Gauge, caplog: pytest.LogCaptureFixture
) -> None:
    gauge.sql(f"{PLANT}; {QUERY}")
    gauge.start()
    elsewhere(gauge).sql(
        "CREATE STREAM k (ts TIME, id STRING, v FLOAT) FROM KAFKA '127.0.0.1:1' TOPIC 't' "
        "TIME ts KEY id"
    )
    assert "this gauge runs on the local engine" in until_shown(elsewhere(gauge), "k", "failed")
    assert "stream k is not fed" in caplog.text
    before = gauge.answers("warm").num_rows
    wait_until(lambda: gauge.answers("warm").num_rows > before + 2, PATIENCE, what="answers")
    gauge.check()
    elsewhere(gauge).sql("DROP STREAM k")
    wait_until(lambda: feeding_of(gauge.home, "k") is None, PATIENCE, what="no word of it")


def test_a_start_that_is_refused_leaves_no_job_behind(gauge: sg.Gauge) -> None:
    other = elsewhere(gauge)
    other.sql("CREATE STREAM k (ts TIME, v FLOAT) FROM KAFKA '127.0.0.1:1' TOPIC 't' TIME ts")
    again = elsewhere(gauge)
    with pytest.raises(SourceFailure, match="is read from Kafka by Spark"):
        again.start()
    assert not again.running
    other.sql("DROP STREAM k")
    with elsewhere(gauge) as third:
        third.start()
        assert third.running, "the lock of the home is free"


def test_a_recording_that_has_been_played_has_ended(gauge: sg.Gauge, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("ts,n\n1700000000000000,1\n1700000001000000,2\n")
    gauge.sql(f"CREATE STREAM r FROM REPLAY '{tmp_path / 'data'}' SPEED MAX TIME ts")
    gauge.start()
    assert until_shown(gauge, "r", "ended") == ""
    gauge.stop()
    assert shown(gauge, "r") == {"feed": "", "reason": ""}, "no job, no word of now"


def test_a_feed_that_fails_is_told_and_ends_the_waiting(
    gauge: sg.Gauge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("ts,n\n1700000000000000,1\n")

    def broken(*_said: object) -> None:
        raise pa.ArrowInvalid("a page of the recording is torn")

    monkeypatch.setattr(ReplayWriter, "write", broken)
    gauge.sql(f"CREATE STREAM r FROM REPLAY '{tmp_path / 'data'}' SPEED MAX TIME ts")
    gauge.start()
    assert "a page of the recording is torn" in until_shown(gauge, "r", "failed")
    with pytest.raises(EngineFailure, match="rows of stream 'r' cannot be written"):
        gauge.check()
    gauge.stop()
    assert shown(gauge, "r")["feed"] == "failed", "what ended a job is told after its end"


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.kills
def test_a_broker_that_is_away_is_told(gauge: sg.Gauge, tmp_path: Path) -> None:
    (tmp_path / "broker").mkdir()
    with Mosquitto(tmp_path / "broker", keeps=True) as broker:
        gauge.sql(
            "CREATE STREAM m (id INT, mqtt_topic STRING, mqtt_received TIME) FROM MQTT "
            f"'{broker.url}' TOPIC 'sensors/#' FORMAT json KEY mqtt_topic TIME mqtt_received"
        )
        gauge.start()
        until_shown(gauge, "m", "reading")
        broker.stop()
        until_shown(gauge, "m", "waiting")
        wait_until(lambda: "refused" in shown(gauge, "m")["reason"], PATIENCE, what="the reason")
        told = feeding_of(gauge.home, "m")
        broker.start()
        until_shown(gauge, "m", "reading")
        again = feeding_of(gauge.home, "m")
        assert told is not None
        assert again is not None
        assert again.since > told.since
        gauge.check()
