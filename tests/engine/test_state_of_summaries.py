"""State of summaries and groups that an earlier release wrote is gone on with.

`summaries.v4.sgst` was written by `begun` below with a release that kept every name for good and
had numbers of names for items; the journal of a run of today goes with it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.engine import leaving, shard
from streamgauge.engine import state as wire
from streamgauge.kernel.files import write_whole
from streamgauge.kernel.time import SECOND
from tests.goldens import GOLDEN

pytestmark = pytest.mark.slow

OLD = GOLDEN / "wire" / "summaries.v4.sgst"
DECLARED = "CREATE STREAM s (ts TIME, g STRING, u STRING, x FLOAT) FROM FILES '{rows}' TIME ts"
ASKED = (
    "SELECT g, AVG(x) FROM s [RANGE 10 SECONDS] GROUP BY g EVERY 5 SECONDS",
    "SELECT g, TOP_K(u, 12) FROM s [RANGE 10 SECONDS] GROUP BY g EVERY 5 SECONDS WITHIN 5% RANK",
    "SELECT TOP_K(u, 2) FROM s [RANGE 10 SECONDS] EVERY 5 SECONDS",
    "SELECT COUNT(DISTINCT u) FROM s [RANGE 10 SECONDS] WHERE g <> 'g1' EVERY 5 SECONDS",
    "SELECT COUNT(DISTINCT u) FROM s [RANGE 10 SECONDS] WHERE u <> 'none' EVERY 5 SECONDS "
    "WITHIN 5%",
    "SELECT g, SUM(x) FROM s [ROWS 7] GROUP BY g EVERY 5 SECONDS",
)


def put(rows: Path, number: int, first: int, last: int) -> None:
    """Two rows a second."""
    ticks = [tick for tick in range(first, last) for _ in range(2)]
    names = [n % 3 if n % 2 else n % 3 + 3 * (tick // 9) for n, tick in enumerate(ticks)]
    table = pa.table(
        {
            "ts": pa.array([t * SECOND + SECOND // 2 for t in ticks], pa.timestamp("us", "UTC")),
            "g": [f"g{tick // 7}" for tick in ticks],
            "u": [f"u{name}" for name in names],
            "x": [float(n % 8) for n in range(len(ticks))],
        }
    )
    pq.write_table(table, rows / f"{number}.parquet")


def begun(root: Path) -> sg.Gauge:
    rows = root / "rows"
    rows.mkdir(parents=True)
    gauge = sg.connect(root / "home", engine="local", shards=1)
    gauge.sql(DECLARED.format(rows=rows))
    for number, text in enumerate(ASKED):
        gauge.sql(f"CREATE QUERY q{number} AS {text}")
    for number in range(2):
        put(rows, number, 1 + 20 * number, 21 + 20 * number)
        gauge.step()
    return gauge


def answers(gauge: sg.Gauge) -> list[str]:
    return sorted(json.dumps(row, default=str) for row in gauge.answers().to_pylist())


def test_old_state_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "LEAST", 4)
    found = []
    for name in ("today", "old"):
        gauge = begun(tmp_path / name)
        home = gauge.home
        if name == "old":
            write_whole(home.state(home.committed(), 0), OLD.read_bytes())
            shard.forget(home)
            assert len(gauge.latest()) == len(found[0][1])
        latest = gauge.latest()
        for number in range(2, 8):
            put(tmp_path / name / "rows", number, 1 + 20 * number, 21 + 20 * number)
            if number == 4:
                shard.forget(home)
            gauge.step()
        found.append((answers(gauge), latest))
    assert found[0][0] == found[1][0]
    state = wire.read_state(gauge.home, gauge.home.committed(), 0)
    groups = [held.words["g"] for held in state.streams["s"].inputs.values() if "g" in held.words]
    assert max(map(len, groups)) < len({tick // 7 for tick in range(161)})
