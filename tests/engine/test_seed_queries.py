"""Queries from the papers that this project follows: run, restarted, held against the reference.

Here are those of STREAM, ESL, PSoup, Fjords, Aurora and of correlated aggregates.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import MINUTE, SECOND
from streamgauge.streams.schema import Schema
from tests.engine.stage import Stage, at, rows_of
from tests.oracles.reference import Row

pytestmark = pytest.mark.slow

AB = Schema.of(ts="time", a="int", b="int")
N_PAGES = 4


def pairs(seed: int, n: int = 60, *, every: float = 2.0, high: int = 16) -> list[Row]:
    """Rows of two small whole numbers, some at the same instant."""
    dice = np.random.default_rng(seed)
    seconds = np.sort(dice.integers(0, int(n * every), n))
    a, b = dice.integers(0, high, (2, n))
    return [
        Row(at(int(s)), {"a": int(x), "b": int(y)}) for s, x, y in zip(seconds, a, b, strict=True)
    ]


def played(tmp_path: Path, text: str, shards: int = 2, **rows: list[Row]) -> Stage:
    """A stage of streams (ts, a, b) on which the statements of a text ran over all rows."""
    stage = Stage(tmp_path, shards)
    for name in rows:
        stage.stream(name, AB)
    stage.gauge.sql(text)
    stage.pages_of(N_PAGES, **rows)
    stage.advance(400)
    return stage


# STREAM


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_a_filter_is_the_istream_of_all_rows(tmp_path: Path, shards: int) -> None:
    text = """
        CREATE QUERY short AS SELECT * FROM s WHERE s.a > 10;
        CREATE QUERY long AS SELECT ISTREAM(*) FROM s [ROWS UNBOUNDED] WHERE s.a > 10;
    """
    stage = played(tmp_path, text, shards, s=(rows := pairs(1)))
    stage.check("short", "long")
    assert stage.changes("short") == stage.changes("long")
    kept = [(r.ts, (r.ts, r.values["a"], r.values["b"])) for r in rows if r.values["a"] > 10]
    assert stage.changes("short") == Counter(kept)


@pytest.mark.parametrize("shards", [1, 3])
def test_a_join_of_a_window_of_rows_with_one_of_time(tmp_path: Path, shards: int) -> None:
    text = """
        CREATE QUERY joined AS
        SELECT * FROM s1 [ROWS 1000], s2 [RANGE 2 MINUTES] WHERE s1.a = s2.a AND s1.a > 10;
        CREATE QUERY fewer AS
        SELECT * FROM s1 [ROWS 5], s2 [RANGE 20 SECONDS] WHERE s1.a = s2.a AND s1.a > 10;
        CREATE QUERY went AS
        SELECT DSTREAM(s1.b, s2.b) FROM s1 [ROWS 5], s2 [RANGE 20 SECONDS] WHERE s1.a = s2.a;
    """
    stage = played(tmp_path, text, shards, s1=pairs(2, 40, every=3), s2=pairs(3, 40, every=3))
    stage.check("joined", "fewer", "went")


def test_rows_beside_a_stored_table_that_is_read_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path, 2)
    stage.stream("s", AB)
    known = Schema.of(a="int", b="string")
    stage.table("r", known, [{"a": a, "b": f"old {a}"} for a in range(8)])
    stage.gauge.sql(
        "CREATE QUERY beside AS SELECT RSTREAM(s.a, r.b) FROM s [NOW], r WHERE s.a = r.a"
    )
    rows = pairs(4, 40)
    stage.page(s=rows[:15])
    stage.table("r", known, [{"a": a, "b": f"new {a}"} for a in range(4, 12)])
    stage.page(s=rows[15:30])
    stage.page(s=rows[30:])
    stage.advance(400)
    stage.check("beside")
    labels = {row[1][:3] for _, row in stage.changes("beside")}
    assert labels == {"old", "new"}


def test_aggregates_over_windows(tmp_path: Path) -> None:
    text = """
        CREATE QUERY tops AS SELECT a, MAX(b) FROM s1 [ROWS 200] GROUP BY a;
        CREATE QUERY few AS SELECT a, MAX(b) AS top FROM s1 [ROWS 7] GROUP BY a;
        CREATE QUERY temp AS SELECT AVG(b) FROM s1 [RANGE 5 MINUTES];
        CREATE QUERY brief AS SELECT AVG(b) FROM s1 [RANGE 10 SECONDS] EVERY 5 SECONDS;
        CREATE QUERY newest AS SELECT * FROM s1 [PARTITION BY a ROWS 2];
    """
    stage = played(tmp_path, text, s1=pairs(5))
    stage.check("tops", "few", "temp", "brief", "newest")


def test_streams_made_from_streams(tmp_path: Path) -> None:
    text = """
        CREATE STREAM high AS SELECT ISTREAM(ts, a, b) FROM s [NOW] WHERE a > 5;
        CREATE STREAM higher AS SELECT ISTREAM(ts, a, b) FROM high WHERE b > 5;
        CREATE QUERY both AS SELECT a, b FROM higher [ROWS 4];
        CREATE QUERY loud AS SELECT a, COUNT(*) AS n FROM higher [RANGE 30 SECONDS] GROUP BY a;
    """
    stage = played(tmp_path, text, s=(rows := pairs(6)))
    stage.check("both", "loud")
    kept = [r for r in rows if r.values["a"] > 5 and r.values["b"] > 5]
    newest = Counter((r.values["a"], r.values["b"]) for r in kept[-4:])
    assert stage.held("both") == newest


def test_only_rows_with_their_time_come_once(tmp_path: Path) -> None:
    """ISTREAM of [NOW] leaves out a row that is like one of the tick before; RSTREAM does not."""
    stage = Stage(tmp_path)
    stage.stream("s", AB)
    stage.gauge.sql("CREATE STREAM some AS SELECT ISTREAM(a, b) FROM s [NOW]")
    with pytest.raises(BindError, match="a stream of rows that come or go"):
        stage.gauge.sql("SELECT a FROM some")
    stage.gauge.sql("""
        CREATE STREAM each AS SELECT RSTREAM(a, b) FROM s [NOW];
        CREATE QUERY newest AS SELECT a FROM each [ROWS 3];
    """)
    stage.page(s=rows_of("a b", (1, 7, 7), (2, 7, 7), (3, 7, 7)))
    stage.advance(60)
    stage.check("newest")
    assert stage.held("newest") == Counter({(7,): 3})


# ESL


def test_auctions(tmp_path: Path) -> None:
    stage = Stage(tmp_path, 2)
    opened = Schema.of(ts="time", item="int", seller="string", start_price="float")
    stage.stream("open_auction", opened)
    stage.stream("closed_price", Schema.of(ts="time", item="int", price="float"))
    stage.gauge.sql("""
        CREATE STREAM expensive_items AS
        SELECT item, seller, start_price, ts FROM open_auction WHERE start_price > 1000;
        CREATE QUERY expensive AS SELECT item, seller FROM expensive_items;
        CREATE QUERY profit AS
        SELECT ISTREAM(o.item, o.seller, c.price - o.start_price AS gain)
        FROM expensive_items [RANGE 1 MINUTE] AS o, closed_price [NOW] AS c
        WHERE o.item = c.item;
        CREATE QUERY by_seller AS
        SELECT o.seller, SUM(c.price) AS turnover FROM open_auction [RANGE 1 MINUTE] AS o
        JOIN closed_price [RANGE 1 MINUTE] AS c ON o.item = c.item GROUP BY o.seller;
        CREATE QUERY never_closed AS
        SELECT item FROM open_auction [RANGE 40 SECONDS]
        EXCEPT SELECT item FROM closed_price [RANGE 40 SECONDS];
    """)
    dice = np.random.default_rng(7)
    opens = [
        Row(at(2 * i), {"item": i, "seller": f"s{i % 4}", "start_price": float(100 * (i % 17))})
        for i in range(50)
    ]
    delays = dice.integers(5, 90, 50)
    closes = sorted(
        (
            Row(at(2 * i + int(d)), {"item": i, "price": float(150 * (i % 17))})
            for i, d in enumerate(delays)
        ),
        key=lambda row: row.ts,
    )
    stage.pages_of(N_PAGES, open_auction=opens, closed_price=closes)
    stage.advance(400)
    stage.check("expensive", "profit", "by_seller", "never_closed")


def test_a_union_is_sorted_by_time(tmp_path: Path) -> None:
    text = """
        CREATE QUERY every_row AS SELECT ts, a FROM s1 UNION ALL SELECT ts, a FROM s2;
        CREATE QUERY windows AS
        SELECT a FROM s1 [RANGE 9 SECONDS] UNION ALL SELECT a FROM s2 [RANGE 9 SECONDS];
    """
    stage = played(tmp_path, text, s1=pairs(8), s2=pairs(9))
    stage.check("every_row", "windows")
    given = stage.gauge.row_changes("every_row")["as_of"].to_pylist()
    assert len(given) > 60
    assert given == sorted(given)


def test_a_union_waits_for_the_slower_stream(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    for name in ("s1", "s2"):
        stage.stream(name, AB)
    stage.gauge.sql("CREATE QUERY u AS SELECT ts, a FROM s1 UNION ALL SELECT ts, a FROM s2")
    stage.page(s1=rows_of("a b", (1, 1, 1), (5, 5, 5), (9, 9, 9)), s2=rows_of("a b", (2, 2, 2)))
    assert [row for _, (_, row) in stage.changes("u")] == [1]
    stage.page(s2=rows_of("a b", (7, 7, 7)))
    assert sorted(row for _, (_, row) in stage.changes("u")) == [1, 2, 5]
    stage.check("u")


# PSoup


def test_conjunctions_of_intervals(tmp_path: Path) -> None:
    tests = ("a < 5", "a >= 3 AND a <= 9", "b = 4", "a > 2 AND b < 7", "a < b + 2 AND b <= 12")
    text = ";".join(
        f"CREATE QUERY q{i} AS SELECT a, b FROM s [RANGE 30 SECONDS] WHERE {where};"
        f"CREATE QUERY all{i} AS SELECT ISTREAM(a, b) FROM s WHERE {where}"
        for i, where in enumerate(tests)
    )
    stage = played(tmp_path, text, s=pairs(10))
    stage.check(*(f"q{i}" for i in range(len(tests))), *(f"all{i}" for i in range(len(tests))))


def test_a_join_by_intervals(tmp_path: Path) -> None:
    where = "r.a < 5 AND r.a > s.b AND s.b > 1"
    text = f"""
        CREATE QUERY sliding AS
        SELECT r.a, r.b, s.b FROM r [RANGE 25 SECONDS], s [RANGE 25 SECONDS] WHERE {where};
        CREATE QUERY landmark AS
        SELECT r.a, s.b FROM r [SINCE '2026-01-01T00:00:40Z'], s [SINCE '2026-01-01T00:00:40Z']
        WHERE {where};
        CREATE QUERY counted AS
        SELECT COUNT(*), SUM(r.a), MIN(s.b) FROM r [ROWS 12], s [ROWS 9] WHERE {where};
        CREATE QUERY thrice AS
        SELECT r.a, t.b FROM r [RANGE 9 SECONDS], s [RANGE 9 SECONDS], r [RANGE 5 SECONDS] AS t
        WHERE r.a = s.a AND s.b < t.b;
        CREATE QUERY once AS
        SELECT DISTINCT r.a FROM r [RANGE 25 SECONDS], s [RANGE 25 SECONDS] WHERE {where};
    """
    rows = {"r": pairs(11, 40, high=8), "s": pairs(12, 40, high=8)}
    stage = played(tmp_path, text, **rows)
    stage.check("sliding", "landmark", "counted", "thrice", "once")


# Fjords


def test_traffic_and_incidents(tmp_path: Path) -> None:
    stage = Stage(tmp_path, 2)
    stage.stream("readings", Schema.of(ts="time", segment="int", speed="float"))
    stage.stream("incidents", Schema.of(ts="time", segment="int", description="string"))
    stage.table("known", Schema.of(segment="int"), [{"segment": s} for s in (1, 2, 3, 4)])
    stage.gauge.sql("""
        CREATE QUERY listed AS
        SELECT AVG(speed) FROM readings [RANGE 30 SECONDS] WHERE segment IN (1, 2, 3, 4);
        CREATE QUERY kept AS
        SELECT AVG(speed) AS mean FROM readings [RANGE 30 SECONDS]
        WHERE segment IN (SELECT segment FROM known);
        CREATE QUERY slow AS
        SELECT i.description, AVG(s.speed) AS mean
        FROM incidents [RANGE 1 MINUTE] AS i JOIN readings [RANGE 20 SECONDS] AS s
        ON i.segment = s.segment
        WHERE s.segment IN (SELECT segment FROM known)
        GROUP BY i.description HAVING AVG(s.speed) < 50;
        CREATE QUERY below AS
        SELECT i.description FROM incidents [RANGE 1 MINUTE] AS i
        WHERE 50 > (SELECT AVG(s.speed) FROM readings [RANGE 20 SECONDS] AS s
                    WHERE s.segment = i.segment);
    """)
    dice = np.random.default_rng(13)
    speeds = dice.normal(60, 15, 80)
    readings = [
        Row(at(2 * i), {"segment": 1 + i % 6, "speed": round(float(v) * 8) / 8})
        for i, v in enumerate(speeds)
    ]
    incidents = [
        Row(at(20 * i + 3), {"segment": 1 + (3 * i) % 6, "description": f"incident {i}"})
        for i in range(8)
    ]
    stage.pages_of(N_PAGES, readings=readings, incidents=incidents)
    stage.advance(400)
    stage.check("listed", "kept", "slow", "below")


def test_a_join_of_raw_streams_is_of_all_rows_and_says_that_it_grows(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    for name in ("s1", "s2"):
        stage.stream(name, AB)
    told = stage.gauge.sql("EXPLAIN SELECT * FROM s1, s2 WHERE s1.a = s2.a")
    assert "state grows with every row of s1, s2" in str(told)


# Aurora


def test_a_windowed_map_is_an_aggregate_over_the_newest_rows(tmp_path: Path) -> None:
    """Sum over three seconds of (1, 1), (2, 2), (3, 3), (5, 5), from the appendix."""
    stage = Stage(tmp_path)
    stage.stream("s", AB)
    stage.gauge.sql("""
        CREATE QUERY sums AS SELECT SUM(a) FROM s [RANGE 3 SECONDS SLIDE 1 SECOND] ON CLOSE;
        CREATE QUERY moving AS SELECT AVG(b) AS mean FROM s [ROWS 3];
    """)
    stage.page(s=rows_of("a b", *((i, i, i) for i in (1, 2, 3, 5))))
    stage.advance(60)
    stage.check("sums", "moving")
    sums = {(a.as_of - at(0)) // SECOND: a.value for a in stage.numbers("sums")}
    # The appendix ends with the last row; the window that has emptied then says so once.
    assert sums == {1: 1, 2: 3, 3: 6, 4: 5, 5: 8, 6: 5, 7: 5, 8: None}


def test_resampling(tmp_path: Path) -> None:
    stage = Stage(tmp_path, 2)
    stage.stream("s", Schema.of(ts="time", k="string", v="float"), key="k")
    stage.gauge.sql("""
        CREATE QUERY line AS SELECT ISTREAM(*) FROM RESAMPLE(s, v, 1 SECOND, LINEAR);
        CREATE QUERY steps AS SELECT ISTREAM(*) FROM RESAMPLE(s, v, 5 SECONDS);
        CREATE QUERY mean AS
        SELECT k, AVG(v) AS mean
        FROM (SELECT * FROM RESAMPLE(s, v, 1 SECOND, LINEAR)) [RANGE 10 SECONDS] GROUP BY k;
    """)
    cells = [(0, "a", 0.0), (3, "b", 8.0), (10, "a", 100.0), (12, "b", 17.0), (19, "a", 10.0)]
    stage.pages_of(3, s=rows_of("k v", *cells))
    stage.advance(60)
    stage.check("line", "steps", "mean")
    line = {(when, v) for _, (k, when, v) in stage.changes("line") if k == "a"}
    assert {(at(3), 30.0), (at(7), 70.0)} < line


def test_merge_filter_map(tmp_path: Path) -> None:
    text = """
        CREATE VIEW merged AS SELECT ts, a, b FROM s1 UNION ALL SELECT ts, a, b FROM s2;
        CREATE QUERY mapped AS
        SELECT ISTREAM(a * 2 + b AS c, CASE WHEN a > b THEN 'up' ELSE 'down' END AS way)
        FROM merged WHERE a % 3 != 0;
        CREATE QUERY ways AS
        SELECT CASE WHEN a > b THEN 'up' ELSE 'down' END AS way, COUNT(*) AS n
        FROM s1 [RANGE 20 SECONDS SLIDE 20 SECONDS] GROUP BY way;
        CREATE QUERY near AS
        SELECT s1.a, s2.b FROM s1 [RANGE 10 SECONDS], s2 [RANGE 10 SECONDS] WHERE s1.b = s2.b;
    """
    stage = played(tmp_path, text, s1=pairs(14), s2=pairs(15))
    stage.check("mapped", "ways", "near")


# Correlated aggregates


def calls(n: int = 60) -> list[Row]:
    dice = np.random.default_rng(16)
    minutes = np.sort(dice.integers(0, 180, n))
    return [
        Row(
            at(60 * int(m)),
            {
                "origin": f"c{int(c)}",
                "duration": round(float(d) * 8) / 8,
                "intl": bool(i),
            },
        )
        for m, c, d, i in zip(
            minutes, dice.integers(0, 3, n), dice.gamma(2, 6, n), dice.random(n) < 0.4, strict=True
        )
    ]


def test_calls(tmp_path: Path) -> None:
    stage = Stage(tmp_path, 2)
    schema = Schema.of(ts="time", origin="string", duration="float", intl="bool")
    stage.stream("calls", schema, tick="1 minute")
    stage.gauge.sql("""
        CREATE QUERY long AS
        SELECT COUNT(*) FROM calls [RANGE 120 MINUTES] WHERE intl = TRUE AND duration > 10
        EVERY 10 MINUTES;
        CREATE QUERY above AS
        SELECT COUNT(*) WHEN duration > AVG(duration) FROM calls [SINCE '2026-01-01']
        EVERY 10 MINUTES;
        CREATE QUERY above_abroad AS
        SELECT COUNT(*) FILTER (WHERE intl) WHEN duration > AVG(duration) AS n
        FROM calls [SINCE '2026-01-01'] GROUP BY origin;
        CREATE QUERY near_the_longest AS
        SELECT COUNT(*) WHEN duration >= 0.9 * MAX(duration)
        FROM calls [RANGE 60 MINUTES] EVERY 10 MINUTES;
        CREATE QUERY talked AS
        SELECT SUM(duration) WHEN duration >= 0.5 * MAX(duration) FROM calls [RANGE 60 MINUTES]
        EVERY 10 MINUTES;
    """)
    stage.pages_of(N_PAGES, calls=(rows := calls()))
    stage.advance(5 * 3600)
    stage.check("long", "above", "above_abroad", "near_the_longest", "talked")
    for answer in stage.numbers("above"):
        seen = [r.values["duration"] for r in rows if r.ts <= answer.as_of]
        assert answer.value == sum(d > np.mean(seen) for d in seen)
    for answer in stage.numbers("near_the_longest"):
        span = [r for r in rows if answer.as_of - 60 * MINUTE < r.ts <= answer.as_of]
        seen = [r.values["duration"] for r in span]
        assert answer.value == sum(d >= 0.9 * max(seen) for d in seen)
