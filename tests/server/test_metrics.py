"""Metrics: figures of a home as Prometheus reads them, as OpenTelemetry is sent them, drawn."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as open_families,
)
from prometheus_client.parser import text_string_to_metric_families

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.contracts.answer import Answer
from streamgauge.gauge import Gauge
from streamgauge.kernel.errors import BindError, MissingRuntime
from streamgauge.kernel.time import SECOND, instant
from streamgauge.server import figures as figures_module
from streamgauge.server import telemetry
from streamgauge.server.app import make_app
from streamgauge.server.figures import Figures
from streamgauge.server.metrics.metric import Sample
from streamgauge.server.metrics.queries import ANSWERED, Answered, promised_width
from streamgauge.server.metrics.queries import METRICS as QUERY_METRICS
from streamgauge.server.metrics.table import BY_NAME, EVERY
from streamgauge.server.prometheus import dashboard, exposition, families
from streamgauge.server.settings import Settings

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "reference" / "metrics.md"
GUIDE = ROOT / "docs" / "how-to" / "monitor.md"
SHOWN = {measure.shown: measure for measure in EVERY}
NAME = re.compile(r"\bstreamgauge_\w+")

HEAD = "ts,series,site,value\n"
FIRST = """2026-01-01T00:00:01Z,a,north,1
2026-01-01T00:00:01Z,b,south,10
2026-01-01T00:00:02Z,a,north,2
2026-01-01T00:00:02Z,b,south,oops
2026-01-01T00:00:04Z,b,south,30
2026-01-01T00:00:09Z,a,north,4
"""
SECOND_FILE = """2026-01-01T00:00:05Z,a,north,5
2026-01-01T00:00:12Z,b,south,20
"""
NOW = instant("2026-01-01T00:01:00Z")
QUERIES = (
    sg.Query("newest", "rows", sg.total("value"), series=("a", "b")),
    sg.Query("sites", "rows", sg.avg("value"), window=sg.Range("20 s"), group_by=("site",),
             answer=sg.every("2 s")),
    sg.Query("calm", "rows", sg.avg("value"), window="latest",
             contract=sg.Contract.absolute(2.0, confidence=0.9)),
)  # fmt: skip


def at(figures: Figures) -> dict[str, dict[tuple[str, ...], float]]:
    """Samples by measure and labels."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for sample in figures.read():
        name = sample.metric.removeprefix("streamgauge_")
        assert sample.labels not in found.get(name, {}), f"{sample} is told twice"
        found.setdefault(name, {})[sample.labels] = sample.value
    return found


def land(gauge: Gauge, name: str, text: str) -> None:
    folder = gauge.home.root.parent / "in"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(HEAD + text)
    while gauge.step():
        pass


@pytest.fixture
def gauge(tmp_path: Path) -> Iterator[Gauge]:
    (tmp_path / "in").mkdir()
    made = sg.connect(tmp_path / "home", engine="local")
    schema = sg.Schema.of(ts="time", series="string", site="string", value="float")
    made.stream("rows", sg.files(tmp_path / "in", format="csv"), schema=schema, time="ts",
                key="series")  # fmt: skip
    made.register(*QUERIES)
    with made:
        yield made


@pytest.fixture
def figures(gauge: Gauge, monkeypatch: pytest.MonkeyPatch) -> Figures:
    # Read at every epoch, however long that takes.
    monkeypatch.setattr(figures_module, "SHARE", 1.0)
    return Figures(gauge, lambda: NOW, fresh=0.0)


def test_an_empty_home_has_figures(figures: Figures) -> None:
    found = at(figures)
    assert found["epoch"][()] == 0.0
    assert found["rows"][()] == 0.0
    assert found["job_running"][()] == 0.0


