"""A gauge that replays is killed again and again: every row is answered once."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.log.home import Home
from streamgauge.results.change_log import commits
from tests import forked
from tests.chaos.replay_victim import main

pytestmark = pytest.mark.kills
ROWS = 900


def _rows(home: Path) -> int:
    if not (home / "gauge.json").exists():
        return 0
    return sum(record["rows"] for record in commits(Home.open(home, shards=1), after=0))


@pytest.mark.parametrize("kills", [2, pytest.param(4, marks=pytest.mark.nightly)])
def test_no_row_is_lost_and_none_comes_twice(tmp_path: Path, kills: int) -> None:
    data, home = tmp_path / "data", tmp_path / "home"
    data.mkdir()
    lines = [f"{1_700_000_000_000_000 + n * 1_000_000},{n}" for n in range(ROWS)]
    (data / "a.csv").write_text("\n".join(["ts,n", *lines]))
    for kill in range(kills):
        least = _rows(home) + 60
        victim = forked.start(main, str(home), str(data), output=tmp_path / "output")
        try:
            forked.wait_for(
                victim, lambda n=least: _rows(home) >= n, 240, what=f"rows before {kill}"
            )
        finally:
            forked.kill(victim)
    assert 0 < _rows(home) < ROWS, "killed in the middle"
    with sg.connect(home, engine="local") as gauge:
        gauge.sql(
            "CREATE QUERY seen AS SELECT COUNT(*), SUM(n) FROM s [SINCE '2020-01-01'] WITH HISTORY"
        )
        gauge.start()
        wait_until(lambda: _rows(home) >= ROWS, 240, what="all rows")
        gauge.advance("s", 1_700_000_000_000_000 + (ROWS + 5) * 1_000_000)
        gauge.drain()
        assert _rows(home) == ROWS
        values = {answer.value for answer in gauge.latest()}
    assert values == {float(ROWS), float(sum(range(ROWS)))}
