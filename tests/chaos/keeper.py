"""A gauge to be killed while it keeps its home small: upkeep at every page, in small turns."""

from __future__ import annotations

from pathlib import Path

import streamgauge as sg
from streamgauge.engine import lander, upkeep

SCHEMA = sg.Schema.of(symbol="string", ts="time", price="float")
QUERIES = (
    sg.Query("mean", "ticks", sg.avg("price"), window=sg.Latest(), answer=sg.every("5 s")),
    sg.Query(
        "spread",
        "ticks",
        sg.stddev("price"),
        window=sg.Range("30 s", "10 s"),
        group_by="symbol",
        answer=sg.on_close(),
    ),
)


def main(home: str, files: str, engine: str) -> None:
    lander.UPKEEP_EVERY = 1
    upkeep.NEWEST_PAGES = 4
    # Put together by sixes, cleared away by threes, so that kills fall into both.
    upkeep.Upkeep.compact.__kwdefaults__ = {"enough": 6}
    upkeep.Upkeep.clear.__kwdefaults__ = {"enough": 3, "most": 7}
    gauge = sg.connect(home, engine=engine, shards=2, max_rows=10, keep_answers=0)
    source = sg.files(files, format="csv")
    gauge.stream("ticks", source, time="ts", key="symbol", schema=SCHEMA, keep="1 hour")
    if not gauge._expected.queries:
        gauge.register(*QUERIES)
    gauge.start()
    gauge.drain(timeout=600)
    # What was landed before is read again from files that were put together.
    if "long" not in gauge._expected.queries:
        window = sg.Range("10 minutes")
        query = sg.Query("long", "ticks", sg.total("price"), window=window, answer=sg.on_close())
        gauge.register(query)
    gauge.advance("ticks", "2026-01-31T12:20:00Z")
    gauge.drain(timeout=600)
    gauge.stop()
    (Path(home) / "done").touch()
