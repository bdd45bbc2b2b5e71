"""Statements on a gauge: what they change, what they show, all or none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.execute.script import Script
from streamgauge.kernel.errors import BindError, ParseError, QueryNotFound, SourceFailure
from streamgauge.log import inbox
from streamgauge.plan.query import Query
from streamgauge.plan.view import View
from streamgauge.streams.table import Table

pytestmark = pytest.mark.slow

ROWS = """ts,series,site,value
2026-01-01T00:00:01Z,a,north,1
2026-01-01T00:00:01Z,b,south,10
2026-01-01T00:00:02Z,a,north,2
2026-01-01T00:00:03Z,a,north,3
2026-01-01T00:00:03Z,b,south,30
2026-01-01T00:00:09Z,a,north,4
"""
STREAM = (
    "CREATE STREAM s (ts time, series string, site string, value float) "
    "FROM FILES 'rows' FORMAT csv KEY series TIME ts"
)
AVERAGE = "SELECT AVG(value) FROM s [RANGE 2 SECONDS] EVERY 2 SECONDS"
HIGH = "SELECT series, value FROM s [RANGE 2 SECONDS] WHERE value > 5"


@pytest.fixture
def gauge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sg.Gauge:
    """A gauge whose stream is declared, in a directory with its rows and a table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "first.csv").write_text(ROWS)
    (tmp_path / "towns.csv").write_text("site,town\nnorth,Kiel\nsouth,Ulm\n")
    gauge = sg.connect(tmp_path / "home", engine="local", allow_functions=["numpy"])
    gauge.sql(STREAM)
    return gauge


@pytest.fixture
def shown(gauge: sg.Gauge) -> Callable[[str], list[dict[str, Any]]]:
    """Rows of a table that a statement shows."""

    def rows(text: str) -> list[dict[str, Any]]:
        found = gauge.sql(text)
        assert isinstance(found, pa.Table)
        return list(found.to_pylist())

    return rows


def waiting(gauge: sg.Gauge) -> list[dict[str, Any]]:
    return [record for _, record in inbox.waiting(gauge.home, set())]


def expected(gauge: sg.Gauge) -> Any:
    return gauge.trial().registry


def answered(gauge: sg.Gauge) -> sg.Gauge:
    while gauge.step():
        pass
    return gauge


# Streams, windows, tables, functions, views


def test_a_stream_is_declared_as_python_would_declare_it(gauge: sg.Gauge, tmp_path: Path) -> None:
    gauge.sql(
        "CREATE STREAM t (at time, k string, v float) FROM FILES 'rows' FORMAT csv KEY k TIME at "
        "TICK 500 ms GAP 5 SECONDS LATE ALLOW 2 SECONDS KEEP 2 HOURS FUTURE ANY"
    )
    other = sg.connect(tmp_path / "other", engine="local")
    other.stream(
        "t",
        sg.files(tmp_path / "rows", "csv"),
        time="at",
        key="k",
        schema=sg.Schema.of(at="time", k="string", v="float"),
        tick="500 ms",
        expected_gap="5 s",
        late=sg.Late.allow("2 s"),
        keep="2 hours",
        future=None,
    )
    assert expected(gauge).streams["t"] == expected(other).streams["t"]


def test_columns_are_learned_and_the_same_again_changes_nothing(gauge: sg.Gauge) -> None:
    text = "CREATE STREAM t FROM FILES 'rows' FORMAT csv KEY series TIME ts LATE REVISE 1 MINUTE"
    gauge.sql(text)
    assert expected(gauge).streams["t"].schema.type("value") in ("float", "int")
    before = len(waiting(gauge))
    gauge.sql(text)
    assert len(waiting(gauge)) == before


@pytest.mark.parametrize(
    ("source", "kind", "options"),
    [
        ("PLANT (10, 3, 60)", "plant", {"n_sensors": 10, "seed": 3, "speed": 60.0}),
        ("RATE 20", "rate", {"rows_per_second": 20}),
    ],
)
def test_other_sources(gauge: sg.Gauge, source: str, kind: str, options: dict[str, Any]) -> None:
    time = "ts" if kind == "plant" else "timestamp"
    gauge.sql(f"CREATE STREAM t FROM {source} TIME {time}")
    assert expected(gauge).streams["t"].source_dict() == {"kind": kind, **options}


