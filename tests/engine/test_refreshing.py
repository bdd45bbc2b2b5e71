"""Tables that are read again while the job runs, on the local engine and from files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.engine import refreshing
from streamgauge.engine.local import LocalEngine
from streamgauge.kernel.files import write_whole
from streamgauge.kernel.time import SECOND, instant
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal
from streamgauge.log.segments import write_parquet
from streamgauge.results.change_log import as_answers

pytestmark = pytest.mark.slow

START = instant("2026-01-01T00:00:00Z")
JOINED = """
CREATE QUERY places AS
SELECT s.site, t.town, s.value FROM s [NOW] s JOIN towns t ON s.site = t.site;
"""


def rows(directory: Path, name: str, first: int, last: int) -> None:
    """A row of site north at each second."""
    numbers = list(range(first, last + 1))
    times = pa.array([START + n * SECOND for n in numbers], pa.timestamp("us", tz="UTC"))
    table = {
        "site": ["north"] * len(numbers),
        "ts": times,
        "value": pa.array(numbers, pa.float64()),
    }
    write_parquet(directory / f"{name}.parquet", pa.table(table))


def towns(directory: Path, north: str, title: str = "town") -> None:
    write_whole(directory / "towns.csv", f"site,{title}\nnorth,{north}\n".encode())


@pytest.fixture
def gauge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sg.Gauge]:
    monkeypatch.chdir(tmp_path)
    towns(tmp_path, "Kiel")
    rows(tmp_path / "rows", "a", 1, 5)
    with sg.connect(tmp_path / "home", engine="local", shards=2) as made:
        made.stream("s", source=sg.files(tmp_path / "rows"), time="ts", key="site")
        yield made


def shown(gauge: sg.Gauge, name: str = "towns") -> dict[str, Any]:
    found = gauge.sql("SHOW TABLES")
    assert isinstance(found, pa.Table)
    (row,) = [row for row in found.to_pylist() if row["name"] == name]
    return row


def refreshed(gauge: sg.Gauge, after: int) -> int:
    """The epoch at which other rows of the table took effect."""
    return wait_until(lambda: _epoch(gauge, after), 60, what="a table that was read again")


def _epoch(gauge: sg.Gauge, after: int) -> int:
    found = gauge.registry().tables["towns"].epoch
    return found if found > after else 0


def refreshes(home: Home) -> list[dict[str, Any]]:
    pages = [Journal(home).page(n) for n in range(1, Journal(home).last() + 1)]
    return [c for page in pages for c in page.changes if c["do"] == "refresh table"]


def came(gauge: sg.Gauge) -> list[tuple[float, str]]:
    changes = gauge.row_changes("places").to_pylist()
    return [(row["value"], row["town"]) for row in changes if row["count"] > 0]


def test_rows_before_the_epoch_meet_the_old_table_and_rows_after_it_the_new(
    gauge: sg.Gauge, tmp_path: Path
) -> None:
    gauge.sql("CREATE TABLE towns FROM 'towns.csv' REFRESH EVERY 50 ms")
    gauge.sql(JOINED)
    gauge.start()
    gauge.drain()
    first = gauge.registry().tables["towns"].epoch
    towns(tmp_path, "Bonn")
    epoch = refreshed(gauge, first)
    rows(tmp_path / "rows", "b", 6, 8)
    gauge.drain()
    gauge.stop()
    found = came(gauge)
    # Second 5 is closed by the row of second 6, which comes after the table.
    assert found == [(n, "Kiel" if n < 5 else "Bonn") for n in range(1, 8)]
    told = shown(gauge)
    assert (told["rows"], told["every"], told["failures"]) == ("1", "50 ms", "0")
    assert len(refreshes(gauge.home)) == 1
    assert epoch > first


def test_a_replay_of_the_journal_gives_the_same_rows(gauge: sg.Gauge, tmp_path: Path) -> None:
    gauge.sql("CREATE TABLE towns FROM 'towns.csv' REFRESH EVERY 20 ms")
    gauge.sql(JOINED)
    gauge.start()
    for number, town in enumerate(("Bonn", "Ulm", "Jena")):
        before = gauge.registry().tables["towns"].epoch if gauge.home.committed() else 0
        gauge.drain()
        towns(tmp_path, town)
        refreshed(gauge, max(before, gauge.registry().tables["towns"].epoch))
        rows(tmp_path / "rows", f"n{number}", 10 * number + 10, 10 * number + 15)
    gauge.drain()
    gauge.stop()
    found = came(gauge)
    assert {town for _, town in found} == {"Kiel", "Bonn", "Ulm", "Jena"}
    for part in ("state", "answers", "commits"):
        shutil.rmtree(tmp_path / "home" / part)
    engine = LocalEngine(gauge.home, max_rows=1_000_000)
    while engine.step():
        pass
    assert came(gauge) == found


def test_rows_that_are_the_same_leave_no_record(
    gauge: sg.Gauge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(tmp_path / "towns.csv", b"site,height\nnorth,nan\nsouth,\n")
    read = []
    real = refreshing.read_origin
    monkeypatch.setattr(refreshing, "read_origin", lambda *given: (read.append(1), real(*given))[1])
    gauge.sql("CREATE TABLE towns FROM 'towns.csv' REFRESH EVERY 10 ms")
    gauge.start()
    gauge.drain()
    wait_until(lambda: len(read) >= 5, 60, what="five readings")
    gauge.stop()
    assert refreshes(gauge.home) == []
    assert len(list((tmp_path / "home" / "tables").glob("*.parquet"))) == 1


def test_a_failure_is_told_counted_and_outlasted(
    gauge: sg.Gauge, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gauge.sql("CREATE TABLE towns FROM 'towns.csv' REFRESH EVERY 20 ms")
    gauge.sql(JOINED)
    gauge.start()
    gauge.drain()
    (tmp_path / "towns.csv").unlink()
    told = wait_until(lambda: _failed(gauge, 3), 60, what="three failures")
    assert "cannot read table towns.csv" in told["failure"]
    said = [record for record in caplog.records if "not read again" in record.message]
    assert len(said) == 1, "the same failure is told once"
    rows(tmp_path / "rows", "b", 6, 7)
    gauge.drain()
    assert (6.0, "Kiel") in came(gauge), "the old rows stay"
    first = gauge.registry().tables["towns"].epoch
    towns(tmp_path, "Bonn")
    refreshed(gauge, first)
    wait_until(lambda: not shown(gauge)["failure"], 60, what="the end of the failure")
    assert int(shown(gauge)["failures"]) >= 3
    assert gauge.running


def _failed(gauge: sg.Gauge, times: int) -> dict[str, Any] | None:
    told = shown(gauge)
    return told if int(told["failures"] or 0) >= times else None


def test_other_columns_are_a_failure_and_the_old_rows_stay(gauge: sg.Gauge, tmp_path: Path) -> None:
    gauge.create_table("towns", "towns.csv", refresh="20 ms")
    gauge.start()
    gauge.drain()
    towns(tmp_path, "Bonn", title="city")
    told = wait_until(lambda: _failed(gauge, 2), 60, what="two failures")
    assert "site string, city string instead of site string, town string" in told["failure"]
    assert refreshes(gauge.home) == []


def test_what_changed_while_the_job_was_down_is_read_when_it_starts(
    gauge: sg.Gauge, tmp_path: Path
) -> None:
    gauge.create_table("towns", "towns.csv", refresh="1 hour")
    gauge.start()
    gauge.drain()
    gauge.stop()
    first = gauge.registry().tables["towns"].epoch
    towns(tmp_path, "Bonn")
    with sg.connect(tmp_path / "home", engine="local") as again:
        again.start()
        refreshed(again, first)


def test_tables_of_other_processes_are_read_and_their_pace_is_altered(
    gauge: sg.Gauge, tmp_path: Path
) -> None:
    gauge.start()
    other = sg.connect(tmp_path / "home", engine="local")
    other.create_table("towns", "towns.csv", refresh="1 hour")
    gauge.drain()
    first = gauge.registry().tables["towns"].epoch
    towns(tmp_path, "Bonn")
    other.sql("ALTER TABLE towns REFRESH EVERY 20 ms")
    refreshed(gauge, first)
    other.alter_table("towns", None)
    gauge.drain()
    assert gauge.registry().tables["towns"].every is None
    other.drop_table("towns")
    gauge.drain()
    assert "towns" not in gauge.registry().tables
    assert gauge.refusals() == []


def test_members_of_a_query_over_latest_values_change(gauge: sg.Gauge, tmp_path: Path) -> None:
    """A portfolio is the sites that a table names; the table changes while rows flow."""
    write_whole(tmp_path / "holdings.csv", b"book,site,weight\none,north,2\n")
    gauge.sql(
        "CREATE TABLE holdings FROM 'holdings.csv' REFRESH EVERY 20 ms;"
        "CREATE QUERY worth AS SELECT h.book, SUM(s.value * h.weight) FROM s [PARTITION BY site "
        "ROWS 1] s JOIN holdings h ON s.site = h.site GROUP BY h.book WITHIN 0.01 CONFIDENCE 0.9"
    )
    gauge.start()
    gauge.drain()
    first = gauge.registry().tables["holdings"].epoch
    write_whole(tmp_path / "holdings.csv", b"book,site,weight\none,north,10\ntwo,north,1\n")
    wait_until(
        lambda: gauge.registry().tables["holdings"].epoch > first, 60, what="the other holdings"
    )
    rows(tmp_path / "rows", "b", 6, 9)
    gauge.drain()
    gauge.stop()
    newest = {a.group: a.value for a in gauge.latest("worth")}
    assert newest == {("one",): 80.0, ("two",): 8.0}, "second 9 is not closed yet"
    values = [a.value for a in as_answers(gauge.answers("worth")) if a.group == ("one",)]
    assert values[0] == 2.0
