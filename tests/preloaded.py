"""What processes to be killed have loaded before they begin: modules, and kernels that have run."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import streamgauge as sg
import streamgauge.alerts.watcher
import streamgauge.coordinator.coordinator
import streamgauge.edge.agent
import streamgauge.engine.feeds
from streamgauge.coordinator.allotment import warm
from tests.edge_faults.job import QUERIES

STREAM = """
CREATE STREAM tags (site STRING, tag STRING, ts TIME, value FLOAT, width FLOAT)
    FROM FILES '{files}' KEY site, tag TIME ts WIDTH width TICK 250 ms;
"""


def run(folder: Path) -> None:
    """Answer the queries about agents once, so that all that it takes is loaded."""
    (folder / "files").mkdir()
    times = pa.array([n * 1_000_000 for n in range(1, 9)], pa.timestamp("us", tz="UTC"))
    numbers = pa.array([1.0] * 8)
    sites = pa.array(["east", "west"] * 4)
    columns = {"site": sites, "tag": ["a"] * 8, "ts": times, "value": numbers, "width": numbers}
    pq.write_table(pa.table(columns), folder / "files" / "a.parquet")
    gauge = sg.connect(folder / "home", engine="local")
    gauge.sql(STREAM.format(files=folder / "files") + QUERIES)
    while gauge.step():
        pass
    gauge.stop()


with tempfile.TemporaryDirectory() as found:
    run(Path(found))
warm()