def test_windows_are_created_resized_and_dropped(gauge: sg.Gauge) -> None:
    gauge.sql("CREATE WINDOW w AS [RANGE 1 MINUTE]; ALTER WINDOW w AS [ROWS 5]")
    assert expected(gauge).windows["w"] == sg.Rows(5)
    with pytest.raises(BindError, match="exists already"):
        gauge.sql("CREATE WINDOW w AS [NOW]")
    gauge.sql("DROP WINDOW w")
    with pytest.raises(BindError, match="nothing to resize"):
        gauge.sql("ALTER WINDOW w AS [NOW]")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_a_table_is_copied_in_the_types_of_columns(
    gauge: sg.Gauge, tmp_path: Path, suffix: str
) -> None:
    rows = pa.table({"site": ["north"], "floor": pa.array([2], pa.int32())})
    path = tmp_path / f"floors.{suffix}"
    if suffix == "csv":
        path.write_text("site,floor\nnorth,2\n")
    elif suffix == "jsonl":
        path.write_text('{"site": "north", "floor": 2}\n')
    else:
        pq.write_table(rows, path)
    gauge.sql(f"CREATE TABLE floors FROM 'floors.{suffix}'")
    table: Table = expected(gauge).tables["floors"]
    path.unlink()
    assert table.schema == sg.Schema.of(site="string", floor="int")
    assert pq.read_table(table.path).to_pylist() == [{"site": "north", "floor": 2}]
    assert Path(table.path).name == "floors-1.parquet"


def test_a_table_that_is_read_again_has_another_copy(gauge: sg.Gauge, tmp_path: Path) -> None:
    gauge.create_table("towns", "towns.csv")
    gauge.refresh_table("towns")
    assert len(list((tmp_path / "home" / "tables").iterdir())) == 1, "nothing new, no new copy"
    (tmp_path / "towns.csv").write_text("site,town\nnorth,Bonn\n")
    gauge.sql("REFRESH TABLE towns")
    table = expected(gauge).tables["towns"]
    assert Path(table.path).name == "towns-2.parquet"
    assert pq.read_table(table.path)["town"].to_pylist() == ["Bonn"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CREATE TABLE t FROM 'gone.csv'", "gone.csv"),
        ("CREATE TABLE t FROM 'towns.txt'", "its type is .txt"),
        ("CREATE TABLE t FROM 'broken.parquet'", "cannot read table broken.parquet"),
    ],
)
def test_a_table_that_cannot_be_read(gauge: sg.Gauge, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "broken.parquet").write_text("no parquet")
    with pytest.raises(SourceFailure, match=said):
        gauge.sql(text)


def test_functions_are_looked_up_at_once(gauge: sg.Gauge) -> None:
    gauge.sql("CREATE FUNCTION squash RETURNS float AS 'numpy:log1p'")
    gauge.create_function("middle", "numpy:median", aggregate=True)
    assert expected(gauge).functions["squash"].target == "numpy:log1p"
    assert expected(gauge).functions["middle"].aggregate
    with pytest.raises(BindError, match="cannot be loaded"):
        gauge.sql("CREATE FUNCTION gone AS 'numpy:no_such_name'")
    with pytest.raises(BindError, match="unknown type"):
        gauge.create_function("odd", "numpy:log1p", returns="matrix")
    gauge.drop_function("middle")
    with pytest.raises(QueryNotFound):
        gauge.drop_function("middle")


def test_a_view_is_checked_when_it_is_named(gauge: sg.Gauge) -> None:
    gauge.create_view("high", HIGH)
    gauge.sql("CREATE QUERY north AS SELECT value FROM high WHERE series = 'a'")
    with pytest.raises(BindError, match="pric"):
        gauge.sql("CREATE VIEW low AS SELECT pric FROM s [NOW]")
    gauge.sql("CREATE VIEW higher AS SELECT value FROM high WHERE value > 20")
    with pytest.raises(BindError, match="in use"):
        gauge.drop_view("high")
    gauge.sql("DROP VIEW higher; DROP VIEW high")
    assert expected(gauge).names == {}
    assert "north" in expected(gauge).queries, "a query keeps its plan"