def test_figures_of_the_job_and_its_streams(gauge: Gauge, figures: Figures) -> None:
    land(gauge, "1.csv", FIRST)
    found = at(figures)
    assert found["rows"][()] == found["stream_rows"]["rows",] == 5.0
    assert found["stream_dead_letters"]["rows",] == 1.0
    assert found["stream_lag_seconds"]["rows",] == 51.0
    assert found["stream_newest_row_timestamp_seconds"]["rows",] == (NOW / SECOND) - 51.0
    assert found["stream_lateness_seconds"]["rows",] == 0.0
    assert found["queries"] == {("running",): 3.0, ("paused",): 0.0, ("suspended",): 0.0}
    assert found["streams"][()] == 1.0
    assert found["epochs"][()] == found["epoch"][()] == gauge.home.committed()
    assert found["epochs_waiting"][()] == 0.0
    assert found["state_bytes"][()] == gauge.progress().state_bytes > 0
    assert found["rows_per_second"][()] == gauge.progress().rows_per_second
    assert found["answers"][()] == gauge.answers().num_rows


def test_late_rows_are_counted(gauge: Gauge, figures: Figures) -> None:
    land(gauge, "1.csv", FIRST)
    figures.read()
    land(gauge, "2.csv", SECOND_FILE)
    found = at(figures)
    assert found["late_rows"][()] == found["stream_late_rows"]["rows",] == 1.0
    assert found["stream_lateness_seconds"]["rows",] == 4.0


def test_figures_of_queries_are_those_of_their_answers(gauge: Gauge, figures: Figures) -> None:
    land(gauge, "1.csv", FIRST)
    gauge.advance("rows", "2026-01-01T00:00:12Z")
    while gauge.step():
        pass
    found, newest = at(figures), {}
    for answer in gauge.latest():
        newest.setdefault(answer.query, []).append(answer)
    (total,), (calm,) = newest["newest"], newest["calm"]
    assert found["query_value"]["newest", "1"] == total.value == 34.0
    assert found["query_held_width"]["newest", "1"] == 0.0
    assert found["query_promised_width"]["calm", "1"] == 4.0
    assert found["query_held_width"]["calm", "1"] == calm.high - calm.low
    assert found["query_low"]["calm", "1"] == calm.low
    assert found["query_high"]["calm", "1"] == calm.high
    assert found["query_confidence_ratio"]["calm", "1"] == 0.9
    assert found["query_groups"]["sites", "1"] == len(newest["sites"]) == 2
    assert ("sites", "1") not in found["query_value"]
    oldest = min(answer.as_of for answer in newest["sites"])
    assert found["query_age_seconds"]["sites", "1"] == (NOW - oldest) / SECOND
    assert found["query_lag_seconds"]["sites", "1"] == max(
        0.0, (instant("2026-01-01T00:00:12Z") - oldest) / SECOND
    )
    given = gauge.answers("sites").num_rows
    assert found["query_answers"]["sites", "1"] == given > 0
    assert found["queries_answering"][()] == 3.0


def test_changes_of_rows_are_answers_of_a_view(gauge: Gauge, figures: Figures) -> None:
    gauge.sql(
        "CREATE QUERY large AS SELECT series, value FROM rows [RANGE 5 SECONDS] WHERE value > 3"
    )
    land(gauge, "1.csv", FIRST)
    given = gauge.row_changes("large").num_rows
    assert at(figures)["query_answers"]["large", "1"] == given > 0


def test_deferred_queries_tell_what_they_are_spared(gauge: Gauge, figures: Figures) -> None:
    land(gauge, "1.csv", FIRST)
    found, (cell,) = at(figures), gauge.deferrals("calm").to_pylist()
    assert found["query_checks"] == {("calm", "1"): cell["checks"]}
    assert found["query_evaluations"] == {("calm", "1"): cell["evaluations"]}
    spared = 1.0 - cell["evaluations"] / cell["checks"]
    assert found["query_deferral_ratio"]["calm", "1"] == found["deferral_ratio"][()] == spared


def test_counters_begin_with_the_server_and_grow(gauge: Gauge, figures: Figures) -> None:
    land(gauge, "1.csv", FIRST)
    later = Figures(gauge, lambda: NOW, fresh=0.0)
    assert at(later)["rows"][()] == 0.0
    assert at(later)["epoch"][()] == gauge.home.committed()
    assert at(figures)["rows"][()] == 5.0
    land(gauge, "2.csv", SECOND_FILE)
    assert at(later)["rows"][()] == 2.0
    assert at(figures)["rows"][()] == 7.0
    assert at(figures)["rows"][()] == 7.0


