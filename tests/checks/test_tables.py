"""Work on groups gives the same answers whoever reads its rows: its shard, or a scan."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.checks.work import SENT, Entry, Way, canonical, check_work, same_answers
from streamgauge.engine import partial, progress
from streamgauge.engine.packet import Packet
from streamgauge.engine.scan import scan
from streamgauge.engine.shard import forget
from streamgauge.engine.slices import slices
from streamgauge.kernel.files import write_json
from streamgauge.log.home import BY_TEXT, FORMAT
from streamgauge.log.journal import Journal
from streamgauge.plan.table_key import TableKey

pytestmark = pytest.mark.slow

DECLARED = (
    "CREATE STREAM s (ts TIME, k STRING, n INT, b BOOL, x FLOAT, y FLOAT) FROM FILES '{{rows}}' "
    "TIME ts KEY k KEEP 1 HOUR FUTURE ANY {late}"
)
PANES = [
    "SELECT k, AVG(x), VAR(x), MIN(x), COUNT(*) FROM s [RANGE 10 SECONDS] GROUP BY k",
    "SELECT k, n, SUM(x) FROM s [RANGE 7 SECONDS SLIDE 3 SECONDS] WHERE x > 0 GROUP BY k, n",
    "SELECT b, n, MAX(y) FROM s [SINCE '1970-01-01'] GROUP BY b, n ON CHANGE OF 0.5",
    "SELECT k, CORR(x, y) FROM s [RANGE 20 SECONDS] GROUP BY k EVERY 4 SECONDS",
    "SELECT n, SUM(x * y) FROM s [RANGE 5 SECONDS] GROUP BY n ON CLOSE",
    "SELECT AVG(x) FROM s [RANGE 10 SECONDS]",
]
SUMS = [
    "SELECT k, AVG(x), MIN(x), COUNT(*) FROM s [RANGE 10 SECONDS] GROUP BY k",
    "SELECT k, n, SUM(x) FROM s [RANGE 7 SECONDS SLIDE 3 SECONDS] WHERE x > 0 GROUP BY k, n",
    "SELECT b, n, MAX(y) FROM s [SINCE '1970-01-01'] GROUP BY b, n ON CHANGE OF 0.5",
    "SELECT n, SUM(x * y) FROM s [RANGE 5 SECONDS] WHERE k <> 'k7' GROUP BY n ON CLOSE",
    "SELECT k, COUNT(*) FROM s [RANGE 2 SECONDS] WHERE b AND n IS NOT NULL GROUP BY k",
    "SELECT n, SUM(x * 1e-30 + 1e30) FROM s [SINCE '1970-01-01T00:00:20Z'] GROUP BY n",
    "SELECT AVG(x), MAX(x), COUNT(*) FROM s [RANGE 10 SECONDS SLIDE 2 SECONDS]",
    "SELECT SUM(y) FROM s [SINCE '1970-01-01'] WHERE k <> 'k7' AND NOT b ON CHANGE OF 0.5",
    "SELECT COUNT(*) FROM s [RANGE 3 SECONDS] WHERE x > 4 EVERY 2 SECONDS",
]
OTHERS = [
    "SELECT k, AVG(x) FROM s [PARTITION BY k ROWS 3] GROUP BY k EVERY 2 SECONDS",
    "SELECT k, AVG(x) FROM s [ROWS 50] GROUP BY k EVERY 5 SECONDS",
    "SELECT k, SUM(x) FROM s [DECAY 10 SECONDS] GROUP BY k EVERY 3 SECONDS",
    "SELECT k, APPROX_COUNT_DISTINCT(n) FROM s [RANGE 30 SECONDS] GROUP BY k WITHIN 10 PERCENT",
    "SELECT n, QUANTILE(x, 0.5) FROM s [RANGE 20 SECONDS] GROUP BY n WITHIN 0.05 RANK",
]


def arriving(seconds: int, start: int = 0) -> pa.Table:
    """Rows of groups that come and go, nulls in groups and values, some of them out of order."""
    rng = np.random.default_rng(start + 5)
    n = 40 * seconds
    ts = start * 10**6 + np.sort(rng.integers(0, seconds * 10**6, n))
    ts -= np.where(rng.random(n) < 0.05, rng.integers(0, 6 * 10**6, n), 0)
    drawn = rng.integers(0, 40, n) + (ts // (20 * 10**6))
    k = [f"k{d}" for d in drawn.tolist()]
    x = np.where(rng.random(n) < 0.02, np.nan, rng.normal(0, 3, n))
    return pa.table(
        {
            "ts": pa.array(np.maximum(ts, 0), pa.timestamp("us", "UTC")),
            "k": pa.array(k, pa.string()),
            "n": pa.array(rng.integers(0, 5, n), mask=rng.random(n) < 0.02),
            "b": pa.array(rng.random(n) < 0.3),
            "x": pa.array(x, from_pandas=True),
            "y": rng.normal(0, 1, n),
        }
    )


def history(late: str, texts: list[str]) -> list[Entry]:
    """Some queries from the start, the rest once rows have come."""
    asked = [f"CREATE QUERY q{i} AS {text}" for i, text in enumerate(texts)]
    declared = DECLARED.format(late=late)
    some, rest = asked[::2], asked[1::2]
    return [declared, *some, arriving(40), *rest, arriving(40, 40)]


@pytest.mark.parametrize(
    ("texts", "late"),
    [
        (PANES, ""),
        (PANES, "LATE ALLOW 3 SECONDS"),
        (PANES, "LATE REVISE 5 SECONDS"),
        (OTHERS, "LATE ALLOW 3 SECONDS"),
        # Newest rows and fading sums depend on the order of rows and are not revised.
        (OTHERS[3:], "LATE REVISE 5 SECONDS"),
    ],
)
def test_rows_that_are_sent_give_the_answers_of_rows_that_are_read(
    tmp_path: Path, texts: list[str], late: str
) -> None:
    ways = (Way(), Way(2, 3, True), *SENT)
    assert check_work(tmp_path, history(late, texts), ways) > 200


@pytest.mark.parametrize("late", ["", "LATE ALLOW 3 SECONDS"])
def test_sums_that_are_sent_give_the_answers_of_rows_that_are_read(
    tmp_path: Path, late: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partial, "LEAST_GAIN", 0)
    ways = (Way(), Way(2, 3, True), *SENT, Way(2, 4, True, slices=8))
    assert check_work(tmp_path, history(late, SUMS), ways) > 500


def test_sums_over_all_rows_are_sent_to_the_shard_that_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a shard read the page")

    monkeypatch.setattr(progress, "read_page", refuse)
    gauge = landed(tmp_path, 3, "SELECT AVG(x), COUNT(*) FROM s [RANGE 10 SECONDS]", exchange=True)
    (part,) = slices(Journal(gauge.home).page(1))
    sent = scan(gauge.home, Journal(gauge.home).page(1), part)
    owners = {}
    for shard, data in enumerate(sent):
        packet = Packet.from_bytes(data)
        owners.update(dict.fromkeys(packet.partials, shard))
        assert all(cells.n.sum() > 500 for cells in packet.partials.values())
        assert all(len(rows) < 100 for rows in packet.batches.values())
    assert owners == {text: TableKey.from_text(text).owner(3) for text in owners}
    assert len(owners) == 2
    assert len(gauge.answers())


@pytest.mark.parametrize("texts", [SUMS, OTHERS])
def test_a_home_of_the_first_format_keeps_its_groups_where_they_were(
    tmp_path: Path, texts: list[str]
) -> None:
    def of_form(form: int, exchange: bool) -> pa.Table:
        root = tmp_path / f"{form}{exchange}"
        (root / "rows").mkdir(parents=True)
        write_json(root / "home" / "gauge.json", {"format": form, "shards": 3})
        gauge = sg.connect(root / "home", engine="local", exchange=exchange)
        assert (gauge.home.form, gauge.home.shards) == (form, 3)
        for serial, entry in enumerate(history("", texts)):
            if isinstance(entry, str):
                gauge.sql(entry.replace("{rows}", str(root / "rows")))
            else:
                pq.write_table(entry, root / "rows" / f"{serial}.parquet", row_group_size=500)
                forget(gauge.home)
                gauge.step()
        return canonical(gauge.answers())

    first = of_form(BY_TEXT, False)
    assert len(first) > 200
    for form, exchange in ((BY_TEXT, True), (FORMAT, False), (FORMAT, True)):
        same_answers(of_form(form, exchange), first)


def test_rows_are_added_up_unless_that_leaves_nearly_as_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = "SELECT n, AVG(x), COUNT(*) FROM s [RANGE 10 SECONDS] GROUP BY n"
    gauge = landed(tmp_path, 3, asked, exchange=True)
    page = Journal(gauge.home).page(1)
    (part,) = slices(page)

    def sent() -> tuple[int, int, int]:
        packets = [Packet.from_bytes(data) for data in scan(gauge.home, page, part)]
        cells = [cell for packet in packets for cell in packet.partials.values()]
        rows = sum(len(packet.batches['["n"]']) for packet in packets)
        return rows, sum(len(cell.tick) for cell in cells), sum(int(c.n.sum()) for c in cells)

    monkeypatch.setattr(partial, "LEAST_GAIN", 100)
    assert sent() == (800, 0, 0)
    monkeypatch.setattr(partial, "LEAST_GAIN", 0)
    rows, cells, counted = sent()
    assert rows < 100
    # Of two tables: all rows, and those with a value.
    assert 1.9 * (800 - rows) < counted <= 2 * (800 - rows)
    assert cells < counted / 2


def landed(tmp_path: Path, shards: int, asked: str = PANES[0], **options: bool) -> sg.Gauge:
    rows = tmp_path / "rows"
    rows.mkdir()
    gauge = sg.connect(tmp_path / "home", engine="local", shards=shards, **options)
    gauge.sql(DECLARED.format(late="").replace("{rows}", str(rows)))
    gauge.sql(f"CREATE QUERY q AS {asked}")
    pq.write_table(arriving(20), rows / "a.parquet", row_group_size=300)
    gauge.step()
    return gauge


def test_a_row_is_sent_to_one_shard_and_all_shards_know_the_calendar(tmp_path: Path) -> None:
    gauge = landed(tmp_path, 3, exchange=True)
    page = Journal(gauge.home).page(1)
    (part,) = slices(page)
    packets = [Packet.from_bytes(data) for data in scan(gauge.home, page, part)]
    assert sum(len(packet.batches['["k"]']) for packet in packets) == part.segment.rows == 800
    owned = [set(packet.batches['["k"]'].words["k"].to_pylist()) for packet in packets]
    assert sum(map(len, owned)) == len(set().union(*owned))
    for packet in packets:
        assert packet.calendar.rows.sum() == 800
        assert packet.calendar.ticks.tolist() == packets[0].calendar.ticks.tolist()


def test_a_page_says_where_its_rows_stand_in_the_stream(tmp_path: Path) -> None:
    gauge = landed(tmp_path, 1)
    pq.write_table(arriving(5, 20), tmp_path / "rows" / "b.parquet")
    gauge.step()
    first, second = (Journal(gauge.home).page(n).segments[0] for n in (1, 2))
    assert (first.first, first.rows, second.first) == (0, 800, 800)
    assert [rows for rows, _ in first.parts] == [300, 300, 200]
    assert max(high for _, high in first.parts) == first.high


def test_rows_of_groups_are_sent_though_other_work_takes_all_rows(tmp_path: Path) -> None:
    gauge = landed(tmp_path, 2, exchange=True)
    latest = "SELECT AVG(x) FROM s [PARTITION BY k ROWS 1]"
    gauge.sql(f"CREATE QUERY now AS {latest}")
    pq.write_table(arriving(5, 20), tmp_path / "rows" / "b.parquet")
    gauge.step()
    inputs = [list(Journal(gauge.home).page(n).scans["s"]["inputs"]) for n in (1, 2)]
    assert inputs == [['["k"]'], ["series", '["k"]']]
