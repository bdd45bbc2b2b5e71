"""A gauge to be killed: runs a home of files to its end and says so by a file.

Usage: victim.py HOME FILES ENGINE [MASTER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import streamgauge as sg


def queries() -> list[sg.Query]:
    portfolio = [
        sg.Query(
            f"p{i}",
            "plant",
            sg.avg("value"),
            series=tuple(f"site-{(i + j) % 10:02d}.flow-0000" for j in range(5)),
            answer=sg.on_change(0.2),
        )
        for i in range(50)
    ]
    windowed = [
        sg.Query(
            f"w{i}",
            "plant",
            sg.stddev("value"),
            window=sg.Range(f"{i + 1} minutes", "1 minute"),
            group_by="kind",
            answer=sg.on_close(),
        )
        for i in range(5)
    ]
    rows = sg.Query(
        "newest", "plant", sg.maximum("value"), window=sg.Rows(100), answer=sg.every("10 s")
    )
    return [*portfolio, *windowed, rows]


def main(home: str, files: str, engine: str, master: str | None = None) -> None:
    gauge = sg.connect(home, engine=engine, master=master, shards=2, max_rows=4_000)
    gauge.stream("plant", source=sg.files(files), time="ts", key="series")
    if not gauge._expected.queries:
        gauge.register(*queries())
    gauge.start()
    gauge.drain(timeout=600)
    gauge.stop()
    (Path(home) / "done").touch()


if __name__ == "__main__":
    main(*sys.argv[1:])
