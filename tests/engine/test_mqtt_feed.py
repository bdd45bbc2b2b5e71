"""A stream from a real broker on the local engine: every message once, whatever dies."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.kernel.errors import BindError
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal
from tests import forked
from tests.engine.mqtt_job import SCHEMA, declared, main
from tests.mosquitto_broker import Mosquitto
from tests.mqtt_publishing import PATIENCE, Flow, Publisher

pytestmark = [pytest.mark.slow, pytest.mark.broker]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    (tmp_path / "broker").mkdir()
    with Mosquitto(tmp_path / "broker", keeps=True) as found:
        yield found


def text(number: int) -> str:
    at = f"2026-01-01T00:{number // 60 % 60:02d}:{number % 60:02d}Z"
    return json.dumps({"id": number, "ts": at, "value": float(number)})


def listening(gauge: sg.Gauge) -> None:
    heard = gauge.home.root / "mqtt" / "m" / "heard.json"
    wait_until(
        lambda: heard.exists() and json.loads(heard.read_text())["connected"],
        PATIENCE,
        what="the subscription",
    )


def rows(home: Home, name: str) -> list[object]:
    """A column of all rows that the journal refers to."""
    journal = Journal(home)
    pages = [journal.page(number) for number in range(1, journal.last() + 1)]
    paths = [segment.path for page in pages for segment in page.segments]
    return [value for path in paths for value in pq.read_table(path)[name].to_pylist()]


def landed(home: Home) -> Counter[tuple[object, object]]:
    """Topic and number of each row, and how often it is there."""
    return Counter(zip(rows(home, "mqtt_topic"), rows(home, "id"), strict=False))


def test_messages_are_rows_and_what_is_none_is_a_dead_letter(
    broker: Mosquitto, tmp_path: Path
) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local", shards=1)
    gauge.sql(
        f"CREATE STREAM m (id INT, ts TIME, value FLOAT, mqtt_topic STRING) FROM MQTT "
        f"'{broker.url}' TOPIC 'sensors/+/temp' FORMAT json KEY mqtt_topic TIME ts "
        "LATE ALLOW 1 DAY;"
        "CREATE QUERY many AS SELECT COUNT(value) FROM m [SINCE '2026-01-01'] GROUP BY mqtt_topic"
    )
    with gauge, Publisher(broker) as publisher:
        gauge.start()
        listening(gauge)
        for name in "ab":
            publisher.send_all(f"sensors/{name}/temp", [text(k) for k in range(300)])
        bad = ["junk", "", '{"id": 1, "value": 3}', '{"ts": "never", "id": 2, "value": 1}']
        publisher.send_all("sensors/a/temp", bad)
        publisher.send_all("sensors/a/temp", ["x" * ((1 << 20) + 1)])
        publisher.send_all("sensors/a/wet", [text(1)])
        wait_until(lambda: sum(landed(gauge.home).values()) == 600, PATIENCE, what="all rows")
        wait_until(lambda: gauge.dead_letters("m").num_rows == 5, PATIENCE, what="dead letters")
        gauge.drain(PATIENCE)
    expected = {(f"sensors/{n}/temp", k): 1 for n in "ab" for k in range(300)}
    assert landed(gauge.home) == Counter(expected)
    letters = gauge.dead_letters("m").to_pylist()
    assert {row["origin"] for row in letters} == {
        f"mqtt:sensors/+/temp:{k}" for k in range(600, 605)
    }
    assert "the message has 1,048,577 bytes, too many to keep" in {row["reason"] for row in letters}


def test_raw_payloads_and_the_time_of_arrival(broker: Mosquitto, tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local", shards=1)
    schema = sg.Schema.of(line="string", mqtt_topic="string", mqtt_received="time")
    source = sg.mqtt(broker.url, "sensors/#", format="raw")
    gauge.stream("m", source, time="mqtt_received", key="mqtt_topic", schema=schema)
    with gauge, Publisher(broker) as publisher:
        gauge.start()
        listening(gauge)
        publisher.send_all("sensors/a", ["20.5 C", "21 C"])
        wait_until(lambda: rows(gauge.home, "line"), PATIENCE, what="rows")
    assert rows(gauge.home, "line")[0] == "20.5 C"
    assert rows(gauge.home, "mqtt_topic")[0] == "sensors/a"


@pytest.mark.kills
@pytest.mark.parametrize("kills", [2, pytest.param(4, marks=pytest.mark.nightly)])
def test_kills_of_the_job_lose_nothing_and_repeat_nothing(
    broker: Mosquitto, tmp_path: Path, kills: int
) -> None:
    home = tmp_path / "home"
    gauge = declared(str(home), broker.url)
    with gauge:
        gauge.start()
        listening(gauge)
    with (
        Flow(broker, "sensors/a", text) as one,
        Flow(broker, "sensors/b", text) as other,
    ):
        for turn in range(kills):
            before = sum(landed(gauge.home).values())
            job = forked.start(main, str(home), broker.url, output=tmp_path / "job.log")
            try:
                forked.wait_for(
                    job,
                    lambda n=before + 90 + 170 * turn: sum(landed(gauge.home).values()) > n,
                    2 * PATIENCE,
                    what="rows of this turn",
                )
            finally:
                forked.kill(job)
    sent = [
        (f"sensors/{n}", json.loads(t)["id"]) for n, f in (("a", one), ("b", other)) for t in f.sent
    ]
    with declared(str(home), broker.url) as again:
        again.start()
        wait_until(lambda: sum(landed(again.home).values()) >= len(sent), PATIENCE, what="all rows")
        again.drain(PATIENCE)
    assert landed(gauge.home) == Counter(dict.fromkeys(sent, 1))


def test_mistakes_in_a_declaration_are_told(tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path, engine="local")
    wrong = sg.Schema.of(a="string", b="string", mqtt_received="time")
    source = sg.mqtt("mqtt://127.0.0.1:1", "t", format="raw")
    with pytest.raises(BindError, match="raw records fill one column"):
        gauge.stream("m", source, time="mqtt_received", schema=wrong)
    with pytest.raises(BindError, match="names its columns"):
        gauge.stream("m", source, time="mqtt_received")
    with pytest.raises(BindError, match="unknown format 'xml'"):
        gauge.sql("CREATE STREAM m (ts TIME) FROM MQTT 'mqtt://h' TOPIC 't' FORMAT xml TIME ts")
    with pytest.raises(BindError, match="with its password"):
        gauge.sql("CREATE STREAM m (ts TIME) FROM MQTT 'mqtt://a:b@h' TOPIC 't' TIME ts")
    assert SCHEMA.names[-1] == "mqtt_topic"