@pytest.mark.parametrize(
    "text",
    ["CREATE TABLE s FROM 'towns.csv'", f"CREATE VIEW s AS {HIGH}", f"CREATE QUERY s AS {AVERAGE}"],
)
def test_one_name_means_one_thing(gauge: sg.Gauge, text: str) -> None:
    with pytest.raises(BindError, match="the name 's' is taken"):
        gauge.sql(text)


def test_what_is_in_use_stays(gauge: sg.Gauge) -> None:
    gauge.sql("CREATE FUNCTION squash AS 'numpy:log1p'; CREATE TABLE towns FROM 'towns.csv'")
    gauge.sql("CREATE QUERY small AS SELECT squash(value) AS v FROM s [NOW]")
    gauge.sql("CREATE QUERY where_ AS SELECT town FROM s [NOW] JOIN towns USING (site)")
    for text in ("DROP FUNCTION squash", "DROP TABLE towns", "DROP STREAM s"):
        with pytest.raises(BindError, match="in use"):
            gauge.sql(text)
    gauge.sql(f"DROP QUERY small, where_; CREATE VIEW high AS {HIGH}")
    with pytest.raises(BindError, match="in use"):
        gauge.sql("DROP STREAM s")
    gauge.sql("DROP VIEW high; DROP FUNCTION squash; DROP TABLE towns; DROP STREAM s")
    assert expected(gauge).streams == {}


# Queries


def test_a_select_is_registered_under_a_name(gauge: sg.Gauge) -> None:
    handle = gauge.sql(AVERAGE, name="mean")
    assert isinstance(handle, sg.StandingQuery)
    assert handle.name == "mean"
    asked = expected(gauge).query("mean").asked
    assert isinstance(asked, Query)
    assert asked == sg.Query(
        "mean", "s", sg.avg("value"), window=sg.Range("2 s"), answer=sg.every("2 s")
    )


def test_a_select_without_a_name_is_named_after_what_it_asks(gauge: sg.Gauge) -> None:
    first = gauge.sql(AVERAGE)
    again = gauge.sql("select avg ( value )\n from s [range 2 s] -- the same\n every 2 s;")
    other = gauge.sql(AVERAGE.replace("AVG", "MAX"))
    assert isinstance(first, sg.StandingQuery)
    assert isinstance(again, sg.StandingQuery)
    assert isinstance(other, sg.StandingQuery)
    assert first.name == again.name != other.name
    assert len(expected(gauge).queries) == 2


def test_a_name_is_for_one_question(gauge: sg.Gauge) -> None:
    with pytest.raises(BindError, match="is for one SELECT"):
        gauge.sql(f"{AVERAGE}; {HIGH}", name="both")
    with pytest.raises(BindError, match="exists already"):
        gauge.sql(f"CREATE QUERY q AS {AVERAGE}; CREATE QUERY q AS {HIGH}")


def test_numbers_and_rows_are_answered(
    gauge: sg.Gauge, shown: Callable[[str], list[dict[str, Any]]]
) -> None:
    gauge.sql(f"CREATE QUERY mean AS {AVERAGE}; CREATE QUERY high AS {HIGH}")
    assert isinstance(expected(gauge).query("high").asked, View)
    gauge.advance("s", "2026-01-01T00:00:04Z")
    answered(gauge)
    (mean,) = shown("SHOW ANSWERS OF mean")
    assert mean["query"] == "mean"
    assert [row["value"] for row in shown("SHOW ANSWERS OF high")] == []
    kinds = {row["name"]: row["answers"] for row in shown("SHOW QUERIES")}
    assert kinds == {"mean": "numbers", "high": "rows"}


def test_several_aggregates_are_several_queries_of_one_name(gauge: sg.Gauge) -> None:
    both = "CREATE QUERY q AS SELECT AVG(value) AS mean, MAX(value) AS top FROM s [RANGE 2 SECONDS]"
    handles = gauge.sql(both)
    assert isinstance(handles, list)
    assert [handle.name for handle in handles] == ["q.mean", "q.top"]
    gauge.sql("PAUSE QUERY q")
    assert {q.status for q in expected(gauge).queries.values()} == {"paused"}
    gauge.sql("ALTER QUERY q AS SELECT MIN(value) AS mean, SUM(value) FROM s [RANGE 2 SECONDS]")
    versions = {q.name: q.version for q in expected(gauge).queries.values()}
    assert versions.pop("q.mean") == 2
    assert "q.top" not in versions
    assert len(versions) == 1
    gauge.sql("DROP QUERY q")
    assert expected(gauge).queries == {}