def test_changes_of_queries_show(gauge: Gauge, figures: Figures) -> None:
    land(gauge, "1.csv", FIRST)
    figures.read()
    gauge.pause("sites")
    gauge.drop("calm")
    gauge.alter(sg.Query("newest", "rows", sg.total("value"), series=("a",)))
    land(gauge, "2.csv", SECOND_FILE)
    found = at(figures)
    assert found["queries"] == {("running",): 1.0, ("paused",): 1.0, ("suspended",): 0.0}
    (newest,) = gauge.latest("newest")
    assert found["query_value"] == {("newest", "2"): newest.value}
    assert "query_checks" not in found


def test_the_first_queries_are_listed_and_all_are_counted(gauge: Gauge) -> None:
    figures = Figures(gauge, lambda: NOW, most=2, fresh=0.0)
    land(gauge, "1.csv", FIRST)
    found = at(figures)
    assert {query for query, _ in found["query_contract_met"]} == {"newest", "sites"}
    assert found["queries_listed"][()] == 2.0
    assert found["queries_answering"][()] == 3.0
    assert found["queries"]["running",] == 3.0


def test_a_broken_contract_and_a_silent_source_show(gauge: Gauge, figures: Figures) -> None:
    land(gauge, "1.csv", FIRST)
    answers = [
        Answer("sites", 2.0, 2.0, 2.0, as_of=NOW, group=("north",)),
        Answer("sites", 2.0, 1.0, 3.5, as_of=NOW, group=("south",), basis="interrupted",
               coverage=0.5, share=0.75, contract_met=False),
    ]  # fmt: skip
    figures.reader.latest = lambda name=None: answers  # type: ignore[method-assign]
    found = at(figures)
    assert found["queries_contract_broken"][()] == 1.0
    assert found["query_contract_met"]["sites", "1"] == 0.0
    assert found["query_coverage_ratio"]["sites", "1"] == 0.5
    assert found["query_share_ratio"]["sites", "1"] == 0.75
    assert found["query_held_width"]["sites", "1"] == 2.5
    assert found["stream_interrupted_queries"]["rows",] == 1.0


@pytest.mark.parametrize(
    ("contract", "promised"),
    [
        (sg.Contract.exact(), 0.0),
        (sg.Contract.absolute(0.5), 1.0),
        (sg.Contract.relative(0.1), 0.4),
        (sg.Contract.rank(0.1), None),
        (sg.Contract.best(), None),
    ],
)
def test_the_promised_width(contract: sg.Contract, promised: float | None) -> None:
    answers = [Answer("q", 2.0, 1.0, 3.0, as_of=0), Answer("q", -9.0, -9.0, -9.0, as_of=0)]
    assert promised_width(Answered(contract, answers)) == pytest.approx(promised)


def test_an_answer_of_nothing_has_no_width() -> None:
    nothing = Answer("q", None, float("nan"), float("nan"), as_of=0, contract_met=False)
    given = [(("q", "1"), Answered(sg.Contract(), [nothing]))]
    of_answers = [m for m in QUERY_METRICS.metrics if m.series is ANSWERED]
    found = {sample.metric for metric in of_answers for sample in metric.samples(given)}
    assert "streamgauge_query_contract_met" in found
    assert not {f"streamgauge_query_{part}" for part in ("value", "low", "held_width")} & found


def test_agents_are_told(gauge: Gauge, figures: Figures) -> None:
    place = gauge.home.root / "edge" / "pumps"
    place.mkdir(parents=True)
    one = {"agent": "p-1", "state": "heard", "readings": 100, "updates": 7, "reports": 3}
    two = {"agent": "p-2", "state": "interrupted", "readings": 5, "updates": 5, "refused": 2}
    status = {"stream": "pumps", "agents": [one, two], "objects": []}
    (place / "status.json").write_text(json.dumps(status))
    found = at(figures)
    assert found["agents"] == {("pumps", "heard"): 1.0, ("pumps", "interrupted"): 1.0}
    assert found["agent_heard"] == {("pumps", "p-1"): 1.0, ("pumps", "p-2"): 0.0}
    assert found["agent_suppressed"] == {("pumps", "p-1"): 93.0, ("pumps", "p-2"): 0.0}
    assert found["agent_updates"]["pumps", "p-1"] == 7.0
    assert found["agent_refused"]["pumps", "p-2"] == 2.0


