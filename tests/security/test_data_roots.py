"""Attacks by paths: a client below the operator must not read or write outside the data roots."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.cli.project import load_project
from streamgauge.control.control_topic import ControlTopic
from streamgauge.execute.script import Script
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.roots import Roots
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings

TOKENS = {"author": "author-0123", "admin": "admin-01234", "operator": "operator-01"}
ROWS = "ts,v\n2024-01-01T00:00:00Z,1.5\n"


@dataclass
class World:
    """A server with one data root, and files of others beside it."""

    server: Server
    root: Path
    outside: Path

    def post(self, role: str, where: str, body: Any) -> tuple[int, str]:
        host, _, port = self.server.address.removeprefix("http://").partition(":")
        headers = {"Authorization": f"Bearer {TOKENS[role]}", "Content-Type": "application/json"}
        with closing(http.client.HTTPConnection(host, int(port), timeout=60)) as connection:
            connection.request("POST", f"/v1/{where}", json.dumps(body).encode(), headers)
            reply = connection.getresponse()
            return reply.status, reply.read().decode()

    def run(self, role: str, text: str) -> tuple[int, str]:
        return self.post(role, "statements", {"text": text})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    base = tmp_path_factory.mktemp("roots")
    root, outside = base / "data", base / "outside"
    for folder in (root / "rows", outside, base / "data-of-others"):
        folder.mkdir(parents=True)
        (folder / "rows.csv").write_text(ROWS)
    (base / "hush.txt").write_text("marker-of-a-secret\n")
    (root / "link").symlink_to(outside)
    (root / "one.csv").symlink_to(outside / "rows.csv")
    (root / "mixed").mkdir()
    (root / "mixed" / "link.csv").symlink_to(outside / "rows.csv")
    (base / "tokens").write_text("".join(f"{t} {role}\n" for role, t in TOKENS.items()))
    settings = replace(Settings.of("http://127.0.0.1:0", tokens=base / "tokens"), rate=None)
    home = root / "home"
    with sg.connect(home, engine="local", data_roots=[root]) as gauge:
        gauge.sql("CREATE STREAM p FROM PLANT KEY series TIME ts")
        gauge.sql("CREATE QUERY q AS SELECT AVG(value) FROM p [RANGE 1 MINUTE]")
        with Server(gauge, settings) as server:
            yield World(server, root, outside)


OUTSIDE = (
    "OUTSIDE", "OUTSIDE/rows.csv", "ROOT/../outside", "ROOT/link", "ROOT/link/rows.csv",
    "ROOT/one.csv", "ROOT-of-others", "/", "file://OUTSIDE", "ROOT/rows/../../outside",
    "../outside", "ROOT/home", "ROOT", "ROOT/home/../home/state",
)  # fmt: skip
STATEMENTS = (
    "CREATE STREAM s FROM FILES 'PATH' FORMAT csv TIME ts",
    "CREATE STREAM s (ts TIME, v FLOAT) FROM FILES 'PATH' FORMAT csv TIME ts",
    "CREATE STREAM s FROM REPLAY 'PATH' TIME ts",
    "CREATE TABLE t FROM 'PATH'",
    "CREATE TABLE t FROM DELTA 'PATH'",
    "CREATE ALERT a ON q WHEN CERTAINLY ABOVE 1 DELIVER TO MAIL 'PATH' FOR 'a@b.org'",
)


@pytest.mark.parametrize("path", OUTSIDE)
def test_paths_outside_are_refused_before_anything_is_read(world: World, path: str) -> None:
    path = path.replace("OUTSIDE", str(world.outside)).replace("ROOT", str(world.root))
    for statement in STATEMENTS:
        status, said = world.run("admin", statement.replace("PATH", path))
        assert status == 422, statement
        assert "data root" in said or "data directory" in said or "operator" in said, said
    fields = {"name": "s", "time": "ts", "source": {"kind": "files", "path": path}}
    assert world.post("admin", "streams", fields)[0] == 422
    target = {"kind": "mail", "address": path, "detail": "a@b.org"}
    alert = {"name": "a", "query": "q", "when": "interrupted", "targets": [target]}
    assert world.post("admin", "alerts", alert)[0] == 422
    checked = world.post("admin", "check", {"text": STATEMENTS[0].replace("PATH", path)})
    assert "data root" in checked[1] or "data directory" in checked[1]


LOGINS = (
    "CREATE STREAM k (ts TIME) FROM KAFKA 'h:9092' TOPIC 't' USER 'u' {} TIME ts",
    "CREATE STREAM m (ts TIME) FROM MQTT 'mqtt://h' TOPIC 't' USER 'u' {} TIME ts",
    "CREATE SINK s ON q DELIVER TO KAFKA 'h:9092' TOPIC 't' USER 'u' {}",
    "CREATE SINK s ON q DELIVER TO POSTGRES 'postgresql://h/d' TABLE 't' USER 'u' {}",
    "CREATE ALERT a ON q WHEN INTERRUPTED DELIVER TO KAFKA 'h:9092' TOPIC 't' USER 'u' {}",
    "CREATE TABLE t FROM JDBC 'jdbc:postgresql://h/d' TABLE 'x' USER 'u' {}",
)


@pytest.mark.parametrize("statement", LOGINS)
def test_no_file_or_variable_of_the_job_is_sent_as_a_password(world: World, statement: str) -> None:
    for given in (f"PASSWORD FILE '{world.outside}/../hush.txt'", "PASSWORD ENV 'AWS_SECRET'"):
        status, said = world.run("admin", statement.format(given))
        assert status == 422, said
        assert "data root" in said or "STREAMGAUGE_SECRET_" in said
        assert "marker-of-a-secret" not in said


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t FROM DELTA 's3://bucket/table'",
        "CREATE TABLE t FROM JDBC 'jdbc:sqlite:/etc/passwd' TABLE 'x' DRIVER 'org.sqlite.JDBC'",
        "CREATE TABLE t FROM JDBC 'jdbc:h2:mem:x;INIT=RUNSCRIPT' TABLE 'x' DRIVER 'org.h2.Driver'",
        "CREATE TABLE t FROM JDBC 'jdbc:postgresql://h/d?socketFactory=x&sslkey=y' TABLE 'x'",
        "CREATE TABLE t FROM JDBC 'jdbc:postgresql:d?loggerFile=/tmp/x' TABLE 'x'",
        "CREATE SINK s ON q DELIVER TO POSTGRES 'postgresql://h/d?passfile=/etc/x' TABLE 't'",
        "CREATE SINK s ON q DELIVER TO POSTGRES 'postgresql://%2Frun%2Fpg/d' TABLE 't'",
        "CREATE SINK s ON q DELIVER TO POSTGRES 'postgresql:///d?host=/run/pg' TABLE 't'",
        "CREATE ALERT a ON q WHEN INTERRUPTED DELIVER TO WEBHOOK 'https://h/{env:AWS_SECRET}'",
        "CREATE ALERT a ON q WHEN INTERRUPTED DELIVER TO WEBHOOK 'https://h/{file:/etc/passwd}'",
        "CREATE STREAM e FROM EDGE 'http://127.0.0.1:0' BROKER 'mqtt://u:{env:AWS_SECRET}@h'",
        "CREATE STREAM e FROM EDGE 'http://127.0.0.1:0' TOKENS '/etc/passwd'",
        "CREATE STREAM k (ts TIME) FROM KAFKA 'h:9092' TOPIC 't' CA '/etc/passwd' TIME ts",
    ],
)
def test_addresses_that_reach_files_or_code_are_for_operators(world: World, statement: str) -> None:
    status, said = world.run("admin", statement)
    assert status == 422, said
    told = ("operator", "data root", "STREAMGAUGE_SECRET_", "no address of a database")
    assert any(word in said for word in told), said


def test_below_a_root_a_client_may_and_links_lead_nowhere(world: World) -> None:
    made = f"CREATE STREAM mixed FROM FILES '{world.root}/rows' FORMAT csv TIME ts"
    assert world.run("admin", made)[0] == 200
    mixed = f"(ts TIME, v FLOAT) FROM FILES '{world.root}/mixed' FORMAT csv TIME ts"
    assert world.run("admin", f"CREATE STREAM linked {mixed}")[0] == 200
    gauge = world.server.app.state.gauge
    gauge.start()
    gauge.drain()
    gauge.stop()
    rows = {s["name"]: s["rows"] for s in _streams(world)}
    assert rows["mixed"] == 1
    assert rows["linked"] == 0, "a link that leads out of the root is left out"
    status, said = world.run("admin", f"CREATE TABLE linked_table FROM '{world.root}/mixed'")
    assert (status, "data root" in said) == (422, True)


def _streams(world: World) -> list[dict[str, Any]]:
    host, _, port = world.server.address.removeprefix("http://").partition(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=60)) as connection:
        asked = {"Authorization": f"Bearer {TOKENS['operator']}"}
        connection.request("GET", "/v1/streams", headers=asked)
        found: list[dict[str, Any]] = json.loads(connection.getresponse().read())["streams"]
        return found


def test_the_operator_may_name_any_path_and_lower_roles_none(world: World) -> None:
    text = f"CREATE STREAM far FROM FILES '{world.outside}' FORMAT csv TIME ts"
    assert world.run("author", text)[0] == 403
    assert world.run("operator", text)[0] == 200


def test_without_roots_clients_name_no_file(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(ROWS)
    gauge = sg.connect(tmp_path / "home", engine="local")
    text = f"CREATE STREAM s FROM FILES '{tmp_path}/rows.csv' FORMAT csv TIME ts"
    with pytest.raises(BindError, match="not below a data root") as raised:
        Script(gauge, gauge.trial(), roots=gauge.home.roots).run(text)
    assert "none" in raised.value.detail
    gauge.sql(text)


def test_statements_of_a_control_topic_are_those_of_a_client(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(ROWS)
    text = f"CREATE STREAM s FROM FILES '{tmp_path}/rows.csv' FORMAT csv TIME ts"
    for roots, taken in (((), False), ((tmp_path,), True)):
        home = tmp_path / ("open" if roots else "closed")
        gauge = sg.connect(home, engine="local", data_roots=roots)
        topic = ControlTopic(gauge, "kafka://127.0.0.1:9092/statements")
        topic.ledger.meet("cluster", 0)
        assert topic.take(0, text.encode())["ok"] is taken


def test_roots_resolve_links_when_they_are_read(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    roots = Roots.of([tmp_path / "alias"])
    assert roots.check(tmp_path / "alias" / "x", tmp_path / "home") == str(tmp_path / "real" / "x")
    with pytest.raises(BindError, match="not below"):
        roots.check("/data\0/x", tmp_path)


def test_a_project_file_declares_roots(tmp_path: Path) -> None:
    (tmp_path / "streamgauge.toml").write_text('[gauge]\nhome = "home"\ndata_roots = ["data"]\n')
    assert load_project(tmp_path).data_roots == (str(tmp_path / "data"),)