@pytest.mark.parametrize("where", ["WHERE series = $series", ""])
def test_for_each_is_a_query_per_value(gauge: sg.Gauge, where: str) -> None:
    handles = gauge.sql(
        "CREATE QUERY one FOR EACH series IN ('a', 'b') AS "
        f"SELECT AVG(value) FROM s [RANGE 2 SECONDS] {where} EVERY 2 SECONDS"
    )
    assert isinstance(handles, list)
    assert [handle.name for handle in handles] == ["one[a]", "one[b]"]
    assert len(waiting(gauge)) == 2, "one record for the stream, one for all queries"
    answered(gauge)
    assert {answer.query: answer.basis for answer in gauge.latest()} == dict.fromkeys(
        ("one[a]", "one[b]"), "empty"
    )
    told = [answer for answer in gauge.subscribe(since_epoch=0, timeout=0) if answer.value]
    means = {answer.query: answer.value for answer in told}
    assert means == {"one[a]": 3.0, "one[b]": 30.0}
    gauge.sql("DROP QUERY one")
    assert expected(gauge).queries == {}


def test_for_each_that_does_not_fit(gauge: sg.Gauge) -> None:
    each = "CREATE QUERY q FOR EACH series IN ({}) AS SELECT AVG(value) FROM s [NOW] WHERE {}"
    with pytest.raises(BindError, match="names 'a' twice"):
        gauge.sql(each.format("'a', 'a'", "series = $series"))
    with pytest.raises(BindError, match=r"\$site has no value"):
        gauge.sql(each.format("'a'", "series = $site"))
    with pytest.raises(BindError, match=r"\$series has no value"):
        gauge.sql("SELECT AVG(value) FROM s [NOW] WHERE series = $series")


def test_altering_what_is_not_there(gauge: sg.Gauge) -> None:
    for text in (f"ALTER QUERY q AS {AVERAGE}", "DROP QUERY q", "EXPLAIN q", "DESCRIBE q"):
        with pytest.raises(QueryNotFound):
            gauge.sql(text)


# Scripts


def test_a_script_is_taken_whole_or_not_at_all(gauge: sg.Gauge, tmp_path: Path) -> None:
    before = waiting(gauge)
    script = f"CREATE WINDOW w AS [NOW];\nCREATE TABLE t FROM 'towns.csv';\n{AVERAGE};\n"
    with pytest.raises(BindError) as caught:
        gauge.sql(f"{script}\nSELECT nothing FROM s [NOW];\n{HIGH}")
    assert "in the statement at line 5" in caught.value.detail
    assert waiting(gauge) == before
    assert expected(gauge).windows == {}
    assert not (tmp_path / "home" / "tables").exists()
    with pytest.raises(ParseError):
        gauge.sql(f"{script} SELEC")
    assert waiting(gauge) == before
    assert len(gauge.sql(script + HIGH) or ()) == 2


def test_thousands_of_statements_are_one_record(gauge: sg.Gauge) -> None:
    script = ";\n".join(
        f"CREATE QUERY q{n} AS SELECT COUNT(*) FROM s [RANGE 2 SECONDS] WHERE value > {n}"
        for n in range(1_000)
    )
    handles = gauge.sql(script)
    assert isinstance(handles, list)
    assert len(handles) == 1_000
    assert [record["do"] for record in waiting(gauge)] == ["stream", "register"]
    answered(gauge)
    assert len(gauge.registry().queries) == 1_000


def test_later_statements_see_earlier_ones(gauge: sg.Gauge) -> None:
    gauge.sql(
        "CREATE WINDOW w AS [RANGE 2 SECONDS];"
        "CREATE QUERY n AS SELECT COUNT(*) FROM s [w];"
        f"CREATE VIEW high AS {HIGH};"
        "CREATE QUERY top AS SELECT MAX(value) AS top FROM high;"
        "DROP QUERY n; DROP WINDOW w"
    )
    assert list(expected(gauge).queries) == ["top"]


def test_nothing_at_all(gauge: sg.Gauge) -> None:
    assert gauge.sql("") is None
    assert gauge.sql(" ; -- nothing\n") is None


