"""A gauge that replays is killed again and again: every row is answered once."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import streamgauge as sg
from streamgauge.log.home import Home
from streamgauge.results.change_log import commits
from streamgauge.testing.waiting import wait_until

ROWS = 900
KILLS = 3
VICTIM = """
import sys, threading
import streamgauge as sg
gauge = sg.connect(sys.argv[1], engine="local")
gauge.stream("s", source=sg.replay(sys.argv[2], speed=100), time="ts", keep="1 day")
gauge.start()
threading.Event().wait()
"""


def _rows(home: Path) -> int:
    if not (home / "gauge.json").exists():
        return 0
    return sum(record["rows"] for record in commits(Home.open(home, shards=1), after=0))


def test_no_row_is_lost_and_none_comes_twice(tmp_path: Path) -> None:
    data, home = tmp_path / "data", tmp_path / "home"
    data.mkdir()
    lines = [f"{1_700_000_000_000_000 + n * 1_000_000},{n}" for n in range(ROWS)]
    (data / "a.csv").write_text("\n".join(["ts,n", *lines]))
    for kill in range(1, KILLS + 1):
        victim = subprocess.Popen([sys.executable, "-c", VICTIM, str(home), str(data)])
        try:
            least = _rows(home) + 60
            wait_until(lambda least=least: _rows(home) >= least, 240, what=f"rows before {kill}")
        finally:
            victim.send_signal(signal.SIGKILL)
            victim.wait()
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
