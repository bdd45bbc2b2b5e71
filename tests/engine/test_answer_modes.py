"""How a view gives its rows: changes, an append stream, a stored table, and through pauses."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.kernel.errors import BindError

pytestmark = pytest.mark.slow


def put(folder: Path, number: int, rows: list[tuple[int, str, float]]) -> None:
    folder.mkdir(exist_ok=True)
    times = pa.array([at * 1_000_000 for at, _, _ in rows]).cast(pa.timestamp("us", tz="UTC"))
    table = pa.table({"ts": times, "k": [r[1] for r in rows], "v": [r[2] for r in rows]})
    pq.write_table(table, folder / f"{number:03d}.parquet")


@pytest.fixture
def gauge(tmp_path: Path) -> sg.Gauge:
    put(tmp_path / "in", 0, [(1, "a", 1.0), (2, "b", 2.0), (3, "a", 3.0)])
    gauge = sg.connect(tmp_path / "home", engine="local")
    gauge.stream("s", sg.files(tmp_path / "in"), time="ts", key="k", future=None)
    return gauge


def turn(gauge: sg.Gauge) -> None:
    while gauge.step():
        pass


def changes(gauge: sg.Gauge, name: str) -> list[tuple[int, int, str]]:
    found = gauge.row_changes(name).to_pylist()
    return [(row["as_of"].second, row["count"], row["k"]) for row in found]


def test_the_same_rows_in_three_modes(gauge: sg.Gauge) -> None:
    text = "SELECT k, COUNT(*) + 0 AS n FROM s [ROWS 2] GROUP BY k"
    gauge.sql(f"{text} EMIT CHANGES", name="changes")
    gauge.sql(f"{text} EMIT STORE", name="store")
    gauge.sql("SELECT k FROM s WHERE v > 1 EMIT APPEND", name="append")
    gauge.advance("s", 10_000_000)
    turn(gauge)
    expected = [{"k": "a", "n": 1}, {"k": "b", "n": 1}]
    assert gauge.rows("changes").to_pylist() == expected
    assert gauge.rows("store").to_pylist() == expected
    assert gauge.row_changes("store").num_rows == 0
    # At 3 an `a` comes and the other goes: its group stays as it was, so nothing is given.
    assert changes(gauge, "changes") == [(1, 1, "a"), (2, 1, "b")]
    assert changes(gauge, "append") == [(2, 1, "b"), (3, 1, "a")]
    with pytest.raises(BindError, match="holds no rows"):
        gauge.rows("append")


def test_a_paused_view_gives_nothing_and_goes_on_as_it_is_then(
    gauge: sg.Gauge, tmp_path: Path
) -> None:
    gauge.sql("SELECT k FROM s [RANGE 2 SECONDS]", name="near")
    turn(gauge)
    gauge.sql("PAUSE QUERY near")
    put(tmp_path / "in", 1, [(5, "c", 1.0), (6, "d", 2.0)])
    turn(gauge)
    paused = gauge.row_changes("near").num_rows
    gauge.sql("RESUME QUERY near")
    put(tmp_path / "in", 2, [(9, "e", 1.0), (10, "f", 2.0)])
    turn(gauge)
    later = changes(gauge, "near")[paused:]
    # What it owed is given at the instant reached, as the net of what came and went meanwhile.
    assert later == [(5, -1, "a"), (5, -1, "b"), (5, 1, "c"), (6, 1, "d"), (7, -1, "c"),
                     (8, -1, "d"), (9, 1, "e")]  # fmt: skip
    assert gauge.rows("near").to_pylist() == [{"k": "e"}]


def test_changes_as_they_come(gauge: sg.Gauge) -> None:
    query = gauge.sql("SELECT k, v FROM s WHERE v > 1", name="high")
    turn(gauge)
    found = [str(change) for change in query.gauge.subscribe_rows("high", since_epoch=0, timeout=0)]
    assert found == ["high + k=b v=2.0, as of 1970-01-01T00:00:02Z"]
    assert query.answers()["k"].to_pylist() == ["b"]
    assert list(query.subscribe(timeout=0)) == []


def test_what_comes_of_a_stream_that_takes_rows_back(tmp_path: Path) -> None:
    folder = tmp_path / "stock"
    folder.mkdir()
    table = pa.table(
        {
            "ts": pa.array([1, 2, 3, 4]).cast(pa.timestamp("s")).cast(pa.timestamp("us", tz="UTC")),
            "item": ["a", "b", "a", "a"],
            "op": ["+", "+", "-", "+"],
        }
    )
    pq.write_table(table, folder / "0.parquet")
    gauge = sg.connect(tmp_path / "home", engine="local")
    gauge.stream("stock", sg.files(folder), time="ts", changes="op", future=None)
    gauge.sql("SELECT ISTREAM(item) FROM stock", name="came")
    gauge.sql("SELECT DSTREAM(item) FROM stock", name="went")
    gauge.sql("SELECT item, COUNT(*) AS n FROM stock GROUP BY item", name="there")
    gauge.advance("stock", 10_000_000)
    turn(gauge)
    came = gauge.row_changes("came").to_pylist()
    assert [(row["as_of"].second, row["item"]) for row in came] == [(1, "a"), (2, "b"), (4, "a")]
    went = gauge.row_changes("went").to_pylist()
    assert [(row["as_of"].second, row["item"]) for row in went] == [(3, "a")]
    assert gauge.rows("there").to_pylist() == [{"item": "a", "n": 1}, {"item": "b", "n": 1}]