def test_advance(gauge: sg.Gauge) -> None:
    assert gauge.sql("ADVANCE STREAM s TO '2026-01-01T00:01:00Z'") is None
    assert waiting(gauge)[-1]["instant"] == 1_767_225_660_000_000
    with pytest.raises(QueryNotFound):
        gauge.sql("ADVANCE STREAM t TO '2026-01-01T00:01:00Z'")


SUMMARY = "CREATE SUMMARY m ON s(value) WITH GRANULARITY 1 MINUTE AND COLLAPSE(2, 3)"


def test_a_summary_is_created_replaced_and_dropped(
    gauge: sg.Gauge, shown: Callable[[str], list[dict[str, Any]]]
) -> None:
    gauge.sql(SUMMARY)
    gauge.sql(SUMMARY)
    gauge.summary("m", "s", "value", granularity="1 minute", rate=2, depth=3)
    assert [row["reaches"] for row in shown("DESCRIBE m")] == ["7 min"]
    with pytest.raises(BindError, match="exists already"):
        gauge.sql(f"{SUMMARY} BUCKETS 4")
    trial = gauge.trial()
    (outcome,) = Script(gauge, trial, replace=True).run(f"{SUMMARY} BUCKETS 4")
    gauge.take(trial)
    assert str(outcome) == "replaced summary m"
    assert [row["buckets"] for row in shown("SHOW SUMMARIES")] == ["4"]
    gauge.sql("DROP SUMMARY m")
    assert shown("SHOW SUMMARIES") == []


def test_a_summary_stays_while_a_query_is_judged_by_it(gauge: sg.Gauge) -> None:
    gauge.sql(SUMMARY)
    query = gauge.sql("SELECT AVG(value) FROM s [RANGE 1 MINUTE] BUDGET PROBES 10", "mean")
    assert isinstance(query, sg.gauge.StandingQuery)
    for text in ("DROP SUMMARY m", "DROP STREAM s"):
        with pytest.raises(BindError, match="in use"):
            gauge.sql(text)
    trial = gauge.trial()
    with pytest.raises(BindError, match="in use"):
        Script(gauge, trial, replace=True).run(f"{SUMMARY} BUCKETS 4")
    with pytest.raises(BindError, match="answers as much as it has seen"):
        gauge.sql("SELECT value FROM mean WHERE value > 3")
    assert "promise of regions: COUNT(value)" in gauge.explain("mean")


def test_a_window_that_is_resized_must_still_be_reached(gauge: sg.Gauge) -> None:
    gauge.sql(SUMMARY)
    gauge.create_window("w", sg.Range("5 minutes"))
    gauge.sql("SELECT AVG(value) FROM s [w] BUDGET PROBES 10", "mean")
    gauge.sql("SELECT value FROM s [w] WHERE value > 3 BUDGET PROBES 10", "high")
    gauge.resize_window("w", sg.Range("6 minutes"))
    with pytest.raises(BindError, match="does not reach back"):
        gauge.resize_window("w", sg.Range("8 minutes"))


def test_a_window_that_is_resized_is_that_of_views_too(gauge: sg.Gauge) -> None:
    gauge.create_window("w", sg.Range("5 minutes"))
    gauge.sql("SELECT value FROM s [w] WHERE value > 3", "high")
    gauge.resize_window("w", sg.Range("6 minutes"))
    assert "keeps rows of s for range 6 min" in gauge.explain("high")
    gauge.sql("ALTER WINDOW w AS [RANGE 7 MINUTES]")
    assert "keeps rows of s for range 7 min" in gauge.explain("high")


def test_the_window_of_a_preference_is_part_of_the_question(gauge: sg.Gauge) -> None:
    gauge.sql(SUMMARY)
    liked = "WITH PREFERENCE DESC COUNT(value) WINDOW 2 MINUTES"
    gauge.sql(f"SELECT value FROM s WHERE value > 3 {liked}", "high")
    assert "s [RANGE 2 MINUTES]" in gauge.trial().registry.query("high").view.text


# Showing


