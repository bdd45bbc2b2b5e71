"""Logs: one line for each event, in order, readable by programs and people, without secrets."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.contracts.schema import ANSWERS
from streamgauge.gauge import Gauge
from streamgauge.kernel.files import write_json
from streamgauge.log import lock
from streamgauge.server import logs
from streamgauge.server.logs import HIDDEN, Chronicle, note, silence, write

pytestmark = pytest.mark.slow

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "reference" / "metrics.md"
HEAT = sg.Query("heat", "rows", sg.total("value"), window=sg.Latest())
COOL = sg.Query("cool", "rows", sg.avg("value"), window=sg.Latest())


class Lines:
    """What was written, as text and as values."""

    def __init__(self, kind: str) -> None:
        self.text = io.StringIO()
        self.written = write(kind, self.text)

    def taken(self) -> list[str]:
        found = self.text.getvalue().splitlines()
        self.text.seek(0)
        self.text.truncate()
        return found

    def events(self) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in self.taken()]
        for event in found:
            assert list(event)[:3] == ["time", "level", "event"]
            del event["time"]
        return found


@pytest.fixture
def lines() -> Iterator[Lines]:
    made = Lines("json")
    yield made
    silence(made.written)


@pytest.fixture
def gauge(tmp_path: Path) -> Iterator[Gauge]:
    (tmp_path / "in").mkdir()
    made = sg.connect(tmp_path / "home", engine="local")
    schema = sg.Schema.of(ts="time", series="string", value="float")
    source = sg.files(tmp_path / "in", format="csv")
    made.stream("rows", source, schema=schema, time="ts", key="series", expected_gap="3 s")
    turn(made)
    with made:
        yield made


def land(gauge: Gauge, name: str, *rows: tuple[int, str, int]) -> int:
    """Rows of second, series and value, worked off."""
    text = "".join(f"2026-01-01T00:00:{at:02}Z,{series},{value}\n" for at, series, value in rows)
    (gauge.home.root.parent / "in" / name).write_text("ts,series,value\n" + text)
    return turn(gauge)


def turn(gauge: Gauge) -> int:
    while gauge.step():
        pass
    return gauge.home.committed()


def names(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["event"], event.get("query", "")) for event in events]


# Lines


def test_a_line_of_json(lines: Lines) -> None:
    note("query registered", query="heat", version=1, nothing=None)
    (line,) = lines.taken()
    event = json.loads(line)
    assert event.pop("time").endswith("Z")
    assert event == {"level": "info", "event": "query registered", "query": "heat", "version": 1}


def test_a_line_of_text() -> None:
    made = Lines("text")
    try:
        note("push refused", level="warning", stream="rows", why="too large, by far")
    finally:
        silence(made.written)
    (line,) = made.taken()
    assert line.split(" ", 1)[1] == 'warning push refused stream=rows why="too large, by far"'


@pytest.mark.parametrize("kind", logs.KINDS)
def test_a_name_cannot_make_a_line_of_its_own(kind: str) -> None:
    made = Lines(kind)
    try:
        note("query dropped", query='\ud800x\n2026 info job stopped query=" \u2028\r\x1b[31m')
        logging.getLogger("streamgauge.other").warning("two\nlines")
    finally:
        silence(made.written)
    text = made.text.getvalue()
    assert text.count("\n") == 2
    assert "\x1b" not in text
    assert "\r" not in text
    if kind == "text":
        assert text.isascii()


def test_infinities_are_said(lines: Lines) -> None:
    note("epoch slow", seconds=float("inf"), rows=float("nan"))
    (event,) = lines.events()
    assert (event["seconds"], event["rows"]) == ("inf", "nan")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("token", "hunter2"),
        ("authorization", "Bearer hunter2"),
        ("why", "header was Authorization: Bearer hunter2"),
        ("why", "cannot reach kafka://me:hunter2@host:9092/x"),
        ("why", "password=hunter2, user=me"),
        ("why", "{'sasl.password': 'hunter2'}"),
        ("why", '{"api_key": "hunter2 and more"}'),
        ("why", "client_secret: hunter2"),
    ],
)
@pytest.mark.parametrize("kind", logs.KINDS)
def test_secrets_are_hidden(kind: str, field: str, value: str) -> None:
    made = Lines(kind)
    try:
        note("push refused", **{field: value})
    finally:
        silence(made.written)
    text = made.text.getvalue()
    assert "hunter2" not in text
    assert "and more" not in text
    assert HIDDEN in text


def test_errors_of_others_are_lines_too(lines: Lines) -> None:
    try:
        raise ValueError("password=hunter2")
    except ValueError:
        logging.getLogger("streamgauge.push").exception("it failed")
    (line,) = lines.taken()
    assert json.loads(line)["event"] == "it failed"
    assert "ValueError" in json.loads(line)["error"]
    assert "hunter2" not in line


def test_nothing_is_written_before_and_after() -> None:
    made = Lines("json")
    silence(made.written)
    note("job started")
    assert made.taken() == []
    assert logs.LOG.propagate


# Events


def test_the_life_of_queries(gauge: Gauge, lines: Lines) -> None:
    chronicle = Chronicle(gauge)
    gauge.register(HEAT, COOL)
    epoch = turn(gauge)
    chronicle.read()
    told = {"level": "info", "event": "query registered", "version": 1, "epoch": epoch}
    assert lines.events() == [told | {"query": "heat"}, told | {"query": "cool"}]
    gauge.pause("heat")
    gauge.alter(sg.Query("cool", "rows", sg.avg("value"), series=("a",)))
    turn(gauge)
    gauge.resume("heat")
    turn(gauge)
    gauge.drop("cool")
    turn(gauge)
    chronicle.read()
    assert names(lines.events()) == [
        ("query paused", "heat"),
        ("query altered", "cool"),
        ("query resumed", "heat"),
        ("query dropped", "cool"),
    ]
    chronicle.read()
    assert lines.events() == []


def test_what_was_before_is_not_told(gauge: Gauge, lines: Lines) -> None:
    gauge.register(HEAT)
    turn(gauge)
    Chronicle(gauge).read()
    assert lines.events() == []


def test_many_queries_are_one_line(gauge: Gauge, lines: Lines) -> None:
    chronicle = Chronicle(gauge)
    many = [
        sg.Query(f"q{i:02}", "rows", sg.total("value"), window=sg.Latest())
        for i in range(logs.MOST + 1)
    ]
    gauge.register(*many)
    epoch = turn(gauge)
    chronicle.read()
    (event,) = lines.events()
    assert event == {
        "level": "info", "event": "query registered", "epoch": epoch, "queries": len(many),
        "first": "q00",
    }  # fmt: skip


def test_what_the_job_refuses(gauge: Gauge, lines: Lines) -> None:
    chronicle = Chronicle(gauge)
    other = sg.connect(gauge.home.root, engine="local")
    gauge.register(HEAT)
    other.register(HEAT)
    turn(gauge)
    chronicle.read()
    refused, registered = lines.events()
    assert registered["event"] == "query registered"
    assert refused["event"] == "query refused"
    assert refused["level"] == "warning"
    assert refused["code"] == "BindError"
    assert "'heat' exists already" in refused["why"]


def test_a_slow_epoch(gauge: Gauge, lines: Lines) -> None:
    chronicle = Chronicle(gauge, slow=0.0)
    gauge.register(HEAT)
    epoch = turn(gauge)
    chronicle.read()
    slow = [event for event in lines.events() if event["event"] == "epoch slow"]
    assert [event["epoch"] for event in slow] == [epoch]
    assert slow[0]["level"] == "warning"
    assert slow[0]["seconds"] >= 0.0


def answered(
    gauge: Gauge, monkeypatch: pytest.MonkeyPatch, *rows: tuple[str, str, bool, str]
) -> None:
    """Commit an epoch whose answers are these: query, group, whether it is met, basis."""
    number = gauge.home.committed() + 1
    page = json.loads((gauge.home.journal / f"{number - 1:012d}.json").read_text())
    page |= {"number": number, "changes": [], "segments": [], "taken": {}, "inbox": []}
    write_json(gauge.home.journal / f"{number:012d}.json", page)
    commit = json.loads(gauge.home.commit(number - 1).read_text())
    write_json(gauge.home.commit(number), commit | {"epoch": number, "start": number - 1})
    plain = {"version": 1, "value": 1.0, "low": 0.0, "high": 2.0, "confidence": 1.0, "as_of": 0,
             "epoch": number, "revision": 0, "coverage": 1.0, "charges": [], "slope": 0.0,
             "share": 1.0}  # fmt: skip
    made = [
        plain | {"query": query, "group": group, "contract_met": met, "basis": basis}
        for query, group, met, basis in rows
    ]
    table = pa.Table.from_pylist(made, schema=ANSWERS)
    monkeypatch.setattr(logs, "epoch_answers", lambda _home, _epoch: table)


def test_a_contract_breaks_and_holds_again(
    gauge: Gauge, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    gauge.register(HEAT, COOL)
    turn(gauge)
    chronicle = Chronicle(gauge)
    steps = [
        ([("heat", '["a"]', True, "exact"), ("cool", "", True, "exact")], []),
        ([("heat", '["a"]', False, "exact"), ("heat", '["b"]', False, "exact")], ["broken"]),
        ([("heat", '["a"]', True, "exact")], []),
        ([("cool", "", False, "exact"), ("cool", "", True, "exact")], []),
        ([("heat", '["b"]', True, "exact")], ["held again"]),
    ]
    for rows, expected in steps:
        answered(gauge, monkeypatch, *rows)
        chronicle.read()
        assert names(lines.events()) == [(f"contract {word}", "heat") for word in expected]


def test_a_source_falls_silent_and_comes_back(gauge: Gauge, lines: Lines) -> None:
    gauge.register(HEAT)
    land(gauge, "1.csv", (1, "a", 1), (1, "b", 1), (2, "a", 2), (2, "b", 5))
    chronicle = Chronicle(gauge)
    epoch = land(gauge, "2.csv", *((at, "a", at) for at in range(3, 12)))
    chronicle.read()
    assert lines.events() == [
        {"level": "warning", "event": "contract broken", "query": "heat", "version": 1,
         "epoch": epoch},
        {"level": "warning", "event": "source interrupted", "stream": "rows", "epoch": epoch},
    ]  # fmt: skip
    restarted = Chronicle(gauge)
    land(gauge, "3.csv", (12, "a", 1), (12, "b", 1), (13, "a", 2), (13, "b", 2), (14, "a", 2))
    for one in (chronicle, restarted):
        one.read()
        told = [event["event"] for event in lines.events()]
        assert told == ["contract held again", "source back"]


def test_a_new_version_begins_well(
    gauge: Gauge, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    gauge.register(HEAT)
    turn(gauge)
    chronicle = Chronicle(gauge)
    chronicle._broken.add(("heat", '["gone"]'))
    gauge.alter(sg.Query("heat", "rows", sg.total("value"), series=("a",)))
    turn(gauge)
    chronicle.read()
    answered(gauge, monkeypatch, ("heat", "", False, "exact"))
    chronicle.read()
    assert names(lines.events()) == [("query altered", "heat"), ("contract broken", "heat")]


def test_an_agent_goes_and_comes(gauge: Gauge, lines: Lines) -> None:
    place = gauge.home.root / "edge" / "pumps"
    place.mkdir(parents=True)

    def tell(state: str) -> list[dict[str, Any]]:
        status = {"stream": "pumps", "agents": [{"agent": "p-1", "state": state}], "objects": []}
        (place / "status.json").write_text(json.dumps(status))
        chronicle.read()
        return lines.events()

    chronicle = Chronicle(gauge)
    assert tell("heard") == []
    whose = {"stream": "pumps", "agent": "p-1"}
    assert tell("interrupted") == [{"level": "warning", "event": "source interrupted", **whose}]
    assert tell("interrupted") == []
    assert tell("heard") == [{"level": "info", "event": "source back", **whose}]


def test_the_job_starts_and_stops(gauge: Gauge, lines: Lines) -> None:
    chronicle = Chronicle(gauge)
    with lock.holding(gauge.home.root):
        chronicle.read()
        chronicle.read()
    chronicle.read()
    assert [event["event"] for event in lines.events()] == ["job started", "job stopped"]


def test_the_thread_follows_and_tells_the_last(
    gauge: Gauge, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "POLL_SECONDS", 0.01)
    with Chronicle(gauge):
        gauge.register(HEAT)
        turn(gauge)
        wait_until(lambda: "query registered" in lines.text.getvalue(), 60, what="the line")
        gauge.drop("heat")
        turn(gauge)
    assert names(lines.events())[-1] == ("query dropped", "heat")


def test_a_home_that_cannot_be_read_ends_nothing(
    gauge: Gauge, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    chronicle = Chronicle(gauge)
    gauge.register(HEAT)
    turn(gauge)
    page = gauge.home.journal / f"{gauge.home.committed():012d}.json"
    kept = page.read_bytes()
    page.write_bytes(b"{")
    chronicle._try()
    chronicle._try()
    page.write_bytes(kept)
    chronicle._try()
    assert [event["event"] for event in lines.events()] == ["home unreadable", "query registered"]


def test_every_event_is_documented() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    source = Path(logs.__file__).read_text(encoding="utf-8")
    kinds = ("job", "epoch", "query", "contract", "source", "home")
    events = {
        word for word in re.findall(r'"([a-z]+(?: [a-z]+)+)"', source) if word.split()[0] in kinds
    }
    assert {"job started", "contract held again", "source back"} <= events
    for event in events:
        assert f"`{event}`" in text, event
