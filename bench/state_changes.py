"""What a page writes of the state, and what it takes: many groups of which some move, and few."""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streamgauge as sg
from streamgauge.engine import shard
from streamgauge.results.change_log import commits

SECOND = 1_000_000
# Before the first rows leave the window, when all groups change.
PAGES = 8


@dataclass(frozen=True, slots=True)
class Page:
    """The cheapest page, in processor seconds; bytes written of the state by one of the middle."""

    seconds: float
    written: float
    state: int


def page_of(groups: int, moved: int) -> Page:
    """One shard with a sum by group over ten seconds; a second a page, with rows of some groups."""
    root, dice = Path(tempfile.mkdtemp(prefix="streamgauge-state-")), np.random.default_rng(0)
    try:
        (root / "rows").mkdir()
        gauge = sg.connect(root / "home", engine="local", shards=1, max_rows=10**7)
        gauge.sql(
            "CREATE STREAM s (ts TIME, series STRING, value FLOAT) "
            f"FROM FILES '{root / 'rows'}' TIME ts KEY series"
        )
        gauge.sql(
            "CREATE QUERY q AS SELECT series, SUM(value) FROM s [RANGE 10 SECONDS] "
            "GROUP BY series ON CHANGE"
        )
        seconds = []
        for page in range(PAGES):
            who = dice.choice(groups, moved, replace=False) if page else np.arange(groups)
            pq.write_table(_rows(page, who, dice), root / "rows" / f"{page}.parquet")
            begun = time.process_time()
            gauge.step()
            seconds.append(time.process_time() - begun)
        # The first page has no answers, the second those of all groups.
        told = [record["shards"][0] for record in commits(gauge.home)][-(PAGES - 3) :]
        shard.forget(gauge.home)
        written = float(np.median([receipt["state_written"] for receipt in told]))
        return Page(min(seconds[3:]), written, told[-1]["state_bytes"])
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _rows(page: int, who: np.ndarray, dice: np.random.Generator) -> pa.Table:
    at = np.full(len(who), 1_767_225_600 * SECOND + page * SECOND)
    names = [f"series-{number:06d}" for number in who.tolist()]
    return pa.table(
        {
            "ts": pa.array(at, pa.timestamp("us", tz="UTC")),
            "series": names,
            "value": dice.random(len(who)),
        }
    )
