"""A gauge to be killed: runs a home of files to its end and says so by a file.

Usage: victim.py HOME FILES ENGINE [MASTER [exchange]]

The end comes when a file beside the folder FILES says that all are there (`all_given`).
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import streamgauge as sg
from tests.java import driver_options, spark_options

SPARK = {
    "spark.driver.memory": "1g",
    **driver_options(),
    "spark.executor.memory": "700m",
    "spark.executor.extraJavaOptions": " ".join(spark_options()),
}
# One of each kind of state: none, rows of windows, groups, both sides of a difference.
VIEWS = ("high", "together", "sites", "quiet")
STATEMENTS = """
CREATE QUERY high AS
SELECT series, value FROM plant WHERE kind = 'flow' AND value > 20.9;
CREATE QUERY together AS
SELECT a.site, a.value AS flow, b.value AS level
FROM plant [RANGE 2 SECONDS] AS a JOIN plant [RANGE 3 SECONDS] AS b ON a.site = b.site
WHERE a.series LIKE 'site-0_.flow-0000' AND b.series LIKE '%level-0000' AND a.value > 26;
CREATE QUERY sites AS
SELECT site, COUNT(*) AS n, SUM(value) AS total FROM plant
GROUP BY site HAVING COUNT(*) > 10 EVERY 10 SECONDS;
CREATE QUERY quiet AS
SELECT series FROM plant [RANGE 20 SECONDS]
EXCEPT SELECT series FROM plant [RANGE 20 SECONDS] WHERE value > 20.5;
"""


# Of a stream of the same rows without latest values, so that its rows are sent to their shards.
SENT = """
CREATE QUERY sent_sums AS
SELECT series, SUM(value), COUNT(*) FROM sent [RANGE 20 SECONDS] GROUP BY series EVERY 5 SECONDS
"""


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


def all_given(files: str | Path) -> Path:
    """The file that says that no more files will come."""
    return Path(f"{files}.all")


def main(home: str, files: str, engine: str, master: str = "", exchange: str = "") -> None:
    gauge = sg.connect(
        home,
        engine=engine,
        master=master or None,
        shards=2,
        max_rows=4_000,
        settings=SPARK if engine == "spark" else None,
        exchange=True if exchange else None,
    )
    gauge.stream("plant", source=sg.files(files), time="ts", key="series")
    if not gauge._expected.queries:
        gauge.register(*queries())
    if VIEWS[0] not in gauge._expected.queries:
        gauge.sql(STATEMENTS)
    if exchange:
        gauge.stream("sent", source=sg.files(files), time="ts", key="series")
        if "sent_sums" not in gauge._expected.queries:
            gauge.sql(SENT)
    gauge.start()
    while not all_given(files).exists():
        gauge.check()
        threading.Event().wait(0.05)
    gauge.drain(timeout=600)
    gauge.stop()
    (Path(home) / "done").touch()


if __name__ == "__main__":
    main(*sys.argv[1:])