def test_everything_is_listed(
    gauge: sg.Gauge, shown: Callable[[str], list[dict[str, Any]]]
) -> None:
    gauge.sql(
        "CREATE WINDOW w AS [ROWS 3]; CREATE TABLE towns FROM 'towns.csv';"
        f"CREATE FUNCTION squash AS 'numpy:log1p'; CREATE VIEW high AS {HIGH}"
    )
    assert [row["name"] for row in shown("SHOW STREAMS")] == ["s"]
    assert shown("SHOW WINDOWS") == [{"name": "w", "window": "rows 3"}]
    assert shown("SHOW TABLES")[0]["columns"] == "site string, town string"
    assert shown("SHOW FUNCTIONS")[0]["target"] == "numpy:log1p"
    assert shown("SHOW VIEWS")[0]["name"] == "high"
    assert shown("SHOW QUERIES") == []
    assert shown("SHOW ANSWERS") == []


def test_describe(gauge: sg.Gauge, shown: Callable[[str], list[dict[str, Any]]]) -> None:
    gauge.sql(
        "CREATE TABLE towns FROM 'towns.csv'; CREATE QUERY n AS SELECT site, COUNT(*) "
        f"FROM s [NOW] GROUP BY site; CREATE QUERY high AS {HIGH}; CREATE WINDOW w AS [NOW]"
    )
    roles = {row["column"]: row["role"] for row in shown("DESCRIBE s")}
    assert roles == {"ts": "time", "series": "key", "site": "", "value": ""}
    assert [row["column"] for row in shown("DESCRIBE towns")] == ["site", "town"]
    assert [row["column"] for row in shown("DESCRIBE n")] == ["site", "value", "low", "high"]
    assert [(r["column"], r["type"]) for r in shown("DESCRIBE high")] == [
        ("series", "string"),
        ("value", "float"),
    ]
    assert shown("DESCRIBE w") == [{"name": "w", "window": "now"}]


def test_explain_registers_nothing(gauge: sg.Gauge) -> None:
    before = waiting(gauge)
    plan = gauge.sql(f"EXPLAIN {AVERAGE}")
    assert isinstance(plan, str)
    assert "Aggregate avg(value)" in plan
    rows = gauge.sql(f"EXPLAIN {HIGH}")
    assert isinstance(rows, str)
    assert "value > 5" in rows
    assert waiting(gauge) == before
    assert expected(gauge).queries == {}
    with pytest.raises(BindError, match="needs a query that has run"):
        gauge.sql(f"EXPLAIN ANALYZE {AVERAGE}")


def test_explain_of_what_is_registered(gauge: sg.Gauge) -> None:
    gauge.sql(f"CREATE QUERY mean AS {AVERAGE}; CREATE QUERY high AS {HIGH}")
    assert gauge.sql("EXPLAIN mean") == gauge.explain("mean")
    assert gauge.sql("EXPLAIN high") == gauge.explain("high")
    assert "begins after epoch 0" in str(gauge.sql("EXPLAIN ANALYZE mean"))
    answered(gauge)
    assert gauge.sql("EXPLAIN mean") == gauge.explain("mean")
    assert "since epoch 1" in str(gauge.sql("EXPLAIN mean"))


def test_streams_of_rows_are_shown_by_what_came(
    gauge: sg.Gauge, shown: Callable[[str], list[dict[str, Any]]]
) -> None:
    gauge.sql("CREATE QUERY came AS SELECT ISTREAM(series, value) FROM s [NOW] WHERE value > 5")
    assert shown("SHOW ANSWERS OF came") == []
    answered(gauge)
    assert [row["value"] for row in shown("SHOW ANSWERS OF came")] == [10.0, 30.0]
    assert "2 came, in 1 epoch" in str(gauge.sql("EXPLAIN ANALYZE came"))


@pytest.mark.parametrize("name", ["../rows", "a/b", ".hidden", "a\\b", "x" * 300])
def test_a_name_that_leads_out_of_the_home_is_refused(gauge: sg.Gauge, name: str) -> None:
    columns = sg.Schema.of(ts="time", v="float")
    with pytest.raises(BindError, match="cannot be named"):
        gauge.stream(name, source=sg.push(), schema=columns, time="ts")
    with pytest.raises(BindError, match="cannot be named"):
        gauge.create_table(name, "towns.csv")
    assert name not in gauge.trial().registry.streams


def test_what_spark_must_feed_is_refused_before_it_is_declared(gauge: sg.Gauge) -> None:
    with gauge, pytest.raises(SourceFailure, match="needs Spark"):
        gauge.start().sql("CREATE STREAM ramp FROM RATE 100 TIME timestamp")
    assert "ramp" not in gauge.trial().registry.streams
