"""A technique is a folder and a line: a toy is reached by all that asks techniques."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

import streamgauge as sg
from streamgauge.audit.shadow import Reason, shadow_of
from streamgauge.capacity.observed import observed
from streamgauge.checks.work import check_work
from streamgauge.contracts.guarantee import EXACT
from streamgauge.engine.kept import kept
from streamgauge.kernel.time import SECOND, instant
from streamgauge.log.segments import write_parquet
from streamgauge.plan import technique
from streamgauge.plan.offer import Offer
from streamgauge.results.change_log import as_answers
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from tests.owner import as_owner
from tests.work.toy.technique import Toy

pytestmark = pytest.mark.slow
START = instant("2026-01-01T00:00:00Z")
DECLARED = "CREATE STREAM s (ts TIME, k STRING, v FLOAT) FROM FILES '{rows}' TIME ts KEY k"
ASKED = "CREATE QUERY n AS SELECT COUNT(*) FROM s [NOW]"


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line of the toy, after all others: its offer decides."""
    names = (*technique.TECHNIQUES, "tests.work.toy.technique")
    monkeypatch.setattr(technique, "TECHNIQUES", names)


def rows_of(first: int, n: int) -> pa.Table:
    times = [START + (first + i) * SECOND for i in range(n)]
    ts = pa.array(times, pa.timestamp("us", tz="UTC"))
    return pa.table({"k": ["a"] * n, "ts": ts, "v": [1.0] * n})


def stepped(root: Path, rows: pa.Table, name: str) -> sg.Gauge:
    (root / "rows").mkdir(exist_ok=True)
    write_parquet(root / "rows" / f"{name}.parquet", rows)
    gauge = sg.connect(root / "home", engine="local", shards=2)
    if "s" not in gauge.registry().streams:
        gauge.sql(DECLARED.replace("{rows}", str(root / "rows")))
        gauge.sql(ASKED)
    while gauge.step():
        pass
    return gauge


def test_sql_explain_answers_restart_and_readers_reach_it(tmp_path: Path) -> None:
    gauge = stepped(tmp_path, rows_of(0, 10), "0")
    assert "Toy count" in gauge.explain("n")
    (newest,) = gauge.latest("n")
    # The last tick is closed by a later row only.
    assert newest.value == 9.0
    gauge.stop()
    again = stepped(tmp_path, rows_of(10, 5), "1")
    values = [answer.value for answer in as_answers(again.answers("n"))]
    assert values == [float(n) for n in range(1, 15)]
    assert [(part.what, part.count) for part in kept(again.home, "n")] == [("counts", 1)]
    assert observed(again.home).asked[0].kind == "latest"


def test_who_wins_every_bid_answers_every_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Toy, "offer", lambda self, *_: Offer(self.name, EXACT, 0, 0.0, "nothing"))
    gauge = stepped(tmp_path, rows_of(0, 10), "0")
    asked = (
        "SELECT AVG(v) FROM s [PARTITION BY k ROWS 1]",
        "SELECT AVG(v) FROM s [PARTITION BY k ROWS 1] WITHIN 0.5 CONFIDENCE 90%",
        "SELECT k, AVG(v) FROM s [RANGE 10 SECONDS] GROUP BY k",
        "SELECT AVG(v) FROM s [ROWS 5]",
        "SELECT AVG(v) FROM s [DECAY 10 SECONDS] EVERY 1 SECOND",
        "SELECT APPROX_COUNT_DISTINCT(k) FROM s [RANGE 10 SECONDS]",
        "SELECT MEDIAN(v) FROM s [RANGE 10 SECONDS]",
    )
    for number, text in enumerate(asked):
        gauge.sql(f"CREATE QUERY q{number} AS {text}")
    write_parquet(tmp_path / "rows" / "1.parquet", rows_of(10, 5))
    while gauge.step():
        pass
    for number, text in enumerate(asked):
        (newest,) = gauge.latest(f"q{number}")
        assert newest.value == 14.0, text
        assert "Toy count" in gauge.explain(f"q{number}"), text


def test_answers_do_not_depend_on_cuts_shards_or_reloads(tmp_path: Path) -> None:
    history = [DECLARED, ASKED, rows_of(0, 40), rows_of(40, 25)]
    assert check_work(tmp_path, history) == 64


def test_pages_and_the_auditor_reach_it(tmp_path: Path) -> None:
    gauge = stepped(tmp_path, rows_of(0, 10), "0")
    registry = gauge.registry()
    shadow = shadow_of(registry.query("n"), registry)
    assert shadow == Reason("its answers are exact", exact=True)
    with (
        Server(gauge, replace(Settings.of("http://127.0.0.1:0"), thrift=0.0)) as server,
        httpx.Client(
            base_url=server.address, headers=as_owner(server), timeout=60, verify=False
        ) as client,
    ):
        plan = client.get("/v1/queries/n/plan")
        assert "Toy count" in plan.text
        assert "error by cause: late rows" in plan.text
        (newest,) = client.get("/v1/queries/n/answers/latest").json()["answers"]
        assert newest["value"] == 9.0
        assert client.get("/v1/queries/n/budget").json()["planned"] == []
        assert client.get("/v1/queries/n/deferrals").json() == {"rows": [], "total": 0}
        foreseen = client.post("/v1/check", json={"text": ASKED.replace(" n ", " m ")})
        assert "Toy count" in foreseen.text, foreseen.text
