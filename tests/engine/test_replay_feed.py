"""A replay that feeds a gauge: answers of a home are found again from what it kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.results.change_log import commits

pytestmark = pytest.mark.slow

COUNT = "CREATE QUERY total AS SELECT COUNT(*) FROM s [RANGE 1 MINUTE] EVERY 1 MINUTE;"
ROWS = 600


def _recorded(folder: Path) -> None:
    folder.mkdir()
    for number in range(3):
        lines = [f"{1_700_000_000_000_000 + at * 1_000_000},{at}" for at in range(number, ROWS, 3)]
        (folder / f"{number}.csv").write_text("\n".join(["ts,n", *lines]))


def _rows(gauge: sg.Gauge) -> int:
    """Rows that answers rest on."""
    return sum(record["rows"] for record in commits(gauge.home, after=0))


def _run(home: Path, statements: str, *, times: int = 1) -> list[dict[str, Any]]:
    """Play everything, in some runs of the gauge that each end in the middle."""
    for turn in range(1, times + 1):
        with sg.connect(home, engine="local") as gauge:
            for statement in statements.split(";")[:-1] if turn == 1 else ():
                gauge.sql(statement)
            gauge.start()
            wanted = ROWS * turn // times
            wait_until(lambda gauge=gauge, wanted=wanted: _rows(gauge) >= wanted, 300)
            gauge.drain()
            assert _rows(gauge) <= ROWS
            rows = gauge.answers("total").select(["query", "as_of", "value"]).to_pylist()
    return list(rows)


@pytest.mark.parametrize("times", [1, 3])
def test_answers_are_those_of_the_rows_however_often_it_stops(times: int, tmp_path: Path) -> None:
    _recorded(tmp_path / "data")
    played = f"CREATE STREAM s FROM REPLAY '{tmp_path / 'data'}' SPEED 300 TIME ts KEEP 1 DAY;"
    found = _run(tmp_path / "home", played + COUNT, times=times)
    assert [row["value"] for row in found].count(60.0) == 9
    again = f"CREATE STREAM s FROM REPLAY '{tmp_path / 'home'}' STREAM s SPEED MAX TIME ts;"
    assert _run(tmp_path / "second", again + COUNT) == found