def test_nobody_waits_for_answers_that_take_long(
    gauge: Gauge, figures: Figures, monkeypatch: pytest.MonkeyPatch
) -> None:
    land(gauge, "1.csv", FIRST)
    before = at(figures)
    monkeypatch.setattr(figures_module, "PATIENCE_SECONDS", 0.0)
    go, read = threading.Event(), gauge.latest

    def slow(name: str | None = None) -> list[Answer]:
        assert go.wait(60)
        return read(name)

    gauge.latest = slow  # type: ignore[method-assign]
    land(gauge, "2.csv", SECOND_FILE)
    meanwhile = at(figures)
    assert meanwhile["rows"][()] == 7.0
    assert meanwhile["query_value"] == before["query_value"]
    assert meanwhile["query_value"]["newest", "1"] == 32.0
    assert meanwhile["queries_read_epoch"][()] < meanwhile["epoch"][()]
    go.set()
    wait_until(lambda: at(figures)["query_value"]["newest", "1"] == 34.0, 60, what="new answers")
    assert at(figures)["queries_read_epoch"][()] == gauge.home.committed()


def test_figures_are_given_again_for_a_moment(gauge: Gauge) -> None:
    figures = Figures(gauge, lambda: NOW, fresh=3600.0)
    first = figures.read()
    land(gauge, "1.csv", FIRST)
    assert figures.read() is first


# As Prometheus reads them


def test_the_text_parses_and_is_whole(gauge: Gauge, figures: Figures) -> None:
    land(gauge, "1.csv", FIRST)
    text, kind = exposition(figures)
    assert kind.startswith("text/plain")
    parsed = list(text_string_to_metric_families(text.decode()))
    assert {family.name for family in parsed} == set(BY_NAME)
    for family in parsed:
        measure = BY_NAME[family.name]
        assert (family.type, family.documentation) == (measure.kind, measure.text)
        for sample in family.samples:
            assert sample.name == measure.shown
            assert set(sample.labels) == set(measure.labels)


def test_openmetrics_is_given_to_who_accepts_it(gauge: Gauge, figures: Figures) -> None:
    land(gauge, "1.csv", FIRST)
    text, kind = exposition(figures, "application/openmetrics-text; version=1.0.0")
    assert kind.startswith("application/openmetrics-text")
    assert {family.name for family in open_families(text.decode())} == set(BY_NAME)


ACCEPTS = (
    "",
    "*/*",
    "text/plain;version=1.x",
    "application/openmetrics-text;version=abc;q=",
    ";;,=",
)


@pytest.mark.parametrize("accept", ACCEPTS)
def test_whatever_is_accepted_something_is_given(figures: Figures, accept: str) -> None:
    text, kind = exposition(figures, accept)
    assert b"streamgauge_epoch 0.0" in text
    assert kind.partition(";")[0] in ("text/plain", "application/openmetrics-text")


@pytest.mark.parametrize("name", ['a"b', "a\nb", "a\\b", "<b>bold</b>", "ü 漢", 'x"} 1\nfake 2'])
def test_any_name_survives_the_text(name: str) -> None:
    @dataclass
    class One:
        def read(self) -> list[Sample]:
            return [Sample("streamgauge_query_value", (name, "1"), 2.0)]

    text, _ = exposition(One())  # type: ignore[arg-type]
    samples = [s for f in text_string_to_metric_families(text.decode()) for s in f.samples]
    assert [(s.labels["query"], s.value) for s in samples] == [(name, 2.0)]


def test_names_are_as_prometheus_asks() -> None:
    assert len(BY_NAME) == len(EVERY)
    for measure in EVERY:
        assert re.fullmatch(r"streamgauge(_[a-z]+)+", measure.name)
        assert not measure.name.endswith(("_total", "_count", "_sum", "_bucket", "_info"))
        assert measure.text.endswith(".")
        assert measure.unit == ("s" if measure.name.endswith("_seconds") else measure.unit)
    assert all(not family.samples for family in families([]))


