"""Rows that wait for selections were once kept by each shard that had one, not by one shard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streamgauge as sg
from streamgauge.engine import shard
from streamgauge.engine.operator import Arrays
from streamgauge.engine.store import merged
from streamgauge.work.selections import operator

DECLARED = (
    "CREATE STREAM s (ts TIME, k STRING, x FLOAT) FROM FILES '{rows}' "
    "TIME ts KEY k TICK 10 SECONDS FUTURE ANY"
)


def write(path: Path, start: int) -> None:
    n = 3000
    ts = start * 10**6 + np.arange(n) * 10_000
    x = np.random.default_rng(start).normal(0, 1, n)
    times = pa.array(ts, pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"ts": times, "k": [f"k{i % 7}" for i in range(n)], "x": x}), path)


def life(root: Path, *, earlier: bool) -> list[dict[str, object]]:
    """What two selections give of rows that wait for the end of a tick when a release changes."""
    rows = root / "rows"
    rows.mkdir(parents=True)
    gauge = sg.connect(root / "home", engine="local", shards=2)
    gauge.sql(DECLARED.replace("{rows}", str(rows)))
    for number in range(2):
        gauge.sql(f"CREATE QUERY v{number} AS SELECT ISTREAM(k, x) FROM s WHERE x > {number}")
    write(rows / "a.parquet", 5)
    gauge.step()
    if earlier:
        as_before(gauge)
    write(rows / "b.parquet", 40)
    gauge.step()
    found = [
        {"query": name, **row}
        for name in ("v0", "v1")
        for row in gauge.row_changes(name).drop_columns(["epoch"]).to_pylist()
    ]
    shard.forget(gauge.home)
    return sorted(found, key=str)


def as_before(gauge: sg.Gauge) -> None:
    """Give each shard all waiting rows, as state that does not say who has which."""
    running = [shard._RUNNING[gauge.home.path, k] for k in range(2)]
    states = [one.state.operators["selections/s"] for one in running]
    waiting = merged([state.known.waiting for state in states])
    assert len(waiting) > max(len(state.known.waiting) for state in states) > 0
    for one in running:
        arrays: Arrays = {}
        operator.pack_store("", waiting, arrays)
        old = operator.restored("", {"missed": 0}, arrays)
        old.adopt(one.state.operators["selections/s"])
        one.state.operators["selections/s"] = old


def test_each_row_that_waits_is_given_once(tmp_path: Path) -> None:
    expected = life(tmp_path / "new", earlier=False)
    assert len(expected) > 2000
    assert life(tmp_path / "old", earlier=True) == expected
