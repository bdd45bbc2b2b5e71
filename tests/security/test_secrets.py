"""Passwords that are planted through every statement and option, and looked for everywhere."""

from __future__ import annotations

import http.client
import json
import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.alerts.watcher import Watcher
from streamgauge.checks.waiting import wait_until
from streamgauge.cli.project import bring, load_project
from streamgauge.cli.repl import History
from streamgauge.control.control_topic import ControlTopic
from streamgauge.coordinator.options import Options
from streamgauge.kernel.errors import BindError, SourceFailure, StreamgaugeError
from streamgauge.kernel.masking import masked
from streamgauge.kernel.secrets import resolved
from streamgauge.plan.alert import Target
from streamgauge.plan.sink import Destination, to_postgres
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from streamgauge.sources.registry import _request
from tests.alerts.world import Plant, Receiver
from tests.owner import as_owner

MARK = "hunter2Zq7marker9X"
STATEMENTS = (
    "CREATE STREAM m (ts TIME) FROM MQTT 'mqtt://ann:MARK@h' TOPIC 't' TIME ts",
    "CREATE STREAM m (ts TIME) FROM KAFKA 'ann:MARK@h:9092' TOPIC 't' TIME ts",
    "CREATE STREAM m (ts TIME) FROM KAFKA 'h:9092' TOPIC 't' FORMAT avro "
    "REGISTRY 'http://ann:MARK@h:8081' TIME ts",
    "CREATE STREAM m (ts TIME) FROM KAFKA 'h:9092' TOPIC 't' FORMAT avro "
    "REGISTRY 'http://h:8081?token=MARK' TIME ts",
    "CREATE STREAM e FROM EDGE 'http://127.0.0.1:0' BROKER 'mqtt://ann:MARK@h'",
    "CREATE STREAM e FROM EDGE 'http://127.0.0.1:0' BROKER 'kafka://ann:MARK@h:9092'",
    "CREATE STREAM e FROM EDGE 'http://ann:MARK@127.0.0.1:0'",
    "CREATE STREAM f FROM FILES 's3://key:MARK@bucket/x' FORMAT csv TIME ts",
    "CREATE TABLE t FROM 's3://key:MARK@bucket/x.csv'",
    "CREATE TABLE t FROM DELTA 's3://key:MARK@bucket/x'",
    "CREATE TABLE t FROM DELTA 's3://bucket/x?secret_access_key=MARK'",
    "CREATE TABLE t FROM JDBC 'jdbc:postgresql://ann:MARK@h/d' TABLE 'x'",
    "CREATE TABLE t FROM JDBC 'jdbc:postgresql://h/d?user=ann&password=MARK' TABLE 'x'",
    "CREATE TABLE t FROM JDBC 'jdbc:postgresql://h/d?sslpassword=MARK' TABLE 'x'",
    "CREATE TABLE t FROM JDBC 'jdbc:sqlserver://h;password=MARK' TABLE 'x' DRIVER 'a.B'",
    "CREATE SINK s ON q DELIVER TO POSTGRES 'postgresql://ann:MARK@h/d' TABLE 't'",
    "CREATE SINK s ON q DELIVER TO POSTGRES 'postgresql://h/d?password=MARK' TABLE 't'",
    "CREATE SINK s ON q DELIVER TO KAFKA 'ann:MARK@h:9092' TOPIC 't'",
    "CREATE ALERT a ON q WHEN INTERRUPTED DELIVER TO WEBHOOK 'https://ann:MARK@h/x'",
    "CREATE ALERT a ON q WHEN INTERRUPTED DELIVER TO WEBHOOK 'https://h/x?api_key=MARK'",
    "CREATE ALERT a ON q WHEN INTERRUPTED DELIVER TO WEBHOOK 'https://hooks.example.org/T0/MARK'",
    "CREATE ALERT a ON q WHEN INTERRUPTED DELIVER TO KAFKA 'ann:MARK@h:9092' TOPIC 't'",
    # Mistakes in a text are quoted; the quote must not keep what the statement would not.
    "CREATE SINK s ON q DELIVER TO POSTGRES 'postgresql://ann:MARK@h/d' TABEL 't'",
    "CREATE TABLE t FROM JDBC 'jdbc:postgresql://h/d?password=MARK' TABLE 'x' NONSENSE",
)
KAFKA_OPTIONS = (
    {"kafka.sasl.jaas.config": f'x.PlainLoginModule required username="u" password="{MARK}";'},
    {"kafka.ssl.key.password": MARK},
    {"kafka.ssl.keystore.key": MARK},
    {"kafka.basic.auth.user.info": f"ann:{MARK}"},
)


