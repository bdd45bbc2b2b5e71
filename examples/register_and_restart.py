"""Register while data flows, stop, start again: the home remembers everything.

Run it with `python examples/register_and_restart.py`. It needs no Java and leaves nothing behind.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streamgauge as sg

START = np.datetime64("2026-03-01T00:00:00", "us")


def write_minute(incoming: Path, minute: int) -> None:
    """Write one minute of two boilers, a file that is whole or absent."""
    seconds = np.arange(minute * 60, minute * 60 + 60)
    table = pa.table(
        {
            "ts": np.repeat(START + seconds.astype("timedelta64[s]"), 2),
            "boiler": np.tile(["left", "right"], 60),
            "heat": np.repeat(60.0 + seconds / 60, 2) + np.tile([0.0, 10.0], 60),
        }
    )
    # A gauge may look at any moment: write under another name, then rename.
    unfinished = incoming / f".{minute:04d}.tmp"
    pq.write_table(table, unfinished)
    unfinished.rename(incoming / f"{minute:04d}.parquet")


def show(gauge: sg.Gauge, title: str) -> None:
    """Print the newest answer of each query."""
    print(title)
    for answer in gauge.latest():
        print(" ", answer)


def first_day(home: Path, incoming: Path) -> None:
    """Start with one query, and register two more while the gauge runs."""
    with sg.connect(home, engine="local") as gauge:
        gauge.stream("boilers", source=sg.files(incoming), key="boiler", time="ts")
        gauge.register(
            sg.Query("both", "boilers", sg.avg("heat"), window=sg.Latest(), answer=sg.every("30 s"))
        )
        gauge.start()
        gauge.drain()
        show(gauge, "after one minute:")

        window, answer = sg.Range("1 minute"), sg.every("30 s")
        gauge.register(
            sg.Query("hottest", "boilers", sg.maximum("heat"), window=window, answer=answer),
            # From now on only: the same window, but empty at first.
            sg.Query(
                "since_now",
                "boilers",
                sg.maximum("heat"),
                window=window,
                answer=answer,
                history=False,
            ),
        )
        write_minute(incoming, 1)
        gauge.drain()
        show(gauge, "after two minutes, two queries more:")
        gauge.pause("both")


def second_day(home: Path, incoming: Path) -> None:
    """Open the same home: streams and queries are there, and so is what they remember."""
    with sg.connect(home, engine="local") as gauge:
        gauge.start()
        gauge.drain()
        states = {s.query.name: s.status for s in gauge.registry().queries.values()}
        print("after the restart:", states)
        write_minute(incoming, 2)
        gauge.drain()
        show(gauge, "after three minutes:")
        gauge.resume("both")
        gauge.drop("since_now")
        write_minute(incoming, 3)
        gauge.drain()
        show(gauge, "after four minutes, one resumed, one dropped:")


def main() -> None:
    """Live two days in two seconds."""
    with tempfile.TemporaryDirectory() as folder:
        home, incoming = Path(folder) / "home", Path(folder) / "boilers"
        incoming.mkdir()
        write_minute(incoming, 0)
        first_day(home, incoming)
        second_day(home, incoming)


if __name__ == "__main__":
    main()
