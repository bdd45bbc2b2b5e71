"""What the pages of a query and of the job are drawn from: budget, deferrals, shadow, epochs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

import streamgauge as sg
from streamgauge.contracts.answer import Answer, Charge
from streamgauge.execute.script import Script
from streamgauge.plan.shadows import EXACT_SHADOW
from streamgauge.server.outlook import planned_charges
from tests.server.conftest import problem, step

pytestmark = pytest.mark.slow

LATEST = "FROM rows [PARTITION BY series ROWS 1]"
MINUTE = "FROM rows [RANGE 1 MINUTE]"


def at(name: str, rest: str = "") -> str:
    return f"/v1/queries/{quote(name, safe='')}{rest}"


def charge(by: str, width: float | None, delta: float) -> dict[str, Any]:
    half = None if width is None else width / 2.0
    sides = {side: pytest.approx(half) if half else half for side in ("below", "above")}
    return {"by": by, "width": pytest.approx(width) if width else width, "delta": delta, **sides}


def budget(client: httpx.Client, name: str) -> dict[str, Any]:
    response = client.get(at(name, "/budget"))
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


def planned(gauge: sg.Gauge, text: str, answer: Answer | None = None) -> list[Charge]:
    """What a question would be given; it is tried, not registered."""
    trial = gauge.trial()
    Script(gauge, trial).run(f"CREATE QUERY asked AS {text}")
    return planned_charges(trial.registry, trial.registry.query("asked"), answer)


def test_an_exact_query_has_no_error_to_spend(client: httpx.Client) -> None:
    told = budget(client, "newest")
    assert told["owed"] == charge("contract", 0.0, 0.0)
    assert (told["planned"], told["held"], told["group"]) == ([], [], [])
    problem(client.get(at("haet", "/budget")), 404)


def test_a_view_has_no_error_to_spend(client: httpx.Client) -> None:
    told = budget(client, "large")
    assert (told["planned"], told["held"], told["group"]) == ([], [], None)


def test_a_deferral_takes_the_whole_width_and_the_chance(
    client: httpx.Client, gauge: sg.Gauge, more: Callable[[int], None]
) -> None:
    gauge.sql(f"CREATE QUERY heat AS SELECT AVG(value) {LATEST} WITHIN 5 CONFIDENCE 0.9")
    step(gauge)
    more(12)
    told = budget(client, "heat")
    assert told["owed"] == charge("contract", 10.0, 0.1)
    (held,) = told["held"]
    assert held["by"].startswith("deferral by ")
    assert told["planned"] == told["held"] == [charge(held["by"], 10.0, 0.1)]


def test_the_budget_is_that_of_the_widest_group(
    client: httpx.Client, gauge: sg.Gauge, more: Callable[[int], None]
) -> None:
    gauge.sql(
        f"CREATE QUERY heat AS SELECT site, AVG(value) {LATEST} GROUP BY site "
        "WITHIN 10 PERCENT CONFIDENCE 0.9"
    )
    step(gauge)
    more(12)
    found = client.get(at("heat", "/answers/latest")).json()["answers"]
    widest = max(found, key=lambda answer: answer["high"] - answer["low"])
    told = budget(client, "heat")
    assert told["group"] == widest["group"]
    assert told["owed"]["width"] == pytest.approx(0.2 * abs(widest["value"]))


def test_what_a_plan_gives_to_whom(gauge: sg.Gauge) -> None:
    moves = planned(gauge, f"SELECT SUM(value) {LATEST} GUARANTEED WITHIN 3 ON CHANGE OF 1")
    assert sum(part.width for part in moves) == pytest.approx(6.0)
    ranks = planned(gauge, f"SELECT QUANTILE(value, 0.5) {MINUTE} WITHIN 5% RANK")
    assert [part.width for part in ranks] == [float("inf")]
    known = Answer("asked", 200.0, 190.0, 210.0, as_of=0)
    distinct = planned(gauge, f"SELECT COUNT(DISTINCT value) {MINUTE} WITHIN 5 PERCENT", known)
    assert sum(part.width for part in distinct) == pytest.approx(20.0)
    assert sum(part.delta for part in distinct) == pytest.approx(0.05)


def test_a_promising_query_is_given_what_it_takes(gauge: sg.Gauge) -> None:
    gauge.sql(
        "CREATE SUMMARY values_of ON rows(value) WITH GRANULARITY 30 SECONDS AND COLLAPSE(2, 2)"
    )
    text = f"SELECT SUM(value) {MINUTE} EVERY 10 SECONDS WITHIN 5 PERCENT BUDGET PROBES 2"
    assert planned(gauge, text) == [Charge.even("promising", float("inf"), 0.05)]


def test_deferrals_are_told_of_deferred_queries_only(
    client: httpx.Client, gauge: sg.Gauge, more: Callable[[int], None]
) -> None:
    gauge.sql(f"CREATE QUERY heat AS SELECT AVG(value) {LATEST} WITHIN 5 CONFIDENCE 0.9")
    gauge.sql(f"CREATE QUERY cold AS SELECT MIN(value) {LATEST} WITHIN 5 CONFIDENCE 0.9")
    step(gauge)
    more(12)
    found = client.get(at("heat", "/deferrals")).json()
    (cell,) = found["rows"]
    assert (found["total"], cell["query"], cell["members"]) == (1, "heat", 2)
    assert cell["regime"] in ("timer", "watch")
    assert 0 < cell["evaluations"] <= cell["checks"] + 1
    for name in ("newest", "large"):
        assert client.get(at(name, "/deferrals")).json() == {"rows": [], "total": 0}
    problem(client.get(at("haet", "/deferrals")), 404)
    problem(client.get(at("heat", "/deferrals"), params={"limit": 0}), 422)


def test_a_shadow_is_named_while_it_is_there(client: httpx.Client, gauge: sg.Gauge) -> None:
    assert client.get(at("newest", "/shadow")).json() == {"name": None}
    beside = sg.Query(f"{EXACT_SHADOW}newest", "rows", sg.avg("value"), window=sg.Latest())
    trial = gauge.trial()
    trial.apply({"do": "shadow", "query": beside.as_dict()})
    gauge.take(trial)
    assert client.get(at("newest", "/shadow")).json() == {"name": "audit:newest"}
    problem(client.get(at("haet", "/shadow")), 404)


def test_epochs_are_told_as_they_were_committed(
    client: httpx.Client, gauge: sg.Gauge, more: Callable[[int], None]
) -> None:
    before = client.get("/v1/epochs").json()
    assert sum(record["dead"] for record in before["epochs"]) == 1
    assert sum(record["rows"] for record in before["epochs"]) == 6
    more(12)
    (fresh,) = client.get("/v1/epochs", params={"after": before["epoch"]}).json()["epochs"]
    assert (fresh["epoch"], fresh["start"]) == (before["epoch"] + 1, before["epoch"])
    assert (fresh["rows"], fresh["late"], fresh["share"]) == (2, 0, 1.0)
    assert fresh["answers"] > 0
    assert fresh["landed_at"].endswith("Z")
    assert len(client.get("/v1/epochs", params={"newest": 1}).json()["epochs"]) == 1
    problem(client.get("/v1/epochs", params={"newest": 0}), 422)


def test_refused_changes_are_told_without_directories(
    client: httpx.Client, gauge: sg.Gauge, tmp_path: Path
) -> None:
    elsewhere = sg.connect(gauge.home.root, engine="local")
    gauge.drop("large")
    elsewhere.drop("large")
    step(gauge)
    told = [
        error for record in client.get("/v1/epochs").json()["epochs"] for error in record["refused"]
    ]
    assert [error["title"] for error in told] == ["no query named 'large'"]
    assert all(error[part] for error in told for part in ("epoch", "detail", "hint"))
    assert str(tmp_path) not in str(told)
