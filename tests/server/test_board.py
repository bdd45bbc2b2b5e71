"""The list of all queries in columns: what it says, how it is looked up, what a poll costs."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

import streamgauge as sg
from streamgauge.audit import report
from streamgauge.contracts.answer import Answer, Charge
from streamgauge.contracts.contract import Contract
from streamgauge.plan.registry import Listed, Standing
from streamgauge.server import beside
from streamgauge.server.beside import Beside, Held, Patient, Sideline
from streamgauge.server.board import Lookup, page, row_of, state_of, strain, worst
from streamgauge.server.serving import Server
from tests.server.conftest import problem, step

pytestmark = pytest.mark.slow

HEAT = sg.Query(
    "heat", "rows", sg.avg("value"), window=sg.Latest(), contract=Contract.absolute(1.0)
)
FINE = Answer("heat", 5.0, 4.5, 5.5, as_of=0)
WIDE = replace(FINE, low=1.0, high=9.0, contract_met=False)
SILENT = replace(
    WIDE,
    basis="interrupted",
    charges=(Charge.even("interruption", float("inf")),),
    low=-float("inf"),
)


@pytest.fixture(autouse=True)
def patient(request: pytest.FixtureRequest) -> None:
    """Let lists of a server wait for all that they show."""
    if "served" in request.fixturenames:
        board = request.getfixturevalue("served").app.state.board
        board.newest.patience = board.sideline.patient.patience = 60.0


def listed(query: sg.Query = HEAT, *, in_force: bool = True, status: str = "running") -> Listed:
    return Listed(Standing(0, query, status=status), in_force)


def at_once(gauge: sg.Gauge) -> Sideline:
    """What stands beside answers, read whenever it is asked for."""
    return Sideline(gauge, gauge.registry, patience=60.0, share=1.0, rest=0.0)


def shown(client: httpx.Client, **params: Any) -> dict[str, Any]:
    response = client.get("/v1/board", params=params)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def test_every_query_is_there_with_its_newest_answer(client: httpx.Client) -> None:
    board = shown(client)
    assert board["names"] == ["large", "newest", "sites"]
    assert board["total"] == 3
    assert board["values"] == [None, 33.0, pytest.approx(board["values"][2])]
    assert board["kinds"] == ["rows", "numbers", "numbers"]
    assert board["contracts"] == ["exact"] * 3
    assert board["groups"][1:] == [1, 2]
    assert board["streams"] == [["rows"]] * 3
    columns = {len(column) for column in board.values() if isinstance(column, list)}
    assert columns == {3}


def test_a_grouped_query_shows_its_worst_group(client: httpx.Client, gauge: sg.Gauge) -> None:
    board = shown(client)
    at = board["names"].index("sites")
    assert tuple(board["group"][at]) == worst(gauge.latest("sites")).group


def test_the_rows_of_a_view_are_counted(client: httpx.Client, gauge: sg.Gauge) -> None:
    assert shown(client)["held"] == [gauge.rows("large").num_rows, None, None]
    # A row that could not be used is missing while the window would hold it.
    assert shown(client)["states"][0] == "degraded"
    for second in (3, 6):
        gauge.advance("rows", f"2026-01-01T00:01:0{second}Z")
        step(gauge)
    beside = at_once(gauge).read()
    assert beside.held["large", 1] == Held(1, met=True)
    view = Listed(gauge.registry().query("large"), in_force=True)
    assert row_of(view, {}, beside).state == "met"


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (FINE, "met"),
        (WIDE, "broken"),
        (SILENT, "degraded"),
        (replace(WIDE, coverage=0.5), "degraded"),
        (replace(WIDE, share=0.5), "degraded"),
        (replace(WIDE, value=None), "degraded"),
        (replace(WIDE, charges=(Charge.even("late rows", 8.0),)), "degraded"),
        (None, "waiting"),
    ],
)
def test_a_query_is_degraded_by_what_is_outside_it(answer: Answer | None, state: str) -> None:
    assert state_of(listed(), answer, None) == state
    assert state_of(listed(in_force=False), answer, None) == "waiting"
    assert state_of(listed(status="paused"), answer, None) == "paused"


def test_a_view_is_degraded_when_rows_are_missing() -> None:
    assert state_of(listed(), None, Held(3)) == "met"
    assert state_of(listed(), None, Held(3, met=False)) == "degraded"
    assert state_of(listed(), None, Held(3, share=0.4)) == "degraded"


def test_the_worst_is_not_met_before_it_is_wide() -> None:
    broken = replace(FINE, contract_met=False, group=("b",))
    wide = replace(WIDE, contract_met=True, group=("a",))
    assert worst([wide, FINE]) == wide
    assert worst([wide, broken]) == broken
    nothing = replace(broken, value=None, group=("c",))
    assert worst([broken, nothing]) == nothing


def test_strain_is_width_relative_to_what_is_owed() -> None:
    assert strain(Contract.absolute(1.0), FINE) == 0.5
    assert strain(Contract.relative(0.05), FINE) == pytest.approx(2.0)
    assert strain(Contract.exact(), FINE) == float("inf")
    assert strain(Contract.exact(), replace(FINE, low=5.0, high=5.0)) == 0.0
    assert strain(Contract.best(), FINE) is None


def test_orders_and_filters() -> None:
    answers = {
        "calm": replace(FINE, query="calm", epoch=9),
        "tense": replace(FINE, query="tense", low=4.1, epoch=3),
        "gone": replace(SILENT, query="gone", epoch=5),
        "audit:calm": replace(FINE, query="audit:calm"),
    }
    names = [*answers, "new"]
    newest = {name: [answer] for name, answer in answers.items()}
    rows = [row_of(listed(replace(HEAT, name=name)), newest, Beside()) for name in names]

    def ordered(**lookup: Any) -> list[str]:
        found: list[str] = page(rows, Lookup(**lookup), 9, {})["names"]
        return found

    assert ordered() == ["calm", "gone", "new", "tense"]
    assert ordered(order="widest") == ["gone", "tense", "calm", "new"]
    assert ordered(order="newest") == ["calm", "gone", "tense", "new"]
    assert ordered(state="degraded") == ["gone"]
    assert ordered(search="n") == ["gone", "new", "tense"]
    assert ordered(offset=1, limit=2) == ["gone", "new"]
    assert "audit:calm" in ordered(shadows=True)
    found = page(rows, Lookup(state="degraded"), 9, {})
    assert found["counts"] == {
        "met": 2,
        "broken": 0,
        "degraded": 1,
        "suspended": 0,
        "paused": 0,
        "waiting": 1,
    }
    assert json.dumps(found, allow_nan=False)


def test_a_poll_without_news_is_a_304(
    client: httpx.Client, gauge: sg.Gauge, more: Callable[[int], None]
) -> None:
    first = client.get("/v1/board")
    tag = first.headers["etag"]
    again = client.get("/v1/board", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    gauge.pause("newest")
    changed = client.get("/v1/board", headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.json()["states"][1] == "waiting"
    step(gauge)
    assert shown(client)["states"][1] == "paused"
    gauge.resume("newest")
    more(20)
    assert shown(client)["values"][1] == 34.0
    gauge.drop("sites")
    assert shown(client)["names"] == ["large", "newest"]


def test_a_new_version_does_not_show_the_answers_of_the_old(
    client: httpx.Client, gauge: sg.Gauge
) -> None:
    gauge.sql("ALTER QUERY newest AS SELECT COUNT(*) FROM rows [PARTITION BY series ROWS 1]")
    board = shown(client, search="newest")
    assert (board["values"], board["states"]) == ([None], ["waiting"])


def test_a_long_list_is_squeezed(client: httpx.Client, gauge: sg.Gauge) -> None:
    gauge.register(*(replace(HEAT, name=f"heat-{i}") for i in range(200)))
    response = client.get("/v1/board", headers={"Accept-Encoding": "gzip"})
    assert response.headers["content-encoding"] == "gzip"
    assert int(response.headers["content-length"]) < len(response.content)
    assert response.json() == shown(client)
    with client.stream("GET", "/v1/board", headers={"Accept-Encoding": "gzip"}) as raw:
        assert json.loads(gzip.decompress(b"".join(raw.iter_raw())))["total"] == 203
    plain = client.get("/v1/board", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers


def test_trails_are_the_last_answers(client: httpx.Client, more: Callable[[int], None]) -> None:
    for second in (20, 21, 22):
        more(second)
    found = client.get("/v1/board/trails", params={"query": ["newest", "sites", "no such"]}).json()
    assert set(found["trails"]) == {"newest", "sites"}
    values = [value for _, _, value, *_ in found["trails"]["newest"]]
    assert values[-3:] == [34.0, 40.0, 42.0]
    epochs = [epoch for epoch, *_ in found["trails"]["newest"]]
    assert epochs == sorted(epochs)
    few = client.get("/v1/board/trails", params={"query": "newest", "limit": 2}).json()
    assert [trail[2] for trail in few["trails"]["newest"]] == [40.0, 42.0]


def test_trails_of_a_grouped_query_are_of_the_group_that_is_listed(
    client: httpx.Client, gauge: sg.Gauge
) -> None:
    found = client.get("/v1/board/trails", params={"query": "sites"}).json()
    group = worst(gauge.latest("sites")).group
    assert tuple(found["groups"]["sites"]) == group
    given = list(gauge.subscribe("sites", since_epoch=0, timeout=0))
    wanted = [answer.value for answer in given if answer.group == group]
    assert [trail[2] for trail in found["trails"]["sites"]] == wanted


def test_what_does_not_fit_is_told(client: httpx.Client) -> None:
    problem(client.get("/v1/board", params={"limit": 20_001}), 422)
    problem(client.get("/v1/board", params={"state": "fine"}), 422)
    told = problem(client.get("/v1/board/trails", params={"query": ["x"] * 201}), 422)
    assert told["title"] == "too many queries at once"
    problem(client.get("/v1/board/trails"), 422)


def test_evaluations_saved_are_those_of_deferred_queries(gauge: sg.Gauge) -> None:
    asked = replace(HEAT, name="easy", contract=Contract.absolute(5.0, confidence=0.9))
    gauge.register(asked)
    step(gauge)
    side = at_once(gauge)
    rows = gauge.deferrals("easy").to_pylist()
    checks, evaluated = rows[0]["checks"], rows[0]["evaluations"]
    wanted = {"easy": 1.0 - evaluated / checks} if checks else {}
    assert side.read().saved == wanted


def test_suppressed_messages_are_those_of_the_streams_of_a_query(gauge: sg.Gauge) -> None:
    beside = Beside(suppressed={"rows": (200, 10), "idle": (0, 0)}, silent={"rows": ["b"]})
    row = row_of(listed(), {"heat": [FINE]}, beside)
    assert row.suppressed == 0.95
    assert beside.kept_back(("idle",)) is None
    folder = gauge.home.root / "edge" / "rows"
    folder.mkdir(parents=True)
    agents = [
        {"agent": "a", "state": "heard", "readings": 100, "updates": 5},
        {"agent": "b", "state": "interrupted", "readings": 100, "updates": 5},
    ]
    status = {"stream": "rows", "agents": agents, "objects": []}
    (folder / "status.json").write_text(json.dumps(status))
    found = at_once(gauge).read()
    assert (found.suppressed, found.silent) == ({"rows": (200, 10)}, {"rows": ["b"]})


def test_the_word_of_the_auditor_stands_beside(
    gauge: sg.Gauge, monkeypatch: pytest.MonkeyPatch
) -> None:
    def audited(name: str, *, now: bool = False, alarm: str | None = None) -> SimpleNamespace:
        return SimpleNamespace(name=name, version=1, now=now, alarm=alarm)

    found = [audited("a", alarm="missed"), audited("b", now=True), audited("c")]
    monkeypatch.setattr(report, "read", lambda *_: SimpleNamespace(queries=found))
    assert at_once(gauge).read().audits == {}, "nobody audits this home"
    (gauge.home.root / "audit").mkdir()
    words = at_once(gauge).read().audits
    assert words == {("a", 1): "alarm", ("b", 1): "now", ("c", 1): "held"}


def test_one_who_asks_waits_no_longer_than_patience() -> None:
    gate = threading.Event()

    def slow() -> str:
        gate.wait()
        return "read"

    patient = Patient(slow, "nothing", patience=0.0)
    assert [patient.now(), patient.now()] == ["nothing", "nothing"]
    gate.set()
    patient.patience = 60.0
    assert patient.now(due=False) == "read"


def test_what_is_old_is_not_given_while_newer_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, numbers = threading.Event(), iter(range(9))

    def slow() -> int:
        gate.wait()
        return next(numbers)

    gate.set()
    patient = Patient(slow, -1, patience=60.0)
    assert patient.now() == 0
    gate.clear()
    patient.patience = 0.001
    assert patient.now() == 0
    monkeypatch.setattr(beside, "OLD_SECONDS", -1.0)
    monkeypatch.setattr(beside, "OLD_TIMES", 60_000.0)
    threading.Timer(0.05, gate.set).start()
    assert patient.now() == 1


def test_a_list_is_given_before_its_answers_are_read(client: httpx.Client, served: Server) -> None:
    gate = threading.Event()
    served.app.state.board.newest = Patient(gate.wait, (-1, {}), patience=0.0)
    found = shown(client)
    gate.set()
    assert (found["epoch"], found["names"]) == (-1, ["large", "newest", "sites"])
    assert found["states"][1] == "waiting"


def test_rows_of_a_view_are_counted_again_when_some_came(
    gauge: sg.Gauge, more: Callable[[int], None]
) -> None:
    side = at_once(gauge)
    assert side.read().held["large", 1].rows == gauge.rows("large").num_rows
    before = gauge.rows("large").num_rows
    more(20)
    assert gauge.rows("large").num_rows > before
    assert side.read().held["large", 1].rows == gauge.rows("large").num_rows
