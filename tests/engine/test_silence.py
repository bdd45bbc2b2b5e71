"""Checks that fall into a silence of the stream, and groups whose window has emptied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.contracts.answer import Answer
from streamgauge.kernel.time import DAY, HOUR

OPEN = range(9, 18)
DAYS = 20
YEAR = 365 * DAY

Shop = Callable[..., sg.Gauge]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    def make(rows: list[tuple[int, str, float]], **queries: str) -> sg.Gauge:
        folder = tmp_path / "sales"
        folder.mkdir()
        lines = "".join(f"{at},{till},{price}\n" for at, till, price in rows)
        (folder / "a.csv").write_text("ts,till,price\n" + lines)
        gauge = sg.connect(home=tmp_path / "home", engine="local")
        gauge.sql(
            "CREATE STREAM sales (ts int, till string, price float) "
            f"FROM FILES '{folder}' FORMAT csv TIME UNIT us TIME ts KEY till KEEP 2 DAYS"
        )
        for name, text in queries.items():
            gauge.sql(f"CREATE STANDING QUERY {name} AS {text}")
        settle(gauge)
        return gauge

    return make


def settle(gauge: sg.Gauge) -> None:
    while gauge.step():
        pass


def by_day(days: int) -> list[tuple[int, str, float]]:
    return [(d * DAY + h * HOUR, "a", 1.0) for d in range(days) for h in OPEN]


def given(gauge: sg.Gauge, name: str) -> list[Answer]:
    return list(gauge.subscribe(name, since_epoch=0, timeout=0))


def test_a_daily_query_answers_each_midnight_over_a_shop_that_closes_at_night(shop: Shop) -> None:
    gauge = shop(by_day(DAYS), takings="SELECT SUM(price) FROM sales [RANGE 1 DAY] EVERY 1 DAY")
    found = [(a.as_of // DAY, a.value) for a in given(gauge, "takings")]
    assert found == [(day, float(len(OPEN))) for day in range(1, DAYS)]


def test_a_count_of_an_empty_day_is_0_and_a_sum_has_no_value(shop: Shop) -> None:
    rows = [*by_day(1), *((at + 4 * DAY, till, x) for at, till, x in by_day(1))]
    gauge = shop(
        rows,
        visits="SELECT COUNT(*) FROM sales [RANGE 1 DAY] EVERY 1 DAY",
        takings="SELECT SUM(price) FROM sales [RANGE 1 DAY] EVERY 1 DAY",
        dear="SELECT COUNT(*) FROM sales [RANGE 1 DAY] WHERE price > 5 EVERY 1 DAY",
        halves="SELECT COUNT(*) FROM sales [RANGE 30 MINUTES] EVERY 30 MINUTES",
        kinds="SELECT APPROX_COUNT_DISTINCT(till) FROM sales [RANGE 1 DAY] EVERY 1 DAY WITHIN 5 %",
    )
    assert [a.value for a in given(gauge, "visits")] == [9, 0, 0, 0]
    assert [a.value for a in given(gauge, "dear")] == [0, 0, 0, 0]
    assert [a.value for a in given(gauge, "kinds")] == [1, 0, 0, 0]
    sums = given(gauge, "takings")
    assert [(a.value, a.basis, a.contract_met) for a in sums[1:]] == [(None, "empty", True)]
    # From the first row to the last, the nights included.
    assert len(given(gauge, "halves")) == 2 * 24 * 4 + 2 * 8


@pytest.mark.slow
def test_seconds_rest_in_a_year_of_silence(shop: Shop) -> None:
    gauge = shop(
        [(HOUR, "a", 1.0), (YEAR, "a", 1.0), (YEAR + HOUR, "a", 1.0)],
        seconds="SELECT COUNT(*) FROM sales [RANGE 1 MINUTE] EVERY 1 SECOND",
        pairs="SELECT COUNT(*) FROM sales [RANGE 1 MINUTE] EVERY 2 SECONDS",
        days="SELECT COUNT(*) FROM sales [RANGE 1 DAY] EVERY 1 DAY",
    )
    assert len(given(gauge, "days")) == 365
    assert len(given(gauge, "pairs")) == 3600 + 1800 + 1
    assert len(given(gauge, "seconds")) == 2 * 3600 + 1


TILLS = {
    "panes": "SUM(price) FROM sales [RANGE 2 HOURS] GROUP BY till EVERY 1 HOUR",
    "minutes": "SUM(price) FROM sales [RANGE 2 HOURS] GROUP BY till EVERY 1 MINUTE",
    "slides": "AVG(price) FROM sales [RANGE 2 HOURS SLIDE 1 HOUR] GROUP BY till",
    "counts": "COUNT(*) FROM sales [RANGE 2 HOURS SLIDE 1 MINUTE] GROUP BY till EVERY 10 MINUTES",
    "sketches": "MEDIAN(price) FROM sales [RANGE 2 HOURS SLIDE 1 MINUTE] GROUP BY till WITHIN 5 %",
    "rings": "SUM(price) FROM sales [ROWS 3] GROUP BY till",
}


@pytest.mark.parametrize("silent", [False, True])
def test_a_group_whose_window_has_emptied_says_so_once_and_leaves(shop: Shop, silent: bool) -> None:
    """Whether others go on, or the stream falls silent before the window has emptied."""
    others = [(DAY, "b", 1.0)] if silent else [(h * HOUR, "b", 1.0) for h in range(1, 9)]
    asked = {name: f"SELECT till, {text}" for name, text in TILLS.items()}
    gauge = shop([(0, "a", 1.0), (60, "b", 1.0), (120, "b", 1.0), *others], **asked)
    for name in TILLS:
        if silent and name == "rings":
            continue
        gone = [a for a in given(gauge, name) if a.group == ("a",)]
        assert [a.basis == "empty" for a in gone] == [*[False] * (len(gone) - 1), True], name
        assert gone[-1].value == (0 if name == "counts" else None)
        assert gone[-1].contract_met, name
        assert ("a",) not in [a.group for a in gauge.latest(name)], name


def test_a_view_of_answers_loses_the_group_that_left(shop: Shop) -> None:
    rows = [(0, "a", 1.0), *((h * HOUR, "b", 1.0) for h in range(1, 9))]
    text = TILLS["slides"].replace("AVG(price)", "AVG(price) AS mean")
    gauge = shop(rows, busy=f"SELECT * FROM (SELECT till, {text}) AS t WHERE mean > 0")
    assert gauge.rows("busy")["till"].to_pylist() == ["b"]


@pytest.fixture
def noon(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def set_to(at: int) -> None:
        monkeypatch.setattr("streamgauge.engine.lander.clock", lambda: at)

    return set_to


def test_the_clock_passes_a_check_that_no_row_comes_for(
    shop: Shop, noon: Callable[[int], None], tmp_path: Path
) -> None:
    noon(17 * HOUR)
    gauge = shop(
        by_day(1),
        takings="SELECT SUM(price) FROM sales [RANGE 1 DAY] EVERY 1 DAY",
        visits="SELECT COUNT(*) FROM sales [RANGE 1 HOUR] EVERY 1 HOUR",
        ever="SELECT COUNT(*) FROM sales [RANGE 3 DAYS] EVERY 1 DAY",
    )
    # Rows came up to eight hours behind the clock, so twice that is waited for others.
    noon(DAY + 15 * HOUR)
    settle(gauge)
    assert not given(gauge, "takings")
    noon(DAY + 17 * HOUR)
    settle(gauge)
    assert [a.value for a in given(gauge, "takings")] == [9.0]
    assert [a.value for a in given(gauge, "visits")] == [1.0] * 9 + [0.0] * 8
    (tmp_path / "sales" / "b.csv").write_text(
        f"ts,till,price\n{20 * HOUR},a,1\n{2 * DAY + HOUR},a,1\n"
    )
    settle(gauge)
    # A row that comes after all is counted where it belongs: it is not late.
    assert [a.value for a in given(gauge, "takings")] == [9.0, None]
    assert [a.value for a in given(gauge, "ever")] == [9.0, 10.0]


def test_time_that_has_passed_is_in_the_page(
    shop: Shop, noon: Callable[[int], None], tmp_path: Path
) -> None:
    noon(HOUR + 1)
    gauge = shop(
        [(HOUR, "a", 1.0)], visits="SELECT COUNT(*) FROM sales [RANGE 1 HOUR] EVERY 1 HOUR"
    )
    noon(10 * HOUR)
    settle(gauge)
    seen = [(a.as_of, a.value) for a in given(gauge, "visits")]
    assert seen[-1] == (9 * HOUR, 0.0)
    gauge.close() if hasattr(gauge, "close") else gauge.stop()
    noon(0)
    again = sg.connect(home=tmp_path / "home", engine="local")
    settle(again)
    assert [(a.as_of, a.value) for a in given(again, "visits")] == seen


def test_rows_of_another_stream_pass_a_declared_gap(tmp_path: Path) -> None:
    gauge = sg.connect(home=tmp_path / "home", engine="local")
    for name, gap in (("quiet", "GAP 1 HOUR"), ("busy", ""), ("plain", "")):
        (tmp_path / name).mkdir()
        gauge.sql(
            f"CREATE STREAM {name} (ts int, x float) FROM FILES '{tmp_path / name}' "
            f"FORMAT csv TIME UNIT us TIME ts {gap}"
        )
        asked = f"SELECT COUNT(*) FROM {name} [RANGE 1 DAY] EVERY 1 DAY"
        gauge.sql(f"CREATE STANDING QUERY n_{name} AS {asked}")
        (tmp_path / name / "a.csv").write_text(f"ts,x\n{9 * HOUR},1\n{17 * HOUR},1\n")
    settle(gauge)
    (tmp_path / "busy" / "b.csv").write_text(f"ts,x\n{3 * DAY},1\n")
    settle(gauge)
    assert [a.value for a in given(gauge, "n_quiet")] == [2, 0]
    assert not given(gauge, "n_plain")


def test_rows_of_a_live_stream_do_not_pass_old_rows_that_are_still_loaded(tmp_path: Path) -> None:
    gauge = sg.connect(home=tmp_path / "home", engine="local")
    for name in ("old", "live"):
        (tmp_path / name).mkdir()
        gauge.sql(
            f"CREATE STREAM {name} (ts int, x float) FROM FILES '{tmp_path / name}' "
            "FORMAT csv TIME UNIT us TIME ts GAP 1 HOUR"
        )
    gauge.sql("CREATE STANDING QUERY n AS SELECT COUNT(*) FROM old [RANGE 1 DAY] EVERY 1 DAY")
    (tmp_path / "old" / "a.csv").write_text(f"ts,x\n{9 * HOUR},1\n{17 * HOUR},1\n")
    settle(gauge)
    (tmp_path / "live" / "a.csv").write_text(f"ts,x\n{YEAR},1\n")
    settle(gauge)
    (tmp_path / "old" / "b.csv").write_text(f"ts,x\n{DAY + 9 * HOUR},1\n{2 * DAY + HOUR},1\n")
    settle(gauge)
    assert [(a.as_of // DAY, a.value) for a in given(gauge, "n")] == [(1, 2), (2, 1)]
