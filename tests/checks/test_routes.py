"""Rows that take different routes to the shards give the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.checks.work import SENT, Entry, Way, check_work
from streamgauge.engine import progress, reading
from streamgauge.engine.packet import Packet
from streamgauge.engine.scan import scan
from streamgauge.engine.slices import slices
from streamgauge.log.journal import Journal, Segment

pytestmark = pytest.mark.slow

DECLARED = (
    "CREATE STREAM s (ts TIME, k STRING, n INT, x FLOAT, y FLOAT) FROM FILES '{{rows}}' "
    "TIME ts KEY {key} KEEP 1 HOUR FUTURE ANY {late}"
)
NEARLY = sg.Contract.absolute(0.5, confidence=0.9)
WAYS = (
    Way(),
    Way(2, 4, True),
    *SENT,
    Way(2, 16, True, slices=8),
)


def arriving(seconds: int, start: int = 0, most: int = 30) -> pa.Table:
    """Rows of series that begin one after the other, some of them late, some without values."""
    rng = np.random.default_rng(start + 11)
    n = 40 * seconds
    ts = start * 10**6 + np.sort(rng.integers(0, seconds * 10**6, n))
    ts -= np.where(rng.random(n) < 0.06, rng.integers(0, 9 * 10**6, n), 0)
    drawn = rng.integers(0, most, n) * rng.integers(0, 2, n)
    return pa.table(
        {
            # Several rows of one instant.
            "ts": pa.array(np.maximum(ts, 0) // 40_000 * 40_000, pa.timestamp("us", "UTC")),
            "k": [f"k{d}" for d in drawn.tolist()],
            "n": rng.integers(0, 3, n),
            "x": pa.array(np.where(rng.random(n) < 0.05, np.nan, rng.normal(0, 3, n))),
            "y": pa.array(rng.normal(0, 1, n), mask=rng.random(n) < 0.05),
        }
    )


def watching(name: str, number: int) -> sg.Query:
    """A query over a few series."""
    listed = tuple(f"k{(number * 7 + j * j) % 36}" for j in range(1 + number % 4))
    select = (sg.avg("x"), sg.maximum("y"), sg.total("x"), sg.corr("x", "y"), sg.count())[
        number % 5
    ]
    answer = sg.every("2 seconds") if number % 2 else sg.on_change(0.5)
    return sg.Query(
        f"{name}{number}", "s", select, series=listed, answer=answer, history=number % 3 > 0
    )


def portfolio(late: str, gap: str = "") -> list[Entry]:
    """Queries from the start, some that come later, one over all series, one over a window."""
    return [
        DECLARED.format(key="k", late=late) + gap,
        [watching("a", number) for number in range(12)],
        "CREATE QUERY w AS SELECT k, AVG(x) FROM s [RANGE 5 SECONDS] GROUP BY k",
        arriving(15),
        [watching("b", number) for number in range(30)],
        [sg.Query("everything", "s", sg.total("x"), window=sg.Latest(), answer=sg.on_change(1.0))],
        arriving(15, 15, 36),
        "DROP QUERY everything",
        "DROP QUERY a3",
        arriving(15, 30, 36),
    ]


@pytest.mark.parametrize(
    ("late", "gap"),
    [
        ("", ""),
        ("LATE ALLOW 3 SECONDS", ""),
        ("LATE REVISE 5 SECONDS", ""),
        ("", " GAP 2 SECONDS"),
    ],
)
def test_latest_values_are_the_same_for_rows_of_some_series_as_for_all_rows(
    tmp_path: Path, late: str, gap: str
) -> None:
    assert check_work(tmp_path, portfolio(late, gap), WAYS) > 300


CHOSEN = [
    "SELECT ISTREAM(k, x) FROM s WHERE x > 2",
    "SELECT ISTREAM(k, x, y) FROM s WHERE y < 0 AND k <> 'k0'",
    "SELECT ISTREAM(ts, n, x) FROM s WHERE x + y > 3",
    "SELECT ISTREAM(k, x) FROM s WHERE n = 1",
]


def chosen(late: str) -> list[Entry]:
    """Selections from the start, others that come later, one that goes, beside averages."""
    asked = [f"CREATE QUERY v{i} AS {text}" for i, text in enumerate(CHOSEN)]
    return [
        DECLARED.format(key="k", late=late),
        *asked[:2],
        "CREATE QUERY w AS SELECT k, AVG(x) FROM s [RANGE 5 SECONDS] GROUP BY k",
        arriving(15),
        *asked[2:],
        arriving(15, 15),
        "DROP QUERY v0",
        arriving(15, 30),
    ]


@pytest.mark.parametrize("late", ["", "LATE ALLOW 3 SECONDS", "LATE REVISE 5 SECONDS"])
def test_selections_are_the_same_wherever_rows_are_looked_at(tmp_path: Path, late: str) -> None:
    assert check_work(tmp_path, chosen(late), WAYS) > 500


JOINED = [
    "SELECT a.k, a.x, b.y FROM s [RANGE 2 SECONDS] AS a JOIN t [RANGE 3 SECONDS] AS b "
    "ON a.k = b.k AND a.x < b.y",
    "SELECT a.k, a.n, b.y FROM s [RANGE 1 SECOND] AS a LEFT JOIN t [RANGE 1 SECOND] AS b "
    "ON a.k = b.k AND b.y > 2",
    "SELECT a.n, b.n AS m, a.k FROM s [NOW] AS a, s [NOW] AS b WHERE a.n = b.n AND a.k <> b.k",
    "SELECT a.k, a.x, b.x AS z, c.y FROM s [RANGE 1 SECOND] AS a, s [RANGE 1 SECOND] AS b, "
    "t [RANGE 1 SECOND] AS c WHERE a.k = b.k AND b.k = c.k AND a.x < b.x AND c.n = 1",
    "SELECT k, COUNT(*) AS c, SUM(x) AS t FROM s [RANGE 5 SECONDS] GROUP BY k HAVING COUNT(*) > 4",
    "SELECT DISTINCT k, n FROM t [RANGE 2 SECONDS]",
    "SELECT k, x FROM s [RANGE 2 SECONDS] WHERE x > 1",
    "SELECT k, x FROM s [RANGE 2 SECONDS] WHERE k IN (SELECT k FROM t [RANGE 1 SECOND])",
    "SELECT ISTREAM(a.k, b.y) FROM s [RANGE 2 SECONDS] AS a JOIN t [RANGE 2 SECONDS] AS b "
    "ON a.k = b.k WHERE a.n = 2",
]
# Their rows cannot be split.
WHOLE = [
    "SELECT k, x FROM s [RANGE 3 SECONDS] ORDER BY x DESC LIMIT 3",
    "SELECT a.x, b.y FROM s [NOW] AS a JOIN t [NOW] AS b ON a.k = b.k",
    "SELECT a.k, b.k AS o FROM s [ROWS 3] AS a JOIN t [ROWS 3] AS b ON a.k = b.k",
]


def joined(late: str) -> list[Entry]:
    """Views over two streams of the same rows, some from the start, the rest once rows came."""
    declared = DECLARED.format(key="k", late=late)
    other = declared.replace("STREAM s", "STREAM t")
    views = [f"CREATE QUERY v{i} AS {text}" for i, text in enumerate([*JOINED, *WHOLE])]
    return [declared, other, *views[::2], arriving(3, most=8), *views[1::2], arriving(3, 3, 8)]


@pytest.mark.parametrize("late", ["", "LATE ALLOW 3 SECONDS"])
def test_views_are_the_same_for_rows_of_some_keys_as_for_all_rows(
    tmp_path: Path, late: str
) -> None:
    ways = (Way(), Way(2, 3, True), Way(2, 4, True, slices=3), Way(1, 16, slices=8))
    assert check_work(tmp_path, joined(late), ways) > 300


def landed(tmp_path: Path, shards: int, *queries: sg.Query) -> sg.Gauge:
    """A home that has read 10 seconds of rows of 30 series, half of all rows of the first."""
    rows = tmp_path / "rows"
    rows.mkdir()
    gauge = sg.connect(tmp_path / "home", engine="local", shards=shards, exchange=True)
    gauge.sql(DECLARED.format(key="k", late="").replace("{rows}", str(rows)))
    gauge.register(*queries)
    pq.write_table(arriving(10), rows / "a.parquet")
    gauge.step()
    return gauge


def sent(gauge: sg.Gauge, number: int = 1) -> list[Packet]:
    """The packets of a page."""
    page = Journal(gauge.home).page(number)
    (part,) = slices(page)
    return [Packet.from_bytes(data) for data in scan(gauge.home, page, part)]


def refuse(*_: object) -> None:
    raise AssertionError("a shard read the page")


def test_rows_of_a_series_go_to_the_shards_whose_queries_list_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "read_page", refuse)
    queries = [sg.Query(f"q{n}", "s", sg.avg("x"), series=(f"k{n}",)) for n in range(1, 5)]
    gauge = landed(tmp_path, 4, *queries)
    page = Journal(gauge.home).page(1)
    rows = arriving(10)
    for shard, packet in enumerate(sent(gauge)):
        mine = [q.series[0] for q in queries if gauge.registry().query(q.name).id % 4 == shard]
        names = pa.array(packet.batches["series"].words["k"].to_pylist())
        whole = sum(rows["k"].to_pylist().count(name) for name in mine)
        assert sum(name in mine for name in names.to_pylist()) == whole
        # Of the others the newest value, and rows that are late or wait for the end of their tick.
        assert len(names) < whole + len(rows) / 3
        assert set(names.to_pylist()) == set(rows["k"].to_pylist())
    assert len(page.scans["s"]["subscriptions"]["sent"]) == 4


def test_a_shard_that_asks_about_all_series_reads_the_rows_itself(tmp_path: Path) -> None:
    few = [sg.Query(f"q{n}", "s", sg.avg("x"), series=(f"k{n}",)) for n in range(8)]
    everything = sg.Query("all", "s", sg.avg("x"), window=sg.Latest())
    gauge = landed(tmp_path, 4, *few, everything)
    owner = gauge.registry().query("all").id % 4
    assert ["series" in packet.batches for packet in sent(gauge)] == [k != owner for k in range(4)]


def test_rows_of_groups_are_sent_though_other_work_reads_all_rows(tmp_path: Path) -> None:
    grouped = sg.Query("g", "s", sg.stddev("x"), window=sg.Range("5 s"), group_by=("k",))
    put_off = sg.Query("d", "s", sg.avg("x"), series=("k1", "k2"), contract=NEARLY)
    gauge = landed(tmp_path, 4, grouped, put_off)
    packets = sent(gauge)
    assert sum(len(packet.batches['["k"]']) for packet in packets) == 400
    assert all(set(packet.batches) == {'["k"]'} for packet in packets)
    assert {row["query"] for row in gauge.answers().to_pylist()} == {"g", "d"}


def test_a_row_that_is_selected_from_is_on_one_shard_and_late_rows_are_on_all(
    tmp_path: Path,
) -> None:
    gauge = landed(tmp_path, 4)
    gauge.sql(f"CREATE QUERY v AS {CHOSEN[0]}")
    rows = arriving(60, 10)
    pq.write_table(rows, tmp_path / "rows" / "b.parquet")
    gauge.step()
    packets = [p.logged["local"] for p in sent(gauge, 2)]
    places = [set(part.logged.row.tolist()) for part in packets]
    late = [set(part.logged.row[part.late].tolist()) for part in packets]
    assert set().union(*places) == set(range(len(rows)))
    assert late[0]
    assert late == late[:1] * 4
    assert sum(map(len, places)) == len(rows) + 3 * len(late[0])
    # Rows of a block lie together, so few blocks are spread less evenly than many.
    assert all(len(rows) / 10 < len(part) < len(rows) / 2 for part in places)
    assert [part.logged.table.column_names for part in packets] == [["ts", "k", "x"]] * 4


@pytest.mark.parametrize("shards", [4, 16])
def test_a_stream_is_read_once_for_a_page_and_slice_whatever_is_asked(
    tmp_path: Path, shards: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    whole = reading.read_columns

    def counted(plan: Any, segment: Segment, *columns: Any) -> pa.Table:
        read.append(segment.groups[0])
        return whole(plan, segment, *columns)

    monkeypatch.setattr(reading, "read_columns", counted)
    monkeypatch.setattr("streamgauge.engine.slices.GOAL", 1)
    gauge = landed(tmp_path, shards)
    gauge.register(*(watching("q", number) for number in range(30)))
    gauge.sql("CREATE QUERY g AS SELECT k, AVG(x) FROM s [RANGE 5 SECONDS] GROUP BY k")
    gauge.sql("CREATE QUERY t AS SELECT MAX(y) FROM s [RANGE 5 SECONDS]")
    gauge.sql("CREATE QUERY d AS SELECT k, STDDEV(x) FROM s [RANGE 5 SECONDS] GROUP BY k")
    for number, text in enumerate(CHOSEN):
        gauge.sql(f"CREATE QUERY v{number} AS {text}")
    pq.write_table(arriving(5, 10), tmp_path / "rows" / "b.parquet")
    # What is kept is read for queries that begin.
    gauge.step()
    pq.write_table(arriving(10, 15), tmp_path / "rows" / "c.parquet", row_group_size=100)
    read.clear()
    gauge.step()
    assert read == [0, 1, 2, 3]
    assert {"g", "t", "d"} <= set(gauge.answers()["query"].to_pylist())
    assert len(gauge.row_changes("v0"))


def test_the_rows_that_a_split_view_holds_are_those_of_all_shards(tmp_path: Path) -> None:
    found = []
    for shards in (1, 5):
        (tmp_path / str(shards)).mkdir()
        gauge = landed(tmp_path / str(shards), shards)
        gauge.sql(f"CREATE QUERY v AS {JOINED[4]}")
        gauge.sql(f"CREATE QUERY w AS {JOINED[6]}")
        pq.write_table(arriving(5, 10), tmp_path / str(shards) / "rows" / "b.parquet")
        gauge.step()
        held = [gauge.rows(name).to_pylist() for name in ("v", "w")]
        assert all(held)
        found.append([sorted(rows, key=str) for rows in held])
    assert found[0] == found[1]
