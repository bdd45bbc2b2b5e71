"""Windows and groups: four questions about the requests of a web site, over one directory of files.

Run it with `python examples/windows_and_groups.py`. It needs no Java and leaves nothing behind.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streamgauge as sg

START = np.datetime64("2026-03-01T09:00:00", "us")


def write_requests(path: Path, *, minutes: int = 10, per_second: int = 5) -> None:
    """Write requests of some minutes: when, from where, how long it took."""
    n = minutes * 60 * per_second
    dice = np.random.default_rng(7)
    seconds = np.arange(n) / per_second
    regions = np.array(["east", "north", "west"])[dice.integers(0, 3, n)]
    # The west is slow from the fifth minute on.
    slow = (regions == "west") & (seconds >= 240)
    table = pa.table(
        {
            "ts": START + (seconds * 1e6).astype("timedelta64[us]"),
            "region": regions,
            "ms": np.round(dice.gamma(4.0, 10.0, n) * np.where(slow, 3.0, 1.0), 1),
        }
    )
    pq.write_table(table, path)


QUERIES = (
    # Rows of the last three minutes, per region, each whole minute.
    sg.Query(
        "average",
        "requests",
        sg.avg("ms"),
        window=sg.Range("3 minutes"),
        group_by=("region",),
        answer=sg.every("1 minute"),
    ),
    # The same panes answer another aggregate of another length.
    sg.Query(
        "worst",
        "requests",
        sg.maximum("ms"),
        window=sg.Range("1 minute"),
        group_by=("region",),
        answer=sg.every("1 minute"),
    ),
    # A filter, and an answer only when the count has moved by more than 20.
    sg.Query(
        "slow",
        "requests",
        sg.count(),
        window=sg.Range("1 minute", slide="10 s"),
        where=(sg.col("ms") > 100) & (sg.col("region") == "west"),
        answer=sg.on_change(20),
    ),
    # Everything since nine o'clock.
    sg.Query(
        "total",
        "requests",
        sg.count(),
        window=sg.Landmark("2026-03-01T09:00:00Z"),
        answer=sg.every("5 minutes"),
    ),
)


def main() -> None:
    """Run the four queries and print what they say."""
    with tempfile.TemporaryDirectory() as folder:
        incoming = Path(folder) / "requests"
        incoming.mkdir()
        write_requests(incoming / "0900.parquet")
        with sg.connect(Path(folder) / "home", engine="local") as gauge:
            gauge.stream("requests", source=sg.files(incoming), time="ts", key="region")
            gauge.register(*QUERIES)
            gauge.start()
            # Nothing before 09:10:01 is still to come, so the check at 09:10:00 can be answered.
            gauge.advance("requests", "2026-03-01T09:10:01Z")
            gauge.drain()
            print("the newest answer of each query and group:")
            for answer in gauge.latest():
                print(" ", answer)
            print("\nthe slow requests of the west as they grew:")
            for answer in gauge.subscribe("slow", since_epoch=0, timeout=0):
                print(" ", answer)
            print("\nhow 'average' is worked out:")
            print(gauge.explain("average"))


if __name__ == "__main__":
    main()
