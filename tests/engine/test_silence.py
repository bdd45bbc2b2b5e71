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
            f"FROM FILES '{folder}' FORMAT csv TIME ts KEY till KEEP 2 DAYS"
        )
        for name, text in queries.items():
            gauge.sql(f"CREATE STANDING QUERY {name} AS {text}")
        while gauge.step():
            pass
        return gauge

    return make


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
    )
    assert [a.value for a in given(gauge, "visits")] == [9, 0, 0, 0]
    assert [a.value for a in given(gauge, "takings")] == [9.0, None]


@pytest.mark.slow
def test_a_year_of_silence_gives_no_answers_by_the_second(shop: Shop) -> None:
    rows = [*by_day(1), (YEAR, "a", 1.0), (YEAR + HOUR, "a", 1.0)]
    gauge = shop(
        rows,
        seconds="SELECT COUNT(*) FROM sales [RANGE 1 MINUTE] EVERY 1 SECOND",
        days="SELECT COUNT(*) FROM sales [RANGE 1 DAY] EVERY 1 DAY",
    )
    assert len(given(gauge, "days")) == 365
    assert len(given(gauge, "seconds")) < 12 * 3600


@pytest.mark.parametrize("answer", ["EVERY 1 HOUR", ""])
def test_a_group_whose_window_has_emptied_says_so_once_and_leaves_latest(
    shop: Shop, answer: str
) -> None:
    rows = [(0, "a", 1.0), *((h * HOUR, "b", 1.0) for h in range(1, 9))]
    slide = "" if answer else " SLIDE 1 HOUR"
    gauge = shop(
        rows,
        tills=f"SELECT till, SUM(price) FROM sales [RANGE 2 HOURS{slide}] GROUP BY till {answer}",
    )
    gone = [a for a in given(gauge, "tills") if a.group == ("a",)]
    assert [a.value for a in gone][-1] is None
    assert sum(a.value is None for a in gone) == 1
    assert [a.group for a in gauge.latest("tills")] == [("b",)]