@pytest.fixture(scope="module")
def gauge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sg.Gauge]:
    with sg.connect(tmp_path_factory.mktemp("secrets") / "home", engine="local") as made:
        made.sql("CREATE STREAM p FROM PLANT KEY series TIME ts")
        made.sql("CREATE QUERY q AS SELECT AVG(value) FROM p [RANGE 1 MINUTE]")
        made.step()
        yield made


def said_of(error: BaseException) -> str:
    told = json.dumps(error.as_dict()) if isinstance(error, StreamgaugeError) else ""
    return told + repr(error) + "".join(traceback.format_exception(error))


def kept(home: Path) -> list[Path]:
    files = [path for path in home.rglob("*") if path.is_file()]
    return [path for path in files if MARK.encode() in path.read_bytes()]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_with_a_password_is_refused_and_leaves_no_trace(
    gauge: sg.Gauge, statement: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    text = statement.replace("MARK", MARK)
    with pytest.raises(StreamgaugeError) as raised:
        gauge.sql(text)
    assert MARK not in said_of(raised.value)
    assert raised.value.hint
    topic = ControlTopic(gauge, "kafka://ann:hunter@127.0.0.1:9092/statements")
    topic.ledger.meet("cluster", 0)
    told = topic.take(topic.ledger.next or 0, text.encode())
    assert told["ok"] is False
    assert MARK not in json.dumps(told)
    assert MARK not in caplog.text
    assert not kept(gauge.home.root)


@pytest.mark.parametrize("options", KAFKA_OPTIONS, ids=lambda options: next(iter(options)))
def test_options_of_clients_in_python_and_project_files(
    gauge: sg.Gauge, options: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(BindError, match="holds a secret") as raised:
        sg.kafka("h:9092", "t", **options)  # type: ignore[arg-type]
    assert MARK not in said_of(raised.value)
    name, value = next(iter(options.items()))
    (tmp_path / "streamgauge.toml").write_text(
        '[streams.k]\ntime = "ts"\nschema = {ts = "time"}\n'
        'source = {kind = "kafka", servers = "h:9092", topic = "t", options = {'
        f"{json.dumps(name)} = {json.dumps(value)}}}}}\n"
    )
    with pytest.raises(BindError) as in_file:
        bring(load_project(tmp_path), gauge, gauge.trial().registry, prune=False)
    assert MARK not in said_of(in_file.value)


REFERENCES: tuple[tuple[str, Callable[[], Any]], ...] = (
    ("a webhook", lambda: Target("webhook", "https://h/T0/{env:PLANTED}")),
    ("a database", lambda: to_postgres("postgresql://ann:{file:/x/y}@h/d", "t")),
    ("an option", lambda: sg.kafka("h:1", "t", **{"kafka.ssl.key.password": "{env:PLANTED}"})),
    ("a broker", lambda: sg.agents(broker="mqtt://ann:{env:PLANTED}@h")),
    ("a login", lambda: to_postgres("postgresql://h/d", "t", user="u", password_env="PLANTED")),
)


@pytest.mark.parametrize(("what", "made"), REFERENCES, ids=[name for name, _ in REFERENCES])
def test_references_are_stored_as_they_are_written(
    what: str, made: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED", MARK)
    found = made()
    assert MARK not in repr(found) + str(found), what


def test_references_are_read_when_they_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED", "a b/c@d")
    (tmp_path / "hush").write_text("first line\nsecond\n")
    assert resolved("x {env:PLANTED}") == "x a b/c@d"
    assert resolved("mqtt://u:{env:PLANTED}@h", url=True) == "mqtt://u:a%20b%2Fc%40d@h"
    assert resolved("https://h/x/{env:PLANTED}", url=True) == "https://h/x/a%20b/c%40d"
    assert resolved(f"{{file:{tmp_path}/hush}}") == "first line"
    with pytest.raises(SourceFailure, match="ABSENT"):
        resolved("{env:ABSENT}")
    options = Options.from_source({"kind": "edge", "broker": "mqtt://u:{env:PLANTED}@h"})
    assert options.broker is not None
    assert options.broker.password == "a%20b%2Fc%40d"
    assert "a%20b" not in repr(options)
    asked = _request("http://ann:{env:PLANTED}@h:8081/schemas/ids/1")
    assert asked.full_url == "http://h:8081/schemas/ids/1"
    assert asked.get_header("Authorization", "").startswith("Basic ")


@pytest.mark.slow
def test_a_webhook_is_called_with_its_secret_and_nothing_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("PLANTED", MARK)
    plant = Plant(tmp_path)
    gauge = plant.gauge
    plant.read(10)
    watcher = Watcher(gauge, first_wait=0.01, allow_webhooks=["127.0.0.0/8"])
    server = Server(gauge, Settings.of("http://127.0.0.1:0"))
    with Receiver(500, 200) as receiver, watcher, server:
        address = receiver.url.replace("http://", "http://ann:{env:PLANTED}@")
        target = f"WEBHOOK '{address}/{{env:PLANTED}}'"
        gauge.sql(f"CREATE ALERT a ON heat WHEN CERTAINLY ABOVE 100 DELIVER TO {target}")
        plant.step()
        plant.read(120, 120)
        wait_until(lambda: len(receiver.paths) > 1, 60, what="a call, and one after a failure")
        paths = [f"/v1/{name}" for name in ("streams", "alerts", "sinks", "about", "queries")]
        shown = "".join(got(server, path) for path in (*paths, "/metrics", "/health"))
        for words in ("ALERTS", "STREAMS", "SINKS", "TABLES", "QUERIES"):
            shown += str(gauge.sql(f"SHOW {words}"))
        shown += str(gauge.sql("DESCRIBE a")) + gauge.explain("heat")
        monkeypatch.delenv("PLANTED")
        plant.read(80, 80)
        wait_until(lambda: "'PLANTED' is not set" in caplog.text, 60, what="a word of it")
    gauge.stop()
    assert all(path.endswith(MARK) for path in receiver.paths)
    assert MARK not in shown + caplog.text
    assert not kept(tmp_path)


def got(server: Server, path: str) -> str:
    host, _, port = server.address.removeprefix("http://").partition(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=60)) as connection:
        connection.request("GET", path, headers=as_owner(server))
        return connection.getresponse().read().decode()


def test_what_an_earlier_release_stored_is_shown_without_its_password() -> None:
    old = Destination.from_dict(
        {"kind": "postgres", "address": f"postgresql://ann:{MARK}@h/d", "place": "t"}
    )
    assert MARK not in str(old) + old.hidden(f"cannot log in with {MARK}")
    target = Target.from_dict(
        {"kind": "webhook", "address": f"https://u:{MARK}@h/{MARK}", "detail": ""}
    )
    assert MARK not in str(target)
    assert masked(f"kafka://ann:{MARK}@h:9092, h?token={MARK}&a=1") == (
        "kafka://ann:***@h:9092, h?token=***&a=1"
    )
    assert masked("https://host:8080/a@b and SELECT token FROM t WHERE token = 'x'") == (
        "https://host:8080/a@b and SELECT token FROM t WHERE token = 'x'"
    )


def test_the_history_of_the_prompt_keeps_no_password(tmp_path: Path) -> None:
    history = History(str(tmp_path / "sql-history"))
    for statement in STATEMENTS:
        history.store_string(statement.replace("MARK", MARK))
    assert "CREATE STREAM" in (tmp_path / "sql-history").read_text()
    assert not kept(tmp_path)
