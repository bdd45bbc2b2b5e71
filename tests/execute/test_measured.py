"""EXPLAIN ANALYZE: figures of queries that have run, from committed epochs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.engine.kept import kept
from streamgauge.kernel.files import read_json
from tests.goldens import assert_golden

pytestmark = pytest.mark.slow

HEAD = "ts,series,site,value\n"
FIRST = [
    "01Z,a,north,1",
    "01Z,b,south,10",
    "02Z,a,north,2",
    "03Z,a,north,3",
    "03Z,b,south,30",
    "09Z,a,north,4",
]
# A row that is late, and one that closes the ticks before it.
SECOND = ["08Z,b,south,70", "20Z,a,north,7"]
SCRIPT = """
CREATE STREAM s (ts time, series string, site string, value float)
    FROM FILES 'rows' FORMAT csv KEY series TIME ts;
CREATE QUERY mean AS SELECT AVG(value) FROM s [RANGE 4 SECONDS] EVERY 2 SECONDS;
CREATE QUERY latest AS SELECT SUM(value) FROM s [PARTITION BY series ROWS 1] GUARANTEED WITHIN 5;
CREATE QUERY middle AS SELECT site, MEDIAN(value) FROM s [RANGE 4 SECONDS] GROUP BY site
    EVERY 2 SECONDS WITHIN 1 PERCENT RANK CONFIDENCE 90%;
CREATE QUERY kinds AS SELECT COUNT(DISTINCT value) FROM s [RANGE 4 SECONDS] EVERY 2 SECONDS
    WITHIN 10 PERCENT CONFIDENCE 90%;
CREATE QUERY high AS SELECT series, value FROM s [RANGE 4 SECONDS] WHERE value > 2;
CREATE QUERY came AS SELECT ISTREAM(series, value) FROM s [RANGE UNBOUNDED] WHERE value > 2;
CREATE QUERY sums AS SELECT site, SUM(value) AS x FROM s [RANGE UNBOUNDED] GROUP BY site
    HAVING SUM(value) > 0;
CREATE QUERY about AS SELECT SUM(value) AS x FROM middle;
CREATE QUERY pairs AS SELECT COUNT(*) FROM s [RANGE 4 SECONDS] a JOIN s [RANGE 4 SECONDS] b
    ON a.series = b.series EVERY 2 SECONDS WITHIN 20 PERCENT RANK CONFIDENCE 80%;
"""
QUERIES = tuple(re.findall(r"CREATE QUERY (\w+)", SCRIPT))


def put(name: str, rows: list[str]) -> None:
    lines = "\n".join(f"2026-01-01T00:00:{row}" for row in rows)
    Path("rows", name).write_text(f"{HEAD}{lines}\n")


def turned(gauge: sg.Gauge) -> sg.Gauge:
    while gauge.step():
        pass
    return gauge


def measured(gauge: sg.Gauge, name: str) -> str:
    """What ANALYZE adds to the plan, without what a clock said and bytes that others share."""
    plan, whole = str(gauge.sql(f"EXPLAIN {name}")), str(gauge.sql(f"EXPLAIN ANALYZE {name}"))
    assert whole.startswith(plan)
    text = re.sub(r"[\d.e-]+ s\b", "? s", whole.removeprefix(plan).strip())
    return re.sub(r"[\d,]+ bytes", "? bytes", text)


def figures(gauge: sg.Gauge, name: str) -> dict[str, str]:
    lines = measured(gauge, name).splitlines()[1:]
    pairs = (line.strip().split("  ", 1) for line in lines)
    return {title: text.strip() for title, text in pairs}


@pytest.fixture
def gauge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sg.Gauge:
    """A gauge with queries of every kind, that has seen two epochs."""
    monkeypatch.chdir(tmp_path)
    Path("rows").mkdir()
    put("first.csv", FIRST)
    gauge = sg.connect(tmp_path / "home", engine="local")
    gauge.sql(SCRIPT)
    turned(gauge)
    put("second.csv", SECOND)
    return turned(gauge)


def test_every_kind_of_query_is_measured(gauge: sg.Gauge) -> None:
    whole = "\n\n".join(f"{name}\n{measured(gauge, name)}" for name in QUERIES)
    assert_golden("analyze.txt", f"{whole}\n")


def test_figures_are_those_of_the_change_log(gauge: sg.Gauge) -> None:
    for name in ("mean", "latest", "middle", "kinds", "pairs"):
        given = gauge.answers(name)
        met = sum(given["contract_met"].to_pylist())
        found = figures(gauge, name)
        assert found["answers"].startswith(f"{given.num_rows} at ")
        assert found["contract"].startswith(f"kept by {met} of {given.num_rows} ")
    changes = gauge.row_changes("high")["count"].to_pylist()
    came, went = sum(n for n in changes if n > 0), -sum(n for n in changes if n < 0)
    now = gauge.rows("high").num_rows
    assert figures(gauge, "high")["rows"].startswith(f"{now} now, {came} came, {went} went, ")
    assert came - went == now


def test_state_of_one_query_is_part_of_all_state(gauge: sg.Gauge) -> None:
    epoch = gauge.home.committed()
    whole = read_json(gauge.home.commit(epoch))["state_bytes"]
    for name in QUERIES:
        parts = kept(gauge.home, name)
        assert parts, name
        assert 0 < sum(part.nbytes for part in parts) < whole


def test_an_altered_query_is_measured_anew(gauge: sg.Gauge) -> None:
    gauge.sql("ALTER QUERY mean AS SELECT MAX(value) FROM s [RANGE 4 SECONDS] EVERY 2 SECONDS")
    turned(gauge)
    assert figures(gauge, "mean")["answers"] == "none"
    put("third.csv", ["31Z,a,north,9"])
    turned(gauge)
    assert figures(gauge, "mean")["answers"].startswith("3 at 3 instants, in 1 epoch, ")


def test_what_is_not_landed_is_not_measured(gauge: sg.Gauge) -> None:
    gauge.sql("CREATE QUERY more AS SELECT COUNT(*) FROM s [RANGE 4 SECONDS] EVERY 2 SECONDS")
    assert measured(gauge, "more") == "measured: nothing, it begins after epoch 2"
    gauge.sql("CREATE QUERY both AS SELECT MIN(value) AS a, MAX(value) AS b FROM s [NOW]")
    turned(gauge)
    assert str(gauge.sql("EXPLAIN ANALYZE both")).count("measured up to epoch 3") == 2