def asked(gauge: Gauge, settings: Settings | None = None, **headers: str) -> httpx.Response:
    async def ask() -> httpx.Response:
        through = httpx.ASGITransport(make_app(gauge, settings))
        async with httpx.AsyncClient(transport=through, base_url="http://127.0.0.1") as client:
            return await client.get("/metrics", headers=headers)

    return asyncio.run(ask())


def test_the_server_shows_metrics(gauge: Gauge) -> None:
    land(gauge, "1.csv", FIRST)
    answer = asked(gauge)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert 'streamgauge_query_value{query="newest",version="1"} 32.0' in answer.text


def test_metrics_need_a_token_where_tokens_are(gauge: Gauge, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("reader-token reader prometheus\n")
    settings = Settings(tokens=tokens)
    assert asked(gauge, settings).status_code == 401
    assert asked(gauge, settings, authorization="Bearer reader-token").status_code == 200


# What is written of them


def documented() -> dict[str, tuple[str, str, str]]:
    rows = re.findall(r"^\| `(streamgauge_\w+)` \| (.*) \| (.*) \| (.*) \|$", _text(), re.M)
    assert len({row[0] for row in rows}) == len(rows)
    return {name: (kind, labels, text) for name, kind, labels, text in rows}


def _text() -> str:
    return DOCUMENT.read_text(encoding="utf-8")


def test_every_metric_is_documented() -> None:
    told = {m.shown: (m.kind, ", ".join(m.labels) or "-", m.text) for m in EVERY}
    assert documented() == told


def expressions(board: Any) -> list[str]:
    return [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]


def test_every_metric_is_drawn_or_listed_as_not() -> None:
    listed = set(re.findall(r"^- `(streamgauge_\w+)`$", _text(), re.M))
    drawn = {name for text in expressions(json.loads(dashboard())) for name in NAME.findall(text)}
    assert drawn | listed == set(SHOWN)
    assert not drawn & listed


def test_the_dashboard_is_one_that_grafana_takes() -> None:
    board = json.loads(dashboard())
    assert {"title", "uid", "panels", "templating", "time", "schemaVersion"} <= set(board)
    assert "id" not in board, "an id of another Grafana would overwrite a board there"
    assert isinstance(board["schemaVersion"], int)
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        assert panel["title"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, f"{panel['title']} lies on another panel"
        taken |= cells
        targets = panel.get("targets", [])
        assert (panel["type"] == "row") == (not targets)
        assert len({target["refId"] for target in targets}) == len(targets)
        for target in targets:
            assert target["datasource"]["uid"] == "${datasource}"


def test_the_dashboard_asks_for_what_there_is() -> None:
    board = json.loads(dashboard())
    variables = {item["name"]: item for item in board["templating"]["list"]}
    known = {f"${name}" for name in variables} | {"$__rate_interval"}
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            check_expression(target["expr"])
            assert set(re.findall(r"\$\w+", target["expr"])) <= known
            labels = set(re.findall(r"{{(\w+)}}", target["legendFormat"])) - {"instance", "job"}
            for name in NAME.findall(target["expr"]):
                assert labels <= set(SHOWN[name].labels)
    for item in variables.values():
        if item["type"] == "query":
            asked = re.fullmatch(r"label_values\((\w+)(\{.*\})?, (\w+)\)", item["definition"])
            assert asked is not None
            assert asked[3] in {*SHOWN[asked[1]].labels, "job", "instance"}


def test_no_value_is_drawn_without_its_bar() -> None:
    for panel in json.loads(dashboard())["panels"]:
        names = {name for t in panel.get("targets", ()) for name in NAME.findall(t["expr"])}
        if "streamgauge_query_value" in names:
            assert {"streamgauge_query_low", "streamgauge_query_high"} <= names


def test_the_guide_names_what_there_is() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    rules = re.findall(r"expr: (.*)$", text, re.M)
    assert rules
    for rule in rules:
        check_expression(rule)
    assert set(NAME.findall(text)) <= set(SHOWN)
    for part in re.findall(r"^\| `(\w+)`", text, re.M):
        assert any(shown.endswith(f"_{part}") for shown in SHOWN), part


def check_expression(text: str) -> None:
    """Names exist, brackets close, counters are asked for rates, labels are those of the name."""
    names = NAME.findall(text)
    assert names
    assert set(names) <= set(SHOWN)
    for opening, closing in ("()", "[]", "{}"):
        assert text.count(opening) == text.count(closing)
    for name, chosen in re.findall(r"(streamgauge_\w+)(?:\{(.*?)\})?", text):
        asked = set(re.findall(r"(\w+)=~?\"", chosen)) - {"job", "instance"}
        assert asked <= set(SHOWN[name].labels)
    for found in re.finditer(NAME, text):
        if SHOWN[found[0]].kind == "counter":
            assert text[: found.start()].endswith("rate("), f"{found[0]} is a counter"


# As OpenTelemetry is sent them


@dataclass
class Collector:
    """What a receiver of OTLP/HTTP took."""

    address: str = ""
    bodies: list[bytes] = field(default_factory=list)

    def figures(self) -> dict[str, dict[tuple[str, ...], float]]:
        proto = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
        found: dict[str, dict[tuple[str, ...], float]] = {}
        request = proto.ExportMetricsServiceRequest.FromString(self.bodies[-1])
        for metric in request.resource_metrics[0].scope_metrics[0].metrics:
            kind = metric.WhichOneof("data")
            assert (kind == "sum") == (BY_NAME[metric.name].kind == "counter")
            assert metric.description == BY_NAME[metric.name].text
            assert metric.unit == BY_NAME[metric.name].unit
            for point in getattr(metric, kind).data_points:
                given = {pair.key: pair.value.string_value for pair in point.attributes}
                labels = tuple(given[label] for label in BY_NAME[metric.name].labels)
                found.setdefault(metric.name, {})[labels] = point.as_double
        return found


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            right = self.path == "/v1/metrics"
            if right:
                collector.bodies.append(body)
            self.send_response(200 if right else 404)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
    collector.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


otel = pytest.mark.skipif(
    telemetry.OTLPMetricExporter is None, reason="OpenTelemetry's exporter is not installed"
)


@otel
def test_the_same_figures_are_pushed(gauge: Gauge, figures: Figures) -> None:
    land(gauge, "1.csv", FIRST)
    with collecting() as collector:
        with telemetry.Telemetry(figures, collector.address, every=3600.0) as pushing:
            assert pushing.send()
            first = collector.figures()
            land(gauge, "2.csv", SECOND_FILE)
        last = collector.figures()
    assert first["streamgauge_rows"] == {(): 5.0}
    assert first["streamgauge_query_value"]["newest", "1"] == 32.0
    assert last["streamgauge_rows"] == {(): 7.0}
    told: dict[str, dict[tuple[str, ...], float]] = {}
    for sample in figures.read():
        told.setdefault(sample.metric, {})[sample.labels] = sample.value
    assert last == told


@otel
def test_a_collector_that_is_away_stops_nothing(gauge: Gauge, figures: Figures) -> None:
    with collecting() as gone:
        address = gone.address
    with telemetry.Telemetry(figures, address, every=3600.0):
        land(gauge, "1.csv", FIRST)
    assert at(figures)["rows"][()] == 5.0


@pytest.mark.parametrize(
    "endpoint", ["collector", "ftp://x", "http://", "http://h:port", "http://["]
)
def test_an_endpoint_that_is_none(endpoint: str) -> None:
    with pytest.raises(BindError, match="OpenTelemetry"):
        telemetry.receiver(endpoint)


def test_a_path_of_its_own_stays() -> None:
    assert telemetry.receiver("http://h:4318/") == "http://h:4318/v1/metrics"
    assert telemetry.receiver("https://h/otlp/v1/metrics") == "https://h/otlp/v1/metrics"


def test_what_is_missing_is_said(figures: Figures, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "OTLPMetricExporter", None)
    with pytest.raises(MissingRuntime, match="streamgauge\\[otel\\]"):
        telemetry.Telemetry(figures, "http://127.0.0.1:4318")
