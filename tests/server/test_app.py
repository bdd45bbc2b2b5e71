"""Streams, statements, health and the command, over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

import streamgauge as sg
from streamgauge.log.feeding import Feeding, note_feeding
from streamgauge.log.lock import holding
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from tests.server.conftest import problem, step

pytestmark = pytest.mark.slow

PLANT = {
    "name": "plant",
    "source": {"kind": "plant", "n_sensors": 3},
    "time": "ts",
    "key": ["series"],
    "tick": "2 s",
    "late": {"policy": "allow", "by": "5 s"},
}


def test_streams_are_shown_with_their_figures(client: httpx.Client, source: Path) -> None:
    (shown,) = client.get("/v1/streams").json()["streams"]
    assert shown == client.get("/v1/streams/rows").json()
    assert shown["declaration"]["key"] == ["series"]
    assert (shown["rows"], shown["late"], shown["dead_letters"]) == (6, 0, 1)
    assert shown["reached"] == "2026-01-01T00:00:09Z"
    assert shown["interruption"]["interrupted"] is False
    letters = client.get("/v1/streams/rows/dead-letters").json()
    assert letters["total"] == 1
    assert "'oops' is not a float" in letters["rows"][0]["reason"]


def test_rows_are_counted_as_they_come(client: httpx.Client, more: Callable[[int], None]) -> None:
    client.get("/v1/streams")
    more(11)
    assert client.get("/v1/streams/rows").json()["rows"] == 8


def test_an_interruption_is_told(client: httpx.Client, gauge: sg.Gauge, tmp_path: Path) -> None:
    (tmp_path / "gaps").mkdir()
    (tmp_path / "gaps" / "a.csv").write_text("ts,k,v\n1,a,1\n1,b,1\n9000000,a,2\n20000000,a,3\n")
    text = (
        "CREATE STREAM gaps (ts int, k string, v float) FROM FILES "
        f"'{tmp_path / 'gaps'}' FORMAT csv KEY k TIME ts GAP 2 SECONDS"
    )
    assert client.post("/v1/streams", json={"text": text}).status_code == 201
    ask = {"name": "both", "text": "SELECT SUM(v) FROM gaps [PARTITION BY k ROWS 1]"}
    assert client.post("/v1/queries", json=ask).status_code == 201
    step(gauge)
    told = client.get("/v1/streams/gaps").json()["interruption"]
    assert told["expected_gap"] == "2 s"
    assert (told["answers"], told["interrupted"]) == (1, True)


def test_a_source_that_is_away_is_told(client: httpx.Client, gauge: sg.Gauge) -> None:
    assert client.get("/v1/streams/rows").json()["feed"] is None, "files need nobody who feeds"
    with holding(gauge.home.root):
        note_feeding(gauge.home, "rows", Feeding("waiting", "the broker is away", 1_000_000))
        told = client.get("/v1/streams/rows").json()["feed"]
        scraped = client.get("/metrics").text
    assert told["state"] == "waiting"
    assert (told["reason"], told["since"]) == ("the broker is away", "1970-01-01T00:00:01Z")
    assert 'streamgauge_stream_waiting{stream="rows"} 1.0' in scraped
    assert client.get("/v1/streams/rows").json()["feed"] is None, "no job waits any more"


def test_a_stream_is_declared_and_dropped(client: httpx.Client, gauge: sg.Gauge) -> None:
    made = client.post("/v1/streams", json=PLANT)
    assert made.status_code == 201
    assert made.json()["declaration"]["tick"] == 2_000_000
    assert made.json()["declaration"]["late"]["allowed"] == 5_000_000
    assert made.json()["in_force"] is False
    step(gauge)
    assert client.get("/v1/streams/plant").json()["in_force"] is True
    assert client.post("/v1/streams", json=PLANT).status_code == 201, "the same again"
    problem(client.post("/v1/streams", json={**PLANT, "tick": "3 s"}), 422)
    assert client.delete("/v1/streams/plant").status_code == 204
    problem(client.get("/v1/streams/plant"), 404)
    assert "in use" in problem(client.delete("/v1/streams/rows"), 422)["title"]


UNFIT: tuple[dict[str, object], ...] = (
    {"name": ""},
    {"source": {"kind": "socket"}},
    {"source": {"kind": "plant", "secret": 1}},
    {"source": {"kind": "plant", "n_sensors": "many"}},
    {"source": {"kind": "files", "path": "nowhere-at-all"}},
    {"source": {"kind": "edge", "path": "http://0.0.0.0:1"}},
    {"time": "none"},
    {"tick": "often"},
    {"late": {"policy": "never"}},
    {"columns": {"ts": "colour"}},
    {"text": "SHOW QUERIES"},
)
PATHS = ("../x", "a/b", "..", ".hidden", "a\\b", "a\nb", "x" * 300)


def test_declarations_that_do_not_fit(client: httpx.Client) -> None:
    for change in UNFIT:
        problem(client.post("/v1/streams", json={**PLANT, **change}), 422)


def test_a_stream_is_never_a_path(client: httpx.Client, gauge: sg.Gauge) -> None:
    for name in PATHS:
        problem(client.post("/v1/streams", json={**PLANT, "name": name}), 422)
        text = f'CREATE STREAM "{name}" FROM PLANT KEY series TIME ts'
        refused = client.post("/v1/statements", json={"text": text})
        assert refused.status_code in (400, 422), name
    assert [one["name"] for one in client.get("/v1/streams").json()["streams"]] == ["rows"]
    assert not any(gauge.home.control.glob("*.json")), "nothing was left"
    for path in ("..%2F..%2Fetc", "%2e%2e%2fcontrol", ".."):
        problem(client.get(f"/v1/streams/{path}/dead-letters"), 404)


def test_statements(client: httpx.Client, gauge: sg.Gauge) -> None:
    text = "CREATE WINDOW w AS [RANGE 1 MINUTE]; SHOW WINDOWS; EXPLAIN sites; DROP QUERY large"
    outcomes = client.post("/v1/statements", json={"text": text}).json()["outcomes"]
    assert [outcome["did"] for outcome in outcomes] == ["created window", "", "", "dropped"]
    assert outcomes[1]["rows"] == [{"name": "w", "window": "range 1 min"}]
    assert "owed exact" in outcomes[2]["text"]
    assert client.get("/v1/windows").json()["total"] == 1
    half = {"text": "DROP QUERY sites; DROP QUERY none"}
    problem(client.post("/v1/statements", json=half), 404)
    assert client.get("/v1/queries/sites").status_code == 200, "all or none"
    assert client.post("/v1/statements", json={"text": ""}).json() == {"outcomes": []}


def test_errors_do_not_say_where_files_are(client: httpx.Client, gauge: sg.Gauge) -> None:
    home = str(gauge.home.root)
    for text in (f"CREATE TABLE t FROM '{home}/none.csv'", "CREATE TABLE t FROM 'none.csv'"):
        told = problem(client.post("/v1/statements", json={"text": text}), 422)
        assert home not in json.dumps(told)
        assert str(Path.cwd()) not in json.dumps(told)


def test_what_else_is_declared_is_listed(client: httpx.Client) -> None:
    for path in ("tables", "windows", "summaries", "agents", "agents/objects"):
        assert client.get(f"/v1/{path}").json() == {"rows": [], "total": 0}
    problem(client.get("/v1/windows", params={"limit": 0}), 422)


def test_unknown_addresses_are_problems(client: httpx.Client) -> None:
    problem(client.get("/v1/nowhere"), 404)
    problem(client.get("/v1/queries/"), 404)
    problem(client.patch("/v1/queries"), 405)


def test_health_follows_the_job(gauge: sg.Gauge) -> None:
    now = [gauge.home.commit(1).stat().st_mtime_ns // 1000]
    settings = replace(Settings.of("http://127.0.0.1:0"), clock=lambda: now[0])
    with Server(gauge, settings) as server:
        idle = httpx.get(f"{server.address}/health", timeout=60)
        assert (idle.status_code, idle.json()["job"]) == (503, "stopped")
        gauge.start()
        well = httpx.get(f"{server.address}/health", timeout=60)
        assert well.status_code == 200
        assert well.json()["ready"] is True
        now[0] += 7_000_000
        later = httpx.get(f"{server.address}/health", timeout=60).json()
        assert later["epoch_age_seconds"] >= 6.9
        progress = httpx.get(f"{server.address}/v1/progress", timeout=60).json()
        assert (progress["job"], progress["failure"]) == ("running", None)
        elsewhere = sg.connect(gauge.home.root, engine="local")
        with Server(elsewhere, settings) as other:
            seen = httpx.get(f"{other.address}/health", timeout=60)
            assert (seen.status_code, seen.json()["job"]) == (200, "elsewhere")


def test_the_description_names_every_route(client: httpx.Client) -> None:
    described = client.get("/v1/openapi.json").json()
    reference = Path("docs/reference/http.md").read_text()
    for path, operations in described["paths"].items():
        for method in operations:
            assert f"`{method.upper()} {path}`" in reference, f"{method.upper()} {path}"
    assert "Problem" in described["components"]["schemas"]


@pytest.mark.kills
def test_the_command_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "streamgauge", "serve", "--home", str(tmp_path / "home"),
               "--engine", "local", "--listen", "http://127.0.0.1:0", "--log", "json"]  # fmt: skip
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        address = next(line for line in lines if " at http" in line).split(" at ")[1]
        address = address.split(";")[0].strip()
        token = (tmp_path / "home" / "token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        made = httpx.post(f"{address}/v1/streams", json=PLANT, headers=headers, timeout=60)
        assert made.status_code == 201
        assert httpx.get(f"{address}/health", timeout=60).json()["job"] == "running"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, process.stderr.read() if process.stderr else ""
